//! The body of a repeat, as an explanation below that of the node.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::Id;
use millstream_ir::{InputId, ZoneBody};
use rustc_hash::FxHashMap;

use super::Explanation;
use super::describe::describe;

/// The body of a repeat.
#[derive(Clone, Debug)]
pub enum Body {
    /// An explanation of the nodes that run in each round.
    Here(Box<Explanation>),
    /// The same body as that of another node, where it is explained.
    As(String),
}

/// The bodies that are explained already, by address, with the nodes where they are explained.
#[derive(Debug, Default)]
pub(super) struct Told(FxHashMap<usize, String>);

impl Told {
    /// Explains the body of a node, unless it is explained already. `varies` says for each input of
    /// the node whether it varies by element, `is_many` whether the node does. The limit on the
    /// nesting of groups bounds the recursion.
    pub(super) fn tell(
        &mut self,
        label: &str,
        body: &ZoneBody,
        varies: &[bool],
        is_many: bool,
    ) -> Result<Body, Diagnostics> {
        let address = std::ptr::from_ref(body) as usize;
        if let Some(other) = self.0.get(&address) {
            return Ok(Body::As(other.clone()));
        }
        self.0.insert(address, label.to_owned());
        let is_column = |input: &InputId| {
            let i = input.index();
            let given = body.given_by(i).and_then(|given| varies.get(given)) == Some(&true);
            given || is_many && body.course.carries.contains(&Some(i))
        };
        let columns: Vec<InputId> = body.graph.inputs().ids().filter(is_column).collect();
        let stages = std::slice::from_ref(&body.graph);
        Ok(Body::Here(Box::new(describe(&body.group, stages, &columns, self)?)))
    }
}
