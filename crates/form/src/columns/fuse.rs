//! Chooses instructions coarser than those of the form, where that pays.
//!
//! Between two instructions a chunk of intermediate values is written and read again. What needs no
//! such chunk: a function of something scaled and shifted ([`Task::Affine`]), and the length of a
//! difference of vectors of three, read as they are stored ([`Task::Distance`]). Each operation
//! rounds as it does alone.

use millstream_base::Lane;
use millstream_base::id::Id;
use millstream_base::width::Width;

use super::layout::{Home, Source};
use crate::inst::{Form, Reg};
use crate::native::{Stretch, lane_size};
use crate::op::Op;

/// A step that runs for every chunk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// Loads a parameter or runs an instruction as it stands.
    One(Reg),
    /// An elementary function of `x` times a factor plus a summand, both uniform.
    Affine { reg: Reg, x: [Reg; 1], factor: Option<Reg>, summand: Option<Reg> },
    /// The distance, or its square, between vectors that begin with these parameters; from 0 if
    /// there is but one.
    Distance { reg: Reg, from: u32, to: Option<u32>, root: bool },
    /// A stretch with machine code, by its number, and the first register that it computes.
    Native { reg: Reg, number: u32 },
}

impl Task {
    /// The register that is computed, or the first of them.
    pub(super) fn reg(&self) -> Reg {
        match *self {
            Self::One(reg)
            | Self::Native { reg, .. }
            | Self::Affine { reg, .. }
            | Self::Distance { reg, .. } => reg,
        }
    }

    /// The registers that are written.
    pub(super) fn results<'t>(&'t self, stretches: &'t [Stretch]) -> &'t [Reg] {
        match self {
            Self::One(reg) | Self::Affine { reg, .. } | Self::Distance { reg, .. } => {
                std::slice::from_ref(reg)
            }
            Self::Native { number, .. } => &stretches[*number as usize].outputs,
        }
    }

    /// The registers that are read.
    pub(super) fn operands<'t>(&'t self, form: &'t Form, stretches: &'t [Stretch]) -> &'t [Reg] {
        match self {
            Self::One(reg) => form.insts[*reg].args(),
            Self::Affine { x, .. } => x,
            Self::Distance { .. } => &[],
            Self::Native { number, .. } => &stretches[*number as usize].inputs,
        }
    }
}

impl Task {
    /// Roughly how long the task takes, in the unit of [`Op::cost`].
    pub(super) fn work(&self, form: &Form, stretches: &[Stretch]) -> u64 {
        let cost = match self {
            Self::One(reg) => match form.insts[*reg].op {
                Op::Param(_) => 1,
                op => op.cost(),
            },
            Self::Affine { reg, .. } => form.insts[*reg].op.cost(),
            Self::Distance { root: true, .. } => 12,
            Self::Distance { root: false, .. } => 6,
            Self::Native { number, .. } => {
                stretches[*number as usize].regs.iter().map(|reg| form.insts[*reg].op.cost()).sum()
            }
        };
        // Of every task a part is loading and storing.
        cost as u64 + 2
    }
}

/// The tasks that compute what `homes` wants, in order; single instructions where there is machine
/// code of this width for them, which `joins` lanes if it reads vectors as they are stored.
pub(super) fn tasks(
    form: &Form,
    homes: &[Home],
    sources: &[Source],
    native: Option<Width>,
    joins: bool,
) -> Vec<Task> {
    let finder = Finder { form, homes, sources };
    let mut used: Vec<bool> = homes.iter().map(|home| home.wanted).collect();
    let mut tasks = Vec::new();
    for reg in form.insts.ids().rev() {
        if !used[reg.index()] || homes[reg.index()].uniform {
            continue;
        }
        let native_size = native.and_then(|width| lane_size(&form.insts[reg], width, 4));
        let reads_vectors = joins && native_size == Some(4);
        let distance = if reads_vectors { None } else { finder.distance(reg) };
        let fused = distance.or_else(|| {
            if native_size.is_some() {
                return Some(Task::One(reg));
            }
            finder.affine(reg)
        });
        let task = fused.unwrap_or(Task::One(reg));
        for operand in task.operands(form, &[]) {
            used[operand.index()] = true;
        }
        tasks.push(task);
    }
    tasks.reverse();
    tasks
}

struct Finder<'f> {
    form: &'f Form,
    homes: &'f [Home],
    sources: &'f [Source],
}

impl Finder<'_> {
    /// A function that [`has_affine`], of what is scaled or shifted for it alone.
    fn affine(&self, reg: Reg) -> Option<Task> {
        let inst = &self.form.insts[reg];
        if !has_affine(inst.op, inst.of) {
            return None;
        }
        let angle = self.between(inst.args()[0], 1)?;
        let (x, summand) = match self.with_uniform(angle, Op::Add) {
            Some((x, summand)) => (x, Some(summand)),
            None => (angle, None),
        };
        let product = if summand.is_some() { self.between(x, 1) } else { Some(x) };
        let (x, factor) = match product.and_then(|product| self.with_uniform(product, Op::Mul)) {
            Some((x, factor)) => (x, Some(factor)),
            None => (x, None),
        };
        (factor.is_some() || summand.is_some()).then_some(Task::Affine {
            reg,
            x: [x],
            factor,
            summand,
        })
    }

    /// The operands of a sum or product of which one is uniform, that one last.
    fn with_uniform(&self, reg: Reg, op: Op) -> Option<(Reg, Reg)> {
        let [a, b] = self.args_of(reg, op)?;
        let uniform = |reg: Reg| self.homes[reg.index()].uniform;
        match (uniform(a), uniform(b)) {
            (false, true) => Some((a, b)),
            (true, false) => Some((b, a)),
            _ => None,
        }
    }

    /// `x x + y y + z z` with differences or parameters, added in this order, or its root.
    fn distance(&self, reg: Reg) -> Option<Task> {
        let inst = &self.form.insts[reg];
        let root = inst.op == Op::Sqrt;
        let sum = if root { self.between(inst.args()[0], 1)? } else { reg };
        let [first, z] = self.args_of(sum, Op::Add)?;
        let [x, y] = self.args_of(self.between(first, 1)?, Op::Add)?;
        let mut sides = [x; 3];
        for (side, square) in sides.iter_mut().zip([x, y, z]) {
            let [a, b] = self.args_of(self.between(square, 1)?, Op::Mul)?;
            *side = if a == b { a } else { return None };
        }
        if let Some(from) = self.vector(sides) {
            return Some(Task::Distance { reg, from, to: None, root });
        }
        let (mut from, mut to) = (sides, sides);
        for (i, side) in sides.into_iter().enumerate() {
            [from[i], to[i]] = self.args_of(self.between(side, 2)?, Op::Sub)?;
        }
        let (from, to) = (self.vector(from)?, self.vector(to)?);
        Some(Task::Distance { reg, from, to: Some(to), root })
    }

    /// The first of three parameters that are the lanes of one stored vector each.
    fn vector(&self, regs: [Reg; 3]) -> Option<u32> {
        let Op::Param(first) = self.op(regs[0]) else { return None };
        let fits = (0..3).all(|i| {
            let number = first as usize + i;
            let is_lane = match self.sources.get(number) {
                Some(&Source::Strided { offset, stride: 3, joined }) => {
                    offset == i && (joined || i == 0)
                }
                _ => false,
            };
            is_lane && self.op(regs[i]) == Op::Param(number as u32)
        });
        fits.then_some(first)
    }

    fn op(&self, reg: Reg) -> Op {
        self.form.insts[reg].op
    }

    fn args_of(&self, reg: Reg, op: Op) -> Option<[Reg; 2]> {
        let inst = &self.form.insts[reg];
        (inst.op == op && inst.of.is_float()).then(|| [inst.args()[0], inst.args()[1]])
    }

    /// The register, if nothing but so many operands of what absorbs it reads it.
    fn between(&self, reg: Reg, n_uses: u32) -> Option<Reg> {
        let home = self.homes[reg.index()];
        (!home.wanted && !home.uniform && home.n_uses == n_uses).then_some(reg)
    }
}

/// Whether there is a loop for the function of a scaled and shifted column: those that graphs have
/// most often.
pub(super) fn has_affine(op: Op, of: Lane) -> bool {
    of == Lane::F32 && matches!(op, Op::Sin | Op::Cos | Op::Exp | Op::Ln)
}
