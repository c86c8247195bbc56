//! Runs a form over many elements: piece by piece, and on several threads if that pays.
//!
//! A piece is a part of the mask. Between pieces the caller may cancel the work. On several threads
//! each piece gets its part of the outputs, so inputs are shifted to its beginning; threads take
//! pieces from one queue, as some may be slower than others. The lock guards only the queue.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use millstream_base::Mask;
use millstream_base::map::Map;
use millstream_form::{ColumnScratch, Form, LaneInput, LaneOutput, LaneSliceMut, Op, run_columns};

/// Below this much work, cost of the form times elements, a second thread may cost more than it
/// saves: starting one takes about 30 microseconds, and this much work about 160.
const WORTH_A_THREAD: usize = 16 << 20;

/// Maximal number of elements between two readings of the clock, and maximal work, which takes less
/// than a millisecond.
const PIECE: usize = 1 << 17;
const WORK: usize = 32 << 20;

/// The threads that run a form, and the size of the pieces.
#[derive(Debug)]
pub(crate) struct Crew {
    /// Maximal number of threads.
    pub(crate) threads: usize,
    /// Elements per piece; `None` for a size that pays.
    pub(crate) piece: Option<usize>,
    scratches: Vec<ColumnScratch>,
}

impl Crew {
    pub(crate) fn new(threads: usize, piece: Option<usize>) -> Self {
        Self { threads, piece, scratches: vec![ColumnScratch::default()] }
    }

    /// Computes the masked elements. Between pieces `is_over` receives the number of elements done,
    /// and says whether the result is no longer wanted.
    pub(crate) fn run(
        &mut self,
        form: &Form,
        inputs: &[LaneInput<'_>],
        mut outputs: Vec<LaneOutput<'_>>,
        mask: &Mask,
        is_over: &(dyn Fn(usize) -> bool + Sync),
    ) {
        let mut threads = self.threads.min(worthwhile(form, mask.len()));
        if let Some(piece) = self.piece {
            threads = self.threads.min(mask.len().div_ceil(piece.max(1)));
        }
        if threads <= 1 {
            let scratch = &mut self.scratches[0];
            let piece = self.piece.unwrap_or_else(|| piece_of(form)).max(1);
            let mut n_done = 0;
            for part in pieces(mask, piece) {
                if mask.len() > piece && is_over(n_done) {
                    return;
                }
                run_columns(form, inputs, &mut outputs, &part, scratch);
                n_done += part.len();
            }
            return;
        }
        let even = mask.len().div_ceil(4 * threads).next_multiple_of(1024);
        let piece = self.piece.unwrap_or(even.min(piece_of(form))).max(1);
        let pieces = Mutex::new(cut(inputs, outputs, mask, piece).into_iter());
        let (over, n_done) = (AtomicBool::new(false), AtomicUsize::new(0));
        self.work(threads, |scratch| {
            loop {
                let next = pieces.lock().expect("no holder of the queue panics").next();
                let Some(mut piece) = next else { return };
                let is_known = over.load(Ordering::Relaxed);
                if is_known || is_over(n_done.load(Ordering::Relaxed)) {
                    over.store(true, Ordering::Relaxed);
                    return;
                }
                run_columns(form, &piece.inputs, &mut piece.outputs, &piece.mask, scratch);
                n_done.fetch_add(piece.mask.len(), Ordering::Relaxed);
            }
        });
    }

    /// Calls `work` on at most this many threads, each with scratch space of its own.
    pub(crate) fn work(&mut self, threads: usize, work: impl Fn(&mut ColumnScratch) + Sync) {
        let threads = threads.clamp(1, self.threads.max(1));
        self.scratches.resize_with(threads.max(self.scratches.len()), ColumnScratch::default);
        let (own, others) = self.scratches[..threads].split_at_mut(1);
        std::thread::scope(|scope| {
            for scratch in others {
                scope.spawn(|| work(scratch));
            }
            work(&mut own[0]);
        });
    }
}

/// The number of elements of a form that run between two readings of the clock.
pub(crate) fn piece_of(form: &Form) -> usize {
    (WORK / form.cost().max(1)).clamp(1024, PIECE) / 1024 * 1024
}

/// The parts of a mask with this many elements each; the whole mask if it has no more.
pub(crate) fn pieces(mask: &Mask, piece: usize) -> impl Iterator<Item = Mask> + '_ {
    let (n, starts) = (mask.len(), (0..mask.len().max(1)).step_by(piece));
    starts.map(
        move |start| {
            if n <= piece { mask.clone() } else { mask.slice(start..n.min(start + piece)) }
        },
    )
}

/// The number of threads that pays for this number of elements.
pub(crate) fn worthwhile(form: &Form, n: usize) -> usize {
    let at_most = n.saturating_mul(form.insts.len()).saturating_mul(Op::MAX_COST);
    if at_most < WORTH_A_THREAD {
        return 1;
    }
    threads_for(n.saturating_mul(form.cost()))
}

/// The number of threads that pays for this much work.
pub(crate) fn threads_for(work: usize) -> usize {
    work / WORTH_A_THREAD + 1
}

/// A range of elements with their inputs and outputs.
struct Piece<'a> {
    inputs: Vec<LaneInput<'a>>,
    outputs: Vec<LaneOutput<'a>>,
    mask: Mask,
}

/// Divides the work into pieces of about `size` elements of the mask.
fn cut<'a>(
    inputs: &[LaneInput<'a>],
    outputs: Vec<LaneOutput<'a>>,
    mask: &Mask,
    size: usize,
) -> Vec<Piece<'a>> {
    let Some(bounds) = mask.bounds() else { return Vec::new() };
    let mut pieces = Vec::with_capacity(mask.len() / size + 1);
    let mut rest = outputs;
    let mut rest_at = 0;
    let mut start = bounds.start;
    while start < bounds.end {
        let ordinal = mask.rank(start);
        let wanted = (ordinal + size).min(mask.len());
        let far = mask.nth(wanted).unwrap_or(bounds.end);
        let end = inputs.iter().fold(far, |end, input| end.min(reach(input, start)));
        let part = mask.within(start..end);
        if !part.is_empty() {
            // Elements before the piece that are not in the mask are skipped with it.
            let from_here = cut_outputs(&mut rest, start - rest_at, end - start);
            rest_at = end;
            pieces.push(Piece {
                inputs: inputs.iter().map(|input| shift(input, start)).collect(),
                outputs: from_here,
                mask: part.shift(-(start as isize)),
            });
        }
        start = end;
    }
    pieces
}

/// The number of elements from `start` on that a shifted input can describe.
fn reach(input: &LaneInput<'_>, start: usize) -> usize {
    match input {
        LaneInput::Lanes { map: Map::Tile(n) | Map::Stretch(n), .. }
            if !start.is_multiple_of(*n) =>
        {
            start.next_multiple_of(*n)
        }
        LaneInput::Lanes { .. } | LaneInput::Range { .. } => usize::MAX,
    }
}

/// The input that begins at element `start` of this one.
pub(crate) fn shift<'a>(input: &LaneInput<'a>, start: usize) -> LaneInput<'a> {
    match *input {
        LaneInput::Lanes { lanes, offset, stride, map } => {
            let (skipped, map) = match map {
                Map::Each => (start, Map::Each),
                Map::Single => (0, Map::Single),
                Map::Tile(n) if start.is_multiple_of(n) => (0, Map::Tile(n)),
                Map::Tile(n) => (start % n, Map::Each),
                Map::Stretch(n) if start.is_multiple_of(n) => (start / n, Map::Stretch(n)),
                Map::Stretch(n) => (start / n, Map::Single),
                Map::Table(table) => (0, Map::Table(&table[start..])),
            };
            LaneInput::Lanes { lanes: lanes.without_first(skipped * stride), offset, stride, map }
        }
        LaneInput::Range { start: first, step } => {
            LaneInput::Range { start: first.wrapping_add(step.wrapping_mul(start as i64)), step }
        }
    }
}

/// Drops `skip` elements from the front of the outputs and takes the next `n`.
pub(crate) fn cut_outputs<'a>(
    rest: &mut [LaneOutput<'a>],
    skip: usize,
    n: usize,
) -> Vec<LaneOutput<'a>> {
    macro_rules! part {
        ($lane:ident, $lanes:ident, $skip:ident, $n:ident) => {{
            let (part, others) = std::mem::take($lanes)[$skip..].split_at_mut($n);
            *$lanes = others;
            LaneSliceMut::$lane(part)
        }};
    }
    let mut parts = Vec::with_capacity(rest.len());
    for LaneOutput { lanes, first, width, offset, stride } in rest {
        let (skip, n) = (skip * *stride, n * *stride);
        let lanes = match lanes {
            LaneSliceMut::Bool(lanes) => part!(Bool, lanes, skip, n),
            LaneSliceMut::I32(lanes) => part!(I32, lanes, skip, n),
            LaneSliceMut::I64(lanes) => part!(I64, lanes, skip, n),
            LaneSliceMut::F32(lanes) => part!(F32, lanes, skip, n),
            LaneSliceMut::F64(lanes) => part!(F64, lanes, skip, n),
        };
        parts.push(LaneOutput {
            lanes,
            first: *first,
            width: *width,
            offset: *offset,
            stride: *stride,
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_base::Lane;
    use millstream_form::FormBuilder;

    #[test]
    fn the_clock_is_looked_at_after_about_a_millisecond_of_work() {
        let b = FormBuilder::new();
        let x = b.param(Lane::F32);
        let cheap = b.finish(&[x + 1.0]);
        let dear = b.finish(&[(0..5000).fold(x, |x, _| x.sin())]);
        assert_eq!(piece_of(&cheap), PIECE);
        let of_dear = piece_of(&dear);
        assert_eq!(of_dear, 1024);
        let mask = Mask::full(2500);
        let lengths = |piece| pieces(&mask, piece).map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(lengths(1024), [1024, 1024, 452]);
        assert_eq!(lengths(2500), [2500]);
    }

    #[test]
    fn threads_are_for_work_that_pays_for_their_start() {
        let b = FormBuilder::new();
        let x = b.param(Lane::F32);
        let (cheap, dear) = (b.finish(&[x + 1.0]), b.finish(&[x.sin()]));
        assert_eq!((worthwhile(&cheap, 1000), worthwhile(&dear, 1000)), (1, 1));
        assert_eq!((worthwhile(&cheap, 1_000_000), worthwhile(&dear, 1_000_000)), (1, 3));
        assert!(worthwhile(&dear, usize::MAX) > 1000);
    }
}
