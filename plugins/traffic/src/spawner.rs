//! The spawner: keeps as many cars around one as there should be.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use chaconne_sim_core::{
    DetRng, Participant, SimDuration, SimTime, StepCtx, StepError, StepResult, Subscription, math,
    membership::{JoinRequest, RefusedKind},
};
use serde::{Deserialize, Serialize};

use crate::{
    TrafficError,
    car::CarParams,
    driver::{Driver, locate},
    error::{check_parameter, check_positive},
    lane_control::GRANTS,
    lane_driver::{Manoeuvre, changes_under_way},
    law::{Idm, Leader, Mobil},
    road::{Road, RoadPlace},
    signal::{POSES, Pose},
    surroundings::next_sample,
    vehicle::Vehicle,
};

/// Places that are tried per missing car and step.
const TRIES: usize = 8;

/// What a [`Spawner`] does. The defaults are those of the demo world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpawnerParams {
    /// The path of the actor around whom cars are kept.
    pub around: String,
    /// What its cars are called: this, `-` and a number. Two spawners of one world use two names.
    pub name: String,
    /// The factory that makes a car of [`CarParams`].
    pub factory: String,
    /// How many cars there should be at a time.
    pub cars: usize,
    /// The lanes in which cars start, counted from the right; at least one.
    pub lanes: Vec<usize>,
    /// The lowest speed of a car in m/s; above 0. It starts with the speed that it would like to keep.
    pub min_speed: f64,
    /// The highest speed of a car in m/s; not below the lowest.
    pub max_speed: f64,
    /// How far behind a car is retired, in metres; above 0.
    pub behind: f64,
    /// The nearest place ahead where a car may start, in metres, after the first cars; above 0.
    pub nearest: f64,
    /// The farthest place ahead where a car may start, in metres; not below the nearest.
    pub farthest: f64,
    /// The nearest place ahead where one of the first cars may start, in metres; above 0, not above `farthest`.
    pub first_nearest: f64,
    /// The room that a car needs from the ego in a lane beside its own, in metres between reference points; above 0.
    pub beside: f64,
    /// How cars follow others; their desired speed is drawn.
    pub idm: Idm,
    /// How cars decide to change lanes.
    pub mobil: Option<Mobil>,
    /// How cars change lanes.
    pub manoeuvre: Manoeuvre,
}

impl Default for SpawnerParams {
    fn default() -> Self {
        Self {
            around: "ego".to_owned(),
            name: "car".to_owned(),
            factory: "traffic/car".to_owned(),
            cars: 6,
            lanes: vec![0, 2],
            min_speed: 16.0,
            max_speed: 22.0,
            behind: 60.0,
            nearest: 85.0,
            farthest: 130.0,
            first_nearest: 20.0,
            beside: 30.0,
            idm: Idm { acceleration: 1.5, ..Idm::BRISK },
            mobil: Some(Mobil { politeness: 0.5, keep_right_bias: 0.0, ..Mobil::default() }),
            manoeuvre: Manoeuvre::default(),
        }
    }
}

impl SpawnerParams {
    /// How hard a change of lanes may make anybody brake, in m/s².
    fn safe_braking(&self) -> f64 {
        self.mobil.unwrap_or_default().safe_braking
    }

    /// Checks every parameter against its range and the road.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] or [`TrafficError::NoSuchLane`] with the first that is wrong.
    pub fn check(&self, road: &Road) -> Result<(), TrafficError> {
        let of = "the spawner";
        check_parameter(of, "lanes", self.lanes.len() as f64, "a list with at least one lane", !self.lanes.is_empty())?;
        for &lane in &self.lanes {
            road.lane_centre(lane)?;
        }
        check_positive(of, "min_speed", self.min_speed)?;
        let ordered = self.max_speed >= self.min_speed;
        check_parameter(of, "max_speed", self.max_speed, "finite and not below min_speed", ordered)?;
        check_positive(of, "behind", self.behind)?;
        check_positive(of, "nearest", self.nearest)?;
        let ordered = self.farthest >= self.nearest;
        check_parameter(of, "farthest", self.farthest, "finite and not below nearest", ordered)?;
        check_positive(of, "first_nearest", self.first_nearest)?;
        let ordered = self.first_nearest <= self.farthest;
        check_parameter(of, "first_nearest", self.first_nearest, "not above farthest", ordered)?;
        check_positive(of, "beside", self.beside)?;
        self.idm.check()?;
        self.manoeuvre.check()?;
        self.mobil.map_or(Ok(()), |mobil| mobil.check())
    }
}

/// A participant that lets cars join ahead of an actor, the ego, and leave behind it.
///
/// It steps 1 ns after each half second, sees where everybody is on the half second, and
///
/// * retires each of its cars that is more than `behind` metres behind the ego;
/// * lets as many join as are missing: `car-1`, `car-2` and so on, no path ever twice, first due at the next multiple of
///   100 ms. Lane, place and speed are drawn from the step's random stream; where there is no room another place is drawn, up
///   to eight times, and then it waits for the next step.
///
/// There is room where neither the newcomer, behind who is ahead in its lane or may change to it, nor who is behind it there,
/// would brake harder than is comfortable by the [`Idm`], if the one ahead were no faster. Those in the lanes beside could ask
/// to change before they see it, so neither would brake harder than is safe if they did; all but the ego, which is taken to
/// hold its lane, and only has to be `beside` metres away. A car that leaves by itself is replaced. Should the world refuse a
/// car, the run halts with its reason.
#[derive(Clone, Debug)]
pub struct Spawner {
    road: Arc<Road>,
    params: SpawnerParams,
    /// The cars that are there or were asked for in the last step, by path.
    cars: BTreeSet<String>,
    spawned: u64,
}

/// Somebody on the road.
#[derive(Clone, Copy, Debug)]
struct Seen {
    s: f64,
    lateral: f64,
    speed: f64,
    /// The lane that it was granted to change to.
    target: Option<usize>,
}

impl Spawner {
    /// The time between two steps.
    pub const PERIOD: SimDuration = SimDuration::from_millis(500);

    /// A spawner on a road.
    ///
    /// # Errors
    ///
    /// As [`SpawnerParams::check`].
    pub fn new(road: Arc<Road>, params: SpawnerParams) -> Result<Self, TrafficError> {
        params.check(&road)?;
        Ok(Self { road, params, cars: BTreeSet::new(), spawned: 0 })
    }

    /// Everybody with a pose, by path. That is everybody: who was asked for in the last step has come since.
    fn look(&self, ctx: &StepCtx<'_>) -> Result<BTreeMap<String, Seen>, StepError> {
        let mut seen = BTreeMap::new();
        let changes = changes_under_way(ctx)?;
        for (key, pose) in ctx.latest_all::<Pose>(POSES)? {
            if let Some(path) = key.actor() {
                let RoadPlace { s, lateral } = locate(&self.road, &pose, None)?;
                let target = changes.iter().find(|change| change.car == path).map(|change| change.to);
                seen.insert(path.to_owned(), Seen { s, lateral, speed: pose.speed, target });
            }
        }
        Ok(seen)
    }

    /// A car at a place that is drawn.
    fn draw(&self, rng: &mut DetRng, ego: f64, nearest: f64) -> CarParams {
        let SpawnerParams { lanes, min_speed, max_speed, farthest, idm, mobil, manoeuvre, .. } = &self.params;
        let lane = lanes[rng.below(lanes.len() as u64) as usize];
        let s = self.road.wrap(ego + rng.range_inclusive(nearest..=*farthest));
        let speed = rng.range_inclusive(*min_speed..=*max_speed);
        CarParams { idm: *idm, mobil: *mobil, manoeuvre: *manoeuvre, ..CarParams::new(lane, s, speed) }
    }

    /// Whether there is room for a car among the others.
    fn has_room(&self, car: &CarParams, others: &BTreeMap<String, Seen>) -> Result<bool, TrafficError> {
        let (centre, width) = (self.road.lane_centre(car.lane)?, self.road.lane_width(car.lane)?);
        let idm = car.following();
        for (path, other) in others {
            let off = (other.lateral - centre).abs();
            // Beyond two thirds of the lane's width somebody is about to leave the lane, or has just begun to come in.
            let is_in_lane = off < width * (2.0 / 3.0) || other.target == Some(car.lane);
            let is_beside = off < width * 1.5;
            let ahead = self.road.signed_distance(car.s, other.s);
            let gap = ahead.abs() - Vehicle::CAR.length;
            if !is_in_lane && (!is_beside || *path == self.params.around) {
                if is_beside && ahead.abs() < self.params.beside {
                    return Ok(false);
                }
                continue;
            }
            let slower = Some(Leader { gap, speed: math::min(car.speed, other.speed) });
            let acceleration = if ahead >= 0.0 {
                idm.acceleration(car.speed, slower)
            } else {
                idm.with_desired_speed(math::max(car.speed, other.speed)).acceleration(other.speed, slower)
            };
            let limit = if is_in_lane { idm.deceleration } else { self.params.safe_braking() };
            if gap < idm.standstill_gap || acceleration < -limit {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A car with room, if one of the tries finds it.
    fn find(
        &self,
        rng: &mut DetRng,
        ego: f64,
        nearest: f64,
        others: &BTreeMap<String, Seen>,
    ) -> Result<Option<CarParams>, TrafficError> {
        for _ in 0..TRIES {
            let car = self.draw(rng, ego, nearest);
            if self.has_room(&car, others)? {
                return Ok(Some(car));
            }
        }
        Ok(None)
    }
}

/// The next multiple of the drivers' period.
fn next_boundary(now: SimTime) -> StepResult {
    let since = SimDuration::from_nanos(now.as_nanos().rem_euclid(Driver::PERIOD.as_nanos()));
    Ok(now.checked_add(Driver::PERIOD.checked_sub(since)?)?)
}

impl Participant for Spawner {
    fn subscriptions(&self) -> Vec<Subscription> {
        [POSES, GRANTS].map(Subscription::latest).into()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        // One that left by itself before it could be retired is no matter.
        if let Some(refusal) = ctx.refusals().find(|refusal| refusal.request == RefusedKind::Join) {
            return Err(refusal.to_string().into());
        }
        let mut seen = self.look(ctx)?;
        self.cars.retain(|path| seen.contains_key(path));
        if let Some(ego) = seen.get(&self.params.around).map(|ego| ego.s) {
            let passed: Vec<String> = self
                .cars
                .iter()
                .filter(|&path| {
                    seen.get(path).is_some_and(|car| self.road.signed_distance(ego, car.s) < -self.params.behind)
                })
                .cloned()
                .collect();
            for path in passed {
                self.cars.remove(&path);
                seen.remove(&path);
                ctx.leave(path);
            }
            let nearest = if self.spawned == 0 { self.params.first_nearest } else { self.params.nearest };
            let first_due = next_boundary(ctx.now())?;
            while self.cars.len() < self.params.cars {
                let Some(car) = self.find(ctx.rng(), ego, nearest, &seen)? else { break };
                self.spawned += 1;
                let path = format!("{}-{}", self.params.name, self.spawned);
                ctx.join(
                    JoinRequest::new(path.as_str(), self.params.factory.as_str()).with(&car)?.first_due(first_due),
                );
                let CarParams { lane, s, speed, .. } = car;
                self.cars.insert(path.clone());
                seen.insert(path, Seen { s, lateral: self.road.lane_centre(lane)?, speed, target: None });
            }
        }
        next_sample("the spawner", Self::PERIOD, ctx.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawner() -> Spawner {
        Spawner::new(Arc::new(Road::demo()), SpawnerParams::default()).unwrap()
    }

    fn room(lateral: f64, ahead: f64, speed: f64, target: Option<usize>) -> bool {
        let (spawner, car) = (spawner(), CarParams::new(0, 500.0, 18.0));
        let other = Seen { s: 500.0 + ahead, lateral, speed, target };
        spawner.has_room(&car, &BTreeMap::from([("other".to_owned(), other)])).unwrap()
    }

    #[test]
    fn there_is_room_where_nobody_has_to_brake() {
        // In the same lane: 18 m/s at 1.5 s and 2 m, so that 25 m are too near at equal speeds, and more behind a slower one.
        assert!(room(-3.5, 60.0, 18.0, None) && room(-3.5, -60.0, 18.0, None));
        assert!(!room(-3.5, 25.0, 18.0, None) && !room(-3.5, -25.0, 18.0, None) && !room(-3.5, 60.0, 10.0, None));
        // A faster one ahead leaves no more room than one of the same speed.
        assert!(!room(-3.5, 25.0, 25.0, None));
        // In the lane beside somebody may be nearer, unless it is about to come; two lanes away nobody matters.
        assert!(room(0.0, 28.0, 18.0, None) && !room(0.0, 28.0, 18.0, Some(0)) && !room(0.0, 15.0, 18.0, None));
        assert!(room(3.5, 0.0, 18.0, None) && !room(3.5, 0.0, 18.0, Some(0)));
    }

    #[test]
    fn cars_are_drawn_in_their_ranges_and_around_the_end_of_the_road() {
        let (spawner, key) = (spawner(), chaconne_sim_core::StreamKey::from_bits(1));
        let end = spawner.road.length() - 50.0;
        let mut lanes = [0; 3];
        for number in 0..200 {
            let car = spawner.draw(&mut key.stream(number), end, 85.0);
            assert!((35.0..=80.0).contains(&car.s) && (16.0..=22.0).contains(&car.speed), "{car:?}");
            assert_eq!(car.following().desired_speed, car.speed);
            lanes[car.lane] += 1;
        }
        assert!(lanes[0] > 60 && lanes[1] == 0 && lanes[2] > 60, "{lanes:?}");
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let error = |params: SpawnerParams| params.check(&Road::demo()).unwrap_err().to_string();
        assert!(
            error(SpawnerParams { lanes: vec![], ..SpawnerParams::default() })
                .starts_with("`lanes` of the spawner is 0")
        );
        assert!(error(SpawnerParams { lanes: vec![3], ..SpawnerParams::default() }).contains("lane 3 does not exist"));
        assert!(error(SpawnerParams { max_speed: 10.0, ..SpawnerParams::default() }).starts_with("`max_speed`"));
        assert!(error(SpawnerParams { farthest: f64::NAN, ..SpawnerParams::default() }).starts_with("`farthest`"));
        assert!(serde_json::from_str::<SpawnerParams>(r#"{"car":7}"#).is_err());
        let params: SpawnerParams = serde_json::from_str(r#"{"cars":7}"#).unwrap();
        assert_eq!(params, SpawnerParams { cars: 7, ..SpawnerParams::default() });
    }
}
