//! The entries of the Integer Math and Bit Math menus whose meaning differs from Millstream's
//! nodes.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use millstream_nodes::kit::{gcd, lanewise_by_settings, wrapping_power};

pub(super) fn register(registry: &mut Registry) {
    registry.register(math());
}

const OPERATIONS: &[(&str, &str)] = &[
    ("power", "a to the power b, truncated; the least integer if it does not fit"),
    ("shift", "bits of a shifted up by b, or down by -b, filled with zeros; 0 beyond 31"),
    ("rotate", "bits of a rotated up by b"),
    (
        "divide_round",
        "a / b rounded to nearest, ties away from zero; 0 if b is 0; doubling a and b wraps around",
    ),
    ("floored_modulo", "((a % b) + b) % b, wrapping around; 0 if b is 0"),
    ("lcm", "|a| / gcd(a, b) * |b|, wrapping around; 0 if one of them is 0"),
];

fn math() -> NodeDef {
    NodeDef::new("blender.integer", "Integer operations as defined by Blender")
        .details(
            "Other entries of Blender's Integer Math and Bit Math menus have the \
             meaning of nodes of the math and integer families.",
        )
        .choice("operation", OPERATIONS, "power", "operation")
        .input_or("a", Type::I32, 0.0, "first number")
        .input_or("b", Type::I32, 0.0, "second number")
        .output("value", Type::I32, "")
        .kernel(lanewise_by_settings(|settings, _, x| {
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
    // The error of a result that fits is less than half, and stays far from the limits of the
    // range.
    let fits = real.lt(limit - 0.5) & real.gt(-limit - 0.5);
    fits.select(wrapping_power(base, exponent), i32::MIN)
}

fn shift<'b>(a: Val<'b>, by: Val<'b>) -> Val<'b> {
    let none_left = by.gt(31) | by.lt(-31);
    let up = a.shl(by);
    let down = a.ushr(-by);
    none_left.select(0, by.ge(0).select(up, down))
}
