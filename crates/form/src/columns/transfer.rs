//! Brings parameters into buffers and results out of them.

use std::ops::Range;

use millstream_base::id::Id;
use millstream_base::lane::Lane;

use super::ends::{LaneInput, LaneOutput};
use super::execute::{Chunk, Machine};
use super::layout::{Direct, Place, sink_of};
use super::loops;
use crate::inst::Reg;
use crate::op::Op;
use crate::storage::Stored;
use millstream_base::map::Map;

impl Machine<'_, '_> {
    /// Loads a parameter into its buffer.
    pub(super) fn load<A: Stored>(&mut self, reg: Reg, to: Place, chunk: &Chunk<'_>) {
        let Op::Param(number) = self.form.insts[reg].op else {
            unreachable!("what is loaded is a parameter")
        };
        let number = number as usize;
        let out = A::pool_mut(self.pools)[to.slot as usize].first_mut(chunk.len());
        let width = self.width;
        match self.inputs[number] {
            LaneInput::Lanes { lanes, offset, stride: stride @ 2..=4, map: Map::Each }
                if matches!(chunk, Chunk::Range(_)) =>
            {
                let Chunk::Range(range) = chunk else { return };
                let start = range.start * stride + offset;
                let lanes = &A::view(&lanes)[start..=start + (range.len() - 1) * stride];
                width.run(
                    #[inline(always)]
                    || match stride {
                        2 => loops::strided::<A, 2>(out, lanes),
                        3 => loops::strided::<A, 3>(out, lanes),
                        _ => loops::strided::<A, 4>(out, lanes),
                    },
                );
            }
            LaneInput::Lanes { lanes, offset, stride, map } => {
                gather(out, A::view(&lanes), offset, stride, map, chunk);
            }
            LaneInput::Range { start, step } => {
                assert!(A::LANE.is_integer(), "a range is given for an integer parameter");
                let value = |i: usize| {
                    A::from_bits(start.wrapping_add(step.wrapping_mul(i as i64)).cast_unsigned())
                };
                match chunk {
                    Chunk::Range(range) => set(out, range.clone().map(value)),
                    Chunk::Indices(indices) => set(out, indices.iter().map(|&i| value(i as usize))),
                }
            }
        }
    }

    /// Stores the wanted results that do not lie in their place already.
    pub(super) fn store_all(&mut self, chunk: &Chunk<'_>) {
        for number in 0..self.outputs.len() {
            let LaneOutput { first, width, .. } = self.outputs[number];
            if self.plan.joined[number] {
                continue;
            }
            if sink_of(&self.outputs[number]).is_interleaved()
                && let Chunk::Range(range) = chunk
            {
                match self.form.insts[self.form.results[first]].lane {
                    Lane::Bool => self.interleave::<bool>(number, range, chunk),
                    Lane::I32 => self.interleave::<i32>(number, range, chunk),
                    Lane::I64 => self.interleave::<i64>(number, range, chunk),
                    Lane::F32 => self.interleave::<f32>(number, range, chunk),
                    Lane::F64 => self.interleave::<f64>(number, range, chunk),
                }
                continue;
            }
            for place in 0..width {
                let reg = self.form.results[first + place];
                match self.form.insts[reg].lane {
                    Lane::Bool => self.store::<bool>(reg, number, place, chunk),
                    Lane::I32 => self.store::<i32>(reg, number, place, chunk),
                    Lane::I64 => self.store::<i64>(reg, number, place, chunk),
                    Lane::F32 => self.store::<f32>(reg, number, place, chunk),
                    Lane::F64 => self.store::<f64>(reg, number, place, chunk),
                }
            }
        }
    }

    /// Stores the results of an output whose elements are 2 to 4 results side by side.
    fn interleave<A: Stored>(&mut self, number: usize, range: &Range<usize>, chunk: &Chunk<'_>) {
        let output = &mut self.outputs[number];
        let (first, n, offset) = (output.first, output.width, output.offset);
        let lanes = A::take(&mut output.lanes);
        let out = &mut lanes[range.start * n + offset..range.end * n + offset];
        let values = |i: usize| {
            let home = self.plan.homes[self.form.results[first + i].index()];
            self.slice::<A>(home.place, chunk)
        };
        self.width.run(
            #[inline(always)]
            || match n {
                2 => loops::interleave(out, [values(0), values(1)]),
                3 => loops::interleave(out, [values(0), values(1), values(2)]),
                _ => loops::interleave(out, [values(0), values(1), values(2), values(3)]),
            },
        );
        self.outputs[number].lanes = A::put(lanes);
    }

    fn store<A: Stored>(&mut self, reg: Reg, number: usize, place: usize, chunk: &Chunk<'_>) {
        let home = self.plan.homes[reg.index()];
        let there = home.place.direct == Direct::Output(number as u32);
        if there && matches!(chunk, Chunk::Range(_)) {
            return;
        }
        let output = &mut self.outputs[number];
        let (offset, stride) = (output.offset + place, output.stride);
        let lanes = A::take(&mut output.lanes);
        if home.uniform {
            let value = A::from_bits(self.plan.values[reg.index()]);
            scatter(lanes, offset, stride, chunk, std::iter::repeat_n(value, chunk.len()));
        } else {
            let values = self.slice::<A>(home.place, chunk);
            match chunk {
                Chunk::Range(range) if stride == 1 => {
                    lanes[range.start + offset..range.end + offset].copy_from_slice(values);
                }
                Chunk::Range(_) | Chunk::Indices(_) => {
                    scatter(lanes, offset, stride, chunk, values.iter().copied());
                }
            }
        }
        self.outputs[number].lanes = A::put(lanes);
    }
}

fn set<A>(out: &mut [A], values: impl Iterator<Item = A>) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = value;
    }
}

fn scatter<A: Stored>(
    lanes: &mut [A],
    offset: usize,
    stride: usize,
    chunk: &Chunk<'_>,
    values: impl Iterator<Item = A>,
) {
    match chunk {
        Chunk::Range(range) => {
            let places = lanes[range.start * stride + offset..].iter_mut().step_by(stride.max(1));
            let mut n = 0;
            for (place, value) in places.zip(values) {
                *place = value;
                n += 1;
            }
            assert_eq!(n, range.len(), "an output has room for the elements of the mask");
        }
        Chunk::Indices(indices) => {
            for (&i, value) in indices.iter().zip(values) {
                lanes[i as usize * stride + offset] = value;
            }
        }
    }
}

fn gather<A: Stored>(
    out: &mut [A],
    lanes: &[A],
    offset: usize,
    stride: usize,
    map: Map<'_>,
    chunk: &Chunk<'_>,
) {
    let value = |stored: usize| lanes[stored * stride + offset];
    match chunk {
        Chunk::Range(range) => match map {
            Map::Each => set(out, range.clone().map(value)),
            Map::Single => out.fill(value(0)),
            Map::Tile(n) => {
                let mut stored = range.start % n;
                for out in out {
                    *out = value(stored);
                    stored = if stored + 1 == n { 0 } else { stored + 1 };
                }
            }
            Map::Stretch(n) => {
                let (mut stored, mut left) = (range.start / n, n - range.start % n);
                for out in out {
                    *out = value(stored);
                    left -= 1;
                    if left == 0 {
                        (stored, left) = (stored + 1, n);
                    }
                }
            }
            Map::Table(table) => {
                set(out, table[range.clone()].iter().map(|&stored| value(stored as usize)));
            }
        },
        Chunk::Indices(indices) => {
            let indices = indices.iter().map(|&i| i as usize);
            match map {
                Map::Each => set(out, indices.map(value)),
                Map::Single => out.fill(value(0)),
                Map::Tile(n) => set(out, indices.map(|i| value(i % n))),
                Map::Stretch(n) => set(out, indices.map(|i| value(i / n))),
                Map::Table(table) => set(out, indices.map(|i| value(table[i] as usize))),
            }
        }
    }
}
