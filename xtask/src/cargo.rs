//! Starts cargo in the workspace's root, with its output where a developer sees it.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::Error;

/// The cargo that runs this program, so that one toolchain does everything.
pub(crate) fn program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// One cargo command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) args: Vec<String>,
    /// Environment variables on top of the inherited ones. Never `RUSTFLAGS`: every dependency would be built again.
    pub(crate) env: Vec<(&'static str, &'static str)>,
}

impl Call {
    /// Splits a command line at its spaces; no argument of ours contains one.
    pub(crate) fn new(line: &str) -> Call {
        Call { args: line.split_whitespace().map(str::to_owned).collect(), env: Vec::new() }
    }

    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Call {
        self.env.push((name, value));
        self
    }
}

impl fmt::Display for Call {
    /// The command as one would type it in a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "cargo")?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

/// `word` in quotes when a shell would not take it as it stands.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''")).into()
    }
}

/// What becomes of a command's output. What is not named goes to the terminal untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nothing is kept.
    Shown,
    /// Standard output is passed on and kept.
    StdoutCopied,
    /// Standard error is passed on and kept.
    StderrCopied,
    /// Standard output is kept and not passed on.
    StdoutKept,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// What was kept of the output.
    pub(crate) text: String,
}

/// Runs cargo commands.
#[derive(Debug)]
pub(crate) struct Cargo {
    root: PathBuf,
    color: &'static str,
}

impl Cargo {
    pub(crate) fn new(root: PathBuf) -> Cargo {
        // A copied stream is a pipe to the child, so the child cannot see for itself whether a terminal stands at its end.
        let colored = io::stdout().is_terminal() && io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none();
        Cargo { root, color: if colored { "always" } else { "never" } }
    }

    /// Runs `call` to its end. A failing command is not an error here.
    pub(crate) fn run(&self, call: &Call, output: Output) -> Result<Finished, Error> {
        let (stdout, stderr) = match output {
            Output::Shown => (Stdio::inherit(), Stdio::inherit()),
            Output::StdoutCopied | Output::StdoutKept => (Stdio::piped(), Stdio::inherit()),
            Output::StderrCopied => (Stdio::inherit(), Stdio::piped()),
        };
        let mut child = self
            .command(call)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(|source| Error::Start { command: call.to_string(), source })?;

        let mut kept = Vec::new();
        let copied = match output {
            Output::Shown => Ok(()),
            Output::StdoutKept => copy(child.stdout.take(), io::sink(), &mut kept),
            Output::StdoutCopied => copy(child.stdout.take(), io::stdout(), &mut kept),
            Output::StderrCopied => copy(child.stderr.take(), io::stderr(), &mut kept),
        };
        let status = child.wait();
        let status = copied.and(status).map_err(|source| Error::Output { command: call.to_string(), source })?;
        Ok(Finished { success: status.success(), text: String::from_utf8_lossy(&kept).into_owned() })
    }

    /// Whether a cargo command succeeds, without a trace on the terminal.
    pub(crate) fn succeeds(&self, line: &str) -> bool {
        let status =
            self.command(&Call::new(line)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    fn command(&self, call: &Call) -> Command {
        let mut command = Command::new(program());
        command.args(&call.args).current_dir(&self.root);
        if env::var_os("CARGO_TERM_COLOR").is_none() {
            command.env("CARGO_TERM_COLOR", self.color);
        }
        // On a machine that builds once, incremental state costs time and space and is never read.
        if env::var_os("CI").is_some() {
            command.env("CARGO_INCREMENTAL", "0");
        }
        command.envs(call.env.iter().copied());
        command
    }
}

/// Passes a child's stream on as it comes, and keeps it.
fn copy(from: Option<impl Read>, mut to: impl Write, kept: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    let mut buffer = [0; 8192];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        kept.extend_from_slice(&buffer[..n]);
        to.write_all(&buffer[..n])?;
        to.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_prints_as_one_would_type_it() {
        let mut call = Call::new("doc --no-deps --bench *").env("RUSTDOCFLAGS", "-D warnings");
        call.args.extend(["it's".to_owned(), String::new()]);
        assert_eq!(call.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --bench '*' 'it'\''s' ''");
    }

    #[test]
    fn a_copied_stream_is_passed_on_and_kept_whole() {
        let text = "a line that is longer than nothing\n".repeat(1000);
        let (mut shown, mut kept) = (Vec::new(), Vec::new());
        copy(Some(text.as_bytes()), &mut shown, &mut kept).expect("memory can be written");
        assert_eq!(shown, text.as_bytes());
        assert_eq!(kept, text.as_bytes());
    }
}
