//! Buffers of results that nobody needs any more, kept for the next results.

use bytemuck::allocation::zeroed_vec;
use millstream_base::types::Kind;
use millstream_base::{Color, Column, Mat4, Quat, Type, ValueType, Vec2, Vec3, Vec4};
use rustc_hash::FxHashMap;

/// At most so many buffers of one type are kept.
const KEPT: usize = 8;

/// Columns whose contents do not matter, by type.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    free: FxHashMap<Type, Vec<Column>>,
}

impl Buffers {
    /// Takes a column that is not needed any more.
    pub(crate) fn give(&mut self, column: Column) {
        if !matches!(column.ty().kind(), Kind::Lanes(..)) {
            return;
        }
        let free = self.free.entry(column.ty()).or_default();
        if free.len() < KEPT {
            free.push(column);
        }
    }

    /// A column that was given back, of any length.
    pub(crate) fn take(&mut self, ty: Type) -> Option<Column> {
        self.free.get_mut(&ty)?.pop()
    }

    /// A column of `n` elements that nobody shares, its contents arbitrary; for types of lanes.
    pub(crate) fn column(&mut self, ty: Type, n: usize) -> Column {
        macro_rules! sized {
            ($($rust:ty),*) => {$(
                if ty == <$rust>::ty() {
                    return match self.take(ty).map(Column::try_into_vec::<$rust>) {
                        Some(Ok(mut buffer)) if buffer.capacity() >= n => {
                            buffer.resize(n, <$rust>::default_value());
                            Column::from_vec(buffer)
                        }
                        Some(_) | None => Column::from_vec(zeroed_vec::<$rust>(n)),
                    };
                }
            )*};
        }
        sized!(f32, Vec3, i32, bool, f64, i64, Vec2, Vec4, Color, Quat, Mat4);
        Column::filled(&ty.default_value(), n)
    }
}
