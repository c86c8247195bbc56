//! Allocates registers for the values of a stretch, in one pass from its first instruction to its
//! last.

use std::collections::{HashMap, HashSet};

use iced_x86::IcedError;
use millstream_base::lane::Lane;
use smallvec::SmallVec;

use super::encode::{Assembler, Place, Vector};
use super::select::comparison;
use super::{Content, Stretch, Strided, Target};
use crate::inst::{Form, Reg};
use crate::op::Op;

/// The number of a value; see [`Writer::values`].
pub(super) type Value = usize;

/// Where a value can be read from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Nowhere,
    /// A line of the table that does not change.
    Given(usize),
    /// A line of the table to which the value was spilled.
    Spilled(usize),
    /// An array of numbers.
    Array(usize),
    /// An array of truth values.
    TruthArray(usize),
    /// An array of stored values of several lanes.
    StridedArray(usize, Strided),
}

#[derive(Debug)]
struct State {
    home: Home,
    register: Option<u8>,
    /// The instructions that read the value, by position in the stretch, in order.
    uses: SmallVec<[usize; 4]>,
    /// The number of these that were written.
    n_done: usize,
    /// The array in which the value is stored.
    stored: Option<usize>,
}

impl State {
    /// The next instruction that reads the value.
    fn next_use(&self) -> Option<usize> {
        self.uses.get(self.n_done).copied()
    }
}

/// Writes the code of a stretch.
pub(super) struct Writer<'f> {
    pub(super) form: &'f Form,
    pub(super) assembler: Assembler,
    /// The values that are computed or read, by the registers of the form.
    numbers: HashMap<Reg, Value>,
    values: Vec<State>,
    /// Comparisons that are made where selects read them.
    fused: HashSet<Reg>,
    contents: Vec<Content>,
    /// Unused lines of spilled values.
    spare_lines: Vec<usize>,
    /// The content of each register.
    held: [Held; 32],
    /// Registers that the current instruction needs, as bits.
    pinned: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Temporary,
    Value(Value),
}

/// The code of a stretch, and the content of its table.
pub(super) fn write(
    form: &Form,
    stretch: &Stretch,
    target: Target,
    is_uniform: impl Fn(Reg) -> bool,
    strided: impl Fn(Reg) -> Option<Strided>,
) -> Result<(Vec<u8>, Vec<Content>), IcedError> {
    let mut writer = Writer {
        form,
        assembler: Assembler::new(target)?,
        numbers: HashMap::new(),
        values: Vec::new(),
        fused: fused(form, stretch, target),
        contents: Vec::new(),
        spare_lines: Vec::new(),
        held: [Held::Nothing; 32],
        pinned: 0,
    };
    writer.number_values(stretch, is_uniform, strided);
    for &reg in &stretch.regs {
        if !writer.fused.contains(&reg) {
            writer.write(reg)?;
        }
    }
    for (i, joined) in stretch.joined.iter().enumerate() {
        writer.store_joined(&joined.regs, stretch.inputs.len() + stretch.outputs.len() + i)?;
    }
    Ok((writer.assembler.finish()?, writer.contents))
}

/// Selects that may read a comparison that each of them makes anew.
const MAX_SELECTS: usize = 2;

/// Comparisons that only few selects read. In wide vectors they give masks, which selects take.
fn fused(form: &Form, stretch: &Stretch, target: Target) -> HashSet<Reg> {
    let mut n_selects = HashMap::<Reg, usize>::new();
    for &reg in &stretch.regs {
        if target.wide && comparison(&form.insts[reg], target).is_some() {
            n_selects.insert(reg, 0);
        }
        let inst = &form.insts[reg];
        for (i, arg) in inst.args().iter().enumerate() {
            if inst.op == Op::Select && i == 0 {
                n_selects.entry(*arg).and_modify(|n| *n += 1);
            } else {
                n_selects.remove(arg);
            }
        }
    }
    for output in &stretch.outputs {
        n_selects.remove(output);
    }
    n_selects.retain(|_, n| (1..=MAX_SELECTS).contains(n));
    n_selects.into_keys().collect()
}

impl Writer<'_> {
    /// The operands of an instruction, those of a fused comparison for its result.
    fn operands(&self, reg: Reg) -> SmallVec<[Reg; 4]> {
        let args = self.form.insts[reg].args().iter();
        args.flat_map(|arg| {
            let is_fused = self.fused.contains(arg);
            if is_fused { self.form.insts[*arg].args() } else { std::slice::from_ref(arg) }
        })
        .copied()
        .collect()
    }

    /// Whether the register is a comparison that selects make.
    pub(super) fn is_fused(&self, reg: Reg) -> bool {
        self.fused.contains(&reg)
    }

    fn number_values(
        &mut self,
        stretch: &Stretch,
        is_uniform: impl Fn(Reg) -> bool,
        strided: impl Fn(Reg) -> Option<Strided>,
    ) {
        for (array, &reg) in stretch.inputs.iter().enumerate() {
            let home = match strided(reg) {
                Some(strided) => Home::StridedArray(array, strided),
                None if self.form.insts[reg].lane == Lane::Bool => Home::TruthArray(array),
                None => Home::Array(array),
            };
            self.add(reg, home);
        }
        for (place, &reg) in stretch.regs.iter().enumerate() {
            if self.fused.contains(&reg) {
                continue;
            }
            for arg in self.operands(reg) {
                self.add_use(arg, place, &is_uniform);
            }
            self.add(reg, Home::Nowhere);
        }
        for (i, joined) in stretch.joined.iter().enumerate() {
            for reg in &joined.regs {
                self.add_use(*reg, stretch.regs.len() + i, &is_uniform);
            }
        }
        for (i, reg) in stretch.outputs.iter().enumerate() {
            self.values[self.numbers[reg]].stored = Some(stretch.inputs.len() + i);
        }
    }

    fn add_use(&mut self, reg: Reg, place: usize, is_uniform: impl Fn(Reg) -> bool) {
        if is_uniform(reg) && !self.numbers.contains_key(&reg) {
            let line = self.line(Content::Uniform(reg, self.form.insts[reg].lane));
            self.add(reg, Home::Given(line));
        }
        let uses = &mut self.values[self.numbers[&reg]].uses;
        if uses.last() != Some(&place) {
            uses.push(place);
        }
    }

    fn add(&mut self, reg: Reg, home: Home) {
        self.numbers.insert(reg, self.values.len());
        let state = State { home, register: None, uses: SmallVec::new(), n_done: 0, stored: None };
        self.values.push(state);
    }

    /// The line of the table with this content.
    fn line(&mut self, content: Content) -> usize {
        if let Some(line) = self.contents.iter().position(|other| *other == content) {
            return line;
        }
        self.contents.push(content);
        self.contents.len() - 1
    }

    /// A constant of these bits in each lane.
    pub(super) fn bits(&mut self, bits: u64) -> Place {
        Place::Line(self.line(Content::Bits(bits)))
    }

    /// All bits set.
    pub(super) fn ones(&mut self) -> Place {
        self.bits(u64::MAX)
    }

    fn write(&mut self, reg: Reg) -> Result<(), IcedError> {
        let out = self.numbers[&reg];
        self.compute(reg, out)?;
        self.pinned = 0;
        if let (Some(array), Some(register)) = (self.values[out].stored, self.values[out].register)
        {
            if self.form.insts[reg].lane == Lane::Bool {
                self.pinned = 1 << register;
                let temporaries = [self.temporary()?, self.temporary()?];
                self.assembler.store_truth(array, register, temporaries)?;
                for register in temporaries {
                    self.release(register);
                }
                self.pinned = 0;
            } else {
                self.assembler.store(array, register)?;
            }
        }
        self.free_if_done(out);
        Ok(())
    }

    /// The value of a register of the form.
    pub(super) fn value(&self, reg: Reg) -> Value {
        self.numbers[&reg]
    }

    /// Whether the value is in a register.
    pub(super) fn is_held(&self, value: Value) -> bool {
        self.values[value].register.is_some()
    }

    /// The value in a register.
    pub(super) fn register(&mut self, value: Value) -> Result<u8, IcedError> {
        if let Some(register) = self.values[value].register {
            self.pinned |= 1 << register;
            return Ok(register);
        }
        let register = self.result(value)?;
        match self.values[value].home {
            Home::Given(line) | Home::Spilled(line) => {
                self.assembler.unary(Vector::Load, register, Place::Line(line))?;
            }
            Home::Array(array) => {
                self.assembler.unary(Vector::Load, register, Place::Array(array))?;
            }
            Home::TruthArray(array) => {
                let ones = self.ones();
                self.assembler.load_truth(register, array, ones)?;
            }
            Home::StridedArray(array, strided) => self.load_strided(register, array, strided)?,
            Home::Nowhere => unreachable!("a value is computed before it is read"),
        }
        Ok(register)
    }

    /// Loads a lane of stored values of several: the lanes of two vectors of them at once.
    fn load_strided(
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
    fn store_joined(&mut self, regs: &[Reg], array: usize) -> Result<(), IcedError> {
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

    /// The value where an instruction can read it.
    pub(super) fn place(&mut self, value: Value) -> Result<Place, IcedError> {
        let state = &self.values[value];
        let is_last = state.uses.len() <= state.n_done + 1;
        match (state.register, state.home) {
            (None, Home::Given(line)) => Ok(Place::Line(line)),
            (None, Home::Spilled(line)) if is_last => Ok(Place::Line(line)),
            (None, Home::Array(array)) if is_last => Ok(Place::Array(array)),
            _ => self.register(value).map(Place::Register),
        }
    }

    /// A register for a value. Before [`Writer::read`] it differs from those of operands.
    pub(super) fn result(&mut self, value: Value) -> Result<u8, IcedError> {
        let register = self.unused()?;
        self.hold(register, value);
        Ok(register)
    }

    /// A register for a result that starts as a copy of the operand `from`.
    pub(super) fn result_from(&mut self, value: Value, from: Value) -> Result<u8, IcedError> {
        let register = self.register(from)?;
        let state = &self.values[from];
        if state.uses.len() <= state.n_done + 1 && state.stored.is_none() {
            self.values[from].register = None;
            self.hold(register, value);
            return Ok(register);
        }
        let out = self.result(value)?;
        self.assembler.unary(Vector::Load, out, Place::Register(register))?;
        Ok(out)
    }

    /// A register that [`Writer::release`] frees.
    pub(super) fn temporary(&mut self) -> Result<u8, IcedError> {
        let register = self.unused()?;
        self.held[usize::from(register)] = Held::Temporary;
        self.pinned |= 1 << register;
        Ok(register)
    }

    pub(super) fn release(&mut self, register: u8) {
        self.pinned &= !(1 << register);
        self.held[usize::from(register)] = Held::Nothing;
    }

    /// Records that the operands were read; values without further readers make room.
    pub(super) fn read(&mut self, operands: &[Value]) {
        for (i, &value) in operands.iter().enumerate() {
            if operands[..i].contains(&value) {
                continue;
            }
            self.values[value].n_done += 1;
            self.free_if_done(value);
        }
        self.pinned = 0;
    }

    fn free_if_done(&mut self, value: Value) {
        if self.values[value].next_use().is_some() {
            return;
        }
        if let Some(register) = self.values[value].register.take() {
            self.held[usize::from(register)] = Held::Nothing;
        }
        if let Home::Spilled(line) = self.values[value].home {
            self.spare_lines.push(line);
            self.values[value].home = Home::Nowhere;
        }
    }

    fn hold(&mut self, register: u8, value: Value) {
        self.held[usize::from(register)] = Held::Value(value);
        self.values[value].register = Some(register);
        self.pinned |= 1 << register;
    }

    /// A free register; if there is none, the value that is needed last is spilled.
    fn unused(&mut self) -> Result<u8, IcedError> {
        let n = self.assembler.target.n_registers();
        if let Some(register) =
            (0..n).find(|&i| self.held[i] == Held::Nothing && self.pinned >> i & 1 == 0)
        {
            return Ok(register as u8);
        }
        let next_use = |i: usize| match self.held[i] {
            Held::Value(value) if self.pinned >> i & 1 == 0 => {
                Some((self.values[value].next_use().unwrap_or(usize::MAX), i, value))
            }
            _ => None,
        };
        let (_, register, value) =
            (0..n).filter_map(next_use).max().expect("an instruction needs few registers");
        if self.values[value].home == Home::Nowhere {
            let line = self.spare_lines.pop().unwrap_or_else(|| {
                self.contents.push(Content::Spilled);
                self.contents.len() - 1
            });
            self.assembler.spill(line, register as u8)?;
            self.values[value].home = Home::Spilled(line);
        }
        self.values[value].register = None;
        self.held[register] = Held::Nothing;
        Ok(register as u8)
    }
}
