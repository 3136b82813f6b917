//! Going through the text of a JSON value without changing it and without recursion.

/// What comes next in a value. Texts are slices of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// An object or a list begins.
    Begin(Container),
    /// It ends.
    End,
    /// A field's name, with its quotes; the field's value follows.
    Key(&'a str),
    /// A value without parts, as it stands.
    Scalar(Scalar, &'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Null,
    Bool,
    Number,
    String,
}

/// Shows the parts of a value. The text has to be JSON; of any other, something is shown.
pub(super) fn scan<'a>(text: &'a str, mut each: impl FnMut(Event<'a>)) {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let mut is_key = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => {
                let container = if *byte == b'{' { Container::Object } else { Container::List };
                open.push(container);
                is_key = container == Container::Object;
                each(Event::Begin(container));
            }
            b'}' | b']' => {
                open.pop();
                each(Event::End);
            }
            b',' => is_key = open.last() == Some(&Container::Object),
            b':' => is_key = false,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                at = end_of_string(bytes, at);
                let text = &text[start..at];
                each(if is_key { Event::Key(text) } else { Event::Scalar(Scalar::String, text) });
            }
            _ => {
                let ends = |byte: &u8| b",:]} \t\r\n\"[{".contains(byte);
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
                let kind = match byte {
                    b'n' => Scalar::Null,
                    b't' | b'f' => Scalar::Bool,
                    _ => Scalar::Number,
                };
                each(Event::Scalar(kind, &text[start..at]));
            }
        }
    }
}

/// Where a string ends that has begun before `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match memchr::memchr2(b'"', b'\\', &bytes[at..]).map(|found| at + found) {
            None => return bytes.len(),
            Some(end) if bytes[end] == b'"' => return end + 1,
            // What is escaped is one byte at least, and no quote that ends the string.
            Some(escape) => at = (escape + 2).min(bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_value_is_shown_as_it_stands() {
        let mut seen = Vec::new();
        scan(r#"{"a\"b":[1e21,-0.5,"x\\"],"c":{},"d":null,"e":"é","f":true}"#, |event| seen.push(event));
        use Container::{List, Object};
        use Event::{Begin, End, Key};
        let value = Event::Scalar;
        let expected = [
            Begin(Object),
            Key(r#""a\"b""#),
            Begin(List),
            value(Scalar::Number, "1e21"),
            value(Scalar::Number, "-0.5"),
            value(Scalar::String, r#""x\\""#),
            End,
            Key(r#""c""#),
            Begin(Object),
            End,
            Key(r#""d""#),
            value(Scalar::Null, "null"),
            Key(r#""e""#),
            value(Scalar::String, r#""é""#),
            Key(r#""f""#),
            value(Scalar::Bool, "true"),
            End,
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_text_that_is_no_value_does_no_harm() {
        for text in ["", "\"", "\"\\", "\"\\\"", "}", "[[[[", "é", ",:,", "\\", "1é\"x"] {
            scan(text, |_| {});
        }
        scan(&"[".repeat(1 << 20), |_| {});
    }
}
