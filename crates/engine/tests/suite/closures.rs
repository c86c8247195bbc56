//! Closures: in every evaluator, a document that calls them gives the same bits as the document
//! with the groups written out by hand.

mod errors;
mod generated;

use std::num::NonZeroUsize;

use millstream::deploy::{Freeze, deploy};
use millstream::document::to_text;
use millstream::evaluate::EVALUATORS;
use millstream::session::Session;
use millstream::values::Column;
use millstream::{Edit, Engine, LogDetail, Program, Request};
use millstream_testkit::agreement::difference;
use serde_json::{Value as Json, json};

fn program(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Requests on one element and on many, with conditions that differ from element to element.
fn requests() -> Vec<Request> {
    let x: Vec<f32> = (0..1500).map(|i| i as f32 * 0.37 - 40.0).collect();
    let which: Vec<bool> = (0..1500).map(|i| i % 3 == 1).collect();
    let k: Vec<i32> = (0..1500).map(|i| i % 5 - 1).collect();
    vec![
        Request::new().time(1.5),
        Request::new().time(-2.0).set("which", true).set("k", 2),
        Request::new().time(0.25).column("x", x.clone()).set("which", true),
        Request::new().time(3.0).column("x", x).column("which", which).column("k", k),
    ]
}

/// Compares the outputs of two documents in all evaluators.
fn agree(closures: &str, by_hand: &str) {
    let inputs = "input x: f32 = 0.7\ninput which: bool = false\ninput k: i32 = 0\n\
                  input r: f32 = 0.5\n";
    let used = "used = which ? x * r : f32(k)\noutput used: f32 = used\n";
    let [closures, by_hand] = [closures, by_hand].map(|text| format!("{inputs}{used}{text}"));
    let by_hand = program(&by_hand);
    let session = Session::open(&Engine::new(), closures.as_bytes()).expect("it opens");
    // The text form and JSON have the same content.
    let again = program(&millstream_document::save(session.document()));
    let closed = program(&closures);
    let as_text = program(&to_text(session.document(), Engine::new().registry()));
    let keep = ["x", "which", "k", "r"].map(String::from).to_vec();
    let freeze = Freeze { keep, ..Freeze::default() };
    let deployed = deploy(&Engine::new(), session.document(), &freeze).expect("it is deployed");
    let deployed = program(&millstream_document::save(&deployed.document));
    let threads = NonZeroUsize::new(2).expect("two is not zero");
    for request in requests() {
        let expected = by_hand.run(&request).expect("it runs");
        for row in EVALUATORS {
            for program in [&closed, &again, &as_text, &deployed] {
                let mut evaluator = (row.new)(threads);
                let answer = match program.run_with(&mut *evaluator, &request) {
                    Ok(answer) => answer,
                    // Some evaluators handle only single values.
                    Err(_) if row.settings.is_empty() => continue,
                    Err(error) => panic!("{}: {error}", row.name),
                };
                for output in &expected.outputs {
                    let name = &output.name;
                    let column = |answer: &millstream::Answer| -> Column {
                        let found = answer.output(name).expect("both have the output");
                        let series = found.value.as_ref().expect("nothing fails");
                        answer.full_column(series)
                    };
                    if let Some(found) = difference(&column(&expected), &column(&answer)) {
                        panic!("{}: {name}: {found}\n{closures}", row.name);
                    }
                }
            }
        }
    }
}

const GROUPS: &str = "
group scale(x: f32, by: f32) -> value: f32 = out {
  out = x * by
}
group ripple(x: f32, amount: f32) -> value: f32 = out {
  t = f32(context.time())
  out = sin(x + t) * amount
}
group around(f: closure<x: f32 -> f32>, x: f32) -> value: f32 {
  a = call(f, x: x - 1)
  b = call(f, x: x)
  c = call(f, x: x + 1)
  value = a + 2 * b + c
}
";

#[test]
fn a_group_calls_the_closures_that_it_is_given() {
    let closures = format!(
        "f = closure scale(by: r)
         g = closure ripple(amount: used)
         output a: f32 = around(f, x: x)
         output b: f32 = around(g, x: x)
         output c: f32 = call(g, x: 2)
         {GROUPS}"
    );
    let by_hand = "
         t = f32(context.time())
         output a: f32 = (x - 1) * r + 2 * (x * r) + (x + 1) * r
         output b: f32 = sin(x - 1 + t) * used + 2 * (sin(x + t) * used) + sin(x + 1 + t) * used
         output c: f32 = sin(2 + t) * used";
    agree(&closures, by_hand);
}

#[test]
fn switches_choose_among_closures_whole_and_per_element() {
    let closures = format!(
        "f = closure scale(by: r)
         g = closure ripple(amount: 2)
         h = closure scale(by: used)
         two = control.switch(which, false: f, true: g)
         passed = control.pass(two)
         three = control.choose(k, items: [passed, h, f])
         output a: f32 = around(two, x: x)
         output b: f32 = around(three, x: x)
         both = call(three, x: call(two, x: 3))
         output c: f32 = both
         {GROUPS}"
    );
    let by_hand = format!(
        "fa = which_of(which, a: scale(x - 1, by: r), b: ripple(x - 1, amount: 2))
         fb = which_of(which, a: scale(x, by: r), b: ripple(x, amount: 2))
         fc = which_of(which, a: scale(x + 1, by: r), b: ripple(x + 1, amount: 2))
         output a: f32 = fa + 2 * fb + fc
         ga = control.choose(k, items: [fa, scale(x - 1, by: used), scale(x - 1, by: r)])
         gb = control.choose(k, items: [fb, scale(x, by: used), scale(x, by: r)])
         gc = control.choose(k, items: [fc, scale(x + 1, by: used), scale(x + 1, by: r)])
         output b: f32 = ga + 2 * gb + gc
         f3 = which_of(which, a: scale(3, by: r), b: ripple(3, amount: 2))
         ff = which_of(which, a: scale(f3, by: r), b: ripple(f3, amount: 2))
         output c: f32 = control.choose(k, items: [ff, scale(f3, by: used), scale(f3, by: r)])
         group which_of(s: bool, a: f32, b: f32) -> value: f32 = out {{
           out = control.switch(s, false: a, true: b)
         }}
         {}",
        GROUPS.split("group around").next().expect("there is a part before it")
    );
    agree(&closures, &by_hand);
}

#[test]
fn closures_capture_closures_give_several_outputs_and_come_out_of_groups() {
    let closures = format!(
        "f = closure scale(by: r)
         g = closure ripple(amount: 2)
         fg = closure chain(f: f, g: g)
         made = makes(which, by: used)
         last = closure chain(f: fg, g: made)
         output a: f32 = call(last, x: x)
         p = closure parts(r: r)
         q = call(control.switch(which, false: p, true: closure parts(r: 7)), x: x)
         output low: f32 = q.low
         output high: f32 = q.high
         n = call(closure never(value: used))
         output n: f32 = n
         m = call(closure of_closure(k: 2), f: made)
         output m: f32 = call(m, x: x)
         group of_closure(f: closure<x: f32 -> f32>, k: f32) -> value: closure<x: f32 -> f32> = out {{
           out = closure chain(f: f, g: closure scale(by: k))
         }}
         group never(value: f32) -> value: f32 = value {{
         }}
         group parts(x: f32, r: f32) -> (low: f32 = a, high: f32 = b) {{
           a = x - r
           b = x + r
         }}
         group makes(which: bool, by: f32) -> value: closure<x: f32 -> f32> = out {{
           out = control.switch(which, false: closure scale(by: by), true: closure ripple(amount: by))
         }}
         group chain(f: closure<x: f32 -> f32>, g: closure<x: f32 -> f32>, x: f32) -> value: f32 = out {{
           out = call(g, x: call(f, x: x))
         }}
         {GROUPS}"
    );
    let by_hand = "
         t = f32(context.time())
         fg = sin(x * r + t) * 2
         output a: f32 = control.switch(which, false: fg * used, true: sin(fg + t) * used)
         pick = control.switch(which, false: r, true: 7)
         output low: f32 = x - pick
         output high: f32 = x + pick
         output n: f32 = used
         output m: f32 = control.switch(which, false: x * used, true: sin(x + t) * used) * 2";
    agree(&closures, by_hand);
}

#[test]
fn zones_call_closures_in_each_run() {
    let closures = format!(
        "f = control.switch(which, false: closure scale(by: r), true: closure ripple(amount: used))
         rounds = repeat step(x: x, count: 5, f: f)
         output a: f32 = rounds.x
         list = list.range(0.0, count: 4)
         all = for_each item(f: f, at: list, k: k, items = [\"at\"])
         output b: list<f32> = all.y
         outer = for_each nested(f: f, at: list, x: x, items = [\"at\"])
         output c: list<f32> = outer.y
         group step(x: f32, f: closure<x: f32 -> f32>) -> x: f32 = out {{
           out = call(f, x: x)
         }}
         group item(at: f32, f: closure<x: f32 -> f32>, k: i32) -> y: f32 = out {{
           out = call(f, x: at) + k
         }}
         group nested(at: f32, x: f32, f: closure<x: f32 -> f32>) -> y: f32 = inner.x {{
           inner = repeat step(x: x + at, f: f, count: 2)
         }}
         {GROUPS}"
    );
    let by_hand = format!(
        "rounds = repeat step(x: x, count: 5, which: which, r: r, amount: used)
         output a: f32 = rounds.x
         list = list.range(0.0, count: 4)
         all = for_each item(at: list, k: k, which: which, r: r, amount: used, items = [\"at\"])
         output b: list<f32> = all.y
         outer = for_each nested(at: list, x: x, which: which, r: r, amount: used, items = [\"at\"])
         output c: list<f32> = outer.y
         group either(x: f32, which: bool, r: f32, amount: f32) -> value: f32 = out {{
           out = control.switch(which, false: scale(x, by: r), true: ripple(x, amount: amount))
         }}
         group step(x: f32, which: bool, r: f32, amount: f32) -> x: f32 = out {{
           out = either(x, which: which, r: r, amount: amount)
         }}
         group item(at: f32, which: bool, r: f32, amount: f32, k: i32) -> y: f32 = out {{
           out = either(at, which: which, r: r, amount: amount) + k
         }}
         group nested(at: f32, x: f32, which: bool, r: f32, amount: f32) -> y: f32 = inner.x {{
           inner = repeat step(x: x + at, count: 2, which: which, r: r, amount: amount)
         }}
         {}",
        GROUPS.split("group around").next().expect("there is a part before it")
    );
    agree(&closures, &by_hand);
}

/// A capture is evaluated in the context of the call, like the source of a group's input, so that
/// grouping nodes changes nothing; in a zone it is evaluated outside, like the source of a zone's
/// input. The group itself reads the context of the call and of the round.
#[test]
fn captures_and_groups_read_the_context_by_the_rules_of_groups_and_zones() {
    let closures = "
         f = closure both(outside: context.time())
         output here: f64 = call(f)
         output later: f64 = context.with_time(call(f), time: 100)
         output within: f64 = later(f)
         i = closure index(outside: context.iteration())
         rounds = repeat turn(n: 0, f: i, count: 4)
         output rounds: f32 = context.with_iteration(rounds.n, iteration: 10)
         group both(outside: f64) -> value: f64 = out {
           t = context.time()
           out = outside * 1000 + t
         }
         group later(f: closure<-> f64>) -> value: f64 = out {
           out = context.with_time(call(f), time: 100)
         }
         group index(outside: i32) -> value: i32 = out {
           i = context.iteration()
           out = outside * 1000 + i
         }
         group turn(n: i32, f: closure<-> i32>) -> n: i32 = out {
           out = n + call(f)
         }";
    let by_hand = "
         t = context.time()
         output here: f64 = t * 1000 + t
         output later: f64 = 100 * 1000 + 100
         output within: f64 = 100 * 1000 + 100
         output rounds: f32 = 4.0 * 10000 + 6";
    agree(closures, by_hand);
}

#[test]
fn what_a_switch_does_not_take_does_not_run_and_captures_are_shared() {
    let text = format!(
        "input which: bool
         input x: f32 = 2
         shared = exp(x)
         f = closure scale(by: shared)
         g = closure ripple(amount: shared)
         output a: f32 = around(control.switch(which, false: f, true: g), x: x)
         {GROUPS}"
    );
    let program = program(&text);
    for which in [false, true] {
        let request = Request::new().time(1.0).set("which", which).with_log(LogDetail::Counts);
        for name in ["lazy", "list", "incremental"] {
            let row = EVALUATORS.iter().find(|row| row.name == name).expect("it is known");
            let mut evaluator = (row.new)(NonZeroUsize::MIN);
            let answer = program.run_with(&mut *evaluator, &request).expect("it runs");
            let (mut shared, mut taken) = (0, 0);
            for (path, n) in counts(&program, &answer) {
                if path.starts_with("shared") {
                    shared += n;
                }
                let is_of = |arm: usize| {
                    let calls = ["a", "b", "c"].iter();
                    calls.clone().any(|call| path.starts_with(&format!("a/{call}/{arm}/")))
                };
                assert!(n == 0 || !is_of(1 - usize::from(which)), "{name}: {path} ran");
                taken += n * u32::from(is_of(usize::from(which)));
            }
            assert_eq!(shared, 1, "{name}");
            assert!(taken >= 3, "{name}: {taken}");
        }
    }
}

/// How often the steps at each path ran.
fn counts(program: &Program, answer: &millstream::Answer) -> Vec<(String, u32)> {
    let log = &answer.log;
    let plan = program.plan();
    let steps = plan.steps.iter().filter_map(|(id, step)| {
        let entry = log.entry(id)?;
        Some((plan.paths.get(step.path).to_string(), entry.runs))
    });
    steps.collect()
}

fn edit(session: &mut Session, json: Json) {
    let text = json.to_string();
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).unwrap_or_else(|error| panic!("{error}: {text}"));
}

#[test]
fn sessions_follow_edits_of_closures() {
    let text = format!(
        "input x: f32 = 2
         f = closure scale(by: 3)
         sum = around(f, x: x)
         output a: f32 = sum
         {GROUPS}"
    );
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let a = |session: &mut Session| session.value::<f32>("a").expect("it runs").expect("a value");
    assert_eq!(a(&mut session), 24.0);
    session.set("x", 1.0_f32).expect("an input");
    assert_eq!(a(&mut session), 12.0);
    edit(&mut session, json!({ "edit": "set_input", "node": "f", "input": "by", "to": 5 }));
    assert_eq!(a(&mut session), 20.0);
    edit(
        &mut session,
        json!({ "edit": "rename_input", "within": "scale", "name": "by", "to": "k" }),
    );
    assert_eq!(a(&mut session), 20.0);
    edit(&mut session, json!({ "edit": "rename_node", "node": "f", "to": "of" }));
    assert_eq!(a(&mut session), 20.0);
    edit(&mut session, json!({ "edit": "rename_group", "name": "scale", "to": "multiply" }));
    assert_eq!(a(&mut session), 20.0);
    for _ in 0..4 {
        assert!(session.undo());
    }
    assert_eq!(a(&mut session), 12.0);
    edit(&mut session, json!({ "edit": "ungroup", "node": "sum" }));
    assert_eq!(a(&mut session), 12.0);
    assert!(session.undo());
    edit(&mut session, json!({ "edit": "group", "nodes": ["f", "sum"], "name": "all" }));
    assert_eq!(a(&mut session), 12.0);
    assert!(session.undo());
    edit(&mut session, json!({ "edit": "group", "nodes": ["sum"], "name": "reader" }));
    assert_eq!(a(&mut session), 12.0);
    assert!(session.undo());
    edit(&mut session, json!({ "edit": "group", "nodes": ["f"], "name": "maker" }));
    assert_eq!(a(&mut session), 12.0);
}

#[test]
fn calls_follow_new_names_of_inputs() {
    let text = format!(
        "input x: f32 = 2
         f = closure scale(by: 3)
         free = closure scale()
         y = call(f, x: x) + call(free, x: x, by: 5)
         output a: f32 = y + call(closure scale(x: 7), by: x)
         {GROUPS}"
    );
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let a = |session: &mut Session| session.value::<f32>("a").expect("it runs").expect("a value");
    let before = millstream::document::save(session.document());
    assert_eq!(a(&mut session), 6.0 + 10.0 + 14.0);
    let rename = |name: &str, to: &str| json!({ "edit": "rename_input", "within": "scale", "name": name, "to": to });
    edit(&mut session, rename("x", "p"));
    assert_eq!(a(&mut session), 30.0);
    edit(&mut session, rename("by", "k"));
    assert_eq!(a(&mut session), 30.0);
    assert!(!session.problems().has_errors(), "{:?}", session.problems());
    assert!(session.undo() && session.undo());
    assert_eq!(millstream::document::save(session.document()), before);
    assert_eq!(a(&mut session), 30.0);
}

#[test]
fn sockets_of_calls_can_be_probed() {
    let text = format!(
        "input x: f32 = 2
         sum = around(control.switch(x > 0, false: closure scale(by: 1), true: closure scale(by: 3)), x: x)
         output a: f32 = sum
         {GROUPS}"
    );
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let mut probe = |path: &str| {
        let answer = session.probe(path).map_err(|error| error.to_string())?;
        let value = answer.value.map(|series| series.data);
        Ok::<_, String>(format!("{value:?}"))
    };
    assert_eq!(probe("sum/c.value").as_deref(), Ok("Some(One(f32(9.0)))"));
    assert_eq!(probe("sum/c.x").as_deref(), Ok("Some(One(f32(3.0)))"));
    for path in ["sum/c/1/out.value", "sum/c/out.value", "sum/c.closure", "sum/c.by", "sum.f"] {
        probe(path).expect_err("it has no value");
    }
    assert_eq!(probe("sum.value").as_deref(), Ok("Some(One(f32(24.0)))"));
}

#[test]
fn each_call_has_its_own_state() {
    let text = "
        f = closure later()
        output a: f32 = call(f, x: 1)
        output b: f32 = call(f, x: f32(round(context.time() * 24)))
        group later(x: f32) -> value: f32 = out {
          out = state.delay(x, initial: -1)
        }";
    let request = Request::new().frames(vec![0, 1, 2, 3]);
    let answer = program(text).run(&request).expect("it runs");
    assert_eq!(answer.column::<f32>("a"), Some(vec![-1.0, 1.0, 1.0, 1.0]));
    assert_eq!(answer.column::<f32>("b"), Some(vec![-1.0, 0.0, 1.0, 2.0]));
}

#[test]
fn groups_of_other_documents_take_closures() {
    let library = |path: &str| match path {
        "lib.mill" => Ok(GROUPS.into()),
        _ => Err("there is no such file"),
    };
    let engine = Engine::new().with_documents(library);
    let text = "
        use lib = \"lib.mill\"
        output a: f32 = lib/around(f: closure lib/scale(by: 3), x: 2)
        output b: f32 = lib/around(f: closure own(), x: 2)
        group own(x: f32) -> value: f32 {
          value = x + 1
        }";
    let program = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let answer = program.run(&Request::new()).expect("it runs");
    assert_eq!(answer.value::<f32>("a"), Some(24.0));
    assert_eq!(answer.value::<f32>("b"), Some(12.0));
}

#[test]
fn a_session_may_get_its_first_closure_and_lose_its_last() {
    let text = "input x: f32 = 2\ny = x * 3\noutput a: f32 = y\n\
                group scale(x: f32, by: f32) -> value: f32 = out {\n  out = x * by\n}\n";
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let a = |session: &mut Session| session.value::<f32>("a").expect("it runs");
    assert_eq!(a(&mut session), Some(6.0));
    let add = |name: &str, node: Json| json!({ "edit": "add_nodes", "nodes": [{ "name": name, "node": node }] });
    edit(&mut session, add("f", json!({ "type": "closure", "group": "scale", "in": { "by": 5 } })));
    assert_eq!(a(&mut session), Some(6.0));
    let call = json!({ "type": "call",
        "in": { "closure": { "from": "f.value" }, "x": { "input": "x" } } });
    edit(&mut session, add("c", call));
    let output = json!({ "edit": "change_output", "name": "a",
        "def": { "type": "f32", "from": "c.value" } });
    edit(&mut session, output);
    assert_eq!(a(&mut session), Some(10.0));
    session.set("x", 3.0_f32).expect("an input");
    assert_eq!(a(&mut session), Some(15.0));
    for _ in 0..3 {
        assert!(session.undo());
    }
    assert_eq!(a(&mut session), Some(9.0));
}
