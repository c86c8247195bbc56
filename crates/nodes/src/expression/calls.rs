//! Calls of groups in the text of a formula.
//!
//! A formula cannot call groups itself: the document that holds it replaces the calls by nodes.

use std::ops::Range;

use millstream_node::node_def::formula::{GroupArgument, GroupCall};
use serde_json::Value as Json;

use super::token::{Lexer, Symbol, Token, TokenKind};
use super::{SyntaxError, functions};

/// The length of the longest escape in a text, such as `\u00e9`.
const MAX_ESCAPE: usize = 6;

/// The outermost calls of groups in a text, which need not be a formula.
pub(super) fn group_calls(text: &str, is_group: &dyn Fn(&str) -> bool) -> Vec<GroupCall> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    loop {
        match lexer.next().ok().or_else(|| lexer.skip_foreign()) {
            None | Some(Token { kind: TokenKind::End, .. }) => break,
            Some(token) => tokens.push(token),
        }
    }
    let is_closed = closed(&tokens);
    let (mut calls, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_after_point = at > 0 && is(tokens.get(at - 1), Symbol::Point);
        let name = name_at(&tokens, at).filter(|_| !is_after_point);
        let called = name.filter(|(name, open)| {
            let name = &text[name.clone()];
            let is_special = || functions::SPECIAL.iter().any(|(special, _)| *special == name);
            is_closed[*open] && functions::find(name).is_none() && !is_special() && is_group(name)
        });
        match called.and_then(|(name, open)| call(&tokens, name, open)) {
            Some((call, end)) => {
                calls.push(call);
                at = end;
            }
            None => at += 1,
        }
    }
    calls
}

/// The fault in the brackets of a call whose name has this range: something that is no value, or a
/// parenthesis that is not closed.
pub(super) fn fault(text: &str, name: Range<usize>) -> Option<SyntaxError> {
    let mut lexer = Lexer::starting_at(text, name.end);
    let open = lexer.next().ok().filter(|token| is(Some(token), Symbol::Open))?;
    let mut depth = 1_usize;
    while depth > 0 {
        let before = lexer.clone();
        match lexer.next() {
            Ok(Token { kind: TokenKind::End, .. }) => {
                let error = SyntaxError::new("this `(` is not closed", open.start..open.end);
                return Some(error.hint("add a `)`"));
            }
            Ok(token) if is(Some(&token), Symbol::Open) => depth += 1,
            Ok(token) if is(Some(&token), Symbol::Close) => depth -= 1,
            Ok(_) => {}
            Err(error) => {
                lexer = before;
                if text[error.range.start..].starts_with(|c: char| c.is_ascii_digit() || c == '.') {
                    return Some(error);
                }
                if lexer.skip_foreign().is_none() {
                    return Some(no_value(text, error.range.start));
                }
            }
        }
    }
    None
}

/// The error of a text, a list or an object in a call that is no JSON value.
fn no_value(text: &str, start: usize) -> SyntaxError {
    let rest = &text[start..];
    let read = serde_json::Deserializer::from_str(rest).into_iter::<Json>().next();
    let error = read.and_then(Result::err);
    // The bytes that were read up to the fault.
    let n_read = error.as_ref().map_or(rest.len(), |error| {
        let lines = rest.split_inclusive('\n').take(error.line().saturating_sub(1));
        (lines.map(str::len).sum::<usize>() + error.column()).min(rest.len())
    });
    let is_open = error.is_some_and(|error| error.is_eof()) || rest[..n_read].ends_with(')');
    let until = |n: usize| start..start + n;
    let of = |message: &str, range, hint: &str| SyntaxError::new(message, range).hint(hint);
    match rest.chars().next() {
        Some('"') if is_open => of("this text is not closed", until(1), "add a `\"`"),
        Some('"') => match rest[..n_read].rfind('\\').filter(|at| n_read - at <= MAX_ESCAPE) {
            Some(at) => of(
                "there is no such escape",
                start + at..start + n_read,
                "escapes are those of JSON: `\\\"`, `\\\\`, `\\n`, `\\t`, `\\u00e9`",
            ),
            None => of(
                "this text contains a control character",
                until(n_read),
                "write it as in JSON: `\\n`, `\\t` or `\\u0001`",
            ),
        },
        Some('[') if is_open => of("this `[` is not closed", until(1), "add a `]`"),
        Some('[') => of(
            "this list is not a list of values",
            until(n_read),
            "write it with values only, such as `[1, 2]`, or make it in a node of its own",
        ),
        _ if is_open => of("this `{` is not closed", until(1), "add a `}`"),
        _ => of(
            "this object is not a value",
            until(n_read),
            "write it as in JSON, or make it in a node of its own",
        ),
    }
}

/// Whether each token is a parenthesis that is closed.
fn closed(tokens: &[Token<'_>]) -> Vec<bool> {
    let mut is_closed = vec![false; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if is(Some(token), Symbol::Open) {
            open.push(at);
        } else if is(Some(token), Symbol::Close)
            && let Some(open) = open.pop()
        {
            is_closed[open] = true;
        }
    }
    is_closed
}

fn is(token: Option<&Token<'_>>, symbol: Symbol) -> bool {
    token.is_some_and(|token| token.kind == TokenKind::Symbol(symbol))
}

/// A name that is called, such as `group` or `document/group`, and the position of the parenthesis.
fn name_at(tokens: &[Token<'_>], first: usize) -> Option<(Range<usize>, usize)> {
    let mut at = first;
    loop {
        let name = tokens.get(at).filter(|token| matches!(token.kind, TokenKind::Name(_)))?;
        let next = tokens.get(at + 1)?;
        at += 2;
        if is(Some(next), Symbol::Open) {
            return Some((tokens[first].start..name.end, at - 1));
        }
        // Spaces around `/` make it a division.
        let follows = tokens.get(at).is_some_and(|after| after.start == next.end);
        if !is(Some(next), Symbol::Divide) || next.start != name.end || !follows {
            return None;
        }
    }
}

/// The call whose parenthesis is at this position, and the position after it; `None` if the
/// parenthesis is not closed.
fn call(tokens: &[Token<'_>], group: Range<usize>, open: usize) -> Option<(GroupCall, usize)> {
    let mut args = Vec::new();
    let (mut depth, mut first) = (0_usize, open + 1);
    let mut at = open;
    loop {
        let token = tokens.get(at)?;
        match token.kind {
            TokenKind::Symbol(Symbol::Open) => depth += 1,
            TokenKind::Symbol(Symbol::Close) => depth -= 1,
            _ => {}
        }
        let is_last = depth == 0;
        if is_last || (depth == 1 && is(Some(token), Symbol::Comma)) {
            if first < at || !args.is_empty() || !is_last {
                args.push(argument(&tokens[first..=at]));
            }
            first = at + 1;
        }
        at += 1;
        if is_last {
            break;
        }
    }
    let whole = group.start..tokens[at - 1].end;
    let output = tokens.get(at + 1).filter(|_| is(tokens.get(at), Symbol::Point));
    let output = output.filter(|token| matches!(token.kind, TokenKind::Name(_)));
    let output = output.map(|token| token.start..token.end);
    Some((GroupCall { group, whole, args, output }, at))
}

/// An argument, from its tokens and the one after it.
fn argument(tokens: &[Token<'_>]) -> GroupArgument {
    let is_named = tokens.len() > 2
        && matches!(tokens[0].kind, TokenKind::Name(_))
        && is(tokens.get(1), Symbol::Colon);
    let name = is_named.then(|| tokens[0].start..tokens[0].end);
    let value = if is_named { &tokens[2..] } else { tokens };
    let end = value.len().checked_sub(2).map_or(value[0].start, |last| value[last].end);
    GroupArgument { name, value: value[0].start..end }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// The name of the call of `f`.
    fn at(text: &str) -> Range<usize> {
        let start = text.find('f').expect("there is a call");
        start..start + 1
    }

    #[test]
    fn calls_that_are_not_closed_are_not_searched_for_their_ends() {
        let never = |_: &str| -> bool { unreachable!("no call is closed") };
        assert!(group_calls(&"f(x, ".repeat(200_000), &never).is_empty());
    }

    #[test]
    fn the_fault_in_the_brackets_of_a_call_is_found() {
        for (text, expected) in [
            ("f(a", Some((1..2, "this `(` is not closed"))),
            ("f(g(a)", Some((1..2, "this `(` is not closed"))),
            ("f([a, 1])", Some((2..4, "this list is not a list of values"))),
            ("f(b: \"a\\q\")", Some((7..9, "there is no such escape"))),
            ("f(b: \"\\u00g1\")", Some((6..12, "there is no such escape"))),
            ("f(b: \"a", Some((5..6, "this text is not closed"))),
            ("f(b: \"a\n\")", Some((5..8, "this text contains a control character"))),
            ("2 + f(x, [1, 2", Some((9..10, "this `[` is not closed"))),
            ("f([1, 2)", Some((2..3, "this `[` is not closed"))),
            ("f({ \"x\": 1)", Some((2..3, "this `{` is not closed"))),
            ("f([1, 2], \"\\n\", {})", None),
            ("f(2 +)", None),
        ] {
            let found = fault(text, at(text)).map(|error| (error.range, error.message));
            let expected = expected.map(|(range, message)| (range, message.to_owned()));
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(fault("f(a, 1e400)", 0..1).map(|error| error.range), Some(5..10));
    }

    fn check(text: &str, expected: &Expect) {
        let calls = group_calls(text, &|name| ["f", "g", "lib/f"].contains(&name));
        let written = calls.iter().map(|call| {
            let args = call.args.iter().map(|arg| {
                let name =
                    arg.name.clone().map_or(String::new(), |name| format!("{}=", &text[name]));
                format!("{name}[{}]", &text[arg.value.clone()])
            });
            let output = call.output.clone().map_or("", |output| &text[output]);
            let group = &text[call.group.clone()];
            let args: Vec<String> = args.collect();
            format!("{group} {} {output} in {}\n", args.join(" "), &text[call.whole.clone()])
        });
        expected.assert_eq(&written.collect::<String>());
    }

    #[test]
    fn the_outermost_calls_are_found() {
        check(
            "2 * f(x, g(y) + 1) - lib/f(b: c ? 1 : 2).out / x/f(3) + h(f()) + noise.f(1) + g (2) + sin(f) / (3)",
            &expect![[r#"
                f [x] [g(y) + 1]  in f(x, g(y) + 1)
                lib/f b=[c ? 1 : 2] out in lib/f(b: c ? 1 : 2)
                f [3]  in f(3)
                f   in f()
                g [2]  in g (2)
            "#]],
        );
        check(
            "f(\"a, (\", b: [1, 2], c: $) + g({ \"x\": 1 })",
            &expect![[r#"
                f ["a, ("] b=[[1, 2]] c=[$]  in f("a, (", b: [1, 2], c: $)
                g [{ "x": 1 }]  in g({ "x": 1 })
            "#]],
        );
        check(
            "f(1, ) + g(",
            &expect![[r#"
            f [1] []  in f(1, )
        "#]],
        );
    }
}
