//! Readers, which output the value of a feature or the number of cells along its axis.

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Type};
use millstream_node::{Class, Kernel, NodeDef, Registry};

use super::{Named, axis, level, named_feature, with_axis, with_level, with_named_feature};
use crate::shape::sockets_of;

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

/// A node without inputs that outputs the value of a built-in feature.
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
        "The scene time at which the value is computed",
        "Frame n of a document is at n / fps seconds.",
        Feature::Time,
        "time in seconds",
    ))
}

fn real_time() -> NodeDef {
    with_level(reader(
        "context.real_time",
        "The wall-clock time of the request",
        "Sampled once per request, so that all nodes see the same time. Everything that depends on \
         it is computed again for every request.",
        Feature::RealTime,
        "time in seconds",
    ))
    .class(Class::Volatile)
}

fn tick() -> NodeDef {
    with_level(reader(
        "context.tick",
        "The current frame number",
        "Frame n of a document is tick n.",
        Feature::Tick,
        "frame number",
    ))
}

fn footprint() -> NodeDef {
    with_level(reader(
        "context.footprint",
        "The requested view: its size, place and requested region",
        "A view covers a rectangle of the scene with pixels, of which a region is requested; \
         `footprint.separate` takes it apart. On the command line, --size sets it.",
        Feature::Footprint,
        "the view",
    ))
}

fn index() -> NodeDef {
    with_level(reader(
        "context.index",
        "The index of the current element",
        "The index, from 0, along the axis opened by the nearest enclosing list, loop or request. \
         A higher level reads the index along an axis further out, for nested lists.",
        Feature::Index,
        "index of the element, from 0",
    ))
}

fn position() -> NodeDef {
    with_level(reader(
        "context.position",
        "The position of the current element",
        "The position that the request or an injector assigns to the element.",
        Feature::Position,
        "position",
    ))
}

fn iteration() -> NodeDef {
    with_level(reader(
        "context.iteration",
        "The current round of a repeat",
        "",
        Feature::Iteration,
        "index of the round, from 0",
    ))
}

fn count() -> NodeDef {
    with_axis(
        NodeDef::new("context.count", "The number of elements or moments")
            .details(
                "The number of cells along the axis of the feature at this level; 1 if there is no \
                 such axis.",
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
    let def = NodeDef::new("context.feature", "A context feature defined by the document").details(
        "Reads the value that `context.with_feature` of the same name, or the program that runs \
         the document, puts into the context.",
    );
    named(def, Named::Custom, "value of the feature")
}

fn vararg() -> NodeDef {
    let def = NodeDef::new("context.vararg", "A named argument from the context").details(
        "Reads the value that `context.with_vararg` of the same name, or the program that runs the \
         document, passes. An argument and a feature of the same name are independent.",
    );
    named(def, Named::Vararg, "value of the argument")
}

/// A node that outputs the value of the feature that its settings name.
fn named(def: NodeDef, named: Named, about: &'static str) -> NodeDef {
    with_level(with_named_feature(def.class(Class::Contextual), named))
        .sockets_by_settings(move |settings| {
            let ty = named_feature(settings, named)?.ty();
            let sockets = NodeDef::new("", "").output("value", ty, about);
            Ok(sockets_of(&sockets))
        })
        .kernel(move |parts| {
            let feature = named_feature(parts.settings, named)?;
            Ok(Kernel::Read { feature, level: level(parts.settings), aspect: Aspect::Value })
        })
}
