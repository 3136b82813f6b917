//! Times to collision against stepping through time.

use chaconne_sim_core::{ActorPath, SimTime};
use proptest::prelude::*;

use super::*;
use crate::{
    body::{
        Body,
        tests::{any_body, mirrored, pose, pose_within, turned},
    },
    signal::Pose,
    surroundings::Seen,
};

fn between(a: (Body, Pose), b: (Body, Pose)) -> f64 {
    in_plane(&a.0.at(&a.1), a.1.velocity(), &b.0.at(&b.1), b.1.velocity())
}

#[test]
fn a_gap_along_a_lane_is_closed_at_the_closing_speed() {
    assert_eq!(along_lane(30.0, 10.0), 3.0);
    assert_eq!((along_lane(0.0, 1.0), along_lane(-2.0, -1.0)), (0.0, 0.0));
    for (gap, closing) in [(30.0, 0.0), (30.0, -1.0), (0.0, 0.0), (f64::NAN, 1.0), (1.0, f64::NAN)] {
        assert_eq!(along_lane(gap, closing), f64::INFINITY, "{gap} {closing}");
    }
}

#[test]
fn rectangles_that_only_touch_in_passing_never_meet() {
    let ego = (Body::CAR, pose(0.0, 0.0, 0.0, 20.0));
    let square = Body { length: 2.0, width: 2.0, rear_overhang: 1.0 };
    let beside = |y: f64, speed: f64| between(ego, (square, pose(25.0, y, 0.0, speed)));
    assert_eq!((beside(1.9, 0.0), beside(1.875, 0.0)), (f64::INFINITY, 1.0));
    // Touching: nothing yet; going on into each other: at once; apart: never.
    let ahead = |speed: f64| between(ego, (square, pose(5.0, 0.0, 0.0, speed)));
    assert_eq!((ahead(20.0), ahead(19.0), ahead(21.0)), (f64::INFINITY, 0.0, f64::INFINITY));
    assert_eq!(between(ego, ego), 0.0);
    assert_eq!(between(ego, (square, pose(2.0, 0.0, 0.0, 90.0))), 0.0);
}

/// Random vehicles by path.
fn seen(cars: &[(Body, Pose)]) -> Vec<Seen> {
    let one = |(at, (body, pose)): (usize, &(Body, Pose))| {
        Seen::new(ActorPath::new(&format!("car-{at:02}")).unwrap(), SimTime::from_secs(at as i32), *body, *pose)
    };
    cars.iter().enumerate().map(one).collect()
}

/// The smallest values of all pairs that hold `ego`, or of all.
fn by_comparing_all(seen: &[Seen], ego: Option<usize>) -> (Option<f64>, Option<f64>) {
    let pairs = (0..seen.len()).flat_map(|a| (a + 1..seen.len()).map(move |b| (a, b)));
    let pairs: Vec<_> = pairs.filter(|&(a, b)| ego.is_none_or(|ego| a == ego || b == ego)).collect();
    let time = |&(a, b): &(usize, usize)| {
        let (a, b) = (&seen[a], &seen[b]);
        in_plane(&a.footprint, a.velocity, &b.footprint, b.velocity)
    };
    let gap = |&(a, b): &(usize, usize)| seen[a].footprint.clearance(&seen[b].footprint);
    let times = pairs.iter().map(time).filter(|&time| time <= TtcMonitor::HORIZON);
    (times.min_by(f64::total_cmp), pairs.iter().map(gap).min_by(f64::total_cmp))
}

proptest! {
    #[test]
    fn two_in_a_lane_meet_when_their_gap_is_closed(gap in 0.1..200.0, own in 0.0..40.0, other in 0.0..40.0) {
        let (a, b) = ((Body::CAR, pose(0.0, 0.0, 0.0, own)), (Body::CAR, pose(5.0 + gap, 0.0, 0.0, other)));
        let (plane, lane) = (between(a, b), along_lane(gap, own - other));
        prop_assert!(plane == lane || (plane - lane).abs() < 1e-9 * (1.0 + lane), "{} and {}", plane, lane);
    }

    #[test]
    fn the_time_agrees_with_stepping_until_they_overlap(
        a in any_body(), b in any_body(), at_a in pose_within(40.0), at_b in pose_within(40.0),
    ) {
        let time = between((a, at_a), (b, at_b));
        let overlap = |seconds: f64| {
            let of = |body: Body, pose: &Pose| body.at(pose).moved_by(pose.velocity() * seconds);
            of(a, &at_a).overlaps(&of(b, &at_b))
        };
        for step in 0..2000 {
            let seconds = f64::from(step) * 5e-3;
            prop_assert!(seconds >= time - 1e-9 || !overlap(seconds), "{} before {}", seconds, time);
        }
        // Just after, or a little later, in case that they only clip a corner.
        let after = [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];
        prop_assert!(time == f64::INFINITY || after.iter().any(|after| overlap(time + after)), "{}", time);
    }

    #[test]
    fn exchanging_or_mirroring_the_two_changes_no_bit(
        a in any_body(), b in any_body(), at_a in pose_within(40.0), at_b in pose_within(40.0),
    ) {
        let time = between((a, at_a), (b, at_b)).to_bits();
        prop_assert_eq!(time, between((b, at_b), (a, at_a)).to_bits());
        prop_assert_eq!(time, between((a, mirrored(&at_a)), (b, mirrored(&at_b))).to_bits());
    }

    #[test]
    fn turning_and_shifting_the_world_keeps_the_time(
        a in any_body(), b in any_body(), at_a in pose_within(40.0), at_b in pose_within(40.0),
        angle in -4.0..4.0, x in -1e3..1e3, y in -1e3..1e3,
    ) {
        let moved = |pose: &Pose| turned(pose, angle, Vec2::new(x, y));
        let (before, after) = (between((a, at_a), (b, at_b)), between((a, moved(&at_a)), (b, moved(&at_b))));
        prop_assert!(before == after || (before - after).abs() < 1e-9 * (1.0 + before * before), "{} {}", before, after);
    }

    #[test]
    fn a_monitor_finds_the_smallest_of_all_pairs_and_mirrored_the_same(
        cars in prop::collection::vec((any_body(), pose_within(300.0)), 0..30),
    ) {
        let reflected: Vec<(Body, Pose)> = cars.iter().map(|(body, pose)| (*body, mirrored(pose))).collect();
        let (left, right) = (seen(&cars), seen(&reflected));
        for ego in [None, Some(0)] {
            let monitor = match ego {
                None => TtcMonitor::all(),
                Some(_) => TtcMonitor::new(ActorPath::new("car-00").unwrap()),
            };
            let found = monitor.smallest(&left);
            let expected = by_comparing_all(&left, ego);
            prop_assert_eq!(found.ttc.as_ref().map(|ttc| ttc.seconds), expected.0);
            prop_assert_eq!(found.gap.as_ref().map(|gap| gap.metres), expected.1);
            prop_assert!(found.ttc.as_ref().is_none_or(|ttc| ttc.car < ttc.other && ttc.gap <= 1e3));
            prop_assert_eq!(found, monitor.smallest(&right));
        }
    }
}
