//! Nodes that run groups many times: a repeat or a loop over items is one live node, which runs all
//! rounds when one of its inputs changes. A simulation is taken apart as in plans, around such a
//! node.
//!
//! A group is compiled as for plans, once for each course, and again when the group, or one inside
//! it, is edited.

use std::sync::Arc;

use millstream_base::Need;
use millstream_base::feature::Aspect;
use millstream_compile::repeats::Zones;
use millstream_document::check::check;
use millstream_document::edit::{BodyKey, Change, ROOT};
use millstream_document::{
    BodyId, Checked, CheckedKind, CheckedZone, Document, Editor, Node, NodeKind,
};
use millstream_ir::ZoneBody;
use millstream_node::{Class, Instance};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::queue::Queue;
use super::{Mirror, NotLive, Operand};

/// One way to run a group, with the instance that does it.
#[derive(Debug)]
pub(super) struct Way {
    zone: CheckedZone,
    instance: Arc<Instance>,
}

impl Way {
    /// Whether it runs its group as a zone does, in any document.
    fn is_of(&self, other: &CheckedZone) -> bool {
        let known = &self.zone;
        known.course == other.course
            && known.inputs == other.inputs
            && known.outputs == other.outputs
    }
}

impl Mirror {
    /// The instance of a node that runs a group many times; `None` if a part of the group is wrong.
    pub(super) fn zone_of(
        &mut self,
        editor: &Editor,
        node: &Node,
        zone: &CheckedZone,
    ) -> Result<Option<Arc<Instance>>, NotLive> {
        let Some(name) = node.kind.group() else { return Ok(None) };
        let Some(group) = editor.body_of(name) else { return Ok(None) };
        let known = self.zones.get(&group).into_iter().flatten().find(|way| way.is_of(zone));
        if let Some(known) = known {
            return Ok(Some(Arc::clone(&known.instance)));
        }
        let Some(checked) = self.group_alone(editor.document(), name) else { return Ok(None) };
        let zone = CheckedZone { body: checked.root, ..zone.clone() };
        let zones = Zones::of_root(&checked, &zone, &self.registry, &self.limits);
        let zones = zones.map_err(|_| NotLive)?;
        let made = zones.of(&zone).filter(|_| !has_state(&checked)).ok_or(NotLive)?;
        let instance = Arc::clone(&made.instance);
        let ways = self.zones.entry(group).or_default();
        ways.push(Way { zone, instance: Arc::clone(&instance) });
        Ok(Some(instance))
    }

    /// A group as the root of a document, with all groups inside it; `None` if a part of them is
    /// wrong.
    fn group_alone(&self, document: &Document, name: &Arc<str>) -> Option<Checked> {
        let mut groups = Document { fps: document.fps, ..Document::default() };
        let mut wanted = vec![name];
        while let Some(name) = wanted.pop() {
            if !groups.groups.contains_key(name) {
                groups.groups.insert(Arc::clone(name), document.groups.get(name)?.clone());
                let group = &document.groups[&**name];
                wanted.extend(group.nodes.values().filter_map(|node| node.kind.group()));
            }
        }
        let (checked, _) = check(&groups, &self.registry, &self.limits);
        let mut checked = checked?;
        checked.root = checked.bodies.iter().find(|(_, body)| body.name == *name)?.0;
        Some(checked)
    }

    /// The operands of a node; for a zone they include the features that its group needs.
    pub(super) fn with_captures(
        &mut self,
        instance: &Instance,
        operands: &[Operand],
    ) -> Result<Option<SmallVec<[Operand; 4]>>, NotLive> {
        let Some(body) = ZoneBody::of(instance) else { return Ok(None) };
        if operands.len() == instance.inputs.len() {
            return Ok(None);
        }
        let mut all: SmallVec<[Operand; 4]> = operands.into();
        for need in &body.captures {
            all.push(self.captured(need)?);
        }
        Ok(Some(all))
    }

    /// The operand of a part of the context that a group needs.
    pub(super) fn captured(&mut self, need: &Need) -> Result<Operand, NotLive> {
        if need.level != 0 || need.aspect != Aspect::Value {
            return Err(NotLive);
        }
        Ok(Operand::Node(self.feature(&need.feature)?, need.feature.ty()))
    }

    /// Adds the zones that run an edited group to the queue.
    pub(super) fn touch_zones(&mut self, queue: &mut Queue<'_>, changes: &[Change]) {
        if !self.has_zones {
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
            Change::GroupName { .. } | Change::Head => None,
        };
        let mut stack: Vec<BodyKey> = changes.iter().filter_map(body).collect();
        let mut seen: FxHashSet<BodyKey> = stack.iter().copied().chain([ROOT]).collect();
        while let Some(group) = stack.pop() {
            self.zones.remove(&group);
            if group == ROOT || !queue.exists(group) {
                continue;
            }
            let editor = queue.editor;
            for (user, slot) in editor.users_of_group(group) {
                let node = editor.nodes_of_body(user).at(slot).map(|(_, node)| node);
                if node.is_some_and(|node| matches!(node.kind, NodeKind::Zone(..))) {
                    queue.touch(self, user, slot);
                }
                if seen.insert(user) {
                    stack.push(user);
                }
            }
        }
    }
}

/// Whether any node has state or reads a device.
fn has_state(checked: &Checked) -> bool {
    let mut nodes = checked.bodies.iter().flat_map(|(_, body)| &body.nodes);
    nodes.any(|node| match &node.kind {
        CheckedKind::Call(it) => node.kind.keeps_state() || it.class >= Class::Stateful,
        CheckedKind::Zone(_) => node.kind.keeps_state(),
        CheckedKind::Group(_)
        | CheckedKind::Closure(_)
        | CheckedKind::Muted(_)
        | CheckedKind::Wrong => false,
    })
}

/// The bodies with live nodes: all but those that zones run.
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
