//! Formulas: the text of a `math.expression`, and the sources of its letters.
//!
//! A letter is called after its source. Reading the text form makes nodes with this, and writing it
//! tests with this whether a node reads back as it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Problem, TextError};
use crate::formula;
use crate::json::write_value;
use crate::name;
use crate::names::{Groups, MemberOf, Scope, Target, VALUE, Vocabulary};
use crate::tree::{ArgTo, ExprId, ExprKind, Tree, at};

/// A formula that was written.
pub(crate) struct Formula {
    pub(crate) text: String,
    /// The places of its parts: bytes of the text and of the document.
    pub(crate) places: Vec<(u32, u32)>,
    pub(crate) letters: Vec<(Arc<str>, Letter)>,
}

/// The source of a letter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Letter {
    /// What a name means, and the expression with it.
    Target(Target, ExprId),
    /// What stands after `where`.
    Bound(ExprId),
}

/// The node that a call inside a formula becomes: its name.
pub(crate) type Nested<'f> = &'f mut dyn FnMut(ExprId) -> Result<Arc<str>, Problem>;

/// The names that formulas depend on.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) vocabulary: &'a Vocabulary<'a>,
    pub(crate) groups: &'a Groups<'a>,
    pub(crate) scope: &'a Scope<'a>,
    pub(crate) value: &'a Arc<str>,
}

struct Writer<'a, 'f> {
    cx: Context<'a>,
    tree: &'a Tree<'a>,
    nested: Nested<'f>,
    /// Letters after `where`.
    bound: HashMap<&'a str, Arc<str>>,
    by_target: HashMap<Target, u32>,
    taken: HashSet<Arc<str>>,
    out: Formula,
}

/// Writes the formula of an expression.
///
/// # Errors
/// The first part that formulas cannot contain, or the error of `nested`.
pub(crate) fn write<'a>(
    cx: Context<'a>,
    tree: &'a Tree<'a>,
    expr: ExprId,
    nested: Nested<'_>,
) -> Result<Formula, Problem> {
    let mut writer = Writer {
        cx,
        tree,
        nested,
        bound: HashMap::new(),
        by_target: HashMap::new(),
        taken: HashSet::new(),
        out: Formula { text: String::new(), places: Vec::new(), letters: Vec::new() },
    };
    if let ExprKind::Formula { bound, .. } = tree.kind(expr) {
        for arg in tree.args_of(bound) {
            let ArgTo::Input(letter) = &arg.to else { continue };
            let shared: Arc<str> = Arc::from(&**letter);
            if writer.bound.insert(letter, Arc::clone(&shared)).is_some() {
                let name = letter.to_string();
                let error = TextError::Duplicate { what: "letter", name };
                return Err(Problem::new(arg.start as usize, arg.start as usize + letter.len(), error));
            }
            writer.taken.insert(Arc::clone(&shared));
            writer.out.letters.push((shared, Letter::Bound(arg.value)));
        }
    }
    writer.expr(expr)?;
    Ok(writer.out)
}

impl<'a> Writer<'a, '_> {
    /// Notes the place of what is written next.
    fn note(&mut self, expr: ExprId) {
        let start = self.tree.span(expr).start;
        self.out.places.push((self.out.text.len() as u32, start));
    }

    /// Writes an expression; the parser limits the depth.
    fn expr(&mut self, expr: ExprId) -> Result<(), Problem> {
        let tree = self.tree;
        match tree.kind(expr) {
            ExprKind::Literal(value) => {
                let is_number = value.starts_with(|c: char| c.is_ascii_digit() || "-.tf".contains(c));
                if !is_number {
                    let (what, hint) = match value.bytes().next() {
                        Some(b'"') => ("a text", "give it to an input or a setting of a node"),
                        Some(b'n') => ("null", "leave the input out, or write a number"),
                        _ => ("a list or an object", "a vector is written `vec3(1, 2, 3)`"),
                    };
                    return Err(self.refused(expr, what, hint));
                }
                self.note(expr);
                write_value(value, &mut self.out.text);
            }
            ExprKind::Ref { name, is_quoted } => {
                if let Some(letter) = self.bound.get(&**name).map(Arc::clone) {
                    self.note(expr);
                    self.out.text.push_str(&letter);
                    return Ok(());
                }
                let Context { scope, vocabulary, value, .. } = self.cx;
                let target = scope.resolve(name, *is_quoted, value, vocabulary);
                self.target(expr, target, name);
            }
            ExprKind::Input(name) => {
                let shared = self.cx.scope.inputs.get(&**name).map(Arc::clone);
                let target = Target::Input(shared.unwrap_or_else(|| Arc::from(&**name)));
                self.target(expr, target, name);
            }
            ExprKind::Link(link) => {
                let (node, output) = &**link;
                let target = Target::Link(self.cx.scope.node(node), Arc::from(&**output));
                self.target(expr, target, "");
            }
            ExprKind::Member(of, member) => self.member(expr, *of, member)?,
            ExprKind::Call(call) => {
                if !self.cx.groups.is_in_formula(call, tree, self.cx.vocabulary) {
                    let node = (self.nested)(expr)?;
                    let target = Target::Link(node, Arc::clone(self.cx.value));
                    self.target(expr, target, "");
                    return Ok(());
                }
                self.note(expr);
                self.out.text.push_str(&call.name);
                self.out.text.push('(');
                for (i, arg) in tree.args_of(&call.args).iter().enumerate() {
                    self.out.text.push_str(if i > 0 { ", " } else { "" });
                    if let ArgTo::Input(name) = &arg.to {
                        let span = tree.span(arg.value);
                        if !name::is_plain(name) {
                            return Err(self.refused(expr, "this name", "call the node on a line of its own"));
                        }
                        self.out.places.push((self.out.text.len() as u32, arg.start.min(span.start)));
                        self.out.text.push_str(name);
                        self.out.text.push_str(": ");
                    }
                    self.expr(arg.value)?;
                }
                self.close(expr);
            }
            ExprKind::Several(_) => {
                let hint = "several sources go into an input of a node";
                return Err(self.refused(expr, "a list of sources", hint));
            }
            ExprKind::Formula { pieces, .. } => {
                let mut text = std::mem::take(&mut self.out.text);
                let written = formula::write(&tree.pieces[at(pieces)], &mut text, |text, operand| {
                    std::mem::swap(&mut self.out.text, text);
                    let written = self.expr(operand);
                    std::mem::swap(&mut self.out.text, text);
                    written
                });
                self.out.text = text;
                written?;
            }
            ExprKind::Paren(inner) => {
                self.note(expr);
                self.out.text.push('(');
                self.expr(*inner)?;
                self.close(expr);
            }
        }
        Ok(())
    }

    /// The parenthesis at the end of an expression.
    fn close(&mut self, expr: ExprId) {
        let end = self.tree.span(expr).end.saturating_sub(1);
        self.out.places.push((self.out.text.len() as u32, end));
        self.out.text.push(')');
    }

    fn refused(&self, expr: ExprId, what: &'static str, hint: &'static str) -> Problem {
        let span = self.tree.span(expr);
        let error = TextError::NotInFormula { what, hint };
        Problem::new(span.start as usize, span.end as usize, error)
    }

    fn member(&mut self, expr: ExprId, of: ExprId, member: &str) -> Result<(), Problem> {
        let tree = self.tree;
        if !name::is_plain(member) && !matches!(tree.kind(of), ExprKind::Ref { .. }) {
            return Err(self.refused(expr, "this name", "name the node, and link its output"));
        }
        if let ExprKind::Ref { name, is_quoted } = tree.kind(of)
            && !self.bound.contains_key(&**name)
        {
            let Context { scope, vocabulary, value, .. } = self.cx;
            match scope.resolve_member((name, *is_quoted), member, value, vocabulary) {
                MemberOf::Link(target) => {
                    self.target(expr, target, name);
                    return Ok(());
                }
                MemberOf::Component(target) => self.target(of, target, name),
            }
        } else if let ExprKind::Call(call) = tree.kind(of)
            && !self.cx.groups.is_in_formula(call, tree, self.cx.vocabulary)
        {
            let node = (self.nested)(of)?;
            self.target(expr, Target::Link(node, Arc::from(member)), "");
            return Ok(());
        } else {
            self.expr(of)?;
        }
        self.out.text.push('.');
        self.out.text.push_str(member);
        Ok(())
    }

    /// Writes the letter of a target, or the constant of this name.
    fn target(&mut self, expr: ExprId, target: Target, name: &str) {
        self.note(expr);
        let wanted = match &target {
            Target::Constant => {
                self.out.text.push_str(name);
                return;
            }
            Target::Input(name) => letter_of(name),
            Target::Link(node, output) if **output == *VALUE => letter_of(node),
            Target::Link(node, output) => Arc::from(&*letter_of(&format!("{node}_{output}"))),
        };
        let next = self.out.letters.len() as u32;
        let letter = *self.by_target.entry(target.clone()).or_insert(next);
        if letter == next {
            let free = self.free(wanted);
            self.taken.insert(Arc::clone(&free));
            self.out.letters.push((free, Letter::Target(target, expr)));
        }
        self.out.text.push_str(&self.out.letters[letter as usize].0);
    }

    /// The letter itself, or with the lowest number that makes it free.
    fn free(&self, wanted: Arc<str>) -> Arc<str> {
        let is_free = |letter: &str| {
            !self.taken.contains(letter) && !self.cx.vocabulary.is_reserved(letter)
        };
        if is_free(&wanted) {
            return wanted;
        }
        // Names that give one letter are few; of many, the count of letters tells where to go on.
        let first = if self.taken.len() > 64 { self.taken.len() } else { 2 };
        let mut numbers = (first..).map(|n| format!("{wanted}_{n}"));
        numbers.find(|letter| is_free(letter)).expect("numbers do not end").into()
    }
}

/// A name as a letter: what letters do not contain becomes `_`.
fn letter_of(shared: &(impl AsRef<str> + ?Sized)) -> Arc<str> {
    let name = shared.as_ref();
    if name::is_plain(name) {
        return name.into();
    }
    let mut letter: String =
        name.chars().map(|c| if name::continues(c) { c } else { '_' }).collect();
    if !letter.starts_with(name::starts) {
        letter.insert(0, '_');
    }
    letter.into()
}
