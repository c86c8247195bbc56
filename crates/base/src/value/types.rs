//! Run-time types: handles compared by pointer, and the trait of the Rust types that have one.
//!
//! The engine's types are constants (`Type::F32`), list types are interned on demand, and an
//! embedding program turns any Rust type into a value type with one line of
//! [`value_type!`](crate::value_type).

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use crate::lane::Lane;
use crate::same::Same;
use crate::value::column::Column;
use crate::value::{Opaque, Value};
use crate::vector::{Color, Mat4, Quat, Vec2, Vec3, Vec4};

/// A run-time type. Two handles are equal if they are the same pointer.
#[derive(Clone, Copy)]
pub struct Type(&'static TypeInfo);

/// The data behind a [`Type`].
pub struct TypeInfo {
    name: Cow<'static, str>,
    size: usize,
    align: usize,
    kind: Kind,
    table: Table,
}

/// The family of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `n` lanes of one scalar type, stored as an array.
    Lanes(Lane, u8),
    /// A string.
    String,
    /// A list of another type.
    List(Type),
    /// A Rust type of the embedding program.
    Opaque,
}

/// The operations that need the Rust type.
struct Table {
    default: fn() -> Value,
    collect: fn(&mut dyn Iterator<Item = Value>) -> Option<Column>,
    same: fn(&dyn Any, &dyn Any) -> bool,
    feed: fn(&dyn Any, &mut dyn Hasher),
}

impl Table {
    /// The operations of a type that no Rust type stands for by itself.
    const fn none() -> Self {
        Self {
            default: || Value::Bool(false),
            collect: |_| None,
            same: |_, _| false,
            feed: |_, _| {},
        }
    }
}

/// A Rust type that can flow along links.
pub trait ValueType: Clone + Send + Sync + Sized + 'static {
    /// The handle of the type.
    fn ty() -> Type;
    /// Wraps a value.
    fn into_value(self) -> Value;
    /// Unwraps a value; `None` if it is of another type.
    fn from_value(value: &Value) -> Option<Self>;
    /// The value of an unset input.
    fn default_value() -> Self;
    /// Whether two values are the same, see [`Same`].
    fn same_value(&self, other: &Self) -> bool;
    /// Feeds the value to a hasher, consistently with [`same_value`](Self::same_value).
    fn feed_value(&self, state: &mut dyn Hasher);
}

impl TypeInfo {
    /// The information about a type of the embedding program; used by `value_type!`.
    pub const fn opaque<T: ValueType>(name: &'static str) -> Self {
        Self::new::<T>(name, Kind::Opaque)
    }

    const fn new<T: ValueType>(name: &'static str, kind: Kind) -> Self {
        Self {
            name: Cow::Borrowed(name),
            size: size_of::<T>(),
            align: align_of::<T>(),
            kind,
            table: Table {
                default: || T::default_value().into_value(),
                collect: |values| {
                    let values: Option<Vec<T>> = values.map(|v| T::from_value(&v)).collect();
                    values.map(Column::from_vec)
                },
                same: |a, b| match (a.downcast_ref::<T>(), b.downcast_ref::<T>()) {
                    (Some(a), Some(b)) => a.same_value(b),
                    _ => false,
                },
                feed: |value, state| {
                    if let Some(value) = value.downcast_ref::<T>() {
                        value.feed_value(state);
                    }
                },
            },
        }
    }
}

static BOOL: TypeInfo = TypeInfo::new::<bool>("bool", Kind::Lanes(Lane::Bool, 1));
static I32: TypeInfo = TypeInfo::new::<i32>("i32", Kind::Lanes(Lane::I32, 1));
static I64: TypeInfo = TypeInfo::new::<i64>("i64", Kind::Lanes(Lane::I64, 1));
static F32: TypeInfo = TypeInfo::new::<f32>("f32", Kind::Lanes(Lane::F32, 1));
static F64: TypeInfo = TypeInfo::new::<f64>("f64", Kind::Lanes(Lane::F64, 1));
static VEC2: TypeInfo = TypeInfo::new::<Vec2>("vec2", Kind::Lanes(Lane::F32, 2));
static VEC3: TypeInfo = TypeInfo::new::<Vec3>("vec3", Kind::Lanes(Lane::F32, 3));
static VEC4: TypeInfo = TypeInfo::new::<Vec4>("vec4", Kind::Lanes(Lane::F32, 4));
static QUAT: TypeInfo = TypeInfo::new::<Quat>("quat", Kind::Lanes(Lane::F32, 4));
static COLOR: TypeInfo = TypeInfo::new::<Color>("color", Kind::Lanes(Lane::F32, 4));
static MAT4: TypeInfo = TypeInfo::new::<Mat4>("mat4", Kind::Lanes(Lane::F32, 16));
static STRING: TypeInfo = TypeInfo::new::<Arc<str>>("string", Kind::String);

impl Type {
    /// True or false.
    pub const BOOL: Self = Self(&BOOL);
    /// 32-bit signed integer.
    pub const I32: Self = Self(&I32);
    /// 64-bit signed integer.
    pub const I64: Self = Self(&I64);
    /// 32-bit float.
    pub const F32: Self = Self(&F32);
    /// 64-bit float.
    pub const F64: Self = Self(&F64);
    /// Two `f32`.
    pub const VEC2: Self = Self(&VEC2);
    /// Three `f32`.
    pub const VEC3: Self = Self(&VEC3);
    /// Four `f32`.
    pub const VEC4: Self = Self(&VEC4);
    /// A rotation.
    pub const QUAT: Self = Self(&QUAT);
    /// Linear color with alpha.
    pub const COLOR: Self = Self(&COLOR);
    /// A 4 by 4 matrix.
    pub const MAT4: Self = Self(&MAT4);
    /// A string.
    pub const STRING: Self = Self(&STRING);

    /// The types that every registry knows.
    pub const BUILT_IN: [Self; 12] = [
        Self::BOOL,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
        Self::VEC2,
        Self::VEC3,
        Self::VEC4,
        Self::QUAT,
        Self::COLOR,
        Self::MAT4,
        Self::STRING,
    ];

    /// The types that a generic numeric socket chooses from; the first match wins.
    pub const NUMERIC: [Self; 8] = [
        Self::BOOL,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
        Self::VEC2,
        Self::VEC3,
        Self::VEC4,
    ];

    /// The maximum nesting of lists, so that a document cannot create types without bound.
    pub const MAX_LIST_DEPTH: usize = 4;

    /// The handle of a type's information; used by `value_type!`.
    pub const fn from_info(info: &'static TypeInfo) -> Self {
        Self(info)
    }

    /// The handle of a Rust type.
    pub fn of<T: ValueType>() -> Self {
        T::ty()
    }

    /// The scalar type of one lane.
    pub const fn of_lane(lane: Lane) -> Self {
        match lane {
            Lane::Bool => Self::BOOL,
            Lane::I32 => Self::I32,
            Lane::I64 => Self::I64,
            Lane::F32 => Self::F32,
            Lane::F64 => Self::F64,
        }
    }

    /// The type of lists of this type; `None` past [`MAX_LIST_DEPTH`](Self::MAX_LIST_DEPTH).
    pub fn list(self) -> Option<Self> {
        // The lock guards a table that only grows. It is read when a list type is named, never
        // during an evaluation.
        static LISTS: Mutex<Option<HashMap<Type, Type>>> = Mutex::new(None);
        if self.list_depth() >= Self::MAX_LIST_DEPTH {
            return None;
        }
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        let lists = lists.get_or_insert_with(HashMap::new);
        Some(*lists.entry(self).or_insert_with(|| {
            Self(Box::leak(Box::new(TypeInfo {
                name: Cow::Owned(format!("list<{}>", self.name())),
                size: size_of::<Column>(),
                align: align_of::<Column>(),
                kind: Kind::List(self),
                table: Table::none(),
            })))
        }))
    }

    /// A new type that exists only during compilation, such as the type of a closure; no value has it.
    /// The memory of the type is never freed, so callers create each type once.
    pub fn of_compiler(name: String) -> Self {
        Self(Box::leak(Box::new(TypeInfo {
            name: Cow::Owned(name),
            size: 0,
            align: 1,
            kind: Kind::Opaque,
            table: Table::none(),
        })))
    }

    /// The type with this name, if its values have a notation: a built-in type or a list of such
    /// types.
    pub fn written(name: &str) -> Option<Self> {
        Self::named(name, |name| Self::BUILT_IN.into_iter().find(|ty| ty.name() == name))
    }

    /// The type with this name, or a list of it; `element` looks up types that are not lists.
    pub fn named(name: &str, element: impl FnOnce(&str) -> Option<Self>) -> Option<Self> {
        let (mut inner, mut depth) = (name, 0);
        while let Some(item) = inner.strip_prefix("list<").and_then(|s| s.strip_suffix('>')) {
            (inner, depth) = (item, depth + 1);
            if depth > Self::MAX_LIST_DEPTH {
                return None;
            }
        }
        (0..depth).try_fold(element(inner)?, |ty, _| ty.list())
    }

    fn list_depth(self) -> usize {
        let mut depth = 0;
        let mut ty = self;
        while let Kind::List(element) = ty.0.kind {
            depth += 1;
            ty = element;
        }
        depth
    }

    /// The name in documents: `f32`, `list<vec3>`.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// The name with its article, for sentences: `an f32`, `a vec3`.
    pub fn with_article(self) -> String {
        let mut letters = self.name().chars();
        let (first, second) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
        // The letter F is pronounced with a leading vowel.
        let is_vowel =
            matches!(first, 'a' | 'e' | 'i' | 'o' | 'u') || first == 'f' && second.is_ascii_digit();
        format!("{} {}", if is_vowel { "an" } else { "a" }, self.name())
    }

    /// The family and its parameters.
    pub fn kind(self) -> Kind {
        self.0.kind
    }

    /// Bytes of one value in a column.
    pub fn size(self) -> usize {
        self.0.size
    }

    /// Alignment of one value in a column, in bytes.
    pub fn align(self) -> usize {
        self.0.align
    }

    /// Lane type and number of lanes, for types made of lanes.
    pub fn lanes(self) -> Option<(Lane, u8)> {
        match self.0.kind {
            Kind::Lanes(lane, n) => Some((lane, n)),
            Kind::String | Kind::List(_) | Kind::Opaque => None,
        }
    }

    /// The type of the elements, for lists.
    pub fn element(self) -> Option<Self> {
        match self.0.kind {
            Kind::List(element) => Some(element),
            Kind::Lanes(..) | Kind::String | Kind::Opaque => None,
        }
    }

    /// The value of an unset input: zero, the empty string, the empty list.
    pub fn default_value(self) -> Value {
        match self.0.kind {
            Kind::List(element) => Value::List(Column::empty(element)),
            Kind::Lanes(..) | Kind::String | Kind::Opaque => (self.0.table.default)(),
        }
    }

    /// A column of these values; `None` if one has another type.
    pub fn collect(self, values: &mut dyn Iterator<Item = Value>) -> Option<Column> {
        match self.0.kind {
            Kind::List(_) => {
                crate::value::ragged::Ragged::collect(self, values).map(Column::from_ragged)
            }
            Kind::Lanes(..) | Kind::String | Kind::Opaque => (self.0.table.collect)(values),
        }
    }

    pub(crate) fn same_any(self, a: &dyn Any, b: &dyn Any) -> bool {
        (self.0.table.same)(a, b)
    }

    pub(crate) fn feed_any(self, value: &dyn Any, state: &mut dyn Hasher) {
        (self.0.table.feed)(value, state);
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Type {}
impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}
impl PartialOrd for Type {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Type {
    /// By name, so that sorted output does not depend on addresses; types with equal names by
    /// address.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name()
            .cmp(other.name())
            .then_with(|| std::ptr::from_ref(self.0).cmp(&std::ptr::from_ref(other.0)))
    }
}
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! built_in {
    ($($rust:ty => $variant:ident, $ty:ident;)*) => {$(
        impl ValueType for $rust {
            fn ty() -> Type {
                Type::$ty
            }
            fn into_value(self) -> Value {
                Value::$variant(self)
            }
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant(x) => Some(x.clone()),
                    _ => None,
                }
            }
            fn default_value() -> Self {
                Self::default()
            }
            fn same_value(&self, other: &Self) -> bool {
                self.same(other)
            }
            fn feed_value(&self, state: &mut dyn Hasher) {
                self.feed(state);
            }
        }
    )*};
}
built_in! {
    bool => Bool, BOOL;
    i32 => I32, I32;
    i64 => I64, I64;
    f32 => F32, F32;
    f64 => F64, F64;
    Vec2 => Vec2, VEC2;
    Vec3 => Vec3, VEC3;
    Vec4 => Vec4, VEC4;
    Quat => Quat, QUAT;
    Color => Color, COLOR;
    Arc<str> => String, STRING;
}

impl ValueType for Mat4 {
    fn ty() -> Type {
        Type::MAT4
    }
    fn into_value(self) -> Value {
        Value::Mat4(Arc::new(self))
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Mat4(matrix) => Some(**matrix),
            _ => None,
        }
    }
    fn default_value() -> Self {
        Self::default()
    }
    fn same_value(&self, other: &Self) -> bool {
        self.same(other)
    }
    fn feed_value(&self, state: &mut dyn Hasher) {
        self.feed(state);
    }
}

/// Makes a Rust type a value type: `value_type!(Money, "money");`
///
/// The type must be `Clone + Send + Sync + Default`. Two values are equal only if they share an
/// allocation; with `value_type!(Money, "money", eq);` the type's own `PartialEq` and `Hash`
/// decide. Values whose comparison panics are not equal.
#[macro_export]
macro_rules! value_type {
    ($rust:ty, $name:literal) => {
        $crate::value_type!(@ $rust, $name, |a: &$rust, b: &$rust| ::std::ptr::eq(a, b),
            |value: &$rust, state: &mut dyn ::std::hash::Hasher| {
                state.write_usize(::std::ptr::from_ref(value) as usize);
            });
    };
    ($rust:ty, $name:literal, eq) => {
        $crate::value_type!(@ $rust, $name,
            |a: &$rust, b: &$rust| $crate::catch_panic(|| a == b).unwrap_or(false),
            |value: &$rust, mut state: &mut dyn ::std::hash::Hasher| {
                // Values whose hashing panics share a hash, which is permitted.
                let _ = $crate::catch_panic(|| ::std::hash::Hash::hash(value, &mut state));
            });
    };
    (@ $rust:ty, $name:literal, $same:expr, $feed:expr) => {
        impl $crate::types::ValueType for $rust {
            fn ty() -> $crate::types::Type {
                static INFO: $crate::types::TypeInfo =
                    $crate::types::TypeInfo::opaque::<$rust>($name);
                $crate::types::Type::from_info(&INFO)
            }
            fn into_value(self) -> $crate::value::Value {
                $crate::value::Value::Opaque($crate::value::Opaque::new(self))
            }
            fn from_value(value: &$crate::value::Value) -> Option<Self> {
                match value {
                    $crate::value::Value::Opaque(opaque) => opaque.get::<Self>().cloned(),
                    _ => None,
                }
            }
            fn default_value() -> Self {
                <Self as ::std::default::Default>::default()
            }
            fn same_value(&self, other: &Self) -> bool {
                ($same)(self, other)
            }
            fn feed_value(&self, state: &mut dyn ::std::hash::Hasher) {
                ($feed)(self, state);
            }
        }
    };
}

impl Opaque {
    pub(crate) fn same_opaque(&self, other: &Self) -> bool {
        self.ty() == other.ty()
            && (self.is_same_allocation(other) || self.ty().same_any(self.any(), other.any()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default, PartialEq, Hash)]
    struct Money(i64);
    value_type!(Money, "money", eq);

    #[test]
    fn list_types_are_interned_and_bounded() {
        let floats = Type::F32.list().expect("one level");
        assert_eq!(Some(floats), Type::F32.list());
        assert_eq!(floats.name(), "list<f32>");
        let mut ty = Type::F32;
        for _ in 0..Type::MAX_LIST_DEPTH {
            ty = ty.list().expect("within the depth");
        }
        assert_eq!(ty.list(), None);
    }

    #[test]
    fn a_type_of_the_embedding_program_is_a_line() {
        let ty = Type::of::<Money>();
        assert_eq!((ty.name(), ty.size()), ("money", 8));
        let column = Column::from_vec(vec![Money(3), Money(4)]);
        assert!(column.get(1).same(&Money(4).into_value()));
        assert!(!column.get(0).same(&Money(4).into_value()));
    }
}
