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
    /// The values that are computed or read, by the registers of the form: one if it is the same
    /// for all elements, otherwise one for each vector of a round.
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
    /// The number of vectors of a round.
    n_vectors: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Temporary,
    Value(Value),
}

/// The code of a stretch.
pub(super) struct Written {
    /// Functions, each a loop.
    pub(super) bytes: Vec<u8>,
    pub(super) loops: SmallVec<[Loop; 2]>,
    /// The content of the table.
    pub(super) contents: Vec<Content>,
}

/// A loop over elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// Where its function begins.
    pub(super) start: usize,
    /// The number of vectors that each round computes.
    pub(super) n_vectors: usize,
}

/// Writes the code of a stretch. One loop computes a vector in each round. If there are registers
/// enough, another computes several side by side, so that the processor need not wait where each
/// instruction reads the result of the one before.
pub(super) fn write(
    form: &Form,
    stretch: &Stretch,
    target: Target,
    is_uniform: impl Fn(Reg) -> bool,
    strided: impl Fn(Reg) -> Option<Strided>,
) -> Result<Written, IcedError> {
    let mut writer = Writer {
        form,
        assembler: Assembler::new(target),
        numbers: HashMap::new(),
        values: Vec::new(),
        fused: fused(form, stretch, target),
        contents: Vec::new(),
        spare_lines: Vec::new(),
        held: [Held::Nothing; 32],
        pinned: 0,
        n_vectors: 1,
    };
    let mut loops = SmallVec::new();
    writer.number_values(stretch, &is_uniform, &strided);
    let side_by_side = writer.n_side_by_side(stretch);
    loops.push(writer.write_loop(stretch)?);
    if side_by_side > 1 {
        writer.start_again(side_by_side);
        writer.number_values(stretch, &is_uniform, &strided);
        loops.push(writer.write_loop(stretch)?);
    }
    Ok(Written { bytes: writer.assembler.finish(), loops, contents: writer.contents })
}

/// Registers for temporary values.
const N_TEMPORARIES: usize = 4;

/// Instructions of a loop that computes vectors side by side, at most.
const MAX_INSTRUCTIONS: usize = 512;

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

    /// Forgets all values, for a loop with so many vectors in a round.
    fn start_again(&mut self, n_vectors: usize) {
        self.numbers.clear();
        self.values.clear();
        self.held = [Held::Nothing; 32];
        self.pinned = 0;
        self.n_vectors = n_vectors;
    }

    /// The number of vectors that can be computed side by side without spilling.
    fn n_side_by_side(&self, stretch: &Stretch) -> usize {
        // For each place, how many more values are needed after it than before.
        let mut changes = vec![0_isize; stretch.regs.len() + stretch.joined.len() + 1];
        let place_of: HashMap<Value, usize> = (0..)
            .zip(&stretch.regs)
            .filter_map(|(i, reg)| Some((*self.numbers.get(reg)?, i)))
            .collect();
        for (value, state) in self.values.iter().enumerate() {
            if !matches!(state.home, Home::Given(_))
                && let (Some(first), Some(last)) = (state.uses.first(), state.uses.last())
            {
                changes[*place_of.get(&value).unwrap_or(first)] += 1;
                changes[*last] -= 1;
            }
        }
        let n_needed = changes.iter().scan(0, |sum, change| {
            *sum += change;
            Some(*sum)
        });
        let n_needed = n_needed.max().unwrap_or(0) as usize + 1;
        let n_registers = self.assembler.target.n_registers() - N_TEMPORARIES;
        let fits =
            |n: &usize| n * n_needed <= n_registers && n * stretch.regs.len() <= MAX_INSTRUCTIONS;
        [4, 2].into_iter().find(fits).unwrap_or(1)
    }

    fn write_loop(&mut self, stretch: &Stretch) -> Result<Loop, IcedError> {
        let start = self.assembler.start_loop();
        for &reg in &stretch.regs {
            if !self.fused.contains(&reg) {
                for vector in 0..self.n_vectors {
                    self.assembler.vector = vector;
                    self.write(reg)?;
                }
            }
        }
        for (i, joined) in stretch.joined.iter().enumerate() {
            let array = stretch.inputs.len() + stretch.outputs.len() + i;
            for vector in 0..self.n_vectors {
                self.assembler.vector = vector;
                self.store_joined(&joined.regs, array)?;
            }
        }
        let n_arrays = stretch.inputs.len() + stretch.outputs.len() + stretch.joined.len();
        for (i, ahead) in stretch.ahead.iter().enumerate() {
            self.assembler.ask_for(n_arrays + i, ahead.n_bytes, self.n_vectors)?;
        }
        self.assembler.end_loop(self.n_vectors)?;
        Ok(Loop { start, n_vectors: self.n_vectors })
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
            let first = self.numbers[reg];
            for state in &mut self.values[first..first + self.n_vectors] {
                state.stored = Some(stretch.inputs.len() + i);
            }
        }
    }

    fn add_use(&mut self, reg: Reg, place: usize, is_uniform: impl Fn(Reg) -> bool) {
        if is_uniform(reg) && !self.numbers.contains_key(&reg) {
            let line = self.line(Content::Uniform(reg, self.form.insts[reg].lane));
            self.add(reg, Home::Given(line));
        }
        for vector in 0..self.n_vectors {
            let (value, place) = (self.value_in(reg, vector), place * self.n_vectors + vector);
            let uses = &mut self.values[value].uses;
            if uses.last() != Some(&place) {
                uses.push(place);
            }
        }
    }

    fn add(&mut self, reg: Reg, home: Home) {
        self.numbers.insert(reg, self.values.len());
        let n = if matches!(home, Home::Given(_)) { 1 } else { self.n_vectors };
        let state =
            || State { home, register: None, uses: SmallVec::new(), n_done: 0, stored: None };
        self.values.extend(std::iter::repeat_with(state).take(n));
    }

    /// The value of a register of the form in a vector of the round.
    fn value_in(&self, reg: Reg, vector: usize) -> Value {
        let first = self.numbers[&reg];
        if matches!(self.values[first].home, Home::Given(_)) { first } else { first + vector }
    }

    /// The line of the table with this content.
    pub(super) fn line(&mut self, content: Content) -> usize {
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
        let out = self.value(reg);
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

    /// The value of a register of the form in the vector that is written now.
    pub(super) fn value(&self, reg: Reg) -> Value {
        self.value_in(reg, self.assembler.vector)
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
