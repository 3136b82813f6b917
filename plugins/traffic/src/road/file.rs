//! The road file: JSON with units in its field names, checked field by field while it is read.

use std::{fmt, marker::PhantomData};

use chaconne_sim_core::math::{Vec2, angle};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Unexpected, Visitor, value::MapAccessDeserializer},
};

use crate::TrafficError;

/// A road file as it stands. See the [module](super) for the format.
#[derive(Deserialize)]
#[cfg_attr(feature = "scenario", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RoadFile {
    #[serde(deserialize_with = "name")]
    pub(super) name: String,
    #[serde(deserialize_with = "closed")]
    pub(super) closed: bool,
    #[serde(deserialize_with = "start")]
    pub(super) start: Start,
    #[serde(deserialize_with = "lanes")]
    pub(super) lanes: Vec<Lane>,
    #[serde(deserialize_with = "segments")]
    pub(super) segments: Vec<Segment>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "scenario", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    #[serde(deserialize_with = "x_m")]
    x_m: f64,
    #[serde(deserialize_with = "y_m")]
    y_m: f64,
    #[serde(deserialize_with = "heading_deg")]
    heading_deg: f64,
}

impl Start {
    /// Position in metres and heading in radians.
    pub(super) fn pose(&self) -> (Vec2, f64) {
        (Vec2::new(self.x_m, self.y_m), angle::wrap(angle::to_radians(self.heading_deg)))
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "scenario", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Lane {
    #[serde(deserialize_with = "width_m")]
    pub(super) width_m: f64,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "scenario", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase", expecting = "an object with one field, `straight` or `arc`")]
pub(super) enum Segment {
    Straight(#[serde(deserialize_with = "object")] Straight),
    Arc(#[serde(deserialize_with = "object")] Arc),
}

#[derive(Deserialize)]
#[cfg_attr(feature = "scenario", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Straight {
    #[serde(deserialize_with = "length_m")]
    pub(super) length_m: f64,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "scenario", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arc {
    #[serde(deserialize_with = "radius_m")]
    pub(super) radius_m: f64,
    #[serde(deserialize_with = "turn_deg")]
    pub(super) turn_deg: f64,
}

/// What is written as an object with named fields and in no other way: serde by itself would take a list of values too.
trait Object: for<'de> Deserialize<'de> {
    /// What is expected where something else stands.
    const EXPECTED: &'static str;
}

impl Object for RoadFile {
    const EXPECTED: &'static str = "an object that describes a road";
}

impl Object for Start {
    const EXPECTED: &'static str = "an object with `x_m`, `y_m` and `heading_deg`";
}

impl Object for Lane {
    const EXPECTED: &'static str = "an object with `width_m`";
}

impl Object for Straight {
    const EXPECTED: &'static str = "an object with `length_m`";
}

impl Object for Arc {
    const EXPECTED: &'static str = "an object with `radius_m` and `turn_deg`";
}

/// Reads an object.
fn object<'de, D: Deserializer<'de>, T: Object>(deserializer: D) -> Result<T, D::Error> {
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Object> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }

        fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(fields))
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// An [`Object`] as an item of a list.
struct Item<T>(T);

impl<'de, T: Object> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer).map(Self)
    }
}

impl RoadFile {
    /// Reads a text; `file` names it in errors.
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, TrafficError> {
        serde_json::from_str::<Item<Self>>(text).map(|Item(road)| road).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let text = error.to_string();
            let place = format!(" at line {line} column {column}");
            let problem = text.strip_suffix(&place).unwrap_or(&text).to_owned();
            TrafficError::RoadSyntax { file: file.to_owned(), line, column, problem }
        })
    }
}

/// A number with a range, refused at its place in the text.
struct Quantity {
    expected: &'static str,
    valid: fn(f64) -> bool,
}

impl Quantity {
    fn check<E: de::Error>(&self, value: f64) -> Result<f64, E> {
        if value.is_finite() && (self.valid)(value) {
            Ok(value)
        } else {
            Err(E::invalid_value(Unexpected::Float(value), self))
        }
    }
}

impl Visitor<'_> for &Quantity {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        self.check(value)
    }

    // Integers of a road file lie far below 2^53; larger ones are out of every range whichever way they are rounded.
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        self.check(value as f64)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
        self.check(value as f64)
    }
}

impl de::Expected for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }
}

/// Puts the field's name before an error; its place in the text, which serde_json keeps at the end, stays.
fn in_field<E: de::Error>(field: &str, error: &E) -> E {
    E::custom(format_args!("`{field}`: {error}"))
}

/// Declares the reader of one field: its name, what it accepts in words, and in code.
macro_rules! quantities {
    ($($field:ident: $expected:literal, $valid:expr;)+) => {$(
        fn $field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
            const QUANTITY: &Quantity = &Quantity { expected: $expected, valid: $valid };
            deserializer.deserialize_f64(QUANTITY).map_err(|error| in_field(stringify!($field), &error))
        }
    )+};
}

quantities! {
    x_m: "metres from -1e7 to 1e7", |x| x.abs() <= 1e7;
    y_m: "metres from -1e7 to 1e7", |y| y.abs() <= 1e7;
    heading_deg: "degrees from -360 to 360", |heading| heading.abs() <= 360.0;
    width_m: "metres above 0 and up to 100", |width| width > 0.0 && width <= 100.0;
    length_m: "metres above 0 and up to 1e6", |length| length > 0.0 && length <= 1e6;
    radius_m: "metres from 1 to 1e6", |radius| (1.0..=1e6).contains(&radius);
    turn_deg: "degrees from -360 to 360, positive to the left and not 0", |turn| turn != 0.0 && turn.abs() <= 360.0;
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct Name;

    impl Visitor<'_> for Name {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text that is not empty")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
            if text.is_empty() {
                return Err(E::invalid_value(Unexpected::Str(text), &self));
            }
            Ok(text.to_owned())
        }
    }

    deserializer.deserialize_str(Name).map_err(|error| in_field("name", &error))
}

fn closed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    bool::deserialize(deserializer).map_err(|error| in_field("closed", &error))
}

fn start<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Start, D::Error> {
    object(deserializer).map_err(|error| in_field("start", &error))
}

fn lanes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Lane>, D::Error> {
    let lanes = deserializer.deserialize_seq(List::<Item<Lane>> { field: "lanes", item: PhantomData })?;
    Ok(lanes.into_iter().map(|Item(lane)| lane).collect())
}

fn segments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Segment>, D::Error> {
    deserializer.deserialize_seq(List { field: "segments", item: PhantomData })
}

/// Reads a list that must not be empty, and counts its items for errors.
struct List<T> {
    field: &'static str,
    item: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` as a list with at least one item", self.field)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        let in_item = |count: usize, error: &A::Error| in_field(&format!("{}[{count}]", self.field), error);
        while let Some(item) = items.next_element().map_err(|error| in_item(all.len(), &error))? {
            all.push(item);
        }
        if all.is_empty() { Err(de::Error::invalid_length(0, &self)) } else { Ok(all) }
    }
}
