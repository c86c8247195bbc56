//! A list as a program over one file of registers, for plans that compute with numbers.
//!
//! Every lane of every value has a register of its own, in the order of the list; constants lie in
//! registers too. A block is a row of *pieces*: straight lines of operations, calls of other blocks,
//! choices. Whether a block ran in this evaluation is one mark per block, so a block that several
//! arms share may be called from all of them and runs once.
//!
//! The other way, a list without guards that is written anew when a selector flips, was measured and
//! left out: 1000 switches with 11,000 nodes that run took 40 instead of 50 microseconds with selectors
//! held and 57 instead of 51 flipping, for twice the memory and a second way to run.

mod write;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use millstream_base::Value;
use millstream_base::id::Id;
use millstream_form::{ReadyLine, run_lines};
use millstream_ir::answer::{
    Answer, EvalError, Fate, LogEntry, OutputAnswer, RunLog, RunReason, Series, SkipReason,
};
use millstream_ir::graph::{InputId, InstanceId};
use millstream_ir::keeping::Calls;
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, LogDetail, Request};
use millstream_node::Data;

use super::blocks::Blocks;
use crate::fuse::width;
use crate::watch::{Ran, Watch};

/// Lines between two looks at the clock.
const AT_ONCE: usize = 1 << 16;

/// No block: what an arm gives is there already.
const NO_BLOCK: u32 = u32::MAX;

/// One part of a block.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// The lines from the end of those before to this one.
    Lines { end: u32 },
    /// A block that has to be there.
    Call { block: u32 },
    /// A form that is not written out, on the registers in `params` from `first` on.
    Form { instance: InstanceId, first: u32, out: u32 },
    /// Copies the lanes of the arm that a selector picks; the arms stand in `arms`.
    Choose { selector: u32, is_bool: bool, first_arm: u32, n_arms: u16, out: u32, width: u8 },
    /// The end of a block.
    End,
}

/// One arm of a choice.
#[derive(Clone, Copy, Debug)]
struct Arm {
    /// What has to be there.
    block: u32,
    /// The first register of its value.
    first: u32,
}

/// Where a block begins.
#[derive(Clone, Copy, Debug)]
struct Start {
    piece: u32,
    line: u32,
    /// Its steps, in the list.
    first_step: u32,
}

/// A list over registers.
#[derive(Debug)]
pub(crate) struct Flat {
    lines: Vec<ReadyLine>,
    pieces: Vec<Piece>,
    arms: Vec<Arm>,
    /// The registers of parameters of called forms.
    params: Vec<u32>,
    starts: Vec<Start>,
    /// The registers before anything ran: zeros and constants.
    image: Vec<u64>,
    /// The first register of each input that is read.
    inputs: Vec<(InputId, u32)>,
    /// The same of features, by the bit of the need.
    features: Vec<(u32, u32)>,
    /// The outputs by position in the plan, with their first registers.
    outputs: Vec<(usize, u32)>,
    /// Files that no evaluation uses. The lock guards the pile only.
    idle: Mutex<Vec<File>>,
}

/// What one evaluation works in.
#[derive(Debug)]
struct File {
    regs: Vec<u64>,
    /// For each block the number of the evaluation in which it ran last.
    ran: Vec<u32>,
    now: u32,
    /// Where to go on after a block.
    back: Vec<(u32, u32)>,
    params: Vec<u64>,
    scratch: Vec<u64>,
}

impl Flat {
    /// The program of a list; `None` if a step does more than compute with numbers.
    pub(super) fn new(plan: &Plan, blocks: &Blocks, outputs: &[usize]) -> Option<Self> {
        write::write(plan, blocks, outputs)
    }

    pub(super) fn evaluate(
        &self,
        plan: &Plan,
        blocks: &Blocks,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut file = idle.unwrap_or_else(|| self.new_file());
        file.give(self, bound);
        let ran = self.run(plan, &Watch::new(plan, request, bound), &mut file);
        let answer = ran.map(|()| self.answer(plan, blocks, request, bound, &file));
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(file);
        answer
    }

    fn new_file(&self) -> File {
        File {
            regs: self.image.clone(),
            ran: vec![0; self.starts.len()],
            now: 0,
            back: Vec::new(),
            params: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Runs the main block, block 0.
    fn run(&self, plan: &Plan, watch: &Watch<'_>, file: &mut File) -> Result<(), EvalError> {
        let over = |error: Option<EvalError>| error.map_or(Ok(()), Err);
        let File { regs, ran, now, back, params, scratch } = file;
        back.clear();
        let (mut piece, mut line) = (self.starts[0].piece as usize, self.starts[0].line);
        ran[0] = *now;
        let mut until_clock = 0;
        let mut lines_ran = Ran::default();
        loop {
            if until_clock == 0 {
                over(watch.over(lines_ran))?;
                until_clock = 256;
            }
            until_clock -= 1;
            // The block that has to run before this piece, if any.
            let missing = match self.pieces[piece] {
                Piece::Lines { end } => {
                    let lines = &self.lines[line as usize..end as usize];
                    if lines.len() <= AT_ONCE {
                        run_lines(lines, regs);
                    } else {
                        for (k, lines) in lines.chunks(AT_ONCE).enumerate() {
                            over(watch.over(lines_ran.and(k * AT_ONCE, 1)))?;
                            run_lines(lines, regs);
                        }
                    }
                    lines_ran = lines_ran.and(lines.len(), 1);
                    line = end;
                    None
                }
                Piece::Call { block } => (ran[block as usize] != *now).then_some(block),
                Piece::Form { instance, first, out } => {
                    let form = plan.instances[instance].plain_form().expect("it has a form");
                    let from = &self.params[first as usize..][..form.params.len()];
                    params.clear();
                    params.extend(from.iter().map(|reg| regs[*reg as usize]));
                    let results = &mut regs[out as usize..][..form.results.len()];
                    form.run_scalar(params, results, scratch);
                    None
                }
                Piece::Choose { selector, is_bool, first_arm, n_arms, out, width } => {
                    let bits = regs[selector as usize];
                    let last = usize::from(n_arms) - 1;
                    let picked = if is_bool {
                        usize::from(bits != 0)
                    } else {
                        (bits as u32 as i32).max(0) as usize
                    };
                    let Arm { block, first } = self.arms[first_arm as usize + picked.min(last)];
                    if block != NO_BLOCK && ran[block as usize] != *now {
                        Some(block)
                    } else {
                        let first = first as usize;
                        regs.copy_within(first..first + usize::from(width), out as usize);
                        None
                    }
                }
                Piece::End => {
                    let Some((to, at)) = back.pop() else { return over(watch.over(lines_ran)) };
                    (piece, line) = (to as usize, at);
                    continue;
                }
            };
            match missing {
                None => piece += 1,
                Some(block) => {
                    // The piece is looked at again when the block has run.
                    back.push((piece as u32, line));
                    ran[block as usize] = *now;
                    let start = self.starts[block as usize];
                    (piece, line) = (start.piece as usize, start.line);
                }
            }
        }
    }

    fn answer(
        &self,
        plan: &Plan,
        blocks: &Blocks,
        request: &Request,
        bound: &Bound,
        file: &File,
    ) -> Answer {
        let outputs = self.outputs.iter().map(|(position, first)| {
            let output = &plan.outputs[*position];
            let lanes = &file.regs[*first as usize..][..width(output.ty)];
            let value = Value::from_lanes(output.ty, lanes);
            let data = Data::One(value.expect("a value has the lanes of its type"));
            OutputAnswer {
                name: Arc::clone(&output.name),
                ty: output.ty,
                value: Some(Series { data, axes: Vec::new() }),
            }
        });
        Answer {
            outputs: outputs.collect(),
            failures: Vec::new(),
            log: self.log(plan, blocks, request, file),
            calls: Calls::default(),
            times: bound.times,
            count: bound.count,
        }
    }

    fn log(&self, plan: &Plan, blocks: &Blocks, request: &Request, file: &File) -> RunLog {
        if request.log == LogDetail::Off {
            return RunLog::default();
        }
        let entry = |fate, n: u32| LogEntry {
            fate,
            runs: n,
            elements: u64::from(n),
            bytes: 0,
            time: Duration::ZERO,
        };
        let not_needed = entry(Fate::Skipped(SkipReason::NotNeeded), 0);
        let mut entries = vec![not_needed; plan.steps.len()];
        for (block, start) in self.starts.iter().enumerate() {
            if file.ran[block] != file.now {
                continue;
            }
            let end = self.starts.get(block + 1);
            let end = end.map_or(blocks.steps.len(), |next| next.first_step as usize);
            for step in &blocks.steps[start.first_step as usize..end] {
                entries[step.index()] = entry(Fate::Ran(RunReason::First), 1);
            }
        }
        RunLog { entries }
    }
}

impl File {
    /// Begins another evaluation with these inputs.
    fn give(&mut self, flat: &Flat, bound: &Bound) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.ran.fill(0);
            self.now = 1;
        }
        let mut set = |first: u32, data: &Data| {
            let Data::One(value) = data else { panic!("a request without axes has single values") };
            let lanes = (0..).map_while(|i| value.lane(i));
            for (reg, bits) in self.regs[first as usize..].iter_mut().zip(lanes) {
                *reg = bits;
            }
        };
        for (input, first) in &flat.inputs {
            set(*first, &bound.inputs[input.index()].data);
        }
        for (bit, first) in &flat.features {
            let given = bound.features[*bit as usize].as_ref();
            set(*first, &given.expect("a request provides what its outputs need").data);
        }
    }
}
