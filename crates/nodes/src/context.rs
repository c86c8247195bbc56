//! Nodes that read the context or change it for what is linked to them.
//!
//! Readers hand a feature's value over; injectors and modifiers hand their input on, which is
//! evaluated in the changed context. The scope of that input says all there is to say, so their
//! kernel is [`Kernel::Pass`](millstream_kernel::Kernel::Pass).

mod read;
mod scope;
#[cfg(test)]
mod tests;

use millstream_base::{Feature, Type};
use millstream_kernel::settings::{SettingError, Settings};
use millstream_kernel::{NodeDef, Registry, SettingKind, SettingValue};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    read::register(registry);
    scope::register(registry);
}

/// Levels go this far out; a graph has at most 64 pairs of feature and level.
const MAX_LEVEL: i64 = 15;

/// Adds the setting `level`.
pub(crate) fn with_level(def: NodeDef) -> NodeDef {
    def.setting(
        "level",
        SettingKind::Integer(0, MAX_LEVEL),
        Some(SettingValue::Integer(0)),
        "0 for the nearest injector on the way from the output, 1 for the one outside it",
    )
}

/// The setting `level` of a node that has it.
pub(crate) fn level(settings: &Settings) -> u32 {
    settings.integer("level") as u32
}

/// Adds the settings that name a feature of the document's own.
fn with_custom_feature(def: NodeDef) -> NodeDef {
    let about = "name of the feature; not that of a built-in one";
    def.setting("name", SettingKind::Text, None, about).setting(
        "type",
        SettingKind::Type,
        Some(SettingValue::Type(Type::F32)),
        "its type, the same wherever the name occurs",
    )
}

/// The feature that the settings name.
fn custom_feature(settings: &Settings) -> Result<Feature, SettingError> {
    let refused = |message: String, hint: &str| SettingError::Refused {
        name: "name".into(),
        message,
        range: None,
        hint: Some(hint.into()),
    };
    let name = settings.text("name");
    if name.is_empty() {
        return Err(refused("it is empty".into(), "give the feature a name"));
    }
    if name.contains(['.', '/']) {
        let message = format!("`{name}` holds a dot or a slash");
        return Err(refused(message, "names hold no `.` and no `/`"));
    }
    if Feature::built_in(name).is_some() {
        let message = format!("`{name}` is a built-in feature");
        return Err(refused(message, "choose another name, or the node for that feature"));
    }
    let ty = settings.ty("type").unwrap_or(Type::F32);
    Ok(Feature::Custom(name.into(), ty))
}
