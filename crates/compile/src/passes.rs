//! The passes over the graph, in order.
//!
//! Rewrites of single nodes by several passes share a sweep in topological order (`sweep`), so a
//! rewrite that enables another one further down does not cost another sweep.

mod canonical;
mod compose;
mod conversions;
mod fold_constants;
mod folded;
mod fuse;
#[cfg(test)]
mod fuse_tests;
#[cfg(test)]
mod loop_tests;
#[cfg(test)]
mod meaning;
mod merge_duplicates;
mod nullify;
mod prune;
mod replaced;
mod resolve_scopes;
#[cfg(test)]
mod scope_tests;
mod simplify;
mod sweep;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use millstream_base::diagnostics::Diagnostics;
use millstream_base::path::Place;
use millstream_base::{Limits, NodePath};
use millstream_ir::Graph;
use millstream_node::Registry;

pub use compose::compose;
pub use conversions::conversions;
pub use fold_constants::fold_constants;
pub use folded::Folded;
pub use fuse::fuse;
pub use merge_duplicates::merge_duplicates;
pub use nullify::nullify;
pub use prune::prune;
pub use resolve_scopes::resolve_scopes;
pub use simplify::simplify;

/// The environment of a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassContext<'a> {
    /// The node types.
    pub registry: &'a Registry,
    /// The limits of the compilation.
    pub limits: &'a Limits,
    /// The results of functions for constants in earlier compilations.
    pub folded: Option<&'a Folded>,
    /// A flag that cancels the passes when set.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> PassContext<'a> {
    /// A context without cancellation and without results of earlier compilations.
    pub fn new(registry: &'a Registry, limits: &'a Limits) -> Self {
        Self { registry, limits, folded: None, stop: None }
    }

    /// Fails if the compilation was cancelled.
    ///
    /// # Errors
    /// If the compilation was cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), Diagnostics> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => {
                Err(PassError::Cancelled.at(NodePath::root()))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether a pass changed the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The graph is unchanged.
    No,
    /// The graph was changed.
    Yes,
}

impl Changed {
    /// [`Changed::Yes`] if `changed`.
    pub fn when(changed: bool) -> Self {
        if changed { Self::Yes } else { Self::No }
    }
}

/// A phase of compilation, after which the graph can be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Groups are expanded.
    Lower,
    /// See [`conversions`].
    Conversions,
    /// See [`fold_constants`].
    FoldConstants,
    /// See [`merge_duplicates`].
    MergeDuplicates,
    /// See [`simplify`].
    Simplify,
    /// See [`prune`].
    Prune,
    /// See [`resolve_scopes`].
    ResolveScopes,
    /// See [`compose`].
    Compose,
    /// See [`nullify`].
    Nullify,
    /// See [`fuse`].
    Fuse,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 10] = [
        Self::Lower,
        Self::Conversions,
        Self::FoldConstants,
        Self::MergeDuplicates,
        Self::Simplify,
        Self::Prune,
        Self::ResolveScopes,
        Self::Compose,
        Self::Nullify,
        Self::Fuse,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Conversions => "conversions",
            Self::FoldConstants => "fold-constants",
            Self::MergeDuplicates => "merge-duplicates",
            Self::Simplify => "simplify",
            Self::Prune => "prune",
            Self::ResolveScopes => "resolve-scopes",
            Self::Compose => "compose",
            Self::Nullify => "nullify",
            Self::Fuse => "fuse",
        }
    }

    /// The phase with this name; `_` may stand for `-`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace('_', "-");
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

/// A pass with its place in the order.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The phase that the pass completes.
    pub phase: Phase,
    /// The pass itself.
    pub run: fn(&mut Graph, &PassContext<'_>) -> Result<Changed, Diagnostics>,
    /// The reason for its place in the order.
    pub reason: &'static str,
}

/// The passes, in order.
pub const PASSES: &[Pass] = &[
    Pass {
        phase: Phase::Conversions,
        run: conversions,
        reason: "first: all others rely on equal types along links",
    },
    Pass {
        phase: Phase::FoldConstants,
        run: fold_constants,
        reason: "before merging, which then sees equal results as equal constants",
    },
    Pass {
        phase: Phase::MergeDuplicates,
        run: merge_duplicates,
        reason: "before simplifying, which recognizes equal inputs by their node",
    },
    Pass {
        phase: Phase::Simplify,
        run: simplify,
        reason: "before pruning: it cuts dead arms of switches off",
    },
    Pass {
        phase: Phase::Prune,
        run: prune,
        reason: "before the need analyses of the next two, so that dead nodes claim no needs",
    },
    Pass {
        phase: Phase::ResolveScopes,
        run: resolve_scopes,
        reason: "before nullify, which drops the scopes that have no effect any more, and folds and merges",
    },
    Pass {
        phase: Phase::Compose,
        run: compose,
        reason: "after resolving scopes, which links readers of a feature to the node that gives its value",
    },
    Pass {
        phase: Phase::Nullify,
        run: nullify,
        reason: "after all passes that remove nodes: the fewer are left, the fewer scopes have an effect",
    },
    Pass {
        phase: Phase::Fuse,
        run: fuse,
        reason: "last: its marks are valid until a node changes",
    },
];

/// Why a pass fails. Except for cancellation, no graph of a checked document fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum PassError {
    /// The types at both ends of a link do not convert.
    #[error("a {from} is linked where a {to} is wanted")]
    #[diagnostic(code(passes::no_conversion), help("insert a node that converts"))]
    NoConversion {
        /// The type of the source.
        from: &'static str,
        /// The type of the socket.
        to: &'static str,
    },
    /// A link to a node or output that does not exist.
    #[error("an input is linked to a node or output that does not exist")]
    #[diagnostic(code(passes::no_source))]
    NoSource,
    /// Nodes form a cycle.
    #[error("the nodes form a cycle: {nodes}")]
    #[diagnostic(code(passes::cycle), help("cut one of the links"))]
    Cycle {
        /// The nodes of the cycle.
        nodes: String,
    },
    /// The compilation was cancelled.
    #[error("the compilation was cancelled")]
    #[diagnostic(code(passes::cancelled))]
    Cancelled,
}

impl PassError {
    pub(crate) fn at(&self, path: NodePath) -> Diagnostics {
        let mut problems = Diagnostics::new();
        problems.report(Place::at(path), self);
        problems
    }
}
