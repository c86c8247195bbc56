//! Nodes that hand values on: switch, choice, reroute.
//!
//! Which element takes which source is the evaluator's work ([`Kernel::Choose`]), so that only
//! what is taken is computed.

use millstream_base::Type;
use millstream_node::settings::SettingError;
use millstream_node::{Among, Default, Kernel, NodeDef, Registry, SocketType};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(switch());
    registry.register(choose());
    registry.register(pass());
}

fn switch() -> NodeDef {
    NodeDef::new("control.switch", "One of two values, by a condition")
        .details(
            "Only what is taken is computed: where the condition is one value for all elements, the \
             other side does not run at all; where it differs, each side runs for the elements that \
             take it, or, if both are cheap arithmetic, for all, which shows in nothing but times and counts.",
        )
        .generic("T", Among::Any)
        .input("condition", Type::BOOL, "which side is taken")
        .input("false", SocketType::Generic(0), "taken where the condition does not hold")
        .or(Default::Zero)
        .input("true", SocketType::Generic(0), "taken where the condition holds")
        .or(Default::Zero)
        .output("value", SocketType::Generic(0), "the side that is taken")
        .kernel(|_| Ok(Kernel::Choose))
}

fn choose() -> NodeDef {
    NodeDef::new("control.choose", "One of many values, by number")
        .details(
            "An index below 0 takes the first item, one past the end takes the last. Only items that \
             some element takes are computed, and only for those elements.",
        )
        .generic("T", Among::Any)
        .input("index", Type::I32, "number of the item that is taken, from 0")
        .or(Default::Zero)
        .input("items", SocketType::Generic(0), "what is chosen from, at least one")
        .multiple()
        .output("value", SocketType::Generic(0), "the item that is taken")
        .kernel(|parts| {
            if parts.inputs.len() < 2 {
                return Err(SettingError::refused("items", "a choice needs at least one item"));
            }
            Ok(Kernel::Choose)
        })
}

fn pass() -> NodeDef {
    NodeDef::new("control.pass", "The value as it is")
        .details("For tidy graphs: a link can be led through it. It costs nothing at run time.")
        .generic("T", Among::Any)
        .input("value", SocketType::Generic(0), "any value")
        .output("value", SocketType::Generic(0), "the same value")
        .kernel(|_| Ok(Kernel::Pass))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use millstream_node::Settings;

    #[test]
    fn a_choice_without_items_is_refused() {
        let def = Arc::new(choose());
        let made = |n| def.instantiate(Settings::default(), vec![Type::STRING], &[1, n]);
        let error = made(0).expect_err("nothing to choose from");
        assert_eq!(error.to_string(), "setting `items`: a choice needs at least one item");
        let instance = made(3).expect("three items");
        assert!(matches!(instance.kernel, Kernel::Choose));
        assert_eq!(instance.inputs.len(), 4);
    }

    #[test]
    fn a_switch_takes_false_before_true() {
        let def = switch();
        let signature = def.fixed_signature().expect("fixed");
        assert_eq!((signature.input("false"), signature.input("true")), (Some(1), Some(2)));
    }
}
