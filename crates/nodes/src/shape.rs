//! Sockets that many numeric nodes share: the types they take, and their usual layout.

use std::sync::Arc;

use millstream_base::{Lane, Type};
use millstream_form::{FormBuilder, Val};
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

/// The type of lists of a simple type.
pub(crate) fn list_of(ty: Type) -> Type {
    ty.list().expect("lists of simple types exist")
}

/// The sockets of a definition that was made only for them.
pub(crate) fn sockets_of(def: &NodeDef) -> Signature {
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
    inputs
        .iter()
        .fold(def, |def, (name, default, about)| def.input(*name, T, *about).or_number(*default))
}

/// Defines one lane of the output from the settings. `lane` takes the lane type of the output and
/// that lane of each input, or lane 0 of inputs that have only one.
pub fn lanewise_by_settings<F>(def: NodeDef, lane: F) -> NodeDef
where
    F: for<'b> Fn(&Settings, &'b FormBuilder, Lane, &[Val<'b>]) -> Val<'b> + Send + Sync + 'static,
{
    def.kernel(move |parts| {
        let made_of_lanes = "sockets of a kernel form are made of lanes";
        let b = FormBuilder::new();
        let mut inputs: Vec<Vec<Val<'_>>> = Vec::with_capacity(parts.inputs.len());
        for input in parts.inputs {
            let (of, n) = input.ty.lanes().expect(made_of_lanes);
            inputs.push((0..n).map(|_| b.param(of)).collect());
        }
        let (to, n) = parts.outputs[0].ty.lanes().expect(made_of_lanes);
        let each = |i: usize| {
            let args: Vec<Val<'_>> =
                inputs.iter().map(|x| if x.len() == 1 { x[0] } else { x[i] }).collect();
            lane(parts.settings, &b, to, &args)
        };
        let results: Vec<Val<'_>> = (0..n as usize).map(each).collect();
        Ok(Kernel::Form(Arc::new(b.finish(&results))))
    })
}
