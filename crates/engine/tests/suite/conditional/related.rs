//! Generated documents with selectors that are computed from each other, against a model that tries
//! all values of the inputs.

use millstream::{Engine, Request};
use proptest::prelude::*;

use crate::callbacks::numbers;

/// The values of the inputs from which selectors are computed. `y` and `z` are only compared with
/// each other, and `x` only with numbers.
#[derive(Clone, Copy, Debug)]
struct Given {
    s: bool,
    t: bool,
    k: i32,
    x: Number,
    y: f64,
    z: f64,
}

#[derive(Clone, Copy, Debug)]
enum Number {
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
}

/// The numbers with which `x` is compared. Beside an `i32`, one with a point is an `f32`; beside an
/// `i64` it is an `f64`.
const NUMBERS: [&str; 7] =
    ["1", "1.5", "2.0", "16777216.0", "16777217", "9007199254740992.0", "9007199254740993"];

/// Values around all of these numbers, also after rounding.
fn values_of_x(x_type: &str) -> Vec<Number> {
    let near = [0, 1, 2, 3, 16_777_216, 16_777_217, 16_777_218];
    let middle: i64 = 1 << 53;
    let far = [middle - 1, middle, middle + 1, middle + 2];
    let floats = [
        0.5,
        1.0,
        1.2,
        1.5,
        1.7,
        2.0,
        3.0,
        16_777_216.0,
        16_777_216.5,
        16_777_217.0,
        1e9,
        middle as f64,
        1e17,
        f64::NAN,
    ];
    match x_type {
        "i32" => near.map(Number::I32).to_vec(),
        "i64" => near.map(i64::from).into_iter().chain(far).map(Number::I64).collect(),
        "f32" => floats.map(|x| Number::F32(x as f32)).to_vec(),
        _ => floats.map(Number::F64).to_vec(),
    }
}

fn all(x_type: &str) -> Vec<Given> {
    let xs = values_of_x(x_type);
    let pairs = [(0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (f64::NAN, 0.0)];
    let mut found = Vec::new();
    for s in [false, true] {
        for t in [false, true] {
            for k in [-2, 0, 1, 2, 7] {
                for x in &xs {
                    found.extend(pairs.map(|(y, z)| Given { s, t, k, x: *x, y, z }));
                }
            }
        }
    }
    found
}

/// How a document is written.
#[derive(Clone, Copy, Debug)]
struct Style {
    x_type: &'static str,
    /// The truth value `t`: an input, or a test of one.
    t: &'static str,
}

impl Style {
    /// Whether `compare.*` takes this number beside `x`, and compares as formulas do.
    fn is_for_nodes(self, number: &str) -> bool {
        match self.x_type {
            "i32" => ["1", "2.0", "16777217"].contains(&number),
            "i64" => ["1", "2.0", "16777217", "9007199254740993"].contains(&number),
            _ => true,
        }
    }
}

/// A selector of truth values.
#[derive(Clone, Debug)]
enum Selector {
    S,
    T,
    Not(Box<Selector>),
    /// Both, at least one, or exactly one.
    Two(u8, Box<Selector>, Box<Selector>),
    /// `c ? false : true` or `c ? true : false`.
    Choice(bool, Box<Selector>),
    /// Whether it equals a constant, or does not.
    Is(bool, bool, Box<Selector>),
    /// Compares `k` with a number.
    Index(u8, i32),
    /// Compares `x` with one of the numbers.
    Number(u8, usize),
    /// Compares `y` with `z`.
    Pair(u8),
}

const COMPARISONS: [(&str, &str, &str); 6] = [
    ("<", ">", "less"),
    ("<=", ">=", "less_equal"),
    (">", "<", "greater"),
    (">=", "<=", "greater_equal"),
    ("==", "==", "equal"),
    ("!=", "!=", "not_equal"),
];

fn compare<T: PartialOrd + Copy>(by: u8, a: T, b: T) -> bool {
    match by {
        0 => a < b,
        1 => a <= b,
        2 => a > b,
        3 => a >= b,
        4 => a == b,
        _ => a != b,
    }
}

impl Number {
    /// Whether a comparison with a number that is written so holds.
    fn compare(self, by: u8, text: &str) -> bool {
        let number: f64 = text.parse().expect("it is a number");
        match (self, text.parse::<i64>()) {
            (Self::I32(x), Ok(whole)) => compare(by, x.into(), whole),
            (Self::I64(x), Ok(whole)) => compare(by, x, whole),
            (Self::I32(x), Err(_)) => compare(by, x as f32, number as f32),
            (Self::I64(x), Err(_)) => compare(by, x as f64, number),
            (Self::F32(x), _) => compare(by, x, number as f32),
            (Self::F64(x), _) => compare(by, x, number),
        }
    }
}

impl Selector {
    fn holds(&self, of: &Given) -> bool {
        match self {
            Self::S => of.s,
            Self::T => of.t,
            Self::Not(a) => !a.holds(of),
            Self::Two(0, a, b) => a.holds(of) && b.holds(of),
            Self::Two(1, a, b) => a.holds(of) || b.holds(of),
            Self::Two(_, a, b) => a.holds(of) != b.holds(of),
            Self::Choice(yes, a) => a.holds(of) == *yes,
            Self::Is(value, equal, a) => (a.holds(of) == *value) == *equal,
            Self::Index(by, at) => compare(*by, of.k, *at),
            Self::Number(by, at) => of.x.compare(*by, NUMBERS[*at]),
            Self::Pair(by) => compare(*by, of.y, of.z),
        }
    }

    /// The selector in a formula.
    fn formula(&self, style: Style, turn: bool) -> String {
        let compared = |by: u8, a: &str, b: &str| {
            let (sign, turned, _) = COMPARISONS[usize::from(by)];
            if turn { format!("{b} {turned} {a}") } else { format!("{a} {sign} {b}") }
        };
        match self {
            Self::S => "s".into(),
            Self::T => style.t.into(),
            Self::Not(a) => format!("!({})", a.formula(style, turn)),
            Self::Two(by, a, b) => {
                let (a, b) = (a.formula(style, turn), b.formula(style, !turn));
                format!("({a}) {} ({b})", ["&&", "||", "!="][usize::from(*by)])
            }
            Self::Choice(yes, a) => format!("({}) ? {yes} : {}", a.formula(style, turn), !yes),
            Self::Is(value, equal, a) => {
                format!("({}) {} {value}", a.formula(style, turn), if *equal { "==" } else { "!=" })
            }
            Self::Index(by, at) => compared(*by, "k", &at.to_string()),
            Self::Number(by, at) => compared(*by, "x", NUMBERS[*at]),
            Self::Pair(by) => compared(*by, "y", "z"),
        }
    }

    /// The selector as calls of nodes.
    fn nodes(&self, style: Style, turn: bool) -> String {
        let compared = |by: u8, a: &str, b: &str| {
            let turned = [2, 3, 0, 1, 4, 5][usize::from(by)];
            let (by, a, b) = if turn { (turned, b, a) } else { (by, a, b) };
            format!("compare.{}({a}, {b})", COMPARISONS[usize::from(by)].2)
        };
        match self {
            Self::S => "s".into(),
            Self::T => style.t.into(),
            Self::Not(a) => format!("boolean.not({})", a.nodes(style, turn)),
            Self::Two(by, a, b) => {
                let (a, b) = (a.nodes(style, turn), b.nodes(style, !turn));
                format!("boolean.{}({a}, {b})", ["and", "or", "xor"][usize::from(*by)])
            }
            Self::Choice(yes, a) => {
                format!("control.switch({}, {}, {yes})", a.nodes(style, turn), !yes)
            }
            Self::Is(value, equal, a) => {
                let node = if value == equal { "xnor" } else { "xor" };
                format!("boolean.{node}({}, true)", a.nodes(style, turn))
            }
            Self::Index(by, at) => compared(*by, "k", &at.to_string()),
            Self::Number(by, at) if style.is_for_nodes(NUMBERS[*at]) => {
                compared(*by, "x", NUMBERS[*at])
            }
            Self::Number(..) => self.formula(style, turn),
            Self::Pair(by) => compared(*by, "y", "z"),
        }
    }
}

fn selector() -> impl Strategy<Value = Selector> {
    let leaf = prop_oneof![
        2 => Just(Selector::S),
        1 => Just(Selector::T),
        2 => (0_u8..6, 0..3).prop_map(|(by, at)| Selector::Index(by, at)),
        4 => (0_u8..6, 0..NUMBERS.len()).prop_map(|(by, at)| Selector::Number(by, at)),
        2 => (0_u8..6).prop_map(Selector::Pair),
    ];
    leaf.prop_recursive(3, 6, 2, |inner| {
        let boxed = move || inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed().prop_map(Selector::Not),
            (0_u8..3, boxed(), boxed()).prop_map(|(by, a, b)| Selector::Two(by, a, b)),
            (any::<bool>(), boxed()).prop_map(|(yes, a)| Selector::Choice(yes, a)),
            (any::<bool>(), any::<bool>(), boxed()).prop_map(|(v, e, a)| Selector::Is(v, e, a)),
        ]
    })
}

/// The inputs of a document, as a group takes them.
const GIVEN: &str = "s, t, k, x, y, z, v, u";

/// A node: the sum of a source and 1, or a choice.
#[derive(Clone, Debug)]
enum Made {
    Add(usize),
    /// The way in which it is written, the selector, and the sources of its arms.
    Switch(u8, Selector, [usize; 2]),
    Choose([usize; 3]),
}

/// The source of this number is a node, or else the input `w`.
#[derive(Clone, Debug)]
struct Generated {
    style: Style,
    nodes: Vec<Made>,
}

impl Made {
    /// The source that counts.
    fn reads(&self, of: &Given) -> usize {
        match self {
            Self::Add(a) => *a,
            Self::Switch(_, selector, arms) => arms[usize::from(selector.holds(of))],
            Self::Choose(arms) => arms[of.k.clamp(0, 2) as usize],
        }
    }

    fn text(&self, style: Style, (i, n): (usize, usize)) -> String {
        let name = |at: &usize| if *at < n { format!("n{at}") } else { "w".into() };
        let turn = i % 2 == 1;
        match self {
            Self::Add(a) => format!("n{i} = {} + 1\n", name(a)),
            Self::Choose(arms) => {
                let [a, b, c] = [0, 1, 2].map(|at| name(&arms[at]));
                format!("n{i} = control.choose(k, [{a}, {b}, {c}])\n")
            }
            Self::Switch(form, selector, [no, yes]) => {
                let (no, yes) = (name(no), name(yes));
                let (formula, nodes) = (selector.formula(style, turn), selector.nodes(style, turn));
                match form {
                    0 => format!("n{i} = control.switch({nodes}, {no}, {yes})\n"),
                    1 => format!("c{i} = {formula}\nn{i} = control.switch(c{i}, {no}, {yes})\n"),
                    2 => format!("n{i} = ({formula}) ? {yes} : {no}\n"),
                    3 => format!("c{i} = {nodes}\nn{i} = c{i} ? {yes} : {no}\n"),
                    4 => format!("c{i} = {formula}\nn{i} = pick(c{i}, {no}, {yes})\n"),
                    5 => format!("c{i} = select{i}({GIVEN})\nn{i} = c{i} ? {yes} : {no}\n"),
                    _ => format!("n{i} = inside{i}({GIVEN}, {no}, {yes})\n"),
                }
            }
        }
    }

    /// The groups that the node uses. They take all inputs of the document.
    fn groups(&self, style: Style, i: usize) -> String {
        let Self::Switch(form, selector, _) = self else { return String::new() };
        let turn = i % 2 == 1;
        let (formula, nodes) = (selector.formula(style, turn), selector.nodes(style, turn));
        let x = style.x_type;
        let inputs = format!("s: bool, t: bool, k: i32, x: {x}, y: f32, z: f32, v: f64, u: i32");
        let select =
            format!("group select{i}({inputs}) -> value: bool {{\nvalue = {formula}\n}}\n");
        let inside = match form {
            5 => return select,
            6 => format!("value = ({formula}) ? yes : no\n"),
            7 => format!("c = {nodes}\nvalue = control.switch(c, no, yes)\n"),
            8 => format!("c = select{i}({GIVEN})\nvalue = pick(c, no, yes)\n"),
            _ => return String::new(),
        };
        let select = if *form == 8 { select } else { String::new() };
        format!(
            "group inside{i}({inputs}, no: f32, yes: f32) -> value: f32 {{\n{inside}}}\n{select}"
        )
    }
}

impl Generated {
    fn text(&self) -> String {
        let n = self.nodes.len();
        let nodes: String =
            self.nodes.iter().enumerate().map(|(i, it)| it.text(self.style, (i, n))).collect();
        let outputs = (0..n).map(|i| format!("output n{i}: f32 = n{i}\n"));
        let outputs = outputs.collect::<Vec<_>>().concat();
        let x = self.style.x_type;
        let groups = self.nodes.iter().enumerate().map(|(i, it)| it.groups(self.style, i));
        let groups = groups.collect::<Vec<_>>().concat();
        format!(
            "input s: bool = false\ninput t: bool = false\ninput k: i32 = 0\ninput x: {x} = 0\n\
             input y: f32 = 0\ninput z: f32 = 0\ninput v: f64 = 0\ninput u: i32 = 0\n\
             input w: f32 = 3\n{nodes}{outputs}\
             group pick(c: bool, no: f32, yes: f32) -> value: f32 {{\n\
             value = control.switch(c, no, yes)\n}}\n{groups}"
        )
    }

    /// The values of the nodes; `None` if some of them depend on themselves.
    fn values(&self, of: &Given) -> Option<Vec<f32>> {
        let n = self.nodes.len();
        let value = |mut at: usize| {
            let mut sum = 3.0;
            for _ in 0..=n {
                let Some(node) = self.nodes.get(at) else { return Some(sum) };
                sum += if let Made::Add(_) = node { 1.0 } else { 0.0 };
                at = node.reads(of);
            }
            None
        };
        (0..n).map(value).collect()
    }
}

/// Documents in which the nodes have one of three orders, as a selector and `k` say. Arms read nodes
/// that are earlier in each order which they may meet; in some documents, one arm reads any node.
fn generated() -> impl Strategy<Value = Generated> {
    let n = 5_usize;
    let node = (0_u8..8, 0_u8..9, selector(), any::<bool>(), [0_usize..100, 0..100, 0..100]);
    let orders = prop::collection::vec(prop::collection::vec(any::<u16>(), n), 3);
    let loose = (prop::bool::weighted(0.4), 0..n, 0..n);
    let all_nodes = prop::collection::vec(node, n);
    let style = (
        prop::sample::select(vec!["f32", "f64", "i32", "i64"]),
        prop::sample::select(vec!["t", "is_nan(v)", "bool(u)"]),
    );
    let style = style.prop_map(|(x_type, t)| Style { x_type, t });
    (style, selector(), all_nodes, orders, loose).prop_map(
        move |(style, main, nodes, orders, loose)| {
            let all = all(style.x_type);
            let earlier = |i: usize, j: usize, of: &Given| {
                let order = if main.holds(of) { 0 } else { 1 + usize::from(of.k >= 1) };
                (orders[order][j], j) < (orders[order][i], i)
            };
            let arm = |i: usize, at: usize, meets: &dyn Fn(&Given) -> bool| {
                let fits =
                    |j: &usize| all.iter().filter(|of| meets(of)).all(|of| earlier(i, *j, of));
                let fitting: Vec<usize> = (0..n).filter(|j| *j != i && fits(j)).collect();
                if fitting.is_empty() { n } else { fitting[at % fitting.len()] }
            };
            let made = nodes.iter().enumerate().map(|(i, (kind, form, own, is_main, at))| {
                let selector = match (*is_main, kind % 2) {
                    (true, 0) => main.clone(),
                    (true, _) => Selector::Not(Box::new(main.clone())),
                    (false, _) => own.clone(),
                };
                match kind {
                    0 => Made::Add(arm(i, at[0], &|_| true)),
                    1 => {
                        let at =
                            [0, 1, 2].map(|k| arm(i, at[k as usize], &|of| of.k.clamp(0, 2) == k));
                        Made::Choose(at)
                    }
                    _ => {
                        let no = arm(i, at[0], &|of| !selector.holds(of));
                        let yes = arm(i, at[1], &|of| selector.holds(of));
                        Made::Switch(*form, selector, [no, yes])
                    }
                }
            });
            let mut nodes: Vec<Made> = made.collect();
            if let (true, i, j) = loose
                && let Made::Switch(.., arms) = &mut nodes[i]
            {
                arms[j % 2] = j;
            }
            Generated { style, nodes }
        },
    )
}

/// Whether some nodes depend on themselves if all arms count.
fn is_cyclic(nodes: &[Made]) -> bool {
    let mut left: Vec<usize> = (0..nodes.len()).collect();
    loop {
        let waits = |i: &usize| match &nodes[*i] {
            Made::Add(a) => left.contains(a),
            Made::Switch(.., arms) => arms.iter().any(|arm| left.contains(arm)),
            Made::Choose(arms) => arms.iter().any(|arm| left.contains(arm)),
        };
        let next: Vec<usize> = left.iter().copied().filter(waits).collect();
        if next.len() == left.len() {
            return !left.is_empty();
        }
        left = next;
    }
}

fn column<T>(all: &[Given], value: impl Fn(Number) -> T) -> Vec<T> {
    all.iter().map(|of| value(of.x)).collect()
}

#[test]
fn documents_are_refused_exactly_if_a_cycle_closes_for_some_values() {
    let config = ProptestConfig { cases: 800, failure_persistence: None, ..Default::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let (n_broken, n_refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let result = runner.run(&generated(), |made| {
        let (engine, text) = (Engine::new(), made.text());
        let all = all(made.style.x_type);
        let values: Option<Vec<Vec<f32>>> = all.iter().map(|of| made.values(of)).collect();
        let loaded = engine.load(text.as_bytes());
        let Some(values) = values else {
            let error = loaded.err().map(|error| error.to_string());
            let is_told = error.as_ref().is_some_and(|error| error.contains("form a cycle"));
            prop_assert!(is_told, "{error:?}: {text}");
            n_refused.set(n_refused.get() + 1);
            return Ok(());
        };
        let refused = loaded.err().map(|error| error.to_string());
        prop_assert_eq!(refused, None, "{}", text);
        if !is_cyclic(&made.nodes) {
            return Ok(());
        }
        n_broken.set(n_broken.get() + 1);
        let request = Request::new()
            .column("s", all.iter().map(|of| of.s).collect::<Vec<_>>())
            .column("t", all.iter().map(|of| of.t).collect::<Vec<_>>())
            .column("k", all.iter().map(|of| of.k).collect::<Vec<_>>())
            .column("y", all.iter().map(|of| of.y as f32).collect::<Vec<_>>())
            .column("z", all.iter().map(|of| of.z as f32).collect::<Vec<_>>());
        let request =
            request.column("u", all.iter().map(|of| i32::from(of.t)).collect::<Vec<_>>()).column(
                "v",
                all.iter().map(|of| if of.t { f64::NAN } else { 0.0 }).collect::<Vec<_>>(),
            );
        let request =
            match made.style.x_type {
                "i32" => request
                    .column("x", column(&all, |x| if let Number::I32(x) = x { x } else { 0 })),
                "i64" => request
                    .column("x", column(&all, |x| if let Number::I64(x) = x { x } else { 0 })),
                "f32" => request
                    .column("x", column(&all, |x| if let Number::F32(x) = x { x } else { 0.0 })),
                _ => request
                    .column("x", column(&all, |x| if let Number::F64(x) = x { x } else { 0.0 })),
            };
        for i in 0..made.nodes.len() {
            let expected: Vec<f32> = values.iter().map(|values| values[i]).collect();
            let found = numbers(&engine, &text, &request, &format!("n{i}"));
            prop_assert_eq!(&found, &expected, "n{} of {}", i, text);
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(n_broken.get() >= 40, "only {} have conditional cycles", n_broken.get());
    assert!(n_refused.get() >= 20, "only {} are refused", n_refused.get());
}

/// Documents of the same nodes, of which all are accepted or all refused.
fn all_are(accepted: bool, documents: &[&str]) {
    for text in documents {
        let error = Engine::new().load(text.as_bytes()).err().map(|error| error.to_string());
        let is_cycle = error.as_ref().is_some_and(|error| error.contains("form a cycle"));
        let fits = if accepted { error.is_none() } else { is_cycle };
        assert!(fits, "{error:?}: {text}");
    }
}

#[test]
fn nodes_and_formulas_compare_integers_with_fractions_in_types_of_their_own() {
    all_are(
        true,
        &[
            "input i: i32 = 1\na = i < 1.5 ? 1 : b\nb = control.choose(i, [a, a, 4])\n\
             output a: f32 = a\n",
            "input i: i32 = 1\na = i == 16777216.0 ? 1 : b\nb = i == 16777217 ? a : 3\n\
             output a: f32 = a\n",
            "input l: i64 = 1\na = l > 1.0 ? 1 : b\nt = compare.greater(l, 1.0)\n\
             b = t ? a : 3\noutput a: f64 = a\n",
            "input i: i32 = 1\na = i < nan ? b : 1\nb = i < inf ? 3 : a\noutput a: f32 = a\n",
        ],
    );
    all_are(
        false,
        &[
            "input i: i32 = 1\na = i == 16777216.0 ? b : 1\nb = i == 16777217 ? a : 3\n\
             output a: f32 = a\n",
            "input i: i32 = 1\na = i == 16777216.0 ? b : 1\nt = compare.equal(i, 16777216.0)\n\
             b = t ? 3 : a\noutput a: f32 = a\n",
            "input l: i64 = 1\na = l == 9007199254740993 ? b : 1.5\n\
             t = compare.equal(l, 9007199254740992)\nb = t ? 3.5 : a\noutput a: f32 = a\n",
        ],
    );
}

#[test]
fn nodes_and_formulas_that_compare_in_different_types_are_not_related() {
    all_are(
        false,
        &[
            "input c: color = [1, 0, 0, 0.5]\ninput v: vec3 = [1, 0, 0]\na = c == v ? b : 1\n\
             t = compare.equal(c, v)\nb = t ? 3 : a\noutput b: f32 = b\n",
            "input i: i32 = 3\ninput f: f32 = 1.25\na = i / 2 > f ? b : 1\n\
             t = !compare.greater(i / 2, f)\nb = t ? a : 3\noutput b: f32 = b\n",
        ],
    );
}

#[test]
fn calls_that_give_truth_values_select() {
    all_are(
        true,
        &[
            "input d: f64 = 1\nt = is_nan(d)\na = t ? b : 1\nb = t ? 3 : a\noutput a: f32 = a\n",
            "input i: i32 = 1\nt = (bool(i))\na = t ? b : 1\nb = bool(i) ? 3 : a\n\
             output a: f32 = a\n",
            "input d: f64 = 1\nt = (compare.is_nan(d))\na = t ? b : 1\nb = t ? 3 : a\n\
             output a: f32 = a\n",
            "input d: f64 = 1\na = is_nan(d) ? b : 1\nt = !is_nan(d)\nb = t ? a : 3\n\
             output a: f32 = a\n",
        ],
    );
    all_are(
        false,
        &["input d: f64 = 1\ninput f: f64 = 1\na = is_nan(d) ? b : 1\nt = is_nan(f)\n\
           b = t ? 3 : a\noutput a: f32 = a\n"],
    );
}
