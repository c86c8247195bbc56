//! Zones with generated groups.

use std::sync::Arc;

use millstream_base::{Limits, Type, Value};
use millstream_compile::PassContext;
use millstream_compile::repeats::compile_zone;
use millstream_ir::Source;
use millstream_node::Registry;
use millstream_node::repeat::capture;
use millstream_node::zone::{Course, Mode, Tolerance};

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
    let over_items =
        plan.set % 2 == 1 && given[..2].iter().all(|it| sketch.type_of(*it).list().is_some());
    let number = if over_items { "context.index" } else { "context.iteration" };
    inside.push(inner.node(number, &[]));
    let group = nodes.get(1..).unwrap_or_default();
    let mut building = Building { sketch: inner, registry, group, has_repeats: true };
    building.nodes(nodes, &mut inside, true);
    let mut inner = building.sketch;
    if over_items {
        return items(sketch, registry, inner, (&inside, &given, sources), plan);
    }
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
    let tolerance = if plan.picks[0].is_multiple_of(2) { 0.0 } else { 0.25 };
    let stable = plan.set.is_multiple_of(5).then(|| Tolerance::new(tolerance));
    let rounds = Course { carries, go, mode: Mode::Rounds { count: 3, stable } };
    let limits = Limits::default();
    let cx = PassContext::new(registry, &limits);
    let Ok(made) = compile_zone(&Arc::from("body"), inner.graph, rounds, &cx) else {
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

/// Adds a loop over items whose body this is: two lists of one length hand it `x` and `y`.
fn items(
    sketch: &mut Sketch<'_>,
    registry: &Registry,
    mut inner: Sketch<'_>,
    (inside, given, sources): (&[Source], &[Source], &[Source]),
    plan: &NodePlan,
) -> Vec<Source> {
    let of_type = |inner: &Sketch<'_>, ty: Type, skip: usize| {
        let mut found = inside.iter().rev().filter(|source| inner.type_of(**source) == ty);
        found.nth(skip).copied()
    };
    let (ty_x, ty_k) = (inner.type_of(inside[0]), inner.type_of(inside[2]));
    let mut carries = Vec::new();
    inner.output("last", of_type(&inner, ty_x, 0).unwrap_or(inside[0]));
    carries.push(None);
    let is_carried = plan.picks[1].is_multiple_of(2);
    if is_carried {
        inner.output("k", of_type(&inner, ty_k, 1).unwrap_or(inside[2]));
        carries.push(Some(2));
    }
    let (mut go, mut keep, mut by) = (None, None, None);
    if let Some(source) = of_type(&inner, Type::BOOL, 0) {
        match plan.picks[2] % 4 {
            0 => go = Some(carries.len()),
            1 => keep = Some(carries.len()),
            _ => {}
        }
        if go.or(keep).is_some() {
            inner.output("flag", source);
            carries.push(None);
        }
    }
    if plan.picks[4].is_multiple_of(2)
        && let Some(source) = of_type(&inner, Type::F32, 0).or(of_type(&inner, Type::I32, 0))
    {
        by = Some(carries.len());
        inner.output("key", source);
        carries.push(None);
    }
    let course = Course { carries, go, mode: Mode::Items { items: vec![0, 1], keep, by } };
    let limits = Limits::default();
    let cx = PassContext::new(registry, &limits);
    let Ok(made) = compile_zone(&Arc::from("body"), inner.graph, course, &cx) else {
        return Vec::new();
    };
    let mut links = Vec::new();
    let n = sketch.constant(Value::I32((plan.picks[3] % 5) as i32));
    let mut count = n;
    if plan.picks[3].is_multiple_of(3) {
        let index = sketch.node("context.index", &[]);
        count = sketch.node("math.minimum", &[("a", index), ("b", n)]);
    }
    for (at, source) in given[..2].iter().enumerate() {
        let one = sketch.node("list.of", &[("items", *source)]);
        let mut list = sketch.node("list.repeat", &[("list", one), ("count", count)]);
        let ty = sketch.type_of(*source);
        let other = sources.iter().rev().find(|it| sketch.type_of(**it) == ty);
        // Now and then the lists differ in length.
        let is_longer = plan.picks[2] % 3 < 2 && (at == 0 || !plan.picks[0].is_multiple_of(16));
        if let Some(other) = other.filter(|_| is_longer) {
            list = sketch.node("list.append", &[("list", list), ("item", *other)]);
        }
        links.push(list);
    }
    links.push(given[2]);
    for need in &made.body.captures {
        let instance = Arc::new(capture(registry.capture(), need));
        links.push(sketch.call_instance(&instance, &[])[0]);
    }
    sketch.call_instance(&made.instance, &links)
}
