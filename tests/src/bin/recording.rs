//! Records talkers without end: `recording FILE`. After each instant that the recorder has taken, and before the
//! next one begins, eight bytes on stdout say how many there are (little-endian).

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by panicking")]

use std::io::Write;

use chaconne_conductor::Actor;
use chaconne_conductor::monitor::{Instant, Monitor, MonitorError};
use chaconne_record::Recorder;
use chaconne_sim_core::{SimDuration, SimTime};
use chaconne_tests::{acting, config, world_with};

struct Counts;

impl Monitor for Counts {
    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), MonitorError> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&(instant.tick + 1).to_le_bytes())?;
        Ok(stdout.flush()?)
    }
}

fn main() {
    let file = std::env::args_os().nth(1).unwrap();
    let talker = |number: usize| {
        let mut steps = 0_u64;
        let talk = acting(move |ctx| {
            steps += 1;
            let words = vec![steps; number * 5];
            ctx.publish("words", &words)?;
            ctx.after(SimDuration::from_millis(1))
        });
        Actor::of(format!("talker-{number}"), talk)
    };
    let mut world = world_with(config(), (0..20).map(talker));
    world.add_monitor(Recorder::new(file));
    world.add_monitor(Counts);
    // Whoever listens kills this process in the end; bounded in case nobody does.
    world.run_until(SimTime::from_secs(3600)).unwrap();
}
