//! Loops: calls that evaluate a socket once per round and gather the results in a list.
//!
//! If a single step folds the list, such as `list.sum` of `list.generate`, and the rounds are
//! element-wise, evaluators may compute all rounds and the fold as one form, without items or a
//! list. The pass `fuse` marks each loop as folded, or as apart with a reason; the plan describes
//! the folded ones.

use std::fmt;

use millstream_node::{Instance, Kernel, ScopeRule};

use crate::ids::NodeId;

/// Loops with more rounds are not unrolled; up to this number, a fold is one block of its tree.
const MAX_ROUNDS: usize = 1024;

/// Maximal number of instructions of an unrolled loop before simplification.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// The mark of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMark {
    /// It runs as one with the node that reads its list, if the number of rounds allows.
    Folded,
    /// It is not folded, for this reason. The node is the one that prevents it, if it is a single
    /// one.
    Apart(NotFolded, Option<NodeId>),
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal $text:literal;)*) => {
        /// Why a loop is not folded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NotFolded {
            $($(#[$doc])* $variant,)*
        }

        impl NotFolded {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in the text form.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The reason in words, where `{}` stands for the node.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

reasons! {
    /// The list is not read by exactly one node.
    Readers "readers" "its list is read by several nodes, or is an output";
    /// The reader of the list does more or less than fold it.
    NoFold "no-fold" "{} does not fold such a list";
    /// The context of the items differs in more than the number of the round.
    Context "context" "its items change more of the context than the number of the round";
    /// All items are equal.
    Equal "equal" "its items are the same in all rounds, so they are computed once";
    /// The items are the numbers of rounds.
    Numbers "numbers" "its items are the same for all elements";
    /// An item needs a node that is not a form.
    NoForm "no-form" "{} in its rounds is not arithmetic on single elements";
    /// A choice in the rounds has arms that are too expensive to compute for all elements.
    Expensive "expensive"
        "the arms of {} are too expensive to be computed for all elements, or may fail";
    /// An arm reads a node that may fail.
    Fails "fails" "{}, which only an arm in its rounds needs, may fail";
    /// A result of the rounds is read elsewhere and too expensive to compute again.
    Shared "shared"
        "{} in its rounds is also read elsewhere, and too expensive to be computed twice";
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

/// Whether an instance is a loop: it evaluates its first input once per round and returns the
/// results as a list.
pub fn is_loop(instance: &Instance) -> bool {
    let Kernel::Function(function) = &instance.kernel else { return false };
    let [item, count] = &instance.inputs[..] else { return false };
    function.is_identity()
        && matches!(&item.scope[..], [ScopeRule::Each { count: 1, .. }])
        && count.scope.is_empty()
}

/// The parts of a folded loop, where `N` stands for nodes or steps and `S` for their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopOf<N, S> {
    /// The node that folds the list.
    pub fold: N,
    /// The node that produces the list.
    pub list: N,
    /// The number of rounds.
    pub count: S,
    /// The result of each round.
    pub item: S,
    /// The forms and choices among lanes that differ between rounds, in topological order.
    pub members: Vec<N>,
    /// The nodes that read the number of the round.
    pub rounds: Vec<N>,
    /// The results that members read and that are the same in all rounds.
    pub outside: Vec<S>,
    /// Number of instructions of one round.
    pub n_instructions: usize,
}

impl<N: Copy, S: Copy> LoopOf<N, S> {
    /// The loop with all nodes and sources mapped.
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

    /// Whether the loop is unrolled for this number of rounds.
    pub fn takes(&self, n_rounds: i32) -> bool {
        takes(self.n_instructions, n_rounds)
    }
}

/// Whether a loop with these numbers of instructions and rounds is unrolled.
pub fn takes(n_instructions: usize, n_rounds: i32) -> bool {
    let n = usize::try_from(n_rounds).unwrap_or(0);
    (1..=MAX_ROUNDS).contains(&n) && n * (n_instructions + 1) <= MAX_INSTRUCTIONS
}
