//! The state of the nodes of a live graph, by the names that plans give it.
//!
//! An edit touches only the state of the nodes that it changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::Editor;
use millstream_ir::states::States;
use millstream_node::Data;
use millstream_node::state::STARTED;
use millstream_run::live::{LiveGraph, NodeNumber};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::Mirror;

/// All state, and the updates that are due before it is read.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// By name, as plans call their hidden inputs and outputs.
    all: BTreeMap<Arc<str>, Variable>,
    /// The names of the state of each node, by the source that tells whether it has any.
    of_nodes: FxHashMap<NodeNumber, SmallVec<[Arc<str>; 2]>>,
    /// Whether all but the places below have their current names.
    are_named: bool,
    /// The places of nodes that are new, moved, or have other next values.
    unnamed: FxHashSet<(u32, u32)>,
    /// Whether all but the names below have been read.
    have_states: bool,
    /// The number of elements for which the sources have state.
    count: Option<usize>,
    /// The names of state that must be read again.
    unread: Vec<Arc<str>>,
    /// Paths of nodes that were removed since the last query.
    gone: Vec<Arc<str>>,
    /// Whether these removals are all: no paths have changed since then, or since a tick.
    only_those: bool,
}

/// One value of state.
#[derive(Debug)]
struct Variable {
    ty: Type,
    source: NodeNumber,
    /// The node of its next value; `None` for the variable that tells whether there is state, which
    /// is true after a tick.
    next: Option<NodeNumber>,
}

impl Variables {
    /// Records that a place has a new node, or other state.
    pub(super) fn changed(&mut self, place: (u32, u32)) {
        self.unnamed.insert(place);
    }

    /// Records that the node with this source, which tells whether it has state, was removed.
    pub(super) fn gone(&mut self, started: NodeNumber) {
        let names = self.of_nodes.remove(&started).unwrap_or_default();
        let path = names.first().and_then(|name| name.rsplit_once('.'));
        self.gone.extend(path.map(|(path, _)| Arc::from(path)));
        for name in names {
            self.all.remove(&name);
        }
    }
}

impl Mirror {
    /// Records that state may have changed other than by a tick of this mirror.
    pub(in crate::session) fn states_changed(&mut self, editor: &Editor) {
        self.variables.have_states = false;
        // Removed state is identified by its names.
        self.name_variables(editor);
    }

    /// Records that the state of the nodes at these paths changed.
    pub(in crate::session) fn states_changed_at<'p>(
        &mut self,
        editor: &Editor,
        paths: impl Iterator<Item = &'p str>,
    ) {
        self.name_variables(editor);
        for path in paths {
            let place = self.place_at(editor, path);
            let Some(stateful) = place.and_then(|place| self.stateful.get(&place)) else {
                continue;
            };
            let names = self.variables.of_nodes.get(&stateful.started);
            self.variables.unread.extend(names.into_iter().flatten().cloned());
        }
    }

    /// Records that nodes may have other paths.
    pub(in crate::session) fn paths_changed(&mut self) {
        self.variables.are_named = false;
        self.variables.only_those = false;
    }

    /// The paths of nodes with state that were removed since the last call; `None` if any may have
    /// been.
    pub(in crate::session) fn take_gone_states(&mut self) -> Option<Vec<Arc<str>>> {
        let gone = std::mem::take(&mut self.variables.gone);
        std::mem::replace(&mut self.variables.only_those, true).then_some(gone)
    }

    /// Writes state that has changed to its sources, for this many elements.
    pub(in crate::session) fn bring_states(
        &mut self,
        editor: &Editor,
        states: &States,
        count: Option<usize>,
    ) {
        self.name_variables(editor);
        let Variables { all, unread, have_states, count: count_before, .. } = &mut self.variables;
        *have_states &= std::mem::replace(count_before, count) == count;
        let graph = &mut self.graph;
        let mut bring = |name: &str, it: &Variable| {
            let kept = states.value_for(name, it.ty, count);
            let state = kept.unwrap_or_else(|| Data::One(it.ty.default_value()));
            set_state(graph, it.source, &state);
        };
        let unread = std::mem::take(unread);
        if std::mem::replace(have_states, true) {
            for name in unread {
                if let Some(it) = all.get(&name) {
                    bring(&name, it);
                }
            }
        } else {
            for (name, it) in all {
                bring(name, it);
            }
        }
    }

    /// Names all state.
    fn name_variables(&mut self, editor: &Editor) {
        let mut unnamed = std::mem::take(&mut self.variables.unnamed);
        if !std::mem::replace(&mut self.variables.are_named, true) {
            self.variables.all.clear();
            self.variables.of_nodes.clear();
            self.variables.have_states = false;
            unnamed = self.stateful.keys().copied().collect();
        }
        // Nodes that moved may have the names that others had.
        let mut before: FxHashMap<Arc<str>, NodeNumber> = FxHashMap::default();
        for stateful in unnamed.iter().filter_map(|place| self.stateful.get(place)) {
            for name in self.variables.of_nodes.remove(&stateful.started).unwrap_or_default() {
                if let Some(it) = self.variables.all.remove(&name) {
                    before.insert(name, it.source);
                }
            }
        }
        for place in unnamed {
            let Some(stateful) = self.stateful.get(&place) else { continue };
            let path = self.path_at(editor, Some(place));
            let started = [(stateful.started, None, STARTED, Type::BOOL)];
            let mut names = SmallVec::new();
            for (source, next, name, ty) in started.into_iter().chain(stateful.kept()) {
                let name: Arc<str> = format!("{path}.{name}").into();
                if before.get(&name) != Some(&source) {
                    self.variables.unread.push(Arc::clone(&name));
                }
                self.variables.all.insert(Arc::clone(&name), Variable { ty, source, next });
                names.push(name);
            }
            self.variables.of_nodes.insert(stateful.started, names);
        }
    }

    /// The nodes of all next values.
    pub(super) fn nodes_to_keep(&self) -> impl Iterator<Item = NodeNumber> {
        self.variables.all.values().filter_map(|it| it.next)
    }

    /// Whether some next value depends on an input of the document.
    pub(in crate::session) fn state_depends_on(&mut self, editor: &Editor, input: &str) -> bool {
        self.name_variables(editor);
        let Some(input) = self.inputs.get(input) else { return false };
        let next: FxHashSet<NodeNumber> = self.nodes_to_keep().collect();
        let (mut seen, mut ahead) = (FxHashSet::default(), vec![input.node]);
        while let Some(node) = ahead.pop() {
            if next.contains(&node) {
                return true;
            }
            if seen.insert(node) {
                ahead.extend(self.graph.readers_of(node));
            }
        }
        false
    }

    /// Makes the next values the state, of this many elements. If one of them failed, nothing
    /// changes and the result is false.
    pub(in crate::session) fn commit(&mut self, states: &mut States, count: Option<usize>) -> bool {
        let next = |(name, it): (&Arc<str>, &Variable)| {
            let data = match it.next {
                Some(next) => self.graph.data(next, it.ty)?,
                None => Data::One(Value::Bool(true)),
            };
            Some((Arc::clone(name), data))
        };
        let all = &self.variables.all;
        let Some(values) = all.iter().map(next).collect() else { return false };
        states.commit_values(values, count);
        for (it, state) in all.values().zip(states.values()) {
            set_state(&mut self.graph, it.source, state);
        }
        // All state now belongs to existing nodes.
        self.variables.gone.clear();
        self.variables.only_those = true;
        true
    }
}

fn set_state(graph: &mut LiveGraph, source: NodeNumber, state: &Data) {
    match state {
        Data::One(value) => graph.set_value(source, value),
        Data::Many(_) => graph.set_data(source, state),
    }
}
