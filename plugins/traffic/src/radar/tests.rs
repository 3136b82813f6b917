//! Radars against rays: what the intervals say is compared with what single rays meet.

use proptest::prelude::*;

use super::*;
use crate::body::{
    Body,
    tests::{any_body, mirrored, pose, pose_within, turned},
};

fn car(x: f64, y: f64, heading: f64, speed: f64) -> Target {
    target(Body::CAR, &pose(x, y, heading, speed))
}

fn target(body: Body, pose: &Pose) -> Target {
    Target { footprint: body.at(pose), velocity: pose.velocity() }
}

fn ego(speed: f64) -> Pose {
    pose(0.0, 0.0, 0.0, speed)
}

fn exact() -> RadarSpec {
    RadarSpec::default().without_noise()
}

/// A radar that sees all around from the reference point.
fn all_around() -> RadarSpec {
    RadarSpec { field_of_view: math::TAU, position: Vec2::ZERO, ..exact() }
}

/// What the radar of a standing ego sees, one entry per target.
fn sight(targets: &[Target], spec: &RadarSpec) -> Vec<Option<Detection>> {
    spec.sight(&ego(0.0), Vec2::ZERO, targets)
}

#[test]
fn a_target_is_measured_at_its_nearest_point() {
    // Beside the axis the nearest point of a car that points the same way is its rear corner.
    let seen = scan(&ego(30.0), Vec2::X * 30.0, &[car(45.0, 4.9, 0.0, 20.0)], &exact());
    let (x, y) = (45.0 - 1.0 - 4.0, 4.9 - 0.9);
    let range = math::hypot(x, y);
    assert!((seen[0].range - range).abs() < 1e-12, "{seen:?}");
    assert!((seen[0].range_rate + 10.0 * x / range).abs() < 1e-12, "{seen:?}");
    assert!((seen[0].azimuth - math::atan2(y, x)).abs() < 1e-12, "{seen:?}");
}

#[test]
fn any_uncovered_part_is_enough_to_be_seen() {
    let lead = car(30.0, 0.0, 0.0, 0.0);
    let behind = |y: f64| sight(&[lead, car(60.0, y, 0.0, 0.0)], &exact())[1];
    // The lead's rear corners, 25 m ahead, hide what is within 0.9 / 25 at either side.
    let hidden = 0.9 / 25.0 * 55.0;
    assert!(behind(0.0).is_none() && behind(hidden - 0.95).is_none());
    // A strip of 5 cm is left; what is measured is the nearest point, although it is covered itself.
    let seen = behind(hidden - 0.85).expect("a strip of it is open");
    assert_eq!(seen.range, math::hypot(55.0, hidden - 0.85 - 0.9));
    // Two cars side by side cover together what neither covers alone.
    let truck = target(Body { length: 10.0, width: 3.0, rear_overhang: 1.0 }, &pose(60.0, 0.0, 0.0, 0.0));
    let (left, right) = (car(30.0, 0.899, 0.0, 0.0), car(30.0, -0.899, 0.0, 0.0));
    assert!(sight(&[left, truck], &exact())[1].is_some() && sight(&[right, truck], &exact())[1].is_some());
    assert!(sight(&[left, right, truck], &exact())[2].is_none());
}

#[test]
fn who_is_in_front_is_decided_along_the_ray_and_not_by_the_nearest_points() {
    // A wall to the left begins 10 m away and stretches far ahead; a car between it and the road is farther than that.
    let wall = target(Body { length: 200.0, width: 0.5, rear_overhang: 0.0 }, &pose(1.0, 10.0, 0.0, 0.0));
    let seen = sight(&[wall, car(40.0, 5.0, 0.0, 0.0), car(40.0, 16.0, 0.0, 0.0)], &all_around());
    assert!(seen[0].expect("its beginning is open").range < 10.0);
    assert!(seen[1].expect("it stands before the wall").range > 38.0);
    assert!(seen[2].is_none());
}

#[test]
fn what_lies_beyond_the_range_still_covers() {
    let spec = RadarSpec { max_range: 100.0, field_of_view: 0.02, yaw: 0.09, position: Vec2::ZERO, ..exact() };
    let wall = target(Body { length: 200.0, width: 0.5, rear_overhang: 0.0 }, &pose(1.0, 10.0, 0.0, 0.0));
    let block =
        |x: f64, y: f64, width: f64| target(Body { length: 1.0, width, rear_overhang: 0.0 }, &pose(x, y, 0.0, 0.0));
    // Of what is seen of the wall, from 98 m to 122 m away, one block covers the near part and one the far part.
    let (near, far) = (block(90.0, 8.6, 2.0), block(108.0, 8.75, 1.5));
    let seen = |targets: &[Target]| sight(targets, &spec).iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(seen(&[wall, near]), [true, true]);
    assert_eq!(seen(&[wall, near, far]), [false, true, false]);
}

#[test]
fn the_field_of_view_and_the_range_end_where_they_say() {
    let narrow = RadarSpec { field_of_view: 0.2, max_range: 50.0, ..exact() };
    let at = |x: f64, y: f64| sight(&[car(x + 4.0 + 1.0, y, 0.0, 0.0)], &narrow)[0];
    assert!(at(50.0, 0.0).is_some() && at(50.01, 0.0).is_none());
    let edge = math::tan(0.1) * 45.0;
    // The front right corner is the last to go.
    assert!(at(40.0, edge + 0.9 - 0.01).is_some() && at(40.0, edge + 0.9 + 0.01).is_none());
    // What is measured lies inside the field of view: on its edge, where the nearest point does not.
    let seen = at(40.0, edge + 0.5).expect("a part of it is inside");
    assert!((seen.azimuth - 0.1).abs() < 1e-12 && seen.range > math::hypot(40.0, edge - 0.4), "{seen:?}");
}

#[test]
fn rear_and_side_radars_look_where_they_are_mounted() {
    let rear = RadarSpec { position: Vec2::new(-1.0, 0.0), yaw: math::PI, ..exact() };
    let seen = scan(&ego(20.0), Vec2::X * 20.0, &[car(-25.0, -2.0, 0.0, 30.0), car(30.0, 0.0, 0.0, 0.0)], &rear);
    assert_eq!(seen.len(), 1);
    assert!((seen[0].range - math::hypot(20.0, 1.1)).abs() < 1e-12 && seen[0].range_rate < -9.0, "{seen:?}");
    // Seen backwards, right is left.
    assert!(seen[0].azimuth > 0.0);
    let side = RadarSpec { position: Vec2::new(1.5, 0.9), yaw: math::FRAC_PI_2, ..exact() };
    let seen = sight(&[car(0.0, 3.6, 0.0, 0.0)], &side)[0].expect("it drives alongside");
    assert!((seen.range - 1.8).abs() < 1e-12 && seen.azimuth.abs() < 1e-12, "{seen:?}");
}

#[test]
fn a_target_across_the_seam_behind_is_seen_once_and_covers() {
    for y in [-0.5, 0.0, 0.5] {
        let near = car(-20.0, y, 0.0, 0.0);
        let seen = sight(&[near, car(-40.0, y, 0.0, 0.0), car(-40.0, y + 6.0, 0.0, 0.0)], &all_around());
        let first = seen[0].expect("nothing is between");
        assert_eq!(first.range, 16.0);
        assert!((first.azimuth.abs() - math::PI).abs() < 1e-12);
        assert!(seen[1].is_none() && seen[2].is_some());
    }
    // A field of view that leaves out a little behind: the nearer part, or the left one of two.
    let nearly = RadarSpec { field_of_view: math::TAU - 0.02, ..all_around() };
    let azimuth = |y: f64| sight(&[car(-20.0, y, 0.0, 0.0)], &nearly)[0].expect("both sides stick out").azimuth;
    assert_eq!((azimuth(0.01), azimuth(0.0), azimuth(-0.01)), (math::PI - 0.01, math::PI - 0.01, 0.01 - math::PI));
}

#[test]
fn a_target_around_the_sensor_is_at_range_zero_and_covers_nothing() {
    let wide = RadarSpec { field_of_view: 2.0, ..exact() };
    let seen = sight(&[car(3.0, 0.5, 0.0, 5.0), car(30.0, 0.0, 0.0, 0.0)], &wide);
    let inside = seen[0].expect("the sensor is in it");
    assert_eq!((inside.range, inside.azimuth), (0.0, math::FRAC_PI_4));
    assert!((inside.range_rate - 5.0 / math::SQRT_2).abs() < 1e-12 && seen[1].is_some());
    assert!(sight(&[car(3.0, 0.5, 0.0, 5.0)], &exact())[0].is_none());
}

#[test]
fn detections_are_sorted_by_range_and_equal_ranges_from_right_to_left() {
    let targets = [car(60.0, 0.0, 0.0, 0.0), car(40.0, 5.0, 0.0, 0.0), car(40.0, -5.0, 0.0, 0.0)];
    let seen = scan(&ego(0.0), Vec2::ZERO, &targets, &exact());
    assert_eq!(seen.len(), 3);
    assert!(seen[0].range == seen[1].range && seen[0].azimuth == -seen[1].azimuth && seen[0].azimuth < 0.0);
    assert!(seen[2].range > seen[1].range);
}

#[test]
fn noise_has_the_stated_mean_and_deviation() {
    let (spec, truth) = (RadarSpec::default(), Detection { range: 80.0, range_rate: -7.0, azimuth: 0.1 });
    let mut rng = chaconne_sim_core::StreamKey::from_bits(7).stream(0);
    let draws: Vec<Detection> = (0..20_000).map(|_| spec.measure(truth, &mut rng)).collect();
    let count = draws.len() as f64;
    let check = |of: fn(&Detection) -> f64, mean: f64, sigma: f64| {
        let average = draws.iter().map(of).sum::<f64>() / count;
        let variance = draws.iter().map(|draw| (of(draw) - average) * (of(draw) - average)).sum::<f64>() / count;
        // Four standard errors of either.
        assert!((average - mean).abs() < 4.0 * sigma / count.sqrt(), "{average} instead of {mean}");
        assert!((variance.sqrt() - sigma).abs() < 4.0 * sigma / (2.0 * count).sqrt(), "{}", variance.sqrt());
    };
    check(|it| it.range, 80.0, 0.1);
    check(|it| it.range_rate, -7.0, 0.1);
    check(|it| it.azimuth, 0.1, 0.2_f64.to_radians());
    // Three quantities are independent.
    let product = draws.iter().map(|it| (it.range - 80.0) * (it.range_rate + 7.0)).sum::<f64>() / count;
    assert!(product.abs() < 4.0 * 0.01 / count.sqrt(), "{product}");
}

#[test]
fn without_noise_nothing_is_drawn_and_with_it_ranges_and_azimuths_stay_in_bounds() {
    let truth = Detection { range: 0.01, range_rate: -7.0, azimuth: math::PI };
    let (mut drawn, mut fresh) = (DetRng::clone(&stream()), stream());
    assert_eq!(exact().measure(truth, &mut drawn), truth);
    assert_eq!(drawn.next_u64(), fresh.next_u64());
    let mut rng = stream();
    for _ in 0..200 {
        let noisy = RadarSpec::default().measure(truth, &mut rng);
        assert!(noisy.range >= 0.0 && noisy.azimuth.abs() <= math::PI);
    }
}

fn stream() -> DetRng {
    chaconne_sim_core::StreamKey::from_bits(1).stream(0)
}

#[test]
fn a_parameter_out_of_range_is_named() {
    let good = RadarSpec::default();
    assert!(good.check().is_ok() && all_around().check().is_ok());
    let error = RadarSpec { field_of_view: 6.3, ..good }.check().unwrap_err().to_string();
    assert!(error.starts_with("`field_of_view` of the radar is 6.3, but must be above 0 and at most 2π"), "{error}");
    for wrong in [
        RadarSpec { max_range: 0.0, ..good },
        RadarSpec { field_of_view: 0.0, ..good },
        RadarSpec { position: Vec2::new(f64::NAN, 0.0), ..good },
        RadarSpec { position: Vec2::new(0.0, f64::INFINITY), ..good },
        RadarSpec { yaw: 3.2, ..good },
        RadarSpec { range_sigma: -0.1, ..good },
        RadarSpec { range_rate_sigma: f64::NAN, ..good },
        RadarSpec { azimuth_sigma: f64::INFINITY, ..good },
    ] {
        assert!(Radar::new(wrong).is_err(), "{wrong:?}");
    }
}

/// How far a ray from the origin goes before it crosses the outline of a rectangle, edge by edge.
fn ray_meets(footprint: &Footprint, ray: Vec2) -> Option<f64> {
    let corners = footprint.corners();
    let crossings = (0..4).filter_map(|edge| {
        let (from, to) = (corners[edge], corners[(edge + 1) % 4]);
        let side = to - from;
        let share = ray.perp_dot(from) / side.perp_dot(ray);
        let along = from + side * share;
        ((0.0..=1.0).contains(&share) && along.dot(ray) > 0.0).then(|| along.dot(ray))
    });
    crossings.min_by(f64::total_cmp)
}

prop_compose! {
    /// A sensor's vehicle and targets that overlap neither each other nor the sensor.
    fn scene()(
        ego in pose_within(100.0), position in (-1.0..4.0, -0.9..0.9), yaw in -math::PI..math::PI,
        field_of_view in 0.1..math::TAU, wanted in prop::collection::vec((any_body(), pose_within(40.0)), 1..9),
        stretch in 1.0..5.0,
    ) -> (Pose, RadarSpec, Vec<(Body, Pose)>) {
        let spec = RadarSpec { position: Vec2::new(position.0, position.1), yaw, field_of_view, ..exact() };
        let origin = ego.ground() + ego.direction() * position.0 + ego.direction().perp() * position.1;
        let mut kept: Vec<(Body, Pose)> = Vec::new();
        for (body, near) in wanted {
            let body = Body { length: stretch * body.length, rear_overhang: stretch * body.rear_overhang, ..body };
            let pose = Pose { position: ego.position + near.position, ..near };
            let footprint = body.at(&pose);
            let apart = kept.iter().all(|(body, pose)| body.at(pose).clearance(&footprint) > 1e-3);
            if apart && footprint.nearest_point(origin).distance(origin) > 0.1 {
                kept.push((body, pose));
            }
        }
        (ego, spec, kept)
    }
}

fn targets(scene: &[(Body, Pose)]) -> Vec<Target> {
    scene.iter().map(|(body, pose)| target(*body, pose)).collect()
}

proptest! {
    #[test]
    fn who_is_seen_agrees_with_rays_beside_every_corner((ego, spec, scene) in scene()) {
        let targets = targets(&scene);
        let seen = spec.sight(&ego, ego.velocity(), &targets);
        let forward = ego.direction();
        let origin = ego.ground() + forward * spec.position.x + forward.perp() * spec.position.y;
        let turned: Vec<Footprint> =
            targets.iter().map(|it| it.footprint.seen_from(origin, forward.rotate(spec.yaw))).collect();
        // A part that is open begins and ends beside a corner or an edge of the field of view.
        let half = spec.field_of_view / 2.0;
        let corners = turned.iter().flat_map(|it| it.corners()).map(Vec2::angle);
        let bearings: Vec<f64> = corners
            .chain([-half, half])
            .flat_map(|at| [at - 1e-6, at + 1e-6])
            .chain((0..1000).map(|step| (f64::from(step) / 500.0 - 1.0) * half))
            .filter(|at| at.abs() < half)
            .collect();
        let mut met = vec![f64::INFINITY; targets.len()];
        for bearing in bearings {
            let ray = Vec2::from_angle(bearing);
            let hits = turned.iter().enumerate().filter_map(|(at, it)| Some((ray_meets(it, ray)?, at)));
            if let Some((range, at)) = hits.min_by(|a, b| a.0.total_cmp(&b.0)) {
                met[at] = math::min(met[at], range);
            }
        }
        for (at, met) in met.into_iter().enumerate() {
            prop_assert_eq!(seen[at].is_some(), met.is_finite(), "{} {:?}", at, seen);
            if let Some(seen) = seen[at] {
                prop_assert!(seen.range <= met + 1e-9 && seen.azimuth.abs() <= half + 1e-12, "{:?} {}", seen, met);
                // What is measured is a point of the target.
                let point = Vec2::from_angle(seen.azimuth) * seen.range;
                prop_assert!(turned[at].nearest_point(point).distance(point) < 1e-9);
            }
        }
    }

    #[test]
    fn a_lone_target_is_measured_at_the_nearest_of_all_its_points_in_view((ego, spec, scene) in scene()) {
        prop_assume!(!scene.is_empty());
        let targets = targets(&scene[..1]);
        let forward = ego.direction();
        let origin = ego.ground() + forward * spec.position.x + forward.perp() * spec.position.y;
        let outline = targets[0].footprint.seen_from(origin, forward.rotate(spec.yaw)).corners();
        let points = (0..4).flat_map(|edge| {
            (0..400).map(move |step| outline[edge].lerp(outline[(edge + 1) % 4], f64::from(step) / 400.0))
        });
        let nearest = points
            .filter(|point| point.angle().abs() <= spec.field_of_view / 2.0)
            .map(Vec2::length)
            .fold(f64::INFINITY, math::min);
        match spec.sight(&ego, ego.velocity(), &targets)[0] {
            Some(seen) if nearest.is_finite() => {
                prop_assert!(seen.range <= nearest + 1e-9 && nearest < seen.range + 0.2, "{:?} {}", seen, nearest);
            }
            Some(_) => {}
            None => prop_assert!(nearest.is_infinite()),
        }
    }

    #[test]
    fn the_range_rate_is_the_derivative_of_the_range((ego, _, scene) in scene()) {
        let spec = all_around();
        let at = |seconds: f64| {
            let moved = |pose: &Pose| {
                let position = (pose.ground() + pose.velocity() * seconds).extend(0.0);
                Pose { position, ..*pose }
            };
            let scene: Vec<(Body, Pose)> = scene.iter().take(1).map(|(body, pose)| (*body, moved(pose))).collect();
            spec.sight(&moved(&ego), ego.velocity(), &targets(&scene)).first().copied().flatten()
        };
        if let (Some(before), Some(now), Some(after)) = (at(-1e-5), at(0.0), at(1e-5)) {
            // Where the nearest point passes a corner the second derivative jumps, to v² / range at most.
            let slope = (after.range - before.range) / 2e-5;
            let bound = 1e-5 + 1e-5 * 80.0 * 80.0 / now.range;
            prop_assert!(now.range == 0.0 || (slope - now.range_rate).abs() < bound, "{} {:?}", slope, now);
        }
    }

    #[test]
    fn a_mirrored_scene_gives_mirrored_detections_to_the_bit((ego, spec, scene) in scene()) {
        let right = RadarSpec { position: Vec2::new(spec.position.x, -spec.position.y), yaw: -spec.yaw, ..spec };
        let reflected: Vec<(Body, Pose)> = scene.iter().map(|(body, pose)| (*body, mirrored(pose))).collect();
        let bits = |it: Option<Detection>| it.map(|it| [it.range, it.range_rate, it.azimuth].map(f64::to_bits));
        let flipped = |it: Detection| Detection { azimuth: -it.azimuth, ..it };
        let a = spec.sight(&ego, ego.velocity(), &targets(&scene));
        let other = mirrored(&ego);
        let b = right.sight(&other, other.velocity(), &targets(&reflected));
        for (a, b) in a.into_iter().zip(b) {
            prop_assert_eq!(bits(a.map(flipped)), bits(b));
        }
    }

    #[test]
    fn a_turned_and_shifted_world_gives_the_same_detections(
        (ego, spec, scene) in scene(), angle in -4.0..4.0, x in -1e3..1e3, y in -1e3..1e3,
    ) {
        let spec = RadarSpec { field_of_view: math::TAU, ..spec };
        let moved = |pose: &Pose| turned(pose, angle, Vec2::new(x, y));
        let elsewhere: Vec<(Body, Pose)> = scene.iter().map(|(body, pose)| (*body, moved(pose))).collect();
        let a = spec.sight(&ego, ego.velocity(), &targets(&scene));
        let there = moved(&ego);
        let b = spec.sight(&there, there.velocity(), &targets(&elsewhere));
        for (a, b) in a.into_iter().zip(b) {
            prop_assert_eq!(a.is_some(), b.is_some());
            if let (Some(a), Some(b)) = (a, b) {
                prop_assert!((a.range - b.range).abs() < 1e-9, "{:?} {:?}", a, b);
                prop_assert!((a.range_rate - b.range_rate).abs() < 1e-9, "{:?} {:?}", a, b);
                prop_assert!(angle::difference(a.azimuth, b.azimuth).abs() < 1e-9, "{:?} {:?}", a, b);
            }
        }
    }
}
