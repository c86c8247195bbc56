//! Machine code for straight-line code over columns.
//!
//! An interpreter that goes over columns instruction by instruction writes every intermediate value
//! to memory and reads it again. Here a stretch of a form becomes one loop over vectors of
//! elements, in which intermediate values stay in registers. Instructions are selected one by one
//! (`select`); registers are allocated in order, and the value that is needed last is the first to
//! be spilled (`allocate`); the crate `iced-x86` encodes the instructions (`encode`). Every
//! operation rounds as it does alone, so the bits are those of the interpreter.
//!
//! There is code for x86-64 with AVX2 or AVX-512. Elementary functions, divisions of integers and
//! conversions between lanes of different size are not compiled; the interpreter runs them.
//! `cargo bench -p millstream --bench pictures` shows the gain.

mod allocate;
mod encode;
mod memory;
mod select;
mod vectors;

use millstream_base::lane::Lane;
use millstream_base::width::Width;

pub(crate) use memory::{Code, Line};

use crate::inst::{Form, Inst, Reg};
use crate::op::Op;

/// The vectors of the generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Whether they have 64 bytes and there are 32 of them, as with AVX-512; otherwise 32 and 16.
    wide: bool,
    /// Bytes of a lane, 4 or 8; a truth value has all bits of its lane set or none.
    size: usize,
}

impl Target {
    /// The target with lanes of `size` bytes, if there is code for the width.
    pub(crate) fn new(width: Width, size: usize) -> Option<Self> {
        let wide = match width.vector_bytes() {
            64 => true,
            32 => false,
            _ => return None,
        };
        (cfg!(target_arch = "x86_64")).then_some(Self { wide, size })
    }

    /// Number of elements per vector.
    fn lanes(self) -> usize {
        (if self.wide { 64 } else { 32 }) / self.size
    }

    /// Whether lanes of stored values of several are read and written in place.
    pub(crate) fn joins(self) -> bool {
        self.wide && self.size == 4
    }

    fn n_registers(self) -> usize {
        if self.wide { 32 } else { 16 }
    }
}

/// The content of a line of the table that code reads and spills to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// A register of the form that is the same for all elements.
    Uniform(Reg, Lane),
    /// These bits in each lane.
    Bits(u64),
    /// Places of lanes in two vectors, which a permutation takes.
    Places([u8; 16]),
    /// A value that no register is left for.
    Spilled,
}

/// The instructions of a form that are computed together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretch {
    /// Bytes per lane.
    pub(crate) size: usize,
    /// The computed registers, in order.
    pub(crate) regs: Vec<Reg>,
    /// The registers that are read from arrays.
    pub(crate) inputs: Vec<Reg>,
    /// The registers that are written to arrays; they are computed here.
    pub(crate) outputs: Vec<Reg>,
    /// Registers that are written side by side, 2 to 4 for each element. Each is computed here or
    /// is the same for all elements.
    pub(crate) joined: Vec<Joined>,
    /// Outputs that are written later, whose memory is asked for here.
    pub(crate) ahead: Vec<Ahead>,
}

/// Values that are stored side by side.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// The number of the output.
    pub(crate) output: usize,
    pub(crate) regs: Vec<Reg>,
}

/// An output whose memory is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// The number of the output.
    pub(crate) output: usize,
    /// Bytes of an element.
    pub(crate) n_bytes: usize,
}

/// A lane of stored values of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    /// The lanes of a stored value, 2 to 4.
    pub(crate) stride: usize,
    pub(crate) offset: usize,
}

/// The size in bytes of the lanes in which code computes an instruction, if it can; `either` for an
/// instruction with only truth values.
pub(crate) fn lane_size(inst: &Inst, width: Width, either: usize) -> Option<usize> {
    let number = if inst.of == Lane::Bool { inst.lane } else { inst.of };
    let size = if number == Lane::Bool { either } else { number.size() };
    let target = Target::new(width, size)?;
    select::is_compiled(inst, target).then_some(size)
}

impl Code {
    /// Code for a stretch. `is_uniform` tells which registers are the same for all elements,
    /// `strided` which inputs are lanes of stored values of several.
    ///
    /// `None` if the machine does not let a program make code.
    pub(crate) fn new(
        form: &Form,
        stretch: &Stretch,
        target: Target,
        is_uniform: impl Fn(Reg) -> bool,
        strided: impl Fn(Reg) -> Option<Strided>,
    ) -> Option<Self> {
        let written = allocate::write(form, stretch, target, is_uniform, &strided).ok()?;
        let input = |reg: &Reg| (*reg, strided(*reg).map_or(1, |strided| strided.stride));
        let joined = stretch.joined.iter().map(|joined| (joined.regs[0], joined.regs.len()));
        let arrays = stretch.inputs.iter().map(input);
        let arrays = arrays.chain(stretch.outputs.iter().map(|reg| (*reg, 1))).chain(joined);
        let lanes = arrays.map(|(reg, n)| (form.insts[reg].lane, n)).collect();
        Self::map(written, lanes, stretch.inputs.len(), target)
    }
}

/// The constant that an instruction reads as operand `number`, if it is one.
fn constant(form: &Form, inst: &Inst, number: usize) -> Option<u64> {
    match form.insts[inst.args()[number]].op {
        Op::Const(bits) => Some(bits),
        _ => None,
    }
}
