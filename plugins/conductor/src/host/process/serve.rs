//! A helper process, as it sees itself.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};

use super::buffer::FrameBuffer;
use super::build_of_this;
use crate::host::wire::{OpenSetting, Server, WireError};
use crate::membership::ActorMaker;

/// Why a helper process ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The pipes cannot be used.
    #[error("a helper process talks over its stdin and stdout, and they cannot be used ({0})")]
    Pipe(#[from] io::Error),
    /// The other side is no conductor of this version.
    #[error("a helper process was sent {0}; it is started by a run that has actors in helper processes, not by hand")]
    Wire(#[from] WireError),
}

/// How long a step, and what participants do when they are let go, may go on when the conductor is gone.
const GRACE: Duration = Duration::from_secs(5);

/// Serves the conductor at the other end of this process's stdin and stdout until it closes them; `open` says how the actors
/// of a run are made. What participants print goes to stderr, and their stdin is empty.
///
/// # Errors
/// When the pipes cannot be used, or what comes is not of the protocol.
pub fn serve(mut open: impl FnMut(OpenSetting<'_>) -> Result<Box<dyn ActorMaker>, String>) -> Result<(), ServeError> {
    let (from, to) = take_pipes().map_err(io::Error::from)?;
    end_with_conductor(&from)?;
    let (mut from, mut to) = (std::fs::File::from(from), std::fs::File::from(to));
    let mut server = Server::new(|opening: OpenSetting<'_>| {
        limit_memory(opening.memory)?;
        open(opening)
    })
    .build(build_of_this());
    let (mut buffer, mut out) = (FrameBuffer::default(), Vec::new());
    loop {
        while let Some(frame) = buffer.next()? {
            let answered = server.answer(buffer.frame(frame), &mut out);
            if !out.is_empty() {
                match to.write_all(&out) {
                    Ok(()) => out.clear(),
                    // Nobody listens any more.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
            }
            answered?;
        }
        match buffer.fill(|room| from.read(room)) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes stdin and stdout for the protocol alone: what participants print goes to stderr then, and they read nothing.
fn take_pipes() -> Result<(OwnedFd, OwnedFd), Errno> {
    let from = fcntl_dupfd_cloexec(stdin(), 3)?;
    let to = fcntl_dupfd_cloexec(stdout(), 3)?;
    dup2_stdout(stderr())?;
    dup2_stdin(open("/dev/null", OFlags::RDONLY, Mode::empty())?)?;
    Ok((from, to))
}

/// Ends this process when the conductor is gone, also from within a step that does not come back.
fn end_with_conductor(from: &OwnedFd) -> io::Result<()> {
    let from = from.try_clone()?;
    let watch = move || {
        // A pipe whose other end is closed hangs up, whether its bytes have been read or not.
        let mut fds = [PollFd::new(&from, PollFlags::empty())];
        while let Ok(0) | Err(Errno::INTR) = poll(&mut fds, None) {}
        thread::sleep(GRACE);
        std::process::exit(1);
    };
    thread::Builder::new().name("watch".to_owned()).stack_size(64 << 10).spawn(watch)?;
    Ok(())
}

/// Bounds the memory of this process. An allocation that does not fit aborts it.
fn limit_memory(bytes: Option<u64>) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Address space holds much that is only reserved.
    #[cfg(target_os = "linux")]
    let resource = Resource::Data;
    #[cfg(not(target_os = "linux"))]
    let resource = Resource::As;
    match bytes {
        None => Ok(()),
        some => setrlimit(resource, Rlimit { current: some, maximum: some })
            .map_err(|error| format!("its memory cannot be bounded ({error})")),
    }
}
