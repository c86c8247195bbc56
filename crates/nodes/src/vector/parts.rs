//! Vectors from components and back.

use millstream_base::Type;
use millstream_node::settings::SettingError;
use millstream_node::{Among, NodeDef, Registry, SettingKind, SettingValue, Settings, Signature};

use super::T;
use crate::shape::sockets_of;

pub(super) fn register(registry: &mut Registry) {
    for (n, ty, combine, separate) in [
        (2, Type::VEC2, "vector.combine_vec2", "vector.separate_vec2"),
        (3, Type::VEC3, "vector.combine_vec3", "vector.separate_vec3"),
        (4, Type::VEC4, "vector.combine_vec4", "vector.separate_vec4"),
    ] {
        registry.register(combined(combine, ty, n));
        registry.register(separated(separate, ty, n));
    }
    registry.register(swizzle());
}

const COMPONENTS: [(&str, &str); 4] = [
    ("x", "first component"),
    ("y", "second component"),
    ("z", "third component"),
    ("w", "fourth component"),
];

fn combined(name: &'static str, ty: Type, n: usize) -> NodeDef {
    let def = NodeDef::new(name, format!("A {ty} from its components"));
    COMPONENTS[..n]
        .iter()
        .fold(def, |def, (name, about)| def.input_or(*name, Type::F32, 0.0, *about))
        .output("value", ty, "combined vector")
        .form(|_, inputs| vec![inputs.iter().map(|x| x[0]).collect()])
}

fn separated(name: &'static str, ty: Type, n: usize) -> NodeDef {
    let def = NodeDef::new(name, format!("The components of a {ty}")).converts().input_or(
        "vector",
        ty,
        0.0,
        "vector to separate",
    );
    COMPONENTS[..n]
        .iter()
        .fold(def, |def, (name, about)| def.output(*name, Type::F32, *about))
        .form(|_, inputs| inputs[0].iter().map(|x| vec![*x]).collect())
}

/// The indices of the components that the setting names.
fn picked(settings: &Settings) -> Result<Vec<usize>, SettingError> {
    let refused = |message: String, range: Option<(usize, usize)>| SettingError::Refused {
        name: "components".into(),
        message,
        range,
        hint: Some("write one to four of the letters x, y, z and w".into()),
    };
    let text = settings.text("components");
    let mut positions = Vec::new();
    for (at, letter) in text.char_indices() {
        let position = COMPONENTS.iter().position(|(name, _)| name.starts_with(letter));
        positions.push(position.ok_or_else(|| {
            refused(format!("`{letter}` is not a component"), Some((at, at + letter.len_utf8())))
        })?);
    }
    match positions.len() {
        1..=4 => Ok(positions),
        n => Err(refused(format!("it names {n} components"), None)),
    }
}

fn swizzle_sockets(settings: &Settings) -> Result<Signature, SettingError> {
    let positions = picked(settings)?;
    let among = match positions.iter().max() {
        Some(3) => Among::These(&[Type::VEC4]),
        Some(2) => Among::These(&[Type::VEC3, Type::VEC4]),
        Some(_) | None => super::VECTORS,
    };
    let ty = [Type::F32, Type::VEC2, Type::VEC3, Type::VEC4][positions.len() - 1];
    let sockets = NodeDef::new("", "")
        .generic("T", among)
        .input_or("vector", T, 0.0, "vector that has these components")
        .output("value", ty, "selected components in that order");
    Ok(sockets_of(&sockets))
}

fn swizzle() -> NodeDef {
    NodeDef::new("vector.swizzle", "Selects components of a vector in any order")
        .details(
            "`zyx` reverses a vec3, `xy` drops the components after y, `xxx` repeats x, `w` gives \
             a single number.",
        )
        .setting(
            "components",
            SettingKind::Text,
            Some(SettingValue::Text("xyz".into())),
            "one to four of the letters x, y, z and w",
        )
        .sockets_by_settings(swizzle_sockets)
        .kernel(|parts| {
            let positions = picked(parts.settings)?;
            Ok(parts.form(&|_, inputs| vec![positions.iter().map(|at| inputs[0][*at]).collect()]))
        })
}
