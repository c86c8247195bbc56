//! The expressions of nodes: calls, with other calls inside them, and formulas.

mod expression;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use millstream_base::Span;
use millstream_document::model::{
    Document, Input, InputValue, Link, Named, Node, NodeKind, OutputDef, OutputFrom,
};
use millstream_node::Zone;
use millstream_node::interface::CALL;

use super::block::{self, Blocks};
use crate::lower::formula::Context;
use crate::name::{write_block_name, write_made_name};
use crate::names::{Callee, EXPRESSION, Face, Sockets, VALUE};
use crate::print::is_special;
use crate::scope::Meaning;
use crate::tree::{Arg, ArgTo, Call, CallWord, ExprId, ExprKind, Tree};
use expression::{Computed, formula_of};

/// Maximal number of inputs that are searched one by one.
const MAX_WALKED: usize = 16;

/// Maximal depth at which calls are nested. The parser reads deeper expressions.
const MAX_NESTED: usize = 80;

/// The depth of an argument in its call: the parentheses, and the brackets of a list of sources.
const BRACKETS: usize = 2;

/// What is known about the outputs of a node.
pub(super) fn face(node: &Node) -> Face<'_> {
    match &node.kind {
        NodeKind::Type(name) if **name == *EXPRESSION => Face::Value,
        NodeKind::Type(name) if **name == *CALL => Face::Called,
        NodeKind::Closure(_) => Face::Value,
        NodeKind::Type(name) => Face::Type(name),
        NodeKind::Group(name) if is_type(name) => Face::Type(name),
        NodeKind::Group(name) => Face::Group(name),
        NodeKind::Zone(zone, name) => Face::Zone(*zone, name),
    }
}

/// Whether the group represents nodes of a type.
fn is_type(group: &str) -> bool {
    group.contains('.') && !group.contains('/')
}

fn reference(name: &str, is_quoted: bool) -> ExprKind<'_> {
    ExprKind::Ref { name: Cow::Borrowed(name), is_quoted }
}

/// The shortest reference to an input.
pub(super) fn input<'d>(cx: Context<'_>, name: &'d str) -> ExprKind<'d> {
    let is_quoted = is_special(name);
    let id = cx.scope.find(name);
    match cx.scope.meaning(id, (name, is_quoted), cx.vocabulary) {
        Meaning::Input => reference(name, is_quoted),
        Meaning::Node | Meaning::Constant => ExprKind::Input(Cow::Borrowed(name)),
    }
}

/// The shortest reference to an output of a node.
pub(super) fn link<'d>(cx: Context<'_>, tree: &mut Tree<'d>, link: &'d Link) -> ExprKind<'d> {
    let (node, output) = (&*link.node, &*link.output);
    let id = cx.scope.find(node);
    for is_quoted in [is_special(node), true] {
        let name = (node, is_quoted);
        let known = (cx.groups, &*tree, cx.vocabulary);
        if cx.scope.meaning(id, name, cx.vocabulary) == Meaning::Node
            && *output == **cx.scope.output_of(id, node, cx.value, known)
        {
            return reference(node, is_quoted);
        }
        if cx.scope.links_output(id, name, output, known) {
            let of = tree.add(reference(node, is_quoted), Span::default());
            return ExprKind::Member(of, Cow::Borrowed(output));
        }
    }
    ExprKind::Link(Box::new((Cow::Borrowed(node), Cow::Borrowed(output))))
}

/// The statement of a node.
pub(super) struct Line<'d> {
    /// The position of the node in its body.
    pub(super) at: u32,
    pub(super) name: &'d Arc<str>,
    pub(super) node: &'d Node,
    pub(super) value: ExprId,
}

/// Writes the nodes of a body.
pub(super) struct BodyWriter<'x, 'd> {
    tree: &'x mut Tree<'d>,
    document: &'d Document,
    blocks: &'x Blocks<'d>,
    /// The group; empty for the document.
    group: &'x str,
    cx: Context<'x>,
    nodes: Vec<(&'d Arc<str>, &'d Node)>,
    by_name: &'d Named<Node>,
    /// The number of readers of each node.
    n_uses: Vec<u32>,
    has_comment: Vec<bool>,
    /// The number of nodes that are not written yet.
    n_left: usize,
    /// The depth of the expression as the parser counts it, or more.
    depth: usize,
    /// The positions of formulas whose calls cannot be nested.
    stays_flat: HashSet<usize>,
    /// The name of a nested node, kept to reuse its memory.
    wanted: String,
}

impl<'x, 'd> BodyWriter<'x, 'd> {
    pub(super) fn new(
        tree: &'x mut Tree<'d>,
        (document, blocks, group): (&'d Document, &'x Blocks<'d>, &'x str),
        cx: Context<'x>,
        (by_name, outputs): (&'d Named<Node>, &'d Named<OutputDef>),
        has_comment: Vec<bool>,
    ) -> Self {
        let mut n_uses = vec![0; by_name.len()];
        let mut count = |link: &Link| {
            if let Some(node) = by_name.get_index_of(&link.node) {
                n_uses[node] += 1;
            }
        };
        for input in by_name.values().flat_map(|node| node.inputs.iter()) {
            for source in input.1.sources() {
                if let InputValue::Link(link) = &source.value {
                    count(link);
                }
            }
        }
        for output in outputs.values() {
            if let OutputFrom::Link(link) = &output.from {
                count(link);
            }
        }
        let nodes: Vec<_> = by_name.iter().collect();
        let n_left = nodes.len();
        let (depth, stays_flat, wanted) = (0, HashSet::new(), String::new());
        Self {
            tree,
            document,
            blocks,
            group,
            cx,
            nodes,
            by_name,
            n_uses,
            has_comment,
            n_left,
            depth,
            stays_flat,
            wanted,
        }
    }

    /// The statements, in order.
    pub(super) fn statements(&mut self) -> Vec<Line<'d>> {
        let mut lines = Vec::with_capacity(self.n_left);
        while self.n_left > 0 {
            self.n_left -= 1;
            let (at, (name, node)) = (self.n_left as u32, self.nodes[self.n_left]);
            let value = self.node(name, node, false).expect("a statement can be any node");
            lines.push(Line { at, name, node, value });
        }
        lines.reverse();
        lines
    }

    fn add(&mut self, kind: ExprKind<'d>) -> ExprId {
        self.tree.add(kind, Span::default())
    }

    /// The expression of a node; `None` if it cannot be nested.
    fn node(&mut self, name: &'d str, node: &'d Node, is_nested: bool) -> Option<ExprId> {
        match formula_of(node).map(|text| self.computed(name, node, text, is_nested)) {
            Some(Computed::Expr(expr)) => Some(expr),
            Some(Computed::Apart) => None,
            Some(Computed::No) | None => Some(self.call(name, node)),
        }
    }

    /// Whether an expression is a call that makes a node.
    fn is_call_of_node(&self, expr: ExprId) -> bool {
        let call = self.tree.call(expr);
        let means = |call| self.cx.groups.callee(call, self.tree, self.cx.vocabulary);
        call.is_some_and(|call| means(call).is_node())
    }

    /// Whether a name after such a call is read as that of an output.
    fn is_call_with_output(&self, expr: ExprId, output: &str) -> bool {
        self.is_call_of_node(expr)
            && self.tree.call(expr).is_some_and(|call| {
                let callee = self.cx.groups.callee(call, self.tree, self.cx.vocabulary);
                self.cx.groups.is_output(&callee, output)
            })
    }

    /// The output that an expression means as a source.
    fn output_of(&self, expr: ExprId) -> Arc<str> {
        let Context { groups, vocabulary, value, .. } = self.cx;
        let face = self.tree.call(expr).map_or(Face::Value, Face::Call);
        Arc::clone(groups.output_of_face(face, value, (self.tree, vocabulary)))
    }

    /// The source of an input, as an expression.
    fn source(&mut self, node: &str, socket: &str, input: &'d Input) -> ExprId {
        let kind = match &input.value {
            InputValue::Literal(json) => ExprKind::Literal(Cow::Owned(json.to_string())),
            InputValue::Input(name) => self::input(self.cx, name),
            InputValue::Link(source) => match self.nested(node, socket, source) {
                Some(expr) => return expr,
                None => link(self.cx, self.tree, source),
            },
            InputValue::Several(sources) => {
                let mut items: Vec<ExprId> = sources
                    .iter()
                    .enumerate()
                    .rev()
                    .map(|(i, source)| self.source(node, &format!("{socket}_{}", i + 1), source))
                    .collect();
                items.reverse();
                let first = self.tree.sources.len() as u32;
                self.tree.sources.extend(items);
                ExprKind::Several(first..self.tree.sources.len() as u32)
            }
        };
        self.add(kind)
    }

    /// Whether a node has one reader and no part that only a statement can have, and may be nested here.
    fn is_alone(&self, at: usize) -> bool {
        self.n_uses[at] == 1
            && !self.has_comment[at]
            && self.blocks.of_node(self.nodes[at].1).is_none()
            && self.depth < MAX_NESTED
    }

    /// The linked node of an input, as a nested call, if it reads back unchanged.
    fn nested(&mut self, node: &str, socket: &str, link: &'d Link) -> Option<ExprId> {
        let at = self.n_left.checked_sub(1)?;
        let (name, source) = self.nodes[at];
        // The output of a formula is its value.
        let is_other = *link.output != *VALUE && formula_of(source).is_some();
        if link.node != *name || !self.is_alone(at) || is_other {
            return None;
        }
        write_made_name(node, socket, &mut self.wanted);
        if *self.wanted != **name {
            return None;
        }
        let depth = self.depth;
        self.n_left = at;
        self.depth += BRACKETS + usize::from(source.muted);
        let expr = self.node(name, source, true);
        self.depth = depth;
        let called = expr.is_some_and(|expr| self.is_call_with_output(expr, &link.output));
        match expr {
            Some(expr) if link.output == self.output_of(expr) => Some(expr),
            Some(expr) if called => {
                Some(self.add(ExprKind::Member(expr, Cow::Borrowed(&link.output))))
            }
            Some(_) | None => {
                self.n_left = at + 1;
                None
            }
        }
    }

    /// The call of a zone that opens a block.
    fn block(&mut self, name: &'d str, node: &'d Node, zone: Zone, group: &'d str) -> ExprId {
        let def = &self.document.groups[group];
        let items = block::items(zone, node);
        let first = self.tree.inputs.len() as u32;
        self.tree.inputs.extend(def.inputs.iter().map(|(name, def)| super::input_line(name, def)));
        let mut at = first + def.inputs.len() as u32;
        let n_given = usize::from(items.is_some());
        let mut args = self.settings(node, n_given);
        for (socket, input) in node.inputs.iter().rev() {
            let value = self.source(name, socket, input);
            let to = if def.inputs.contains_key(socket) {
                at -= 1;
                match &items {
                    Some(items) if items.contains(&**socket) => ArgTo::Item(at),
                    _ => ArgTo::Socket(at),
                }
            } else {
                ArgTo::Input(Cow::Borrowed(&**socket))
            };
            args.push(Arg { to, value, start: 0 });
        }
        write_block_name((!self.group.is_empty()).then_some(self.group), name, &mut self.wanted);
        let is_made = *self.wanted == *group;
        let callee = if is_made { Cow::Borrowed("") } else { Cow::Borrowed(group) };
        self.add_call(node, CallWord::Zone(zone), callee, args)
    }

    /// The settings of a call from the last to the first, without the first `n_given`.
    fn settings(&mut self, node: &'d Node, n_given: usize) -> Vec<Arg<'d>> {
        let mut args = Vec::with_capacity(node.inputs.len() + node.set.len());
        let n = node.set.len() - n_given;
        for (setting, value) in node.set.iter().rev().take(n) {
            let value = self.add(ExprKind::Literal(Cow::Owned(value.json.to_string())));
            args.push(Arg { to: ArgTo::Setting(Cow::Borrowed(setting)), value, start: 0 });
        }
        args
    }

    /// A call with these arguments, from the last to the first.
    fn add_call(
        &mut self,
        node: &Node,
        word: CallWord,
        name: Cow<'d, str>,
        args: Vec<Arg<'d>>,
    ) -> ExprId {
        let first = self.tree.args.len() as u32;
        self.tree.args.extend(args.into_iter().rev());
        let args = first..self.tree.args.len() as u32;
        let (is_muted, version, name_span) = (node.muted, node.version, Span::default());
        let call = Call { word, is_muted, name, name_span, version, args };
        self.tree.add_call(call, Span::default())
    }

    fn call(&mut self, name: &'d str, node: &'d Node) -> ExprId {
        if let Some((zone, group)) = self.blocks.of_node(node) {
            return self.block(name, node, zone, group);
        }
        let (word, callee) = self.callee(node);
        let n_positions = self.n_positions(node);
        let mut args = self.settings(node, 0);
        for (i, (socket, input)) in node.inputs.iter().enumerate().rev() {
            let value = self.source(name, socket, input);
            let to = if i < n_positions {
                ArgTo::Position
            } else {
                ArgTo::Input(Cow::Borrowed(&**socket))
            };
            args.push(Arg { to, value, start: 0 });
        }
        self.add_call(node, word, callee, args)
    }

    /// The number of positional inputs: the first one, and those with names of one letter.
    fn n_positions(&self, node: &Node) -> usize {
        let vocabulary = self.cx.vocabulary;
        let in_order = |sockets: &Sockets, is_short: &dyn Fn(usize, &str) -> bool| {
            let names = node.inputs.iter().zip(&sockets.inputs).enumerate();
            let fits = |(i, ((socket, _), known)): &(usize, ((&Arc<str>, _), &Arc<str>))| {
                *socket == *known && is_short(*i, socket)
            };
            names.take_while(fits).count()
        };
        match &node.kind {
            NodeKind::Type(ty) => {
                let known = vocabulary.known(ty);
                let sockets = vocabulary.sockets_with(&known, &node.set);
                let is_short = |i, socket: &str| i == 0 || socket.len() == 1;
                sockets.map_or(0, |sockets| in_order(&sockets, &is_short))
            }
            NodeKind::Group(ty) if is_type(ty) => {
                let known = vocabulary.known(ty);
                let sockets = vocabulary.sockets_with(&known, &node.set);
                sockets.map_or(0, |sockets| in_order(&sockets, &|i, _| i == 0))
            }
            NodeKind::Group(group) | NodeKind::Zone(_, group) | NodeKind::Closure(group) => {
                let sockets = self.cx.groups.own.get(&**group);
                sockets.map_or(0, |sockets| in_order(sockets, &|i, _| i == 0))
            }
        }
    }

    /// The word and name by which the call of a node refers to its type or group.
    fn callee(&self, node: &'d Node) -> (CallWord, Cow<'d, str>) {
        let vocabulary = self.cx.vocabulary;
        let means = |name: &'d str, is_it: &dyn Fn(&Callee<'_>) -> bool| {
            let (word, version, name) = (CallWord::None, 1, Cow::Borrowed(name));
            let name_span = Span::default();
            let call = Call { word, is_muted: false, name, name_span, version, args: 0..0 };
            is_it(&self.cx.groups.callee(&call, self.tree, vocabulary))
        };
        match &node.kind {
            NodeKind::Zone(zone, group) => (CallWord::Zone(*zone), Cow::Borrowed(&**group)),
            NodeKind::Closure(group) => (CallWord::Closure, Cow::Borrowed(&**group)),
            NodeKind::Group(group) if !is_type(group) => {
                let is_meant = means(group, &|callee| matches!(callee, Callee::Group(_)));
                let word = if is_meant { CallWord::None } else { CallWord::Group };
                (word, Cow::Borrowed(&**group))
            }
            NodeKind::Type(ty) | NodeKind::Group(ty) => {
                let is_it = |callee: &Callee<'_>| matches!(callee, Callee::Type(known) if known.name == *ty);
                let short = vocabulary.shortened(ty).filter(|_| **ty != *EXPRESSION);
                if let Some(short) = short.filter(|short| means(short, &is_it)) {
                    return (CallWord::None, Cow::Borrowed(short));
                }
                let word = if means(ty, &is_it) { CallWord::None } else { CallWord::Node };
                (word, Cow::Borrowed(&**ty))
            }
        }
    }
}
