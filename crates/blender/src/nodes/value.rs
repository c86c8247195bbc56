//! Values of a given type, and conversions.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::settings::SettingError;
use millstream_node::{Default, Kernel, NodeDef, Registry, SettingKind, SettingValue};

use super::cast_to_i32;
use millstream_nodes::kit::{form_by_settings, sockets_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(value());
    registry.register(to_integer());
    registry.register(average());
    registry.register(is_nonzero());
}

fn value() -> NodeDef {
    NodeDef::new("blender.value", "A value of a given type")
        .details("Stands for Blender's input nodes and for literals of typed sockets.")
        .setting(
            "type",
            SettingKind::Type,
            Some(SettingValue::Type(Type::F32)),
            "type of the value",
        )
        .sockets_by_settings(|settings| {
            let ty = settings.ty("type");
            let ty = ty.ok_or_else(|| SettingError::refused("type", "is not a type"))?;
            let sockets = NodeDef::new("", "")
                .input_or("value", ty, Default::Zero, "the value")
                .output("value", ty, "");
            Ok(sockets_of(&sockets))
        })
        .kernel(|_| Ok(Kernel::Pass))
}

const ROUNDINGS: &[(&str, &str)] = &[
    ("truncate", "toward zero"),
    ("round", "to nearest, ties away from zero"),
    ("floor", "down"),
    ("ceiling", "up"),
];

fn to_integer() -> NodeDef {
    NodeDef::new("blender.to_integer", "Converts a number to an integer")
        .details(
            "NaN, and numbers outside the range of `i32`, become the least integer, as in a cast \
             on processors.",
        )
        .choice("rounding", ROUNDINGS, "truncate", "rounding of fractions")
        .input_or("x", Type::F32, 0.0, "number to convert")
        .output("value", Type::I32, "")
        .kernel(form_by_settings(|settings, inputs| {
            let rounding: Arc<str> = settings.text("rounding").into();
            let x = inputs[0][0];
            let x = match &*rounding {
                "round" => x.round(),
                "floor" => x.floor(),
                "ceiling" => x.ceil(),
                _ => x,
            };
            vec![vec![cast_to_i32(x)]]
        }))
}

fn average() -> NodeDef {
    NodeDef::new("blender.average", "The mean of the components of a vector")
        .details("Blender's conversion from a vector to a number.")
        .input_or("vector", Type::VEC3, 0.0, "")
        .output("value", Type::F32, "mean of the components")
        .form(|_, inputs| {
            let v = &inputs[0];
            vec![vec![(v[0] + v[1] + v[2]) / 3.0]]
        })
}

fn is_nonzero() -> NodeDef {
    NodeDef::new("blender.is_nonzero", "Whether any component of a vector is not zero")
        .details("Blender's conversion from a vector to a boolean; NaN counts as zero.")
        .input_or("vector", Type::VEC3, 0.0, "")
        .output("value", Type::BOOL, "")
        .form(|_, inputs| {
            let each = inputs[0].iter().map(|x| x.abs().gt(0.0));
            vec![vec![each.reduce(|a, b| a | b).expect("vectors have components")]]
        })
}
