//! Properties of every node type: a complete manual entry, instances for all settings and types.

use std::sync::Arc;

use millstream_node::node_def::InstanceError;
use millstream_node::settings::SettingKind;
use millstream_node::{Kernel, NodeDef, Settings};
use serde_json::{Map, Value as Json};

use crate::run::{all_generics, lanes, run, settings};

/// The default settings, then each choice and flag alone.
pub(crate) fn all_settings(def: &NodeDef) -> Vec<Settings> {
    let mut all = vec![settings(def, &Map::new())];
    for setting in &def.settings {
        let values: Vec<Json> = match &setting.kind {
            SettingKind::Choice(choices) => {
                choices.iter().map(|(name, _)| (*name).into()).collect()
            }
            SettingKind::Flag => vec![true.into(), false.into()],
            SettingKind::Integer(min, max) => vec![(*min).into(), (*max).into()],
            SettingKind::Text
            | SettingKind::Number
            | SettingKind::Type
            | SettingKind::Texts
            | SettingKind::Numbers => vec![],
        };
        for value in values {
            all.push(settings(def, &Map::from_iter([(setting.name.to_string(), value)])));
        }
    }
    all
}

/// Missing parts of the manual entry of a node type.
fn missing_in_manual(def: &NodeDef) -> Vec<String> {
    let mut missing = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            missing.push(format!("{}: {what}", def.name));
        }
    };
    let manual = &def.manual;
    let one_line = !manual.summary.is_empty() && !manual.summary.contains('\n');
    check(one_line, "a summary of one line");
    check(!manual.summary.ends_with('.'), "a summary without a final stop");
    let blanks = manual.details.contains("  ") || manual.source.contains("  ");
    check(!blanks, "text without double blanks");
    for setting in &def.settings {
        check(!setting.about.is_empty(), &format!("a line about setting {}", setting.name));
    }
    for settings in all_settings(def) {
        let signature = def.signature(&settings).unwrap();
        if let [only] = signature.outputs.as_slice() {
            check(only.name == "value", "a single output called value");
        }
    }
    missing
}

#[test]
fn manual_entries_are_complete() {
    let registry = crate::registry();
    let missing: Vec<String> = registry.iter().flat_map(|def| missing_in_manual(def)).collect();
    assert!(missing.is_empty(), "these lack:\n{}", missing.join("\n"));
}

#[test]
fn every_type_and_setting_makes_an_instance() {
    let registry = crate::registry();
    for def in registry.iter() {
        for settings in all_settings(def) {
            for generics in all_generics(def, &settings) {
                for n_sources in 0..4 {
                    check_instance(def, &settings, &generics, n_sources);
                }
            }
        }
    }
}

fn check_instance(
    def: &Arc<NodeDef>,
    settings: &Settings,
    generics: &[millstream_base::Type],
    n_sources: u16,
) {
    let signature = def.signature(settings).unwrap();
    let multiple = signature.inputs.iter().any(|socket| socket.multiple);
    if n_sources != 1 && !multiple {
        return;
    }
    let arities: Vec<u16> =
        signature.inputs.iter().map(|socket| if socket.multiple { n_sources } else { 1 }).collect();
    let instance = match def.instantiate(settings.clone(), generics.to_vec(), &arities) {
        Ok(instance) => instance,
        // A node may require at least one source.
        Err(InstanceError::Setting(_)) if n_sources == 0 => return,
        // The weights must fill rows of the width.
        Err(InstanceError::Setting(_))
            if def.name == "image.convolve"
                && settings.numbers("weights").len() as i64 % settings.integer("width") != 0 =>
        {
            return;
        }
        Err(error) => panic!("{}{generics:?} {settings:?}: {error}", def.name),
    };
    let mut defaults = Vec::new();
    for slot in &instance.inputs {
        let socket = &signature.inputs[slot.socket as usize];
        if let Some(value) = socket.default.value(slot.ty) {
            assert_eq!(value.ty(), slot.ty, "{}: default of {}", def.name, socket.name);
            defaults.push(value);
        } else {
            defaults.push(slot.ty.default_value());
        }
    }
    if let Kernel::Form(form) = &instance.kernel {
        form.verify().unwrap_or_else(|error| panic!("{}: {error}", def.name));
        assert_eq!(form.params.len(), lanes(&defaults).len(), "{}", def.name);
        for (output, value) in instance.outputs.iter().zip(run(&instance, &defaults)) {
            assert_eq!(output.ty, value.ty());
        }
    }
}
