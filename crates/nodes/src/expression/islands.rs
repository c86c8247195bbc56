//! Sets of terms that compute with the same type of number.
//!
//! Numbers that are added, multiplied, selected and so on have the same type: the narrowest that
//! can hold all inputs among them. Such terms form an *island*. Islands end at comparisons,
//! conditions, components, and functions that state the types of their arguments.
//!
//! An island of literals and results of comparisons consists of floats: of the type that holds the
//! floats among the inputs, so that a formula whose inputs have one type of float computes in that
//! type throughout. If there are integers among the inputs, choices among whole numbers, and their
//! sums, are integers: these can become floats, but not the other way round.

use millstream_base::{Lane, Type};
use millstream_node::signature::wider_lane;

use super::TermId;
use super::token::Number;

/// The types of inputs that count as integers in arithmetic.
const WHOLE: [Type; 3] = [Type::BOOL, Type::I32, Type::I64];

/// The requirements on the numbers of an island.
#[expect(clippy::struct_excessive_bools, reason = "they are independent")]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    /// The narrowest lane that can hold the values from outside.
    pub(super) lane: Option<Lane>,
    /// Whether some numbers have fractions.
    pub(super) is_fractional: bool,
    /// Whether numbers are multiplied, divided or the like, which in integers gives other results
    /// than in floats.
    pub(super) is_scaled: bool,
    /// Whether a literal is an integer beyond the range of `i32`.
    is_long: bool,
    /// Whether a literal is beyond the range of `f32`.
    is_wide: bool,
}

/// Sets of terms.
pub(super) struct Islands {
    parents: Vec<u32>,
    demands: Vec<Demand>,
    /// The lane that holds the floats among the inputs of the expression.
    floats: Option<Lane>,
    /// Whether there are integers or truth values among them.
    has_integers: bool,
}

impl Islands {
    /// Each term starts as an island; the inputs of the expression have these types.
    pub(super) fn new(n_terms: usize, inputs: &[Type]) -> Self {
        Self {
            parents: (0..n_terms as u32).collect(),
            demands: vec![Demand::default(); n_terms],
            floats: float_lane(inputs),
            has_integers: inputs.iter().any(|ty| WHOLE.contains(ty)),
        }
    }

    /// Records a literal.
    pub(super) fn written(&mut self, term: TermId, number: Number) {
        *self.demand(term) = demand_of(number);
    }

    fn root(&mut self, term: TermId) -> usize {
        let mut at = term.0 as usize;
        while self.parents[at] as usize != at {
            self.parents[at] = self.parents[self.parents[at] as usize];
            at = self.parents[at] as usize;
        }
        at
    }

    pub(super) fn demand(&mut self, term: TermId) -> &mut Demand {
        let root = self.root(term);
        &mut self.demands[root]
    }

    pub(super) fn comes_in(&mut self, term: TermId, lane: Lane) {
        let demand = self.demand(term);
        demand.lane = Some(demand.lane.map_or(lane, |known| wider_lane(known, lane)));
    }

    pub(super) fn join(&mut self, a: TermId, b: TermId) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        // Terms come after their operands, so the later root has the longer chain.
        let (low, high) = (a.min(b), a.max(b));
        let other = self.demands[low];
        self.parents[low] = high as u32;
        let demand = &mut self.demands[high];
        demand.lane = match (demand.lane, other.lane) {
            (Some(a), Some(b)) => Some(wider_lane(a, b)),
            (a, b) => a.or(b),
        };
        demand.is_fractional |= other.is_fractional;
        demand.is_scaled |= other.is_scaled;
        demand.is_long |= other.is_long;
        demand.is_wide |= other.is_wide;
    }

    pub(super) fn lane(&mut self, term: TermId) -> Lane {
        let demand = *self.demand(term);
        let lane = match (demand.lane, self.floats) {
            // A truth value from outside is an integer, unless the formula has floats.
            (None | Some(Lane::Bool), Some(floats)) => floats,
            (None, None) if self.has_integers && !demand.is_scaled => Lane::I32,
            (None, None) => Lane::F32,
            (Some(lane), _) => lane,
        };
        match lane {
            Lane::Bool | Lane::I32 if demand.is_fractional && demand.is_wide => Lane::F64,
            Lane::Bool | Lane::I32 if demand.is_fractional => Lane::F32,
            Lane::Bool | Lane::I32 if demand.is_long => Lane::I64,
            Lane::Bool | Lane::I32 => Lane::I32,
            Lane::I64 if demand.is_fractional => Lane::F64,
            Lane::F32 if demand.is_wide => Lane::F64,
            lane @ (Lane::I64 | Lane::F32 | Lane::F64) => lane,
        }
    }
}

/// The lane that holds the floats among inputs of these types; `None` if there are none.
fn float_lane(inputs: &[Type]) -> Option<Lane> {
    let numbers = inputs.iter().filter(|ty| Type::NUMERIC.contains(ty));
    let lanes = numbers.filter_map(|ty| Some(ty.lanes()?.0));
    lanes.filter(|lane| matches!(lane, Lane::F32 | Lane::F64)).reduce(wider_lane)
}

fn demand_of(number: Number) -> Demand {
    Demand {
        is_fractional: number.whole().is_none(),
        is_long: number.whole().is_some_and(|whole| i32::try_from(whole).is_err()),
        is_wide: number.whole().is_none()
            && number.value.is_finite()
            && !(number.value as f32).is_finite(),
        ..Demand::default()
    }
}
