//! Names the groups of blocks without a name, and finds links out of blocks.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use millstream_base::Span;
use millstream_document::FreeNames;
use millstream_document::model::{InputValue, Named, Node, OutputDef, OutputFrom};

use super::Body;
use crate::name::write_block_name;
use crate::tree::{ExprKind, MAX_BLOCKS, Tree, What, Word};

/// Names each block without a name after its node and the group around it.
pub(crate) fn name_blocks(tree: &mut Tree<'_>) {
    if tree.groups.iter().all(|line| !line.name.is_empty() || !line.is_block) {
        return;
    }
    let mut taken: HashSet<Arc<str>> =
        tree.groups.iter().map(|line| Arc::from(&*line.name)).collect();
    let (mut free, mut wanted) = (FreeNames::default(), String::new());
    let mut open: Vec<u32> = Vec::new();
    for item in &tree.items {
        match &item.what {
            What::Group(group) => open.push(*group),
            What::Close => drop(open.pop()),
            What::Block { name, group } => {
                let line = &tree.groups[*group as usize];
                if line.name.is_empty() {
                    let zone = line.zone;
                    // Deeper blocks are refused; names that grow with the depth would take quadratic
                    // time.
                    let around = open.last().filter(|_| open.len() <= MAX_BLOCKS);
                    let around = around.map(|group| &*tree.groups[*group as usize].name);
                    write_block_name(around, name, &mut wanted);
                    let found = free.find(&wanted, |name| taken.contains(name));
                    let word: Word<'_> = Cow::Owned((*found).to_owned());
                    taken.insert(found);
                    if let Some(zone) = zone
                        && let ExprKind::Call(call) = tree.exprs[zone as usize].kind
                    {
                        tree.calls[call as usize].name.clone_from(&word);
                    }
                    tree.groups[*group as usize].name = word;
                }
                open.push(*group);
            }
            _ => {}
        }
    }
}

/// Maximal number of messages about names from outside of a block, since finding each takes a
/// search.
const MAX_OUTSIDE: usize = 20;

/// The links of a block's nodes and outputs to names that only the surrounding bodies have: the
/// node or output, the place of the link, and the name.
pub(super) fn links_outside<'n>(
    (bodies, at): (&[Body<'_>], usize),
    (nodes, outputs): (&'n Named<Node>, &'n Named<OutputDef>),
    has_node: impl Fn(&str) -> bool,
) -> Vec<(From<'n>, Span, &'n str)> {
    // Deeper blocks are refused.
    let around: Vec<_> = std::iter::successors(bodies[at].around, |at| bodies[*at].around)
        .take(MAX_BLOCKS)
        .collect();
    if around.is_empty() {
        return Vec::new();
    }
    let of_nodes = nodes.iter().flat_map(|(name, node)| {
        let sources = node.inputs.iter().flat_map(|(_, input)| input.sources());
        sources.filter_map(move |source| match &source.value {
            InputValue::Link(link) => Some((From::Node(name), source.spot.span(), &*link.node)),
            _ => None,
        })
    });
    let of_outputs = outputs.iter().filter_map(|(name, output)| match &output.from {
        OutputFrom::Link(link) => Some((From::Output(name), output.spot.span(), &*link.node)),
        OutputFrom::Input(_) => None,
    });
    let unknown = of_nodes.chain(of_outputs).filter(|(_, _, name)| !has_node(name));
    let is_outside = |name: &str| {
        let names = |body: &Body<'_>, name: &str| {
            body.inputs.iter().any(|input| *input.name == *name)
                || body.items.iter().any(|item| item.what.node_name() == Some(name))
        };
        around.iter().any(|at| names(&bodies[*at], name))
    };
    unknown.take(MAX_OUTSIDE).filter(|(_, _, name)| is_outside(name)).collect()
}

/// The part that contains a link.
#[derive(Clone, Copy)]
pub(super) enum From<'n> {
    Node(&'n str),
    Output(&'n str),
}
