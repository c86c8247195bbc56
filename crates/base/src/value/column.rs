//! Columns: many values of one type in one flat buffer, shared until written to.

use std::any::Any;
use std::fmt;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::mask::Mask;
use crate::same::Same;
use crate::value::Value;
use crate::value::derived::{Channel, Derivation, Derived};
use crate::value::ragged::Ragged;
use crate::value::types::{Kind, Type, ValueType};

/// Many values of one type. Cloning shares the buffer.
#[derive(Clone)]
pub struct Column(pub(super) Arc<dyn ColumnData>);

/// The operations of a column whose element type is not known at compile time.
pub(super) trait ColumnData: Any + Send + Sync {
    fn ty(&self) -> Type;
    fn len(&self) -> usize;
    fn get(&self, i: usize) -> Value;
    fn gather(&self, indices: &mut dyn ExactSizeIterator<Item = usize>) -> Column;
    fn concat(&self, others: &[Column]) -> Option<Column>;
    fn same_at(&self, i: usize, other: &dyn ColumnData, j: usize) -> bool;
    fn same_all(&self, other: &dyn ColumnData) -> bool;
    fn feed_at(&self, i: usize, state: &mut dyn Hasher);
    fn overwritten(
        &self,
        mask: &Mask,
        from: &Column,
        entry: &dyn Fn(usize) -> usize,
    ) -> Option<Column>;
    fn overwrite(&mut self, mask: &Mask, from: &Column, entry: &dyn Fn(usize) -> usize) -> bool;
    fn bytes(&self) -> usize;
    fn any(&self) -> &dyn Any;
    fn derivation(&self) -> Option<&Derivation> {
        None
    }
}

impl<T: ValueType> ColumnData for Vec<T> {
    fn ty(&self) -> Type {
        T::ty()
    }
    fn len(&self) -> usize {
        self.len()
    }
    fn get(&self, i: usize) -> Value {
        self[i].clone().into_value()
    }
    fn gather(&self, indices: &mut dyn ExactSizeIterator<Item = usize>) -> Column {
        Column::from_vec(indices.map(|i| self[i].clone()).collect())
    }
    fn concat(&self, others: &[Column]) -> Option<Column> {
        let mut all = Self::with_capacity(others.iter().map(Column::len).sum::<usize>());
        for other in others {
            all.extend_from_slice(other.as_slice::<T>()?);
        }
        Some(Column::from_vec(all))
    }
    fn same_at(&self, i: usize, other: &dyn ColumnData, j: usize) -> bool {
        other.any().downcast_ref::<Self>().is_some_and(|other| self[i].same_value(&other[j]))
    }
    fn same_all(&self, other: &dyn ColumnData) -> bool {
        other.any().downcast_ref::<Self>().is_some_and(|other| {
            self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a.same_value(b))
        })
    }
    fn feed_at(&self, i: usize, state: &mut dyn Hasher) {
        self[i].feed_value(state);
    }
    fn overwritten(
        &self,
        mask: &Mask,
        from: &Column,
        entry: &dyn Fn(usize) -> usize,
    ) -> Option<Column> {
        let mut copy = self.clone();
        copy.overwrite(mask, from, entry).then(|| Column::from_vec(copy))
    }
    fn overwrite(&mut self, mask: &Mask, from: &Column, entry: &dyn Fn(usize) -> usize) -> bool {
        let Some(from) = from.as_slice::<T>() else { return false };
        mask.for_each(|i| self[i].clone_from(&from[entry(i)]));
        true
    }
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
    fn any(&self) -> &dyn Any {
        self
    }
}

impl ColumnData for Ragged {
    fn ty(&self) -> Type {
        self.ty()
    }
    fn len(&self) -> usize {
        self.len()
    }
    fn get(&self, i: usize) -> Value {
        Value::List(self.list(i))
    }
    fn gather(&self, indices: &mut dyn ExactSizeIterator<Item = usize>) -> Column {
        Column::from_ragged(self.gather(indices))
    }
    fn concat(&self, others: &[Column]) -> Option<Column> {
        let lists: Option<Vec<&Self>> = others.iter().map(Column::as_ragged).collect();
        Self::concat(self.ty(), &lists?).map(Column::from_ragged)
    }
    fn same_at(&self, i: usize, other: &dyn ColumnData, j: usize) -> bool {
        other.any().downcast_ref::<Self>().is_some_and(|other| self.same_lists(i, other, j))
    }
    fn same_all(&self, other: &dyn ColumnData) -> bool {
        other.any().downcast_ref::<Self>().is_some_and(|other| {
            self.offsets() == other.offsets() && self.values().same(other.values())
        })
    }
    fn feed_at(&self, i: usize, state: &mut dyn Hasher) {
        let range = self.range(i);
        state.write_usize(range.len());
        for j in range {
            self.values().feed_at(j, state);
        }
    }
    fn overwritten(
        &self,
        mask: &Mask,
        from: &Column,
        entry: &dyn Fn(usize) -> usize,
    ) -> Option<Column> {
        let from = from.as_ragged()?;
        // Few lists, none of which gets another length: all others are copied as one.
        let has_length = |i| self.range(i).len() == from.range(entry(i)).len();
        if mask.len() <= self.len() / 8 && mask.iter().all(has_length) {
            let (mut items, mut of_items) = (Vec::new(), Vec::new());
            mask.for_each(|i| {
                items.extend(self.range(i).map(|item| item as u32));
                of_items.extend(from.range(entry(i)));
            });
            let mut values = self.values().clone();
            let all = Mask::from_indices(items.clone()).ok()?;
            values.overwrite(&all, from.values(), |item| {
                of_items[items.partition_point(|known| (*known as usize) < item)]
            });
            return Self::new(self.offsets().to_vec(), values).map(Column::from_ragged);
        }
        let lists = (0..self.len()).map(|i| {
            Value::List(if mask.contains(i) { from.list(entry(i)) } else { self.list(i) })
        });
        self.ty().collect(&mut lists.into_iter())
    }
    fn overwrite(&mut self, mask: &Mask, from: &Column, entry: &dyn Fn(usize) -> usize) -> bool {
        let Some(new) = self.overwritten(mask, from, entry) else { return false };
        let Some(new) = new.as_ragged() else { return false };
        self.clone_from(new);
        true
    }
    fn bytes(&self) -> usize {
        size_of_val(self.offsets()) + self.values().bytes()
    }
    fn any(&self) -> &dyn Any {
        self
    }
}

impl Column {
    /// A column of these values.
    pub fn from_vec<T: ValueType>(values: Vec<T>) -> Self {
        Self(Arc::new(values))
    }

    /// A column of lists.
    pub fn from_ragged(lists: Ragged) -> Self {
        Self(Arc::new(lists))
    }

    /// The numbers of a range, which are not stored before they are read.
    pub fn range(range: Range<i32>) -> Self {
        Self::derived(range.len(), Derivation::Range(range))
    }

    /// Colors whose channels lie elsewhere; they are not stored before they are read.
    ///
    /// # Panics
    /// If a channel is no lane of `len` elements made of `f32`.
    pub fn colors(channels: [Channel; 4], len: usize) -> Self {
        for channel in &channels {
            if let Channel::Lane(column, k) = channel {
                let (_, n) = column.strided_lanes();
                assert!(column.len() >= len && *k < n, "the column has the lanes that are read");
            }
        }
        Self::derived(len, Derivation::Color(Box::new(channels)))
    }

    fn derived(len: usize, from: Derivation) -> Self {
        Self(Arc::new(Derived { len, from, stored: OnceLock::new() }))
    }

    /// Where the elements come from, unless they are stored in this column.
    pub fn derivation(&self) -> Option<&Derivation> {
        self.0.derivation()
    }

    /// The `f32` of the elements, and how many an element has.
    ///
    /// # Panics
    /// If the elements are not made of `f32`.
    pub(super) fn strided_lanes(&self) -> (&[f32], usize) {
        let lanes = self.as_f32_lanes().expect("the elements are made of f32");
        (lanes, self.ty().lanes().map_or(1, |(_, n)| usize::from(n)))
    }

    /// An empty column of type `ty`.
    pub fn empty(ty: Type) -> Self {
        ty.collect(&mut std::iter::empty()).expect("no value is of another type")
    }

    /// A column of `n` copies of `value`.
    pub fn filled(value: &Value, n: usize) -> Self {
        match value {
            Value::Bool(x) => Self::from_vec(vec![*x; n]),
            Value::I32(x) => Self::from_vec(vec![*x; n]),
            Value::I64(x) => Self::from_vec(vec![*x; n]),
            Value::F32(x) => Self::from_vec(vec![*x; n]),
            Value::F64(x) => Self::from_vec(vec![*x; n]),
            Value::Vec3(x) => Self::from_vec(vec![*x; n]),
            other => {
                let mut all = std::iter::repeat_n(other.clone(), n);
                other.ty().collect(&mut all).expect("the values are of their own type")
            }
        }
    }

    /// The type of the elements.
    pub fn ty(&self) -> Type {
        self.0.ty()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i`.
    ///
    /// # Panics
    /// If `i` is not below the length.
    pub fn get(&self, i: usize) -> Value {
        self.0.get(i)
    }

    /// The elements, if they are of this Rust type.
    pub fn as_slice<T: ValueType>(&self) -> Option<&[T]> {
        self.0.any().downcast_ref::<Vec<T>>().map(Vec::as_slice)
    }

    /// The elements for writing, copied first if the buffer is shared; `None` if they have another
    /// type.
    pub fn make_mut<T: ValueType>(&mut self) -> Option<&mut Vec<T>> {
        self.as_slice::<T>()?;
        if self.derivation().is_some() || Arc::get_mut(&mut self.0).is_none() {
            *self = Self::from_vec(self.as_slice::<T>()?.to_vec());
        }
        let data: &mut dyn Any = Arc::get_mut(&mut self.0)?;
        data.downcast_mut()
    }

    /// The lists, if the elements are lists.
    pub fn as_ragged(&self) -> Option<&Ragged> {
        self.0.any().downcast_ref()
    }

    /// The buffer of the column.
    ///
    /// # Errors
    /// Returns the column if it has another type or its buffer is shared.
    pub fn try_into_vec<T: ValueType>(self) -> Result<Vec<T>, Self> {
        if self.derivation().is_some() || self.as_slice::<T>().is_none() {
            return Err(self);
        }
        match Arc::downcast::<Vec<T>>(self.0) {
            Ok(vec) => Arc::try_unwrap(vec).map_err(|shared| Self(shared)),
            Err(_) => unreachable!("the type was just checked"),
        }
    }

    /// The flat `f32` of a column, for types that pixels have.
    ///
    /// # Errors
    /// Returns the column if its elements are of another type, or as
    /// [`try_into_vec`](Self::try_into_vec).
    pub fn try_into_channels(self) -> Result<Vec<f32>, Self> {
        use crate::vector::{Color, Vec2, Vec3};
        fn flat<T: ValueType + bytemuck::Pod>(column: Column) -> Result<Vec<f32>, Column> {
            let all = column.try_into_vec::<T>()?.into_boxed_slice();
            Ok(bytemuck::cast_slice_box(all).into_vec())
        }
        match self.ty() {
            ty if ty == Type::VEC2 => flat::<Vec2>(self),
            ty if ty == Type::VEC3 => flat::<Vec3>(self),
            ty if ty == Type::COLOR => flat::<Color>(self),
            _ => self.try_into_vec::<f32>(),
        }
    }

    /// The lists of the column.
    ///
    /// # Errors
    /// Returns the column if its elements are not lists or its buffer is shared.
    pub fn try_into_ragged(self) -> Result<Ragged, Self> {
        if self.as_ragged().is_none() {
            return Err(self);
        }
        match Arc::downcast::<Ragged>(self.0) {
            Ok(lists) => Arc::try_unwrap(lists).map_err(|shared| Self(shared)),
            Err(_) => unreachable!("the type was just checked"),
        }
    }

    /// The elements at these indices, in the given order.
    pub fn gather(&self, indices: impl ExactSizeIterator<Item = usize>) -> Self {
        let mut indices = indices;
        self.0.gather(&mut indices)
    }

    /// The elements of a range, copied.
    pub fn slice(&self, range: Range<usize>) -> Self {
        self.gather(range)
    }

    /// The concatenation of the columns; `None` if one of them is not of type `ty`.
    pub fn concat(ty: Type, columns: &[Self]) -> Option<Self> {
        Self::empty(ty).0.concat(columns)
    }

    /// Sets the masked elements: element `i` becomes element `entry(i)` of `from`. Copies the
    /// buffer first if it is shared.
    ///
    /// # Panics
    /// If the columns are of different types.
    pub fn overwrite(&mut self, mask: &Mask, from: &Self, entry: impl Fn(usize) -> usize) {
        let is_derived = self.derivation().is_some();
        let same_type = match Arc::get_mut(&mut self.0) {
            Some(data) if !is_derived => data.overwrite(mask, from, &entry),
            Some(_) | None => match self.0.overwritten(mask, from, &entry) {
                Some(column) => {
                    *self = column;
                    true
                }
                None => false,
            },
        };
        assert!(same_type, "a column is overwritten by one of its own type");
    }

    /// Whether element `i` and element `j` of the other column are the same value.
    pub fn same_at(&self, i: usize, other: &Self, j: usize) -> bool {
        self.0.same_at(i, &*other.0, j)
    }

    /// Feeds element `i` to a hasher.
    pub fn feed_at(&self, i: usize, state: &mut dyn Hasher) {
        self.0.feed_at(i, state);
    }

    /// Whether another column has this buffer too.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether both columns share one buffer.
    pub fn is_same_buffer(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The size of the buffer in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The elements in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The column as flat `f32`, if its type consists of `f32` lanes: element `i` starts at `i *
    /// lanes`.
    pub fn as_f32_lanes(&self) -> Option<&[f32]> {
        use crate::vector::{Color, Mat4, Quat, Vec2, Vec3, Vec4};
        let Kind::Lanes(crate::lane::Lane::F32, _) = self.ty().kind() else {
            return None;
        };
        self.as_slice::<f32>()
            .or_else(|| self.as_slice::<Vec3>().map(bytemuck::cast_slice))
            .or_else(|| self.as_slice::<Vec2>().map(bytemuck::cast_slice))
            .or_else(|| self.as_slice::<Vec4>().map(bytemuck::cast_slice))
            .or_else(|| self.as_slice::<Color>().map(bytemuck::cast_slice))
            .or_else(|| self.as_slice::<Quat>().map(bytemuck::cast_slice))
            .or_else(|| self.as_slice::<Mat4>().map(bytemuck::cast_slice))
    }
}

impl Same for Column {
    fn same(&self, other: &Self) -> bool {
        self.ty() == other.ty() && (self.is_same_buffer(other) || self.0.same_all(&*other.0))
    }
    fn feed(&self, state: &mut dyn Hasher) {
        state.write_usize(self.len());
        for i in 0..self.len() {
            self.feed_at(i, state);
        }
    }
}

impl<T: ValueType> FromIterator<T> for Column {
    fn from_iter<It: IntoIterator<Item = T>>(values: It) -> Self {
        Self::from_vec(values.into_iter().collect())
    }
}

impl<T: ValueType> From<Vec<T>> for Column {
    fn from(values: Vec<T>) -> Self {
        Self::from_vec(values)
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ty())?;
        f.debug_list().entries(self.iter().take(16).map(|value| value.to_string())).finish()?;
        if self.len() > 16 { write!(f, " of {}", self.len()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Vec3;

    #[test]
    fn lists_are_overwritten_by_lists_of_the_same_length_and_of_others() {
        let lists = |last: &[f32]| {
            let all =
                (0..17).map(|i| (0..i % 3).map(|k| (10 * i + k) as f32).collect::<Vec<f32>>());
            let all = all.chain([last.to_vec()]).map(|list| Value::List(Column::from_vec(list)));
            Type::F32.list().and_then(|ty| ty.collect(&mut all.into_iter())).expect("lists of f32")
        };
        let old = lists(&[7.0, 8.0]);
        for last in [&[1.0, 2.0][..], &[3.0], &[]] {
            let from = lists(last);
            for (mask, entry) in [(vec![17], 17), (vec![2, 17], 17), (vec![4, 7], 1), (vec![], 0)] {
                let mut new = old.clone();
                let mask = Mask::from_indices(mask).expect("ascending");
                new.overwrite(&mask, &from, |_| entry);
                for i in 0..old.len() {
                    let expected = if mask.contains(i) { from.get(entry) } else { old.get(i) };
                    assert!(new.get(i).same(&expected), "{i} of {mask:?} from {entry}");
                }
            }
        }
    }

    #[test]
    fn a_shared_buffer_is_copied_before_writing() {
        let mut column = Column::from_vec(vec![1.0_f32, 2.0]);
        let shared = column.clone();
        column.make_mut::<f32>().expect("f32")[0] = 5.0;
        assert_eq!(shared.as_slice::<f32>(), Some(&[1.0, 2.0][..]));
        assert_eq!(column.as_slice::<f32>(), Some(&[5.0, 2.0][..]));
    }

    #[test]
    fn the_buffer_is_returned_if_it_is_not_shared() {
        let column = Column::from_vec(vec![1_i32, 2]);
        let shared = column.clone();
        let column = column.try_into_vec::<i32>().expect_err("shared");
        drop(shared);
        assert_eq!(column.try_into_vec::<i32>().expect("alone"), [1, 2]);
    }

    #[test]
    fn vectors_are_read_as_lanes() {
        let column = Column::from_vec(vec![Vec3([1.0, 2.0, 3.0]), Vec3([4.0, 5.0, 6.0])]);
        assert_eq!(column.as_f32_lanes(), Some(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]));
        assert_eq!(Column::from_vec(vec![1_i32]).as_f32_lanes(), None);
    }

    #[test]
    fn columns_of_one_type_join() {
        let (a, b) = (Column::from_vec(vec![1_i32]), Column::from_vec(vec![2_i32, 3]));
        let joined = Column::concat(Type::I32, &[a, b]).expect("same type");
        assert_eq!(joined.as_slice::<i32>(), Some(&[1, 2, 3][..]));
    }
}
