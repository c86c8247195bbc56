//! Sessions over columns in which elements read other elements: those that read an element that
//! changed run alone, and have the values that plans give them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream::session::{Ask, Session};
use millstream::{
    Call, Column, Engine, Failure, Given, Lazy, NodeDef, RequestAxis, Type, Value, ValueType,
};
use millstream_ir::answer::Fate;
use millstream_ir::request::LogDetail;
use millstream_node::gather::{Gather, ItemsMade};
use millstream_node::{Function, Kernel};
use serde_json::{Value as Json, json};

const N: usize = 64;

/// A live session and one of plans, with the same settings.
struct Both {
    live: Session,
    plain: Session,
}

impl Both {
    fn new(document: &Json) -> Self {
        Self::with(&Engine::new(), document)
    }

    fn with(engine: &Engine, document: &Json) -> Self {
        let live = Session::open(engine, document.to_string().as_bytes()).expect("it opens");
        assert!(!live.problems().has_errors(), "{:?}", live.problems());
        let plain = Session::with_evaluator(engine, live.document().clone(), Lazy);
        Self { live, plain }
    }

    fn set<T: ValueType>(&mut self, name: &str, values: &[T]) {
        let column = Column::from_vec(values.to_vec());
        for session in [&mut self.live, &mut self.plain] {
            let given = Given::Along(RequestAxis::Index, column.clone());
            session.set_all([(name, given)]).expect("it fits");
        }
    }

    /// How many elements these nodes run for; all outputs are those of plans.
    fn run(&mut self, nodes: &[&str]) -> Vec<u64> {
        let expected = self.plain.eval(&Ask::all()).expect("it runs");
        let evaluated = self.live.eval(&Ask::all().with_log(LogDetail::Counts)).expect("it runs");
        assert!(expected.plan().is_some());
        assert!(evaluated.plan().is_none(), "a live graph answers");
        let values = |it: &millstream::Answer| format!("{:?}", it.outputs);
        assert_eq!(values(&evaluated.answer), values(&expected.answer));
        let runs = evaluated.runs();
        let elements = |node: &&str| {
            let of_node = runs.iter().filter(|run| run.path.to_string() == *node);
            let ran = of_node.filter(|run| matches!(run.entry.fate, Fate::Ran(_)));
            ran.map(|run| run.entry.elements).sum()
        };
        nodes.iter().map(elements).collect()
    }
}

fn from(node: &str) -> Json {
    json!({ "from": format!("{node}.value") })
}

fn output(ty: &str, node: &str) -> Json {
    json!({ "type": ty, "from": format!("{node}.value") })
}

fn items(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * i % 37) as f32 / 4.0).collect()
}

#[test]
fn readers_of_an_element_that_changes_run_alone() {
    let mut both = Both::new(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" }, "at": { "type": "i32" } },
        "outputs": { "y": output("f32", "y"), "between": output("f32", "between") },
        "nodes": {
            "all": { "type": "list.collect", "in": { "value": { "input": "x" } } },
            "get": { "type": "list.get", "set": { "outside": "wrap" },
                "in": { "list": from("all"), "index": { "input": "at" } } },
            "y": { "type": "math.multiply", "in": { "a": from("get"), "b": 2 } },
            "i": { "type": "context.index" },
            "number": { "type": "convert.to_f64", "in": { "x": from("i") } },
            "place": { "type": "math.multiply", "in": { "a": from("number"), "b": 0.75 } },
            "between": { "type": "list.sample", "in": { "list": from("all"), "position": from("place") } } } }));
    let (mut x, mut at) = (items(N), (0..N as i32).map(|i| i * 5 - 3).collect::<Vec<_>>());
    both.set("x", &x);
    both.set("at", &at);
    let nodes = ["get", "y", "between"];
    assert_eq!(both.run(&nodes), [N as u64; 3]);
    // Element 10 is read at one index, and at the positions 9.75 and 10.5.
    x[10] = 100.0;
    both.set("x", &x);
    assert_eq!(both.run(&nodes), [1, 1, 2]);
    // An index that changes runs too, and has other readers from then on.
    (x[20], at[7]) = (-4.0, 10);
    both.set("x", &x);
    both.set("at", &at);
    let ran = both.run(&nodes);
    assert_eq!(ran[..2], [2, 2]);
    x[10] = 50.0;
    both.set("x", &x);
    assert_eq!(both.run(&nodes)[..2], [2, 2]);
    // An element that most elements read.
    at.fill(30);
    both.set("at", &at);
    assert_eq!(both.run(&nodes)[0], N as u64);
    x[30] = 9.0;
    both.set("x", &x);
    assert_eq!(both.run(&nodes)[0], N as u64);
    // One that none reads any more.
    x[10] = 1.0;
    both.set("x", &x);
    assert_eq!(both.run(&nodes)[..2], [0, 0]);
    // Other numbers of elements.
    both.set("x", &items(N + 7));
    both.set("at", &[3; N + 7]);
    assert_eq!(both.run(&nodes)[0], N as u64 + 7);
}

#[test]
fn lists_copy_the_items_that_change() {
    const MANY: usize = 5000;
    let mut both = Both::new(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" }, "by": { "type": "i32", "default": 5 } },
        "outputs": { "y": output("f32", "y"), "sum": output("f32", "sum"), "part": output("list<f32>", "part") },
        "nodes": {
            "all": { "type": "list.collect", "in": { "value": { "input": "x" } } },
            "back": { "type": "list.reverse", "in": { "list": from("all") } },
            "round": { "type": "list.rotate", "in": { "list": from("back"), "steps": { "input": "by" } } },
            "part": { "type": "list.every", "in": { "list": from("round"), "start": 1, "step": 3 } },
            "sum": { "type": "list.sum", "in": { "list": from("round") } },
            "i": { "type": "context.index" },
            "get": { "type": "list.get", "in": { "list": from("round"), "index": from("i") } },
            "y": { "type": "math.sin", "in": { "x": from("get") } } } }));
    let mut x = items(MANY);
    both.set("x", &x);
    assert_eq!(both.run(&["get", "y"]), [MANY as u64; 2]);
    for at in [0, 17, 2500, MANY - 1] {
        x[at] += 3.0;
        both.set("x", &x);
        assert_eq!(both.run(&["get", "y"]), [1, 1]);
    }
    let by = |session: &mut Session| {
        session.set("by", -1).expect("it fits");
    };
    by(&mut both.live);
    by(&mut both.plain);
    assert_eq!(both.run(&["get"]), [MANY as u64]);
    x[17] += 3.0;
    x[18] += 3.0;
    both.set("x", &x);
    assert_eq!(both.run(&["get", "y"]), [2, 2]);
    // More than an eighth.
    x[..1000].fill(7.5);
    both.set("x", &x);
    assert_eq!(both.run(&["get"]), [MANY as u64]);
}

#[test]
fn an_index_outside_fails_and_recovers() {
    let mut both = Both::new(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" }, "at": { "type": "i32" } },
        "outputs": { "y": output("f32", "get") },
        "nodes": {
            "all": { "type": "list.collect", "in": { "value": { "input": "x" } } },
            "get": { "type": "list.get", "in": { "list": from("all"), "index": { "input": "at" } } } } }));
    let (mut x, mut at) = (items(N), (0..N as i32).rev().collect::<Vec<_>>());
    both.set("x", &x);
    both.set("at", &at);
    both.run(&["get"]);
    for (index, element) in [(N as i32, 3), (5, 4), (-1, 6), (6, 60)] {
        (at[9], x[element]) = (index, 70.0 + index as f32);
        both.set("x", &x);
        both.set("at", &at);
        if index == 5 || index == 6 {
            both.run(&["get"]);
        } else {
            let told = |session: &mut Session| {
                let answer = session.eval(&Ask::all()).expect("it runs").answer;
                let failures = answer.failures.iter();
                failures.map(|it| (it.message.clone(), it.cell.clone())).collect::<Vec<_>>()
            };
            assert_eq!(told(&mut both.live), told(&mut both.plain));
        }
    }
    x[2] = 90.0;
    both.set("x", &x);
    assert_eq!(both.run(&["get"]), [1]);
}

/// Lists of different lengths, one per element.
#[test]
fn lists_of_elements_that_change_run_alone() {
    let mut both = Both::new(&json!({ "millstream": 2,
        "inputs": { "n": { "type": "i32" } },
        "outputs": { "sum": output("f32", "sum"), "last": output("f32", "last"), "back": output("list<f32>", "back") },
        "nodes": {
            "list": { "type": "list.range", "in": { "count": { "input": "n" } } },
            "back": { "type": "list.reverse", "in": { "list": from("list") } },
            "sum": { "type": "list.sum", "in": { "list": from("back") } },
            "last": { "type": "list.get", "set": { "outside": "clamp" },
                "in": { "list": from("back"), "index": 1000 } } } }));
    let mut n: Vec<i32> = (0..N as i32).map(|i| i % 5 + 1).collect();
    both.set("n", &n);
    let nodes = ["list", "back", "sum", "last"];
    assert_eq!(both.run(&nodes), [N as u64; 4]);
    for (at, len) in [(7, 40), (7, 1), (N - 1, 3)] {
        n[at] = len;
        both.set("n", &n);
        assert_eq!(both.run(&nodes)[..3], [1, 1, 1]);
    }
}

/// Sums of neighboring items, which counts those that it computes one by one and all together.
#[derive(Default)]
struct Pairs {
    one_by_one: AtomicUsize,
    together: AtomicUsize,
}

struct CountedPairs(Arc<Pairs>);

impl Function for CountedPairs {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let sums: Vec<f32> = {
            let lists = call.lists(0);
            let items = lists.slice::<f32>(0).expect("it takes numbers");
            items.windows(2).map(|pair| pair[0] + pair[1]).collect()
        };
        self.0.together.fetch_add(sums.len(), Ordering::Relaxed);
        call.set_one(0, Value::List(Column::from_vec(sums)));
        Ok(())
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Items(self))
    }
}

impl ItemsMade for CountedPairs {
    fn readers_of(
        &self,
        call: &Call<'_>,
        _: usize,
        item: usize,
        visit: &mut dyn FnMut(Range<usize>),
    ) -> bool {
        let n = call.lists(0).n_items(0).saturating_sub(1);
        visit(item.saturating_sub(1)..(item + 1).min(n));
        true
    }

    fn items_at(&self, call: &Call<'_>, at: &[u32]) -> Result<Column, Failure> {
        self.0.one_by_one.fetch_add(at.len(), Ordering::Relaxed);
        let lists = call.lists(0);
        let items = lists.slice::<f32>(0).expect("it takes numbers");
        Ok(at.iter().map(|at| items[*at as usize] + items[*at as usize + 1]).collect())
    }
}

/// An engine with a node type that counts.
fn counting() -> (Engine, Arc<Pairs>) {
    let counted = Arc::new(Pairs::default());
    let of_node = Arc::clone(&counted);
    let numbers = || Type::F32.list().expect("one level");
    let def = NodeDef::new("test.pairs", "Sums of neighbors").input("list", numbers(), "");
    let def = def.output("value", numbers(), "");
    let kernel = move || Kernel::Function(Arc::new(CountedPairs(Arc::clone(&of_node))));
    let mut engine = Engine::new();
    engine.register(def.kernel(move |_| Ok(kernel())));
    (engine, counted)
}

#[test]
fn items_of_a_list_that_read_a_changed_item_are_computed_alone() {
    let (engine, counted) = counting();
    let mut both = Both::with(
        &engine,
        &json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" }, "at": { "type": "i32" } },
        "outputs": { "again": output("list<f32>", "again"), "y": output("f32", "y") },
        "nodes": {
            "all": { "type": "list.collect", "in": { "value": { "input": "x" } } },
            "indices": { "type": "list.collect", "in": { "value": { "input": "at" } } },
            "picked": { "type": "list.pick", "in": { "list": from("all"), "indices": from("indices") } },
            "longer": { "type": "list.concat", "in": { "lists": [from("picked"), { "value": [1, 2, 3] }] } },
            "pairs": { "type": "test.pairs", "in": { "list": from("longer") } },
            "again": { "type": "test.pairs", "in": { "list": from("pairs") } },
            "i": { "type": "context.index" },
            "get": { "type": "list.get", "in": { "list": from("again"), "index": from("i") } },
            "y": { "type": "math.sin", "in": { "x": from("get") } } } }),
    );
    let (mut x, mut at) = (items(N), (0..N as i32).rev().collect::<Vec<_>>());
    both.set("x", &x);
    both.set("at", &at);
    both.run(&["y"]);
    // The session of plans computes all of them each time.
    let whole = 2 * N + 3;
    let made = |both: &mut Both| {
        counted.together.store(0, Ordering::Relaxed);
        counted.one_by_one.store(0, Ordering::Relaxed);
        let n_run = both.run(&["y"])[0];
        assert_eq!(counted.together.load(Ordering::Relaxed), whole, "only the plan computes all");
        (counted.one_by_one.load(Ordering::Relaxed), n_run)
    };
    x[10] = 100.0;
    both.set("x", &x);
    assert_eq!(made(&mut both), (2 + 3, 3));
    at[20] = 10;
    both.set("at", &at);
    assert_eq!(made(&mut both), (2 + 3, 3));
    // The item is picked twice now, at 20 and at 53.
    x[10] = 50.0;
    both.set("x", &x);
    assert_eq!(made(&mut both), (4 + 6, 6));
    (x[0], at[5]) = (7.0, 1);
    both.set("x", &x);
    both.set("at", &at);
    assert_eq!(made(&mut both), (4 + 6, 6));
}

#[test]
fn interpolations_run_for_the_positions_around_a_value_that_changes() {
    let mut both = Both::new(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "y": output("f32", "y") },
        "nodes": {
            "all": { "type": "list.collect", "in": { "value": { "input": "x" } } },
            "range": { "type": "list.range", "in": { "count": N } },
            "ramp": { "type": "list.convert", "set": { "to": "f64" }, "in": { "list": from("range") } },
            "i": { "type": "context.index" },
            "number": { "type": "convert.to_f64", "in": { "x": from("i") } },
            "place": { "type": "math.multiply", "in": { "a": from("number"), "b": 0.75 } },
            "y": { "type": "list.interpolate",
                "in": { "positions": from("ramp"), "values": from("all"), "at": from("place") } } } }));
    let mut x = items(N);
    both.set("x", &x);
    assert_eq!(both.run(&["y"]), [N as u64]);
    for (at, n_readers) in [(10, 2), (30, 3), (N - 1, 0)] {
        x[at] += 20.0;
        both.set("x", &x);
        assert_eq!(both.run(&["y"]), [n_readers], "{at}");
    }
}
