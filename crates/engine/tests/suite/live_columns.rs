//! Sessions whose inputs are columns: live graphs answer, and elements that change run alone.

use millstream::session::{Ask, Evaluated, Session};
use millstream::{Column, Edit, Engine, Given, Lazy, RequestAxis, Value};
use millstream_ir::answer::Fate;
use millstream_ir::request::LogDetail;
use serde_json::{Value as Json, json};

fn open(document: &Json) -> Session {
    let session = Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    assert!(!session.problems().has_errors(), "{:?}", session.problems());
    session
}

fn set(session: &mut Session, name: &str, values: &[f32]) {
    let column = Column::from_vec(values.to_vec());
    session.set_all([(name, Given::Along(RequestAxis::Index, column))]).expect("it fits");
}

/// The values of an output, one for each of `n` elements, from a live graph.
fn live(session: &mut Session, output: &str, n: usize) -> Vec<f32> {
    let evaluated = session.eval(&Ask::output(output)).expect("it runs");
    assert!(evaluated.plan().is_none(), "a live graph answers for {output}");
    assert_eq!(evaluated.answer.count, Some(n));
    evaluated.answer.column(output).expect("it has values")
}

/// How many elements each node runs for, in an evaluation of all outputs by a live graph.
fn elements_run(session: &mut Session) -> Vec<(String, u64)> {
    let evaluated = session.eval(&Ask::all().with_log(LogDetail::Counts)).expect("it runs");
    assert!(evaluated.plan().is_none(), "a live graph answers");
    elements_of(&evaluated)
}

/// How many elements each node runs for.
fn elements_of(evaluated: &Evaluated) -> Vec<(String, u64)> {
    let runs = evaluated.runs();
    let ran = runs.iter().filter(|run| matches!(run.entry.fate, Fate::Ran(_)));
    ran.map(|run| (run.path.to_string(), run.entry.elements)).collect()
}

fn from(node: &str) -> Json {
    json!({ "from": format!("{node}.value") })
}

/// A square, its mean, the difference of both, and a sine of the square.
fn about_squares() -> Json {
    let output = |node: &str| json!({ "type": "f32", "from": format!("{node}.value") });
    json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" }, "k": { "type": "f32", "default": 2 } },
        "outputs": { "sine": output("sine"), "off": output("off"), "mean": output("mean") },
        "nodes": {
            "square": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": { "input": "x" } } },
            "sine": { "type": "math.sin", "in": { "x": from("square") } },
            "mean": { "type": "reduce.mean", "in": { "value": from("square") } },
            "off": { "type": "math.subtract", "in": { "a": from("square"), "b": from("mean") } } } })
}

fn ran(named: &[(&str, u64)]) -> Vec<(String, u64)> {
    named.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

#[test]
fn elements_that_change_run_alone() {
    const N: usize = 50;
    let mut session = open(&about_squares());
    let mut values: Vec<f32> = (0..N).map(|i| i as f32 / 8.0).collect();
    set(&mut session, "x", &values);
    let all = [("square", N as u64), ("sine", N as u64), ("mean", 1), ("off", N as u64)];
    assert_eq!(elements_run(&mut session), ran(&all));
    values[17] = 3.5;
    set(&mut session, "x", &values);
    let some = [("square", 1), ("sine", 1), ("mean", 1), ("off", N as u64)];
    assert_eq!(elements_run(&mut session), ran(&some));
    let expected: Vec<f32> = values.iter().map(|x| (x * x).sin()).collect();
    let sines = live(&mut session, "sine", N);
    assert!(sines.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6));
    let mean: f32 = values.iter().map(|x| x * x).sum::<f32>() / N as f32;
    let off = live(&mut session, "off", N);
    assert!((off[17] - (3.5 * 3.5 - mean)).abs() < 1e-4);
    // The square does not change, and so nothing after it runs.
    values[17] = -3.5;
    set(&mut session, "x", &values);
    assert_eq!(elements_run(&mut session), ran(&[("square", 1)]));
    // A fifth of the elements are too many to run apart.
    for value in &mut values[..N / 5] {
        *value += 100.0;
    }
    set(&mut session, "x", &values);
    assert_eq!(elements_run(&mut session), ran(&all));
}

#[test]
fn one_element_is_set_as_in_a_column() {
    const N: usize = 3000;
    let mut values: Vec<f32> = (0..N).map(|i| i as f32 / 8.0).collect();
    let (mut session, mut other) = (open(&about_squares()), open(&about_squares()));
    set(&mut session, "x", &values);
    set(&mut other, "x", &values);
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    let agree = |session: &mut Session, other: &mut Session| {
        for output in ["sine", "off"] {
            assert_eq!(bits(live(session, output, N)), bits(live(other, output, N)));
        }
        let mean = |session: &mut Session| session.value::<f32>("mean").expect("it runs");
        assert_eq!(mean(session).map(f32::to_bits), mean(other).map(f32::to_bits));
    };
    agree(&mut session, &mut other);
    for (at, value) in [(17, 3.5), (2999, -1.0), (17, 3.5), (0, f32::NAN), (0, 4.0)] {
        session.set_element("x", at, value).expect("it is there");
        values[at] = value;
        set(&mut other, "x", &values);
        agree(&mut session, &mut other);
    }
    // Two elements between two evaluations, then one that runs alone.
    session.set_element("x", 1, 7.0_f32).expect("it is there");
    session.set_element("x", 2, 8.0_f32).expect("it is there");
    let run = |n| ran(&[("square", n), ("sine", n), ("mean", 1), ("off", N as u64)]);
    assert_eq!(elements_run(&mut session), run(2));
    session.set_element("x", 3, 9.0_f32).expect("it is there");
    assert_eq!(elements_run(&mut session), run(1));
    // An edit, a plan, and an answer with another input all see the element that was set.
    (values[1], values[2], values[3]) = (7.0, 8.0, 9.0);
    session.edit(&Edit::literal("sine", "x", 0)).expect("it is valid");
    session.undo();
    let twice = Ask::all().what_if("k", 3.0_f32);
    session.eval(&twice).expect("it runs");
    set(&mut other, "x", &values);
    agree(&mut session, &mut other);
    let mut by_plan = Session::with_evaluator(&Engine::new(), session.document().clone(), Lazy);
    set(&mut by_plan, "x", &vec![0.0; N]);
    for (at, value) in values.iter().enumerate() {
        by_plan.set_element("x", at, *value).expect("it is there");
    }
    let sines: Option<Vec<f32>> =
        by_plan.eval(&Ask::output("sine")).expect("it runs").answer.column("sine");
    assert_eq!(sines.map(bits), Some(bits(live(&mut session, "sine", N))));
}

#[test]
fn only_elements_of_columns_are_set() {
    let mut session = open(&about_squares());
    let mut refused = |name: &str, at, value: Value| {
        let error = session.set_element(name, at, value).expect_err("it is not there");
        error.to_string()
    };
    let one = || Value::F32(1.0);
    assert_eq!(refused("x", 0, one()), "input `x` has no element 0");
    assert_eq!(refused("z", 0, one()), "there is no input called `z`");
    let column = Column::from_vec(vec![1.0_f32; 3]);
    session.set_all([("x", Given::Along(RequestAxis::Index, column))]).expect("it fits");
    let error = session.set_element("x", 3, 1.0_f32).expect_err("there are three");
    assert_eq!(error.to_string(), "input `x` has no element 3");
    let error = session.set_element("x", 0, Value::from("a")).expect_err("it is no number");
    assert_eq!(error.to_string(), "input `x` is of type f32, but was given string");
    // Values are converted as those of whole inputs are.
    session.set_element("x", 2, 2_i32).expect("it is a number");
    assert_eq!(live(&mut session, "sine", 3)[2], 4.0_f32.sin());
}

#[test]
fn elements_that_run_for_another_time_count_too() {
    let later = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "now": { "type": "f32", "from": "sum.value" },
            "later": { "type": "f32", "from": "late.value" } },
        "nodes": {
            "t": { "type": "context.time" },
            "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": from("t") } },
            "late": { "type": "time.shift", "in": { "value": from("sum"), "by": 4 } } } });
    let mut session = open(&later);
    set(&mut session, "x", &[1.0; 50]);
    let n_of = |session: &mut Session, node: &str| {
        elements_run(session)
            .into_iter()
            .filter(|(name, _)| name == node)
            .map(|(_, n)| n)
            .sum::<u64>()
    };
    // Now and four seconds later.
    assert_eq!(n_of(&mut session, "sum"), 100);
    let mut values = [1.0; 50];
    values[20] = 2.0;
    set(&mut session, "x", &values);
    assert_eq!(n_of(&mut session, "sum"), 2);
}

#[test]
fn an_edit_runs_what_it_touches() {
    let mut session = open(&about_squares());
    set(&mut session, "x", &[1.0, 2.0, 3.0]);
    assert_eq!(
        live(&mut session, "off", 3),
        [1.0 - 14.0 / 3.0, 4.0 - 14.0 / 3.0, 9.0 - 14.0 / 3.0]
    );
    session.edit(&Edit::literal("off", "b", 1)).expect("it is valid");
    assert_eq!(live(&mut session, "off", 3), [0.0, 3.0, 8.0]);
    assert!(session.undo());
    assert_eq!(live(&mut session, "mean", 3), [14.0 / 3.0; 3]);
    // A number instead of a column is read by all that read the column.
    session.set("x", 2.0_f32).expect("it fits");
    assert_eq!(session.value::<f32>("mean").expect("it runs"), Some(4.0));
}

#[test]
fn elements_pick_their_arms_and_their_number_may_change() {
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 0 } },
        "outputs": { "y": { "type": "f32", "from": "y.value" } },
        "nodes": {
            "i": { "type": "context.index" },
            "n": { "type": "context.count" },
            "is_low": { "type": "compare.less", "in": { "a": { "input": "x" }, "b": 2 } },
            "far": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 10 } },
            "sum": { "type": "math.add", "in": { "a": from("i"), "b": from("n") } },
            "y": { "type": "control.switch",
                "in": { "condition": from("is_low"), "false": from("far"), "true": from("sum") } } } });
    let mut session = open(&document);
    set(&mut session, "x", &[1.0, 3.0, 0.0]);
    assert_eq!(live(&mut session, "y", 3), [3.0, 30.0, 5.0]);
    set(&mut session, "x", &[1.0, 1.0, 0.0, -1.0]);
    assert_eq!(live(&mut session, "y", 4), [4.0, 5.0, 6.0, 7.0]);
    session.unset("x");
    session.set_count(Some(2));
    assert_eq!(live(&mut session, "y", 2), [2.0, 3.0]);
}

#[test]
fn a_plan_says_which_elements_fail() {
    let document = json!({ "millstream": 2,
        "inputs": { "i": { "type": "i32" } },
        "outputs": { "y": { "type": "f32", "from": "y.value" }, "z": { "type": "i32", "from": "one.value" } },
        "nodes": {
            "one": { "type": "math.add", "in": { "a": { "input": "i" }, "b": 1 } },
            "is_in": { "type": "compare.less", "in": { "a": { "input": "i" }, "b": 3 } },
            "get": { "type": "list.get", "in": { "list": [7, 8, 9], "index": { "input": "i" } } },
            "y": { "type": "control.switch",
                "in": { "condition": from("is_in"), "false": 0, "true": from("get") } } } });
    let mut session = open(&document);
    let given = |values: Vec<i32>| Given::Along(RequestAxis::Index, Column::from_vec(values));
    session.set_all([("i", given(vec![2, 5, 0]))]).expect("it fits");
    // Element 1 would fail, but takes the other arm.
    let evaluated = session.eval(&Ask::output("y")).expect("it runs");
    assert!(evaluated.answer.failures.is_empty());
    assert_eq!(evaluated.answer.column::<f32>("y"), Some(vec![9.0, 0.0, 7.0]));
    session.set_all([("i", given(vec![2, -5, 0]))]).expect("it fits");
    let evaluated = session.eval(&Ask::output("y")).expect("it runs");
    assert_eq!(evaluated.answer.failures.len(), 1);
    assert_eq!(evaluated.answer.failures[0].cell, [("index", 1)]);
    let evaluated = session.eval(&Ask::output("z")).expect("it runs");
    assert!(evaluated.plan().is_none(), "what does not fail is live");
    assert_eq!(evaluated.answer.column::<i32>("z"), Some(vec![3, -4, 1]));
    session.set_all([("i", Given::One(Value::I32(1)))]).expect("it fits");
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(8.0));
}

#[test]
fn bytes_are_those_of_the_present_columns() {
    let document = json!({ "millstream": 2,
        "inputs": { "n": { "type": "i32", "default": 1 } },
        "outputs": { "i": { "type": "i32", "from": "i.value" }, "l": { "type": "list<f32>", "from": "l.value" } },
        "nodes": { "i": { "type": "context.index" },
            "l": { "type": "list.range", "in": { "count": { "input": "n" } } } } });
    let mut session = open(&document);
    for n in [1000, 5, 70] {
        session.set_count(Some(n));
        let evaluated = session.eval(&Ask::output("i")).expect("it runs");
        assert!(evaluated.plan().is_none(), "numbers of elements are stored when they are read");
        assert_eq!(evaluated.answer.column::<i32>("i"), Some((0..n as i32).collect()));
    }
    session.set_count(None);
    let mut counts = vec![1; 16];
    for (at, count) in [(3, 1), (3, 1000), (3, 2), (7, 500), (7, 1)] {
        counts[at] = count;
        let column = Given::Along(RequestAxis::Index, Column::from_vec(counts.clone()));
        session.set_all([("n", column)]).expect("it fits");
        let evaluated = session.eval(&Ask::output("l")).expect("it runs");
        assert!(evaluated.plan().is_none(), "lists of elements may grow and shrink");
        let lists = evaluated.answer.output("l").and_then(|it| it.value.as_ref()).expect("it runs");
        let Value::List(items) = lists.data.get(at) else { panic!("it is a list") };
        assert_eq!(items.len(), count as usize);
    }
    session
        .set_all([("n", Given::Along(RequestAxis::Index, Column::from_vec(vec![1; 16])))])
        .expect("it fits");
    assert!(session.eval(&Ask::output("l")).expect("it runs").plan().is_none());
}

#[test]
fn only_inputs_that_are_read_open_an_axis() {
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "n": { "type": "i32", "from": "n.value" }, "sum": { "type": "f32", "from": "sum.value" },
            "y": { "type": "f32", "from": "y.value" } },
        "nodes": { "n": { "type": "context.count" },
            "sum": { "type": "reduce.sum", "in": { "value": { "input": "x" } } },
            "is_low": { "type": "compare.less", "in": { "a": { "input": "x" }, "b": 2 } },
            "twice": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 2 } },
            "y": { "type": "control.switch",
                "in": { "condition": from("is_low"), "false": from("twice"), "true": 0 } } } });
    let mut session = open(&document);
    set(&mut session, "x", &[1.0, 5.0, 0.5]);
    let told = |session: &mut Session, ask: &Ask| {
        let answer = session.eval(ask).expect("it runs").answer;
        (answer.value::<i32>("n"), answer.value::<f32>("sum"), answer.count)
    };
    assert_eq!(told(&mut session, &Ask::all()), (Some(3), Some(6.5), Some(3)));
    let other = Ask::all().what_if("x", 2.0_f32);
    assert_eq!(told(&mut session, &other), (Some(1), Some(2.0), None));
    let longer = Given::Along(RequestAxis::Index, Column::from_vec(vec![1.0_f32; 4]));
    let longer = Ask { what_if: vec![("x".into(), longer)], ..Ask::all() };
    assert_eq!(told(&mut session, &longer), (Some(4), Some(4.0), Some(4)));
    assert_eq!(told(&mut session, &Ask::all()), (Some(3), Some(6.5), Some(3)));
    // Nothing runs again, the number of elements included.
    assert_eq!(elements_run(&mut session), ran(&[]));
    // Elements that all take the same arm still have a value each.
    let shape = |session: &mut Session| {
        let evaluated = session.eval(&Ask::output("y")).expect("it runs");
        evaluated.answer.outputs[0].value.as_ref().expect("it runs").axes.clone()
    };
    assert_eq!(shape(&mut session), [RequestAxis::Index]);
    set(&mut session, "x", &[1.0, 1.0]);
    assert_eq!(shape(&mut session), [RequestAxis::Index]);
    assert_eq!(live(&mut session, "y", 2), [0.0, 0.0]);
}

/// A document whose nodes have state for each element, and for all.
fn with_states() -> Json {
    let output = |node: &str| json!({ "type": "f32", "from": format!("{node}.value") });
    json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "soft": output("soft"), "total": output("total"), "grown": output("grown"),
            "late": output("late") },
        "nodes": {
            "twice": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 2 } },
            "soft": { "type": "state.smooth", "in": { "value": from("twice"), "half_life": 0.5 } },
            "sum": { "type": "reduce.sum", "in": { "value": from("soft") } },
            "total": { "type": "state.integrate", "in": { "rate": from("sum") } },
            "back": { "type": "state.feedback", "in": { "value": from("grown"), "initial": 1 } },
            "grown": { "type": "math.add", "in": { "a": from("back"), "b": { "input": "x" } } },
            "old": { "type": "state.delay", "set": { "ticks": 2 }, "in": { "value": from("twice") } },
            "late": { "type": "math.sin", "in": { "x": from("old") } } } })
}

#[test]
fn ticks_with_state_for_each_element_cost_no_more_than_by_plans() {
    const N: usize = 2000;
    let mut session = open(&with_states());
    let mut plain = Session::with_evaluator(&Engine::new(), session.document().clone(), Lazy);
    let mut values: Vec<f32> = (0..N).map(|i| i as f32 / 8.0).collect();
    let ask = Ask::all().with_log(LogDetail::Counts);
    for tick in 0..8 {
        if tick % 3 == 0 {
            values[tick] = -4.0;
            set(&mut session, "x", &values);
            set(&mut plain, "x", &values);
        }
        let (mine, theirs) =
            (session.tick(&ask).expect("it runs"), plain.tick(&ask).expect("it runs"));
        assert!(mine.plan().is_none(), "a live graph answers tick {tick}");
        assert!(theirs.plan().is_some());
        for name in ["soft", "total", "grown", "late"] {
            let column = |it: &Evaluated| it.answer.column::<f32>(name).expect("it has values");
            assert!(column(&mine) == column(&theirs), "{name} of tick {tick}");
        }
        let n_run = |it: &Evaluated| elements_of(it).iter().map(|(_, n)| n).sum::<u64>();
        assert!(
            n_run(&mine) <= n_run(&theirs),
            "{:?} {:?}",
            elements_of(&mine),
            elements_of(&theirs)
        );
    }
}

#[test]
fn an_element_that_changed_runs_alone_through_state() {
    const N: usize = 50;
    let output = json!({ "type": "f32", "from": "late.value" });
    let mut session = open(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "late": output },
        "nodes": {
            "twice": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 2 } },
            "old": { "type": "state.delay", "in": { "value": from("twice") } },
            "late": { "type": "math.sin", "in": { "x": from("old") } } } }));
    let mut values: Vec<f32> = (0..N).map(|i| i as f32 / 8.0).collect();
    set(&mut session, "x", &values);
    let ask = Ask::all().with_log(LogDetail::Counts);
    let late = |session: &mut Session| {
        let evaluated = session.tick(&ask).expect("it runs");
        assert!(evaluated.plan().is_none(), "a live graph answers");
        let of_late = |(name, n): (String, u64)| (name == "late").then_some(n);
        elements_of(&evaluated).into_iter().find_map(of_late).unwrap_or_default()
    };
    for _ in 0..3 {
        late(&mut session);
    }
    values[20] = -1.0;
    set(&mut session, "x", &values);
    let n_run: Vec<u64> = (0..3).map(|_| late(&mut session)).collect();
    assert_eq!(n_run, [0, 1, 0]);
}

#[test]
fn state_that_is_the_same_for_all_elements_is_one_value() {
    let mut session = open(&with_states());
    let mut plain = Session::with_evaluator(&Engine::new(), session.document().clone(), Lazy);
    for session in [&mut session, &mut plain] {
        // The plan computes a value for each element.
        set(session, "x", &[3.0; 20]);
        for _ in 0..3 {
            session.tick(&Ask::all()).expect("it runs");
        }
        // Without elements all state remains, whichever computed it.
        session.set("x", 3.0_f32).expect("it fits");
        assert_eq!(session.value::<f32>("soft").expect("it runs"), Some(6.0));
        assert_eq!(session.value::<f32>("grown").expect("it runs"), Some(13.0));
    }
}
