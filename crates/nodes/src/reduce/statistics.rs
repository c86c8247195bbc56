//! Reductions that visit items more than once: variance, median, index of the least and greatest.

use millstream_base::{Type, ValueType};
use millstream_node::{Among, Call, Failure, Kernel};

use super::number::Fraction;
use super::{nothing, tree};
use crate::cells::{Cells, function};
use crate::each::{Items, try_each};
use crate::shape::for_type;
use crate::sort::halfway;

/// Single floats.
pub(super) const SINGLE: Among = Among::These(&[Type::F32, Type::F64]);

pub(super) fn variance(ty: Type) -> Kernel {
    for_type!(floats ty, T => function(|call| spread::<T>(call, false)))
}

pub(super) fn deviation(ty: Type) -> Kernel {
    for_type!(floats ty, T => function(|call| spread::<T>(call, true)))
}

/// The mean of the squared differences from the mean, or its square root.
fn spread<T: Fraction>(call: &mut Call<'_>, root: bool) -> Result<(), Failure> {
    let mut squares: Vec<T> = Vec::new();
    let mut cells = Cells::new(call);
    let lists = call.lists(0);
    cells.fill(call, |i| {
        let items = lists.slice::<T>(i).expect("the items have the signature's type");
        let mean =
            |items: &[T]| tree::fold(items, T::add).unwrap_or(T::ZERO).divided_by(items.len());
        let middle = mean(items);
        squares.clear();
        squares.extend(items.iter().map(|item| item.squared_distance(middle)));
        Ok(mean(&squares).of_spread(items, root))
    })?;
    cells.put(call);
    Ok(())
}

pub(super) fn median(ty: Type) -> Kernel {
    if ty == Type::F64 {
        function(|call| middle(call, f64::total_cmp, halfway, f64::is_nan))
    } else {
        let between = |a, b| halfway(f64::from(a), f64::from(b)) as f32;
        function(move |call| middle(call, f32::total_cmp, between, f32::is_nan))
    }
}

fn middle<T: ValueType + Copy>(
    call: &mut Call<'_>,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
    halfway: impl Fn(T, T) -> T,
    is_nan: impl Fn(T) -> bool,
) -> Result<(), Failure> {
    let mut sorted: Vec<T> = Vec::new();
    let mut cells = Cells::new(call);
    let lists = call.lists(0);
    cells.fill(call, |i| {
        let items = lists.slice::<T>(i).expect("the items have the signature's type");
        sorted.clear();
        sorted.extend(items.iter().copied().filter(|item| !is_nan(*item)));
        let n = sorted.len();
        if n == 0 {
            // There are only NaNs, or nothing.
            return items.first().copied().ok_or_else(|| nothing(i, "median"));
        }
        let (below, at, _) = sorted.select_nth_unstable_by(n / 2, &order);
        if n % 2 == 1 {
            return Ok(*at);
        }
        let upper = *at;
        let lower =
            below.iter().copied().max_by(&order).expect("half of the items are below the middle");
        Ok(halfway(lower, upper))
    })?;
    cells.put(call);
    Ok(())
}

pub(super) fn index_of_minimum(ty: Type) -> Kernel {
    place_of(ty, "minimum", true)
}

pub(super) fn index_of_maximum(ty: Type) -> Kernel {
    place_of(ty, "maximum", false)
}

fn place_of(ty: Type, what: &'static str, least: bool) -> Kernel {
    for_type!(ordered ty, T => place::<T>(what, least))
}

/// The index of the first of the least or greatest items; numbers are preferred to NaN.
fn place<T: ValueType + Copy + PartialOrd>(what: &'static str, least: bool) -> Kernel {
    function(try_each::<(Items<T>,), _>(move |element, (items,)| {
        let is_nan = |x: T| x.partial_cmp(&x).is_none();
        let better = |a: T, b: T| {
            let beyond = if least { a < b } else { a > b };
            beyond || (is_nan(b) && !is_nan(a))
        };
        let found = (1..items.len())
            .fold(0, |best, at| if better(items[at], items[best]) { at } else { best });
        if items.is_empty() {
            return Err(nothing(element.i, what));
        }
        Ok(i32::try_from(found).unwrap_or(i32::MAX))
    }))
}
