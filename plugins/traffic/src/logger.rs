//! The pose logger: samples where every car is.

use std::fmt;

use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};

use crate::{
    signal::{POSES, Pose},
    surroundings::next_sample,
};

/// One car's pose in one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseSample<'a> {
    /// When the sample was taken.
    pub sampled: SimTime,
    /// When the pose was published.
    pub published: SimTime,
    /// The path of the car's actor.
    pub car: &'a str,
    /// The pose.
    pub pose: &'a Pose,
}

/// A participant that gives a sample of every car to a callback: once per period, 1 ns after the boundary, so that it
/// sees what was published on the boundary. Cars come in the order of their paths.
///
/// The callback may print or keep the samples. It is outside the world, and nothing that it does can change the run.
///
/// ```
/// use std::sync::mpsc;
///
/// use chaconne_traffic::PoseLogger;
///
/// let (sender, samples) = mpsc::channel();
/// let logger = PoseLogger::new(move |sample| {
///     // Nobody listens any more: nothing to do.
///     let _ = sender.send((sample.car.to_owned(), sample.published, *sample.pose));
/// });
/// # drop(logger);
/// assert_eq!(samples.iter().count(), 0);
/// ```
pub struct PoseLogger {
    sink: Box<dyn FnMut(PoseSample<'_>) + Send>,
    period: SimDuration,
}

impl PoseLogger {
    /// A logger that samples once per simulated second.
    #[must_use]
    pub fn new(sink: impl FnMut(PoseSample<'_>) + Send + 'static) -> Self {
        Self { sink: Box::new(sink), period: SimDuration::from_secs(1) }
    }

    /// This logger with another period, at least 1 ns.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }
}

impl fmt::Debug for PoseLogger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoseLogger").field("period", &self.period).finish_non_exhaustive()
    }
}

impl Participant for PoseLogger {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest(POSES)]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for (key, pose) in ctx.latest_all::<Pose>(POSES)? {
            let car = key.actor().unwrap_or(key.as_str());
            (self.sink)(PoseSample { sampled: ctx.now(), published: pose.time, car, pose: &pose });
        }
        next_sample("the pose logger", self.period, ctx.now())
    }
}
