//! The examples as programs: golden hashes in this build, options that change no result, refusals without panic text.

use super::{Ran, golden, run};

const TRAFFIC: &str = env!("CARGO_BIN_EXE_traffic");

/// Every example, by name.
const EXAMPLES: [(&str, &str); 6] = [
    ("churn", env!("CARGO_BIN_EXE_churn")),
    ("hello", env!("CARGO_BIN_EXE_hello")),
    ("ring", env!("CARGO_BIN_EXE_ring")),
    ("traffic", TRAFFIC),
    ("traffic_realtime", env!("CARGO_BIN_EXE_traffic_realtime")),
    ("traffic_scale", env!("CARGO_BIN_EXE_traffic_scale")),
];

/// The object that `--json` prints as the last line.
fn json(program: &str, arguments: &[&str]) -> serde_json::Value {
    let ran = run(program, &[arguments, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    serde_json::from_str(ran.stdout.lines().next_back().unwrap()).unwrap()
}

fn world_hash(program: &str, arguments: &[&str]) -> String {
    json(program, arguments)["world_hash"].as_str().unwrap().to_string()
}

/// Refused: exit code 2, nothing on stdout, one sentence on stderr, no panic text.
fn refused(name: &str, program: &str, arguments: &[&str]) -> String {
    let Ran { code, stdout, stderr } = run(program, arguments);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{name} {arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{name} {arguments:?}: {stderr}");
    assert!(stderr.starts_with("error: ") && !stderr.contains("panicked"), "{stderr}");
    stderr
}

#[test]
fn traffic_has_its_golden_hash_in_this_build_whatever_the_threads_and_the_hand_over() {
    let golden = &golden()["traffic"];
    let arguments: Vec<&str> = golden.args.iter().map(String::as_str).collect();
    for more in [
        &["--threads", "1"][..],
        &["--threads", "2"],
        &["--threads", "8"],
        &["--threads", "1", "--no-typed"],
        &["--threads", "8", "--no-typed"],
    ] {
        assert_eq!(world_hash(TRAFFIC, &[&arguments, more].concat()), golden.world_hash, "{more:?}");
    }
}

#[test]
fn real_time_is_the_same_run() {
    let arguments = ["--quiet", "--until", "20"];
    assert_eq!(world_hash(TRAFFIC, &arguments), golden()["traffic_realtime"].world_hash);
    let (_, program) = EXAMPLES[4];
    let ran = json(program, &["--quiet", "--factor", "40", "--precise"]);
    assert_eq!(ran["world_hash"], golden()["traffic_realtime"].world_hash);
    assert_eq!((&ran["pacing"]["instants"], ran.get("stopped")), (&ran["instants"], None));
    assert!(ran["pacing"]["elapsed_s"].as_f64() >= Some(0.5), "{ran}");
}

#[test]
fn another_seed_or_another_end_is_another_hash() {
    let expected = world_hash(TRAFFIC, &["--quiet"]);
    assert_eq!(world_hash(TRAFFIC, &["--quiet", "--seed", "42"]), expected);
    assert_ne!(world_hash(TRAFFIC, &["--quiet", "--seed", "43"]), expected);
    assert_ne!(world_hash(TRAFFIC, &["--quiet", "--until", "29"]), expected);
}

#[test]
fn the_examples_with_a_golden_hash_have_it_in_this_build() {
    let golden = golden();
    for (name, program) in EXAMPLES {
        if let Some(entry) = golden.get(name) {
            let arguments: Vec<&str> = entry.args.iter().map(String::as_str).collect();
            assert_eq!(world_hash(program, &arguments), entry.world_hash, "{name}");
        }
    }
}

#[test]
fn threads_and_the_hand_over_change_no_hash_of_any_example() {
    for (name, arguments) in [
        ("hello", &[][..]),
        ("churn", &["--joins", "2000", "--present", "100"]),
        ("ring", &["--participants", "1500", "--instants", "15"]),
        ("traffic_scale", &["--cars", "1200", "--rounds", "1"]),
        ("traffic_scale", &["--cars", "1200", "--rounds", "1", "--population"]),
    ] {
        let (_, program) = EXAMPLES.into_iter().find(|(other, _)| *other == name).unwrap();
        let hash = |more: &[&str]| world_hash(program, &[arguments, &["--quiet"], more].concat());
        let expected = hash(&["--threads", "1"]);
        assert_eq!(hash(&["--threads", "2"]), expected, "{name}");
        assert_eq!(hash(&["--threads", "8", "--no-typed"]), expected, "{name}");
        assert_ne!(hash(&["--seed", "1"]), expected, "{name}");
    }
}

#[test]
fn an_option_that_is_none_is_refused_in_one_sentence() {
    for (name, program) in EXAMPLES {
        let text = refused(name, program, &["--thread-count", "2"]);
        assert!(text.contains("--thread-count"), "{text}");
        for arguments in [
            &["--seed", "many"][..],
            &["--seed", "-1"],
            &["--threads", "x"],
            &["--threads"],
            &["a-road"],
            &["--seed", "99999999999999999999"],
        ] {
            refused(name, program, arguments);
        }
    }
}

#[test]
fn every_example_helps_and_is_silent_when_asked() {
    for (name, program) in EXAMPLES {
        let Ran { code, stdout, stderr } = run(program, &["--help"]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{name}");
        for option in ["--seed", "--threads", "--quiet", "--json"] {
            assert!(stdout.contains(option), "{name}: {stdout}");
        }
    }
    let Ran { code, stdout, stderr } = run(TRAFFIC, &["--quiet", "--until", "1"]);
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn traffic_prints_a_line_per_car_and_second_and_closes_with_the_hash() {
    let Ran { code, stdout, stderr } = run(TRAFFIC, &["--until", "3"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let lines = |car: &str| {
        let of_car = stdout.lines().filter(|line| line.split_whitespace().nth(2) == Some(car));
        let firsts = of_car.clone().filter(|line| line.ends_with("first pose"));
        assert_eq!(firsts.count(), 1, "{car}: {stdout}");
        of_car.count()
    };
    assert_eq!(lines("ego"), 3);
    // Those who are there from the first 100 ms on, and one that comes later.
    assert_eq!(["car-1", "car-2", "car-3", "car-4", "car-5"].map(lines), [2, 2, 2, 2, 1]);
    let hash = world_hash(TRAFFIC, &["--quiet", "--until", "3"]);
    for part in ["no collision; smallest gap ", "5 cars joined the ego and 0 left; ", "world hash ", &hash] {
        assert!(stdout.contains(part), "no `{part}` in {stdout}");
    }
}

#[test]
fn several_seeds_are_the_worlds_of_each_and_their_sum() {
    let arguments = ["--seeds", "3", "--seed", "5", "--until", "20"];
    let total = json(TRAFFIC, &[&arguments[..], &["--quiet"]].concat());
    let mut changes = 0;
    for (run, seed) in total["runs"].as_array().unwrap().iter().zip(["5", "6", "7"]) {
        let alone = json(TRAFFIC, &["--seed", seed, "--until", "20", "--quiet"]);
        for field in [
            "seed",
            "world_hash",
            "joined",
            "lane_changes",
            "into_ego_lane",
            "collisions",
            "least_gap_m",
            "least_ttc_s",
        ] {
            assert_eq!(run[field], alone[field], "{field} of {seed}");
        }
        changes += run["lane_changes"].as_u64().unwrap();
    }
    assert_eq!(
        (&total["seeds"], &total["lane_changes"], &total["collisions"]),
        (&3.into(), &changes.into(), &0.into())
    );
    assert!(changes >= 3 && total["into_ego_lane"].as_u64() > Some(0), "{total}");
    let Ran { code, stdout, stderr } = run(TRAFFIC, &arguments);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for run in total["runs"].as_array().unwrap() {
        assert!(stdout.contains(run["world_hash"].as_str().unwrap()), "{stdout}");
    }
    for seeds in [&["--seeds", "0"][..], &["--seeds", "-1"], &["--seeds", "2", "--seed", "18446744073709551614"]] {
        refused("traffic", TRAFFIC, seeds);
    }
}

#[test]
fn a_road_that_cannot_be_read_is_refused_in_one_sentence_that_names_it() {
    let folder = std::env::temp_dir().join(format!("chaconne-roads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let demo = include_str!("../../../assets/roads/demo.json");
    let value: serde_json::Value = serde_json::from_str(demo).unwrap();
    let (field, _) = value.as_object().unwrap().iter().next().unwrap();
    let missing =
        serde_json::Value::from_iter(value.as_object().unwrap().clone().into_iter().filter(|(key, _)| key != field));
    let unknown = serde_json::Value::from_iter(
        value.as_object().unwrap().clone().into_iter().chain([("surface".to_string(), serde_json::Value::from("ice"))]),
    );
    for (name, text, says) in [
        ("missing.json", missing.to_string(), field.as_str()),
        ("unknown.json", unknown.to_string(), "surface"),
        ("torn.json", demo[..demo.len() / 2].to_string(), ""),
        ("empty.json", String::new(), ""),
        ("infinite.json", demo.replacen(": ", ": 1e999, \"x\": ", 1), ""),
    ] {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        let text = refused("traffic", TRAFFIC, &["--road", file.to_str().unwrap()]);
        assert!(text.contains(name) && text.contains(says), "{text}");
    }
    let text = refused("traffic", TRAFFIC, &["--road", "no/such/road.json"]);
    assert!(text.contains("no/such/road.json"), "{text}");
    let narrow = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/roads/merge.json");
    let text = refused("traffic", TRAFFIC, &["--road", narrow]);
    assert!(text.contains("road `merge` has 2 lanes"), "{text}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn traffic_refuses_times_that_are_none() {
    for until in ["0", "-1", "soon", "1e99", "NaN", "99999999999999"] {
        refused("traffic", TRAFFIC, &["--until", until]);
    }
}

#[test]
fn memory_stays_where_it_is_while_many_join_and_leave() {
    let churn = env!("CARGO_BIN_EXE_churn");
    let output = std::process::Command::new(churn)
        .args(["--joins", "60000", "--present", "200", "--quiet", "--json", "--threads", "1"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let ran: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&ran["joins"], &ran["leaves"], &ran["refusals"]), (&60_001.into(), &59_800.into(), &0.into()));
    // Where the operating system tells: a hundred bytes for each that ever was would be five mebibytes.
    if let (Some(early), Some(late)) = (ran["bytes_after_first_part"].as_u64(), ran["bytes_at_the_end"].as_u64()) {
        assert!(late < early + (1 << 20), "{early} bytes, then {late}");
    }
}
