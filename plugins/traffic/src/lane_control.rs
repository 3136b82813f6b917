//! Who may change lanes when several want to: all requests of an instant are decided together.

use std::{collections::BTreeMap, sync::Arc};

use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepError, StepResult, Subscription};
use serde::{Deserialize, Serialize};

use crate::{
    TrafficError,
    driver::{Driver, locate},
    error::check_positive,
    lane_driver::{Manoeuvre, reaches},
    road::{Road, RoadPlace},
    signal::{POSES, Pose},
    surroundings::next_sample,
};

/// The requests of all cars, whatever the world is called.
const REQUESTS: &str = "chaconne/*/actor/*/lane_request";

/// The changes that were granted, by whatever actor decides.
pub(crate) const GRANTS: &str = "chaconne/*/actor/*/lane_grants";

/// A driver's wish to change lanes. Published as `lane_request`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneRequest {
    /// The lane that it is in, counted from the right.
    pub from: usize,
    /// The lane that it wants to be in, one more or one less.
    pub to: usize,
    /// Where it is, as arc length in metres.
    pub s: f64,
    /// What the change is worth to it, in m/s².
    pub incentive: f64,
}

/// A change of lanes that was granted and is under way. A [`LaneControl`] publishes all of them as `lane_grants`, in the
/// order of paths, whenever one begins or ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneChange {
    /// The path of the car's actor.
    pub car: String,
    /// The lane that it leaves.
    pub from: usize,
    /// The lane that it will be in.
    pub to: usize,
    /// When it was granted.
    pub granted: SimTime,
}

/// A participant that grants changes of lanes: one for the road, as an actor of its own.
///
/// It steps 1 ns after each multiple of 100 ms, so that it has all that drivers asked for on the multiple. All of these
/// requests were decided on one snapshot, that of the poses held then, and none knows of the others; what they may not do is
/// decided here:
///
/// * **Conflicts.** A request conflicts with another, and with a change under way, when both end in the same lane and the cars
///   are less than `clearance` apart along the road. A change is under way for the time of a manoeuvre and two of this
///   participant's periods, and longer while the car still reaches into the lane that it leaves; until the car leaves the
///   world, at most.
/// * **Order.** Each request draws a number from this step's random stream, in the order of the cars' paths. In the order of
///   the numbers each request is granted that conflicts with no change under way and none granted before it. So among
///   conflicting requests every car has the same chance, whatever its path and wherever it is.
///
/// Of several requests of one car since the last step the last counts; a car that is changing already is not granted another
/// change.
#[derive(Clone, Debug)]
pub struct LaneControl {
    road: Arc<Road>,
    clearance: f64,
    manoeuvre: Manoeuvre,
    changes: Vec<LaneChange>,
}

impl LaneControl {
    /// The time between two steps.
    pub const PERIOD: SimDuration = Driver::PERIOD;

    /// The least distance between two cars that change to the same lane at the same time, in metres, unless
    /// [`with_clearance`](Self::with_clearance) sets another: from one reference point to the other.
    pub const CLEARANCE: f64 = 60.0;

    /// The control of a road on which changes are made as [`Manoeuvre::default`] says.
    #[must_use]
    pub fn new(road: Arc<Road>) -> Self {
        Self { road, clearance: Self::CLEARANCE, manoeuvre: Manoeuvre::default(), changes: Vec::new() }
    }

    /// This control with another clearance in metres.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] when it is not finite or not above zero.
    pub fn with_clearance(self, clearance: f64) -> Result<Self, TrafficError> {
        check_positive("the lane control", "clearance", clearance)?;
        Ok(Self { clearance, ..self })
    }

    /// This control of drivers with another manoeuvre; of several, the longest.
    ///
    /// # Errors
    ///
    /// As [`Manoeuvre::check`].
    pub fn with_manoeuvre(self, manoeuvre: Manoeuvre) -> Result<Self, TrafficError> {
        manoeuvre.check()?;
        Ok(Self { manoeuvre, ..self })
    }

    /// Where every car is now.
    fn places(&self, ctx: &StepCtx<'_>) -> Result<BTreeMap<String, RoadPlace>, StepError> {
        let mut places = BTreeMap::new();
        for (key, pose) in ctx.latest_all::<Pose>(POSES)? {
            if let Some(car) = key.actor() {
                places.insert(car.to_owned(), locate(&self.road, &pose, None)?);
            }
        }
        Ok(places)
    }

    /// Forgets the changes that are done, and those of cars that are gone.
    fn forget(&mut self, now: SimTime, places: &BTreeMap<String, RoadPlace>) -> Result<(), TrafficError> {
        let least = self.manoeuvre.duration + 2.0 * Self::PERIOD.as_secs_f64();
        let mut kept = Vec::with_capacity(self.changes.len());
        for change in self.changes.drain(..) {
            let Some(place) = places.get(&change.car) else { continue };
            let is_recent = now.since(change.granted).is_ok_and(|time| time.as_secs_f64() < least);
            if is_recent || reaches(&self.road, place.lateral, change.from)? {
                kept.push(change);
            }
        }
        self.changes = kept;
        Ok(())
    }

    /// Whether a change to a lane at `s` is too near to one that was granted.
    fn conflicts(&self, to: usize, s: f64, places: &BTreeMap<String, RoadPlace>) -> bool {
        self.changes.iter().any(|other| {
            let apart = places.get(&other.car).map(|place| self.road.signed_distance(s, place.s).abs());
            other.to == to && apart.is_some_and(|apart| apart < self.clearance)
        })
    }
}

impl Participant for LaneControl {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every(REQUESTS), Subscription::latest(POSES)]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let mut requests = BTreeMap::new();
        for request in ctx.inbox() {
            if let Some(car) = request.key().actor() {
                requests.insert(car.to_owned(), request.decode::<LaneRequest>()?);
            }
        }
        if !requests.is_empty() || !self.changes.is_empty() {
            let now = ctx.now();
            let before = self.changes.clone();
            let places = self.places(ctx)?;
            self.forget(now, &places)?;
            let mut drawn: Vec<_> =
                requests.into_iter().map(|(car, request)| (ctx.rng().next_u64(), car, request)).collect();
            // Numbers are equal once in 2⁶⁴ draws; then the path decides.
            drawn.sort_by(|(a, car_a, _), (b, car_b, _)| (a, car_a).cmp(&(b, car_b)));
            for (_, car, LaneRequest { from, to, .. }) in drawn {
                let Some(&RoadPlace { s, .. }) = places.get(&car) else { continue };
                if self.changes.iter().all(|change| change.car != car) && !self.conflicts(to, s, &places) {
                    self.changes.push(LaneChange { car, from, to, granted: now });
                }
            }
            self.changes.sort_by(|a, b| a.car.cmp(&b.car));
            if self.changes != before {
                ctx.publish("lane_grants", &self.changes)?;
            }
        }
        next_sample("the lane control", Self::PERIOD, ctx.now())
    }
}
