//! Gathers in the incremental evaluator: after an edit of a column, only the elements run that read
//! what changed.

use std::collections::BTreeSet;

use millstream_base::{Column, Mask};
use millstream_ir::answer::{Answer, Fate};
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::{Evaluator, LogDetail, Plan, Request, StepOp};
use millstream_node::Data;
use millstream_run::Incremental;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::incremental::compare;
use super::lazy::plan;

/// The elements of the steps of a node type that ran.
fn elements(plan: &Plan, answer: &Answer, name: &str) -> u64 {
    let is_it = |op| matches!(op, StepOp::Call(id) if plan.instances[id].name() == name);
    let steps = plan.steps.iter().filter(|(_, step)| is_it(step.op));
    let entries = steps.map(|(step, _)| answer.log.entry(step).expect("it is logged"));
    entries.filter(|entry| matches!(entry.fate, Fate::Ran(_))).map(|entry| entry.elements).sum()
}

/// An evaluator whose answers are compared with those of another one without stored results.
struct Checked(Incremental);

impl Checked {
    fn new() -> Self {
        Self(Incremental::new().without_live_graph())
    }

    /// The elements of these node types that run.
    fn run<const K: usize>(
        &mut self,
        plan: &Plan,
        request: &Request,
        names: [&str; K],
    ) -> [u64; K] {
        let request = request.clone().with_log(LogDetail::Counts);
        let answer = self.0.evaluate(plan, &request).expect("it is answered");
        let [_, again] = compare(&mut self.0, plan, &request).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(again, 0, "nothing changed");
        names.map(|name| elements(plan, &answer, name))
    }
}

#[test]
fn of_many_elements_those_run_that_read_an_item_that_changes() {
    const N: usize = 100_000;
    let plan = plan(
        r#"n0 = input x: f32
        n1 = input at: i32
        n2 = input place: f64
        n3 = list.collect n0
        n4 = list.get{"outside": "wrap"} n3 n1
        n5 = list.sample n3 n2
        n6 = math.sin n4
        n7 = math.sqrt n5
        output sine n6
        output root n7"#,
    );
    let mut x: Vec<f32> = (0..N).map(|i| (i * i % 37) as f32 / 4.0).collect();
    // Each tenth item is read ten times, also from beyond the ends.
    let mut at: Vec<i32> = (0..N as i32).map(|i| i * 10 - 70).collect();
    let place: Vec<f64> = (0..N).map(|i| i as f64 * 0.25).collect();
    let mut checked = Checked::new();
    let mut run = |x: &[f32], at: &[i32]| {
        let request = Request::new().column("x", x.to_vec()).column("at", at.to_vec());
        let request = request.column("place", place.clone());
        let names = ["list.get", "list.sample", "math.sin", "math.sqrt"];
        checked.run(&plan, &request, names)
    };
    let n = N as u64;
    assert_eq!(run(&x, &at), [n; 4]);
    x[5000] += 1.0;
    assert_eq!(run(&x, &at), [10, 7, 10, 7]);
    // An index and an item at once; the readers of the item are other ones from then on.
    (at[3], x[20]) = (-80_000, x[20] + 1.0);
    assert_eq!(run(&x, &at), [11, 7, 11, 7]);
    x[20_000] += 1.0;
    assert_eq!(run(&x, &at), [11, 7, 11, 7]);
    // An item that nothing reads at an index, and one that is read only there.
    x[99_999] += 1.0;
    assert_eq!(run(&x, &at), [0; 4]);
    // All items, and another length.
    for x in &mut x {
        *x += 0.5;
    }
    assert_eq!(run(&x, &at)[..2], [n; 2]);
    x[17] = 3.0;
    assert_eq!(run(&x, &at)[0], 0);
    x.pop();
    at.pop();
    let request = Request::new().column("x", x).column("at", at).column("place", vec![0.0; N - 1]);
    assert_eq!(checked.run(&plan, &request, ["list.get"]), [n - 1]);
}

/// The points of an interpolation are not its list of items, so it runs as a whole if they change.
#[test]
fn a_list_that_decides_what_is_read_is_read_as_a_whole() {
    let plan = plan(
        "n0 = input x: f64
        n1 = input y: f32
        n2 = input at: f64
        n3 = list.collect n0
        n4 = list.collect n1
        n5 = list.interpolate n3 n4 n2
        output n5",
    );
    let mut x: Vec<f64> = (0..60).map(f64::from).collect();
    let mut y: Vec<f32> = (0..60).map(|i| (i * 7 % 5) as f32).collect();
    let at: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.5 + 0.25).collect();
    let mut checked = Checked::new();
    let mut run = |x: &[f64], y: &[f32]| {
        let request = Request::new().column("x", x.to_vec()).column("y", y.to_vec());
        checked.run(&plan, &request.column("at", at.clone()), ["list.interpolate"])
    };
    assert_eq!(run(&x, &y), [60]);
    y[10] = 9.0;
    assert_eq!(run(&x, &y), [4]);
    x[10] = 10.5;
    assert_eq!(run(&x, &y), [60]);
    // The result for the points before is still stored.
    (x[10], y[10]) = (10.0, 1.0);
    assert_eq!(run(&x, &y), [4]);
}

#[test]
fn lists_of_several_moments_are_told_apart() {
    let plan = plan(
        r#"n0 = input x: f32
        n1 = input at: i32
        n2 = context.time
        n3 = convert.to_f32 n2
        n4 = math.multiply n0 n3
        n5 = list.collect n4
        n6 = list.get{"outside": "clamp"} n5 n1
        output n6"#,
    );
    let mut x: Vec<f32> = (1..=40).map(|i| i as f32).collect();
    let at: Vec<i32> = (0..40).map(|i| i * 3).collect();
    let mut checked = Checked::new();
    let mut run = |x: &[f32], times: &[f64]| {
        let request = Request::new().column("x", x.to_vec()).column("at", at.clone());
        checked.run(&plan, &request.times(times.to_vec()), ["math.multiply", "list.get"])
    };
    assert_eq!(run(&x, &[0.5, 0.0, 2.0]), [120, 120]);
    // At the second moment the product is 0 before and after.
    x[12] = 90.0;
    assert_eq!(run(&x, &[0.5, 0.0, 2.0]), [3, 2]);
    // The last item is read from beyond the end.
    x[39] = 90.0;
    assert_eq!(run(&x, &[0.5, 0.0, 2.0]), [3, 2 * 27]);
    x[13] = 90.0;
    assert_eq!(run(&x, &[0.5, 0.0, 2.0]), [3, 0]);
}

#[test]
fn reductions_and_lists_of_elements_run_for_those_that_change() {
    let plan = plan(
        r#"n0 = input x: f32
        n1 = input k: i32
        n2 = context.time
        n3 = convert.to_f32 n2
        n4 = math.multiply n0 n3
        n5 = reduce.sum{"feature": "time"} n4
        n6 = context.index
        n7 = convert.to_f32 n6
        n8 = math.add n0 n7
        n9 = list.generate n8 n1
        n10 = list.sum n9
        n11 = math.add n5 n10
        output n11"#,
    );
    let mut x: Vec<f32> = (1..=400).map(|i| i as f32).collect();
    let mut k: Vec<i32> = (0..400).map(|i| i % 4).collect();
    let mut checked = Checked::new();
    let mut run = |x: &[f32], k: &[i32], times: &[f64]| {
        let request = Request::new().column("x", x.to_vec()).column("k", k.to_vec());
        let names = ["math.multiply", "reduce.sum", "list.generate", "list.sum"];
        checked.run(&plan, &request.times(times.to_vec()), names)
    };
    let times = [0.5, 0.0, 2.0];
    assert_eq!(run(&x, &k, &times), [1200, 400, 400, 400]);
    x[13] = 90.0;
    assert_eq!(run(&x, &k, &times), [3, 1, 1, 1]);
    // A list without items.
    x[16] = 90.0;
    assert_eq!(run(&x, &k, &times), [3, 1, 0, 0]);
    // Other moments, and then the first ones again.
    assert_eq!(run(&x, &k, &[0.5, 1.0, 2.0])[1..], [400, 0, 0]);
    x[17] = 91.0;
    assert_eq!(run(&x, &k, &times), [3, 1, 1, 1]);
    k[9] = 3;
    assert_eq!(run(&x, &k, &times)[..2], [0, 0]);
}

#[test]
fn only_requested_elements_run_and_an_index_outside_fails() {
    let plan = plan(
        "n0 = input x: f32
        n1 = input at: i32
        n2 = list.collect n0
        n3 = list.get n2 n1
        output n3",
    );
    let (mut x, mut at): (Vec<f32>, Vec<i32>) =
        ((0..64).map(|i| i as f32).collect(), (0..64).rev().collect());
    let mut checked = Checked::new();
    let request =
        |x: &[f32], at: &[i32]| Request::new().column("x", x.to_vec()).column("at", at.to_vec());
    let low = |request: Request| request.mask(Mask::range(0..32));
    assert_eq!(checked.run(&plan, &low(request(&x, &at)), ["list.get"]), [32]);
    // Only the second is read by an element that is requested.
    (x[5], x[50]) = (70.0, 71.0);
    assert_eq!(checked.run(&plan, &low(request(&x, &at)), ["list.get"]), [1]);
    assert_eq!(checked.run(&plan, &request(&x, &at), ["list.get"]), [32]);
    (x[5], x[50]) = (80.0, 81.0);
    assert_eq!(checked.run(&plan, &request(&x, &at), ["list.get"]), [2]);
    // It fails as without stored results, and then goes on.
    for index in [64, 7, -1, 9] {
        (at[9], x[7]) = (index, index as f32);
        compare(&mut checked.0, &plan, &request(&x, &at)).unwrap_or_else(|why| panic!("{why}"));
    }
    x[20] = 90.0;
    assert_eq!(checked.run(&plan, &request(&x, &at), ["list.get"]), [1]);
}

/// Results for other columns are stored too, and were made later.
#[test]
fn a_change_is_compared_with_the_result_that_was_used_last() {
    let plan = plan("n0 = input x: f32\nn1 = math.sin n0\noutput n1");
    let mut checked = Checked::new();
    let mut run = |x: Vec<f32>| checked.run(&plan, &Request::new().column("x", x), ["math.sin"])[0];
    let n = 20_000;
    let column = |k: usize| (0..n).map(|i| (i * (k + 1)) as f32).collect::<Vec<f32>>();
    for k in 0..8 {
        assert_eq!(run(column(k)), n as u64);
    }
    let mut first = column(0);
    assert_eq!(run(first.clone()), 0);
    first[5] = -1.0;
    assert_eq!(run(first), 1);
}

/// A node of a generated graph, which computes a column of numbers.
#[derive(Clone, Debug)]
struct Kind {
    /// The node type, among those of [`Graph::of`].
    which: u8,
    picks: [u8; 3],
}

/// Number of node types.
const KINDS: u8 = 11;

/// A change of the inputs.
#[derive(Clone, Debug)]
struct Change {
    kind: u8,
    at: [u16; 3],
}

/// What a node reads.
#[derive(Debug)]
enum Reads {
    /// The same element of other columns.
    Elements(Vec<usize>),
    /// Items of the list of all elements of a column, from before to after the position in another.
    Items { of: usize, at: usize, reach: [i64; 2], wraps: bool, backwards: bool },
    /// More than is worth telling here.
    More,
}

/// A graph, whose columns are numbered: first the inputs, then the nodes.
struct Graph {
    text: String,
    reads: Vec<Reads>,
}

const INPUTS: [&str; 4] = ["x", "y", "at", "place"];

impl Graph {
    fn of(kinds: &[Kind]) -> Self {
        let mut text = String::from(
            "n0 = input x: f32\nn1 = input y: f32\nn2 = input at: i32\nn3 = input place: f64\n\
             n4 = context.time\nn5 = convert.to_f32 n4\n",
        );
        let mut reads: Vec<Reads> = INPUTS.map(|_| Reads::More).into();
        // The node of each column, those with floats, and those with whole numbers.
        let (mut nodes, mut floats, mut wholes) = (vec![0, 1, 2, 3], vec![0, 1], vec![2]);
        let mut next = 6;
        let mut outputs = String::new();
        for Kind { which, picks } in kinds {
            let pick = |all: &[usize], i: usize| all[usize::from(picks[i]) % all.len()];
            let (a, b, at) = (pick(&floats, 0), pick(&floats, 1), pick(&wholes, 1));
            let (na, nb, nat) = (nodes[a], nodes[b], nodes[at]);
            let wraps = picks[2] % 2 == 0;
            let beyond = if wraps { "wrap" } else { "clamp" };
            let mut line = |line: &str| {
                text += &format!("n{next} = {line}\n");
                next += 1;
                next - 1
            };
            let (node, of) = match which % KINDS {
                0 => (line(&format!("math.add n{na} n{nb}")), Reads::Elements(vec![a, b])),
                1 => (line(&format!("math.sin n{na}")), Reads::Elements(vec![a])),
                2 => (line(&format!("math.multiply n{na} n5")), Reads::Elements(vec![a])),
                3 => {
                    let node = line(&format!("convert.to_i32 n{na}"));
                    (node, Reads::Elements(vec![a]))
                }
                4..=6 => {
                    let backwards = *which % KINDS == 6;
                    let mut list = line(&format!("list.collect n{na}"));
                    if backwards {
                        list = line(&format!("list.reverse n{list}"));
                    }
                    let set = format!("{{\"outside\": \"{beyond}\"}}");
                    let node = line(&format!("list.get{set} n{list} n{nat}"));
                    (node, Reads::Items { of: a, at, reach: [0, 0], wraps, backwards })
                }
                7 => {
                    let list = line(&format!("list.collect n{na}"));
                    let cubic = picks[2] % 4 < 2;
                    let (shape, reach) =
                        if cubic { ("cubic", [-1, 2]) } else { ("linear", [0, 1]) };
                    let set = format!(r#"{{"interpolation": "{shape}", "beyond": "{beyond}"}}"#);
                    let node = line(&format!("list.sample{set} n{list} n3"));
                    (node, Reads::Items { of: a, at: 3, reach, wraps, backwards: false })
                }
                8 => {
                    let condition = line(&format!("compare.less n{na} n1"));
                    let node = line(&format!("control.switch n{condition} n{na} n{nb}"));
                    // If other arms are taken than before, it runs as a whole.
                    (node, Reads::More)
                }
                9 => (line(&format!("time.shift n{na} n3")), Reads::More),
                _ => {
                    let list = line(&format!("list.collect n{na}"));
                    let sum = line(&format!("list.sum n{list}"));
                    (line(&format!("math.add n{nb} n{sum}")), Reads::More)
                }
            };
            let column = reads.len();
            if which % KINDS == 3 { &mut wholes } else { &mut floats }.push(column);
            nodes.push(node);
            reads.push(of);
            outputs += &format!("output o{column} n{node}\n");
        }
        Self { text: text + &outputs, reads }
    }
}

/// The inputs of a request.
#[derive(Clone)]
struct Inputs {
    columns: [Vec<f64>; 4],
    times: Vec<f64>,
    only: Option<usize>,
}

impl Inputs {
    fn new() -> Self {
        let of = |f: fn(i32) -> f64| (0..40).map(f).collect::<Vec<f64>>();
        let columns = [
            of(|i| f64::from(i * 7 % 11) / 4.0),
            of(|i| f64::from(i * 5 % 9) / 2.0),
            of(|i| f64::from(i * 3 - 20)),
            of(|i| f64::from(i) * 1.25 - 4.0),
        ];
        Self { columns, times: vec![1.5], only: None }
    }

    fn change(&mut self, change: &Change) {
        self.only = None;
        let n = self.columns[0].len();
        match change.kind {
            0 => {
                self.times = if self.times.len() == 1 { vec![0.5, 0.0, 2.0] } else { vec![1.5] };
            }
            1 => self.columns.iter_mut().for_each(|column| {
                column.pop();
            }),
            2 => self.only = Some(usize::from(change.at[0]) % n + 1),
            3 => self.columns[usize::from(change.at[0]) % 4].fill(f64::from(change.at[1] % 9)),
            4 => *self = Self { times: self.times.clone(), ..Self::new() },
            _ => {
                // One or more elements, in places that may be the same.
                for (k, at) in change.at.iter().enumerate().take(usize::from(change.kind) % 4 + 1) {
                    let at = usize::from(*at);
                    self.columns[(at + k) % 4][at / 4 % n] = (at % 13) as f64;
                }
            }
        }
    }

    fn request(&self) -> Request {
        let [x, y, at, place] = &self.columns;
        let floats = |of: &[f64]| of.iter().map(|x| *x as f32).collect::<Column>();
        let indices = at.iter().map(|x| *x as i32).collect::<Column>();
        let columns = [floats(x), floats(y), indices, Column::from_vec(place.clone())];
        let mut request = Request::new();
        for (name, column) in INPUTS.into_iter().zip(columns) {
            request = request.given(name, Given::Along(RequestAxis::Index, column));
        }
        let request = match &self.times[..] {
            [time] => request.time(*time),
            times => request.times(times.to_vec()),
        };
        match self.only {
            Some(n) => request.mask(Mask::range(0..n)),
            None => request,
        }
    }
}

/// The columns of a graph after an evaluation, in all cells.
type Columns = Vec<Vec<f64>>;

fn columns(inputs: &Inputs, answer: &Answer) -> Columns {
    let spread = |column: &Vec<f64>| inputs.times.iter().flat_map(|_| column.clone()).collect();
    let mut all: Columns = inputs.columns.iter().map(spread).collect();
    for output in &answer.outputs {
        let column = answer.full_column(output.value.as_ref().expect("nothing fails"));
        all.push(match (column.as_slice::<f32>(), column.as_slice::<i32>()) {
            (Some(floats), _) => floats.iter().map(|x| f64::from(*x)).collect(),
            (_, Some(wholes)) => wholes.iter().map(|x| f64::from(*x)).collect(),
            (None, None) => panic!("a column of numbers"),
        });
    }
    all
}

/// The cells that differ between two columns.
fn differing(old: &[f64], new: &[f64]) -> BTreeSet<usize> {
    (0..new.len()).filter(|i| old[*i].to_bits() != new[*i].to_bits()).collect()
}

impl Graph {
    /// How many cells of a column run at most after a change, if it is computed in `n_own` of all
    /// cells.
    fn most(
        &self,
        column: usize,
        (n_own, n): (usize, usize),
        (old, new): (&Columns, &Columns),
    ) -> usize {
        let n_cells = new[column].len();
        let few = |of: usize| {
            let changed = differing(&old[of], &new[of]);
            Some(changed).filter(|changed| changed.len() <= n_cells / 8)
        };
        let mut cells = BTreeSet::new();
        match &self.reads[column] {
            Reads::More => return n_own,
            Reads::Elements(all) => {
                for of in all {
                    let Some(changed) = few(*of) else { return n_own };
                    cells.extend(changed);
                }
            }
            Reads::Items { of, at, reach, wraps, backwards } => {
                let (Some(items), Some(moved)) = (few(*of), few(*at)) else { return n_own };
                cells.extend(moved);
                let last = n as i64 - 1;
                let inside = |item: i64| {
                    if *wraps { item.rem_euclid(n as i64) } else { item.clamp(0, last) }
                };
                for (cell, position) in new[*at].iter().enumerate() {
                    let at = inside(position.floor() as i64);
                    for item in (at + reach[0]..=at + reach[1]).map(inside) {
                        let item = if *backwards { last - item } else { item };
                        if items.contains(&(cell / n * n + item as usize)) {
                            cells.insert(cell);
                        }
                    }
                }
            }
        }
        if n_own < n_cells {
            cells = cells.into_iter().map(|cell| cell % n).collect();
        }
        if cells.len() > n_own / 2 { n_own } else { cells.len() }
    }
}

/// Follows changes of the inputs; returns the first problem. `counts` are the elements of gathers
/// that ran and of all gathers, where few ran at most.
fn follow(kinds: &[Kind], changes: &[Change], counts: &mut [u64; 2]) -> Result<(), String> {
    let graph = Graph::of(kinds);
    let plan = plan(&graph.text);
    let new = || Incremental::new().without_live_graph();
    // All columns, and the last one alone, also with short chunks.
    let (mut all, mut last) = (new(), [new(), new().chunks_from(2)]);
    let mut inputs = Inputs::new();
    let (mut before, mut had_parts): (Option<Columns>, bool) = (None, false);
    for i in 0..=changes.len() {
        let was = inputs.clone();
        if i > 0 {
            inputs.change(&changes[i - 1]);
        }
        let request = inputs.request().with_log(LogDetail::Counts);
        let name = &plan.outputs.last().expect("there are nodes").name;
        for evaluator in &mut last {
            let request = request.clone().output(name.to_string());
            compare(evaluator, &plan, &request).map_err(|why| format!("change {i}: {why}"))?;
        }
        let answer = all.evaluate(&plan, &request).map_err(|error| error.to_string())?;
        compare(&mut all, &plan, &request).map_err(|why| format!("change {i}: {why}"))?;
        let now = columns(&inputs, &answer);
        let n = inputs.columns[0].len();
        let has_same_cells = was.times == inputs.times && was.columns[0].len() == n;
        // Shifted in time, a node runs in several contexts.
        let is_counted = kinds.iter().all(|kind| kind.which % KINDS != 9);
        // A value may agree with one that was known in few cells, whose readers are then extended
        // instead of going on from the last result.
        had_parts |= inputs.only.is_some();
        let old = before.filter(|_| has_same_cells && !had_parts && is_counted);
        for (k, output) in answer.outputs.iter().enumerate() {
            let Some(old) = &old else { break };
            let n_own = match &output.value.as_ref().expect("nothing fails").data {
                Data::One(_) => 1,
                Data::Many(column) => column.len(),
            };
            let column = INPUTS.len() + k;
            let most = graph.most(column, (n_own, n), (old, &now)) as u64;
            let entry = answer.log.entry(plan.outputs[k].source.step).expect("it is logged");
            let ran = if let Fate::Ran(_) = entry.fate { entry.elements } else { 0 };
            if ran > most {
                return Err(format!("change {i}: {ran} elements of {column} run, not {most}"));
            }
            if matches!(graph.reads[column], Reads::Items { .. }) && most < n_own as u64 {
                *counts = [counts[0] + ran, counts[1] + n_own as u64];
            }
        }
        before = Some(now);
    }
    Ok(())
}

#[test]
fn only_readers_of_changed_items_run_in_generated_graphs() {
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = if std::env::var_os("PROPTEST_CASES").is_some() {
        TestRunner::new(config)
    } else {
        let config = Config { cases: 150, ..config };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    let kind = (0..KINDS, any::<[u8; 3]>()).prop_map(|(which, picks)| Kind { which, picks });
    let change = (0_u8..16, any::<[u16; 3]>()).prop_map(|(kind, at)| Change { kind, at });
    let counts = std::cell::Cell::new([0; 2]);
    let outcome = runner.run(&(vec(kind, 1..9), vec(change, 1..9)), |(kinds, changes)| {
        let mut counted = counts.get();
        let followed = follow(&kinds, &changes, &mut counted);
        counts.set(counted);
        followed.map_err(|why| TestCaseError::fail(format!("{why}\n{}", Graph::of(&kinds).text)))
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let [ran, all] = counts.get();
    assert!(all > 1000 && ran * 4 < all, "{ran} of {all} elements ran");
}
