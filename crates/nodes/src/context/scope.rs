//! Injectors and modifiers, which evaluate their input `value` in a changed context.

use std::sync::Arc;

use millstream_base::{Feature, Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::settings::SettingError;
use millstream_node::{Among, Kernel, NodeDef, Registry, ScopeRule, SocketType};

use super::{Named, named_feature, with_named_feature};
use crate::shape::sockets_of;

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

/// Adds the input `value`, which is evaluated in the changed context, and the output that passes it
/// on.
fn scoped(def: NodeDef, rule: ScopeRule) -> NodeDef {
    def.generic("T", Among::Any)
        .input("value", SocketType::Generic(0), "evaluated in the changed context")
        .scope(rule)
        .output("value", SocketType::Generic(0), "the value there")
}

/// The rule that sets level 0 to the value of input 1.
fn inject(feature: Feature) -> ScopeRule {
    ScopeRule::Inject { feature, value: 1 }
}

/// The rule that changes each lane of level 0 by the lane of input 1; `None` if the feature does
/// not consist of numbers.
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

/// A node that replaces the value of a built-in feature.
struct Injector {
    feature: Feature,
    name: &'static str,
    summary: &'static str,
    details: &'static str,
    /// Name and description of the input.
    input: (&'static str, &'static str),
}

const INJECTORS: [Injector; 7] = [
    Injector {
        feature: Feature::Time,
        name: "context.with_time",
        summary: "Evaluates a value at another time",
        details: "What is linked to `value` sees this time instead of the scene time. Nodes that \
            do not depend on the time still run only once.",
        input: ("time", "time in seconds"),
    },
    Injector {
        feature: Feature::RealTime,
        name: "context.with_real_time",
        summary: "Evaluates a value at another wall-clock time",
        details: "What is linked to `value` sees this time as `context.real_time`, so it does not \
            have to run again for every request.",
        input: ("time", "time in seconds"),
    },
    Injector {
        feature: Feature::Tick,
        name: "context.with_tick",
        summary: "Evaluates a value at another frame number",
        details: "What is linked to `value` sees this number as `context.tick`. The time does not \
                  change.",
        input: ("tick", "frame number"),
    },
    Injector {
        feature: Feature::Footprint,
        name: "context.with_footprint",
        summary: "Evaluates a value for another view",
        details: "What is linked to `value` sees this view as `context.footprint`. A view derived \
            from `context.footprint` itself, for example by `footprint.grow`, requests another \
            region of the same view.",
        input: ("footprint", "the view"),
    },
    Injector {
        feature: Feature::Index,
        name: "context.with_index",
        summary: "Evaluates a value for another element",
        details: "What is linked to `value` sees this index as `context.index` of level 0, and the \
            previous index as level 1.",
        input: ("index", "index of the element"),
    },
    Injector {
        feature: Feature::Position,
        name: "context.with_position",
        summary: "Evaluates a value at another position",
        details: "What is linked to `value` sees this position as `context.position`.",
        input: ("position", "position"),
    },
    Injector {
        feature: Feature::Iteration,
        name: "context.with_iteration",
        summary: "Evaluates a value in another round",
        details: "What is linked to `value` sees this index as `context.iteration`.",
        input: ("iteration", "index of the round"),
    },
];

impl Injector {
    fn node(&self) -> NodeDef {
        let def = NodeDef::new(self.name, self.summary).details(self.details);
        let (name, about) = self.input;
        scoped(def, inject(self.feature.clone()))
            .input_or(name, self.feature.ty(), 0.0, about)
            .kernel(|_| Ok(Kernel::Pass))
    }
}

fn with_feature() -> NodeDef {
    let def = NodeDef::new(
        "context.with_feature",
        "Evaluates a value with a feature defined by the document",
    )
    .details("What is linked to `value` can read the feature with `context.feature`.");
    with_named(def, Named::Custom, ("feature", "value of the feature"))
}

fn with_vararg() -> NodeDef {
    let def = NodeDef::new("context.with_vararg", "Evaluates a value with a named argument")
        .details("What is linked to `value` can read the argument with `context.vararg`.");
    with_named(def, Named::Vararg, ("argument", "value of the argument"))
}

/// A node that sets the feature named by its settings to the value of an input.
fn with_named(def: NodeDef, named: Named, input: (&'static str, &'static str)) -> NodeDef {
    with_named_feature(def, named)
        .sockets_by_settings(move |settings| {
            let feature = named_feature(settings, named)?;
            let ty = feature.ty();
            let sockets = scoped(NodeDef::new("", ""), inject(feature)).input_or(
                input.0,
                ty,
                millstream_node::Default::Zero,
                input.1,
            );
            Ok(sockets_of(&sockets))
        })
        .kernel(|_| Ok(Kernel::Pass))
}

/// A node that adds to the value of a built-in feature.
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
        summary: "Evaluates a value at an earlier or later time",
        details: "What is linked to `value` sees the time plus `by`: a negative `by` looks back. \
            Nodes that do not depend on the time still run only once.",
        about: "seconds added to the time",
    },
    Shift {
        feature: Feature::RealTime,
        name: "context.shift_real_time",
        summary: "Evaluates a value with the wall clock shifted",
        details: "What is linked to `value` sees `context.real_time` plus `by`.",
        about: "seconds added to the time",
    },
    Shift {
        feature: Feature::Tick,
        name: "context.shift_tick",
        summary: "Evaluates a value at an earlier or later frame number",
        details: "What is linked to `value` sees `context.tick` plus `by`, wrapping around at the \
            limits of `i64`. The time does not change; `time.shift` shifts it.",
        about: "frames added to the frame number",
    },
    Shift {
        feature: Feature::Index,
        name: "context.shift_index",
        summary: "Evaluates a value for a neighboring element",
        details: "What is linked to `value` sees `context.index` plus `by`, wrapping around at the \
            limits of `i32`. The axis does not change, so indices below 0 and past the last \
            element occur.",
        about: "number added to the index",
    },
    Shift {
        feature: Feature::Position,
        name: "context.shift_position",
        summary: "Evaluates a value at a shifted position",
        details: "What is linked to `value` sees `context.position` plus `by`.",
        about: "vector added to the position",
    },
    Shift {
        feature: Feature::Iteration,
        name: "context.shift_iteration",
        summary: "Evaluates a value for an earlier or later round",
        details: "What is linked to `value` sees `context.iteration` plus `by`, wrapping around at \
            the limits of `i32`.",
        about: "number added to the index of the round",
    },
];

impl Shift {
    fn node(&self) -> NodeDef {
        let def = NodeDef::new(self.name, self.summary).details(self.details);
        let rule = modify(self.feature.clone(), |old, by| old + by);
        scoped(def, rule.expect("the built-in features with a shift consist of numbers"))
            .input_or("by", self.feature.ty(), 0.0, self.about)
            .kernel(|_| Ok(Kernel::Pass))
    }
}

fn scale_time() -> NodeDef {
    let def = NodeDef::new("time.scale", "Evaluates a value with time running faster or slower")
        .details("What is linked to `value` sees the time multiplied by `factor`.");
    let rule = modify(Feature::Time, |old, factor| old * factor);
    scoped(def, rule.expect("the time is a number"))
        .input_or("factor", Type::F64, 1.0, "factor of the time")
        .kernel(|_| Ok(Kernel::Pass))
}

fn shift_feature() -> NodeDef {
    let def = NodeDef::new(
        "context.shift_feature",
        "Evaluates a value with a feature of the document shifted",
    )
    .details(
        "What is linked to `value` sees `context.feature` of this name plus `by`, component by \
         component; integers wrap around. The feature must consist of numbers.",
    );
    with_named_feature(def, Named::Custom)
        .sockets_by_settings(|settings| {
            let feature = named_feature(settings, Named::Custom)?;
            let ty = feature.ty();
            let rule = modify(feature, |old, by| old + by).ok_or_else(|| {
                SettingError::refused(
                    "type",
                    format!("nothing can be added to {}", ty.with_article()),
                )
            })?;
            let sockets = scoped(NodeDef::new("", ""), rule).input_or(
                "by",
                ty,
                millstream_node::Default::Zero,
                "value added to the feature",
            );
            Ok(sockets_of(&sockets))
        })
        .kernel(|_| Ok(Kernel::Pass))
}
