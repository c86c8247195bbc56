//! Missing values (NaN among floats and vectors, the empty string among strings), and how they are
//! filled in.

use std::sync::Arc;

use millstream_base::{Color, Column, Lane, Type, Value, Vec2, Vec3, Vec4};

use crate::shape::choices;
use crate::sort::halfway;

choices! {
    /// The replacement for a missing value.
    pub(crate) enum Filling {
        Value = "value": "with `value`",
        Before = "before": "the nearest present value before it",
        Behind = "behind": "the nearest present value after it",
        Line = "line": "linear interpolation between the neighbors, by row",
        Mean = "mean": "the mean of the present values",
        Median = "median": "the median of the present values",
    }
}

/// The value that a node is given for missing ones.
pub(crate) enum Given {
    Number(f64),
    Text(Arc<str>),
}

/// The column with its missing values filled in, or the reason why that is impossible.
pub(crate) fn filled(column: &Column, how: Filling, value: &Given) -> Result<Column, &'static str> {
    if let Some(texts) = column.as_slice::<Arc<str>>() {
        return filled_texts(texts, how, value);
    }
    if [Type::BOOL, Type::I32, Type::I64].contains(&column.ty()) {
        return Ok(column.clone());
    }
    let value = match value {
        Given::Number(number) => *number,
        Given::Text(_) if how == Filling::Value => return Err("cannot be filled with a string"),
        Given::Text(_) => f64::NAN,
    };
    let by_component = |n: usize, component: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        let series = |c: usize| (0..column.len()).map(|row| component(row, c)).collect();
        (0..n).map(|c| filled_numbers(series(c), how, value)).collect()
    };
    /// The column of vectors with these components.
    macro_rules! of_vectors {
        ($ty:ident, $n:literal) => {
            if let Some(items) = column.as_slice::<$ty>() {
                let series = by_component($n, &|row, c| items[row].0[c].into());
                let item = |row: usize| $ty(std::array::from_fn(|c| series[c][row] as f32));
                return Ok((0..items.len()).map(item).collect());
            }
        };
    }
    if let Some(items) = column.as_slice::<f64>() {
        return Ok(filled_numbers(items.to_vec(), how, value).into_iter().collect());
    }
    if let Some(items) = column.as_slice::<f32>() {
        let filled = filled_numbers(items.iter().map(|x| f64::from(*x)).collect(), how, value);
        return Ok(filled.into_iter().map(|x| x as f32).collect());
    }
    of_vectors!(Vec2, 2);
    of_vectors!(Vec3, 3);
    of_vectors!(Vec4, 4);
    of_vectors!(Color, 4);
    Err("has no missing values to fill")
}

/// Whether a type has a value that stands for a missing one.
pub(crate) fn may_miss(ty: Type) -> bool {
    ty == Type::STRING || ty.lanes().is_some_and(|(lane, _)| matches!(lane, Lane::F32 | Lane::F64))
}

/// Whether a value is missing: NaN, a vector with a NaN component, or the empty string.
pub(crate) fn is_missing(column: &Column, row: usize) -> bool {
    let value = column.get(row);
    match (&value, value.ty().lanes()) {
        (Value::String(text), _) => text.is_empty(),
        (Value::F64(x), _) => x.is_nan(),
        (_, Some((Lane::F32, n))) => (0..usize::from(n))
            .any(|i| value.lane(i).is_some_and(|bits| f32::from_bits(bits as u32).is_nan())),
        _ => false,
    }
}

fn filled_texts(texts: &[Arc<str>], how: Filling, value: &Given) -> Result<Column, &'static str> {
    let is_there = |text: &Arc<str>| !text.is_empty();
    let mut filled = texts.to_vec();
    match (how, value) {
        (Filling::Value, Given::Text(value)) => {
            for text in filled.iter_mut().filter(|text| text.is_empty()) {
                *text = Arc::clone(value);
            }
        }
        (Filling::Value, Given::Number(_)) => return Err("cannot be filled with a number"),
        (Filling::Before, _) => carried(&mut filled, 0..texts.len(), is_there),
        (Filling::Behind, _) => carried(&mut filled, (0..texts.len()).rev(), is_there),
        (Filling::Line | Filling::Mean | Filling::Median, _) => {
            return Err("can only be filled with a value or a neighbor");
        }
    }
    Ok(filled.into_iter().collect())
}

/// Replaces each missing value by the last present one, in this order of rows.
fn carried<T: Clone>(
    items: &mut [T],
    rows: impl Iterator<Item = usize>,
    is_there: impl Fn(&T) -> bool,
) {
    let mut last: Option<T> = None;
    for row in rows {
        if is_there(&items[row]) {
            last = Some(items[row].clone());
        } else if let Some(last) = &last {
            items[row] = last.clone();
        }
    }
}

fn filled_numbers(mut items: Vec<f64>, how: Filling, value: f64) -> Vec<f64> {
    let is_there = |x: &f64| !x.is_nan();
    let n = items.len();
    let with = match how {
        Filling::Value => value,
        Filling::Before => {
            carried(&mut items, 0..n, is_there);
            return items;
        }
        Filling::Behind => {
            carried(&mut items, (0..n).rev(), is_there);
            return items;
        }
        Filling::Line => {
            lined(&mut items);
            return items;
        }
        Filling::Mean => {
            let (sum, n) =
                items.iter().filter(|x| is_there(x)).fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
            sum / f64::from(n)
        }
        Filling::Median => {
            let mut there: Vec<f64> = items.iter().copied().filter(is_there).collect();
            there.sort_unstable_by(f64::total_cmp);
            let last = there.len().saturating_sub(1);
            there.get(last / 2).map_or(f64::NAN, |low| halfway(*low, there[there.len() / 2]))
        }
    };
    for x in items.iter_mut().filter(|x| x.is_nan()) {
        *x = with;
    }
    items
}

/// Fills gaps between two present values by linear interpolation.
fn lined(items: &mut [f64]) {
    let mut before: Option<usize> = None;
    for row in 0..items.len() {
        if items[row].is_nan() {
            continue;
        }
        if let Some(start) = before {
            let (from, to, width) = (items[start], items[row], (row - start) as f64);
            for (k, x) in items[start + 1..row].iter_mut().enumerate() {
                let t = (k + 1) as f64 / width;
                *x = from * (1.0 - t) + to * t;
            }
        }
        before = Some(row);
    }
}
