//! What can go wrong in a run, as the run's report tells it.

use std::fmt;
use std::time::Duration;

use chaconne_sim_core::key::KeyError;
use chaconne_sim_core::path::{ActorPath, PathError};
use chaconne_sim_core::time::SimTime;

use crate::host::seconds;

/// Why an actor could not be added. Nothing of it was added.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// A path is not well formed.
    #[error("cannot add an actor at `{path}`: {source}")]
    Path {
        /// The text given.
        path: String,
        /// What is wrong with it.
        source: PathError,
    },
    /// Two things would have one path.
    #[error(
        "cannot add `{actor}`: the path `{path}` is already taken by actor `{other}`; give one of them another name"
    )]
    Duplicate {
        /// The path that both want.
        path: ActorPath,
        /// The actor being added.
        actor: ActorPath,
        /// The actor that has it.
        other: ActorPath,
    },
    /// An actor, or a group inside it, has no participants.
    #[error("cannot add `{path}`: it has no participants; give it at least one child")]
    Empty {
        /// The empty node.
        path: ActorPath,
    },
    /// A participant was given a child.
    #[error(
        "cannot add `{path}`: it is one participant and cannot have a child `{child}`; make it with Actor::new and add \
         the participant as a child"
    )]
    NotAGroup {
        /// The actor.
        path: ActorPath,
        /// The child's name.
        child: String,
    },
    /// A path with several segments names no existing parent.
    #[error("cannot add `{path}`: there is no actor `{parent}` for it to stand under; add that one first")]
    NoParent {
        /// The path given.
        path: ActorPath,
        /// The path in front of its last segment.
        parent: ActorPath,
    },
    /// A subscription is not a key expression.
    #[error("cannot add `{path}`: its subscription is not valid: {source}")]
    Subscription {
        /// The subscriber.
        path: ActorPath,
        /// What is wrong with the key expression.
        source: KeyError,
    },
    /// The world's name cannot be a segment of a key.
    #[error("`{world}` is not a world's name: use letters, digits, `_` and `-` only")]
    World {
        /// The name given.
        world: String,
    },
    /// The participant panicked when it was asked for its subscriptions.
    #[error("cannot add `{path}`: it panicked when it was asked for its subscriptions: {text}")]
    Panicked {
        /// The participant.
        path: ActorPath,
        /// The panic's text.
        text: String,
    },
    /// A path with more segments than anybody needs.
    #[error("cannot add `{actor}`: a path of {segments} segments is deeper than {most}")]
    TooDeep {
        /// The actor.
        actor: ActorPath,
        /// Segments of its deepest path.
        segments: usize,
        /// The most there may be.
        most: usize,
    },
    /// More threads than can be meant.
    #[error("{threads} threads are more than {most}; use as many as there are cores, or 0 for that")]
    Threads {
        /// The number given.
        threads: usize,
        /// The most there may be.
        most: usize,
    },
    /// There is no conductor to add it to.
    #[error("cannot add `{path}`: ConductorPlugin is not part of this App; add it (or ChaconnePlugins) before")]
    NoConductor {
        /// The path given.
        path: String,
    },
    /// The run has ended.
    #[error("cannot add `{path}`: the run has ended")]
    Ended {
        /// The path given.
        path: String,
    },
    /// A time of its life lies at an instant that was stepped, or before.
    #[error(
        "cannot add `{path}`: its {what} {time} s must lie after {now} s, the last instant that was stepped; choose a later time"
    )]
    AlreadyStepped {
        /// The path given.
        path: ActorPath,
        /// Which time.
        what: &'static str,
        /// The time given.
        time: SimTime,
        /// The last instant.
        now: SimTime,
    },
    /// It would be due before it joins.
    #[error("cannot add `{path}`: it is first due at {first_due} s, and joins at {joins_at} s; let it join by then")]
    DueBeforeJoining {
        /// The path given.
        path: ActorPath,
        /// When it would be due.
        first_due: SimTime,
        /// When it would join.
        joins_at: SimTime,
    },
    /// Nobody knows how to make an actor from a name and parameters.
    #[error(
        "cannot add `{path}`: it is to be made by a factory, and this run has none; register factories, or add an Actor"
    )]
    NoFactories {
        /// The path given.
        path: ActorPath,
    },
    /// A factory made nothing of what it was given, or there is none of that name.
    #[error("cannot add `{path}`: {text}")]
    NotMade {
        /// The path given.
        path: ActorPath,
        /// What is wrong, and what to do.
        text: String,
    },
    /// A budget is for a part that is not there.
    #[error("cannot add `{path}`: its budget is for `{part}`, and it has no part of that name")]
    NoPart {
        /// The path given.
        path: ActorPath,
        /// The part that is not there.
        part: String,
    },
    /// What is to be stepped in a helper process was given as participants.
    #[error(
        "cannot add `{path}`: it is to be stepped in a helper process, and its participants were made in this one; give it as \
         `Actor::requested`, by the names of factories"
    )]
    NotRequested {
        /// The path given.
        path: ActorPath,
    },
    /// Its helper process could not be started, or did not answer as it should.
    #[error("cannot add `{path}`: {text}")]
    Helper {
        /// The path given.
        path: ActorPath,
        /// What is wrong, and what to do.
        text: String,
    },
    /// The first due time is one end of the time axis, which stands for never and for not yet.
    #[error("cannot add `{path}`: its first due time is one end of time; give it a time in between")]
    FirstDue {
        /// The path given.
        path: ActorPath,
    },
}

/// Why a leave was refused. Nothing was changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaveError {
    /// No actor has this path.
    #[error("`{path}` cannot leave: there is no actor of that path")]
    Unknown {
        /// The path given.
        path: ActorPath,
    },
    /// The path is malformed.
    #[error("`{path}` cannot leave: {source}")]
    Path {
        /// The text given.
        path: String,
        /// What is wrong with it.
        source: PathError,
    },
    /// The time lies at an instant that was stepped, or before.
    #[error(
        "`{path}` cannot leave at {time} s: that must lie after {now} s, the last instant that was stepped; choose a later \
         time"
    )]
    AlreadyStepped {
        /// The path given.
        path: ActorPath,
        /// The time given.
        time: SimTime,
        /// The last instant.
        now: SimTime,
    },
    /// The run has ended.
    #[error("`{path}` cannot leave: the run has ended")]
    Ended {
        /// The path given.
        path: ActorPath,
    },
    /// The path is that of a part.
    #[error("`{path}` cannot leave alone: it is a part of actor `{actor}`, and an actor leaves as a whole")]
    Part {
        /// The path given.
        path: ActorPath,
        /// The actor that it is part of.
        actor: ActorPath,
    },
}

impl LeaveError {
    /// The path of an actor that is not there.
    pub(crate) fn path(&self) -> Option<&ActorPath> {
        match self {
            Self::Unknown { path } => Some(path),
            _ => None,
        }
    }
}

/// Why a run stopped before its end. The world hash is that of the last whole instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// The participant or actor at fault, if it was one.
    pub path: Option<ActorPath>,
    /// The instant's number and time, if an instant was being stepped.
    pub instant: Option<(u64, SimTime)>,
    /// What happened.
    pub cause: HaltCause,
    /// How many other participants failed at the same instant.
    pub others: usize,
}

/// What made a run halt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HaltCause {
    /// A step returned an error, or a publish failed.
    Error(String),
    /// A step panicked; the text is the panic's.
    Panic(String),
    /// A step returned a next due time that does not lie after now.
    NotAdvancing {
        /// What it returned.
        next_due: SimTime,
    },
    /// A step took longer than its actor's timeout.
    TimedOut {
        /// The timeout.
        timeout: Duration,
        /// How long it took; none when it has not come to an end.
        took: Option<Duration>,
    },
    /// Whoever stepped it is gone: a helper process that ended, or said what is not of the protocol.
    Lost(String),
    /// The world was set up wrongly: the errors of registration.
    Registration(Vec<String>),
    /// A monitor failed: a log could not be written, a verification diverged.
    Monitor(String),
    /// A mirror entity was changed in a way that the world cannot follow.
    Mirror(String),
    /// The run was ended, and is asked to go on.
    Ended,
}

impl HaltCause {
    /// Whether it says nothing of which participant of an actor is at fault.
    pub(crate) fn is_of_actor(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Lost(_))
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "`{path}` ")?;
        }
        match &self.cause {
            HaltCause::Error(error) => write!(f, "failed: {error}")?,
            HaltCause::Panic(text) => write!(f, "panicked: {text}")?,
            HaltCause::NotAdvancing { next_due } => {
                write!(f, "is not advancing: it returned {next_due} s as its next due time, which must lie after now")?
            }
            HaltCause::TimedOut { timeout, took: None } => {
                write!(f, "has not answered within its timeout of {}", seconds(*timeout))?
            }
            HaltCause::TimedOut { timeout, took: Some(took) } => {
                write!(f, "took {}, longer than its timeout of {}", seconds(*took), seconds(*timeout))?
            }
            HaltCause::Lost(text) => write!(f, "is lost: {text}")?,
            HaltCause::Registration(errors) => f.write_str(&errors.join("; "))?,
            HaltCause::Monitor(text) | HaltCause::Mirror(text) => f.write_str(text)?,
            HaltCause::Ended => f.write_str("the run has ended, and cannot go on")?,
        }
        // What a monitor says may name the place already.
        let says =
            |tick: u64| matches!(&self.cause, HaltCause::Monitor(text) if text.contains(&format!("instant {tick} (")));
        if let Some((tick, time)) = self.instant.filter(|(tick, _)| !says(*tick)) {
            write!(f, " (at {time} s, instant {tick})")?;
        }
        match self.others {
            0 => Ok(()),
            1 => f.write_str("; one other participant failed at that instant"),
            others => write!(f, "; {others} other participants failed at that instant"),
        }
    }
}

impl std::error::Error for Halt {}
