//! The angles at which a rectangle is seen, and what covers them.

use chaconne_sim_core::math::{self, TAU, Vec2};

use super::{Detection, RadarSpec};
use crate::body::Footprint;

/// An interval of bearings in radians; it may reach beyond ±π.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn and(self, other: Self) -> Self {
        Self { low: math::max(self.low, other.low), high: math::min(self.high, other.high) }
    }

    fn width(self) -> f64 {
        self.high - self.low
    }

    /// The same directions a number of turns further left.
    fn turned(self, turns: f64) -> Self {
        Self { low: self.low + turns * TAU, high: self.high + turns * TAU }
    }
}

/// The turns by which two intervals of less than three half turns around ±π can be apart.
const TURNS: [f64; 3] = [-1.0, 0.0, 1.0];

/// A rectangle as it is seen from the origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sector {
    footprint: Footprint,
    /// Its point that is nearest to the origin.
    nearest: Vec2,
    /// The bearing of the centre.
    bearing: f64,
    /// What it covers, around the bearing; nothing when the origin lies within.
    covered: Option<Interval>,
}

/// A point of a target, at a range in metres and a bearing in radians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    range: f64,
    bearing: f64,
    /// The direction to it: a unit vector.
    ray: Vec2,
}

impl Point {
    fn new(at: Vec2) -> Self {
        Self { range: at.length(), bearing: at.angle(), ray: at.normalize().unwrap_or(Vec2::ZERO) }
    }

    /// What is measured of a point that moves at a velocity in m/s.
    pub(super) fn detection(self, velocity: Vec2) -> Detection {
        Detection { range: self.range, range_rate: self.ray.dot(velocity), azimuth: math::angle::wrap(self.bearing) }
    }
}

impl Sector {
    pub(super) fn of(footprint: Footprint) -> Self {
        let centre = footprint.centre();
        let inside = footprint.contains(Vec2::ZERO);
        // Angles from the centre are below half a turn for all that can be seen, wherever the centre lies.
        let bearing = centre.angle();
        let from_centre = footprint.corners().map(|corner| math::atan2(centre.perp_dot(corner), centre.dot(corner)));
        let covered = (!inside).then(|| Interval {
            low: bearing + from_centre.into_iter().fold(f64::INFINITY, math::min),
            high: bearing + from_centre.into_iter().fold(f64::NEG_INFINITY, math::max),
        });
        let nearest = if inside { Vec2::ZERO } else { footprint.nearest_point(Vec2::ZERO) };
        Self { footprint, nearest, bearing, covered }
    }

    /// The parts of what it covers inside a field of view, from right to left.
    fn parts(&self, field_of_view: f64) -> Vec<Interval> {
        let Some(covered) = self.covered else { return Vec::new() };
        if field_of_view >= TAU {
            return vec![covered];
        }
        let view = Interval { low: -field_of_view / 2.0, high: field_of_view / 2.0 };
        TURNS.map(|turns| view.turned(turns).and(covered)).into_iter().filter(|part| part.width() > 0.0).collect()
    }

    /// The nearest point inside a field of view, if there is any.
    pub(super) fn nearest_within(&self, field_of_view: f64) -> Option<Point> {
        if self.covered.is_none() {
            let ray = self.footprint.centre().normalize().unwrap_or(Vec2::ZERO);
            let seen = self.bearing.abs() <= field_of_view / 2.0;
            return seen.then_some(Point { range: 0.0, bearing: self.bearing, ray });
        }
        let nearest = Point::new(self.nearest);
        if nearest.bearing.abs() <= field_of_view / 2.0 || field_of_view >= TAU {
            return Some(nearest);
        }
        // The distance to a convex body grows with the angle from its nearest point, so the edge of the view decides.
        let at = |part: Interval| {
            [part.low, part.high].map(|bearing| {
                let ray = Vec2::from_angle(bearing);
                Point { range: self.footprint.entered_after(ray), bearing, ray }
            })
        };
        let points = self.parts(field_of_view).into_iter().flat_map(at);
        // Of equally near points the one on the side of the centre stays, or the left one: there the bearing is positive.
        let aside = |point: &Point| (point.bearing - self.bearing).abs();
        let left = |point: &Point| math::angle::wrap(point.bearing);
        points.min_by(|a, b| {
            a.range.total_cmp(&b.range).then(aside(a).total_cmp(&aside(b))).then(left(b).total_cmp(&left(a)))
        })
    }

    /// Whether any part inside the field of view is not covered by `others`.
    pub(super) fn is_visible<'a>(&self, field_of_view: f64, others: impl Iterator<Item = &'a Self>) -> bool {
        if self.covered.is_none() {
            return true;
        }
        let mut open = self.parts(field_of_view);
        for other in others {
            let Some(cover) = self.covered_by(other) else { continue };
            open = open
                .into_iter()
                .flat_map(|part| {
                    let (right, left) = (Interval { high: cover.low, ..part }, Interval { low: cover.high, ..part });
                    // Outside of the part these are the whole of it, or turned inside out.
                    [right.and(part), left.and(part)]
                })
                .filter(|part| part.width() > RadarSpec::SLIVER)
                .collect();
        }
        open.iter().any(|part| part.width() > RadarSpec::SLIVER)
    }

    /// What another one in front of it covers of it.
    fn covered_by(&self, other: &Self) -> Option<Interval> {
        let (own, cover) = (self.covered?, other.covered?);
        let shared = TURNS.map(|turns| cover.turned(turns).and(own)).into_iter().find(|it| it.width() > 0.0)?;
        let ray = Vec2::from_angle((shared.low + shared.high) / 2.0);
        (other.footprint.entered_after(ray) < self.footprint.entered_after(ray)).then_some(shared)
    }
}
