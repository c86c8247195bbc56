//! Rounds of a body of forms alone: a block of elements runs all its rounds before the next block
//! begins, so that carried values stay in near memory.
//!
//! Within a block, the results of elements that end are written at once. The others are compacted
//! when so many have ended that computing them needlessly costs more than moving.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream_base::map::Map;
use millstream_base::{Lane, Mask};
use millstream_form::{ColumnScratch, LaneInput, LaneOutput, LaneSliceMut, run_columns};
use millstream_ir::ZoneBody;
use millstream_node::unsettled::Unsettled;
use millstream_node::zone::Told;
use millstream_node::{Call, Data, Failure};
use smallvec::SmallVec;

use super::fused::{Fused, InputLane};
use super::lane_buffer::{LaneBuffer, Stored};
use super::{Counts, beyond_limit, over};
use crate::buffers::Buffers;
use crate::fuse::width;
use crate::lanes::{lane_slice, lane_slice_mut};
use crate::spread::{cut_outputs, worthwhile};

/// Number of elements that run all rounds together.
const BLOCK: usize = 1024;

/// Number of elements that a thread takes at a time.
const PIECE: usize = 4 * BLOCK;

/// Number of rounds between two readings of the clock.
const ROUNDS: u32 = 64;

/// The data that all blocks share.
struct Work<'a> {
    body: &'a ZoneBody,
    fused: &'a Fused,
    counts: Counts,
    /// The given data of each lane; its bits if it is one value.
    stored: Vec<Result<Stored<'a>, u64>>,
    /// The places of each wanted output's lanes.
    places: Vec<Place>,
    limit: usize,
    is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// The first element of each moment.
    moments: &'a [usize],
    unsettled: &'a Unsettled,
    stopped: AtomicBool,
    /// The elements with more rounds than the limit, in any order.
    beyond: Mutex<Vec<u32>>,
}

/// One lane of a wanted output.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The position among the wanted outputs.
    output: usize,
    offset: usize,
    stride: usize,
    what: What,
}

/// The content of an output.
#[derive(Clone, Copy, Debug)]
enum What {
    /// A lane.
    Lane(usize),
    /// Whether to continue, if that is not carried.
    Go,
    /// Information about the rounds.
    Told(Told),
}

/// Successive elements, and their part of the outputs.
struct Piece<'a> {
    elements: &'a [u32],
    /// Position of the first among all elements.
    position: usize,
    start: usize,
    outputs: Vec<LaneOutput<'a>>,
}

/// Runs the elements of a mask.
pub(super) fn run(
    body: &ZoneBody,
    fused: &Fused,
    call: &mut Call<'_>,
    mask: &Mask,
    wanted: &[usize],
) -> Result<(), Failure> {
    let extent = call.extent();
    let mut buffers = Buffers::default();
    let mut columns = Vec::with_capacity(wanted.len());
    for k in wanted {
        if let Some(old) = call.old_column(*k) {
            buffers.give(old);
        }
        columns.push(buffers.column(body.outer_type(*k), extent));
    }
    let counts = Counts::read(body, call, mask);
    let limit = call.limits().repeat_count;
    if let Some((element, n)) = counts.too_many {
        return Err(beyond_limit(element, n, limit));
    }
    let mut elements = Vec::with_capacity(mask.len());
    mask.for_each(|i| elements.push(i as u32));
    let rounds = (counts.most as usize).min(64);
    let threads = call.threads().min(worthwhile(&fused.form, elements.len() * rounds));
    let work = Work {
        body,
        fused,
        counts,
        stored: stored(body, fused, call),
        places: places(body, fused, wanted),
        limit,
        is_over: call.is_over(),
        moments: call.moments(),
        unsettled: call.unsettled(),
        stopped: AtomicBool::new(false),
        beyond: Mutex::default(),
    };
    let mut outputs: Vec<LaneOutput<'_>> = Vec::with_capacity(columns.len());
    for column in &mut columns {
        let stride = width(column.ty());
        let lanes = lane_slice_mut(column);
        outputs.push(LaneOutput { lanes, first: 0, width: stride, offset: 0, stride });
    }
    let pieces = Mutex::new(cut(&elements, outputs).into_iter());
    let take = || {
        let mut block = Block::new(&work);
        loop {
            let next = pieces.lock().expect("no holder of the queue panics").next();
            let Some(mut piece) = next else { return };
            for at in (0..piece.elements.len()).step_by(BLOCK) {
                if work.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let end = piece.elements.len().min(at + BLOCK);
                block.run(&work, &mut piece, at..end);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(take);
        }
        take();
    });
    if work.stopped.into_inner() {
        return Err(over());
    }
    let beyond = work.beyond.into_inner().expect("no holder of the list panics");
    drop(pieces);
    if call.leaves_out() {
        call.leave_out(beyond);
    } else if let Some(lowest) = beyond.into_iter().min() {
        let position = elements.partition_point(|known| *known < lowest);
        return Err(beyond_limit(lowest as usize, work.counts.of(position), limit));
    }
    for (k, column) in wanted.iter().zip(columns) {
        call.set(*k, column);
    }
    Ok(())
}

/// The places of the lanes of the wanted outputs.
fn places(body: &ZoneBody, fused: &Fused, wanted: &[usize]) -> Vec<Place> {
    let mut places = Vec::new();
    for (output, k) in wanted.iter().enumerate() {
        if let Some(told) = body.told.get(k.wrapping_sub(body.n_outputs())) {
            places.push(Place { output, offset: 0, stride: 1, what: What::Told(*told) });
            continue;
        }
        let first = fused.first_of(*k);
        let stride = width(body.plan.outputs[*k].ty);
        for offset in 0..stride {
            let what = fused.lane_of_result(first + offset).map_or(What::Go, What::Lane);
            places.push(Place { output, offset, stride, what });
        }
    }
    places
}

/// The given data of each lane: stored lanes, or the bits of one value.
fn stored<'a>(body: &ZoneBody, fused: &Fused, call: &'a Call<'_>) -> Vec<Result<Stored<'a>, u64>> {
    let of = |lane: &InputLane| {
        let given = body.given_by(lane.input).expect("the number of the round is no lane");
        let argument = call.argument(given);
        match (argument.data(), argument.map()) {
            (Data::One(value), _) => Err(value.lane(lane.offset).unwrap_or(0)),
            (Data::Many(column), Map::Single) => Err(column.get(0).lane(lane.offset).unwrap_or(0)),
            (Data::Many(column), map) => {
                let (lanes, stride) = lane_slice(column);
                Ok(Stored { lanes, offset: lane.offset, stride, map })
            }
        }
    };
    fused.lanes.iter().map(of).collect()
}

/// Divides elements into pieces, each with its part of the outputs.
fn cut<'a>(elements: &'a [u32], outputs: Vec<LaneOutput<'a>>) -> Vec<Piece<'a>> {
    let mut rest = outputs;
    let mut rest_at = 0;
    let mut pieces = Vec::with_capacity(elements.len() / PIECE + 1);
    for (i, part) in elements.chunks(PIECE).enumerate() {
        let (start, end) = (part[0] as usize, part[part.len() - 1] as usize + 1);
        let outputs = cut_outputs(&mut rest, start - rest_at, end - start);
        rest_at = end;
        pieces.push(Piece { elements: part, position: i * PIECE, start, outputs });
    }
    pieces
}

/// The lanes of a block, reused from block to block.
struct Block {
    now: Vec<LaneBuffer>,
    next: Vec<LaneBuffer>,
    /// Whether to continue, if that is not carried.
    go: LaneBuffer,
    counts: Vec<u32>,
    /// The element at each position, and whether it still has rounds.
    elements: Vec<u32>,
    alive: Vec<bool>,
    n_alive: usize,
    stable: Vec<bool>,
    positions: Vec<u32>,
    scratch: ColumnScratch,
}

impl Block {
    fn new(work: &Work<'_>) -> Self {
        let buffers = || work.fused.lanes.iter().map(|lane| LaneBuffer::new(lane.lane)).collect();
        Self {
            now: buffers(),
            next: buffers(),
            go: LaneBuffer::new(Lane::Bool),
            counts: Vec::new(),
            elements: Vec::new(),
            alive: Vec::new(),
            n_alive: 0,
            stable: Vec::new(),
            positions: Vec::new(),
            scratch: ColumnScratch::default(),
        }
    }

    /// All rounds of some elements of a piece.
    fn run(&mut self, work: &Work<'_>, piece: &mut Piece<'_>, part: std::ops::Range<usize>) {
        self.start(work, piece, part);
        let go_lane = work.fused.go.and_then(|go| work.fused.lane_of_result(go));
        let mut round = 0_u32;
        self.find_ended(work, round, go_lane.map(|lane| (true, lane)));
        self.put_out(work, piece, 0);
        while self.n_alive > 0 {
            if self.n_alive * 4 < self.elements.len() * 3 {
                self.move_together(work);
            }
            if round.is_multiple_of(ROUNDS) && work.is_over.is_some_and(|is_over| is_over()) {
                work.stopped.store(true, Ordering::Relaxed);
                return;
            }
            if round as usize >= work.limit {
                let alive = self.elements.iter().zip(&self.alive).filter(|(_, alive)| **alive);
                let mut beyond = work.beyond.lock().expect("no holder of the list panics");
                beyond.extend(alive.map(|(element, _)| *element));
                return;
            }
            self.compute(work, round);
            round += 1;
            if let Some(tolerance) = work.body.stable() {
                self.stable.clear();
                self.stable.resize(self.elements.len(), true);
                for ((lane, now), next) in work.fused.lanes.iter().zip(&self.now).zip(&self.next) {
                    if lane.next.is_some() {
                        now.unmark_changed(next, &mut self.stable, tolerance);
                    }
                }
            }
            for (lane, (now, next)) in
                work.fused.lanes.iter().zip(self.now.iter_mut().zip(&mut self.next))
            {
                if lane.next.is_some() {
                    std::mem::swap(now, next);
                }
            }
            let go = match go_lane {
                Some(lane) => Some((true, lane)),
                None => work.fused.go.map(|_| (false, 0)),
            };
            self.find_ended(work, round, go);
            self.note_unsettled(work, round, go);
            self.put_out(work, piece, round);
        }
    }

    fn start(&mut self, work: &Work<'_>, piece: &Piece<'_>, part: std::ops::Range<usize>) {
        let n = part.len();
        self.elements.clear();
        self.elements.extend_from_slice(&piece.elements[part.clone()]);
        self.alive.clear();
        self.alive.resize(n, true);
        self.stable.clear();
        self.n_alive = n;
        self.counts.clear();
        if !work.counts.each.is_empty() {
            let first = piece.position + part.start;
            self.counts.extend_from_slice(&work.counts.each[first..first + n]);
        }
        // Without any round everything would continue.
        self.go = LaneBuffer::Bool(vec![true; n]);
        for ((lane, stored), now) in work.fused.lanes.iter().zip(&work.stored).zip(&mut self.now) {
            match stored {
                Ok(stored) => now.gather(stored, &self.elements),
                Err(bits) => now.fill(*bits, if lane.next.is_some() { n } else { 1 }),
            }
        }
    }

    /// One round, from `now` to `next`.
    fn compute(&mut self, work: &Work<'_>, round: u32) {
        let n = self.elements.len();
        let Fused { form, params, lanes, .. } = work.fused;
        for (lane, next) in lanes.iter().zip(&mut self.next) {
            if lane.next.is_some() {
                next.resize(n);
            }
        }
        let round = [round as i32];
        let inputs = params.iter().map(|lane| match lane {
            None => LaneInput::single(&round[..]),
            Some(lane) => {
                let slice = self.now[*lane].as_slice();
                let is_one = work.stored[*lane].is_err() && lanes[*lane].next.is_none();
                if is_one { LaneInput::single(slice) } else { LaneInput::each(slice) }
            }
        });
        let inputs: SmallVec<[LaneInput<'_>; 16]> = inputs.collect();
        let results = lanes.iter().zip(&mut self.next).filter_map(|(lane, next)| {
            lane.next.map(|result| LaneOutput::each(result, next.as_slice_mut()))
        });
        let mut results: SmallVec<[LaneOutput<'_>; 16]> = results.collect();
        if let Some(go) = work.fused.go
            && work.fused.lane_of_result(go).is_none()
        {
            self.go.resize(n);
            results.push(LaneOutput::each(go, self.go.as_slice_mut()));
        }
        run_columns(form, &inputs, &mut results, &Mask::full(n), &mut self.scratch);
    }

    /// Finds the positions of elements that end; `go` says where to read whether they continue: in
    /// a lane, or beside the lanes.
    fn find_ended(&mut self, work: &Work<'_>, round: u32, go: Option<(bool, usize)>) {
        self.positions.clear();
        if self.counts.is_empty() && round >= work.counts.most {
            let alive = (0_u32..).zip(&self.alive).filter(|(_, alive)| **alive);
            self.positions.extend(alive.map(|(i, _)| i));
            return;
        }
        let go = go.map(|(is_lane, lane)| {
            let buffer = if is_lane { &self.now[lane] } else { &self.go };
            buffer.as_bools()
        });
        let looks_at_stable = work.body.stable().is_some() && round > 0;
        if go.is_none() && self.counts.is_empty() && !looks_at_stable {
            return;
        }
        if let Some(go) = go
            && self.counts.is_empty()
            && !looks_at_stable
        {
            const GROUP: usize = 64;
            let groups = self.alive.chunks(GROUP).zip(go.chunks(GROUP));
            for (g, (alive, go)) in groups.enumerate() {
                let n = alive
                    .iter()
                    .zip(go)
                    .fold(0_u8, |n, (a, go)| n + (u8::from(*a) & u8::from(!*go)));
                if n > 0 {
                    let ended =
                        alive.iter().zip(go).enumerate().filter(|(_, (a, go))| **a && !**go);
                    self.positions.extend(ended.map(|(i, _)| (g * GROUP + i) as u32));
                }
            }
            return;
        }
        for (i, alive) in self.alive.iter().enumerate() {
            let count = self.counts.get(i).copied().unwrap_or(work.counts.most);
            let is_stable = looks_at_stable && self.stable[i];
            if *alive && (count <= round || is_stable || go.is_some_and(|go| !go[i])) {
                self.positions.push(i as u32);
            }
        }
    }

    /// Notes for the report whether an element ends unsettled.
    fn note_unsettled(&self, work: &Work<'_>, round: u32, go: Option<(bool, usize)>) {
        if work.body.stable().is_none() {
            return;
        }
        let go = go.map(|(is_lane, lane)| {
            let buffer = if is_lane { &self.now[lane] } else { &self.go };
            buffer.as_bools()
        });
        let ended = self.positions.iter().map(|i| *i as usize);
        let mut unsettled = ended.filter(|i| !self.stable[*i] && go.is_none_or(|go| go[*i]));
        // Without several moments, one element is enough.
        let n = if work.moments.is_empty() { 1 } else { usize::MAX };
        let elements = unsettled.by_ref().take(n).map(|i| self.elements[i] as usize);
        elements.for_each(|element| work.unsettled.after(round, work.moments, element));
    }

    /// Writes the values of the elements that end to the outputs.
    fn put_out(&mut self, work: &Work<'_>, piece: &mut Piece<'_>, round: u32) {
        if self.positions.is_empty() {
            return;
        }
        let (elements, start) = (&self.elements, piece.start);
        let element = |i: u32| elements[i as usize] as usize - start;
        for place in &work.places {
            let to: &mut LaneSliceMut<'_> = &mut piece.outputs[place.output].lanes;
            let buffer = match (place.what, &mut *to) {
                (What::Lane(lane), _) => &self.now[lane],
                (What::Go, _) => &self.go,
                (What::Told(Told::Rounds), LaneSliceMut::I32(to)) => {
                    self.positions.iter().for_each(|i| to[element(*i)] = round as i32);
                    continue;
                }
                (What::Told(_), LaneSliceMut::Bool(to)) => {
                    let settled = |i: u32| self.stable.get(i as usize).is_some_and(|it| *it);
                    self.positions.iter().for_each(|i| to[element(*i)] = settled(*i));
                    continue;
                }
                (What::Told(_), _) => panic!("told outputs are an i32 or a bool"),
            };
            buffer.scatter(&self.positions, element, to, (place.offset, place.stride));
        }
        for i in &self.positions {
            self.alive[*i as usize] = false;
        }
        self.n_alive -= self.positions.len();
    }

    /// Compacts the elements that still have rounds.
    fn move_together(&mut self, work: &Work<'_>) {
        self.positions.clear();
        let alive = (0_u32..).zip(&self.alive).filter(|(_, alive)| **alive);
        self.positions.extend(alive.map(|(i, _)| i));
        for ((lane, stored), now) in work.fused.lanes.iter().zip(&work.stored).zip(&mut self.now) {
            if lane.next.is_some() || stored.is_ok() {
                now.keep(&self.positions);
            }
        }
        let keep = |all: &mut Vec<u32>| {
            for (to, from) in self.positions.iter().enumerate() {
                all[to] = all[*from as usize];
            }
            all.truncate(self.positions.len());
        };
        keep(&mut self.elements);
        if !self.counts.is_empty() {
            keep(&mut self.counts);
        }
        self.alive.clear();
        self.alive.resize(self.elements.len(), true);
    }
}
