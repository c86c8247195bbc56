//! The node library: one module per family, all collected in one [`Registry`].
//!
//! A node is a [`NodeDef`](millstream_node::NodeDef) with its manual entry. Numeric element-wise
//! nodes are defined by a kernel form and nothing else; all others are functions over columns. This
//! crate knows neither the compiler nor the evaluators.

mod cells;
mod each;
mod known;
mod missing;
mod shape;
mod sort;

pub mod manual;

pub mod expression;
pub mod math;

pub mod boolean;
pub mod compare;
pub mod integer;

pub mod convert;
pub mod mix;
pub mod noise;

pub mod color;
pub mod context;
pub mod control;
pub mod curve;
pub mod date;
pub mod footprint;
pub mod image;
pub mod list;
pub mod mesh;
pub mod pattern;
pub mod random;
pub mod reduce;
pub mod sdf;
pub mod stateful;
pub mod string;
pub mod table;
pub mod vector;

mod synonyms;

pub mod kit;

#[cfg(test)]
mod accuracy_tests;
#[cfg(test)]
mod example_tests;

use millstream_node::Registry;

pub use synonyms::synonyms;

/// A registry of all node types of the library.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    math::register(&mut registry);
    integer::register(&mut registry);
    boolean::register(&mut registry);
    compare::register(&mut registry);
    convert::register(&mut registry);
    mix::register(&mut registry);
    noise::register(&mut registry);
    color::register(&mut registry);
    context::register(&mut registry);
    footprint::register(&mut registry);
    control::register(&mut registry);
    curve::register(&mut registry);
    date::register(&mut registry);
    list::register(&mut registry);
    mesh::register(&mut registry);
    random::register(&mut registry);
    reduce::register(&mut registry);
    pattern::register(&mut registry);
    sdf::register(&mut registry);
    stateful::register(&mut registry);
    string::register(&mut registry);
    table::register(&mut registry);
    vector::register(&mut registry);
    image::register(&mut registry);
    // Last: it calls the others.
    expression::register(&mut registry);
    registry.add_synonyms(synonyms());
    registry
}
