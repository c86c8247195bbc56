//! The range of an input: advice for people and controls that never changes a value.

use millstream_base::{Lane, Value};

use crate::model::InputDef;

impl InputDef {
    /// The bound of the range that any lane of a value violates; `None` if the value is inside.
    ///
    /// # Example
    ///
    /// ```
    /// use millstream_base::Value;
    /// use millstream_document::InputDef;
    ///
    /// let input = InputDef { max: Some(1.0), ..InputDef::new("f32") };
    /// assert_eq!(input.missed_bound(&Value::F32(1.0)), None);
    /// let missed = input.missed_bound(&Value::F32(2.0));
    /// assert_eq!(missed.as_deref(), Some("above its maximum 1"));
    /// ```
    pub fn missed_bound(&self, value: &Value) -> Option<String> {
        let (min, max) = (self.min.unwrap_or(f64::NEG_INFINITY), self.max.unwrap_or(f64::INFINITY));
        // A value that rounds to the bound in the same lane type does not violate it.
        let single = matches!(value.ty().lanes(), Some((Lane::F32, _)));
        let rounded = |bound: f64| if single { f64::from(bound as f32) } else { bound };
        lanes(value).find_map(|x| {
            if x < rounded(min) {
                Some(format!("below its minimum {min}"))
            } else if x > rounded(max) {
                Some(format!("above its maximum {max}"))
            } else {
                None
            }
        })
    }
}

/// The lanes of a value as numbers.
fn lanes(value: &Value) -> impl Iterator<Item = f64> {
    let (lane, n) = value.ty().lanes().unwrap_or((Lane::F64, 0));
    let number = move |bits: u64| match lane {
        Lane::Bool | Lane::I32 => f64::from(bits as u32 as i32),
        Lane::I64 => bits as i64 as f64,
        Lane::F32 => f64::from(f32::from_bits(bits as u32)),
        Lane::F64 => f64::from_bits(bits),
    };
    (0..usize::from(n)).filter_map(|i| value.lane(i)).map(number)
}
