//! The command line itself.

use super::{done, refused};

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
