//! The operations of the kernel form: names, operands, lanes and meaning.
//!
//! What an operation computes is said here for people and in `meaning.rs` for the machine.

use millstream_base::Lane;

/// Which lanes an operation takes, and which it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Any lane, given again.
    Any,
    /// `i32 i64 f32 f64`, given again.
    Number,
    /// `i32 i64`, given again.
    Integer,
    /// `f32 f64`, given again.
    Float,
    /// `bool i32 i64`, given again.
    Bits,
    /// Any lane, gives `bool`.
    Test,
    /// `i32 i64 f32 f64`, gives `bool`.
    NumberTest,
    /// `f32 f64`, gives `bool`.
    FloatTest,
    /// Any lane, gives any lane.
    Convert,
    /// `i32` gives `f32`, `i64` gives `f64`, and back.
    Bitcast,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $name:literal $arity:literal $rule:ident;)*) => {
        /// One operation of the kernel form; total, so that any operands give a result.
        ///
        /// Operands `a`, `b`, `c` are of one lane unless said otherwise. Integer arithmetic wraps.
        /// Float arithmetic is IEEE 754, rounding to nearest even, never contracted. All NaNs are
        /// one value: which payload an operation gives is not defined, and operations that read
        /// bits ([`Op::Bitcast`], [`Op::Copysign`]) see a positive quiet NaN without payload.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op {
            /// The value whose bits these are, see [`super::LaneValue::to_bits`].
            Const(u64),
            /// The parameter of this number.
            Param(u32),
            $($(#[$doc])* $variant,)*
        }

        impl Op {
            /// All operations except constants and parameters.
            pub const COMPUTING: &[Self] = &[$(Self::$variant),*];

            /// The word in the text form.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Const(_) => "const",
                    Self::Param(_) => "param",
                    $(Self::$variant => $name,)*
                }
            }

            /// Number of operands.
            pub const fn arity(self) -> usize {
                match self {
                    Self::Const(_) | Self::Param(_) => 0,
                    $(Self::$variant => $arity,)*
                }
            }

            const fn rule(self) -> Rule {
                match self {
                    Self::Const(_) | Self::Param(_) => Rule::Any,
                    $(Self::$variant => Rule::$rule,)*
                }
            }
        }
    };
}

operations! {
    /// `a + b`.
    Add "add" 2 Number;
    /// `a - b`.
    Sub "sub" 2 Number;
    /// `a * b`.
    Mul "mul" 2 Number;
    /// `a / b`; integers truncate towards zero, an integer by zero gives 0, `MIN / -1` gives `MIN`.
    Div "div" 2 Number;
    /// `a - trunc(a / b) * b`, exact, with the sign of `a`; an integer by zero gives 0, a float NaN.
    Rem "rem" 2 Number;
    /// [`Op::Rem`], plus the magnitude of `b` where that is negative; an integer by zero gives 0.
    RemEuclid "rem_euclid" 2 Number;
    /// `-a`; of a float it flips the sign, of `MIN` it gives `MIN`.
    Neg "neg" 1 Number;
    /// `a` without its sign; `MIN` stays `MIN`.
    Abs "abs" 1 Number;
    /// -1, 0 or 1; a float zero and NaN are given as they are.
    Sign "sign" 1 Number;
    /// The lesser; a NaN gives way to a number, -0 is less than +0 (`minimumNumber`).
    Min "min" 2 Number;
    /// The greater; a NaN gives way to a number, +0 is greater than -0 (`maximumNumber`).
    Max "max" 2 Number;
    /// Square root, correctly rounded.
    Sqrt "sqrt" 1 Float;
    /// Largest integer not above `a`.
    Floor "floor" 1 Float;
    /// Smallest integer not below `a`.
    Ceil "ceil" 1 Float;
    /// Nearest integer not further from zero than `a`.
    Trunc "trunc" 1 Float;
    /// Nearest integer, halves away from zero.
    Round "round" 1 Float;
    /// Nearest integer, halves to the even one.
    RoundEven "round_even" 1 Float;
    /// `a - floor(a)`.
    Fract "fract" 1 Float;
    /// `a * b + c` with one rounding.
    Fma "fma" 3 Float;
    /// Sine, radians.
    Sin "sin" 1 Float;
    /// Cosine, radians.
    Cos "cos" 1 Float;
    /// Tangent, radians.
    Tan "tan" 1 Float;
    /// Arc sine, radians.
    Asin "asin" 1 Float;
    /// Arc cosine, radians.
    Acos "acos" 1 Float;
    /// Arc tangent, radians.
    Atan "atan" 1 Float;
    /// Angle of the point (`b`, `a`), radians.
    Atan2 "atan2" 2 Float;
    /// Hyperbolic sine.
    Sinh "sinh" 1 Float;
    /// Hyperbolic cosine.
    Cosh "cosh" 1 Float;
    /// Hyperbolic tangent.
    Tanh "tanh" 1 Float;
    /// Inverse hyperbolic sine.
    Asinh "asinh" 1 Float;
    /// Inverse hyperbolic cosine.
    Acosh "acosh" 1 Float;
    /// Inverse hyperbolic tangent.
    Atanh "atanh" 1 Float;
    /// e to the power `a`.
    Exp "exp" 1 Float;
    /// 2 to the power `a`.
    Exp2 "exp2" 1 Float;
    /// e to the power `a`, minus 1.
    ExpM1 "exp_m1" 1 Float;
    /// Natural logarithm.
    Ln "ln" 1 Float;
    /// Natural logarithm of `1 + a`.
    Ln1p "ln_1p" 1 Float;
    /// Logarithm to base 2.
    Log2 "log2" 1 Float;
    /// Logarithm to base 10.
    Log10 "log10" 1 Float;
    /// `a` to the power `b`.
    Pow "pow" 2 Float;
    /// Cube root.
    Cbrt "cbrt" 1 Float;
    /// Error function.
    Erf "erf" 1 Float;
    /// 1 minus the error function.
    Erfc "erfc" 1 Float;
    /// Gamma function.
    Gamma "gamma" 1 Float;
    /// Natural logarithm of the magnitude of the gamma function.
    LnGamma "ln_gamma" 1 Float;
    /// Square root of `a * a + b * b` without overflow on the way.
    Hypot "hypot" 2 Float;
    /// The magnitude of `a` with the sign of `b`; a NaN in `b` counts as positive.
    Copysign "copysign" 2 Float;
    /// Bitwise or logical and.
    And "and" 2 Bits;
    /// Bitwise or logical inclusive or.
    Or "or" 2 Bits;
    /// Bitwise or logical exclusive or.
    Xor "xor" 2 Bits;
    /// Bitwise or logical complement.
    Not "not" 1 Bits;
    /// Shift left by `b` modulo the width.
    Shl "shl" 2 Integer;
    /// Shift right by `b` modulo the width, copying the sign.
    Shr "shr" 2 Integer;
    /// Shift right by `b` modulo the width, filling with zeros.
    Ushr "ushr" 2 Integer;
    /// Number of one bits.
    CountOnes "count_ones" 1 Integer;
    /// Number of zero bits above the highest one bit; the width for 0.
    LeadingZeros "leading_zeros" 1 Integer;
    /// Number of zero bits below the lowest one bit; the width for 0.
    TrailingZeros "trailing_zeros" 1 Integer;
    /// Whether `a` equals `b`; NaN equals nothing, -0 equals +0.
    Eq "eq" 2 Test;
    /// Whether `a` differs from `b`; the opposite of [`Op::Eq`].
    Ne "ne" 2 Test;
    /// Whether `a < b`; false with a NaN.
    Lt "lt" 2 NumberTest;
    /// Whether `a <= b`; false with a NaN.
    Le "le" 2 NumberTest;
    /// Whether `a > b`; false with a NaN.
    Gt "gt" 2 NumberTest;
    /// Whether `a >= b`; false with a NaN.
    Ge "ge" 2 NumberTest;
    /// Whether `a` is NaN.
    IsNan "is_nan" 1 FloatTest;
    /// Whether `a` is neither infinite nor NaN.
    IsFinite "is_finite" 1 FloatTest;
    /// `b` if the `bool` `a` holds, else `c`.
    Select "select" 3 Any;
    /// The value in another lane: `bool` as 0 or 1; a number to `bool` as whether it is not zero
    /// (NaN is not); integers wrap or extend the sign; to a float rounds to nearest even; a float
    /// to an integer truncates and saturates, NaN giving 0.
    Convert "convert" 1 Convert;
    /// The same bits read as the float or integer lane of that width.
    Bitcast "bitcast" 1 Bitcast;
}

impl Op {
    /// About how much work the operation is over columns, in sums of two columns, which take some
    /// hundredth of a nanosecond an element.
    pub const fn cost(self) -> usize {
        match self {
            Self::Const(_) | Self::Param(_) => 0,
            Self::Div | Self::Sqrt => 8,
            Self::Rem
            | Self::RemEuclid
            | Self::Fma
            | Self::Sin
            | Self::Cos
            | Self::Tan
            | Self::Asin
            | Self::Acos
            | Self::Atan
            | Self::Atan2
            | Self::Sinh
            | Self::Cosh
            | Self::Tanh
            | Self::Asinh
            | Self::Acosh
            | Self::Atanh
            | Self::Exp
            | Self::Exp2
            | Self::ExpM1
            | Self::Ln
            | Self::Ln1p
            | Self::Log2
            | Self::Log10
            | Self::Pow
            | Self::Cbrt
            | Self::Erf
            | Self::Erfc
            | Self::Gamma
            | Self::LnGamma
            | Self::Hypot => Self::MAX_COST,
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Neg
            | Self::Abs
            | Self::Sign
            | Self::Min
            | Self::Max
            | Self::Floor
            | Self::Ceil
            | Self::Trunc
            | Self::Round
            | Self::RoundEven
            | Self::Fract
            | Self::Copysign
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::Not
            | Self::Shl
            | Self::Shr
            | Self::Ushr
            | Self::CountOnes
            | Self::LeadingZeros
            | Self::TrailingZeros
            | Self::Eq
            | Self::Ne
            | Self::Lt
            | Self::Le
            | Self::Gt
            | Self::Ge
            | Self::IsNan
            | Self::IsFinite
            | Self::Select
            | Self::Convert
            | Self::Bitcast => 1,
        }
    }

    /// The largest cost of an operation.
    pub const MAX_COST: usize = 35;

    /// The computing operation with this word in the text form.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::COMPUTING.iter().copied().find(|op| op.name() == name)
    }

    /// Whether the operation may take operands of lane `of` and give lane `to`.
    ///
    /// The operands that decide `of` are all, but for [`Op::Select`], whose first is a `bool`.
    pub const fn fits(self, of: Lane, to: Lane) -> bool {
        let same = of as u8 == to as u8;
        let gives_bool = matches!(to, Lane::Bool);
        let number = !matches!(of, Lane::Bool);
        match self.rule() {
            Rule::Any => same,
            Rule::Number => same && number,
            Rule::Integer => same && of.is_integer(),
            Rule::Float => same && of.is_float(),
            Rule::Bits => same && !of.is_float(),
            Rule::Test => gives_bool,
            Rule::NumberTest => gives_bool && number,
            Rule::FloatTest => gives_bool && of.is_float(),
            Rule::Convert => true,
            Rule::Bitcast => matches!(
                (of, to),
                (Lane::F32, Lane::I32)
                    | (Lane::I32, Lane::F32)
                    | (Lane::F64, Lane::I64)
                    | (Lane::I64, Lane::F64)
            ),
        }
    }

    /// The lane given for operands of lane `of`, if that decides it and the operation takes it.
    pub fn result_lane(self, of: Lane) -> Option<Lane> {
        let to = match self.rule() {
            Rule::Any | Rule::Number | Rule::Integer | Rule::Float | Rule::Bits => of,
            Rule::Test | Rule::NumberTest | Rule::FloatTest => Lane::Bool,
            Rule::Bitcast => match of {
                Lane::Bool => return None,
                Lane::I32 => Lane::F32,
                Lane::I64 => Lane::F64,
                Lane::F32 => Lane::I32,
                Lane::F64 => Lane::I64,
            },
            Rule::Convert => return None,
        };
        self.fits(of, to).then_some(to)
    }

    /// The lane that operand number `i` must have where the instruction is of lane `of`.
    pub const fn operand_lane(self, i: usize, of: Lane) -> Lane {
        if i == 0 && matches!(self, Self::Select) { Lane::Bool } else { of }
    }
}
