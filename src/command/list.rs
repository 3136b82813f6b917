//! What scenarios can be made of, and their JSON Schema.

use chaconne::scenario::factory::{FactoryKind, Registered};
use chaconne::scenario::scenario_schema_text;
use chaconne::traffic::Watch;
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::command::console::{say, say_json};
use crate::command::program::Failure;
use crate::command::worlds::Worlds;

/// List what scenarios can be made of: types, their parameters, and fields that all share
#[derive(Args)]
pub(crate) struct Arguments {
    /// Only this one
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print everything as one JSON object, the last line of stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    kind: &'static str,
    about: String,
    parameters: Value,
}

pub(crate) fn run(arguments: &Arguments, worlds: &Worlds) -> Result<(), Failure> {
    let mut all = worlds.factories(&Watch::default())?.list();
    if let Some(name) = &arguments.name {
        let names: Vec<String> = all.iter().map(|one| format!("`{}`", one.name)).collect();
        all.retain(|one| one.name == *name);
        if all.is_empty() {
            return Err(Failure::Input(format!("there is no type `{name}`: there are {}", names.join(", "))));
        }
    }
    if arguments.json {
        let list = all.into_iter().map(|one| Listed {
            name: one.name,
            kind: one.kind.as_str(),
            about: one.about,
            parameters: one.schema,
        });
        say_json(&serde_json::json!({ "types": list.collect::<Vec<_>>() }));
        return Ok(());
    }
    for (number, one) in all.iter().enumerate() {
        if number > 0 {
            say("");
        }
        list(one);
    }
    Ok(())
}

/// Prints the JSON Schema of scenario files.
pub(crate) fn schema(worlds: &Worlds) -> Result<(), Failure> {
    say(scenario_schema_text(&worlds.factories(&Watch::default())?).trim_end());
    Ok(())
}

fn list(one: &Registered) {
    let kind = match one.kind {
        FactoryKind::Node => String::new(),
        other => format!(" ({})", other.as_str()),
    };
    say(format_args!("{}{kind}: {}", one.name, one.about));
    let root = &one.schema;
    let mut rows = Vec::new();
    parameters(root, root, "", &mut rows, 0);
    if rows.is_empty() && !choices(root).is_empty() {
        rows.push(("value".to_owned(), kind_of(root), String::new()));
    }
    let width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let second = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0);
    for (name, what, about) in rows {
        say(format!("  {name:<width$}  {what:<second$}  {about}").trim_end());
    }
}

/// Follows a reference within a schema, also one behind `anyOf` with null or `allOf`.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let inner = ["anyOf", "oneOf", "allOf"].iter().find_map(|of| {
        let choices = schema[of].as_array()?;
        let mut real = choices.iter().filter(|choice| choice["type"] != "null");
        real.next().filter(|_| real.next().is_none())
    });
    let schema = inner.unwrap_or(schema);
    let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    match name {
        Some(name) => &root["$defs"][name],
        None => schema,
    }
}

/// The parameters of an object, and of objects in it: name, what it may be, what it is about.
fn parameters(root: &Value, schema: &Value, prefix: &str, rows: &mut Vec<(String, String, String)>, depth: u32) {
    let object = resolve(root, schema);
    let required: Vec<&str> = object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in object["properties"].as_object().into_iter().flatten() {
        let resolved = resolve(root, property);
        let about = property["description"].as_str().or(resolved["description"].as_str()).unwrap_or_default();
        let about = about.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let mut what = kind_of(resolved);
        let default = &property["default"];
        if required.contains(&name.as_str()) {
            what += ", required";
        } else if !default.is_null() && !default.is_object() && !default.is_array() {
            what += &format!(", default {}", number(default));
        }
        let path = format!("{prefix}{name}");
        rows.push((path.clone(), what, about));
        if depth < 3 && resolved["properties"].is_object() {
            parameters(root, resolved, &format!("{path}."), rows, depth + 1);
        }
    }
}

/// What can stand there, where it is one of several.
fn choices(schema: &Value) -> Vec<String> {
    let of = ["oneOf", "anyOf", "enum"].iter().find_map(|of| schema[of].as_array());
    let choice = |choice: &Value| match choice {
        Value::String(text) => Some(text.clone()),
        Value::Object(choice) => {
            let field = || Some(format!("{{ {}: … }}", choice.get("properties")?.as_object()?.keys().next()?));
            let text = choice.get("const").and_then(Value::as_str).map(str::to_owned);
            text.or_else(|| match choice.get("required")?.as_array()?.len() {
                1 => field(),
                _ => None,
            })
            .or_else(|| Some(choice.get("type")?.as_str()?.to_owned()))
            .or_else(|| Some(choice.get("$ref")?.as_str()?.rsplit('/').next()?.to_owned()))
        }
        _ => None,
    };
    of.into_iter().flatten().filter_map(choice).collect()
}

/// A number as people write it.
fn number(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Type, range and unit of a parameter.
fn kind_of(schema: &Value) -> String {
    let mut text = match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect::<Vec<_>>().join(" or ")
        }
        _ if !choices(schema).is_empty() => format!("one of {}", choices(schema).join(", ")),
        _ => "value".to_owned(),
    };
    for (field, word) in
        [("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "up to"), ("exclusiveMaximum", "below")]
    {
        if schema[field].is_number() {
            text += &format!(" {word} {}", number(&schema[field]));
        }
    }
    if let Some(unit) = schema["unit"].as_str().filter(|unit| !unit.is_empty()) {
        text += &format!(" {unit}");
    }
    text
}
