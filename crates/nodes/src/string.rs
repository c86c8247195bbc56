//! Texts: joining, cutting, searching, reading and writing numbers.
//!
//! Texts are sequences of Unicode characters (scalar values); positions and lengths count those.
//! Nothing is normalized: an accent written as a separate character stays separate. The length of a
//! text is checked against the limits before it is built.

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

use millstream_base::{Limits, Type, ValueType};
use millstream_node::{Call, Default, Failure, Kernel, NodeDef, Registry};

use crate::cells::{Cells, function};

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

/// A node on texts, which are empty by default.
fn on_texts(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, &'static str)],
) -> NodeDef {
    inputs.iter().fold(NodeDef::new(name, summary), |def, (name, about)| {
        def.input(*name, Type::STRING, *about).or(Default::Zero)
    })
}

/// The kernel that applies `f` to a text.
fn of_one<R: ValueType>(f: impl Fn(&str) -> R + Send + Sync + 'static) -> Kernel {
    function(move |call| {
        let mut cells = Cells::new(call);
        let texts = call.input::<Arc<str>>(0);
        cells.fill(call, |i| Ok(texts.with(i, |text| f(text))))?;
        cells.put(call);
        Ok(())
    })
}

/// The kernel that applies `f` to two texts.
fn of_two<R: ValueType>(f: impl Fn(&str, &str) -> R + Send + Sync + 'static) -> Kernel {
    function(move |call| {
        let mut cells = Cells::new(call);
        let (first, second) = (call.input::<Arc<str>>(0), call.input::<Arc<str>>(1));
        cells.fill(call, |i| Ok(first.with(i, |a| second.with(i, |b| f(a, b)))))?;
        cells.put(call);
        Ok(())
    })
}

/// The bytes of the texts that a call builds, counted against the limits.
#[derive(Default)]
struct Budget {
    used: usize,
}

impl Budget {
    /// Allows a text of `n` bytes for element `i`.
    fn spend(&mut self, n: usize, i: usize, limits: &Limits) -> Result<(), Failure> {
        if n > limits.list_length {
            let failure = Failure::limit("bytes in one text", n, limits.list_length, "list_length");
            return Err(Failure { element: Some(i), ..failure });
        }
        self.used = self.used.saturating_add(n);
        if self.used > limits.bytes {
            return Err(Failure::limit(
                "bytes in the texts of one column",
                self.used,
                limits.bytes,
                "bytes",
            ));
        }
        Ok(())
    }
}

/// Sets output 0 to texts whose lengths are known before they are built.
fn built(
    call: &mut Call<'_>,
    n_bytes: impl Fn(&Call<'_>, usize) -> usize,
    build: impl Fn(&Call<'_>, usize, &mut String),
) -> Result<(), Failure> {
    let mut cells = Cells::<Arc<str>>::new(call);
    let mut budget = Budget::default();
    let mut text = String::new();
    cells.fill(call, |i| {
        let n = n_bytes(call, i);
        budget.spend(n, i, call.limits())?;
        text.clear();
        text.reserve(n);
        build(call, i, &mut text);
        Ok(text.as_str().into())
    })?;
    cells.put(call);
    Ok(())
}

/// Passes the text of element `i` of an input to `f`.
pub fn with_text<R>(call: &Call<'_>, input: usize, i: usize, f: impl FnOnce(&str) -> R) -> R {
    call.input::<Arc<str>>(input).with(i, |text| f(text))
}
