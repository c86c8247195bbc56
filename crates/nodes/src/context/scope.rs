//! Injectors and modifiers: what is linked to `value` is evaluated in a changed context.

use std::sync::Arc;

use millstream_base::{Feature, Type};
use millstream_kernel::form::{FormBuilder, Val};
use millstream_kernel::{Among, Kernel, NodeDef, Registry, ScopeRule, Signature, SocketType};

use super::{custom_feature, with_custom_feature};

pub(super) fn register(registry: &mut Registry) {
    registry.register(with_time());
    registry.register(with_index());
    registry.register(with_position());
    registry.register(with_feature());
    registry.register(shift_time());
    registry.register(scale_time());
    registry.register(shift_index());
    registry.register(shift_position());
}

/// Adds `value`, which is evaluated in the changed context, and the output that it is handed to.
fn scoped(def: NodeDef, rule: ScopeRule) -> NodeDef {
    def.generic("T", Among::Any)
        .input("value", SocketType::Generic(0), "evaluated in the changed context")
        .scope(rule)
        .output("value", SocketType::Generic(0), "the value there")
}

/// The rule that gives level 0 the value of input 1.
fn inject(feature: Feature) -> ScopeRule {
    ScopeRule::Inject { feature, value: 1 }
}

/// The rule that changes each lane of level 0 by the lane of input 1.
fn modify(feature: Feature, change: impl for<'b> Fn(Val<'b>, Val<'b>) -> Val<'b>) -> ScopeRule {
    let (lane, n) = feature.ty().lanes().expect("the built-in features are made of lanes");
    let b = FormBuilder::new();
    let old: Vec<Val<'_>> = (0..n).map(|_| b.param(lane)).collect();
    let args: Vec<Val<'_>> = (0..n).map(|_| b.param(lane)).collect();
    let new: Vec<Val<'_>> = old.iter().zip(&args).map(|(old, arg)| change(*old, *arg)).collect();
    ScopeRule::Modify { feature, form: Arc::new(b.finish(&new)), args: vec![1] }
}

fn with_time() -> NodeDef {
    let def = NodeDef::new("context.with_time", "A value at another time").details(
        "What is linked to `value` sees this time instead of that of the scene. What does not need \
         the time runs once all the same.",
    );
    scoped(def, inject(Feature::Time))
        .input("time", Type::F64, "time in seconds")
        .or_number(0.0)
        .kernel(|_| Ok(Kernel::Pass))
}

fn with_index() -> NodeDef {
    let def = NodeDef::new("context.with_index", "A value of another element").details(
        "What is linked to `value` sees this number as `context.index`; the number it had before is \
         level 1 there.",
    );
    scoped(def, inject(Feature::Index))
        .input("index", Type::I32, "number of the element")
        .or_number(0.0)
        .kernel(|_| Ok(Kernel::Pass))
}

fn with_position() -> NodeDef {
    let def = NodeDef::new("context.with_position", "A value at another position")
        .details("What is linked to `value` sees this position as `context.position`.");
    scoped(def, inject(Feature::Position))
        .input("position", Type::VEC3, "position")
        .or_number(0.0)
        .kernel(|_| Ok(Kernel::Pass))
}

fn with_feature() -> NodeDef {
    let def = NodeDef::new("context.with_feature", "A value with a feature of the document's own")
        .details("What is linked to `value` reads the feature with `context.feature`.");
    with_custom_feature(def)
        .sockets_by_settings(|settings| {
            let feature = custom_feature(settings)?;
            let ty = feature.ty();
            let sockets = scoped(NodeDef::new("", ""), inject(feature))
                .input("feature", ty, "value of the feature")
                .or(millstream_kernel::Default::Zero);
            Ok(sockets.fixed_signature().map_or_else(Signature::default, Clone::clone))
        })
        .kernel(|_| Ok(Kernel::Pass))
}

fn shift_time() -> NodeDef {
    let def = NodeDef::new("time.shift", "A value some time before or after").details(
        "What is linked to `value` sees the time plus `by`: a negative `by` looks back. What does \
             not need the time runs once all the same.",
    );
    scoped(def, modify(Feature::Time, |old, by| old + by))
        .input("by", Type::F64, "seconds that are added to the time")
        .or_number(0.0)
        .kernel(|_| Ok(Kernel::Pass))
}

fn scale_time() -> NodeDef {
    let def = NodeDef::new("time.scale", "A value with the time running faster or slower")
        .details("What is linked to `value` sees the time multiplied by `factor`.");
    scoped(def, modify(Feature::Time, |old, factor| old * factor))
        .input("factor", Type::F64, "what the time is multiplied by")
        .or_number(1.0)
        .kernel(|_| Ok(Kernel::Pass))
}

fn shift_index() -> NodeDef {
    let def = NodeDef::new("context.shift_index", "A value of a neighbor").details(
        "What is linked to `value` sees `context.index` plus `by`, wrapping past the ends of \
             `i32`. The axis stays as it is: numbers below 0 and past the last element occur.",
    );
    scoped(def, modify(Feature::Index, |old, by| old + by))
        .input("by", Type::I32, "what is added to the number")
        .or_number(0.0)
        .kernel(|_| Ok(Kernel::Pass))
}

fn shift_position() -> NodeDef {
    let def = NodeDef::new("context.shift_position", "A value beside the position")
        .details("What is linked to `value` sees `context.position` plus `by`.");
    scoped(def, modify(Feature::Position, |old, by| old + by))
        .input("by", Type::VEC3, "what is added to the position")
        .or_number(0.0)
        .kernel(|_| Ok(Kernel::Pass))
}
