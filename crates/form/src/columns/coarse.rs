//! Runs coarse operations over chunks.

use millstream_base::id::Id;

use super::execute::{Chunk, Machine, Run};
use super::fuse::Task;
use super::recognize::Found;
use super::shape::{
    Real, Shape, Whole, coarse_operations, edge2, edge3, faded, lerp, perlin2, perlin3, sloped,
};
use crate::storage::Stored;

/// What a coarse operation reads.
struct Operands<'s, 'm, 'a> {
    machine: &'s Machine<'m, 'a>,
    chunk: &'s Chunk<'s>,
    found: &'s Found,
}

impl Operands<'_, '_, '_> {
    /// Operand `i` of those that vary.
    fn slice<A: Stored>(&self, i: usize) -> &[A] {
        let reg = self.found.varying()[i];
        self.machine.slice(self.machine.plan.homes[reg.index()].place, self.chunk)
    }
}

macro_rules! define_run {
    ($(
        $(#[$doc:meta])*
        $name:ident($($real:ident)*; $($whole:ident)*; $($given:ident)*; $($key:ident)*)
        -> $result:ident, sharing [$($shared:ident)*], |$native:ident| $compute:expr;
    )*) => {
        /// The function that runs a coarse operation on one chunk.
        pub(super) fn run(shape: Shape) -> Run {
                match shape {
                    $(Shape::$name => |machine, job, chunk| {
                        // Operands of their own, so that none is taken to lie where the result
                        // does.
                        #[allow(clippy::too_many_arguments, reason = "as many as it has operands")]
                        #[inline(always)]
                        fn all(
                            out: &mut [$result],
                            $($real: &[f32],)* $($whole: &[i32],)*
                            $($given: f32,)* $($key: i32,)*
                            $native: bool,
                        ) {
                            let n = out.len();
                            $(let $real = &$real[..n];)*
                            $(let $whole = &$whole[..n];)*
                            // So that no place is checked within the loop.
                            let out = &mut out[..n];
                            for i in 0..n {
                                $(let $real = $real[i];)*
                                $(let $whole = $whole[i];)*
                                out[i] = $compute;
                            }
                        }
                        let mut _varying = 0..;
                        let mut _uniform = 0..;
                        let width = machine.width;
                        let Task::Coarse { found, .. } = &job.task else {
                            unreachable!("the task has a shape")
                        };
                        let _given = |i: usize| found.uniform()[i];
                        $(let $given: f32 = machine.uniform(_given(_uniform.next().unwrap_or(0)));)*
                        $(let $key: i32 = machine.uniform(_given(_uniform.next().unwrap_or(0)));)*
                        machine.with_place(job.out, chunk, |machine, out: &mut [$result]| {
                            let operands = Operands { machine, chunk, found };
                            let n = out.len();
                            $(let $real: &[f32] = &operands.slice(_varying.next().unwrap_or(0))[..n];)*
                            $(let $whole: &[i32] = &operands.slice(_varying.next().unwrap_or(0))[..n];)*
                            width.run(
                                #[inline(always)]
                                || all(out, $($real,)* $($whole,)* $($given,)* $($key,)* width.rounds()),
                            );
                        });
                    },)*
                }
        }
    };
}

coarse_operations!(define_run);
