//! Compressed logs: independent zstd frames, cut by size and by time, so that little is lost when the process is
//! killed.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use crate::sink::{Plain, Sink};

/// A frame is closed when it holds this much. With what waits, and a frame that is being compressed, that is less than
/// a mebibyte that a killed process loses.
const FRAME: usize = 256 << 10;

/// A frame is closed when its first line has waited this long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lines that may wait for the compressing thread, in bytes. A larger instant waits alone.
const WAITING: usize = 384 << 10;

/// zstd's level: most of the gain, at a speed that a run does not wait for.
const LEVEL: i32 = 1;

/// Compresses on a thread of its own, which also closes frames while no instant comes.
pub(crate) struct Compressed {
    lines: Option<Sender<Vec<u8>>>,
    waiting: Arc<Waiting>,
    spare: Receiver<Vec<u8>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    failed: bool,
    thread: Option<JoinHandle<()>>,
}

impl Compressed {
    pub(crate) fn new(file: Plain) -> io::Result<Self> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        let (lines, received) = mpsc::channel();
        let waiting: Arc<Waiting> = Arc::default();
        let (used, spare) = mpsc::channel();
        let failure: Arc<Mutex<Option<io::Error>>> = Arc::default();
        let worker = Worker {
            compressor,
            file,
            frame: Vec::new(),
            used,
            waiting: waiting.clone(),
            failure: failure.clone(),
            failed: false,
        };
        let thread =
            std::thread::Builder::new().name("chaconne-log".to_owned()).spawn(move || worker.run(&received))?;
        Ok(Self { lines: Some(lines), waiting, spare, failure, failed: false, thread: Some(thread) })
    }

    fn take_failure(&mut self) -> io::Result<()> {
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => {
                self.failed = true;
                Err(error)
            }
            None if self.failed => Err(io::Error::other("an earlier part could not be written")),
            None => Ok(()),
        }
    }
}

impl Sink for Compressed {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.take_failure()?;
        let mut buffer = self.spare.try_recv().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(lines);
        self.waiting.add(lines.len());
        let sent = self.lines.as_ref().map(|channel| channel.send(buffer));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(io::Error::other("the thread that compresses it has ended")),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lines = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            return Err(io::Error::other("the thread that compresses it has panicked"));
        }
        self.take_failure()
    }
}

/// How many bytes of lines wait.
#[derive(Default)]
struct Waiting {
    bytes: Mutex<usize>,
    fewer: Condvar,
}

impl Waiting {
    fn bytes(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room.
    fn add(&self, more: usize) {
        let bytes = self.bytes();
        let is_full = |bytes: &mut usize| *bytes > 0 && bytes.saturating_add(more) > WAITING;
        *self.fewer.wait_while(bytes, is_full).unwrap_or_else(PoisonError::into_inner) += more;
    }

    fn take(&self, taken: usize) {
        let mut bytes = self.bytes();
        *bytes = bytes.saturating_sub(taken);
        self.fewer.notify_all();
    }
}

impl Drop for Compressed {
    fn drop(&mut self) {
        // Whoever wants to know how it ended has asked before.
        let _ = self.finish();
    }
}

struct Worker {
    compressor: Compressor<'static>,
    file: Plain,
    /// Lines of the frame that is being filled.
    frame: Vec<u8>,
    used: Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
    failure: Arc<Mutex<Option<io::Error>>>,
    /// A frame is missing, so that nothing may follow.
    failed: bool,
}

#[allow(
    clippy::disallowed_methods,
    reason = "how long lines have waited; it decides where frames end, and nothing of what is in them"
)]
impl Worker {
    fn run(mut self, lines: &Receiver<Vec<u8>>) {
        // The header does not wait.
        let mut close_at = Some(Instant::now());
        loop {
            let received = match close_at {
                None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(time) => lines.recv_timeout(time.saturating_duration_since(Instant::now())),
            };
            match received {
                Ok(buffer) => {
                    self.take(buffer);
                    let close = *close_at.get_or_insert_with(|| Instant::now() + PATIENCE);
                    if self.frame.len() < FRAME && Instant::now() < close {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.frame.is_empty() => match lines.recv() {
                    Ok(buffer) => self.take(buffer),
                    Err(_) => return,
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.close();
                    return;
                }
            }
            self.close();
            close_at = None;
        }
    }

    /// Adds lines to the frame.
    fn take(&mut self, lines: Vec<u8>) {
        self.frame.extend_from_slice(&lines);
        self.waiting.take(lines.len());
        // The recorder may be gone.
        let _ = self.used.send(lines);
    }

    /// Compresses and writes what there is.
    fn close(&mut self) {
        if self.frame.is_empty() || self.failed {
            self.frame.clear();
            return;
        }
        let written = self.compressor.compress(&self.frame).and_then(|frame| self.file.write(&frame));
        self.frame.clear();
        if let Err(error) = written {
            self.failed = true;
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Nobody waits for one that is gone.
        self.waiting.take(usize::MAX);
    }
}
