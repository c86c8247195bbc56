//! Zones: nodes that run a group many times. Their kinds, settings and sockets, and how values pass
//! from one run to the next.

use std::fmt;
use std::sync::Arc;

use millstream_base::{Type, Value};
use serde_json::{Value as Json, json};

use crate::node_def::NodeDef;
use crate::settings::{Setting, SettingError, SettingKind, SettingValue, Settings};
use crate::signature::Default;

/// A kind of zone; a document writes it as the type of a node that has a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// Round by round.
    Repeat,
    /// Item by item of lists.
    ForEach,
    /// Tick by tick; carried values are state.
    Simulate,
}

/// Name of the socket with the number of rounds.
pub const COUNT: &str = "count";

/// Name of the socket that restarts a simulation.
pub const RESET: &str = "reset";

/// Name of the socket with the number of rounds per tick.
pub const SUBSTEPS: &str = "substeps";

/// An input of a zone that its group does not have.
#[derive(Clone, Copy, Debug)]
pub struct OwnInput {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub ty: Type,
    /// The value if nothing is linked; `None` if a link is required.
    pub default: Option<i32>,
    about: &'static str,
}

impl OwnInput {
    /// The default as a value of the type.
    pub fn default_value(&self) -> Option<Value> {
        let default = self.default?;
        Some(if self.ty == Type::BOOL { Value::Bool(default != 0) } else { Value::I32(default) })
    }
}

/// The meaning of an output of a repeat that its group does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The number of rounds that ran.
    Rounds,
    /// Whether the last round changed nothing.
    Settled,
}

impl Told {
    /// The name of the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Settled => "settled",
        }
    }

    /// Its type.
    pub fn ty(self) -> Type {
        match self {
            Self::Rounds => Type::I32,
            Self::Settled => Type::BOOL,
        }
    }
}

/// How values pass from one run of a group to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Course {
    /// For each output of the group the input that receives it in the next run.
    pub carries: Vec<Option<usize>>,
    /// The bool output that says whether to continue.
    pub go: Option<usize>,
    /// The kind of runs.
    pub mode: Mode,
}

/// The kind of runs of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Rounds of a repeat.
    Rounds {
        /// The input of the node with the number of rounds: one of the group's, or the one after
        /// them.
        count: usize,
        /// The tolerance within which a round counts as unchanged and ends the repeat, if it may.
        stable: Option<Tolerance>,
    },
    /// Items of lists.
    Items {
        /// The inputs that receive the items; ascending.
        items: Vec<usize>,
        /// The bool output that says which items the collected lists contain.
        keep: Option<usize>,
        /// The output by whose value the collected lists are sorted.
        by: Option<usize>,
    },
    /// Ticks of a document.
    Ticks {
        /// The input of the node that restarts the simulation.
        reset: usize,
        /// The input with the number of rounds per tick.
        substeps: usize,
    },
}

/// The greatest difference between lanes that count as equal; 0 compares bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tolerance(u64);

impl Tolerance {
    /// Bits are compared.
    pub const NONE: Self = Self(0);

    /// This difference; negative numbers and NaN compare bits.
    pub fn new(difference: f64) -> Self {
        Self(if difference > 0.0 { difference.to_bits() } else { 0 })
    }

    /// The difference.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl Mode {
    /// The kind of zone.
    pub fn zone(&self) -> Zone {
        match self {
            Self::Rounds { .. } => Zone::Repeat,
            Self::Items { .. } => Zone::ForEach,
            Self::Ticks { .. } => Zone::Simulate,
        }
    }

    /// Whether an input receives the items of a list.
    pub fn is_item(&self, input: usize) -> bool {
        matches!(self, Self::Items { items, .. } if items.contains(&input))
    }
}

impl Course {
    /// The type of an input of the node if the group's input has type `ty`; `None` if lists would
    /// be nested too deeply.
    pub fn outer_input(&self, input: usize, ty: Type) -> Option<Type> {
        if self.mode.is_item(input) { ty.list() } else { Some(ty) }
    }

    /// Whether the values of an output are collected in a list.
    pub fn collects(&self, output: usize) -> bool {
        self.mode.zone() == Zone::ForEach && self.carries[output].is_none()
    }

    /// The type of an output of the node if the group's output has type `ty`; `None` if lists would
    /// be nested too deeply.
    pub fn outer_output(&self, output: usize, ty: Type) -> Option<Type> {
        if self.collects(output) { ty.list() } else { Some(ty) }
    }

    /// The settings that describe the course, for a group with these inputs and outputs, without
    /// settings at their defaults.
    pub fn settings(&self, inputs: &[&str], outputs: &[&str]) -> Vec<(&'static str, Json)> {
        let mut settings = Vec::new();
        let mut name = |setting, output: Option<usize>| {
            settings.extend(output.map(|at| (setting, json!(outputs[at]))));
        };
        name("while", self.go);
        if let Mode::Items { keep, by, .. } = &self.mode {
            name("where", *keep);
            name("by", *by);
        }
        match &self.mode {
            Mode::Rounds { stable: Some(tolerance), .. } => {
                settings.push(("until", json!("stable")));
                if *tolerance != Tolerance::NONE {
                    settings.push(("tolerance", json!(tolerance.get())));
                }
            }
            Mode::Items { items, .. } => {
                let names: Vec<&str> = items.iter().map(|at| inputs[*at]).collect();
                settings.push(("items", json!(names)));
            }
            Mode::Rounds { stable: None, .. } | Mode::Ticks { .. } => {}
        }
        settings
    }
}

fn text(name: &'static str, about: &'static str) -> Setting {
    let default = Some(SettingValue::Text("".into()));
    Setting { name, kind: SettingKind::Text, default, about }
}

impl Zone {
    /// All kinds, in the order of the manual.
    pub const ALL: [Self; 3] = [Self::ForEach, Self::Repeat, Self::Simulate];

    /// The names of all kinds.
    pub const NAMES: [&str; 3] = ["for_each", "repeat", "simulate"];

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|zone| zone.name() == name)
    }

    /// The type of such nodes in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::ForEach => "for_each",
            Self::Simulate => "simulate",
        }
    }

    /// One run of the group, for messages.
    pub fn run(self) -> &'static str {
        match self {
            Self::Repeat => "round",
            Self::ForEach => "item",
            Self::Simulate => "tick",
        }
    }

    /// The inputs that such a node has besides those of its group, unless the group has an input of
    /// that name.
    pub fn own_inputs(self) -> &'static [OwnInput] {
        match self {
            Self::Repeat => &[OwnInput {
                name: COUNT,
                ty: Type::I32,
                default: None,
                about: "number of rounds, or the maximal number; negative counts as 0",
            }],
            Self::ForEach => &[],
            Self::Simulate => &[
                OwnInput {
                    name: RESET,
                    ty: Type::BOOL,
                    default: Some(0),
                    about: "whether to restart from the given values",
                },
                OwnInput {
                    name: SUBSTEPS,
                    ty: Type::I32,
                    default: Some(1),
                    about: "how often the group runs in a tick; negative counts as 0",
                },
            ],
        }
    }

    /// The inputs that such a node has after those of a group with these inputs.
    pub fn inputs_after<'n>(
        self,
        has: impl Fn(&str) -> bool + 'n,
    ) -> impl Iterator<Item = &'static OwnInput> + 'n {
        self.own_inputs().iter().filter(move |own| !has(own.name))
    }

    /// The outputs that such a node has after those of a group with these outputs.
    pub fn outputs_after<'n>(
        self,
        has: impl Fn(&str) -> bool + 'n,
    ) -> impl Iterator<Item = Told> + 'n {
        let all: &[Told] = match self {
            Self::Repeat => &[Told::Rounds, Told::Settled],
            Self::ForEach | Self::Simulate => &[],
        };
        all.iter().copied().filter(move |told| !has(told.name()))
    }

    /// The settings of such a node as documents write them.
    pub fn settings(self) -> Vec<Setting> {
        match self {
            Self::Repeat => vec![
                Setting {
                    name: "until",
                    kind: SettingKind::Choice(&[
                        ("count", "after `count` rounds"),
                        (
                            "stable",
                            "after a round that changes no carried value, but at most `count` \
                             rounds",
                        ),
                    ]),
                    default: Some(SettingValue::Text("count".into())),
                    about: "when it ends",
                },
                Setting {
                    name: "tolerance",
                    kind: SettingKind::Number,
                    default: Some(SettingValue::Number(0.0)),
                    about: "with `until` \"stable\": the difference up to which numbers count as \
                            unchanged; 0 compares bits",
                },
                text("while", "a bool output of the group: when it is false, no more rounds run"),
            ],
            Self::ForEach => vec![
                Setting {
                    name: "items",
                    kind: SettingKind::Texts,
                    default: None,
                    about: "the inputs of the group that receive the items of lists",
                },
                text(
                    "where",
                    "a bool output of the group: where it is false, collected lists lack \
                               the item",
                ),
                text(
                    "by",
                    "an output of the group, a number, bool or text, by which collected \
                            lists are sorted",
                ),
                text("while", "a bool output of the group: when it is false, no more items run"),
            ],
            Self::Simulate => Vec::new(),
        }
    }

    /// The settings that name outputs of the group.
    pub fn output_settings(self) -> &'static [&'static str] {
        match self {
            Self::Repeat => &["while"],
            Self::ForEach => &["where", "by", "while"],
            Self::Simulate => &[],
        }
    }

    /// The course that settings describe, for a group with these inputs and outputs.
    ///
    /// # Errors
    /// If a setting names something that the group lacks.
    pub fn course(
        self,
        settings: &Settings,
        inputs: &[&str],
        outputs: &[&str],
    ) -> Result<Course, SettingError> {
        let place = |among: &[&str], name: &str| among.iter().position(|known| *known == name);
        let output = |setting: &'static str| match settings.text(setting) {
            "" => Ok(None),
            name => match place(outputs, name) {
                Some(at) => Ok(Some(at)),
                None => Err(lacks(setting, "output", name, outputs)),
            },
        };
        let mut after = inputs.len();
        let mut own = |name: &str| {
            place(inputs, name).unwrap_or_else(|| {
                after += 1;
                after - 1
            })
        };
        let mode = match self {
            Self::Repeat => {
                let tolerance = settings.number("tolerance");
                if tolerance < 0.0 {
                    let message = format!("{tolerance} is negative; 0 compares bits");
                    return Err(SettingError::refused("tolerance", message));
                }
                let is_stable = settings.text("until") == "stable";
                if tolerance > 0.0 && !is_stable {
                    let message = "nothing is compared without \"until\": \"stable\"";
                    return Err(SettingError::refused("tolerance", message));
                }
                let stable = is_stable.then(|| Tolerance::new(tolerance));
                Mode::Rounds { count: own(COUNT), stable }
            }
            Self::ForEach => {
                let mut items = Vec::new();
                for name in settings.texts("items") {
                    let known = place(inputs, name);
                    items.push(known.ok_or_else(|| lacks("items", "input", name, inputs))?);
                }
                items.sort_unstable();
                items.dedup();
                if items.is_empty() {
                    let message = "it names no input of the group, so there are no items";
                    return Err(SettingError::refused("items", message));
                }
                Mode::Items { items, keep: output("where")?, by: output("by")? }
            }
            Self::Simulate => Mode::Ticks { reset: own(RESET), substeps: own(SUBSTEPS) },
        };
        let carried = |name: &&str| place(inputs, name).filter(|input| !mode.is_item(*input));
        let carries = outputs.iter().map(carried).collect();
        let go = if self == Self::Simulate { None } else { output("while")? };
        Ok(Course { carries, go, mode })
    }

    /// The node type as in the manual; its other inputs and outputs are those of the group.
    pub(crate) fn node_type(self) -> NodeDef {
        let (summary, details) = match self {
            Self::Repeat => ("A group, round by round", REPEAT_DETAILS),
            Self::ForEach => ("A group, item by item of lists", FOR_EACH_DETAILS),
            Self::Simulate => ("A group, tick by tick", SIMULATE_DETAILS),
        };
        let mut def = NodeDef::new(self.name(), summary).details(details);
        for own in self.own_inputs() {
            def = match own.default {
                None => def.input(own.name, own.ty, own.about),
                Some(0) => def.input_or(own.name, own.ty, Default::Zero, own.about),
                Some(value) => def.input_or(own.name, own.ty, f64::from(value), own.about),
            };
        }
        for told in self.outputs_after(|_| false) {
            let about = match told {
                Told::Rounds => "number of rounds that ran",
                Told::Settled => "with `until` \"stable\": whether the last round changed nothing",
            };
            def = def.output(told.name(), told.ty(), about);
        }
        let message = format!("a `{self}` is written with a group");
        let mut def = def.kernel(move |_| Err(SettingError::refused("group", message.clone())));
        def.settings = self.settings();
        def
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn lacks(setting: &str, what: &str, name: &str, known: &[&str]) -> SettingError {
    let name: String = name.chars().take(60).collect();
    let known: Vec<String> = known.iter().take(12).map(|name| format!("`{name}`")).collect();
    let known = if known.is_empty() { "none".into() } else { known.join(", ") };
    let message = format!("the group has no {what} called `{name}`; {what}s: {known}");
    SettingError::refused(setting, message)
}

/// The names and types of sockets.
pub type Sockets = Vec<(Arc<str>, Type)>;

const REPEAT_DETAILS: &str = "Written with the name of a group: {\"type\": \"repeat\", \"group\": \
     \"step\"}. The node has the inputs and outputs of the group, and the input `count` and the \
     outputs `rounds` and `settled` unless the group has sockets of these names.\n\nEach output of \
     the group is carried to the input of the same name and type in the next round; values of any \
     type can be carried. Other inputs are the same in all rounds. The node returns the carried \
     values after the last round or, without any round, the given ones. Each element runs its own \
     number of rounds.\n\nThe output named by `while` tells after each round whether to continue. \
     It need not be carried; then it counts as true before the first round. If it is carried and \
     given as false, no round runs. With `until` \"stable\" a round that changes no carried value \
     is the last one: numbers, items of lists, pixels of images and cells of tables may differ by \
     `tolerance` in each lane, other values are compared bit by bit. An element that does not settle within \
     `count` rounds keeps its last values, and `settled` is false.\n\nThe group reads the context \
     around the node; `context.iteration` is the number of the round, and one level higher that of \
     an enclosing repeat. A group must not have state, or read along an axis around the node \
     inside a scope. The limit `repeat_count` bounds the rounds.";

const FOR_EACH_DETAILS: &str = "Written with the name of a group: {\"type\": \"for_each\", \
     \"group\": \"body\", \"set\": {\"items\": [\"x\"]}}. The inputs named by `items` take lists \
     of equal length and pass their items to the group one by one. An output with the name and \
     type of another input is carried: that input receives it for the next item, and the node \
     returns its value after the last item or, without any item, the given one. The values of all \
     other outputs are collected in lists. All other inputs are the same for all items.\n\nWithout \
     carried outputs the node is a map, and all items of all elements run at once; with carried \
     outputs alone it is a fold; an output that returns a carried value under another name is a \
     scan. `where` filters the collected lists and `by` sorts them, ascending, equal items in the \
     order of the lists, NaN last; carried values see all items, in order. When the output named \
     by `while` is false, the current item is the last one: it counts, later ones do not \
     run.\n\nAll outputs are computed for all items that run. The group reads the context around \
     the node, but `context.index` is the position of the item in its list, and one level higher \
     that of the element around the node. A group must not have state, or read along an axis \
     around the node inside a scope. The limit `list_length` bounds the items.";

const SIMULATE_DETAILS: &str = "Written with the name of a group: {\"type\": \"simulate\", \
     \"group\": \"step\"}. The node has the inputs and outputs of the group, and the inputs \
     `reset` and `substeps` unless the group has inputs of these names.\n\nEach output of the \
     group has the name and type of an input: it is state, of any type, which the next tick \
     receives there. In the first tick, and in each tick in which `reset` is true, the node \
     returns the values linked to these inputs, and the group does not run. In all other ticks the \
     group runs `substeps` times, and the node returns the new state; the values linked to inputs \
     that are state are not computed. Other inputs have the values of the tick; \
     `context.iteration` is the number of the substep.\n\nThe length of a substep is computed around \
     the node and given to the group as an input `dt`, for example: `t = context.time()`, and `dt: \
     f64 = (t - state.delay(t)) / substeps` among the inputs of the node. That is the time since \
     the last tick, divided by the number of substeps. (Inside the group, `context.time` is the \
     time of the tick in all substeps.)\n\nThe group must not have other state. As with all \
     stateful nodes, ticks are evaluated in order from the document's `start_frame` on.";
