//! The chunked evaluator: fusion, the caller's memory, prepared programs.

use std::num::NonZeroUsize;
use std::sync::Arc;

use millstream_base::same::Same;
use millstream_base::{Column, Value, Vec3};
use millstream_ir::{EvalError, Evaluator, LogDetail, Plan, Request};
use millstream_run::chunked::OutputBuffer;
use millstream_run::{Chunked, Lazy};
use millstream_testkit::graphs::HERON;

use crate::lazy::plan;

pub(crate) fn corners(k: usize, n: usize) -> Column {
    (0..n).map(|i| Vec3(std::array::from_fn(|j| ((i * 7 + j * 3 + k) % 11) as f32))).collect()
}

fn triangles(n: usize) -> Request {
    Request::new().column("a", corners(0, n)).column("b", corners(1, n)).column("c", corners(4, n))
}

pub(crate) fn assert_same(plan: &Plan, request: &Request, evaluator: &mut Chunked) {
    let expected = Lazy.evaluate(plan, request).expect("the request fits");
    let found = evaluator.evaluate(plan, request).expect("the request fits");
    for (a, b) in expected.outputs.iter().zip(&found.outputs) {
        let (a, b) = (a.value.as_ref().expect("it is given"), b.value.as_ref().expect("too"));
        assert_eq!(a.axes, b.axes);
        assert!(expected.full_column(a).same(&found.full_column(b)));
    }
}

fn sized(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("it is not zero")
}

#[test]
fn large_columns_are_the_same_on_any_number_of_threads() {
    let plan = plan(HERON);
    for n in [1, 5, 1000, 300_000] {
        let request = triangles(n);
        for threads in [1, 2, 5] {
            assert_same(&plan, &request, &mut Chunked::new().threads(sized(threads)));
            let mut regions = Chunked::new().threads(sized(threads)).without_stages();
            assert_same(&plan, &request, &mut regions);
        }
    }
}

#[test]
fn what_lacks_an_axis_is_computed_on_fewer_cells() {
    let plan = plan(
        "n0 = input x: f32 = 0.0
         n1 = input k: f32 = 0.0
         n2 = input t: f32 = 0.0
         n3 = math.sqrt n1
         n4 = math.sqrt n2
         n5 = math.multiply n3 n4
         n6 = math.multiply n5 n0
         n7 = math.add n6 n3
         n8 = math.sqrt n0
         n9 = math.add n8 n7
         output y n9
         output roots n4",
    );
    let request = Request::new()
        .set("k", 4.0_f32)
        .per_time("t", vec![1.0_f32, 4.0])
        .column("x", vec![1.0_f32, 2.0, 3.0])
        .with_log(LogDetail::Counts);
    for mut evaluator in [Chunked::new(), Chunked::new().without_stages()] {
        let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
        let elements: Vec<u64> = answer.log.entries.iter().map(|entry| entry.elements).collect();
        assert_eq!(elements, [0, 0, 0, 1, 2, 2, 6, 6, 3, 6]);
        assert_eq!(answer.column::<f32>("roots"), Some(vec![1.0, 1.0, 1.0, 2.0, 2.0, 2.0]));
        assert_same(&plan, &request, &mut evaluator);
    }
}

#[test]
fn values_within_a_region_take_no_memory() {
    let plan = plan(HERON);
    for mut evaluator in [Chunked::new(), Chunked::new().without_stages()] {
        let request = triangles(1000).with_log(LogDetail::Counts);
        let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
        let bytes: u64 = answer.log.entries.iter().map(|entry| entry.bytes).sum();
        assert_eq!(bytes, 4000);
    }
}

#[test]
fn outputs_are_written_into_memory_of_the_caller() {
    let plan = plan(
        "n0 = input x: f32 = 0.0
         n1 = input t: f32 = 0.0
         n2 = math.multiply n0 n1
         n3 = const 2.5
         n4 = math.sqrt n1
         output product n2
         output constant n3
         output root n4
         output x n0",
    );
    let request =
        Request::new().per_time("t", vec![4.0_f32, 9.0]).column("x", vec![1.0_f32, 2.0, 3.0]);
    for mut evaluator in [Chunked::new(), Chunked::new().without_stages()] {
        let mut all = [[0.0_f32; 6]; 4];
        let [product, constant, root, x] = &mut all;
        let mut buffers = [product, constant, root, x].map(|b| OutputBuffer::from(&mut b[..]));
        let done = evaluator.evaluate_into(&plan, &request, &mut buffers).expect("it fits");
        assert_eq!(done.written, [true; 4]);
        assert_eq!(all[0], [4.0, 8.0, 12.0, 9.0, 18.0, 27.0]);
        assert_eq!(all[1], [2.5; 6]);
        assert_eq!(all[2], [2.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
        assert_eq!(all[3], [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    }
}

#[test]
#[should_panic(expected = "the buffer of `area` holds 3 f32, but 2 f32 are written")]
fn a_buffer_of_another_size_is_refused() {
    let mut area = [0.0_f32; 3];
    let mut buffers = [OutputBuffer::from(&mut area[..])];
    // The panic is tested.
    let _ = Chunked::new().evaluate_into(&plan(HERON), &triangles(2), &mut buffers);
}

#[test]
fn prepared_programs_run_with_other_data() {
    let plan = Arc::new(plan(HERON));
    let prepared = Chunked::new().prepare(&plan, &triangles(3));
    let mut prepared = prepared.expect("the plan is made of numbers");
    let mut area = [0.0_f32; 3];
    prepared.set_column(2, corners(7, 3));
    prepared.run(&mut [area.as_mut_slice().into()]);
    let request = Request::new()
        .column("a", corners(0, 3))
        .column("b", corners(1, 3))
        .column("c", corners(7, 3));
    let expected = Lazy.evaluate(&plan, &request).expect("the request fits");
    assert_eq!(expected.column::<f32>("area").as_deref(), Some(&area[..]));
}

#[test]
fn prepared_programs_run_on_lanes() {
    let plan = Arc::new(plan(HERON));
    let prepared = Chunked::new().prepare(&plan, &Request::new());
    let mut prepared = prepared.expect("the plan is made of numbers");
    let bits = [0.0_f32, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 4.0, 0.0].map(|x| u64::from(x.to_bits()));
    let mut area = [0];
    prepared.run_lanes(&bits, &mut area);
    assert_eq!(f32::from_bits(area[0] as u32), 6.0);
    // Columns remain as they were set, whatever the lanes were.
    prepared.set(1, &Value::Vec3(Vec3([6.0, 0.0, 0.0])));
    let mut area = [0.0_f32];
    prepared.run(&mut [area.as_mut_slice().into()]);
    assert_eq!(area, [3.0]);
}

/// Inputs that are read in another order than they are given, and inputs without readers.
#[test]
fn lanes_of_inputs_find_their_places() {
    let plan = Arc::new(plan(
        "n0 = input x: f32 = 1.0
         n1 = input unread: vec2 = [8.0, 9.0]
         n2 = input v: vec3 = [1.0, 2.0, 3.0]
         n3 = input w: vec3 = [0.0, 0.0, 0.0]
         n4 = vector.dot n3 n2
         n5 = math.subtract n4 n0
         output v n2
         output value n5",
    ));
    let prepared = Chunked::new().prepare(&plan, &Request::new());
    let mut prepared = prepared.expect("the plan is made of numbers");
    let given = [0.5_f32, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut outputs = [0; 4];
    prepared.run_lanes(&given.map(|x| u64::from(x.to_bits())), &mut outputs);
    assert_eq!(outputs.map(|bits| f32::from_bits(bits as u32)), [1.0, 2.0, 3.0, 31.5]);
}

#[test]
fn prepared_programs_on_one_element_are_a_straight_line() {
    let plan = Arc::new(plan(
        "n0 = input x: f32 = 1.0
         n1 = input v: vec3 = [1.0, 2.0, 3.0]
         n2 = const 0.5
         n3 = vector.length n1
         n4 = math.add n0 n3
         output sum n4
         output length n3
         output x n0
         output half n2
         output v n1",
    ));
    let request = Request::new().column("x", Column::from(vec![7.0_f32]));
    let prepared = Chunked::new().prepare(&plan, &request);
    let mut prepared = prepared.expect("the plan is made of numbers");
    let (mut sum, mut length, mut x, mut half) = ([0.0_f32], [0.0_f32], [0.0_f32], [0.0_f32]);
    let mut v = [0.0_f32; 3];
    for given in [7.0_f32, 8.0] {
        prepared.set_column(0, Column::from(vec![given]));
        let outputs: [&mut [f32]; 5] = [&mut sum, &mut length, &mut x, &mut half, &mut v];
        prepared.run(&mut outputs.map(Into::into));
        assert_eq!(sum, [given + length[0]]);
        assert_eq!((length, x, half, v), ([14.0_f32.sqrt()], [given], [0.5], [1.0, 2.0, 3.0]));
    }
}

#[test]
fn memory_of_the_caller_is_no_matter_of_the_limit() {
    let plan = plan(HERON);
    let mut request = triangles(1000);
    request.limits.bytes = 1000;
    let answer = Chunked::new().evaluate(&plan, &request);
    assert!(matches!(answer, Err(EvalError::Bytes { limit: 1000 })));
    let mut area = vec![0.0_f32; 1000];
    let mut buffers = [OutputBuffer::from(area.as_mut_slice())];
    assert!(Chunked::new().evaluate_into(&plan, &request, &mut buffers).is_ok());
}

/// The elements that each step computed.
pub(crate) fn elements(plan: &Plan, request: &Request) -> Vec<u64> {
    let request = request.clone().with_log(LogDetail::Counts);
    let answer = Chunked::new().evaluate(plan, &request).expect("the request fits");
    answer.log.entries.iter().map(|entry| entry.elements).collect()
}

#[test]
fn cheap_arms_are_computed_for_all_elements_and_selected_from() {
    let plan = plan(
        "n0 = input x: f32 = 0.0
         n1 = input v: vec3 = [1.0, 2.0, 3.0]
         n2 = input i: i32 = 0
         n3 = const 0.5
         n4 = math.sqrt n0
         n5 = math.square n0
         n6 = compare.less n4 n5
         n7 = control.switch n6 n4 n5
         n8 = control.choose n2 [n0 n4 n7]
         n9 = vector.scale n1 n3
         n10 = control.switch n6 n1 n9
         output y n7
         output z n8
         output w n10",
    );
    let x: Column = (0..1000).map(|i| (i as f32 - 200.0) / 400.0).collect();
    let i: Column = (0..1000).map(|i| i % 7 - 2).collect();
    let request = Request::new().column("x", x).column("v", corners(1, 1000)).column("i", i);
    assert_same(&plan, &request, &mut Chunked::new());
    assert_same(&plan, &request, &mut Chunked::new().without_stages());
    assert_eq!(elements(&plan, &request)[4..], [1000; 7]);
}

#[test]
fn arms_in_a_graph_with_functions_are_selected_from_if_all_that_may_fail_is_needed_anyway() {
    let text = |on: &str| {
        format!(
            "n0 = input x: f32 = 0.5
             n1 = reduce.maximum n0
             n2 = const 0.5
             n3 = compare.less n0 n2
             n4 = math.divide n0 n1
             n5 = math.square n4
             n6 = control.switch n3 n4 n5
             n7 = math.sqrt {on}
             n8 = control.switch n3 n6 n7
             output y n8"
        )
    };
    let x: Column = (0..1000).map(|i| i as f32 / 1000.0).collect();
    let request = Request::new().column("x", x);
    // Both arms of both switches read the maximum, which may fail: an empty list has none.
    let needed = plan(&text("n6"));
    assert_same(&needed, &request, &mut Chunked::new());
    assert_eq!(elements(&needed, &request)[4..], [1000; 5]);
    // Here one arm does not read it, so the outer switch sorts the elements.
    let not_needed = plan(&text("n0"));
    assert_same(&not_needed, &request, &mut Chunked::new());
    assert_eq!(elements(&not_needed, &request)[4..], [500, 500, 500, 500, 1000]);
}

#[test]
fn a_switch_of_the_whole_column_joins_with_the_arm_that_is_taken() {
    let plan = plan(
        "n0 = input x: f32 = 0.5
         n1 = input c: bool = true
         n2 = reduce.maximum n0
         n3 = math.divide n0 n2
         n4 = math.sqrt n3
         n5 = math.square n0
         n6 = control.switch n1 n4 n5
         n7 = math.add n6 n0
         output y n7",
    );
    let x: Column = (0..1000).map(|i| i as f32 / 1000.0).collect();
    for (c, [parts, roots, squares]) in [(false, [1000, 1000, 0]), (true, [0, 0, 1000])] {
        let request = Request::new().column("x", x.clone()).set("c", c);
        assert_same(&plan, &request, &mut Chunked::new());
        let counted = request.with_log(LogDetail::Counts);
        let answer = Chunked::new().evaluate(&plan, &counted).expect("it fits");
        let log: Vec<(u64, u64)> =
            answer.log.entries.iter().map(|entry| (entry.elements, entry.bytes)).collect();
        // One column leaves the region, the others are in registers.
        let expected = [(parts, 0), (roots, 0), (squares, 0), (1000, 0), (1000, 4000)];
        assert_eq!(log[3..], expected);
    }
}

#[test]
fn costly_arms_and_choices_that_are_the_same_for_all_compute_what_is_taken() {
    let cheap = "n0 = input x: f32 = 0.0
         n1 = input c: bool = true
         n2 = math.sqrt n0
         n3 = math.square n0
         n4 = control.switch n1 n2 n3
         output y n4";
    let mut costly = "n0 = input x: f32 = 0.0\nn1 = input c: bool = true\n".to_owned();
    for i in 2..20 {
        let from = if i == 2 { 0 } else { i - 1 };
        costly += &format!("n{i} = math.sin n{from}\n");
    }
    costly += "n20 = math.square n0\nn21 = control.switch n1 n19 n20\noutput y n21";
    let (cheap, costly) = (plan(cheap), plan(&costly));
    let x: Column = (0..100).map(|i| i as f32).collect();
    let c: Column = (0..100).map(|i| i % 4 == 0).collect();
    let one = Request::new().column("x", x.clone());
    let each = Request::new().column("x", x).column("c", c);
    assert_same(&cheap, &one, &mut Chunked::new());
    assert_eq!(elements(&cheap, &one)[2..4], [0, 100]);
    assert_eq!(elements(&cheap, &each)[2..4], [100, 100]);
    assert_same(&costly, &each, &mut Chunked::new());
    assert_eq!(elements(&costly, &each)[19..21], [75, 25]);
}
