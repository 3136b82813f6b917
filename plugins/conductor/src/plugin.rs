//! The conductor in a Bevy `App`: a plugin, the set-up of a world, and running it.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::time::Duration;

use bevy_app::{App, AppExit, MainScheduleOrder, Plugin, PluginsState, Update};
use bevy_ecs::event::Event;
use bevy_ecs::prelude::{IntoScheduleConfigs, Resource, SystemSet, World};
use bevy_ecs::schedule::ScheduleLabel;
use chaconne_sim_core::fingerprint::Fingerprint;
use chaconne_sim_core::membership::JoinRequest;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::signal::SignalValue;
use chaconne_sim_core::time::SimTime;

use crate::clock::Stopwatch;
use crate::composite::Actor;
use crate::conductor::{Conductor, ConductorConfig};
use crate::error::{HaltCause, LeaveError, RegistrationError};
use crate::membership::ActorMaker;
use crate::mirror::{MirrorChanges, MirrorSpec, Mirroring, Mirrors, SignalSpec, watch_hierarchy, watch_removal};
use crate::monitor::Monitor;
use crate::population::Population;
use crate::run::RunReport;

/// Conducts a world inside an `App`.
///
/// Works with `MinimalPlugins` and with `DefaultPlugins`, before or after them, and before or after the actors are
/// added. At the end of the run (nobody is due any more, or [`end`](Self::end) is reached) it triggers [`RunEnded`]
/// and, with [`exit_at_end`](Self::exit_at_end), sends `AppExit::Success`; after a halt `AppExit::Error`, with the
/// reason on stderr.
#[derive(Clone, Debug)]
pub struct ConductorPlugin {
    /// The world's name: the second segment of every key.
    pub world: String,
    /// The seed of every random stream.
    pub seed: u64,
    /// The run ends before this time; instants at it are not stepped. `None`: when nobody is due any more.
    pub end: Option<SimTime>,
    /// Threads that work at an instant, the caller included; zero means as many as there are cores. Changes no result.
    pub threads: usize,
    /// Hands values over as they are where types agree; see [`ConductorConfig::typed`]. Changes no result.
    pub typed: bool,
    /// Wall time per `App::update` after which the conductor lets the rest of the schedules run. Changes no result.
    pub slice: Duration,
    /// Whether the end of the run, or a halt, ends the `App`. Set it to `false` where a window should stay open.
    pub exit_at_end: bool,
    /// What of the world is mirrored as entities. Changes no result.
    pub mirrors: Mirroring,
}

impl Default for ConductorPlugin {
    fn default() -> Self {
        let ConductorConfig { world, seed, threads, typed } = ConductorConfig::default();
        Self {
            world,
            seed,
            end: None,
            threads,
            typed,
            slice: Duration::from_millis(8),
            exit_at_end: true,
            mirrors: Mirroring::default(),
        }
    }
}

impl Plugin for ConductorPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<MirrorChanges>();
        let world = app.world_mut();
        driver_of(world).settings = Some(self.clone());
        let status = RunStatus::new(self);
        world.insert_resource(status);
        app.init_schedule(Conduct).configure_sets(
            Conduct,
            (ConductorSystems::Advance, ConductorSystems::Mirror, ConductorSystems::End).chain(),
        );
        app.add_systems(Conduct, advance.in_set(ConductorSystems::Advance))
            .add_systems(Conduct, mirror.in_set(ConductorSystems::Mirror))
            .add_systems(Conduct, end.in_set(ConductorSystems::End))
            .add_observer(watch_removal)
            .add_observer(watch_hierarchy)
            .add_observer(crate::mirror::watch_orphans);
        app.init_resource::<MainScheduleOrder>();
        let mut order = app.world_mut().resource_mut::<MainScheduleOrder>();
        if order.labels.contains(&Update.intern()) {
            order.insert_before(Update, Conduct);
        } else {
            order.labels.push(Conduct.intern());
        }
    }
}

/// The schedule in which the conductor advances, before `Update`: systems of `Update` see the last instant.
#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conduct;

/// Sets of the [`Conduct`] schedule, in this order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConductorSystems {
    /// Steps as many instants as fit the slice.
    Advance,
    /// Brings the mirror entities up to the last instant.
    Mirror,
    /// Triggers [`RunEnded`] and asks for the exit, once.
    End,
}

/// The run has ended or halted. Triggered while the `World` is still there; mirrors show the last instant (after a halt
/// in the middle of a large one, the last frame).
#[derive(Event, Clone, Debug)]
pub struct RunEnded {
    /// What the run did.
    pub report: RunReport,
}

/// How far the run is; kept up to date once per frame.
#[derive(Resource, Clone, Debug)]
pub struct RunStatus {
    /// The last instant.
    pub now: Option<SimTime>,
    /// Number of instants.
    pub ticks: u64,
    /// The fingerprint of the run so far.
    pub world_hash: Fingerprint,
    /// Whether the run has ended or halted.
    pub ended: bool,
}

impl RunStatus {
    fn new(plugin: &ConductorPlugin) -> Self {
        let world_hash = chaconne_sim_core::fingerprint::world_start(&plugin.world, plugin.seed);
        Self { now: None, ticks: 0, world_hash, ended: false }
    }
}

/// The conductor and what is collected for it before it starts. Taken out of the `World` while it works.
#[derive(Default)]
pub(crate) struct Driver {
    settings: Option<ConductorPlugin>,
    actors: Vec<Actor>,
    monitors: Vec<Box<dyn Monitor>>,
    maker: Option<Box<dyn ActorMaker>>,
    /// Leaves that are planned, with their times.
    leaves: Vec<(ActorPath, SimTime)>,
    specs: Vec<Box<dyn MirrorSpec>>,
    conductor: Option<Conductor>,
    mirrors: Mirrors,
    /// Stop before this time even though the run goes on: `run_headless` in pieces.
    pause: Option<SimTime>,
    phase: Phase,
    wall: Duration,
    /// Counts how often the conductor was given its turn.
    turns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Running,
    /// The end is reached; `RunEnded` has not been triggered.
    Ending,
    Ended,
}

/// Holds the [`Driver`]. In a mutex, because participants need not be `Sync`; it is only ever reached by `&mut`.
#[derive(Resource, Default)]
struct DriverSlot(Mutex<Option<Box<Driver>>>);

/// The driver, for set-up.
fn driver_of(world: &mut World) -> &mut Driver {
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
    fn start(&mut self, settings: &ConductorPlugin) -> &mut Conductor {
        self.conductor.get_or_insert_with(|| {
            let config = ConductorConfig {
                world: settings.world.clone(),
                seed: settings.seed,
                threads: settings.threads,
                typed: settings.typed,
            };
            let mut errors: Vec<RegistrationError> = Vec::new();
            let mut conductor = Conductor::new(config.clone()).unwrap_or_else(|error| {
                errors.push(error);
                Conductor::nameless(ConductorConfig { seed: config.seed, ..ConductorConfig::default() })
            });
            conductor.maker = self.maker.take();
            errors.extend(self.actors.drain(..).filter_map(|actor| conductor.add(actor).err()));
            let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let leaves = self.leaves.drain(..);
            errors.extend(leaves.filter_map(|(path, time)| Some(conductor.leave_at(&path, time).err()?.to_string())));
            conductor.monitors.append(&mut self.monitors);
            if !errors.is_empty() {
                conductor.halt(None, HaltCause::Registration(errors));
            }
            conductor
        })
    }
}

fn advance(world: &mut World) {
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
        let end = settings.end.unwrap_or(SimTime::MAX);
        let stop = driver.pause.map_or(end, |pause| pause.min(end));
        let started = Stopwatch::start();
        let next = loop {
            if conductor.halted().is_some() {
                break None;
            }
            match conductor.next_instant() {
                Some(time) if time < stop => {
                    if conductor.step_instant().is_err() {
                        break None;
                    }
                }
                next => break next,
            }
            if started.elapsed() >= settings.slice {
                break conductor.next_instant();
            }
        };
        driver.wall += started.elapsed();
        if conductor.halted().is_some() || next.is_none_or(|time| time >= end) {
            driver.phase = Phase::Ending;
        }
        let status = RunStatus {
            now: conductor.now(),
            ticks: conductor.ticks(),
            world_hash: conductor.world_hash(),
            ended: driver.phase != Phase::Running,
        };
        world.insert_resource(status);
    });
}

fn mirror(world: &mut World) {
    with_driver(world, |driver, world| {
        let (Some(settings), Some(conductor)) = (&driver.settings, &mut driver.conductor) else { return };
        // An instant that failed does not count: mirrors stay where they are when a part of it is in the tables.
        if conductor.torn {
            return;
        }
        driver.mirrors.follow(settings.mirrors, conductor, &mut driver.specs, world);
    });
}

fn end(world: &mut World) {
    let ended = with_driver(world, |driver, _| {
        if driver.phase != Phase::Ending {
            return None;
        }
        driver.phase = Phase::Ended;
        let report = match &mut driver.conductor {
            Some(conductor) => conductor.end(driver.wall),
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
    for failure in &report.end_failures {
        tell(&format!("the run failed at its end: {failure}"));
    }
    let complete = report.is_complete();
    world.trigger(RunEnded { report });
    if exit {
        world.write_message(if complete { AppExit::Success } else { AppExit::error() });
    }
}

/// A halt must reach whoever runs a program that has no log.
fn tell(sentence: &str) {
    // Nobody may be listening; the exit code says it too.
    let _ = writeln!(std::io::stderr(), "{sentence}");
}

impl Driver {
    fn report(&self) -> RunReport {
        match &self.conductor {
            Some(conductor) => RunReport { wall: self.wall, ..conductor.report() },
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

/// Does the set-up rites of an `App` that no runner runs.
fn set_up(app: &mut App) {
    if app.plugins_state() != PluginsState::Cleaned {
        while app.plugins_state() == PluginsState::Adding {
            bevy_tasks::tick_global_task_pools_on_main_thread();
        }
        app.finish();
        app.cleanup();
    }
}

/// Setting up and running a world, on an `App`.
pub trait ConductorAppExt {
    /// Adds an actor. Errors (a taken path, a malformed key) halt the run, before its first instant when it has not begun.
    /// Where one may be refused while the run goes on, use [`join_actor`](Self::join_actor).
    fn add_actor(&mut self, actor: Actor) -> &mut Self;

    /// Adds an actor to a run, begun or not, now.
    ///
    /// # Errors
    /// As [`Conductor::add`]; nothing is changed then.
    fn join_actor(&mut self, actor: Actor) -> Result<(), RegistrationError>;

    /// As [`join_actor`](Self::join_actor), made by a factory.
    ///
    /// # Errors
    /// As [`Conductor::add_made`]; nothing is changed then.
    fn join_made(&mut self, request: &JoinRequest) -> Result<(), RegistrationError>;

    /// Sets who makes the actors that participants ask for.
    fn set_maker(&mut self, maker: impl ActorMaker + 'static) -> &mut Self;

    /// Plans that whoever has a path at a time leaves then; see [`Conductor::leave_at`]. Errors halt the run.
    fn plan_leave(&mut self, path: ActorPath, time: SimTime) -> &mut Self;

    /// Adds a population as an actor of its own.
    fn add_population(&mut self, population: Population) -> &mut Self;

    /// Adds a monitor.
    fn add_monitor(&mut self, monitor: impl Monitor + 'static) -> &mut Self;

    /// Keeps the newest value of a signal on the mirror of its actor, as a [`Signal<T>`](crate::mirror::Signal)
    /// component. Signals of that name that do not read as a `T` are left out.
    fn mirror<T: SignalValue>(&mut self, signal: &str) -> &mut Self;

    /// Runs every instant before `until` (or to the end of the run, if that comes first), and leaves the `App`
    /// queryable. Does the set-up rites (`finish`, `cleanup`, `Startup`) when they have not been done; runs whole
    /// updates, so that systems of `Update` see the world as in a windowed run. Called again, it goes on: runs in
    /// pieces equal one run. The run has ended when [`ConductorPlugin::end`] is reached, nobody is due any more, or by
    /// [`end_run`](Self::end_run).
    fn run_headless(&mut self, until: SimTime) -> RunReport;

    /// Ends the run where it is, as reaching its end would: monitors are told (a log gets its last line, a verification
    /// looks for what its log has more), and [`RunEnded`] is triggered. For runs in pieces, whose end is not known
    /// before. A run that has ended stays as it is.
    fn end_run(&mut self) -> RunReport;

    /// Asks for an actor, and all under its path, to leave before the next instant.
    ///
    /// # Errors
    /// When no actor has this path, or it is a part of one.
    fn remove_actor(&mut self, path: &ActorPath) -> Result<(), LeaveError>;
}

impl ConductorAppExt for App {
    fn add_actor(&mut self, actor: Actor) -> &mut Self {
        let driver = driver_of(self.world_mut());
        match &mut driver.conductor {
            None => driver.actors.push(actor),
            // The report of a run that is over stays as it is.
            Some(_) if driver.phase == Phase::Ended => {
                tell(&format!("cannot add `{}`: the run has ended", actor.path()));
            }
            Some(conductor) => {
                if let Err(error) = conductor.add(actor) {
                    conductor.halt(None, HaltCause::Registration(vec![error.to_string()]));
                }
            }
        }
        self
    }

    fn join_actor(&mut self, actor: Actor) -> Result<(), RegistrationError> {
        self.world_mut().join_actor(actor)
    }

    fn join_made(&mut self, request: &JoinRequest) -> Result<(), RegistrationError> {
        self.world_mut().join_made(request)
    }

    fn set_maker(&mut self, maker: impl ActorMaker + 'static) -> &mut Self {
        let driver = driver_of(self.world_mut());
        match &mut driver.conductor {
            None => driver.maker = Some(Box::new(maker)),
            Some(conductor) => conductor.set_maker(maker),
        }
        self
    }

    fn plan_leave(&mut self, path: ActorPath, time: SimTime) -> &mut Self {
        let driver = driver_of(self.world_mut());
        match &mut driver.conductor {
            None => driver.leaves.push((path, time)),
            Some(conductor) => {
                if let Err(error) = conductor.leave_at(&path, time) {
                    conductor.halt(None, HaltCause::Registration(vec![error.to_string()]));
                }
            }
        }
        self
    }

    fn add_population(&mut self, population: Population) -> &mut Self {
        self.add_actor(population.into())
    }

    fn add_monitor(&mut self, monitor: impl Monitor + 'static) -> &mut Self {
        let driver = driver_of(self.world_mut());
        match &mut driver.conductor {
            None => driver.monitors.push(Box::new(monitor)),
            Some(conductor) => conductor.add_monitor(monitor),
        }
        self
    }

    fn mirror<T: SignalValue>(&mut self, signal: &str) -> &mut Self {
        driver_of(self.world_mut()).specs.push(Box::new(SignalSpec::<T>::new(signal)));
        self
    }

    fn run_headless(&mut self, until: SimTime) -> RunReport {
        set_up(self);
        driver_of(self.world_mut()).pause = Some(until);
        if driver_of(self.world_mut()).settings.is_some() {
            loop {
                let turns = driver_of(self.world_mut()).turns;
                self.update();
                let driver = driver_of(self.world_mut());
                if driver.turns == turns {
                    tell("the run stands still: nothing ran the set ConductorSystems::Advance of the schedule Conduct");
                    break;
                }
                let next = driver.conductor.as_ref().and_then(Conductor::next_instant);
                if driver.phase != Phase::Running || next.is_none_or(|time| time >= until) {
                    break;
                }
            }
        }
        let driver = driver_of(self.world_mut());
        driver.pause = None;
        driver.report()
    }

    fn end_run(&mut self) -> RunReport {
        set_up(self);
        let driver = driver_of(self.world_mut());
        if let (Some(settings), Phase::Running) = (driver.settings.clone(), driver.phase) {
            driver.start(&settings);
            driver.phase = Phase::Ending;
            end(self.world_mut());
            self.world_mut().resource_mut::<RunStatus>().ended = true;
        }
        driver_of(self.world_mut()).report()
    }

    fn remove_actor(&mut self, path: &ActorPath) -> Result<(), LeaveError> {
        self.world_mut().remove_actor(path)
    }
}

/// Joining and leaving from a system: `commands.queue(|world: &mut World| …)`, or an exclusive system.
///
/// A system of `Update` acts between two slices of wall time, so at which instant its wish comes true depends on the slice;
/// where a run must repeat, let a participant ask, or act between two pieces of `run_headless`.
pub trait ConductorWorldExt {
    /// See [`ConductorAppExt::join_actor`].
    ///
    /// # Errors
    /// As [`Conductor::add`]; nothing is changed then.
    fn join_actor(&mut self, actor: Actor) -> Result<(), RegistrationError>;

    /// See [`ConductorAppExt::join_made`].
    ///
    /// # Errors
    /// As [`Conductor::add_made`]; nothing is changed then.
    fn join_made(&mut self, request: &JoinRequest) -> Result<(), RegistrationError>;

    /// See [`ConductorAppExt::remove_actor`].
    ///
    /// # Errors
    /// When no actor has this path, or it is a part of one.
    fn remove_actor(&mut self, path: &ActorPath) -> Result<(), LeaveError>;
}

/// The conductor of a world, made when there is none yet; `None` without [`ConductorPlugin`], or while it works.
fn started(world: &mut World) -> Option<&mut Conductor> {
    let driver = driver_of(world);
    let settings = driver.settings.clone()?;
    Some(driver.start(&settings))
}

impl ConductorWorldExt for World {
    fn join_actor(&mut self, actor: Actor) -> Result<(), RegistrationError> {
        match started(self) {
            Some(conductor) => conductor.add(actor),
            None => Err(RegistrationError::NoConductor { path: actor.path().to_string() }),
        }
    }

    fn join_made(&mut self, request: &JoinRequest) -> Result<(), RegistrationError> {
        match started(self) {
            Some(conductor) => conductor.add_made(request),
            None => Err(RegistrationError::NoConductor { path: request.path.clone() }),
        }
    }

    fn remove_actor(&mut self, path: &ActorPath) -> Result<(), LeaveError> {
        match started(self) {
            Some(conductor) => conductor.leave(path),
            None => Err(LeaveError::Unknown { path: path.clone() }),
        }
    }
}
