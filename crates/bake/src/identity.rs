//! Identifies the work of an instance across all runs of the program.

use std::fmt::Write as _;

use millstream_node::settings::SettingValue;
use millstream_node::{Instance, Kernel};

use crate::key::{Key, KeyHasher};

/// The key of an instance: node type with version, settings, types, and changes of the context. For
/// forms and repeats, the work itself is part of the key; for other functions, the version of the
/// node type is.
pub(crate) fn identity(instance: &Instance) -> Key {
    let mut hash = KeyHasher::new("instance");
    hash.text(instance.name());
    hash.number(instance.def.version.into());
    for (name, value) in instance.settings.iter() {
        hash.text(name);
        setting(value, &mut hash);
    }
    for ty in &instance.generics {
        hash.text(ty.name());
    }
    for input in &instance.inputs {
        hash.number(input.socket.into());
        hash.text(input.ty.name());
        // A rule is a feature, positions of inputs, and perhaps a form.
        hash.text(&format!("{:?}", input.scope));
    }
    for output in &instance.outputs {
        hash.text(output.ty.name());
    }
    match &instance.kernel {
        Kernel::Form(form) => hash.text(&form.to_string()),
        Kernel::Function(_) => hash.text("function"),
        Kernel::Read { feature, level, aspect } => {
            hash.text(&format!("{feature:?} {level} {aspect:?}"));
        }
        Kernel::Pass => hash.text("pass"),
        Kernel::Choose => hash.text("choose"),
        Kernel::ReadState(needs) => hash.text(&format!("{needs:?}")),
    }
    hash.key()
}

fn setting(value: &SettingValue, hash: &mut KeyHasher) {
    let mut text = String::new();
    let mut bits = |x: f64| write!(text, "{:x} ", x.to_bits());
    let written = match value {
        SettingValue::Number(x) => bits(*x),
        SettingValue::Numbers(all) => all.iter().try_for_each(|x| bits(*x)),
        SettingValue::Text(_)
        | SettingValue::Integer(_)
        | SettingValue::Flag(_)
        | SettingValue::Type(_)
        | SettingValue::Texts(_) => write!(text, "{value:?}"),
    };
    written.expect("writing to a string does not fail");
    hash.text(&text);
}
