use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::params::Params;
use crate::quantities;

quantities! {
    /// A speed.
    struct Speed(f64) = Range::new("m/s").above(0.0).up_to(100.0);
    /// A lane.
    struct Lane(u32) = Range::new("").from(1).up_to(8);
    /// Anything.
    struct Any(f64) = Range::new("");
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    Params::from_json(text).and_then(|params| params.read()).map_err(|error| error.what())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only read")]
struct Car {
    #[serde(default = "usual")]
    speed: Speed,
    lane: Option<Lane>,
    every: Option<Period>,
}

fn usual() -> Speed {
    Speed::of(30.0)
}

#[test]
fn a_range_is_checked_where_a_value_is_read() {
    assert_eq!(read::<Car>("{ speed: 100 }").unwrap().speed, Speed::of(100.0));
    for (text, error) in [
        ("{ speed: 0.0 }", "`speed` is 0.0, but must be above 0 and up to 100 (m/s)"),
        ("{ speed: 100.5 }", "`speed` is 100.5, but must be above 0 and up to 100 (m/s)"),
        ("{ lane: 9 }", "`lane` is 9, but must be from 1 to 8"),
        ("{ lane: 1.0 }", "`lane` is 1.0, but must be a whole number from 0 to 4294967295"),
        ("{ every: 0 }", "`every` is 0, but must be above 0 (s)"),
    ] {
        assert_eq!(read::<Car>(text).unwrap_err(), error);
    }
}

#[test]
fn a_range_stands_in_the_schema() {
    let schema = schemars::schema_for!(Car);
    assert_eq!(
        schema.pointer("/properties/speed"),
        Some(
            &json!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": 100.0, "description": "in m/s", "unit": "m/s", "default": 30.0 })
        )
    );
    assert_eq!(schemars::schema_for!(Lane).as_value()["maximum"], json!(8));
}

#[test]
fn a_value_is_checked_when_it_is_made() {
    assert_eq!(Speed::new(-1.0).unwrap_err().to_string(), "-1 is out of range: it must be above 0 and up to 100 (m/s)");
    assert!(Any::new(f64::NAN).is_err() && Any::new(f64::INFINITY).is_err() && Any::new(1e308).is_ok());
    assert_eq!(f64::from(Speed::of(3.0)), 3.0);
}

#[test]
fn seconds_are_read_from_the_digits() {
    let time = |text| read::<Seconds<SimTime>>(text).map(|Seconds(time)| time.as_nanos());
    for (text, nanos) in [
        ("9000000000.000000001", 9_000_000_000_000_000_001),
        ("'0.1'", 100_000_000),
        (".5", 500_000_000),
        ("5.", 5_000_000_000),
        ("+2", 2_000_000_000),
        ("-0.000000001", -1),
        ("1e-9", 1),
        ("1.5e3", 1_500_000_000_000),
        ("1250e-3", 1_250_000_000),
        ("0e-99", 0),
        ("0x10", 16_000_000_000),
    ] {
        assert_eq!(time(text), Ok(nanos), "{text}");
    }
    for text in ["0.0000000001", "1e-10", "1e30", "1e999999999999", "'now'", "9223372036.9", "true", "[]"] {
        assert!(time(text).is_err(), "{text}");
    }
    assert!(time("0.0000000001").unwrap_err().contains("at most nine decimals"));
}

#[test]
fn seconds_are_read_from_other_sources_too() {
    let Seconds(time) = serde_json::from_str::<Seconds<SimDuration>>("0.1").unwrap();
    assert_eq!(time, SimDuration::from_millis(100));
    let Seconds(time) = serde_json::from_str::<Seconds<SimDuration>>("\"0.1\"").unwrap();
    assert_eq!(time, SimDuration::from_millis(100));
}

#[test]
fn an_orientation_is_three_angles_in_degrees() {
    let nose_down: Orientation = read("{ rpy_deg: [0, 90, 0] }").unwrap();
    let forward = nose_down.quat().rotate(chaconne_sim_core::math::Vec3::new(1.0, 0.0, 0.0));
    assert!((forward.z + 1.0).abs() < 1e-15);
    assert!(read::<Orientation>("{ rpy_deg: [0, 0] }").is_err());
    assert_eq!(
        read::<Orientation>("{ rpy_deg: [0, 400, 0] }").unwrap_err(),
        "`rpy_deg[1]` is 400, but must be from -360 to 360 (degrees)"
    );
}

proptest! {
    #[test]
    fn the_text_of_a_time_is_read_back(nanos: i64) {
        let time = SimTime::from_nanos(nanos);
        prop_assert_eq!(read::<Seconds<SimTime>>(&time.to_string()).unwrap().0, time);
    }

    #[test]
    fn an_exponent_moves_the_point(nanos in 0_i64..1_000_000_000_000, exponent in 0_i32..9) {
        let text = format!("{nanos}e-{exponent}");
        let expected = i128::from(nanos) * 1_000_000_000 / 10_i128.pow(exponent as u32);
        match i64::try_from(expected) {
            Ok(expected) => prop_assert_eq!(read::<Seconds<SimTime>>(&text).unwrap().0.as_nanos(), expected),
            Err(_) => prop_assert!(read::<Seconds<SimTime>>(&text).is_err()),
        }
    }
}
