//! The suite that every evaluator passes: it agrees with the model bit for bit, and in what it
//! runs.
//!
//! Three parts: cases written by hand, each for one rule of the evaluation; fixtures, which are
//! cases that once failed (`tests/graphs`, and `tests/ticks` for stateful documents); and generated
//! cases. By default the generated cases are the same in every run; `PROPTEST_CASES` sets their
//! number, and then each run has others.

mod by_hand;
mod check;
mod compare;
mod reuse;
mod ticks;

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_ir::Evaluator;
use proptest::prop_oneof;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

pub use check::{Verdict, check, expect};
pub use compare::difference;
pub use reuse::reuse_suite;
pub use ticks::{ticking_plans, ticks_fixtures, ticks_suite};

use crate::generate::{Case, REGISTRY, cases, cases_with_repeats};

/// Runs the whole suite.
///
/// # Panics
/// If the evaluator disagrees with the model; the message contains the case as a fixture.
pub fn agreement_suite(evaluator: &mut dyn Evaluator) {
    by_hand::run_all(evaluator);
    fixtures(evaluator);
    generated(evaluator);
}

/// Runs the cases written by hand.
///
/// # Panics
/// If the evaluator disagrees.
pub fn cases_by_hand(evaluator: &mut dyn Evaluator) {
    by_hand::run_all(evaluator);
}

/// Runs the fixtures.
///
/// # Panics
/// If a fixture cannot be read, or the evaluator disagrees.
pub fn fixtures(evaluator: &mut dyn Evaluator) {
    for (name, case) in all_fixtures() {
        match check(evaluator, &case) {
            Ok(Verdict::Agrees) => {}
            Ok(Verdict::Skipped(refusal)) => panic!("{name}: the model refuses it: {refusal}"),
            Err(problem) => panic!("{name}: {} {problem}\n{case}", evaluator.name()),
        }
    }
}

/// The fixtures with their names, sorted.
///
/// # Panics
/// If one cannot be read.
pub fn all_fixtures() -> Vec<(String, Case)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let case = Case::parse(&text, &REGISTRY).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, case)
    };
    paths.into_iter().map(read).collect()
}

/// Runs generated cases.
///
/// # Panics
/// If the evaluator disagrees, or the model refuses most cases.
pub fn generated(evaluator: &mut dyn Evaluator) {
    let config = Config { failure_persistence: None, max_shrink_iters: 4096, ..Config::default() };
    let mut runner = if std::env::var_os("PROPTEST_CASES").is_some() {
        TestRunner::new(config)
    } else {
        let config = Config { cases: 400, ..config };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    let (n_checked, n_skipped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let strategy = prop_oneof![3 => cases(14), 1 => cases_with_repeats(12)];
    let evaluator = RefCell::new(evaluator);
    let result = runner.run(&strategy, |case| {
        match check(&mut **evaluator.borrow_mut(), &case).map_err(TestCaseError::fail)? {
            Verdict::Agrees => n_checked.fetch_add(1, Ordering::Relaxed),
            Verdict::Skipped(_) => n_skipped.fetch_add(1, Ordering::Relaxed),
        };
        Ok(())
    });
    if let Err(error) = result {
        panic!("{} disagrees with the model: {error}", evaluator.borrow().name());
    }
    let (n_checked, n_skipped) = (n_checked.into_inner(), n_skipped.into_inner());
    assert!(n_skipped * 4 < n_checked, "{n_skipped} cases skipped, {n_checked} checked");
}
