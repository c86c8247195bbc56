//! Settings from outside, which follow the inputs of the document.

use std::collections::BTreeMap;

use millstream_base::{Feature, Type, Value};
use millstream_document::{Edit, EditKind};
use millstream_ir::request::Given;
use millstream_node::convert::convertible;

use super::Session;

/// The settings of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) inputs: BTreeMap<String, Given>,
    pub(super) features: Vec<(Feature, Given)>,
    pub(super) count: Option<usize>,
    pub(super) time: Option<f64>,
    pub(super) frame: Option<i64>,
}

impl Settings {
    /// Lets the values of inputs follow their names, and removes them with the inputs. `back` holds
    /// the values of inputs that an undo restores. Returns the removed values.
    pub(super) fn follow(
        &mut self,
        edit: &Edit,
        mut back: Vec<(String, Given)>,
    ) -> Vec<(String, Given)> {
        let mut removed = Vec::new();
        let mut left = vec![edit];
        while let Some(edit) = left.pop() {
            if edit.within.is_some() {
                continue;
            }
            match &edit.change {
                EditKind::RenameInput { name, to } => {
                    if let Some(given) = self.inputs.remove(&**name) {
                        self.inputs.insert(to.to_string(), given);
                    }
                }
                EditKind::RemoveInput { name } => {
                    removed.extend(self.inputs.remove_entry(&**name));
                }
                // The last removed value is restored first.
                EditKind::AddInput { name, .. } => {
                    if let Some(at) = back.iter().rposition(|(known, _)| **known == **name) {
                        self.inputs.extend([back.remove(at)]);
                    }
                }
                EditKind::Batch { edits } => left.extend(edits.iter().rev()),
                _ => {}
            }
        }
        removed
    }
}

impl Session {
    /// Gives an input its default again; false if it was not set.
    pub fn unset(&mut self, name: &str) -> bool {
        let was_set = self.settings.inputs.contains_key(name);
        if was_set {
            if self.state_depends_on(name, None) {
                self.forget_checkpoints();
            }
            self.settings.inputs.remove(name);
            if let Some(mirror) = &mut self.mirror {
                mirror.set(name, None);
            }
            self.changed();
        }
        was_set
    }

    /// Evaluates for this number of elements; `None` for as many as columns of inputs have.
    pub fn set_count(&mut self, count: Option<usize>) {
        self.settings.count = count;
        self.forget_checkpoints();
        self.changed();
    }

    /// Evaluates at this time, in seconds, until the next tick or [`seek`](Self::seek); the frame
    /// stays as it is. Where nodes keep state from frame to frame, evaluations are refused until
    /// then.
    pub fn set_time(&mut self, seconds: f64) {
        self.settings.time = Some(seconds);
        self.changed();
    }

    /// Provides a context feature of the program's own, or `real_time`.
    pub fn set_feature(&mut self, feature: Feature, given: Given) {
        self.settings.features.retain(|(known, _)| *known != feature);
        self.settings.features.push((feature, given));
        self.forget_checkpoints();
        self.changed();
    }
}

/// The one value that is given, if it is one.
pub(super) fn one(given: &Given) -> Option<&Value> {
    match given {
        Given::One(value) => Some(value),
        Given::Along(_, _) => None,
    }
}

pub(super) fn type_of(given: &Given) -> Type {
    match given {
        Given::One(value) => value.ty(),
        Given::Along(_, column) => column.ty(),
    }
}

/// Whether a value fits an input of this type.
pub(super) fn fits(given: &Given, wanted: Type) -> bool {
    match given {
        Given::One(value) => convertible(value.ty(), wanted),
        Given::Along(_, column) => column.ty() == wanted,
    }
}
