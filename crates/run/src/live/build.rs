//! Making nodes of operations on numbers; see `choice` for switches and dynamic nodes.

use millstream_base::Lane;
use millstream_form::{LaneValue, Op, fold_function, op_function};

use super::node::{Flags, NONE, Node};
use super::special::Special;
use super::{Handle, LiveGraph};

impl LiveGraph {
    /// A source: a node that is set from outside.
    pub fn source<T: LaneValue>(&mut self, value: T) -> Handle<T> {
        Handle::of(self.source_of(T::LANE, value.to_bits()))
    }

    /// A node of one operation on one operand, as [`Op`] says.
    ///
    /// # Panics
    /// If the operation does not take and return this lane, or has another number of operands.
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
    /// If the operation does not compare values of this lane, or has another number of operands.
    pub fn compare<T: LaneValue>(&mut self, op: Op, a: Handle<T>, b: Handle<T>) -> Handle<bool> {
        self.operation(op, T::LANE, &[a.node, b.node])
    }

    /// A node that converts a value to another type, as [`Op::Convert`] says.
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

    /// A node that passes its input on.
    ///
    /// ```
    /// use millstream_run::live::LiveGraph;
    ///
    /// let mut graph = LiveGraph::new();
    /// let x = graph.source(3_i32);
    /// let alias = graph.identity(x);
    /// assert_eq!(graph.get(alias), 3);
    /// ```
    pub fn identity<T: LaneValue>(&mut self, a: Handle<T>) -> Handle<T> {
        self.convert(a)
    }

    /// The sum of operands, from the first to the last.
    ///
    /// # Panics
    /// Without operands, or if they are `bool`.
    pub fn sum<T: LaneValue>(&mut self, operands: &[Handle<T>]) -> Handle<T> {
        self.fold(Op::Add, operands)
    }

    /// The product of operands, from the first to the last.
    ///
    /// # Panics
    /// Without operands, or if they are `bool`.
    pub fn product<T: LaneValue>(&mut self, operands: &[Handle<T>]) -> Handle<T> {
        self.fold(Op::Mul, operands)
    }

    /// The smallest operand, as [`Op::Min`] says.
    ///
    /// # Panics
    /// Without operands, or if they are `bool`.
    pub fn min<T: LaneValue>(&mut self, operands: &[Handle<T>]) -> Handle<T> {
        self.fold(Op::Min, operands)
    }

    /// The largest operand, as [`Op::Max`] says.
    ///
    /// # Panics
    /// Without operands, or if they are `bool`.
    pub fn max<T: LaneValue>(&mut self, operands: &[Handle<T>]) -> Handle<T> {
        self.fold(Op::Max, operands)
    }

    /// Whether all operands are true.
    ///
    /// # Panics
    /// Without operands.
    pub fn all(&mut self, operands: &[Handle<bool>]) -> Handle<bool> {
        self.fold(Op::And, operands)
    }

    /// Whether any operand is true.
    ///
    /// # Panics
    /// Without operands.
    pub fn any(&mut self, operands: &[Handle<bool>]) -> Handle<bool> {
        self.fold(Op::Or, operands)
    }

    /// A node that combines many operands with an operation of two, from the first to the last:
    /// with [`Op::Add`], three operands become `(a + b) + c`.
    ///
    /// ```
    /// use millstream_run::live::{LiveGraph, Op};
    ///
    /// let mut graph = LiveGraph::new();
    /// let masks = [0b001_i32, 0b100].map(|mask| graph.source(mask));
    /// let union = graph.fold(Op::Or, &masks);
    /// assert_eq!(graph.get(union), 0b101);
    /// ```
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

    /// A node that is more than one operation on numbers.
    pub(super) fn special(&mut self, special: Special, lane: Lane) -> u32 {
        let inputs = [self.specials.len() as u32, 0, 0];
        self.specials.push(special);
        let mut flags = Flags::new(0, lane);
        flags.set(Flags::SPECIAL);
        self.linked(Node { value: 0, inputs, users: [NONE; 2], code: 0, flags })
    }

    /// The number of the function of an operation.
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

    /// Adds a node that reads others; it becomes their user later, see `linked`.
    pub(super) fn linked(&mut self, node: Node) -> u32 {
        let at = self.push(node);
        if !self.failed.is_empty() && self.reads_any_failed(at) {
            self.nodes[at as usize].flags.set(Flags::CAREFUL);
        }
        at
    }

    pub(super) fn push(&mut self, node: Node) -> u32 {
        if self.nodes.is_empty() {
            // Unused inputs read node 0.
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
