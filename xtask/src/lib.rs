//! Checks on the repository itself: which crate imports which, how long files and functions are,
//! and what documents must not contain. Run with `cargo test -p xtask`.

#[cfg(test)]
mod layers;
#[cfg(test)]
mod licences;
#[cfg(test)]
mod modules;
#[cfg(test)]
mod sources;

#[cfg(test)]
use std::path::{Path, PathBuf};

/// The root of the repository.
#[cfg(test)]
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}
