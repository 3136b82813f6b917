//! Worlds by number.

use chaconne_sim_core::rng::{Domain, StreamKey};
use chaconne_sim_core::{DetRng, SimDuration, SimTime, Subscription};

use super::world::{ActorPlan, Ask, Blueprint, NodePlan, Wanderer};

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
        actors.push(ActorPlan { path, first_due, leaves_at: None, heavy: rng.coin(), node });
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
    still(number, actors, leaves, time(40, scale))
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
        actors.push(ActorPlan { path, first_due: SimTime::ZERO, leaves_at: None, heavy: rng.below(100) == 0, node });
    }
    let leaves = vec![(time(2, 1), name(10)), (time(2, 1), name(3_000))];
    still(number, actors, leaves, time(5, 1))
}

/// A world whose participants do not ask for anything.
fn still(seed: u64, actors: Vec<ActorPlan>, leaves: Vec<(SimTime, String)>, until: SimTime) -> Blueprint {
    let (joins, planned_joins, planned_leaves, pool) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Blueprint { name: "w-1".to_string(), seed, actors, leaves, joins, planned_joins, planned_leaves, pool, until }
}

/// The `number`-th living world: that of the same number, in which participants ask for others to join and to leave, a
/// driver adds and removes, and plans come true or not. Few paths are asked for by many, so that they are often taken.
///
/// # Panics
/// Never: every list that is drawn from has members.
pub fn living_world(number: u64) -> Blueprint {
    let mut blueprint = world(number);
    let mut rng = StreamKey::new(number, Domain::SetUp, "living world", "random", 0).stream(0);
    let scale = blueprint.until.as_nanos() / 40;
    let mut paths: Vec<String> = blueprint.actors.iter().map(|actor| actor.path.clone()).collect();
    paths.extend(["new", "new/b", "b", "a/only", "Z/z9"].map(str::to_string));
    // Without subscriptions of its own, a node of the pool can stand anywhere.
    for _ in 0..6 {
        let mut taken = Vec::new();
        let mut node = node("new", 2, scale, false, &mut taken, &mut rng);
        subscribe("new", &mut node, &paths, &mut rng);
        blueprint.pool.push(relative(node));
    }
    let mut asks = Vec::new();
    for _ in 0..12 {
        let path = rng.choose(&paths).unwrap().clone();
        let span = |rng: &mut DetRng| SimDuration::from_nanos(rng.range(-1_i64..8) * scale);
        asks.push(match rng.below(5) {
            0 => Ask::Leave { path, after: rng.coin().then(|| span(&mut rng)) },
            1 => Ask::Leave { path, after: Some(SimDuration::from_nanos(rng.range(0_i64..3))) },
            _ => {
                let (node, due) = (rng.below(6) as usize, (rng.below(4) > 0).then(|| span(&mut rng)));
                let leaves = (rng.below(4) == 0).then(|| SimDuration::from_nanos(rng.range(0_i64..20) * scale));
                Ask::Join { path, node, due, leaves }
            }
        });
    }
    let plan = |path: &String, rng: &mut DetRng| {
        let leaves_at = (rng.below(3) == 0).then(|| time(rng.range(1_i64..40), scale));
        let node = rng.choose(&blueprint.pool).unwrap().clone();
        ActorPlan {
            path: path.clone(),
            first_due: time(rng.range(-3_i64..40), scale),
            leaves_at,
            heavy: rng.coin(),
            node,
        }
    };
    for _ in 0..rng.below(6) {
        let path = rng.choose(&paths).unwrap();
        let drive = (time(rng.range(0_i64..40), scale), plan(path, &mut rng));
        blueprint.joins.push(drive);
        let path = rng.choose(&paths).unwrap();
        let planned = plan(path, &mut rng);
        blueprint.planned_joins.push(planned);
        let path = rng.choose(&paths).unwrap().clone();
        blueprint.planned_leaves.push((time(rng.range(1_i64..40), scale), path));
    }
    blueprint.joins.sort_by_key(|(time, _)| *time);
    for actor in &mut blueprint.actors {
        ask(&mut actor.node, &asks, &mut rng);
        if rng.below(6) == 0 {
            actor.leaves_at = Some(time(rng.range(1_i64..40), scale));
        }
    }
    for node in &mut blueprint.pool {
        ask(node, &asks, &mut rng);
    }
    blueprint
}

/// The node with signals that can be published from any path.
fn relative(node: NodePlan) -> NodePlan {
    match node {
        NodePlan::Leaf(mut wanderer) => {
            wanderer.signals.retain(|signal| !signal.contains('/'));
            NodePlan::Leaf(wanderer)
        }
        NodePlan::Group(children) => {
            NodePlan::Group(children.into_iter().map(|(name, child)| (name, relative(child))).collect())
        }
    }
}

/// Lets some of the leaves ask.
fn ask(node: &mut NodePlan, asks: &[Ask], rng: &mut DetRng) {
    match node {
        NodePlan::Leaf(wanderer) => {
            if rng.below(4) == 0 {
                wanderer.asks = asks.iter().filter(|_| rng.coin()).cloned().collect();
            }
        }
        NodePlan::Group(children) => children.iter_mut().for_each(|(_, child)| ask(child, asks, rng)),
    }
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

/// As a [`living_world`], in which participants fail now and then.
pub fn failing_world(number: u64) -> Blueprint {
    let mut world = living_world(number);
    let plans = world.actors.iter_mut().chain(&mut world.planned_joins);
    plans.chain(world.joins.iter_mut().map(|(_, plan)| plan)).for_each(|plan| let_fail(&mut plan.node));
    world.pool.iter_mut().for_each(let_fail);
    world
}

fn let_fail(node: &mut NodePlan) {
    match node {
        NodePlan::Leaf(wanderer) => wanderer.fails = 12,
        NodePlan::Group(children) => children.iter_mut().for_each(|(_, child)| let_fail(child)),
    }
}
