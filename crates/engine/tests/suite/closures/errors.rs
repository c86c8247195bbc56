//! Errors in the use of closures have a place and a next step.

use millstream::{Engine, Limits};

const GROUPS: &str = "
group scale(x: f32, by: f32) -> value: f32 {
  value = x * by
}
group apply(f: closure<x: f32 -> f32>, x: f32) -> value: f32 {
  value = call(f, x: x)
}
";

/// The errors of a document, with places and hints.
fn errors(text: &str) -> String {
    let text = format!("{text}\n{GROUPS}");
    let error = Engine::new().load(text.as_bytes()).expect_err("it is wrong");
    let millstream::Error::Document(problems) = &error else { return error.to_string() };
    let errors = problems.iter().filter(|it| it.severity == millstream::Severity::Error);
    let lines = errors.map(|it| {
        let help = it.help.as_deref().unwrap_or("");
        format!("{} {}: {} ({help})\n", it.code, it.place.path, it.message)
    });
    lines.collect()
}

fn check(text: &str, expected: &expect_test::Expect) {
    expected.assert_eq(&errors(text));
}

#[test]
fn arguments_and_captures_are_those_of_the_group() {
    use expect_test::expect;
    check(
        "output a: f32 = call(closure scale(by: 2))",
        &expect![[r#"
        check::missing_input a.x: input `x` of `call` is missing (link it or write a number)
    "#]],
    );
    check(
        "output a: f32 = call(closure scale(by: 2), x: 1, y: 2)",
        &expect![[r#"
        check::unknown_input a: `call` has no input called `y` (inputs: `closure`, `x`)
    "#]],
    );
    check(
        "output a: f32 = call(closure scale(by: 2), x: \"no\")",
        &expect![[r#"
        literal::type_mismatch a.x: "no" is not an f32 (an f32 is written as a number)
    "#]],
    );
    check(
        "output a: f32 = call(closure scale(bye: 2), x: 1)",
        &expect![[r#"
        check::missing_input a.by: input `by` of `call` is missing (link it or write a number)
        check::unknown_input a_closure: `scale` has no input called `bye` (did you mean `by`?)
    "#]],
    );
    check(
        "output a: f32 = call(closure scala(), x: 1)",
        &expect![[r#"
        check::unknown_group a_closure: there is no group called `scala` (did you mean `scale`?)
    "#]],
    );
    check(
        "b = call(closure scale(by: 2), x: 1)\noutput a: f32 = node b.y",
        &expect![[r#"
        check::unknown_output : `b.y`: `call` has no output called `y` (outputs: `value`)
    "#]],
    );
    check(
        "output a: f32 = call(x: 1)",
        &expect![[r#"
        check::missing_input a.closure: input `closure` of `call` is missing (link it or write nothing: it can only be linked)
    "#]],
    );
    check(
        "output a: f32 = call(3, x: 1)",
        &expect![[r#"
        check::not_a_closure a.closure: `call` takes a closure, and the literal is not known to be one (a node of type `closure` makes one of a group)
    "#]],
    );
    check(
        "b = sin(1.0)\noutput a: f32 = call(b, x: 1)",
        &expect![[r#"
        check::not_a_closure a.closure: `call` takes a closure, and `b.value` is not known to be one (a node of type `closure` makes one of a group)
    "#]],
    );
    check(
        "input b: f32 = 1\noutput a: f32 = call(b, x: 1)",
        &expect![[r#"
        check::not_a_closure a.closure: `call` takes a closure, and input `b` is an f32 (a node of type `closure` makes one of a group)
    "#]],
    );
}

#[test]
fn interfaces_differ() {
    use expect_test::expect;
    check(
        "output a: f32 = apply(closure scale(), x: 1)",
        &expect![[r#"
        check::type_mismatch a.f: `scale(...)` gives a closure<by: f32, x: f32 -> f32>, but input `f` of the group takes a closure<x: f32 -> f32> (give `by` a value where the closure is made: then it is a capture)
    "#]],
    );
    check(
        "output a: f32 = apply(closure scale(x: 1), x: 1)",
        &expect![[r#"
            check::type_mismatch a.f: `scale(...)` gives a closure<by: f32 -> f32>, but input `f` of the group takes a closure<x: f32 -> f32> (its group needs the input `x: f32`, left free)
        "#]],
    );
    check(
        "output a: f32 = apply(closure scale(x: 1, by: 2), x: 1)",
        &expect![[r#"
        check::type_mismatch a.f: `scale(...)` gives a closure<-> f32>, but input `f` of the group takes a closure<x: f32 -> f32> (its group needs the input `x: f32`, left free)
    "#]],
    );
    check(
        "output a: f32 = apply(2, x: 1)",
        &expect![[r#"
        literal::opaque a.f: a closure<x: f32 -> f32> cannot be written in a document (link it from a node or an input)
    "#]],
    );
    let switch = "control.switch(true, false: closure scale(), true: closure scale(by: 1))";
    check(
        &format!("output a: f32 = call({switch}, x: 1)"),
        &expect![[r#"
        check::missing_input a.by: input `by` of `call` is missing (link it or write a number)
        types::no_common_type a_closure: the inputs `false` (closure<by: f32, x: f32 -> f32>), `true` (closure<x: f32 -> f32>) have no common type (they must all convert to one type)
    "#]],
    );
    let odd = "group odd(`a b`: f32) -> value: f32 = input `a b` {\n}";
    check(
        &format!("output a: f32 = call(closure odd(), x: 1)\n{odd}"),
        &expect![[r#"
        check::no_interface a_closure: a closure of the group `odd` has no type (the group needs an output; names of its sockets are letters, digits and `_`, and few enough for 1024 characters; no parameter is called `closure`)
    "#]],
    );
    let unknown = "group g(f: closure<x: f31 -> f32>) -> value: f32 {\n  value = call(f, x: 1)\n}";
    check(
        &format!("output a: f32 = g(closure scale(by: 1))\n{unknown}"),
        &expect![[r#"
        check::unknown_type g: input `f` has the unknown type `closure<x: f31 -> f32>` (a closure is written `closure<p: vec3, t: f32 -> color>`)
    "#]],
    );
}

#[test]
fn there_is_no_recursion() {
    use expect_test::expect;
    check(
        "f = closure scale(by: a)\na = call(f, x: 1)\noutput a: f32 = a",
        &expect![[r#"
        check::cycle f.by: the nodes form a cycle: `f` -> `a` -> `f` (remove one of these links)
    "#]],
    );
    let me = "group me(x: f32) -> value: f32 {\n  value = call(closure me(), x: x)\n}";
    check(
        &format!("output a: f32 = call(closure me(), x: 1)\n{me}"),
        &expect![[r#"
        check::recursive_group me/value_closure: the group contains itself: `me` contains `me` (remove one of these nodes)
    "#]],
    );
    check(
        "a = call(a)\noutput a: f32 = a",
        &expect![[r#"
        check::not_a_closure a.closure: `call` takes a closure, and `a.value` is what `a` itself gives (a node of type `closure` makes one of a group)
    "#]],
    );
}

#[test]
fn closures_go_where_they_can_be_called() {
    use expect_test::expect;
    check(
        "input f: closure<x: f32 -> f32>\noutput a: f32 = call(f, x: 1)",
        &expect![[r#"
        check::closure_outside : input `f` is a closure, which exists only inside a document (call it in the document, and give or take values)
    "#]],
    );
    check(
        "f = closure scale(by: 2)\noutput f: closure<x: f32 -> f32> = f",
        &expect![[r#"
        check::closure_outside : output `f` is a closure, which exists only inside a document (call it in the document, and give or take values)
    "#]],
    );
    check(
        "f = context.with_time(closure scale(by: 2), time: 3)\noutput a: f32 = call(f, x: 1)",
        &expect![[r#"
            check::closure_through f: a closure cannot go through `context.with_time` (closures go through groups, `control.pass`, `control.switch` and `control.choose`, and into zones; call it before, or put the node around the call)
        "#]],
    );
    check(
        "f = control.switch(true, false: closure scale(by: 2))\noutput a: f32 = call(f, x: 1)",
        &expect![[r#"
            check::no_closure f: no closure arrives here (link a closure to each arm of switches on the way; muted nodes give none)
        "#]],
    );
    check(
        "output a: f32 = call(muted closure scale(by: 2), x: 1)",
        &expect![[r#"
        check::no_closure a: no closure arrives here (link a closure to each arm of switches on the way; muted nodes give none)
    "#]],
    );
    let go = "group go(x: f32, f: closure<x: f32 -> f32>) -> (x: f32 = a, f: closure<x: f32 -> f32> \
              = input f) {\n  a = call(f, x: x)\n}";
    check(
        &format!(
            "r = repeat go(x: 1, f: closure scale(by: 2), count: 3)\noutput a: f32 = r.x\n{go}"
        ),
        &expect![[r#"
            check::closure_in_zone r: `f` is a closure, which a `repeat` cannot carry, collect or take item by item (give it by an input that is the same in each round)
        "#]],
    );
    let kept = "group kept(x: f32) -> value: f32 = s {\n  s = state.delay(x)\n}\n\
                group go(x: f32, f: closure<x: f32 -> f32>) -> x: f32 = a {\n  a = call(f, x: x)\n}";
    check(
        &format!("r = repeat go(x: 1, f: closure kept(), count: 3)\noutput a: f32 = r.x\n{kept}"),
        &expect![[r#"
            check::state_in_zone r: the group of a `repeat` cannot keep state, but `a/s` does (carry the value from round to round, or keep state outside the group)
        "#]],
    );
}

#[test]
fn errors_of_closures_are_told_next_to_others() {
    let text = "
        f = context.with_time(closure scale(by: 2), time: 3)
        g = control.switch(true, false: closure scale(by: 2))
        output a: f32 = call(f, x: 1)
        output b: f32 = sine(3)
        output c: f32 = call(closure apply(f: closure nothing()), x: b)
        output d: f32 = call(g, x: 1)";
    check(
        text,
        &expect_test::expect![[r#"
        check::closure_through f: a closure cannot go through `context.with_time` (closures go through groups, `control.pass`, `control.switch` and `control.choose`, and into zones; call it before, or put the node around the call)
        check::no_closure g: no closure arrives here (link a closure to each arm of switches on the way; muted nodes give none)
        settings::refused b: there is no function called `sine` (did you mean `sin`?)
        check::unknown_group c_closure_f: there is no group called `nothing` (groups: `scale`, `apply`)
    "#]],
    );
}

#[test]
fn closures_in_closures_are_bounded() {
    // Each closure captures the one before.
    let mut text = String::from("f0 = closure scale(by: 2)\n");
    for n in 1..200 {
        text += &format!("f{n} = closure apply(f: f{})\n", n - 1);
    }
    text += "output a: f32 = call(f199, x: 1)";
    expect_test::expect![[r#"
        check::closure_depth f64: calls of closures lead more than 64 groups deep (nest fewer closures, or raise `group_depth` in the limits)
    "#]].assert_eq(&errors(&text));
    // Each closure captures the one before twice: 2^n calls.
    let both = "group both(f: closure<x: f32 -> f32>, g: closure<x: f32 -> f32>, x: f32) -> value: f32 \
                {\n  value = call(f, x: call(g, x: x))\n}";
    let mut text = format!("{both}\n{GROUPS}\nf0 = closure scale(by: 2)\n");
    for n in 1..12 {
        text += &format!("f{n} = closure both(f: f{0}, g: f{0})\n", n - 1);
    }
    text += "output a: f32 = call(f11, x: 1)";
    let more = format!(
        "{text}\nf12 = closure both(f: f11, g: f11)\nf13 = closure both(f: f12, g: f12)\n\
         output b: f32 = call(f13, x: 1)"
    );
    let error = Engine::new().load(more.as_bytes()).expect_err("too much").to_string();
    assert!(error.contains("hold more than 4096 values"), "{error}");
    let few = Engine::new().with_limits(Limits { expanded_nodes: 5_000, ..Limits::default() });
    let error = few.load(text.as_bytes()).expect_err("too many nodes").to_string();
    assert!(error.contains("limit is 5000"), "{error}");
    let program = Engine::new().load(text.as_bytes()).expect("2048 calls are few");
    let answer = program.run(&millstream::Request::new()).expect("it runs");
    assert_eq!(answer.value::<f32>("a"), Some(f32::INFINITY));
}
