//! Interpolation, clamping, and mapping from range to range.
//!
//! The definitions are functions over lanes, which are shared with `math.expression`.

mod ease;

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry, Signature, SocketType};

use crate::shape::{FLOATS, Input, NUMBERS, T, lanewise_by_settings, of_one_type, sockets_of};

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

/// The factor at which `x` lies between `a` and `b`; 0 if these are equal.
pub(crate) fn inverse_mix<'b>(a: Val<'b>, b: Val<'b>, x: Val<'b>) -> Val<'b> {
    a.eq(b).select(0, (x - a) / (b - a))
}

/// `x` clamped between two bounds in order.
pub(crate) fn clamp<'b>(x: Val<'b>, minimum: Val<'b>, maximum: Val<'b>) -> Val<'b> {
    x.max(minimum).min(maximum)
}

/// Like [`inverse_mix`] but clamped to 0 to 1; a step at the edge if the edges are equal.
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
    NodeDef::new("mix.mix", "Mixes a and b by a factor")
        .details(
            "a * (1 - factor) + b * factor, which is exactly a at 0 and b at 1 if both are finite; \
             infinity times 0 is NaN. All components of vectors are mixed by the same factor. \
             Unless it is clamped, a factor below 0 or above 1 extrapolates. Clamping turns NaN \
             into 0. The error is at most 2e-7 times the sum of the magnitudes of both products.",
        )
        .flag("clamp", false, "clamp the factor to 0 to 1")
        .generic("T", FLOATS)
        .generic("F", Among::These(&[Type::F32, Type::F64]))
        .input_or("a", T, 0.0, "result for factor 0")
        .input_or("b", T, 1.0, "result for factor 1")
        .input_or("factor", SocketType::Generic(1), 0.5, "weight of b, 0 to 1")
        .output("value", T, "")
        .kernel(lanewise_by_settings(|settings, lane, x| {
            let factor = x[2].convert(lane);
            let factor = if settings.flag("clamp") { factor.clamp(0, 1) } else { factor };
            mix(x[0], x[1], factor)
        }))
}

fn clamp_def() -> NodeDef {
    const ORDERS: &[(&str, &str)] =
        &[("minmax", "the maximum takes precedence"), ("range", "the bounds are swapped")];
    let inputs = [
        ("x", 0.0, "number to clamp"),
        ("minimum", 0.0, "lower bound"),
        ("maximum", 1.0, "upper bound"),
    ];
    of_one_type("mix.clamp", "Clamps x between two bounds", NUMBERS, &inputs)
        .details(
            "minimum(maximum(x, minimum), maximum). NaN gives the minimum; a bound that is NaN is \
             ignored.",
        )
        .choice("order", ORDERS, "minmax", "how bounds in the wrong order are treated")
        .kernel(lanewise_by_settings(|settings, _, x| match settings.text("order") {
            "range" => {
                let swapped = x[1].gt(x[2]);
                clamp(x[0], swapped.select(x[2], x[1]), swapped.select(x[1], x[2]))
            }
            _ => clamp(x[0], x[1], x[2]),
        }))
}

const INTERPOLATIONS: &[(&str, &str)] = &[
    ("linear", "a straight line"),
    ("stepped", "equal steps, whose number is the input `steps`"),
    ("smoothstep", "eased at both ends by a cubic polynomial"),
    ("smootherstep", "eased more strongly by a polynomial of degree 5"),
];

/// Adds the settings `interpolation` and `clamp` of nodes that map a number from range to range.
pub fn with_way(def: NodeDef) -> NodeDef {
    def.choice("interpolation", INTERPOLATIONS, "linear", "shape of the curve between the ends")
        .flag("clamp", true, "clamp the result to the target range")
}

fn map_range_def() -> NodeDef {
    let def = NodeDef::new("mix.map_range", "Maps x from one range to another")
        .details(
            "With f = (x - from_min) / (from_max - from_min) the result is to_min * (1 - f) + \
             to_max * f. An empty source range gives f = 0. `stepped` adds an input `steps`, which \
             is at least 1, and replaces f by floor(f * (steps + 1)) / steps. `smoothstep` and \
             `smootherstep` always clamp f, the others only if `clamp` is set; clamping turns NaN \
             into 0. For the clamped linear mapping the error is at most 4e-7 times |to_min| + \
             |to_max|.",
        )
        .source(
            "f * f * (3 - 2 * f); f * f * f * (f * (f * 6 - 15) + 10) of Perlin, \"Improving \
             Noise\", 2002",
        );
    with_way(def)
        .sockets_by_settings(|settings| {
            Ok(map_range_signature(settings.text("interpolation") == "stepped"))
        })
        .kernel(lanewise_by_settings(|settings, _, x| {
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
        }))
}

fn map_range_signature(stepped: bool) -> Signature {
    let inputs: [Input; 6] = [
        ("x", 0.0, "number to map"),
        ("from_min", 0.0, "start of the source range"),
        ("from_max", 1.0, "end of the source range"),
        ("to_min", 0.0, "start of the target range"),
        ("to_max", 1.0, "end of the target range"),
        ("steps", 4.0, "number of steps"),
    ];
    let n = if stepped { 6 } else { 5 };
    sockets_of(&of_one_type("", "", FLOATS, &inputs[..n]))
}

fn factors(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "mix.inverse_mix",
            "The factor at which x lies between a and b",
            FLOATS,
            &[
                ("a", 0.0, "number with result 0"),
                ("b", 1.0, "number with result 1"),
                ("x", 0.5, "number between them"),
            ],
        )
        .details(
            "(x - a) / (b - a), not clamped; 0 if a equals b. The relative error is at most 2e-7.",
        )
        .lanewise(|_, x| inverse_mix(x[0], x[1], x[2])),
    );
    let edges = [
        ("minimum", 0.0, "lower edge; up to it the result is 0"),
        ("maximum", 1.0, "upper edge; from it on the result is 1"),
        ("x", 0.5, "number between the edges"),
    ];
    let equal = "If the edges are equal, the result is a step: 1 from the edge upwards.";
    registry.register_all([
        of_one_type(
            "mix.smoothstep",
            "A smooth step from 0 to 1 between two edges",
            FLOATS,
            &edges,
        )
        .details(format!(
            "t * t * (3 - 2 * t), where t is the clamped position between the edges. {equal} \
                 The error is at most 1e-6."
        ))
        .lanewise(|_, x| smoothstep(x[0], x[1], x[2])),
        of_one_type(
            "mix.smootherstep",
            "A smoother step from 0 to 1 between two edges",
            FLOATS,
            &edges,
        )
        .details(format!(
            "t * t * t * (t * (t * 6 - 15) + 10), where t is the clamped position between the \
                 edges; the first and second derivatives are 0 at both. {equal} The error is at \
                 most 3e-6."
        ))
        .source("Perlin, \"Improving Noise\", 2002")
        .lanewise(|_, x| smootherstep(x[0], x[1], x[2])),
    ]);
}

fn bias<'b>(x: Val<'b>, bias: Val<'b>) -> Val<'b> {
    x / ((1 / bias - 2) * (1 - x) + 1)
}

fn gain<'b>(x: Val<'b>, gain: Val<'b>) -> Val<'b> {
    let bend = (1 / gain - 2) * (1 - 2 * x);
    x.lt(0.5).select(x / (bend + 1), (bend - x) / (bend - 1))
}

fn shapers(registry: &mut Registry) {
    let source = "Schlick, \"Fast Alternatives to Perlin's Bias and Gain Functions\", Graphics \
                  Gems IV, 1994";
    registry.register_all([
        of_one_type(
            "mix.bias",
            "Bends the range 0 to 1 so that 0.5 becomes the bias",
            FLOATS,
            &[("x", 0.5, "number from 0 to 1"), ("bias", 0.5, "result for x = 0.5")],
        )
        .details(
            "x / ((1 / bias - 2) * (1 - x) + 1); 0 and 1 do not change. The bias lies between 0 \
             and 1, both excluded. The error is at most 1e-6 for a bias from 0.1 to 0.9.",
        )
        .source(source)
        .lanewise(|_, x| bias(x[0], x[1])),
        of_one_type(
            "mix.gain",
            "Increases or decreases contrast in the range 0 to 1",
            FLOATS,
            &[
                ("x", 0.5, "number from 0 to 1"),
                ("gain", 0.5, "0.5 changes nothing; above 0.5 the curve is steeper at both ends"),
            ],
        )
        .details(
            "`mix.bias` in the lower half, mirrored in the upper half: 0, 0.5 and 1 do not change, \
             and 0.25 becomes half of the gain. The gain lies between 0 and 1, both excluded. The \
             error is at most 1e-6 for a gain from 0.1 to 0.9.",
        )
        .source(source)
        .lanewise(|_, x| gain(x[0], x[1])),
    ]);
}
