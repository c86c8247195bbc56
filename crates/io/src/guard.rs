//! Decoders of other crates, whose panics mean that the file is broken.

use std::cell::Cell;

use millstream_base::catch_panic;

use crate::error::{IoError, Spot};
use crate::format::Definition;

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a decoder whose panics become errors. A program that reports
/// panics can check this in its hook to suppress them.
pub fn is_decoding() -> bool {
    IS_DECODING.get()
}

/// Calls a decoder; its errors and panics become an error of the file.
pub(crate) fn guarded<T, E: std::fmt::Display>(
    file: &str,
    format: &Definition,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, IoError> {
    let syntax = |reason: &str| format.syntax(Spot::file(file), reason);
    match caught(decode) {
        Some(result) => result.map_err(|error| syntax(&error.to_string())),
        None => Err(syntax(CONTRADICTION)),
    }
}

/// The reason given for an error that stands for a panic.
pub(crate) const CONTRADICTION: &str = "its parts contradict each other";

/// Calls a decoder; `None` if it panics.
pub(crate) fn caught<T>(decode: impl FnOnce() -> T) -> Option<T> {
    let outside = IS_DECODING.replace(true);
    let result = catch_panic(decode);
    IS_DECODING.set(outside);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;

    #[test]
    fn a_panic_is_an_error_of_the_file() {
        let outer = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_decoding() {
                outer(info);
            }
        }));
        let error = guarded("f", Format::ARROW.0, || -> Result<(), String> { panic!("lost") });
        let text = error.expect_err("a panic").to_string();
        assert_eq!(text, "`f` is not valid arrow: its parts contradict each other");
        assert!(!is_decoding());
    }
}
