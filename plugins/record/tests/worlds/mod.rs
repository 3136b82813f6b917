//! Tiny worlds, recorded, and the lines of their logs.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_record::{Block, InstantRecord, LogError, LogReader, Recorder};
use chaconne_sim_core::context::StepCtx;
use chaconne_sim_core::error::StepResult;
use chaconne_sim_core::fingerprint::StateWriter;
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::signal::Payload;
use chaconne_sim_core::time::{SimDuration, SimTime};

/// Publishes what it is told, every so often.
pub(crate) struct Teller {
    pub(crate) period: SimDuration,
    /// Signal and canonical text, of which each step publishes one more than the last: one, two, … from the front.
    pub(crate) says: Vec<(&'static str, &'static str)>,
    pub(crate) steps: u64,
    pub(crate) has_state: bool,
}

impl Teller {
    pub(crate) fn new(period_ms: i32, says: &[(&'static str, &'static str)]) -> Self {
        Self { period: SimDuration::from_millis(period_ms), says: says.to_vec(), steps: 0, has_state: false }
    }

    pub(crate) fn with_state(self) -> Self {
        Self { has_state: true, ..self }
    }
}

impl Participant for Teller {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        self.steps += 1;
        for (signal, text) in self.says.iter().take(self.steps as usize) {
            ctx.publish_payload(signal, &Payload::from_text(text.as_bytes())?)?;
        }
        ctx.after(self.period)
    }

    fn write_state(&self, out: &mut StateWriter) {
        if self.has_state {
            out.u64(self.steps);
        }
    }
}

/// A world of a clock, a car of two parts and a guest that leaves.
pub(crate) fn conductor() -> Conductor {
    let mut conductor = Conductor::new(ConductorConfig { world: "w".into(), seed: 42, ..Default::default() }).unwrap();
    let clock = Teller::new(100, &[("time", "1.5"), ("type", r#"{"type":"tick"}"#)]).with_state();
    let eye = Teller::new(200, &[("seen", r#"[1,"é\n",null]"#), ("none", "[]")]);
    let motor = Teller::new(200, &[("pose", r#"{"x":1e+21,"y":{"z":[0.1,2]}}"#)]).with_state();
    conductor.add(Actor::of("clock", clock)).unwrap();
    conductor.add(Actor::new("ego").child("eye", eye).child("motor", motor)).unwrap();
    let guest = Actor::of("guest", Teller::new(50, &[])).first_due(SimTime::from_millis(100));
    conductor.add(guest.leaves_at(SimTime::from_millis(250))).unwrap();
    conductor
}

/// Records a run to its end.
pub(crate) fn record(mut conductor: Conductor, until: SimTime, file: &Path) {
    conductor.add_monitor(Recorder::new(file));
    conductor.run_until(until).unwrap();
    let report = conductor.end(Duration::ZERO);
    assert!(report.end_failures.is_empty(), "{report}");
}

/// The log of [`conductor`] with a short header and an `observed` line inside an instant and between two.
pub(crate) fn short_log(folder: &Path) -> Vec<u8> {
    let file = folder.join("short.jsonl");
    record(conductor(), SimTime::from_millis(400), &file);
    let text = std::fs::read_to_string(&file).unwrap();
    let observed =
        |time: &str| format!(r#"{{"type":"observed","time":{time},"path":null,"kind":"late","data":[{time}]}}"#);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let cut = lines[0].find(r#""provenance":"#).unwrap();
    lines[0].truncate(cut);
    lines[0].push_str(r#""provenance":{"config":{"a":"b"}}}"#);
    let behind_tick = |lines: &[String], tick: usize| {
        lines.iter().position(|line| line.contains(&format!(r#""type":"tick","tick":{tick},"#))).unwrap() + 1
    };
    let (between, inside) = (behind_tick(&lines, 1), behind_tick(&lines, 2) + 1);
    lines.insert(inside, observed("0.2"));
    lines.insert(between, observed("0.1"));
    let text = lines.join("\n") + "\n";
    std::fs::write(&file, &text).unwrap();
    chaconne_record::check(&file, |_| {}).unwrap();
    text.into_bytes()
}

/// Where the header, each instant and the last line of a log lie. `observed` lines count to what follows them.
pub(crate) struct Layout {
    pub(crate) header: Range<usize>,
    pub(crate) instants: Vec<Range<usize>>,
    pub(crate) last: Range<usize>,
}

impl Layout {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut at = 0;
        let (mut header, mut instants, mut last, mut start) = (0..0, Vec::new(), 0..0, 0);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            at += line.len();
            if line.starts_with(b"{\"type\":\"header\"") {
                header = start..at;
            } else if line.starts_with(b"{\"type\":\"tick\"") {
                instants.push(start..at);
            } else if line.starts_with(b"{\"type\":\"end\"") {
                last = start..at;
            } else {
                continue;
            }
            start = at;
        }
        Self { header, instants, last }
    }
}

/// The signals, joins and steps of every instant, as text, and the world's hash after it, by the number of the instant.
pub(crate) fn instants(file: &Path) -> Result<BTreeMap<u64, (String, String)>, LogError> {
    let mut log = LogReader::open(file)?;
    let mut instant = InstantRecord::default();
    let mut found = BTreeMap::new();
    loop {
        match log.next_block(&mut instant)? {
            Block::Instant => {
                let members: Vec<_> = instant.membership().map(|member| format!("{:?}", member.change)).collect();
                let steps: Vec<_> = instant.steps().map(|step| format!("{:?}", step.step)).collect();
                let signals: Vec<_> = instant.signals().map(|signal| format!("{:?}", signal.signal)).collect();
                let content = format!("{members:?} {steps:?} {signals:?} {:?}", instant.tick_hash);
                found.insert(instant.tick, (content, format!("{:?}", instant.world_hash)));
            }
            Block::Gap { .. } => {}
            Block::Last { .. } => return Ok(found),
        }
    }
}
