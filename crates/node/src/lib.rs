//! What nodes are: their sockets, settings and kernels, and the form in which numeric kernels are
//! written once and executed in several ways.

pub mod class;
pub mod closure;
pub mod convert;
pub mod explicit;
pub mod function;
pub mod instance;
pub mod kept;
pub mod node_def;
pub mod pace;
pub mod registry;
pub mod repeat;
pub mod scope;
pub mod settings;
pub mod signature;
pub mod state;

pub use class::Class;
pub use function::{Argument, Call, Data, Failure, Function};
pub use instance::{Instance, Kernel};
pub use node_def::{Law, NodeDef};
pub use pace::Pace;
pub use registry::Registry;
pub use scope::ScopeRule;
pub use settings::{SettingKind, SettingValue, Settings};
pub use signature::{Among, Default, Signature, SocketType};
pub use state::Keeps;
