//! Small laws of the right shape: cars in one lane that keep their distance.
//!
//! A pose has the size and the text of a real one (position, unit quaternion, speed; fields with many digits), the
//! controller reads two of them, and nothing here costs so much that it would hide the loop.

use super::{Controller, Laws, Outbox, Physics};

/// Distance between two cars at the start, in metres.
const SPACING_M: f64 = 40.0;
const CRUISE_MPS: f64 = 25.0;
const HEADWAY_S: f64 = 1.6;
const STANDSTILL_M: f64 = 7.0;

/// Half the heading's sine and cosine: the lane points 0.1 rad to the left of X.
const HEADING_SIN: f64 = 0.099_833_416_646_828_15;
const HEADING_COS: f64 = 0.995_004_165_278_025_8;
const HALF_HEADING_SIN: f64 = 0.049_979_169_270_678_33;
const HALF_HEADING_COS: f64 = 0.998_750_260_394_966_2;

/// The laws.
pub(crate) struct StandIn;

/// Where a car is, in metres, how it is turned, and how fast it is, in m/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pose {
    pub(crate) position: [f64; 3],
    pub(crate) orientation: [f64; 4],
    pub(crate) speed: f64,
}

/// An acceleration in m/s².
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Acceleration(pub(crate) f64);

/// Accelerates towards its cruising speed and brakes when closer than its headway allows.
pub(crate) struct KeepDistance {
    cruise: f64,
}

impl KeepDistance {
    pub(crate) fn new(car: usize) -> Self {
        // Speeds differ a little, so that no two texts are alike.
        Self { cruise: CRUISE_MPS + (car % 7) as f64 * 0.37 }
    }
}

/// Integrates speed and distance along the lane.
pub(crate) struct Point {
    distance: f64,
    speed: f64,
}

impl Point {
    pub(crate) fn new(car: usize) -> Self {
        Self { distance: -(car as f64) * SPACING_M, speed: CRUISE_MPS }
    }
}

impl Laws for StandIn {
    type Pose = Pose;
    type Command = Acceleration;

    fn controller(car: usize, _: usize) -> Box<dyn Controller<Self>> {
        Box::new(KeepDistance::new(car))
    }

    fn physics(car: usize, _: usize) -> Box<dyn Physics<Self>> {
        Box::new(Point::new(car))
    }

    fn publish_command(command: &Acceleration, out: &mut Outbox<'_>) {
        out.signal("acceleration", |text| number(text, command.0));
    }

    fn publish_pose(pose: &Pose, out: &mut Outbox<'_>) {
        out.signal("pose", |text| write_pose(text, pose));
    }
}

impl Controller<StandIn> for KeepDistance {
    fn step(&mut self, own: Option<&Pose>, ahead: Option<&Pose>) -> Acceleration {
        let Some(own) = own else { return Acceleration(0.0) };
        let free = (self.cruise - own.speed) * 0.3;
        let Some(ahead) = ahead else { return Acceleration(free) };
        let (dx, dy) = (ahead.position[0] - own.position[0], ahead.position[1] - own.position[1]);
        let gap = (dx * dx + dy * dy).sqrt();
        let wanted = STANDSTILL_M + HEADWAY_S * own.speed;
        let follow = (gap - wanted) * 0.1 + (ahead.speed - own.speed) * 0.5;
        Acceleration(if follow < free { follow } else { free })
    }
}

impl Physics<StandIn> for Point {
    fn step(&mut self, elapsed_s: f64, command: Option<&Acceleration>) -> Pose {
        let acceleration = command.map_or(0.0, |command| command.0);
        self.speed = (self.speed + acceleration * elapsed_s).clamp(0.0, 60.0);
        self.distance += self.speed * elapsed_s;
        Pose {
            position: [self.distance * HEADING_COS, self.distance * HEADING_SIN, 0.5],
            orientation: [0.0, 0.0, HALF_HEADING_SIN, HALF_HEADING_COS],
            speed: self.speed,
        }
    }
}

fn write_pose(text: &mut Vec<u8>, pose: &Pose) {
    let [x, y, z] = pose.position;
    fields(text, b"{\"position\":", [("x", x), ("y", y), ("z", z)]);
    let [x, y, z, w] = pose.orientation;
    fields(text, b",\"orientation\":", [("x", x), ("y", y), ("z", z), ("w", w)]);
    text.extend_from_slice(b",\"speed\":");
    number(text, pose.speed);
    text.push(b'}');
}

fn fields<const N: usize>(text: &mut Vec<u8>, head: &[u8], fields: [(&str, f64); N]) {
    text.extend_from_slice(head);
    for (index, (name, value)) in fields.into_iter().enumerate() {
        text.extend_from_slice(if index == 0 { b"{\"" } else { b",\"" });
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"\":");
        number(text, value);
    }
    text.push(b'}');
}

/// Canonical text of a finite number: the shortest of ECMAScript, except that negative zero keeps its sign.
fn number(text: &mut Vec<u8>, value: f64) {
    debug_assert!(value.is_finite());
    if value == 0.0 && value.is_sign_negative() {
        text.push(b'-');
    }
    text.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pose_is_written_in_canonical_form() {
        let pose = Pose { position: [1e16, -0.0, 0.5], orientation: [0.0, 0.0, 0.6, 0.8], speed: 25.0 };
        let mut text = Vec::new();
        write_pose(&mut text, &pose);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            r#"{"position":{"x":10000000000000000,"y":-0,"z":0.5},"orientation":{"x":0,"y":0,"z":0.6,"w":0.8},"speed":25}"#
        );
    }

    #[test]
    fn a_car_that_is_too_close_brakes_and_a_free_one_speeds_up() {
        let mut controller = KeepDistance { cruise: 30.0 };
        let at = |distance, speed| Point { distance, speed }.step(0.0, None);
        assert!(controller.step(Some(&at(0.0, 25.0)), Some(&at(10.0, 25.0))).0 < 0.0);
        assert!(controller.step(Some(&at(0.0, 25.0)), None).0 > 0.0);
        assert_eq!(controller.step(None, None), Acceleration(0.0));
    }
}
