//! Injectors and modifiers: what is linked to `value` is evaluated in a changed context.

use std::sync::Arc;

use millstream_base::{Feature, Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::settings::SettingError;
use millstream_node::{Among, Kernel, NodeDef, Registry, ScopeRule, Signature, SocketType};

use super::{Named, named_feature, with_named_feature};

pub(super) fn register(registry: &mut Registry) {
    for injector in INJECTORS {
        registry.register(injector.node());
    }
    registry.register(with_feature());
    registry.register(with_vararg());
    for shift in SHIFTS {
        registry.register(shift.node());
    }
    registry.register(scale_time());
    registry.register(shift_feature());
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

/// The rule that changes each lane of level 0 by the lane of input 1; `None` if the feature is made
/// of something else than numbers.
fn modify(
    feature: Feature,
    change: impl for<'b> Fn(Val<'b>, Val<'b>) -> Val<'b>,
) -> Option<ScopeRule> {
    let (lane, n) = feature.ty().lanes().filter(|(lane, _)| *lane != Lane::Bool)?;
    let b = FormBuilder::new();
    let old: Vec<Val<'_>> = (0..n).map(|_| b.param(lane)).collect();
    let args: Vec<Val<'_>> = (0..n).map(|_| b.param(lane)).collect();
    let new: Vec<Val<'_>> = old.iter().zip(&args).map(|(old, arg)| change(*old, *arg)).collect();
    Some(ScopeRule::Modify { feature, form: Arc::new(b.finish(&new)), args: vec![1] })
}

/// A node that gives a built-in feature another value.
struct Injector {
    feature: Feature,
    name: &'static str,
    summary: &'static str,
    details: &'static str,
    /// Name and meaning of the input.
    input: (&'static str, &'static str),
}

const INJECTORS: [Injector; 7] = [
    Injector {
        feature: Feature::Time,
        name: "context.with_time",
        summary: "A value at another time",
        details: "What is linked to `value` sees this time instead of that of the scene. What does not \
                  need the time runs once all the same.",
        input: ("time", "time in seconds"),
    },
    Injector {
        feature: Feature::RealTime,
        name: "context.with_real_time",
        summary: "A value with another clock",
        details: "What is linked to `value` sees this time as `context.real_time`, so that it need not \
                  run again with every request.",
        input: ("time", "time in seconds"),
    },
    Injector {
        feature: Feature::Tick,
        name: "context.with_tick",
        summary: "A value with another frame number",
        details: "What is linked to `value` sees this number as `context.tick`. The time stays as it is.",
        input: ("tick", "number of the frame"),
    },
    Injector {
        feature: Feature::Footprint,
        name: "context.with_footprint",
        summary: "A value for another view",
        details: "What is linked to `value` sees this view as `context.footprint`. One that is made of \
                  `context.footprint` itself, such as `footprint.grow`, asks for another part of the same.",
        input: ("footprint", "the view"),
    },
    Injector {
        feature: Feature::Index,
        name: "context.with_index",
        summary: "A value of another element",
        details: "What is linked to `value` sees this number as `context.index`; the number it had \
                  before is level 1 there.",
        input: ("index", "number of the element"),
    },
    Injector {
        feature: Feature::Position,
        name: "context.with_position",
        summary: "A value at another position",
        details: "What is linked to `value` sees this position as `context.position`.",
        input: ("position", "position"),
    },
    Injector {
        feature: Feature::Iteration,
        name: "context.with_iteration",
        summary: "A value in another round",
        details: "What is linked to `value` sees this number as `context.iteration`.",
        input: ("iteration", "number of the round"),
    },
];

impl Injector {
    fn node(&self) -> NodeDef {
        let def = NodeDef::new(self.name, self.summary).details(self.details);
        let (name, about) = self.input;
        scoped(def, inject(self.feature.clone()))
            .input(name, self.feature.ty(), about)
            .or_number(0.0)
            .kernel(|_| Ok(Kernel::Pass))
    }
}

fn with_feature() -> NodeDef {
    let def = NodeDef::new("context.with_feature", "A value with a feature of the document's own")
        .details("What is linked to `value` reads the feature with `context.feature`.");
    with_named(def, Named::Custom, ("feature", "value of the feature"))
}

fn with_vararg() -> NodeDef {
    let def = NodeDef::new("context.with_vararg", "A value with an argument")
        .details("What is linked to `value` reads the argument with `context.vararg`.");
    with_named(def, Named::Vararg, ("argument", "value of the argument"))
}

/// A node that gives the feature that its settings name the value of an input.
fn with_named(def: NodeDef, named: Named, input: (&'static str, &'static str)) -> NodeDef {
    with_named_feature(def, named)
        .sockets_by_settings(move |settings| {
            let feature = named_feature(settings, named)?;
            let ty = feature.ty();
            let sockets = scoped(NodeDef::new("", ""), inject(feature))
                .input(input.0, ty, input.1)
                .or(millstream_node::Default::Zero);
            Ok(sockets.fixed_signature().map_or_else(Signature::default, Clone::clone))
        })
        .kernel(|_| Ok(Kernel::Pass))
}

/// A node that adds to a built-in feature.
struct Shift {
    feature: Feature,
    name: &'static str,
    summary: &'static str,
    details: &'static str,
    about: &'static str,
}

const SHIFTS: [Shift; 6] = [
    Shift {
        feature: Feature::Time,
        name: "time.shift",
        summary: "A value some time before or after",
        details: "What is linked to `value` sees the time plus `by`: a negative `by` looks back. What \
                  does not need the time runs once all the same.",
        about: "seconds that are added to the time",
    },
    Shift {
        feature: Feature::RealTime,
        name: "context.shift_real_time",
        summary: "A value with the clock moved",
        details: "What is linked to `value` sees `context.real_time` plus `by`.",
        about: "seconds that are added to the time",
    },
    Shift {
        feature: Feature::Tick,
        name: "context.shift_tick",
        summary: "A value some frames before or after",
        details: "What is linked to `value` sees `context.tick` plus `by`, wrapping past the ends of \
                  `i64`. The time stays as it is; `time.shift` moves it.",
        about: "frames that are added to the number",
    },
    Shift {
        feature: Feature::Index,
        name: "context.shift_index",
        summary: "A value of a neighbor",
        details: "What is linked to `value` sees `context.index` plus `by`, wrapping past the ends of \
                  `i32`. The axis stays as it is: numbers below 0 and past the last element occur.",
        about: "what is added to the number",
    },
    Shift {
        feature: Feature::Position,
        name: "context.shift_position",
        summary: "A value beside the position",
        details: "What is linked to `value` sees `context.position` plus `by`.",
        about: "what is added to the position",
    },
    Shift {
        feature: Feature::Iteration,
        name: "context.shift_iteration",
        summary: "A value of a round before or after",
        details: "What is linked to `value` sees `context.iteration` plus `by`, wrapping past the ends \
                  of `i32`.",
        about: "what is added to the number",
    },
];

impl Shift {
    fn node(&self) -> NodeDef {
        let def = NodeDef::new(self.name, self.summary).details(self.details);
        let rule = modify(self.feature.clone(), |old, by| old + by);
        scoped(def, rule.expect("the built-in features are made of numbers"))
            .input("by", self.feature.ty(), self.about)
            .or_number(0.0)
            .kernel(|_| Ok(Kernel::Pass))
    }
}

fn scale_time() -> NodeDef {
    let def = NodeDef::new("time.scale", "A value with the time running faster or slower")
        .details("What is linked to `value` sees the time multiplied by `factor`.");
    let rule = modify(Feature::Time, |old, factor| old * factor);
    scoped(def, rule.expect("the time is a number"))
        .input("factor", Type::F64, "what the time is multiplied by")
        .or_number(1.0)
        .kernel(|_| Ok(Kernel::Pass))
}

fn shift_feature() -> NodeDef {
    let def = NodeDef::new(
        "context.shift_feature",
        "A value with a feature of the document's own changed",
    )
    .details(
        "What is linked to `value` sees `context.feature` of this name plus `by`, component by \
             component; integers wrap. The feature is made of numbers.",
    );
    with_named_feature(def, Named::Custom)
        .sockets_by_settings(|settings| {
            let feature = named_feature(settings, Named::Custom)?;
            let ty = feature.ty();
            let rule = modify(feature, |old, by| old + by).ok_or_else(|| {
                SettingError::refused("type", format!("{} cannot be added to", ty.with_article()))
            })?;
            let sockets = scoped(NodeDef::new("", ""), rule)
                .input("by", ty, "what is added to the feature")
                .or(millstream_node::Default::Zero);
            Ok(sockets.fixed_signature().map_or_else(Signature::default, Clone::clone))
        })
        .kernel(|_| Ok(Kernel::Pass))
}
