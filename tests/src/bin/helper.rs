//! A helper process for tests: makes the actors of `chaconne_tests::made`, or misbehaves as its first argument says.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use chaconne_conductor::ActorMaker;
use chaconne_conductor::host::process::serve;
use chaconne_tests::made::make;
use chaconne_tests::reference::random::living_world;
use chaconne_tests::reference::world::{Pool, Seats, Views};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => {}
        // Bytes that are no message, and then as many as there may be.
        Some("garbage") => {
            let mut out = std::io::stdout().lock();
            while out.write_all(b"\x05\0\0\0this is no message, and there is much of it\n").is_ok() {}
            return ExitCode::SUCCESS;
        }
        // A frame that would be longer than any.
        Some("huge") => {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(&[0xff; 64]).and_then(|()| out.flush());
            std::thread::park();
        }
        Some("silent") => loop {
            std::thread::park();
        },
        Some("deaf") => {
            // Ends without a word.
            return ExitCode::from(3);
        }
        Some(other) => panic!("`{other}` is not known"),
    }
    let served = serve(|opening| {
        if opening.setting == "refuse" {
            return Err("it has no wish to".to_owned());
        }
        if let Some(number) = opening.setting.strip_prefix("living ").and_then(|number| number.parse().ok()) {
            let blueprint = Arc::new(living_world(number));
            return Ok(Box::new(Pool { blueprint, views: Views::default(), seats: Seats::Here }));
        }
        Ok(Box::new(make) as Box<dyn ActorMaker>)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(1)
        }
    }
}
