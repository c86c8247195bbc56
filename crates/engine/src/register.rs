//! Node types of a program's own.
//!
//! There are several ways to define a node type in Rust, from the shortest to the most general:
//!
//! - A Rust closure over single values: [`NodeDef::from_closure`]. Its sockets follow from its
//!   parameter types.
//! - A kernel form: [`NodeDef::form`] and [`NodeDef::lanewise`] describe arithmetic on numbers with
//!   [`Val`], which compiles to SIMD loops, fuses with other nodes and runs in live graphs.
//! - A callback: [`NodeDef::callback`] computes one element through a [`CallbackContext`], which
//!   provides inputs, declared features, lazy inputs, lists, buffers to edit, and state.
//!   `docs/embedding.md` in the repository shows each of them.
//! - A function over columns: [`NodeDef::function`] receives a [`Call`] with columns and a mask,
//!   which suits text, lists and everything that manages its own buffers.
//!
//! A document is a function as well: [`NodeDef::from_program`](FromProgram::from_program) makes a
//! node type of a compiled one.
//!
//! A callback reads a feature that the node type declares:
//!
//! ```
//! use millstream::{Engine, Feature, NodeDef, Request, Type};
//!
//! let mut engine = Engine::new();
//! engine.register(
//!     NodeDef::new("my.wave", "A wave over time")
//!         .input_or("speed", Type::F64, 1.0, "turns per second")
//!         .reads(Feature::Time)
//!         .output("value", Type::F64, "between -1 and 1")
//!         .callback(|cx| {
//!             let turns = cx.feature::<f64>(Feature::Time)? * cx.get::<f64>("speed")?;
//!             cx.set("value", (turns * std::f64::consts::TAU).sin())
//!         }),
//! );
//! let program = engine.load(
//!     br#"{"millstream": 2, "outputs": {"y": {"type": "f64", "from": "wave.value"}},
//!         "nodes": {"wave": {"type": "my.wave"}}}"#,
//! )?;
//! let answer = program.run(&Request::new().time(0.25))?;
//! assert_eq!(answer.value::<f64>("y"), Some(1.0));
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! A node type states its [`Class`]: whether its result depends on its inputs alone, on the
//! context, on state, or on the outside world. Kernels must not panic, but a panic fails only the
//! node, with the message of the panic.
//!
//! A library of node types is a function that registers them: pass it to
//! [`Engine::with_library`](crate::Engine::with_library). [`manual::entry`] and
//! [`manual::document`] write the manual of any registry.
//!
//! ```
//! use millstream::register::{Among, NodeDef, Registry, SocketType, manual};
//! use millstream::{Engine, Request, Type};
//!
//! fn library(registry: &mut Registry) {
//!     registry.register(NodeDef::from_closure("my.shout", "Upper case", &["text"], |text: std::sync::Arc<str>| {
//!         std::sync::Arc::<str>::from(text.to_uppercase())
//!     }));
//!     let number = SocketType::Generic(0);
//!     registry.register(
//!         NodeDef::new("my.cube", "x times x times x")
//!             .generic("T", Among::These(&[Type::F32, Type::F64, Type::VEC3]))
//!             .input_or("x", number, 0.0, "the number")
//!             .output("value", number, "")
//!             .lanewise(|_, lanes| lanes[0] * lanes[0] * lanes[0]),
//!     );
//! }
//!
//! let engine = Engine::new().with_library(library);
//! let cube = engine.registry().get("my.cube").expect("it is registered");
//! assert!(manual::entry(cube).starts_with("my.cube: x times x times x"));
//! let program = engine.load(
//!     br#"{"millstream": 2, "inputs": {"x": {"type": "f32"}},
//!         "outputs": {"y": {"type": "f32", "from": "cube.value"}},
//!         "nodes": {"cube": {"type": "my.cube", "in": {"x": {"input": "x"}}}}}"#,
//! )?;
//! let answer = program.run(&Request::new().column("x", vec![1.0_f32, 2.0, 3.0]))?;
//! assert_eq!(answer.column::<f32>("y"), Some(vec![1.0, 8.0, 27.0]));
//! # Ok::<(), millstream::Error>(())
//! ```

pub use millstream_base::{Mask, Need, Type, ValueType, value_type};
pub use millstream_document::NodeUpgrade;
pub use millstream_form::{Form, FormBuilder, Val};
pub use millstream_node::signature::Socket;
pub use millstream_node::{
    Among, Call, CallbackContext, Class, Data, Default, Failure, Function, Kernel, NodeDef,
    Registry, ScopeRule, SettingKind, SettingValue, Settings, Signature, SocketType, StateSpec,
    Stop,
};
pub use millstream_nodes::{manual, synonyms};

pub use crate::program_node::FromProgram;
