//! Similarity of strings: patterns, distances, natural order.

use std::cmp::Ordering;

use millstream_base::Type;
use millstream_node::{Failure, NodeDef, Registry};

use super::on_texts;
use crate::cells::function;
use crate::each::{Element, Text, each, try_each};

pub(super) fn register(registry: &mut Registry) {
    registry.register(matches());
    registry.register(distance());
    registry.register(natural_order());
}

/// Fails if too many pairs of characters would be compared.
fn check_pairs(a: usize, b: usize, element: &Element<'_>) -> Result<(), Failure> {
    let (pairs, limit) = (a.saturating_mul(b), element.limits.list_length);
    if pairs <= limit {
        return Ok(());
    }
    let failure = Failure::limit("pairs of characters", pairs, limit, "list_length");
    Err(Failure { element: Some(element.i), ..failure })
}

fn matches() -> NodeDef {
    let texts = &[
        ("text", ""),
        ("pattern", "pattern; `*` matches any number of characters, `?` exactly one"),
    ];
    on_texts("string.matches", "Whether a string matches a pattern with wildcards", texts)
        .details(
            "The pattern must match the whole string; put `*` at both ends to match a part of it. \
             All other characters match themselves.",
        )
        .flag("any_case", false, "ignore case")
        .output("value", Type::BOOL, "")
        .kernel(|parts| {
            let any_case = parts.settings.flag("any_case");
            let characters = move |text: &str| -> Vec<char> {
                if any_case {
                    text.chars().flat_map(char::to_lowercase).collect()
                } else {
                    text.chars().collect()
                }
            };
            Ok(function(try_each::<(Text, Text), _>(move |element, (text, pattern)| {
                let (text, pattern) = (characters(text), characters(pattern));
                check_pairs(text.len(), pattern.len(), element)?;
                Ok(fits(&text, &pattern))
            })))
        })
}

/// Whether a string matches a pattern. On a mismatch, the last star takes one character more.
fn fits(text: &[char], pattern: &[char]) -> bool {
    let (mut at, mut in_pattern) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((at, in_pattern + 1));
                in_pattern += 1;
            }
            Some(c) if *c == '?' || *c == text[at] => {
                at += 1;
                in_pattern += 1;
            }
            _ => match star {
                Some((taken, behind)) => {
                    star = Some((taken + 1, behind));
                    (at, in_pattern) = (taken + 1, behind);
                }
                None => return false,
            },
        }
    }
    pattern[in_pattern..].iter().all(|c| *c == '*')
}

fn distance() -> NodeDef {
    on_texts(
        "string.distance",
        "The edit distance between two strings (Levenshtein)",
        &[("a", ""), ("b", "")],
    )
    .details(
        "The least number of edits that turn one string into the other; each edit inserts, \
             deletes or replaces one character. 0 for equal strings.",
    )
    .source(
        "V. Levenshtein, Binary codes capable of correcting deletions, insertions and \
             reversals, 1966",
    )
    .output("value", Type::I32, "number of edits")
    .commutes()
    .function(try_each::<(Text, Text), _>(|element, (a, b)| {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        check_pairs(a.len(), b.len(), element)?;
        Ok(i32::try_from(steps(&a, &b)).unwrap_or(i32::MAX))
    }))
}

fn steps(a: &[char], b: &[char]) -> usize {
    // The edits from the characters of `a` so far to each prefix of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (k, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[k + 1];
            row[k + 1] = replaced.min(diagonal + 1).min(row[k] + 1);
        }
    }
    row[b.len()]
}

fn natural_order() -> NodeDef {
    on_texts(
        "string.natural_order",
        "The natural order of two strings, with numbers ordered by value",
        &[("a", ""), ("b", "")],
    )
    .details(
        "Like `string.order`, but consecutive digits are one number: `file9` comes before \
             `file10`. If the strings differ only in leading zeros of equal numbers, the one with \
             fewer zeros comes first.",
    )
    .output("value", Type::I32, "-1: a comes first, 0: equal, 1: b comes first")
    .function(each::<(Text, Text), _>(|(a, b)| ordered(a, b) as i32))
}

/// The digits at the start of a string, and the rest.
fn number(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn ordered(mut a: &str, mut b: &str) -> Ordering {
    let whole = a.cmp(b);
    loop {
        let ((x, rest_a), (y, rest_b)) = (number(a), number(b));
        if !x.is_empty() && !y.is_empty() {
            let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
            let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (rest_a, rest_b);
            continue;
        }
        let (mut in_a, mut in_b) = (a.chars(), b.chars());
        match (in_a.next(), in_b.next()) {
            (None, None) => break,
            (x, y) if x != y => return x.cmp(&y),
            _ => (a, b) = (in_a.as_str(), in_b.as_str()),
        }
    }
    // The strings differ only in leading zeros.
    whole.reverse()
}
