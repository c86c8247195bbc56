//! The parts of live graphs that nodes of documents become, and taking them apart.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Type};
use millstream_document::{Muted, Passes};
use millstream_node::convert;
use millstream_node::{Instance, Kernel};
use millstream_run::live::{NodeNumber, inputs_needed, lane_of_number};
use smallvec::SmallVec;

use super::{Lost, Mirror, Owner, Port, Want};

impl Mirror {
    /// A node that gives what is wanted as a `to`. What stood there before is used again if it does.
    pub(super) fn fitted(
        &mut self,
        owner: Owner,
        before: Option<NodeNumber>,
        want: &Want,
        to: Type,
    ) -> Result<NodeNumber, Lost> {
        let is_usable = |node: &NodeNumber| self.owns(owner, *node) && self.graph.gives(*node, to);
        let before = before.filter(is_usable);
        match want {
            Want::Literal(value) => {
                if let Some(before) = before.filter(|node| self.graph.is_source(*node)) {
                    self.graph.set_value(before, value);
                    return Ok(before);
                }
                let made = self.graph.source_of_value(value);
                Ok(self.own(owner, made))
            }
            Want::Node(node, from) if *from == to => Ok(*node),
            Want::Node(node, from) => {
                let converts = |before: &NodeNumber| {
                    !self.graph.is_source(*before) && self.graph.input_of(*before, 0) == Some(*node)
                };
                if let Some(before) = before.filter(converts) {
                    return Ok(before);
                }
                let instance = self.conversion(*from, to)?;
                let made = self.graph.call(&instance, &[*node]).map_err(|_| Lost)?;
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

    fn conversion(&mut self, from: Type, to: Type) -> Result<Arc<Instance>, Lost> {
        if let Some(known) = self.conversions.get(&(from, to)) {
            return Ok(Arc::clone(known));
        }
        let made = convert::instance(self.registry.conversion(), from, to).ok_or(Lost)?;
        let made = Arc::new(made);
        self.conversions.insert((from, to), Arc::clone(&made));
        Ok(made)
    }

    /// The node of a call. `before` is what the same instance was before in its place.
    pub(super) fn call(
        &mut self,
        before: Option<NodeNumber>,
        instance: &Arc<Instance>,
        wants: &[Want],
    ) -> Result<NodeNumber, Lost> {
        if let Kernel::Read { feature, level: 0, aspect: Aspect::Value } = &instance.kernel {
            return self.feature(feature);
        }
        if instance.has_scopes() {
            return self.scoped(before, instance, wants);
        }
        let captured = self.with_captures(instance, wants)?;
        let wants = captured.as_deref().unwrap_or(wants);
        let needed = inputs_needed(instance);
        if let Some(node) = before {
            if captured.is_some() {
                self.graph.reword(self.graph.call_behind(node), instance);
            }
            for (at, input) in needed.iter().enumerate() {
                let (want, to) = (&wants[*input as usize], instance.inputs[*input as usize].ty);
                let old = self.graph.input_of(node, at);
                let new = self.fitted(Owner::Call, old, want, to)?;
                if let Some(old) = old.filter(|old| *old != new) {
                    self.link(node, at, new)?;
                    self.doom_owned(Owner::Call, old);
                }
            }
            return Ok(node);
        }
        let mut inputs: SmallVec<[NodeNumber; 4]> = SmallVec::new();
        for input in &needed {
            let (want, to) = (&wants[*input as usize], instance.inputs[*input as usize].ty);
            inputs.push(self.fitted(Owner::Call, None, want, to)?);
        }
        self.n_calls += 1;
        if self.n_calls > self.limits.expanded_nodes {
            return Err(Lost);
        }
        self.graph.call(instance, &inputs).map_err(|_| Lost)
    }

    pub(super) fn feature(&mut self, feature: &Feature) -> Result<NodeNumber, Lost> {
        if !matches!(feature, Feature::Time | Feature::Tick) {
            return Err(Lost);
        }
        if let Some(known) = self.features.get(feature) {
            return Ok(*known);
        }
        let lane = lane_of_number(feature.ty()).ok_or(Lost)?;
        let node = self.graph.source_of(lane, 0);
        self.features.insert(feature.clone(), node);
        Ok(node)
    }

    /// What a muted node gives.
    pub(super) fn passed(
        &mut self,
        port: Port,
        before: &[Option<NodeNumber>],
        muted: &Muted,
        wants: &[Want],
    ) -> Result<Vec<Option<NodeNumber>>, Lost> {
        let mut outs = Vec::with_capacity(muted.outputs.len());
        for (k, output) in muted.outputs.iter().enumerate() {
            let want = match &output.passes {
                Passes::Source(i) => wants[*i as usize].clone(),
                Passes::Default(value) => Want::Literal(value.clone()),
            };
            let old = before.get(k).copied().flatten();
            outs.push(Some(self.fitted(Owner::Port(port), old, &want, output.ty)?));
        }
        Ok(outs)
    }

    /// A node is not needed in its place any more, if it belongs there.
    pub(super) fn doom_owned(&mut self, owner: Owner, node: NodeNumber) {
        if self.owns(owner, node) {
            self.doomed.insert(node);
        }
    }

    /// Those of the nodes that were given on before are not needed that are not given on any more.
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

    /// The node of a call is not needed any more.
    pub(super) fn doom_call(&mut self, node: NodeNumber) {
        if self.features.values().any(|known| *known == node) {
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

    /// Takes out what is not needed.
    pub(super) fn remove_doomed(&mut self) -> Result<(), Lost> {
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
        if self.doomed.is_empty() { Ok(()) } else { Err(Lost) }
    }
}
