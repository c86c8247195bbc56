//! The groups that repeats run, each compiled once as a plan of its own.
//!
//! A group is lowered and goes through the passes as a document does. What is left needs features
//! of the context around the repeat. These become inputs of the plan (`captured`): the nodes that
//! read them are replaced where no scope of the group lies between, else the outputs are evaluated
//! with the features provided. Groups are compiled from the inside out, so nothing recurses.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::Aspect;
use millstream_base::path::Place;
use millstream_base::{Feature, Limits, Need, NodePath, Type};
use millstream_document::{BodyId, Checked, CheckedKind, CheckedRepeat};
use millstream_ir::graph::GraphInput;
use millstream_ir::text::{self, TextError};
use millstream_ir::verify::Stage;
use millstream_ir::{Graph, NodeId, RepeatBody, Source};
use millstream_node::{Instance, Kernel, Registry, repeat};
use millstream_node::{repeat::COUNT, repeat::RepeatSpec, repeat::type_of};
use millstream_run::repeat::Repeat;
use rustc_hash::FxHashMap;

use super::{State, lowered_body};
use crate::analyses::needs;
use crate::expansion::{Expansion, expansion};
use crate::passes::{PASSES, PassContext};
use crate::schedule::{schedule, too_many};
use crate::{assert_sound, order};

/// Why a group cannot be repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum RepeatError {
    /// It reads along an axis around the repeat.
    #[error("the group `{group}`, which it runs, needs the {need} around it")]
    #[diagnostic(
        code(repeat::extent),
        help("compute it outside the group, and give it to the repeat by an input")
    )]
    Extent {
        /// The group.
        group: String,
        /// The extent.
        need: String,
    },
}

/// A compiled repeat.
#[derive(Debug)]
pub struct Made {
    /// What its rounds run.
    pub body: Arc<RepeatBody>,
    /// What the node calls; the captures of the body are its last inputs.
    pub instance: Arc<Instance>,
}

/// How a graph is run round by round.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// Which input of the node says how many: one of the graph's, or the one after them.
    pub count: usize,
    /// For each output of the graph the input that receives it in the next round; all but the one
    /// that says whether to go on have one, of the same type.
    pub carries: Vec<Option<usize>>,
    /// The output that says whether to go on, a bool.
    pub go: Option<usize>,
    /// Whether it ends when a round changes no carried value.
    pub until_stable: bool,
}

/// The repeats of a document; `None` for those of which something in the group is wrong.
#[derive(Debug, Default)]
pub struct Repeats(FxHashMap<CheckedRepeat, Option<Made>>);

impl Repeats {
    /// Compiles a repeat that runs the root of this document.
    ///
    /// # Errors
    /// As [`compile_repeat`], and if groups hold more than the limits allow.
    pub fn of_root(
        checked: &Checked,
        repeat: &CheckedRepeat,
        registry: &Registry,
        limits: &Limits,
    ) -> Result<Self, Diagnostics> {
        let expansion = expansion(checked, limits)?;
        let mut repeats = Self::compile(checked, registry, limits, &expansion)?;
        repeats.add(checked, registry, limits, (&expansion, repeat))?;
        Ok(repeats)
    }

    /// Compiles what the repeats of all bodies run.
    ///
    /// # Errors
    /// As [`compile_repeat`].
    pub(crate) fn compile(
        checked: &Checked,
        registry: &Registry,
        limits: &Limits,
        expansion: &Expansion,
    ) -> Result<Self, Diagnostics> {
        let mut repeats = Self::default();
        for id in &expansion.inside_out {
            for node in &checked.bodies[*id].nodes {
                let CheckedKind::Repeat(repeat) = &node.kind else { continue };
                let added = repeats.add(checked, registry, limits, (expansion, repeat));
                added.map_err(|problems| {
                    inside(problems, &path_of(checked, expansion, *id).child(&node.name))
                })?;
            }
        }
        Ok(repeats)
    }

    /// Compiles what a repeat runs; the repeats in its group are compiled.
    fn add(
        &mut self,
        checked: &Checked,
        registry: &Registry,
        limits: &Limits,
        (expansion, repeat): (&Expansion, &CheckedRepeat),
    ) -> Result<(), Diagnostics> {
        if self.0.contains_key(repeat) {
            return Ok(());
        }
        let (size, state) = (expansion.sizes[repeat.body], State::TakenApart);
        let graph = lowered_body(checked, repeat.body, registry, self, size, state);
        let body = &checked.bodies[repeat.body];
        let is_wrong = body.is_wrong
            || body.inputs.iter().any(|input| input.is_wrong)
            || graph.outputs.len() < body.outputs.len();
        let made = if is_wrong {
            None
        } else {
            let carries = repeat.carries.iter().map(|input| input.map(|input| input as usize));
            let rounds = Rounds {
                count: repeat.count as usize,
                carries: carries.collect(),
                go: repeat.go.map(|go| go as usize),
                until_stable: repeat.until_stable,
            };
            Some(compile_repeat(&body.name, graph, rounds, &PassContext::new(registry, limits))?)
        };
        self.0.insert(repeat.clone(), made);
        Ok(())
    }

    /// A repeat that the document uses; `None` if something in its group is wrong.
    ///
    /// # Panics
    /// If the document does not use it.
    pub fn of(&self, repeat: &CheckedRepeat) -> Option<&Made> {
        let known = self.0.get(repeat);
        known.expect("the repeats of a document are compiled before it is lowered").as_ref()
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

/// Problems of a graph that a node runs, by paths that begin with that of the node.
fn inside(problems: Diagnostics, node: &NodePath) -> Diagnostics {
    let mut all = Diagnostics::new();
    for mut problem in problems {
        let path = problem.place.path.as_str();
        problem.place.path = if path.is_empty() { node.clone() } else { node.child(path) };
        all.push(problem);
    }
    all
}

/// The repeat of a lowered graph, called so.
///
/// # Errors
/// If the graph reads along an axis outside, or uses too many features and levels.
pub fn compile_repeat(
    group: &Arc<str>,
    mut graph: Graph,
    rounds: Rounds,
    cx: &PassContext<'_>,
) -> Result<Made, Diagnostics> {
    run_passes(&mut graph, cx)?;
    made_of(group, graph, rounds, cx)
}

/// The graph that a text describes, with what its repeats run; the inverse of [`text::print`].
///
/// # Errors
/// As [`text::parse_with`].
pub fn read_text(text: &str, cx: &PassContext<'_>) -> Result<Graph, Diagnostics> {
    text::parse_with(text, cx.registry, &mut |repeat| {
        let rounds = Rounds {
            count: repeat.count,
            carries: repeat.carries.to_vec(),
            go: repeat.go,
            until_stable: repeat.until_stable,
        };
        // It has been through the passes when it was printed.
        let made = made_of(&repeat.name.into(), repeat.graph.clone(), rounds, cx);
        made.map(|made| made.instance).map_err(|problems| TextError::Group {
            label: repeat.label.into(),
            problem: problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        })
    })
}

/// The repeat of a graph that has been through the passes.
fn made_of(
    group: &Arc<str>,
    mut graph: Graph,
    rounds: Rounds,
    cx: &PassContext<'_>,
) -> Result<Made, Diagnostics> {
    let authored = graph.clone();
    let captures = captured(&mut graph, group)?;
    run_passes(&mut graph, cx)?;
    let Rounds { count, carries, go, until_stable } = rounds;
    let inputs = authored.inputs().as_slice().iter();
    let mut inputs: Vec<(Arc<str>, Type)> =
        inputs.map(|input| (Arc::clone(&input.name), input.ty)).collect();
    let n_inputs = inputs.len();
    if count == n_inputs {
        inputs.push((COUNT.into(), Type::I32));
    }
    let outputs = authored.outputs.iter().map(|output| (Arc::clone(&output.name), output.ty));
    let digest = digest(&authored, count, &carries);
    let instance = |function| {
        let parts = RepeatSpec {
            group,
            digest: &digest,
            go: go.map_or("", |go| &authored.outputs[go].name),
            until_stable,
            inputs,
            captures: &captures,
            outputs: outputs.collect(),
        };
        Arc::new(repeat::instance(parts, function))
    };
    let body = Arc::new(RepeatBody {
        group: Arc::clone(group),
        plan: schedule(graph, 1.0)?,
        graph: authored.clone(),
        captures: captures.clone(),
        n_inputs,
        count,
        carries,
        go,
        until_stable,
    });
    let instance = instance(Arc::new(Repeat::new(Arc::clone(&body))));
    Ok(Made { body, instance })
}

fn run_passes(graph: &mut Graph, cx: &PassContext<'_>) -> Result<(), Diagnostics> {
    for pass in PASSES {
        (pass.run)(graph, cx)?;
        assert_sound(graph, Stage::Converted, pass.phase);
    }
    Ok(())
}

/// What tells the content of a group from that of others, also of another state of the document.
/// Groups inside it are named by theirs.
fn digest(graph: &Graph, count: usize, carries: &[Option<usize>]) -> String {
    let text = text::print_lines(graph);
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, &text, count, carries).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1))
}

/// Turns what the graph needs of the context into inputs after its own: those that are given back,
/// which are seen from outside the repeat, and the number of the round.
fn captured(graph: &mut Graph, group: &str) -> Result<Vec<Need>, Diagnostics> {
    let order = order(graph)?;
    let needs = needs(graph, &order).map_err(|excess| too_many(graph, &excess))?;
    let mut all = millstream_base::FeatureSet::NONE;
    for output in &graph.outputs {
        all = all.union(needs.of[output.source.node]);
    }
    let needs: Vec<Need> = needs.flow.table.of(all).cloned().collect();
    let is_round = |need: &Need| {
        need.feature == Feature::Iteration && need.level == 0 && need.aspect == Aspect::Value
    };
    let has_scopes =
        order.iter().filter_map(|id| graph.instance_of(*id)).any(|known| known.has_scopes());
    let mut captures = Vec::new();
    let mut inputs: Vec<(Need, NodeId)> = Vec::new();
    for need in needs.iter().filter(|need| !is_round(need)) {
        let of_rounds = need.feature == Feature::Iteration && need.level == 0;
        if need.aspect == Aspect::Extent && (has_scopes || of_rounds) {
            let mut problems = Diagnostics::new();
            let error = RepeatError::Extent { group: group.into(), need: need.to_string() };
            problems.report(Place::at(NodePath::root()), &error);
            return Err(problems);
        }
        // The repeat is the nearest injector of the number of the round.
        let level = need.level - u32::from(need.feature == Feature::Iteration);
        let outside = Need { level, ..need.clone() };
        let input =
            GraphInput { name: format!("/{outside}").into(), ty: type_of(need), default: None };
        inputs.push((need.clone(), graph.add_input(input)));
        captures.push(outside);
    }
    let round = GraphInput { name: "/round".into(), ty: Type::I32, default: None };
    let round = graph.add_input(round);
    let first = Need { feature: Feature::Iteration, level: 0, aspect: Aspect::Value };
    inputs.push((first, round));
    if has_scopes {
        provide(graph, &inputs);
    } else {
        replace(graph, &order, &inputs);
    }
    Ok(captures)
}

/// Puts inputs in the place of the nodes that read them; there are no scopes.
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
