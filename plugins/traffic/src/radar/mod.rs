//! Radar: range, range rate and azimuth of the vehicles in a field of view.
//!
//! [`RadarSpec::sight`] and [`scan`] are pure functions of where everybody is; [`Radar`] is the participant that calls
//! them once per period, adds noise and publishes `radar`.
//!
//! # What is seen
//!
//! * A target is **measured at its nearest point** inside the field of view: range and azimuth are those of that point of
//!   its rectangle, whether or not something nearer covers just this point.
//! * It is **seen** when that range is at most the largest, and **any part** of it inside the field of view (wider than
//!   [`RadarSpec::SLIVER`]) is not covered. A target is covered where another one is in front of it along the ray; of
//!   two that do not overlap each other, one is in front along all rays that meet both. One's own vehicle covers nothing.
//! * The **range rate** is the speed of the point away from the sensor, as Doppler's effect shows it: negative while it
//!   approaches. It is the derivative of the range for bodies that do not turn, except where the edge of the field of
//!   view cuts off a nearer point.
//! * A target that contains the sensor is seen at range 0 in the direction of its centre, if that lies in the field of
//!   view, and covers nothing.
//!
//! Azimuths are positive to the left of the sensor's axis, in [−π, π]. A mirrored scene (opposite y, headings, mounting
//! side and yaw) gives mirrored detections, to the bit, with one exception: a field of view of more than half a turn
//! that cuts a target which stands exactly behind in two equally near parts takes the left one.
//!
//! ```
//! use chaconne_sim_core::math::{Vec2, Vec3};
//! use chaconne_traffic::{Body, Pose, RadarSpec, radar::{Target, scan}};
//!
//! let car = |x: f64, y: f64, speed| Pose { position: Vec3::new(x, y, 0.0), speed, ..Pose::default() };
//! let targets = [car(60.0, 0.0, 20.0), car(90.0, 0.0, 25.0), car(30.0, 3.5, 22.0)]
//!     .map(|pose| Target { footprint: Body::CAR.at(&pose), velocity: pose.velocity() });
//! let ego = car(0.0, 0.0, 30.0);
//! let seen = scan(&ego, ego.velocity(), &targets, &RadarSpec::default());
//! // The sensor sits in the front bumper, 4 m ahead of the pose; the second car is hidden behind the first.
//! assert_eq!(seen.len(), 2);
//! assert_eq!((seen[1].range, seen[1].range_rate, seen[1].azimuth), (55.0, -10.0, 0.0));
//! assert!(seen[0].azimuth > 0.0);
//! ```

mod participant;
mod sector;
#[cfg(test)]
mod tests;

use chaconne_sim_core::{
    ActorPath, DetRng,
    math::{self, Vec2, angle},
};
use serde::{Deserialize, Serialize};

use crate::{
    TrafficError,
    body::Footprint,
    error::{check_parameter, check_positive},
    signal::Pose,
};
use sector::Sector;

pub use participant::Radar;

/// One reflection. A list of them, nearest first, is published as `radar`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Distance from the sensor in metres, at least 0.
    pub range: f64,
    /// Speed away from the sensor in m/s; negative while the target approaches.
    pub range_rate: f64,
    /// Direction in radians in [−π, π] from the sensor's axis, positive to the left.
    pub azimuth: f64,
}

/// A detection without its noise, and whose it is. A list of them is published as `radar_truth` by a radar that
/// [was asked to](Radar::with_truth): entry by entry what stands behind the entries of `radar`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// The path of the target's actor.
    pub target: ActorPath,
    /// As in [`Detection::range`].
    pub range: f64,
    /// As in [`Detection::range_rate`].
    pub range_rate: f64,
    /// As in [`Detection::azimuth`].
    pub azimuth: f64,
}

/// What can be seen: a vehicle's rectangle, and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The ground that it covers.
    pub footprint: Footprint,
    /// Its velocity on the ground in m/s.
    pub velocity: Vec2,
}

/// The parameters of a radar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadarSpec {
    /// Largest range in metres; above 0.
    pub max_range: f64,
    /// The whole angle that is seen, half of it on either side of the sensor's axis, in radians; above 0 and at most 2π.
    pub field_of_view: f64,
    /// Where the sensor is mounted, from the vehicle's reference point, in metres along X (ahead) and Y (to the left);
    /// finite.
    pub position: Vec2,
    /// Where the sensor's axis points, in radians to the left of the vehicle's X axis; in [−π, π].
    pub yaw: f64,
    /// Standard deviation of the noise of ranges, in metres; at least 0, and 0 draws nothing.
    pub range_sigma: f64,
    /// Standard deviation of the noise of range rates, in m/s; at least 0, and 0 draws nothing.
    pub range_rate_sigma: f64,
    /// Standard deviation of the noise of azimuths, in radians; at least 0, and 0 draws nothing.
    pub azimuth_sigma: f64,
}

impl Default for RadarSpec {
    /// A radar in the front bumper of a car, 4 m ahead of the reference point: 150 m, 60°, and noise of 0.1 m, 0.1 m/s
    /// and 0.2°.
    fn default() -> Self {
        Self {
            max_range: 150.0,
            field_of_view: angle::to_radians(60.0),
            position: Vec2::new(4.0, 0.0),
            yaw: 0.0,
            range_sigma: 0.1,
            range_rate_sigma: 0.1,
            azimuth_sigma: angle::to_radians(0.2),
        }
    }
}

impl RadarSpec {
    /// Parts of a target that are not wider than this, in radians, are not seen: below what rounding can tell apart.
    pub const SLIVER: f64 = 1e-9;

    /// This radar without noise: it then measures exactly and draws no random number.
    #[must_use]
    pub const fn without_noise(self) -> Self {
        Self { range_sigma: 0.0, range_rate_sigma: 0.0, azimuth_sigma: 0.0, ..self }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or out of the range that its field states.
    pub fn check(&self) -> Result<(), TrafficError> {
        let of = "the radar";
        check_positive(of, "max_range", self.max_range)?;
        let valid = self.field_of_view > 0.0 && self.field_of_view <= math::TAU;
        check_parameter(of, "field_of_view", self.field_of_view, "above 0 and at most 2π", valid)?;
        check_parameter(of, "position.x", self.position.x, "a finite number", true)?;
        check_parameter(of, "position.y", self.position.y, "a finite number", true)?;
        check_parameter(of, "yaw", self.yaw, "at least −π and at most π", self.yaw.abs() <= math::PI)?;
        for (parameter, sigma) in [
            ("range_sigma", self.range_sigma),
            ("range_rate_sigma", self.range_rate_sigma),
            ("azimuth_sigma", self.azimuth_sigma),
        ] {
            check_parameter(of, parameter, sigma, "a finite number of at least 0", sigma >= 0.0)?;
        }
        Ok(())
    }

    /// What a radar on a vehicle at `pose`, moving at `velocity` in m/s, sees of each target: one entry per target in
    /// their order, without noise, `None` for one that is not seen.
    ///
    /// The vehicle itself must not be among the targets. How fast the vehicle turns is not taken into account.
    #[must_use]
    pub fn sight(&self, pose: &Pose, velocity: Vec2, targets: &[Target]) -> Vec<Option<Detection>> {
        let forward = pose.direction().normalize().unwrap_or(Vec2::X);
        let origin = pose.ground() + forward * self.position.x + forward.perp() * self.position.y;
        let axis = forward.rotate(self.yaw);
        // What covers a part of a target that is in range may itself lie beyond it, by no more than that target's size.
        let size = |target: &Target| Vec2::new(target.footprint.size().0, target.footprint.size().1).length();
        let reach = self.max_range + targets.iter().map(size).fold(0.0, math::max);
        let near = |target: &Target| {
            let seen = target.footprint.seen_from(origin, axis);
            (seen.nearest_point(Vec2::ZERO).length() <= reach).then(|| Sector::of(seen))
        };
        let sectors: Vec<Option<Sector>> = targets.iter().map(near).collect();
        let detect = |at: usize| {
            let sector = sectors[at].as_ref()?;
            let relative = targets[at].velocity - velocity;
            let relative = Vec2::new(axis.dot(relative), axis.perp_dot(relative));
            let point = sector.nearest_within(self.field_of_view)?;
            let detection = point.detection(relative);
            let others = sectors.iter().enumerate().filter(|(other, _)| *other != at).filter_map(|(_, it)| it.as_ref());
            let seen = detection.range <= self.max_range && sector.is_visible(self.field_of_view, others);
            seen.then_some(detection)
        };
        (0..targets.len()).map(detect).collect()
    }

    /// A detection as it is measured: with the noise of each quantity whose standard deviation is not 0, drawn in the
    /// order of range, range rate and azimuth. A range stays at or above 0, an azimuth within [−π, π].
    pub fn measure(&self, detection: Detection, rng: &mut DetRng) -> Detection {
        let mut noisy = |value: f64, sigma: f64| if sigma == 0.0 { value } else { rng.normal(value, sigma) };
        Detection {
            range: math::max(noisy(detection.range, self.range_sigma), 0.0),
            range_rate: noisy(detection.range_rate, self.range_rate_sigma),
            azimuth: angle::wrap(noisy(detection.azimuth, self.azimuth_sigma)),
        }
    }
}

/// The detections of a radar on a vehicle at `pose`, moving at `velocity` in m/s, without noise: nearest first, equally
/// far ones from right to left. See [`RadarSpec::sight`].
#[must_use]
pub fn scan(pose: &Pose, velocity: Vec2, targets: &[Target], spec: &RadarSpec) -> Vec<Detection> {
    let mut seen: Vec<Detection> = spec.sight(pose, velocity, targets).into_iter().flatten().collect();
    seen.sort_by(Detection::order);
    seen
}

impl Detection {
    /// By range, and by azimuth where ranges are equal.
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        a.range.total_cmp(&b.range).then(a.azimuth.total_cmp(&b.azimuth))
    }
}
