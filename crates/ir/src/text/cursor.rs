//! A cursor in one line of text, and the elements that it reads.

use millstream_base::Span;
use serde_json::Value as Json;

use super::error::TextError;

/// Reads a line from left to right.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    at: usize,
    /// The byte of the text at which the line starts.
    base: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a str, base: usize) -> Self {
        Self { line, at: 0, base }
    }

    /// The rest of the line.
    pub(super) fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    /// The position of the next byte in the line.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns to an earlier position of the line.
    pub(super) fn rewind(&mut self, start: usize) {
        self.at = start;
    }

    /// The bytes of the text since `start`.
    pub(super) fn span_since(&self, start: usize) -> Span {
        Span::new(self.base + start, self.base + self.at.max(start))
    }

    /// The bytes up to the next blank.
    pub(super) fn next_span(&self) -> Span {
        let len = self.next_token().len();
        Span::new(self.base + self.at, self.base + self.at + len)
    }

    fn next_token(&self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())]
    }

    pub(super) fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether only a comment is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.peek().is_none_or(|c| c == '#')
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// Reads `c` and the blanks around it.
    pub(super) fn expect(&mut self, c: char, expected: &'static str) -> Result<(), TextError> {
        self.skip_blanks();
        if !self.eat(c) {
            return Err(self.unexpected(expected));
        }
        self.skip_blanks();
        Ok(())
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> TextError {
        let token = self.next_token();
        let found = match token.chars().count() {
            0 => "the end of the line".into(),
            1..=30 => format!("`{token}`"),
            _ => format!("`{}...`", token.chars().take(27).collect::<String>()),
        };
        TextError::Syntax { expected, found }
    }

    /// The longest run of characters for which `is` holds; may be empty.
    pub(super) fn run(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !is(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// A word of letters, digits and `_`, or nothing.
    pub(super) fn word(&mut self) -> &'a str {
        self.run(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Reads the number of a node, as in `n7`, if there is one.
    pub(super) fn node_id(&mut self) -> Option<u32> {
        self.id('n')
    }

    /// Reads the number of a region, as in `r7`, if there is one.
    pub(super) fn region_id(&mut self) -> Option<u32> {
        self.id('r')
    }

    fn id(&mut self, prefix: char) -> Option<u32> {
        let start = self.at;
        let id = self.word().strip_prefix(prefix).and_then(number);
        if id.is_none() {
            self.at = start;
        }
        id
    }

    /// A plain word or a JSON string.
    pub(super) fn name(&mut self, expected: &'static str) -> Result<String, TextError> {
        if self.peek() == Some('"') {
            return match self.json()? {
                Json::String(name) => Ok(name),
                _ => Err(self.unexpected(expected)),
            };
        }
        match self.word() {
            "" => Err(self.unexpected(expected)),
            word => Ok(word.into()),
        }
    }

    /// The name of a value type: `vec3`, `list<f32>`.
    pub(super) fn type_name(&mut self) -> &'a str {
        let mut depth = 0;
        let rest = self.rest();
        let end = rest.find(|c: char| match c {
            '<' => {
                depth += 1;
                false
            }
            '>' => {
                depth -= 1;
                depth < 0
            }
            ',' | '=' | '#' | '[' | '"' => true,
            _ => c.is_whitespace(),
        });
        let len = end.unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// One JSON value.
    pub(super) fn json(&mut self) -> Result<Json, TextError> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Json>();
        match values.next() {
            Some(Ok(json)) => {
                self.at += values.byte_offset();
                Ok(json)
            }
            Some(Err(error)) => {
                let message = error.to_string();
                // The JSON reader counts lines from its own start, in the middle of our line.
                let message = message.split(" at line").next().unwrap_or_default();
                Err(TextError::Json { message: message.into() })
            }
            None => Err(self.unexpected("a literal")),
        }
    }
}

/// A number as in printed ids: no sign, no leading zeros.
pub(super) fn number(digits: &str) -> Option<u32> {
    let is_canonical = digits == "0" || !digits.starts_with(['0', '+']);
    digits.parse().ok().filter(|_| is_canonical)
}

/// Whether a name needs no quotes.
pub(super) fn is_plain(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let looks_like_id = name.strip_prefix('n').and_then(number).is_some();
    starts_well && !looks_like_id && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
