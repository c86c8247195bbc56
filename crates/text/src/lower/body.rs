//! The nodes and outputs of a body.
//!
//! Each statement makes its node after the nodes of the calls inside it. A node without a name of
//! its own is called after the node and the input that it feeds, as in `area_x`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use millstream_base::{Place, Span};
use millstream_document::model::{
    Input, InputValue, Link, Named, Node, NodeKind, OutputDef, OutputFrom, Places, Setting,
};
use millstream_document::{Fields, FreeNames, LoadError, Spot, name_problem};
use serde_json::Value as Json;

use super::formula::{self, Context, Formula, Letter};
use super::{Found, Shared, check_name};
use crate::error::{Problem, TextError, shortened};
use crate::names::{Callee, EXPRESSION, Face, MemberOf, Scope, Sockets, Target};
use crate::tree::{ArgTo, Call, ExprId, ExprKind, InputLine, Item, OutputLine, What, at};

/// Names that are made do not get longer than this; they are cut at their front.
const MAX_MADE: usize = 100;

/// Makes the nodes of one body.
pub(super) struct Maker<'a, 's, 'f> {
    shared: &'s Shared<'a>,
    found: &'s mut Found<'f>,
    /// The group; empty for the document.
    group: &'a str,
    scope: Scope<'a>,
    nodes: Named<Node>,
    outputs: Named<OutputDef>,
    /// Outputs with a node of the same name.
    with_node: HashSet<&'a str>,
    /// Number of statements that made their node.
    n_made: usize,
    /// Names that were made.
    made: HashSet<Arc<str>>,
    free: FreeNames,
}

type Made<T> = Result<T, Problem>;

impl<'a, 's, 'f> Maker<'a, 's, 'f> {
    /// The names of a body.
    pub(super) fn new(
        shared: &'s Shared<'a>,
        group: &'a str,
        inputs: impl Iterator<Item = &'a InputLine<'a>>,
        items: &[&'a Item<'a>],
        outputs: &'a [OutputLine<'a>],
        found: &'s mut Found<'f>,
    ) -> Self {
        let mut maker = Self {
            shared,
            found,
            group,
            scope: Scope::default(),
            nodes: Named::new(),
            outputs: Named::new(),
            with_node: HashSet::new(),
            n_made: 0,
            made: HashSet::new(),
            free: FreeNames::default(),
        };
        let tree = shared.tree;
        maker.scope.inputs.extend(inputs.map(|line| (&*line.name, Arc::from(&*line.name))));
        maker.scope.nodes.reserve(items.len());
        maker.scope.shared.reserve(items.len());
        for item in items {
            let What::Node { name, value } = &item.what else { continue };
            let face = if item.is_broken { Face::Unknown } else { maker.face(*value) };
            let is_new = maker.scope.add_node(name, Arc::from(&**name), face);
            let span = Span { end: item.span.start + name.len() as u32, ..item.span };
            check_name("a node", "node", name, span, !is_new, group, maker.found);
        }
        let lines = items.iter().filter_map(|item| match item.what {
            What::Output(output) => Some(&tree.outputs[output as usize]),
            _ => None,
        });
        for line in lines.chain(outputs) {
            if let Some(value) = line.value
                && maker.makes_node(value)
            {
                let face = maker.face(value);
                if maker.scope.add_node(&line.name, Arc::from(&*line.name), face) {
                    maker.with_node.insert(&line.name);
                }
            }
        }
        maker
    }

    /// Whether an output gets a node of its own, whatever names mean.
    fn makes_node(&self, value: ExprId) -> bool {
        matches!(
            self.shared.tree.kind(value),
            ExprKind::Call(_) | ExprKind::Formula { .. } | ExprKind::Paren(_)
        )
    }

    /// What is known of the outputs of a node.
    fn face(&self, value: ExprId) -> Face<'a> {
        match self.shared.tree.kind(value) {
            ExprKind::Call(call) => Face::Call(call),
            _ => Face::Value,
        }
    }

    /// Makes the nodes and outputs of all statements, and of the outputs of a group after them.
    pub(super) fn made(
        mut self,
        items: &[&'a Item<'a>],
        outputs: &'a [OutputLine<'a>],
    ) -> (Named<Node>, Named<OutputDef>) {
        self.nodes.reserve(items.len());
        for item in items {
            match &item.what {
                What::Node { name, value } => self.statement(name, *value, item),
                What::Output(output) => {
                    self.output(&self.shared.tree.outputs[*output as usize], item.is_broken);
                }
                _ => {}
            }
        }
        for line in outputs {
            self.output(line, false);
        }
        (self.nodes, self.outputs)
    }

    fn statement(&mut self, name: &'a str, value: ExprId, item: &Item<'_>) {
        // Names were added in the order of statements; the second one of a name was reported.
        let next = self.scope.shared.get(self.n_made).filter(|(shared, _)| **shared == *name);
        let Some(shared) = next.map(|(shared, _)| Arc::clone(shared)) else { return };
        self.n_made += 1;
        let spot = Spot::new(item.span);
        if item.is_broken {
            let mut node = Node::new(NodeKind::Type(Arc::from("")));
            node.spot = spot.unreadable();
            self.add(shared, node);
            return;
        }
        self.node(shared, value, spot);
    }

    /// Makes the node of an expression; one with a problem is marked.
    fn node(&mut self, name: Arc<str>, value: ExprId, spot: Spot) {
        match self.node_of(&name, value) {
            Ok(mut node) => {
                node.spot = spot;
                self.add(name, node);
            }
            Err(problem) => {
                let path = self.path(&name);
                self.found.report(&path, &problem);
                let mut node = Node::new(NodeKind::Type(Arc::from("")));
                node.spot = spot.unreadable();
                self.add(name, node);
            }
        }
    }

    fn path(&self, name: &str) -> String {
        if self.group.is_empty() { name.to_owned() } else { format!("{}/{name}", self.group) }
    }

    fn add(&mut self, name: Arc<str>, node: Node) {
        self.found.n_nodes += 1;
        let limit = self.found.limits.nodes;
        if self.found.n_nodes > limit {
            if self.found.n_nodes == limit + 1 {
                let place = Place::with_span(&*self.path(&name), node.spot.span());
                self.found.problems.report(place, &LoadError::TooManyNodes { limit });
                self.found.parts_lost = true;
            }
            return;
        }
        // The first of a name counts.
        self.nodes.insert_before(name, node, None);
    }

    fn output(&mut self, line: &'a OutputLine<'a>, is_broken: bool) {
        let is_known = self.outputs.contains_key(&line.name);
        check_name("an output", "output", &line.name, line.span, is_known, self.group, self.found);
        if is_known {
            return;
        }
        let spot = Spot::new(line.span);
        let mut spot = if is_broken { spot.unreadable() } else { spot };
        let value = Arc::clone(&self.shared.value);
        let from = match line.value {
            // Names of outputs are checked above.
            None => OutputFrom::Link(Link { node: self.scope.node(&line.name), output: value }),
            Some(expr) => match self.output_source(&line.name, expr) {
                Ok(from) => from,
                Err(problem) => {
                    self.found.report(self.group, &problem);
                    spot = spot.unreadable();
                    OutputFrom::Link(Link { node: Arc::from(""), output: value })
                }
            },
        };
        let shared = |text: &Option<Cow<'_, str>>| text.as_deref().map(Arc::from);
        let mut def = OutputDef::new(&*line.ty, from);
        (def.about, def.unit, def.spot) = (shared(&line.about), shared(&line.unit), spot);
        self.outputs.insert(Arc::from(&*line.name), def);
    }

    fn output_source(&mut self, name: &'a str, expr: ExprId) -> Made<OutputFrom> {
        match self.target(expr) {
            Some(Target::Input(input)) => return Ok(OutputFrom::Input(input)),
            Some(target @ Target::Link(..)) => {
                self.scope.check_link(&target, self.shared.tree.span(expr))?;
                let Target::Link(node, output) = target else { unreachable!("it is a link") };
                return Ok(OutputFrom::Link(Link { node, output }));
            }
            Some(Target::Constant) | None => {}
        }
        let (expr, output) = self.called(expr);
        let is_own = self.with_node.contains(name);
        let node = if is_own { self.scope.node(name) } else { self.free_name(name) };
        self.node(Arc::clone(&node), expr, Spot::new(self.shared.tree.span(expr)));
        Ok(OutputFrom::Link(Link { node, output }))
    }

    /// The call and the output of an expression such as `f(x).y`; else the expression itself.
    fn called(&self, expr: ExprId) -> (ExprId, Arc<str>) {
        let tree = self.shared.tree;
        if let ExprKind::Member(of, output) = tree.kind(expr)
            && name_problem(output).is_none()
            && let ExprKind::Call(call) = tree.kind(*of)
            && self.shared.groups.callee(call, self.shared.tree, self.shared.vocabulary)
                != Callee::Function
        {
            return (*of, Arc::from(&**output));
        }
        (expr, Arc::clone(&self.shared.value))
    }

    /// What an expression refers to, if it is a reference and no formula.
    fn target(&self, expr: ExprId) -> Option<Target> {
        let (tree, value) = (self.shared.tree, &self.shared.value);
        let vocabulary = self.shared.vocabulary;
        Some(match tree.kind(expr) {
            ExprKind::Ref { name, is_quoted } => {
                self.scope.resolve(name, *is_quoted, value, vocabulary)
            }
            ExprKind::Input(name) => {
                let known = self.scope.inputs.get(&**name).map(Arc::clone);
                Target::Input(known.unwrap_or_else(|| Arc::from(&**name)))
            }
            ExprKind::Link(link) => Target::Link(self.scope.node(&link.0), Arc::from(&*link.1)),
            ExprKind::Member(of, member) => {
                let ExprKind::Ref { name, is_quoted } = tree.kind(*of) else { return None };
                match self.scope.resolve_member(
                    (name, *is_quoted),
                    member,
                    value,
                    (&self.shared.groups, tree, vocabulary),
                ) {
                    MemberOf::Link(target) => target,
                    MemberOf::Component(_) => return None,
                }
            }
            _ => return None,
        })
    }

    /// A name that no other node of the body has.
    fn free_name(&mut self, wanted: &str) -> Arc<str> {
        let (scope, made) = (&self.scope, &self.made);
        let is_taken = |name: &str| scope.nodes.contains_key(name) || made.contains(name);
        let name = self.free.find(wanted, is_taken);
        self.made.insert(Arc::clone(&name));
        name
    }

    /// The node that an expression describes.
    fn node_of(&mut self, name: &Arc<str>, expr: ExprId) -> Made<Node> {
        let tree = self.shared.tree;
        if let ExprKind::Call(call) = tree.kind(expr) {
            let callee = self.shared.groups.callee(call, self.shared.tree, self.shared.vocabulary);
            if callee != Callee::Function {
                return self.call(name, call, callee);
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

    /// The node that computes a formula. Parentheses around all of it say that it is one.
    fn formula_node(&mut self, name: &Arc<str>, expr: ExprId) -> Made<Node> {
        let shared = self.shared;
        let tree = shared.tree;
        let outer = expr;
        let expr = if let ExprKind::Paren(inner) = tree.kind(expr) { *inner } else { expr };
        let written = {
            let scope = std::mem::take(&mut self.scope);
            let cx = Context {
                vocabulary: shared.vocabulary,
                groups: &shared.groups,
                scope: &scope,
                value: &shared.value,
            };
            let mut n_nested = 0;
            // The scope is not at hand while nested nodes are made, so they are made afterwards.
            let mut nested = Vec::new();
            let mut names: HashSet<Arc<str>> = HashSet::new();
            let written = formula::write(cx, tree, expr, &mut |call| {
                n_nested += 1;
                let wanted = made_name(name, &n_nested.to_string());
                let taken = |name: &str| {
                    scope.nodes.contains_key(name)
                        || names.contains(name)
                        || self.made.contains(name)
                };
                let free = self.free.find(&wanted, taken);
                names.insert(Arc::clone(&free));
                nested.push((Arc::clone(&free), call));
                Ok(free)
            });
            self.scope = scope;
            self.made.extend(names);
            let written = written?;
            for (name, call) in nested {
                self.node(name, call, Spot::new(tree.span(call)));
            }
            written
        };
        let mut node = Node::new(NodeKind::Type(shared.vocabulary.known(EXPRESSION).name));
        let Formula { text, places, letters } = written;
        let span = tree.span(expr);
        let source = shared.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let is_verbatim = *source == *text;
        let places = Places((!is_verbatim).then(|| places.into_boxed_slice()));
        let spot = Spot::new(if is_verbatim { span } else { tree.span(outer) });
        node.set = Fields::from_iter([("text", Setting { json: Json::from(text), spot, places })]);
        let mut inputs = Vec::with_capacity(letters.len());
        for (letter, source) in letters {
            let (value, at) = match source {
                Letter::Target(target, at) => (value_of(target), at),
                Letter::Bound(at, _) => (self.source(name, &letter, at)?, at),
            };
            inputs.push((letter, Input { value, spot: Spot::new(tree.span(at)) }));
        }
        node.inputs = Fields::from_distinct(inputs.into_iter());
        Ok(node)
    }

    fn call(&mut self, name: &Arc<str>, call: &'a Call<'a>, callee: Callee<'a>) -> Made<Node> {
        let shared = self.shared;
        let tree = shared.tree;
        let args = tree.args_of(&call.args);
        let mut set = Vec::new();
        let mut seen = Seen::default();
        for arg in args {
            let ArgTo::Setting(setting) = &arg.to else { continue };
            let ExprKind::Literal(text) = tree.kind(arg.value) else { continue };
            let span = Span { start: arg.start, end: tree.span(arg.value).end };
            let json = json(text).map_err(|message| {
                Problem::syntax(span.start as usize, span.end as usize, message)
            })?;
            let spot = Spot::new(span);
            let name: Arc<str> = Arc::from(&**setting);
            if !seen.insert(&name, &set) {
                return Err(duplicate("setting", setting, span));
            }
            set.push((name, Setting { spot, ..Setting::from(json) }));
        }
        let set = Fields::from_distinct(set.into_iter());
        let (kind, sockets) = self.kind(call, callee, &set);
        let mut inputs = Vec::with_capacity(args.len());
        let mut seen = Seen::default();
        for (position, arg) in args.iter().enumerate() {
            let span = Span { start: arg.start, end: tree.span(arg.value).end };
            let socket = match &arg.to {
                ArgTo::Setting(_) => continue,
                ArgTo::Input(socket) => {
                    let known = sockets.iter().flat_map(|sockets| &sockets.inputs);
                    let mut known = known.filter(|known| ***known == **socket);
                    known.next().map_or_else(|| Arc::from(&**socket), Arc::clone)
                }
                ArgTo::Position => {
                    let sockets = sockets.as_deref();
                    self.positional(call, &kind, sockets, position, span)?
                }
            };
            if !seen.insert(&socket, &inputs) {
                return Err(duplicate("input", &socket, span));
            }
            let value = self.source(name, &socket, arg.value)?;
            inputs.push((socket, Input { value, spot: Spot::new(span) }));
        }
        let mut node = Node::new(kind);
        (node.set, node.inputs) = (set, Fields::from_distinct(inputs.into_iter()));
        (node.muted, node.version) = (call.is_muted, call.version);
        Ok(node)
    }

    /// The kind of a call's node, and the names of its sockets if they are known.
    fn kind(
        &self,
        call: &Call<'_>,
        callee: Callee<'a>,
        set: &Fields<Setting>,
    ) -> (NodeKind, Option<Arc<Sockets>>) {
        let shared = self.shared;
        let own = |name: &str| shared.groups.own.get(name).map(Arc::clone);
        match callee {
            Callee::Group(name) => (NodeKind::Group(Arc::from(name)), own(name)),
            Callee::Repeat(name) => (NodeKind::Repeat(Arc::from(name)), own(name)),
            Callee::Type(name) => {
                let known = shared.vocabulary.known_with(&name, set);
                (NodeKind::Type(known.name), known.sockets)
            }
            Callee::Function => (NodeKind::Type(Arc::from(&*call.name)), None),
        }
    }

    /// The socket at a position.
    fn positional(
        &self,
        call: &Call<'_>,
        kind: &NodeKind,
        sockets: Option<&Sockets>,
        position: usize,
        span: Span,
    ) -> Made<Arc<str>> {
        let refuse = |error| Err(Problem::new(span.start as usize, span.end as usize, error));
        let name = shortened(&call.name);
        let Some(sockets) = sockets else {
            let NodeKind::Type(ty) = kind else { return refuse(TextError::NeedsNames { name }) };
            let registry = self.shared.vocabulary.registry;
            if registry.get(ty).is_some() {
                return refuse(TextError::WrongSettings { name });
            }
            let near = (ty.len() <= 256).then(|| registry.nearest(ty)).flatten();
            let hint = near.map_or_else(
                || "`millstream nodes` lists all node types; of others, name each input".into(),
                |near| format!("did you mean `{near}`?"),
            );
            return refuse(TextError::UnknownNodeType { name: shortened(ty), hint });
        };
        match sockets.inputs.get(position) {
            Some(socket) => Ok(Arc::clone(socket)),
            None => {
                let n = sockets.inputs.len();
                let names: Vec<String> =
                    sockets.inputs.iter().take(12).map(|name| format!("`{name}`")).collect();
                let hint = match names.len() {
                    0 => "remove it".to_owned(),
                    _ => format!("they are {}", names.join(", ")),
                };
                refuse(TextError::TooManyInputs { name, n, hint })
            }
        }
    }

    /// The source of an input.
    fn source(&mut self, name: &Arc<str>, socket: &str, expr: ExprId) -> Made<InputValue> {
        let tree = self.shared.tree;
        match tree.kind(expr) {
            ExprKind::Literal(text) => match json(text) {
                Ok(json) => return Ok(InputValue::Literal(json.into())),
                Err(message) => {
                    let span = tree.span(expr);
                    return Err(Problem::syntax(span.start as usize, span.end as usize, message));
                }
            },
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
                self.scope.check_link(&target, tree.span(expr))?;
                return Ok(value_of(target));
            }
        }
        let (expr, output) = self.called(expr);
        let node = self.free_name(&made_name(name, socket));
        self.node(Arc::clone(&node), expr, Spot::new(tree.span(expr)));
        Ok(InputValue::Link(Link { node, output }))
    }
}

/// The names of the inputs or settings of a node so far.
#[derive(Default)]
struct Seen(HashSet<Arc<str>>);

impl Seen {
    /// Adds a name; false if it is among these already.
    fn insert<T>(&mut self, name: &Arc<str>, fields: &[(Arc<str>, T)]) -> bool {
        const MAX_WALKED: usize = 16;
        if fields.len() < MAX_WALKED {
            return fields.iter().all(|(known, _)| known != name);
        }
        if self.0.is_empty() {
            self.0.extend(fields.iter().map(|(known, _)| Arc::clone(known)));
        }
        self.0.insert(Arc::clone(name))
    }
}

/// The name of the node of a call inside the statement of another node.
pub(crate) fn made_name(node: &str, input: &str) -> String {
    let name = format!("{node}_{input}");
    // Names of nodes hold neither.
    let name = name.replace(['.', '/'], "_");
    match name.char_indices().rev().nth(MAX_MADE) {
        Some((cut, c)) => name[cut + c.len_utf8()..].to_owned(),
        None => name,
    }
}

fn duplicate(what: &'static str, name: &str, span: Span) -> Problem {
    let error = TextError::Duplicate { what, name: shortened(name) };
    Problem::new(span.start as usize, span.end as usize, error)
}

fn value_of(target: Target) -> InputValue {
    match target {
        Target::Input(name) => InputValue::Input(name),
        Target::Link(node, output) => InputValue::Link(Link { node, output }),
        Target::Constant => unreachable!("constants are parts of formulas"),
    }
}

/// Reads a JSON value, or a number as formulas write it.
pub(super) fn json(text: &str) -> Result<Json, String> {
    let error = match serde_json::from_str(text) {
        Ok(json) => return Ok(json),
        Err(error) => error.to_string(),
    };
    if text.starts_with(|c: char| c.is_ascii_digit() || "-.".contains(c)) {
        let digits = text.trim_start_matches('-');
        let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
        return match number {
            Some(number) if text.starts_with('-') => Ok(Json::from(-number)),
            Some(number) => Ok(Json::from(number)),
            None => Err("the number is too large; write \"inf\" for infinity".into()),
        };
    }
    Err(if error.contains("recursion limit") {
        "the value nests deeper than 127 levels".into()
    } else if error.contains("out of range") {
        "a number in it is too large; write \"inf\" for infinity".into()
    } else {
        error.split(" at line ").next().unwrap_or_default().to_owned()
    })
}
