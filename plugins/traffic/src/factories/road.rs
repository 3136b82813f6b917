//! The road of a scenario.

use std::{borrow::Cow, fmt, path::Path};

use chaconne_scenario::Loaded;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::road::{Road, RoadFile};

/// What stands in the field `road` of a scenario: the path of a road file, from the scenario's folder; `demo`, for the road
/// of the demo world; or a road as it stands in a road file.
pub struct RoadSource(Source);

enum Source {
    File(String),
    Inline(Box<RoadFile>),
}

impl RoadSource {
    /// The road.
    pub(super) fn load(self, base: &Path) -> Result<Loaded<Road>, String> {
        match self.0 {
            Source::File(name) if name == "demo" => Ok(Loaded::new(Road::demo())),
            Source::File(name) => {
                let path = base.join(name);
                let road = Road::from_file(&path).map_err(|error| error.to_string())?;
                Ok(Loaded::from_file(road, path))
            }
            Source::Inline(file) => {
                let road = Road::lay_out(&file).map_err(|(field, problem)| format!("`{field}`: {problem}"))?;
                Ok(Loaded::new(road))
            }
        }
    }
}

impl<'de> Deserialize<'de> for RoadSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SourceVisitor;

        impl<'de> Visitor<'de> for SourceVisitor {
            type Value = RoadSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the path of a road file, `demo`, or an object that describes a road")
            }

            fn visit_str<E: de::Error>(self, path: &str) -> Result<Self::Value, E> {
                Ok(RoadSource(Source::File(path.to_owned())))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
                let file = RoadFile::deserialize(MapAccessDeserializer::new(fields))?;
                Ok(RoadSource(Source::Inline(Box::new(file))))
            }
        }

        deserializer.deserialize_any(SourceVisitor)
    }
}

impl JsonSchema for RoadSource {
    fn schema_name() -> Cow<'static, str> {
        "Road".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "description": "The path of a road file, from the scenario's folder, or `demo`" },
                generator.subschema_for::<RoadFile>(),
            ],
        })
    }
}
