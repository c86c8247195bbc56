//! Values between values: interpolation, clamping, mapping from range to range.
//!
//! The meanings are functions over lanes here and shared with `math.expression`.

mod ease;

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry, SettingKind, SettingValue, SocketType};
use millstream_node::{
    signature::Default, signature::Generic, signature::OutputSocket, signature::Signature,
    signature::Socket,
};

use crate::shape::{FLOATS, Input, NUMBERS, T, lanewise_by_settings, of_one_type};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    registry.register(mix_def());
    registry.register(clamp_def());
    registry.register(map_range_def());
    registry.register(ease::node());
    factors(registry);
    shapers(registry);
}

/// From `a` at factor 0 to `b` at factor 1, exact at both.
pub(crate) fn mix<'b>(a: Val<'b>, b: Val<'b>, factor: Val<'b>) -> Val<'b> {
    a * (1 - factor) + b * factor
}

/// How far `x` is on the way from `a` to `b`; 0 where these are equal.
pub(crate) fn inverse_mix<'b>(a: Val<'b>, b: Val<'b>, x: Val<'b>) -> Val<'b> {
    a.eq(b).select(0, (x - a) / (b - a))
}

/// `x` between two bounds in order.
pub(crate) fn clamp<'b>(x: Val<'b>, minimum: Val<'b>, maximum: Val<'b>) -> Val<'b> {
    x.max(minimum).min(maximum)
}

/// As [`inverse_mix`] but between 0 and 1; a step at the edge where the edges are equal.
fn edge_factor<'b>(low: Val<'b>, high: Val<'b>, x: Val<'b>) -> Val<'b> {
    let at_edge = x.ge(low).select(x.like(1), x.like(0));
    low.eq(high).select(at_edge, ((x - low) / (high - low)).clamp(0, 1))
}

fn smooth(t: Val<'_>) -> Val<'_> {
    t * t * (3 - 2 * t)
}

fn smoother(t: Val<'_>) -> Val<'_> {
    t * t * t * (t * (t * 6 - 15) + 10)
}

/// Rises from 0 at `low` to 1 at `high` along a cubic.
pub(crate) fn smoothstep<'b>(low: Val<'b>, high: Val<'b>, x: Val<'b>) -> Val<'b> {
    smooth(edge_factor(low, high, x))
}

/// Rises from 0 at `low` to 1 at `high` along a polynomial of degree 5.
pub(crate) fn smootherstep<'b>(low: Val<'b>, high: Val<'b>, x: Val<'b>) -> Val<'b> {
    smoother(edge_factor(low, high, x))
}

fn mix_def() -> NodeDef {
    let def = NodeDef::new("mix.mix", "a and b mixed by a factor")
        .details(
            "a * (1 - factor) + b * factor, which is exactly a at 0 and b at 1 where both are \
             finite; an infinity times 0 is NaN. Vectors are mixed by the same factor in every \
             component. A factor below 0 or above 1 goes past the ends unless clamped; clamping \
             takes NaN to 0. Off by at most 2e-7 of the sum of the sizes of both products.",
        )
        .setting(
            "clamp",
            SettingKind::Flag,
            Some(SettingValue::Flag(false)),
            "keep the factor between 0 and 1",
        )
        .generic("T", FLOATS)
        .generic("F", Among::These(&[Type::F32, Type::F64]))
        .input("a", T, "what factor 0 gives")
        .or_number(0.0)
        .input("b", T, "what factor 1 gives")
        .or_number(1.0)
        .input("factor", SocketType::Generic(1), "how much of b")
        .or_number(0.5)
        .output("value", T, "");
    lanewise_by_settings(def, |settings, _, lane, x| {
        let factor = x[2].convert(lane);
        let factor = if settings.flag("clamp") { factor.clamp(0, 1) } else { factor };
        mix(x[0], x[1], factor)
    })
}

fn clamp_def() -> NodeDef {
    const ORDERS: &[(&str, &str)] = &[
        ("minmax", "the maximum wins where the bounds are in the wrong order"),
        ("range", "bounds in the wrong order are swapped"),
    ];
    let inputs = [
        ("x", 0.0, "the number"),
        ("minimum", 0.0, "the least result"),
        ("maximum", 1.0, "the greatest result"),
    ];
    let def = of_one_type("mix.clamp", "x, kept between two bounds", NUMBERS, &inputs)
        .details(
            "minimum(maximum(x, minimum), maximum). NaN gives the minimum; a NaN bound is none.",
        )
        .setting(
            "order",
            SettingKind::Choice(ORDERS),
            Some(SettingValue::Text("minmax".into())),
            "what bounds in the wrong order mean",
        );
    lanewise_by_settings(def, |settings, _, _, x| match settings.text("order") {
        "range" => {
            let swapped = x[1].gt(x[2]);
            clamp(x[0], swapped.select(x[2], x[1]), swapped.select(x[1], x[2]))
        }
        _ => clamp(x[0], x[1], x[2]),
    })
}

const INTERPOLATIONS: &[(&str, &str)] = &[
    ("linear", "a straight line"),
    ("stepped", "as many equal steps as the input `steps` says"),
    ("smoothstep", "eased at both ends, a cubic"),
    ("smootherstep", "eased more, a polynomial of degree 5"),
];

/// Adds the settings `interpolation` and `clamp` of nodes that take a number from range to range.
pub fn with_way(def: NodeDef) -> NodeDef {
    def.setting(
        "interpolation",
        SettingKind::Choice(INTERPOLATIONS),
        Some(SettingValue::Text("linear".into())),
        "the way from one end to the other",
    )
    .setting(
        "clamp",
        SettingKind::Flag,
        Some(SettingValue::Flag(true)),
        "keep the result inside the target range",
    )
}

fn map_range_def() -> NodeDef {
    let def = NodeDef::new("mix.map_range", "x taken from one range to another")
        .details(
            "With f = (x - from_min) / (from_max - from_min): to_min * (1 - f) + to_max * f. An \
             empty source range gives f = 0. Stepped: f becomes floor(f * (steps + 1)) / steps, \
             steps being at least 1; there is an input `steps` for it. Smoothstep and smootherstep \
             clamp f always, the others if `clamp` is set; clamping takes NaN to 0. Off by at most 4e-7 \
             of the sum of the sizes of `to_min` and `to_max` where it is linear and clamped.",
        )
        .source(
            "f * f * (3 - 2 * f); f * f * f * (f * (f * 6 - 15) + 10) of Perlin, \"Improving \
             Noise\", 2002",
        );
    let def = with_way(def).sockets_by_settings(|settings| {
        Ok(map_range_signature(settings.text("interpolation") == "stepped"))
    });
    lanewise_by_settings(def, |settings, _, _, x| {
        let f = inverse_mix(x[1], x[2], x[0]);
        let f = match settings.text("interpolation") {
            "stepped" => {
                let steps = x[5].max(1);
                (f * (steps + 1)).floor() / steps
            }
            "smoothstep" => smooth(f.clamp(0, 1)),
            "smootherstep" => smoother(f.clamp(0, 1)),
            _ => f,
        };
        let f = if settings.flag("clamp") { f.clamp(0, 1) } else { f };
        mix(x[3], x[4], f)
    })
}

fn map_range_signature(stepped: bool) -> Signature {
    let inputs: [Input; 6] = [
        ("x", 0.0, "the number"),
        ("from_min", 0.0, "the beginning of the source range"),
        ("from_max", 1.0, "the end of the source range"),
        ("to_min", 0.0, "what the beginning becomes"),
        ("to_max", 1.0, "what the end becomes"),
        ("steps", 4.0, "number of steps"),
    ];
    let n = if stepped { 6 } else { 5 };
    let socket = |(name, default, about): &Input| Socket {
        name: (*name).into(),
        ty: T,
        default: Default::Number(*default),
        multiple: false,
        mutable: false,
        scope: vec![],
        about: (*about).into(),
    };
    Signature {
        generics: vec![Generic { name: "T", among: FLOATS }],
        inputs: inputs[..n].iter().map(socket).collect(),
        outputs: vec![OutputSocket { name: "value".into(), ty: T, about: "".into() }],
    }
}

fn factors(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "mix.inverse_mix",
            "How far x is on the way from a to b",
            FLOATS,
            &[
                ("a", 0.0, "where the result is 0"),
                ("b", 1.0, "where the result is 1"),
                ("x", 0.5, "the number"),
            ],
        )
        .details(
            "(x - a) / (b - a), not clamped; 0 where a equals b. Off by at most 2e-7 of itself.",
        )
        .lanewise(|_, x| inverse_mix(x[0], x[1], x[2])),
    );
    let edges = [
        ("minimum", 0.0, "up to here the result is 0"),
        ("maximum", 1.0, "from here on the result is 1"),
        ("x", 0.5, "the number"),
    ];
    let equal = "Where the edges are equal it is a step: 1 from the edge upwards.";
    registry.register(
        of_one_type("mix.smoothstep", "Rises from 0 to 1 between two edges, eased", FLOATS, &edges)
            .details(format!(
                "t * t * (3 - 2 * t) of the clamped way t between the edges. {equal} Off by at most \
                 1e-6."
            ))
            .lanewise(|_, x| smoothstep(x[0], x[1], x[2])),
    );
    registry.register(
        of_one_type("mix.smootherstep", "Rises from 0 to 1, eased more", FLOATS, &edges)
            .details(format!(
                "t * t * t * (t * (t * 6 - 15) + 10) of the clamped way t between the edges; first \
                 and second derivative are 0 at both. {equal} Off by at most 3e-6."
            ))
            .source("Perlin, \"Improving Noise\", 2002")
            .lanewise(|_, x| smootherstep(x[0], x[1], x[2])),
    );
}

fn bias<'b>(x: Val<'b>, bias: Val<'b>) -> Val<'b> {
    x / ((1 / bias - 2) * (1 - x) + 1)
}

fn gain<'b>(x: Val<'b>, gain: Val<'b>) -> Val<'b> {
    let bend = (1 / gain - 2) * (1 - 2 * x);
    x.lt(0.5).select(x / (bend + 1), (bend - x) / (bend - 1))
}

fn shapers(registry: &mut Registry) {
    let source = "Schlick, \"Fast Alternatives to Perlin's Bias and Gain Functions\", Graphics Gems \
                  IV, 1994";
    registry.register(
        of_one_type(
            "mix.bias",
            "Bends 0 to 1 so that the middle becomes the bias",
            FLOATS,
            &[("x", 0.5, "from 0 to 1"), ("bias", 0.5, "what 0.5 becomes")],
        )
        .details(
            "x / ((1 / bias - 2) * (1 - x) + 1); 0 and 1 stay. The bias lies between 0 and 1, both \
             excluded. Off by at most 1e-6 for one of 0.1 to 0.9.",
        )
        .source(source)
        .lanewise(|_, x| bias(x[0], x[1])),
    );
    registry.register(
        of_one_type(
            "mix.gain",
            "Bends 0 to 1 towards or away from the middle",
            FLOATS,
            &[("x", 0.5, "from 0 to 1"), ("gain", 0.5, "above 0.5: steeper at both ends")],
        )
        .details(
            "`mix.bias` in the lower half, mirrored in the upper: 0, 0.5 and 1 stay, a quarter \
             becomes half the gain. The gain lies between 0 and 1, both excluded. Off by at most 1e-6 \
             for one of 0.1 to 0.9.",
        )
        .source(source)
        .lanewise(|_, x| gain(x[0], x[1])),
    );
}
