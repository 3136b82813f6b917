//! The log of a run: written as the run goes, checked by running again or from the file alone, and played back into
//! changed experiments.
//!
//! A log holds everything that the fingerprint of a run takes in, as lines of JSON. Its [format](mod@format) is
//! specified, so that a program in any language can read it and compute every hash again.
//!
//! # Where to find what
//!
//! | topic | items |
//! |---|---|
//! | recording | [`RecordPlugin`], [`Recorder`] |
//! | what made a run | [`Provenance`], [`ProvenanceAppExt`] |
//! | verifying a run against a log, live | [`VerifyPlugin`], [`Verifier`], [`Verification`] |
//! | checking a log from itself alone | [`check()`](check::check), [`CheckReport`] |
//! | playing participants of a log back into a new run | [`Playback`], [`Played`] |
//! | what is in a log, in numbers | [`summarize()`](summary::summarize), [`Summary`] |
//! | comparing two logs | [`diff()`](diff::diff), [`DiffReport`], [`Difference`] |
//! | reading a log | [`LogReader`], [`Line`], [`InstantRecord`] |
//! | saving what is whole in a damaged log | [`recover()`](recover::recover), [`RecoverReport`] |
//! | exporting a log | `export_mcap` and `export_csv`, with the features of their names; `ExportReport` |
//! | what goes wrong | [`LogError`] |
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `zstd` | no | compressed logs (`.jsonl.zst`); builds a C library |
//! | `mcap` | no | export to MCAP |
//! | `csv` | no | export to CSV |

pub mod check;
pub mod compare;
#[cfg(feature = "zstd")]
mod compress;
pub mod diff;
mod encode;
pub mod error;
#[cfg(any(feature = "mcap", feature = "csv"))]
pub mod export;
#[cfg(feature = "zstd")]
mod frames;
mod instant;
pub mod line;
mod playback;
mod provenance;
mod reader;
mod recorder;
pub mod recover;
mod sink;
mod source;
pub mod summary;
mod temporary;
mod verify;

#[doc = include_str!("../FORMAT.md")]
pub mod format {}

pub use check::{CheckReport, check};
pub use compare::{Difference, Field, Other};
pub use diff::{DiffReport, diff};
pub use error::LogError;
#[cfg(any(feature = "mcap", feature = "csv"))]
pub use export::ExportReport;
#[cfg(feature = "csv")]
pub use export::export_csv;
#[cfg(feature = "mcap")]
pub use export::export_mcap;
pub use instant::{InstantRecord, RecordedMembership, RecordedSignal, RecordedStep};
pub use line::Line;
pub use playback::{Playback, Played};
pub use provenance::{Provenance, ProvenanceAppExt};
pub use reader::{Block, LogLine, LogReader, RawLine};
pub use recorder::{RecordPlugin, Recorder};
pub use recover::{InputEnd, RecoverReport, recover};
pub use summary::{Ending, Summary, summarize};
pub use verify::{Verification, Verifier, VerifyPlugin};
