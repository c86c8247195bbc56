//! A line plot in Braille patterns, two by four dots per character.

use std::io::Write;

use crate::outcome::Stop;
use crate::summary::{Lane, range, short};
use crate::tables::Key;
use crate::terminal::Style;

const WIDTH: usize = 64;
const HEIGHT: usize = 10;

/// The bits of the dots of a pattern, by column and row.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The data of a plot: numbers over other numbers, or over row numbers.
pub(crate) struct Plot<'a> {
    /// Ascending and finite, if present.
    over: Option<&'a Lane>,
    lane: &'a Lane,
    key: &'a Key<'a>,
}

impl<'a> Plot<'a> {
    /// The plot for the lanes of a table: a single lane, or a lane over another that ascends.
    /// `None` for other tables.
    pub(crate) fn of(lanes: &'a [Lane], keys: &'a [Key<'a>]) -> Option<Self> {
        let [key] = keys else { return None };
        match lanes {
            [lane] => Some(Self { over: None, lane, key }),
            [over, lane] if ascends(&over.numbers) => Some(Self { over: Some(over), lane, key }),
            _ => None,
        }
    }
}

/// Whether numbers are finite and strictly ascending.
pub(crate) fn ascends(numbers: &[f64]) -> bool {
    numbers.iter().all(|x| x.is_finite()) && numbers.windows(2).all(|pair| pair[0] < pair[1])
}

/// Draws a plot; numbers that are not finite leave gaps.
pub(crate) fn write(out: &mut impl Write, plot: &Plot<'_>, style: Style) -> Result<(), Stop> {
    let Plot { over, lane, key } = plot;
    let Some((min, max)) = range(&lane.numbers) else { return Ok(()) };
    let canvas = canvas(over.map(|over| over.numbers.as_slice()), &lane.numbers, min, max);
    let labels = [short(max), short(min)];
    let margin = labels.iter().map(String::len).max().unwrap_or(0);
    for (row, cells) in canvas.iter().enumerate() {
        let label = match row {
            0 => labels[0].as_str(),
            _ if row + 1 == HEIGHT => labels[1].as_str(),
            _ => "",
        };
        let dots: String = cells.iter().map(|bits| pattern(*bits)).collect();
        writeln!(out, "{} {}", style.faint(&format!("{label:>margin$} ┤")), style.drawing(&dots))?;
    }
    let last_row = lane.numbers.len() - 1;
    let (name, first, last) = match over {
        Some(over) => (over.name.as_str(), short(over.numbers[0]), short(over.numbers[last_row])),
        None => (key.name, (key.of_row)(0), (key.of_row)(last_row)),
    };
    let right = WIDTH.saturating_sub(first.chars().count());
    let middle = right.saturating_sub(last.chars().count());
    let axis = format!("{}{first}{name:^middle$}{last}", " ".repeat(margin + 3));
    writeln!(out, "{}", style.faint(&axis))?;
    Ok(())
}

fn pattern(bits: u8) -> char {
    // U+2800 to U+28FF are the patterns of all eight bits.
    char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')
}

fn canvas(over: Option<&[f64]>, numbers: &[f64], min: f64, max: f64) -> Vec<[u8; WIDTH]> {
    let mut canvas = vec![[0_u8; WIDTH]; HEIGHT];
    let (columns, rows) = (2 * WIDTH, 4 * HEIGHT);
    let row_of = |y: f64| {
        // Halving first keeps the span of the largest numbers finite.
        let span = max / 2.0 - min / 2.0;
        let share = if span > 0.0 { (y / 2.0 - min / 2.0) / span } else { 0.5 };
        rows - 1 - ((share * (rows - 1) as f64).round() as usize).min(rows - 1)
    };
    let mut before: Option<(usize, usize)> = None;
    for (i, y) in numbers.iter().enumerate() {
        if !y.is_finite() {
            before = None;
            continue;
        }
        let x = match over {
            Some(over) => {
                let (first, last) = (over[0] / 2.0, over[over.len() - 1] / 2.0);
                let share =
                    if last > first { (over[i] / 2.0 - first) / (last - first) } else { 0.0 };
                ((share * (columns - 1) as f64).round() as usize).min(columns - 1)
            }
            None => i * (columns - 1) / (numbers.len() - 1).max(1),
        };
        let row = row_of(*y);
        let (x0, row0) = before.unwrap_or((x, row));
        for step in 0..=(x - x0).max(row.abs_diff(row0)) {
            let n = (x - x0).max(row.abs_diff(row0)).max(1);
            let at = |a: usize, b: usize| (a * (n - step) + b * step + n / 2) / n;
            let (x, row) = (at(x0, x), at(row0, row));
            canvas[row / 4][x / 2] |= DOTS[x % 2][row % 4];
        }
        before = Some((x, row));
    }
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_starts_low_and_ends_high() {
        let numbers: Vec<f64> = (0..20).map(f64::from).collect();
        let canvas = canvas(None, &numbers, 0.0, 19.0);
        assert_ne!(canvas[HEIGHT - 1][0], 0);
        assert_ne!(canvas[0][WIDTH - 1], 0);
        assert_eq!((canvas[0][0], canvas[HEIGHT - 1][WIDTH - 1]), (0, 0));
    }

    #[test]
    fn non_finite_numbers_leave_a_gap() {
        let canvas = canvas(None, &[0.0, f64::NAN, 0.0], 0.0, 0.0);
        let n_dots: u32 = canvas.iter().flatten().map(|bits| bits.count_ones()).sum();
        assert_eq!(n_dots, 2);
    }
}
