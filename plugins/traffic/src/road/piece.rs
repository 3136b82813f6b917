//! One stretch of constant curvature, in its own frame: the geometry that a road is made of.
//!
//! Every formula holds for a straight line, is accurate for curvatures near zero, and gives the mirrored result for the
//! mirrored piece, to the bit.

use chaconne_sim_core::math::{self, Vec2, angle};

use crate::vehicle::sinc;

/// A stretch of constant curvature. Distances along it count from its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    /// Arc length of the road's reference line at the origin, in metres.
    pub(super) station: f64,
    /// The distances along the piece for which it stands, in metres: from `first` to `last`.
    pub(super) first: f64,
    pub(super) last: f64,
    /// Curvature in 1/m, positive to the left.
    pub(super) curvature: f64,
    /// Where the piece's origin is, and which way it points.
    origin: Vec2,
    heading: f64,
    direction: Vec2,
}

impl Piece {
    /// The piece with an origin and a heading there, standing for distances in `[first, last]`.
    pub(super) fn new(station: f64, (origin, heading): (Vec2, f64), [first, last]: [f64; 2], curvature: f64) -> Self {
        Self { station, first, last, curvature, origin, heading, direction: Vec2::from_angle(heading) }
    }

    /// Arc length of the reference line where the piece begins.
    pub(super) fn begin(&self) -> f64 {
        self.station + self.first
    }

    /// Position and heading at a distance along the piece and a lateral offset to the left.
    #[inline]
    pub(super) fn pose_at(&self, along: f64, lateral: f64) -> (Vec2, f64) {
        let turn = self.curvature * along;
        // In the piece's frame the chord points half the turn away from the origin's heading.
        let (sin, cos) = if turn == 0.0 { (0.0, 1.0) } else { math::sin_cos(turn / 2.0) };
        let chord = along * sinc(turn / 2.0);
        let normal = Vec2::new(-2.0 * sin * cos, 1.0 - 2.0 * sin * sin);
        let local = Vec2::new(chord * cos, chord * sin) + normal * lateral;
        (self.origin + self.in_world(local), angle::wrap(self.heading + turn))
    }

    /// Distance along the piece, beyond its ends if need be but less than half a turn away, and lateral offset of a
    /// position. NaN where a square overflows.
    #[inline]
    pub(super) fn project(&self, position: Vec2) -> (f64, f64) {
        let offset = position - self.origin;
        let (u, w) = (self.direction.dot(offset), self.direction.perp_dot(offset));
        if self.curvature == 0.0 {
            return (u, w);
        }
        // Seen from the centre of the circle, scaled by the curvature, the position is at (opposite, adjacent).
        let (opposite, adjacent) = (self.curvature * u, 1.0 - self.curvature * w);
        let along = math::atan2(opposite, adjacent) / self.curvature;
        // (1 − radius) / curvature, written without the difference of nearly equal numbers.
        let radius = (opposite * opposite + adjacent * adjacent).sqrt();
        let lateral = (2.0 * w - self.curvature * (u * u + w * w)) / (1.0 + radius);
        (along, lateral)
    }

    #[inline]
    fn in_world(&self, local: Vec2) -> Vec2 {
        let Vec2 { x: cos, y: sin } = self.direction;
        Vec2::new(local.x * cos - local.y * sin, local.x * sin + local.y * cos)
    }
}
