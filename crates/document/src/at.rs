//! The part of a document that a problem is about, formatted only when there is a problem.

/// A part of a document, by names.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    /// The enclosing group; empty outside of groups.
    pub(crate) group: &'a str,
    pub(crate) part: Part<'a>,
}

/// The parts of a body.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// The document or group itself.
    Body,
    Input(&'a str),
    Output(&'a str),
    Node(&'a str),
    /// A socket of a node.
    Socket(&'a str, &'a str),
}

impl<'a> At<'a> {
    /// The document.
    pub(crate) const ROOT: At<'static> = At { group: "", part: Part::Body };

    pub(crate) fn group(group: &'a str) -> Self {
        Self { group, part: Part::Body }
    }

    pub(crate) fn part(self, part: Part<'a>) -> Self {
        Self { part, ..self }
    }

    /// Whether it is, or belongs to, a node that was added for one in a group.
    pub(crate) fn is_added(self) -> bool {
        match self.part {
            Part::Node(node) | Part::Socket(node, _) => is_added(node),
            Part::Body | Part::Input(_) | Part::Output(_) => false,
        }
    }

    /// The node of a socket.
    pub(crate) fn of_node(self) -> Self {
        match self.part {
            Part::Socket(node, _) => self.part(Part::Node(node)),
            Part::Body | Part::Input(_) | Part::Output(_) | Part::Node(_) => self,
        }
    }

    /// The path of diagnostics: `group/node.socket`.
    pub(crate) fn path(self) -> String {
        let group = self.group;
        let slash = if group.is_empty() { "" } else { "/" };
        match self.part {
            Part::Node(node) | Part::Socket(node, _) if is_part(node) && !is_added(node) => {
                format!("{group}{slash}{}", formula_of(node))
            }
            Part::Body | Part::Input(_) | Part::Output(_) => group.into(),
            Part::Node(node) => format!("{group}{slash}{node}"),
            Part::Socket(node, socket) => format!("{group}{slash}{node}.{socket}"),
        }
    }

    /// The part as a phrase after its path.
    pub(crate) fn whole(self) -> String {
        match self.part {
            Part::Body if self.group.is_empty() => "the document".into(),
            Part::Body => "the group".into(),
            Part::Input(name) => format!("input `{name}`"),
            Part::Output(name) => format!("output `{name}`"),
            Part::Node(_) => "the node".into(),
            Part::Socket(..) => "the source".into(),
        }
    }

    /// An entry of the part as a phrase after its path.
    pub(crate) fn entry(self, key: &str) -> String {
        match self.part {
            Part::Body | Part::Node(_) | Part::Socket(..) => format!("`{key}`"),
            Part::Input(_) | Part::Output(_) => format!("`{key}` of {}", self.whole()),
        }
    }
}

/// Whether a node stands for a part of a formula. Names that authors write contain no point.
fn is_part(node: &str) -> bool {
    node.contains('.')
}

/// Whether a node was added for one in a group; see `grain::inline`.
pub(crate) fn is_added(name: &str) -> bool {
    name.contains('/')
}

/// The node that has the formula.
fn formula_of(part: &str) -> &str {
    part.split('.').next().unwrap_or(part)
}
