//! Growth: what a step costs among 200,000 participants, as a multiple of what it costs among 14.
//!
//! Anything grows: the data of 200,000 participants does not fit the caches that hold the data of 14. How much of it is
//! owed to the data shows in the [`minimal`](crate::minimal) loop, which does the same work by hand, so the growth of
//! the conductor is judged by that of the loop.
//!
//! The work is traffic: each car is a controller due every 100 ms and physics due every 10 ms, and physics publishes
//! its pose whenever controllers are due. The unit is one step.

use crate::{
    alternate::{Plan, Series, Work, alternate},
    error::PeerError,
    minimal::{Loop, stand_in::StandIn},
    ours,
    report::{Report, Row, Side},
};

/// Simulated time between two steps of a car's physics, in milliseconds.
pub(crate) const PHYSICS_MS: u64 = 10;

/// Simulated time between two steps of a car's controller, in milliseconds.
pub(crate) const CONTROL_MS: u64 = 100;

/// Numbers of cars: of 14 and of 200,000 participants.
const CARS: [usize; 2] = [7, 100_000];

/// The largest ratio of the two growths that is good enough.
const TARGET: f64 = 1.3;

const MINIMAL: &str = "minimal loop";

/// Traffic that was set up and now only advances.
pub(crate) trait Traffic {
    /// Advances simulated time by `periods` control periods of 100 ms.
    fn advance(&mut self, periods: u64) -> Result<(), PeerError>;

    /// Steps of participants since time zero.
    fn steps(&self) -> u64;
}

/// Steps that `cars` cars make in a control period.
pub(crate) fn steps_per_period(cars: usize) -> u64 {
    cars as u64 * (CONTROL_MS / PHYSICS_MS + 1)
}

struct TrafficWork {
    name: String,
    cars: usize,
    periods: u64,
    traffic: Box<dyn Traffic>,
}

impl Work for TrafficWork {
    fn perform(&mut self, amount: u64) -> Result<(), PeerError> {
        self.traffic.advance(amount)?;
        self.periods += amount;
        Ok(())
    }

    fn units(&self, amount: u64) -> f64 {
        (steps_per_period(self.cars) * amount) as f64
    }

    fn verify(&mut self) -> Result<(), PeerError> {
        let (expected, found) = (steps_per_period(self.cars) * self.periods, self.traffic.steps());
        if expected == found {
            return Ok(());
        }
        let contender = self.name.clone();
        Err(PeerError::Differs { contender, expected: expected as f64, found: found as f64 })
    }
}

/// Measures both sides at both sizes and reports a row per size and one for the growth.
pub(crate) fn measure(plan: Plan, report: &mut Report) -> Result<(), PeerError> {
    report.progress("growth: setting up")?;
    let mut works: Vec<Box<dyn Work>> = Vec::new();
    let mut enter = |side: &str, cars: usize, traffic: Box<dyn Traffic>| {
        let name = format!("the traffic of {cars} cars of {side}");
        works.push(Box::new(TrafficWork { name, cars, periods: 0, traffic }));
    };
    for cars in CARS {
        enter(MINIMAL, cars, Box::new(Loop::<StandIn>::new(cars)));
    }
    for cars in CARS {
        enter("Chaconne", cars, ours::traffic(cars)?);
    }
    report.progress(&format!("growth: {} contenders, {} rounds", works.len(), plan.runs))?;
    let series = alternate(&mut works, plan)?;

    let (minimal, ours) = series.split_at(CARS.len());
    let side = |name, value, spread| Side { name, threads: 1, value, spread };
    let step = |name, series: &Series| side(name, series.median(), Some(series.spread()));
    for (index, cars) in CARS.into_iter().enumerate() {
        let ours = Some(step("Chaconne", &ours[index]));
        let theirs = Some(step(MINIMAL, &minimal[index]));
        report.row(Row::new("step", 2 * cars, "ns per step", plan.runs).theirs(theirs).ours(ours))?;
    }
    let growth = |name, series: &[Series]| side(name, series[1].median() / series[0].median(), None);
    let ours = Some(growth("Chaconne", ours));
    let theirs = Some(growth(MINIMAL, minimal));
    let row = Row::new("growth", 2 * CARS[1], "times the step of 14", plan.runs);
    report.row(row.theirs(theirs).ours(ours).target(Some(TARGET)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_period_has_ten_steps_of_physics_and_one_of_the_controller() {
        assert_eq!(steps_per_period(7), 77);
        let mut work =
            TrafficWork { name: String::new(), cars: 7, periods: 0, traffic: Box::new(Loop::<StandIn>::new(7)) };
        work.perform(1).unwrap();
        work.perform(9).unwrap();
        work.verify().unwrap();
        assert_eq!(work.traffic.steps(), 770);
    }
}
