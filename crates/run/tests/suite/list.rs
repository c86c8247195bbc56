//! The list evaluator: which blocks run, over registers and in the store.

use millstream_ir::answer::Answer;
use millstream_ir::{Evaluator, LogDetail, Plan, Request};
use millstream_run::{Lazy, List};

use crate::lazy::plan;

fn ways() -> [List; 2] {
    [List::new(), List::new().without_registers()]
}

/// Runs by path of the nodes that ran.
fn ran(plan: &Plan, answer: &Answer) -> Vec<(String, u32)> {
    let entries = plan.steps.iter().zip(&answer.log.entries);
    let ran = entries.filter(|(_, entry)| entry.runs > 0);
    ran.map(|((_, step), entry)| (plan.paths.get(step.path).to_string(), entry.runs)).collect()
}

/// Two switches share `n4`; the selector of the second depends on the first.
const SHARED: &str = "n0 = input x: f32 = 2.0
    n1 = input first: bool = false
    n2 = input limit: f32 = 10.0
    n3 = math.square n0
    n4 = math.negate n3
    n5 = math.add n4 n0
    n6 = control.switch n1 n5 n0
    n7 = compare.less n6 n2
    n8 = math.add n4 n2
    n9 = control.switch n7 n0 n8
    output n9";

#[test]
fn a_block_that_arms_share_runs_for_the_arm_that_is_taken() {
    let plan = plan(SHARED);
    for mut list in ways() {
        // The shared block is needed by the second switch, the first, both, or neither.
        for (first, limit) in [(false, 1.0_f32), (true, -100.0), (true, 10.0), (false, 10.0)] {
            let request = Request::new().set("first", first).set("limit", limit);
            let request = request.with_log(LogDetail::Counts);
            let found = list.evaluate(&plan, &request).expect("the request fits");
            let expected = Lazy.evaluate(&plan, &request).expect("the request fits");
            assert_eq!(ran(&plan, &found), ran(&plan, &expected), "{first} {limit}");
            assert_eq!(found.value::<f32>("n9"), expected.value("n9"));
        }
    }
}

#[test]
fn only_the_outputs_asked_for_run() {
    let plan = plan(
        "n0 = input x: f32 = 2.0
        n1 = math.square n0
        n2 = math.negate n1
        n3 = math.sqrt n1
        output a n2
        output b n3",
    );
    for mut list in ways() {
        for name in ["a", "b"] {
            let request = Request::new().output(name).with_log(LogDetail::Counts);
            let answer = list.evaluate(&plan, &request).expect("the request fits");
            assert_eq!(answer.log.total_runs(), 2, "{name}");
        }
    }
}

#[test]
fn switches_nested_deep_need_no_stack() {
    let n = 100_000;
    let mut text = String::from("n0 = input x: f32 = 0.5\nn1 = input side: bool = true\n");
    let mut last = 0;
    for i in 0..n {
        let at = 2 + 2 * i;
        text += &format!("n{at} = math.negate n{last}\n");
        text += &format!("n{} = control.switch n1 n0 n{at}\n", at + 1);
        last = at + 1;
    }
    text += &format!("output y n{last}\n");
    let plan = plan(&text);
    for mut list in ways() {
        let answer = list.evaluate(&plan, &Request::new()).expect("the request fits");
        assert_eq!(answer.value::<f32>("y"), Some(0.5));
        let other = Request::new().set("side", false).with_log(LogDetail::Counts);
        let answer = list.evaluate(&plan, &other).expect("the request fits");
        assert_eq!((answer.value::<f32>("y"), answer.log.total_runs()), (Some(0.5), 1));
    }
}

#[test]
fn forms_of_many_operations_and_copies_agree() {
    let plan = plan(
        "n0 = input p: vec3 = [0.3, 0.7, 0.1]
        n1 = context.time
        n7 = const 2.0
        n8 = const 3
        n2 = noise.perlin n0 n7 n8
        n3 = vector.normalize n0
        n4 = vector.scale n3 n2
        n5 = context.count
        n6 = math.add n5 n1
        output direction n4
        output sum n6
        output time n1",
    );
    let request = Request::new().time(0.25);
    let expected = Lazy.evaluate(&plan, &request).expect("the request fits");
    for mut list in ways() {
        let found = list.evaluate(&plan, &request).expect("the request fits");
        for (a, b) in expected.outputs.iter().zip(&found.outputs) {
            let (a, b) = (a.value.as_ref().expect("a value"), b.value.as_ref().expect("a value"));
            assert_eq!(format!("{:?}", a.data), format!("{:?}", b.data));
        }
    }
}
