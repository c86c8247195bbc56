//! Panics in code of the embedding program.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of the embedding program, which must leave no broken state behind if it panics.
///
/// # Errors
/// If it panics: the panic message, or an empty string if it has none.
#[inline]
pub fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}
