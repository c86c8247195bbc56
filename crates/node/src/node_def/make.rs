//! Makes instances of a node type: settings and types become slots, a kernel and a network.

use std::sync::Arc;

use millstream_base::Type;

use super::instance::{InputSlot, Instance, Kernel, OutputSlot};
use super::network::Network;
use super::{InstanceError, KernelSpec, Maker, NodeDef};
use crate::settings::Settings;
use crate::signature::{Signature, SocketType, TypeError};

impl NodeDef {
    /// The instance for these settings and types; `arities` holds the number of sources of each
    /// input socket (1 unless it takes several).
    ///
    /// # Errors
    /// If the settings do not give a kernel or a list type would be nested too deeply.
    pub fn instantiate(
        self: &Arc<Self>,
        settings: Settings,
        generics: Vec<Type>,
        arities: &[u16],
    ) -> Result<Instance, InstanceError> {
        let signature = self.signature(&settings)?;
        self.instantiate_as(&signature, settings, generics, arities)
    }

    /// Like [`instantiate`](Self::instantiate), if the signature for these settings is known.
    ///
    /// # Errors
    /// See [`instantiate`](Self::instantiate).
    pub fn instantiate_as(
        self: &Arc<Self>,
        signature: &Signature,
        settings: Settings,
        generics: Vec<Type>,
        arities: &[u16],
    ) -> Result<Instance, InstanceError> {
        let mut first_slot = Vec::with_capacity(arities.len());
        let mut n_slots = 0;
        for arity in arities {
            first_slot.push(n_slots);
            n_slots += arity;
        }
        let mut inputs = Vec::with_capacity(n_slots as usize);
        for (i, socket) in signature.inputs.iter().enumerate() {
            let slot = InputSlot {
                socket: i as u16,
                ty: socket.ty.resolve(&generics)?,
                mutable: socket.mutable,
                scope: (socket.scope.iter())
                    .map(|rule| rule.moved(|input| first_slot[input as usize]))
                    .collect(),
            };
            if slot.gathers() && slot.ty.list().is_none() {
                return Err(TypeError::ListDepth.into());
            }
            inputs.extend(std::iter::repeat_n(slot, arities[i] as usize));
        }
        let mut outputs = Vec::with_capacity(signature.outputs.len());
        for socket in &signature.outputs {
            let ty = match socket.ty {
                // The network determines the type.
                SocketType::Made => Type::BOOL,
                ty => ty.resolve(&generics)?,
            };
            outputs.push(OutputSlot { ty });
        }
        let output_names = signature.outputs.iter().map(|socket| (&*socket.name).into()).collect();
        let parts = KernelSpec {
            settings: &settings,
            generics: &generics,
            inputs: &inputs,
            outputs: &outputs,
        };
        let (kernel, network) = match &self.kernel {
            Maker::Missing => panic!("a node type is registered with a kernel"),
            Maker::Kernel(make) => (make(&parts)?, None),
            Maker::Network(make) => (replaced_by_lowering(), Some(Network::flat(make(&parts)?))),
            Maker::Callback(_) => panic!("a node type with a callback is registered before use"),
            Maker::Assembly(assembly) => {
                let (kernel, network) = assembly.make(&parts)?;
                (kernel, network.map(Arc::new))
            }
        };
        if let Some(network) = &network {
            for (k, socket) in signature.outputs.iter().enumerate() {
                if socket.ty == SocketType::Made {
                    outputs[k].ty = network.type_of(network.outputs[k], &inputs);
                }
            }
        }
        Ok(Instance {
            def: Arc::clone(self),
            class: self.class,
            settings,
            generics,
            inputs,
            outputs,
            output_names,
            kernel,
            network,
        })
    }
}

/// The kernel of nodes that lowering replaces.
pub(in crate::node_def) fn replaced_by_lowering() -> Kernel {
    Kernel::Function(Arc::new(|_: &mut crate::function::Call<'_>| {
        Err(crate::function::Failure::whole("lowering replaces this node by others"))
    }))
}
