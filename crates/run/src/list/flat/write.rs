//! Writes the program of a list: registers first, then block by block what fills them.

use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, Lane, Need, Type, Value};
use millstream_form::{Form, Line, Op, ready_lines};
use millstream_ir::graph::{ConstId, InputId, InstanceId};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_node::{Data, Instance, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Arm, Flat, NO_BLOCK, Piece, Start};
use crate::fuse::width;
use crate::list::blocks::{BlockOf, Blocks};
use crate::uses::{Use, uses};

/// Forms with more instructions are called instead of written out.
const WRITTEN_OUT: usize = 32;

/// No register yet.
const NOWHERE: u32 = u32::MAX;

/// The program of a list; `None` if a step does more than compute with numbers.
pub(super) fn write(plan: &Plan, blocks: &Blocks, outputs: &[usize]) -> Option<Flat> {
    let mut writer = Writer::new(plan, blocks);
    if !blocks.steps.iter().all(|step| writer.is_plain(*step)) {
        return None;
    }
    // Arms and shared steps stand in blocks behind those that read them, so all registers of
    // results are handed out first.
    for step in &blocks.steps {
        writer.reserve(*step);
    }
    writer.number_roots();
    writer.start(0);
    for (i, step) in blocks.steps.iter().enumerate() {
        // Roots stand last in their blocks.
        if i == blocks.n_main || (i > blocks.n_main && writer.is_root(blocks.steps[i - 1])) {
            writer.push(Piece::End);
            writer.start(i);
        }
        writer.step(*step)?;
    }
    writer.push(Piece::End);
    for output in outputs {
        let output_of_plan = &plan.outputs[*output];
        width_of(output_of_plan.ty)?;
        let first = writer.source(output_of_plan.source)?;
        writer.flat.outputs.push((*output, first));
    }
    Some(writer.flat)
}

/// Lanes of a value; `None` if it is not made of lanes.
fn width_of(ty: Type) -> Option<usize> {
    ty.lanes().map(|(_, n)| n as usize)
}

struct Writer<'a> {
    plan: &'a Plan,
    blocks: &'a Blocks,
    flat: Flat,
    /// The first register of each step.
    first: Vec<u32>,
    inputs: SideTable<InputId, u32>,
    constants: SideTable<ConstId, u32>,
    bits: FxHashMap<u64, u32>,
    /// Registers of values that nobody reads behind their form.
    temporary: Vec<u32>,
    /// For each instance whether its calls can be written.
    plain: SideTable<InstanceId, bool>,
    /// The number of each root's block.
    numbers: FxHashMap<StepId, u32>,
    /// The number of the block in which each block was called last.
    called_in: Vec<u32>,
    /// Lines that stand in pieces.
    n_in_pieces: u32,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a Plan, blocks: &'a Blocks) -> Self {
        let flat = Flat {
            lines: Vec::with_capacity(blocks.steps.len()),
            pieces: Vec::new(),
            arms: Vec::new(),
            params: Vec::new(),
            starts: Vec::new(),
            image: Vec::new(),
            inputs: Vec::new(),
            features: Vec::new(),
            outputs: Vec::new(),
            idle: std::sync::Mutex::default(),
        };
        let plain = plan.instances.as_slice().iter().map(|instance| is_plain(instance)).collect();
        Self {
            plan,
            blocks,
            flat,
            first: vec![NOWHERE; plan.steps.len()],
            inputs: SideTable::new(plan.inputs.len(), NOWHERE),
            constants: SideTable::new(plan.constants.len(), NOWHERE),
            bits: FxHashMap::default(),
            temporary: Vec::new(),
            plain: SideTable::from_vec(plain),
            numbers: FxHashMap::default(),
            called_in: Vec::new(),
            n_in_pieces: 0,
        }
    }

    fn instance(&self, step: StepId) -> (InstanceId, &'a Instance) {
        match self.plan.steps[step].op {
            StepOp::Call(id) => (id, &self.plan.instances[id]),
            StepOp::Const(_) | StepOp::Input(_) => panic!("lists hold calls"),
        }
    }

    fn is_plain(&self, step: StepId) -> bool {
        self.plain[self.instance(step).0]
    }

    fn is_root(&self, step: StepId) -> bool {
        self.blocks.block_of(step) == BlockOf::Root(step)
    }

    fn registers(&mut self, n: usize) -> u32 {
        let first = self.flat.image.len() as u32;
        self.flat.image.resize(self.flat.image.len() + n, 0);
        first
    }

    fn reserve(&mut self, step: StepId) {
        let (_, instance) = self.instance(step);
        let n = instance.outputs.iter().map(|output| width(output.ty)).sum();
        self.first[step.index()] = self.registers(n);
    }

    /// Numbers the blocks in the order of the list, the main block being 0.
    fn number_roots(&mut self) {
        for step in &self.blocks.steps {
            if self.is_root(*step) {
                let number = self.numbers.len() as u32 + 1;
                self.numbers.insert(*step, number);
            }
        }
        self.called_in = vec![NO_BLOCK; self.numbers.len() + 1];
    }

    /// Starts a block with this step of the list.
    fn start(&mut self, step: usize) {
        self.flat.starts.push(Start {
            piece: self.flat.pieces.len() as u32,
            line: self.flat.lines.len() as u32,
            first_step: step as u32,
        });
    }

    /// Appends a piece behind the lines written before.
    fn push(&mut self, piece: Piece) {
        let end = self.flat.lines.len() as u32;
        if self.n_in_pieces < end {
            self.n_in_pieces = end;
            self.flat.pieces.push(Piece::Lines { end });
        }
        self.flat.pieces.push(piece);
    }

    /// The first register of a source.
    fn source(&mut self, source: StepSource) -> Option<u32> {
        match self.plan.steps[source.step].op {
            StepOp::Call(id) => {
                let outputs = &self.plan.instances[id].outputs[..source.output as usize];
                let before: usize = outputs.iter().map(|output| width(output.ty)).sum();
                Some(self.first[source.step.index()] + before as u32)
            }
            StepOp::Input(id) => {
                if self.inputs[id] == NOWHERE {
                    let n = width_of(self.plan.inputs[id].ty)?;
                    self.inputs[id] = self.registers(n);
                    self.flat.inputs.push((id, self.inputs[id]));
                }
                Some(self.inputs[id])
            }
            StepOp::Const(id) => {
                if self.constants[id] == NOWHERE {
                    let Data::One(value) = &self.plan.constants[id] else { return None };
                    let n = width_of(value.ty())?;
                    self.constants[id] = self.registers(n);
                    let lanes = (0..n).filter_map(|i| value.lane(i));
                    let at = self.constants[id] as usize;
                    for (reg, bits) in self.flat.image[at..].iter_mut().zip(lanes) {
                        *reg = bits;
                    }
                }
                Some(self.constants[id])
            }
        }
    }

    fn constant(&mut self, bits: u64) -> u32 {
        if let Some(reg) = self.bits.get(&bits) {
            return *reg;
        }
        let reg = self.registers(1);
        self.flat.image[reg as usize] = bits;
        self.bits.insert(bits, reg);
        reg
    }

    /// A copy: what a true condition selects.
    fn copy(&mut self, from: u32, to: u32, lane: Lane) {
        let yes = self.constant(1);
        let copy = Line::new(Op::Select, lane, lane, to, [yes, from, from]);
        self.flat.lines.push(copy.ready());
    }

    /// Writes the call of the block of a source that is not in the block of its reader.
    fn call(&mut self, reader: StepId, source: StepSource) {
        let Some(number) = self.block_to_call(reader, source) else { return };
        let now = self.flat.starts.len() as u32 - 1;
        if std::mem::replace(&mut self.called_in[number as usize], now) != now {
            self.push(Piece::Call { block: number });
        }
    }

    fn block_to_call(&self, reader: StepId, source: StepSource) -> Option<u32> {
        let is_elsewhere = matches!(self.plan.steps[source.step].op, StepOp::Call(_))
            && self.blocks.block_of(source.step) != self.blocks.block_of(reader);
        is_elsewhere.then(|| self.numbers.get(&source.step).copied()).flatten()
    }

    fn step(&mut self, step: StepId) -> Option<()> {
        let plan = self.plan;
        let (id, instance) = self.instance(step);
        let sources = plan.inputs_of(&plan.steps[step]);
        for (source, kind) in uses(plan, &plan.steps[step]) {
            if kind == Use::Strict {
                self.call(step, source);
            }
        }
        let out = self.first[step.index()];
        match &instance.kernel {
            Kernel::Form(form) => {
                let mut params: SmallVec<[u32; 16]> = SmallVec::new();
                for (source, input) in sources.iter().zip(&instance.inputs) {
                    let first = self.source(*source)?;
                    params.extend(first..first + width(input.ty) as u32);
                }
                if form.insts.len() - params.len() > WRITTEN_OUT {
                    let first = self.flat.params.len() as u32;
                    self.flat.params.extend_from_slice(&params);
                    self.push(Piece::Form { instance: id, first, out });
                } else {
                    self.write_out(form, &params, out);
                }
            }
            Kernel::Read { feature, level, aspect } => self.read(feature, *level, *aspect, out)?,
            Kernel::Pass => {
                let from = self.source(sources[0])?;
                let (lane, n) = instance.outputs[0].ty.lanes()?;
                for i in 0..u32::from(n) {
                    self.copy(from + i, out + i, lane);
                }
            }
            Kernel::Choose => {
                let selector = self.source(sources[0])?;
                let first_arm = self.flat.arms.len() as u32;
                for source in &sources[1..] {
                    let block = self.block_to_call(step, *source).unwrap_or(NO_BLOCK);
                    let first = self.source(*source)?;
                    self.flat.arms.push(Arm { block, first });
                }
                self.push(Piece::Choose {
                    selector,
                    is_bool: instance.inputs[0].ty == Type::BOOL,
                    first_arm,
                    n_arms: sources.len() as u16 - 1,
                    out,
                    width: width(instance.outputs[0].ty) as u8,
                });
            }
            Kernel::Function(_) | Kernel::Kept(_) => return None,
        }
        Some(())
    }

    /// The feature that a step reads; without axes the extent of each is 1.
    fn read(&mut self, feature: &Feature, level: u32, aspect: Aspect, out: u32) -> Option<()> {
        match aspect {
            Aspect::Extent => {
                let one = Value::I32(1).lane(0)?;
                let from = self.constant(one);
                self.copy(from, out, Lane::I32);
            }
            Aspect::Value => {
                let need = Need { feature: feature.clone(), level, aspect };
                let bit = self.plan.needs.find(&need)?;
                self.flat.features.push((bit, out));
            }
        }
        Some(())
    }

    /// The instructions of a form as lines.
    fn write_out(&mut self, form: &Form, params: &[u32], out: u32) {
        let mut at: SmallVec<[u32; 64]> = SmallVec::new();
        let mut lines: SmallVec<[Line; 8]> = SmallVec::new();
        let mut n_temporary = 0;
        for (reg, inst) in form.insts.iter() {
            let to = match inst.op {
                Op::Const(bits) => self.constant(bits),
                Op::Param(number) => params[number as usize],
                op => {
                    let to = match form.results.iter().position(|result| *result == reg) {
                        Some(k) => out + k as u32,
                        None => {
                            n_temporary += 1;
                            self.temporary(n_temporary - 1)
                        }
                    };
                    let mut args = [0; 3];
                    for (arg, reg) in args.iter_mut().zip(inst.args()) {
                        *arg = at[reg.index()];
                    }
                    lines.push(Line::new(op, inst.of, inst.lane, to, args));
                    to
                }
            };
            at.push(to);
        }
        // Behind the form only its results are read.
        let results = out..out + form.results.len() as u32;
        ready_lines(&lines, |reg| results.contains(&reg), &mut self.flat.lines);
        // Results that are parameters or constants, or stand twice.
        for (k, result) in form.results.iter().enumerate() {
            let (from, to) = (at[result.index()], out + k as u32);
            if from != to {
                self.copy(from, to, form.insts[*result].lane);
            }
        }
    }

    fn temporary(&mut self, k: usize) -> u32 {
        if k == self.temporary.len() {
            let reg = self.registers(1);
            self.temporary.push(reg);
        }
        self.temporary[k]
    }
}

/// Whether calls of an instance compute numbers from numbers in one context.
fn is_plain(instance: &Instance) -> bool {
    let of_lanes = instance.inputs.iter().all(|input| input.ty.lanes().is_some())
        && instance.outputs.iter().all(|output| output.ty.lanes().is_some());
    let kernel = match &instance.kernel {
        Kernel::Form(_) => instance.plain_form().is_some(),
        Kernel::Choose => u16::try_from(instance.inputs.len()).is_ok(),
        Kernel::Read { .. } | Kernel::Pass => true,
        Kernel::Function(_) | Kernel::Kept(_) => false,
    };
    of_lanes && kernel && !instance.has_scopes()
}
