//! Nodes that were checked alone, kept by all that decides what comes of it: edits of links mostly
//! touch nodes like others.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::Type;
use millstream_kernel::Registry;
use serde_json::Value as Json;

use super::{Alone, check_alone};
use crate::edit::{Reference, references};
use crate::model::{GroupDef, Input, InputValue, Node, NodeKind};

/// So many are kept; then it begins anew.
const KEPT: usize = 1024;

/// What [`check_alone`] made of nodes, for one registry.
///
/// Kept are nodes of node types without settings, whose sockets read something or have numbers.
#[derive(Debug, Default)]
pub struct KnownAlone {
    by_shape: HashMap<Shape, Option<Alone>>,
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
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    /// The bits: zeros of both signs are two numbers.
    Float(u64),
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
        let Some(shape) = shape_of(node, &type_of) else {
            return check_alone(registry, node, group, type_of);
        };
        if let Some(known) = self.by_shape.get(&shape) {
            return known.clone();
        }
        let alone = check_alone(registry, node, group, type_of);
        if self.by_shape.len() >= KEPT {
            self.by_shape.clear();
        }
        self.by_shape.insert(shape, alone.clone());
        alone
    }
}

/// What decides, if the node is of the kind that is kept.
fn shape_of(node: &Node, type_of: impl Fn(Reference<'_>) -> Option<Type>) -> Option<Shape> {
    let NodeKind::Type(node_type) = &node.kind else { return None };
    if !node.set.is_empty() || node.spot.is_wrong() {
        return None;
    }
    let sockets = node.inputs.iter().map(|(socket, input)| {
        let goes = goes(input, &type_of)?;
        Some((Arc::clone(socket), goes))
    });
    Some(Shape {
        node_type: Arc::clone(node_type),
        version: node.version,
        is_muted: node.muted,
        sockets: sockets.collect::<Option<_>>()?,
    })
}

fn goes(input: &Input, type_of: impl Fn(Reference<'_>) -> Option<Type>) -> Option<Goes> {
    if input.spot.is_wrong() {
        return None;
    }
    match &input.value {
        InputValue::Link(_) | InputValue::Input(_) => {
            references(input).next().and_then(type_of).map(Goes::Read)
        }
        InputValue::Literal(Json::Bool(value)) => Some(Goes::Bool(*value)),
        InputValue::Literal(Json::Number(number)) => {
            let whole = number.as_i64().map(Goes::Signed);
            let large = || number.as_u64().map(Goes::Unsigned);
            let float = || number.as_f64().map(|x| Goes::Float(x.to_bits()));
            whole.or_else(large).or_else(float)
        }
        InputValue::Literal(_) | InputValue::Several(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use millstream_base::Value;

    use super::*;
    use crate::check::{AloneKind, AloneSource};
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
            AloneSource::Read(_) => panic!("it is a literal"),
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
            let node = node("math.add", link("x"), InputValue::Literal(json));
            let type_of = |_: Reference<'_>| Some(Type::F32);
            let found = second(known.check_alone(&registry, &node, None, type_of));
            let expected = second(check_alone(&registry, &node, None, type_of));
            assert_eq!(found.lane(0), expected.lane(0), "{literal}");
        }
        assert_eq!(known.by_shape.len(), 5);
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
            let node = node("math.add", link("x"), InputValue::Literal(i.into()));
            let found = known.check_alone(&registry, &node, None, |_| Some(Type::F32));
            assert_eq!(second(found).get::<f32>(), Some(i as f32));
            assert!(known.by_shape.len() <= KEPT);
        }
    }
}
