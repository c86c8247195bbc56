//! Vector instructions and their encoding.

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

use super::Target;

/// The place of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a vector register.
    Register(u8),
    /// In a line of the table.
    Line(usize),
    /// In an array.
    Array(usize),
}

/// An operand as it is encoded.
enum Operand {
    Register(Register),
    Memory(MemoryOperand),
}

/// The instruction made of an operand, whatever it is: constructors differ in its type only.
macro_rules! with_operand {
    ($operand:expr, |$name:ident| $instruction:expr) => {
        match $operand {
            Operand::Register($name) => $instruction,
            Operand::Memory($name) => $instruction,
        }
    };
}

/// Lists vector instructions, each with the codes for lanes of 32 and 64 bits in vectors of 32
/// bytes, and for the same in 64 bytes.
macro_rules! vector_instructions {
    ($($name:ident: $narrow32:ident $narrow64:ident $wide32:ident $wide64:ident;)*) => {
        /// A vector instruction for any size of vector and lane.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Vector {
            $($name,)*
        }

        impl Vector {
            /// The code of the instruction; `INVALID` if the target has none.
            pub(super) fn code(self, target: Target) -> Code {
                let codes = match self {
                    $(Self::$name => [
                        Code::$narrow32, Code::$narrow64, Code::$wide32, Code::$wide64,
                    ],)*
                };
                codes[2 * usize::from(target.wide) + usize::from(target.size == 8)]
            }
        }
    };
}

vector_instructions! {
    Add: VEX_Vaddps_ymm_ymm_ymmm256 VEX_Vaddpd_ymm_ymm_ymmm256 EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
    Sub: VEX_Vsubps_ymm_ymm_ymmm256 VEX_Vsubpd_ymm_ymm_ymmm256 EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er;
    Mul: VEX_Vmulps_ymm_ymm_ymmm256 VEX_Vmulpd_ymm_ymm_ymmm256 EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
    Div: VEX_Vdivps_ymm_ymm_ymmm256 VEX_Vdivpd_ymm_ymm_ymmm256 EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er;
    Min: VEX_Vminps_ymm_ymm_ymmm256 VEX_Vminpd_ymm_ymm_ymmm256 EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae;
    Max: VEX_Vmaxps_ymm_ymm_ymmm256 VEX_Vmaxpd_ymm_ymm_ymmm256 EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae;
    Sqrt: VEX_Vsqrtps_ymm_ymmm256 VEX_Vsqrtpd_ymm_ymmm256 EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er;
    Round: VEX_Vroundps_ymm_ymmm256_imm8 VEX_Vroundpd_ymm_ymmm256_imm8 EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae;
    Fma: VEX_Vfmadd213ps_ymm_ymm_ymmm256 VEX_Vfmadd213pd_ymm_ymm_ymmm256 EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er;
    Compare: VEX_Vcmpps_ymm_ymm_ymmm256_imm8 VEX_Vcmppd_ymm_ymm_ymmm256_imm8 EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
    ToReal: VEX_Vcvtdq2ps_ymm_ymmm256 INVALID EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er;
    ToWhole: VEX_Vcvttps2dq_ymm_ymmm256 INVALID EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae;
    AddWhole: VEX_Vpaddd_ymm_ymm_ymmm256 VEX_Vpaddq_ymm_ymm_ymmm256 EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
    SubWhole: VEX_Vpsubd_ymm_ymm_ymmm256 VEX_Vpsubq_ymm_ymm_ymmm256 EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64;
    MulWhole: VEX_Vpmulld_ymm_ymm_ymmm256 INVALID EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32 EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64;
    MinWhole: VEX_Vpminsd_ymm_ymm_ymmm256 INVALID EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64;
    MaxWhole: VEX_Vpmaxsd_ymm_ymm_ymmm256 INVALID EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64;
    AbsWhole: VEX_Vpabsd_ymm_ymmm256 INVALID EVEX_Vpabsd_zmm_k1z_zmmm512b32 EVEX_Vpabsq_zmm_k1z_zmmm512b64;
    And: VEX_Vpand_ymm_ymm_ymmm256 VEX_Vpand_ymm_ymm_ymmm256 EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64;
    Or: VEX_Vpor_ymm_ymm_ymmm256 VEX_Vpor_ymm_ymm_ymmm256 EVEX_Vpord_zmm_k1z_zmm_zmmm512b32 EVEX_Vporq_zmm_k1z_zmm_zmmm512b64;
    Xor: VEX_Vpxor_ymm_ymm_ymmm256 VEX_Vpxor_ymm_ymm_ymmm256 EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32 EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64;
    ShiftLeft: VEX_Vpsllvd_ymm_ymm_ymmm256 VEX_Vpsllvq_ymm_ymm_ymmm256 EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64;
    ShiftRight: VEX_Vpsravd_ymm_ymm_ymmm256 INVALID EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64;
    ShiftRightZeros: VEX_Vpsrlvd_ymm_ymm_ymmm256 VEX_Vpsrlvq_ymm_ymm_ymmm256 EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64;
    Equal: VEX_Vpcmpeqd_ymm_ymm_ymmm256 VEX_Vpcmpeqq_ymm_ymm_ymmm256 INVALID INVALID;
    Greater: VEX_Vpcmpgtd_ymm_ymm_ymmm256 VEX_Vpcmpgtq_ymm_ymm_ymmm256 INVALID INVALID;
    CompareWhole: INVALID INVALID EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8 EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
    Logic: INVALID INVALID EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8 EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8;
    Blend: VEX_Vblendvps_ymm_ymm_ymmm256_ymm VEX_Vblendvpd_ymm_ymm_ymmm256_ymm EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32 EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64;
    SpreadMask: INVALID INVALID EVEX_Vpmovm2d_zmm_kr EVEX_Vpmovm2q_zmm_kr;
    LoadTruth: VEX_Vpmovzxbd_ymm_xmmm64 VEX_Vpmovzxbq_ymm_xmmm32 EVEX_Vpmovzxbd_zmm_k1z_xmmm128 EVEX_Vpmovzxbq_zmm_k1z_xmmm64;
    StoreTruth: INVALID INVALID EVEX_Vpmovdb_xmmm128_k1z_zmm EVEX_Vpmovqb_xmmm64_k1z_zmm;
    TopBit: VEX_Vpsrld_ymm_ymm_imm8 VEX_Vpsrlq_ymm_ymm_imm8 EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8 EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8;
    Permute: INVALID INVALID EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32 INVALID;
    Load: VEX_Vmovups_ymm_ymmm256 VEX_Vmovups_ymm_ymmm256 EVEX_Vmovdqu32_zmm_k1z_zmmm512 EVEX_Vmovdqu64_zmm_k1z_zmmm512;
    Store: VEX_Vmovups_ymmm256_ymm VEX_Vmovups_ymmm256_ymm EVEX_Vmovdqu32_zmmm512_k1z_zmm EVEX_Vmovdqu64_zmmm512_k1z_zmm;
}

/// The register that counts elements; at first, where they start.
const INDEX: Register = Register::RCX;
/// The register with the end of the elements.
const END: Register = Register::RDX;
/// The register with the addresses of the arrays.
const ARRAYS: Register = Register::RDI;
/// The register with the address of the table.
const TABLE: Register = Register::RSI;
/// The register with the address of an array.
const ARRAY: Register = Register::RAX;
/// The register that counts the lanes of elements of several.
const LANE_INDEX: Register = Register::R8;
/// The mask that comparisons of wide vectors write.
const MASK: Register = Register::K1;

/// The complement of bits, as a table of the bits of three operands.
const NOT: u32 = 0x55;

/// The entry of the array at an index, of `size` bytes, and so many bytes behind it.
fn displaced(index: Register, size: usize, displacement: i64) -> MemoryOperand {
    let n_bytes = u32::from(displacement != 0);
    MemoryOperand::with_base_index_scale_displ_size(
        ARRAY,
        index,
        size as u32,
        displacement,
        n_bytes,
    )
}

/// Encodes instructions one after another.
pub(super) struct Assembler {
    pub(super) target: Target,
    encoder: Encoder,
    n_bytes: u64,
    /// The start of the loop.
    top: u64,
    /// Which vector of a round the instructions are for.
    pub(super) vector: usize,
    /// The array whose address is in [`ARRAY`].
    array: Option<usize>,
    /// How many lanes an element has for which [`LANE_INDEX`] counts.
    stride: Option<usize>,
}

impl Assembler {
    pub(super) fn new(target: Target) -> Self {
        let encoder = Encoder::new(64);
        Self { target, encoder, n_bytes: 0, top: 0, vector: 0, array: None, stride: None }
    }

    /// Begins a function of the addresses of arrays, the table, and the end and the start of a
    /// range of elements, and in it the loop over those. Returns where it begins.
    pub(super) fn start_loop(&mut self) -> usize {
        self.top = self.n_bytes;
        (self.array, self.stride) = (None, None);
        self.top as usize
    }

    /// Ends the loop, which computes so many vectors in a round, and the function.
    pub(super) fn end_loop(&mut self, n_vectors: usize) -> Result<(), IcedError> {
        let n_elements = self.target.lanes() * n_vectors;
        self.put(Instruction::with2(Code::Add_rm64_imm8, INDEX, n_elements as i32)?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, INDEX, END)?)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, self.top)?)?;
        self.put(Instruction::with(Code::VEX_Vzeroupper))?;
        self.put(Instruction::with(Code::Retnq))
    }

    /// The bytes of all functions.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.encoder.take_buffer()
    }

    fn put(&mut self, instruction: Instruction) -> Result<(), IcedError> {
        self.n_bytes += self.encoder.encode(&instruction, self.n_bytes)? as u64;
        Ok(())
    }

    fn register(&self, number: u8) -> Register {
        let first = if self.target.wide { Register::ZMM0 } else { Register::YMM0 };
        first + u32::from(number)
    }

    fn code(&self, vector: Vector) -> Code {
        vector.code(self.target)
    }

    fn line(number: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(TABLE, (number * super::memory::LINE) as i64)
    }

    /// The elements of an array, of `size` bytes each; loads the address of the array first.
    fn elements(&mut self, array: usize, size: usize) -> Result<MemoryOperand, IcedError> {
        if self.array != Some(array) {
            let place = MemoryOperand::with_base_displ(ARRAYS, (array * size_of::<usize>()) as i64);
            self.put(Instruction::with2(Code::Mov_r64_rm64, ARRAY, place)?)?;
            self.array = Some(array);
        }
        let displacement = (self.vector * self.target.lanes() * size) as i64;
        Ok(displaced(INDEX, size, displacement))
    }

    /// The vector of this number among the lanes of elements of several; finds the array first.
    fn part(
        &mut self,
        array: usize,
        stride: usize,
        number: usize,
    ) -> Result<MemoryOperand, IcedError> {
        self.elements(array, self.target.size)?;
        if self.stride != Some(stride) {
            let times = Code::Imul_r64_rm64_imm8;
            self.put(Instruction::with3(times, LANE_INDEX, INDEX, stride as i32)?)?;
            self.stride = Some(stride);
        }
        let displacement = ((self.vector * stride + number) * super::memory::LINE) as i64;
        Ok(displaced(LANE_INDEX, self.target.size, displacement))
    }

    /// Loads the vector of this number of the lanes of elements of several.
    pub(super) fn load_part(
        &mut self,
        out: u8,
        array: usize,
        stride: usize,
        number: usize,
    ) -> Result<(), IcedError> {
        let memory = self.part(array, stride, number)?;
        let (code, out) = (self.code(Vector::Load), self.register(out));
        self.put(Instruction::with2(code, out, memory)?)
    }

    /// Asks for the memory of the elements of a round, of so many bytes each, to write to it.
    pub(super) fn ask_for(
        &mut self,
        array: usize,
        n_bytes: usize,
        n_vectors: usize,
    ) -> Result<(), IcedError> {
        self.vector = 0;
        self.elements(array, 1)?;
        self.put(Instruction::with3(Code::Imul_r64_rm64_imm8, LANE_INDEX, INDEX, n_bytes as i32)?)?;
        self.stride = None;
        let n_lines = (self.target.lanes() * n_vectors * n_bytes).div_ceil(super::memory::LINE);
        for line in 0..n_lines {
            let memory = displaced(LANE_INDEX, 1, (line * super::memory::LINE) as i64);
            self.put(Instruction::with1(Code::Prefetchw_m8, memory)?)?;
        }
        Ok(())
    }

    /// Stores the vector of this number of the lanes of elements of several.
    pub(super) fn store_part(
        &mut self,
        array: usize,
        stride: usize,
        number: usize,
        value: u8,
    ) -> Result<(), IcedError> {
        let memory = self.part(array, stride, number)?;
        let (code, value) = (self.code(Vector::Store), self.register(value));
        self.put(Instruction::with2(code, memory, value)?)
    }

    /// The lanes of `a` and `b` at the places in `out`, into `out`.
    pub(super) fn permute(
        &mut self,
        out: u8,
        places: Place,
        a: u8,
        b: u8,
    ) -> Result<(), IcedError> {
        self.unary(Vector::Load, out, places)?;
        self.binary(Vector::Permute, out, a, Place::Register(b))
    }

    /// An operand at a place; finds the array first if it is in one.
    fn operand(&mut self, place: Place) -> Result<Operand, IcedError> {
        Ok(match place {
            Place::Register(number) => Operand::Register(self.register(number)),
            Place::Line(number) => Operand::Memory(Self::line(number)),
            Place::Array(number) => Operand::Memory(self.elements(number, self.target.size)?),
        })
    }

    pub(super) fn unary(&mut self, vector: Vector, out: u8, a: Place) -> Result<(), IcedError> {
        let (code, out) = (self.code(vector), self.register(out));
        let instruction = with_operand!(self.operand(a)?, |a| Instruction::with2(code, out, a))?;
        self.put(instruction)
    }

    pub(super) fn round(&mut self, how: u32, out: u8, a: Place) -> Result<(), IcedError> {
        let (code, out) = (self.code(Vector::Round), self.register(out));
        let instruction =
            with_operand!(self.operand(a)?, |a| Instruction::with3(code, out, a, how))?;
        self.put(instruction)
    }

    pub(super) fn binary(
        &mut self,
        vector: Vector,
        out: u8,
        a: u8,
        b: Place,
    ) -> Result<(), IcedError> {
        let (code, out, a) = (self.code(vector), self.register(out), self.register(a));
        let instruction = with_operand!(self.operand(b)?, |b| Instruction::with3(code, out, a, b))?;
        self.put(instruction)
    }

    /// The logical function of the bits of `out`, `a` and `b` with this table, into `out`.
    pub(super) fn logic(&mut self, table: u32, out: u8, a: u8, b: Place) -> Result<(), IcedError> {
        let (code, out, a) = (self.code(Vector::Logic), self.register(out), self.register(a));
        let instruction =
            with_operand!(self.operand(b)?, |b| Instruction::with4(code, out, a, b, table))?;
        self.put(instruction)
    }

    /// Compares, into a mask if vectors are wide, else into `out`.
    fn compare(
        &mut self,
        (vector, how): (Vector, u32),
        out: u8,
        a: u8,
        b: Place,
    ) -> Result<(), IcedError> {
        let out = if self.target.wide { MASK } else { self.register(out) };
        let (code, a) = (self.code(vector), self.register(a));
        let instruction =
            with_operand!(self.operand(b)?, |b| Instruction::with4(code, out, a, b, how))?;
        self.put(instruction)
    }

    /// The result of a comparison for each lane: all bits or none.
    pub(super) fn truth(
        &mut self,
        comparison: (Vector, u32),
        out: u8,
        a: u8,
        b: Place,
    ) -> Result<(), IcedError> {
        self.compare(comparison, out, a, b)?;
        if self.target.wide {
            let (code, out) = (self.code(Vector::SpreadMask), self.register(out));
            self.put(Instruction::with2(code, out, MASK)?)?;
        }
        Ok(())
    }

    /// `if a compares so with b { yes } else { no }`; `temporary` is overwritten.
    pub(super) fn choose(
        &mut self,
        comparison: (Vector, u32),
        (a, b): (u8, Place),
        (out, yes, no): (u8, Place, u8),
        temporary: u8,
    ) -> Result<(), IcedError> {
        self.compare(comparison, temporary, a, b)?;
        if !self.target.wide {
            return self.blend(out, temporary, yes, no);
        }
        let (code, out, no) = (self.code(Vector::Blend), self.register(out), self.register(no));
        let mut instruction =
            with_operand!(self.operand(yes)?, |yes| Instruction::with3(code, out, no, yes))?;
        instruction.set_op_mask(MASK);
        self.put(instruction)
    }

    /// `if a compares so with b { value } else { 0 }`; `temporary` is overwritten.
    pub(super) fn keep_if(
        &mut self,
        comparison: (Vector, u32),
        (a, b): (u8, Place),
        (out, value): (u8, u8),
        temporary: u8,
    ) -> Result<(), IcedError> {
        self.compare(comparison, temporary, a, b)?;
        if !self.target.wide {
            return self.binary(Vector::And, out, value, Place::Register(temporary));
        }
        let (out, value) = (self.register(out), self.register(value));
        let mut instruction = Instruction::with2(self.code(Vector::Load), out, value)?;
        instruction.set_op_mask(MASK);
        instruction.set_zeroing_masking(true);
        self.put(instruction)
    }

    /// `a` truncated to a whole number if it compares so with `b`, else 0; `temporary` is
    /// overwritten.
    pub(super) fn truncate(
        &mut self,
        comparison: (Vector, u32),
        (a, b): (u8, Place),
        out: u8,
        temporary: u8,
    ) -> Result<(), IcedError> {
        if !self.target.wide {
            self.unary(Vector::ToWhole, out, Place::Register(a))?;
            return self.keep_if(comparison, (a, b), (out, out), temporary);
        }
        self.compare(comparison, temporary, a, b)?;
        let (code, a) = (self.code(Vector::ToWhole), self.register(a));
        let mut instruction = Instruction::with2(code, self.register(out), a)?;
        instruction.set_op_mask(MASK);
        instruction.set_zeroing_masking(true);
        self.put(instruction)
    }

    /// The complement of `out` if `a` compares so with `b`; `temporary` is overwritten.
    pub(super) fn complement_if(
        &mut self,
        comparison: (Vector, u32),
        (a, b): (u8, Place),
        out: u8,
        temporary: u8,
    ) -> Result<(), IcedError> {
        self.compare(comparison, temporary, a, b)?;
        if !self.target.wide {
            return self.binary(Vector::Xor, out, out, Place::Register(temporary));
        }
        let (code, out) = (self.code(Vector::Logic), self.register(out));
        let mut instruction = Instruction::with4(code, out, out, out, NOT)?;
        instruction.set_op_mask(MASK);
        self.put(instruction)
    }

    /// `if condition { yes } else { no }` in narrow vectors.
    pub(super) fn blend(
        &mut self,
        out: u8,
        condition: u8,
        yes: Place,
        no: u8,
    ) -> Result<(), IcedError> {
        let code = self.code(Vector::Blend);
        let [out, condition, no] = [out, condition, no].map(|number| self.register(number));
        let instruction = with_operand!(self.operand(yes)?, |yes| Instruction::with4(
            code, out, no, yes, condition
        ))?;
        self.put(instruction)
    }

    /// Shifts by this many bits.
    pub(super) fn shift(
        &mut self,
        vector: Vector,
        out: u8,
        a: u8,
        n_bits: u32,
    ) -> Result<(), IcedError> {
        let is_long = self.target.size == 8;
        let code = match (vector, self.target.wide, is_long) {
            (Vector::ShiftLeft, false, false) => Code::VEX_Vpslld_ymm_ymm_imm8,
            (Vector::ShiftLeft, false, true) => Code::VEX_Vpsllq_ymm_ymm_imm8,
            (Vector::ShiftLeft, true, false) => Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
            (Vector::ShiftLeft, true, true) => Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
            (Vector::ShiftRight, false, _) => Code::VEX_Vpsrad_ymm_ymm_imm8,
            (Vector::ShiftRight, true, false) => Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
            (Vector::ShiftRight, true, true) => Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8,
            _ => self.code(Vector::TopBit),
        };
        let [out, a] = [out, a].map(|number| self.register(number));
        self.put(Instruction::with3(code, out, a, n_bits)?)
    }

    /// Stores a vector in a line of the table.
    pub(super) fn spill(&mut self, line: usize, value: u8) -> Result<(), IcedError> {
        let (code, value) = (self.code(Vector::Store), self.register(value));
        self.put(Instruction::with2(code, Self::line(line), value)?)
    }

    /// Stores a vector in an array.
    pub(super) fn store(&mut self, array: usize, value: u8) -> Result<(), IcedError> {
        let memory = self.elements(array, self.target.size)?;
        let (code, value) = (self.code(Vector::Store), self.register(value));
        self.put(Instruction::with2(code, memory, value)?)
    }

    /// Loads truth values of a byte each from an array, with all bits set or none.
    pub(super) fn load_truth(
        &mut self,
        out: u8,
        array: usize,
        ones: Place,
    ) -> Result<(), IcedError> {
        let memory = self.elements(array, 1)?;
        let code = self.code(Vector::LoadTruth);
        self.put(Instruction::with2(code, self.register(out), memory)?)?;
        // 0 - 1 or 1 - 1, where all bits set is -1, and vice versa.
        self.binary(Vector::AddWhole, out, out, ones)?;
        self.binary(Vector::Xor, out, out, ones)
    }

    /// Stores truth values as bytes of 0 or 1; the temporaries are overwritten.
    pub(super) fn store_truth(
        &mut self,
        array: usize,
        value: u8,
        [bits, upper]: [u8; 2],
    ) -> Result<(), IcedError> {
        let size = self.target.size;
        self.shift(Vector::TopBit, bits, value, size as u32 * 8 - 1)?;
        let memory = self.elements(array, 1)?;
        if self.target.wide {
            let code = self.code(Vector::StoreTruth);
            return self.put(Instruction::with2(code, memory, self.register(bits))?);
        }
        let [low, high] = [bits, upper].map(|number| Register::XMM0 + u32::from(number));
        let code = Code::VEX_Vextracti128_xmmm128_ymm_imm8;
        self.put(Instruction::with3(code, high, self.register(bits), 1)?)?;
        let halve = Code::VEX_Vpackusdw_xmm_xmm_xmmm128;
        self.put(Instruction::with3(halve, low, low, high)?)?;
        if size == 8 {
            self.put(Instruction::with3(halve, low, low, low)?)?;
        }
        self.put(Instruction::with3(Code::VEX_Vpackuswb_xmm_xmm_xmmm128, low, low, low)?)?;
        let code = if size == 8 { Code::VEX_Vmovd_rm32_xmm } else { Code::VEX_Vmovq_xmmm64_xmm };
        self.put(Instruction::with2(code, memory, low)?)
    }
}
