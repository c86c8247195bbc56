//! Every evaluator agrees with the model of the test kit, in values and in runs.

use millstream_ir::request::Bound;
use millstream_ir::{Answer, EvalError, Evaluator, Plan, Request};
use millstream_run::{AnyEvaluator, EVALUATORS, EvaluatorRow, Lazy};
use millstream_testkit::agreement::{
    cases_by_hand, fixtures, generated, reuse_suite, ticks_fixtures, ticks_suite,
};

/// Makes an evaluator.
type Make = fn() -> AnyEvaluator;

/// Checks all rows of the table at the same time, each with all its settings.
fn for_all(check: impl Fn(&EvaluatorRow, Make) + Sync) {
    std::thread::scope(|scope| {
        for row in EVALUATORS {
            let check = &check;
            scope.spawn(move || row.settings.iter().for_each(|make| check(row, *make)));
        }
    });
}

/// An evaluator without stored results. The suite `incremental` tests what evaluators store.
struct Forgetful {
    name: &'static str,
    make: Make,
}

impl Evaluator for Forgetful {
    fn name(&self) -> &'static str {
        self.name
    }

    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        (self.make)().evaluate_bound(plan, request, bound)
    }
}

/// The evaluator of a row, without stored results.
fn without_results(row: &EvaluatorRow, make: Make) -> AnyEvaluator {
    let evaluator = make();
    if evaluator.caches_results() {
        return Box::new(Forgetful { name: row.name, make });
    }
    evaluator
}

/// The number of cases, unless the environment gives another.
fn cases(n: u64) -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(n)
}

#[test]
fn all_agree_by_hand() {
    for_all(|row, make| cases_by_hand(&mut *without_results(row, make)));
}

#[test]
fn all_agree_on_what_once_failed() {
    for_all(|row, make| fixtures(&mut *without_results(row, make)));
}

#[test]
fn all_agree_on_generated_graphs() {
    for_all(|row, make| generated(&mut *without_results(row, make)));
}

#[test]
fn all_agree_on_ticks_of_generated_documents() {
    for_all(|row, make| {
        let mut evaluator = make();
        // With state in scopes the others evaluate like `lazy`.
        let is_other = row.name != "lazy" && !evaluator.caches_results();
        ticks_suite(&mut *evaluator, 0..if is_other { cases(400) / 4 } else { cases(400) });
    });
}

#[test]
fn all_agree_on_ticks_that_once_failed() {
    for_all(|_, make| ticks_fixtures(&mut *make()));
}

#[test]
fn results_of_other_documents_and_requests_do_not_show() {
    for_all(|row, make| match row.name {
        "lazy" => {}
        "incremental" => reuse_suite(&mut *make(), &mut Lazy, 0..cases(100)),
        _ => reuse_suite(&mut *make(), &mut Lazy, 0..cases(100) / 4),
    });
}
