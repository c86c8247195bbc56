//! Groups that run round by round: every evaluator gives the results of a loop written by hand.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use millstream_base::{Column, Feature, Limits, Type, Value};
use millstream_compile::{Options, Phase, compile};
use millstream_ir::request::Given;
use millstream_ir::{Answer, EvalError, Evaluator, LogDetail, Plan, Request};
use millstream_run::{Auto, Chunked, Incremental, Lazy, List};
use millstream_testkit::generate::REGISTRY;
use serde_json::{Value as Json, json};

pub(crate) fn evaluators() -> Vec<Box<dyn Evaluator>> {
    let two = NonZeroUsize::new(2).expect("two is not zero");
    vec![
        Box::new(Lazy),
        Box::new(List::new()),
        Box::new(Chunked::new().threads(two)),
        Box::new(Chunked::new().without_stages()),
        Box::new(Incremental::new()),
        Box::new(List::new().threads(two).jobs_from(Duration::ZERO)),
        Box::new(Auto::new()),
    ]
}

pub(crate) fn try_plan(document: &Json, after: Option<Phase>) -> Result<Plan, String> {
    let limits = Limits::default();
    let text = document.to_string();
    let (opened, problems) =
        millstream_document::open(text.as_bytes(), &REGISTRY, None, &[], &limits);
    let (_, checked) = opened.ok_or_else(|| problems.to_string())?;
    let options = Options { after, ..Options::default() };
    compile(&checked, &REGISTRY, &options).map_err(|problems| problems.to_string())
}

pub(crate) fn plan(document: &Json) -> Plan {
    try_plan(document, None).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A document with one repeat, `loop`, whose outputs are those of the document.
fn document(group: &Json, set: &Json, sockets: &Json, inputs: &Json) -> Json {
    let outputs = group["outputs"].as_object().expect("the group has outputs");
    let outputs: serde_json::Map<String, Json> = outputs
        .iter()
        .map(|(name, output)| {
            let from = format!("loop.{name}");
            (name.clone(), json!({"type": output["type"], "from": from}))
        })
        .collect();
    json!({
        "millstream": 2, "inputs": inputs, "outputs": outputs,
        "nodes": {"loop": {"type": "repeat", "group": "body", "set": set, "in": sockets}},
        "groups": {"body": group},
    })
}

pub(crate) fn column(answer: &Answer, output: &str) -> Column {
    let output = answer.output(output).expect("the document has the output");
    let series = output.value.as_ref().unwrap_or_else(|| panic!("{:?}", answer.failures));
    answer.full_column(series)
}

/// Checks that all evaluators, on plans with and without passes, give these values for an output.
pub(crate) fn expect(
    document: &Json,
    request: &Request,
    output: &str,
    expected: impl Into<Column>,
) {
    let expected = expected.into();
    for after in [Some(Phase::Lower), None] {
        let plan = try_plan(document, after).unwrap_or_else(|problems| panic!("{problems}"));
        for mut evaluator in evaluators() {
            let name = evaluator.name();
            let answer = evaluator.evaluate(&plan, request).expect("the request fits");
            let found = column(&answer, output);
            assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
            let same = (0..found.len()).all(|i| found.same_at(i, &expected, i));
            assert!(same, "{name}: {found:?}, not {expected:?}");
        }
    }
}

pub(crate) fn expression(text: &str, args: &[(&str, &str)]) -> Json {
    let args: serde_json::Map<String, Json> =
        args.iter().map(|(name, input)| ((*name).to_owned(), json!({"input": input}))).collect();
    json!({"type": "math.expression", "set": {"text": text}, "in": args})
}

/// x becomes x * k + 1.
fn affine() -> Json {
    json!({
        "inputs": {"x": {"type": "f32"}, "k": {"type": "f32"}},
        "outputs": {"x": {"type": "f32", "from": "next.value"}},
        "nodes": {"next": expression("x * k + 1", &[("x", "x"), ("k", "k")])},
    })
}

#[test]
fn each_element_runs_its_own_number_of_rounds() {
    let inputs = json!({"x": {"type": "f32"}, "n": {"type": "i32"}});
    let sockets = json!({"x": {"input": "x"}, "k": 0.5, "count": {"input": "n"}});
    let document = document(&affine(), &json!({}), &sockets, &inputs);
    let (n, xs): (Vec<i32>, Vec<f32>) =
        (0..3000).map(|i| ((i * 7) % 23 - 3, i as f32 * 0.25)).unzip();
    let expected: Vec<f32> =
        n.iter().zip(&xs).map(|(n, x)| (0..(*n).max(0)).fold(*x, |x, _| x * 0.5 + 1.0)).collect();
    let request = Request::new().column("x", xs).column("n", n);
    expect(&document, &request, "x", expected);
}

#[test]
fn no_rounds_give_what_was_given() {
    let inputs = json!({"x": {"type": "f32"}, "n": {"type": "i32"}});
    let sockets = json!({"x": {"input": "x"}, "k": 2, "count": {"input": "n"}});
    let document = document(&affine(), &json!({}), &sockets, &inputs);
    for n in [0, -1, i32::MIN] {
        let request = Request::new().set("x", 3.5_f32).set("n", n);
        expect(&document, &request, "x", vec![3.5_f32]);
    }
    let request = Request::new().column("x", Vec::<f32>::new()).set("n", 4);
    expect(&document, &request, "x", Vec::<f32>::new());
}

#[test]
fn rounds_end_where_a_bool_says_so() {
    let group = json!({
        "inputs": {"x": {"type": "i32"}, "n": {"type": "i32", "default": 0}},
        "outputs": {
            "x": {"type": "i32", "from": "x.value"}, "n": {"type": "i32", "from": "n.value"},
            "go": {"type": "bool", "from": "go.value"},
        },
        "nodes": {
            "odd": expression("x % 2", &[("x", "x")]),
            "up": expression("x * 3 + 1", &[("x", "x")]),
            "down": expression("x / 2", &[("x", "x")]),
            "is": {"type": "compare.not_equal", "in": {"a": {"from": "odd.value"}, "b": 0}},
            "x": {"type": "control.switch", "in": {"condition": {"from": "is.value"},
                "false": {"from": "down.value"}, "true": {"from": "up.value"}}},
            "n": {"type": "math.add", "in": {"a": {"input": "n"}, "b": 1}},
            "go": {"type": "compare.not_equal", "in": {"a": {"from": "x.value"}, "b": 1}},
        },
    });
    let inputs = json!({"x": {"type": "i32"}});
    let sockets = json!({"x": {"input": "x"}, "count": 60});
    let document = document(&group, &json!({"while": "go"}), &sockets, &inputs);
    let xs: Vec<i32> = (2..2002).collect();
    let steps = |x: i32| {
        let (mut x, mut n) = (x, 0);
        loop {
            x = if x % 2 == 0 { x / 2 } else { x * 3 + 1 };
            n += 1;
            if x == 1 || n == 60 {
                return (n, x != 1);
            }
        }
    };
    let (n, go): (Vec<i32>, Vec<bool>) = xs.iter().map(|x| steps(*x)).unzip();
    let request = Request::new().column("x", xs);
    expect(&document, &request, "n", n);
    expect(&document, &request, "go", go);
}

#[test]
fn rounds_end_when_nothing_changes() {
    // Newton's square root, with the number of rounds in a carried value of its own.
    let group = json!({
        "inputs": {"x": {"type": "f64"}, "a": {"type": "f64"}},
        "outputs": {"x": {"type": "f64", "from": "next.value"}},
        "nodes": {"next": expression("(x + a / x) / 2", &[("x", "x"), ("a", "a")])},
    });
    let inputs = json!({"a": {"type": "f64"}});
    let sockets = json!({"x": {"input": "a"}, "a": {"input": "a"}, "count": 1000});
    let document = document(&group, &json!({"until": "stable"}), &sockets, &inputs);
    let given: Vec<f64> = (1..2500).map(|i| f64::from(i * i)).chain([f64::NAN]).collect();
    let root = |a: f64| {
        let mut x = a;
        for _ in 0..1000 {
            let next = (x + a / x) * 0.5;
            if next.to_bits() == x.to_bits() || next.is_nan() && x.is_nan() {
                break;
            }
            x = next;
        }
        x
    };
    let expected: Vec<f64> = given.iter().map(|a| root(*a)).collect();
    assert_eq!(expected[2], 3.0);
    expect(&document, &Request::new().column("a", given), "x", expected);
}

#[test]
fn lists_texts_and_numbers_are_carried() {
    let group = json!({
        "inputs": {"all": {"type": "list<i32>"}, "text": {"type": "string"}, "a": {"type": "i32"},
            "b": {"type": "i32"}},
        "outputs": {"all": {"type": "list<i32>", "from": "all.value"},
            "text": {"type": "string", "from": "text.value"},
            "a": {"type": "i32", "input": "b"}, "b": {"type": "i32", "from": "sum.value"}},
        "nodes": {
            "all": {"type": "list.append", "in": {"list": {"input": "all"}, "item": {"input": "a"}}},
            "parts": {"type": "list.of", "in": {"items": [{"input": "text"}, {"value": "x"}]}},
            "text": {"type": "string.join", "in": {"list": {"from": "parts.value"}}},
            "sum": {"type": "math.add", "in": {"a": {"input": "a"}, "b": {"input": "b"}}},
        },
    });
    let inputs = json!({"n": {"type": "i32"}});
    let sockets = json!({"all": [], "text": "", "a": 0, "b": 1, "count": {"input": "n"}});
    let document = document(&group, &json!({}), &sockets, &inputs);
    let request = Request::new().column("n", vec![3, 0, 7]);
    let list = |items: &[i32]| Value::List(Column::from_vec(items.to_vec()));
    let lists = [list(&[0, 1, 1]), list(&[]), list(&[0, 1, 1, 2, 3, 5, 8])];
    let ty = Type::I32.list().expect("lists of numbers are a type");
    let lists = ty.collect(&mut lists.into_iter()).expect("all are lists");
    expect(&document, &request, "all", lists);
    expect(&document, &request, "b", vec![3, 1, 21]);
    let plan = plan(&document);
    let answer = Lazy.evaluate(&plan, &request).expect("the request fits");
    let texts: Vec<Value> = column(&answer, "text").iter().collect();
    assert_eq!(
        texts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["\"xxx\"", "\"\"", "\"xxxxxxx\""]
    );
}

/// x becomes x + iteration * 100 + time + index + wind, including a second level of the round.
fn reads_context() -> Json {
    let read = |ty: &str| json!({"type": ty});
    json!({
        "inputs": {"x": {"type": "f64"}},
        "outputs": {"x": {"type": "f64", "from": "sum.value"}},
        "nodes": {
            "round": read("context.iteration"), "time": read("context.time"),
            "index": read("context.index"),
            "wind": {"type": "context.feature", "set": {"name": "wind", "type": "f64"}},
            "sum": {"type": "math.expression", "set": {"text": "x + r * 100 + t + i + w"}, "in": {
                "x": {"input": "x"}, "r": {"from": "round.value"}, "t": {"from": "time.value"},
                "i": {"from": "index.value"}, "w": {"from": "wind.value"}}},
        },
    })
}

fn given_context(n: usize) -> Request {
    let wind = Feature::Custom("wind".into(), Type::F64);
    Request::new().time(0.5).count(n).feature(wind, Given::One(Value::F64(0.25)))
}

#[test]
fn groups_read_the_context_around_the_repeat() {
    let document = document(&reads_context(), &json!({}), &json!({"x": 0, "count": 3}), &json!({}));
    let expected: Vec<f64> = (0..5).map(|i| 300.0 + 3.0 * (0.75 + f64::from(i))).collect();
    expect(&document, &given_context(5), "x", expected);
}

#[test]
fn a_repeat_at_another_time_sees_that_time() {
    let mut document =
        document(&reads_context(), &json!({}), &json!({"x": 0, "count": 2}), &json!({}));
    document["nodes"]["later"] =
        json!({"type": "time.shift", "in": {"value": {"from": "loop.x"}, "by": 10}});
    document["outputs"]["later"] = json!({"type": "f64", "from": "later.value"});
    expect(&document, &given_context(1), "later", vec![100.0 + 2.0 * 10.75]);
    expect(&document, &given_context(1), "x", vec![100.0 + 2.0 * 0.75]);
}

#[test]
fn scopes_in_groups_change_what_is_read_of_the_context_around() {
    let mut group = reads_context();
    group["nodes"]["later"] =
        json!({"type": "time.shift", "in": {"value": {"from": "sum.value"}, "by": 1}});
    group["nodes"]["both"] =
        json!({"type": "math.add", "in": {"a": {"from": "later.value"}, "b": {"input": "x"}}});
    group["outputs"]["x"]["from"] = "both.value".into();
    let document = document(&group, &json!({}), &json!({"x": 0, "count": 2}), &json!({}));
    let rounds = |i: f64| {
        let first = 0.0 + 0.5 + 1.0 + i + 0.25;
        first + 100.0 + 1.75 + i + first
    };
    let expected: Vec<f64> = (0..4).map(|i| rounds(f64::from(i))).collect();
    expect(&document, &given_context(4), "x", expected);
}

#[test]
fn loops_and_reductions_run_inside_rounds() {
    // x becomes the sum of x * item over as many items as the round's number, plus one.
    let group = json!({
        "inputs": {"x": {"type": "i32"}},
        "outputs": {"x": {"type": "i32", "from": "more.value"}},
        "nodes": {
            "round": {"type": "context.iteration"}, "item": {"type": "context.index"},
            "element": {"type": "context.index", "set": {"level": 1}},
            "product": {"type": "math.expression", "set": {"text": "x * i + k"}, "in": {
                "x": {"input": "x"}, "i": {"from": "item.value"}, "k": {"from": "element.value"}}},
            "list": {"type": "list.generate",
                "in": {"count": {"from": "round.value"}, "item": {"from": "product.value"}}},
            "sum": {"type": "list.sum", "in": {"list": {"from": "list.value"}}},
            "more": {"type": "math.add", "in": {"a": {"from": "sum.value"}, "b": 1}},
        },
    });
    let document = document(&group, &json!({}), &json!({"x": 5, "count": 5}), &json!({}));
    let expected: Vec<i32> = (0..6)
        .map(|e| (0..5).fold(5, |x, round| (0..round).map(|i| x * i + e).sum::<i32>() + 1))
        .collect();
    expect(&document, &Request::new().count(6), "x", expected);
}

#[test]
fn repeats_run_inside_repeats_and_groups() {
    let read = |level: u32| json!({"type": "context.iteration", "set": {"level": level}});
    let inner = json!({
        "inputs": {"x": {"type": "i32"}},
        "outputs": {"x": {"type": "i32", "from": "sum.value"}},
        "nodes": {"inner": read(0), "outer": read(1),
            "sum": {"type": "math.expression", "set": {"text": "x * 3 + i + 10 * o"}, "in": {
                "x": {"input": "x"}, "i": {"from": "inner.value"}, "o": {"from": "outer.value"}}}},
    });
    let outer = json!({
        "inputs": {"x": {"type": "i32"}, "n": {"type": "i32"}},
        "outputs": {"x": {"type": "i32", "from": "wrapped.x"}},
        "nodes": {"wrapped": {"type": "group", "group": "wrapped",
            "in": {"x": {"input": "x"}, "n": {"input": "n"}}}},
    });
    let wrapped = json!({
        "inputs": {"x": {"type": "i32"}, "n": {"type": "i32"}},
        "outputs": {"x": {"type": "i32", "from": "again.x"}},
        "nodes": {"again": {"type": "repeat", "group": "inner",
            "in": {"x": {"input": "x"}, "count": {"input": "n"}}}},
    });
    let inputs = json!({"n": {"type": "i32"}});
    let sockets = json!({"x": 1, "n": {"input": "n"}, "count": 2});
    let mut document = document(&outer, &json!({}), &sockets, &inputs);
    document["groups"]["inner"] = inner;
    document["groups"]["wrapped"] = wrapped;
    let of =
        |n: i32| (0..2).fold(1, |x, outer| (0..n).fold(x, |x, inner| x * 3 + inner + 10 * outer));
    let request = Request::new().column("n", vec![0, 1, 2, 5]);
    expect(&document, &request, "x", vec![of(0), of(1), of(2), of(5)]);
}

#[test]
fn arms_that_nobody_takes_do_not_run_in_rounds() {
    // Reading item 5 of a list of 3 fails; only rounds from 5 on would.
    let group = json!({
        "inputs": {"x": {"type": "i32"}, "list": {"type": "list<i32>"}},
        "outputs": {"x": {"type": "i32", "from": "switch.value"}},
        "nodes": {
            "round": {"type": "context.iteration"},
            "is": {"type": "compare.less", "in": {"a": {"from": "round.value"}, "b": 3}},
            "item": {"type": "list.get",
                "in": {"list": {"input": "list"}, "index": {"from": "round.value"}}},
            "sum": {"type": "math.add", "in": {"a": {"input": "x"}, "b": {"from": "item.value"}}},
            "switch": {"type": "control.switch", "in": {"condition": {"from": "is.value"},
                "false": {"input": "x"}, "true": {"from": "sum.value"}}},
        },
    });
    let sockets = json!({"x": 0, "list": [10, 20, 30], "count": 8});
    let of_arms = document(&group, &json!({}), &sockets, &json!({}));
    expect(&of_arms, &Request::new(), "x", vec![60]);
    let mut without = group;
    without["outputs"]["x"]["from"] = "sum.value".into();
    let inputs = json!({"n": {"type": "i32"}});
    let sockets = json!({"x": 0, "list": [10, 20, 30], "count": {"input": "n"}});
    let failing = plan(&document(&without, &json!({}), &sockets, &inputs));
    for mut evaluator in evaluators() {
        let request = Request::new().column("n", vec![2, 3, 8, 4]);
        let answer = evaluator.evaluate(&failing, &request).expect("the request fits");
        let failure = &answer.failures[0].to_string();
        let told = failure.starts_with("loop: `item`: ") && failure.contains("(in round 3)");
        assert!(told && failure.ends_with("(at index 2)"), "{failure}");
    }
}

#[test]
fn too_many_rounds_are_refused_with_element_and_hint() {
    let inputs = json!({"n": {"type": "i32"}});
    let sockets = json!({"x": 1, "k": 1, "count": {"input": "n"}});
    let plan = plan(&document(&affine(), &json!({}), &sockets, &inputs));
    let limits = Limits { repeat_count: 100, ..Limits::default() };
    for mut evaluator in evaluators() {
        let request =
            Request::new().column("n", vec![100, 101, 5, 102]).with_limits(limits.clone());
        let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
        let failure = &answer.failures[0];
        assert_eq!(failure.to_string(), "loop: 101 rounds, the limit is 100 (at index 1)");
        let help = "raise `repeat_count` in the limits";
        assert_eq!(failure.help.as_deref(), Some(help));
    }
}

#[test]
fn rounds_without_end_can_be_ended() {
    let inputs = json!({"n": {"type": "i32"}});
    for x in [json!(1), json!({"from": "text.value"})] {
        let is_text = x.is_object();
        let group = if is_text {
            json!({
                "inputs": {"x": {"type": "string"}},
                "outputs": {"x": {"type": "string", "from": "next.value"}},
                "nodes": {"next": {"type": "string.reverse", "in": {"text": {"input": "x"}}}},
            })
        } else {
            affine()
        };
        let sockets = if is_text {
            json!({"x": "word", "count": {"input": "n"}})
        } else {
            json!({"x": x, "k": 1, "count": {"input": "n"}})
        };
        let plan = plan(&document(&group, &json!({}), &sockets, &inputs));
        for mut evaluator in evaluators() {
            let limits = Limits { repeat_count: usize::MAX, ..Limits::default() };
            let mut request = Request::new().column("n", vec![i32::MAX; 3]).with_limits(limits);
            request.budget.deadline = Some(Instant::now() + Duration::from_millis(50));
            let answer = evaluator.evaluate(&plan, &request);
            assert!(matches!(answer, Err(EvalError::Deadline)), "{}", evaluator.name());
            request.budget.deadline = None;
            request.budget.cancel = Some(Arc::new(AtomicBool::new(true)));
            assert!(matches!(evaluator.evaluate(&plan, &request), Err(EvalError::Cancelled)));
        }
    }
}

#[test]
fn a_repeat_of_constants_is_a_constant_if_that_is_soon_known() {
    let sockets = |n: i32| json!({"x": 1, "k": 0.5, "count": n});
    let folded = plan(&document(&affine(), &json!({}), &sockets(10), &json!({})));
    assert_eq!(folded.steps.len(), 1, "one constant is left");
    let long = plan(&document(&affine(), &json!({}), &sockets(1_000_000), &json!({})));
    assert!(long.steps.len() > 1);
}

#[test]
fn a_repeat_that_needs_no_element_runs_once() {
    let inputs = json!({"x": {"type": "f32"}, "y": {"type": "f32"}});
    let sockets = json!({"x": {"input": "x"}, "k": 0.5, "count": 3});
    let mut document = document(&affine(), &json!({}), &sockets, &inputs);
    document["nodes"]["sum"] =
        json!({"type": "math.add", "in": {"a": {"from": "loop.x"}, "b": {"input": "y"}}});
    document["outputs"] = json!({"sum": {"type": "f32", "from": "sum.value"}});
    let plan = plan(&document);
    let request = Request::new().set("x", 1.0_f32).column("y", vec![0.0_f32, 1.0, 2.0]);
    for mut evaluator in evaluators() {
        let request = request.clone().with_log(LogDetail::Counts);
        let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
        let is_loop =
            |id: &&millstream_ir::StepId| plan.paths.get(plan.steps[**id].path).as_str() == "loop";
        let ids: Vec<_> = plan.steps.ids().collect();
        let step = ids.iter().find(is_loop).expect("the plan has the repeat");
        let entry = answer.log.entry(*step).expect("it is logged");
        assert_eq!((entry.runs, entry.elements), (1, 1), "{}", evaluator.name());
    }
}

#[test]
fn only_outputs_that_are_asked_for_are_computed() {
    let group = json!({
        "inputs": {"x": {"type": "i32"}, "y": {"type": "i32"}, "list": {"type": "list<i32>"}},
        "outputs": {"x": {"type": "i32", "from": "x.value"},
            "y": {"type": "i32", "from": "item.value"}},
        "nodes": {
            "x": {"type": "math.add", "in": {"a": {"input": "x"}, "b": 1}},
            "item": {"type": "list.get", "in": {"list": {"input": "list"}, "index": 7}},
        },
    });
    let inputs = json!({"n": {"type": "i32"}});
    let sockets = json!({"x": 0, "y": 0, "list": [1], "count": {"input": "n"}});
    let mut document = document(&group, &json!({}), &sockets, &inputs);
    document["outputs"].as_object_mut().expect("it has outputs").remove("y");
    expect(&document, &Request::new().set("n", 4), "x", vec![4]);
}

#[test]
fn what_cannot_be_repeated_is_refused_with_place_and_hint() {
    let refusal = |group: Json, set: Json| {
        let sockets = json!({"x": 1, "count": 2});
        try_plan(&document(&group, &set, &sockets, &json!({})), None).err().unwrap_or_default()
    };
    let body = |nodes: Json, from: &str| {
        json!({
            "inputs": {"x": {"type": "f32"}},
            "outputs": {"x": {"type": "f32", "from": from}},
            "nodes": nodes,
        })
    };
    let x = json!({"input": "x"});
    let held = json!({"held": {"type": "state.feedback", "in": {"value": x}}});
    let told = refusal(body(held, "held.value"), json!({}));
    assert!(told.contains("the group of a `repeat` cannot keep state, but `held` does"), "{told}");
    let mean = json!({"mean": {"type": "reduce.sum", "in": {"value": x}}});
    let told = refusal(body(mean, "mean.value"), json!({}));
    assert!(told.contains("that it runs needs the"), "{told}");
    assert!(told.contains("compute it outside the group"), "{told}");
    let sum = || json!({"sum": {"type": "math.add", "in": {"a": x, "b": x}}});
    let told = refusal(body(sum(), "sum.value"), json!({"while": "y"}));
    assert!(told.contains("the group has no output called `y`"), "{told}");
    let told = refusal(body(sum(), "sum.value"), json!({"while": "x"}));
    assert!(
        told.contains("output `x` of group `body` is f32, but a `repeat` needs bool"),
        "{told}"
    );
    let mut group = body(sum(), "sum.value");
    group["outputs"]["y"] = json!({"type": "f32", "from": "sum.value"});
    let told = refusal(group.clone(), json!({}));
    assert!(told.contains("no input of the next round takes output `y` of group `body`"), "{told}");
    group["inputs"]["y"] = json!({"type": "i32", "default": 0});
    let told = refusal(group, json!({}));
    assert!(told.contains("is f32, but the input that it is carried to is i32"), "{told}");
    let told = refusal(body(sum(), "sum.value"), json!({"until": "bored"}));
    assert!(told.contains("until"), "{told}");
}

/// x moves half way to a.
fn halving() -> Json {
    json!({
        "inputs": {"x": {"type": "f32"}, "a": {"type": "f32"}},
        "outputs": {"x": {"type": "f32", "from": "next.value"}},
        "nodes": {"next": expression("(x + a) / 2", &[("x", "x"), ("a", "a")])},
    })
}

#[test]
fn a_repeat_settles_within_a_tolerance_and_tells_it() {
    let inputs = json!({"x": {"type": "f32"}, "n": {"type": "i32"}});
    let sockets = json!({"x": {"input": "x"}, "a": 0, "count": {"input": "n"}});
    let set = json!({"until": "stable", "tolerance": 0.5});
    let mut document = document(&halving(), &set, &sockets, &inputs);
    document["outputs"]["rounds"] = json!({"type": "i32", "from": "loop.rounds"});
    document["outputs"]["settled"] = json!({"type": "bool", "from": "loop.settled"});
    // 8, 4, 2, 1, 0.5: the last step does not exceed the tolerance.
    let request = Request::new().column("x", vec![8.0_f32, 8.0, 0.0, 1.0]);
    let request = request.column("n", vec![10, 2, 10, 0]);
    expect(&document, &request, "x", vec![0.5_f32, 2.0, 0.0, 1.0]);
    expect(&document, &request, "rounds", vec![4, 2, 1, 0]);
    expect(&document, &request, "settled", vec![true, false, true, false]);
    let one = Request::new().set("x", 8.0_f32).set("n", 10);
    expect(&document, &one, "rounds", vec![4]);
    expect(&document, &one, "settled", vec![true]);
    document["nodes"]["loop"]["set"] = json!({});
    expect(&document, &request, "rounds", vec![10, 2, 10, 0]);
    expect(&document, &request, "settled", vec![false; 4]);
}

#[test]
fn lists_settle_within_a_tolerance_item_by_item() {
    let group = json!({
        "inputs": {"x": {"type": "list<f32>"}, "rounds": {"type": "i32", "default": 0}},
        "outputs": {"x": {"type": "list<f32>", "from": "half.value"},
            "rounds": {"type": "i32", "from": "more.value"}},
        "nodes": {
            "more": {"type": "math.add", "in": {"a": {"input": "rounds"}, "b": 0}},
            "half": {"type": "list.smooth", "in": {"list": {"input": "x"}}},
        },
    });
    let set = json!({"until": "stable", "tolerance": 1000});
    let mut document = document(&group, &set, &json!({"x": [1, 2, 9], "count": 9}), &json!({}));
    document["outputs"]["settled"] = json!({"type": "bool", "from": "loop.settled"});
    // The group has an output of this name, so the node adds none.
    expect(&document, &Request::new(), "rounds", vec![0]);
    expect(&document, &Request::new(), "settled", vec![true]);
}

#[test]
fn a_tolerance_without_its_use_is_refused() {
    let refusal = |set: Json| {
        let sockets = json!({"x": 1, "a": 2, "count": 2});
        try_plan(&document(&halving(), &set, &sockets, &json!({})), None).err().unwrap_or_default()
    };
    let told = refusal(json!({"until": "stable", "tolerance": -1}));
    assert!(told.contains("-1 is negative; 0 compares bits"), "{told}");
    let told = refusal(json!({"tolerance": 1}));
    assert!(told.contains("nothing is compared without \"until\": \"stable\""), "{told}");
}
