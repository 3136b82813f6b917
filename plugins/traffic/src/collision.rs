//! Collisions: a monitor that says once when two vehicles begin to overlap.
//!
//! [`CollisionMonitor`] samples where everybody is and compares rectangles ([`Footprint::overlaps`]). What happens between
//! two samples is not seen: an overlap that lasts at least one period is always found, a shorter one may be missed. Two
//! vehicles that pass through each other at a relative speed v along a chord of c metres overlap for c / v seconds, so
//! every overlap with v ≤ c / period is found. Squarely through two cars side by side (the shortest way, c = 3.6 m) that
//! holds up to 360 m/s at the usual 10 ms; at a relative speed of 30 m/s what may be missed is the clipping of corners by
//! less than 0.3 m.
//!
//! [`Footprint::overlaps`]: crate::Footprint::overlaps

use std::{collections::BTreeSet, fmt};

use chaconne_sim_core::{
    ActorPath, Participant, SimDuration, SimTime, StateWriter, StepCtx, StepError, StepResult, Subscription, math::Vec2,
};
use serde::{Deserialize, Serialize};

use crate::surroundings::{Seen, extents, look, next_sample, subscriptions, sweep};

/// Two vehicles began to overlap. Published as `collision`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collision {
    /// How many collisions there were so far, this one included.
    pub number: u64,
    /// The path of the first vehicle's actor: the smaller of both.
    pub a: ActorPath,
    /// The path of the second one's.
    pub b: ActorPath,
    /// When the newer of both poses was published: the first sample at which both overlap.
    pub time: SimTime,
    /// The size of the difference of both velocities in m/s.
    pub relative_speed: f64,
    /// Where they meet, in metres: halfway between the point of each that is nearest to the other's centre.
    pub position: Vec2,
}

/// Two vehicles do not overlap any more, or one of them has left the world. Published as `collision_end`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollisionEnd {
    /// The path of the first vehicle's actor: the smaller of both.
    pub a: ActorPath,
    /// The path of the second one's.
    pub b: ActorPath,
}

/// What is done with each collision, outside the world.
type Sink = Box<dyn FnMut(&Collision) + Send>;

/// A participant that watches all actors at the top of the world: steps every 10 ms, 1 ns after the boundary, so that it
/// sees what was published on the boundary.
///
/// When two begin to overlap it publishes one [`Collision`] as `collision`; when they end, one [`CollisionEnd`] as
/// `collision_end`; and another collision when they meet again. Several of one sample come in the order of their paths,
/// ends before beginnings. Vehicles announce their size with `body`; those that do not are cars. Poses are taken as they
/// were published, so that vehicles should publish theirs at least once per period.
///
/// ```
/// use std::sync::mpsc;
///
/// use chaconne_conductor::{Actor, Conductor, ConductorConfig};
/// use chaconne_sim_core::SimTime;
/// use chaconne_traffic::{CollisionMonitor, Unicycle};
///
/// let (sender, collisions) = mpsc::channel();
/// let monitor = CollisionMonitor::new().with_sink(move |collision| {
///     // Nobody listens any more: nothing to do.
///     let _ = sender.send(collision.clone());
/// });
/// let mut world = Conductor::new(ConductorConfig::default())?;
/// world.add(Actor::of("ego", Unicycle::new(0.0, 0.0, 30.0)))?;
/// world.add(Actor::of("standing", Unicycle::new(20.5, 0.0, 0.0)))?;
/// world.add(Actor::of("collisions", monitor))?;
/// world.run_until(SimTime::from_secs(2))?;
/// let collision = collisions.recv()?;
/// // 15.5 m between the bumpers at 30 m/s: they meet 0.517 s after the start, and the next sample shows it.
/// assert_eq!((collision.a.as_str(), collision.b.as_str()), ("ego", "standing"));
/// assert_eq!((collision.time, collision.relative_speed), (SimTime::from_millis(520), 30.0));
/// assert!((collision.position.x - 19.5).abs() < 0.3 && collision.position.y == 0.0);
/// assert!(collisions.try_recv().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CollisionMonitor {
    period: SimDuration,
    sink: Option<Sink>,
    number: u64,
    overlapping: BTreeSet<(ActorPath, ActorPath)>,
}

impl CollisionMonitor {
    /// The time between two samples unless [`every`](Self::every) sets another.
    pub const PERIOD: SimDuration = SimDuration::from_millis(10);

    /// A monitor of all actors at the top of the world.
    #[must_use]
    pub fn new() -> Self {
        Self { period: Self::PERIOD, sink: None, number: 0, overlapping: BTreeSet::new() }
    }

    /// This monitor with another time between two samples, at least 1 ns; a shorter one halts the run.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }

    /// This monitor with a callback for each collision. It is outside the world, and nothing that it does can change the
    /// run.
    #[must_use]
    pub fn with_sink(self, sink: impl FnMut(&Collision) + Send + 'static) -> Self {
        Self { sink: Some(Box::new(sink)), ..self }
    }

    /// Publishes what began and what ended since the last sample.
    fn compare(&mut self, seen: &[Seen], ctx: &mut StepCtx<'_>) -> Result<(), StepError> {
        let pairs = overlapping(seen);
        let names = |&(a, b): &(usize, usize)| (seen[a].path.clone(), seen[b].path.clone());
        let now: BTreeSet<_> = pairs.iter().map(names).collect();
        let before = std::mem::replace(&mut self.overlapping, now);
        for (a, b) in before.difference(&self.overlapping).cloned() {
            ctx.publish("collision_end", &CollisionEnd { a, b })?;
        }
        for pair in pairs.iter().filter(|pair| !before.contains(&names(pair))) {
            self.number += 1;
            let collision = collision(&seen[pair.0], &seen[pair.1], self.number);
            ctx.publish("collision", &collision)?;
            if let Some(sink) = &mut self.sink {
                sink(&collision);
            }
        }
        Ok(())
    }
}

/// The collision of two that overlap.
fn collision(a: &Seen, b: &Seen, number: u64) -> Collision {
    let of_a = a.footprint.nearest_point(b.footprint.centre());
    let of_b = b.footprint.nearest_point(a.footprint.centre());
    Collision {
        number,
        a: a.path.clone(),
        b: b.path.clone(),
        time: a.time.max(b.time),
        relative_speed: (a.velocity - b.velocity).length(),
        position: (of_a + of_b) / 2.0,
    }
}

/// The places of all pairs that overlap, in ascending order.
fn overlapping(seen: &[Seen]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    sweep(&extents(seen, 0.0), 0.0, |a, b, _| {
        if seen[a].footprint.overlaps(&seen[b].footprint) {
            pairs.push((a, b));
        }
    });
    pairs.sort_unstable();
    pairs
}

impl Default for CollisionMonitor {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CollisionMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (period, number, overlapping) = (&self.period, &self.number, &self.overlapping);
        f.debug_struct("CollisionMonitor")
            .field("period", period)
            .field("number", number)
            .field("overlapping", overlapping)
            .finish_non_exhaustive()
    }
}

impl Participant for CollisionMonitor {
    fn subscriptions(&self) -> Vec<Subscription> {
        subscriptions()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let seen = look(ctx)?;
        self.compare(&seen, ctx)?;
        next_sample("the collision monitor", self.period, ctx.now())
    }

    fn write_state(&self, out: &mut StateWriter) {
        out.u64(self.number);
        out.u64(self.overlapping.len() as u64);
        for (a, b) in &self.overlapping {
            out.str(a.as_str());
            out.str(b.as_str());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::body::tests::{any_body, mirrored, pose_within};

    proptest! {
        #[test]
        fn the_sweep_finds_what_comparing_all_with_all_finds_and_mirrored_the_same(
            cars in prop::collection::vec((any_body(), pose_within(40.0)), 0..25),
        ) {
            let seen = |mirror: bool| -> Vec<Seen> {
                let one = |(at, (body, pose)): (usize, &(crate::Body, crate::Pose))| {
                    let pose = if mirror { mirrored(pose) } else { *pose };
                    let path = ActorPath::new(&format!("car-{at:02}")).unwrap();
                    Seen::new(path, SimTime::ZERO, *body, pose)
                };
                cars.iter().enumerate().map(one).collect()
            };
            let (left, right) = (seen(false), seen(true));
            let all: Vec<(usize, usize)> = (0..cars.len())
                .flat_map(|a| (a + 1..cars.len()).map(move |b| (a, b)))
                .filter(|&(a, b)| left[a].footprint.overlaps(&left[b].footprint))
                .collect();
            prop_assert_eq!(&overlapping(&left), &all);
            prop_assert_eq!(&overlapping(&right), &all);
            for (a, b) in all {
                let (p, q) = (collision(&left[a], &left[b], 1), collision(&right[a], &right[b], 1));
                prop_assert_eq!(p.relative_speed.to_bits(), q.relative_speed.to_bits());
                prop_assert_eq!((p.position.x, -p.position.y), (q.position.x, q.position.y));
            }
        }
    }
}
