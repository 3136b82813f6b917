//! A crowd of thousands in processes of one, two and eight threads.

use super::{Ran, run};

fn apart(arguments: &[&str]) -> Ran {
    run(env!("CARGO_BIN_EXE_apart"), arguments)
}

#[test]
fn a_crowd_has_one_hash_whatever_the_threads_the_hand_over_and_who_looks_on() {
    let expected = apart(&["crowd", "1", "typed"]);
    assert_eq!((expected.code, expected.stderr.as_str()), (Some(0), ""));
    assert!(expected.stdout.starts_with("15 instants to 0.14 s, "), "{}", expected.stdout);
    for arguments in [
        &["crowd", "2", "typed"][..],
        &["crowd", "8", "typed"],
        &["crowd", "8", "untyped"],
        &["crowd", "2", "typed", "monitored"],
        &["crowd", "1", "untyped", "monitored"],
    ] {
        let ran = apart(arguments);
        assert_eq!((ran.code, ran.stdout), (Some(0), expected.stdout.clone()), "{arguments:?}");
    }
}

#[test]
fn failures_at_several_actors_are_told_alike_whatever_the_threads() {
    let expected = apart(&["failing-crowd", "1", "typed"]);
    assert_eq!(expected.code, Some(1));
    let halt = "`member-459/camera` failed: it was to fail (at 0.06 s, instant 6); 8 other participants failed at that instant";
    assert!(expected.stdout.ends_with(&format!("; halted: {halt}\n")), "{}", expected.stdout);
    assert!(expected.stderr.ends_with(&format!("the run halted: {halt}\n")), "{}", expected.stderr);
    for arguments in [
        &["failing-crowd", "2", "typed"][..],
        &["failing-crowd", "8", "typed"],
        &["failing-crowd", "8", "untyped"],
        &["failing-crowd", "8", "typed", "monitored"],
    ] {
        let ran = apart(arguments);
        assert_eq!((ran.code, ran.stdout), (Some(1), expected.stdout.clone()), "{arguments:?}");
    }
}

#[test]
fn a_duplicate_path_is_one_sentence_on_stderr_and_an_exit_code_without_panic_text() {
    let ran = apart(&["duplicate", "1", "typed"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stderr,
        "the run halted: cannot add `ego/camera`: the path `ego/camera` is already taken by actor `ego`; give one of \
         them another name\n"
    );
}
