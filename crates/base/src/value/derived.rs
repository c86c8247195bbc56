//! Columns that are not stored: ranges of numbers, and colors whose channels lie in other columns.
//!
//! Fused forms read the lanes of such a column where they lie. All other readers see an ordinary
//! column, which is stored when it is first read.

use std::any::Any;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::OnceLock;

use super::column::{Column, ColumnData};
use super::types::{Type, ValueType};
use crate::mask::Mask;
use crate::value::Value;
use crate::vector::Color;

/// A channel of all elements of a column of colors.
#[derive(Clone, Debug)]
pub enum Channel {
    /// The lane of this number of the elements of another column, whose lanes are `f32`.
    Lane(Column, usize),
    /// One number for all elements.
    Same(f32),
}

/// Where the elements of a derived column come from.
#[derive(Clone, Debug)]
pub enum Derivation {
    /// Consecutive numbers.
    Range(Range<i32>),
    /// Colors, by channel.
    Color(Box<[Channel; 4]>),
}

/// A column that is stored when its elements are first read.
pub(super) struct Derived {
    pub(super) len: usize,
    pub(super) from: Derivation,
    pub(super) stored: OnceLock<Column>,
}

impl Derived {
    fn stored(&self) -> &dyn ColumnData {
        &*self.stored.get_or_init(|| self.store()).0
    }

    fn store(&self) -> Column {
        let channels = match &self.from {
            Derivation::Range(range) => return range.clone().collect(),
            Derivation::Color(channels) => channels,
        };
        let mut colors = vec![Color([0.0; 4]); self.len];
        for (k, channel) in channels.iter().enumerate() {
            match channel {
                Channel::Same(x) => colors.iter_mut().for_each(|color| color.0[k] = *x),
                Channel::Lane(column, offset) => {
                    let (lanes, stride) = column.strided_lanes();
                    let lanes = lanes.get(*offset..).unwrap_or_default().iter().step_by(stride);
                    colors.iter_mut().zip(lanes).for_each(|(color, x)| color.0[k] = *x);
                }
            }
        }
        Column::from_vec(colors)
    }
}

impl ColumnData for Derived {
    fn ty(&self) -> Type {
        match self.from {
            Derivation::Range(_) => i32::ty(),
            Derivation::Color(_) => Color::ty(),
        }
    }
    fn len(&self) -> usize {
        self.len
    }
    fn get(&self, i: usize) -> Value {
        self.stored().get(i)
    }
    fn gather(&self, indices: &mut dyn ExactSizeIterator<Item = usize>) -> Column {
        self.stored().gather(indices)
    }
    fn concat(&self, others: &[Column]) -> Option<Column> {
        self.stored().concat(others)
    }
    fn same_at(&self, i: usize, other: &dyn ColumnData, j: usize) -> bool {
        self.stored().same_at(i, other, j)
    }
    fn same_all(&self, other: &dyn ColumnData) -> bool {
        self.stored().same_all(other)
    }
    fn feed_at(&self, i: usize, state: &mut dyn Hasher) {
        self.stored().feed_at(i, state);
    }
    fn overwritten(
        &self,
        mask: &Mask,
        from: &Column,
        entry: &dyn Fn(usize) -> usize,
    ) -> Option<Column> {
        self.stored().overwritten(mask, from, entry)
    }
    /// Always false: a derived column is stored before it is written to.
    fn overwrite(&mut self, _: &Mask, _: &Column, _: &dyn Fn(usize) -> usize) -> bool {
        false
    }
    fn bytes(&self) -> usize {
        self.stored.get().map_or(0, Column::bytes)
    }
    fn any(&self) -> &dyn Any {
        self.stored().any()
    }
    fn derivation(&self) -> Option<&Derivation> {
        Some(&self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::Same;
    use crate::vector::Vec3;

    fn seen() -> Column {
        let pixels = Column::from_vec(vec![Vec3([1.0, 2.0, 3.0]), Vec3([4.0, 5.0, 6.0])]);
        let lane = |k| Channel::Lane(pixels.clone(), k);
        Column::colors([lane(0), lane(2), lane(1), Channel::Same(0.5)], 2)
    }

    #[test]
    fn colors_are_read_by_channel() {
        let column = seen();
        assert_eq!((column.ty(), column.len(), column.bytes()), (Type::COLOR, 2, 0));
        let stored = [Color([1.0, 3.0, 2.0, 0.5]), Color([4.0, 6.0, 5.0, 0.5])];
        assert_eq!(column.as_slice::<Color>(), Some(&stored[..]));
        assert!(column.same(&Column::from_vec(stored.to_vec())));
        assert!(Column::from_vec(stored.to_vec()).same(&column));
        assert_eq!(column.bytes(), 32);
        let joined = Column::concat(Type::COLOR, &[column.clone(), seen()]).expect("one type");
        assert_eq!(joined.len(), 4);
        assert!(column.try_into_vec::<Color>().is_err(), "its buffer may be shared");
    }

    #[test]
    fn writing_makes_a_stored_column() {
        let mut column = seen();
        column.make_mut::<Color>().expect("colors")[1] = Color([0.0; 4]);
        assert!(column.derivation().is_none());
        let written = [Color([1.0, 3.0, 2.0, 0.5]), Color([0.0; 4])];
        assert_eq!(column.as_slice::<Color>(), Some(&written[..]));
        let mut column = Column::range(5..8);
        column.overwrite(&Mask::range(1..2), &Column::from_vec(vec![9]), |_| 0);
        assert_eq!(column.as_slice::<i32>(), Some(&[5, 9, 7][..]));
    }

    #[test]
    fn a_range_has_its_numbers() {
        let column = Column::range(-2..3);
        assert_eq!((column.ty(), column.len()), (Type::I32, 5));
        assert_eq!(column.slice(1..3).as_slice::<i32>(), Some(&[-1, 0][..]));
        assert!(Column::range(3..3).is_empty());
    }
}
