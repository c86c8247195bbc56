//! Sweeps: 64 neighboring nodes that usually change together run as straight-line code over
//! registers.
//!
//! Finding the next dirty node and marking users takes longer than most operations. So once nearly
//! all nodes of a word of positions have run in several waves, a sweep computes all of them in
//! order, dirty or not. A comparison with their old values shows which nodes changed, and therefore
//! which nodes had to run, because an input changed, and which users elsewhere must be marked. A
//! node that did not have to run computes its old value again. So values, cutoff and the number of
//! runs are those of a wave without sweeps.

use millstream_form::{Op, Straight, StraightWriter};

use super::demand::BlockId;
use super::node::{Flags, Node};
use super::{CodeKey, LiveGraph};

/// The sweeps of a graph.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    /// The state of each word of positions; words that are missing are [`Word::Cold`].
    words: Vec<Word>,
    registers: Registers,
    bytes: usize,
}

#[derive(Debug)]
struct Registers(Box<[u64; N_REGISTERS]>);

impl Default for Registers {
    fn default() -> Self {
        Self(Box::new([0; N_REGISTERS]))
    }
}

#[derive(Debug)]
enum Word {
    /// The number of waves in which most nodes ran.
    Cold(u8),
    Compiled(Box<Sweep>),
}

/// The nodes of a word as straight-line code.
#[derive(Debug)]
struct Sweep {
    /// Whether most of the nodes had to run the last time.
    is_hot: bool,
    /// The positions in the word whose nodes can run, one bit each.
    nodes: u64,
    /// The block that contains all the nodes; `None` if they are live.
    guard: Option<BlockId>,
    code: Straight,
    /// The nodes elsewhere that are read, from register [`OUTER`] on.
    outer: Box<[u32]>,
    /// The constants that are read, from the last register down.
    constants: Box<[u64]>,
    /// The users elsewhere, each with the positions in the word that it reads.
    users: Box<[(u64, u32)]>,
}

const N_REGISTERS: usize = 256;

/// The register of the first node elsewhere. The registers before it are those of the positions in
/// the word.
const OUTER: usize = 64;

/// The number of hot waves after which a word is compiled.
const HOT: u8 = if cfg!(test) { 1 } else { 3 };

/// Minimal number of nodes that run in a word in a hot wave.
const MOST: u32 = if cfg!(test) { 3 } else { 40 };

/// Nodes that cannot be swept.
const UNFIT: u16 = Flags::SPECIAL | Flags::NEW | Flags::MIXED;

/// Maximal number of users elsewhere of a word that is compiled.
const MOST_USERS: usize = 256;

/// Maximal number of inputs of a fold that is compiled: for more, its own function is faster.
const MOST_FOLDED: usize = 4;

impl Sweep {
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.code.bytes()
            + size_of_val(&*self.outer)
            + size_of_val(&*self.constants)
            + size_of_val(&*self.users)
    }
}

impl Sweeps {
    /// Bytes of the compiled words.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<Word>() + size_of_val(&*self.registers.0) + self.bytes
    }

    /// Whether there may be compiled words.
    pub(super) fn has_any(&self) -> bool {
        !self.words.is_empty()
    }

    /// Whether most nodes of a word are expected to run.
    #[inline(always)]
    pub(super) fn is_hot(&self, word: usize) -> bool {
        matches!(self.words.get(word), Some(Word::Compiled(sweep)) if sweep.is_hot)
    }

    #[cfg(test)]
    pub(super) fn n_compiled(&self) -> usize {
        self.words.iter().filter(|word| matches!(word, Word::Compiled(_))).count()
    }

    fn take(&mut self, word: usize) -> Option<Box<Sweep>> {
        match std::mem::replace(self.words.get_mut(word)?, Word::Cold(0)) {
            Word::Compiled(sweep) => Some(sweep),
            Word::Cold(_) => None,
        }
    }

    /// Drops the code of the word of a position, because nodes or links there changed.
    #[inline]
    pub(super) fn forget(&mut self, position: usize) {
        if let Some(word) = self.words.get_mut(position >> 6)
            && let Word::Compiled(sweep) = std::mem::replace(word, Word::Cold(0))
        {
            self.bytes -= sweep.bytes();
        }
    }

    /// Drops the code of all words.
    pub(super) fn forget_all(&mut self) {
        self.words.clear();
        self.bytes = 0;
    }
}

impl LiveGraph {
    /// Drops the code that reads a node, or that the node is part of.
    #[inline]
    pub(super) fn forget_sweep(&mut self, node: u32) {
        if self.sweeps.has_any() {
            self.sweeps.forget(self.order.position(node));
        }
    }

    /// Counts the nodes of a word that ran one by one; compiles the word once that is worthwhile.
    #[inline(always)]
    pub(super) fn note_runs(&mut self, word: usize, n_runs: u64) {
        if n_runs >= u64::from(MOST) {
            self.heat(word);
        }
    }

    #[cold]
    fn heat(&mut self, word: usize) {
        if self.sweeps.words.len() <= word {
            self.sweeps.words.resize_with(word + 1, || Word::Cold(0));
        }
        let heat = match &mut self.sweeps.words[word] {
            Word::Compiled(sweep) => {
                sweep.is_hot = true;
                return;
            }
            Word::Cold(heat) => {
                *heat = heat.wrapping_add(1);
                *heat
            }
        };
        if heat == HOT
            && let Some(sweep) = self.compiled(word)
        {
            self.sweeps.bytes += sweep.bytes();
            self.sweeps.words[word] = Word::Compiled(Box::new(sweep));
        }
    }

    /// Runs a hot word of which these positions are dirty; false if it cannot be swept now, so that
    /// the dirty nodes must run one by one.
    pub(super) fn sweep(&mut self, word: usize, dirty: u64) -> bool {
        let Some(mut sweep) = self.sweeps.take(word) else { return false };
        let is_open = sweep.guard.is_none_or(|block| self.is_known_open(block));
        if !is_open || !self.failed.is_empty() {
            self.sweeps.words[word] = Word::Compiled(sweep);
            return false;
        }
        let registers = &mut *self.sweeps.registers.0;
        let outer = registers[OUTER..].iter_mut().zip(&sweep.outer);
        outer.for_each(|(register, node)| *register = self.nodes[*node as usize].value);
        let constants = registers.iter_mut().rev().zip(&sweep.constants);
        constants.for_each(|(register, constant)| *register = *constant);
        sweep.code.run(registers.as_mut_slice());

        let Some((changed, has_careful)) = self.changed_by(word, &sweep) else {
            self.sweeps.bytes -= sweep.bytes();
            return false;
        };
        let mut ran = self.ran_in(word, &sweep, changed, dirty);
        self.store(word, changed);
        if has_careful {
            ran = self.without_same(word, ran);
        }
        for &(read, user) in &sweep.users {
            if read & changed != 0 {
                self.dirty.mark(self.order.position(user));
            }
        }
        self.n_runs += u64::from(ran.count_ones());
        sweep.is_hot = ran.count_ones() >= MOST;
        self.sweeps.words[word] = Word::Compiled(sweep);
        true
    }

    /// The positions of a word whose values the registers change, and whether some node is careful;
    /// `None` if some node must not be swept.
    fn changed_by(&self, word: usize, sweep: &Sweep) -> Option<(u64, bool)> {
        const WANTED: u16 = Flags::LIVE | Flags::GUARDED;
        let demanded = if sweep.guard.is_some() { Flags::GUARDED } else { Flags::LIVE };
        let (mut changed, mut unfit, mut flags) = (0, 0, 0);
        let registers = &*self.sweeps.registers.0;
        let mut compare = |position: usize, node: &Node| {
            changed |= u64::from(node.value != registers[position]) << position;
            unfit |= node.flags.0 & (WANTED | UNFIT) ^ demanded;
            flags |= node.flags.0;
        };
        let first = word << 6;
        if self.order.is_plain() && sweep.nodes == u64::MAX {
            let nodes: &[Node; 64] = self.nodes[first..].first_chunk()?;
            nodes.iter().enumerate().for_each(|(position, node)| compare(position, node));
        } else {
            for position in bits_of(sweep.nodes) {
                compare(position, &self.nodes[self.order.node_at(first | position)]);
            }
        }
        (unfit == 0).then_some((changed, flags & Flags::CAREFUL != 0))
    }

    /// The positions in `ran` except those of careful nodes that read the same values as at their
    /// last run.
    fn without_same(&mut self, word: usize, ran: u64) -> u64 {
        let has_to_run = |graph: &mut Self, position: usize| {
            let at = graph.order.node_at(word << 6 | position);
            !graph.nodes[at].flags.has(Flags::CAREFUL) || graph.let_go(at as u32)
        };
        bits_of(ran).filter(|position| has_to_run(self, *position)).fold(0, |ran, at| ran | 1 << at)
    }

    /// Stores the values of these positions.
    fn store(&mut self, word: usize, changed: u64) {
        let registers = &*self.sweeps.registers.0;
        let first = word << 6;
        if self.order.is_plain() && changed == u64::MAX {
            let nodes = self.nodes[first..].iter_mut().zip(&registers[..OUTER]);
            return nodes.for_each(|(node, value)| node.value = *value);
        }
        for position in bits_of(changed) {
            self.nodes[self.order.node_at(first | position)].value = registers[position];
        }
    }

    /// The positions of a word whose nodes had to run.
    fn ran_in(&self, word: usize, sweep: &Sweep, changed: u64, dirty: u64) -> u64 {
        let mut ran = changed | dirty;
        for position in bits_of(sweep.nodes & !ran) {
            let node = self.order.node_at(word << 6 | position);
            let reads_changed = self.inputs_of(node as u32).iter().any(|input| {
                let position = self.order.position(*input);
                position >> 6 == word && changed >> (position & 63) & 1 != 0
            });
            ran |= u64::from(reads_changed) << position;
        }
        ran & sweep.nodes
    }

    /// The code of a word; `None` if it has nodes that cannot be swept.
    fn compiled(&self, word: usize) -> Option<Sweep> {
        let first = word << 6;
        let mut compiler = Compiler::new(self, word);
        let (mut nodes, mut guards, mut users) = (0_u64, Vec::new(), Vec::new());
        for position in 0..64.min(self.order.len() - first) {
            let Some(at) = self.order.node_if_any(first | position) else { continue };
            let node = &self.nodes[at as usize];
            if node.is_source() {
                continue;
            }
            if node.flags.has(UNFIT) || !node.flags.has(Flags::LIVE | Flags::GUARDED) {
                return None;
            }
            let is_guarded = node.flags.has(Flags::GUARDED);
            guards.push(is_guarded.then(|| self.demands.of[at as usize]));
            nodes |= 1 << position;
            compiler.add(position as u32, at)?;
            for &user in self.users_of(at) {
                if self.order.position(user) >> 6 == word {
                    continue;
                }
                match users.iter().position(|(_, known)| *known == user) {
                    Some(i) => users[i].0 |= 1 << position,
                    None if users.len() == MOST_USERS => return None,
                    None => users.push((1_u64 << position, user)),
                }
            }
        }
        guards.dedup();
        let [guard] = guards[..] else { return None };
        Some(Sweep {
            is_hot: true,
            nodes,
            guard,
            code: compiler.code.finish(),
            outer: compiler.outer.into(),
            constants: compiler.constants.into(),
            users: users.into(),
        })
    }
}

/// Turns the nodes of a word into lines.
struct Compiler<'g> {
    graph: &'g LiveGraph,
    word: usize,
    /// The operation of each function of the graph.
    operations: Vec<Option<CodeKey>>,
    code: StraightWriter,
    outer: Vec<u32>,
    constants: Vec<u64>,
}

impl<'g> Compiler<'g> {
    fn new(graph: &'g LiveGraph, word: usize) -> Self {
        let mut operations = vec![None; graph.functions.len()];
        for (key, code) in &graph.codes {
            operations[*code as usize] = Some(*key);
        }
        let (code, outer, constants) = (StraightWriter::default(), Vec::new(), Vec::new());
        Self { graph, word, operations, code, outer, constants }
    }

    /// The register of an input.
    fn register(&mut self, input: u32) -> u32 {
        let position = self.graph.order.position(input);
        if position >> 6 == self.word && !self.graph.nodes[input as usize].is_source() {
            return (position & 63) as u32;
        }
        let known = self.outer.iter().position(|outer| *outer == input);
        let index = known.unwrap_or_else(|| {
            self.outer.push(input);
            self.outer.len() - 1
        });
        (OUTER + index) as u32
    }

    /// Adds the lines of a node; `None` if it has too many inputs.
    fn add(&mut self, out: u32, at: u32) -> Option<()> {
        let node = self.graph.nodes[at as usize];
        if node.flags.has(Flags::FOLD) {
            self.add_fold(out, at)?;
        } else {
            self.add_operation(out, &node)?;
        }
        (OUTER + self.outer.len() + self.constants.len() <= N_REGISTERS).then_some(())
    }

    fn add_operation(&mut self, out: u32, node: &Node) -> Option<()> {
        let (op, of, to) = self.operations[node.code as usize]?;
        let mut args = [0; 3];
        for (arg, input) in args.iter_mut().zip(node.plain_inputs()) {
            *arg = self.register(*input);
        }
        if node.flags.has(Flags::CONSTANT) {
            let constant = node.constant();
            let known = self.constants.iter().position(|known| *known == constant);
            let index = known.unwrap_or_else(|| {
                self.constants.push(constant);
                self.constants.len() - 1
            });
            args[1] = (N_REGISTERS - 1).saturating_sub(index) as u32;
        }
        self.code.operation((op, of, to), &args[..op.arity()], out);
        Some(())
    }

    fn add_fold(&mut self, out: u32, at: u32) -> Option<()> {
        let graph = self.graph;
        let inputs = graph.inputs_of(at);
        let (op, lane) = graph.folds[graph.nodes[at as usize].code as usize].0;
        match *inputs {
            [only] => {
                let only = self.register(only);
                self.code.operation((Op::Convert, lane, lane), &[only], out);
            }
            [first, ref rest @ ..] if inputs.len() <= MOST_FOLDED => {
                let mut sum = self.register(first);
                for input in rest {
                    let args = [sum, self.register(*input)];
                    self.code.operation((op, lane, lane), &args, out);
                    sum = out;
                }
            }
            [..] => return None,
        }
        Some(())
    }
}

/// The positions of the bits that are set, ascending.
fn bits_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let position = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(position)
    })
}
