//! A model of the meaning: slow, obvious, and independent of all evaluators.
//!
//! The model evaluates one output of one node in one context for one cell; [`Model::evaluate`] does
//! so for each cell of a request. A context has a value for each feature at each level; a cell has
//! a position along each open axis. Every input is evaluated again, recursively, in the context
//! that the scope of its socket creates. There are no columns, no masks and no sharing, only a memo
//! by (node, full context, cell), which can be switched off.
//!
//! Besides the values, the model states which nodes may fail, and bounds of the number of elements
//! that an evaluator has to compute of each node. The lower bound counts elements that differ in
//! anything that was read; the upper bound counts the cells of the node's axes, for each restricted
//! context. The bounds are usually equal.

mod bounds;
mod context;
mod evaluate;
mod items;
mod program;
mod repeat;
mod scope;
mod state_writers;
#[cfg(test)]
mod tests;
mod world;

use std::collections::BTreeSet;
use std::rc::Rc;

use millstream_base::id::Id;
use millstream_base::{Column, Feature, Limits, Need, Value};
use rustc_hash::{FxHashMap, FxHashSet};

pub use bounds::Elements;
pub use context::Bits;
use context::{Axis, AxisId, Cell, CtxId, Entry, Interner, Known, KnownId, Stacks, levels_mut};
pub use program::{Link, Program, ProgramNode, ProgramOp, ProgramOutput};
pub use state_writers::{Elements as KeptElements, Kept};
pub use world::{Refusal, World};

/// The nodes that failed themselves, by position.
pub type Failed = BTreeSet<usize>;

/// The statement of the model about a request.
#[derive(Clone, Debug)]
pub struct Expected {
    /// For each requested output, a value per cell with time outermost, or the failed nodes.
    pub outputs: Vec<Result<Column, Failed>>,
    /// The same by cell: `None` where it fails.
    pub cells: Vec<Vec<Option<Value>>>,
    /// The nodes that fail at a demanded cell.
    pub failed: Failed,
    /// The number of elements to compute of each node.
    pub elements: Vec<Elements>,
    /// The new state of each node inside of scopes, for the elements for which it was called;
    /// `None` if that failed.
    pub kept: Vec<Option<Kept>>,
    /// Whether a loop ran no rounds at any cell. An evaluator may then find its list to be the same
    /// for all cells, and fall below the lower bounds.
    pub has_idle_loop: bool,
}

/// The result of one evaluation of a node.
#[derive(Clone, Debug)]
struct Found {
    value: Result<Value, Rc<Failed>>,
    seen: Rc<bounds::Seen>,
}

/// The model of one program under one request.
#[derive(Debug)]
pub struct Model<'a> {
    program: &'a Program,
    world: &'a World,
    limits: Limits,
    has_memo: bool,
    /// Whether choices also count the needs of arms that are not taken.
    counts_all_arms: bool,
    max_evaluations: usize,
    needs: Vec<BTreeSet<Need>>,
    contexts: Interner<Stacks>,
    knowns: Interner<Known>,
    axes: Interner<Axis>,
    memo: FxHashMap<(bool, Link, CtxId, Cell), Found>,
    /// Whether the current evaluation is demanded, and counts.
    is_asked: bool,
    axes_of: FxHashMap<(usize, CtxId), Rc<BTreeSet<AxisId>>>,
    restricted: FxHashMap<(usize, CtxId), usize>,
    restrictions: Interner<Vec<bounds::Restricted>>,
    plain_axes: Interner<bounds::PlainAxis>,
    least: Vec<FxHashSet<bounds::Least>>,
    most: Vec<FxHashSet<bounds::Most>>,
    failed: Failed,
    /// The greatest extent of each axis that was gathered.
    rounds: FxHashMap<AxisId, u32>,
    depth: usize,
    n_evaluations: usize,
    /// The cells for which each node was called.
    calls: Vec<FxHashSet<(CtxId, Cell)>>,
    /// The cells for which loops have no items: the node, its socket, and the context inside.
    idle_loops: FxHashSet<(usize, usize, CtxId, Cell)>,
    /// The axes of readers that are assumed while they are being determined.
    assumed_axes: FxHashMap<(usize, CtxId), BTreeSet<AxisId>>,
}

const TIME: usize = 0;
const VIEW: usize = 1;
const INDEX: usize = 2;
const MAX_DEPTH: usize = 300;
const MAX_ITEMS: usize = 20_000;

impl<'a> Model<'a> {
    /// The model of a program with the data of a request.
    pub fn new(program: &'a Program, world: &'a World) -> Self {
        let mut axes = Interner::new();
        axes.number(Axis::Time);
        axes.number(Axis::View);
        axes.number(Axis::Index);
        let n_nodes = program.nodes.len();
        Self {
            program,
            world,
            limits: Limits::default(),
            has_memo: true,
            counts_all_arms: false,
            max_evaluations: 400_000,
            needs: context::needs(program),
            contexts: Interner::new(),
            knowns: Interner::new(),
            axes,
            memo: FxHashMap::default(),
            is_asked: true,
            axes_of: FxHashMap::default(),
            restricted: FxHashMap::default(),
            restrictions: Interner::new(),
            plain_axes: Interner::new(),
            least: vec![FxHashSet::default(); n_nodes],
            most: vec![FxHashSet::default(); n_nodes],
            failed: Failed::new(),
            rounds: FxHashMap::default(),
            depth: 0,
            n_evaluations: 0,
            calls: vec![FxHashSet::default(); program.state_writers.len()],
            idle_loops: FxHashSet::default(),
            assumed_axes: FxHashMap::default(),
        }
    }

    /// Disables the memo: every node is evaluated as often as it is read.
    pub fn without_memo(self) -> Self {
        Self { has_memo: false, ..self }
    }

    /// Counts all arms of choices. The number of elements of a form is then the maximum for an
    /// evaluator that selects among arms. Failures in arms that are not taken count too, so the
    /// other statements mean nothing.
    pub fn with_all_arms(self) -> Self {
        Self { counts_all_arms: true, ..self }
    }

    /// Sets the limits of functions.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Evaluates all requested outputs at each cell of the request.
    ///
    /// # Errors
    /// If the program is too large for the model, or has no meaning.
    pub fn evaluate(mut self) -> Result<Expected, Refusal> {
        let root = self.root();
        let [times, views, count] = self.world.extents();
        let (mut outputs, mut cells) = (Vec::new(), Vec::new());
        for output in &self.world.outputs {
            let output = &self.program.outputs[*output];
            let mut values: Vec<Option<Value>> = Vec::new();
            let mut failed = Failed::new();
            for cell in self.request_cells(output.link.node, root)? {
                match self.eval(output.link, root, &cell)?.value {
                    Ok(value) => values.push(Some(value)),
                    Err(nodes) => {
                        failed.extend(nodes.iter());
                        values.push(None);
                    }
                }
            }
            values.truncate(times * views * count);
            let column = || {
                let mut values = values.iter().flatten().cloned();
                output.ty.collect(&mut values).expect("values have the output's type")
            };
            outputs.push(if failed.is_empty() { Ok(column()) } else { Err(failed) });
            cells.push(values);
        }
        let kept = self.keep_on()?;
        let elements = self.elements();
        let has_idle_loop = self.rounds.values().any(|n| *n == 0);
        Ok(Expected { outputs, cells, failed: self.failed, elements, kept, has_idle_loop })
    }

    /// The context of the outputs.
    fn root(&mut self) -> CtxId {
        let mut stacks = Stacks::new();
        for (i, (feature, _)) in self.world.features.iter().enumerate() {
            let known = self.known(Known::Given(i));
            levels_mut(&mut stacks, feature).push(Entry { known, axis: None });
        }
        self.open(&mut stacks, &Feature::Index, INDEX, self.world.count);
        self.open(&mut stacks, &Feature::Position, INDEX, self.world.count);
        self.open(&mut stacks, &Feature::Time, TIME, self.world.times);
        self.open(&mut stacks, &Feature::Tick, TIME, self.world.times);
        self.open(&mut stacks, &Feature::Footprint, VIEW, self.world.views);
        self.context(stacks)
    }

    /// Notes that the request opened an axis for a feature, whether or not it gives the value.
    fn open(&mut self, stacks: &mut Stacks, feature: &Feature, axis: usize, extent: Option<usize>) {
        if extent.is_none() {
            return;
        }
        let missing = self.known(Known::Missing);
        let levels = levels_mut(stacks, feature);
        if levels.is_empty() {
            levels.push(Entry { known: missing, axis: None });
        }
        levels[0].axis = Some(AxisId::from_index(axis));
    }

    /// The cells of the request, time outermost; for a request without cells, those of the axes
    /// that the node has.
    fn request_cells(&mut self, node: usize, root: CtxId) -> Result<Vec<Cell>, Refusal> {
        let axes = self.axes_of(node, root)?;
        let world = self.world;
        let extents = [(TIME, world.times), (VIEW, world.views), (INDEX, world.count)];
        let mut cells = vec![Cell::new()];
        for (axis, extent) in extents {
            let axis = AxisId::from_index(axis);
            let Some(n) = extent.filter(|n| *n > 0 || axes.contains(&axis)) else { continue };
            let along = |cell: &Cell| {
                let cell = cell.clone();
                (0..n as u32).map(move |i| [&cell[..], &[(axis, i)]].concat())
            };
            cells = cells.iter().flat_map(along).collect();
        }
        Ok(cells)
    }

    fn known(&mut self, known: Known) -> KnownId {
        KnownId::from_index(self.knowns.number(known))
    }

    fn context(&mut self, stacks: Stacks) -> CtxId {
        CtxId::from_index(self.contexts.number(stacks))
    }

    fn axis(&mut self, axis: Axis) -> AxisId {
        AxisId::from_index(self.axes.number(axis))
    }
}
