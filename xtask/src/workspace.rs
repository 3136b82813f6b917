//! What `cargo metadata` says about this workspace: its folders, its packages, their features, the facade's examples.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::cargo::{self, Call};
use crate::error::Error;

/// The facade package, which owns the examples.
pub(crate) const FACADE: &str = "chaconne";

/// The workspace that the current folder belongs to.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    /// The folder of what is built.
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    /// The members, in name order.
    pub(crate) packages: Vec<Package>,
}

/// A member of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Features by name, `default` among them; the values are what each one turns on.
    pub(crate) features: BTreeMap<String, Vec<String>>,
    targets: Vec<Target>,
}

/// A library, binary, example, test or bench of a package.
#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    #[serde(rename = "required-features", default)]
    required_features: Vec<String>,
}

/// An example of the facade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Example<'a> {
    pub(crate) name: &'a str,
    /// Features that it does not build without.
    pub(crate) features: &'a [String],
}

impl Example<'_> {
    /// The command that runs it in release, up to its arguments.
    pub(crate) fn call(self) -> Call {
        let mut call = Call::new(&format!("run --release --example {}", self.name));
        if !self.features.is_empty() {
            call.args.extend(["--features".to_owned(), self.features.join(",")]);
        }
        call.args.push("--".to_owned());
        call
    }
}

impl Workspace {
    /// Asks cargo about the workspace around the current folder.
    pub(crate) fn load() -> Result<Workspace, Error> {
        let args = ["metadata", "--no-deps", "--format-version", "1"];
        let output = Command::new(cargo::program())
            .args(args)
            .output()
            .map_err(|source| Error::Start { command: "cargo metadata".into(), source })?;
        if !output.status.success() {
            return Err(Error::Metadata { message: String::from_utf8_lossy(&output.stderr).trim().to_owned() });
        }
        Workspace::parse(&output.stdout)
    }

    /// Reads the text of `cargo metadata --no-deps`.
    pub(crate) fn parse(json: &[u8]) -> Result<Workspace, Error> {
        let mut workspace: Workspace =
            serde_json::from_slice(json).map_err(|error| Error::Metadata { message: error.to_string() })?;
        workspace.packages.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(workspace)
    }

    /// The packages that have features, which are the ones worth building without them.
    pub(crate) fn featured(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| !package.features.is_empty())
    }

    /// The facade's examples, in name order.
    pub(crate) fn examples(&self) -> Vec<Example<'_>> {
        let facade = self.packages.iter().filter(|package| package.name == FACADE);
        let mut examples: Vec<_> = facade
            .flat_map(|package| &package.targets)
            .filter(|target| target.kind.iter().any(|kind| kind == "example"))
            .map(|target| Example { name: &target.name, features: &target.required_features })
            .collect();
        examples.sort_by_key(|example| example.name);
        examples
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A workspace of the facade with two examples, one package with features and one without.
    pub(crate) fn sample() -> Workspace {
        let json = br#"{
            "workspace_root": "/repository",
            "target_directory": "/elsewhere",
            "packages": [
                {"name": "xtask", "features": {}, "targets": [{"name": "xtask", "kind": ["bin"]}]},
                {"name": "chaconne-laws", "features": {"default": ["bevy"], "bevy": []},
                 "targets": [{"name": "private", "kind": ["example"]}]},
                {"name": "chaconne", "features": {"default": ["traffic"], "traffic": ["dep:chaconne-laws"]},
                 "targets": [
                    {"name": "chaconne", "kind": ["lib"]},
                    {"name": "traffic", "kind": ["example"], "required-features": ["traffic"]},
                    {"name": "hello", "kind": ["example"]}
                 ]}
            ]
        }"#;
        Workspace::parse(json).expect("the sample has the form of `cargo metadata`")
    }

    #[test]
    fn examples_are_the_facades_own_in_name_order() {
        let workspace = sample();
        let traffic = ["traffic".to_owned()];
        assert_eq!(
            workspace.examples(),
            [Example { name: "hello", features: &[] }, Example { name: "traffic", features: &traffic }]
        );
    }

    #[test]
    fn an_example_runs_in_release_with_the_features_that_it_needs() {
        let workspace = sample();
        let calls: Vec<_> = workspace.examples().into_iter().map(|example| example.call().to_string()).collect();
        assert_eq!(
            calls,
            ["cargo run --release --example hello --", "cargo run --release --example traffic --features traffic --"]
        );
    }

    #[test]
    fn packages_without_features_are_not_featured() {
        let workspace = sample();
        let names: Vec<_> = workspace.featured().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["chaconne", "chaconne-laws"]);
    }

    #[test]
    fn text_that_is_not_metadata_is_an_error_that_says_so() {
        let error = Workspace::parse(b"{}").expect_err("nothing of the form is there");
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("cargo metadata"), "{error}");
    }
}
