//! Nodes that read the context, or change it for what is linked to them.
//!
//! Readers output the value of a feature. Injectors and modifiers pass on their input, which is
//! evaluated in the changed context. The scope of that input describes the change completely, so
//! the kernel of these nodes is [`Kernel::Pass`](millstream_node::Kernel::Pass).

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

/// The outermost level that can be read; a graph has at most 64 pairs of feature and level.
const MAX_LEVEL: i64 = 15;

/// Adds the setting `level`.
pub(crate) fn with_level(def: NodeDef) -> NodeDef {
    def.integer(
        "level",
        (0, MAX_LEVEL),
        0,
        "0 for the nearest injector on the way from the output, 1 for the next one outside it",
    )
}

/// The setting `level` of a node that has it.
pub(crate) fn level(settings: &Settings) -> u32 {
    settings.integer("level") as u32
}

/// The features along whose axis a node can run.
const AXES: &[(&str, &str)] = &[
    ("index", "elements of the request, or of the nearest enclosing list or loop"),
    ("time", "moments of the request; only one inside `context.with_time`"),
    ("tick", "frames of the request; only one inside `context.with_tick`"),
    ("footprint", "views of the request; only one inside `context.with_footprint`"),
];

/// Adds the settings `feature` and `level`, which name an axis.
pub(crate) fn with_axis(def: NodeDef) -> NodeDef {
    with_level(def.choice("feature", AXES, "index", "feature whose axis is used"))
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

/// Features whose names are chosen by the document.
#[derive(Clone, Copy)]
enum Named {
    Custom,
    Vararg,
}

/// Adds the settings that name a feature.
fn with_named_feature(def: NodeDef, named: Named) -> NodeDef {
    let about = match named {
        Named::Custom => "name of the feature; must not be that of a built-in feature",
        Named::Vararg => "name of the argument; must not be that of a built-in feature",
    };
    def.setting("name", SettingKind::Text, None, about).setting(
        "type",
        SettingKind::Type,
        Some(SettingValue::Type(Type::F32)),
        "its type; the same wherever the name is used",
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
        let message = format!("`{name}` contains a dot or a slash");
        return Err(refused(message, "use a name without `.` and `/`"));
    }
    if Feature::built_in(name).is_some() {
        let message = format!("`{name}` is a built-in feature");
        return Err(refused(message, "choose another name, or use the node for that feature"));
    }
    let ty = settings.ty("type").unwrap_or(Type::F32);
    Ok(match named {
        Named::Custom => Feature::Custom(name.into(), ty),
        Named::Vararg => Feature::Vararg(name.into(), ty),
    })
}
