//! `millstream check`.

use expect_test::expect;

use crate::{code, expect_seen, file, json, millstream, seen};

const BROKEN: &str = r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "f33" } },
  "outputs": { "y": { "type": "f32", "from": "b.value" } },
  "nodes": {
    "a": { "type": "math.ad", "in": { "a": 1, "b": 2 } },
    "b": { "type": "math.add", "in": { "a": { "from": "c.value" }, "b": { "from": "missing.value" } } },
    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": 1 } }
  }
}
"#;

#[test]
fn all_examples_are_valid() {
    let directory = crate::root().join("examples");
    let entries = std::fs::read_dir(directory).expect("it is there");
    let mut files: Vec<String> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "mill"))
        .map(|path| path.display().to_string())
        .collect();
    files.sort();
    assert!(files.len() >= 7);
    let args: Vec<&str> =
        std::iter::once("check").chain(files.iter().map(String::as_str)).collect();
    let output = millstream(&args);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(!text.contains("warning"), "{text}");
}

#[test]
fn the_interface_is_shown() {
    expect_seen(
        &["check", "examples/echo.mill"],
        expect![[r#"
            examples/echo.mill: ok, 6 nodes, 34 steps in the plan
              input delay: f64 = 0.6, from 0  (from each echo to the next, in s)
              input decay: f64 = 0.6  (how much weaker each echo is)
              output heard: f64
              needs time for output heard: heard/4 <- pulse/8 <- pulse/1 <- time
        "#]],
    );
}

#[test]
fn all_problems_are_shown_with_their_positions() {
    let path = file("broken.mill.json", BROKEN);
    let text = seen(&["check", &path]).replace(&path, "broken.mill.json");
    expect![[r#"
        exit code 1
        broken.mill.json:3:15: error[check::unknown_type]: input `x` has the unknown type `f33`
          help: did you mean `f32`?
        broken.mill.json:6:5: error[check::unknown_node_type]: a: there is no node type called `math.ad`
          help: did you mean `math.add`?
        broken.mill.json:7:40: error[check::cycle]: b.a: the nodes form a cycle: `b` -> `c` -> `b`
          help: remove one of these links
        broken.mill.json:7:68: error[check::unknown_node]: b.b: `missing.value`: there is no node called `missing`
          help: add the node or change the link
        broken.mill.json: wrong, 4 errors
    "#]].assert_eq(&text);
}

#[test]
fn problems_and_interface_are_available_to_programs() {
    let path = file("broken_json.mill.json", BROKEN);
    let files = json(&["check", &path, "examples/echo.mill", "--format", "json"]);
    assert_eq!(files[0]["ok"], false);
    assert_eq!(files[0]["interface"], serde_json::Value::Null);
    let problems = files[0]["problems"].as_array().expect("a list");
    assert!(problems.iter().any(|problem| problem["severity"] == "error"));
    let unknown = problems.iter().find(|problem| problem["code"] == "check::unknown_node_type");
    let unknown = unknown.expect("it is found");
    assert_eq!((&unknown["path"], &unknown["span"]["line"]), (&"a".into(), &6.into()));
    assert_eq!(files[1]["ok"], true);
    assert_eq!(files[1]["interface"]["inputs"][0]["name"], "delay");
    assert_eq!(files[1]["interface"]["needs"][0]["feature"], "time");
}

#[test]
fn one_invalid_document_among_several_sets_the_exit_code() {
    let path = file("broken_too.mill.json", BROKEN);
    assert_eq!(code(&["check", "examples/echo.mill", &path]), Some(1));
    assert_eq!(code(&["check", "examples/echo.mill"]), Some(0));
    let files = json(&["check", "not/there.json", "examples/echo.mill", "--format", "json"]);
    assert_eq!((&files[0]["ok"], &files[1]["ok"]), (&false.into(), &true.into()));
    assert_eq!(code(&["check", "not/there.json", "examples/echo.mill"]), Some(1));
    assert_eq!(code(&["check", "examples/echo.mill", "--limit", "nodes=2"]), Some(1));
}

#[test]
fn a_warning_is_shown_and_is_not_an_error() {
    let path = file(
        "warned.mill.json",
        r#"{ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 0 } } }"#,
    );
    let text = seen(&["check", &path]).replace(&path, "warned.mill.json");
    expect![[r#"
        warned.mill.json:1:32: warning[check::unused_input]: input `x` is not used
          help: link it or remove it
        warned.mill.json: ok, 1 warning, 0 nodes, 0 steps in the plan
          input x: f32 = 0.0
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_link_that_narrows_is_a_note() {
    let path = file(
        "narrowed.mill.json",
        r#"{ "millstream": 2,
  "outputs": { "y": { "type": "f64", "from": "sum.value" } },
  "nodes": {
    "time": { "type": "context.time" },
    "noise": { "type": "noise.value", "in": { "position": { "from": "time.value" } } },
    "sum": { "type": "math.add", "in": { "a": { "from": "time.value" }, "b": { "from": "noise.value" } } } } }"#,
    );
    let text = seen(&["check", &path]).replace(&path, "narrowed.mill.json");
    expect![[r#"
        narrowed.mill.json:5:47: note[check::narrowed]: noise.position: `time.value` gives an f64, which input `position` of `noise.value` narrows to an f32
          help: insert a `convert` node with "to": "f32" if this is intended
        narrowed.mill.json: ok, 1 note, 3 nodes, 7 steps in the plan
          output y: f64
          needs time for output y: sum <- time
    "#]].assert_eq(&text);
    assert_eq!(code(&["check", &path]), Some(0));
    let files = json(&["check", &path, "--format", "json"]);
    let note = &files[0]["problems"][0];
    assert_eq!((&note["severity"], &note["code"]), (&"note".into(), &"check::narrowed".into()));
    assert_eq!((&note["path"], &note["span"]["line"]), (&"noise.position".into(), &5.into()));
}

#[test]
fn integers_that_become_floats_are_notes_where_they_may_be_large() {
    let path = file(
        "rounded.mill",
        "input k: i32 = 1\ninput n: i32 = 1 from 0 to 100\ninput x: f32 = 1\n\n\
         after = (k + 1) * 2 + x\nsaid = f32(k) + x\nfine = n / 2 + n * x\n\
         sum = math.add(k, x)\nxs = list.of([x, 2])\nlength = list.length(xs) * x + context.index() * x\n\n\
         output k: f32 = k\noutput after: f32 = after\n\
         output said: f32 = said\noutput fine: f32 = fine\noutput n: f32 = n\n\
         output sum: f32 = sum\noutput length: f32 = length\n",
    );
    let text = seen(&["check", &path]).replace(&path, "rounded.mill");
    let notes: Vec<&str> = text.lines().filter(|line| line.contains("note[")).collect();
    expect![[r#"
        rounded.mill:5:10: note[check::rounded]: after.k: input `k` gives an i32, which `math.expression` turns into an f32, in which integers are exact only up to 2^24
        rounded.mill:8:16: note[check::rounded]: sum.a: input `k` gives an i32, which `math.add` turns into an f32, in which integers are exact only up to 2^24
        rounded.mill:12:8: note[check::rounded]: input `k` gives an i32, which output `k` turns into an f32, in which integers are exact only up to 2^24
    "#]].assert_eq(&(notes.join("\n") + "\n"));
}

#[test]
fn integers_are_followed_through_formulas_groups_and_choices() {
    let path = file(
        "followed.mill",
        "input k: i32\ninput on: bool\ninput x: f32\ninput small: i32 = 1 from 0 to 9\n\n\
         formula = 2 * k + 1\nof_formula = math.add(formula, x)\n\
         of_group = math.add(double(k), x)\nfine = math.add(double(small), x)\n\
         of_choice = math.add(control.switch(on, 1, k), x)\nof_arm = math.add(on ? k : 3, x)\n\n\
         output y: f32 = of_formula + of_group + fine + of_choice + of_arm\n\
         output z: f32 = formula\n\n\
         group double(k: i32) -> twice: i32 {\n  twice = k + k\n}\n",
    );
    let text = seen(&["check", &path]).replace(&path, "followed.mill");
    let notes = text.lines().filter_map(|line| line.split_once(" gives an i32"));
    let notes: Vec<&str> = notes.map(|(start, _)| start).collect();
    expect![[r#"
        followed.mill:7:23: note[check::rounded]: of_formula.a: `formula.value`
        followed.mill:8:21: note[check::rounded]: of_group.a: `double(...)`
        followed.mill:10:22: note[check::rounded]: of_choice.a: `control.switch(...)`
        followed.mill:11:19: note[check::rounded]: of_arm.a: `on ? k : 3`
        followed.mill:14:8: note[check::rounded]: `formula.value`
    "#]]
    .assert_eq(&(notes.join("\n") + "\n"));
}

#[test]
fn what_a_formula_narrows_is_a_note_at_its_place() {
    let path = file(
        "narrowed_formula.mill",
        "input a: f64 = 1\ninput v: vec3 = [0, 0, 0]\ninput c: color = [0, 0, 0, 1]\n\n\
         p = vec3(a, 0, 0)\nq = 1 - v * a\nr = a > 1 ? v : a * 2\n\
         s = vec3(f32(a), 0, 0) + c.rgb * f32(a)\nt = a * 2 + 1\n\n\
         output p: vec3 = p\noutput q: vec3 = q\noutput r: vec3 = r\noutput s: vec3 = s\n\
         output t: f64 = t\n",
    );
    let text = seen(&["check", &path]).replace(&path, "narrowed.mill");
    let notes: Vec<&str> = text
        .lines()
        .filter(|line| !["  input", "  output"].iter().any(|it| line.starts_with(it)))
        .collect();
    expect![[r#"
        narrowed.mill:5:10: note[check::narrowed]: p: the formula narrows an f64 to an f32
          help: write `f32(...)` around it if this is intended
        narrowed.mill:6:13: note[check::narrowed]: q: the formula narrows an f64 to an f32
          help: write `f32(...)` around it if this is intended
        narrowed.mill:7:17: note[check::narrowed]: r: the formula narrows an f64 to an f32
          help: write `f32(...)` around it if this is intended
        narrowed.mill: ok, 3 notes, 5 nodes, 24 steps in the plan
    "#]]
    .assert_eq(&(notes.join("\n") + "\n"));
    let path = file(
        "narrowed_formula.mill.json",
        r#"{ "millstream": 2, "inputs": { "a": { "type": "f64" }, "c": { "type": "color" } },
  "outputs": { "y": { "type": "f32", "from": "e.value" } },
  "nodes": { "e": { "type": "math.expression", "set": { "text": "vector.distance(c, vec3(1)) + length(vec2(a, 1))" },
    "in": { "a": { "input": "a" }, "c": { "input": "c" } } } } }"#,
    );
    let text = seen(&["check", &path]).replace(&path, "narrowed.mill.json");
    expect![[r#"
        narrowed.mill.json:3:82: note[check::narrowed]: e: the formula narrows a color to a vec3
          help: its alpha is lost; write `.rgb` after it if this is intended
        narrowed.mill.json:3:108: note[check::narrowed]: e: the formula narrows an f64 to an f32
          help: write `f32(...)` around it if this is intended
        narrowed.mill.json: ok, 2 notes, 1 node, 10 steps in the plan
          input a: f64, required
          input c: color, required
          output y: f32
    "#]]
    .assert_eq(&text);
}

#[test]
fn notes_and_errors_in_a_text_with_escapes_have_their_place() {
    let path = file(
        "escaped_formula.mill.json",
        r#"{ "millstream": 2, "inputs": { "a": { "type": "f64" }, "k": { "type": "i64" }, "v": { "type": "vec3" } },
  "outputs": { "y": { "type": "vec3", "from": "e.value" }, "z": { "type": "f64", "from": "m.value" } },
  "nodes": {
    "e": { "type": "math.expression", "set": { "text": "1 +\n\t\u0020v * a\t+ v *\n(k - k)" },
      "in": { "a": { "input": "a" }, "k": { "input": "k" }, "v": { "input": "v" } } },
    "m": { "type": "math.expression", "set": { "text": "length(vec2(a, 1))" }, "muted": true,
      "in": { "a": { "input": "a" } } } } }"#,
    );
    let text = seen(&["check", &path]).replace(&path, "escaped.mill.json");
    expect![[r#"
        escaped.mill.json:4:74: note[check::narrowed]: e: the formula narrows an f64 to an f32
          help: write `f32(...)` around it if this is intended
        escaped.mill.json:4:85: note[check::narrowed]: e: the formula narrows an i64 to an f32
          help: write `f32(...)` around it if this is intended
        escaped.mill.json: ok, 2 notes, 2 nodes, 15 steps in the plan
          input a: f64, required
          input k: i64, required
          input v: vec3, required
          output y: vec3
          output z: f64
    "#]]
    .assert_eq(&text);
    let path = file(
        "wrong_escaped_formula.mill.json",
        r#"{ "millstream": 2, "outputs": { "y": { "type": "f32", "from": "e.value" } },
  "nodes": { "e": { "type": "math.expression", "set": { "text": "1 +\n\"2" } } } }"#,
    );
    let text = seen(&["check", &path]).replace(&path, "escaped.mill.json");
    expect![[r#"
        exit code 1
        escaped.mill.json:2:71: error[settings::refused]: e: setting `text`: `"` has no meaning here
          help: a formula has no strings; give one to an input or a setting of a node
        escaped.mill.json: wrong, 1 error
    "#]]
    .assert_eq(&text);
}

#[test]
fn an_input_given_as_a_setting_is_told_from_one() {
    let text = file(
        "input_as_setting.mill",
        "output y: f32 = control.switch(condition = false, false: 1, true: 2)\n",
    );
    let told = seen(&["check", &text]);
    let hint = "`condition` is an input: write `condition: VALUE`, with a colon";
    assert!(told.contains(hint), "{told}");
    let json = file(
        "input_as_setting.mill.json",
        r#"{ "millstream": 2, "outputs": { "y": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "control.switch", "set": { "condition": false } } } }"#,
    );
    let told = seen(&["check", &json]);
    assert!(told.contains(r#"`condition` is an input: move it from "set" to "in""#), "{told}");
}

#[test]
fn a_function_called_like_a_node_gets_a_hint() {
    let text = file("named_inputs.mill", "output y: f32 = max(a = 1, b = 2)\n");
    let told = seen(&["check", &text]);
    let hint = "`max` is a function of formulas: write its inputs in their order, without names";
    assert!(told.contains(hint), "{told}");
    let text = file("named_sockets.mill", "output y: f32 = math.maximum(a = 1, b = 2)\n");
    let told = seen(&["check", &text]);
    assert!(told.contains("`a` is an input: write `a: VALUE`, with a colon"), "{told}");
}

#[test]
fn long_defaults_are_shortened() {
    let list = format!("[{}1]", "1, ".repeat(1000));
    let text = format!(
        r#"{{ "millstream": 2, "inputs": {{ "x": {{ "type": "list<f32>", "default": {list} }} }},
             "outputs": {{ "y": {{ "type": "list<f32>", "input": "x" }} }} }}"#
    );
    let seen = seen(&["check", &file("long.mill.json", &text)]);
    assert!(seen.len() < 400 && seen.contains("1.0, 1.0") && seen.contains("...\n"), "{seen}");
}

#[test]
fn a_feature_has_one_type_in_a_document() {
    let graph = file(
        "two_winds.mill.json",
        r#"{
  "millstream": 2,
  "outputs": { "a": { "type": "f32", "from": "n.value" }, "b": { "type": "vec3", "from": "g.value" } },
  "nodes": {
    "n": { "type": "context.feature", "set": { "name": "wind" } },
    "arg": { "type": "context.vararg", "set": { "name": "wind", "type": "i32" } },
    "g": { "type": "group", "group": "blow" }
  },
  "groups": {
    "blow": {
      "outputs": { "value": { "type": "vec3", "from": "m.value" } },
      "nodes": { "m": { "type": "context.feature", "set": { "name": "wind", "type": "vec3" } } }
    }
  }
}
"#,
    );
    let problems = json(&["check", &graph, "--format", "json"])[0]["problems"].clone();
    let problem = &problems[0];
    assert_eq!(problem["code"], "check::feature_type", "{problems}");
    assert_eq!(problem["path"], "n");
    assert_eq!(problem["message"], "the feature `wind` is an f32 here and a vec3 in `blow/m`");
}

#[test]
fn the_library_declares_its_dependencies_correctly() {
    for example in ["examples/triangle_area.mill", "examples/echo.mill"] {
        assert_eq!(code(&["check", example, "--twice"]), Some(0), "{example}");
    }
}

#[test]
fn nodes_that_fail_check_twice_are_named() {
    let path = file(
        "fails_twice.mill.json",
        r#"{ "millstream": 2, "inputs": { "x": { "type": "list<f32>", "default": [] } },
            "outputs": { "y": { "type": "f32", "from": "most.value" } },
            "nodes": { "most": { "type": "list.get", "in": { "list": { "input": "x" }, "index": 3 } } } }"#,
    );
    let output = millstream(&["check", &path, "--twice"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let said = "`most` failed, so its results were not compared: index 3 of an empty list";
    assert!(told.contains(said) && told.contains("1 warning"), "{told}");
    assert_eq!(code(&["check", &path, "--twice", "--in", "x=[1,2,3,4]"]), Some(0));
}

#[test]
fn nodes_that_run_only_inside_a_scope_do_not_stop_the_check() {
    let path = file(
        "outer_index.mill.json",
        r#"{ "millstream": 2, "outputs": { "y": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "math.sqrt", "in": { "x": 4 } },
                "outer": { "type": "context.index", "set": { "level": 1 } },
                "more": { "type": "math.add", "in": { "a": { "from": "outer.value" }, "b": 1 } } } }"#,
    );
    let output = millstream(&["check", &path, "examples/echo.mill", "--twice"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("`outer` reads index (level 1), which no request provides"), "{told}");
    assert!(told.contains("1 warning, 3 nodes") && told.contains("ok, 6 nodes"), "{told}");
}

#[test]
fn mismatched_types_name_the_node_that_converts() {
    let path = file(
        "mean.mill.json",
        r#"{
  "millstream": 2,
  "inputs": { "xs": { "type": "list<i32>", "default": [1, 2] }, "s": { "type": "string", "default": "7" } },
  "outputs": { "mean": { "type": "f32", "from": "mean.value" }, "root": { "type": "f32", "from": "root.value" } },
  "nodes": {
    "mean": { "type": "list.mean", "in": { "list": { "input": "xs" } } },
    "root": { "type": "math.sqrt", "in": { "x": { "input": "s" } } }
  }
}
"#,
    );
    let text = seen(&["check", &path]).replace(&path, "mean.mill.json");
    expect![[r#"
        exit code 1
        mean.mill.json:6:44: error[check::type_mismatch]: mean.list: input `xs` gives a list<i32>, but input `list` of `list.mean` takes a list<f32>
          help: insert a node that converts: `list.convert` with "to": "f32"
        mean.mill.json:7:44: error[check::type_mismatch]: root.x: input `s` gives a string, but input `x` of `math.sqrt` takes one of f32, f64, vec2, vec3, vec4
          help: insert a node that converts: `string.to_number`
        mean.mill.json: wrong, 2 errors
    "#]].assert_eq(&text);
}

#[test]
fn the_needs_of_a_nodes_state_are_shown_once() {
    let damped = r#"{ "millstream": 2, "outputs": { "y": { "type": "f64", "from": "damp.value" } },
        "nodes": { "time": { "type": "context.time" },
            "damp": { "type": "state.damp", "in": { "value": { "from": "time.value" } } } } }"#;
    let seen = millstream(&["check", &file("damped.mill.json", damped)]);
    let said = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert_eq!(said.matches("the state of `damp`").count(), 1, "{said}");
}

#[test]
fn a_step_of_0_is_refused_in_both_forms() {
    let graph = file(
        "step_0.mill",
        "input a: f32 = 0.5 from 0 to 1 step 0.1\ninput b: f32 = 1 step 0\n\
         output y: f32 = a * b\n",
    );
    let told = seen(&["run", &graph]);
    let own = format!("{graph}:2:");
    assert!(
        told.contains(&own) && told.contains("the step 0 of input `b` is not above 0"),
        "{told}"
    );
    assert!(told.contains("help: choose a positive step, or leave it out"), "{told}");
    let json = file(
        "step_0.json",
        r#"{"millstream": 2, "inputs": {"b": {"type": "f32", "default": 1, "step": 0}},
           "outputs": {"y": {"type": "f32", "input": "b"}}}"#,
    );
    let told = seen(&["run", &json]);
    assert!(told.contains("the step 0 of input `b` is not above 0"), "{told}");
}
