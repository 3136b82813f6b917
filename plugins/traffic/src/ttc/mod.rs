//! Time to collision: how long until two vehicles meet if both go on as they do.
//!
//! [`along_lane`] is the classical measure of car following (Hayward 1972, Near miss determination through use of a scale
//! of danger), [`in_plane`] the same question for two rectangles that keep their velocities and headings. Neither keeps
//! state. [`TtcMonitor`] is the participant that asks it of an ego, or of everybody, and keeps the smallest answer of a
//! run.
//!
//! ```
//! use chaconne_sim_core::math::{Vec2, Vec3};
//! use chaconne_traffic::{Body, Pose, ttc};
//!
//! // 30 m apart, approaching at 10 m/s.
//! assert_eq!(ttc::along_lane(30.0, 10.0), 3.0);
//! let car = |x: f64| Body::CAR.at(&Pose { position: Vec3::new(x, 0.0, 0.0), ..Pose::default() });
//! assert_eq!(ttc::in_plane(&car(0.0), Vec2::X * 30.0, &car(35.0), Vec2::X * 20.0), 3.0);
//! // A leader that draws away is never met.
//! assert_eq!(ttc::along_lane(30.0, -10.0), f64::INFINITY);
//! ```

mod monitor;
#[cfg(test)]
mod tests;

use chaconne_sim_core::math::{self, Vec2};

use crate::body::{Footprint, SeparatingAxis};

pub use monitor::{Gap, Minima, Ttc, TtcMonitor};

/// Seconds until a gap in metres is closed at a closing speed in m/s (positive while it shrinks): their quotient.
///
/// At least 0, and infinite for a gap that does not close. A gap below 0 is an overlap, at 0 s; a gap of 0 that does not
/// close is not one. A NaN in either gives infinity.
#[inline]
#[must_use]
pub fn along_lane(gap: f64, closing_speed: f64) -> f64 {
    if gap < 0.0 {
        0.0
    } else if closing_speed > 0.0 && gap >= 0.0 {
        gap / closing_speed
    } else {
        f64::INFINITY
    }
}

/// Seconds until two rectangles begin to overlap if they keep their velocities (in m/s) and headings: 0 when they
/// overlap already, infinite when they never do. Those that only touch in passing do not overlap.
///
/// Exact but for rounding: at any instant two rectangles are apart if and only if one of their four normals shows it;
/// along each normal they overlap during one interval of time, and together during what the four have in common.
/// Exchanging the two or mirroring both changes no bit.
#[must_use]
pub fn in_plane(a: &Footprint, velocity_a: Vec2, b: &Footprint, velocity_b: Vec2) -> f64 {
    let (offset, velocity) = (b.centre() - a.centre(), velocity_b - velocity_a);
    let (mut enters, mut leaves) = (0.0, f64::INFINITY);
    for SeparatingAxis { axis, reach } in a.separating_axes(b) {
        let (distance, speed) = (axis.dot(offset), axis.dot(velocity));
        // How fast the distance shrinks; whichever sign the axis has.
        let closing = if distance < 0.0 { speed } else { -speed };
        let distance = distance.abs();
        let (from, to) = if closing > 0.0 {
            ((distance - reach) / closing, (distance + reach) / closing)
        } else if distance >= reach {
            return f64::INFINITY;
        } else if closing < 0.0 {
            (0.0, (reach - distance) / -closing)
        } else {
            (0.0, f64::INFINITY)
        };
        enters = math::max(enters, from);
        leaves = math::min(leaves, to);
    }
    if enters < leaves { enters } else { f64::INFINITY }
}
