//! Outputs of which some cells fail: the others have the values that they have one by one.

use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_base::same::Same;
use millstream_base::{Column, Footprint, Limits, Mask, Value};
use millstream_ir::answer::{Answer, OutputAnswer};
use millstream_ir::request::{LogDetail, RequestAxis};
use millstream_ir::{Evaluator, Plan, Request};
use millstream_run::{
    AnyEvaluator, Chunked, EVALUATORS, Incremental, Lazy, Parts, Varying, partial, ticks,
};
use millstream_testkit::agreement::expect;
use millstream_testkit::generate::{Case, REGISTRY, cases, cases_with_repeats};
use millstream_testkit::naive::Expected;
use millstream_testkit::plans::compiled_plan;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::lazy::plan;

/// The evaluators with all their settings.
pub(crate) fn evaluators() -> impl Iterator<Item = (&'static str, AnyEvaluator)> {
    EVALUATORS.iter().flat_map(|row| row.settings.iter().map(|make| (row.name, make())))
}

/// The known cells of an output, one for each cell of the request.
pub(crate) fn known(answer: &Answer, output: &OutputAnswer) -> Vec<Option<Value>> {
    let Some(series) = output.known() else { return vec![None; answer.n_cells()] };
    let column = answer.full_column(series);
    let missing = match &output.partial {
        Some(partial) => answer.missing_over(partial, &RequestAxis::ALL),
        None => Mask::empty(),
    };
    let cells = column.iter().enumerate();
    cells.map(|(i, value)| (!missing.contains(i)).then_some(value)).collect()
}

pub(crate) fn same(a: &[Option<Value>], b: &[Option<Value>]) -> bool {
    let is_same = |(a, b): (&Option<Value>, &Option<Value>)| match (a, b) {
        (Some(a), Some(b)) => a.same(b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(is_same)
}

/// Compares the cells of all outputs with those that the model evaluates one by one. Returns the
/// number of outputs of which some cells failed.
fn check(
    plan: &Plan,
    request: &Request,
    expected: &Expected,
    evaluator: &mut dyn Evaluator,
) -> Result<usize, String> {
    let name = evaluator.name();
    let answer = partial::evaluate(evaluator, plan, &request.clone().with_partial());
    let answer = answer.map_err(|error| format!("{name}: {error}"))?;
    if answer.n_cells() == 0 || !plan.state_writers.is_empty() {
        return Ok(0);
    }
    let mut n_partial = 0;
    for (output, cells) in answer.outputs.iter().zip(&expected.cells) {
        let found = known(&answer, output);
        if !same(&found, cells) {
            return Err(format!("{name}, {}: {found:?} instead of {cells:?}", output.name));
        }
        let is_partial = output.value.is_none() && cells.iter().any(Option::is_some);
        if is_partial != output.partial.is_some() {
            return Err(format!("{name}, {}: {:?}", output.name, output.partial));
        }
        n_partial += usize::from(is_partial);
    }
    let n_failed = answer.failures.len();
    if n_failed != expected.failed.len() {
        return Err(format!("{name}: {:?} instead of {:?}", answer.failures, expected.failed));
    }
    Ok(n_partial)
}

#[test]
fn cells_of_generated_graphs_agree_with_the_model() {
    let config = Config { failure_persistence: None, max_shrink_iters: 4096, ..Config::default() };
    let mut runner = if std::env::var_os("PROPTEST_CASES").is_some() {
        TestRunner::new(config)
    } else {
        let config = Config { cases: 1500, ..config };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    let n_partial = AtomicUsize::new(0);
    let strategy = prop_oneof![3 => cases(14), 1 => cases_with_repeats(12)];
    let outcome = runner.run(&strategy, |case: Case| {
        let request = case.request.request();
        let compiled = compiled_plan(&case.graph, &REGISTRY).expect("it compiles");
        for plan in [&*case.plain, &compiled] {
            let Ok(expected) = expect(plan, &request) else { continue };
            if expected.failed.is_empty() {
                continue;
            }
            for (_, mut evaluator) in evaluators() {
                // Evaluators that store results know the failing elements from the second time on.
                for _ in 0..if evaluator.caches_results() { 3 } else { 1 } {
                    let checked = check(plan, &request, &expected, &mut *evaluator);
                    let n = checked.map_err(TestCaseError::fail)?;
                    n_partial.fetch_add(n, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let n_partial = n_partial.into_inner();
    assert!(n_partial > 200, "some cells failed in {n_partial} outputs only");
}

/// The number of elements of all runs, without those of constants and inputs.
fn n_elements(answer: &Answer) -> u64 {
    answer.log.entries.iter().map(|entry| entry.elements).sum()
}

#[test]
fn a_change_beside_failing_elements_runs_the_changed_ones() {
    let plan = plan(
        "n0 = input xs: list<f32> = [1.0, 2.0, 3.0]
        n1 = input i: i32
        n2 = list.get n0 n1
        n3 = math.multiply n2 n2
        n4 = input t: f32
        n5 = reduce.sum n4
        output y n3
        output sum n5
        output x n2",
    );
    let n = 3000;
    let column = Column::from_vec((0..n).map(|i| i as f32).collect());
    let number = |i: usize| (i % 3) as i32;
    let mut numbers: Vec<i32> = (0..n).map(number).collect();
    for element in [7, 800, 2999] {
        numbers[element] = 9;
    }
    let of_lazy = |request: &Request| {
        let request = request.clone().with_partial();
        partial::evaluate(&mut Lazy, &plan, &request).expect("it fits")
    };
    let mut evaluator = Incremental::new();
    let mut evaluate = |numbers: &[i32]| {
        let request = Request::new().column("i", indices(numbers)).column("t", column.clone());
        let mut asked = request.clone().with_partial();
        asked.log = LogDetail::Counts;
        let answer = partial::evaluate(&mut evaluator, &plan, &asked).expect("it fits");
        let expected = of_lazy(&request);
        for (output, right) in answer.outputs.iter().zip(&expected.outputs) {
            assert!(same(&known(&answer, output), &known(&expected, right)), "{}", output.name);
        }
        assert_eq!(answer.failures, expected.failures);
        n_elements(&answer)
    };
    assert!(evaluate(&numbers) >= 2 * (n as u64 - 3));
    // Of each change, the changed elements and those that fail run, in each step, and for each
    // output again if they fail.
    let most = |n_changed: u64, n_failing: u64| 2 * n_changed + 2 * 3 * n_failing;
    numbers[100] = 2;
    assert!(evaluate(&numbers) <= most(1, 3));
    // Another element fails, and one does no longer.
    numbers[1500] = -1;
    assert!(evaluate(&numbers) <= most(1, 4));
    numbers[7] = 1;
    assert!(evaluate(&numbers) <= most(1, 4));
    assert!(evaluate(&numbers) <= most(1, 3));
    for element in [800, 1500, 2999] {
        numbers[element] = 0;
    }
    assert!(evaluate(&numbers) <= most(3, 3));
    // Those that failed are stored now.
    assert!(evaluate(&numbers) <= most(3, 0));
    numbers[12] = 2;
    assert!(evaluate(&numbers) <= most(1, 0));
}

#[test]
fn elements_that_fail_beside_an_arm_that_is_not_taken_leave_the_choice() {
    let plan = plan(
        "n0 = input xs: list<f32> = [1.0, 2.0, 3.0]
        n1 = input i: i32
        n2 = list.get n0 n1
        n3 = input x: f32
        n4 = input most: f32 = 0.5
        n5 = compare.less n4 n3
        n6 = control.switch n5 n2 n3
        output y n2
        output g n6",
    );
    let n = 500;
    let column = Column::from_vec((0..n).map(|i| (i * 7 % 10) as f32 / 10.0).collect());
    let mut numbers: Vec<i32> = (0..n).map(|i| i % 3).collect();
    let mut evaluator = Incremental::new();
    for (element, number) in [(0, 0), (7, -1), (8, -1), (20, 1), (7, 1), (7, -1), (9, 5)] {
        numbers[element] = number;
        let request = Request::new().column("i", indices(&numbers)).column("x", column.clone());
        let request = request.with_partial();
        let answer = partial::evaluate(&mut evaluator, &plan, &request).expect("it fits");
        let expected = partial::evaluate(&mut Lazy, &plan, &request).expect("it fits");
        for (output, right) in answer.outputs.iter().zip(&expected.outputs) {
            assert!(same(&known(&answer, output), &known(&expected, right)), "{}", output.name);
        }
        assert_eq!(answer.failures, expected.failures);
    }
}

#[test]
fn a_change_runs_once_in_a_chain_that_several_choices_read() {
    let plan = plan(
        "n0 = input x: f32
        n1 = math.add n0 n0
        n2 = math.multiply n1 n1
        n3 = input most: f32 = 0.5
        n4 = input least: f32 = 0.2
        n5 = compare.less n3 n0
        n6 = compare.less n0 n4
        n7 = control.switch n5 n0 n2
        n8 = control.switch n6 n0 n2
        output g n7
        output h n8",
    );
    let n = 2000;
    let mut numbers: Vec<f32> = (0..n).map(|i| (i * 37 % 1000) as f32 / 1000.0).collect();
    let mut evaluator = Incremental::new();
    let mut ran = Vec::new();
    for (element, number) in [(0, 0.0), (500, 0.7), (501, 0.1), (502, 0.3), (500, 0.15), (7, 0.6)] {
        numbers[element] = number;
        let mut request = Request::new().column("x", Column::from_vec(numbers.clone()));
        request.log = LogDetail::Counts;
        let answer = evaluator.evaluate(&plan, &request).expect("it fits");
        let expected = Lazy.evaluate(&plan, &request).expect("it fits");
        for output in ["g", "h"] {
            assert_eq!(answer.column::<f32>(output), expected.column::<f32>(output), "{output}");
        }
        ran.push(n_elements(&answer));
    }
    // Two selectors, two choices, and a chain of two.
    assert!(ran[1..].iter().all(|n| *n <= 8), "{ran:?}");
}

const GET: &str = "n0 = input xs: list<f32> = [1.0, 2.0, 3.0]
    n1 = input i: i32
    n2 = list.get n0 n1
    n3 = reduce.sum n2
    n4 = math.multiply n2 n2
    output y n4
    output sum n3";

fn indices(all: &[i32]) -> Column {
    Column::from_vec(all.to_vec())
}

#[test]
fn elements_that_do_not_fail_have_their_values_and_sums_over_all_have_none() {
    let plan = plan(GET);
    let request = Request::new().column("i", indices(&[2, 7, 0, -1, 1]));
    for (name, mut evaluator) in evaluators() {
        let without = partial::evaluate(&mut *evaluator, &plan, &request).expect("it fits");
        assert!(without.outputs.iter().all(|it| it.known().is_none()), "{name}");
        let asked = request.clone().with_partial();
        let answer = partial::evaluate(&mut *evaluator, &plan, &asked).expect("it fits");
        let y = answer.partial_column::<f32>("y").expect("some do not fail");
        assert_eq!(y, [Some(9.0), None, Some(1.0), None, Some(4.0)], "{name}");
        assert!(answer.output("y").expect("asked").value.is_none(), "{name}");
        assert_eq!(answer.column::<f32>("y"), None, "{name}");
        assert!(answer.output("sum").expect("asked").known().is_none(), "{name}");
        assert_eq!(answer.failures[0].cell, [("index", 1)], "{name}");
        let masked = asked.mask(Mask::range(1..3));
        let answer = partial::evaluate(&mut *evaluator, &plan, &masked).expect("it fits");
        assert_eq!(answer.partial_column::<f32>("y"), Some(vec![None, Some(1.0)]), "{name}");
    }
}

#[test]
fn a_failure_behind_another_one_is_told() {
    let plan = plan(
        "n0 = input xs: list<f32> = [1.0, 2.0, 3.0]
         n1 = input i: i32
         n2 = list.get n0 n1  # first
         n3 = convert.to_i32 n2
         n4 = list.get n0 n3  # second
         output y n4",
    );
    let request = Request::new().column("i", indices(&[0, 9, 2, 1])).with_partial();
    for (name, mut evaluator) in evaluators() {
        let answer = partial::evaluate(&mut *evaluator, &plan, &request).expect("it fits");
        let y = answer.partial_column::<f32>("y");
        assert_eq!(y, Some(vec![Some(2.0), None, None, Some(3.0)]), "{name}");
        let cells: Vec<_> = answer.failures.iter().map(|failure| failure.cell[0].1).collect();
        assert_eq!(cells, [1, 2], "{name}");
    }
}

#[test]
fn moments_and_views_fail_each_for_themselves() {
    let plan = plan(GET);
    let views = vec![Footprint::of_size(2, 2), Footprint::of_size(3, 3)];
    let request = Request::new().times(vec![0.0, 1.0, 2.0]).views(views);
    let of_time = request.clone().per_time("i", indices(&[0, 4, 1])).with_partial();
    let of_view = request.per_view("i", indices(&[5, 2])).with_partial();
    for (name, mut evaluator) in evaluators() {
        let answer = partial::evaluate(&mut *evaluator, &plan, &of_time).expect("it fits");
        let y = answer.output("y").and_then(|it| it.partial.as_ref()).expect("some do not fail");
        assert_eq!((&*y.series.axes, y.missing.len()), (&[RequestAxis::Time][..], 1), "{name}");
        let answer = partial::evaluate(&mut *evaluator, &plan, &of_view).expect("it fits");
        let y = answer.partial_column::<f32>("y").expect("some do not fail");
        assert_eq!(y, [None, Some(9.0), None, Some(9.0), None, Some(9.0)], "{name}");
    }
}

#[test]
fn frames_of_a_document_with_state_fail_each_for_themselves() {
    let plan = plan(
        "n0 = input xs: list<f32> = [1.0, 2.0, 3.0]
         n1 = input i: i32
         n2 = input \"a.total\": f32 = 0.0
         n3 = input one: f32 = 1.0
         n4 = math.add n2 n3
         n5 = list.get n0 n1
         n6 = math.add n4 n5
         output y n6
         output \"a.total\" n4",
    );
    let frames = Request::new().frames(vec![0, 1, 2]).with_partial();
    let by_frame = frames.clone().per_time("i", indices(&[0, 3, 2]));
    let by_element = frames.column("i", indices(&[0, 3]));
    for (name, mut evaluator) in evaluators() {
        let answer = ticks::evaluate(&mut *evaluator, &plan, &by_frame).expect("it fits");
        let y = answer.partial_column::<f32>("y");
        assert_eq!(y, Some(vec![Some(2.0), None, Some(6.0)]), "{name}");
        assert_eq!(answer.failures[0].cell, [("time", 1)], "{name}");
        let answer = ticks::evaluate(&mut *evaluator, &plan, &by_element).expect("it fits");
        let y = answer.partial_column::<f32>("y");
        assert_eq!(y, Some(vec![Some(2.0), None, Some(3.0), None, Some(4.0), None]), "{name}");
    }
}

#[test]
fn blocks_of_elements_lack_the_elements_that_fail() {
    let plan = plan(GET);
    let request = |all: &[i32]| Request::new().column("i", indices(all)).output("y").with_partial();
    for (name, mut evaluator) in evaluators() {
        let first = request(&[0, 1]);
        let mut parts = Parts::new(&*evaluator, &plan, &first, Varying::Elements);
        let answer = parts.evaluate(&mut *evaluator, first).expect("it fits");
        assert_eq!(answer.column::<f32>("y"), Some(vec![1.0, 4.0]), "{name}");
        let answer = parts.evaluate(&mut *evaluator, request(&[7, 2])).expect("it fits");
        assert_eq!(answer.partial_column::<f32>("y"), Some(vec![None, Some(9.0)]), "{name}");
    }
}

/// An index for each of many elements: outside of a list of three for one out of `every`, at random.
fn scattered(n: u32, every: u32) -> Vec<i32> {
    let hash = |i: u32| i.wrapping_mul(0x9E37_79B9).rotate_left(15).wrapping_mul(0x85EB_CA6B) >> 8;
    (0..n).map(|i| if hash(i) % every == 0 { 7 } else { (i % 3) as i32 }).collect()
}

#[test]
fn all_elements_are_found_that_do_not_fail_however_many_do() {
    let plan = plan(GET);
    for (every, is_sorted) in [(100, false), (2, false), (1, false), (2, true)] {
        let mut all = scattered(70_000, every);
        if is_sorted {
            all.sort_unstable_by_key(|i| -i);
        }
        let request = Request::new().column("i", indices(&all)).output("y").with_partial();
        let answer = partial::evaluate(&mut Lazy, &plan, &request).expect("it fits");
        let expected = all.iter().map(|i| (*i < 3).then(|| ((i + 1) * (i + 1)) as f32));
        let expected: Vec<Option<f32>> = expected.collect();
        let found = answer.partial_column::<f32>("y").unwrap_or_else(|| vec![None; all.len()]);
        assert!(found == expected, "one out of {every}");
        let first = expected.iter().position(Option::is_none);
        assert_eq!(answer.failures[0].cell, [("index", first.expect("one fails"))]);
        assert_eq!(
            answer.output("y").and_then(|it| it.partial.as_ref()).map_or(0, |it| it.n_untried),
            0
        );
    }
}

#[test]
fn blocks_of_elements_stand_side_by_side_in_each_moment() {
    let plan = plan(
        "n0 = input xs: list<f32> = [1.0, 2.0, 3.0]
         n1 = input i: i32
         n2 = input t: f32
         n3 = list.get n0 n1
         n4 = math.add n3 n2
         output y n4
         output at n2",
    );
    let all = scattered(50_000, 10);
    let request = Request::new().column("i", indices(&all)).times(vec![0.0, 1.0, 2.0]);
    let request = request.per_time("t", Column::from_vec(vec![0.0_f32, 10.0, 20.0])).with_partial();
    let some = Mask::from_predicate(&Mask::full(all.len()), |i| i % 5 != 0);
    for (name, mut evaluator) in evaluators() {
        for mask in [None, Some(&some)] {
            let (request, elements) = match mask {
                Some(mask) => (request.clone().mask(mask.clone()), mask.clone()),
                None => (request.clone(), Mask::full(all.len())),
            };
            let answer = partial::evaluate(&mut *evaluator, &plan, &request).expect("it fits");
            let one = |t: f32| {
                let of = elements.iter().map(|i| all[i]);
                of.map(move |i| (i < 3).then(|| (i + 1) as f32 + t)).collect::<Vec<_>>()
            };
            let expected = [one(0.0), one(10.0), one(20.0)].concat();
            let found = answer.partial_column::<f32>("y").expect("some do not fail");
            assert!(found == expected, "{name}");
        }
    }
}

#[test]
fn blocks_shrink_until_their_results_fit() {
    let plan = plan(GET);
    let all = scattered(60_000, 10);
    let limits = Limits { bytes: 1_000_000, ..Limits::default() };
    let request = Request::new().column("i", indices(&all)).output("y").with_partial();
    let answer = partial::evaluate(&mut Chunked::new(), &plan, &request.with_limits(limits));
    let answer = answer.expect("it fits");
    let found = answer.output("y").and_then(|it| it.partial.as_ref()).expect("some do not fail");
    let n_bad = all.iter().filter(|i| **i == 7).count();
    assert_eq!((found.missing.len(), found.n_untried), (n_bad, 0));
}
