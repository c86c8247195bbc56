//! The size of a document after its groups are expanded, computed before any expansion.
//!
//! Sizes are computed once per body, from the inside out, and saturate. So forty nested groups,
//! each used twice, are refused immediately.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::SideTable;
use millstream_base::path::Place;
use millstream_base::{Limits, NodePath};
use millstream_document::{BodyId, Checked, CheckedKind, CheckedNode};

/// The size of one use of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Nodes, counting each use of a group as one more.
    pub nodes: u64,
    /// Links, counting outputs of groups as links.
    pub links: u64,
}

impl Size {
    const NONE: Self = Self { nodes: 0, links: 0 };

    fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            links: self.links.saturating_add(other.links),
        }
    }
}

/// Why a document is not expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum ExpansionError {
    /// Expanding creates more nodes than the limit.
    #[error("expanding the groups takes {nodes} nodes, but the limit is {limit}")]
    #[diagnostic(
        code(lower::expanded_nodes),
        help(
            "use the group less often, or raise `expanded_nodes` in the limits if this is intended"
        )
    )]
    Nodes {
        /// The number, unless it is too large to count.
        nodes: String,
        /// The limit.
        limit: usize,
    },
    /// Expanding creates more links than the limit.
    #[error("expanding the groups takes {links} links, but the limit is {limit}")]
    #[diagnostic(
        code(lower::expanded_links),
        help(
            "use the group less often, or raise `expanded_nodes` in the limits if this is \
             intended: {LINKS_PER_NODE} links are allowed per node"
        )
    )]
    Links {
        /// The number, unless it is too large to count.
        links: String,
        /// The limit.
        limit: u64,
    },
    /// A group contains itself, which checking should have refused.
    #[error("the group `{group}` contains itself")]
    #[diagnostic(code(lower::recursive_group), help("remove it from its own nodes"))]
    Recursive {
        /// The name of the group.
        group: String,
    },
}

/// The number of links allowed per node of the limit.
const LINKS_PER_NODE: u64 = 16;

/// The bodies that the root uses.
#[derive(Debug)]
pub struct Expansion {
    /// The size of each body.
    pub sizes: SideTable<BodyId, Size>,
    /// The bodies, each after those that it uses.
    pub inside_out: Vec<BodyId>,
    /// Whether any body enters a group several times.
    pub enters_again: bool,
}

/// The bodies that the root uses, with their sizes.
///
/// # Errors
/// If the root exceeds the limits. The error is reported at the innermost group that exceeds them
/// by itself.
pub fn expansion(checked: &Checked, limits: &Limits) -> Result<Expansion, Diagnostics> {
    let expansion = all_sizes(checked)?;
    match excess(expansion.sizes[checked.root], limits) {
        None => Ok(expansion),
        Some(_) => Err(refuse(checked, &expansion.sizes, limits)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

fn all_sizes(checked: &Checked) -> Result<Expansion, Diagnostics> {
    let mut inside_out = Vec::new();
    let mut sizes = SideTable::for_arena(&checked.bodies, Size::NONE);
    let mut marks = SideTable::for_arena(&checked.bodies, Mark::New);
    let mut stack = vec![(checked.root, 0)];
    marks[checked.root] = Mark::Open;
    'bodies: while let Some((id, at)) = stack.last_mut() {
        let (id, body) = (*id, &checked.bodies[*id]);
        while let Some(node) = body.nodes.get(*at) {
            let mut size = Size { nodes: 1, links: body.sources_of(node).len() as u64 };
            if let CheckedKind::Call(instance) = &node.kind
                && let Some(network) = &instance.network
            {
                let (nodes, links) = (network.parts.len() as u64, network.n_links() as u64);
                size = size.plus(Size { nodes, links });
            }
            if let Some(inner) = node.kind.body() {
                match marks[inner] {
                    Mark::Done => size = size.plus(sizes[inner]),
                    Mark::New => {
                        marks[inner] = Mark::Open;
                        stack.push((inner, 0));
                        continue 'bodies;
                    }
                    Mark::Open => {
                        let group = checked.bodies[inner].name.to_string();
                        let error = ExpansionError::Recursive { group };
                        let mut problems = Diagnostics::new();
                        problems.report(Place::with_span(&*node.name, node.span), &error);
                        return Err(problems);
                    }
                }
            }
            sizes[id] = sizes[id].plus(size);
            *at += 1;
        }
        sizes[id].links = sizes[id].links.saturating_add(body.outputs.len() as u64);
        marks[id] = Mark::Done;
        inside_out.push(id);
        stack.pop();
    }
    let enters_again = checked.bodies.iter().any(|(_, body)| body.order.len() > body.nodes.len());
    Ok(Expansion { sizes, inside_out, enters_again })
}

fn counted(n: u64) -> String {
    if n == u64::MAX { "more than 2^64".into() } else { n.to_string() }
}

fn excess(size: Size, limits: &Limits) -> Option<ExpansionError> {
    let max_links = LINKS_PER_NODE.saturating_mul(limits.expanded_nodes as u64);
    if size.nodes > limits.expanded_nodes as u64 {
        let nodes = counted(size.nodes);
        return Some(ExpansionError::Nodes { nodes, limit: limits.expanded_nodes });
    }
    (size.links > max_links)
        .then(|| ExpansionError::Links { links: counted(size.links), limit: max_links })
}

/// The error, at the innermost group that exceeds the limits by itself.
fn refuse(checked: &Checked, sizes: &SideTable<BodyId, Size>, limits: &Limits) -> Diagnostics {
    let place_of = |outer: Place, body: BodyId, node: &CheckedNode| {
        let file = checked.bodies[body].file.clone();
        Place::with_span(outer.path.child(&node.name), node.span).in_file(file)
    };
    let mut place = Place::at(NodePath::root());
    let mut body = checked.root;
    loop {
        let larger = checked.bodies[body].nodes.iter().find_map(|node| {
            let inner = node.kind.body()?;
            excess(sizes[inner], limits).is_some().then_some((node, inner))
        });
        let Some((node, inner)) = larger else { break };
        place = place_of(place, body, node);
        body = inner;
    }
    if body == checked.root {
        // No single group exceeds them; the use that adds most is a good place to start.
        let uses = checked.bodies[body].nodes.iter();
        let uses = uses.filter_map(|node| Some((sizes[node.kind.body()?].nodes, node)));
        if let Some((_, node)) = uses.max_by_key(|(size, _)| *size) {
            place = place_of(place, body, node);
        }
    }
    let mut problems = Diagnostics::new();
    if let Some(error) = excess(sizes[body], limits) {
        problems.report(place, &error);
    }
    problems
}
