//! The node library of the command line: Millstream's own node types, those of optional features,
//! and the documents that a document may use, in its directory and those of `--lib`.

use std::path::{Path, PathBuf};

use millstream::document::Folder;
use millstream::{Engine, Limits};

use crate::outcome::{Exit, Stop};
use crate::piped;
use crate::sources::Noted;

/// The flags that say where used documents are found.
#[derive(Clone, clap::Args)]
pub(crate) struct LibraryArgs {
    /// Also look for used documents in this directory
    #[arg(long = "lib", value_name = "DIR")]
    directories: Vec<PathBuf>,
}

impl LibraryArgs {
    /// The engine, with the documents that the document at this path may use.
    pub(crate) fn with_documents(&self, engine: Engine, document: &Path) -> Result<Engine, Stop> {
        let own = if piped::is_piped(document) {
            Folder::named(piped::name_of(document))
        } else {
            Folder::of(document)
        };
        let folder = self.directories.iter().try_fold(own, |folder, directory| {
            if !directory.is_dir() {
                let text = format!("`--lib {}` is not a directory", directory.display());
                return Err(Stop::new(Exit::Usage, text, Some("give a directory".into())));
            }
            Ok(folder.allow(directory))
        })?;
        Ok(engine.with_documents(Noted(folder)))
    }
}

/// An engine with the whole library.
pub(crate) fn engine(limits: Limits) -> Engine {
    let engine = Engine::new().with_limits(limits);
    #[cfg(feature = "blender")]
    let engine = engine.with_library(millstream_blender::register);
    engine
}
