//! Regular expressions on strings.
//!
//! An expression is a setting or an input. The expression of a setting is compiled once, and
//! refused before anything runs if it is wrong or too large. Expressions of an input are compiled
//! when they first occur, and cached (`expression`). The time of a search is at most proportional
//! to the product of the sizes of text and expression, which is limited.

mod expression;

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::node_def::KernelSpec;
use millstream_node::settings::SettingError;
use millstream_node::{Call, Failure, Kernel, NodeDef, Registry, SettingKind, SettingValue};
use regex::{Captures, Match, Regex};

use super::{Budget, on_texts, with_text};
use crate::cells::{Cells, ListCells, function};
use crate::shape::list_of;
use expression::{Expression, Expressions};

pub(super) fn register(registry: &mut Registry) {
    registry.register(test());
    registry.register(find());
    registry.register(count());
    registry.register(find_all());
    registry.register(groups());
    registry.register(replace());
    registry.register(split());
}

const SYNTAX: &str = "The syntax is that of Rust's crate `regex`: classes such as `\\d`, `\\w` and \
    `\\p{Greek}` cover all of Unicode; the flags `(?i)`, `(?m)`, `(?s)` and `(?x)` change the \
    meaning of letters, of `^` and `$`, of `.` and of white space. There is no look-around and \
    there are no backreferences. Matches are found from left to right and do not overlap; an empty \
    match directly after another match is skipped.";

/// A node on strings with an expression, which is the last input if the setting is empty.
fn on_expression(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, &'static str)],
    output: (Type, &'static str),
) -> NodeDef {
    let fixed = on_texts(name, "", inputs).output("value", output.0, output.1);
    let about = "regular expression; this input exists if the setting is empty";
    let open = on_texts(name, "", inputs)
        .input_or("pattern", Type::STRING, millstream_node::Default::Zero, about)
        .output("value", output.0, output.1);
    NodeDef::new(name, summary)
        .source(
            "crate `regex` 1.13, whose search time is proportional to the sizes of text and \
             expression",
        )
        .setting(
            "pattern",
            SettingKind::Text,
            Some(SettingValue::Text("".into())),
            "regular expression, checked before anything runs; if empty, it is read from the input \
             of this name",
        )
        .flag("any_case", false, "ignore case")
        .sockets_by_settings(move |settings| {
            let def = if settings.text("pattern").is_empty() { &open } else { &fixed };
            def.signature(settings).map(std::borrow::Cow::into_owned)
        })
}

const TEXT: (&str, &str) = ("text", "text to search");

fn test() -> NodeDef {
    let summary = "Whether a regular expression matches a string";
    on_expression("string.regex_test", summary, &[TEXT], (Type::BOOL, ""))
        .details(SYNTAX)
        .flag("whole", false, "the whole string must match, not only a part of it")
        .kernel(|parts| of_text(parts, |expression, text| expression.regex.is_match(text)))
}

/// The kernel that finds something in a string.
fn of_text<R: millstream_base::ValueType>(
    parts: &KernelSpec<'_>,
    f: impl Fn(&Expression, &str) -> R + Send + Sync + 'static,
) -> Result<Kernel, SettingError> {
    let expressions = Expressions::of(parts)?;
    Ok(function(move |call| {
        let mut cells = Cells::<R>::new(call);
        let mut met = expressions.of_call();
        cells.fill(call, |i| {
            let expression = met.at(call, i)?;
            with_text(call, 0, i, |text| {
                expression.check(text, i, call.limits())?;
                Ok(f(expression, text))
            })
        })?;
        cells.put(call);
        Ok(())
    }))
}

fn n_characters(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX)
}

fn find() -> NodeDef {
    let summary = "The position of the first match of a regular expression";
    let about = "index of the first character of the match, from 0; -1 if there is none";
    on_expression("string.regex_find", summary, &[TEXT], (Type::I32, about))
        .details(format!(
            "The matched string itself is the first item of `string.regex_groups`. {SYNTAX}"
        ))
        .kernel(|parts| {
            of_text(parts, |expression, text| {
                let found = expression.regex.find(text);
                found.map_or(-1, |found| n_characters(&text[..found.start()]))
            })
        })
}

fn count() -> NodeDef {
    let summary = "The number of matches of a regular expression in a string";
    on_expression("string.regex_count", summary, &[TEXT], (Type::I32, "")).details(SYNTAX).kernel(
        |parts| {
            let expressions = Expressions::of(parts)?;
            Ok(function(move |call| {
                let mut cells = Cells::<i32>::new(call);
                let mut met = expressions.of_call();
                cells.fill(call, |i| {
                    let mut n = 0_i32;
                    each_found::<Whole>(call, met.at(call, i)?, i, usize::MAX, |_, _| {
                        n = n.saturating_add(1);
                        Ok(())
                    })?;
                    Ok(n)
                })?;
                cells.put(call);
                Ok(())
            }))
        },
    )
}

/// The requested parts of a match; its groups take longer to find.
trait Found {
    type In<'t>;
    fn all<'t>(regex: &'t Regex, text: &'t str) -> impl Iterator<Item = Self::In<'t>>;
    fn full_match<'t>(found: &Self::In<'t>) -> Match<'t>;
}

/// The full match.
struct Whole;

impl Found for Whole {
    type In<'t> = Match<'t>;

    fn all<'t>(regex: &'t Regex, text: &'t str) -> impl Iterator<Item = Match<'t>> {
        regex.find_iter(text)
    }

    fn full_match<'t>(found: &Self::In<'t>) -> Match<'t> {
        *found
    }
}

/// The groups of the match.
struct Grouped;

impl Found for Grouped {
    type In<'t> = Captures<'t>;

    fn all<'t>(regex: &'t Regex, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        regex.captures_iter(text)
    }

    fn full_match<'t>(found: &Self::In<'t>) -> Match<'t> {
        found.get_match()
    }
}

/// Units of work per match, whatever its length.
const MATCH: usize = 1 << 5;

/// Calls `f` with the string and each match in it, up to a number of matches.
fn each_found<F: Found>(
    call: &Call<'_>,
    expression: &Expression,
    i: usize,
    most: usize,
    mut f: impl for<'t> FnMut(&'t str, &F::In<'t>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    with_text(call, 0, i, |text| {
        expression.check(text, i, call.limits())?;
        let mut pace = call.pace();
        let mut end = 0;
        for found in F::all(&expression.regex, text).take(most) {
            let full_match = F::full_match(&found);
            pace.work(MATCH + full_match.end() - end)?;
            end = full_match.end();
            f(text, &found)?;
        }
        Ok(())
    })
}

/// The kernel that makes a list of strings; `write` appends them to a list.
fn lists_of_texts(
    parts: &KernelSpec<'_>,
    write: impl Fn(&Call<'_>, &Expression, usize, &mut Vec<Arc<str>>) -> Result<(), Failure>
    + Send
    + Sync
    + 'static,
) -> Result<Kernel, SettingError> {
    let expressions = Expressions::of(parts)?;
    Ok(function(move |call| {
        let mut cells = ListCells::<Arc<str>>::new(call);
        let mut met = expressions.of_call();
        cells.fill(call, |_| 0, |i, out| write(call, met.at(call, i)?, i, out))?;
        cells.put(call)
    }))
}

fn find_all() -> NodeDef {
    let summary = "All parts of a string that match a regular expression";
    on_expression(
        "string.regex_find_all",
        summary,
        &[TEXT],
        (list_of(Type::STRING), "parts in order"),
    )
    .converts()
    .details(SYNTAX)
    .setting(
        "group",
        SettingKind::Text,
        Some(SettingValue::Text("0".into())),
        "number or name of the group to return, 0 for the whole match; a group that did not \
             take part gives an empty string",
    )
    .kernel(|parts| {
        lists_of_texts(parts, |call, expression, i, out| {
            let group = expression.group;
            if group == 0 {
                return each_found::<Whole>(call, expression, i, usize::MAX, |_, found| {
                    out.push(found.as_str().into());
                    Ok(())
                });
            }
            each_found::<Grouped>(call, expression, i, usize::MAX, |_, found| {
                out.push(found.get(group).map_or("", |found| found.as_str()).into());
                Ok(())
            })
        })
    })
}

fn groups() -> NodeDef {
    let summary = "The groups of the first match of a regular expression";
    let about = "the match and its groups, or an empty list";
    on_expression("string.regex_groups", summary, &[TEXT], (list_of(Type::STRING), about))
        .converts()
        .details(format!(
            "The first item is the whole match; the others are the strings of its groups, in the \
             order of their opening brackets. A group that did not take part gives an empty \
             string. Without a match the list is empty. {SYNTAX}"
        ))
        .kernel(|parts| {
            lists_of_texts(parts, |call, expression, i, out| {
                each_found::<Grouped>(call, expression, i, 1, |_, found| {
                    let groups = found.iter();
                    out.extend(groups.map(|group| group.map_or("", |group| group.as_str()).into()));
                    Ok(())
                })
            })
        })
}

fn replace() -> NodeDef {
    let with = "replacement; `$1`, `${1}` and `${name}` are groups of the match, `$0` the whole \
                match, `$$` a literal `$`";
    let summary = "Replaces the matches of a regular expression in a string";
    let inputs = [TEXT, ("with", with)];
    on_expression("string.regex_replace", summary, &inputs, (Type::STRING, ""))
        .converts()
        .details(format!(
            "A group that does not exist, or did not take part, gives an empty string. A name \
             after `$` extends over all letters, digits and `_`. {SYNTAX}"
        ))
        .flag("first_only", false, "replace only the first match")
        .kernel(|parts| {
            let expressions = Expressions::of(parts)?;
            let first_only = parts.settings.flag("first_only");
            Ok(function(move |call| {
                let mut cells = Cells::<Arc<str>>::new(call);
                let mut budget = Budget::default();
                let mut met = expressions.of_call();
                cells.fill(call, |i| {
                    let replaced = replaced(call, met.at(call, i)?, first_only, i)?;
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
        // Each reference to a group takes at least two bytes, and no group is longer than its
        // match.
        let n_groups = with.matches('$').count();
        let n_matches = if first_only { 1 } else { usize::MAX };
        each_found::<Grouped>(call, expression, i, n_matches, |text, found| {
            let full_match = found.get_match();
            let longest = n_groups.saturating_mul(full_match.len()).saturating_add(with.len());
            let n = out.len().saturating_add(full_match.start() - end).saturating_add(longest);
            if n > most {
                let failure = Failure::limit("bytes in one string", n, most, "list_length");
                return Err(Failure { element: Some(i), ..failure });
            }
            out.push_str(&text[end..full_match.start()]);
            found.expand(with, &mut out);
            end = full_match.end();
            Ok(())
        })
    })?;
    with_text(call, 0, i, |text| out.push_str(&text[end..]));
    Ok(out)
}

fn split() -> NodeDef {
    let summary = "Splits a string at the matches of a regular expression";
    on_expression("string.regex_split", summary, &[TEXT], (list_of(Type::STRING), "parts in order"))
        .converts()
        .details(format!(
            "Adjacent matches, and matches at an end, have empty parts beside them. A string \
             without a match, even an empty one, is one part. {SYNTAX}"
        ))
        .kernel(|parts| {
            lists_of_texts(parts, |call, expression, i, out| {
                let mut end = 0;
                each_found::<Whole>(call, expression, i, usize::MAX, |text, found| {
                    out.push(text[end..found.start()].into());
                    end = found.end();
                    Ok(())
                })?;
                with_text(call, 0, i, |text| out.push(text[end..].into()));
                Ok(())
            })
        })
}

#[cfg(test)]
mod tests;
