//! Asks the machine for the memory of the next chunk while this one is computed.
//!
//! Machines fetch ahead by themselves, but not across pages, and too late where a chunk is read at
//! once and then computed with. After each job as large a part of the lines is asked for as the job
//! is of the work: few enough that they do not queue, and often enough that memory does not wait.
//! Of columns that do not fit the caches it saves about a fifth of the time (`cargo bench -p
//! millstream-run --bench peers`, AVX-512).

#![allow(unsafe_code, reason = "the instruction is an unsafe function")]

use std::ops::Range;

/// Bytes that are fetched together.
const LINE: usize = 64;

/// All of a chunk's lines, in the unit of shares.
pub(super) const WHOLE: u32 = 1 << 16;

/// Memory of the caller that is read or written from its beginning to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    start: *const u8,
    n_bytes: usize,
    /// Bytes of an element.
    size: usize,
}

impl Stream {
    pub(super) fn new(memory: &[u8], size: usize) -> Self {
        Self { start: memory.as_ptr(), n_bytes: memory.len(), size }
    }

    /// The first byte of some elements and the number of lines from there, so far as they exist.
    #[inline]
    fn lines(&self, elements: &Range<usize>) -> (usize, usize) {
        let end = self.n_bytes.min(elements.end * self.size);
        let start = end.min(elements.start * self.size);
        (start, (end - start).div_ceil(LINE))
    }
}

/// The lines of some elements that are still to be asked for.
pub(super) struct Ahead<'s> {
    streams: &'s [Stream],
    elements: Range<usize>,
    n_lines: usize,
    n_done: usize,
    /// Lines of the first of `streams` that were asked for.
    line: usize,
}

impl<'s> Ahead<'s> {
    #[inline]
    pub(super) fn new(streams: &'s [Stream], elements: Range<usize>) -> Self {
        let n_lines = streams.iter().map(|stream| stream.lines(&elements).1).sum();
        Self { streams, elements, n_lines, n_done: 0, line: 0 }
    }

    /// Asks for as many lines as this part of all is, less those before.
    #[inline]
    pub(super) fn fetch_to(&mut self, part: u32) {
        let wanted = (self.n_lines * part as usize) / WHOLE as usize;
        while self.n_done < wanted
            && let Some((stream, others)) = self.streams.split_first()
        {
            let (start, n_lines) = stream.lines(&self.elements);
            let end = n_lines.min(self.line + wanted - self.n_done);
            for line in self.line..end {
                fetch(stream.start.wrapping_add(start + line * LINE));
            }
            self.n_done += end - self.line;
            self.line = end;
            if end == n_lines {
                (self.streams, self.line) = (others, 0);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch(byte: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is a hint that may be given for any address and changes nothing; all
    // machines of this architecture have it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(byte.cast()) };
}

/// Other machines are left to themselves.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch(_byte: *const u8) {}
