//! The times of run logs.

use std::num::NonZeroUsize;
use std::time::Duration;

use millstream::evaluate::EVALUATORS;
use millstream::run_log::Timing;
use millstream::{Chunked, Engine, EvalError, Evaluator, LogDetail, Program, Request};

fn program(nodes: &str, output: &str) -> Program {
    let text = format!(
        r#"{{ "millstream": 2, "inputs": {{ "x": {{ "type": "f32", "default": 0.5 }} }},
            "outputs": {{ "y": {{ "type": "f32", "from": "{output}.value" }} }},
            "nodes": {{ {nodes} }} }}"#
    );
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// An expensive node between cheap ones, and a choice.
fn mixed() -> Program {
    program(
        r#""sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        "root": { "type": "math.power", "in": { "base": { "from": "sum.value" }, "exponent": 0.3 } },
        "less": { "type": "compare.less", "in": { "a": { "from": "root.value" }, "b": 1.2 } },
        "wave": { "type": "math.sin", "in": { "x": { "from": "root.value" } } },
        "pick": { "type": "control.switch", "in": { "condition": { "from": "less.value" },
            "false": { "from": "wave.value" }, "true": { "from": "root.value" } } }"#,
        "pick",
    )
}

/// The share of the time of an evaluation that is attributed to steps.
fn told(program: &Program, evaluator: &mut dyn Evaluator, request: &Request) -> Option<f64> {
    let request = request.clone().with_log(LogDetail::Times);
    let log = match program.run_with(evaluator, &request) {
        Ok(answer) => answer.log,
        Err(EvalError::Unfit { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let (steps, all) = (log.time_in_steps().as_secs_f64(), log.time.as_secs_f64());
    assert!(steps <= all * 1.001, "{}: {steps} of {all}", evaluator.name());
    Some(steps / all)
}

#[test]
fn the_times_of_steps_add_up_to_that_of_the_evaluation() {
    let program = mixed();
    let column: Vec<f32> = (0..300_000).map(|i| i as f32 / 300_000.0).collect();
    let request = Request::new().column("x", column);
    for threads in [1, 2] {
        let threads = NonZeroUsize::new(threads).expect("it is not 0");
        for row in EVALUATORS {
            // The machine may be busy, and the first evaluation makes lists and forms.
            let mut evaluator = (row.new)(threads);
            let parts: Option<Vec<f64>> =
                (0..6).map(|_| told(&program, &mut *evaluator, &request)).collect();
            let Some(parts) = parts else { continue };
            let most = parts.iter().copied().fold(0.0, f64::max);
            // Evaluators that store results do not run again.
            let first = if evaluator.caches_results() { parts[0] } else { most };
            assert!(first > 0.9, "{} on {threads}: {parts:?}", row.name);
        }
    }
}

#[test]
fn members_of_a_region_have_shares_by_what_they_cost() {
    let program = mixed();
    let request = Request::new().column("x", vec![0.25_f32; 100_000]);
    let request = request.with_log(LogDetail::Times);
    for evaluator in [Chunked::new(), Chunked::new().without_stages()] {
        let mut evaluator = evaluator.threads(NonZeroUsize::MIN);
        let answer = program.run_with(&mut evaluator, &request).expect("it runs");
        let of = |path: &str| {
            let mut runs = program.runs(&answer);
            runs.find(|run| run.path.as_str() == path).expect("it ran").entry
        };
        let (sum, root) = (of("sum"), of("root"));
        assert_eq!((sum.timing, root.timing), (Timing::Share, Timing::Share));
        assert!(sum.time > Duration::ZERO);
        assert!(root.time > 2 * sum.time, "{root:?} and {sum:?}: a power is dear");
        assert!(answer.log.measuring > Duration::ZERO);
    }
    let one = Request::new().with_log(LogDetail::Times);
    let answer = program.run_with(&mut millstream::Lazy, &one).expect("it runs");
    assert!(program.runs(&answer).all(|run| run.entry.timing == Timing::Clock));
    let counted = Request::new().with_log(LogDetail::Counts);
    let log = program.run_with(&mut Chunked::new(), &counted).expect("it runs").log;
    assert_eq!((log.time, log.time_in_steps()), (Duration::ZERO, Duration::ZERO));
}
