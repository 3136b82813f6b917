//! Runs a world in real time, without end, until a signal comes: `signalled (ours | bevy | slow) LOG`. Says `running` on
//! stdout when the first instant is being stepped; with `slow` that step takes a minute, with `bevy` it is Bevy's plugin that
//! handles Ctrl-C.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by panicking")]

use std::io::Write;

use bevy::app::TerminalCtrlCHandlerPlugin;
use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne_tests::acting;

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, log] = arguments.as_slice() else { panic!("which mode, and where is the log?") };
    let is_slow = mode == "slow";
    let mut app = App::new();
    app.add_plugins(MinimalPlugins);
    if mode == "bevy" {
        app.add_plugins(TerminalCtrlCHandlerPlugin);
    }
    // A window would stay open at the end of its run; who is told to go goes.
    let conductor = ConductorPlugin { pacing: Pacing::REAL_TIME, exit_at_end: mode == "bevy", ..default() };
    app.add_plugins((ChaconnePlugins.set(conductor), RecordPlugin::new(log)));
    let talk = acting(move |ctx| {
        if ctx.now() == SimTime::ZERO {
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "running").unwrap();
            stdout.flush().unwrap();
        }
        if is_slow {
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        ctx.publish("now", &ctx.now())?;
        ctx.after(SimDuration::from_millis(10))
    });
    app.add_actor(Actor::of("talker", talk));
    app.run()
}
