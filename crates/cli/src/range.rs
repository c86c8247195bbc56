//! Warnings about values outside the range of their input. Ranges are advisory: nothing is clamped.

use millstream::document::InputDef;
use millstream::{Column, Given, Program};

use crate::outcome::warn as warn_user;

/// Warns about values of an input outside the range that the document states.
pub(crate) fn warn(program: &Program, name: &str, given: &Given) {
    let text = program.document().inputs.get(name).and_then(|input| outside(input, name, given));
    let Some(text) = text else { return };
    warn_user(&text, "the value is used anyway; `millstream check` shows the range");
}

/// A message about values outside the range; for a column, about the first one.
fn outside(input: &InputDef, name: &str, given: &Given) -> Option<String> {
    if input.min.is_none() && input.max.is_none() {
        return None;
    }
    let text = match given {
        Given::One(value) => {
            let bound = input.missed_bound(value)?;
            format!("`{name}` is {value}, {bound}")
        }
        Given::Along(_, column) => {
            let is_outside = |i: &usize| input.missed_bound(&column.get(*i)).is_some();
            let mut outside = (0..column.len()).filter(is_outside);
            let first = outside.next()?;
            let value = column.get(first);
            let bound = input.missed_bound(&value)?;
            let n = 1 + outside.count();
            format!("`{name}` is {value} in element {first}, {bound}{}", others(n, column))
        }
    };
    Some(text)
}

fn others(n_outside: usize, column: &Column) -> String {
    match n_outside {
        1 => String::new(),
        n => format!("; {n} of {} elements are outside the range", column.len()),
    }
}
