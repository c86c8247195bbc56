//! Pipelines: functions that run in blocks together with the forms around them.

use std::num::NonZeroUsize;

use millstream_base::same::Same;
use millstream_base::{Color, Column, Type};
use millstream_ir::{Answer, Evaluator, LogDetail, Plan, Request};
use millstream_node::{Call, Failure, Function, NodeDef, Registry};
use millstream_run::{Chunked, Lazy};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::lazy::plan_with;

/// Subtracts, but fails where the difference is 13.
struct Difference;

impl Function for Difference {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let uniform = call.is_uniform();
        let mut values = call.buffer::<f32>(0);
        let (a, b) = (call.input::<f32>(0), call.input::<f32>(1));
        for i in call.mask() {
            values[i] = a.get(i) - b.get(i);
            if values[i] == 13.0 {
                return Err(Failure::at(i, "the difference is unlucky"));
            }
        }
        match call.mask().bounds() {
            Some(bounds) if uniform => call.set_one(0, values[bounds.start]),
            _ => call.set(0, values),
        }
        Ok(())
    }

    fn in_blocks(&self) -> bool {
        true
    }
}

/// Makes a color of a number.
struct Shade;

impl Function for Shade {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let uniform = call.is_uniform();
        let mut colors = call.buffer::<Color>(0);
        let x = call.input::<f32>(0);
        for i in call.mask() {
            colors[i] = Color([x.get(i), 1.0, -x.get(i), 0.5]);
        }
        match call.mask().bounds() {
            Some(bounds) if uniform => call.set_one(0, colors[bounds.start]),
            _ => call.set(0, colors),
        }
        Ok(())
    }

    fn in_blocks(&self) -> bool {
        true
    }
}

fn registry() -> Registry {
    let mut registry = millstream_nodes::registry();
    let difference = NodeDef::new("test.difference", "A difference that may fail")
        .input("a", Type::F32, "")
        .input("b", Type::F32, "")
        .output("value", Type::F32, "")
        .function(Difference);
    let shade = NodeDef::new("test.shade", "A color")
        .input("x", Type::F32, "")
        .output("value", Type::COLOR, "")
        .function(Shade);
    registry.register_all([difference, shade]);
    registry
}

fn sized(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("it is not zero")
}

/// The answer of `chunked` in blocks of this length, with counts.
fn in_blocks(plan: &Plan, request: &Request, length: usize, threads: usize) -> Answer {
    let mut evaluator = Chunked::new().pieces(sized(length)).threads(sized(threads));
    evaluator.evaluate(plan, request).expect("the request fits")
}

/// Checks that both answers have the same values, failures and numbers of computed elements.
fn assert_same(plan: &Plan, request: &Request, found: &Answer) {
    let expected = Lazy.evaluate(plan, request).expect("the request fits");
    assert_eq!(expected.failures, found.failures);
    for (a, b) in expected.outputs.iter().zip(&found.outputs) {
        assert_eq!(a.value.is_some(), b.value.is_some());
        if let (Some(a), Some(b)) = (&a.value, &b.value) {
            assert_eq!(a.axes, b.axes);
            assert!(expected.full_column(a).same(&found.full_column(b)));
        }
    }
    if expected.failures.is_empty() {
        let elements = |answer: &Answer| -> Vec<u64> {
            answer.log.entries.iter().map(|entry| entry.elements).collect()
        };
        assert_eq!(elements(&expected), elements(found));
    }
}

#[test]
fn columns_between_the_steps_of_a_pipeline_are_not_stored() {
    let plan = plan_with(
        &registry(),
        "n0 = input x: f32 = 0.0
         n1 = math.add n0 n0
         n2 = test.difference n1 n0
         n3 = math.multiply n2 n1
         n4 = test.difference n3 n2
         n5 = math.sqrt n4
         n6 = math.add n5 n2
         output y n6",
    );
    let x: Column = (0..100).map(|i| i as f32 + 0.25).collect();
    let request = Request::new().column("x", x).with_log(LogDetail::Counts);
    for threads in [1, 3] {
        let answer = in_blocks(&plan, &request, 7, threads);
        assert_same(&plan, &request, &answer);
        let bytes: Vec<u64> = answer.log.entries.iter().map(|entry| entry.bytes).collect();
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 400]);
    }
    // One block has no pipeline.
    let answer = in_blocks(&plan, &request, 100, 1);
    assert_same(&plan, &request, &answer);
    assert!(answer.log.entries.iter().filter(|entry| entry.bytes == 400).count() > 1);
}

#[test]
fn the_lowest_failing_element_of_a_pipeline_is_told() {
    let plan = plan_with(
        &registry(),
        "n0 = input x: f32 = 0.0
         n1 = math.add n0 n0
         n2 = test.difference n1 n0
         n3 = math.sqrt n2
         output y n3",
    );
    let x: Column = (0..60).map(|i| (i % 20) as f32).collect();
    let request = Request::new().column("x", x).with_log(LogDetail::Counts);
    for threads in [1, 3] {
        let answer = in_blocks(&plan, &request, 8, threads);
        assert_same(&plan, &request, &answer);
        assert_eq!(answer.failures[0].cell, [("index", 13)]);
    }
}

/// The graph of these steps, each of which reads two earlier ones.
fn graph(steps: &[(u8, usize, usize)]) -> String {
    let mut lines: Vec<String> = ["x", "y", "k", "t"]
        .iter()
        .enumerate()
        .map(|(i, name)| format!("n{i} = input {name}: f32 = 2.0"))
        .collect();
    let mut numbers: Vec<usize> = (0..4).collect();
    for (kind, a, b) in steps {
        let [a, b] = [a, b].map(|pick| numbers[pick % numbers.len()]);
        let n = lines.len();
        numbers.push(n);
        match kind % 5 {
            0 => lines.push(format!("n{n} = math.add n{a} n{b}")),
            1 => lines.push(format!("n{n} = math.multiply n{a} n{b}")),
            2 | 3 => lines.push(format!("n{n} = test.difference n{a} n{b}")),
            _ => {
                lines.push(format!("n{n} = test.shade n{a}"));
                lines.push(format!("n{} = color.luminance n{n}", n + 1));
                *numbers.last_mut().expect("it was pushed") = n + 1;
            }
        }
    }
    let last = numbers.len() - 1;
    lines.push(format!("output last n{}", numbers[last]));
    lines.push(format!("output middle n{}", numbers[last / 2]));
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pipelines_have_the_bits_of_single_steps(
        steps in vec((0_u8..5, 0_usize..64, 0_usize..64), 1..24),
        (n, length, threads) in (1_usize..40, 1_usize..12, 1_usize..4),
        (least, has_times, reads_all) in (-3_i32..8, any::<bool>(), any::<bool>()),
    ) {
        let plan = plan_with(&registry(), &graph(&steps));
        let x: Column = (0..n).map(|i| (least + i as i32 % 11) as f32 * 0.5).collect();
        let y: Column = (0..n).map(|i| (i * 7 % 5) as f32).collect();
        let mut request = Request::new().column("x", x).column("y", y).with_log(LogDetail::Counts);
        if has_times {
            request = request.per_time("t", vec![1.0_f32, 3.0, 0.5]);
        }
        if !reads_all {
            request = request.output("last");
        }
        let answer = in_blocks(&plan, &request, length, threads);
        assert_same(&plan, &request, &answer);
    }
}
