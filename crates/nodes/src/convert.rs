//! Explicit conversions: those that lose information, and the bit patterns of floats.
//!
//! Lossless conversions are implicit: they are inserted where a link needs them.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry};

use crate::shape::{T, lanewise_by_settings};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    numbers(registry);
    bits(registry);
}

const SCALARS: Among = Among::These(&[Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64]);

const MODES: &[(&str, &str)] = &[
    ("truncate", "toward zero"),
    ("round", "to nearest, ties away from zero"),
    ("round_even", "to nearest, ties to even"),
    ("floor", "down"),
    ("ceil", "up"),
];

fn from_scalar(name: &'static str, summary: &'static str, to: Type) -> NodeDef {
    NodeDef::new(name, summary)
        .converts()
        .generic("T", SCALARS)
        .input_or("x", T, 0.0, "value to convert")
        .output("value", to, "")
}

fn numbers(registry: &mut Registry) {
    registry.register(
        from_scalar(
            "convert.to_bool",
            "Converts x to a truth value: whether it is not zero",
            Type::BOOL,
        )
        .details("-0 is zero; NaN is not.")
        .lanewise(|_, x| x[0].convert(Lane::Bool)),
    );
    for (name, summary, ty) in [
        ("convert.to_i32", "Converts x to a 32-bit integer", Type::I32),
        ("convert.to_i64", "Converts x to a 64-bit integer", Type::I64),
    ] {
        let def = from_scalar(name, summary, ty)
            .details(
                "A number outside the range of the type becomes its nearest limit. NaN becomes 0, \
                 true becomes 1. The rounding applies to floats only.",
            )
            .choice("mode", MODES, "truncate", "how fractions are rounded");
        let def = def.kernel(lanewise_by_settings(|settings, to, x| {
            to_integer(settings.text("mode"), x[0], to)
        }));
        registry.register(def);
    }
    registry.register_all([
        from_scalar("convert.to_f32", "Converts x to a 32-bit float", Type::F32)
            .details(
                "Rounded to nearest, ties to even; an `f64` that is too large becomes infinite.",
            )
            .lanewise(|_, x| x[0].convert(Lane::F32)),
        from_scalar("convert.to_f64", "Converts x to a 64-bit float", Type::F64)
            .details("Exact, except that integers beyond 2^53 are rounded.")
            .lanewise(|_, x| x[0].convert(Lane::F64)),
    ]);
}

fn to_integer<'b>(mode: &str, x: Val<'b>, to: Lane) -> Val<'b> {
    match x.lane() {
        Lane::Bool | Lane::I32 => x.convert(to),
        Lane::I64 if to == Lane::I32 => {
            x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)).convert(to)
        }
        Lane::I64 => x,
        Lane::F32 | Lane::F64 => {
            let whole = match mode {
                "round" => x.round(),
                "round_even" => x.round_even(),
                "floor" => x.floor(),
                "ceil" => x.ceil(),
                // The conversion truncates.
                _ => x,
            };
            whole.convert(to)
        }
    }
}

fn bits(registry: &mut Registry) {
    let mut cast = |name, summary, from: Type, to: Type, details: &'static str| {
        registry.register(
            NodeDef::new(name, summary)
                .details(details)
                .source("IEEE 754-2019, 3.4: binary interchange formats")
                .input_or("x", from, 0.0, "value to reinterpret")
                .output("value", to, "")
                .lanewise(|_, x| x[0].bitcast()),
        );
    };
    let read = "From the highest bit down: sign, exponent, mantissa. Every NaN has the same bits: \
        positive, quiet, without payload.";
    cast(
        "convert.f32_bits",
        "The bit pattern of an `f32` as an integer",
        Type::F32,
        Type::I32,
        read,
    );
    cast(
        "convert.f64_bits",
        "The bit pattern of an `f64` as an integer",
        Type::F64,
        Type::I64,
        read,
    );
    let made = "From the highest bit down: sign, exponent, mantissa. Every bit pattern is a float.";
    cast("convert.f32_from_bits", "The `f32` with a given bit pattern", Type::I32, Type::F32, made);
    cast("convert.f64_from_bits", "The `f64` with a given bit pattern", Type::I64, Type::F64, made);
}
