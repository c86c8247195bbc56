//! Scripts over documents of the whole node library: any node type, with any settings, values of
//! any type, and columns of changing lengths.

mod deeds;

use millstream::RequestAxis;
use std::collections::BTreeMap;

use millstream::session::{Ask, Session};
use millstream::{Edit, Engine, Request};
use millstream_base::{Column, Feature, Limits, Mask, Type, Value};
use millstream_ir::Answer;
use millstream_ir::answer::OutputAnswer;
use millstream_ir::request::Given;
use millstream_node::Data;
use millstream_testkit::generate::document::document_of;
use millstream_testkit::generate::values::{column, own_features, value};
use millstream_testkit::generate::{REGISTRY, graphs};
use proptest::collection::vec;
use proptest::prelude::*;

use serde_json::json;

use super::worlds::generated;
use super::{Answered, engine, opened, play_many, problems};
use deeds::{Deed, Edited, deed};

/// A session with its settings, so that another one can be given the same.
struct Played {
    engine: Engine,
    session: Session,
    /// A session that uses plans, with which the same is done.
    plain: Session,
    inputs: BTreeMap<String, Given>,
    features: Vec<(Feature, Given)>,
    count: Option<usize>,
    frame: i64,
    n_names: usize,
    /// Whether it has columns and axes, which live graphs do not have.
    has_columns: bool,
}

impl Played {
    fn new(text: &str, has_columns: bool) -> Self {
        let limits = Limits { list_length: 20_000, repeat_count: 200, ..Limits::default() };
        let engine = engine().with_limits(limits);
        let mut session = Session::open(&engine, text.as_bytes())
            .unwrap_or_else(|problems| panic!("{problems}: {text}"));
        let mut features = vec![(Feature::RealTime, Given::One(Value::F64(1000.25)))];
        for (name, ty) in own_features() {
            features.push((Feature::Custom(name, ty), Given::One(value(ty, 2))));
        }
        features.push((Feature::Position, Given::One(Value::Vec3([1.0, -2.0, 0.5].into()))));
        for (feature, given) in &features {
            session.set_feature(feature.clone(), given.clone());
        }
        let mut plain = opened(&engine, text, false);
        for (feature, given) in &features {
            plain.set_feature(feature.clone(), given.clone());
        }
        Self {
            engine,
            session,
            plain,
            inputs: BTreeMap::new(),
            features,
            count: None,
            frame: 2,
            n_names: 0,
            has_columns,
        }
    }

    fn edit_for(&mut self, deed: &Deed) -> Option<Edit> {
        self.n_names += 1;
        let fresh = format!("made{}", self.n_names);
        let document = self.session.document();
        let json = Edited::new(&self.engine, document, deed, fresh, self.has_columns).edit(deed)?;
        Some(serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}")))
    }

    /// Sets values or the time, if the step does that.
    fn give(&mut self, deed: &Deed) {
        let inputs = &self.session.document().inputs;
        let number = usize::from(deed.number);
        match deed.kind {
            32..=36 if !inputs.is_empty() => {
                let at = deed.picks[0].index(inputs.len());
                let (name, def) = inputs.iter().nth(at).expect("there are so many");
                let name = name.to_string();
                let Some(ty) = self.engine.registry().type_named(&def.ty) else { return };
                let given = match deed.kind {
                    35 if self.has_columns => Given::Along(
                        RequestAxis::Index,
                        column(ty, [0, 1, 3, 5, 70, 1100][number % 6], number),
                    ),
                    _ => Given::One(value(ty, number)),
                };
                self.set(&name, given);
            }
            37 if !inputs.is_empty() => {
                let name =
                    inputs.keys().nth(deed.picks[0].index(inputs.len())).expect("it is there");
                let name = name.to_string();
                self.both(|it| it.unset(&name));
                self.inputs.remove(&name);
            }
            38 if self.has_columns => {
                let count = [None, Some(3), Some(5), Some(0)][number % 4];
                self.both(|it| it.set_count(count));
                self.count = count;
            }
            39 => self.frame = [0, 2, 7][number % 3],
            40 => {
                self.both(told_tick);
            }
            41 => {
                let frame = [0, 2, 5][number % 3];
                self.both(|it| it.seek(frame).map_err(|error| error.to_string())).ok();
            }
            _ => {}
        }
    }

    /// Sets an input of both sessions.
    fn set(&mut self, name: &str, given: Given) {
        self.both(|it| it.set_all([(name, given.clone())]).map_err(|error| error.to_string()))
            .expect("it has the type");
        self.inputs.insert(name.to_owned(), given);
    }

    /// Another session of the document with the same settings.
    fn fresh(&self, text: &str) -> Session {
        let mut fresh = Session::open(&self.engine, text.as_bytes()).expect("what is saved loads");
        for (feature, given) in &self.features {
            fresh.set_feature(feature.clone(), given.clone());
        }
        let inputs = self.inputs.iter().map(|(name, given)| (&**name, given.clone()));
        fresh.set_all(inputs).expect("they fit");
        fresh.set_count(self.count);
        fresh
    }

    fn request(&self, name: &str) -> Request {
        let mut request = Request::new().output(name).frame(self.frame);
        for (name, given) in &self.inputs {
            request = request.given(name, given.clone());
        }
        for (feature, given) in &self.features {
            request = request.feature(feature.clone(), given.clone());
        }
        match self.count {
            Some(n) => request.count(n),
            None => request,
        }
    }

    /// Compares with a session that uses plans and has the same history, with one that is opened
    /// now, with one whose plan is optimised, and with a program if there is no state.
    fn compare(&mut self, settles: bool) -> Answered {
        let mut answered = Answered::default();
        let text = millstream_document::save(self.session.document());
        if settles {
            self.session.settle();
        }
        let custom = millstream_testkit::custom::WITH_STATE;
        let keeps = text.contains("\"state.") || custom.iter().any(|name| text.contains(name));
        let mut others = vec![];
        let mut program = None;
        if !keeps {
            let fresh = self.fresh(&text);
            let mut settled = self.fresh(&text);
            settled.settle();
            assert_eq!(problems(self.session.problems()), problems(fresh.problems()), "{text}");
            others.extend([("fresh", fresh), ("settled", settled)]);
            let loaded = self.engine.load(text.as_bytes());
            assert_eq!(loaded.is_ok(), !self.session.problems().has_errors());
            program = loaded.ok();
        }
        let names: Vec<String> =
            self.session.document().outputs.keys().map(ToString::to_string).collect();
        let frame = (!keeps).then_some(self.frame);
        for name in &names {
            let ask = Ask { frame, ..Ask::output(name) };
            let (mine, is_live) = told_by(&mut self.session, &ask);
            answered.n += 1;
            answered.n_live += usize::from(is_live);
            let (inputs, count) = (&self.inputs, self.count);
            let at = || format!("{name} at {frame:?} of {text} with {inputs:?} for {count:?}");
            let (its, _) = told_by(&mut self.plain, &ask);
            assert_eq!(mine, its, "with plans: {}", at());
            for (which, other) in &mut others {
                let (its, _) = told_by(other, &ask);
                assert_eq!(mine, its, "{which}: {}", at());
            }
            let ran = program.as_ref().map(|program| program.run(&self.request(name)));
            match ran {
                None => {}
                Some(Ok(answer)) => {
                    assert_eq!(mine, Told::of(&answer), "program: {}", at());
                }
                Some(Err(error)) => assert!(mine.outputs.is_empty(), "{error}: {}", at()),
            }
        }
        answered
    }

    /// Compares with plans if an input were another.
    fn compare_what_if(&mut self, input: &str, other: &Given) {
        if !self.session.document().inputs.contains_key(input) {
            return;
        }
        let ask = Ask {
            frame: Some(self.frame),
            what_if: vec![(input.to_owned(), other.clone())],
            ..Ask::default()
        };
        let text = millstream_document::save(self.session.document());
        let keeps = text.contains("\"state.");
        let ask = if keeps { Ask { frame: None, ..ask } } else { ask };
        let (mine, its) = (told_by(&mut self.session, &ask).0, told_by(&mut self.plain, &ask).0);
        assert_eq!(mine, its, "if {input} were {other:?}, in {text} with {:?}", self.inputs);
    }

    /// Does the same in both sessions; returns whether both did.
    fn both<T: std::fmt::Debug + PartialEq>(
        &mut self,
        mut what: impl FnMut(&mut Session) -> T,
    ) -> T {
        let (mine, its) = (what(&mut self.session), what(&mut self.plain));
        assert_eq!(mine, its, "{}", millstream_document::save(self.session.document()));
        mine
    }
}

/// The results of a session or a program. An optimised plan may find that a value does not vary.
#[derive(Debug)]
struct Told {
    outputs: Vec<Output>,
    failures: Vec<String>,
    has_elements: bool,
}

#[derive(Debug)]
struct Output {
    name: String,
    cells: Vec<String>,
}

impl Told {
    fn of(answer: &Answer) -> Self {
        let cells = |output: &OutputAnswer| match output.value.as_ref().map(|series| &series.data) {
            Some(Data::One(value)) => vec![format!("{value:?}")],
            Some(Data::Many(column)) => {
                let mut cells: Vec<String> =
                    column.iter().map(|value| format!("{value:?}")).collect();
                let is_even = cells.windows(2).all(|pair| pair[0] == pair[1]);
                cells.truncate(if is_even { 1 } else { usize::MAX });
                cells
            }
            None => vec!["failed".into()],
        };
        let outputs =
            answer.outputs.iter().map(|it| Output { name: it.name.to_string(), cells: cells(it) });
        let mut failures: Vec<String> =
            answer.failures.iter().map(|it| it.message.clone()).collect();
        failures.sort();
        failures.dedup();
        Self { outputs: outputs.collect(), failures, has_elements: answer.count.is_some() }
    }

    fn refused(error: String) -> Self {
        Self { outputs: Vec::new(), failures: vec![error], has_elements: false }
    }
}

impl PartialEq for Told {
    fn eq(&self, other: &Self) -> bool {
        // Without elements there is nothing to compare.
        let same = |(a, b): (&Output, &Output)| {
            a.name == b.name && (a.cells == b.cells || a.cells.is_empty() || b.cells.is_empty())
        };
        // A node tells of the first element that fails, of those that run first: the arms of a
        // switch run apart in a plain plan, and together where an optimised plan merges them.
        let is_either = self.has_elements
            && other.has_elements
            && !self.failures.is_empty()
            && !other.failures.is_empty();
        (self.failures == other.failures || is_either)
            && self.outputs.len() == other.outputs.len()
            && self.outputs.iter().zip(&other.outputs).all(same)
    }
}

fn told_tick(session: &mut Session) -> Told {
    match session.tick(&Ask::all()) {
        Ok(it) => Told::of(&it.answer),
        Err(error) => Told::refused(error.to_string()),
    }
}

/// The results of a session, and whether a live graph computed them.
fn told_by(session: &mut Session, ask: &Ask) -> (Told, bool) {
    match session.eval(ask) {
        Ok(it) => (Told::of(&it.answer), it.plan().is_none()),
        Err(error) => (Told::refused(error.to_string()), false),
    }
}

fn play(start: &str, has_columns: bool, script: &[Deed], settles: u16) -> Answered {
    let mut played = Played::new(start, has_columns);
    let mut answered = played.compare(false);
    for (i, deed) in script.iter().enumerate() {
        if let Some(edit) = played.edit_for(deed) {
            let done = played.both(|it| it.edit(&edit).map_err(|error| error.to_string()));
            if done.is_ok() && deed.number.is_multiple_of(7) {
                answered += played.compare(false);
                assert!(played.both(Session::undo));
                if deed.number.is_multiple_of(2) {
                    assert!(played.both(Session::redo));
                }
            }
        }
        played.give(deed);
        answered += played.compare(settles >> i & 1 != 0);
    }
    answered
}

#[test]
fn so_have_ones_of_any_nodes() {
    assert!(REGISTRY.iter().count() > 500, "the whole library");
    let scripts = (graphs(14), vec(deed(), 1..10), any::<u16>());
    play_many(&scripts, |(graph, script, settles)| {
        play(&document_of(&graph, None).to_string(), true, &script, settles)
    });
    let scripts = (any::<u64>(), 1_usize..16, vec(deed(), 1..16), any::<u16>());
    let answered = play_many(&scripts, |(seed, n, script, settles)| {
        play(&generated(seed, n), false, &script, settles)
    });
    assert!(answered.n_live * 2 >= answered.n, "{answered:?}");
}

/// Plays a script on a document whose inputs are columns. After each step one element of a column
/// may change.
fn play_elements(start: &str, script: &[Deed], settles: u16) -> Answered {
    // Reductions of long columns compute the changed blocks alone.
    let n = if settles.is_multiple_of(8) { 2500 } else { 70 };
    let mut played = Played::new(start, false);
    let inputs: Vec<(String, Type)> = (played.session.document().inputs.iter())
        .filter_map(|(name, def)| {
            Some((name.to_string(), played.engine.registry().type_named(&def.ty)?))
        })
        .collect();
    for (k, (name, ty)) in inputs.iter().enumerate() {
        played.set(name, Given::Along(RequestAxis::Index, column(*ty, n, k)));
    }
    let mut answered = played.compare(false);
    for (i, deed) in script.iter().enumerate() {
        if let Some(edit) = played.edit_for(deed) {
            played.both(|it| it.edit(&edit).map_err(|error| error.to_string())).ok();
        }
        played.give(deed);
        let number = usize::from(deed.number);
        let (name, ty) = &inputs[number % inputs.len()];
        if let Some(Given::Along(_, known)) = played.inputs.get(name) {
            let mut changed = known.clone();
            let at = number / 7 % n;
            let mask = Mask::range(at..at + 1);
            changed.overwrite(&mask, &Column::filled(&value(*ty, number), 1), |_| 0);
            played.set(name, Given::Along(RequestAxis::Index, changed));
        }
        answered += played.compare(settles >> i & 1 != 0);
        let other = match number % 3 {
            0 => Given::One(value(*ty, number)),
            1 => Given::Along(RequestAxis::Index, column(*ty, n, number)),
            _ => Given::Along(RequestAxis::Index, column(*ty, 3, number)),
        };
        played.compare_what_if(name, &other);
    }
    answered
}

#[test]
fn live_graphs_answer_for_columns_and_changed_elements() {
    let scripts = (any::<u64>(), 1_usize..24, vec(deed(), 1..16), any::<u16>());
    let answered = play_many(&scripts, |(seed, n, script, settles)| {
        play_elements(&generated(seed, n), &script, settles)
    });
    assert!(answered.n_live * 2 >= answered.n, "{answered:?}");
}

/// A document whose elements read others, at positions that depend on the seed.
fn gathering(seed: u64) -> String {
    let from = |node: &str| json!({ "from": format!("{node}.value") });
    let output = |ty: &str, node: &str| json!({ "type": ty, "from": format!("{node}.value") });
    let outside = ["clamp", "wrap"][(seed % 2) as usize];
    let shape = ["nearest", "linear", "cubic"][(seed % 3) as usize];
    let beyond = ["clamp", "wrap", "mirror"][(seed / 3 % 3) as usize];
    let how = ["mean", "sum", "minimum", "median", "deviation"][(seed / 27 % 5) as usize];
    let edit = ["list.reverse", "list.shuffle", "list.rotate"][(seed / 9 % 3) as usize];
    json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 0 }, "at": { "type": "i32", "default": 0 },
            "place": { "type": "f64", "default": 0 } },
        "outputs": { "y": output("f32", "y"), "z": output("f32", "z"), "w": output("f32", "w"),
            "sum": output("f32", "sum"), "picked": output("list<f32>", "picked"),
            "soft": output("list<f32>", "soft"), "steps": output("list<f32>", "steps"),
            "curve": output("f32", "curve") },
        "nodes": {
            "head": { "type": "list.get", "set": { "outside": "wrap" },
                "in": { "list": from("all"), "index": 3 } },
            "joined": { "type": "list.concat", "in": { "lists": [from("moved"), from("all")] } },
            "longer": { "type": "list.insert",
                "in": { "list": from("joined"), "index": 5, "item": from("head") } },
            "other": { "type": "list.set", "set": { "outside": "wrap" },
                "in": { "list": from("longer"), "index": 9, "item": 2.5 } },
            "padded": { "type": "list.pad",
                "in": { "list": from("other"), "length": 150, "item": from("head") } },
            "rolled": { "type": "list.rolling", "set": { "how": how },
                "in": { "list": from("padded"), "size": 4 } },
            "soft": { "type": "list.smooth", "in": { "list": from("rolled"), "radius": 2 } },
            "steps": { "type": "list.differences", "in": { "list": from("picked") } },
            "length": { "type": "list.length", "in": { "list": from("all") } },
            "range": { "type": "list.range", "in": { "count": from("length") } },
            "ramp": { "type": "list.convert", "set": { "to": "f64" }, "in": { "list": from("range") } },
            "curve": { "type": "list.interpolate", "set": { "interpolation": shape, "beyond": beyond },
                "in": { "positions": from("ramp"), "values": from("all"), "at": { "input": "place" } } },
            "twice": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 2 } },
            "all": { "type": "list.collect", "in": { "value": from("twice") } },
            "y": { "type": "list.get", "set": { "outside": outside },
                "in": { "list": from("all"), "index": { "input": "at" } } },
            "moved": { "type": edit, "in": { "list": from("all") } },
            "places": { "type": "list.collect", "in": { "value": { "input": "at" } } },
            "picked": { "type": "list.pick", "set": { "outside": outside },
                "in": { "list": from("moved"), "indices": from("places") } },
            "sum": { "type": "list.sum", "in": { "list": from("picked") } },
            "z": { "type": "list.sample", "set": { "interpolation": shape, "beyond": beyond },
                "in": { "list": from("moved"), "position": { "input": "place" } } },
            "i": { "type": "context.index" },
            "w": { "type": "list.get", "in": { "list": from("picked"), "index": from("i") } } } })
    .to_string()
}

#[test]
fn live_graphs_answer_for_elements_that_read_others() {
    let scripts = (any::<u64>(), vec(deed(), 1..16), any::<u16>());
    let answered = play_many(&scripts, |(seed, script, settles)| {
        let start = gathering(seed);
        engine().load(start.as_bytes()).unwrap_or_else(|problems| panic!("{problems}"));
        play_elements(&start, &script, settles)
    });
    assert!(answered.n_live * 2 >= answered.n, "{answered:?}");
}
