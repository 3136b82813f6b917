//! A platoon behind an oscillating leader: whether a disturbance grows from car to car decides between stop-and-go
//! waves and smooth traffic, and depends on nothing but the car-following law and its parameters.

use chaconne_sim_core::math;
use chaconne_traffic::law::{Idm, Leader};

const CARS: usize = 60;
const MEAN_SPEED: f64 = 15.0;
const AMPLITUDE: f64 = 0.3;
const PERIOD: f64 = 60.0;
const VEHICLE_LENGTH: f64 = 5.0;

/// How positions follow speeds in a step.
#[derive(Clone, Copy)]
enum Rule {
    /// With the speed at the step's start.
    Euler,
    /// With the mean of the speeds at both ends.
    Ballistic,
}

/// The largest deviation from the mean speed of each car over the last of `periods` periods.
///
/// Car 1 leads: it is accelerated so that its speed is 15 m/s plus a sine of 0.3 m/s. All begin at the equilibrium.
fn amplitudes(idm: &Idm, steps_per_second: u32, rule: Rule, periods: u32) -> Vec<f64> {
    let dt = 1.0 / f64::from(steps_per_second);
    let frequency = math::TAU / PERIOD;
    let spacing = idm.equilibrium_gap(MEAN_SPEED).expect("the mean speed is below the desired one") + VEHICLE_LENGTH;
    let mut position: Vec<f64> = (0..CARS).map(|car| -spacing * car as f64).collect();
    let mut speed = vec![MEAN_SPEED; CARS];
    let mut acceleration = vec![0.0; CARS];
    let mut amplitude = vec![0.0; CARS];
    let steps = periods * 60 * steps_per_second;
    for step in 0..steps {
        acceleration[0] = AMPLITUDE * frequency * math::cos(frequency * dt * f64::from(step));
        for car in 1..CARS {
            let gap = position[car - 1] - position[car] - VEHICLE_LENGTH;
            acceleration[car] = idm.acceleration(speed[car], Some(Leader { gap, speed: speed[car - 1] }));
        }
        for car in 0..CARS {
            let next = speed[car] + acceleration[car] * dt;
            position[car] += dt
                * match rule {
                    Rule::Euler => speed[car],
                    Rule::Ballistic => (speed[car] + next) / 2.0,
                };
            speed[car] = next;
            if step >= steps - 60 * steps_per_second {
                amplitude[car] = math::max(amplitude[car], (next - MEAN_SPEED).abs());
            }
        }
    }
    amplitude
}

/// The amplitude of car 2, 11, 31 and 60, counted from one.
fn of_four_cars(amplitudes: &[f64]) -> [f64; 4] {
    [2, 11, 31, 60].map(|car: usize| amplitudes[car - 1])
}

/// The published values come from the explicit Euler rule with 25 ms; its error is part of their third digit.
#[test]
fn platoon_amplitudes_equal_the_stated_values() {
    for (idm, expected) in [(Idm::PUBLISHED, [0.308, 0.379, 0.594, 1.127]), (Idm::BRISK, [0.295, 0.252, 0.176, 0.105])]
    {
        let found = of_four_cars(&amplitudes(&idm, 40, Rule::Euler, 20));
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 6e-4, "{found} instead of {expected}");
        }
    }
}

/// The growth per car of a small disturbance, from the law linearised at the equilibrium:
/// |(f_s + iω·f_l) / (f_s − ω² − iω·f_v)| with the derivatives of the acceleration by gap, leader's and own speed.
fn linear_growth(idm: &Idm) -> f64 {
    let gap = idm.equilibrium_gap(MEAN_SPEED).expect("the mean speed is below the desired one");
    let derivative = |gap_step: f64, own_step: f64, leader_step: f64| {
        let at = |sign: f64| {
            let leader = Leader { gap: gap + sign * gap_step, speed: MEAN_SPEED + sign * leader_step };
            idm.acceleration(MEAN_SPEED + sign * own_step, Some(leader))
        };
        (at(1.0) - at(-1.0)) / 2e-4
    };
    let (by_gap, by_own, by_leader) =
        (derivative(1e-4, 0.0, 0.0), derivative(0.0, 1e-4, 0.0), derivative(0.0, 0.0, 1e-4));
    let frequency = math::TAU / PERIOD;
    math::hypot(by_gap, frequency * by_leader) / math::hypot(by_gap - frequency * frequency, frequency * by_own)
}

#[test]
fn small_disturbances_grow_or_decay_as_linear_theory_says() {
    for (idm, grows) in [(Idm::PUBLISHED, true), (Idm::BRISK, false)] {
        let growth = linear_growth(&idm);
        assert_eq!(growth > 1.0, grows, "{growth}");
        let found = amplitudes(&idm, 100, Rule::Ballistic, 12);
        for car in [2, 11, 31] {
            let expected = AMPLITUDE * math::powi(growth, car as i32 - 1);
            let found = found[car - 1];
            assert!((found / expected - 1.0).abs() < 0.015, "car {car}: {found} instead of {expected}");
        }
    }
}
