//! Plans a call: the instructions that run for each chunk, those that run once, and their buffers.
//!
//! A plan holds for all calls of a form with inputs and outputs of the same layout, whatever their
//! values, and is kept for the next such call.

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use millstream_base::width::Width;

use super::ends::{LaneInput, LaneOutput, input_bits};
use super::fuse::{self, Task};
use super::layout::{Direct, Home, NONE, Place, Sink, Source, sink_of, source_of};
use crate::inst::{Form, Inst, Reg};
use crate::interpret::eval_op;
use crate::native::{Code, Stretch, Target};
use crate::op::Op;

/// Elements computed at a time, so that a few registers fit the first-level cache.
const CHUNK: usize = 1024;

/// Elements computed at a time where the buffers are few, so that the start of each loop counts
/// less.
pub(super) const LONG_CHUNK: usize = 2048;

/// Elements computed at a time at least, so that the calls of loops do not count.
const SHORT_CHUNK: usize = 256;

/// Bytes that stay in a first-level cache.
const NEAR_BYTES: usize = 36 << 10;

/// Bytes of buffers that are few.
const FEW_BYTES: usize = 256 << 10;

/// The plan of calls with the same form and layout.
#[derive(Debug, Default)]
pub(super) struct Plan {
    // What the plan is for.
    params: usize,
    insts: Vec<Inst>,
    results: Vec<Reg>,
    pub(super) sources: Vec<Source>,
    pub(super) sinks: Vec<Sink>,

    pub(super) homes: Vec<Home>,
    /// The bits of uniform registers.
    pub(super) values: Vec<u64>,
    /// Uniform registers that must be computed, in order.
    pub(super) uniforms: Vec<Reg>,
    /// The other registers that are needed, in order.
    pub(super) each: Vec<Reg>,
    /// What runs for every chunk, in order.
    pub(super) tasks: Vec<Task>,
    /// What there is machine code for.
    pub(super) stretches: Vec<Stretch>,
    /// The code of each stretch.
    pub(super) codes: Vec<Code>,
    /// Outputs that machine code stores, of several lanes side by side.
    pub(super) joined: Vec<bool>,
    /// Whether machine code does most of the work.
    pub(super) is_native: bool,
    /// Whether machine code does everything for a range where inputs and outputs lie, so that there
    /// is no need for chunks and buffers.
    pub(super) is_one_loop: bool,
    /// Whether the plan only holds for masks that are ranges.
    is_for_ranges: bool,
    /// Uniform registers that tasks read, whose buffers are filled once.
    pub(super) fills: Vec<Reg>,
    free: [Vec<u32>; 5],
    n_slots: [usize; 5],
}

impl Plan {
    /// Number of buffers of each lane.
    pub(super) fn n_slots(&self) -> [usize; 5] {
        self.n_slots
    }

    /// Elements computed at a time, where `n_bytes` of columns that are not in the caches are read
    /// and written for each.
    pub(super) fn chunk(&self, n_bytes: usize) -> usize {
        let sizes = Lane::ALL.map(|lane| self.n_slots[lane as usize] * lane.size());
        let bytes: usize = sizes.iter().sum();
        if n_bytes > 0 {
            // The columns of this chunk and of the next, which is fetched.
            let near = (NEAR_BYTES / (bytes + 2 * n_bytes)).next_power_of_two() / 2;
            if near >= SHORT_CHUNK {
                return near.min(LONG_CHUNK);
            }
        }
        if bytes * LONG_CHUNK <= FEW_BYTES { LONG_CHUNK } else { CHUNK }
    }

    /// Whether this is the plan for such a call.
    pub(super) fn fits(
        &self,
        form: &Form,
        inputs: &[LaneInput<'_>],
        outputs: &[LaneOutput<'_>],
        is_range: bool,
    ) -> bool {
        (is_range || !self.is_for_ranges)
            && self.insts.len() == form.insts.len()
            && self.params == inputs.len()
            && self.sinks.len() == outputs.len()
            && self.results == form.results
            && self.sinks.iter().zip(outputs).all(|(sink, output)| *sink == sink_of(output))
            && (0..inputs.len()).all(|i| self.sources[i] == source_of(inputs, i))
            && self.insts == form.insts.as_slice()
    }

    /// Plans everything that values do not decide. With `native`, machine code of that width runs
    /// wherever there is some; if the mask `is_range`, it reads and writes vectors as they are
    /// stored.
    ///
    /// `None` if machine code is wanted and the machine allows none.
    pub(super) fn new(
        form: &Form,
        inputs: &[LaneInput<'_>],
        outputs: &[LaneOutput<'_>],
        native: Option<Width>,
        is_range: bool,
    ) -> Option<Self> {
        let n = form.insts.len();
        let unused = Home {
            place: Place { slot: NONE, direct: Direct::No },
            wanted: false,
            uniform: false,
            n_uses: 0,
            last_use: NONE,
        };
        let mut plan = Self {
            params: inputs.len(),
            insts: form.insts.as_slice().to_vec(),
            results: form.results.clone(),
            sources: (0..inputs.len()).map(|i| source_of(inputs, i)).collect(),
            sinks: outputs.iter().map(sink_of).collect(),
            homes: vec![unused; n],
            values: vec![0; n],
            ..Self::default()
        };
        plan.want_results(form);
        plan.find_needed(form);
        let is_used = |home: &Home| home.wanted || home.n_uses > 0;
        let needed: Vec<Reg> =
            form.insts.ids().filter(|reg| is_used(&plan.homes[reg.index()])).collect();
        for reg in needed {
            let list =
                if plan.homes[reg.index()].uniform { &mut plan.uniforms } else { &mut plan.each };
            list.push(reg);
        }
        plan.joined = vec![false; outputs.len()];
        let target = native.and_then(|width| Target::new(width, 4));
        let joins = is_range && target.is_some_and(Target::joins);
        plan.tasks = fuse::tasks(form, &plan.homes, &plan.sources, native, joins);
        if let Some(width) = native {
            plan.is_for_ranges = joins;
            plan.join(form, width, joins);
            plan.codes = plan.codes(form, width)?;
        }
        plan.place_all(form);
        plan.is_native = plan.is_native(form);
        plan.is_one_loop = plan.is_one_loop(form);
        Some(plan)
    }

    fn is_native(&self, form: &Form) -> bool {
        let work = |task: &Task| task.work(form, &self.stretches);
        let is_native = |task: &&Task| matches!(task, Task::Native { .. });
        let native: u64 = self.tasks.iter().filter(is_native).map(work).sum();
        native * 2 > self.tasks.iter().map(work).sum()
    }

    fn is_one_loop(&self, form: &Form) -> bool {
        let mut sinks = self.sinks.iter().zip(&self.joined).enumerate();
        self.tasks.iter().all(|task| match *task {
            Task::One(reg) => self.homes[reg.index()].place.is_input(),
            Task::Native { number, .. } => {
                let Stretch { inputs, outputs, .. } = &self.stretches[number as usize];
                let place = |reg: &Reg| self.homes[reg.index()].place;
                inputs.iter().all(|reg| place(reg).is_input())
                    && outputs.iter().all(|reg| matches!(place(reg).direct, Direct::Output(_)))
            }
            Task::Affine { .. } | Task::Distance { .. } => false,
        }) && sinks.all(|(number, (sink, joined))| {
            let home = self.homes[form.results[sink.first].index()];
            *joined || sink.width == 1 && home.place.direct == Direct::Output(number as u32)
        })
    }

    fn want_results(&mut self, form: &Form) {
        for (number, sink) in self.sinks.iter().enumerate() {
            for &reg in &form.results[sink.first..sink.first + sink.width] {
                let home = &mut self.homes[reg.index()];
                home.wanted = true;
                let computed = !matches!(form.insts[reg].op, Op::Param(_) | Op::Const(_));
                if sink.stride == 1 && computed && home.place.direct == Direct::No {
                    home.place.direct = Direct::Output(number as u32);
                }
            }
        }
    }

    /// Finds what is uniform, and who uses what is needed.
    fn find_needed(&mut self, form: &Form) {
        for (reg, inst) in form.insts.iter() {
            self.homes[reg.index()].uniform = match inst.op {
                Op::Const(_) => true,
                Op::Param(number) => self.sources[number as usize] == Source::Single,
                _ => inst.args().iter().all(|arg| self.homes[arg.index()].uniform),
            };
        }
        for (reg, inst) in form.insts.iter().rev() {
            let home = self.homes[reg.index()];
            if home.wanted || home.n_uses > 0 {
                for arg in inst.args() {
                    self.homes[arg.index()].n_uses += 1;
                }
            }
        }
    }

    /// Gives every register that tasks write or read a buffer.
    fn place_all(&mut self, form: &Form) {
        let (tasks, stretches) =
            (std::mem::take(&mut self.tasks), std::mem::take(&mut self.stretches));
        for (number, task) in tasks.iter().enumerate() {
            for operand in task.operands(form, &stretches) {
                self.homes[operand.index()].last_use = number as u32;
            }
        }
        for home in &mut self.homes {
            if home.uniform {
                home.place.direct = Direct::No;
            }
        }
        for (number, task) in tasks.iter().enumerate() {
            let (operands, results) = (task.operands(form, &stretches), task.results(&stretches));
            self.place(form, number as u32, operands, results);
        }
        (self.tasks, self.stretches) = (tasks, stretches);
        // Results that are stored together are read from buffers together.
        let together = self.sinks.iter().zip(&self.joined);
        let together = together.filter(|(sink, joined)| sink.is_interleaved() && !**joined);
        let results: Vec<Reg> = together
            .flat_map(|(sink, _)| form.results[sink.first..sink.first + sink.width].iter().copied())
            .collect();
        for reg in results {
            let home = self.homes[reg.index()];
            if home.uniform && home.place.slot == NONE {
                self.homes[reg.index()].place.slot = self.fresh_slot(form.insts[reg].lane);
                self.fills.push(reg);
            }
        }
    }

    fn place(&mut self, form: &Form, number: u32, operands: &[Reg], results: &[Reg]) {
        for &operand in operands {
            let i = operand.index();
            if self.homes[i].uniform && self.homes[i].place.slot == NONE {
                self.homes[i].place.slot = self.fresh_slot(form.insts[operand].lane);
                self.fills.push(operand);
            }
        }
        for reg in results {
            let inst = form.insts[*reg];
            self.homes[reg.index()].place.slot = self.take_slot(inst.lane);
            let place = &mut self.homes[reg.index()].place;
            if let Op::Param(number) = inst.op
                && self.sources[number as usize] == Source::Each
            {
                place.direct = Direct::Input(number);
            }
        }
        for (place, &operand) in operands.iter().enumerate() {
            let home = self.homes[operand.index()];
            let again = operands[..place].contains(&operand);
            if home.last_use == number && !home.uniform && !home.wanted && !again {
                self.free[form.insts[operand].lane as usize].push(home.place.slot);
            }
        }
    }

    /// Computes uniform registers for a call with these inputs.
    pub(super) fn find_values(&mut self, form: &Form, inputs: &[LaneInput<'_>]) {
        for &reg in &self.uniforms {
            let inst = &form.insts[reg];
            let bits = match inst.op {
                Op::Const(bits) => bits,
                Op::Param(number) => input_bits(&inputs[number as usize], inst.lane, 0),
                op => {
                    let mut bits = [0; 3];
                    for (bits, arg) in bits.iter_mut().zip(inst.args()) {
                        *bits = self.values[arg.index()];
                    }
                    eval_op(op, inst.of, inst.lane, bits)
                }
            };
            self.values[reg.index()] = bits;
        }
    }

    /// Bytes of columns that are read and written for an element.
    pub(super) fn n_bytes(&self, form: &Form) -> usize {
        let read = form.insts.iter().filter(|(reg, inst)| {
            let home = self.homes[reg.index()];
            matches!(inst.op, Op::Param(_)) && !home.uniform && (home.wanted || home.n_uses > 0)
        });
        let written = self.sinks.iter().flat_map(|sink| {
            let results = &form.results[sink.first..sink.first + sink.width];
            results.iter().map(|reg| form.insts[*reg].lane.size())
        });
        read.map(|(_, inst)| inst.lane.size()).sum::<usize>() + written.sum::<usize>()
    }

    /// A buffer that nothing else uses in the chunk, now.
    fn take_slot(&mut self, lane: Lane) -> u32 {
        self.free[lane as usize].pop().unwrap_or_else(|| self.fresh_slot(lane))
    }

    /// A buffer that nothing else uses in the whole call, if it is never given back.
    fn fresh_slot(&mut self, lane: Lane) -> u32 {
        let n = &mut self.n_slots[lane as usize];
        *n += 1;
        *n as u32 - 1
    }
}
