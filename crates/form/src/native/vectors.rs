//! Values of several lanes as they are stored: lanes are taken apart when they are loaded, and put
//! side by side when they are stored.

use iced_x86::IcedError;
use smallvec::SmallVec;

use super::allocate::{Value, Writer};
use super::encode::Place;
use super::{Content, Strided};
use crate::inst::Reg;

impl Writer<'_> {
    /// Loads a lane of stored values of several: the lanes of two vectors of them at once.
    pub(super) fn load_strided(
        &mut self,
        out: u8,
        array: usize,
        Strided { stride, offset }: Strided,
    ) -> Result<(), IcedError> {
        let place = |i: usize| i * stride + offset;
        let temporaries = [self.temporary()?, self.temporary()?, self.temporary()?];
        let [a, b, first] = temporaries;
        self.assembler.load_part(a, array, stride, 0)?;
        self.assembler.load_part(b, array, stride, 1)?;
        let places = self.places(|i| place(i) % 32);
        if stride == 2 {
            self.assembler.permute(out, places, a, b)?;
        } else {
            self.assembler.permute(first, places, a, b)?;
            self.assembler.load_part(a, array, stride, 2)?;
            let other = if stride == 3 {
                a
            } else {
                self.assembler.load_part(b, array, stride, 3)?;
                let second = self.temporary()?;
                self.assembler.permute(second, places, a, b)?;
                self.release(second);
                second
            };
            let is_first = |i: usize| place(i) < 32;
            let places = self.places(|i| match (is_first(i), stride) {
                (true, _) => i,
                (false, 3) => 16 + place(i) - 32,
                (false, _) => 16 + i,
            });
            self.assembler.permute(out, places, first, other)?;
        }
        for register in temporaries {
            self.release(register);
        }
        Ok(())
    }

    /// Stores values side by side.
    pub(super) fn store_joined(&mut self, regs: &[Reg], array: usize) -> Result<(), IcedError> {
        let stride = regs.len();
        let values: SmallVec<[Value; 4]> = regs.iter().map(|reg| self.value(*reg)).collect();
        let mut lanes: SmallVec<[u8; 4]> = SmallVec::new();
        for value in &values {
            lanes.push(self.register(*value)?);
        }
        let temporaries = [self.temporary()?, self.temporary()?, self.temporary()?];
        let [out, first, second] = temporaries;
        for number in 0..stride {
            // The element and the lane of it that goes to a place.
            let of = |i: usize| ((16 * number + i) / stride, (16 * number + i) % stride);
            let pair = self.places(|i| of(i).0 + 16 * (of(i).1 % 2));
            if stride == 2 {
                self.assembler.permute(out, pair, lanes[0], lanes[1])?;
            } else {
                self.assembler.permute(first, pair, lanes[0], lanes[1])?;
                let other = if stride == 3 {
                    lanes[2]
                } else {
                    self.assembler.permute(second, pair, lanes[2], lanes[3])?;
                    second
                };
                let places = self.places(|i| match (of(i).1 < 2, stride) {
                    (true, _) => i,
                    (false, 3) => 16 + of(i).0,
                    (false, _) => 16 + i,
                });
                self.assembler.permute(out, places, first, other)?;
            }
            self.assembler.store_part(array, stride, number, out)?;
        }
        for register in temporaries {
            self.release(register);
        }
        self.read(&values);
        Ok(())
    }

    /// Places of lanes in two vectors.
    fn places(&mut self, place: impl Fn(usize) -> usize) -> Place {
        Place::Line(self.line(Content::Places(std::array::from_fn(|i| place(i) as u8))))
    }
}
