//! State of many elements, some of which fail in some ticks: each goes on as if it were alone.

use millstream::session::{Ask, Session};
use millstream::values::Footprint;
use millstream::{
    Answer, Chunked, Column, Engine, Evaluator, Given, Incremental, Lazy, List, LogDetail, Program,
    Request, RequestAxis,
};

const N_FRAMES: i64 = 9;
const N: usize = 24;

/// Each element reads an item that does not exist in the frame `bad`, and in the next one if `twice`.
/// One zone has two variables, of which one fails; another has the same state for all elements.
const DOCUMENT: &str = "\
fps 10
input rate: f32 = 1
input bad: i32 = -1
input twice: bool = false
tick = context.tick()
list = list.of(several [10.0, 20.0])
is_bad = boolean.or(compare.equal(tick, bad), boolean.and(twice, compare.equal(tick, bad + 1)))
item = list.get(list, index: is_bad ? 7 : 1)
sum = state.integrate(rate * item)
late = state.delay(item * rate, initial: -1)
both = simulate(a: f32 = rate, b: f32 = 0, by: f32 = item) -> (a: f32 = a2, b: f32 = b2) {
  a2 = a * 2
  b2 = b + a + by
}
clock = simulate(n: i32 = 0) -> n: i32 = next {
  next = n + 3
}
output s: f32 = sum
output l: f32 = late
output a: f32 = both.a
output b: f32 = both.b
output n: i32 = clock.n
output all: f32 = both.a + sum + late + clock.n
";

const OUTPUTS: [&str; 5] = ["s", "l", "a", "b", "all"];

fn rates() -> Vec<f32> {
    (0..N).map(|i| 0.5 + i as f32).collect()
}

/// The frame in which each element fails; some never do.
fn bad() -> Vec<i32> {
    (0..N).map(|i| if i % 3 == 0 { -1 } else { i as i32 % 7 }).collect()
}

fn twice() -> Vec<bool> {
    (0..N).map(|i| i % 4 == 1).collect()
}

fn program() -> Program {
    Engine::new().load(DOCUMENT.as_bytes()).expect("it compiles")
}

fn of_all() -> Request {
    Request::new().column("rate", rates()).column("bad", bad()).column("twice", twice())
}

/// The values of an output in all frames, element by element within each frame.
fn values(answer: &Answer, output: &str) -> Vec<Option<u32>> {
    let column = answer.partial_column::<f32>(output);
    let column = column.unwrap_or_else(|| vec![None; answer.n_cells()]);
    column.into_iter().map(|value| value.map(f32::to_bits)).collect()
}

/// As [`values`], with each element evaluated alone.
fn alone(output: &str) -> Vec<Option<u32>> {
    let program = program();
    let mut values_of = Vec::new();
    for i in 0..N {
        let request = Request::new().frames((0..N_FRAMES).collect()).with_partial();
        let request = request.set("rate", rates()[i]).set("bad", bad()[i]).set("twice", twice()[i]);
        let answer = program.run_with(&mut Lazy, &request).expect("it runs");
        values_of.push(values(&answer, output));
    }
    (0..N_FRAMES as usize).flat_map(|frame| values_of.iter().map(move |of| of[frame])).collect()
}

#[test]
fn elements_that_do_not_fail_go_on() {
    let program = program();
    let request = of_all().frames((0..N_FRAMES).collect()).with_partial();
    let mut evaluators: Vec<Box<dyn Evaluator>> = vec![
        Box::new(Lazy),
        Box::new(List::new()),
        Box::new(Chunked::default()),
        Box::new(Incremental::new()),
    ];
    for evaluator in &mut evaluators {
        let answer = program.run_with(&mut **evaluator, &request).expect("it runs");
        for output in OUTPUTS {
            assert_eq!(values(&answer, output), alone(output), "{output}, {}", evaluator.name());
        }
        let n = answer.column::<i32>("n").expect("it never fails");
        let expected = (0..N_FRAMES as i32).flat_map(|frame| [3 * frame; N]);
        assert_eq!(n, expected.collect::<Vec<i32>>());
        // The last frame alone is played without its outputs before.
        let request = of_all().frame(N_FRAMES - 1).with_partial();
        let last = program.run_with(&mut **evaluator, &request).expect("it runs");
        for output in OUTPUTS {
            let all = alone(output);
            assert_eq!(values(&last, output), all[all.len() - N..], "{output}");
        }
    }
}

#[test]
fn elements_go_on_in_sessions_also_from_checkpoints() {
    let mut session = Session::open(&Engine::new(), DOCUMENT.as_bytes()).expect("it opens");
    session.keep_checkpoints(1 << 20);
    let columns: [(&str, Column); 3] =
        [("rate", rates().into()), ("bad", bad().into()), ("twice", twice().into())];
    let given = columns.map(|(name, column)| (name, Given::Along(RequestAxis::Index, column)));
    session.set_all(given).expect("it fits");
    let expected = OUTPUTS.map(alone);
    let check = |session: &mut Session, frame: usize| {
        let answer = session.eval(&Ask::all()).expect("it runs").answer;
        for (output, expected) in OUTPUTS.iter().zip(&expected) {
            let expected = &expected[frame * N..][..N];
            let found = values(&answer, output);
            if expected.iter().all(Option::is_some) {
                assert_eq!(found, expected, "{output} in frame {frame}");
            }
        }
    };
    for frame in 0..N_FRAMES as usize - 1 {
        check(&mut session, frame);
        session.tick(&Ask::all()).expect("the frame has failures");
    }
    check(&mut session, N_FRAMES as usize - 1);
    for frame in [8, 3, 5, 0, 7] {
        session.seek(frame).expect("it can be reached");
        check(&mut session, frame as usize);
    }
}

#[test]
fn state_inside_scopes_does_not_hold_other_state() {
    let text = "fps 10\ninput bad: i32 = 9\ntick = convert.to_i32(context.tick())\n\
                ok = list.get(list.of(several [1.0]), index: tick == bad ? 1 : 0)\n\
                a = state.integrate(ok)\n\
                inner = list.generate(state.integrate(ok * context.index()), count: 2)\n\
                output a: f32 = a\noutput sum: f32 = list.sum(inner)\n";
    let program = Engine::new().load(text.as_bytes()).expect("it compiles");
    let request = Request::new().frame(3).column("bad", vec![9, 1, 9, 2]).with_partial();
    let alone = |bad: i32| {
        let request = Request::new().frame(3).set("bad", bad);
        program.run(&request).expect("it runs").value::<f32>("a")
    };
    for request in [request.clone(), request.output("a")] {
        for evaluator in [&mut Lazy as &mut dyn Evaluator, &mut Chunked::default()] {
            let answer = program.run_with(evaluator, &request).expect("it runs");
            let found = answer.partial_column::<f32>("a").expect("it has values");
            assert_eq!(found, [9, 1, 9, 2].map(alone), "{}", evaluator.name());
        }
    }
}

/// Blocks of elements of one tick hold results of their own, beside those of the ticks.
#[test]
fn blocks_of_a_tick_compute_nothing_that_was_not_requested() {
    let text = "input k: i32 = 3\nlist = list.of(several [1.0, 2.0, 3.0])\n\
                n = footprint.pixel_size(context.footprint())\nget = list.get(list, index: context.index())\n\
                f = list.get(list, index: convert.to_i32(context.tick()))\nkk = list.get(list, index: k)\n\
                output asked: f32 = kk + f + n\noutput other: f32 = get + kk + f\n\
                s = state.integrate(convert.to_f32(context.time()))\noutput state: f32 = s + n\n";
    let program = Engine::new().load(text.as_bytes()).expect("it compiles");
    let views = vec![Footprint::of_size(4, 3), Footprint::of_size(8, 6)];
    let request = Request::new().views(views).per_view("k", vec![2, 9]).frames((0..3).collect());
    let request = request.count(70_000).output("asked").output("state").with_partial();
    let request = request.with_log(LogDetail::Counts);
    let answer = program.run_with(&mut Lazy, &request).expect("it runs");
    let asked = answer.output("asked").expect("it is there").known().expect("a view has values");
    assert_eq!(answer.cells_of(&asked.axes), 6);
    let ran: Vec<String> = program
        .runs(&answer)
        .filter(|run| run.entry.fate.ran())
        .map(|run| run.path.to_string())
        .collect();
    assert!(ran.iter().any(|path| path == "kk") && ran.iter().all(|path| path != "get"), "{ran:?}");
}
