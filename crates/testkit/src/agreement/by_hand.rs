//! Cases written by hand, each for one rule of the evaluation.

use millstream_base::id::Id;
use millstream_base::{Column, Feature, Type, Value};
use millstream_ir::answer::Answer;
use millstream_ir::{Evaluator, Graph, LogDetail, Plan, Request, Source, StepId};
use millstream_node::{Among, Call, NodeDef, ScopeRule, SocketType};
use serde_json::json;
use std::sync::Arc;

use super::check::selects;
use super::compare::difference;
use crate::generate::REGISTRY;
use crate::plans::plain_plan;
use crate::sketch::Sketch;

/// Runs all cases.
///
/// # Panics
/// If the evaluator disagrees.
pub(super) fn run_all(evaluator: &mut dyn Evaluator) {
    max_subtract_chain(evaluator);
    ladder(evaluator);
    switch_by_element(evaluator);
    switch_as_a_whole(evaluator);
    diamond(evaluator);
    nested_loops(evaluator);
    nothing_for_no_elements(evaluator);
    time_is_an_axis(evaluator);
    reduction_over_elements(evaluator);
    reduction_over_moments(evaluator);
    reduction_over_rounds(evaluator);
    scope_without_effect(evaluator);
    failure_in_one_branch(evaluator);
}

/// An answer with its graph.
struct Run {
    graph: Graph,
    plan: Plan,
    answer: Answer,
}

fn run(evaluator: &mut dyn Evaluator, sketch: Sketch<'_>, request: &Request) -> Run {
    let graph = sketch.graph;
    let plan = plain_plan(&graph).expect("few needs");
    let request = request.clone().with_log(LogDetail::Counts);
    let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
    Run { graph, plan, answer }
}

impl Run {
    /// The step of a node; `None` if no output reaches it.
    fn step(&self, source: Source) -> Option<StepId> {
        let path = self.graph.paths.get(self.graph.node(source.node).path);
        let is_it = |id: &StepId| self.plan.paths.get(self.plan.steps[*id].path) == path;
        (0..self.plan.steps.len()).map(StepId::from_index).find(is_it)
    }

    /// The number of computed elements of a node.
    fn elements(&self, source: Source) -> u64 {
        let entry = self.step(source).and_then(|step| self.answer.log.entry(step));
        entry.map_or(0, |entry| entry.elements)
    }

    fn runs(&self, source: Source) -> u32 {
        let entry = self.step(source).and_then(|step| self.answer.log.entry(step));
        entry.map_or(0, |entry| entry.runs)
    }

    fn expect(&self, case: &str, output: &str, expected: impl Into<Column>) {
        let output = self.answer.output(output).expect("the graph has the output");
        let series = output
            .value
            .as_ref()
            .unwrap_or_else(|| panic!("{case}: no value because of {:?}", self.answer.failures));
        if let Some(difference) = difference(&expected.into(), &self.answer.full_column(series)) {
            panic!("{case}: {difference}");
        }
    }
}

/// Two values alternate through 10,000 levels; each node runs once.
fn max_subtract_chain(evaluator: &mut dyn Evaluator) {
    const LEVELS: u32 = 10_000;
    let mut s = Sketch::new(&REGISTRY);
    let time = s.node("context.time", &[]);
    let wind = s.node_with("context.feature", &json!({"name": "wind", "type": "f64"}), &[]);
    let (mut a, mut b) = (time, wind);
    for _ in 0..LEVELS {
        let larger = s.node("math.maximum", &[("a", a), ("b", b)]);
        let less = s.node("math.subtract", &[("a", a), ("b", b)]);
        (a, b) = (larger, less);
    }
    s.output("value", b);
    let wind = Feature::Custom("wind".into(), Type::F64);
    let given = millstream_ir::request::Given::One(Value::F64(2.0));
    let request = Request::new().time(3.0).feature(wind, given);
    let run = run(evaluator, s, &request);
    let (mut x, mut y) = (3.0_f64, 2.0_f64);
    for _ in 0..LEVELS {
        (x, y) = (x.max(y), x - y);
    }
    run.expect("max/subtract chain", "value", vec![y]);
    let too_often = run.answer.log.entries.iter().filter(|entry| entry.runs > 1).count();
    assert_eq!(too_often, 0, "max/subtract chain: steps that ran more than once");
}

/// Each of `n` levels reads the level below at two times; only `n + 1` different times occur.
fn ladder(evaluator: &mut dyn Evaluator) {
    const RUNGS: u32 = 40;
    let mut s = Sketch::new(&REGISTRY);
    let time = s.node("context.time", &[]);
    let base = s.node("math.square", &[("x", time)]);
    let by = s.constant(1.0_f64);
    let mut top = base;
    let mut expected: Vec<f64> = (0..=RUNGS).map(|i| f64::from(i * i)).collect();
    for _ in 0..RUNGS {
        let later = s.node("time.shift", &[("value", top), ("by", by)]);
        top = s.node("math.add", &[("a", top), ("b", later)]);
        expected = expected.windows(2).map(|pair| pair[0] + pair[1]).collect();
    }
    s.output("value", top);
    let run = run(evaluator, s, &Request::new().time(0.0));
    run.expect("ladder of shifts", "value", expected);
    assert_eq!(run.runs(base), RUNGS + 1, "ladder of shifts: runs of the base");
    assert_eq!(run.runs(top), 1, "ladder of shifts: runs of the top");
}

/// If a condition differs between elements, each side is computed for the elements that take it or,
/// since both are cheap, for all.
fn switch_by_element(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let x = s.input("x", 0.0_f32);
    let limit = s.constant(2.0_f32);
    let condition = s.node("compare.less", &[("a", x), ("b", limit)]);
    let low = s.node("math.negate", &[("x", x)]);
    let high = s.node("math.square", &[("x", x)]);
    let value =
        s.node("control.switch", &[("condition", condition), ("true", low), ("false", high)]);
    s.output("value", value);
    let request = Request::new().column("x", vec![0.5_f32, 3.0, 4.0, 1.0, 5.0]);
    let run = run(evaluator, s, &request);
    run.expect("switch by element", "value", vec![-0.5_f32, 9.0, 16.0, -1.0, 25.0]);
    let counts = (run.elements(condition), run.elements(low), run.elements(high));
    let expected = if selects(evaluator) && counts == (5, 5, 5) { counts } else { (5, 2, 3) };
    assert_eq!(counts, expected, "switch by element: elements of condition and sides");
}

/// If a condition is one value, the other side does not run at all.
fn switch_as_a_whole(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let (x, side) = (s.input("x", 0.0_f32), s.input("side", true));
    let low = s.node("math.negate", &[("x", x)]);
    let high = s.node("math.square", &[("x", x)]);
    let value = s.node("control.switch", &[("condition", side), ("true", low), ("false", high)]);
    s.output("value", value);
    let run = run(evaluator, s, &Request::new().column("x", vec![1.0_f32, 2.0]));
    run.expect("switch as a whole", "value", vec![-1.0_f32, -2.0]);
    assert_eq!((run.runs(low), run.runs(high)), (1, 0), "switch as a whole: runs of the sides");
}

/// A node with several readers runs once.
fn diamond(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let x = s.input("x", 3.0_f32);
    let shared = s.node("math.square", &[("x", x)]);
    let left = s.node("math.negate", &[("x", shared)]);
    let right = s.node("math.add", &[("a", shared), ("b", x)]);
    let sum = s.node("math.add", &[("a", left), ("b", right)]);
    s.output("value", sum);
    s.output("shared", shared);
    let run = run(evaluator, s, &Request::new());
    run.expect("diamond", "value", vec![3.0_f32]);
    assert_eq!(run.runs(shared), 1, "diamond: runs of the shared node");
}

/// A loop in a loop, whose number of rounds is the number of the outer round.
fn nested_loops(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let inner = s.node("context.index", &[]);
    let outer = s.node_with("context.index", &json!({"level": 1}), &[]);
    let ten = s.constant(10_i32);
    let tens = s.node("math.multiply", &[("a", outer), ("b", ten)]);
    let item = s.node("math.add", &[("a", tens), ("b", inner)]);
    let row = s.node("list.generate", &[("count", inner), ("item", item)]);
    let total = s.node("list.sum", &[("list", row)]);
    let four = s.constant(4_i32);
    let totals = s.node("list.generate", &[("count", four), ("item", total)]);
    s.output("value", totals);
    let run = run(evaluator, s, &Request::new());
    // 0; 10; 20 + 21; 30 + 31 + 32
    let expected = Value::List(Column::from_vec(vec![0_i32, 10, 41, 93]));
    run.expect("nested loops", "value", Column::filled(&expected, 1));
    assert_eq!(run.elements(item), 6, "nested loops: elements of the item");
    assert_eq!(run.elements(total), 4, "nested loops: elements of the total");
}

/// Without elements, and in loops without rounds, nothing runs.
fn nothing_for_no_elements(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let index = s.node("context.index", &[]);
    let square = s.node("math.square", &[("x", index)]);
    let negated = s.node("math.negate", &[("x", index)]);
    let zero = s.constant(0_i32);
    let list = s.node("list.generate", &[("count", zero), ("item", negated)]);
    s.output("squares", square);
    s.output("list", list);
    let run = run(evaluator, s, &Request::new().count(0));
    run.expect("no elements", "squares", Vec::<i32>::new());
    assert_eq!((run.runs(square), run.elements(square)), (0, 0), "no elements: runs");
    assert_eq!((run.runs(negated), run.elements(negated)), (0, 0), "no rounds: runs");
}

/// Several moments are computed in one call; nodes that do not need the time run once.
fn time_is_an_axis(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let (x, time) = (s.input("x", 0.0_f64), s.node("context.time", &[]));
    let square = s.node("math.square", &[("x", x)]);
    let half = s.constant(0.5_f64);
    let slow = s.node("math.multiply", &[("a", time), ("b", half)]);
    let sum = s.node("math.add", &[("a", square), ("b", slow)]);
    s.output("value", sum);
    let request = Request::new().column("x", vec![1.0_f64, 2.0, 3.0]).times(vec![0.0, 10.0]);
    let run = run(evaluator, s, &request);
    run.expect("time as an axis", "value", vec![1.0_f64, 4.0, 9.0, 6.0, 9.0, 14.0]);
    let counts = (run.elements(square), run.elements(slow), run.elements(sum));
    assert_eq!(counts, (3, 2, 6), "time as an axis: elements");
}

/// A reduction needs the extent of its axis but not the value, so it runs once for all elements,
/// and its input is shared with readers by element.
fn reduction_over_elements(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let (x, time) = (s.input("x", 0.0_f64), s.node("context.time", &[]));
    let square = s.node("math.square", &[("x", x)]);
    let mean = s.node("reduce.mean", &[("value", square)]);
    let deviation = s.node("math.subtract", &[("a", square), ("b", mean)]);
    let later = s.node("math.multiply", &[("a", square), ("b", time)]);
    let sum = s.node("reduce.sum", &[("value", later)]);
    s.output("deviation", deviation);
    s.output("sum", sum);
    let request = Request::new().column("x", vec![1.0_f64, 2.0, 3.0, 0.0]).times(vec![1.0, 2.0]);
    let run = run(evaluator, s, &request);
    let row = [-2.5_f64, 0.5, 5.5, -3.5];
    run.expect("deviation from the mean", "deviation", [row, row].concat());
    run.expect("sum over elements", "sum", [[14.0_f64; 4], [28.0; 4]].concat());
    let counts = (run.elements(square), run.elements(mean), run.elements(sum));
    assert_eq!(counts, (4, 1, 2), "reductions: elements");
}

/// A reduction along the moments of the request reads their values, shifted with the context, and
/// those of the ticks; inside an injected time there is one moment.
fn reduction_over_moments(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let (x, time) = (s.input("x", 0.0_f64), s.node("context.time", &[]));
    let moved = s.node("math.multiply", &[("a", x), ("b", time)]);
    let along = json!({ "feature": "time" });
    let mean = s.node_with("reduce.mean", &along, &[("value", moved)]);
    let off = s.node("math.subtract", &[("a", moved), ("b", mean)]);
    let later = s.constant(10.0_f64);
    let shifted = s.node("time.shift", &[("value", mean), ("by", later)]);
    let fixed = s.node("context.with_time", &[("value", mean), ("time", later)]);
    let last = s.node_with("reduce.last", &along, &[("value", time)]);
    let count = s.node_with("context.count", &along, &[]);
    for (name, source) in
        [("off", off), ("shifted", shifted), ("fixed", fixed), ("last", last), ("count", count)]
    {
        s.output(name, source);
    }
    let request = Request::new().column("x", vec![1.0_f64, 2.0]).times(vec![0.0, 1.0, 5.0]);
    let run = run(evaluator, s, &request);
    run.expect("off the mean moment", "off", vec![-2.0_f64, -4.0, -1.0, -2.0, 3.0, 6.0]);
    run.expect("the mean of later moments", "shifted", [12.0_f64, 24.0].repeat(3));
    run.expect("one injected moment", "fixed", [10.0_f64, 20.0].repeat(3));
    run.expect("the last moment", "last", vec![5.0_f64; 6]);
    run.expect("the number of moments", "count", vec![3_i32; 6]);
    // Three contexts: the moments as given, shifted, and fixed.
    assert_eq!((run.runs(mean), run.elements(mean)), (3, 6), "moments: runs of the mean");
    assert_eq!(run.elements(last), 1, "moments: the last one is one value");
}

/// A node that evaluates `item` for each of `count` rounds and gives the list.
fn rounds() -> Arc<NodeDef> {
    Arc::new(
        NodeDef::new("test.rounds", "")
            .generic("T", Among::Any)
            .input("item", SocketType::Generic(0), "")
            .scope(ScopeRule::Each { feature: Feature::Iteration, count: 1 })
            .input("count", Type::I32, "")
            .output("value", SocketType::ListOf(0), "")
            .function(hand_on),
    )
}

/// A node that gives its source as a list over the rounds of the nearest loop.
fn over_rounds() -> Arc<NodeDef> {
    Arc::new(
        NodeDef::new("test.over_rounds", "")
            .generic("T", Among::Any)
            .input("item", SocketType::Generic(0), "")
            .scope(ScopeRule::Along { feature: Feature::Iteration, level: 0 })
            .output("value", SocketType::ListOf(0), "")
            .function(hand_on),
    )
}

#[expect(clippy::unnecessary_wraps, reason = "functions of nodes may fail")]
fn hand_on(call: &mut Call<'_>) -> Result<(), millstream_node::Failure> {
    let argument = call.argument(0);
    let values: Vec<Value> = (0..call.extent()).map(|i| argument.value(i)).collect();
    let ty = values.first().map(Value::ty);
    match ty.and_then(|ty| ty.collect(&mut values.into_iter())) {
        Some(column) => call.set(0, column),
        None => call.set_one(0, argument.value(0)),
    }
    Ok(())
}

/// Loops and reductions over a feature other than `index` do not affect the elements.
fn reduction_over_rounds(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let (index, round) = (s.node("context.index", &[]), s.node("context.iteration", &[]));
    let ten = s.constant(10_i32);
    let tens = s.node("math.multiply", &[("a", index), ("b", ten)]);
    let both = s.node("math.add", &[("a", tens), ("b", round)]);
    let all = s.node_of(&over_rounds(), &json!({}), &[("item", both)]).expect("fits");
    let total = s.node("list.sum", &[("list", all)]);
    let of_round = s.node("math.subtract", &[("a", total), ("b", round)]);
    let three = s.constant(3_i32);
    let list =
        s.node_of(&rounds(), &json!({}), &[("item", of_round), ("count", three)]).expect("fits");
    s.output("value", list);
    let run = run(evaluator, s, &Request::new().count(2));
    let lists = [vec![3_i32, 2, 1], vec![33, 32, 31]];
    let lists = lists.map(|items| Value::List(Column::from_vec(items)));
    let ty = lists[0].ty();
    let lists = ty.collect(&mut lists.into_iter()).expect("lists of one type");
    run.expect("reduction over rounds", "value", lists);
    let counts = (run.elements(tens), run.elements(both), run.elements(total));
    assert_eq!(counts, (2, 6, 2), "reduction over rounds: elements");
}

/// A node that does not need the time runs once however it is shifted, and the argument of the
/// shift is not evaluated.
fn scope_without_effect(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let (x, y) = (s.input("x", 2.0_f64), s.input("y", 3.0_f64));
    let square = s.node("math.square", &[("x", x)]);
    let by = s.node("math.negate", &[("x", y)]);
    let later = s.node("time.shift", &[("value", square), ("by", by)]);
    let fixed = s.node("context.with_time", &[("value", later), ("time", by)]);
    let sum = s.node("math.add", &[("a", square), ("b", fixed)]);
    s.output("value", sum);
    let run = run(evaluator, s, &Request::new());
    run.expect("scope without effect", "value", vec![8.0_f64]);
    assert_eq!((run.runs(square), run.runs(by)), (1, 0), "scope without effect: runs");
}

/// A failure affects only the nodes that depend on it.
fn failure_in_one_branch(evaluator: &mut dyn Evaluator) {
    let mut s = Sketch::new(&REGISTRY);
    let index = s.node("context.index", &[]);
    let one = s.constant(1.5_f32);
    let list = s.node("list.of", &[("items", one), ("items", one)]);
    let item = s.node("list.get", &[("list", list), ("index", index)]);
    let bad = s.node("math.add", &[("a", item), ("b", one)]);
    let good = s.node("math.negate", &[("x", index)]);
    s.output("bad", bad);
    s.output("good", good);
    let run = run(evaluator, s, &Request::new().count(4));
    run.expect("failure in one branch", "good", vec![0_i32, -1, -2, -3]);
    let output = run.answer.output("bad").expect("the graph has the output");
    assert!(output.value.is_none(), "failure in one branch: the other has no value");
    let [failure] = &run.answer.failures[..] else {
        panic!("failure in one branch: one node fails, not {:?}", run.answer.failures);
    };
    assert_eq!(failure.cell, [("index", 2)], "failure in one branch: the lowest element");
    assert_eq!(run.runs(bad), 0, "failure in one branch: what reads it does not run");
}
