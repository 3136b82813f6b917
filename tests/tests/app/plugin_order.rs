//! Plugins, actors and settings in any order make one world.

use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne_tests::at;

use super::{actors, conductor, expected};

/// Adds the actors.
fn with_actors(app: &mut App) {
    for actor in actors() {
        app.add_actor(actor);
    }
}

/// Runs to 20 s and compares with the run without an `App`.
fn check(mut app: App) {
    let report = app.run_headless(at(20));
    assert_eq!(report.halt, None);
    assert_eq!(report.world_hash, expected(at(20)));
}

#[test]
fn the_conductor_comes_before_or_after_minimal_plugins_and_before_or_after_the_actors() {
    let orders: [fn(&mut App); 6] = [
        |app| {
            app.add_plugins(MinimalPlugins).add_plugins(ChaconnePlugins.set(conductor()));
            with_actors(app);
        },
        |app| {
            app.add_plugins(ChaconnePlugins.set(conductor())).add_plugins(MinimalPlugins);
            with_actors(app);
        },
        |app| {
            with_actors(app);
            app.add_plugins((MinimalPlugins, conductor()));
        },
        |app| {
            with_actors(app);
            app.add_plugins((conductor(), MinimalPlugins));
        },
        |app| {
            app.add_plugins(conductor());
            with_actors(app);
            app.add_plugins(MinimalPlugins);
        },
        |app| {
            app.add_plugins(MinimalPlugins);
            with_actors(app);
            app.add_plugins(conductor());
        },
    ];
    for order in orders {
        let mut app = App::new();
        order(&mut app);
        check(app);
    }
}

#[test]
fn the_conductor_needs_no_other_plugin() {
    let mut app = App::new();
    app.add_plugins(conductor());
    with_actors(&mut app);
    check(app);
}

#[test]
fn the_conductor_comes_before_or_after_default_plugins() {
    let headless = || DefaultPlugins.set(ScheduleRunnerPlugin::run_loop(Duration::ZERO));
    for before in [true, false] {
        let mut app = App::new();
        if before {
            app.add_plugins(ChaconnePlugins.set(conductor())).add_plugins(headless());
        } else {
            app.add_plugins(headless()).add_plugins(ChaconnePlugins.set(conductor()));
        }
        with_actors(&mut app);
        check(app);
    }
}

#[test]
fn default_plugins_run_to_the_end_and_exit() {
    let mut app = App::new();
    let conductor = ConductorPlugin { end: Some(at(20)), ..conductor() };
    app.add_plugins((
        DefaultPlugins.set(ScheduleRunnerPlugin::run_loop(Duration::ZERO)),
        ChaconnePlugins.set(conductor),
    ));
    with_actors(&mut app);
    app.add_observer(|ended: On<RunEnded>| assert_eq!(ended.report.world_hash, expected(at(20))));
    assert_eq!(app.run(), AppExit::Success);
}

#[test]
fn actors_added_by_a_plugin_or_by_another_plugins_finish_are_part_of_the_world() {
    struct Cars;
    impl Plugin for Cars {
        fn build(&self, app: &mut App) {
            let mut actors = actors();
            let camera = actors.pop().unwrap();
            actors.into_iter().for_each(|actor| {
                app.add_actor(actor);
            });
            app.add_plugins(Late(std::sync::Mutex::new(Some(camera))));
        }
    }
    struct Late(std::sync::Mutex<Option<Actor>>);
    impl Plugin for Late {
        fn build(&self, _: &mut App) {}

        fn finish(&self, app: &mut App) {
            app.add_actor(self.0.lock().unwrap().take().unwrap());
        }
    }
    let mut app = App::new();
    app.add_plugins((Cars, MinimalPlugins, conductor()));
    check(app);
}

#[test]
fn the_group_can_leave_the_conductor_out_and_the_report_says_what_is_missing() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, ChaconnePlugins.build().disable::<ConductorPlugin>()));
    with_actors(&mut app);
    let report = app.run_headless(at(1));
    let halt = report.halt.unwrap().to_string();
    assert_eq!(halt, "ConductorPlugin is not part of this App; add it (or ChaconnePlugins)");
}
