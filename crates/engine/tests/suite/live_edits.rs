//! Scripts of random edits: a session has the problems and the values of a fresh compilation of the
//! resulting document, both at once and with the optimised plan, even if nodes fail.

mod formulas;
mod library;
mod moments;
mod states;
mod worlds;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use millstream::document::EditKind;
use millstream::session::{Ask, Session};
use millstream::{
    Call, Column, Edit, Engine, Failure, Given, Lazy, NodeDef, NodeFailure, Request, RequestAxis,
    Type,
};
use millstream_base::same::Same;
use millstream_document::NodeKind;
use millstream_node::Data;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};

use worlds::World;

thread_local! {
    /// Whether faults are injected, so that nodes fail. Evaluations run on the thread of the test.
    static FAULTY: Cell<bool> = const { Cell::new(false) };
}

/// Fails below zero and panics above a hundred, and fails or panics while faults are injected.
fn picky(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut out: Vec<f32> = call.buffer(0);
    for i in call.mask() {
        let x = call.input::<f32>(0).get(i);
        if FAULTY.get() {
            assert!(i32::from_ne_bytes(x.to_ne_bytes()) & 1 == 0, "a fault");
            return Err(Failure::at(i, "a fault"));
        }
        if x < 0.0 {
            return Err(Failure::at(i, "it is below zero"));
        }
        assert!(x <= 100.0, "it is above a hundred");
        out[i] = x.sqrt();
    }
    call.set(0, out);
    Ok(())
}

/// The first and the last number of a list; fails without any, if these are wanted.
fn ends(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut ends: [Vec<f32>; 2] = [call.buffer(0), call.buffer(1)];
    let [first, last] = &mut ends;
    for i in call.mask() {
        match call.lists(0).slice::<f32>(i).expect("it takes numbers") {
            [] => return Err(Failure::at(i, "there is no end").with_help("append an item")),
            items => (first[i], last[i]) = (items[0], items[items.len() - 1]),
        }
    }
    for (k, end) in ends.into_iter().enumerate() {
        if call.wants(k) {
            call.set(k, end);
        }
    }
    Ok(())
}

fn engine() -> Engine {
    let library = |path: &str| match path {
        "lib.mill.json" => Ok(worlds::LIBRARY.into()),
        "lib/deep.mill.json" => Ok(worlds::DEEP.into()),
        _ => Err("there is no such file"),
    };
    let engine = Engine::new().with_library(millstream_testkit::custom::register);
    let mut engine = engine.with_documents(library);
    engine.register(
        NodeDef::new("test.picky", "Takes little")
            .input("x", Type::F32, "")
            .output("value", Type::F32, "")
            .function(picky),
    );
    engine.register(
        NodeDef::new("test.ends", "Looks at both ends")
            .input("list", Type::F32.list().expect("one level"), "")
            .output("x", Type::F32, "")
            .output("z", Type::F32, "")
            .function(ends),
    );
    engine
}

#[derive(Clone, Debug)]
struct Sketch {
    kind: u8,
    picks: [Index; 3],
    number: i16,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    (0_u8..27, any::<[Index; 3]>(), -120_i16..120).prop_map(|(kind, picks, number)| Sketch {
        kind,
        picks,
        number,
    })
}

impl Sketch {
    fn edit(&self, session: &Session, world: &World) -> Edit {
        let document = session.document();
        let names: Vec<String> = document.nodes.keys().map(ToString::to_string).collect();
        if names.is_empty() {
            return serde_json::from_value(
                json!({ "edit": "set_head", "name": "", "fps": 24, "start_frame": 0 }),
            )
            .expect("an edit");
        }
        let [p, q, r] = self.picks;
        let (node, other) = (p.get(&names), q.get(&names));
        let sockets: Vec<String> = match document.nodes.get(node) {
            Some(node) if !node.inputs.is_empty() && self.number % 5 != 0 => {
                node.inputs.iter().map(|(name, _)| name.to_string()).collect()
            }
            _ => world.sockets.iter().map(ToString::to_string).collect(),
        };
        let socket = r.get(&sockets);
        let ty = world.types[r.index(world.types.len())];
        let literal = (world.literal)(self.number);
        let output = self.output_of(&document.nodes[other.as_str()].kind);
        let link = json!({ "from": format!("{other}.{output}") });
        let fresh = format!("n{}", self.number.rem_euclid(4));
        let of_formula = self.of_formulas(world, document, &fresh);
        if let Some(json) = of_formula.or_else(|| self.of_used(world, node, &fresh, &link)) {
            return serde_json::from_value(json).expect("an edit");
        }
        let json: Json = match self.kind {
            0..=4 => json!({ "edit": "set_input", "node": node, "input": socket, "to": link }),
            5..=7 => json!({ "edit": "set_input", "node": node, "input": socket, "to": literal }),
            8 => json!({ "edit": "set_input", "node": node, "input": socket, "to": "text" }),
            9 => json!({ "edit": "set_input", "node": node, "input": socket }),
            10 => json!({ "edit": "remove_nodes", "nodes": [node] }),
            11 => json!({ "edit": "add_nodes", "nodes": [{ "name": fresh,
                "node": { "type": ty, "in": { socket.as_str(): link } } }] }),
            12 => json!({ "edit": "mute", "node": node, "muted": self.number % 2 == 0 }),
            13 => json!({ "edit": "rename_node", "node": node, "to": fresh }),
            14 => json!({ "edit": "replace_type", "node": node, "kind": { "type": ty } }),
            15 | 16 => {
                json!({ "edit": "group", "nodes": [node, other], "name": format!("g{}", fresh) })
            }
            17 => json!({ "edit": "ungroup", "node": node }),
            18 => {
                let ty = world.outputs[r.index(world.outputs.len())];
                json!({ "edit": "change_output", "name": "z",
                    "def": { "type": ty, "from": format!("{other}.{output}") } })
            }
            19 => {
                let (ty, default) = (world.inputs)(r.index(20), self.number);
                json!({ "edit": "change_input", "name": "x",
                    "def": { "type": ty, "default": default } })
            }
            20 if world.has_rounds && self.number % 2 == 0 => {
                json!({ "edit": "add_nodes", "nodes": [{ "name": fresh,
                    "node": { "type": "repeat", "group": "twice",
                        "in": { "x": link, "count": self.number % 5 } } }] })
            }
            20 => json!({ "edit": "add_nodes", "nodes": [{ "name": fresh,
                "node": { "type": "group", "group": "twice", "in": { "x": link } } }] }),
            21 => json!({ "edit": "set_input", "within": "twice", "node": "s", "input": "a",
                "to": { "input": "x" } }),
            22 => json!({ "edit": "add_nodes", "within": "twice", "nodes": [{ "name": fresh,
                "node": { "type": ty, "in": { socket.as_str(): { "from": "s.value" } } } }] }),
            23 => {
                json!({ "edit": "set_input", "within": "twice", "node": "s", "input": "b", "to": literal })
            }
            24 => {
                json!({ "edit": "set_input", "within": "twice", "node": "s", "input": "b", "to": "text" })
            }
            // Another output, which may be wrong or depend on an error.
            25 => json!({ "edit": "add_output", "within": "twice", "name": "w",
                "def": { "type": "f32", "from": format!("{fresh}.value") } }),
            _ => json!({ "edit": "change_output", "within": "twice", "name": "v",
                "def": { "type": "f32", "from": format!("{fresh}.value") } }),
        };
        serde_json::from_value(json).expect("an edit")
    }

    /// An output that nodes of this kind have.
    fn output_of(&self, kind: &NodeKind) -> &'static str {
        let pick =
            |names: &[&'static str]| names[self.number.unsigned_abs() as usize % names.len()];
        match kind {
            NodeKind::Group(_) => pick(&["v", "v", "w"]),
            NodeKind::Zone(..) => "v",
            NodeKind::Closure(_) => "value",
            NodeKind::Type(ty) => match &**ty {
                "vector.separate_vec3" => pick(&["x", "y", "z"]),
                "test.ends" => pick(&["x", "z"]),
                "color.separate" => pick(&["red", "green", "alpha"]),
                _ => "value",
            },
        }
    }
}

/// The value of an output as text that shows all bits, or that it has none.
fn told(answer: Option<&millstream_ir::answer::OutputAnswer>) -> String {
    match answer.map(|answer| &answer.value) {
        Some(Some(series)) => match &series.data {
            Data::One(value) => format!("{value:?}"),
            // Plans and live graphs may find differently that a value is the same for all elements.
            Data::Many(column) => {
                let mut cells: Vec<String> = column.iter().map(|it| format!("{it:?}")).collect();
                let is_even = cells.windows(2).all(|pair| pair[0] == pair[1]);
                cells.truncate(if is_even { 1 } else { usize::MAX });
                cells.join(" ")
            }
        },
        Some(None) => "failed".into(),
        None => "no meaning".into(),
    }
}

fn problems(of: &millstream::Diagnostics) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// Evaluations of sessions that keep results, and how many of them live graphs answered.
#[derive(Clone, Copy, Debug, Default)]
struct Answered {
    n: usize,
    n_live: usize,
}

impl std::ops::AddAssign for Answered {
    fn add_assign(&mut self, other: Self) {
        self.n += other.n;
        self.n_live += other.n_live;
    }
}

fn compare(session: &mut Session, engine: &Engine) -> Answered {
    let mut answered = Answered::default();
    let text = millstream_document::save(session.document());
    let names: Vec<String> = session.document().outputs.keys().map(ToString::to_string).collect();
    let mut fresh = Session::open(engine, text.as_bytes()).expect("what is saved loads");
    assert_eq!(problems(session.problems()), problems(fresh.problems()), "{text}");
    let program = engine.load(text.as_bytes());
    assert_eq!(program.is_ok(), !session.problems().has_errors());
    for (frame, name) in
        moments(&text).flat_map(|frame| names.iter().map(move |name| (frame, name)))
    {
        let ask = Ask { frame: Some(frame), ..Ask::output(name) };
        let evaluated = session.eval(&ask).ok();
        let mine = told(evaluated.as_ref().and_then(|it| it.answer.output(name)));
        let its = fresh.eval(&ask).ok();
        assert_eq!(
            mine,
            told(its.as_ref().and_then(|it| it.answer.output(name))),
            "{name} of {text}"
        );
        if frame == 0 {
            assert_eq!(mine, told(session.get(name).ok()), "{name} of {text}");
            assert_eq!(mine, told(fresh.get(name).ok()), "{name} of {text}");
        }
        if let Some(evaluated) = &evaluated {
            answered.n += 1;
            answered.n_live += usize::from(evaluated.plan().is_none());
        }
        if let Ok(program) = &program {
            let answer = program.run(&Request::new().output(name).frame(frame)).expect("it runs");
            assert_eq!(mine, told(answer.output(name)), "{name} of {text}");
            let failures = evaluated.map(|it| it.answer.failures).unwrap_or_default();
            assert_eq!(failed(&failures), failed(&answer.failures), "{name} of {text}");
        }
    }
    answered
}

/// The frames at which a document is evaluated: several if it depends on them.
fn moments(text: &str) -> impl Iterator<Item = i64> + use<> {
    [0, 7].into_iter().take(if text.contains("time.") { 2 } else { 1 })
}

/// The reasons for failures. An optimised plan has one path for nodes that do the same.
fn failed(failures: &[NodeFailure]) -> Vec<String> {
    let told = |failure: &NodeFailure| format!("{} {:?}", failure.message, failure.cell);
    let mut all: Vec<String> = failures.iter().map(told).collect();
    all.sort();
    all.dedup();
    all
}

/// Plays random scripts, and returns who answered.
fn play_many<S: Strategy>(script: &S, mut play: impl FnMut(S::Value) -> Answered) -> Answered {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let answered = Cell::new(Answered::default());
    let play = std::cell::RefCell::new(&mut play);
    let result = TestRunner::new(config).run(script, |script| {
        let mut all = answered.get();
        all += (play.borrow_mut())(script);
        answered.set(all);
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    answered.get()
}

fn scripts() -> impl Strategy<Value = (Vec<Sketch>, u16, bool)> {
    (vec(sketch(), 1..12), any::<u16>(), any::<bool>())
}

#[test]
fn a_session_has_the_values_of_a_fresh_compile() {
    let world = World::of_numbers("test.picky");
    play_many(&scripts(), |(script, settle, keeps)| play(&world, &script, settle, keeps));
}

#[test]
fn so_has_one_with_faults_injected_into_nodes() {
    let world = World::of_numbers("test.picky");
    play_many(&scripts(), |(script, faults, keeps)| play_faulty(&world, &script, faults, keeps));
}

#[test]
fn so_has_one_that_uses_groups_of_other_documents() {
    let world = World::of_used();
    play_many(&scripts(), |(script, settle, keeps)| play(&world, &script, settle, keeps));
    play_many(&scripts(), |(script, faults, keeps)| play_faulty(&world, &script, faults, keeps));
}

#[test]
fn so_has_one_of_single_numbers_and_a_live_graph_answers() {
    let world = World::of_numbers("math.sqrt");
    let answered = play_many(&scripts(), |(script, settle, _)| play(&world, &script, settle, true));
    assert!(answered.n_live * 20 >= answered.n * 19, "{answered:?}");
}

#[test]
fn so_has_one_of_vectors_texts_and_lists_and_a_live_graph_answers() {
    let world = World::of_values();
    let answered = play_many(&scripts(), |(script, settle, _)| play(&world, &script, settle, true));
    assert!(answered.n_live * 20 >= answered.n * 19, "{answered:?}");
}

#[test]
fn so_has_one_of_values_with_faults_injected_into_nodes() {
    let world = World::of_values();
    let answered =
        play_many(&scripts(), |(script, faults, _)| play_faulty(&world, &script, faults, true));
    assert!(answered.n_live * 20 >= answered.n * 19, "{answered:?}");
}

#[test]
fn so_have_generated_ones_of_values_and_live_graphs_answer() {
    let scripts = (scripts(), any::<u64>(), 4_usize..60);
    let answered = play_many(&scripts, |((script, faults, is_faulty), seed, n)| {
        let world = World { start: worlds::generated(seed, n), ..World::of_values() };
        if let Err(problems) = engine().load(world.start.as_bytes()) {
            panic!("{problems}: {}", world.start);
        }
        let play = if is_faulty { play_faulty } else { play };
        play(&world, &script, faults, true)
    });
    assert!(answered.n_live * 20 >= answered.n * 19, "{answered:?}");
}

/// With faults every output has its right value, or fails because one of its sources does.
fn compare_faulty(session: &mut Session, engine: &Engine) {
    let text = millstream_document::save(session.document());
    let fresh = |faulty: bool| {
        FAULTY.set(faulty);
        let mut fresh = Session::open(engine, text.as_bytes()).expect("what is saved loads");
        let names: Vec<String> = fresh.document().outputs.keys().map(ToString::to_string).collect();
        let told: Vec<String> = names.iter().map(|name| told(fresh.get(name).ok())).collect();
        names.into_iter().zip(told).collect::<Vec<_>>()
    };
    let right = fresh(false);
    let wrong = fresh(true);
    for ((name, right), (_, wrong)) in right.into_iter().zip(wrong) {
        // Stored values do not run, and so do not fail.
        let ask = Ask::output(&name);
        let evaluated = session.eval(&ask).ok();
        let mine = told(evaluated.as_ref().and_then(|it| it.answer.output(&name)));
        // The fresh program may have been optimised in the meantime, on a thread without faults.
        let is_known = mine == right || mine == wrong || mine == "failed";
        assert!(is_known, "{mine}, not {right} or {wrong}: {name} of {text}");
        if let Some(evaluated) = evaluated.filter(|_| mine == "failed" && right != "failed") {
            let failures = &evaluated.answer.failures;
            assert!(failures.iter().any(|f| f.message.contains("a fault")), "{failures:?}");
        }
    }
    FAULTY.set(false);
}

/// A session of a document, which stores results or not.
fn opened(engine: &Engine, text: &str, keeps: bool) -> Session {
    let (document, _) = millstream_document::load(text.as_bytes(), engine.limits());
    let document = document.expect("it loads");
    if keeps {
        Session::new(engine, document)
    } else {
        Session::with_evaluator(engine, document, Lazy)
    }
}

/// Plays a script of edits with faults between them: after the next edit everything is right.
fn play_faulty(world: &World, script: &[Sketch], faults: u16, keeps: bool) -> Answered {
    let engine = engine();
    let mut session = opened(&engine, &world.start, keeps);
    let before = millstream_document::save(session.document());
    let mut answered = Answered::default();
    let mut n_edits = 0;
    for (i, sketch) in script.iter().enumerate() {
        n_edits += usize::from(session.edit(&sketch.edit(&session, world)).is_ok());
        if faults >> i & 1 != 0 {
            compare_faulty(&mut session, &engine);
            // Nodes that failed are tried again after any edit.
            let head =
                json!({ "edit": "set_head", "name": format!("{i}"), "fps": 24, "start_frame": 0 });
            session.edit(&serde_json::from_value(head).expect("an edit")).expect("it fits");
            n_edits += 1;
        }
        answered += compare(&mut session, &engine);
    }
    take_back(&mut session, n_edits, &before);
    answered += compare(&mut session, &engine);
    answered
}

/// A batch of edits, each valid after the ones before it, is refused because of its last one. Later
/// comparisons show whether it left traces.
fn refuse_late(session: &mut Session, engine: &Engine, world: &World, script: &[Sketch]) {
    let mut twin = opened(engine, &millstream_document::save(session.document()), false);
    let mut edits: Vec<Edit> = Vec::new();
    for sketch in script {
        let edit = sketch.edit(&twin, world);
        if twin.edit(&edit).is_ok() {
            edits.push(edit);
        }
    }
    edits.push(EditKind::RemoveGroup { name: "no such group".into() }.into());
    session.edit(&Edit::batch(edits)).expect_err("its last edit does not fit");
}

/// Plays a script of edits, and undoes them.
fn play(world: &World, script: &[Sketch], settle: u16, keeps: bool) -> Answered {
    let engine = engine();
    let mut session = opened(&engine, &world.start, keeps);
    let before = millstream_document::save(session.document());
    let mut answered = Answered::default();
    let mut n_edits = 0;
    for (i, sketch) in script.iter().enumerate() {
        if settle >> (i + 4) & 1 != 0 {
            let next = &script[i..script.len().min(i + 4)];
            refuse_late(&mut session, &engine, world, next);
        }
        let edit = sketch.edit(&session, world);
        // Refused edits change nothing, which is compared too.
        n_edits += usize::from(session.edit(&edit).is_ok());
        if settle >> i & 1 != 0 {
            session.settle();
        }
        answered += compare(&mut session, &engine);
    }
    session.settle();
    answered += compare(&mut session, &engine);
    take_back(&mut session, n_edits, &before);
    answered += compare(&mut session, &engine);
    answered
}

fn take_back(session: &mut Session, n_edits: usize, before: &str) {
    for _ in 0..n_edits {
        assert!(session.undo());
    }
    assert_eq!(millstream_document::save(session.document()), before);
}

#[test]
fn a_node_that_failed_is_mended_by_the_same_edit() {
    let engine = engine();
    let mut session =
        Session::open(&engine, World::of_numbers("test.picky").start.as_bytes()).expect("it opens");
    assert_eq!(told(session.get("w").ok()), "f32(2.828427)");
    let bad = Edit::literal("picky", "x", -1);
    session.edit(&bad).expect("fits");
    let answer = session.eval(&Ask::all()).expect("it runs").answer;
    assert_eq!(answer.failures.len(), 1);
    assert_eq!(answer.failures[0].to_string(), "picky: it is below zero");
    assert_eq!(told(answer.output("w")), "failed");
    assert!(answer.output("z").expect("asked").value.is_some());
    let panics = Edit::literal("picky", "x", 101);
    session.edit(&panics).expect("fits");
    let answer = session.eval(&Ask::output("w")).expect("it runs").answer;
    assert!(answer.failures[0].message.contains("above a hundred"), "{:?}", answer.failures);
    session.edit(&bad).expect("the same edit fits again");
    session.edit(&Edit::literal("picky", "x", 4)).expect("fits");
    let value = session.value::<f32>("w").expect("it runs").expect("a value");
    assert!(value.same(&2.0), "{value}");
}

/// An engine with a device that is off for its first calls, and the number of calls.
fn with_device(n_off: u32) -> (Engine, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let device = move |call: &mut Call<'_>| {
        if counted.fetch_add(1, Ordering::Relaxed) < n_off {
            return Err(Failure::whole("it is off"));
        }
        picky(call)
    };
    let mut engine = engine();
    let def = NodeDef::new("test.picky", "Is off at first").input("x", Type::F32, "");
    engine.register(def.output("value", Type::F32, "").function(device));
    (engine, calls)
}

#[test]
fn what_failed_runs_again_after_an_edit_but_not_before() {
    let (engine, calls) = with_device(2);
    let mut session =
        Session::open(&engine, World::of_numbers("test.picky").start.as_bytes()).expect("it opens");
    session.settle();
    let ask = |session: &mut Session| {
        let answer = session.eval(&Ask::output("w")).expect("it runs").answer;
        (told(answer.output("w")), calls.load(Ordering::Relaxed))
    };
    assert_eq!(ask(&mut session), ("failed".into(), 1));
    assert_eq!(ask(&mut session), ("failed".into(), 1));
    let edit = Edit::literal("a", "b", 2);
    session.edit(&edit).expect("it fits");
    session.settle();
    assert_eq!(ask(&mut session), ("failed".into(), 2));
    assert!(session.undo());
    session.edit(&edit).expect("the same edit fits");
    session.settle();
    assert_eq!(ask(&mut session), ("f32(3.1622777)".into(), 3));
    assert_eq!(ask(&mut session), ("f32(3.1622777)".into(), 3));
}

#[test]
fn what_failed_runs_again_when_an_input_is_set_to_what_it_is() {
    // In a live graph, and with a plan.
    for state in ["", r#", "c": { "type": "state.counter" }"#] {
        let (engine, calls) = with_device(2);
        let document = format!(
            r#"{{ "millstream": 2, "inputs": {{ "x": {{ "type": "f32", "default": 9 }} }},
            "outputs": {{ "w": {{ "type": "f32", "from": "p.value" }} }},
            "nodes": {{ "p": {{ "type": "test.picky", "in": {{ "x": {{ "input": "x" }} }} }}{state} }} }}"#
        );
        let mut session = Session::open(&engine, document.as_bytes()).expect("it opens");
        session.settle();
        let mut set = |x: f32| {
            session.set("x", x).expect("it is there");
            let answer = session.eval(&Ask::output("w")).expect("it runs").answer;
            (told(answer.output("w")), calls.load(Ordering::Relaxed))
        };
        assert_eq!(set(4.0), ("failed".into(), 1));
        assert_eq!(set(4.0), ("failed".into(), 2));
        assert_eq!(set(4.0), ("f32(2.0)".into(), 3));
        assert_eq!(set(4.0), ("f32(2.0)".into(), 3));
        session.try_failed_again();
        assert_eq!(told(session.get("w").ok()), "f32(2.0)");
        assert_eq!(calls.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn a_group_that_a_refused_batch_took_apart_is_followed_as_before() {
    let engine = engine();
    let document = json!({ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "o": { "type": "f32", "from": "z.value" }, "p": { "type": "f32", "from": "g.value" } },
        "nodes": {
            "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            "m": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": 1 } },
            "z": { "type": "math.add", "in": { "a": { "from": "m.value" }, "b": 1 } },
            "g": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 100 } } },
        "groups": { "unused": { "inputs": {}, "outputs": {}, "nodes": {} } } });
    let mut session = Session::open(&engine, document.to_string().as_bytes()).expect("it opens");
    let edit = |json: Json| serde_json::from_value::<Edit>(json).expect("an edit");
    session
        .edit(&edit(json!({ "edit": "group", "nodes": ["g"], "name": "k" })))
        .expect("it makes a group");
    assert_eq!(session.value::<f32>("p").expect("it runs"), Some(101.0));
    let cycle = json!({ "edit": "batch", "edits": [{ "edit": "ungroup", "node": "k" },
        { "edit": "set_input", "node": "a", "input": "b", "to": { "from": "z.value" } }] });
    session.edit(&edit(cycle)).expect_err("`z` depends on `a`");
    let set = json!({ "edit": "set_input", "within": "k", "node": "g", "input": "b", "to": 200 });
    session.edit(&edit(set)).expect("it fits");
    assert_eq!(session.value::<f32>("p").expect("it runs"), Some(201.0));
}
