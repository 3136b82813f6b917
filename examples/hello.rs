//! The simplest complete program: a room that cools, and a thermostat that heats it.
//!
//! ```text
//! cargo run --example hello
//! ```

mod common;

use std::process::ExitCode;

use bevy::prelude::*;
use chaconne::prelude::*;

/// Loses heat to the frost outside, gains some from its heater, and says how warm it is.
struct Room {
    celsius: f64,
}

impl Participant for Room {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest("heating")] // its own actor's
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let heating = ctx.latest::<bool>("heating")?.is_some_and(|on| *on);
        let outside = ctx.rng().normal(-5.0, 2.0);
        let per_second = if heating { 0.02 } else { 0.0 } - 0.0004 * (self.celsius - outside);
        self.celsius += per_second * ctx.dt().as_secs_f64();
        ctx.publish("temperature", &self.celsius)?;
        ctx.after(SimDuration::from_secs(10))
    }
}

/// Switches the heater on below 20 °C and off above 21 °C.
struct Thermostat {
    heating: bool,
}

impl Participant for Thermostat {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest("temperature")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if let Some(celsius) = ctx.latest::<f64>("temperature")? {
            self.heating = *celsius < if self.heating { 21.0 } else { 20.0 };
            ctx.publish("heating", &self.heating)?;
        }
        ctx.after(SimDuration::from_secs(60))
    }
}

/// Heats a room for a night and prints how warm it is, hour by hour.
#[derive(clap::Parser)]
struct Arguments {
    #[command(flatten)]
    options: common::Options,
}

fn main() -> ExitCode {
    common::run(|Arguments { options }| {
        let home =
            Actor::new("home").child("room", Room { celsius: 16.0 }).child("thermostat", Thermostat { heating: false });
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, ChaconnePlugins.set(options.conductor())))
            .mirror::<f64>("temperature")
            .add_actor(home);

        let mut temperatures = app.world_mut().query::<(&ActorPath, &Signal<f64>)>();
        let mut hours = 0;
        // Runs in pieces equal one run.
        let report = loop {
            hours += 1;
            let report = app.run_headless(SimTime::from_secs(3600 * hours));
            for (path, celsius) in temperatures.iter(app.world()) {
                options.say(format_args!("{path} after {hours} h: {:.1} °C", celsius.value));
            }
            if hours == 8 || report.stopped {
                break report;
            }
        };
        options.close(&report, common::Nothing {})
    })
}
