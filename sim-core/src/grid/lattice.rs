//! Worlds of whole-numbered sites.

use super::{
    Boundary, GridError, MAX_CELLS,
    cells::{self, Cells, Span},
};

/// A box of sites with coordinates from 0 to one below `size` along each of `D` axes: the world of cellular automata
/// and of agents that step from site to site.
///
/// ```
/// use chaconne_sim_core::grid::{Boundary, Lattice};
///
/// let torus = Lattice::new([5, 5], Boundary::Periodic)?;
/// assert_eq!(torus.wrap([-1, 7]), Some([4, 2]));
/// assert_eq!(torus.offset([0, 4], [4, 0]), [-1, 1]);
/// assert_eq!(torus.moore([0, 0], 1).count(), 8);
/// assert_eq!(torus.von_neumann([0, 0], 1).count(), 4);
/// // On a torus two sites across, left and right are one neighbour.
/// let narrow = Lattice::new([2, 5], Boundary::Periodic)?;
/// assert_eq!(narrow.von_neumann([0, 0], 1).count(), 3);
/// # Ok::<(), chaconne_sim_core::grid::GridError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice<const D: usize> {
    size: [usize; D],
    boundary: Boundary,
}

impl<const D: usize> Lattice<D> {
    /// A lattice with a number of sites along each axis.
    ///
    /// # Errors
    /// [`GridError::Sites`] when an axis has none, or when all have more than [`MAX_CELLS`] together.
    pub fn new(size: [usize; D], boundary: Boundary) -> Result<Self, GridError> {
        const { assert!(D > 0, "a lattice needs an axis") };
        let sites = size.iter().try_fold(1_usize, |product, along| product.checked_mul(*along));
        match sites {
            Some(1..=MAX_CELLS) => Ok(Self { size, boundary }),
            _ => Err(GridError::Sites { size: size.to_vec() }),
        }
    }

    /// The number of sites along each axis.
    #[inline]
    #[must_use]
    pub const fn size(&self) -> [usize; D] {
        self.size
    }

    /// What lies beyond the edge.
    #[inline]
    #[must_use]
    pub const fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// The number of sites: indices run from 0 to one below it.
    #[inline]
    #[must_use]
    pub fn site_count(&self) -> usize {
        self.size.iter().product()
    }

    /// The site at any whole-numbered coordinates: wrapped around a periodic lattice; `None` outside a bounded one.
    #[inline]
    #[must_use]
    pub fn wrap(&self, site: [i64; D]) -> Option<[i64; D]> {
        match self.boundary {
            Boundary::Periodic => Some(core::array::from_fn(|axis| site[axis].rem_euclid(self.length(axis)))),
            Boundary::Bounded => self.contains(site).then_some(site),
        }
    }

    /// Whether the coordinates lie from 0 to one below the size.
    #[inline]
    #[must_use]
    pub fn contains(&self, site: [i64; D]) -> bool {
        (0..D).all(|axis| (0..self.length(axis)).contains(&site[axis]))
    }

    /// The index of the site at any whole-numbered coordinates, wrapped as by [`wrap`](Self::wrap): sites are counted
    /// along the first axis first, x + size\[0\]·(y + size\[1\]·z).
    #[inline]
    #[must_use]
    pub fn index(&self, site: [i64; D]) -> Option<usize> {
        // Wrapped coordinates are not negative and below a `usize`.
        self.wrap(site).map(|site| cells::index(&self.size, site.map(|along| along as usize)))
    }

    /// The site with an index; `None` from [`site_count`](Self::site_count) on.
    #[inline]
    #[must_use]
    pub fn site_at(&self, index: usize) -> Option<[i64; D]> {
        (index < self.site_count()).then(|| cells::cell_at(&self.size, index).map(|along| along as i64))
    }

    /// The steps from one site to another along each axis: on a periodic lattice the fewest, and those that do not
    /// cross the seam if both ways are equally long. Sites outside are wrapped first (on a bounded lattice taken as
    /// they are).
    #[must_use]
    pub fn offset(&self, from: [i64; D], to: [i64; D]) -> [i64; D] {
        match (self.boundary, self.wrap(from), self.wrap(to)) {
            (Boundary::Periodic, Some(from), Some(to)) => core::array::from_fn(|axis| {
                let (direct, length) = (to[axis] - from[axis], self.length(axis));
                if 2 * direct.abs() <= length { direct } else { direct - length * direct.signum() }
            }),
            _ => core::array::from_fn(|axis| to[axis].saturating_sub(from[axis])),
        }
    }

    /// The sites within `radius` steps of a site along every axis (diagonals count as one step), without the site
    /// itself, each once.
    ///
    /// Counted along the first axis first. `center` is wrapped; outside a bounded lattice it has the neighbours that
    /// lie inside.
    #[must_use]
    pub fn moore(&self, center: [i64; D], radius: u64) -> Neighbours<D> {
        self.neighbours(center, radius, u64::MAX)
    }

    /// The sites that a walk of at most `radius` steps along the axes reaches from a site, without the site itself,
    /// each once.
    ///
    /// Counted along the first axis first. `center` is wrapped; outside a bounded lattice it has the neighbours that
    /// lie inside.
    #[must_use]
    pub fn von_neumann(&self, center: [i64; D], radius: u64) -> Neighbours<D> {
        self.neighbours(center, radius, radius)
    }

    fn neighbours(&self, center: [i64; D], radius: u64, max_steps: u64) -> Neighbours<D> {
        let center = self.wrap(center).unwrap_or(center);
        let spans = core::array::from_fn(|axis| self.span_within(axis, center[axis], radius));
        Neighbours { lattice: *self, center, max_steps, sites: Cells::new(self.size, spans) }
    }

    fn span_within(&self, axis: usize, center: i64, radius: u64) -> Span {
        let length = self.length(axis);
        let reach = i64::try_from(radius).unwrap_or(i64::MAX);
        let (low, high) = (center.saturating_sub(reach), center.saturating_add(reach));
        match self.boundary {
            Boundary::Bounded if high < 0 || low >= length => Span::EMPTY,
            Boundary::Bounded => Span::between(low.max(0) as usize, high.min(length - 1) as usize),
            Boundary::Periodic if low < 0 && high >= length => Span::all(self.size[axis]),
            Boundary::Periodic if low < 0 => Span::around((low + length) as usize, high as usize, self.size[axis]),
            Boundary::Periodic if high >= length => {
                Span::around(low as usize, (high - length) as usize, self.size[axis])
            }
            Boundary::Periodic => Span::between(low as usize, high as usize),
        }
    }

    #[inline]
    fn length(&self, axis: usize) -> i64 {
        // At most `MAX_CELLS`.
        self.size[axis] as i64
    }
}

/// The neighbours of a site. See [`Lattice::moore`] and [`Lattice::von_neumann`].
#[derive(Clone, Debug)]
pub struct Neighbours<const D: usize> {
    lattice: Lattice<D>,
    center: [i64; D],
    max_steps: u64,
    sites: Cells<D>,
}

impl<const D: usize> Iterator for Neighbours<D> {
    type Item = [i64; D];

    #[inline]
    fn next(&mut self) -> Option<[i64; D]> {
        let Self { lattice, center, max_steps, sites } = self;
        sites.map(|site| site.map(|along| along as i64)).find(|site| {
            let steps = lattice.offset(*center, *site).map(i64::unsigned_abs);
            site != center && steps.into_iter().fold(0, u64::saturating_add) <= *max_steps
        })
    }
}
