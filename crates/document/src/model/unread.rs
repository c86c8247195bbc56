//! The entries of a document that loading could not read.

/// An entry of a document that others depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `inputs`.
    Inputs,
    /// `nodes`.
    Nodes,
    /// `groups`.
    Groups,
    /// `use`.
    Uses,
    /// `lock`.
    Locks,
    /// `fps` or `start_frame`.
    Time,
    /// One of those above: the word that tells which is unknown.
    Unknown,
    /// All: a statement that could not be read may contain others, or the format is not known.
    Statements,
}

/// The entries of a document that loading could not read completely. A name that leads nowhere may
/// belong to a lost part of one, so it is not reported, and what needs it has no value.
///
/// All values are equal, as with [spots](crate::Spot).
#[derive(Clone, Copy, Debug, Default)]
pub struct Unread(u8);

impl Unread {
    /// Notes that an entry could not be read.
    pub fn note(&mut self, entry: Entry) {
        self.0 |= match entry {
            Entry::Unknown => (1 << Entry::Unknown as u8) - 1,
            entry => 1 << entry as u8,
        };
    }

    /// Notes the entry with this key, if others depend on it.
    pub(crate) fn note_key(&mut self, key: &str) {
        match key {
            "inputs" => self.note(Entry::Inputs),
            "nodes" => self.note(Entry::Nodes),
            "groups" => self.note(Entry::Groups),
            "use" => self.note(Entry::Uses),
            "lock" => self.note(Entry::Locks),
            "fps" | "start_frame" => self.note(Entry::Time),
            _ => {}
        }
    }

    /// Whether this entry could not be read.
    pub(crate) fn has(self, entry: Entry) -> bool {
        self.0 & 1 << entry as u8 != 0
    }

    /// Whether no entry with parts was lost.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl PartialEq for Unread {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Unread {}
