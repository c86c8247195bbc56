//! The entries of the Integer Math and Bit Math menus that have a meaning of their own.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use millstream_nodes::kit::{gcd, lanewise_by_settings, wrapping_power};

pub(super) fn register(registry: &mut Registry) {
    registry.register(math());
}

const OPERATIONS: &[(&str, &str)] = &[
    ("power", "a to the power b, truncated; the least integer where that does not fit"),
    ("shift", "bits of a moved up by b, or down by -b, zeros moved in; none left past 31"),
    ("rotate", "bits of a moved up by b, those moved out come in below"),
    (
        "divide_round",
        "to the nearest, halves away from zero; 0 where b is 0. Twice a and b wrap around",
    ),
    ("floored_modulo", "((a % b) + b) % b, wrapping around; 0 where b is 0"),
    ("lcm", "|a| / gcd(a, b) * |b|, wrapping around; 0 if one of them is 0"),
];

fn math() -> NodeDef {
    NodeDef::new("blender.integer", "A whole number computed as Blender does")
        .details(
            "Entries of Blender's Integer Math and Bit Math menus that are not listed here mean the \
             same as nodes of the math and integer families.",
        )
        .choice("operation", OPERATIONS, "power", "the operation")
        .input_or("a", Type::I32, 0.0, "the first number")
        .input_or("b", Type::I32, 0.0, "the second")
        .output("value", Type::I32, "").kernel(lanewise_by_settings(|settings, _, x| {
        let (a, b) = (x[0], x[1]);
        match settings.text("operation") {
            "shift" => shift(a, b),
            "rotate" => a.shl(b) | a.ushr(-b),
            "divide_round" => {
                let apart = a.lt(0) ^ b.lt(0);
                (a * 2 + apart.select(-b, b)) / (b * 2)
            }
            "floored_modulo" => ((a % b) + b) % b,
            "lcm" => a.abs() / gcd(a, b) * b.abs(),
            _ => power(a, b),
        }
    }))
}

/// Blender computes powers in `f64`, so a result that does not fit does not wrap.
fn power<'b>(base: Val<'b>, exponent: Val<'b>) -> Val<'b> {
    let limit = 2_147_483_648.0;
    let real = base.convert(Lane::F64).pow(exponent.convert(Lane::F64));
    // The error of a result that fits is less than half, and far from the limits of the range.
    let fits = real.lt(limit - 0.5) & real.gt(-limit - 0.5);
    fits.select(wrapping_power(base, exponent), i32::MIN)
}

fn shift<'b>(a: Val<'b>, by: Val<'b>) -> Val<'b> {
    let none_left = by.gt(31) | by.lt(-31);
    let up = a.shl(by);
    let down = a.ushr(-by);
    none_left.select(0, by.ge(0).select(up, down))
}
