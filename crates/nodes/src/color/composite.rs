//! Pictures laid over each other: which part of each is seen.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry, SettingKind, SettingValue};

use super::{color_input, each, three, with_alpha};
use crate::vector::form_kernel;

pub(super) fn register(registry: &mut Registry) {
    registry.register(composite());
}

const OPERATORS: &[(&str, &str)] = &[
    ("over", "a in front of b"),
    ("under", "b in front of a"),
    ("in", "a where b is"),
    ("out", "a where b is not"),
    ("atop", "a where b is, b elsewhere"),
    ("xor", "each where the other is not"),
    ("masked", "b where a is"),
    ("erased", "b where a is not"),
    ("below_atop", "b where a is, a elsewhere"),
    ("a", "a alone"),
    ("b", "b alone"),
    ("clear", "nothing"),
    ("plus", "both added, alpha at most 1"),
];

fn composite() -> NodeDef {
    let def = NodeDef::new("color.composite", "Two colors laid over each other by their alpha")
        .details(
            "Alpha says how much of a place a color covers, independently of the other. It is not multiplied in, \
             neither before nor after; where nothing is seen the channels are 0. Off by at most 3e-7 of 1, or of the \
             greatest channel if that is more, for channels from 0 to 1.",
        )
        .source("Porter and Duff, \"Compositing Digital Images\", 1984")
        .setting(
            "operator",
            SettingKind::Choice(OPERATORS),
            Some(SettingValue::Text("over".into())),
            "what is seen",
        );
    color_input(color_input(def, "a", "one color"), "b", "the other")
        .output("value", Type::COLOR, "")
        .kernel(|parts| {
            let operator = parts.settings.text("operator");
            Ok(form_kernel(parts, |x| {
                let (of_a, of_b) = (x[0][3], x[1][3]);
                let (zero, one) = (of_a.like(0.0), of_a.like(1.0));
                let (no_a, no_b) = (one - of_a, one - of_b);
                // The part that is seen of what each covers.
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
        })
}
