//! Recorded participants say again what they said, when they said it; whoever hears them cannot tell the difference.

use chaconne_conductor::{Actor, ConductorConfig};
use chaconne_record::{Playback, Recorder, Verifier, check};
use chaconne_sim_core::ActorPath;
use chaconne_tests::{Probe, Trace, at, config, of, path, world, world_with};

use super::{cast, changed, failure, find, finish, folder, lines, record, run_with, seal};

/// Who hears everything and writes it down.
fn listener(trace: &Trace) -> Actor {
    Actor::of("listener", Probe::every(1).hears("chaconne/*/actor/**").holds(of("gone", "y")).traced(trace))
}

fn not_ego(path: &ActorPath) -> bool {
    path.segments().next() != Some("ego")
}

#[test]
fn a_listener_hears_the_same_from_the_world_and_from_its_log() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let live = Trace::default();
    let mut recorded = world(cast().into_iter().chain([listener(&live)]));
    recorded.add_monitor(Recorder::new(&file));
    finish(&mut recorded);

    let playback = Playback::open(&file).unwrap();
    assert_eq!(playback.paths().len(), 7);
    for threads in [1, 8] {
        let played = Trace::default();
        let playback = Playback::open(&file).unwrap();
        let mut actors = playback.actors(|path| path.as_str() != "listener").unwrap();
        actors.push(listener(&played));
        let mut world = world_with(ConductorConfig { threads, ..config() }, actors);
        let report = finish(&mut world);
        assert!(report.is_complete(), "{report}");
        assert_eq!(played.lines(), live.lines());
        assert!(live.lines().iter().any(|line| line.contains("gone/y")), "{:?}", live.lines());
    }
}

#[test]
fn an_unchanged_live_part_does_in_played_traffic_what_it_did() {
    let folder = folder();
    let [file, again] = ["log.jsonl", "again.jsonl"].map(|name| folder.path().join(name));
    record(&file);
    let playback = Playback::open(&file).unwrap();
    let live = cast().into_iter().take(2);
    let mut world = world(live.chain(playback.actors(not_ego).unwrap()));
    world.add_monitor(Recorder::new(&again));
    let report = finish(&mut world);
    assert!(report.is_complete(), "{report}");
    // None of the played wrote a state, so that it is the very same run.
    assert_eq!(report.world_hash, check(&file, |_| ()).unwrap().last.world_hash);
    assert_eq!(lines(&again)[1..], lines(&file)[1..]);
}

#[test]
fn the_run_can_be_recorded_and_verified() {
    let folder = folder();
    let [file, again] = ["log.jsonl", "again.jsonl"].map(|name| folder.path().join(name));
    record(&file);
    let changed_ego = || Actor::new("ego").child("controller", Probe::every(2).says("steer").hears(of("late", "x")));
    let actors = || {
        let playback = Playback::open(&file).unwrap();
        std::iter::once(changed_ego()).chain(playback.actors(not_ego).unwrap()).collect()
    };
    let recorded = run_with(config(), actors(), Recorder::new(&again));
    assert!(recorded.is_complete(), "{recorded}");
    assert_ne!(recorded.world_hash, check(&file, |_| ()).unwrap().last.world_hash);
    let verified = run_with(config(), actors(), Verifier::new(&again));
    assert!(verified.is_complete(), "{verified}");
    assert_eq!(verified.world_hash, recorded.world_hash);
}

#[test]
fn joins_and_leaves_are_replayed() {
    let folder = folder();
    let [file, again] = ["log.jsonl", "again.jsonl"].map(|name| folder.path().join(name));
    record(&file);
    let playback = Playback::open(&file).unwrap();
    let all = playback.actors(|_| true).unwrap();
    // What joins and leaves together is one actor, and the camera one under it.
    let paths: Vec<&str> = all.iter().map(Actor::path).collect();
    assert_eq!(paths, ["ego", "late", "gone", "once"]);
    run_with(config(), all, Recorder::new(&again));
    let membership = |file| -> Vec<String> {
        let lines = lines(file);
        lines
            .into_iter()
            .filter(|line| line.contains("\"type\":\"join\"") || line.contains("\"type\":\"leave\""))
            .collect()
    };
    assert_eq!(membership(&again), membership(&file));
}

#[test]
fn actors_under_others_paths_leave_when_they_did() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let actors = vec![
        Actor::new("ego")
            .child("sensors", Actor::group().child("front", Probe::every(1).says("f")))
            .child("body", Probe::every(1)),
        Actor::of("ego/camera", Probe::every(1).says("image")).leaves_at(at(3)),
        Actor::of("ego/camera/codec", Probe::every(1).says("bits")).first_due(at(1)).leaves_at(at(2)),
        Actor::of("ego/sensors/rear", Probe::every(1).says("r")).first_due(at(2)),
    ];
    let expected = run_with(config(), actors, Recorder::new(&file));
    let playback = Playback::open(&file).unwrap();
    let all = playback.actors(|_| true).unwrap();
    let paths: Vec<&str> = all.iter().map(Actor::path).collect();
    assert_eq!(paths, ["ego", "ego/camera", "ego/camera/codec", "ego/sensors/rear"]);
    let report = run_with(config(), all, Verifier::new(&file));
    assert!(report.is_complete(), "{report}");
    assert_eq!(report.world_hash, expected.world_hash);
    // A world has the log for itself.
    let again = playback.actors(|_| true).err().unwrap().to_string();
    assert!(again.contains("is played back already") && again.contains("open it again"), "{again}");
    // One alone stands under a live actor of that path, and not without it.
    let alone = || Playback::open(&file).unwrap().actors(|path| path.as_str() == "ego/camera").unwrap();
    let mut world = world([]);
    let refused = world.add(alone().remove(0)).unwrap_err().to_string();
    assert!(refused.contains("no actor `ego`"), "{refused}");
    world.add(Actor::of("ego", Probe::every(1))).unwrap();
    world.add(alone().remove(0)).unwrap();
    assert!(finish(&mut world).is_complete());
}

#[test]
fn one_part_of_a_live_actor_can_be_played() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let trace = Trace::default();
    let playback = Playback::open(&file).unwrap();
    let controller = playback.participant(&path("ego/controller")).unwrap();
    let ego =
        Actor::new("ego").child("controller", controller).child("body", Probe::every(1).hears("steer").traced(&trace));
    assert!(finish(&mut world([ego])).is_complete());
    // A command reaches a later part in the same instant.
    assert_eq!(
        trace.lines()[..2],
        ["0 ego/body: ego/steer#0@0=0 by ego/controller", "1 ego/body: ego/steer#2@1=1 by ego/controller"]
    );
    let unknown = playback.participant(&path("ego/wheel")).err().unwrap().to_string();
    assert!(unknown.contains("`ego/wheel`") && unknown.contains("log.jsonl"), "{unknown}");
}

#[test]
fn what_may_be_a_part_of_a_live_actor_is_put_there_by_hand() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let refused =
        Playback::open(&file).unwrap().actors(|path| path.as_str() == "ego/counter").err().unwrap().to_string();
    assert!(refused.contains("`ego/counter` may have been a part of one actor with `ego/controller`"), "{refused}");
    assert!(refused.contains("Playback::participant"), "{refused}");
}

#[test]
fn a_played_part_that_left_before_its_actor_does_falls_silent() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let trace = Trace::default();
    let played = Playback::open(&file).unwrap().participant(&path("gone")).unwrap();
    let listener = Actor::of("listener", Probe::every(1).hears(of("gone", "y")).traced(&trace));
    let report = finish(&mut world([Actor::of("gone", played), listener]));
    assert!(report.is_complete(), "{report}");
    assert_eq!(trace.lines()[3..5], ["3 listener: gone/y#2@2=2", "4 listener: -"]);
}

#[test]
fn a_log_that_was_edited_is_not_played() {
    let folder = folder();
    let file = changed(&folder, |lines| {
        let at = find(lines, &["\"path\":\"late\"", "\"seq\":1"]);
        lines[at] = lines[at].replace("\"payload\":1", "\"payload\":7");
    });
    let text = Playback::open(&file).err().unwrap().to_string();
    assert!(text.contains("tick hash") && text.contains("log.jsonl:"), "{text}");
}

#[test]
fn a_world_of_another_name_hears_it_under_its_own_keys() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let trace = Trace::default();
    let playback = Playback::open(&file).unwrap();
    let mut actors = playback.actors(not_ego).unwrap();
    actors.push(Actor::of("listener", Probe::every(1).hears("chaconne/v/actor/late/x").traced(&trace)));
    let mut world = world_with(ConductorConfig { world: "v".into(), ..config() }, actors);
    assert!(finish(&mut world).is_complete());
    assert!(trace.lines()[3].contains("chaconne/v/actor/late/x#0@2=0"), "{:?}", trace.lines());
}

#[test]
fn a_run_that_goes_on_beyond_the_log_halts_and_does_not_let_traffic_stand_still() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let playback = Playback::open(&file).unwrap();
    let mut world = world(playback.actors(|_| true).unwrap().into_iter().chain([Actor::of("live", Probe::every(1))]));
    assert_eq!(playback.end(), at(6));
    world.run_until(playback.end()).unwrap();
    let halt = world.run_until(at(20)).unwrap_err().to_string();
    assert!(halt.contains("`ego/controller`") && halt.contains("ends before 6.0 s: end the run there"), "{halt}");
    // Where nobody was to be due any more, a run goes on for as long as it likes.
    let file = folder.path().join("once.jsonl");
    run_with(config(), vec![Actor::of("once", Probe::at([1]).says("x"))], Recorder::new(&file));
    let playback = Playback::open(&file).unwrap();
    assert_eq!(playback.end(), chaconne_sim_core::SimTime::MAX);
    let actors = playback.actors(|_| true).unwrap().into_iter().chain([Actor::of("live", Probe::every(1))]);
    chaconne_tests::run(actors, 20);
}

#[test]
fn what_cannot_be_played_back_is_refused_by_name() {
    let folder = folder();
    let file = changed(&folder, |lines| {
        lines.pop();
    });
    let cut = Playback::open(&file).err().unwrap().to_string();
    assert!(cut.contains("cut off") && cut.contains("log.jsonl"), "{cut}");
    let file = changed(&folder, |lines| {
        let at = find(lines, &["\"type\":\"tick\",\"tick\":2,"]) + 1;
        lines.insert(at, r#"{"type":"join","path":"newcomer","time":50.0}"#.to_owned());
        seal(lines);
    });
    let nobody = Playback::open(&file).unwrap().actors(|path| path.as_str() == "lat").err().unwrap().to_string();
    assert!(nobody.contains("nobody in") && nobody.contains("ego/controller"), "{nobody}");
    // Who comes later is played back, too.
    assert!(Playback::open(&file).unwrap().actors(|_| true).is_ok());
    let elsewhere = Playback::open(folder.path().join("nowhere.jsonl")).err().unwrap().to_string();
    assert!(elsewhere.contains("nowhere.jsonl"), "{elsewhere}");
    // A part of a live actor that steps at other times than it did.
    let playback = Playback::open(&file).unwrap();
    let played = playback.participant(&path("ego/controller")).unwrap();
    let mut world = world([Actor::of("ego", played).first_due(chaconne_sim_core::SimTime::from_millis(500))]);
    let text = failure(&finish(&mut world));
    assert!(text.contains("`ego`") && text.contains("no step of it at 0.5 s"), "{text}");
}
