//! The JSON Schema of scenario files: that of the types that are read, with what each factory is given.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::file::ScenarioFile;
use crate::factory::{Factories, FactoryKind};

/// The JSON Schema (draft 2020-12) of whole scenario files, for editors: what is registered is in it, by name.
pub fn scenario_schema(factories: &Factories) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut root = ScenarioFile::root(&mut generator);
    let (mut any, mut populations) = (Types::default(), Types::default());
    for (name, about, kind, schema) in factories.described() {
        let params = schema(&mut generator).to_value();
        let required = requires_something(&params, generator.definitions());
        if kind == FactoryKind::Population {
            populations.add(name, about, &params, required);
        }
        any.add(name, about, &params, required);
    }
    let mut shared = Vec::new();
    for (name, about, schema) in factories.described_shares() {
        shared.push((name.to_owned(), described(schema(&mut generator).to_value(), about)));
    }
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    for (name, types) in [("Actor", &any), ("Child", &any), ("Join", &any), ("Population", &populations)] {
        if let Some(entry) = definitions.get_mut(name) {
            types.describe(entry, name != "Population");
        }
    }
    if let Some(properties) = root.pointer_mut("/properties").and_then(Value::as_object_mut) {
        properties.insert("$schema".to_owned(), json!({ "type": "string", "description": "The schema, for editors." }));
        properties.extend(shared);
    }
    if let Some(root) = root.as_object_mut() {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    root.sort_all_objects();
    root
}

/// [`scenario_schema`] as it is written to a file: sorted, indented, with a line end behind it.
pub fn scenario_schema_text(factories: &Factories) -> String {
    format!("{:#}\n", scenario_schema(factories))
}

impl ScenarioFile {
    fn root(generator: &mut SchemaGenerator) -> Value {
        generator.root_schema_for::<Self>().to_value()
    }
}

/// Puts a text before what a schema says of itself.
fn described(schema: Value, about: &str) -> Value {
    match schema {
        Value::Object(mut object) => {
            object.insert("description".to_owned(), about.into());
            Value::Object(object)
        }
        other => other,
    }
}

/// What a `type` can be, and what its `params` are then.
#[derive(Default)]
struct Types {
    names: Vec<Value>,
    params: Vec<Value>,
}

impl Types {
    fn add(&mut self, name: &str, about: &str, params: &Value, required: bool) {
        self.names.push(json!({ "const": name, "description": about }));
        let mut then = json!({ "properties": { "params": params } });
        // Without params a factory reads an empty object, in which nothing may be missing.
        if required {
            then["required"] = json!(["params"]);
        }
        self.params.push(json!({
            "if": { "properties": { "type": { "const": name } }, "required": ["type"] },
            "then": then,
        }));
    }

    fn describe(&self, entry: &mut Value, or_children: bool) {
        if let Some(kind) = entry.pointer_mut("/properties/type").and_then(Value::as_object_mut) {
            kind.insert("type".to_owned(), "string".into());
            // A list of none would be no schema, and nothing could be written in its place anyway.
            if !self.names.is_empty() {
                kind.insert("oneOf".to_owned(), self.names.clone().into());
            }
        }
        let Some(entry) = entry.as_object_mut() else { return };
        if or_children {
            entry.insert("oneOf".to_owned(), json!([{ "required": ["type"] }, { "required": ["children"] }]));
        }
        if !self.params.is_empty() {
            entry.insert("allOf".to_owned(), self.params.clone().into());
        }
    }
}

/// Whether an object without fields does not fit.
fn requires_something(schema: &Value, definitions: &Map<String, Value>) -> bool {
    let named = schema.get("$ref").and_then(Value::as_str).and_then(|named| named.strip_prefix("#/$defs/"));
    let schema = named.and_then(|name| definitions.get(name)).unwrap_or(schema);
    schema.get("required").and_then(Value::as_array).is_some_and(|required| !required.is_empty())
}
