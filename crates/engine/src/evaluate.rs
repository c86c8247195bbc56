//! Evaluation: requests, answers, evaluators, budgets and progress.
//!
//! A [`Request`] sets inputs to values or columns, the number of elements, one or several moments,
//! and further context [features](Feature), and names the wanted outputs. A column for an input of
//! type `T` has one value for each element of the request, whereas a value is the same for all
//! elements. [`Program::run`](crate::Program::run) returns an [`Answer`], which has for each output
//! one value, or a column with the axes along which the output varies.
//!
//! All evaluators give the same bits. Each suits other uses:
//!
//! | evaluator | use |
//! |---|---|
//! | [`Lazy`] | computes on demand without any preparation; defines the meaning of a plan |
//! | [`List`] | a flat program; single values of a plan that runs many times |
//! | [`Chunked`] | many elements: fuses element-wise nodes, uses SIMD and several threads |
//! | [`List::parallel`] | the list on several threads: runs independent expensive nodes at the same time |
//! | [`Incremental`] | stores results between evaluations and runs only what has changed |
//! | [`Auto`] | measures lazy, list, chunked and parallel and stays with the fastest |
//!
//! [`EVALUATORS`] lists them by the names of the command line.
//!
//! Several moments in one request open a time axis: nodes that do not depend on time run once. A
//! document with state is evaluated frame by frame from its start frame on, and the answer has the
//! frames that the request names. For tables larger than memory,
//! [`Program::in_blocks`](crate::Program::in_blocks) evaluates block by block, and computes once
//! what does not depend on elements.
//!
//! A node that fails leaves the outputs that depend on it without a value, and the answer lists the
//! failures. [`Request::with_partial`] asks for the cells of such outputs that did not fail, which
//! [`Answer::partial_column`] returns. A request may have limits on memory, a deadline, a flag that cancels it, and a
//! [`Progress`] that receives reports.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use millstream::evaluate::{Budget, Chunked, EvalError, Request};
//! use millstream::{Engine, Limits};
//!
//! let program = Engine::new().load(
//!     br#"{"millstream": 2, "inputs": {"x": {"type": "f32"}},
//!         "outputs": {"root": {"type": "f32", "from": "root.value"}},
//!         "nodes": {"root": {"type": "math.sqrt", "in": {"x": {"input": "x"}}}}}"#,
//! )?;
//! let mut chunked = Chunked::new();
//! let mut request = Request::new().column("x", vec![1.0_f32, 4.0, 9.0]);
//! let answer = program.run_with(&mut chunked, &request)?;
//! assert_eq!(answer.column::<f32>("root"), Some(vec![1.0, 2.0, 3.0]));
//!
//! request.budget = Budget::by(Instant::now().checked_sub(Duration::from_secs(1)));
//! assert_eq!(program.run_with(&mut chunked, &request).err(), Some(EvalError::Deadline));
//! # Ok::<(), millstream::Error>(())
//! ```

pub use millstream_base::feature::{Aspect, Need};
pub use millstream_base::{Budget, Ended, Feature, Footprint, Limits};
pub use millstream_ir::answer::{
    Answer, EvalError, Evaluator, NodeFailure, OutputAnswer, Partial, RunLog, Series,
};
pub use millstream_ir::progress::{Done, Progress};
pub use millstream_ir::request::{
    Given, LogDetail, OneByOne, Request, RequestAxis, RequestError, fewer_cells, product_in_words,
};
pub use millstream_node::Data;
pub use millstream_run::incremental::Equality;
pub use millstream_run::{
    AnyEvaluator, Auto, Chunked, EVALUATORS, EvaluatorRow, Incremental, Lazy, List,
};

pub use millstream_run::chunked::PrepareError;

pub use crate::interface::Requirement;
pub use crate::prepared::{HandleError, PreparedInput, PreparedOutput, PreparedProgram};
