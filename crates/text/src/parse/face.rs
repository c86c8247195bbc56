//! Statements about the document, inputs, outputs, and the first lines of groups.

use std::borrow::Cow;

use millstream_base::Span;
use millstream_base::pages::reserve_in_huge_pages;

use super::{Opened, Parser};
use crate::error::Problem;
use crate::json::{NO_ZERO, shown, starts_with_zero};
use crate::name;
use crate::token::{Kind, Symbol, Token};
use crate::tree::{ExprKind, GroupLine, InputLine, LockLine, OutputLine, UseLine, What, Word};

impl<'t> Parser<'t> {
    /// `use name = "path"`, from the name on.
    pub(super) fn use_line(&mut self, head: &mut What<'t>) -> Result<What<'t>, Problem> {
        let hint = "a used document is written `use noise = \"lib/noise.mill\"`";
        let name = self.name("the name of the used document").map_err(|it| it.hint(hint))?;
        let path = Cow::Borrowed("");
        *head = What::Use(Box::new(UseLine { name: name.clone(), path }));
        self.expect(Symbol::Assign, hint)?;
        let path = self.string("the path of the document").map_err(|it| it.hint(hint))?;
        Ok(What::Use(Box::new(UseLine { name, path })))
    }

    /// Whether a document is used under this name, anywhere in the text.
    pub(super) fn is_alias(&mut self, name: &str) -> bool {
        let text = self.text;
        let aliases = self.aliases.get_or_insert_with(|| {
            let named = text.split('\n').filter_map(|line| {
                let after = line.trim_start().strip_prefix("use")?;
                let start = after.trim_start_matches([' ', '\t']);
                if start.len() == after.len() {
                    return None;
                }
                match start.strip_prefix('`') {
                    Some(_) => name::read_quoted(start, 0).ok().map(|(name, _)| name),
                    None => Some(Cow::Borrowed(&start[..name::plain_end(start, 0)])),
                }
            });
            named.collect()
        });
        aliases.contains(name)
    }

    /// `lock name = format "hash"`, from the name on.
    pub(super) fn lock_line(&mut self, head: &mut What<'t>) -> Result<What<'t>, Problem> {
        let name = self.name("the name of the used document")?;
        let hash = Cow::Borrowed("");
        *head = What::Lock(Box::new(LockLine { name: name.clone(), format: 0, hash }));
        self.expect(Symbol::Assign, "`millstream check --update-lock` writes locks")?;
        let hint = "`millstream check --update-lock` writes locks: `lock name = 2 \"sha256:...\"`";
        let format = self.whole("the number of a format").map_err(|it| it.hint(hint))?;
        let hash = self.string("the hash of the document").map_err(|it| it.hint(hint))?;
        Ok(What::Lock(Box::new(LockLine { name, format, hash })))
    }

    fn expect(&mut self, symbol: Symbol, hint: &str) -> Result<(), Problem> {
        if self.takes(symbol)? {
            return Ok(());
        }
        Err(self.missing(&format!("`{}`", symbol.text())).hint(hint))
    }

    pub(super) fn input_line(&mut self, head: &mut What<'t>) -> Result<What<'t>, Problem> {
        let at = self.tree.inputs.len() as u32;
        self.input(|_| *head = What::Input(at))?;
        Ok(What::Input(at))
    }

    pub(super) fn output_line(&mut self, head: &mut What<'t>) -> Result<What<'t>, Problem> {
        let at = self.tree.outputs.len() as u32;
        self.output(|_| *head = What::Output(at))?;
        Ok(What::Output(at))
    }

    /// An input, from its name on; it is added before its clauses are read.
    fn input(&mut self, added: impl FnOnce(&Self)) -> Result<(), Problem> {
        let start = self.token.start;
        let at = self.input_head(added)?;
        self.input_notes(at, start, false)
    }

    /// The name and the type of an input; returns its position.
    pub(super) fn input_head(&mut self, added: impl FnOnce(&Self)) -> Result<usize, Problem> {
        let start = self.token.start;
        let name = self.name("the name of the input")?;
        let span = Span::new(start, self.last_end);
        let at = self.tree.inputs.len();
        self.tree.inputs.push(InputLine {
            name,
            ty: Cow::Borrowed(""),
            default: None,
            default_span: Span::default(),
            min: None,
            max: None,
            step: None,
            about: None,
            unit: None,
            span,
        });
        added(self);
        self.expect(Symbol::Colon, "write the type of its value: `name: f32`")?;
        self.tree.inputs[at].ty = self.ty()?;
        Ok(at)
    }

    /// The clauses after the type of an input, in any order; an input with a source has no default.
    pub(super) fn input_notes(
        &mut self,
        at: usize,
        start: usize,
        has_source: bool,
    ) -> Result<(), Problem> {
        loop {
            let line = &self.tree.inputs[at];
            let word = self.word();
            let is_given = match (self.token.kind, word) {
                (Kind::Symbol(Symbol::Assign), _) => has_source || line.default.is_some(),
                (Kind::Name, "from") => line.min.is_some(),
                (Kind::Name, "to") => line.max.is_some(),
                (Kind::Name, "step") => line.step.is_some(),
                (Kind::Name, "in") => line.unit.is_some(),
                (Kind::Text, _) => line.about.is_some(),
                _ => break,
            };
            if is_given {
                return Err(self.twice());
            }
            match (self.token.kind, word) {
                (Kind::Text, _) => self.tree.inputs[at].about = Some(self.string("a description")?),
                (Kind::Symbol(_), _) => {
                    self.advance()?;
                    let from = self.token.start;
                    let default = self.json()?;
                    let line = &mut self.tree.inputs[at];
                    line.default = Some(default);
                    line.default_span = Span::new(from, self.last_end);
                }
                (_, "in") => self.tree.inputs[at].unit = Some(self.unit()?),
                _ => {
                    self.advance()?;
                    let number = Some(self.number("a number")?);
                    let line = &mut self.tree.inputs[at];
                    match word {
                        "from" => line.min = number,
                        "to" => line.max = number,
                        _ => line.step = number,
                    }
                }
            }
        }
        self.tree.inputs[at].span = Span::new(start, self.last_end);
        Ok(())
    }

    fn twice(&self) -> Problem {
        let found = shown(self.text, self.token.start);
        let message = match self.token.kind {
            Kind::Text => "the description is given twice".into(),
            _ => format!("{found} is given twice"),
        };
        Problem::syntax(self.token.start, self.token.end, message).hint("remove one of them")
    }

    fn output(&mut self, added: impl FnOnce(&Self)) -> Result<(), Problem> {
        let start = self.token.start;
        let name = self.name("the name of the output")?;
        let span = Span::new(start, self.last_end);
        let at = self.tree.outputs.len();
        let (ty, value, about, unit) = (Cow::Borrowed(""), None, None, None);
        reserve_in_huge_pages(&mut self.tree.outputs, 1);
        self.tree.outputs.push(OutputLine { name, ty, value, about, unit, span });
        added(self);
        self.expect(Symbol::Colon, "write the type of its value: `name: f32`")?;
        self.tree.outputs[at].ty = self.ty()?;
        if self.takes(Symbol::Assign)? {
            let value = self.expr()?;
            if let ExprKind::Literal(text) = self.tree.kind(value)
                && starts_with_zero(text)
            {
                let span = self.tree.span(value);
                return Err(Problem::syntax(span.start as usize, span.end as usize, NO_ZERO));
            }
            self.tree.outputs[at].value = Some(self.bound(value)?);
        }
        loop {
            let line = &self.tree.outputs[at];
            match (self.token.kind, self.word()) {
                (Kind::Text, _) if line.about.is_none() => {
                    self.tree.outputs[at].about = Some(self.string("a description")?);
                }
                (Kind::Name, "in") if line.unit.is_none() => {
                    self.tree.outputs[at].unit = Some(self.unit()?);
                }
                (Kind::Text, _) | (Kind::Name, "in") => return Err(self.twice()),
                (Kind::Symbol(Symbol::Assign), _)
                    if line.value.is_none() && (line.about.is_some() || line.unit.is_some()) =>
                {
                    let after = if line.about.is_some() { "description" } else { "unit" };
                    let hint = format!("the value of an output comes before its {after}");
                    return Err(self.too_much().hint(hint));
                }
                _ => break,
            }
        }
        self.tree.outputs[at].span = Span::new(start, self.last_end);
        Ok(())
    }

    /// `in m` or `in "m/s"`.
    fn unit(&mut self) -> Result<Word<'t>, Problem> {
        self.advance()?;
        match self.token.kind {
            Kind::Name => self.name("a unit"),
            Kind::Text => self.string("a unit"),
            _ => Err(self.missing("a unit, such as `m` or `\"m/s\"`,")),
        }
    }

    /// The name of a type: `f32`, `list<vec3>`, or anything in back quotes.
    fn ty(&mut self) -> Result<Word<'t>, Problem> {
        if !self.is_name() {
            return Err(self.missing("a type, such as `f32`,"));
        }
        let start = self.token.start;
        if self.token.kind == Kind::Name {
            let Some(end) = name::type_end(self.text, self.token.end) else {
                let end = self.token.end + 1;
                let problem = Problem::syntax(start, end, "the `<` of this type is not closed");
                return Err(problem.hint("a list is written `list<f32>`"));
            };
            self.lexer.at = end;
            self.token = Token { kind: Kind::Line, start, end };
            self.advance()?;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        self.name("a type")
    }

    /// The first line of a group, up to its `{`.
    pub(super) fn group_line(&mut self, head: &mut What<'t>) -> Result<What<'t>, Problem> {
        while let Some(block) = self.blocks.pop() {
            // The group before it is not closed.
            self.report(super::not_closed(block));
            self.tree.hides_statements = true;
            self.item(What::Close, self.token.start, false, true);
        }
        let name = self.name("the name of the group")?;
        let at = self.tree.groups.len() as u32;
        let (first_input, first_output) =
            (self.tree.inputs.len() as u32, self.tree.outputs.len() as u32);
        self.tree.groups.push(GroupLine {
            name,
            is_block: false,
            zone: None,
            inputs: first_input..first_input,
            outputs: first_output..first_output,
            about: None,
            end: 0,
        });
        *head = What::Group(at);
        if !self.is(Symbol::Open) {
            return Err(self
                .missing("`(`")
                .hint("a group is written `group name(x: f32) -> y: f32 {`"));
        }
        self.open(Symbol::Open, Symbol::Close)?;
        while !self.is(Symbol::Close) {
            self.input(|_| {})?;
            self.tree.groups[at as usize].inputs.end = self.tree.inputs.len() as u32;
            if !self.takes(Symbol::Comma)? {
                break;
            }
        }
        self.close(Symbol::Close)?;
        if self.takes(Symbol::Arrow)? {
            self.group_outputs(at as usize)?;
        }
        let opened = self.token.start;
        if !self.is(Symbol::OpenBlock) {
            let hint = "the nodes of a group follow its inputs and outputs, between `{` and `}`";
            return Err(self.missing("`->` or `{`").hint(hint));
        }
        let (open, close) = (Symbol::OpenBlock.text(), Symbol::CloseBlock.text());
        self.advance()?;
        self.tree.groups[at as usize].end = self.last_end as u32;
        self.purpose(at as usize)?;
        self.blocks.push(Opened { at: opened, open, close });
        Ok(What::Group(at))
    }

    pub(super) fn group_outputs(&mut self, at: usize) -> Result<(), Problem> {
        if !self.is(Symbol::Open) {
            self.output(|_| {})?;
            self.tree.groups[at].outputs.end = self.tree.outputs.len() as u32;
            return Ok(());
        }
        self.open(Symbol::Open, Symbol::Close)?;
        while !self.is(Symbol::Close) {
            self.output(|_| {})?;
            self.tree.groups[at].outputs.end = self.tree.outputs.len() as u32;
            if !self.takes(Symbol::Comma)? {
                break;
            }
        }
        self.close(Symbol::Close)
    }

    /// The purpose of a group, a text on its first line inside.
    pub(super) fn purpose(&mut self, at: usize) -> Result<(), Problem> {
        let (lexer_at, token) = (self.lexer.at, self.token);
        let (n_comments, last_end) = (self.lexer.comments.len(), self.last_end);
        while self.token.kind == Kind::Line {
            self.advance()?;
        }
        if self.token.kind == Kind::Text {
            self.tree.groups[at].about = Some(self.string("the purpose of the group")?);
            return Ok(());
        }
        // The skipped comments belong to the first statement.
        self.lexer.comments.truncate(n_comments);
        (self.lexer.at, self.token, self.last_end) = (lexer_at, token, last_end);
        Ok(())
    }
}
