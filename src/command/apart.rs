//! What is shown of a traffic world whose loggers and monitors are perhaps stepped in helper processes, where nobody hears
//! what they tell. Collisions, gaps and times to collision are published, too, and taken from there; what loggers see is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chaconne::conductor::monitor::Instant;
use chaconne::conductor::{Monitor, MonitorError, Placement};
use chaconne::scenario::{HostOverride, Scenario};
use chaconne::sim_core::membership::NodeRequest;
use chaconne::traffic::ttc::Minima;
use chaconne::traffic::{Collision, Gap, Ttc, Watch};
use serde::de::DeserializeOwned;

/// Hears what monitors of the traffic domain tell, wherever they are stepped.
pub(crate) struct Apart {
    watch: Watch,
    /// Signals are followed, so that it is not listened to those in this process.
    is_following: Arc<AtomicBool>,
}

impl Apart {
    /// Whatever is heard is told to `watch`.
    pub(crate) fn of(watch: Watch) -> Self {
        Self { watch, is_following: Arc::default() }
    }

    /// What to tell loggers and monitors in this process.
    pub(crate) fn watch(&self) -> Watch {
        let Watch { log, collision, minima } = self.watch.clone();
        let [before, is_following] = [(); 2].map(|()| Arc::clone(&self.is_following));
        Watch {
            log,
            collision: Arc::new(move |seen| {
                if !before.load(Ordering::Relaxed) {
                    collision(seen);
                }
            }),
            minima: Arc::new(move |seen| {
                if !is_following.load(Ordering::Relaxed) {
                    minima(seen);
                }
            }),
        }
    }

    /// Has what monitors publish told from now on, and not what they tell by themselves in this process.
    pub(crate) fn follow(self) -> impl Monitor + 'static {
        self.is_following.store(true, Ordering::Relaxed);
        Published(self.watch)
    }
}

/// Tells of what monitors publish.
struct Published(Watch);

impl Monitor for Published {
    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), MonitorError> {
        for signal in instant.steps().flat_map(|step| step.signals()) {
            match signal.key.signal() {
                Some("collision") => read::<Collision>(signal.text).iter().for_each(|seen| (self.0.collision)(seen)),
                Some("gap_min") => self.tell(Minima { gap: read::<Gap>(signal.text), ttc: None }),
                Some("ttc_min") => self.tell(Minima { gap: None, ttc: read::<Ttc>(signal.text) }),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Published {
    fn tell(&self, minima: Minima) {
        (self.0.minima)(&minima);
    }
}

/// Somebody else may use the name of a signal for something else.
fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok()
}

/// Whether loggers may be in helper processes: one of the scenario is, or one could be that joins at run time.
pub(crate) fn has_loggers(scenario: &Scenario) -> bool {
    let all = scenario.actors.iter().chain(scenario.joins.iter().map(|(_, actor)| actor));
    matches!(scenario.host, Some(HostOverride::Process | HostOverride::Mixed))
        || all
            .filter(|actor| matches!(actor.hosting().placement, Placement::Process(_)))
            .any(|actor| actor.request().is_some_and(is_logger))
}

fn is_logger(node: &NodeRequest) -> bool {
    match node {
        NodeRequest::Made { factory, .. } => factory == "traffic/logger",
        NodeRequest::Group(children) => children.iter().any(|(_, child)| is_logger(child)),
    }
}
