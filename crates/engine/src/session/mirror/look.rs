//! Looking things up: the types and live nodes of what nodes read and give.

use millstream_base::Type;
use millstream_document::check::{Alone, AloneKind, AloneSource};
use millstream_document::edit::{BodyKey, Reference, delayed, references};
use millstream_document::{Editor, Input, Node};
use millstream_node::convert::convertible;
use millstream_node::{Instance, Kernel};
use millstream_run::live::NodeNumber;

use super::{Kind, Mirror, Use, Want};

impl Mirror {
    /// A node checked alone. Whatever is wrong with what counts for later ticks only is left out, and found
    /// to lack when all else was looked at.
    pub(super) fn alone(&mut self, editor: &Editor, body: BodyKey, node: &Node) -> Option<Alone> {
        let group = match node.kind.group() {
            Some(name) => Some(editor.document().groups.get(name)?),
            None => None,
        };
        let mut known = std::mem::take(&mut self.known_alone);
        let type_of = |reference: Reference<'_>| self.type_in(editor, body, reference);
        let later = delayed(&self.registry, node);
        let later = later.and_then(|socket| Some((socket, node.inputs.get(socket)?)));
        let is_known =
            |(_, later): (&str, &Input)| references(later).all(|it| type_of(it).is_some());
        let mut alone = None;
        if later.is_none_or(is_known) {
            alone = known.check_alone(&self.registry, node, group, type_of);
        }
        // What counts for later ticks decides no type, may depend on the node itself, and is looked at
        // behind it.
        if let (None, Some((socket, _))) = (&alone, later) {
            let mut bare = node.clone();
            bare.inputs.remove(socket);
            let checked = known.check_alone(&self.registry, &bare, group, type_of);
            alone = checked.and_then(|alone| with_delayed(node, socket, alone));
        }
        self.known_alone = known;
        alone
    }

    /// The type of something that a node or output of a body reads; `None` if that is wrong.
    pub(super) fn type_in(
        &self,
        editor: &Editor,
        body: BodyKey,
        reference: Reference<'_>,
    ) -> Option<Type> {
        match reference {
            Reference::Input(name) => {
                let def = editor.inputs_of_body(body).get(name)?;
                self.registry.type_named(&def.ty)
            }
            Reference::Link(link) => {
                let slot = editor.nodes_of_body(body).slot_of(&link.node)?;
                let output = self.output_position(editor, body, slot, &link.output)?;
                match self.bodies.get(&body)?.kinds.get(slot as usize)? {
                    Kind::Group(group) => {
                        let def = &editor.outputs_of_body(*group)[output];
                        self.registry.type_named(&def.ty)
                    }
                    Kind::None | Kind::Wrong | Kind::Call(_) | Kind::Keeps(_) | Kind::Muted(_) => {
                        self.output_type(body, slot, output)
                    }
                }
            }
        }
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
            Kind::Call(_) | Kind::Keeps(_) => {
                kind.instance()?.output_names.iter().position(|name| **name == *output)
            }
            Kind::Muted(muted) => muted.outputs.iter().position(|known| *known.name == *output),
            Kind::Group(group) => editor.outputs_of_body(*group).get_index_of(output),
        }
    }

    /// What a node or output reads in one use of its body; `None` if that has no value there, as it
    /// is wrong, depends on what is wrong, or is not made yet.
    pub(super) fn want_in(
        &self,
        editor: &Editor,
        use_id: u32,
        reference: Reference<'_>,
    ) -> Option<Want> {
        let body = self.use_of(use_id).body;
        let ty = self.type_in(editor, body, reference)?;
        let node = match reference {
            Reference::Input(name) => self.input_in(use_id, name)?,
            Reference::Link(link) => {
                let slot = editor.nodes_of_body(body).slot_of(&link.node)?;
                let output = self.output_position(editor, body, slot, &link.output)?;
                self.output_in(use_id, slot, output)?
            }
        };
        Some(Want::Node(node, ty))
    }

    /// What an output of a type reads in one use of its body, with the type; `None` also if that is
    /// of a type that does not convert.
    pub(super) fn want_as(
        &self,
        editor: &Editor,
        use_id: u32,
        reference: Reference<'_>,
        ty: Type,
    ) -> Option<(Want, Type)> {
        let want = self.want_in(editor, use_id, reference)?;
        let fits = match &want {
            Want::Node(_, from) => convertible(*from, ty),
            Want::Literal(_) => true,
        };
        fits.then_some((want, ty))
    }

    /// What goes into the slots of a node in one use of its body, where that has a value.
    pub(super) fn wants_in(
        &self,
        editor: &Editor,
        use_id: u32,
        node: &Node,
        alone: &Alone,
    ) -> Vec<Option<Want>> {
        let read: Vec<Reference<'_>> =
            node.inputs.iter().flat_map(|(_, input)| references(input)).collect();
        let sources = alone.sources.iter();
        sources
            .map(|source| match source {
                AloneSource::Literal(value) => Some(Want::Literal(value.clone())),
                AloneSource::Read(k) => self.want_in(editor, use_id, read[*k]),
                AloneSource::Wrong => None,
            })
            .collect()
    }

    /// Whether a node reads an input of a group that is new, and has nothing in this use yet.
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

    /// Notes the live node of the call in a slot.
    pub(super) fn put(&mut self, node: NodeNumber, place: (u32, u32), instance: &Instance) {
        self.use_mut(place.0).outs[place.1 as usize] = Some(node);
        if let Kernel::Function(_) = instance.kernel {
            self.places.insert(node, place);
        }
    }

    /// An input of the body in one of its uses.
    pub(super) fn input_in(&self, use_id: u32, name: &str) -> Option<NodeNumber> {
        match self.use_of(use_id).outer {
            None => Some(self.inputs.get(name)?.node),
            Some(_) => self.use_of(use_id).inputs.get(name).copied().flatten(),
        }
    }

    /// What a node gives in one use of its body.
    pub(super) fn output_in(&self, use_id: u32, slot: u32, output: usize) -> Option<NodeNumber> {
        let it = self.use_of(use_id);
        match it.outs.get(slot as usize).copied().flatten() {
            Some(node) => self.graph.output(node, output),
            None => it.many.get(&slot)?.outs.get(output).copied().flatten(),
        }
    }

    /// The type of what a node that uses no group gives.
    pub(super) fn output_type(&self, body: BodyKey, slot: u32, output: usize) -> Option<Type> {
        let kind = self.bodies.get(&body)?.kinds.get(slot as usize)?;
        match kind {
            Kind::None | Kind::Wrong | Kind::Group(_) => None,
            Kind::Call(_) | Kind::Keeps(_) => Some(kind.instance()?.outputs.get(output)?.ty),
            Kind::Muted(muted) => Some(muted.outputs.get(output)?.ty),
        }
    }
}

/// What checking a node without what is delayed gave, for the node with it.
fn with_delayed(node: &Node, delayed: &str, mut alone: Alone) -> Option<Alone> {
    let AloneKind::Call(instance) = &alone.kind else { return None };
    let signature = instance.def.signature(&instance.settings).ok()?;
    let socket = signature.inputs.iter().position(|socket| *socket.name == *delayed)?;
    let before = node.inputs.iter().take_while(|(name, _)| ***name != *delayed);
    let first = before.map(|(_, input)| references(input).count()).sum();
    let n_read = references(node.inputs.get(delayed)?).count();
    for (slot, source) in instance.inputs.iter().zip(&mut alone.sources) {
        match source {
            source if slot.socket as usize == socket => *source = AloneSource::Wrong,
            AloneSource::Read(k) if *k >= first => *k += n_read,
            AloneSource::Read(_) | AloneSource::Literal(_) | AloneSource::Wrong => {}
        }
    }
    Some(alone)
}
