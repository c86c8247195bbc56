//! The lazy evaluator, by value and by log.

use expect_test::{Expect, expect};
use millstream_base::{Column, Feature, Value};
use millstream_compile::passes::{PassContext, conversions, fuse};
use millstream_compile::schedule::schedule;
use millstream_ir::answer::Fate;
use millstream_ir::request::Given;
use millstream_ir::{Answer, Evaluator, LogDetail, Plan, Request};
use millstream_node::{Data, Registry};
use millstream_run::Lazy;

/// The plan of a graph as it is written, only with conversions.
pub(crate) fn plan(text: &str) -> Plan {
    plan_with(&millstream_nodes::registry(), text)
}

/// The same with additional node types.
pub(crate) fn plan_with(registry: &Registry, text: &str) -> Plan {
    let mut graph = millstream_ir::text::parse(text, registry)
        .unwrap_or_else(|problems| panic!("the graph parses: {problems}"));
    let limits = millstream_base::Limits::default();
    let cx = PassContext::new(registry, &limits);
    conversions(&mut graph, &cx).expect("the graph is valid");
    fuse(&mut graph, &cx).expect("the graph is valid");
    schedule(graph, 24.0).expect("the graph is valid")
}

fn run(plan: &Plan, request: &Request) -> Answer {
    Lazy.evaluate(plan, &request.clone().with_log(LogDetail::Counts)).expect("the request fits")
}

/// Prints outputs, failures, and for each node type that ran its runs and elements.
fn report(plan: &Plan, answer: &Answer) -> String {
    let mut lines = Vec::new();
    for output in &answer.outputs {
        lines.push(match &output.value {
            None => format!("{} failed", output.name),
            Some(series) => {
                let data = match &series.data {
                    Data::One(value) => value.to_string(),
                    Data::Many(column) => Value::List(column.clone()).to_string(),
                };
                let axes: Vec<&str> = series.axes.iter().map(|axis| axis.name()).collect();
                format!("{} = {data} {}", output.name, axes.join(" ")).trim_end().to_owned()
            }
        });
    }
    lines.extend(answer.failures.iter().map(ToString::to_string));
    for (step, entry) in plan.steps.ids().zip(&answer.log.entries) {
        if let (Fate::Ran(_), millstream_ir::StepOp::Call(id)) = (entry.fate, plan.steps[step].op) {
            let name = plan.instances[id].name();
            lines.push(format!("{name}: {} runs, {} elements", entry.runs, entry.elements));
        }
    }
    lines.join("\n") + "\n"
}

fn check(text: &str, request: &Request, expected: &Expect) {
    let plan = plan(text);
    expected.assert_eq(&report(&plan, &run(&plan, request)));
}

fn floats(values: &[f32]) -> Column {
    values.iter().copied().collect()
}

#[test]
fn what_does_not_vary_runs_once() {
    check(
        "n0 = input x: f32 = 1.0
         n1 = const 2.0
         n2 = math.multiply n1 n1
         n3 = math.add n0 n2
         output n3",
        &Request::new().column("x", floats(&[1.0, 2.0, 3.0])),
        &expect![[r#"
            value = [5.0, 6.0, 7.0] index
            math.multiply: 1 runs, 1 elements
            math.add: 1 runs, 3 elements
        "#]],
    );
}

#[test]
fn time_and_index_form_a_product() {
    check(
        "n0 = context.time
         n1 = input x: f32 = 1.0
         n2 = math.add n0 n1
         n3 = math.square n1
         n4 = math.square n0
         output sum n2
         output x2 n3
         output t2 n4",
        &Request::new().column("x", floats(&[1.0, 2.0])).times(vec![0.5, 10.0, 20.0]),
        &expect![[r#"
            sum = [1.5, 2.5, 11.0, 12.0, 21.0, 22.0] time index
            x2 = [1.0, 4.0] index
            t2 = [0.25, 100.0, 400.0] time
            context.time: 1 runs, 3 elements
            convert: 1 runs, 2 elements
            math.add: 1 runs, 6 elements
            math.square: 1 runs, 2 elements
            math.square: 1 runs, 3 elements
        "#]],
    );
}

#[test]
fn only_the_elements_that_take_an_arm_are_computed_in_it() {
    check(
        "n0 = input x: f32 = 1.0
         n1 = const 0.0
         n2 = compare.less n0 n1
         n3 = math.negate n0
         n4 = math.sqrt n0
         n5 = control.switch n2 n4 n3
         output n5",
        &Request::new().column("x", floats(&[4.0, -1.0, 9.0, -5.0, 16.0])),
        &expect![[r#"
            value = [2.0, 1.0, 3.0, 5.0, 4.0] index
            compare.less: 1 runs, 5 elements
            math.negate: 1 runs, 2 elements
            math.sqrt: 1 runs, 3 elements
            control.switch: 1 runs, 5 elements
        "#]],
    );
}

#[test]
fn answers_vary_along_what_they_depend_on_whatever_the_values() {
    // All elements take the arm that is the same for all.
    check(
        "n0 = input x: f32 = 1.0
         n1 = input t: f32 = 2.0
         n2 = const 0.0
         n3 = compare.less n0 n2
         n4 = control.switch n3 n1 n0
         n5 = math.negate n4
         n6 = math.negate n1
         output chosen n5
         output same n6",
        &Request::new().column("x", floats(&[4.0, 1.0, 9.0])),
        &expect![[r#"
            chosen = [-2.0, -2.0, -2.0] index
            same = -2.0
            compare.less: 1 runs, 3 elements
            control.switch: 1 runs, 1 elements
            math.negate: 1 runs, 1 elements
            math.negate: 1 runs, 1 elements
        "#]],
    );
}

#[test]
fn an_untaken_arm_does_not_run() {
    check(
        "n0 = input c: bool = true
         n1 = input x: f32 = 4.0
         n2 = math.negate n1
         n3 = math.sqrt n1
         n5 = control.switch n0 n2 n3
         output n5",
        &Request::new().column("x", floats(&[4.0, 1.0])),
        &expect![[r#"
            value = [2.0, 1.0] index
            math.sqrt: 1 runs, 2 elements
            control.switch: 1 runs, 2 elements
        "#]],
    );
}

#[test]
fn a_node_asked_for_in_parts_computes_each_element_once() {
    check(
        "n0 = input x: f32 = 1.0
         n1 = const 0.0
         n2 = compare.less n0 n1
         n3 = math.sin n0
         n4 = math.negate n3
         n5 = control.switch n2 n4 n3
         output n5
         output sine n3",
        &Request::new().column("x", floats(&[0.0, -0.0, 0.0, -5.0])),
        &expect![[r#"
            value = [-0.0, 0.0, -0.0, 0.9589243] index
            sine = [0.0, -0.0, 0.0, 0.9589243] index
            compare.less: 1 runs, 4 elements
            math.sin: 2 runs, 4 elements
            math.negate: 1 runs, 3 elements
            control.switch: 1 runs, 4 elements
        "#]],
    );
}

#[test]
fn a_ladder_of_shared_time_shifts_runs_once_a_rung() {
    let mut text = String::from("n0 = context.time\nn1 = const f64 1.0\n");
    let n_rungs = 40;
    for rung in 0..n_rungs {
        let below = if rung == 0 { 0 } else { 3 * rung + 1 };
        let (shift, add) = (3 * rung + 2, 3 * rung + 4);
        text += &format!("n{shift} = time.shift n{below} n1\n");
        text += &format!("n{add} = math.add n{shift} n{below}\n");
    }
    text += &format!("output n{}\n", 3 * (n_rungs - 1) + 4);
    let plan = plan(&text);
    let answer = run(&plan, &Request::new().time(0.0));
    let time = plan.steps.ids().next().unwrap();
    assert_eq!(answer.log.entry(time).map(|entry| entry.runs), Some(n_rungs as u32 + 1));
    // The sum over the binomial distribution of the shifts.
    let expected = (n_rungs as f64) / 2.0 * 2_f64.powi(n_rungs);
    assert_eq!(answer.value::<f64>("value"), Some(expected));
}

#[test]
fn loops_nest_and_their_lengths_may_differ() {
    check(
        "n0 = context.index
         n1 = context.index{\"level\": 1}
         n2 = const 10
         n3 = math.multiply n1 n2
         n4 = math.add n3 n0
         n5 = context.index
         n6 = list.generate n4 n5
         n7 = list.sum n6
         n8 = const 4
         n9 = list.generate n7 n8
         output n9",
        &Request::new(),
        &expect![[r#"
            value = [0, 10, 41, 93]
            context.index: 1 runs, 6 elements
            context.index: 1 runs, 4 elements
            math.multiply: 1 runs, 3 elements
            math.add: 1 runs, 6 elements
            context.index: 1 runs, 4 elements
            list.generate: 1 runs, 4 elements
            list.sum: 1 runs, 4 elements
            list.generate: 1 runs, 1 elements
        "#]],
    );
}

#[test]
fn a_reduction_runs_along_the_axis_of_the_request() {
    check(
        "n0 = input x: f32 = 1.0
         n1 = reduce.sum n0
         n2 = math.divide n0 n1
         n3 = reduce.sum n2
         n4 = context.count
         output share n2
         output one n3
         output n n4",
        &Request::new().column("x", floats(&[1.0, 2.0, 5.0])),
        &expect![[r#"
            share = [0.125, 0.25, 0.625] index
            one = 1.0
            n = 3
            reduce.sum: 1 runs, 1 elements
            math.divide: 1 runs, 3 elements
            reduce.sum: 1 runs, 1 elements
            context.count: 1 runs, 1 elements
        "#]],
    );
}

#[test]
fn a_quantile_of_all_elements_may_be_asked_for_in_each() {
    check(
        "n0 = input x: f64 = 1.0
         n1 = const 0.25
         n2 = reduce.quantile n0 n1
         n3 = input part: f64 = 0.5
         n4 = reduce.quantile n0 n3
         output quarter n2
         output each n4",
        &Request::new()
            .column("x", Column::from_vec(vec![8.0, 0.0, 4.0]))
            .column("part", Column::from_vec(vec![0.0, 0.5, 0.75])),
        &expect![[r#"
            quarter = 2.0
            each = [0.0, 4.0, 6.0] index
            reduce.quantile: 1 runs, 1 elements
            reduce.quantile: 1 runs, 3 elements
        "#]],
    );
}

#[test]
fn nothing_runs_for_no_elements() {
    check(
        "n0 = input x: f32 = 1.0
         n1 = const 2.0
         n2 = math.sqrt n1
         n3 = math.add n0 n2
         n4 = reduce.sum n3
         output n3
         output sum n4",
        &Request::new().column("x", floats(&[])),
        &expect![[r#"
            value = [] index
            sum = 0.0
            reduce.sum: 1 runs, 1 elements
        "#]],
    );
}

#[test]
fn a_failure_stays_on_its_branch() {
    check(
        "n0 = input i: i32 = 0
         n1 = const list<f32> [1.0, 2.0]
         n2 = list.get n1 n0
         n3 = math.sqrt n2
         n4 = math.negate n0
         output bad n3
         output good n4",
        &Request::new().column("i", Column::from_vec(vec![1, 0, 7, 9])),
        &expect![[r#"
            bad failed
            good = [-1, 0, -7, -9] index
            : index 7 is outside a list of 2 (at index 2)
            list.get: 1 runs, 0 elements
            math.negate: 1 runs, 4 elements
        "#]],
    );
}

#[test]
fn what_fails_does_not_depend_on_who_asked_first() {
    // The first output reads all elements, of which one fails; the second only valid ones.
    let text = "n0 = input i: i32 = 0
         n1 = const list<f32> [1.0, 4.0]
         n2 = list.get n1 n0
         n3 = math.sqrt n2
         n4 = const 1
         n5 = compare.greater n0 n4
         n6 = const -1.0
         n7 = control.switch n5 n3 n6";
    let request = Request::new().column("i", Column::from_vec(vec![1, 0, 7, 1]));
    let lines = "good = [2.0, 1.0, -1.0, 2.0] index";
    for outputs in ["output bad n3\noutput good n7", "output good n7\noutput bad n3"] {
        let plan = plan(&format!("{text}\n{outputs}"));
        let report = report(&plan, &run(&plan, &request));
        assert!(report.contains(lines) && report.contains("bad failed"), "{report}");
        assert!(report.contains("index 7 is outside a list of 2 (at index 2)"), "{report}");
    }
}

#[test]
fn injected_features_may_vary_along_axes() {
    check(
        "n0 = context.time
         n1 = input t: f64 = 1.0
         n2 = math.square n0
         n3 = context.with_time n2 n1
         n4 = math.add n3 n0
         output n4",
        &Request::new().column("t", Column::from_vec(vec![1.0_f64, 2.0])).time(100.0),
        &expect![[r#"
            value = [101.0, 104.0] index
            context.time: 2 runs, 3 elements
            math.square: 1 runs, 2 elements
            context.with_time: 1 runs, 2 elements
            math.add: 1 runs, 2 elements
        "#]],
    );
}

#[test]
fn custom_features_are_given_by_the_request_or_injected() {
    let wind = Feature::Custom("wind".into(), millstream_base::Type::F32);
    check(
        "n0 = context.feature{\"name\": \"wind\", \"type\": \"f32\"}
         n1 = const 5.0
         n2 = context.with_feature{\"name\": \"wind\", \"type\": \"f32\"} n0 n1
         n3 = math.add n0 n2
         output n3",
        &Request::new().feature(wind, Given::One(Value::F32(0.25))),
        &expect![[r#"
            value = 5.25
            context.feature: 2 runs, 2 elements
            context.with_feature: 1 runs, 1 elements
            math.add: 1 runs, 1 elements
        "#]],
    );
}

#[test]
fn a_missing_feature_is_refused_before_anything_runs() {
    let plan = plan("n0 = context.time # clock\nn1 = math.sin n0 # wave\noutput n1");
    let error = Lazy.evaluate(&plan, &Request::new()).unwrap_err();
    expect![
        "output `value` needs time, which the request does not provide (read by wave <- clock)"
    ]
    .assert_eq(&error.to_string());
}

#[test]
fn a_long_chain_runs_in_the_default_stack() {
    let mut text = String::from("n0 = input x: f32 = 0.0\nn1 = const 1.0\n");
    let n = 100_000;
    for i in 2..n {
        text += &format!("n{i} = math.add n{} n1\n", if i == 2 { 0 } else { i - 1 });
    }
    text += &format!("output n{}\n", n - 1);
    let answer = run(&plan(&text), &Request::new());
    assert_eq!(answer.value::<f32>("value"), Some((n - 2) as f32));
}
