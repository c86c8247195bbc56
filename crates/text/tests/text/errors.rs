//! Reported problems and their places.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use millstream_base::Limits;
use millstream_document::{Library, open_loaded};
use millstream_text::{load, load_text, to_text, with_lock};

use crate::{REGISTRY, document, formatted, limits};

/// The problems of loading and checking, each with line, column and the marked text.
pub(crate) fn problems(text: &str) -> String {
    problems_with(text, None)
}

/// The same, with the documents that the text uses.
pub(crate) fn problems_with(text: &str, library: Option<&dyn Library>) -> String {
    let loaded = load_text(text.as_bytes(), &REGISTRY, &limits());
    let (_, problems) = open_loaded(loaded, &REGISTRY, library, &[], &limits());
    let mut out = String::new();
    for problem in &problems {
        let span = problem.place.span.unwrap_or_default();
        let (start, end) = (span.start as usize, (span.end as usize).min(text.len()));
        let line = text[..start].matches('\n').count() + 1;
        let column = text[..start].rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let marked = text.get(start..end).unwrap_or_default().escape_debug();
        let path = problem.place.path.as_str();
        writeln!(out, "{line}:{column} `{marked}` {path} {}: {}", problem.code, problem.message)
            .expect("strings take all text");
        if let Some(help) = &problem.help {
            writeln!(out, "    {help}").expect("strings take all text");
        }
    }
    out
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
pub(crate) fn reports(text: &str, expected: Expect) {
    expected.assert_eq(&problems(text));
}

#[test]
fn groups_that_there_are_not_are_told_with_the_nearest_one() {
    let text = "use water = \"water.mill\"\n\
         input a: f32 = 1\n\
         p = repeat softn(a, count: 3)\n\
         q = group softn(a)\n\
         r = repeat nothing(a, count: 3)\n\
         s = repeat watre/ring(a, count: 3)\n\
         t = 2 * watre/ring(a)\n\
         output y: f32 = q\n\
         group soften(x: f32) -> y: f32 {\n  y = x / 2\n}\n";
    let told = problems(text);
    for (place, name, hint) in [
        ("3:12 `softn` p", "softn", "did you mean `soften`?"),
        ("4:11 `softn` q", "softn", "did you mean `soften`?"),
        (
            "5:12 `nothing` r",
            "nothing",
            "a group is written `group nothing(x: f32) -> y: f32 { ... }`",
        ),
        ("6:12 `watre/ring` s", "watre/ring", "did you mean `water/ring`?"),
        ("7:9 `watre/ring` t", "watre/ring", "did you mean `water/ring`?"),
    ] {
        let mut lines = told.lines();
        let line = lines.find(|line| line.starts_with(place)).unwrap_or_else(|| panic!("{told}"));
        assert!(line.ends_with(&format!(": there is no group called `{name}`")), "{line}");
        assert_eq!(lines.next().map(str::trim), Some(hint), "{told}");
    }
}

#[test]
fn hints_show_the_text_form() {
    reports(
        "input wide: f64\n\
         n = sqrt(x: wide)\n\
         a = sqrt(x: input n)\n\
         b = sqrt(x: node wide.value)\n\
         c = node half()\n\
         d = lib/noise()\n\
         e = convert(\"x\")\n\
         r = repeat half(x: 1, count: 2)\n\
         output y: f32 = e\n\
         group half(x: f32) -> y: f32 {\n  y = x / 2\n}\n",
        expect![[r#"
            3:10 `x: input n` a.x check::unknown_graph_input: the document has no input called `n`
                write a link to a node as `node n.value`
            4:10 `x: node wide.value` b.x check::unknown_node: `wide.value`: there is no node called `wide`
                write a link to an input as `input wide`
            5:1 `c = node half()` c check::unknown_node_type: there is no node type called `half`
                write the use of a group as `group half(...)`
            6:5 `lib/noise` d text::syntax: there is no group called `lib/noise`
                add a line `use lib = "FILE"`
            7:13 `\"x\"` e text::not_in_formula: a formula cannot contain a text
                give it to an input or a setting of a node
            8:1 `r = repeat half(x: 1, count: 2)` r check::not_carried: no input of the next round takes output `y` of group `half`
                add an input called `y` to the group, or, if it says whether to continue, name it with `while = "y"`
        "#]],
    );
}

#[test]
fn of_many_problems_the_first_ones_are_reported() {
    let unknown = vec!["no.such(1)"; 2000].join(", ");
    for text in [
        format!("a = list.concat([{unknown}])\n"),
        "a = 1 + 1\n".repeat(2001),
        "a = 1 +\n".repeat(2000),
    ] {
        let told = problems(&text);
        assert!(told.contains(" more problems"), "{}", &told[told.len() - 200..]);
        assert!(told.lines().count() < 5000, "{}", told.lines().count());
    }
}

#[test]
fn several_problems_are_reported_at_once() {
    reports(
        "input a: f32\n\
         input b f32\n\
         x = a +\n\
         y = sqrt(a,\n\
         z = [1, 2]\n\
         w = a ! b\n\
         group g(x: f32) -> y: f32\n\
         \x20 y = x\n\
         }\n\
         v = f(x: 1, 2)\n\
         inptu c: f32\n\
         a = = 2\n\
         u = 'text'\n\
         t = \"text\n\
         s = a + \"text\"\n\
         q = math.add(1, 2, 3)\n\
         p = math.ad(1)\n",
        expect![[r#"
            2:9 `f32`  text::syntax: `:` is missing before `f32`
                write the type of its value: `name: f32`
            3:8 `\n`  text::syntax: a value, a name or a call is missing before the end of the line
                a statement ends with its line; inside parentheses it continues on the next one
            4:9 `(`  text::not_closed: this `(` is not closed
                add a `)`
            6:7 `!`  text::syntax: `!` does not continue the statement
                a statement ends with its line
            7:26 `\n`  text::syntax: `->` or `{` is missing before the end of the line
                the nodes of a group follow its inputs and outputs, between `{` and `}`
            10:13 `2`  text::syntax: an input without a name follows one with a name
                name it too, as in `x: ...`, or move it to the front
            11:1 `inptu`  text::syntax: no statement starts with `inptu`
                did you mean `input`?
            12:5 `=`  text::syntax: a value, a name or a call is missing before `=`
            13:5 `\'`  text::syntax: `'` has no meaning here
                texts are written in double quotes, "..."
            14:5 `\"text`  text::syntax: this text is not closed
                add a `"`; a line break inside a text is written `\n`
            15:9 `\"text\"` s text::not_in_formula: a formula cannot contain a text
                give it to an input or a setting of a node
            16:20 `3` q text::too_many_inputs: `math.add` has only 2 inputs
                they are `a`, `b`
            17:5 `math.ad` p text::unknown_node_type: there is no node type called `math.ad`
                did you mean `math.add`?
        "#]],
    );
}

#[test]
fn checking_points_into_the_text() {
    reports(
        "input a: f3\n\
         x = vector.distance(a, b)\n\
         y = (x +  missing) * sin(x, 2)\n\
         z = math.add(a: x, c: 1, mode = \"up\")\n\
         w = nosuch(x)\n\
         u = nosuch(x: 1, mode = 2) + 1\n\
         t = 1 + clamp(2, min: 0, max: 1)\n\
         v = x +* 2\n\
         output o: f32 = z.other\n\
         output r: f32\n",
        expect![[r#"
            1:7 `a: f3`  check::unknown_type: input `a` has the unknown type `f3`
                did you mean `f32`?
            2:24 `b` x.b check::unknown_node: `b.value`: there is no node called `b`
                add the node or change the link
            3:22 `sin(x, 2)` y settings::refused: `sin` takes 1 argument, not 2
                write `sin(x)`
            4:26 `mode = \"up\"` z settings::unknown: there is no setting called `mode`
                this node has no settings
            5:5 `nosuch` w settings::refused: there is no function called `nosuch`
                a product is written `nosuch * (...)`
            6:5 `nosuch(x: 1, mode = 2)` u_1 check::unknown_node_type: there is no node type called `nosuch`
                `millstream nodes` lists all node types
            7:18 `min` t text::syntax: `clamp` is a function of formulas, whose inputs have no names
                a node type is called by its whole name: `mix.clamp`
            8:8 `*`  text::syntax: a value, a name or a call is missing before `*`
                a power is written `x ^ 2` or `x ** 2`
            10:8 `r: f32`  check::unknown_node: `r.value`: there is no node called `r`
                add the node or change the link
        "#]],
    );
}

#[test]
fn misspelt_calls_get_a_hint_whatever_their_inputs_are() {
    reports(
        "use lib = \"lib.mill\"\n\
         output o: f32 = produc(1, x: 2)\n\
         output p: f32 = produc(1, 2)\n\
         a = 2 * sqr(x: 4)\n\
         b = vector_length(a: [1, 2, 3])\n\
         c = lbi/f(x: 2)\n\
         d = xyz / f(x: 2)\n\
         e = lenght([1])\n\
         g = 1 + list.lenght([1, 2])\n\
         h = length([1])\n\
         i = sqrt(produc(\"a\"))\n\
         j = 1 + clamp(2, min: 0, max: 1)\n\
         group product(s: f32, x: f32) -> value: f32 {\n  value = s * x\n}\n",
        expect![[r#"
            1:1 `use lib = \"lib.mill\"`  used::no_library: `lib.mill`, used as `lib`, cannot be read: the documents that this one uses have no place
                open the document by its path; a program gives its engine a library with `with_documents`
            2:17 `produc` o text::syntax: there is no function called `produc`
                did you mean `product`?
            3:17 `produc` p settings::refused: there is no function called `produc`
                did you mean `product`?
            4:9 `sqr` a text::syntax: there is no function called `sqr`
                did you mean `sqrt`?
            5:5 `vector_length` b text::syntax: there is no function called `vector_length`
                did you mean `vector.length`?
            6:5 `lbi/f` c text::syntax: there is no group called `lbi/f`
                did you mean `lib/f`?
            7:5 `xyz / f` d text::syntax: there is no group called `xyz/f`
                add a line `use xyz = "FILE"`
            8:5 `lenght` e text::syntax: there is no function called `lenght`
                did you mean `length`?
            9:9 `list.lenght` g text::syntax: there is no node type called `list.lenght`
                did you mean `list.length`?
            10:12 `[1]` h text::not_in_formula: a formula cannot contain a list or an object
                a vector is written `vec3(1, 2, 3)`
            11:10 `produc` i_x text::syntax: there is no function called `produc`
                did you mean `product`?
            12:18 `min` j text::syntax: `clamp` is a function of formulas, whose inputs have no names
                a node type is called by its whole name: `mix.clamp`
        "#]],
    );
}

#[test]
fn values_are_on_the_line_of_their_statement() {
    reports(
        "input a: f32 =\n3\n",
        expect![[r#"
        1:15 `\n`  text::syntax: a value is missing before the end of the line
            a statement ends with its line; inside parentheses it continues on the next one
        2:1 `3`  text::syntax: a statement does not start with `3`
            a name with other characters than letters, digits and `_` needs back quotes
    "#]],
    );
    reports(
        "output a: f32 =\n3\n",
        expect![[r#"
        1:16 `\n`  text::syntax: a value, a name or a call is missing before the end of the line
            a statement ends with its line; inside parentheses it continues on the next one
        2:1 `3`  text::syntax: a statement does not start with `3`
            a name with other characters than letters, digits and `_` needs back quotes
    "#]],
    );
    reports(
        "input a: f32 = # three\n\n",
        expect![[r#"
        1:23 `\n`  text::syntax: a value is missing before the end of the line
            a statement ends with its line; inside parentheses it continues on the next one
    "#]],
    );
    reports(
        "input a: f32 =",
        expect![[r#"
        1:15 ``  text::syntax: a value is missing before the end
            a statement ends with its line; inside parentheses it continues on the next one
    "#]],
    );
    reports(
        "output a: f32 =",
        expect![[r#"
        1:16 ``  text::syntax: a value, a name or a call is missing before the end
            a statement ends with its line; inside parentheses it continues on the next one
    "#]],
    );
    reports(
        "view\n{}\n",
        expect![[r#"
        1:5 `\n`  text::syntax: a value is missing before the end of the line
            a statement ends with its line; inside parentheses it continues on the next one
        2:1 `{`  text::syntax: a statement does not start with `{`
            write `name = ...`, `input name: type` or `output name: type = ...`
    "#]],
    );
    reports("group g(x: f32 =\n  3) -> y: f32 {\n  y = x\n}\n", expect![[r#""#]]);
}

#[test]
fn values_of_outputs_are_written_as_those_of_inputs() {
    reports(
        "input a: f32 = 01\n\
         output b: f32 = 01\n\
         output c: i32 = -007.5\n\
         output d: f32 \"d\" = 3\n\
         output e: f32 in m = 3\n\
         output f: f32 = (01)\n\
         output g: f32 = 0.5\n\
         output h: f32 = .5\n\
         input i: i32 = 1.5 \"text\"\n\
         input j: f32 \"text\" = \"x\" in m\n\
         input k: f32 = [1e999]\n\
         input l: f3 = 1\n\
         group g(x: f32 = true) -> y: f32 {\n  y = x\n}\n",
        expect![[r#"
            1:16 `01`  text::syntax: a number cannot start with 0 and another digit
            2:17 `01`  text::syntax: a number cannot start with 0 and another digit
            3:17 `-007.5`  text::syntax: a number cannot start with 0 and another digit
            4:19 `=`  text::syntax: `=` does not continue the statement
                the value of an output comes before its description
            5:20 `=`  text::syntax: `=` does not continue the statement
                the value of an output comes before its unit
            9:16 `1.5`  check::wrong_value: the default of input `i`: 1.5 is not an i32
                an i32 is written as an integer
            10:23 `\"x\"`  check::wrong_value: the default of input `j`: "x" is not an f32
                an f32 is written as a number
            11:16 `[1e999]`  text::syntax: a number in it is too large; write "inf" for infinity
            12:7 `l: f3 = 1`  check::unknown_type: input `l` has the unknown type `f3`
                did you mean `f32`?
            13:18 `true` g check::wrong_value: the default of input `x`: true is not an f32
                an f32 is written as a number
        "#]],
    );
}

#[test]
fn a_text_that_starts_with_a_control_character_is_no_json() {
    let loaded = load(b"\0output o: f32 = 1\n", &REGISTRY, &limits());
    let first = loaded.problems.iter().next().map(ToString::to_string);
    assert_eq!(first.as_deref(), Some("`\\0` has no meaning here (remove this control character)"));
}

#[test]
fn settings_that_do_not_fit_each_other_are_refused() {
    reports(
        "input i: image\n\
         a = image.convolve(i, weights = [1, 2, 3, 4])\n\
         b = image.convolve(i, weights = [1, 2, 3], width = 5)\n\
         c = image.convolve(i, weights = [])\n\
         d = image.convolve(i, weights = [1, 2, 3, 4, 5, 6], width = 3)\n",
        expect![[r#"
            2:23 `weights = [1, 2, 3, 4]` a settings::refused: setting `weights`: 4 weights are no rows of 3; give 3 or 6, or set `width`
            3:23 `weights = [1, 2, 3]` b settings::refused: setting `weights`: 3 weights are no rows of 5; give 5, or set `width`
            4:23 `weights = []` c settings::refused: setting `weights`: there are no weights; give `width` for each row
        "#]],
    );
}

#[test]
fn blocks_that_are_not_closed_are_named() {
    reports(
        "group a(x: f32) -> value: f32 {\n  value = x\ngroup b(x: f32) -> value: f32 {\n  value = x\n",
        expect![[r#"
            1:31 `{`  text::not_closed: this `{` is not closed
                add a `}`
            3:31 `{`  text::not_closed: this `{` is not closed
                add a `}`
        "#]],
    );
    reports(
        "view { \"a\": [1, }\nx = 1\n",
        expect![[r#"
        1:17 `}`  text::syntax: a value is missing before `}`
            remove the comma before it
    "#]],
    );
    reports(
        "x = 1\n}\n",
        expect![[r#"
        2:1 `}`  text::syntax: this `}` closes nothing
            remove it, or add the first line of the group
    "#]],
    );
    reports(
        "group g(x: f32) -> y: f32 { input z: f32\n y = x }\nname `a\n",
        expect![[r#"
        1:29 `input`  text::syntax: `input` has no meaning in a group
            write inputs in the first line: `group name(x: f32)`
        3:6 ``a`  text::syntax: this name is not closed
            add a back quote
    "#]],
    );
}

#[test]
fn inputs_are_given_once_in_any_order() {
    reports(
        "x = math.add(1, a: 2)\ny = math.add(b: 1, a: 2)\nz = math.add(b: 1, a: 2, b: 3)\n\
         w = math.add(c: 1, c: 2)\n",
        expect![[r#"
            1:17 `a: 2` x text::duplicate: input `a` is defined twice
                the first counts; remove or rename the other
            3:26 `b: 3` z text::duplicate: input `b` is defined twice
                the first counts; remove or rename the other
            4:20 `c: 2` w text::duplicate: input `c` is defined twice
                the first counts; remove or rename the other
        "#]],
    );
    let order = |text: &str| {
        let document = document(text);
        document.nodes["x"].inputs.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(order("x = mix.clamp(maximum: 3, x: 1, minimum: 2)\n"), ["maximum", "x", "minimum"]);
}

#[test]
fn names_that_need_quotes_say_so() {
    reports(
        "my node = 2\n1st = 2\n\"a\" = 2\n`a.b` = 2\nx = a-b$\ny = sqrt(`a/b`) + f(x).`c.d`\n",
        expect![[r#"
            1:4 `node`  text::syntax: `=` is missing before `node`
                a node is written `name = ...`; a name of several words is written in back quotes
            2:1 `1`  text::syntax: a statement does not start with `1st`
                a name with other characters than letters, digits and `_` needs back quotes
            3:1 `\"a\"`  text::syntax: a statement does not start with `"`
                a name with other characters than letters, digits and `_` needs back quotes
            4:1 ``a.`  text::bad_name: a node cannot be called `a.b`: it contains a `.`
                choose another name
            5:8 `$`  text::syntax: `$` has no meaning here
                a name with such a character is written in back quotes
            6:10 ``a/b`` y text::bad_name: a node cannot be called `a/b`: it contains a `/`
                choose another name
        "#]],
    );
}

#[test]
fn statements_are_not_repeated() {
    reports(
        "fps 30\nfps 24\nx = 1\nx = 2\ninput a: f32\ninput a: f32\nuse l = \"a\"\nuse l = \"b\"\n\
         y = math.add(a: 1, a: 2)\nz = x + y where x: 1, x: 2\noutput x: i32\noutput x: i32\n\
         input s: f32 from 1 from 2\nfps 0\nmillstream 9\nstart_frame 1.5\n",
        expect![[r#"
            2:1 `fps 24`  text::duplicate: statement `fps` is defined twice
                the first counts; remove or rename the other
            4:1 `x`  text::duplicate: node `x` is defined twice
                the first counts; remove or rename the other
            6:7 `a: f32`  text::duplicate: input `a` is defined twice
                the first counts; remove or rename the other
            8:1 `use l = \"b\"`  text::duplicate: use `l` is defined twice
                the first counts; remove or rename the other
            9:20 `a: 2` y text::duplicate: input `a` is defined twice
                the first counts; remove or rename the other
            10:23 `x` z text::duplicate: letter `x` is defined twice
                the first counts; remove or rename the other
            12:8 `x: i32`  text::duplicate: output `x` is defined twice
                the first counts; remove or rename the other
            13:21 `from`  text::syntax: `from` is given twice
                remove one of them
            14:5 `0`  text::syntax: frames per second must be above 0
            15:12 `9`  text::syntax: the document has format 9; this build reads formats up to 2
                open it with a newer release of millstream
            16:13 `1.5`  text::syntax: this is not a whole number
        "#]],
    );
}

#[test]
fn long_texts_are_read_in_linear_time() {
    let start = Instant::now();
    let mut chain = String::new();
    for i in 1..200_000 {
        writeln!(chain, "n{i} = math.add(n{}, 1)", i - 1).expect("strings take all text");
    }
    assert_eq!(document(&format!("n0 = 1\n{chain}")).nodes.len(), 200_000);
    let mut line = String::new();
    for i in 0..100_000 {
        write!(line, " + a{i}").expect("strings take all text");
    }
    assert_eq!(document(&format!("x = 1{line}\n")).nodes["x"].inputs.len(), 100_000);
    let list = format!("input l: list<f32> = [{}0]\n", "0,".repeat(1_000_000));
    assert_eq!(formatted(&list).len(), list.len() + 1_000_000);
    for wrong in [
        "x = f(\n",
        "x = [\n",
        "x = [1,\n",
        "x = (\n",
        "}\n",
        "group g(\n",
        "x = [[\n",
        "\"\n",
        "x = `\n",
        "view {\n",
    ] {
        let text = wrong.repeat(20_000);
        let loaded = load_text(text.as_bytes(), &REGISTRY, &limits());
        assert!(loaded.problems.has_errors() && loaded.problems.len() <= 41_000, "{wrong}");
    }
    for deep in ["(", "[", "f(", "-", "muted ", "a.", "x?", "{\"a\":", "f(x: ", "several ["] {
        let text = format!("x = {}\n", deep.repeat(100_000));
        let loaded = load_text(text.as_bytes(), &REGISTRY, &limits());
        assert!(loaded.problems.has_errors(), "{deep}");
    }
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[test]
fn limits_hold() {
    let text = "x = 1\ny = 2\nz = 3\n";
    let few = Limits { nodes: 2, ..Limits::default() };
    let loaded = load_text(text.as_bytes(), &REGISTRY, &few);
    assert!(loaded.document.is_none() && loaded.problems.to_string().contains("more than 2 nodes"));
    let few = Limits { document_bytes: 5, ..Limits::default() };
    let loaded = load_text(text.as_bytes(), &REGISTRY, &few);
    assert!(loaded.problems.to_string().contains("more than 5 bytes"));
    let loaded = load_text(b"x = 1\n\xff", &REGISTRY, &limits());
    assert!(loaded.problems.to_string().contains("byte 6 is not UTF-8"));
}

#[test]
fn locks_are_replaced_in_their_place() {
    let lock = document("lock a = 2 \"sha256:1\"\nlock `b c` = 1 \"x\"\n").lock;
    let text = "name \"n\"\nuse a = \"a.mill\" # first\nuse `b c` = \"b\"\n\nx  = 1 # stays\n";
    let locked = with_lock(text, &lock, &limits()).expect("it is right");
    assert_eq!(
        locked,
        "name \"n\"\nuse a = \"a.mill\" # first\nuse `b c` = \"b\"\nlock a = 2 \"sha256:1\"\nlock `b c` = 1 \"x\"\n\nx  = 1 # stays\n"
    );
    assert_eq!(with_lock(&locked, &lock, &limits()), Some(locked.clone()));
    let commented = locked.replace("sha256:1\"", "sha256:1\"  # the last one that worked");
    assert_eq!(with_lock(&commented, &lock, &limits()), Some(commented));
    assert!(with_lock("x = (", &lock, &limits()).is_none());
}

#[test]
fn an_error_after_an_escape_in_a_setting_has_its_place() {
    let text = "input x: f32 = 1\n\
                a = math.expression(text=\"x +\\n nothing(x)\", x: x)\n\
                output y: f32 = a\n";
    let found = problems(text);
    assert!(found.starts_with("2:33 `nothing` a settings::refused"), "{found}");
}

#[test]
fn a_list_is_no_item_of_a_list() {
    let found = problems("output y: list<string> = list.of([\"a\"])\n");
    assert!(found.contains("check::list_as_item: [\"a\"] is a list"), "{found}");
}

#[test]
fn components_of_the_value_of_a_call_are_no_outputs() {
    for formula in ["w(x).y", "w(x).y * 2", "w(pair(x).y + 1).zx.x - w(x).x", "pair(w(x).z).x"] {
        let text = format!(
            "input x: f32 = 1\n\
             group pair(a: f32) -> (x: f32, y: f32) {{ x = a\ny = a }}\n\
             group w(a: f32) -> value: vec3 {{ value = vec3(a, a, a) }}\n\
             output r: f32 = {formula}\n\
             output s: f32 = pair(x).x + w(x).x\n"
        );
        assert_eq!(problems(&text), "", "{formula}");
        let read = document(&text);
        assert_eq!(document(&to_text(&read, &REGISTRY)), read, "{formula}");
    }
}
