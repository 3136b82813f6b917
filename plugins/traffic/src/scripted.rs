//! Bodies that move as it is written down, whatever happens around them.

use std::sync::Arc;

use chaconne_sim_core::{Participant, SimDuration, StepCtx, StepResult, math};

use crate::{
    TrafficError,
    error::{check_parameter, check_positive},
    physics::VehiclePhysics,
    road::Road,
    signal::Pose,
    vehicle::VehicleState,
};

/// A body of a car's size that stands still: publishes its `pose` once, and is never due again.
#[derive(Clone, Copy, Debug)]
pub struct StandingBody(Pose);

impl StandingBody {
    /// A body in the middle of a lane counted from the right, at an arc length in metres, along the road.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`].
    pub fn in_lane(road: &Road, lane: usize, s: f64) -> Result<Self, TrafficError> {
        let (position, heading) = road.pose_at(s, road.lane_centre(lane)?);
        Ok(Self(Pose::from(VehicleState { position, heading, speed: 0.0 })))
    }
}

impl Participant for StandingBody {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        ctx.publish("pose", &self.0)?;
        Ok(ctx.never())
    }
}

/// A body in the middle of a lane whose speed oscillates around a mean: the leader of a platoon.
///
/// It publishes its `pose` every 10 ms unless [`every`](Self::every) sets another period. Its place is a function of time
/// alone, with mean speed v, amplitude A and frequency ω = 2π / period
///
/// ```text
/// speed(t) = v + A · sin(ω·t)        s(t) = s(0) + v·t + A/ω · (1 − cos(ω·t))
/// ```
///
/// so that no error adds up, however long it drives. With an amplitude of 0 it keeps its speed.
#[derive(Clone, Debug)]
pub struct OscillatingBody {
    road: Arc<Road>,
    lateral: f64,
    s: f64,
    mean_speed: f64,
    amplitude: f64,
    frequency: f64,
    step: SimDuration,
}

impl OscillatingBody {
    /// A body in a lane counted from the right that is at an arc length of `s` metres at time zero, with a mean speed and an
    /// amplitude in m/s and a period in seconds.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`], or [`TrafficError::Parameter`] for a mean speed or an amplitude below zero, an amplitude
    /// above the mean speed, a period that is not above zero, or anything that is not finite.
    pub fn new(
        road: Arc<Road>,
        lane: usize,
        s: f64,
        mean_speed: f64,
        amplitude: f64,
        period: f64,
    ) -> Result<Self, TrafficError> {
        let of = "the oscillating body";
        check_parameter(of, "s", s, "a finite number", true)?;
        check_parameter(of, "mean_speed", mean_speed, "0 or more", mean_speed >= 0.0)?;
        let valid = (0.0..=mean_speed).contains(&amplitude);
        check_parameter(of, "amplitude", amplitude, "0 or more and not above the mean speed", valid)?;
        check_positive(of, "period", period)?;
        let (lateral, frequency) = (road.lane_centre(lane)?, math::TAU / period);
        Ok(Self { road, lateral, s, mean_speed, amplitude, frequency, step: VehiclePhysics::PERIOD })
    }

    /// This body with another time between two poses.
    #[must_use]
    pub fn every(self, step: SimDuration) -> Self {
        Self { step, ..self }
    }
}

impl Participant for OscillatingBody {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let time = ctx.now().as_nanos() as f64 * 1e-9;
        let (sin, cos) = math::sin_cos(self.frequency * time);
        let swing = self.amplitude / self.frequency * (1.0 - cos);
        let (position, heading) = self.road.pose_at(self.s + self.mean_speed * time + swing, self.lateral);
        let speed = self.mean_speed + self.amplitude * sin;
        ctx.publish("pose", &Pose::from(VehicleState { position, heading, speed }))?;
        ctx.after(self.step)
    }
}
