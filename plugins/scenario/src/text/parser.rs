//! From text to tree: one pass, one character of look-ahead, recursion bounded by [`MOST_LEVELS`].

use std::collections::BTreeMap;

use super::{Integer, Kind, MOST_BYTES, MOST_LEVELS, Member, Number, Place, TextError, Tree};

/// Reads a text.
///
/// # Errors
/// What is not JSON5, or goes beyond a limit of this [module](super), at its place.
pub fn parse(text: &str) -> Result<Tree, TextError> {
    if text.len() > MOST_BYTES {
        let what = format!("the text has {} bytes, more than {MOST_BYTES}; split it", text.len());
        return Err(TextError { place: Place::START, what });
    }
    // Editors do not show a byte order mark: it takes no column.
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser { rest, place: Place::START, levels: 0 };
    parser.skip_space()?;
    let tree = parser.value()?;
    parser.skip_space()?;
    match parser.peek() {
        None => Ok(tree),
        Some(c) => Err(parser.refuse(format!("{} stands behind the end; a text is one value", shown(c)))),
    }
}

struct Parser<'a> {
    rest: &'a str,
    place: Place,
    levels: usize,
}

fn shown(c: char) -> String {
    format!("`{}`", c.escape_debug())
}

/// JSON5's white space, line ends included. `Zs` is what Rust's white space has beyond these and U+0085.
fn is_space(c: char) -> bool {
    matches!(c, '\u{feff}') || (c.is_whitespace() && c != '\u{85}')
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn starts_name(c: char) -> bool {
    matches!(c, '$' | '_') || unicode_ident::is_xid_start(c)
}

fn continues_name(c: char) -> bool {
    starts_name(c) || matches!(c, '\u{200c}' | '\u{200d}') || unicode_ident::is_xid_continue(c)
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        self.place = self.place.behind(c, self.peek());
        Some(c)
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.bump();
        }
        found
    }

    fn refuse(&self, what: impl Into<String>) -> TextError {
        TextError { place: self.place, what: what.into() }
    }

    /// Refuses what stands here, where something else should.
    fn unexpected(&self, wanted: &str) -> TextError {
        match self.peek() {
            None => self.refuse(format!("the text ends where {wanted} should stand")),
            Some(c) => self.refuse(format!("{} stands where {wanted} should", shown(c))),
        }
    }

    fn skip_space(&mut self) -> Result<(), TextError> {
        while let Some(c) = self.peek() {
            if is_space(c) {
                self.bump();
            } else if c == '/' {
                self.comment()?;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), TextError> {
        let start = self.place;
        self.bump();
        if self.take('/') {
            while self.peek().is_some_and(|c| !ends_line(c)) {
                self.bump();
            }
            return Ok(());
        }
        if !self.take('*') {
            return Err(self.unexpected("`/` or `*` of a comment"));
        }
        loop {
            match self.bump() {
                None => {
                    return Err(TextError { place: start, what: "this comment has no end; close it with `*/`".into() });
                }
                Some('*') if self.take('/') => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn value(&mut self) -> Result<Tree, TextError> {
        let place = self.place;
        let kind = match self.peek() {
            Some('{') => self.nested(Self::object)?,
            Some('[') => self.nested(Self::list)?,
            Some(quote @ ('"' | '\'')) => Kind::Text(self.string(quote)?),
            Some('+' | '-' | '.' | '0'..='9') => Kind::Number(self.number()?),
            Some(c) if starts_name(c) => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Tree::new(place, kind))
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Kind, TextError>) -> Result<Kind, TextError> {
        if self.levels == MOST_LEVELS {
            return Err(
                self.refuse(format!("lists and objects are nested more than {MOST_LEVELS} deep; use fewer levels"))
            );
        }
        self.levels += 1;
        self.bump();
        let kind = read(self)?;
        self.levels -= 1;
        Ok(kind)
    }

    /// Behind a value: true when another may follow.
    fn separator(&mut self, close: char) -> Result<bool, TextError> {
        self.skip_space()?;
        let comma = self.take(',');
        self.skip_space()?;
        if self.take(close) {
            return Ok(false);
        }
        if comma { Ok(true) } else { Err(self.unexpected(&format!("`,` or `{close}`"))) }
    }

    fn list(&mut self) -> Result<Kind, TextError> {
        let mut items = Vec::new();
        self.skip_space()?;
        let mut more = !self.take(']');
        while more {
            items.push(self.value()?);
            more = self.separator(']')?;
        }
        Ok(Kind::List(items))
    }

    fn object(&mut self) -> Result<Kind, TextError> {
        let mut members = Vec::new();
        let mut lines = BTreeMap::new();
        self.skip_space()?;
        let mut more = !self.take('}');
        while more {
            let member = self.member()?;
            if let Some(line) = lines.insert(member.key.clone(), member.place.line) {
                let what = format!("the key `{}` stands in line {line} already; leave one of the two", member.key);
                return Err(TextError { place: member.place, what });
            }
            members.push(member);
            more = self.separator('}')?;
        }
        Ok(Kind::Object(members))
    }

    fn member(&mut self) -> Result<Member, TextError> {
        let place = self.place;
        let key = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.string(quote)?,
            Some(c) if starts_name(c) || c == '\\' => self.name()?,
            _ => return Err(self.unexpected("a key")),
        };
        self.skip_space()?;
        if !self.take(':') {
            return Err(self.unexpected(&format!("`:` after the key `{key}`")));
        }
        self.skip_space()?;
        Ok(Member { key, place, value: self.value()? })
    }

    /// A key without quotes.
    fn name(&mut self) -> Result<String, TextError> {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|&c| c == '\\' || continues_name(c)) {
            let place = self.place;
            self.bump();
            let c = match c {
                '\\' if !self.take('u') => return Err(self.unexpected("`u` of an escape in a key")),
                '\\' => self.unicode_escape(place)?,
                c => c,
            };
            if !(if name.is_empty() { starts_name(c) } else { continues_name(c) }) {
                let what = format!("{} cannot stand here in a key without quotes; put the key in quotes", shown(c));
                return Err(TextError { place, what });
            }
            name.push(c);
        }
        Ok(name)
    }

    /// `null`, `true`, `false`, and words that are none of them.
    fn word(&mut self) -> Result<Kind, TextError> {
        let (place, from) = (self.place, self.rest);
        self.name()?;
        let word = self.since(from);
        let what = match word {
            "null" => return Ok(Kind::Null),
            "true" => return Ok(Kind::Bool(true)),
            "false" => return Ok(Kind::Bool(false)),
            "NaN" | "Infinity" => format!("`{word}` is not a number to be used here; write a finite one"),
            _ => format!("`{word}` is not a value; put a text in quotes"),
        };
        Err(TextError { place, what })
    }

    fn string(&mut self, quote: char) -> Result<String, TextError> {
        let start = self.place;
        self.bump();
        let mut string = String::new();
        loop {
            let place = self.place;
            match self.bump() {
                None => {
                    return Err(TextError {
                        place: start,
                        what: format!("this text has no end; close it with {quote}"),
                    });
                }
                Some('\n' | '\r') => {
                    let what = "a text cannot go on in the next line; close its quotes, or end the line with `\\`";
                    return Err(TextError { place, what: what.into() });
                }
                Some(c) if c == quote => return Ok(string),
                Some('\\') => string.extend(self.escape(place)?),
                Some(c) => string.push(c),
            }
        }
    }

    /// Behind a backslash, which stands at `place`, in a string.
    fn escape(&mut self, place: Place) -> Result<Option<char>, TextError> {
        let refuse = |what: &str| TextError { place, what: what.to_owned() };
        let Some(c) = self.bump() else { return Err(self.unexpected("the rest of an escape")) };
        Ok(Some(match c {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => '\0',
            '0'..='9' => return Err(refuse("a digit cannot be escaped; write the digit alone, or `\\u` and its code")),
            'x' => char::from_u32(self.hex(place, 2)?).ok_or_else(|| refuse("this is not a character"))?,
            'u' => self.unicode_escape(place)?,
            '\r' => {
                self.take('\n');
                return Ok(None);
            }
            c if ends_line(c) => return Ok(None),
            c => c,
        }))
    }

    /// Behind `\u`, whose backslash stands at `place`: four digits, or two escapes that are one character in UTF-16.
    fn unicode_escape(&mut self, place: Place) -> Result<char, TextError> {
        let alone =
            || TextError { place, what: "this is half a character; write both halves of its UTF-16 pair".into() };
        let first = self.hex(place, 4)?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        if first >= 0xdc00 || !(self.take('\\') && self.take('u')) {
            return Err(alone());
        }
        let second = self.hex(place, 4)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(alone());
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(alone)
    }

    fn hex(&mut self, place: Place, digits: usize) -> Result<u32, TextError> {
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else {
                let what = format!("this escape has to go on with {digits} hexadecimal digits");
                return Err(TextError { place, what });
            };
            self.bump();
            value = value * 16 + digit;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, TextError> {
        let (place, from): (_, &'a str) = (self.place, self.rest);
        let negative = self.peek() == Some('-');
        if negative || self.peek() == Some('+') {
            self.bump();
        }
        let number = match self.peek() {
            Some('0') if self.rest[1..].starts_with(['x', 'X']) => self.hexadecimal(place, from, negative)?,
            Some('.' | '0'..='9') => self.decimal(place, from)?,
            Some(c) if starts_name(c) => {
                self.word()?;
                return Err(TextError { place, what: "a sign has to stand before a number".into() });
            }
            _ => return Err(self.unexpected("a number")),
        };
        match self.peek() {
            Some(c) if continues_name(c) || c == '.' => Err(self.unexpected("the end of a number")),
            _ => Ok(number),
        }
    }

    fn hexadecimal(&mut self, place: Place, from: &str, negative: bool) -> Result<Number, TextError> {
        self.bump();
        self.bump();
        if !self.peek().is_some_and(|c| c.is_ascii_hexdigit()) {
            return Err(self.unexpected("a hexadecimal digit"));
        }
        let mut magnitude = Some(0_u64);
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) {
            self.bump();
            magnitude = magnitude.and_then(|m| m.checked_mul(16)).map(|m| m + u64::from(digit));
        }
        let integer = magnitude.and_then(|magnitude| whole(negative, magnitude));
        let (Some(integer), Some(magnitude)) = (integer, magnitude) else {
            return Err(TextError { place, what: "this number does not fit into 64 bits; write a smaller one".into() });
        };
        let float = if negative { -(magnitude as f64) } else { magnitude as f64 };
        Ok(Number { text: self.since(from).to_owned(), float, integer: Some(integer) })
    }

    fn decimal(&mut self, place: Place, from: &str) -> Result<Number, TextError> {
        let whole_digits = self.digits();
        if whole_digits.len() > 1 && whole_digits.starts_with('0') {
            let what = "a number cannot begin with a zero that is followed by digits; leave the zero out";
            return Err(TextError { place, what: what.into() });
        }
        let mut is_integer = true;
        if self.take('.') {
            is_integer = false;
            if self.digits().is_empty() && whole_digits.is_empty() {
                return Err(self.unexpected("a digit"));
            }
        }
        if self.peek().is_some_and(|c| matches!(c, 'e' | 'E')) {
            is_integer = false;
            self.bump();
            if self.peek().is_some_and(|c| matches!(c, '+' | '-')) {
                self.bump();
            }
            if self.digits().is_empty() {
                return Err(self.unexpected("a digit of the exponent"));
            }
        }
        let text = self.since(from);
        let float: f64 = text.parse().ok().filter(|float: &f64| float.is_finite()).ok_or_else(|| TextError {
            place,
            what: "this number is too large for a 64-bit float; write a smaller one".into(),
        })?;
        let magnitude = if is_integer { whole_digits.parse().ok() } else { None };
        let integer = magnitude.and_then(|magnitude| whole(text.starts_with('-'), magnitude));
        Ok(Number { text: text.to_owned(), float, integer })
    }

    fn digits(&mut self) -> &'a str {
        let from = self.rest;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
        }
        self.since(from)
    }

    /// What was read since `from` was the rest.
    fn since<'t>(&self, from: &'t str) -> &'t str {
        &from[..from.len() - self.rest.len()]
    }
}

fn whole(negative: bool, magnitude: u64) -> Option<Integer> {
    if negative && magnitude > 0 {
        return 0_i64.checked_sub_unsigned(magnitude).map(Integer::Negative);
    }
    Some(Integer::Unsigned(magnitude))
}
