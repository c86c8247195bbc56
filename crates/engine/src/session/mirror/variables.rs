//! What the nodes of a mirror keep, by the names that plans give it.
//!
//! An edit touches the variables of the nodes that it changes, not all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::Editor;
use millstream_ir::states::States;
use millstream_node::Data;
use millstream_node::state::STARTED;
use millstream_run::live::NodeNumber;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::Mirror;

/// What is kept, and what has to be done before it is looked at.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// By name, as plans call their hidden inputs and outputs.
    all: BTreeMap<Arc<str>, Variable>,
    /// The names of what each node keeps, by the source of whether it keeps anything.
    of_keepers: FxHashMap<NodeNumber, SmallVec<[Arc<str>; 2]>>,
    /// All but those of the places below have the names that they have now.
    are_named: bool,
    /// The places of nodes that came, moved, or keep the results of other nodes now.
    unnamed: FxHashSet<(u32, u32)>,
    /// All but those of the names below read what is kept.
    have_states: bool,
    /// The names of those that do not.
    unread: Vec<Arc<str>>,
    /// Paths of nodes that went since that was asked last.
    gone: Vec<Arc<str>>,
    /// Only those went: since then, or since a tick, the mirror is not new, and no paths changed.
    only_those: bool,
}

/// Something that is kept.
#[derive(Debug)]
struct Variable {
    ty: Type,
    source: NodeNumber,
    /// What it is from the tick on; of whether anything is kept there is no node, it always is then.
    next: Option<NodeNumber>,
}

impl Variables {
    /// A node came to a place, or keeps other things there.
    pub(super) fn changed(&mut self, place: (u32, u32)) {
        self.unnamed.insert(place);
    }

    /// The node went that has this source of whether it keeps anything.
    pub(super) fn gone(&mut self, started: NodeNumber) {
        let names = self.of_keepers.remove(&started).unwrap_or_default();
        let path = names.first().and_then(|name| name.rsplit_once('.'));
        self.gone.extend(path.map(|(path, _)| Arc::from(path)));
        for name in names {
            self.all.remove(&name);
        }
    }
}

impl Mirror {
    /// What nodes keep may have changed, and not by a tick of this mirror.
    pub(in crate::session) fn states_changed(&mut self, editor: &Editor) {
        self.variables.have_states = false;
        // What goes is told by its names.
        self.name_variables(editor);
    }

    /// What nodes keep changed that are at these paths.
    pub(in crate::session) fn states_changed_at<'p>(
        &mut self,
        editor: &Editor,
        paths: impl Iterator<Item = &'p str>,
    ) {
        self.name_variables(editor);
        for path in paths {
            let place = self.place_at(editor, path);
            let Some(keeper) = place.and_then(|place| self.keepers.get(&place)) else { continue };
            let names = self.variables.of_keepers.get(&keeper.started);
            self.variables.unread.extend(names.into_iter().flatten().cloned());
        }
    }

    /// Nodes may have other paths.
    pub(in crate::session) fn paths_changed(&mut self) {
        self.variables.are_named = false;
        self.variables.only_those = false;
    }

    /// The paths of nodes that kept something and went since this was asked last; `None` if any may
    /// have.
    pub(in crate::session) fn take_gone_keepers(&mut self) -> Option<Vec<Arc<str>>> {
        let gone = std::mem::take(&mut self.variables.gone);
        std::mem::replace(&mut self.variables.only_those, true).then_some(gone)
    }

    /// Lets nodes read what they keep, if that changed.
    pub(in crate::session) fn bring_states(&mut self, editor: &Editor, states: &States) {
        self.name_variables(editor);
        let Variables { all, unread, have_states, .. } = &mut self.variables;
        let graph = &mut self.graph;
        let mut bring = |name: &str, it: &Variable| match states.value(name) {
            Some(Data::One(value)) if value.ty() == it.ty => graph.set_value(it.source, value),
            Some(_) | None => graph.set_value(it.source, &it.ty.default_value()),
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

    /// Gives all that is kept its name.
    fn name_variables(&mut self, editor: &Editor) {
        let mut unnamed = std::mem::take(&mut self.variables.unnamed);
        if !std::mem::replace(&mut self.variables.are_named, true) {
            self.variables.all.clear();
            self.variables.of_keepers.clear();
            self.variables.have_states = false;
            unnamed = self.keepers.keys().copied().collect();
        }
        // Nodes that moved may have the names that others had.
        let mut before: FxHashMap<Arc<str>, NodeNumber> = FxHashMap::default();
        for keeper in unnamed.iter().filter_map(|place| self.keepers.get(place)) {
            for name in self.variables.of_keepers.remove(&keeper.started).unwrap_or_default() {
                if let Some(it) = self.variables.all.remove(&name) {
                    before.insert(name, it.source);
                }
            }
        }
        for place in unnamed {
            let Some(keeper) = self.keepers.get(&place) else { continue };
            let path = self.path_at(editor, Some(place));
            let started = [(keeper.started, None, STARTED, Type::BOOL)];
            let mut names = SmallVec::new();
            for (source, next, name, ty) in started.into_iter().chain(keeper.kept()) {
                let name: Arc<str> = format!("{path}.{name}").into();
                if before.get(&name) != Some(&source) {
                    self.variables.unread.push(Arc::clone(&name));
                }
                self.variables.all.insert(Arc::clone(&name), Variable { ty, source, next });
                names.push(name);
            }
            self.variables.of_keepers.insert(keeper.started, names);
        }
    }

    /// The nodes of what is kept from then on.
    pub(super) fn nodes_to_keep(&self) -> impl Iterator<Item = NodeNumber> {
        self.variables.all.values().filter_map(|it| it.next)
    }

    /// What nodes keep from then on, by the names of the hidden outputs of plans, sorted; they read it
    /// from now on. `None`, and nothing changes, if one of them failed.
    pub(in crate::session) fn commit(&mut self) -> Option<Vec<(Arc<str>, Data)>> {
        let value = |it: &Variable| match it.next {
            Some(next) => self.graph.value(next, it.ty),
            None => Some(Value::Bool(true)),
        };
        let all = &self.variables.all;
        let values: Vec<Value> = all.values().map(value).collect::<Option<_>>()?;
        for (it, value) in all.values().zip(&values) {
            self.graph.set_value(it.source, value);
        }
        // All that is kept is of the nodes that are there.
        self.variables.gone.clear();
        self.variables.only_those = true;
        let values = all.keys().zip(values);
        Some(values.map(|(name, value)| (Arc::clone(name), Data::One(value))).collect())
    }
}
