//! Bodies: the rectangle on the ground that a vehicle covers, and how two of them lie.
//!
//! A [`Body`] is a vehicle's size; at a [`Pose`] it covers a [`Footprint`]. Everything here is a function of the
//! geometry alone: footprints mirrored across the X axis (opposite y and heading) give the mirrored result, to the bit,
//! and exchanging the two changes nothing.
//!
//! ```
//! use chaconne_sim_core::math::Vec3;
//! use chaconne_traffic::{Body, Pose};
//!
//! let at = |x: f64| Body::CAR.at(&Pose { position: Vec3::new(x, 0.0, 0.0), ..Pose::default() });
//! // Bumper to bumper, 3 m apart; the edges of two that touch do not overlap.
//! assert_eq!(at(0.0).clearance(&at(8.0)), 3.0);
//! assert_eq!((at(0.0).overlaps(&at(5.0)), at(0.0).overlaps(&at(4.9))), (false, true));
//! ```

use chaconne_sim_core::{
    Participant, StepCtx, StepResult,
    math::{self, Vec2},
};
use serde::{Deserialize, Serialize};

use crate::{
    TrafficError,
    error::{check_parameter, check_positive},
    signal::Pose,
};

/// The size of a vehicle. Published as `body` by those that are no [`Body::CAR`], once.
///
/// On the wire `{"length":…,"width":…,"rear_overhang":…}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// From bumper to bumper, in metres; above 0.
    pub length: f64,
    /// From side to side, in metres; above 0.
    pub width: f64,
    /// From the rear bumper to the pose's reference point (the middle of a bicycle's rear axle), in metres; in
    /// [0, `length`].
    pub rear_overhang: f64,
}

impl Body {
    /// A passenger car of 5.0 m by 1.8 m that reaches from 1 m behind its reference point to 4 m ahead of it.
    pub const CAR: Self = Self { length: 5.0, width: 1.8, rear_overhang: 1.0 };

    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or out of the range that its field states.
    pub fn check(&self) -> Result<(), TrafficError> {
        let of = "the body";
        check_positive(of, "length", self.length)?;
        check_positive(of, "width", self.width)?;
        let valid = (0.0..=self.length).contains(&self.rear_overhang);
        check_parameter(of, "rear_overhang", self.rear_overhang, "at least 0 and at most the length", valid)
    }

    /// What the body covers at a pose. A pose that is tilted counts by its direction on the ground.
    #[must_use]
    pub fn at(&self, pose: &Pose) -> Footprint {
        // A body that stands on its nose has no direction on the ground; any will do.
        let direction = pose.direction().normalize().unwrap_or(Vec2::X);
        let (half_length, half_width) = (self.length / 2.0, self.width / 2.0);
        let centre = pose.ground() + direction * (half_length - self.rear_overhang);
        Footprint { centre, direction, half_length, half_width }
    }
}

impl Default for Body {
    /// [`Body::CAR`].
    fn default() -> Self {
        Self::CAR
    }
}

/// A rectangle on the ground: what a [`Body`] covers at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    centre: Vec2,
    /// Along the length; a unit vector.
    direction: Vec2,
    half_length: f64,
    half_width: f64,
}

/// One of the directions in which two rectangles can be told apart, with what they measure along it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeparatingAxis {
    /// A unit vector.
    pub(crate) axis: Vec2,
    /// Half of what both cover of it together, in metres.
    pub(crate) reach: f64,
}

impl Footprint {
    /// The middle of the rectangle, in metres.
    #[must_use]
    pub const fn centre(&self) -> Vec2 {
        self.centre
    }

    /// The direction of its length: a unit vector.
    #[must_use]
    pub const fn direction(&self) -> Vec2 {
        self.direction
    }

    /// Its length and its width in metres.
    #[must_use]
    pub const fn size(&self) -> (f64, f64) {
        (2.0 * self.half_length, 2.0 * self.half_width)
    }

    /// The corners in metres, anticlockwise from the front left one.
    #[must_use]
    pub fn corners(&self) -> [Vec2; 4] {
        self.corner_offsets().map(|offset| self.centre + offset)
    }

    /// The corners as seen from the centre.
    pub(crate) fn corner_offsets(&self) -> [Vec2; 4] {
        let (along, across) = (self.direction * self.half_length, self.direction.perp() * self.half_width);
        [along + across, across - along, -along - across, along - across]
    }

    /// Whether a point lies in the rectangle. Points on an edge do not.
    #[must_use]
    pub fn contains(&self, point: Vec2) -> bool {
        let (along, across) = self.local(point - self.centre);
        along.abs() < self.half_length && across.abs() < self.half_width
    }

    /// The point of the rectangle, edges included, that lies nearest to `point`; `point` itself when it lies within, up
    /// to rounding.
    #[must_use]
    pub fn nearest_point(&self, point: Vec2) -> Vec2 {
        self.centre + self.nearest_offset(point - self.centre)
    }

    /// As [`nearest_point`](Self::nearest_point), both as seen from the centre.
    pub(crate) fn nearest_offset(&self, offset: Vec2) -> Vec2 {
        let (along, across) = self.local(offset);
        let along = math::clamp(along, -self.half_length, self.half_length);
        let across = math::clamp(across, -self.half_width, self.half_width);
        self.direction * along + self.direction.perp() * across
    }

    /// An offset from the centre, along the length and across it.
    fn local(&self, offset: Vec2) -> (f64, f64) {
        (self.direction.dot(offset), self.direction.perp_dot(offset))
    }

    /// Half of what the rectangle covers of an axis, a unit vector.
    fn reach(&self, axis: Vec2) -> f64 {
        self.direction.dot(axis).abs() * self.half_length + self.direction.perp_dot(axis).abs() * self.half_width
    }

    /// The four normals of both rectangles: two rectangles are apart if and only if one of these shows it.
    pub(crate) fn separating_axes(&self, other: &Self) -> [SeparatingAxis; 4] {
        let of = |a: &Self, b: &Self| {
            [(a.direction, a.half_length), (a.direction.perp(), a.half_width)]
                .map(|(axis, half)| SeparatingAxis { axis, reach: half + b.reach(axis) })
        };
        let ([a, b], [c, d]) = (of(self, other), of(other, self));
        [a, b, c, d]
    }

    /// Whether both cover some ground in common. Edges or corners that only touch do not overlap.
    ///
    /// By separating axes (Gottschalk, Lin and Manocha 1996, OBBTree, section 5, in the plane): exact but for the
    /// rounding of the coordinates.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let offset = other.centre - self.centre;
        self.separating_axes(other).iter().all(|&SeparatingAxis { axis, reach }| axis.dot(offset).abs() < reach)
    }

    /// The distance between both in metres; 0 when they touch or overlap.
    #[must_use]
    pub fn clearance(&self, other: &Self) -> f64 {
        if self.overlaps(other) {
            return 0.0;
        }
        // Of two convex polygons that are apart, a corner of one is nearest to the other.
        let offset = other.centre - self.centre;
        let from_self = self.corner_offsets().map(|corner| other.distance(corner - offset));
        let from_other = other.corner_offsets().map(|corner| self.distance(corner + offset));
        from_self.into_iter().chain(from_other).fold(f64::INFINITY, math::min)
    }

    /// How far a point, as seen from the centre, lies outside of the rectangle.
    fn distance(&self, offset: Vec2) -> f64 {
        let (along, across) = self.local(offset);
        let outside = |coordinate: f64, half: f64| math::max(coordinate.abs() - half, 0.0);
        Vec2::new(outside(along, self.half_length), outside(across, self.half_width)).length()
    }

    /// What the rectangle covers of the X axis and of the Y axis, as (centre, half) in metres.
    pub(crate) fn extents(&self) -> [(f64, f64); 2] {
        [(self.centre.x, self.reach(Vec2::X)), (self.centre.y, self.reach(Vec2::Y))]
    }

    /// The same rectangle elsewhere.
    #[must_use]
    pub fn moved_by(&self, offset: Vec2) -> Self {
        Self { centre: self.centre + offset, ..*self }
    }

    /// The rectangle as seen from a point with a direction, a unit vector, that becomes the X axis.
    pub(crate) fn seen_from(&self, origin: Vec2, direction: Vec2) -> Self {
        let turn = |vector: Vec2| Vec2::new(direction.dot(vector), direction.perp_dot(vector));
        Self { centre: turn(self.centre - origin), direction: turn(self.direction), ..*self }
    }

    /// How far a ray from the origin, along a unit vector, goes before it enters the rectangle, given that it does.
    pub(crate) fn entered_after(&self, ray: Vec2) -> f64 {
        let enters = |axis: Vec2, half: f64| {
            let (centre, slope) = (axis.dot(self.centre), axis.dot(ray));
            if slope > 0.0 {
                (centre - half) / slope
            } else if slope < 0.0 {
                (centre + half) / slope
            } else {
                f64::NEG_INFINITY
            }
        };
        math::max(enters(self.direction, self.half_length), enters(self.direction.perp(), self.half_width))
    }
}

/// A part of a vehicle's actor that publishes its `body` once, for those who look at vehicles from outside. A vehicle
/// without one counts as a [`Body::CAR`].
#[derive(Clone, Copy, Debug)]
pub struct BodyAnnouncer(Body);

impl BodyAnnouncer {
    /// An announcer of this body.
    ///
    /// # Errors
    ///
    /// As [`Body::check`].
    pub fn new(body: Body) -> Result<Self, TrafficError> {
        body.check()?;
        Ok(Self(body))
    }
}

impl Participant for BodyAnnouncer {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        ctx.publish("body", &self.0)?;
        Ok(ctx.never())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use chaconne_sim_core::{canon, math::Quat};
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn pose(x: f64, y: f64, heading: f64, speed: f64) -> Pose {
        Pose { position: Vec2::new(x, y).extend(0.0), orientation: Quat::from_yaw(heading), speed }
    }

    pub(crate) fn mirrored(pose: &Pose) -> Pose {
        let Quat { w, x, y, z } = pose.orientation;
        let position = Vec2::new(pose.position.x, -pose.position.y).extend(pose.position.z);
        Pose { position, orientation: Quat { w, x: -x, y, z: -z }, speed: pose.speed }
    }

    /// The pose in a world that is turned about its origin and then shifted.
    pub(crate) fn turned(pose: &Pose, angle: f64, shift: Vec2) -> Pose {
        let position = pose.ground().rotate(angle) + shift;
        Pose { position: position.extend(0.0), orientation: Quat::from_yaw(pose.heading() + angle), ..*pose }
    }

    prop_compose! {
        pub(crate) fn any_body()(length in 0.5..15.0, width in 0.5..4.0, share in 0.0..1.0) -> Body {
            Body { length, width, rear_overhang: length * share }
        }
    }

    prop_compose! {
        pub(crate) fn pose_within(half: f64)(
            x in -half..half, y in -half..half, heading in -4.0..4.0, speed in 0.0..40.0,
        ) -> Pose {
            pose(x, y, heading, speed)
        }
    }

    /// What is left of the polygon `a` after it was cut along each edge of `b` (Sutherland and Hodgman 1974): the area
    /// that both have in common.
    fn common_area(a: &Footprint, b: &Footprint) -> f64 {
        let edges = b.corners();
        let mut polygon = a.corners().to_vec();
        for (from, to) in (0..4).map(|edge| (edges[edge], edges[(edge + 1) % 4])) {
            let inside = |point: Vec2| (to - from).perp_dot(point - from);
            let mut cut = Vec::new();
            for at in 0..polygon.len() {
                let (here, next) = (polygon[at], polygon[(at + 1) % polygon.len()]);
                if inside(here) >= 0.0 {
                    cut.push(here);
                }
                if (inside(here) >= 0.0) != (inside(next) >= 0.0) {
                    cut.push(here.lerp(next, inside(here) / (inside(here) - inside(next))));
                }
            }
            polygon = cut;
        }
        let doubled: f64 = (0..polygon.len()).map(|at| polygon[at].perp_dot(polygon[(at + 1) % polygon.len()])).sum();
        doubled / 2.0
    }

    /// The least distance of points on the outline of `a` from points on that of `b`, `steps` to an edge.
    fn sampled_distance(a: &Footprint, b: &Footprint, steps: u32) -> f64 {
        let outline = |footprint: &Footprint| -> Vec<Vec2> {
            let corners = footprint.corners();
            let share = |step: u32| f64::from(step) / f64::from(steps);
            (0..4)
                .flat_map(|edge| (0..steps).map(move |step| corners[edge].lerp(corners[(edge + 1) % 4], share(step))))
                .collect()
        };
        let (a, b) = (outline(a), outline(b));
        let pairs = a.iter().flat_map(|p| b.iter().map(move |q| p.distance(*q)));
        pairs.fold(f64::INFINITY, math::min)
    }

    #[test]
    fn a_car_reaches_from_one_metre_behind_its_reference_point_to_four_ahead() {
        let footprint = Body::CAR.at(&Pose::default());
        let expected = [(4.0, 0.9), (-1.0, 0.9), (-1.0, -0.9), (4.0, -0.9)].map(|(x, y)| Vec2::new(x, y));
        assert_eq!(footprint.corners(), expected);
        assert_eq!(footprint.size(), (5.0, 1.8));
        assert!(footprint.contains(Vec2::new(3.9, 0.8)) && !footprint.contains(Vec2::new(4.0, 0.0)));
        assert_eq!(footprint.nearest_point(Vec2::new(9.0, 0.5)), Vec2::new(4.0, 0.5));
    }

    #[test]
    fn edges_and_corners_that_touch_do_not_overlap() {
        let ego = Body::CAR.at(&Pose::default());
        let square = Body { length: 2.0, width: 2.0, rear_overhang: 1.0 };
        for (x, y) in [(5.0, 0.0), (1.5, 1.9), (5.0, 1.9), (-2.0, 0.3)] {
            let other = square.at(&pose(x, y, 0.0, 0.0));
            assert!(!ego.overlaps(&other) && !other.overlaps(&ego), "{x} {y}");
            assert_eq!(ego.clearance(&other), 0.0, "{x} {y}");
        }
        // A crossing of two long bodies: no corner of either lies in the other.
        let long = Body { length: 10.0, width: 1.0, rear_overhang: 5.0 };
        let (east, north) = (long.at(&Pose::default()), long.at(&pose(0.0, 0.0, math::FRAC_PI_2, 0.0)));
        assert!(east.overlaps(&north) && east.clearance(&north) == 0.0);
        assert!(east.corners().iter().all(|corner| !north.contains(*corner)));
    }

    #[test]
    fn the_clearance_between_corners_is_the_diagonal() {
        let (ego, other) = (Body::CAR.at(&Pose::default()), Body::CAR.at(&pose(8.0, 5.8, 0.0, 0.0)));
        assert!((ego.clearance(&other) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn a_body_has_these_bytes_and_ranges() {
        let text = canon::to_vec(&Body::CAR).unwrap();
        assert_eq!(String::from_utf8_lossy(&text), r#"{"length":5,"width":1.8,"rear_overhang":1}"#);
        assert_eq!(canon::from_slice::<Body>(&text).unwrap(), Body::CAR);
        assert!(Body::CAR.check().is_ok() && Body { rear_overhang: 0.0, ..Body::CAR }.check().is_ok());
        for wrong in [
            Body { length: 0.0, ..Body::CAR },
            Body { width: f64::NAN, ..Body::CAR },
            Body { rear_overhang: 5.1, ..Body::CAR },
            Body { rear_overhang: -0.1, ..Body::CAR },
        ] {
            assert!(BodyAnnouncer::new(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_tilted_pose_covers_the_ground_of_its_heading() {
        let tilted = Quat::from_euler(math::Euler { roll: 0.2, pitch: -0.3, yaw: 0.7 });
        let footprint = Body::CAR.at(&Pose { orientation: tilted, ..Pose::default() });
        assert!(footprint.direction().distance(Vec2::from_angle(0.7)) < 1e-15);
    }

    proptest! {
        #[test]
        fn overlap_and_clearance_agree_with_clipping_and_sampling(
            a in any_body(), b in any_body(), at_a in pose_within(8.0), at_b in pose_within(8.0),
        ) {
            let (a, b) = (a.at(&at_a), b.at(&at_b));
            let (area, clearance) = (common_area(&a, &b), a.clearance(&b));
            if area > 1e-9 {
                prop_assert!(a.overlaps(&b), "{} m² in common", area);
            } else if clearance > 1e-9 {
                prop_assert!(!a.overlaps(&b) && area.abs() < 1e-9);
                // Samples lie up to 15 cm from the nearest points.
                let sampled = sampled_distance(&a, &b, 100);
                prop_assert!(clearance <= sampled + 1e-12 && sampled < clearance + 0.16, "{} {}", clearance, sampled);
            }
            prop_assert_eq!(a.overlaps(&b), clearance == 0.0);
        }

        #[test]
        fn exchanging_or_mirroring_the_two_changes_no_bit(
            a in any_body(), b in any_body(), at_a in pose_within(1e3), near in pose_within(12.0),
        ) {
            let at_b = Pose { position: at_a.position + near.position, ..near };
            let (left, right) = ((a.at(&at_a), b.at(&at_b)), (a.at(&mirrored(&at_a)), b.at(&mirrored(&at_b))));
            let clearance = left.0.clearance(&left.1).to_bits();
            prop_assert_eq!(clearance, left.1.clearance(&left.0).to_bits());
            prop_assert_eq!(clearance, right.0.clearance(&right.1).to_bits());
            prop_assert_eq!(left.0.overlaps(&left.1), left.1.overlaps(&left.0));
            prop_assert_eq!(left.0.overlaps(&left.1), right.0.overlaps(&right.1));
            let (p, q) = (left.0.nearest_point(near.ground()), right.0.nearest_point(mirrored(&near).ground()));
            prop_assert_eq!((p.x, -p.y), (q.x, q.y));
        }

        #[test]
        fn turning_and_shifting_the_world_keeps_the_clearance(
            a in any_body(), b in any_body(), at_a in pose_within(20.0), at_b in pose_within(20.0),
            angle in -4.0..4.0, x in -1e3..1e3, y in -1e3..1e3,
        ) {
            let moved = |pose: &Pose| turned(pose, angle, Vec2::new(x, y));
            let before = a.at(&at_a).clearance(&b.at(&at_b));
            let after = a.at(&moved(&at_a)).clearance(&b.at(&moved(&at_b)));
            prop_assert!((before - after).abs() < 1e-9, "{} and {}", before, after);
        }
    }
}
