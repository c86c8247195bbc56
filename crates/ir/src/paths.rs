//! Paths of nodes, stored as a tree so that expanded groups share their prefixes.

use std::sync::Arc;

use millstream_base::NodePath;
use millstream_base::id::{Arena, Id};
use rustc_hash::FxHashSet;

millstream_base::define_id!(PathId, "p", "The place of a node in the authored document.");

/// The paths of a graph's nodes.
#[derive(Clone, Debug)]
pub struct Paths {
    entries: Arena<PathId, Entry>,
    /// The groups that the memo stores as one entry.
    whole: FxHashSet<PathId>,
    /// The paths of inserted conversions.
    conversions: FxHashSet<PathId>,
}

#[derive(Clone, Debug)]
struct Entry {
    parent: PathId,
    name: Arc<str>,
}

impl Default for Paths {
    fn default() -> Self {
        Self::new()
    }
}

impl Paths {
    /// The paths of a graph without nodes: only the root.
    pub fn new() -> Self {
        let root = Entry { parent: PathId::from_index(0), name: "".into() };
        let (whole, conversions) = (FxHashSet::default(), FxHashSet::default());
        Self { entries: std::iter::once(root).collect(), whole, conversions }
    }

    /// The path of the document itself, which is empty.
    pub fn root() -> PathId {
        PathId::from_index(0)
    }

    /// Makes room for `n` more paths.
    pub fn reserve(&mut self, n: usize) {
        self.entries.reserve(n);
    }

    /// Number of paths, including the root.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Always false, since the root is a path.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The path of `name` inside the group at `parent`.
    pub fn child(&mut self, parent: PathId, name: Arc<str>) -> PathId {
        self.entries.push(Entry { parent, name })
    }

    /// The path of a conversion that is inserted for the reader at this path, or for an output if
    /// it is the root: an id of its own with the same names.
    pub fn conversion(&mut self, reader: PathId) -> PathId {
        let Entry { parent, name } = &self.entries[reader];
        let entry = Entry { parent: *parent, name: Arc::clone(name) };
        let path = self.entries.push(entry);
        self.conversions.insert(path);
        path
    }

    /// Whether the path is that of an inserted conversion.
    pub fn is_conversion(&self, id: PathId) -> bool {
        self.conversions.contains(&id)
    }

    /// The full path.
    pub fn get(&self, id: PathId) -> NodePath {
        let mut names = Vec::new();
        let mut at = id;
        while at != Self::root() {
            names.push(&*self.entries[at].name);
            at = self.entries[at].parent;
        }
        names.reverse();
        NodePath::new(names.join("/"))
    }

    /// Marks a group that the memo stores as one entry.
    pub fn mark_whole(&mut self, group: PathId) {
        self.whole.insert(group);
    }

    /// The outermost group around a node that the memo stores as one entry.
    pub fn whole_around(&self, node: PathId) -> Option<PathId> {
        if self.whole.is_empty() {
            return None;
        }
        let (mut at, mut found) = (node, None);
        while at != Self::root() {
            at = self.entries[at].parent;
            found = Some(at).filter(|at| self.whole.contains(at)).or(found);
        }
        found
    }

    /// The last name of the path.
    pub fn name(&self, id: PathId) -> &str {
        &self.entries[id].name
    }
}
