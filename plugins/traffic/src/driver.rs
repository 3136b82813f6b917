//! The driver of a car: keeps a lane and a distance.

use std::sync::Arc;

use chaconne_sim_core::{ActorPath, KeyExpr, Participant, SimDuration, StepCtx, StepResult, Subscription};

use crate::{
    TrafficError,
    law::{Idm, Leader, PurePursuit, pursuit_curvature},
    road::{Road, RoadPlace},
    signal::{Acceleration, Pose, Steering},
    vehicle::Vehicle,
};

/// What a driver does with what is seen: pursues the centre of a lane ([`PurePursuit`]) and follows a leader by the
/// Intelligent Driver Model ([`Idm`]). A pure function of the pose and the leader, shared by [`Driver`] and by those who
/// drive many cars at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverModel {
    /// Lateral offset of the lane's centre from the road's reference line, in metres, positive to the left.
    pub lane_centre: f64,
    /// Commands are shares of what it can do, and its length is part of the gap.
    pub vehicle: Vehicle,
    /// How speed and distance are kept.
    pub idm: Idm,
    /// How the lane is kept.
    pub pursuit: PurePursuit,
}

impl DriverModel {
    /// The model of a [`Vehicle::CAR`] with [`Idm::BRISK`] and the default look-ahead.
    #[must_use]
    pub fn new(lane_centre: f64) -> Self {
        Self { lane_centre, vehicle: Vehicle::CAR, idm: Idm::BRISK, pursuit: PurePursuit::default() }
    }

    /// What is seen of a leader, from both arc lengths in metres and the leader's speed in m/s.
    ///
    /// The gap is the distance between both reference points along the road, less the own vehicle's length; that is
    /// bumper to bumper when both have the same rear overhang.
    #[inline]
    #[must_use]
    pub fn see(&self, road: &Road, own_s: f64, leader_s: f64, leader_speed: f64) -> Leader {
        Leader { gap: road.distance_ahead(own_s, leader_s) - self.vehicle.length, speed: leader_speed }
    }

    /// The acceleration command at a speed in m/s; without a leader the road is empty.
    #[inline]
    #[must_use]
    pub fn acceleration(&self, speed: f64, leader: Option<Leader>) -> f64 {
        self.vehicle.acceleration_for(self.idm.acceleration(speed, leader))
    }

    /// The steering command at a pose beside the arc length `s` in metres.
    #[inline]
    #[must_use]
    pub fn steering(&self, road: &Road, s: f64, pose: &Pose) -> f64 {
        let (target, _) = road.pose_at(s + self.pursuit.look_ahead(pose.speed), self.lane_centre);
        let curvature = pursuit_curvature(pose.ground(), pose.direction(), target);
        self.vehicle.steering_for(curvature, pose.speed)
    }
}

/// A controller that reads the `pose` of its actor and of a leader, and publishes `steering` and `acceleration`. It steps
/// every 100 ms unless [`every`](Self::every) sets another period.
///
/// It drives as its [`DriverModel`] says. A leader that has not published yet, or has left, leaves the road empty. In a
/// composite it stands before the physics, which then gets the commands in the same instant.
#[derive(Clone, Debug)]
pub struct Driver {
    road: Arc<Road>,
    model: DriverModel,
    leader: Option<String>,
    /// Where the last step found oneself and the leader: the hints for the next.
    own_s: Option<f64>,
    leader_s: Option<f64>,
    period: SimDuration,
}

impl Driver {
    /// The time between two steps unless [`every`](Self::every) sets another.
    pub const PERIOD: SimDuration = SimDuration::from_millis(100);

    /// A driver of a [`Vehicle::CAR`] in a lane counted from the right, with the parameters of [`Idm::BRISK`] and
    /// nobody ahead.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`].
    pub fn new(road: Arc<Road>, lane: usize) -> Result<Self, TrafficError> {
        let model = DriverModel::new(road.lane_centre(lane)?);
        Ok(Self::with_model(road, model))
    }

    /// A driver by a model whose parameters are known to be valid.
    pub(crate) fn with_model(road: Arc<Road>, model: DriverModel) -> Self {
        Self { road, model, leader: None, own_s: None, leader_s: None, period: Self::PERIOD }
    }

    /// This driver with other car-following parameters.
    ///
    /// # Errors
    ///
    /// As [`Idm::check`].
    pub fn with_idm(self, idm: Idm) -> Result<Self, TrafficError> {
        idm.check()?;
        Ok(Self { model: DriverModel { idm, ..self.model }, ..self })
    }

    /// This driver with another look-ahead.
    ///
    /// # Errors
    ///
    /// As [`PurePursuit::check`].
    pub fn with_pursuit(self, pursuit: PurePursuit) -> Result<Self, TrafficError> {
        pursuit.check()?;
        Ok(Self { model: DriverModel { pursuit, ..self.model }, ..self })
    }

    /// This driver in another vehicle: commands are shares of what it can do, and its length is part of the gap.
    ///
    /// # Errors
    ///
    /// As [`Vehicle::check`].
    pub fn with_vehicle(self, vehicle: Vehicle) -> Result<Self, TrafficError> {
        vehicle.check()?;
        Ok(Self { model: DriverModel { vehicle, ..self.model }, ..self })
    }

    /// This driver behind another actor's car.
    #[must_use]
    pub fn following(self, leader: &ActorPath) -> Self {
        Self { leader: Some(KeyExpr::of_actor(leader.as_str(), "pose")), ..self }
    }

    /// This driver with another time between two steps.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }

    /// What is seen of the leader, from its pose.
    fn see(&mut self, leader: &Pose, own: RoadPlace) -> Result<Leader, TrafficError> {
        let place = locate(&self.road, leader, self.leader_s)?;
        self.leader_s = Some(place.s);
        Ok(self.model.see(&self.road, own.s, place.s, leader.speed))
    }
}

/// The place of a pose on the road, searched near `hint`.
pub(crate) fn locate(road: &Road, pose: &Pose, hint: Option<f64>) -> Result<RoadPlace, TrafficError> {
    road.project(pose.ground(), hint).ok_or_else(|| TrafficError::OffRoad {
        road: road.name().to_owned(),
        x: pose.position.x,
        y: pose.position.y,
    })
}

impl Participant for Driver {
    fn subscriptions(&self) -> Vec<Subscription> {
        let leader = self.leader.clone().map(Subscription::latest);
        std::iter::once(Subscription::latest("pose")).chain(leader).collect()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if let Some(pose) = ctx.latest::<Pose>("pose")? {
            let place = locate(&self.road, &pose, self.own_s)?;
            self.own_s = Some(place.s);
            let leader = match &self.leader {
                Some(key) => ctx.latest::<Pose>(key)?,
                None => None,
            };
            let leader = leader.map(|leader| self.see(&leader, place)).transpose()?;
            ctx.publish("acceleration", &Acceleration(self.model.acceleration(pose.speed, leader)))?;
            ctx.publish("steering", &Steering(self.model.steering(&self.road, place.s, &pose)))?;
        }
        ctx.after(self.period)
    }
}
