//! What can be wrong with a grid or a position.

use super::MAX_CELLS;

/// Why a grid or lattice cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The box has no usable size along an axis.
    #[error("the extent of the grid along {} is {extent}: give a size from 1e-100 to 1e100", axis_name(*axis))]
    Extent {
        /// The axis, from 0.
        axis: usize,
        /// The size given.
        extent: f64,
    },
    /// The smallest width of a cell is not positive and finite.
    #[error("the spacing of the grid along {} is {spacing}: give a positive, finite width of a cell", axis_name(*axis))]
    Spacing {
        /// The axis, from 0.
        axis: usize,
        /// The width given.
        spacing: f64,
    },
    /// The cells would be more than [`MAX_CELLS`].
    #[error(
        "a grid of extent {extent:?} with a spacing of {spacing:?} has {cells:.0} cells, more than {MAX_CELLS}: \
         widen the spacing"
    )]
    TooManyCells {
        /// The number of cells.
        cells: f64,
        /// The size given along each axis.
        extent: Vec<f64>,
        /// The width of a cell given along each axis.
        spacing: Vec<f64>,
    },
    /// A lattice has no site along an axis, or more sites than [`MAX_CELLS`].
    #[error("a lattice of {size:?} sites cannot be built: give each axis at least 1, and {MAX_CELLS} in all at most")]
    Sites {
        /// The number of sites given along each axis.
        size: Vec<usize>,
    },
}

/// Why a position has no cell.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PositionError {
    /// A coordinate is infinite or NaN.
    #[error("the {} of the position is {value}: only finite positions have a cell", axis_name(*axis))]
    NotFinite {
        /// The axis, from 0.
        axis: usize,
        /// The coordinate.
        value: f64,
    },
    /// A coordinate lies outside a bounded grid.
    #[error(
        "the {} of the position is {value}, outside the bounded grid from 0 to {extent}: keep it inside, or make the \
         grid periodic",
        axis_name(*axis)
    )]
    Outside {
        /// The axis, from 0.
        axis: usize,
        /// The coordinate.
        value: f64,
        /// The size of the grid along the axis.
        extent: f64,
    },
}

fn axis_name(axis: usize) -> String {
    match axis {
        0 => "x".into(),
        1 => "y".into(),
        2 => "z".into(),
        _ => format!("axis {axis}"),
    }
}
