//! Instances: a node type with its settings and types fixed, ready to run.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Need, Type};
use smallvec::SmallVec;

use crate::class::Class;
use crate::function::SharedFunction;
use crate::node_def::NodeDef;
use crate::repeat::REPEAT;
use crate::scope::ScopeRule;
use crate::settings::{SettingValue, Settings};
use millstream_form::Form;

/// What a node does, once its inputs are there.
#[derive(Clone)]
pub enum Kernel {
    /// Element by element, on the lanes of the inputs one behind the other; gives the lanes of the
    /// outputs.
    Form(Arc<Form>),
    /// A function over columns with a mask.
    Function(SharedFunction),
    /// Reads the context.
    Read {
        /// The feature.
        feature: Feature,
        /// How many injectors out.
        level: u32,
        /// Its value, of the feature's type, or the extent of its axis, an `i32`.
        aspect: Aspect,
    },
    /// Gives input 0 on; the work is in the scope of its socket.
    Pass,
    /// Gives on one of inputs 1.., element by element; the others are not evaluated there. Input 0
    /// is a `bool` (false picks input 1, true input 2) or an `i32` (clamped to the inputs).
    Choose,
    /// Gives what is kept for the element at hand: first a `bool` whether anything is, then the values,
    /// defaults where nothing is. These are all needs of the node that keeps it.
    Kept(Arc<[Need]>),
}

/// One input of an instance; a socket that takes several sources has one for each.
#[derive(Clone, Debug)]
pub struct InputSlot {
    /// Position of the socket in the signature.
    pub socket: u16,
    /// Type of what is linked.
    pub ty: Type,
    /// The kernel may write into the buffer and hand it on.
    pub mutable: bool,
    /// How the context changes for what is linked; positions are those of the instance's inputs.
    pub scope: Vec<ScopeRule>,
}

impl InputSlot {
    /// The type that the kernel receives: a list of what is linked where an axis is gathered.
    pub fn received(&self) -> Type {
        if self.gathers() {
            self.ty.list().expect("instances with gathering sockets leave room for a list")
        } else {
            self.ty
        }
    }

    /// Whether the kernel receives a list of what is linked.
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
    /// Settings, defaults filled in.
    pub settings: Settings,
    /// The types of the generics.
    pub generics: Vec<Type>,
    /// Inputs in order of the sockets.
    pub inputs: Vec<InputSlot>,
    /// Outputs in order of the sockets.
    pub outputs: Vec<OutputSlot>,
    /// Names of the outputs.
    pub output_names: Vec<Arc<str>>,
    /// What it does.
    pub kernel: Kernel,
    /// The node type's own class.
    pub class: Class,
}

impl Instance {
    /// Whether any socket changes the context.
    pub fn has_scopes(&self) -> bool {
        self.inputs.iter().any(|input| !input.scope.is_empty())
    }

    /// Which inputs a call asks for in its own context, where bit `r` of `active_rules(i)` says whether
    /// anything behind input `i`, which has a scope, needs what rule `r` changes: of an instance that
    /// only passes on, those that its scopes use; of others also all without a scope.
    pub fn asked_outside(&self, active_rules: impl Fn(usize) -> u64) -> SmallVec<[bool; 8]> {
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
            | Kernel::Kept(_) => None,
        }
    }

    /// Whether it gives on one of its inputs, and these are made of lanes, so that an instruction
    /// can select among them.
    pub fn is_lane_choice(&self) -> bool {
        matches!(self.kernel, Kernel::Choose)
            && !self.has_scopes()
            && self.inputs.len() > 1
            && self.outputs.iter().all(|output| output.ty.lanes().is_some())
    }

    /// The name of the node type.
    pub fn name(&self) -> &str {
        &self.def.name
    }

    /// Whether nodes of this instance and of another do the same: the same node type, settings to
    /// the bit, types, and number of sources of each socket. What repeats run is one of their settings.
    pub fn does_same(&self, other: &Self) -> bool {
        let sockets = |i: &Self| i.inputs.iter().map(|slot| slot.socket).collect::<Vec<_>>();
        let are_repeats = self.name() == REPEAT && other.name() == REPEAT;
        (are_repeats || Arc::ptr_eq(&self.def, &other.def))
            && self.generics == other.generics
            && same_settings(&self.settings, &other.settings)
            && self.inputs.len() == other.inputs.len()
            && sockets(self) == sockets(other)
    }
}

/// Equality of bits: `-0.0` as a setting is not `0.0`.
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
            Self::Kept(needs) => write!(f, "Kept({} needs)", needs.len()),
        }
    }
}
