//! Calls of groups in the text of formulas.
//!
//! A formula is one node, and cannot contain a use of a group. So such a call becomes a node before
//! the node of the formula, which reads its output under a new name; arguments that are formulas
//! become nodes too. These are the nodes that the text form makes of a call in an expression.
//!
//! A document is edited and saved with its formulas as written, and checked with these nodes, which
//! know the part of the formula for which they stand. The calls of a group `more` in a formula `e`
//! become the nodes `e.more`, `e.more_2` and so on; names that authors write contain no point. The
//! nodes of a muted formula are muted too, so that their groups keep their state.

mod piece;

use std::ops::Range;
use std::sync::Arc;

use millstream_node::node_def::formula::{
    FindGroupCalls, FormulaSetting, GroupArgument, GroupCall,
};
use millstream_node::{NodeDef, Registry};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use crate::fields::Fields;
use crate::free_name::FreeNames;
use crate::grain::read_settings;
use crate::model::{
    Document, GroupDef, Input, InputValue, Link, Made, Named, Node, NodeKind, Part, Setting,
    WrongArgument,
};
use piece::{Piece, Source, literal};

/// The maximum length of a formula in which calls are replaced, in bytes; longer ones are refused as
/// formulas too.
const MAX_TEXT: usize = 1 << 16;

/// The maximum nesting of calls.
const MAX_NESTED: usize = 200;

/// The output that a call gives if the group has several and none is chosen.
const VALUE: &str = "value";

/// A formula that calls something other than functions: the group that has its node, if any, and
/// the name of the node.
pub(crate) type Caller = (Option<Arc<str>>, Arc<str>);

/// The formulas outside of used documents that call something other than functions. Cost: linear in
/// the nodes of documents with groups, and in the texts of their formulas.
pub(crate) fn callers(document: &Document, registry: &Registry) -> Vec<Caller> {
    if document.groups.is_empty() && document.uses.is_empty() {
        return Vec::new();
    }
    let own = document.groups.iter().filter(|(_, group)| group.file.is_none());
    let bodies = own.map(|(name, group)| (Some(name), &group.nodes));
    let bodies = std::iter::once((None, &document.nodes)).chain(bodies);
    let callers = bodies.flat_map(|(body, nodes)| {
        let callers = nodes.iter().filter(|(_, node)| calls_others(node, registry));
        callers.map(move |(name, _)| (body.cloned(), Arc::clone(name)))
    });
    callers.collect()
}

/// Replaces calls of groups in these formulas by nodes. Returns whether there were any.
pub(crate) fn expand_calls(
    document: &mut Document,
    registry: &Registry,
    callers: &[Caller],
) -> bool {
    let mut found_any = false;
    for callers in callers.chunk_by(|a, b| a.0 == b.0) {
        let body = callers[0].0.as_deref();
        let mut waiting: Vec<(Arc<str>, usize)> =
            callers.iter().map(|(_, name)| (Arc::clone(name), 0)).collect();
        let (mut names, mut numbers) = (FreeNames::default(), FxHashMap::default());
        while let Some((name, depth)) = waiting.pop() {
            let nodes = body.map_or(&document.nodes, |group| &document.groups[group].nodes);
            let Some((def, _)) = text_that_may_call(&nodes[&*name], registry) else { continue };
            if depth == MAX_NESTED {
                continue;
            }
            let expansion = Expansion {
                document,
                registry,
                body,
                def,
                is_written: depth == 0,
                names: &mut names,
                numbers: &mut numbers,
                used: FxHashSet::default(),
                made: Vec::new(),
            };
            let Some(made) = expansion.run(&name) else { continue };
            found_any = true;
            waiting.extend(made.into_iter().map(|name| (name, depth + 1)));
        }
    }
    found_any
}

/// Whether a node has a formula that calls something other than functions.
pub(crate) fn calls_others(node: &Node, registry: &Registry) -> bool {
    text_that_may_call(node, registry)
        .is_some_and(|(def, text)| !(setting_of(def).group_calls)(text, &|_| true).is_empty())
}

/// A node with the same outputs whose formula calls only functions; `None` if the node has no
/// formula that calls something else.
pub(crate) fn without_calls(node: &Node, registry: &Registry) -> Option<Node> {
    let (def, text) = text_that_may_call(node, registry)?;
    let FormulaSetting { name, group_calls, .. } = *setting_of(def);
    let calls = group_calls(text, &|_| true);
    let (mut plain, mut from) = (String::new(), 0);
    for call in &calls {
        plain.push_str(&text[from..call.whole.start]);
        plain.push('x');
        from = call.output.as_ref().map_or(call.whole.end, |output| output.end);
    }
    plain.push_str(&text[from..]);
    let mut node = node.clone();
    node.set.insert(name, Setting::from(Json::from(plain)));
    (!calls.is_empty()).then_some(node)
}

/// Part of the interface of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// The name of the group itself.
    Group,
    Input,
    Output,
}

/// The setting of a node with a formula, in which calls of `group` mention the name `to` instead of
/// `from`; `None` if none mentions it.
///
/// # Errors
/// If formulas cannot mention the new name.
pub(crate) fn renamed(
    node: &Node,
    registry: &Registry,
    group: &str,
    (face, from, to): (Face, &str, &str),
) -> Result<Option<(&'static str, Setting)>, CannotBeCalled> {
    let Some((def, text)) = text_that_may_call(node, registry) else { return Ok(None) };
    let FormulaSetting { name, group_calls, .. } = setting_of(def);
    let places = |text: &str, group: &str, name: &str| {
        let calls = all_calls(text, *group_calls, &|called| called == group);
        let named = calls.into_iter().flat_map(|call| match face {
            Face::Group => vec![call.group],
            Face::Input => call.args.into_iter().filter_map(|arg| arg.name).collect(),
            Face::Output => call.output.into_iter().collect(),
        });
        named.filter(|place| text[place.clone()] == *name).collect::<Vec<_>>()
    };
    let mut old = places(text, group, from);
    old.sort_by_key(|place| place.start);
    if old.is_empty() {
        return Ok(None);
    }
    let mut new = text.to_owned();
    for place in old.iter().rev() {
        new.replace_range(place.clone(), to);
    }
    let group = if face == Face::Group { to } else { group };
    if places(&new, group, to).len() < old.len() {
        return Err(CannotBeCalled);
    }
    Ok(Some((name, Setting::from(Json::from(new)))))
}

/// The error for a name that formulas cannot mention.
pub(crate) struct CannotBeCalled;

/// Whether the formula of a node, if it has one, calls a group.
pub(crate) fn calls_group(node: &Node, registry: &Registry, group: &str) -> bool {
    text_that_may_call(node, registry).is_some_and(|(def, text)| {
        !all_calls(text, setting_of(def).group_calls, &|called| called == group).is_empty()
    })
}

/// All calls of groups in a text, also those in the arguments of others.
fn all_calls(text: &str, find: FindGroupCalls, is_group: &dyn Fn(&str) -> bool) -> Vec<GroupCall> {
    let mut found = Vec::new();
    let mut waiting = vec![(0..text.len(), 0)];
    while let Some((part, depth)) = waiting.pop() {
        let moved = |range: Range<usize>| range.start + part.start..range.end + part.start;
        for call in find(&text[part.clone()], is_group) {
            let arg = |arg: GroupArgument| GroupArgument {
                name: arg.name.map(moved),
                value: moved(arg.value),
            };
            let call = GroupCall {
                group: moved(call.group),
                whole: moved(call.whole),
                args: call.args.into_iter().map(arg).collect(),
                output: call.output.map(moved),
            };
            if depth < MAX_NESTED {
                waiting.extend(call.args.iter().map(|arg| (arg.value.clone(), depth + 1)));
            }
            found.push(call);
        }
    }
    found
}

/// The text of a node's formula, if it has one.
pub(crate) fn text<'n>(node: &'n Node, registry: &Registry) -> Option<&'n str> {
    let NodeKind::Type(ty) = &node.kind else { return None };
    text_of(registry.get(ty)?, node)
}

/// The text of a node's formula, unless it certainly calls nothing.
fn text_that_may_call<'n, 'r>(
    node: &'n Node,
    registry: &'r Registry,
) -> Option<(&'r Arc<NodeDef>, &'n str)> {
    let NodeKind::Type(ty) = &node.kind else { return None };
    if node.set.is_empty() {
        return None;
    }
    let def = registry.get(ty)?;
    let text = text_of(def, node)?;
    (text.len() <= MAX_TEXT && text.contains('(')).then_some((def, text))
}

/// How the formulas of a node type are read.
fn setting_of(def: &NodeDef) -> &FormulaSetting {
    def.formula.as_ref().expect("the node type has formulas")
}

/// The text of a node's formula.
fn text_of<'n>(def: &NodeDef, node: &'n Node) -> Option<&'n str> {
    node.set.get(def.formula.as_ref()?.name)?.json.as_str()
}

/// A formula as it is written.
#[derive(Clone, Copy)]
struct Written<'n> {
    name: &'n Arc<str>,
    node: &'n Node,
    source: Source<'n>,
    /// Whether the nodes of its parts are muted.
    is_muted: bool,
}

/// The expansion of one formula.
struct Expansion<'d> {
    document: &'d mut Document,
    registry: &'d Registry,
    /// The group that has the node.
    body: Option<&'d str>,
    def: &'d NodeDef,
    /// Whether an author wrote the node, so that inputs which its formula lacks are reported.
    is_written: bool,
    /// The names of new nodes of the body.
    names: &'d mut FreeNames,
    /// The number of calls so far, by formula and group.
    numbers: &'d mut FxHashMap<(Arc<str>, Arc<str>), u32>,
    /// The inputs of the formula that arguments read.
    used: FxHashSet<Arc<str>>,
    /// The nodes of arguments.
    made: Vec<Arc<str>>,
}

impl Expansion<'_> {
    /// Replaces the outermost calls of a formula. Returns the nodes of arguments, which may contain
    /// calls; `None` if there are no calls.
    fn run(mut self, name: &Arc<str>) -> Option<Vec<Arc<str>>> {
        let FormulaSetting { name: setting_name, group_calls, .. } = *setting_of(self.def);
        let node = self.nodes().get(name).cloned()?;
        let setting = node.set.get(setting_name)?;
        let source = Source::of(setting)?;
        let text = source.text;
        let calls = group_calls(text, &|group| self.face(group).is_some());
        if calls.is_empty() {
            return None;
        }
        let first = node.muted.then(|| first_input(text, &node)).flatten();
        let is_muted = first.is_some() || (node.muted && node.part().is_some());
        let written = Written { name, node: &node, source, is_muted };
        let (mut rest, mut inputs, mut from) = (Piece::of(source), Fields::new(), 0);
        let mut letters = FreeNames::default();
        for call in &calls {
            rest.copy(from..call.whole.start);
            let face = self.face(&text[call.group.clone()]).expect("the group is known");
            let output = call.output.clone().filter(|output| face.gives(&text[output.clone()]));
            from = output.as_ref().map_or(call.whole.end, |output| output.end);
            let output = output.map(|output| text[output].into()).or_else(|| face.output.clone());
            let link = self.call(written, call, (&face, output));
            let is_taken = |name: &str| {
                text.contains(name)
                    || inputs.get(name).is_some()
                    || node.inputs.get(name).is_some()
                    || self.def.reserved.contains(name)
            };
            let letter = letters.find(&plain(&text[call.group.clone()]), is_taken);
            rest.insert(&letter, call.whole.start);
            let (value, spot) = (InputValue::Link(link), source.spot_of(&call.whole));
            inputs.insert(letter, Input { value, spot });
        }
        let mut left = node.clone();
        if let Some(first) = first {
            // A muted formula passes on its first input, which may be an argument of a call.
            (rest, inputs) = (Piece::of(source), Fields::new());
            rest.copy(first.clone());
            left.set.insert(setting_name, rest.setting(setting.spot));
            let first = &text[first];
            if let Some((name, input)) = node.inputs.get_key_value(first) {
                inputs.insert(Arc::clone(name), input.clone());
            }
            if node.part().is_none() {
                let others = node.inputs.iter().filter(|(name, _)| ***name != *first);
                let unread = others.map(|(_, input)| input.clone()).collect();
                left.made = Some(Box::new(Made::Passing { unread }));
            }
        } else {
            rest.copy(from..text.len());
            left.set.insert(setting_name, rest.setting(setting.spot));
            self.keep_inputs((&node, text), &mut left, &mut inputs);
        }
        left.inputs = inputs;
        *self.nodes_mut().get_mut(name).expect("the node was read") = left;
        Some(self.made)
    }

    /// Keeps the inputs of a formula that are not only read by arguments. Those that the formula
    /// does not mention are reported, unless they may be missing arguments of a call.
    fn keep_inputs(
        &self,
        (node, text): (&Node, &str),
        left: &mut Node,
        inputs: &mut Fields<Input>,
    ) {
        let still_read = self.names_in(left);
        let mut mentioned: Option<Vec<Arc<str>>> = None;
        let mut lacks_argument: Option<bool> = None;
        for (input, source) in node.inputs.iter() {
            let is_read = still_read.as_ref().is_none_or(|names| names.contains(input));
            let is_reported = !is_read
                && self.is_written
                && !self.used.contains(input)
                && !*lacks_argument.get_or_insert_with(|| self.lacks_argument(text));
            if is_reported {
                mentioned.get_or_insert_with(|| self.mentioned(node, text));
            }
            if is_read || is_reported {
                inputs.insert(Arc::clone(input), source.clone());
            }
        }
        if let Some(mentioned) = mentioned {
            left.made = Some(Box::new(Made::Rest { mentioned }));
        }
    }

    /// Whether a call in a formula has no argument for an input that needs one.
    fn lacks_argument(&self, text: &str) -> bool {
        let calls =
            all_calls(text, setting_of(self.def).group_calls, &|name| self.face(name).is_some());
        calls.iter().any(|call| {
            let face = self.face(&text[call.group.clone()]).expect("the group is known");
            let is_given = |at: usize, input: &str| {
                call.args.get(at).is_some_and(|arg| arg.name.is_none())
                    || call
                        .args
                        .iter()
                        .flat_map(|arg| &arg.name)
                        .any(|it| text[it.clone()] == *input)
            };
            let mut inputs = face.inputs.iter().enumerate();
            inputs.any(|(at, (input, is_needed))| *is_needed && !is_given(at, input))
        })
    }

    /// The names of inputs in a formula as it is written.
    fn mentioned(&self, node: &Node, text: &str) -> Vec<Arc<str>> {
        let FormulaSetting { name, group_calls, .. } = *setting_of(self.def);
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut waiting = vec![(text, 0)];
        while let Some((text, depth)) = waiting.pop() {
            let calls = group_calls(text, &|group| self.face(group).is_some());
            let letter = FreeNames::default().find("call", |letter| text.contains(letter));
            let (mut rest, mut from) = (String::new(), 0);
            let mut inner = Vec::new();
            for call in calls {
                rest.push_str(&text[from..call.whole.start]);
                rest.push_str(&letter);
                from = call.output.map_or(call.whole.end, |output| output.end);
                inner.extend(call.args.into_iter().map(|arg| (&text[arg.value], depth + 1)));
            }
            if depth < MAX_NESTED {
                waiting.extend(inner.into_iter().rev());
            }
            rest.push_str(&text[from..]);
            let mut node = node.clone();
            node.set.insert(name, Setting::from(Json::from(rest)));
            let found = read_settings(self.registry, self.def, &node);
            for socket in found.iter().flat_map(|(_, signature)| &signature.inputs) {
                if *socket.name != *letter && !names.iter().any(|it| **it == *socket.name) {
                    names.push(Arc::from(&*socket.name));
                }
            }
        }
        names
    }

    /// Adds the node of a call before the node of its formula; returns the output that it gives.
    fn call(
        &mut self,
        written: Written<'_>,
        call: &GroupCall,
        (face, output): (&GroupFace, Option<Arc<str>>),
    ) -> Link {
        let Source { text, .. } = written.source;
        let group: Arc<str> = text[call.group.clone()].into();
        let formula = match written.node.part() {
            Some(part) => Arc::clone(&part.formula),
            None => Arc::clone(written.name),
        };
        let next = self.numbers.entry((Arc::clone(&formula), Arc::clone(&group))).or_default();
        let number = std::mem::replace(next, *next + 1);
        let name = self.free_name(&format!("{formula}.{}", plain(&group)));
        let mut node = Node::new(NodeKind::Group(Arc::clone(&group)));
        (node.spot, node.muted) = (written.source.spot_of(&call.whole), written.is_muted);
        let mut part = Part { formula, group, number, argument: None, wrong: Vec::new() };
        // The arguments come first, so the name is reserved until the node has them.
        self.insert(&name, node.clone(), written.name);
        let mut is_after_name = false;
        for (at, GroupArgument { name: named, value }) in call.args.iter().enumerate() {
            let input = match (named, face.inputs.get(at)) {
                (Some(input), _) => Some(Arc::from(&text[input.clone()])),
                (None, input) => input.map(|(input, _)| Arc::clone(input)),
            };
            if value.is_empty() {
                let spot = written.source.spot_of(value);
                let json = InputValue::Literal(Box::new(Json::Null));
                part.wrong.push((WrongArgument::Empty, Input { value: json, spot }));
                continue;
            }
            let of = Part { argument: Some(at as u32), ..part.clone() };
            let source = self.argument(written, value, (&name, input.as_deref()), of);
            is_after_name |= named.is_some();
            match input {
                _ if is_after_name && named.is_none() => {
                    part.wrong.push((WrongArgument::Unnamed, source));
                }
                None => part.wrong.push((WrongArgument::Extra(at), source)),
                Some(input) if node.inputs.get(&input).is_some() => {
                    part.wrong.push((WrongArgument::Again(input), source));
                }
                Some(input) => drop(node.inputs.insert(input, source)),
            }
        }
        node.made = Some(Box::new(Made::Part(part)));
        *self.nodes_mut().get_mut(&name).expect("it was inserted") = node;
        Link::new(name, output.unwrap_or_else(|| VALUE.into()))
    }

    /// The source of an input of a call: a literal, an input of the formula, or a formula, whose
    /// node is added before that of the call.
    fn argument(
        &mut self,
        written: Written<'_>,
        value: &Range<usize>,
        (call, input): (&str, Option<&str>),
        part: Part,
    ) -> Input {
        let Written { node: formula, source, .. } = written;
        let spot = source.spot_of(value);
        let argument = &source.text[value.clone()];
        if let Some(json) = literal(argument) {
            return Input { value: InputValue::Literal(Box::new(json)), spot };
        }
        if let Some(given) = formula.inputs.get(argument) {
            self.used.insert(argument.into());
            return Input { value: given.value.clone(), spot };
        }
        let mut piece = Piece::of(source);
        piece.copy(value.clone());
        let mut node = Node::new(formula.kind.clone());
        (node.version, node.spot, node.muted) = (formula.version, spot, written.is_muted);
        node.made = Some(Box::new(Made::Part(part)));
        node.set.insert(setting_of(self.def).name, piece.setting(spot));
        // A text that is no formula is reported, and its inputs are not.
        let names = self.names_in(&node);
        for (input, given) in formula.inputs.iter() {
            if names.as_ref().is_none_or(|names| names.contains(input)) {
                self.used.insert(Arc::clone(input));
                node.inputs.insert(Arc::clone(input), given.clone());
            }
        }
        let name = self.free_name(&format!("{call}_{}", input.map_or_else(String::new, plain)));
        self.insert(&name, node, call);
        self.made.push(Arc::clone(&name));
        Input { value: InputValue::Link(Link::new(name, VALUE)), spot }
    }

    fn insert(&mut self, name: &Arc<str>, node: Node, before: &str) {
        self.nodes_mut().insert_before(Arc::clone(name), node, Some(before));
    }

    /// The inputs of a formula; `None` if it is not one.
    fn names_in(&self, node: &Node) -> Option<FxHashSet<Arc<str>>> {
        let (_, signature) = read_settings(self.registry, self.def, node)?;
        Some(signature.inputs.iter().map(|socket| Arc::from(&*socket.name)).collect())
    }

    /// A name that no node of the body has.
    fn free_name(&mut self, wanted: &str) -> Arc<str> {
        let nodes = match self.body {
            None => &self.document.nodes,
            Some(group) => &self.document.groups[group].nodes,
        };
        self.names.find(wanted, |name| nodes.contains_key(name))
    }

    /// The inputs and the only output of a group; `None` if there is no such group.
    fn face(&self, group: &str) -> Option<GroupFace> {
        if let Some(known) = self.document.groups.get(group) {
            return Some(GroupFace::of(known));
        }
        let (name, def) =
            self.document.groups_for(&Arc::from(group), self.registry).into_iter().next()?;
        (*name == *group).then(|| GroupFace::of(&def))
    }

    fn nodes(&self) -> &Named<Node> {
        match self.body {
            None => &self.document.nodes,
            Some(group) => &self.document.groups[group].nodes,
        }
    }

    fn nodes_mut(&mut self) -> &mut Named<Node> {
        match self.body {
            None => &mut self.document.nodes,
            Some(group) => {
                &mut self.document.groups.get_mut(group).expect("the group has the node").nodes
            }
        }
    }
}

/// The first place in a formula of one of the inputs that the node has.
fn first_input(text: &str, node: &Node) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_word = |at: usize, name: &str| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let names_more = before.ends_with(|c| is_part(c) || c == '.') || after.starts_with(is_part);
        !names_more && !after.trim_start().starts_with([':', '('])
    };
    let place = |name: &Arc<str>| {
        let (at, _) = text.match_indices(&**name).find(|(at, _)| is_word(*at, name))?;
        Some(at..at + name.len())
    };
    node.inputs.iter().filter_map(|(name, _)| place(name)).min_by_key(|place| place.start)
}

/// What a call has to know of a group.
struct GroupFace {
    /// The inputs, and whether they need a value.
    inputs: Vec<(Arc<str>, bool)>,
    outputs: Vec<Arc<str>>,
    /// The output called `value`, or the only one.
    output: Option<Arc<str>>,
}

impl GroupFace {
    fn of(group: &GroupDef) -> Self {
        let only = || group.outputs.keys().next().filter(|_| group.outputs.len() == 1);
        let output = if group.outputs.contains_key(VALUE) { None } else { only() };
        let inputs = group.inputs.iter();
        Self {
            inputs: inputs.map(|(name, def)| (Arc::clone(name), def.default.is_none())).collect(),
            outputs: group.outputs.keys().cloned().collect(),
            output: output.cloned(),
        }
    }

    /// Whether a name after a call is that of an output. If not, it is that of components of the
    /// only value, if there is one.
    fn gives(&self, name: &str) -> bool {
        let has_one = self.output.is_some() || self.outputs.iter().any(|output| **output == *VALUE);
        !has_one || self.outputs.iter().any(|output| **output == *name)
    }
}

/// The last part of a name, as a name in formulas.
fn plain(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let fits = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '_' };
    let plain: String = last.chars().map(fits).collect();
    if plain.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        plain
    } else {
        format!("_{plain}")
    }
}
