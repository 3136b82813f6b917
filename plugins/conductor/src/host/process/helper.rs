//! A helper process, as the conductor sees it.

use std::io;
use std::ops::Range;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use chaconne_sim_core::membership::NodeRequest;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::{RunIdentity, StepBounds};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, read, write};
use rustix::process::{Pid, Signal, kill_process_group};

use super::buffer::FrameBuffer;
use super::{HelperProgram, IS_HELPER};
use crate::clock::Deadline;
use crate::host::remote::{Answer, NotMade, Parting, Remote};
use crate::host::wire::{Asking, Described, WireError};
use crate::host::{HaltCause, StepRequest, seconds};

/// How long a helper that is asked to end, or has closed its end of the pipe, may take until it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running helper process. It is ended, and waited for, when this is dropped.
pub(in crate::host) struct Helper {
    child: Child,
    /// Its stdin; none when it has been closed.
    to: Option<ChildStdin>,
    from: ChildStdout,
    asking: Asking,
    /// What is still to be written, from `sent` on.
    out: Vec<u8>,
    sent: usize,
    read: FrameBuffer,
    spare: StepRequest,
    /// It does not listen any more, so there is no sense in asking it to end.
    is_deaf: bool,
    /// Why it cannot be told what it has to do.
    broken: Option<HaltCause>,
}

impl Helper {
    /// Starts a program and greets it.
    ///
    /// # Errors
    /// In a sentence, when it cannot be started, does not answer, or cannot make actors for this run.
    pub(in crate::host) fn start(
        program: &HelperProgram,
        run: &Arc<RunIdentity>,
        memory: Option<u64>,
        timeout: Duration,
    ) -> Result<Self, String> {
        let name = program.program.display();
        if std::env::var_os(IS_HELPER).is_some() {
            return Err("this is a helper process itself, and those start no others".to_owned());
        }
        let mut command = Command::new(&program.program);
        command.args(&program.args).env(IS_HELPER, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let cannot = |error: io::Error| format!("its helper process `{name}` cannot be started ({error})");
        let mut child = command.process_group(0).spawn().map_err(cannot)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("its helper process `{name}` has no pipes"));
        };
        let mut out = Vec::new();
        let asking = Asking::new(run, memory, &program.setting, program.build.clone(), &mut out);
        let mut helper = Self {
            asking: asking.map_err(|error| format!("what its helper process has to know is {error}"))?,
            child,
            to: Some(to),
            from,
            out,
            sent: 0,
            read: FrameBuffer::default(),
            spare: StepRequest::default(),
            is_deaf: false,
            broken: None,
        };
        let nonblocking = fcntl_setfl(&helper.from, OFlags::NONBLOCK)
            .and(helper.to.as_ref().map_or(Ok(()), |to| fcntl_setfl(to, OFlags::NONBLOCK)));
        nonblocking.map_err(|error| cannot(error.into()))?;
        let frame = helper.wait(Deadline::after(timeout)).map_err(|cause| told(&cause))?;
        let greeted = helper.asking.greeted(helper.read.frame(frame)).map_err(|error| helper.misunderstood(&error))?;
        greeted.map_err(|text| format!("its helper process cannot make it: {text}"))?;
        Ok(helper)
    }

    /// Has an actor made.
    ///
    /// # Errors
    /// In a sentence.
    pub(in crate::host) fn make(
        &mut self,
        path: &ActorPath,
        node: &NodeRequest,
        timeout: Duration,
    ) -> Result<Described, NotMade> {
        let asked = self.asking.make(path, node, &mut self.out);
        asked.map_err(|error| NotMade::Refused(format!("its description is {error}")))?;
        let frame = self.wait(Deadline::after(timeout)).map_err(|cause| NotMade::NoHelper(told(&cause)))?;
        let made = self.asking.made(path, self.read.frame(frame));
        made.map_err(|error| NotMade::NoHelper(self.misunderstood(&error)))?.map_err(NotMade::Refused)
    }

    /// Gives what was made its seat.
    pub(in crate::host) fn seat(&mut self, first: u32, bounds: StepBounds) {
        // A few bytes always fit a frame; they are written with the next step.
        let _ = self.asking.seat(first, bounds, &mut self.out);
    }

    /// Closes its stdin, at which it ends.
    pub(in crate::host) fn ask_to_end(&mut self) {
        self.to = None;
    }

    /// Lets go of what was made.
    pub(in crate::host) fn discard(&mut self) {
        let _ = self.asking.discard(&mut self.out);
    }

    /// Writes as much as the pipe takes.
    fn write(&mut self) {
        let Some(to) = &self.to else { return };
        while self.sent < self.out.len() {
            match write(to, &self.out[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    // Nobody reads any more; that shows as the end of what can be read.
                    self.to = None;
                    break;
                }
            }
        }
        self.out.clear();
        self.sent = 0;
    }

    /// The deadline of one that may have waited for us: while others were waited for nobody read its pipe or wrote to it. When
    /// it has not been told everything, or something of its answer is there, its time begins now.
    fn fair(&mut self, deadline: Deadline) -> Deadline {
        if !deadline.remaining().is_zero() || self.read.is_complete() {
            return deadline;
        }
        let from = &self.from;
        let has_begun = matches!(self.read.fill(|room| read(from, room)), Ok(1..));
        if has_begun || self.read.has_some() || !self.out.is_empty() {
            Deadline::after(deadline.length())
        } else {
            deadline
        }
    }

    /// Waits for the next frame, and says where it lies in what has been read.
    fn wait(&mut self, deadline: Deadline) -> Result<Range<usize>, HaltCause> {
        self.write();
        loop {
            match self.read.next() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => self.await_bytes(deadline)?,
                Err(error) => return Err(HaltCause::Lost(self.misunderstood(&error))),
            }
        }
    }

    /// Waits until something can be read, and reads it. Writes what is still to be written meanwhile.
    fn await_bytes(&mut self, deadline: Deadline) -> Result<(), HaltCause> {
        let remaining = deadline.remaining();
        // At the latest in a day, after which it is asked for again.
        let timeout = remaining.min(Duration::from_secs(86_400));
        let timespec = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        let reads = PollFd::new(&self.from, PollFlags::IN);
        let polled = match self.to.as_ref().filter(|_| !self.out.is_empty()) {
            None => poll(&mut [reads], Some(&timespec)),
            Some(to) => poll(&mut [reads, PollFd::new(to, PollFlags::OUT)], Some(&timespec)),
        };
        match polled {
            Ok(0) if deadline.remaining().is_zero() => {
                return Err(self.timed_out(deadline));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => {
                let pid = self.child.id();
                return Err(HaltCause::Lost(format!("its helper process (pid {pid}) cannot be waited for ({error})")));
            }
        }
        if !self.out.is_empty() {
            self.write();
        }
        let from = &self.from;
        match self.read.fill(|room| read(from, room)) {
            Ok(0) => Err(HaltCause::Lost(self.ended())),
            // Many small pieces must not outlast the deadline.
            Ok(_) if deadline.remaining().is_zero() && !self.read.is_complete() => Err(self.timed_out(deadline)),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(HaltCause::Lost(format!("its helper process cannot be read ({error})"))),
        }
    }

    fn timed_out(&mut self, deadline: Deadline) -> HaltCause {
        self.is_deaf = true;
        HaltCause::TimedOut { timeout: deadline.length(), took: None }
    }

    /// Says what became of a process that has closed its end of the pipe.
    fn ended(&mut self) -> String {
        let pid = self.child.id();
        match self.reap() {
            Some(status) => format!("its helper process (pid {pid}) {}", fate(status)),
            None => format!("its helper process (pid {pid}) closed its stdout and went on; it was killed"),
        }
    }

    /// Says that something came that is not of the protocol.
    fn misunderstood(&mut self, error: &WireError) -> String {
        self.is_deaf = true;
        format!("its helper process (pid {}) sent {error}; it was killed", self.child.id())
    }

    /// Closes its stdin and waits a while for it to end by itself; after that it is killed.
    fn reap(&mut self) -> Option<ExitStatus> {
        self.to = None;
        let deadline = Deadline::after(PATIENCE);
        let mut nap = Duration::from_micros(100);
        while !self.is_deaf && !deadline.remaining().is_zero() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            sleep(nap);
            nap = (2 * nap).min(Duration::from_millis(5));
        }
        // With all that it has started. Of one that has ended already both say so, and change nothing.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

/// How a process ended.
fn fate(status: ExitStatus) -> String {
    if let Some(code) = status.code() {
        return format!("ended with exit code {code}");
    }
    let name = |signal: i32| match signal {
        4 => " (illegal instruction)",
        6 => " (aborted: a panic that cannot be caught, or memory that could not be had)",
        8 => " (arithmetic)",
        9 => " (killed)",
        7 | 10 | 11 => " (memory that is not its own)",
        15 => " (terminated)",
        _ => "",
    };
    match status.signal() {
        Some(signal) => format!("was ended by signal {signal}{}", name(signal)),
        None => "ended".to_owned(),
    }
}

/// A cause as a sentence for one who is joining.
fn told(cause: &HaltCause) -> String {
    match cause {
        HaltCause::TimedOut { timeout, .. } => {
            format!("its helper process has not answered within {}", seconds(*timeout))
        }
        HaltCause::Lost(text) => text.clone(),
        _ => "its helper process failed".to_owned(),
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.reap();
    }
}

impl Remote for Helper {
    fn begin(&mut self, mut request: StepRequest) {
        if let Err(error) = self.asking.step(&request, &mut self.out) {
            // It shows when the answer is waited for.
            self.broken = Some(HaltCause::Lost(format!("what it has to be told is {error}")));
        }
        self.write();
        request.clear();
        self.spare = request;
    }

    fn next(&mut self, deadline: Deadline) -> Result<Answer, HaltCause> {
        if let Some(cause) = self.broken.take() {
            return Err(cause);
        }
        let deadline = self.fair(deadline);
        let frame = self.wait(deadline)?;
        let answer = self.asking.stepped(self.read.frame(frame));
        answer.map_err(|error| HaltCause::Lost(self.misunderstood(&error)))
    }

    fn spare(&mut self) -> StepRequest {
        std::mem::take(&mut self.spare)
    }

    fn remove(&mut self, first: u32, timeout: Duration) -> Result<(), Parting> {
        let deadline = Deadline::after(timeout);
        let skipped = self.asking.waiting();
        if self.asking.remove(first, &mut self.out).is_err() {
            return Err(Parting::Hangs);
        }
        let parting = |cause: HaltCause| match cause {
            HaltCause::Lost(why) => Parting::Ended(why),
            _ => Parting::Hangs,
        };
        // Answers that nobody waited for come before.
        for _ in 0..skipped {
            self.next(deadline).map_err(parting)?;
        }
        let frame = self.wait(deadline).map_err(parting)?;
        match self.asking.removed(self.read.frame(frame)) {
            Ok(None) => Ok(()),
            Ok(Some(text)) => Err(Parting::Panicked(text)),
            Err(error) => Err(Parting::Ended(self.misunderstood(&error))),
        }
    }
}
