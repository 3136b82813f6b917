use proptest::prelude::*;

use super::*;

/// A road from lanes and segments in JSON, starting at (10, −20) with 30°.
fn road(closed: bool, lanes: &[f64], segments: &[(f64, f64)]) -> Result<Road, TrafficError> {
    mirrored_road(closed, lanes, segments, 1.0)
}

/// As [`road`], or with `side` −1.0 its mirror image across the X axis. Segments are (length, 0) or (radius, turn in °).
fn mirrored_road(closed: bool, lanes: &[f64], segments: &[(f64, f64)], side: f64) -> Result<Road, TrafficError> {
    let lanes: Vec<_> = lanes.iter().map(|width| serde_json::json!({ "width_m": width })).collect();
    let segments: Vec<_> = segments
        .iter()
        .map(|&(size, turn)| match turn {
            0.0 => serde_json::json!({ "straight": { "length_m": size } }),
            _ => serde_json::json!({ "arc": { "radius_m": size, "turn_deg": side * turn } }),
        })
        .collect();
    let start = serde_json::json!({ "x_m": 10, "y_m": -20.0 * side, "heading_deg": 30.0 * side });
    let file = serde_json::json!({
        "name": "test", "closed": closed, "start": start, "lanes": lanes, "segments": segments
    });
    Road::from_json(&file.to_string(), "test.json")
}

const LANES: [f64; 3] = [3.5, 3.0, 4.0];

/// Straight stretches and bends both ways, up to full turns, wide enough for [`LANES`].
fn segments() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let straight = (0.5..300.0).prop_map(|length| (length, 0.0));
    let arc = (12.0..900.0, prop_oneof![-360.0..-0.1, 0.1..360.0]);
    prop::collection::vec(prop_oneof![straight, arc], 1..8)
}

/// Where segments begin and end.
fn joints(segments: &[(f64, f64)]) -> Vec<f64> {
    let mut at = 0.0;
    let mut joints = vec![at];
    for &(size, turn) in segments {
        at += if turn == 0.0 { size } else { size * angle::to_radians(turn.abs()) };
        joints.push(at);
    }
    joints
}

proptest! {
    #[test]
    fn projecting_a_pose_gives_its_place_back(
        segments in segments(), share in -0.1..1.1, lateral in -5.25..5.25, hint in -2.0..2.0,
    ) {
        let road = road(false, &LANES, &segments).unwrap();
        let s = share * road.length();
        let (position, _) = road.pose_at(s, lateral);
        let place = road.project(position, Some(s + hint)).unwrap();
        prop_assert!((place.s - s).abs() < 1e-8, "{} instead of {}", place.s, s);
        prop_assert!((place.lateral - lateral).abs() < 1e-8, "{} instead of {}", place.lateral, lateral);
    }

    #[test]
    fn projecting_without_a_hint_equals_projecting_with_one(share in 0.0..1.0, lateral in -5.25..5.25) {
        let road = Road::demo();
        let s = share * road.length();
        let (position, _) = road.pose_at(s, lateral);
        let (free, hinted) = (road.project(position, None).unwrap(), road.project(position, Some(s)).unwrap());
        let apart = road.wrap(free.s - hinted.s);
        prop_assert!(apart < 1e-8 || road.length() - apart < 1e-8, "{:?} and {:?}", free, hinted);
        prop_assert!((free.lateral - hinted.lateral).abs() < 1e-8, "{:?} and {:?}", free, hinted);
    }

    #[test]
    fn a_hint_from_elsewhere_is_walked_away_from(share in 0.0..1.0, away in 0.0..1.0) {
        let road = road(true, &[3.5], &[(400.0, 0.0), (80.0, 180.0), (400.0, 0.0), (80.0, 180.0)]).unwrap();
        let s = share * road.length();
        let (position, _) = road.pose_at(s, 1.0);
        let found = road.project(position, Some(s + away * road.length())).unwrap();
        // From the other side of the loop a position looks beside the straight there: a hint is a promise. What is found
        // has the position beside it in any case.
        let (foot, _) = road.pose_at(found.s, found.lateral);
        prop_assert!(foot.distance(position) < 1e-8, "{:?}", found);
        prop_assert!((0.0..road.length()).contains(&found.s));
    }

    #[test]
    fn joints_are_continuous_in_position_and_heading(segments in segments(), lateral in -5.25..5.25) {
        let road = road(false, &LANES, &segments).unwrap();
        for joint in joints(&segments) {
            let step = 1e-6;
            let (before, heading_before) = road.pose_at(joint - step, lateral);
            let (after, heading_after) = road.pose_at(joint + step, lateral);
            // On the outside of the tightest bend a millionth of a metre is not quite doubled.
            prop_assert!(before.distance(after) < 4.0 * step);
            prop_assert!(angle::difference(heading_after, heading_before).abs() < step);
        }
    }

    #[test]
    fn the_reference_line_has_unit_speed_and_turns_with_its_curvature(segments in segments(), share in 0.0..1.0) {
        let road = road(false, &LANES, &segments).unwrap();
        let (s, step) = (share * road.length(), 1e-4);
        let ((from, start), (to, end)) = (road.pose_at(s, 0.0), road.pose_at(s + step, 0.0));
        prop_assert!((from.distance(to) - step).abs() < 1e-9);
        let turn = angle::difference(end, start);
        let (here, there) = (road.curvature_at(s), road.curvature_at(s + step));
        prop_assert!((turn - here * step).abs() < 1e-12 || here != there, "{turn} at {here}");
        // Heading and line agree.
        prop_assert!(angle::difference((to - from).angle(), start).abs() < 1e-4);
    }

    #[test]
    fn a_mirrored_road_is_mirrored_to_the_bit(
        segments in segments(), share in -0.1..1.1, lateral in -5.25..5.25, x in -500.0..500.0, y in -500.0..500.0,
    ) {
        let left = mirrored_road(false, &[3.5; 3], &segments, 1.0).unwrap();
        let right = mirrored_road(false, &[3.5; 3], &segments, -1.0).unwrap();
        let s = share * left.length();
        let ((a, a_heading), (b, b_heading)) = (left.pose_at(s, lateral), right.pose_at(s, -lateral));
        prop_assert_eq!([a.x, -a.y, -a_heading].map(f64::to_bits), [b.x, b.y, b_heading].map(f64::to_bits));
        for hint in [None, Some(s)] {
            let a = left.project(Vec2::new(x, y), hint).unwrap();
            let b = right.project(Vec2::new(x, -y), hint).unwrap();
            prop_assert_eq!([a.s, -a.lateral].map(f64::to_bits), [b.s, b.lateral].map(f64::to_bits));
        }
    }

    #[test]
    fn a_closed_road_wraps_into_its_length(s in -1e5..1e5) {
        let road = Road::demo();
        let wrapped = road.wrap(s);
        prop_assert!((0.0..road.length()).contains(&wrapped));
        let ((a, _), (b, _)) = (road.pose_at(s, 1.0), road.pose_at(wrapped, 1.0));
        prop_assert!(a.distance(b) < 1e-9);
    }
}

#[test]
fn a_tiny_negative_arc_length_does_not_become_the_whole_length() {
    let road = Road::demo();
    for s in [-1.39e-17, -f64::MIN_POSITIVE, -0.0, road.length(), -road.length()] {
        assert!((0.0..road.length()).contains(&road.wrap(s)), "{s}");
    }
    assert_eq!(road.distance_ahead(10.0, 4.0), road.length() - 6.0);
    assert_eq!(road.distance_ahead(4.0, 10.0), 6.0);
}

#[test]
fn an_open_road_goes_straight_on_beyond_its_ends() {
    let road = road(false, &LANES, &[(50.0, 90.0)]).unwrap();
    let (start, start_heading) = road.pose_at(0.0, 0.0);
    let (before, heading) = road.pose_at(-30.0, 0.0);
    assert_eq!(heading, start_heading);
    assert!(before.distance(start - Vec2::from_angle(start_heading) * 30.0) < 1e-12);
    let (end, _) = road.pose_at(road.length(), 0.0);
    let (after, heading) = road.pose_at(road.length() + 30.0, 0.0);
    assert!((heading - angle::to_radians(120.0)).abs() < 1e-12);
    assert!(after.distance(end + Vec2::from_angle(heading) * 30.0) < 1e-12);
    assert_eq!(road.distance_ahead(40.0, 10.0), -30.0);
    assert_eq!((road.curvature_at(-1.0), road.curvature_at(1.0), road.curvature_at(1e4)), (0.0, 0.02, 0.0));
}

#[test]
fn a_full_circle_is_one_segment() {
    let road = road(true, &LANES, &[(100.0, 360.0)]).unwrap();
    assert!((road.length() - math::TAU * 100.0).abs() < 1e-9);
    let centre = road.pose_at(0.0, 100.0).0;
    let mut hint = 0.0;
    for step in 0..1000 {
        let s = 2.0 * f64::from(step);
        let (position, _) = road.pose_at(s, -2.0);
        assert!((position.distance(centre) - 102.0).abs() < 1e-9);
        let place = road.project(position, Some(hint)).unwrap();
        let apart = road.wrap(place.s - s);
        assert!(apart < 1e-8 || road.length() - apart < 1e-8, "{place:?} at {s}");
        hint = place.s;
    }
}

#[test]
fn a_place_without_finite_coordinates_is_not_on_the_road() {
    let road = Road::demo();
    for position in [Vec2::new(f64::NAN, 0.0), Vec2::new(0.0, f64::INFINITY), Vec2::new(1e300, -1e300)] {
        assert_eq!(road.project(position, None), None);
        assert_eq!(road.project(position, Some(900.0)), None);
    }
    assert_eq!(road.project(Vec2::ZERO, Some(f64::NAN)), None);
    assert!(road.pose_at(f64::NAN, 0.0).0.x.is_nan());
}

#[test]
fn lanes_are_counted_from_the_right() {
    let road = road(false, &LANES, &[(100.0, 0.0)]).unwrap();
    assert_eq!(road.lane_count(), 3);
    assert_eq!([0, 1, 2].map(|lane| road.lane_centre(lane).unwrap()), [-3.5, -0.25, 3.25]);
    assert_eq!([0, 1, 2].map(|lane| road.lane_width(lane).unwrap()), LANES);
    let at = [-5.26, -5.25, -1.75, 1.25, 5.24, 5.25, f64::NAN].map(|lateral| road.lane_at(lateral));
    assert_eq!(at, [None, Some(0), Some(1), Some(2), Some(2), None, None]);
    assert_eq!(
        road.lane_centre(3).unwrap_err().to_string(),
        "road `test` has 3 lanes, so lane 3 does not exist; choose one from 0 (rightmost) to 2"
    );
}

#[test]
fn the_demo_road_is_long_curved_both_ways_and_keeps_clear_of_itself() {
    let road = Road::demo();
    assert!(road.is_closed() && road.length() > 5_000.0 && road.lane_count() == 3);
    let stations: Vec<f64> = (0..(road.length() / 10.0) as u32).map(|step| 10.0 * f64::from(step)).collect();
    let curvatures = stations.iter().map(|&s| road.curvature_at(s));
    assert!(curvatures.clone().any(|c| c > 0.0) && curvatures.clone().any(|c| c < 0.0));
    assert!(curvatures.clone().any(|c| c == 0.0));
    // At 30 m/s no bend asks for more than 2.5 m/s² to the side.
    assert!(curvatures.clone().all(|c| 900.0 * c.abs() < 2.5));
    for &s in &stations {
        for &t in &stations {
            let apart = math::min(road.distance_ahead(s, t), road.distance_ahead(t, s));
            if apart > 100.0 {
                assert!(road.pose_at(s, 0.0).0.distance(road.pose_at(t, 0.0).0) > 60.0, "{s} and {t}");
            }
        }
    }
}

const GOOD: &str = r#"{
  "name": "bend",
  "closed": false,
  "start": { "x_m": 0, "y_m": 0, "heading_deg": 0 },
  "lanes": [{ "width_m": 3.5 }, { "width_m": 3.5 }],
  "segments": [
    { "straight": { "length_m": 200 } },
    { "arc": { "radius_m": 300, "turn_deg": -45 } }
  ]
}"#;

#[test]
fn a_road_file_is_read() {
    let road = Road::from_json(GOOD, "bend.json").unwrap();
    assert_eq!((road.name(), road.is_closed(), road.lane_count()), ("bend", false, 2));
    assert!((road.length() - (200.0 + 300.0 * math::FRAC_PI_4)).abs() < 1e-9);
    assert_eq!(road.curvature_at(250.0), -1.0 / 300.0);
}

#[test]
fn the_demo_road_is_the_one_in_the_assets() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/roads/demo.json");
    assert_eq!(Road::from_file(file).unwrap().pieces, Road::demo().pieces);
}

#[test]
fn each_fault_of_a_road_file_is_one_sentence_with_place_and_remedy() {
    let cases: &[(&str, &str, &str)] = &[
        ("\"name\": \"bend\",", "", "line 10, column 1: missing field `name`"),
        (
            "\"name\": \"bend\"",
            "\"name\": \"\"",
            "line 2, column 12: `name`: invalid value: string \"\", expected a text that is not empty",
        ),
        (
            "\"closed\": false",
            "\"closed\": 0",
            "line 3, column 13: `closed`: invalid type: integer `0`, expected a boolean",
        ),
        ("\"y_m\": 0, ", "", "line 4, column 41: `start`: missing field `y_m`"),
        ("\"x_m\": 0", "\"x_m\": 1e999", "line 4, column 25: `start`: `x_m`: number out of range"),
        (
            "\"heading_deg\": 0",
            "\"heading_deg\": 361",
            "line 4, column 51: `start`: `heading_deg`: invalid value: floating point `361.0`, expected degrees from -360 to 360",
        ),
        (
            "{ \"x_m\": 0, \"y_m\": 0, \"heading_deg\": 0 }",
            "[0, 0, 0]",
            "line 4, column 11: `start`: invalid type: sequence, expected an object with `x_m`, `y_m` and `heading_deg`",
        ),
        (
            "{ \"width_m\": 3.5 }, ",
            "[3.5], ",
            "line 5, column 12: `lanes[0]`: invalid type: sequence, expected an object with `width_m`",
        ),
        (
            "{ \"length_m\": 200 }",
            "[200]",
            "line 7, column 18: `segments[0]`: invalid type: sequence, expected an object with `length_m`",
        ),
        (
            "\"width_m\": 3.5 }, ",
            "\"width_m\": \"NaN\" }, ",
            "line 5, column 30: `lanes[0]`: `width_m`: invalid type: string \"NaN\", expected metres above 0 and up to 100",
        ),
        (
            "3.5 }],",
            "-1 }],",
            "line 5, column 47: `lanes[1]`: `width_m`: invalid value: floating point `-1.0`, expected metres above 0 and up to 100",
        ),
        (
            "\"width_m\": 3.5 }]",
            "\"widht_m\": 3.5 }]",
            "line 5, column 43: `lanes[1]`: unknown field `widht_m`, expected `width_m`",
        ),
        (
            "[{ \"width_m\": 3.5 }, { \"width_m\": 3.5 }]",
            "[]",
            "line 5, column 13: invalid length 0, expected `lanes` as a list with at least one item",
        ),
        (
            "\"length_m\": 200",
            "\"length_m\": 0",
            "line 7, column 33: `segments[0]`: `length_m`: invalid value: floating point `0.0`, expected metres above 0 and up to 1e6",
        ),
        ("\"length_m\": 200", "\"length_m\": NaN", "line 7, column 33: `segments[0]`: `length_m`: expected value"),
        (
            "\"length_m\": 200",
            "\"length_m\": null",
            "line 7, column 36: `segments[0]`: `length_m`: invalid type: null, expected metres above 0 and up to 1e6",
        ),
        ("{ \"length_m\": 200 }", "{}", "line 7, column 20: `segments[0]`: missing field `length_m`"),
        (
            "\"straight\"",
            "\"strait\"",
            "line 7, column 14: `segments[0]`: unknown variant `strait`, expected `straight` or `arc`",
        ),
        (
            "\"turn_deg\": -45",
            "\"turn_deg\": -45, \"length_m\": 3",
            "line 8, column 59: `segments[1]`: unknown field `length_m`, expected `radius_m` or `turn_deg`",
        ),
        (
            "\"turn_deg\": -45",
            "\"turn_deg\": -45, \"turn_deg\": 3",
            "line 8, column 59: `segments[1]`: duplicate field `turn_deg`",
        ),
        (
            "\"turn_deg\": -45",
            "\"turn_deg\": 0",
            "line 8, column 45: `segments[1]`: `turn_deg`: invalid value: floating point `0.0`, expected degrees from -360 to 360, positive to the left and not 0",
        ),
        ("\n}", "\n} }", "line 10, column 3: trailing characters"),
        ("\n  ]\n}", "", "line 8, column 51: `segments[2]`: EOF while parsing a list"),
    ];
    for (good, bad, expected) in cases {
        assert_eq!(GOOD.matches(good).count(), 1, "{good}");
        let error = Road::from_json(&GOOD.replace(good, bad), "bend.json").unwrap_err().to_string();
        let whole = format!("road file `bend.json`, {expected}; correct the file at that place");
        assert_eq!(error, whole, "with {bad}");
    }
}

#[test]
fn a_road_that_cannot_be_laid_is_refused_with_the_segment() {
    let tight = road(false, &LANES, &[(10.0, 0.0), (5.25, 30.0)]).unwrap_err().to_string();
    assert_eq!(
        tight,
        "road file `test.json`, `segments[1].arc.radius_m`: the bend's radius of 5.25 m does not exceed the 5.25 m from \
         the middle of the road to its edge; choose a larger radius or narrower lanes"
    );
    let open = road(true, &LANES, &[(10.0, 0.0)]).unwrap_err().to_string();
    assert!(open.starts_with("road file `test.json`, `closed`: the segments end at x_m 18.66"), "{open}");
    assert!(open.ends_with("change the segments or set `closed` to false"), "{open}");
    let lane =
        r#"{"name":"r","closed":true,"start":{"x_m":0,"y_m":0,"heading_deg":0},"lanes":[{"width_m":3}],"segments":["#;
    let point = format!("{lane}{{\"arc\":{{\"radius_m\":10,\"turn_deg\":5e-324}}}}]}}");
    let point = Road::from_json(&point, "test.json").unwrap_err().to_string();
    assert!(point.starts_with("road file `test.json`, `segments`: they make a road of 0 m"), "{point}");
    let missing = Road::from_file("no/such/road.json").unwrap_err().to_string();
    assert!(missing.starts_with("road file `no/such/road.json` cannot be read ("), "{missing}");
    // A folder, and what never ends, are no plain files.
    for file in ["/", "/dev/zero"].iter().filter(|file| std::path::Path::new(file).exists()) {
        let message = Road::from_file(file).unwrap_err().to_string();
        assert!(message.contains("it is not a plain file"), "{message}");
    }
}

#[test]
fn the_signed_distance_takes_the_shorter_way() {
    let road = Road::demo();
    let length = road.length();
    assert_eq!(road.signed_distance(10.0, 30.0), 20.0);
    assert_eq!(road.signed_distance(30.0, 10.0), -20.0);
    assert!((road.signed_distance(length - 10.0, 20.0) - 30.0).abs() < 1e-9);
    assert!((road.signed_distance(20.0, length - 10.0) + 30.0).abs() < 1e-9);
    let open = r#"{ "name": "open", "closed": false, "start": { "x_m": 0, "y_m": 0, "heading_deg": 0 },
        "lanes": [{ "width_m": 3.5 }], "segments": [{ "straight": { "length_m": 100 } }] }"#;
    let open = Road::from_json(open, "open.json").unwrap();
    assert_eq!((open.signed_distance(10.0, 500.0), open.signed_distance(500.0, 10.0)), (490.0, -490.0));
}
