//! The groups that zones run, each compiled once into a plan of its own.
//!
//! A group is lowered and passes through the pipeline like a document. Any features of the context
//! around the zone that it still needs become inputs of the plan (`captured`). Where no scope of
//! the group intervenes, the nodes that read them are replaced; otherwise the outputs are evaluated
//! with the features provided. Groups are compiled from the inside out, so nothing recurses.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::Aspect;
use millstream_base::path::Place;
use millstream_base::{Feature, Limits, Need, NodePath, Type};
use millstream_document::{BodyId, Checked, CheckedKind, CheckedZone};
use millstream_ir::graph::GraphInput;
use millstream_ir::repeat::body_may_be_unsettled;
use millstream_ir::text::{self, TextError};
use millstream_ir::verify::Stage;
use millstream_ir::{Graph, NodeId, Source, ZoneBody};
use millstream_node::zone::{Course, Mode, OwnInput, Sockets, Told};
use millstream_node::{Instance, Kernel, Registry, Zone, repeat};
use millstream_node::{repeat::ZoneSpec, repeat::type_of};
use millstream_run::repeat::RunZone;
use rustc_hash::FxHashMap;

use super::{State, lowered_body};
use crate::analyses::needs;
use crate::expansion::{Expansion, expansion};
use crate::passes::{PASSES, PassContext};
use crate::schedule::{schedule, too_many};
use crate::{assert_sound, order};

/// Why a group cannot run many times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum ZoneError {
    /// The group reads along an axis outside the zone.
    #[error("the group `{group}` that it runs needs the {need} outside it")]
    #[diagnostic(
        code(zone::extent),
        help("compute it outside the group and pass it to the node through an input")
    )]
    Extent {
        /// The group.
        group: String,
        /// The extent.
        need: String,
    },
}

/// A compiled zone.
#[derive(Debug)]
pub struct Made {
    /// The body that it runs.
    pub body: Arc<ZoneBody>,
    /// The instance that the node calls; its last inputs are the captures of the body.
    pub instance: Arc<Instance>,
}

/// The zones of a document; `None` for those with an error in their group.
#[derive(Debug, Default)]
pub struct Zones(FxHashMap<CheckedZone, Option<Made>>);

impl Zones {
    /// Compiles a zone that runs the root of this document.
    ///
    /// # Errors
    /// See [`compile_zone`]; also if groups exceed the limits.
    pub fn of_root(
        checked: &Checked,
        zone: &CheckedZone,
        registry: &Registry,
        limits: &Limits,
    ) -> Result<Self, Diagnostics> {
        let expansion = expansion(checked, limits)?;
        let mut zones = Self::compile(checked, registry, limits, &expansion)?;
        zones.add(checked, registry, limits, (&expansion, zone))?;
        Ok(zones)
    }

    /// Compiles the zones of all bodies.
    ///
    /// # Errors
    /// See [`compile_zone`].
    pub(crate) fn compile(
        checked: &Checked,
        registry: &Registry,
        limits: &Limits,
        expansion: &Expansion,
    ) -> Result<Self, Diagnostics> {
        let mut zones = Self::default();
        for id in &expansion.inside_out {
            for node in &checked.bodies[*id].nodes {
                let CheckedKind::Zone(zone) = &node.kind else { continue };
                let added = zones.add(checked, registry, limits, (expansion, zone));
                added.map_err(|problems| {
                    inside(problems, &path_of(checked, expansion, *id).child(&node.name))
                })?;
            }
        }
        Ok(zones)
    }

    /// Compiles the body of a zone; the zones in its group are already compiled.
    fn add(
        &mut self,
        checked: &Checked,
        registry: &Registry,
        limits: &Limits,
        (expansion, zone): (&Expansion, &CheckedZone),
    ) -> Result<(), Diagnostics> {
        if self.0.contains_key(zone) {
            return Ok(());
        }
        let state = State::TakenApart;
        let graph = lowered_body(checked, zone.body, registry, self, expansion, state);
        let body = &checked.bodies[zone.body];
        let is_wrong = body.is_wrong
            || body.inputs.iter().any(|input| input.is_wrong)
            || graph.outputs.len() < body.outputs.len();
        let made = if is_wrong {
            None
        } else {
            let cx = PassContext::new(registry, limits);
            Some(compile_zone(&body.name, graph, zone.course.clone(), &cx)?)
        };
        self.0.insert(zone.clone(), made);
        Ok(())
    }

    /// A zone that the document uses; `None` if its group has an error.
    ///
    /// # Panics
    /// If the document does not use it.
    pub fn of(&self, zone: &CheckedZone) -> Option<&Made> {
        let known = self.0.get(zone);
        known.expect("the zones of a document are compiled before it is lowered").as_ref()
    }
}

/// The path of the first use of a body.
fn path_of(checked: &Checked, expansion: &Expansion, body: BodyId) -> NodePath {
    let mut paths: FxHashMap<BodyId, NodePath> = FxHashMap::default();
    paths.insert(checked.root, NodePath::root());
    for outer in expansion.inside_out.iter().rev() {
        let Some(path) = paths.get(outer).cloned() else { continue };
        for node in &checked.bodies[*outer].nodes {
            let inner = node.kind.body();
            inner.map(|inner| paths.entry(inner).or_insert_with(|| path.child(&node.name)));
        }
    }
    paths.remove(&body).unwrap_or_else(NodePath::root)
}

/// The problems of a graph that a node runs, with paths that start at the node.
fn inside(problems: Diagnostics, node: &NodePath) -> Diagnostics {
    let mut all = Diagnostics::new();
    for mut problem in problems {
        let path = problem.place.path.as_str();
        problem.place.path = if path.is_empty() { node.clone() } else { node.child(path) };
        all.push(problem);
    }
    all
}

/// The zone with this name for a lowered graph.
///
/// # Errors
/// If the graph reads along an axis outside, or uses too many features and levels.
pub fn compile_zone(
    group: &Arc<str>,
    mut graph: Graph,
    course: Course,
    cx: &PassContext<'_>,
) -> Result<Made, Diagnostics> {
    run_passes(&mut graph, cx)?;
    made_of(group, graph, course, cx)
}

/// The graph that a text describes, with the bodies of its zones; the inverse of [`text::print`].
///
/// # Errors
/// See [`text::parse_with`].
pub fn read_text(text: &str, cx: &PassContext<'_>) -> Result<Graph, Diagnostics> {
    text::parse_with(text, cx.registry, &mut |zone| {
        // It had been through the passes when it was printed.
        let made = made_of(&zone.name.into(), zone.graph.clone(), zone.course, cx);
        made.map(|made| made.instance).map_err(|problems| TextError::Group {
            label: zone.label.into(),
            problem: problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        })
    })
}

/// The zone of a graph that has been through the passes.
fn made_of(
    group: &Arc<str>,
    graph: Graph,
    course: Course,
    cx: &PassContext<'_>,
) -> Result<Made, Diagnostics> {
    let Mode::Ticks { .. } = course.mode else {
        return running(group, graph, course, cx);
    };
    // In a tick, it runs round by round.
    let mode = Mode::Rounds { count: graph.inputs().len(), stable: None };
    let (inputs, outputs) = sockets(&graph, &course);
    let rounds = running(group, graph, Course { mode, ..course.clone() }, cx)?;
    let body = Arc::clone(&rounds.body);
    let spec = ZoneSpec {
        group,
        digest: rounds.instance.settings.text("body"),
        zone: Zone::Simulate,
        settings: Vec::new(),
        inputs,
        captures: &body.captures,
        outputs,
    };
    let function = Arc::new(RunZone::new(Arc::clone(&body)));
    let pick = |ty| Arc::new(cx.registry.pick(ty));
    let instance = repeat::simulation(spec, &course, &rounds.instance, function, pick);
    Ok(Made { instance: Arc::new(instance), body })
}

/// The names and types of the inputs and outputs of a node that runs a graph.
fn sockets(graph: &Graph, course: &Course) -> (Sockets, Sockets) {
    let known = "the types were checked";
    let inputs = graph.inputs().as_slice();
    let outer = inputs
        .iter()
        .enumerate()
        .map(|(i, input)| (Arc::clone(&input.name), course.outer_input(i, input.ty).expect(known)));
    let zone = course.mode.zone();
    let has_input = |name: &str| inputs.iter().any(|input| *input.name == *name);
    let own: Vec<&OwnInput> = match course.mode {
        Mode::Rounds { count, .. } if count == inputs.len() => zone.own_inputs().iter().collect(),
        Mode::Rounds { .. } => Vec::new(),
        Mode::Items { .. } | Mode::Ticks { .. } => zone.inputs_after(has_input).collect(),
    };
    let all_inputs = outer.chain(own.into_iter().map(|own| (own.name.into(), own.ty))).collect();
    let outer = graph.outputs.iter().enumerate().map(|(k, output)| {
        (Arc::clone(&output.name), course.outer_output(k, output.ty).expect(known))
    });
    let told = outputs_after(graph, zone).into_iter().map(|told| (told.name().into(), told.ty()));
    (all_inputs, outer.chain(told).collect())
}

/// The values of outputs that follow those of the graph.
fn outputs_after(graph: &Graph, zone: Zone) -> Vec<Told> {
    let has = |name: &str| graph.outputs.iter().any(|output| *output.name == *name);
    zone.outputs_after(has).collect()
}

/// The zone of a graph that runs round by round or item by item.
fn running(
    group: &Arc<str>,
    mut graph: Graph,
    course: Course,
    cx: &PassContext<'_>,
) -> Result<Made, Diagnostics> {
    let authored = graph.clone();
    let zone = course.mode.zone();
    let captures = captured(&mut graph, group, zone)?;
    run_passes(&mut graph, cx)?;
    let (inputs, outputs) = sockets(&authored, &course);
    let n_outer = inputs.len();
    let digest = digest(&authored, &course);
    let names = authored.inputs().as_slice().iter().map(|input| &*input.name);
    let names: Vec<&str> = names.collect();
    let output_names: Vec<&str> = authored.outputs.iter().map(|output| &*output.name).collect();
    let spec = ZoneSpec {
        group,
        digest: &digest,
        zone,
        settings: course.settings(&names, &output_names),
        inputs,
        captures: &captures,
        outputs,
    };
    let plan = schedule(graph, 1.0)?;
    let body = Arc::new(ZoneBody {
        group: Arc::clone(group),
        may_be_unsettled: body_may_be_unsettled(&course, &plan),
        plan,
        graph: authored.clone(),
        captures: captures.clone(),
        n_inputs: names.len(),
        n_outer,
        course,
        told: outputs_after(&authored, zone),
    });
    let function = Arc::new(RunZone::new(Arc::clone(&body)));
    Ok(Made { instance: Arc::new(repeat::instance(spec, function)), body })
}

fn run_passes(graph: &mut Graph, cx: &PassContext<'_>) -> Result<(), Diagnostics> {
    for pass in PASSES {
        (pass.run)(graph, cx)?;
        assert_sound(graph, Stage::Converted, pass.phase);
    }
    Ok(())
}

/// A digest of the content of a group, which also depends on the state of the document. Nested
/// groups are represented by their own digests.
fn digest(graph: &Graph, course: &Course) -> String {
    let text = text::print_lines(graph);
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, &text, course).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1))
}

/// Turns the features that the graph needs from the context into inputs after its own. Returns them
/// as needs seen from outside the zone, without the number of the run.
fn captured(graph: &mut Graph, group: &str, zone: Zone) -> Result<Vec<Need>, Diagnostics> {
    // The zone is the nearest injector of the number of the run.
    let counted = match zone {
        Zone::Repeat | Zone::Simulate => Feature::Iteration,
        Zone::ForEach => Feature::Index,
    };

    let order = order(graph)?;
    let needs = needs(graph, &order).map_err(|excess| too_many(graph, &excess))?;
    let mut all = millstream_base::FeatureSet::NONE;
    for output in &graph.outputs {
        all = all.union(needs.of[output.source.node]);
    }
    let mut needs: Vec<Need> = needs.flow.table.of(all).cloned().collect();
    // The table has the order of the document, which must not matter to the node.
    needs.sort_unstable();
    let is_number =
        |need: &Need| need.feature == counted && need.level == 0 && need.aspect == Aspect::Value;
    let has_scopes =
        order.iter().filter_map(|id| graph.instance_of(*id)).any(|known| known.has_scopes());
    let mut captures = Vec::new();
    let mut inputs: Vec<(Need, NodeId)> = Vec::new();
    for need in needs.iter().filter(|need| !is_number(need)) {
        let of_runs = need.feature == counted && need.level == 0;
        if need.aspect == Aspect::Extent && (has_scopes || of_runs) {
            let mut problems = Diagnostics::new();
            let error = ZoneError::Extent { group: group.into(), need: need.to_string() };
            problems.report(Place::at(NodePath::root()), &error);
            return Err(problems);
        }
        let level = need.level - u32::from(need.feature == counted);
        let outside = Need { level, ..need.clone() };
        let input =
            GraphInput { name: format!("/{outside}").into(), ty: type_of(need), default: None };
        inputs.push((need.clone(), graph.add_input(input)));
        captures.push(outside);
    }
    let round = GraphInput { name: "/round".into(), ty: Type::I32, default: None };
    let round = graph.add_input(round);
    let first = Need { feature: counted, level: 0, aspect: Aspect::Value };
    inputs.push((first, round));
    if has_scopes {
        provide(graph, &inputs);
    } else {
        replace(graph, &order, &inputs);
    }
    Ok(captures)
}

/// Replaces the nodes that read these needs by inputs; the graph has no scopes.
fn replace(graph: &mut Graph, order: &[NodeId], inputs: &[(Need, NodeId)]) {
    let mut instead: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for id in order {
        let Some(instance) = graph.instance_of(*id) else { continue };
        let Kernel::Read { feature, level, aspect } = &instance.kernel else { continue };
        let known = inputs.iter().find(|(need, _)| {
            need.feature == *feature && need.level == *level && need.aspect == *aspect
        });
        instead.extend(known.map(|(_, input)| (*id, *input)));
    }
    let follow = |source: &mut Source| {
        if let Some(input) = instead.get(&source.node) {
            *source = Source::first(*input);
        }
    };
    for id in order {
        graph.inputs_of_mut(*id).iter_mut().for_each(follow);
    }
    for output in &mut graph.outputs {
        follow(&mut output.source);
    }
}

/// Evaluates the outputs with these features provided, the nearest level first.
fn provide(graph: &mut Graph, inputs: &[(Need, NodeId)]) {
    let mut features: Vec<&Feature> = Vec::new();
    for (need, _) in inputs {
        if !features.contains(&&need.feature) {
            features.push(&need.feature);
        }
    }
    for k in 0..graph.outputs.len() {
        let mut source = graph.outputs[k].source;
        let ty = graph.type_of(source).expect("outputs are linked to nodes");
        for feature in &features {
            let levels = inputs.iter().filter(|(need, _)| need.feature == **feature);
            let instance = Arc::new(repeat::provider(feature, ty));
            let instance = graph.intern_instance(&instance);
            for level in 0..=levels.clone().map(|(need, _)| need.level).max().unwrap_or(0) {
                let given = levels.clone().find(|(need, _)| need.level == level);
                let given = given.map(|(_, input)| *input);
                let given = given.unwrap_or_else(|| graph.add_const(feature.ty().default_value()));
                let links = [source, Source::first(given)];
                let path = graph.node(source.node).path;
                source = Source::first(graph.add_call(instance, &links, path));
            }
        }
        graph.outputs[k].source = source;
    }
}
