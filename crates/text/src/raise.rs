//! From a document to a syntax tree, from which `lower` makes the same document.
//!
//! A body is read from its end: the node of a statement, then the nodes of its inputs from the last
//! to the first, and so on. This is the reverse of the order in which `lower` makes nodes. A node
//! at the place where `lower` would make it, with the name that `lower` would give it, is written
//! as a nested call.

mod block;
mod node;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use millstream_base::Span;
use millstream_base::pages::reserve_in_huge_pages;
use millstream_document::model::{
    Document, GroupDef, InputDef, InputValue, Named, Node, OutputDef, OutputFrom,
};

use crate::comments::{Comment, CommentKind, Part, Placed, rank_of};
use crate::lower::FORMAT;
use crate::lower::formula::Context;
use crate::lower::literal::literal_node;
use crate::names::{Groups, Sockets, VALUE, Vocabulary};
use crate::scope::{NODE, NodeOf, Scope};
use crate::tree::{
    ArgTo, ExprId, ExprKind, GroupLine, InputLine, Item, LockLine, OutputLine, Tree, UseLine, What,
    Word,
};
use block::Blocks;
use node::{BodyWriter, Line};

/// Passes the tree of a document to `then`.
pub(crate) fn raise<T>(
    document: &Document,
    vocabulary: &Vocabulary<'_>,
    then: impl FnOnce(&Tree<'_>) -> T,
) -> T {
    let rank = |comment: &Comment<'_>| rank_of(document, comment);
    let placed = Placed::of(&document.view, rank);
    let value: Arc<str> = Arc::from(VALUE);
    let blocks = Blocks::of(document, &placed);
    let mut raiser = Raiser {
        document,
        vocabulary,
        groups: groups(document, &blocks),
        blocks: &blocks,
        placed,
        n_written: 0,
        tree: Tree::default(),
        value: &value,
    };
    raiser.document();
    then(&raiser.tree)
}

struct Raiser<'d, 'v> {
    document: &'d Document,
    vocabulary: &'v Vocabulary<'v>,
    groups: Groups<'d>,
    blocks: &'v Blocks<'d>,
    placed: Placed<'d>,
    /// The number of groups that are written: those that are no blocks, and the blocks before them.
    n_written: usize,
    tree: Tree<'d>,
    value: &'v Arc<str>,
}

/// The groups of a document that are written, and the names of the documents that it uses.
fn groups<'d>(document: &'d Document, blocks: &Blocks<'d>) -> Groups<'d> {
    let own = own_groups(document).map(|(name, group)| {
        let inputs = group.inputs.keys().cloned().collect();
        let outputs = group.outputs.keys().cloned().collect();
        (&**name, Sockets { inputs, outputs, is_block: blocks.contains(name) })
    });
    Groups::new(own.collect(), document.uses.keys().map(|name| &**name).collect())
}

fn own_groups(document: &Document) -> impl Iterator<Item = (&Arc<str>, &GroupDef)> {
    document.groups.iter().filter(|(_, group)| group.file.is_none())
}

impl<'d> Raiser<'d, '_> {
    /// Adds a statement with the comments of a part.
    fn item(&mut self, what: What<'d>, part: Part, after_blank: bool) {
        let kind = match what {
            What::Close | What::End => CommentKind::End,
            _ => CommentKind::Before,
        };
        let first = self.tree.comments.len() as u32;
        self.tree.comments.extend_from_slice(self.placed.of_part(part, kind));
        let before = first..self.tree.comments.len() as u32;
        let beside = self.placed.of_part(part, CommentKind::Beside);
        let has_beside = !beside.is_empty();
        self.tree.comments.extend_from_slice(beside);
        let (span, exprs, is_broken) = (Span::default(), 0..0, false);
        let item = Item { what, span, before, has_beside, exprs, after_blank, is_broken };
        reserve_in_huge_pages(&mut self.tree.items, 1);
        self.tree.items.push(item);
    }

    fn document(&mut self) {
        let document = self.document;
        if self.placed.has(Part::Start) {
            self.item(What::Start, Part::Start, false);
        }
        self.head();
        let mut is_first = true;
        for (at, (name, def)) in (0..).zip(&document.uses) {
            let path = word(&def.path);
            let line = UseLine { name: word(name), path };
            self.item(What::Use(Box::new(line)), Part::Use(at), is_first);
            is_first = false;
        }
        for (at, (name, lock)) in (0..).zip(&document.lock) {
            let (format, hash) = (lock.format, word(&lock.hash));
            let line = LockLine { name: word(name), format, hash };
            self.item(What::Lock(Box::new(line)), Part::Lock(at), is_first);
            is_first = false;
        }
        is_first = true;
        for (name, def) in &document.inputs {
            let at = self.input(name, def);
            self.item(What::Input(at), Part::Input(at), is_first);
            is_first = false;
        }
        self.root();
        self.groups_until(document.groups.len());
        let has_comment = self.placed.has(Part::View);
        let view = self.placed.rest.take().or_else(|| has_comment.then_some(word("{}")));
        if let Some(view) = view {
            self.item(What::View(view), Part::View, true);
        }
        if self.tree.items.is_empty() {
            // So that it is told from JSON.
            self.item(What::Format(document.format), Part::FORMAT, false);
        }
        self.item(What::End, Part::End, true);
    }

    fn head(&mut self) {
        let document = self.document;
        if let Some(schema) = &document.schema {
            self.item(What::Schema(word(schema)), Part::SCHEMA, false);
        }
        if document.format != FORMAT || self.placed.has(Part::FORMAT) {
            self.item(What::Format(document.format), Part::FORMAT, false);
        }
        if !document.name.is_empty() || self.placed.has(Part::TITLE) {
            self.item(What::Title(word(&document.name)), Part::TITLE, false);
        }
        if document.fps != Document::DEFAULT_FPS || self.placed.has(Part::FPS) {
            self.item(What::Fps(document.fps), Part::FPS, false);
        }
        if document.start_frame != 0 || self.placed.has(Part::START_FRAME) {
            self.item(What::StartFrame(document.start_frame), Part::START_FRAME, false);
        }
    }

    /// The nodes and outputs of the document. If its expression is just a call, the last node of an
    /// output is written with the output.
    fn root(&mut self) {
        let document = self.document;
        let scope = Self::scope(&document.inputs, &document.nodes);
        let lines = self.body(&scope, &document.nodes, &document.outputs, None);
        let mut outputs = (0..).zip(&document.outputs).peekable();
        let mut is_first = true;
        for line in lines {
            let (name, value, part) = (line.name, line.value, Part::Node(line.at));
            let output = outputs.peek().filter(|(_, (output, def))| {
                *output == name && self.is_of_node(name, def, &scope) && !self.placed.has(part)
            });
            let is_output = output.is_some();
            let literal = output.and_then(|(_, (_, def))| self.literal(line.node, def));
            let is_written = |(_, (_, def)): &(u32, (_, &'d OutputDef))| match self.tree.kind(value)
            {
                ExprKind::Call(_) | ExprKind::Formula { .. } | ExprKind::Paren(_) => true,
                ExprKind::Literal(text) => serde_json::from_str(text).is_ok_and(|json| {
                    literal_node(self.vocabulary.registry, &def.ty, &json) == Ok(None)
                }),
                _ => false,
            };
            let is_value = literal.is_some()
                || self.block_of(&line).is_none() && output.is_some_and(is_written);
            let value = literal.map_or(value, |kind| self.tree.add(kind, Span::default()));
            if is_output
                && is_value
                && !is_bound(&self.tree, value)
                && let Some((at, (output, def))) = outputs.next()
            {
                let line = self.output(output, def, Some(value));
                self.item(What::Output(line), Part::Output(at), is_first);
            } else {
                self.node(&line, part, is_first);
            }
            is_first = false;
        }
        is_first = true;
        let left: Vec<_> = outputs.collect();
        for (at, (name, def)) in left {
            let value = self.output_value(name, def, &scope);
            let line = self.output(name, def, value);
            self.item(What::Output(line), Part::Output(at), is_first);
            is_first = false;
        }
    }

    /// The literal of an output, if this is its node.
    fn literal(&self, node: &'d Node, output: &OutputDef) -> Option<ExprKind<'d>> {
        let (_, input) = node.inputs.iter().next()?;
        let InputValue::Literal(json) = &input.value else { return None };
        let made = literal_node(self.vocabulary.registry, &output.ty, json).ok()??;
        (made == *node).then(|| ExprKind::Literal(Cow::Owned(json.to_string())))
    }

    /// The group that is written as the block of a node.
    fn block_of(&self, line: &Line<'d>) -> Option<&'d Arc<str>> {
        Some(self.blocks.of_node(line.node)?.1)
    }

    /// The statement of a node, and its block if it has one.
    fn node(&mut self, line: &Line<'d>, part: Part, after_blank: bool) {
        let document = self.document;
        let (name, value) = (word(line.name), line.value);
        let Some(block) = self.block_of(line) else {
            self.item(What::Node { name, value }, part, after_blank);
            return;
        };
        let above = self.blocks.n_above(block);
        if let Some(n) = above {
            self.groups_until(n);
        }
        let after_blank = after_blank || above.is_some();
        let def = &document.groups[block];
        let call = self.tree.call(value).cloned().expect("zones are calls");
        let sockets = self.tree.args_of(&call.args).iter().filter_map(|arg| match arg.to {
            ArgTo::Socket(at) | ArgTo::Item(at) => Some(at),
            _ => None,
        });
        let first = sockets.min().unwrap_or_default();
        let inputs = first..first + def.inputs.len() as u32;
        let scope = Self::scope(&def.inputs, &def.nodes);
        let group = self.group_line(call.name, def, (inputs, Some(value)), &scope);
        self.item(What::Block { name, group }, part, after_blank);
        self.inside(block, def, &scope);
    }

    /// Writes groups that are no blocks, until this many groups are written.
    fn groups_until(&mut self, n: usize) {
        let left = own_groups(self.document).take(n).skip(self.n_written);
        for (name, group) in left {
            if !self.blocks.contains(name) {
                self.group(name, group);
            }
        }
        self.n_written = n;
    }

    fn group(&mut self, name: &'d Arc<str>, def: &'d GroupDef) {
        let scope = Self::scope(&def.inputs, &def.nodes);
        let first = self.tree.inputs.len() as u32;
        let inputs = def.inputs.iter().map(|(name, def)| input_line(name, def));
        self.tree.inputs.extend(inputs);
        let inputs = first..self.tree.inputs.len() as u32;
        let at = self.group_line(word(name), def, (inputs, None), &scope);
        self.item(What::Group(at), Part::Group(self.position(name)), true);
        self.inside(name, def, &scope);
    }

    /// The position of a group.
    fn position(&self, group: &str) -> u32 {
        self.document.groups.get_index_of(group).expect("the group exists") as u32
    }

    /// The first line of a group.
    fn group_line(
        &mut self,
        name: Word<'d>,
        def: &'d GroupDef,
        (inputs, zone): (Range<u32>, Option<ExprId>),
        scope: &Scope<'d>,
    ) -> u32 {
        // Their expressions add no outputs.
        let first = self.tree.outputs.len() as u32;
        for (name, def) in &def.outputs {
            let value = self.output_value(name, def, scope);
            self.output(name, def, value);
        }
        let outputs = first..self.tree.outputs.len() as u32;
        let about = def.about.as_deref().map(Cow::Borrowed);
        let line =
            GroupLine { name, is_block: zone.is_some(), zone, inputs, outputs, about, end: 0 };
        self.tree.groups.push(line);
        self.tree.groups.len() as u32 - 1
    }

    /// The statements inside a group, and its end.
    fn inside(&mut self, name: &'d Arc<str>, def: &'d GroupDef, scope: &Scope<'d>) {
        let group = self.position(name);
        for line in self.body(scope, &def.nodes, &def.outputs, Some((name, group))) {
            self.node(&line, Part::NodeOf(group, line.at), false);
        }
        self.item(What::Close, Part::EndOf(group), false);
    }

    /// The statements of a body: those nodes that are not nested.
    fn body(
        &mut self,
        scope: &Scope<'d>,
        nodes: &'d Named<Node>,
        outputs: &'d Named<OutputDef>,
        group: Option<(&str, u32)>,
    ) -> Vec<Line<'d>> {
        let part = |at| group.map_or(Part::Node(at), |(_, group)| Part::NodeOf(group, at));
        let has_comment = (0..nodes.len() as u32).map(|at| self.placed.has(part(at))).collect();
        let group = group.map_or("", |(name, _)| name);
        let mut writer = BodyWriter::new(
            &mut self.tree,
            (self.document, self.blocks, group),
            Context {
                vocabulary: self.vocabulary,
                groups: &self.groups,
                scope,
                names: &[],
                value: self.value,
            },
            (nodes, outputs),
            has_comment,
        );
        writer.statements()
    }

    fn scope(inputs: &'d Named<InputDef>, nodes: &'d Named<Node>) -> Scope<'d> {
        let mut scope = Scope::default();
        scope.reserve(inputs.len() + nodes.len());
        for name in inputs.keys() {
            scope.add_input(name);
        }
        for (name, node) in nodes {
            scope.add_node(name, NodeOf::Statement, node::face(node));
        }
        scope
    }

    fn input(&mut self, name: &'d Arc<str>, def: &'d InputDef) -> u32 {
        self.tree.inputs.push(input_line(name, def));
        self.tree.inputs.len() as u32 - 1
    }

    fn output(&mut self, name: &'d Arc<str>, def: &'d OutputDef, value: Option<ExprId>) -> u32 {
        self.tree.outputs.push(OutputLine {
            name: word(name),
            ty: word(&def.ty),
            value,
            about: def.about.as_deref().map(Cow::Borrowed),
            unit: def.unit.as_deref().map(Cow::Borrowed),
            span: Span::default(),
        });
        self.tree.outputs.len() as u32 - 1
    }

    /// Whether the source of an output is what the name of this node means.
    fn is_of_node(&self, name: &str, def: &OutputDef, scope: &Scope<'d>) -> bool {
        let known = (&self.groups, &self.tree, self.vocabulary);
        matches!(&def.from, OutputFrom::Link(link) if *link.node == *name
            && link.output == *scope.output_of(NODE, name, self.value, known))
    }

    /// The source of an output; `None` if it is the node of the same name.
    fn output_value(
        &mut self,
        name: &str,
        def: &'d OutputDef,
        scope: &Scope<'d>,
    ) -> Option<ExprId> {
        if self.is_of_node(name, def, scope) {
            return None;
        }
        let cx = Context {
            vocabulary: self.vocabulary,
            groups: &self.groups,
            scope,
            names: &[],
            value: self.value,
        };
        let kind = match &def.from {
            OutputFrom::Link(link) => node::link(cx, &mut self.tree, link),
            OutputFrom::Input(input) => node::input(cx, input),
        };
        Some(self.tree.add(kind, Span::default()))
    }
}

fn input_line<'d>(name: &'d Arc<str>, def: &'d InputDef) -> InputLine<'d> {
    InputLine {
        name: word(name),
        ty: word(&def.ty),
        default: def.default.as_ref().map(|json| Cow::Owned(json.to_string())),
        default_span: Span::default(),
        min: def.min,
        max: def.max,
        step: def.step,
        about: def.about.as_deref().map(Cow::Borrowed),
        unit: def.unit.as_deref().map(Cow::Borrowed),
        span: Span::default(),
    }
}

/// Whether letters of a formula are bound after `where`, which outputs use for their notes.
fn is_bound(tree: &Tree<'_>, expr: ExprId) -> bool {
    matches!(tree.kind(expr), ExprKind::Formula { bound, .. } if !bound.is_empty())
}

fn word(text: &str) -> Word<'_> {
    Cow::Borrowed(text)
}
