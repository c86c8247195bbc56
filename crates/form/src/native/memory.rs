//! Memory that contains code, and calls of that code.

#![allow(unsafe_code, reason = "generated code is called through a pointer")]

use std::ops::Range;

use memmap2::{Mmap, MmapMut};
use millstream_base::lane::Lane;
use smallvec::SmallVec;

use super::allocate::{Loop, Written};
use super::{Content, Target};
use crate::inst::Reg;
use crate::storage::{LaneSlice, LaneSliceMut};

/// Bytes per line of the table.
pub(super) const LINE: usize = size_of::<Line>();

/// Lanes of an element at most.
const MAX_LANES: usize = 4;

/// A vector in memory.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; 8]);

/// A function that computes a stretch of a form over arrays.
#[derive(Debug)]
pub(crate) struct Code {
    memory: Mmap,
    target: Target,
    loops: SmallVec<[Loop; 2]>,
    contents: Vec<Content>,
    /// The lane of each array and how many an element has, the inputs first.
    lanes: Vec<(Lane, usize)>,
    n_inputs: usize,
}

/// A loop: a function of the addresses of the arrays, the table, and the end and the start of the
/// elements.
#[cfg(target_arch = "x86_64")]
type Function = unsafe extern "sysv64" fn(*const *mut u8, *mut Line, usize, usize);
/// There is no code for other machines.
#[cfg(not(target_arch = "x86_64"))]
type Function = unsafe extern "C" fn(*const *mut u8, *mut Line, usize, usize);

impl Code {
    /// Makes code executable, if the machine allows that.
    pub(super) fn map(
        Written { bytes, loops, contents }: Written,
        lanes: Vec<(Lane, usize)>,
        n_inputs: usize,
        target: Target,
    ) -> Option<Self> {
        let mut memory = MmapMut::map_anon(bytes.len()).ok()?;
        memory[..bytes.len()].copy_from_slice(&bytes);
        let memory = memory.make_exec().ok()?;
        Some(Self { memory, target, loops, contents, lanes, n_inputs })
    }

    /// Fills the table that the code reads for registers of the form with these bits. Lines that do
    /// not depend on them are left as they are in a table that was filled before.
    pub(crate) fn fill_table(&self, table: &mut Vec<Line>, bits_of: impl Fn(Reg) -> u64) {
        let is_filled = !table.is_empty();
        table.resize(self.contents.len(), Line([0; 8]));
        for (line, content) in table.iter_mut().zip(&self.contents) {
            let bits = match *content {
                Content::Uniform(reg, Lane::Bool) => 0_u64.wrapping_sub(bits_of(reg)),
                Content::Uniform(reg, _) => bits_of(reg),
                Content::Bits(_) | Content::Places(_) | Content::Spilled if is_filled => continue,
                Content::Bits(bits) => bits,
                Content::Places(places) => {
                    line.0 = std::array::from_fn(|i| {
                        u64::from(places[2 * i]) | u64::from(places[2 * i + 1]) << 32
                    });
                    continue;
                }
                Content::Spilled => continue,
            };
            let low = bits & u64::from(u32::MAX);
            line.0 = [if self.target.size == 8 { bits } else { low << 32 | low }; 8];
        }
    }

    /// Computes the outputs of all elements. Arrays have one entry for each element. Memory is asked
    /// for from each of the places `ahead`.
    ///
    /// # Panics
    /// If the number, lengths or lanes of the arrays differ from those of the stretch, or the table
    /// was not filled.
    pub(crate) fn run(
        &self,
        inputs: &[LaneSlice<'_>],
        outputs: &mut [LaneSliceMut<'_>],
        ahead: &[*const u8],
        table: &mut [Line],
        n: usize,
    ) {
        assert_eq!(self.n_inputs, inputs.len(), "each input has an array");
        assert_eq!(self.lanes.len(), inputs.len() + outputs.len(), "each output has an array");
        assert_eq!(table.len(), self.contents.len(), "the table is filled");
        let mut arrays: SmallVec<[*mut u8; 24]> = SmallVec::new();
        let fits = |lane: Lane, n_bytes: usize, (wanted, n_lanes): (Lane, usize)| {
            lane == wanted && n_bytes == n * n_lanes * lane.size()
        };
        for (input, lanes) in inputs.iter().zip(&self.lanes) {
            assert!(fits(input.lane(), input.bytes().len(), *lanes), "an input fits its array");
            arrays.push(input.bytes().as_ptr().cast_mut());
        }
        for (output, lanes) in outputs.iter_mut().zip(&self.lanes[self.n_inputs..]) {
            assert!(fits(output.lane(), output.bytes().len(), *lanes), "an output fits its array");
            arrays.push(output.start());
        }
        // What lies there is neither read nor written.
        arrays.extend(ahead.iter().map(|start| start.cast_mut()));
        let lanes = self.target.lanes();
        if n < lanes {
            // SAFETY: each array has `n` elements, those of the outputs are not borrowed otherwise.
            return unsafe { self.run_few(&arrays, table, n) };
        }
        let mut start = 0;
        for one in self.loops.iter().rev() {
            let end = n - (n - start) % (lanes * one.n_vectors);
            if end > start {
                // SAFETY: each array has `n` elements.
                unsafe { self.call(one, &arrays, table, start..end) };
                start = end;
            }
        }
        if n > start {
            // SAFETY: as above. No output is an input, so elements that are computed again have
            // the same results.
            unsafe { self.call(&self.loops[0], &arrays, table, n - lanes..n) };
        }
    }

    /// Computes fewer elements than a vector holds, in arrays of the length of a vector.
    ///
    /// # Safety
    /// Each of `arrays` has `n` elements and can be read, those of outputs written.
    unsafe fn run_few(&self, arrays: &[*mut u8], table: &mut [Line], n: usize) {
        let mut vectors = vec![[Line([0; 8]); MAX_LANES]; arrays.len()];
        let mut places: SmallVec<[*mut u8; 24]> = SmallVec::new();
        for vector in &mut vectors {
            places.push(vector.as_mut_ptr().cast());
        }
        let n_bytes = |i: usize| {
            let (lane, n_lanes) = self.lanes[i];
            n * n_lanes * lane.size()
        };
        for i in 0..self.n_inputs {
            // SAFETY: the array has the elements; a vector has room for fewer than its lanes.
            unsafe { places[i].copy_from_nonoverlapping(arrays[i], n_bytes(i)) };
        }
        // SAFETY: each of these arrays is as long as a vector.
        unsafe { self.call(&self.loops[0], &places, table, 0..self.target.lanes()) };
        for i in self.n_inputs..self.lanes.len() {
            // SAFETY: as above; truth values were written as 0 or 1.
            unsafe { arrays[i].copy_from_nonoverlapping(places[i], n_bytes(i)) };
        }
    }

    /// # Safety
    /// Each of `arrays` has the `elements`, a multiple of those of a round and more than none, and
    /// can be read, those of outputs written.
    unsafe fn call(
        &self,
        one: &Loop,
        arrays: &[*mut u8],
        table: &mut [Line],
        elements: Range<usize>,
    ) {
        // SAFETY: at its start is a function of this type. It was written for a target that
        // this machine has, as [`Target::new`] took it from a width of the machine. The function
        // touches nothing but registers that its caller does not need, the `elements` of the
        // arrays, of which it writes only outputs, and the lines of the table, as many as
        // `contents`. The memory is not written again and lives as long as `self`.
        unsafe {
            let start = self.memory[one.start..].as_ptr();
            let function = std::mem::transmute::<*const u8, Function>(start);
            function(arrays.as_ptr(), table.as_mut_ptr(), elements.end, elements.start);
        }
    }
}
