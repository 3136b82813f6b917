//! Signals: programs that are told to stop do so in good order, and at once when they are told twice.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::scenarios::asset;
use super::{CHACONNE, Logs, done};

const SIGNALLED: &str = env!("CARGO_BIN_EXE_signalled");

/// What a machine that others use, too, may take to end a process.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that goes on, and ends with the test in any case.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Started by a shell that ignores a signal, as `nohup` and the background of a script do.
    fn start_ignoring(signal: &str, program: &str, arguments: &[&str]) -> Self {
        let script = format!("trap '' {signal}; exec \"$@\"");
        Self::start("sh", &[&["-c", &script, "sh", program], arguments].concat())
    }

    fn send(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// The exit code, which comes soon.
    #[allow(clippy::disallowed_methods, reason = "the test is about the wall clock")]
    fn code(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "it goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What is left of what it printed.
    fn printed(&mut self) -> (String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (stdout, stderr)
    }

    /// Waits for a line on stdout.
    fn wait_for_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn a_scenario_that_is_told_to_stop_ends_soon_with_its_log_and_its_report_complete() {
    for signal in ["INT", "TERM", "HUP"] {
        let logs = Logs::new();
        let log = logs.name("run.jsonl");
        let arguments = ["run", &asset("demo"), "--realtime", "--until", "600", "--record", &log, "--json"];
        let mut running = Running::start(CHACONNE, &arguments);
        // The ego's first pose is there, so the run goes on.
        assert!(running.wait_for_line().contains("time"));
        running.send(signal);
        assert_eq!(running.code(), Some(130), "{signal}");
        let (stdout, stderr) = running.printed();
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.starts_with("note: the run was stopped at ") && stderr.contains(" s; "), "{stderr}");
        let report: serde_json::Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
        assert_eq!((&report["stopped"], report.get("halt")), (&true.into(), None));
        let checked = done(&["log", "check", &log]);
        assert!(checked.contains("the run was stopped before its end"), "{checked}");
        assert!(checked.contains(report["world_hash"].as_str().unwrap()), "{checked}");
        // The run from which it was cut goes on where the log ends.
        let until = ["--until", "30"];
        let again = done(&[&["run", &asset("demo"), "--verify", &log][..], &until].concat());
        assert!(again.contains(": there the log ends"), "{again}");
    }
}

#[test]
fn a_second_signal_ends_a_program_whose_step_takes_long_at_once() {
    let logs = Logs::new();
    let mut running = Running::start(SIGNALLED, &["slow", &logs.name("run.jsonl")]);
    assert_eq!(running.wait_for_line(), "running\n");
    running.send("INT");
    std::thread::sleep(Duration::from_millis(200));
    assert!(running.0.try_wait().unwrap().is_none(), "the first waits for the step");
    running.send("INT");
    assert_eq!(running.code(), Some(130));
}

#[test]
fn an_app_exits_with_130_whoever_handles_the_signal_and_its_log_is_complete() {
    for mode in ["ours", "bevy"] {
        let logs = Logs::new();
        let log = logs.name("run.jsonl");
        let mut running = Running::start(SIGNALLED, &[mode, &log]);
        assert_eq!(running.wait_for_line(), "running\n");
        running.send("INT");
        assert_eq!(running.code(), Some(130), "{mode}");
        assert!(done(&["log", "check", &log]).contains("the run was stopped before its end"), "{mode}");
    }
}

#[test]
fn a_signal_that_is_ignored_stays_so_and_the_others_stop_a_run_in_good_order() {
    for ignored in ["HUP", "INT"] {
        let logs = Logs::new();
        let log = logs.name("run.jsonl");
        let arguments = ["run", &asset("demo"), "--realtime", "--until", "600", "--record", &log];
        let mut running = Running::start_ignoring(ignored, CHACONNE, &arguments);
        assert!(running.wait_for_line().contains("time"));
        running.send(ignored);
        std::thread::sleep(Duration::from_millis(200));
        assert!(running.0.try_wait().unwrap().is_none(), "{ignored} is ignored");
        running.send("TERM");
        assert_eq!(running.code(), Some(130), "without {ignored}");
        let (_, stderr) = running.printed();
        assert!(stderr.starts_with("note: the run was stopped at "), "{stderr}");
        assert!(done(&["log", "check", &log]).contains("the run was stopped before its end"), "without {ignored}");
    }
}

#[test]
fn with_bevys_handler_for_ctrl_c_a_request_to_terminate_stops_a_run_in_good_order_too() {
    let logs = Logs::new();
    let log = logs.name("run.jsonl");
    let mut running = Running::start(SIGNALLED, &["bevy", &log]);
    assert_eq!(running.wait_for_line(), "running\n");
    running.send("TERM");
    assert_eq!(running.code(), Some(130));
    assert!(done(&["log", "check", &log]).contains("the run was stopped before its end"));
}
