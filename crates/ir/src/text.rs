//! The text form of graphs: what `explain` prints, what tests of passes are written in, and what
//! goes into a bug report.
//!
//! ```text
//! n0 = input a: vec3 = [0.0, 0.0, 0.0]
//! n1 = const 2.0
//! n3 = math.add n0 n1  # group/node
//! n4 = math.expression{"text": "x + y"} n1 n3
//! n7 = list.of [n1 n1]
//! output area n4
//! ```
//!
//! One node a line. A number with a point or an exponent is an `f32`, without an `i32`; `true`,
//! `false` and text in quotes stand for themselves; other constants name their type:
//! `const f64 2.0`, `const vec3 [1, 2, 3]`, `const f32 "nan"`. A socket that takes several sources
//! is bracketed. An output of a node with several is `n5.x`. Types of generics follow the name
//! (`math.add<f64>`) where the linked types do not say them, settings (`{..}`) where they are not
//! the defaults. An input of the graph that no node reads has no id: `input b: f32 = 0.0`. An output
//! whose type is not that of its source states it: `output area: f64 n6`; a single output called
//! `value` needs no name. `@r0` marks a member of a region, `@r0?` a choice that joins only where its
//! selector is the same for all elements. Behind `#` stands the node's path. Ids may have gaps and are kept; links
//! may lead to later lines.
//!
//! A repeat says in its settings which group it runs. The groups follow behind the graph, each before
//! those that its own repeats run: a line with what repeats call it, the input that counts the rounds,
//! and for each output the input that it is carried to; then its nodes, which have numbers of their own.
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
//! [`parse_with`] takes back what [`print()`] gives; [`parse`] does for graphs without repeats.

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
pub use group::{GroupText, MakeRepeat};
pub use print::{print, print_lines, print_with_paths};

/// The graph that a text describes, without repeats. What the lines say is checked against the
/// registry; that the graph as a whole makes sense is for the verifier.
///
/// # Errors
/// Everything that does not belong there, each with its line, bytes and, where there is one, a hint.
pub fn parse(text: &str, registry: &Registry) -> Result<Graph, Diagnostics> {
    parse_with(text, registry, &mut |group| {
        let problem = "it has to be compiled, and whoever reads the text does not compile";
        Err(TextError::Group { label: group.label.into(), problem: problem.into() })
    })
}

/// The graph that a text describes. Whoever compiles makes the repeats: each is asked for once, its
/// group without problems.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(
    text: &str,
    registry: &Registry,
    repeats: MakeRepeat<'_>,
) -> Result<Graph, Diagnostics> {
    let mut problems = error::Problems::default();
    let mut sections = line::read_lines(text, registry, &mut problems);
    let mut groups = group::Groups::new(repeats);
    for section in sections.drain(1..).rev() {
        let graph = build::build(&section.statements, &mut groups, &mut problems);
        if let Some(line) = section.group {
            groups.add(line, graph, &mut problems);
        }
    }
    let graph = build::build(&sections[0].statements, &mut groups, &mut problems);
    problems.into_result(graph)
}
