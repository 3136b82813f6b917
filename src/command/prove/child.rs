//! A run in a process of its own: started, watched, ended when it takes too long, and what it said.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::affinity::Pinned;
use super::stop;

/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(4);

/// How long to wait for what a process printed when it has ended: what it started may keep its pipes open.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a process ended.
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(crate) wall: Duration,
    /// The last line of stdout.
    pub(crate) stdout: String,
    /// The last error on stderr, or its last line.
    pub(crate) stderr: String,
}

pub(crate) enum How {
    /// By itself.
    Exited(ExitStatus),
    /// It took too long, and was killed.
    TimedOut,
    /// This program was told to stop, and killed it.
    Stopped,
}

/// Runs a command to its end; on one processor when it is `pinned`. `look` is called all the time.
#[allow(clippy::disallowed_methods, reason = "how long a process takes is told, and bounded; no result depends on it")]
pub(crate) fn run(
    command: &mut Command,
    pinned: bool,
    timeout: Duration,
    mut look: impl FnMut(Duration),
) -> std::io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = {
        let _pinned = pinned.then(Pinned::new);
        Reaped(command.spawn()?)
    };
    let stdout = child.0.stdout.take().map(Tail::of);
    let stderr = child.0.stderr.take().map(Tail::of);
    let how = loop {
        if let Some(status) = child.0.try_wait()? {
            break How::Exited(status);
        }
        let elapsed = start.elapsed();
        if stop::is_stopped() {
            break How::Stopped;
        }
        if elapsed > timeout {
            break How::TimedOut;
        }
        look(elapsed);
        thread::sleep(LOOK);
    };
    let wall = start.elapsed();
    drop(child);
    let text = |tail: Option<Tail>| tail.map(Tail::text).unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    Ok(Ended { how, wall, stdout: stdout.last, stderr: stderr.error.unwrap_or(stderr.last) })
}

/// A process that is killed and reaped when nobody waits for it any more.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        // It may have ended, and then both do nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What was read last from a pipe that is read to its end, so that nobody waits for room in it.
struct Tail {
    reader: JoinHandle<()>,
    text: Arc<Mutex<Text>>,
}

#[derive(Clone, Default)]
struct Text {
    /// The last line that is not empty.
    last: String,
    /// The last line that is an error.
    error: Option<String>,
}

impl Tail {
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::<Mutex<Text>>::default();
        let shared = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let (mut pipe, mut bytes) = (BufReader::new(pipe), Vec::new());
            while pipe.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
                let line = String::from_utf8_lossy(&bytes);
                let line = line.trim();
                if !line.is_empty() {
                    let mut text = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    line.clone_into(&mut text.last);
                    if let Some(error) = line.strip_prefix("error: ") {
                        text.error = Some(error.to_owned());
                    }
                }
                bytes.clear();
            }
        });
        Self { reader, text }
    }

    #[allow(clippy::disallowed_methods, reason = "the wait for a pipe is bounded; no result depends on it")]
    fn text(self) -> Text {
        let start = Instant::now();
        while !self.reader.is_finished() && start.elapsed() < PATIENCE {
            thread::sleep(LOOK);
        }
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
