//! Reductions over the moments of a request, in documents with state.

use std::num::NonZeroUsize;

use millstream::evaluate::{EVALUATORS, RequestError};
use millstream::values::Column;
use millstream::{Answer, Engine, EvalError, Evaluator, Program, Request, RequestAxis};
use proptest::prelude::*;

/// Nodes that read along an axis, the values that they take, and the types of their results.
const ALONG: [(&str, &str, &str); 12] = [
    ("reduce.sum", "number", "f64"),
    ("reduce.mean", "number", "f64"),
    ("reduce.maximum", "number", "f64"),
    ("reduce.last", "number", "f64"),
    ("reduce.median", "number", "f64"),
    ("reduce.deviation", "number", "f64"),
    ("reduce.quantile", "number", "f64"),
    ("reduce.product", "number", "f64"),
    ("reduce.any", "number > 1", "bool"),
    ("reduce.count_true", "number > 1", "i32"),
    ("reduce.index_of_minimum", "number", "i32"),
    ("list.collect", "number", "list<f64>"),
];

/// What varies with the moment, with the element too, or not at all.
const NUMBERS: [&str; 4] = ["t", "sin(t * 3) + i", "k * t", "i * 2"];

const HEAD: &str = "t = context.time()\nk = convert.to_f64(context.tick())\n\
                    i = convert.to_f64(context.index())\n";

fn program(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Outputs that read along moments: their types and definitions.
fn outputs() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let feature = prop::sample::select(vec!["time", "tick"]);
    let one = (0..ALONG.len() + 2, prop::sample::select(NUMBERS.to_vec()), feature);
    let one = one.prop_map(|(which, number, feature)| match ALONG.get(which) {
        Some((node, value, ty)) => {
            let value = value.replace("number", &format!("({number})"));
            (*ty, format!("{node}({value}, feature = \"{feature}\")"))
        }
        None if which == ALONG.len() => ("i32", format!("context.count(feature = \"{feature}\")")),
        None => ("f64", format!("t - reduce.mean({number}, feature = \"{feature}\")")),
    });
    prop::collection::vec(one, 1..4)
}

fn column(answer: &Answer, name: &str) -> Option<(Vec<RequestAxis>, Column)> {
    let output = answer.outputs.iter().find(|output| *output.name == *name)?;
    let series = output.value.as_ref()?;
    Some((series.axes.clone(), answer.full_column(series)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn state_changes_nothing_that_reads_along_moments(
        along in outputs(),
        mut frames in prop::collection::vec(0_i64..9, 1..6),
        count in 1_usize..4,
        with_times in any::<bool>(),
    ) {
        frames.dedup();
        let mut text = HEAD.to_owned();
        for (i, (ty, node)) in along.iter().enumerate() {
            text += &format!("output y{i}: {ty} = {node}\n");
        }
        let plain = program(&text);
        let state = "output z: i32 = state.counter()\noutput s: f64 = state.integrate(rate: t)\n";
        let stateful = program(&(text + state));
        let times = || frames.iter().map(|frame| *frame as f64 / 24.0).collect();
        let by_frame = Request::new().count(count).frames(frames.clone());
        let by_time = Request::new().count(count).times(times());
        let request = if with_times { by_time } else { by_frame.clone() };
        let names: Vec<String> = (0..along.len()).map(|i| format!("y{i}")).collect();
        let expected = plain.run(&by_frame).expect("it runs");
        for row in EVALUATORS {
            let mut evaluator: Box<dyn Evaluator> = (row.new)(NonZeroUsize::MIN);
            let answer = match stateful.run_with(&mut *evaluator, &request) {
                Ok(answer) => answer,
                Err(EvalError::Unfit { .. }) => continue,
                Err(error) => panic!("{}: {error}", row.name),
            };
            let order: Vec<&str> = answer.outputs.iter().map(|output| &*output.name).collect();
            let wanted: Vec<&str> = names.iter().map(String::as_str).chain(["z", "s"]).collect();
            prop_assert_eq!(order, wanted);
            for name in &names {
                let (of, found) = (column(&expected, name), column(&answer, name));
                let same = match (&of, &found) {
                    (Some((axes, a)), Some((found, b))) => {
                        let is_same = |cell: usize| a.same_at(cell, b, cell);
                        axes == found && a.len() == b.len() && (0..a.len()).all(is_same)
                    }
                    (of, found) => of.is_none() && found.is_none(),
                };
                prop_assert!(same, "{}: {} is {:?} instead of {:?}", row.name, name, found, of);
            }
            let ticks: Vec<i32> = frames.iter().map(|frame| *frame as i32 + 1).collect();
            let found: Vec<i32> = answer.column("z").expect("it runs");
            prop_assert_eq!(found.iter().step_by(count).copied().collect::<Vec<_>>(), ticks);
        }
    }
}

/// The error of a request for some frames.
fn refused(text: &str, output: &str) -> Option<RequestError> {
    let program = program(text);
    let request = Request::new().output(output).frames((0..4).collect());
    match program.run(&request) {
        Err(EvalError::Request(errors)) => errors.into_iter().next(),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_reads_along_moments_of_state_is_refused_with_its_node() {
    let text = "mean = reduce.mean(context.time(), feature = \"time\")\n\
         total = reduce.sum(ticks, feature = \"time\")\nticks = state.counter()\n\
         all = state.integrate(rate: mean)\n\
         output a: i32 = total + 1\noutput b: f64 = all\noutput c: f64 = mean\n\
         output d: i32 = ticks\n";
    let told = |output: &str| refused(text, output).map(|error| error.to_string());
    let why = "but it depends on state, which advances from one moment to the next";
    let of_output = format!("output `a` reads along all moments at once (at `total`), {why}");
    assert_eq!(told("a"), Some(of_output));
    let of_state = format!("the state of `all` reads along all moments at once (at `mean`), {why}");
    assert_eq!(told("b"), Some(of_state));
    assert_eq!((told("c"), told("d")), (None, None));
    // A single frame is the only moment.
    let program = program(text);
    let answer = program.run(&Request::new().frame(3)).expect("it runs");
    assert_eq!(answer.value::<i32>("a"), Some(5));
}

#[test]
fn a_failure_along_moments_is_told_once_and_other_outputs_have_values() {
    let text = "x = list.get([1.0, 2.0], index: convert.to_i32(context.tick()))\n\
         output sum: f32 = reduce.sum(x, feature = \"tick\")\noutput ticks: i32 = state.counter()\n\
         output x: f32 = x\noutput n: i32 = context.count(feature = \"tick\")\n";
    let program = program(text);
    let request = Request::new().frames((0..4).collect()).with_partial();
    let answer = program.run(&request).expect("it runs");
    let failed: Vec<&str> = answer.failures.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(failed, ["x"]);
    assert_eq!(answer.column::<i32>("ticks"), Some(vec![1, 2, 3, 4]));
    assert_eq!((answer.value::<f32>("sum"), answer.value::<i32>("n")), (None, Some(4)));
}
