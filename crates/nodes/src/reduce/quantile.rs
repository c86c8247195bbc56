//! The number below which a part of what an axis holds lies.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry, Signature};

use crate::context::{along, with_axis};
use crate::list::numbers::{QUANTILE, QUANTILE_SOURCE, quantiles};

pub(super) fn register(registry: &mut Registry) {
    registry.register(quantile());
}

fn quantile() -> NodeDef {
    let name = "reduce.quantile";
    let def = NodeDef::new(name, "The number below which a part of all elements or moments lies")
        .details(format!(
            "Computes `value` for every cell of the axis of this feature and level: the elements of the \
             request, or of the nearest list or loop that counts, or the moments of the request. Where \
             there is no such axis there is one cell. {QUANTILE}"
        ))
        .source(QUANTILE_SOURCE);
    with_axis(def)
        .sockets_by_settings(|settings| {
            let def = NodeDef::new("", "")
                .input("value", Type::F64, "computed for every cell")
                .scope(along(settings))
                .input("part", Type::F64, "0 to 1, kept in this range; computed once")
                .or_number(0.5)
                .output("value", Type::F64, "");
            Ok(def.fixed_signature().map_or_else(Signature::default, Clone::clone))
        })
        .kernel(|_| Ok(quantiles()))
}
