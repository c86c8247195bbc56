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
use millstream_document::model::{
    Document, GroupDef, InputDef, Named, Node, OutputDef, OutputFrom,
};

use crate::comments::{Comment, Placed, rank_of};
use crate::lower::FORMAT;
use crate::lower::formula::Context;
use crate::names::{Groups, Sockets, VALUE, Vocabulary};
use crate::scope::{NodeOf, Scope};
use crate::tree::{
    ArgTo, ExprId, ExprKind, GroupLine, InputLine, Item, LockLine, OutputLine, Tree, UseLine, What,
    Word,
};
use block::Blocks;
use node::BodyWriter;

/// Passes the tree of a document to `then`.
pub(crate) fn raise<T>(
    document: &Document,
    vocabulary: &Vocabulary<'_>,
    then: impl FnOnce(&Tree<'_>) -> T,
) -> T {
    let rank = |comment: &Comment| rank_of(document, comment);
    let placed = Placed::of(&document.view, rank);
    let value: Arc<str> = Arc::from(VALUE);
    let blocks = Blocks::of(document, &placed);
    let mut raiser = Raiser {
        document,
        vocabulary,
        groups: groups(document, &blocks),
        blocks: &blocks,
        placed,
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
    placed: Placed,
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
    Groups { own: own.collect(), aliases: document.uses.keys().map(|name| &**name).collect() }
}

fn own_groups(document: &Document) -> impl Iterator<Item = (&Arc<str>, &GroupDef)> {
    document.groups.iter().filter(|(_, group)| group.file.is_none())
}

impl<'d> Raiser<'d, '_> {
    /// Adds a statement with the comments of the part at these keys.
    fn item(&mut self, what: What<'d>, keys: &[&str], after_blank: bool) {
        let (before, beside) = match what {
            What::Close | What::End => (self.placed.take_end(keys), None),
            _ => self.placed.take(keys),
        };
        let first = self.tree.comments.len() as u32;
        self.tree.comments.extend(before.into_iter().map(Cow::Owned));
        let before = first..self.tree.comments.len() as u32;
        let has_beside = beside.is_some();
        self.tree.comments.extend(beside.map(Cow::Owned));
        let (span, exprs, is_broken) = (Span::default(), 0..0, false);
        let item = Item { what, span, before, has_beside, exprs, after_blank, is_broken };
        self.tree.items.push(item);
    }

    fn document(&mut self) {
        let document = self.document;
        self.head();
        let mut is_first = true;
        for (name, def) in &document.uses {
            let path = word(&def.path);
            let line = UseLine { name: word(name), path };
            self.item(What::Use(Box::new(line)), &["use", name], is_first);
            is_first = false;
        }
        for (name, lock) in &document.lock {
            let (format, hash) = (lock.format, word(&lock.hash));
            let line = LockLine { name: word(name), format, hash };
            self.item(What::Lock(Box::new(line)), &["lock", name], is_first);
            is_first = false;
        }
        is_first = true;
        for (name, def) in &document.inputs {
            let at = self.input(name, def);
            self.item(What::Input(at), &["inputs", name], is_first);
            is_first = false;
        }
        self.root();
        for (name, group) in own_groups(document) {
            if !self.blocks.contains(name) {
                self.group(name, group);
            }
        }
        let has_comment = self.placed.has(&["view"]);
        let view = self.placed.rest.take().or_else(|| has_comment.then(|| "{}".to_owned()));
        if let Some(view) = view {
            self.item(What::View(Cow::Owned(view)), &["view"], true);
        }
        if self.tree.items.is_empty() {
            // This distinguishes the text from JSON.
            self.item(What::Format(document.format), &["millstream"], false);
        }
        self.item(What::End, &[], true);
    }

    fn head(&mut self) {
        let document = self.document;
        let comments = |raiser: &Self, key: &str| raiser.placed.has(&[key]);
        if let Some(schema) = &document.schema {
            self.item(What::Schema(word(schema)), &["$schema"], false);
        }
        if document.format != FORMAT || comments(self, "millstream") {
            self.item(What::Format(document.format), &["millstream"], false);
        }
        if !document.name.is_empty() || comments(self, "name") {
            self.item(What::Title(word(&document.name)), &["name"], false);
        }
        if document.fps != Document::DEFAULT_FPS || comments(self, "fps") {
            self.item(What::Fps(document.fps), &["fps"], false);
        }
        if document.start_frame != 0 || comments(self, "start_frame") {
            self.item(What::StartFrame(document.start_frame), &["start_frame"], false);
        }
    }

    /// The nodes and outputs of the document. If its expression is just a call, the last node of an
    /// output is written with the output.
    fn root(&mut self) {
        let document = self.document;
        let scope = Self::scope(&document.inputs, &document.nodes);
        let lines = self.body(&scope, &document.nodes, &document.outputs, "");
        let mut outputs = document.outputs.iter().peekable();
        let mut is_first = true;
        for (name, value) in lines {
            let output = outputs.peek().filter(|(output, def)| {
                let is_own = matches!(&def.from, OutputFrom::Link(link)
                    if link.node == *name && *link.output == *VALUE);
                is_own && *output == name && self.placed_nowhere(name)
            });
            let is_value = self.block_of(&document.nodes, name).is_none()
                && matches!(
                    self.tree.kind(value),
                    ExprKind::Call(_) | ExprKind::Formula { .. } | ExprKind::Paren(_)
                );
            if output.is_some()
                && is_value
                && !is_bound(&self.tree, value)
                && let Some((output, def)) = outputs.next()
            {
                let at = self.output(output, def, Some(value));
                self.item(What::Output(at), &["outputs", output], is_first);
            } else {
                self.node(name, value, None, is_first);
            }
            is_first = false;
        }
        is_first = true;
        let left: Vec<_> = outputs.collect();
        for (name, def) in left {
            let value = self.output_value(name, def, &scope);
            let at = self.output(name, def, value);
            self.item(What::Output(at), &["outputs", name], is_first);
            is_first = false;
        }
    }

    fn placed_nowhere(&self, name: &str) -> bool {
        !self.placed.has(&["nodes", name])
    }

    /// The group that is written as the block of a node.
    fn block_of(&self, nodes: &'d Named<Node>, name: &str) -> Option<&'d Arc<str>> {
        Some(self.blocks.of_node(nodes.get(name)?)?.1)
    }

    /// The statement of a node, and its block if it has one.
    fn node(&mut self, name: &'d Arc<str>, value: ExprId, inside: Option<&str>, after_blank: bool) {
        let document = self.document;
        let nodes = match inside {
            Some(group) => &document.groups[group].nodes,
            None => &document.nodes,
        };
        let of_group = inside.map(|group| ["groups", group]);
        let keys: Vec<&str> = of_group.iter().flatten().copied().chain(["nodes", name]).collect();
        let Some(block) = self.block_of(nodes, name) else {
            self.item(What::Node { name: word(name), value }, &keys, after_blank);
            return;
        };
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
        self.item(What::Block { name: word(name), group }, &keys, after_blank);
        self.inside(block, def, &scope);
    }

    fn group(&mut self, name: &'d Arc<str>, def: &'d GroupDef) {
        let scope = Self::scope(&def.inputs, &def.nodes);
        let first = self.tree.inputs.len() as u32;
        let inputs = def.inputs.iter().map(|(name, def)| input_line(name, def));
        self.tree.inputs.extend(inputs);
        let inputs = first..self.tree.inputs.len() as u32;
        let at = self.group_line(word(name), def, (inputs, None), &scope);
        self.item(What::Group(at), &["groups", name], true);
        self.inside(name, def, &scope);
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
        for (node, value) in self.body(scope, &def.nodes, &def.outputs, name) {
            self.node(node, value, Some(name), false);
        }
        self.item(What::Close, &["groups", name], false);
    }

    /// The statements of a body: names and expressions of those nodes that are not nested.
    fn body(
        &mut self,
        scope: &Scope<'d>,
        nodes: &'d Named<Node>,
        outputs: &'d Named<OutputDef>,
        group: &str,
    ) -> Vec<(&'d Arc<str>, ExprId)> {
        let keys = |node: &str| match group {
            "" => self.placed.has(&["nodes", node]),
            group => self.placed.has(&["groups", group, "nodes", node]),
        };
        let has_comment = nodes.keys().map(|name| keys(name)).collect();
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

    fn scope(inputs: &Named<InputDef>, nodes: &'d Named<Node>) -> Scope<'d> {
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

    /// The source of an output; `None` if it is the node of the same name.
    fn output_value(
        &mut self,
        name: &str,
        def: &'d OutputDef,
        scope: &Scope<'d>,
    ) -> Option<ExprId> {
        if let OutputFrom::Link(link) = &def.from
            && *link.node == *name
            && *link.output == *VALUE
        {
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
