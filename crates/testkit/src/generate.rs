//! Generated graphs and requests over the real node library. They are well typed, and shrink.
//!
//! A graph is generated as a list of small descriptions. Each becomes a node that picks its inputs
//! among the nodes before it, by number, modulo. So any removal or simplification leaves a
//! well-typed graph: shrinking drops nodes and replaces links by literals. Loops, shifts and
//! reductions need no structure of their own, since scopes follow demand: their sources are their
//! body. A description that fits no node is left out.

mod build;
pub mod document;
mod motif;
mod repeat;
pub mod request;
#[cfg(test)]
mod tests;
pub mod values;

use std::fmt;
use std::sync::{Arc, LazyLock};

use millstream_base::{Feature, Limits, Type};
use millstream_compile::PassContext;
use millstream_compile::repeats::read_text;
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::verify::{Stage, verify};
use millstream_ir::{Graph, Plan, text};
use millstream_node::Registry;
use proptest::collection::vec;
use proptest::prelude::*;
use request::{Moments, RequestSketch};

/// The node library, with node types of an embedding program.
pub static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = millstream_nodes::registry();
    crate::custom::register(&mut registry);
    registry
});

/// The description of a node.
#[derive(Clone, Debug)]
pub(crate) struct NodePlan {
    pub(crate) kind: u16,
    pub(crate) picks: [u16; 5],
    pub(crate) set: u32,
}

/// The description of a graph.
#[derive(Clone, Debug)]
pub(crate) struct GraphPlan {
    pub(crate) inputs: Vec<u8>,
    pub(crate) nodes: Vec<NodePlan>,
    /// The nodes of a group that may be used several times.
    pub(crate) group: Vec<NodePlan>,
    pub(crate) outputs: Vec<u16>,
    /// Whether the group may be repeated.
    pub(crate) has_repeats: bool,
}

/// The description of a request.
#[derive(Clone, Debug)]
struct RequestPlan {
    count: u8,
    moments: u8,
    views: u8,
    inputs: Vec<u16>,
    features: u8,
    seed: u8,
}

/// A graph and a request for it. Prints as a fixture: see [`Case::parse`].
#[derive(Clone)]
pub struct Case {
    /// The graph, with types equal along links.
    pub graph: Graph,
    /// The graph's plan without passes.
    pub plain: Arc<Plan>,
    /// The request.
    pub request: RequestSketch,
}

impl Case {
    /// Reads a fixture: the request as JSON after `# request:` on the first line, then the graph.
    ///
    /// # Errors
    /// Describes the mistake.
    pub fn parse(text: &str, registry: &Registry) -> Result<Self, String> {
        let (first, rest) = text.split_once('\n').ok_or("a fixture has several lines")?;
        let request = first.strip_prefix("# request:").ok_or("the first line is the request")?;
        let limits = Limits::default();
        let cx = PassContext::new(registry, &limits);
        let graph = read_text(rest, &cx).map_err(|problems| format!("{problems:?}"))?;
        verify(&graph, Stage::Converted).map_err(|errors| format!("{errors:?}"))?;
        let request = RequestSketch::parse(request, &graph)?;
        let plain = crate::plans::plain_plan(&graph).map_err(|problems| format!("{problems:?}"))?;
        Ok(Self { graph, plain: plain.into(), request })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# request: {}", self.request)?;
        write!(f, "{}", text::print_with_paths(&self.graph))
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

/// Graphs of up to `max_nodes` descriptions with requests for them.
pub fn cases(max_nodes: usize) -> impl Strategy<Value = Case> {
    (graph_plans(max_nodes), request_plans()).prop_map(|(graph, request)| case(&graph, &request))
}

/// The same, with repeats.
pub fn cases_with_repeats(max_nodes: usize) -> impl Strategy<Value = Case> {
    (graph_plans(max_nodes), request_plans())
        .prop_map(|(graph, request)| case(&GraphPlan { has_repeats: true, ..graph }, &request))
}

fn case(graph: &GraphPlan, request: &RequestPlan) -> Case {
    let (graph, plain) = build::build(graph, &REGISTRY);
    let request = sketch(request, &graph, &plain);
    Case { graph, plain: plain.into(), request }
}

/// Cases with `n` further requests for the same graph.
pub fn cases_with_more(
    max_nodes: usize,
    n: usize,
) -> impl Strategy<Value = (Case, Vec<RequestSketch>)> {
    (cases_with_repeats(max_nodes), vec(request_plans(), n)).prop_map(|(case, more)| {
        let more = more.iter().map(|request| sketch(request, &case.graph, &case.plain)).collect();
        (case, more)
    })
}

/// Well-typed graphs of up to `max_nodes` descriptions.
pub fn graphs(max_nodes: usize) -> impl Strategy<Value = Graph> {
    graph_plans(max_nodes).prop_map(|plan| build::build(&plan, &REGISTRY).0)
}

fn node_plans() -> impl Strategy<Value = NodePlan> {
    (0_u16..60_000, proptest::array::uniform5(0_u16..800), any::<u32>())
        .prop_map(|(kind, picks, set)| NodePlan { kind, picks, set })
}

fn graph_plans(max_nodes: usize) -> impl Strategy<Value = GraphPlan> {
    let nodes = vec(node_plans(), 1..=max_nodes);
    (vec(any::<u8>(), 0..4), nodes, vec(node_plans(), 0..4), vec(0_u16..6, 1..4)).prop_map(
        |(inputs, nodes, group, outputs)| GraphPlan {
            inputs,
            nodes,
            group,
            outputs,
            has_repeats: false,
        },
    )
}

fn request_plans() -> impl Strategy<Value = RequestPlan> {
    (0_u8..16, (0_u8..8, 0_u8..8), vec(0_u16..400, 4), any::<u8>(), any::<u8>()).prop_map(
        |(count, (moments, views), inputs, features, seed)| RequestPlan {
            count,
            moments,
            views,
            inputs,
            features,
            seed,
        },
    )
}

/// The request for a graph.
fn sketch(plan: &RequestPlan, graph: &Graph, plain: &Plan) -> RequestSketch {
    let seed = plan.seed as usize;
    let count = match plan.count {
        0..5 => None,
        5..8 => Some(3),
        8 => Some(1),
        9 => Some(0),
        10..13 => Some(5),
        13 => Some(17),
        14 => Some(70),
        _ => Some(1030),
    };
    let moments = match plan.moments {
        0..4 => Moments::One(1.5),
        4 => Moments::One(-0.25),
        5 => Moments::Many(vec![0.0, 0.5, 2.0]),
        6 => Moments::Frames(vec![10, 11]),
        _ => Moments::Many(vec![1.0]),
    };
    let n_times = match &moments {
        Moments::One(_) => None,
        Moments::Many(seconds) => Some(seconds.len()),
        Moments::Frames(frames) => Some(frames.len()),
    };
    // State is not told apart by views.
    let views = match plan.views {
        _ if plain.has_states() => None,
        0..5 => None,
        5 => Some(2),
        6 => Some(3),
        _ => Some(1),
    };
    let mut inputs = Vec::new();
    for (input, pick) in graph.inputs().as_slice().iter().zip(&plan.inputs) {
        let pick = *pick as usize;
        let given = |ty: Type| match (pick % 5, n_times, views) {
            (0, ..) => None,
            (1, ..) => Some(Given::One(values::value(ty, pick / 5))),
            (2, Some(n), _) => {
                Some(Given::Along(RequestAxis::Time, values::column(ty, n, pick / 5)))
            }
            (3, _, Some(n)) => {
                Some(Given::Along(RequestAxis::View, values::column(ty, n, pick / 5)))
            }
            _ => count.map(|n| Given::Along(RequestAxis::Index, values::column(ty, n, pick / 5))),
        };
        inputs.extend(given(input.ty).map(|given| (input.name.to_string(), given)));
    }
    let mut features = Vec::new();
    let [wind, sun] = values::own_features().map(|(name, ty)| Feature::Custom(name, ty));
    let mut vary = |bit: u8, feature: Feature| {
        let ty = feature.ty();
        match (plan.features >> bit & 3, count, n_times, views) {
            (1, Some(n), ..) => {
                features
                    .push((feature, Given::Along(RequestAxis::Index, values::column(ty, n, seed))));
            }
            (2, _, Some(n), _) => {
                features
                    .push((feature, Given::Along(RequestAxis::Time, values::column(ty, n, seed))));
            }
            (3, .., Some(n)) => {
                features
                    .push((feature, Given::Along(RequestAxis::View, values::column(ty, n, seed))));
            }
            _ => {}
        }
    };
    vary(0, wind);
    vary(2, sun);
    vary(4, Feature::Position);
    RequestSketch { count, moments, views, inputs, features }
}
