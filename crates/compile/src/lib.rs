//! From a checked document to a plan: lowering, passes, schedule.
//!
//! [`compile`] lowers the document to a flat graph ([`lower`](lower::lower)), runs the [`PASSES`]
//! in order and schedules the remaining nodes ([`schedule`](schedule::schedule)). Passes get facts
//! about nodes from the [`analyses`], which do not change the graph. Nothing recurses, and nothing
//! is worse than `n log n` in nodes and links.
//!
//! ```
//! use millstream_base::Limits;
//! use millstream_compile::{Options, compile};
//!
//! let registry = millstream_nodes::registry();
//! let text = r#"{ "millstream": 2,
//!     "outputs": { "y": { "type": "f32", "from": "sum.value" } },
//!     "nodes": { "sum": { "type": "math.add", "in": { "a": 1, "b": 2 } } } }"#;
//! let (opened, problems) =
//!     millstream_document::open(text.as_bytes(), &registry, None, &[], &Limits::default());
//! let (_, checked) = opened.ok_or(problems)?;
//! let plan = compile(&checked, &registry, &Options::default())?;
//! assert_eq!(plan.steps.len(), 1, "all is known now: one constant is left");
//! # Ok::<(), millstream_base::diagnostics::Diagnostics>(())
//! ```

pub mod analyses;
pub mod available;
mod converter;
pub mod expansion;
pub mod lower;
pub mod passes;
pub mod schedule;
mod state_scopes;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::{Feature, Limits};
use millstream_document::Checked;
use millstream_ir::verify::{Stage, verify};
use millstream_ir::{Graph, NodeId, Plan, walk};
use millstream_node::Registry;

pub use lower::repeats;
pub use passes::{Changed, Folded, PASSES, Pass, PassContext, Phase};

/// The options of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The resource limits.
    pub limits: Limits,
    /// Stop after this phase; [`compile`] inserts conversions in any case. `None` runs all passes.
    pub after: Option<Phase>,
    /// The features that requests will provide; a document that needs any other is refused. `None`
    /// accepts all and leaves the check to requests.
    pub available: Option<Vec<Feature>>,
    /// Results of functions for constants in earlier compilations, so that they need not run again.
    /// One cache goes with one set of limits and one registry.
    pub folded: Option<Arc<Folded>>,
    /// A flag that cancels the compilation, which is checked between two nodes.
    pub stop: Option<Arc<AtomicBool>>,
}

/// The plan of a document.
///
/// # Errors
/// If its groups expand beyond the limits, if it uses too many different features and levels, or if
/// it needs a feature that is not available.
pub fn compile(
    checked: &Checked,
    registry: &Registry,
    options: &Options,
) -> Result<Plan, Diagnostics> {
    let after = options.after.map(|phase| phase.max(Phase::Conversions));
    let graph = run_passes(checked, registry, options, after)?;
    let mut plan = schedule::schedule(graph, checked.fps)?;
    plan.start_frame = checked.start_frame;
    if let Some(available) = &options.available {
        let problems = available::check_available(&plan, registry, available);
        if problems.has_errors() {
            return Err(problems);
        }
    }
    Ok(plan)
}

/// The graph of a document after a phase, or after all.
///
/// # Errors
/// If its groups expand beyond the limits, or if it uses too many different features and levels.
pub fn compile_graph(
    checked: &Checked,
    registry: &Registry,
    options: &Options,
) -> Result<Graph, Diagnostics> {
    run_passes(checked, registry, options, options.after)
}

fn run_passes(
    checked: &Checked,
    registry: &Registry,
    options: &Options,
    after: Option<Phase>,
) -> Result<Graph, Diagnostics> {
    let limits = &options.limits;
    let mut graph = lower::lower(checked, registry, limits)?;
    assert_sound(&graph, Stage::Lowered, Phase::Lower);
    let (folded, stop) = (options.folded.as_deref(), options.stop.as_deref());
    let cx = PassContext { registry, limits, folded, stop };
    for pass in PASSES {
        if after.is_some_and(|last| pass.phase > last) {
            break;
        }
        cx.check_cancelled()?;
        (pass.run)(&mut graph, &cx)?;
        assert_sound(&graph, Stage::Converted, pass.phase);
    }
    Ok(graph)
}

/// Panics in debug builds if a phase broke an invariant.
pub(crate) fn assert_sound(graph: &Graph, stage: Stage, phase: Phase) {
    if cfg!(debug_assertions)
        && let Err(errors) = verify(graph, stage)
    {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("the graph is sound after `{}`: {}", phase.name(), errors.join("; "));
    }
}

/// All nodes in topological order.
///
/// # Errors
/// If there is a cycle, which checked documents do not have.
pub fn order(graph: &Graph) -> Result<Vec<NodeId>, Diagnostics> {
    walk::order(graph).map_err(|cycle| {
        let path = graph.paths.get(graph.node(cycle.0[0]).path);
        passes::PassError::Cycle { nodes: cycle.to_string() }.at(path)
    })
}
