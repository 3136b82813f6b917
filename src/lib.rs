//! Deterministic simulation as Bevy plugins: co-simulation and agent-based models in one world, on one clock, under one
//! fingerprint. Same seed, same scenario, same run, bit for bit.
//!
//! # Getting started
//!
//! Write participants, put them together to actors, add the plugins, run:
//!
//! ```
//! use bevy::prelude::*;
//! use chaconne::prelude::*;
//!
//! struct Counter(u64);
//! impl Participant for Counter {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         self.0 += 1;
//!         ctx.publish("count", &self.0)?;
//!         ctx.after(SimDuration::from_millis(100))
//!     }
//! }
//!
//! let mut app = App::new();
//! app.add_plugins((MinimalPlugins, ChaconnePlugins.set(ConductorPlugin { seed: 42, ..default() })))
//!     .mirror::<u64>("count")
//!     .add_actor(Actor::of("counter", Counter(0)));
//! let report = app.run_headless(SimTime::from_secs(10));
//! assert_eq!((report.ticks, report.signals), (100, 100));
//! let count = app.world_mut().query::<&Signal<u64>>().single(app.world()).unwrap();
//! assert_eq!(**count, 100);
//! ```
//!
//! # Where to find what
//!
//! | topic | module |
//! |---|---|
//! | time, paths, keys, canonical JSON, fingerprints, random streams, math, grids | [`sim_core`] |
//! | the participant contract | [`sim_core::participant`], [`sim_core::context`] |
//! | actors, hosts, monitors, mirrors, populations, running, real time | [`conductor`] |
//! | logs: record, verify, play back, read (feature `record`) | `record` |
//! | worlds written in files, factories (feature `scenario`) | `scenario` |
//! | roads, control laws, vehicles (feature `traffic`) | `traffic` |
//! | what a run spends its time with, as a file (feature `profile`) | `profile` |
//! | the command, for programs with factories of their own (feature `cli`) | `command` |

// The modules of the command, which examples include by their paths, call this crate as those do.
#[cfg(feature = "cli")]
extern crate self as chaconne;

#[cfg(feature = "cli")]
pub mod command;

pub use chaconne_conductor as conductor;
#[cfg(feature = "profile")]
pub mod profile;

#[cfg(feature = "record")]
pub use chaconne_record as record;
#[cfg(feature = "scenario")]
pub use chaconne_scenario as scenario;
pub use chaconne_sim_core as sim_core;
#[cfg(feature = "traffic")]
pub use chaconne_traffic as traffic;

use bevy_app::{PluginGroup, PluginGroupBuilder};

/// What a simulation program needs by name.
pub mod prelude {
    pub use chaconne_conductor::{
        Actor, ActorMaker, Conduct, ConductorAppExt, ConductorPlugin, ConductorSystems, ConductorWorldExt, Hosting,
        Mirroring, Monitor, NextDue, OnFailure, Pacing, Population, PopulationParticipant, PopulationRun,
        PopulationSignals, PopulationStartup, RunEnded, RunReport, RunStatus, Signal, StepCounters, StopHandle, Tick,
    };
    #[cfg(feature = "record")]
    pub use chaconne_record::{
        LogReader, Playback, ProvenanceAppExt, RecordPlugin, Recorder, Verification, Verifier, VerifyPlugin,
    };
    #[cfg(feature = "scenario")]
    pub use chaconne_scenario::{Factories, Scenario, ScenarioAppExt};
    pub use chaconne_sim_core::{
        ActorPath, AgentId, DetRng, Fingerprint, JoinRequest, Key, KeyExpr, Latest, Participant, Refusal, SimDuration,
        SimTime, StateWriter, StepCtx, StepError, StepResult, Subscription,
    };

    pub use crate::ChaconnePlugins;
}

/// The headless CPU suite as a group: the conductor, with the feature `signals` what lets Ctrl-C and SIGTERM stop its run,
/// and with the feature `diagnostics` what puts it among Bevy's diagnostics. Plugins of the group are configured by
/// `.set(…)` and left out by `.disable::<…>()`.
pub struct ChaconnePlugins;

impl PluginGroup for ChaconnePlugins {
    fn build(self) -> PluginGroupBuilder {
        let group = PluginGroupBuilder::start::<Self>().add(chaconne_conductor::ConductorPlugin::default());
        #[cfg(feature = "signals")]
        let group = group.add(chaconne_conductor::SignalsPlugin);
        #[cfg(feature = "diagnostics")]
        let group = group.add(chaconne_conductor::ConductorDiagnosticsPlugin);
        #[cfg(feature = "record")]
        let group = group.add(NoteFeatures);
        group
    }
}

/// Notes the facade's features for the headers of logs.
#[cfg(feature = "record")]
struct NoteFeatures;

#[cfg(feature = "record")]
impl bevy_app::Plugin for NoteFeatures {
    fn build(&self, app: &mut bevy_app::App) {
        let features = [
            ("cli", cfg!(feature = "cli")),
            ("diagnostics", cfg!(feature = "diagnostics")),
            ("profile", cfg!(feature = "profile")),
            ("record", true),
            ("scenario", cfg!(feature = "scenario")),
            ("signals", cfg!(feature = "signals")),
            ("traffic", cfg!(feature = "traffic")),
            ("zstd", cfg!(feature = "zstd")),
        ];
        let provenance = chaconne_record::ProvenanceAppExt::provenance(app);
        for (name, _) in features.into_iter().filter(|(_, is_on)| *is_on) {
            provenance.feature(name);
        }
    }
}
