//! Texts and regular expressions.
//!
//! An expression is a setting: it is compiled once, and one that is wrong or too large is refused before
//! anything runs. A search takes at most a time in proportion to the sizes of text and expression; their product is limited.

use std::sync::Arc;

use millstream_base::{Limits, Type};
use millstream_kernel::settings::SettingError;
use millstream_kernel::{
    Call, Failure, Kernel, NodeDef, Registry, SettingKind, SettingValue, Settings,
};
use regex::{Captures, Error, Regex, RegexBuilder};

use super::{Budget, on_texts, with_text};
use crate::cells::{Cells, ListCells, function};

pub(super) fn register(registry: &mut Registry) {
    registry.register(test());
    registry.register(find());
    registry.register(count());
    registry.register(find_all());
    registry.register(groups());
    registry.register(replace());
    registry.register(split());
}

const SYNTAX: &str = "The syntax is that of Rust's crate `regex`: classes such as `\\d`, `\\w` and `\\p{Greek}` take all of \
                      Unicode, `(?i)`, `(?m)`, `(?s)` and `(?x)` change what letters, `^` and `$`, `.` and white space mean; there is \
                      neither looking around nor going back to groups. Matches are found from the left, each behind the one \
                      before; an empty one right behind another is none.";

/// Characters of the longest expression.
const LONGEST: usize = 10_000;

/// Bytes of a compiled expression; what takes no more than one of these, but more than the one before, is of
/// that size.
const SIZES: [usize; 5] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// Bytes of text times bytes of compiled expression that are searched at most.
const MOST: usize = 1 << 38;

/// A compiled expression.
#[derive(Clone)]
struct Expression {
    regex: Regex,
    n_bytes: usize,
}

impl Expression {
    /// The expression of the setting `pattern`, within `before` and `behind`.
    fn of(settings: &Settings, before: &str, behind: &str) -> Result<Self, SettingError> {
        let pattern = settings.text("pattern");
        if pattern.len() > LONGEST {
            let message = format!("{} bytes, up to {LONGEST} go", pattern.len());
            return Err(SettingError::refused("pattern", message));
        }
        let any_case = settings.flag("any_case");
        // What is wrong is told of the expression as it was written.
        compiled(pattern, any_case, SIZES[SIZES.len() - 1])?;
        let pattern = format!("{before}{pattern}{behind}");
        for n_bytes in SIZES {
            match compiled(&pattern, any_case, n_bytes) {
                Ok(regex) => return Ok(Self { regex, n_bytes }),
                Err(error) if n_bytes == SIZES[SIZES.len() - 1] => return Err(error),
                Err(_) => {}
            }
        }
        unreachable!("the largest size is tried last")
    }

    /// Refuses a text that would be searched for too long.
    fn check(&self, text: &str, i: usize, limits: &Limits) -> Result<(), Failure> {
        let most = (MOST / self.n_bytes).min(limits.list_length);
        if text.len() <= most {
            return Ok(());
        }
        let n = text.len();
        Err(Failure::at(
            i,
            format!("a text of {n} bytes is searched, this expression takes up to {most}"),
        )
        .with_help("search its lines one by one, or write a simpler expression"))
    }
}

fn compiled(pattern: &str, any_case: bool, n_bytes: usize) -> Result<Regex, SettingError> {
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(any_case).size_limit(n_bytes).nest_limit(100);
    builder.build().map_err(|error| {
        let message = match error {
            Error::CompiledTooBig(_) => {
                "the expression is too large: repetitions and classes multiply".into()
            }
            // The last line says what is wrong, those before draw where.
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                last.strip_prefix("error: ").unwrap_or(last).to_owned()
            }
        };
        SettingError::refused("pattern", message)
    })
}

/// A node on texts with an expression.
fn on_expression(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, &'static str)],
) -> NodeDef {
    on_texts(name, summary, inputs)
        .source("crate `regex` 1.13, whose searches take time in proportion to text and expression")
        .setting(
            "pattern",
            SettingKind::Text,
            Some(SettingValue::Text("".into())),
            "the regular expression",
        )
        .setting(
            "any_case",
            SettingKind::Flag,
            Some(SettingValue::Flag(false)),
            "small letters and capitals are the same",
        )
}

const TEXT: (&str, &str) = ("text", "what is searched");

fn test() -> NodeDef {
    on_expression("string.regex_test", "Whether a regular expression matches a text", &[TEXT])
        .details(SYNTAX)
        .setting(
            "whole",
            SettingKind::Flag,
            Some(SettingValue::Flag(false)),
            "all of the text must match, not only a part of it",
        )
        .output("value", Type::BOOL, "")
        .kernel(|parts| {
            let whole = parts.settings.flag("whole");
            let (before, behind) = if whole { ("\\A(?:", ")\\z") } else { ("", "") };
            let expression = Expression::of(parts.settings, before, behind)?;
            Ok(of_text(expression, Regex::is_match))
        })
}

/// The kernel that finds something in a text.
fn of_text<R: millstream_base::ValueType>(
    expression: Expression,
    f: impl Fn(&Regex, &str) -> R + Send + Sync + 'static,
) -> Kernel {
    function(move |call| {
        let mut cells = Cells::<R>::new(call);
        cells.fill(call, |i| {
            with_text(call, 0, i, |text| {
                expression.check(text, i, call.limits())?;
                Ok(f(&expression.regex, text))
            })
        })?;
        cells.put(call);
        Ok(())
    })
}

fn n_characters(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX)
}

fn find() -> NodeDef {
    on_expression("string.regex_find", "Where a regular expression first matches a text", &[TEXT])
        .details(format!("The part itself is the first item of `string.regex_groups`. {SYNTAX}"))
        .output(
            "value",
            Type::I32,
            "number of the character where the match starts; -1 if there is none",
        )
        .kernel(|parts| {
            let expression = Expression::of(parts.settings, "", "")?;
            Ok(of_text(expression, |regex, text| {
                regex.find(text).map_or(-1, |found| n_characters(&text[..found.start()]))
            }))
        })
}

fn count() -> NodeDef {
    on_expression("string.regex_count", "How often a regular expression matches a text", &[TEXT])
        .details(SYNTAX)
        .output("value", Type::I32, "")
        .kernel(|parts| {
            let expression = Expression::of(parts.settings, "", "")?;
            Ok(function(move |call| {
                let mut cells = Cells::<i32>::new(call);
                cells.fill(call, |i| {
                    let mut n = 0_i32;
                    each_match(call, &expression, i, |_, _| {
                        n = n.saturating_add(1);
                        Ok(())
                    })?;
                    Ok(n)
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

/// Units of work of a match, whatever its length.
const MATCH: usize = 1 << 5;

/// Calls `f` with the text and each match in it.
fn each_match(
    call: &Call<'_>,
    expression: &Expression,
    i: usize,
    mut f: impl FnMut(&str, &regex::Match<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    with_text(call, 0, i, |text| {
        expression.check(text, i, call.limits())?;
        let mut pace = call.pace();
        let mut end = 0;
        for found in expression.regex.find_iter(text) {
            pace.work(MATCH + found.end() - end)?;
            end = found.end();
            f(text, &found)?;
        }
        Ok(())
    })
}

fn texts() -> Type {
    Type::STRING.list().expect("lists of texts exist")
}

/// The number of the group that the setting `group` names.
fn group_of(settings: &Settings, regex: &Regex) -> Result<usize, SettingError> {
    let name = settings.text("group");
    let number = match name.parse::<usize>() {
        Ok(number) => Some(number).filter(|number| *number < regex.captures_len()),
        Err(_) => regex.capture_names().position(|known| known == Some(name)),
    };
    number.ok_or_else(|| {
        let message = format!("the expression has no group `{name}`");
        SettingError::refused("group", message)
    })
}

/// Lists of texts of which the number is not known before; `write` puts them into a list.
fn lists_of_texts(
    call: &mut Call<'_>,
    write: impl Fn(&Call<'_>, usize, &mut Vec<Arc<str>>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut cells = ListCells::<Arc<str>>::new(call);
    let limit = call.limits().list_length;
    cells.fill(
        call,
        |_| 0,
        |i, out| {
            write(call, i, out)?;
            if out.len() > limit {
                let failure = Failure::limit("items in lists", out.len(), limit, "list_length");
                return Err(Failure { element: Some(i), ..failure });
            }
            Ok(())
        },
    )?;
    cells.put(call)
}

fn find_all() -> NodeDef {
    on_expression(
        "string.regex_find_all",
        "The parts of a text that a regular expression matches",
        &[TEXT],
    )
    .converts()
    .details(SYNTAX)
    .setting(
        "group",
        SettingKind::Text,
        Some(SettingValue::Text("0".into())),
        "number or name of the group that is given, 0 for all of the match; empty where it takes no part",
    )
    .output("value", texts(), "the parts in order")
    .kernel(|parts| {
        let expression = Expression::of(parts.settings, "", "")?;
        let group = group_of(parts.settings, &expression.regex)?;
        Ok(function(move |call| {
            lists_of_texts(call, |call, i, out| {
                if group == 0 {
                    return each_match(call, &expression, i, |_, found| {
                        out.push(found.as_str().into());
                        Ok(())
                    });
                }
                each_captures(call, &expression, i, usize::MAX, |_, found| {
                    out.push(found.get(group).map_or("", |found| found.as_str()).into());
                    Ok(())
                })
            })
        }))
    })
}

/// Calls `f` with the text and the groups of each match in it, up to so many.
fn each_captures(
    call: &Call<'_>,
    expression: &Expression,
    i: usize,
    most: usize,
    mut f: impl FnMut(&str, &Captures<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    with_text(call, 0, i, |text| {
        expression.check(text, i, call.limits())?;
        let mut pace = call.pace();
        let mut end = 0;
        for found in expression.regex.captures_iter(text).take(most) {
            let whole = found.get_match();
            pace.work(MATCH + whole.end() - end)?;
            end = whole.end();
            f(text, &found)?;
        }
        Ok(())
    })
}

fn groups() -> NodeDef {
    on_expression(
        "string.regex_groups",
        "The groups of the first match of a regular expression",
        &[TEXT],
    )
    .converts()
    .details(format!(
        "The first item is all of the match, the others are what the groups in brackets matched, in the order in which \
         they open; the empty text for one that takes no part. Without a match the list is empty. {SYNTAX}"
    ))
    .output("value", texts(), "an item more than there are groups, or none")
    .kernel(|parts| {
        let expression = Expression::of(parts.settings, "", "")?;
        Ok(function(move |call| {
            lists_of_texts(call, |call, i, out| {
                each_captures(call, &expression, i, 1, |_, found| {
                    let groups = found.iter();
                    out.extend(groups.map(|group| group.map_or("", |group| group.as_str()).into()));
                    Ok(())
                })
            })
        }))
    })
}

fn replace() -> NodeDef {
    on_expression(
        "string.regex_replace",
        "A text with the matches of a regular expression replaced",
        &[TEXT, ("with", "`$1`, `${1}` and `${name}` are the groups of the match, `$0` all of it, `$$` is `$`")],
    )
    .converts()
    .details(format!(
        "A group that is not there, or takes no part, is empty; a name goes on as far as letters, digits and `_` do. {SYNTAX}"
    ))
    .setting(
        "first_only",
        SettingKind::Flag,
        Some(SettingValue::Flag(false)),
        "later matches stay",
    )
    .output("value", Type::STRING, "")
    .kernel(|parts| {
        let expression = Expression::of(parts.settings, "", "")?;
        let first_only = parts.settings.flag("first_only");
        Ok(function(move |call| {
            let mut cells = Cells::<Arc<str>>::new(call);
            let mut budget = Budget::default();
            cells.fill(call, |i| {
                let replaced = replaced(call, &expression, first_only, i)?;
                budget.spend(replaced.len(), i, call.limits())?;
                Ok(replaced.into())
            })?;
            cells.put(call);
            Ok(())
        }))
    })
}

fn replaced(
    call: &Call<'_>,
    expression: &Expression,
    first_only: bool,
    i: usize,
) -> Result<String, Failure> {
    let most = call.limits().list_length;
    let mut out = String::new();
    let mut end = 0;
    with_text(call, 1, i, |with| {
        // Each sign of a group is at least two bytes and no group is longer than its match.
        let n_groups = with.matches('$').count();
        let n_matches = if first_only { 1 } else { usize::MAX };
        each_captures(call, expression, i, n_matches, |text, found| {
            let whole = found.get_match();
            let longest = n_groups.saturating_mul(whole.len()).saturating_add(with.len());
            let n = out.len().saturating_add(whole.start() - end).saturating_add(longest);
            if n > most {
                let failure = Failure::limit("bytes in one text", n, most, "list_length");
                return Err(Failure { element: Some(i), ..failure });
            }
            out.push_str(&text[end..whole.start()]);
            found.expand(with, &mut out);
            end = whole.end();
            Ok(())
        })
    })?;
    with_text(call, 0, i, |text| out.push_str(&text[end..]));
    Ok(out)
}

fn split() -> NodeDef {
    on_expression(
        "string.regex_split",
        "The parts of a text between the matches of a regular expression",
        &[TEXT],
    )
    .converts()
    .details(format!(
        "Matches that touch, or stand at an end, have empty parts beside them. A text without a match is one part, also an \
         empty one. {SYNTAX}"
    ))
    .output("value", texts(), "the parts in order")
    .kernel(|parts| {
        let expression = Expression::of(parts.settings, "", "")?;
        Ok(function(move |call| {
            lists_of_texts(call, |call, i, out| {
                let mut end = 0;
                each_match(call, &expression, i, |text, found| {
                    out.push(text[end..found.start()].into());
                    end = found.end();
                    Ok(())
                })?;
                with_text(call, 0, i, |text| out.push(text[end..].into()));
                Ok(())
            })
        }))
    })
}

#[cfg(test)]
mod tests;
