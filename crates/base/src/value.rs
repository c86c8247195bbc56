//! Values of any type; the submodules have their types, columns, ragged lists and tables.

use std::any::Any;
use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use crate::lane::Lane;
use crate::same::{Same, bits_f32, bits_f64};
use crate::value::column::Column;
use crate::value::image::Image;
use crate::value::table::Table;
use crate::value::types::{Type, ValueType};
use crate::vector::{Color, Mat4, Quat, Vec2, Vec3, Vec4};

pub mod column;
pub mod derived;
pub mod image;
pub mod one_nan;
pub mod ragged;
pub mod table;
pub mod types;

/// One value. Cloning is cheap: large contents are shared.
#[derive(Clone)]
pub enum Value {
    /// `bool`
    Bool(bool),
    /// `i32`
    I32(i32),
    /// `i64`
    I64(i64),
    /// `f32`
    F32(f32),
    /// `f64`
    F64(f64),
    /// `vec2`
    Vec2(Vec2),
    /// `vec3`
    Vec3(Vec3),
    /// `vec4`
    Vec4(Vec4),
    /// `quat`
    Quat(Quat),
    /// `color`
    Color(Color),
    /// `mat4`
    Mat4(Arc<Mat4>),
    /// `string`
    String(Arc<str>),
    /// `list<T>`: the elements as a column of T
    List(Column),
    /// A type of the embedding program.
    Opaque(Opaque),
}

/// A value of a Rust type that the embedding program registered.
#[derive(Clone)]
pub struct Opaque(Arc<dyn OpaqueData>);

/// A value type behind a pointer.
trait OpaqueData: Send + Sync {
    fn ty(&self) -> Type;
    fn any(&self) -> &dyn Any;
}

impl<T: ValueType> OpaqueData for T {
    fn ty(&self) -> Type {
        T::ty()
    }
    fn any(&self) -> &dyn Any {
        self
    }
}

impl Opaque {
    /// Wraps a value.
    pub fn new<T: ValueType>(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// The value, if it is of this type.
    pub fn get<T: ValueType>(&self) -> Option<&T> {
        self.any().downcast_ref()
    }

    /// The type.
    pub fn ty(&self) -> Type {
        (*self.0).ty()
    }

    /// Size in bytes: for the engine's own types, of their contents; for other types, of the value
    /// itself.
    fn bytes(&self) -> usize {
        let table = self.get().map(Table::bytes);
        table.or_else(|| self.get().map(Image::bytes)).unwrap_or(self.ty().size())
    }

    pub(crate) fn any(&self) -> &dyn Any {
        (*self.0).any()
    }

    pub(crate) fn is_same_allocation(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Value {
    /// Whether two values are the same by identity: large contents by pointer, small values by
    /// bits.
    pub fn is_same_handle(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mat4(a), Self::Mat4(b)) => Arc::ptr_eq(a, b),
            (Self::String(a), Self::String(b)) => Arc::ptr_eq(a, b),
            (Self::List(a), Self::List(b)) => a.is_same_buffer(b),
            (Self::Opaque(a), Self::Opaque(b)) => a.is_same_allocation(b),
            _ => self.same(other),
        }
    }

    /// The type.
    pub fn ty(&self) -> Type {
        match self {
            Self::Bool(_) => Type::BOOL,
            Self::I32(_) => Type::I32,
            Self::I64(_) => Type::I64,
            Self::F32(_) => Type::F32,
            Self::F64(_) => Type::F64,
            Self::Vec2(_) => Type::VEC2,
            Self::Vec3(_) => Type::VEC3,
            Self::Vec4(_) => Type::VEC4,
            Self::Quat(_) => Type::QUAT,
            Self::Color(_) => Type::COLOR,
            Self::Mat4(_) => Type::MAT4,
            Self::String(_) => Type::STRING,
            Self::List(elements) => {
                elements.ty().list().expect("the type of a column can be nested in a list")
            }
            Self::Opaque(opaque) => opaque.ty(),
        }
    }

    /// The bits of lane `i` as the scalar interpreter takes them (`bool` as 0 or 1, `i32` and `f32`
    /// in the low half); `None` if the value has no such lane.
    #[inline]
    pub fn lane(&self, i: usize) -> Option<u64> {
        let of = |lanes: &[f32]| lanes.get(i).map(|x| x.to_bits() as u64);
        match self {
            Self::Bool(x) if i == 0 => Some(*x as u64),
            Self::I32(x) if i == 0 => Some(*x as u32 as u64),
            Self::I64(x) if i == 0 => Some(*x as u64),
            Self::F32(x) if i == 0 => Some(x.to_bits() as u64),
            Self::F64(x) if i == 0 => Some(x.to_bits()),
            Self::Bool(_) | Self::I32(_) | Self::I64(_) | Self::F32(_) | Self::F64(_) => None,
            Self::Vec2(v) => of(&v.0),
            Self::Vec3(v) => of(&v.0),
            Self::Vec4(v) => of(&v.0),
            Self::Quat(v) => of(&v.0),
            Self::Color(v) => of(&v.0),
            Self::Mat4(v) => of(&v.0),
            Self::String(_) | Self::List(_) | Self::Opaque(_) => None,
        }
    }

    /// The value of type `ty` with these lanes; `None` if the type has no lanes or a different
    /// number of them. Inverse of [`lane`](Self::lane).
    #[inline]
    pub fn from_lanes(ty: Type, lanes: &[u64]) -> Option<Self> {
        let (lane, n) = ty.lanes()?;
        if lanes.len() != n as usize {
            return None;
        }
        if n == 1 {
            return Some(match lane {
                Lane::Bool => Self::Bool(lanes[0] != 0),
                Lane::I32 => Self::I32(lanes[0] as i32),
                Lane::I64 => Self::I64(lanes[0] as i64),
                Lane::F32 => Self::F32(f32::from_bits(lanes[0] as u32)),
                Lane::F64 => Self::F64(f64::from_bits(lanes[0])),
            });
        }
        Self::from_f32_lanes(ty, |i| f32::from_bits(lanes[i] as u32))
    }

    fn from_f32_lanes(ty: Type, at: impl Fn(usize) -> f32) -> Option<Self> {
        if ty == Type::VEC2 {
            Some(Self::Vec2(Vec2(std::array::from_fn(at))))
        } else if ty == Type::VEC3 {
            Some(Self::Vec3(Vec3(std::array::from_fn(at))))
        } else if ty == Type::VEC4 {
            Some(Self::Vec4(Vec4(std::array::from_fn(at))))
        } else if ty == Type::QUAT {
            Some(Self::Quat(Quat(std::array::from_fn(at))))
        } else if ty == Type::COLOR {
            Some(Self::Color(Color(std::array::from_fn(at))))
        } else if ty == Type::MAT4 {
            Some(Self::Mat4(Arc::new(Mat4(std::array::from_fn(at)))))
        } else {
            None
        }
    }

    /// The value as a Rust type; `None` if it has another type.
    pub fn get<T: ValueType>(&self) -> Option<T> {
        T::from_value(self)
    }

    /// Heap bytes that the value holds, including shared ones.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Mat4(_) => size_of::<Mat4>(),
            Self::String(text) => text.len(),
            Self::List(elements) => elements.bytes(),
            Self::Opaque(opaque) => opaque.bytes(),
            Self::Bool(_)
            | Self::I32(_)
            | Self::I64(_)
            | Self::F32(_)
            | Self::F64(_)
            | Self::Vec2(_)
            | Self::Vec3(_)
            | Self::Vec4(_)
            | Self::Quat(_)
            | Self::Color(_) => 0,
        }
    }
}

impl Same for Value {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::I32(a), Self::I32(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::F32(a), Self::F32(b)) => bits_f32(*a) == bits_f32(*b),
            (Self::F64(a), Self::F64(b)) => bits_f64(*a) == bits_f64(*b),
            (Self::Vec2(a), Self::Vec2(b)) => a.same(b),
            (Self::Vec3(a), Self::Vec3(b)) => a.same(b),
            (Self::Vec4(a), Self::Vec4(b)) => a.same(b),
            (Self::Quat(a), Self::Quat(b)) => a.same(b),
            (Self::Color(a), Self::Color(b)) => a.same(b),
            (Self::Mat4(a), Self::Mat4(b)) => a.same(b),
            (Self::String(a), Self::String(b)) => a == b,
            (Self::List(a), Self::List(b)) => a.same(b),
            (Self::Opaque(a), Self::Opaque(b)) => a.same_opaque(b),
            _ => false,
        }
    }

    fn feed(&self, state: &mut dyn Hasher) {
        match self {
            Self::Bool(x) => x.feed(state),
            Self::I32(x) => x.feed(state),
            Self::I64(x) => x.feed(state),
            Self::F32(x) => x.feed(state),
            Self::F64(x) => x.feed(state),
            Self::Vec2(x) => x.feed(state),
            Self::Vec3(x) => x.feed(state),
            Self::Vec4(x) => x.feed(state),
            Self::Quat(x) => x.feed(state),
            Self::Color(x) => x.feed(state),
            Self::Mat4(x) => x.feed(state),
            Self::String(x) => x.feed(state),
            Self::List(x) => x.feed(state),
            Self::Opaque(x) => x.ty().feed_any(x.any(), state),
        }
    }
}

impl<T: ValueType> From<T> for Value {
    fn from(value: T) -> Self {
        value.into_value()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({self})", self.ty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_go_out_and_back() {
        for value in [
            Value::Bool(true),
            Value::I32(-3),
            Value::I64(i64::MIN),
            Value::F32(-0.0),
            Value::F64(1e300),
            Value::Vec3(Vec3([1.0, f32::INFINITY, -2.5])),
            Value::Mat4(Arc::new(Mat4::default())),
        ] {
            let (_, n) = value.ty().lanes().expect("made of lanes");
            let lanes: Vec<u64> =
                (0..n as usize).map(|i| value.lane(i).expect("has the lane")).collect();
            let back = Value::from_lanes(value.ty(), &lanes).expect("same shape");
            assert!(back.same(&value), "{back} is not {value}");
            assert_eq!(value.lane(n as usize), None);
        }
    }

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value>(), 24);
    }
}
