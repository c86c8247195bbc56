//! Problems of documents: what is wrong, where, and what to do about it.
//!
//! Each phase reports all problems that it finds as [`Diagnostics`]. A [`Diagnostic`] has a stable
//! code, a [`Place`] in the document and, if there is one, the next step.
//!
//! ```
//! use millstream::{Engine, Error};
//!
//! let text = br#"{"millstream": 2, "outputs": {"y": {"type": "f32", "from": "root.value"}},
//!                 "nodes": {"root": {"type": "math.sqr", "in": {"x": 4}}}}"#;
//! let Err(Error::Document(problems)) = Engine::new().load(text) else { panic!("it is wrong") };
//! let problem = problems.iter().next().expect("there is one");
//! assert_eq!(problem.place.path.as_str(), "root");
//! assert_eq!(problem.help.as_deref(), Some("did you mean `math.sqrt`?"));
//! ```

pub use millstream_base::diagnostics::{Diagnostic, Diagnostics, Severity, counted, did_you_mean};
pub use millstream_base::{NodePath, Place, Span, UsedFile};
