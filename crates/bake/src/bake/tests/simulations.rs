//! Documents with several simulations, some of which read others.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;

/// A small generator of numbers.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A simulation: what its tick adds, and the simulations it reads.
pub(super) struct Simulation {
    added: i32,
    /// Earlier simulations, read in the same tick.
    now: Vec<usize>,
    /// Any simulations, read as they were before the tick.
    before: Vec<usize>,
}

pub(super) fn simulations(dice: &mut Dice) -> Vec<Simulation> {
    let n = 2 + dice.below(3);
    let mut some = |most: usize| (0..most).filter(|_| dice.below(4) == 0).collect::<Vec<_>>();
    let reads: Vec<(Vec<usize>, Vec<usize>)> = (0..n).map(|i| (some(i), some(n))).collect();
    let all = reads.into_iter().zip(1..);
    all.map(|((now, before), added)| Simulation { added, now, before }).collect()
}

/// The document, in which the tick of a simulation may fail in frame 2.
pub(super) fn document(all: &[Simulation], failing: Option<usize>) -> String {
    let mut text = "k = convert.to_i32(context.tick())\n".to_owned();
    for (i, simulation) in all.iter().enumerate() {
        let mut sum = format!("{}", simulation.added);
        simulation.now.iter().for_each(|j| write!(sum, " + now{j}").expect("it is a string"));
        simulation.before.iter().for_each(|j| write!(sum, " + s{j}").expect("it is a string"));
        let index = if failing == Some(i) { "k == 2 ? 7 : 0" } else { "0" };
        write!(
            text,
            "item{i} = list.get(list.of(several [1, 2, 3]), index: convert.to_i32({index}))\n\
             s{i} = state.feedback(now{i}, initial: 0)\n\
             now{i} = test.work(0.5 * s{i} + item{i} + {sum}, label: {i})\n\
             output now{i}_: f64 = now{i}\noutput before{i}: f64 = s{i}\n"
        )
        .expect("it is a string");
    }
    text + "output none: f64 = test.work(convert.to_f64(k), label: 9)\n"
}

/// The simulations that depend on one.
fn readers(all: &[Simulation], changed: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([changed]);
    loop {
        let n = found.len();
        for (i, simulation) in all.iter().enumerate() {
            let mut read = simulation.now.iter().chain(&simulation.before);
            if read.any(|j| found.contains(j)) {
                found.insert(i);
            }
        }
        if found.len() == n {
            return found;
        }
    }
}

/// Whether the frames of an output, baked alone, are reused.
fn is_reused(program: &Program, output: &str, cache: &mut Cache) -> bool {
    let request = Request::new().output(output);
    let all = fates(&baked(program, &request, &[0, 1, 2, 3, 4], cache));
    assert!(["xxxxx", "....."].contains(&&*all), "{output}: {all}");
    all == "....."
}

#[test]
fn a_change_to_a_simulation_bakes_the_outputs_again_that_depend_on_it() {
    let (engine, runs) = engine();
    for seed in 0..12 {
        let mut dice = Dice(seed);
        let store = Store::new(&format!("changed-simulation-{seed}"));
        let mut all = simulations(&mut dice);
        let program =
            |all: &[Simulation]| engine.load(document(all, None).as_bytes()).expect("it compiles");
        let before = program(&all);
        let bake = |program: &Program, cache: &mut Cache| {
            let bake = Bake::new(program.plan(), Request::new(), (0..5).collect());
            agrees(&bake.expect("it fits"), cache)
        };
        bake(&before, &mut store.open());
        let changed = dice.below(all.len());
        all[changed].added += 10;
        let after = program(&all);
        let readers = readers(&all, changed);
        taken(&runs);
        for i in 0..all.len() {
            for output in [format!("now{i}_"), format!("before{i}")] {
                let is_reused = is_reused(&after, &output, &mut store.open());
                assert_eq!(
                    is_reused,
                    !readers.contains(&i),
                    "seed {seed}, {output} after {changed}"
                );
            }
        }
        assert!(is_reused(&after, "none", &mut store.open()), "seed {seed}");
        // All are stored now, with the values of single evaluations.
        assert_eq!(bake(&after, &mut store.open()), 5, "seed {seed}");
        assert_eq!(bake(&before, &mut store.open()), 5, "seed {seed}");
    }
}

#[test]
fn what_does_not_depend_on_a_simulation_that_fails_is_as_without_it() {
    let (engine, _) = engine();
    for seed in 0..12 {
        let mut dice = Dice(seed);
        let store = Store::new(&format!("failing-simulation-{seed}"));
        let all = simulations(&mut dice);
        let failing = dice.below(all.len());
        let program =
            |failing| engine.load(document(&all, failing).as_bytes()).expect("it compiles");
        let (whole, failed) = (program(None), program(Some(failing)));
        let readers = readers(&all, failing);
        for frames in [vec![0, 1, 2, 3, 4], vec![4, 5]] {
            let bake = |program: &Program| {
                let bake = Bake::new(program.plan(), Request::new(), frames.clone());
                let bake = bake.expect("it fits");
                agrees(&bake, &mut store.open());
            };
            bake(&failed);
            bake(&failed);
            for i in 0..all.len() {
                let request = Request::new().output(format!("before{i}"));
                let told = |program: &Program| {
                    let bake = Bake::new(program.plan(), request.clone(), frames.clone());
                    let mut told = BTreeSet::new();
                    let done = bake.expect("it fits").run(
                        &mut store.open(),
                        &mut Lazy,
                        &mut |_, _| true,
                        &mut |part| {
                            let frame = frames[part.positions.start];
                            let at = |it: &NodeFailure| it.replayed.unwrap_or(frame);
                            told.extend(part.answer.failures.iter().map(at));
                            Ok::<(), Infallible>(())
                        },
                    );
                    done.expect("it bakes");
                    told
                };
                let expected = BTreeSet::from_iter(readers.contains(&i).then_some(2));
                let told_by = told(&failed);
                assert_eq!(told_by, expected, "seed {seed}, {i} after {failing}");
                if !readers.contains(&i) {
                    let values = |program: &Program| {
                        baked(program, &request, &frames, &mut Cache::none())
                            .into_iter()
                            .map(|(value, _)| value.to_bits())
                            .collect::<Vec<_>>()
                    };
                    assert_eq!(values(&whole), values(&failed), "seed {seed}, {i}");
                }
            }
        }
    }
}

#[test]
fn names_of_state_are_no_part_of_keys() {
    let (engine, _) = engine();
    let store = Store::new("renamed-state");
    let program = |[zone, x, group]: [&str; 3]| {
        let text = format!(
            "{zone} = simulate {group}({x}: 1)\noutput y: f64 = test.work({zone}.{x}, label: 1)\n\
             group {group}({x}: f64) -> {x}: f64 = next {{\n  next = 0.5 * {x} + 3\n}}\n"
        );
        engine.load(text.as_bytes()).expect("it compiles")
    };
    let frames: Vec<i64> = (0..4).collect();
    let names = [["zone", "x", "step"], ["zone", "height", "step"], ["pond", "x", "advance"]];
    for (i, names) in names.into_iter().enumerate() {
        let all = baked(&program(names), &Request::new(), &frames, &mut store.open());
        assert_eq!(fates(&all), ["xxxx", "...."][i.min(1)], "{names:?}");
    }
}

#[test]
fn state_that_depends_on_the_real_time_is_not_stored() {
    let (engine, _) = engine();
    let store = Store::new("real-time-state");
    let text = "now = test.work(context.real_time(), label: 1)\n\
                output y: f64 = state.feedback(now, initial: 0)\n\
                output x: i32 = state.counter()\n";
    let program = engine.load(text.as_bytes()).expect("it compiles");
    for (output, fates) in [("y", ["xxx", "xxx"]), ("x", ["xxx", "..."])] {
        for expected in fates {
            let request = Request::new().output(output);
            let request = request.feature(Feature::RealTime, Given::One(1.0_f64.into()));
            let bake = Bake::new(program.plan(), request, vec![0, 1, 2]).expect("it fits");
            let (mut found, mut has_key) = (String::new(), false);
            let done = bake.run(&mut store.open(), &mut Lazy, &mut |_, _| true, &mut |part| {
                found.push(if part.fate == Fate::Ran { 'x' } else { '.' });
                has_key |= part.key.is_some();
                Ok::<(), Infallible>(())
            });
            done.expect("it bakes");
            assert_eq!((&*found, has_key), (expected, output == "x"), "{output}");
        }
    }
}

#[test]
fn state_that_does_not_depend_on_the_view_advances_once_for_several_views() {
    let (engine, runs) = engine();
    let store = Store::new("state-of-views");
    // The sum before the tick and the next one are results of the same step.
    let text = "sum = state.integrate(test.work(convert.to_f64(context.tick()), label: 1))\n\
                size = convert.to_f64(footprint.pixel_size(context.footprint()))\n\
                output y: f64 = sum * 24 * size\n";
    let program = engine.load(text.as_bytes()).expect("it compiles");
    for (size, n_runs) in [(1.0, Some((1, 4))), (0.5, None), (0.25, None)] {
        let mut view = Footprint::of_size(4, 3);
        (view.transform.0[0], view.transform.0[5]) = (size, size);
        let request = Request::new().view(view);
        let mut bake = Bake::new(program.plan(), request, vec![0, 1, 2, 3]).expect("it fits");
        bake.gain = 0;
        let mut found = Vec::new();
        let done = bake.run(&mut store.open(), &mut Lazy, &mut |_, _| true, &mut |part| {
            found.extend(part.answer.column::<f64>("y").expect("it has a value"));
            Ok::<(), Infallible>(())
        });
        done.expect("it bakes");
        let expected = [0.0, 1.0, 3.0, 6.0].map(|sum| sum * f64::from(size));
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        assert_eq!(taken(&runs).first().copied(), n_runs, "{size}");
    }
}

#[test]
fn the_state_after_a_tick_is_not_read_in_another_context() {
    let store = Store::new("state-in-scope");
    let engine = Engine::new();
    for last in [1, 2] {
        // The next state is the index, which the list reads in another context.
        let text = format!(
            "i = convert.to_f32(context.index())\n\
             s = state.feedback(i, initial: 0, type = \"f32\")\n\
             all = list.generate(i, count: convert.to_i32(s) + 1)\n\
             output o: f32 = list.sum(all) + {last}\n"
        );
        let program = engine.load(text.as_bytes()).expect("it compiles");
        let request = Request::new().count(3);
        let mut bake = Bake::new(program.plan(), request, vec![0, 1, 2]).expect("it fits");
        bake.gain = 0;
        agrees(&bake, &mut store.open());
    }
}

#[test]
fn elements_go_on_where_others_fail() {
    let store = Store::new("held-elements");
    let text = "input bad: i32 = 9\ntick = convert.to_i32(context.tick())\n\
                item = list.get(list.of(several [1, 2]), index: tick == bad ? 7 : 1)\n\
                sum = state.feedback(next, initial: 0)\nnext = sum + item\n\
                output y: f64 = convert.to_f64(sum)\n";
    let program = Engine::new().load(text.as_bytes()).expect("it compiles");
    let request = Request::new().column("bad", vec![9, 1, 3, 9]).with_partial();
    let expected =
        |frame: f64| [2.0 * frame, 2.0 * (frame - 1.0), 2.0 * (frame - 1.0), 2.0 * frame];
    for frames in [0..4, 2..7] {
        let bake = Bake::new(program.plan(), request.clone(), frames.collect()).expect("it fits");
        let done = bake.run(&mut store.open(), &mut Lazy, &mut |_, _| true, &mut |part| {
            let frame = bake.frames[part.positions.start];
            if frame > 3 {
                let found = part.answer.column::<f64>("y").expect("it fails no more");
                assert_eq!(found, expected(frame as f64), "frame {frame}");
            }
            Ok::<(), Infallible>(())
        });
        done.expect("it bakes");
    }
}

/// The failures and the outputs of frames.
type Told = Vec<(i64, BTreeSet<String>, [Option<Vec<f64>>; 2])>;

#[test]
fn a_bake_resumes_after_a_tick_that_failed() {
    let (engine, runs) = engine();
    let store = Store::new("after-a-failure");
    let text = "input bad: i32 = 9\ntick = convert.to_i32(context.tick())\n\
                item = list.get(list.of(several [1, 2]), index: tick == bad ? 7 : 1)\n\
                sum = state.feedback(next, initial: 0)\n\
                next = test.work(sum, label: 1) + convert.to_f64(item)\n\
                output y: f64 = sum\noutput z: f64 = next\n";
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let request = Request::new().column("bad", vec![9, 1, 3, 5]).with_partial();
    // What a bake answers for each frame, and the number of evaluations of the next state.
    let told = |frames: std::ops::Range<i64>, cache: &mut Cache| {
        let mut bake =
            Bake::new(program.plan(), request.clone(), frames.collect()).expect("it fits");
        bake.gain = 0;
        let mut all = Vec::new();
        let done = bake.run(cache, &mut Lazy, &mut |_, _| true, &mut |part| {
            let failures: BTreeSet<String> =
                part.answer.failures.iter().map(ToString::to_string).collect();
            let values = ["y", "z"].map(|output| part.answer.column::<f64>(output));
            all.push((bake.frames[part.positions.start], failures, values));
            Ok::<(), Infallible>(())
        });
        done.expect("it bakes");
        let n = taken(&runs).first().map_or(0, |(_, n)| *n);
        (all, n)
    };
    for frames in [0..4, 2..6, 4..8, 6..8] {
        let (expected, _): (Told, _) = told(frames.clone(), &mut Cache::none());
        let (found, n) = told(frames.clone(), &mut store.open());
        assert_eq!(found, expected, "{frames:?}");
        // A tick of four elements runs at most twice: for the state, and for outputs that depend on
        // a failure. From the first failure on, the last bake would play seven ticks.
        assert!(n <= 8 * (frames.end - frames.start) as usize, "{n} evaluations of {frames:?}");
    }
}
