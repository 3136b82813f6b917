//! The geometry of grids: cells, wrap-around, minimum image. Spaces and spatial message boards share it.
//!
//! [`Grid`] divides a continuous box into cells, so that points near a position are found by looking at few cells.
//! [`Lattice`] is a box of whole-numbered sites with Moore and von Neumann neighbourhoods. Both are bounded or
//! periodic, have any number of axes, and are exact at every size: a neighbourhood larger than the world, a world one
//! cell across and a radius that does not divide the width give each cell once and miss none.
//!
//! ```
//! use chaconne_sim_core::grid::{Boundary, Grid};
//!
//! // 105 m across with cells of at least 10 m: ten cells of 10.5 m along each axis.
//! let grid = Grid::new([105.0, 105.0], 10.0, Boundary::Periodic)?;
//! assert_eq!(grid.counts(), [10, 10]);
//!
//! // From one side of the seam to the other it is 2 m, not 103 m.
//! assert_eq!(grid.minimum_image([104.0, 0.0], [1.0, 0.0]), [2.0, 0.0]);
//!
//! // Whatever lies within 10 m of a position lies in one of these cells.
//! let cells: Vec<[usize; 2]> = grid.cells_within([104.0, 50.0], 10.0).collect();
//! assert!(cells.contains(&grid.cell_of([1.0, 52.0])?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cells;
mod error;
mod lattice;

pub use cells::{Cells, Runs};
pub use error::{GridError, PositionError};
pub use lattice::{Lattice, Neighbours};

use cells::Span;

/// The largest number of cells of a grid or sites of a lattice: 2²⁸, a gigabyte at four bytes each.
pub const MAX_CELLS: usize = 1 << 28;

/// What lies beyond the edge of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Nothing: positions outside are errors.
    #[default]
    Bounded,
    /// The opposite edge: the world is a torus.
    Periodic,
}

/// A box from the origin to `extent`, divided into equal cells along each of `D` axes.
///
/// A bounded grid holds positions from 0 to the extent, both included; a position at the extent is in the last cell.
/// A periodic grid takes every finite position and holds it wrapped into [0, extent); the extent itself is 0 again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid<const D: usize> {
    extent: [f64; D],
    counts: [usize; D],
    /// Cells per unit of length.
    density: [f64; D],
    boundary: Boundary,
}

impl<const D: usize> Grid<D> {
    /// A grid whose cells are at least `spacing` wide along every axis: max(1, ⌊extent/spacing⌋) of them.
    ///
    /// The radius that is asked for most often is a good spacing.
    ///
    /// # Errors
    /// As [`with_spacing`](Self::with_spacing).
    pub fn new(extent: [f64; D], spacing: f64, boundary: Boundary) -> Result<Self, GridError> {
        Self::with_spacing(extent, [spacing; D], boundary)
    }

    /// A grid with a smallest cell width for each axis.
    ///
    /// # Errors
    /// [`GridError::Extent`] for an extent outside 1e−100 to 1e100, where squares of distances would vanish or
    /// overflow; [`GridError::Spacing`] for one that is not positive and finite; [`GridError::TooManyCells`] above
    /// [`MAX_CELLS`].
    pub fn with_spacing(extent: [f64; D], spacing: [f64; D], boundary: Boundary) -> Result<Self, GridError> {
        const { assert!(D > 0, "a grid needs an axis") };
        let mut cells = 1.0;
        for axis in 0..D {
            if !(1e-100..=1e100).contains(&extent[axis]) {
                return Err(GridError::Extent { axis, extent: extent[axis] });
            }
            if !(spacing[axis].is_finite() && spacing[axis] > 0.0) {
                return Err(GridError::Spacing { axis, spacing: spacing[axis] });
            }
            cells *= cells_across(extent[axis], spacing[axis]);
        }
        // Counted in floats, which cannot wrap around, and converted only when known to fit.
        if cells > MAX_CELLS as f64 {
            return Err(GridError::TooManyCells { cells, extent: extent.to_vec(), spacing: spacing.to_vec() });
        }
        let counts: [usize; D] = core::array::from_fn(|axis| cells_across(extent[axis], spacing[axis]) as usize);
        let density = core::array::from_fn(|axis| counts[axis] as f64 / extent[axis]);
        Ok(Self { extent, counts, density, boundary })
    }

    /// The size of the box along each axis.
    #[inline]
    #[must_use]
    pub const fn extent(&self) -> [f64; D] {
        self.extent
    }

    /// What lies beyond the edge.
    #[inline]
    #[must_use]
    pub const fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// The number of cells along each axis, at least 1.
    #[inline]
    #[must_use]
    pub const fn counts(&self) -> [usize; D] {
        self.counts
    }

    /// The number of cells: indices run from 0 to one below it.
    #[inline]
    #[must_use]
    pub fn cell_count(&self) -> usize {
        self.counts.iter().product()
    }

    /// The width of a cell along each axis.
    #[must_use]
    pub fn cell_size(&self) -> [f64; D] {
        core::array::from_fn(|axis| self.extent[axis] / self.counts[axis] as f64)
    }

    /// Whether [`cell_of`](Self::cell_of) finds a cell: in a periodic grid for every finite position.
    #[inline]
    #[must_use]
    pub fn contains(&self, position: [f64; D]) -> bool {
        match self.boundary {
            Boundary::Periodic => position.iter().all(|x| x.is_finite()),
            Boundary::Bounded => position.iter().zip(&self.extent).all(|(x, extent)| (0.0..=*extent).contains(x)),
        }
    }

    /// The same place of a periodic world with every coordinate in [0, extent): see [`wrap`]. In a bounded world the
    /// position itself.
    #[inline]
    #[must_use]
    pub fn wrap(&self, position: [f64; D]) -> [f64; D] {
        match self.boundary {
            Boundary::Periodic => core::array::from_fn(|axis| wrap(position[axis], self.extent[axis])),
            Boundary::Bounded => position,
        }
    }

    /// The displacement from one position to another: in a periodic world to the nearest of its images, with every
    /// component in [−extent/2, extent/2].
    ///
    /// Exactly odd: swapping the positions flips the signs and nothing else.
    #[inline]
    #[must_use]
    pub fn minimum_image(&self, from: [f64; D], to: [f64; D]) -> [f64; D] {
        core::array::from_fn(|axis| {
            let difference = to[axis] - from[axis];
            match self.boundary {
                Boundary::Periodic => nearest_image(difference, self.extent[axis]),
                Boundary::Bounded => difference,
            }
        })
    }

    /// The square of the length of the [minimum image](Self::minimum_image).
    #[inline]
    #[must_use]
    pub fn distance_squared(&self, from: [f64; D], to: [f64; D]) -> f64 {
        let mut sum = 0.0;
        for component in self.minimum_image(from, to) {
            sum += component * component;
        }
        sum
    }

    /// The distance between two positions: in a periodic world to the nearest image.
    #[inline]
    #[must_use]
    pub fn distance(&self, from: [f64; D], to: [f64; D]) -> f64 {
        self.distance_squared(from, to).sqrt()
    }

    /// The cell that holds a position, by its number along each axis.
    ///
    /// # Errors
    /// [`PositionError::NotFinite`] for an infinite or NaN coordinate; [`PositionError::Outside`] for a position
    /// outside a bounded grid.
    #[inline]
    pub fn cell_of(&self, position: [f64; D]) -> Result<[usize; D], PositionError> {
        if !self.contains(position) {
            return Err(self.position_error(position));
        }
        let position = self.wrap(position);
        Ok(core::array::from_fn(|axis| self.cell_along(axis, position[axis])))
    }

    /// The index of the cell that holds a position.
    ///
    /// # Errors
    /// As [`cell_of`](Self::cell_of).
    #[inline]
    pub fn index_of(&self, position: [f64; D]) -> Result<usize, PositionError> {
        self.cell_of(position).map(|cell| self.index(cell))
    }

    /// The index of a cell: cells are counted along the first axis first, x + counts\[0\]·(y + counts\[1\]·z).
    ///
    /// The cell must be one of this grid: for numbers beyond [`counts`](Self::counts) the index means another cell or
    /// none.
    #[inline]
    #[must_use]
    pub fn index(&self, cell: [usize; D]) -> usize {
        cells::index(&self.counts, cell)
    }

    /// The cell with an index; `None` from [`cell_count`](Self::cell_count) on.
    #[must_use]
    pub fn cell_at(&self, index: usize) -> Option<[usize; D]> {
        (index < self.cell_count()).then(|| cells::cell_at(&self.counts, index))
    }

    /// All cells that can hold a point within a radius of a position, each once, counted along the first axis first.
    ///
    /// No point at a distance of at most `radius` is missed, also not one that
    /// [`distance_squared`](Self::distance_squared) rounds down to it. The position may lie outside a bounded grid.
    /// A negative or NaN radius and a position that is not finite have no cells; an infinite radius has all.
    #[inline]
    #[must_use]
    pub fn cells_within(&self, position: [f64; D], radius: f64) -> Cells<D> {
        Cells::new(self.counts, self.spans_within(position, radius))
    }

    /// The cells of [`cells_within`](Self::cells_within) as ranges of consecutive [indices](Self::index), in the same
    /// order: for storage sorted by cell, where each range is one slice.
    #[inline]
    #[must_use]
    pub fn runs_within(&self, position: [f64; D], radius: f64) -> Runs<D> {
        Runs::new(self.counts, self.spans_within(position, radius))
    }

    fn spans_within(&self, position: [f64; D], radius: f64) -> [Span; D] {
        if !(radius >= 0.0 && position.iter().all(|x| x.is_finite())) {
            return [Span::EMPTY; D];
        }
        core::array::from_fn(|axis| self.span_within(axis, position[axis], radius))
    }

    /// The cells along one axis within a radius of a coordinate.
    fn span_within(&self, axis: usize, x: f64, radius: f64) -> Span {
        /// More than the rounding errors of the ends here and of a caller's comparison of distances together.
        const SLACK: f64 = 16.0 * f64::EPSILON;
        let (extent, count) = (self.extent[axis], self.counts[axis]);
        let reach = radius + SLACK * (radius + extent + x.abs());
        let x = if self.boundary == Boundary::Periodic { wrap(x, extent) } else { x };
        let (low, high) = (x - reach, x + reach);
        match self.boundary {
            Boundary::Bounded if high < 0.0 || low > extent => Span::EMPTY,
            Boundary::Bounded => Span::between(self.cell_along(axis, low), self.cell_along(axis, high)),
            // Also when it is beyond the extent above: the last cell is then the end, and meets every beginning.
            Boundary::Periodic if low < 0.0 => {
                Span::around(self.cell_along(axis, low + extent), self.cell_along(axis, high), count)
            }
            Boundary::Periodic if high >= extent => {
                Span::around(self.cell_along(axis, low), self.cell_along(axis, high - extent), count)
            }
            Boundary::Periodic => Span::between(self.cell_along(axis, low), self.cell_along(axis, high)),
        }
    }

    /// The number along one axis of the cell that holds a coordinate, or of the nearest cell.
    ///
    /// It never falls when the coordinate grows, which is all that the search for cells relies on.
    #[inline]
    fn cell_along(&self, axis: usize, x: f64) -> usize {
        // The cast takes what is negative to 0.
        ((x * self.density[axis]) as usize).min(self.counts[axis] - 1)
    }

    #[cold]
    fn position_error(&self, position: [f64; D]) -> PositionError {
        match position.iter().position(|x| !x.is_finite()) {
            Some(axis) => PositionError::NotFinite { axis, value: position[axis] },
            None => {
                let inside = |axis: &usize| (0.0..=self.extent[*axis]).contains(&position[*axis]);
                let axis = (0..D).find(|axis| !inside(axis)).unwrap_or(0);
                PositionError::Outside { axis, value: position[axis], extent: self.extent[axis] }
            }
        }
    }
}

/// The number of cells along an axis, as a float that may be too large for an integer.
fn cells_across(extent: f64, spacing: f64) -> f64 {
    let count = (extent / spacing).floor();
    if count > 1.0 { count } else { 1.0 }
}

/// A coordinate of a periodic axis in [0, `extent`), never the extent itself: what lies less than half a unit in the
/// last place below the extent becomes 0. NaN for a coordinate that is not finite.
#[inline]
#[must_use]
pub fn wrap(x: f64, extent: f64) -> f64 {
    let rest = if -extent <= x && x < extent { x } else { libm::fmod(x, extent) };
    if rest < 0.0 {
        let wrapped = rest + extent;
        if wrapped < extent { wrapped } else { 0.0 }
    } else {
        // Takes −0 to 0.
        rest + 0.0
    }
}

/// The difference of two coordinates of a periodic axis to the nearest image, in [−extent/2, extent/2].
#[inline]
fn nearest_image(difference: f64, extent: f64) -> f64 {
    let size = difference.abs();
    if size <= 0.5 * extent {
        difference
    } else if size <= extent {
        // Exact, because a number between y/2 and 2y minus y is (Sterbenz 1974).
        difference - extent.copysign(difference)
    } else {
        libm::remainder(difference, extent)
    }
}

#[cfg(test)]
mod tests;
