//! Makes lines ready, several as one where that saves calls.
//!
//! Of a short operation most of the time goes into its call, and into writing what the next one reads. As
//! one line run: the distance of two vectors of three, their dot product, or a root of that; and two
//! of sum, difference and product of which the second alone reads the first. Each operation
//! rounds as it does alone.

use millstream_base::Lane;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{AsRun, Line, Places, ReadyLine, Run};
use crate::Op;
use crate::columns::loops::distance;
use crate::lane_value::FloatLane;
use crate::meaning::apply_pair;

/// Appends lines to be run to `ready`: each writes a register of its own, and reads only what was
/// written before. Of the registers they write only those that `is_read` elsewhere are sure to be
/// written.
///
/// # Panics
/// If an operation does not take its lanes.
pub fn ready_lines(lines: &[Line], is_read: impl Fn(u32) -> bool, ready: &mut Vec<ReadyLine>) {
    if let [line] = lines {
        return ready.push(line.ready());
    }
    let mut finder = Finder::new(lines, is_read);
    let first = ready.len();
    for (i, line) in lines.iter().enumerate().rev() {
        if finder.is_absorbed[i] {
            continue;
        }
        match finder.product(i).or_else(|| finder.pair(i)) {
            Some((coarse, parts)) => {
                parts.into_iter().for_each(|part| finder.is_absorbed[part] = true);
                ready.push(coarse);
            }
            None => ready.push(line.ready()),
        }
    }
    ready[first..].reverse();
}

/// Lines that are part of another.
type Parts = SmallVec<[usize; 8]>;

struct Finder<'l> {
    lines: &'l [Line],
    /// The line that writes a register.
    of: FxHashMap<u32, usize>,
    /// For each line how many operands its result is; too many where it is read elsewhere.
    n_uses: Vec<u32>,
    /// Whether a line is part of one behind it.
    is_absorbed: Vec<bool>,
}

impl<'l> Finder<'l> {
    fn new(lines: &'l [Line], is_read: impl Fn(u32) -> bool) -> Self {
        let of: FxHashMap<u32, usize> =
            lines.iter().enumerate().map(|(i, line)| (line.out, i)).collect();
        let elsewhere = |line: &Line| if is_read(line.out) { 1 << 16 } else { 0 };
        let mut n_uses: Vec<u32> = lines.iter().map(elsewhere).collect();
        for arg in lines.iter().flat_map(Line::args) {
            if let Some(line) = of.get(arg) {
                n_uses[*line] = n_uses[*line].saturating_add(1);
            }
        }
        Self { lines, of, n_uses, is_absorbed: vec![false; lines.len()] }
    }

    /// The line that writes a register, if it computes `op` on floats of this lane and nothing but so
    /// many operands of one line reads it.
    fn between(&self, reg: u32, op: Op, of: Lane, n_uses: u32) -> Option<usize> {
        let i = *self.of.get(&reg)?;
        let line = &self.lines[i];
        ((line.op, line.of) == (op, of) && self.n_uses[i] == n_uses).then_some(i)
    }

    /// `a x + b y + c z`, added in this order, of vectors in registers that follow each other; of
    /// differences of such vectors with themselves; or the root of that. And the lines that are part
    /// of it.
    fn product(&self, i: usize) -> Option<(ReadyLine, Parts)> {
        let line = self.lines[i];
        let (of, root) = (line.of, line.op == Op::Sqrt);
        if !of.is_float() || !(root || line.op == Op::Add) {
            return None;
        }
        let mut parts = Parts::new();
        let mut sum = line;
        if root {
            let i = self.between(line.args[0], Op::Add, of, 1)?;
            parts.push(i);
            sum = self.lines[i];
        }
        let first = self.between(sum.args[0], Op::Add, of, 1)?;
        parts.push(first);
        let [x, y, _] = self.lines[first].args;
        let mut sides = [[0; 2]; 3];
        for (side, product) in sides.iter_mut().zip([x, y, sum.args[1]]) {
            let product = self.between(product, Op::Mul, of, 1)?;
            parts.push(product);
            let [a, b, _] = self.lines[product].args;
            *side = [a, b];
        }
        let (run, [a, b]) = match self.differences(of, sides) {
            Some((vectors, differences)) => {
                parts.extend(differences);
                (run_of(FAR, of, root), vectors)
            }
            None => (run_of(DOT, of, root), vectors(sides)?),
        };
        Some((ReadyLine { run, places: Places { out: line.out, args: [a, b, 0] } }, parts))
    }

    /// The vectors of which these are the lanes of the difference, each with itself, and the lines
    /// that subtract.
    fn differences(&self, of: Lane, sides: [[u32; 2]; 3]) -> Option<([u32; 2], [usize; 3])> {
        let (mut ends, mut lines) = (sides, [0; 3]);
        for ((end, line), [a, b]) in ends.iter_mut().zip(&mut lines).zip(sides) {
            if a != b {
                return None;
            }
            *line = self.between(a, Op::Sub, of, 2)?;
            *end = [self.lines[*line].args[0], self.lines[*line].args[1]];
        }
        Some((vectors(ends)?, lines))
    }

    /// A sum, difference or product with one that it alone reads.
    fn pair(&self, i: usize) -> Option<(ReadyLine, Parts)> {
        let line = self.lines[i];
        if !is_arithmetic(&line) {
            return None;
        }
        let [a, b, _] = line.args;
        let (inner, other, second) = match (self.absorbed(a), self.absorbed(b)) {
            // What absorbs nothing itself, so that its neighbor may absorb something.
            (Some(_), Some(inner)) if !self.absorbs(inner) => (inner, a, true),
            (Some(inner), _) => (inner, b, false),
            (None, Some(inner)) => (inner, a, true),
            (None, None) => return None,
        };
        let [c, d, _] = self.lines[inner].args;
        let run = apply_pair(self.lines[inner].op, line.op, second, line.of, AsRun);
        let places = Places { out: line.out, args: [c, d, other] };
        Some((ReadyLine { run, places }, Parts::from_elem(inner, 1)))
    }

    /// The line of arithmetic that writes a register, if it may be part of the only one that reads it.
    fn absorbed(&self, reg: u32) -> Option<usize> {
        let i = *self.of.get(&reg)?;
        let fits = self.n_uses[i] == 1 && is_arithmetic(&self.lines[i]);
        (fits && self.product(i).is_none()).then_some(i)
    }

    fn absorbs(&self, i: usize) -> bool {
        self.lines[i].args().iter().any(|arg| self.absorbed(*arg).is_some())
    }
}

/// The first registers of two vectors whose lanes stand side by side.
fn vectors(sides: [[u32; 2]; 3]) -> Option<[u32; 2]> {
    let [first, ..] = sides;
    let follow = (0..).zip(sides).all(|(k, [a, b])| [a, b] == [first[0] + k, first[1] + k]);
    follow.then_some(first)
}

fn is_arithmetic(line: &Line) -> bool {
    matches!(line.op, Op::Add | Op::Sub | Op::Mul) && line.of.is_float()
}

/// A function for `f32` and `f64`, each without a root and with one.
type Runs = [[Run; 2]; 2];

const FAR: Runs = [[far::<f32, false>, far::<f32, true>], [far::<f64, false>, far::<f64, true>]];

const DOT: Runs = [[dot::<f32, false>, dot::<f32, true>], [dot::<f64, false>, dot::<f64, true>]];

fn run_of(runs: Runs, of: Lane, root: bool) -> Run {
    runs[usize::from(of == Lane::F64)][usize::from(root)]
}

fn far<A: FloatLane, const ROOT: bool>(at: &Places, regs: &mut [u64]) {
    at.set::<A>(regs, distance(at.vector(regs, 0), at.vector(regs, 1), ROOT));
}

fn dot<A: FloatLane, const ROOT: bool>(at: &Places, regs: &mut [u64]) {
    let [a, b]: [[A; 3]; 2] = [at.vector(regs, 0), at.vector(regs, 1)];
    let sum = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    at.set::<A>(regs, if ROOT { A::sqrt(sum) } else { sum });
}
