//! Making nodes.

use millstream_base::Lane;
use millstream_form::{LaneValue, Op, fold_function, op_function};

use super::demand::Waiting;
use super::node::{Flags, NONE, Node};
use super::special::{Arms, Choice, ChoiceKind, Guard, NOTHING_TAKEN, Special};
use super::{Handle, LiveGraph};

/// A number that picks an arm.
pub trait Selector: LaneValue {
    /// Which of `n` arms: false 0 and true 1, an integer clamped to the arms.
    fn arm(bits: u64, n: usize) -> usize;
}

impl Selector for bool {
    fn arm(bits: u64, n: usize) -> usize {
        usize::from(bits != 0).min(n - 1)
    }
}

impl Selector for i32 {
    fn arm(bits: u64, n: usize) -> usize {
        (bits as i32).clamp(0, n as i32 - 1) as usize
    }
}

impl LiveGraph {
    /// A node that is set from outside.
    pub fn source<T: LaneValue>(&mut self, value: T) -> Handle<T> {
        Handle::of(self.source_of(T::LANE, value.to_bits()))
    }

    /// A node of one operation on one operand, as [`Op`] says.
    ///
    /// # Panics
    /// If the operation does not take this lane and give it again, or has another number of operands.
    pub fn unary<T: LaneValue>(&mut self, op: Op, a: Handle<T>) -> Handle<T> {
        self.operation(op, T::LANE, &[a.node])
    }

    /// A node of one operation on two operands, as [`Op`] says.
    ///
    /// # Panics
    /// As [`LiveGraph::unary`].
    pub fn binary<T: LaneValue>(&mut self, op: Op, a: Handle<T>, b: Handle<T>) -> Handle<T> {
        self.operation(op, T::LANE, &[a.node, b.node])
    }

    /// A node that compares two operands, as [`Op`] says.
    ///
    /// # Panics
    /// If the operation does not take this lane and give a `bool`, or has another number of operands.
    pub fn compare<T: LaneValue>(&mut self, op: Op, a: Handle<T>, b: Handle<T>) -> Handle<bool> {
        self.operation(op, T::LANE, &[a.node, b.node])
    }

    /// A node that gives a value in another lane, as [`Op::Convert`] says.
    pub fn convert<A: LaneValue, R: LaneValue>(&mut self, a: Handle<A>) -> Handle<R> {
        self.operation(Op::Convert, A::LANE, &[a.node])
    }

    /// A node of one operation on a node and a constant, as [`Op`] says.
    ///
    /// # Panics
    /// As [`LiveGraph::unary`].
    pub fn binary_with<T: LaneValue>(&mut self, op: Op, a: Handle<T>, b: T) -> Handle<T> {
        assert_eq!(op.arity(), 2, "`{}` has two operands", op.name());
        let bits = b.to_bits();
        let inputs = [a.node, bits as u32, (bits >> 32) as u32];
        let mut flags = Flags::new(1, T::LANE);
        flags.set(Flags::CONSTANT);
        let code = self.code(op, T::LANE, T::LANE);
        Handle::new(self.linked(Node { value: 0, inputs, users: [NONE; 2], code, flags }))
    }

    /// A node of one operation on three operands, as [`Op`] says.
    ///
    /// # Panics
    /// As [`LiveGraph::unary`].
    pub fn ternary<A: LaneValue>(
        &mut self,
        op: Op,
        a: Handle<A>,
        b: Handle<A>,
        c: Handle<A>,
    ) -> Handle<A> {
        self.operation(op, A::LANE, &[a.node, b.node, c.node])
    }

    fn operation<R: LaneValue>(&mut self, op: Op, of: Lane, operands: &[u32]) -> Handle<R> {
        assert_eq!(op.arity(), operands.len(), "`{}` has its number of operands", op.name());
        Handle::of(self.operation_of(op, of, R::LANE, operands.iter().copied()))
    }

    /// A node that folds many operands with an operation of two, from the first to the last: three
    /// with `Op::Add` give `(a + b) + c`.
    ///
    /// # Panics
    /// As [`LiveGraph::unary`], and without operands.
    pub fn fold<T: LaneValue>(&mut self, op: Op, operands: &[Handle<T>]) -> Handle<T> {
        assert!(!operands.is_empty(), "there is something to fold");
        assert_eq!(op.arity(), 2, "`{}` has two operands", op.name());
        assert!(op.fits(T::LANE, T::LANE), "`{}` folds {}", op.name(), T::LANE);
        let first = self.wide.len() as u32;
        self.wide.extend(operands.iter().map(|operand| operand.node));
        let key = (op, T::LANE);
        let known = self.folds.iter().position(|(known, _)| *known == key);
        let code = known.unwrap_or_else(|| {
            self.folds.push((key, fold_function(op, T::LANE)));
            self.folds.len() - 1
        });
        let mut flags = Flags::new(0, T::LANE);
        flags.set(Flags::FOLD);
        let inputs = [first, operands.len() as u32, 0];
        let code = code as u16;
        Handle::new(self.linked(Node { value: 0, inputs, users: [NONE; 2], code, flags }))
    }

    /// A node that gives on the arm that a selector picks. Only that one is computed; the others
    /// keep what they have.
    ///
    /// # Panics
    /// Without arms.
    pub fn switch<S: Selector, T: LaneValue>(
        &mut self,
        selector: Handle<S>,
        arms: &[Handle<T>],
    ) -> Handle<T> {
        assert!(!arms.is_empty(), "a switch has arms");
        let arms = arms.iter().map(|arm| arm.node);
        Handle::of(self.choice_of(selector.node, S::arm, arms, T::LANE))
    }

    /// A node that asks for some of its inputs only: `wanted` says which, one bit each, by the first
    /// input, and `compute` gets that input, the others (what is not wanted is 0) and those bits.
    ///
    /// # Panics
    /// With more than 63 inputs besides the first.
    pub fn lazily<T: LaneValue>(
        &mut self,
        first: Handle<T>,
        others: &[Handle<T>],
        wanted: fn(first: T, n: usize) -> u64,
        compute: fn(first: T, others: &mut dyn Iterator<Item = T>) -> T,
    ) -> Handle<T> {
        let n = others.len();
        assert!(n < 64, "at most 63 inputs are asked for one at a time");
        let arms = Arms::Set(Box::new(move |bits| wanted(T::from_bits(bits), n)));
        let kind = ChoiceKind::Computed {
            compute: Box::new(move |first, others| {
                compute(T::from_bits(first), &mut others.map(T::from_bits)).to_bits()
            }),
            seen: vec![0; n + 1].into(),
        };
        let mut inputs = vec![0, first.node];
        inputs.extend(others.iter().map(|other| other.node));
        Handle::new(self.choice(first.node, arms, inputs, 2, kind, T::LANE))
    }

    /// The guard and the node of a choice between inputs, of which the first becomes the guard.
    pub(super) fn choice(
        &mut self,
        selector: u32,
        arms: Arms,
        mut inputs: Vec<u32>,
        first_arm: usize,
        kind: ChoiceKind,
        lane: Lane,
    ) -> u32 {
        let choice = self.nodes.len() as u32 + 1;
        let (blocks, waiting) = (Vec::new(), Waiting::new());
        let guard = Guard { selector: [selector], choice, arms, blocks, settled: 0, waiting };
        let guard = self.special(Special::Guard(guard), Lane::I64);
        self.nodes[guard as usize].value = NOTHING_TAKEN;
        inputs[0] = guard;
        let choice = Choice { inputs: inputs.into(), first_arm, seen_taken: NOTHING_TAKEN, kind };
        self.special(Special::Choice(choice), lane)
    }

    /// A node that is more than an operation.
    pub(super) fn special(&mut self, special: Special, lane: Lane) -> u32 {
        let inputs = [self.specials.len() as u32, 0, 0];
        self.specials.push(special);
        let mut flags = Flags::new(0, lane);
        flags.set(Flags::SPECIAL);
        self.linked(Node { value: 0, inputs, users: [NONE; 2], code: 0, flags })
    }

    /// The number of an operation's function.
    pub(super) fn code(&mut self, op: Op, of: Lane, to: Lane) -> u16 {
        assert!(op.fits(of, to), "`{}` takes {of} and gives {to}", op.name());
        let key = (op, of, to);
        if let Some((_, code)) = self.last_code.filter(|(known, _)| *known == key) {
            return code;
        }
        let code = *self.codes.entry(key).or_insert_with(|| {
            self.functions.push(op_function(op, of, to));
            self.functions.len() as u16 - 1
        });
        self.last_code = Some((key, code));
        code
    }

    /// Adds a node that reads others; they are told of it later, see `linked`.
    pub(super) fn linked(&mut self, node: Node) -> u32 {
        let at = self.push(node);
        if !self.failed.is_empty() && self.reads_any_failed(at) {
            self.nodes[at as usize].flags.set(Flags::CAREFUL);
        }
        at
    }

    pub(super) fn push(&mut self, node: Node) -> u32 {
        if self.nodes.is_empty() {
            // Node 0 is what unused inputs read.
            let flags = Flags(Flags::SPECIAL);
            let inputs = [NONE, 0, 0];
            self.nodes.push(Node { value: 0, inputs, users: [NONE; 2], code: 0, flags });
            self.order.push();
        }
        let at = u32::try_from(self.nodes.len()).expect("limits keep nodes within 32 bits");
        self.reserve(1);
        self.nodes.push(node);
        self.order.push();
        self.dirty.grow(self.order.len());
        at
    }
}
