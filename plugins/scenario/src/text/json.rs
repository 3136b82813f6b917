//! From tree to text: compact JSON that reads as the same values.

use super::{Integer, Kind, Member, Number, Tree};

impl Tree {
    /// The value as compact JSON, keys in the order of the text. It reads as exactly the same value: numbers keep their
    /// digits, and are rewritten only where JSON has no such form (`+1`, `.5`, `5.`, `0x1f`).
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        write(self, &mut json);
        json
    }
}

fn write(tree: &Tree, json: &mut String) {
    match tree.kind() {
        Kind::Null => json.push_str("null"),
        Kind::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
        Kind::Number(number) => write_number(number, json),
        Kind::Text(text) => write_text(text, json),
        Kind::List(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                json.push_str(if index == 0 { "" } else { "," });
                write(item, json);
            }
            json.push(']');
        }
        Kind::Object(members) => {
            json.push('{');
            for (index, Member { key, value, .. }) in members.iter().enumerate() {
                json.push_str(if index == 0 { "" } else { "," });
                write_text(key, json);
                json.push(':');
                write(value, json);
            }
            json.push('}');
        }
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            c if c < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
}

/// The digits as they stand, so that times, whole numbers and floats of any width read as before.
fn write_number(number: &Number, json: &mut String) {
    let (sign, magnitude) = match number.text().strip_prefix('-') {
        Some(magnitude) => ("-", magnitude),
        None => ("", number.text().strip_prefix('+').unwrap_or(number.text())),
    };
    json.push_str(sign);
    if magnitude.starts_with('0') && magnitude[1..].starts_with(['x', 'X']) {
        // What is hexadecimal is a whole number that fits; a zero may have a sign, which only floats see.
        json.push_str(&match number.integer() {
            Some(Integer::Unsigned(value)) => value.to_string(),
            Some(Integer::Negative(value)) => value.unsigned_abs().to_string(),
            None => String::from("0"),
        });
        return;
    }
    let (mantissa, exponent) = magnitude.split_at(magnitude.find(['e', 'E']).unwrap_or(magnitude.len()));
    json.push_str(if mantissa.starts_with('.') { "0" } else { "" });
    json.push_str(mantissa);
    json.push_str(if mantissa.ends_with('.') { "0" } else { "" });
    json.push_str(exponent);
}
