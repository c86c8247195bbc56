//! The type of a column if the caller requests none: the narrowest that can hold all its cells.
//!
//! Integers are `i32` if all fit, else `i64`, else `f64`; other numbers are `f64`; `true` and
//! `false` are `bool`. In text files, numbers with leading zeros, `0012`, are codes: the column
//! holds strings, which keep the zeros. If cells are missing, numbers become `f64`, and so do
//! `true` and `false`, as 1 and 0, so that a missing one can be NaN. Arrays of numbers with the
//! same length 2, 3, 4 or 16 in each row are `vec2`, `vec3`, `vec4` and `mat4`; other arrays are
//! lists.

use millstream_base::Type;
use serde_json::Value as Json;

use crate::scalar::{parse_bool, parse_f64};

/// The cells of a column seen so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    guess: Guess,
    /// Whether a cell is empty or null.
    has_gaps: bool,
}

impl Seen {
    /// Adds a cell of a text file.
    pub(crate) fn add_text(&mut self, text: &str) {
        self.has_gaps |= text.is_empty();
        if self.guess != Guess::Text {
            let both = std::mem::take(&mut self.guess).and(Guess::of_text(text));
            // A string can hold anything.
            self.guess = both.unwrap_or(Guess::Text);
        }
    }

    /// Adds a value of a JSON file; fails with the reason if no column can hold it, or none that
    /// holds the values before.
    pub(crate) fn add_json(&mut self, json: &Json) -> Result<(), Mixed> {
        self.has_gaps |= json.is_null();
        let guess = Guess::of_json(json).ok_or(Mixed::Kind)?;
        self.guess = std::mem::take(&mut self.guess).and(guess).ok_or(Mixed::Rows)?;
        Ok(())
    }

    /// Whether the column is read as numbers.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.gapped(), Guess::Int { .. } | Guess::Float)
    }

    /// The type; `None` if lists are nested too deeply.
    pub(crate) fn ty(&self) -> Option<Type> {
        self.gapped().ty()
    }

    /// The guess for the column: only floats and strings may have gaps.
    fn gapped(&self) -> Guess {
        match &self.guess {
            Guess::Bool | Guess::Int { .. } | Guess::Float | Guess::Word if self.has_gaps => {
                Guess::Float
            }
            guess => guess.clone(),
        }
    }
}

/// Why a value does not fit into a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mixed {
    /// No column can hold such a value.
    Kind,
    /// It has nothing in common with the values before.
    Rows,
}

/// A property that the cells seen so far have in common.
#[derive(Clone, Debug, Default, PartialEq)]
enum Guess {
    /// No cells, or only missing ones.
    #[default]
    Unknown,
    /// True and false.
    Bool,
    /// Integers, all of which fit an `i32` or not.
    Int { narrow: bool },
    /// Numbers.
    Float,
    /// The words for numbers missing from JSON; they are strings if there are other strings.
    Word,
    /// Text.
    Text,
    /// Arrays of one length or of several.
    Array { length: Option<usize>, element: Box<Guess> },
}

impl Guess {
    /// The guess for one cell of a text file.
    fn of_text(text: &str) -> Self {
        if text.is_empty() {
            Self::Unknown
        } else if parse_bool(text).is_some() {
            Self::Bool
        } else if has_leading_zeros(text) {
            Self::Text
        } else if let Ok(x) = text.parse::<i64>() {
            Self::Int { narrow: i32::try_from(x).is_ok() }
        } else if parse_f64(text).is_ok() {
            Self::Float
        } else {
            Self::Text
        }
    }

    /// The guess for one value of a JSON file; `None` for objects, and for arrays whose elements
    /// have nothing in common.
    fn of_json(json: &Json) -> Option<Self> {
        Some(match json {
            Json::Null => Self::Unknown,
            Json::Bool(_) => Self::Bool,
            Json::Number(number) => match number.as_i64() {
                Some(x) => Self::Int { narrow: i32::try_from(x).is_ok() },
                None => Self::Float,
            },
            Json::String(text) if matches!(text.as_str(), "nan" | "inf" | "-inf") => Self::Word,
            Json::String(_) => Self::Text,
            Json::Array(items) => {
                let mut element = Self::Unknown;
                for item in items {
                    element = element.and(Self::of_json(item)?)?;
                }
                Self::Array { length: Some(items.len()), element: Box::new(element) }
            }
            Json::Object(_) => return None,
        })
    }

    /// The property that this and other cells have in common; `None` if there is none.
    fn and(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Unknown, guess) | (guess, Self::Unknown) => guess,
            (Self::Bool, Self::Bool) => Self::Bool,
            (Self::Int { narrow: a }, Self::Int { narrow: b }) => Self::Int { narrow: a && b },
            (Self::Word, Self::Word) => Self::Word,
            (Self::Text, Self::Text | Self::Word) | (Self::Word, Self::Text) => Self::Text,
            (
                Self::Int { .. } | Self::Float | Self::Word,
                Self::Int { .. } | Self::Float | Self::Word,
            ) => Self::Float,
            (
                Self::Array { length: a, element: of_a },
                Self::Array { length: b, element: of_b },
            ) => Self::Array { length: a.filter(|_| a == b), element: Box::new(of_a.and(*of_b)?) },
            (
                Self::Bool
                | Self::Int { .. }
                | Self::Float
                | Self::Word
                | Self::Text
                | Self::Array { .. },
                _,
            ) => return None,
        })
    }

    /// The type; `None` if lists are nested too deeply.
    fn ty(&self) -> Option<Type> {
        match self {
            Self::Unknown | Self::Text => Some(Type::STRING),
            Self::Bool => Some(Type::BOOL),
            Self::Int { narrow: true } => Some(Type::I32),
            Self::Int { narrow: false } => Some(Type::I64),
            Self::Float | Self::Word => Some(Type::F64),
            Self::Array { length, element } => {
                let numbers = matches!(**element, Self::Int { .. } | Self::Float | Self::Word);
                match length {
                    Some(2) if numbers => Some(Type::VEC2),
                    Some(3) if numbers => Some(Type::VEC3),
                    Some(4) if numbers => Some(Type::VEC4),
                    Some(16) if numbers => Some(Type::MAT4),
                    _ => element.ty()?.list(),
                }
            }
        }
    }
}

/// Whether a number starts with a zero followed by another digit: `007`, `-01.5`, but not `0.5`.
fn has_leading_zeros(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes();
    matches!(digits, [b'0', next, ..] if next.is_ascii_digit()) && parse_f64(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_texts(texts: &[&str]) -> Option<Type> {
        let mut seen = Seen::default();
        for text in texts {
            seen.add_text(text);
        }
        seen.ty()
    }

    fn of_jsons(text: &str) -> Option<Type> {
        let items: Vec<Json> = serde_json::from_str(text).expect("valid JSON");
        let mut seen = Seen::default();
        for item in &items {
            seen.add_json(item).ok()?;
        }
        seen.ty()
    }

    #[test]
    fn the_narrowest_type_that_holds_all_cells_is_chosen() {
        assert_eq!(of_texts(&["1", "-2"]), Some(Type::I32));
        assert_eq!(of_texts(&["1", "3000000000"]), Some(Type::I64));
        assert_eq!(of_texts(&["1", "99999999999999999999"]), Some(Type::F64));
        assert_eq!(of_texts(&["1", "nan"]), Some(Type::F64));
        assert_eq!(of_texts(&["true", "False"]), Some(Type::BOOL));
        assert_eq!(of_texts(&["true", "1"]), Some(Type::STRING));
        assert_eq!(of_texts(&["1", "one"]), Some(Type::STRING));
    }

    #[test]
    fn numbers_with_leading_zeros_are_strings() {
        for code in ["0012", "00", "-01", "+01", "01.5", "00e1"] {
            assert_eq!(of_texts(&["12", code, "7"]), Some(Type::STRING), "{code}");
            assert_eq!(of_texts(&[code]), Some(Type::STRING), "{code}");
        }
        assert_eq!(of_texts(&["0", "-0", "10", "100"]), Some(Type::I32));
        assert_eq!(of_texts(&["0.5", "-0.25", "0e3", ".5"]), Some(Type::F64));
    }

    #[test]
    fn numbers_and_booleans_with_gaps_are_floats() {
        let guess = |text: &str| of_texts(&[text, ""]);
        assert_eq!(guess("7"), Some(Type::F64));
        assert_eq!(guess("true"), Some(Type::F64));
        assert_eq!(guess("seven"), Some(Type::STRING));
        assert_eq!(guess("007"), Some(Type::STRING));
    }

    #[test]
    fn arrays_of_one_length_are_vectors_and_others_lists() {
        assert_eq!(of_jsons("[[1, 2, 3], [1.5, 2, 3]]"), Some(Type::VEC3));
        assert_eq!(of_jsons("[[1, 2, 3], [4]]"), Type::I32.list());
        assert_eq!(of_jsons("[[], [\"a\"]]"), Type::STRING.list());
        assert_eq!(of_jsons("[1, \"a\"]"), None);
        assert_eq!(of_jsons("[\"nan\", \"a\"]"), Some(Type::STRING));
        assert_eq!(of_jsons("[\"nan\", 1]"), Some(Type::F64));
    }
}
