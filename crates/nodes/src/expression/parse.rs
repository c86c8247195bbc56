//! Parser of expressions: operator precedence by binding powers, with a limit on nesting.
//!
//! Terms are written after their operands, so later steps are loops over the terms and need no
//! recursion. The parser itself recurses only where the text nests, at most [`MAX_NESTING`] deep.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use millstream_base::diagnostics::did_you_mean;

use super::functions::{CONSTANTS, FUNCTIONS, SPECIAL, find, is_taken, names};
use super::token::{Lexer, Number, Symbol, Token, TokenKind};
use super::{Argument, Binary, Expression, SyntaxError, Term, TermId, Unary};

/// The limit on nested parentheses, prefixes and right-hand operands.
const MAX_NESTING: usize = 200;
/// The limit on the length of the text without spaces, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// Binding powers, weakest first; prefixes bind more weakly than powers, so that -x^2 is -(x^2).
const CONDITIONAL: u8 = 1;
const PREFIX: u8 = 8;
const POWER: u8 = 9;

pub(super) fn parse(text: &str) -> Result<Expression, SyntaxError> {
    // Spaces do not count, because the text form writes its own.
    let n_bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
    if n_bytes > MAX_TEXT {
        let message =
            format!("the formula has {n_bytes} bytes without spaces, but the limit is {MAX_TEXT}");
        return Err(SyntaxError::new(message, 0..0).hint("split it into several nodes"));
    }
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser {
        lexer,
        text,
        token,
        last: None,
        depth: 0,
        terms: Vec::new(),
        ranges: Vec::new(),
        inputs: Vec::new(),
        known: BTreeMap::new(),
        nodes: Vec::new(),
    };
    if token.kind == TokenKind::End {
        return Err(SyntaxError::new("the expression is empty", 0..text.len())
            .hint("write a formula such as `2 * x + 1`"));
    }
    parser.expression(0)?;
    match parser.token.kind {
        TokenKind::End => {
            let Parser { terms, ranges, inputs, nodes, .. } = parser;
            Ok(Expression { terms, ranges, inputs, nodes })
        }
        TokenKind::Symbol(Symbol::Close) => Err(parser
            .here("this `)` has no matching `(`")
            .hint("remove it, or add a `(` before it")),
        TokenKind::Symbol(_) | TokenKind::Number(_) | TokenKind::Name(_) | TokenKind::Foreign => {
            Err(parser.unexpected())
        }
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    text: &'t str,
    /// The next token.
    token: Token<'t>,
    /// The token before it.
    last: Option<Token<'t>>,
    depth: usize,
    terms: Vec<Term>,
    ranges: Vec<Range<usize>>,
    inputs: Vec<Arc<str>>,
    known: BTreeMap<&'t str, u32>,
    nodes: Vec<Arc<str>>,
}

impl<'t> Parser<'t> {
    /// Adds a term that extends from `start` to the last token.
    fn push(&mut self, term: Term, start: usize) -> TermId {
        let end = self.last.map_or(start, |last| last.end);
        self.terms.push(term);
        self.ranges.push(start..end);
        TermId((self.terms.len() - 1) as u32)
    }

    fn advance(&mut self) -> Result<Token<'t>, SyntaxError> {
        let token = std::mem::replace(&mut self.token, self.lexer.next()?);
        self.last = Some(token);
        Ok(token)
    }

    fn takes(&mut self, symbol: Symbol) -> Result<bool, SyntaxError> {
        let there = self.token.kind == TokenKind::Symbol(symbol);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn here(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(message, self.token.start..self.token.end)
    }

    fn source(&self, token: Token<'_>) -> &'t str {
        &self.text[token.start..token.end]
    }

    /// Parses operands and the operators between them that bind at least as strongly as `least`.
    fn expression(&mut self, least: u8) -> Result<TermId, SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self
                .here(format!("the expression is nested deeper than {MAX_NESTING} levels"))
                .hint("move the inner part to another node"));
        }
        let start = self.token.start;
        let mut left = self.operand()?;
        while self.takes(Symbol::Point)? {
            left = self.member(left, start)?;
        }
        let mut comparison = None;
        while let TokenKind::Symbol(symbol) = self.token.kind {
            if symbol == Symbol::Question && least <= CONDITIONAL {
                left = self.choice(left, start)?;
                continue;
            }
            let Some((binary, binds)) = binary(symbol).filter(|(_, binds)| *binds >= least) else {
                break;
            };
            if binary.is_comparison() && comparison == Some(binds) {
                return Err(self
                    .here("comparisons cannot be chained")
                    .hint("write `a < b && b < c`, or use parentheses"));
            }
            comparison = binary.is_comparison().then_some(binds);
            self.advance()?;
            // Powers are right-associative, all other operators left-associative.
            let right = self.expression(if binds == POWER { POWER } else { binds + 1 })?;
            left = self.push(Term::Binary(binary, left, right), start);
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The rest of `condition ? a : b`, from the question mark on.
    fn choice(&mut self, condition: TermId, start: usize) -> Result<TermId, SyntaxError> {
        let question = self.advance()?;
        let yes = self.expression(0)?;
        if !self.takes(Symbol::Colon)? {
            return Err(SyntaxError::new("this `?` has no `:`", question.start..question.end)
                .hint("a choice is written `condition ? a : b`"));
        }
        let no = self.expression(CONDITIONAL)?;
        Ok(self.push(Term::Choose(condition, yes, no), start))
    }

    fn operand(&mut self) -> Result<TermId, SyntaxError> {
        match self.token.kind {
            TokenKind::Number(number) => {
                let token = self.advance()?;
                Ok(self.push(Term::Number(number), token.start))
            }
            TokenKind::Name(name) => {
                let token = self.advance()?;
                let is_node =
                    self.token.kind == TokenKind::Symbol(Symbol::Point) && self.lexer.calls_next();
                if is_node {
                    self.node(name, token)
                } else if self.token.kind == TokenKind::Symbol(Symbol::Open) {
                    self.call(name, token)
                } else {
                    self.name(name, token)
                }
            }
            TokenKind::Symbol(Symbol::Open) => {
                let open = self.advance()?;
                let inner = self.expression(0)?;
                self.close(open)?;
                Ok(inner)
            }
            TokenKind::Symbol(Symbol::Subtract) => self.prefixed(Unary::Negate),
            TokenKind::Symbol(Symbol::Not) => self.prefixed(Unary::Not),
            TokenKind::Symbol(Symbol::Add) => {
                self.advance()?;
                self.expression(PREFIX)
            }
            TokenKind::Symbol(_) | TokenKind::Foreign | TokenKind::End => {
                Err(self.missing_operand())
            }
        }
    }

    fn prefixed(&mut self, unary: Unary) -> Result<TermId, SyntaxError> {
        let start = self.advance()?.start;
        let operand = self.expression(PREFIX)?;
        if unary == Unary::Negate
            && let Term::Number(number) = &mut self.terms[operand.0 as usize]
        {
            // The least integer has no positive counterpart.
            *number = number.negative();
            return Ok(operand);
        }
        Ok(self.push(Term::Unary(unary, operand), start))
    }

    /// The name of components or of an output, after the point.
    fn member(&mut self, of: TermId, start: usize) -> Result<TermId, SyntaxError> {
        let TokenKind::Name(name) = self.token.kind else {
            let error = self.here("a name is missing after `.`");
            return Err(error.hint("components of a vector are written `v.x` or `v.zyx`"));
        };
        self.advance()?;
        Ok(self.push(Term::Member(of, name.into()), start))
    }

    /// A call of a node type, from the point in its name on.
    fn node(&mut self, family: &str, token: Token<'_>) -> Result<TermId, SyntaxError> {
        self.advance()?;
        let name = self.advance()?;
        let name = format!("{family}.{}", self.source(name));
        let open = self.advance()?;
        let args = self.arguments(open, None)?;
        self.nodes.push(name.into());
        Ok(self.push(Term::Node(self.nodes.len() as u32 - 1, args), token.start))
    }

    fn close(&mut self, open: Token<'_>) -> Result<(), SyntaxError> {
        if self.takes(Symbol::Close)? {
            return Ok(());
        }
        if self.token.kind == TokenKind::End {
            return Err(
                SyntaxError::new("this `(` is not closed", open.start..open.end).hint("add a `)`")
            );
        }
        Err(self.unexpected())
    }

    /// A name without arguments: a constant or an input.
    fn name(&mut self, name: &'t str, token: Token<'_>) -> Result<TermId, SyntaxError> {
        let range = token.start..token.end;
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            let number = Number::of_float(*value);
            return Ok(self.push(Term::Number(number), token.start));
        }
        match name {
            "true" => return Ok(self.push(Term::Truth(true), token.start)),
            "false" => return Ok(self.push(Term::Truth(false), token.start)),
            "and" | "or" | "not" => {
                let symbol = [("and", "&&"), ("or", "||"), ("not", "!")];
                let symbol = symbol.iter().find(|(word, _)| *word == name).map_or("", |s| s.1);
                return Err(SyntaxError::new(format!("`{name}` is not an operator"), range)
                    .hint(format!("write `{symbol}`")));
            }
            _ => {}
        }
        if is_taken(name) {
            return Err(SyntaxError::new(format!("`{name}` is a function, not an input"), range)
                .hint(format!(
                    "write its arguments: `{name}(...)`, or choose another name for the input"
                )));
        }
        let next = self.inputs.len() as u32;
        let input = *self.known.entry(name).or_insert(next);
        if input == next {
            self.inputs.push(name.into());
        }
        Ok(self.push(Term::Input(input), token.start))
    }

    /// A call, from the opening parenthesis on.
    fn call(&mut self, name: &str, token: Token<'_>) -> Result<TermId, SyntaxError> {
        let function = find(name);
        let special = SPECIAL.iter().find(|(special, _)| *special == name);
        let arity = match (function, special) {
            (Some(function), _) => FUNCTIONS[function].arity,
            (None, Some((_, n))) => (*n, *n),
            (None, None) => return Err(unknown_function(name, token, self.text)),
        };
        let open = self.advance()?;
        let args = self.arguments(open, Some(name))?;
        let args: Vec<TermId> = args.into_iter().map(|(_, arg)| arg).collect();
        if args.len() < arity.0 || args.len() > arity.1 {
            let end = self.last.map_or(token.end, |last| last.end);
            return Err(wrong_arity(name, arity, args.len(), token.start..end));
        }
        let term = match function {
            Some(function) => Term::Call(function as u16, args),
            None if name == "if" => Term::Choose(args[0], args[1], args[2]),
            None => Term::Binary(Binary::Power, args[0], args[1]),
        };
        Ok(self.push(term, token.start))
    }

    /// The arguments of a call, after the opening parenthesis; those of nodes may have names, and
    /// those of this function not.
    fn arguments(
        &mut self,
        open: Token<'_>,
        function: Option<&str>,
    ) -> Result<Vec<Argument>, SyntaxError> {
        let mut args = Vec::new();
        if self.takes(Symbol::Close)? {
            return Ok(args);
        }
        loop {
            let name = match self.token.kind {
                TokenKind::Name(name) if self.lexer.names_next() => {
                    if let Some(function) = function {
                        let error = self.here("arguments of functions have no names");
                        let hint = "write them in order, without names and colons";
                        return Err(
                            SyntaxError { function: Some(function.into()), ..error }.hint(hint)
                        );
                    }
                    self.advance()?;
                    self.advance()?;
                    Some(name.into())
                }
                _ => None,
            };
            args.push((name, self.expression(0)?));
            if !self.takes(Symbol::Comma)? {
                break;
            }
        }
        self.close(open)?;
        Ok(args)
    }

    fn missing_operand(&self) -> SyntaxError {
        let wanted = "a number, a name or `(`";
        let message = match (self.last, self.token.kind) {
            (None, _) => format!("{wanted} is missing before `{}`", self.source(self.token)),
            (Some(last), TokenKind::End) => {
                format!("{wanted} is missing after `{}`", self.source(last))
            }
            (Some(last), _) => format!(
                "{wanted} is missing between `{}` and `{}`",
                self.source(last),
                self.source(self.token)
            ),
        };
        let error = self.here(message);
        match (self.last.map(|last| last.kind), self.token.kind) {
            (Some(TokenKind::Symbol(Symbol::Divide)), TokenKind::Symbol(Symbol::Divide)) => {
                error.hint("`/` truncates integers; there are no comments")
            }
            (_, TokenKind::Symbol(Symbol::Multiply | Symbol::Power)) => {
                error.hint("a power is written `x ^ 2` or `x ** 2`")
            }
            (_, TokenKind::End) => error.hint("write it, or remove what stands last"),
            _ => error.hint("write it, or remove one of the two"),
        }
    }

    /// The error of a token where an operator or the end was expected.
    fn unexpected(&self) -> SyntaxError {
        match self.token.kind {
            TokenKind::Symbol(Symbol::Comma) => self
                .here("this `,` is outside a function call")
                .hint("`,` separates the arguments of a function; fractions are written with `.`"),
            TokenKind::Symbol(Symbol::Colon) => {
                self.here("this `:` has no `?`").hint("a choice is written `condition ? a : b`")
            }
            TokenKind::Symbol(_)
            | TokenKind::Number(_)
            | TokenKind::Name(_)
            | TokenKind::Foreign
            | TokenKind::End => self.missing_operator(),
        }
    }

    fn missing_operator(&self) -> SyntaxError {
        let last = self.last.map_or("", |last| self.source(last));
        let next = self.source(self.token);
        let error = self.here(format!("an operator is missing between `{last}` and `{next}`"));
        match next {
            "and" => error.hint("write `&&`"),
            "or" => error.hint("write `||`"),
            "!" => error.hint("`!=` tests whether two numbers differ"),
            _ if next.starts_with('.') => error.hint("a number has one decimal point"),
            _ if last == "0" && next.starts_with(['x', 'b', 'o']) => {
                error.hint("numbers are written in decimal")
            }
            "if" | "else" => error.hint("a choice is written `condition ? a : b`"),
            _ => error.hint(format!("a product is written `{last} * {next}`")),
        }
    }
}

fn unknown_function(name: &str, token: Token<'_>, text: &str) -> SyntaxError {
    if let Some((constant, _)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
        let message = format!("`{name}` is a constant, not a function");
        return SyntaxError::new(message, token.start..token.end)
            .hint(format!("a product is written `{constant} * (...)`"));
    }
    let error =
        SyntaxError::new(format!("there is no function called `{name}`"), token.start..token.end);
    let error = SyntaxError { function: Some(name.into()), ..error };
    let before = text[..token.start].trim_end().strip_suffix('/').map(str::trim_end);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let alias = before.map(|before| before.rsplit(|c| !is_name(c)).next().unwrap_or_default());
    if let Some(alias) = alias.filter(|alias| alias.starts_with(char::is_alphabetic)) {
        return error.hint(format!(
            "if `{alias}/{name}` is a group of another document, check its name, or add a \
             line `use {alias} = \"FILE\"`"
        ));
    }
    match did_you_mean(name, names()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("a product is written `{name} * (...)`")),
    }
}

fn wrong_arity(
    name: &str,
    (least, most): (usize, usize),
    given: usize,
    range: Range<usize>,
) -> SyntaxError {
    let plural = |n: usize| if n == 1 { "argument" } else { "arguments" };
    let takes = if least == most {
        format!("{least} {}", plural(least))
    } else if most == usize::MAX {
        format!("{least} or more arguments")
    } else {
        format!("{least} or {most} arguments")
    };
    let error = SyntaxError::new(format!("`{name}` takes {takes}, not {given}"), range);
    SyntaxError { function: Some(name.into()), ..error }
}

/// The operator that a symbol between two operands denotes, and its binding power.
fn binary(symbol: Symbol) -> Option<(Binary, u8)> {
    Some(match symbol {
        Symbol::Or => (Binary::Or, 2),
        Symbol::And => (Binary::And, 3),
        Symbol::Equal => (Binary::Equal, 4),
        Symbol::NotEqual => (Binary::NotEqual, 4),
        Symbol::Less => (Binary::Less, 5),
        Symbol::LessEqual => (Binary::LessEqual, 5),
        Symbol::Greater => (Binary::Greater, 5),
        Symbol::GreaterEqual => (Binary::GreaterEqual, 5),
        Symbol::Add => (Binary::Add, 6),
        Symbol::Subtract => (Binary::Subtract, 6),
        Symbol::Multiply => (Binary::Multiply, 7),
        Symbol::Divide => (Binary::Divide, 7),
        Symbol::Modulo => (Binary::Modulo, 7),
        Symbol::Caret | Symbol::Power => (Binary::Power, POWER),
        Symbol::Not
        | Symbol::Question
        | Symbol::Colon
        | Symbol::Open
        | Symbol::Close
        | Symbol::Comma
        | Symbol::Point => return None,
    })
}
