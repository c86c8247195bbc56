//! A bake gives the values of single evaluations, and computes only results that are not stored.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use millstream::{Engine, NodeDef, Program};
use millstream_base::same::Same as _;
use millstream_base::{Feature, Footprint};
use millstream_ir::answer::{Answer, Evaluator, NodeFailure};
use millstream_ir::plan::Plan;
use millstream_ir::request::{Given, Request, RequestAxis};
use millstream_run::Lazy;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use super::{Bake, BakeError, Each, Fate, IsWanted, Part};
use crate::cache::Cache;

mod between;
mod meaning;
mod simulations;

/// The number of runs of nodes, by their label.
type Runs = Arc<Mutex<BTreeMap<i32, usize>>>;

/// A cache for a test, removed when it ends.
struct Store(PathBuf);

impl Store {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("millstream-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self) -> Cache {
        Cache::open(&self.0, 1 << 28)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An engine whose node `test.work` counts its runs by a label, and is slow.
fn engine() -> (Engine, Runs) {
    let runs = Runs::default();
    let mut engine = Engine::new();
    let counted = Arc::clone(&runs);
    let mut work = NodeDef::from_closure(
        "test.work",
        "x and one more",
        &["x", "label"],
        move |x: f64, label: i32| {
            *counted.lock().expect("no run panics").entry(label).or_default() += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            x + 1.0
        },
    );
    work.cost = Some(std::time::Duration::from_millis(1));
    engine.register(work);
    (engine, runs)
}

fn taken(runs: &Runs) -> Vec<(i32, usize)> {
    std::mem::take(&mut *runs.lock().expect("no run panics")).into_iter().collect()
}

/// Bakes frames, and returns the first output of each and whether it ran.
fn baked(
    program: &Program,
    request: &Request,
    frames: &[i64],
    cache: &mut Cache,
) -> Vec<(f64, Fate)> {
    let bake = Bake::new(program.plan(), request.clone(), frames.to_vec()).expect("it fits");
    let mut all = Vec::new();
    let done = bake.run(cache, &mut Lazy, &mut |_, _| true, &mut |part| {
        let output = part.answer.outputs[0].name.to_string();
        all.push((part.answer.column(&output).expect("it is an f64")[0], part.fate));
        Ok::<(), Infallible>(())
    });
    done.expect("it bakes");
    all
}

fn fates(all: &[(f64, Fate)]) -> String {
    all.iter().map(|(_, fate)| if *fate == Fate::Ran { 'x' } else { '.' }).collect()
}

#[test]
fn what_a_stopped_bake_left_is_computed_without_reading_the_rest() {
    let (engine, _) = engine();
    let store = Store::new("rest");
    for text in [
        "output y: f64 = test.work(context.time(), label: 1)\n",
        "before = state.feedback(now, initial: 0)\nnow = test.work(before, label: 2)\n\
         output y: f64 = now\n",
    ] {
        let program = engine.load(text.as_bytes()).expect("it compiles");
        let request = Request::new();
        let frames: Vec<i64> = (0..6).collect();
        let rest = |cache: &mut Cache| {
            let bake = Bake::new(program.plan(), request.clone(), frames.clone());
            let mut all = Vec::new();
            let mut ahead = |part: Part| {
                all.push(part.positions.start);
                Ok::<(), Infallible>(())
            };
            let (mut is_wanted, mut each) = (|_, _| false, |_| Ok(()));
            let rest = (&mut is_wanted as IsWanted<'_>, &mut each as Each<'_, Infallible>);
            let done = bake.expect("it fits").run_resumed(cache, &mut Lazy, &mut ahead, rest);
            done.expect("it bakes");
            all
        };
        assert_eq!(rest(&mut store.open()), [0; 0], "a bake that begins computes frame by frame");
        baked(&program, &request, &[1, 2], &mut store.open());
        assert_eq!(rest(&mut store.open()), [0, 3, 4, 5]);
        assert_eq!(rest(&mut store.open()), [0; 0]);
        assert_eq!(fates(&baked(&program, &request, &frames, &mut store.open())), "......");
    }
}

#[test]
fn baked_frames_are_not_computed_again() {
    let (engine, runs) = engine();
    let store = Store::new("again");
    let text = b"fixed = test.work(5, label: 1)\ny = test.work(context.time() + fixed, label: 2)\noutput y: f64 = y\n";
    let program = engine.load(text).expect("it compiles");
    let frames: Vec<i64> = (0..10).collect();
    let first = baked(&program, &Request::new(), &frames, &mut store.open());
    assert_eq!(taken(&runs), [(1, 1), (2, 10)]);
    assert_eq!(first[3].0, 3.0 / 24.0 + 7.0);
    let second = baked(&program, &Request::new(), &frames, &mut store.open());
    assert_eq!(taken(&runs), []);
    assert_eq!(fates(&second), "..........");
    assert!(first.iter().zip(&second).all(|(a, b)| a.0.to_bits() == b.0.to_bits()));
    // For an overlapping range, only the new frames are computed.
    let more = baked(&program, &Request::new(), &[8, 9, 10, 11], &mut store.open());
    assert_eq!(fates(&more), "..xx");
    assert_eq!(taken(&runs), [(2, 2)]);
}

#[test]
fn a_changed_node_is_recomputed_with_its_dependents() {
    let (engine, runs) = engine();
    let store = Store::new("changed");
    let chain = |last: &str| {
        let mut text = "n0 = context.time()\n".to_owned();
        for i in 1..10 {
            text += &format!("n{i} = test.work(n{}, label: {i})\n", i - 1);
        }
        let text =
            text + &format!("n10 = test.work(n9 + {last}, label: 10)\noutput y: f64 = n10\n");
        engine.load(text.as_bytes()).expect("it compiles")
    };
    let frames: Vec<i64> = (0..6).collect();
    baked(&chain("1"), &Request::new(), &frames, &mut store.open());
    assert_eq!(taken(&runs), (1..=10).map(|label| (label, 6)).collect::<Vec<_>>());
    let again = baked(&chain("2"), &Request::new(), &frames, &mut store.open());
    assert_eq!(taken(&runs), [(10, 6)]);
    assert_eq!(again[0].0, 12.0);
    let back = baked(&chain("1"), &Request::new(), &frames, &mut store.open());
    assert_eq!((fates(&back).as_str(), taken(&runs).len()), ("......", 0));
}

#[test]
fn a_change_affects_only_frames_whose_values_change() {
    let (engine, runs) = engine();
    let store = Store::new("matters");
    let with = |from: i32| {
        let text = format!(
            "t = context.time() * 24\nx = t < {from} ? 0 : t - {from}\n\
             y = test.work(x, label: 1)\noutput y: f64 = y\n"
        );
        engine.load(text.as_bytes()).expect("it compiles")
    };
    let frames: Vec<i64> = (0..12).collect();
    let first = baked(&with(8), &Request::new(), &frames, &mut store.open());
    // The value does not change up to frame 8, so one frame computes it.
    assert_eq!(fates(&first), "x........xxx");
    let second = baked(&with(10), &Request::new(), &frames, &mut store.open());
    assert_eq!(fates(&second), "............");
    assert_eq!(second.iter().map(|(y, _)| *y).sum::<f64>(), 11.0 + 2.0);
    assert_eq!(taken(&runs), [(1, 4)]);
}

#[test]
fn arms_that_a_frame_does_not_take_do_not_affect_it() {
    let (engine, runs) = engine();
    let store = Store::new("arm");
    let with = |late: f32| {
        let text = format!(
            "t = context.time()\n\
             early = test.work(t, label: 1)\nlate = test.work(t + {late}, label: 2)\n\
             is_early = t < 0.2\noutput y: f64 = is_early ? early : late\n"
        );
        engine.load(text.as_bytes()).expect("it compiles")
    };
    let frames: Vec<i64> = (0..10).collect();
    baked(&with(200.0), &Request::new(), &frames, &mut store.open());
    assert_eq!(taken(&runs), [(1, 5), (2, 5)]);
    let again = baked(&with(300.0), &Request::new(), &frames, &mut store.open());
    assert_eq!(fates(&again), ".....xxxxx");
    assert_eq!(taken(&runs), [(2, 5)]);
}

#[test]
fn inputs_and_elements_are_part_of_the_keys() {
    let (engine, _) = engine();
    let store = Store::new("inputs");
    let text =
        b"input a: f64 = 1\ny = test.work(context.time() + a, label: 1)\noutput y: f64 = y\n";
    let program = engine.load(text).expect("it compiles");
    let bake = |request: Request| fates(&baked(&program, &request, &[0, 1, 2], &mut store.open()));
    assert_eq!(bake(Request::new()), "xxx");
    assert_eq!(bake(Request::new().set("a", 1.0_f64)), "...");
    assert_eq!(bake(Request::new().set("a", 2.0_f64)), "xxx");
    assert_eq!(bake(Request::new().column("a", vec![1.0_f64, 2.0])), "xxx");
    assert_eq!(bake(Request::new().column("a", vec![1.0_f64, 3.0])), "xxx");
    assert_eq!(bake(Request::new().column("a", vec![1.0_f64, 2.0])), "...");
}

const FALLING: &str = "\
next = state.feedback(test.work(speed + 0.5, label: 1), initial: 0)
speed = next
output y: f64 = speed
";

#[test]
fn state_resumes_where_a_bake_stopped() {
    let (engine, runs) = engine();
    let store = Store::new("state");
    let program = engine.load(FALLING.as_bytes()).expect("it compiles");
    let frames: Vec<i64> = (0..20).collect();
    let bake = Bake::new(program.plan(), Request::new(), frames.clone()).expect("it fits");
    let stopped = bake.run(&mut store.open(), &mut Lazy, &mut |_, _| true, &mut |part| {
        if part.positions.start < 9 { Ok(()) } else { Err("enough") }
    });
    assert!(matches!(stopped, Err(BakeError::Caller("enough"))));
    assert_eq!(taken(&runs), [(1, 10)]);
    let all = baked(&program, &Request::new(), &frames, &mut store.open());
    assert_eq!(fates(&all), "..........xxxxxxxxxx");
    assert_eq!(taken(&runs), [(1, 10)]);
    assert!(all.iter().enumerate().all(|(i, (y, _))| *y == i as f64 * 1.5));
    // For the last frame alone, no tick is replayed.
    let last = baked(&program, &Request::new(), &[20], &mut store.open());
    assert_eq!((last[0].0, taken(&runs)), (30.0, vec![(1, 1)]));
}

#[test]
fn outputs_are_computed_from_the_stored_state_after_their_frame() {
    let (engine, runs) = engine();
    let store = Store::new("after");
    let program = |last: i32| {
        let text = format!(
            "s = simulate step(0)\noutput y: f64 = test.work(s.x, label: 2) + {last}\n\
             group step(x: f64) -> x: f64 {{\n  x = test.work(x, label: 1)\n}}\n"
        );
        engine.load(text.as_bytes()).expect("it compiles")
    };
    let baked = |last: i32, frames: &[i64]| {
        let program = program(last);
        let mut bake = Bake::new(program.plan(), Request::new(), frames.to_vec()).expect("fits");
        bake.gain = 0;
        assert_eq!(agrees(&bake, &mut store.open()), 0);
        taken(&runs).first().copied()
    };
    assert!(baked(1, &[0, 1, 2, 3, 4]).is_some_and(|(label, _)| label == 1));
    // The expected values run all nodes once more.
    let alone = 1 + 2 + 3 + 4;
    assert_eq!(baked(2, &[0, 1, 2, 3, 4]), Some((1, alone)));
    // For a later frame, the state before and after it is known.
    assert_eq!(baked(3, &[3]), Some((1, 3)));
}

#[test]
fn a_tick_that_fails_leaves_no_state_for_later_bakes() {
    let (engine, _) = engine();
    let store = Store::new("failed-tick");
    let program = |last: i32| {
        let text = format!(
            "k = convert.to_i32(context.tick())\n\
             item = list.get(list.of(several [1, 2, 3]), index: convert.to_i32(k == 2 ? 7 : 0))\n\
             before = state.feedback(now, initial: 0)\nnow = test.work(before + item, label: 1)\n\
             output y: f64 = now + {last}\n"
        );
        engine.load(text.as_bytes()).expect("it compiles")
    };
    for last in [1, 2] {
        let program = program(last);
        let mut bake = Bake::new(program.plan(), Request::new(), (0..5).collect()).expect("fits");
        bake.gain = 0;
        // Frame 2 fails in both bakes, and the frames after it have the same values.
        agrees(&bake, &mut store.open());
    }
}

#[test]
fn pictures_are_keyed_by_the_values_that_change() {
    let (engine, _) = engine();
    let store = Store::new("pictures");
    let picture = |speed: f32, sharp: f32| {
        let text = format!(
            "t = context.time()\nshift = {speed} * convert.to_f32(t)\n\
             p = context.position()\n\
             field = image.from_field(noise.fbm(p + vec3(shift, 0, 0), scale: 0.05))\n\
             soft = image.blur(field, radius: 2)\n\
             output picture: image = image.sharpen(soft, amount: {sharp})\n"
        );
        engine.load(text.as_bytes()).expect("it compiles")
    };
    let request = Request::new().view(Footprint::of_size(24, 16));
    let n_reused = |program: &Program| {
        let mut bake = Bake::new(program.plan(), request.clone(), (0..4).collect()).expect("fits");
        bake.gain = 0;
        agrees(&bake, &mut store.open())
    };
    assert_eq!(n_reused(&picture(40.0, 1.0)), 0);
    assert_eq!(n_reused(&picture(40.0, 1.0)), 4);
    assert_eq!(n_reused(&picture(40.0, 2.0)), 0);
    // Before anything has moved, the speed does not matter.
    assert_eq!(n_reused(&picture(50.0, 1.0)), 1);
    assert_eq!(n_reused(&picture(50.0, 2.0)), 1);
}

#[test]
fn frames_that_are_not_wanted_are_left_out() {
    let (engine, runs) = engine();
    let text = b"output y: f64 = test.work(context.time(), label: 1)\n";
    let program = engine.load(text).expect("it compiles");
    let bake = Bake::new(program.plan(), Request::new(), (0..9).collect()).expect("it fits");
    let mut seen = Vec::new();
    let done = bake.run(
        &mut Cache::none(),
        &mut Lazy,
        &mut |position, _| position % 3 == 1,
        &mut |part| {
            seen.push(part.positions.start);
            Ok::<(), Infallible>(())
        },
    );
    done.expect("it bakes");
    assert_eq!((seen, taken(&runs)), (vec![1, 4, 7], vec![(1, 3)]));
}

/// The repeats that did not settle, or `-`.
fn names_of(part: &Part) -> String {
    // The repeat of the value `a` is called `a_1`.
    let names = part.unsettled.iter().map(|it| it.path.as_str().trim_end_matches("_1"));
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "-".to_owned() } else { names.join("+") }
}

/// Bakes frames; for each, the repeats that did not settle, or `-`.
fn unsettled(program: &Program, frames: &[i64], cache: &mut Cache) -> String {
    let bake = Bake::new(program.plan(), Request::new(), frames.to_vec()).expect("it fits");
    let mut all = Vec::new();
    let done = bake.run(cache, &mut Lazy, &mut |_, _| true, &mut |part| {
        all.push(names_of(&part));
        Ok::<(), Infallible>(())
    });
    done.expect("it bakes");
    all.join(" ")
}

/// Repeats `a` and `b` that settle in 500 rounds, but not in these; `more` are the other nodes.
fn repeats(engine: &Engine, [a, b]: [&str; 2], more: &str) -> Program {
    let text = format!(
        "t = convert.to_i32(context.tick())\n\
         a = repeat halve(100, count: convert.to_i32({a}), until = \"stable\").x\n\
         b = repeat halve(50, count: convert.to_i32({b}), until = \"stable\").x\n{more}\
         group halve(x: f64) -> x: f64 {{\n  x = x / 2 + 1\n}}\n"
    );
    engine.load(text.as_bytes()).expect("it compiles")
}

#[test]
fn repeats_that_do_not_settle_are_part_of_the_results_that_depend_on_them() {
    let (engine, runs) = engine();
    let store = Store::new("unsettled");
    let late = "t < 2 ? 500 : 3";
    let program = |last: i32| {
        let more = format!(
            "early = test.work(a + b, label: 1)\noutput y: f64 = test.work(early + {last}, label: 2)\n"
        );
        repeats(&engine, [late, "500"], &more)
    };
    for _ in 0..2 {
        assert_eq!(unsettled(&program(1), &[0, 1, 2, 3], &mut store.open()), "- - a a");
    }
    assert!(!taken(&runs).is_empty());
    // The result that depends on the repeat is read from the cache.
    assert_eq!(unsettled(&program(2), &[0, 1, 2, 3], &mut store.open()), "- - a a");
    assert!(taken(&runs).iter().all(|(label, _)| *label == 2));
    // A repeat that is the same in all frames runs in the first one alone.
    let fixed = "output y: f64 = test.work(b + context.time(), label: 3)\n";
    let fixed = repeats(&engine, [late, "3"], fixed);
    assert_eq!(unsettled(&fixed, &[0, 1, 2], &mut store.open()), "b b b");
    assert_eq!(unsettled(&fixed, &[2, 3], &mut store.open()), "b b");
    // Outputs that do not depend on a repeat are not marked.
    let both = "output x: f64 = test.work(a, label: 4)\noutput y: f64 = test.work(b, label: 5)\n";
    let both = repeats(&engine, ["2", "3"], both);
    assert_eq!(unsettled(&both, &[0, 1], &mut store.open()), "a+b a+b");
    let bake = Bake::new(both.plan(), Request::new().output("y"), vec![0, 1]).expect("it fits");
    let done = bake.run(&mut store.open(), &mut Lazy, &mut |_, _| true, &mut |part| {
        let names = names_of(&part);
        if names == "b" && part.fate == Fate::Reused { Ok(()) } else { Err(names) }
    });
    done.expect("the result of `b` alone is read");
}

#[test]
fn frames_computed_together_are_marked_one_by_one() {
    let store = Store::new("unsettled-block");
    let more = "output y: list<f64> = list.of(several [a, b])\n";
    let frames: Vec<i64> = (0..300).collect();
    let program = repeats(&Engine::new(), ["math.modulo(t, 97) == 5 ? 3 : 500 + t", "500"], more);
    let expected: Vec<&str> =
        frames.iter().map(|frame| if frame % 97 == 5 { "a" } else { "-" }).collect();
    for _ in 0..2 {
        let all = unsettled(&program, &frames, &mut store.open());
        assert_eq!(all.split(' ').collect::<Vec<_>>(), expected);
    }
}

#[test]
fn state_that_depends_on_a_repeat_that_did_not_settle_is_marked_too() {
    let (engine, runs) = engine();
    let store = Store::new("unsettled-state");
    let more = "before = state.feedback(now, initial: 0)\nnow = test.work(before + a, label: 1)\n\
                output y: f64 = now\n";
    let program = repeats(&engine, ["t == 2 ? 3 : 500", "500"], more);
    assert_eq!(unsettled(&program, &[0, 1], &mut store.open()), "- -");
    for _ in 0..2 {
        let all = unsettled(&program, &[0, 1, 2, 3, 4, 5], &mut store.open());
        assert_eq!(all, "- - a a a a");
    }
    taken(&runs);
    assert_eq!(unsettled(&program, &[7], &mut store.open()), "a");
    assert_eq!(taken(&runs), [(1, 2)], "the state after frame 5 is read");
}

/// The answer of a single evaluation.
fn alone(bake: &Bake<'_>, frame: i64) -> Answer {
    let request = bake.request.clone().frame(frame);
    let mut lazy = Lazy;
    if bake.has_ticks {
        millstream_run::ticks::evaluate(&mut lazy, bake.plan, &request).expect("it fits")
    } else {
        lazy.evaluate(bake.plan, &request).expect("it fits")
    }
}

/// Bakes all frames, and compares each with a separate evaluation.
fn agrees(bake: &Bake<'_>, cache: &mut Cache) -> usize {
    let mut n_reused = 0;
    let done = bake.run(cache, &mut Lazy, &mut |_, _| true, &mut |part| {
        let frame = bake.frames[part.positions.start];
        let expected = alone(bake, frame);
        n_reused += usize::from(part.fate == Fate::Reused);
        for (found, expected) in part.answer.outputs.iter().zip(&expected.outputs) {
            match (&found.value, &expected.value) {
                (Some(found_value), Some(expected_value)) => {
                    let found_value = part.answer.full_column(found_value);
                    let expected_value = part.answer.full_column(expected_value);
                    assert!(found_value.same(&expected_value), "{} at frame {frame}", found.name);
                }
                (None, None) => {}
                _ => panic!("{} fails differently at frame {frame}", found.name),
            }
        }
        let is_own = |failure: &&NodeFailure| failure.replayed.is_none();
        let own = |answer: &Answer| {
            let own = answer.failures.iter().filter(is_own);
            own.map(|it| (it.path.to_string(), it.cell.clone())).collect::<BTreeSet<_>>()
        };
        // Outputs that are stored do not depend on failures.
        assert_eq!(own(&part.answer), own(&expected), "at frame {frame}");
        Ok::<(), Infallible>(())
    });
    done.expect("it bakes");
    n_reused
}

/// The same request without moments; `None` if it gives values per moment.
fn without_moments(request: &Request, plan: &Plan) -> Option<Request> {
    let mut without = Request::new();
    if let Some(n) = request.n_elements() {
        without = without.count(n);
    }
    for input in plan.inputs.as_slice() {
        match request.of_input(&input.name) {
            Some(Given::Along(RequestAxis::View | RequestAxis::Time, _)) => return None,
            Some(given) => without = without.given(input.name.to_string(), given.clone()),
            None => {}
        }
    }
    let mut known = Vec::new();
    for need in &plan.needs {
        let is_moment = matches!(need.feature, Feature::Time | Feature::Tick);
        if is_moment || known.contains(&&need.feature) {
            continue;
        }
        known.push(&need.feature);
        match request.of_feature(&need.feature) {
            Some(Given::Along(RequestAxis::View | RequestAxis::Time, _)) => return None,
            Some(given) => without = without.feature(need.feature.clone(), given.clone()),
            None => {}
        }
    }
    Some(without)
}

#[test]
fn generated_graphs_give_the_values_of_single_evaluations() {
    let store = Store::new("generated");
    let mut runner = TestRunner::deterministic();
    let mut cache = store.open();
    let (mut n_checked, mut n_reused) = (0, 0);
    for _ in 0..400 {
        let tree = millstream_testkit::generate::cases(14).new_tree(&mut runner);
        let case = tree.expect("cases are generated").current();
        let compiled = millstream_testkit::plans::compiled_plan(
            &case.graph,
            &millstream_testkit::generate::REGISTRY,
        );
        let Ok(compiled) = compiled else { continue };
        for plan in [&*case.plain, &compiled] {
            let Some(request) = without_moments(&case.request.request(), plan) else { continue };
            let Ok(mut bake) = Bake::new(plan, request, vec![0, 1, 2, 7]) else { continue };
            bake.gain = 0;
            n_checked += 1;
            agrees(&bake, &mut cache);
            n_reused += agrees(&bake, &mut cache);
        }
    }
    assert!(n_checked > 100 && n_reused > n_checked, "{n_checked} {n_reused}");
}

#[test]
fn generated_simulations_give_the_values_of_single_evaluations() {
    let store = Store::new("simulations");
    let mut cache = store.open();
    let mut n_checked = 0;
    for seed in 0..150 {
        for plan in millstream_testkit::agreement::ticking_plans(seed) {
            let request = Request::new().count(2).set("k", 1_i32).set("on", true);
            let request = request.set("x", 1.5_f32);
            let start = plan.start_frame;
            let frames = [0, 1, 3, 4].map(|i| start + i).to_vec();
            let Ok(mut bake) = Bake::new(&plan, request.clone(), frames) else { continue };
            // The state after each tick is stored.
            bake.gain = 0;
            n_checked += 1;
            agrees(&bake, &mut cache);
            agrees(&bake, &mut cache);
            let later = [2, 4, 6].map(|i| start + i).to_vec();
            let bake = Bake::new(&plan, request, later).expect("it fits");
            agrees(&bake, &mut cache);
        }
    }
    assert!(n_checked > 100, "{n_checked}");
}
