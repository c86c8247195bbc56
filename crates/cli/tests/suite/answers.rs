//! What a run tells: places of failures, indices of elements, numbers at the ends of their range.

use expect_test::expect;

use crate::{expect_seen, file, json, millstream, seen};

#[test]
fn failures_name_the_moment() {
    let graph = file(
        "late_failure.mill",
        "t = convert.to_i32(context.time() * 10)\n\
         output n: f32 = list.get(list.generate(context.index() * 1.0, count: 3), index: t)\n",
    );
    let told = |args: &[&str]| {
        let output = millstream(&[&["run", &*graph], args].concat());
        String::from_utf8(output.stderr).expect("messages are UTF-8")
    };
    assert!(told(&["--time", "0..1:0.05"]).contains("(at 0.3 s)"));
    assert!(told(&["--frame", "2..9"]).contains("(at frame "));
}

#[test]
fn failures_have_the_moment_and_the_view_beside_their_positions() {
    let graph = file(
        "failing_view.mill",
        "size = footprint.pixel_size(context.footprint())\n\
         n = convert.to_i32(context.tick()) - 5 + convert.to_i32(size)\n\
         output first: f32 = list.first(list.range(start: 7, count: n))\n",
    );
    let views = ["--view", "far=3x3*9", "--view", "near=4x4*1"];
    let run = ["run", &*graph, "--format", "json"];
    let told = json(&[&run[..], &views, &["--frame", "3..5"]].concat());
    let failure = &told["failures"][0];
    assert_eq!(failure["at"], serde_json::json!({"time": 0, "view": 1}), "{told}");
    let named = serde_json::json!({"frame": 3, "time": 0.125, "view": "near"});
    assert_eq!(failure["where"], named, "{told}");
}

#[test]
fn a_failure_in_lists_of_lists_has_the_outer_and_the_inner_item() {
    let graph = file(
        "failing_inner_item.mill",
        "i0 = context.index()\n\
         i1 = context.index(level = 1)\n\
         ix = i0 == 2 && i1 == 1 ? 9 : 0\n\
         g = list.get([1.0, 2.0], index: ix)\n\
         output w: list<list<f32>> = list.generate(list.generate(g, count: 4), count: 3)\n",
    );
    let told = json(&["run", &graph, "--format", "json"]);
    let failure = &told["failures"][0];
    for place in ["at", "where"] {
        assert_eq!(failure[place], serde_json::json!({"item": [1, 2]}), "{told}");
    }
}

#[test]
fn a_repeat_that_does_not_settle_names_the_moments() {
    let text = |output: &str| {
        format!(
            "t = convert.to_i32(context.tick())\n\
             w = repeat step(100, count: convert.to_i32(t < 2 ? 500 : t), until = \"stable\")\n\
             output y: f32 = {output}\n\
             group step(x: f32) -> x: f32 {{\n  x = x / 2 + 1\n}}\n"
        )
    };
    let plain = file("unsettled_moments.mill", &text("w.x"));
    let stateful = file("unsettled_ticks.mill", &text("state.integrate(w.x)"));
    let maximum = "warning: w: did not become stable within its maximum of rounds";
    for graph in [&plain, &stateful] {
        let told = seen(&["run", graph, "--frame", "0..2"]);
        assert!(told.contains(&format!("{maximum}, 2 (at frame 2)\n")), "{told}");
        let told = seen(&["run", graph, "--frame", "1..4"]);
        let several = "2 (at frame 2; in 3 frames, with 2 to 4 rounds)";
        assert!(told.contains(&format!("{maximum}, {several}\n")), "{told}");
        assert_eq!(told.matches("warning").count(), 1, "{told}");
        let told = json(&["run", graph, "--frame", "1..4", "--format", "json"]);
        let warning = &told["warnings"][0];
        assert_eq!(warning["where"]["frame"], 2, "{told}");
        assert_eq!(warning["frames"], 3, "{told}");
    }
    let of_time = text("w.x").replace("t = convert.to_i32(context.tick())", "k = context.time()");
    let of_time = of_time.replace("t < 2 ? 500 : t", "k < 0.1 ? 500 : k * 20 + 0.5");
    let timed = file("unsettled_times.mill", &of_time);
    let told = seen(&["run", &timed, "--time", "0.05..0.15:0.05"]);
    let several = "2 (at 0.1 s; in 2 moments, with 2 to 3 rounds)";
    assert!(told.contains(&format!("{maximum}, {several}\n")), "{told}");
}

#[test]
fn a_repeat_that_does_not_settle_is_a_warning() {
    let graph = file(
        "unsettled.mill",
        "input n: i32 = 5\ninput x: f32 = 100\n\
         output y: f32 = repeat step(x, count: n, until = \"stable\").x\n\
         group step(x: f32) -> x: f32 {\n  x = x / 2 + 1\n}\n",
    );
    let told = seen(&["run", &graph]);
    expect![[r#"
        y = 5.0625
        stderr:
        warning: y: did not become stable within its maximum of rounds, 5
          help: raise `count` or `tolerance`; the output `settled` tells where it did
    "#]]
    .assert_eq(&told);
    let told = json(&["run", &graph, "--format", "json"]);
    let message = told["warnings"][0]["message"].as_str();
    assert_eq!(message, Some("did not become stable within its maximum of rounds, 5"), "{told}");
    assert_eq!(told["outputs"]["y"]["value"], 5.0625, "the results are as they are");
    let told = seen(&["check", &graph, "--twice"]);
    assert!(
        told.contains("warning[twice::unsettled]: y: `y` did not become stable within"),
        "{told}"
    );
    assert!(!seen(&["check", &graph, "--twice", "--in", "n=500"]).contains("twice::"));
    let told = seen(&["explain", &graph, "--run"]);
    assert!(told.contains("warning: y: did not become stable within"), "{told}");
    let settled = json(&["run", &graph, "--in", "n=500", "--format", "json"]);
    assert!(settled.get("warnings").is_none(), "{settled}");
    // Without several moments, there is no frame to name.
    let told = seen(&["run", &graph, "--frame", "0..2"]);
    assert!(told.contains("within its maximum of rounds, 5\n"), "{told}");
    let folder = crate::bake::folder("bake-unsettled");
    let bake = ["bake", &graph, "--frames", "0..2", "-o", &crate::bake::text(&folder)];
    let told = seen(&bake);
    let at = "within its maximum of rounds, 5 (in 3 frames, the first at frame 0)\n  help: raise ";
    assert!(told.contains(at), "{told}");
    assert_eq!(told.matches("warning").count(), 1, "{told}");
}

#[test]
fn a_number_is_a_list_of_one_in_a_formula_as_along_links() {
    let graph = file(
        "number_as_list.mill",
        "output sum: f32 = list.sum(1) + 1\n\
         output length: f32 = list.length(true) + 0.5\n\
         output item: f32 = list.get(5, 0) + 0\n",
    );
    let told = json(&["run", &graph, "--format", "json"]);
    for (name, expected) in [("sum", 2.0), ("length", 1.5), ("item", 5.0)] {
        assert_eq!(told["outputs"][name]["value"].as_f64(), Some(expected), "{told}");
    }
}

#[test]
fn integers_wrap_from_the_ends_of_their_range() {
    let graph = file(
        "wrapped.mill",
        "input x: i32\ninput y: i64\n\
         output x: i32 = math.wrap(x, -3, 4)\noutput y: i64 = math.wrap(y, -3, 4)\n",
    );
    for x in [i64::from(i32::MAX), i64::from(i32::MIN), -4, -3, 3, 4, 100] {
        let y = match x {
            2_147_483_647 => i64::MAX,
            -2_147_483_648 => i64::MIN,
            other => other,
        };
        let given = (format!("x={x}"), format!("y={y}"));
        let told = json(&["run", &graph, "--in", &given.0, "--in", &given.1, "--format", "json"]);
        let wrapped = |x: i64| (i128::from(x) + 3).rem_euclid(7) - 3;
        let found = |name: &str| told["outputs"][name]["value"].as_i64().map(i128::from);
        assert_eq!((found("x"), found("y")), (Some(wrapped(x)), Some(wrapped(y))), "{told}");
    }
}

#[test]
fn elements_that_are_asked_for_keep_their_index() {
    let graph = file("only.mill", "i = context.index()\noutput o: f32 = i * 10\n");
    let shown = seen(&["run", &graph, "--count", "10", "--only", "1,3"]);
    assert!(shown.contains("    1  10.0\n    3  30.0\n"), "{shown}");
    let given = ["run", &*graph, "--count", "10", "--only", "1,3"];
    let told = json(&[&given[..], &["--format", "json"]].concat());
    assert_eq!(told["index"], serde_json::json!([1, 3]), "{told}");
    let rows = seen(&[&given[..], &["--time", "0..1:1", "--save", "csv:-"]].concat());
    assert!(rows.contains("\n0.0,3,30.0\n"), "{rows}");
}

#[test]
fn images_tables_and_long_lists_are_described() {
    let graph = file(
        "described.mill",
        "p = context.position()\n\
         output pic: image = image.from_field(p.x * 0.25)\n\
         output view: footprint = context.footprint()\n\
         output lists: list<list<f32>> = list.chunks(list.range(0, 1, count: 12), length: 10)\n\
         output move: mat4 = mat4.translation([1, 2, 3])\n\
         numbers = list.range(0, 1, count: 2)\n\
         output t: table = table.make(numbers, names = [\"n\"])\n",
    );
    expect_seen(
        &["run", &graph, "--size", "8x4+1-2*0.5"],
        expect![[r#"
            pic = image of 8x4, 1 channel, from 0.3125 to 1.1875, view 8x4+1-2*0.5
            view = 8x4+1-2*0.5
            lists = [list of 10, from 0 to 9, [10.0, 11.0]]
            move = [1.0, 0.0, 0.0, 1.0,
                    0.0, 1.0, 0.0, 2.0,
                    0.0, 0.0, 1.0, 3.0,
                    0.0, 0.0, 0.0, 1.0]

            row  t.n
              0  0.0
              1  1.0

                 count  min  mean  max
            t.n      2    0   0.5    1
            to save a picture: --save pic.png
        "#]],
    );
    let views = ["--view", "a=2x1", "--view", "b=1x1"];
    let told = seen(&[&["run", &graph, "--out", "pic"], &views[..]].concat());
    assert!(told.contains("   a  image of 2x1, 1 channel, from 0.125 to 0.375\n"), "{told}");
    assert!(told.ends_with("to save a picture: --save pic.{view}.png\n"), "{told}");
}

#[test]
fn a_picture_refuses_elements_if_its_index_is_that_of_the_pixel() {
    let text = "i = context.index()\np = context.position()\n\
                output g: i64 = convert.to_i64(i)\noutput s: f32 = p.x / 8\n\
                output v: vec4 = vector.combine_vec4(p.x / 8, 0.5, 0.25, 1)\n\
                output c: color = color.combine(p.x / 8, 0.5, 0.25, 1)\n";
    let graph = file("picture-of-elements.mill", text);
    let folder = std::env::temp_dir().join(format!("millstream-pictures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("it can be created");
    let path = |name: &str| folder.join(name).display().to_string();
    let picture = |output: &str, more: &[&str]| {
        let save = path(&format!("{output}.png"));
        let args = ["run", &graph, "--out", output, "--size", "8x4", "--save", &save];
        seen(&[&args[..], more].concat())
    };
    for (more, flag) in
        [(&["--count", "3"][..], "--count"), (&["--count", "9", "--only", "3"], "--only")]
    {
        let told = picture("g", more);
        assert!(told.contains(&format!("{flag} has no effect on a picture of `g`")), "{told}");
    }
    for output in ["g", "v", "c"] {
        let told = picture(output, &[]);
        assert!(told.contains("saved 8x4 pixels"), "{told}");
    }
    let bytes = |name: &str| std::fs::read(path(name)).expect("it was saved");
    assert!(bytes("v.png") == bytes("c.png"), "a vec4 is a color");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

#[test]
fn a_negative_element_is_refused_as_an_element_number() {
    let graph = file("only_negative.mill", "i = context.index()\noutput o: f32 = i * 10\n");
    let told = seen(&["run", &graph, "--count", "10", "--only", "-1"]);
    assert!(told.contains("`-1` is not an element number from 0 to"), "{told}");
}

#[test]
fn of_two_calls_of_a_group_only_the_one_that_does_not_settle_is_named() {
    let graph = file(
        "unsettled_call.mill",
        "input e: f32 = 0.1\n\
         c = repeat relax(count: 20, x: 1.91, k: e, until = \"stable\", tolerance = 0.01)\n\
         a = repeat relax(count: 4, x: e, k: 1, until = \"stable\", tolerance = 0.01)\n\
         output p: f32 = c.x * 2\noutput o: f32 = a.x + 1\n\
         group relax(x: f32, k: f32) -> x: f32 = (x + k) * 0.5 {\n}\n",
    );
    for evaluator in ["auto", "lazy", "list", "chunked", "incremental"] {
        let told = json(&["run", &graph, "--format", "json", "--evaluator", evaluator]);
        let warnings = told["warnings"].as_array().expect("there is one");
        assert_eq!((warnings.len(), warnings[0]["path"].as_str()), (1, Some("a")), "{told}");
        let message = warnings[0]["message"].as_str();
        assert_eq!(message, Some("did not become stable within its maximum of rounds, 4"));
    }
    let told = seen(&["check", &graph, "--twice"]);
    assert_eq!(told.matches("twice::unsettled").count(), 1, "{told}");
}
