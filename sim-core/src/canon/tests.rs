use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::*;

/// What a value prints, after checking that it reads back as an equal value.
fn text<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T) -> String {
    let text = to_string(&value).unwrap();
    assert_eq!(from_slice::<T>(text.as_bytes()).unwrap(), value, "{text}");
    text
}

fn error<T: Serialize>(value: T) -> CanonError {
    to_string(&value).unwrap_err()
}

fn map<K: Ord, V, const N: usize>(entries: [(K, V); N]) -> BTreeMap<K, V> {
    entries.into()
}

/// A map that keeps the order of its entries, as another crate's might.
struct Entries<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Entries<K, V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Unit;

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Newtype(f64);

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Pair(u8, String);

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Position {
    y: f64,
    x: f64,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum Shape {
    Point,
    Disc(f64),
    Segment(f64, f64),
    Box { width: f64, height: f64 },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind")]
enum Tagged {
    Stop,
    Go { speed: f64 },
    At(Position),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind", content = "value")]
enum Adjacent {
    Stop,
    Go(f64),
    Both(u8, u8),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Position(Position),
}

#[test]
fn numbers() {
    assert_eq!(text(0_u8), "0");
    assert_eq!(text(i8::MIN), "-128");
    assert_eq!(text(i16::MIN), "-32768");
    assert_eq!(text(u16::MAX), "65535");
    assert_eq!(text(i32::MIN), "-2147483648");
    assert_eq!(text(u32::MAX), "4294967295");
    assert_eq!(text(i64::MIN), "-9223372036854775808");
    assert_eq!(text(u64::MAX), "18446744073709551615");
    assert_eq!(text(i128::MIN), "-170141183460469231731687303715884105728");
    assert_eq!(text(u128::MAX), "340282366920938463463374607431768211455");
    assert_eq!(text(1e16), "10000000000000000");
    assert_eq!(text(1e-7), "1e-7");
    assert_eq!(text(0.1_f32), "0.1");
    assert_eq!(text(-0.0), "-0");
    assert!(from_slice::<f64>(b"-0").unwrap().is_sign_negative());
    assert!(from_slice::<f32>(b"-0").unwrap().is_sign_negative());
}

#[test]
fn texts_escape_what_they_must_and_nothing_else() {
    assert_eq!(text(String::new()), r#""""#);
    assert_eq!(text("\" \\ / é € 😀 \u{7f} \u{2028}".to_owned()), "\"\\\" \\\\ / é € 😀 \u{7f} \u{2028}\"");
    let controls: String = (0..0x20).map(char::from).collect();
    let escaped = r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f""#;
    assert_eq!(text(controls), escaped);
    assert_eq!(text('é'), "\"é\"");
    assert_eq!(text('"'), r#""\"""#);
    let long = format!("{}\n", "abcdefghij".repeat(20));
    assert_eq!(text(long.clone()), format!("\"{}\\n\"", &long[..200]));
}

#[test]
fn units_options_and_sequences() {
    assert_eq!(text(()), "null");
    assert_eq!(text(Unit), "null");
    assert_eq!(text(None::<u8>), "null");
    assert_eq!(text(Some(1)), "1");
    assert_eq!(text(true), "true");
    assert_eq!(text(false), "false");
    assert_eq!(text(Vec::<u8>::new()), "[]");
    assert_eq!(text(vec![vec![1, 2], vec![], vec![3]]), "[[1,2],[],[3]]");
    assert_eq!(text((1, "a".to_owned(), 2.5)), r#"[1,"a",2.5]"#);
    assert_eq!(text([1.0, -0.5]), "[1,-0.5]");

    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[0, 128, 255])
        }
    }
    assert_eq!(to_string(&Bytes).unwrap(), "[0,128,255]");
    assert_eq!(to_string(&(1..4).collect::<std::collections::VecDeque<_>>()).unwrap(), "[1,2,3]");
}

#[test]
fn structs_keep_the_order_of_declaration() {
    assert_eq!(text(Position { y: 1.0, x: 2.0 }), r#"{"y":1,"x":2}"#);
    assert_eq!(text(Newtype(1.5)), "1.5");
    assert_eq!(text(Pair(1, "a".to_owned())), r#"[1,"a"]"#);

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Odd {
        #[serde(skip_serializing_if = "Option::is_none", default)]
        absent: Option<u8>,
        #[serde(rename = "a \"quoted\" name")]
        quoted: u8,
        a_name_that_is_longer_than_most_names_are: u8,
        r#type: Option<Box<Odd>>,
    }
    let odd = |inner| Odd { absent: None, quoted: 1, a_name_that_is_longer_than_most_names_are: 2, r#type: inner };
    assert_eq!(
        text(odd(Some(Box::new(Odd { absent: Some(3), ..odd(None) })))),
        r#"{"a \"quoted\" name":1,"a_name_that_is_longer_than_most_names_are":2,"type":{"absent":3,"a \"quoted\" name":1,"a_name_that_is_longer_than_most_names_are":2,"type":null}}"#
    );
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Empty {}
    assert_eq!(text(Empty {}), "{}");
}

#[test]
fn enums_are_tagged_as_serde_json_tags_them() {
    assert_eq!(text(Shape::Point), r#""Point""#);
    assert_eq!(text(Shape::Disc(2.0)), r#"{"Disc":2}"#);
    assert_eq!(text(Shape::Segment(1.0, 2.5)), r#"{"Segment":[1,2.5]}"#);
    assert_eq!(text(Shape::Box { width: 1.0, height: 2.0 }), r#"{"Box":{"width":1,"height":2}}"#);
    assert_eq!(text(vec![Shape::Point, Shape::Disc(0.5), Shape::Point]), r#"["Point",{"Disc":0.5},"Point"]"#);
    assert_eq!(text(Tagged::Stop), r#"{"kind":"Stop"}"#);
    assert_eq!(text(Tagged::Go { speed: 1.5 }), r#"{"kind":"Go","speed":1.5}"#);
    assert_eq!(text(Tagged::At(Position { y: 1.0, x: 2.0 })), r#"{"kind":"At","y":1,"x":2}"#);
    assert_eq!(text(Adjacent::Stop), r#"{"kind":"Stop"}"#);
    assert_eq!(text(Adjacent::Go(1.5)), r#"{"kind":"Go","value":1.5}"#);
    assert_eq!(text(Adjacent::Both(1, 2)), r#"{"kind":"Both","value":[1,2]}"#);
    assert_eq!(text(Untagged::Number(1.5)), "1.5");
    assert_eq!(text(Untagged::Position(Position { y: 1.0, x: 2.0 })), r#"{"y":1,"x":2}"#);
}

#[test]
fn maps_ascend_by_bytes_or_by_value() {
    assert_eq!(text(BTreeMap::<String, u8>::new()), "{}");
    assert_eq!(
        text(map([("b".to_owned(), map([(2, 'x')])), ("a".to_owned(), map([(10, 'y'), (9, 'z')]))])),
        r#"{"a":{"9":"z","10":"y"},"b":{"2":"x"}}"#
    );
    assert_eq!(text(map([(-1_i8, 0), (-10, 1), (2, 2)])), r#"{"-10":1,"-1":0,"2":2}"#);
    assert_eq!(
        text(map([(i128::MIN, 0), (i128::MAX, 1)])),
        r#"{"-170141183460469231731687303715884105728":0,"170141183460469231731687303715884105727":1}"#
    );
    assert_eq!(
        text(map([(u128::MAX, 1), (u128::MAX - 1, 0), (7, 2)])),
        r#"{"7":2,"340282366920938463463374607431768211454":0,"340282366920938463463374607431768211455":1}"#
    );
    assert_eq!(text(map([('é', 1), ('z', 0)])), r#"{"z":0,"é":1}"#);
    // A line feed sorts before a space, and its escape after: the bytes of the key count, not those of its text.
    assert_eq!(
        text(map([("a\n".to_owned(), 0), ("a ".to_owned(), 1), ("a\"".to_owned(), 2)])),
        r#"{"a\n":0,"a ":1,"a\"":2}"#
    );

    #[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
    enum Side {
        Left,
        Right,
    }
    assert_eq!(text(map([(Side::Right, 1), (Side::Left, 0)])), r#"{"Left":0,"Right":1}"#);
    let value = serde_json::json!({"b": [1, 2.5, -3, null], "a": {"c": true}});
    assert_eq!(to_string(&value).unwrap(), r#"{"a":{"c":true},"b":[1,2.5,-3,null]}"#);
}

#[test]
fn a_map_out_of_order_is_refused_with_both_keys() {
    for (entries, previous, next) in [
        (vec![("b", 0), ("a", 1)], "\"b\"", "\"a\""),
        (vec![("a", 0), ("a", 1)], "\"a\"", "\"a\""),
        (vec![("a", 0), ("b ", 1), ("b\n", 1)], "\"b \"", "\"b\\n\""),
        (vec![("", 0), ("", 1)], "\"\"", "\"\""),
    ] {
        let kind = CanonErrorKind::MapOrder { previous: previous.to_owned(), next: next.to_owned() };
        assert_eq!(*error(Entries(entries)).kind(), kind);
    }
    assert!(matches!(error(Entries(vec![(10, 0), (9, 1)])).kind(), CanonErrorKind::MapOrder { .. }));
    assert!(matches!(error(Entries(vec![(u128::MAX, 0), (1, 1)])).kind(), CanonErrorKind::MapOrder { .. }));
    assert_eq!(
        error(Entries(vec![("b", 0), ("a", 1)])).kind().to_string(),
        "the key \"a\" comes after \"b\" in a map, and keys must be strictly ascending: use a `BTreeMap` with string or integer keys"
    );
}

#[test]
fn strings_and_integers_do_not_mix_as_keys() {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Either {
        Text(&'static str),
        Number(u8),
    }
    let entries = Entries(vec![(Either::Number(1), 0), (Either::Text("2"), 1)]);
    assert!(matches!(error(entries).kind(), CanonErrorKind::MapOrder { .. }));
}

#[test]
fn other_kinds_of_keys_are_refused_by_name() {
    fn refused<K: Serialize>(key: K) -> &'static str {
        match error(Entries(vec![(key, 0)])).kind() {
            CanonErrorKind::MapKey { what } => what,
            other => panic!("{other}"),
        }
    }
    assert_eq!(refused(true), "a truth value");
    assert_eq!(refused(1.0_f32), "a floating-point number");
    assert_eq!(refused(1.0_f64), "a floating-point number");
    assert_eq!(refused(Some(1)), "an option");
    assert_eq!(refused(None::<u8>), "an option");
    assert_eq!(refused(()), "a unit");
    assert_eq!(refused(Unit), "a unit struct");
    assert_eq!(refused((1, 2)), "a tuple");
    assert_eq!(refused(vec![1]), "a sequence");
    assert_eq!(refused(Pair(1, String::new())), "a tuple struct");
    assert_eq!(refused(Position { y: 0.0, x: 0.0 }), "a struct");
    assert_eq!(refused(map([(1, 2)])), "a map");
    assert_eq!(refused(Shape::Disc(1.0)), "an enum variant with content");
    assert_eq!(refused(Shape::Segment(1.0, 1.0)), "an enum variant with content");
    assert_eq!(refused(Shape::Box { width: 1.0, height: 1.0 }), "an enum variant with content");
}

#[test]
fn flatten_is_refused_by_name() {
    #[derive(Serialize)]
    struct Outer {
        name: &'static str,
        #[serde(flatten)]
        position: Position,
    }
    #[derive(Serialize)]
    struct Holder {
        outer: Outer,
    }
    let error = error(Holder { outer: Outer { name: "a", position: Position { y: 0.0, x: 0.0 } } });
    assert_eq!(*error.kind(), CanonErrorKind::MapOfUnknownLength);
    assert_eq!(error.at(), "outer");
    assert!(error.to_string().contains("#[serde(flatten)]"), "{error}");
    assert!(error.type_name().ends_with("Holder"), "{error}");
}

#[test]
fn private_objects_of_serde_json_are_refused_by_name() {
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::Number")]
    struct Number {
        #[serde(rename = "$serde_json::private::Number")]
        digits: &'static str,
    }
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::RawValue")]
    struct RawValue {
        #[serde(rename = "$serde_json::private::RawValue")]
        text: &'static str,
    }
    let error_of_number = error(vec![Number { digits: "1" }]);
    assert!(error_of_number.to_string().contains("arbitrary_precision"), "{error_of_number}");
    assert_eq!(error_of_number.at(), "[0]");
    assert!(error(RawValue { text: "1" }).to_string().contains("raw_value"));
}

#[test]
fn an_error_says_where_it_happened() {
    #[derive(Serialize)]
    struct Scene {
        lanes: Vec<Shape>,
        named: BTreeMap<&'static str, f64>,
    }
    let scene = |lanes, named| error(Scene { lanes, named });
    let at = |shape| scene(vec![Shape::Point, shape], BTreeMap::new()).at();
    assert_eq!(at(Shape::Disc(f64::NAN)), "lanes[1].Disc");
    assert_eq!(at(Shape::Segment(0.0, f64::NAN)), "lanes[1].Segment[1]");
    assert_eq!(at(Shape::Box { width: 0.0, height: f64::NAN }), "lanes[1].Box.height");
    let error_in_map = scene(vec![], map([("left", 0.0), ("right", f64::NEG_INFINITY)]));
    assert_eq!(error_in_map.at(), "named.right");
    let message = error_in_map.to_string();
    assert!(
        message.starts_with("at named.right in `") && message.contains("Scene`: -inf is not a finite number"),
        "{message}"
    );
    assert_eq!(error(f64::NAN).at(), "");
}

#[test]
fn an_error_leaves_the_buffer_as_it_was() {
    let mut out = b"before".to_vec();
    assert!(to_writer(&mut out, &vec![1.0, f64::NAN]).is_err());
    assert!(to_writer(&mut out, &Entries(vec![("b", 0), ("a", 1)])).is_err());
    assert_eq!(out, b"before");
    to_writer(&mut out, &[1, 2]).unwrap();
    assert_eq!(out, b"before[1,2]");
}

#[test]
fn a_type_can_refuse_itself() {
    struct Never;
    impl Serialize for Never {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no lane has this width"))
        }
    }
    let error = error(map([("lane", Never)]));
    assert_eq!(*error.kind(), CanonErrorKind::Custom { message: "no lane has this width".to_owned() });
    assert_eq!(error.at(), "lane");
}

#[test]
fn what_nests_too_deeply_to_be_read_back_is_refused() {
    fn nested(levels: usize) -> serde_json::Value {
        (0..levels).fold(serde_json::Value::Null, |inner, _| serde_json::Value::Array(vec![inner]))
    }
    let deepest = to_vec(&nested(127)).unwrap();
    assert_eq!(from_slice::<serde_json::Value>(&deepest).unwrap(), nested(127));
    assert_eq!(*error(nested(128)).kind(), CanonErrorKind::TooDeep { limit: 127 });
    assert!(from_slice::<serde_json::Value>(format!("[{}]", String::from_utf8(deepest).unwrap()).as_bytes()).is_err());
}

#[test]
fn a_text_of_another_type_is_refused_with_type_and_place() {
    let error = from_slice::<Position>(br#"{"y":1}"#).unwrap_err();
    assert!(matches!(error.kind(), CanonErrorKind::Read { .. }));
    let message = error.to_string();
    assert!(
        message.contains("Position") && message.contains("missing field `x`") && message.contains("column 7"),
        "{message}"
    );
    assert!(from_slice::<u8>(b"1 2").is_err());
    assert!(from_slice::<String>(&[b'"', 0xff, b'"']).is_err());
}

#[test]
fn a_hash_map_is_refused_unless_its_order_happens_to_ascend() {
    #[allow(clippy::disallowed_types, reason = "what is refused is its order")]
    let hashed: std::collections::HashMap<u32, ()> = (0..100).map(|key| (key, ())).collect();
    // One order in 100! ascends.
    assert!(matches!(error(hashed).kind(), CanonErrorKind::MapOrder { .. }));
}

#[test]
fn canonical_text_is_what_serde_json_writes_but_for_numbers() {
    let shapes = vec![Shape::Point, Shape::Segment(0.5, -1.25), Shape::Box { width: 1e-3, height: 123.456 }];
    assert_eq!(to_string(&shapes).unwrap(), serde_json::to_string(&shapes).unwrap());
}
