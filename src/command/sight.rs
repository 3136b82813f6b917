//! What is shown of a traffic world: a line per car and second, collisions, and the smallest gap and time to collision. The
//! examples include this file by its path.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use chaconne::sim_core::math::angle;
use chaconne::traffic::ttc::Minima;
use chaconne::traffic::{Collision, PoseSample, Road, Watch};
use serde::Serialize;

use super::console::say;

/// What was seen of a traffic world.
#[derive(Clone, Default)]
pub(crate) struct Sight(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    cars: BTreeSet<String>,
    collisions: u64,
    minima: Minima,
}

impl Seen {
    /// Takes what is no larger: of several monitors each tells what is the smallest that it saw.
    fn take(&mut self, Minima { gap, ttc }: &Minima) {
        let least = &mut self.minima;
        if let Some(gap) = gap
            && least.gap.as_ref().is_none_or(|least| gap.metres <= least.metres)
        {
            least.gap = Some(gap.clone());
        }
        if let Some(ttc) = ttc
            && least.ttc.as_ref().is_none_or(|least| ttc.seconds <= least.seconds)
        {
            least.ttc = Some(ttc.clone());
        }
    }
}

/// What the JSON object says of it.
#[derive(Serialize)]
pub(crate) struct Sighted {
    /// How many cars loggers saw, unless they may be where nobody hears them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cars: Option<usize>,
    collisions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    least_gap_m: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least_ttc_s: Option<f64>,
}

impl Sight {
    /// What to tell loggers and monitors: `quiet` keeps everything for the end.
    pub(crate) fn watch(&self, quiet: bool) -> Watch {
        let [cars, collisions, minima] = [(); 3].map(|()| self.0.clone());
        Watch {
            log: Arc::new(move |sample, road| {
                let mut seen = cars.lock().unwrap_or_else(PoisonError::into_inner);
                let (is_first, is_new) = (seen.cars.is_empty(), seen.cars.insert(sample.car.to_owned()));
                if !quiet {
                    line(&sample, road, is_first, is_new);
                }
            }),
            collision: Arc::new(move |collision| {
                collisions.lock().unwrap_or_else(PoisonError::into_inner).collisions += 1;
                if !quiet {
                    tell(collision);
                }
            }),
            minima: Arc::new(move |smaller| {
                minima.lock().unwrap_or_else(PoisonError::into_inner).take(smaller);
            }),
        }
    }

    /// What was seen, when a monitor looked: lines for people.
    pub(crate) fn say_summary(&self) {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(gap) = &seen.minima.gap else { return };
        let collisions = match seen.collisions {
            0 => "no collision".to_owned(),
            1 => "1 collision".to_owned(),
            many => format!("{many} collisions"),
        };
        say(format_args!(
            "{collisions}; smallest gap {:.2} m, between {} and {} at {} s",
            gap.metres, gap.car, gap.other, gap.time
        ));
        match &seen.minima.ttc {
            Some(ttc) => say(format_args!(
                "smallest time to collision {:.2} s, between {} and {} at {} s",
                ttc.seconds, ttc.car, ttc.other, ttc.time
            )),
            None => say("nobody was ever on a collision course"),
        }
    }

    /// What was seen, as a value.
    pub(crate) fn sighted(&self) -> Sighted {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Sighted {
            cars: Some(seen.cars.len()),
            collisions: seen.collisions,
            least_gap_m: seen.minima.gap.as_ref().map(|gap| gap.metres),
            least_ttc_s: seen.minima.ttc.as_ref().map(|ttc| ttc.seconds),
        }
    }
}

fn line(sample: &PoseSample<'_>, road: &Road, is_first: bool, is_new: bool) {
    if is_first {
        say("    time  car         road m  lane       x m       y m   heading     speed");
    }
    let PoseSample { published, car, pose, .. } = sample;
    let place = road.project(pose.ground(), None);
    let lane = place.and_then(|place| road.lane_at(place.lateral)).map_or("-".to_owned(), |lane| lane.to_string());
    let first = if is_new { "  first pose" } else { "" };
    let published = published.to_string();
    say(format_args!(
        "{published:>6} s  {car:<8} {:>9.1}  {lane:>4}  {:>8.1}  {:>8.1}  {:>7.1}°  {:>4.1} m/s{first}",
        place.map_or(f64::NAN, |place| place.s),
        pose.position.x,
        pose.position.y,
        angle::to_degrees(pose.heading()),
        pose.speed,
    ));
}

fn tell(collision: &Collision) {
    let Collision { a, b, time, relative_speed, .. } = collision;
    say(format_args!("{time:>6} s  {a} and {b} collide, at {relative_speed:.1} m/s"));
}
