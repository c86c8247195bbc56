//! Support for the tests of several crates: a model of the meaning, generated graphs, and the suite
//! that every evaluator passes.

pub mod agreement;
pub mod custom;
pub mod generate;
pub mod graphs;
pub mod naive;
pub mod plans;
pub mod sketch;
