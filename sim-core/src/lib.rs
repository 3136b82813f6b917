//! What every part of Chaconne agrees on. No Bevy (but for two derives behind a feature), no I/O.

pub mod agent;
pub mod canon;
pub mod fingerprint;
pub mod key;
pub mod path;
pub mod time;

pub use agent::AgentId;
pub use canon::CanonError;
pub use fingerprint::{Fingerprint, Frame, StateWriter};
pub use key::{Key, KeyError, KeyExpr};
pub use path::{ActorPath, PathError};
pub use time::{SimDuration, SimTime, TimeError};
