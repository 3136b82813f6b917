//! The signals of the traffic domain: a vehicle's pose, and the commands that move it.

use chaconne_sim_core::math::{Quat, Vec2, Vec3};
use serde::{Deserialize, Serialize};

use crate::vehicle::VehicleState;

/// The poses of all actors at the top of the world, whatever the world is called.
pub(crate) const POSES: &str = "chaconne/*/actor/*/pose";

/// Where a vehicle is, which way it points, and how fast it goes. Published as `pose`.
///
/// The default is at rest in the origin, along X. On the wire `{"position":{"x":…,"y":…,"z":…},"orientation":{"w":…,"x":…,"y":…,"z":…},"speed":…}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// The vehicle's reference point in metres, in the world's right-handed frame with Z up.
    pub position: Vec3,
    /// The rotation from the vehicle's frame (X forward, Y to the left) to the world's.
    pub orientation: Quat,
    /// Speed along the vehicle's X axis in m/s.
    pub speed: f64,
}

impl Pose {
    /// The heading in radians, in [−π, π], anticlockwise from the world's X axis.
    #[must_use]
    pub fn heading(&self) -> f64 {
        self.orientation.yaw()
    }

    /// The direction on the ground in which the vehicle points: a unit vector, for a rotation about Z alone.
    #[inline]
    #[must_use]
    pub fn direction(&self) -> Vec2 {
        self.orientation.rotate(Vec3::X).truncate()
    }

    /// The velocity on the ground in m/s: the speed along [`direction`](Self::direction).
    #[inline]
    #[must_use]
    pub fn velocity(&self) -> Vec2 {
        self.direction() * self.speed
    }

    /// The position on the ground, in metres.
    #[must_use]
    pub fn ground(&self) -> Vec2 {
        self.position.truncate()
    }
}

impl From<VehicleState> for Pose {
    /// The pose of a vehicle on the plane z = 0.
    fn from(state: VehicleState) -> Self {
        Self { position: state.position.extend(0.0), orientation: Quat::from_yaw(state.heading), speed: state.speed }
    }
}

/// The steering command, in [−1, 1], positive to the left. Published as `steering`; held until replaced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steering(pub f64);

/// The acceleration command, in [−1, 1], negative to brake. Published as `acceleration`; held until replaced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acceleration(pub f64);

#[cfg(test)]
mod tests {
    use chaconne_sim_core::canon;

    use super::*;

    #[test]
    fn signals_have_these_bytes_and_read_back_as_equal_values() {
        let state = VehicleState { position: Vec2::new(12.5, -3.0), heading: 0.0, speed: 30.0 };
        let pose = Pose::from(state);
        let text = canon::to_vec(&pose).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&text),
            r#"{"position":{"x":12.5,"y":-3,"z":0},"orientation":{"w":1,"x":0,"y":0,"z":0},"speed":30}"#
        );
        assert_eq!(canon::from_slice::<Pose>(&text).unwrap(), pose);
        assert_eq!(canon::to_vec(&Steering(-0.25)).unwrap(), b"-0.25");
        assert_eq!(canon::to_vec(&Acceleration(1.0)).unwrap(), b"1");
    }

    #[test]
    fn heading_and_direction_survive_the_quaternion() {
        for heading in [-3.1, -1.0, 0.0, 1e-9, 0.7, 3.1] {
            let pose = Pose::from(VehicleState { position: Vec2::ZERO, heading, speed: 0.0 });
            assert!((pose.heading() - heading).abs() < 1e-15, "{heading}");
            assert!(pose.direction().distance(Vec2::from_angle(heading)) < 1e-15, "{heading}");
        }
    }
}
