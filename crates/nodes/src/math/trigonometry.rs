//! Circular and hyperbolic functions, angles, constants. Angles are in radians.

use std::sync::Arc;

use millstream_base::Type;
use millstream_form::{FormBuilder, Val};
use millstream_node::{Kernel, NodeDef, Registry, SettingKind, SettingValue};
use millstream_node::{signature::OutputSocket, signature::Signature};

use crate::shape::{FLOATS, Input, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    circular(registry);
    inverse(registry);
    hyperbolic(registry);
    units(registry);
    constants(registry);
}

const ANGLE: [Input; 1] = [("x", 0.0, "an angle in radians")];

fn circular(registry: &mut Registry) {
    let edges = "The angle is in radians, of any size. NaN for infinities.";
    registry.register(
        of_one_type("math.sin", "The sine", FLOATS, &ANGLE)
            .details(edges)
            .lanewise(|_, x| x[0].sin()),
    );
    registry.register(
        of_one_type("math.cos", "The cosine", FLOATS, &ANGLE)
            .details(edges)
            .lanewise(|_, x| x[0].cos()),
    );
    registry.register(
        of_one_type("math.tan", "The tangent", FLOATS, &ANGLE)
            .details(format!("{edges} Never infinite: no float is exactly a quarter turn."))
            .lanewise(|_, x| x[0].tan()),
    );
}

fn inverse(registry: &mut Registry) {
    let x = [("x", 0.0, "the number")];
    registry.register(
        of_one_type("math.asin", "The angle with this sine", FLOATS, &x)
            .details("Radians, from -pi/2 to pi/2. NaN outside -1 to 1.")
            .lanewise(|_, x| x[0].asin()),
    );
    registry.register(
        of_one_type("math.acos", "The angle with this cosine", FLOATS, &x)
            .details("Radians, from 0 to pi. NaN outside -1 to 1.")
            .lanewise(|_, x| x[0].acos()),
    );
    registry.register(
        of_one_type("math.atan", "The angle with this tangent", FLOATS, &x)
            .details("Radians, from -pi/2 to pi/2, which infinities give.")
            .lanewise(|_, x| x[0].atan()),
    );
    registry.register(
        of_one_type(
            "math.atan2",
            "The angle of the point (x, y)",
            FLOATS,
            &[("y", 0.0, "the coordinate upwards"), ("x", 1.0, "the coordinate to the right")],
        )
        .details(
            "Radians from the x axis, from -pi to pi. At the origin 0, or pi if x is -0, with the \
             sign of y.",
        )
        .lanewise(|_, x| x[0].atan2(x[1])),
    );
}

fn hyperbolic(registry: &mut Registry) {
    let x = [("x", 0.0, "the number")];
    registry.register(
        of_one_type("math.sinh", "The hyperbolic sine", FLOATS, &x)
            .details("(e^x - e^-x) / 2; overflows to an infinity.")
            .lanewise(|_, x| x[0].sinh()),
    );
    registry.register(
        of_one_type("math.cosh", "The hyperbolic cosine", FLOATS, &x)
            .details("(e^x + e^-x) / 2; overflows to infinity.")
            .lanewise(|_, x| x[0].cosh()),
    );
    registry.register(
        of_one_type("math.tanh", "The hyperbolic tangent", FLOATS, &x)
            .details("From -1 to 1, which infinities give.")
            .lanewise(|_, x| x[0].tanh()),
    );
    registry.register(
        of_one_type("math.asinh", "The inverse of the hyperbolic sine", FLOATS, &x)
            .details("Infinities stay.")
            .lanewise(|_, x| x[0].asinh()),
    );
    registry.register(
        of_one_type(
            "math.acosh",
            "The inverse of the hyperbolic cosine",
            FLOATS,
            &[("x", 1.0, "the number")],
        )
        .details("Not negative. NaN below 1.")
        .lanewise(|_, x| x[0].acosh()),
    );
    registry.register(
        of_one_type("math.atanh", "The inverse of the hyperbolic tangent", FLOATS, &x)
            .details("Infinite at -1 and 1, NaN outside.")
            .lanewise(|_, x| x[0].atanh()),
    );
}

/// Radians as degrees.
pub(crate) fn degrees(x: Val<'_>) -> Val<'_> {
    x * (180.0 / std::f64::consts::PI)
}

/// Degrees as radians.
pub(crate) fn radians(x: Val<'_>) -> Val<'_> {
    x * (std::f64::consts::PI / 180.0)
}

fn units(registry: &mut Registry) {
    registry.register(
        of_one_type("math.degrees", "Radians as degrees", FLOATS, &ANGLE)
            .details("x times 180 / pi, that number rounded to the type.")
            .lanewise(|_, x| degrees(x[0])),
    );
    registry.register(
        of_one_type("math.radians", "Degrees as radians", FLOATS, &[("x", 0.0, "in degrees")])
            .details("x times pi / 180, that number rounded to the type.")
            .lanewise(|_, x| radians(x[0])),
    );
}

fn constants(registry: &mut Registry) {
    use std::f64::consts::{E, PI, TAU};
    registry.register(constant("math.pi", "Half a turn in radians, about 3.14159", PI));
    registry.register(constant("math.tau", "a full turn in radians, about 6.28319", TAU));
    registry.register(constant("math.e", "The base of natural logarithms, about 2.71828", E));
}

/// A node without inputs, whose type is a setting because no link decides it.
fn constant(name: &'static str, summary: &'static str, value: f64) -> NodeDef {
    const TYPES: &[(&str, &str)] =
        &[("f32", "to about 7 decimal digits"), ("f64", "to about 16 decimal digits")];
    NodeDef::new(name, summary)
        .details("The float of the type that is nearest to the constant.")
        .setting(
            "type",
            SettingKind::Choice(TYPES),
            Some(SettingValue::Text("f32".into())),
            "the type of the value",
        )
        .sockets_by_settings(|settings| {
            let ty = if settings.text("type") == "f64" { Type::F64 } else { Type::F32 };
            let value = OutputSocket { name: "value".into(), ty: ty.into(), about: "".into() };
            Ok(Signature { generics: vec![], inputs: vec![], outputs: vec![value] })
        })
        .kernel(move |parts| {
            let (lane, _) = parts.outputs[0].ty.lanes().expect("a float is made of lanes");
            let b = FormBuilder::new();
            let form = b.finish(&[b.constant(lane, value)]);
            Ok(Kernel::Form(Arc::new(form)))
        })
}
