//! The entries of the Math and Vector Math menus that have a meaning of their own.

use millstream_base::{Lane, Type};
use millstream_kernel::form::Val;
use millstream_kernel::{NodeDef, Registry, SettingKind, SettingValue};

use super::{NUMBER_OR_VECTOR, T, normalized};
use crate::math::safe_divide;
use crate::shape::lanewise_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(math());
    registry.register(normalize());
}

const OPERATIONS: &[(&str, &str)] = &[
    ("power", "a to the power b; 0 for negative a unless b is an integer that fits an i32"),
    ("logarithm", "of a to the base b; 0 unless both are above 0, and for base 1"),
    ("sqrt", "square root of a; 0 below 0"),
    ("inverse_sqrt", "1 / sqrt(a); 0 unless a is above 0"),
    ("round", "floor(a + 0.5)"),
    ("compare", "1 where a and b differ by at most c, or 1.2e-7 if that is more; 0 elsewhere"),
    ("modulo", "remainder of a / b with the sign of a; 0 where b is 0"),
    ("floored_modulo", "a - floor(a / b) * b; 0 where b is 0"),
    ("wrap", "a brought between c and b by whole steps; c where these are equal"),
    ("snap", "floor(a / b) * b; 0 where b is 0"),
    ("ping_pong", "up to b and down to 0, again and again; 0 where b is 0"),
    ("arcsine", "of a, kept between -1 and 1"),
    ("arccosine", "of a, kept between -1 and 1"),
];

fn math() -> NodeDef {
    let def = NodeDef::new("blender.math", "A number computed as Blender's Math node does")
        .details(
            "What divides by zero gives 0. Vectors: each component. Entries of Blender's menus that \
             are not listed here mean the same as nodes of the math, vector and mix families.",
        )
        .setting(
            "operation",
            SettingKind::Choice(OPERATIONS),
            Some(SettingValue::Text("power".into())),
            "what is computed",
        )
        .generic("T", NUMBER_OR_VECTOR)
        .input("a", T, "the first number")
        .or_number(0.5)
        .input("b", T, "the second, where the operation takes two")
        .or_number(0.5)
        .input("c", T, "the third, where the operation takes three")
        .or_number(0.5)
        .output("value", T, "");
    lanewise_by_settings(def, |settings, _, _, x| {
        let (a, b, c) = (x[0], x[1], x[2]);
        match settings.text("operation") {
            "logarithm" => logarithm(a, b),
            "sqrt" => a.gt(0.0).select(a.sqrt(), 0.0),
            "inverse_sqrt" => a.gt(0.0).select(1.0 / a.sqrt(), 0.0),
            "round" => (a + 0.5).floor(),
            "compare" => {
                let near = a.eq(b) | (a - b).abs().le(c.max(f32::EPSILON));
                near.select(a.like(1.0), 0.0)
            }
            "modulo" => b.eq(0.0).select(0.0, a % b),
            "floored_modulo" => b.eq(0.0).select(0.0, a - (a / b).floor() * b),
            "wrap" => wrap(a, b, c),
            "snap" => safe_divide(a, b).floor() * b,
            "ping_pong" => ping_pong(a, b),
            "arcsine" => a.clamp(-1.0, 1.0).asin(),
            "arccosine" => a.clamp(-1.0, 1.0).acos(),
            _ => power(a, b),
        }
    })
}

fn power<'b>(base: Val<'b>, exponent: Val<'b>) -> Val<'b> {
    let rounded = exponent.convert(Lane::I32).convert(exponent.lane());
    let whole = rounded.eq(exponent) & exponent.lt(2_147_483_648.0);
    (base.lt(0.0) & !whole).select(0.0, base.pow(exponent))
}

fn logarithm<'b>(x: Val<'b>, base: Val<'b>) -> Val<'b> {
    (x.le(0.0) | base.le(0.0)).select(0.0, safe_divide(x.ln(), base.ln()))
}

fn wrap<'b>(x: Val<'b>, maximum: Val<'b>, minimum: Val<'b>) -> Val<'b> {
    let range = maximum - minimum;
    let wrapped = x - range * ((x - minimum) / range).floor();
    range.eq(0.0).select(minimum, wrapped)
}

fn ping_pong<'b>(x: Val<'b>, scale: Val<'b>) -> Val<'b> {
    let folded = (((x - scale) / (scale * 2.0)).fract() * scale * 2.0 - scale).abs();
    scale.eq(0.0).select(0.0, folded)
}

fn normalize() -> NodeDef {
    NodeDef::new("blender.normalize", "The direction of a vector")
        .details("Zero for a vector that is at most 3.2e-18 long.")
        .input("vector", Type::VEC3, "")
        .or_number(0.0)
        .output("value", Type::VEC3, "length 1, or zero")
        .form(|_, inputs| vec![normalized(&inputs[0])])
}
