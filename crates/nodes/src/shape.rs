//! Sockets that many numeric nodes share: the types they take, and their usual layout.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::node_def::KernelSpec;
use millstream_node::settings::SettingError;
use millstream_node::{Among, Kernel, NodeDef, Settings, Signature, SocketType};

/// The first generic of a node.
pub(crate) const T: SocketType = SocketType::Generic(0);

/// Types that can be added.
pub(crate) const NUMBERS: Among =
    Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// Types with fractions.
pub(crate) const FLOATS: Among =
    Among::These(&[Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// Types that consist of numbers; vectors come first, because literals are vectors unless stated
/// otherwise.
pub(crate) const MADE_OF_NUMBERS: Among = Among::These(&[
    Type::BOOL,
    Type::I32,
    Type::I64,
    Type::F32,
    Type::F64,
    Type::VEC2,
    Type::VEC3,
    Type::VEC4,
    Type::COLOR,
    Type::QUAT,
    Type::MAT4,
]);

/// Single numbers, which are ordered.
pub(crate) const ORDERED: Among = Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64]);

/// Integers.
pub(crate) const INTEGERS: Among = Among::These(&[Type::I32, Type::I64]);

/// An expression for the Rust type `$T` that corresponds to a type, which is one of a group.
macro_rules! for_type {
    (numbers $ty:expr, $T:ident => $of:expr) => {
        for_type!(@ $ty, $T => $of, [
            i32, i64, f32, f64,
            millstream_base::Vec2, millstream_base::Vec3, millstream_base::Vec4
        ])
    };
    (floats $ty:expr, $T:ident => $of:expr) => {
        for_type!(@ $ty, $T => $of, [
            f32, f64, millstream_base::Vec2, millstream_base::Vec3, millstream_base::Vec4
        ])
    };
    (ordered $ty:expr, $T:ident => $of:expr) => {
        for_type!(@ $ty, $T => $of, [i32, i64, f32, f64])
    };
    (real $ty:expr, $T:ident => $of:expr) => { for_type!(@ $ty, $T => $of, [f32, f64]) };
    (sortable $ty:expr, $T:ident => $of:expr) => {
        for_type!(@ $ty, $T => $of, [bool, i32, i64, f32, f64, std::sync::Arc<str>])
    };
    (built_in $ty:expr, $T:ident => $of:expr, $other:expr) => {
        for_type!(@ $ty, $T => $of, $other, [
            bool, i32, i64, f32, f64,
            millstream_base::Vec2, millstream_base::Vec3, millstream_base::Vec4,
            millstream_base::Quat, millstream_base::Color, millstream_base::Mat4,
            std::sync::Arc<str>
        ])
    };
    (@ $ty:expr, $T:ident => $of:expr, [$($rust:ty),*]) => {
        for_type!(@ $ty, $T => $of, panic!("the socket does not take this type"), [$($rust),*])
    };
    (@ $ty:expr, $T:ident => $of:expr, $other:expr, [$($rust:ty),*]) => {{
        let ty = $ty;
        $(if ty == millstream_base::Type::of::<$rust>() {
            type $T = $rust;
            $of
        } else)* {
            $other
        }
    }};
}
pub(crate) use for_type;

/// An enumeration of the choices of a setting: a row has the name in documents and the line in the
/// manual.
macro_rules! choices {
    (
        $(#[$doc:meta])*
        $vis:vis enum $Choices:ident { $($Choice:ident = $name:literal: $about:literal,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Choices { $($Choice),+ }

        impl $Choices {
            /// The name of each choice, with its line in the manual.
            $vis const ALL: &'static [(&'static str, &'static str)] = &[$(($name, $about)),+];

            /// The choice of this name.
            $vis fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$Choice,)+
                    _ => unreachable!("settings have one of the choices"),
                }
            }
        }
    };
}
pub(crate) use choices;

/// The type of lists of a simple type.
pub(crate) fn list_of(ty: Type) -> Type {
    ty.list().expect("lists of simple types exist")
}

/// The sockets of a definition that was made only for them.
pub fn sockets_of(def: &NodeDef) -> Signature {
    def.fixed_signature().expect("the sockets do not depend on settings").clone()
}

/// An input of a node with one generic: name, default, description.
pub(crate) type Input = (&'static str, f64, &'static str);

/// A node type whose inputs and output `value` are all of one generic type.
pub(crate) fn of_one_type(
    name: &'static str,
    summary: &'static str,
    among: Among,
    inputs: &[Input],
) -> NodeDef {
    inputs_of_one_type(name, summary, among, inputs).output("value", T, "")
}

/// A node type whose inputs are all of one generic type, without an output yet.
pub(crate) fn inputs_of_one_type(
    name: &'static str,
    summary: &'static str,
    among: Among,
    inputs: &[Input],
) -> NodeDef {
    let def = NodeDef::new(name, summary).generic("T", among);
    inputs.iter().fold(def, |def, (name, default, about)| def.input_or(*name, T, *default, *about))
}

/// Makes kernels that are forms, from the settings and the lanes of the inputs.
pub fn form_by_settings<F>(
    form: F,
) -> impl Fn(&KernelSpec<'_>) -> Result<Kernel, SettingError> + Send + Sync + 'static
where
    F: for<'b> Fn(&Settings, &[Vec<Val<'b>>]) -> Vec<Vec<Val<'b>>> + Send + Sync + 'static,
{
    move |parts| Ok(parts.form(&|_, inputs| form(parts.settings, inputs)))
}

/// Makes kernels whose form defines one lane of the output from the settings. `lane` takes the lane
/// type of the output and that lane of each input, or lane 0 of inputs that have only one.
pub fn lanewise_by_settings<F>(
    lane: F,
) -> impl Fn(&KernelSpec<'_>) -> Result<Kernel, SettingError> + Send + Sync + 'static
where
    F: for<'b> Fn(&Settings, Lane, &[Val<'b>]) -> Val<'b> + Send + Sync + 'static,
{
    move |parts| {
        let (to, _) = parts.outputs[0].ty.lanes().expect("the output is made of lanes");
        Ok(parts.lanewise(&|_, args| lane(parts.settings, to, args)))
    }
}
