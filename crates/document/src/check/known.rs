//! Nodes that were checked alone, kept by all that decides what comes of it: edits of links mostly
//! touch nodes like others.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::{Type, literal};
use millstream_node::{Class, Registry, SocketType};
use serde_json::Value as Json;

use super::{Alone, AloneKind, AloneSource, check_alone};
use crate::model::{GroupDef, Input, InputValue, Node, NodeKind};
use crate::references::{Reference, references};

/// So many are kept; then it begins anew.
const KEPT: usize = 1024;

/// What [`check_alone`] made of nodes, for one registry.
///
/// Kept are nodes of node types without settings. Where what a node reads decides its types, all that
/// read the same are alike, whatever its literals; else those whose literals are numbers are kept, by
/// their bits.
#[derive(Debug, Default)]
pub struct KnownAlone {
    by_reads: HashMap<Shape, Pattern>,
    by_numbers: HashMap<Shape, Option<Alone>>,
}

/// All that decides what comes of a node.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Shape {
    node_type: Arc<str>,
    version: u32,
    is_muted: bool,
    sockets: Vec<(Arc<str>, Goes)>,
}

/// What goes into a socket.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Goes {
    Read(Type),
    /// Whatever it is.
    Literal,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    /// The bits: zeros of both signs are two numbers.
    Float(u64),
}

/// A node whose literals may be others.
#[derive(Debug)]
struct Pattern {
    alone: Alone,
    /// Which of its sources are literals of the node: the type they have to fit, and their position
    /// among what the node has.
    literals: Vec<(usize, Type, usize)>,
}

impl KnownAlone {
    /// As [`check_alone`], or what that gave before for a node like this.
    pub fn check_alone(
        &mut self,
        registry: &Registry,
        node: &Node,
        group: Option<&GroupDef>,
        type_of: impl Fn(Reference<'_>) -> Option<Type>,
    ) -> Option<Alone> {
        let Some(shape) = shape_of(node, &type_of, |_| Some(Goes::Literal)) else {
            return check_alone(registry, node, group, type_of);
        };
        if let Some(pattern) = self.by_reads.get(&shape) {
            return pattern.with_literals_of(node);
        }
        let by_numbers = shape_of(node, &type_of, number);
        if let Some(known) = by_numbers.as_ref().and_then(|shape| self.by_numbers.get(shape)) {
            return known.clone();
        }
        let alone = check_alone(registry, node, group, type_of);
        if let Some(pattern) = alone.as_ref().and_then(|alone| Pattern::of(alone, node)) {
            begin_anew_if_full(&mut self.by_reads);
            self.by_reads.insert(shape, pattern);
        } else if let Some(shape) = by_numbers {
            begin_anew_if_full(&mut self.by_numbers);
            self.by_numbers.insert(shape, alone.clone());
        }
        alone
    }
}

impl Pattern {
    /// The pattern of a node, if other literals leave all but their values as they are.
    fn of(alone: &Alone, node: &Node) -> Option<Self> {
        let AloneKind::Call(instance) = &alone.kind else { return None };
        let signature = instance.def.signature(&instance.settings).ok()?;
        // Literals say how many sources such a socket has; and what counts for later ticks decides
        // no type.
        let has_several = signature.inputs.iter().any(|socket| socket.multiple);
        if has_several || instance.class == Class::Stateful {
            return None;
        }
        let mut is_read = vec![false; signature.generics.len()];
        let mut literals = Vec::new();
        for (i, (slot, source)) in instance.inputs.iter().zip(&alone.sources).enumerate() {
            let socket = &signature.inputs[slot.socket as usize];
            match (source, socket.ty) {
                (AloneSource::Read(_), SocketType::Generic(g) | SocketType::ListOf(g)) => {
                    is_read[g as usize] = true;
                }
                (AloneSource::Read(_) | AloneSource::Wrong, SocketType::Exact(_))
                | (AloneSource::Wrong, SocketType::Generic(_) | SocketType::ListOf(_)) => {}
                (AloneSource::Literal(_), _) => {
                    // Others are defaults.
                    let at = node.inputs.iter().position(|(name, _)| **name == *socket.name);
                    literals.extend(at.map(|at| (i, slot.ty, at)));
                }
            }
        }
        let is_decided = is_read.iter().all(|is_read| *is_read);
        is_decided.then(|| Self { alone: alone.clone(), literals })
    }

    /// What comes of a node like this; `None` if a literal does not fit.
    fn with_literals_of(&self, node: &Node) -> Option<Alone> {
        let mut alone = self.alone.clone();
        for (source, ty, at) in &self.literals {
            let (_, input) = node.inputs.iter().nth(*at)?;
            let InputValue::Literal(json) = &input.value else { return None };
            alone.sources[*source] = AloneSource::Literal(literal::from_json(*ty, json).ok()?);
        }
        Some(alone)
    }
}

fn begin_anew_if_full<T>(kept: &mut HashMap<Shape, T>) {
    if kept.len() >= KEPT {
        kept.clear();
    }
}

/// What decides, if the node is of the kind that is kept.
fn shape_of(
    node: &Node,
    type_of: impl Fn(Reference<'_>) -> Option<Type>,
    literal: impl Fn(&Json) -> Option<Goes>,
) -> Option<Shape> {
    let NodeKind::Type(node_type) = &node.kind else { return None };
    if !node.set.is_empty() || node.spot.is_wrong() {
        return None;
    }
    let goes = |input: &Input| match &input.value {
        _ if input.spot.is_wrong() => None,
        InputValue::Link(_) | InputValue::Input(_) => {
            references(input).next().and_then(&type_of).map(Goes::Read)
        }
        InputValue::Literal(json) => literal(json),
        InputValue::Several(_) => None,
    };
    let sockets = node.inputs.iter();
    let sockets = sockets.map(|(socket, input)| Some((Arc::clone(socket), goes(input)?)));
    Some(Shape {
        node_type: Arc::clone(node_type),
        version: node.version,
        is_muted: node.muted,
        sockets: sockets.collect::<Option<_>>()?,
    })
}

fn number(json: &Json) -> Option<Goes> {
    match json {
        Json::Bool(value) => Some(Goes::Bool(*value)),
        Json::Number(number) => {
            let whole = number.as_i64().map(Goes::Signed);
            let large = || number.as_u64().map(Goes::Unsigned);
            let float = || number.as_f64().map(|x| Goes::Float(x.to_bits()));
            whole.or_else(large).or_else(float)
        }
        Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use millstream_base::Value;

    use super::*;
    use crate::model::Link;
    use crate::test_registry::registry;

    fn node(ty: &str, a: InputValue, b: InputValue) -> Node {
        let mut node = Node::new(NodeKind::Type(ty.into()));
        node.inputs.insert("a", a.into());
        node.inputs.insert("b", b.into());
        node
    }

    fn link(name: &str) -> InputValue {
        InputValue::Link(Link::new(name, "value"))
    }

    /// The literal that goes into the second slot.
    fn second(alone: Option<Alone>) -> Value {
        match &alone.expect("it is right").sources[1] {
            AloneSource::Literal(value) => value.clone(),
            AloneSource::Read(_) | AloneSource::Wrong => panic!("it is a literal"),
        }
    }

    #[test]
    fn nodes_alike_share_what_comes_of_them_and_others_do_not() {
        let registry = registry();
        let mut known = KnownAlone::default();
        let mut check =
            |node: &Node, ty: Type| known.check_alone(&registry, node, None, |_| Some(ty));
        let instance = |alone: Option<Alone>| match alone.expect("it is right").kind {
            AloneKind::Call(instance) => instance,
            AloneKind::Group | AloneKind::Repeat | AloneKind::Muted(_) => panic!("it is a call"),
        };
        let first = instance(check(&node("math.add", link("x"), link("y")), Type::F32));
        let alike = instance(check(&node("math.add", link("z"), link("x")), Type::F32));
        assert!(Arc::ptr_eq(&first, &alike));
        let wider = instance(check(&node("math.add", link("z"), link("x")), Type::F64));
        assert!(!wider.does_same(&first));
        let mut root = Node::new(NodeKind::Type("math.sqrt".into()));
        root.inputs.insert("x", link("x").into());
        assert_eq!(instance(check(&root, Type::F32)).name(), "math.sqrt");
        let mut muted = node("math.add", link("x"), link("y"));
        muted.muted = true;
        let muted = check(&muted, Type::F32).expect("it is right");
        assert!(matches!(muted.kind, AloneKind::Muted(_)));
    }

    #[test]
    fn literals_are_told_apart_to_the_bit() {
        let registry = registry();
        let mut known = KnownAlone::default();
        for literal in ["0.0", "-0.0", "0", "1", "1.5", "0.0", "-0.0"] {
            let json: Json = serde_json::from_str(literal).expect("it is JSON");
            for first in [link("x"), InputValue::Literal(Box::new(2.into()))] {
                let node = node("math.add", first, InputValue::Literal(Box::new(json.clone())));
                let type_of = |_: Reference<'_>| Some(Type::F32);
                let found = second(known.check_alone(&registry, &node, None, type_of));
                let expected = second(check_alone(&registry, &node, None, type_of));
                assert_eq!(found.ty(), expected.ty(), "{literal}");
                assert_eq!(found.lane(0), expected.lane(0), "{literal}");
            }
        }
        assert_eq!(known.by_reads.len(), 1, "the link says what type it is");
        assert_eq!(known.by_numbers.len(), 5, "the number says what type it is");
    }

    #[test]
    fn literals_that_do_not_fit_are_wrong_and_others_behind_them_are_not() {
        let registry = registry();
        let mut known = KnownAlone::default();
        for literal in ["1.5", "2", "\"two\"", "[1]", "3", "1e300", "null", "4"] {
            let json: Json = serde_json::from_str(literal).expect("it is JSON");
            for ty in [Type::I32, Type::F32, Type::VEC3] {
                let node = node("math.add", link("x"), InputValue::Literal(Box::new(json.clone())));
                let found = known.check_alone(&registry, &node, None, |_| Some(ty));
                let expected = check_alone(&registry, &node, None, |_| Some(ty));
                assert_eq!(found.is_some(), expected.is_some(), "{literal} as {ty}");
                if found.is_some() {
                    let (found, expected) = (second(found), second(expected));
                    assert_eq!(found.lane(0), expected.lane(0), "{literal} as {ty}");
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_stays_so() {
        let registry = registry();
        let mut known = KnownAlone::default();
        let mut add = node("math.add", link("x"), link("y"));
        add.inputs.insert("c", link("z").into());
        for _ in 0..2 {
            assert!(known.check_alone(&registry, &add, None, |_| Some(Type::F32)).is_none());
        }
        let unknown = node("math.add", link("x"), link("y"));
        assert!(known.check_alone(&registry, &unknown, None, |_| None).is_none());
        assert!(known.check_alone(&registry, &unknown, None, |_| Some(Type::F32)).is_some());
    }

    #[test]
    fn no_more_are_kept_than_that() {
        let registry = registry();
        let mut known = KnownAlone::default();
        for i in 0..2 * KEPT + 7 {
            let node = node(
                "math.add",
                InputValue::Literal(Box::new(1.into())),
                InputValue::Literal(Box::new(i.into())),
            );
            let found = known.check_alone(&registry, &node, None, |_| Some(Type::F32));
            assert!(found.is_some());
            assert!(known.by_numbers.len() <= KEPT);
        }
    }
}
