//! Links between types that do not convert, with a suggestion for a node that converts them.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::convert::convertible;
use millstream_node::explicit::explicit_conversions;
use millstream_node::zone::Sockets;
use millstream_node::{Interface, Registry};

use serde_json::Value as Json;

use super::error::CheckError;
use super::links::socket_at;
use super::spots::{as_call, nested, spot_of_literal};
use super::types::{NodeDefs, Typing};
use crate::at::Part;
use crate::model::{Form, Input, InputValue, Link, Named, Node};
use crate::problems::shortened;
use crate::spot::Spot;

impl Typing<'_, '_> {
    /// Reports a list where one item of it is expected.
    pub(super) fn report_list(&mut self, node: u32, socket: &str, json: &Json) {
        let (name, def) = self.named_node(node);
        let at = self.at.part(Part::Node(name));
        let span = def.inputs.get(socket).map_or(def.spot, |input| spot_of_literal(input, json));
        let found = shortened(&json.to_string());
        let items = match self.shapes.form() {
            Form::Text => format!("`several {found}`"),
            Form::Json => "`[{ \"value\": ... }, ...]`".into(),
        };
        let error = CheckError::ListAsItem { found, items };
        self.problems.report(socket_at(at, socket), span.span(), &error);
    }
}

/// The maximum number of nodes that a message names.
const MAX_NAMED: usize = 3;

/// The error for a value of type `from` linked to a socket that takes only `to`, or one of several
/// types.
pub(super) fn mismatch(
    (registry, form): (&Registry, Form),
    source_name: String,
    from: Type,
    to: &[Type],
    target: String,
) -> CheckError {
    let explicit = explicit_conversions(registry, from, to, MAX_NAMED);
    let implicit: Vec<String> = Type::BUILT_IN
        .into_iter()
        .filter(|other| to.iter().any(|to| convertible(*other, *to)))
        .map(|other| format!("`{other}`"))
        .collect();
    let takes = takes(to);
    let of_closures = match to {
        [only] => Interface::of(from).zip(Interface::of(*only)),
        _ => None,
    };
    let hint = if let Some((from, to)) = of_closures {
        difference(from, to)
    } else if !explicit.is_empty() {
        let named: Vec<String> = explicit
            .iter()
            .map(|explicit| form.of(explicit.to_string(), format!("{explicit:#}")))
            .collect();
        format!("insert a node that converts: {}", named.join(", or "))
    } else if implicit.len() > 1 {
        format!("types that convert to it: {}", implicit.join(", "))
    } else {
        format!("link something of type {takes}")
    };
    CheckError::TypeMismatch { source_name, from, target, takes, hint }
}

/// How to make a closure one of another interface.
fn difference(from: &Interface, to: &Interface) -> String {
    let lacks = |sockets: &Sockets, socket: &(Arc<str>, Type)| !sockets.contains(socket);
    let input = to.inputs.iter().find(|input| lacks(&from.inputs, input));
    if let Some((name, ty)) = input {
        return format!("its group needs the input `{name}: {ty}`, left free");
    }
    let more = from.inputs.iter().find(|(name, _)| !to.inputs.iter().any(|it| it.0 == *name));
    if let Some((name, _)) = more {
        return format!("give `{name}` a value where the closure is made: then it is a capture");
    }
    match to.outputs.iter().find(|output| lacks(&from.outputs, output)) {
        Some((name, ty)) => format!("its group needs the output `{name}: {ty}`"),
        None => "its group has more outputs than that".into(),
    }
}

fn takes(to: &[Type]) -> String {
    match to {
        [only] => only.with_article(),
        _ => {
            let names: Vec<&str> = to.iter().map(|ty| ty.name()).collect();
            format!("one of {}", names.join(", "))
        }
    }
}

impl Typing<'_, '_> {
    /// The name of a source in messages.
    pub(super) fn described(&self, source: &Input) -> String {
        let nodes = match self.defs {
            NodeDefs::Body(nodes) => Some(nodes),
            NodeDefs::One(_) => None,
        };
        describe(source, nodes, self.shapes.registry())
    }
}

/// The name of a source in messages.
pub(super) fn describe(source: &Input, nodes: Option<&Named<Node>>, registry: &Registry) -> String {
    match &source.value {
        InputValue::Link(link) => describe_link(link, source.spot, nodes, registry),
        InputValue::Input(name) => format!("input `{name}`"),
        InputValue::Literal(_) | InputValue::Several(_) => "the literal".into(),
    }
}

/// The name of a link in messages. A node that is written in its place is told as it is written.
pub(super) fn describe_link(
    link: &Link,
    spot: Spot,
    nodes: Option<&Named<Node>>,
    registry: &Registry,
) -> String {
    match nodes.and_then(|nodes| nested(link, spot, nodes)) {
        Some(node) => format!("`{}`", as_call(node, registry)),
        None => format!("`{link}`"),
    }
}
