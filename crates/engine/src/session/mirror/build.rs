//! The mirror of a whole document.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::Limits;
use millstream_compile::repeats::Repeats;
use millstream_document::check::KnownAlone;
use millstream_document::edit::{BodyKey, ROOT};
use millstream_document::{BodyId, Checked, CheckedKind, CheckedNode, Editor, InputDef, Source};
use millstream_node::{Instance, Registry};
use millstream_run::live::{self, LiveGraph, NodeNumber, Shown};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::keep::Keeping;
use super::rounds::live_bodies;
use super::scoped::is_scope;
use super::variables::Variables;
use super::{
    Bits, Kind, Known, Lost, Many, Mirror, OUTPUTS, Observed, Owner, RootInput, RootOutput, Side,
    Use, Want,
};

/// So many uses of groups are made, and so many more for each call in them.
const MANY_USES: usize = 1 << 16;
const USES_PER_CALL: usize = 64;

/// Results besides the last of each node are kept if they took so long, and may hold so many bytes.
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
    /// The mirror of a document without errors.
    ///
    /// # Errors
    /// If something in it changes contexts.
    pub(in crate::session) fn new(
        editor: &Editor,
        checked: &Checked,
        registry: &Arc<Registry>,
        limits: &Limits,
    ) -> Result<Self, Lost> {
        let live = live_bodies(checked);
        if !can_be_live(checked, &live) {
            return Err(Lost);
        }
        let repeats = repeats_of(checked, &live, registry, limits)?;
        let mut mirror = Self::empty(registry, limits, checked.fps);
        for input in &checked.root().inputs {
            mirror.add_input(&input.name, input.ty, input.default.clone());
        }
        let places = places(editor, checked);
        // Nodes that do the same share their instance.
        let mut keeping: FxHashMap<*const Instance, Arc<Keeping>> = FxHashMap::default();
        for (id, body) in checked.bodies.iter() {
            let key = places.key[index(id)];
            let n_slots = editor.nodes_of_body(key).n_slots();
            let (mut kinds, mut ids) = (roomy(Kind::None, n_slots), roomy(0, n_slots));
            let is_live = live.contains(&id);
            for (node, slot) in body.nodes.iter().zip(&places.slots[index(id)]) {
                ids[*slot as usize] = editor.id_at(key, *slot);
                kinds[*slot as usize] = match &node.kind {
                    // What it does is found out when it is used.
                    CheckedKind::Call(_) | CheckedKind::Repeat(_) if !is_live => Kind::Wrong,
                    CheckedKind::Call(instance) if instance.def.keeps.is_none() => {
                        Kind::Call(Arc::clone(instance))
                    }
                    CheckedKind::Call(instance) => {
                        let known = match keeping.entry(Arc::as_ptr(instance)) {
                            Entry::Occupied(known) => known.into_mut(),
                            Entry::Vacant(place) => {
                                let made = Keeping::of(registry, instance)?.ok_or(Lost)?;
                                place.insert(Arc::new(made))
                            }
                        };
                        Kind::Keeps(Arc::clone(known))
                    }
                    CheckedKind::Group(inner) => Kind::Group(places.key[index(*inner)]),
                    CheckedKind::Repeat(repeat) => {
                        let group = places.key[index(repeat.body)];
                        Kind::Call(mirror.repeat_of(group, repeat, (checked, &repeats))?)
                    }
                    CheckedKind::Muted(muted) => Kind::Muted(Arc::clone(muted)),
                };
            }
            mirror.bodies.insert(key, Known { kinds, ids, uses: Vec::new() });
        }
        mirror.fill(editor, checked, &places)?;
        let root = checked.root();
        for output in &root.outputs {
            let want = mirror.want(0, (checked, &places), checked.root, output.source)?;
            let node = Some(mirror.fitted(OUTPUTS, None, &want, output.ty)?);
            mirror.outputs.insert(Arc::clone(&output.name), RootOutput { ty: output.ty, node });
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
            scopes: FxHashMap::default(),
            relinked: Vec::new(),
            n_copies: 0,
            places: FxHashMap::default(),
            known_alone: KnownAlone::default(),
            args: Bits::default(),
            ports: FxHashMap::default(),
            doomed: FxHashSet::default(),
            observed: Observed::default(),
            edited: FxHashMap::default(),
            shown: Shown::default(),
            keepers: FxHashMap::default(),
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

    /// Makes the nodes of all uses, from the document inwards.
    fn fill(&mut self, editor: &Editor, checked: &Checked, places: &Places) -> Result<(), Lost> {
        self.enter(editor, places, checked.root, None, HashMap::new());
        let mut stack = vec![Frame { use_id: 0, body: checked.root, at: 0 }];
        // What counts for later ticks may stand behind what reads it.
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
            if let CheckedKind::Call(instance) = &node.kind
                && instance.def.keeps.is_some()
            {
                let kind = self.bodies[&places.key[index(id)]].kinds[slot as usize].clone();
                let Kind::Keeps(keeping) = kind else { return Err(Lost) };
                let mut wants = Vec::new();
                for (at, source) in body.sources_of(node).iter().enumerate() {
                    wants.push(if keeping.is_delayed(at) {
                        later.push((use_id, slot, id, *source));
                        None
                    } else {
                        Some(self.want(use_id, (checked, places), id, *source)?)
                    });
                }
                let keeper = self.keeper(None, &keeping, &wants)?;
                self.put_keeper((use_id, slot), keeper);
                continue;
            }
            let wants = self.wants(use_id, (checked, places), id, node)?;
            match &node.kind {
                CheckedKind::Call(instance) => {
                    let made = self.call(None, instance, &wants)?;
                    self.put(made, (use_id, slot), instance);
                }
                CheckedKind::Muted(muted) => {
                    let outs = self.passed((use_id, Side::Out(slot)), &[], muted, &wants)?;
                    let many = Many { outs, child: None };
                    self.use_mut(use_id).many.insert(slot, many);
                }
                CheckedKind::Repeat(_) => {
                    let kind = &self.bodies[&places.key[index(id)]].kinds[slot as usize];
                    let instance = Arc::clone(kind.instance().ok_or(Lost)?);
                    let made = self.call(None, &instance, &wants)?;
                    self.put(made, (use_id, slot), &instance);
                }
                CheckedKind::Group(inner) => {
                    let mut inputs = HashMap::new();
                    let port = Owner::Port((self.uses.len() as u32, Side::In));
                    for (want, input) in wants.iter().zip(&checked.bodies[*inner].inputs) {
                        let node = self.fitted(port, None, want, input.ty)?;
                        inputs.insert(Arc::clone(&input.name), Some(node));
                    }
                    let outer = Some((use_id, slot));
                    // Groups without calls count for nothing in a check, however many their uses are.
                    if self.uses.len() > MANY_USES + USES_PER_CALL * self.n_calls {
                        return Err(Lost);
                    }
                    let child = self.enter(editor, places, *inner, outer, inputs);
                    stack.push(Frame { use_id: child, body: *inner, at: 0 });
                }
            }
        }
        for (use_id, slot, id, source) in later {
            let want = self.want(use_id, (checked, places), id, source)?;
            self.link_delayed((use_id, slot), &want)?;
        }
        Ok(())
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

    fn wants(
        &self,
        use_id: u32,
        within: (&Checked, &Places),
        id: BodyId,
        node: &CheckedNode,
    ) -> Result<SmallVec<[Want; 4]>, Lost> {
        let sources = within.0.bodies[id].sources_of(node).iter();
        sources.map(|source| self.want(use_id, within, id, *source)).collect()
    }

    /// What a source of a body is in one of its uses.
    fn want(
        &self,
        use_id: u32,
        (checked, places): (&Checked, &Places),
        id: BodyId,
        source: Source,
    ) -> Result<Want, Lost> {
        let body = &checked.bodies[id];
        Ok(match source {
            Source::Literal(i) => Want::Literal(body.literals[i as usize].clone()),
            Source::Input(i) => {
                let input = &body.inputs[i as usize];
                Want::Node(self.input_in(use_id, &input.name).ok_or(Lost)?, input.ty)
            }
            Source::Node { node, output } => {
                let slot = places.slots[index(id)][node as usize];
                let found = self.output_in(use_id, slot, output as usize).ok_or(Lost)?;
                Want::Node(found, checked.source_type(id, source))
            }
        })
    }

    /// What the outputs of a use of a group are.
    fn given_out(
        &mut self,
        use_id: u32,
        port: Owner,
        within: (&Checked, &Places),
        id: BodyId,
    ) -> Result<Vec<Option<NodeNumber>>, Lost> {
        let body = &within.0.bodies[id];
        let outputs = body.outputs.iter();
        outputs
            .map(|output| {
                let want = self.want(use_id, within, id, output.source)?;
                self.fitted(port, None, &want, output.ty).map(Some)
            })
            .collect()
    }
}

/// So many values, and room for more: nodes are added one by one while somebody looks on, and a copy
/// of everything for one of them would be felt.
fn roomy<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut all = Vec::with_capacity(n + n / 8);
    all.resize(n, value);
    all
}

/// What the repeats run that a document uses.
fn repeats_of(
    checked: &Checked,
    live: &FxHashSet<BodyId>,
    registry: &Registry,
    limits: &Limits,
) -> Result<Repeats, Lost> {
    let is_repeat = |node: &CheckedNode| matches!(node.kind, CheckedKind::Repeat(_));
    if !live.iter().any(|id| checked.bodies[*id].nodes.iter().any(is_repeat)) {
        return Ok(Repeats::default());
    }
    Repeats::of_document(checked, registry, limits).map_err(|_| Lost)
}

/// Whether all nodes can be live that have to.
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
        CheckedKind::Group(_) | CheckedKind::Repeat(_) | CheckedKind::Muted(_) => true,
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
