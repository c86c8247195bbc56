//! Runs the steps of a plan on one chunk.

use std::mem;
use std::ops::Range;

use millstream_base::id::Id;
use millstream_base::lane::Lane;

use super::plan::{Direct, Plan};
use super::storage::{Pools, Stored};
use super::{LaneInput, LaneOutput};
use crate::form::meaning::{Visit, apply};
use crate::form::{Form, Inst, Op, Reg};

/// The elements computed together.
pub(super) enum Chunk<'c> {
    /// Neighbors.
    Range(Range<usize>),
    /// Any others, ascending.
    Indices(&'c [u32]),
}

impl Chunk<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Indices(indices) => indices.len(),
        }
    }
}

/// A planned call.
pub(super) struct Machine<'m, 'a> {
    pub(super) form: &'m Form,
    pub(super) plan: &'m Plan,
    pub(super) inputs: &'m [LaneInput<'m>],
    pub(super) outputs: &'m mut [LaneOutput<'a>],
    pub(super) pools: &'m mut Pools,
}

impl Machine<'_, '_> {
    /// Fills the buffers of uniform registers.
    pub(super) fn fill_uniforms(&mut self, len: usize) {
        fn fill<A: Stored>(pools: &mut Pools, slot: u32, len: usize, bits: u64) {
            A::pool_mut(pools)[slot as usize][..len].fill(A::from_bits(bits));
        }
        for &reg in &self.plan.fills {
            let (slot, bits) = (self.plan.homes[reg.index()].slot, self.plan.values[reg.index()]);
            match self.form.insts[reg].lane {
                Lane::Bool => fill::<bool>(self.pools, slot, len, bits),
                Lane::I32 => fill::<i32>(self.pools, slot, len, bits),
                Lane::I64 => fill::<i64>(self.pools, slot, len, bits),
                Lane::F32 => fill::<f32>(self.pools, slot, len, bits),
                Lane::F64 => fill::<f64>(self.pools, slot, len, bits),
            }
        }
    }

    /// Loads, computes and stores one chunk.
    pub(super) fn run(&mut self, chunk: &Chunk<'_>) {
        let plan = self.plan;
        for &reg in &plan.steps {
            let inst = &self.form.insts[reg];
            match inst.op {
                Op::Param(number) => self.load(reg, inst.lane, number as usize, chunk),
                Op::Const(_) => {}
                op => {
                    let step = Step { machine: self, chunk, reg, inst };
                    apply(op, inst.of, inst.lane, step);
                }
            }
        }
        self.store_all(chunk);
    }

    /// The values of a register, one for each element of the chunk.
    pub(super) fn slice<A: Stored>(&self, reg: Reg, chunk: &Chunk<'_>) -> &[A] {
        let home = self.plan.homes[reg.index()];
        if let Chunk::Range(range) = chunk {
            match home.direct {
                Direct::No => {}
                Direct::Input(number) => match &self.inputs[number as usize] {
                    LaneInput::Lanes { lanes, offset, .. } => {
                        return &A::view(lanes)[range.start + offset..range.end + offset];
                    }
                    LaneInput::Range { .. } => unreachable!("a direct input is a slice of lanes"),
                },
                Direct::Output(number) => {
                    let output = &self.outputs[number as usize];
                    let range = range.start + output.offset..range.end + output.offset;
                    return &A::view_output(&output.lanes)[range];
                }
            }
        }
        &A::pool(self.pools)[home.slot as usize][..chunk.len()]
    }

    /// Gives `write` the place of a register, while it can read those of others.
    #[inline]
    fn with_place<R: Stored>(
        &mut self,
        reg: Reg,
        chunk: &Chunk<'_>,
        write: impl FnOnce(&Self, &mut [R]),
    ) {
        let home = self.plan.homes[reg.index()];
        if let (Chunk::Range(range), Direct::Output(number)) = (chunk, home.direct) {
            let number = number as usize;
            let offset = self.outputs[number].offset;
            let lanes = R::take(&mut self.outputs[number].lanes);
            write(self, &mut lanes[range.start + offset..range.end + offset]);
            self.outputs[number].lanes = R::put(lanes);
        } else {
            let slot = home.slot as usize;
            let mut buffer = mem::take(&mut R::pool_mut(self.pools)[slot]);
            write(self, &mut buffer[..chunk.len()]);
            R::pool_mut(self.pools)[slot] = buffer;
        }
    }
}

/// One instruction on one chunk.
struct Step<'s, 'm, 'a> {
    machine: &'s mut Machine<'m, 'a>,
    chunk: &'s Chunk<'s>,
    reg: Reg,
    inst: &'s Inst,
}

impl Visit for Step<'_, '_, '_> {
    type Output = ();

    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) {
        let (args, chunk) = (self.inst.args(), self.chunk);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [R]| {
            let a = machine.slice::<A>(args[0], chunk);
            for (out, &a) in out.iter_mut().zip(a) {
                *out = f(a);
            }
        });
    }

    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) {
        let (args, chunk) = (self.inst.args(), self.chunk);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [R]| {
            let [a, b] = [0, 1].map(|i| machine.slice::<A>(args[i], chunk));
            for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *out = f(a, b);
            }
        });
    }

    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) {
        let (args, chunk) = (self.inst.args(), self.chunk);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [A]| {
            let [a, b, c] = [0, 1, 2].map(|i| machine.slice::<A>(args[i], chunk));
            for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
                *out = f(a, b, c);
            }
        });
    }

    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) {
        let (args, chunk) = (self.inst.args(), self.chunk);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [A]| {
            let c = machine.slice::<bool>(args[0], chunk);
            let [a, b] = [1, 2].map(|i| machine.slice::<A>(args[i], chunk));
            for (((out, &c), &a), &b) in out.iter_mut().zip(c).zip(a).zip(b) {
                *out = f(c, a, b);
            }
        });
    }
}
