//! JSON5 as a tree in which every value knows its place.
//!
//! A scenario is written by hand, and a mistake in it should be shown where it stands. No library that reads JSON5 keeps
//! the places of values and of keys, together with the text of numbers, so this is a reader of our own. It takes the whole
//! of [JSON5](https://spec.json5.org), with these limits:
//!
//! * A key that stands twice in an object is an error at the second one.
//! * `NaN`, `Infinity` and numbers that do not fit into an `f64` (or, in hexadecimal, into 64 bits) are errors.
//! * Lists and objects are nested at most [`MOST_LEVELS`] deep, and a text has at most [`MOST_BYTES`] bytes.
//! * Letters of unquoted keys are those of Unicode's `XID_Start` and `XID_Continue`, beside `$` and `_`.
//!
//! ```
//! use chaconne_scenario::text::{self, Kind};
//!
//! let tree = text::parse("{\n  speed: +30.5, // m/s\n}")?;
//! let Kind::Object(members) = tree.kind() else { panic!("it is an object") };
//! assert_eq!(members[0].key, "speed");
//! assert_eq!(members[0].value.place().to_string(), "line 2, column 10");
//!
//! let error = text::parse("{ speed: 3, speed: 4 }").unwrap_err();
//! assert_eq!(error.to_string(), "line 1, column 13: the key `speed` stands in line 1 already; leave one of the two");
//! # Ok::<(), chaconne_scenario::text::TextError>(())
//! ```

mod json;
mod parser;
#[cfg(test)]
mod tests;

use std::fmt;

pub use parser::parse;

/// The deepest that lists and objects may be nested.
pub const MOST_LEVELS: usize = 128;

/// The most bytes of a text: 16 MiB.
pub const MOST_BYTES: usize = 16 << 20;

/// A place in a text. Lines end with `\n`, `\r\n` or `\r`; columns count characters. Ordered as the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl Place {
    /// Where every text begins.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place behind a character; `next` is what follows it.
    fn behind(self, c: char, next: Option<char>) -> Self {
        if c == '\n' || (c == '\r' && next != Some('\n')) {
            return Self { line: self.line + 1, column: 1 };
        }
        Self { line: self.line, column: self.column + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text is not JSON5.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct TextError {
    /// Where.
    pub place: Place,
    /// What is wrong there, and what to do.
    pub what: String,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    place: Place,
    kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A finite number.
    Number(Number),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// An object: members in the order of the text, keys all different.
    Object(Vec<Member>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Place,
    /// The value.
    pub value: Tree,
}

/// A finite number, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    text: String,
    float: f64,
    integer: Option<Integer>,
}

/// A whole number that was written without a point and an exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// Zero or more.
    Unsigned(u64),
    /// Less than zero.
    Negative(i64),
}

impl Tree {
    /// A value at a place.
    pub fn new(place: Place, kind: Kind) -> Self {
        Self { place, kind }
    }

    /// An object without members.
    pub(crate) const fn empty() -> Self {
        Self { place: Place::START, kind: Kind::Object(Vec::new()) }
    }

    /// Where the value begins.
    pub fn place(&self) -> Place {
        self.place
    }

    /// What it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The value of a key, in an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Kind::Object(members) = &self.kind else { return None };
        members.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The value that begins at a place: this one, or one inside it. No two values of a text begin at one place.
    pub fn find(&self, place: Place) -> Option<&Self> {
        let mut tree = self;
        while tree.place != place {
            let inside = match &tree.kind {
                Kind::List(items) => items[..items.partition_point(|item| item.place <= place)].last(),
                Kind::Object(members) => {
                    members[..members.partition_point(|member| member.value.place <= place)].last().map(|m| &m.value)
                }
                _ => None,
            };
            tree = inside?;
        }
        Some(tree)
    }
}

impl Number {
    /// The literal, as it stands in the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The nearest `f64`.
    pub fn as_f64(&self) -> f64 {
        self.float
    }

    /// The nearest `f32` to what is written, rounded once. Infinite when it is too large.
    pub fn as_f32(&self) -> f32 {
        match self.integer {
            Some(Integer::Unsigned(value)) if value != 0 => value as f32,
            Some(Integer::Negative(value)) => value as f32,
            // What the literal's text does not say to Rust is a hexadecimal zero, in which nothing is rounded.
            _ => self.text.parse().unwrap_or(self.float as f32),
        }
    }

    /// The exact value of a literal without point and exponent that fits into 64 bits.
    pub fn integer(&self) -> Option<Integer> {
        self.integer
    }
}

/// The text in a file's bytes.
///
/// # Errors
/// At the first byte that is not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, TextError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        TextError { place: end_of(valid), what: "this is not UTF-8 text; save the file as UTF-8".to_owned() }
    })
}

/// The place behind the last character of a text.
pub fn end_of(text: &str) -> Place {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut chars = text.chars().peekable();
    let mut place = Place::START;
    while let Some(c) = chars.next() {
        place = place.behind(c, chars.peek().copied());
    }
    place
}
