//! Participants that move a vehicle: they hold the last commands and publish a pose.

use chaconne_sim_core::{
    Participant, SimDuration, SimTime, StepCtx, StepError, StepResult, Subscription,
    math::{self, Vec2},
};

use crate::{
    signal::{Acceleration, Pose, Steering},
    vehicle::{Command, Held, Vehicle, VehicleState},
};

/// The physics of one vehicle: a participant that steps every 10 ms, reads `steering` and `acceleration` of its actor
/// and publishes the actor's `pose`.
///
/// A command acts from the instant at which the physics receives it, and is held until the next one; before the first
/// the vehicle rolls straight on. The first step publishes the initial pose. See [`Held::advance`] for the motion.
#[derive(Clone, Debug)]
pub struct VehiclePhysics {
    vehicle: Vehicle,
    state: VehicleState,
    command: Command,
    held: Held,
    period: SimDuration,
    /// What poses are published for; at every step without.
    readers: Option<SimDuration>,
}

impl VehiclePhysics {
    /// The time between two steps unless [`every`](Self::every) sets another.
    pub const PERIOD: SimDuration = SimDuration::from_millis(10);

    /// A vehicle with an initial state. A negative speed counts as zero; what is not finite halts the run when it is
    /// published.
    #[must_use]
    pub fn new(vehicle: Vehicle, state: VehicleState) -> Self {
        let (speed, command) = (math::max(state.speed, 0.0), Command::default());
        let (state, held) = (VehicleState { speed, ..state }, vehicle.hold(command));
        Self { vehicle, state, command, held, period: Self::PERIOD, readers: None }
    }

    /// This vehicle with another time between two steps.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }

    /// This vehicle for readers that look once per `period`, at its multiples: the pose is published at the first step,
    /// and then only at the last step before each multiple. Such readers see what they would see otherwise, at a fraction
    /// of the signals. The period is at least 1 ns.
    #[must_use]
    pub fn publishing_every(self, period: SimDuration) -> Self {
        Self { readers: Some(period), ..self }
    }

    /// Whether anybody will look before the next step.
    fn publishes(&self, now: SimTime, first: bool) -> Result<bool, StepError> {
        let Some(readers) = self.readers.map(SimDuration::as_nanos) else { return Ok(true) };
        if readers < 1 {
            return Err(format!("poses are to be published every {} ns; choose at least 1 ns", readers).into());
        }
        let next = now.checked_add(self.period)?;
        Ok(first || next.as_nanos().div_euclid(readers) > now.as_nanos().div_euclid(readers))
    }
}

impl Participant for VehiclePhysics {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every("steering"), Subscription::every("acceleration")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        self.state = self.held.advance(self.state, ctx.dt().as_secs_f64());
        let mut commands = ctx.inbox().peekable();
        if commands.peek().is_some() {
            for command in commands {
                match command.key().signal() {
                    Some("steering") => self.command.steering = command.decode::<Steering>()?.0,
                    _ => self.command.acceleration = command.decode::<Acceleration>()?.0,
                }
            }
            self.held = self.vehicle.hold(self.command);
        }
        if self.publishes(ctx.now(), ctx.last_step().is_none())? {
            ctx.publish("pose", &Pose::from(self.state))?;
        }
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
