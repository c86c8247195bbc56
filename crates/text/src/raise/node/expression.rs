//! Formulas: the text of a `math.expression` with names in place of its letters, and with calls in
//! place of the letters whose nodes reading would make of these calls.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Span;
use millstream_document::model::{Input, InputValue, Link, Node, NodeKind};
use serde_json::Value as Json;

use super::{BodyWriter, MAX_WALKED, link};
use crate::error::{Problem, TextError};
use crate::lower::formula::{self, Formula, Letter};
use crate::name::write_made_name;
use crate::names::{EXPRESSION, Face};
use crate::parse::parse_formula;
use crate::scope::Target;
use crate::token::Symbol;
use crate::tree::{Arg, ArgTo, Call, ExprId, ExprKind, Piece};

/// How a node is written as a formula.
pub(super) enum Computed {
    /// It is not: its text is no formula that reads back as this node.
    No,
    /// As this expression.
    Expr(ExprId),
    /// As a statement of its own.
    Apart,
}

/// A formula that reads back as the text of its node.
struct Written<'d> {
    expr: ExprId,
    /// The references to nodes by letters that occur once, in the order of the text.
    links: Vec<(ExprId, &'d Link)>,
    /// The expressions of its text.
    exprs: std::ops::Range<ExprId>,
    /// The depth of its innermost part.
    depth: usize,
}

impl<'d> BodyWriter<'_, 'd> {
    /// The node as a formula.
    pub(super) fn computed(
        &mut self,
        name: &'d str,
        node: &'d Node,
        text: &'d str,
        is_nested: bool,
    ) -> Computed {
        let written = [false, true]
            .into_iter()
            .find_map(|binds_all| self.formula(name, node, text, binds_all));
        let Some(written) = written else { return Computed::No };
        let is_bound = crate::raise::is_bound(self.tree, written.expr);
        if is_bound && is_nested {
            return Computed::Apart;
        }
        self.nest_calls(name, &written);
        let expr = written.expr;
        Computed::Expr(if is_bound { expr } else { self.marked(expr, is_nested) })
    }

    /// A formula, in parentheses if it would otherwise mean something else.
    fn marked(&mut self, expr: ExprId, is_nested: bool) -> ExprId {
        let is_formula = match self.tree.kind(expr) {
            ExprKind::Formula { .. } => true,
            ExprKind::Call(_) => !self.is_call_of_node(expr),
            ExprKind::Paren(_) => false,
            _ => !is_nested,
        };
        if is_formula { expr } else { self.add(ExprKind::Paren(expr)) }
    }

    /// The formula with its letters replaced by names. Letters that are not named after their
    /// sources are bound after `where`, or all are.
    fn formula(
        &mut self,
        name: &'d str,
        node: &'d Node,
        text: &'d str,
        binds_all: bool,
    ) -> Option<Written<'d>> {
        let (first, n_pieces) = (self.tree.exprs.len(), self.tree.pieces.len());
        // One more than around it, since it may be put in parentheses.
        let (mut expr, depth) = parse_formula(text, self.tree, self.depth + 1)?;
        let last = self.tree.exprs.len();
        let is_free = |letter: &str, input: &Input| {
            let target = match &input.value {
                InputValue::Input(name) => Target::Input(Arc::clone(name)),
                InputValue::Link(link) => {
                    Target::Link(Arc::clone(&link.node), Arc::clone(&link.output))
                }
                InputValue::Literal(_) | InputValue::Several(_) => return false,
            };
            !binds_all && formula::letter(&target).is_some_and(|free| *free == *letter)
        };
        // With many letters each is found by a map.
        let many: HashMap<&str, (&'d Arc<str>, &'d Input)> = match node.inputs.len() {
            0..=MAX_WALKED => HashMap::new(),
            _ => node.inputs.iter().map(|(name, input)| (&**name, (name, input))).collect(),
        };
        let input_of = |name: &str| {
            if many.is_empty() { node.inputs.get_key_value(name) } else { many.get(name).copied() }
        };
        let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
        let mut links = Vec::new();
        for i in first..last {
            let ExprKind::Ref { name, is_quoted } = &self.tree.exprs[i].kind else { continue };
            if *is_quoted {
                return None;
            }
            let Some((letter, input)) = input_of(name) else { continue };
            if !seen.insert(&**letter) {
                repeated.insert(&**letter);
            }
            if !is_free(letter, input) {
                continue;
            }
            self.tree.exprs[i].kind = match &input.value {
                InputValue::Input(name) => super::input(self.cx, name),
                InputValue::Link(source) => {
                    links.push((&**letter, i as ExprId, source));
                    link(self.cx, self.tree, source)
                }
                InputValue::Literal(_) | InputValue::Several(_) => continue,
            };
        }
        let bound: Vec<_> = node
            .inputs
            .iter()
            .filter(|(letter, input)| !seen.contains(&***letter) || !is_free(letter, input))
            .collect();
        if !bound.is_empty() {
            expr = self.with_bound(name, expr, &bound);
        }
        let letters = self.written(expr, text, n_pieces)?;
        let mut bound = bound.into_iter().map(|(letter, _)| letter);
        let is_same = letters.len() == node.inputs.len()
            && letters.iter().zip(node.inputs.iter()).all(|((letter, source), (name, input))| {
                letter == name
                    && match source {
                        Letter::Target(target, _) => is_target(target, &input.value),
                        Letter::Bound(..) => bound.any(|bound| bound == name),
                    }
            });
        links.retain(|(letter, ..)| !repeated.contains(letter));
        let links = links.into_iter().map(|(_, at, link)| (at, link)).collect();
        let exprs = first as ExprId..last as ExprId;
        is_same.then_some(Written { expr, links, exprs, depth })
    }

    /// Replaces links of a formula by the calls of their nodes. Calls are numbered in the order of
    /// the text, and their nodes precede that of the formula in this order.
    fn nest_calls(&mut self, name: &str, written: &Written<'d>) {
        let mut calls = self.calls_to_nest(name, written);
        let last = self.n_left.checked_sub(1).map(|at| self.nodes[at].0);
        while calls.last().is_some_and(|(_, link)| last != Some(&link.node)) {
            calls.pop();
        }
        let n_left = self.n_left;
        if calls.is_empty() || self.stays_flat.contains(&n_left) {
            return;
        }
        let depth = std::mem::replace(&mut self.depth, written.depth);
        let mut nested = Vec::with_capacity(calls.len());
        for (place, (at, link)) in calls.iter().enumerate().rev() {
            let number = (place + 1).to_string();
            let Some(expr) = self.nested(name, &number, link) else { break };
            nested.push((*at, expr));
        }
        self.depth = depth;
        if nested.len() < calls.len() {
            // Formulas around it may fail as well, and each failure writes this one again. Without
            // trying again, the time stays linear in the number of nodes.
            self.stays_flat.insert(n_left);
            self.n_left = n_left;
            return;
        }
        for (at, expr) in nested {
            self.tree.exprs.swap(at as usize, expr as usize);
        }
    }

    /// The first links of a formula that can be calls and whose nodes have the names of these.
    fn calls_to_nest(&mut self, name: &str, written: &Written<'d>) -> Vec<(ExprId, &'d Link)> {
        let mut calls = Vec::new();
        let mut members: Option<HashMap<ExprId, String>> = None;
        write_made_name(name, "1", &mut self.wanted);
        for (at, link) in &written.links {
            if *self.wanted != *link.node {
                continue;
            }
            let members = members.get_or_insert_with(|| {
                let exprs = written.exprs.clone();
                let member = |expr| match self.tree.kind(expr) {
                    ExprKind::Member(of, member) => Some((*of, member.to_string())),
                    _ => None,
                };
                exprs.filter_map(member).collect()
            });
            if self.is_call_to_nest(link, members.get(at).map(String::as_str)) {
                calls.push((*at, *link));
                write_made_name(name, &(calls.len() + 1).to_string(), &mut self.wanted);
            }
        }
        calls
    }

    /// Whether a link of a formula can be a call, before this component of the value if there is one.
    fn is_call_to_nest(&self, link: &Link, member: Option<&str>) -> bool {
        let Some(at) = self.by_name.get_index_of(&link.node) else { return false };
        let node = self.nodes[at].1;
        if !self.is_alone(at) || formula_of(node).is_some() {
            return false;
        }
        let (groups, vocabulary) = (self.cx.groups, self.cx.vocabulary);
        let (word, name) = self.callee(node);
        let (is_muted, version, name_span) = (node.muted, node.version, Span::default());
        let call = Call { word, is_muted, name, name_span, version, args: 0..0 };
        if node.set.is_empty() && groups.is_in_formula(&call, self.tree, vocabulary) {
            return false;
        }
        let known = (&*self.tree, vocabulary);
        let is_meant =
            link.output == *groups.output_of_face(Face::Call(&call), self.cx.value, known);
        let callee = groups.callee(&call, self.tree, vocabulary);
        let is_output = |member: &str| groups.is_output(&callee, member);
        if is_meant { !member.is_some_and(is_output) } else { is_output(&link.output) }
    }

    /// The formula with these letters after `where`.
    fn with_bound(
        &mut self,
        name: &'d str,
        expr: ExprId,
        bound: &[(&'d Arc<str>, &'d Input)],
    ) -> ExprId {
        let pieces = match self.tree.kind(expr) {
            ExprKind::Formula { pieces, .. } => pieces.clone(),
            _ => {
                self.tree.pieces.push(Piece::Operand(expr));
                let end = self.tree.pieces.len() as u32;
                end - 1..end
            }
        };
        // With no nodes left, none is nested.
        let n_left = std::mem::take(&mut self.n_left);
        let mut args = Vec::with_capacity(bound.len());
        for (letter, input) in bound {
            let value = self.source(name, letter, input);
            args.push(Arg { to: ArgTo::Input(Cow::Borrowed(letter)), value, start: 0 });
        }
        self.n_left = n_left;
        let first = self.tree.args.len() as u32;
        self.tree.args.extend(args);
        let bound = first..self.tree.args.len() as u32;
        self.add(ExprKind::Formula { pieces, bound })
    }

    /// The letters of a formula that reads back as this text; its pieces are the last ones.
    fn written(
        &self,
        expr: ExprId,
        text: &str,
        n_pieces: usize,
    ) -> Option<Vec<(Arc<str>, Letter)>> {
        if self.looks_like_path(n_pieces) {
            return None;
        }
        let refused = |_| {
            let error = TextError::NotInFormula { what: "a nested node", hint: "" };
            Err(Problem::new(0, 0, error))
        };
        let mut refused = refused;
        let mut written = Formula::default();
        formula::write(self.cx, self.tree, expr, &mut written, &mut refused).ok()?;
        (written.text == text).then_some(written.letters)
    }

    /// Whether a division would be read as the path of a group.
    fn looks_like_path(&self, n_pieces: usize) -> bool {
        let aliases = &self.cx.groups.aliases;
        if aliases.is_empty() {
            return false;
        }
        let is_alias = |operand: &ExprId| {
            matches!(self.tree.kind(*operand),
                ExprKind::Ref { name, .. } if aliases.contains(&**name))
        };
        self.tree.pieces[n_pieces..].windows(2).any(
            |two| matches!(two, [Piece::Operand(operand), Piece::Infix(Symbol::Divide)] if is_alias(operand)),
        )
    }
}

/// The text of a node that can be written as a formula.
pub(super) fn formula_of(node: &Node) -> Option<&str> {
    let is_expression = matches!(&node.kind, NodeKind::Type(ty) if **ty == *EXPRESSION);
    let text = node.set.get("text").filter(|_| node.set.len() == 1 && !node.muted)?;
    match &text.json {
        Json::String(text) if is_expression && node.version == 1 => Some(text),
        _ => None,
    }
}

fn is_target(target: &Target, value: &InputValue) -> bool {
    match (target, value) {
        (Target::Input(a), InputValue::Input(b)) => a == b,
        (Target::Link(node, output), InputValue::Link(link)) => {
            *node == link.node && *output == link.output
        }
        _ => false,
    }
}
