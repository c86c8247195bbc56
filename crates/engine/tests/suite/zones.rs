//! Groups that run many times, in the text form: simulations tick by tick, loops over items in
//! sessions, and both in deployed documents.

use millstream::deploy::{Freeze, deploy};
use millstream::evaluate::Data;
use millstream::session::{Ask, Session};
use millstream::values::{Column, Value};
use millstream::{Chunked, Document, Edit, Engine, Program, Request};
use serde_json::{Value as Json, json};

const FALL: &str = "\
input g: f32 = 1
input again: bool = false
input steps: i32 = 1
fall = simulate step(y: 100, v: 0, g: g, reset: again, substeps: steps)
output y: f32 = fall.y
output v: f32 = fall.v

group step(y: f32, v: f32, g: f32) -> (y: f32, v: f32) {
  v = v - g
  y = y + v.value
}
";

/// The position after `n` steps.
fn fallen(n: i32) -> f32 {
    (0..n).fold((100.0, 0.0), |(y, v), _| (y + (v - 1.0), v - 1.0)).0
}

fn program(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn session(text: &str) -> Session {
    Session::open(&Engine::new(), text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn edit(session: &mut Session, json: Json) {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).unwrap_or_else(|error| panic!("{error}"));
}

fn y(session: &mut Session) -> Option<f32> {
    session.value::<f32>("y").expect("it runs")
}

#[test]
fn a_simulation_starts_with_what_is_given_and_steps_in_each_later_tick() {
    let program = program(FALL);
    let request = Request::new().frames((0..6).collect());
    let expected: Vec<f32> = (0..6).map(fallen).collect();
    let answer = program.run(&request).expect("it runs");
    assert_eq!(answer.column::<f32>("y"), Some(expected.clone()), "{:?}", answer.failures);
    let answer = program.run_with(&mut Chunked::default(), &request).expect("it runs");
    assert_eq!(answer.column::<f32>("y"), Some(expected));
    let answer = program.run(&Request::new().frame(5).set("steps", 3)).expect("it runs");
    assert_eq!(answer.value::<f32>("y"), Some(fallen(15)));
    let answer = program.run(&Request::new().frame(5).set("again", true)).expect("it runs");
    assert_eq!(answer.value::<f32>("y"), Some(100.0));
    let many = Request::new().frame(3).column("g", vec![0.0_f32, 1.0, 2.0]);
    let answer = program.run(&many).expect("it runs");
    assert_eq!(answer.column::<f32>("y"), Some(vec![100.0, fallen(3), 100.0 - 12.0]));
}

#[test]
fn a_session_ticks_a_simulation_and_goes_back() {
    let mut session = session(FALL);
    for n in 0..4 {
        assert_eq!(y(&mut session), Some(fallen(n)));
        session.tick(&Ask::all()).expect("it ticks");
    }
    session.settle();
    assert_eq!(y(&mut session), Some(fallen(4)));
    session.seek(20).expect("it plays on");
    assert_eq!(y(&mut session), Some(fallen(20)));
    session.seek(2).expect("it plays from the start");
    assert_eq!(y(&mut session), Some(fallen(2)));
    session.set("again", true).expect("an input");
    assert_eq!(y(&mut session), Some(100.0));
    session.tick(&Ask::all()).expect("it ticks");
    session.set("again", false).expect("an input");
    assert_eq!(y(&mut session), Some(fallen(1)));
}

#[test]
fn edits_of_its_group_and_its_name_leave_a_simulation_its_state() {
    let mut session = session(FALL);
    session.seek(3).expect("it plays on");
    assert_eq!(y(&mut session), Some(fallen(3)));
    edit(&mut session, json!({ "edit": "rename_node", "node": "fall", "to": "stone" }));
    assert_eq!(y(&mut session), Some(fallen(3)), "the state follows its node");
    let slower = json!({ "edit": "set_input", "within": "step", "node": "y", "input": "y",
        "to": { "input": "y" } });
    assert!(serde_json::from_value::<Edit>(slower).is_ok());
    edit(
        &mut session,
        json!({ "edit": "rename_node", "within": "step", "node": "v", "to": "speed" }),
    );
    assert_eq!(y(&mut session), Some(fallen(3)));
    assert!(session.undo() && session.undo());
    assert_eq!(y(&mut session), Some(fallen(3)));
}

#[test]
fn state_is_of_any_type() {
    let text = "\
grow = simulate step(all: [0], text: \"a\")
output all: list<i32> = grow.all
output text: string = grow.text

group step(all: list<i32>, text: string) -> (all: list<i32>, text: string) {
  n = list.length(all)
  all = list.append(all, item: n)
  text = string.replace(text, part: \"a\", by: \"ab\")
}
";
    let answer = program(text).run(&Request::new().frame(3)).expect("it runs");
    let shown = |output: &str| {
        let series = answer.output(output).and_then(|it| it.value.as_ref()).expect("a value");
        series.data.get(0).to_string()
    };
    assert_eq!((shown("all"), shown("text")), ("[0, 1, 2, 3]".into(), "\"abbb\"".into()));
}

/// The initial value fails after the first tick, when it is no longer demanded.
#[test]
fn what_is_given_at_the_start_is_not_computed_later() {
    let text = "\
tick = context.tick()
n = convert.to_i32(tick)
first = list.get([7.0, 8.0], index: n)
hold = simulate step(x: first)
output x: f32 = hold.x

group step(x: f32) -> x: f32 {
  x = x + 1
}
";
    let answer = program(text).run(&Request::new().frame(5)).expect("it runs");
    assert_eq!(answer.value::<f32>("x"), Some(12.0), "{:?}", answer.failures);
}

#[test]
fn what_cannot_be_simulated_is_told() {
    let told = |group: &str| {
        let text = format!("s = simulate step(x: 1)\noutput x: f32 = s.x\n\n{group}");
        Engine::new().load(text.as_bytes()).err().map_or_else(String::new, |it| format!("{it}"))
    };
    let found = told("group step(x: f32) -> (x: f32, z: f32) {\n  x = x + 1\n  z = x + 2\n}\n");
    assert!(
        found.contains("no input of the next tick takes output `z` of group `step`"),
        "{found}"
    );
    let found = told("group step(x: f32) -> x: f32 {\n  x = state.delay(x)\n}\n");
    assert!(found.contains("the group of a `simulate` cannot keep state, but `x` does"), "{found}");
    let text = "r = repeat outer(x: 1, count: 2)\noutput x: f32 = r.x\n\n\
        group outer(x: f32) -> x: f32 {\n  s = simulate step(x: x)\n  x = s.x + 0\n}\n\n\
        group step(x: f32) -> x: f32 {\n  x = x + 1\n}\n";
    let found =
        Engine::new().load(text.as_bytes()).err().map_or_else(String::new, |it| format!("{it}"));
    assert!(found.contains("the group of a `repeat` cannot keep state, but `s` does"), "{found}");
}

const SQUARES: &str = "\
input l: list<f32> = [1, 2, 3]
input k: f32 = 1
all = for_each square(x: l, k: k, items = [\"x\"], where = \"large\")
output y: f32 = all.sum
output all: list<f32> = all.y

group square(x: f32, sum: f32 = 0, k: f32) -> (y: f32, sum: f32, large: bool) {
  y = x * x * k
  sum = sum + y.value
  large = y.value > 1
}
";

#[test]
fn a_session_follows_edits_of_a_loop_over_items() {
    let mut session = session(SQUARES);
    assert_eq!(y(&mut session), Some(14.0));
    session.set("k", 2.0_f32).expect("an input");
    assert_eq!(y(&mut session), Some(28.0));
    session.set("l", Value::List(Column::from_vec(vec![1.0_f32, 5.0]))).expect("an input");
    assert_eq!(y(&mut session), Some(52.0));
    edit(
        &mut session,
        json!({ "edit": "rename_input", "within": "square", "name": "x", "to": "z" }),
    );
    assert_eq!(y(&mut session), Some(52.0));
    edit(
        &mut session,
        json!({ "edit": "rename_output", "within": "square", "name": "large", "to": "big" }),
    );
    assert_eq!(y(&mut session), Some(52.0));
    let saved = millstream::document::save(session.document());
    assert!(
        saved.contains("\"items\": [\"z\"]") && saved.contains("\"where\": \"big\""),
        "{saved}"
    );
    assert!(session.undo() && session.undo());
    assert_eq!(y(&mut session), Some(52.0));
    edit(&mut session, json!({ "edit": "set_setting", "node": "all", "setting": "where" }));
    let answer = session.get("all").expect("it runs");
    let shown = answer.value.as_ref().expect("it has a value").data.get(0).to_string();
    assert_eq!(shown, "[2.0, 50.0]");
    edit(&mut session, json!({ "edit": "mute", "node": "all", "muted": true }));
    assert_eq!(y(&mut session), Some(0.0), "the first f32 goes through, which is `sum`");
}

#[test]
fn deployed_documents_keep_their_zones() {
    let engine = Engine::new();
    for (text, output) in [(FALL, "y"), (SQUARES, "y")] {
        let original = program(text);
        let session = Session::open(&engine, text.as_bytes());
        let session = session.unwrap_or_else(|error| panic!("{error}"));
        let document: Document = session.document().clone();
        let keep = vec!["g".into(), "l".into(), "k".into()];
        let keep =
            keep.into_iter().filter(|name: &String| document.inputs.contains_key(name.as_str()));
        let freeze = Freeze { keep: keep.collect(), ..Freeze::default() };
        let deployed = deploy(&engine, &document, &freeze).expect("it is deployed");
        let text = millstream::document::save(&deployed.document);
        let as_text = program(&text);
        let as_bytes = engine.load_binary(&deployed.to_bytes()).expect("it is read");
        let request = Request::new().frame(4);
        let value = |it: &Program| {
            it.run(&request).expect("it runs").value::<f32>(output).map(f32::to_bits)
        };
        let expected = value(&original);
        assert!(expected.is_some());
        assert_eq!((value(&as_text), value(&as_bytes)), (expected, expected), "{text}");
    }
}

#[test]
fn the_substeps_of_a_tick_share_its_length() {
    // As the manual of `simulate` says.
    let text = "fps 10\ninput substeps: i32 = 4\nt = context.time()\n\
         s = simulate(d: list<f64> = [], dt: f64 = (t - state.delay(t)) / substeps, substeps: substeps) \
         -> d: list<f64> = nd {\n  nd = list.concat([d, list.repeat(dt, count: 1)])\n}\n\
         output d: list<f64> = s.d\n\
         output slow: list<f64> = context.with_time(time: t * 0.5, value: s.d)\n";
    let program = program(text);
    let lengths = |output: &str, n: i32| {
        let request = Request::new().output(output).frame(3).set("substeps", n);
        let answer = program.run(&request).expect("it runs");
        let series = answer.output(output).and_then(|output| output.value.clone());
        match series.expect("it runs").data {
            Data::One(Value::List(list)) => list.as_slice::<f64>().expect("of f64").to_vec(),
            other => panic!("{other:?}"),
        }
    };
    for (output, tick) in [("d", 0.1), ("slow", 0.05)] {
        for n in [1, 4] {
            let found = lengths(output, n);
            let close = |dt: &f64| (dt - tick / f64::from(n)).abs() < 1e-12;
            assert!(found.len() == 3 * n as usize && found.iter().all(close), "{output} {found:?}");
        }
    }
}
