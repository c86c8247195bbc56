//! Readers: the value of a feature, or how many cells its axis has.

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Type};
use millstream_node::{Class, Kernel, NodeDef, Registry, Signature};

use super::{Named, axis, level, named_feature, with_axis, with_level, with_named_feature};

pub(super) fn register(registry: &mut Registry) {
    registry.register(time());
    registry.register(real_time());
    registry.register(tick());
    registry.register(footprint());
    registry.register(index());
    registry.register(position());
    registry.register(iteration());
    registry.register(count());
    registry.register(custom());
    registry.register(vararg());
}

/// A node without inputs that hands a built-in feature over.
fn reader(
    name: &'static str,
    summary: &'static str,
    details: &'static str,
    feature: Feature,
    about: &'static str,
) -> NodeDef {
    NodeDef::new(name, summary)
        .details(details)
        .class(Class::Contextual)
        .output("value", feature.ty(), about)
        .kernel(move |parts| {
            let level = level(parts.settings);
            Ok(Kernel::Read { feature: feature.clone(), level, aspect: Aspect::Value })
        })
}

fn time() -> NodeDef {
    with_level(reader(
        "context.time",
        "The time of the scene",
        "Frame n of a document is at n / fps seconds.",
        Feature::Time,
        "time in seconds",
    ))
}

fn real_time() -> NodeDef {
    with_level(reader(
        "context.real_time",
        "The time of the clock",
        "Sampled once per request, so that all nodes see the same. Everything that depends on it runs \
         again with every request.",
        Feature::RealTime,
        "time in seconds",
    ))
    .class(Class::Volatile)
}

fn tick() -> NodeDef {
    with_level(reader(
        "context.tick",
        "The number of the frame",
        "Frame n of a document is tick n.",
        Feature::Tick,
        "number of the frame",
    ))
}

fn footprint() -> NodeDef {
    with_level(reader(
        "context.footprint",
        "The view that is asked for",
        "Where it lies, how many pixels it has and which of them are asked for; `footprint.separate` \
         takes it apart. The command line gives it with --size.",
        Feature::Footprint,
        "the view",
    ))
}

fn index() -> NodeDef {
    with_level(reader(
        "context.index",
        "Which element is computed",
        "The number of the element, from 0, along the axis that the nearest list, loop or request \
         opened. A higher level reads the number along an axis further out, for nested lists.",
        Feature::Index,
        "number of the element, from 0",
    ))
}

fn position() -> NodeDef {
    with_level(reader(
        "context.position",
        "Where the element is",
        "The position that the request or an injector gives the element.",
        Feature::Position,
        "position",
    ))
}

fn iteration() -> NodeDef {
    with_level(reader(
        "context.iteration",
        "Which round of a repeat runs",
        "",
        Feature::Iteration,
        "number of the round, from 0",
    ))
}

fn count() -> NodeDef {
    with_axis(
        NodeDef::new("context.count", "How many elements or moments there are")
            .details(
                "The number of cells of the axis along which the feature of the same level counts or \
                 lies; 1 where there is none.",
            )
            .class(Class::Contextual)
            .output("value", Type::I32, "number of cells"),
    )
    .kernel(|parts| {
        let (feature, level) = axis(parts.settings);
        Ok(Kernel::Read { feature, level, aspect: Aspect::Extent })
    })
}

fn custom() -> NodeDef {
    let def = NodeDef::new("context.feature", "A context feature of the document's own").details(
        "Reads what `context.with_feature` of the same name, or the program that runs the document, \
         puts into the context.",
    );
    named(def, Named::Custom, "value of the feature")
}

fn vararg() -> NodeDef {
    let def = NodeDef::new("context.vararg", "An argument, by name").details(
        "Reads what `context.with_vararg` of the same name, or the program that runs the document, \
         passes. Arguments and features of one name are different things.",
    );
    named(def, Named::Vararg, "value of the argument")
}

/// A node that hands over the feature that its settings name.
fn named(def: NodeDef, named: Named, about: &'static str) -> NodeDef {
    with_level(with_named_feature(def.class(Class::Contextual), named))
        .sockets_by_settings(move |settings| {
            let ty = named_feature(settings, named)?.ty();
            let sockets = NodeDef::new("", "").output("value", ty, about);
            Ok(sockets.fixed_signature().map_or_else(Signature::default, Clone::clone))
        })
        .kernel(move |parts| {
            let feature = named_feature(parts.settings, named)?;
            Ok(Kernel::Read { feature, level: level(parts.settings), aspect: Aspect::Value })
        })
}
