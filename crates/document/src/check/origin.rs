//! Sources in checked bodies that nodes pass on, or negate.
//!
//! The search for cases follows such nodes in the document (see `grain::relays`). The copies for the
//! cases follow at least as many.

use millstream_base::{Type, Value};
use millstream_node::{Instance, Kernel, Law};

use crate::checked::{Body, Checked, CheckedKind, Passes, Source};
use crate::grain::MAX_NESTED;

/// The maximum number of nodes that pass on a value one after the other.
const MAX_RELAYS: usize = 1024;

/// Where a value comes from that nodes only pass on or negate.
pub(super) enum Origin {
    /// An input of the body, and whether it is negated.
    Input(u32, bool),
    /// A literal, with its negations.
    Literal(Value),
    /// Something else.
    Other,
}

/// Follows a source back through the nodes of a body that pass on or negate their input.
pub(super) fn origin(checked: &Checked, body: &Body, source: Source, depth: usize) -> Origin {
    let (mut at, mut is_negated) = (source, false);
    let literal = |value: &Value, is_negated: bool| match value.get::<bool>() {
        Some(truth) => Origin::Literal(Value::from(truth != is_negated)),
        None => Origin::Literal(value.clone()),
    };
    for _ in 0..MAX_RELAYS {
        let (node, output) = match at {
            Source::Literal(it) => return literal(&body.literals[it as usize], is_negated),
            Source::Input(input) => return Origin::Input(input, is_negated),
            Source::Node { node, output } => (&body.nodes[node as usize], output),
            Source::Wrong => return Origin::Other,
        };
        let (input, negates) = match &node.kind {
            CheckedKind::Muted(muted) => match muted.outputs[output as usize].passes {
                Passes::Source(at) => (at, false),
                Passes::Default(_) => return Origin::Other,
            },
            CheckedKind::Call(instance) => match relayed(instance) {
                Relayed::Input(input, negates) => (input, negates),
                Relayed::Truth(truth) => return literal(&Value::from(truth), is_negated),
                Relayed::Other => return Origin::Other,
            },
            CheckedKind::Group(inner) if depth < 2 * MAX_NESTED => {
                let inner = &checked.bodies[*inner];
                let output = &inner.outputs[output as usize];
                match origin(checked, inner, output.source, depth + 1) {
                    Origin::Input(input, negates)
                        if [inner.inputs[input as usize].ty, output.ty] == [Type::BOOL; 2] =>
                    {
                        (input, negates)
                    }
                    Origin::Literal(value) if output.ty == Type::BOOL => {
                        return literal(&value, is_negated);
                    }
                    Origin::Input(..) | Origin::Literal(_) | Origin::Other => return Origin::Other,
                }
            }
            CheckedKind::Group(_)
            | CheckedKind::Zone(_)
            | CheckedKind::Closure(_)
            | CheckedKind::Wrong => return Origin::Other,
        };
        (at, is_negated) = (body.sources_of(node)[input as usize], is_negated != negates);
    }
    Origin::Other
}

/// What a node passes on.
enum Relayed {
    /// An input, perhaps negated.
    Input(u32, bool),
    Truth(bool),
    Other,
}

fn relayed(instance: &Instance) -> Relayed {
    let is_single = instance.inputs.len() == 1 && instance.outputs.len() == 1;
    if is_single && matches!(instance.kernel, Kernel::Pass) {
        let is_same = instance.inputs[0].ty == instance.outputs[0].ty;
        return if is_same { Relayed::Input(0, false) } else { Relayed::Other };
    }
    if let Some(formula) = instance.def.formula_in(&instance.settings) {
        if let Some(truth) = formula.constant() {
            return Relayed::Truth(truth);
        }
        return match formula.negations() {
            Some((input, n)) if instance.inputs[input as usize].ty == Type::BOOL => {
                Relayed::Input(input, n % 2 == 1)
            }
            Some(_) | None => Relayed::Other,
        };
    }
    let negates = instance.def.laws.iter().any(|law| matches!(law, Law::Involution));
    if negates && is_single && instance.inputs[0].ty == Type::BOOL {
        return Relayed::Input(0, true);
    }
    Relayed::Other
}
