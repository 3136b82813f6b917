//! One fleet, driven as participants, as agents of a population and as plain columns: the same cars, to the bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

use std::sync::Arc;

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{Key, SimTime};
#[cfg(feature = "bevy")]
use chaconne_sim_core::{SimDuration, math};
#[cfg(feature = "bevy")]
use chaconne_traffic::population;
use chaconne_traffic::{
    Pose, Road, VehiclePhysics,
    fleet::{Fleet, FleetCar},
};

/// Every bit of a pose that can differ.
fn bits(pose: &Pose) -> [u64; 5] {
    let Pose { position, orientation, speed } = pose;
    [position.x, position.y, orientation.w, orientation.z, *speed].map(f64::to_bits)
}

/// The columns of a fleet after the step at `time`.
fn columns(fleet: &Fleet, time: SimTime) -> Vec<[u64; 5]> {
    let mut columns = fleet.columns();
    for _ in 0..=time.as_nanos() / VehiclePhysics::PERIOD.as_nanos() {
        columns.step();
    }
    columns.poses().map(|pose| bits(&pose)).collect()
}

fn world(threads: usize, typed: bool) -> Conductor {
    Conductor::new(ConductorConfig { threads, typed, ..ConductorConfig::default() }).unwrap()
}

fn key(actor: &str, signal: &str) -> Key {
    Key::new(&format!("chaconne/world/actor/{actor}/{signal}")).unwrap()
}

#[cfg(feature = "bevy")]
#[test]
fn a_population_equals_the_plain_loop_to_the_bit() {
    for cars in [1, 7, 331] {
        let fleet = Fleet::on_demo_roads(cars, 42);
        let mut world = world(1, true);
        world.add(population::of("cars", &fleet).into()).unwrap();
        for second in [0, 1, 7, 30] {
            let time = SimTime::from_secs(second);
            world.run_until(time.checked_add(VehiclePhysics::PERIOD).unwrap()).unwrap();
            let (published, poses) = world.latest::<Vec<Pose>>(&key("cars", "poses")).unwrap();
            assert_eq!(published, time);
            let poses: Vec<_> = poses.iter().map(bits).collect();
            assert_eq!(poses, columns(&fleet, time), "{cars} cars after {second} s");
        }
    }
}

#[test]
fn boxed_participants_equal_the_plain_loop_to_the_bit() {
    for (cars, typed) in [(1, true), (7, false), (331, true)] {
        let fleet = Fleet::on_demo_roads(cars, 42);
        let mut world = world(2, typed);
        for car in 0..cars {
            let (controller, physics) = fleet.parts(car);
            let path = Fleet::name(car);
            world.add(Actor::new(path.as_str()).child("controller", controller).child("physics", physics)).unwrap();
        }
        let end = SimTime::from_secs(12);
        world.run_until(end).unwrap();
        let last = end.checked_sub(VehiclePhysics::PERIOD).unwrap();
        let expected = columns(&fleet, last);
        for (car, expected) in expected.iter().enumerate() {
            let (published, pose) = world.latest::<Pose>(&key(Fleet::name(car).as_str(), "pose")).unwrap();
            assert_eq!((published, bits(&pose)), (last, *expected), "car {car} of {cars}");
        }
        // Per second: 100 steps of the body, 10 of the driver with two commands each, 10 poses; and the first pose, but no
        // command before it.
        let (steps, signals) = (world.steps() as usize, world.signals() as usize);
        assert_eq!((steps, signals), (cars * 12 * 110, cars * (12 * 30 + 1 - 2)));
    }
}

#[test]
fn component_steps_are_those_of_a_world_of_participants() {
    let mut columns = Fleet::on_demo_roads(3, 0).columns();
    for _ in 0..200 {
        columns.step();
    }
    assert_eq!(columns.component_steps(), 3 * 2 * 110);
}

#[test]
fn a_fleet_flows_without_a_crash_and_each_seed_draws_another() {
    let fleet = Fleet::on_demo_roads(600, 7);
    let road = fleet.road();
    let mut columns = fleet.columns();
    for _ in 0..6_000 {
        columns.step();
    }
    let poses: Vec<Pose> = columns.poses().collect();
    let place = |pose: &Pose| road.project(pose.ground(), None).unwrap();
    for (car, pose) in fleet.cars().iter().zip(&poses) {
        let (own, leader) = (place(pose), place(&poses[car.leader.unwrap()]));
        let gap = road.distance_ahead(own.s, leader.s) - 5.0;
        assert!(gap > 20.0 && gap < 120.0, "{gap} m");
        assert!((own.lateral - road.lane_centre(car.lane).unwrap()).abs() < 0.2);
        assert!(pose.speed > 18.0 && pose.speed < 30.0, "{} m/s", pose.speed);
    }
    assert_eq!(fleet.cars(), Fleet::on_demo_roads(600, 7).cars());
    assert_ne!(fleet.cars(), Fleet::on_demo_roads(600, 8).cars());
}

#[test]
fn every_car_of_a_full_road_follows_the_next_and_the_last_the_first() {
    let fleet = Fleet::on_demo_roads(1_000, 0);
    let road = fleet.road();
    let mut followers = vec![0; 1_000];
    for (number, car) in fleet.cars().iter().enumerate() {
        let leader = car.leader.unwrap();
        followers[leader] += 1;
        assert_eq!((leader / 300, leader % 3), (number / 300, number % 3));
        let gap = road.distance_ahead(car.s, fleet.cars()[leader].s);
        // The fourth road holds a hundred cars only.
        assert!(number >= 900 || (gap - road.length() / 100.0).abs() < 1e-6, "car {number}: {gap} m");
    }
    assert!(followers.iter().all(|&count| count == 1));
    assert!(Fleet::on_demo_roads(2, 0).cars().iter().all(|car| car.leader.is_none()));
}

#[test]
fn a_fleet_of_impossible_cars_is_refused_with_the_car() {
    let road = Arc::new(Road::demo());
    let car = FleetCar { lane: 0, s: 0.0, speed: 20.0, desired_speed: 30.0, leader: None };
    let refused = |car| Fleet::new(Arc::clone(&road), vec![car]).unwrap_err().to_string();
    assert_eq!(
        refused(FleetCar { leader: Some(1), ..car }),
        "car 0 follows car 1, but the fleet has 1 cars; choose one below 1"
    );
    assert!(refused(FleetCar { lane: 3, ..car }).contains("lane 3 does not exist"));
    assert!(refused(FleetCar { speed: -1.0, ..car }).starts_with("`speed` of the fleet is -1"));
    assert!(refused(FleetCar { desired_speed: f64::NAN, ..car }).starts_with("`desired_speed`"));
    assert!(Fleet::new(road, vec![car]).is_ok());
}

#[cfg(feature = "bevy")]
#[test]
fn a_population_that_is_not_finite_halts_with_its_key() {
    let car = FleetCar { lane: 0, s: f64::INFINITY, speed: 20.0, desired_speed: 30.0, leader: None };
    let fleet = Fleet::new(Arc::new(Road::demo()), vec![car]).unwrap();
    let mut world = world(1, true);
    world.add(population::of("cars", &fleet).into()).unwrap();
    let error = world.run_until(SimTime::from_secs(1)).unwrap_err().to_string();
    assert!(error.contains("cannot publish `chaconne/world/actor/cars/poses`"), "{error}");
}

#[cfg(feature = "bevy")]
#[test]
fn a_population_at_another_cadence_still_decides_and_reports_in_time() {
    let fleet = Fleet::on_demo_roads(30, 1);
    let mut world = world(1, true);
    let population = population::of("cars", &fleet).every(SimDuration::from_millis(30));
    world.add(population.into()).unwrap();
    world.run_until(SimTime::from_secs(10)).unwrap();
    let (published, poses) = world.latest::<Vec<Pose>>(&key("cars", "poses")).unwrap();
    assert_eq!((published, world.signals()), (SimTime::from_millis(9_000), 10));
    let exact: Vec<Pose> = {
        let mut columns = fleet.columns();
        (0..=900).for_each(|_| columns.step());
        columns.poses().collect()
    };
    let apart = poses.iter().zip(&exact).map(|(a, b)| a.position.distance(b.position)).fold(0.0, math::max);
    assert!(apart < 0.5, "{apart} m");
}
