//! Probes: the value of any socket.
//!
//! For the time of the evaluation the document has an additional output that leads there, through
//! the groups around the socket.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_document::check::check_partly;
use millstream_document::{
    Body, Checked, CheckedKind, CheckedNode, Edit, EditKind, InputValue, Link, Node, NodeKind,
    OutputDef, OutputFrom, Source,
};
use millstream_ir::answer::{Answer, OutputAnswer, Series};
use millstream_ir::{EvalError, Plan};
use millstream_node::Data;

use super::ask::lacks_feature;
use super::{Ask, Session, SessionError};
use crate::sound::planned;

/// The source of a socket and its type.
struct Found {
    /// The node, in the innermost body, or the body's input.
    from: OutputFrom,
    ty: &'static str,
}

impl Session {
    /// The value at a socket, called `node.socket` after the nodes that use groups around it:
    /// `wheel/spoke.value`. The value of an input is the one before conversion. State does not
    /// change.
    ///
    /// # Errors
    /// If there is no such socket, if it is in a wrong part of the document, and as
    /// [`eval`](Self::eval).
    pub fn probe(&mut self, path: &str) -> Result<OutputAnswer, SessionError> {
        self.probe_within(path, &Ask::all())
    }

    /// As [`probe`](Self::probe), with the what-ifs, the moment, the limits and the budget of
    /// `ask`. Its outputs are ignored.
    ///
    /// # Errors
    /// As [`probe`](Self::probe), and if the evaluation was cancelled.
    pub fn probe_within(&mut self, path: &str, ask: &Ask) -> Result<OutputAnswer, SessionError> {
        let no_socket =
            |hint: &str| SessionError::NoSocket { path: path.into(), hint: hint.into() };
        let Some((node_path, socket_name)) = path.rsplit_once('.') else {
            return Err(no_socket("name node and socket: `node.value`"));
        };
        for (name, given) in &ask.what_if {
            self.check_given(name, given)?;
        }
        ask.budget.check().map_err(EvalError::from)?;
        if let Some(answer) = self.probe_mirror(node_path, socket_name, ask) {
            return answer;
        }
        let Some(checked) = self.whole().checked.clone() else {
            return Err(self.broken(&format!("`{path}`")));
        };
        let mut bodies = vec![checked.root()];
        let mut users: Vec<&str> = Vec::new();
        let mut names = node_path.split('/').peekable();
        let socket = loop {
            let name = names.next().unwrap_or_default();
            let body = bodies[bodies.len() - 1];
            let is_right = |node: &&CheckedNode| !matches!(node.kind, CheckedKind::Wrong);
            let known = body.nodes.iter().find(|node| *node.name == *name);
            let Some(node) = known.filter(is_right) else {
                if self.editor.ids_of(node_path).is_none() {
                    return Err(no_socket("there is no such node"));
                }
                // The value of an input may be right even if the node, or another input, is wrong.
                let of_node = names.peek().is_none().then(|| self.node(&users, name)).flatten();
                let found = of_node.and_then(|node| found_in(&checked, body, node, socket_name));
                match found {
                    Some(found) => break Some(Ok(found)),
                    None => return Err(self.broken(&format!("`{path}`"))),
                }
            };
            if names.peek().is_none() {
                let passed = || found_in(&checked, body, self.node(&users, name)?, socket_name);
                break found(&checked, body, node, socket_name).or_else(|| passed().map(Ok));
            }
            let CheckedKind::Group(group) = &node.kind else {
                let is_zone = node.kind.body().is_some();
                return Err(no_socket(if is_zone {
                    "the node runs its group many times"
                } else {
                    "the node uses no group, or is muted"
                }));
            };
            let written = self.node(&users, name).map(|node| &node.kind);
            if !matches!(written, Some(NodeKind::Group(_))) {
                return Err(no_socket(
                    "the node calls a closure; its own sockets can be looked at",
                ));
            }
            users.push(name);
            bodies.push(&checked.bodies[*group]);
        };
        match socket {
            Some(Ok(found)) => self.probe_through(&users, found, ask),
            Some(Err(constant)) => Ok(constant),
            None => Err(no_socket("the node has no such socket, or nothing goes into it")),
        }
    }

    /// The value at a socket of a node, if the mirror has it.
    fn probe_mirror(
        &mut self,
        path: &str,
        socket: &str,
        ask: &Ask,
    ) -> Option<Result<OutputAnswer, SessionError>> {
        self.fit_mirror();
        let (node, ty) = self.mirror.as_ref()?.socket(&self.editor, path, socket)?;
        let cells = self.live_cells(ask)?;
        let done = self.on_mirror(ask, cells, |mirror, _, moment, within| {
            mirror.look(node, ty, moment, within, ask.limits.bytes)
        });
        let value = match done? {
            Ok(value) => value,
            Err(error) => return Some(Err(error)),
        };
        let mirror = self.mirror.as_ref()?;
        let value = match value {
            Ok(None) if mirror.holds_columns() => return None,
            Ok(value) => value,
            Err(EvalError::Bytes { .. }) if mirror.holds_columns() => return None,
            // A plan stores only the values that are still to be read.
            Err(EvalError::Bytes { .. }) if mirror.bytes_of_values() > self.kept_bytes => {
                return None;
            }
            Err(error) => return Some(Err(error.into())),
        };
        Some(Ok(OutputAnswer { name: socket.into(), ty, value, partial: None }))
    }

    /// Evaluates the document with one more output.
    fn probe_through(
        &mut self,
        users: &[&str],
        found: Found,
        ask: &Ask,
    ) -> Result<OutputAnswer, SessionError> {
        let name: Arc<str> = (0_u64..u64::MAX)
            .map(|i| format!("probe {i}"))
            .find(|name| {
                let document = self.editor.document();
                let groups = document.groups.values();
                !document.outputs.contains_key(name)
                    && groups.into_iter().all(|group| !group.outputs.contains_key(name))
            })
            .expect("there are more numbers than outputs")
            .into();
        let mut edits = Vec::new();
        let mut from = found.from;
        for (depth, within) in self.groups_of(users).into_iter().enumerate().rev() {
            let def = OutputDef::new(found.ty, from);
            let adding = EditKind::AddOutput { name: Arc::clone(&name), def, before: None };
            edits.push(adding.within(within));
            let user = depth.checked_sub(1).map_or("", |outer| users[outer]);
            from = OutputFrom::Link(Link::new(user, Arc::clone(&name)));
        }
        let done = self.editor.apply(&Edit::batch(edits)).map_err(SessionError::Edit)?;
        let (registry, limits) = (self.engine.registry(), self.engine.limits());
        let (checked, _) = check_partly(self.editor.document(), registry, limits);
        let plan = |checked: &Checked| self.plans.plain(checked);
        let made = checked.and_then(|checked| planned(Arc::new(checked), plan).0);
        self.editor.revert(&done.inverse).expect("the last edit can be taken back");
        let Some((checked, plan)) = made else { return Err(self.broken("the socket")) };
        let answer = match self.probe_with(Ok(plan), &name, ask) {
            // Features that only arms need which are never taken are not needed after all passes.
            Err(SessionError::Eval(error)) if lacks_feature(&error) => {
                self.probe_with(self.plans.optimised(&checked), &name, ask)
            }
            done => done,
        };
        // The values of the session's plan are still valid.
        if let Some(plan) = self.plans.running() {
            self.live.returned(plan);
        }
        Ok(answer?.outputs.into_iter().next().expect("an answer has what was asked"))
    }
}

impl Session {
    /// The group of each of these nodes, each inside the group before it, after the document, which
    /// is `None`.
    fn groups_of(&self, users: &[&str]) -> Vec<Option<Arc<str>>> {
        let document = self.editor.document();
        let mut groups = vec![None];
        let mut nodes = &document.nodes;
        for user in users {
            let group = nodes.get(user).and_then(|node| node.kind.group());
            let group = group.expect("the part that is right has the nodes of the document");
            nodes = &document.groups[&**group].nodes;
            groups.push(Some(Arc::clone(group)));
        }
        groups
    }

    /// A node of the document inside the groups that these nodes use, each inside the group before
    /// it.
    fn node(&self, users: &[&str], name: &str) -> Option<&Node> {
        let document = self.document();
        let mut nodes = &document.nodes;
        for user in users {
            let group = nodes.get(user)?.kind.group()?;
            nodes = &document.groups.get(group)?.nodes;
        }
        nodes.get(name)
    }

    /// Evaluates one output of a plan that was made for it.
    fn probe_with(
        &mut self,
        plan: Result<Plan, Diagnostics>,
        output: &str,
        ask: &Ask,
    ) -> Result<Answer, SessionError> {
        let broken = |problems| SessionError::Broken { what: "the socket".into(), problems };
        let plan = Arc::new(plan.map_err(broken)?);
        if plan.output_named(output).is_none() {
            return Err(self.broken("the socket"));
        }
        let ask = Ask { outputs: vec![output.into()], ..ask.clone() };
        let request = self.request(&plan, &ask)?;
        Ok(self.live.answer(&plan, &request)?)
    }
}

/// The source of a socket of a node of a body: a link or a constant.
fn found(
    checked: &Checked,
    body: &Body,
    node: &CheckedNode,
    socket: &str,
) -> Option<Result<Found, OutputAnswer>> {
    if let Some(output) = outputs_of(checked, node).find(|(_, name)| ***name == *socket) {
        return found_output(checked, node, output).map(Ok);
    }
    let position = input_slot(checked, node, socket)?;
    let source = *body.sources_of(node).get(position)?;
    let found = match source {
        Source::Literal(i) => {
            let value = body.literals[i as usize].clone();
            let ty = value.ty();
            let value = Some(Series { data: Data::One(value), axes: Vec::new() });
            return Some(Err(OutputAnswer { name: socket.into(), ty, value, partial: None }));
        }
        Source::Input(i) => {
            let input = &body.inputs[i as usize];
            Found { from: OutputFrom::Input(Arc::clone(&input.name)), ty: input.ty.name() }
        }
        Source::Node { node, output } => {
            let from = &body.nodes[node as usize];
            found_output(checked, from, outputs_of(checked, from).find(|(i, _)| *i == output)?)?
        }
        Source::Wrong => return None,
    };
    Some(Ok(found))
}

/// The source of a socket whose node is wrong or passes values on.
fn found_in(checked: &Checked, body: &Body, node: &Node, socket: &str) -> Option<Found> {
    let mut input = node.inputs.get(socket)?;
    if let InputValue::Several(inputs) = &input.value {
        input = inputs.first()?;
    }
    match &input.value {
        InputValue::Link(link) => {
            let from = body.nodes.iter().find(|node| node.name == link.node)?;
            let mut outputs = outputs_of(checked, from);
            found_output(checked, from, outputs.find(|(_, name)| **name == link.output)?)
        }
        InputValue::Input(name) => {
            let input = body.inputs.iter().find(|input| input.name == *name)?;
            Some(Found { from: OutputFrom::Input(Arc::clone(&input.name)), ty: input.ty.name() })
        }
        InputValue::Literal(_) | InputValue::Several(_) => None,
    }
}

/// An output of a node, by its position and name.
fn found_output(
    checked: &Checked,
    node: &CheckedNode,
    (output, name): (u32, &Arc<str>),
) -> Option<Found> {
    let ty = checked.output_type(&node.kind, output)?.name();
    let link = Link::new(Arc::clone(&node.name), Arc::clone(name));
    Some(Found { from: OutputFrom::Link(link), ty })
}

/// The outputs of a node with their positions.
fn outputs_of<'c>(
    checked: &'c Checked,
    node: &'c CheckedNode,
) -> Box<dyn Iterator<Item = (u32, &'c Arc<str>)> + 'c> {
    match &node.kind {
        CheckedKind::Wrong => Box::new(std::iter::empty()),
        CheckedKind::Call(instance) => Box::new((0..).zip(&instance.output_names)),
        CheckedKind::Group(body) => {
            let outputs = checked.bodies[*body].outputs.iter();
            Box::new((0..).zip(outputs.map(|output| &output.name)))
        }
        CheckedKind::Closure(_) => Box::new(std::iter::empty()),
        CheckedKind::Zone(zone) => Box::new((0..).zip(zone.outputs.iter().map(|(name, _)| name))),
        CheckedKind::Muted(muted) => {
            Box::new((0..).zip(muted.outputs.iter().map(|output| &output.name)))
        }
    }
}

/// The position of the first source of an input among the sources of a node.
fn input_slot(checked: &Checked, node: &CheckedNode, socket: &str) -> Option<usize> {
    match &node.kind {
        CheckedKind::Call(instance) => {
            let signature = instance.def.signature(&instance.settings).ok()?;
            let socket = signature.input(socket)?;
            instance.inputs.iter().position(|slot| slot.socket as usize == socket)
        }
        CheckedKind::Group(body) => {
            checked.bodies[*body].inputs.iter().position(|input| *input.name == *socket)
        }
        CheckedKind::Zone(zone) => zone.inputs.iter().position(|(name, _)| **name == *socket),
        CheckedKind::Closure(_) | CheckedKind::Muted(_) | CheckedKind::Wrong => None,
    }
}
