//! The conductor in a Bevy `App`: a plugin, the set-up of a world, and running it.

use std::time::Duration;

use bevy_app::{App, Last, MainScheduleOrder, Plugin, PluginsState, ScheduleRunnerPlugin, Update};
use bevy_ecs::event::Event;
use bevy_ecs::prelude::{IntoScheduleConfigs, Resource, SystemSet, World};
use bevy_ecs::schedule::ScheduleLabel;
use chaconne_sim_core::fingerprint::Fingerprint;
use chaconne_sim_core::membership::JoinRequest;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::signal::SignalValue;
use chaconne_sim_core::time::SimTime;

use crate::composite::Actor;
use crate::conductor::{Conductor, ConductorConfig};
use crate::driver::{advance, driver_of, end, end_with_the_app, finish, mirror, tell};
use crate::error::{HaltCause, LeaveError, RegistrationError};
use crate::host::process::HelperProgram;
use crate::membership::ActorMaker;
use crate::mirror::{MirrorChanges, Mirroring, SignalSpec, watch_hierarchy, watch_removal};
use crate::monitor::Monitor;
use crate::pacing::Pacing;
use crate::population::Population;
use crate::run::RunReport;
use crate::stop::StopHandle;

/// Conducts a world inside an `App`.
///
/// Works with `MinimalPlugins` and with `DefaultPlugins`, before or after them, and before or after the actors are
/// added. At the end of the run (nobody is due any more, or [`end`](Self::end) is reached) it triggers [`RunEnded`]
/// and, with [`exit_at_end`](Self::exit_at_end), sends `AppExit::Success`; after a halt `AppExit::Error`, with the
/// reason on stderr. When something else makes the `App` exit before (a window that is closed, Bevy's Ctrl-C), the run is
/// stopped there, as by a [`StopHandle`].
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
    /// Wall time per `App::update` after which the conductor lets the rest of the schedules run, waiting included. Changes
    /// no result.
    pub slice: Duration,
    /// How the run keeps time with the wall clock. With a headless runner (`ScheduleRunnerPlugin`, which is part of
    /// `MinimalPlugins`) and in [`run_headless`](ConductorAppExt::run_headless) the conductor sleeps until the next instant
    /// is due; elsewhere (in a window) it never does, and an update steps what is due by then. A paced run ends when the
    /// wall clock is at its end, too. Changes no result.
    pub pacing: Pacing,
    /// How late an instant may be in [`Pacing::RealTime`], in wall time. A run that is later falls behind for good, by what
    /// exceeds this; what does not, it catches up with. Changes no result.
    pub lateness_limit: Duration,
    /// Measures what each step takes, for [`RunReport::timing`]: about 50 ns per step, and a few KiB of memory per
    /// participant. Changes no result.
    pub timing: bool,
    /// Whether the end of the run, or a halt, ends the `App`. Set it to `false` where a window should stay open.
    pub exit_at_end: bool,
    /// What of the world is mirrored as entities. Changes no result.
    pub mirrors: Mirroring,
}

impl Default for ConductorPlugin {
    fn default() -> Self {
        let ConductorConfig { world, seed, threads, typed, timing } = ConductorConfig::default();
        Self {
            world,
            seed,
            end: None,
            threads,
            typed,
            slice: Duration::from_millis(8),
            pacing: Pacing::FreeRun,
            lateness_limit: Duration::from_millis(50),
            timing,
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
            .add_systems(Last, end_with_the_app)
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

    fn finish(&self, app: &mut App) {
        let is_headless = app.is_plugin_added::<ScheduleRunnerPlugin>();
        driver_of(app.world_mut()).is_headless = is_headless;
    }
}

/// The schedule in which the conductor advances, before `Update`: systems of `Update` see the last instant.
#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conduct;

/// Sets of the [`Conduct`] schedule, in this order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConductorSystems {
    /// Steps as many instants as fit the slice and are due, and waits for them where that is right.
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
    /// How late the last instant began on the wall clock; zero in a free run.
    pub lateness: Duration,
    /// Whether the run has ended or halted.
    pub ended: bool,
}

impl RunStatus {
    fn new(plugin: &ConductorPlugin) -> Self {
        let world_hash = chaconne_sim_core::fingerprint::world_start(&plugin.world, plugin.seed);
        Self { now: None, ticks: 0, world_hash, lateness: Duration::ZERO, ended: false }
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

    /// Sets which program helper processes run; see [`Hosting::process`](crate::Hosting::process).
    fn set_helper(&mut self, program: HelperProgram) -> &mut Self;

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
    /// pieces equal one run. With [`ConductorPlugin::pacing`], it returns when the wall clock is at `until`. The run has
    /// ended when [`ConductorPlugin::end`] is reached, nobody is due any more, or by [`end_run`](Self::end_run) or a
    /// [`StopHandle`].
    fn run_headless(&mut self, until: SimTime) -> RunReport;

    /// Ends the run where it is, as reaching its end would: monitors are told (a log gets its last line, a verification
    /// looks for what its log has more), and [`RunEnded`] is triggered. For runs in pieces, whose end is not known
    /// before. A run that has ended stays as it is.
    fn end_run(&mut self) -> RunReport;

    /// What stops the run from anywhere: another thread, a system, a handler of signals. Before the run begins, or while it
    /// goes on.
    fn stop_handle(&mut self) -> StopHandle;

    /// Asks for an actor, and all under its path, to leave before the next instant.
    ///
    /// # Errors
    /// When no actor has this path, or it is a part of one.
    fn remove_actor(&mut self, path: &ActorPath) -> Result<(), LeaveError>;
}

impl ConductorAppExt for App {
    fn add_actor(&mut self, actor: Actor) -> &mut Self {
        let driver = driver_of(self.world_mut());
        let has_ended = driver.has_ended();
        match &mut driver.conductor {
            None => driver.actors.push(actor),
            // The report of a run that is over stays as it is.
            Some(_) if has_ended => {
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

    fn set_helper(&mut self, program: HelperProgram) -> &mut Self {
        let driver = driver_of(self.world_mut());
        match &mut driver.conductor {
            None => driver.helper = Some(program),
            Some(conductor) => conductor.set_helper(program),
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
                if driver.has_reached(until) {
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
        finish(self.world_mut(), false);
        driver_of(self.world_mut()).report()
    }

    fn stop_handle(&mut self) -> StopHandle {
        driver_of(self.world_mut()).stop.clone()
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
