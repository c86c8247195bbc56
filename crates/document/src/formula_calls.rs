//! Calls of groups in the text of formulas.
//!
//! A formula is one node, and cannot contain a use of a group. So such a call becomes a node before
//! the node of the formula, which reads its output under a new name; arguments that are formulas
//! become nodes too. These are the nodes that the text form makes of a call in an expression.
//!
//! A document is edited and saved with its formulas as written, and checked with these nodes. Their
//! names depend only on the formula: the calls of a group `more` in a formula `e` become the nodes
//! `e.more`, `e.more_2` and so on. Names that authors write contain no point.

use std::ops::Range;
use std::sync::Arc;

use millstream_base::Span;
use millstream_node::node_def::formula::{
    FindGroupCalls, FormulaSetting, GroupArgument, GroupCall,
};
use millstream_node::{NodeDef, Registry};
use rustc_hash::FxHashSet;
use serde_json::Value as Json;

use crate::fields::Fields;
use crate::free_name::FreeNames;
use crate::grain::read_settings;
use crate::model::{
    Document, GroupDef, Input, InputValue, Link, Named, Node, NodeKind, Places, Setting,
};
use crate::spot::Spot;

/// The maximum length of a formula in which calls are replaced, in bytes; longer ones are refused as
/// formulas too.
const MAX_TEXT: usize = 1 << 16;

/// The maximum nesting of calls.
const MAX_NESTED: usize = 200;

/// The output that a call gives if the group has several and none is chosen.
const VALUE: &str = "value";

/// The mark between the name of a formula's node and the rest of the name of a node that stands for
/// a call in it.
const OF_FORMULA: char = '.';

/// Replaces calls of groups in formulas by nodes. Returns whether there were any. Cost: linear in
/// the nodes of documents with groups, and in the texts of their formulas.
pub(crate) fn expand_calls(document: &mut Document, registry: &Registry) -> bool {
    if document.groups.is_empty() && document.uses.is_empty() {
        return false;
    }
    let mut found_any = false;
    let mut bodies: Vec<Option<Arc<str>>> = vec![None];
    let own = document.groups.iter().filter(|(_, group)| group.file.is_none());
    bodies.extend(own.map(|(name, _)| Some(Arc::clone(name))));
    for body in bodies {
        let nodes = match &body {
            None => &document.nodes,
            Some(group) => &document.groups[&**group].nodes,
        };
        let waiting = nodes.iter().filter_map(|(name, node)| {
            let (def, _) = text_that_may_call(node, registry)?;
            Some((Arc::clone(name), Arc::clone(def), 0))
        });
        let mut waiting: Vec<(Arc<str>, Arc<NodeDef>, usize)> = waiting.collect();
        let mut names = FreeNames::default();
        while let Some((name, def, depth)) = waiting.pop() {
            if depth == MAX_NESTED {
                continue;
            }
            let expansion = Expansion {
                document,
                registry,
                body: body.as_deref(),
                def: &def,
                is_written: depth == 0,
                names: &mut names,
                used: FxHashSet::default(),
                made: Vec::new(),
            };
            let Some(made) = expansion.run(&name) else { continue };
            found_any = true;
            waiting.extend(made.into_iter().map(|name| (name, Arc::clone(&def), depth + 1)));
        }
    }
    found_any
}

/// Whether a node has a formula that calls something other than functions.
pub(crate) fn calls_others(node: &Node, registry: &Registry) -> bool {
    text_that_may_call(node, registry)
        .is_some_and(|(def, text)| !(setting_of(def).group_calls)(text, &|_| true).is_empty())
}

/// The name of the formula's node for which a node stands, and the rest of the name of that node.
pub(crate) fn formula_of(node: &str) -> Option<(&str, &str)> {
    node.split_once(OF_FORMULA)
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
        let calls = all_calls(text, *group_calls, group);
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
    text_that_may_call(node, registry)
        .is_some_and(|(def, text)| !all_calls(text, setting_of(def).group_calls, group).is_empty())
}

/// All calls of a group in a text, also those in the arguments of others.
fn all_calls(text: &str, find: FindGroupCalls, group: &str) -> Vec<GroupCall> {
    let mut found = Vec::new();
    let mut waiting = vec![(0..text.len(), 0)];
    while let Some((part, depth)) = waiting.pop() {
        let moved = |range: Range<usize>| range.start + part.start..range.end + part.start;
        for call in find(&text[part.clone()], &|name| name == group) {
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
fn text_that_may_call<'n>(
    node: &'n Node,
    registry: &'n Registry,
) -> Option<(&'n Arc<NodeDef>, &'n str)> {
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

/// The first characters of names of inputs for wrong arguments. No name that an author writes
/// contains them, so the check finds no such input and reports the argument.
const EXTRA: char = '\u{1}';
const AGAIN: char = '\u{2}';

/// An argument of a call that is given to no input.
pub(crate) enum WrongArgument<'n> {
    /// An argument without a name, at this position.
    Extra(usize),
    /// A second argument for this input.
    Again(&'n str),
}

impl<'n> WrongArgument<'n> {
    /// The wrong argument for which an input of this name stands.
    pub(crate) fn of(name: &'n str) -> Option<Self> {
        if let Some(at) = name.strip_prefix(EXTRA) {
            return at.parse().ok().map(Self::Extra);
        }
        name.strip_prefix(AGAIN).map(Self::Again)
    }
}

/// A formula as it is written.
#[derive(Clone, Copy)]
struct Written<'n> {
    name: &'n Arc<str>,
    node: &'n Node,
    source: Source<'n>,
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
        if node.muted
            && let Some(first) = first_input(text, &node)
        {
            // A muted formula passes on its first input, which may be an argument of a call.
            let mut left = Piece::of(source);
            left.copy(first.clone());
            let mut passing = node.clone();
            passing.set.insert(setting_name, left.setting(setting.spot));
            let first = &text[first];
            let given = node.inputs.get(first).map(|input| (Arc::from(first), input.clone()));
            passing.inputs = Fields::from_distinct(given.into_iter());
            *self.nodes_mut().get_mut(name).expect("the node was read") = passing;
            return Some(Vec::new());
        }
        let written = Written { name, node: &node, source };
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
        rest.copy(from..text.len());
        let mut left = node.clone();
        left.set.insert(setting_name, rest.setting(setting.spot));
        // An input that only arguments read is no longer one of this node.
        let still_read = self.names_in(&left);
        for (input, source) in node.inputs.iter() {
            let is_read = still_read.as_ref().is_none_or(|names| names.contains(input));
            if is_read || (self.is_written && !self.used.contains(input)) {
                inputs.insert(Arc::clone(input), source.clone());
            }
        }
        left.inputs = inputs;
        *self.nodes_mut().get_mut(name).expect("the node was read") = left;
        Some(self.made)
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
        let mut node = Node::new(NodeKind::Group(Arc::clone(&group)));
        node.spot = written.source.spot_of(&call.whole).made();
        let formula = formula_of(written.name).map_or(&**written.name, |(formula, _)| formula);
        let name = self.free_name(&format!("{formula}{OF_FORMULA}{}", plain(&group)));
        // The arguments come first, so the name is reserved until the node has them.
        self.insert(&name, node.clone(), written.name);
        for (at, GroupArgument { name: input, value }) in call.args.iter().enumerate() {
            let input: Arc<str> = match (input, face.inputs.get(at)) {
                (Some(input), _) => text[input.clone()].into(),
                (None, Some(input)) => Arc::clone(input),
                (None, None) => format!("{EXTRA}{at}").into(),
            };
            let source = self.argument(written, value, (&name, &input));
            let is_again = node.inputs.get(&input).is_some();
            let input = if is_again { format!("{AGAIN}{input}").into() } else { input };
            node.inputs.insert(input, source);
        }
        *self.nodes_mut().get_mut(&name).expect("it was inserted") = node;
        Link::new(name, output.unwrap_or_else(|| VALUE.into()))
    }

    /// The source of an input of a call: a literal, an input of the formula, or a formula, whose
    /// node is added before that of the call.
    fn argument(
        &mut self,
        written: Written<'_>,
        value: &Range<usize>,
        (call, input): (&str, &str),
    ) -> Input {
        let Written { node: formula, source, .. } = written;
        let spot = source.spot_of(value);
        let argument = &source.text[value.clone()];
        if let Ok(json) = serde_json::from_str::<Json>(argument) {
            return Input { value: InputValue::Literal(Box::new(json)), spot };
        }
        if let Some(given) = formula.inputs.get(argument) {
            self.used.insert(argument.into());
            return Input { value: given.value.clone(), spot };
        }
        let mut piece = Piece::of(source);
        piece.copy(value.clone());
        let mut node = Node::new(formula.kind.clone());
        (node.version, node.spot) = (formula.version, spot.made());
        node.set.insert(setting_of(self.def).name, piece.setting(spot));
        // A text that is no formula is reported, and its inputs are not.
        let names = self.names_in(&node);
        for (input, given) in formula.inputs.iter() {
            if names.as_ref().is_none_or(|names| names.contains(input)) {
                self.used.insert(Arc::clone(input));
                node.inputs.insert(Arc::clone(input), given.clone());
            }
        }
        let name = self.free_name(&format!("{call}_{}", plain(input)));
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
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
    /// The output called `value`, or the only one.
    output: Option<Arc<str>>,
}

impl GroupFace {
    fn of(group: &GroupDef) -> Self {
        let only = || group.outputs.keys().next().filter(|_| group.outputs.len() == 1);
        let output = if group.outputs.contains_key(VALUE) { None } else { only() };
        Self {
            inputs: group.inputs.keys().cloned().collect(),
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

/// The text of a setting, with its place in the document.
#[derive(Clone, Copy)]
struct Source<'s> {
    setting: &'s Setting,
    text: &'s str,
    /// The place of the first byte, if the document contains the text verbatim.
    first: Option<u32>,
}

impl<'s> Source<'s> {
    fn of(setting: &'s Setting) -> Option<Self> {
        let text = setting.json.as_str()?;
        let place = setting.part(0, 1).filter(|_| setting.places.parts.is_none());
        Some(Self { setting, text, first: place.map(|span| span.start) })
    }

    /// The place of some bytes.
    fn place_of(&self, bytes: &Range<usize>) -> Option<Span> {
        let end = bytes.end.max(bytes.start + 1);
        match self.first {
            Some(first) => Some(Span::new(first as usize + bytes.start, first as usize + end)),
            None => {
                self.setting.places.parts.as_ref()?;
                self.setting.part(bytes.start, end)
            }
        }
    }

    /// The place of some bytes, or that of the setting.
    fn spot_of(&self, bytes: &Range<usize>) -> Spot {
        Spot::new(self.place_of(bytes).unwrap_or_else(|| self.setting.spot.span()))
    }
}

/// A text made of parts of another, which knows their places in the document.
struct Piece<'s> {
    source: Source<'s>,
    text: String,
    parts: Vec<(u32, u32)>,
}

impl<'s> Piece<'s> {
    fn of(source: Source<'s>) -> Self {
        Self { source, text: String::new(), parts: Vec::new() }
    }

    /// Appends bytes of the source.
    fn copy(&mut self, bytes: Range<usize>) {
        let parts = self.source.setting.places.parts.as_deref().unwrap_or_default();
        let after = parts.partition_point(|(byte, _)| *byte as usize <= bytes.start);
        let inner = parts[after..].iter().map(|(byte, _)| *byte as usize);
        let starts = std::iter::once(bytes.start).chain(inner.take_while(|byte| *byte < bytes.end));
        for start in starts {
            let at = self.text.len() + start - bytes.start;
            let place = self.source.place_of(&(start..start + 1));
            self.parts.extend(place.map(|span| (at as u32, span.start)));
        }
        self.text.push_str(&self.source.text[bytes]);
    }

    /// Appends a name in place of what starts at a byte of the source.
    fn insert(&mut self, name: &str, byte: usize) {
        let place = self.source.place_of(&(byte..byte + 1));
        self.parts.extend(place.map(|span| (self.text.len() as u32, span.start)));
        self.text.push_str(name);
    }

    /// The setting with this text.
    fn setting(self, spot: Spot) -> Setting {
        let parts = (!self.parts.is_empty()).then(|| self.parts.into());
        let places = Places { parts, is_quoted: true };
        Setting { json: Json::from(self.text), spot, places }
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
