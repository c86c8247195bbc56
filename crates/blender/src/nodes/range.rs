//! The Map Range node.

use millstream_node::{NodeDef, Registry};
use millstream_nodes::kit::{lanewise_by_settings, safe_divide, with_way};

use super::{NUMBER_OR_VECTOR, T, held};

pub(super) fn register(registry: &mut Registry) {
    registry.register(map_range());
}

fn map_range() -> NodeDef {
    let def = NodeDef::new(
        "blender.map_range",
        "Maps x from one range to another like Blender",
    )
    .details(
        "to_min + f * (to_max - to_min), with f = (x - from_min) / (from_max - from_min), or 0 for \
             an empty source range. With steps, f becomes floor(f * (steps + 1)) / steps, or 0 \
             without steps. The smooth interpolations always clamp f; the others clamp the result \
             if `clamp` is set.",
    );
    let def = with_way(def).generic("T", NUMBER_OR_VECTOR);
    let inputs = [
        ("x", 1.0, "number to map"),
        ("from_min", 0.0, "start of the source range"),
        ("from_max", 1.0, "end of the source range"),
        ("to_min", 0.0, "start of the target range"),
        ("to_max", 1.0, "end of the target range"),
        ("steps", 4.0, "number of steps, if the interpolation is stepped"),
    ];
    inputs
        .iter()
        .fold(def, |def, (name, default, about)| def.input_or(*name, T, *default, *about))
        .output("value", T, "")
        .kernel(lanewise_by_settings(|settings, _, x| {
            let (to_min, to_max, steps) = (x[3], x[4], x[5]);
            let way = safe_divide(x[0] - x[1], x[2] - x[1]);
            let kept = held(way, 0.0, 1.0);
            let (f, is_smooth) = match settings.text("interpolation") {
                "stepped" => (safe_divide((way * (steps + 1.0)).floor(), steps), false),
                "smoothstep" => ((3.0 - kept * 2.0) * (kept * kept), true),
                "smootherstep" => (kept * kept * kept * (kept * (kept * 6.0 - 15.0) + 10.0), true),
                _ => (way, false),
            };
            let result = to_min + f * (to_max - to_min);
            if settings.flag("clamp") && !is_smooth {
                to_min.gt(to_max).select(held(result, to_max, to_min), held(result, to_min, to_max))
            } else {
                result
            }
        }))
}
