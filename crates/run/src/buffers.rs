//! Buffers of results that are no longer needed, reused for later results.

use bytemuck::allocation::try_zeroed_vec;
use millstream_base::derived::{Channel, Derivation};
use millstream_base::image::PIXEL_TYPES;
use millstream_base::pages::in_huge_pages;
use millstream_base::types::Kind;
use millstream_base::{Color, Column, Image, Mat4, Quat, Type, Value, ValueType, Vec2, Vec3, Vec4};
use millstream_node::Data;
use rustc_hash::FxHashMap;

/// Maximal number of stored buffers of one type.
const KEPT: usize = 8;

/// Maximal size of stored buffers in bytes.
const KEPT_BYTES: usize = 256 << 20;

/// Columns whose contents are irrelevant, by type.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    free: FxHashMap<Type, Vec<Column>>,
    bytes: usize,
}

fn bytes_of(column: &Column) -> usize {
    column.len() * column.ty().size()
}

/// A column that holds channels of a column of colors.
fn source_of(column: &Column) -> Option<Column> {
    let Some(Derivation::Color(channels)) = column.derivation() else { return None };
    channels.iter().find_map(|channel| match channel {
        Channel::Lane(column, _) => Some(column.clone()),
        Channel::Same(_) => None,
    })
}

impl Buffers {
    /// Stores a column that is no longer needed, unless it has other owners. Of colors that lie in
    /// another column, that is stored.
    pub(crate) fn give(&mut self, mut column: Column) {
        if !column.is_shared()
            && let Some(source) = source_of(&column)
        {
            column = source;
        }
        let is_derived = column.derivation().is_some();
        if !matches!(column.ty().kind(), Kind::Lanes(..)) || is_derived || column.is_shared() {
            return;
        }
        let bytes = bytes_of(&column);
        let free = self.free.entry(column.ty()).or_default();
        if free.len() < KEPT && self.bytes + bytes <= KEPT_BYTES {
            free.push(column);
            self.bytes += bytes;
        }
    }

    /// Stores data that is no longer needed.
    pub(crate) fn give_data(&mut self, data: Data) {
        match data {
            Data::Many(column) | Data::One(Value::List(column)) => self.give(column),
            Data::One(value) => {
                if let Some(image) = Image::from_value(&value) {
                    drop(value);
                    self.give(image.into_pixels());
                }
            }
        }
    }

    /// A free column for an output, of any length: of its type, or of pixels for an image.
    pub(crate) fn take_for(&mut self, ty: Type) -> Option<Column> {
        if ty == Image::ty() {
            return PIXEL_TYPES.into_iter().rev().find_map(|ty| self.take(ty));
        }
        self.take(ty)
    }

    /// A free column of any length.
    fn take(&mut self, ty: Type) -> Option<Column> {
        let column = self.free.get_mut(&ty)?.pop()?;
        self.bytes -= bytes_of(&column);
        Some(column)
    }

    /// The shortest free column of at least `n` elements.
    fn take_longer(&mut self, ty: Type, n: usize) -> Option<Column> {
        let free = self.free.get_mut(&ty)?;
        let fitting = free.iter().enumerate().filter(|(_, column)| column.len() >= n);
        let (place, _) = fitting.min_by_key(|(_, column)| column.len())?;
        let column = free.swap_remove(place);
        self.bytes -= bytes_of(&column);
        Some(column)
    }

    /// An unshared column of `n` elements with arbitrary contents; for types of lanes.
    ///
    /// # Panics
    /// If there is no memory for it.
    pub(crate) fn column(&mut self, ty: Type, n: usize) -> Column {
        let column = self.try_column(ty, n);
        column.unwrap_or_else(|| panic!("there is no memory for {n} elements of {}", ty.name()))
    }

    /// The same; `None` if there is no memory for it.
    pub(crate) fn try_column(&mut self, ty: Type, n: usize) -> Option<Column> {
        macro_rules! sized {
            ($($rust:ty),*) => {$(
                if ty == <$rust>::ty() {
                    let old = self.take_longer(ty, n);
                    if old.as_ref().is_some_and(|old| old.len() == n && !old.is_shared()) {
                        return old;
                    }
                    // A shared column is left to its other owners.
                    let old = old.map(Column::try_into_vec::<$rust>);
                    if let Some(Ok(mut buffer)) = old {
                        buffer.truncate(n);
                        return Some(Column::from_vec(buffer));
                    }
                    let mut fresh = try_zeroed_vec::<$rust>(n).ok()?;
                    in_huge_pages(&mut fresh);
                    return Some(Column::from_vec(fresh));
                }
            )*};
        }
        sized!(f32, Vec3, i32, bool, f64, i64, Vec2, Vec4, Color, Quat, Mat4);
        Some(Column::filled(&ty.default_value(), n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(n: usize) -> Column {
        Column::from_vec(vec![1.0_f32; n])
    }

    #[test]
    fn the_shortest_that_fits_comes_again() {
        let mut buffers = Buffers::default();
        let long = floats(1000);
        let place = |column: &Column| column.as_slice::<f32>().unwrap().as_ptr();
        let wanted = place(&long);
        buffers.give(floats(2000));
        buffers.give(long);
        buffers.give(floats(10));
        let found = buffers.column(f32::ty(), 500);
        assert_eq!((found.len(), place(&found)), (500, wanted));
    }

    #[test]
    fn columns_with_other_owners_do_not_take_the_place_of_free_ones() {
        let mut buffers = Buffers::default();
        let (free, shared) = (floats(100), floats(100));
        let place = free.as_slice::<f32>().map(<[f32]>::as_ptr);
        buffers.give(free);
        buffers.give(shared.clone());
        let found = buffers.column(f32::ty(), 100);
        assert_eq!(found.as_slice::<f32>().map(<[f32]>::as_ptr), place);
        assert!(buffers.take(f32::ty()).is_none());
        drop(shared);
    }

    #[test]
    fn the_pixels_behind_a_column_of_colors_are_reused_once_nothing_else_reads_them() {
        let mut buffers = Buffers::default();
        let pixels = Column::from_vec(vec![Vec3([1.0; 3]); 100]);
        let place = pixels.as_slice::<Vec3>().map(<[Vec3]>::as_ptr);
        let colors = || {
            let lane = |k| Channel::Lane(pixels.clone(), k);
            Column::colors([lane(0), lane(1), lane(2), Channel::Same(1.0)], 100)
        };
        buffers.give(colors());
        assert!(buffers.take(Vec3::ty()).is_none());
        let last = colors();
        drop(pixels);
        buffers.give(last);
        let found = buffers.column(Vec3::ty(), 100);
        assert_eq!(found.as_slice::<Vec3>().map(<[Vec3]>::as_ptr), place);
    }

    #[test]
    fn what_no_memory_has_room_for_is_not_made() {
        let mut buffers = Buffers::default();
        assert!(buffers.try_column(f64::ty(), usize::MAX / 64).is_none());
        assert!(buffers.try_column(f64::ty(), usize::MAX).is_none());
        assert_eq!(buffers.try_column(f64::ty(), 8).map(|column| column.len()), Some(8));
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes() {
        let mut buffers = Buffers::default();
        let n = KEPT_BYTES / 4;
        buffers.give(Column::from_vec(vec![0.0_f32; n]));
        buffers.give(floats(1));
        assert!(buffers.take(f32::ty()).is_some_and(|column| column.len() == n));
        assert!(buffers.take(f32::ty()).is_none());
        buffers.give(floats(1));
        assert!(buffers.take(f32::ty()).is_some());
    }
}
