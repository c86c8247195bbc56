//! The state that results depend on, directly or through other state.
//!
//! A result depends on the state of a node if a step above it reads that state, or if it depends on
//! another state whose next value does. State inside scopes advances where it is read. So if several
//! outputs are requested, it also depends on state that another of them reads, and whose next value
//! may read it in contexts in which the outputs do not. State that no requested output reads does
//! not exist.
//!
//! Which state is inside scopes depends on the requested outputs too. A node that only other outputs
//! read inside scopes is *called* in the context of the request, where it advances in every tick.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::id::SideTable;
use millstream_node::Kernel;
use rustc_hash::FxHashMap;

use crate::hidden::{is_state, node_of};
use crate::plan::{Plan, Step, StepId, StepOp, StepSource};

/// A stateful node of a plan.
#[derive(Clone, Debug)]
pub struct StateNode {
    /// The path.
    pub path: Arc<str>,
    /// The outputs of the plan with its next state, by position; none for a node inside scopes.
    pub outputs: Vec<usize>,
    /// The entry among the plan's state writers, of a node inside scopes.
    pub writer: Option<usize>,
}

/// The stateful nodes of a plan, and which of them results depend on.
#[derive(Debug)]
pub struct StateReads<'p> {
    pub(crate) plan: &'p Plan,
    /// The steps of the requested outputs.
    asked: Vec<StepId>,
    /// The nodes, those inside scopes last.
    pub nodes: Vec<StateNode>,
    /// The node whose state a step reads.
    read: BTreeMap<StepId, usize>,
    /// Whether a requested output reads the state of each node, directly or through other state.
    is_read: Vec<bool>,
    /// The state writers of nodes that the requested outputs do not read inside scopes.
    called: Vec<usize>,
}

impl<'p> StateReads<'p> {
    /// The stateful nodes of a plan. The outputs at the positions `asked` are requested in each
    /// tick.
    pub fn new(plan: &'p Plan, asked: &[usize]) -> Self {
        let mut by_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, output) in plan.outputs.iter().enumerate() {
            if is_state(&output.name) {
                by_path.entry(node_of(&output.name)).or_default().push(i);
            }
        }
        let hoisted = by_path.into_iter().map(|(path, outputs)| StateNode {
            path: path.into(),
            outputs,
            writer: None,
        });
        let inside = plan.state_writers.iter().enumerate().map(|(i, writer)| StateNode {
            path: Arc::clone(&writer.node),
            outputs: Vec::new(),
            writer: Some(i),
        });
        let nodes: Vec<StateNode> = hoisted.chain(inside).collect();
        let (mut read, mut by_path) = (BTreeMap::new(), FxHashMap::default());
        for (i, node) in nodes.iter().enumerate() {
            match node.writer {
                Some(writer) => {
                    read.entry(plan.state_writers[writer].reader).or_insert(i);
                }
                None => {
                    by_path.insert(&*node.path, i);
                }
            }
        }
        for (id, step) in plan.steps.iter() {
            if let StepOp::Input(input) = step.op
                && let name = &plan.inputs[input].name
                && is_state(name)
                && let Some(node) = by_path.get(node_of(name))
            {
                read.insert(id, *node);
            }
        }
        let outputs = asked.iter().map(|output| &plan.outputs[*output]);
        let names: Vec<&str> = outputs.clone().map(|output| &*output.name).collect();
        let asked = outputs.map(|output| output.source.step).collect();
        let (is_read, called) = (Vec::new(), Vec::new());
        let mut reads = Self { plan, asked, nodes, read, is_read, called };
        reads.is_read = reads.read_by(reads.asked.iter().copied());
        let is_called = |writer: &usize| {
            let scoped_by = plan.state_writers[*writer].scoped_by.as_ref();
            scoped_by.is_some_and(|all| all.iter().all(|output| !names.contains(&&**output)))
        };
        let read = reads.nodes.iter().zip(&reads.is_read).filter(|(_, is_read)| **is_read);
        let writers = read.filter_map(|(node, _)| node.writer);
        reads.called = writers.filter(is_called).collect();
        reads
    }

    /// Those of some nodes that the requested outputs read, but not inside scopes, as positions of
    /// state writers.
    pub fn called(&self, of: &[bool]) -> Vec<usize> {
        let nodes = self.nodes.iter().zip(of).filter(|(_, is_asked)| **is_asked);
        let writers = nodes.filter_map(|(node, _)| node.writer);
        writers.filter(|writer| self.called.contains(writer)).collect()
    }

    /// Whether a requested output reads the state of a node, directly or through other state.
    pub fn is_read(&self, node: usize) -> bool {
        self.is_read[node]
    }

    /// The node whose state a step reads, with the position of the variable if the step is an input.
    pub fn read_at(&self, step: StepId) -> Option<(usize, usize)> {
        let node = *self.read.get(&step)?;
        let StepOp::Input(input) = self.plan.steps[step].op else { return Some((node, 0)) };
        let name = &self.plan.inputs[input].name;
        let mut outputs = self.nodes[node].outputs.iter();
        let variable = outputs.position(|output| self.plan.outputs[*output].name == *name);
        Some((node, variable.expect("state leaves under the name under which it enters")))
    }

    /// The steps that compute the next state of a node.
    pub fn steps_of(&self, node: usize) -> impl Iterator<Item = StepId> {
        self.values_of(&self.nodes[node]).map(|(_, source)| source.step)
    }

    /// The results that are the next state of a node, by name.
    pub fn values_of(&self, node: &StateNode) -> impl Iterator<Item = (&'p str, StepSource)> {
        let plan = self.plan;
        let outputs = node.outputs.iter().map(|output| &plan.outputs[*output]);
        let written = node.writer.iter().flat_map(|writer| &plan.state_writers[*writer].values);
        outputs.chain(written).map(|output| (&*output.name, output.source))
    }

    /// For each node whether the next state of this one depends on its state.
    pub fn of_node(&self, node: usize) -> Vec<bool> {
        self.of_steps(self.steps_of(node))
    }

    /// For each node whether results of these steps depend on its state, or the requested outputs do
    /// and its next state may read such state inside scopes in contexts in which nothing else does.
    pub fn of_steps(&self, steps: impl IntoIterator<Item = StepId>) -> Vec<bool> {
        let mut is_above = SideTable::for_arena(&self.plan.steps, false);
        let mut depends = vec![false; self.nodes.len()];
        self.add_read(steps.into_iter().collect(), &mut is_above, &mut depends);
        loop {
            let callers = self.callers(&depends);
            if callers.is_empty() {
                return depends;
            }
            for caller in callers {
                depends[caller] = true;
                self.add_read(self.steps_of(caller).collect(), &mut is_above, &mut depends);
            }
        }
    }

    /// For each node whether the values of these steps depend on its state. The failure of any
    /// other node changes none of them.
    pub fn read_by(&self, steps: impl IntoIterator<Item = StepId>) -> Vec<bool> {
        let mut is_above = SideTable::for_arena(&self.plan.steps, false);
        let mut depends = vec![false; self.nodes.len()];
        self.add_read(steps.into_iter().collect(), &mut is_above, &mut depends);
        depends
    }

    /// Adds the nodes whose state is read above these steps, directly or through other state.
    fn add_read(
        &self,
        mut ahead: Vec<StepId>,
        is_above: &mut SideTable<StepId, bool>,
        depends: &mut [bool],
    ) {
        while let Some(step) = ahead.pop() {
            if std::mem::replace(&mut is_above[step], true) {
                continue;
            }
            let links = self.plan.inputs_of(&self.plan.steps[step]);
            ahead.extend(links.iter().map(|link| link.step));
            if let Some(node) = self.read.get(&step).copied()
                && !std::mem::replace(&mut depends[node], true)
            {
                ahead.extend(self.steps_of(node));
            }
        }
    }

    /// The other nodes whose next state may read state inside scopes that belongs to these nodes,
    /// where the requested outputs and the next state of these nodes do not read it anyway.
    fn callers(&self, depends: &[bool]) -> Vec<usize> {
        if !self.is_inside(depends) {
            return Vec::new();
        }
        let mut is_reader = SideTable::for_arena(&self.plan.steps, false);
        for (node, _) in self.nodes.iter().zip(depends).filter(|(_, depends)| **depends) {
            if let Some(reader) = self.reader_of(node) {
                is_reader[reader] = true;
            }
        }
        let is_hoisted = |node: &usize| depends[*node] && self.nodes[*node].writer.is_none();
        let hoisted = (0..depends.len()).filter(is_hoisted);
        let always = self.always(hoisted.flat_map(|node| self.steps_of(node)));
        let others = (0..depends.len()).filter(|node| !depends[*node] && self.is_read[*node]);
        others.filter(|node| self.reaches(*node, &always, &is_reader)).collect()
    }

    /// The steps that are evaluated in the context of the request, for all elements, whenever the
    /// requested outputs and the results of these steps are.
    fn always(&self, steps: impl Iterator<Item = StepId>) -> SideTable<StepId, bool> {
        let mut always = SideTable::for_arena(&self.plan.steps, false);
        let mut ahead: Vec<StepId> = self.asked.iter().copied().chain(steps).collect();
        while let Some(step) = ahead.pop() {
            if std::mem::replace(&mut always[step], true) {
                continue;
            }
            let step = &self.plan.steps[step];
            let n_always = if self.chooses(step) { 1 } else { usize::MAX };
            let links = self.links_of(step).take(n_always);
            ahead.extend(links.filter(|(_, is_same)| *is_same).map(|(source, _)| source));
        }
        always
    }

    /// Whether the next state of a node may need one of these readers other than through steps that
    /// are evaluated always.
    fn reaches(
        &self,
        node: usize,
        always: &SideTable<StepId, bool>,
        is_reader: &SideTable<StepId, bool>,
    ) -> bool {
        // The next state of a node inside scopes is evaluated in their contexts.
        let is_in_request = self.nodes[node].writer.is_none();
        let mut ahead: Vec<(StepId, bool)> =
            self.steps_of(node).map(|step| (step, is_in_request)).collect();
        let mut seen = [(); 2].map(|()| SideTable::for_arena(&self.plan.steps, false));
        while let Some((step, is_in_request)) = ahead.pop() {
            let is_known = std::mem::replace(&mut seen[usize::from(is_in_request)][step], true);
            if is_known || is_in_request && always[step] {
                continue;
            }
            if is_reader[step] {
                return true;
            }
            let links = self.links_of(&self.plan.steps[step]);
            ahead.extend(links.map(|(source, is_same)| (source, is_in_request && is_same)));
        }
        false
    }

    /// The sources of a step, each with whether it is evaluated in the context of the step.
    fn links_of<'s>(&'s self, step: &'s Step) -> impl Iterator<Item = (StepId, bool)> + 's {
        let inputs = match step.op {
            StepOp::Call(call) => &self.plan.instances[call].inputs[..],
            StepOp::Const(_) | StepOp::Input(_) => &[],
        };
        let links = self.plan.inputs_of(step).iter().enumerate();
        links.map(|(i, link)| (link.step, inputs.get(i).is_some_and(|it| it.scope.is_empty())))
    }

    fn chooses(&self, step: &Step) -> bool {
        matches!(step.op, StepOp::Call(call)
            if matches!(self.plan.instances[call].kernel, Kernel::Choose))
    }

    /// The step that reads the state of a node inside scopes.
    pub(crate) fn reader_of(&self, node: &StateNode) -> Option<StepId> {
        node.writer.map(|writer| self.plan.state_writers[writer].reader)
    }

    /// Whether results of these steps depend on state inside scopes.
    pub fn is_inside(&self, depends: &[bool]) -> bool {
        self.nodes.iter().zip(depends).any(|(node, depends)| *depends && node.writer.is_some())
    }

    /// The outputs of the plan with the next state of these nodes, by name.
    pub fn outputs_of(&self, depends: &[bool]) -> Vec<String> {
        let nodes = self.nodes.iter().zip(depends).filter(|(_, depends)| **depends);
        let outputs = nodes.flat_map(|(node, _)| &node.outputs);
        outputs.map(|output| self.plan.outputs[*output].name.to_string()).collect()
    }
}
