//! The document as written, where it differs from the one that is evaluated: there, nodes stand for
//! the calls of groups in formulas.
//!
//! Edits change the document as written. Those that concern no such formula and no group change the
//! other one in the same way, and the live graph follows them. After any other edit the evaluated
//! document is made again; its nodes keep their names and ids.

use millstream_base::diagnostics::Diagnostic;
use millstream_document::edit::Applied;
use millstream_document::{Document, Edit, Editor, MadeIds};

use super::Session;

/// The document as written.
#[derive(Default)]
pub(super) struct Written {
    /// Its editor; `None` if no formula calls a group.
    editor: Option<Box<Editor>>,
    made: MadeIds,
}

/// What an edit did.
pub(super) struct Edited {
    pub(super) done: Applied,
    /// Whether its changes are those of the evaluated document, which otherwise is a new one.
    pub(super) can_be_followed: bool,
}

impl Written {
    /// Whether the evaluated document is made again after an edit, so that nodes which stand for
    /// calls may get other names.
    pub(super) fn is_made_again(&self, edit: &Edit) -> bool {
        self.editor.as_ref().is_some_and(|editor| editor.edit_of_expanded(edit).is_none())
    }

    /// The document as written with this editor, and an editor of the document to evaluate.
    pub(super) fn of(editor: Editor) -> (Self, Editor) {
        let mut written = Self::default();
        match editor.expanded(&mut written.made) {
            Some(expanded) => {
                written.editor = Some(Box::new(editor));
                (written, expanded)
            }
            None => (written, editor),
        }
    }
}

impl Session {
    /// The current document.
    pub fn document(&self) -> &Document {
        self.editor().document()
    }

    /// The current document with the ids of its nodes.
    pub fn editor(&self) -> &Editor {
        self.written.editor.as_deref().unwrap_or(&self.editor)
    }

    /// Applies an edit, or the inverse of the last one.
    pub(super) fn change(&mut self, edit: &Edit, is_inverse: bool) -> Result<Edited, Diagnostic> {
        let run = |editor: &mut Editor, edit: &Edit| {
            if is_inverse { editor.revert(edit) } else { editor.apply(edit) }
        };
        let Written { editor: written, made } = &mut self.written;
        let Some(written) = written else {
            let done = run(&mut self.editor, edit)?;
            let may_call = self.editor.may_call_groups(&done.changes);
            let expanded = may_call.then(|| self.editor.expanded(made)).flatten();
            let can_be_followed = expanded.is_none();
            if let Some(expanded) = expanded {
                let written = std::mem::replace(&mut self.editor, expanded);
                self.written.editor = Some(Box::new(written));
            }
            return Ok(Edited { done, can_be_followed });
        };
        let is_apart = written.edit_of_expanded(edit).is_some();
        let mut done = run(written, edit)?;
        // Removing a node changes the formulas that read it.
        let is_apart = is_apart && !written.may_call_groups(&done.changes);
        let same = written.edit_of_expanded(edit).filter(|_| is_apart);
        if let Some(Ok(same)) = same.map(|edit| run(&mut self.editor, &edit)) {
            done.changes = same.changes;
            return Ok(Edited { done, can_be_followed: true });
        }
        done.copies.extend(made.copies(&done.copies));
        match written.expanded(made) {
            Some(expanded) => self.editor = expanded,
            None => self.editor = *self.written.editor.take().expect("the document has formulas"),
        }
        Ok(Edited { done, can_be_followed: false })
    }
}
