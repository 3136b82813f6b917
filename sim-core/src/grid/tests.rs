//! Contracts of grids, most of them against a search of everything.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Checks every promise about the cells near a position: each once, runs alike, no point within the radius missed.
fn check_cells<const D: usize>(grid: &Grid<D>, position: [f64; D], radius: f64, points: &[[f64; D]]) {
    let cells: Vec<_> = grid.cells_within(position, radius).collect();
    let indices: Vec<_> = cells.iter().map(|cell| grid.index(*cell)).collect();
    let once: BTreeSet<_> = indices.iter().copied().collect();
    assert_eq!(once.len(), cells.len(), "a cell was visited twice: {grid:?} {position:?} {radius}");
    assert!(indices.iter().all(|index| *index < grid.cell_count()));
    assert_eq!(grid.cells_within(position, radius).len(), cells.len());

    let in_runs: Vec<_> = grid.runs_within(position, radius).flatten().collect();
    assert_eq!(in_runs.iter().copied().collect::<BTreeSet<_>>(), once);
    assert_eq!(in_runs.len(), once.len());

    for point in points {
        if grid.distance_squared(position, *point) <= radius * radius {
            let index = grid.index_of(*point).expect("points lie inside");
            assert!(once.contains(&index), "{point:?} was missed: {grid:?} {position:?} {radius}");
        }
    }
}

fn boundary() -> impl Strategy<Value = Boundary> {
    prop_oneof![Just(Boundary::Bounded), Just(Boundary::Periodic)]
}

/// Fractions of the extent, with a preference for the places where cells and the world end.
fn fraction() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.0..1.0, 1 => Just(0.0), 1 => (0..=20_u32).prop_map(|n| f64::from(n) / 20.0)]
}

fn scaled<const D: usize>(fractions: [f64; D], extent: [f64; D]) -> [f64; D] {
    core::array::from_fn(|axis| fractions[axis] * extent[axis])
}

proptest! {
    #[test]
    fn cells_in_the_plane_hold_what_brute_force_finds(
        extent in [1.0..300.0_f64, 1.0..300.0_f64],
        spacing in 0.5..400.0_f64,
        boundary in boundary(),
        radius in prop_oneof![0.0..500.0_f64, (0..60_u32).prop_map(f64::from), Just(0.0)],
        position in [fraction(), fraction()],
        points in prop::collection::vec([fraction(), fraction()], 1..80),
    ) {
        let grid = Grid::new(extent, spacing, boundary).expect("a small grid");
        let points: Vec<_> = points.into_iter().map(|point| scaled(point, extent)).collect();
        check_cells(&grid, scaled(position, extent), radius, &points);
    }

    #[test]
    fn cells_in_space_hold_what_brute_force_finds(
        extent in [1.0..60.0_f64, 1.0..60.0_f64, 1.0..60.0_f64],
        spacing in 3.0..80.0_f64,
        boundary in boundary(),
        radius in 0.0..90.0_f64,
        position in [fraction(), fraction(), fraction()],
        points in prop::collection::vec([fraction(), fraction(), fraction()], 1..80),
    ) {
        let grid = Grid::new(extent, spacing, boundary).expect("a small grid");
        let points: Vec<_> = points.into_iter().map(|point| scaled(point, extent)).collect();
        check_cells(&grid, scaled(position, extent), radius, &points);
    }

    /// Whole and rounded coordinates put points exactly at the radius and exactly between cells.
    #[test]
    fn points_exactly_at_the_radius_are_never_missed(
        width in 1..40_u32, tenths in any::<bool>(), spacing in 1..12_u32, boundary in boundary(),
        x in 0..40_u32, radius in 0..50_u32,
    ) {
        let unit = if tenths { 0.1 } else { 1.0 };
        let extent = f64::from(width) * unit;
        let grid = Grid::new([extent], f64::from(spacing) * unit, boundary).expect("a small grid");
        let points: Vec<_> = (0..=width).map(|n| [f64::from(n) * unit]).collect();
        check_cells(&grid, [f64::from(x % width) * unit], f64::from(radius) * unit, &points);
    }

    #[test]
    fn wrapped_coordinates_lie_in_the_world(x in prop::num::f64::NORMAL, extent in 1e-3..1e6_f64) {
        let wrapped = wrap(x, extent);
        prop_assert!((0.0..extent).contains(&wrapped) && wrapped.is_sign_positive());
        prop_assert_eq!(wrap(wrapped, extent).to_bits(), wrapped.to_bits());
    }

    #[test]
    fn the_minimum_image_is_the_shortest_of_all_images_and_odd(
        from in [0.0..105.0_f64, 0.0..30.0_f64], to in [0.0..105.0_f64, 0.0..30.0_f64],
    ) {
        let grid = Grid::new([105.0, 30.0], 10.0, Boundary::Periodic).expect("a small grid");
        let image = grid.minimum_image(from, to);
        for axis in 0..2 {
            let shortest = [-1.0, 0.0, 1.0].map(|turn| (to[axis] - from[axis] + turn * grid.extent()[axis]).abs());
            let shortest = shortest.into_iter().fold(f64::INFINITY, crate::math::min);
            prop_assert!((image[axis].abs() - shortest).abs() <= 1e-13);
        }
        prop_assert_eq!(grid.minimum_image(to, from).map(f64::to_bits), image.map(|x| (-x + 0.0).to_bits()));
        prop_assert_eq!(grid.distance_squared(to, from).to_bits(), grid.distance_squared(from, to).to_bits());
    }

    #[test]
    fn neighbourhoods_on_lattices_equal_brute_force(
        size in [1..9_usize, 1..9_usize], boundary in boundary(), radius in 0..12_u64, seed in [-20..20_i64, -20..20_i64],
    ) {
        let lattice = Lattice::new(size, boundary).expect("a small lattice");
        let center = lattice.wrap(seed).unwrap_or(seed);
        // The fewest steps along an axis, over the site's image in this world and in those beside it.
        let steps = |site: [i64; 2], axis: usize| {
            let length = size[axis] as i64;
            let turns = if boundary == Boundary::Periodic { -1..=1 } else { 0..=0 };
            turns.map(|turn| (site[axis] + turn * length - center[axis]).unsigned_abs()).min().expect("not empty")
        };
        let all: Vec<[i64; 2]> = (0..lattice.site_count()).filter_map(|index| lattice.site_at(index)).collect();
        let others = || all.iter().copied().filter(|site| *site != center);
        let moore: BTreeSet<_> = others().filter(|site| steps(*site, 0).max(steps(*site, 1)) <= radius).collect();
        let von_neumann: BTreeSet<_> = others().filter(|site| steps(*site, 0) + steps(*site, 1) <= radius).collect();

        let found: Vec<_> = lattice.moore(seed, radius).collect();
        prop_assert_eq!(found.len(), moore.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), moore);
        let found: Vec<_> = lattice.von_neumann(seed, radius).collect();
        prop_assert_eq!(found.len(), von_neumann.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), von_neumann);
    }
}

/// A difference of coordinates can round to the radius although the point lies beyond it, in the next cell.
#[test]
fn points_that_round_to_the_radius_are_never_missed() {
    for boundary in [Boundary::Bounded, Boundary::Periodic] {
        let grid = Grid::new([100.0], 10.0, boundary).expect("a small grid");
        let point = [10.0_f64.next_down()];
        assert_eq!(grid.distance_squared([50.0], point), 40.0 * 40.0);
        check_cells(&grid, [50.0], 40.0, &[point]);
        let edges = || (0..=10).map(|n| f64::from(n) * 10.0);
        let hairs = |x: f64| [x.next_down(), x, x.next_up()];
        let points: Vec<_> = edges().flat_map(hairs).map(|x| [x]).filter(|point| grid.contains(*point)).collect();
        for (center, radius) in edges().flat_map(|center| edges().map(move |radius| (center, radius))) {
            for center in hairs(center) {
                check_cells(&grid, [center], radius, &points);
            }
        }
    }
}

/// Points of an even pattern that shares no period with the cells.
fn pattern(count: u32, extent: f64) -> Vec<[f64; 2]> {
    let at = |n: u32, step: f64| wrap(f64::from(n) * step, extent);
    (0..count).map(|n| [at(n, 37.193), at(n, 83.719)]).collect()
}

#[test]
fn a_radius_beyond_the_world_gives_each_cell_once() {
    for boundary in [Boundary::Bounded, Boundary::Periodic] {
        let grid = Grid::new([100.0, 100.0], 10.0, boundary).expect("a small grid");
        for radius in [100.0, 1e9, f64::MAX, f64::INFINITY] {
            let points = [[1.0, 1.0], [50.0, 50.0], [99.0, 99.0]];
            check_cells(&grid, points[0], radius, &points);
            if radius > 100.0 {
                assert_eq!(grid.cells_within(points[0], radius).len(), 100);
            }
        }
    }
}

#[test]
fn fewer_than_three_cells_across_are_visited_once_each() {
    for across in 1..=3 {
        let extent = 10.0 * f64::from(across);
        let grid = Grid::new([extent, extent], 10.0, Boundary::Periodic).expect("a small grid");
        assert_eq!(grid.counts(), [across as usize; 2]);
        for point in pattern(50, extent) {
            check_cells(&grid, point, 10.0, &pattern(50, extent));
        }
    }
}

#[test]
fn a_radius_that_does_not_divide_the_width_misses_nothing() {
    let grid = Grid::new([105.0, 105.0], 10.0, Boundary::Periodic).expect("a small grid");
    assert_eq!(grid.counts(), [10, 10]);
    let points = pattern(400, 105.0);
    for point in &points {
        check_cells(&grid, *point, 10.0, &points);
        // The same place of the torus, many turns away.
        check_cells(&grid, [point[0] + 7.0 * 105.0, point[1] - 1e6 * 105.0], 10.0, &points);
    }
}

#[test]
fn close_neighbours_in_a_wide_world_are_found() {
    for boundary in [Boundary::Bounded, Boundary::Periodic] {
        let grid = Grid::new([300.0, 300.0], 2.0, boundary).expect("a small grid");
        for center in pattern(300, 300.0) {
            let around = |distance: f64, turn: u32| {
                let step = crate::math::Vec2::from_angle(f64::from(turn)) * distance;
                grid.wrap([center[0] + step.x, center[1] + step.y])
            };
            let points: Vec<_> = (0..12).flat_map(|turn| [around(1.18, turn), around(1.90, turn)]).collect();
            let points: Vec<_> = points.into_iter().filter(|point| grid.contains(*point)).collect();
            check_cells(&grid, center, 2.0, &points);
        }
    }
}

#[test]
fn a_hair_below_zero_wraps_to_zero_and_not_to_the_extent() {
    assert_eq!(wrap(-1.39e-17, 100.0), 0.0);
    assert_eq!(wrap(-f64::MIN_POSITIVE, 100.0), 0.0);
    assert_eq!(wrap(100.0, 100.0), 0.0);
    assert_eq!(wrap(-0.0, 100.0).to_bits(), 0);
    assert_eq!(wrap(-200.0, 100.0).to_bits(), 0);
    assert_eq!(wrap(-1e-14, 100.0), 100.0_f64.next_down());
    assert!(wrap(f64::INFINITY, 100.0).is_nan());
    let grid = Grid::new([100.0], 10.0, Boundary::Periodic).expect("a small grid");
    assert_eq!(grid.cell_of([-1.39e-17]), Ok([0]));
    assert_eq!(grid.cell_of([100.0_f64.next_down()]), Ok([9]));
}

#[test]
fn the_way_across_the_seam_is_the_short_one() {
    let grid = Grid::new([100.0, 100.0], 10.0, Boundary::Periodic).expect("a small grid");
    assert_eq!(grid.minimum_image([1.0, 1.0], [99.0, 99.0]), [-2.0, -2.0]);
    assert_eq!(grid.distance_squared([1.0, 1.0], [99.0, 99.0]), 8.0);
    assert_eq!(grid.minimum_image([0.0, 0.0], [50.0, -50.0]), [50.0, -50.0]);
    assert_eq!(grid.minimum_image([0.0, 0.0], [1234.0, 0.0]), [34.0, 0.0]);
    let bounded = Grid::new([100.0, 100.0], 10.0, Boundary::Bounded).expect("a small grid");
    assert_eq!(bounded.minimum_image([1.0, 1.0], [99.0, 99.0]), [98.0, 98.0]);
}

#[test]
fn positions_at_the_extent_belong_to_the_last_cell_or_to_the_first() {
    let bounded = Grid::new([10.0, 20.0], 5.0, Boundary::Bounded).expect("a small grid");
    assert_eq!(bounded.cell_of([10.0, 20.0]), Ok([1, 3]));
    let periodic = Grid::new([10.0, 20.0], 5.0, Boundary::Periodic).expect("a small grid");
    assert_eq!(periodic.cell_of([10.0, 20.0]), Ok([0, 0]));
}

#[test]
fn positions_without_a_cell_are_errors_that_name_the_coordinate() {
    let bounded = Grid::new([10.0, 20.0], 5.0, Boundary::Bounded).expect("a small grid");
    assert_eq!(bounded.cell_of([3.0, 20.5]), Err(PositionError::Outside { axis: 1, value: 20.5, extent: 20.0 }));
    assert_eq!(bounded.cell_of([-0.5, 20.5]), Err(PositionError::Outside { axis: 0, value: -0.5, extent: 10.0 }));
    assert_eq!(bounded.cell_of([3.0, f64::INFINITY]), Err(PositionError::NotFinite { axis: 1, value: f64::INFINITY }));
    let periodic = Grid::new([10.0, 20.0], 5.0, Boundary::Periodic).expect("a small grid");
    let error = periodic.cell_of([f64::NAN, 0.0]).expect_err("not a number");
    assert_eq!(error.to_string(), "the x of the position is NaN: only finite positions have a cell");
    assert_eq!(periodic.cells_within([f64::NAN, 0.0], 1.0).count(), 0);
    assert_eq!(periodic.cells_within([0.0, 0.0], f64::NAN).count(), 0);
    assert_eq!(periodic.cells_within([0.0, 0.0], -1.0).count(), 0);
}

#[test]
fn positions_outside_a_bounded_grid_have_the_cells_inside() {
    let grid = Grid::new([10.0, 10.0], 1.0, Boundary::Bounded).expect("a small grid");
    let points = [[0.0, 5.0], [0.5, 5.5], [10.0, 10.0]];
    check_cells(&grid, [-1.0, 5.0], 1.5, &points);
    assert_eq!(grid.cells_within([-10.0, 5.0], 1.5).count(), 0);
    assert_eq!(grid.cells_within([5.0, 12.0], 1.5).count(), 0);
}

#[test]
fn grids_that_cannot_be_are_refused() {
    let sized = |extent, spacing| Grid::new([extent, 1000.0], spacing, Boundary::Periodic);
    for extent in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e101, 1e-101] {
        assert!(matches!(sized(extent, 1.0), Err(GridError::Extent { axis: 0, .. })), "{extent}");
    }
    for spacing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(sized(10.0, spacing), Err(GridError::Spacing { axis: 0, .. })), "{spacing}");
    }
    for spacing in [1e-9, f64::MIN_POSITIVE, 0.000_001] {
        assert!(matches!(sized(1e6, spacing), Err(GridError::TooManyCells { .. })), "{spacing}");
    }
    let error = sized(1000.0, 0.001).expect_err("too many");
    assert_eq!(
        error.to_string(),
        "a grid of extent [1000.0, 1000.0] with a spacing of [0.001, 0.001] has 1000000000000 cells, more than \
         268435456: widen the spacing"
    );
    assert!(Grid::new([16384.0, 16384.0], 1.0, Boundary::Bounded).is_ok());
    assert_eq!(Grid::new([3.0], 5.0, Boundary::Bounded).expect("one cell").counts(), [1]);

    assert!(Lattice::new([0, 5], Boundary::Periodic).is_err());
    assert!(Lattice::new([usize::MAX, 2], Boundary::Periodic).is_err());
    assert!(Lattice::new([MAX_CELLS], Boundary::Periodic).is_ok());
    assert!(Lattice::new([MAX_CELLS + 1], Boundary::Periodic).is_err());
}

#[test]
fn indices_and_cells_are_one_to_one() {
    let grid = Grid::new([3.0, 4.0, 5.0], 1.0, Boundary::Bounded).expect("a small grid");
    assert_eq!(grid.index([1, 2, 3]), 1 + 3 * (2 + 4 * 3));
    for index in 0..grid.cell_count() {
        assert_eq!(grid.cell_at(index).map(|cell| grid.index(cell)), Some(index));
    }
    assert_eq!(grid.cell_at(grid.cell_count()), None);
    assert_eq!(
        grid.cells_within([1.5, 2.0, 2.5], 100.0).map(|cell| grid.index(cell)).collect::<Vec<_>>(),
        (0..60).collect::<Vec<_>>()
    );
}

#[test]
fn lattice_sites_wrap_at_any_distance() {
    let torus = Lattice::new([7, 3], Boundary::Periodic).expect("a small lattice");
    assert_eq!(torus.wrap([-1, 3]), Some([6, 0]));
    assert_eq!(torus.wrap([i64::MIN, i64::MAX]), Some([i64::MIN.rem_euclid(7), i64::MAX.rem_euclid(3)]));
    assert_eq!(torus.index([-1, -1]), Some(6 + 7 * 2));
    assert_eq!(torus.moore([i64::MIN, i64::MAX], u64::MAX).count(), 20);
    let bounded = Lattice::new([7, 3], Boundary::Bounded).expect("a small lattice");
    assert_eq!(bounded.wrap([-1, 0]), None);
    assert_eq!(bounded.index([0, 3]), None);
    assert_eq!(bounded.moore([i64::MIN, i64::MAX], 5).count(), 0);
    assert_eq!(bounded.moore([0, 0], u64::MAX).count(), 20);
    assert_eq!(bounded.moore([-1, 0], 1).collect::<Vec<_>>(), [[0, 0], [0, 1]]);
}

#[test]
fn neighbours_come_along_the_first_axis_first() {
    let bounded = Lattice::new([5, 5], Boundary::Bounded).expect("a small lattice");
    assert_eq!(bounded.von_neumann([2, 2], 1).collect::<Vec<_>>(), [[2, 1], [1, 2], [3, 2], [2, 3]]);
    let torus = Lattice::new([5, 5], Boundary::Periodic).expect("a small lattice");
    assert_eq!(torus.von_neumann([0, 0], 1).collect::<Vec<_>>(), [[0, 4], [4, 0], [1, 0], [0, 1]]);
    assert_eq!(torus.von_neumann([0, 0], 0).count(), 0);
    let line = Lattice::new([2], Boundary::Periodic).expect("a small lattice");
    assert_eq!(line.offset([0], [1]), [1]);
    assert_eq!(line.offset([1], [0]), [-1]);
}
