//! Groups from other documents: those that a document uses, as they were read, and those that
//! define node types.
//!
//! Such a group is copied into the groups of the document when something uses it, so most groups of
//! a large library are never copied. A document that is reachable through several uses is named
//! after the first of them, so each of its groups is copied only once. The names contain a `/` or,
//! for node types, a `.`, which no name written by an author does.

use std::sync::Arc;

use millstream_base::UsedFile;
use millstream_base::diagnostics::Diagnostics;
use millstream_node::Registry;
use millstream_node::node_def::Body;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Document, GroupDef, Node, NodeKind};

/// The documents that a document uses; empty until they have been read.
///
/// All values are equal, so the equality of documents depends only on what their authors wrote.
#[derive(Clone, Default)]
pub struct Used(pub(crate) Option<Arc<UsedDocuments>>);

impl PartialEq for Used {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Used {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let documents = self.0.iter().flat_map(|used| &used.documents);
        f.debug_list().entries(documents.map(|document| &document.file)).finish()
    }
}

/// All documents that a document uses, directly or through others.
pub(crate) struct UsedDocuments {
    /// The documents that could be read.
    pub(crate) documents: Vec<UsedDocument>,
    /// The names of the document's own uses.
    pub(crate) names: UseNames,
    /// Problems with uses, locks, and documents as a whole.
    pub(crate) problems: Diagnostics,
}

/// The used documents by the names that a document gives them; `None` for one that cannot be used.
pub(crate) type UseNames = FxHashMap<Arc<str>, Option<u32>>;

/// A document that is used.
pub(crate) struct UsedDocument {
    /// Its file.
    pub(crate) file: Arc<UsedFile>,
    /// The names of the uses that lead to it, joined by `/`.
    pub(crate) prefix: Arc<str>,
    /// Its content.
    pub(crate) document: Document,
    /// The names of its own uses.
    pub(crate) names: UseNames,
    /// Problems with its parts, found while loading.
    pub(crate) problems: Diagnostics,
}

/// The meaning of the name of a group in another document.
#[derive(Clone, Copy)]
pub(crate) enum Find<'u> {
    /// A group of a used document, or the whole document if no group is named.
    Body(&'u UsedDocument, Option<&'u str>),
    /// Something in a document that cannot be used.
    Unusable,
    /// Nothing.
    Unknown,
}

impl UsedDocuments {
    fn follow<'u>(&'u self, names: &'u UseNames, name: &str) -> Find<'u> {
        let (mut names, mut left) = (names, name);
        loop {
            let (first, rest) = apart(left);
            let document = match names.get(first) {
                Some(Some(document)) => &self.documents[*document as usize],
                Some(None) => return Find::Unusable,
                None => return Find::Unknown,
            };
            match document.find(rest) {
                Find::Unknown => (names, left) = (&document.names, rest.unwrap_or_default()),
                found => return found,
            }
        }
    }
}

impl UsedDocument {
    /// A group of the document, or the document itself.
    fn find<'u>(&'u self, group: Option<&str>) -> Find<'u> {
        let Some(group) = group else { return Find::Body(self, None) };
        let group = self.document.groups.get_key_value(group);
        group.map_or(Find::Unknown, |(group, _)| Find::Body(self, Some(group)))
    }
}

/// The first name of a path, and the rest.
fn apart(name: &str) -> (&str, Option<&str>) {
    name.split_once('/').map_or((name, None), |(first, rest)| (first, Some(rest)))
}

/// The body of a node type that a compiled document defines.
pub fn node_body(name: &str, document: Document) -> Body {
    let name: Arc<str> = name.into();
    let file = UsedFile { road: Arc::clone(&name), name: Arc::clone(&name), text: [].into() };
    Arc::new(UsedDocument {
        file: Arc::new(file),
        prefix: name,
        document,
        names: UseNames::default(),
        problems: Diagnostics::new(),
    })
}

/// Resolves names of groups that belong to other documents.
#[derive(Clone, Copy)]
pub(crate) struct Elsewhere<'u> {
    used: Option<&'u UsedDocuments>,
    registry: &'u Registry,
}

impl<'u> Elsewhere<'u> {
    /// Follows a name, starting at the document itself.
    pub(crate) fn find(self, name: &str) -> Find<'u> {
        let (first, rest) = apart(name);
        let body = self.registry.get(first).and_then(|def| def.body.as_ref());
        if let Some(used) = body.and_then(|body| body.downcast_ref::<UsedDocument>()) {
            return used.find(rest);
        }
        self.used.map_or(Find::Unknown, |used| used.follow(&used.names, name))
    }

    /// The group of this name, as it is inside the document that uses it.
    fn group(self, name: &str) -> Option<GroupDef> {
        let Find::Body(used, group) = self.find(name) else { return None };
        let mut def = match group {
            Some(group) => used.document.groups[group].clone(),
            None => GroupDef {
                inputs: used.document.inputs.clone(),
                outputs: used.document.outputs.clone(),
                nodes: used.document.nodes.clone(),
                ..GroupDef::default()
            },
        };
        def.file = Some(Arc::clone(&used.file));
        def.is_of_format_1 = used.document.format == 1;
        let mut names: FxHashMap<Arc<str>, Arc<str>> = FxHashMap::default();
        for node in def.nodes.values_mut() {
            if let Some(group) = node.kind.group() {
                let name = names.entry(Arc::clone(group));
                let name = name.or_insert_with_key(|group| self.name_outside(used, group));
                node.kind = node.kind.renamed(Arc::clone(name));
            } else {
                self.use_body(&mut node.kind);
            }
        }
        Some(def)
    }

    /// The name, in the outermost document, of a group that a used document calls by this name.
    fn name_outside(self, used: &UsedDocument, group: &str) -> Arc<str> {
        let prefix = &used.prefix;
        if used.document.groups.contains_key(group) {
            return format!("{prefix}/{group}").into();
        }
        let found = self.used.map(|all| all.follow(&used.names, group));
        match found {
            Some(Find::Body(used, Some(group))) => format!("{}/{group}", used.prefix).into(),
            Some(Find::Body(used, None)) => Arc::clone(&used.prefix),
            Some(Find::Unusable | Find::Unknown) | None => format!("{prefix}/{group}").into(),
        }
    }

    /// Turns a node whose type is defined by a document into a use of that document.
    pub(crate) fn use_body(self, kind: &mut NodeKind) {
        if let NodeKind::Type(name) = kind
            && self.registry.with_bodies().contains(&**name)
        {
            *kind = NodeKind::Group(Arc::clone(name));
        }
    }
}

impl Document {
    /// Resolves names of groups that belong to other documents.
    pub(crate) fn elsewhere<'u>(&'u self, registry: &'u Registry) -> Elsewhere<'u> {
        Elsewhere { used: self.used.0.as_deref(), registry }
    }

    /// The names of groups that a wrong name may have meant: those of the used document that it
    /// leads to, or else those of the document itself.
    pub(crate) fn group_names(&self, name: &str, registry: &Registry) -> Vec<Arc<str>> {
        if let Some((road, _)) = name.rsplit_once('/') {
            let Find::Body(used, None) = self.elsewhere(registry).find(road) else {
                return Vec::new();
            };
            let groups = used.document.groups.keys();
            return groups.map(|group| format!("{road}/{group}").into()).collect();
        }
        let own = self.groups.iter().filter(|(_, group)| group.file.is_none());
        let own = own.map(|(name, _)| Arc::clone(name));
        own.chain(self.uses.keys().cloned()).collect()
    }

    /// The groups of other documents that a node needs to use a group of this name, outer ones
    /// first, without those that the document already has.
    pub(crate) fn groups_for(
        &self,
        name: &Arc<str>,
        registry: &Registry,
    ) -> Vec<(Arc<str>, GroupDef)> {
        let elsewhere = self.elsewhere(registry);
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut wanted = vec![Arc::clone(name)];
        while let Some(name) = wanted.pop() {
            if self.groups.contains_key(&name) || !seen.insert(Arc::clone(&name)) {
                continue;
            }
            let Some(def) = elsewhere.group(&name) else { continue };
            wanted.extend(def.nodes.values().filter_map(Node::group).cloned());
            found.push((name, def));
        }
        found
    }

    /// Copies the groups of other documents that nodes use.
    pub(crate) fn take_used_groups(&mut self, registry: &Registry) {
        if !registry.with_bodies().is_empty() {
            let elsewhere = Elsewhere { used: None, registry };
            let groups = self.groups.values_mut().map(|group| &mut group.nodes);
            for nodes in groups.chain([&mut self.nodes]) {
                nodes.values_mut().for_each(|node| elsewhere.use_body(&mut node.kind));
            }
        } else if self.used.0.is_none() {
            return;
        }
        let bodies = self.groups.values().map(|group| &group.nodes).chain([&self.nodes]);
        let names = bodies.flat_map(|nodes| nodes.values().filter_map(Node::group));
        let names: FxHashSet<Arc<str>> =
            names.filter(|name| !self.groups.contains_key(name)).cloned().collect();
        let mut names: Vec<Arc<str>> = names.into_iter().collect();
        names.sort_unstable();
        for name in names {
            for (name, def) in self.groups_for(&name, registry) {
                self.groups.insert(name, def);
            }
        }
    }
}
