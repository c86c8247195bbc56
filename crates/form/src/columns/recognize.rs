//! Finds the forms of coarse operations within a form.

use millstream_base::id::Id;
use smallvec::SmallVec;

use super::layout::Home;
use super::shape::{MAX_OPERANDS, Shape, TEMPLATES, Template};
use crate::inst::{Form, Reg};
use crate::op::Op;

/// A coarse operation found: its operands in the order of the template's parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) shape: Shape,
    operands: [Reg; MAX_OPERANDS],
    n_varying: u8,
    n_operands: u8,
}

impl Found {
    /// Operands that may vary.
    pub(super) fn varying(&self) -> &[Reg] {
        &self.operands[..self.n_varying as usize]
    }

    /// Operands that are the same for all elements.
    pub(super) fn uniform(&self) -> &[Reg] {
        &self.operands[self.n_varying as usize..self.n_operands as usize]
    }
}

/// Looks for `shape` with `reg` as its result.
pub(super) fn recognize(shape: Shape, form: &Form, homes: &[Home], reg: Reg) -> Option<Found> {
    let template = &TEMPLATES[shape as usize];
    let root = template.form.results[0];
    if form.insts[reg].op != template.form.insts[root].op {
        return None;
    }
    let mut search = Search {
        template,
        form,
        homes,
        bound: [None; MAX_OPERANDS],
        matched: SmallVec::from_elem(None, template.form.insts.len()),
        trail: SmallVec::new(),
        steps_left: STEPS,
    };
    if !search.fits(&[(root, reg)]) {
        return None;
    }
    let n_operands = template.form.params.len();
    let mut operands = [reg; MAX_OPERANDS];
    for (operand, bound) in operands.iter_mut().zip(search.bound) {
        *operand = bound.unwrap_or(reg);
    }
    Some(Found {
        shape,
        operands,
        n_varying: template.n_varying as u8,
        n_operands: n_operands as u8,
    })
}

/// Comparisons of registers in one search: several times those of a template that is there, but not
/// all orders of operands in forms that resemble one.
const STEPS: usize = 1 << 12;

struct Search<'s> {
    template: &'s Template,
    form: &'s Form,
    homes: &'s [Home],
    /// What the parameters of the template are.
    bound: [Option<Reg>; MAX_OPERANDS],
    /// The registers of the form for those of the template that were compared.
    matched: SmallVec<[Option<Reg>; 32]>,
    /// The registers of the template that were compared, in order.
    trail: SmallVec<[Reg; 32]>,
    steps_left: usize,
}

impl Search<'_> {
    /// Whether these registers of the template can be those of the form. As deep as the template.
    fn fits(&mut self, pairs: &[(Reg, Reg)]) -> bool {
        let Some((&(part, reg), rest)) = pairs.split_first() else { return true };
        let Some(left) = self.steps_left.checked_sub(1) else { return false };
        self.steps_left = left;
        if let Some(found) = self.matched[part.index()] {
            return found == reg && self.fits(rest);
        }
        let wanted = &self.template.form.insts[part];
        if let Op::Param(number) = wanted.op {
            return self.binds(number as usize, reg) && self.fits(rest);
        }
        let found = &self.form.insts[reg];
        let same = (found.op, found.of, found.lane) == (wanted.op, wanted.of, wanted.lane);
        if !same || !self.is_free(part, reg) {
            return false;
        }
        let n_matched = self.trail.len();
        // The other order of equal operands is the same.
        let is_pair = |args: &[Reg]| args.len() == 2 && args[0] == args[1];
        let has_orders = is_commutative(wanted.op) && !is_pair(wanted.args());
        let orders: &[[usize; 2]] = if has_orders { &[[0, 1], [1, 0]] } else { &[[0, 1]] };
        for order in orders {
            let before = self.bound;
            self.matched[part.index()] = Some(reg);
            self.trail.push(part);
            let mut pairs: SmallVec<[(Reg, Reg); 16]> = SmallVec::new();
            for (&part, place) in wanted.args().iter().zip(order) {
                pairs.push((part, found.args()[*place]));
            }
            pairs.extend_from_slice(rest);
            if self.fits(&pairs) {
                return true;
            }
            self.bound = before;
            for part in self.trail.drain(n_matched..) {
                self.matched[part.index()] = None;
            }
        }
        false
    }

    fn binds(&mut self, number: usize, reg: Reg) -> bool {
        if let Some(bound) = self.bound[number] {
            return bound == reg;
        }
        let template = self.template;
        let lane = self.form.insts[reg].lane;
        let may_vary = number < template.n_varying;
        let fits =
            lane == template.form.params[number] && (may_vary || self.homes[reg.index()].uniform);
        if fits {
            self.bound[number] = Some(reg);
        }
        fits
    }

    /// Whether a register may go without a place of its own.
    fn is_free(&self, part: Reg, reg: Reg) -> bool {
        let home = self.homes[reg.index()];
        let template = self.template;
        let is_root = part == template.form.results[0];
        let shared = template.shared.contains(&template.form.insts[part].op);
        is_root
            || !home.uniform
                && (shared || !home.wanted && home.n_uses == template.n_uses[part.index()])
    }
}

fn is_commutative(op: Op) -> bool {
    matches!(op, Op::Add | Op::Mul | Op::Xor | Op::And | Op::Or)
}
