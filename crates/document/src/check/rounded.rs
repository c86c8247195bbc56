//! Integers that become floats of 32 bits, which hold them exactly only up to 2^24.
//!
//! `check` notes this where a larger integer may arrive: from an input without a range, also through
//! arithmetic, or from a literal. Indices and counts are taken to be small.

use millstream_base::{Lane, Type};
use millstream_node::convert::CONVERT;
use millstream_node::{Instance, Kernel, Network, PartSource, SocketType};
use serde_json::Value as Json;
use smallvec::SmallVec;

use super::face::Face;
use super::links::{Given, socket_at};
use super::shapes::{NodeShape, Shape};
use super::spots::{source_at, spot_of_literal};
use super::types::{Typed, Typing};
use crate::at::Part;

/// All integers up to this size are floats of 32 bits.
const MAX_EXACT: f64 = 16_777_216.0;

/// The maximum number of sources to visit.
const MAX_VISITED: usize = 64;

/// Integers that a float of 32 bits may not hold.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(super) enum Rounding {
    /// An integer that follows from an input and becomes a float.
    #[error(
        "{source_name} gives an i32, which {target} turns into an f32, in which integers are exact \
         only up to 2^24"
    )]
    #[diagnostic(
        severity(Advice),
        code(check::rounded),
        help(
            "give the input a range, if its values are smaller; or convert it to f64 to keep them \
             exact, or to f32 if this is intended"
        )
    )]
    Input {
        /// The source of the value.
        source_name: String,
        /// The node type that reads it, or the output.
        target: String,
    },
    /// An integer literal that a float does not hold.
    #[error("{whole} becomes {rounded}, as an f32 holds integers exactly only up to 2^24")]
    #[diagnostic(
        severity(Advice),
        code(check::rounded),
        help("write the number that is meant, or use a wider type")
    )]
    Literal {
        /// The literal.
        whole: i64,
        /// The value that it becomes.
        rounded: f64,
    },
}

/// Whether the conversion may round integers.
pub(super) fn rounds(from: Type, to: Type) -> bool {
    from == Type::I32 && to.lanes().is_some_and(|(lane, _)| lane == Lane::F32)
}

/// Whether a formula turns some integer of an input into a float.
pub(super) fn rounds_in_text(instance: &Instance) -> bool {
    let has_integers = instance.inputs.iter().any(|input| input.ty == Type::I32);
    let Some(network) = instance.network.as_ref().filter(|_| has_integers) else { return false };
    (0..instance.inputs.len()).any(|input| rounds_input(instance, network, input))
}

/// Whether a formula turns an integer input into a float, without a conversion in its text.
fn rounds_input(instance: &Instance, network: &Network, input: usize) -> bool {
    let is_it = |source: &PartSource| *source == PartSource::Input(input as u32);
    let converts = |to: Type| rounds(instance.inputs[input].ty, to);
    let mut parts =
        network.parts.iter().filter(|part| !part.instance.def.name.starts_with(CONVERT));
    let in_parts = parts.any(|part| {
        let mut sources = part.sources.iter().zip(&part.instance.inputs);
        sources.any(|(source, slot)| is_it(source) && converts(slot.ty))
    });
    let mut outputs = network.outputs.iter().zip(&instance.outputs);
    in_parts || outputs.any(|(source, output)| is_it(source) && converts(output.ty))
}

/// For each input of a body, whether it may be an integer that is no float of 32 bits.
pub(super) fn large_inputs(face: &Face) -> Vec<bool> {
    let is_large = |ty: Type, min: Option<f64>, max: Option<f64>| {
        let is_small = min.is_some_and(|min| min >= -MAX_EXACT);
        ty == Type::I32 && !(is_small && max.is_some_and(|max| max <= MAX_EXACT))
    };
    let inputs = face.inputs.iter();
    inputs.map(|it| it.as_ref().is_some_and(|it| is_large(it.ty, it.min, it.max))).collect()
}

impl Typing<'_, '_> {
    /// Notes the links of a call, and the inputs of its formula, through which large integers may be
    /// rounded.
    pub(super) fn rounded(&mut self, node: u32, shape: &Shape, instance: &Instance) {
        if self.named_node(node).1.muted || *shape.def.name == *CONVERT {
            return;
        }
        let slots = self.links.of_node(node);
        let (mut socket_before, mut k) = (None, 0);
        for (at, (slot, input)) in slots.zip(&instance.inputs).enumerate() {
            k = if socket_before == Some(input.socket) { k + 1 } else { 0 };
            socket_before = Some(input.socket);
            let given = self.links.slots[slot];
            let Some(from) = self.given_type(given) else { continue };
            let in_text = || {
                let network = instance.network.as_ref();
                network.is_some_and(|network| rounds_input(instance, network, at))
            };
            if from != Type::I32
                || !(rounds(from, input.ty) || in_text())
                || !self.may_be_large(given)
                || !self.problems.takes_note()
            {
                continue;
            }
            let socket = &shape.signature.inputs[input.socket as usize].name;
            let (name, def) = self.named_node(node);
            let Some(source) = source_at(def, socket, k) else { continue };
            let note = Rounding::Input {
                source_name: self.described(source),
                target: format!("`{}`", shape.def.name),
            };
            let at = socket_at(self.at.part(Part::Node(name)), socket);
            self.problems.note(at, source.spot.span(), &note);
        }
    }

    /// Whether a source may be an integer of which the conversion changes the value.
    pub(super) fn may_be_rounded(&self, given: Given<'_>, from: Type, to: Type) -> bool {
        rounds(from, to) && self.may_be_large(given)
    }

    /// Whether a source may be an integer that is no float of 32 bits, because of an input without a
    /// range.
    fn may_be_large(&self, given: Given<'_>) -> bool {
        let mut stack = vec![given];
        let mut n_visited = 0;
        while let Some(given) = stack.pop().filter(|_| n_visited < MAX_VISITED) {
            n_visited += 1;
            match given {
                Given::Input(input) => {
                    if self.large_inputs.get(input as usize) == Some(&true) {
                        return true;
                    }
                }
                Given::Node { node, output } => stack.extend(self.integers_behind(node, output)),
                Given::Literal(_) | Given::Default | Given::Broken => {}
            }
        }
        false
    }

    /// The sources of the integers from which a node computes an output, if that is an integer.
    fn integers_behind(&self, node: u32, output: u32) -> SmallVec<[Given<'_>; 4]> {
        // Nodes outside a single one have no slots.
        let slots = || self.links.of_node(node);
        let is_integer = |given: &Given<'_>| self.given_type(*given) == Some(Type::I32);
        match self.nodes[node as usize] {
            Typed::Call(entry) => {
                let instance = &self.instances.entry(entry).instance;
                let computes = matches!(instance.kernel, Kernel::Form(_) | Kernel::Choose);
                let is_formula = instance.network.is_some();
                let NodeShape::Def(shape) = self.node_shapes[node as usize] else {
                    return SmallVec::new();
                };
                if instance.outputs[output as usize].ty != Type::I32 || !(computes || is_formula) {
                    return SmallVec::new();
                }
                let sockets = &self.shapes.get(shape).signature.inputs;
                let read = slots().zip(&instance.inputs).filter(|(_, input)| {
                    let ty = sockets[input.socket as usize].ty;
                    input.ty == Type::I32 && (is_formula || matches!(ty, SocketType::Generic(_)))
                });
                read.map(|(slot, _)| self.links.slots[slot]).collect()
            }
            Typed::Group(group)
                if self.faces[group as usize].outputs[output as usize] == Some(Type::I32) =>
            {
                slots().map(|slot| self.links.slots[slot]).filter(is_integer).collect()
            }
            Typed::Group(_)
            | Typed::Unknown
            | Typed::Zone(_)
            | Typed::Closure { .. }
            | Typed::Partly
            | Typed::Outside(_) => SmallVec::new(),
        }
    }

    /// Notes an integer literal that is rounded to the type of its socket.
    pub(super) fn rounded_literal(&mut self, node: u32, ty: Type, socket: &str, json: &Json) {
        let Some(whole) = json.as_i64().filter(|_| rounds(Type::I32, ty)) else { return };
        let rounded = whole as f32;
        if f64::from(rounded) as i64 == whole || !self.problems.takes_note() {
            return;
        }
        let (name, def) = self.named_node(node);
        let span = def.inputs.get(socket).map_or(def.spot, |input| spot_of_literal(input, json));
        let note = Rounding::Literal { whole, rounded: f64::from(rounded) };
        self.problems.note(socket_at(self.at.part(Part::Node(name)), socket), span.span(), &note);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::tests::check_problems;

    #[test]
    fn integers_that_become_floats_are_noted_where_they_may_be_large() {
        check_problems(
            r#""outputs": { "y": { "type": "f32", "input": "k" }, "z": { "type": "f32", "input": "small" } },
            "inputs": { "k": { "type": "i32" }, "small": { "type": "i32", "min": 0, "max": 100 }, "x": { "type": "f32" } },
            "nodes": {
                "sum": { "type": "math.add", "in": { "a": { "input": "k" }, "b": { "input": "x" } } },
                "root": { "type": "math.sqrt", "in": { "x": { "input": "k" } } },
                "fine": { "type": "math.add", "in": { "a": { "input": "small" }, "b": { "input": "x" } } },
                "literal": { "type": "math.add", "in": { "a": 16777217, "b": { "input": "x" } } },
                "exact": { "type": "math.add", "in": { "a": 16777218, "b": { "input": "x" } } },
                "said": { "type": "convert", "set": { "to": "f32" }, "in": { "x": { "input": "k" } } }
            }"#,
            &expect![[r#"
                note check::rounded at "y": { "type": "f32", "input": "k" }
                    input `k` gives an i32, which output `y` turns into an f32, in which integers are exact only up to 2^24 (give the input a range, if its values are smaller; or convert it to f64 to keep them exact, or to f32 if this is intended)
                note check::rounded at "a": { "input": "k" }
                    sum.a: input `k` gives an i32, which `math.add` turns into an f32, in which integers are exact only up to 2^24 (give the input a range, if its values are smaller; or convert it to f64 to keep them exact, or to f32 if this is intended)
                note check::rounded at "x": { "input": "k" }
                    root.x: input `k` gives an i32, which `math.sqrt` turns into an f32, in which integers are exact only up to 2^24 (give the input a range, if its values are smaller; or convert it to f64 to keep them exact, or to f32 if this is intended)
                note check::rounded at "a": 16777217
                    literal.a: 16777217 becomes 16777216, as an f32 holds integers exactly only up to 2^24 (write the number that is meant, or use a wider type)
            "#]],
        );
    }
}
