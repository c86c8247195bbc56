//! Who may import whom. ARCHITECTURE.md draws the same table and says why.

use std::collections::BTreeSet;

/// Each crate with the crates of ours that it may depend on outside of tests.
const ALLOWED: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("form", &["base"]),
    ("node", &["base", "form"]),
    ("document", &["base", "node"]),
    ("ir", &["base", "form", "node"]),
    ("raster", &["base"]),
    ("nodes", &["base", "form", "node", "raster"]),
    ("compile", &["base", "form", "node", "document", "ir", "run"]),
    ("run", &["base", "form", "node", "ir"]),
    ("io", &["base"]),
    ("testkit", &["base", "form", "node", "document", "ir", "compile", "nodes"]),
    ("text", &["base", "node", "document"]),
    ("engine", &["base", "form", "node", "document", "ir", "compile", "run", "nodes", "text"]),
    ("blender", &["base", "form", "node", "nodes", "document", "engine"]),
    ("bake", &["base", "ir", "node", "run", "engine"]),
    ("cli", &["engine", "io", "blender", "bake"]),
];

fn package(folder: &str) -> String {
    if folder == "engine" { "millstream".into() } else { format!("millstream-{folder}") }
}

fn dependencies(folder: &str) -> BTreeSet<String> {
    let path = crate::root().join("crates").join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).expect("each crate has a manifest");
    let manifest: toml::Table = text.parse().expect("the manifest is TOML");
    assert_eq!(manifest["package"]["name"].as_str(), Some(&*package(folder)));
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table.into_iter().flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn every_crate_is_in_the_table() {
    let folders: BTreeSet<String> = std::fs::read_dir(crate::root().join("crates"))
        .expect("the crates lie in a folder")
        .map(|entry| entry.expect("the folder is readable").file_name())
        .map(|name| name.into_string().expect("folders have plain names"))
        .collect();
    let listed: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| (*name).into()).collect();
    assert_eq!(folders, listed);
}

#[test]
fn crates_import_only_what_the_table_allows() {
    let ours: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| package(name)).collect();
    for (folder, allowed) in ALLOWED {
        let allowed: BTreeSet<String> = allowed.iter().map(|name| package(name)).collect();
        let imported: BTreeSet<String> =
            dependencies(folder).intersection(&ours).cloned().collect();
        let extra: Vec<&String> = imported.difference(&allowed).collect();
        assert!(extra.is_empty(), "{folder} imports {extra:?}");
    }
}
