//! The radar as a participant.

use chaconne_sim_core::{
    ActorPath, Participant, SimDuration, StepCtx, StepError, StepResult, StreamKey, Subscription, rng::Domain,
};

use super::{Detection, RadarSpec, Target, Truth};
use crate::{
    TrafficError,
    signal::Pose,
    surroundings::{Seen, check_period, look, subscriptions},
};

/// A radar on a car: steps every 50 ms, reads the poses and bodies of all actors at the top of the world and publishes
/// `radar`, a list of [`Detection`]s without names, nearest first and equally far ones from right to left.
///
/// It belongs to the top actor that it stands in or under: as a part, placed before the car's physics, or as an actor
/// of its own under the car's path (`ego/radar`). In both places all poses are those of the instant before, its own
/// car's among them; after the physics its own car's pose would be a step newer than the others. Without a pose of its
/// own car it publishes nothing.
///
/// Each target's noise comes from a stream of its own, named by seed, radar, target and time: who else is around
/// changes nothing in it.
///
/// ```
/// use std::sync::mpsc;
///
/// use chaconne_conductor::{Actor, Conductor, ConductorConfig};
/// use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};
/// use chaconne_traffic::{Detection, Radar, RadarSpec, Unicycle};
///
/// /// Listens to a radar.
/// struct Listener(mpsc::Sender<Vec<Detection>>);
///
/// impl Participant for Listener {
///     fn subscriptions(&self) -> Vec<Subscription> {
///         vec![Subscription::every("radar")]
///     }
///
///     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
///         for signal in ctx.inbox() {
///             self.0.send(signal.decode()?)?;
///         }
///         ctx.after(SimDuration::from_millis(50))
///     }
/// }
///
/// let (sender, scans) = mpsc::channel();
/// let radar = Radar::new(RadarSpec::default().without_noise())?;
/// let mut world = Conductor::new(ConductorConfig::default())?;
/// let ego = Actor::new("ego").child("radar", radar).child("ears", Listener(sender));
/// world.add(ego.child("physics", Unicycle::new(0.0, 0.0, 30.0)))?;
/// world.add(Actor::of("lead", Unicycle::new(60.0, 0.0, 20.0)))?;
/// world.run_until(SimTime::from_millis(60))?;
/// let scan = scans.recv()?;
/// // After 40 ms, the instant before: 60 − 1 − 4 m between the bumpers, less 0.4 m.
/// assert!((scan[0].range - 54.6).abs() < 1e-9 && scan[0].range_rate == -10.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Radar {
    spec: RadarSpec,
    period: SimDuration,
    truth: bool,
}

impl Radar {
    /// The time between two steps unless [`every`](Self::every) sets another.
    pub const PERIOD: SimDuration = SimDuration::from_millis(50);

    /// A radar with these parameters.
    ///
    /// # Errors
    ///
    /// As [`RadarSpec::check`].
    pub fn new(spec: RadarSpec) -> Result<Self, TrafficError> {
        spec.check()?;
        Ok(Self { spec, period: Self::PERIOD, truth: false })
    }

    /// This radar with another time between two steps, at least 1 ns; a shorter one halts the run.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }

    /// This radar with a second signal for evaluations, `radar_truth`: a list of [`Truth`]s whose entries say in the
    /// order of `radar` which target each detection comes from, and what it would be without noise.
    #[must_use]
    pub fn with_truth(self) -> Self {
        Self { truth: true, ..self }
    }

    /// Publishes one scan of a car that has this pose and these others around it.
    fn publish(&self, pose: &Pose, others: &[Seen], ctx: &mut StepCtx<'_>) -> Result<(), StepError> {
        let targets: Vec<Target> =
            others.iter().map(|one| Target { footprint: one.footprint, velocity: one.velocity }).collect();
        let mut scan: Vec<(Detection, Truth)> = Vec::new();
        for (one, seen) in others.iter().zip(self.spec.sight(pose, pose.velocity(), &targets)) {
            let Some(exact) = seen else { continue };
            let Detection { range, range_rate, azimuth } = exact;
            let (path, target) = (ctx.path().as_str(), one.path.as_str());
            let key = StreamKey::new(ctx.seed(), Domain::Step, path, target, ctx.now().as_nanos());
            let measured = self.spec.measure(exact, &mut key.stream(0));
            scan.push((measured, Truth { target: one.path.clone(), range, range_rate, azimuth }));
        }
        scan.sort_by(|a, b| Detection::order(&a.0, &b.0));
        let (detections, truth): (Vec<Detection>, Vec<Truth>) = scan.into_iter().unzip();
        ctx.publish("radar", &detections)?;
        if self.truth {
            ctx.publish("radar_truth", &truth)?;
        }
        Ok(())
    }
}

impl Participant for Radar {
    fn subscriptions(&self) -> Vec<Subscription> {
        subscriptions()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        check_period("the radar", self.period)?;
        let top = ctx.path().as_str();
        let car = ActorPath::new(top.split_once('/').map_or(top, |(top, _)| top))?;
        let (own, others): (Vec<Seen>, Vec<Seen>) = look(ctx)?.into_iter().partition(|one| one.path == car);
        if let Some(own) = own.first() {
            self.publish(&own.pose, &others, ctx)?;
        }
        ctx.after(self.period)
    }
}
