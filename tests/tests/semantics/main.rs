//! What the conductor promises, each promise in a world of a few participants whose expected trace stands in the test.

mod random_worlds;
