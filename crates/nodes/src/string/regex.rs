//! Texts and regular expressions.
//!
//! An expression is a setting or an input. As a setting it is compiled once, and one that is wrong or
//! too large is refused before anything runs; those of an input are compiled when they are met, and
//! kept (`expression`). A search takes at most a time in proportion to the sizes of text and
//! expression; their product is limited.

mod expression;

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::node_def::Parts;
use millstream_node::settings::SettingError;
use millstream_node::{Call, Failure, Kernel, NodeDef, Registry, SettingKind, SettingValue};
use regex::{Captures, Match, Regex};

use super::{Budget, on_texts, with_text};
use crate::cells::{Cells, ListCells, function};
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

const SYNTAX: &str = "The syntax is that of Rust's crate `regex`: classes such as `\\d`, `\\w` and `\\p{Greek}` take all of \
                      Unicode, `(?i)`, `(?m)`, `(?s)` and `(?x)` change what letters, `^` and `$`, `.` and white space mean; there is \
                      neither looking around nor going back to groups. Matches are found from the left, each behind the one \
                      before; an empty one right behind another is none.";

/// A node on texts with an expression, which is the last input where the setting leaves it open.
fn on_expression(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, &'static str)],
    output: (Type, &'static str),
) -> NodeDef {
    let fixed = on_texts(name, "", inputs).output("value", output.0, output.1);
    let about = "the regular expression; this input is there where the setting is empty";
    let open = on_texts(name, "", inputs)
        .input("pattern", Type::STRING, about)
        .or(millstream_node::Default::Zero)
        .output("value", output.0, output.1);
    NodeDef::new(name, summary)
        .source("crate `regex` 1.13, whose searches take time in proportion to text and expression")
        .setting(
            "pattern",
            SettingKind::Text,
            Some(SettingValue::Text("".into())),
            "the regular expression, checked before anything runs; where it is empty the input of this name has it",
        )
        .setting(
            "any_case",
            SettingKind::Flag,
            Some(SettingValue::Flag(false)),
            "small letters and capitals are the same",
        )
        .sockets_by_settings(move |settings| {
            let def = if settings.text("pattern").is_empty() { &open } else { &fixed };
            def.signature(settings).map(std::borrow::Cow::into_owned)
        })
}

const TEXT: (&str, &str) = ("text", "what is searched");

fn test() -> NodeDef {
    let summary = "Whether a regular expression matches a text";
    on_expression("string.regex_test", summary, &[TEXT], (Type::BOOL, ""))
        .details(SYNTAX)
        .setting(
            "whole",
            SettingKind::Flag,
            Some(SettingValue::Flag(false)),
            "all of the text must match, not only a part of it",
        )
        .kernel(|parts| of_text(parts, |expression, text| expression.regex.is_match(text)))
}

/// The kernel that finds something in a text.
fn of_text<R: millstream_base::ValueType>(
    parts: &Parts<'_>,
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
    let summary = "Where a regular expression first matches a text";
    let about = "number of the character where the match starts; -1 if there is none";
    on_expression("string.regex_find", summary, &[TEXT], (Type::I32, about))
        .details(format!("The part itself is the first item of `string.regex_groups`. {SYNTAX}"))
        .kernel(|parts| {
            of_text(parts, |expression, text| {
                let found = expression.regex.find(text);
                found.map_or(-1, |found| n_characters(&text[..found.start()]))
            })
        })
}

fn count() -> NodeDef {
    let summary = "How often a regular expression matches a text";
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

/// What of a match is asked for; its groups take longer to find.
trait Found {
    type In<'t>;
    fn all<'t>(regex: &'t Regex, text: &'t str) -> impl Iterator<Item = Self::In<'t>>;
    fn whole<'t>(found: &Self::In<'t>) -> Match<'t>;
}

/// Where it is.
struct Whole;

impl Found for Whole {
    type In<'t> = Match<'t>;

    fn all<'t>(regex: &'t Regex, text: &'t str) -> impl Iterator<Item = Match<'t>> {
        regex.find_iter(text)
    }

    fn whole<'t>(found: &Self::In<'t>) -> Match<'t> {
        *found
    }
}

/// Its groups.
struct Grouped;

impl Found for Grouped {
    type In<'t> = Captures<'t>;

    fn all<'t>(regex: &'t Regex, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        regex.captures_iter(text)
    }

    fn whole<'t>(found: &Self::In<'t>) -> Match<'t> {
        found.get_match()
    }
}

/// Units of work of a match, whatever its length.
const MATCH: usize = 1 << 5;

/// Calls `f` with the text and each match in it, up to so many.
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
            let whole = F::whole(&found);
            pace.work(MATCH + whole.end() - end)?;
            end = whole.end();
            f(text, &found)?;
        }
        Ok(())
    })
}

fn texts() -> Type {
    Type::STRING.list().expect("lists of texts exist")
}

/// The kernel that makes a list of texts; `write` puts them into a list.
fn lists_of_texts(
    parts: &Parts<'_>,
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
    let summary = "The parts of a text that a regular expression matches";
    on_expression("string.regex_find_all", summary, &[TEXT], (texts(), "the parts in order"))
        .converts()
        .details(SYNTAX)
        .setting(
            "group",
            SettingKind::Text,
            Some(SettingValue::Text("0".into())),
            "number or name of the group that is given, 0 for all of the match; empty where it takes no part",
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
    let about = "an item more than there are groups, or none";
    on_expression("string.regex_groups", summary, &[TEXT], (texts(), about))
        .converts()
        .details(format!(
            "The first item is all of the match, the others are what the groups in brackets matched, in the order in which \
             they open; the empty text for one that takes no part. Without a match the list is empty. {SYNTAX}"
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
    let with =
        "`$1`, `${1}` and `${name}` are the groups of the match, `$0` all of it, `$$` is `$`";
    let summary = "A text with the matches of a regular expression replaced";
    let inputs = [TEXT, ("with", with)];
    on_expression("string.regex_replace", summary, &inputs, (Type::STRING, ""))
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
        // Each sign of a group is at least two bytes and no group is longer than its match.
        let n_groups = with.matches('$').count();
        let n_matches = if first_only { 1 } else { usize::MAX };
        each_found::<Grouped>(call, expression, i, n_matches, |text, found| {
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
    let summary = "The parts of a text between the matches of a regular expression";
    on_expression("string.regex_split", summary, &[TEXT], (texts(), "the parts in order"))
        .converts()
        .details(format!(
            "Matches that touch, or stand at an end, have empty parts beside them. A text without a match is one part, also an \
             empty one. {SYNTAX}"
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
