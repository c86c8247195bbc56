//! Instances: node types with settings and types fixed, ready to run.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Need, Type};
use smallvec::SmallVec;

use crate::class::Class;
use crate::function::SharedFunction;
use crate::node_def::NodeDef;
use crate::node_def::network::Network;
use crate::scope::ScopeRule;
use crate::settings::{SettingValue, Settings};
use millstream_form::Form;

/// The work of a node, once its inputs are computed.
#[derive(Clone)]
pub enum Kernel {
    /// An element-wise form from the concatenated lanes of the inputs to those of the outputs.
    Form(Arc<Form>),
    /// A function over columns with a mask.
    Function(SharedFunction),
    /// Reads the context.
    Read {
        /// The feature.
        feature: Feature,
        /// The level: the number of injectors to skip on the way out.
        level: u32,
        /// The aspect: the value, of the feature's type, or the extent of its axis, an `i32`.
        aspect: Aspect,
    },
    /// Returns input 0; the effect of the node is the scope of that socket.
    Pass,
    /// Selects one of the inputs from 1 on, element by element; inputs are not evaluated for
    /// elements that select another. Input 0 is a `bool` (false selects input 1, true input 2) or
    /// an `i32` (clamped to the inputs).
    Choose,
    /// Reads the state of a node for the current element: a `bool` that tells whether there is any,
    /// then the values, or defaults if there is none. The needs are those of the node.
    ReadState(Arc<[Need]>),
}

/// An input of an instance; a socket with several sources has one slot for each.
#[derive(Clone, Debug)]
pub struct InputSlot {
    /// The position of the socket in the signature.
    pub socket: u16,
    /// The type of the linked output.
    pub ty: Type,
    /// Whether the kernel may overwrite the buffer and return it.
    pub mutable: bool,
    /// The changes of the context for the source; inputs are named by their positions in the
    /// instance.
    pub scope: Vec<ScopeRule>,
}

impl InputSlot {
    /// The type that the kernel receives: lists of the linked type if an axis is gathered.
    pub fn received(&self) -> Type {
        if self.gathers() {
            self.ty.list().expect("instances with gathering sockets leave room for a list")
        } else {
            self.ty
        }
    }

    /// Whether the kernel receives a list, because a scope gathers an axis.
    pub fn gathers(&self) -> bool {
        self.scope.iter().any(ScopeRule::gathers)
    }
}

/// One output of an instance.
#[derive(Clone, Debug)]
pub struct OutputSlot {
    /// The type.
    pub ty: Type,
}

/// A node type with settings and types fixed.
pub struct Instance {
    /// The node type.
    pub def: Arc<NodeDef>,
    /// The settings, including defaults.
    pub settings: Settings,
    /// The types of the generics.
    pub generics: Vec<Type>,
    /// The inputs, in order of the sockets.
    pub inputs: Vec<InputSlot>,
    /// The outputs, in order of the sockets.
    pub outputs: Vec<OutputSlot>,
    /// Names of the outputs.
    pub output_names: Vec<Arc<str>>,
    /// The kernel.
    pub kernel: Kernel,
    /// The nodes that replace each node of the instance during lowering, if it is a network.
    pub network: Option<Arc<Network>>,
    /// The class of the node type itself.
    pub class: Class,
}

impl Instance {
    /// Whether any socket changes the context.
    pub fn has_scopes(&self) -> bool {
        self.inputs.iter().any(|input| !input.scope.is_empty())
    }

    /// The inputs that a call evaluates in its own context: those that its scopes use and, unless
    /// the instance only returns input 0, all inputs without a scope. Bit `r` of `active_rules(i)`
    /// tells whether the source of input `i` needs the feature that rule `r` changes.
    pub fn evaluated_outside(&self, active_rules: impl Fn(usize) -> u64) -> SmallVec<[bool; 8]> {
        let passes = matches!(self.kernel, Kernel::Pass) && self.has_scopes();
        let mut asked = SmallVec::from_elem(false, self.inputs.len());
        for (i, input) in self.inputs.iter().enumerate() {
            if input.scope.is_empty() {
                asked[i] |= !passes;
                continue;
            }
            let active = active_rules(i);
            for (r, rule) in input.scope.iter().enumerate() {
                for used in rule.uses(active & 1 << r != 0) {
                    asked[*used as usize] = true;
                }
            }
        }
        asked
    }

    /// The form, if all inputs are read in the instance's own context.
    pub fn plain_form(&self) -> Option<&Form> {
        match &self.kernel {
            Kernel::Form(form) if !self.has_scopes() => Some(form),
            Kernel::Form(_)
            | Kernel::Function(_)
            | Kernel::Read { .. }
            | Kernel::Pass
            | Kernel::Choose
            | Kernel::ReadState(_) => None,
        }
    }

    /// Whether exchanging the first two inputs changes no bit of the outputs.
    pub fn commutes(&self) -> bool {
        match (self.plain_form(), &self.inputs[..]) {
            (Some(form), [a, b, ..]) if a.ty == b.ty => {
                let shows = || a.ty.lanes().is_some_and(|(_, n)| form.commutes(n as usize));
                self.def.commutes || shows()
            }
            (None, [a, b, ..]) => self.def.commutes && a.ty == b.ty && !self.has_scopes(),
            _ => false,
        }
    }

    /// Whether the instance selects among inputs that have lanes, so that a select instruction can
    /// do it.
    pub fn is_lane_choice(&self) -> bool {
        matches!(self.kernel, Kernel::Choose)
            && !self.has_scopes()
            && self.inputs.len() > 1
            && self.outputs.iter().all(|output| output.ty.lanes().is_some())
    }

    /// Whether the kernel runs a body that evaluators recognize.
    fn has_body(&self) -> bool {
        matches!(&self.kernel, Kernel::Function(function) if function.body().is_some())
    }

    /// The name of the node type.
    pub fn name(&self) -> &str {
        &self.def.name
    }

    /// Whether nodes of both instances do the same: equal node type, settings (bit for bit,
    /// including the group of a zone), types, and number of sources per socket.
    pub fn does_same(&self, other: &Self) -> bool {
        let sockets = |i: &Self| i.inputs.iter().map(|slot| slot.socket).collect::<Vec<_>>();
        // Each zone has a node type of its own.
        let are_zones = self.has_body() && other.has_body() && self.name() == other.name();
        (are_zones || Arc::ptr_eq(&self.def, &other.def))
            && self.generics == other.generics
            && same_settings(&self.settings, &other.settings)
            && self.inputs.len() == other.inputs.len()
            && sockets(self) == sockets(other)
    }
}

/// Equality of settings by bits: `-0.0` differs from `0.0`.
fn same_settings(a: &Settings, b: &Settings) -> bool {
    a.iter().count() == b.iter().count()
        && a.iter().zip(b.iter()).all(|((name_a, value_a), (name_b, value_b))| {
            name_a == name_b
                && match (value_a, value_b) {
                    (SettingValue::Number(x), SettingValue::Number(y)) => {
                        x.to_bits() == y.to_bits()
                    }
                    (SettingValue::Numbers(x), SettingValue::Numbers(y)) => {
                        x.iter().map(|x| x.to_bits()).eq(y.iter().map(|y| y.to_bits()))
                    }
                    (x, y) => x == y,
                }
        })
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.def.name, self.generics)
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Form(_) => f.write_str("Form"),
            Self::Function(_) => f.write_str("Function"),
            Self::Read { feature, level, aspect } => {
                write!(f, "Read({feature}, {level}, {aspect:?})")
            }
            Self::Pass => f.write_str("Pass"),
            Self::Choose => f.write_str("Choose"),
            Self::ReadState(needs) => write!(f, "ReadState({} needs)", needs.len()),
        }
    }
}
