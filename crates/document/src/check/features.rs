//! Checks that each feature named in a document has one type.

use millstream_base::id::Arena;
use millstream_base::{Feature, Type};
use millstream_node::{Instance, Kernel, ScopeRule, Zone};
use rustc_hash::FxHashMap;

use super::error::CheckError;
use crate::at::{At, Part};
use crate::checked::{Body, BodyId, CheckedKind};
use crate::problems::Problems;

/// The first occurrence of a feature.
struct First {
    ty: Type,
    path: String,
}

/// Reports nodes that use a feature with another type than its first occurrence. Cost: linear in
/// nodes.
pub(super) fn check_features(bodies: &Arena<BodyId, Body>, problems: &mut Problems) {
    let mut firsts: FxHashMap<(bool, &str), First> = FxHashMap::default();
    for body in bodies.as_slice() {
        for node in &body.nodes {
            let CheckedKind::Call(instance) = &node.kind else { continue };
            let at = At::group(&body.name).part(Part::Node(&node.name));
            let all = with_parts(instance).flat_map(named_features);
            for (is_argument, name, ty) in all {
                let first = firsts
                    .entry((is_argument, name))
                    .or_insert_with(|| First { ty, path: at.path() });
                if first.ty != ty {
                    let (first_ty, first) = (first.ty, first.path.clone());
                    let error = CheckError::FeatureType { name: name.into(), ty, first_ty, first };
                    problems.report(at, node.span, &error);
                    break;
                }
            }
        }
    }
}

/// Marks the nodes that depend on the frame rate or on the frame at which state starts as wrong:
/// those that read or change the time, and those with state. Cost: linear in nodes.
pub(super) fn note_readers_of_time(bodies: &Arena<BodyId, Body>, problems: &mut Problems) {
    for body in bodies.as_slice() {
        for node in &body.nodes {
            let reads = match &node.kind {
                CheckedKind::Call(instance) => with_parts(instance).any(reads_time),
                CheckedKind::Zone(zone) => zone.course.mode.zone() == Zone::Simulate,
                CheckedKind::Group(_)
                | CheckedKind::Closure(_)
                | CheckedKind::Muted(_)
                | CheckedKind::Wrong => false,
            };
            if reads {
                problems.note_wrong(At::group(&body.name).part(Part::Node(&node.name)));
            }
        }
    }
}

/// The instances of the nodes of an expression, and the instance itself.
fn with_parts(instance: &Instance) -> impl Iterator<Item = &Instance> {
    let parts = instance.network.iter().flat_map(|network| &network.parts);
    parts.map(|part| &*part.instance).chain([instance])
}

/// Whether an instance reads or changes the time, or has state.
fn reads_time(instance: &Instance) -> bool {
    let is_time = |feature: &Feature| matches!(feature, Feature::Time | Feature::Tick);
    let kernel = match &instance.kernel {
        Kernel::Read { feature, .. } => is_time(feature),
        Kernel::ReadState(_) => true,
        Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass | Kernel::Choose => false,
    };
    let mut changed = instance.inputs.iter().flat_map(|slot| slot.scope.iter());
    kernel
        || instance.def.state.is_some()
        || instance.def.reads.iter().any(|need| is_time(&need.feature))
        || changed.any(|rule| is_time(rule.feature()))
}

/// The custom features that a node reads or changes: whether each is an argument, its name and its
/// type.
fn named_features(instance: &Instance) -> impl Iterator<Item = (bool, &str, Type)> {
    let read = match &instance.kernel {
        Kernel::Read { feature, .. } => Some(feature),
        Kernel::Form(_)
        | Kernel::Function(_)
        | Kernel::Pass
        | Kernel::Choose
        | Kernel::ReadState(_) => None,
    };
    let scoped = instance.inputs.iter().flat_map(|slot| slot.scope.iter());
    let features = read.into_iter().chain(scoped.map(ScopeRule::feature));
    let named = features.filter(|feature| !feature.is_built_in());
    named.map(|feature| (matches!(feature, Feature::Vararg(..)), feature.name(), feature.ty()))
}
