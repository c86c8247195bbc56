//! Loops whose lists the chunked evaluator folds at once: the same bits and counts as computing
//! items, lists and folds one after the other, without their memory.

use millstream_base::Column;
use millstream_ir::{Evaluator, LogDetail, Plan, Request};
use millstream_run::{Chunked, Lazy};
use proptest::prelude::*;

use crate::chunked::assert_same;
use crate::lazy::plan;

const FOLDS: [&str; 7] = [
    "list.sum",
    "list.product",
    "list.mean",
    "list.minimum",
    "list.maximum",
    "list.any",
    "list.all",
];

/// Rounds of `x` scaled and shifted by the number of the round, folded.
fn rounds(fold: &str, ty: &str, count: &str) -> Plan {
    let last = match fold {
        "list.any" | "list.all" => "compare.less n4 n6",
        _ => "math.multiply n4 n5",
    };
    plan(&format!(
        "n0 = input x: {ty} = 1.0
         n1 = context.index
         n2 = convert{{\"to\": \"{ty}\"}} n1
         n3 = math.sqrt n0
         n4 = math.multiply n0 n2
         n5 = math.subtract n4 n3
         n6 = math.add n5 n0
         n7 = {last}
         n8 = {count}
         n9 = list.generate n7 n8
         n10 = {fold} n9
         output y n10"
    ))
}

fn log(plan: &Plan, request: &Request, evaluator: &mut dyn Evaluator) -> Vec<(u64, u64)> {
    let request = request.clone().with_log(LogDetail::Counts);
    let answer = evaluator.evaluate(plan, &request).expect("the request fits");
    answer.log.entries.iter().map(|entry| (entry.elements, entry.bytes)).collect()
}

proptest! {
    #[test]
    fn folded_loops_have_the_bits_and_counts_of_lists(
        fold in 0..FOLDS.len(),
        is_f64: bool,
        n_rounds in 0_i32..70,
        bits in prop::collection::vec(any::<u32>(), 1..40),
    ) {
        let x: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        let ty = if is_f64 { "f64" } else { "f32" };
        let plan = rounds(FOLDS[fold], ty, &format!("const {n_rounds}"));
        let column: Column = if is_f64 {
            x.into_iter().map(f64::from).collect()
        } else {
            x.into_iter().collect()
        };
        let request = Request::new().column("x", column);
        if n_rounds == 0 && ["list.minimum", "list.maximum"].contains(&FOLDS[fold]) {
            let failed = Chunked::new().evaluate(&plan, &request).expect("it fits").failures;
            prop_assert_eq!(failed, Lazy.evaluate(&plan, &request).expect("it fits").failures);
        } else {
            assert_same(&plan, &request, &mut Chunked::new());
            let elements = |log: Vec<(u64, u64)>| -> Vec<u64> {
                log.into_iter().map(|(elements, _)| elements).collect()
            };
            // The steps that read the number of the round do not run.
            let [lazy, chunked] = [log(&plan, &request, &mut Lazy), log(&plan, &request, &mut Chunked::new())]
                .map(elements);
            prop_assert_eq!(&lazy[3..], &chunked[3..]);
        }
    }
}

#[test]
fn a_loop_that_is_folded_takes_no_memory_for_items_and_lists() {
    let plan = rounds("list.sum", "f32", "const 16");
    let x: Column = (0..1000).map(|i| i as f32).collect();
    let bytes = |evaluator: &mut dyn Evaluator| -> u64 {
        let request = Request::new().column("x", x.clone());
        log(&plan, &request, evaluator).iter().map(|(_, bytes)| bytes).sum()
    };
    // The square roots, which are the same for all rounds, and the sums.
    assert_eq!(bytes(&mut Chunked::new()), 2 * 4000);
    assert!(bytes(&mut Lazy) > 3 * 16 * 4000);
}

#[test]
fn the_number_of_rounds_may_be_an_input_and_differ_between_elements() {
    let plan = rounds("list.mean", "f32", "input n: i32 = 3");
    let x: Column = (0..100).map(|i| i as f32).collect();
    for n in [-1, 0, 1, 5, 1000, 5000] {
        assert_same(&plan, &Request::new().column("x", x.clone()).set("n", n), &mut Chunked::new());
    }
    let counts: Column = (0..100).map(|i| i % 9).collect();
    let request = Request::new().column("x", x).column("n", counts);
    assert_same(&plan, &request, &mut Chunked::new());
}

/// The loops of two folds share items.
fn loops_in_common(item: &str) -> Plan {
    plan(&format!(
        "n0 = input x: f32 = 1.0
         n1 = context.index
         n2 = convert{{\"to\": \"f32\"}} n1
         n3 = {item}
         n4 = const 4
         n5 = list.generate n3 n4
         n6 = list.sum n5
         n7 = math.sqrt n3
         n8 = list.generate n7 n4
         n9 = list.maximum n8
         n10 = math.add n6 n9
         output y n10"
    ))
}

#[test]
fn items_that_something_else_reads_are_computed_again_where_they_are_cheap() {
    let x: Column = (0..10).map(|i| i as f32).collect();
    let request = Request::new().column("x", x);
    for (item, n_folded) in [("math.multiply n0 n2", 2), ("math.power n0 n2", 0)] {
        let plan = loops_in_common(item);
        assert_eq!(plan.loops.len(), n_folded, "{item}");
        assert_same(&plan, &request, &mut Chunked::new());
        let [lazy, chunked] =
            [log(&plan, &request, &mut Lazy), log(&plan, &request, &mut Chunked::new())];
        assert_eq!(lazy[3].0, 40);
        assert_eq!(chunked[3].0, 40 * n_folded.max(1) as u64);
    }
}

#[test]
fn a_loop_below_a_switch_folds_the_elements_that_take_it() {
    let plan = plan(
        "n0 = input x: f32 = 1.0
         n1 = context.index
         n2 = convert{\"to\": \"f32\"} n1
         n3 = math.multiply n0 n2
         n4 = const 4
         n5 = list.generate n3 n4
         n6 = list.sum n5
         n7 = const 2.0
         n8 = compare.less n0 n7
         n9 = control.switch n8 n6 n0
         output y n9",
    );
    let x: Column = (0..10).map(|i| i as f32).collect();
    let request = Request::new().column("x", x);
    assert_same(&plan, &request, &mut Chunked::new());
    let [lazy, chunked] =
        [log(&plan, &request, &mut Lazy), log(&plan, &request, &mut Chunked::new())];
    assert_eq!(chunked[3].0, 32);
    assert_eq!(lazy[3].0, chunked[3].0);
    assert_eq!(lazy[6].0, chunked[6].0);
}

/// In each round each element takes one of two arms, one of which reads a list.
fn rounds_with_arms(condition: &str, fold: &str) -> Plan {
    plan(&format!(
        "n0 = input x: f32 = 1.0
         n1 = input side: bool = true
         n2 = context.index
         n3 = convert{{\"to\": \"f32\"}} n2
         n4 = {condition}
         n5 = math.sqrt n0
         n6 = math.multiply n5 n3
         n7 = math.subtract n3 n0
         n8 = control.switch n4 n6 n7
         n9 = math.add n8 n0
         n10 = const 12
         n11 = list.generate n9 n10
         n12 = {fold} n11
         output y n12"
    ))
}

#[test]
fn rounds_with_switches_have_the_bits_of_lists() {
    let x: Column = (0..300).map(|i| (i as f32 - 20.0) / 7.0).collect();
    for condition in ["compare.less n0 n3", "compare.less n3 n5", "control.pass n1"] {
        for fold in FOLDS.iter().filter(|fold| !["list.any", "list.all"].contains(fold)) {
            let plan = rounds_with_arms(condition, fold);
            assert_eq!(plan.loops.len(), 1, "{condition}");
            for side in [true, false] {
                let request = Request::new().column("x", x.clone()).set("side", side);
                assert_same(&plan, &request, &mut Chunked::new());
            }
        }
    }
    // All arms are computed for all elements; neither items nor lists become columns.
    let plan = rounds_with_arms("compare.less n0 n3", "list.sum");
    let request = Request::new().column("x", x);
    let [lazy, chunked] =
        [log(&plan, &request, &mut Lazy), log(&plan, &request, &mut Chunked::new())];
    // The steps above `x`: index, convert, compare, square root, and the arms.
    let all: u64 = 12 * 300;
    assert!(lazy[5].0 < all && lazy[6].0 < all && lazy[5].0 + lazy[6].0 == all);
    assert_eq!((chunked[5].0, chunked[6].0), (all, all));
    assert_eq!((chunked[8].0, lazy[8].0), (all, all));
    let bytes = |log: &[(u64, u64)]| log.iter().map(|(_, bytes)| bytes).sum::<u64>();
    assert_eq!(bytes(&chunked), 2 * 300 * 4);
    assert!(bytes(&lazy) > 3 * 300 * 12 * 4);
}
