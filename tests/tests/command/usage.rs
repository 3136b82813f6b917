//! The command line itself.

use super::{Logs, cast, done, refused};

#[test]
fn what_is_no_command_or_option_is_refused_with_what_was_meant() {
    for (arguments, says) in [
        (&[][..], "requires a subcommand"),
        (&["log"], "requires a subcommand"),
        (&["logs"], "did you mean `log`?"),
        (&["log", "infos"], "did you mean `info`?"),
        (&["log", "info"], "<FILE>"),
        (&["log", "info", "a", "b"], "'b'"),
        (&["log", "cat", "a", "--keys", "b"], "did you mean `--key`?"),
        (&["completions", "cmd"], "bash"),
        (&["--jsn"], "--jsn"),
    ] {
        let sentence = refused(arguments);
        assert!(sentence.contains(says), "{arguments:?}: {sentence}");
    }
}

#[test]
fn every_command_helps() {
    for command in ["info", "cat", "check", "diff", "recover", "export"] {
        for help in ["--help", "-h"] {
            let text = done(&["log", command, help]);
            assert!(text.contains("--quiet") && text.contains("Usage: chaconne log "), "{text}");
        }
        assert!(done(&["log", "--help"]).contains(command));
    }
    let text = done(&["--help"]);
    assert!(text.contains("log") && text.contains("completions") && text.contains("Exit codes: 0"), "{text}");
}

#[test]
fn the_version_is_the_suites() {
    assert_eq!(done(&["--version"]), concat!("chaconne ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn shells_are_given_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = done(&["completions", shell]);
        assert!(script.contains("chaconne") && script.contains("recover"), "{shell}: {script}");
    }
}

#[test]
#[cfg(unix)]
fn a_log_that_may_not_be_read_is_refused_with_its_name_and_the_reason() {
    use std::os::unix::fs::PermissionsExt;

    let logs = Logs::new();
    let file = logs.record("secret.jsonl", cast());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o0)).unwrap();
    if std::fs::File::open(&file).is_ok() {
        // The superuser may read everything.
        return;
    }
    for command in ["info", "cat", "check"] {
        let sentence = refused(&["log", command, &file]);
        assert!(sentence.contains("secret.jsonl") && sentence.contains("ermission"), "{sentence}");
    }
}
