//! Notes down what the crate is built with, for the header of every log.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| env::var(name).unwrap_or_default();
    let rustc = Command::new(var("RUSTC")).arg("--version").output();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=CHACONNE_RUSTC={rustc}");
    println!("cargo::rustc-env=CHACONNE_TARGET={}", var("TARGET"));
    println!("cargo::rustc-env=CHACONNE_PROFILE={}", var("PROFILE"));
    // The lock file of the program that is being built, which is not ours when we are a dependency. With a target folder
    // elsewhere it is not known: better none than another.
    let lock = find_lock(Path::new(&var("OUT_DIR")));
    let text = lock.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    if let Some(file) = lock {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    fs::write(Path::new(&var("OUT_DIR")).join("Cargo.lock"), text).expect("cargo gives a folder that can be written");
}

fn find_lock(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|folder| folder.join("Cargo.lock")).find(|file| file.is_file())
}
