//! Vehicles: how held commands move a body in the plane.
//!
//! A [`Vehicle`] is a set of parameters; [`Vehicle::advance`] takes a [`VehicleState`] through one step under a
//! [`Command`] that is held constant, and [`Vehicle::hold`] prepares a command for many steps. Two steering models share
//! everything else:
//!
//! * the **unicycle** turns with a yaw rate that is proportional to the steering command, at any speed;
//! * the **kinematic bicycle** turns its front wheel, so that the curvature of its path is tan(angle) / wheelbase.
//!
//! ```
//! use chaconne_sim_core::math::Vec2;
//! use chaconne_traffic::vehicle::{Command, Vehicle, VehicleState};
//!
//! let car = Vehicle::CAR;
//! let mut state = VehicleState { position: Vec2::ZERO, heading: 0.0, speed: 20.0 };
//! // Steer along a circle of radius 100 m to the left, at constant speed, for a quarter of it.
//! let command = Command { steering: car.steering_for(0.01, state.speed), acceleration: 0.0 };
//! let quarter = std::f64::consts::FRAC_PI_2 * 100.0 / 20.0;
//! state = car.advance(state, command, quarter);
//! assert!(state.position.distance(Vec2::new(100.0, 100.0)) < 1e-9);
//! ```

use chaconne_sim_core::math::{self, Vec2, angle};

use crate::{
    TrafficError,
    error::{check_parameter, check_positive},
};

/// What a driver asks of a vehicle, held until replaced.
///
/// Both are shares of what the vehicle can do, in [−1, 1]; values beyond count as the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Positive: this share of the largest acceleration. Negative: of the hardest braking.
    pub acceleration: f64,
    /// This share of the largest yaw rate (unicycle) or wheel angle (bicycle), positive to the left.
    pub steering: f64,
}

/// Where a vehicle is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VehicleState {
    /// The reference point in metres: the middle of the rear axle of a bicycle, the body itself of a unicycle.
    pub position: Vec2,
    /// Direction of travel in radians, in [−π, π], anticlockwise from X.
    pub heading: f64,
    /// Speed along the heading in m/s, never below zero: these vehicles do not reverse.
    pub speed: f64,
}

/// What the steering command turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SteeringModel {
    /// The command is a share of a yaw rate.
    Unicycle {
        /// Yaw rate in rad/s at full command; above 0.
        max_yaw_rate: f64,
    },
    /// The command is a share of the front wheel's angle.
    Bicycle {
        /// Distance between the axles in metres; above 0.
        wheelbase: f64,
        /// Wheel angle in radians at full command; above 0 and below π/2.
        max_angle: f64,
    },
}

/// A command in the units of a vehicle, as it is held from step to step: made by [`Vehicle::hold`].
///
/// What the steering command means is worked out once, when it comes, and not at every step under it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// In m/s².
    acceleration: f64,
    turn: Turn,
}

/// How a held steering command turns the vehicle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    /// With time, in rad/s.
    YawRate(f64),
    /// With distance, in 1/m.
    Curvature(f64),
}

/// The parameters of a vehicle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vehicle {
    /// Length from bumper to bumper in metres; above 0.
    pub length: f64,
    /// Acceleration in m/s² at full command; above 0.
    pub max_acceleration: f64,
    /// Deceleration in m/s² at full braking command; above 0.
    pub max_braking: f64,
    /// How it steers.
    pub steering: SteeringModel,
}

impl Vehicle {
    /// A unicycle of 5 m that accelerates with up to 3 m/s², brakes with up to 9 m/s² and turns with up to 0.5 rad/s.
    pub const UNICYCLE: Self = Self {
        length: 5.0,
        max_acceleration: 3.0,
        max_braking: 9.0,
        steering: SteeringModel::Unicycle { max_yaw_rate: 0.5 },
    };

    /// A passenger car of 5 m as a kinematic bicycle: 3 m/s², 9 m/s², wheelbase 2.8 m, wheel angle up to 0.6 rad.
    pub const CAR: Self =
        Self { steering: SteeringModel::Bicycle { wheelbase: 2.8, max_angle: 0.6 }, ..Self::UNICYCLE };

    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or out of the range that its field states.
    pub fn check(&self) -> Result<(), TrafficError> {
        let of = "the vehicle";
        check_positive(of, "length", self.length)?;
        check_positive(of, "max_acceleration", self.max_acceleration)?;
        check_positive(of, "max_braking", self.max_braking)?;
        match self.steering {
            SteeringModel::Unicycle { max_yaw_rate } => check_positive(of, "max_yaw_rate", max_yaw_rate),
            SteeringModel::Bicycle { wheelbase, max_angle } => {
                check_positive(of, "wheelbase", wheelbase)?;
                let valid = max_angle > 0.0 && max_angle < math::FRAC_PI_2;
                check_parameter(of, "max_angle", max_angle, "above 0 and below π/2", valid)
            }
        }
    }

    /// The state `dt` seconds later under a constant command: [`hold`](Self::hold), and one step of [`Held::advance`].
    #[inline]
    #[must_use]
    pub fn advance(&self, state: VehicleState, command: Command, dt: f64) -> VehicleState {
        self.hold(command).advance(state, dt)
    }

    /// A command in this vehicle's units, to be held.
    #[inline]
    #[must_use]
    pub fn hold(&self, command: Command) -> Held {
        let acceleration = math::clamp(command.acceleration, -1.0, 1.0);
        let steering = math::clamp(command.steering, -1.0, 1.0);
        Held {
            acceleration: acceleration * if acceleration < 0.0 { self.max_braking } else { self.max_acceleration },
            turn: match self.steering {
                SteeringModel::Unicycle { max_yaw_rate } => Turn::YawRate(steering * max_yaw_rate),
                SteeringModel::Bicycle { wheelbase, max_angle } => {
                    Turn::Curvature(math::tan(steering * max_angle) / wheelbase)
                }
            },
        }
    }

    /// The command that comes nearest to an acceleration in m/s².
    #[inline]
    #[must_use]
    pub fn acceleration_for(&self, acceleration: f64) -> f64 {
        let limit = if acceleration < 0.0 { self.max_braking } else { self.max_acceleration };
        math::clamp(acceleration / limit, -1.0, 1.0)
    }

    /// The command that comes nearest to a path curvature in 1/m (positive to the left) at a speed in m/s.
    #[inline]
    #[must_use]
    pub fn steering_for(&self, curvature: f64, speed: f64) -> f64 {
        let share = match self.steering {
            SteeringModel::Unicycle { max_yaw_rate } => curvature * speed / max_yaw_rate,
            SteeringModel::Bicycle { wheelbase, max_angle } => math::atan(curvature * wheelbase) / max_angle,
        };
        math::clamp(share, -1.0, 1.0)
    }
}

impl Held {
    /// The state `dt` seconds later.
    ///
    /// Speed and distance are exact: acceleration is constant until the vehicle stands, and then it stands. The
    /// bicycle's path is the exact arc, whatever the speed does. The unicycle's is exact at constant speed; while the
    /// speed changes its distance is laid along the arc evenly, which leaves an error of third order in `dt` per step.
    ///
    /// The result of a mirrored state under a mirrored command (opposite `position.y`, `heading` and `steering`) is the
    /// mirrored result, to the bit. A NaN in gives a NaN out.
    #[inline]
    #[must_use]
    pub fn advance(&self, state: VehicleState, dt: f64) -> VehicleState {
        let (distance, speed) = self.travel(state.speed, dt);
        let turn = match self.turn {
            Turn::YawRate(rate) => rate * dt,
            Turn::Curvature(curvature) => curvature * distance,
        };
        // The chord of an arc points half the turn away from its start, and is shorter than the arc by sinc(turn / 2).
        let chord = Vec2::from_angle(state.heading + turn / 2.0) * (distance * sinc(turn / 2.0));
        VehicleState { position: state.position + chord, heading: angle::wrap(state.heading + turn), speed }
    }

    /// Distance and final speed of `dt` seconds.
    #[inline]
    fn travel(&self, speed: f64, dt: f64) -> (f64, f64) {
        let end = speed + self.acceleration * dt;
        if end < 0.0 {
            // Only braking leads here: the vehicle stands after speed / braking seconds.
            (speed * speed / (-2.0 * self.acceleration), 0.0)
        } else {
            ((speed + end) / 2.0 * dt, end)
        }
    }
}

/// sin(x) / x, and 1 at 0. Even to the bit.
#[inline]
pub(crate) fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-2 {
        // The next term is below half a unit in the last place here.
        let square = x * x;
        1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0))
    } else {
        math::sin(x) / x
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DT: f64 = 0.01;

    fn start(speed: f64) -> VehicleState {
        VehicleState { position: Vec2::new(3.0, -2.0), heading: 0.3, speed }
    }

    /// Repeats a step of [`DT`] and returns every state, the first included.
    fn drive(vehicle: Vehicle, from: VehicleState, command: Command, steps: usize) -> Vec<VehicleState> {
        let mut states = vec![from];
        for step in 0..steps {
            states.push(vehicle.advance(states[step], command, DT));
        }
        states
    }

    #[test]
    fn a_unicycle_at_constant_commands_drives_a_circle() {
        let (from, steering) = (start(12.0), 0.4);
        let radius = 12.0 / (0.4 * 0.5);
        let centre = from.position + Vec2::from_angle(from.heading).perp() * radius;
        let states = drive(Vehicle::UNICYCLE, from, Command { steering, acceleration: 0.0 }, 10_000);
        for (step, state) in states.iter().enumerate() {
            assert!((state.position.distance(centre) - radius).abs() < 1e-8, "step {step}: {state:?}");
            assert_eq!(state.speed, 12.0);
        }
        // The heading is exact in time: yaw rate 0.2 rad/s.
        let turned = angle::difference(states[1_000].heading, from.heading);
        assert!((turned - 2.0).abs() < 1e-12, "{turned}");
    }

    #[test]
    fn a_bicycle_keeps_its_circle_while_it_accelerates_and_brakes() {
        let from = start(2.0);
        let steering = Vehicle::CAR.steering_for(-1.0 / 40.0, 2.0);
        let centre = from.position - Vec2::from_angle(from.heading).perp() * 40.0;
        for acceleration in [0.8, -0.05] {
            for state in drive(Vehicle::CAR, from, Command { steering, acceleration }, 2_000) {
                assert!((state.position.distance(centre) - 40.0).abs() < 1e-9, "{state:?}");
            }
        }
    }

    #[test]
    fn a_unicycle_that_accelerates_in_a_turn_converges_with_second_order() {
        let command = Command { steering: 1.0, acceleration: 1.0 };
        let end = |steps: u32| {
            let dt = 4.0 / f64::from(steps);
            (0..steps).fold(start(5.0), |state, _| Vehicle::UNICYCLE.advance(state, command, dt)).position
        };
        // With yaw rate ω and acceleration a: x(t) = ∫ (v + a·τ) cos(ψ + ω·τ) dτ, in closed form.
        let (v, a, omega, psi, t) = (5.0, 3.0, 0.5, 0.3, 4.0);
        let primitive = |tau: f64| {
            let (sin, cos) = math::sin_cos(psi + omega * tau);
            let speed = v + a * tau;
            Vec2::new(speed * sin + a / omega * cos, -speed * cos + a / omega * sin) / omega
        };
        let exact = start(5.0).position + primitive(t) - primitive(0.0);
        let errors = [50, 100, 200].map(|steps| end(steps).distance(exact));
        assert!(errors[2] < 2e-3, "{errors:?}");
        for pair in errors.windows(2) {
            assert!((3.9..4.1).contains(&(pair[0] / pair[1])), "{errors:?}");
        }
    }

    #[test]
    fn braking_ends_in_a_standstill_at_the_exact_distance() {
        let from = VehicleState { heading: 0.0, ..start(10.0) };
        let command = Command { acceleration: -1.0, steering: 0.0 };
        for states in [drive(Vehicle::CAR, from, command, 200), vec![from, Vehicle::CAR.advance(from, command, 2.0)]] {
            let last = states.last().expect("the first state is there");
            assert_eq!(last.speed, 0.0);
            assert!((last.position.x - from.position.x - 100.0 / 18.0).abs() < 1e-9, "{last:?}");
        }
        let standing = VehicleState { speed: 0.0, ..from };
        assert_eq!(Vehicle::CAR.advance(standing, command, DT), standing);
    }

    #[test]
    fn commands_beyond_the_bounds_count_as_the_bounds() {
        for vehicle in [Vehicle::UNICYCLE, Vehicle::CAR] {
            for sign in [1.0, -1.0] {
                let bound = Command { acceleration: sign, steering: -sign };
                let beyond = Command { acceleration: 7.0 * sign, steering: -f64::INFINITY * sign };
                assert_eq!(vehicle.advance(start(9.0), beyond, DT), vehicle.advance(start(9.0), bound, DT));
            }
        }
    }

    #[test]
    fn commands_for_an_acceleration_or_curvature_are_inverse_to_their_effect() {
        for vehicle in [Vehicle::UNICYCLE, Vehicle::CAR] {
            for (acceleration, curvature) in [(1.7, 0.01), (-4.0, -0.02), (0.0, 0.0)] {
                let command = Command {
                    acceleration: vehicle.acceleration_for(acceleration),
                    steering: vehicle.steering_for(curvature, 15.0),
                };
                let steady = Command { acceleration: 0.0, ..command };
                let turned = vehicle.advance(start(15.0), steady, DT).heading - 0.3;
                assert!((turned - curvature * 15.0 * DT).abs() < 1e-15, "{vehicle:?}");
                let faster = vehicle.advance(start(15.0), command, DT).speed - 15.0;
                assert!((faster - acceleration * DT).abs() < 1e-14, "{vehicle:?}");
            }
            assert_eq!(vehicle.acceleration_for(-100.0), -1.0);
            assert_eq!(vehicle.steering_for(100.0, 15.0), 1.0);
        }
    }

    #[test]
    fn sinc_is_smooth_where_its_branches_meet() {
        for x in [0.0, 1e-9, 0.009_999, 0.01, 0.010_001, 0.5] {
            let expected = if x == 0.0 { 1.0 } else { math::sin(x) / x };
            assert!((sinc(x) - expected).abs() <= f64::EPSILON, "{x}");
            assert_eq!(sinc(x).to_bits(), sinc(-x).to_bits());
        }
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let wheel = SteeringModel::Bicycle { wheelbase: 2.8, max_angle: 1.6 };
        let error = Vehicle { steering: wheel, ..Vehicle::CAR }.check().expect_err("the wheel stands across");
        assert!(error.to_string().starts_with("`max_angle` of the vehicle is 1.6, but must be above 0 and below π/2"));
        assert!(Vehicle { length: f64::INFINITY, ..Vehicle::CAR }.check().is_err());
        assert!(Vehicle::CAR.check().is_ok() && Vehicle::UNICYCLE.check().is_ok());
    }

    fn mirrored(state: VehicleState) -> VehicleState {
        VehicleState {
            position: Vec2::new(state.position.x, -state.position.y),
            heading: -state.heading,
            speed: state.speed,
        }
    }

    fn bits(state: VehicleState) -> [u64; 4] {
        [state.position.x, state.position.y, state.heading, state.speed].map(f64::to_bits)
    }

    proptest! {
        #[test]
        fn mirrored_vehicles_stay_mirrored_to_the_bit(
            x in -1e4..1e4, y in -1e4..1e4, heading in -3.2..3.2, speed in 0.0..60.0, bicycle: bool,
            commands in prop::collection::vec((-1.2..1.2, -1.2..1.2), 1..200),
        ) {
            let vehicle = if bicycle { Vehicle::CAR } else { Vehicle::UNICYCLE };
            let mut left = VehicleState { position: Vec2::new(x, y), heading: angle::wrap(heading), speed };
            let mut right = mirrored(left);
            for (acceleration, steering) in commands {
                // Long steps, so that headings pass ±π many times.
                left = vehicle.advance(left, Command { acceleration, steering }, 0.7);
                right = vehicle.advance(right, Command { acceleration, steering: -steering }, 0.7);
                prop_assert_eq!(bits(mirrored(left)), bits(right));
            }
        }
    }
}
