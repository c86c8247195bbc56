//! Plans of graphs built in code, with and without the passes.

use millstream_base::Limits;
use millstream_base::diagnostics::Diagnostics;
use millstream_compile::{PASSES, PassContext, analyses, schedule};
use millstream_ir::{Graph, Plan};
use millstream_node::Registry;

/// Frames per second of these plans.
pub const FPS: f64 = 24.0;

/// The plan of a graph without passes, but with its regions and folded loops.
///
/// # Errors
/// If the graph uses more than 64 needs.
pub fn plain_plan(graph: &Graph) -> Result<Plan, Diagnostics> {
    let mut graph = graph.clone();
    let order = millstream_compile::order(&graph)?;
    // The schedule reports too many needs.
    if let Ok(needs) = analyses::needs(&graph, &order) {
        let regions = analyses::regions(&graph, &order, &needs);
        graph.set_regions(regions);
        let loops = analyses::loops(&graph, &order, &needs);
        graph.set_loops(loops);
    }
    schedule::schedule(graph, FPS)
}

/// The plan of a graph after all passes.
///
/// # Errors
/// If the graph uses more than 64 needs, or a pass fails.
pub fn compiled_plan(graph: &Graph, registry: &Registry) -> Result<Plan, Diagnostics> {
    let mut graph = graph.clone();
    let limits = Limits::default();
    let cx = PassContext::new(registry, &limits);
    for pass in PASSES {
        (pass.run)(&mut graph, &cx)?;
    }
    schedule::schedule(graph, FPS)
}
