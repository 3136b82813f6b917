//! What else an `App` holds changes nothing.

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne_tests::at;

use super::{app_of, conductor, expected};

#[derive(Component)]
struct Clutter;

#[derive(Resource, Default)]
struct Count(u64);

#[test]
fn unrelated_systems_resources_entities_and_observers_change_nothing() {
    for slice in [0, 1_000] {
        let slice = std::time::Duration::from_millis(slice);
        let mut app = app_of(ConductorPlugin { slice, ..conductor() });
        app.init_resource::<Count>().add_message::<AppExit>();
        for number in 0..100 {
            app.world_mut().spawn((Clutter, Name::new(format!("clutter {number}"))));
        }
        app.add_systems(First, |mut count: ResMut<Count>| count.0 += 1)
            .add_systems(Update, |mut commands: Commands, clutter: Query<Entity, With<Clutter>>| {
                clutter.iter().take(1).for_each(|entity| commands.entity(entity).despawn());
                commands.spawn_batch([(Clutter, Transform::default()), (Clutter, Transform::default())]);
            })
            .add_systems(Conduct, (|mut count: ResMut<Count>| count.0 += 1).before(ConductorSystems::Advance))
            .add_systems(Conduct, (|mut count: ResMut<Count>| count.0 += 1).after(ConductorSystems::Mirror))
            .add_observer(|_: On<Add, Clutter>, mut count: ResMut<Count>| count.0 += 1);
        assert_eq!(app.run_headless(at(20)).world_hash, expected(at(20)));
        assert!(app.world().resource::<Count>().0 > 3);
    }
}

#[test]
fn mirrored_signals_and_another_frame_rate_change_nothing() {
    let mut app = app_of(ConductorPlugin { slice: std::time::Duration::ZERO, ..conductor() });
    app.mirror::<u64>("pose").mirror::<f64>("pose").mirror::<String>("image").mirror::<u64>("none");
    app.world_mut().insert_resource(Time::<Fixed>::from_hz(7.0));
    assert_eq!(app.run_headless(at(20)).world_hash, expected(at(20)));
}
