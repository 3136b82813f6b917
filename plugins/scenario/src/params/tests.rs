use std::collections::BTreeMap;

use chaconne_sim_core::time::SimDuration;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::quantity::Seconds;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Car {
    speed: f64,
    #[serde(default)]
    lanes: Vec<Lane>,
    #[serde(default)]
    law: Option<Law>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lane {
    width: f64,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Law {
    Pursuit,
    Gap(f64),
    Pair(u8, u8),
    Idm { headway: f64 },
}

#[derive(Debug, PartialEq, Deserialize)]
struct Metres(f64);

fn read<T: DeserializeOwned>(text: &str) -> Result<T, ParamError> {
    Params::from_json(text)?.read()
}

fn fails<T: DeserializeOwned>(text: &str) -> String {
    read::<T>(text).map(|_| ()).expect_err(text).to_string()
}

#[test]
fn what_serde_derives_is_read() {
    let car: Car = read("{ speed: 3, lanes: [{ width: 3.5 }], law: { idm: { headway: 1 } } }").unwrap();
    assert_eq!(car, Car { speed: 3.0, lanes: vec![Lane { width: 3.5 }], law: Some(Law::Idm { headway: 1.0 }) });
    assert_eq!(read::<Law>("'pursuit'").unwrap(), Law::Pursuit);
    assert_eq!(read::<Law>("{ gap: 2 }").unwrap(), Law::Gap(2.0));
    assert_eq!(read::<Law>("{ pair: [1, 2] }").unwrap(), Law::Pair(1, 2));
    assert_eq!(read::<Metres>("1").unwrap(), Metres(1.0));
    assert_eq!(read::<Option<u8>>("null").unwrap(), None);
    assert_eq!(read::<BTreeMap<i32, char>>("{ '-1': 'a' }").unwrap(), BTreeMap::from([(-1, 'a')]));
    assert_eq!(read::<(bool, String, ())>("[true, 'a', null]").unwrap(), (true, "a".to_owned(), ()));
    let any: serde_json::Value = read("{ a: [1, -1, 1.5, 'x', null, true] }").unwrap();
    assert_eq!(any, serde_json::json!({ "a": [1, -1, 1.5, "x", null, true] }));
}

#[test]
fn absent_parameters_read_as_an_empty_object() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Optional {
        #[serde(default)]
        speed: f64,
    }
    assert_eq!(Params::empty().read::<Optional>().unwrap(), Optional { speed: 0.0 });
    assert_eq!(read::<Optional>(" ").unwrap(), Optional { speed: 0.0 });
    assert_eq!(Params::empty().read::<Car>().unwrap_err().to_string(), "the field `speed` is missing; add it");
    let place = Place { line: 3, column: 7 };
    assert_eq!(Params::empty_at(place).read::<Car>().unwrap_err().place(), Some(place));
}

#[test]
fn an_unknown_field_is_shown_at_its_key_with_the_one_that_is_meant() {
    assert_eq!(
        fails::<Car>("{ speed: 1,\n  Lanse: [] }"),
        "line 2, column 3: unknown field `Lanse`; did you mean `lanes`?"
    );
    assert_eq!(
        fails::<Car>("{ colour: 1 }"),
        "line 1, column 3: unknown field `colour`; use `speed`, `lanes` or `law`"
    );
    assert_eq!(
        fails::<Car>("{ speed: 1, lanes: [{ height: 1 }] }"),
        "line 1, column 23: unknown field `height`; only `width` is allowed here"
    );
}

#[test]
fn an_unknown_variant_is_shown_with_the_one_that_is_meant() {
    assert_eq!(
        fails::<Car>("{ speed: 1, law: 'persuit' }"),
        "line 1, column 18: unknown value `persuit`; did you mean `pursuit`?"
    );
    assert_eq!(fails::<Law>("{ ixm: {} }"), "line 1, column 3: unknown value `ixm`; did you mean `idm`?");
}

#[test]
fn a_missing_field_is_shown_at_its_object() {
    assert_eq!(fails::<Car>("{ speed: 1, lanes: [{}] }"), "line 1, column 21: the field `width` is missing; add it");
    assert_eq!(fails::<Law>("{ idm: {} }"), "line 1, column 8: the field `headway` is missing; add it");
}

#[test]
fn a_wrong_value_is_shown_where_it_stands_with_its_field() {
    for (error, text) in [
        (fails::<Car>("{ speed: 'fast' }"), "line 1, column 10: `speed` is the text \"fast\", but must be a number"),
        (fails::<Car>("{ speed: null }"), "line 1, column 10: `speed` is null, but must be a number"),
        (fails::<Car>("{ speed: 1, lanes: {} }"), "line 1, column 20: `lanes` is an object, but must be a list"),
        (fails::<Car>("{ speed: 1, lanes: [[3]] }"), "line 1, column 21: `lanes[0]` is a list, but must be an object"),
        (fails::<Vec<u8>>("[1, 256]"), "line 1, column 5: item [1] is 256, but must be a whole number from 0 to 255"),
        (fails::<u8>("2.0"), "line 1, column 1: 2.0 stands here, where a whole number from 0 to 255 is expected"),
        (fails::<Car>("[3]"), "line 1, column 1: a list stands here, where an object is expected"),
        (
            fails::<[f64; 3]>("[1, 2]"),
            "line 1, column 1: a list with 2 items stands here, where a list with 3 items is expected",
        ),
        (fails::<[f64; 2]>("[1, 2, 3]"), "line 1, column 8: the list has 3 items, but only 2 are expected"),
        (fails::<Law>("'gap'"), "line 1, column 1: `gap` needs a value; write an object with the key `gap`"),
        (fails::<Law>("{ pursuit: 1 }"), "line 1, column 3: `pursuit` has no value; write its name alone, as a text"),
        (
            fails::<Law>("{}"),
            "line 1, column 1: an object with one of `pursuit`, `gap`, `pair`, `idm` as its only key is expected here",
        ),
        (
            fails::<Vec<f32>>("[1e39]"),
            "line 1, column 2: item [0] is 1e39, but must be a number from -3.4028235e38 to 3.4028235e38",
        ),
    ] {
        assert_eq!(error, text);
    }
}

#[test]
fn parameters_are_written_as_json_that_reads_back() {
    let json = |text: &str| Params::from_json(text).unwrap().to_json();
    assert_eq!(
        json("{ speed: +.5, law: { idm: { headway: 0x10 } }, }"),
        r#"{"speed":0.5,"law":{"idm":{"headway":16}}}"#
    );
    assert_eq!((json(" ").as_str(), Params::empty().to_json().as_str()), ("{}", "{}"));
    // What has no JSON is refused when it is read.
    assert!(Params::from_json("{ speed: -Infinity }").unwrap_err().what().starts_with("`Infinity` is not a number"));
}

proptest! {
    #[test]
    fn numbers_read_the_same_from_their_json(text in "[+-]?((0|[1-9][0-9]{0,30})([.][0-9]{0,30})?|[.][0-9]{1,9})([eE][+-]?[0-9]{1,2})?|[+-]?0x[0-9a-f]{1,15}") {
        let given = Params::from_json(&text).unwrap();
        let again = Params::from_json(&given.to_json()).unwrap();
        prop_assert_eq!(given.read::<f64>().unwrap().to_bits(), again.read::<f64>().unwrap().to_bits());
        prop_assert_eq!(given.read::<f32>().ok().map(f32::to_bits), again.read::<f32>().ok().map(f32::to_bits));
        prop_assert_eq!(given.read::<u64>().ok(), again.read::<u64>().ok());
        prop_assert_eq!(given.read::<i64>().ok(), again.read::<i64>().ok());
        let time = |params: &Params<'_>| params.read::<Seconds<SimDuration>>().ok();
        prop_assert_eq!(time(&given), time(&again));
    }

    #[test]
    fn floats_are_those_that_rust_reads(text in "-?(0|[1-9][0-9]{0,30})([.][0-9]{1,30})?(e-?[0-9]{1,2})?") {
        prop_assert_eq!(read::<f64>(&text).unwrap().to_bits(), text.parse::<f64>().unwrap().to_bits());
        match text.parse::<f32>().unwrap() {
            value if value.is_finite() => prop_assert_eq!(read::<f32>(&text).unwrap().to_bits(), value.to_bits()),
            _ => prop_assert!(read::<f32>(&text).is_err()),
        }
    }

    #[test]
    fn whole_numbers_are_read_exactly(unsigned: u64, signed: i64) {
        prop_assert_eq!(read::<u64>(&unsigned.to_string()).unwrap(), unsigned);
        prop_assert_eq!(read::<i64>(&signed.to_string()).unwrap(), signed);
    }
}
