//! The text form of graphs: the output of `explain`, the notation of tests of passes, and the
//! content of bug reports.
//!
//! ```text
//! n0 = input a: vec3 = [0.0, 0.0, 0.0]
//! n1 = const 2.0
//! n3 = math.add n0 n1  # group/node
//! n4 = math.wave{"shape": "sawtooth"} n3
//! n7 = list.of [n1 n1]
//! output area n4
//! ```
//!
//! One node per line. A number with a dot or an exponent is an `f32`, one without an `i32`; `true`,
//! `false` and quoted text stand for themselves; other constants name their type: `const f64 2.0`,
//! `const vec3 [1, 2, 3]`, `const f32 "nan"`. The sources of a socket that takes several are in
//! brackets. `n5.x` is an output of a node with several. The types of generics follow the name
//! (`math.add<f64>`) unless the linked types determine them, and settings (`{..}`) unless they are
//! the defaults. An input that no node reads has no id: `input b: f32 = 0.0`. An output whose type
//! differs from that of its source states it: `output area: f64 n6`; a single output called `value`
//! needs no name. `@r0` marks a member of a region, `@r0?` a choice that joins only if its selector
//! is the same for all elements. The path of the node follows `#`. Ids may have gaps and are
//! preserved; links may lead to later lines.
//!
//! The settings of a zone name its group. The groups follow the graph, each before those that its
//! own zones run: first a line with the label of the group, in a repeat the input with the number of
//! rounds, and for each output the input to which it is carried; then its nodes, which are numbered
//! separately.
//!
//! ```text
//! n2 = repeat{"body": "b7", "group": "halve", "while": "go"} n0 n1
//!
//! group "b7" count 1 carries [0 -]
//! n0 = input x: f32 = 0.0
//! ...
//! output x n3
//! output go n4
//! ```
//!
//! [`parse_with`] is the inverse of [`print()`], and [`parse`] is for graphs without zones.

mod build;
mod cursor;
mod error;
mod group;
mod line;
mod print;
#[cfg(test)]
mod tests;

use millstream_base::diagnostics::Diagnostics;
use millstream_node::Registry;

use crate::Graph;

pub use error::TextError;
pub use group::{GroupText, MakeZone};
pub use print::{print, print_lines, print_with_paths};

/// The graph of a text without zones. The lines are checked against the registry; the verifier
/// checks the graph as a whole.
///
/// # Errors
/// Every problem, with its line, bytes and, if there is one, a hint.
pub fn parse(text: &str, registry: &Registry) -> Result<Graph, Diagnostics> {
    parse_with(text, registry, &mut |group| {
        let problem = "it has to be compiled, which this reader does not do";
        Err(TextError::Group { label: group.label.into(), problem: problem.into() })
    })
}

/// The graph of a text. `make_zone` compiles each zone once, from a valid group.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(
    text: &str,
    registry: &Registry,
    make_zone: MakeZone<'_>,
) -> Result<Graph, Diagnostics> {
    let mut problems = error::Problems::default();
    let mut sections = line::read_lines(text, registry, &mut problems);
    let mut groups = group::Groups::new(make_zone);
    for section in sections.drain(1..).rev() {
        let graph = build::build(&section.statements, &mut groups, &mut problems);
        if let Some(line) = section.group {
            groups.add(line, graph, &mut problems);
        }
    }
    let graph = build::build(&sections[0].statements, &mut groups, &mut problems);
    problems.into_result(graph)
}
