//! The colors of nodes in pictures: by class, by what a node varies with, or as a heat map of the
//! last run.

use std::time::Duration;

use millstream_node::Class;

use super::{Explanation, Fate, Node};

/// The color of nodes that do not run.
const IDLE: &str = "#eceef1";

/// The colors of a heat map, from low to high.
const RAMP: [&str; 6] = ["#fdf3d0", "#fbdc94", "#f9bd68", "#f29755", "#e2705a", "#cc5468"];

/// The upper ends of the colors of the ramp but the last, as shares of the time of all nodes in
/// percent.
const SHARES: [u32; 5] = [1, 5, 10, 25, 50];

/// The meaning of the colors of nodes in a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coloring {
    /// The class: how often the result can change.
    #[default]
    Class,
    /// The inputs and context features with which the node varies, a stripe for each.
    Context,
    /// The number of elements that the node computed in the explained evaluation.
    Runs,
    /// The share of the node in the time of the explained evaluation.
    Time,
}

impl Coloring {
    /// Whether the coloring needs an explanation of an evaluation.
    pub fn is_of_run(self) -> bool {
        matches!(self, Self::Runs | Self::Time)
    }
}

/// A color with its meaning.
pub(super) type Entry = (&'static str, String);

/// The colors of the nodes of one explanation.
pub(super) struct Painter {
    coloring: Coloring,
    /// The maximal number of elements of a node.
    most: u64,
    /// The upper ends of the colors of the ramp, as numbers of elements: powers of one base, the
    /// last at least the maximal number.
    edges: [u64; RAMP.len()],
    /// The time of all nodes.
    total: Duration,
}

impl Painter {
    pub(super) fn new(explanation: &Explanation, coloring: Coloring) -> Self {
        let runs = || explanation.nodes.iter().filter_map(|node| node.run);
        let most = runs().map(|entry| entry.elements).max().unwrap_or(0);
        let last = RAMP.len() - 1;
        let base = (most.max(2) as f64).powf(1.0 / last as f64).max(2.0);
        let mut edges = std::array::from_fn(|i| base.powi(i as i32).round() as u64);
        edges[last] = edges[last].max(most);
        Self { coloring, most, edges, total: runs().map(|entry| entry.time).sum() }
    }

    /// The colors of a node, at least one.
    pub(super) fn colors(&self, node: &Node) -> Vec<&'static str> {
        let is_there = match node.fate {
            Fate::Kept | Fate::Scoped(_) | Fate::As(_) => true,
            Fate::Constant(_)
            | Fate::SameAs(_)
            | Fate::Replaced(_)
            | Fate::Resolved(_)
            | Fate::Unread => false,
        };
        if !is_there {
            return vec![IDLE];
        }
        match self.coloring {
            Coloring::Class => vec![class_color(node.class)],
            Coloring::Context => varies_with(node).iter().map(|name| feature_color(name)).collect(),
            Coloring::Runs | Coloring::Time => vec![self.heat(node).unwrap_or(IDLE)],
        }
    }

    /// The color of a node by its work in the explained evaluation; `None` if it did not run.
    fn heat(&self, node: &Node) -> Option<&'static str> {
        let run = node.run.filter(|entry| entry.fate.ran() && entry.elements > 0)?;
        let step = if self.coloring == Coloring::Runs {
            let step = self.edges.iter().position(|edge| run.elements <= *edge);
            step.unwrap_or(RAMP.len() - 1)
        } else {
            let share = 100.0 * run.time.as_secs_f64() / self.total.as_secs_f64().max(1e-12);
            let step = SHARES.iter().position(|percent| share <= f64::from(*percent));
            step.unwrap_or(RAMP.len() - 1)
        };
        Some(RAMP[step])
    }

    /// The meanings of the colors.
    pub(super) fn legend(&self, explanation: &Explanation) -> Vec<Entry> {
        let mut legend: Vec<Entry> = match self.coloring {
            Coloring::Class => {
                let classes = [
                    Class::Static,
                    Class::UserInput,
                    Class::Contextual,
                    Class::Stateful,
                    Class::Volatile,
                ];
                classes.map(|class| (class_color(class), class.name().to_owned())).into()
            }
            Coloring::Context => {
                let mut names: Vec<String> =
                    explanation.nodes.iter().flat_map(varies_with).collect();
                names.sort_by_key(|name| (rank(name), name.clone()));
                names.dedup();
                names.into_iter().map(|name| (feature_color(&name), name)).collect()
            }
            Coloring::Runs => {
                let n = 1 + self.edges.iter().position(|n| *n >= self.most).unwrap_or(0);
                let edges = &self.edges[..n];
                let text = |n: &u64| match n {
                    1 => "1 element".to_owned(),
                    n => format!("up to {n}"),
                };
                RAMP.into_iter().zip(edges.iter().map(text)).collect()
            }
            Coloring::Time => {
                let up_to = SHARES.iter().map(|percent| format!("up to {percent} %"));
                let more = format!("more, of {}", super::short(self.total));
                RAMP.into_iter().zip(up_to.chain([more])).collect()
            }
        };
        legend.push((IDLE, "does not run".into()));
        legend
    }
}

fn class_color(class: Class) -> &'static str {
    match class {
        Class::Static => "#cfd8e3",
        Class::UserInput => "#a9cbf2",
        Class::Contextual => "#f6cf86",
        Class::Stateful => "#d3b5ee",
        Class::Volatile => "#f3aaa4",
    }
}

const NOTHING: &str = "nothing";
const INPUTS: &str = "inputs";
const STATE: &str = "state";

/// The inputs, state, and features of any level with which a node varies.
fn varies_with(node: &Node) -> Vec<String> {
    let mut names = Vec::new();
    if !node.depends_on.is_empty() {
        names.push(INPUTS.to_owned());
    }
    if node.class == Class::Stateful {
        names.push(STATE.to_owned());
    }
    for need in &node.needs {
        let name = need.trim_start_matches("extent of ");
        let name = name.split(" (level ").next().unwrap_or(name);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() {
        names.push(NOTHING.to_owned());
    }
    names
}

/// The names whose colors are fixed, in the order of the legend.
const COLORS: [(&str, &str); 11] = [
    (NOTHING, "#cfd8e3"),
    (INPUTS, "#a9cbf2"),
    (STATE, "#d3b5ee"),
    ("time", "#f6b26b"),
    ("tick", "#f6cf86"),
    ("index", "#a8d8a0"),
    ("position", "#8fd1c4"),
    ("footprint", "#e6a8d7"),
    ("iteration", "#d7c08f"),
    ("real_time", "#f3aaa4"),
    ("", "#b9b7e8"),
];

fn rank(name: &str) -> usize {
    COLORS.iter().position(|(known, _)| *known == name).unwrap_or(COLORS.len() - 1)
}

fn feature_color(name: &str) -> &'static str {
    COLORS[rank(name)].1
}
