//! The nodes of live graphs that correspond to nodes of documents, and their removal.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Lane, Type, Value};
use millstream_document::{Muted, Passes};
use millstream_ir::ZoneBody;
use millstream_node::convert;
use millstream_node::{Instance, Kernel};
use millstream_run::live::{NodeNumber, counts_elements, gathers_elements, lane_of_number};
use smallvec::SmallVec;

use super::{Mirror, NotLive, Operand, Owner, Port};

impl Mirror {
    /// A node that returns the operand as a `to`. The previous node is reused if it fits.
    pub(super) fn fitted(
        &mut self,
        owner: Owner,
        before: Option<NodeNumber>,
        operand: &Operand,
        to: Type,
    ) -> Result<NodeNumber, NotLive> {
        let is_usable = |node: &NodeNumber| self.owns(owner, *node) && self.graph.gives(*node, to);
        let before = before.filter(is_usable);
        match operand {
            Operand::Literal(value) => {
                if let Some(before) = before.filter(|node| self.graph.is_source(*node)) {
                    self.graph.set_value(before, value);
                    return Ok(before);
                }
                let made = self.graph.source_of_value(value);
                Ok(self.own(owner, made))
            }
            Operand::Node(node, from) if *from == to => Ok(*node),
            Operand::Node(node, from) => {
                let converts = |before: &NodeNumber| {
                    !self.graph.is_source(*before) && self.graph.input_of(*before, 0) == Some(*node)
                };
                if let Some(before) = before.filter(converts) {
                    return Ok(before);
                }
                let instance = self.conversion(*from, to)?;
                let made = self.graph.call(&instance, &[*node]).map_err(|_| NotLive)?;
                Ok(self.own(owner, made))
            }
        }
    }

    fn own(&mut self, owner: Owner, node: NodeNumber) -> NodeNumber {
        match owner {
            Owner::Call => self.args.set(node.index(), true),
            Owner::Port(port) => {
                self.ports.insert(node, port);
            }
        }
        node
    }

    fn owns(&self, owner: Owner, node: NodeNumber) -> bool {
        match owner {
            Owner::Call => self.args.has(node.index()),
            Owner::Port(port) => self.ports.get(&node) == Some(&port),
        }
    }

    fn conversion(&mut self, from: Type, to: Type) -> Result<Arc<Instance>, NotLive> {
        if let Some(known) = self.conversions.get(&(from, to)) {
            return Ok(Arc::clone(known));
        }
        let made = convert::instance(self.registry.conversion(), from, to).ok_or(NotLive)?;
        let made = Arc::new(made);
        self.conversions.insert((from, to), Arc::clone(&made));
        Ok(made)
    }

    /// The node of a call. `before` is the previous node of the same instance in its place, if
    /// there was one.
    pub(super) fn call(
        &mut self,
        before: Option<NodeNumber>,
        instance: &Arc<Instance>,
        operands: &[Operand],
    ) -> Result<NodeNumber, NotLive> {
        if let Kernel::Read { feature, level: 0, aspect: Aspect::Value } = &instance.kernel {
            return self.feature(feature);
        }
        if counts_elements(instance) {
            return Ok(self.n_elements());
        }
        let gathers = gathers_elements(instance);
        if instance.has_scopes() && !gathers {
            return self.scoped(before, instance, operands);
        }
        let captured = self.with_captures(instance, operands)?;
        let operands = captured.as_deref().unwrap_or(operands);
        let needed = self.graph.inputs_needed(instance);
        if let Some(node) = before {
            if ZoneBody::of(instance).is_some() {
                self.graph.reword(self.graph.call_behind(node), instance);
            }
            for (at, input) in needed.iter().enumerate() {
                let (operand, to) =
                    (&operands[*input as usize], instance.inputs[*input as usize].ty);
                let old = self.graph.input_of(node, at);
                let new = self.fitted(Owner::Call, old, operand, to)?;
                if let Some(old) = old.filter(|old| *old != new) {
                    self.link(node, at, new)?;
                    self.doom_owned(Owner::Call, old);
                }
            }
            return Ok(node);
        }
        let mut inputs: SmallVec<[NodeNumber; 4]> = SmallVec::new();
        for input in &needed {
            let (operand, to) = (&operands[*input as usize], instance.inputs[*input as usize].ty);
            inputs.push(self.fitted(Owner::Call, None, operand, to)?);
        }
        if gathers {
            inputs.push(self.n_elements());
        }
        self.n_calls += 1;
        if self.n_calls > self.limits.expanded_nodes {
            return Err(NotLive);
        }
        self.graph.call(instance, &inputs).map_err(|_| NotLive)
    }

    pub(super) fn feature(&mut self, feature: &Feature) -> Result<NodeNumber, NotLive> {
        if let Some(known) = self.features.get(feature) {
            return Ok(*known);
        }
        let has_columns = self.graph.holds_columns();
        let is_known = lane_of_feature(feature).is_some() || has_columns;
        if !is_known || *feature == Feature::RealTime || self.features.len() >= MOST_FEATURES {
            return Err(NotLive);
        }
        let node = self.graph.source_of_value(&feature.ty().default_value());
        self.features.insert(feature.clone(), node);
        Ok(node)
    }

    /// The source of the number of elements.
    fn n_elements(&mut self) -> NodeNumber {
        *self.n_elements.get_or_insert_with(|| self.graph.source_of_value(&Value::I32(1)))
    }

    /// The outputs of a muted node, `None` where the source has no value.
    pub(super) fn passed(
        &mut self,
        port: Port,
        before: &[Option<NodeNumber>],
        muted: &Muted,
        operands: &[Option<Operand>],
    ) -> Result<Vec<Option<NodeNumber>>, NotLive> {
        let mut outs = Vec::with_capacity(muted.outputs.len());
        for (k, output) in muted.outputs.iter().enumerate() {
            let operand = match &output.passes {
                Passes::Source(i) => operands[*i as usize].clone(),
                Passes::Default(value) => Some(Operand::Literal(value.clone())),
            };
            let old = before.get(k).copied().flatten();
            outs.push(match operand {
                Some(operand) => Some(self.fitted(Owner::Port(port), old, &operand, output.ty)?),
                None => None,
            });
        }
        Ok(outs)
    }

    /// Drops a node if the owner owns it.
    pub(super) fn doom_owned(&mut self, owner: Owner, node: NodeNumber) {
        if self.owns(owner, node) {
            self.doomed.insert(node);
        }
    }

    /// Drops the nodes that a port passed on before but no longer passes on.
    pub(super) fn doom_replaced(
        &mut self,
        owner: Owner,
        before: &[Option<NodeNumber>],
        now: &[Option<NodeNumber>],
    ) {
        for node in before.iter().filter(|node| !now.contains(node)).flatten() {
            self.doom_owned(owner, *node);
        }
    }

    /// Drops the node of a call.
    pub(super) fn doom_call(&mut self, node: NodeNumber) {
        if self.features.values().chain(&self.n_elements).any(|known| *known == node) {
            return;
        }
        self.doom_scope(node);
        let mut at = 0;
        while let Some(input) = self.graph.input_of(node, at) {
            at += 1;
            self.doom_owned(Owner::Call, input);
        }
        self.doomed.insert(node);
        self.n_calls -= 1;
    }

    /// Removes the dropped nodes.
    pub(super) fn remove_doomed(&mut self) -> Result<(), NotLive> {
        let mut stack: Vec<NodeNumber> = self.doomed.iter().copied().collect();
        while let Some(node) = stack.pop() {
            if !self.doomed.contains(&node) {
                continue;
            }
            let outputs: SmallVec<[NodeNumber; 4]> =
                (0..).map_while(|at| self.graph.output(node, at)).collect();
            for output in outputs {
                if self.observed.all.remove(&output) {
                    self.observed.is_torn = true;
                    self.graph.observe_number(output, false);
                }
            }
            let inputs = (0..).map_while(|at| self.graph.input_of(node, at));
            let inputs: Vec<NodeNumber> =
                inputs.map(|input| self.graph.call_behind(input)).collect();
            if self.graph.remove(node) {
                self.doomed.remove(&node);
                self.edited.remove(&node);
                self.places.remove(&node);
                self.args.set(node.index(), false);
                self.ports.remove(&node);
                self.n_removed += 1;
                stack.extend(inputs);
            }
        }
        if self.doomed.is_empty() { Ok(()) } else { Err(NotLive) }
    }
}

/// Maximal number of features, as in plans.
const MOST_FEATURES: usize = 64;

/// The lane of a feature that may be a source; the clock differs from request to request.
pub(super) fn lane_of_feature(feature: &Feature) -> Option<Lane> {
    lane_of_number(feature.ty()).filter(|_| *feature != Feature::RealTime)
}
