//! The Porter-Duff operators, which composite pictures by their alpha.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry};

use super::{color_input, each, three, with_alpha};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(composite());
}

const OPERATORS: &[(&str, &str)] = &[
    ("over", "a in front of b"),
    ("under", "b in front of a"),
    ("in", "a where b is present"),
    ("out", "a where b is absent"),
    ("atop", "a where b is present, b elsewhere"),
    ("xor", "each where the other is absent"),
    ("masked", "b where a is present"),
    ("erased", "b where a is absent"),
    ("below_atop", "b where a is present, a elsewhere"),
    ("a", "a alone"),
    ("b", "b alone"),
    ("clear", "nothing"),
    ("plus", "the sum of both, alpha at most 1"),
];

fn composite() -> NodeDef {
    let def = NodeDef::new("color.composite", "Composites two colors by their alpha")
        .details(
            "Alpha is the fraction of the area that a color covers, independent of the other \
             color. Neither inputs nor output have premultiplied alpha; where nothing is visible \
             the channels are 0. For channels from 0 to 1 the error is at most 3e-7, or 3e-7 times \
             the greatest channel of the result if that is more than 1.",
        )
        .source("Porter and Duff, \"Compositing Digital Images\", 1984")
        .choice("operator", OPERATORS, "over", "parts of a and b that remain visible");
    color_input(color_input(def, "a", "first color"), "b", "second color")
        .output("value", Type::COLOR, "")
        .kernel(form_by_settings(|settings, x| {
            let operator = settings.text("operator");
            let (of_a, of_b) = (x[0][3], x[1][3]);
            let (zero, one) = (of_a.like(0.0), of_a.like(1.0));
            let (no_a, no_b) = (one - of_a, one - of_b);
            // The visible part of what each color covers.
            let (a, b) = match operator {
                "under" => (no_b, one),
                "in" => (of_b, zero),
                "out" => (no_b, zero),
                "atop" => (of_b, no_a),
                "xor" => (no_b, no_a),
                "masked" => (zero, of_a),
                "erased" => (zero, no_a),
                "below_atop" => (no_b, of_a),
                "a" => (one, zero),
                "b" => (zero, one),
                "clear" => (zero, zero),
                "plus" => (one, one),
                _ => (one, no_a),
            };
            let (a, b) = (a * of_a, b * of_b);
            let sum = a + b;
            let alpha = if operator == "plus" { sum.min(1.0) } else { sum };
            let channels = each(three(&x[0]), three(&x[1]), |x, y| {
                sum.eq(0.0).select(0.0, (x * a + y * b) / alpha)
            });
            vec![with_alpha(channels, alpha)]
        }))
}
