//! A monitor that keeps everything it is shown, and a computation of every hash from what it kept.
//!
//! The computation knows the layout of the hashes (the reference functions of [`fingerprint`]) and nothing of the
//! conductor, as a program would that has only the log of a run.

use std::sync::{Arc, Mutex};

use chaconne_conductor::monitor::{Instant, Monitor, Observation};
use chaconne_sim_core::fingerprint::{self, MembershipChange, MembershipKind};
use chaconne_sim_core::{Fingerprint, SimTime};

/// One instant, as a monitor saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenInstant {
    /// Counts instants.
    pub tick: u64,
    /// When it was.
    pub time: SimTime,
    /// Kind, path, time.
    pub membership: Vec<(MembershipKind, String, SimTime)>,
    /// The steps, in the order shown.
    pub steps: Vec<SeenStep>,
    /// The hash of the instant, as shown.
    pub tick_hash: Fingerprint,
    /// The hash of the world, as shown.
    pub world_hash: Fingerprint,
    /// What was observed.
    pub observed: Vec<Observation>,
}

/// One step, as a monitor saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenStep {
    /// Who stepped.
    pub path: String,
    /// When it is due next.
    pub next_due: SimTime,
    /// Key, sequence number, canonical text.
    pub signals: Vec<(String, u64, String)>,
    /// The hash of its state.
    pub state: Option<Fingerprint>,
    /// Its contribution, as shown.
    pub contribution: Fingerprint,
}

/// A monitor that keeps everything. Copies share what is kept.
#[derive(Clone, Default)]
pub struct Witness(Arc<Mutex<Vec<SeenInstant>>>);

impl Witness {
    /// What was seen so far.
    ///
    /// # Panics
    /// When the monitor has panicked.
    pub fn instants(&self) -> Vec<SeenInstant> {
        self.0.lock().unwrap().clone()
    }

    /// What was observed so far.
    ///
    /// # Panics
    /// When the monitor has panicked.
    pub fn observed(&self) -> Vec<Observation> {
        self.instants().into_iter().flat_map(|instant| instant.observed).collect()
    }
}

impl Monitor for Witness {
    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let steps = instant.steps().map(|step| SeenStep {
            path: step.path.to_string(),
            next_due: step.next_due,
            signals: step.signals().map(|signal| (signal.key.to_string(), signal.seq, text(signal.text))).collect(),
            state: step.state,
            contribution: step.contribution,
        });
        let membership = instant.membership.iter().map(|change| (change.kind, change.path.to_string(), change.time));
        self.0.lock().unwrap().push(SeenInstant {
            tick: instant.tick,
            time: instant.time,
            membership: membership.collect(),
            steps: steps.collect(),
            tick_hash: instant.tick_hash,
            world_hash: instant.world_hash,
            observed: instant.observed.to_vec(),
        });
        Ok(())
    }
}

/// Computes every contribution, tick hash and world hash anew, and returns the last world hash.
///
/// # Panics
/// When a hash that was shown differs from the one computed.
pub fn recheck(world: &str, seed: u64, instants: &[SeenInstant]) -> Fingerprint {
    let mut world_hash = fingerprint::world_start(world, seed);
    for instant in instants {
        let contributions: Vec<Fingerprint> = instant.steps.iter().map(contribution).collect();
        let membership: Vec<_> = instant
            .membership
            .iter()
            .map(|(kind, path, time)| MembershipChange { kind: *kind, path, time: *time })
            .collect();
        let tick_hash = fingerprint::tick_hash(instant.tick, instant.time, &contributions, &membership);
        assert_eq!(tick_hash, instant.tick_hash, "the hash of instant {}", instant.tick);
        world_hash = fingerprint::world_next(world_hash, tick_hash);
        assert_eq!(world_hash, instant.world_hash, "the world hash after instant {}", instant.tick);
    }
    world_hash
}

fn contribution(step: &SeenStep) -> Fingerprint {
    let signals: Vec<(&str, u64, &[u8])> =
        step.signals.iter().map(|(key, seq, text)| (key.as_str(), *seq, text.as_bytes())).collect();
    let computed = fingerprint::contribution(&step.path, step.next_due, &signals, step.state);
    assert_eq!(computed, step.contribution, "the contribution of {}", step.path);
    computed
}
