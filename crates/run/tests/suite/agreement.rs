//! Every evaluator agrees with the model of the test kit, in values and in what runs.

use std::num::NonZeroUsize;
use std::time::Duration;

use millstream_ir::{Answer, EvalError, Evaluator, Plan, Request};
use millstream_run::{Auto, Chunked, Incremental, Lazy, List, Parallel};
use millstream_testkit::agreement::{
    cases_by_hand, fixtures, generated, reuse_suite, ticks_fixtures, ticks_suite,
};

#[test]
fn lazy_agrees_by_hand() {
    cases_by_hand(&Lazy);
}

#[test]
fn lazy_agrees_on_what_once_failed() {
    fixtures(&Lazy);
}

#[test]
fn lazy_agrees_on_generated_graphs() {
    generated(&Lazy);
}

fn size(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("sizes are not zero")
}

/// Ways of running that must not show: over stages or regions, in pieces of any size, on threads.
fn chunked_ways() -> [Chunked; 4] {
    let new = || Chunked::new().threads(size(1));
    [
        new(),
        new().without_stages(),
        new().pieces(size(3)).threads(size(3)),
        new().without_stages().without_unrolling().pieces(size(2)).threads(size(2)),
    ]
}

#[test]
fn chunked_agrees_by_hand() {
    for evaluator in chunked_ways() {
        cases_by_hand(&evaluator);
    }
}

#[test]
fn chunked_agrees_on_what_once_failed() {
    for evaluator in chunked_ways() {
        fixtures(&evaluator);
    }
}

#[test]
fn chunked_agrees_on_generated_graphs() {
    for evaluator in chunked_ways() {
        generated(&evaluator);
    }
}

/// Over registers where that goes, or in the store.
fn list_ways() -> [List; 2] {
    [List::new(), List::new().without_registers()]
}

#[test]
fn list_agrees_by_hand() {
    for evaluator in list_ways() {
        cases_by_hand(&evaluator);
    }
}

#[test]
fn list_agrees_on_what_once_failed() {
    for evaluator in list_ways() {
        fixtures(&evaluator);
    }
}

#[test]
fn list_agrees_on_generated_graphs() {
    for evaluator in list_ways() {
        generated(&evaluator);
    }
}

/// The incremental evaluator without anything that it kept. What it keeps is tested in
/// `incremental`.
struct Forgetful {
    without_live_graph: bool,
}

impl Evaluator for Forgetful {
    fn name(&self) -> &'static str {
        "incremental"
    }

    fn evaluate(&self, plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
        let evaluator = Incremental::new();
        if self.without_live_graph {
            evaluator.without_live_graph().evaluate(plan, request)
        } else {
            evaluator.evaluate(plan, request)
        }
    }
}

fn incremental_ways() -> [Forgetful; 2] {
    [true, false].map(|without_live_graph| Forgetful { without_live_graph })
}

#[test]
fn incremental_agrees_by_hand() {
    for evaluator in incremental_ways() {
        cases_by_hand(&evaluator);
    }
}

#[test]
fn incremental_agrees_on_what_once_failed() {
    for evaluator in incremental_ways() {
        fixtures(&evaluator);
    }
}

#[test]
fn incremental_agrees_on_generated_graphs() {
    for evaluator in incremental_ways() {
        generated(&evaluator);
    }
}

/// Jobs of everything that may be one, or of what takes long; without company.
fn parallel_ways() -> [Parallel; 3] {
    let new = |n| Parallel::new().threads(size(n));
    [new(3).jobs_from(Duration::ZERO), new(2), new(1)]
}

#[test]
fn parallel_agrees_by_hand() {
    for evaluator in parallel_ways() {
        cases_by_hand(&evaluator);
    }
}

#[test]
fn parallel_agrees_on_what_once_failed() {
    for evaluator in parallel_ways() {
        fixtures(&evaluator);
    }
}

#[test]
fn parallel_agrees_on_generated_graphs() {
    for evaluator in parallel_ways() {
        generated(&evaluator);
    }
}

#[test]
fn auto_agrees_by_hand() {
    cases_by_hand(&Auto::new());
}

#[test]
fn auto_agrees_on_what_once_failed() {
    fixtures(&Auto::new());
}

#[test]
fn auto_agrees_on_generated_graphs() {
    generated(&Auto::new().threads(size(2)));
}

#[test]
fn all_agree_on_ticks_of_generated_documents() {
    let n = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    ticks_suite(&Lazy, 0..n);
    // With keepers these go the same way.
    ticks_suite(&List::new(), 0..n / 4);
    ticks_suite(&Parallel::new().threads(size(2)), 0..n / 4);
    for chunked in chunked_ways() {
        ticks_suite(&chunked, 0..n / 4);
    }
    ticks_suite(&Auto::new(), 0..n / 4);
    ticks_suite(&Incremental::new(), 0..n);
}

#[test]
fn all_agree_on_ticks_that_once_failed() {
    ticks_fixtures(&Lazy);
    for list in list_ways() {
        ticks_fixtures(&list);
    }
    for chunked in chunked_ways() {
        ticks_fixtures(&chunked);
    }
    for parallel in parallel_ways() {
        ticks_fixtures(&parallel);
    }
    ticks_fixtures(&Auto::new());
    ticks_fixtures(&Incremental::new());
}

#[test]
fn what_is_kept_of_other_documents_and_requests_does_not_show() {
    let n = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    reuse_suite(&Incremental::new(), &Lazy, 0..n);
    reuse_suite(&Incremental::new().without_live_graph(), &Lazy, 0..n / 4);
    for list in list_ways() {
        reuse_suite(&list, &Lazy, 0..n / 4);
    }
    for chunked in chunked_ways() {
        reuse_suite(&chunked, &Lazy, 0..n / 4);
    }
    reuse_suite(&Parallel::new().threads(size(2)).jobs_from(Duration::ZERO), &Lazy, 0..n / 4);
    reuse_suite(&Auto::new().threads(size(2)), &Lazy, 0..n / 4);
}
