//! Explanations of small documents.

use expect_test::{Expect, expect};

use super::*;

fn explained(json: &str, columns: Option<&[&str]>) -> Explanation {
    let engine = Engine::new();
    let program = engine.load(json.as_bytes()).expect("the document is right");
    let columns: Option<Vec<String>> =
        columns.map(|names| names.iter().map(ToString::to_string).collect());
    explain(&engine, program.document(), columns.as_deref()).expect("it can be explained")
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn check(json: &str, columns: Option<&[&str]>, expected: Expect) {
    expected.assert_eq(&text(&explained(json, columns)));
}

/// A constant, a duplicate, an identity, a dead arm and a conversion.
const ALL_FATES: &str = r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "i32", "default": 1 }, "unused": { "type": "f32", "default": 0 } },
  "outputs": { "y": { "type": "f32", "from": "chosen.value" } },
  "nodes": {
    "three": { "type": "math.add", "in": { "a": 1.0, "b": 2.0 } },
    "p": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": { "from": "three.value" } } },
    "q": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": { "from": "three.value" } } },
    "sum": { "type": "math.add", "in": { "a": { "from": "p.value" }, "b": { "from": "q.value" } } },
    "passed": { "type": "control.pass", "in": { "value": { "from": "sum.value" } } },
    "dead": { "type": "math.sqrt", "in": { "x": { "from": "passed.value" } } },
    "chosen": {
      "type": "control.switch",
      "in": { "condition": false, "false": { "from": "passed.value" }, "true": { "from": "dead.value" } }
    }
  }
}"#;

const SHIFTED: &str = r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "f64", "default": 1 } },
  "outputs": { "y": { "type": "f64", "from": "late.value" }, "z": { "type": "f64", "from": "same.value" } },
  "nodes": {
    "time": { "type": "context.time" },
    "twice": { "type": "math.multiply", "in": { "a": { "from": "time.value" }, "b": { "input": "x" } } },
    "late": { "type": "time.shift", "in": { "value": { "from": "twice.value" }, "by": -1.0 } },
    "half": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } },
    "same": { "type": "time.shift", "in": { "value": { "from": "half.value" }, "by": -1.0 } }
  }
}"#;

#[test]
fn every_fate_of_a_node_is_told() {
    check(
        ALL_FATES,
        Some(&["x"]),
        expect![[r#"
            explained for requests that give columns for: `x`

            input x: i32, along index
            input unused: f32 (not read)
            three = math.add(a: 1.0, b: 2.0)
                static
                is the constant 3.0
            input x as f32 = convert{to: "f32"}(x: input x)
                user-input, along index
                runs once per element; again when `x` changes; in region r0
            p = math.multiply(a: input x as f32, b: three)
                user-input, along index
                runs once per element; again when `x` changes; in region r0
            q = math.multiply(a: input x as f32, b: three)
                user-input, along index
                is merged into p, which does the same
            sum = math.add(a: p, b: q)
                user-input, along index
                runs once per element; again when `x` changes; in region r0
            passed = control.pass(value: sum)
                user-input, along index
                is replaced by sum
            dead = math.sqrt(x: passed)
                user-input, along index
                is dropped: nothing reads it any more
            chosen = control.switch(condition: false, false: passed, true: dead)
                user-input, along index
                is replaced by sum

            output y: f32 = chosen
            region r0 runs as one: input x as f32, p, sum; stored: sum
            8 nodes: 3 in the plan, 1 constant, 1 merged, 2 simplified away, 1 dropped
        "#]],
    );
}

#[test]
fn a_moment_that_an_output_reads_is_told_as_what_computes_it() {
    check(
        r#"{ "millstream": 2, "outputs": { "y": { "type": "f64", "from": "late.value" } },
            "nodes": { "time": { "type": "context.time" },
                "late": { "type": "time.shift",
                    "in": { "value": { "from": "time.value" }, "by": 1 } } } }"#,
        Some(&[]),
        expect![[r#"
            explained for requests that give columns for: no input

            time = context.time()
                contextual, along time, needs time
                runs once per moment; again when time changes
            late = time.shift(value: time [changes time], by: 1.0)
                contextual, along time, needs time
                runs once per moment; again when time changes
                is done by a math.add

            output y: f64 = late
            2 nodes: 2 in the plan
        "#]],
    );
}

#[test]
fn a_shift_without_effect_is_replaced_and_one_with_effect_stays() {
    check(
        SHIFTED,
        Some(&[]),
        expect![[r#"
            explained for requests that give columns for: no input

            input x: f64
            time = context.time()
                contextual, along time, needs time
                runs once per moment; again when time changes
            twice = math.multiply(a: time, b: input x)
                contextual, along time, needs time
                runs once per moment; again when `x` or time changes
                is read in other contexts only: 1 node of the plan
            late = time.shift(value: twice [changes time], by: -1.0)
                contextual, along time, needs time
                is replaced by a copy of twice with the provided value
            half = math.multiply(a: input x, b: 0.5)
                user-input
                runs once; again when `x` changes
            same = time.shift(value: half [changes time, without effect], by: -1.0)
                user-input
                is replaced by half

            output y: f64 = late
            output z: f64 = same
            5 nodes: 2 in the plan, 1 in the plan for other contexts, 2 simplified away
        "#]],
    );
}

#[test]
fn columns_make_axes() {
    let single = explained(SHIFTED, Some(&[]));
    let many = explained(SHIFTED, None);
    let axes = |of: &Explanation, path: &str| {
        of.nodes.iter().find(|node| node.path == path).map(|node| node.axes.clone())
    };
    assert_eq!(axes(&single, "half"), Some(vec![]));
    assert_eq!(axes(&many, "half"), Some(vec!["index"]));
    assert_eq!(axes(&many, "late"), Some(vec!["time", "index"]));
}

#[test]
fn a_column_that_is_no_input_is_refused() {
    let engine = Engine::new();
    let program = engine.load(SHIFTED.as_bytes()).expect("the document is right");
    let error =
        explain(&engine, program.document(), Some(&["X".to_owned()])).expect_err("no input");
    assert_eq!(error.to_string(), "there is no input called `X` (did you mean `x`?)");
}

#[test]
fn the_graph_after_a_pass_is_printed_with_paths() {
    let engine = Engine::new();
    let program = engine.load(ALL_FATES.as_bytes()).expect("the document is right");
    let graph = graph_after(&engine, program.document(), Phase::MergeDuplicates);
    expect![[r#"
        n0 = input x: i32 = 1
        n1 = input unused: f32 = 0.0
        n2 = const 1.0
        n3 = const 2.0
        n4 = const false
        n5 = const 3.0  # three
        n6 = math.multiply n12 n5  # p
        n8 = math.add n6 n6  # sum
        n9 = control.pass n8  # passed
        n10 = math.sqrt n9  # dead
        n11 = control.switch n4 n9 n10  # chosen
        n12 = convert{"to": "f32"} n0  # p
        output y n11
    "#]]
    .assert_eq(&graph.expect("it compiles"));
}

#[test]
fn json_has_an_entry_for_each_node() {
    let mut text = Vec::new();
    write_json(&explained(ALL_FATES, None), &mut text).expect("memory takes all");
    let json: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!(json["outputs"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["nodes"].as_array().map(Vec::len), Some(10));
    assert_eq!(json["nodes"][2]["fate"]["is"], "constant");
    assert_eq!(json["nodes"][2]["fate"]["values"][0], 3.0);
}

#[test]
fn pictures_hold_every_node_and_escape_what_is_special() {
    let special = ALL_FATES.replace("three", "a<b&\\\"c\\\"");
    let explanation = explained(&special, None);
    let picture = svg(&explanation, Coloring::Class).expect("small");
    assert!(picture.contains("a&lt;b&amp;&quot;c&quot;"));
    assert_eq!(picture.matches("<g class=\"card").count(), explanation.nodes.len() + 1);
    let graph = dot(&explanation, Coloring::Class);
    assert!(graph.contains("a<b&\\\"c\\\""));
    assert_eq!(graph.matches("fillcolor").count(), explanation.nodes.len() + 1);
}

#[test]
fn a_picture_of_too_many_nodes_is_refused() {
    let mut explanation = explained(SHIFTED, None);
    let node = explanation.nodes[0].clone();
    explanation.nodes.resize(4000, node);
    assert_eq!(svg(&explanation, Coloring::Class), Err(TooLarge { n: 4000 }));
}

/// The explanation of a run, without its times.
fn ran(json: &str, evaluator: &mut dyn Evaluator, request: &Request) -> Explanation {
    let engine = Engine::new();
    let program = engine.load(json.as_bytes()).expect("the document is right");
    let explained = explain_run(&engine, &program, evaluator, request);
    let (mut explanation, answer) = explained.expect("it runs");
    for (node, run) in program.runs(&answer).filter_map(|run| {
        let nodes = explanation.nodes.iter();
        let same = nodes.filter(|node| !node.steps.is_empty() && !node.is_input);
        let mut same = same.filter(|node| node.path == run.path.as_str());
        Some((same.next()?.clone(), run))
    }) {
        assert_eq!(node.run, Some(run.entry), "{}", node.path);
    }
    for entry in explanation.nodes.iter_mut().filter_map(|node| node.run.as_mut()) {
        entry.time = std::time::Duration::ZERO;
    }
    explanation
}

const CHOSEN: &str = r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "f32", "default": 4 }, "c": { "type": "bool", "default": true } },
  "outputs": { "y": { "type": "f32", "from": "chosen.value" }, "z": { "type": "list<f32>", "from": "root.value" } },
  "nodes": {
    "root": { "type": "math.sqrt", "in": { "x": { "input": "x" } } },
    "sine": { "type": "math.sin", "in": { "x": { "input": "x" } } },
    "chosen": {
      "type": "control.switch",
      "in": { "condition": { "input": "c" }, "false": { "from": "sine.value" }, "true": { "from": "root.value" } }
    }
  }
}"#;

#[test]
fn a_run_tells_what_became_of_each_node() {
    let request = Request::new().column("x", vec![1.0_f32, 4.0, 9.0]);
    let explanation = ran(CHOSEN, &mut millstream_run::Lazy, &request);
    expect![[r#"
        explained for requests that give columns for: `x`

        input x: f32, along index
        input c: bool
        root = math.sqrt(x: input x)
            user-input, along index
            runs once per element; again when `x` changes; in region r0
            ran 1 time on 3 elements, 12 bytes, 0.0 us: first time
        sine = math.sin(x: input x)
            user-input, along index
            runs once per element; again when `x` changes; in region r0
            did not run: not needed
        chosen = control.switch(condition: input c, false: sine, true: root)
            user-input, along index
            runs once per element; again when `x` or `c` changes; in region r0, selecting where elements differ
            ran 1 time on 3 elements, 12 bytes, 0.0 us: first time
        root as list<f32> = convert{to: "list<f32>"}(x: root)
            user-input, along index
            runs once per element; again when `x` changes
            ran 1 time on 3 elements, 48 bytes, 0.0 us: first time

        output y: f32 = chosen
        output z: list<f32> = root as list<f32>
        region r0 runs as one: root, sine, chosen; stored: root, chosen
        4 nodes: 4 in the plan; 3 ran, 3 runs, 0.0 us in nodes
    "#]]
    .assert_eq(&text(&explanation));
    let mut json = Vec::new();
    write_json(&explanation, &mut json).expect("it is written");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    let nodes = json["nodes"].as_array().expect("a list");
    let of = |path: &str| nodes.iter().find(|node| node["path"] == path).expect("it is there");
    assert_eq!(of("root")["run"]["elements"], 3);
    assert_eq!(of("sine")["run"]["why"], "not needed");
    assert_eq!(of("sine")["run"]["ran"], false);
    assert_eq!(of("x").get("run"), None);
    let dot = dot(&explanation, Coloring::Class);
    assert!(dot.contains("sine\\nmath.sin\\ndid not run"), "{dot}");
    assert!(dot.contains("root\\nmath.sqrt\\n1 run, 0.0 us"), "{dot}");
    let svg = svg(&explanation, Coloring::Class).expect("it is small");
    assert!(svg.contains("did not run: not needed") && svg.contains("first time"), "{svg}");
}

#[test]
fn conversions_are_named_after_what_they_convert() {
    // `c` is a conversion of the document; `t` shares one with `s`.
    let text = r#"{ "millstream": 2,
      "inputs": { "l": { "type": "i64", "default": 1 }, "x": { "type": "f32", "default": 2 } },
      "outputs": { "y": { "type": "f64", "from": "t.value" }, "z": { "type": "f64", "from": "c.value" },
        "w": { "type": "f64", "from": "r.value" } },
      "nodes": {
        "s": { "type": "math.add", "in": { "a": { "input": "l" }, "b": { "input": "x" } } },
        "t": { "type": "math.multiply", "in": { "a": { "from": "s.value" }, "b": { "input": "x" } } },
        "r": { "type": "math.sqrt", "in": { "x": { "input": "x" } } },
        "c": { "type": "convert", "set": { "to": "f64" }, "in": { "x": { "from": "r.value" } } } } }"#;
    let explanation = explained(text, None);
    let heads = super::text(&explanation);
    let heads: Vec<&str> = heads.lines().filter(|line| line.contains(" = ")).collect();
    expect![[r#"
        input l as f64 = convert{to: "f64"}(x: input l)
        input x as f64 = convert{to: "f64"}(x: input x)
        s = math.add(a: input l as f64, b: input x as f64)
        t = math.multiply(a: s, b: input x as f64)
        r = math.sqrt(x: input x)
        c = convert{to: "f64"}(x: r)
        r as f64 = convert{to: "f64"}(x: r)
        output y: f64 = t
        output z: f64 = c
        output w: f64 = r as f64"#]]
    .assert_eq(&heads.join("\n"));
    let program = Engine::new().load(text.as_bytes()).expect("the document is right");
    let answer = program.run(&Request::new().with_log(LogDetail::Counts)).expect("it runs");
    let labels: Vec<String> = program.runs(&answer).map(|run| run.label().to_owned()).collect();
    for label in ["input l as f64", "input x as f64", "s", "t"] {
        assert_eq!(labels.iter().filter(|known| **known == label).count(), 1, "{labels:?}");
    }
}

#[test]
fn what_is_kept_is_told_of_a_second_run() {
    let mut evaluator = millstream_run::Incremental::new();
    let engine = Engine::new();
    let program = engine.load(CHOSEN.as_bytes()).expect("the document is right");
    let request = Request::new().column("x", vec![1.0_f32, 4.0]).with_log(LogDetail::Counts);
    for expected in ["first time", "cached"] {
        let answer = program.run_with(&mut evaluator, &request).expect("it runs");
        let root = program.runs(&answer).find(|run| run.path.as_str() == "root");
        assert_eq!(root.expect("it is there").entry.fate.why(), expected);
    }
}

const LOOPS: &str = r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "f32", "default": 1 } },
  "outputs": {
    "y": { "type": "f32", "from": "sum.value" },
    "z": { "type": "i32", "from": "length.value" }
  },
  "nodes": {
    "round": { "type": "context.index" },
    "is_low": { "type": "compare.less", "in": { "a": { "input": "x" }, "b": { "from": "round.value" } } },
    "up": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": { "from": "round.value" } } },
    "item": {
      "type": "control.switch",
      "in": { "condition": { "from": "is_low.value" }, "false": { "from": "up.value" }, "true": 1.5 }
    },
    "list": { "type": "list.generate", "in": { "count": 8, "item": { "from": "item.value" } } },
    "sum": { "type": "list.sum", "in": { "list": { "from": "list.value" } } },
    "down": { "type": "math.subtract", "in": { "a": { "input": "x" }, "b": { "from": "round.value" } } },
    "other": { "type": "list.generate", "in": { "count": 8, "item": { "from": "down.value" } } },
    "length": { "type": "list.length", "in": { "list": { "from": "other.value" } } }
  }
}"#;

#[test]
fn loops_say_whether_they_are_folded_and_why_not() {
    let explanation = explained(LOOPS, Some(&["x"]));
    let lines = text(&explanation);
    let lines: Vec<&str> =
        lines.lines().filter(|line| line.contains("folded")).map(str::trim).collect();
    expect![[r#"
            runs once per element; again when `x` changes; folded into sum, all rounds of round as f32, is_low, up, item as one
            runs once per element; again when `x` changes; not folded: length does not fold such a list"#]].assert_eq(&lines.join("\n"));
    let mut json = Vec::new();
    write_json(&explanation, &mut json).expect("memory takes all");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    let nodes = json["nodes"].as_array().expect("there are nodes");
    let rounds: Vec<String> = nodes
        .iter()
        .filter(|node| !node["rounds"].is_null())
        .map(|node| format!("{}: {}", node["path"], node["rounds"]))
        .collect();
    expect![[r#"
        "list": {"folded_into":"sum","nodes":["round as f32","is_low","up","item"]}
        "other": {"apart":"no-fold","why":"length does not fold such a list"}"#]]
    .assert_eq(&rounds.join("\n"));
    for picture in [
        dot(&explanation, Coloring::Class),
        svg(&explanation, Coloring::Class).expect("it is small"),
    ] {
        assert!(picture.contains("folded into sum"));
        assert!(picture.contains("length does not fold such a list"));
    }
    let engine = Engine::new();
    let program = engine.load(LOOPS.as_bytes()).expect("the document is right");
    let graph = graph_after(&engine, program.document(), Phase::Fuse).expect("it compiles");
    let marked: Vec<&str> = graph.lines().filter(|line| line.contains("list.generate")).collect();
    expect![[r#"
        n7 = list.generate n6 n2 @folded  # list
        n10 = list.generate n9 n2 @apart(no-fold n11)  # other"#]]
    .assert_eq(&marked.join("\n"));
}

/// Two repeats of one group, in which another is repeated.
const REPEATS: &str = r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "f32", "default": 1 } },
  "outputs": { "y": { "type": "f32", "from": "one.x" }, "z": { "type": "f32", "from": "two.x" } },
  "nodes": {
    "one": { "type": "repeat", "group": "step", "in": { "x": { "input": "x" }, "by": 2.0, "count": 3 } },
    "two": { "type": "repeat", "group": "step", "in": { "x": { "input": "x" }, "by": 3.0, "count": 4 } }
  },
  "groups": {
    "step": {
      "inputs": { "x": { "type": "f32" }, "by": { "type": "f32" } },
      "outputs": { "x": { "type": "f32", "from": "sum.value" } },
      "nodes": {
        "half": { "type": "repeat", "group": "half", "in": { "x": { "input": "x" }, "count": 2 } },
        "scaled": { "type": "math.multiply", "in": { "a": { "from": "half.x" }, "b": { "input": "by" } } },
        "sum": { "type": "math.add", "in": { "a": { "from": "scaled.value" }, "b": { "input": "by" } } }
      }
    },
    "half": {
      "inputs": { "x": { "type": "f32" } },
      "outputs": { "x": { "type": "f32", "from": "less.value" } },
      "nodes": { "less": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } } }
    }
  }
}"#;

#[test]
fn what_runs_in_the_rounds_of_a_repeat_is_told_once() {
    check(
        REPEATS,
        Some(&["x"]),
        expect![[r#"
            explained for requests that give columns for: `x`

            input x: f32, along index
            one = repeat{group: "step", nodes: 3}(x: input x, by: 2.0, count: 3)
                user-input, along index
                runs once per element; again when `x` changes
                each round:
                    input x: f32, along index
                    input by: f32
                    half = repeat{group: "half", nodes: 1}(x: input x, count: 2)
                        user-input, along index
                        runs once per element; again when `x` changes
                        each round:
                            input x: f32, along index
                            less = math.multiply(a: input x, b: 0.5)
                                user-input, along index
                                runs once per element; again when `x` changes
                            output x: f32 = less
                    scaled = math.multiply(a: half.x, b: input by)
                        user-input, along index
                        runs once per element; again when `x` or `by` changes; in region r0
                    sum = math.add(a: scaled, b: input by)
                        user-input, along index
                        runs once per element; again when `x` or `by` changes; in region r0
                    output x: f32 = sum
                    region r0 runs as one: scaled, sum; stored: sum
            two = repeat{group: "step", nodes: 3}(x: input x, by: 3.0, count: 4)
                user-input, along index
                runs once per element; again when `x` changes
                each round is that of one

            output y: f32 = one.x
            output z: f32 = two.x
            2 nodes: 2 in the plan
        "#]],
    );
    let mut json = Vec::new();
    write_json(&explained(REPEATS, Some(&["x"])), &mut json).expect("memory takes all");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    let nodes = json["nodes"].as_array().expect("there are nodes");
    let of = |path: &str| nodes.iter().find(|node| node["path"] == path).expect("it is there");
    assert_eq!(of("two")["body"], serde_json::json!({ "as": "one" }));
    let body = &of("one")["body"];
    assert_eq!(body["name"], "step");
    assert_eq!(body["columns"], serde_json::json!(["x"]));
    assert_eq!(body["nodes"][2]["body"]["nodes"][1]["path"], "less");
    assert_eq!(body["regions"][0]["nodes"], serde_json::json!(["scaled", "sum"]));
    let picture = dot(&explained(REPEATS, Some(&["x"])), Coloring::Class);
    for part in
        ["each round of one", "each round of half", "n1_n2_n1 [label=\"less", "n1_n1 -> n1_n3"]
    {
        assert!(picture.contains(part), "{picture}");
    }
    assert!(!picture.contains("each round of two"));
    let picture = svg(&explained(REPEATS, Some(&["x"])), Coloring::Class).expect("it is small");
    assert!(picture.contains("each round runs half, scaled, sum"));
}
