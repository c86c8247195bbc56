//! One pattern of bits for every NaN, for what reads bits. All NaNs are one value, so which of them
//! a column holds depends on the evaluator and on results that were reused.

use crate::same::{bits_f32, bits_f64};
use crate::value::column::Column;
use crate::value::ragged::Ragged;
use crate::vector::{Color, Mat4, Quat, Vec2, Vec3, Vec4};

impl Column {
    /// The column with one pattern of bits for every NaN; `None` if it has no other.
    pub fn with_one_nan(&self) -> Option<Self> {
        if let Some(lists) = self.as_ragged() {
            let values = lists.values().with_one_nan()?;
            return Ragged::new(lists.offsets().to_vec(), values).map(Self::from_ragged);
        }
        if let Some(numbers) = self.as_slice::<f64>() {
            let is_other = |x: &f64| x.to_bits() != bits_f64(*x);
            let of_one = || numbers.iter().map(|x| f64::from_bits(bits_f64(*x))).collect();
            return numbers.iter().any(is_other).then(of_one);
        }
        if !has_other_nan(self.as_f32_lanes()?) {
            return None;
        }
        let mut copy = self.clone();
        macro_rules! of_type {
            ($($element:ty),*) => {$(
                if let Some(values) = copy.make_mut::<$element>() {
                    make_one_nan(bytemuck::cast_slice_mut(values));
                }
            )*};
        }
        of_type!(f32, Vec2, Vec3, Vec4, Color, Quat, Mat4);
        Some(copy)
    }
}

fn has_other_nan(numbers: &[f32]) -> bool {
    numbers.iter().any(|x| x.to_bits() != bits_f32(*x))
}

/// Gives every NaN the same bits.
pub fn make_one_nan(numbers: &mut [f32]) {
    for x in numbers {
        *x = f32::from_bits(bits_f32(*x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nan_gets_the_same_bits_and_nothing_else_changes() {
        let others = [0xffc0_0000, 0x7fc0_0001, 0x7f80_0001_u32].map(f32::from_bits);
        let bits = |column: &Column| -> Vec<u32> {
            column.as_f32_lanes().expect("f32").iter().map(|x| x.to_bits()).collect()
        };
        let usual = f32::NAN.to_bits();
        let numbers = Column::from_vec(vec![others[0], -0.0, others[1], 1.5]);
        let one = numbers.with_one_nan().expect("it has others");
        assert_eq!(bits(&one), [usual, (-0.0_f32).to_bits(), usual, 1.5_f32.to_bits()]);
        assert!(one.with_one_nan().is_none());
        let vectors = Column::from_vec(vec![Vec3([1.0, others[2], 2.0])]);
        let one = vectors.with_one_nan().expect("it has another");
        assert_eq!(bits(&one), [1.0_f32.to_bits(), usual, 2.0_f32.to_bits()]);
        let wide = Column::from_vec(vec![f64::from_bits(0xfff8_0000_0000_0000), 3.0]);
        let lists = Ragged::new(vec![0, 1, 2], wide).map(Column::from_ragged).expect("two lists");
        let one = lists.with_one_nan().expect("it has another");
        let inner = one.as_ragged().and_then(|it| it.values().as_slice::<f64>()).expect("f64");
        assert_eq!(inner.iter().map(|x| x.to_bits()).next(), Some(f64::NAN.to_bits()));
        assert!(Column::from_vec(vec![1_i32]).with_one_nan().is_none());
    }
}
