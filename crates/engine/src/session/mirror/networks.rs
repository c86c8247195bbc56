//! Nodes whose types are networks: each part has a live node, as it has a node in plans.
//!
//! A part with an input that has no value has no live node. This happens if the outputs of a node
//! do not need all of its inputs.

use std::sync::Arc;

use millstream_base::Value;
use millstream_node::{Instance, Kernel, NetworkParts, Part};
use millstream_run::live::NodeNumber;
use smallvec::SmallVec;

use super::queue::Queue;
use super::{Many, Mirror, NotLive, Operand, Owner, Port, Side};

/// The live nodes of a network, in one use of its body.
#[derive(Debug)]
pub(super) struct LiveNetwork {
    pub(super) instance: Arc<Instance>,
    /// The inputs, converted to the types of the instance.
    inputs: Vec<Option<NodeNumber>>,
    parts: Vec<Option<NodeNumber>>,
    outs: Vec<Option<NodeNumber>>,
}

impl LiveNetwork {
    /// The node of each part, with its name and instance.
    pub(super) fn parts(&self) -> impl Iterator<Item = (NodeNumber, &Part)> {
        let parts = self.instance.network.iter().flat_map(|network| &network.parts);
        self.parts.iter().zip(parts).filter_map(|(node, part)| Some(((*node)?, part)))
    }

    /// All its nodes, `None` for missing ones, in an order that is the same for instances that do
    /// the same.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Option<NodeNumber>> {
        self.parts.iter().chain(&self.inputs).chain(&self.outs).copied()
    }

    /// The nodes that a port may own.
    fn at_border(&self) -> Vec<Option<NodeNumber>> {
        self.inputs.iter().chain(&self.outs).copied().collect()
    }
}

/// The parts of a node that is made, or linked again.
struct LiveParts<'m> {
    mirror: &'m mut Mirror,
    /// The nodes that existed before.
    old: std::vec::IntoIter<Option<NodeNumber>>,
    made: Vec<Option<NodeNumber>>,
}

impl NetworkParts for LiveParts<'_> {
    type Value = Option<Operand>;
    type Error = NotLive;

    fn constant(&mut self, value: &Value) -> Option<Operand> {
        Some(Operand::Literal(value.clone()))
    }

    fn call(
        &mut self,
        part: &Part,
        inputs: &[Option<Operand>],
    ) -> Result<Option<Operand>, NotLive> {
        let old = self.old.next().flatten();
        let operands: Option<SmallVec<[Operand; 4]>> = inputs.iter().cloned().collect();
        let Some(operands) = operands else {
            if let Some(old) = old {
                self.mirror.doom_call(old);
            }
            self.made.push(None);
            return Ok(None);
        };
        let made = self.mirror.call(old, &part.instance, &operands)?;
        self.made.push(Some(made));
        Ok(Some(Operand::Node(made, part.instance.outputs[0].ty)))
    }

    fn output(&mut self, call: &Option<Operand>, part: &Part, output: usize) -> Option<Operand> {
        let Operand::Node(call, _) = call.as_ref()? else { unreachable!("a call is a node") };
        let node = self.mirror.graph.output(*call, output).expect("it has this output");
        Some(Operand::Node(node, part.instance.outputs[output].ty))
    }
}

impl Mirror {
    /// As [`renew_in`](Self::renew_in), for a node whose type is a network.
    pub(super) fn renew_network(
        &mut self,
        queue: &mut Queue<'_>,
        place: (u32, u32),
        instance: &Arc<Instance>,
        operands: &[Option<Operand>],
        stays: bool,
    ) -> Result<bool, NotLive> {
        let (use_id, slot) = place;
        let it = self.use_of(use_id);
        let is_edited = queue.edited.contains(&(it.body, slot));
        let had = it.outs[slot as usize].is_some() || it.many.contains_key(&slot);
        let had_run: Vec<bool> = match self.networks.get(&place) {
            Some(known) => {
                let parts = known.parts.iter();
                parts.map(|part| part.is_some_and(|part| self.had_run(part))).collect()
            }
            None => Vec::new(),
        };
        if !stays {
            self.clear(use_id, slot)?;
        }
        let before = self.networks.remove(&place);
        let before = before.or_else(|| self.moved_network(queue, place, instance));
        let made = self.live_network(before, place, instance, operands)?;
        if is_edited {
            let any_ran = had_run.iter().any(|ran| *ran) || had && had_run.is_empty();
            for (i, part) in made.parts.iter().enumerate() {
                let Some(part) = part else { continue };
                let ran = if stays { had_run.get(i).copied() } else { None };
                self.edited.insert(*part, ran.unwrap_or(any_ran));
            }
        }
        for (node, part) in made.parts() {
            if let Kernel::Function(_) = part.instance.kernel {
                let name = (!part.name.is_empty()).then(|| Arc::clone(&part.name));
                self.places.insert(node, (place, name));
            }
        }
        let outs = made.outs.clone();
        self.networks.insert(place, made);
        let many = &mut self.use_mut(use_id).many;
        let changed = many.get(&slot).is_none_or(|known| known.outs != outs);
        many.insert(slot, Many { outs, child: None });
        Ok(changed)
    }

    /// The live nodes of a network. Nodes of `before` are reused.
    fn live_network(
        &mut self,
        before: Option<LiveNetwork>,
        (use_id, slot): (u32, u32),
        instance: &Arc<Instance>,
        operands: &[Option<Operand>],
    ) -> Result<LiveNetwork, NotLive> {
        let owner = Owner::Port((use_id, Side::Out(slot)));
        let old_border = before.as_ref().map(LiveNetwork::at_border).unwrap_or_default();
        let (old_inputs, old_parts, old_outs) = match before {
            Some(before) => (before.inputs, before.parts, before.outs),
            None => Default::default(),
        };
        let mut inputs = Vec::with_capacity(operands.len());
        for (i, (operand, slot)) in operands.iter().zip(&instance.inputs).enumerate() {
            let old = old_inputs.get(i).copied().flatten();
            inputs.push(match operand {
                Some(operand) => Some(self.fitted(owner, old, operand, slot.ty)?),
                None => None,
            });
        }
        let given = inputs.iter().zip(&instance.inputs);
        let given: Vec<Option<Operand>> =
            given.map(|(input, slot)| Some(Operand::Node((*input)?, slot.ty))).collect();
        let network = instance.network.as_ref().ok_or(NotLive)?;
        let (old, made) = (old_parts.into_iter(), Vec::with_capacity(network.parts.len()));
        let mut parts = LiveParts { mirror: self, old, made };
        let results = network.make(&given, &mut parts)?;
        let parts = parts.made;
        let mut outs = Vec::with_capacity(results.len());
        for (k, (result, slot)) in results.iter().zip(&instance.outputs).enumerate() {
            let old = old_outs.get(k).copied().flatten();
            outs.push(match result {
                Some(result) => Some(self.fitted(owner, old, result, slot.ty)?),
                None => None,
            });
        }
        let made = LiveNetwork { instance: Arc::clone(instance), inputs, parts, outs };
        self.doom_replaced(owner, &old_border, &made.at_border());
        Ok(made)
    }

    /// Drops the live nodes of the network in a place, if there is one.
    pub(super) fn clear_network(&mut self, place: (u32, u32)) {
        if let Some(network) = self.networks.remove(&place) {
            self.doom_network(&network, (place.0, Side::Out(place.1)));
        }
    }

    /// Drops the live nodes of a network whose border the port owns.
    pub(super) fn doom_network(&mut self, network: &LiveNetwork, port: Port) {
        for part in network.parts.iter().flatten() {
            self.doom_call(*part);
        }
        self.doom_replaced(Owner::Port(port), &network.at_border(), &[]);
    }

    /// Transfers the border of a network to another port.
    pub(super) fn move_border(&mut self, network: &LiveNetwork, from: Port, to: Port) {
        for node in network.at_border().into_iter().flatten() {
            if let Some(port) = self.ports.get_mut(&node).filter(|port| **port == from) {
                *port = to;
            }
        }
    }
}
