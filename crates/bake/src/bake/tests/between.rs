//! Results between state and outputs, for several views and after changes.

use super::simulations::{Dice, document, simulations};
use super::*;

/// Views of different sizes.
fn views() -> [Request; 3] {
    [(4, 3), (8, 6), (40, 30)].map(|(w, h)| Request::new().view(Footprint::of_size(w, h)))
}

/// A simulation, a result that reads it, and the output that reads this and the view.
fn program(engine: &Engine, output: &str) -> Program {
    let text = format!(
        "s = simulate step(0)\nmid = test.work(s.x, label: 2)\n\
         width = convert.to_f64(footprint.separate(context.footprint()).width)\n\
         output y: f64 = {output}\n\
         group step(x: f64) -> x: f64 {{\n  x = test.work(x, label: 1)\n}}\n"
    );
    engine.load(text.as_bytes()).expect("it compiles")
}

#[test]
fn what_views_share_between_state_and_output_is_computed_once() {
    let (engine, runs) = engine();
    for (i, output) in ["mid * width", "mid * width + s.x"].into_iter().enumerate() {
        let store = Store::new(&format!("views-{i}"));
        let program = program(&engine, output);
        let frames = [0, 1, 2, 3, 4];
        let mut n_runs = BTreeMap::new();
        for request in views() {
            let all = baked(&program, &request, &frames, &mut store.open());
            for (label, n) in taken(&runs) {
                *n_runs.entry(label).or_insert(0) += n;
            }
            let bake = Bake::new(program.plan(), request, frames.to_vec()).expect("it fits");
            for (frame, (y, fate)) in frames.iter().zip(all) {
                let expected = alone(&bake, *frame).column("y").expect("it is an f64")[0];
                assert_eq!((y.to_bits(), fate), (f64::to_bits(expected), Fate::Ran), "{output}");
            }
            taken(&runs);
        }
        assert_eq!(n_runs[&2], frames.len(), "{output}");
        if i == 0 {
            // The other views read no state.
            assert_eq!(n_runs[&1], frames.len() - 1);
        }
    }
}

#[test]
fn a_change_after_the_results_that_read_state_computes_only_what_follows() {
    let (engine, runs) = engine();
    let store = Store::new("after-between");
    let frames = [0, 1, 2, 3, 4];
    let bake = |output: &str| {
        let program = program(&engine, output);
        let [request, ..] = views();
        baked(&program, &request, &frames, &mut store.open());
        taken(&runs)
    };
    assert_eq!(bake("mid * width"), [(1, 4), (2, 5)]);
    assert_eq!(bake("test.work(mid * 2, label: 3)"), [(3, 5)]);
}

#[test]
fn repeats_between_state_and_output_that_do_not_settle_are_told_for_each_view() {
    let (engine, runs) = engine();
    let store = Store::new("views-unsettled");
    let more = "before = state.feedback(now, initial: 0)\nnow = test.work(before + 1, label: 1)\n\
                mid = test.work(now + a, label: 2)\n\
                width = convert.to_f64(footprint.separate(context.footprint()).width)\n\
                output y: f64 = mid * width + now\n";
    let program = repeats(&engine, ["t == 2 ? 3 : 500", "500"], more);
    for request in views() {
        let bake = Bake::new(program.plan(), request, vec![0, 1, 2, 3]).expect("it fits");
        let mut all = Vec::new();
        let done = bake.run(&mut store.open(), &mut Lazy, &mut |_, _| true, &mut |part| {
            all.push(names_of(&part));
            Ok::<(), Infallible>(())
        });
        done.expect("it bakes");
        assert_eq!(all, ["-", "-", "a", "-"]);
    }
    assert_eq!(taken(&runs).into_iter().find(|(label, _)| *label == 2), Some((2, 4)));
}

#[test]
fn views_of_simulations_give_the_values_of_single_evaluations() {
    let (engine, _) = engine();
    for seed in 0..12 {
        let mut dice = Dice(seed);
        let store = Store::new(&format!("views-of-simulations-{seed}"));
        let all = simulations(&mut dice);
        let failing = (dice.below(2) == 0).then(|| dice.below(all.len()));
        let mut text = document(&all, failing);
        text += "width = convert.to_f64(footprint.separate(context.footprint()).width)\n";
        for i in 0..3 {
            let [a, b] = [(); 2].map(|()| dice.below(all.len()));
            text += &format!(
                "mid{i} = test.work(now{a} - s{b}, label: {})\noutput seen{i}: f64 = mid{i} * width\n",
                20 + i
            );
        }
        let program = engine.load(text.as_bytes()).expect("it compiles");
        for gain in [0, 2] {
            for (i, request) in views().into_iter().enumerate() {
                let frames = [vec![0, 1, 2, 3, 4], vec![1, 2, 4, 5], vec![3]][i].clone();
                let mut bake = Bake::new(program.plan(), request, frames).expect("it fits");
                bake.gain = gain;
                agrees(&bake, &mut store.open());
                agrees(&bake, &mut store.open());
            }
        }
    }
}

#[test]
fn keys_of_nested_zones_take_no_longer_for_each_level_than_for_the_last() {
    // If each level took twice as long, this would take hours.
    const DEPTH: usize = 32;
    let mut text = String::from("s = simulate step(0)\n");
    for level in 0..DEPTH {
        let start = if level == 0 { "s.x" } else { "x * 0.5 + x" };
        let open =
            format!("z{level} = repeat(x: f64 = {start}, count: 1) -> x: f64 = y{level} {{\n");
        text += &open;
    }
    text += &format!("y{} = x * 0.5 + 1\n", DEPTH - 1);
    for level in (1..DEPTH).rev() {
        text += &format!("}}\ny{} = z{level}.x * 0.25 + z{level}.x * x\n", level - 1);
    }
    text += "}\noutput y: f64 = z0.x\ngroup step(x: f64) -> x: f64 {\n  x = x + 1\n}\n";
    let (engine, _) = engine();
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let (store, request, frames) = (Store::new("nested"), Request::new(), [0, 1, 2]);
    let bake = Bake::new(program.plan(), request.clone(), frames.to_vec()).expect("it fits");
    for (frame, (y, _)) in frames.iter().zip(baked(&program, &request, &frames, &mut store.open()))
    {
        let expected = alone(&bake, *frame).column("y").expect("it is an f64")[0];
        assert_eq!(y.to_bits(), f64::to_bits(expected));
    }
}
