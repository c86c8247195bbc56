//! Node types: sockets, settings and kernels, the registry of them, and instances with types and
//! settings fixed.

pub mod blockwise;
pub mod class;
pub mod closure;
pub mod convert;
pub mod element_state;
pub mod explicit;
mod failure;
pub mod function;
pub mod group;
mod implicit;
pub mod interface;
pub mod node_def;
pub mod pace;
pub mod reading;
pub mod registry;
pub mod repeat;
pub mod scope;
pub mod settings;
pub mod signature;
pub mod unsettled;
pub mod zone;

pub use class::Class;
pub use function::{Argument, Call, Data, Failure, Function, gather};
pub use interface::Interface;
pub use node_def::callback::{CallbackContext, CallbackFunction, Stop};
pub use node_def::formula::{Formula, FormulaCall, FormulaTerm, FormulaTest, Truth};
pub use node_def::instance::{Instance, Kernel};
pub use node_def::network::{NarrowedText, Network, NetworkParts, Part, PartSource};
pub use node_def::region::RegionUse;
pub use node_def::state::StateSpec;
pub use node_def::{Composition, Law, NodeDef, instance, state};
pub use pace::Pace;
pub use registry::Registry;
pub use scope::ScopeRule;
pub use settings::{SettingKind, SettingValue, Settings};
pub use signature::{Among, Default, Signature, SocketType};
pub use zone::Zone;
