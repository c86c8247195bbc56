//! The keys of results, frame by frame.

use std::sync::Arc;

use millstream_base::{Column, Feature, Value};
use millstream_ir::answer::{EvalError, Evaluator};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Given, Request};
use millstream_ir::state_reads::StateReads;
use millstream_node::{Data, Kernel};
use rustc_hash::FxHashMap;

use crate::cheap::Cheap;
use crate::cones::Cones;
use crate::key::{FORMAT, Key, KeyHasher};
use crate::trace::{Arms, Hole, Trace, Tracer};

/// Frames whose cheap results are computed together.
const BLOCK: usize = 1 << 16;

/// If choices take more different combinations of arms, selectors are treated like any other
/// result.
const MAX_COMBINATIONS: usize = 64;

/// The first character of the names of results that are not outputs, which names of authors cannot
/// contain.
pub(crate) const MARK: char = '\u{1}';

/// Computes keys of results of one plan.
pub(crate) struct Keys<'a> {
    plan: &'a Plan,
    request: &'a Request,
    tracer: Tracer<'a>,
    /// The frames that have keys; with state, all frames from the first tick on.
    frames: Vec<i64>,
    /// A key that is part of all others: format, version, number of elements.
    base: Key,
    /// The results in the boundary, along the frames.
    boundary: Vec<Data>,
    /// The arms that choices take: the combinations, and the combination of each frame.
    combinations: Vec<Arms>,
    combination: Vec<u32>,
    traces: FxHashMap<(StepSource, u32), Arc<Trace>>,
    /// The outputs whose requests decide which state inside scopes advances.
    asked: Vec<StepId>,
    /// The stateful nodes.
    pub(crate) reads: StateReads<'a>,
    /// The nodes whose state results of a step depend on.
    depends: FxHashMap<StepId, Arc<[bool]>>,
    /// The nodes whose state the values of a step depend on, and those that the next state of a node
    /// depends on.
    read_by: FxHashMap<StepId, Arc<[bool]>>,
    depends_of_nodes: FxHashMap<usize, Arc<[bool]>>,
    /// The keys of state after each frame, by the variables that it consists of, in order; `None`
    /// if the state cannot be stored.
    chains: FxHashMap<Vec<usize>, Option<Chain>>,
    /// The same for state of which some is inside scopes, by its nodes.
    chains_inside: FxHashMap<Vec<bool>, Option<Chain>>,
    /// The same for results that read state, and for the state of nodes.
    of_results: FxHashMap<StepSource, Option<Chain>>,
    of_nodes: FxHashMap<usize, Option<Chain>>,
}

/// The keys of some state.
#[derive(Clone)]
struct Chain {
    /// A key for each frame.
    keys: Arc<Vec<Key>>,
    /// The labels of nodes if some of them are inside scopes, see [`Cones`].
    labels: Option<Arc<Vec<Key>>>,
}

/// The values of cheap results at some frames; `None` if one of them fails.
fn values_of(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
    frames: &[i64],
    boundary: &FxHashMap<StepSource, u32>,
) -> Result<Option<Vec<Data>>, EvalError> {
    let mut sources: Vec<(StepSource, u32)> =
        boundary.iter().map(|(source, number)| (*source, *number)).collect();
    sources.sort_unstable_by_key(|(_, number)| *number);
    let name = |number: u32| format!("{MARK}{number}");
    let published = sources.iter().map(|(source, number)| (*source, name(*number).into()));
    let mut plan = plan.spliced(&[], &published.collect::<Vec<(StepSource, Arc<str>)>>());
    // Cheap steps do not read state.
    plan.outputs.retain(|output| output.name.starts_with(MARK));
    plan.state_writers.clear();
    if sources.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let request = sources
        .iter()
        .fold(request.clone().all_outputs(), |all, (_, number)| all.output(name(*number)));
    let mut blocks: Vec<Vec<Data>> = vec![Vec::new(); sources.len()];
    for block in frames.chunks(BLOCK) {
        let answer = evaluator.evaluate(&plan, &request.clone().frames(block.to_vec()))?;
        for (values, output) in blocks.iter_mut().zip(answer.outputs) {
            let Some(series) = output.value else { return Ok(None) };
            values.push(series.data);
        }
    }
    let joined = |blocks: Vec<Data>| {
        let is_one = blocks.iter().all(|block| matches!(block, Data::One(_)));
        let mut blocks = blocks.into_iter();
        if is_one || blocks.len() == 1 {
            return blocks.next().unwrap_or(Data::Many(Column::from_vec(Vec::<f32>::new())));
        }
        let columns = blocks.zip(frames.chunks(BLOCK)).map(|(block, frames)| match block {
            Data::One(value) => Column::filled(&value, frames.len()),
            Data::Many(column) => column,
        });
        let columns: Vec<Column> = columns.collect();
        let ty = columns[0].ty();
        Data::Many(Column::concat(ty, &columns).expect("a result has one type in all frames"))
    };
    Ok(Some(blocks.into_iter().map(joined).collect()))
}

impl<'a> Keys<'a> {
    /// Keys for results of a plan in these frames; `None` if a cheap result fails, so that other
    /// steps have to be treated as cheap.
    pub(crate) fn new(
        evaluator: &mut dyn Evaluator,
        plan: &'a Plan,
        request: &'a Request,
        frames: Vec<i64>,
        (cheap, asked): (&'a Cheap, &[usize]),
    ) -> Result<Option<Self>, EvalError> {
        let tracer = Tracer::new(plan, request, cheap);
        let Some(boundary) = values_of(evaluator, plan, request, &frames, &tracer.boundary)? else {
            return Ok(None);
        };
        let mut base = KeyHasher::new("millstream");
        base.number(FORMAT.into());
        base.text(env!("CARGO_PKG_VERSION"));
        base.number(request.n_elements().map_or(u64::MAX, |n| n as u64));
        let mut keys = Self {
            plan,
            request,
            tracer,
            base: base.key(),
            boundary,
            combinations: Vec::new(),
            combination: Vec::new(),
            traces: FxHashMap::default(),
            reads: StateReads::new(plan, asked),
            asked: asked.iter().map(|output| plan.outputs[*output].source.step).collect(),
            depends: FxHashMap::default(),
            read_by: FxHashMap::default(),
            depends_of_nodes: FxHashMap::default(),
            chains: FxHashMap::default(),
            chains_inside: FxHashMap::default(),
            of_results: FxHashMap::default(),
            of_nodes: FxHashMap::default(),
            frames,
        };
        keys.find_combinations(cheap);
        Ok(Some(keys))
    }

    /// The number of a frame by its position.
    pub(crate) fn frame(&self, position: usize) -> i64 {
        self.frames[position]
    }

    /// The value of a result at a frame, if it is cheap.
    pub(crate) fn cheap_value(&self, source: StepSource, position: usize) -> Option<Value> {
        match &self.boundary[*self.tracer.boundary.get(&source)? as usize] {
            Data::One(value) => Some(value.clone()),
            Data::Many(column) => Some(column.get(position)),
        }
    }

    /// Finds the arms that choices with a cheap selector take in each frame.
    fn find_combinations(&mut self, cheap: &Cheap) {
        let plan = self.plan;
        let choices = plan.steps.iter().filter_map(|(id, step)| {
            let StepOp::Call(call) = step.op else { return None };
            if !matches!(plan.instances[call].kernel, Kernel::Choose) || cheap.is_cheap[id] {
                return None;
            }
            let (selector, arms) = plan.inputs_of(step).split_first()?;
            let is_known =
                !plan.instances[call].has_scopes() && self.tracer.boundary.contains_key(selector);
            is_known.then_some((id, *selector, arms.len()))
        });
        let choices: Vec<(StepId, StepSource, usize)> = choices.collect();
        let mut known: FxHashMap<Vec<usize>, u32> = FxHashMap::default();
        for position in 0..self.frames.len() {
            let arms = choices.iter().map(|(_, selector, n)| {
                let value = self.cheap_value(*selector, position);
                let arm = match value {
                    Some(Value::Bool(is_second)) => usize::from(is_second),
                    Some(Value::I32(arm)) => usize::try_from(arm).unwrap_or(0),
                    _ => unreachable!("selectors are bool or i32"),
                };
                1 + arm.min(n - 1)
            });
            let arms: Vec<usize> = arms.collect();
            let next = known.len() as u32;
            let number = *known.entry(arms.clone()).or_insert_with(|| {
                let arms = choices.iter().zip(arms).map(|((id, ..), arm)| (*id, arm));
                self.combinations.push(arms.collect());
                next
            });
            self.combination.push(number);
            if known.len() > MAX_COMBINATIONS {
                break;
            }
        }
        let reads_state = (0..self.reads.nodes.len()).any(|node| self.reads.is_read(node));
        if known.len() > MAX_COMBINATIONS || reads_state {
            // State depends on all previous frames, so distinguishing combinations would hardly
            // help.
            self.combinations = vec![Arms::default()];
            self.combination = vec![0; self.frames.len()];
        }
    }

    /// The arms that choices take at a frame.
    pub(crate) fn arms(&self, position: usize) -> &Arms {
        &self.combinations[self.combination[position] as usize]
    }

    fn trace(&mut self, source: StepSource, position: usize) -> Arc<Trace> {
        let combination = self.combination[position];
        let trace = self.traces.entry((source, combination)).or_insert_with(|| {
            Arc::new(self.tracer.trace(source, &self.combinations[combination as usize]))
        });
        Arc::clone(trace)
    }

    /// The key of the steps above a result.
    pub(crate) fn structure(&mut self, source: StepSource) -> Key {
        self.trace(source, 0).structure
    }

    /// The key of a result at a frame; `None` if it cannot be stored.
    pub(crate) fn key(&mut self, source: StepSource, position: usize) -> Option<Key> {
        let trace = self.trace(source, position);
        let mut hash = KeyHasher::new("result");
        hash.add(self.base);
        if !self.add_trace(&trace, position, &mut hash) {
            return None;
        }
        if !trace.readers.is_empty() || !trace.states.is_empty() {
            // A result is not stored if the tick of its state fails, so it depends on that tick too.
            let chain = self.chain_of_result(source, &trace)?;
            hash.text("tick");
            hash.add(chain.keys[position]);
            if let Some(labels) = &chain.labels {
                for step in &trace.readers {
                    let read = self.reads.read_at(*step);
                    hash.add(labels[read.expect("it reads the state of a node").0]);
                }
                for name in &trace.states {
                    self.add_variable(self.output_of(name), labels, &mut hash);
                }
            }
        }
        Some(hash.key())
    }

    /// The nodes whose state the results of a step depend on.
    pub(crate) fn depends(&mut self, step: StepId) -> Arc<[bool]> {
        let reads = &self.reads;
        let depends = self.depends.entry(step).or_insert_with(|| reads.of_steps([step]).into());
        Arc::clone(depends)
    }

    /// The nodes whose state the values of a step depend on: without those that may only call the
    /// same nodes.
    pub(crate) fn read_by(&mut self, step: StepId) -> Arc<[bool]> {
        let reads = &self.reads;
        Arc::clone(self.read_by.entry(step).or_insert_with(|| reads.read_by([step]).into()))
    }

    /// The nodes whose state the next state of a node depends on.
    pub(crate) fn depends_of_node(&mut self, node: usize) -> Arc<[bool]> {
        let reads = &self.reads;
        Arc::clone(self.depends_of_nodes.entry(node).or_insert_with(|| reads.of_node(node).into()))
    }

    /// The keys of the state that a result depends on.
    fn chain_of_result(&mut self, source: StepSource, trace: &Trace) -> Option<Chain> {
        if let Some(chain) = self.of_results.get(&source) {
            return chain.clone();
        }
        let depends = self.depends(source.step);
        let first = trace.states.iter().map(|name| self.output_of(name)).collect();
        let chain = self.chain(first, &depends);
        self.of_results.insert(source, chain.clone());
        chain
    }

    /// The output with the next state of a variable.
    fn output_of(&self, name: &str) -> usize {
        let output = self.plan.output_named(name);
        output.expect("state leaves under the name under which it enters")
    }

    /// The key of the state of a node after a frame; `None` if it cannot be stored.
    pub(crate) fn state_key(&mut self, node: usize, position: usize) -> Option<Key> {
        if !self.of_nodes.contains_key(&node) {
            let mut depends = self.depends_of_node(node).to_vec();
            depends[node] = true;
            let first = self.variables(node);
            let chain = self.chain(first, &depends);
            self.of_nodes.insert(node, chain);
        }
        let chain = self.of_nodes[&node].clone()?;
        let mut hash = KeyHasher::new("state");
        hash.add(chain.keys[position]);
        if let Some(labels) = &chain.labels {
            // Several nodes may have the same chain.
            hash.add(labels[node]);
            for output in self.variables(node) {
                self.add_variable(output, labels, &mut hash);
            }
        }
        Some(hash.key())
    }

    /// Adds a variable of state, given by the output with its next value.
    fn add_variable(&self, output: usize, labels: &[Key], hash: &mut KeyHasher) {
        let node = self.node_of(output);
        hash.add(labels[node]);
        let mut variables = self.reads.nodes[node].outputs.iter();
        let at = variables.position(|known| *known == output);
        hash.number(at.expect("the variable is one of the node") as u64);
    }

    /// The names of the state of a node in tables, if it is inside scopes.
    pub(crate) fn columns(&self, node: usize) -> Vec<Arc<str>> {
        let writer = self.reads.nodes[node].writer.map(|writer| &self.plan.state_writers[writer]);
        let values = writer.into_iter().flat_map(|writer| &writer.values);
        values.map(|value| Arc::clone(&value.name)).collect()
    }

    /// The outputs with the next state of a node, in an order that does not depend on names.
    pub(crate) fn variables(&mut self, node: usize) -> Vec<usize> {
        let outputs = self.reads.nodes[node].outputs.clone();
        let keyed = outputs.into_iter().map(|it| (self.trace_of_output(it).structure, it));
        let mut keyed: Vec<(Key, usize)> = keyed.collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, output)| output).collect()
    }

    fn trace_of_output(&mut self, output: usize) -> Arc<Trace> {
        self.trace(self.plan.outputs[output].source, 0)
    }

    /// Adds structure and holes; `false` if the result has no key.
    fn add_trace(&self, trace: &Trace, position: usize, hash: &mut KeyHasher) -> bool {
        hash.add(trace.structure);
        let mut has_key = trace.has_key;
        for hole in &trace.holes {
            has_key &= self.add_hole(*hole, position, hash);
        }
        has_key
    }

    fn add_hole(&self, hole: Hole, position: usize, hash: &mut KeyHasher) -> bool {
        match hole {
            Hole::Boundary(number) => match &self.boundary[number as usize] {
                Data::One(value) => add(value, hash),
                Data::Many(column) => add(&column.get(position), hash),
            },
            Hole::Feature(bit) => {
                let need = self.plan.needs.need(bit);
                let frame = self.frames[position];
                match (&need.feature, self.request.of_feature(&need.feature)) {
                    (Feature::Time, _) => {
                        hash.number((frame as f64 / self.plan.fps).to_bits());
                        true
                    }
                    (Feature::Tick, _) => {
                        hash.number(frame as u64);
                        true
                    }
                    (_, Some(Given::One(value))) => add(value, hash),
                    // The request lacks it, and will be refused.
                    _ => true,
                }
            }
        }
    }

    /// All variables that some variables depend on, in the order in which their traces read them.
    /// The variables of a node advance together.
    fn ordered(&mut self, first: Vec<usize>) -> Vec<usize> {
        let mut order = first;
        let (mut n_traced, mut n_whole) = (0, 0);
        loop {
            if let Some(output) = order.get(n_traced).copied() {
                n_traced += 1;
                for name in &self.trace_of_output(output).states {
                    let read = self.output_of(name);
                    if !order.contains(&read) {
                        order.push(read);
                    }
                }
            } else if let Some(output) = order.get(n_whole).copied() {
                n_whole += 1;
                let rest = self.variables(self.node_of(output));
                let rest: Vec<usize> = rest.into_iter().filter(|it| !order.contains(it)).collect();
                order.extend(rest);
            } else {
                return order;
            }
        }
    }

    /// The node whose next state an output carries.
    fn node_of(&self, output: usize) -> usize {
        let node = self.reads.nodes.iter().position(|node| node.outputs.contains(&output));
        node.expect("each output with state is that of a node")
    }

    /// The keys of the state of nodes after each frame, which begin with these variables; `None` if
    /// it cannot be stored.
    fn chain(&mut self, first: Vec<usize>, depends: &[bool]) -> Option<Chain> {
        if self.reads.is_inside(depends) {
            if let Some(chain) = self.chains_inside.get(depends) {
                return chain.clone();
            }
            let chain = self.chain_inside(depends);
            self.chains_inside.insert(depends.to_vec(), chain.clone());
            return chain;
        }
        let order = self.ordered(first);
        if let Some(chain) = self.chains.get(&order) {
            return chain.clone();
        }
        let chain = self.chain_of(&order);
        let chain = chain.map(|keys| Chain { keys: Arc::new(keys), labels: None });
        self.chains.insert(order, chain.clone());
        chain
    }

    fn chain_of(&mut self, order: &[usize]) -> Option<Vec<Key>> {
        let traces: Vec<Arc<Trace>> =
            order.iter().map(|output| self.trace_of_output(*output)).collect();
        if traces.iter().any(|trace| !trace.has_key) {
            return None;
        }
        // The positions of the nodes of the variables, and of the variables that they read.
        let mut links: Vec<Vec<u64>> = Vec::with_capacity(order.len());
        for (output, trace) in order.iter().zip(&traces) {
            let node = self.node_of(*output);
            let first = order.iter().position(|other| self.node_of(*other) == node);
            let at = |name| order.iter().position(|other| *other == self.output_of(name));
            let read = trace.states.iter().map(|name| at(name));
            let all = std::iter::once(first).chain(read);
            links.push(all.map(|at| at.expect("all variables are there") as u64).collect());
        }
        let mut before = self.base;
        let mut chain = Vec::with_capacity(self.frames.len());
        for position in 0..self.frames.len() {
            let mut hash = KeyHasher::new("tick");
            hash.add(before);
            for (trace, links) in traces.iter().zip(&links) {
                if !self.add_trace(trace, position, &mut hash) {
                    return None;
                }
                for link in links {
                    hash.number(*link);
                }
            }
            before = hash.key();
            chain.push(before);
        }
        Some(chain)
    }

    /// The keys of the state of nodes of which some are inside scopes.
    fn chain_inside(&self, depends: &[bool]) -> Option<Chain> {
        let Self { plan, request, tracer, reads, asked, .. } = self;
        let (cone, labels) = Cones { plan, request, tracer, reads, asked }.key(depends)?;
        let mut before = self.base;
        let chain = self.frames.iter().map(|frame| {
            let mut hash = KeyHasher::new("tick");
            hash.add(before);
            hash.add(cone);
            hash.number(*frame as u64);
            before = hash.key();
            before
        });
        let keys = Arc::new(chain.collect());
        Some(Chain { keys, labels: Some(Arc::new(labels)) })
    }
}

/// Adds the bits of a value that is probably a number.
fn add(value: &Value, hash: &mut KeyHasher) -> bool {
    match value.ty().lanes() {
        Some((_, n)) => {
            for lane in 0..usize::from(n) {
                hash.number(value.lane(lane).expect("the type has the lane"));
            }
            true
        }
        None => hash.value(value),
    }
}
