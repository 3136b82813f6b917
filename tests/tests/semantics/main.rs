//! What the conductor promises, each promise in a world of a few participants whose expected trace stands in the test.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod actors;
mod advance;
mod halts;
mod hashes;
mod helpers;
mod hosting;
mod inbox;
mod joining;
mod leaving;
mod pipeline;
mod publishing;
mod random_worlds;
mod registration;
mod subscriptions;
mod wild_cards;
