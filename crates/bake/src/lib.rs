//! Bakes: many frames of a document, each computed once, and stored.
//!
//! A [`Bake`] answers a request for frames part by part. A result in the [`Cache`] is not computed
//! again, and computed results are stored, so a bake that was killed resumes where it stopped. A
//! result is found by its key, which is determined by the graph above it, the inputs, and the
//! context restricted to what the result needs. So a changed node is recomputed together with its
//! dependents, and only in the frames that it affects.
//!
//! ```
//! use std::convert::Infallible;
//! use millstream::{Engine, Request};
//! use millstream::evaluate::Auto;
//! use millstream_bake::{Bake, Cache};
//!
//! let program = Engine::new().load(b"x = context.time() * 2\noutput y: f64 = x\n")?;
//! let mut auto = Auto::default();
//! let mut bake = Bake::new(program.plan(), Request::new(), (0..=48).collect())?;
//! let mut sum = 0.0;
//! bake.run(&mut Cache::none(), &mut auto, &mut |_, _| true, &mut |part| {
//!     sum += part.answer.column::<f64>("y").expect("it is an f64")[0];
//!     Ok::<(), Infallible>(())
//! })?;
//! assert_eq!(sum, 98.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod key;

mod codec;

mod cheap;
mod operands;

mod identity;

mod contexts;
mod trace;

mod cones;
mod keys;

mod cache;

mod cuts;
mod stored;

mod bake;

pub use bake::{Bake, BakeError, Fate, Part};
pub use cache::{Cache, CacheProblem, CacheStatus, Reason};
pub use key::Key;
