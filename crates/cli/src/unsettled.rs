//! Warnings about repeats that reached their maximum before they became stable.

use millstream::Program;
use millstream::twice::Unsettled;
use serde_json::{Value as Json, json};

use crate::outcome::warn;

/// Reports the repeats of all evaluations of a program since the last report, and returns them.
pub(crate) fn report(program: &Program) -> Vec<Unsettled> {
    let all = program.take_unsettled();
    for unsettled in &all {
        warn(&text(unsettled), Unsettled::HELP);
    }
    all
}

/// The warning as one line.
pub(crate) fn text(unsettled: &Unsettled) -> String {
    format!("{}: {}", unsettled.path, unsettled.message())
}

/// The warning for programs.
pub(crate) fn json(unsettled: &Unsettled) -> Json {
    json!({
        "path": unsettled.path.as_str(),
        "message": unsettled.message(),
        "help": Unsettled::HELP,
    })
}
