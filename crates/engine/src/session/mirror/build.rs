//! Builds the live graph of a whole document.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::Limits;
use millstream_compile::repeats::Repeats;
use millstream_document::check::NodeChecker;
use millstream_document::edit::{BodyKey, ROOT};
use millstream_document::{
    Body, BodyId, Checked, CheckedKind, CheckedNode, Document, Editor, InputDef, NodeKind, Source,
};
use millstream_node::{Instance, Registry};
use millstream_run::live::{self, LiveGraph, NodeNumber, Shown};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::queue::Queue;
use super::rounds::live_bodies;
use super::scoped::is_scope;
use super::stateful::StatefulType;
use super::variables::Variables;
use super::{
    Bits, BodyState, Kind, Many, Mirror, NotLive, OUTPUTS, Observed, Operand, Owner, RootInput,
    RootOutput, Side, Use,
};

/// The most uses of groups, and the most for each call in them besides.
const MANY_USES: usize = 1 << 16;
const USES_PER_CALL: usize = 64;

/// Earlier results of a node are kept if they took this long to compute, and may hold this many
/// bytes.
const KEPT_FROM: Duration = Duration::from_micros(100);
const KEPT_BYTES: usize = 1 << 28;

/// A use of a body that is being made.
struct Frame {
    use_id: u32,
    body: BodyId,
    /// Next position in the order of the body.
    at: usize,
}

/// The bodies of a checked document as the editor calls them.
struct Places {
    key: Vec<BodyKey>,
    /// For each body the slots of its nodes, by position.
    slots: Vec<Vec<u32>>,
}

impl Mirror {
    /// The live graph of a document; what is wrong in it, or depends on that, has no nodes.
    ///
    /// # Errors
    /// If something in it cannot be live.
    pub(in crate::session) fn new(
        editor: &Editor,
        checked: &Checked,
        registry: &Arc<Registry>,
        limits: &Limits,
    ) -> Result<Self, NotLive> {
        let live = live_bodies(checked);
        if !can_be_live(checked, &live) {
            return Err(NotLive);
        }
        let repeats = repeats_of(checked, &live, registry, limits)?;
        let mut mirror = Self::empty(registry, limits, checked.fps);
        for input in checked.root().inputs.iter().filter(|input| !input.is_wrong) {
            mirror.add_input(&input.name, input.ty, input.default.clone());
        }
        let places = places(editor, checked);
        mirror.has_repeats = has_repeats(editor.document());
        // Nodes with the same instance share its state type.
        let mut of_type: FxHashMap<*const Instance, Arc<StatefulType>> = FxHashMap::default();
        for (id, body) in checked.bodies.iter() {
            let key = places.key[index(id)];
            let n_slots = editor.nodes_of_body(key).n_slots();
            let (mut kinds, mut ids) = (roomy(Kind::None, n_slots), roomy(0, n_slots));
            let is_live = live.contains(&id);
            for (node, slot) in body.nodes.iter().zip(&places.slots[index(id)]) {
                ids[*slot as usize] = editor.id_at(key, *slot);
                kinds[*slot as usize] = match &node.kind {
                    // Its kind is found when the body is used.
                    CheckedKind::Call(_) | CheckedKind::Repeat(_) if !is_live => Kind::Wrong,
                    CheckedKind::Call(instance) if instance.def.keeps.is_none() => {
                        Kind::Call(Arc::clone(instance))
                    }
                    CheckedKind::Call(instance) => {
                        let known = match of_type.entry(Arc::as_ptr(instance)) {
                            Entry::Occupied(known) => known.into_mut(),
                            Entry::Vacant(place) => {
                                let made = StatefulType::of(registry, instance)?.ok_or(NotLive)?;
                                place.insert(Arc::new(made))
                            }
                        };
                        Kind::Stateful(Arc::clone(known))
                    }
                    CheckedKind::Group(inner) => Kind::Group(places.key[index(*inner)]),
                    CheckedKind::Repeat(repeat) if repeats.of(repeat).is_some() => {
                        let group = places.key[index(repeat.body)];
                        Kind::Call(mirror.repeat_of(group, repeat, (checked, &repeats))?)
                    }
                    CheckedKind::Muted(muted) => Kind::Muted(Arc::clone(muted)),
                    CheckedKind::Repeat(_) | CheckedKind::Wrong => Kind::Wrong,
                };
            }
            mirror.bodies.insert(key, BodyState { kinds, ids, uses: Vec::new() });
        }
        let lacking = mirror.fill(editor, checked, &places)?;
        let outs = mirror.given_out(0, OUTPUTS, (checked, &places), checked.root)?;
        for (output, node) in checked.root().outputs.iter().zip(outs) {
            mirror.outputs.insert(Arc::clone(&output.name), RootOutput { ty: output.ty, node });
        }
        if !lacking.is_empty() {
            let mut queue = Queue::new(editor, &[]);
            queue.n_planned = mirror.n_calls;
            queue.lacking.extend(lacking);
            mirror.follow_queue(queue)?;
        }
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
            conversions: FxHashMap::default(),
            kept_sources: FxHashSet::default(),
            repeats: FxHashMap::default(),
            has_repeats: false,
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
            unfed: FxHashSet::default(),
            variables: Variables::default(),
            fps,
            seconds_per_tick: None,
            n_calls: 0,
            n_removed: 0,
        }
    }

    /// An input of the document, not given yet.
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

    /// Makes the nodes of all uses, from the document inwards. Gives the places of nodes with state
    /// whose delayed input is missing.
    fn fill(
        &mut self,
        editor: &Editor,
        checked: &Checked,
        places: &Places,
    ) -> Result<Vec<(u32, u32)>, NotLive> {
        self.enter(editor, places, checked.root, None, HashMap::new());
        let mut stack = vec![Frame { use_id: 0, body: checked.root, at: 0 }];
        // The source of a delayed input may come after the node that reads it.
        let mut later: Vec<(u32, u32, BodyId, Source)> = Vec::new();
        while let Some(frame) = stack.last_mut() {
            let (use_id, id) = (frame.use_id, frame.body);
            let body = &checked.bodies[id];
            let Some(&position) = body.order.get(frame.at) else {
                stack.pop();
                if let Some((outer, slot)) = self.use_of(use_id).outer {
                    let port = Owner::Port((outer, Side::Out(slot)));
                    let outs = self.given_out(use_id, port, (checked, places), id)?;
                    let many = Many { outs, child: Some(use_id) };
                    self.use_mut(outer).many.insert(slot, many);
                }
                continue;
            };
            frame.at += 1;
            let node = &body.nodes[position as usize];
            let slot = places.slots[index(id)][position as usize];
            let sources = body.sources_of(node);
            let operand = |source: &Source| self.operand(use_id, (checked, places), id, *source);
            let operands: SmallVec<[Option<Operand>; 4]> = sources.iter().map(operand).collect();
            if let CheckedKind::Group(inner) = node.kind {
                let inputs = self.inputs_of_use(&operands, &checked.bodies[inner])?;
                let child = self.enter(editor, places, inner, Some((use_id, slot)), inputs);
                stack.push(Frame { use_id: child, body: inner, at: 0 });
            } else if let Some(at) = self.fill_node((use_id, slot), &node.kind, operands)? {
                later.push((use_id, slot, id, sources[at]));
            }
        }
        let mut lacking = Vec::new();
        for (use_id, slot, id, source) in later {
            match self.operand(use_id, (checked, places), id, source) {
                Some(operand) => self.link_delayed((use_id, slot), &operand)?,
                None => lacking.push((use_id, slot)),
            }
        }
        Ok(lacking)
    }

    /// Makes the nodes of one that uses no group, if its operands are there. Gives the position of
    /// its delayed input, which is linked at the end.
    fn fill_node(
        &mut self,
        place: (u32, u32),
        kind: &CheckedKind,
        mut operands: SmallVec<[Option<Operand>; 4]>,
    ) -> Result<Option<usize>, NotLive> {
        let known = &self.bodies[&self.use_of(place.0).body].kinds[place.1 as usize];
        if let Kind::Stateful(of_type) = known {
            let of_type = Arc::clone(of_type);
            let delayed = (0..operands.len()).find(|at| of_type.is_delayed(*at));
            let mut made = operands.iter().enumerate();
            if !made.all(|(at, operand)| operand.is_some() || delayed == Some(at)) {
                return Ok(None);
            }
            if let Some(at) = delayed {
                operands[at] = None;
            }
            let stateful = self.stateful_node(None, &of_type, &operands)?;
            self.put_stateful(place, stateful);
            return Ok(delayed);
        }
        let repeat = known.instance().map(Arc::clone);
        let operands: Option<SmallVec<[Operand; 4]>> = operands.into_iter().collect();
        let Some(operands) = operands else { return Ok(None) };
        let instance = match kind {
            CheckedKind::Call(instance) => Some(Arc::clone(instance)),
            CheckedKind::Repeat(_) => repeat,
            CheckedKind::Muted(muted) => {
                let (use_id, slot) = place;
                let outs = self.passed((use_id, Side::Out(slot)), &[], muted, &operands)?;
                self.use_mut(use_id).many.insert(slot, Many { outs, child: None });
                None
            }
            CheckedKind::Group(_) | CheckedKind::Wrong => None,
        };
        if let Some(instance) = instance {
            let made = self.call(None, &instance, &operands)?;
            self.put(made, place, &instance);
        }
        Ok(None)
    }

    /// The inputs of the next use of a group, converted to their stated types.
    fn inputs_of_use(
        &mut self,
        operands: &[Option<Operand>],
        group: &Body,
    ) -> Result<HashMap<Arc<str>, Option<NodeNumber>>, NotLive> {
        // Checking counts no groups without calls, however many their uses are.
        if self.uses.len() > MANY_USES + USES_PER_CALL * self.n_calls {
            return Err(NotLive);
        }
        let mut inputs = HashMap::new();
        let port = Owner::Port((self.uses.len() as u32, Side::In));
        for (operand, input) in operands.iter().zip(&group.inputs) {
            let node = match operand {
                Some(operand) if !input.is_wrong => {
                    Some(self.fitted(port, None, operand, input.ty)?)
                }
                Some(_) | None => None,
            };
            inputs.insert(Arc::clone(&input.name), node);
        }
        Ok(inputs)
    }

    /// A new use of a body.
    fn enter(
        &mut self,
        editor: &Editor,
        places: &Places,
        id: BodyId,
        outer: Option<(u32, u32)>,
        inputs: HashMap<Arc<str>, Option<NodeNumber>>,
    ) -> u32 {
        let key = places.key[index(id)];
        let n_slots = editor.nodes_of_body(key).n_slots();
        let known = self.bodies.entry(key).or_default();
        let use_id = self.uses.len() as u32;
        known.uses.push(use_id);
        let (outs, many) = (roomy(None, n_slots), FxHashMap::default());
        self.uses.push(Some(Use { body: key, outer, inputs, outs, many }));
        use_id
    }

    /// The operand of a source in one use of its body; `None` if it is wrong there.
    fn operand(
        &self,
        use_id: u32,
        (checked, places): (&Checked, &Places),
        id: BodyId,
        source: Source,
    ) -> Option<Operand> {
        let body = &checked.bodies[id];
        match source {
            Source::Literal(i) => Some(Operand::Literal(body.literals[i as usize].clone())),
            Source::Input(i) => {
                let input = &body.inputs[i as usize];
                Some(Operand::Node(self.input_in(use_id, &input.name)?, input.ty))
            }
            Source::Node { node, output } => {
                let slot = places.slots[index(id)][node as usize];
                let found = self.output_in(use_id, slot, output as usize)?;
                Some(Operand::Node(found, checked.source_type(id, source)?))
            }
            Source::Wrong => None,
        }
    }

    /// The nodes of the outputs of a body in one of its uses.
    fn given_out(
        &mut self,
        use_id: u32,
        port: Owner,
        within: (&Checked, &Places),
        id: BodyId,
    ) -> Result<Vec<Option<NodeNumber>>, NotLive> {
        let body = &within.0.bodies[id];
        let outputs = body.outputs.iter();
        outputs
            .map(|output| match self.operand(use_id, within, id, output.source) {
                Some(operand) => self.fitted(port, None, &operand, output.ty).map(Some),
                None => Ok(None),
            })
            .collect()
    }
}

/// A vector of `n` values with room for more: copying it when one node is added would make that
/// edit slow.
fn roomy<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut all = Vec::with_capacity(n + n / 8);
    all.resize(n, value);
    all
}

fn has_repeats(document: &Document) -> bool {
    let groups = document.groups.values().flat_map(|group| group.nodes.values());
    let mut nodes = document.nodes.values().chain(groups);
    nodes.any(|node| matches!(node.kind, NodeKind::Repeat(_)))
}

/// The compiled repeats of a document.
fn repeats_of(
    checked: &Checked,
    live: &FxHashSet<BodyId>,
    registry: &Registry,
    limits: &Limits,
) -> Result<Repeats, NotLive> {
    let is_repeat = |node: &CheckedNode| matches!(node.kind, CheckedKind::Repeat(_));
    if !live.iter().any(|id| checked.bodies[*id].nodes.iter().any(is_repeat)) {
        return Ok(Repeats::default());
    }
    Repeats::of_document(checked, registry, limits).map_err(|_| NotLive)
}

/// Whether all nodes of these bodies can be live.
fn can_be_live(checked: &Checked, live: &FxHashSet<BodyId>) -> bool {
    let mut last: *const Instance = std::ptr::null();
    let bodies = checked.bodies.iter().filter(|(id, _)| live.contains(id));
    bodies.flat_map(|(_, body)| &body.nodes).all(|node| match &node.kind {
        CheckedKind::Call(instance) => {
            let is_known = std::ptr::eq(Arc::as_ptr(instance), last);
            last = Arc::as_ptr(instance);
            is_known
                || instance.def.keeps.is_some()
                || live::can_be_live(instance)
                || is_scope(instance)
        }
        CheckedKind::Group(_)
        | CheckedKind::Repeat(_)
        | CheckedKind::Muted(_)
        | CheckedKind::Wrong => true,
    })
}

fn places(editor: &Editor, checked: &Checked) -> Places {
    let document = editor.document();
    let groups = document.groups.iter_slots().map(|(slot, ..)| slot);
    let key: Vec<BodyKey> = groups.chain([ROOT]).collect();
    debug_assert_eq!(key.len(), checked.bodies.len());
    let slots = key
        .iter()
        .map(|key| editor.nodes_of_body(*key).iter_slots().map(|(slot, ..)| slot).collect())
        .collect();
    Places { key, slots }
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
