//! The requested outputs decide which state exists: other outputs, and nodes that no output reads,
//! change neither answers nor state.

use millstream::session::{Ask, Session};
use millstream::{Auto, Chunked, Engine, Footprint, Incremental, Lazy, List, Program, Request};
use millstream_ir::Evaluator;

/// Counts in every tick, whichever arm is taken.
const COUNTED: &str = "d = state.counter(context.tick() >= 0)\n\
    output o: i32 = control.switch(context.tick() > 2, -1, d)\n";

/// Reads the counter in a scope, so that it would count only where it is read.
const IN_SCOPE: &str = "output z: i32 = context.with_tick(d, tick: 9)\n";

fn load(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The values of `o` in a request that all evaluators answer alike.
fn values(program: &Program, request: &Request) -> Vec<String> {
    let (mut incremental, mut parallel) = (Incremental::new(), List::parallel());
    let (mut chunked, mut auto, mut list) = (Chunked::default(), Auto::new(), List::new());
    let evaluators: [&mut dyn Evaluator; 6] =
        [&mut Lazy, &mut list, &mut chunked, &mut incremental, &mut parallel, &mut auto];
    let mut all = evaluators.map(|evaluator| {
        let answer = program.run_with(evaluator, request).expect("it runs");
        assert!(answer.failures.is_empty(), "{:?}", answer.failures);
        let series = answer.output("o").and_then(|it| it.value.as_ref()).expect("it has a value");
        let column = answer.full_column(series);
        column.iter().map(|value| value.to_string()).collect::<Vec<String>>()
    });
    all.sort();
    assert_eq!(all[0], all[5]);
    all[0].clone()
}

fn frames(n: i64) -> Request {
    Request::new().frames((0..n).collect())
}

#[test]
fn an_output_that_is_not_requested_changes_no_state() {
    let expected = values(&load(COUNTED), &frames(6));
    assert_eq!(expected, ["-1", "-1", "-1", "4", "5", "6"]);
    let more = [
        IN_SCOPE,
        // Through other state.
        "e = state.delay(convert.to_f64(d))\noutput z: f64 = context.with_tick(e, tick: 9)\n",
        // With a state for each element.
        "z = list.generate(d + context.index(), count: 3)\noutput z: list<i32> = z\n\
         output y: i32 = context.with_tick(d, tick: 7)\n",
        // Nothing reads these.
        "z = context.with_tick(d, tick: 9)\n",
        "z = state.delay(context.with_tick(convert.to_f64(d), tick: 9))\n",
    ];
    for more in more {
        let program = load(&format!("{COUNTED}{more}"));
        assert_eq!(values(&program, &frames(6).output("o")), expected, "{more}");
        assert_eq!(values(&program, &Request::new().frame(5).output("o")), ["6"], "{more}");
    }
}

#[test]
fn outputs_without_state_can_be_prepared_beside_others() {
    let program = load(&format!("{COUNTED}{IN_SCOPE}input x: f32 = 1\noutput y: f32 = x * 2\n"));
    let mut prepared = program.prepare(&Request::new().output("y")).expect("it has no state");
    let y = prepared.output::<f32>("y").expect("it is an output");
    prepared.run();
    assert_eq!(prepared.get(y), 2.0);
    for program in [program, load(COUNTED)] {
        let Err(refused) = program.prepare(&Request::new().output("o").frame(0)) else {
            panic!("it has state");
        };
        assert!(refused.to_string().contains("`d` keeps state"), "{refused}");
    }
}

#[test]
fn elements_go_on_from_their_state_whatever_else_reads_it() {
    let alone = "d = state.integrate(convert.to_f32(context.index()) + x)\ninput x: f32 = 0\n\
                 output o: f32 = control.switch(context.index() > 1 && context.tick() == 2, d, -1)\n";
    let request = frames(4).column("x", vec![1.0_f32, 1.0, 2.0, 3.0]);
    let expected = values(&load(alone), &request);
    assert_eq!(expected.len(), 16);
    let both = format!("{alone}output z: list<f32> = list.generate(d, count: 2)\n");
    assert_eq!(values(&load(&both), &request.output("o")), expected);
}

#[test]
fn state_that_is_not_requested_may_differ_by_view() {
    let program = load(
        "size = footprint.pixel_size(context.footprint())\n\
         output o: f32 = state.integrate(24) + size\noutput z: f32 = state.delay(size)\n",
    );
    let mut wide = Footprint::of_size(4, 3);
    wide.transform.0[0] = 0.5;
    wide.transform.0[5] = 0.5;
    let request = Request::new().frame(2).views(vec![Footprint::of_size(4, 3), wide]);
    assert_eq!(values(&program, &request.clone().output("o")), ["3.0", "2.5"]);
    let refused = program.run(&request.output("z")).expect_err("the state differs by view");
    assert!(refused.to_string().contains("differs from view to view"), "{refused}");
}

#[test]
fn a_tick_of_a_session_advances_the_state_of_all_outputs() {
    // Each item counts only in ticks in which it is read.
    let text = "s = state.counter(context.index() >= 0)\n\
                output x: list<i32> = list.generate(s, count: 2)\n\
                output y: list<i32> = list.generate(s, count: convert.to_i32(context.tick()))\n\
                output size: f32 = footprint.pixel_size(context.footprint()) + list.sum(z)\n\
                z = list.generate(s * 1.0, count: 4)\n";
    let open = || Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let shown = |session: &mut Session| {
        let answer = session.eval(&Ask::output("y")).expect("it runs").answer;
        let series = answer.outputs[0].value.as_ref().expect("it has a value");
        series.data.get(0).to_string()
    };
    let (mut one, mut other, mut sought) = (open(), open(), open());
    let view = millstream::Given::One(Footprint::of_size(4, 3).into());
    other.set_feature(millstream::Feature::Footprint, view.clone());
    for asked in ["x", "y", "x", "x"] {
        let answer = one.tick(&Ask::output(asked)).expect("it runs").answer;
        assert_eq!(answer.outputs.len(), 1);
        assert_eq!(&*answer.outputs[0].name, asked);
        other.tick(&Ask::output("x")).expect("it runs");
    }
    sought.seek(4).expect("it plays");
    // Without a view, `size` cannot be evaluated and reads no state.
    assert_eq!(shown(&mut one), "[5, 5, 2, 1]");
    assert_eq!(shown(&mut sought), "[5, 5, 2, 1]");
    assert_eq!(shown(&mut other), "[5, 5, 5, 5]");
    // Going back plays the same ticks again.
    one.seek(5).expect("it plays");
    one.seek(4).expect("it plays from the start");
    assert_eq!(shown(&mut one), "[5, 5, 2, 1]");
}
