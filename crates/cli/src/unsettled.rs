//! Warnings about repeats that reached their maximum before they became stable.

use millstream::Program;
use serde_json::{Value as Json, json};

use crate::outcome::warn;

const HELP: &str = "raise `count` or `tolerance`; the output `settled` tells where it did";

/// Reports the repeats of all evaluations of a program since the last report, to people and, in the
/// result, for programs.
pub(crate) fn report(program: &Program) -> Vec<Json> {
    let unsettled = program.take_unsettled().into_iter().map(|(path, rounds)| {
        let message = format!("did not become stable within its maximum of rounds, {rounds}");
        warn(&format!("{path}: {message}"), HELP);
        json!({ "path": path.as_str(), "message": message, "help": HELP })
    });
    unsettled.collect()
}
