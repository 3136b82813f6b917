//! What the payloads of a key have in common, as a JSON Schema that Foxglove reads.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::json::{Container, Event, Scalar, scan};

/// What is nested deeper is left out of the schema.
const DEEPEST: usize = 32;

/// An object with more fields than this is a table, whose fields' names say nothing.
const MOST_FIELDS: usize = 500;

/// Of a value with more parts than this, the rest is left out of the schema.
const MOST_PARTS: usize = 10_000;

/// The kinds of values that were seen at a place.
#[derive(Debug, Default)]
struct Part {
    is_null: bool,
    is_bool: bool,
    is_number: bool,
    /// All numbers were without fraction and exponent.
    is_whole: bool,
    is_string: bool,
    is_object: bool,
    is_list: bool,
    /// Parts by field, in the order of first appearance.
    fields: Vec<(String, usize)>,
    index: BTreeMap<String, usize>,
    has_too_many: bool,
    /// The part that stands for all items of a list.
    items: Option<usize>,
}

/// What was seen in all payloads of a key. The first part is the message.
#[derive(Debug)]
pub(super) struct Shape {
    parts: Vec<Part>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { parts: vec![Part { is_object: true, ..Part::default() }] }
    }
}

impl Shape {
    /// Takes a payload in. What is no object counts as the field `value` of one.
    pub(super) fn merge(&mut self, payload: &str) {
        // The open objects and lists, and the part of the value that comes next; `None` where nothing is noted.
        let mut open: Vec<Option<usize>> = Vec::new();
        let is_object = payload.starts_with('{');
        let mut next = if is_object { Some(0) } else { self.field(Some(0), "\"value\"") };
        scan(payload, |event| match event {
            Event::Key(name) => next = self.field(open.last().copied().flatten(), name),
            Event::End => {
                open.pop();
                next = self.item(open.last().copied().flatten());
            }
            Event::Begin(container) => {
                self.note(next, |part| match container {
                    Container::Object => part.is_object = true,
                    Container::List => part.is_list = true,
                });
                open.push(next.filter(|_| open.len() < DEEPEST));
                next = if container == Container::List { self.items(open.last().copied().flatten()) } else { None };
            }
            Event::Scalar(scalar, text) => {
                self.note(next, |part| part.scalar(scalar, text));
                next = self.item(open.last().copied().flatten());
            }
        });
    }

    fn note(&mut self, part: Option<usize>, note: impl FnOnce(&mut Part)) {
        if let Some(part) = part {
            note(&mut self.parts[part]);
        }
    }

    fn add(&mut self) -> Option<usize> {
        (self.parts.len() < MOST_PARTS).then(|| {
            self.parts.push(Part::default());
            self.parts.len() - 1
        })
    }

    /// The part of a field; its name comes with its quotes.
    fn field(&mut self, of: Option<usize>, name: &str) -> Option<usize> {
        let of = of?;
        if let Some(found) = self.parts[of].index.get(name) {
            return Some(*found);
        }
        if self.parts[of].index.len() == MOST_FIELDS {
            self.parts[of].has_too_many = true;
            return None;
        }
        let part = self.add()?;
        self.parts[of].index.insert(name.to_owned(), part);
        let name = serde_json::from_str(name).unwrap_or_default();
        self.parts[of].fields.push((name, part));
        Some(part)
    }

    /// The part of the items of a list that begins.
    fn items(&mut self, of: Option<usize>) -> Option<usize> {
        let of = of?;
        if self.parts[of].items.is_none() {
            self.parts[of].items = self.add();
        }
        self.parts[of].items
    }

    /// The part of the next item, where there may be one. In an object, a name comes first.
    fn item(&self, of: Option<usize>) -> Option<usize> {
        self.parts[of?].items
    }

    /// The schema of a message. Foxglove knows fields of one type only, so that it says nothing about those that have
    /// several, may be `null`, or are lists of lists.
    pub(super) fn schema(&self) -> Value {
        self.schema_of(0).unwrap_or_else(|| json!({ "type": "object", "properties": {} }))
    }

    fn schema_of(&self, part: usize) -> Option<Value> {
        let part = &self.parts[part];
        let Part { is_null, is_bool, is_number, is_string, is_object, is_list, .. } = *part;
        if [is_null, is_bool, is_number, is_string, is_object, is_list].into_iter().filter(|is| *is).count() != 1 {
            return None;
        }
        Some(match () {
            () if is_bool => json!({ "type": "boolean" }),
            () if is_number && part.is_whole => json!({ "type": "integer" }),
            () if is_number => json!({ "type": "number" }),
            () if is_string => json!({ "type": "string" }),
            () if is_object => {
                let mut properties = Map::new();
                if !part.has_too_many {
                    for (name, field) in &part.fields {
                        if let Some(schema) = self.schema_of(*field) {
                            properties.insert(name.clone(), schema);
                        }
                    }
                }
                json!({ "type": "object", "properties": properties })
            }
            () if is_list => {
                let items = part.items.filter(|items| !self.parts[*items].is_list)?;
                json!({ "type": "array", "items": self.schema_of(items)? })
            }
            () => return None,
        })
    }
}

impl Part {
    fn scalar(&mut self, scalar: Scalar, text: &str) {
        match scalar {
            Scalar::Null => self.is_null = true,
            Scalar::Bool => self.is_bool = true,
            Scalar::String => self.is_string = true,
            Scalar::Number => {
                let is_whole = !text.contains(['.', 'e', 'E']);
                self.is_whole = is_whole && (self.is_whole || !self.is_number);
                self.is_number = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(payloads: &[&str]) -> String {
        let mut shape = Shape::default();
        payloads.iter().for_each(|payload| shape.merge(payload));
        shape.schema()["properties"].to_string()
    }

    #[test]
    fn what_all_payloads_agree_on_is_in_the_schema() {
        assert_eq!(schema(&["1", "2"]), r#"{"value":{"type":"integer"}}"#);
        assert_eq!(schema(&["1", "0.5", "2"]), r#"{"value":{"type":"number"}}"#);
        assert_eq!(schema(&["[\"a\"]"]), r#"{"value":{"items":{"type":"string"},"type":"array"}}"#);
        let nested = [r#"{"x":{"y":true}}"#, r#"{"x":{"z":[{"a":1}]}}"#];
        let z = r#""z":{"items":{"properties":{"a":{"type":"integer"}},"type":"object"},"type":"array"}"#;
        assert_eq!(
            schema(&nested),
            format!(r#"{{"x":{{"properties":{{"y":{{"type":"boolean"}},{z}}},"type":"object"}}}}"#)
        );
    }

    #[test]
    fn what_they_do_not_agree_on_is_left_out() {
        let left_out: [&[&str]; 6] = [&["1", "\"a\""], &["null"], &["1", "null"], &["[]"], &["[[1]]"], &["[1,\"a\"]"]];
        for payloads in left_out {
            assert_eq!(schema(payloads), "{}", "{payloads:?}");
        }
        assert_eq!(schema(&[r#"{"x":1,"x\u0031":2}"#]), r#"{"x":{"type":"integer"},"x1":{"type":"integer"}}"#);
        assert_eq!(schema(&[&("[".repeat(100_000) + &"]".repeat(100_000))]), "{}");
        let table: String = (0..1000).map(|at| format!("\"{at}\":1,")).collect();
        assert_eq!(schema(&[&format!("{{{}}}", table.trim_end_matches(','))]), "{}");
    }
}
