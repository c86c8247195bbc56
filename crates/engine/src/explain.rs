//! Explanations of a document: what each node depends on, what the compiler made of it, and when it
//! runs.
//!
//! [`explain`] follows the nodes of the expanded document through all passes and queries the
//! analyses about those that remain. The [`Explanation`] is plain data; [`text`], [`write_json`],
//! [`dot`] and [`svg`] show it.

mod body;
mod coloring;
mod describe;
mod dot;
mod fate;
mod json;
mod layout;
mod region;
mod rounds;
mod svg;
mod text;

use millstream_base::diagnostics::{Diagnostic, did_you_mean};
use millstream_base::{Place, Type};
use millstream_compile::schedule::schedule;
use millstream_compile::{Options, PASSES, PassContext, compile_graph, lower};
use millstream_document::{Checked, Document, check};
use millstream_ir::answer::LogEntry;
use millstream_ir::states::is_state;
use millstream_ir::{Answer, Evaluator, Graph, LogDetail, Plan, Request, StepId};
use millstream_node::Class;
use rustc_hash::FxHashMap;

use crate::engine::Engine;
use crate::error::Error;
use crate::program::Program;
use crate::run_log::{self, NodeRun};

pub use millstream_compile::Phase;

pub use body::Body;
pub use coloring::Coloring;
pub use dot::dot;
pub use json::{run_json, write_json};
pub use region::{Part, Region};
pub use rounds::Rounds;
pub use svg::{TooLarge, svg};
pub use text::{short, text, told_time};

/// An explanation of a document, node by node.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The document's name.
    pub name: String,
    /// Inputs that are columns, in order of the document.
    pub columns: Vec<String>,
    /// Graph inputs, then the nodes of the expanded document, each after its sources. Constants are
    /// shown at the sockets that read them.
    pub nodes: Vec<Node>,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// The regions, in order of their first nodes, including those of a single node.
    pub regions: Vec<Region>,
    /// The sets of nodes that the memo stores as one entry, where the evaluator `incremental`
    /// walks.
    pub chunks: Vec<Chunk>,
}

/// Nodes whose results the memo stores as one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Positions in [`Explanation::nodes`].
    pub nodes: Vec<usize>,
    /// The position of the node whose result is stored; the others lead to it alone.
    pub root: usize,
    /// The path of the group, if the document makes it one entry.
    pub group: Option<String>,
}

impl Explanation {
    /// The region of a node, if the region has several nodes: its position, and the part of the node.
    pub fn region_of(&self, node: &Node) -> Option<(usize, Part)> {
        node.region.filter(|(region, _)| self.regions[*region].nodes.len() > 1)
    }
}

/// One node of the expanded document.
#[derive(Clone, Debug)]
pub struct Node {
    /// Path of a node, or name of a graph input.
    pub path: String,
    /// The source and the type of a conversion that the compiler inserted: `input x as f64`. Its
    /// path is that of the node or output that it was inserted for.
    pub conversion: Option<String>,
    /// Whether it is an input of the graph.
    pub is_input: bool,
    /// The node type; the value type for an input of the graph.
    pub node_type: String,
    /// Settings that are not the defaults, as JSON.
    pub settings: Vec<(String, String)>,
    /// The inputs.
    pub inputs: Vec<Socket>,
    /// The names and types of the outputs.
    pub outputs: Vec<(String, Type)>,
    /// What the compiler made of it.
    pub fate: Fate,
    /// The class: how often the result can change.
    pub class: Class,
    /// The context features that it needs.
    pub needs: Vec<String>,
    /// Graph inputs that it depends on.
    pub depends_on: Vec<String>,
    /// Axes of the request along which it is computed.
    pub axes: Vec<&'static str>,
    /// When it runs, as a sentence.
    pub runs: String,
    /// The steps of the plan that do its work; for a resolved node, the steps that compute the
    /// provided value.
    pub steps: Vec<StepId>,
    /// The position of its region in [`Explanation::regions`], if it is in one, and its part there.
    pub region: Option<(usize, Part)>,
    /// The body of a repeat.
    pub body: Option<Body>,
    /// The execution of the rounds of a loop.
    pub rounds: Option<Rounds>,
    /// The log entry of its steps, if it has steps and an evaluation is explained.
    pub run: Option<LogEntry>,
    /// The reason for its failure in that evaluation, if it failed.
    pub failure: Option<String>,
}

impl Node {
    /// Whether the node is known not to have run.
    pub fn stood_still(&self) -> bool {
        self.run.is_some_and(|entry| !entry.fate.ran())
    }

    /// The name of the node: its path. An inserted conversion is named after its source and its type.
    pub fn label(&self) -> String {
        self.conversion.as_ref().unwrap_or(&self.path).clone()
    }
}

/// An input socket with its source.
#[derive(Clone, Debug)]
pub struct Socket {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// The source of the value.
    pub from: From,
    /// The change of the context for the source.
    pub scope: Option<Scope>,
}

/// The change of the context that a socket makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The change, in words.
    pub change: String,
    /// Whether the source needs the changed feature; if not, the change is nullified.
    pub has_effect: bool,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// A value that the document states.
    Constant(String),
    /// An output of a node.
    Node {
        /// Position in [`Explanation::nodes`].
        node: usize,
        /// The position of the output.
        output: usize,
    },
}

/// The fate of a node in the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is in the plan.
    Kept,
    /// Its outputs are known.
    Constant(Vec<String>),
    /// It is merged into the node at this position, which does the same to the same inputs.
    SameAs(usize),
    /// It returns this source unchanged, so its readers read the source.
    Replaced(From),
    /// It returned this source evaluated in another context; a copy of the source computes with the
    /// provided value instead.
    Resolved(From),
    /// It is read only within scopes: this number of copies in the plan compute with the values
    /// that scopes provide.
    Scoped(usize),
    /// A node of this type, made by the compiler, does its work.
    As(String),
    /// Nothing reads it any more.
    Unread,
}

/// An output of the document.
#[derive(Clone, Debug)]
pub struct Output {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// The source of the value in the document.
    pub from: From,
}

/// Explains a document. `columns` names the inputs that are columns; `None` means all.
///
/// # Errors
/// Everything that is wrong with the document, or a name in `columns` that is not an input.
pub fn explain(
    engine: &Engine,
    document: &Document,
    columns: Option<&[String]>,
) -> Result<Explanation, Error> {
    let checked = checked(engine, document)?;
    let mut graph =
        lower::lower(&checked, engine.registry(), engine.limits()).map_err(Error::Document)?;
    let cx = PassContext::new(engine.registry(), engine.limits());
    let mut stages: Vec<Graph> = Vec::with_capacity(PASSES.len());
    for pass in PASSES {
        (pass.run)(&mut graph, &cx).map_err(Error::Document)?;
        stages.push(graph.clone());
    }
    let columns = match columns {
        Some(names) => known_columns(&graph, names)?,
        None => all_columns(&graph),
    };
    let told = &mut body::Told::default();
    let explained = describe::describe(&document.name, &stages, &columns, told);
    let mut explanation = explained.map_err(Error::Document)?;
    let plan = schedule(graph, document.fps).map_err(Error::Document)?;
    explanation.chunks = chunks(&explanation, &plan);
    Ok(explanation)
}

/// The memo entries of a plan, in terms of the nodes of an explanation.
fn chunks(explanation: &Explanation, plan: &Plan) -> Vec<Chunk> {
    let mut node_of: FxHashMap<StepId, usize> = FxHashMap::default();
    for (at, node) in explanation.nodes.iter().enumerate() {
        node_of.extend(node.steps.iter().map(|step| (*step, at)));
    }
    let chunk = |steps: Vec<StepId>| {
        let root = steps.last()?;
        let group = plan.paths.whole_around(plan.steps[*root].path);
        let mut nodes: Vec<usize> =
            steps.iter().filter_map(|step| node_of.get(step).copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let group = group.map(|group| plan.paths.get(group).to_string());
        Some(Chunk { nodes, root: *node_of.get(root)?, group })
    };
    millstream_run::incremental::chunks(plan).into_iter().filter_map(chunk).collect()
}

/// Explains one evaluation of a program that this engine compiled: what each node did, in addition
/// to what [`explain`] says for the inputs that the request gives as columns. Times are recorded
/// whatever log the request asks for.
///
/// # Errors
/// Everything that is wrong with the document, or why there is no answer. A node that fails is not
/// an error; the answer lists it.
pub fn explain_run(
    engine: &Engine,
    program: &Program,
    evaluator: &mut dyn Evaluator,
    request: &Request,
) -> Result<(Explanation, Answer), Error> {
    let request = request.clone().with_log(LogDetail::Times);
    let answer = program.run_with(evaluator, &request).map_err(Error::Eval)?;
    let columns: Vec<String> = request.columns().map(str::to_owned).collect();
    let mut explanation = explain(engine, program.document(), Some(&columns))?;
    let runs: FxHashMap<StepId, NodeRun> =
        run_log::runs(program.plan(), &answer).into_iter().collect();
    for node in &mut explanation.nodes {
        for run in node.steps.iter().filter_map(|step| runs.get(step)) {
            match &mut node.run {
                Some(all) => all.add(run.entry),
                None => node.run = Some(run.entry),
            }
            if node.failure.is_none() {
                node.failure.clone_from(&run.failure);
            }
        }
    }
    Ok((explanation, answer))
}

/// The text of a document's graph after a phase, each node with its path.
///
/// # Errors
/// Everything that is wrong with the document.
pub fn graph_after(engine: &Engine, document: &Document, phase: Phase) -> Result<String, Error> {
    Ok(millstream_ir::text::print_with_paths(&graph_of(engine, document, phase)?))
}

/// Explains a document's graph as it is after a phase: the nodes are those that remain, and those
/// that passes made. All inputs count as columns.
///
/// # Errors
/// Everything that is wrong with the document.
pub fn explain_after(
    engine: &Engine,
    document: &Document,
    phase: Phase,
) -> Result<Explanation, Error> {
    let graph = graph_of(engine, document, phase)?;
    let columns = all_columns(&graph);
    let name = match &*document.name {
        "" => format!("after {}", phase.name()),
        name => format!("{name}, after {}", phase.name()),
    };
    let told = &mut body::Told::default();
    describe::describe(&name, &[graph], &columns, told).map_err(Error::Document)
}

fn graph_of(engine: &Engine, document: &Document, phase: Phase) -> Result<Graph, Error> {
    let checked = checked(engine, document)?;
    let limits = engine.limits().clone();
    let options = Options { limits, after: Some(phase), ..Options::default() };
    compile_graph(&checked, engine.registry(), &options).map_err(Error::Document)
}

/// All inputs. State varies by element if a value that callers give does.
fn all_columns(graph: &Graph) -> Vec<millstream_ir::InputId> {
    let inputs = graph.inputs();
    if inputs.as_slice().iter().all(|input| is_state(&input.name)) {
        return Vec::new();
    }
    inputs.iter().map(|(id, _)| id).collect()
}

fn checked(engine: &Engine, document: &Document) -> Result<Checked, Error> {
    let (checked, problems) = check(document, engine.registry(), engine.limits());
    checked.ok_or(Error::Document(problems))
}

fn known_columns(graph: &Graph, names: &[String]) -> Result<Vec<millstream_ir::InputId>, Error> {
    let find = |name: &String| {
        let known = graph.inputs().iter().find(|(_, input)| *input.name == **name);
        known.map(|(id, _)| id).ok_or_else(|| {
            let known = graph.inputs().as_slice().iter().map(|input| &*input.name);
            let hint = match did_you_mean(name, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("inputs: {}", known.collect::<Vec<_>>().join(", ")),
            };
            let error = NoSuchInput { name: name.clone(), hint };
            Error::Document(Diagnostic::new(Place::at(""), &error).into())
        })
    };
    names.iter().map(find).collect()
}

/// A name among the columns is not an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("there is no input called `{name}`")]
#[diagnostic(code(explain::unknown_input), help("{hint}"))]
struct NoSuchInput {
    name: String,
    hint: String,
}

#[cfg(test)]
mod tests;
