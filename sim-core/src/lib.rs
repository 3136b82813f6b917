//! What every part of Chaconne agrees on. No Bevy (but for two derives behind a feature), no I/O.

pub mod agent;
pub mod canon;
pub mod context;
pub mod error;
pub mod fingerprint;
pub mod key;
pub mod grid;
pub mod math;
pub mod participant;
pub mod path;
pub mod port;
pub mod rng;
pub mod signal;
pub mod time;

pub use agent::AgentId;
pub use canon::CanonError;
pub use context::{Latest, StepCtx};
pub use error::{PublishError, ReadError, StepError, StepResult};
pub use fingerprint::{Fingerprint, Frame, StateWriter};
pub use key::{Key, KeyError, KeyExpr};
pub use participant::Participant;
pub use path::{ActorPath, PathError};
pub use rng::{DetRng, StreamKey};
pub use signal::{Delivery, Payload, SignalValue, Subscription};
pub use time::{SimDuration, SimTime, TimeError};
