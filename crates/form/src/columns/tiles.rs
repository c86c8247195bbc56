//! Cheap forms over columns that do not fit the caches: in tiles of few elements, in one pass.
//!
//! Memory is what such forms wait for. Computed chunk by chunk they go through an input with every
//! task that reads it, and while a task computes memory is idle. A tile is so small that all its
//! registers are a file that stays next to the processor: each tile goes through all tasks, so
//! every column is read and written once, from its beginning to its end, which machines see and
//! fetch ahead by themselves. The price is a look at each step for every tile; so only forms with
//! few and cheap tasks go this way ([`Tiles::new`]), the others by `jobs`. What the steps compute
//! is written over SIMD vectors, operation by operation as in the form, and tested against it.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase, SimdFloat, f32x16};
use millstream_base::id::Id;
use millstream_base::lane::Lane;
use smallvec::SmallVec;

use super::ends::{LaneInput, LaneOutput};
use super::fuse::Task;
use super::layout::Source;
use super::loops;
use super::plan::Plan;
use super::shape::Shape;
use crate::inst::{Form, Reg};
use crate::op::Op;
use crate::storage::Stored;
use millstream_base::width::{OverVectors, Width};

/// Elements of a vector.
const LANES: usize = 16;

/// Vectors of a tile: enough that one waits for no other.
const N_VECTORS: usize = 4;

/// Elements of a tile.
pub(super) const TILE: usize = LANES * N_VECTORS;

/// As much work, in the unit of [`Op::cost`], takes about as long as memory for a byte.
const WORK_PER_BYTE: u64 = 2;

/// Registers of a file.
const N_REGISTERS: usize = 64;

/// Registers that a step reads.
const MAX_ARGS: usize = 6;

/// A register of a file; always below [`N_REGISTERS`].
type Number = u8;

/// The registers of a tile.
type File<S> = [[f32x16<S>; N_VECTORS]; N_REGISTERS];

/// What is done for every tile, in order.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    steps: Vec<Step>,
}

/// Something that is done for every tile.
#[derive(Clone, Copy, Debug)]
struct Step {
    what: What,
    /// The register written.
    out: Number,
    /// The registers read.
    args: [Number; MAX_ARGS],
    /// Numbers of inputs; or of an output, and a place in its values.
    ends: [u32; 2],
}

/// Lists the steps: the name, the registers read and what is computed of one vector of each; or, of
/// those that read and write columns, the name and the method of [`Pass`] that does it.
macro_rules! steps {
    (
        lanewise { $($name:ident($($arg:ident)*) $compute:expr;)* }
        columns { $($(#[$doc:meta])* $column:ident: $method:ident $(::<$($option:tt),*>)?;)* }
    ) => {
        /// What a step does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum What {
            $($name,)*
            $($(#[$doc])* $column,)*
        }

        impl Pass<'_, '_> {
            /// Runs a step for the tile that begins with element `first`.
            #[inline(always)]
            fn step<S: Simd>(&mut self, step: &Step, file: &mut File<S>, first: usize) {
                match step.what {
                    $(What::$name => {
                        let [$($arg,)* ..] = step.args;
                        $(let $arg = usize::from($arg) % N_REGISTERS;)*
                        let out = usize::from(step.out) % N_REGISTERS;
                        for j in 0..N_VECTORS {
                            $(let $arg = file[$arg][j];)*
                            file[out][j] = $compute;
                        }
                    })*
                    $(What::$column => self.$method::<S $($(, $option)*)?>(step, file, first),)*
                }
            }
        }
    };
}

steps! {
    lanewise {
        Add(a b) a + b;
        Sub(a b) a - b;
        Mul(a b) a * b;
        Div(a b) a / b;
        Neg(a) -a;
        Abs(a) a.abs();
        Sqrt(a) a.sqrt();
        AddAdd(a b c) (a + b) + c;
        AddSub(a b c) (a + b) - c;
        AddFrom(a b c) c - (a + b);
        AddMul(a b c) (a + b) * c;
        SubAdd(a b c) (a - b) + c;
        SubSub(a b c) (a - b) - c;
        SubFrom(a b c) c - (a - b);
        SubMul(a b c) (a - b) * c;
        MulAdd(a b c) (a * b) + c;
        MulSub(a b c) (a * b) - c;
        MulFrom(a b c) c - (a * b);
        MulMul(a b c) (a * b) * c;
        Lerp(a b t) a + t * (b - a);
        Dot2(a b c d) a * b + c * d;
        Dot3(a b c d e f) a * b + c * d + e * f;
        Horner(a x c d e f) (((a * x + c) * x + d) * x + e) * x + f;
    }
    columns {
        /// Distances of stored vectors of three.
        Distance: distances::<true>;
        /// The squares of distances.
        SquareDistance: distances::<false>;
        /// Distances from 0.
        Length: lengths::<true>;
        /// The squares of distances from 0.
        SquareLength: lengths::<false>;
        /// Loads a column.
        Load: load;
        /// Loads a lane out of values of two.
        Load2: strided::<2>;
        /// Loads a lane out of values of three.
        Load3: strided::<3>;
        /// Loads a lane out of values of four.
        Load4: strided::<4>;
        /// Stores a column.
        Store: store;
        /// Stores three lanes beside each other.
        Store3: store3;
        /// Stores a lane with others between its values.
        StoreApart: store_apart;
    }
}

/// The constants of Horner's scheme, which jobs need no buffers for.
fn constants(plan: &Plan) -> impl Iterator<Item = Reg> {
    plan.tasks
        .iter()
        .flat_map(|task| match task {
            Task::Horner { constants, .. } => constants.as_slice(),
            _ => &[],
        })
        .copied()
}

/// Registers of a file that are the same for all elements, with those of the form that they are.
fn uniforms(plan: &Plan) -> impl Iterator<Item = (usize, Reg)> {
    let fills = plan.fills.iter().map(|reg| (plan.homes[reg.index()].place.slot as usize, *reg));
    fills.chain((plan.n_slots()[Lane::F32 as usize]..).zip(constants(plan)))
}

/// The step of an operation that stands alone.
fn what_of(op: Op) -> Option<What> {
    match op {
        Op::Add => Some(What::Add),
        Op::Sub => Some(What::Sub),
        Op::Mul => Some(What::Mul),
        Op::Div => Some(What::Div),
        Op::Neg => Some(What::Neg),
        Op::Abs => Some(What::Abs),
        Op::Sqrt => Some(What::Sqrt),
        _ => None,
    }
}

/// The step of two operations; see [`Task::Pair`].
fn what_of_pair(inner: Op, outer: Op, second: bool) -> Option<What> {
    Some(match (inner, outer, second) {
        (Op::Add, Op::Add, _) => What::AddAdd,
        (Op::Add, Op::Sub, false) => What::AddSub,
        (Op::Add, Op::Sub, true) => What::AddFrom,
        (Op::Add, Op::Mul, _) => What::AddMul,
        (Op::Sub, Op::Add, _) => What::SubAdd,
        (Op::Sub, Op::Sub, false) => What::SubSub,
        (Op::Sub, Op::Sub, true) => What::SubFrom,
        (Op::Sub, Op::Mul, _) => What::SubMul,
        (Op::Mul, Op::Add, _) => What::MulAdd,
        (Op::Mul, Op::Sub, false) => What::MulSub,
        (Op::Mul, Op::Sub, true) => What::MulFrom,
        (Op::Mul, Op::Mul, _) => What::MulMul,
        _ => return None,
    })
}

impl Tiles {
    /// The steps for the tasks of a plan, where all of them are on `f32` and cheap compared with
    /// what is read and written.
    pub(super) fn new(form: &Form, plan: &Plan) -> Option<Self> {
        if !plan.codes.is_empty() {
            return None;
        }
        let work: u64 = plan.tasks.iter().map(|task| task.work(form, &plan.stretches)).sum();
        let n_registers = plan.n_slots()[Lane::F32 as usize] + constants(plan).count();
        if work > WORK_PER_BYTE * plan.n_bytes(form) as u64 || n_registers > N_REGISTERS {
            return None;
        }
        let is_f32 = |reg: &Reg| form.insts[*reg].lane == Lane::F32;
        if !plan.tasks.iter().all(|task| is_f32(&task.reg())) || !plan.fills.iter().all(is_f32) {
            return None;
        }
        let steps = plan.tasks.iter().map(|task| Step::of(form, plan, task));
        let mut steps: Vec<Step> = steps.collect::<Option<_>>()?;
        let mut register = plan.n_slots()[Lane::F32 as usize] as Number;
        for step in steps.iter_mut().filter(|step| step.what == What::Horner) {
            for arg in &mut step.args[2..] {
                *arg = register;
                register += 1;
            }
        }
        for (number, sink) in plan.sinks().enumerate() {
            let regs = &form.results[sink.first..sink.first + sink.width];
            if regs.iter().any(|reg| plan.homes[reg.index()].uniform) {
                return None;
            }
            let number = number as u32;
            let registers = regs.iter().map(|reg| plan.homes[reg.index()].place.slot as Number);
            if (sink.width, sink.stride) == (3, 3) {
                let mut step = Step::new(What::Store3, 0, [number, 0]);
                step.args.iter_mut().zip(registers).for_each(|(arg, register)| *arg = register);
                steps.push(step);
                continue;
            }
            let what = if sink.stride == 1 { What::Store } else { What::StoreApart };
            for (place, register) in registers.enumerate() {
                let mut step = Step::new(what, 0, [number, place as u32]);
                step.args[0] = register;
                steps.push(step);
            }
        }
        Some(Self { steps })
    }

    /// Computes some elements; gives how many, from the first on, the rest being less than a tile.
    pub(super) fn run(
        &self,
        plan: &Plan,
        inputs: &[LaneInput<'_>],
        outputs: &mut [LaneOutput<'_>],
        range: Range<usize>,
        width: Width,
    ) -> usize {
        let n_tiles = range.len() / TILE;
        let reads = inputs.iter().map(|input| match input {
            LaneInput::Lanes { lanes, offset, .. } if lanes.lane() == Lane::F32 => {
                (f32::view(lanes), *offset)
            }
            LaneInput::Lanes { .. } | LaneInput::Range { .. } => (&[] as &[f32], 0),
        });
        let layouts: SmallVec<[(usize, usize); 8]> =
            outputs.iter().map(|output| (output.offset, output.stride)).collect();
        let mut writes: SmallVec<[&mut [f32]; 8]> =
            outputs.iter_mut().map(|output| f32::take(&mut output.lanes)).collect();
        width.run_vectors(Pass {
            steps: &self.steps,
            plan,
            reads: &reads.collect::<SmallVec<[(&[f32], usize); 16]>>(),
            layouts: &layouts,
            writes: &mut writes,
            start: range.start,
            n_tiles,
        });
        for (output, lanes) in outputs.iter_mut().zip(writes) {
            output.lanes = f32::put(lanes);
        }
        n_tiles * TILE
    }
}

impl Step {
    fn new(what: What, out: Number, ends: [u32; 2]) -> Self {
        Self { what, out, args: [0; MAX_ARGS], ends }
    }

    fn of(form: &Form, plan: &Plan, task: &Task) -> Option<Self> {
        let number = |reg: Reg| plan.homes[reg.index()].place.slot as Number;
        let mut step = Self::new(What::Add, number(task.reg()), [0; 2]);
        let operands = task.operands(form, &[]);
        for (arg, reg) in step.args.get_mut(..operands.len())?.iter_mut().zip(operands) {
            *arg = number(*reg);
        }
        step.what = match *task {
            Task::One(reg) => match form.insts[reg].op {
                Op::Param(param) => {
                    step.ends[0] = param;
                    match plan.sources[param as usize] {
                        Source::Each => What::Load,
                        Source::Strided { stride: 2, .. } => What::Load2,
                        Source::Strided { stride: 3, .. } => What::Load3,
                        Source::Strided { stride: 4, .. } => What::Load4,
                        Source::Strided { .. } | Source::Single | Source::Other => return None,
                    }
                }
                op => what_of(op)?,
            },
            Task::Pair { reg, inner, second, .. } => {
                what_of_pair(form.insts[inner].op, form.insts[reg].op, second)?
            }
            Task::Horner { .. } => What::Horner,
            Task::Distance { from, to, root, .. } => {
                step.ends = [from, to.unwrap_or(from)];
                match (to, root) {
                    (Some(_), true) => What::Distance,
                    (Some(_), false) => What::SquareDistance,
                    (None, true) => What::Length,
                    (None, false) => What::SquareLength,
                }
            }
            Task::Coarse { found, .. } => match found.shape {
                Shape::Lerp => What::Lerp,
                Shape::Dot2 => What::Dot2,
                Shape::Dot3 => What::Dot3,
                _ => return None,
            },
            Task::Affine { .. } | Task::Native { .. } => return None,
        };
        Some(step)
    }
}

/// A run through all tiles.
struct Pass<'p, 'a> {
    steps: &'p [Step],
    plan: &'p Plan,
    /// The lanes of each input and the place of its first.
    reads: &'p [(&'p [f32], usize)],
    /// Of each output the place of the first result in a stored value and the lanes of one.
    layouts: &'p [(usize, usize)],
    writes: &'p mut [&'a mut [f32]],
    start: usize,
    n_tiles: usize,
}

impl OverVectors for Pass<'_, '_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let zero = [f32x16::splat(simd, 0.0); N_VECTORS];
        let mut file: Box<File<S>> = Box::new([zero; N_REGISTERS]);
        let file = &mut *file;
        for (register, reg) in uniforms(self.plan) {
            let value = f32::from_bits(self.plan.values[reg.index()] as u32);
            file[register % N_REGISTERS] = [f32x16::splat(simd, value); N_VECTORS];
        }
        let steps = self.steps;
        for tile in 0..self.n_tiles {
            let first = self.start + tile * TILE;
            for step in steps {
                self.step(step, file, first);
            }
        }
    }
}

/// Columns come in vectors of arrays, so that loops over them have a fixed length.
impl Pass<'_, '_> {
    #[inline(always)]
    fn distances<S: Simd, const ROOT: bool>(&self, step: &Step, file: &mut File<S>, first: usize) {
        let [from, to] = step.ends.map(|end| values::<3>(self.reads[end as usize].0, first));
        let outs = &mut file[usize::from(step.out) % N_REGISTERS];
        for ((out, from), to) in outs.iter_mut().zip(from).zip(to) {
            let out: &mut [f32; LANES] = out;
            for i in 0..LANES {
                out[i] = loops::distance(from[i], to[i], ROOT);
            }
        }
    }

    #[inline(always)]
    fn lengths<S: Simd, const ROOT: bool>(&self, step: &Step, file: &mut File<S>, first: usize) {
        let values = values::<3>(self.reads[step.ends[0] as usize].0, first);
        let outs = &mut file[usize::from(step.out) % N_REGISTERS];
        for (out, values) in outs.iter_mut().zip(values) {
            let out: &mut [f32; LANES] = out;
            for i in 0..LANES {
                out[i] = loops::length(values[i], ROOT);
            }
        }
    }

    #[inline(always)]
    fn load<S: Simd>(&self, step: &Step, file: &mut File<S>, first: usize) {
        let (lanes, offset) = self.reads[step.ends[0] as usize];
        let lanes = lanes[first + offset..][..TILE].as_chunks::<LANES>().0;
        let outs = &mut file[usize::from(step.out) % N_REGISTERS];
        for (out, lanes) in outs.iter_mut().zip(lanes) {
            **out = *lanes;
        }
    }

    #[inline(always)]
    fn strided<S: Simd, const N: usize>(&self, step: &Step, file: &mut File<S>, first: usize) {
        let (lanes, offset) = self.reads[step.ends[0] as usize];
        let outs = &mut file[usize::from(step.out) % N_REGISTERS];
        for (out, values) in outs.iter_mut().zip(values::<N>(lanes, first)) {
            let out: &mut [f32; LANES] = out;
            for i in 0..LANES {
                out[i] = values[i][offset % N];
            }
        }
    }

    #[inline(always)]
    fn store<S: Simd>(&mut self, step: &Step, file: &mut File<S>, first: usize) {
        let (offset, _) = self.layouts[step.ends[0] as usize];
        let lanes = &mut self.writes[step.ends[0] as usize][first + offset..][..TILE];
        let values = &file[usize::from(step.args[0]) % N_REGISTERS];
        for (lanes, value) in lanes.as_chunks_mut::<LANES>().0.iter_mut().zip(values) {
            *lanes = **value;
        }
    }

    #[inline(always)]
    fn store3<S: Simd>(&mut self, step: &Step, file: &mut File<S>, first: usize) {
        let [x, y, z, ..] = step.args.map(|arg| usize::from(arg) % N_REGISTERS);
        let (offset, _) = self.layouts[step.ends[0] as usize];
        let lanes = &mut self.writes[step.ends[0] as usize][first * 3 + offset..][..TILE * 3];
        let values = lanes.as_chunks_mut::<3>().0.as_chunks_mut::<LANES>().0;
        for (j, values) in values.iter_mut().enumerate() {
            let [x, y, z]: [&[f32; LANES]; 3] = [&file[x][j], &file[y][j], &file[z][j]];
            for i in 0..LANES {
                values[i] = [x[i], y[i], z[i]];
            }
        }
    }

    #[inline(always)]
    fn store_apart<S: Simd>(&mut self, step: &Step, file: &mut File<S>, first: usize) {
        let [output, place] = step.ends.map(|end| end as usize);
        let (offset, stride) = self.layouts[output];
        let start = first * stride + offset + place;
        let lanes = &mut self.writes[output][start..=start + (TILE - 1) * stride];
        let values = &file[usize::from(step.args[0]) % N_REGISTERS];
        let values = values.iter().flat_map(|vector| vector.iter());
        for (lane, value) in lanes.iter_mut().step_by(stride).zip(values) {
            *lane = *value;
        }
    }
}

/// The stored values of a tile, for each of its vectors.
#[inline(always)]
fn values<const N: usize>(lanes: &[f32], first: usize) -> &[[[f32; N]; LANES]] {
    lanes[first * N..][..TILE * N].as_chunks::<N>().0.as_chunks().0
}

#[cfg(test)]
mod tests;
