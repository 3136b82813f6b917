//! The monitor of times to collision.

use std::{cmp::Ordering, fmt};

use chaconne_sim_core::{
    ActorPath, Participant, SimDuration, SimTime, StateWriter, StepCtx, StepError, StepResult, Subscription,
};
use serde::{Deserialize, Serialize};

use super::in_plane;
use crate::{
    TrafficError,
    error::check_positive,
    surroundings::{Seen, extents, look, next_sample, subscriptions, sweep},
};

/// Two vehicles are on a collision course. Published as `ttc` and, when it is the smallest of the run, as `ttc_min`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ttc {
    /// The path of the ego's actor; without an ego the smaller of both.
    pub car: ActorPath,
    /// The path of the other's actor.
    pub other: ActorPath,
    /// When the newer of both poses was published.
    pub time: SimTime,
    /// Seconds until both overlap, as [`in_plane`] has them; at least 0.
    pub seconds: f64,
    /// The distance between both rectangles in metres, at least 0.
    pub gap: f64,
}

/// Two vehicles came closer than any before. Published as `gap_min`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The path of the ego's actor; without an ego the smaller of both.
    pub car: ActorPath,
    /// The path of the other's actor.
    pub other: ActorPath,
    /// When the newer of both poses was published.
    pub time: SimTime,
    /// The distance between both rectangles in metres, at least 0.
    pub metres: f64,
}

/// The smallest values of a run so far, over the samples that were taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minima {
    /// The smallest time to collision, if anybody ever was on a collision course.
    pub ttc: Option<Ttc>,
    /// The smallest gap, whether or not on a collision course, if there ever were two vehicles to compare.
    pub gap: Option<Gap>,
}

/// What is done with new minima, outside the world.
type Sink = Box<dyn FnMut(&Minima) + Send>;

/// A participant that watches all actors at the top of the world: steps every 100 ms, 1 ns after the boundary, so that it
/// sees what was published on the boundary.
///
/// It publishes the smallest [`Ttc`] at each sample as `ttc` (nothing while nobody is on a collision course within the
/// horizon), and as `ttc_min` when it is the smallest of the run; and the smallest [`Gap`] of the run as `gap_min`
/// when there is a smaller one. Of equal times the smaller gap counts, then the smaller paths. Vehicles announce their
/// size with `body`; those that do not are cars.
///
/// ```
/// use std::sync::mpsc;
///
/// use chaconne_conductor::{Actor, Conductor, ConductorConfig};
/// use chaconne_sim_core::SimTime;
/// use chaconne_traffic::{TtcMonitor, Unicycle};
///
/// let (sender, minima) = mpsc::channel();
/// let monitor = TtcMonitor::all().with_sink(move |minima| {
///     // Nobody listens any more: nothing to do.
///     let _ = sender.send(minima.clone());
/// });
/// let mut world = Conductor::new(ConductorConfig::default())?;
/// world.add(Actor::of("ego", Unicycle::new(0.0, 0.0, 30.0)))?;
/// world.add(Actor::of("lead", Unicycle::new(55.0, 0.0, 20.0)))?;
/// world.add(Actor::of("ttc", monitor))?;
/// world.run_until(SimTime::from_millis(3050))?;
/// drop(world);
/// // 50 m, closed at 10 m/s: 5 s at first, 2 s and 20 m at the last sample.
/// let last = minima.iter().last().ok_or("there was a minimum")?;
/// assert!(last.ttc.is_some_and(|ttc| (ttc.seconds - 2.0).abs() < 1e-9));
/// assert!(last.gap.is_some_and(|gap| (gap.metres - 20.0).abs() < 1e-9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TtcMonitor {
    ego: Option<ActorPath>,
    period: SimDuration,
    horizon: f64,
    sink: Option<Sink>,
    minima: Minima,
}

impl TtcMonitor {
    /// The time between two samples unless [`every`](Self::every) sets another.
    pub const PERIOD: SimDuration = SimDuration::from_millis(100);

    /// The horizon in seconds unless [`within`](Self::within) sets another.
    pub const HORIZON: f64 = 10.0;

    /// A monitor of one vehicle against all others; `ego` is an actor at the top of the world. While there is none of
    /// that path it publishes nothing.
    #[must_use]
    pub fn new(ego: ActorPath) -> Self {
        Self { ego: Some(ego), ..Self::all() }
    }

    /// A monitor of all against all.
    #[must_use]
    pub fn all() -> Self {
        let (period, horizon) = (Self::PERIOD, Self::HORIZON);
        Self { ego: None, period, horizon, sink: None, minima: Minima::default() }
    }

    /// This monitor with another time between two samples, at least 1 ns; a shorter one halts the run.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }

    /// This monitor with another horizon in seconds, above 0: who meets later is not on a collision course. A long one
    /// costs time, because more pairs come into question.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] for a horizon that is not finite or not above 0.
    pub fn within(self, horizon: f64) -> Result<Self, TrafficError> {
        check_positive("the time-to-collision monitor", "horizon", horizon)?;
        Ok(Self { horizon, ..self })
    }

    /// This monitor with a callback for the minima of the run, called after each sample that brought a new one. It is
    /// outside the world, and nothing that it does can change the run.
    #[must_use]
    pub fn with_sink(self, sink: impl FnMut(&Minima) + Send + 'static) -> Self {
        Self { sink: Some(Box::new(sink)), ..self }
    }

    /// The smallest time to collision and the smallest gap at this moment.
    pub(super) fn smallest(&self, seen: &[Seen]) -> Minima {
        let mut best = Best::default();
        match &self.ego {
            Some(ego) => {
                if let Ok(ego) = seen.binary_search_by(|one| one.path.cmp(ego)) {
                    let others = (0..seen.len()).filter(|&other| other != ego);
                    others.for_each(|other| best.take(seen, (ego, other), self.horizon));
                }
            }
            None => {
                sweep(&extents(seen, self.horizon), 0.0, |a, b, _| best.take_time(seen, (a, b), self.horizon));
                sweep(&extents(seen, 0.0), f64::INFINITY, |a, b, reach| {
                    best.take_gap(seen, (a, b));
                    *reach = best.gap.map_or(*reach, |(gap, _)| gap);
                });
            }
        }
        best.minima(seen)
    }

    /// Publishes one sample.
    fn publish(&mut self, sample: Minima, ctx: &mut StepCtx<'_>) -> Result<(), StepError> {
        let mut is_new = false;
        if let Some(ttc) = sample.ttc {
            ctx.publish("ttc", &ttc)?;
            if self.minima.ttc.as_ref().is_none_or(|least| ttc.seconds < least.seconds) {
                ctx.publish("ttc_min", &ttc)?;
                self.minima.ttc = Some(ttc);
                is_new = true;
            }
        }
        if let Some(gap) = sample.gap
            && self.minima.gap.as_ref().is_none_or(|least| gap.metres < least.metres)
        {
            ctx.publish("gap_min", &gap)?;
            self.minima.gap = Some(gap);
            is_new = true;
        }
        if let (true, Some(sink)) = (is_new, &mut self.sink) {
            sink(&self.minima);
        }
        Ok(())
    }
}

/// The smallest values of one sample, with the places of the pair.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    /// Seconds and gap.
    time: Option<((f64, f64), (usize, usize))>,
    gap: Option<(f64, (usize, usize))>,
}

impl Best {
    fn take(&mut self, seen: &[Seen], pair: (usize, usize), horizon: f64) {
        self.take_time(seen, pair, horizon);
        self.take_gap(seen, pair);
    }

    fn take_time(&mut self, seen: &[Seen], pair: (usize, usize), horizon: f64) {
        let (a, b) = (&seen[pair.0], &seen[pair.1]);
        let seconds = in_plane(&a.footprint, a.velocity, &b.footprint, b.velocity);
        if seconds > horizon || self.time.is_some_and(|((least, _), _)| seconds > least) {
            return;
        }
        let found = ((seconds, a.footprint.clearance(&b.footprint)), pair);
        let order = |least: &((f64, f64), (usize, usize))| {
            let ((s, g), (t, h)) = (found.0, least.0);
            s.total_cmp(&t).then(g.total_cmp(&h)).then(pair.cmp(&least.1))
        };
        if self.time.as_ref().is_none_or(|least| order(least) == Ordering::Less) {
            self.time = Some(found);
        }
    }

    fn take_gap(&mut self, seen: &[Seen], pair: (usize, usize)) {
        let gap = seen[pair.0].footprint.clearance(&seen[pair.1].footprint);
        if self.gap.is_none_or(|(least, other)| gap.total_cmp(&least).then(pair.cmp(&other)) == Ordering::Less) {
            self.gap = Some((gap, pair));
        }
    }

    fn minima(self, seen: &[Seen]) -> Minima {
        let of = |(a, b): (usize, usize)| (seen[a].path.clone(), seen[b].path.clone(), seen[a].time.max(seen[b].time));
        let ttc = self.time.map(|((seconds, gap), pair)| {
            let (car, other, time) = of(pair);
            Ttc { car, other, time, seconds, gap }
        });
        let gap = self.gap.map(|(metres, pair)| {
            let (car, other, time) = of(pair);
            Gap { car, other, time, metres }
        });
        Minima { ttc, gap }
    }
}

impl fmt::Debug for TtcMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TtcMonitor")
            .field("ego", &self.ego)
            .field("period", &self.period)
            .field("horizon", &self.horizon)
            .field("minima", &self.minima)
            .finish_non_exhaustive()
    }
}

impl Participant for TtcMonitor {
    fn subscriptions(&self) -> Vec<Subscription> {
        subscriptions()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let sample = self.smallest(&look(ctx)?);
        self.publish(sample, ctx)?;
        next_sample("the time-to-collision monitor", self.period, ctx.now())
    }

    fn write_state(&self, out: &mut StateWriter) {
        out.f64(self.minima.ttc.as_ref().map_or(f64::INFINITY, |ttc| ttc.seconds));
        out.f64(self.minima.gap.as_ref().map_or(f64::INFINITY, |gap| gap.metres));
    }
}
