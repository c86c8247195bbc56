//! The parser: from text to a syntax tree, statement by statement.
//!
//! A statement with an error is reported and kept by name if its name is known, and parsing
//! continues with the next one. The parser recurses only for nested expressions, up to a limit.

mod block;
mod expression;
mod face;
mod hidden;
mod recovery;

use std::borrow::Cow;
use std::collections::HashSet;

use millstream_base::Span;
use millstream_base::diagnostics::did_you_mean;
use millstream_base::pages::reserve_in_huge_pages;
use millstream_document::model::Entry;

use crate::error::{Problem, TextError};
use crate::json::{shown, value_end, without_plus};
use crate::name;
use crate::token::{Kind, Lexer, Symbol, Token};
use crate::tree::{Arg, Item, Piece, Tree, What, Word};

/// Maximal number of problems that are kept; further ones are only counted.
pub(crate) const MAX_PROBLEMS: usize = 1000;

/// The hint where a statement ends too early.
const ENDS_WITH_LINE: &str =
    "a statement ends with its line; inside parentheses it continues on the next one";

/// The words that start statements.
const STATEMENTS: [&str; 11] = [
    "millstream",
    "schema",
    "name",
    "fps",
    "start_frame",
    "use",
    "lock",
    "input",
    "output",
    "group",
    "view",
];

/// A tree, and the problems of its text.
pub(crate) struct Parsed<'t> {
    pub(crate) tree: Tree<'t>,
    pub(crate) problems: Vec<Problem>,
    /// Number of problems beyond those that are kept.
    pub(crate) n_more: usize,
}

/// Parses a text.
pub(crate) fn parse(text: &str) -> Parsed<'_> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser::new(text, start);
    parser.tree = Tree::for_text(text.len());
    parser.text();
    Parsed { tree: parser.tree, problems: parser.problems, n_more: parser.n_more }
}

/// Parses a formula into a tree; `None` if the text is not a formula.
pub(crate) fn parse_formula<'t>(
    text: &'t str,
    tree: &mut Tree<'t>,
    depth: usize,
) -> Option<(u32, usize)> {
    let mut parser = Parser::new(text, 0);
    (parser.depth, parser.deepest) = (depth, depth);
    std::mem::swap(&mut parser.tree, tree);
    let parsed = parser.advance().and_then(|()| parser.expr());
    let ends = parser.token.kind == Kind::End && parser.lexer.comments.is_empty();
    std::mem::swap(&mut parser.tree, tree);
    Some((parsed.ok().filter(|_| ends)?, parser.deepest))
}

/// An open bracket.
#[derive(Clone, Copy)]
struct Opened {
    at: usize,
    open: &'static str,
    close: &'static str,
}

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    /// The next token.
    token: Token,
    /// The end of the token before it.
    last_end: usize,
    /// The open brackets, inside which lines do not end statements.
    opened: Vec<Opened>,
    /// The open groups.
    blocks: Vec<Opened>,
    /// The zone at the start of the statement.
    header: Option<block::Header>,
    /// The names of used documents, once they are asked for.
    aliases: Option<HashSet<Cow<'t, str>>>,
    tree: Tree<'t>,
    problems: Vec<Problem>,
    n_more: usize,
    depth: usize,
    /// The maximal depth so far.
    deepest: usize,
    is_in_list: bool,
    // Parts of incomplete expressions.
    args: Vec<Arg<'t>>,
    pieces: Vec<Piece>,
    sources: Vec<u32>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, start: usize) -> Self {
        Self {
            text,
            lexer: Lexer::new(text, start),
            token: Token { kind: Kind::Line, start, end: start },
            last_end: start,
            opened: Vec::new(),
            blocks: Vec::new(),
            header: None,
            aliases: None,
            tree: Tree::default(),
            problems: Vec::new(),
            n_more: 0,
            depth: 0,
            deepest: 0,
            is_in_list: false,
            args: Vec::new(),
            pieces: Vec::new(),
            sources: Vec::new(),
        }
    }

    fn report(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.n_more += 1;
        }
    }

    /// Moves to the next token.
    fn advance(&mut self) -> Result<(), Problem> {
        self.last_end = self.token.end;
        let kind = self.lexer.next(!self.opened.is_empty())?;
        self.token = Token { kind, start: self.lexer.start, end: self.lexer.at };
        Ok(())
    }

    /// The text of the next token.
    fn word(&self) -> &'t str {
        &self.text[self.token.start..self.token.end]
    }

    fn is(&self, symbol: Symbol) -> bool {
        self.token.kind == Kind::Symbol(symbol)
    }

    fn takes(&mut self, symbol: Symbol) -> Result<bool, Problem> {
        let is_there = self.is(symbol);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.kind == Kind::Name && self.word() == word
    }

    fn is_name(&self) -> bool {
        matches!(self.token.kind, Kind::Name | Kind::Quoted)
    }

    /// Enters a bracket.
    fn open(&mut self, open: Symbol, close: Symbol) -> Result<(), Problem> {
        let at = self.token.start;
        self.opened.push(Opened { at, open: open.text(), close: close.text() });
        self.advance()
    }

    /// Leaves a bracket.
    fn close(&mut self, close: Symbol) -> Result<(), Problem> {
        if !self.is(close) {
            let what =
                if self.opened.last().is_some_and(|it| it.open == "(") { "`)`" } else { "`]`" };
            return Err(self.missing(&format!("`,` or {what}")));
        }
        self.opened.pop();
        self.advance()
    }

    /// The problem of a missing part before the next token.
    fn missing(&self, what: &str) -> Problem {
        let (start, end) = (self.token.start, self.token.end);
        if self.token.kind == Kind::End
            && let Some(opened) = self.opened.last()
        {
            return not_closed(*opened);
        }
        let before = shown(self.text, start);
        Problem::syntax(start, end, format!("{what} is missing before {before}"))
    }

    fn name(&mut self, what: &str) -> Result<Word<'t>, Problem> {
        if !self.is_name() {
            let problem = self.missing(what);
            return Err(match self.token.kind {
                Kind::Text => {
                    problem.hint("a name with spaces is written in back quotes: `my name`")
                }
                Kind::Number => problem.hint(
                    "a name starts with a letter or `_`; any other is written in back quotes",
                ),
                Kind::Symbol(_) => {
                    problem.hint("a name with such a sign is written in back quotes: `my-name`")
                }
                _ => problem,
            });
        }
        self.name_before(self.token.end)
    }

    /// The name that is the next token, and moves to the first token from a place on; only blanks
    /// and a sign are before it.
    fn name_before(&mut self, place: usize) -> Result<Word<'t>, Problem> {
        let name = match self.token.kind {
            Kind::Name => Cow::Borrowed(self.word()),
            _ => name::read_quoted(self.text, self.token.start)?.0,
        };
        (self.lexer.at, self.token.end) = (place, place);
        self.advance()?;
        Ok(name)
    }

    fn string(&mut self, what: &str) -> Result<Word<'t>, Problem> {
        if self.token.kind != Kind::Text {
            return Err(self.missing(&format!("{what} in double quotes")));
        }
        let text = self.word();
        self.advance()?;
        let inside = &text[1..text.len() - 1];
        if !inside.contains('\\') {
            return Ok(Cow::Borrowed(inside));
        }
        Ok(Cow::Owned(serde_json::from_str(text).expect("the lexer checked the escapes")))
    }

    /// A JSON value, as its text.
    fn json(&mut self) -> Result<Word<'t>, Problem> {
        if matches!(self.token.kind, Kind::Line | Kind::End) {
            return Err(self.missing("a value").hint(ENDS_WITH_LINE));
        }
        let start = self.token.start;
        let end = value_end(self.text, start)?;
        self.lexer.at = end;
        self.token = Token { kind: Kind::Line, start, end };
        self.advance()?;
        Ok(without_plus(&self.text[start..end]))
    }

    /// A number with its sign.
    fn number(&mut self, what: &str) -> Result<f64, Problem> {
        let start = self.token.start;
        let _is_signed = self.takes(Symbol::Subtract)? || self.takes(Symbol::Add)?;
        if self.token.kind != Kind::Number {
            return Err(self.missing(what));
        }
        self.advance()?;
        let number = self.text[start..self.last_end].replace(' ', "").parse::<f64>();
        number.ok().filter(|number| number.is_finite()).ok_or_else(|| {
            Problem::syntax(start, self.last_end, "the number is too large")
                .hint("the largest number is 1.7976931348623157e308")
        })
    }

    fn whole<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, Problem> {
        let start = self.token.start;
        let _is_signed = self.takes(Symbol::Subtract)? || self.takes(Symbol::Add)?;
        let is_number = self.token.kind == Kind::Number;
        if is_number {
            self.advance()?;
            if let Ok(number) = self.text[start..self.last_end].parse() {
                return Ok(number);
            }
            return Err(Problem::syntax(start, self.last_end, format!("this is not {what}")));
        }
        Err(self.missing(what))
    }

    /// Reads all statements.
    fn text(&mut self) {
        let mut after_blank = false;
        let (mut lines, mut n_comments) = (0, 0);
        self.interpreter_line();
        let start = self.lexer.at;
        if let Err(problem) = self.advance() {
            self.recover(start, problem, What::Unread(Some(Entry::Unknown)));
        }
        loop {
            match self.token.kind {
                Kind::Line => {
                    // A line with a comment is not blank.
                    let is_comment = self.lexer.comments.len() > n_comments;
                    n_comments = self.lexer.comments.len();
                    lines = if is_comment { 1 } else { lines + 1 };
                    after_blank |= lines > 1;
                    self.skip_line();
                    continue;
                }
                Kind::End => break,
                _ => {}
            }
            self.statement(after_blank);
            after_blank = false;
            (lines, n_comments) = (0, 0);
        }
        while let Some(block) = self.blocks.pop() {
            self.report(not_closed(block));
            self.tree.hides_statements = true;
            self.item(What::Close, self.token.start, false, false);
        }
        self.item(What::End, self.token.start, after_blank, false);
    }

    /// Reads a first line that starts with `#!`.
    fn interpreter_line(&mut self) {
        let start = self.lexer.at;
        let rest = &self.text[start..];
        if !rest.starts_with("#!") {
            return;
        }
        let line = rest.lines().next().unwrap_or_default().trim_end();
        self.lexer.comments.push(&line[1..]);
        self.lexer.at = start + line.len();
        self.last_end = self.lexer.at;
        self.item(What::Start, start, false, false);
    }

    fn skip_line(&mut self) {
        let start = self.token.start;
        if let Err(problem) = self.advance() {
            self.recover(start, problem, What::Unread(Some(Entry::Unknown)));
        }
    }

    /// Adds a statement that ended before the next token.
    fn item(&mut self, what: What<'t>, start: usize, after_blank: bool, is_broken: bool) {
        let first = self.tree.comments.len() as u32;
        let comments = &mut self.lexer.comments;
        // The comment after the statement, on the same line.
        let has_beside = comments.last().is_some_and(|comment| {
            let at = comment.as_ptr() as usize - self.text.as_ptr() as usize;
            let end = self.last_end.max(start);
            at > end && !self.text[end..at].contains('\n') && !matches!(what, What::End)
        });
        self.tree.comments.extend(comments.drain(..).map(Cow::Borrowed));
        let end = self.tree.comments.len() as u32 - u32::from(has_beside);
        let exprs_start = self.tree.items.last().map_or(0, |item| item.exprs.end);
        let exprs = exprs_start..self.tree.exprs.len() as u32;
        let (span, before) = (Span::new(start, self.last_end.max(start)), first..end);
        let item = Item { what, span, before, has_beside, exprs, after_blank, is_broken };
        reserve_in_huge_pages(&mut self.tree.items, 1);
        self.tree.items.push(item);
    }

    /// Reads one statement.
    fn statement(&mut self, after_blank: bool) {
        let start = self.token.start;
        self.header = None;
        let mut head = What::End;
        let read = self.statement_in(&mut head).and_then(|what| {
            let ends = matches!(self.token.kind, Kind::Line | Kind::End)
                || (self.is(Symbol::CloseBlock) && !self.blocks.is_empty())
                || matches!(what, What::Group(_) | What::Block { .. });
            if ends { Ok(what) } else { Err(self.too_much()) }
        });
        match read {
            Ok(what) => self.item(what, start, after_blank, false),
            Err(problem) => self.recover(start, problem, head),
        }
    }

    /// The problem of a token after the end of a statement.
    fn too_much(&self) -> Problem {
        let (start, end) = (self.token.start, self.token.end);
        let found = shown(self.text, start);
        let problem =
            Problem::syntax(start, end, format!("{found} does not continue the statement"));
        match (self.token.kind, self.word()) {
            (Kind::Symbol(Symbol::Assign), _) => {
                problem.hint("`==` tests whether two numbers are equal")
            }
            (Kind::Symbol(Symbol::Close), _) => problem.hint("this `)` has no matching `(`"),
            (Kind::Symbol(Symbol::CloseBlock), _) => problem.hint("no group is open here"),
            (Kind::Name, "and") => problem.hint("write `&&`"),
            (Kind::Name, "or") => problem.hint("write `||`"),
            (Kind::Name | Kind::Quoted | Kind::Number, _) => problem.hint(
                "an operator or a comma is missing, or the next statement needs its own line",
            ),
            _ => problem.hint("a statement ends with its line"),
        }
    }

    /// Reads a statement; sets the known part of it if it has an error.
    fn statement_in(&mut self, head: &mut What<'t>) -> Result<What<'t>, Problem> {
        if self.is(Symbol::CloseBlock) {
            if self.blocks.pop().is_none() {
                // Without it the document has the same meaning.
                *head = What::Unread(None);
                let problem =
                    Problem::syntax(self.token.start, self.token.end, "this `}` closes nothing");
                return Err(problem.hint("remove it, or add the first line of the group"));
            }
            *head = What::Close;
            self.advance()?;
            return Ok(What::Close);
        }
        *head = What::Unread(Some(Entry::Unknown));
        if !self.is_name() {
            let found = shown(self.text, self.token.start);
            let problem = Problem::syntax(
                self.token.start,
                self.token.end,
                format!("a statement does not start with {found}"),
            );
            return Err(match self.token.kind {
                Kind::Number | Kind::Text => problem.hint(
                    "a name with other characters than letters, digits and `_` needs back quotes",
                ),
                Kind::Symbol(Symbol::Divide) => problem.hint("comments start with `#`"),
                _ => problem
                    .hint("write `name = ...`, `input name: type` or `output name: type = ...`"),
            });
        }
        let keyword = match self.token.kind {
            Kind::Name => Some(self.word()),
            _ => None,
        };
        let start = self.token.start;
        let name = self.name("a name")?;
        if self.is(Symbol::Assign) {
            *head = What::Node { name: name.clone(), value: 0 };
            self.advance()?;
            self.find_header();
            let value = self.expr()?;
            if self.is(Symbol::OpenBlock) {
                return self.block(name, value);
            }
            let value = self.bound(value)?;
            return Ok(What::Node { name, value });
        }
        let is_in_group = !self.blocks.is_empty() && keyword != Some("group");
        *head = lost_part(keyword, &name, is_in_group);
        if is_in_group {
            return Err(self.not_in_group(start, &name));
        }
        match keyword {
            Some("millstream") => Ok(What::Format(self.format()?)),
            Some("schema") => self.string("an address").map(What::Schema),
            Some("name") => self.string("a title").map(What::Title),
            Some("fps") => {
                let at = self.token.start;
                let fps = self.number("a number above 0")?;
                if fps > 0.0 {
                    return Ok(What::Fps(fps));
                }
                Err(Problem::syntax(at, self.last_end, "frames per second must be above 0"))
            }
            Some("start_frame") => self.whole("a whole number").map(What::StartFrame),
            Some("use") => self.use_line(head),
            Some("lock") => self.lock_line(head),
            Some("input") => self.input_line(head),
            Some("output") => self.output_line(head),
            Some("group") => self.group_line(head),
            Some("view") => self.json().map(What::View),
            _ => Err(self.no_statement(start, &name)),
        }
    }

    fn format(&mut self) -> Result<u32, Problem> {
        let start = self.token.start;
        let newest = millstream_document::model::FORMAT_VERSION;
        let format: u32 = self.whole("the number of a format")?;
        if (1..=newest).contains(&format) {
            return Ok(format);
        }
        if format == 0 {
            let message = "documents of format 0 are written as JSON";
            let problem = Problem::syntax(start, self.last_end, message);
            return Err(problem.hint(format!("write {newest}, the format of this form")));
        }
        let message =
            format!("the document has format {format}; this build reads formats up to {newest}");
        let problem = Problem::syntax(start, self.last_end, message);
        Err(problem.hint("open it with a newer release of millstream"))
    }

    fn not_in_group(&self, start: usize, name: &str) -> Problem {
        let end = self.last_end;
        let message = format!("`{}` has no meaning in a group", crate::error::shortened(name));
        let problem = Problem::syntax(start, end, message);
        match name {
            "input" => problem.hint("write inputs in the first line: `group name(x: f32)`"),
            "output" => problem.hint("write outputs in the first line: `group name() -> y: f32`"),
            _ => problem.hint("a node is written `name = ...`"),
        }
    }

    fn no_statement(&self, start: usize, name: &str) -> Problem {
        let problem = self.missing("`=`");
        if let Some(near) = did_you_mean(name, STATEMENTS)
            && near != name
        {
            let shown = crate::error::shortened(name);
            let problem = Problem::syntax(
                start,
                self.last_end,
                format!("no statement starts with `{shown}`"),
            );
            return problem.hint(format!("did you mean `{near}`?"));
        }
        match self.token.kind {
            Kind::Symbol(Symbol::Colon) => problem.hint("an input is written `input name: type`"),
            Kind::Symbol(Symbol::Open) => problem
                .hint("a node is written `name = call(...)`, a group `group name(...) { ... }`"),
            Kind::Name => problem.hint(
                "a node is written `name = ...`; a name of several words is written in back quotes",
            ),
            _ => problem.hint("a node is written `name = ...`"),
        }
    }
}

/// The part of a document that an unreadable statement may define, unless its own name is known.
fn lost_part<'t>(keyword: Option<&str>, name: &str, is_in_group: bool) -> What<'t> {
    let entry = match keyword {
        Some("fps" | "start_frame") => Some(Entry::Time),
        Some("use") => Some(Entry::Uses),
        Some("lock") => Some(Entry::Locks),
        Some("schema" | "name" | "view") => None,
        Some("input" | "output") if is_in_group => Some(Entry::Unknown),
        Some("input") => Some(Entry::Inputs),
        // Nothing depends on an output.
        Some("output") => None,
        Some("group") => Some(Entry::Groups),
        Some("millstream") => return What::End,
        // The format gives everything else its meaning.
        _ if !is_in_group && may_mean(name, "millstream") => Some(Entry::Statements),
        _ => Some(Entry::Unknown),
    };
    What::Unread(entry)
}

/// Whether a word may be this one, misspelt.
fn may_mean(name: &str, word: &'static str) -> bool {
    did_you_mean(name, [word]).is_some()
}

fn not_closed(opened: Opened) -> Problem {
    let Opened { at, open, close } = opened;
    Problem::new(at, at + 1, TextError::NotClosed { open, close })
}
