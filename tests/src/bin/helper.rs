//! A helper process for tests: makes the actors of `chaconne_tests::made`, or misbehaves as its first argument says.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use chaconne_conductor::ActorMaker;
use chaconne_conductor::host::process::serve;
use chaconne_conductor::host::wire::{OpenSetting, Server, first_frame};
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
        Some("garbage-later" | "huge-later" | "wrong-later" | "closed-later" | "dripping-later") => return later(),
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

/// Answers like a helper until it is to step the second time, and then as its first argument says.
fn later() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let mut server = Server::new(|_: OpenSetting<'_>| Ok(Box::new(make) as Box<dyn ActorMaker>));
    let (mut from, mut to) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut read, mut out, mut answers) = (Vec::new(), Vec::new(), 0);
    loop {
        while let Ok(Some(frame)) = first_frame(&read).map(|frame| frame.map(<[u8]>::to_vec)) {
            read.drain(..4 + frame.len());
            if server.answer(&frame, &mut out).is_err() {
                return ExitCode::from(1);
            }
            answers += usize::from(!out.is_empty());
            // A greeting, an actor, a step.
            if answers > 3 && !out.is_empty() {
                out.clear();
                match argument.as_str() {
                    "garbage-later" => out.extend(b"\x05\0\0\0nonsense"),
                    "huge-later" => out.extend([0xff; 64]),
                    // An answer that is one, to another question.
                    "wrong-later" => out.extend([2, 0, 0, 0, 4, 0]),
                    "closed-later" => return ExitCode::from(9),
                    _ => {
                        // A long frame, a few bytes at a time.
                        let _ = to.write_all(&[0, 0, 16, 0]).and_then(|()| to.flush());
                        while to.write_all(&[0]).and_then(|()| to.flush()).is_ok() {
                            std::thread::sleep(std::time::Duration::from_millis(5));
                        }
                        return ExitCode::SUCCESS;
                    }
                }
            }
            if to.write_all(&out).and_then(|()| to.flush()).is_err() {
                return ExitCode::SUCCESS;
            }
            out.clear();
        }
        let mut piece = [0; 4096];
        match from.read(&mut piece) {
            Ok(0) | Err(_) => return ExitCode::SUCCESS,
            Ok(count) => read.extend(&piece[..count]),
        }
    }
}
