//! A progress bar on the terminal for runs longer than a second.

use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use millstream::Done;

use crate::terminal;

/// The delay before the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);
/// The interval between updates of the bar.
const TICK: Duration = Duration::from_millis(100);

/// A bar that disappears when it is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Dropping the sender ends the wait for the bar to appear.
    waiting: Option<(Sender<()>, std::thread::JoinHandle<()>)>,
}

impl Progress {
    /// Starts a bar over `n_rows` rows, if their number is known.
    pub(crate) fn start(n_rows: Option<u64>) -> Self {
        let bar = match n_rows {
            Some(n_rows) => {
                let template = "{elapsed} {bar:40} {human_pos} of {human_len} rows, {eta} left";
                ProgressBar::new(n_rows).with_style(style(template))
            }
            None => ProgressBar::new_spinner().with_style(style("{elapsed} {spinner} {msg}")),
        };
        Self::shown_later(bar)
    }

    /// Starts a bar over this many frames.
    pub(crate) fn of_frames(n: u64) -> Self {
        let template =
            "{elapsed} {bar:40} {human_pos} of {human_len} frames, {per_sec}, {eta} left";
        Self::shown_later(ProgressBar::new(n).with_style(style(template)))
    }

    fn shown_later(bar: ProgressBar) -> Self {
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

    /// A progress callback for a request that moves this bar.
    pub(crate) fn follow(&self) -> millstream::Progress {
        let bar = self.bar.clone();
        let on_step = move |done: &Done| {
            show(&bar, done);
            ControlFlow::Continue(())
        };
        millstream::Progress::new(on_step).every(TICK)
    }

    /// Sets the number of finished rows.
    pub(crate) fn rows(&self, n_done: u64) {
        self.bar.set_position(n_done);
        if self.bar.length().is_none() {
            self.bar.set_message(format!("{n_done} rows"));
        }
    }
}

/// Moves the bar to the progress of an evaluation.
fn show(bar: &ProgressBar, done: &Done) {
    let (n_done, all) = if done.ticks > 1 {
        bar.set_message(format!("{} of {} frames", done.ticks_done, done.ticks));
        (done.ticks_done, done.ticks)
    } else {
        let (runs, steps, elements) = (done.runs, done.steps, done.elements);
        bar.set_message(format!("{runs} runs of {steps} nodes, {elements} elements"));
        // A node runs once per context, and not at all if it is not demanded.
        (runs.min(steps), steps)
    };
    if bar.length() != Some(all) {
        bar.set_style(style("{elapsed} {bar:40} {msg}"));
        bar.set_length(all);
    }
    bar.set_position(n_done);
}

/// A style, or the plain one if the template is invalid.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.waiting.take() {
            drop(done);
            // Nothing but drawing could fail in the thread.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shows_nodes_or_frames() {
        let bar = ProgressBar::hidden();
        let mut done = Done::default();
        (done.runs, done.steps, done.elements, done.ticks) = (3, 8, 3000, 1);
        show(&bar, &done);
        assert_eq!((bar.position(), bar.length()), (3, Some(8)));
        assert_eq!(bar.message(), "3 runs of 8 nodes, 3000 elements");
        (done.ticks_done, done.ticks) = (20, 100);
        show(&bar, &done);
        assert_eq!((bar.position(), bar.length()), (20, Some(100)));
        assert_eq!(bar.message(), "20 of 100 frames");
    }
}
