//! Closures as far as they are known before anything runs.
//!
//! A closure is a *form*, which says which group is called or how one of several is chosen, and
//! *values*: its captures and the selectors of its choices, which links carry. Equal forms have one
//! number, so bodies are made once for each.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::id::Arena;
use rustc_hash::FxHashMap;

use crate::check::error::CheckError;
use crate::checked::{Body, BodyId, Source};

/// The number of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FormId(u32);

/// What calling a closure does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// It runs a group.
    Group {
        body: BodyId,
        /// The inputs of the body that are captured, ascending, with the forms of those that are
        /// closures.
        captures: Vec<(u32, Option<FormId>)>,
    },
    /// It calls one of several closures; the first value is the selector.
    Choice { switch: Arc<str>, selector: Type, arms: Vec<FormId> },
}

struct Known {
    form: Form,
    types: Vec<Type>,
    depth: usize,
}

/// All forms of a document.
#[derive(Default)]
pub(super) struct Forms {
    known: Vec<Known>,
    ids: FxHashMap<Form, FormId>,
}

/// A closure in a body.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub(super) form: FormId,
    /// A source for each of the form's types.
    pub(super) values: Vec<Source>,
}

/// What a source of a body gives.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// A value.
    Value(Source),
    /// A closure.
    Closure(Closure),
    /// No closure, where one should be.
    Nothing,
    /// A closure that is not known; the reason has been reported.
    Unknown,
}

/// The most values of a closure.
const MOST_VALUES: usize = 1 << 12;

impl Forms {
    /// The number of a form.
    ///
    /// # Errors
    /// If its closures are too deep in each other, or have too many values.
    pub(super) fn add(
        &mut self,
        form: Form,
        bodies: &Arena<BodyId, Body>,
        most_deep: usize,
    ) -> Result<FormId, CheckError> {
        if let Some(known) = self.ids.get(&form) {
            return Ok(*known);
        }
        let too_many = CheckError::ClosureValues { limit: MOST_VALUES };
        let mut types = Vec::new();
        let mut depth = 0;
        let mut inner = |types: &mut Vec<Type>, form: FormId, known: &[Known]| {
            let known = &known[form.0 as usize];
            types.extend_from_slice(&known.types);
            depth = depth.max(known.depth);
            types.len() <= MOST_VALUES
        };
        match &form {
            Form::Group { body, captures } => {
                for (input, captured) in captures {
                    match captured {
                        Some(captured) if !inner(&mut types, *captured, &self.known) => {
                            return Err(too_many);
                        }
                        Some(_) => {}
                        None => types.push(bodies[*body].inputs[*input as usize].ty),
                    }
                }
            }
            Form::Choice { selector, arms, .. } => {
                types.push(*selector);
                for arm in arms {
                    if !inner(&mut types, *arm, &self.known) {
                        return Err(too_many);
                    }
                }
            }
        }
        if types.len() > MOST_VALUES {
            return Err(too_many);
        }
        if depth >= most_deep {
            return Err(CheckError::ClosureDepth { limit: most_deep });
        }
        let id = FormId(self.known.len() as u32);
        self.known.push(Known { form: form.clone(), types, depth: depth + 1 });
        self.ids.insert(form, id);
        Ok(id)
    }

    pub(super) fn get(&self, form: FormId) -> &Form {
        &self.known[form.0 as usize].form
    }

    /// The types of the values of closures of a form.
    pub(super) fn types(&self, form: FormId) -> &[Type] {
        &self.known[form.0 as usize].types
    }
}
