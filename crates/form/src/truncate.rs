//! Conversion of floats to integers with truncation and saturation, NaN giving 0, like `as`.
//!
//! `as` itself is not used because the compiler does not vectorize its loops (in
//! `cargo bench -p millstream-run --bench peers -- fbm` nine conversions took a third of the time).
//! These functions have no branches, so their loops become SIMD.

#![allow(unsafe_code, reason = "the conversion that is one instruction is an unsafe function")]

macro_rules! truncate {
    ($name:ident, $float:ident, $int:ident) => {
        #[inline(always)]
        pub(crate) fn $name(x: $float) -> $int {
            // Exact: both are powers of 2.
            const LOW: $float = $int::MIN as $float;
            const HIGH: $float = -LOW;
            let within = if (LOW..HIGH).contains(&x) { x } else { 0.0 };
            // SAFETY: `within` is 0 or at least `MIN` and below `MAX + 1`, so it is neither NaN nor
            // infinite, and has a value of the type when truncated.
            let whole = unsafe { within.to_int_unchecked::<$int>() };
            let whole = if x >= HIGH { $int::MAX } else { whole };
            if x < LOW { $int::MIN } else { whole }
        }
    };
}

truncate!(f32_to_i32, f32, i32);
truncate!(f32_to_i64, f32, i64);
truncate!(f64_to_i32, f64, i32);
truncate!(f64_to_i64, f64, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_what_a_cast_gives() {
        let ends = [0.0, 0.5, 1.0, 1.5, 8_388_607.5, 2_147_483_647.0, 2_147_483_648.0, 1e10];
        let ends = ends.into_iter().chain([
            2_147_483_649.0,
            9_223_372_036_854_775_808.0,
            9_223_372_036_854_774_784.0,
            1e30,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NAN,
        ]);
        let wide =
            ends.flat_map(|x| [x, -x, x.next_up(), -x.next_up(), x.next_down(), -x.next_down()]);
        let narrow = (0..=u32::MAX).step_by(65_521).map(|bits| f64::from(f32::from_bits(bits)));
        for x in wide.chain(narrow) {
            assert_eq!(f64_to_i32(x), x as i32, "{x:e}");
            assert_eq!(f64_to_i64(x), x as i64, "{x:e}");
            let x = x as f32;
            for x in [x, x.next_up(), x.next_down()] {
                assert_eq!(f32_to_i32(x), x as i32, "{x:e}");
                assert_eq!(f32_to_i64(x), x as i64, "{x:e}");
            }
        }
    }
}
