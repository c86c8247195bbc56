//! What a panic of somebody else's code said.

use std::any::Any;

/// The text that a caught panic was raised with, if it is one.
pub fn panic_text(panic: &(dyn Any + Send)) -> Option<String> {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
}
