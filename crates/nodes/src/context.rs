//! Nodes that read the context or change it for what is linked to them.
//!
//! Readers hand a feature's value over; injectors and modifiers hand their input on, which is
//! evaluated in the changed context. The scope of that input says all there is to say, so their
//! kernel is [`Kernel::Pass`](millstream_node::Kernel::Pass).

mod read;
mod scope;
#[cfg(test)]
mod tests;

use millstream_base::{Feature, Type};
use millstream_node::{NodeDef, Registry, ScopeRule, SettingKind, SettingValue};
use millstream_node::{settings::SettingError, settings::Settings};

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

/// The features whose axis a node can run along.
const AXES: &[(&str, &str)] = &[
    ("index", "the elements of the request, or of the nearest list or loop that counts"),
    ("time", "the moments of the request; extent 1 inside `context.with_time`"),
    ("tick", "the frames of the request; extent 1 inside `context.with_tick`"),
];

/// Adds the settings `feature` and `level`, which name an axis.
pub(crate) fn with_axis(def: NodeDef) -> NodeDef {
    with_level(def.setting(
        "feature",
        SettingKind::Choice(AXES),
        Some(SettingValue::Text("index".into())),
        "whose axis",
    ))
}

/// The axis that the settings name.
pub(crate) fn axis(settings: &Settings) -> (Feature, u32) {
    let feature = Feature::built_in(settings.text("feature"));
    (feature.expect("the choices are built-in features"), level(settings))
}

/// The rule of a socket that runs along the axis that the settings name.
pub(crate) fn along(settings: &Settings) -> ScopeRule {
    let (feature, level) = axis(settings);
    ScopeRule::Along { feature, level }
}

/// Features that documents name.
#[derive(Clone, Copy)]
enum Named {
    Custom,
    Vararg,
}

/// Adds the settings that name a feature.
fn with_named_feature(def: NodeDef, named: Named) -> NodeDef {
    let about = match named {
        Named::Custom => "name of the feature; not that of a built-in one",
        Named::Vararg => "name of the argument; not that of a built-in feature",
    };
    def.setting("name", SettingKind::Text, None, about).setting(
        "type",
        SettingKind::Type,
        Some(SettingValue::Type(Type::F32)),
        "its type, the same wherever the name occurs",
    )
}

/// The feature that the settings name.
fn named_feature(settings: &Settings, named: Named) -> Result<Feature, SettingError> {
    let refused = |message: String, hint: &str| SettingError::Refused {
        name: "name".into(),
        message,
        range: None,
        hint: Some(hint.into()),
    };
    let name = settings.text("name");
    if name.is_empty() {
        return Err(refused("it is empty".into(), "give it a name"));
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
    Ok(match named {
        Named::Custom => Feature::Custom(name.into(), ty),
        Named::Vararg => Feature::Vararg(name.into(), ty),
    })
}
