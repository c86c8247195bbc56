//! Keys depend on what a document means, not on how it is written, and two documents with different
//! results never share one.

use std::fmt::Write as _;

use super::simulations::Dice;
use super::*;
use crate::key::Key;

/// The frames that are baked.
const FRAMES: [i64; 4] = [0, 1, 2, 3];

/// The requested outputs.
const ASKED: [&str; 2] = ["first", "second"];

/// A document whose names are not chosen: `@7;` stands for the node at position 7, and `&0;` for the
/// name of a feature.
#[derive(Clone)]
struct Draft {
    nodes: Vec<String>,
    /// The requested outputs, followed by others.
    outputs: Vec<String>,
    /// The number that a repeat adds in each round.
    added: usize,
}

/// The nodes that read the context, which come first.
const BASES: [&str; 3] = [
    "convert.to_f32(context.time())",
    "convert.to_f32(context.tick())",
    "convert.to_f32(context.index())",
];

fn node(at: usize) -> String {
    format!("@{at};")
}

/// Reads features that the outputs provide.
const READS: [&str; 2] = [
    "context.feature(name = \"&0;\", type = \"f32\")",
    "convert.to_f32(context.feature(name = \"&1;\", type = \"f64\"))",
];

/// A value with these features.
fn provided(value: &str, dice: &mut Dice) -> String {
    let n = 1 + dice.below(3);
    let inner = format!(
        "context.with_feature({value}, feature: convert.to_f32(context.tick()), name = \"&0;\", \
         type = \"f32\")"
    );
    format!(
        "context.with_feature({inner}, feature: context.time() * {n}, name = \"&1;\", \
         type = \"f64\")"
    )
}

/// A sum of nodes at positions below `most`, and of a number.
fn sum(dice: &mut Dice, most: usize) -> String {
    let mut text = format!("{}", 1 + dice.below(3));
    for _ in 0..=dice.below(3) {
        let sign = ["+", "-", "*"][dice.below(3)];
        write!(text, " {sign} {}", node(dice.below(most))).expect("it is a string");
    }
    text
}

/// A node that evaluates one before it, in another context or not.
fn derived(dice: &mut Dice, most: usize) -> String {
    let [a, b] = [(); 2].map(|()| node(dice.below(most)));
    let n = 1 + dice.below(3);
    match dice.below(8) {
        0 | 1 => format!("list.sum(list.generate({a}, count: {n}))"),
        2 => format!("context.tick() > {n} ? {a} : {b}"),
        3 => format!("{a} > {n} ? {a} : {b}"),
        4 => format!("list.sum(list.generate({a}, count: convert.to_i32(math.modulo({b}, 3))))"),
        5 => format!("repeat step({a}, count: {n}).x"),
        6 => format!("time.shift({a}, by: {n})"),
        _ => sum(dice, most),
    }
}

/// A node with state that reads nodes at positions below `most`, of itself only the state before.
fn stateful(dice: &mut Dice, most: usize, has_features: bool) -> String {
    let (mut next, n) = (sum(dice, most), dice.below(2));
    if has_features && dice.below(2) == 0 {
        write!(next, " + {}", READS[dice.below(2)]).expect("it is a string");
    }
    match dice.below(4) {
        0 => format!("state.delay({next})"),
        1 => format!("state.integrate({next})"),
        _ => format!("state.feedback({next}, initial: {n}, type = \"f32\")"),
    }
}

fn draft(dice: &mut Dice) -> Draft {
    let mut nodes: Vec<String> = BASES.map(str::to_owned).into();
    let has_features = dice.below(3) == 0;
    // Two rounds: state that reads state in a scope has no end of contexts if it reads itself there.
    for _ in 0..2 {
        let (n_states, n_derived) = (dice.below(3), 1 + dice.below(2));
        let most = nodes.len() + n_states;
        nodes.extend((0..n_states).map(|_| stateful(dice, most, has_features)));
        for _ in 0..n_derived.min(10 - nodes.len()) {
            let before = nodes.len();
            nodes.push(derived(dice, before));
        }
    }
    let most = nodes.len();
    let outputs = (0..4).map(|_| {
        let value = derived(dice, most);
        // A zone stands alone in its statement.
        let is_alone = value.starts_with("repeat");
        if has_features && !is_alone { provided(&value, dice) } else { value }
    });
    let outputs = outputs.collect();
    Draft { nodes, outputs, added: 1 + dice.below(2) }
}

/// The draft with another number or another node somewhere.
fn changed(draft: &Draft, dice: &mut Dice) -> Draft {
    let mut draft = draft.clone();
    let n = draft.nodes.len();
    if dice.below(8) == 0 {
        draft.added += 1;
        return draft;
    }
    let at = BASES.len() + dice.below(n - BASES.len() + ASKED.len());
    let text = if at < n { &mut draft.nodes[at] } else { &mut draft.outputs[at - n] };
    let digits: Vec<usize> = text
        .char_indices()
        .filter(|(i, it)| it.is_ascii_digit() && text[..*i].ends_with([' ', '@', '(']))
        .map(|(i, _)| i)
        .collect();
    let digit = digits[dice.below(digits.len())];
    let is_node = text[..digit].ends_with('@');
    let other = if is_node { dice.below(at.min(n)) } else { 1 + dice.below(3) };
    text.replace_range(digit..=digit, &other.to_string());
    draft
}

/// How a draft is written.
struct Style {
    names: Vec<String>,
    features: [&'static str; 2],
    order: Vec<usize>,
    /// Whether the nodes that read the context are in a group of their own, or all nodes are.
    has_bases: bool,
    is_grouped: bool,
    /// The number of outputs, of which the first are requested.
    n_outputs: usize,
    is_reversed: bool,
}

fn shuffled(dice: &mut Dice, n: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    (1..n).for_each(|i| all.swap(i, dice.below(i + 1)));
    all
}

impl Style {
    fn plain(draft: &Draft) -> Self {
        let n = draft.nodes.len();
        Self {
            names: (0..n).map(|i| format!("n{i}")).collect(),
            features: ["wind", "rain"],
            order: (0..n).collect(),
            has_bases: false,
            is_grouped: false,
            n_outputs: ASKED.len(),
            is_reversed: false,
        }
    }

    fn any(draft: &Draft, dice: &mut Dice) -> Self {
        let n = draft.nodes.len();
        let letters = shuffled(dice, n);
        let letter = |i: &usize| char::from(b'a' + *i as u8);
        Self {
            names: letters.iter().map(|i| format!("{}{}", letter(i), 30 - i)).collect(),
            features: [["wind", "rain"], ["rain", "wind"], ["a", "zoo"]][dice.below(3)],
            order: shuffled(dice, n),
            has_bases: dice.below(3) == 0,
            is_grouped: dice.below(3) == 0,
            n_outputs: ASKED.len() + dice.below(draft.outputs.len() - ASKED.len() + 1),
            is_reversed: dice.below(2) == 0,
        }
    }

    fn text(&self, draft: &Draft) -> String {
        let name = |at: usize| {
            let is_base = self.has_bases && at < BASES.len();
            if is_base { format!("bases.b{at}") } else { self.names[at].clone() }
        };
        let named = |text: &str| {
            let mut text = text.to_owned();
            (0..draft.nodes.len()).for_each(|at| text = text.replace(&node(at), &name(at)));
            text.replace("&0;", self.features[0]).replace("&1;", self.features[1])
        };
        let mut lines: Vec<String> = Vec::new();
        let own = self.order.iter().filter(|at| !self.has_bases || **at >= BASES.len());
        lines.extend(own.map(|at| format!("{} = {}", self.names[*at], named(&draft.nodes[*at]))));
        if self.has_bases {
            lines.push("bases = context_of()".to_owned());
        }
        let outputs: Vec<(String, String)> = draft.outputs[..self.n_outputs]
            .iter()
            .enumerate()
            .map(|(i, text)| (ASKED.get(i).map_or(format!("o{i}"), |it| (*it).into()), named(text)))
            .collect();
        if self.is_grouped {
            let inner = outputs.iter().map(|(name, text)| format!("{name} = {text}"));
            let types = outputs.iter().map(|(name, _)| format!("{name}: f32"));
            let types = types.collect::<Vec<_>>().join(", ");
            lines.extend(inner);
            let body = lines.join("\n  ");
            lines = vec![format!("group all() -> ({types}) {{\n  {body}\n}}"), "a = all()".into()];
            lines.extend(outputs.iter().map(|(name, _)| format!("output {name}: f32 = a.{name}")));
        } else {
            lines.extend(outputs.iter().map(|(name, text)| format!("output {name}: f32 = {text}")));
        }
        let step = [
            "u = x * 0.5".to_owned(),
            "v = convert.to_f32(context.tick())".to_owned(),
            "w = convert.to_f32(context.time())".to_owned(),
            format!("x = u + v * w + w + {}", draft.added),
        ];
        let mut bases: Vec<String> = BASES.iter().map(|it| (*it).to_owned()).collect();
        bases.iter_mut().enumerate().for_each(|(i, it)| *it = format!("b{i} = {it}"));
        let mut step: Vec<String> = step.into();
        if self.is_reversed {
            step[..3].reverse();
            bases.reverse();
        }
        let (step, bases) = (step.join("\n  "), bases.join("\n  "));
        format!(
            "{}\ngroup step(x: f32) -> x: f32 {{\n  {step}\n}}\n\
             group context_of() -> (b0: f32, b1: f32, b2: f32) {{\n  {bases}\n}}\n",
            lines.join("\n")
        )
    }
}

/// The requested outputs of a text.
///
/// # Errors
/// If it is not a document, such as if nodes form a cycle.
fn program(engine: &Engine, text: &str) -> Result<Program, millstream::Error> {
    let program = engine.load(text.as_bytes())?;
    Ok(engine.only_outputs(program, &ASKED.map(str::to_owned)))
}

fn bake_of(program: &Program) -> Option<Bake<'_>> {
    let request = ASKED.iter().fold(Request::new().count(2), |all, name| all.output(*name));
    let mut bake = Bake::new(program.plan(), request, FRAMES.to_vec()).ok()?;
    // The state after each tick is stored.
    bake.gain = 0;
    Some(bake)
}

/// The keys of all frames.
fn keys(bake: &Bake<'_>) -> Vec<Option<Key>> {
    let mut keys = Vec::new();
    let mut cache = Cache::none();
    let mut note = |_, key| {
        keys.push(key);
        false
    };
    let done = bake.run(&mut cache, &mut Lazy, &mut note, &mut |_| Ok::<(), Infallible>(()));
    done.expect("it bakes");
    keys
}

#[test]
fn keys_depend_on_what_a_document_means_and_not_on_how_it_is_written() {
    let engine = Engine::new();
    let store = Store::new("meaning");
    let mut cache = store.open();
    let (mut n_alike, mut n_changed, mut n_state, mut n_named) = (0, 0, 0, 0);
    // In the last, a product is in one place the other way around.
    for seed in (0..400).chain([1560]) {
        let mut dice = Dice(seed);
        let draft = draft(&mut dice);
        let plain = Style::plain(&draft).text(&draft);
        let Ok(first) = program(&engine, &plain) else { continue };
        let Some(bake) = bake_of(&first) else { continue };
        let expected = keys(&bake);
        // Values that were stored under a key are those of each document with the key.
        agrees(&bake, &mut cache);
        let has_state = !first.plan().state_writers.is_empty();
        n_state += usize::from(has_state);
        n_named += usize::from(has_state && plain.contains("wind"));
        for _ in 0..4 {
            let text = Style::any(&draft, &mut dice).text(&draft);
            let again = program(&engine, &text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
            let bake = bake_of(&again).expect("it is the same request");
            assert_eq!(keys(&bake), expected, "seed {seed}:\n{plain}\n{text}");
            n_alike += 1;
        }
        for _ in 0..4 {
            let other = changed(&draft, &mut dice);
            let text = Style::plain(&other).text(&other);
            let Ok(other) = program(&engine, &text) else { continue };
            let Some(bake) = bake_of(&other) else { continue };
            agrees(&bake, &mut cache);
            n_changed += usize::from(keys(&bake) != expected);
        }
    }
    let counted = [n_alike, n_changed, n_state, n_named];
    assert!(counted.iter().zip([400, 400, 50, 10]).all(|(n, least)| *n > least), "{counted:?}");
}
