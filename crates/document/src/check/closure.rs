//! Nodes that make closures, and the interfaces of nodes that call them.
//!
//! The sockets of a call are those of the closure's interface, so they are found before links are:
//! by going back from the socket `closure` to the first thing whose type is stated.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::id::Id;
use millstream_node::interface::{CALL, CALLED, VALUE};
use millstream_node::signature::SocketType;
use millstream_node::{Interface, Zone};

use super::error::CheckError;
use super::face::{BodyDef, Face};
use super::instances::{TypeNumber, passing};
use super::links::socket_at;
use super::mismatch::describe;
use super::shapes::{ClosureShape, NodeShape, Shapes};
use super::types::{Typed, Typing};
use crate::at::Part;
use crate::checked::{BodyId, CheckedClosure, CheckedKind};
use crate::model::{Input, InputValue, Link, Node, NodeKind};
use crate::problems::{Problems, shortened};

/// Links that are followed to one interface.
const MOST_FOLLOWED: usize = 4096;

/// The interface of a closure of a group.
enum Found {
    /// Of this type.
    Type(Type),
    /// Something in the group is wrong.
    Unknown,
    /// None: its names cannot be those of an interface.
    None,
}

fn interface_of(shape: &ClosureShape, face: &Face) -> Found {
    let parameters = (0..).zip(&face.inputs).filter(|(at, _)| !shape.captures.contains(at));
    let parameters = parameters.map(|(_, input)| {
        let input = input.as_ref()?;
        Some((Arc::clone(&input.name), input.ty))
    });
    let outputs = face.output_names.iter().zip(&face.outputs);
    let outputs = outputs.map(|(name, ty)| Some((Arc::clone(name), (*ty)?)));
    let (parameters, outputs): (Option<Vec<_>>, Option<Vec<_>>) =
        (parameters.collect(), outputs.collect());
    let (Some(parameters), Some(outputs)) = (parameters, outputs) else { return Found::Unknown };
    let ty = Interface::new(parameters, outputs).and_then(Interface::ty);
    ty.map_or(Found::None, Found::Type)
}

impl Typing<'_, '_> {
    /// What goes into a closure, and its type.
    pub(super) fn closure(&mut self, node: u32, shape_id: u32) -> Typed {
        let (shapes, faces) = (self.shapes, self.faces);
        let shape = shapes.closure(shape_id);
        let face = &faces[shape.group as usize];
        for (at, input) in self.links.of_node(node).zip(&shape.captures) {
            let Some(input) = &face.inputs[*input as usize] else { continue };
            let of = || format!("input `{}` of the group", input.name);
            self.socket(node, at, (&input.name, input.ty), || None, of);
        }
        match interface_of(shape, face) {
            Found::Type(ty) => Typed::Closure { shape: shape_id, ty: self.instances.number(ty) },
            Found::Unknown => Typed::Unknown,
            Found::None => {
                let (name, def) = self.named_node(node);
                let group = def.kind.group().map(ToString::to_string).unwrap_or_default();
                let error = CheckError::NoInterface { group };
                self.problems.report(self.at.part(Part::Node(name)), def.spot.span(), &error);
                Typed::Unknown
            }
        }
    }

    /// What a node that makes a closure does. A muted one gives the first captured closure of its
    /// type.
    pub(super) fn checked_closure(
        &mut self,
        shape: u32,
        ty: TypeNumber,
        muted: bool,
    ) -> CheckedKind {
        let shape = self.shapes.closure(shape);
        let ty = self.instances.ty(ty);
        let body = BodyId::from_index(shape.group as usize);
        if muted {
            let face = &self.faces[shape.group as usize];
            let captured = |at: &u32| face.inputs[*at as usize].as_ref().map(|input| input.ty);
            let types: Option<Vec<Type>> = shape.captures.iter().map(captured).collect();
            let passed = types.map(|types| passing(types, [(VALUE.into(), ty)]));
            return passed.map_or(CheckedKind::Wrong, |it| CheckedKind::Muted(Arc::new(it)));
        }
        CheckedKind::Closure(Arc::new(CheckedClosure {
            body,
            captures: shape.captures.clone(),
            ty,
        }))
    }
}

/// What is linked to a call, as far back as it was followed.
enum End {
    /// A source of this type.
    Type(Type),
    /// Another call, whose interface is found first.
    Later,
    /// Something about which another error is or will be reported.
    Unknown,
    /// No type is stated anywhere.
    Lost,
}

/// Finds the interfaces of the calls in a body, and with them their shapes.
pub(super) struct Calls<'d, 'c> {
    pub(super) body: BodyDef<'d>,
    pub(super) face: &'c Face,
    pub(super) bodies: &'c [BodyDef<'d>],
    pub(super) faces: &'c [Face],
}

impl Calls<'_, '_> {
    /// Replaces the shapes of calls; what is wrong is reported, and is broken.
    pub(super) fn find(
        &self,
        shapes: &mut Shapes<'_>,
        node_shapes: &mut [NodeShape],
        problems: &mut Problems,
    ) {
        let is_call = |at: &usize| node_shapes[*at] == NodeShape::Call;
        let mut waiting: Vec<usize> = (0..node_shapes.len()).filter(is_call).collect();
        while !waiting.is_empty() {
            let mut left = Vec::new();
            for at in &waiting {
                let (name, node) = self.body.nodes.get_index(*at).expect("nodes are counted");
                let place = self.body.at().part(Part::Node(name));
                let Some(source) = node.inputs.get(CALLED) else {
                    let form = "nothing: it can only be linked".into();
                    let error = CheckError::MissingInput {
                        name: CALLED.into(),
                        node_type: CALL.into(),
                        form,
                    };
                    problems.report(socket_at(place, CALLED), node.spot.span(), &error);
                    node_shapes[*at] = NodeShape::Broken;
                    continue;
                };
                let end = self.end(shapes, node_shapes, source);
                let end = match end {
                    End::Type(ty) if Interface::of(ty).is_some() => {
                        node_shapes[*at] = shapes.of_call(ty);
                        continue;
                    }
                    End::Later => {
                        left.push(*at);
                        continue;
                    }
                    end => end,
                };
                node_shapes[*at] = NodeShape::Broken;
                let found = match end {
                    End::Type(ty) => ty.with_article(),
                    _ => "not known to be one".into(),
                };
                if !matches!(end, End::Unknown) {
                    let source_name = describe(source, Some(self.body.nodes), shapes.registry());
                    let error = CheckError::NotAClosure { source_name, found };
                    problems.report(socket_at(place, CALLED), source.spot.span(), &error);
                }
            }
            if left.len() == waiting.len() {
                // Calls that give each other closures: a cycle, which is reported by the order.
                for at in left {
                    node_shapes[at] = self.on_cycle(at, shapes, problems);
                }
                return;
            }
            waiting = left;
        }
    }

    fn on_cycle(&self, at: usize, shapes: &Shapes<'_>, problems: &mut Problems) -> NodeShape {
        let (name, node) = self.body.nodes.get_index(at).expect("nodes are counted");
        let source_name = node
            .inputs
            .get(CALLED)
            .map(|it| describe(it, Some(self.body.nodes), shapes.registry()));
        let source_name = source_name.unwrap_or_default();
        let found = format!("what `{}` itself gives", shortened(name));
        let error = CheckError::NotAClosure { source_name, found };
        let place = self.body.at().part(Part::Node(name));
        problems.report(socket_at(place, CALLED), node.spot.span(), &error);
        NodeShape::Broken
    }

    /// Goes back from a source to something whose type is known.
    fn end(&self, shapes: &Shapes<'_>, node_shapes: &[NodeShape], source: &Input) -> End {
        let mut source = source;
        for _ in 0..MOST_FOLLOWED {
            let link = match &source.value {
                InputValue::Literal(_) => return End::Lost,
                InputValue::Several(sources) => match sources.as_slice() {
                    [only] => {
                        source = only;
                        continue;
                    }
                    _ => return End::Lost,
                },
                InputValue::Input(name) => {
                    let input = self.body.inputs.get_index_of(name);
                    let known = input.and_then(|at| self.face.inputs[at].as_ref());
                    return known.map_or(End::Unknown, |input| End::Type(input.ty));
                }
                InputValue::Link(link) => link,
            };
            let Some(at) = self.body.nodes.get_index_of(&link.node) else { return End::Unknown };
            let (_, node) = self.body.nodes.get_index(at).expect("it was found");
            match self.given_by(shapes, node_shapes[at], node, link) {
                Ok(next) => source = next,
                Err(end) => return end,
            }
        }
        End::Lost
    }

    /// The type of an output of a node, or the source that has it too.
    fn given_by<'n>(
        &self,
        shapes: &Shapes<'_>,
        shape: NodeShape,
        node: &'n Node,
        link: &Link,
    ) -> Result<&'n Input, End> {
        match shape {
            NodeShape::Closure(shape) => {
                let shape = shapes.closure(shape);
                match interface_of(shape, &self.faces[shape.group as usize]) {
                    Found::Type(ty) if *link.output == *VALUE => Err(End::Type(ty)),
                    _ => Err(End::Unknown),
                }
            }
            NodeShape::Group(group) => {
                let output = self.bodies[group as usize].outputs.get_index_of(&link.output);
                let ty = output.and_then(|at| self.faces[group as usize].outputs[at]);
                Err(ty.map_or(End::Unknown, End::Type))
            }
            NodeShape::Zone(_) => Err(match node.kind {
                NodeKind::Zone(Zone::Repeat | Zone::ForEach | Zone::Simulate, _) => End::Lost,
                _ => End::Unknown,
            }),
            NodeShape::Call => Err(End::Later),
            NodeShape::Broken => Err(End::Unknown),
            NodeShape::Def(shape) => {
                let signature = &shapes.get(shape).signature;
                let Some(output) = signature.output(&link.output) else {
                    return Err(End::Unknown);
                };
                match signature.outputs[output].ty {
                    SocketType::Exact(ty) => Err(End::Type(ty)),
                    SocketType::Generic(g) => {
                        let has_it = |(socket, _): &(&str, &Input)| {
                            let socket = signature.input(socket);
                            socket
                                .is_some_and(|at| signature.inputs[at].ty == SocketType::Generic(g))
                        };
                        let all = node.inputs.iter().map(|(socket, input)| (&**socket, input));
                        let sources = all.filter(has_it).flat_map(|(_, input)| input.sources());
                        let linked = |input: &&Input| {
                            matches!(input.value, InputValue::Link(_) | InputValue::Input(_))
                        };
                        sources.into_iter().find(linked).ok_or(End::Lost)
                    }
                    SocketType::ListOf(_) | SocketType::Made => Err(End::Lost),
                }
            }
        }
    }
}
