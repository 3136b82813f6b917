//! Control laws: pure functions of what a driver sees.
//!
//! A law keeps no state, draws no random number and knows nothing of participants, roads or Bevy, so that a controller,
//! a population of agents and an exported FMU can use the same code. SI units; accelerations are positive forward,
//! curvatures and lateral distances positive to the left.

mod idm;
mod mobil;
mod pursuit;

pub use idm::{Idm, Leader};
pub use mobil::{Mobil, Outlook, Prospect, Side};
pub use pursuit::{PurePursuit, pursuit_curvature};
