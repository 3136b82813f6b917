//! The README's first program, as it stands there, and what it comes to.

use bevy::prelude::*;

#[rustfmt::skip]
#[allow(clippy::print_stdout, reason = "it is a program")]
mod program {
// README: begin
use bevy::prelude::*;
use chaconne::{prelude::*, traffic::{Pose, Steering, Unicycle}};

struct HoldLane(f64);
impl Participant for HoldLane {
    fn subscriptions(&self) -> Vec<Subscription> { vec![Subscription::latest("pose")] }   // its own actor's
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if let Some(pose) = ctx.latest::<Pose>("pose")? {
            ctx.publish("steering", &Steering((self.0 - pose.position.y).clamp(-1.0, 1.0)))?;
        }
        ctx.after(SimDuration::from_millis(100))
    }
}
fn car(name: &str, y: f64, speed: f64) -> Actor {
    Actor::new(name).child("controller", HoldLane(y)).child("physics", Unicycle::new(0.0, y, speed))
}
fn report(end: On<RunEnded>, cars: Query<(&ActorPath, &Signal<Pose>)>) {
    for (path, pose) in &cars { println!("{path}: {:.1} m", pose.position.x); }
    println!("{}", end.report.world_hash);
}
fn main() -> AppExit {
    let conductor = ConductorPlugin { seed: 42, end: Some(SimTime::from_secs(30)), ..default() };
    App::new()
        .add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor)))
        .mirror::<Pose>("pose")
        .add_actor(car("ego", 0.0, 30.0))
        .add_actor(car("lead", 3.5, 20.0))
        .add_observer(report)
        .run()
}
// README: end
    pub(super) fn run() -> AppExit {
        main()
    }

    pub(super) fn cars() -> [Actor; 2] {
        [car("ego", 0.0, 30.0), car("lead", 3.5, 20.0)]
    }
}

#[test]
fn the_program_runs_to_its_end() {
    assert_eq!(program::run(), AppExit::Success);
}

#[test]
fn the_cars_of_the_program_are_where_their_speed_takes_them() {
    use chaconne::prelude::*;
    use chaconne::traffic::Pose;

    let mut app = App::new();
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(ConductorPlugin { seed: 42, ..default() })))
        .mirror::<Pose>("pose");
    for car in program::cars() {
        app.add_actor(car);
    }
    app.run_headless(SimTime::from_secs(30));
    let mut poses = app.world_mut().query::<(&ActorPath, &Signal<Pose>)>();
    let mut rows: Vec<_> = poses.iter(app.world()).map(|(path, pose)| (path.as_str(), pose)).collect();
    rows.sort_by_key(|(path, _)| *path);
    // Published at 29.99 s, the last instant of the physics.
    for ((path, pose), (expected, x, y)) in rows.into_iter().zip([("ego", 899.7, 0.0), ("lead", 599.8, 3.5)]) {
        assert_eq!(path, expected);
        assert!((pose.position.x - x).abs() < 1e-6 && (pose.position.y - y).abs() < 1e-6, "{path}: {pose:?}");
    }
}

#[test]
fn the_program_is_the_readmes() {
    let lines = |text: &str| text.trim().lines().map(str::trim_end).map(str::to_string).collect::<Vec<_>>();
    let source = include_str!("readme.rs");
    let program = source.split("// README: begin\n").nth(1).unwrap().split("// README: end").next().unwrap();
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let blocks =
        readme.split("```rust").skip(1).map(|rest| rest.split_once('\n').unwrap().1.split("```").next().unwrap());
    assert!(blocks.map(lines).any(|block| block == lines(program)), "README.md does not hold this program");
}
