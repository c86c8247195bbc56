//! Panics in somebody else's code.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What somebody else's code gives, which must leave nothing behind that is wrong.
///
/// # Errors
/// If it panics: what the panic said, empty if that is no text.
pub fn unwound<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}
