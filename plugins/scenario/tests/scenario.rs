//! What scenario files can say, what is made of them, and what is said of mistakes.

mod toys;

use std::path::Path;

use chaconne_conductor::{Conductor, ConductorConfig};
use chaconne_scenario::{Overrides, Scenario, ScenarioError, scenario_schema, scenario_schema_text};
use chaconne_sim_core::SimTime;
use serde_json::{Value, json};
use toys::{check_places, factories, load};

/// The mistakes of a world with these fields, each as `line:column what`.
fn mistakes(fields: &str) -> Vec<String> {
    let text = format!("{{ world: 'w',\n{fields} }}");
    let error = load(&text).expect_err(fields);
    check_places(&text, &error);
    let place = |mistake: &chaconne_scenario::Mistake| mistake.place.map_or((0, 0), |place| (place.line, place.column));
    error.errors().iter().map(|mistake| format!("{}:{} {}", place(mistake).0, place(mistake).1, mistake.what)).collect()
}

fn secs(secs: i32) -> SimTime {
    SimTime::from_secs(secs)
}

const WHOLE: &str = include_str!("corpus/whole.json5");

#[test]
fn a_whole_file_is_read_made_and_ready_to_run() {
    let scenario = load(WHOLE).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scenario.world(), scenario.seed(), scenario.end), ("highway", 42, Some(SimTime::from_millis(30_500))));
    let paths: Vec<&str> = scenario.actors.iter().map(|actor| actor.path()).collect();
    assert_eq!(paths, ["ego", "cam", "ego/camera", "cam/chips/fan", "ego/physics/brake", "fleet"]);
    let joins: Vec<_> = scenario.joins.iter().map(|(at, actor)| (*at, actor.path())).collect();
    assert_eq!(joins, [(secs(5), "car-1"), (secs(20), "car-1"), (secs(25), "ego")]);
    let leaves: Vec<_> = scenario.leaves.iter().map(|(at, path)| (*at, path.as_str())).collect();
    assert_eq!(leaves, [(secs(7), "fleet"), (secs(10), "cam")]);

    let config = ConductorConfig { world: scenario.world().to_owned(), seed: scenario.seed(), ..Default::default() };
    let mut conductor = Conductor::new(config).unwrap();
    for actor in scenario.actors {
        conductor.add(actor).unwrap();
    }
    conductor.run_until(secs(2)).unwrap();
    // Two instants of `ego`'s two parts, two of the cameras and so on, and twenty ticks of the population.
    assert_eq!(conductor.steps(), 2 * 2 + 2 * 2 + 2 + 2 + 2 + 20);
}

#[test]
fn a_world_needs_no_more_than_a_name() {
    let scenario = load("{ world: 'w' }").unwrap();
    assert_eq!((scenario.seed(), scenario.end, scenario.actors.len()), (0, None, 0));
}

#[test]
fn overrides_replace_what_the_file_says() {
    let read = |overrides| Scenario::from_text(WHOLE, "x.json5", Path::new(""), &factories(), overrides);
    let scenario = read(Overrides { seed: Some(7), end: Some(secs(3)), ..Overrides::default() }).unwrap();
    assert_eq!((scenario.seed(), scenario.end), (7, Some(secs(3))));
    let error = read(Overrides { end: Some(SimTime::ZERO), ..Overrides::default() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scenario file `x.json5`: the end that was asked for must be above 0 s; choose a later one"
    );
}

#[test]
fn errors_name_the_file_the_place_and_how_many_more_there_are() {
    let error =
        load("{ world: 'w',\n  actors: [{ path: 'a', type: 'cra' }, { path: 'b' }, { path: 'c', tipe: 'car' }] }")
            .unwrap_err();
    assert_eq!(
        error.to_string(),
        "scenario file `x.json5`, line 2, column 31: unknown type `cra`; did you mean `car`? (and 2 more)"
    );
    assert_eq!((error.errors().len(), error.place().unwrap().column, error.file()), (3, 31, "x.json5"));
}

#[test]
fn a_text_that_is_no_object_with_known_fields_is_refused() {
    for (text, error) in [
        ("{ world: 'w' ", "line 1, column 14: the text ends where `,` or `}` should stand"),
        ("[]", "line 1, column 1: a list stands here, where an object is expected"),
        ("{}", "line 1, column 1: the field `world` is missing; add it"),
        ("{ world: 3 }", "line 1, column 10: `world` is 3, but must be a text"),
        ("{ world: 'a b' }", "line 1, column 10: `a b` is not a world's name; use letters, digits, `_` and `-` only"),
        ("{ world: 'w', rod: '' }", "line 1, column 15: unknown field `rod`; did you mean `road`?"),
        ("{ world: 'w', actor: [] }", "line 1, column 15: unknown field `actor`; did you mean `actors`?"),
        ("{ world: 'w', end: 0 }", "line 1, column 20: `end` is 0, but must be above 0 (s)"),
        ("{ world: 'w', end: -1.5 }", "line 1, column 20: `end` is -1.5, but must be above 0 (s)"),
        (
            "{ world: 'w', seed: -1 }",
            "line 1, column 21: `seed` is -1, but must be a whole number from 0 to 18446744073709551615",
        ),
        ("{ world: 'w', actors: {} }", "line 1, column 23: `actors` is an object, but must be a list"),
    ] {
        assert_eq!(load(text).unwrap_err().to_string(), format!("scenario file `x.json5`, {error}"));
    }
}

#[test]
fn parameters_are_checked_where_they_stand() {
    assert_eq!(
        mistakes(
            "actors: [
{ path: 'a', type: 'car', params: { speed: -3 } },
{ path: 'b', type: 'car', params: { sped: 3 } },
{ path: 'c', type: 'car' },
{ path: 'd', type: 'car', params: { speed: 3, law: { lane: 4 } } },
{ path: 'e', type: 'car', params: { speed: 3, law: 'pursiut' } },
{ path: 'f', type: 'bomb' },
{ path: 'g', type: 'tracker' },
]"
        ),
        [
            "3:44 `speed` is -3, but must be above 0 and up to 100 (m/s)",
            "4:37 unknown field `sped`; did you mean `speed`?",
            "5:20 the field `speed` is missing; add it",
            "6:35 there is no lane 4; use one up to 3",
            "7:52 unknown value `pursiut`; did you mean `pursuit`?",
            "8:20 its factory panicked: boom",
            "9:20 it needs a `road`; add one to the scenario",
        ]
    );
}

#[test]
fn an_actor_is_made_by_a_type_or_of_children() {
    assert_eq!(
        mistakes(
            "actors: [
{ path: 'a' },
{ path: 'b', type: 'lens', children: [] },
{ path: 'c', children: [] },
{ path: 'd', children: [{ name: 'x' }, { name: 'y z', type: 'lens' }, { name: 'x', type: 'lnes' }] },
{ path: 'e', children: [{ name: 'x', type: 'lens' }], params: {} },
]"
        ),
        [
            "3:1 `a` has neither a `type` nor `children`; add one of the two",
            "4:20 `b` has a `type` and `children`; leave one of the two",
            "5:24 `c` has no children; give it at least one",
            "6:25 `d/x` has neither a `type` nor `children`; add one of the two",
            "6:48 `d/y z` is not an actor's path (segment 2 is `y z`): write segments of A-Z, a-z, 0-9, `_` and `-`, \
             separated by `/`, such as `ego/controller`",
            "6:79 the path `d/x` is taken: it stands in line 6 already; give one of them another name",
            "7:63 `params` are for a `type`, and here are `children`; move them into the child they are for",
        ]
    );
}

#[test]
fn paths_are_checked_against_all_that_is_in_the_world() {
    assert_eq!(
        mistakes(
            "actors: [
{ path: 'a', type: 'lens' },
{ path: 'a', type: 'lens' },
{ path: 'c/d', type: 'lens' },
{ path: 'c', children: [{ name: 'e', type: 'lens' }] },
{ path: 'c/e', type: 'lens' },
{ path: 'c/f/g', type: 'lens' },
], populations: [
{ path: 'a', type: 'herd' },
]"
        ),
        [
            "4:9 the path `a` is taken: it stands in line 3 already; give one of them another name",
            "5:9 there is no actor `c` for `c/d` to stand under; write it before this one",
            "7:9 the path `c/e` is taken: it stands in line 6 already; give one of them another name",
            "8:9 there is no actor `c/f` for `c/f/g` to stand under; write it before this one",
            "10:9 the path `a` is taken: it stands in line 3 already; give one of them another name",
        ]
    );
}

#[test]
fn populations_are_made_by_factories_of_populations() {
    assert_eq!(
        mistakes(
            "populations: [
{ path: 'a', type: 'lens' },
{ path: 'b', type: 'hred' },
{ path: 'c', type: 'herd', every: 0 },
{ path: 'd', type: 'herd', params: { agents: 2000000 } },
{ path: 'e' },
]"
        ),
        [
            "3:20 `lens` does not make populations; write it under `actors`",
            "4:20 unknown type `hred`; did you mean `herd`?",
            "5:35 `every` is 0, but must be above 0 (s)",
            "6:36 `d` has too many agents",
            "7:1 the field `type` is missing; add it",
        ]
    );
}

#[test]
fn times_have_to_fit_together() {
    assert_eq!(
        mistakes(
            "actors: [
{ path: 'a', type: 'lens', leaves_at: 0 },
{ path: 'b', type: 'lens', first_due: 2, leaves_at: 2 },
{ path: 'c', type: 'lens', first_due: -1 },
{ path: 'd', type: 'lens', first_due: 0.0000000001 },
], joins: [
{ at: 3, path: 'e', type: 'lens', leaves_at: 3.0 },
]"
        ),
        [
            "3:39 `leaves_at` is 0, but must be above 0 (s)",
            "4:53 `b` leaves at 2.0 s, and is first due at 2.0 s; let it leave later",
            "5:39 `first_due` is -1, but must be from 0 on (s)",
            "6:39 `first_due` is 0.0000000001, but must be a time in seconds, such as 2.5, with at most nine decimals and within 292 years of 0",
            "8:46 `e` leaves at 3.0 s, and joins at 3.0 s; let it leave later",
        ]
    );
}

#[test]
fn joins_and_leaves_are_checked_against_who_is_in_the_world_then() {
    assert_eq!(
        mistakes(
            "actors: [
{ path: 'a', type: 'lens', leaves_at: 5 },
{ path: 'b', children: [{ name: 'x', type: 'lens' }] },
{ path: 'car', type: 'lens' },
{ path: 'b/y', type: 'lens' },
], joins: [
{ at: 4, path: 'a', type: 'lens' },
{ at: 6, path: 'b', type: 'lens' },
{ at: 7, path: 'a/y', type: 'lens' },
{ at: 8, path: 'late', type: 'lens' },
], leaves: [
{ at: 6, path: 'a' },
{ at: 4, path: 'b/x' },
{ at: 5, path: 'b' },
{ at: 6, path: 'b/y' },
{ at: 5, path: 'cra' },
{ at: 8, path: 'late' },
{ at: 9, path: 'late' },
]"
        ),
        [
            "8:16 the path `a` is taken at 4.0 s: it stands in line 3 already; give one of them another name",
            "10:16 there is no actor `a` for `a/y` to stand under at 7.0 s; let it join by then, and leave later",
            "13:16 no actor `a` is in the world at 6.0 s; choose a time at which it is",
            "14:16 `b/x` cannot leave alone: it is a part of `b`, and an actor leaves as a whole",
            "16:16 no actor `b/y` is in the world at 6.0 s; choose a time at which it is",
            "17:16 no actor `cra` is in the world at 5.0 s; did you mean `car`?",
            "18:16 no actor `late` is in the world at 8.0 s; choose a time at which it is",
        ]
    );
}

#[test]
fn who_could_not_be_read_is_not_said_to_be_missing() {
    assert_eq!(
        mistakes(
            "actors: [{ path: 'a', type: 'lens', first_due: '' }, { path: 'a/b', type: 'lens' }],\nleaves: [{ at: 3, path: 'a' }]"
        ),
        [
            "2:48 `first_due` is the text \"\", but must be a time in seconds, such as 2.5, with at most nine decimals and within 292 years of 0"
        ]
    );
}

#[test]
fn shared_values_are_loaded_from_beside_the_file_and_are_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let road = folder.path().join("road.json");
    let file = folder.path().join("w.json5");
    std::fs::write(&road, "120.5").unwrap();
    std::fs::write(&file, "{ world: 'w', road: 'road.json', actors: [{ path: 'a', type: 'tracker' }] }").unwrap();
    let scenario = Scenario::from_file(&file, &factories(), Overrides::default()).unwrap();
    assert_eq!(scenario.setting.shared.get::<toys::Road>().unwrap().length, 120.5);
    assert_eq!(scenario.inputs, [file.clone(), road]);

    std::fs::write(&file, "{ world: 'w', road: 'raod.json', actors: [{ path: 'a', type: 'tracker' }] }").unwrap();
    let error = Scenario::from_file(&file, &factories(), Overrides::default()).unwrap_err();
    // What wants the road does not complain as well.
    assert_eq!((error.errors().len(), error.place().unwrap().column), (1, 21));
    assert!(error.to_string().contains("cannot read `"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let read = |path: &Path| Scenario::from_file(path, &factories(), Overrides::default()).unwrap_err();
    let error = read(Path::new("nowhere.json5"));
    assert!(matches!(error, ScenarioError::Read { .. }));
    assert!(error.to_string().starts_with("cannot read scenario file `nowhere.json5`: "), "{error}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"{\n\xff").unwrap();
    assert!(read(file.path()).to_string().contains("line 2, column 1: this is not UTF-8 text"));
}

#[test]
fn the_schema_knows_every_type_and_shared_field() {
    let schema = scenario_schema(&factories());
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["road"], json!({ "type": "string", "description": "a file with a road" }));
    let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let all = ["$schema", "about", "actors", "end", "joins", "leaves", "populations", "road", "seed", "world"];
    assert_eq!(fields, all);
    assert_eq!(schema["properties"]["end"]["exclusiveMinimum"], json!(0.0));
    let names = |entry: &str| -> Vec<Value> {
        let types = &schema["$defs"][entry]["properties"]["type"]["oneOf"];
        types.as_array().unwrap().iter().map(|one| one["const"].clone()).collect()
    };
    assert_eq!(names("Actor"), ["bomb", "car", "herd", "lens", "tracker"]);
    assert_eq!(names("Population"), ["herd"]);
    let car = &schema["$defs"]["Join"]["allOf"][1];
    assert_eq!(car["if"]["properties"]["type"]["const"], "car");
    assert_eq!(
        car["then"],
        json!({ "properties": { "params": { "$ref": "#/$defs/CarParams" } }, "required": ["params"] })
    );
    assert_eq!(schema["$defs"]["CarParams"]["properties"]["speed"]["maximum"], json!(100.0));
    assert_eq!(schema["$defs"]["Actor"]["oneOf"], json!([{ "required": ["type"] }, { "required": ["children"] }]));
}

#[test]
fn the_text_of_the_schema_is_always_the_same() {
    let text = scenario_schema_text(&factories());
    assert_eq!(text, scenario_schema_text(&factories()));
    assert!(text.ends_with("}\n"));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), scenario_schema(&factories()));
}
