//! The entries of the Math and Vector Math menus whose meaning differs from Millstream's nodes.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};
use millstream_nodes::kit::{dot, form_by_settings, lanewise_by_settings, safe_divide};

use super::{NUMBER_OR_VECTOR, T, cross_in_double, greatest, held, is_zero, least, normalized};

pub(super) fn register(registry: &mut Registry) {
    registry.register(math());
    registry.register(clamp());
    registry.register(normalize());
    registry.register(vector());
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
    ("wrap", "a wrapped into the range from c to b; c where these are equal"),
    ("snap", "floor(a / b) * b; 0 where b is 0"),
    ("ping_pong", "up to b and down to 0, again and again; 0 where b is 0"),
    ("arcsine", "of a, clamped to -1 to 1"),
    ("arccosine", "of a, clamped to -1 to 1"),
    ("minimum", "the lesser of a and b; a where one is NaN"),
    ("maximum", "the greater of a and b; a where one is NaN"),
    ("smooth_minimum", "the lesser, smoothed by a cubic where they are less than c apart"),
    ("smooth_maximum", "the greater, smoothed by a cubic where they are less than c apart"),
    ("sign", "1, 0 or -1; 0 for NaN"),
];

fn math() -> NodeDef {
    NodeDef::new("blender.math", "Operations as defined by Blender's Math node")
        .details(
            "Division by zero gives 0. For vectors, component by component. Other entries of \
             Blender's menus have the meaning of nodes of the math, vector and mix families.",
        )
        .choice("operation", OPERATIONS, "power", "operation")
        .generic("T", NUMBER_OR_VECTOR)
        .input_or("a", T, 0.5, "first number")
        .input_or("b", T, 0.5, "second number, if the operation takes two")
        .input_or("c", T, 0.5, "third number, if the operation takes three")
        .output("value", T, "")
        .kernel(lanewise_by_settings(|settings, _, x| {
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
                "arcsine" => held(a, -1.0, 1.0).asin(),
                "arccosine" => held(a, -1.0, 1.0).acos(),
                "minimum" => least(a, b),
                "maximum" => greatest(a, b),
                "smooth_minimum" => smooth_minimum(a, b, c),
                "smooth_maximum" => -smooth_minimum(-a, -b, c),
                "sign" => a.gt(0.0).select(a.like(1.0), a.lt(0.0).select(a.like(-1.0), 0.0)),
                _ => power(a, b),
            }
        }))
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

fn smooth_minimum<'b>(a: Val<'b>, b: Val<'b>, distance: Val<'b>) -> Val<'b> {
    let lesser = a.lt(b).select(a, b);
    let left = distance - (a - b).abs();
    let near = left.gt(0.0).select(left, 0.0) / distance;
    let rounded = lesser - near * near * near * distance * (1.0 / 6.0);
    distance.eq(0.0).select(lesser, rounded)
}

const ORDERS: &[(&str, &str)] = &[
    ("minmax", "the greater of x and `minimum`, then the lesser of that and `maximum`"),
    ("range", "between the lesser and the greater bound"),
];

fn clamp() -> NodeDef {
    NodeDef::new("blender.clamp", "Clamps a number between two bounds like Blender")
        .details("NaN stays NaN, unlike with `mix.clamp`.")
        .choice("order", ORDERS, "minmax", "treatment of bounds in the wrong order")
        .input_or("x", Type::F32, 0.0, "number to clamp")
        .input_or("minimum", Type::F32, 0.0, "lower bound")
        .input_or("maximum", Type::F32, 1.0, "upper bound")
        .output("value", Type::F32, "")
        .kernel(lanewise_by_settings(|settings, _, x| match settings.text("order") {
            "range" => x[1].lt(x[2]).select(held(x[0], x[1], x[2]), held(x[0], x[2], x[1])),
            _ => least(greatest(x[0], x[1]), x[2]),
        }))
}

const VECTOR_OPERATIONS: &[(&str, &str)] = &[
    ("cross_product", "perpendicular to a and b; computed in double precision"),
    ("project", "the component of a along b; 0 if b is 0"),
    ("reflect", "a reflected at a surface with the normal b"),
    (
        "refract",
        "a refracted at a surface with the normal b, where c is the ratio of the indices; 0 at \
         total reflection",
    ),
];

fn vector() -> NodeDef {
    NodeDef::new("blender.vector", "Operations as defined by Blender's Vector Math node")
        .details(
            "Other entries of the menu have the meaning of nodes of the vector and math \
             families, or of `blender.math` and `blender.normalize`.",
        )
        .choice("operation", VECTOR_OPERATIONS, "cross_product", "operation")
        .input_or("a", Type::VEC3, 0.0, "first vector")
        .input_or("b", Type::VEC3, 0.0, "second vector")
        .input_or("c", Type::F32, 1.0, "number, if the operation takes one")
        .output("value", Type::VEC3, "")
        .kernel(form_by_settings(|settings, x| {
            let operation = settings.text("operation").to_owned();
            let (a, b) = (&x[0], &x[1]);
            vec![match &*operation {
                "project" => project(a, b),
                "reflect" => reflect(a, &normalized(b)),
                "refract" => refract(a, &normalized(b), x[2][0]),
                _ => cross_in_double(a, b),
            }]
        }))
}

fn project<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    let (none, part) = (is_zero(b), dot(a, b) / dot(b, b));
    b.iter().map(|x| none.select(0.0, *x * part)).collect()
}

fn reflect<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    let twice = dot(b, a) * 2.0;
    a.iter().zip(b).map(|(a, b)| *a - *b * twice).collect()
}

fn refract<'b>(a: &[Val<'b>], b: &[Val<'b>], ratio: Val<'b>) -> Vec<Val<'b>> {
    let along = dot(b, a);
    let rest: Val<'b> = 1.0 - ratio * ratio * (1.0 - along * along);
    let (thrown_back, inwards) = (rest.lt(0.0), ratio * along + rest.sqrt());
    a.iter().zip(b).map(|(a, b)| thrown_back.select(0.0, *a * ratio - *b * inwards)).collect()
}

fn normalize() -> NodeDef {
    NodeDef::new("blender.normalize", "The direction of a vector")
        .details("Zero for a vector of length 3.2e-18 or less.")
        .input_or("vector", Type::VEC3, 0.0, "")
        .output("value", Type::VEC3, "direction of length 1, or zero")
        .form(|_, inputs| vec![normalized(&inputs[0])])
}
