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

/// A controller that steps every 100 ms, reads the `pose` of its actor and of a leader, and publishes `steering` and
/// `acceleration`.
///
/// It pursues the centre of one lane ([`PurePursuit`]) and follows the leader's pose by the Intelligent Driver Model
/// ([`Idm`]), or drives freely without one. A leader that has not published yet, or has left, leaves the road empty. In
/// a composite it stands before the physics, which then gets the commands in the same instant.
#[derive(Clone, Debug)]
pub struct Driver {
    road: Arc<Road>,
    lane_centre: f64,
    vehicle: Vehicle,
    idm: Idm,
    pursuit: PurePursuit,
    leader: Option<String>,
    /// Where the last step found oneself and the leader: the hints for the next.
    own_s: Option<f64>,
    leader_s: Option<f64>,
}

impl Driver {
    /// The time between two steps.
    pub const PERIOD: SimDuration = SimDuration::from_millis(100);

    /// A driver of a [`Vehicle::CAR`] in a lane counted from the right, with the parameters of [`Idm::BRISK`] and
    /// nobody ahead.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`].
    pub fn new(road: Arc<Road>, lane: usize) -> Result<Self, TrafficError> {
        Ok(Self {
            lane_centre: road.lane_centre(lane)?,
            road,
            vehicle: Vehicle::CAR,
            idm: Idm::BRISK,
            pursuit: PurePursuit::default(),
            leader: None,
            own_s: None,
            leader_s: None,
        })
    }

    /// This driver with other car-following parameters.
    ///
    /// # Errors
    ///
    /// As [`Idm::check`].
    pub fn with_idm(self, idm: Idm) -> Result<Self, TrafficError> {
        idm.check()?;
        Ok(Self { idm, ..self })
    }

    /// This driver with another look-ahead.
    ///
    /// # Errors
    ///
    /// As [`PurePursuit::check`].
    pub fn with_pursuit(self, pursuit: PurePursuit) -> Result<Self, TrafficError> {
        pursuit.check()?;
        Ok(Self { pursuit, ..self })
    }

    /// This driver in another vehicle: commands are shares of what it can do, and its length is part of the gap.
    ///
    /// # Errors
    ///
    /// As [`Vehicle::check`].
    pub fn with_vehicle(self, vehicle: Vehicle) -> Result<Self, TrafficError> {
        vehicle.check()?;
        Ok(Self { vehicle, ..self })
    }

    /// This driver behind another actor's car.
    ///
    /// The gap is the distance between both reference points along the road, less the own vehicle's length; that is
    /// bumper to bumper when both have the same rear overhang.
    #[must_use]
    pub fn following(self, leader: &ActorPath) -> Self {
        Self { leader: Some(KeyExpr::of_actor(leader.as_str(), "pose")), ..self }
    }

    /// The curvature to steer, in 1/m.
    fn curvature(&self, pose: &Pose, place: RoadPlace) -> f64 {
        let ahead = place.s + self.pursuit.look_ahead(pose.speed);
        let (target, _) = self.road.pose_at(ahead, self.lane_centre);
        pursuit_curvature(pose.ground(), pose.heading(), target)
    }

    /// What is seen of the leader, from its pose.
    fn see(&mut self, leader: &Pose, own: RoadPlace) -> Result<Leader, TrafficError> {
        let place = locate(&self.road, leader, self.leader_s)?;
        self.leader_s = Some(place.s);
        let gap = self.road.distance_ahead(own.s, place.s) - self.vehicle.length;
        Ok(Leader { gap, speed: leader.speed })
    }
}

/// The place of a pose on the road, searched near `hint`.
fn locate(road: &Road, pose: &Pose, hint: Option<f64>) -> Result<RoadPlace, TrafficError> {
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
            let acceleration = self.idm.acceleration(pose.speed, leader);
            ctx.publish("acceleration", &Acceleration(self.vehicle.acceleration_for(acceleration)))?;
            let curvature = self.curvature(&pose, place);
            ctx.publish("steering", &Steering(self.vehicle.steering_for(curvature, pose.speed)))?;
        }
        ctx.after(Self::PERIOD)
    }
}
