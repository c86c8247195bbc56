//! Panics in somebody else's code.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text that a caught panic was raised with, if it is one.
pub fn panic_text(panic: &(dyn Any + Send)) -> Option<String> {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
}

/// What somebody else's code gives, if it does not panic. It must leave nothing behind that is wrong.
pub fn unwound<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}
