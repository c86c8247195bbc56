//! Nodes that move: grouping takes them out of a body and puts them, with their ids, into a group
//! that is used there; ungrouping the other way.
//!
//! What a node had in a use of its body is left for its id, and for that use. Where a node with this
//! id is made in the same use, or in one inside it, it goes on with what it had: so what moves does
//! not run again. So it is with copies of the nodes of a group that others use too, by the ids of the
//! copies. What nobody took is dropped at the end.

use std::sync::Arc;

use millstream_document::edit::BodyKey;
use millstream_node::Instance;
use millstream_run::live::NodeNumber;

use super::keep::{Keeper, Keeping};
use super::queue::Queue;
use super::{Kind, Lost, Many, Mirror, Owner, Port, Side};

/// What a node had in the use of a body that it left.
pub(super) enum Left {
    Call(Arc<Instance>, NodeNumber),
    Keeper(Keeper),
    /// A use of a group, with what its outputs belong to.
    Group(BodyKey, Port, Many),
}

impl Mirror {
    /// A node went from a slot; what it had is left for where it may have gone.
    pub(super) fn leave(
        &mut self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        kind: &Kind,
        id: u64,
    ) -> Result<(), Lost> {
        let it = self.use_mut(use_id);
        match kind {
            Kind::Call(instance) => {
                let out = it.outs.get_mut(slot as usize).and_then(Option::take);
                if let Some(node) = out {
                    self.put_down(queue, (use_id, id), Left::Call(Arc::clone(instance), node))?;
                }
                Ok(())
            }
            Kind::Keeps(_) => {
                it.outs.get_mut(slot as usize).and_then(Option::take);
                match self.keepers.remove(&(use_id, slot)) {
                    Some(keeper) => self.put_down(queue, (use_id, id), Left::Keeper(keeper)),
                    None => Ok(()),
                }
            }
            Kind::Group(group) => match it.many.remove(&slot) {
                Some(many) => self.leave_group(queue, (use_id, slot), *group, id, many),
                None => Ok(()),
            },
            Kind::None | Kind::Wrong | Kind::Muted(_) => self.clear(use_id, slot),
        }
    }

    /// The same for a node that uses a group. If the group went too, or copies of its nodes came,
    /// what is in it is left.
    fn leave_group(
        &mut self,
        queue: &mut Queue<'_>,
        (anchor, slot): (u32, u32),
        group: BodyKey,
        id: u64,
        many: Many,
    ) -> Result<(), Lost> {
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
            let Some(mut opened) = self.uses[child as usize].take() else { return Err(Lost) };
            self.n_removed += 1;
            queue.opened.extend(opened.outer.map(|(outer, _)| (child, outer)));
            for node in opened.inputs.into_values().flatten() {
                self.doom_owned(Owner::Port((child, Side::In)), node);
            }
            let Some(known) = self.bodies.get_mut(&group) else { return Err(Lost) };
            known.uses.retain(|known| *known != child);
            let ids = known.ids.iter().map(|inner| queue.id_outside(id, *inner));
            let inner: Vec<(Kind, u64)> = known.kinds.iter().cloned().zip(ids).collect();
            for (slot, node) in opened.outs.into_iter().enumerate() {
                match (node, inner.get(slot)) {
                    (Some(node), Some((Kind::Call(instance), id))) => {
                        let left = Left::Call(Arc::clone(instance), node);
                        self.put_down(queue, (anchor, *id), left)?;
                    }
                    (Some(_), Some((Kind::Keeps(_), id))) => {
                        let Some(keeper) = self.keepers.remove(&(child, slot as u32)) else {
                            return Err(Lost);
                        };
                        self.put_down(queue, (anchor, *id), Left::Keeper(keeper))?;
                    }
                    (Some(node), _) => self.doom_call(node),
                    (None, _) => {}
                }
            }
            for (slot, (kind, id)) in inner.into_iter().enumerate() {
                let Some(many) = opened.many.remove(&(slot as u32)) else { continue };
                let port = (child, Side::Out(slot as u32));
                match kind {
                    Kind::Group(group) => stack.push((port, group, id, many)),
                    Kind::None | Kind::Wrong | Kind::Call(_) | Kind::Keeps(_) | Kind::Muted(_) => {
                        self.drop_many(port, many)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn put_down(
        &mut self,
        queue: &mut Queue<'_>,
        place: (u32, u64),
        left: Left,
    ) -> Result<(), Lost> {
        match queue.left.insert(place, left) {
            Some(before) => self.drop_one(before),
            None => Ok(()),
        }
    }

    /// What a node had where it left, if that `fits` its new place.
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
            // What is left of a use that went may be looked at before it is taken.
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
            Left::Keeper(..) | Left::Group(..) => None,
        }
    }

    /// The nodes of one that keeps something and moved here.
    pub(super) fn moved_keeper(
        &self,
        queue: &mut Queue<'_>,
        place: (u32, u32),
        keeping: &Keeping,
    ) -> Option<Keeper> {
        let fits = |left: &Left| matches!(left, Left::Keeper(known) if known.is_of(keeping));
        match self.picked_up(queue, place, fits)? {
            Left::Keeper(keeper) => Some(keeper),
            Left::Call(..) | Left::Group(..) => None,
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

    /// Drops what nobody took.
    pub(super) fn drop_left(&mut self, queue: &mut Queue<'_>) -> Result<(), Lost> {
        let left: Vec<Left> = queue.left.drain().map(|(_, left)| left).collect();
        left.into_iter().try_for_each(|left| self.drop_one(left))
    }

    fn drop_one(&mut self, left: Left) -> Result<(), Lost> {
        match left {
            Left::Call(_, node) => {
                self.doom_call(node);
                Ok(())
            }
            Left::Keeper(keeper) => {
                self.doom_keeper(&keeper);
                Ok(())
            }
            Left::Group(_, port, many) => self.drop_many(port, many),
        }
    }
}
