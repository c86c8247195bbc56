//! Tests of the node library as a whole: they apply to every registered node type, and compare the
//! numeric ones with known values.

#![expect(clippy::unwrap_used, reason = "a test may end where an expectation fails")]

mod accuracy;
mod bits;
mod cases;
mod columns;
mod convert_cases;
mod explicit;
mod integer_cases;
mod laws;
mod library;
mod manual;
mod math_cases;
mod mix_cases;
mod run;
mod wide;

/// The node types that the tests go through.
fn registry() -> millstream_node::Registry {
    millstream_nodes::registry()
}
