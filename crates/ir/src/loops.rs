//! Loops: calls that evaluate a socket once for each round and gather what it gives to a list.
//!
//! Where a single step folds the list, such as `list.sum` of `list.generate`, and the rounds are
//! element-wise, evaluators may compute all rounds and the fold as one form, without items or a list. The
//! pass `fuse` marks each loop: folded, or apart and why; the plan holds the parts of the folded ones.

use std::fmt;

use millstream_node::{Instance, Kernel, ScopeRule};

use crate::graph::NodeId;
use crate::plan::{StepId, StepSource};

/// More rounds than this are not written out: up to here a fold is one block of its tree.
const MAX_ROUNDS: usize = 1024;

/// A loop that is written out has at most so many instructions before they are simplified.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// What becomes of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMark {
    /// It runs as one with the node that reads its list, if the number of rounds allows it.
    Folded,
    /// Its items and its list are computed as a whole, because of this node where there is one.
    Apart(Apart, Option<NodeId>),
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal $text:literal;)*) => {
        /// Why a loop is not folded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Apart {
            $($(#[$doc])* $variant,)*
        }

        impl Apart {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in the text form.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The reason in words; `{}` stands for the node.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

reasons! {
    /// Not exactly one node reads the list.
    Readers "readers" "its list is read by several nodes, or is an output";
    /// The node that reads the list does more or less than fold it.
    NoFold "no-fold" "{} does not fold such a list";
    /// The items are evaluated in a context that differs in more than the number of the round.
    Context "context" "its items change more of the context than the number of the round";
    /// All items are equal.
    Equal "equal" "its items are the same in all rounds, so they are computed once";
    /// The items are the numbers of rounds.
    Numbers "numbers" "its items are the same for all elements";
    /// An item needs something that is no form.
    NoForm "no-form" "{} in its rounds is no arithmetic of single elements";
    /// A choice in the rounds has arms that are too dear to be computed for all elements.
    Dear "dear" "the arms of {} are too dear, or may fail, so they are not computed for all elements";
    /// An arm reads something that may fail.
    Fails "fails" "{}, which only an arm in its rounds needs, may fail";
    /// What one round computes is read by others, and takes too long to be computed again.
    Shared "shared" "{} in its rounds is read from elsewhere as well, and too dear to be computed twice";
    /// There are too many rounds or too many instructions.
    Large "large" "its rounds have too many instructions in all";
    /// There are no rounds.
    Empty "empty" "it has no rounds";
}

impl fmt::Display for LoopMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folded => f.write_str("@folded"),
            Self::Apart(why, None) => write!(f, "@apart({})", why.name()),
            Self::Apart(why, Some(node)) => write!(f, "@apart({} {node})", why.name()),
        }
    }
}

/// Whether calls count the rounds of their first input and hand on the list.
pub fn is_loop(instance: &Instance) -> bool {
    let Kernel::Function(function) = &instance.kernel else { return false };
    let [item, count] = &instance.inputs[..] else { return false };
    function.hands_on()
        && matches!(&item.scope[..], [ScopeRule::Each { count: 1, .. }])
        && count.scope.is_empty()
}

/// The parts of a folded loop, made of nodes or steps `N` that read from sources `S`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopOf<N, S> {
    /// What folds the list.
    pub fold: N,
    /// What gives the list.
    pub list: N,
    /// The number of rounds.
    pub count: S,
    /// What is computed for each round.
    pub item: S,
    /// What differs between rounds, forms and choices among lanes, each behind what it reads from.
    pub members: Vec<N>,
    /// What reads the number of the round.
    pub rounds: Vec<N>,
    /// Calls that members read and that are the same for all rounds.
    pub outside: Vec<S>,
    /// Instructions of one round.
    pub n_instructions: usize,
}

/// The parts of a folded loop in a plan; members stand in order of the plan.
pub type Loop = LoopOf<StepId, StepSource>;

impl<N: Copy, S: Copy> LoopOf<N, S> {
    /// The loop made of what these functions give for its nodes and sources.
    pub fn map<M, T>(&self, node: impl Fn(N) -> M, source: impl Fn(S) -> T) -> LoopOf<M, T> {
        let nodes = |all: &[N]| all.iter().map(|id| node(*id)).collect();
        LoopOf {
            fold: node(self.fold),
            list: node(self.list),
            count: source(self.count),
            item: source(self.item),
            members: nodes(&self.members),
            rounds: nodes(&self.rounds),
            outside: self.outside.iter().map(|of| source(*of)).collect(),
            n_instructions: self.n_instructions,
        }
    }
}

impl Loop {
    /// Whether so many rounds are written out.
    pub fn takes(&self, n_rounds: i32) -> bool {
        takes(self.n_instructions, n_rounds)
    }
}

/// Whether so many rounds of so many instructions are written out.
pub fn takes(n_instructions: usize, n_rounds: i32) -> bool {
    let n = usize::try_from(n_rounds).unwrap_or(0);
    (1..=MAX_ROUNDS).contains(&n) && n * (n_instructions + 1) <= MAX_INSTRUCTIONS
}
