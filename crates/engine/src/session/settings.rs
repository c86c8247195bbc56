//! Settings from outside, which follow the inputs of the document.

use std::collections::BTreeMap;

use millstream_base::{Column, Feature, Mask, Type, Value};
use millstream_document::{Edit, EditKind};
use millstream_ir::request::{Given, RequestAxis};
use millstream_node::convert::{convert_value, convertible};

use super::{Session, SessionError};

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

    /// Sets one element of an input that was set to a column. Unlike a whole column, it is not
    /// compared with the elements before, so the cost is that of the element. If it has this value
    /// already, this is [`try_failed_again`](Self::try_failed_again).
    ///
    /// # Errors
    /// If there is no such input or element, or the value is of another type.
    pub fn set_element(
        &mut self,
        name: &str,
        element: usize,
        value: impl Into<Value>,
    ) -> Result<(), SessionError> {
        let given = Given::One(value.into());
        self.check_given(name, &given)?;
        let no_element = || SessionError::NoElement { name: name.into(), element };
        let known = self.settings.inputs.get_mut(name);
        let Some(Given::Along(RequestAxis::Index, column)) = known else {
            return Err(no_element());
        };
        // After a change of its type, the input has its default.
        let value = one(&given).and_then(|value| convert_value(value, column.ty()));
        let value = value.filter(|_| element < column.len()).ok_or_else(no_element)?;
        let new = Column::filled(&value, 1);
        if column.same_at(element, &new, 0) {
            self.try_failed_again();
        } else {
            // The graph goes first: a column that it shares with the settings is copied once.
            let mut mirror = self.mirror.as_mut();
            let is_set = mirror.as_mut().is_none_or(|it| it.set_element(name, element, &value));
            let mask = Mask::from_indices(vec![element as u32]).expect("there is one element");
            column.overwrite(&mask, &new, |_| 0);
            if let (Some(mirror), false) = (mirror, is_set) {
                mirror.set(name, self.settings.inputs.get(name));
            }
            self.forget_checkpoints();
        }
        self.changed();
        Ok(())
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
