//! Ragged lists: a list per element, stored as one flat buffer and offsets.

use std::ops::Range;

use crate::value::Value;
use crate::value::column::Column;
use crate::value::types::{Type, ValueType};

/// A list per element. List `i` is `values[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug)]
pub struct Ragged {
    ty: Type,
    offsets: Vec<usize>,
    values: Column,
}

impl Ragged {
    /// Cuts `values` into lists at `offsets`. `None` if the offsets do not start at 0, descend, or
    /// do not end at the number of values, or if the element type is nested too deeply.
    pub fn new(offsets: Vec<usize>, values: Column) -> Option<Self> {
        let ty = values.ty().list()?;
        let fits = offsets.first() == Some(&0)
            && offsets.last() == Some(&values.len())
            && offsets.is_sorted();
        fits.then_some(Self { ty, offsets, values })
    }

    /// `n_lists` lists of equal length; `None` if the number of `values` is not a multiple of
    /// `n_lists`.
    pub fn even(n_lists: usize, values: Column) -> Option<Self> {
        let each = values.len().checked_div(n_lists).unwrap_or(0);
        Self::new((0..=n_lists).map(|i| i * each).collect(), values)
    }

    /// A column of `list<T>` from list values; `None` if one has another type.
    pub(crate) fn collect(ty: Type, lists: &mut dyn Iterator<Item = Value>) -> Option<Self> {
        let element = ty.element()?;
        let mut offsets = vec![0];
        let mut parts = Vec::new();
        let mut total = 0;
        for value in lists {
            let Value::List(list) = value else { return None };
            total += list.len();
            offsets.push(total);
            parts.push(list);
        }
        let values = if parts.is_empty() {
            Column::empty(element)
        } else {
            Column::concat(element, &parts)?
        };
        Some(Self { ty, offsets, values })
    }

    pub(crate) fn concat(ty: Type, parts: &[&Self]) -> Option<Self> {
        let mut offsets = vec![0];
        for part in parts {
            let start = offsets.last().copied().unwrap_or(0);
            offsets.extend(part.offsets[1..].iter().map(|offset| start + offset));
        }
        let values: Vec<Column> = parts.iter().map(|part| part.values.clone()).collect();
        Some(Self { ty, offsets, values: Column::concat(ty.element()?, &values)? })
    }

    /// The type `list<T>` of the elements.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The start of each list, followed by the end of the last one.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The elements of all lists.
    pub fn values(&self) -> &Column {
        &self.values
    }

    /// The offsets and the elements of all lists; [`new`](Self::new) is the inverse.
    pub fn into_parts(self) -> (Vec<usize>, Column) {
        (self.offsets, self.values)
    }

    /// The range of list `i` in [`values`](Self::values).
    pub fn range(&self, i: usize) -> Range<usize> {
        self.offsets[i]..self.offsets[i + 1]
    }

    /// List `i`, copied.
    pub fn list(&self, i: usize) -> Column {
        self.values.slice(self.range(i))
    }

    /// List `i` as a slice, if its elements are of this Rust type.
    pub fn slice<T: ValueType>(&self, i: usize) -> Option<&[T]> {
        self.values.as_slice::<T>().map(|values| &values[self.range(i)])
    }

    /// The lists at these indices, in the given order.
    pub fn gather(&self, indices: &mut dyn Iterator<Item = usize>) -> Self {
        let mut offsets = vec![0];
        let mut sources = Vec::new();
        for i in indices {
            sources.extend(self.range(i));
            offsets.push(sources.len());
        }
        Self { ty: self.ty, offsets, values: self.values.gather(sources.into_iter()) }
    }

    /// Whether list `i` is the same as list `j` of the other.
    pub fn same_lists(&self, i: usize, other: &Self, j: usize) -> bool {
        let (a, b) = (self.range(i), other.range(j));
        a.len() == b.len() && a.zip(b).all(|(a, b)| self.values.same_at(a, &other.values, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::Same;

    fn lists() -> Ragged {
        Ragged::new(vec![0, 2, 2, 3], Column::from_vec(vec![1.0_f32, 2.0, 3.0])).expect("fits")
    }

    #[test]
    fn lists_are_cut_out_of_one_buffer() {
        assert_eq!(lists().slice::<f32>(0), Some(&[1.0, 2.0][..]));
        assert_eq!(lists().slice::<f32>(1), Some(&[][..]));
        assert_eq!(lists().len(), 3);
    }

    #[test]
    fn offsets_that_do_not_fit_are_refused() {
        let values = || Column::from_vec(vec![1_i32, 2]);
        assert!(Ragged::new(vec![0, 3], values()).is_none());
        assert!(Ragged::new(vec![0, 2, 1, 2], values()).is_none());
        assert!(Ragged::new(vec![], values()).is_none());
    }

    #[test]
    fn gathering_keeps_the_lists_whole() {
        let gathered = lists().gather(&mut [2, 0, 0].into_iter());
        assert_eq!(gathered.offsets(), [0, 1, 3, 5]);
        assert_eq!(gathered.values().as_slice::<f32>(), Some(&[3.0, 1.0, 2.0, 1.0, 2.0][..]));
    }

    #[test]
    fn a_column_returns_its_lists_if_they_are_not_shared() {
        let column = Column::from_ragged(lists());
        let shared = column.clone();
        let column = column.try_into_ragged().expect_err("shared");
        drop(shared);
        let (offsets, values) = column.try_into_ragged().expect("alone").into_parts();
        assert_eq!((offsets, values.len()), (vec![0, 2, 2, 3], 3));
        assert!(values.try_into_ragged().is_err());
    }

    #[test]
    fn a_column_of_lists_collects_and_compares() {
        let column = Column::from_ragged(lists());
        let again = column.ty().collect(&mut column.iter()).expect("same type");
        assert!(again.same(&column));
    }
}
