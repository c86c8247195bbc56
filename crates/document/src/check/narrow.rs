//! Links that narrow their values: `check` notes them, and documents of format 1 need a conversion
//! if only the rule of that format narrows.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::convert::{convertible, narrows};
use millstream_node::signature::{Among, SocketType, Widths};
use millstream_node::{NarrowedText, Network};

use super::error::CheckError;
use super::links::socket_at;
use super::shapes::Shape;
use super::spots::source_at;
use super::types::Typing;
use crate::at::Part;
use crate::upgrade::Conversion;

impl Typing<'_, '_> {
    /// Reports a link whose type does not convert to that of its socket, or is narrowed by it.
    pub(super) fn check_link(
        &mut self,
        node: u32,
        socket: &str,
        k: usize,
        from: Type,
        to: Type,
        of: impl FnOnce() -> String,
    ) {
        if !convertible(from, to) {
            self.mismatch(node, socket, k, from, (&[to], of()));
        } else if narrows(from, to) && self.problems.takes_note() {
            let (name, def) = self.named_node(node);
            let at = socket_at(self.at.part(Part::Node(name)), socket);
            let Some(source) = source_at(def, socket, k) else { return };
            let source_name = self.described(source);
            let form = self.shapes.form();
            let note = CheckError::Narrowed { form, source_name, from, target: of(), to };
            self.problems.note(at, source.spot.span(), &note);
        }
    }

    /// Whether a socket that format 1 turns into `f32` takes any type in the newest format.
    pub(super) fn is_made_new(&self, shape: &Shape, socket: SocketType) -> bool {
        let SocketType::Generic(g) = socket else { return false };
        self.widths == Widths::First && shape.signature.generics[usize::from(g)].among == Among::Own
    }

    /// Notes the parts of a formula that are narrowed.
    pub(super) fn narrowed_in_text(&mut self, node: u32, network: &Network) {
        for NarrowedText { setting, start, end, from, to } in network.narrowed.iter().copied() {
            if !self.problems.takes_note() {
                continue;
            }
            let (name, def) = self.named_node(node);
            let setting = def.set.get(setting);
            let place = setting.map(|it| {
                let place = it.part(start as usize, end as usize);
                place.unwrap_or(it.spot.span())
            });
            let hint = if to == Type::F32 {
                "write `f32(...)` around it if this is intended"
            } else {
                "its alpha is lost; write `.rgb` after it if this is intended"
            };
            let note = CheckError::NarrowedInFormula { from, to, hint };
            let at = self.at.part(Part::Node(name));
            self.problems.note(at, place.unwrap_or(def.spot.span()), &note);
        }
    }

    /// Notes the narrowing links of a call, and collects those that the newest format would not
    /// narrow.
    pub(super) fn narrowed(&mut self, node: u32, shape: &Shape, entry: u32) {
        let instance = Arc::clone(&self.instances.entry(entry).instance);
        let is_muted = self.named_node(node).1.muted;
        if let Some(network) = instance.network.as_ref().filter(|_| !is_muted) {
            self.narrowed_in_text(node, network);
        }
        self.rounded(node, shape, &instance);
        let newest = match self.widths {
            Widths::Kept => None,
            Widths::First => {
                let arities = self.arities(node, shape);
                shape.signature.resolve(&self.facts(node, shape, &arities).facts).ok()
            }
        };
        let slots = self.links.of_node(node);
        let mut socket_before = None;
        let mut k = 0;
        for (slot, input) in slots.zip(&instance.inputs) {
            k = if socket_before == Some(input.socket) { k + 1 } else { 0 };
            socket_before = Some(input.socket);
            let from = self.given_type(self.links.slots[slot]);
            let Some(from) = from.filter(|_| !self.links.is_delayed(slot)) else { continue };
            let socket = &shape.signature.inputs[input.socket as usize];
            let is_new = self.is_made_new(shape, socket.ty) && from != input.ty;
            if !narrows(from, input.ty) && !is_new {
                continue;
            }
            let is_old = match (socket.ty, &newest) {
                (SocketType::Generic(g), Some(newest)) => {
                    newest[usize::from(g)] != instance.generics[usize::from(g)]
                }
                (SocketType::Exact(_) | SocketType::ListOf(_) | SocketType::Made, _)
                | (_, None) => false,
            };
            if is_old {
                self.conversions.push(Conversion {
                    group: self.at.group.into(),
                    node: self.named_node(node).0.into(),
                    socket: (*socket.name).into(),
                    source: k,
                    to: input.ty,
                });
            }
            let of = || format!("input `{}` of `{}`", socket.name, shape.def.name);
            self.check_link(node, &socket.name, k, from, input.ty, of);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::tests::check_problems;
    use crate::test_registry::opened;

    #[test]
    fn narrowing_links_are_noted() {
        check_problems(
            r#""inputs": { "wide": { "type": "f64" }, "single": { "type": "f32" }, "c": { "type": "color" } },
            "outputs": { "y": { "type": "f32", "from": "sum.value" }, "z": { "type": "vec3", "input": "c" } },
            "nodes": {
                "sum": { "type": "math.add", "in": { "a": { "input": "wide" }, "b": { "input": "single" } } },
                "root": { "type": "math.sqrt", "in": { "x": { "from": "sum.value" } } },
                "last": { "type": "state.last", "in": { "value": { "from": "sum.value" } } },
                "said": { "type": "convert", "set": { "to": "f32" }, "in": { "x": { "input": "wide" } } },
                "far": { "type": "vector.distance", "in": { "a": { "input": "c" }, "b": [0, 0, 0] } },
                "g": { "type": "group", "group": "g", "in": { "x": { "input": "wide" } } }
            },
            "groups": { "g": { "inputs": { "x": { "type": "f32" } }, "outputs": { "x": { "type": "f32", "input": "x" } } } }"#,
            &expect![[r#"
                note check::narrowed at "y": { "type": "f32", "from": "sum.value" }
                    `sum.value` gives an f64, which output `y` narrows to an f32 (insert a `convert` node with "to": "f32" if this is intended)
                note check::narrowed at "z": { "type": "vec3", "input": "c" }
                    input `c` gives a color, which output `z` narrows to a vec3 (insert a `convert` node with "to": "vec3" if this is intended)
                note check::narrowed at "x": { "from": "sum.value" }
                    root.x: `sum.value` gives an f64, which input `x` of `math.sqrt` narrows to an f32 (insert a `convert` node with "to": "f32" if this is intended)
                note check::narrowed at "value": { "from": "sum.value" }
                    last.value: `sum.value` gives an f64, which input `value` of `state.last` narrows to an f32 (insert a `convert` node with "to": "f32" if this is intended)
                note check::narrowed at "a": { "input": "c" }
                    far.a: input `c` gives a color, which input `a` of `vector.distance` narrows to a vec3 (insert a `convert` node with "to": "vec3" if this is intended)
                note check::narrowed at "x": { "input": "wide" }
                    g.x: input `wide` gives an f64, which input `x` of the group narrows to an f32 (insert a `convert` node with "to": "f32" if this is intended)
            "#]],
        );
    }

    #[test]
    fn notes_do_not_displace_problems() {
        let node = |i: usize| {
            format!(r#""n{i}": {{ "type": "math.sqrt", "in": {{ "x": {{ "input": "w" }} }} }}"#)
        };
        let nodes: Vec<String> = (0..1200).map(node).collect();
        let text = format!(
            r#"{{ "millstream": 2, "inputs": {{ "w": {{ "type": "f64" }} }}, "nodes": {{ {},
                "wrong": {{ "type": "math.sqrt", "in": {{ "y": 1 }} }} }} }}"#,
            nodes.join(",\n"),
        );
        let (_, problems) = opened(&text);
        assert!(problems.has_errors());
        let n_notes = problems.iter().filter(|it| it.code == "check::narrowed").count();
        assert_eq!(n_notes, 100);
        assert!(problems.iter().any(|it| it.message == "1100 more notes"), "{problems}");
    }
}
