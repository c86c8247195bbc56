//! Upgrades of documents written by older releases.
//!
//! The format of documents and each node type have separate versions. Up to format 1, an upgrade
//! changes the JSON before it is read, and preserves the order of names and the positions of parts.
//! A node upgrade changes nodes after they have been read. The upgrade to format 2 needs the types
//! of all nodes, so it comes last. All upgrades proceed one version at a time.

mod node;
mod raw;
mod widths;

pub use node::{NodeUpgrade, upgrade_nodes};
pub(crate) use raw::Origins;
pub(crate) use widths::{Conversion, insert_conversions};

use raw::Raw;

/// An upgrade of the text of documents from one format to the next.
struct FormatUpgrade {
    from: u32,
    apply: fn(&mut Raw),
}

/// The newest format whose text differs from that of the one before.
pub(crate) const NEWEST_TEXT: u32 = 1;

/// All upgrades of texts; each has a fixture `tests/fixtures/format_N.mill.json`.
const FORMAT_UPGRADES: &[FormatUpgrade] = &[FormatUpgrade { from: 0, apply: from_draft }];

/// The text of a document in format [`NEWEST_TEXT`], and the positions of its parts in `text`.
pub(crate) fn upgraded_format(text: &str, version: u32) -> (String, Origins) {
    let mut document = Raw::read(text);
    for upgrade in FORMAT_UPGRADES.iter().filter(|upgrade| upgrade.from >= version) {
        (upgrade.apply)(&mut document);
    }
    document.written()
}

/// Format 0, the draft, had the links of a node under `links` as plain text, its graph inputs under
/// `inputs`, and `frame_rate` instead of `fps`.
fn from_draft(document: &mut Raw) {
    document.rename_key("frame_rate", "fps");
    draft_body(document);
    if let Some(groups) = document.get_mut("groups") {
        groups.values_mut().for_each(draft_body);
    }
}

fn draft_body(body: &mut Raw) {
    let Some(nodes) = body.get_mut("nodes") else { return };
    for node in nodes.values_mut() {
        for (old, source) in [("links", "from"), ("inputs", "input")] {
            let Some(links) = node.take(old) else { continue };
            for (socket, link) in links.into_entries() {
                let link = Raw::object_of(source, link);
                node.get_or_insert_object("in").push(socket, link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_older_text_has_one_upgrade() {
        let versions: Vec<u32> = FORMAT_UPGRADES.iter().map(|upgrade| upgrade.from).collect();
        assert_eq!(versions, (0..NEWEST_TEXT).collect::<Vec<_>>());
    }

    #[test]
    fn positions_refer_to_the_old_text() {
        let text = r#"{"nodes": {"n": {"type": "t", "links": {"a": "m.value"}}}}"#;
        let (new, origins) = upgraded_format(text, 0);
        assert_eq!(new, r#"{"nodes":{"n":{"type":"t","in":{"a":{"from":"m.value"}}}}}"#);
        let at = new.find("\"m.value\"").expect("the link exists");
        let span = origins.of(&(at..at + 9));
        assert_eq!(&text[span.start as usize..span.end as usize], "\"m.value\"");
    }
}
