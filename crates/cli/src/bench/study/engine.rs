//! The engine's own strategies: its evaluators on the document of a graph, and live graphs.

use std::num::NonZeroUsize;

use millstream::evaluate::{
    AnyEvaluator, EVALUATORS, Incremental, PreparedInput, PreparedOutput, PreparedProgram,
};
use millstream::live::{Handle, LiveGraph, Op as LiveOp, Propagation};
use millstream::{Engine, LogDetail, Program, Request, Value};

use super::graph::{Graph, Id, Op};
use super::strategy::{Change, NoRead, Strategy};

/// The evaluator of this name on at most this many threads.
pub(super) fn evaluator(name: &str, threads: NonZeroUsize) -> AnyEvaluator {
    let row = EVALUATORS.iter().find(|row| row.name == name);
    (row.expect("the name is in the table").new)(threads)
}

/// An evaluator with its requests.
pub(super) struct Evaluated {
    name: String,
    evaluator: AnyEvaluator,
    program: Program,
    /// The values of sources, by id.
    values: Vec<f64>,
    is_selector: Vec<bool>,
    sources: Vec<Id>,
    requests: Vec<Request>,
    runs: u64,
}

impl Evaluated {
    /// The evaluator of this name, on one thread.
    pub(super) fn named(name: &str, engine: &Engine, graph: &Graph) -> Result<Self, NoRead> {
        Self::new(name.into(), evaluator(name, NonZeroUsize::MIN), engine, graph)
    }

    /// The incremental evaluator that walks, with a memo of at most this many bytes.
    pub(super) fn remembering(
        name: &str,
        bytes: usize,
        engine: &Engine,
        graph: &Graph,
    ) -> Result<Self, NoRead> {
        let evaluator = Incremental::new().without_live_graph().budget(bytes);
        Self::new(name.into(), Box::new(evaluator), engine, graph)
    }

    fn new(
        name: String,
        evaluator: AnyEvaluator,
        engine: &Engine,
        graph: &Graph,
    ) -> Result<Self, NoRead> {
        let program = engine.load(graph.document().as_bytes());
        let program = program.map_err(|error| NoRead::Refused(error.to_string()))?;
        Ok(Self {
            name,
            evaluator,
            program,
            values: graph.initial().to_vec(),
            is_selector: graph.ids().map(|id| graph.op(id) == Op::Selector).collect(),
            sources: graph.ids().filter(|id| graph.is_source(*id)).collect(),
            requests: Vec::new(),
            runs: 0,
        })
    }

    /// A request for the values of sources.
    fn request(&self) -> Request {
        self.sources.iter().fold(Request::new(), |request, id| {
            let value = self.values[*id as usize];
            let value = if self.is_selector[*id as usize] {
                Value::Bool(value != 0.0)
            } else {
                Value::F64(value)
            };
            request.set(format!("x{id}"), value)
        })
    }
}

impl Strategy for Evaluated {
    fn name(&self) -> String {
        format!("engine: {}", self.name)
    }

    fn prepare(&mut self, changes: &[Change], counts: bool) {
        self.requests.clear();
        for change in changes {
            for (source, value) in change {
                self.values[*source as usize] = *value;
            }
            let mut request = self.request();
            if counts {
                request = request.with_log(LogDetail::Counts);
            }
            self.requests.push(request);
        }
    }

    fn read(&mut self, _changes: &[Change]) -> Result<f64, NoRead> {
        let refused = |error: millstream::EvalError| NoRead::Refused(error.to_string());
        let (last, before) = self.requests.split_last().expect("a read follows a change");
        for request in before {
            self.evaluator.commit(self.program.plan(), request).map_err(refused)?;
        }
        let answer = self.program.run_with(&mut *self.evaluator, last).map_err(refused)?;
        self.runs += answer.log.total_runs();
        let value = answer.value::<f64>("y").expect("the output is a number");
        self.evaluator.give_back(answer);
        Ok(value)
    }

    fn runs(&self) -> Option<u64> {
        Some(self.runs)
    }
}

/// A document prepared for single values: names are looked up once, and a read runs a compiled list
/// of all nodes.
pub(super) struct Prepared {
    program: PreparedProgram,
    sources: Vec<Option<PreparedSource>>,
    output: PreparedOutput<f64>,
}

/// An input, by the type of its value.
#[derive(Clone, Copy)]
enum PreparedSource {
    Number(PreparedInput<f64>),
    Selector(PreparedInput<bool>),
}

impl Prepared {
    pub(super) fn new(engine: &Engine, graph: &Graph) -> Result<Self, NoRead> {
        let refused = |error: &dyn std::error::Error| NoRead::Refused(error.to_string());
        let program = engine.load(graph.document().as_bytes()).map_err(|e| refused(&e))?;
        let program = program.prepare(&Request::new()).map_err(|e| refused(&e))?;
        let source = |id: Id| {
            let name = format!("x{id}");
            let source = match graph.op(id) {
                Op::Source => program.input(&name).map(PreparedSource::Number),
                Op::Selector => program.input(&name).map(PreparedSource::Selector),
                Op::Add | Op::Subtract | Op::Max | Op::Min | Op::Switch => return Ok(None),
            };
            source.map(Some).map_err(|e| refused(&e))
        };
        let sources = graph.ids().map(source).collect::<Result<_, _>>()?;
        let output = program.output("y").map_err(|e| refused(&e))?;
        Ok(Self { program, sources, output })
    }
}

impl Strategy for Prepared {
    fn name(&self) -> String {
        "engine: prepared program".into()
    }

    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead> {
        for (source, value) in changes.iter().flatten() {
            match self.sources[*source as usize] {
                Some(PreparedSource::Number(handle)) => self.program.set(handle, *value),
                Some(PreparedSource::Selector(handle)) => self.program.set(handle, *value != 0.0),
                None => unreachable!("only sources change"),
            }
        }
        self.program.run();
        Ok(self.program.get(self.output))
    }

    fn runs(&self) -> Option<u64> {
        None
    }
}

/// A live graph built without a document, accessed through its handles.
pub(super) struct Live {
    graph: LiveGraph,
    sources: Vec<Source>,
    output: Handle<f64>,
    propagation: Propagation,
}

/// A node of a live graph, by the type of its value.
#[derive(Clone, Copy)]
enum Source {
    Number(Handle<f64>),
    Selector(Handle<bool>),
}

impl Source {
    fn number(self) -> Handle<f64> {
        match self {
            Self::Number(handle) => handle,
            Self::Selector(_) => unreachable!("selectors take part in no arithmetic"),
        }
    }
}

impl Live {
    pub(super) fn new(graph: &Graph, propagation: Propagation) -> Self {
        let mut live = LiveGraph::new();
        let mut nodes: Vec<Source> = Vec::with_capacity(graph.len());
        for id in graph.ids() {
            let initial = graph.initial()[id as usize];
            let at = |k: usize| nodes[graph.inputs(id)[k] as usize];
            let node = match graph.op(id) {
                Op::Source => Source::Number(live.source(initial)),
                Op::Selector => Source::Selector(live.source(initial != 0.0)),
                Op::Switch => {
                    let Source::Selector(selector) = at(0) else {
                        unreachable!("a switch has a selector")
                    };
                    let arms = [at(1).number(), at(2).number()];
                    Source::Number(live.switch(selector, &arms))
                }
                op @ (Op::Add | Op::Subtract | Op::Max | Op::Min) => {
                    let op = match op {
                        Op::Subtract => LiveOp::Sub,
                        Op::Max => LiveOp::Max,
                        Op::Min => LiveOp::Min,
                        _ => LiveOp::Add,
                    };
                    Source::Number(live.binary(op, at(0).number(), at(1).number()))
                }
            };
            nodes.push(node);
        }
        live.set_propagation(propagation);
        let output = nodes[graph.output() as usize].number();
        live.observe(output);
        live.get(output);
        Self { graph: live, sources: nodes, output, propagation }
    }
}

impl Strategy for Live {
    fn name(&self) -> String {
        let name = match self.propagation {
            Propagation::Pull => "pull",
            Propagation::Push => "push",
            Propagation::RetractAndAssert => "retract and assert",
            Propagation::Mixed => "mixed",
        };
        format!("live graph: {name}")
    }

    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead> {
        for change in changes {
            for (source, value) in change {
                match self.sources[*source as usize] {
                    Source::Number(handle) => self.graph.set(handle, *value),
                    Source::Selector(handle) => self.graph.set(handle, *value != 0.0),
                }
            }
            self.graph.commit().expect("no node is a callback");
        }
        Ok(self.graph.get(self.output))
    }

    fn runs(&self) -> Option<u64> {
        Some(self.graph.n_runs())
    }
}
