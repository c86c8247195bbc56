//! A bar on the terminal for what takes longer than a second.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the bar moves.
const TICK: Duration = Duration::from_millis(100);

/// A bar that goes away when it is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Dropping it ends the wait for the moment to show the bar.
    waiting: Option<(Sender<()>, std::thread::JoinHandle<()>)>,
}

impl Progress {
    /// Starts; `n_rows` is what there is to do, if that is known.
    pub(crate) fn start(n_rows: Option<u64>) -> Self {
        let bar = match n_rows {
            Some(n_rows) => {
                let template = "{elapsed} {bar:40} {human_pos} of {human_len} rows, {eta} left";
                ProgressBar::new(n_rows).with_style(style(template))
            }
            None => ProgressBar::new_spinner().with_style(style("{elapsed} {spinner} {msg}")),
        };
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let waiting = terminal::of_stderr().is_terminal.then(|| {
            let (done, is_done) = channel::<()>();
            let bar = bar.clone();
            let thread = std::thread::spawn(move || {
                if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
            (done, thread)
        });
        Self { bar, waiting }
    }

    /// Says how many rows are done.
    pub(crate) fn rows(&self, n_done: u64) {
        self.bar.set_position(n_done);
        if self.bar.length().is_none() {
            self.bar.set_message(format!("{n_done} rows"));
        }
    }
}

/// A style; the plain one if the text is no template.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.waiting.take() {
            drop(done);
            // The thread does nothing that could fail but draw.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
