//! Answers of a live graph: outputs, failures, the run log, values at sockets.

use std::sync::Arc;
use std::time::Duration;

use millstream_base::{Column, Feature, NodePath, Type, Value};
use millstream_document::edit::{BodyKey, ROOT, references};
use millstream_document::{Editor, InputValue, Node};
use millstream_ir::answer::{Fate, LogEntry, OutputAnswer, RunReason, Series, SkipReason};
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::{EvalError, NodeFailure};
use millstream_node::{Data, Instance, Kernel};
use millstream_run::live::{NodeNumber, Within};
use rustc_hash::{FxHashMap, FxHashSet};

use super::networks::LiveNetwork;
use super::{Kind, Mirror, Observed, Operand};
use crate::run_log::NodeRun;
use crate::session::settings::one;

/// The moment of an evaluation.
pub(in crate::session) struct Moment {
    pub(in crate::session) seconds: f64,
    pub(in crate::session) tick: i64,
}

/// The cells of an evaluation.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) enum Cells {
    /// One, without axes.
    One,
    /// This many elements.
    Elements(usize),
}

impl Cells {
    /// The number of elements; `None` without an axis of elements.
    pub(in crate::session) fn count(self) -> Option<usize> {
        match self {
            Self::One => None,
            Self::Elements(n) => Some(n),
        }
    }
}

/// The runs of the copies of a node at other moments.
#[derive(Default)]
struct Copies {
    runs: u32,
    elements: u64,
    time: Duration,
    /// A copy that is demanded.
    demanded: Option<NodeNumber>,
}

/// Data of a live graph: columns vary with the elements.
fn series(data: Data) -> Series {
    let axes = match &data {
        Data::One(_) => Vec::new(),
        Data::Many(_) => vec![RequestAxis::Index],
    };
    Series { data, axes }
}

/// The one value of a feature, if it is given.
fn provided<'g>(given: &'g [(Feature, Given)], feature: &Feature) -> Option<&'g Value> {
    let (_, given) = given.iter().find(|(known, _)| known == feature)?;
    one(given).filter(|value| value.ty() == feature.ty())
}

impl Mirror {
    /// Whether each input has a value.
    pub(in crate::session) fn is_given(&self) -> bool {
        self.inputs.values().all(|input| !input.is_missing())
    }

    /// The names of outputs that have a value.
    pub(in crate::session) fn right_outputs<'e>(
        &'e self,
        editor: &'e Editor,
    ) -> impl Iterator<Item = &'e str> {
        let names = editor.outputs_of_body(ROOT).keys().map(|name| &**name);
        names.filter(|name| self.is_right(name))
    }

    /// Whether an output has a value.
    pub(in crate::session) fn is_right(&self, output: &str) -> bool {
        self.outputs.get(output).is_some_and(|output| output.node.is_some())
    }

    /// Updates outputs at a moment and returns them, without those that are wrong. If a tick
    /// `is_over`, also updates the next state. New values and outputs may take `limit` bytes.
    ///
    /// # Errors
    /// If the evaluation was cancelled, or values need too many bytes. Values made before that
    /// remain.
    pub(in crate::session) fn answer<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        moment: &Moment,
        is_over: bool,
        within: Option<Within>,
        limit: usize,
    ) -> Result<Vec<OutputAnswer>, EvalError> {
        self.set_moment(moment);
        let mut asked: smallvec::SmallVec<[(Arc<str>, NodeNumber, Type); 4]> =
            smallvec::SmallVec::new();
        for name in names {
            if let Some((name, output)) = self.outputs.get_key_value(name)
                && let Some(node) = output.node
            {
                asked.push((Arc::clone(name), node, output.ty));
            }
        }
        let kept: Vec<NodeNumber> =
            if is_over { self.nodes_to_keep().collect() } else { Vec::new() };
        let nodes = || asked.iter().map(|(_, node, _)| *node).chain(kept.iter().copied());
        self.observe(nodes());
        match within {
            Some(within) => self.graph.settle_within(within)?,
            None => self.graph.settle(),
        }
        self.graph.check_bytes(nodes(), limit)?;
        let answer = asked.into_iter().map(|(name, node, ty)| OutputAnswer {
            name,
            ty,
            value: self.graph.data(node, ty).map(series),
            partial: None,
        });
        Ok(answer.collect())
    }

    /// Number of nodes that call node types.
    pub(in crate::session) fn n_calls(&self) -> usize {
        self.n_calls
    }

    /// Whether some nodes are more than operations on numbers, so that limits matter.
    pub(in crate::session) fn has_calls(&self) -> bool {
        self.graph.has_calls()
    }

    /// Number of nodes that ran in all evaluations.
    pub(in crate::session) fn n_runs(&self) -> u64 {
        self.graph.n_runs()
    }

    /// The nodes that failed in the last evaluation, ordered by path.
    pub(in crate::session) fn failures(&mut self, editor: &Editor) -> Vec<NodeFailure> {
        let failed = self.graph.failures();
        let originals = if failed.is_empty() { FxHashMap::default() } else { self.originals() };
        let failure = |(node, why): (NodeNumber, Arc<millstream_node::Failure>)| NodeFailure {
            path: self.path_of(editor, originals.get(&node).copied().unwrap_or(node)),
            message: why.message.clone(),
            help: why.help.clone(),
            // Where the request has more cells, a plan answers.
            cell: why.item_coordinates().collect(),
            replayed: None,
        };
        let mut failures: Vec<NodeFailure> = failed.into_iter().map(failure).collect();
        failures.sort_by(|a, b| a.path.cmp(&b.path));
        // At several moments the failure may be the same.
        failures.dedup();
        failures
    }

    /// The path of a call that may fail.
    fn path_of(&self, editor: &Editor, node: NodeNumber) -> NodePath {
        let Some((place, part)) = self.places.get(&node) else { return NodePath::root() };
        let path = NodePath::from(&*self.path_at(editor, Some(*place)));
        match part {
            Some(part) => path.child(part),
            None => path,
        }
    }

    /// The path of a node in a use of its body.
    pub(super) fn path_at(&self, editor: &Editor, mut place: Option<(u32, u32)>) -> String {
        let mut names: Vec<&str> = Vec::new();
        while let Some((use_id, slot)) = place {
            let it = self.use_of(use_id);
            names.extend(editor.nodes_of_body(it.body).at(slot).map(|(name, _)| &**name));
            place = it.outer;
        }
        names.reverse();
        names.join("/")
    }

    /// The use of a body and the slot of the node at a path.
    pub(super) fn place_at(&self, editor: &Editor, path: &str) -> Option<(u32, u32)> {
        let mut use_id = 0;
        let mut names = path.split('/').peekable();
        loop {
            let name = names.next()?;
            let slot = editor.nodes_of_body(self.use_of(use_id).body).slot_of(name)?;
            if names.peek().is_none() {
                return Some((use_id, slot));
            }
            use_id = self.use_of(use_id).many.get(&slot)?.child?;
        }
    }

    /// Whether the features that nodes read are given, each as one value; moments always are.
    pub(in crate::session) fn are_provided(
        &self,
        given: &[(Feature, Given)],
        cells: Cells,
    ) -> bool {
        self.features.keys().all(|feature| match feature {
            Feature::Time | Feature::Tick => true,
            Feature::Index if matches!(cells, Cells::Elements(_)) => true,
            feature => provided(given, feature).is_some(),
        })
    }

    /// Sets the features that are given, other than moments, and the numbers of the elements.
    pub(in crate::session) fn set_features(&mut self, given: &[(Feature, Given)], cells: Cells) {
        if let Some(node) = self.n_elements {
            let n = cells.count().unwrap_or(1);
            self.graph.set_value(node, &Value::I32(i32::try_from(n).unwrap_or(i32::MAX)));
        }
        for (feature, node) in &self.features {
            if let (Feature::Index, Cells::Elements(n)) = (feature, cells) {
                let known = self.graph.data(*node, Type::I32);
                if !matches!(known, Some(Data::Many(known)) if known.len() == n) {
                    let numbers = Column::range(0..i32::try_from(n).unwrap_or(i32::MAX));
                    self.graph.set_data(*node, &Data::Many(numbers));
                }
            } else if let Some(value) = provided(given, feature) {
                self.graph.set_value(*node, value);
            }
        }
    }

    fn set_moment(&mut self, moment: &Moment) {
        let values =
            [(Feature::Time, Value::F64(moment.seconds)), (Feature::Tick, Value::I64(moment.tick))];
        for (feature, value) in values {
            if let Some(node) = self.features.get(&feature) {
                self.graph.set_value(*node, &value);
            }
        }
    }

    /// Observes these nodes and no others.
    fn observe(&mut self, nodes: impl Iterator<Item = NodeNumber> + Clone) {
        let is_same = || nodes.clone().eq(self.observed.in_order.iter().copied());
        if !self.observed.is_torn && is_same() {
            return;
        }
        let mut wanted = Observed::default();
        for node in nodes {
            wanted.in_order.push(node);
            if wanted.all.insert(node) && !self.observed.all.contains(&node) {
                self.graph.observe_number(node, true);
            }
        }
        let before = std::mem::replace(&mut self.observed, wanted);
        for node in before.in_order {
            if before.all.contains(&node) && !self.observed.all.contains(&node) {
                self.graph.observe_number(node, false);
            }
        }
    }

    /// Size of all stored values in bytes.
    pub(in crate::session) fn bytes_of_values(&self) -> usize {
        self.graph.bytes_of_values()
    }

    /// Starts a log of runs; returns the nodes that were never computed.
    pub(in crate::session) fn start_log(&mut self, is_timed: bool) -> FxHashSet<NodeNumber> {
        self.graph.start_journal(is_timed);
        let mut new: FxHashSet<NodeNumber> =
            self.calls().filter(|node| self.graph.is_new(*node)).collect();
        for (copy, original) in self.originals() {
            if !self.graph.is_new(copy) {
                new.remove(&original);
            }
        }
        new
    }

    /// The run of each call since the log was started.
    pub(in crate::session) fn end_log(
        &mut self,
        editor: &Editor,
        new: &FxHashSet<NodeNumber>,
    ) -> Vec<NodeRun> {
        // The runs of a copy count for its original.
        let originals = self.originals();
        let calls: Vec<NodeNumber> = self.calls().chain(originals.keys().copied()).collect();
        let demanded: FxHashSet<NodeNumber> = self.graph.demanded(calls).into_iter().collect();
        let mut runs: FxHashMap<NodeNumber, u32> = FxHashMap::default();
        for node in self.graph.journal_numbers() {
            *runs.entry(node).or_default() += 1;
        }
        let mut of_copies: FxHashMap<NodeNumber, Copies> = FxHashMap::default();
        for (copy, original) in &originals {
            let all = of_copies.entry(*original).or_default();
            let n_runs = runs.get(copy).copied().unwrap_or_default();
            all.runs += n_runs;
            all.elements += self.graph.elements_of(*copy, n_runs);
            all.time += self.graph.time_of(*copy);
            all.demanded = all.demanded.or(demanded.contains(copy).then_some(*copy));
        }
        let mut calls_of_log: Vec<(NodeNumber, &Arc<Instance>, String)> =
            Vec::with_capacity(self.n_calls);
        let slots = |body| {
            let slots: Vec<u32> =
                editor.nodes_of_body(body).iter_slots().map(|(slot, ..)| slot).collect();
            slots.into_iter()
        };
        // Groups follow in their places, each with the path of the node that uses it.
        let mut stack = vec![(0_u32, String::new(), slots(ROOT))];
        while let Some((use_id, path, left)) = stack.last_mut() {
            let Some(slot) = left.next() else {
                stack.pop();
                continue;
            };
            let it = self.use_of(*use_id);
            let Some((name, _)) = editor.nodes_of_body(it.body).at(slot) else { continue };
            let path = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
            if let Some(child) = it.many.get(&slot).and_then(|many| many.child) {
                stack.push((child, path, slots(self.use_of(child).body)));
                continue;
            }
            let kind = self.bodies[&it.body].kinds.get(slot as usize);
            let node = it.outs.get(slot as usize).copied().flatten();
            if let Some(network) = self.networks.get(&(*use_id, slot)) {
                for (node, part) in network.parts() {
                    let path = match &*part.name {
                        "" => path.clone(),
                        name => format!("{path}/{name}"),
                    };
                    calls_of_log.push((node, &part.instance, path));
                }
                continue;
            }
            if let (Some(node), Some(instance)) = (node, kind.and_then(Kind::instance)) {
                calls_of_log.push((node, instance, path));
            }
        }
        let mut log = Vec::with_capacity(calls_of_log.len());
        for (node, instance, path) in calls_of_log {
            let copies = of_copies.remove(&node).unwrap_or_default();
            let own = runs.get(&node).copied().unwrap_or_default();
            let mut n = own + copies.runs;
            // A node that is demanded only at another moment has the fate of its copy.
            let seen = copies.demanded.filter(|_| !demanded.contains(&node)).unwrap_or(node);
            let fate = if let Kernel::Read { .. } = instance.kernel {
                let fate = self.shown.fate(&self.graph, node, demanded.contains(&node));
                n = u32::from(matches!(fate, Fate::Ran(_)));
                fate
            } else {
                self.fate((node, seen), n, (new, &demanded), &runs)
            };
            let elements = match instance.kernel {
                Kernel::Read { .. } => u64::from(n),
                _ => self.graph.elements_of(node, own) + copies.elements,
            };
            let time = self.graph.time_of(node) + copies.time;
            let bytes = if n > 0 { self.graph.bytes_of(seen) as u64 } else { 0 };
            let entry = LogEntry { fate, runs: n, elements, bytes, time, ..LogEntry::NOT_NEEDED };
            let node_type = instance.name().to_owned();
            let path = NodePath::from(path.as_str());
            log.push(NodeRun { path, conversion: None, node_type, entry, failure: None });
        }
        self.graph.stop_journal();
        let features = self.features.values().chain(&self.n_elements).copied();
        self.shown.note(&self.graph, features.filter(|node| demanded.contains(node)));
        log
    }

    /// The node of each call in each use.
    fn calls(&self) -> impl Iterator<Item = NodeNumber> {
        let parts = self.networks.values().flat_map(LiveNetwork::parts).map(|(node, _)| node);
        self.uses.iter().flatten().flat_map(|it| it.outs.iter().flatten()).copied().chain(parts)
    }

    /// The fate of a node; `seen` is the node itself or the copy that is demanded.
    fn fate(
        &self,
        (node, seen): (NodeNumber, NodeNumber),
        n: u32,
        (new, demanded): (&FxHashSet<NodeNumber>, &FxHashSet<NodeNumber>),
        runs: &FxHashMap<NodeNumber, u32>,
    ) -> Fate {
        if n > 0 {
            Fate::Ran(match self.edited.get(&node) {
                Some(true) => RunReason::Edited,
                _ if new.contains(&node) => RunReason::First,
                Some(false) => RunReason::Edited,
                None => RunReason::InputChanged,
            })
        } else if !demanded.contains(&seen) {
            Fate::Skipped(SkipReason::NotNeeded)
        } else if self.graph.lacks_input(seen) {
            Fate::Skipped(SkipReason::InputFailed)
        } else if self.graph.is_new(seen) {
            Fate::Skipped(SkipReason::NotNeeded)
        } else if self.graph.has_failed(seen) {
            Fate::Skipped(SkipReason::Failed)
        } else {
            let mut inputs = (0..).map_while(|at| self.graph.input_of(seen, at));
            let is_cut_off = inputs.any(|input| runs.contains_key(&self.graph.call_behind(input)));
            Fate::Skipped(if is_cut_off { SkipReason::CutOff } else { SkipReason::Cached })
        }
    }

    /// Records that the demanded nodes have been evaluated since they were edited.
    pub(in crate::session) fn evaluated(&mut self) {
        self.edited.retain(|node, _| self.graph.is_pending(*node));
        let features = self.features.values().chain(&self.n_elements).copied();
        self.shown.note(&self.graph, features.filter(|node| self.graph.is_live(*node)));
    }

    /// The node of a socket: of an output, or of the value of an input before it is converted. The
    /// names of nodes that use groups precede the name of the socket's node.
    pub(in crate::session) fn socket(
        &self,
        editor: &Editor,
        path: &str,
        socket: &str,
    ) -> Option<(NodeNumber, Type)> {
        let (use_id, slot) = self.place_at(editor, path)?;
        let body = self.use_of(use_id).body;
        let (_, node) = editor.nodes_of_body(body).at(slot)?;
        let output = self.output_socket(editor, (use_id, slot), body, socket);
        output.or_else(|| self.input_socket(editor, (use_id, slot), node, socket))
    }

    fn output_socket(
        &self,
        editor: &Editor,
        (use_id, slot): (u32, u32),
        body: BodyKey,
        output: &str,
    ) -> Option<(NodeNumber, Type)> {
        let position = self.output_position(editor, body, slot, output)?;
        let ty = self.output_type(editor, body, slot, position)?;
        Some((self.output_in(use_id, slot, position)?, ty))
    }

    /// The first source of an input, if it is not a literal.
    fn input_socket(
        &self,
        editor: &Editor,
        (use_id, slot): (u32, u32),
        node: &Node,
        input: &str,
    ) -> Option<(NodeNumber, Type)> {
        let body = self.use_of(use_id).body;
        match self.bodies.get(&body)?.kinds.get(slot as usize)? {
            Kind::Call(_) | Kind::Stateful(_) | Kind::Group(_) => {}
            Kind::None | Kind::Wrong | Kind::Muted(_) => return None,
        }
        let input = node.inputs.get(input)?;
        let first = match &input.value {
            InputValue::Several(sources) => sources.first()?,
            InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => input,
        };
        match self.operand_in(editor, use_id, references(first).next()?)? {
            Operand::Node(node, ty) => Some((node, ty)),
            Operand::Literal(_) => None,
        }
    }

    /// The value of a node, computed if it is not stored; `None` if it failed. New values and the
    /// result may take `limit` bytes.
    ///
    /// # Errors
    /// If the evaluation was cancelled, or values need too many bytes.
    pub(in crate::session) fn look(
        &mut self,
        node: NodeNumber,
        ty: Type,
        moment: &Moment,
        within: Option<Within>,
        limit: usize,
    ) -> Result<Option<Series>, EvalError> {
        self.set_moment(moment);
        let was = self.observed.all.contains(&node);
        self.graph.observe_number(node, true);
        let done = self.graph.settle_within(within.unwrap_or_default());
        let value = self.graph.data(node, ty).map(series);
        let checked = self.graph.check_bytes([node], limit);
        if !was {
            self.graph.observe_number(node, false);
        }
        done?;
        checked.map(|()| value)
    }
}
