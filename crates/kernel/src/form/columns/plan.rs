//! Plans a call: what is computed, what once, and in which buffer.

use millstream_base::id::Id;
use millstream_base::lane::Lane;

use super::few::input_bits;
use super::{LaneInput, LaneOutput};
use crate::form::{Form, Inst, Op, Reg, eval_op};
use crate::map::Map;

/// No buffer, or no use.
const NONE: u32 = u32::MAX;

/// Where a register lies when a chunk is a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direct {
    /// In its buffer.
    No,
    /// In the memory of this input.
    Input(u32),
    /// In the memory of this output.
    Output(u32),
}

/// Where a register lies, and how long it is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    /// Number of the buffer within its lane's pool.
    pub(super) slot: u32,
    pub(super) direct: Direct,
    /// Whether a wanted result needs the register.
    pub(super) live: bool,
    /// Whether it is a wanted result, and so stays to the end of the chunk.
    wanted: bool,
    /// Whether it is the same for all elements.
    pub(super) uniform: bool,
    /// The last instruction that reads it.
    last_use: u32,
}

/// The plan of a call; its parts are used again by the next.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) homes: Vec<Home>,
    /// The bits of uniform registers.
    pub(super) values: Vec<u64>,
    /// What runs for every chunk, in order.
    pub(super) steps: Vec<Reg>,
    /// Uniform registers that steps read, whose buffers are filled once.
    pub(super) fills: Vec<Reg>,
    free: [Vec<u32>; 5],
    n_slots: [usize; 5],
}

impl Plan {
    /// Number of buffers of each lane.
    pub(super) fn n_slots(&self) -> [usize; 5] {
        self.n_slots
    }

    /// Plans which registers are needed; enough for computing elements one by one.
    pub(super) fn find_needed(&mut self, form: &Form, outputs: &[LaneOutput<'_>]) {
        let n = form.insts.len();
        let unused = Home {
            slot: NONE,
            direct: Direct::No,
            live: false,
            wanted: false,
            uniform: false,
            last_use: NONE,
        };
        self.homes.clear();
        self.homes.resize(n, unused);
        self.values.clear();
        self.values.resize(n, 0);
        self.want_results(form, outputs);
        self.find_uses(form);
    }

    /// Plans everything.
    pub(super) fn prepare(
        &mut self,
        form: &Form,
        inputs: &[LaneInput<'_>],
        outputs: &[LaneOutput<'_>],
    ) {
        self.find_needed(form, outputs);
        self.steps.clear();
        self.fills.clear();
        self.free.iter_mut().for_each(Vec::clear);
        self.n_slots = [0; 5];
        for (reg, inst) in form.insts.iter() {
            if self.homes[reg.index()].live {
                self.place(form, inputs, reg, inst);
            }
        }
    }

    fn want_results(&mut self, form: &Form, outputs: &[LaneOutput<'_>]) {
        for (number, output) in outputs.iter().enumerate() {
            for &reg in &form.results[output.first..output.first + output.width] {
                let lane = form.insts[reg].lane;
                assert_eq!(output.lanes.lane(), lane, "an output has its result's lane");
                let home = &mut self.homes[reg.index()];
                home.live = true;
                home.wanted = true;
                let computed = !matches!(form.insts[reg].op, Op::Param(_) | Op::Const(_));
                if output.stride == 1 && computed && home.direct == Direct::No {
                    home.direct = Direct::Output(number as u32);
                }
            }
        }
    }

    fn find_uses(&mut self, form: &Form) {
        for (reg, inst) in form.insts.iter().rev() {
            if !self.homes[reg.index()].live {
                continue;
            }
            for arg in inst.args() {
                let home = &mut self.homes[arg.index()];
                home.live = true;
                if home.last_use == NONE {
                    home.last_use = reg.index() as u32;
                }
            }
        }
    }

    /// Computes a uniform register, or gives another one a buffer.
    fn place(&mut self, form: &Form, inputs: &[LaneInput<'_>], reg: Reg, inst: &Inst) {
        let i = reg.index();
        if let Some(value) = self.uniform_value(inputs, inst) {
            self.values[i] = value;
            self.homes[i].uniform = true;
            self.homes[i].direct = Direct::No;
            return;
        }
        for &arg in inst.args() {
            if self.homes[arg.index()].uniform && self.homes[arg.index()].slot == NONE {
                self.homes[arg.index()].slot = self.fresh_slot(form.insts[arg].lane);
                self.fills.push(arg);
            }
        }
        self.homes[i].slot = self.take_slot(inst.lane);
        if let Op::Param(number) = inst.op
            && let LaneInput::Lanes { stride: 1, map: Map::Each, .. } = inputs[number as usize]
        {
            self.homes[i].direct = Direct::Input(number);
        }
        self.steps.push(reg);
        for (place, &arg) in inst.args().iter().enumerate() {
            let home = self.homes[arg.index()];
            let again = inst.args()[..place].contains(&arg);
            if home.last_use == i as u32 && !home.uniform && !home.wanted && !again {
                self.free[form.insts[arg].lane as usize].push(home.slot);
            }
        }
    }

    fn uniform_value(&self, inputs: &[LaneInput<'_>], inst: &Inst) -> Option<u64> {
        match inst.op {
            Op::Const(bits) => Some(bits),
            Op::Param(number) => match inputs[number as usize] {
                input @ LaneInput::Lanes { map: Map::Single, .. } => {
                    Some(input_bits(&input, inst.lane, 0))
                }
                LaneInput::Lanes { .. } | LaneInput::Range { .. } => None,
            },
            op => {
                let mut bits = [0; 3];
                for (slot, arg) in bits.iter_mut().zip(inst.args()) {
                    if !self.homes[arg.index()].uniform {
                        return None;
                    }
                    *slot = self.values[arg.index()];
                }
                Some(eval_op(op, inst.of, inst.lane, bits))
            }
        }
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
