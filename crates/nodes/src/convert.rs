//! Conversions that an author asks for: those that lose something, and the bits of floats.
//!
//! Conversions that lose nothing happen by themselves where a link needs them.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry, SettingKind, SettingValue};

use crate::shape::{T, lanewise_by_settings};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    numbers(registry);
    bits(registry);
}

const SCALARS: Among = Among::These(&[Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64]);

const MODES: &[(&str, &str)] = &[
    ("truncate", "towards zero"),
    ("round", "to the nearest, halves away from zero"),
    ("round_even", "to the nearest, halves to the even one"),
    ("floor", "down"),
    ("ceil", "up"),
];

fn from_scalar(name: &'static str, summary: &'static str, to: Type) -> NodeDef {
    NodeDef::new(name, summary)
        .converts()
        .generic("T", SCALARS)
        .input("x", T, "what is converted")
        .or_number(0.0)
        .output("value", to, "")
}

fn numbers(registry: &mut Registry) {
    registry.register(
        from_scalar("convert.to_bool", "Whether x is not zero", Type::BOOL)
            .details("-0 is zero; NaN is not.")
            .lanewise(|_, x| x[0].convert(Lane::Bool)),
    );
    for (name, summary, ty) in [
        ("convert.to_i32", "x as a whole number of 32 bits", Type::I32),
        ("convert.to_i64", "x as a whole number of 64 bits", Type::I64),
    ] {
        let def = from_scalar(name, summary, ty)
            .details(
                "What does not fit becomes the nearest number that does. NaN becomes 0, true 1. \
                 The rounding concerns floats only.",
            )
            .setting(
                "mode",
                SettingKind::Choice(MODES),
                Some(SettingValue::Text("truncate".into())),
                "how fractions are rounded",
            );
        let def = lanewise_by_settings(def, |settings, _, to, x| {
            to_integer(settings.text("mode"), x[0], to)
        });
        registry.register(def);
    }
    registry.register(
        from_scalar("convert.to_f32", "x as a float of 32 bits", Type::F32)
            .details("Rounded to the nearest, halves to even; too large an `f64` becomes infinite.")
            .lanewise(|_, x| x[0].convert(Lane::F32)),
    );
    registry.register(
        from_scalar("convert.to_f64", "x as a float of 64 bits", Type::F64)
            .details("Exact, but for integers past 2 to the power 53, which are rounded.")
            .lanewise(|_, x| x[0].convert(Lane::F64)),
    );
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
                // Converting truncates.
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
                .input("x", from, "the value")
                .or_number(0.0)
                .output("value", to, "")
                .lanewise(|_, x| x[0].bitcast()),
        );
    };
    let read = "Sign, exponent, mantissa from the top. Every NaN has the same bits: positive, \
                quiet, without payload.";
    cast("convert.f32_bits", "The bits of an f32", Type::F32, Type::I32, read);
    cast("convert.f64_bits", "The bits of an f64", Type::F64, Type::I64, read);
    let made = "Sign, exponent, mantissa from the top. Any bits are a float.";
    cast("convert.f32_from_bits", "The f32 with these bits", Type::I32, Type::F32, made);
    cast("convert.f64_from_bits", "The f64 with these bits", Type::I64, Type::F64, made);
}
