//! Builds the live graph of a whole document.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::Limits;
use millstream_document::check::NodeChecker;
use millstream_document::edit::{BodyKey, ROOT};
use millstream_document::{
    BodyId, Checked, CheckedKind, Document, Editor, InputDef, NodeKind, Source,
};
use millstream_node::{Instance, Registry};
use millstream_run::live::{LiveGraph, Shown};
use rustc_hash::{FxHashMap, FxHashSet};

use super::queue::Queue;
use super::rounds::live_bodies;
use super::variables::Variables;
use super::{
    Bits, BodyState, Kind, Many, Mirror, NotLive, Observed, Operand, Operands, RootInput, Use,
};

/// Maximal number of uses of groups, and how much each call in them adds to it.
const MANY_USES: usize = 1 << 16;
const USES_PER_CALL: usize = 64;

/// Earlier results of a node are stored if they took this long to compute, and may take this many
/// bytes.
const KEPT_FROM: Duration = Duration::from_micros(100);
const KEPT_BYTES: usize = 1 << 28;

/// A use of a body under construction.
struct Frame {
    use_id: u32,
    body: BodyId,
    /// Next position in the order of the body.
    at: usize,
}

/// A checked document, with its bodies by the keys of the editor.
struct Whole<'c> {
    checked: &'c Checked,
    keys: Vec<BodyKey>,
    /// For each body the slots of its nodes, by position.
    slots: Vec<Vec<u32>>,
}

impl Mirror {
    /// The live graph of a document; parts that are wrong, or depend on these, have no nodes. If it
    /// `has_columns`, inputs may be columns.
    ///
    /// # Errors
    /// If something in it cannot be live.
    pub(in crate::session) fn new(
        editor: &Editor,
        checked: &Checked,
        registry: &Arc<Registry>,
        limits: &Limits,
        has_columns: bool,
    ) -> Result<Self, NotLive> {
        let mut mirror = Self::empty(registry, limits, checked.fps);
        if has_columns {
            mirror.graph.hold_columns();
        }
        for input in checked.root().inputs.iter().filter(|input| !input.is_wrong) {
            mirror.add_input(&input.name, input.ty, input.default.clone());
        }
        let whole = whole(editor, checked);
        mirror.has_zones = has_zones(editor.document());
        mirror.find_kinds(editor, &whole)?;
        let mut queue = Queue::new(editor, &[]);
        mirror.fill(&mut queue, &whole)?;
        queue.n_planned = mirror.n_calls;
        queue.outputs.extend(editor.outputs_of_body(ROOT).iter_slots().map(|(slot, ..)| slot));
        mirror.follow_queue(queue)?;
        mirror.graph.reserve(mirror.graph.len() / 8);
        Ok(mirror)
    }

    fn empty(registry: &Arc<Registry>, limits: &Limits, fps: f64) -> Self {
        let mut graph = LiveGraph::new();
        graph.keep_results(KEPT_FROM, KEPT_BYTES);
        Self {
            registry: Arc::clone(registry),
            limits: limits.clone(),
            graph,
            bodies: FxHashMap::default(),
            uses: Vec::new(),
            inputs: HashMap::new(),
            outputs: HashMap::new(),
            features: FxHashMap::default(),
            n_elements: None,
            conversions: FxHashMap::default(),
            kept_sources: FxHashSet::default(),
            zones: FxHashMap::default(),
            has_zones: false,
            scopes: FxHashMap::default(),
            relinked: Vec::new(),
            n_copies: 0,
            places: FxHashMap::default(),
            checker: NodeChecker::default(),
            args: Bits::default(),
            ports: FxHashMap::default(),
            doomed: FxHashSet::default(),
            observed: Observed::default(),
            edited: FxHashMap::default(),
            shown: Shown::default(),
            stateful: FxHashMap::default(),
            networks: FxHashMap::default(),
            unfed: FxHashSet::default(),
            variables: Variables::default(),
            fps,
            seconds_per_tick: None,
            n_calls: 0,
            n_removed: 0,
        }
    }

    /// Adds an input of the document, without a value yet.
    pub(super) fn add_input(
        &mut self,
        name: &Arc<str>,
        ty: millstream_base::Type,
        default: Option<millstream_base::Value>,
    ) {
        // Nothing is evaluated while an input has no value.
        let value = default.clone().unwrap_or_else(|| ty.default_value());
        let node = self.graph.source_of_value(&value);
        self.inputs.insert(Arc::clone(name), RootInput { ty, default, given: None, node });
    }

    /// Finds the kinds of all nodes.
    fn find_kinds(&mut self, editor: &Editor, whole: &Whole<'_>) -> Result<(), NotLive> {
        let live = live_bodies(whole.checked);
        // Nodes with the same instance share its kind.
        let mut calls: FxHashMap<*const Instance, Kind> = FxHashMap::default();
        for ((id, body), key) in whole.checked.bodies.iter().zip(&whole.keys) {
            let nodes = editor.nodes_of_body(*key);
            let (mut kinds, mut ids) =
                (roomy(Kind::None, nodes.n_slots()), roomy(0, nodes.n_slots()));
            for (node, (slot, _, def)) in body.nodes.iter().zip(nodes.iter_slots()) {
                ids[slot as usize] = editor.id_at(*key, slot);
                kinds[slot as usize] = match &node.kind {
                    // Its kind is found when the body is used.
                    CheckedKind::Call(_) | CheckedKind::Zone(_) if !live.contains(&id) => {
                        Kind::Wrong
                    }
                    CheckedKind::Call(instance) => match calls.entry(Arc::as_ptr(instance)) {
                        Entry::Occupied(known) => known.get().clone(),
                        Entry::Vacant(place) => place.insert(self.kind_of_call(instance)?).clone(),
                    },
                    kind => self.kind_of(editor, def, kind)?,
                };
            }
            self.bodies.insert(*key, BodyState { kinds, ids, uses: Vec::new() });
        }
        Ok(())
    }

    /// Makes the nodes of all uses, from the document inward.
    fn fill(&mut self, queue: &mut Queue<'_>, whole: &Whole<'_>) -> Result<(), NotLive> {
        let (checked, editor) = (whole.checked, queue.editor);
        let use_id = self.new_use(editor, ROOT, None)?;
        let mut stack = vec![Frame { use_id, body: checked.root, at: 0 }];
        // The source of a delayed input may come after the node that reads it.
        let mut later: Vec<(u32, BodyId, u32)> = Vec::new();
        while let Some(frame) = stack.last_mut() {
            let (use_id, id) = (frame.use_id, frame.body);
            let body = &checked.bodies[id];
            let Some(&position) = body.order.get(frame.at) else {
                stack.pop();
                if let Some(place) = self.use_of(use_id).outer {
                    let outputs = body.outputs.iter();
                    let outputs = outputs
                        .map(|it| Some((self.operand(use_id, whole, id, it.source)?, it.ty)));
                    let outputs = outputs.collect();
                    self.pass_out(place, outputs)?;
                }
                continue;
            };
            frame.at += 1;
            if let CheckedKind::Group(inner) = body.nodes[position as usize].kind {
                let place = (use_id, whole.slots[index(id)][position as usize]);
                if self.use_of(use_id).many.get(&place.1).is_some_and(|many| many.child.is_some()) {
                    // More of its inputs exist now; see `Body::order`.
                    queue.push((whole.keys[index(id)], place.1, Some(use_id)));
                    continue;
                }
                let mut operands = self.operands(use_id, whole, id, position);
                for (operand, input) in operands.iter_mut().zip(&checked.bodies[inner].inputs) {
                    operand.take_if(|_| input.is_wrong);
                }
                let group = whole.keys[index(inner)];
                let child = self.new_use(editor, group, Some(place))?;
                self.pass_in(editor, child, &operands)?;
                stack.push(Frame { use_id: child, body: inner, at: 0 });
                continue;
            }
            let n_lacking = queue.lacking.len();
            self.fill_node(queue, whole, (use_id, id, position))?;
            if queue.lacking.len() > n_lacking {
                later.push((use_id, id, position));
            }
        }
        later.into_iter().try_for_each(|place| self.fill_node(queue, whole, place))
    }

    /// Makes the nodes of a node that uses no group, if its operands exist.
    fn fill_node(
        &mut self,
        queue: &mut Queue<'_>,
        whole: &Whole<'_>,
        (use_id, id, position): (u32, BodyId, u32),
    ) -> Result<(), NotLive> {
        let slot = whole.slots[index(id)][position as usize];
        let kind = self.bodies[&whole.keys[index(id)]].kinds[slot as usize].clone();
        let operands = self.operands(use_id, whole, id, position);
        self.renew_in(queue, (use_id, slot), &kind, operands, true).map(drop)
    }

    /// The operands of a node in one use of its body, where they have values.
    fn operands(&self, use_id: u32, whole: &Whole<'_>, id: BodyId, position: u32) -> Operands {
        let body = &whole.checked.bodies[id];
        let sources = body.sources_of(&body.nodes[position as usize]);
        sources.iter().map(|source| self.operand(use_id, whole, id, *source)).collect()
    }

    /// The operand of a source in one use of its body; `None` if it is wrong there.
    fn operand(
        &self,
        use_id: u32,
        whole: &Whole<'_>,
        id: BodyId,
        source: Source,
    ) -> Option<Operand> {
        let body = &whole.checked.bodies[id];
        match source {
            Source::Literal(i) => Some(Operand::Literal(body.literals[i as usize].clone())),
            Source::Input(i) => {
                let input = &body.inputs[i as usize];
                Some(Operand::Node(self.input_in(use_id, &input.name)?, input.ty))
            }
            Source::Node { node, output } => {
                let slot = whole.slots[index(id)][node as usize];
                let found = self.output_in(use_id, slot, output as usize)?;
                Some(Operand::Node(found, whole.checked.source_type(id, source)?))
            }
            Source::Wrong => None,
        }
    }

    /// A new use of a body, without nodes.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn new_use(
        &mut self,
        editor: &Editor,
        body: BodyKey,
        outer: Option<(u32, u32)>,
    ) -> Result<u32, NotLive> {
        // Checking does not count groups without calls, however many uses they have.
        if self.uses.len() > MANY_USES + USES_PER_CALL * self.n_calls {
            return Err(NotLive);
        }
        let use_id = self.uses.len() as u32;
        let n_slots = editor.nodes_of_body(body).n_slots();
        let known = self.bodies.entry(body).or_default();
        known.kinds.resize(n_slots.max(known.kinds.len()), Kind::None);
        known.uses.push(use_id);
        let (inputs, many) = (HashMap::new(), FxHashMap::default());
        self.uses.push(Some(Use { body, outer, inputs, outs: roomy(None, n_slots), many }));
        if let Some((outer, slot)) = outer {
            let many = Many { outs: Vec::new(), child: Some(use_id) };
            self.use_mut(outer).many.insert(slot, many);
        }
        Ok(use_id)
    }
}

/// A vector of `n` values with spare capacity: otherwise adding one node would copy it, which would
/// make that edit slow.
fn roomy<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut all = Vec::with_capacity(n + n / 8);
    all.resize(n, value);
    all
}

fn has_zones(document: &Document) -> bool {
    let groups = document.groups.values().flat_map(|group| group.nodes.values());
    let mut nodes = document.nodes.values().chain(groups);
    nodes.any(|node| matches!(node.kind, NodeKind::Zone(..)))
}

fn whole<'c>(editor: &Editor, checked: &'c Checked) -> Whole<'c> {
    let groups = editor.document().groups.iter_slots().map(|(slot, ..)| slot);
    let keys: Vec<BodyKey> = groups.chain([ROOT]).collect();
    debug_assert_eq!(keys.len(), checked.bodies.len());
    let slots = |key: &BodyKey| editor.nodes_of_body(*key).iter_slots().map(|it| it.0).collect();
    Whole { checked, slots: keys.iter().map(slots).collect(), keys }
}

fn index(id: BodyId) -> usize {
    millstream_base::id::Id::index(id)
}

/// The declared type and default of an input, if both are right.
pub(super) fn declared(
    registry: &Registry,
    def: &InputDef,
) -> Option<(millstream_base::Type, Option<millstream_base::Value>)> {
    let ty = registry.type_named(&def.ty)?;
    let default = match &def.default {
        Some(json) => Some(millstream_base::literal::from_json(ty, json).ok()?),
        None => None,
    };
    Some((ty, default))
}
