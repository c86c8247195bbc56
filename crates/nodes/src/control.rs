//! Nodes that pass values on: switch, choice, reroute.
//!
//! The evaluator decides which element takes which source ([`Kernel::Choose`]), so that only the
//! sources that are taken are computed.

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
    NodeDef::new("control.switch", "Selects one of two values by a condition")
        .details(
            "Only the selected side is computed. If the condition is the same for all elements, \
             the other side does not run at all; if it differs, each side runs only for the \
             elements that select it. If both sides are cheap arithmetic, both may run for all \
             elements, which changes times and run counts but never results. Links may form a cycle \
             through switches if none is left whatever their conditions are.",
        )
        .generic("T", Among::Any)
        .input("condition", Type::BOOL, "whether to select `true`")
        .input_or("false", SocketType::Generic(0), Default::Zero, "value if the condition is false")
        .input_or("true", SocketType::Generic(0), Default::Zero, "value if the condition is true")
        .output("value", SocketType::Generic(0), "the selected value")
        .kernel(|_| Ok(Kernel::Choose))
        .chooses()
}

fn choose() -> NodeDef {
    NodeDef::new("control.choose", "Selects one of several values by index")
        .details(
            "An index below 0 selects the first item, one past the end selects the last. An item \
             is computed only for the elements that select it. Links may form a cycle through \
             choices if none is left whatever their indices are.",
        )
        .generic("T", Among::Any)
        .input_or("index", Type::I32, Default::Zero, "index of the item, from 0")
        .input("items", SocketType::Generic(0), "items to choose from, at least one")
        .multiple()
        .output("value", SocketType::Generic(0), "the selected item")
        .kernel(|parts| {
            if parts.inputs.len() < 2 {
                return Err(SettingError::refused("items", "a choice needs at least one item"));
            }
            Ok(Kernel::Choose)
        })
        .chooses()
}

fn pass() -> NodeDef {
    NodeDef::new("control.pass", "Passes a value on unchanged")
        .details("Routes links in large graphs. It costs nothing at run time.")
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
