//! Warnings about repeats that reached their maximum before they became stable.

use std::collections::BTreeMap;

use millstream::Program;
use millstream::twice::Unsettled;
use serde_json::{Value as Json, json};

use crate::outcome::warn;
use crate::tables::Coordinates;

/// Reports the repeats of all evaluations of a program since the last report, each once with the
/// moments, and returns the warnings for programs.
pub(crate) fn report(program: &Program, at: &Coordinates) -> Vec<Json> {
    let report = |(unsettled, rounds): (Unsettled, BTreeMap<usize, u32>)| {
        let first = rounds.first_key_value().map(|(moment, rounds)| (*moment, *rounds));
        let (Some((moment, n)), Some(moments)) = (first, &at.moments) else {
            warn(&text(&unsettled), Unsettled::HELP);
            return json(&unsettled);
        };
        // The message is that of the first moment.
        let unsettled = Unsettled { rounds: n, ..unsettled };
        let unit = moments.unit();
        let words: Vec<String> = at.in_words(&[("time", moment)]).collect();
        let place = place(&format!("at {}", words.join(", ")), unit, rounds.values().copied());
        warn(&format!("{} ({place})", text(&unsettled)), Unsettled::HELP);
        let mut warning = json(&unsettled);
        warning["where"] = at.named(&[("time", moment)]);
        warning[unit] = rounds.len().into();
        warning
    };
    program.take_unsettled().into_iter().map(report).collect()
}

/// Where a repeat did not settle, given the first place, and the number of rounds in all places.
pub(crate) fn place(
    first: &str,
    unit: &str,
    rounds: impl ExactSizeIterator<Item = u32> + Clone,
) -> String {
    let n = rounds.len();
    let (least, most) = (rounds.clone().min(), rounds.max());
    match (least, most) {
        (Some(least), Some(most)) if least < most => {
            format!("{first}; in {n} {unit}, with {least} to {most} rounds")
        }
        _ if n > 1 => format!("in {n} {unit}, the first {first}"),
        _ => first.to_owned(),
    }
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
