//! Worlds by number.

use chaconne_sim_core::rng::{Domain, StreamKey};
use chaconne_sim_core::{DetRng, SimDuration, SimTime, Subscription};

use super::world::{ActorPlan, Blueprint, NodePlan, Wanderer};

/// Names whose order as bytes is not that of their adding, and where `-` and digits sort around `/`.
const NAMES: [&str; 10] = ["b", "a", "B", "a-b", "ab", "a0", "_", "z9", "a_b", "Z"];
const SIGNALS: [&str; 6] = ["n0", "n1", "r0", "r1", "t0", "t-long"];

/// The `number`-th world: up to sixteen actors, a third of them trees, some under others' paths; cadences that meet often;
/// subscriptions of every kind; some actors that are asked to leave; now and then participants that fail.
///
/// # Panics
/// Never: every list that is drawn from has members.
pub fn world(number: u64) -> Blueprint {
    let mut rng = StreamKey::new(number, Domain::SetUp, "world", "random", 0).stream(0);
    let scale = *rng.choose(&[1, 1_000_000, 1_000_000_007, 1_i64 << 53]).unwrap();
    // One world in four comes to a bad end.
    let fragile = rng.below(4) == 0;
    let mut actors: Vec<ActorPlan> = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for _ in 0..rng.range_inclusive(1..=16) {
        // Under one that is there, one time in three, be it an actor or a part of one.
        let under = if rng.below(3) == 0 { rng.choose(&taken).cloned() } else { None };
        let name = *rng.choose(&NAMES).unwrap();
        let path = under.map_or_else(|| name.to_string(), |under| format!("{under}/{name}"));
        if taken.contains(&path) {
            continue;
        }
        let first_due = time(rng.range(-3_i64..6), scale);
        let node = node(&path, 0, scale, fragile, &mut taken, &mut rng);
        actors.push(ActorPlan { path, first_due, heavy: rng.coin(), node });
    }
    let listen_to = taken.clone();
    for actor in &mut actors {
        let path = actor.path.clone();
        subscribe(&path, &mut actor.node, &listen_to, &mut rng);
    }
    let mut leaves: Vec<(SimTime, String)> = Vec::new();
    for actor in &actors {
        if rng.below(4) == 0 {
            leaves.push((time(rng.range(1_i64..40), scale), actor.path.clone()));
        }
    }
    leaves.sort();
    Blueprint { name: "w-1".to_string(), seed: number, actors, leaves, until: time(40, scale) }
}

/// The `number`-th large world: about five thousand leaves, some of them in trees or under others' paths, nearly all due at
/// each of a few instants; so that an instant is stepped in several batches and by several threads. The odd ones come to a
/// bad end.
///
/// # Panics
/// Never: every list that is drawn from has members.
pub fn large_world(number: u64) -> Blueprint {
    let mut rng = StreamKey::new(number, Domain::SetUp, "large world", "random", 0).stream(0);
    let fragile = number % 2 == 1;
    let mut actors: Vec<ActorPlan> = Vec::new();
    let name = |number: u64| format!("p{number}");
    let leaf = |path: &str, rng: &mut DetRng| {
        let signals = if rng.below(12) == 0 { vec!["n0".to_string(), "t0".to_string()] } else { Vec::new() };
        let from = name(rng.below(4_000));
        let text = match rng.below(400) {
            0 => "chaconne/*/actor/*/t0".to_string(),
            1 => format!("chaconne/w-1/actor/{from}$*/**"),
            2..30 => format!("chaconne/w-1/actor/{path}/**"),
            _ => format!("chaconne/w-1/actor/{from}/n0"),
        };
        let subscription = if rng.coin() { Subscription::every(text) } else { Subscription::latest(text) };
        let periods = vec![SimDuration::from_nanos(1), SimDuration::from_nanos(rng.range_inclusive(1_i64..=2))];
        let fails = if fragile && rng.below(250) == 0 { 20 } else { 0 };
        NodePlan::Leaf(Wanderer { subscriptions: vec![subscription], signals, periods, fails, ..Wanderer::default() })
    };
    for number in 0..4_000 {
        // One in forty under an earlier one.
        let under = if number > 0 && rng.below(40) == 0 { Some(name(rng.below(number))) } else { None };
        let under = under.filter(|under| actors.iter().any(|actor| actor.path == *under));
        let path = under.map_or_else(|| name(number), |under| format!("{under}/{}", name(number)));
        let node = match rng.below(8) {
            0 => NodePlan::Group(["b", "a", "c"].map(|child| (child.to_string(), leaf(&path, &mut rng))).into()),
            _ => leaf(&path, &mut rng),
        };
        actors.push(ActorPlan { path, first_due: SimTime::ZERO, heavy: rng.below(100) == 0, node });
    }
    let leaves = vec![(time(2, 1), name(10)), (time(2, 1), name(3_000))];
    Blueprint { name: "w-1".to_string(), seed: number, actors, leaves, until: time(5, 1) }
}

fn time(units: i64, scale: i64) -> SimTime {
    SimTime::from_nanos(units * scale)
}

/// A tree of at most three levels. Its paths are added to `taken`.
fn node(path: &str, depth: u32, scale: i64, fragile: bool, taken: &mut Vec<String>, rng: &mut DetRng) -> NodePlan {
    taken.push(path.to_string());
    if depth == 3 || rng.below(3) > 0 {
        return NodePlan::Leaf(wanderer(path, scale, fragile, rng));
    }
    let mut children: Vec<(String, NodePlan)> = Vec::new();
    for _ in 0..rng.range_inclusive(1..=3) {
        let name = *rng.choose(&NAMES).unwrap();
        let child = format!("{path}/{name}");
        if !taken.contains(&child) {
            children.push((name.to_string(), node(&child, depth + 1, scale, fragile, taken, rng)));
        }
    }
    if children.is_empty() {
        let child = format!("{path}/only");
        children.push(("only".to_string(), node(&child, 3, scale, fragile, taken, rng)));
    }
    NodePlan::Group(children)
}

fn wanderer(path: &str, scale: i64, fragile: bool, rng: &mut DetRng) -> Wanderer {
    let mut signals: Vec<String> = Vec::new();
    for _ in 0..rng.below(4) {
        let signal = *rng.choose(&SIGNALS).unwrap();
        let text = match rng.below(3) {
            0 => {
                // One's own, or an ancestor's.
                let segments: Vec<&str> = path.split('/').collect();
                let upto = rng.range_inclusive(1..=segments.len() as u64) as usize;
                format!("chaconne/w-1/actor/{}/{signal}", segments[..upto].join("/"))
            }
            _ => signal.to_string(),
        };
        if !signals.contains(&text) {
            signals.push(text);
        }
    }
    let count = rng.range_inclusive(1..=3);
    let periods = (0..count).map(|_| SimDuration::from_nanos(rng.range_inclusive(1_i64..=6) * scale)).collect();
    let stops = if rng.below(5) == 0 { 6 } else { 0 };
    let fails = if fragile && rng.coin() { *rng.choose(&[3, 30]).unwrap() } else { 0 };
    Wanderer { signals, periods, stops, fails, stateful: rng.coin(), ..Wanderer::default() }
}

/// Gives every leaf of a tree up to four subscriptions.
fn subscribe(path: &str, node: &mut NodePlan, paths: &[String], rng: &mut DetRng) {
    match node {
        NodePlan::Group(children) => {
            for (name, child) in children {
                subscribe(&format!("{path}/{name}"), child, paths, rng);
            }
        }
        NodePlan::Leaf(wanderer) => {
            for _ in 0..rng.below(5) {
                let text = expression(paths, rng);
                let subscription = if rng.coin() { Subscription::every(text) } else { Subscription::latest(text) };
                // Two `latest` subscriptions of one text are read by one text; one is enough.
                if !wanderer.subscriptions.contains(&subscription) {
                    wanderer.subscriptions.push(subscription);
                }
            }
        }
    }
}

fn expression(paths: &[String], rng: &mut DetRng) -> String {
    let path = rng.choose(paths).unwrap().clone();
    let signal = *rng.choose(&SIGNALS).unwrap();
    let letter = *rng.choose(&["a", "b", "z", "_"]).unwrap();
    match rng.below(14) {
        0..4 => format!("chaconne/*/actor/{path}/{signal}"),
        4 => format!("chaconne/w-1/actor/{path}/{signal}"),
        5 => signal.to_string(),
        6 => format!("chaconne/*/actor/**/{signal}"),
        7 => format!("chaconne/*/actor/*/{signal}"),
        8 => format!("chaconne/*/actor/{path}/**"),
        9 => format!("chaconne/w-1/actor/{letter}$*/**"),
        10 => format!("chaconne/*/actor/**/$*{letter}/{signal}"),
        11 => format!("**/{letter}$*/n$*"),
        12 => "**".to_string(),
        _ => format!("chaconne/w$*/actor/**/@{letter}/{signal}"),
    }
}
