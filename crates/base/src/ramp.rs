//! Arithmetic sequences of numbers.

/// Numbers that can form an arithmetic sequence.
pub trait Ramp: Clone {
    /// `start + i * step`; integers wrap, floats round after the product and after the sum.
    fn ramp(start: &Self, step: &Self, i: usize) -> Self;
}

impl Ramp for i32 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start.wrapping_add(step.wrapping_mul(i as Self))
    }
}

impl Ramp for i64 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start.wrapping_add(step.wrapping_mul(i as Self))
    }
}

impl Ramp for f32 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start + step * i as Self
    }
}

impl Ramp for f64 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start + step * i as Self
    }
}
