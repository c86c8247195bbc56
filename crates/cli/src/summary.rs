//! Summaries of numeric columns in one line: count, minimum, mean, maximum, and a bar chart.

use millstream::Mask;
use millstream::values::{Column, Kind, Lane as LaneType, Type, Value};

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const N_BINS: usize = 16;
const N_STEPS: usize = 32;

/// The numbers in one lane of a column.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) numbers: Vec<f64>,
    /// How many of the numbers failed; these are NaN.
    pub(crate) n_failed: usize,
}

impl Lane {
    /// How many numbers failed or are not finite, such as `2 failed, 1 not finite`; `None` if all
    /// are finite.
    pub(crate) fn lacks(&self) -> Option<String> {
        let n_finite = self.numbers.iter().filter(|x| x.is_finite()).count();
        let n_other = self.numbers.len() - n_finite - self.n_failed;
        let all = [(self.n_failed, "failed"), (n_other, "not finite")];
        let all = all.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}"));
        let all: Vec<String> = all.collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// The lanes of all numeric columns, each of which lacks the values of some rows.
pub(crate) fn lanes(columns: &[(&str, Column)], missing: &[Mask]) -> Vec<Lane> {
    let is_number = |column: &Column| !matches!(column.ty().kind(), Kind::Lanes(LaneType::Bool, _));
    let columns = columns.iter().zip(missing).filter(|((_, column), _)| is_number(column));
    columns.flat_map(|((name, column), missing)| lanes_without(name, column, missing)).collect()
}

/// The lanes of a column that lacks the values of some rows.
pub(crate) fn lanes_without(name: &str, column: &Column, missing: &Mask) -> Vec<Lane> {
    let mut lanes = lanes_of(name, column);
    for lane in &mut lanes {
        missing.for_each(|row| lane.numbers[row] = f64::NAN);
        lane.n_failed = missing.len();
    }
    lanes
}

/// The lanes of a column of numbers, vectors or booleans (as 0 and 1); none for other types.
pub(crate) fn lanes_of(name: &str, column: &Column) -> Vec<Lane> {
    let Kind::Lanes(lane, n @ 1..=4) = column.ty().kind() else { return Vec::new() };
    let of_part = |(i, part): (usize, &'static str)| {
        let numbers = column.iter().map(|value| number(lane, &value, i)).collect();
        let name = if n == 1 { name.to_owned() } else { format!("{name}.{part}") };
        Lane { name, numbers, n_failed: 0 }
    };
    parts(column.ty()).into_iter().enumerate().take(n as usize).map(of_part).collect()
}

fn parts(ty: Type) -> [&'static str; 4] {
    if ty == Type::COLOR {
        ["r", "g", "b", "a"]
    } else if ty == Type::QUAT {
        ["w", "x", "y", "z"]
    } else {
        ["x", "y", "z", "w"]
    }
}

fn number(lane: LaneType, value: &Value, i: usize) -> f64 {
    let bits = value.lane(i).unwrap_or(0);
    match lane {
        LaneType::Bool => bits as f64,
        LaneType::I32 => f64::from(bits as u32 as i32),
        LaneType::I64 => bits as i64 as f64,
        LaneType::F32 => f64::from(f32::from_bits(bits as u32)),
        LaneType::F64 => f64::from_bits(bits),
    }
}

/// The header and the rows of a summary of some lanes.
pub(crate) fn table(lanes: &[Lane]) -> (Vec<String>, Vec<Vec<String>>) {
    let has_course = lanes.iter().any(|lane| lane.numbers.len() > 10) && lanes.len() > 1;
    let mut head: Vec<String> = ["", "count", "min", "mean", "max"].map(str::to_owned).to_vec();
    let has_shape = lanes.iter().any(|lane| lane.numbers.len() > 10);
    if has_shape {
        head.push("distribution".into());
    }
    if has_course {
        head.push("course".into());
    }
    let row = |lane: &Lane| {
        let finite: Vec<f64> = lane.numbers.iter().copied().filter(|x| x.is_finite()).collect();
        let n = lane.numbers.len();
        let count = lane.lacks().map_or_else(|| n.to_string(), |lacks| format!("{n} ({lacks})"));
        let mut cells = vec![lane.name.clone(), count];
        match range(&finite) {
            Some((min, max)) => {
                // Dividing first keeps the sum of large numbers finite.
                let mean: f64 = finite.iter().map(|x| x / finite.len() as f64).sum();
                cells.extend([short(min), short(mean), short(max)]);
            }
            None => cells.extend(["-", "-", "-"].map(str::to_owned)),
        }
        if has_shape {
            cells.push(distribution(&finite));
        }
        if has_course {
            cells.push(course(&lane.numbers));
        }
        cells
    };
    (head, lanes.iter().map(row).collect())
}

/// The minimum and maximum of finite numbers.
pub(crate) fn range(numbers: &[f64]) -> Option<(f64, f64)> {
    range_of(numbers.iter().copied())
}

/// The minimum and maximum of finite numbers.
pub(crate) fn range_of(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = numbers.filter(|x| x.is_finite());
    finite.fold(None, |range, x| match range {
        None => Some((x, x)),
        Some((min, max)) => Some((x.min(min), x.max(max))),
    })
}

/// Formats a number in at most six digits, for reading.
pub(crate) fn short(x: f64) -> String {
    let text = format!("{x}");
    if text.len() <= 8 {
        return text;
    }
    let magnitude = x.abs();
    if (1e-4..1e7).contains(&magnitude) {
        let digits = (5 - magnitude.log10().floor() as i32).clamp(0, 9) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        return text;
    }
    format!("{x:.5e}")
}

/// A histogram from the minimum to the maximum, in block characters.
fn distribution(finite: &[f64]) -> String {
    let Some((min, max)) = range(finite) else { return String::new() };
    if min == max {
        return String::new();
    }
    let mut bins = [0_usize; N_BINS];
    let scale = N_BINS as f64 / (max / 2.0 - min / 2.0);
    for x in finite {
        let bin = ((x / 2.0 - min / 2.0) * scale) as usize;
        bins[bin.min(N_BINS - 1)] += 1;
    }
    let most = bins.iter().max().copied().unwrap_or(1).max(1);
    let block = |n: usize| match n {
        0 => ' ',
        n => BLOCKS[((n * BLOCKS.len()).div_ceil(most) - 1).min(BLOCKS.len() - 1)],
    };
    bins.map(block).iter().collect()
}

/// The means of successive parts of the numbers, in block characters.
fn course(numbers: &[f64]) -> String {
    let n_steps = N_STEPS.min(numbers.len());
    let step = |i: usize| {
        let part = &numbers[i * numbers.len() / n_steps..(i + 1) * numbers.len() / n_steps];
        let finite: Vec<f64> = part.iter().copied().filter(|x| x.is_finite()).collect();
        finite.iter().map(|x| x / finite.len() as f64).sum::<f64>()
            + if finite.is_empty() { f64::NAN } else { 0.0 }
    };
    let steps: Vec<f64> = (0..n_steps).map(step).collect();
    let Some((min, max)) = range(&steps) else { return String::new() };
    let block = |x: &f64| {
        if !x.is_finite() {
            return ' ';
        }
        let share = (x / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0).max(f64::MIN_POSITIVE);
        BLOCKS[((share * BLOCKS.len() as f64) as usize).min(BLOCKS.len() - 1)]
    };
    steps.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened_to_six_digits() {
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(1.0 / 3.0), "0.333333");
        assert_eq!(short(123_456.789), "123457");
        assert_eq!(short(1.234_567_89e-9), "1.23457e-9");
        assert_eq!(short(-1e300), "-1.00000e300");
    }

    #[test]
    fn shapes_survive_extremes() {
        assert_eq!(distribution(&[f64::MAX, f64::MIN]).chars().count(), N_BINS);
        assert_eq!(course(&[f64::NAN, f64::NAN]), "");
        assert_eq!(course(&[0.0, 1.0]), "▁█");
        assert_eq!(distribution(&[1.0, 1.0]), "");
    }
}
