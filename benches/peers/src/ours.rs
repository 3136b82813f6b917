//! Chaconne's side of every work.
//!
//! Worlds are conducted by a bare [`Conductor`], as `App`s do it once per frame: fingerprint on, typed hand-over on, no
//! monitor, no mirror.

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{
    Key, Participant, SimDuration, SimTime, StepCtx, StepError, StepResult, Subscription, key::KeyExpr,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::PeerError,
    growth::{CONTROL_MS, PHYSICS_MS, Traffic},
    minimal::{
        Controller, Physics,
        stand_in::{self, KeepDistance, Point},
    },
    ring::{PERIOD_MS, Ring},
};

/// Chaconne's ring of `n` participants on `threads` threads, at time zero.
pub(crate) fn build(n: usize, threads: usize) -> Result<Box<dyn Ring>, PeerError> {
    let mut conductor = conductor("ring", threads)?;
    for member in 0..n {
        let before = KeyExpr::of_actor(&format!("m{}", (member + n - 1) % n), "value");
        conductor.add(Actor::of(format!("m{member}"), Member { before, held: 0.0 })).map_err(PeerError::ours)?;
    }
    Ok(Box::new(OurRing { conductor, n, instants: 0 }))
}

fn conductor(world: &str, threads: usize) -> Result<Conductor, PeerError> {
    Conductor::new(ConductorConfig {
        world: world.to_string(),
        seed: 42,
        threads,
        typed: true,
        ..ConductorConfig::default()
    })
    .map_err(PeerError::ours)
}

const fn period(milliseconds: u64) -> SimDuration {
    SimDuration::from_millis(milliseconds as i32)
}

/// `instants` periods after time zero: with [`Conductor::run_until`], so many instants.
fn after(periods: u64, milliseconds: u64) -> Result<SimTime, PeerError> {
    i64::try_from(periods * milliseconds)
        .map_err(PeerError::ours)
        .and_then(|milliseconds| SimTime::try_from_millis(milliseconds).map_err(PeerError::ours))
}

/// Sends the last value that it received plus one.
struct Member {
    before: String,
    held: f64,
}

impl Participant for Member {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every(self.before.clone())]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for signal in ctx.inbox() {
            self.held += signal.decode::<f64>()?;
        }
        ctx.publish("value", &(self.held + 1.0))?;
        self.held = 0.0;
        ctx.after(period(PERIOD_MS))
    }
}

struct OurRing {
    conductor: Conductor,
    n: usize,
    instants: u64,
}

impl Ring for OurRing {
    fn advance(&mut self, instants: u64) -> Result<(), PeerError> {
        self.instants += instants;
        self.conductor.run_until(after(self.instants, PERIOD_MS)?).map_err(PeerError::ours)
    }

    fn checksum(&mut self) -> Result<f64, PeerError> {
        // Members hold nothing between steps: all there is was sent at the last instant and is under way.
        let mut sum = 0.0;
        for member in 0..self.n {
            let key = Key::new(&format!("chaconne/ring/actor/m{member}/value")).map_err(PeerError::ours)?;
            sum += self.conductor.latest::<f64>(&key).map_or(0.0, |(_, value)| value);
        }
        Ok(sum)
    }
}

/// Chaconne's traffic of `cars` cars, two participants each, on one thread, at time zero: the same boxed parts as the
/// minimal loop steps.
pub(crate) fn traffic(cars: usize) -> Result<Box<dyn Traffic>, PeerError> {
    let mut conductor = conductor("traffic", 1)?;
    for car in 0..cars {
        let ahead = car.checked_sub(1).map(|ahead| KeyExpr::of_actor(&format!("car-{ahead}"), "pose"));
        let actor = Actor::new(format!("car-{car}"))
            .child("controller", Control { ahead, law: KeepDistance::new(car) })
            .child("physics", Motion { law: Point::new(car) });
        conductor.add(actor).map_err(PeerError::ours)?;
    }
    Ok(Box::new(OurTraffic { conductor, periods: 0 }))
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Xyz {
    x: f64,
    y: f64,
    z: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Xyzw {
    x: f64,
    y: f64,
    z: f64,
    w: f64,
}

/// The stand-in's pose, with the text that the minimal loop writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pose {
    position: Xyz,
    orientation: Xyzw,
    speed: f64,
}

impl From<stand_in::Pose> for Pose {
    fn from(pose: stand_in::Pose) -> Self {
        let [x, y, z] = pose.position;
        let position = Xyz { x, y, z };
        let [x, y, z, w] = pose.orientation;
        Self { position, orientation: Xyzw { x, y, z, w }, speed: pose.speed }
    }
}

impl From<Pose> for stand_in::Pose {
    fn from(Pose { position, orientation, speed }: Pose) -> Self {
        let Xyzw { x, y, z, w } = orientation;
        Self { position: [position.x, position.y, position.z], orientation: [x, y, z, w], speed }
    }
}

struct Control {
    ahead: Option<String>,
    law: KeepDistance,
}

impl Control {
    fn pose(ctx: &StepCtx<'_>, key: &str) -> Result<Option<stand_in::Pose>, StepError> {
        Ok(ctx.latest::<Pose>(key)?.map(|pose| pose.value.into()))
    }
}

impl Participant for Control {
    fn subscriptions(&self) -> Vec<Subscription> {
        let ahead = self.ahead.iter().map(|key| Subscription::latest(key.clone()));
        ahead.chain([Subscription::latest("pose")]).collect()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let own = Self::pose(ctx, "pose")?;
        let ahead = match &self.ahead {
            Some(key) => Self::pose(ctx, key)?,
            None => None,
        };
        let command = self.law.step(own.as_ref(), ahead.as_ref());
        ctx.publish("acceleration", &command.0)?;
        ctx.after(period(CONTROL_MS))
    }
}

struct Motion {
    law: Point,
}

impl Participant for Motion {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest("acceleration")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let command = ctx.latest::<f64>("acceleration")?.map(|command| stand_in::Acceleration(command.value));
        let pose = self.law.step(ctx.dt().as_secs_f64(), command.as_ref());
        if ctx.now().as_nanos() % period(CONTROL_MS).as_nanos() == 0 {
            ctx.publish("pose", &Pose::from(pose))?;
        }
        ctx.after(period(PHYSICS_MS))
    }
}

struct OurTraffic {
    conductor: Conductor,
    periods: u64,
}

impl Traffic for OurTraffic {
    fn advance(&mut self, periods: u64) -> Result<(), PeerError> {
        self.periods += periods;
        self.conductor.run_until(after(self.periods, CONTROL_MS)?).map_err(PeerError::ours)
    }

    fn steps(&self) -> u64 {
        self.conductor.steps()
    }
}
