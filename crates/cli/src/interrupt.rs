//! Ctrl-C cancels the evaluation: the verb then ends as after any failure and leaves no unfinished
//! file. A second Ctrl-C ends the program immediately.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use millstream::EvalError;
use millstream_io::Budget;

use crate::outcome::{Exit, Stop};
use crate::request::refused;

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let asked = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&asked);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Failed.code()));
        }
    };
    // Without a handler, the system ends the program immediately.
    let _ = ctrlc::set_handler(handler);
    asked
});

/// The flag that Ctrl-C sets.
pub(crate) fn flag() -> Arc<AtomicBool> {
    Arc::clone(&ASKED)
}

/// The budget for reading data, which ends at the deadline or on Ctrl-C.
pub(crate) fn until(deadline: Option<Instant>) -> Budget {
    Budget { cancel: Some(flag()), deadline }
}

/// An error after Ctrl-C or the deadline.
pub(crate) fn go_on(budget: &Budget) -> Result<(), Stop> {
    budget.check().map_err(|ended| refused(&EvalError::from(ended)))
}
