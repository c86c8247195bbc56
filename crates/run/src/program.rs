//! Plans that compute numbers as programs on single values.
//!
//! The steps of a list ([`Blocks`]) become a [`Program`]: steps that run together are fused into
//! one form and written out as lines; steps that only a choice needs, or several blocks, form a
//! block of their own. Lists run such programs when a request has no axes, prepared programs when
//! there is only one cell.

use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, Need, Type, Value};
use millstream_form::{Arm, NO_BLOCK, Program, ProgramWriter, Registers};
use millstream_ir::graph::{ConstId, InputId};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::Bound;
use millstream_node::{Data, Instance, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::blocks::{BlockOf, Blocks};
use crate::fuse::{Member, fuse, width};
use crate::uses::{Use, uses};

/// If all forms together have more instructions, those with more than [`SHORT`] are called instead
/// of written out.
const WRITTEN_OUT: usize = 1 << 16;

const SHORT: usize = 32;

/// In lists with more steps each step is written separately, as fusing would take longer than it
/// saves.
const FUSED: usize = 1 << 12;

/// Maximal number of arms among which a choice selects; among more, looking one up is faster.
const SELECTED: usize = 3;

/// Maximal number of instructions of an arm that is computed whether or not it is taken, if runs
/// are not counted.
const UNGUARDED: usize = 24;

/// No register yet.
const NOWHERE: u32 = u32::MAX;

/// A plan as a program.
#[derive(Debug)]
pub(crate) struct PlanProgram {
    pub(crate) program: Program,
    /// The first register of each input that is read.
    pub(crate) inputs: Vec<(InputId, u32)>,
    /// The first register of each feature that is read, by the bit of the need.
    features: Vec<(u32, u32)>,
    /// The outputs by position in the plan, with their first registers.
    pub(crate) outputs: Vec<(usize, u32)>,
    /// Where the steps of each block begin in the list.
    pub(crate) first_steps: Vec<u32>,
}

impl PlanProgram {
    /// The program of a list; `None` if a step does more than compute with numbers.
    pub(crate) fn of_list(plan: &Plan, blocks: &Blocks, outputs: &[usize]) -> Option<Self> {
        Writer::new(plan, blocks, &|_| false)?.write(outputs)
    }

    /// The program for some outputs if only the values count, not the runs: cheap arms are computed
    /// whether or not they are taken.
    pub(crate) fn of_values(plan: &Plan, outputs: &[usize]) -> Option<Self> {
        let selects = selects(plan, &Blocks::new(plan, outputs));
        let selects = |step: StepId| selects[step.index()];
        let blocks = Blocks::selecting(plan, outputs, &selects);
        Writer::new(plan, &blocks, &selects)?.write(outputs)
    }

    /// Sets the registers of inputs and features from a request, which has one cell.
    pub(crate) fn give(&self, registers: &mut Registers, bound: &Bound) {
        for (input, first) in &self.inputs {
            set(registers, *first, &bound.inputs[input.index()].data);
        }
        for (bit, first) in &self.features {
            let given = bound.features[*bit as usize].as_ref();
            let given = given.expect("a request provides what its outputs need");
            set(registers, *first, &given.data);
        }
    }
}

fn set(registers: &mut Registers, first: u32, data: &Data) {
    let mut write = |value: &Value| {
        let lanes = (0..).map_while(|i| value.lane(i));
        registers.from_mut(first).iter_mut().zip(lanes).for_each(|(to, bits)| *to = bits);
    };
    match data {
        Data::One(value) => write(value),
        Data::Many(column) => write(&column.get(0)),
    }
}

/// For each step whether it is a choice that selects among arms that are all computed.
fn selects(plan: &Plan, blocks: &Blocks) -> Vec<bool> {
    let mut selects = vec![false; plan.steps.len()];
    let mut costs: FxHashMap<StepId, usize> = FxHashMap::default();
    let (main, others) = blocks.steps.split_at(blocks.n_main);
    let mut cost = 0;
    // Blocks are in the order of their roots, so those of arms come before those of their choices.
    for step in others.iter().chain(main) {
        let StepOp::Call(id) = plan.steps[*step].op else { continue };
        let instance = &plan.instances[id];
        cost += instance.plain_form().map_or(1, |form| form.insts.len());
        if instance.is_lane_choice() && instance.inputs.len() <= SELECTED + 1 {
            let arms = uses(plan, &plan.steps[*step]).into_iter();
            let arms = arms.filter(|(_, kind)| *kind == Use::Arm);
            let of_arms: usize = arms.filter_map(|(arm, _)| costs.get(&arm.step)).copied().sum();
            selects[step.index()] = of_arms <= UNGUARDED;
            cost += if of_arms <= UNGUARDED { of_arms } else { 0 };
        }
        if blocks.block_of(*step) == BlockOf::Root(*step) {
            costs.insert(*step, std::mem::take(&mut cost));
        }
    }
    selects
}

struct Writer<'a> {
    plan: &'a Plan,
    blocks: &'a Blocks,
    /// Whether a choice computes all its arms.
    selects: &'a dyn Fn(StepId) -> bool,
    program: ProgramWriter,
    inputs: Vec<(InputId, u32)>,
    features: Vec<(u32, u32)>,
    /// The first register of each step, of each input and of each constant.
    first: Vec<u32>,
    first_of_inputs: SideTable<InputId, u32>,
    first_of_constants: SideTable<ConstId, u32>,
    /// For each step the number of the part that it is fused into.
    part: Vec<u32>,
    /// For each step the outputs that are read outside its part.
    read: Vec<u64>,
    /// The number of the block of each root.
    numbers: FxHashMap<StepId, u32>,
    is_fused: bool,
    /// Forms with more instructions are called.
    longest: usize,
}

impl<'a> Writer<'a> {
    /// `None` if a step does more than compute with numbers.
    fn new(
        plan: &'a Plan,
        blocks: &'a Blocks,
        selects: &'a dyn Fn(StepId) -> bool,
    ) -> Option<Self> {
        let plain = plan.instances.as_slice().iter().map(|instance| is_plain(instance));
        let plain: Vec<bool> = plain.collect();
        let mut n_instructions = 0;
        for step in &blocks.steps {
            let StepOp::Call(id) = plan.steps[*step].op else { return None };
            if !plain[id.index()] {
                return None;
            }
            n_instructions += plan.instances[id].plain_form().map_or(0, |form| form.insts.len());
        }
        Some(Self {
            plan,
            blocks,
            selects,
            program: ProgramWriter::default(),
            inputs: Vec::new(),
            features: Vec::new(),
            first: vec![NOWHERE; plan.steps.len()],
            first_of_inputs: SideTable::new(plan.inputs.len(), NOWHERE),
            first_of_constants: SideTable::new(plan.constants.len(), NOWHERE),
            part: vec![NOWHERE; plan.steps.len()],
            read: vec![0; plan.steps.len()],
            numbers: FxHashMap::default(),
            is_fused: blocks.steps.len() <= FUSED,
            longest: if n_instructions <= WRITTEN_OUT { usize::MAX } else { SHORT },
        })
    }

    fn write(mut self, outputs: &[usize]) -> Option<PlanProgram> {
        let plan = self.plan;
        let ranges = self.ranges();
        self.find_parts(&ranges);
        for output in outputs {
            self.mark_read(plan.outputs[*output].source);
        }
        // Blocks come after their callers, so all registers are assigned first.
        for step in &self.blocks.steps {
            self.reserve(*step)?;
        }
        for range in &ranges {
            self.block(&self.blocks.steps[range.clone()])?;
        }
        let mut results = Vec::with_capacity(outputs.len());
        for output in outputs {
            width_of(plan.outputs[*output].ty)?;
            results.push((*output, self.source(plan.outputs[*output].source)?));
        }
        Some(PlanProgram {
            program: self.program.finish(),
            inputs: self.inputs,
            features: self.features,
            outputs: results,
            first_steps: ranges.iter().map(|range| range.start as u32).collect(),
        })
    }

    /// The steps of each block, the main block first, and the numbers of the others.
    fn ranges(&mut self) -> Vec<std::ops::Range<usize>> {
        let (blocks, n_main) = (self.blocks, self.blocks.n_main);
        let mut ranges: Vec<_> = std::iter::once(0..n_main).collect();
        let mut start = n_main;
        for (i, step) in blocks.steps.iter().enumerate().skip(n_main) {
            // Roots are last in their blocks.
            if blocks.block_of(*step) == BlockOf::Root(*step) {
                self.numbers.insert(*step, ranges.len() as u32);
                ranges.push(start..i + 1);
                start = i + 1;
            }
        }
        ranges
    }

    /// Numbers the parts that are fused, and marks what each reads from others.
    fn find_parts(&mut self, ranges: &[std::ops::Range<usize>]) {
        let blocks = self.blocks;
        let mut part = 0;
        for range in ranges {
            part += 1;
            for step in &blocks.steps[range.clone()] {
                if matches!(self.instance(*step).kernel, Kernel::Read { .. }) {
                    continue;
                }
                let is_member = self.is_member(*step);
                // A step that is not a member is a part of its own.
                part += u32::from(!is_member || !self.is_fused);
                self.part[step.index()] = part;
                part += u32::from(!is_member);
            }
        }
        for step in &blocks.steps {
            for source in self.plan.inputs_of(&self.plan.steps[*step]) {
                if self.part[source.step.index()] != self.part[step.index()] {
                    self.mark_read(*source);
                }
            }
        }
    }

    fn mark_read(&mut self, source: StepSource) {
        self.read[source.step.index()] |= 1 << source.output.min(63);
    }

    fn instance(&self, step: StepId) -> &'a Instance {
        match self.plan.steps[step].op {
            StepOp::Call(id) => &self.plan.instances[id],
            StepOp::Const(_) | StepOp::Input(_) => panic!("lists hold calls"),
        }
    }

    /// Whether a step is fused with its neighbors: forms that are written out, and choices that
    /// need no block.
    fn is_member(&self, step: StepId) -> bool {
        let instance = self.instance(step);
        if let Some(form) = instance.plain_form() {
            return form.insts.len() <= self.longest;
        }
        let needs_no_block = |step: StepId| {
            let arms = self.plan.inputs_of(&self.plan.steps[step]).iter().skip(1);
            arms.clone().count() <= SELECTED
                && arms.clone().all(|arm| self.block_to_call(step, *arm).is_none())
        };
        self.is_fused && instance.is_lane_choice() && ((self.selects)(step) || needs_no_block(step))
    }

    /// Assigns registers to the results of a step that are read elsewhere.
    fn reserve(&mut self, step: StepId) -> Option<()> {
        let instance = self.instance(step);
        let n = instance.outputs.iter().map(|output| width(output.ty)).sum();
        if let Kernel::Read { feature, level, aspect } = &instance.kernel {
            // Without axes the extent of each is 1.
            let (first, feature) = (self.program.filled([1]), feature.clone());
            self.first[step.index()] = first;
            self.program.registers(n - 1);
            if *aspect == Aspect::Value {
                let need =
                    Need { feature: Feature::clone(&feature), level: *level, aspect: *aspect };
                self.features.push((self.plan.needs.find(&need)?, first));
            }
        } else if self.read[step.index()] != 0 || !self.is_member(step) {
            self.first[step.index()] = self.program.registers(n);
        }
        Some(())
    }

    /// The first register of a source.
    fn source(&mut self, source: StepSource) -> Option<u32> {
        let plan = self.plan;
        match plan.steps[source.step].op {
            StepOp::Call(id) => {
                let outputs = &plan.instances[id].outputs[..source.output as usize];
                let before: usize = outputs.iter().map(|output| width(output.ty)).sum();
                Some(self.first[source.step.index()] + before as u32)
            }
            StepOp::Input(id) => {
                if self.first_of_inputs[id] == NOWHERE {
                    let n = width_of(plan.inputs[id].ty)?;
                    self.first_of_inputs[id] = self.program.registers(n);
                    self.inputs.push((id, self.first_of_inputs[id]));
                }
                Some(self.first_of_inputs[id])
            }
            StepOp::Const(id) => {
                if self.first_of_constants[id] == NOWHERE {
                    let Data::One(value) = &plan.constants[id] else { return None };
                    let n = width_of(value.ty())?;
                    let lanes = (0..n).filter_map(|i| value.lane(i));
                    self.first_of_constants[id] = self.program.filled(lanes);
                }
                Some(self.first_of_constants[id])
            }
        }
    }

    /// The block of a source that is in another block than its reader.
    fn block_to_call(&self, reader: StepId, source: StepSource) -> Option<u32> {
        let is_elsewhere = matches!(self.plan.steps[source.step].op, StepOp::Call(_))
            && self.blocks.block_of(source.step) != self.blocks.block_of(reader);
        is_elsewhere.then(|| self.numbers.get(&source.step).copied()).flatten()
    }

    /// Writes a block: calls of the blocks that its steps read in any case, then the steps.
    fn block(&mut self, steps: &[StepId]) -> Option<()> {
        self.program.begin();
        let mut called: SmallVec<[u32; 8]> = SmallVec::new();
        for step in steps {
            for (source, kind) in uses(self.plan, &self.plan.steps[*step]) {
                let is_asked = kind == Use::Strict || (self.selects)(*step);
                let block = self.block_to_call(*step, source).filter(|_| is_asked);
                called.extend(block);
            }
        }
        called.sort_unstable();
        called.dedup();
        called.into_iter().for_each(|block| self.program.call(block));
        // Features are in their registers already.
        let is_read = |step: &StepId| matches!(self.instance(*step).kernel, Kernel::Read { .. });
        let steps: Vec<StepId> = steps.iter().copied().filter(|step| !is_read(step)).collect();
        let part = |step: &StepId| self.part[step.index()];
        let parts: Vec<&[StepId]> = steps.chunk_by(|a, b| part(a) == part(b)).collect();
        for steps in parts {
            match steps {
                [step] if !self.is_member(*step) => self.alone(*step)?,
                [step] if !self.is_fused => self.form(*step)?,
                _ => self.fused(steps)?,
            }
        }
        self.program.end();
        Some(())
    }

    /// Writes steps that are fused.
    fn fused(&mut self, steps: &[StepId]) -> Option<()> {
        let members: Vec<Member> = steps.iter().map(|step| Member::whole(*step)).collect();
        let is_read =
            |step: StepId, output: u32| self.read[step.index()] >> output.min(63) & 1 != 0;
        let fused = fuse(self.plan, &members, is_read);
        let mut params = Vec::with_capacity(fused.form.params.len());
        for source in &fused.inputs {
            let ty = self.type_of(*source);
            let first = self.source(*source)?;
            params.extend(first..first + width(ty) as u32);
        }
        let mut results = Vec::with_capacity(fused.form.results.len());
        for output in &fused.outputs {
            let step = steps[output.member as usize];
            let first = self.source(StepSource { step, output: output.output })?;
            results.extend(first..first + width(output.ty) as u32);
        }
        self.program.form(&fused.form, &params, &results);
        Some(())
    }

    fn type_of(&self, source: StepSource) -> Type {
        match self.plan.steps[source.step].op {
            StepOp::Call(id) => self.plan.instances[id].outputs[source.output as usize].ty,
            StepOp::Input(id) => self.plan.inputs[id].ty,
            StepOp::Const(id) => self.plan.constants[id].ty(),
        }
    }

    /// The registers of everything that a step reads.
    fn params(&mut self, step: StepId) -> Option<SmallVec<[u32; 16]>> {
        let (plan, instance) = (self.plan, self.instance(step));
        let mut params = SmallVec::new();
        for (source, input) in plan.inputs_of(&plan.steps[step]).iter().zip(&instance.inputs) {
            let first = self.source(*source)?;
            params.extend(first..first + width(input.ty) as u32);
        }
        Some(params)
    }

    /// Writes a step with a form unchanged.
    fn form(&mut self, step: StepId) -> Option<()> {
        let params = self.params(step)?;
        let first = self.first[step.index()];
        let form = self.instance(step).plain_form()?;
        let results: SmallVec<[u32; 16]> = (first..first + form.results.len() as u32).collect();
        self.program.form(form, &params, &results);
        Some(())
    }

    /// Writes a step that is not fused.
    fn alone(&mut self, step: StepId) -> Option<()> {
        let (plan, instance) = (self.plan, self.instance(step));
        let out = self.first[step.index()];
        let sources = plan.inputs_of(&plan.steps[step]);
        match &instance.kernel {
            Kernel::Form(form) => {
                let params = self.params(step)?;
                self.program.call_form(form, &params, out);
            }
            Kernel::Pass => {
                let from = self.source(sources[0])?;
                let (lane, n) = instance.outputs[0].ty.lanes()?;
                (0..u32::from(n)).for_each(|i| self.program.copy(from + i, out + i, lane));
            }
            Kernel::Choose => {
                let selector = self.source(sources[0])?;
                let (lane, width) = instance.outputs[0].ty.lanes()?;
                let mut arms: SmallVec<[Arm; 8]> = SmallVec::new();
                for source in &sources[1..] {
                    let block = self.block_to_call(step, *source).unwrap_or(NO_BLOCK);
                    arms.push(Arm { block, first: self.source(*source)? });
                }
                self.program.choose(selector, &arms, lane, (out, width));
            }
            Kernel::Read { .. } | Kernel::Function(_) | Kernel::ReadState(_) => return None,
        }
        Some(())
    }
}

/// Number of lanes of a value; `None` if it is not made of lanes.
fn width_of(ty: Type) -> Option<usize> {
    ty.lanes().map(|(_, n)| n as usize)
}

/// Whether calls of an instance compute numbers from numbers in one context.
pub(crate) fn is_plain(instance: &Instance) -> bool {
    let of_lanes = instance.inputs.iter().all(|input| input.ty.lanes().is_some())
        && instance.outputs.iter().all(|output| output.ty.lanes().is_some());
    let kernel = match &instance.kernel {
        Kernel::Form(_) => instance.plain_form().is_some(),
        Kernel::Choose => u16::try_from(instance.inputs.len()).is_ok(),
        Kernel::Read { .. } | Kernel::Pass => true,
        Kernel::Function(_) | Kernel::ReadState(_) => false,
    };
    of_lanes && kernel && !instance.has_scopes()
}
