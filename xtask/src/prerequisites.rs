//! What the checks need besides the Rust toolchain's own libraries: looked for first, installed where that is safe.
//!
//! A new system dependency of any package is a new row of [`PREREQUISITES`]. Python is none: without it its step is
//! skipped, see [`crate::python`].

use std::fs;
use std::process::{Command, Stdio};

use crate::cargo::Cargo;
use crate::error::Error;
use crate::steps::Step;

/// A program that some steps cannot do without.
#[derive(Debug)]
struct Prerequisite {
    name: &'static str,
    /// The steps that need it.
    steps: &'static [Step],
    probe: Probe,
    /// The Debian and Ubuntu packages that bring it; empty when it does not come from there.
    debian: &'static [&'static str],
    /// What to do on any other machine.
    elsewhere: &'static str,
}

/// How to see whether a prerequisite is there.
#[derive(Debug)]
enum Probe {
    /// This program runs with `--version`. Looked for on Unix only: elsewhere rustc finds the system's linker itself.
    UnixProgram(&'static str),
    /// This subcommand of cargo runs with `--version`.
    Subcommand(&'static str),
}

/// Everything that is needed. `bevy` without its default features and `nexosim` link against nothing but the C library.
const PREREQUISITES: &[Prerequisite] = &[
    Prerequisite {
        name: "cc",
        // rustc links with it; criterion's `alloca` also compiles a file of C.
        steps: &[
            Step::Lint,
            Step::Docs,
            Step::Tests,
            Step::TestsNoFeatures,
            Step::Features,
            Step::Doctests,
            Step::Examples,
            Step::Python,
            Step::Benches,
        ],
        probe: Probe::UnixProgram("cc"),
        debian: &["gcc", "libc6-dev"],
        elsewhere: "`xcode-select --install` on macOS, a C compiler called `cc` elsewhere",
    },
    Prerequisite {
        name: "rustfmt",
        steps: &[Step::Format],
        probe: Probe::Subcommand("fmt"),
        debian: &[],
        elsewhere: "`rustup component add rustfmt`",
    },
    Prerequisite {
        name: "clippy",
        steps: &[Step::Lint],
        probe: Probe::Subcommand("clippy"),
        debian: &[],
        elsewhere: "`rustup component add clippy`",
    },
];

impl Prerequisite {
    fn is_present(&self, cargo: &Cargo) -> bool {
        match self.probe {
            Probe::UnixProgram(_) if !cfg!(unix) => true,
            Probe::UnixProgram(program) => runs(program, &["--version"]),
            Probe::Subcommand(name) => cargo.succeeds(&format!("{name} --version")),
        }
    }
}

/// Makes sure that everything `steps` need is there: installs Debian packages as root on Debian and Ubuntu, and
/// otherwise fails with one sentence for each thing that is missing.
pub(crate) fn ensure(steps: &[Step], cargo: &Cargo) -> Result<(), Error> {
    let missing = || -> Vec<&Prerequisite> {
        let needed = PREREQUISITES.iter().filter(|p| p.steps.iter().any(|step| steps.contains(step)));
        needed.filter(|p| !p.is_present(cargo)).collect()
    };
    let absent = missing();
    let packages: Vec<_> = absent.iter().flat_map(|p| p.debian).copied().collect();
    if absent.is_empty() {
        return Ok(());
    }
    if packages.is_empty() || !is_debian() || !is_root() {
        return Err(Error::Prerequisite(describe(&absent)));
    }
    install(&packages)?;
    match missing() {
        absent if absent.is_empty() => Ok(()),
        absent => Err(Error::Prerequisite(describe(&absent))),
    }
}

/// One sentence for each missing thing: what, for which steps, and what to do.
fn describe(absent: &[&Prerequisite]) -> String {
    let sentence = |p: &&Prerequisite| {
        let steps: Vec<_> = p.steps.iter().map(|step| step.name()).collect();
        let debian = match p.debian {
            [] => String::new(),
            packages => format!("`apt-get install {}` on Debian and Ubuntu, ", packages.join(" ")),
        };
        format!("`{}` is missing, needed by {}; install it: {debian}{}", p.name, steps.join(", "), p.elsewhere)
    };
    absent.iter().map(sentence).collect::<Vec<_>>().join("\n       ")
}

fn install(packages: &[&str]) -> Result<(), Error> {
    println!("==> prerequisites: installing {}", packages.join(" "));
    let update: &[&str] = &["update"];
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    for args in [update, &install] {
        let command = format!("apt-get {}", args.join(" "));
        let status = Command::new("apt-get")
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .status()
            .map_err(|source| Error::Start { command: command.clone(), source })?;
        if !status.success() {
            return Err(Error::Prerequisite(format!("`{command}` failed ({status}): install the packages by hand")));
        }
    }
    Ok(())
}

fn is_debian() -> bool {
    fs::read_to_string("/etc/os-release").is_ok_and(|text| names_debian(&text))
}

/// Whether the text of an os-release file is Debian's, Ubuntu's or that of a system derived from them.
fn names_debian(os_release: &str) -> bool {
    os_release
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| matches!(*key, "ID" | "ID_LIKE"))
        .flat_map(|(_, value)| value.trim_matches('"').split_whitespace())
        .any(|id| matches!(id, "debian" | "ubuntu"))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").stdin(Stdio::null()).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn runs(program: &str, args: &[&str]) -> bool {
    let command =
        Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    command.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_and_what_derives_from_it_is_recognised() {
        assert!(names_debian("NAME=\"Debian GNU/Linux\"\nID=debian\n"));
        assert!(names_debian("ID=ubuntu\nID_LIKE=debian\n"));
        assert!(names_debian("ID=pop\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!names_debian("ID=fedora\nNAME=\"not debian\"\nID_LIKE=\"rhel centos\"\n"));
    }

    #[test]
    fn what_is_missing_is_named_with_its_steps_and_its_remedy() {
        let text = describe(&PREREQUISITES.iter().collect::<Vec<_>>());
        assert!(text.contains("`cc` is missing, needed by lint, docs,"), "{text}");
        assert!(text.contains("apt-get install gcc libc6-dev"), "{text}");
        assert!(text.contains("rustup component add clippy"), "{text}");
    }

    #[test]
    fn every_prerequisite_says_who_needs_it_and_what_to_do() {
        for prerequisite in PREREQUISITES {
            assert!(!prerequisite.steps.is_empty(), "{prerequisite:?}");
            assert!(!prerequisite.elsewhere.is_empty(), "{prerequisite:?}");
        }
    }
}
