//! Boxes of cells, and walks through them that may cross the seam of a periodic axis.

use core::{iter::FusedIterator, ops::Range};

/// Cells along one axis: `length` of them from `start` on, going on at 0 after the last. Never more than the axis has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: usize,
    length: usize,
}

impl Span {
    pub(super) const EMPTY: Self = Self { start: 0, length: 0 };

    pub(super) const fn all(count: usize) -> Self {
        Self { start: 0, length: count }
    }

    /// From the first to the last cell, both included.
    pub(super) const fn between(first: usize, last: usize) -> Self {
        Self { start: first, length: last + 1 - first }
    }

    /// From the first cell across the seam to the last one. All cells when the two ends meet.
    pub(super) const fn around(first: usize, last: usize, count: usize) -> Self {
        if last + 1 >= first { Self::all(count) } else { Self { start: first, length: count - first + last + 1 } }
    }
}

/// The index of a cell, counted along the first axis first.
#[inline]
pub(super) fn index<const D: usize>(counts: &[usize; D], cell: [usize; D]) -> usize {
    let mut index = 0;
    for axis in (0..D).rev() {
        index = index * counts[axis] + cell[axis];
    }
    index
}

/// The cell with an index below the product of the counts.
pub(super) fn cell_at<const D: usize>(counts: &[usize; D], mut index: usize) -> [usize; D] {
    counts.map(|count| {
        let along = index % count;
        index /= count;
        along
    })
}

/// The cells of a box, each once, counted along the first axis first. See
/// [`Grid::cells_within`](super::Grid::cells_within).
#[derive(Clone, Debug)]
pub struct Cells<const D: usize> {
    counts: [usize; D],
    spans: [Span; D],
    /// The next cell.
    cell: [usize; D],
    /// How far the next cell is into the span of each axis.
    offset: [usize; D],
    left: usize,
}

impl<const D: usize> Cells<D> {
    #[inline]
    pub(super) fn new(counts: [usize; D], spans: [Span; D]) -> Self {
        let left = spans.iter().map(|span| span.length).product();
        Self { counts, spans, cell: spans.map(|span| span.start), offset: [0; D], left }
    }
}

impl<const D: usize> Iterator for Cells<D> {
    type Item = [usize; D];

    #[inline]
    fn next(&mut self) -> Option<[usize; D]> {
        self.left = self.left.checked_sub(1)?;
        let cell = self.cell;
        for axis in 0..D {
            self.offset[axis] += 1;
            if self.offset[axis] < self.spans[axis].length {
                self.cell[axis] += 1;
                if self.cell[axis] == self.counts[axis] {
                    self.cell[axis] = 0;
                }
                break;
            }
            self.offset[axis] = 0;
            self.cell[axis] = self.spans[axis].start;
        }
        Some(cell)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<const D: usize> ExactSizeIterator for Cells<D> {}
impl<const D: usize> FusedIterator for Cells<D> {}

/// The cells of a box as ranges of consecutive indices. See [`Grid::runs_within`](super::Grid::runs_within).
#[derive(Clone, Debug)]
pub struct Runs<const D: usize> {
    /// The first cell of each row along the first axis.
    rows: Cells<D>,
    /// The cells of a row up to the seam.
    first: Range<usize>,
    /// How many cells of a row lie beyond the seam, at its beginning.
    wrapped: usize,
    /// The part beyond the seam of the row that the last range was from.
    pending: Option<Range<usize>>,
}

impl<const D: usize> Runs<D> {
    #[inline]
    pub(super) fn new(counts: [usize; D], mut spans: [Span; D]) -> Self {
        let Span { start, length } = spans[0];
        let end = start + length;
        let first = start..end.min(counts[0]);
        spans[0] = Span { start: 0, length: length.min(1) };
        Self { rows: Cells::new(counts, spans), first, wrapped: end.saturating_sub(counts[0]), pending: None }
    }
}

impl<const D: usize> Iterator for Runs<D> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        if let Some(run) = self.pending.take() {
            return Some(run);
        }
        let cell = self.rows.next()?;
        let row = index(&self.rows.counts, cell);
        if self.wrapped > 0 {
            self.pending = Some(row..row + self.wrapped);
        }
        Some(row + self.first.start..row + self.first.end)
    }
}

impl<const D: usize> FusedIterator for Runs<D> {}
