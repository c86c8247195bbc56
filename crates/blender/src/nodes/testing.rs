//! Forms of the nodes, for tests that run them on single values.

use std::sync::Arc;

use millstream_form::Form;
use millstream_node::{Kernel, Registry, Settings};
use serde_json::Value as Json;

/// The form of a node without generics, with these settings.
pub(super) fn form(name: &str, set: &Json) -> Arc<Form> {
    let mut registry = Registry::new();
    super::register(&mut registry);
    let def = registry.get(name).unwrap_or_else(|| panic!("no node {name}"));
    let given = set.as_object().expect("an object").iter().map(|(key, json)| (key.as_str(), json));
    let settings = Settings::read(&def.settings, given, &|_| None).expect("the settings are right");
    let n_sockets = def.signature(&settings).expect("it has a signature").inputs.len();
    let node = def.instantiate(settings, vec![], &vec![1; n_sockets]).expect("it is instantiable");
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    form
}
