//! Replaces a live graph in which edits removed most nodes. Ids of removed nodes are not used
//! again, so the graph of a long session would grow. Values move to the new graph, so that no node
//! runs. This module also decides when to try a live graph again for a document that had none.

use millstream_document::Checked;
use millstream_run::live::NodeNumber;
use rustc_hash::FxHashMap;

use super::Mirror;
use super::stateful::StatefulNode;
use crate::session::Session;

/// A mirror is rebuilt when this many nodes were removed, and twice as many as are left.
const MANY_REMOVED: usize = 1 << 16;

/// Maximal number of edits until a mirror is tried again for a document that could not be live:
/// trying takes as long as making one.
pub(super) const MOST_REFUSED: u32 = 16;

impl Session {
    /// The mirror of a document, if it can be live: one that holds columns if these are wanted.
    pub(in crate::session) fn new_mirror(&mut self, checked: &Checked) -> Option<Box<Mirror>> {
        self.mirror_of_columns(checked).or_else(|| self.mirror_of_numbers(checked))
    }

    /// The mirror of a document if it can hold columns. After a failure it is not tried at every
    /// edit.
    pub(super) fn mirror_of_columns(&mut self, checked: &Checked) -> Option<Box<Mirror>> {
        if !self.columns.is_due() {
            return None;
        }
        let mirror = self.made_mirror(checked, true);
        self.columns.tried(mirror.is_some());
        mirror
    }

    /// The mirror of a document without columns. After a failure it is not tried at every edit.
    pub(super) fn mirror_of_numbers(&mut self, checked: &Checked) -> Option<Box<Mirror>> {
        if !self.refused.is_due() {
            return None;
        }
        let mirror = self.made_mirror(checked, false);
        self.refused.tried(mirror.is_some(), MOST_REFUSED);
        mirror
    }

    fn made_mirror(&self, checked: &Checked, has_columns: bool) -> Option<Box<Mirror>> {
        let (registry, limits) = (self.engine.shared_registry(), self.engine.limits());
        let mirror = Mirror::new(&self.editor, checked, &registry, limits, has_columns);
        mirror.ok().map(Box::new)
    }

    /// Rebuilds the mirror if most of it was removed.
    pub(in crate::session) fn renew_worn_mirror(&mut self) {
        if self.mirror.as_ref().is_some_and(|mirror| mirror.is_worn()) {
            self.renew_mirror();
        }
    }

    /// Rebuilds the mirror, with all its values.
    pub(in crate::session) fn renew_mirror(&mut self) {
        let Some(mut before) = self.mirror.take() else { return };
        let checked = self.whole().live().cloned();
        let has_columns = before.holds_columns();
        let made = checked.and_then(|checked| self.made_mirror(&checked, has_columns));
        match made {
            Some(mut mirror) => {
                mirror.carry_on(&mut before);
                self.mirror = Some(mirror);
                self.set_mirror();
            }
            // The document as a whole cannot be live; it is tried again after a number of edits.
            None => {
                before.n_removed = 0;
                self.mirror = Some(before);
            }
        }
        self.forget_whole();
    }
}

impl Mirror {
    fn is_worn(&self) -> bool {
        self.n_removed > MANY_REMOVED.max(2 * self.n_calls)
    }

    /// Takes over the values of the previous mirror.
    fn carry_on(&mut self, before: &mut Self) {
        let places = self.places_of(before);
        self.go_on_with_results_of(before);
        self.graph.carry_on(&mut before.graph, &places);
        let edited = before.edited.iter();
        self.edited = edited.filter_map(|(node, had)| Some((*places.get(node)?, *had))).collect();
        self.shown = before.shown.moved(|node| places.get(&node).copied());
    }

    /// For each node of an earlier mirror of the same document, the corresponding node of this one.
    fn places_of(&self, before: &Self) -> FxHashMap<NodeNumber, NodeNumber> {
        let mut stack: Vec<(NodeNumber, NodeNumber)> = Vec::new();
        let inputs = before.inputs.iter();
        stack.extend(inputs.filter_map(|(name, it)| Some((it.node, self.inputs.get(name)?.node))));
        let features = before.features.iter();
        stack.extend(features.filter_map(|(name, it)| Some((*it, *self.features.get(name)?))));
        stack.extend(before.n_elements.zip(self.n_elements));
        let outputs = before.outputs.iter();
        stack.extend(
            outputs.filter_map(|(name, it)| Some((it.node?, self.outputs.get(name)?.node?))),
        );
        let mut uses = vec![(0, 0)];
        let mut stateful: Vec<(&StatefulNode, &StatefulNode)> = Vec::new();
        while let Some((old_id, new_id)) = uses.pop() {
            let (old, new) = (before.use_of(old_id), self.use_of(new_id));
            if old.body != new.body {
                continue;
            }
            let kinds = before.bodies[&old.body].kinds.iter().zip(&self.bodies[&new.body].kinds);
            for (slot, ((out, now), kinds)) in (0..).zip(old.outs.iter().zip(&new.outs).zip(kinds))
            {
                if let (Some(out), Some(now)) = (out, now)
                    && let (Some(a), Some(b)) = (kinds.0.instance(), kinds.1.instance())
                    && a.does_same(b)
                {
                    stack.push((*out, *now));
                    let before = before.stateful.get(&(old_id, slot));
                    stateful.extend(before.zip(self.stateful.get(&(new_id, slot))));
                }
            }
            let inputs = old.inputs.iter();
            let pair =
                |(name, it): (_, &Option<NodeNumber>)| Some(((*it)?, (*new.inputs.get(name)?)?));
            stack.extend(inputs.filter_map(pair));
            for (slot, many) in &old.many {
                let Some(now) = new.many.get(slot) else { continue };
                let networks = before.networks.get(&(old_id, *slot));
                if let Some((a, b)) = networks.zip(self.networks.get(&(new_id, *slot)))
                    && a.instance.does_same(&b.instance)
                {
                    stack.extend(a.nodes().zip(b.nodes()).filter_map(|(a, b)| a.zip(b)));
                }
                let outs = many.outs.iter().zip(&now.outs);
                stack.extend(outs.filter_map(|(old, new)| Some(((*old)?, (*new)?))));
                uses.extend(many.child.zip(now.child));
            }
        }
        for (old, new) in stateful {
            stack.extend(old.nodes().zip(new.nodes()));
        }
        let mut places = FxHashMap::default();
        while let Some((old, new)) = stack.pop() {
            if places.contains_key(&old) {
                continue;
            }
            places.insert(old, new);
            let (old_graph, new_graph) = (&before.graph, &self.graph);
            let outputs = |at| Some((old_graph.output(old, at)?, new_graph.output(new, at)?));
            stack.extend((0..).map_while(outputs));
            let inputs = |at| Some((old_graph.input_of(old, at)?, new_graph.input_of(new, at)?));
            stack.extend((0..).map_while(inputs));
        }
        places
    }
}
