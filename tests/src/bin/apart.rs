//! Runs one of the tests' worlds in a process of its own and prints what the run comes to:
//! `apart (crowd | failing-crowd | duplicate) THREADS (typed | untyped) [monitored]`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper of tests fails its test by panicking, and talks to it"
)]

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne_tests::recheck::Witness;
use chaconne_tests::{Probe, crowd};

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [world, threads, typed, rest @ ..] = arguments.as_slice() else { panic!("what is to be run?") };
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        ChaconnePlugins.set(ConductorPlugin {
            seed: 7,
            end: Some(SimTime::from_millis(150)),
            threads: threads.parse().unwrap(),
            typed: typed == "typed",
            mirrors: Mirroring::Off,
            ..default()
        }),
    ));
    if rest.iter().any(|text| text == "monitored") {
        app.add_monitor(Witness::default());
    }
    match world.as_str() {
        "duplicate" => {
            app.add_actor(Actor::new("ego").child("camera", Probe::every(1)))
                .add_actor(Actor::of("lead", Probe::every(1)))
                .add_actor(Actor::of("ego/camera", Probe::every(1)));
        }
        world => {
            for actor in crowd::actors(world == "failing-crowd") {
                app.add_actor(actor);
            }
        }
    }
    app.add_observer(|ended: On<RunEnded>| println!("{}", ended.report));
    app.run()
}
