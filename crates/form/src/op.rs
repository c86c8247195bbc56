//! Operations: names, operands, lanes, costs and accuracies, read from the table.

use millstream_base::Lane;

use crate::table::operations;

/// The lane of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    /// The lane of the operands.
    Same,
    /// `bool`.
    Bool,
    /// `i32` for `f32`, `i64` for `f64`, and back.
    Cast,
    /// Any.
    Any,
}

/// The lanes that an operation takes and returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lanes {
    bool: bool,
    integer: bool,
    float: bool,
    gives: Gives,
}

/// The largest known errors of an elementary function, in ULP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accuracy {
    /// In `f32`.
    pub f32: &'static str,
    /// In `f64`.
    pub f64: &'static str,
}

/// Number of operands.
macro_rules! arity {
    (($a:ident)) => {
        1
    };
    (($a:ident, $b:ident)) => {
        2
    };
    (($a:ident, $b:ident, $c:ident)) => {
        3
    };
}

/// The cost in a row; 1 by default.
macro_rules! cost {
    () => {
        1
    };
    ($cost:literal) => {
        $cost
    };
}

/// Whether the argument is not empty.
macro_rules! has {
    () => {
        false
    };
    ($something:tt) => {
        true
    };
}

macro_rules! define_op {
    (
        arithmetic {$(
            $(#[$doc:meta])*
            $variant:ident $name:ident $args:tt -> $gives:ident
            $(cost $cost:literal)? $(commutes $commuting:tt)?
            { $(bool $bool:tt)? $(integer $integer:tt)? $(float $float:tt)? }
        )*}
        elementary {$(
            $(#[$e_doc:meta])*
            $e_variant:ident $e_name:ident $e_args:tt accuracy $f32:literal $f64:literal
            $(commutes $e_commuting:tt)? { $($e_meaning:tt)* }
        )*}
        any_lane {$(
            $(#[$a_doc:meta])*
            $a_variant:ident $a_name:ident $a_args:tt -> $a_gives:ident
        )*}
    ) => {
        /// One operation of the kernel form; total, so that it has a result for any operands.
        ///
        /// Operands `a`, `b`, `c` are of one lane unless stated otherwise. Integer arithmetic
        /// wraps. Float arithmetic is IEEE 754, rounding to nearest even, never contracted. All
        /// NaNs are one value: the payload of a result is not defined, and operations that read
        /// bits ([`Op::Bitcast`], [`Op::Copysign`]) see a positive quiet NaN without payload.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op {
            /// The value with these bits, see [`crate::LaneValue::to_bits`].
            Const(u64),
            /// The parameter with this number.
            Param(u32),
            $($(#[$doc])* $variant,)*
            $($(#[$e_doc])* $e_variant,)*
            $($(#[$a_doc])* $a_variant,)*
        }

        impl Op {
            /// All operations except constants and parameters.
            pub const COMPUTING: &[Self] = &[
                $(Self::$variant,)* $(Self::$e_variant,)* $(Self::$a_variant,)*
            ];

            /// The word in the text form.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Const(_) => "const",
                    Self::Param(_) => "param",
                    $(Self::$variant => stringify!($name),)*
                    $(Self::$e_variant => stringify!($e_name),)*
                    $(Self::$a_variant => stringify!($a_name),)*
                }
            }

            /// Number of operands.
            pub const fn arity(self) -> usize {
                match self {
                    Self::Const(_) | Self::Param(_) => 0,
                    $(Self::$variant => arity!($args),)*
                    $(Self::$e_variant => arity!($e_args),)*
                    $(Self::$a_variant => arity!($a_args),)*
                }
            }

            /// Approximate work of the operation over columns, in units of the sum of two columns,
            /// which takes some hundredths of a nanosecond per element.
            pub const fn cost(self) -> usize {
                match self {
                    Self::Const(_) | Self::Param(_) => 0,
                    $(Self::$variant => cost!($($cost)?),)*
                    $(Self::$e_variant)|* => Self::MAX_COST,
                    $(Self::$a_variant)|* => 1,
                }
            }

            /// Whether exchanging the first two operands changes no bit of the result.
            pub const fn commutes(self) -> bool {
                match self {
                    $(Self::$variant => has!($($commuting)?),)*
                    $(Self::$e_variant => has!($($e_commuting)?),)*
                    _ => false,
                }
            }

            /// The accuracy of an elementary function; other operations are exact or correctly
            /// rounded.
            pub const fn accuracy(self) -> Option<Accuracy> {
                match self {
                    $(Self::$e_variant => Some(Accuracy { f32: $f32, f64: $f64 }),)*
                    _ => None,
                }
            }

            const fn lanes(self) -> Lanes {
                const fn all(gives: Gives) -> Lanes {
                    Lanes { bool: true, integer: true, float: true, gives }
                }
                match self {
                    Self::Const(_) | Self::Param(_) => all(Gives::Same),
                    $(Self::$variant => Lanes {
                        bool: has!($($bool)?),
                        integer: has!($($integer)?),
                        float: has!($($float)?),
                        gives: Gives::$gives,
                    },)*
                    $(Self::$e_variant)|* => {
                        Lanes { bool: false, integer: false, float: true, gives: Gives::Same }
                    }
                    $(Self::$a_variant => all(Gives::$a_gives),)*
                }
            }
        }
    };
}

operations!(define_op);

impl Op {
    /// The largest cost of an operation.
    pub const MAX_COST: usize = 35;

    /// The computing operation with this word in the text form.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::COMPUTING.iter().copied().find(|op| op.name() == name)
    }

    /// Whether the operation takes operands of this lane.
    pub const fn takes(self, of: Lane) -> bool {
        let lanes = self.lanes();
        match of {
            Lane::Bool => lanes.bool,
            Lane::I32 | Lane::I64 => lanes.integer,
            Lane::F32 | Lane::F64 => lanes.float,
        }
    }

    /// Whether the operation can take operands of lane `of` and return lane `to`.
    ///
    /// All operands are of lane `of`, except the first of [`Op::Select`], which is a `bool`.
    pub const fn fits(self, of: Lane, to: Lane) -> bool {
        let gives = match self.lanes().gives {
            Gives::Same => of as u8 == to as u8,
            Gives::Bool => matches!(to, Lane::Bool),
            Gives::Cast => matches!(
                (of, to),
                (Lane::F32, Lane::I32)
                    | (Lane::I32, Lane::F32)
                    | (Lane::F64, Lane::I64)
                    | (Lane::I64, Lane::F64)
            ),
            Gives::Any => true,
        };
        gives && self.takes(of)
    }

    /// The result lane for operands of lane `of`, if they determine it and the operation takes it.
    pub fn result_lane(self, of: Lane) -> Option<Lane> {
        let to = match (self.lanes().gives, of) {
            (Gives::Any, _) | (Gives::Cast, Lane::Bool) => return None,
            (Gives::Same, _) => of,
            (Gives::Bool, _) => Lane::Bool,
            (Gives::Cast, Lane::I32) => Lane::F32,
            (Gives::Cast, Lane::I64) => Lane::F64,
            (Gives::Cast, Lane::F32) => Lane::I32,
            (Gives::Cast, Lane::F64) => Lane::I64,
        };
        self.takes(of).then_some(to)
    }

    /// The lane that operand `i` must have in an instruction of lane `of`.
    pub const fn operand_lane(self, i: usize, of: Lane) -> Lane {
        if i == 0 && matches!(self, Self::Select) { Lane::Bool } else { of }
    }
}
