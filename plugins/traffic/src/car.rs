//! Cars as they are written down: the parameters of a driver and its vehicle.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    TrafficError,
    error::{check_parameter, check_positive},
    lane_driver::{LaneDriver, Manoeuvre},
    law::{Idm, Mobil},
    physics::VehiclePhysics,
    road::Road,
    vehicle::{Vehicle, VehicleState},
};

/// A car on a road, as JSON: where it starts, and how it is driven. What has a default may be left out.
///
/// ```
/// use std::sync::Arc;
///
/// use chaconne_traffic::{CarParams, Road};
///
/// let text = r#"{ "lane": 2, "s": 120, "speed": 20, "desired_speed": 25, "mobil": { "politeness": 0.5 } }"#;
/// let car: CarParams = serde_json::from_str(text)?;
/// let (controller, physics) = car.parts(&Arc::new(Road::demo()))?;
/// # let _ = (controller, physics);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarParams {
    /// Its lane, counted from the right.
    pub lane: usize,
    /// Where its reference point starts, in the middle of the lane: arc length in metres.
    pub s: f64,
    /// The speed it starts with in m/s; 0 or more.
    pub speed: f64,
    /// The speed it keeps on an empty road in m/s, above 0: that of `idm` unless it is given here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_speed: Option<f64>,
    /// How it follows others; [`Idm::BRISK`] by default.
    #[serde(default)]
    pub idm: Idm,
    /// How it decides to change lanes; it holds its lane by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mobil: Option<Mobil>,
    /// How it changes lanes.
    #[serde(default)]
    pub manoeuvre: Manoeuvre,
}

impl CarParams {
    /// A car in a lane counted from the right, at an arc length in metres and a speed in m/s that it would like to keep. It
    /// follows by [`Idm::BRISK`] and holds its lane.
    #[must_use]
    pub const fn new(lane: usize, s: f64, speed: f64) -> Self {
        let (idm, manoeuvre) = (Idm::BRISK, Manoeuvre::USUAL);
        Self { lane, s, speed, desired_speed: Some(speed), idm, mobil: None, manoeuvre }
    }

    /// How it follows others, with the speed it would like to have.
    #[must_use]
    pub fn following(&self) -> Idm {
        self.desired_speed.map_or(self.idm, |speed| self.idm.with_desired_speed(speed))
    }

    /// Checks every parameter but the lane, which takes a road.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or out of the range that its field states.
    pub fn check(&self) -> Result<(), TrafficError> {
        let of = "the car";
        check_parameter(of, "s", self.s, "a finite number", true)?;
        check_parameter(of, "speed", self.speed, "0 or more", self.speed >= 0.0)?;
        if let Some(speed) = self.desired_speed {
            check_positive(of, "desired_speed", speed)?;
        }
        self.idm.check()?;
        self.manoeuvre.check()?;
        self.mobil.map_or(Ok(()), |mobil| mobil.check())
    }

    /// The two parts of the car's actor, in their order: the controller and the physics.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and [`TrafficError::NoSuchLane`].
    pub fn parts(&self, road: &Arc<Road>) -> Result<(LaneDriver, VehiclePhysics), TrafficError> {
        self.check()?;
        let driver = LaneDriver::new(Arc::clone(road), self.lane)?.with_idm(self.following())?;
        let driver = match self.mobil {
            Some(mobil) => driver.changing_lanes(mobil, self.manoeuvre)?,
            None => driver,
        };
        let (position, heading) = road.pose_at(self.s, road.lane_centre(self.lane)?);
        let state = VehicleState { position, heading, speed: self.speed };
        Ok((driver, VehiclePhysics::new(Vehicle::CAR, state)))
    }

    /// The car as an actor of two parts: `controller` and `physics`.
    ///
    /// # Errors
    ///
    /// As [`parts`](Self::parts).
    #[cfg(feature = "bevy")]
    pub fn actor(&self, path: &str, road: &Arc<Road>) -> Result<chaconne_conductor::Actor, TrafficError> {
        let (controller, physics) = self.parts(road)?;
        Ok(chaconne_conductor::Actor::new(path).child("controller", controller).child("physics", physics))
    }
}
