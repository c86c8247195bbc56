//! `millstream run` for some outputs, and for some elements.

use expect_test::expect;

use crate::run::column;
use crate::{code, expect_seen, file, json, millstream};

#[test]
fn an_output_is_computed_despite_errors_elsewhere() {
    let path = file(
        "wrong_elsewhere.mill.json",
        r#"{ "millstream": 1,
            "outputs": { "ok": { "type": "f32", "from": "p.value" }, "bad": { "type": "f32", "from": "q.value" } },
            "nodes": {
                "p": { "type": "math.add", "in": { "a": 1, "b": 2 } },
                "q": { "type": "math.nonsense", "in": { "a": 1 } },
                "r": { "type": "math.add", "in": { "a": { "from": "s.value" } } },
                "s": { "type": "math.add", "in": { "a": { "from": "r.value" } } } } }"#,
    );
    let ok = millstream(&["run", &path, "--out", "ok"]);
    assert_eq!((ok.status.code(), &*ok.stdout), (Some(0), &b"ok = 3.0\n"[..]));
    let told = String::from_utf8_lossy(&ok.stderr);
    assert!(told.contains("math.nonsense") && told.contains("`ok` does not depend"), "{told}");
    assert_eq!(code(&["run", &path, "--out", "bad"]), Some(1));
    assert_eq!(code(&["run", &path, "--out", "nothing"]), Some(1));
}

#[test]
fn selected_elements_are_computed_alone() {
    let path = file(
        "some_elements.mill.json",
        r#"{ "millstream": 1, "inputs": { "x": { "type": "f32", "default": 2 } },
            "outputs": { "y": { "type": "f32", "from": "m.value" } },
            "nodes": { "i": { "type": "context.index" },
                "m": { "type": "math.multiply", "in": { "a": { "from": "i.value" }, "b": { "input": "x" } } } } }"#,
    );
    let ran = json(&[
        "run",
        &path,
        "--count",
        "1000",
        "--only",
        "990..992,5,0,4..6",
        "--stats",
        "--format",
        "json",
    ]);
    assert_eq!(column(&ran, "y"), [0.0, 8.0, 10.0, 12.0, 1980.0, 1982.0, 1984.0]);
    let log = ran["log"].as_array().expect("a log");
    let product = log.iter().find(|run| run["type"] == "math.multiply").expect("it ran");
    assert_eq!(product["elements"], 7);
    let index = log.iter().find(|run| run["type"] == "context.index").expect("it ran");
    assert_eq!((&index["elements"], &index["bytes"]), (&7.into(), &28.into()));
    expect_seen(
        &["run", &path, "--count", "3", "--only", "3"],
        expect![[r#"
        exit code 2
        stderr:
        error: element 3 is asked for, but there are 3, numbered from 0
          help: ask for elements below 3
    "#]],
    );
    expect_seen(
        &["run", &path, "--count", "0", "--only", "0"],
        expect![[r#"
        exit code 2
        stderr:
        error: element 0 is asked for, but there are none
          help: give more elements, or ask for all
    "#]],
    );
    expect_seen(
        &["run", &path, "--only", "3"],
        expect![[r#"
        exit code 2
        stderr:
        error: output `y` needs index, which the request does not provide (read by m <- i)
          help: give a number of elements, --count 100, or a column, --in NAME=@FILE
        error: some elements are asked for, but nothing varies from element to element
          help: give a count or a column, or ask for all
    "#]],
    );
    expect_seen(
        &["run", &path, "--count", "3", "--only", "2..x"],
        expect![[r#"
            exit code 2
            stderr:
            error: invalid value '2..x' for '--only <ELEMENTS>': `x` is not an element number from 0 to 268435455

            For more information, try '--help'.
        "#]],
    );
}

/// The elements that each node type computed for the elements 0 and 5 of 1000.
fn computed_for_two(name: &str, text: &str, evaluator: &str) -> Vec<(String, i64, i64)> {
    let path = file(name, text);
    let given = ["run", &*path, "--count", "1000", "--only", "0,5", "--stats", "--format", "json"];
    let ran = json(&[&given[..], &["--evaluator", evaluator]].concat());
    let log = ran["log"].as_array().expect("a log");
    let count = |run: &serde_json::Value, of: &str| run[of].as_i64().expect("a number");
    let name = |run: &serde_json::Value| run["type"].as_str().expect("a name").to_owned();
    log.iter().map(|run| (name(run), count(run, "elements"), count(run, "bytes"))).collect()
}

#[test]
fn nothing_is_computed_for_elements_that_are_not_asked_for() {
    for evaluator in ["lazy", "list", "parallel", "chunked", "incremental", "auto"] {
        let ran = computed_for_two(
            "index_of_two.mill",
            "i = context.index()\nr = random.value(i)\n\
             output x: f32 = r > 0.5 ? sin(r) : r * i\n",
            evaluator,
        );
        assert!(ran.iter().any(|(name, ..)| name == "context.index"), "{ran:?}");
        for (name, elements, bytes) in ran {
            assert!(elements <= 2 && bytes <= 16, "{evaluator}: {name} {elements} {bytes}");
        }
    }
}

#[test]
fn a_document_that_reads_the_number_of_elements_computes_those_asked_for() {
    let text = "input s: f32 = 2\nu = context.index() / context.count()\n\
                output x: f32 = u > 0.001 ? f32(sin(u) * s) : f32(u)\n";
    for evaluator in ["lazy", "list", "parallel", "chunked", "incremental", "auto"] {
        let ran = computed_for_two("count_of_two.mill", text, evaluator);
        assert!(ran.iter().any(|(name, ..)| name == "context.count"), "{ran:?}");
        for (name, elements, bytes) in ran {
            assert!(elements <= 2 && bytes <= 16, "{evaluator}: {name} {elements} {bytes}");
        }
    }
    let path = file("number_of_all.mill", "output n: i32 = context.count() + context.index()\n");
    let ran = json(&["run", &path, "--count", "1000", "--only", "0,5", "--format", "json"]);
    assert_eq!(column(&ran, "n"), [1000.0, 1005.0]);
}

#[test]
fn a_sum_of_all_elements_is_computed_from_all() {
    let ran = computed_for_two(
        "sum_of_all.mill",
        "output x: f32 = context.index() / (reduce.sum(context.index()) + 0.5)\n",
        "lazy",
    );
    assert!(ran.iter().any(|(_, elements, _)| *elements == 1000), "{ran:?}");
}

#[test]
fn failures_name_the_number_of_an_element_that_was_asked_for() {
    let path = file(
        "failing_element.mill",
        "input l: list<f32> = [1, 2]\noutput x: f32 = list.get(l, context.index())\n",
    );
    let failed = millstream(&["run", &path, "--count", "9", "--only", "1,7"]);
    let told = String::from_utf8_lossy(&failed.stderr);
    assert!(told.contains("(at index 7)"), "{told}");
}

#[test]
fn state_that_no_requested_output_reads_does_not_matter() {
    let path = file(
        "state_elsewhere.mill",
        "i = context.index()\nk = i * 2\np = state.smooth(k)\n\
         output k: f32 = k\noutput p: f32 = p\noutput t: f64 = context.time()\n",
    );
    let given = ["run", &*path, "--count", "9", "--format", "json", "--only", "1,7"];
    let some = json(&[&given[..], &["--out", "k"]].concat());
    assert_eq!(column(&some, "k"), [2.0, 14.0]);
    let refused = millstream(&[&given[..], &["--out", "p"]].concat());
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("each continues from its own state"), "{told}");
    // Times need not be frames, and several are evaluated at once.
    let times = json(&["run", &path, "--format", "json", "--out", "t", "--time", "0.3..0.7:0.4"]);
    assert_eq!(column(&times, "t"), [0.3, 0.7]);
}

#[test]
fn files_of_some_elements_have_their_numbers() {
    let path = file(
        "numbered_elements.mill",
        "input x: f32 = 0\noutput x: f32 = x\n\
         output q: image = image.from_field(x)\n",
    );
    let folder = std::path::Path::new(&path).with_extension("files");
    // Files of an earlier run.
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let target = |name: &str| folder.join(name).display().to_string();
    std::fs::write(target("of.csv"), "x\n0\n0.1\n0.2\n0.3\n0.4\n").expect("it can be written");
    let x = format!("x=@{}", target("of.csv"));
    let run = |given: &[&str]| {
        let ran = millstream(&[&["run", &*path, "--in", &x], given].concat());
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    run(&["--size", "2x2", "--out", "q", "--only", "1,3", "--save", &target("q.#.png")]);
    run(&["--size", "2x2", "--out", "q", "--only", "4", "--save", &target("one.#.png")]);
    let moments = &["--frame", "0..1", "--only", "2"];
    run(&[&["--size", "2x2", "--out", "q", "--save", &target("at.#.png")], &moments[..]].concat());
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("it exists")
        .map(|entry| entry.expect("it is readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["at.0.png", "at.1.png", "of.csv", "one.4.png", "q.1.png", "q.3.png"]);
    run(&["--out", "x", "--only", "1,3", "--save", &target("x.csv")]);
    let table = std::fs::read_to_string(target("x.csv")).expect("it was written");
    assert_eq!(table, "index,x\n1,0.1\n3,0.3\n");
}

#[test]
fn a_reduction_that_differs_by_element_reads_all_elements_for_some() {
    let data = file("quantiles.csv", "x,y,p\n0.875,1,true\n2,1,false\n4.625,0,false\n");
    let graph = file(
        "quantiles.mill",
        "input x: f64\ninput y: f64\ninput p: bool\n\
         q = reduce.quantile(x * 2, part: y)\n\
         output o: f64 = control.switch(p, false: 5.5, true: q)\n\
         output q: f64\n",
    );
    let given = ["x", "y", "p"].map(|name| format!("{name}=@{data}"));
    let run = |more: &[&str]| {
        let mut args = vec!["run", &*graph, "--format", "json"];
        for given in &given {
            args.extend(["--in", given]);
        }
        json(&[&args[..], more].concat())
    };
    for evaluator in ["lazy", "list", "chunked", "parallel", "incremental"] {
        let all = run(&["--evaluator", evaluator, "--out", "o"]);
        assert_eq!(column(&all, "o"), [9.25, 5.5, 5.5], "{evaluator}");
        let some = run(&["--evaluator", evaluator, "--out", "q", "--only", "0,2"]);
        assert_eq!(column(&some, "q"), [9.25, 1.75], "{evaluator}");
    }
}
