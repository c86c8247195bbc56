//! Messages about calls inside other calls, formulas and outputs, whose nodes have no written name.

use expect_test::{Expect, expect};

use crate::errors::problems_with;

/// The problems of a text that can use the groups of `a.json` and two of its own.
#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn reports(text: &str, expected: Expect) {
    let library = |path: &str| match path {
        "a.json" => Ok(br#"{ "millstream": 2, "groups": { "g": {
            "inputs": { "x": { "type": "f32" } },
            "nodes": { "n": { "type": "math.sqrt", "in": { "x": { "input": "x" } } } },
            "outputs": { "low": { "type": "f32", "from": "n.value" },
                "result": { "type": "f32", "from": "n.value" } } } } }"#
            .to_vec()),
        _ => Err("there is no such document"),
    };
    let text = format!(
        "use a = \"a.json\"\ninput x: f32\n{text}group two(x: f32) -> (hi: f32, lo: string) {{\n  \
         hi = 2 * x\n  lo = string.from_number(x)\n}}\n"
    );
    expected.assert_eq(&problems_with(&text, Some(&library)));
}

#[test]
fn unknown_outputs_of_nested_calls_are_told_and_marked_as_the_call() {
    reports(
        "output o: f32 = two(1) + 3\n\
         output p: f32 = 1 + a/g(x: x)\n\
         output q: f32 = two(x).mid\n\
         output r: f32 = two(x)\n\
         output s: f32 = a/g(x: 1).ress\n\
         n = math.add(two(x).mid, two(x).hi)\n\
         output t: f32 = n.mid\n\
         m = two(x)\n\
         output u: f32 = m.mid + y.lo where y: two(x)\n",
        expect![[r#"
            1:1 `use a = \"a.json\"`  used::not_locked: `a.json`, used as `a`, is not locked, so changes to it go unnoticed
                `millstream check --update-lock the document` locks it
            3:17 `two(1)` o check::unknown_output: `two(...)`: `two` has no output called `value`
                outputs: `hi`, `lo`
            4:21 `a/g(x: x)` p check::unknown_output: `a/g(...)`: `a/g` has no output called `value`
                outputs: `low`, `result`
            5:17 `two(x).mid`  check::unknown_output: `two(...)`: `two` has no output called `mid`
                outputs: `hi`, `lo`
            6:17 `two(x)`  check::unknown_output: `two(...)`: `two` has no output called `value`
                outputs: `hi`, `lo`
            7:17 `a/g(x: 1).ress`  check::unknown_output: `a/g(...)`: `a/g` has no output called `ress`
                outputs: `low`, `result`
            8:14 `two(x).mid` n.a check::unknown_output: `two(...)`: `two` has no output called `mid`
                outputs: `hi`, `lo`
            11:17 `m` u.m check::unknown_output: `m.value`: `two` has no output called `value`
                outputs: `hi`, `lo`
            11:39 `two(x)` u check::unknown_output: `two(...)`: `two` has no output called `value`
                outputs: `hi`, `lo`
        "#]],
    );
}

#[test]
fn values_of_nested_calls_have_no_invented_names() {
    reports(
        "output o: f32 = two(x).lo + 1\n\
         output p: f32 = two(x).lo\n\
         n = math.sqrt(two(x).lo)\n\
         output q: string = 1 + x\n\
         output r: f32 = y + 1 where y: two(x).lo\n",
        expect![[r#"
            1:1 `use a = \"a.json\"`  used::not_locked: `a.json`, used as `a`, is not locked, so changes to it go unnoticed
                `millstream check --update-lock the document` locks it
            3:17 `two(x)` o settings::refused: a string is not a number or vector
                `string.to_number` gives the number that is written in it
            4:8 `p: f32 = two(x).lo`  check::type_mismatch: `two(...)` gives a string, but output `p` takes an f32
                insert a node that converts: `string.to_number`
            5:15 `two(x).lo` n.x check::type_mismatch: `two(...)` gives a string, but input `x` of `math.sqrt` takes one of f32, f64, vec2, vec3, vec4
                insert a node that converts: `string.to_number`
            6:8 `q: string = 1 + x`  check::type_mismatch: `1 + x` gives an f32, but output `q` takes a string
                insert a node that converts: `string.from_number`
            7:17 `y` r settings::refused: a string is not a number or vector
                `string.to_number` gives the number that is written in it
        "#]],
    );
}

#[test]
fn unknown_names_of_calls_are_marked() {
    reports(
        "b = math.sinn(x)\n\
         c = noise.perlinn(x)\n\
         d = muted node noise.perlinn(x)\n\
         e = aa/g(x: 1)\n\
         f = 2 + aa / g(x: 1)\n\
         h = `two x`(x, 1)\n",
        expect![[r#"
            1:1 `use a = \"a.json\"`  used::not_locked: `a.json`, used as `a`, is not locked, so changes to it go unnoticed
                `millstream check --update-lock the document` locks it
            3:5 `math.sinn` b text::unknown_node_type: there is no node type called `math.sinn`
                did you mean `math.sign`?
            4:5 `noise.perlinn` c text::unknown_node_type: there is no node type called `noise.perlinn`
                did you mean `noise.perlin`?
            5:16 `noise.perlinn` d text::unknown_node_type: there is no node type called `noise.perlinn`
                did you mean `noise.perlin`?
            6:5 `aa/g` e text::syntax: there is no group called `aa/g`
                did you mean `a/g`?
            7:9 `aa / g` f text::syntax: there is no group called `aa/g`
                did you mean `a/g`?
            8:5 ``two x`` h text::unknown_node_type: there is no node type called `two x`
                `millstream nodes` lists all node types; of others, name each input
        "#]],
    );
}

#[test]
fn inputs_of_groups_of_other_documents_need_names() {
    reports(
        "b = a/g(x)\n\
         c = a/f(x)\n\
         d = a(x)\n\
         e = a/f(x: 1)\n\
         f = a/g(y: 1)\n",
        expect![[r#"
            1:1 `use a = \"a.json\"`  used::not_locked: `a.json`, used as `a`, is not locked, so changes to it go unnoticed
                `millstream check --update-lock the document` locks it
            3:9 `x` b text::needs_names: `a/g` would be in another document, so its inputs need names here
                write each one as `NAME: ...`; if there is no such group or input, the next check says which ones there are
            4:9 `x` c text::needs_names: `a/f` would be in another document, so its inputs need names here
                write each one as `NAME: ...`; if there is no such group or input, the next check says which ones there are
            5:7 `x` d text::needs_names: `a` would be in another document, so its inputs need names here
                write each one as `NAME: ...`; if there is no such group or input, the next check says which ones there are
            6:1 `e = a/f(x: 1)` e check::unknown_group: there is no group called `a/f`
                did you mean `a/g`?
            7:1 `f = a/g(y: 1)` f.x check::missing_input: input `x` of `a/g` is missing
                link it or write a number
            7:9 `y: 1` f check::unknown_input: `a/g` has no input called `y`
                inputs: `x`
        "#]],
    );
}

#[test]
fn numbers_of_inputs_are_told_in_words() {
    reports(
        "b = sin(x, 2)\nc = math.sin(x, 2)\nd = pi(x)\ne = two(1, 2)\n",
        expect![[r#"
        1:1 `use a = \"a.json\"`  used::not_locked: `a.json`, used as `a`, is not locked, so changes to it go unnoticed
            `millstream check --update-lock the document` locks it
        3:12 `2` b text::too_many_inputs: `sin` has only 1 input
            it is `x`
        4:17 `2` c text::too_many_inputs: `math.sin` has only 1 input
            it is `x`
        5:8 `x` d text::too_many_inputs: `pi` has no inputs
            remove it
        6:12 `2` e text::too_many_inputs: `two` has only 1 input
            it is `x`
    "#]],
    );
}
