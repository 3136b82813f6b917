//! The driver who changes lanes: follows whoever is ahead, and overtakes by MOBIL.

use std::{collections::BTreeMap, sync::Arc};

use chaconne_sim_core::{
    Participant, ReadError, SimDuration, SimTime, StepCtx, StepError, StepResult, Subscription,
    math::{self, Vec2},
};
use serde::{Deserialize, Serialize};

use crate::{
    TrafficError,
    body::Body,
    driver::{Driver, DriverModel, locate},
    error::check_positive,
    lane_control::{GRANTS, LaneChange, LaneRequest},
    law::{Idm, Leader, Mobil, Outlook, Prospect, PurePursuit, Side},
    road::{Road, RoadPlace},
    signal::{Acceleration, POSES, Pose, Steering},
    vehicle::Vehicle,
};

/// The room to the side that a driver keeps when passing who was ahead, in metres.
const PASSING_ROOM: f64 = 0.4;

/// The gap that a driver keeps to those who are passed, in metres, if the standstill gap is larger.
const PASSING_GAP: f64 = 2.0;

/// Whether a car at a lateral offset in metres reaches into a lane.
pub(crate) fn reaches(road: &Road, lateral: f64, lane: usize) -> Result<bool, TrafficError> {
    let reach = (road.lane_width(lane)? + Body::CAR.width) / 2.0;
    Ok((lateral - road.lane_centre(lane)?).abs() < reach)
}

/// How a change of lanes is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manoeuvre {
    /// How long the way from the middle of one lane to that of the next takes, in seconds; above 0.
    pub duration: f64,
    /// How long a driver then stays in the lane, in seconds; above 0.
    pub cool_down: f64,
}

impl Default for Manoeuvre {
    /// [`Manoeuvre::USUAL`].
    fn default() -> Self {
        Self::USUAL
    }
}

impl Manoeuvre {
    /// Four seconds, at most 1.3 m/s and 1.3 m/s² to the side between lanes of 3.5 m; then two seconds of rest.
    pub const USUAL: Self = Self { duration: 4.0, cool_down: 2.0 };

    /// Checks both parameters.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or not above zero.
    pub fn check(&self) -> Result<(), TrafficError> {
        check_positive("the lane change", "duration", self.duration)?;
        check_positive("the lane change", "cool_down", self.cool_down)
    }

    /// The share of the way to the side after `time` seconds: 3u² − 2u³, smooth at both ends.
    #[inline]
    #[must_use]
    pub fn progress(&self, time: f64) -> f64 {
        let u = math::clamp(time / self.duration, 0.0, 1.0);
        u * u * (3.0 - 2.0 * u)
    }
}

/// A controller that keeps a lane, follows whoever is ahead in it, and changes lanes.
///
/// It steps every 100 ms unless [`every`](Self::every) sets another period, reads the `pose` of every actor at the top of
/// the world and the `lane_grants` of a [`LaneControl`](crate::LaneControl), and publishes `steering`, `acceleration` and,
/// when it wants to change lanes, a `lane_request`. Every actor with a pose counts as a car of its own size; all that a step
/// decides, it decides on the poses held at that instant, which are those of the last instant before.
///
/// * **Following.** It follows the nearest ahead, by arc length, in its lane. Others are in the lanes that their bodies reach
///   into, and in the lane that they were granted to change to. During a change it also follows the nearest ahead in the lane
///   that it leaves, with a standstill gap of at most 2 m, until its front is clear of that one to the side, and does what the
///   stricter one asks.
/// * **Deciding.** Where [`Mobil`] finds a change safe and worth it, the driver asks for the better side. Others are taken to
///   drive by the same parameters and to be content with the speed that they have, if it is higher than one's own desired
///   one; whoever would be left with less than the standstill gap counts as braking as hard as possible. Of two equally
///   good sides it is the one on which the car is of the middle of its lane; exactly in the middle, none.
/// * **Changing.** Nothing changes without a grant. With it the place to pursue moves to the new lane as [`Manoeuvre`] says,
///   and the change ends when that time has passed and the car has left its old lane.
///   A request that is not granted by the next step has lapsed; if the wish lasts, it is made again.
///
/// In a composite it stands before the physics, which then gets the commands in the same instant.
#[derive(Clone, Debug)]
pub struct LaneDriver {
    road: Arc<Road>,
    model: DriverModel,
    mobil: Option<Mobil>,
    manoeuvre: Manoeuvre,
    period: SimDuration,
    /// The lane that it keeps, or changes to.
    lane: usize,
    change: Option<Change>,
    /// When the last request was made, and for which lane.
    request: Option<(SimTime, usize)>,
    /// No request is made before.
    rests_until: SimTime,
    /// Where the last step found each car: hints for the next.
    hints: BTreeMap<String, f64>,
}

/// A change of lanes under way.
#[derive(Clone, Copy, Debug)]
struct Change {
    from: usize,
    begun: SimTime,
}

/// Another car, as seen by a driver.
#[derive(Clone, Copy, Debug)]
struct Other {
    /// How far its reference point is ahead of one's own along the road, in metres; negative behind.
    ahead: f64,
    lateral: f64,
    speed: f64,
    /// The lane that it was granted to change to.
    target: Option<usize>,
}

/// The nearest ahead and behind in one lane.
#[derive(Clone, Copy, Debug, Default)]
struct Neighbours {
    leader: Option<Other>,
    follower: Option<Other>,
}

impl LaneDriver {
    /// A driver of a [`Vehicle::CAR`] in a lane counted from the right, with the parameters of [`Idm::BRISK`], who holds that
    /// lane.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`].
    pub fn new(road: Arc<Road>, lane: usize) -> Result<Self, TrafficError> {
        let model = DriverModel::new(road.lane_centre(lane)?);
        Ok(Self {
            road,
            model,
            mobil: None,
            manoeuvre: Manoeuvre::default(),
            period: Driver::PERIOD,
            lane,
            change: None,
            request: None,
            rests_until: SimTime::MIN,
            hints: BTreeMap::new(),
        })
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

    /// This driver in another vehicle: commands are shares of what it can do, and its length is part of every gap.
    ///
    /// # Errors
    ///
    /// As [`Vehicle::check`].
    pub fn with_vehicle(self, vehicle: Vehicle) -> Result<Self, TrafficError> {
        vehicle.check()?;
        Ok(Self { model: DriverModel { vehicle, ..self.model }, ..self })
    }

    /// This driver as one who changes lanes.
    ///
    /// # Errors
    ///
    /// As [`Mobil::check`] and [`Manoeuvre::check`].
    pub fn changing_lanes(self, mobil: Mobil, manoeuvre: Manoeuvre) -> Result<Self, TrafficError> {
        mobil.check()?;
        manoeuvre.check()?;
        Ok(Self { mobil: Some(mobil), manoeuvre, ..self })
    }

    /// This driver with another time between two steps.
    #[must_use]
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }

    /// What the driver sees of the others, in the order of their paths.
    fn look(&mut self, ctx: &StepCtx<'_>, own: RoadPlace, changes: &[LaneChange]) -> Result<Vec<Other>, StepError> {
        let poses = ctx.latest_all::<Pose>(POSES)?;
        let mut others = Vec::with_capacity(poses.len());
        let mut hints = BTreeMap::new();
        for (key, pose) in &poses {
            let Some(car) = key.actor().filter(|&car| car != ctx.actor().as_str()) else { continue };
            let place = locate(&self.road, pose, self.hints.get(car).copied())?;
            hints.insert(car.to_owned(), place.s);
            others.push(Other {
                ahead: self.road.signed_distance(own.s, place.s),
                lateral: place.lateral,
                speed: pose.speed,
                target: changes.iter().find(|change| change.car == car).map(|change| change.to),
            });
        }
        // Cars that left are forgotten.
        self.hints = hints;
        Ok(others)
    }

    /// The nearest ahead and behind in a lane. Who is exactly beside counts as ahead.
    fn neighbours(&self, others: &[Other], lane: usize) -> Result<Neighbours, TrafficError> {
        let mut found = Neighbours::default();
        for &other in others {
            if other.target != Some(lane) && !reaches(&self.road, other.lateral, lane)? {
                continue;
            }
            let nearest = if other.ahead >= 0.0 { &mut found.leader } else { &mut found.follower };
            if nearest.is_none_or(|nearest| other.ahead.abs() < nearest.ahead.abs()) {
                *nearest = Some(other);
            }
        }
        Ok(found)
    }

    /// What a driver sees of another who is `distance` metres ahead, from one reference point to the other.
    fn leader(&self, distance: f64, speed: f64) -> Leader {
        Leader { gap: distance - self.model.vehicle.length, speed }
    }

    /// What somebody would do behind a leader; as hard as possible on the brakes when there is no room at all.
    fn would(&self, idm: &Idm, speed: f64, leader: Option<Leader>) -> f64 {
        match leader {
            Some(leader) if leader.gap < idm.standstill_gap => -idm.max_braking,
            _ => idm.acceleration(speed, leader),
        }
    }

    /// What a follower would do, behind oneself or behind another.
    fn follower(&self, follower: Other, leader: Option<(f64, f64)>) -> f64 {
        let idm = self.model.idm;
        let idm = idm.with_desired_speed(math::max(idm.desired_speed, follower.speed));
        let leader = leader.map(|(ahead, speed)| self.leader(ahead - follower.ahead, speed));
        self.would(&idm, follower.speed, leader)
    }

    /// What a change from one lane to another would mean for those concerned.
    fn outlook(&self, speed: f64, here: Neighbours, there: Neighbours) -> Outlook {
        let own = |leader: Option<Other>| {
            let leader = leader.map(|leader| self.leader(leader.ahead, leader.speed));
            self.would(&self.model.idm, speed, leader)
        };
        let other = |other: Other| (other.ahead, other.speed);
        let (myself, ahead, beside) = (Some((0.0, speed)), here.leader.map(other), there.leader.map(other));
        let prospect = |follower: Option<Other>, stay, change| {
            follower.map_or(Prospect::default(), |follower| Prospect {
                stay: self.follower(follower, stay),
                change: self.follower(follower, change),
            })
        };
        Outlook {
            own: Prospect { stay: own(here.leader), change: own(there.leader) },
            new_follower: prospect(there.follower, beside, myself),
            old_follower: prospect(here.follower, myself, ahead),
        }
    }

    /// The lane that the driver would like to change to, and what that is worth in m/s².
    fn wish(
        &self,
        mobil: &Mobil,
        own: RoadPlace,
        speed: f64,
        others: &[Other],
    ) -> Result<Option<(usize, f64)>, TrafficError> {
        let here = self.neighbours(others, self.lane)?;
        let worth = |lane: Option<usize>, side| {
            let Some(lane) = lane.filter(|&lane| lane < self.road.lane_count()) else { return Ok(None) };
            let outlook = self.outlook(speed, here, self.neighbours(others, lane)?);
            Ok(mobil.wants(&outlook, side).then(|| (lane, mobil.incentive(&outlook, side))))
        };
        let right = worth(self.lane.checked_sub(1), Side::Right)?;
        let left = worth(self.lane.checked_add(1), Side::Left)?;
        let (Some(right), Some(left)) = (right, left) else { return Ok(right.or(left)) };
        let off = own.lateral - self.model.lane_centre;
        Ok(if left.1 > right.1 || (left.1 == right.1 && off > 0.0) {
            Some(left)
        } else if right.1 > left.1 || off < 0.0 {
            Some(right)
        } else {
            None
        })
    }

    /// Begins a change that was granted since it was asked for, and ends one that is done.
    fn update_change(
        &mut self,
        now: SimTime,
        own: RoadPlace,
        car: &str,
        changes: &[LaneChange],
    ) -> Result<(), StepError> {
        if let Some(change) = self.change
            && self.seconds_of(change, now) >= self.manoeuvre.duration
            && !reaches(&self.road, own.lateral, change.from)?
        {
            self.change = None;
            self.rests_until = now.checked_add(SimDuration::try_from_secs_f64(self.manoeuvre.cool_down)?)?;
        }
        if let Some((asked, lane)) = self.request.take()
            && changes.iter().any(|change| change.car == car && change.to == lane && change.granted >= asked)
        {
            self.change = Some(Change { from: self.lane, begun: now });
            self.lane = lane;
            self.model.lane_centre = self.road.lane_centre(lane)?;
        }
        Ok(())
    }

    /// How long a change has been under way.
    fn seconds_of(&self, change: Change, now: SimTime) -> f64 {
        now.since(change.begun).map_or(f64::INFINITY, SimDuration::as_secs_f64)
    }

    /// The lateral offset to pursue: where one should be at the end of the look-ahead, at one's present speed. A car that
    /// stands steers for the new lane at once.
    fn lateral_ahead(&self, now: SimTime, speed: f64) -> Result<f64, TrafficError> {
        let Some(change) = self.change else { return Ok(self.model.lane_centre) };
        let from = self.road.lane_centre(change.from)?;
        let ahead = self.model.pursuit.look_ahead(speed) / speed;
        let progress = self.manoeuvre.progress(self.seconds_of(change, now) + ahead);
        Ok(from + (self.model.lane_centre - from) * progress)
    }

    /// The acceleration in m/s² that the stricter of the leaders asks for: in its lane, and during a change, with less
    /// reserve, in the lane that it leaves, as long as the front of the car has not passed them by.
    fn acceleration(&self, own: RoadPlace, pose: &Pose, others: &[Other]) -> Result<f64, TrafficError> {
        let leader = |lane| Ok(self.neighbours(others, lane)?.leader);
        let sight = |leader: Other| self.leader(leader.ahead, leader.speed);
        let acceleration = self.model.idm.acceleration(pose.speed, leader(self.lane)?.map(sight));
        let Some(Change { from, .. }) = self.change else { return Ok(acceleration) };
        let front = self.front(own, pose);
        let beside = |other: Other| (front - other.lateral).abs() >= Body::CAR.width + PASSING_ROOM;
        let idm = &self.model.idm;
        let idm = Idm { standstill_gap: math::min(idm.standstill_gap, PASSING_GAP), ..*idm };
        let passed = leader(from)?.filter(|&leader| !beside(leader)).map(sight);
        Ok(math::min(acceleration, idm.acceleration(pose.speed, passed)))
    }

    /// The lateral offset of the middle of the car's front, in metres.
    fn front(&self, own: RoadPlace, pose: &Pose) -> f64 {
        let (_, along) = self.road.pose_at(own.s, own.lateral);
        let aside = Vec2::from_angle(along).perp_dot(pose.direction());
        own.lateral + (self.model.vehicle.length - Body::CAR.rear_overhang) * aside
    }
}

/// The changes that are granted and under way, by whatever controls there are.
pub(crate) fn changes_under_way(ctx: &StepCtx<'_>) -> Result<Vec<LaneChange>, ReadError> {
    let lists = ctx.latest_all::<Vec<LaneChange>>(GRANTS)?;
    Ok(lists.into_iter().flat_map(|(_, list)| list.value).collect())
}

impl Participant for LaneDriver {
    fn subscriptions(&self) -> Vec<Subscription> {
        ["pose", POSES, GRANTS].map(Subscription::latest).into()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if let Some(pose) = ctx.latest::<Pose>("pose")? {
            let now = ctx.now();
            let actor = ctx.actor().clone();
            let own = locate(&self.road, &pose, self.hints.get(actor.as_str()).copied())?;
            let changes = changes_under_way(ctx)?;
            self.update_change(now, own, actor.as_str(), &changes)?;
            let others = self.look(ctx, own, &changes)?;
            self.hints.insert(actor.as_str().to_owned(), own.s);

            let acceleration = self.acceleration(own, &pose, &others)?;
            ctx.publish("acceleration", &Acceleration(self.model.vehicle.acceleration_for(acceleration)))?;
            let pursued = DriverModel { lane_centre: self.lateral_ahead(now, pose.speed)?, ..self.model };
            ctx.publish("steering", &Steering(pursued.steering(&self.road, own.s, &pose)))?;

            if let Some(mobil) = &self.mobil
                && self.change.is_none()
                && now >= self.rests_until
                && let Some((to, incentive)) = self.wish(mobil, own, pose.speed, &others)?
            {
                self.request = Some((now, to));
                ctx.publish("lane_request", &LaneRequest { from: self.lane, to, s: own.s, incentive })?;
            }
        }
        ctx.after(self.period)
    }
}
