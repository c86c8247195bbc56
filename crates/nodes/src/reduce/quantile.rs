//! Quantiles along an axis.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry};

use crate::context::{along, with_axis};
use crate::list::numbers::{QUANTILE, QUANTILE_SOURCE, quantiles};
use crate::shape::sockets_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(quantile());
}

fn quantile() -> NodeDef {
    let name = "reduce.quantile";
    let def = NodeDef::new(name, "A quantile over all elements or moments")
        .details(format!(
            "Computes `value` for every cell along the axis of this feature and level: the \
             elements of the request or of the nearest enclosing list or loop, or the moments of \
             the request. Without such an axis there is one cell. {QUANTILE}"
        ))
        .source(QUANTILE_SOURCE);
    with_axis(def)
        .sockets_by_settings(|settings| {
            let def = NodeDef::new("", "")
                .input("value", Type::F64, "number computed for every cell")
                .scope(along(settings))
                .input_or(
                    "part",
                    Type::F64,
                    0.5,
                    "fraction of the numbers below the result, 0 to 1, clamped; computed once",
                )
                .output("value", Type::F64, "");
            Ok(sockets_of(&def))
        })
        .kernel(|_| Ok(quantiles()))
}
