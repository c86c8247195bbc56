//! Expressions: calls, references, values and formulas.
//!
//! A formula is kept as operands and operators in order; the node type that computes formulas
//! determines precedence.

use std::borrow::Cow;

use millstream_base::Span;
use millstream_base::pages::reserve_in_huge_pages;
use millstream_node::Zone;
use millstream_node::interface::CLOSURE;

use super::{ENDS_WITH_LINE, Parser};
use crate::error::Problem;
use crate::json::{self, value_end};
use crate::name;
use crate::token::{Kind, Symbol};
use crate::tree::{Arg, ArgTo, Call, CallWord, ExprId, ExprKind, Piece, Word};

/// The limit on nested calls, parentheses and lists.
const MAX_NESTING: usize = 100;

impl<'t> Parser<'t> {
    fn add(&mut self, kind: ExprKind<'t>, start: usize) -> ExprId {
        let span = Span::new(start, self.last_end);
        self.tree.add(kind, span)
    }

    /// Reads an expression.
    pub(super) fn expr(&mut self) -> Result<ExprId, Problem> {
        self.deeper()?;
        let start = self.token.start;
        let first = self.pieces.len();
        let mut n_questions = 0_usize;
        loop {
            while let Kind::Symbol(prefix @ (Symbol::Subtract | Symbol::Not | Symbol::Add)) =
                self.token.kind
            {
                self.pieces.push(Piece::Prefix(prefix));
                self.advance()?;
            }
            let operand = self.operand()?;
            self.pieces.push(Piece::Operand(operand));
            let Kind::Symbol(symbol) = self.token.kind else { break };
            match symbol {
                Symbol::Question => n_questions += 1,
                Symbol::Colon if n_questions > 0 => n_questions -= 1,
                symbol if is_infix(symbol) => {}
                _ => break,
            }
            self.pieces.push(Piece::Infix(symbol));
            self.advance()?;
        }
        self.depth -= 1;
        match self.pieces[first..] {
            [Piece::Operand(operand)] => {
                self.pieces.truncate(first);
                return Ok(operand);
            }
            [Piece::Prefix(sign @ (Symbol::Subtract | Symbol::Add)), Piece::Operand(operand)]
                if self.is_number(operand) =>
            {
                self.pieces.truncate(first);
                let number = self.tree.span(operand);
                let number = &self.text[number.start as usize..number.end as usize];
                let text = &self.text[start..self.last_end];
                let text = if sign == Symbol::Add {
                    Cow::Borrowed(number)
                } else if text.len() == number.len() + 1 {
                    Cow::Borrowed(text)
                } else {
                    Cow::Owned(format!("-{number}"))
                };
                return Ok(self.add(ExprKind::Literal(text), start));
            }
            _ => {}
        }
        let from = self.tree.pieces.len() as u32;
        reserve_in_huge_pages(&mut self.tree.pieces, self.pieces.len() - first);
        self.tree.pieces.extend(self.pieces.drain(first..));
        let pieces = from..self.tree.pieces.len() as u32;
        Ok(self.add(ExprKind::Formula { pieces, bound: 0..0 }, start))
    }

    fn deeper(&mut self) -> Result<(), Problem> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.depth <= MAX_NESTING {
            return Ok(());
        }
        let message = format!("the expression is nested deeper than {MAX_NESTING} levels");
        let problem = Problem::syntax(self.token.start, self.token.end, message);
        Err(problem.hint("give the inner part a line of its own: `name = ...`"))
    }

    fn is_number(&self, expr: ExprId) -> bool {
        matches!(self.tree.kind(expr),
            ExprKind::Literal(text) if text.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    }

    /// The letters of a formula that are bound after `where`.
    pub(super) fn bound(&mut self, value: ExprId) -> Result<ExprId, Problem> {
        if !self.is_word("where") {
            return Ok(value);
        }
        self.advance()?;
        let first = self.args.len();
        loop {
            let start = self.token.start as u32;
            let letter = self.name("a letter of the formula")?;
            if !self.takes(Symbol::Colon)? {
                return Err(self.missing("`:`").hint("letters are bound by `where x: a, y: b`"));
            }
            let value = self.expr()?;
            self.args.push(Arg { to: ArgTo::Input(letter), value, start });
            if !self.takes(Symbol::Comma)? {
                break;
            }
        }
        let from = self.tree.args.len() as u32;
        self.tree.args.extend(self.args.drain(first..));
        let bound = from..self.tree.args.len() as u32;
        let pieces = match self.tree.kind(value) {
            ExprKind::Formula { pieces, .. } => pieces.clone(),
            _ => {
                self.tree.pieces.push(Piece::Operand(value));
                let end = self.tree.pieces.len() as u32;
                end - 1..end
            }
        };
        let span = self.tree.span(value);
        Ok(self.tree.add(ExprKind::Formula { pieces, bound }, span))
    }

    fn operand(&mut self) -> Result<ExprId, Problem> {
        let start = self.token.start;
        let operand = match self.token.kind {
            Kind::Number | Kind::Text => {
                self.advance()?;
                let text = &self.text[start..self.last_end];
                return Ok(self.add(ExprKind::Literal(Cow::Borrowed(text)), start));
            }
            Kind::Symbol(Symbol::OpenBlock) => {
                let value = self.json()?;
                return Ok(self.add(ExprKind::Literal(value), start));
            }
            Kind::Symbol(Symbol::OpenList) => return self.list(start, false),
            Kind::Symbol(Symbol::Open) => {
                self.open(Symbol::Open, Symbol::Close)?;
                let inner = self.expr()?;
                self.close(Symbol::Close)?;
                self.add(ExprKind::Paren(inner), start)
            }
            Kind::Name | Kind::Quoted => self.named()?,
            Kind::Symbol(_) | Kind::Line | Kind::End => return Err(self.no_operand()),
        };
        self.members(operand, start)
    }

    fn no_operand(&self) -> Problem {
        let problem = self.missing("a value, a name or a call");
        match self.token.kind {
            Kind::Line | Kind::End => problem.hint(ENDS_WITH_LINE),
            Kind::Symbol(Symbol::Multiply | Symbol::Power) => {
                problem.hint("a power is written `x ^ 2` or `x ** 2`")
            }
            _ => problem,
        }
    }

    /// `.name` after an expression, any number of times.
    fn members(&mut self, mut of: ExprId, start: usize) -> Result<ExprId, Problem> {
        let depth = self.depth;
        while self.takes(Symbol::Point)? {
            self.deeper()?;
            let member = self
                .name("the name of an output or a component")
                .map_err(|it| it.hint("a component is written `v.x`, an output `node.name`"))?;
            of = self.add(ExprKind::Member(of, member), start);
        }
        self.depth = depth;
        Ok(of)
    }

    /// A list: of values, or of sources.
    fn list(&mut self, start: usize, is_of_sources: bool) -> Result<ExprId, Problem> {
        let mut not_json = None;
        if !is_of_sources {
            match value_end(self.text, start) {
                Ok(_) => {
                    let value = self.json()?;
                    return Ok(self.add(ExprKind::Literal(value), start));
                }
                Err(problem) => not_json = Some(problem).filter(|_| self.is_in_list),
            }
        }
        let first = self.sources.len();
        if let Err(problem) = self.items() {
            let not_json = not_json.filter(|_| self.depth <= MAX_NESTING);
            return Err(not_json.unwrap_or(problem));
        }
        let items = self.sources.drain(first..);
        // Values are a literal also with comments, a comma at the end, or numbers of formulas.
        let values = items.as_slice().iter().map(|item| value_of(self.tree.kind(*item)));
        let values: Option<Vec<Cow<'_, str>>> = values.collect();
        if let Some(values) = values.filter(|_| !is_of_sources) {
            let text = Cow::Owned(format!("[{}]", values.join(", ")));
            drop(items);
            return Ok(self.add(ExprKind::Literal(text), start));
        }
        if let Some(problem) = not_json {
            return Err(problem);
        }
        let from = self.tree.sources.len() as u32;
        self.tree.sources.extend(items);
        let sources = from..self.tree.sources.len() as u32;
        Ok(self.add(ExprKind::Several(sources), start))
    }

    /// Reads the items of a list, with its brackets, and adds them to the sources.
    fn items(&mut self) -> Result<(), Problem> {
        self.open(Symbol::OpenList, Symbol::CloseList)?;
        let was_in_list = std::mem::replace(&mut self.is_in_list, true);
        while !self.is(Symbol::CloseList) {
            let source = self.expr()?;
            self.sources.push(source);
            if !self.takes(Symbol::Comma)? {
                break;
            }
        }
        self.close(Symbol::CloseList)?;
        self.is_in_list = was_in_list;
        Ok(())
    }

    /// An expression that starts with a name: a reference, a call, or a keyword before a name.
    fn named(&mut self) -> Result<ExprId, Problem> {
        let start = self.token.start;
        let is_quoted = matches!(self.token.kind, Kind::Quoted);
        if !is_quoted && let Some(end) = self.called_type(self.token.end) {
            let name = self.skip_to(start, end)?;
            return self.call((start, start), name, CallWord::None);
        }
        let name = self.name("a name")?;
        if !is_quoted {
            // The next token distinguishes most names from keywords.
            match self.token.kind {
                Kind::Name | Kind::Quoted => {
                    if let Some(expr) = self.after_word(&name, start)? {
                        return Ok(expr);
                    }
                }
                Kind::Symbol(Symbol::OpenList) if name == "several" => {
                    return self.list(start, true);
                }
                Kind::Symbol(Symbol::Open | Symbol::Point | Symbol::At) => {}
                _ if matches!(&*name, "true" | "false" | "null") => {
                    return Ok(self.add(ExprKind::Literal(name), start));
                }
                _ => {}
            }
        }
        if self.is(Symbol::Divide) && self.is_alias(&name) {
            let (at, token, last) = (self.lexer.at, self.token, self.last_end);
            let n_comments = self.lexer.comments.len();
            if let Ok(path) = self.path_after(name.clone())
                && (self.is(Symbol::Open) || self.is(Symbol::At))
            {
                return self.call((start, start), path, CallWord::None);
            }
            (self.lexer.at, self.token, self.last_end) = (at, token, last);
            self.lexer.comments.truncate(n_comments);
        }
        if self.is(Symbol::Open) || self.is(Symbol::At) {
            return self.call((start, start), name, CallWord::None);
        }
        Ok(self.add(ExprKind::Ref { name, is_quoted }, start))
    }

    /// The meaning of a word before a name; `None` if it has none.
    fn after_word(&mut self, word: &str, start: usize) -> Result<Option<ExprId>, Problem> {
        Ok(Some(match word {
            "true" | "false" | "null" => {
                let literal = Cow::Borrowed(&self.text[start..self.last_end]);
                self.add(ExprKind::Literal(literal), start)
            }
            "input" => {
                let name = self.name("the name of an input")?;
                self.add(ExprKind::Input(name), start)
            }
            "muted" => {
                self.deeper()?;
                let inner = self.named()?;
                self.depth -= 1;
                let ExprKind::Call(call) = self.tree.exprs[inner as usize].kind else {
                    let problem = Problem::syntax(start, self.last_end, "only a call can be muted");
                    return Err(problem.hint("write `name = muted call(...)`"));
                };
                self.tree.calls[call as usize].is_muted = true;
                self.tree.exprs[inner as usize].span.start = start as u32;
                inner
            }
            "node" => self.explicit_node(start)?,
            "group" => self.path(start, CallWord::Group)?,
            CLOSURE => self.path(start, CallWord::Closure)?,
            word => match Zone::named(word) {
                Some(zone) => self.path(start, CallWord::Zone(zone))?,
                None => return Ok(None),
            },
        }))
    }

    /// The end of a dotted name that ends here or later, if it is called.
    fn called_type(&self, first_end: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut end = first_end;
        if bytes.get(end) != Some(&b'.') {
            return None;
        }
        while bytes.get(end) == Some(&b'.') {
            let next = name::plain_end(self.text, end + 1);
            if next == end + 1 || bytes[end + 1].is_ascii_digit() {
                return None;
            }
            end = next;
        }
        let blanks = bytes[end..].iter().take_while(|byte| **byte == b' ').count();
        let is_called = matches!(bytes.get(end + blanks), Some(b'(' | b'@'));
        (end > first_end && is_called).then_some(end)
    }

    fn skip_to(&mut self, start: usize, end: usize) -> Result<Word<'t>, Problem> {
        self.lexer.at = end;
        self.token.end = end;
        self.advance()?;
        Ok(Cow::Borrowed(&self.text[start..end]))
    }

    /// `node type(...)` or `node name.output`, from the name on.
    fn explicit_node(&mut self, start: usize) -> Result<ExprId, Problem> {
        let from = self.token.start;
        if self.token.kind == Kind::Name
            && let Some(end) = self.called_type(self.token.end)
        {
            let name = self.skip_to(from, end)?;
            return self.call((start, from), name, CallWord::Node);
        }
        let name = self.name("a name")?;
        if self.is(Symbol::Open) || self.is(Symbol::At) {
            return self.call((start, from), name, CallWord::Node);
        }
        if !self.takes(Symbol::Point)? {
            return Err(self.missing("`.` and an output, or `(`"));
        }
        let output = self.name("the name of an output")?;
        Ok(self.add(ExprKind::Link(Box::new((name, output))), start))
    }

    /// A call of a group that may be in a used document, from its name on.
    fn path(&mut self, start: usize, word: CallWord) -> Result<ExprId, Problem> {
        let from = self.token.start;
        let name = self.name("the name of a group")?;
        let name = self.path_after(name)?;
        self.call((start, from), name, word)
    }

    /// Names after `/`, any number of times.
    fn path_after(&mut self, mut path: Word<'t>) -> Result<Word<'t>, Problem> {
        while self.takes(Symbol::Divide)? {
            let name = self.name("the name of a group")?;
            path = Cow::Owned(format!("{path}/{name}"));
        }
        Ok(path)
    }

    /// The version and the arguments of a call, given where it and its name start.
    fn call(
        &mut self,
        (start, from): (usize, usize),
        name: Word<'t>,
        word: CallWord,
    ) -> Result<ExprId, Problem> {
        let name_span = Span::new(from, self.last_end);
        let mut version = 1;
        if self.is(Symbol::At) {
            self.advance()?;
            let at = self.token.start;
            version = self
                .whole("the version of the node type")
                .map_err(|it| it.hint("a version is a number: `math.round@2(x)`"))?;
            if version == 0 {
                return Err(Problem::syntax(at, self.last_end, "versions are counted from 1"));
            }
        }
        if !self.is(Symbol::Open) {
            return Err(self.missing("`(`"));
        }
        self.open(Symbol::Open, Symbol::Close)?;
        let was_in_list = std::mem::take(&mut self.is_in_list);
        let zone = self.header_at(start, word, &name);
        let first = self.args.len();
        let mut has_names = false;
        while !self.is(Symbol::Close) {
            let arg = match zone {
                Some(zone) => self.header_arg(zone)?,
                None => self.arg()?,
            };
            let is_position = matches!(arg.to, ArgTo::Position);
            if is_position && has_names {
                let span = self.tree.span(arg.value);
                let message = "an input without a name follows one with a name";
                let problem = Problem::syntax(span.start as usize, span.end as usize, message);
                return Err(problem.hint("name it too, as in `x: ...`, or move it to the front"));
            }
            has_names |= !is_position;
            self.args.push(arg);
            if !self.takes(Symbol::Comma)? {
                break;
            }
        }
        if zone.is_none() && !self.is(Symbol::Close) {
            self.check_no_block(word, &name)?;
        }
        self.close(Symbol::Close)?;
        self.is_in_list = was_in_list;
        let from = self.tree.args.len() as u32;
        match first {
            0 => self.tree.args.append(&mut self.args),
            first => self.tree.args.extend(self.args.drain(first..)),
        }
        let args = from..self.tree.args.len() as u32;
        let mut call = Call { word, is_muted: false, name, name_span, version, args };
        if let Some(zone) = zone.filter(|_| self.opens_block()) {
            self.block_face(zone, &mut call)?;
        }
        Ok(self.tree.add_call(call, Span::new(start, self.last_end)))
    }

    pub(super) fn arg(&mut self) -> Result<Arg<'t>, Problem> {
        let start = self.token.start as u32;
        if self.is_name() {
            let bytes = self.text.as_bytes();
            let mut next = self.token.end;
            while matches!(bytes.get(next), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                next += 1;
            }
            let follows = (bytes.get(next), bytes.get(next + 1));
            match follows {
                (Some(b':'), _) => {
                    let name = self.name_before(next + 1)?;
                    let value = self.value()?;
                    return Ok(Arg { to: ArgTo::Input(name), value, start });
                }
                (Some(b'='), after) if after != Some(&b'=') => {
                    let name = self.name_before(next + 1)?;
                    let from = self.token.start;
                    let value = self.json()?;
                    let value = self.add(ExprKind::Literal(value), from);
                    return Ok(Arg { to: ArgTo::Setting(name), value, start });
                }
                _ => {}
            }
        }
        let value = self.value()?;
        Ok(Arg { to: ArgTo::Position, value, start })
    }

    /// The value of an argument: most often a number or a name alone, which is read at once.
    fn value(&mut self) -> Result<ExprId, Problem> {
        let next = self.text.as_bytes().get(self.token.end);
        let ends = matches!(next, Some(b',' | b')')) && self.depth < MAX_NESTING;
        match self.token.kind {
            Kind::Number if ends => self.operand(),
            Kind::Name if ends && !matches!(self.word(), "true" | "false" | "null") => {
                let (start, name) = (self.token.start, self.name("a name")?);
                Ok(self.add(ExprKind::Ref { name, is_quoted: false }, start))
            }
            _ => self.expr(),
        }
    }
}

/// The JSON of a literal.
fn value_of<'k>(kind: &'k ExprKind<'_>) -> Option<Cow<'k, str>> {
    let ExprKind::Literal(text) = kind else { return None };
    let json = json::read(text).map(|json| json.to_string());
    Some(json.map_or(Cow::Borrowed(&**text), Cow::Owned))
}

fn is_infix(symbol: Symbol) -> bool {
    matches!(
        symbol,
        Symbol::Equal
            | Symbol::NotEqual
            | Symbol::LessEqual
            | Symbol::GreaterEqual
            | Symbol::And
            | Symbol::Or
            | Symbol::Power
            | Symbol::Less
            | Symbol::Greater
            | Symbol::Add
            | Symbol::Subtract
            | Symbol::Multiply
            | Symbol::Divide
            | Symbol::Modulo
            | Symbol::Caret
    )
}
