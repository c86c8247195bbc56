//! The nodes and outputs of a body.
//!
//! A statement makes its node after the nodes of the calls inside it. A node without a name of its
//! own is named after the node and the input that it feeds, as in `area_x`.

use std::borrow::Cow;
use std::sync::Arc;

use millstream_base::{Place, Span};
use millstream_document::model::{
    Input, InputValue, Link, Named, Node, NodeKind, OutputDef, OutputFrom, Places, Setting,
};
use millstream_document::{CheckError, Fields, LoadError, Spot, name_problem};
use serde_json::Value as Json;

use super::blocks::{From, links_outside};
use super::formula::{self, Context, Formula, Letter};
use super::literal::literal_node;
use super::made_names::MadeNames;
use super::{Body, Found, Shared, check_name};
use crate::error::{Problem, TextError, shortened};
use crate::json;
use crate::name::write_made_name;
use crate::names::{Face, Groups, Vocabulary};
use crate::parse::MAX_PROBLEMS;
use crate::scope::{MANY, MemberOf, NO_NAME, NODE, NameId, NodeOf, Scope, TOGETHER, Target};
use crate::tree::{ExprId, ExprKind, Item, OutputLine, Tree, What, at};

/// Number of statements whose names are looked up ahead.
const AHEAD: usize = 32;

/// Makes the nodes of one body.
pub(super) struct Maker<'a, 's, 'f> {
    pub(super) shared: &'s Shared<'a>,
    found: &'s mut Found<'f>,
    /// The group; empty for the document.
    group: &'a str,
    bodies: &'s [Body<'a>],
    /// The position of this body.
    at: usize,
    pub(super) scope: Scope<'a>,
    pub(super) nodes: Named<Node>,
    outputs: Named<OutputDef>,
    pub(super) made_names: MadeNames,
    /// The last formula, kept to reuse its memory.
    formula: Formula,
}

pub(super) type Made<T> = Result<T, Problem>;

impl<'a, 's, 'f> Maker<'a, 's, 'f> {
    /// Whether further problems are only counted.
    pub(super) fn has_many_problems(&self) -> bool {
        self.found.problems.len() >= MAX_PROBLEMS
    }

    /// Makes the nodes and outputs of all statements, followed by the outputs of a group.
    pub(super) fn made(
        shared: &'s Shared<'a>,
        bodies: &'s [Body<'a>],
        at: usize,
        found: &'s mut Found<'f>,
    ) -> (Named<Node>, Named<OutputDef>) {
        let scope = Scope::default();
        let (nodes, by_name) =
            (Named::with_hasher(scope.hasher.clone()), Named::with_hasher(scope.hasher.clone()));
        let body = &bodies[at];
        let mut maker = Self {
            shared,
            found,
            group: body.group,
            bodies,
            at,
            scope,
            nodes,
            outputs: by_name,
            made_names: MadeNames::default(),
            formula: Formula::default(),
        };
        let names = maker.names(body);
        let is_output = |item: &&&Item<'_>| matches!(item.what, What::Output(_));
        let n_outputs = body.items.iter().filter(is_output).count();
        maker.nodes.reserve(body.items.len() - n_outputs);
        maker.outputs.reserve(n_outputs + body.outputs.len());
        let mut of_outputs = Vec::with_capacity(AHEAD);
        for (items, names) in body.items.chunks(AHEAD).zip(names.chunks(AHEAD)) {
            maker.scope.met(names);
            maker.find_names(items);
            let known = names.iter().filter_map(|id| maker.scope.name(*id));
            maker.nodes.read_ahead(known.map(|name| name.hash));
            of_outputs.clear();
            of_outputs.extend(items.iter().filter_map(|item| maker.output_of(item)));
            maker.outputs.read_ahead(of_outputs.iter().map(|(hash, _)| *hash));
            let mut outputs = of_outputs.iter();
            for (item, name) in items.iter().zip(names) {
                if let What::Output(_) = &item.what {
                    let (hash, line) = outputs.next().expect("each output was hashed");
                    maker.output(*hash, line, item.is_broken);
                } else if let Some((_, value)) = shared.tree.node_of(&item.what) {
                    maker.statement(*name, value, item);
                }
            }
        }
        maker.find_names(body.opener.as_slice());
        for line in body.outputs {
            maker.output(maker.scope.hasher.hash(&line.name), line, false);
        }
        maker.check_links();
        (maker.nodes, maker.outputs)
    }

    /// The output that a statement adds, with the hash of its name.
    fn output_of(&self, item: &Item<'_>) -> Option<(u32, &'a OutputLine<'a>)> {
        let What::Output(output) = item.what else { return None };
        let line = &self.shared.tree.outputs[output as usize];
        Some((self.scope.hasher.hash(&line.name), line))
    }

    /// Reports links from a block to nodes and inputs around it.
    fn check_links(&mut self) {
        let body = (self.bodies, self.at);
        let has_node = |name: &str| {
            self.scope.has_node(self.scope.hasher.hash(name), name) || self.nodes.contains_key(name)
        };
        let outside = links_outside(body, (&self.nodes, &self.outputs), has_node);
        let mut parts = Vec::with_capacity(outside.len());
        for (part, span, name) in outside {
            let error = TextError::OutsideOfBlock { name: shortened(name) };
            let problem = Problem::new(span.start as usize, span.end as usize, error);
            self.found.report(self.group, &problem);
            parts.push(match part {
                From::Node(name) => (true, Arc::from(name)),
                From::Output(name) => (false, Arc::from(name)),
            });
        }
        // Checking does not report them again.
        for (is_node, name) in parts {
            let name: Arc<str> = name;
            let spot = if is_node {
                self.nodes.get_mut(&name).map(|node| &mut node.spot)
            } else {
                self.outputs.get_mut(&name).map(|output| &mut output.spot)
            };
            if let Some(spot) = spot {
                *spot = spot.unreadable();
            }
        }
    }

    /// Adds the names of the body to its scope; returns the name of each node with a new name.
    fn names(&mut self, body: &Body<'a>) -> Vec<NameId> {
        let (items, tree) = (&body.items, self.shared.tree);
        self.scope.reserve(body.inputs.len() + items.len());
        for line in &body.inputs {
            self.scope.add_input(&line.name);
        }
        let mut names = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            if i % AHEAD == 0 && items.len() > MANY {
                let ahead = items[i..].iter().take(AHEAD);
                self.scope.read_ahead(ahead.filter_map(|item| item.what.node_name()));
            }
            let Some((name, value)) = tree.node_of(&item.what) else {
                names.push(NO_NAME);
                continue;
            };
            let face = if item.is_broken { Face::Unknown } else { self.face(value) };
            let new = self.scope.add_node(name, NodeOf::Statement, face);
            names.push(new.unwrap_or(NO_NAME));
            let span = Span { end: item.span.start + name.len() as u32, ..item.span };
            check_name("a node", "node", name, span, new.is_none(), self.group, self.found);
        }
        let lines = items.iter().filter_map(|item| match item.what {
            What::Output(output) => Some(&tree.outputs[output as usize]),
            _ => None,
        });
        for line in lines.chain(body.outputs) {
            if let Some(value) = line.value
                && self.makes_node(value)
            {
                let face = self.face(value);
                self.scope.add_node(&line.name, NodeOf::Output, face);
            }
        }
        names
    }

    /// Looks up the names that statements refer to.
    fn find_names(&mut self, items: &[&'a Item<'a>]) {
        let (mut names, mut exprs) = ([""; TOGETHER], [0; TOGETHER]);
        let mut n = 0;
        let tree = self.shared.tree;
        for expr in items.iter().flat_map(|item| item.exprs.clone()) {
            let ExprKind::Ref { name, .. } = tree.kind(expr) else { continue };
            (names[n], exprs[n]) = (name, expr);
            n += 1;
            if n == TOGETHER {
                self.find_together(&names, &exprs);
                n = 0;
            }
        }
        self.find_together(&names[..n], &exprs[..n]);
    }

    fn find_together(&mut self, names: &[&str], exprs: &[ExprId]) {
        let mut ids = [NO_NAME; TOGETHER];
        self.scope.find_all(names, self.shared.vocabulary, &mut ids);
        for (expr, id) in exprs.iter().zip(ids) {
            self.found.names[*expr as usize] = id;
        }
    }

    /// Whether an output gets a node of its own, whatever the names mean.
    fn makes_node(&self, value: ExprId) -> bool {
        matches!(
            self.shared.tree.kind(value),
            ExprKind::Call(_)
                | ExprKind::Formula { .. }
                | ExprKind::Paren(_)
                | ExprKind::Literal(_)
        )
    }

    /// What is known about the outputs of a node.
    fn face(&self, value: ExprId) -> Face<'a> {
        self.shared.tree.call(value).map_or(Face::Value, Face::Call)
    }

    /// Makes the node of a statement; a second node of the same name was reported.
    fn statement(&mut self, name: NameId, value: ExprId, item: &Item<'_>) {
        let Some(name) = self.scope.name(name) else { return };
        let (hash, name) = (name.hash, name.shared());
        let spot = Spot::new(item.span);
        if item.is_broken {
            self.add((hash, name), unreadable(spot));
        } else {
            self.node((hash, name), value, spot);
        }
    }

    /// Makes the node of an expression; one with a problem is marked.
    fn node(&mut self, (hash, name): (u32, Arc<str>), value: ExprId, spot: Spot) {
        match self.node_of(&name, value) {
            Ok(mut node) => {
                node.spot = spot;
                self.add((hash, name), node);
            }
            Err(problem) => {
                let path = self.path(&name);
                self.found.report(&path, &problem);
                self.add((hash, name), unreadable(spot));
            }
        }
    }

    fn path(&self, name: &str) -> String {
        if self.group.is_empty() { name.to_owned() } else { format!("{}/{name}", self.group) }
    }

    /// Adds a node with a new name, whose hash is known.
    fn add(&mut self, (hash, name): (u32, Arc<str>), node: Node) {
        self.made_names.used(hash, &name);
        self.found.n_nodes += 1;
        let limit = self.found.limits.nodes;
        if self.found.n_nodes > limit {
            if self.found.n_nodes == limit + 1 {
                let place = Place::with_span(&*self.path(&name), node.spot.span());
                self.found.problems.report(place, &LoadError::TooManyNodes { limit });
                self.found.is_lost = true;
            }
            return;
        }
        self.nodes.append(hash, name, node);
    }

    /// Adds an output, the hash of whose name is known, unless there is one of its name.
    fn output(&mut self, hash: u32, line: &'a OutputLine<'a>, is_broken: bool) {
        let is_known = self.outputs.slot_with(hash, &line.name).is_some();
        check_name("an output", "output", &line.name, line.span, is_known, self.group, self.found);
        if is_known {
            return;
        }
        let spot = Spot::new(line.span);
        let mut spot = if is_broken { spot.unreadable() } else { spot };
        let value = Arc::clone(&self.shared.value);
        let from = match line.value {
            // Names of outputs are checked above.
            None => {
                let name = &*line.name;
                let output = self.scope.output_of(NODE, name, &value, self.known());
                let output = Arc::clone(output);
                OutputFrom::Link(Link { node: self.scope.node(name), output })
            }
            Some(expr) => match self.output_source((&*line.name, &*line.ty), expr) {
                Ok(from) => from,
                Err(problem) => {
                    self.found.report(self.group, &problem);
                    spot = spot.unreadable();
                    OutputFrom::Link(Link { node: Arc::from(""), output: value })
                }
            },
        };
        let shared = |text: &Option<Cow<'_, str>>| text.as_deref().map(Arc::from);
        let mut def = OutputDef::new(self.shared.vocabulary.share(&line.ty), from);
        (def.about, def.unit, def.spot) = (shared(&line.about), shared(&line.unit), spot);
        if let Some(value) = line.value {
            def.source_spot = Spot::new(self.shared.tree.span(value));
        }
        self.outputs.append(hash, Arc::from(&*line.name), def);
    }

    fn output_source(&mut self, (name, ty): (&'a str, &str), expr: ExprId) -> Made<OutputFrom> {
        match self.target(expr) {
            Some(Target::Input(input)) => return Ok(OutputFrom::Input(input)),
            Some(target @ Target::Link(..)) => {
                let span = self.shared.tree.span(expr);
                self.scope.check_link(&target, &self.shared.value, span)?;
                let Target::Link(node, output) = target else { unreachable!("it is a link") };
                return Ok(OutputFrom::Link(Link { node, output }));
            }
            Some(Target::Constant) | None => {}
        }
        let (expr, output) = self.called(expr);
        let own = self.scope.name(self.scope.find(name));
        let own = own.filter(|own| own.node == NodeOf::Output);
        let node = match own.map(|own| (own.hash, own.shared())) {
            Some(own) => own,
            None => self.free_name(|wanted| wanted.push_str(name)),
        };
        let link = Link { node: Arc::clone(&node.1), output };
        let spot = Spot::new(self.shared.tree.span(expr));
        match self.literal((name, ty), expr) {
            Ok(Some(literal)) => self.add(node, literal),
            Ok(None) => self.node(node, expr, spot),
            Err(problem) => {
                self.add(node, unreadable(spot));
                return Err(problem);
            }
        }
        Ok(OutputFrom::Link(link))
    }

    /// The node of a literal that has the type of an output.
    fn literal(&self, (name, ty): (&str, &str), expr: ExprId) -> Made<Option<Node>> {
        let ExprKind::Literal(text) = self.shared.tree.kind(expr) else { return Ok(None) };
        let json = self.json(text, expr)?;
        let span = self.shared.tree.span(expr);
        let node = literal_node(self.shared.vocabulary.registry, ty, &json).map_err(|error| {
            let what = format!("value of output `{}`", shortened(name));
            let error = TextError::Value(CheckError::WrongValue { what, error });
            Problem::new(span.start as usize, span.end as usize, error)
        })?;
        Ok(node.map(|mut node| {
            node.spot = Spot::new(span);
            node.inputs.values_mut().for_each(|input| input.spot = Spot::new(span));
            node
        }))
    }

    /// The value of a literal.
    fn json(&self, text: &str, expr: ExprId) -> Made<Json> {
        let span = self.shared.tree.span(expr);
        json::read(text)
            .map_err(|message| Problem::syntax(span.start as usize, span.end as usize, message))
    }

    /// The call and the output of an expression such as `f(x).y`; otherwise the expression itself,
    /// and the output that it means.
    fn called(&self, expr: ExprId) -> (ExprId, Arc<str>) {
        let (groups, tree, vocabulary) = self.known();
        let value = &self.shared.value;
        if let ExprKind::Member(of, output) = tree.kind(expr)
            && name_problem(output).is_none()
            && let Some(call) = tree.call(*of)
            && let callee = groups.callee(call, tree, vocabulary)
            && callee.is_node()
            && groups.is_output(&callee, output)
        {
            return (*of, Arc::from(&**output));
        }
        let face = self.face(expr);
        (expr, Arc::clone(groups.output_of_face(face, value, (tree, vocabulary))))
    }

    /// What names of calls and references mean.
    fn known(&self) -> (&'s Groups<'a>, &'s Tree<'a>, &'s Vocabulary<'a>) {
        (&self.shared.groups, self.shared.tree, self.shared.vocabulary)
    }

    /// The target of an expression that is a reference and not a formula.
    fn target(&self, expr: ExprId) -> Option<Target> {
        let (tree, value) = (self.shared.tree, &self.shared.value);
        Some(match tree.kind(expr) {
            ExprKind::Ref { name, is_quoted } => {
                let id = self.found.names[expr as usize];
                self.scope.resolve(id, (name, *is_quoted), value, self.known())
            }
            ExprKind::Input(name) => Target::Input(self.scope.node(name)),
            ExprKind::Link(link) => Target::Link(self.scope.node(&link.0), Arc::from(&*link.1)),
            ExprKind::Member(of, member) => {
                let ExprKind::Ref { name, is_quoted } = tree.kind(*of) else { return None };
                match self.scope.resolve_member(
                    self.found.names[*of as usize],
                    (name, *is_quoted),
                    member,
                    value,
                    self.known(),
                ) {
                    MemberOf::Link(target) => target,
                    MemberOf::Component(_) => return None,
                }
            }
            _ => return None,
        })
    }

    /// The node that an expression describes.
    fn node_of(&mut self, name: &Arc<str>, expr: ExprId) -> Made<Node> {
        let tree = self.shared.tree;
        if let Some(call) = tree.call(expr) {
            let callee = self.shared.groups.callee(call, tree, self.shared.vocabulary);
            if callee.is_node() {
                return self.call(name, call, &callee);
            }
        }
        if let ExprKind::Literal(value) = tree.kind(expr)
            && !value.starts_with(|c: char| c.is_ascii_digit() || "-.tf".contains(c))
        {
            let what = match value.bytes().next() {
                Some(b'"') => "a text",
                Some(b'n') => "null",
                Some(b'{') => "an object",
                _ => "a list",
            };
            return Err(self.problem(expr, TextError::NoNode { what }));
        }
        if let ExprKind::Several(_) = tree.kind(expr) {
            return Err(self.problem(expr, TextError::NoNode { what: "a list" }));
        }
        self.formula_node(name, expr)
    }

    fn problem(&self, expr: ExprId, error: TextError) -> Problem {
        let span = self.shared.tree.span(expr);
        Problem::new(span.start as usize, span.end as usize, error)
    }

    /// The node that computes a formula. Parentheses around the whole expression mark it as one.
    fn formula_node(&mut self, name: &Arc<str>, expr: ExprId) -> Made<Node> {
        let shared = self.shared;
        let tree = shared.tree;
        let outer = expr;
        let expr = if let ExprKind::Paren(inner) = tree.kind(expr) { *inner } else { expr };
        let cx = Context {
            vocabulary: shared.vocabulary,
            groups: &shared.groups,
            scope: &self.scope,
            names: &self.found.names,
            value: &shared.value,
        };
        // Nested nodes are made after the formula is written, which only finds their names.
        let mut nested = Vec::new();
        let mut written = std::mem::take(&mut self.formula);
        let (names, existing) = (&mut self.made_names, (&self.scope, &self.nodes));
        let result = formula::write(cx, tree, expr, &mut written, &mut |call| {
            let number = (nested.len() + 1).to_string();
            let free = names.free(existing, |wanted| write_made_name(name, &number, wanted));
            nested.push((free.clone(), call));
            Ok(free.1)
        });
        let node = result.and_then(|()| {
            for (name, call) in nested {
                self.node(name, call, Spot::new(tree.span(call)));
            }
            self.written(name, (expr, outer), &mut written)
        });
        self.formula = written;
        node
    }

    /// The node of a formula that has been written.
    fn written(
        &mut self,
        name: &Arc<str>,
        (expr, outer): (ExprId, ExprId),
        Formula { text, places, letters }: &mut Formula,
    ) -> Made<Node> {
        let (shared, tree) = (self.shared, self.shared.tree);
        let ty = Arc::clone(&shared.expression);
        let mut node = Node::new(NodeKind::Type(ty));
        let span = tree.span(expr);
        let source = shared.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let is_verbatim = *source == **text;
        let parts = (!is_verbatim).then(|| places.as_slice().into());
        let places = Places { parts, is_quoted: false };
        let spot = Spot::new(if is_verbatim { span } else { tree.span(outer) });
        let setting = Setting { json: Json::from(text.as_str()), spot, places };
        let text = Arc::clone(&shared.expression_text);
        node.set = Fields::from_distinct([(text, setting)].into_iter());
        let mut inputs = Vec::with_capacity(letters.len());
        for (letter, source) in letters.drain(..) {
            let (value, at) = match source {
                Letter::Target(target, at) => (value_of(target), at),
                Letter::Bound(at, _) => (self.source(name, &letter, at)?, at),
            };
            inputs.push((letter, Input { value, spot: Spot::new(tree.span(at)) }));
        }
        node.inputs = Fields::from_distinct(inputs.into_iter());
        Ok(node)
    }

    /// The source of an input.
    pub(super) fn source(
        &mut self,
        name: &Arc<str>,
        socket: &str,
        expr: ExprId,
    ) -> Made<InputValue> {
        let tree = self.shared.tree;
        match tree.kind(expr) {
            ExprKind::Literal(text) => {
                return Ok(InputValue::Literal(self.json(text, expr)?.into()));
            }
            ExprKind::Several(sources) => {
                let mut several = Vec::with_capacity(sources.len());
                for (i, source) in tree.sources[at(sources)].iter().enumerate() {
                    let value = self.source(name, &format!("{socket}_{}", i + 1), *source)?;
                    several.push(Input { value, spot: Spot::new(tree.span(*source)) });
                }
                return Ok(InputValue::Several(several));
            }
            _ => {}
        }
        match self.target(expr) {
            Some(Target::Constant) | None => {}
            Some(target) => {
                self.scope.check_link(&target, &self.shared.value, tree.span(expr))?;
                return Ok(value_of(target));
            }
        }
        let (expr, output) = self.called(expr);
        let node = self.free_name(|wanted| write_made_name(name, socket, wanted));
        let link = Link { node: Arc::clone(&node.1), output };
        self.node(node, expr, Spot::new(tree.span(expr)));
        Ok(InputValue::Link(link))
    }
}

/// A node of which only the place is known.
fn unreadable(spot: Spot) -> Node {
    let mut node = Node::new(NodeKind::Type(Arc::from("")));
    node.spot = spot.unreadable();
    node
}

fn value_of(target: Target) -> InputValue {
    match target {
        Target::Input(name) => InputValue::Input(name),
        Target::Link(node, output) => InputValue::Link(Link { node, output }),
        Target::Constant => unreachable!("constants are parts of formulas"),
    }
}
