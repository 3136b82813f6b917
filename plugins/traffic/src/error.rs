//! What can go wrong: road files, parameters, and cars that left the map.

use std::{io, path::PathBuf};

use thiserror::Error;

/// An error of the traffic domain. Each is fatal to what was being built and leaves nothing half done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The file could not be read at all.
    #[error("road file `{}` cannot be read ({cause}); check the path and the permissions", .file.display())]
    RoadUnreadable {
        /// The path as it was given.
        file: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },

    /// The text is no JSON, or a field is missing, unknown, of the wrong type or out of range.
    #[error("road file `{file}`, line {line}, column {column}: {problem}; correct the file at that place")]
    RoadSyntax {
        /// The file, or the name that was given to the text.
        file: String,
        /// The line, from one.
        line: usize,
        /// The column, from one, of the end of what was read last.
        column: usize,
        /// What is wrong, naming the field.
        problem: String,
    },

    /// Every field is valid by itself, and together they describe no road.
    #[error("road file `{file}`, `{field}`: {problem}")]
    RoadGeometry {
        /// The file, or the name that was given to the text.
        file: String,
        /// The field, for example `segments[3].arc.radius_m`, counted from zero.
        field: String,
        /// What is wrong, and what to change.
        problem: String,
    },

    /// A lane that the road does not have.
    #[error("road `{road}` has {count} lanes, so lane {lane} does not exist; choose one from 0 (rightmost) to {}", .count.saturating_sub(1))]
    NoSuchLane {
        /// The road's name.
        road: String,
        /// The lane that was asked for.
        lane: usize,
        /// The number of lanes, at least one.
        count: usize,
    },

    /// A car follows one that its fleet does not have.
    #[error("car {car} follows car {leader}, but the fleet has {count} cars; choose one below {count}")]
    NoSuchLeader {
        /// The follower's number.
        car: usize,
        /// The number of the car that it follows.
        leader: usize,
        /// The number of cars.
        count: usize,
    },

    /// A car so far from the road that its place cannot be computed.
    #[error("a car at x {x} m, y {y} m is too far away to be projected onto road `{road}`; start it on the road")]
    OffRoad {
        /// The road's name.
        road: String,
        /// The car's position in metres.
        x: f64,
        /// The car's position in metres.
        y: f64,
    },

    /// A parameter of a law or of a vehicle outside its range.
    #[error("`{parameter}` of {of} is {value}, but must be {range}; choose a value in that range")]
    Parameter {
        /// The law or vehicle.
        of: &'static str,
        /// The name of the field.
        parameter: &'static str,
        /// The value it had.
        value: f64,
        /// The values that are allowed.
        range: &'static str,
    },
}

/// Refuses a parameter that is not finite or does not satisfy `valid`.
pub(crate) fn check_parameter(
    of: &'static str,
    parameter: &'static str,
    value: f64,
    range: &'static str,
    valid: bool,
) -> Result<(), TrafficError> {
    if value.is_finite() && valid { Ok(()) } else { Err(TrafficError::Parameter { of, parameter, value, range }) }
}

/// Refuses a parameter that is not finite and above zero.
pub(crate) fn check_positive(of: &'static str, parameter: &'static str, value: f64) -> Result<(), TrafficError> {
    check_parameter(of, parameter, value, "a finite number above 0", value > 0.0)
}
