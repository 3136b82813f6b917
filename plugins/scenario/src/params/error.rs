//! Errors of reading: what serde tells, in sentences, with a place.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::text::{Kind, Place, TextError, Tree};

/// Why parameters could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    place: Option<Place>,
    /// The steps from a field to the value, innermost last: filled while the error leaves nested values.
    subject: Subject,
    problem: Problem,
}

/// What a problem is about, in words that begin a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Subject {
    text: String,
    /// Whether a field's name has been reached, which is enough to be understood.
    named: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    /// A whole sentence.
    Sentence(String),
    /// Something was found where something else must be.
    Value { found: String, expected: String },
}

impl ParamError {
    /// An error in words: a sentence without its full stop, which says what to do.
    pub fn new(what: impl Into<String>) -> Self {
        Self { place: None, subject: Subject::default(), problem: Problem::Sentence(what.into()) }
    }

    /// The same error at a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Where; none in parameters that are absent.
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// What is wrong, and what to do, without the place.
    pub fn what(&self) -> String {
        match &self.problem {
            Problem::Sentence(what) => what.clone(),
            Problem::Value { found, expected } if self.subject.text.is_empty() => {
                format!("{found} stands here, where {expected} is expected")
            }
            Problem::Value { found, expected } => {
                let subject = &self.subject.text;
                if self.subject.named {
                    format!("`{subject}` is {found}, but must be {expected}")
                } else {
                    format!("item {subject} is {found}, but must be {expected}")
                }
            }
        }
    }

    /// Gives it a place, unless it has one already, which is further inside.
    pub(super) fn or_at(mut self, place: Option<Place>) -> Self {
        self.place = self.place.or(place);
        self
    }

    /// As [`or_at`](Self::or_at); a number is then shown as it was written.
    pub(super) fn or_in(mut self, tree: &Tree, place: Option<Place>) -> Self {
        if let (None, Problem::Value { found, .. }, Kind::Number(number)) = (self.place, &mut self.problem, tree.kind())
        {
            number.text().clone_into(found);
        }
        self.or_at(place)
    }

    /// Says that it happened in the value of a field.
    pub(super) fn in_field(mut self, field: &str) -> Self {
        if !self.subject.named {
            self.subject.text.insert_str(0, field);
            self.subject.named = true;
        }
        self
    }

    /// Says that it happened in an item of a list, counted from zero.
    pub(super) fn in_item(mut self, index: usize) -> Self {
        if !self.subject.named {
            self.subject.text.insert_str(0, &format!("[{index}]"));
        }
        self
    }

    fn value(found: impl Into<String>, expected: &dyn Expected) -> Self {
        let problem = Problem::Value { found: found.into(), expected: expected_in_words(&expected.to_string()) };
        Self { place: None, subject: Subject::default(), problem }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what())
    }
}

impl std::error::Error for ParamError {}

impl From<TextError> for ParamError {
    fn from(error: TextError) -> Self {
        Self::new(error.what).at(error.place)
    }
}

/// The first place that stands in a text as [`Place`] prints it before an error.
fn place_in(text: &str) -> Option<(std::ops::Range<usize>, Place)> {
    let mut from = 0;
    while let Some(start) = text[from..].find("line ").map(|at| from + at) {
        from = start + "line ".len();
        let parse = || {
            let (line, rest) = text[from..].split_once(", column ")?;
            let (column, _) = rest.split_once(": ")?;
            let place = Place { line: line.parse().ok()?, column: column.parse().ok()? };
            Some((start..from + line.len() + ", column ".len() + column.len() + ": ".len(), place))
        };
        if let Some(found) = parse() {
            return Some(found);
        }
    }
    None
}

impl de::Error for ParamError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        // Whoever puts an error into words of its own keeps its place in them.
        let mut text = text.to_string();
        let mut place = None;
        while let Some((range, found)) = place_in(&text) {
            text.replace_range(range, "");
            place = Some(found);
        }
        match place {
            Some(place) => Self::new(text).at(place),
            None => Self::new(text),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::value(found_in_words(&found), expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::value(found_in_words(&found), expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let items = if length == 1 { "item" } else { "items" };
        Self::value(format!("a list with {length} {items}"), expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(unknown("value", variant, expected))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(unknown("field", field, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the field `{field}` is missing; add it"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("the field `{field}` is given twice; leave one of the two"))
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    format!("unknown {what} `{}`; {}", name.escape_debug(), nearest(name, known.iter().copied()))
}

/// What to write instead of a name that is not known: the one that is meant, or any of all.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    // A third of the letters may be wrong; the first of several that are equally near is taken.
    let near = (name.chars().count() / 3).max(1);
    // The distance is looked for among short names only: its cost is the product of the lengths.
    let distances = known
        .clone()
        .filter(|_| name.len() <= 100)
        .map(|known| (strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase()), known));
    if let Some((_, meant)) = distances.filter(|&(distance, _)| distance <= near).min_by_key(|&(distance, _)| distance)
    {
        return format!("did you mean `{meant}`?");
    }
    let all: Vec<String> = known.map(|known| format!("`{known}`")).collect();
    match all.as_slice() {
        [] => "nothing is allowed here".to_owned(),
        [one] => format!("only {one} is allowed here"),
        [first @ .., last] => format!("use {} or {last}", first.join(", ")),
    }
}

fn found_in_words(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => format!("{value:?}"),
        Unexpected::Str(text) => {
            let (end, more) = text.char_indices().nth(60).map_or((text.len(), ""), |(end, _)| (end, "…"));
            format!("the text \"{}{more}\"", text[..end].escape_debug())
        }
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        Unexpected::UnitVariant => "a name alone".to_owned(),
        Unexpected::NewtypeVariant | Unexpected::TupleVariant | Unexpected::StructVariant => {
            "a name with a value".to_owned()
        }
        other => other.to_string(),
    }
}

/// What serde's own types say of themselves is in terms of Rust; here, of files.
fn expected_in_words(expected: &str) -> String {
    macro_rules! whole {
        ($($type:ident)+) => {
            match expected {
                $(stringify!($type) => return format!("a whole number from {} to {}", $type::MIN, $type::MAX),)+
                _ => {}
            }
        };
    }
    whole!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);
    let nonzero = expected.strip_prefix("a nonzero ").map(|of| format!("{} other than 0", expected_in_words(of)));
    if let Some(nonzero) = nonzero {
        return nonzero;
    }
    match expected {
        "f64" | "f32" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "a borrowed string" | "string or map" => "a text".to_owned(),
        "a character" => "a text of one character".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        "unit" => "null".to_owned(),
        _ if expected.starts_with("struct ") || expected.starts_with("struct variant ") => "an object".to_owned(),
        _ => match expected.strip_prefix("an array of length ").or_else(|| expected.strip_prefix("a tuple of size ")) {
            Some(length) => format!("a list with {length} items"),
            None => expected.to_owned(),
        },
    }
}
