//! Differences between columns, in readable form.

use std::fmt::Write;

use millstream_base::Column;
use millstream_base::same::Same;

const SHOWN: usize = 6;

/// The differences between two columns, bit for bit with one NaN; `None` if there are none.
pub fn difference(expected: &Column, found: &Column) -> Option<String> {
    if expected.same(found) {
        return None;
    }
    if expected.ty() != found.ty() {
        return Some(format!("expected {} values, found {}", expected.ty(), found.ty()));
    }
    if expected.len() != found.len() {
        return Some(format!("expected {} cells, found {}", expected.len(), found.len()));
    }
    let differ: Vec<usize> =
        (0..expected.len()).filter(|i| !expected.same_at(*i, found, *i)).collect();
    let mut text = format!("{} of {} cells differ:", differ.len(), expected.len());
    for i in differ.iter().take(SHOWN) {
        // Writing to a string does not fail.
        let _ =
            write!(text, "\n  cell {i}: expected {}, found {}", expected.get(*i), found.get(*i));
    }
    if differ.len() > SHOWN {
        text.push_str("\n  ...");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_cells() {
        let a = Column::from_vec(vec![1.0_f32, f32::NAN, 0.0]);
        let b = Column::from_vec(vec![1.0_f32, -f32::NAN, -0.0]);
        let text = difference(&a, &b).expect("zeros differ");
        assert_eq!(text, "1 of 3 cells differ:\n  cell 2: expected 0.0, found -0.0");
        assert_eq!(difference(&a, &a.clone()), None);
        let c = Column::from_vec(vec![1.0_f64]);
        assert_eq!(difference(&a, &c).as_deref(), Some("expected f32 values, found f64"));
    }
}
