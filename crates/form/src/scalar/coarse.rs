//! Chooses the lines of a form: several operations become one line if that saves calls, in an order
//! in which most lines read the result of the line before.
//!
//! A short operation spends most of its time on its call, and on writing its result for the next
//! one. One line computes the distance of two 3-vectors, their dot product, or the square root of
//! either; another line computes two of sum, difference and product if only the second reads the
//! first. Every operation rounds as it does alone.

use millstream_base::Lane;
use millstream_base::id::Id;
use smallvec::SmallVec;

use super::line::{Run, of_vectors};
use super::straight::StraightWriter;
use crate::arithmetic::FloatLane;
use crate::columns::loops::distance;
use crate::inst::{Form, Inst, Reg};
use crate::op::Op;

/// Appends the lines that compute the results of a form. `at` holds the register of the file for
/// each register of the form; those of constants and parameters are filled.
pub(super) fn write_lines(form: &Form, at: &[u32], code: &mut StraightWriter) {
    let units = Finder::new(form, at).units();
    for unit in ordered(form, &units) {
        unit.write(form, at, code);
    }
}

/// Instructions that become one line.
struct Unit {
    /// The last of these instructions, which computes the result.
    reg: Reg,
    kind: Kind,
    /// Their operands.
    operands: SmallVec<[Reg; 6]>,
}

#[derive(Clone, Copy)]
enum Kind {
    /// The instruction alone.
    One,
    /// The instruction and `inner`, whose result it reads: as its second operand if `second` is
    /// set.
    Pair { inner: Reg, second: bool },
    /// A function of two vectors, which begin in these registers of the file.
    Vectors { run: Run, first: [u32; 2] },
}

impl Unit {
    fn write(&self, form: &Form, at: &[u32], code: &mut StraightWriter) {
        let Inst { op, of, lane, .. } = form.insts[self.reg];
        let out = at[self.reg.index()];
        let args: SmallVec<[u32; 6]> = self.operands.iter().map(|reg| at[reg.index()]).collect();
        match self.kind {
            Kind::One => code.operation((op, of, lane), &args, out),
            Kind::Pair { inner, second } => {
                code.pair([form.insts[inner].op, op], second, of, &args, out);
            }
            Kind::Vectors { run, first } => code.push(run, &first, (out, lane)),
        }
    }
}

/// The units that the results need, each after its operands. The operand of a unit that takes most
/// steps comes last, so that long chains stay together.
fn ordered<'u>(form: &Form, units: &'u [Unit]) -> Vec<&'u Unit> {
    const NO_UNIT: u32 = u32::MAX;
    let mut unit_of = vec![NO_UNIT; form.insts.len()];
    let mut height = vec![0_u32; form.insts.len()];
    for (i, unit) in units.iter().enumerate() {
        let below = unit.operands.iter().map(|operand| height[operand.index()]).max();
        height[unit.reg.index()] = below.unwrap_or(0) + 1;
        unit_of[unit.reg.index()] = i as u32;
    }
    // The next operand that was not visited, the one with the fewest steps first.
    let next = |unit: &Unit, unit_of: &[u32]| {
        let open = unit.operands.iter().filter(|operand| unit_of[operand.index()] != NO_UNIT);
        open.min_by_key(|operand| height[operand.index()]).copied()
    };
    let mut order = Vec::with_capacity(units.len());
    let mut stack: Vec<&Unit> = Vec::new();
    for result in &form.results {
        let mut meet = Some(*result);
        loop {
            if let Some(reg) = meet.take() {
                let i = std::mem::replace(&mut unit_of[reg.index()], NO_UNIT);
                if i != NO_UNIT {
                    stack.push(&units[i as usize]);
                }
            }
            let Some(unit) = stack.last() else { break };
            meet = next(unit, &unit_of);
            if meet.is_none() {
                order.extend(stack.pop());
            }
        }
    }
    order
}

/// The instructions of a unit but the last.
type Parts = SmallVec<[Reg; 8]>;

struct Finder<'f> {
    form: &'f Form,
    at: &'f [u32],
    /// Number of uses of each register as an operand; very large for results.
    n_uses: Vec<u32>,
}

impl<'f> Finder<'f> {
    fn new(form: &'f Form, at: &'f [u32]) -> Self {
        let mut n_uses = vec![0_u32; form.insts.len()];
        for (_, inst) in form.insts.iter() {
            for arg in inst.args() {
                n_uses[arg.index()] += 1;
            }
        }
        for result in &form.results {
            n_uses[result.index()] = 1 << 16;
        }
        Self { form, at, n_uses }
    }

    /// The units of a form, each after its operands.
    fn units(&self) -> Vec<Unit> {
        let mut units = Vec::with_capacity(self.form.insts.len());
        let mut is_absorbed = vec![false; self.form.insts.len()];
        for (reg, inst) in self.form.insts.iter().rev() {
            if is_absorbed[reg.index()] || inst.op.arity() == 0 {
                continue;
            }
            let (unit, parts) = self.product(reg).or_else(|| self.pair(reg)).unwrap_or_else(|| {
                let operands = inst.args().iter().copied().collect();
                (Unit { reg, kind: Kind::One, operands }, Parts::new())
            });
            parts.into_iter().for_each(|part| is_absorbed[part.index()] = true);
            units.push(unit);
        }
        units.reverse();
        units
    }

    fn inst(&self, reg: Reg) -> &'f Inst {
        &self.form.insts[reg]
    }

    /// The operands of an instruction that computes `op` on floats of this lane, if its result is
    /// used exactly `n_uses` times.
    fn between(&self, reg: Reg, op: Op, of: Lane, n_uses: u32) -> Option<[Reg; 2]> {
        let inst = self.inst(reg);
        let fits = (inst.op, inst.of) == (op, of) && self.n_uses[reg.index()] == n_uses;
        fits.then(|| [inst.args()[0], inst.args()[1]])
    }

    /// `a x + b y + c z`, added in this order, of vectors in consecutive registers, or of
    /// differences of such vectors with themselves, or the square root of that.
    fn product(&self, reg: Reg) -> Option<(Unit, Parts)> {
        let inst = self.inst(reg);
        let (of, root) = (inst.of, inst.op == Op::Sqrt);
        if !of.is_float() || !(root || inst.op == Op::Add) {
            return None;
        }
        let mut parts = Parts::new();
        let [first, last] = if root {
            parts.push(inst.args()[0]);
            self.between(inst.args()[0], Op::Add, of, 1)?
        } else {
            [inst.args()[0], inst.args()[1]]
        };
        let [x, y] = self.between(first, Op::Add, of, 1)?;
        parts.push(first);
        let mut sides = [[reg; 2]; 3];
        for (side, product) in sides.iter_mut().zip([x, y, last]) {
            *side = self.between(product, Op::Mul, of, 1)?;
            parts.push(product);
        }
        let ends = self.differences(of, sides);
        if ends.is_some() {
            parts.extend(sides.map(|[difference, _]| difference));
        }
        let run = match of {
            Lane::F32 => product_of::<f32>(ends.is_some(), root),
            _ => product_of::<f64>(ends.is_some(), root),
        };
        let sides = ends.unwrap_or(sides);
        let first = self.vectors(sides)?;
        let kind = Kind::Vectors { run, first };
        Some((Unit { reg, kind, operands: sides.as_flattened().into() }, parts))
    }

    /// The operands of the differences of which these products are the squares.
    fn differences(&self, of: Lane, sides: [[Reg; 2]; 3]) -> Option<[[Reg; 2]; 3]> {
        let mut ends = sides;
        for (end, [a, b]) in ends.iter_mut().zip(sides) {
            if a != b {
                return None;
            }
            *end = self.between(a, Op::Sub, of, 2)?;
        }
        self.vectors(ends).map(|_| ends)
    }

    /// The first registers of two vectors whose lanes are in consecutive registers of the file.
    fn vectors(&self, sides: [[Reg; 2]; 3]) -> Option<[u32; 2]> {
        let at = sides.map(|side| side.map(|reg| self.at[reg.index()]));
        let [first, ..] = at;
        let follow = (0..).zip(at).all(|(k, [a, b])| [a, b] == [first[0] + k, first[1] + k]);
        follow.then_some(first)
    }

    /// A sum, difference or product together with another one that it alone reads.
    fn pair(&self, reg: Reg) -> Option<(Unit, Parts)> {
        let inst = self.inst(reg);
        if !is_arithmetic(inst) {
            return None;
        }
        let [a, b] = [inst.args()[0], inst.args()[1]];
        let (inner, other, second) = match (self.is_absorbed(a), self.is_absorbed(b)) {
            // The operand that absorbs nothing itself, so that its neighbor may absorb something.
            (true, true) if !self.absorbs(b) => (b, a, true),
            (true, _) => (a, b, false),
            (false, true) => (b, a, true),
            (false, false) => return None,
        };
        let [c, d] = [self.inst(inner).args()[0], self.inst(inner).args()[1]];
        let operands = SmallVec::from_slice(&[c, d, other]);
        let kind = Kind::Pair { inner, second };
        Some((Unit { reg, kind, operands }, Parts::from_elem(inner, 1)))
    }

    /// Whether an arithmetic instruction may become part of its only reader.
    fn is_absorbed(&self, reg: Reg) -> bool {
        let fits = self.n_uses[reg.index()] == 1 && is_arithmetic(self.inst(reg));
        fits && self.product(reg).is_none()
    }

    fn absorbs(&self, reg: Reg) -> bool {
        self.inst(reg).args().iter().any(|arg| self.is_absorbed(*arg))
    }
}

fn is_arithmetic(inst: &Inst) -> bool {
    matches!(inst.op, Op::Add | Op::Sub | Op::Mul) && inst.of.is_float()
}

/// The function of a line that computes this for two vectors.
fn product_of<A: FloatLane>(is_distance: bool, root: bool) -> Run {
    match (is_distance, root) {
        (true, true) => of_vectors(|a: [A; 3], b| distance(a, b, true)),
        (true, false) => of_vectors(|a: [A; 3], b| distance(a, b, false)),
        (false, true) => of_vectors(|a: [A; 3], b| A::sqrt(dot(a, b))),
        (false, false) => of_vectors(|a: [A; 3], b| dot(a, b)),
    }
}

#[inline(always)]
fn dot<A: FloatLane>(a: [A; 3], b: [A; 3]) -> A {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
