//! Deploying: fixes inputs of a document and stores the results that depend on them alone.
//!
//! A call proceeds as follows. Inputs that are not kept become constants, and the passes run. Nodes
//! that then depend on nothing that can change are evaluated once. A result that other nodes read
//! and that is not too large replaces its node, and the nodes that produced it are dropped. The
//! remaining graph is written as a document like any other, with groups expanded and without views.
//! Stateful nodes are not changed.
//!
//! [`Deployed::to_bytes`] gives a compact form of the document, which loads without being compiled.
//!
//! ```
//! use millstream::deploy::{Freeze, deploy};
//! use millstream::{Engine, Request, Value};
//!
//! let engine = Engine::new();
//! let program = engine.load(
//!     br#"{"millstream": 2, "inputs": {"x": {"type": "f32"}, "k": {"type": "f32", "default": 4}},
//!         "outputs": {"y": {"type": "f32", "from": "sum.value"}},
//!         "nodes": {"root": {"type": "math.sqrt", "in": {"x": {"input": "k"}}},
//!                   "sum": {"type": "math.add", "in": {"a": {"input": "x"}, "b": {"from": "root.value"}}}}}"#,
//! )?;
//! let freeze = Freeze { keep: vec!["x".into()], ..Freeze::default() };
//! let deployed = deploy(&engine, program.document(), &freeze)?;
//! assert_eq!(deployed.document.nodes.len(), 1);
//!
//! let compact = engine.load_binary(&deployed.to_bytes())?;
//! let answer = compact.run(&Request::new().set("x", 1.0_f32))?;
//! assert_eq!(answer.value::<f32>("y"), Some(3.0));
//! # Ok::<(), millstream::Error>(())
//! ```

mod binary;
mod columns;
mod write;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::SideTable;
use millstream_base::{NodePath, Place, Type, Value, literal};
use millstream_compile::analyses::{classes, needs};
use millstream_compile::passes::PassContext;
use millstream_compile::schedule::schedule;
use millstream_compile::{PASSES, Pass, Phase, lower, order, passes};
use millstream_document::{Document, check};
use millstream_ir::graph::GraphOutput;
use millstream_ir::states::is_state;
use millstream_ir::{Evaluator, Graph, NodeId, Op, Request, Source, ZoneBody};
use millstream_node::convert::convert_value;
use millstream_node::{Class, Data};
use millstream_run::Lazy;

use crate::engine::Engine;
use crate::error::Error;
use crate::program::Program;

pub use binary::{BinaryError, is_binary};

use binary::{Content, WrittenGraph};

/// Options: which inputs are fixed, and which results are stored.
#[derive(Clone, Debug)]
pub struct Freeze {
    /// Values of inputs that replace their defaults. Kept inputs have them as defaults.
    pub values: Vec<(String, Value)>,
    /// Inputs that remain inputs.
    pub keep: Vec<String>,
    /// Maximal size of a stored result in bytes; nodes with larger results are kept.
    pub store_limit: usize,
}

impl Default for Freeze {
    /// All inputs are fixed to their defaults; results of up to a mebibyte are stored.
    fn default() -> Self {
        Self { values: Vec::new(), keep: Vec::new(), store_limit: 1 << 20 }
    }
}

/// A document that was deployed.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The document.
    pub document: Document,
    /// The constant results, stored or not, in the order of the document.
    pub results: Vec<Settled>,
    /// Number of nodes of the expanded document, before and after.
    pub n_nodes: (usize, usize),
    graph: Graph,
    keep: Vec<String>,
    defaults: Vec<(String, Value)>,
}

impl Deployed {
    /// The compact form of the document, for [`Engine::load_binary`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut instances = self.graph.ids().filter_map(|id| self.graph.instance_of(id));
        if instances.any(|instance| ZoneBody::of(instance).is_some()) {
            return binary::bytes(&Content::Text(millstream_document::save(&self.document)));
        }
        let is_kept = |name: &str| self.keep.iter().any(|kept| kept == name);
        let graph = WrittenGraph::of(&self.document, &self.graph, is_kept, &self.defaults);
        binary::bytes(&Content::Graph(Box::new(graph)))
    }
}

impl Engine {
    /// Loads the compact form of a deployed document, see
    /// [`Deployed::to_bytes`].
    ///
    /// # Errors
    /// If the bytes are damaged, of another version, or name node types that are not registered.
    pub fn load_binary(&self, bytes: &[u8]) -> Result<Program, Error> {
        let wrong = |problem: &dyn miette::Diagnostic| {
            let mut problems = Diagnostics::new();
            problems.report(Place::at(""), problem);
            Error::Document(problems)
        };
        let loaded = match binary::read(bytes).map_err(|error| wrong(&error))? {
            Content::Graph(graph) => graph.load(self.registry()).map_err(|error| wrong(&error))?,
            Content::Text(text) => return self.load(text.as_bytes()),
        };
        let (found, limit) = (loaded.graph.len(), self.limits().expanded_nodes);
        if found > limit {
            return Err(wrong(&BinaryError::TooManyNodes { found, limit }));
        }
        let mut document = Document::new(loaded.name);
        (document.fps, document.start_frame) = (loaded.fps, loaded.start_frame);
        document.inputs = loaded.inputs.into_iter().collect();
        let mut document = write::write(&document, &loaded.graph, |_| true, &[]);
        for (name, face) in loaded.outputs {
            if let Some(output) = document.outputs.get_mut(&name) {
                (output.about, output.unit) = (face.about, face.unit);
            }
        }
        if loaded.graph.outputs.iter().any(|output| is_state(&output.name)) {
            // Compiling takes stateful nodes apart.
            return self.compile(document);
        }
        // The compact form has the compiled graph, without regions and steps.
        let mut graph = loaded.graph;
        let cx = PassContext::new(self.registry(), self.limits());
        passes::fuse(&mut graph, &cx).map_err(Error::Document)?;
        let plan = schedule(graph, loaded.fps).map_err(Error::Document)?;
        Ok(Program::new(document, plan, Diagnostics::new()))
    }
}

/// A result that depends on nothing that can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The node.
    pub path: NodePath,
    /// The type of the result.
    pub ty: Type,
    /// Size in bytes; 0 if it has no value.
    pub bytes: usize,
    /// The fate of the result.
    pub fate: SettledFate,
}

/// The fate of a result that depends on nothing that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledFate {
    /// It is stored, and its producers are dropped.
    Stored,
    /// It is computed when the document is run, being larger than the limit.
    TooLarge,
    /// It is computed when the document is run, because a document cannot contain its type.
    NotWritable,
    /// It is computed when the document is run, because it fails.
    Fails,
}

impl SettledFate {
    /// The fate in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::TooLarge => "computed at start: larger than the limit",
            Self::NotWritable => "computed at start: its type cannot be written",
            Self::Fails => "fails",
        }
    }
}

/// Why an input cannot be fixed or kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum FreezeError {
    /// No input has this name.
    #[error("there is no input called `{name}`")]
    #[diagnostic(code(deploy::unknown_input), help("inputs: {known}"))]
    UnknownInput {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// It has no value to be fixed to.
    #[error("input `{name}` has no value to be fixed to")]
    #[diagnostic(code(deploy::no_value), help("give it a value, or keep it"))]
    NoValue {
        /// The input.
        name: String,
    },
    /// The value is of another type.
    #[error("`{name}` is {wanted}, but was given {found}")]
    #[diagnostic(code(deploy::wrong_type), help("convert the value first"))]
    WrongType {
        /// The input.
        name: String,
        /// Its type.
        wanted: Type,
        /// The type of the value.
        found: Type,
    },
    /// The document would have to contain the value, which its type does not allow.
    #[error("the value of `{name}`, {}, cannot be written", ty.with_article())]
    #[diagnostic(
        code(deploy::not_writable),
        help("keep the input, and give the value when it runs")
    )]
    NotWritable {
        /// The input.
        name: String,
        /// The type of the value.
        ty: Type,
    },
}

fn refuse(error: &FreezeError) -> Error {
    let mut problems = Diagnostics::new();
    problems.report(Place::at(""), error);
    Error::Document(problems)
}

/// Deploys a document.
///
/// # Errors
/// Everything that is wrong with the document, or an input that cannot be fixed.
pub fn deploy(engine: &Engine, document: &Document, freeze: &Freeze) -> Result<Deployed, Error> {
    let (checked, problems) = check(document, engine.registry(), engine.limits());
    let checked = checked.ok_or(Error::Document(problems))?;
    let mut graph = lower::lower_whole(&checked, engine.registry(), engine.limits())
        .map_err(Error::Document)?;
    let before = graph.len();
    let defaults = fix_inputs(&mut graph, freeze).map_err(|error| refuse(&error))?;
    let cx = PassContext::new(engine.registry(), engine.limits());
    for pass in deploying(&graph) {
        (pass.run)(&mut graph, &cx).map_err(Error::Document)?;
    }
    let results = settle(&mut graph, engine, checked.fps, freeze.store_limit)?;
    for pass in deploying(&graph).filter(|pass| pass.phase >= Phase::Prune) {
        (pass.run)(&mut graph, &cx).map_err(Error::Document)?;
    }
    let n_nodes = (before, graph.len());
    let keep = freeze.keep.clone();
    let is_kept = |name: &str| keep.iter().any(|kept| kept == name);
    let document = write::write(document, &graph, is_kept, &defaults);
    Ok(Deployed { document, results, n_nodes, graph, keep, defaults })
}

/// The passes for a graph that is deployed. If there are delayed sockets, scopes are not nullified:
/// the sources of such sockets are not links of the graph, and may need a feature that a scope
/// changes.
fn deploying(graph: &Graph) -> impl Iterator<Item = &'static Pass> + use<> {
    let has_delays = graph.outputs.iter().any(|output| delays(&output.name).is_some());
    PASSES.iter().filter(move |pass| !has_delays || pass.phase != Phase::Nullify)
}

/// The path of the node whose delayed socket reads an output of the graph, if there is one.
fn delays(output: &str) -> Option<&str> {
    output.rsplit_once('.').filter(|(_, what)| *what == lower::DELAYED).map(|(path, _)| path)
}

/// Turns the inputs that are not kept into constants; returns the new defaults of the others.
fn fix_inputs(graph: &mut Graph, freeze: &Freeze) -> Result<Vec<(String, Value)>, FreezeError> {
    let known = |name: &str| graph.inputs().iter().find(|(_, input)| &*input.name == name);
    let unknown = |name: &String| FreezeError::UnknownInput {
        name: name.clone(),
        known: graph.inputs().as_slice().iter().map(|i| &*i.name).collect::<Vec<_>>().join(", "),
    };
    for name in &freeze.keep {
        known(name).ok_or_else(|| unknown(name))?;
    }
    let mut given = SideTable::new(graph.inputs().len(), None);
    for (name, value) in &freeze.values {
        let (id, input) = known(name).ok_or_else(|| unknown(name))?;
        let (wanted, found) = (input.ty, value.ty());
        let value =
            if found == wanted { Some(value.clone()) } else { convert_value(value, wanted) };
        let value =
            value.ok_or_else(|| FreezeError::WrongType { name: name.clone(), wanted, found })?;
        if !literal::is_writable(&value) {
            return Err(FreezeError::NotWritable { name: name.clone(), ty: wanted });
        }
        given[id] = Some(value);
    }
    let mut defaults = Vec::new();
    for node in graph.ids().collect::<Vec<_>>() {
        let Op::Input(id) = graph.op(node) else { continue };
        let input = &graph.inputs()[id];
        let name = input.name.to_string();
        if freeze.keep.contains(&name) {
            defaults.extend(given[id].take().map(|value| (name, value)));
            continue;
        }
        let value = given[id].take().or_else(|| input.default.clone());
        graph.make_const(node, value.ok_or(FreezeError::NoValue { name })?);
    }
    Ok(defaults)
}

/// Evaluates nodes that depend on nothing that can change and that other nodes read, and stores the
/// results where that is possible.
fn settle(
    graph: &mut Graph,
    engine: &Engine,
    fps: f64,
    store_limit: usize,
) -> Result<Vec<Settled>, Error> {
    let order = order(graph).map_err(Error::Document)?;
    let Ok(needs) = needs(graph, &order) else { return Ok(Vec::new()) };
    let classes = classes(graph, &order, &needs);
    let is_settled = |id: NodeId| {
        graph.instance_of(id).is_some() && classes[id] == Class::Static && needs.of[id].is_empty()
    };
    let mut read: Vec<Source> = Vec::new();
    let mut met = rustc_hash::FxHashSet::default();
    let readers = order.iter().filter(|id| !is_settled(**id));
    let links = readers.flat_map(|id| graph.inputs_of(*id).iter().copied());
    for source in links.chain(graph.outputs.iter().map(|output| output.source)) {
        if is_settled(source.node) && met.insert(source) {
            read.push(source);
        }
    }
    if read.is_empty() {
        return Ok(Vec::new());
    }
    read.sort_unstable();
    let values = evaluate(graph, engine, fps, &read)?;
    let mut results = Vec::with_capacity(read.len());
    let mut stored = rustc_hash::FxHashMap::default();
    for (source, value) in read.iter().zip(values) {
        let ty = graph.type_of(*source).expect("a source has a type");
        let bytes = value.as_ref().map_or(0, |value| value.bytes().max(ty.size()));
        let fate = match &value {
            None => SettledFate::Fails,
            Some(value) if !literal::is_writable(value) => SettledFate::NotWritable,
            Some(_) if bytes > store_limit => SettledFate::TooLarge,
            Some(_) => SettledFate::Stored,
        };
        if let (SettledFate::Stored, Some(value)) = (fate, value) {
            stored.insert(*source, Source::first(graph.add_const(value)));
        }
        let path = graph.paths.get(graph.node(source.node).path);
        results.push(Settled { path, ty, bytes, fate });
    }
    for id in graph.ids().collect::<Vec<_>>() {
        for link in graph.inputs_of_mut(id) {
            *link = stored.get(link).copied().unwrap_or(*link);
        }
    }
    for output in &mut graph.outputs {
        output.source = stored.get(&output.source).copied().unwrap_or(output.source);
    }
    Ok(results)
}

/// The values of sources that need neither inputs nor context.
fn evaluate(
    graph: &Graph,
    engine: &Engine,
    fps: f64,
    sources: &[Source],
) -> Result<Vec<Option<Value>>, Error> {
    let mut graph = graph.clone();
    let output = |(k, source): (usize, &Source)| GraphOutput {
        name: k.to_string().into(),
        ty: graph.type_of(*source).expect("a source has a type"),
        source: *source,
    };
    graph.outputs = sources.iter().enumerate().map(output).collect();
    let plan = schedule(graph, fps).map_err(Error::Document)?;
    let request = Request::new().with_limits(engine.limits().clone());
    let answer = Lazy.evaluate(&plan, &request).map_err(Error::Eval)?;
    let values = answer.outputs.into_iter().map(|output| match output.value?.data {
        Data::One(value) => Some(value),
        Data::Many(_) => None,
    });
    Ok(values.collect())
}

/// A value as JSON.
fn json(value: &Value) -> serde_json::Value {
    literal::to_json(value)
}

#[cfg(test)]
mod tests;
