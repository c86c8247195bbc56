//! The lexer of expressions, which splits a text into numbers, names and symbols.

use std::hash::{Hash, Hasher};

use millstream_base::Type;
use serde_json::Value as Json;

use super::SyntaxError;

/// A token and its byte range in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind<'t> {
    Number(Number),
    Name(&'t str),
    Symbol(Symbol),
    /// Something that is in no formula, except in an argument of a call of a group.
    Foreign,
    End,
}

/// A number literal. Numbers are equal to the bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// The nearest float.
    pub(super) value: f64,
    /// The integer, if it was written without point and exponent, and it or its negative fits into
    /// 64 bits.
    integer: Option<i128>,
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.value.to_bits() == other.value.to_bits() && self.integer == other.integer
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.value.to_bits(), self.integer).hash(state);
    }
}

impl Number {
    pub(super) fn of_integer(integer: i64) -> Self {
        Self { value: integer as f64, integer: Some(integer.into()) }
    }

    pub(super) fn of_float(value: f64) -> Self {
        Self { value, integer: None }
    }

    /// The integer, if it was written without point and exponent and fits.
    pub(super) fn whole(self) -> Option<i64> {
        i64::try_from(self.integer?).ok()
    }

    /// Whether this integer type can hold it.
    pub(super) fn is_whole(self, ty: Type) -> bool {
        let fits = |n| ty == Type::I64 || ty == Type::I32 && i32::try_from(n).is_ok();
        self.whole().is_some_and(fits)
    }

    pub(super) fn negative(self) -> Self {
        Self { value: -self.value, integer: self.integer.map(|integer| -integer) }
    }
}

macro_rules! symbols {
    ($($variant:ident $text:literal),* $(,)?) => {
        /// Operators and punctuation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Symbol {
            $($variant,)*
        }

        impl Symbol {
            /// Longer ones first, so that the first match is the longest.
            const ALL: &[(Self, &'static str)] = &[$((Self::$variant, $text)),*];
        }
    };
}

symbols! {
    Equal "==", NotEqual "!=", LessEqual "<=", GreaterEqual ">=", And "&&", Or "||", Power "**",
    Less "<", Greater ">", Add "+", Subtract "-", Multiply "*", Divide "/", Modulo "%", Caret "^",
    Not "!", Question "?", Colon ":", Open "(", Close ")", Comma ",", Point ".",
}

/// Reads one token after another.
#[derive(Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self::starting_at(text, 0)
    }

    /// As [`new`](Self::new), without what stands before this byte.
    pub(super) fn starting_at(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    /// The next token; at the end of the text always [`TokenKind::End`].
    pub(super) fn next(&mut self) -> Result<Token<'t>, SyntaxError> {
        let blank = self.rest().len() - self.rest().trim_start().len();
        self.at += blank;
        let start = self.at;
        let rest = self.rest();
        let kind = match rest.chars().next() {
            None => TokenKind::End,
            Some(c) if c.is_ascii_digit() || starts_with_fraction(rest) => {
                TokenKind::Number(self.number()?)
            }
            Some(c) if starts_name(c) => {
                let n = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
                self.at += n;
                TokenKind::Name(&rest[..n])
            }
            Some(c) => match Symbol::ALL.iter().find(|(_, text)| starts(rest, text)) {
                Some((symbol, text)) => {
                    self.at += text.len();
                    TokenKind::Symbol(*symbol)
                }
                None => return Err(stray(c, start)),
            },
        };
        Ok(Token { kind, start, end: self.at })
    }

    /// What stands in place of the next token: a JSON value, or else a character that is in no
    /// formula. Lists and objects that are no values are not skipped.
    pub(super) fn skip_foreign(&mut self) -> Option<Token<'t>> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        let start = self.at;
        let first = self.rest().chars().next()?;
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Json>();
        let n = match values.next() {
            Some(Ok(_)) => values.byte_offset(),
            Some(Err(_)) | None if "[{\"".contains(first) => return None,
            Some(Err(_)) | None => first.len_utf8(),
        };
        self.at += n;
        Some(Token { kind: TokenKind::Foreign, start, end: self.at })
    }

    /// Whether a name and an opening parenthesis follow.
    pub(super) fn calls_next(&self) -> bool {
        let mut ahead = self.clone();
        let is_name = matches!(ahead.next(), Ok(Token { kind: TokenKind::Name(_), .. }));
        is_name && matches!(ahead.next(), Ok(Token { kind: TokenKind::Symbol(Symbol::Open), .. }))
    }

    /// Whether a colon follows.
    pub(super) fn names_next(&self) -> bool {
        let next = self.clone().next();
        matches!(next, Ok(Token { kind: TokenKind::Symbol(Symbol::Colon), .. }))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn number(&mut self) -> Result<Number, SyntaxError> {
        let rest = self.rest();
        let digits = |from: usize| {
            let digit = |c: &u8| c.is_ascii_digit();
            from + rest.as_bytes()[from..].iter().take_while(|c| digit(c)).count()
        };
        let mut end = digits(0);
        let mut whole = true;
        if rest[end..].starts_with('.') {
            whole = false;
            end = digits(end + 1);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(end + 1 + sign);
            // Without digits after it the letter starts a name.
            if exponent > end + 1 + sign {
                whole = false;
                end = exponent;
            }
        }
        let start = self.at;
        self.at += end;
        let text = &rest[..end];
        let value: f64 = text.parse().expect("digits with a point and an exponent are a float");
        if value.is_infinite() {
            return Err(SyntaxError::new("the number is too large", start..self.at)
                .hint("write `inf` if infinity is meant"));
        }
        let integer =
            text.parse().ok().filter(|integer| whole && *integer <= -i128::from(i64::MIN));
        Ok(Number { value, integer })
    }
}

/// Whether a text starts with a symbol; most differ in the first byte.
fn starts(rest: &str, symbol: &str) -> bool {
    rest.as_bytes().first() == symbol.as_bytes().first() && rest.starts_with(symbol)
}

fn starts_with_fraction(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('.') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The error for a character that starts no token, with a guess at the intended one.
fn stray(c: char, start: usize) -> SyntaxError {
    let hint = match c {
        '=' => "`==` tests whether two numbers are equal; there is no assignment",
        '&' => "`&&` is true if both sides are",
        '|' => "`||` is true if one of its sides is",
        '\u{2212}' | '\u{2013}' => "write `-`",
        '\u{d7}' | '\u{b7}' => "write `*`",
        '\u{f7}' => "write `/`",
        '\u{2264}' => "write `<=`",
        '\u{2265}' => "write `>=`",
        '\u{2260}' => "write `!=`",
        '[' | ']' | '{' | '}' => "use `(` and `)` for grouping",
        '"' | '\'' => "a formula has no strings; give one to an input or a setting of a node",
        ';' => "a formula is one expression; give the next one to another node",
        _ => "a formula consists of numbers, names, calls and operators such as `+`",
    };
    let shown = if c == '"' { c.to_string() } else { c.escape_debug().to_string() };
    let range = start..start + c.len_utf8();
    SyntaxError::new(format!("`{shown}` has no meaning here"), range).hint(hint)
}
