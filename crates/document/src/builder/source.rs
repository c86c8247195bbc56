//! The sources that a socket can take in a builder.

use std::sync::Arc;

use millstream_base::{ValueType, Vec2, Vec3};
use serde_json::Value as Json;

use super::{Any, Builder, FOREIGN, In, NodeHandle, Out, literal_of};
use crate::model::{InputValue, Link, OutputFrom};

/// A source of type `T`: a handle or a literal.
pub trait Source<T> {
    /// The source in the notation of documents.
    fn input_value(self, builder: &Builder) -> InputValue;
}

/// A source of an output: an input, or an output of a node.
pub trait Linked<T> {
    /// The source in the notation of documents.
    fn linked(self, builder: &Builder) -> OutputFrom;
}

impl<T> Source<T> for In<T> {
    fn input_value(self, builder: &Builder) -> InputValue {
        InputValue::Input(self.name(builder))
    }
}

impl<T> Source<T> for Out<T> {
    fn input_value(self, builder: &Builder) -> InputValue {
        InputValue::Link(self.link(builder))
    }
}

impl<T: ValueType> Source<T> for T {
    fn input_value(self, _: &Builder) -> InputValue {
        literal_of(self)
    }
}

impl Source<Any> for Json {
    fn input_value(self, _: &Builder) -> InputValue {
        InputValue::Literal(Box::new(self))
    }
}

impl Source<Any> for Link {
    fn input_value(self, _: &Builder) -> InputValue {
        InputValue::Link(self)
    }
}

impl Source<Arc<str>> for &str {
    fn input_value(self, _: &Builder) -> InputValue {
        InputValue::Literal(Box::new(self.into()))
    }
}

macro_rules! array_source {
    ($($ty:ty: $n:literal),*) => {$(
        impl Source<$ty> for [f32; $n] {
            fn input_value(self, _: &Builder) -> InputValue {
                literal_of(<$ty>::from(self))
            }
        }
    )*};
}
array_source!(Vec2: 2, Vec3: 3);

impl<T> Linked<T> for In<T> {
    fn linked(self, builder: &Builder) -> OutputFrom {
        OutputFrom::Input(self.name(builder))
    }
}

impl<T> Linked<T> for Out<T> {
    fn linked(self, builder: &Builder) -> OutputFrom {
        OutputFrom::Link(self.link(builder))
    }
}

impl<T> In<T> {
    fn name(self, builder: &Builder) -> Arc<str> {
        assert_eq!(self.body, builder.body, "{FOREIGN}");
        let input = builder.document.inputs.get_index(self.index as usize);
        Arc::clone(input.expect("inputs are not removed").0)
    }
}

impl<T> Out<T> {
    fn link(self, builder: &Builder) -> Link {
        Link { node: self.node.name(builder), output: self.output.into() }
    }
}

impl NodeHandle {
    fn name(self, builder: &Builder) -> Arc<str> {
        assert_eq!(self.body, builder.body, "{FOREIGN}");
        let node = builder.document.nodes.get_index(self.index as usize);
        Arc::clone(node.expect("nodes are not removed").0)
    }
}
