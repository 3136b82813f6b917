//! The world of the traffic examples: an ego among cars that come, change lanes and go.

#![allow(dead_code, reason = "no example uses all of it")]

#[path = "../../src/command/sight.rs"]
mod sight;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bevy::prelude::*;
use chaconne::conductor::monitor::{Instant, MonitorError};
use chaconne::prelude::*;
use chaconne::sim_core::canon;
use chaconne::sim_core::fingerprint::MembershipKind;
use chaconne::traffic::{LaneChange, Pose, Road, Watch, demo, factories};

// Where `sight` looks for it.
use crate::common::console;
use crate::common::{Failure, Options, counted};

pub(crate) use sight::{Sight, Sighted};

/// The world's name: the scenario file of this world has it too, and it is in the hash.
const WORLD: &str = "traffic";

/// Lanes that the demo takes: the ego is in the middle one.
const LANES: usize = 3;

/// Options of the traffic examples.
#[derive(clap::Args)]
pub(crate) struct World {
    /// Another road than the demo's, as a road file with at least three lanes
    #[arg(long, value_name = "FILE")]
    road: Option<PathBuf>,
    /// Simulated seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) until: SimTime,
}

fn positive(text: &str) -> Result<SimTime, String> {
    match text.parse::<SimTime>() {
        Ok(time) if time > SimTime::ZERO => Ok(time),
        Ok(_) => Err("it must be above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl World {
    /// The road that is asked for.
    pub(crate) fn road(&self) -> Result<Arc<Road>, Failure> {
        let road = self.road.as_ref().map_or_else(|| Ok(Road::demo()), Road::from_file).map_err(Failure::input)?;
        if road.lane_count() < LANES {
            return Err(Failure::Input(format!(
                "road `{}` has {}, and the demo drives on {LANES}: give a road with more to --road",
                road.name(),
                counted(road.lane_count() as u64, "lane")
            )));
        }
        Ok(Arc::new(road))
    }

    /// An `App` with this road, nobody in it yet, that remembers what it was made with and makes the cars that a spawner
    /// asks for.
    pub(crate) fn app(&self, options: &Options, road: &Arc<Road>) -> Result<App, Failure> {
        let mut app = App::new();
        let conductor = ConductorPlugin { world: WORLD.to_owned(), end: Some(self.until), ..options.conductor() };
        app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor), options.progress(self.until)))
            .set_maker(factories::maker(WORLD, options.seed, Arc::clone(road)))
            .mirror::<Pose>("pose");
        app.provenance().config("until", self.until.to_string()).config("road", road.name());
        if let Some(file) = &self.road {
            app.provenance().input(file).map_err(Failure::input)?;
        }
        Ok(app)
    }

    /// As [`app`](Self::app), with the actors of the demo; `watch` is told what is seen of them.
    pub(crate) fn demo(&self, options: &Options, road: &Arc<Road>, watch: &Watch) -> Result<App, Failure> {
        let mut app = self.app(options, road)?;
        for actor in demo::actors(road, demo::ego().speed, watch).map_err(Failure::input)? {
            app.add_actor(actor);
        }
        Ok(app)
    }
}

/// Where the ego is, in metres along the road, from its mirror.
pub(crate) fn ego_place(app: &mut App, road: &Road) -> Option<f64> {
    let mut poses = app.world_mut().query::<(&ActorPath, &Signal<Pose>)>();
    let (_, pose) = poses.iter(app.world()).find(|(path, _)| path.as_str() == "ego")?;
    Some(road.project(pose.ground(), None)?.s)
}

/// Counts who joins and leaves, and changes of lanes. It is a monitor, so it changes no hash.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<Counts>>);

/// What a [`Tally`] has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Cars that joined the ego.
    pub(crate) joined: u64,
    pub(crate) left: u64,
    /// Changes of lanes that were granted.
    pub(crate) lane_changes: u64,
    /// Those of them that end in the ego's lane.
    pub(crate) into_ego_lane: u64,
}

impl Tally {
    pub(crate) fn counts(&self) -> Counts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for Tally {
    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), MonitorError> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for change in instant.membership {
            // A car has one part of this name.
            let mut segments = change.path.segments();
            if !matches!((segments.next(), segments.next()), (Some(actor), Some("physics")) if actor != "ego") {
                continue;
            }
            match change.kind {
                MembershipKind::Join => counts.joined += 1,
                MembershipKind::Leave => counts.left += 1,
            }
        }
        let lanes = instant.steps().filter(|step| step.path.as_str() == "lanes");
        for signal in lanes.flat_map(|step| step.signals()).filter(|signal| signal.key.signal() == Some("lane_grants"))
        {
            // All changes under way are published whenever one begins or ends.
            let changes: Vec<LaneChange> = canon::from_slice(signal.text)?;
            for change in changes.iter().filter(|change| change.granted == instant.time) {
                counts.lane_changes += 1;
                counts.into_ego_lane += u64::from(change.to == demo::ego().lane);
            }
        }
        Ok(())
    }
}

impl Counts {
    /// `14 cars joined the ego and 8 left; 5 changes of lanes, 2 of them into the ego's`.
    pub(crate) fn told(&self) -> String {
        let Self { joined, left, lane_changes, into_ego_lane } = self;
        format!(
            "{} joined the ego and {left} left; {} of lanes, {into_ego_lane} of them into the ego's",
            counted(*joined, "car"),
            counted(*lane_changes, "change"),
        )
    }
}
