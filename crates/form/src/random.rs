//! Random forms and values for tests: every operation, every lane, and frequent special values.

use millstream_base::lane::Lane;

use crate::build::{FormBuilder, Val};
use crate::inst::Form;
use crate::lane_value::LaneValue;
use crate::op::Op;

/// A small random number generator: multiplicative congruential with 64 bits, of which the upper
/// half is used.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x5DEE_CE66_D1CE_4E5B)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        let mut next = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0 >> 32
        };
        next() << 32 | next()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 8) as usize % n
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(crate) fn float(&mut self) -> f64 {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            1e-40,
            5e-324,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            -3e9,
            1e19,
            4_503_599_627_370_497.5,
        ];
        match self.below(4) {
            0 => self.pick(&special),
            1 => f64::from_bits(self.bits()),
            _ => (self.bits() as i32) as f64 / 65_536.0 / 256.0,
        }
    }

    pub(crate) fn value(&mut self, lane: Lane) -> u64 {
        match lane {
            Lane::Bool => self.bits() & 1,
            Lane::I32 => match self.below(3) {
                0 => self.pick(&[0, 1, -1, i32::MIN, i32::MAX, 31, 32]).to_bits(),
                1 => (self.bits() as i32).to_bits(),
                _ => (self.below(20) as i32 - 10).to_bits(),
            },
            Lane::I64 => match self.below(3) {
                0 => self.pick(&[0, 1, -1, i64::MIN, i64::MAX, 63, 1 << 40]).to_bits(),
                1 => self.bits(),
                _ => (self.below(20) as i64 - 10).to_bits(),
            },
            Lane::F32 => match self.below(5) {
                0 => (self.bits() as i32).to_bits(),
                _ => LaneValue::to_bits(self.float() as f32),
            },
            Lane::F64 => LaneValue::to_bits(self.float()),
        }
    }
}

/// One of the existing values of `lane`, or else a new constant.
fn operand<'b>(dice: &mut Dice, b: &'b FormBuilder, values: &[Val<'b>], lane: Lane) -> Val<'b> {
    let fitting: Vec<Val<'b>> = values.iter().copied().filter(|v| v.lane() == lane).collect();
    if fitting.is_empty() || dice.below(10) == 0 {
        b.constant_bits(lane, dice.value(lane))
    } else {
        dice.pick(&fitting)
    }
}

/// A form with two parameters of each lane, `n` random instructions and a few results.
pub(crate) fn random_form(dice: &mut Dice, n: usize) -> Form {
    let b = FormBuilder::new();
    let mut values: Vec<Val<'_>> =
        Lane::ALL.into_iter().flat_map(|lane| [b.param(lane), b.param(lane)]).collect();
    for _ in 0..n {
        let op = dice.pick(Op::COMPUTING);
        let (of, to) = loop {
            let (of, to) = (dice.pick(&Lane::ALL), dice.pick(&Lane::ALL));
            if op.fits(of, to) {
                break (of, to);
            }
        };
        let args: Vec<Val<'_>> =
            (0..op.arity()).map(|i| operand(dice, &b, &values, op.operand_lane(i, of))).collect();
        values.push(b.emit(op, to, &args));
    }
    let results: Vec<Val<'_>> = (0..=dice.below(6)).map(|_| dice.pick(&values)).collect();
    b.finish(&results)
}

/// A form with one result: `op` on parameters of these lanes.
pub(crate) fn single(op: Op, of: Lane, to: Lane) -> Form {
    let b = FormBuilder::new();
    let args: Vec<Val<'_>> = (0..op.arity()).map(|i| b.param(op.operand_lane(i, of))).collect();
    b.finish(&[b.emit(op, to, &args)])
}

/// Every operation with every pair of lanes that it takes.
pub(crate) fn all_singles() -> impl Iterator<Item = (Op, Lane, Lane)> {
    let lanes = || Lane::ALL.into_iter();
    Op::COMPUTING
        .iter()
        .flat_map(move |&op| lanes().flat_map(move |of| lanes().map(move |to| (op, of, to))))
        .filter(|&(op, of, to)| op.fits(of, to))
}
