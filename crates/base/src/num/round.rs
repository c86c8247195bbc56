//! Rounding to integers without calls or branches, so that loops over columns vectorize.
//!
//! Adding and subtracting 2 to the power of the mantissa's width rounds to the nearest even
//! integer, as the addition itself rounds; the other roundings correct that result by one. Values
//! from that power on are integers already, and so are infinities; NaN stays NaN.

macro_rules! rounding {
    ($float:ident) => {
        /// The roundings of one type.
        pub(super) mod $float {
            /// From this value on, all values are integers.
            const WHOLE: $float = 1.0 / $float::EPSILON;

            #[inline(always)]
            pub(crate) fn round_even(x: $float) -> $float {
                let size = x.abs();
                let near = (size + WHOLE) - WHOLE;
                if size < WHOLE { near.copysign(x) } else { x }
            }

            #[inline(always)]
            pub(crate) fn floor(x: $float) -> $float {
                let near = round_even(x);
                if near > x { near - 1.0 } else { near }
            }

            #[inline(always)]
            pub(crate) fn ceil(x: $float) -> $float {
                let near = round_even(x);
                let up = if near < x { near + 1.0 } else { near };
                up.copysign(x)
            }

            #[inline(always)]
            pub(crate) fn trunc(x: $float) -> $float {
                let size = x.abs();
                let near = round_even(size);
                let down = if near > size { near - 1.0 } else { near };
                down.copysign(x)
            }

            #[inline(always)]
            pub(crate) fn round(x: $float) -> $float {
                let size = x.abs();
                let down = trunc(size);
                let away = if size - down >= 0.5 { down + 1.0 } else { down };
                let away = if size < WHOLE { away } else { size };
                away.copysign(x)
            }
        }
    };
}

rounding!(f32);
rounding!(f64);
