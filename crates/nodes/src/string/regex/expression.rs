//! Regular expressions: compiled once for each string, those of inputs cached.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_base::Limits;
use millstream_node::node_def::KernelSpec;
use millstream_node::settings::SettingError;
use millstream_node::{Call, Failure};
use regex::{Error, Regex, RegexBuilder};

use crate::string::with_text;

/// The largest number of characters of an expression.
pub(super) const LONGEST: usize = 10_000;

/// Size limits in bytes of a compiled expression. The size of an expression is the least of these
/// that suffices.
pub(super) const SIZES: [usize; 5] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// The largest product of the bytes of a string and the bytes of a compiled expression that is
/// searched.
pub(super) const MAX_WORK: usize = 1 << 38;

/// Bytes of the expressions of inputs that a node caches, including the caches of searches.
const KEPT: usize = 1 << 28;

/// Bytes of the cache of searches with an expression of an input, in each direction.
const REMEMBERED: usize = 1 << 18;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    /// The expression as it was written.
    pub(super) pattern: Arc<str>,
    pub(super) regex: Regex,
    pub(super) n_bytes: usize,
    /// The number of the group that the setting `group` names; 0 for a node without that setting.
    pub(super) group: usize,
}

impl Expression {
    /// Fails if searching the string would take too long.
    pub(super) fn check(&self, text: &str, i: usize, limits: &Limits) -> Result<(), Failure> {
        let most = (MAX_WORK / self.n_bytes).min(limits.list_length);
        if text.len() <= most {
            return Ok(());
        }
        let n = text.len();
        Err(Failure::at(
            i,
            format!("the string has {n} bytes, but this expression can only search up to {most}"),
        )
        .with_help("search the string line by line, or write a simpler expression"))
    }
}

/// How expressions are compiled.
#[derive(Clone, Debug)]
struct Reading {
    any_case: bool,
    is_whole: bool,
    /// Number or name of a group; empty for the whole match.
    group: String,
    /// Bytes of the cache of a search; `None` leaves it to the crate.
    remembered: Option<usize>,
}

/// The setting in which the problem is, and its description.
type Problem = (&'static str, String);

impl Reading {
    fn read(&self, pattern: &str) -> Result<Expression, Problem> {
        if pattern.len() > LONGEST {
            return Err((
                "pattern",
                format!("{} bytes, but the limit is {LONGEST}", pattern.len()),
            ));
        }
        // Messages refer to the expression as it was written.
        self.compiled(pattern, SIZES[SIZES.len() - 1])?;
        let whole = self.is_whole.then(|| format!("\\A(?:{pattern})\\z"));
        for n_bytes in SIZES {
            match self.compiled(whole.as_deref().unwrap_or(pattern), n_bytes) {
                Ok(regex) => {
                    let group = self.group_of(&regex)?;
                    return Ok(Expression { pattern: pattern.into(), regex, n_bytes, group });
                }
                Err(problem) if n_bytes == SIZES[SIZES.len() - 1] => return Err(problem),
                Err(_) => {}
            }
        }
        unreachable!("the largest size is tried last")
    }

    fn compiled(&self, pattern: &str, n_bytes: usize) -> Result<Regex, Problem> {
        let mut builder = RegexBuilder::new(pattern);
        builder.case_insensitive(self.any_case).size_limit(n_bytes).nest_limit(100);
        if let Some(n_bytes) = self.remembered {
            builder.dfa_size_limit(n_bytes);
        }
        builder.build().map_err(|error| {
            let message = match error {
                Error::CompiledTooBig(_) => {
                    "the expression is too large: nested repetitions and classes multiply".into()
                }
                // The last line names the problem; the lines before show its place.
                error => {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    last.strip_prefix("error: ").unwrap_or(last).to_owned()
                }
            };
            ("pattern", message)
        })
    }

    fn group_of(&self, regex: &Regex) -> Result<usize, Problem> {
        let name = self.group.as_str();
        let number = match name.parse::<usize>() {
            _ if name.is_empty() => Some(0),
            Ok(number) => Some(number).filter(|number| *number < regex.captures_len()),
            Err(_) => regex.capture_names().position(|known| known == Some(name)),
        };
        number.ok_or_else(|| ("group", format!("the expression has no group `{name}`")))
    }
}

/// The expressions of a node: that of its setting, or those of its last input.
#[derive(Debug)]
pub(super) struct Expressions {
    pub(super) fixed: Option<Expression>,
    input: usize,
    reading: Reading,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_text: HashMap<Arc<str>, Arc<Expression>>,
    n_bytes: usize,
}

impl Expressions {
    pub(super) fn of(parts: &KernelSpec<'_>) -> Result<Self, SettingError> {
        let settings = parts.settings;
        let pattern = settings.text("pattern");
        let reading = Reading {
            any_case: settings.flag("any_case"),
            is_whole: settings.flag("whole"),
            group: settings.text("group").to_owned(),
            remembered: pattern.is_empty().then_some(REMEMBERED),
        };
        let fixed = if pattern.is_empty() {
            None
        } else {
            let read = reading.read(pattern);
            Some(read.map_err(|(name, text)| SettingError::refused(name, text))?)
        };
        Ok(Self { fixed, input: parts.inputs.len() - 1, reading, known: Mutex::default() })
    }

    /// The expressions of the elements of one call.
    pub(super) fn of_call(&self) -> Met<'_> {
        Met { all: self, last: None }
    }

    fn read(&self, call: &Call<'_>, pattern: &str, i: usize) -> Result<Arc<Expression>, Failure> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().by_text.get(pattern) {
            return Ok(Arc::clone(known));
        }
        // Compiling an expression takes up to some milliseconds.
        call.pace().look()?;
        let read = self.reading.read(pattern);
        let expression = Arc::new(read.map_err(|(_, problem)| {
            let shown: String = pattern.chars().take(40).collect();
            Failure::at(i, format!("the regular expression `{shown}`: {problem}"))
        })?);
        let mut known = lock();
        let n_bytes = expression.n_bytes + pattern.len() + 2 * REMEMBERED;
        if known.n_bytes + n_bytes > KEPT {
            *known = Known::default();
        }
        known.n_bytes += n_bytes;
        known.by_text.insert(Arc::clone(&expression.pattern), Arc::clone(&expression));
        Ok(expression)
    }
}

/// The expressions that occur in a call.
#[derive(Debug)]
pub(super) struct Met<'a> {
    all: &'a Expressions,
    /// The last one used, which most elements share.
    last: Option<Arc<Expression>>,
}

impl Met<'_> {
    /// The expression of element `i`.
    ///
    /// # Errors
    /// If it is wrong or too large, or the call was cancelled.
    pub(super) fn at(&mut self, call: &Call<'_>, i: usize) -> Result<&Expression, Failure> {
        if let Some(fixed) = &self.all.fixed {
            return Ok(fixed);
        }
        let last = with_text(call, self.all.input, i, |pattern| {
            let last = self.last.take().filter(|last| *last.pattern == *pattern);
            last.map_or_else(|| self.all.read(call, pattern, i), Ok)
        })?;
        Ok(self.last.insert(last))
    }
}
