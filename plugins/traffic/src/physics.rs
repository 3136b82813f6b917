//! Participants that move a vehicle: they hold the last commands and publish a pose.

use chaconne_sim_core::{
    Participant, SimDuration, StepCtx, StepResult, Subscription,
    math::{self, Vec2},
};

use crate::{
    signal::{Acceleration, Pose, Steering},
    vehicle::{Command, Vehicle, VehicleState},
};

/// The physics of one vehicle: a participant that steps every 10 ms, reads `steering` and `acceleration` of its actor
/// and publishes the actor's `pose`.
///
/// A command acts from the instant at which the physics receives it, and is held until the next one; before the first
/// the vehicle rolls straight on. The first step publishes the initial pose. See [`Vehicle::advance`] for the motion.
#[derive(Clone, Debug)]
pub struct VehiclePhysics {
    vehicle: Vehicle,
    state: VehicleState,
    command: Command,
    period: SimDuration,
}

impl VehiclePhysics {
    /// The time between two steps unless [`every`](Self::every) sets another.
    pub const PERIOD: SimDuration = SimDuration::from_millis(10);

    /// A vehicle with an initial state. A negative speed counts as zero; what is not finite halts the run when it is
    /// published.
    #[must_use]
    pub fn new(vehicle: Vehicle, state: VehicleState) -> Self {
        let speed = math::max(state.speed, 0.0);
        Self { vehicle, state: VehicleState { speed, ..state }, command: Command::default(), period: Self::PERIOD }
    }

    /// This vehicle with another time between two steps.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }
}

impl Participant for VehiclePhysics {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest("steering"), Subscription::latest("acceleration")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        self.state = self.vehicle.advance(self.state, self.command, ctx.dt().as_secs_f64());
        if let Some(steering) = ctx.latest::<Steering>("steering")? {
            self.command.steering = steering.0;
        }
        if let Some(acceleration) = ctx.latest::<Acceleration>("acceleration")? {
            self.command.acceleration = acceleration.0;
        }
        ctx.publish("pose", &Pose::from(self.state))?;
        ctx.after(self.period)
    }
}

/// The physics of a [`Vehicle::UNICYCLE`] that starts along the X axis: the simplest body to steer.
///
/// ```
/// use chaconne_sim_core::{Participant, SimDuration, StepCtx, StepResult, Subscription};
/// use chaconne_traffic::{Pose, Steering, Unicycle};
///
/// /// Steers its actor's body to a line along X.
/// struct HoldLane(f64);
///
/// impl Participant for HoldLane {
///     fn subscriptions(&self) -> Vec<Subscription> {
///         vec![Subscription::latest("pose")]
///     }
///
///     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
///         if let Some(pose) = ctx.latest::<Pose>("pose")? {
///             let bearing = 0.1 * (self.0 - pose.position.y) - pose.heading();
///             ctx.publish("steering", &Steering(bearing.clamp(-1.0, 1.0)))?;
///         }
///         ctx.after(SimDuration::from_millis(100))
///     }
/// }
///
/// let (controller, physics) = (HoldLane(3.5), Unicycle::new(0.0, 0.0, 20.0));
/// # let _ = (controller, physics);
/// ```
#[derive(Clone, Debug)]
pub struct Unicycle(VehiclePhysics);

impl Unicycle {
    /// A body at a position in metres, heading along X at a speed in m/s. See [`VehiclePhysics::new`].
    #[must_use]
    pub fn new(x: f64, y: f64, speed: f64) -> Self {
        let state = VehicleState { position: Vec2::new(x, y), heading: 0.0, speed };
        Self(VehiclePhysics::new(Vehicle::UNICYCLE, state))
    }
}

impl Participant for Unicycle {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.0.subscriptions()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        self.0.step(ctx)
    }
}
