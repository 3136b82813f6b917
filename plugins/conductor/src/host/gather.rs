//! Putting replies back into the request's order, and taking actors out of a reply.
//!
//! Threads share actors out by slot, and other hosts have some of them. What they wrote is then in another order than the
//! world's, and is gathered here.

use std::collections::BTreeSet;

use super::{LeafReply, ReplyPart, StepReply, StepRequest};

/// One part in the request's order, out of `parts` that hold the replies of the request's actors in the order that `order`
/// lists them, but none of those that were lost, and none of the `absent`. With a failure among them nothing but failures and
/// keys is gathered: the instant does not count.
pub(super) fn gather(
    request: &StepRequest,
    order: &[u32],
    parts: &mut [ReplyPart],
    absent: &BTreeSet<u32>,
) -> ReplyPart {
    let mut whole = ReplyPart::default();
    for part in parts.iter_mut() {
        whole.failures.append(&mut part.failures);
        whole.lost.append(&mut part.lost);
        whole.declared.append(&mut part.declared);
        whole.requests.append(&mut part.requests);
        whole.times.append(&mut part.times);
    }
    whole.failures.sort_by_key(|failure| failure.index);
    whole.lost.sort_by_key(|lost| lost.index);
    // Stable: the keys of one leaf stay in the order of their use, its requests in the order of asking.
    whole.declared.sort_by_key(|(index, _)| *index);
    whole.requests.sort_by_key(|(index, _)| *index);
    whole.times.sort_by_key(|(index, _)| *index);
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
    let mut silent = absent.clone();
    silent.extend(whole.lost.iter().map(|lost| actor_of(request, lost.index)));
    let places = places(request, order, parts, &silent);
    for place in &places {
        // One that is silent has no place in any part.
        let Some(part) = parts.get_mut(place.part) else { continue };
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

/// The actor that a leaf of a request belongs to, by their places in the request.
pub(super) fn actor_of(request: &StepRequest, leaf: u32) -> u32 {
    request.actors.partition_point(|actor| actor.first_leaf <= leaf) as u32 - 1
}

/// The places of all actors, in the request's order.
fn places(request: &StepRequest, order: &[u32], parts: &[ReplyPart], silent: &BTreeSet<u32>) -> Vec<Place> {
    let mut places = vec![Place::default(); request.actors.len()];
    let (mut part, mut leaf, mut published) = (0, 0, 0);
    for actor in order.iter().filter(|actor| !silent.contains(actor)) {
        let actor = *actor as usize;
        let leaves = request.leaves_of(actor).len();
        while parts.get(part).is_some_and(|part| leaf == part.leaves.len()) {
            (part, leaf, published) = (part + 1, 0, 0);
        }
        let own: &[LeafReply] = parts.get(part).and_then(|part| part.leaves.get(leaf..leaf + leaves)).unwrap_or(&[]);
        let signals = own.iter().map(|leaf| leaf.published as usize).sum();
        places[actor] = Place { part, leaf, leaves: own.len(), published, signals };
        leaf += leaves;
        published += signals;
    }
    places
}

/// Takes actors out of a request and its reply, as if they had not been asked for; `dropped` are their places in the request,
/// all that were lost among them.
pub(crate) fn drop_actors(reply: &mut StepReply, dropped: &BTreeSet<u32>) {
    let StepReply { parts, request, .. } = reply;
    let order: Vec<u32> = (0..request.actors.len() as u32).collect();
    let mut whole = gather(request, &order, parts, &BTreeSet::new());
    let silent: BTreeSet<u32> = whole.lost.iter().map(|lost| actor_of(request, lost.index)).collect();
    let mut kept = ReplyPart { frame: std::mem::take(&mut whole.frame), ..ReplyPart::default() };
    let mut replies = whole.leaves.into_iter();
    let mut published = whole.published.into_iter();
    // The place of each leaf among those that stay.
    let mut indices: Vec<Option<u32>> = Vec::with_capacity(request.leaves.len());
    let (mut actors, mut leaves) = (Vec::new(), Vec::new());
    for at in order {
        let range = request.leaves_of(at as usize);
        let stays = !dropped.contains(&at);
        if stays {
            let first_leaf = leaves.len() as u32;
            actors.push(super::ActorStep { first_leaf, ..request.actors[at as usize] });
        }
        for leaf in range {
            indices.push(stays.then_some(leaves.len() as u32));
            if stays {
                leaves.push(request.leaves[leaf]);
            }
            if silent.contains(&at) {
                continue;
            }
            let Some(reply) = replies.next() else { continue };
            let signals = published.by_ref().take(reply.published as usize);
            if stays {
                kept.leaves.push(reply);
                kept.published.extend(signals);
            } else {
                signals.for_each(drop);
            }
        }
    }
    let index = |of: u32| indices.get(of as usize).copied().flatten();
    kept.declared = whole.declared.into_iter().filter_map(|(at, key)| Some((index(at)?, key))).collect();
    kept.requests = whole.requests.into_iter().filter_map(|(at, asked)| Some((index(at)?, asked))).collect();
    kept.times = whole.times.into_iter().filter_map(|(at, time)| Some((index(at)?, time))).collect();
    (request.actors, request.leaves) = (actors, leaves);
    *parts = vec![kept];
}
