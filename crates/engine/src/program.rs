//! A compiled document.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use millstream_base::NodePath;
use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::Need;
use millstream_document::Document;
use millstream_ir::plan::PlanOutput;
use millstream_ir::states::is_state;
use millstream_ir::unsettled::{Mark, Unsettled};
use millstream_ir::{Answer, EvalError, Evaluator, GraphInput, LogDetail, Plan, Request};
use millstream_run::chunked::PrepareError;
use millstream_run::live::{LiveColumns, LiveProgram, NotNumbers};
use millstream_run::{Auto, Chunked, Parts, Varying, ticks};

use crate::prepared::PreparedProgram;
use crate::run_log::{self, NodeRun};

/// A compiled document. Programs are immutable; several threads may run one at the same time.
#[derive(Clone, Debug)]
pub struct Program {
    document: Arc<Document>,
    plan: Arc<Plan>,
    warnings: Arc<Diagnostics>,
    /// The evaluators of [`run`](Self::run) that no thread uses at the moment, with their buffers
    /// and threads.
    idle: Arc<Mutex<Vec<Auto>>>,
    /// The repeats that did not settle, which any thread may report.
    unsettled: Arc<Mutex<ByPath>>,
}

/// Numbers of rounds by path and moment.
type ByPath = BTreeMap<NodePath, BTreeMap<Option<usize>, u32>>;

impl Program {
    pub(crate) fn new(document: Document, plan: Plan, warnings: Diagnostics) -> Self {
        Self {
            document: Arc::new(document),
            plan: Arc::new(plan),
            warnings: Arc::new(warnings),
            idle: Arc::default(),
            unsettled: Arc::default(),
        }
    }

    /// Evaluates what the request asks for, with the evaluator that is fastest for requests like it
    /// (see [`Auto`]).
    ///
    /// A node that fails leaves the outputs that depend on it without a value, see
    /// [`Answer::failures`]; the others are valid. [`Request::with_partial`] asks for the cells of
    /// such outputs that did not fail. A document with state is evaluated tick by tick,
    /// from its start frame on.
    ///
    /// # Errors
    /// If the request does not fit, or the evaluation was cancelled or exceeded its budget.
    pub fn run(&self, request: &Request) -> Result<Answer, EvalError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let mut auto = known.unwrap_or_default();
        let answer = self.run_with(&mut auto, request);
        idle().push(auto);
        answer
    }

    /// Evaluates with the given evaluator; all give the same bits.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(
        &self,
        evaluator: &mut dyn Evaluator,
        request: &Request,
    ) -> Result<Answer, EvalError> {
        let started = Instant::now();
        let mut answer = if self.plan.has_states() {
            ticks::evaluate(evaluator, &self.plan, request)
        } else {
            ticks::at_once(evaluator, &self.plan, request)
        }?;
        self.note_unsettled(&answer);
        if request.log == LogDetail::Times {
            answer.log.time = started.elapsed().saturating_sub(answer.log.measuring);
        }
        Ok(answer)
    }

    /// Prepares the program for many runs with data like that of the request: single values, or
    /// columns of the same lengths. Names and types are looked up once, through handles; a run is
    /// then nothing but arithmetic.
    ///
    /// ```
    /// use millstream::{Engine, Request};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::new();
    /// let program = engine.load(
    ///     br#"{"millstream": 2, "inputs": {"x": {"type": "f32", "default": 0}},
    ///         "outputs": {"root": {"type": "f32", "from": "root.value"}},
    ///         "nodes": {"root": {"type": "math.sqrt", "in": {"x": {"input": "x"}}}}}"#,
    /// )?;
    /// let mut prepared = program.prepare(&Request::new())?;
    /// let x = prepared.input::<f32>("x")?;
    /// let root = prepared.output::<f32>("root")?;
    /// for value in [4.0, 9.0] {
    ///     prepared.set(x, value);
    ///     prepared.run();
    ///     assert_eq!(prepared.get(root), value.sqrt());
    /// }
    ///
    /// let columns = Request::new().column("x", vec![0.0_f32; 3]);
    /// let mut prepared = program.prepare(&columns)?;
    /// prepared.set_column(x, vec![1.0, 4.0, 9.0]);
    /// prepared.run();
    /// assert_eq!(prepared.values(root), [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the request does not fit, or the outputs depend on state or on something else that is not
    /// arithmetic on numbers; the error names the node.
    pub fn prepare(&self, request: &Request) -> Result<PreparedProgram, PrepareError> {
        let (reads, depends) = request.state_reads(&self.plan);
        let mut nodes = reads.nodes.iter().zip(&depends);
        if let Some((node, _)) = nodes.find(|(_, depends)| **depends) {
            let (place, why) = (format!("`{}`", node.path), "keeps state from tick to tick");
            return Err(PrepareError::NotNumbers { place, why });
        }
        Chunked::new().prepare(&self.plan, request).map(PreparedProgram::new)
    }

    /// Evaluates requests for one block of elements after another. The requests have columns for
    /// the same inputs and are otherwise equal; what does not depend on elements is computed only
    /// once.
    pub fn in_blocks<'a>(
        &'a self,
        evaluator: &'a mut dyn Evaluator,
    ) -> impl FnMut(&Request) -> Result<Answer, EvalError> + 'a {
        self.in_parts(evaluator, Varying::Elements)
    }

    /// Evaluates requests for one region of a view after another, for images larger than memory.
    /// The requests are otherwise equal; what does not depend on the view is computed only once.
    /// The pixels have the same bits as those of the whole image.
    pub fn in_tiles<'a>(
        &'a self,
        evaluator: &'a mut dyn Evaluator,
    ) -> impl FnMut(&Request) -> Result<Answer, EvalError> + 'a {
        self.in_parts(evaluator, Varying::View)
    }

    fn in_parts<'a>(
        &'a self,
        evaluator: &'a mut dyn Evaluator,
        varying: Varying,
    ) -> impl FnMut(&Request) -> Result<Answer, EvalError> + 'a {
        let mut parts = None;
        move |request| {
            if self.plan.has_states() {
                return self.run_with(evaluator, request);
            }
            let new = || Parts::new(evaluator, &self.plan, request, varying);
            let parts = parts.get_or_insert_with(new);
            let answer = parts.evaluate(evaluator, request.clone())?;
            self.note_unsettled(&answer);
            Ok(answer)
        }
    }

    /// The log entry of each node in an evaluation of this program, if its request asked for a log;
    /// see [`run_log`].
    pub fn runs<'a>(&'a self, answer: &'a Answer) -> impl Iterator<Item = NodeRun> + 'a {
        run_log::runs(&self.plan, answer).into_iter().map(|(_, run)| run)
    }

    /// The repeats that end when they are stable, but did not become stable within their number of
    /// rounds, in evaluations by this program since the last call. Repeats inside callbacks and
    /// closures are not listed. Each has its number of rounds by position of the moment on the time
    /// axis of the request; without a time axis, and for results that are the same in all moments,
    /// there are no positions. In a document with state, a moment has the repeats on which its
    /// outputs depend, also those of earlier ticks.
    pub fn take_unsettled(&self) -> Vec<(Unsettled, BTreeMap<usize, u32>)> {
        let known = std::mem::take(&mut *self.known_unsettled());
        let by_moment = known.into_iter().map(|(path, all)| {
            let rounds = all.values().copied().max().unwrap_or(0);
            let moments = all.iter().filter_map(|(moment, rounds)| Some(((*moment)?, *rounds)));
            (Unsettled { path, rounds }, moments.collect())
        });
        by_moment.collect()
    }

    fn known_unsettled(&self) -> MutexGuard<'_, ByPath> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_unsettled(&self, answer: &Answer) {
        if answer.unsettled.is_empty() {
            return;
        }
        let mut known = self.known_unsettled();
        for Mark { unsettled, moment, .. } in &answer.unsettled {
            let of_path = known.entry(unsettled.path.clone()).or_default();
            let rounds = of_path.entry(*moment).or_default();
            *rounds = unsettled.rounds.max(*rounds);
        }
    }

    /// The program as a live graph, for programs of single numbers that are set and read many times
    /// a second: through a handle, setting a value and reading an unchanged one take nanoseconds,
    /// and only what has changed runs.
    ///
    /// ```
    /// use millstream::Engine;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::new();
    /// let program = engine.load(
    ///     br#"{"millstream": 2, "inputs": {"x": {"type": "f32", "default": 4}},
    ///         "outputs": {"root": {"type": "f32", "from": "root.value"}},
    ///         "nodes": {"root": {"type": "math.sqrt", "in": {"x": {"input": "x"}}}}}"#,
    /// )?;
    /// let mut live = program.live()?;
    /// let x = live.input::<f32>("x").expect("it is an input");
    /// let root = live.output::<f32>("root").expect("it is an output");
    /// let graph = live.graph();
    /// graph.observe(root);
    /// assert_eq!(graph.get(root), 2.0);
    /// graph.set(x, 9.0);
    /// assert_eq!(graph.get(root), 3.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a node computes anything but single numbers.
    pub fn live(&self) -> Result<LiveProgram, NotNumbers> {
        LiveProgram::new(&self.plan)
    }

    /// The program as a live graph of values of any type and of columns: after a change of few
    /// elements, nodes run for these elements alone.
    ///
    /// ```
    /// use millstream::{Column, Data, Engine};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::new();
    /// let program = engine.load(
    ///     br#"{"millstream": 2, "inputs": {"x": {"type": "f32"}},
    ///         "outputs": {"root": {"type": "f32", "from": "root.value"},
    ///             "sum": {"type": "f32", "from": "sum.value"}},
    ///         "nodes": {"root": {"type": "math.sqrt", "in": {"x": {"input": "x"}}},
    ///             "sum": {"type": "reduce.sum", "in": {"value": {"from": "root.value"}}}}}"#,
    /// )?;
    /// let mut live = program.live_columns()?;
    /// live.set_column("x", vec![4.0_f32, 9.0, 25.0])?;
    /// assert_eq!(live.get("sum")?.get(0).get::<f32>(), Some(10.0));
    /// // The square root runs for this element alone.
    /// live.set_element("x", 2, 16.0_f32)?;
    /// let Data::Many(roots) = live.get("root")? else { panic!("it has a value per element") };
    /// assert_eq!(roots.as_slice::<f32>(), Some(&[2.0, 3.0, 4.0][..]));
    /// assert_eq!(live.get("sum")?.get(0).get::<f32>(), Some(9.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a node needs more than the elements and one moment: closures, state for each element, or
    /// a changed context other than a reduction over the elements.
    pub fn live_columns(&self) -> Result<LiveColumns, NotNumbers> {
        LiveColumns::new(&self.plan)
    }

    /// The document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Probable mistakes in the document.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The inputs with types and defaults.
    pub fn inputs(&self) -> &[GraphInput] {
        let inputs = self.plan.inputs.as_slice();
        // State inputs come after those that callers set.
        let n_set = inputs.iter().position(|input| is_state(&input.name));
        &inputs[..n_set.unwrap_or(inputs.len())]
    }

    /// The outputs.
    pub fn outputs(&self) -> &[PlanOutput] {
        let outputs = &self.plan.outputs;
        // State outputs come after those that callers read.
        let n_given = outputs.iter().position(|output| is_state(&output.name));
        &outputs[..n_given.unwrap_or(outputs.len())]
    }

    /// Context features that a request must provide.
    pub fn needs(&self) -> impl Iterator<Item = &Need> {
        self.plan.required()
    }
}
