//! Sockets: names, types, defaults, and what node types declare about them.

use std::borrow::Cow;

use super::{Default, SocketType};
use crate::scope::ScopeRule;

/// An input socket.
#[derive(Clone, Debug)]
pub struct Socket {
    /// The key under `in`.
    pub name: Cow<'static, str>,
    /// The type of the values.
    pub ty: SocketType,
    /// The value if none is given.
    pub default: Default,
    /// Whether the socket takes any number of sources, in order.
    pub multiple: bool,
    /// Whether the kernel may overwrite the buffer and return it.
    pub mutable: bool,
    /// Whether it is computed only where the callback of the node asks for it.
    pub lazy: bool,
    /// The changes of the context for the source.
    pub scope: Vec<ScopeRule>,
    /// The line in the manual.
    pub about: Cow<'static, str>,
}

/// An output socket.
#[derive(Clone, Debug)]
pub struct OutputSocket {
    /// The name after the dot in a link.
    pub name: Cow<'static, str>,
    /// The type.
    pub ty: SocketType,
    /// The line in the manual.
    pub about: Cow<'static, str>,
    /// The names of the inputs on which it depends, if not on all.
    pub needs: Option<&'static [&'static str]>,
}

impl Socket {
    /// An input socket that takes one source.
    pub fn new(name: impl Into<Cow<'static, str>>, ty: SocketType, default: Default) -> Self {
        Self {
            name: name.into(),
            ty,
            default,
            multiple: false,
            mutable: false,
            lazy: false,
            scope: Vec::new(),
            about: "".into(),
        }
    }
}

impl OutputSocket {
    /// An output socket that depends on all inputs.
    pub fn new(name: impl Into<Cow<'static, str>>, ty: SocketType) -> Self {
        Self { name: name.into(), ty, about: "".into(), needs: None }
    }
}
