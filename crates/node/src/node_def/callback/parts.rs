//! The network that replaces a node with a callback: nodes that evaluate inputs in a changed
//! context, nodes that read the context, rounds that find and choose lazy inputs, and the calls
//! that run the callback.

use std::sync::Arc;

use millstream_base::Value;
use smallvec::SmallVec;

use super::Task;
use super::assemble::{Assembly, OF_INPUT, OF_OUTPUTS, args_of, calls, is_passed, needed_by};
use crate::node_def::instance::{Instance, Kernel};
use crate::node_def::make::replaced_by_lowering;
use crate::node_def::network::{Network, Part, PartSource};
use crate::node_def::state::pick_of;
use crate::node_def::{KernelSpec, NodeDef};
use crate::settings::{SettingError, SettingValue, Settings};
use crate::signature::{Signature, Socket};

/// The parts of a network that is being made.
struct Parts<'p> {
    assembly: &'p Assembly,
    spec: &'p KernelSpec<'p>,
    of_node: &'p Signature,
    network: Network,
    /// The source of each slot of the node, in the context that its socket states.
    slots: Vec<PartSource>,
    reads: Vec<PartSource>,
}

impl Assembly {
    /// The kernel of an instance, or the network that replaces its nodes.
    pub(crate) fn make(
        &self,
        spec: &KernelSpec<'_>,
    ) -> Result<(Kernel, Option<Network>), SettingError> {
        let of_node = self.base.signature(spec.settings)?;
        let is_plain = |socket: &Socket| !socket.lazy && !is_passed(socket);
        let calls = calls(&of_node);
        if self.base.reads.is_empty() && calls.len() < 2 && of_node.inputs.iter().all(is_plain) {
            return Ok((self.base.kernel(Task::Compute, spec)?, None));
        }
        let mut parts = Parts {
            assembly: self,
            spec,
            of_node: &of_node,
            network: Network::default(),
            slots: (0..spec.inputs.len() as u32).map(PartSource::Input).collect(),
            reads: Vec::new(),
        };
        parts.evaluate_inputs();
        parts.read_context();
        let mut outputs = vec![PartSource::Input(0); of_node.outputs.len()];
        for of_call in &calls {
            let name = if calls.len() == 1 { "" } else { &of_node.outputs[of_call[0]].name };
            let part = parts.call(name, of_call, calls.len() == 1);
            for (output, k) in of_call.iter().enumerate() {
                outputs[*k] = PartSource::Output { part, output: output as u32 };
            }
        }
        parts.network.outputs = outputs;
        parts.network.is_divided = calls.len() > 1;
        Ok((replaced_by_lowering(), Some(parts.network)))
    }
}

impl Parts<'_> {
    fn part(
        &mut self,
        name: impl Into<Arc<str>>,
        instance: Instance,
        sources: impl IntoIterator<Item = PartSource>,
    ) -> u32 {
        let (name, sources) = (name.into(), sources.into_iter().collect());
        self.network.parts.push(Part { name, instance: Arc::new(instance), sources });
        self.network.parts.len() as u32 - 1
    }

    fn constant(&mut self, value: Value) -> PartSource {
        self.network.constants.push(value);
        PartSource::Constant(self.network.constants.len() as u32 - 1)
    }

    fn slots_of(&self, socket: usize) -> SmallVec<[usize; 1]> {
        let slots = self.spec.inputs.iter().enumerate();
        slots.filter(|(_, slot)| usize::from(slot.socket) == socket).map(|(i, _)| i).collect()
    }

    /// An instance of a hidden node type.
    fn instance(&self, def: &Arc<NodeDef>, settings: Settings, arities: &[u16]) -> Instance {
        let made = def.instantiate(settings, self.spec.generics.to_vec(), arities);
        made.expect("the parts of a node have instances if the node has")
    }

    /// Evaluates the inputs whose scopes inject or modify features.
    fn evaluate_inputs(&mut self) {
        for (i, socket) in self.of_node.inputs.iter().enumerate().filter(|(_, it)| is_passed(it)) {
            let args = args_of(socket);
            let sources: Vec<PartSource> = args
                .iter()
                .map(|arg| PartSource::Input(self.slots_of(usize::from(*arg))[0] as u32))
                .collect();
            let of_input = SettingValue::Text((&*socket.name).into());
            let settings = self.spec.settings.with(OF_INPUT, of_input);
            for slot in self.slots_of(i) {
                let arities = vec![1; 1 + args.len()];
                let def = &self.assembly.input;
                let instance = self.instance(def, settings.clone(), &arities);
                let input = [PartSource::Input(slot as u32)];
                let sources = input.into_iter().chain(sources.iter().copied());
                let part = self.part(&*socket.name, instance, sources);
                self.slots[slot] = PartSource::Output { part, output: 0 };
            }
        }
    }

    fn read_context(&mut self) {
        for need in &self.assembly.base.reads {
            let shared = &self.assembly.shared;
            let instance = (shared.read)(&shared.reading, need);
            let part = self.part(need.to_string(), instance, []);
            self.reads.push(PartSource::Output { part, output: 0 });
        }
    }

    /// The call that computes some outputs, after the lazy inputs that it asks for.
    fn call(&mut self, name: &str, outputs: &[usize], is_only: bool) -> u32 {
        let needed = needed_by(self.of_node, outputs);
        let names = outputs.iter().map(|k| (&*self.of_node.outputs[*k].name).into());
        let names = SettingValue::Texts(names.filter(|_| !is_only).collect());
        let settings = self.spec.settings.with(OF_OUTPUTS, names);
        let mut arities: Vec<u16> =
            needed.iter().map(|socket| self.slots_of(*socket).len() as u16).collect();
        arities.resize(needed.len() + self.reads.len(), 1);
        let is_lazy = |socket: &&usize| self.of_node.inputs[**socket].lazy;
        let lazy: Vec<usize> = needed.iter().filter(is_lazy).copied().collect();
        let slots: Vec<usize> = needed.iter().flat_map(|socket| self.slots_of(*socket)).collect();
        let mut sources: Vec<PartSource> = slots.iter().map(|slot| self.slots[*slot]).collect();
        sources.extend_from_slice(&self.reads);
        if !lazy.is_empty() {
            arities.push(1);
            self.ask(&settings, &arities, (&lazy, &slots), &mut sources);
        }
        let instance = self.instance(&self.assembly.call, settings, &arities);
        self.part(name, instance, sources)
    }

    /// Replaces the sources of lazy inputs by their values where the callback asks for them and by
    /// defaults elsewhere; appends the source of the set of inputs asked for.
    fn ask(
        &mut self,
        settings: &Settings,
        arities: &[u16],
        (lazy, slots): (&[usize], &[usize]),
        sources: &mut Vec<PartSource>,
    ) {
        let all_lazy = self.of_node.inputs.iter().enumerate().filter(|(_, socket)| socket.lazy);
        let bit_of: Vec<usize> = all_lazy.map(|(i, _)| i).collect();
        let mut inputs = Vec::with_capacity(lazy.len());
        for socket in lazy {
            let slot = self.slots_of(*socket)[0];
            let at = slots.iter().position(|known| *known == slot).expect("the input is needed");
            let bit = bit_of.iter().position(|known| known == socket).expect("the input is lazy");
            let ty = self.spec.inputs[slot].ty;
            let nothing = self.constant(ty.default_value());
            let value = std::mem::replace(&mut sources[at], nothing);
            inputs.push((at, bit as u32, ty, value, nothing));
        }
        let mut asked = self.constant(Value::I32(0));
        let has_selector = self.assembly.base.callback.select.is_some();
        let n_rounds = if has_selector { 1 } else { lazy.len() };
        for round in 1..=n_rounds {
            let instance = self.instance(&self.assembly.ask, settings.clone(), arities);
            let all = sources.iter().copied().chain([asked]);
            let ask = self.part(format!("ask{round}"), instance, all);
            asked = PartSource::Output { part: ask, output: 0 };
            for (at, bit, ty, value, nothing) in &inputs {
                let was_asked = PartSource::Output { part: ask, output: 1 + bit };
                let pick = pick_of(&self.assembly.shared.pick, *ty);
                let name = format!("{}{round}", self.of_node.inputs[bit_of[*bit as usize]].name);
                let part = self.part(name, pick, [was_asked, *nothing, *value]);
                sources[*at] = PartSource::Output { part, output: 0 };
            }
        }
        sources.push(asked);
    }
}
