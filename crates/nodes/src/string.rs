//! Strings: joining, cutting, searching, reading and writing numbers.
//!
//! Strings are sequences of Unicode characters (scalar values); positions and lengths count those.
//! Nothing is normalized: an accent written as a separate character stays separate. The length of a
//! string is checked against the limits before it is built.

mod alike;
mod build;
mod format;
mod lists;
mod number;
mod parts;
#[cfg(test)]
mod parts_tests;
mod query;
mod regex;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use millstream_base::{Limits, Type};
use millstream_node::{Call, Default, Failure, NodeDef, Registry};

use crate::cells::Cells;
use crate::each::Arguments;

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    build::register(registry);
    query::register(registry);
    number::register(registry);
    lists::register(registry);
    format::register(registry);
    parts::register(registry);
    alike::register(registry);
    regex::register(registry);
}

/// A node on strings, which are empty by default.
fn on_texts(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, &'static str)],
) -> NodeDef {
    inputs.iter().fold(NodeDef::new(name, summary), |def, (name, about)| {
        def.input_or(*name, Type::STRING, Default::Zero, *about)
    })
}

/// The bytes of the strings that a call builds, counted against the limits.
#[derive(Default)]
struct Budget {
    used: usize,
}

impl Budget {
    /// Allows a string of `n` bytes for element `i`.
    fn spend(&mut self, n: usize, i: usize, limits: &Limits) -> Result<(), Failure> {
        if n > limits.list_length {
            let failure =
                Failure::limit("bytes in one string", n, limits.list_length, "list_length");
            return Err(Failure { element: Some(i), ..failure });
        }
        self.used = self.used.saturating_add(n);
        if self.used > limits.bytes {
            return Err(Failure::limit(
                "bytes in the strings of one column",
                self.used,
                limits.bytes,
                "bytes",
            ));
        }
        Ok(())
    }
}

/// The function whose output 0 is a string for each element. `n_bytes` is an upper bound of its
/// length, which is checked before `build` appends it.
fn each_text<A: Arguments>(
    n_bytes: impl for<'v> Fn(A::Of<'v>) -> usize + Send + Sync + 'static,
    build: impl for<'v> Fn(A::Of<'v>, &mut String) + Send + Sync + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    move |call| {
        let mut cells = Cells::<Arc<str>>::new(call);
        let (views, mut budget, mut text) = (A::views(call), Budget::default(), String::new());
        cells.fill(call, |i| {
            let n = n_bytes(A::of(&views, i));
            budget.spend(n, i, call.limits())?;
            text.clear();
            text.reserve(n);
            build(A::of(&views, i), &mut text);
            Ok(text.as_str().into())
        })?;
        drop(views);
        cells.put(call);
        Ok(())
    }
}

/// Passes the string of element `i` of an input to `f`.
pub fn with_text<R>(call: &Call<'_>, input: usize, i: usize, f: impl FnOnce(&str) -> R) -> R {
    call.input::<Arc<str>>(input).with(i, |text| f(text))
}
