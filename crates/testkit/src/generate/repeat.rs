//! Repeats with generated groups.

use std::sync::Arc;

use millstream_base::{Limits, Type};
use millstream_compile::PassContext;
use millstream_compile::repeats::{Rounds, compile_repeat};
use millstream_ir::Source;
use millstream_node::Registry;
use millstream_node::repeat::capture;

use super::NodePlan;
use super::build::Building;
use crate::sketch::Sketch;

/// Adds a repeat of these nodes; returns its outputs, none if the nodes cannot be repeated.
pub(super) fn add(
    sketch: &mut Sketch<'_>,
    registry: &Registry,
    nodes: &[NodePlan],
    plan: &NodePlan,
    sources: &[Source],
) -> Vec<Source> {
    let pick = |i: usize| sources[plan.picks[i] as usize % sources.len()];
    let given = [pick(0), pick(1), pick(2)];
    let mut inner = Sketch::new(registry);
    let mut inside = Vec::new();
    for (name, source) in ["x", "y", "k"].into_iter().zip(given) {
        inside.push(inner.input(name, sketch.type_of(source).default_value()));
    }
    inside.push(inner.node("context.iteration", &[]));
    let group = nodes.get(1..).unwrap_or_default();
    let mut building = Building { sketch: inner, registry, group, has_repeats: true };
    building.nodes(nodes, &mut inside, true);
    let mut inner = building.sketch;
    let last_of = |inner: &Sketch<'_>, ty: Type, skip: usize| {
        let mut found = inside.iter().rev().filter(|source| inner.type_of(**source) == ty);
        found.nth(skip).copied()
    };
    let mut carries = Vec::new();
    for (input, name) in ["x", "y"].into_iter().enumerate() {
        let ty = inner.type_of(inside[input]);
        let next = last_of(&inner, ty, input * plan.picks[4] as usize % 2);
        inner.output(name, next.unwrap_or(inside[input]));
        carries.push(Some(input));
    }
    let mut go = None;
    if plan.set.is_multiple_of(3)
        && let Some(source) = last_of(&inner, Type::BOOL, 0)
    {
        inner.output("go", source);
        go = Some(carries.len());
        carries.push(None);
    }
    let rounds = Rounds { count: 3, carries, go, until_stable: plan.set.is_multiple_of(5) };
    let limits = Limits::default();
    let cx = PassContext::new(registry, &limits);
    let Ok(made) = compile_repeat(&Arc::from("body"), inner.graph, rounds, &cx) else {
        return Vec::new();
    };
    let mut count = sketch.constant((plan.picks[3] % 7) as i32);
    if plan.picks[3].is_multiple_of(2) {
        let index = sketch.node("context.index", &[]);
        count = sketch.node("math.minimum", &[("a", index), ("b", count)]);
    }
    let mut links = given.to_vec();
    links.push(count);
    for need in &made.body.captures {
        let instance = Arc::new(capture(registry.capture(), need));
        links.push(sketch.call_instance(&instance, &[])[0]);
    }
    sketch.call_instance(&made.instance, &links)
}
