//! Lines inside a damaged line: line feeds that were lost, and what stands before or behind a line that is whole.

use serde::de::IgnoredAny;

/// What every line begins with.
const BEGINNING: &[u8] = b"{\"type\":\"";

/// So many beginnings of lines are looked at: a payload can be full of them.
const MOST: usize = 64;

/// The JSON values in a text that begin as a line does, in their order. Whether they are lines is for the caller to
/// see.
pub(super) fn pieces(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..MOST {
        let Some(at) = memchr::memmem::find(&text[from..], BEGINNING) else { break };
        let start = from + at;
        let mut values = serde_json::Deserializer::from_slice(&text[start..]).into_iter::<IgnoredAny>();
        from = match values.next() {
            Some(Ok(IgnoredAny)) => {
                let end = start + values.byte_offset();
                found.push(&text[start..end]);
                end
            }
            _ => start + 1,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_behind_the_rest_of_another_and_with_beginnings_inside_of_it() {
        let text = br#"{"type":"signal","pa{"type":"join","path":"a"}.{"type":"signal","payload":{"type":"x"}}z"#;
        let found: Vec<_> = pieces(text).into_iter().map(String::from_utf8_lossy).collect();
        assert_eq!(found, [r#"{"type":"join","path":"a"}"#, r#"{"type":"signal","payload":{"type":"x"}}"#]);
        assert!(pieces(b"{\"type\":\"").is_empty());
        assert!(pieces(&[0; 100]).is_empty());
        assert_eq!(pieces(&br#"{"type":""#.repeat(1000)), Vec::<&[u8]>::new());
    }
}
