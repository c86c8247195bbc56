//! Tests of annotations: every node runs twice.
//!
//! A node type that is annotated static or contextual must give the same result for the same inputs
//! in the same context. Two equal evaluations compute every node of the expanded document. A node
//! whose results differ although its inputs were equal has a wrong annotation; nodes that depend on
//! such a node are not reported. Callbacks are tested for the features that they read: the node
//! type must declare each of them, and some run must read each declared one.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::{Aspect, Need};
use millstream_base::same::Same;
use millstream_base::{Feature, NodePath};
use millstream_compile::schedule::schedule;
use millstream_compile::{Options, Phase, compile_graph};
use millstream_document::{Document, check};
use millstream_ir::answer::{Answer, EvalError};
use millstream_ir::graph::GraphOutput;
use millstream_ir::plan::{PlanOutput, Step};
use millstream_ir::request::Given;
use millstream_ir::trace::reads;
use millstream_ir::unsettled::merge;
use millstream_ir::{Evaluator, Graph, NodeFailure, NodeId, Plan, Request, Source};
use millstream_node::{CallbackFunction, Class, Data};
use millstream_run::Lazy;
use rustc_hash::FxHashSet;

use crate::engine::Engine;
use crate::error::Error;

pub use millstream_ir::unsettled::Unsettled;

/// A node that gave two results for equal inputs in equal contexts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("`{path}` gave two results for equal inputs, but `{node_type}` is annotated {class}")]
#[diagnostic(
    code(twice::lies),
    help("annotate the node type as volatile or stateful, or let it read only its inputs")
)]
pub struct Liar {
    /// The node.
    pub path: NodePath,
    /// Its type.
    pub node_type: String,
    /// The class that the type states.
    pub class: String,
}

/// A node that failed, so that there was nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("`{path}` failed, so its results were not compared: {why}")]
#[diagnostic(
    severity(warning),
    code(twice::failed),
    help("give inputs with which the node does not fail")
)]
pub struct NotCompared {
    /// The node.
    pub path: NodePath,
    /// The message of the failure.
    pub why: String,
}

/// A node that was not run by itself, because no request provides what it reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("`{path}` reads {need}, which no request provides, so it was not run twice by itself")]
#[diagnostic(
    severity(warning),
    code(twice::not_run),
    help("only scopes around it provide that; the results of those scopes were compared")
)]
pub struct NotRun {
    /// The node.
    pub path: NodePath,
    /// The context that it reads.
    pub need: String,
}

/// A node whose callback reads a feature that its type does not declare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("`{path}` reads the feature `{need}`, which `{node_type}` does not declare")]
#[diagnostic(code(twice::undeclared), help("declare it with `reads` in the node type"))]
pub struct Undeclared {
    /// The node.
    pub path: NodePath,
    /// Its type.
    pub node_type: String,
    /// The feature.
    pub need: String,
}

/// A feature that a node type declares but that no callback of its nodes read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("no run of `{node_type}` read the feature `{need}`, which the type declares")]
#[diagnostic(
    severity(warning),
    code(twice::unread),
    help(
        "remove it from the node type, or give inputs with which `{path}` reads it: declaring \
          too much computes nodes too often"
    )
)]
pub struct Unread {
    /// The first node of the type.
    pub path: NodePath,
    /// The type.
    pub node_type: String,
    /// The feature.
    pub need: String,
}

/// The result of running every node twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Twice {
    /// The nodes with a wrong annotation, in the order of the document.
    pub liars: Vec<Liar>,
    /// The nodes that failed, so that their results could not be compared.
    pub failed: Vec<NotCompared>,
    /// The nodes that read context that no request provides, such as the index of an outer loop.
    pub not_run: Vec<NotRun>,
    /// The nodes whose callbacks read features that their types do not declare.
    pub undeclared: Vec<Undeclared>,
    /// The features that node types declare but that none of their callbacks read.
    pub unread: Vec<Unread>,
    /// The repeats that reached their maximum before they became stable.
    pub unsettled: Vec<Unsettled>,
}

/// The number of elements for nodes that read the index.
const ELEMENTS: usize = 4;

/// Runs every node of a document twice on the data of a request, and reports the nodes with a wrong
/// annotation, in the order of the document. The outputs that the request names are ignored. Inputs
/// that the request lacks have their defaults, or the default of their type; missing features are
/// zero, and nodes that read the index run for a few elements.
///
/// # Errors
/// Everything that is wrong with the document, a request that does not fit, or an evaluation that
/// exceeds its limits.
pub fn twice(engine: &Engine, document: &Document, request: &Request) -> Result<Twice, Error> {
    let (checked, problems) = check(document, engine.registry(), engine.limits());
    let checked = checked.ok_or(Error::Document(problems))?;
    let limits = engine.limits().clone();
    let options = Options { limits, after: Some(Phase::Conversions), ..Options::default() };
    let graph = compile_graph(&checked, engine.registry(), &options).map_err(Error::Document)?;
    let (plan, mut asked) = everything(&graph, checked.fps).map_err(Error::Document)?;
    let mut request = completed(request, &plan);
    let not_run = leave_out(&plan, &mut asked, &mut request);
    if asked.is_empty() {
        return Ok(Twice { not_run, ..Twice::default() });
    }
    let run = || -> Result<Answer, EvalError> { Lazy.evaluate(&plan, &request) };
    let answers = [run().map_err(Error::Eval)?, run().map_err(Error::Eval)?];
    let differs = |position: usize| {
        let [a, b] = [0, 1].map(|i| answers[i].outputs[position].value.as_ref());
        match (a.map(|series| &series.data), b.map(|series| &series.data)) {
            (Some(Data::One(a)), Some(Data::One(b))) => !a.same(b),
            (Some(Data::Many(a)), Some(Data::Many(b))) => !a.same(b),
            (None, None) => false,
            _ => true,
        }
    };
    let positions = (0..asked.len()).filter(|position| differs(*position));
    let different: FxHashSet<NodeId> = positions.map(|position| asked[position].node).collect();
    let mut liars = Vec::new();
    for node in graph.ids().filter(|node| different.contains(node)) {
        let Some(instance) = graph.instance_of(node) else { continue };
        let follows = graph.inputs_of(node).iter().any(|link| different.contains(&link.node));
        if !follows && instance.class <= Class::Contextual {
            let path = graph.paths.get(graph.node(node).path);
            let (node_type, class) = (instance.name().to_owned(), instance.class.to_string());
            liars.push(Liar { path, node_type, class });
        }
    }
    let [answer, _] = answers;
    let mut unsettled = Vec::new();
    merge(&mut unsettled, answer.unsettled.into_iter().map(|mark| mark.unsettled));
    let undeclared = undeclared(&graph);
    let failed = answer
        .failures
        .into_iter()
        .filter(|failure| !undeclared.iter().any(|known| known.path == failure.path))
        .map(|NodeFailure { path, message, .. }| NotCompared { path, why: message });
    let (failed, unread) = (failed.collect(), unread(&graph));
    Ok(Twice { liars, failed, not_run, undeclared, unread, unsettled })
}

/// The nodes that run callbacks, with their paths.
fn callbacks(graph: &Graph) -> impl Iterator<Item = (NodePath, &CallbackFunction)> {
    graph.ids().filter_map(|id| {
        let function = CallbackFunction::of(graph.instance_of(id)?)?;
        Some((graph.paths.get(graph.node(id).path), function))
    })
}

fn undeclared(graph: &Graph) -> Vec<Undeclared> {
    let mut found: Vec<Undeclared> = Vec::new();
    for (path, function) in callbacks(graph) {
        for need in function.undeclared() {
            let node_type = function.node_type().to_owned();
            let undeclared = Undeclared { path: path.clone(), node_type, need: need.to_string() };
            if !found.contains(&undeclared) {
                found.push(undeclared);
            }
        }
    }
    found
}

/// For each node type that ran, the declared features that no run read.
fn unread(graph: &Graph) -> Vec<Unread> {
    let mut found: Vec<(Unread, bool)> = Vec::new();
    for (path, function) in callbacks(graph) {
        for (need, is_read) in function.declared().into_iter().flatten() {
            let (node_type, need) = (function.node_type(), need.to_string());
            let known =
                found.iter_mut().find(|(it, _)| it.node_type == node_type && it.need == need);
            match known {
                Some((_, was_read)) => *was_read |= is_read,
                None => {
                    let (path, node_type) = (path.clone(), node_type.to_owned());
                    found.push((Unread { path, node_type, need }, is_read));
                }
            }
        }
    }
    found.into_iter().filter(|(_, is_read)| !is_read).map(|(unread, _)| unread).collect()
}

/// A plan whose outputs are all outputs of all calls, and a list of those.
fn everything(graph: &Graph, fps: f64) -> Result<(Plan, Vec<Source>), Diagnostics> {
    let outputs = |node: NodeId| {
        let n = graph.instance_of(node).map_or(0, |instance| instance.outputs.len());
        (0..n as u32).map(move |output| Source { node, output })
    };
    let asked: Vec<Source> = graph.ids().flat_map(outputs).collect();
    let mut probed = graph.clone();
    let output = |(k, source): (usize, &Source)| GraphOutput {
        name: k.to_string().into(),
        ty: graph.type_of(*source).expect("a source has a type"),
        source: *source,
    };
    probed.outputs = asked.iter().enumerate().map(output).collect();
    Ok((schedule(probed, fps)?, asked))
}

/// The request for all outputs of a plan, completed with everything that the plan needs.
fn completed(request: &Request, plan: &Plan) -> Request {
    let mut request = request.clone().all_outputs();
    for input in plan.inputs.as_slice() {
        if input.default.is_none() && !request.gives_input(&input.name) {
            request = request.set(&*input.name, input.ty.default_value());
        }
    }
    for need in plan.required() {
        if request.gives(&need.feature) {
            continue;
        }
        if need.feature == Feature::Index {
            request = request.count(ELEMENTS);
        } else {
            let value = need.feature.ty().default_value();
            request = request.feature(need.feature.clone(), Given::One(value));
        }
    }
    request
}

/// Removes outputs that need context which requests do not provide; returns the nodes that read
/// that context.
fn leave_out(plan: &Plan, asked: &mut Vec<Source>, request: &mut Request) -> Vec<NotRun> {
    let is_provided = |need: &Need| {
        need.aspect == Aspect::Extent || need.level == 0 && request.gives(&need.feature)
    };
    let needs = |step: &Step| plan.needs.of(plan.needs_of(step));
    let mut lacking: Vec<&Need> = plan.needs.of(plan.interface()).collect();
    lacking.retain(|need| !is_provided(need));
    if lacking.is_empty() {
        return Vec::new();
    }
    let is_whole = |output: &PlanOutput| needs(&plan.steps[output.source.step]).all(is_provided);
    let all = std::mem::take(asked).into_iter().zip(&plan.outputs);
    let whole = all.filter(|(_, output)| is_whole(output));
    let (kept, names): (Vec<Source>, Vec<&str>) =
        whole.map(|(source, output)| (source, &*output.name)).unzip();
    *asked = kept;
    *request = names.into_iter().fold(request.clone(), Request::output);
    let mut not_run = Vec::new();
    for (id, step) in plan.steps.iter() {
        for need in lacking.iter().filter(|need| reads(plan, id, need)) {
            not_run.push(NotRun { path: plan.paths.get(step.path), need: need.to_string() });
        }
    }
    not_run
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use millstream_base::Limits;
    use millstream_document::load;
    use millstream_node::NodeDef;

    use super::*;

    const TEXT: &str = r#"{ "millstream": 2,
      "inputs": { "x": { "type": "f32" } },
      "outputs": { "y": { "type": "f32", "from": "last.value" } },
      "nodes": {
        "count": { "type": "my.counting", "in": { "x": { "input": "x" } } },
        "index": { "type": "context.index" },
        "after": { "type": "math.add", "in": { "a": { "from": "count.value" }, "b": { "from": "index.value" } } },
        "last": { "type": "math.sqrt", "in": { "x": { "from": "after.value" } } }
      } }"#;

    fn counting(class: Class) -> NodeDef {
        let calls = AtomicU32::new(0);
        let count = move |x: f32| x + calls.fetch_add(1, Ordering::Relaxed) as f32;
        NodeDef::from_closure("my.counting", "Counts its calls", &["x"], count).class(class)
    }

    fn liars_with(class: Class, request: &Request) -> Vec<String> {
        let mut engine = Engine::new();
        engine.register(counting(class));
        let (document, problems) = load(TEXT.as_bytes(), &Limits::default());
        let document = document.unwrap_or_else(|| panic!("the document loads: {problems}"));
        let liars = twice(&engine, &document, request).expect("it runs").liars;
        liars.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_node_that_counts_its_calls_lies() {
        let said =
            "`count` gave two results for equal inputs, but `my.counting` is annotated static";
        assert_eq!(liars_with(Class::Static, &Request::new()), [said]);
    }

    #[test]
    fn a_node_that_says_so_does_not_lie() {
        assert_eq!(liars_with(Class::Volatile, &Request::new()), [""; 0]);
    }

    #[test]
    fn a_lie_that_depends_on_what_is_given_comes_out_with_it() {
        let calls = AtomicU32::new(0);
        let count = move |x: f32| {
            let n = calls.fetch_add(1, Ordering::Relaxed);
            if x > 10.0 { x + n as f32 } else { x }
        };
        let mut engine = Engine::new();
        let def = NodeDef::from_closure("my.counting", "Counts its calls", &["x"], count);
        engine.register(def.class(Class::Static));
        let (document, _) = load(TEXT.as_bytes(), &Limits::default());
        let document = document.expect("the document loads");
        let n_liars =
            |request: &Request| twice(&engine, &document, request).expect("fits").liars.len();
        assert_eq!(n_liars(&Request::new().set("x", 2.0_f32)), 0);
        assert_eq!(n_liars(&Request::new().set("x", 20.0_f32)), 1);
        let column = Request::new().column("x", vec![1.0_f32, 11.0]).frame(4);
        assert_eq!(n_liars(&column), 1);
        let wrong = twice(&engine, &document, &Request::new().set("y", 1.0_f32));
        assert!(matches!(wrong, Err(Error::Eval(EvalError::Request(_)))), "{wrong:?}");
    }
}
