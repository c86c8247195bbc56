//! Millstream: a node-graph engine. People describe what to compute as a graph of nodes; the engine
//! works out what must run, runs only that, on one element or many, and can say why.
//!
//! An [`Engine`] holds the node types. It turns the text of a document into a [`Program`], which
//! answers requests:
//!
//! ```
//! use millstream::{Engine, Request};
//!
//! let text = r#"{
//!   "millstream": 1,
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
//! // or many: the graph is written as if for one.
//! let answer = program.run(&Request::new().column("x", vec![1.0_f32, 2.0, 4.0]))?;
//! assert_eq!(answer.column::<f32>("y"), Some(vec![2.0, 4.0, 8.0]));
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! A closure becomes a node type with [`NodeDef::from_closure`], a Rust type a value type with
//! [`value_type!`].

pub mod deploy;
mod engine;
mod error;
pub mod explain;
pub mod import;
mod prepared;
mod program;
pub mod run_log;
pub mod session;
pub mod twice;

pub use engine::Engine;
pub use error::Error;
pub use prepared::{HandleError, PreparedInput, PreparedOutput, PreparedProgram};
pub use program::Program;
pub use session::Session;

pub use millstream_base::diagnostics::{Diagnostic, Diagnostics, Severity};
pub use millstream_base::{
    Color, Column, Feature, Footprint, Limits, Mat4, NodePath, Place, Quat, Span, Type, Value,
    ValueType, Vec2, Vec3, Vec4, value_type,
};
pub use millstream_document::{Document, Edit, Editor};
pub use millstream_run::chunked::PrepareError;
pub use millstream_run::{Auto, Chunked, Incremental, Lazy, List, Parallel};

/// Graphs of single numbers that are kept up to date.
pub mod live {
    pub use millstream_form::{LaneValue, Op};
    pub use millstream_run::live::{
        CallbackPanic, Handle, LiveError, LiveGraph, LiveProgram, NotNumbers, Propagation, Selector,
    };
}
pub use millstream_ir::answer::{Answer, EvalError, Evaluator, NodeFailure, RunLog, Series};
pub use millstream_ir::progress::{Done, Progress};
pub use millstream_ir::request::{Given, LogDetail, Request, RequestAxis, RequestError};
pub use millstream_ir::{Graph, Plan};
pub use millstream_node::{Call, Class, Failure, NodeDef, Registry};

/// The crates that the engine is made of, for what the items above do not show.
pub mod parts {
    pub use millstream_base as base;
    pub use millstream_compile as compile;
    pub use millstream_document as document;
    pub use millstream_ir as ir;
    pub use millstream_node as kernel;
    pub use millstream_nodes as nodes;
    pub use millstream_run as eval;
}
