//! The Compare node.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry};
use millstream_nodes::kit::{dot, form_by_settings};

use super::{T, angle, luminance};

pub(super) fn register(registry: &mut Registry) {
    registry.register(compare());
}

const OPERATIONS: &[(&str, &str)] = &[
    ("less_than", "a < b"),
    ("less_equal", "a <= b"),
    ("greater_than", "a > b"),
    ("greater_equal", "a >= b"),
    ("equal", "a and b differ by at most epsilon"),
    ("not_equal", "a and b differ by more; for dot products, by epsilon or more"),
    ("brighter", "a has the greater luminance"),
    ("darker", "a has the lesser luminance"),
];

const MODES: &[(&str, &str)] = &[
    ("element", "every component; for `not_equal`, at least one"),
    ("length", "the lengths"),
    ("average", "the means of the components"),
    ("dot_product", "the dot product of a and b, with c"),
    ("direction", "the angle between a and b, with the input `angle`"),
];

fn compare() -> NodeDef {
    NodeDef::new("blender.compare", "Compares two values")
        .details(
            "The alpha of colors is ignored. The angle between two directions is computed from \
             their chord, so a vector of length 0 is at an angle of pi / 3 to any other.",
        )
        .choice("operation", OPERATIONS, "greater_than", "comparison")
        .choice("mode", MODES, "element", "property of vectors to compare")
        .generic("T", Among::These(&[Type::F32, Type::VEC3, Type::COLOR]))
        .input_or("a", T, 0.0, "first value")
        .input_or("b", T, 0.0, "second value")
        .input_or("c", Type::F32, 0.9, "number to compare with the dot product")
        .input_or("angle", Type::F32, 0.087_266_5, "angle to compare with, in radians")
        .input_or("epsilon", Type::F32, 0.001, "largest difference of equal values")
        .output("value", Type::BOOL, "")
        .kernel(form_by_settings(|settings, inputs| {
            let operation = settings.text("operation").to_owned();
            let mode = settings.text("mode").to_owned();
            vec![vec![compared(&operation, &mode, inputs)]]
        }))
}

fn compared<'b>(operation: &str, mode: &str, inputs: &[Vec<Val<'b>>]) -> Val<'b> {
    let shown = |v: &[Val<'b>]| v[..v.len().min(3)].to_vec();
    let (a, b) = (shown(&inputs[0]), shown(&inputs[1]));
    let (c, limit, epsilon) = (inputs[2][0], inputs[3][0], inputs[4][0]);
    let gray = |v: &[Val<'b>]| if v.len() == 3 { luminance(v) } else { v[0] };
    match operation {
        "brighter" => return gray(&a).gt(gray(&b)),
        "darker" => return gray(&a).lt(gray(&b)),
        _ => {}
    }
    let (a, b) = match mode {
        "length" => (vec![dot(&a, &a).sqrt()], vec![dot(&b, &b).sqrt()]),
        "average" => (vec![mean(&a)], vec![mean(&b)]),
        "dot_product" => (vec![dot(&a, &b)], vec![c]),
        "direction" => (vec![angle(&a, &b)], vec![limit]),
        _ => (a, b),
    };
    let all = |relation: &dyn Fn(Val<'b>, Val<'b>) -> Val<'b>| {
        let each = a.iter().zip(&b).map(|(a, b)| relation(*a, *b));
        each.reduce(|a, b| a & b).expect("values have components")
    };
    let near = |a: Val<'b>, b: Val<'b>| (a - b).abs().le(epsilon);
    // Dot products that differ by exactly epsilon count as equal and as not equal.
    let far = |a: Val<'b>, b: Val<'b>| {
        let apart = (a - b).abs();
        if mode == "dot_product" { apart.ge(epsilon) } else { apart.gt(epsilon) }
    };
    match operation {
        "less_than" => all(&|a, b| a.lt(b)),
        "less_equal" => all(&|a, b| a.le(b)),
        "greater_equal" => all(&|a, b| a.ge(b)),
        "equal" => all(&near),
        "not_equal" => {
            let each = a.iter().zip(&b).map(|(a, b)| far(*a, *b));
            each.reduce(|a, b| a | b).expect("values have components")
        }
        _ => all(&|a, b| a.gt(b)),
    }
}

fn mean<'b>(v: &[Val<'b>]) -> Val<'b> {
    let sum = v.iter().copied().reduce(|a, b| a + b).expect("values have components");
    if v.len() == 1 { sum } else { sum / 3.0 }
}
