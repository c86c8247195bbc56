//! `millstream explain`.

use expect_test::expect;

use crate::{expect_seen, file, json, millstream, seen};

const TRIANGLE: &str = "examples/triangle_area.mill";

const PASSES: &str = "lower conversions fold-constants merge-duplicates simplify prune resolve-scopes compose nullify fuse";

#[test]
fn each_node_is_explained() {
    expect_seen(
        &["explain", "examples/echo.mill", "--columns", "none"],
        expect![[r#"
            Two echoes of a pulse
            explained for requests that give columns for: no input

            input delay: f64
            input decay: f64
            time = context.time()
                contextual, along time, needs time
                runs once per moment; again when time changes
            pulse/1 = compare.less(a: time, b: 0.0)
                contextual, along time, needs time
                runs once per moment; again when time changes; in region r0
            pulse/2 = math.multiply(a: -6.0, b: time)
                contextual, along time, needs time
                runs once per moment; again when time changes; in region r0
            pulse/3 = math.exp(x: pulse/2)
                contextual, along time, needs time
                runs once per moment; again when time changes; in region r0
            pulse/4 = math.multiply(a: 8.0, b: 6.283185307179586)
                static
                is the constant 50.26548245743669
            pulse/5 = math.multiply(a: pulse/4, b: time)
                contextual, along time, needs time
                runs once per moment; again when time changes; in region r0
            pulse/6 = math.sin(x: pulse/5)
                contextual, along time, needs time
                runs once per moment; again when time changes; in region r0
            pulse/7 = math.multiply(a: pulse/3, b: pulse/6)
                contextual, along time, needs time
                runs once per moment; again when time changes; in region r0
            pulse/8 = control.switch(condition: pulse/1, false: pulse/7, true: 0.0)
                contextual, along time, needs time
                runs once per moment; again when time changes; in region r0, selecting where elements differ
            back/1 = math.negate(x: input delay)
                user-input
                runs once; again when `delay` changes; in region r0
            echo = time.shift(value: pulse/8 [changes time], by: back/1)
                contextual, along time, needs time
                is replaced by a copy of pulse/8 with the provided value
            echo_of_echo = time.shift(value: echo [changes time], by: back/1)
                contextual, along time, needs time
                is replaced by a copy of pulse/8 with the provided value
            heard/1 = math.multiply(a: input decay, b: echo_of_echo)
                contextual, along time, needs time
                runs once per moment; again when `delay`, `decay` or time changes; in region r0
            heard/2 = math.add(a: echo, b: heard/1)
                contextual, along time, needs time
                runs once per moment; again when `delay`, `decay` or time changes; in region r0
            heard/3 = math.multiply(a: input decay, b: heard/2)
                contextual, along time, needs time
                runs once per moment; again when `delay`, `decay` or time changes; in region r0
            heard/4 = math.add(a: pulse/8, b: heard/3)
                contextual, along time, needs time
                runs once per moment; again when `delay`, `decay` or time changes; in region r0

            output heard: f64 = heard/4
            region r0 runs as one: pulse/1, pulse/2, pulse/3, pulse/5, pulse/6, pulse/7, pulse/8, back/1, heard/1, heard/2, heard/3, heard/4; stored: heard/4
            16 nodes: 13 in the plan, 1 constant, 2 simplified away
        "#]],
    );
}

#[test]
fn columns_say_what_runs_per_element() {
    let json = json(&["explain", TRIANGLE, "--columns", "c", "--format", "json"]);
    let axes = |path: &str| {
        let nodes = json["nodes"].as_array().expect("a list");
        let node = nodes.iter().find(|node| node["path"] == path && node["input"] == false);
        node.expect("it is there")["axes"].clone()
    };
    assert_eq!(axes("ab"), serde_json::json!([]));
    assert_eq!(axes("ac"), serde_json::json!(["index"]));
    assert_eq!(json["columns"], serde_json::json!(["c"]));
    expect_seen(
        &["explain", TRIANGLE, "--columns", "cc"],
        expect![[r#"
        exit code 2
        stderr:
        error: there is no input called `cc`
          help: did you mean `c`?
    "#]],
    );
}

#[test]
fn the_graph_is_shown_after_every_pass() {
    for pass in PASSES.split(' ') {
        let text = seen(&["explain", TRIANGLE, "--after", pass]);
        assert!(text.contains("# area_x/value"), "{pass}: {text}");
    }
    expect_seen(
        &["explain", TRIANGLE, "--after", "prun"],
        expect![[r#"
        exit code 2
        stderr:
        error: invalid value 'prun' for '--after <PASS>': there is no such pass; did you mean `prune`?

        For more information, try '--help'.
    "#]],
    );
    let json = json(&["explain", TRIANGLE, "--after", "prune", "--format", "json"]);
    assert_eq!(json["after"], "prune");
    assert!(json["graph"].as_str().is_some_and(|graph| graph.contains("# area_x/value")));
    assert!(json["explanation"]["nodes"].as_array().is_some_and(|nodes| nodes.len() == 16));
}

#[test]
fn pictures_show_the_graph_after_every_pass() {
    let shown = |pass: &str, format: &str| {
        let echo = "examples/echo.mill";
        seen(&["explain", echo, "--after", pass, "--format", format])
    };
    for pass in PASSES.split(' ') {
        let (dot, svg) = (shown(pass, "dot"), shown(pass, "svg"));
        assert!(dot.starts_with("digraph {") && dot.contains("context.time"), "{pass}: {dot}");
        let is_whole = svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>");
        assert!(is_whole && svg.contains(&format!("after {pass}")), "{pass}: {svg}");
        // A constant is a node until it is folded, and regions are marked by the last pass.
        let told = shown(pass, "json");
        let is_folded = pass != "lower" && pass != "conversions";
        assert_eq!(told.contains("\"path\":\"pulse/4\""), !is_folded, "{pass}: {told}");
        assert_eq!(dot.contains("r0"), pass == "fuse", "{pass}: {dot}");
    }
}

#[test]
fn pictures_are_well_formed() {
    let svg = String::from_utf8(millstream(&["explain", TRIANGLE, "--format", "svg"]).stdout);
    let svg = svg.expect("UTF-8");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<g").count(), svg.matches("</g>").count());
    let dot = String::from_utf8(millstream(&["explain", TRIANGLE, "--format", "dot"]).stdout);
    let dot = dot.expect("UTF-8");
    assert!(dot.starts_with("digraph {") && dot.ends_with("}\n"));
    assert!(dot.contains("subgraph \"cluster/r0./area_x\""), "{dot}");
    assert!(dot.contains("label=\"region r0\""), "{dot}");
    assert_eq!(svg.matches("<title>region r0: 13 nodes run as one</title>").count(), 1, "{svg}");
}

#[test]
fn regions_are_shown_with_their_outputs() {
    let text = seen(&["explain", TRIANGLE]);
    let nodes = [
        "ab",
        "ac",
        "bc",
        "s/1",
        "s/2",
        "s/3",
        "area_x/value/1",
        "area_x/value/2",
        "area_x/value/3",
        "area_x/value/4",
        "area_x/value/5",
        "area_x/value/6",
        "area",
    ];
    let shown = nodes[..nodes.len() - 1].join(", ");
    let line = format!("region r0 runs as one: {shown}, 1 more; stored: area\n");
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("; in region r0\n"), "{text}");
    let json = json(&["explain", TRIANGLE, "--format", "json"]);
    let expected = serde_json::json!([{ "name": "r0", "nodes": nodes, "stored": ["area"] }]);
    assert_eq!(json["regions"], expected);
    let root = json["nodes"].as_array().and_then(|nodes| nodes.last()).expect("nodes");
    assert_eq!(root["region"], serde_json::json!({ "name": "r0", "part": "whole" }));
    let graph = seen(&["explain", TRIANGLE, "--after", "fuse"]);
    assert!(graph.contains("n16 = math.sqrt n15 @r0  # area\n"), "{graph}");
}

#[test]
fn a_run_is_explained() {
    let file = "examples/tone_curve.mill";
    let json = json(&["explain", file, "--run", "--count", "8", "--format", "json"]);
    let nodes = json["nodes"].as_array().expect("a list");
    let run = |node: &serde_json::Value| node["run"]["elements"].as_u64();
    assert!(nodes.iter().filter_map(run).any(|n| n == 8), "{json}");
    let text = seen(&["explain", file, "--run", "--count", "8", "--out", "nothing"]);
    assert!(text.starts_with("exit code 2"), "{text}");
}

#[test]
fn flags_of_a_run_need_run() {
    expect_seen(
        &["explain", "examples/echo.mill", "--time", "1"],
        expect![[r#"
        exit code 2
        stderr:
        error: --time has no effect without --run: nothing is evaluated
          help: add --run, or leave out --time
    "#]],
    );
    expect_seen(
        &["check", "examples/echo.mill", "--count", "4"],
        expect![[r#"
        exit code 2
        stderr:
        error: --count has no effect without --twice: nothing is evaluated
          help: add --twice, or leave out --count
    "#]],
    );
    expect_seen(
        &["explain", "examples/echo.mill", "--run"],
        expect![[r#"
            exit code 2
            stderr:
            error: output `heard` needs time, which the request does not provide (read by heard/4 <- pulse/8 <- pulse/1 <- time)
              help: give a time, --time 1.5 or --time 0..2:0.1, or a frame, --frame 12
        "#]],
    );
}

#[test]
fn nodes_are_run_twice_with_the_given_inputs() {
    let file = "examples/echo.mill";
    let text = seen(&["check", file, "--twice", "--in", "delay=0.25", "--frame", "1..4"]);
    assert!(text.contains("ok, 6 nodes"), "{text}");
    let text = seen(&["check", file, "--twice", "--in", "delay=soon"]);
    assert!(
        text.starts_with("exit code 2") && text.contains("`delay`: \"soon\" is not an f64"),
        "{text}"
    );
}

#[test]
fn explained_runs_show_failures_and_values_provided_by_scopes() {
    let path = file(
        "explain_failed.mill.json",
        r#"{ "millstream": 2, "inputs": { "x": { "type": "string", "default": "abc" } },
            "outputs": { "y": { "type": "f64", "from": "more.value" } },
            "nodes": { "n": { "type": "string.to_number", "in": { "text": { "input": "x" } } },
                "more": { "type": "math.add", "in": { "a": { "from": "n.value" }, "b": 1 } } } }"#,
    );
    let told = seen(&["explain", &path, "--run"]);
    assert!(told.contains("; failed: \"abc\" is not a number"), "{told}");
    assert!(told.contains("did not run: an input failed"), "{told}");
    let told = seen(&["explain", &path, "--run", "--format", "dot"]);
    assert!(told.contains("failed: \\\"abc\\\" is not a number"), "{told}");
    let output = millstream(&["explain", &path, "--run", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let node = |name: &str| {
        let nodes = told["nodes"].as_array().expect("a list");
        nodes.iter().find(|node| node["path"] == name).expect("it is told")["run"].clone()
    };
    assert_eq!(
        (&node("n")["ran"], &node("n")["failed"]),
        (&true.into(), &"\"abc\" is not a number".into())
    );
    assert_eq!((&node("more")["ran"], &node("more")["failed"].is_null()), (&false.into(), &true));

    let path = file(
        "explain_shift.mill.json",
        r#"{ "millstream": 2, "inputs": { "by": { "type": "f64", "default": 2 } },
            "outputs": { "y": { "type": "f64", "from": "late.value" } },
            "nodes": { "t": { "type": "context.time" },
                "wave": { "type": "math.sin", "in": { "x": { "from": "t.value" } } },
                "late": { "type": "time.shift", "in": { "value": { "from": "wave.value" }, "by": { "input": "by" } } } } }"#,
    );
    let told = seen(&["explain", &path, "--run", "--time", "1"]);
    assert!(told.contains("the provided value ran 1 time on 1 element"), "{told}");
    assert!(told.contains("3 ran, 3 runs"), "{told}");
    let told = seen(&["run", &path, "--stats", "--time", "1"]);
    assert!(told.contains("3 of 3 nodes ran, 3 runs"), "{told}");
}
