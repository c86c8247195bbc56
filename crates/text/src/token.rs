//! The lexer: splits a text into names, numbers, texts and symbols.

use crate::error::Problem;
use crate::json::{next_char, shown, string_end};
use crate::name;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Name,
    /// A name in back quotes.
    Quoted,
    /// A number, which need not be valid JSON.
    Number,
    /// A text in double quotes.
    Text,
    Symbol(Symbol),
    /// The end of a line.
    Line,
    /// The end of the text.
    End,
}

macro_rules! symbols {
    ($($variant:ident $text:literal),* $(,)?) => {
        /// Operators and punctuation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Symbol {
            $($variant,)*
        }

        impl Symbol {
            /// The symbol as it is written.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

symbols! {
    Arrow "->", Equal "==", NotEqual "!=", LessEqual "<=", GreaterEqual ">=", And "&&", Or "||",
    Power "**", Less "<", Greater ">", Add "+", Subtract "-", Multiply "*", Divide "/", Modulo "%",
    Caret "^", Not "!", Question "?", Colon ":", Open "(", Close ")", OpenList "[", CloseList "]",
    OpenBlock "{", CloseBlock "}", Comma ",", Point ".", Assign "=", At "@",
}

/// A token with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Reads one token after another.
pub(crate) struct Lexer<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    /// The start of the last token.
    pub(crate) start: usize,
    /// The comments since they were last taken, see [`comment`].
    pub(crate) comments: Vec<&'t str>,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str, at: usize) -> Self {
        Self { text, at, start: at, comments: Vec::new() }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// The kind of the next token, which extends from `start` to `at`; line ends are skipped if
    /// they are irrelevant.
    pub(crate) fn next(&mut self, skips_lines: bool) -> Result<Kind, Problem> {
        loop {
            self.start = self.at;
            match CLASSES[self.byte(self.at) as usize] {
                Class::Blank => self.at += 1,
                Class::Line if skips_lines => self.at += 1,
                Class::Comment => {
                    let rest = &self.text[self.at + 1..];
                    let n = rest.find('\n').unwrap_or(rest.len());
                    self.comments.push(comment(&rest[..n]));
                    self.at += 1 + n;
                }
                Class::Name => {
                    self.at = name::plain_end(self.text, self.at + 1);
                    return Ok(Kind::Name);
                }
                Class::Number => return Ok(self.number()),
                Class::Symbol(symbol) => {
                    self.at += 1;
                    return Ok(Kind::Symbol(symbol));
                }
                Class::Line | Class::Other => return self.other(),
            }
        }
    }

    /// A token whose first byte does not tell its kind, or which has another kind than most.
    fn other(&mut self) -> Result<Kind, Problem> {
        let start = self.at;
        let byte = self.byte(start);
        match byte {
            b'.' if self.byte(start + 1).is_ascii_digit() => return Ok(self.number()),
            b'"' => {
                self.at = string_end(self.text, start)?;
                return Ok(Kind::Text);
            }
            b'`' => {
                self.at = name::read_quoted(self.text, start)?.1;
                return Ok(Kind::Quoted);
            }
            b'\n' => {
                self.at += 1;
                return Ok(Kind::Line);
            }
            0 if start >= self.text.len() => return Ok(Kind::End),
            _ => {}
        }
        if let Some((symbol, n)) = symbol(byte, self.byte(start + 1)) {
            self.at += n;
            return Ok(Kind::Symbol(symbol));
        }
        match self.text[start..].chars().next() {
            Some(c) if name::starts(c) => {
                self.at = name::plain_end(self.text, start);
                Ok(Kind::Name)
            }
            Some(c) => Err(self.stray(c)),
            None => Ok(Kind::End),
        }
    }

    /// A number in the notation of formulas.
    fn number(&mut self) -> Kind {
        let bytes = self.text.as_bytes();
        let digits = |from: usize| {
            let mut end = from;
            while bytes.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
            end
        };
        let mut end = digits(self.at);
        if self.byte(end) == b'.' {
            end = digits(end + 1);
        }
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        self.at = end;
        Kind::Number
    }

    fn stray(&self, c: char) -> Problem {
        let message = format!("{} has no meaning here", shown(self.text, self.at));
        let problem = Problem::syntax(self.at, next_char(self.text, self.at), message);
        match c {
            '&' => problem.hint("`&&` is true if both sides are"),
            '|' => problem.hint("`||` is true if one of its sides is"),
            '\'' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => {
                problem.hint("texts are written in double quotes, \"...\"")
            }
            ';' => problem.hint("a statement ends with its line"),
            '$' | '~' => problem.hint("a name with such a character is written in back quotes"),
            '\u{feff}' => problem.hint("remove the byte order mark"),
            '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{3000}' => problem.hint("write a plain space"),
            '\u{2212}' | '\u{2013}' => problem.hint("write `-`"),
            '\u{d7}' | '\u{b7}' => problem.hint("write `*`"),
            c if c.is_control() => problem.hint("remove this control character"),
            _ => problem,
        }
    }
}

/// The text of a comment, from what follows its `#`: without the space that is written there. A
/// comment such as `##` or `#!`, which is written without a space, keeps all that precedes the sign.
fn comment(rest: &str) -> &str {
    let rest = rest.trim_end();
    if is_joined(rest) { rest } else { rest.strip_prefix(' ').unwrap_or(rest) }
}

/// Writes a comment after its `#`.
pub(crate) fn write_comment(comment: &str, out: &mut String) {
    if !comment.is_empty() && !is_joined(comment) {
        out.push(' ');
    }
    out.push_str(comment);
}

/// Whether no space is added between `#` and the text of a comment.
fn is_joined(comment: &str) -> bool {
    comment.trim_start_matches(' ').starts_with(['#', '!'])
}

/// What the first byte of a token says about it.
#[derive(Clone, Copy)]
enum Class {
    /// It is a blank before the token.
    Blank,
    /// It is the end of a line.
    Line,
    /// It starts a comment before the token.
    Comment,
    Name,
    Number,
    /// It is a symbol, whatever follows.
    Symbol(Symbol),
    /// More bytes decide.
    Other,
}

const CLASSES: [Class; 256] = {
    let mut all = [Class::Other; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = match byte as u8 {
            b' ' | b'\t' | b'\r' => Class::Blank,
            b'\n' => Class::Line,
            b'#' => Class::Comment,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Name,
            b'0'..=b'9' => Class::Number,
            b'-' | b'=' | b'!' | b'<' | b'>' | b'&' | b'|' | b'*' | b'.' => Class::Other,
            first => match symbol(first, 0) {
                Some((symbol, _)) => Class::Symbol(symbol),
                None => Class::Other,
            },
        };
        byte += 1;
    }
    all
};

/// The symbol that starts with these two bytes, and its length.
const fn symbol(first: u8, second: u8) -> Option<(Symbol, usize)> {
    let two = match (first, second) {
        (b'-', b'>') => Symbol::Arrow,
        (b'=', b'=') => Symbol::Equal,
        (b'!', b'=') => Symbol::NotEqual,
        (b'<', b'=') => Symbol::LessEqual,
        (b'>', b'=') => Symbol::GreaterEqual,
        (b'&', b'&') => Symbol::And,
        (b'|', b'|') => Symbol::Or,
        (b'*', b'*') => Symbol::Power,
        _ => {
            let one = match first {
                b'<' => Symbol::Less,
                b'>' => Symbol::Greater,
                b'+' => Symbol::Add,
                b'-' => Symbol::Subtract,
                b'*' => Symbol::Multiply,
                b'/' => Symbol::Divide,
                b'%' => Symbol::Modulo,
                b'^' => Symbol::Caret,
                b'!' => Symbol::Not,
                b'?' => Symbol::Question,
                b':' => Symbol::Colon,
                b'(' => Symbol::Open,
                b')' => Symbol::Close,
                b'[' => Symbol::OpenList,
                b']' => Symbol::CloseList,
                b'{' => Symbol::OpenBlock,
                b'}' => Symbol::CloseBlock,
                b',' => Symbol::Comma,
                b'.' => Symbol::Point,
                b'=' => Symbol::Assign,
                b'@' => Symbol::At,
                _ => return None,
            };
            return Some((one, 1));
        }
    };
    Some((two, 2))
}
