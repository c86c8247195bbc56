//! Percentiles of times.

use serde_json::{Value as Json, json};

/// Percentiles of times in seconds.
pub(crate) struct Percentiles {
    pub(crate) n: usize,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Percentiles {
    pub(crate) fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let n = seconds.len();
        let at = |part: f64| {
            let rank = (part * n as f64).ceil() as usize;
            seconds.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
        };
        Self { n, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) }
    }

    pub(crate) fn json(&self) -> Json {
        json!({
            "n": self.n,
            "p50_s": self.p50,
            "p90_s": self.p90,
            "p99_s": self.p99,
            "max_s": self.max,
        })
    }

    /// Formats a row of a table.
    pub(crate) fn row(&self, what: &str) -> String {
        let [p50, p90, p99, max] = [self.p50, self.p90, self.p99, self.max].map(|s| s * 1e3);
        format!("{what:20} {:7} {p50:12.4} {p90:12.4} {p99:12.4} {max:12.4}", self.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let all = Percentiles::of((1..=200).map(f64::from).collect());
        assert_eq!((all.p50, all.p90, all.p99, all.max), (100.0, 180.0, 198.0, 200.0));
        let one = Percentiles::of(vec![3.0]);
        assert_eq!((one.p50, one.p99, one.max), (3.0, 3.0, 3.0));
    }
}
