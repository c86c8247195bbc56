//! Extensions that a document declares as required.
//!
//! Most of them concern materials, textures and lights, which are not read, so they are ignored.

use ::gltf::{Document, Gltf};

use crate::error::{IoError, Spot, quoted};
use crate::guard::guarded;

use super::GLTF;

/// Extensions that do not change vertices and indices, in order.
const HARMLESS: [&str; 28] = [
    "EXT_lights_image_based",
    "EXT_mesh_gpu_instancing",
    "EXT_texture_avif",
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    // Attributes are read with the component types that it allows.
    "KHR_mesh_quantization",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp",
    "KHR_xmp_json_ld",
    "MSFT_lod",
    "MSFT_texture_dds",
];

/// The hint for an extension that is known to change vertices.
fn advice(name: &str) -> Option<&'static str> {
    match name {
        "KHR_draco_mesh_compression" => Some("turn off Draco compression"),
        "EXT_meshopt_compression" | "KHR_meshopt_compression" => {
            Some("turn off meshopt compression (gltfpack: neither -c nor -cc)")
        }
        _ => None,
    }
}

/// The hint for a document that requires these extensions.
fn hint(names: &[String]) -> String {
    let known: Vec<&str> = names.iter().filter_map(|name| advice(name)).collect();
    if known.is_empty() {
        return "export the mesh again without it: its effect on vertices is unknown".into();
    }
    format!("export the mesh again: {}", known.join(", "))
}

/// Reads and checks a document.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Gltf, IoError> {
    let Gltf { document, blob } =
        guarded(file, &GLTF, || Gltf::from_slice_without_validation(bytes))?;
    let mut root = document.into_json();
    // Files of a later minor version are valid files of this version with additional parts.
    let asset = &root.asset;
    let needed = asset.min_version.as_ref().unwrap_or(&asset.version);
    if !asset.version.starts_with("2.") || !matches!(needed.as_str(), "2.0" | "2.1") {
        let what = format!("version {} of glTF", quoted(needed));
        let hint = "export the mesh again as glTF 2.0";
        return Err(IoError::unsupported(Spot::file(file), what, hint));
    }
    let mut refused = std::mem::take(&mut root.extensions_required);
    refused.retain(|name| !HARMLESS.contains(&name.as_str()));
    if !refused.is_empty() {
        let hint = hint(&refused);
        let names: Vec<String> = refused.iter().map(|name| format!("`{name}`")).collect();
        let what = match &names[..] {
            [name] => format!("a mesh that requires the extension {name}"),
            names => format!("a mesh that requires the extensions {}", names.join(", ")),
        };
        return Err(IoError::unsupported(Spot::file(file), what, hint));
    }
    // Documents have to state bounds of positions. Many do not, and nothing here needs them.
    for accessor in &mut root.accessors {
        let none = || Some(serde_json::json!([0.0, 0.0, 0.0]));
        accessor.min = accessor.min.take().or_else(none);
        accessor.max = accessor.max.take().or_else(none);
    }
    let document = guarded(file, &GLTF, || Document::from_json(root))?;
    Ok(Gltf { document, blob })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requiring(names: &str) -> Result<Gltf, IoError> {
        let text = format!(
            r#"{{"asset": {{"version": "2.0"}}, "extensionsUsed": [{names}],
                 "extensionsRequired": [{names}]}}"#
        );
        parse("t.gltf", text.as_bytes())
    }

    fn refusal(names: &str) -> (String, String) {
        let error = requiring(names).map(|_| ()).expect_err("is refused");
        let help = miette::Diagnostic::help(&error).expect("the next step").to_string();
        (error.to_string(), help)
    }

    #[test]
    fn other_versions_are_refused() {
        for (asset, is_read) in [
            (r#""version": "2.0""#, true),
            (r#""version": "2.1", "minVersion": "2.0""#, true),
            (r#""version": "3.0""#, false),
            (r#""version": "1.0""#, false),
            (r#""version": "2.7", "minVersion": "2.7""#, false),
        ] {
            let text = format!(r#"{{"asset": {{{asset}}}, "meshes": []}}"#);
            let read = parse("t.gltf", text.as_bytes());
            assert_eq!(read.is_ok(), is_read, "{asset}");
            let error = read.err().map(|error| error.to_string());
            assert!(error.is_none_or(|error| error.contains("version `")), "{asset}");
        }
    }

    #[test]
    fn extensions_of_surfaces_are_ignored() {
        assert!(requiring("").is_ok());
        assert!(
            requiring(r#""KHR_texture_transform", "KHR_mesh_quantization", "KHR_materials_unlit""#)
                .is_ok()
        );
    }

    #[test]
    fn extensions_that_change_vertices_are_named_with_the_next_step() {
        let (message, help) = refusal(r#""KHR_texture_basisu", "KHR_draco_mesh_compression""#);
        assert_eq!(
            message,
            "`t.gltf` holds a mesh that requires the extension `KHR_draco_mesh_compression`, which \
             cannot be read"
        );
        assert!(help.contains("turn off Draco compression"), "{help}");
        let (message, help) = refusal(r#""ACME_secret", "EXT_meshopt_compression""#);
        assert!(message.contains("`ACME_secret`, `EXT_meshopt_compression`"), "{message}");
        assert!(help.starts_with("export the mesh again"), "{help}");
        assert!(help.contains("neither -c nor -cc"), "{help}");
        assert!(refusal(r#""ACME_secret""#).1.contains("is unknown"));
    }

    #[test]
    fn a_broken_document_is_still_refused() {
        let text = r#"{"asset": {"version": "2.0"}, "extensionsRequired": ["KHR_xmp"],
            "accessors": [{"bufferView": 7, "componentType": 5126, "count": 2, "type": "VEC3"}]}"#;
        assert!(matches!(parse("t.gltf", text.as_bytes()), Err(IoError::Syntax { .. })));
    }
}
