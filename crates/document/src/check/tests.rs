//! Every kind of problem that a check reports.

use expect_test::{Expect, expect};
use millstream_base::{Limits, Type};

use super::*;
use crate::checked::{CheckedKind, Passes, Source};
use crate::load;
use crate::test_registry::{opened, registry, rendered};

const HERON: &str = include_str!("../../tests/fixtures/heron.mill.json");

/// Checks the problems of a document with this content.
pub(super) fn check_problems(content: &str, expected: &Expect) {
    let text = format!("{{\"millstream\": 2, {content}}}");
    let (checked, problems) = opened(&text);
    assert_eq!(checked.is_some(), !problems.has_errors());
    expected.assert_eq(&rendered(&text, &problems));
}

fn good(content: &str) -> Checked {
    let text = format!("{{\"millstream\": 2, {content}}}");
    let (checked, problems) = opened(&text);
    assert!(!problems.has_errors(), "{problems}");
    checked.expect("no errors").1
}

/// One line per node, in order: name, kind, sources.
fn printed(checked: &Checked) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for (id, body) in checked.bodies.iter() {
        let source = |source: &Source| match *source {
            Source::Literal(i) => body.literals[i as usize].to_string(),
            Source::Input(i) => body.inputs[i as usize].name.to_string(),
            Source::Node { node, output } => format!("{}.{output}", body.nodes[node as usize].name),
            Source::Wrong => "wrong".to_owned(),
        };
        writeln!(text, "{id} {}", body.name).unwrap();
        for node in body.order.iter().map(|node| &body.nodes[*node as usize]) {
            let kind = match &node.kind {
                CheckedKind::Call(instance) => format!("{instance:?}"),
                CheckedKind::Group(body) => body.to_string(),
                CheckedKind::Zone(repeat) => format!("repeat {}", repeat.body),
                CheckedKind::Closure(closure) => format!("closure {}", closure.body),
                CheckedKind::Wrong => "wrong".to_owned(),
                CheckedKind::Muted(muted) => {
                    let passes = muted.outputs.iter().map(|output| match &output.passes {
                        Passes::Source(source) => format!("source {source}"),
                        Passes::Default(value) => format!("{value:?}"),
                    });
                    format!("muted {}", passes.collect::<Vec<_>>().join(", "))
                }
            };
            let sources: Vec<String> = body.sources_of(node).iter().map(source).collect();
            writeln!(text, "  {} = {kind}({})", node.name, sources.join(", ")).unwrap();
        }
        for output in &body.outputs {
            writeln!(text, "  output {} {} = {}", output.name, output.ty, source(&output.source))
                .unwrap();
        }
    }
    text
}

#[test]
fn a_document_is_resolved() {
    let (checked, problems) = opened(HERON);
    assert!(problems.is_empty(), "{problems}");
    let (_, checked) = checked.expect("no problems");
    expect![[r#"
        b0 product
          p = math.expression[](s, x, y, z)
          output value f32 = p.0
        b1 
          ab = vector.distance[](a, b)
          ac = vector.distance[](a, c)
          bc = vector.distance[](b, c)
          s = math.expression[](ab.0, ac.0, bc.0)
          area2 = b0(s.0, ab.0, ac.0, bc.0)
          root = math.sqrt[](area2.0)
          output area f32 = root.0
    "#]]
    .assert_eq(&printed(&checked));
    let root = checked.root();
    assert_eq!(root.nodes[0].span.len(), r#""ab": { "type": "vector.distance", "in": { "a": { "input": "a" }, "b": { "input": "b" } } }"#.len());
    let CheckedKind::Call(ab) = &root.nodes[0].kind else { panic!("a call") };
    let CheckedKind::Call(bc) = &root.nodes[2].kind else { panic!("a call") };
    assert!(Arc::ptr_eq(ab, bc));
    let area2 = Source::Node { node: 4, output: 0 };
    assert_eq!(checked.source_type(checked.root, area2), Some(Type::F32));
}

#[test]
fn generics_defaults_and_literals_become_concrete() {
    let checked = good(
        r#""inputs": { "i": { "type": "i32" }, "l": { "type": "list<string>" } },
        "nodes": {
            "late": { "type": "math.add", "in": { "a": { "from": "v.value" }, "b": { "input": "i" } } },
            "v": { "type": "math.add", "in": { "a": [4, 5, 6], "b": { "from": "lit.value" } } },
            "lit": { "type": "math.add", "in": { "a": [1, 2, 3] } },
            "none": { "type": "math.add" },
            "sum": { "type": "math.sum", "in": { "values": [{ "input": "i" }, { "value": 2 }, { "from": "d.number" }] } },
            "one": { "type": "math.sum", "in": { "values": 2 } },
            "empty": { "type": "math.sum", "in": { "values": [] } },
            "d": { "type": "data.two", "in": { "x": { "value": [1, 2, 3] } } },
            "len": { "type": "text.length", "in": { "text": { "from": "f.value" } } },
            "f": { "type": "list.first", "in": { "list": { "input": "l" } } }
        }"#,
    );
    expect![[r#"
        b0 
          lit = math.add[vec3]([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
          v = math.add[vec3]([4.0, 5.0, 6.0], lit.0)
          late = math.add[vec3](v.0, i)
          none = math.add[f32](0.0, 0.0)
          d = data.two[]([1.0, 2.0, 3.0])
          sum = math.sum[f64](i, 2.0, d.0)
          one = math.sum[f32](2.0)
          empty = math.sum[f32]()
          f = list.first[string](l)
          len = text.length[](f.0)
    "#]]
    .assert_eq(&printed(&checked));
}

#[test]
fn muted_nodes_pass_the_first_input_of_the_type() {
    let checked = good(
        r#""inputs": { "p": { "type": "vec3" } },
        "nodes": {
            "d": { "type": "data.two", "in": { "x": { "input": "p" } }, "muted": true },
            "r": { "type": "math.sqrt", "in": { "x": 2 }, "muted": true },
            "g": { "type": "group", "group": "g", "in": { "b": 3 }, "muted": true }
        },
        "groups": { "g": {
            "inputs": { "a": { "type": "i32", "default": 4 }, "b": { "type": "f32" } },
            "outputs": { "x": { "type": "f32", "input": "a" }, "y": { "type": "vec3", "input": "b" } }
        } }"#,
    );
    expect![[r#"
        b0 g
          output x f32 = a
          output y vec3 = b
        b1 
          d = muted f64(0.0), source 0(p)
          r = muted source 0(2.0)
          g = muted source 1, vec3([0.0, 0.0, 0.0])(4, 3.0)
    "#]]
    .assert_eq(&printed(&checked));
}

#[test]
fn unknown_names_are_reported_with_a_suggestion() {
    check_problems(
        r#""inputs": { "size": { "type": "float" }, "width": { "type": "f32" }, "t": { "type": "f3" } },
        "outputs": { "o": { "type": "f32", "from": "rot.value" }, "p": { "type": "f32", "input": "wdith" } },
        "nodes": {
            "root": { "type": "math.sqt", "in": { "x": { "input": "width" } } },
            "sqrt": { "type": "sqrt", "in": { "x": 1 } },
            "use": { "type": "product" },
            "far": { "type": "product", "in": { "x": { "from": "root.value" } } },
            "a": { "type": "math.add", "in": { "A": 1, "zzz": 2, "b": { "from": "roo.value" } } },
            "b": { "type": "math.add", "in": { "a": { "from": "a.vlaue" }, "b": { "from": "width.value" } } },
            "c": { "type": "math.add", "in": { "a": { "input": "a" }, "b": { "input": "size" } } },
            "g": { "type": "group", "group": "prduct", "in": {} },
            "h": { "type": "group", "group": "product", "in": { "x": 1 } },
            "k": { "type": "math.sqrt", "in": { "x": { "from": "h.valu" } } }
        },
        "groups": { "product": { "outputs": { "value": { "type": "f32", "from": "n.value" } }, "nodes": { "n": { "type": "math.sqrt" } } } }"#,
        &expect![[r#"
            error check::unknown_type at "size": { "type": "float" }
                input `size` has the unknown type `float` (types: `bool`, `color`, `f32`, `f64`, `i32`, `i64`, `mat4`, `quat`, `string`, `vec2`, `vec3`, `vec4`, and list<...> of them)
            error check::unknown_type at "t": { "type": "f3" }
                input `t` has the unknown type `f3` (did you mean `f32`?)
            error check::unknown_node at "o": { "type": "f32", "from": "rot.value" }
                `rot.value`: there is no node called `rot` (did you mean `root`?)
            error check::unknown_graph_input at "p": { "type": "f32", "input": "wdith" }
                the document has no input called `wdith` (did you mean `width`?)
            error check::unknown_node_type at "root": { "type": "math.sqt", "in": { "x": { "input": "width" } } }
                root: there is no node type called `math.sqt` (did you mean `math.sqrt`?)
            error check::unknown_node_type at "sqrt": { "type": "sqrt", "in": { "x": 1 } }
                sqrt: there is no node type called `sqrt` (did you mean `math.sqrt`?)
            error check::unknown_node_type at "use": { "type": "product" }
                use: there is no node type called `product` (write the use of a group as "type": "group", "group": "product")
            error check::unknown_node_type at "far": { "type": "product", "in": { "x": { "from": "root.value" } } }
                far: there is no node type called `product` (write the use of a group as "type": "group", "group": "product")
            error check::unknown_input at "A": 1
                a: `math.add` has no input called `A` (did you mean `a`?)
            error check::unknown_input at "zzz": 2
                a: `math.add` has no input called `zzz` (inputs: `a`, `b`)
            error check::unknown_node at "b": { "from": "roo.value" }
                a.b: `roo.value`: there is no node called `roo` (did you mean `root`?)
            error check::unknown_output at "a": { "from": "a.vlaue" }
                b.a: `a.vlaue`: `math.add` has no output called `vlaue` (did you mean `value`?)
            error check::unknown_node at "b": { "from": "width.value" }
                b.b: `width.value`: there is no node called `width` (write a link to an input as { "input": "width" })
            error check::unknown_graph_input at "a": { "input": "a" }
                c.a: the document has no input called `a` (write a link to a node as { "from": "a.value" })
            error check::unknown_group at "g": { "type": "group", "group": "prduct", "in": {} }
                g: there is no group called `prduct` (did you mean `product`?)
            error check::unknown_input at "x": 1
                h: `product` has no input called `x` (it has no inputs)
            error check::unknown_output at "x": { "from": "h.valu" }
                k.x: `h.valu`: `product` has no output called `valu` (did you mean `value`?)
            error check::missing_input at "n": { "type": "math.sqrt" }
                product/n.x: input `x` of `math.sqrt` is missing (link it or write a number)
        "#]],
    );
}

#[test]
fn type_mismatches_are_reported_without_follow_up_errors() {
    check_problems(
        r#""inputs": { "s": { "type": "string" } },
        "outputs": { "o": { "type": "vec3", "from": "len.value" }, "p": { "type": "f32", "from": "d.point" } },
        "nodes": {
            "len": { "type": "text.length", "in": { "text": { "input": "s" } } },
            "root": { "type": "math.sqrt", "in": { "x": { "input": "s" } } },
            "sum": { "type": "math.add", "in": { "a": { "input": "s" }, "b": { "from": "root.value" } } },
            "after": { "type": "text.length", "in": { "text": { "from": "sum.value" } } },
            "lit": { "type": "math.sqrt", "in": { "x": "four" } },
            "int": { "type": "math.add", "in": { "a": 1.5, "b": { "from": "len.value" } } },
            "several": { "type": "math.sqrt", "in": { "x": [{ "from": "root.value" }, { "value": 1 }] } },
            "many": { "type": "text.join", "in": { "texts": [{ "input": "s" }, { "value": 1 }, { "from": "len.value" }] } },
            "d": { "type": "data.two", "in": { "x": [1, 2] } },
            "g": { "type": "group", "group": "g", "in": { "x": { "input": "s" }, "y": "no" } },
            "e": { "type": "math.expression" },
            "f": { "type": "math.expression", "set": { "text": 3, "txet": "a" } },
            "r": { "type": "math.round" },
            "r2": { "type": "math.round", "version": 2, "set": { "mode": "odd" }, "in": { "x": 1 } },
            "r3": { "type": "math.round", "version": 3, "in": { "x": 1 } }
        },
        "groups": { "g": { "inputs": { "x": { "type": "f32" }, "y": { "type": "f32" } }, "outputs": { "v": { "type": "f32", "input": "x" }, "w": { "type": "f32", "input": "y" } } } }"#,
        &expect![[r#"
            error check::type_mismatch at "p": { "type": "f32", "from": "d.point" }
                `d.point` gives a vec3, but output `p` takes an f32 (types that convert to it: `bool`, `i32`, `f32`, `f64`)
            error check::type_mismatch at "x": { "input": "s" }
                root.x: input `s` gives a string, but input `x` of `math.sqrt` takes an f32 (types that convert to it: `bool`, `i32`, `f32`, `f64`)
            error check::type_mismatch at "a": { "input": "s" }
                sum.a: input `s` gives a string, but input `a` of `math.add` takes one of bool, i32, i64, f32, f64, vec2, vec3, vec4 (types that convert to it: `bool`, `i32`, `i64`, `f32`, `f64`, `vec2`, `vec3`, `vec4`, `color`)
            error literal::type_mismatch at "x": "four"
                lit.x: "four" is not an f32 (an f32 is written as a number)
            error literal::type_mismatch at "a": 1.5
                int.a: 1.5 is not an i32 (an i32 is written as an integer)
            error check::several_sources at "x": [{ "from": "root.value" }, { "value": 1 }]
                several.x: input `x` takes one source, not 2 (keep one of them, or combine them with a node that takes several)
            error check::type_mismatch at { "from": "len.value" }
                many.texts: `len.value` gives an i32, but input `texts` of `text.join` takes a string (link something of type a string)
            error literal::type_mismatch at "x": [1, 2]
                d.x: [1,2] is not a vec3 (a vec3 is written as a list of 3 numbers)
            error check::type_mismatch at "x": { "input": "s" }
                g.x: input `s` gives a string, but input `x` of the group takes an f32 (types that convert to it: `bool`, `i32`, `f32`, `f64`)
            error literal::type_mismatch at "y": "no"
                g.y: "no" is not an f32 (an f32 is written as a number)
            error settings::missing at "e": { "type": "math.expression" }
                e: setting `text` is missing (it takes text)
            error settings::wrong_value at "text": 3
                f: setting `text` is 3 (it takes text)
            error settings::unknown at "txet": "a"
                f: there is no setting called `txet` (did you mean `text`?)
            error check::node_version at "r": { "type": "math.round" }
                r: the node needs version 1 of `math.round`, but this build has version 2 (there is no upgrade; create the node again)
            error settings::wrong_value at "mode": "odd"
                r2: setting `mode` is "odd" (it takes one of `even`, `up`)
            error check::node_version at "r3": { "type": "math.round", "version": 3, "in": { "x": 1 } }
                r3: the node needs version 3 of `math.round`, but this build has version 2 (open it with a newer release of the node library)
        "#]],
    );
}

#[test]
fn cycles_are_reported_with_all_their_nodes() {
    check_problems(
        r#""outputs": { "o": { "type": "string", "from": "after.value" } },
        "nodes": {
            "self": { "type": "math.sqrt", "in": { "x": { "from": "self.value" } } },
            "c": { "type": "math.sum", "in": { "values": [{ "value": 1 }, { "from": "b.value" }] } },
            "a": { "type": "math.sqrt", "in": { "x": { "from": "c.value" } } },
            "b": { "type": "math.add", "in": { "a": { "from": "a.value" } } },
            "after": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": "x" } }
        }"#,
        &expect![[r#"
            error check::type_mismatch at "o": { "type": "string", "from": "after.value" }
                `after.value` gives an f32, but output `o` takes a string (link something of type a string)
            error check::cycle at "x": { "from": "self.value" }
                self.x: the nodes form a cycle: `self` -> `self` (remove one of these links)
            error check::cycle at { "from": "b.value" }
                c.values: the nodes form a cycle: `c` -> `a` -> `b` -> `c` (remove one of these links)
            error literal::type_mismatch at "b": "x"
                after.b: "x" is not an f32 (an f32 is written as a number)
        "#]],
    );
}

#[test]
fn recursive_groups_are_reported() {
    check_problems(
        r#""nodes": { "n": { "type": "group", "group": "a" } },
        "groups": {
            "a": { "nodes": { "inner": { "type": "group", "group": "b" } } },
            "b": { "nodes": { "inner": { "type": "group", "group": "c" }, "x": { "type": "group", "group": "d" } } },
            "c": { "nodes": { "back": { "type": "group", "group": "a" } } },
            "d": { "nodes": { "me": { "type": "group", "group": "d" } } }
        }"#,
        &expect![[r#"
            error check::recursive_group at "inner": { "type": "group", "group": "b" }
                a/inner: the group contains itself: `a` contains `b` contains `c` contains `a` (remove one of these nodes)
            error check::recursive_group at "me": { "type": "group", "group": "d" }
                d/me: the group contains itself: `d` contains `d` (remove one of these nodes)
        "#]],
    );
}

#[test]
fn a_step_must_be_positive() {
    check_problems(
        r#""inputs": {
            "x": { "type": "f32", "default": 0, "min": 0, "max": 1, "step": 0 },
            "y": { "type": "f32", "default": 0, "step": -0.5 },
            "z": { "type": "f32", "default": 0, "step": 0.5 }
        },
        "outputs": {
            "x": { "type": "f32", "input": "x" },
            "y": { "type": "f32", "input": "y" },
            "z": { "type": "f32", "input": "z" }
        }"#,
        &expect![[r#"
            error check::wrong_step at "x": { "type": "f32", "default": 0, "min": 0, "max": 1, "step": 0 }
                the step 0 of input `x` is not above 0 (choose a positive step, or leave it out)
            error check::wrong_step at "y": { "type": "f32", "default": 0, "step": -0.5 }
                the step -0.5 of input `y` is not above 0 (choose a positive step, or leave it out)
        "#]],
    );
}

#[test]
fn probable_mistakes_are_warnings() {
    check_problems(
        r#""inputs": {
            "used": { "type": "f32", "default": 2, "min": 0, "max": 1 },
            "low": { "type": "vec3", "default": [1, -1, 1], "min": 0 },
            "edge": { "type": "f32", "default": 0.1, "min": 0.1, "max": 0.1 },
            "text": { "type": "string", "min": 0 },
            "empty": { "type": "f32", "min": 1, "max": 0 }
        },
        "nodes": { "n": { "type": "math.sqrt", "in": { "x": { "input": "used" } } } },
        "groups": { "g": { "inputs": { "x": { "type": "f32" } } } }"#,
        &expect![[r#"
            warning check::default_out_of_range at 2
                the default 2.0 of input `used` is above its maximum 1 (change the default or the range)
            warning check::unused_input at "low": { "type": "vec3", "default": [1, -1, 1], "min": 0 }
                input `low` is not used (link it or remove it)
            warning check::default_out_of_range at [1, -1, 1]
                the default [1.0, -1.0, 1.0] of input `low` is below its minimum 0 (change the default or the range)
            warning check::unused_input at "edge": { "type": "f32", "default": 0.1, "min": 0.1, "max": 0.1 }
                input `edge` is not used (link it or remove it)
            warning check::useless_range at "text": { "type": "string", "min": 0 }
                the range of input `text` has no meaning because its type is not numeric (change or remove `min` and `max`)
            warning check::unused_input at "text": { "type": "string", "min": 0 }
                input `text` is not used (link it or remove it)
            warning check::useless_range at "empty": { "type": "f32", "min": 1, "max": 0 }
                the range of input `empty` is empty: `min` is above `max` (change or remove `min` and `max`)
            warning check::unused_input at "empty": { "type": "f32", "min": 1, "max": 0 }
                input `empty` is not used (link it or remove it)
            warning check::unused_group at "g": { "inputs": { "x": { "type": "f32" } } }
                g: group `g` is not used (use it or remove it)
            warning check::unused_input at "x": { "type": "f32" }
                g: input `x` is not used (link it or remove it)
        "#]],
    );
}

#[test]
fn problems_of_loading_and_checking_are_reported_together_and_once() {
    check_problems(
        r#""inputs": { "x": { "tpye": "f32" } },
        "outputs": { "o": { "type": "f32", "from": "b.value" } },
        "nodes": {
            "a": { "type": "math.add", "im": { "a": { "input": "y" } } },
            "b": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "input": "x" } } },
            "c": { "type": "math.sqrt", "in": { "x": { "input": "y" } } }
        }"#,
        &expect![[r#"
            error load::unknown_key at "tpye"
                input `x` has no entry called `tpye` (did you mean `type`?)
            error load::unknown_key at "im"
                a: the node has no entry called `im` (did you mean `in`?)
            error check::unknown_graph_input at "x": { "input": "y" }
                c.x: the document has no input called `y` (inputs: `x`)
        "#]],
    );
}

#[test]
fn an_unknown_entry_hides_no_other_problem() {
    check_problems(
        r#""remark": 1,
        "inputs": { "x": { "type": "f32", "colour": 1, "default": "blue" } },
        "outputs": { "out": { "type": "vec9", "from": "a.value", "defalut": 1 } },
        "nodes": {
            "a": { "type": "math.sqr", "group": "g", "in": { "x": { "input": "x", "comment": 1 } } }
        }"#,
        &expect![[r#"
            error load::unknown_key at "remark"
                the document has no entry called `remark` (entries: `$schema`, `millstream`, `name`, `fps`, `start_frame`, `inputs`, `outputs`, `nodes`, `groups`, `use`, `lock`, `view`)
            error load::unknown_key at "colour"
                input `x` has no entry called `colour` (entries: `type`, `default`, `min`, `max`, `step`, `unit`, `about`)
            error check::wrong_value at "blue"
                the default of input `x`: "blue" is not an f32 (an f32 is written as a number)
            error check::unknown_type at "out": { "type": "vec9", "from": "a.value", "defalut": 1 }
                output `out` has the unknown type `vec9` (did you mean `vec2`?)
            error load::unknown_key at "defalut"
                output `out` has no entry called `defalut` (entries: `type`, `from`, `input`, `unit`, `about`)
            error check::unknown_node_type at "a": { "type": "math.sqr", "group": "g", "in": { "x": { "input": "x", "comment": 1 } } }
                a: there is no node type called `math.sqr` (did you mean `math.sqrt`?)
            error load::unknown_key at "g"
                a: the node has no entry called `group` (only nodes of type `group` or `closure` and zones have it)
            error load::unknown_key at "comment"
                a.x: the source has no entry called `comment` (entries: `from`, `input`, `value`)
        "#]],
    );
}

#[test]
fn an_unknown_entry_does_not_pass_when_loaded_separately() {
    let limits = Limits::default();
    let (document, problems) = load(br#"{"millstream": 2, "remark": 1}"#, &limits);
    assert!(document.is_none() && problems.has_errors());
    let text = br#"{"millstream": 2, "nodes": {"n": {"type": "math.add", "remark": 1}}}"#;
    let (document, _) = load(text, &limits);
    let document = document.expect("the rest was read");
    let (checked, problems) = check(&document, &registry(), &limits);
    assert!(checked.is_none() && problems.has_errors());
}

#[test]
fn a_part_that_could_not_be_read_does_not_pass() {
    let text = br#"{"millstream": 2, "nodes": {"n": {"type": "math.add", "muted": 1}}}"#;
    let (document, _) = load(text, &Limits::default());
    let document = document.expect("the rest was read");
    let (checked, problems) = check(&document, &registry(), &Limits::default());
    assert!(checked.is_none());
    let expected = "n: the node could not be read (fix the problems that loading reported)";
    assert_eq!(problems.to_string(), expected);
}

#[test]
fn limits_are_enforced_before_expansion() {
    let chain = |depth: usize, uses: usize| {
        let group = |i: usize| {
            let nodes: Vec<String> = (0..uses)
                .map(|k| match i {
                    0 => format!("\"n{k}\": {{\"type\": \"math.add\"}}"),
                    _ => format!("\"n{k}\": {{\"type\": \"group\", \"group\": \"g{}\"}}", i - 1),
                })
                .collect();
            format!("\"g{i}\": {{\"nodes\": {{{}}}}}", nodes.join(","))
        };
        let groups: Vec<String> = (0..depth).map(group).collect();
        format!(
            "\"nodes\": {{\"top\": {{\"type\": \"group\", \"group\": \"g{}\"}}}}, \"groups\": {{{}}}",
            depth - 1,
            groups.join(",")
        )
    };
    check_problems(
        &chain(40, 2),
        &expect![[r#"
            error check::expanded_nodes at "n0": {"type": "group", "group": "g22"}
                g23/n0: the document has 1099511627776 nodes when all groups are expanded, but the limit is 16000000 (use the group less often, or raise `expanded_nodes` in the limits if this is intended)
        "#]],
    );
    check_problems(
        &chain(100, 2),
        &expect![[r#"
            error check::expanded_nodes at "n0": {"type": "group", "group": "g22"}
                g23/n0: the document has more than 18446744073709551614 nodes when all groups are expanded, but the limit is 16000000 (use the group less often, or raise `expanded_nodes` in the limits if this is intended)
            error check::group_depth at "n0": {"type": "group", "group": "g35"}
                g36/n0: groups are nested 100 deep, but the limit is 64: `g99` contains `g98` contains `g97` contains `g96` contains `g95` contains `g94` contains `g93` contains `g92` contains `g91` contains `g90` contains `g89` contains `g88` contains `g87` contains `g86` contains `g85` contains `g84` contains 84 more (nest the groups less deeply, or raise `group_depth` in the limits if this is intended)
        "#]],
    );
    check_problems(
        &chain(65, 1),
        &expect![[r#"
            error check::group_depth at "n0": {"type": "group", "group": "g0"}
                g1/n0: groups are nested 65 deep, but the limit is 64: `g64` contains `g63` contains `g62` contains `g61` contains `g60` contains `g59` contains `g58` contains `g57` contains `g56` contains `g55` contains `g54` contains `g53` contains `g52` contains `g51` contains `g50` contains `g49` contains 49 more (nest the groups less deeply, or raise `group_depth` in the limits if this is intended)
        "#]],
    );
    assert_eq!(good(&chain(64, 1)).bodies.len(), 65);
}

#[test]
fn the_number_of_sources_of_a_node_is_limited() {
    let sources = "{\"value\": 1},".repeat(65_536);
    let content = format!(
        "\"nodes\": {{\"n\": {{\"type\": \"math.sum\", \"in\": {{\"values\": [{}]}}}}, \
         \"m\": {{\"type\": \"math.sqrt\", \"in\": {{\"x\": {{\"from\": \"n.value\"}}}}}}}}",
        sources.trim_end_matches(',')
    );
    let text = format!("{{\"millstream\": 2, {content}}}");
    let (_, problems) = opened(&text);
    let expected =
        "n: the node has 65536 sources, but the limit is 65535 (split the node into several)";
    assert_eq!(problems.to_string(), expected);
}

#[test]
fn names_built_in_code_are_checked() {
    use crate::model::{Node, NodeKind};
    let mut document = Document::new("");
    document.fps = f64::NAN;
    document.nodes.insert("a/b".into(), Node::new(NodeKind::Type("math.add".into())));
    let (_, problems) = check(&document, &registry(), &Limits::default());
    let texts: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(texts, ["`fps` is NaN", "`a/b` cannot be the name of a node: it contains a `/`"]);
}

#[test]
fn a_chain_of_a_hundred_thousand_nodes_is_checked_in_reverse_order_too() {
    let n = 100_000;
    for backwards in [false, true] {
        let node = |i: usize| match i {
            0 => format!("\"n{i}\": {{\"type\": \"math.add\"}}"),
            _ => format!(
                "\"n{i}\": {{\"type\": \"math.add\", \"in\": {{\"a\": {{\"from\": \"n{}.value\"}}, \"b\": 1}}}}",
                i - 1
            ),
        };
        let mut nodes: Vec<String> = (0..n).map(node).collect();
        if backwards {
            nodes.reverse();
        }
        let checked = good(&format!("\"nodes\": {{{}}}", nodes.join(",")));
        let root = checked.root();
        assert_eq!((root.nodes.len(), root.literals.len()), (n, 2));
    }
}

#[test]
fn a_large_document_full_of_mistakes_is_refused_quickly() {
    let nodes: Vec<String> = (0..20_000)
        .map(|i| {
            format!(
                "\"node{i}\": {{\"type\": \"math.ad\", \"in\": {{\"a\": {{\"from\": \"nide{i}.value\"}}}}}},\
                 \"good{i}\": {{\"type\": \"math.add\", \"in\": {{\"a\": {{\"from\": \"nide{i}.value\"}}}}}}"
            )
        })
        .collect();
    let text = format!("{{\"millstream\": 2, \"nodes\": {{{}}}}}", nodes.join(","));
    let (_, problems) = opened(&text);
    assert_eq!(problems.len(), 1001);
}

#[test]
fn a_wrong_default_does_not_hide_a_wrong_range() {
    check_problems(
        r#""inputs": { "x": { "type": "f32", "default": "a", "min": 5, "max": 1 } },
        "nodes": { "n": { "type": "math.sqrt", "in": { "x": { "input": "x" } } } }"#,
        &expect![[r#"
            warning check::useless_range at "x": { "type": "f32", "default": "a", "min": 5, "max": 1 }
                the range of input `x` is empty: `min` is above `max` (change or remove `min` and `max`)
            error check::wrong_value at "a"
                the default of input `x`: "a" is not an f32 (an f32 is written as a number)
        "#]],
    );
}
