//! Nodes that run groups round by round: each is one live node, which runs all rounds when something that
//! it reads changes.
//!
//! What the rounds run is compiled as for plans, once for each group and way to run it, and anew when the
//! group is edited, or one inside it.

use std::sync::Arc;

use millstream_compile::repeats::Repeats;
use millstream_document::check::{Alone, AloneKind, check_repeat_alone};
use millstream_document::edit::{BodyKey, Change, ROOT};
use millstream_document::{BodyId, Checked, CheckedKind, CheckedRepeat, Editor, Node, NodeKind};
use millstream_ir::RepeatBody;
use millstream_node::{Class, Instance};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::queue::Queue;
use super::{Lost, Mirror, Want};
use millstream_base::feature::Aspect;

/// One way to run a group, and the instance that does it.
#[derive(Debug)]
pub(super) struct Way {
    repeat: CheckedRepeat,
    instance: Arc<Instance>,
}

impl Way {
    /// Whether it runs its group as a repeat does, of whichever document.
    fn is_of(&self, other: &CheckedRepeat) -> bool {
        let known = &self.repeat;
        known.count == other.count
            && known.carries == other.carries
            && known.go == other.go
            && known.until_stable == other.until_stable
    }
}

impl Mirror {
    /// The instance of a repeat of a group in a document whose repeats were compiled.
    pub(super) fn repeat_of(
        &mut self,
        group: BodyKey,
        repeat: &CheckedRepeat,
        (checked, repeats): (&Checked, &Repeats),
    ) -> Result<Arc<Instance>, Lost> {
        let ways = self.repeats.entry(group).or_default();
        if let Some(known) = ways.iter().find(|way| way.is_of(repeat)) {
            return Ok(Arc::clone(&known.instance));
        }
        if keeps(checked, repeat.body) {
            return Err(Lost);
        }
        let made = repeats.get(repeat).ok_or(Lost)?;
        let instance = Arc::clone(&made.instance);
        ways.push(Way { repeat: repeat.clone(), instance: Arc::clone(&instance) });
        Ok(instance)
    }

    /// A node checked alone that runs a group round by round.
    pub(super) fn repeat_alone(
        &mut self,
        editor: &Editor,
        body: BodyKey,
        node: &Node,
    ) -> Result<Alone, Lost> {
        let type_of = |reference: millstream_document::edit::Reference<'_>| {
            self.type_in(editor, body, reference)
        };
        let alone =
            check_repeat_alone(&self.registry, &self.limits, editor.document(), node, type_of);
        let (checked, sources) = alone.ok_or(Lost)?;
        let CheckedKind::Repeat(repeat) = &checked.root().nodes[0].kind else { return Err(Lost) };
        let group = node.kind.group().and_then(|name| editor.body_of(name)).ok_or(Lost)?;
        let ways = self.repeats.entry(group).or_default();
        let known = ways.iter().find(|way| way.is_of(repeat)).map(|way| Arc::clone(&way.instance));
        let instance = match known {
            Some(known) => known,
            None => {
                let repeats = Repeats::of_document(&checked, &self.registry, &self.limits);
                let repeats = repeats.map_err(|_| Lost)?;
                self.repeat_of(group, repeat, (&checked, &repeats))?
            }
        };
        Ok(Alone { kind: AloneKind::Call(instance), sources })
    }

    /// What goes into a node, and, if it runs rounds, what these need of the context behind it.
    pub(super) fn with_captures(
        &mut self,
        instance: &Instance,
        wants: &[Want],
    ) -> Result<Option<SmallVec<[Want; 4]>>, Lost> {
        let Some(body) = RepeatBody::of(instance) else { return Ok(None) };
        let mut all: SmallVec<[Want; 4]> = wants.into();
        for need in &body.captures {
            if need.level != 0 || need.aspect != Aspect::Value {
                return Err(Lost);
            }
            all.push(Want::Node(self.feature(&need.feature)?, need.feature.ty()));
        }
        Ok(Some(all))
    }

    /// Has nodes looked at that run what was edited.
    pub(super) fn touch_repeats(&mut self, queue: &mut Queue<'_>, changes: &[Change]) {
        if self.repeats.is_empty() {
            return;
        }
        let body = |change: &Change| match *change {
            Change::Node { body, .. }
            | Change::Gone { body, .. }
            | Change::NodeName { body }
            | Change::Inputs { body }
            | Change::Outputs { body }
            | Change::GroupCame { body }
            | Change::GroupGone { body } => Some(body),
            Change::Head => None,
        };
        let mut stack: Vec<BodyKey> = changes.iter().filter_map(body).collect();
        let mut seen: FxHashSet<BodyKey> = stack.iter().copied().chain([ROOT]).collect();
        while let Some(group) = stack.pop() {
            self.repeats.remove(&group);
            if group == ROOT || !queue.exists(group) {
                continue;
            }
            let editor = queue.editor;
            for (user, slot) in editor.users_of_group(group) {
                let node = editor.nodes_of_body(user).at(slot).map(|(_, node)| node);
                if node.is_some_and(|node| matches!(node.kind, NodeKind::Repeat(_))) {
                    queue.touch(self, user, slot);
                }
                if seen.insert(user) {
                    stack.push(user);
                }
            }
        }
    }
}

/// Whether something in a body, or in what it uses, keeps state or reads a device.
fn keeps(checked: &Checked, body: BodyId) -> bool {
    let mut seen = FxHashSet::default();
    let mut stack = vec![body];
    while let Some(body) = stack.pop() {
        if !seen.insert(body) {
            continue;
        }
        for node in &checked.bodies[body].nodes {
            if let CheckedKind::Call(instance) = &node.kind
                && (instance.def.keeps.is_some() || instance.class >= Class::Stateful)
            {
                return true;
            }
            stack.extend(node.kind.body());
        }
    }
    false
}

/// For each body whether it has nodes that are live: those of repeats run inside theirs.
pub(super) fn live_bodies(checked: &Checked) -> FxHashSet<BodyId> {
    let mut live = FxHashSet::from_iter([checked.root]);
    let mut stack = vec![checked.root];
    while let Some(body) = stack.pop() {
        for node in &checked.bodies[body].nodes {
            if let CheckedKind::Group(inner) = &node.kind
                && live.insert(*inner)
            {
                stack.push(*inner);
            }
        }
    }
    live
}
