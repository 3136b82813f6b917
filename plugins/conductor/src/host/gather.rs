//! Putting replies back into the request's order.
//!
//! Threads share actors out by slot. Where the world's order is another (an actor joined under another's path, or a slot was
//! used again), what they wrote is in the order of slots, and is gathered here.

use super::{LeafReply, ReplyPart, StepRequest};

/// One part in the request's order, out of `parts` that hold the replies of the request's actors in the order that `order`
/// lists them. With a failure among them nothing but failures and keys is gathered: the instant does not count.
pub(super) fn gather(request: &StepRequest, order: &[u32], parts: &mut [ReplyPart]) -> ReplyPart {
    let mut whole = ReplyPart::default();
    for part in parts.iter_mut() {
        whole.failures.append(&mut part.failures);
        whole.declared.append(&mut part.declared);
        whole.requests.append(&mut part.requests);
    }
    whole.failures.sort_by_key(|failure| failure.index);
    // Stable: the keys of one leaf stay in the order of their use, its requests in the order of asking.
    whole.declared.sort_by_key(|(index, _)| *index);
    whole.requests.sort_by_key(|(index, _)| *index);
    if !whole.failures.is_empty() {
        return whole;
    }
    let mut bases = Vec::with_capacity(parts.len());
    for part in parts.iter() {
        bases.push(whole.frame.len());
        if request.keep_texts {
            whole.frame.raw(part.frame.as_slice());
        }
    }
    let places = places(request, order, parts);
    for place in &places {
        let part = &mut parts[place.part];
        for at in place.leaf..place.leaf + place.leaves {
            whole.leaves.push(part.leaves[at]);
        }
        for at in place.published..place.published + place.signals {
            let mut signal = std::mem::replace(&mut part.published[at], VOID);
            signal.text = signal.text.start + bases[place.part]..signal.text.end + bases[place.part];
            whole.published.push(signal);
        }
    }
    whole
}

/// What stands where a signal was taken.
const VOID: chaconne_sim_core::port::Published =
    chaconne_sim_core::port::Published { output: 0, text: 0..0, payload: chaconne_sim_core::signal::Payload::NULL };

/// Where the replies of one actor lie.
#[derive(Clone, Copy, Default)]
struct Place {
    part: usize,
    leaf: usize,
    leaves: usize,
    published: usize,
    signals: usize,
}

/// The places of all actors, in the request's order.
fn places(request: &StepRequest, order: &[u32], parts: &[ReplyPart]) -> Vec<Place> {
    let mut places = vec![Place::default(); request.actors.len()];
    let (mut part, mut leaf, mut published) = (0, 0, 0);
    for &actor in order {
        let actor = actor as usize;
        let first = request.actors[actor].first_leaf as usize;
        let end = request.actors.get(actor + 1).map_or(request.leaves.len(), |next| next.first_leaf as usize);
        while parts.get(part).is_some_and(|part| leaf == part.leaves.len()) {
            (part, leaf, published) = (part + 1, 0, 0);
        }
        let leaves = end - first;
        let own: &[LeafReply] = parts.get(part).and_then(|part| part.leaves.get(leaf..leaf + leaves)).unwrap_or(&[]);
        let signals = own.iter().map(|leaf| leaf.published as usize).sum();
        places[actor] = Place { part, leaf, leaves: own.len(), published, signals };
        leaf += leaves;
        published += signals;
    }
    places
}
