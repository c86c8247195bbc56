//! Formulas: the text of a `math.expression`, and the sources of its letters.
//!
//! A letter is named after its source. Reading the text form makes nodes with this module, and
//! writing uses it to test whether a node reads back unchanged.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Span;
use millstream_base::diagnostics::did_you_mean;

use crate::error::{Problem, TextError, shortened};
use crate::formula;
use crate::json::write_value;
use crate::name;
use crate::names::{Face, Groups, VALUE, Vocabulary};
use crate::scope::{MemberOf, NO_NAME, NameId, Scope, Target};
use crate::tree::{ArgTo, Call, ExprId, ExprKind, Tree, at};

/// Maximal number of letters that are searched one by one.
const MAX_WALKED: usize = 16;

/// A formula that has been written.
#[derive(Default)]
pub(crate) struct Formula {
    pub(crate) text: String,
    /// The places of its parts: bytes of the formula and of the document.
    pub(crate) places: Vec<(u32, u32)>,
    pub(crate) letters: Vec<(Arc<str>, Letter)>,
}

/// The source of a letter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Letter {
    /// The target of a name, with its expression.
    Target(Target, ExprId),
    /// The expression bound after `where`, and its position.
    Bound(ExprId, u32),
}

/// The node that a call inside a formula becomes: its name.
pub(crate) type Nested<'f> = &'f mut dyn FnMut(ExprId) -> Result<Arc<str>, Problem>;

/// The names that formulas depend on.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) vocabulary: &'a Vocabulary<'a>,
    pub(crate) groups: &'a Groups<'a>,
    pub(crate) scope: &'a Scope<'a>,
    /// The names that expressions refer to, if they were looked up.
    pub(crate) names: &'a [NameId],
    pub(crate) value: &'a Arc<str>,
}

impl Context<'_> {
    /// The position of the name that an expression refers to.
    fn name(&self, expr: ExprId, name: &str) -> NameId {
        self.names.get(expr as usize).copied().unwrap_or_else(|| self.scope.find(name))
    }
}

struct Writer<'a, 'f> {
    cx: Context<'a>,
    tree: &'a Tree<'a>,
    nested: Nested<'f>,
    /// Letters after `where`, by name.
    bound: Vec<Bound<'a>>,
    /// Positions of letters after `where`, if there are many.
    many_bound: HashMap<&'a str, usize>,
    /// Positions of letters by target, if there are many.
    by_target: HashMap<Target, usize>,
    /// The names of all letters, if there are many.
    taken: HashSet<Arc<str>>,
    out: &'f mut Formula,
}

/// A letter after `where`.
struct Bound<'a> {
    letter: &'a str,
    /// The position of its argument.
    place: u32,
    is_used: bool,
}

/// Writes the formula of an expression.
///
/// # Errors
/// The first part that formulas cannot contain, or the error of `nested`.
pub(crate) fn write<'a, 'f>(
    cx: Context<'a>,
    tree: &'a Tree<'a>,
    expr: ExprId,
    out: &'f mut Formula,
    nested: Nested<'f>,
) -> Result<(), Problem> {
    out.text.clear();
    out.places.clear();
    out.letters.clear();
    let mut writer = Writer {
        cx,
        tree,
        nested,
        bound: Vec::new(),
        many_bound: HashMap::new(),
        by_target: HashMap::new(),
        taken: HashSet::new(),
        out,
    };
    if let ExprKind::Formula { bound, .. } = tree.kind(expr)
        && !bound.is_empty()
    {
        writer.bind(bound)?;
    }
    writer.expr(expr)?;
    writer.finish();
    Ok(())
}

impl<'a> Writer<'a, '_> {
    /// Records the letters after `where`.
    fn bind(&mut self, bound: &std::ops::Range<u32>) -> Result<(), Problem> {
        for (place, arg) in bound.clone().zip(self.tree.args_of(bound)) {
            let ArgTo::Input(letter) = &arg.to else { continue };
            if self.bound_letter(letter).is_some() {
                let name = shortened(letter);
                let error = TextError::Duplicate { what: "letter", name };
                return Err(Problem::new(
                    arg.start as usize,
                    arg.start as usize + letter.len(),
                    error,
                ));
            }
            self.bound.push(Bound { letter, place, is_used: false });
            if self.bound.len() > MAX_WALKED {
                let known = self.many_bound.len();
                let new = self.bound.iter().enumerate().skip(known);
                self.many_bound.extend(new.map(|(i, bound)| (bound.letter, i)));
            }
        }
        Ok(())
    }

    /// The position of a letter after `where`.
    fn bound_letter(&self, name: &str) -> Option<usize> {
        if self.bound.len() > MAX_WALKED {
            return self.many_bound.get(name).copied();
        }
        self.bound.iter().position(|bound| *bound.letter == *name)
    }

    /// Finishes the letters. They are in the order of appearance; if all of them are bound after
    /// `where`, in the order there.
    fn finish(self) {
        let letters = &mut self.out.letters;
        for bound in self.bound.iter().filter(|bound| !bound.is_used) {
            let source = self.tree.args[bound.place as usize].value;
            letters.push((Arc::from(bound.letter), Letter::Bound(source, bound.place)));
        }
        let place = |(_, source): &(Arc<str>, Letter)| match source {
            Letter::Bound(_, place) => Some(*place),
            Letter::Target(..) => None,
        };
        if !self.bound.is_empty() && letters.iter().all(|letter| place(letter).is_some()) {
            letters.sort_by_key(place);
        }
    }

    /// Records the place of the next part.
    fn note(&mut self, expr: ExprId) {
        let start = self.tree.span(expr).start;
        self.out.places.push((self.out.text.len() as u32, start));
    }

    /// Writes an expression; the parser limits the depth.
    fn expr(&mut self, expr: ExprId) -> Result<(), Problem> {
        let tree = self.tree;
        match tree.kind(expr) {
            ExprKind::Literal(value) => self.literal(expr, value)?,
            ExprKind::Ref { name, is_quoted } => self.reference(expr, name, *is_quoted)?,
            ExprKind::Input(name) => {
                let target = Target::Input(self.cx.scope.node(name));
                self.target(expr, target, name)?;
            }
            ExprKind::Link(link) => {
                let (node, output) = &**link;
                let target = Target::Link(self.cx.scope.node(node), Arc::from(&**output));
                self.target(expr, target, "")?;
            }
            ExprKind::Member(of, member) => self.member(expr, *of, member)?,
            ExprKind::Call(call) => self.call(expr, &tree.calls[*call as usize])?,
            ExprKind::Several(_) => {
                let hint = "only an input of a node takes several sources; a vector is written as \
                            vec3(x, y, z)";
                return Err(self.refused(expr, "a list of sources", hint));
            }
            ExprKind::Formula { pieces, .. } => {
                let mut text = std::mem::take(&mut self.out.text);
                let written =
                    formula::write(&tree.pieces[at(pieces)], &mut text, |text, operand| {
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

    fn literal(&mut self, expr: ExprId, value: &str) -> Result<(), Problem> {
        let is_number = value.starts_with(|c: char| c.is_ascii_digit() || "-.tf".contains(c));
        if is_number {
            self.note(expr);
            write_value(value, &mut self.out.text);
            return Ok(());
        }
        let (what, hint) = match value.bytes().next() {
            Some(b'"') => ("a text", "give it to an input or a setting of a node"),
            Some(b'n') => ("null", "leave the input out, or write a number"),
            _ => ("a list or an object", "a vector is written `vec3(1, 2, 3)`"),
        };
        Err(self.refused(expr, what, hint))
    }

    fn reference(&mut self, expr: ExprId, name: &str, is_quoted: bool) -> Result<(), Problem> {
        let Some(at) = self.bound_letter(name) else {
            let Context { groups, scope, vocabulary, value, .. } = self.cx;
            let id = self.cx.name(expr, name);
            let known = (groups, self.tree, vocabulary);
            let target = scope.resolve(id, (name, is_quoted), value, known);
            return self.target(expr, target, name);
        };
        self.note(expr);
        self.out.text.push_str(name);
        let Bound { letter, place, is_used } = &mut self.bound[at];
        if !std::mem::replace(is_used, true) {
            let source = Letter::Bound(self.tree.args[*place as usize].value, *place);
            self.out.letters.push((Arc::from(*letter), source));
        }
        Ok(())
    }

    fn call(&mut self, expr: ExprId, call: &'a Call<'a>) -> Result<(), Problem> {
        let tree = self.tree;
        if !self.cx.groups.is_in_formula(call, tree, self.cx.vocabulary) {
            let node = (self.nested)(expr)?;
            let target = Target::Link(node, self.output_of(call));
            return self.target(expr, target, "");
        }
        self.note(expr);
        let from = self.out.text.len();
        if self.alias_before(from).is_some()
            && let Some(problem) = self.unknown(call, from)
        {
            return Err(problem);
        }
        self.out.text.push_str(&call.name);
        self.out.text.push('(');
        for (i, arg) in tree.args_of(&call.args).iter().enumerate() {
            self.out.text.push_str(if i > 0 { ", " } else { "" });
            if let ArgTo::Input(name) = &arg.to {
                if !call.name.contains('.') {
                    let unknown = self.unknown(call, from);
                    return Err(unknown.unwrap_or_else(|| {
                        self.cx.vocabulary.no_names(&call.name, (arg.start as usize, name.len()))
                    }));
                }
                if !name::is_plain(name) {
                    let hint = "call the node on a line of its own";
                    return Err(self.refused(expr, "this name", hint));
                }
                self.out.places.push((self.out.text.len() as u32, arg.start));
                self.out.text.push_str(name);
                self.out.text.push_str(": ");
            }
            self.expr(arg.value).map_err(|problem| match problem.error {
                TextError::NotInFormula { .. } => self.unknown(call, from).unwrap_or(problem),
                _ => problem,
            })?;
        }
        self.close(expr);
        Ok(())
    }

    /// The output that a call means.
    fn output_of(&self, call: &Call<'_>) -> Arc<str> {
        let Context { groups, vocabulary, value, .. } = self.cx;
        Arc::clone(groups.output_of_face(Face::Call(call), value, (self.tree, vocabulary)))
    }

    /// The parenthesis at the end of an expression.
    fn close(&mut self, expr: ExprId) {
        let end = self.tree.span(expr).end.saturating_sub(1);
        self.out.places.push((self.out.text.len() as u32, end));
        self.out.text.push(')');
    }

    /// The problem of a call of something that does not exist, if it is one. The text of the formula
    /// before the call ends at `from`.
    fn unknown(&self, call: &Call<'_>, from: usize) -> Option<Problem> {
        let name = &*call.name;
        let Context { groups, vocabulary, .. } = self.cx;
        let before = self.alias_before(from);
        let alias = before.map(|(_, alias)| alias);
        let (message, hint) = vocabulary.refusal_of_call(name, alias)?;
        let (message, near, hint) = match alias {
            Some(alias) => {
                let near = did_you_mean(alias, groups.aliases.iter().copied());
                let near = near.map(|near| format!("{near}/{name}"));
                let path = format!("{alias}/{name}");
                let message = format!("there is no group called `{}`", shortened(&path));
                (message, near, Some(format!("add a line `use {alias} = \"FILE\"`")))
            }
            None => {
                let near = did_you_mean(name, groups.own.keys().copied());
                (message, near.map(str::to_owned), hint)
            }
        };
        let Span { start, end } = call.name_span;
        // The name before the `/` is the last part of the formula that starts there.
        let of_alias = before.and_then(|(at, _)| {
            self.out.places.iter().rev().find(|(written, _)| *written as usize == at)
        });
        let start = of_alias.map_or(start, |(_, place)| *place);
        let problem = Problem::syntax(start as usize, end as usize, message);
        let near = near.map(|near| format!("did you mean `{near}`?"));
        Some(match near.or(hint) {
            Some(hint) => problem.hint(hint),
            None => problem,
        })
    }

    /// The name before a `/` at the end of this part of the formula, and its place, if nothing has
    /// the name: it may be meant as that of a used document.
    fn alias_before(&self, from: usize) -> Option<(usize, &str)> {
        let text = self.out.text[..from].trim_end().strip_suffix('/')?.trim_end();
        let alias = text.rsplit(|c| !name::continues(c)).next()?;
        let at = text.len() - alias.len();
        let is_free = alias.starts_with(name::starts)
            && !text[..at].trim_end().ends_with('.')
            && self.cx.scope.find(alias) == NO_NAME
            && self.bound_letter(alias).is_none()
            && !self.cx.vocabulary.is_reserved(alias);
        is_free.then_some((at, alias))
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
            && self.bound_letter(name).is_none()
        {
            let Context { scope, vocabulary, value, groups, .. } = self.cx;
            let known = (groups, tree, vocabulary);
            let id = self.cx.name(of, name);
            match scope.resolve_member(id, (name, *is_quoted), member, value, known) {
                MemberOf::Link(target) => return self.target(expr, target, name),
                MemberOf::Component(target) => self.target(of, target, name)?,
            }
        } else if let Some(call) = tree.call(of)
            && !self.cx.groups.is_in_formula(call, tree, self.cx.vocabulary)
        {
            let callee = self.cx.groups.callee(call, tree, self.cx.vocabulary);
            let node = (self.nested)(of)?;
            if self.cx.groups.is_output(&callee, member) {
                return self.target(expr, Target::Link(node, Arc::from(member)), "");
            }
            self.target(of, Target::Link(node, self.output_of(call)), "")?;
        } else {
            self.expr(of)?;
        }
        self.out.text.push('.');
        self.out.text.push_str(member);
        Ok(())
    }

    /// Writes the letter of a target, or the constant of this name.
    fn target(&mut self, expr: ExprId, target: Target, name: &str) -> Result<(), Problem> {
        self.note(expr);
        let Some(wanted) = letter(&target) else {
            self.out.text.push_str(name);
            return Ok(());
        };
        let at = match self.letter_of_target(&target) {
            Some(at) => at,
            None => {
                self.cx.scope.check_link(&target, self.cx.value, self.tree.span(expr))?;
                let free = self.free(wanted);
                self.add_letter(free, target, expr);
                self.out.letters.len() - 1
            }
        };
        self.out.text.push_str(&self.out.letters[at].0);
        Ok(())
    }

    /// The position of the letter of a target.
    fn letter_of_target(&self, target: &Target) -> Option<usize> {
        if !self.taken.is_empty() {
            return self.by_target.get(target).copied();
        }
        let is_it = |source: &Letter| matches!(source, Letter::Target(known, _) if known == target);
        self.out.letters.iter().position(|(_, source)| is_it(source))
    }

    fn add_letter(&mut self, letter: Arc<str>, target: Target, expr: ExprId) {
        let at = self.out.letters.len();
        if !self.taken.is_empty() {
            self.taken.insert(Arc::clone(&letter));
            self.by_target.insert(target.clone(), at);
        }
        self.out.letters.push((letter, Letter::Target(target, expr)));
        if self.taken.is_empty() && at + self.bound.len() >= MAX_WALKED {
            self.taken.extend(self.out.letters.iter().map(|(letter, _)| Arc::clone(letter)));
            for (at, (_, source)) in self.out.letters.iter().enumerate() {
                if let Letter::Target(target, _) = source {
                    self.by_target.insert(target.clone(), at);
                }
            }
        }
    }

    fn is_taken(&self, letter: &str) -> bool {
        let is_known = if self.taken.is_empty() {
            self.out.letters.iter().any(|(known, _)| **known == *letter)
        } else {
            self.taken.contains(letter)
        };
        is_known || self.bound_letter(letter).is_some()
    }

    /// The letter itself, or with the lowest number that makes it unique.
    fn free(&self, wanted: Arc<str>) -> Arc<str> {
        let is_free =
            |letter: &str| !self.is_taken(letter) && !self.cx.vocabulary.is_reserved(letter);
        if is_free(&wanted) {
            return wanted;
        }
        // Few names share a letter; if many do, the count of letters tells where to continue.
        let n_taken = self.by_target.len() + self.bound.len();
        let first = if n_taken > 64 { n_taken } else { 2 };
        let mut numbers = (first..).map(|n| format!("{wanted}_{n}"));
        numbers.find(|letter| is_free(letter)).expect("numbers do not end").into()
    }
}

/// The letter of a target, unless it is taken.
pub(crate) fn letter(target: &Target) -> Option<Arc<str>> {
    match target {
        Target::Constant => None,
        Target::Input(name) => Some(letter_of(name)),
        Target::Link(node, output) if **output == *VALUE => Some(letter_of(node)),
        Target::Link(node, output) => Some(letter_of(&format!("{node}_{output}").into())),
    }
}

/// A name as a letter: characters that letters cannot contain become `_`.
fn letter_of(name: &Arc<str>) -> Arc<str> {
    if name::is_plain(name) {
        return Arc::clone(name);
    }
    let mut letter: String =
        name.chars().map(|c| if name::continues(c) { c } else { '_' }).collect();
    if !letter.starts_with(name::starts) {
        letter.insert(0, '_');
    }
    letter.into()
}
