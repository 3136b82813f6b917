//! What is done with what loggers and monitors see, outside the world.

use std::{fmt, sync::Arc};

use crate::{Collision, PoseSample, Road, ttc::Minima};

/// What is done with a car that a logger sees.
pub type Log = dyn Fn(PoseSample<'_>, &Road) + Send + Sync;

/// What a [`PoseLogger`](crate::PoseLogger), a [`CollisionMonitor`](crate::CollisionMonitor) and a
/// [`TtcMonitor`](crate::TtcMonitor) of a world tell those who look on. Nothing that is done with it can change the run. By
/// default nothing is.
#[derive(Clone)]
pub struct Watch {
    /// A car, once per sample of a logger, and the road that it is on.
    pub log: Arc<Log>,
    /// Two cars that have begun to overlap.
    pub collision: Arc<dyn Fn(&Collision) + Send + Sync>,
    /// The smallest time to collision and the smallest gap of the run, when one of them became smaller.
    pub minima: Arc<dyn Fn(&Minima) + Send + Sync>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { log: Arc::new(|_, _| ()), collision: Arc::new(|_| ()), minima: Arc::new(|_| ()) }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
