//! The content of baked files, by which a bake knows its own files again.

use std::collections::BTreeMap;
use std::path::Path;

use millstream_bake::Key;
use millstream_io::Complete;
use serde_json::{Value as Json, json};

use super::manifest::Manifest;
use crate::outcome::Stop;
use crate::save::not_written;

/// The size and the hash of a file. Manifests of earlier versions have no hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) bytes: u64,
    hash: Option<String>,
}

/// The history of each file that holds a single frame, as the lines of a manifest tell it in order.
#[derive(Debug, Default)]
pub(super) struct Histories(BTreeMap<String, History>);

#[derive(Debug, Default)]
struct History {
    /// The contents that lines announce and no later line confirms.
    pending: Vec<Content>,
    /// The content that the last line about the frame records.
    last: Option<Content>,
    /// Whether two contents were pending at the same time. The order of the lines may then differ
    /// from the order in which the files replaced each other.
    is_doubtful: bool,
}

impl Histories {
    /// The file is about to be written.
    pub(super) fn will_write(&mut self, name: &str, content: Content) {
        let history = self.0.entry(name.to_owned()).or_default();
        history.pending.retain(|it| *it != content);
        history.is_doubtful |= !history.pending.is_empty();
        history.pending.push(content);
    }

    /// A frame was recorded with this content of the file.
    pub(super) fn recorded(&mut self, name: &str, content: &Content) {
        let history = self.0.entry(name.to_owned()).or_default();
        history.pending.retain(|it| it != content);
        history.is_doubtful |= !history.pending.is_empty();
        history.last = Some(content.clone());
    }

    /// Whether the file has the content. The file is only read if the lines do not tell, because a
    /// bake was killed or several ran at the same time.
    pub(super) fn holds(&self, folder: &Path, name: &str, content: &Content) -> bool {
        let path = folder.join(name);
        let is_last = self.0.get(name).is_some_and(|history| {
            history.pending.is_empty()
                && !history.is_doubtful
                && history.last.as_ref() == Some(content)
        });
        if is_last {
            path.metadata().is_ok_and(|data| data.len() == content.bytes)
        } else {
            content.hash.is_some() && Content::of(&path).is_ok_and(|found| content.is(&found))
        }
    }
}

/// The files that a manifest lists, each with every content that it may have.
pub(super) type Listed = BTreeMap<String, Vec<Content>>;

impl Content {
    /// The content of a file.
    pub(super) fn of(path: &Path) -> std::io::Result<Self> {
        let (bytes, key) = Key::of_file(path)?;
        Ok(Self { bytes, hash: Some(key.to_string()) })
    }

    /// Whether a file with the other content is this one, as far as this one is known.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.bytes == other.bytes && (self.hash.is_none() || self.hash == other.hash)
    }

    /// The content of an entry of a manifest.
    pub(super) fn of_entry(entry: &Json) -> Option<Self> {
        let hash = entry["hash"].as_str().map(str::to_owned);
        Some(Self { bytes: entry["bytes"].as_u64()?, hash })
    }
}

/// The entry of a file in a manifest.
pub(super) fn entry(name: &str, content: Option<&Content>) -> Json {
    match content {
        Some(Content { bytes, hash: Some(hash) }) => {
            json!({ "name": name, "bytes": bytes, "hash": hash })
        }
        Some(Content { bytes, hash: None }) => json!({ "name": name, "bytes": bytes }),
        None => json!({ "name": name }),
    }
}

/// Adds the content that a file may have.
pub(super) fn add(listed: &mut Listed, name: &str, content: Option<Content>) {
    let known = listed.entry(name.to_owned()).or_default();
    known.extend(content.filter(|content| !known.contains(content)));
}

/// Gives complete files their names, after the manifest lists them. So a bake that is killed leaves
/// no file that no manifest lists.
pub(super) fn publish(complete: Vec<Complete>, manifest: &mut Manifest) -> Result<(), Stop> {
    let mut contents = Listed::new();
    for file in &complete {
        let content =
            Content::of(file.path()).map_err(|error| not_written(file.named(), &error))?;
        if let Some(name) = file.named().file_name() {
            add(&mut contents, &name.to_string_lossy(), Some(content));
        }
    }
    manifest.will_write(contents)?;
    for file in complete {
        let target = file.named().to_owned();
        file.name().map_err(|error| not_written(&target, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use millstream_io::{held, write_file};

    use super::*;
    use crate::bake::manifest::{self, Header};
    use crate::bake::saves::Outdated;

    #[test]
    fn files_are_read_if_the_lines_leave_their_content_open() {
        let folder = std::env::temp_dir().join(format!("millstream-{}-open", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be made");
        let content = |text: &str| {
            std::fs::write(folder.join("a"), text).expect("it can be written");
            Content::of(&folder.join("a")).expect("it can be read")
        };
        let (one, two) = (content("one"), content("two"));
        let told = |lines: &[(bool, &Content)]| {
            let mut histories = Histories::default();
            for (is_record, content) in lines {
                if *is_record {
                    histories.recorded("a", content);
                } else {
                    histories.will_write("a", (*content).clone());
                }
            }
            [&one, &two].map(|it| histories.holds(&folder, "a", it))
        };
        // The file holds "two".
        let (write, record) = (|it| (false, it), |it| (true, it));
        assert_eq!(told(&[write(&one), record(&one), write(&two), record(&two)]), [false, true]);
        // Lines in the order of their files are believed, so that files need not be read.
        assert_eq!(told(&[write(&two), record(&two), write(&one), record(&one)]), [true, true]);
        assert_eq!(told(&[write(&one), record(&one), write(&two)]), [false, true]);
        assert_eq!(told(&[write(&one), write(&two), record(&two), record(&one)]), [false, true]);
        assert_eq!(told(&[write(&two), write(&one), record(&one)]), [false, true]);
        std::fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn files_of_a_frame_that_was_not_finished_are_known_again() {
        let folder = std::env::temp_dir().join(format!("millstream-{}-half", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be made");
        let header = Header { document: "a.mill", fps: 24.0, view: None };
        let manifest = Manifest::open(&folder, &header, String::new());
        let mut manifest = manifest.unwrap_or_else(|stop| panic!("{stop:?}"));
        let write = |name: &str, bytes: &[u8]| write_file(&folder.join(name), bytes);
        let (done, complete) = held(|| write("a", b"one").and_then(|()| write("b", b"two")));
        done.expect("they can be written");
        assert!(!folder.join("a").exists() && complete.len() == 2);
        // The second one cannot get its name, as if the bake were killed after the first one.
        std::fs::create_dir(folder.join("b")).expect("it can be made");
        assert!(publish(complete, &mut manifest).is_err() && folder.join("a").exists());
        let outdated = || {
            let listed = manifest::listed(&folder).unwrap_or_else(|stop| panic!("{stop:?}"));
            Outdated::of(listed)
        };
        // A file that someone put there since remains, also if it is as long.
        std::fs::write(folder.join("a"), "mine").expect("it can be written");
        let mut kept = outdated();
        kept.remove(&folder, "a").unwrap_or_else(|stop| panic!("{stop:?}"));
        assert_eq!((kept.foreign, kept.removed), (vec!["a".to_owned()], vec![]));
        std::fs::write(folder.join("a"), "two").expect("it can be written");
        let mut kept = outdated();
        kept.remove(&folder, "a").unwrap_or_else(|stop| panic!("{stop:?}"));
        assert_eq!((kept.foreign, kept.removed), (vec!["a".to_owned()], vec![]));
        std::fs::write(folder.join("a"), "one").expect("it can be written");
        let mut removed = outdated();
        removed.remove(&folder, "a").unwrap_or_else(|stop| panic!("{stop:?}"));
        assert_eq!((removed.foreign, removed.removed), (vec![], vec!["a".to_owned()]));
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
