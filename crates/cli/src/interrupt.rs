//! Ctrl-C: what is evaluated is cancelled, so that the verb ends as on any failure and leaves no
//! unfinished file. Another Ctrl-C ends the program at once.

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
    // Without a handler the system ends the program, as it would have anyway.
    let _ = ctrlc::set_handler(handler);
    asked
});

/// What becomes true when the user wants the program to end.
pub(crate) fn flag() -> Arc<AtomicBool> {
    Arc::clone(&ASKED)
}

/// The budget for reading data: it ends when the user or the time does.
pub(crate) fn until(deadline: Option<Instant>) -> Budget {
    Budget { cancel: Some(flag()), deadline, ..Budget::default() }
}

/// Ends the verb if the user wants that, or the time is over.
pub(crate) fn go_on(deadline: Option<Instant>) -> Result<(), Stop> {
    match EvalError::ended(Some(&ASKED), deadline) {
        Some(error) => Err(refused(&error)),
        None => Ok(()),
    }
}
