//! Licences of all dependencies: permissive ones only.

use std::process::Command;

use serde_json::Value;

/// Licences under which the parts of a program may come without asking anything of its author but
/// a notice.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

fn is_permissive(expression: &str) -> bool {
    let Ok(expression) = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX) else {
        return false;
    };
    expression.evaluate(|requirement| {
        requirement.license.id().is_some_and(|id| PERMISSIVE.contains(&id.name))
    })
}

#[test]
fn all_dependencies_are_under_permissive_licences() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(crate::root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("the metadata lists packages");
    let mut refused = Vec::new();
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_permissive(licence) {
            refused.push(format!("{} {}: `{licence}`", package["name"], package["version"]));
        }
    }
    assert!(packages.len() > 20, "the metadata lists the dependencies");
    assert!(refused.is_empty(), "\n{}", refused.join("\n"));
}

#[test]
fn copyleft_and_unknown_licences_are_refused() {
    assert!(is_permissive("MIT OR Apache-2.0"));
    assert!(is_permissive("MIT/Apache-2.0"));
    assert!(!is_permissive("GPL-3.0-only"));
    assert!(!is_permissive("MIT AND MPL-2.0"));
    assert!(!is_permissive(""));
}
