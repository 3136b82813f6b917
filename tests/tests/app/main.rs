//! The conductor in a Bevy `App`: plugins in any order, the ways of running and stopping, real time, mirrors, populations, the README's program.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod membership;
mod mirrors;
mod pacing;
mod plugin_order;
mod populations;
mod readme;
mod refusals;
mod running;
mod unrelated;

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne_tests::{Probe, of, world};

/// The plugin with the settings of the tests' worlds.
fn conductor() -> ConductorPlugin {
    ConductorPlugin { world: "w".to_string(), seed: 1, threads: 1, ..default() }
}

/// A small world in which everybody hears somebody.
fn actors() -> Vec<Actor> {
    let ego = Actor::new("ego")
        .child("controller", Probe::every(2).holds("pose").says("steering"))
        .child(
            "sensors",
            Actor::group().child("radar", Probe::every(3).hears("chaconne/*/actor/*/pose").says("target")),
        )
        .child("physics", Probe::every(1).holds("steering").says("pose"));
    vec![
        ego,
        Actor::of("lead", Probe::every(1).says("pose")),
        Actor::of("ego/camera", Probe::every(5).hears(of("ego", "pose")).says("image")),
    ]
}

/// The hash of [`actors`] before `until`, without an `App`.
fn expected(until: SimTime) -> Fingerprint {
    let mut world = world(actors());
    world.run_until(until).unwrap();
    world.world_hash()
}

/// An `App` with `MinimalPlugins`, these settings and [`actors`].
fn app_of(conductor: ConductorPlugin) -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor)));
    for actor in actors() {
        app.add_actor(actor);
    }
    app
}

/// The mirror of a path.
fn mirror(app: &mut App, path: &str) -> Entity {
    let mut mirrors = app.world_mut().query::<(Entity, &ActorPath)>();
    mirrors.iter(app.world()).find(|(_, found)| found.as_str() == path).map(|(entity, _)| entity).unwrap()
}
