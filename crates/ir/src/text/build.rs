//! Builds the graph from the lines: resolves links and types, and numbers the nodes.

use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Span, Type};
use millstream_node::Instance;
use millstream_node::Zone;
use millstream_node::{signature::InputFact, signature::Signature};
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::{Problems, TextError};
use super::group::Groups;
use super::line::{CallLine, LinkText, Making, Statement, What};
use crate::graph::{Graph, GraphOutput, NodeId, Source};
use crate::paths::{PathId, Paths};

/// The graph of these lines; whatever does not fit is reported and left out.
pub(super) fn build(
    statements: &[Statement],
    groups: &mut Groups<'_>,
    problems: &mut Problems,
) -> Graph {
    let mut builder = Builder {
        statements,
        groups,
        problems,
        made_by: FxHashMap::default(),
        states: vec![State::New; statements.len()],
        known: FxHashMap::default(),
    };
    builder.index();
    for at in 0..statements.len() {
        builder.resolve(at);
    }
    builder.into_graph()
}

#[derive(Clone)]
enum State {
    New,
    Open,
    /// The instance, if the statement is a valid call.
    Done(Option<Arc<Instance>>),
}

/// The identity of an instance: node type, settings, types, number of sources of each socket.
type InstanceKey<'a> = (usize, &'a str, Vec<Type>, Vec<u16>);

struct Builder<'a, 'g> {
    statements: &'a [Statement],
    groups: &'a mut Groups<'g>,
    problems: &'a mut Problems,
    /// The statement of each node.
    made_by: FxHashMap<u32, usize>,
    states: Vec<State>,
    known: FxHashMap<InstanceKey<'a>, Arc<Instance>>,
}

/// Number of unused ids that is always permitted, beyond the number of lines.
const MAX_GAPS: usize = 1 << 21;

impl<'a> Builder<'a, '_> {
    fn report(&mut self, at: usize, span: Span, error: impl Into<TextError>) {
        self.problems.add(self.statements[at].line, span, &error.into());
    }

    /// Finds the statement of each node. Names and numbers must be unique, and numbers not too
    /// large.
    fn index(&mut self) {
        let limit = MAX_GAPS + 64 * self.statements.len();
        let (mut inputs, mut outputs) = (FxHashSet::default(), FxHashSet::default());
        for (at, statement) in self.statements.iter().enumerate() {
            let (what, name, is_new) = match &statement.what {
                What::Node(id, making) => {
                    if *id as usize > limit {
                        self.report(at, statement.span, TextError::IdTooLarge { id: *id, limit });
                    } else if self.made_by.insert(*id, at).is_some() {
                        self.report(at, statement.span, TextError::NodeTwice { id: *id });
                    }
                    let Some(Making::Input(input)) = making else { continue };
                    ("inputs", &*input.name, inputs.insert(&*input.name))
                }
                What::UnreadInput(input) => ("inputs", &*input.name, inputs.insert(&*input.name)),
                What::Output(line) => {
                    ("outputs", line.name.as_str(), outputs.insert(line.name.as_str()))
                }
            };
            if !is_new {
                self.report(at, statement.span, TextError::NameTwice { what, name: name.into() });
            }
        }
    }

    fn call(&self, at: usize) -> Option<&'a CallLine> {
        match &self.statements[at].what {
            What::Node(_, Some(Making::Call(call))) => Some(call),
            What::Node(..) | What::UnreadInput(_) | What::Output(_) => None,
        }
    }

    /// Makes the instances of a statement and of all statements it reads from, on an explicit
    /// stack. On a cycle the types of links back are unknown.
    fn resolve(&mut self, at: usize) {
        if !matches!(self.states[at], State::New) {
            return;
        }
        self.states[at] = State::Open;
        let mut stack = vec![(at, links_of(self.call(at)))];
        while let Some((at, links)) = stack.last_mut() {
            if let Some(link) = links.next() {
                if let Some(upstream) = self.made_by.get(&link.id).copied()
                    && matches!(self.states[upstream], State::New)
                {
                    self.states[upstream] = State::Open;
                    stack.push((upstream, links_of(self.call(upstream))));
                }
                continue;
            }
            let at = *at;
            let instance = self.call(at).and_then(|call| self.instance(at, call));
            self.states[at] = State::Done(instance);
            stack.pop();
        }
    }

    /// The type of a link's source, if it is known.
    fn type_of(&self, link: &LinkText) -> Option<Type> {
        let at = *self.made_by.get(&link.id)?;
        match &self.statements[at].what {
            What::Node(_, Some(Making::Input(input))) => Some(input.ty),
            What::Node(_, Some(Making::Const(value))) => Some(value.ty()),
            What::Node(_, Some(Making::Call(_))) => match &self.states[at] {
                State::Done(Some(instance)) => {
                    Some(instance.outputs[output_of(instance, link)?].ty)
                }
                State::New | State::Open | State::Done(None) => None,
            },
            What::Node(_, None) | What::UnreadInput(_) | What::Output(_) => None,
        }
    }

    fn instance(&mut self, at: usize, call: &'a CallLine) -> Option<Arc<Instance>> {
        if let Some(zone) = Zone::named(&call.def.name) {
            return self.zone(at, zone, call);
        }
        let span = self.statements[at].span;
        let signature = match call.def.signature(&call.settings) {
            Ok(signature) => signature,
            Err(error) => {
                self.report(at, span, error);
                return None;
            }
        };
        let arities = self.arities(at, call, &signature)?;
        let generics = match &call.generics {
            Some(written) if written.len() == signature.generics.len() => written.clone(),
            Some(written) => {
                let (expected, found) = (signature.generics.len(), written.len());
                let name = call.def.name.to_string();
                self.report(at, span, TextError::Generics { name, expected, found });
                return None;
            }
            None => {
                let facts: Vec<(usize, InputFact<'_>)> = (call.arguments.iter().enumerate())
                    .flat_map(|(i, argument)| argument.links.iter().map(move |link| (i, link)))
                    .filter_map(|(i, link)| Some((i, InputFact::Linked(self.type_of(link)?))))
                    .collect();
                match signature.resolve(&facts) {
                    Ok(types) => types,
                    Err(errors) => {
                        for error in errors {
                            self.report(at, span, error);
                        }
                        return None;
                    }
                }
            }
        };
        let address = Arc::as_ptr(&call.def) as usize;
        let key = (address, call.settings_text.as_str(), generics, arities);
        if let Some(known) = self.known.get(&key) {
            return Some(Arc::clone(known));
        }
        match call.def.instantiate(call.settings.clone(), key.2.clone(), &key.3) {
            Ok(instance) => {
                let instance = Arc::new(instance);
                self.known.insert(key, Arc::clone(&instance));
                Some(instance)
            }
            Err(error) => {
                self.report(at, span, error);
                None
            }
        }
    }

    /// The instance of a zone: its compiled group.
    fn zone(&mut self, at: usize, zone: Zone, call: &'a CallLine) -> Option<Arc<Instance>> {
        let span = self.statements[at].span;
        let address = Arc::as_ptr(&call.def) as usize;
        let key = (address, call.settings_text.as_str(), Vec::new(), Vec::new());
        let instance = match self.known.get(&key) {
            Some(known) => Arc::clone(known),
            None if !self.problems.is_empty() => return None,
            None => match self.groups.zone(zone, &call.settings) {
                Ok(instance) => instance,
                Err(error) => {
                    self.report(at, span, error);
                    return None;
                }
            },
        };
        self.known.insert(key, Arc::clone(&instance));
        let signature = instance.def.signature(&instance.settings).ok()?;
        self.arities(at, call, &signature)?;
        if call.generics.is_some() {
            let (expected, found) = (0, call.generics.as_ref().map_or(0, Vec::len));
            let name = call.def.name.to_string();
            self.report(at, span, TextError::Generics { name, expected, found });
            return None;
        }
        Some(instance)
    }

    /// The number of sources of each socket.
    fn arities(&mut self, at: usize, call: &CallLine, signature: &Signature) -> Option<Vec<u16>> {
        let (expected, found) = (signature.inputs.len(), call.arguments.len());
        if expected != found {
            let name = call.def.name.to_string();
            let names: Vec<&str> = signature.inputs.iter().map(|socket| &*socket.name).collect();
            let sockets = if names.is_empty() { "none".into() } else { names.join(", ") };
            let span = self.statements[at].span;
            self.report(at, span, TextError::Arity { name, expected, found, sockets });
            return None;
        }
        let mut arities = Vec::with_capacity(expected);
        let mut total = 0_u16;
        for (socket, argument) in signature.inputs.iter().zip(&call.arguments) {
            let arity = u16::try_from(argument.links.len()).ok();
            let sum = arity.and_then(|arity| total.checked_add(arity));
            let wrong = match (socket.multiple, argument.is_bracketed, sum) {
                (true, true, Some(_)) | (false, false, Some(_)) => None,
                (true, true, None) | (false, false, None) => {
                    Some(("takes no more sources", "a node takes up to 65535 sources"))
                }
                (true, false, _) => Some(("takes several sources", "write `[n1]` for one")),
                (false, true, _) => Some(("takes one source", "write it without brackets")),
            };
            if let Some((takes, hint)) = wrong {
                let socket = socket.name.to_string();
                self.report(at, argument.span, TextError::Brackets { socket, takes, hint });
                return None;
            }
            total = sum.unwrap_or(total);
            arities.extend(arity);
        }
        Some(arities)
    }

    /// The source of a link; reports a problem if it does not exist.
    fn source(&mut self, at: usize, link: &LinkText) -> Option<Source> {
        let Some(upstream) = self.made_by.get(&link.id) else {
            self.report(at, link.span, TextError::UnknownNode { id: link.id });
            return None;
        };
        let node = NodeId::from_index(link.id as usize);
        let names: Vec<Arc<str>> = match (&self.statements[*upstream].what, &self.states[*upstream])
        {
            (What::Node(_, Some(Making::Call(_))), State::Done(Some(instance))) => {
                if let Some(output) = output_of(instance, link) {
                    return Some(Source { node, output: output as u32 });
                }
                instance.output_names.clone()
            }
            (What::Node(_, Some(Making::Input(_) | Making::Const(_))), _) => vec!["value".into()],
            // That line was reported.
            _ => return None,
        };
        match &link.output {
            None if names.len() == 1 => return Some(Source::first(node)),
            Some(name) if names.len() == 1 && **name == *names[0] => {
                return Some(Source::first(node));
            }
            None => {
                let known: Vec<_> =
                    names.iter().map(|name| format!("`n{}.{name}`", link.id)).collect();
                let known = known.join(", ");
                self.report(at, link.span, TextError::WhichOutput { id: link.id, known });
            }
            Some(name) => {
                let (name, known) = (name.clone(), names.join(", "));
                self.report(at, link.span, TextError::UnknownOutput { id: link.id, name, known });
            }
        }
        None
    }

    fn into_graph(mut self) -> Graph {
        let mut graph = Graph::new();
        let mut paths = PathsByName::default();
        let mut nodes: Vec<(u32, usize)> = self.made_by.iter().map(|(id, at)| (*id, *at)).collect();
        nodes.sort_unstable();
        let unread = self.statements.iter().enumerate().filter_map(|(at, statement)| {
            match &statement.what {
                What::UnreadInput(input) => Some((at, input.clone())),
                What::Node(..) | What::Output(_) => None,
            }
        });
        let mut unread = unread.collect::<Vec<_>>().into_iter().peekable();
        for (id, at) in nodes {
            while graph.n_ids() < id as usize {
                graph.add_gap();
            }
            let node = match &self.statements[at].what {
                What::Node(_, Some(Making::Input(input))) => {
                    while let Some((_, earlier)) = unread.next_if(|(line, _)| *line < at) {
                        graph.add_unread_input(earlier);
                    }
                    graph.add_input(input.clone())
                }
                What::Node(_, Some(Making::Const(value))) => graph.add_own_const(value.clone()),
                What::Node(_, Some(Making::Call(call))) => self.add_call(&mut graph, at, call),
                What::Node(_, None) | What::UnreadInput(_) | What::Output(_) => graph.add_gap(),
            };
            let path = paths.intern(&mut graph.paths, &self.statements[at].path);
            graph.set_path(node, path);
        }
        for (_, input) in unread {
            graph.add_unread_input(input);
        }
        self.set_regions(&mut graph);
        self.set_loops(&mut graph);
        self.add_outputs(&mut graph);
        graph
    }

    fn set_loops(&self, graph: &mut Graph) {
        let marks = (0..self.statements.len()).filter_map(|at| match &self.statements[at].what {
            What::Node(id, Some(Making::Call(call))) => {
                Some((NodeId::from_index(*id as usize), call.as_loop?))
            }
            What::Node(..) | What::UnreadInput(_) | What::Output(_) => None,
        });
        graph.set_loops(marks.collect());
    }

    fn set_regions(&self, graph: &mut Graph) {
        let marks = (0..self.statements.len()).filter_map(|at| match &self.statements[at].what {
            What::Node(id, Some(Making::Call(call))) => Some((*id as usize, call.region?)),
            What::Node(..) | What::UnreadInput(_) | What::Output(_) => None,
        });
        let mut marks = marks.filter(|(id, _)| *id < graph.n_ids()).peekable();
        if marks.peek().is_none() {
            return;
        }
        let mut regions = vec![None; graph.n_ids()];
        for (id, mark) in marks {
            regions[id] = Some(mark);
        }
        graph.set_regions(regions);
    }

    fn add_call(&mut self, graph: &mut Graph, at: usize, call: &CallLine) -> NodeId {
        let links = call.arguments.iter().flat_map(|argument| &argument.links);
        let sources: Vec<Option<Source>> = links.map(|link| self.source(at, link)).collect();
        let sources: Option<Vec<Source>> = sources.into_iter().collect();
        match (&self.states[at], sources) {
            (State::Done(Some(instance)), Some(sources)) => {
                let instance = graph.intern_instance(instance);
                graph.add_call(instance, &sources, Paths::root())
            }
            // Reported; the number stays taken.
            (State::New | State::Open | State::Done(_), _) => graph.add_gap(),
        }
    }

    fn add_outputs(&mut self, graph: &mut Graph) {
        for (at, statement) in self.statements.iter().enumerate() {
            let What::Output(line) = &statement.what else { continue };
            let Some(source) = self.source(at, &line.link) else { continue };
            let Some(ty) = line.ty.or_else(|| graph.type_of(source)) else { continue };
            graph.outputs.push(GraphOutput { name: line.name.as_str().into(), ty, source });
        }
    }
}

/// The links of a call from left to right.
fn links_of(call: Option<&CallLine>) -> impl Iterator<Item = &LinkText> {
    call.into_iter().flat_map(|call| &call.arguments).flat_map(|argument| &argument.links)
}

/// The position of the output that a link names, or of the only output if it names none.
fn output_of(instance: &Instance, link: &LinkText) -> Option<usize> {
    match &link.output {
        Some(name) => instance.output_names.iter().position(|known| **known == **name),
        None => (instance.outputs.len() == 1).then_some(0),
    }
}

/// The paths seen so far, so that equal ones share an entry.
#[derive(Default)]
struct PathsByName(FxHashMap<(PathId, Arc<str>), PathId>);

impl PathsByName {
    fn intern(&mut self, paths: &mut Paths, path: &str) -> PathId {
        if path.is_empty() {
            return Paths::root();
        }
        path.split('/').fold(Paths::root(), |parent, name| {
            let name: Arc<str> = name.into();
            let entry = self.0.entry((parent, Arc::clone(&name)));
            *entry.or_insert_with(|| paths.child(parent, name))
        })
    }
}
