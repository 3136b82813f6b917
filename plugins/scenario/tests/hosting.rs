//! Where actors are stepped: what files say of it, what is said instead, and what helper processes are told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

mod toys;

use std::path::Path;
use std::time::Duration;

use chaconne_conductor::{Actor, ActorMaker, Conductor, ConductorConfig, HelperName, Hosting, OnFailure, Placement};
use chaconne_scenario::{
    HostOverride, Maker, NodeSpec, Overrides, Params, Scenario, Setting, SettingError, Shared, scenario_schema,
};
use chaconne_sim_core::membership::{JoinRequest, NodeRequest};
use chaconne_sim_core::{Fingerprint, SimDuration, SimTime};
use serde_json::{Value, json};
use toys::{check_places, factories, load};

const HOSTS: &str = include_str!("corpus/hosts.json5");

fn read(overrides: Overrides) -> Scenario {
    Scenario::from_text(HOSTS, "x.json5", Path::new(""), &factories(), overrides).unwrap()
}

/// All actors of a scenario with where they are stepped, in the order of the file.
fn hostings(scenario: &Scenario) -> Vec<(&str, Hosting)> {
    let joins = scenario.joins.iter().map(|(_, actor)| actor);
    scenario.actors.iter().chain(joins).map(|actor| (actor.path(), actor.hosting().clone())).collect()
}

fn overridden(host: HostOverride) -> Vec<Hosting> {
    let scenario = read(Overrides { host: Some(host), ..Overrides::default() });
    assert_eq!(scenario.host, Some(host));
    hostings(&scenario).into_iter().map(|(_, hosting)| hosting).collect()
}

const REMOVE: OnFailure = OnFailure::Remove;
const MIB: u64 = 1 << 20;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn an_actor_is_stepped_where_its_entry_says() {
    let scenario = read(Overrides::default());
    let cars = || Hosting::shared_process("cars");
    assert_eq!(
        hostings(&scenario),
        [
            ("a", Hosting::default()),
            ("b", Hosting::guarded(millis(200)).on_failure(REMOVE)),
            ("c", Hosting::guarded(Duration::from_nanos(1))),
            ("d", cars().timeout(Duration::from_secs(3600)).memory(16 * MIB)),
            ("e", Hosting::process().memory(MIB * MIB).on_failure(REMOVE)),
            ("f", cars()),
            ("g", Hosting::guarded(Hosting::TIMEOUT)),
            ("h", Hosting::process()),
        ]
    );
    assert!(scenario.uses_processes() && scenario.host.is_none());
    // What is made in a helper process has no parts here.
    assert!(scenario.actors[3].parts().is_empty() && scenario.actors[4].parts().is_empty());
}

#[test]
fn nothing_said_is_local_and_halts() {
    let scenario = load("{ world: 'w', actors: [{ path: 'a', type: 'lens' }] }").unwrap();
    assert_eq!(hostings(&scenario), [("a", Hosting::default())]);
    assert!(!scenario.uses_processes());
}

#[test]
fn mistakes_about_hosts_are_shown_where_they_stand() {
    let text = "{ world: 'w', actors: [
{ path: 'a', type: 'lens', host: 'local', timeout: 1 },
{ path: 'b', type: 'lens', host: 'guarded', helper: 'x', memory_mib: 20 },
{ path: 'c', type: 'lens', helper: 'x' },
{ path: 'd', type: 'lens', host: 'process', helper: 'x y' },
{ path: 'e', type: 'lens', host: 'proces' },
{ path: 'f', type: 'lens', timeout: 3600.1 },
{ path: 'g', type: 'lens', host: 'process', memory_mib: 15 },
{ path: 'h', type: 'lens', on_failure: 'leave' },
{ path: 'i', type: 'lens', budget: 0 },
{ path: 'j', children: [{ name: 'k', type: 'lens', host: 'local' }] },
{ path: 'l', type: 'lnes', host: 'process', timeout: -1 },
{ path: 'm', type: 'car', host: 'process', params: { speed: -3 } },
{ path: 'n/o', type: 'lens', host: 'local', timeout: 1 },
], populations: [
{ path: 'p', type: 'lens', host: 'process' },
], joins: [
{ at: 1, path: 'q', type: 'lens', memory_mib: 1e3 },
{ at: 1, path: 'r', type: 'lens', host: 'guarded', memory_mib: 1000 },
] }";
    let error = load(text).unwrap_err();
    check_places(text, &error);
    let all: Vec<String> = error.errors().iter().map(ToString::to_string).collect();
    let local = "a timeout needs a host that can be given up; write `host: \"guarded\"` or `\"process\"`";
    let process = "is for actors in helper processes; write `host: \"process\"`, or leave it out";
    assert_eq!(
        all,
        [
            format!("line 2, column 52: {local}"),
            format!("line 3, column 53: `helper` {process}"),
            format!("line 3, column 70: `memory_mib` {process}"),
            format!("line 4, column 36: `helper` {process}"),
            "line 5, column 53: `x y` is not a helper's name; use letters, digits, `_` and `-` only".to_owned(),
            "line 6, column 34: unknown value `proces`; did you mean `process`?".to_owned(),
            "line 7, column 37: `timeout` is 3600.1, but must be above 0 and up to 3600 (s)".to_owned(),
            "line 8, column 57: `memory_mib` is 15, but must be from 16 to 1048576 (MiB)".to_owned(),
            "line 9, column 40: unknown value `leave`; use `halt` or `remove`".to_owned(),
            "line 10, column 36: `budget` is 0, but must be above 0 (s)".to_owned(),
            "line 11, column 52: unknown field `host`; use `name`, `type`, `params`, `children` or `budget`".to_owned(),
            "line 12, column 54: `timeout` is -1, but must be above 0 and up to 3600 (s)".to_owned(),
            "line 13, column 61: `speed` is -3, but must be above 0 and up to 100 (m/s)".to_owned(),
            format!("line 14, column 54: {local}"),
            "line 16, column 20: `lens` does not make populations; write it under `actors`".to_owned(),
            "line 18, column 47: `memory_mib` is 1e3, but must be a whole number from 0 to 4294967295".to_owned(),
            format!("line 19, column 64: `memory_mib` {process}"),
        ]
    );
}

#[test]
fn parts_of_who_is_made_in_a_helper_process_are_known_in_the_file() {
    let text = "{ world: 'w', actors: [
{ path: 'a', type: 'car', params: { speed: 3 }, host: 'process' },
{ path: 'a/physics', type: 'lens' },
{ path: 'a/controller/x', type: 'lens' },
{ path: 'a/engine/x', type: 'lens' },
] }";
    let all: Vec<String> = load(text).unwrap_err().errors().iter().map(ToString::to_string).collect();
    assert_eq!(
        all,
        [
            "line 3, column 9: the path `a/physics` is taken: it stands in line 2 already; give one of them another name",
            "line 5, column 9: there is no actor `a/engine` for `a/engine/x` to stand under; write it before this one",
        ]
    );
}

#[test]
fn an_override_moves_everybody() {
    let remove = |hosting: Hosting| hosting.on_failure(REMOVE);
    let local = Hosting::default;
    assert_eq!(
        overridden(HostOverride::Local),
        [local(), remove(local()), local(), local(), remove(local()), local(), local(), local()]
    );

    let guarded = || Hosting::guarded(Hosting::TIMEOUT);
    let hour = Duration::from_secs(3600);
    assert_eq!(
        overridden(HostOverride::Guarded),
        [
            guarded(),
            remove(Hosting::guarded(millis(200))),
            Hosting::guarded(Duration::from_nanos(1)),
            Hosting::guarded(hour),
            remove(guarded()),
            guarded(),
            guarded(),
            guarded(),
        ]
    );

    let all = || Hosting::shared_process("all");
    let cars = || Hosting::shared_process("cars");
    assert_eq!(
        overridden(HostOverride::Process),
        [
            all(),
            remove(all().timeout(millis(200))),
            all().timeout(Duration::from_nanos(1)),
            cars().timeout(hour).memory(16 * MIB),
            remove(Hosting::process().memory(MIB * MIB)),
            cars(),
            all().timeout(Hosting::TIMEOUT),
            Hosting::process(),
        ]
    );

    let (a, b) = (|| Hosting::shared_process("a"), || Hosting::shared_process("b"));
    assert_eq!(
        overridden(HostOverride::Mixed),
        [
            local(),
            remove(Hosting::guarded(millis(200))),
            a().timeout(Duration::from_nanos(1)),
            b().timeout(hour),
            remove(local()),
            guarded(),
            a().timeout(Hosting::TIMEOUT),
            b(),
        ]
    );
}

#[test]
fn an_override_that_is_not_local_can_come_to_need_helper_processes() {
    let text = "{ world: 'w', actors: [{ path: 'a', type: 'lens' }] }";
    let uses = |host| {
        let overrides = Overrides { host, ..Overrides::default() };
        Scenario::from_text(text, "x", Path::new(""), &factories(), overrides).unwrap().uses_processes()
    };
    assert_eq!([None, Some(HostOverride::Local), Some(HostOverride::Guarded)].map(uses), [false; 3]);
    assert_eq!([HostOverride::Process, HostOverride::Mixed].map(|host| uses(Some(host))), [true; 2]);
    let scenario = read(Overrides { host: Some(HostOverride::Guarded), ..Overrides::default() });
    assert!(!scenario.uses_processes());
}

#[test]
fn overrides_have_names() {
    for host in HostOverride::ALL {
        assert_eq!(host.to_string().parse(), Ok(host));
    }
    assert_eq!(
        "thread".parse::<HostOverride>().unwrap_err().to_string(),
        "`thread` is not a way to host actors; use `local`, `guarded`, `process` or `mixed`"
    );
}

#[test]
fn those_who_join_at_run_time_are_moved_too() {
    let made = |host, path: &str, factory: &str| {
        let mut maker = Maker::new(factories(), Setting::new("w", 1)).hosted(host);
        let actor = maker.make(&JoinRequest::new(path, factory), &path.parse().unwrap());
        actor.map(|actor| actor.hosting().clone())
    };
    let lens = |host| made(host, "a", "lens").unwrap();
    assert_eq!(lens(None), Hosting::default());
    assert_eq!(lens(Some(HostOverride::Local)), Hosting::default());
    assert_eq!(lens(Some(HostOverride::Guarded)), Hosting::guarded(Hosting::TIMEOUT));
    assert_eq!(lens(Some(HostOverride::Process)), Hosting::shared_process("all"));
    // Whoever makes it says that it cannot: here, or in the helper process.
    assert!(made(Some(HostOverride::Guarded), "a", "lnes").unwrap_err().contains("did you mean `lens`?"));
    assert!(made(Some(HostOverride::Process), "a", "lnes").is_ok());

    let mixed = |path: &str| made(Some(HostOverride::Mixed), path, "lens").unwrap().placement;
    let paths: Vec<String> = (0..100).map(|number| format!("car-{number}")).collect();
    let first: Vec<Placement> = paths.iter().map(|path| mixed(path)).collect();
    let again: Vec<Placement> = paths.iter().rev().map(|path| mixed(path)).collect();
    assert!(first.iter().eq(again.iter().rev()));
    let helper = |name: &str| Placement::Process(HelperName::Shared(name.to_owned()));
    for placement in [Placement::Local, Placement::Guarded, helper("a"), helper("b")] {
        assert!(first.iter().filter(|&one| *one == placement).count() > 10, "{placement:?}");
    }
}

#[test]
fn the_schema_says_what_can_be_said_of_hosts() {
    let schema = scenario_schema(&factories());
    for entry in ["Actor", "Population", "Join"] {
        let fields = &schema["$defs"][entry]["properties"];
        for field in ["host", "helper", "timeout", "on_failure", "memory_mib", "budget"] {
            assert!(fields[field]["description"].as_str().is_some_and(|text| text.len() > 20), "{entry}: {field}");
        }
        let bounds = |field: &str, names: [&str; 3]| names.map(|name| fields[field][name].clone());
        assert_eq!(bounds("timeout", ["exclusiveMinimum", "maximum", "unit"]), [json!(0.0), json!(3600.0), json!("s")]);
        assert_eq!(bounds("memory_mib", ["minimum", "maximum", "unit"]), [json!(16), json!(1_048_576), json!("MiB")]);
    }
    let child: Vec<&String> = schema["$defs"]["Child"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(child, ["budget", "children", "name", "params", "type"]);
    let names = |definition: &str| -> Vec<Value> {
        let all = schema["$defs"][definition]["oneOf"].as_array().unwrap();
        all.iter().map(|one| one["const"].clone()).collect()
    };
    assert_eq!(names("Host"), ["local", "guarded", "process"]);
    assert_eq!(names("OnFailure"), ["halt", "remove"]);
}

/// The hash of a world with these actors after ten seconds.
fn hash(world: &str, seed: u64, actors: Vec<Actor>) -> Fingerprint {
    let config = ConductorConfig { world: world.to_owned(), seed, ..Default::default() };
    let mut conductor = Conductor::new(config).unwrap();
    for actor in actors {
        conductor.add(actor).unwrap();
    }
    conductor.run_until(SimTime::from_secs(10)).unwrap();
    conductor.world_hash()
}

#[test]
fn another_process_makes_the_same_actors_from_the_text_of_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let (scenarios, roads) = (folder.path().join("scenarios"), folder.path().join("roads"));
    for folder in [&scenarios, &roads] {
        std::fs::create_dir(folder).unwrap();
    }
    let road = roads.join("road.json");
    std::fs::write(&road, "120.5").unwrap();
    let file = scenarios.join("w.json5");
    let text = "{ world: 'w', seed: 18446744073709551615, road: '../roads/road.json', actors: [
        { path: 'a', type: 'tracker' },
        { path: 'b', children: [{ name: 'x', type: 'tracker' }, { name: 'y', type: 'car', params: { speed: +.5e1 } }] },
    ], populations: [{ path: 'c', type: 'herd', every: '0.3' }, { path: 'd', type: 'herd', params: { agents: 0x10 } }] }";
    std::fs::write(&file, text).unwrap();
    let scenario = Scenario::from_file(&file, &factories(), Overrides::default()).unwrap();
    let setting_text = scenario.setting_text().unwrap();
    let value: Value = serde_json::from_str(&setting_text).unwrap();
    assert_eq!((&value["world"], &value["seed"]), (&json!("w"), &json!(u64::MAX)));
    assert_eq!(value["shared"][0]["params"], json!("\"../roads/road.json\""));
    assert!(Path::new(value["shared"][0]["base"].as_str().unwrap()).is_absolute());
    let directly = hash("w", u64::MAX, scenario.actors);

    let mut maker = factories().maker(&setting_text).unwrap();
    let mut make = |path: &str, spec: NodeSpec<'_>| {
        // As it goes to the other process: as text.
        let request: NodeRequest = serde_json::from_str(&serde_json::to_string(&spec.to_request()).unwrap()).unwrap();
        maker.make(&JoinRequest::of(path, request), &path.parse().unwrap()).unwrap()
    };
    let params = |text| Params::from_json(text).unwrap();
    let tracker = || NodeSpec::made("tracker", Params::empty());
    let population = |every, text| NodeSpec::Population { factory: "herd", params: params(text), place: None, every };
    let there = vec![
        make("a", tracker()),
        make("b", NodeSpec::Group(vec![("x", tracker()), ("y", NodeSpec::made("car", params("{ speed: +.5e1 }")))])),
        make("c", population(Some(SimDuration::from_millis(300)), "{}")),
        make("d", population(None, "{ agents: 0x10 }")),
    ];
    assert_eq!(hash("w", u64::MAX, there), directly);

    // The road is in the hash, so that a longer one is another world, and is refused.
    std::fs::write(&road, "120.6").unwrap();
    let error = factories().maker(&setting_text).err().unwrap();
    assert!(matches!(error, SettingError::Changed { .. }));
    let error = error.to_string();
    assert!(error.contains("road.json` has changed since the scenario was read"), "{error}");
    // Even when it cannot be loaded any more.
    std::fs::write(&road, "no road").unwrap();
    assert!(matches!(factories().maker(&setting_text), Err(SettingError::Changed { .. })));
    std::fs::remove_file(&road).unwrap();
    let error = factories().maker(&setting_text).err().unwrap().to_string();
    assert!(error.starts_with("cannot read `") && error.contains("road.json`, which the scenario was read with"));
    std::fs::write(&road, "120.5").unwrap();
    assert!(factories().maker(&setting_text).is_ok());
}

#[test]
fn what_was_shared_in_code_is_missed_where_the_setting_is_read() {
    let road = toys::Road { length: 3.0 };
    let setting = Setting { shared: Shared::default().with(road), ..Setting::new("w", 1) };
    let request = JoinRequest::new("a", "tracker");
    assert!(Maker::new(factories(), setting.clone()).make(&request, &"a".parse().unwrap()).is_ok());
    let mut maker = factories().maker(&setting.to_text().unwrap()).unwrap();
    let error = maker.make(&request, &"a".parse().unwrap()).err().unwrap();
    assert!(error.starts_with("it needs a `road`; add one to the scenario"), "{error}");

    // Also when it took the place of what a scenario had.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r"), "1").unwrap();
    let text = "{ world: 'w', road: 'r' }";
    let scenario = Scenario::from_text(text, "x", folder.path(), &factories(), Overrides::default()).unwrap();
    assert!(scenario.setting_text().unwrap().contains("road"));
    let shared = scenario.setting.shared.with(toys::Road { length: 3.0 });
    assert_eq!(Setting { shared, ..Setting::new("w", 0) }.to_text().unwrap(), r#"{"world":"w","seed":0,"shared":[]}"#);
}

#[test]
fn what_is_not_the_text_of_a_setting_is_refused() {
    let error = |text: &str| factories().maker(text).err().unwrap().to_string();
    assert!(error("").starts_with("this is not the text of a setting: EOF"));
    assert!(error(r#"{"world":"w"}"#).contains("missing field `seed`"));
    let field = |field: &str, params: &str| {
        json!({ "world": "w", "seed": 1, "shared": [{ "field": field, "params": params, "base": "/", "files": [] }] })
            .to_string()
    };
    assert_eq!(error(&field("raod", "1")), "cannot load the field `raod`: unknown field `raod`");
    let text = "cannot load the field `road`: 1 stands here, where a text is expected";
    assert_eq!(error(&field("road", "1")), text);
    assert!(error(&field("road", "{")).starts_with("cannot load the field `road`: line 1, column 2: "));
}

#[test]
fn the_pace_of_a_population_stands_behind_its_factory_in_a_request() {
    let every = SimDuration::from_nanos(100_000_001);
    let population =
        NodeSpec::Population { factory: "traffic/fleet", params: Params::empty(), place: None, every: Some(every) };
    let request = population.to_request();
    assert_eq!(request, NodeRequest::Made { factory: "traffic/fleet every 0.100000001".into(), params: "{}".into() });
    assert_eq!(NodeSpec::of_request(&request).unwrap().to_request(), request);
    let made = |factory: &str| {
        let mut maker = Maker::new(factories(), Setting::new("w", 1));
        maker.make(&JoinRequest::new("a", factory), &"a".parse().unwrap()).map(|_| ())
    };
    assert_eq!(made("herd every 2"), Ok(()));
    for every in ["0", "-1", "", "soon"] {
        let error = format!("`herd` cannot tick every `{every}`; give a time in seconds above 0");
        assert_eq!(made(&format!("herd every {every}")), Err(error));
    }
    assert_eq!(made("lens every 2"), Err("`lens` does not make populations; write it under `actors`".to_owned()));
}
