//! The driver: what the systems of the schedule [`Conduct`](crate::Conduct) do, and when a run ends.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::time::Duration;

use bevy_app::AppExit;
use bevy_ecs::message::Messages;
use bevy_ecs::prelude::{Resource, World};
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::clock::{Stopwatch, sleep};
use crate::composite::Actor;
use crate::conductor::{Conductor, ConductorConfig};
use crate::error::{HaltCause, RegistrationError};
use crate::host::process::HelperProgram;
use crate::membership::ActorMaker;
use crate::mirror::{MirrorChanges, MirrorSpec, Mirrors};
use crate::monitor::{Monitor, Observation, Observed};
use crate::pacing::{Pacer, Pacing};
use crate::plugin::{ConductorPlugin, RunEnded, RunStatus};
use crate::run::RunReport;
use crate::stop::StopHandle;

/// Whoever waits for the wall clock looks so often whether the run is to stop.
const NAP: Duration = Duration::from_millis(10);

/// A wait that exceeds the slice by no more is waited out: the rest of the schedules could make the instant late.
const TOLERANCE: Duration = Duration::from_millis(1);

/// The conductor and what is collected for it before it starts. Taken out of the `World` while it works.
#[derive(Default)]
pub(crate) struct Driver {
    pub(crate) settings: Option<ConductorPlugin>,
    pub(crate) actors: Vec<Actor>,
    pub(crate) monitors: Vec<Box<dyn Monitor>>,
    pub(crate) maker: Option<Box<dyn ActorMaker>>,
    pub(crate) helper: Option<HelperProgram>,
    /// Leaves that are planned, with their times.
    pub(crate) leaves: Vec<(ActorPath, SimTime)>,
    pub(crate) specs: Vec<Box<dyn MirrorSpec>>,
    pub(crate) conductor: Option<Conductor>,
    mirrors: Mirrors,
    /// Stop before this time even though the run goes on: `run_headless` in pieces.
    pub(crate) pause: Option<SimTime>,
    /// The runner of the `App` may be kept waiting.
    pub(crate) is_headless: bool,
    pub(crate) stop: StopHandle,
    pace: Option<Pace>,
    phase: Phase,
    /// The run was stopped before its end.
    stopped: bool,
    wall: Duration,
    /// Counts how often the conductor was given its turn.
    pub(crate) turns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Running,
    /// The end is reached; `RunEnded` has not been triggered.
    Ending,
    Ended,
}

/// The pace of a run on the wall clock.
struct Pace {
    pacer: Pacer,
    clock: Stopwatch,
    spin: bool,
    /// How late the last instant was.
    lateness: Duration,
}

impl Pace {
    /// How long it is until a time is due.
    fn wait(&self, time: SimTime) -> Duration {
        self.pacer.wait(time, self.clock.elapsed())
    }

    /// What is told of an instant that begins at a moment, when that is too late.
    fn overrun(&self, time: SimTime, moment: Duration) -> Option<Observation> {
        let (late, slipped) = self.pacer.lateness(time, moment);
        let what = Observed::Overrun { late, slipped };
        (!slipped.is_zero()).then_some(Observation { time, path: None, what })
    }

    /// Steps an instant and takes note of when it began. A time at which nobody is stepped, because a plan to join is
    /// refused then, is none; nor is one that halts the run.
    fn step(&mut self, time: SimTime, conductor: &mut Conductor) {
        let (moment, ticks) = (self.clock.elapsed(), conductor.ticks());
        conductor.observed.extend(self.overrun(time, moment));
        // A halt is in the conductor.
        let _ = conductor.step_instant();
        if conductor.ticks() == ticks {
            conductor.observed.retain(|seen| !matches!(seen.what, Observed::Overrun { .. }));
        } else {
            self.lateness = self.pacer.begin(time, moment);
        }
    }
}

/// Holds the [`Driver`]. In a mutex, because participants need not be `Sync`; it is only ever reached by `&mut`.
#[derive(Resource, Default)]
struct DriverSlot(Mutex<Option<Box<Driver>>>);

/// The driver, for set-up.
pub(crate) fn driver_of(world: &mut World) -> &mut Driver {
    world.init_resource::<DriverSlot>();
    let slot = world.resource_mut::<DriverSlot>().into_inner();
    // A poisoned lock means a panic inside a system, after which nothing is conducted any more.
    slot.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert_default()
}

/// Works on the driver with the world at hand.
fn with_driver<R>(world: &mut World, work: impl FnOnce(&mut Driver, &mut World) -> R) -> R {
    let mut driver = std::mem::take(driver_of(world));
    // What panics here is not a step (a mirrored type, say); the driver is put back before the panic goes on.
    let result = catch_unwind(AssertUnwindSafe(|| work(&mut driver, world)));
    *driver_of(world) = driver;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

impl Driver {
    /// Makes the conductor out of what was collected; errors of registration halt it before its first instant.
    pub(crate) fn start(&mut self, settings: &ConductorPlugin) -> &mut Conductor {
        let Self { conductor, actors, monitors, maker, helper, leaves, pace, .. } = self;
        conductor.get_or_insert_with(|| {
            let config = ConductorConfig {
                world: settings.world.clone(),
                seed: settings.seed,
                threads: settings.threads,
                typed: settings.typed,
                timing: settings.timing,
            };
            let mut errors: Vec<RegistrationError> = Vec::new();
            let mut conductor = Conductor::new(config.clone()).unwrap_or_else(|error| {
                errors.push(error);
                Conductor::nameless(ConductorConfig { seed: config.seed, ..ConductorConfig::default() })
            });
            conductor.maker = maker.take();
            if let Some(program) = helper.take() {
                conductor.set_helper(program);
            }
            // Taken, so that their memory is given back.
            errors.extend(std::mem::take(actors).into_iter().filter_map(|actor| conductor.add(actor).err()));
            let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let leaves = leaves.drain(..);
            errors.extend(leaves.filter_map(|(path, time)| Some(conductor.leave_at(&path, time).err()?.to_string())));
            errors.extend(settings.pacing.fault());
            conductor.monitors.append(monitors);
            if !errors.is_empty() {
                conductor.halt(None, HaltCause::Registration(errors));
            } else if let Pacing::RealTime { factor, spin } = settings.pacing {
                let pacer = Pacer::new(factor, settings.lateness_limit);
                *pace = Some(Pace { pacer, clock: Stopwatch::start(), spin, lateness: Duration::ZERO });
            }
            conductor
        })
    }

    /// Steps what is due, for about a slice of wall time.
    fn work(&mut self, settings: &ConductorPlugin) {
        let end = settings.end.unwrap_or(SimTime::MAX);
        let limit = self.pause.map_or(end, |pause| pause.min(end));
        let may_sleep = self.is_headless || self.pause.is_some();
        let Self { conductor: Some(conductor), pace, stop, .. } = self else { return };
        let started = Stopwatch::start();
        let mut slept = Duration::ZERO;
        while conductor.halted().is_none() && !stop.is_stopped() {
            let Some(next) = conductor.next_instant() else { break };
            let wait = pace.as_ref().map_or(Duration::ZERO, |pace| pace.wait(next.min(limit)));
            if !wait.is_zero() {
                let spin = pace.as_ref().is_some_and(|pace| pace.spin);
                let before = started.elapsed();
                let left = settings.slice.max(TOLERANCE).saturating_sub(before);
                if !may_sleep || left.is_zero() {
                    break;
                }
                if wait <= left + TOLERANCE && wait <= 2 * NAP {
                    sleep(wait, spin);
                } else {
                    sleep(left.min(NAP), false);
                }
                slept += started.elapsed() - before;
                continue;
            }
            if next >= limit {
                break;
            }
            match pace {
                Some(pace) => pace.step(next, conductor),
                None => {
                    // A halt is in the conductor.
                    let _ = conductor.step_instant();
                }
            }
            if started.elapsed() >= settings.slice {
                break;
            }
        }
        self.wall += started.elapsed().saturating_sub(slept);
        self.decide(end);
    }

    /// Decides whether the run is over.
    fn decide(&mut self, end: SimTime) {
        let Self { conductor: Some(conductor), pace, stop, .. } = self else { return };
        if let Some(pace) = pace {
            pace.pacer.pass(pace.clock.elapsed());
        }
        let is_before_end = conductor.next_instant().is_some_and(|time| time < end);
        if conductor.halted().is_some() {
            self.phase = Phase::Ending;
        } else if stop.is_stopped() {
            self.stopped = is_before_end;
            self.phase = Phase::Ending;
        } else if !is_before_end {
            // Where nobody is due any more, there is nothing to wait for.
            let is_early = pace.as_ref().is_some_and(|pace| !pace.wait(end).is_zero());
            if conductor.next_instant().is_none() || !is_early {
                self.phase = Phase::Ending;
            }
        }
    }

    /// Whether the run is over, or the world and, in a paced run, the wall clock are at a time.
    pub(crate) fn has_reached(&self, until: SimTime) -> bool {
        let next = self.conductor.as_ref().and_then(Conductor::next_instant);
        let is_early = || self.pace.as_ref().is_some_and(|pace| !pace.wait(until).is_zero());
        self.phase != Phase::Running || next.is_none_or(|time| time >= until && !is_early())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    pub(crate) fn report(&self) -> RunReport {
        match &self.conductor {
            Some(conductor) => RunReport {
                wall: self.wall,
                stopped: self.stopped,
                pacing: self.pace.as_ref().map(|pace| pace.pacer.report()),
                ..conductor.report()
            },
            None => {
                let text = match &self.settings {
                    None => "ConductorPlugin is not part of this App; add it (or ChaconnePlugins)",
                    Some(_) => "nothing ran the schedule Conduct; run the App's updates, or let the set Advance run",
                };
                let (settings, text) = (self.settings.clone().unwrap_or_default(), text.to_string());
                let config = ConductorConfig { seed: settings.seed, ..ConductorConfig::default() };
                let mut conductor = Conductor::nameless(config);
                conductor.halt(None, HaltCause::Registration(vec![text]));
                conductor.report()
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop.close();
    }
}

pub(crate) fn advance(world: &mut World) {
    let changes = std::mem::take(&mut *world.resource_mut::<MirrorChanges>());
    with_driver(world, |driver, world| {
        let Some(settings) = driver.settings.clone() else { return };
        driver.turns += 1;
        if driver.phase != Phase::Running {
            return;
        }
        driver.start(&settings);
        let Driver { conductor: Some(conductor), mirrors, .. } = driver else { return };
        if let Err((path, text)) = mirrors.requests(changes, world, conductor) {
            conductor.halt(path, HaltCause::Mirror(text));
        }
        driver.work(&settings);
        let Driver { conductor: Some(conductor), pace, phase, .. } = driver else { return };
        let status = RunStatus {
            now: conductor.now(),
            ticks: conductor.ticks(),
            world_hash: conductor.world_hash(),
            lateness: pace.as_ref().map_or(Duration::ZERO, |pace| pace.lateness),
            ended: *phase != Phase::Running,
        };
        world.insert_resource(status);
    });
}

pub(crate) fn mirror(world: &mut World) {
    with_driver(world, |driver, world| {
        let (Some(settings), Some(conductor)) = (&driver.settings, &mut driver.conductor) else { return };
        // An instant that failed does not count: mirrors stay where they are when a part of it is in the tables.
        if conductor.torn {
            return;
        }
        driver.mirrors.follow(settings.mirrors, conductor, &mut driver.specs, world);
    });
}

pub(crate) fn end(world: &mut World) {
    let ended = with_driver(world, |driver, _| {
        if driver.phase != Phase::Ending {
            return None;
        }
        driver.phase = Phase::Ended;
        driver.stop.close();
        let (wall, stopped) = (driver.wall, driver.stopped);
        let pacing = driver.pace.as_ref().map(|pace| pace.pacer.report());
        let report = match &mut driver.conductor {
            Some(conductor) => {
                (conductor.stopped, conductor.pacing) = (stopped, pacing);
                conductor.end(wall)
            }
            None => driver.report(),
        };
        let exit = driver.settings.as_ref().is_some_and(|settings| settings.exit_at_end);
        Some((report, exit))
    });
    let Some((report, exit)) = ended else { return };
    if let Some(halt) = &report.halt {
        tell(&format!("the run halted: {halt}"));
    }
    for refused in &report.refused {
        tell(&format!("a plan could not come true: {refused}"));
    }
    for removed in &report.removed {
        tell(&format!("removed from the run: {removed}"));
    }
    for path in &report.left_behind {
        tell(&format!("`{path}` does not come back; its thread was left behind, and ends with this process"));
    }
    for failure in &report.end_failures {
        tell(&format!("the run failed at its end: {failure}"));
    }
    let complete = report.is_complete();
    let code = stopped_by_signal().filter(|_| report.stopped);
    world.trigger(RunEnded { report });
    match code {
        // Who is asked to go does not stay for a window.
        Some(code) if complete => {
            world.write_message(AppExit::from_code(code));
        }
        _ if exit => {
            world.write_message(if complete { AppExit::Success } else { AppExit::error() });
        }
        _ => {}
    }
}

/// The exit code of a process that was sent a signal that stops runs.
fn stopped_by_signal() -> Option<u8> {
    #[cfg(feature = "signals")]
    return crate::signals::is_received().then_some(crate::signals::EXIT_STOPPED);
    #[cfg(not(feature = "signals"))]
    None
}

/// Ends the run where it is, unless it has ended; `stopped` says that this is not how it was meant to end.
pub(crate) fn finish(world: &mut World, stopped: bool) {
    let driver = driver_of(world);
    let (Some(settings), Phase::Running) = (driver.settings.clone(), driver.phase) else { return };
    let conductor = driver.start(&settings);
    let end_of_run = settings.end.unwrap_or(SimTime::MAX);
    let is_before_end = conductor.next_instant().is_some_and(|time| time < end_of_run);
    driver.stopped = stopped && is_before_end && conductor.halted().is_none();
    driver.phase = Phase::Ending;
    end(world);
    world.resource_mut::<RunStatus>().ended = true;
}

/// An `App` that exits ends its run in good order. Runs in `Last`: what asks for the exit later than that is too late.
pub(crate) fn end_with_the_app(world: &mut World) {
    if world.get_resource::<Messages<AppExit>>().is_some_and(|exits| !exits.is_empty()) {
        finish(world, true);
    }
}

/// A halt must reach whoever runs a program that has no log.
pub(crate) fn tell(sentence: &str) {
    // Nobody may be listening; the exit code says it too.
    let _ = writeln!(std::io::stderr(), "{sentence}");
}
