//! Scenario files.
pub mod params;
pub mod quantity;
pub mod text;

#[doc(hidden)]
pub use {schemars, serde};
