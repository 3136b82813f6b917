//! Traffic: roads, control laws, vehicles, and the participants made of them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`law`] | the Intelligent Driver Model, MOBIL and pure pursuit: pure functions |
//! | [`vehicle`] | how a body moves under held commands: unicycle and kinematic bicycle |
//! | [`body`] | the rectangle that a vehicle covers: overlap and clearance of two |
//! | [`radar`] | what a radar sees of the vehicles around it: a pure function, and a participant with noise |
//! | [`collision`] | a monitor that says once when two vehicles begin to overlap |
//! | [`ttc`] | times to collision: pure functions, and a monitor that keeps a run's smallest |
//! | [`road`] | roads from data files, arc-length parametrised, with lanes |
//! | [`demo`] | the demo world: an ego, and cars that join, change lanes and leave |
//! | [`worlds`] | a ring on which a jam forms, and a lane that ends |
//! | [`fleet`] | many cars that follow each other, as participants or as columns |
//! | `factories` | what scenario files can make of all this (feature `scenario`) |
//! | `population` | the same cars as agents of a population (feature `bevy`) |
//! | at the root | signals ([`Pose`], [`Steering`], [`Acceleration`], [`LaneRequest`], [`LaneChange`]) and participants: |
//! | | [`VehiclePhysics`] and [`Unicycle`] move bodies; [`StandingBody`] and [`OscillatingBody`] move by a script |
//! | | [`Driver`] follows one car, [`LaneDriver`] whoever is ahead, and changes lanes as [`LaneControl`] grants |
//! | | [`Spawner`] lets cars join and leave around an ego, [`PoseLogger`] looks on |
//!
//! A car is an actor of two parts: a controller that reads poses and publishes commands every 100 ms, and physics that
//! holds the commands and publishes a pose every 10 ms.
//!
//! ```text
//!   lead/pose ──►┌────────────┐ steering      ┌─────────────┐
//!                │ controller │ acceleration  │   physics   │ pose
//!            ┌──►│  (Driver)  ├──────────────►│             ├──┬──►
//!            │   └────────────┘               └─────────────┘  │
//!            └─────────────────────────────────────────────────┘
//! ```
//!
//! SI units throughout: metres, seconds, radians. The world is right-handed with Z up; bodies point along X with Y to
//! their left, so headings count anticlockwise and lateral offsets are positive to the left.
//!
//! ```
//! use chaconne_sim_core::math::Vec2;
//! use chaconne_traffic::{
//!     law::{Idm, Leader, pursuit_curvature},
//!     road::Road,
//!     vehicle::{Command, Vehicle, VehicleState},
//! };
//!
//! // One driver's decision and ten milliseconds of its car, without any world around it.
//! let (road, car, idm) = (Road::demo(), Vehicle::CAR, Idm::PUBLISHED);
//! let (position, heading) = road.pose_at(100.0, road.lane_centre(0)?);
//! let state = VehicleState { position, heading, speed: 20.0 };
//! let acceleration = idm.acceleration(state.speed, Some(Leader { gap: 60.0, speed: 18.0 }));
//! let (target, _) = road.pose_at(120.0, road.lane_centre(0)?);
//! let command = Command {
//!     acceleration: car.acceleration_for(acceleration),
//!     steering: car.steering_for(pursuit_curvature(position, Vec2::from_angle(heading), target), state.speed),
//! };
//! let next = car.advance(state, command, 0.01);
//! assert!(next.speed > 20.0 && next.position.x > position.x);
//! # Ok::<(), chaconne_traffic::TrafficError>(())
//! ```
//!
//! Without its default feature `bevy` the crate needs neither Bevy nor the conductor: laws, roads, vehicles and
//! participants can be linked into an exported FMU or a host of one's own.

pub mod body;
mod car;
pub mod collision;
pub mod demo;
mod driver;
mod error;
#[cfg(feature = "scenario")]
pub mod factories;
pub mod fleet;
mod lane_control;
mod lane_driver;
pub mod law;
mod logger;
mod physics;
#[cfg(feature = "bevy")]
pub mod population;
pub mod radar;
pub mod road;
mod scripted;
mod signal;
mod spawner;
mod surroundings;
pub mod ttc;
pub mod vehicle;
mod watch;
pub mod worlds;

pub use body::{Body, BodyAnnouncer, Footprint};
pub use car::CarParams;
pub use collision::{Collision, CollisionEnd, CollisionMonitor};
pub use driver::{Driver, DriverModel};
pub use error::TrafficError;
pub use lane_control::{LaneChange, LaneControl, LaneRequest};
pub use lane_driver::{LaneDriver, Manoeuvre};
pub use logger::{PoseLogger, PoseSample};
pub use physics::{Unicycle, VehiclePhysics};
pub use radar::{Detection, Radar, RadarSpec};
pub use road::Road;
pub use scripted::{OscillatingBody, StandingBody};
pub use signal::{Acceleration, Pose, Steering};
pub use spawner::{Spawner, SpawnerParams};
pub use ttc::{Gap, Ttc, TtcMonitor};
pub use watch::{Log, Watch};
