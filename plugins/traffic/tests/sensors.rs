//! Radars and monitors in worlds of their own: planted collisions, noise, threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

use std::sync::{Arc, Mutex};

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{
    ActorPath, Fingerprint, KeyExpr, Participant, SignalValue, SimDuration, SimTime, StepCtx, StepResult, Subscription,
    math::{self, Quat, Vec2},
};
use chaconne_traffic::{
    Body, BodyAnnouncer, Collision, CollisionEnd, CollisionMonitor, Detection, Gap, Pose, Radar, RadarSpec, Ttc,
    TtcMonitor,
    demo::{self, CarSpec},
    radar::Truth,
    road::Road,
};

/// Publishes a pose every 10 ms as a function of the time in seconds.
struct Script(Box<dyn Fn(f64) -> Pose + Send>);

impl Participant for Script {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        ctx.publish("pose", &(self.0)(ctx.now().as_secs_f64()))?;
        ctx.after(SimDuration::from_millis(10))
    }
}

fn pose(position: Vec2, heading: f64, speed: f64) -> Pose {
    Pose { position: position.extend(0.0), orientation: Quat::from_yaw(heading), speed }
}

/// A car that drives straight on and is at a pose at a time in seconds.
fn straight(name: &str, at: Pose, time: f64) -> Actor {
    let position = move |now: f64| at.ground() + at.velocity() * (now - time);
    Actor::of(name, Script(Box::new(move |now| Pose { position: position(now).extend(0.0), ..at })))
}

/// What was published, with its times.
type Log<T> = Arc<Mutex<Vec<(SimTime, T)>>>;

/// Keeps every signal of one key that is published, with its time.
struct Listener<T> {
    key: String,
    log: Log<T>,
}

impl<T: SignalValue> Participant for Listener<T> {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every(self.key.clone())]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for signal in ctx.inbox() {
            self.log.lock().unwrap().push((signal.time(), signal.decode()?));
        }
        ctx.after(SimDuration::from_millis(10))
    }
}

/// A listener to a signal, as an actor of a name, and what it hears.
fn listener<T: SignalValue>(name: &str, actor: &str, signal: &str) -> (Actor, Log<T>) {
    let log = Log::default();
    let listener = Listener { key: KeyExpr::of_actor(actor, signal), log: Arc::clone(&log) };
    (Actor::of(name, listener), log)
}

fn run(actors: Vec<Actor>, threads: usize, typed: bool, end: SimTime) -> Fingerprint {
    let config = ConductorConfig { threads, typed, seed: 7, ..ConductorConfig::default() };
    let mut world = Conductor::new(config).unwrap();
    for actor in actors {
        world.add(actor).unwrap();
    }
    world.run_until(end).unwrap();
    world.world_hash()
}

/// The error that a world of this actor and a collision monitor halts with.
fn halt(actor: Actor) -> String {
    let mut world = Conductor::new(ConductorConfig::default()).unwrap();
    world.add(actor).unwrap();
    world.add(Actor::of("collisions", CollisionMonitor::new())).unwrap();
    world.run_until(SimTime::from_secs(1)).unwrap_err().to_string()
}

/// Two cars around the origin at the moment of their first touch: one heads along X, the other meets it so. With `miss`
/// they pass each other 5 cm apart instead.
fn meeting(kind: usize, miss: bool) -> (Pose, Pose) {
    // Side by side, cars of 1.8 m overlap by 5 cm, or miss by 5 cm.
    let beside = if miss { 1.85 } else { 1.75 };
    let car = |x: f64, y: f64, heading, speed| pose(Vec2::new(x, y), heading, speed);
    match kind {
        // Head-on: front to front at x = 4.
        0 => (car(0.0, 0.0, 0.0, 25.0), car(8.0, if miss { 1.85 } else { 0.3 }, math::PI, 20.0)),
        // Rear-end: front to rear at x = 4.
        1 => (car(0.0, 0.0, 0.0, 30.0), car(5.0, if miss { -1.85 } else { 0.0 }, 0.0, 18.0)),
        // Side swipe: out of the left lane, the front right corner first, at x = 1.5 of the left side; or along it.
        2 if miss => (car(0.0, 0.0, 0.0, 25.0), car(1.0, beside, 0.0, 26.0)),
        2 => {
            let heading = Vec2::from_angle(-0.1);
            let corner = heading * 4.0 - heading.perp() * 0.9;
            let reference = Vec2::new(1.5, 0.9) - corner;
            (car(0.0, 0.0, 0.0, 25.0), pose(reference, -0.1, 25.0))
        }
        // Corner: a little beside each other, the front of one to the rear of the other.
        3 => (car(0.0, 0.0, 0.0, 15.0), car(-5.0, beside, 0.0, 25.0)),
        // Crossing: from the right into the side, or just behind.
        _ => (car(if miss { 2.45 } else { 0.0 }, 0.0, 0.0, 20.0), car(0.5, -4.9, math::FRAC_PI_2, 12.0)),
    }
}

/// The poses of a meeting elsewhere: mirrored or not, turned, shifted.
fn placed((a, b): (Pose, Pose), mirror: bool, turn: f64, shift: Vec2) -> (Pose, Pose) {
    let place = |it: Pose| {
        let sign = if mirror { -1.0 } else { 1.0 };
        let position = Vec2::new(it.position.x, sign * it.position.y).rotate(turn) + shift;
        pose(position, sign * it.heading() + turn, it.speed)
    };
    (place(a), place(b))
}

#[test]
fn twenty_planted_collisions_are_found_at_their_times_and_no_near_miss_is() {
    let (mut actors, mut expected) = (Vec::new(), Vec::new());
    for plant in 0..40 {
        let (kind, variant, miss) = (plant % 5, plant / 5 % 4, plant >= 20);
        let shift = Vec2::new((plant % 8) as f64 * 400.0, (plant / 8) as f64 * 400.0 - 700.0);
        let (a, b) = placed(meeting(kind, miss), variant % 2 == 1, 0.7 * variant as f64, shift);
        // They touch half a sample before the one at which they are to be found.
        let sample = 73 + 11 * plant as i64;
        let touch = (sample as f64 - 0.5) * 0.01;
        let names = [format!("p{plant:02}-a"), format!("p{plant:02}-b")];
        actors.push(straight(&names[0], a, touch));
        actors.push(straight(&names[1], b, touch));
        if !miss {
            let speed = (a.velocity() - b.velocity()).length();
            expected.push((names, SimTime::from_nanos(10_000_000 * sample), speed, shift));
        }
    }
    let (begin, begun) = listener::<Collision>("begin", "collisions", "collision");
    let (end, ended) = listener::<CollisionEnd>("end", "collisions", "collision_end");
    actors.extend([Actor::of("collisions", CollisionMonitor::new()), begin, end]);
    run(actors, 2, true, SimTime::from_secs(8));

    let begun = begun.lock().unwrap();
    assert_eq!(expected.len(), 20);
    assert_eq!(begun.len(), 20, "{begun:?}");
    for (number, ((published, found), ([a, b], time, speed, place))) in (1..).zip(begun.iter().zip(&expected)) {
        assert_eq!((found.a.as_str(), found.b.as_str(), found.number), (a.as_str(), b.as_str(), number));
        assert_eq!(found.time, *time, "{a}");
        assert_eq!(*published, SimTime::from_nanos(time.as_nanos() + 1));
        assert!((found.relative_speed - speed).abs() < 1e-9, "{found:?}");
        assert!(found.position.distance(*place) < 5.0, "{found:?} near {place:?}");
    }
    // Each ends once: the cars drive on through each other.
    let mut ended: Vec<String> = ended.lock().unwrap().iter().map(|(_, end)| end.a.to_string()).collect();
    ended.sort();
    assert_eq!(ended, expected.iter().map(|(names, ..)| names[0].clone()).collect::<Vec<_>>());
}

/// Two cars of which one swings through the other's place once a second.
fn swinging() -> Vec<Actor> {
    let swing = |now: f64| pose(Vec2::new(10.0 - 10.0 * math::sin(math::TAU * now), 0.0), 0.0, 0.0);
    let standing = straight("standing", Pose::default(), 0.0);
    vec![standing, Actor::of("swing", Script(Box::new(swing)))]
}

#[test]
fn a_pair_that_parts_and_meets_again_collides_again_and_not_in_between() {
    let (begin, begun) = listener::<Collision>("begin", "collisions", "collision");
    let (end, ended) = listener::<CollisionEnd>("end", "collisions", "collision_end");
    let mut actors = swinging();
    actors.extend([Actor::of("collisions", CollisionMonitor::new()), begin, end]);
    run(actors, 1, false, SimTime::from_millis(2900));
    let times = |log: Vec<SimTime>| -> Vec<f64> { log.into_iter().map(|time| time.as_secs_f64() % 1.0).collect() };
    let begun = times(begun.lock().unwrap().iter().map(|(_, it)| it.time).collect());
    let ended = times(ended.lock().unwrap().iter().map(|(time, _)| *time).collect());
    assert_eq!((begun.len(), ended.len()), (3, 3));
    // 10 − 10·sin(2πt) is below 5 from 1/12 to 5/12.
    assert!(begun.iter().all(|time| (time - 0.09).abs() < 1e-6), "{begun:?}");
    assert!(ended.iter().all(|time| (time - 0.42).abs() < 1e-6), "{ended:?}");
}

#[test]
fn one_that_leaves_the_world_ends_its_collision() {
    let (end, ended) = listener::<CollisionEnd>("end", "collisions", "collision_end");
    let car = |name, x| straight(name, pose(Vec2::new(x, 0.0), 0.0, 0.0), 0.0);
    let leaves = car("b", 1.0).leaves_at(SimTime::from_millis(505));
    run(
        vec![car("a", 0.0), leaves, Actor::of("collisions", CollisionMonitor::new()), end],
        1,
        true,
        SimTime::from_secs(1),
    );
    let ended = ended.lock().unwrap();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].0, SimTime::from_nanos(510_000_001));
}

#[test]
fn of_two_parts_that_publish_a_pose_the_newer_pose_counts() {
    /// Publishes a pose once.
    struct Once(Pose);
    impl Participant for Once {
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            ctx.publish("pose", &self.0)?;
            Ok(ctx.never())
        }
    }
    let apart = Script(Box::new(|_| pose(Vec2::new(50.0, 0.0), 0.0, 0.0)));
    let car = Actor::new("car").child("a-moved", apart).child("b-first", Once(Pose::default()));
    let (begin, begun) = listener::<Collision>("begin", "collisions", "collision");
    let (end, ended) = listener::<CollisionEnd>("end", "collisions", "collision_end");
    let standing = straight("standing", pose(Vec2::new(1.0, 0.0), 0.0, 0.0), 0.0);
    run(
        vec![car, standing, Actor::of("collisions", CollisionMonitor::new()), begin, end],
        1,
        true,
        SimTime::from_secs(1),
    );
    // At 0 both are equally new, and the part of the later path counts; from 10 ms on it is the other.
    assert_eq!(begun.lock().unwrap().iter().map(|(_, it)| it.time).collect::<Vec<_>>(), [SimTime::ZERO]);
    assert_eq!(ended.lock().unwrap().len(), 1);
}

#[test]
fn a_body_that_was_announced_counts_and_one_that_is_none_halts() {
    let (begin, begun) = listener::<Collision>("begin", "collisions", "collision");
    // A truck of 16 m: 2 m behind the reference point, 14 m ahead of it, where a car would reach only 4 m.
    let truck = Body { length: 16.0, width: 2.5, rear_overhang: 2.0 };
    let drive = Script(Box::new(|now| pose(Vec2::new(20.0 * now, 0.0), 0.0, 20.0)));
    let truck = Actor::new("truck").child("body", BodyAnnouncer::new(truck).unwrap()).child("physics", drive);
    let standing = straight("wreck", pose(Vec2::new(35.1, 0.0), 0.0, 0.0), 0.0);
    run(vec![truck, standing, Actor::of("collisions", CollisionMonitor::new()), begin], 1, true, SimTime::from_secs(2));
    let begun = begun.lock().unwrap();
    assert_eq!(begun.len(), 1);
    // 35.1 − 1 − 14 = 20.1 m at 20 m/s.
    assert_eq!(begun[0].1.time, SimTime::from_millis(1010));

    struct Bad;
    impl Participant for Bad {
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            ctx.publish("body", &Body { width: -1.0, ..Body::CAR })?;
            Ok(ctx.never())
        }
    }
    let error = halt(Actor::of("flat", Bad));
    assert!(error.contains("`flat` published a body that is none: `width` of the body is -1"), "{error}");
}

#[test]
fn a_period_of_nothing_halts_with_a_remedy() {
    let none = SimDuration::ZERO;
    for (actor, who) in [
        (Actor::of("it", CollisionMonitor::new().every(none)), "the collision monitor"),
        (Actor::of("it", TtcMonitor::all().every(none)), "the time-to-collision monitor"),
        (Actor::of("it", Radar::new(RadarSpec::default()).unwrap().every(none)), "the radar"),
    ] {
        let error = halt(actor);
        assert!(error.contains(&format!("{who}'s period is 0.0 s; choose at least 1 ns")), "{error}");
    }
    assert!(TtcMonitor::all().within(0.0).is_err() && TtcMonitor::all().within(f64::NAN).is_err());
}

#[test]
fn the_ttc_of_an_ego_and_of_all_follow_the_closing_gaps() {
    let ego = straight("ego", pose(Vec2::ZERO, 0.0, 30.0), 0.0);
    let lead = straight("lead", pose(Vec2::new(105.0, 0.0), 0.0, 20.0), 0.0);
    // Far away two others are about to meet, 50 m apart at 50 m/s, and part before long.
    let east = straight("x-east", pose(Vec2::new(0.0, 900.0), 0.0, 25.0), 0.0);
    let west = straight("x-west", pose(Vec2::new(58.0, 900.0), math::PI, 25.0), 0.0);
    let of_ego = Actor::of("m-ego", TtcMonitor::new(ActorPath::new("ego").unwrap()));
    let (a, ttc) = listener::<Ttc>("l1", "m-ego", "ttc");
    let (b, least) = listener::<Ttc>("l2", "m-ego", "ttc_min");
    let (c, gap) = listener::<Gap>("l3", "m-ego", "gap_min");
    let (d, all) = listener::<Ttc>("l4", "m-all", "ttc_min");
    let kept = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&kept);
    let monitor = TtcMonitor::all().with_sink(move |minima| *sink.lock().unwrap() = Some(minima.clone()));
    run(
        vec![ego, lead, east, west, of_ego, Actor::of("m-all", monitor), a, b, c, d],
        1,
        true,
        SimTime::from_millis(4050),
    );

    let (ttc, least, gap) = (ttc.lock().unwrap(), least.lock().unwrap(), gap.lock().unwrap());
    // The very first step comes before any pose; then there is one per sample, each smaller than the last.
    assert_eq!((ttc.len(), least.len(), gap.len()), (41, 41, 41));
    for (step, (time, found)) in ttc.iter().enumerate() {
        assert_eq!(*time, SimTime::from_nanos(100_000_000 * step as i64 + 1));
        assert_eq!((found.car.as_str(), found.other.as_str()), ("ego", "lead"));
        assert_eq!(found.time, SimTime::from_millis(100 * step as i32));
        assert!((found.seconds - (10.0 - 0.1 * step as f64)).abs() < 1e-9, "{found:?}");
        assert!((found.gap - 10.0 * found.seconds).abs() < 1e-9, "{found:?}");
        assert!((gap[step].1.metres - found.gap).abs() < 1e-12);
    }
    let all = all.lock().unwrap();
    // 1.0, 0.9, …, 0.1, and from the touch on nothing is smaller than 0.
    assert_eq!((all[0].1.car.as_str(), all[0].1.other.as_str()), ("x-east", "x-west"));
    assert!((all[0].1.seconds - 1.0).abs() < 1e-9 && all.last().unwrap().1.seconds == 0.0, "{all:?}");
    let minima = kept.lock().unwrap().clone().unwrap();
    assert_eq!(minima.ttc.unwrap(), all.last().unwrap().1);
    assert_eq!(minima.gap.unwrap().metres, 0.0);
}

#[test]
fn a_ttc_monitor_is_silent_while_nobody_is_on_a_collision_course() {
    let ego = || straight("ego", pose(Vec2::ZERO, 0.0, 30.0), 0.0);
    let faster = straight("faster", pose(Vec2::new(50.0, 0.0), 0.0, 31.0), 0.0);
    let (ears, heard) = listener::<Ttc>("ears", "monitor", "ttc");
    run(vec![ego(), faster, Actor::of("monitor", TtcMonitor::all()), ears], 1, true, SimTime::from_secs(2));
    assert!(heard.lock().unwrap().is_empty());
    // Nor does one whose ego is not there.
    let (ears, heard) = listener::<Gap>("ears", "monitor", "gap_min");
    let ghost = TtcMonitor::new(ActorPath::new("ghost").unwrap());
    run(vec![ego(), Actor::of("monitor", ghost), ears], 1, true, SimTime::from_secs(2));
    assert!(heard.lock().unwrap().is_empty());
}

type Scans = Log<Vec<Detection>>;
type Truths = Log<Vec<Truth>>;

/// An ego with a radar as an actor of its own under it, behind cars at these places: what it publishes.
fn scans(spec: RadarSpec, cars: &[(&str, f64, f64)]) -> (Scans, Truths) {
    let (a, scans) = listener("ears", "ego/radar", "radar");
    let (b, truths) = listener("oracle", "ego/radar", "radar_truth");
    let radar = Actor::of("ego/radar", Radar::new(spec).unwrap().with_truth());
    let mut actors = vec![straight("ego", pose(Vec2::ZERO, 0.0, 30.0), 0.0), radar, a, b];
    actors.extend(cars.iter().map(|&(name, x, y)| straight(name, pose(Vec2::new(x, y), 0.0, 20.0), 0.0)));
    run(actors, 1, true, SimTime::from_millis(1015));
    (scans, truths)
}

#[test]
fn a_radar_publishes_unnamed_detections_and_on_request_what_is_behind_them() {
    let cars = [("b", 60.0, 0.0), ("a", 90.0, 3.5), ("hidden", 100.0, 0.0)];
    let (noisy, truth) = scans(RadarSpec::default(), &cars);
    let (noisy, truth) = (noisy.lock().unwrap(), truth.lock().unwrap());
    // Nobody has published at 0; then every 50 ms.
    let times: Vec<SimTime> = (1..=20).map(|scan| SimTime::from_millis(50 * scan)).collect();
    assert_eq!(noisy.iter().map(|(time, _)| *time).collect::<Vec<_>>(), times);
    for ((time, scan), (_, truth)) in noisy.iter().zip(truth.iter()) {
        assert_eq!(truth.iter().map(|it| it.target.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        // All poses are those of the instant before.
        let seconds = time.as_secs_f64() - 0.01;
        assert!((truth[0].range - (55.0 - 10.0 * seconds)).abs() < 1e-9 && truth[0].range_rate == -10.0);
        for (found, truth) in scan.iter().zip(truth) {
            let off = [found.range - truth.range, found.range_rate - truth.range_rate, found.azimuth - truth.azimuth];
            assert!(off.iter().all(|off| *off != 0.0 && off.abs() < 0.6), "{off:?}");
        }
    }
}

#[test]
fn another_target_changes_no_draw_of_the_others() {
    let few = scans(RadarSpec::default(), &[("b", 60.0, 0.0), ("d", 90.0, 4.0)]);
    let many = scans(RadarSpec::default(), &[("a", 50.0, -4.0), ("b", 60.0, 0.0), ("c", 70.0, 8.0), ("d", 90.0, 4.0)]);
    let of = |(scans, truths): &(Scans, Truths), name: &str| -> Vec<Detection> {
        let (scans, truths) = (scans.lock().unwrap(), truths.lock().unwrap());
        let named = scans.iter().zip(truths.iter()).flat_map(|(scan, truth)| scan.1.iter().zip(&truth.1));
        named.filter(|(_, truth)| truth.target.as_str() == name).map(|(found, _)| *found).collect()
    };
    for name in ["b", "d"] {
        assert_eq!(of(&few, name).len(), 20);
        assert_eq!(of(&few, name), of(&many, name));
    }
}

/// The seven cars of the demo, each with a radar among its parts, and both monitors.
fn equipped(cars: &[CarSpec], road: &Arc<Road>) -> Vec<Actor> {
    let mut actors: Vec<Actor> = cars
        .iter()
        .map(|car| {
            let (controller, physics) = car.parts(road).unwrap();
            let radar = Radar::new(RadarSpec::default()).unwrap();
            Actor::new(car.name.as_str())
                .child("radar", radar)
                .child("controller", controller)
                .child("physics", physics)
        })
        .collect();
    actors.push(Actor::of("collisions", CollisionMonitor::new()));
    actors.push(Actor::of("ttc", TtcMonitor::all()));
    actors
}

#[test]
fn the_equipped_demo_world_has_one_hash_whatever_the_threads_and_the_hand_over_and_no_collision() {
    let road = Arc::new(Road::demo());
    let cars = demo::cars();
    let hash = |threads, typed| {
        let (ears, begun) = listener::<Collision>("ears", "collisions", "collision");
        let (eyes, scans) = listener::<Vec<Detection>>("eyes", "ego", "radar");
        let mut actors = equipped(&cars, &road);
        actors.extend([ears, eyes]);
        let hash = run(actors, threads, typed, SimTime::from_secs(8));
        assert!(begun.lock().unwrap().is_empty());
        assert!(scans.lock().unwrap().iter().any(|(_, scan)| scan.len() >= 3));
        hash
    };
    let first = hash(1, true);
    assert_eq!(first, hash(2, true));
    assert_eq!(first, hash(2, false));
}
