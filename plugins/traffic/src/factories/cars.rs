//! Cars, bodies and those who let them come and go, as they are written in scenarios. The names and defaults are those of the
//! parameters in the rest of the crate.

use chaconne_scenario::quantity::{Degrees, Orientation, Period, Range};
use chaconne_sim_core::math::{Vec2, Vec3};
use schemars::JsonSchema;
use serde::Deserialize;

use super::watchers::RadarFile;
use crate::{
    CarParams, LaneControl, Manoeuvre, Road, SpawnerParams, VehiclePhysics,
    driver::Driver,
    law::{Idm, Mobil},
    vehicle::{Vehicle, VehicleState},
};

chaconne_scenario::quantities! {
    /// A place along the road or along an axis.
    pub struct ArcLength(f64) = Range::new("m").from(-1e7).up_to(1e7);
    /// A distance.
    pub struct Distance(f64) = Range::new("m").above(0.0).up_to(1e6);
    /// A speed that may be zero.
    pub struct Speed(f64) = Range::new("m/s").from(0.0).up_to(150.0);
    /// A speed above zero.
    pub struct PositiveSpeed(f64) = Range::new("m/s").above(0.0).up_to(150.0);
    /// An acceleration or a deceleration, as an amount.
    pub struct Acceleration(f64) = Range::new("m/s²").above(0.0).up_to(20.0);
    /// An advantage, weighed as an acceleration.
    pub struct Advantage(f64) = Range::new("m/s²").from(0.0).up_to(20.0);
    /// An advantage of one side over the other.
    pub struct Bias(f64) = Range::new("m/s²").from(-20.0).up_to(20.0);
    /// A span of time.
    pub struct Span(f64) = Range::new("s").above(0.0).up_to(1e4);
    /// An exponent.
    pub struct Exponent(f64) = Range::new("").above(0.0).up_to(20.0);
    /// A share.
    pub struct Share(f64) = Range::new("").from(0.0).up_to(1.0);
    /// A number of cars.
    pub struct Cars(u32) = Range::new("").from(1).up_to(1_000_000);
}

/// How a driver follows another: the Intelligent Driver Model.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IdmFile {
    /// Speed on an empty road.
    desired_speed: PositiveSpeed,
    /// Time gap to the leader.
    time_gap: Span,
    /// Largest acceleration.
    acceleration: Acceleration,
    /// Comfortable deceleration.
    deceleration: Acceleration,
    /// How late the acceleration fades on the way to the desired speed.
    exponent: Exponent,
    /// Gap at standstill.
    standstill_gap: Distance,
    /// Hardest braking.
    max_braking: Acceleration,
}

impl Default for IdmFile {
    fn default() -> Self {
        Self::of(Idm::BRISK)
    }
}

impl IdmFile {
    fn of(idm: Idm) -> Self {
        Self {
            desired_speed: PositiveSpeed::of(idm.desired_speed),
            time_gap: Span::of(idm.time_gap),
            acceleration: Acceleration::of(idm.acceleration),
            deceleration: Acceleration::of(idm.deceleration),
            exponent: Exponent::of(idm.exponent),
            standstill_gap: Distance::of(idm.standstill_gap),
            max_braking: Acceleration::of(idm.max_braking),
        }
    }

    /// The law's parameters.
    pub fn idm(self) -> Idm {
        Idm {
            desired_speed: self.desired_speed.get(),
            time_gap: self.time_gap.get(),
            acceleration: self.acceleration.get(),
            deceleration: self.deceleration.get(),
            exponent: self.exponent.get(),
            standstill_gap: self.standstill_gap.get(),
            max_braking: self.max_braking.get(),
        }
    }
}

/// How a driver decides to change lanes: MOBIL.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MobilFile {
    /// Hardest braking that a change may force on anybody.
    safe_braking: Acceleration,
    /// How much the others' gains count beside one's own.
    politeness: Share,
    /// What a change must be worth.
    threshold: Advantage,
    /// What a change to the right is worth by itself.
    keep_right_bias: Bias,
}

impl Default for MobilFile {
    fn default() -> Self {
        Self::of(Mobil::default())
    }
}

impl MobilFile {
    fn of(mobil: Mobil) -> Self {
        Self {
            safe_braking: Acceleration::of(mobil.safe_braking),
            politeness: Share::of(mobil.politeness),
            threshold: Advantage::of(mobil.threshold),
            keep_right_bias: Bias::of(mobil.keep_right_bias),
        }
    }

    /// The law's parameters.
    pub fn mobil(self) -> Mobil {
        Mobil {
            safe_braking: self.safe_braking.get(),
            politeness: self.politeness.get(),
            threshold: self.threshold.get(),
            keep_right_bias: self.keep_right_bias.get(),
        }
    }
}

/// How a change of lanes is made.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ManoeuvreFile {
    /// How long the way from lane to lane takes.
    duration: Span,
    /// How long a driver then stays in the lane.
    cool_down: Span,
}

impl Default for ManoeuvreFile {
    fn default() -> Self {
        Self::of(Manoeuvre::USUAL)
    }
}

impl ManoeuvreFile {
    fn of(manoeuvre: Manoeuvre) -> Self {
        Self { duration: Span::of(manoeuvre.duration), cool_down: Span::of(manoeuvre.cool_down) }
    }

    /// The driver's parameters.
    pub fn manoeuvre(self) -> Manoeuvre {
        Manoeuvre { duration: self.duration.get(), cool_down: self.cool_down.get() }
    }
}

/// A car on the road: where it starts, and how it is driven.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarFile {
    /// Its lane, counted from the right.
    lane: usize,
    /// Where it starts.
    s: ArcLength,
    /// The speed it starts with.
    speed: Speed,
    /// The speed it keeps on an empty road; that of `idm` unless it is given here.
    #[serde(default)]
    desired_speed: Option<PositiveSpeed>,
    /// How it follows others.
    #[serde(default)]
    idm: IdmFile,
    /// How it decides to change lanes; without it, it holds its lane.
    #[serde(default)]
    mobil: Option<MobilFile>,
    /// How it changes lanes.
    #[serde(default)]
    manoeuvre: ManoeuvreFile,
    /// A radar on it, as its part `radar`.
    #[serde(default)]
    pub(super) radar: Option<RadarFile>,
}

impl CarFile {
    /// The car.
    pub fn car(&self) -> CarParams {
        CarParams {
            lane: self.lane,
            s: self.s.get(),
            speed: self.speed.get(),
            desired_speed: self.desired_speed.map(PositiveSpeed::get),
            idm: self.idm.idm(),
            mobil: self.mobil.map(MobilFile::mobil),
            manoeuvre: self.manoeuvre.manoeuvre(),
        }
    }
}

/// A car that follows one other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowerFile {
    /// Its lane, counted from the right.
    pub(super) lane: usize,
    /// Where it starts.
    s: ArcLength,
    /// The speed it starts with.
    speed: Speed,
    /// The path of the actor that it follows; nobody unless it is given.
    #[serde(default)]
    pub(super) follows: Option<String>,
    /// How it follows.
    #[serde(default)]
    pub(super) idm: IdmFile,
    /// Time between two decisions of the driver.
    #[serde(default = "decides_every")]
    pub(super) decides_every: Period,
    /// Time between two steps of the body.
    #[serde(default = "moves_every")]
    moves_every: Period,
}

fn decides_every() -> Period {
    Period::of(Driver::PERIOD)
}

fn moves_every() -> Period {
    Period::of(VehiclePhysics::PERIOD)
}

impl FollowerFile {
    pub(super) fn vehicle(&self) -> VehicleFile {
        let start = Start::Lane(LaneStart { lane: self.lane, s: self.s });
        VehicleFile { start, speed: self.speed, body: BodyKind::Car, every: self.moves_every }
    }
}

/// Where a body starts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// In the middle of a lane, along the road.
    Lane(LaneStart),
    /// Anywhere in the plane.
    Pose(PoseStart),
}

/// A place on the road.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneStart {
    /// The lane, counted from the right.
    lane: usize,
    /// The place along the road.
    s: ArcLength,
}

/// A place in the world.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoseStart {
    /// The position of the reference point, in metres.
    position_m: [ArcLength; 3],
    /// Roll, pitch and yaw in degrees. A car stands on the ground: roll and pitch are 0.
    #[serde(default = "level")]
    rpy_deg: Rpy,
}

/// Roll, pitch and yaw in degrees.
type Rpy = [Degrees; 3];

fn level() -> Rpy {
    [Degrees::of(0.0); 3]
}

/// What moves.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// A kinematic bicycle.
    #[default]
    Car,
    /// A body that turns with a rate.
    Unicycle,
}

/// A body that is steered by signals of its actor.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VehicleFile {
    /// Where it starts.
    start: Start,
    /// The speed it starts with.
    speed: Speed,
    /// What it is.
    #[serde(default)]
    body: BodyKind,
    /// Time between two steps.
    #[serde(default = "moves_every")]
    every: Period,
}

impl VehicleFile {
    /// The participant.
    pub(super) fn physics(&self, road: Option<&Road>) -> Result<VehiclePhysics, String> {
        let (position, heading) = match self.start {
            Start::Lane(LaneStart { lane, s }) => {
                let road =
                    road.ok_or("it starts in a lane; give the scenario a `road`, or let it start at a `pose`")?;
                road.pose_at(s.get(), road.lane_centre(lane).map_err(|error| error.to_string())?)
            }
            Start::Pose(PoseStart { position_m, rpy_deg }) => {
                let [x, y, z] = position_m.map(ArcLength::get);
                if z != 0.0 || rpy_deg[0].get() != 0.0 || rpy_deg[1].get() != 0.0 {
                    return Err("it moves in the plane: height, roll and pitch must be 0".to_owned());
                }
                let turned = Orientation { rpy_deg }.quat().rotate(Vec3::X);
                (Vec2::new(x, y), turned.truncate().angle())
            }
        };
        let vehicle = match self.body {
            BodyKind::Car => Vehicle::CAR,
            BodyKind::Unicycle => Vehicle::UNICYCLE,
        };
        let state = VehicleState { position, heading, speed: self.speed.get() };
        Ok(VehiclePhysics::new(vehicle, state).every(self.every.get()))
    }
}

/// A body that stands in a lane.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObstacleFile {
    /// The lane, counted from the right.
    pub(super) lane: usize,
    /// The place along the road.
    pub(super) s: ArcLength,
}

/// A body whose speed is a sine around a mean.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaderFile {
    /// The lane, counted from the right.
    pub(super) lane: usize,
    /// Where it is at time zero.
    pub(super) s: ArcLength,
    /// The mean speed.
    pub(super) mean_speed: Speed,
    /// How far the speed goes from the mean.
    #[serde(default = "still")]
    pub(super) amplitude: Speed,
    /// The time of one oscillation.
    #[serde(default = "minute")]
    pub(super) period: Span,
    /// Time between two poses.
    #[serde(default = "moves_every")]
    pub(super) every: Period,
}

fn still() -> Speed {
    Speed::of(0.0)
}

fn minute() -> Span {
    Span::of(60.0)
}

/// Who may change lanes.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LaneControlFile {
    /// The least distance between two cars that change to one lane at one time.
    pub(super) clearance: Distance,
    /// How drivers change lanes; of several manners, the longest.
    pub(super) manoeuvre: ManoeuvreFile,
}

impl Default for LaneControlFile {
    fn default() -> Self {
        Self { clearance: Distance::of(LaneControl::CLEARANCE), manoeuvre: ManoeuvreFile::default() }
    }
}

/// Who joins ahead of an actor and leaves behind it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpawnerFile {
    /// The path of the actor around whom cars are kept.
    around: String,
    /// What its cars are called: this, `-` and a number.
    name: String,
    /// The type that makes a car.
    factory: String,
    /// How many cars there should be at a time.
    cars: Cars,
    /// The lanes in which cars start, counted from the right.
    lanes: Vec<usize>,
    /// The lowest speed of a car, which is the one that it would like to keep.
    min_speed: PositiveSpeed,
    /// The highest speed of a car.
    max_speed: PositiveSpeed,
    /// How far behind a car is retired.
    behind: Distance,
    /// The nearest place ahead where a car may start, after the first ones.
    nearest: Distance,
    /// The farthest place ahead where a car may start.
    farthest: Distance,
    /// The nearest place ahead where one of the first cars may start.
    first_nearest: Distance,
    /// The room that a car needs from the actor in a lane beside its own.
    beside: Distance,
    /// How cars follow others; their desired speed is drawn.
    idm: IdmFile,
    /// How cars decide to change lanes; null for holding them.
    mobil: Option<MobilFile>,
    /// How cars change lanes.
    manoeuvre: ManoeuvreFile,
}

impl Default for SpawnerFile {
    fn default() -> Self {
        let params = SpawnerParams::default();
        Self {
            around: params.around,
            name: params.name,
            factory: params.factory,
            cars: Cars::of(params.cars as u32),
            lanes: params.lanes,
            min_speed: PositiveSpeed::of(params.min_speed),
            max_speed: PositiveSpeed::of(params.max_speed),
            behind: Distance::of(params.behind),
            nearest: Distance::of(params.nearest),
            farthest: Distance::of(params.farthest),
            first_nearest: Distance::of(params.first_nearest),
            beside: Distance::of(params.beside),
            idm: IdmFile::of(params.idm),
            mobil: params.mobil.map(MobilFile::of),
            manoeuvre: ManoeuvreFile::of(params.manoeuvre),
        }
    }
}

impl SpawnerFile {
    /// The participant's parameters.
    pub fn params(self) -> SpawnerParams {
        SpawnerParams {
            around: self.around,
            name: self.name,
            factory: self.factory,
            cars: self.cars.get() as usize,
            lanes: self.lanes,
            min_speed: self.min_speed.get(),
            max_speed: self.max_speed.get(),
            behind: self.behind.get(),
            nearest: self.nearest.get(),
            farthest: self.farthest.get(),
            first_nearest: self.first_nearest.get(),
            beside: self.beside.get(),
            idm: self.idm.idm(),
            mobil: self.mobil.map(MobilFile::mobil),
            manoeuvre: self.manoeuvre.manoeuvre(),
        }
    }
}

/// Many cars that follow each other around the demo road.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetFile {
    /// How many cars there are.
    pub(super) cars: Cars,
    /// The seed of their speeds; the run's unless it is given.
    #[serde(default)]
    pub(super) seed: Option<u64>,
}
