//! Conversion of terms to a kernel form, and the types with which an expression can compute.

use millstream_base::{Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::Among;

use super::functions::{FUNCTIONS, Kind, Takes};
use super::token::Number;
use super::{Binary, Expression, Term, TermId, Unary};
use crate::integer;

impl Expression {
    /// The type of the whole expression.
    pub(super) fn kind(&self) -> Kind {
        let mut kinds: Vec<Kind> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let of = |id: TermId| kinds[id.0 as usize];
            let kind = match term {
                Term::Number(_) | Term::Input(_) | Term::Unary(Unary::Negate, _) => Kind::Number,
                Term::Truth(_) | Term::Unary(Unary::Not, _) => Kind::Truth,
                Term::Binary(binary, ..) => binary.gives(),
                Term::Choose(_, yes, no) => match (of(*yes), of(*no)) {
                    (Kind::Truth, Kind::Truth) => Kind::Truth,
                    (Kind::Number, _) | (_, Kind::Number) => Kind::Number,
                },
                Term::Call(function, _) => FUNCTIONS[*function as usize].gives,
            };
            kinds.push(kind);
        }
        *kinds.last().expect("an expression has a term")
    }

    /// The types that the inputs may have.
    pub(super) fn among(&self) -> Among {
        let mut first = 0;
        for term in &self.terms {
            let least = match term {
                Term::Number(number) => number.least_type(),
                Term::Call(function, _) => match FUNCTIONS[*function as usize].takes {
                    Takes::Numbers => 0,
                    Takes::Floats => 2,
                },
                Term::Truth(_)
                | Term::Input(_)
                | Term::Unary(..)
                | Term::Binary(..)
                | Term::Choose(..) => 0,
            };
            first = first.max(least);
        }
        Among::These(&TYPES[first..])
    }

    /// The number of powers with a computed exponent; each takes some hundred instructions for
    /// integers.
    pub(super) fn n_computed_powers(&self) -> usize {
        let computed = |term: &&Term| match term {
            Term::Binary(Binary::Power, _, exponent) => {
                !matches!(self.terms[exponent.0 as usize], Term::Number(_))
            }
            _ => false,
        };
        self.terms.iter().filter(computed).count()
    }

    /// Computes the expression with these inputs, all of lane `lane`.
    pub(super) fn lower<'b>(&self, b: &'b FormBuilder, lane: Lane, inputs: &[Val<'b>]) -> Val<'b> {
        let mut values: Vec<Val<'b>> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let any = |id: &TermId| values[id.0 as usize];
            let number = |id: &TermId| any(id).convert(lane);
            let truth = |id: &TermId| any(id).convert(Lane::Bool);
            let value = match term {
                Term::Number(number) => number.constant(b, lane),
                Term::Truth(holds) => b.constant_bool(*holds),
                Term::Input(input) => inputs[*input as usize],
                Term::Unary(Unary::Negate, x) => -number(x),
                Term::Unary(Unary::Not, x) => !truth(x),
                Term::Binary(Binary::And, x, y) => truth(x) & truth(y),
                Term::Binary(Binary::Or, x, y) => truth(x) | truth(y),
                Term::Binary(Binary::Power, x, y) => {
                    power(number(x), number(y), &self.terms[y.0 as usize])
                }
                Term::Binary(binary, x, y) => {
                    let both = any(x).lane() == any(y).lane() && binary.is_equality();
                    let (x, y) = if both { (any(x), any(y)) } else { (number(x), number(y)) };
                    arithmetic(*binary, x, y)
                }
                Term::Choose(condition, yes, no) => {
                    let both = any(yes).lane() == any(no).lane();
                    let (yes, no) =
                        if both { (any(yes), any(no)) } else { (number(yes), number(no)) };
                    truth(condition).select(yes, no)
                }
                Term::Call(function, args) => {
                    let args: Vec<Val<'b>> = args.iter().map(number).collect();
                    FUNCTIONS[*function as usize].apply(&args)
                }
            };
            values.push(value);
        }
        *values.last().expect("an expression has a term")
    }
}

/// In order of preference; the needs of an expression exclude a prefix of these.
const TYPES: [Type; 4] = [Type::I32, Type::I64, Type::F32, Type::F64];

impl Number {
    /// The first of [`TYPES`] that can represent the number.
    fn least_type(self) -> usize {
        match self.whole {
            Some(whole) if i32::try_from(whole).is_ok() => 0,
            Some(_) => 1,
            None if self.value.is_finite() && !(self.value as f32).is_finite() => 3,
            None => 2,
        }
    }

    fn constant(self, b: &FormBuilder, lane: Lane) -> Val<'_> {
        match (self.whole, lane) {
            (Some(whole), Lane::I64) => b.constant_i64(whole),
            (_, Lane::Bool | Lane::I32 | Lane::I64 | Lane::F32 | Lane::F64) => {
                b.constant(lane, self.value)
            }
        }
    }
}

impl Binary {
    pub(super) fn is_comparison(self) -> bool {
        match self {
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual => true,
            Self::Or
            | Self::And
            | Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Modulo
            | Self::Power => false,
        }
    }

    fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }

    fn gives(self) -> Kind {
        match self {
            Self::Or | Self::And => Kind::Truth,
            _ if self.is_comparison() => Kind::Truth,
            _ => Kind::Number,
        }
    }
}

fn arithmetic<'b>(binary: Binary, x: Val<'b>, y: Val<'b>) -> Val<'b> {
    match binary {
        Binary::Equal => x.eq(y),
        Binary::NotEqual => x.ne(y),
        Binary::Less => x.lt(y),
        Binary::LessEqual => x.le(y),
        Binary::Greater => x.gt(y),
        Binary::GreaterEqual => x.ge(y),
        Binary::Add => x + y,
        Binary::Subtract => x - y,
        Binary::Multiply => x * y,
        Binary::Divide => x / y,
        Binary::Modulo => x % y,
        Binary::Power => x.pow(y),
        Binary::And => x & y,
        Binary::Or => x | y,
    }
}

/// A power: a product if the exponent is a small literal or the lane is an integer.
fn power<'b>(x: Val<'b>, y: Val<'b>, exponent: &Term) -> Val<'b> {
    let written = match exponent {
        Term::Number(number) => number.whole,
        _ => None,
    };
    match written {
        Some(whole) if x.lane().is_integer() => whole_power(x, whole),
        Some(2) => x * x,
        Some(3) => x * x * x,
        Some(4) => (x * x) * (x * x),
        Some(_) | None if x.lane().is_integer() => integer::power(x, y),
        Some(_) | None => x.pow(y),
    }
}

/// An integer to a known power that is not negative, by squaring; wraps around.
fn whole_power(x: Val<'_>, mut exponent: i64) -> Val<'_> {
    let (mut result, mut square) = (x.like(1), x);
    while exponent > 0 {
        if exponent & 1 != 0 {
            result = result * square;
        }
        square = square * square;
        exponent >>= 1;
    }
    result
}
