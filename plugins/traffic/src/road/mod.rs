//! Roads: a reference line of straight and curved stretches with lanes beside each other, from a data file.
//!
//! Places on a road are given by two numbers: the arc length `s` along the reference line, in metres from the start, and
//! the lateral offset from it, in metres, positive to the left. The reference line runs in the middle of the lanes.
//! [`Road::pose_at`] and [`Road::project`] convert to the plane and back.
//!
//! # Road files
//!
//! JSON with exactly these fields; lengths in metres, angles in degrees, turns positive to the left. Lanes are listed from
//! the rightmost, lane 0, to the left. Segments follow each other without a kink.
//!
//! ```json
//! {
//!   "name": "bend",
//!   "closed": false,
//!   "start": { "x_m": 0, "y_m": 0, "heading_deg": 0 },
//!   "lanes": [{ "width_m": 3.5 }, { "width_m": 3.5 }],
//!   "segments": [
//!     { "straight": { "length_m": 200 } },
//!     { "arc": { "radius_m": 300, "turn_deg": -45 } }
//!   ]
//! }
//! ```
//!
//! A closed road ends where it starts, to within a millimetre, and `s` goes around. An open road goes straight on beyond
//! both ends, so that every place in the plane has coordinates.
//!
//! ```
//! use chaconne_traffic::road::Road;
//!
//! let road = Road::demo();
//! let lane = road.lane_centre(2)?;
//! let (position, heading) = road.pose_at(750.0, lane);
//! let place = road.project(position, None).expect("the position is finite");
//! assert!((place.s - 750.0).abs() < 1e-9 && (place.lateral - lane).abs() < 1e-9);
//! # Ok::<(), chaconne_traffic::TrafficError>(())
//! ```

mod file;
mod piece;
#[cfg(test)]
mod tests;

use std::{fs, io, path::Path};

use chaconne_sim_core::math::{self, Vec2, angle};

#[cfg_attr(not(feature = "scenario"), allow(unreachable_pub, reason = "scenarios use it"))]
pub(crate) use self::file::RoadFile;
use self::{file::Segment, piece::Piece};
use crate::TrafficError;

/// How far the end of a closed road may lie from its start, in metres: invisible, and more than rounding adds up to.
const CLOSING_DISTANCE: f64 = 1e-3;

/// The kink that a closed road may have where it closes, in radians.
const CLOSING_KINK: f64 = 1e-6;

/// A place on a road.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoadPlace {
    /// Arc length along the reference line in metres; in [0, length) on a closed road.
    pub s: f64,
    /// Offset from the reference line in metres, positive to the left.
    pub lateral: f64,
}

/// A road: an arc-length parametrised reference line, and lanes.
#[derive(Clone, Debug)]
pub struct Road {
    name: String,
    closed: bool,
    length: f64,
    lanes: Vec<Lane>,
    /// In order of `s`. Turns of more than a quarter are cut, so that a piece always knows whether a position lies before
    /// it, beside it or after it. On an open road the first and last piece are the straight lines beyond the ends.
    pieces: Vec<Piece>,
}

/// A lane's place beside the reference line, in metres, positive to the left.
#[derive(Clone, Copy, Debug)]
struct Lane {
    right: f64,
    left: f64,
}

/// A road of no length has no places.
const LEAST_LENGTH_M: f64 = 0.01;

/// No road is described in more bytes than this.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a plain file of a sensible size: a device or a pipe may never end.
fn read_file(path: &Path) -> io::Result<String> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    if about.len() > MOST_BYTES {
        return Err(io::Error::other(format!(
            "it has {} bytes, and no road needs more than {MOST_BYTES}",
            about.len()
        )));
    }
    fs::read_to_string(path)
}

impl Road {
    /// Reads a road file.
    ///
    /// # Errors
    ///
    /// [`TrafficError::RoadUnreadable`] when there is no such file or it is not UTF-8, else as [`from_json`](Self::from_json).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, TrafficError> {
        let path = path.as_ref();
        let text = read_file(path).map_err(|cause| TrafficError::RoadUnreadable { file: path.to_owned(), cause })?;
        Self::from_json(&text, &path.display().to_string())
    }

    /// Reads the text of a road file; `file` names it in errors.
    ///
    /// # Errors
    ///
    /// [`TrafficError::RoadSyntax`], with line and column, for a text that is no JSON and for a field that is missing,
    /// unknown, given twice, of the wrong type, not finite or out of range; [`TrafficError::RoadGeometry`] for an arc
    /// that is tighter than its inner edge and for a closed road that does not end where it starts.
    pub fn from_json(text: &str, file: &str) -> Result<Self, TrafficError> {
        build(&RoadFile::parse(text, file)?).map_err(|(field, problem)| TrafficError::RoadGeometry {
            file: file.to_owned(),
            field,
            problem,
        })
    }

    /// Lays a road out; an error is the field and the problem.
    #[cfg(feature = "scenario")]
    pub(crate) fn lay_out(file: &RoadFile) -> Result<Self, (String, String)> {
        build(file)
    }

    /// The road of the demo world: a closed one of three lanes and 5.5 km, with straight parts and bends both ways.
    #[must_use]
    pub fn demo() -> Self {
        Self::from_json(include_str!("../../../../assets/roads/demo.json"), "demo.json")
            .expect("the embedded road is valid, as a test shows")
    }

    /// The road's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the road goes around.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Length of the reference line in metres.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.length
    }

    /// The number of lanes, at least one. Lane 0 is the rightmost.
    #[must_use]
    pub fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// The lateral offset of a lane's centre line in metres.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`].
    pub fn lane_centre(&self, lane: usize) -> Result<f64, TrafficError> {
        self.lane(lane).map(|Lane { right, left }| (right + left) / 2.0)
    }

    /// The width of a lane in metres.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`].
    pub fn lane_width(&self, lane: usize) -> Result<f64, TrafficError> {
        self.lane(lane).map(|Lane { right, left }| left - right)
    }

    /// The lane at a lateral offset, if there is one; on the line between two lanes, the left one.
    #[must_use]
    pub fn lane_at(&self, lateral: f64) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.right <= lateral && lateral < lane.left)
    }

    /// Position and heading (radians, in [−π, π]) at an arc length and a lateral offset, both in metres.
    ///
    /// On a closed road `s` goes around; beyond the ends of an open one the road goes straight on.
    #[must_use]
    pub fn pose_at(&self, s: f64, lateral: f64) -> (Vec2, f64) {
        let s = self.wrap(s);
        let piece = &self.pieces[self.piece_at(s)];
        piece.pose_at(s - piece.station, lateral)
    }

    /// Curvature of the reference line in 1/m, positive to the left; where two segments meet, that of the later one.
    #[must_use]
    pub fn curvature_at(&self, s: f64) -> f64 {
        self.pieces[self.piece_at(self.wrap(s))].curvature
    }

    /// The place on the road that a position is beside.
    ///
    /// With a hint, the arc length of a place nearby (the last one, for a car), the search starts there and walks along
    /// the road: a few operations, and the right answer where the road passes near itself. Without one, all of the road
    /// is searched and the nearest place wins, the first of equally near ones. The result holds for positions on the
    /// near side of the centres of the road's bends.
    ///
    /// `None` when the position or the hint is not finite, or so large that its square is not.
    #[must_use]
    pub fn project(&self, position: Vec2, hint: Option<f64>) -> Option<RoadPlace> {
        if !position.is_finite() || !hint.is_none_or(f64::is_finite) {
            return None;
        }
        let (s, lateral) = match hint {
            Some(hint) => self.walk(position, self.piece_at(self.wrap(hint))),
            None => self.search(position)?,
        };
        (s.is_finite() && lateral.is_finite()).then(|| RoadPlace { s: self.wrap(s), lateral })
    }

    /// The same place as an arc length in [0, length) on a closed road; on an open one, `s` itself.
    #[must_use]
    pub fn wrap(&self, s: f64) -> f64 {
        if !self.closed || (0.0..self.length).contains(&s) {
            return s;
        }
        let rest = s % self.length;
        let wrapped = if rest < 0.0 { rest + self.length } else { rest };
        // A negative rest below half a unit in the last place was rounded to the whole length.
        if wrapped >= self.length { 0.0 } else { wrapped }
    }

    /// How far ahead of `from` the place `to` is, in metres: in [0, length) on a closed road; on an open one `to − from`,
    /// which is negative for a place behind.
    #[must_use]
    pub fn distance_ahead(&self, from: f64, to: f64) -> f64 {
        self.wrap(to - from)
    }

    /// How far ahead of `from` the place `to` is by the shorter way, in metres; negative for a place behind.
    ///
    /// On a closed road in (−length / 2, length / 2], on an open one `to − from`.
    #[must_use]
    pub fn signed_distance(&self, from: f64, to: f64) -> f64 {
        let ahead = self.distance_ahead(from, to);
        if self.closed && ahead > self.length / 2.0 { ahead - self.length } else { ahead }
    }

    fn lane(&self, lane: usize) -> Result<Lane, TrafficError> {
        let found = self.lanes.get(lane).copied();
        found.ok_or_else(|| TrafficError::NoSuchLane { road: self.name.clone(), lane, count: self.lanes.len() })
    }

    /// The index of the piece that an arc length lies on; where two meet, the later one.
    fn piece_at(&self, s: f64) -> usize {
        self.pieces.partition_point(|piece| piece.begin() <= s).saturating_sub(1)
    }

    /// Arc length and lateral offset by walking from a piece into the direction that each piece points to, until one
    /// claims the position.
    fn walk(&self, position: Vec2, start: usize) -> (f64, f64) {
        let count = self.pieces.len();
        let mut piece = &self.pieces[start];
        let (mut along, mut lateral) = piece.project(position);
        let forward = along > piece.last;
        // At most once around. Rounding may let a position at a joint fall between two pieces, each pointing to the
        // other; the walk never turns back, and the joint it came from is the answer.
        for step in 1..count {
            if (piece.first..=piece.last).contains(&along) || (along > piece.last) != forward {
                break;
            }
            // The outermost pieces of an open road have no end to point beyond, so only a closed one goes around here.
            let index = if forward { start + step } else { start + count - step };
            piece = &self.pieces[index % count];
            (along, lateral) = piece.project(position);
        }
        (piece.station + math::clamp(along, piece.first, piece.last), lateral)
    }

    /// Arc length and lateral offset of the nearest place of all pieces.
    fn search(&self, position: Vec2) -> Option<(f64, f64)> {
        let mut nearest = None;
        let mut shortest = f64::INFINITY;
        for piece in &self.pieces {
            let (along, lateral) = piece.project(position);
            let along = math::clamp(along, piece.first, piece.last);
            let distance = piece.pose_at(along, 0.0).0.distance_squared(position);
            if distance < shortest {
                shortest = distance;
                nearest = Some((piece.station + along, lateral));
            }
        }
        nearest
    }
}

/// Lays out a road; an error is the field and the problem.
fn build(file: &RoadFile) -> Result<Road, (String, String)> {
    let lanes = lay_lanes(file);
    let half_width = lanes[lanes.len() - 1].left;
    let start = file.start.pose();
    let mut pieces = Vec::new();
    let (mut station, mut end) = (0.0, start);
    for (index, segment) in file.segments.iter().enumerate() {
        let (length, curvature, parts) = match *segment {
            Segment::Straight(file::Straight { length_m }) => (length_m, 0.0, 1),
            Segment::Arc(file::Arc { radius_m, turn_deg }) => {
                if radius_m <= half_width {
                    return Err((
                        format!("segments[{index}].arc.radius_m"),
                        format!(
                            "the bend's radius of {radius_m} m does not exceed the {half_width} m from the middle of the \
                             road to its edge; choose a larger radius or narrower lanes"
                        ),
                    ));
                }
                let turn = angle::to_radians(turn_deg.abs());
                (radius_m * turn, (1.0 / radius_m).copysign(turn_deg), quarters(turn))
            }
        };
        let part = length / f64::from(parts);
        for _ in 0..parts {
            let piece = Piece::new(station, end, [0.0, part], curvature);
            end = piece.pose_at(part, 0.0);
            station += part;
            pieces.push(piece);
        }
    }
    if station < LEAST_LENGTH_M {
        let problem =
            format!("they make a road of {station} m, and a road has at least {LEAST_LENGTH_M} m; add to them");
        return Err(("segments".to_string(), problem));
    }
    if file.closed {
        check_closure(start, end)?;
    } else {
        pieces.insert(0, Piece::new(0.0, start, [f64::NEG_INFINITY, 0.0], 0.0));
        pieces.push(Piece::new(station, end, [0.0, f64::INFINITY], 0.0));
    }
    Ok(Road { name: file.name.clone(), closed: file.closed, length: station, lanes, pieces })
}

/// Lays the lanes from the right edge to the left one, around the middle.
fn lay_lanes(file: &RoadFile) -> Vec<Lane> {
    let width = file.lanes.iter().map(|lane| lane.width_m).sum::<f64>();
    let mut right = -width / 2.0;
    let lay = |lane: &file::Lane| {
        let left = right + lane.width_m;
        Lane { right: std::mem::replace(&mut right, left), left }
    };
    file.lanes.iter().map(lay).collect()
}

/// Into how many parts a turn is cut, so that none is more than a quarter turn.
fn quarters(turn: f64) -> u32 {
    // At most four: the file allows no more than a full turn.
    if turn <= math::FRAC_PI_2 {
        1
    } else if turn <= math::PI {
        2
    } else {
        4
    }
}

fn check_closure(start: (Vec2, f64), end: (Vec2, f64)) -> Result<(), (String, String)> {
    let distance = start.0.distance(end.0);
    let kink = angle::difference(end.1, start.1);
    if distance <= CLOSING_DISTANCE && kink.abs() <= CLOSING_KINK {
        return Ok(());
    }
    Err((
        "closed".to_owned(),
        format!(
            "the segments end at x_m {}, y_m {} and heading_deg {}, not at the start as on a closed road; change the \
             segments or set `closed` to false",
            end.0.x,
            end.0.y,
            angle::to_degrees(end.1)
        ),
    ))
}
