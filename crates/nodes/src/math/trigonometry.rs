//! Trigonometric and hyperbolic functions, angles, constants. Angles are in radians.

use std::sync::Arc;

use millstream_base::Type;
use millstream_form::{FormBuilder, Val};
use millstream_node::{Kernel, NodeDef, Registry};
use millstream_node::{signature::OutputSocket, signature::Signature};

use crate::shape::{FLOATS, Input, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    circular(registry);
    inverse(registry);
    hyperbolic(registry);
    units(registry);
    constants(registry);
}

const ANGLE: [Input; 1] = [("x", 0.0, "angle in radians")];

fn circular(registry: &mut Registry) {
    let edges = "The angle may be arbitrarily large. NaN for infinities.";
    registry.register_all([
        of_one_type("math.sin", "The sine", FLOATS, &ANGLE)
            .details(edges)
            .lanewise(|_, x| x[0].sin()),
        of_one_type("math.cos", "The cosine", FLOATS, &ANGLE)
            .details(edges)
            .lanewise(|_, x| x[0].cos()),
        of_one_type("math.tan", "The tangent", FLOATS, &ANGLE)
            .details(format!("{edges} Never infinite, because no float is exactly a quarter turn."))
            .lanewise(|_, x| x[0].tan()),
    ]);
}

fn inverse(registry: &mut Registry) {
    let x = [("x", 0.0, "number")];
    registry.register_all([
        of_one_type("math.asin", "The arcsine, the angle with a given sine", FLOATS, &x)
            .details("In radians, from -pi/2 to pi/2. NaN for x outside -1 to 1.")
            .lanewise(|_, x| x[0].asin()),
        of_one_type("math.acos", "The arccosine, the angle with a given cosine", FLOATS, &x)
            .details("In radians, from 0 to pi. NaN for x outside -1 to 1.")
            .lanewise(|_, x| x[0].acos()),
        of_one_type("math.atan", "The arctangent, the angle with a given tangent", FLOATS, &x)
            .details("In radians, from -pi/2 to pi/2, which are the results for infinities.")
            .lanewise(|_, x| x[0].atan()),
        of_one_type(
            "math.atan2",
            "The angle of the point (x, y) from the x axis",
            FLOATS,
            &[("y", 0.0, "vertical coordinate"), ("x", 1.0, "horizontal coordinate")],
        )
        .details(
            "In radians, from -pi to pi. At the origin it is 0, or pi if x is -0, with the sign of \
             y.",
        )
        .lanewise(|_, x| x[0].atan2(x[1])),
    ]);
}

fn hyperbolic(registry: &mut Registry) {
    let x = [("x", 0.0, "number")];
    registry.register_all([
        of_one_type("math.sinh", "The hyperbolic sine", FLOATS, &x)
            .details("(e^x - e^-x) / 2; overflows to infinity, with the sign of x.")
            .lanewise(|_, x| x[0].sinh()),
        of_one_type("math.cosh", "The hyperbolic cosine", FLOATS, &x)
            .details("(e^x + e^-x) / 2; overflows to infinity.")
            .lanewise(|_, x| x[0].cosh()),
        of_one_type("math.tanh", "The hyperbolic tangent", FLOATS, &x)
            .details("From -1 to 1, which are the results for infinities.")
            .lanewise(|_, x| x[0].tanh()),
        of_one_type("math.asinh", "The inverse hyperbolic sine", FLOATS, &x)
            .details("Infinities do not change.")
            .lanewise(|_, x| x[0].asinh()),
        of_one_type("math.acosh", "The inverse hyperbolic cosine", FLOATS, &[("x", 1.0, "number")])
            .details("Never negative. NaN for x below 1.")
            .lanewise(|_, x| x[0].acosh()),
        of_one_type("math.atanh", "The inverse hyperbolic tangent", FLOATS, &x)
            .details("Infinite for -1 and 1, NaN outside that range.")
            .lanewise(|_, x| x[0].atanh()),
    ]);
}

/// Converts radians to degrees.
pub(crate) fn degrees(x: Val<'_>) -> Val<'_> {
    x * (180.0 / std::f64::consts::PI)
}

/// Converts degrees to radians.
pub(crate) fn radians(x: Val<'_>) -> Val<'_> {
    x * (std::f64::consts::PI / 180.0)
}

fn units(registry: &mut Registry) {
    registry.register_all([
        of_one_type("math.degrees", "Converts radians to degrees", FLOATS, &ANGLE)
            .details("x times 180 / pi, where the factor is rounded to the type.")
            .lanewise(|_, x| degrees(x[0])),
        of_one_type(
            "math.radians",
            "Converts degrees to radians",
            FLOATS,
            &[("x", 0.0, "angle in degrees")],
        )
        .details("x times pi / 180, where the factor is rounded to the type.")
        .lanewise(|_, x| radians(x[0])),
    ]);
}

fn constants(registry: &mut Registry) {
    use std::f64::consts::{E, PI, TAU};
    registry.register(constant("math.pi", "Pi, half a turn in radians, about 3.14159", PI));
    registry.register(constant("math.tau", "Tau, a full turn in radians, about 6.28319", TAU));
    registry.register(constant(
        "math.e",
        "Euler's number, the base of natural logarithms, about 2.71828",
        E,
    ));
}

/// A node without inputs; its type is a setting, because no link determines it.
fn constant(name: &'static str, summary: &'static str, value: f64) -> NodeDef {
    const TYPES: &[(&str, &str)] = &[
        ("f32", "32-bit float, about 7 decimal digits"),
        ("f64", "64-bit float, about 16 decimal digits"),
    ];
    NodeDef::new(name, summary)
        .details("The float of that type nearest to the constant.")
        .choice("type", TYPES, "f32", "type of the value")
        .sockets_by_settings(|settings| {
            let ty = if settings.text("type") == "f64" { Type::F64 } else { Type::F32 };
            let value = OutputSocket::new("value", ty.into());
            Ok(Signature { generics: vec![], inputs: vec![], outputs: vec![value] })
        })
        .kernel(move |parts| {
            let (lane, _) = parts.outputs[0].ty.lanes().expect("a float is made of lanes");
            let b = FormBuilder::new();
            let form = b.finish(&[b.constant(lane, value)]);
            Ok(Kernel::Form(Arc::new(form)))
        })
}
