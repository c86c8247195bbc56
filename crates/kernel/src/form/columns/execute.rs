//! Runs the steps of a plan on one chunk.

use std::mem;
use std::ops::Range;

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use millstream_base::num::{self, Float};

use super::fuse::Task;
use super::plan::{Direct, Plan, Source};
use super::prefetch::prefetch;
use super::recognize::Found;
use super::storage::{Pools, Stored};
use super::{LaneInput, LaneOutput, Width, loops};
use crate::form::lane_value::{FloatLane, LaneValue};
use crate::form::meaning::{Visit, apply, apply_pair};
use crate::form::{Form, Op, Reg};

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
    pub(super) width: Width,
}

impl Machine<'_, '_> {
    /// Fills the buffers of uniform registers.
    pub(super) fn fill_uniforms(&mut self, len: usize) {
        fn fill<A: Stored>(pools: &mut Pools, slot: u32, len: usize, bits: u64) {
            A::pool_mut(pools)[slot as usize].first_mut(len).fill(A::from_bits(bits));
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

    /// Loads, computes and stores one chunk, and asks for the memory of the elements that come next.
    pub(super) fn run(&mut self, chunk: &Chunk<'_>, next: Option<&Range<usize>>) {
        let plan = self.plan;
        for (number, task) in plan.tasks.iter().enumerate() {
            self.run_task(task, chunk);
            if let (Some(next), Chunk::Range(_)) = (next, chunk) {
                self.prefetch(next, number);
            }
        }
        self.store_all(chunk);
    }

    /// Asks for a part of what these elements read and write, while a task runs.
    fn prefetch(&self, elements: &Range<usize>, task: usize) {
        let n_tasks = self.plan.tasks.len();
        for (input, source) in self.inputs.iter().zip(&self.plan.sources) {
            let is_first = match source {
                Source::Each => true,
                Source::Strided { joined, .. } => !joined,
                Source::Single | Source::Other => false,
            };
            if let LaneInput::Lanes { lanes, stride, .. } = input
                && is_first
            {
                prefetch(lanes.bytes(), elements, *stride * lanes.lane().size(), task, n_tasks);
            }
        }
        for output in self.outputs.iter() {
            let LaneOutput { lanes, stride, .. } = output;
            prefetch(lanes.bytes(), elements, *stride * lanes.lane().size(), task, n_tasks);
        }
    }

    fn run_task(&mut self, task: &Task, chunk: &Chunk<'_>) {
        let form = self.form;
        match *task {
            Task::One(reg) => {
                let inst = &form.insts[reg];
                match inst.op {
                    Op::Param(number) => self.load(reg, inst.lane, number as usize, chunk),
                    Op::Const(_) => {}
                    op => {
                        let step = Step { machine: self, chunk, reg, args: inst.args() };
                        apply(op, inst.of, inst.lane, step);
                    }
                }
            }
            Task::Pair { reg, inner, operands, second } => {
                let (outer, inner) = (&form.insts[reg], form.insts[inner].op);
                let step = Step { machine: self, chunk, reg, args: &operands };
                apply_pair(inner, outer.op, second, outer.of, step);
            }
            Task::Horner { reg, operands, constants } => {
                let bits = constants.map(|constant| self.plan.values[constant.index()]);
                let step = Step { machine: self, chunk, reg, args: &operands };
                if form.insts[reg].lane == Lane::F32 {
                    step.horner::<f32>(bits.map(LaneValue::from_bits));
                } else {
                    step.horner::<f64>(bits.map(LaneValue::from_bits));
                }
            }
            Task::Affine { reg, x, factor, summand } => {
                let value = |reg: Reg| LaneValue::from_bits(self.plan.values[reg.index()]);
                // Neither changes anything: -0 is what a sum leaves as it is.
                let (m, c) = (factor.map_or(1.0, value), summand.map_or(-0.0, value));
                let op = form.insts[reg].op;
                Step { machine: self, chunk, reg, args: &x }.affine(op, m, c);
            }
            Task::Distance { reg, from, to, root } => {
                let ends = (from as usize, to.map(|to| to as usize));
                if form.insts[reg].lane == Lane::F32 {
                    self.distance::<f32>(reg, ends, root, chunk);
                } else {
                    self.distance::<f64>(reg, ends, root, chunk);
                }
            }
            Task::Coarse { reg, ref found } => {
                Coarse { machine: self, chunk, reg, found }.run(found.shape);
            }
        }
    }

    /// The lanes of an input.
    fn lanes_of<A: Stored>(&self, number: usize) -> &[A] {
        match &self.inputs[number] {
            LaneInput::Lanes { lanes, .. } => A::view(lanes),
            LaneInput::Range { .. } => unreachable!("a distance is one of lanes"),
        }
    }

    fn distance<A: FloatLane>(
        &mut self,
        reg: Reg,
        (from, to): (usize, Option<usize>),
        root: bool,
        chunk: &Chunk<'_>,
    ) {
        let width = self.width;
        self.with_place(reg, chunk, |machine, out: &mut [A]| {
            let from = machine.lanes_of::<A>(from);
            let to = to.map(|to| machine.lanes_of::<A>(to));
            match chunk {
                Chunk::Range(range) => {
                    let part = range.start * 3..range.end * 3;
                    let from = from[part.clone()].as_chunks().0;
                    let to = to.map(|to| to[part].as_chunks().0);
                    width.run(
                        #[inline(always)]
                        || loops::distances(out, from, to, root),
                    );
                }
                Chunk::Indices(indices) => {
                    let vector = |lanes: &[A], i: u32| [0, 1, 2].map(|j| lanes[i as usize * 3 + j]);
                    for (out, &i) in out.iter_mut().zip(*indices) {
                        let to = to.map_or([A::ZERO; 3], |to| vector(to, i));
                        *out = loops::distance(vector(from, i), to, root);
                    }
                }
            }
        });
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
        A::pool(self.pools)[home.slot as usize].first(chunk.len())
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
            write(self, buffer.first_mut(chunk.len()));
            R::pool_mut(self.pools)[slot] = buffer;
        }
    }
}

/// A coarse operation on one chunk.
pub(super) struct Coarse<'s, 'm, 'a> {
    machine: &'s mut Machine<'m, 'a>,
    chunk: &'s Chunk<'s>,
    reg: Reg,
    found: &'s Found,
}

/// What a coarse operation reads.
pub(super) struct Operands<'s, 'm, 'a> {
    machine: &'s Machine<'m, 'a>,
    chunk: &'s Chunk<'s>,
    found: &'s Found,
}

impl Operands<'_, '_, '_> {
    /// Operand `i` of those that vary.
    pub(super) fn slice<A: Stored>(&self, i: usize) -> &[A] {
        self.machine.slice(self.found.varying()[i], self.chunk)
    }
}

impl Coarse<'_, '_, '_> {
    pub(super) fn width(&self) -> Width {
        self.machine.width
    }

    /// Operand `i` of those that are the same for all elements.
    pub(super) fn uniform<A: Stored>(&self, i: usize) -> A {
        A::from_bits(self.machine.plan.values[self.found.uniform()[i].index()])
    }

    /// Gives `write` the place of the result and the operands.
    pub(super) fn with_place<R: Stored>(self, write: impl FnOnce(&Operands<'_, '_, '_>, &mut [R])) {
        let Self { machine, chunk, reg, found } = self;
        machine.with_place(reg, chunk, |machine, out: &mut [R]| {
            write(&Operands { machine, chunk, found }, out);
        });
    }
}

/// One instruction on one chunk.
struct Step<'s, 'm, 'a> {
    machine: &'s mut Machine<'m, 'a>,
    chunk: &'s Chunk<'s>,
    reg: Reg,
    args: &'s [Reg],
}

impl Step<'_, '_, '_> {
    fn horner<A: FloatLane>(self, [c, d, e, f]: [A; 4]) {
        self.binary(
            #[inline(always)]
            |a: A, x: A| (((a * x + c) * x + d) * x + e) * x + f,
        );
    }

    /// A function of `m` times the operand plus `c`.
    fn affine(self, op: Op, m: f32, c: f32) {
        match op {
            Op::Sin => self.unary_with_rare(
                #[inline(always)]
                |x: f32| num::sin(x * m + c),
                #[inline(always)]
                |x: f32| f32::sin_usual(x * m + c),
                #[inline(always)]
                |x: f32| f32::angle_is_rare(x * m + c),
            ),
            Op::Cos => self.unary_with_rare(
                #[inline(always)]
                |x: f32| num::cos(x * m + c),
                #[inline(always)]
                |x: f32| f32::cos_usual(x * m + c),
                #[inline(always)]
                |x: f32| f32::angle_is_rare(x * m + c),
            ),
            Op::Exp => self.unary(
                #[inline(always)]
                |x: f32| num::exp(x * m + c),
            ),
            _ => self.unary(
                #[inline(always)]
                |x: f32| num::ln(x * m + c),
            ),
        }
    }
}

impl Visit for Step<'_, '_, '_> {
    type Output = ();

    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) {
        let (args, chunk, width) = (self.args, self.chunk, self.machine.width);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [R]| {
            let a = machine.slice::<A>(args[0], chunk);
            width.run(
                #[inline(always)]
                || loops::unary(out, a, f),
            );
        });
    }

    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) {
        let (args, chunk, width) = (self.args, self.chunk, self.machine.width);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [R]| {
            let [a, b] = [0, 1].map(|i| machine.slice::<A>(args[i], chunk));
            width.run(
                #[inline(always)]
                || loops::binary(out, a, b, f),
            );
        });
    }

    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) {
        let (args, chunk, width) = (self.args, self.chunk, self.machine.width);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [A]| {
            let [a, b, c] = [0, 1, 2].map(|i| machine.slice::<A>(args[i], chunk));
            width.run(
                #[inline(always)]
                || loops::ternary(out, a, b, c, f),
            );
        });
    }

    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) {
        let (args, chunk, width) = (self.args, self.chunk, self.machine.width);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [A]| {
            let c = machine.slice::<bool>(args[0], chunk);
            let [a, b] = [1, 2].map(|i| machine.slice::<A>(args[i], chunk));
            width.run(
                #[inline(always)]
                || loops::ternary(out, c, a, b, f),
            );
        });
    }

    fn unary_or_native<A: Stored>(self, f: impl Fn(A) -> A + Copy, native: impl Fn(A) -> A + Copy) {
        if self.machine.width.rounds() { self.unary(native) } else { self.unary(f) }
    }

    fn unary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A) -> R + Copy,
        usual: impl Fn(A) -> R + Copy,
        rare: impl Fn(A) -> bool + Copy,
    ) {
        let (args, chunk, width) = (self.args, self.chunk, self.machine.width);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [R]| {
            let a = machine.slice::<A>(args[0], chunk);
            let any = width.run(
                #[inline(always)]
                || loops::unary_and_rare(out, a, usual, rare),
            );
            if any {
                for (out, &a) in out.iter_mut().zip(a).filter(|(_, a)| rare(**a)) {
                    *out = f(a);
                }
            }
        });
    }

    fn binary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A, A) -> R + Copy,
        usual: impl Fn(A, A) -> R + Copy,
        rare: impl Fn(A, A) -> bool + Copy,
    ) {
        let (args, chunk, width) = (self.args, self.chunk, self.machine.width);
        self.machine.with_place(self.reg, chunk, |machine, out: &mut [R]| {
            let [a, b] = [0, 1].map(|i| machine.slice::<A>(args[i], chunk));
            let any = width.run(
                #[inline(always)]
                || {
                    loops::binary(out, a, b, usual);
                    a.iter().zip(b).fold(false, |any, (&a, &b)| any | rare(a, b))
                },
            );
            if any {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    if rare(a, b) {
                        *out = f(a, b);
                    }
                }
            }
        });
    }
}
