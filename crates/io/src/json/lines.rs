//! JSON Lines: an object or value on each line, read as the array that they make up.
//!
//! Each line is checked to be one value before they are joined, so that what goes on over lines is
//! refused where it starts. Empty lines count for nothing.

use serde::de::IgnoredAny;

use crate::builder::Budget;
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::options::Wanted;
use crate::table::Table;

/// Reads the wanted columns.
pub(crate) fn read(
    file: &str,
    bytes: &[u8],
    wanted: Wanted<'_>,
    budget: &Budget,
) -> Result<Table, IoError> {
    let text = super::text_of(file, bytes)?;
    // With a comma for each line break the rows stay on their lines, for messages.
    let mut array = String::with_capacity(text.len() + text.len() / 16 + 2);
    let mut before = '[';
    for (number, line) in (1_u64..).zip(text.lines()) {
        if number > 1 {
            array.push('\n');
        }
        if line.trim().is_empty() {
            continue;
        }
        if number.is_multiple_of(4096) {
            budget.go_on(|| Spot::line(file, number))?;
        }
        check_line(file, number, line)?;
        array.push(before);
        array.push_str(line);
        before = ',';
    }
    array.push_str(if before == '[' { "[]" } else { "]" });
    super::read(file, array.as_bytes(), wanted, budget).map_err(of_lines)
}

/// What is wrong with the array that lines make up, as something wrong with the lines.
pub(super) fn of_lines(error: IoError) -> IoError {
    match error {
        IoError::Syntax { spot, format: Format::Json, reason } => {
            IoError::Syntax { spot, format: Format::JsonLines, reason }
        }
        error => error,
    }
}

/// Refuses a line that is not one value.
pub(super) fn check_line(file: &str, number: u64, line: &str) -> Result<(), IoError> {
    serde_json::from_str::<IgnoredAny>(line).map(|_| ()).map_err(|error| {
        let text = error.to_string();
        let reason = text.split_once(" at line ").map_or(&*text, |(reason, _)| reason);
        let reason = format!("{reason} at column {}", error.column());
        IoError::Syntax { spot: Spot::line(file, number), format: Format::JsonLines, reason }
    })
}
