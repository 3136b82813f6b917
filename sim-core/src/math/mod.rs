//! Numbers, vectors, rotations and angles whose bits do not depend on the platform.
//!
//! The standard library leaves `f64::sin` and its relatives to the platform, and the result of `f64::max(0.0, -0.0)` to
//! the optimiser. Either would change a fingerprint. The functions here go through the crate `libm`, pinned to one
//! version, and define every case. What IEEE 754 defines to the last bit needs no replacement: the four operations,
//! `sqrt`, `floor`, `ceil`, `trunc`, `round`, `abs`, `copysign`, `clamp` and `%`.
//!
//! The frame is right-handed with Z up; bodies look along X, with Y to their left. Angles are radians, counted
//! anticlockwise seen from above.
//!
//! ```
//! use chaconne_sim_core::math::{self, Quat, Vec3, angle};
//!
//! let heading = angle::to_radians(90.0);
//! let forward = Quat::from_yaw(heading).rotate(Vec3::X);
//! assert!(forward.distance(Vec3::Y) < 1e-15);
//! assert_eq!(math::max(0.0, -0.0).to_bits(), 0.0_f64.to_bits());
//! ```

pub mod angle;
pub mod quaternion;
pub mod scalar;
pub mod vector;

pub use quaternion::{Euler, Quat};
pub use scalar::*;
pub use vector::{Vec2, Vec3};
