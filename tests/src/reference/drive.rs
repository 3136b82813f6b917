//! The driver of a world that is given as a value: what it adds and removes, and when.

use std::sync::Arc;

use chaconne_conductor::{Conductor, ConductorConfig, HelperProgram, Monitor};

use super::world::{Blueprint, Pool, Seats, Views};
use crate::path;

/// The real conductor with a world's actors, plans and factory. Leaves add what they are given to `views`.
///
/// # Panics
/// When an actor is refused.
pub fn set_up(
    blueprint: &Blueprint,
    threads: usize,
    typed: bool,
    seats: Seats,
    helper: Option<HelperProgram>,
    views: &Views,
) -> Conductor {
    let config = ConductorConfig {
        world: blueprint.name.clone(),
        seed: blueprint.seed,
        threads,
        typed,
        ..ConductorConfig::default()
    };
    let mut world = Conductor::new(config).unwrap();
    if let Some(helper) = helper {
        world.set_helper(helper);
    }
    world.set_maker(Pool { blueprint: Arc::new(blueprint.clone()), views: views.clone(), seats });
    for (at, actor) in blueprint.actors.iter().enumerate() {
        world.add(actor.build(views, seats, "actors", at)).unwrap();
    }
    for (at, actor) in blueprint.planned_joins.iter().enumerate() {
        world.add(actor.build(views, seats, "planned", at).joins_at(actor.first_due)).unwrap();
    }
    for (time, leaving) in &blueprint.planned_leaves {
        world.leave_at(&path(leaving), *time).unwrap();
    }
    world
}

/// As [`set_up`], with a monitor.
///
/// # Panics
/// When an actor is refused.
pub fn set_up_watched(blueprint: &Blueprint, threads: usize, monitor: impl Monitor + 'static) -> Conductor {
    let mut world = set_up(blueprint, threads, threads == 1, Seats::Here, None, &Views::default());
    world.add_monitor(monitor);
    world
}

/// Runs a world to its end, adding and removing whom its driver adds and removes. What is refused changes nothing.
pub fn drive(world: &mut Conductor, blueprint: &Blueprint, seats: Seats, views: &Views) {
    let mut drives: Vec<_> = blueprint.leaves.iter().map(|(time, leaving)| (*time, Err(leaving))).collect();
    drives.extend(blueprint.joins.iter().enumerate().map(|(at, (time, joining))| (*time, Ok((at, joining)))));
    drives.sort_by_key(|(time, _)| *time);
    for (time, drive) in drives {
        // After a halt nothing happens any more.
        let _ = world.run_until(time.min(blueprint.until));
        match drive {
            Ok((at, joining)) => drop(world.add(joining.build(views, seats, "joins", at))),
            Err(leaving) => drop(world.leave(&path(leaving))),
        }
    }
    let _ = world.run_until(blueprint.until);
}
