//! Sockets that many numeric nodes share: which types they take, and their usual layout.

use std::sync::Arc;

use millstream_base::{Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::{Among, Kernel, NodeDef, Settings, SocketType};

/// The generic of a node that has one.
pub(crate) const T: SocketType = SocketType::Generic(0);

/// Whatever can be added.
pub(crate) const NUMBERS: Among =
    Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// Whatever has fractions.
pub(crate) const FLOATS: Among =
    Among::These(&[Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// Whatever is made of numbers; vectors first, which literals are unless something says else.
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

/// Single numbers, which have an order.
pub(crate) const ORDERED: Among = Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64]);

/// Whole numbers.
pub(crate) const INTEGERS: Among = Among::These(&[Type::I32, Type::I64]);

/// An input of a node of one generic: name, number it has when nothing is given, manual line.
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

/// The meaning of one lane of the output, made for the settings: takes the lane type of the
/// output and that lane of each input, lane 0 of inputs that have only one.
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
