//! Millstream: a node-graph engine. People describe *what* to compute as a graph of nodes; the
//! engine works out what must run, runs only that, on one element or many, and can say why.
//!
//! # Run a document
//!
//! An [`Engine`] holds the node types. It turns the text of a document into a [`Program`], which
//! answers requests. A graph is written as if for one element and one moment:
//!
//! ```
//! use millstream::{Engine, Request};
//!
//! let text = r#"{
//!   "millstream": 2,
//!   "inputs": { "x": { "type": "f32" } },
//!   "outputs": { "y": { "type": "f32", "from": "double.value" } },
//!   "nodes": { "double": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } }
//! }"#;
//! let program = Engine::new().load(text.as_bytes())?;
//!
//! // One element,
//! let answer = program.run(&Request::new().set("x", 1.5_f32))?;
//! assert_eq!(answer.value::<f32>("y"), Some(3.0));
//!
//! // or many.
//! let answer = program.run(&Request::new().column("x", vec![1.0_f32, 2.0, 4.0]))?;
//! assert_eq!(answer.column::<f32>("y"), Some(vec![2.0, 4.0, 8.0]));
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! # Register a node
//!
//! A Rust closure becomes a node type, and a Rust type a value type (see [`register`]):
//!
//! ```
//! use millstream::{Engine, NodeDef, Request};
//!
//! let mut engine = Engine::new();
//! engine.register(NodeDef::from_closure("my.half", "Half of a number", &["x"], |x: f32| x / 2.0));
//! let program = engine.load(
//!     br#"{"millstream": 2, "inputs": {"x": {"type": "f32"}},
//!         "outputs": {"y": {"type": "f32", "from": "half.value"}},
//!         "nodes": {"half": {"type": "my.half", "in": {"x": {"input": "x"}}}}}"#,
//! )?;
//! assert_eq!(program.run(&Request::new().set("x", 5.0_f32))?.value::<f32>("y"), Some(2.5));
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! # Edit a live document
//!
//! A [`Session`] holds a document that is edited, set and queried. Between two queries only what
//! has changed runs (see [`session`]):
//!
//! ```
//! # let text = br#"{"millstream": 2, "inputs": {"x": {"type": "f32"}},
//! #     "outputs": {"y": {"type": "f32", "from": "double.value"}},
//! #     "nodes": {"double": {"type": "math.add", "in": {"a": {"input": "x"}, "b": {"input": "x"}}}}}"#;
//! use millstream::{Edit, Engine, Session};
//!
//! let mut session = Session::open(&Engine::new(), text)?;
//! session.set("x", 2.0_f32)?;
//! assert_eq!(session.value::<f32>("y")?, Some(4.0));
//! session.edit(&Edit::literal("double", "b", 10.0))?;
//! assert_eq!(session.value::<f32>("y")?, Some(12.0));
//! session.undo();
//! assert_eq!(session.value::<f32>("y")?, Some(4.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Inspect why
//!
//! [`explain`] says what the compiler made of each node and when the node runs; a request with a
//! log records what ran in one evaluation, and why (see [`run_log`]):
//!
//! ```
//! # let text = br#"{"millstream": 2, "inputs": {"x": {"type": "f32"}},
//! #     "outputs": {"y": {"type": "f32", "from": "double.value"}},
//! #     "nodes": {"double": {"type": "math.add", "in": {"a": {"input": "x"}, "b": {"input": "x"}}}}}"#;
//! use millstream::{Engine, LogDetail, Request, explain};
//!
//! let engine = Engine::new();
//! let program = engine.load(text)?;
//! let explanation = explain::explain(&engine, program.document(), None)?;
//! assert_eq!(explanation.nodes[1].depends_on, ["x"]);
//!
//! let request = Request::new().column("x", vec![1.0_f32, 2.0]).with_log(LogDetail::Times);
//! let answer = program.run(&request)?;
//! let run = program.runs(&answer).next().expect("a node ran");
//! assert_eq!((run.path.as_str(), run.entry.elements), ("double", 2));
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! # Modules by task
//!
//! | task | module |
//! |---|---|
//! | load, build, edit and save documents | [`document`] |
//! | types, values, columns, tables, JSON | [`values`] |
//! | requests, answers, evaluators, budgets | [`evaluate`] |
//! | node types and value types of a program's own | [`register`] |
//! | problems with place and hint | [`diagnostics`] |
//! | live documents | [`session`] |
//! | live graphs without a document | [`live`] |
//! | what the compiler made of a document | [`explain`] |
//! | what ran, and why | [`run_log`] |
//! | inputs fixed, results stored | [`deploy`] |
//! | node types that misstate their class | [`twice`] |
//!
//! The names that most programs need are in the root of the crate as well.
//!
//! # Guarantees
//!
//! - *Same bits.* The same document and request give the same bits on every machine, with every
//!   evaluator, number of threads and SIMD width. Elementary functions are the engine's own,
//!   reductions have a fixed order, and random numbers depend only on their seed and inputs.
//! - *Runs at most once.* Within one evaluation a node runs once per element that it depends on and
//!   per distinct context, and a node that nothing demands does not run.
//! - *Untrusted documents.* Loading, compiling and evaluating never overflow the stack and never
//!   allocate without bound. [`Limits`] bound text, nodes, expansion, lists, elements and bytes, and
//!   an error names the limit that was hit.
//! - *Contained failures.* A node that fails, or whose Rust code panics, takes away the values of the
//!   outputs that depend on it. All other values are valid.
//! - *Threads.* Engines and programs are immutable once made, and may be shared between threads.

pub mod deploy;
pub mod diagnostics;
pub mod document;
mod engine;
mod error;
pub mod evaluate;
pub mod explain;
mod folder;
mod interface;
pub mod live;
mod prepared;
mod program;
mod program_node;
mod regions;
pub mod register;
pub mod run_log;
pub mod session;
mod sound;
pub mod twice;
pub mod values;

pub use diagnostics::{Diagnostic, Diagnostics, NodePath, Place, Severity, Span, UsedFile};
pub use document::{Document, Edit, Editor};
pub use engine::Engine;
pub use error::Error;
pub use evaluate::{
    Answer, Auto, Chunked, Data, Done, EvalError, Evaluator, Feature, Footprint, Given,
    Incremental, Lazy, Limits, List, LogDetail, NodeFailure, Progress, Request, RequestAxis,
    RequestError, RunLog, Series,
};
pub use program::Program;
pub use register::{Call, Class, Failure, NodeDef, Registry, synonyms, value_type};
pub use session::Session;
pub use values::{Color, Column, Mask, Mat4, Quat, Type, Value, ValueType, Vec2, Vec3, Vec4};

pub use millstream_ir::{Graph, Plan};
