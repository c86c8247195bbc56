//! Lookups: the types and live nodes of the inputs and outputs of nodes.

use std::sync::Arc;

use millstream_base::Type;
use millstream_document::check::{SingleNode, SingleSource, zone_output};
use millstream_document::edit::{BodyKey, Reference, divided_output, reference_of, references};
use millstream_document::{Editor, Node, OutputDef};
use millstream_node::convert::convertible;
use millstream_node::{Instance, Kernel};
use millstream_run::live::NodeNumber;

use super::{Kind, Mirror, Operand, Operands, Use};

/// The target of a reference within a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Read<'e> {
    Input(&'e Arc<str>),
    Output { slot: u32, output: usize },
}

impl Mirror {
    /// A node checked with the types of its sources.
    pub(super) fn checked<'e>(
        &mut self,
        editor: &'e Editor,
        body: BodyKey,
        node: &'e Node,
    ) -> Option<SingleNode<Read<'e>>> {
        let mut checker = std::mem::take(&mut self.checker);
        let find = |reference: Reference<'e>| self.find(editor, (body, Some(node)), reference);
        let node = (node, editor.widths_in_body(body));
        let checked = checker.check(&self.registry, editor.document(), node, find);
        self.checker = checker;
        checked
    }

    /// The operand that a node or an output of a body reads, with its type; `None` if it is wrong.
    fn find<'e>(
        &self,
        editor: &Editor,
        (body, reader): (BodyKey, Option<&Node>),
        reference: Reference<'e>,
    ) -> Option<(Type, Read<'e>)> {
        match reference {
            Reference::Input(name) => {
                let def = editor.inputs_of_body(body).get(name)?;
                Some((self.registry.type_named(&def.ty)?, Read::Input(name)))
            }
            Reference::Link(link) => {
                let nodes = editor.nodes_of_body(body);
                let slot = nodes.slot_of(&link.node)?;
                let known = self.output_position(editor, body, slot, &link.output);
                let (output, ty) = match known {
                    Some(output) => (output, self.output_type(editor, body, slot, output)?),
                    None => {
                        let (_, node) = nodes.at(slot)?;
                        let (registry, output) = (&self.registry, &link.output);
                        // The types of other readers depend on those of all that they read.
                        let has_interface = reader.is_some_and(|it| it.kind.group().is_some());
                        let of_zone = || zone_output(registry, editor.document(), node, output);
                        divided_output(registry, node, output)
                            .or_else(|| has_interface.then(of_zone).flatten())?
                    }
                };
                Some((ty, Read::Output { slot, output }))
            }
        }
    }

    /// Whether a node reads an output, of unknown type, of a wrong node.
    pub(super) fn reads_unknown_types(&self, editor: &Editor, body: BodyKey, node: &Node) -> bool {
        let nodes = editor.nodes_of_body(body);
        let kinds = self.bodies.get(&body).map_or(&[][..], |known| &known.kinds);
        let is_wrong = |slot: u32| matches!(kinds.get(slot as usize), Some(Kind::Wrong));
        let mut read = node.inputs.iter().flat_map(|(_, input)| references(input));
        read.any(|reference| match reference {
            Reference::Input(_) => false,
            Reference::Link(link) => {
                nodes.slot_of(&link.node).is_some_and(is_wrong)
                    && self.find(editor, (body, Some(node)), reference).is_none()
            }
        })
    }

    pub(super) fn output_position(
        &self,
        editor: &Editor,
        body: BodyKey,
        slot: u32,
        output: &str,
    ) -> Option<usize> {
        let kind = self.bodies.get(&body)?.kinds.get(slot as usize)?;
        match kind {
            Kind::None | Kind::Wrong => None,
            Kind::Call(_) | Kind::Stateful(_) => {
                kind.instance()?.output_names.iter().position(|name| **name == *output)
            }
            Kind::Muted(muted) => muted.outputs.iter().position(|known| *known.name == *output),
            Kind::Group(group) => editor.outputs_of_body(*group).get_index_of(output),
        }
    }

    /// The operand that a node or output reads in one use of its body; `None` if it has no value
    /// there: it is wrong, depends on an error, or is not made yet.
    pub(super) fn operand_in(
        &self,
        editor: &Editor,
        use_id: u32,
        reference: Reference<'_>,
    ) -> Option<Operand> {
        self.operand_of(use_id, self.find(editor, (self.use_of(use_id).body, None), reference)?)
    }

    fn operand_of(&self, use_id: u32, (ty, read): (Type, Read<'_>)) -> Option<Operand> {
        let node = match read {
            Read::Input(name) => self.input_in(use_id, name)?,
            Read::Output { slot, output } => self.output_in(use_id, slot, output)?,
        };
        Some(Operand::Node(node, ty))
    }

    /// The operand of an output in one use of its body, with the type of the output; `None` also if
    /// the types do not convert.
    pub(super) fn output_operand(
        &self,
        editor: &Editor,
        use_id: u32,
        output: &OutputDef,
    ) -> Option<(Operand, Type)> {
        let ty = self.registry.type_named(&output.ty)?;
        let operand = self.operand_in(editor, use_id, reference_of(output))?;
        let fits = match &operand {
            Operand::Node(_, from) => convertible(*from, ty),
            Operand::Literal(_) => true,
        };
        fits.then_some((operand, ty))
    }

    /// The operands of a node in one use of its body, where they have values.
    pub(super) fn operands_in(&self, use_id: u32, sources: &[SingleSource<Read<'_>>]) -> Operands {
        let operand = |source: &SingleSource<Read<'_>>| match source {
            SingleSource::Literal(value) => Some(Operand::Literal(value.clone())),
            SingleSource::Read(found) => self.operand_of(use_id, (*found)?),
            SingleSource::Wrong => None,
        };
        sources.iter().map(operand).collect()
    }

    /// Whether a node reads a new input of a group, which this use lacks so far.
    pub(super) fn lacks_input(&self, use_id: u32, node: &Node) -> bool {
        let it = self.use_of(use_id);
        let mut read = node.inputs.iter().flat_map(|(_, input)| references(input));
        it.outer.is_some()
            && read.any(|reference| {
                matches!(reference, Reference::Input(name) if !it.inputs.contains_key(name))
            })
    }

    pub(super) fn use_of(&self, use_id: u32) -> &Use {
        self.uses[use_id as usize].as_ref().expect("uses that are known are there")
    }

    pub(super) fn use_mut(&mut self, use_id: u32) -> &mut Use {
        self.uses[use_id as usize].as_mut().expect("uses that are known are there")
    }

    /// Records the live node of the call in a slot.
    pub(super) fn put(&mut self, node: NodeNumber, place: (u32, u32), instance: &Instance) {
        self.use_mut(place.0).outs[place.1 as usize] = Some(node);
        if let Kernel::Function(_) = instance.kernel {
            self.places.insert(node, (place, None));
        }
    }

    /// An input of the body in one of its uses.
    pub(super) fn input_in(&self, use_id: u32, name: &str) -> Option<NodeNumber> {
        match self.use_of(use_id).outer {
            None => Some(self.inputs.get(name)?.node),
            Some(_) => self.use_of(use_id).inputs.get(name).copied().flatten(),
        }
    }

    /// The live node of an output in one use of its body.
    pub(super) fn output_in(&self, use_id: u32, slot: u32, output: usize) -> Option<NodeNumber> {
        let it = self.use_of(use_id);
        match it.outs.get(slot as usize).copied().flatten() {
            Some(node) => self.graph.output(node, output),
            None => it.many.get(&slot)?.outs.get(output).copied().flatten(),
        }
    }

    /// The type of an output of a node.
    pub(super) fn output_type(
        &self,
        editor: &Editor,
        body: BodyKey,
        slot: u32,
        output: usize,
    ) -> Option<Type> {
        let kind = self.bodies.get(&body)?.kinds.get(slot as usize)?;
        match kind {
            Kind::None | Kind::Wrong => None,
            Kind::Call(_) | Kind::Stateful(_) => Some(kind.instance()?.outputs.get(output)?.ty),
            Kind::Group(group) => {
                let (_, def) = editor.outputs_of_body(*group).get_index(output)?;
                self.registry.type_named(&def.ty)
            }
            Kind::Muted(muted) => Some(muted.outputs.get(output)?.ty),
        }
    }
}
