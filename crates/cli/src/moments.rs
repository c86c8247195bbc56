//! `--time` and `--frame`: one or several moments.

/// Moments in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Times {
    One(f64),
    Many(Vec<f64>),
}

/// Frames by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameNumbers {
    One(i64),
    Many(Vec<i64>),
}

/// No request may have more moments than this.
const MAX: usize = 1 << 28;

/// Parses `T` or `A..B:STEP`, both ends included; moment i is A + i * STEP.
pub(crate) fn times(text: &str) -> Result<Times, String> {
    let Some((start, rest)) = text.split_once("..") else {
        return Ok(Times::One(seconds(text)?));
    };
    let Some((end, step)) = rest.split_once(':') else {
        return Err("a range of times needs a step: 0..2:0.1".into());
    };
    let (start, end, step) = (seconds(start)?, seconds(end)?, seconds(step)?);
    if step == 0.0 || (end - start) / step < 0.0 {
        return Err(format!("steps of {step} do not lead from {start} to {end}"));
    }
    // The end counts as reached if only rounding misses it: that of the step, once per step, and
    // that of the ends.
    let steps = (end - start) / step;
    let off = steps + (start.abs() + end.abs()) / step.abs();
    let n = (steps + 4.0 * f64::EPSILON * off).floor() + 1.0;
    if n > MAX as f64 {
        return Err(format!("{n:e} moments are more than {MAX}; take larger steps"));
    }
    Ok(Times::Many((0..n as usize).map(|i| start + i as f64 * step).collect()))
}

/// Parses `N` or `A..B`, both ends included.
pub(crate) fn frames(text: &str) -> Result<FrameNumbers, String> {
    let Some((start, end)) = text.split_once("..") else {
        return Ok(FrameNumbers::One(frame(text)?));
    };
    let (start, end) = (frame(start)?, frame(end)?);
    if end < start {
        return Err(format!("the last frame {end} is before the first frame {start}"));
    }
    if end.abs_diff(start) >= MAX as u64 {
        return Err(format!("there are more than {MAX} frames"));
    }
    Ok(FrameNumbers::Many((start..=end).collect()))
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("`{text}` is not a number"))?;
    if value.is_finite() { Ok(value) } else { Err(format!("`{text}` is not a finite time")) }
}

fn frame(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_times_includes_both_ends_and_does_not_drift() {
        let Ok(Times::Many(times)) = times("0..1:0.1") else { panic!("a range") };
        assert_eq!(times.len(), 11);
        assert_eq!((times[3], times[10]), (3.0 * 0.1, 1.0));
        for (text, n) in [
            ("1000.1..1000.8:0.1", 8),
            ("4.166666666666667..4.375:0.041666666666666664", 6),
            ("0..0.25:0.0416666666666667", 7),
            ("1000.1..1000.79:0.1", 7),
        ] {
            let Ok(Times::Many(times)) = super::times(text) else { panic!("a range") };
            assert_eq!(times.len(), n, "{text}");
        }
        let Ok(Times::Many(backwards)) = super::times("1..0:-0.5") else { panic!("a range") };
        assert_eq!(backwards, [1.0, 0.5, 0.0]);
    }

    #[test]
    fn malformed_ranges_are_refused() {
        for text in ["", "a", "0..1", "0..1:0", "0..1:-1", "0..inf:1", "nan", "0..1e300:1"] {
            assert!(times(text).is_err(), "{text}");
        }
        for text in ["1.5", "3..1", "x..2"] {
            assert!(frames(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_of_frames_includes_both_ends() {
        assert_eq!(frames("-1..2"), Ok(FrameNumbers::Many(vec![-1, 0, 1, 2])));
        assert_eq!(frames("7"), Ok(FrameNumbers::One(7)));
    }
}
