//! One evaluator for several documents, with requests in any order.
//!
//! The caches of evaluators and plans must have no visible effect: whatever was evaluated before,
//! of the same document or of another one with the same node names, the answer is that of an
//! evaluator without caches.

use std::collections::BTreeSet;
use std::sync::Arc;

use millstream_base::Limits;
use millstream_compile::{Options, Phase, compile};
use millstream_ir::answer::Answer;
use millstream_ir::states::States;
use millstream_ir::{Evaluator, Plan, Request};

use super::compare::difference;
use super::ticks::{Dice, document, shown};
use crate::generate::REGISTRY;

/// Requests ticks of several documents in any order, with other requests in between, and compares
/// with an evaluator that caches nothing.
///
/// # Panics
/// If they differ, or most documents cannot be evaluated.
pub fn reuse_suite(
    evaluator: &mut dyn Evaluator,
    forgetful: &mut dyn Evaluator,
    seeds: std::ops::Range<u64>,
) {
    let (mut n_asked, n_seeds) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let mut dice = Dice::new(seed ^ 0x5EED << 32);
        let mut games: Vec<(Plan, States)> = Vec::new();
        let mut texts = String::new();
        for _ in 0..3 {
            let document = document(&mut dice);
            texts += &format!("{document:#}\n");
            for plan in plans(&document.to_string()) {
                games.push((plan, States::new()));
            }
        }
        for n in 0..STEPS {
            if games.is_empty() {
                break;
            }
            let at = dice.below(games.len());
            match step(evaluator, forgetful, &mut games[at], &mut dice) {
                Ok(was_asked) => n_asked += u64::from(was_asked),
                Err(problem) => {
                    panic!(
                        "{}, seed {seed}, step {n}, plan {at}: {problem}\n{texts}",
                        evaluator.name()
                    )
                }
            }
        }
    }
    assert!(n_asked * 2 > n_seeds * STEPS as u64, "only {n_asked} requests could be asked");
}

/// Number of requests per seed.
const STEPS: usize = 16;

/// The plans of a document before and after all passes; none if it has problems.
fn plans(text: &str) -> Vec<Plan> {
    let (opened, _) =
        millstream_document::open(text.as_bytes(), &REGISTRY, None, &[], &Limits::default());
    let Some((_, checked)) = opened else { return Vec::new() };
    let plan = |after| {
        let options = Options { after, ..Options::default() };
        compile(&checked, &REGISTRY, &options).ok()
    };
    [Some(Phase::Conversions), None].into_iter().filter_map(plan).collect()
}

/// Sends both evaluators a request, for the next tick or of another kind; returns whether there was
/// an answer.
fn step(
    evaluator: &mut dyn Evaluator,
    forgetful: &mut dyn Evaluator,
    (plan, states): &mut (Plan, States),
    dice: &mut Dice,
) -> Result<bool, String> {
    let is_tick = dice.below(3) > 0;
    let frame = states.n_ticks() as i64;
    let mut request = if is_tick || dice.below(2) == 0 {
        Request::new().frame(frame)
    } else {
        Request::new().frames(vec![frame, frame + 1])
    };
    let count = [1, 2, 2, 3, 5][dice.below(5)];
    let value = |dice: &mut Dice| dice.below(5) as f32 + [0.0, 0.25][dice.below(2)];
    request = match dice.below(3) {
        0 => request.count(count).set("x", value(dice)),
        1 => request.count(count),
        _ => request.column("x", (0..count).map(|_| value(dice)).collect::<Vec<_>>()),
    };
    request = request.set("k", dice.below(4) as i32).set("on", dice.below(3) > 0);
    if is_tick {
        request = request.with_states(plan);
    }
    let request = states.given_to(plan, request);
    if request.bind(plan).is_err() {
        return Ok(false);
    }
    let expected = forgetful.evaluate(plan, &request);
    let found = evaluator.evaluate(plan, &request);
    let (mut expected, found) = match (expected, found) {
        (Ok(expected), Ok(found)) => (expected, found),
        (Err(_), Err(_)) => return Ok(false),
        (Ok(_), Err(error)) | (Err(error), Ok(_)) => return Err(format!("one fails: {error}")),
    };
    for (expected_output, output) in expected.outputs.iter().zip(&found.outputs) {
        let differs = match (&expected_output.value, &output.value) {
            (Some(a), Some(b)) if a.axes != b.axes => {
                Some(format!("it varies along {:?}, and along {:?}", a.axes, b.axes))
            }
            (Some(a), Some(b)) => difference(&expected.full_column(a), &found.full_column(b)),
            (None, None) => None,
            (a, b) => Some(format!("{a:?}, and {b:?}")),
        };
        if let Some(difference) = differs {
            return Err(format!("output `{}`: {difference}", output.name));
        }
    }
    if seen(&expected) != seen(&found) {
        return Err(format!("found:\n{:?}\nexpected:\n{:?}", seen(&found), seen(&expected)));
    }
    if is_tick {
        states.commit(&mut expected);
    }
    Ok(true)
}

/// The failures and the new state.
fn seen(answer: &Answer) -> (BTreeSet<String>, Vec<(Arc<str>, String)>) {
    let failures = answer.failures.iter().map(ToString::to_string).collect();
    let kept = answer.calls.all.iter().map(|called| {
        (Arc::clone(&called.node), called.table.as_ref().map(shown).unwrap_or_default())
    });
    (failures, kept.collect())
}
