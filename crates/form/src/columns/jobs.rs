//! Jobs: the tasks of a plan as functions that are ready to be called for every chunk.
//!
//! Finding the loop of a task's operation takes as long as computing some dozen elements, so it is
//! done once for each plan. A [`Job`] holds a pointer to the function that is compiled for its
//! operation and lane, and the places of operands and result.

use millstream_base::Lane;
use millstream_base::id::Id;
use millstream_base::num::{self, Float};

use super::execute::{Chunk, Job, Machine, Run};
use super::fuse::Task;
use super::loops;
use super::plan::Plan;
use super::prefetch::WHOLE;
use super::stretches;
use crate::arithmetic::FloatLane;
use crate::inst::{Form, Reg};
use crate::interpret::only_value;
use crate::meaning::{Visit, apply};
use crate::op::Op;
use crate::storage::Stored;
use std::marker::PhantomData;

/// The tasks of a plan, ready to run.
pub(super) fn jobs(form: &Form, plan: &Plan) -> Vec<Job> {
    let work: u64 = plan.tasks.iter().map(|task| task.work(form, &plan.stretches)).sum();
    let mut done = 0;
    let job = |task: &Task| {
        done += task.work(form, &plan.stretches);
        let place = |reg: &Reg| plan.homes[reg.index()].place;
        let mut args = [place(&task.reg()); 3];
        for (arg, operand) in args.iter_mut().zip(task.operands(form, &plan.stretches)) {
            *arg = place(operand);
        }
        let out = place(&task.reg());
        Job {
            run: run_of(form, task),
            task: *task,
            out,
            args,
            is_idle_on_ranges: out.is_input(),
            share: (done * u64::from(WHOLE) / work) as u32,
        }
    };
    plan.tasks.iter().map(job).collect()
}

/// The function that runs a task.
fn run_of(form: &Form, task: &Task) -> Run {
    match task {
        Task::One(reg) => {
            let inst = &form.insts[*reg];
            match inst.op {
                Op::Param(_) => load_of(inst.lane),
                op => apply(op, inst.of, inst.lane, AsRun),
            }
        }
        Task::Affine { reg, .. } => affine_of(form.insts[*reg].op),
        Task::Distance { reg, .. } => {
            let is_f32 = form.insts[*reg].lane == Lane::F32;
            if is_f32 { distance::<f32> } else { distance::<f64> }
        }
        Task::Native { .. } => stretches::run,
    }
}

fn load_of(lane: Lane) -> Run {
    fn load<A: Stored>(machine: &mut Machine<'_, '_>, job: &Job, chunk: &Chunk<'_>) {
        let Task::One(reg) = job.task else { unreachable!("a load is a task of one register") };
        machine.load::<A>(reg, job.out, chunk);
    }
    match lane {
        Lane::Bool => load::<bool>,
        Lane::I32 => load::<i32>,
        Lane::I64 => load::<i64>,
        Lane::F32 => load::<f32>,
        Lane::F64 => load::<f64>,
    }
}

/// Makes the function that runs an operation.
struct AsRun;

/// Out of a function on values the one that runs it over a chunk.
fn unary<A: Stored, R: Stored, F: Fn(A) -> R + Copy>(_held: F) -> Run {
    |machine, job, chunk| machine.unary(job, chunk, only_value(PhantomData::<F>))
}

fn binary<A: Stored, R: Stored, F: Fn(A, A) -> R + Copy>(_held: F) -> Run {
    |machine, job, chunk| machine.binary(job, chunk, only_value(PhantomData::<F>))
}

fn ternary<A: Stored, F: Fn(A, A, A) -> A + Copy>(_held: F) -> Run {
    |machine, job, chunk| {
        let (f, width) = (only_value(PhantomData::<F>), machine.width);
        machine.with_place(job.out, chunk, |machine, out: &mut [A]| {
            let a = machine.slice(job.args[0], chunk);
            let b = machine.slice(job.args[1], chunk);
            let c = machine.slice(job.args[2], chunk);
            width.run(
                #[inline(always)]
                || loops::ternary(out, a, b, c, f),
            );
        });
    }
}

fn select<A: Stored, F: Fn(bool, A, A) -> A + Copy>(_held: F) -> Run {
    |machine, job, chunk| {
        let (f, width) = (only_value(PhantomData::<F>), machine.width);
        machine.with_place(job.out, chunk, |machine, out: &mut [A]| {
            let c = machine.slice(job.args[0], chunk);
            let a = machine.slice(job.args[1], chunk);
            let b = machine.slice(job.args[2], chunk);
            width.run(
                #[inline(always)]
                || loops::ternary(out, c, a, b, f),
            );
        });
    }
}

fn native<A: Stored, F: Fn(A) -> A + Copy, G: Fn(A) -> A + Copy>(_f: F, _native: G) -> Run {
    |machine, job, chunk| {
        if machine.width.rounds() {
            machine.unary(job, chunk, only_value(PhantomData::<G>));
        } else {
            machine.unary(job, chunk, only_value(PhantomData::<F>));
        }
    }
}

fn unary_with_rare<A: Stored, R: Stored, F, G, H>(_f: F, _usual: G, _rare: H) -> Run
where
    F: Fn(A) -> R + Copy,
    G: Fn(A) -> R + Copy,
    H: Fn(A) -> bool + Copy,
{
    |machine, job, chunk| {
        let (f, usual) = (only_value(PhantomData::<F>), only_value(PhantomData::<G>));
        machine.unary_with_rare(job, chunk, f, usual, only_value(PhantomData::<H>));
    }
}

fn binary_with_rare<A: Stored, R: Stored, F, G, H>(_f: F, _usual: G, _rare: H) -> Run
where
    F: Fn(A, A) -> R + Copy,
    G: Fn(A, A) -> R + Copy,
    H: Fn(A, A) -> bool + Copy,
{
    |machine, job, chunk| {
        let (f, usual) = (only_value(PhantomData::<F>), only_value(PhantomData::<G>));
        let (rare, width) = (only_value(PhantomData::<H>), machine.width);
        machine.with_place(job.out, chunk, |machine, out: &mut [R]| {
            let a: &[A] = machine.slice(job.args[0], chunk);
            let b: &[A] = machine.slice(job.args[1], chunk);
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

impl Visit for AsRun {
    type Output = Run;
    type Long = Self;

    fn long(self) -> Self {
        self
    }

    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Run {
        unary(f)
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Run {
        binary(f)
    }
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Run {
        ternary(f)
    }
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Run {
        select(f)
    }
    fn unary_or_native<A: Stored>(
        self,
        f: impl Fn(A) -> A + Copy,
        with_instruction: impl Fn(A) -> A + Copy,
    ) -> Run {
        native(f, with_instruction)
    }
    fn unary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A) -> R + Copy,
        usual: impl Fn(A) -> R + Copy,
        rare: impl Fn(A) -> bool + Copy,
    ) -> Run {
        unary_with_rare(f, usual, rare)
    }
    fn binary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A, A) -> R + Copy,
        usual: impl Fn(A, A) -> R + Copy,
        rare: impl Fn(A, A) -> bool + Copy,
    ) -> Run {
        binary_with_rare(f, usual, rare)
    }
}

impl Machine<'_, '_> {
    #[inline]
    fn unary<A: Stored, R: Stored>(
        &mut self,
        job: &Job,
        chunk: &Chunk<'_>,
        f: impl Fn(A) -> R + Copy,
    ) {
        let width = self.width;
        self.with_place(job.out, chunk, |machine, out: &mut [R]| {
            let a = machine.slice(job.args[0], chunk);
            width.run(
                #[inline(always)]
                || loops::unary(out, a, f),
            );
        });
    }

    #[inline]
    fn binary<A: Stored, R: Stored>(
        &mut self,
        job: &Job,
        chunk: &Chunk<'_>,
        f: impl Fn(A, A) -> R + Copy,
    ) {
        let width = self.width;
        self.with_place(job.out, chunk, |machine, out: &mut [R]| {
            let a = machine.slice(job.args[0], chunk);
            let b = machine.slice(job.args[1], chunk);
            width.run(
                #[inline(always)]
                || loops::binary(out, a, b, f),
            );
        });
    }

    #[inline]
    fn unary_with_rare<A: Stored, R: Stored>(
        &mut self,
        job: &Job,
        chunk: &Chunk<'_>,
        f: impl Fn(A) -> R + Copy,
        usual: impl Fn(A) -> R + Copy,
        rare: impl Fn(A) -> bool + Copy,
    ) {
        let width = self.width;
        self.with_place(job.out, chunk, |machine, out: &mut [R]| {
            let a: &[A] = machine.slice(job.args[0], chunk);
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

    /// The value of a register that is the same for all elements.
    pub(super) fn uniform<A: Stored>(&self, reg: Reg) -> A {
        A::from_bits(self.plan.values[reg.index()])
    }
}

/// The function that computes an elementary function of a factor times the operand plus a summand.
fn affine_of(op: Op) -> Run {
    /// Neither changes anything where it is not given: -0 is what a sum leaves as it is.
    fn given(machine: &Machine<'_, '_>, job: &Job) -> (f32, f32) {
        let Task::Affine { factor, summand, .. } = job.task else {
            unreachable!("something is scaled and shifted")
        };
        let value = |reg: Reg| machine.uniform(reg);
        (factor.map_or(1.0, value), summand.map_or(-0.0, value))
    }
    match op {
        Op::Sin => |machine, job, chunk| {
            let (m, c) = given(machine, job);
            machine.unary_with_rare(
                job,
                chunk,
                #[inline(always)]
                |x: f32| num::sin(x * m + c),
                #[inline(always)]
                |x: f32| f32::sin_usual(x * m + c),
                #[inline(always)]
                |x: f32| f32::angle_is_rare(x * m + c),
            );
        },
        Op::Cos => |machine, job, chunk| {
            let (m, c) = given(machine, job);
            machine.unary_with_rare(
                job,
                chunk,
                #[inline(always)]
                |x: f32| num::cos(x * m + c),
                #[inline(always)]
                |x: f32| f32::cos_usual(x * m + c),
                #[inline(always)]
                |x: f32| f32::angle_is_rare(x * m + c),
            );
        },
        Op::Exp => |machine, job, chunk| {
            let (m, c) = given(machine, job);
            machine.unary(
                job,
                chunk,
                #[inline(always)]
                |x: f32| num::exp(x * m + c),
            );
        },
        _ => |machine, job, chunk| {
            let (m, c) = given(machine, job);
            machine.unary(
                job,
                chunk,
                #[inline(always)]
                |x: f32| num::ln(x * m + c),
            );
        },
    }
}

fn distance<A: FloatLane>(machine: &mut Machine<'_, '_>, job: &Job, chunk: &Chunk<'_>) {
    let Task::Distance { from, to, root, .. } = job.task else { unreachable!("it is a distance") };
    let width = machine.width;
    machine.with_place(job.out, chunk, |machine, out: &mut [A]| {
        let from = machine.lanes_of::<A>(from as usize);
        let to = to.map(|to| machine.lanes_of::<A>(to as usize));
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
