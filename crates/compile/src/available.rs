//! The needs that nobody provides, and the path from the output to the node that reads them.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::{Aspect, Need};
use millstream_base::path::Place;
use millstream_base::{Feature, NodePath};
use millstream_ir::trace::{path_text, paths_of, trace_need};
use millstream_ir::{Plan, StepId};
use millstream_node::{NodeDef, Registry, ScopeRule, Settings};
use serde_json::Value as Json;

/// A document needs something from its context that nobody provides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("output `{output}` needs {need}, which is not available: {way}")]
#[diagnostic(code(needs::unavailable), help("{hint}"))]
pub struct Unavailable {
    /// The output.
    pub output: String,
    /// The missing need.
    pub need: String,
    /// The nodes from the output to the one that reads it.
    pub way: String,
    /// The nodes that could provide it.
    pub hint: String,
}

/// The path of a need through a plan, from an output to the step that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Position of the output.
    pub output: usize,
    /// The need at the output.
    pub need: Need,
    /// All steps on a shortest path from the output's step to the reader.
    pub steps: Vec<StepId>,
}

/// Reports each output and each value it needs that is not among `available`. A request provides
/// level 0 of the available features; a need for a further level requires an injector in the
/// document.
pub fn check_available(plan: &Plan, registry: &Registry, available: &[Feature]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let provided = |need: &Need| need.level == 0 && available.contains(&need.feature);
    for way in missing(plan, &provided) {
        let reader = way.steps.last().map(|step| plan.steps[*step].path);
        let path = reader.map_or_else(NodePath::root, |path| plan.paths.get(path));
        let error = Unavailable {
            output: plan.outputs[way.output].name.to_string(),
            need: format!("`{}`", way.need),
            way: format!("output <- {}", path_text(paths_of(plan, &way.steps), "`")),
            hint: hint(registry, &way.need),
        };
        problems.report(Place::at(path), &error);
    }
    problems
}

/// For each output and each value it needs that is not `provided`, a shortest path to a reader.
pub fn missing(plan: &Plan, provided: &dyn Fn(&Need) -> bool) -> Vec<Way> {
    let mut ways = Vec::new();
    for (output, declared) in plan.outputs.iter().enumerate() {
        let step = declared.source.step;
        for bit in plan.needs_of(&plan.steps[step]).bits() {
            let need = plan.needs.need(bit);
            if need.aspect == Aspect::Value && !provided(need) {
                let steps = trace_need(plan, step, bit);
                ways.push(Way { output, need: need.clone(), steps });
            }
        }
    }
    ways
}

/// The node types that have a socket that provides the feature.
fn hint(registry: &Registry, need: &Need) -> String {
    let provides = |def: &Arc<NodeDef>| sockets_provide(def, &need.feature);
    let names: Vec<String> = registry
        .iter()
        .filter(|def| provides(def))
        .take(6)
        .map(|def| format!("`{}`", def.name))
        .collect();
    if names.is_empty() {
        format!("no node provides `{}`: it can only come from the request", need.feature)
    } else if need.level == 0 {
        format!("set `{}` in the request, or link through {}", need.feature, names.join(", "))
    } else {
        format!("link through {} once more", names.join(", "))
    }
}

/// Whether a socket of the node type injects the feature, with a setting that names it if
/// necessary.
fn sockets_provide(def: &NodeDef, feature: &Feature) -> bool {
    let (name, ty) = (Json::from(feature.name()), Json::from(feature.ty().name()));
    let given = [("name", &name), ("type", &ty)];
    let known = given.into_iter().filter(|(key, _)| def.settings.iter().any(|s| s.name == *key));
    let Ok(settings) = Settings::read(&def.settings, known, &|_| Some(feature.ty())) else {
        return false;
    };
    def.signature(&settings).is_ok_and(|signature| {
        let mut rules = signature.inputs.iter().flat_map(|socket| &socket.scope);
        rules.any(|rule| match rule {
            ScopeRule::Inject { feature: injected, .. }
            | ScopeRule::Each { feature: injected, .. } => injected == feature,
            ScopeRule::Modify { .. } | ScopeRule::Along { .. } => false,
        })
    })
}
