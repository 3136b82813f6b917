//! What monitors and sensors share: who is around, who is near whom, and when to look.

use std::{collections::BTreeMap, ops::ControlFlow};

use chaconne_sim_core::{
    ActorPath, SignalValue, SimDuration, SimTime, StepCtx, StepError, StepResult, Subscription,
    math::{self, Vec2},
};

use crate::{
    body::{Body, Footprint},
    signal::{POSES, Pose},
};

/// The bodies of all actors at the top of the world, whatever the world is called.
pub(crate) const BODIES: &str = "chaconne/*/actor/*/body";

/// How long after a boundary a monitor samples: between actors a signal is seen by steps after it, not with it.
const DELAY: SimDuration = SimDuration::from_nanos(1);

/// The first sampling time of `who` after `now`: 1 ns after a multiple of the period.
///
/// # Errors
///
/// A period below 1 ns, or a time beyond the end of time.
pub(crate) fn next_sample(who: &str, period: SimDuration, now: SimTime) -> StepResult {
    check_period(who, period)?;
    // Sampling times are the boundaries plus the delay; the last one before or at `now` lies this far back.
    let since = (now.as_nanos().rem_euclid(period.as_nanos()) - DELAY.as_nanos()).rem_euclid(period.as_nanos());
    let next = period.checked_sub(SimDuration::from_nanos(since))?;
    Ok(now.checked_add(next)?)
}

/// Refuses a period below 1 ns.
pub(crate) fn check_period(who: &str, period: SimDuration) -> Result<(), StepError> {
    if period.is_positive() {
        Ok(())
    } else {
        Err(format!("{who}'s period is {period} s; choose at least 1 ns").into())
    }
}

/// One vehicle as it is seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The path of its actor.
    pub(crate) path: ActorPath,
    /// When its pose was published.
    pub(crate) time: SimTime,
    /// Its pose.
    pub(crate) pose: Pose,
    /// What it covers.
    pub(crate) footprint: Footprint,
    /// In m/s.
    pub(crate) velocity: Vec2,
}

/// The subscriptions that [`look`] reads.
pub(crate) fn subscriptions() -> Vec<Subscription> {
    vec![Subscription::latest(POSES), Subscription::latest(BODIES)]
}

impl Seen {
    /// A vehicle of a body at a pose that was published at a time.
    pub(crate) fn new(path: ActorPath, time: SimTime, body: Body, pose: Pose) -> Self {
        Self { path, time, pose, footprint: body.at(&pose), velocity: pose.velocity() }
    }
}

/// The newest value of each actor at the top of the world, with the time of its publication. Of equally new ones of
/// several publishers the last publisher's counts.
fn newest<T: SignalValue>(ctx: &StepCtx<'_>, key: &str) -> Result<BTreeMap<ActorPath, (SimTime, T)>, StepError> {
    let mut newest: BTreeMap<ActorPath, (SimTime, T)> = BTreeMap::new();
    for (key, held) in ctx.latest_all::<T>(key)? {
        let Some(actor) = key.actor().map(ActorPath::new).transpose()? else { continue };
        if newest.get(&actor).is_none_or(|(time, _)| *time <= held.time) {
            newest.insert(actor, (held.time, held.value));
        }
    }
    Ok(newest)
}

/// Every vehicle that has published a pose, in the order of paths. Those without a body are cars.
///
/// # Errors
///
/// A body out of range, with its owner; a signal of another type.
pub(crate) fn look(ctx: &StepCtx<'_>) -> Result<Vec<Seen>, StepError> {
    let bodies = newest::<Body>(ctx, BODIES)?;
    for (path, (_, body)) in &bodies {
        body.check().map_err(|error| format!("`{path}` published a body that is none: {error}"))?;
    }
    let seen = newest::<Pose>(ctx, POSES)?.into_iter().map(|(path, (time, pose))| {
        let body = bodies.get(&path).map_or(Body::CAR, |(_, body)| *body);
        Seen::new(path, time, body, pose)
    });
    Ok(seen.collect())
}

/// What something covers of one axis, in metres.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Calls `visit(i, j)` with i < j for every pair whose extents are no farther apart than `reach`, which `visit` may
/// lower on the way, in an order that depends on the extents alone; equal ones stand in the order of their places.
///
/// The number of pairs that are looked at is that of the pairs visited, and one more for each extent.
pub(crate) fn sweep(extents: &[Extent], mut reach: f64, mut visit: impl FnMut(usize, usize, &mut f64)) {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    order.sort_by(|&a, &b| extents[a].low.total_cmp(&extents[b].low));
    for (at, &first) in order.iter().enumerate() {
        let _ = order[at + 1..].iter().try_for_each(|&second| {
            if extents[second].low - extents[first].high > reach {
                return ControlFlow::Break(());
            }
            visit(first.min(second), first.max(second), &mut reach);
            ControlFlow::Continue(())
        });
    }
}

/// How much farther extents reach than what they enclose, in metres: more than rounding takes from either.
const SLACK: f64 = 1e-6;

/// What each vehicle covers within the next `horizon` seconds at its velocity, along the axis on which they are spread
/// widest.
pub(crate) fn extents(seen: &[Seen], horizon: f64) -> Vec<Extent> {
    let along = |axis: usize| -> Vec<Extent> {
        let extent = |one: &Seen| {
            let (centre, half) = one.footprint.extents()[axis];
            let half = half + SLACK;
            let way = one.velocity.to_array()[axis] * horizon;
            Extent { low: centre - half + math::min(way, 0.0), high: centre + half + math::max(way, 0.0) }
        };
        seen.iter().map(extent).collect()
    };
    let spread = |extents: &[Extent]| {
        let low = extents.iter().fold(f64::INFINITY, |low, extent| math::min(low, extent.low));
        extents.iter().fold(f64::NEG_INFINITY, |high, extent| math::max(high, extent.low)) - low
    };
    let (x, y) = (along(0), along(1));
    if spread(&y) > spread(&x) { y } else { x }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn samples_lie_one_nanosecond_after_each_multiple_of_the_period() {
        let next = |now, period| {
            next_sample("it", SimDuration::from_nanos(period), SimTime::from_nanos(now)).unwrap().as_nanos()
        };
        assert_eq!([0, 1, 5, 10].map(|now| next(now, 10)), [1, 11, 11, 11]);
        assert_eq!([-10, -9, 0, 7].map(|now| next(now, 1)), [-9, -8, 1, 8]);
        let error = next_sample("it", SimDuration::ZERO, SimTime::ZERO).unwrap_err().to_string();
        assert_eq!(error, "it's period is 0.0 s; choose at least 1 ns");
    }

    proptest! {
        #[test]
        fn a_sweep_visits_each_near_pair_once_and_no_other(
            extents in prop::collection::vec((-50.0..50.0, 0.0..5.0), 0..40), reach in 0.0..10.0,
        ) {
            let extents: Vec<Extent> =
                extents.into_iter().map(|(low, size)| Extent { low, high: low + size }).collect();
            let mut visited = Vec::new();
            sweep(&extents, reach, |i, j, _| visited.push((i, j)));
            visited.sort_unstable();
            let near = |i: usize, j: usize| {
                extents[j].low - extents[i].high <= reach && extents[i].low - extents[j].high <= reach
            };
            let expected: Vec<(usize, usize)> = (0..extents.len())
                .flat_map(|i| (i + 1..extents.len()).map(move |j| (i, j)))
                .filter(|&(i, j)| near(i, j))
                .collect();
            prop_assert_eq!(visited, expected);
        }
    }
}
