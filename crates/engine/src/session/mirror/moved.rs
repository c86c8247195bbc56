//! Nodes that move between bodies: grouping moves them, with their ids, into a group whose use
//! replaces them; ungrouping moves them out.
//!
//! The live nodes of a node that left a use of its body are stored under its id and that use. If a
//! node with this id is made in the same use, or in one inside it, it takes them over, so it need
//! not run again. The same holds for copies of the nodes of a group that others use too, by the ids
//! of the copies. Live nodes that no node took over are dropped at the end.

use std::sync::Arc;

use millstream_compile::lower::StatefulType;
use millstream_document::edit::BodyKey;
use millstream_node::Instance;
use millstream_run::live::NodeNumber;

use super::networks::LiveNetwork;
use super::queue::Queue;
use super::stateful::StatefulNode;
use super::{Kind, Many, Mirror, NotLive, Owner, Port, Side};

/// The live nodes of a node that left the use of a body.
pub(super) enum Left {
    Call(Arc<Instance>, NodeNumber),
    Stateful(StatefulNode),
    /// A network, with the port of its border.
    Network(LiveNetwork, Port),
    /// A use of a group, with the port of its outputs.
    Group(BodyKey, Port, Many),
}

impl Mirror {
    /// Stores the live nodes of a node that left its slot, for the place to which it may have
    /// moved.
    pub(super) fn leave(
        &mut self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        kind: &Kind,
        id: u64,
    ) -> Result<(), NotLive> {
        let it = self.use_mut(use_id);
        match kind {
            Kind::Call(instance) if instance.network.is_some() => {
                it.many.remove(&slot);
                self.put_down_network(queue, (use_id, slot), (use_id, id))
            }
            Kind::Call(instance) => {
                let out = it.outs.get_mut(slot as usize).and_then(Option::take);
                if let Some(node) = out {
                    self.put_down(queue, (use_id, id), Left::Call(Arc::clone(instance), node))?;
                }
                Ok(())
            }
            Kind::Stateful(_) => {
                it.outs.get_mut(slot as usize).and_then(Option::take);
                match self.stateful.remove(&(use_id, slot)) {
                    Some(stateful) => self.put_down(queue, (use_id, id), Left::Stateful(stateful)),
                    None => Ok(()),
                }
            }
            Kind::Group(group) => match it.many.remove(&slot) {
                Some(many) => self.leave_group(queue, (use_id, slot), *group, id, many),
                None => Ok(()),
            },
            Kind::None | Kind::Wrong | Kind::Muted(_) => self.clear(use_id, slot).map(drop),
        }
    }

    /// The same for a node that uses a group. If the group was removed too, or copies of its nodes
    /// were made, the inner nodes are stored one by one.
    fn leave_group(
        &mut self,
        queue: &mut Queue<'_>,
        (anchor, slot): (u32, u32),
        group: BodyKey,
        id: u64,
        many: Many,
    ) -> Result<(), NotLive> {
        let mut stack = vec![((anchor, Side::Out(slot)), group, id, many)];
        while let Some((port, group, id, many)) = stack.pop() {
            let is_closed = queue.exists(group) && !queue.has_copies(id);
            let (false, Some(child)) = (is_closed, many.child) else {
                self.put_down(queue, (anchor, id), Left::Group(group, port, many))?;
                continue;
            };
            for node in many.outs.into_iter().flatten() {
                self.doom_owned(Owner::Port(port), node);
            }
            let Some(mut opened) = self.uses[child as usize].take() else { return Err(NotLive) };
            self.n_removed += 1;
            queue.opened.extend(opened.outer.map(|(outer, _)| (child, outer)));
            for node in opened.inputs.into_values().flatten() {
                self.doom_owned(Owner::Port((child, Side::In)), node);
            }
            let Some(known) = self.bodies.get_mut(&group) else { return Err(NotLive) };
            known.uses.retain(|known| *known != child);
            let ids = known.ids.iter().map(|inner| queue.id_outside(id, *inner));
            let inner: Vec<(Kind, u64)> = known.kinds.iter().cloned().zip(ids).collect();
            for (slot, node) in opened.outs.into_iter().enumerate() {
                match (node, inner.get(slot)) {
                    (Some(node), Some((Kind::Call(instance), id))) => {
                        let left = Left::Call(Arc::clone(instance), node);
                        self.put_down(queue, (anchor, *id), left)?;
                    }
                    (Some(_), Some((Kind::Stateful(_), id))) => {
                        let Some(stateful) = self.stateful.remove(&(child, slot as u32)) else {
                            return Err(NotLive);
                        };
                        self.put_down(queue, (anchor, *id), Left::Stateful(stateful))?;
                    }
                    (Some(node), _) => self.doom_call(node),
                    (None, _) => {}
                }
            }
            for (slot, (kind, id)) in inner.into_iter().enumerate() {
                let Some(many) = opened.many.remove(&(slot as u32)) else { continue };
                let port = (child, Side::Out(slot as u32));
                self.put_down_network(queue, (child, slot as u32), (anchor, id))?;
                match kind {
                    Kind::Call(instance) if instance.network.is_some() => {}
                    Kind::Group(group) => stack.push((port, group, id, many)),
                    Kind::None
                    | Kind::Wrong
                    | Kind::Call(_)
                    | Kind::Stateful(_)
                    | Kind::Muted(_) => {
                        self.drop_many(port, many)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Stores the network in a place, if there is one.
    fn put_down_network(
        &mut self,
        queue: &mut Queue<'_>,
        place: (u32, u32),
        anchor: (u32, u64),
    ) -> Result<(), NotLive> {
        match self.networks.remove(&place) {
            Some(network) => {
                let left = Left::Network(network, (place.0, Side::Out(place.1)));
                self.put_down(queue, anchor, left)
            }
            None => Ok(()),
        }
    }

    fn put_down(
        &mut self,
        queue: &mut Queue<'_>,
        place: (u32, u64),
        left: Left,
    ) -> Result<(), NotLive> {
        match queue.left.insert(place, left) {
            Some(before) => self.drop_one(before),
            None => Ok(()),
        }
    }

    /// The stored live nodes of the node in a place, if they fit there.
    fn picked_up(
        &self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        fits: impl Fn(&Left) -> bool,
    ) -> Option<Left> {
        if queue.left.is_empty() {
            return None;
        }
        let mut id = queue.editor.id_at(self.use_of(use_id).body, slot);
        let mut anchor = Some(use_id);
        while let Some(at) = anchor {
            if queue.left.get(&(at, id)).is_some_and(&fits) {
                return queue.left.remove(&(at, id));
            }
            // The remains of a removed use may be visited before they are taken.
            anchor = match &self.uses[at as usize] {
                Some(it) => it.outer.map(|(outer, slot)| {
                    if let Some(around) = &self.uses[outer as usize] {
                        id = queue.id_outside(queue.editor.id_at(around.body, slot), id);
                    }
                    outer
                }),
                None => queue.opened.get(&at).copied(),
            };
        }
        None
    }

    /// The node of a call that moved here.
    pub(super) fn moved_call(
        &self,
        queue: &mut Queue<'_>,
        place: (u32, u32),
        instance: &Instance,
    ) -> Option<NodeNumber> {
        let fits = |left: &Left| matches!(left, Left::Call(known, _) if known.does_same(instance));
        match self.picked_up(queue, place, fits)? {
            Left::Call(_, node) => Some(node),
            Left::Stateful(..) | Left::Network(..) | Left::Group(..) => None,
        }
    }

    /// The live nodes of a network that moved here.
    pub(super) fn moved_network(
        &mut self,
        queue: &mut Queue<'_>,
        place: (u32, u32),
        instance: &Instance,
    ) -> Option<LiveNetwork> {
        let fits = |left: &Left| matches!(left, Left::Network(known, _) if known.instance.does_same(instance));
        match self.picked_up(queue, place, fits)? {
            Left::Network(network, before) => {
                self.move_border(&network, before, (place.0, Side::Out(place.1)));
                Some(network)
            }
            Left::Call(..) | Left::Stateful(..) | Left::Group(..) => None,
        }
    }

    /// The live nodes of a node with state that moved here.
    pub(super) fn moved_stateful(
        &self,
        queue: &mut Queue<'_>,
        place: (u32, u32),
        of_type: &StatefulType,
    ) -> Option<StatefulNode> {
        let fits = |left: &Left| matches!(left, Left::Stateful(known) if known.is_of(of_type));
        match self.picked_up(queue, place, fits)? {
            Left::Stateful(stateful) => Some(stateful),
            Left::Call(..) | Left::Network(..) | Left::Group(..) => None,
        }
    }

    /// The use of a group by a node that moved here.
    pub(super) fn moved_group(
        &mut self,
        queue: &mut Queue<'_>,
        place: (u32, u32),
        group: BodyKey,
    ) -> Option<u32> {
        let fits = |left: &Left| matches!(left, Left::Group(known, ..) if *known == group);
        let Left::Group(_, before, many) = self.picked_up(queue, place, fits)? else { return None };
        let child = many.child?;
        for node in many.outs.iter().flatten() {
            if let Some(port) = self.ports.get_mut(node).filter(|port| **port == before) {
                *port = (place.0, Side::Out(place.1));
            }
        }
        self.use_mut(child).outer = Some(place);
        self.use_mut(place.0).many.insert(place.1, many);
        Some(child)
    }

    /// Drops the live nodes that no place took over.
    pub(super) fn drop_left(&mut self, queue: &mut Queue<'_>) -> Result<(), NotLive> {
        let left: Vec<Left> = queue.left.drain().map(|(_, left)| left).collect();
        left.into_iter().try_for_each(|left| self.drop_one(left))
    }

    fn drop_one(&mut self, left: Left) -> Result<(), NotLive> {
        match left {
            Left::Call(_, node) => {
                self.doom_call(node);
                Ok(())
            }
            Left::Stateful(stateful) => {
                self.doom_stateful(&stateful);
                Ok(())
            }
            Left::Network(network, port) => {
                self.doom_network(&network, port);
                Ok(())
            }
            Left::Group(_, port, many) => self.drop_many(port, many),
        }
    }
}
