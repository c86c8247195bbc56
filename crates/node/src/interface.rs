//! The types of closures, and the node types that make and call them.
//!
//! A closure is a group as a value. Its type is its *interface*: the inputs that a call passes and
//! the outputs, written `closure<p: vec3, t: f32 -> color>`. A single output called `value` is
//! written by its type alone. The order of names does not matter. No closure exists at run time:
//! checking a document replaces each call by the group.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_base::Type;
use rustc_hash::FxHashMap;

use crate::node_def::NodeDef;
use crate::settings::{SettingError, SettingKind, SettingValue, Settings};
use crate::signature::{Among, Default, OutputSocket, Signature, Socket, SocketType};
use crate::zone::Sockets;

/// The type of nodes that make a closure, as documents write it.
pub const CLOSURE: &str = "closure";

/// The type of nodes that call a closure.
pub const CALL: &str = "call";

/// The socket of a call that takes the closure.
pub const CALLED: &str = "closure";

/// The output of a node that makes a closure.
pub const VALUE: &str = "value";

/// The inputs that a call passes to a closure, and the outputs that it receives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interface {
    /// Names and types of the inputs, by name.
    pub inputs: Sockets,
    /// Names and types of the outputs, by name.
    pub outputs: Sockets,
}

/// Maximal length of the text of a type.
const MAX_TEXT: usize = 1024;

/// Maximal number of interfaces in a process; their types are never freed.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(Default)]
struct Known {
    types: FxHashMap<&'static Interface, Type>,
    interfaces: FxHashMap<Type, &'static Interface>,
}

// The lock guards a table that only grows and is read while documents are checked, never during an
// evaluation.
static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

impl Interface {
    /// The interface of these inputs and outputs; `None` if names occur twice or cannot be written
    /// in a type, if an input has the name of the socket of calls, or if there are no outputs.
    pub fn new(mut inputs: Sockets, mut outputs: Sockets) -> Option<Self> {
        let is_plain =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        for sockets in [&mut inputs, &mut outputs] {
            sockets.sort_by(|a, b| a.0.cmp(&b.0));
            let is_twice = sockets.windows(2).any(|pair| pair[0].0 == pair[1].0);
            if is_twice || !sockets.iter().all(|(name, _)| is_plain(name)) {
                return None;
            }
        }
        let is_taken = inputs.iter().any(|(name, _)| **name == *CALLED);
        (!outputs.is_empty() && !is_taken).then_some(Self { inputs, outputs })
    }

    /// The type of closures with this interface; `None` if its text is too long, or if there are
    /// too many types.
    pub fn ty(self) -> Option<Type> {
        let name = self.text();
        if name.len() > MAX_TEXT {
            return None;
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(Known::default);
        if let Some(ty) = known.types.get(&self) {
            return Some(*ty);
        }
        if known.types.len() >= MAX_INTERFACES {
            return None;
        }
        let interface: &'static Self = Box::leak(Box::new(self));
        let ty = Type::of_compiler(name);
        known.types.insert(interface, ty);
        known.interfaces.insert(ty, interface);
        Some(ty)
    }

    /// The interface of closures of this type; `None` if it is another type.
    pub fn of(ty: Type) -> Option<&'static Self> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref()?.interfaces.get(&ty).copied()
    }

    fn text(&self) -> String {
        let mut text = String::from("closure<");
        let mut between = "";
        for (name, ty) in &self.inputs {
            write!(text, "{between}{name}: {ty}").expect("strings take all text");
            between = ", ";
        }
        text.push_str(if self.inputs.is_empty() { "-> " } else { " -> " });
        if let [(name, ty)] = &self.outputs[..]
            && **name == *VALUE
        {
            text.push_str(ty.name());
        } else {
            between = "";
            for (name, ty) in &self.outputs {
                write!(text, "{between}{name}: {ty}").expect("strings take all text");
                between = ", ";
            }
        }
        text.push('>');
        text
    }
}

/// Whether values of a type are closures, or lists of them.
pub fn holds_closures(mut ty: Type) -> bool {
    while let Some(element) = ty.element() {
        ty = element;
    }
    Interface::of(ty).is_some()
}

/// The closure type with this text; `named` finds the types in it. `None` if it is not the text of
/// a closure type.
pub fn closure_type(text: &str, named: &dyn Fn(&str) -> Option<Type>) -> Option<Type> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let inside = text.strip_prefix("closure<")?.strip_suffix('>')?;
    let (mut inputs, mut outputs, mut arrow) = (Vec::new(), Vec::new(), false);
    for part in parts(inside)? {
        let (side, part) = match part {
            Piece::Arrow if arrow => return None,
            Piece::Arrow => {
                arrow = true;
                continue;
            }
            Piece::Socket(part) => (if arrow { &mut outputs } else { &mut inputs }, part.trim()),
        };
        let name_end = part.find(|c: char| !c.is_alphanumeric() && c != '_');
        let name = part[..name_end.unwrap_or(part.len())].trim();
        match part[name.len()..].trim_start().strip_prefix(':') {
            Some(ty) => side.push((Arc::from(name), named(ty.trim())?)),
            None if arrow => side.push((Arc::from(VALUE), named(part)?)),
            None => return None,
        }
    }
    arrow.then(|| Interface::new(inputs, outputs))??.ty()
}

enum Piece<'t> {
    Socket(&'t str),
    Arrow,
}

/// The sockets in the text of an interface, and the arrow between them; `None` if brackets do not
/// match or a socket is empty.
fn parts(text: &str) -> Option<Vec<Piece<'_>>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    let mut is_after_arrow = false;
    for (at, c) in text.char_indices() {
        let is_arrow = text[..at].ends_with('-');
        match c {
            '<' => depth += 1,
            '>' if is_arrow && depth > 0 => {}
            '>' if is_arrow => {
                let before = &text[start..at - 1];
                if !before.trim().is_empty() {
                    parts.push(Piece::Socket(before));
                } else if !parts.is_empty() {
                    return None;
                }
                parts.push(Piece::Arrow);
                (start, is_after_arrow) = (at + 1, true);
            }
            '>' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(Piece::Socket(&text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(Piece::Socket(&text[start..]));
    let is_empty = |part: &Piece<'_>| matches!(part, Piece::Socket(text) if text.trim().is_empty());
    (depth == 0 && is_after_arrow && !parts.iter().any(is_empty)).then_some(parts)
}

/// The node type as in the manual; its other inputs are those of the group.
pub(crate) fn closure_node() -> NodeDef {
    let refuse = |_: &crate::node_def::KernelSpec<'_>| {
        Err(SettingError::refused("group", "a `closure` is written with a group"))
    };
    let value = SocketType::Generic(0);
    let mut def = NodeDef::new(CLOSURE, "A group as a value").details(CLOSURE_DETAILS);
    def = def.generic("F", Among::Any).output(VALUE, value, "the closure").kernel(refuse);
    def
}

/// The node type as in the manual; its other inputs, and its outputs, are those of the interface.
pub(crate) fn call_node() -> NodeDef {
    let refuse = |_: &crate::node_def::KernelSpec<'_>| {
        Err(SettingError::refused("closure", "a `call` has the sockets of its closure"))
    };
    NodeDef::new(CALL, "Calls a closure")
        .details(CALL_DETAILS)
        .generic("F", Among::Any)
        .input(CALLED, SocketType::Generic(0), "the closure")
        .kernel(refuse)
}

/// The setting of a [`typed_call`].
const TYPE: &str = "type";

/// The node type of calls whose interface is known.
pub(crate) fn typed_call() -> NodeDef {
    NodeDef::new(CALL, "")
        .setting(TYPE, SettingKind::Type, None, "")
        .sockets_by_settings(|settings| {
            let known = settings.ty(TYPE).and_then(|ty| Some((ty, Interface::of(ty)?)));
            let (ty, interface) = known
                .ok_or_else(|| SettingError::refused(TYPE, "it is not the type of a closure"))?;
            let input = |(name, ty): &(Arc<str>, Type)| {
                Socket::new(name.to_string(), SocketType::Exact(*ty), Default::Required)
            };
            let output = |(name, ty): &(Arc<str>, Type)| {
                OutputSocket::new(name.to_string(), SocketType::Exact(*ty))
            };
            let called = Socket::new(CALLED, SocketType::Exact(ty), Default::Required);
            Ok(Signature {
                generics: Vec::new(),
                inputs: [called].into_iter().chain(interface.inputs.iter().map(input)).collect(),
                outputs: interface.outputs.iter().map(output).collect(),
            })
        })
        .replaced()
}

/// The settings of a typed call of closures of this type.
pub fn settings_of_call(ty: Type) -> Settings {
    Settings::default().with(TYPE, SettingValue::Type(ty))
}

const CLOSURE_DETAILS: &str = "Written with the name of a group: {\"type\": \"closure\", \
     \"group\": \"shade\"}. Inputs of the group that are written at the node are *captures*; the \
     others are the parameters of the closure, which each `call` gives. The type of the closure is \
     its interface: `closure<p: vec3, t: f32 -> color>` has the parameters `p` and `t` and one \
     output, `value`; several outputs are written with their names, `closure<x: f32 -> a: f32, b: \
     f32>`. Inputs and outputs of groups may have such types.\n\nA closure passes through links, \
     groups, `control.pass`, `control.switch` and `control.choose`, and into zones; it cannot be \
     an input or output of the document, an item of a list, or carried by a zone. There are no \
     closures at run time: each call is replaced by the nodes of the group and costs as much as \
     these. Where a switch chooses among closures, each call is a switch among calls, and only the \
     one that is taken runs.\n\nA capture is a link like any other: it is evaluated in the context \
     of the call, as an input of a group is. In a zone it is evaluated outside, once for all \
     rounds, while the group reads the context of the round.";

const CALL_DETAILS: &str = "Besides `closure` the node has the inputs and outputs of the closure \
     that is linked there; all inputs are given by name. The group runs in the context of the \
     call, and its state belongs to the call.";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<&'static str> {
        fn named(name: &str) -> Option<Type> {
            Type::named(name, |name| Type::written(name).or_else(|| closure_type(name, &named)))
        }
        named(text).map(Type::name)
    }

    #[test]
    fn types_are_written_in_one_way() {
        for (text, canonical) in [
            ("closure<p: vec3 -> f32>", "closure<p: vec3 -> f32>"),
            ("closure<p:vec3->value:f32>", "closure<p: vec3 -> f32>"),
            (
                "closure<t: f32, p: vec3 -> b: f32, a: i32>",
                "closure<p: vec3, t: f32 -> a: i32, b: f32>",
            ),
            ("closure<-> f32>", "closure<-> f32>"),
            (
                "list<closure<x: list<f32> -> list<f32>>>",
                "list<closure<x: list<f32> -> list<f32>>>",
            ),
            (
                "closure<f: closure<x: f32 -> f32> -> closure<x: f32 -> f32>>",
                "closure<f: closure<x: f32 -> f32> -> closure<x: f32 -> f32>>",
            ),
        ] {
            assert_eq!(read(text), Some(canonical), "{text}");
        }
        assert_eq!(
            read("closure<x: f32 -> f32>").map(str::as_ptr),
            read("closure< x:f32->f32 >").map(str::as_ptr)
        );
    }

    #[test]
    fn other_texts_are_no_types() {
        for text in [
            "closure",
            "closure<>",
            "closure<f32>",
            "closure<p: vec3>",
            "closure<p: vec3 ->>",
            "closure<p -> f32>",
            "closure<p: vec9 -> f32>",
            "closure<p: f32, p: f32 -> f32>",
            "closure<p: f32, -> f32>",
            "closure<-> f32 -> f32>",
            "closure<-> f32, f32>",
            "closure<: f32 -> f32>",
            "closure<x: f32 -> f32>>",
            "closure<x: list<f32 -> f32>",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&format!("closure<{}: f32 -> f32>", "x".repeat(2000))), None);
        assert!(read(&format!("{}f32{}", "closure<-> ".repeat(80), ">".repeat(80))).is_some());
    }
}
