//! Fewer marks for many points, without a visible difference.

use super::Cells;
use super::axis::{apart, extent, is_shown};

/// Up to this many points are drawn individually; more are counted in a grid of cells.
pub(crate) const MAX_SHOWN: usize = 4000;

/// Columns of a line. Each one keeps its first, minimum, maximum and last point.
const N_COLUMNS: usize = 1200;

/// The grid in which many points are counted.
const GRID: (usize, usize) = (160, 90);

/// The maximum number of columns and rows of a grid.
const MAX_GRID: (usize, usize) = (240, 140);

/// Thins a line over ascending or descending numbers to at most four points per visible column.
/// Numbers that cannot be drawn leave a gap.
pub(crate) fn thin(x_of: impl Fn(usize) -> f64, numbers: &[f64]) -> Vec<(f64, f64)> {
    let n = numbers.len();
    let at = |i: usize| (x_of(i), numbers[i]);
    if n <= 4 * N_COLUMNS {
        return (0..n).map(at).collect();
    }
    let (first, last) = (x_of(0), x_of(n - 1));
    let column_of = |i: usize| {
        let share = (x_of(i) / 2.0 - first / 2.0) / (last / 2.0 - first / 2.0);
        // A NaN lands in the first column.
        ((share * N_COLUMNS as f64) as usize).min(N_COLUMNS - 1)
    };
    let mut kept = Vec::with_capacity(5 * N_COLUMNS);
    let mut start = 0;
    while start < n {
        let column = column_of(start);
        let end = (start + 1..n).find(|i| column_of(*i) != column).unwrap_or(n);
        let shown = || (start..end).filter(|i| is_shown(numbers[*i]));
        let by_number = |a: &usize, b: &usize| numbers[*a].total_cmp(&numbers[*b]);
        let mut some: Vec<usize> = [shown().next(), shown().min_by(by_number)]
            .into_iter()
            .chain([shown().max_by(by_number), shown().next_back()])
            .flatten()
            .collect();
        some.sort_unstable();
        some.dedup();
        if some.is_empty() {
            // A gap wider than a column is visible.
            some.push(start);
        }
        kept.extend(some.into_iter().map(at));
        start = end;
    }
    kept
}

/// Reduces a grid to at most as many cells as a reader can tell apart, each the mean of its
/// numbers. Returns the means and the number of columns. Numbers that cannot be drawn do not count.
pub(crate) fn thin_grid(numbers: Vec<f64>, n_columns: usize) -> (Vec<f64>, usize) {
    let n_rows = numbers.len() / n_columns;
    let (wide, high) = (n_columns.min(MAX_GRID.0), n_rows.min(MAX_GRID.1));
    if (wide, high) == (n_columns, n_rows) {
        return (numbers, n_columns);
    }
    let (mut sums, mut counts) = (vec![0.0; wide * high], vec![0_u32; wide * high]);
    for (row, numbers) in numbers.chunks(n_columns).enumerate() {
        for (column, x) in numbers.iter().enumerate().filter(|(_, x)| is_shown(**x)) {
            let cell = row * high / n_rows * wide + column * wide / n_columns;
            sums[cell] += x;
            counts[cell] += 1;
        }
    }
    let mean =
        |(sum, count): (f64, u32)| if count == 0 { f64::NAN } else { sum / f64::from(count) };
    (sums.into_iter().zip(counts).map(mean).collect(), wide)
}

/// The number of points in each cell of a grid that covers all of them, as a logarithm if some
/// cells hold many. Given a third coordinate, its mean per cell instead. `None` if no point can be
/// drawn.
pub(crate) fn cells_of_points(points: &[(f64, f64)], third: Option<&[f64]>) -> Option<Cells> {
    let shown = || {
        let all = points.iter().enumerate();
        all.filter(|(_, (x, y))| is_shown(*x) && is_shown(*y)).map(|(i, (x, y))| (i, *x, *y))
    };
    let (x_min, x_max) = extent(shown().map(|(_, x, _)| x))?;
    let (y_min, y_max) = extent(shown().map(|(_, _, y)| y))?;
    let ((x0, x1), (y0, y1)) = (apart(x_min, x_max), apart(y_min, y_max));
    let (n_columns, n_rows) = GRID;
    let mut counts = vec![0_u32; n_columns * n_rows];
    let mut sums = vec![0.0; counts.len()];
    for (i, x, y) in shown() {
        let cell = |at: f64, from: f64, to: f64, n: usize| {
            (((at - from) / (to - from) * n as f64) as usize).min(n - 1)
        };
        let k = cell(y, y0, y1, n_rows) * n_columns + cell(x, x0, x1, n_columns);
        let number = third.map_or(0.0, |third| third[i]);
        if is_shown(number) {
            counts[k] += 1;
            sums[k] += number;
        }
    }
    let is_steep = third.is_none() && counts.iter().max() > Some(&100);
    let number = |(count, sum): (u32, f64)| match count {
        0 => f64::NAN,
        n if third.is_some() => sum / f64::from(n),
        n if is_steep => f64::from(n).log10(),
        n => f64::from(n),
    };
    let numbers = counts.into_iter().zip(sums).map(number).collect();
    let label = if is_steep { "points per cell, log10" } else { "points per cell" };
    Some(Cells { label: label.into(), n_columns, numbers, x: (x0, x1), y: (y0, y1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_line_keeps_its_ends_and_peaks() {
        let mut numbers: Vec<f64> = (0..1_000_000).map(|i| f64::from(i % 7)).collect();
        numbers[123_456] = 99.0;
        numbers[654_321] = -99.0;
        let kept = thin(|i| i as f64, &numbers);
        assert!(kept.len() <= 4 * N_COLUMNS, "{}", kept.len());
        for point in
            [(0.0, 0.0), (123_456.0, 99.0), (654_321.0, -99.0), (999_999.0, numbers[999_999])]
        {
            assert!(kept.contains(&point), "{point:?}");
        }
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
        numbers[400_000..600_000].fill(f64::NAN);
        assert!(thin(|i| i as f64, &numbers).iter().any(|point| point.1.is_nan()), "a gap");
    }

    #[test]
    fn few_points_and_equal_positions_stay() {
        assert_eq!(thin(|i| i as f64, &[1.0, f64::NAN]).len(), 2);
        assert_eq!(thin(|_| 1.0, &vec![0.0; 10_000]).len(), 2);
    }

    #[test]
    fn a_large_grid_becomes_means() {
        let numbers: Vec<f64> = (0..1000 * 300).map(|i| f64::from(i % 1000)).collect();
        let (thinned, n_columns) = thin_grid(numbers, 1000);
        assert_eq!((n_columns, thinned.len()), (240, 240 * 140));
        assert_eq!(thinned[0], 2.0, "the mean of 0 to 4");
        assert_eq!(thin_grid(vec![1.0, 2.0], 1), (vec![1.0, 2.0], 1));
    }

    #[test]
    fn points_are_counted_in_cells() {
        let points = [(0.0, 0.0), (0.0, 0.0), (1.0, 1.0), (f64::NAN, 1.0)];
        let cells = cells_of_points(&points, None).expect("three points");
        let counted: Vec<f64> = cells.numbers.iter().copied().filter(|n| n.is_finite()).collect();
        assert_eq!(counted, [2.0, 1.0]);
        let cells = cells_of_points(&points, Some(&[1.0, 3.0, 5.0, 0.0])).expect("three points");
        let means: Vec<f64> = cells.numbers.iter().copied().filter(|n| n.is_finite()).collect();
        assert_eq!(means, [2.0, 5.0]);
        assert!(cells_of_points(&[(f64::NAN, 0.0)], None).is_none());
    }
}
