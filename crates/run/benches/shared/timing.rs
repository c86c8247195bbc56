//! Times of benchmarks.

use std::time::Instant;

/// Processor time of this thread in seconds: on a shared machine other load does not count.
#[cfg(unix)]
fn worked() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Seconds since the first call.
#[cfg(not(unix))]
fn worked() -> f64 {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64()
}

/// Processor time of one thread in seconds.
pub(crate) fn seconds(mut run: impl FnMut()) -> f64 {
    let start = worked();
    run();
    worked() - start
}

/// Wall-clock time in seconds.
#[allow(dead_code, reason = "not every benchmark times threads")]
pub(crate) fn passed(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
