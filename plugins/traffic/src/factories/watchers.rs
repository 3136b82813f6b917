//! Sensors, monitors and loggers, as they are written in scenarios.

use chaconne_scenario::quantity::{Degrees, Period, Range};
use chaconne_scenario::{Factories, FactoryError, Site};
use chaconne_sim_core::SimDuration;
use chaconne_sim_core::math::{Vec2, angle};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cars::{ArcLength, Distance, Span};
use crate::{CollisionMonitor, Radar, RadarSpec, TtcMonitor, Watch};

chaconne_scenario::quantities! {
    /// An angle of view.
    pub struct View(f64) = Range::new("degrees").above(0.0).up_to(360.0);
    /// A direction, from straight ahead.
    pub struct Direction(f64) = Range::new("degrees").from(-180.0).up_to(180.0);
    /// A standard deviation of distances; with 0 nothing is drawn.
    pub struct DistanceSigma(f64) = Range::new("m").from(0.0).up_to(100.0);
    /// A standard deviation of speeds; with 0 nothing is drawn.
    pub struct SpeedSigma(f64) = Range::new("m/s").from(0.0).up_to(100.0);
    /// A standard deviation of angles; with 0 nothing is drawn.
    pub struct AngleSigma(f64) = Range::new("degrees").from(0.0).up_to(90.0);
}

/// A radar: a part of a car's actor.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RadarFile {
    /// Largest range.
    max_range: Distance,
    /// The whole angle that is seen.
    field_of_view_deg: View,
    /// Where it is mounted, from the car's reference point: ahead and to the left, in metres.
    position_m: [ArcLength; 2],
    /// How it is mounted: roll, pitch and yaw. It looks along the ground: roll and pitch are 0.
    rpy_deg: [Degrees; 3],
    /// Noise of ranges.
    range_sigma: DistanceSigma,
    /// Noise of range rates.
    range_rate_sigma: SpeedSigma,
    /// Noise of azimuths.
    azimuth_sigma_deg: AngleSigma,
    /// Time between two scans.
    every: Period,
    /// Whether it also publishes `radar_truth`: who it was that it saw.
    truth: bool,
}

impl Default for RadarFile {
    fn default() -> Self {
        let spec = RadarSpec::default();
        Self {
            max_range: Distance::of(spec.max_range),
            field_of_view_deg: View::of(angle::to_degrees(spec.field_of_view).round()),
            position_m: [ArcLength::of(spec.position.x), ArcLength::of(spec.position.y)],
            rpy_deg: [Degrees::of(0.0); 3],
            range_sigma: DistanceSigma::of(spec.range_sigma),
            range_rate_sigma: SpeedSigma::of(spec.range_rate_sigma),
            azimuth_sigma_deg: AngleSigma::of((angle::to_degrees(spec.azimuth_sigma) * 1e6).round() / 1e6),
            every: Period::of(Radar::PERIOD),
            truth: false,
        }
    }
}

impl RadarFile {
    /// The participant.
    pub(super) fn radar(self) -> Result<Radar, String> {
        let [roll, pitch, yaw] = self.rpy_deg.map(Degrees::get);
        if roll != 0.0 || pitch != 0.0 {
            return Err("the radar looks along the ground: roll and pitch must be 0".to_owned());
        }
        let spec = RadarSpec {
            max_range: self.max_range.get(),
            field_of_view: angle::to_radians(self.field_of_view_deg.get()),
            position: Vec2::new(self.position_m[0].get(), self.position_m[1].get()),
            yaw: angle::wrap(angle::to_radians(yaw)),
            range_sigma: self.range_sigma.get(),
            range_rate_sigma: self.range_rate_sigma.get(),
            azimuth_sigma: angle::to_radians(self.azimuth_sigma_deg.get()),
        };
        let radar = Radar::new(spec).map_err(|error| error.to_string())?.every(self.every.get());
        Ok(if self.truth { radar.with_truth() } else { radar })
    }
}

/// Who looks at every car.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoggerFile {
    /// Time between two samples.
    pub(super) every: Period,
}

impl Default for LoggerFile {
    fn default() -> Self {
        Self { every: Period::of(SimDuration::from_secs(1)) }
    }
}

/// Who notices when two bodies overlap.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CollisionsFile {
    /// Time between two samples.
    every: Period,
}

impl Default for CollisionsFile {
    fn default() -> Self {
        Self { every: Period::of(CollisionMonitor::PERIOD) }
    }
}

/// Who computes times to collision.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TtcFile {
    /// The path of the actor against whom others are compared; all against all unless it is given.
    ego: Option<String>,
    /// Time between two samples.
    every: Period,
    /// Who meets later is not on a collision course.
    horizon: Span,
}

impl Default for TtcFile {
    fn default() -> Self {
        Self { ego: None, every: Period::of(TtcMonitor::PERIOD), horizon: Span::of(TtcMonitor::HORIZON) }
    }
}

pub(super) fn add_to(factories: &mut Factories, watch: &Watch) -> Result<(), FactoryError> {
    factories.add("traffic/radar", "a radar, as a part of a car's actor", |params: RadarFile, _: &Site<'_>| {
        params.radar()
    })?;
    factories.add("traffic/collisions", "publishes when two bodies begin to overlap, and when that ends", {
        let collision = watch.collision.clone();
        move |params: CollisionsFile, _: &Site<'_>| {
            let collision = collision.clone();
            let monitor = CollisionMonitor::new().every(params.every.get());
            Ok::<_, String>(monitor.with_sink(move |seen| collision(seen)))
        }
    })?;
    factories.add("traffic/ttc", "publishes times to collision, and the smallest ones and gaps of the run", {
        let minima = watch.minima.clone();
        move |params: TtcFile, _: &Site<'_>| {
            let minima = minima.clone();
            let monitor = match &params.ego {
                Some(path) => TtcMonitor::new(path.parse().map_err(|error| format!("`ego`: {error}"))?),
                None => TtcMonitor::all(),
            };
            let monitor = monitor.every(params.every.get()).within(params.horizon.get());
            Ok::<_, String>(monitor.map_err(|error| error.to_string())?.with_sink(move |seen| minima(seen)))
        }
    })?;
    Ok(())
}
