//! Nodes that read only some of their inputs: switches and dynamic nodes.
//!
//! The first input, the selector, says which of the others, the arms, are *taken*. When a wave
//! reaches such a node, everything that the node always reads is settled. Arms that are taken and
//! asleep are then woken. If nodes before this one must run for them, the wave goes back to those,
//! and visits this node again once they are settled. See `demand`.

use std::marker::PhantomData;

use millstream_base::{Column, Lane};
use millstream_form::LaneValue;
use millstream_node::function::catch_failure;
use millstream_node::{Data, Failure};

use super::boxed::Boxes;
use super::columns::{arms_taken, selected};
use super::demand::Waiting;
use super::node::{NONE, Node};
use super::special::Special;
use super::{Handle, LiveGraph, NodeNumber};
use crate::buffers::Buffers;

/// A number that picks an arm of a switch.
pub trait Selector: LaneValue {
    /// The arm, out of `n`, for a selector of these bits: `false` is 0 and `true` is 1, integers
    /// are clamped to the arms, floats are truncated first, and NaN is 0.
    fn arm(bits: u64, n: usize) -> usize;
}

impl Selector for bool {
    fn arm(bits: u64, n: usize) -> usize {
        usize::from(bits != 0).min(n - 1)
    }
}

fn clamped(number: i64, n: usize) -> usize {
    number.clamp(0, n as i64 - 1) as usize
}

impl Selector for i32 {
    fn arm(bits: u64, n: usize) -> usize {
        clamped(i64::from(bits as i32), n)
    }
}

impl Selector for i64 {
    fn arm(bits: u64, n: usize) -> usize {
        clamped(bits as i64, n)
    }
}

impl Selector for f32 {
    fn arm(bits: u64, n: usize) -> usize {
        clamped(Self::from_bits(bits as u32) as i64, n)
    }
}

impl Selector for f64 {
    fn arm(bits: u64, n: usize) -> usize {
        clamped(Self::from_bits(bits) as i64, n)
    }
}

/// The taken arms of a dynamic node: an iterator over their values, in the order of the arms.
#[derive(Clone, Debug)]
pub struct Taken<'v, T> {
    taken: u64,
    /// The arms that the iterator has not reached yet.
    left: u64,
    values: &'v [u64],
    of: PhantomData<fn() -> T>,
}

impl<'v, T> Taken<'v, T> {
    fn new(taken: u64, values: &'v [u64]) -> Self {
        Self { taken, left: taken, values, of: PhantomData }
    }
}

impl<T: LaneValue> Taken<'_, T> {
    /// The value of an arm, counted from 0; `None` if it is not taken.
    pub fn get(&self, arm: usize) -> Option<T> {
        let is_taken = arm < self.values.len() && self.taken >> arm & 1 != 0;
        is_taken.then(|| T::from_bits(self.values[arm]))
    }
}

impl<T: LaneValue> Iterator for Taken<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let arm = self.left.trailing_zeros() as usize;
        let value = self.values.get(arm)?;
        self.left &= self.left - 1;
        Some(T::from_bits(*value))
    }
}

/// The functions of a dynamic node, on bits. A panic becomes a failure.
trait Dynamic: Send {
    /// The arms that are taken, one bit each.
    fn wanted(&self, selector: u64) -> Result<u64, Box<Failure>>;
    /// The value of the node.
    fn value(&self, selector: u64, taken: u64, arms: &[u64]) -> Result<u64, Box<Failure>>;
}

/// The functions of a dynamic node, with their types.
struct Functions<S, T, R, W, V> {
    wanted: W,
    value: V,
    types: PhantomData<fn(S, T) -> R>,
}

impl<S, T, R, W, V> Dynamic for Functions<S, T, R, W, V>
where
    S: LaneValue,
    T: LaneValue,
    R: LaneValue,
    W: Fn(S) -> u64 + Send,
    V: Fn(S, Taken<'_, T>) -> R + Send,
{
    fn wanted(&self, selector: u64) -> Result<u64, Box<Failure>> {
        catch_failure(|| (self.wanted)(S::from_bits(selector))).map_err(Box::new)
    }

    fn value(&self, selector: u64, taken: u64, arms: &[u64]) -> Result<u64, Box<Failure>> {
        let taken = Taken::new(taken, arms);
        catch_failure(|| (self.value)(S::from_bits(selector), taken).to_bits()).map_err(Box::new)
    }
}

/// A switch or a dynamic node.
pub(super) struct Choice {
    /// The selector, then the arms; empty once the node is removed.
    pub(super) inputs: Box<[u32]>,
    /// The bits of the selector for which `taken` was computed.
    taken_for: Option<u64>,
    /// The taken arms: the number of the arm of a switch, or one bit each.
    pub(super) taken: u64,
    /// The arms that were taken at the last run.
    last_taken: u64,
    kind: Kind,
    /// The demand for the arms, if nodes are demanded only through them.
    pub(super) guards: Option<Box<Guards>>,
}

/// The demand for nodes through the arms of a choice.
pub(super) struct Guards {
    /// The block of each arm; [`NONE`] for arms through which nothing is guarded.
    pub(super) blocks: Box<[u32]>,
    /// The last wave that visited the choice.
    pub(super) settled: u64,
    /// Blocks of arms that wait until the choice is visited.
    pub(super) waiting: Waiting,
}

/// How a choice computes its value from the taken arms.
enum Kind {
    /// It passes one arm on, which the function computes from the bits of the selector and the
    /// number of arms.
    Switch(fn(u64, usize) -> usize),
    /// It passes on the arm that the function picks, for each element if the selector is a column.
    Select {
        pick: fn(u64, usize) -> usize,
        /// The stamps of the inputs at the last run, 0 for arms that were not read.
        read: Box<[u64]>,
    },
    Dynamic {
        functions: Box<dyn Dynamic>,
        /// The bits of the inputs at the last run, 0 for arms that were not read.
        read: Box<[u64]>,
    },
}

/// The value of [`Choice::taken`] that means no arm.
const NOTHING: u64 = u64::MAX;

/// Maximal number of arms of a dynamic node, so that the bits of all of them differ from
/// [`NOTHING`].
const MOST_ARMS: usize = 63;

impl Choice {
    fn new(inputs: Box<[u32]>, kind: Kind) -> Self {
        let (taken, last_taken) = (NOTHING, NOTHING);
        Self { inputs, taken_for: None, taken, last_taken, kind, guards: None }
    }

    pub(super) fn selector(&self) -> u32 {
        self.inputs[0]
    }

    pub(super) fn arms(&self) -> &[u32] {
        &self.inputs[1..]
    }

    /// Whether an arm is taken.
    pub(super) fn takes(&self, arm: usize) -> bool {
        match self.kind {
            Kind::Switch(_) => self.taken == arm as u64,
            Kind::Select { .. } | Kind::Dynamic { .. } => {
                self.taken != NOTHING && self.taken >> arm & 1 != 0
            }
        }
    }

    /// Whether an arm is taken for these bits of the selector; `None` if only a visit to the node
    /// can tell.
    pub(super) fn would_take(&self, selector: u64, arm: usize) -> Option<bool> {
        match self.kind {
            Kind::Switch(pick) => Some(pick(selector, self.arms().len()) == arm),
            Kind::Select { .. } | Kind::Dynamic { .. } => {
                (self.taken_for == Some(selector)).then(|| self.takes(arm))
            }
        }
    }

    /// The blocks of arms that may be taken now: for a switch, only that of the taken arm.
    #[inline(always)]
    pub(super) fn blocks_taken(&self) -> &[u32] {
        match (&self.guards, &self.kind) {
            (None, _) => &[],
            (Some(guards), Kind::Switch(_)) => &guards.blocks[self.taken as usize..][..1],
            (Some(guards), Kind::Select { .. } | Kind::Dynamic { .. }) => &guards.blocks,
        }
    }

    /// The function that picks the arm of a switch or a select.
    pub(super) fn pick(&self) -> Option<fn(u64, usize) -> usize> {
        match self.kind {
            Kind::Switch(pick) | Kind::Select { pick, .. } => Some(pick),
            Kind::Dynamic { .. } => None,
        }
    }

    /// The arm that a switch takes.
    pub(super) fn arm_taken(&self) -> Option<u32> {
        match self.kind {
            Kind::Switch(_) => self.arms().get(usize::try_from(self.taken).ok()?).copied(),
            Kind::Select { .. } | Kind::Dynamic { .. } => None,
        }
    }

    /// Takes over what another switch took.
    pub(super) fn take_over(&mut self, other: &Self) {
        (self.taken_for, self.taken) = (other.taken_for, other.taken);
        self.last_taken = other.last_taken;
        if let (Kind::Select { read, .. }, Kind::Select { read: other, .. }) =
            (&mut self.kind, &other.kind)
        {
            read.clone_from(other);
        }
    }

    /// Whether its value is made of its arms, not passed on.
    pub(super) fn is_select(&self) -> bool {
        matches!(self.kind, Kind::Select { .. })
    }

    /// Takes the arms that a selector picks for any element.
    pub(super) fn take_columns(&mut self, stamp: u64, selector: Option<&Data>) {
        let n_arms = self.arms().len();
        if let (Kind::Select { pick, .. }, Some(selector)) = (&self.kind, selector)
            && self.taken_for != Some(stamp)
        {
            self.taken = arms_taken(selector, *pick, n_arms);
            self.taken_for = Some(stamp);
        }
    }

    /// The data that a select passes on; `None` if its inputs have not changed since its last run.
    pub(super) fn selected(
        &mut self,
        nodes: &[Node],
        (boxes, buffers): (&Boxes, &mut Buffers),
        is_new: bool,
    ) -> Option<Data> {
        let n_arms = self.arms().len();
        let Kind::Select { pick, read } = &mut self.kind else { return None };
        let mut differs = is_new;
        for (k, (input, read)) in self.inputs.iter().zip(&mut **read).enumerate() {
            if k == 0 || self.taken >> (k - 1) & 1 != 0 {
                let stamp = nodes[*input as usize].value;
                differs |= std::mem::replace(read, stamp) != stamp;
            }
        }
        if !differs {
            return None;
        }
        let data = |k: usize| boxes.of(&nodes[self.inputs[k] as usize]);
        match data(0)? {
            Data::Many(selector) if !self.taken.is_power_of_two() => {
                let arm = |k: usize| data(k + 1);
                Some(Data::Many(selected(selector, *pick, n_arms, arm, buffers)?))
            }
            selector => match (selector, data(1 + self.taken.trailing_zeros() as usize)?) {
                // Elements pick, so each has a value.
                (Data::Many(selector), Data::One(value)) => {
                    Some(Data::Many(Column::filled(value, selector.len())))
                }
                (_, arm) => Some(arm.clone()),
            },
        }
    }

    /// Drops the functions and links of a node that is removed.
    pub(super) fn clear(&mut self) {
        *self = Self::new(Box::default(), Kind::Switch(<bool as Selector>::arm));
    }

    /// Bytes besides the choice itself.
    pub(super) fn bytes(&self) -> usize {
        let kind = match &self.kind {
            Kind::Switch(_) => 0,
            Kind::Select { read, .. } => size_of_val(&**read),
            Kind::Dynamic { functions, read } => size_of_val(&**functions) + size_of_val(&**read),
        };
        let guards = self.guards.as_ref();
        let guards = guards.map_or(0, |guards| size_of::<Guards>() + size_of_val(&*guards.blocks));
        size_of_val(&*self.inputs) + kind + guards
    }

    /// Takes the arms for these bits of a selector.
    ///
    /// # Errors
    /// If the function that computes the arms panics, or did for these bits.
    #[inline(always)]
    pub(super) fn take_for(
        &mut self,
        selector: u64,
        is_new: bool,
    ) -> Result<(), Option<Box<Failure>>> {
        match &self.kind {
            Kind::Switch(pick) => self.taken = pick(selector, self.inputs.len() - 1) as u64,
            Kind::Select { .. } => panic!("a select takes arms by its data"),
            Kind::Dynamic { functions, read } => {
                if is_new || self.taken_for != Some(selector) {
                    self.taken_for = Some(selector);
                    let all = (1 << (read.len() - 1)) - 1;
                    match functions.wanted(selector) {
                        Ok(wanted) => self.taken = wanted & all,
                        Err(failure) => {
                            self.taken = NOTHING;
                            return Err(Some(failure));
                        }
                    }
                } else if self.taken == NOTHING {
                    return Err(None);
                }
            }
        }
        Ok(())
    }

    /// Takes no arm, because the selector has no value.
    pub(super) fn take_nothing(&mut self) {
        (self.taken_for, self.taken) = (None, NOTHING);
    }

    /// Whether the taken arms differ from those of the last run, which they replace.
    pub(super) fn has_toggled(&mut self) -> bool {
        std::mem::replace(&mut self.last_taken, self.taken) != self.taken
    }

    /// Computes the value from the numbers at the nodes; `None` if they are those of the last run.
    #[inline(always)]
    pub(super) fn compute(
        &mut self,
        nodes: &[Node],
        at: usize,
        is_new: bool,
    ) -> Option<Result<u64, Box<Failure>>> {
        let mut differs = self.has_toggled() | is_new;
        match &mut self.kind {
            Kind::Switch(_) => {
                let value = nodes[self.inputs[1 + self.taken as usize] as usize].value;
                (differs || value != nodes[at].value).then_some(Ok(value))
            }
            Kind::Select { .. } => panic!("a select passes data on"),
            Kind::Dynamic { functions, read } => {
                let selector = nodes[self.inputs[0] as usize].value;
                differs |= std::mem::replace(&mut read[0], selector) != selector;
                let arms = self.inputs[1..].iter().zip(&mut read[1..]);
                for (arm, (input, read)) in arms.enumerate() {
                    if self.taken >> arm & 1 != 0 {
                        let value = nodes[*input as usize].value;
                        differs |= std::mem::replace(read, value) != value;
                    }
                }
                differs.then(|| functions.value(selector, self.taken, &read[1..]))
            }
        }
    }
}

impl LiveGraph {
    /// A node that passes on the arm that a selector picks. Only that arm is computed; the others
    /// keep their values.
    ///
    /// ```
    /// use millstream_run::live::LiveGraph;
    ///
    /// let mut graph = LiveGraph::new();
    /// let frame = graph.source(1.5_f32);
    /// let poses = [10.0, 20.0, 30.0].map(|pose| graph.source(pose));
    /// let pose = graph.switch(frame, &poses);
    /// assert_eq!(graph.get(pose), 20.0);
    /// graph.set(frame, 99.0);
    /// assert_eq!(graph.get(pose), 30.0);
    /// ```
    ///
    /// # Panics
    /// Without arms.
    pub fn switch<S: Selector, T: LaneValue>(
        &mut self,
        selector: Handle<S>,
        arms: &[Handle<T>],
    ) -> Handle<T> {
        let arms = arms.iter().map(|arm| arm.node);
        Handle::new(self.switch_of(selector.node, S::arm, arms, T::LANE))
    }

    pub(super) fn switch_of(
        &mut self,
        selector: u32,
        pick: fn(u64, usize) -> usize,
        arms: impl ExactSizeIterator<Item = u32>,
        lane: Lane,
    ) -> u32 {
        assert!(arms.len() > 0, "a switch has arms");
        self.choice(selector, arms, Kind::Switch(pick), lane)
    }

    /// A node that passes on, for each element, the arm that the selector picks. Arms that no
    /// element picks are not computed.
    ///
    /// # Errors
    /// If there are too many arms.
    pub(super) fn select_of(
        &mut self,
        pick: fn(u64, usize) -> usize,
        inputs: &[NodeNumber],
    ) -> Result<NodeNumber, &'static str> {
        let arms = inputs[1..].iter().map(|arm| arm.0);
        if arms.len() > MOST_ARMS {
            return Err("it picks among too many inputs for columns");
        }
        let kind = Kind::Select { pick, read: vec![0; inputs.len()].into() };
        let node = self.choice(inputs[0].0, arms, kind, Lane::I64);
        self.put_in_box(node, None);
        Ok(NodeNumber(node))
    }

    /// A dynamic node, whose selector determines which arms it reads. `wanted` returns these arms,
    /// one bit each, and only they are computed. `value` receives the selector and the values of
    /// those arms. Both closures may capture; they must be pure.
    ///
    /// ```
    /// use millstream_run::live::LiveGraph;
    ///
    /// let mut graph = LiveGraph::new();
    /// let n_lights = graph.source(2_i32);
    /// let lights = [0.5, 0.25, 4.0].map(|light| graph.source(light));
    /// let exposure = 2.0;
    /// let brightness = graph.dynamic(
    ///     n_lights,
    ///     &lights,
    ///     |n| (1 << n) - 1,
    ///     move |_, lights| exposure * lights.sum::<f64>(),
    /// );
    /// assert_eq!(graph.get(brightness), 1.5);
    /// ```
    ///
    /// # Panics
    /// With more than 63 arms.
    pub fn dynamic<S: LaneValue, T: LaneValue, R: LaneValue>(
        &mut self,
        selector: Handle<S>,
        arms: &[Handle<T>],
        wanted: impl Fn(S) -> u64 + Send + 'static,
        value: impl Fn(S, Taken<'_, T>) -> R + Send + 'static,
    ) -> Handle<R> {
        assert!(arms.len() <= MOST_ARMS, "a dynamic node has at most {MOST_ARMS} arms");
        let functions = Box::new(Functions { wanted, value, types: PhantomData });
        let read = vec![0; arms.len() + 1].into();
        let arms = arms.iter().map(|arm| arm.node);
        let kind = Kind::Dynamic { functions, read };
        Handle::new(self.choice(selector.node, arms, kind, R::LANE))
    }

    fn choice(
        &mut self,
        selector: u32,
        arms: impl ExactSizeIterator<Item = u32>,
        kind: Kind,
        lane: Lane,
    ) -> u32 {
        let mut inputs = Vec::with_capacity(1 + arms.len());
        inputs.push(selector);
        inputs.extend(arms);
        let choice = Choice::new(inputs.into(), kind);
        self.special(Special::Choice(choice), lane)
    }

    /// The switch or dynamic node at a number, if it is one.
    pub(super) fn choice_at(&self, at: u32) -> Option<&Choice> {
        match self.special_at(at)? {
            Special::Choice(choice) => Some(choice),
            Special::Form(_) | Special::Call(_) | Special::Output(_) => None,
        }
    }
}

impl Guards {
    /// The guards of a choice with `n_arms` arms, none of which guards anything.
    pub(super) fn new(n_arms: usize) -> Self {
        Self { blocks: vec![NONE; n_arms].into(), settled: 0, waiting: Waiting::new() }
    }
}
