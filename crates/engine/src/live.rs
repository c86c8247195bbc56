//! Live graphs: single values that are kept up to date while they are set and read many times a
//! second.
//!
//! A [`LiveGraph`] is built node by node, without a document. Setting a source through its
//! [`Handle`] computes nothing; reading a node runs what has changed and is needed, each node at
//! most once. A node whose new value has the bits of the old one stops the change there. The other
//! kinds of [`Propagation`] compute as soon as a source is set.
//!
//! [`Program::live`](crate::Program::live) makes the live graph of a document whose nodes compute
//! single numbers, and [`Program::live_columns`](crate::Program::live_columns) that of a document
//! with values of any type and a value for each of many elements.
//!
//! ```
//! use millstream::live::{LiveGraph, Op};
//!
//! let mut graph = LiveGraph::new();
//! let width = graph.source(3.0_f64);
//! let height = graph.source(4.0);
//! let area = graph.binary(Op::Mul, width, height);
//! assert_eq!(graph.get(area), 12.0);
//! graph.set(width, 5.0);
//! assert_eq!(graph.get(area), 20.0);
//! ```

pub use millstream_form::{LaneValue, Op};
pub use millstream_run::live::{
    CallbackPanic, ColumnsError, Handle, LiveColumns, LiveError, LiveGraph, LiveProgram, NoValue,
    NotNumbers, Propagation, Selector, Taken,
};
