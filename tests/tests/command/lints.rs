//! The lints that `docs/clippy.toml` has for projects of one's own are ours, under the names of the facade.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../");

/// The bans of a file, one per line.
fn bans(file: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("{ROOT}{file}")).unwrap();
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("{ path = "));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_ban_to_copy_is_ours_with_the_same_replacement_under_a_public_name() {
    let ours: BTreeSet<String> = bans("clippy.toml").into_iter().collect();
    let copied = bans("docs/clippy.toml");
    assert!(copied.len() > 50, "{}", copied.len());
    for ban in copied {
        assert!(!ban.contains("chaconne_sim_core"), "not a name that users have: {ban}");
        let ban = ban.replace("chaconne::sim_core", "chaconne_sim_core");
        assert!(ours.contains(&ban), "not in our own clippy.toml: {ban}");
    }
}

#[test]
fn both_lists_have_no_line_that_the_other_test_does_not_see() {
    let text = fs::read_to_string(format!("{ROOT}docs/clippy.toml")).unwrap();
    let is_known = |line: &str| {
        line.is_empty()
            || line.starts_with('#')
            || line.starts_with("{ path = ")
            || line.starts_with("disallowed-")
            || line == "]"
    };
    let unknown: Vec<&str> = text.lines().map(str::trim).filter(|line| !is_known(line)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn clippy_takes_what_users_are_told_to_copy() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("lib.rs");
    fs::write(
        &source,
        "pub fn sine(x: f64) -> f64 { x.sin() }\npub type Map = std::collections::HashMap<u8, u8>;\n\
         pub fn now() -> std::time::Instant { std::time::Instant::now() }\n",
    )
    .unwrap();
    let mut driver = Command::new("clippy-driver");
    driver.args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"]);
    driver.arg(folder.path()).arg(&source).env("CLIPPY_CONF_DIR", format!("{ROOT}/docs"));
    // A toolchain without clippy has nothing to say.
    let Ok(output) = driver.output() else { return };
    let said = String::from_utf8(output.stderr).unwrap();
    if !output.status.success() && said.contains("not installed") {
        return;
    }
    assert!(output.status.success(), "{said}");
    for says in [
        "disallowed method `f64::sin`",
        "`chaconne::sim_core::math::sin`",
        "disallowed type `std::collections::HashMap`",
        "disallowed method `std::time::Instant::now`",
        "3 warnings",
    ] {
        assert!(said.contains(says), "{says}: {said}");
    }
}
