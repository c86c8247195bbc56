//! Builds forms: registers are values with operators.
//!
//! Every instruction goes through [`FormBuilder::emit`], which folds constants and returns the
//! register of an equal earlier instruction instead of a second one.

use std::cell::RefCell;
use std::fmt;

use millstream_base::Lane;
use millstream_base::id::{Arena, Id, SideTable};
use rustc_hash::FxHashMap;

use crate::inst::{Form, Inst, Reg};
use crate::interpret::eval_op;
use crate::lane_value::LaneValue;
use crate::op::Op;

/// Builds a [`Form`]. Its values are [`Val`]s, which borrow the builder.
///
/// ```
/// # use millstream_form::FormBuilder;
/// # use millstream_base::Lane;
/// let b = FormBuilder::new();
/// let (x, y) = (b.param(Lane::F32), b.param(Lane::F32));
/// let length = (x * x + y * y).sqrt();
/// let half = length.gt(1.0).select(length * 0.5, length);
/// let form = b.finish(&[half]);
/// let mut result = [0];
/// let params = [6.0_f32, 8.0].map(|x| u64::from(x.to_bits()));
/// form.run_scalar(&params, &mut result, &mut Vec::new());
/// assert_eq!(f32::from_bits(result[0] as u32), 5.0);
/// ```
#[derive(Default)]
pub struct FormBuilder {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    params: Vec<Lane>,
    insts: Arena<Reg, Inst>,
    known: FxHashMap<Inst, Reg>,
}

/// A value in a form being built: a register and its lane.
///
/// `+ - * / %`, unary `-`, and `& | ^ !` mean the operations of those lanes. The other operand of
/// an operator or method may be a Rust number, which becomes a constant of this value's lane.
/// Operands of different lanes panic.
#[derive(Clone, Copy)]
pub struct Val<'b> {
    pub(crate) builder: &'b FormBuilder,
    pub(crate) reg: Reg,
    pub(crate) lane: Lane,
}

/// A value, or a Rust number that becomes a constant of the lane it is used with.
pub trait Operand<'b>: Copy {
    /// The lane of an operand that has one.
    fn lane(&self) -> Option<Lane>;
    /// The operand as a value of `lane`. A value keeps its own lane, so it may not fit.
    fn into_val(self, builder: &'b FormBuilder, lane: Lane) -> Val<'b>;
}

impl<'b> Operand<'b> for Val<'b> {
    fn lane(&self) -> Option<Lane> {
        Some(self.lane)
    }
    fn into_val(self, _builder: &'b FormBuilder, _lane: Lane) -> Self {
        self
    }
}

macro_rules! number_operands {
    ($($number:ident)*) => {$(
        impl<'b> Operand<'b> for $number {
            fn lane(&self) -> Option<Lane> {
                None
            }
            #[track_caller]
            fn into_val(self, builder: &'b FormBuilder, lane: Lane) -> Val<'b> {
                builder.constant(lane, f64::from(self))
            }
        }
    )*};
}

number_operands!(i32 f32 f64);

impl<'b> Operand<'b> for i64 {
    fn lane(&self) -> Option<Lane> {
        None
    }
    #[track_caller]
    fn into_val(self, builder: &'b FormBuilder, lane: Lane) -> Val<'b> {
        match lane {
            Lane::I64 => builder.constant_i64(self),
            Lane::Bool | Lane::I32 | Lane::F32 | Lane::F64 => builder.constant(lane, self as f64),
        }
    }
}

impl<'b> Operand<'b> for bool {
    fn lane(&self) -> Option<Lane> {
        Some(Lane::Bool)
    }
    fn into_val(self, builder: &'b FormBuilder, _lane: Lane) -> Val<'b> {
        builder.constant_bool(self)
    }
}

impl FormBuilder {
    /// A builder of a form that has no parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a parameter.
    pub fn param(&self, lane: Lane) -> Val<'_> {
        let mut state = self.state.borrow_mut();
        let number = u32::try_from(state.params.len()).expect("limits keep parameters few");
        state.params.push(lane);
        let reg = state.insts.push(Inst::new(Op::Param(number), lane, lane, &[]));
        Val { builder: self, reg, lane }
    }

    /// Appends parameters of these lanes.
    pub fn params<const N: usize>(&self, lanes: [Lane; N]) -> [Val<'_>; N] {
        lanes.map(|lane| self.param(lane))
    }

    /// The constant of `lane` that is nearest to `value`.
    ///
    /// # Panics
    /// If an integer or `bool` lane does not hold `value`.
    #[track_caller]
    pub fn constant(&self, lane: Lane, value: f64) -> Val<'_> {
        let exact = match lane {
            Lane::Bool => value.to_bool().to_f64() == value,
            Lane::I32 => value.to_i32().to_f64() == value,
            Lane::I64 => value.to_i64().to_f64() == value,
            Lane::F32 | Lane::F64 => true,
        };
        assert!(exact, "a constant fits its lane, but {value} does not fit {lane}");
        let bits = LaneValue::to_bits(value);
        self.constant_bits(lane, eval_op(Op::Convert, Lane::F64, lane, [bits, 0, 0]))
    }

    /// A constant given by its bits; NaN is made canonical.
    pub fn constant_bits(&self, lane: Lane, bits: u64) -> Val<'_> {
        self.push(Inst::constant(lane, bits))
    }

    /// A constant of the lane of its Rust type.
    pub fn constant_of<T: LaneValue>(&self, value: T) -> Val<'_> {
        self.constant_bits(T::LANE, value.to_bits())
    }

    /// A `bool` constant.
    pub fn constant_bool(&self, value: bool) -> Val<'_> {
        self.constant_of(value)
    }

    /// An `i32` constant.
    pub fn constant_i32(&self, value: i32) -> Val<'_> {
        self.constant_of(value)
    }

    /// An `i64` constant.
    pub fn constant_i64(&self, value: i64) -> Val<'_> {
        self.constant_of(value)
    }

    /// An `f32` constant.
    pub fn constant_f32(&self, value: f32) -> Val<'_> {
        self.constant_of(value)
    }

    /// An `f64` constant.
    pub fn constant_f64(&self, value: f64) -> Val<'_> {
        self.constant_of(value)
    }

    /// The result of `op` on `args` in lane `to`: folded, found or appended.
    ///
    /// # Panics
    /// If number or lanes of the operands do not fit the operation.
    #[track_caller]
    pub fn emit<'b>(&'b self, op: Op, to: Lane, args: &[Val<'b>]) -> Val<'b> {
        let n = op.arity();
        assert_eq!(args.len(), n, "`{}` has its number of operands", op.name());
        let of = args.last().expect("leaves are not emitted").lane;
        let mut regs = [Reg::from_index(0); 3];
        for (i, arg) in args.iter().enumerate() {
            assert!(std::ptr::eq(arg.builder, self), "operands belong to the same builder");
            let wanted = op.operand_lane(i, of);
            let name = op.name();
            assert!(
                arg.lane == wanted,
                "operands agree in lane, but operand {i} of `{name}` is {} instead of {wanted}",
                arg.lane
            );
            regs[i] = arg.reg;
        }
        assert!(op.fits(of, to), "`{}` does not take {of} to {to}", op.name());
        self.intern(Inst::new(op, of, to, &regs[..n]))
    }

    /// The value of an instruction that is known to fit: folded, found or appended.
    pub(crate) fn intern(&self, inst: Inst) -> Val<'_> {
        match self.fold(&inst) {
            Some(constant) => self.push(constant),
            None => self.push(inst),
        }
    }

    /// The constant that results from an instruction on constants.
    fn fold(&self, inst: &Inst) -> Option<Inst> {
        let state = self.state.borrow();
        let mut bits = [0; 3];
        for (slot, &arg) in bits.iter_mut().zip(inst.args()) {
            let Op::Const(value) = state.insts[arg].op else { return None };
            *slot = value;
        }
        Some(Inst::constant(inst.lane, eval_op(inst.op, inst.of, inst.lane, bits)))
    }

    fn push(&self, inst: Inst) -> Val<'_> {
        let state = &mut *self.state.borrow_mut();
        let insts = &mut state.insts;
        let reg = *state.known.entry(inst).or_insert_with(|| insts.push(inst));
        Val { builder: self, reg, lane: inst.lane }
    }

    /// The bits of a value that is constant.
    pub fn constant_value(&self, value: Val<'_>) -> Option<u64> {
        match self.state.borrow().insts[value.reg].op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The instruction that computes a value.
    pub fn inst(&self, value: Val<'_>) -> Inst {
        self.state.borrow().insts[value.reg]
    }

    /// The value of an operand of an instruction of this builder.
    pub(crate) fn value(&self, reg: Reg) -> Val<'_> {
        Val { builder: self, reg, lane: self.state.borrow().insts[reg].lane }
    }

    /// The form with these results and the instructions that they need.
    ///
    /// All parameters remain, used or not. The builder can be used for further forms.
    pub fn finish(&self, results: &[Val<'_>]) -> Form {
        let state = self.state.borrow();
        for result in results {
            assert!(std::ptr::eq(result.builder, self), "results belong to the same builder");
        }
        let results: Vec<Reg> = results.iter().map(|value| value.reg).collect();
        without_dead(&state.params, &state.insts, &results)
    }
}

/// The form without the instructions that no result needs; parameters remain.
pub(crate) fn without_dead(params: &[Lane], insts: &Arena<Reg, Inst>, results: &[Reg]) -> Form {
    let mut live = SideTable::for_arena(insts, false);
    for &result in results {
        live[result] = true;
    }
    for (reg, inst) in insts.iter().rev() {
        if matches!(inst.op, Op::Param(_)) {
            live[reg] = true;
        } else if live[reg] {
            for &arg in inst.args() {
                live[arg] = true;
            }
        }
    }
    let mut kept = Arena::new();
    let mut moved = SideTable::for_arena(insts, Reg::from_index(0));
    for (reg, inst) in insts.iter().filter(|&(reg, _)| live[reg]) {
        let mut inst = *inst;
        for arg in inst.args_mut() {
            *arg = moved[*arg];
        }
        moved[reg] = kept.push(inst);
    }
    let results = results.iter().map(|&reg| moved[reg]).collect();
    Form { params: params.to_vec(), insts: kept, results }
}

impl Form {
    /// Writes this form into another under construction, with `args` for its parameters.
    ///
    /// # Panics
    /// If number or lanes of `args` are not those of the parameters.
    #[track_caller]
    pub fn inline<'b>(&self, b: &'b FormBuilder, args: &[Val<'b>]) -> Vec<Val<'b>> {
        assert_eq!(args.len(), self.params.len(), "an argument is given for each parameter");
        let mut values: Vec<Val<'b>> = Vec::with_capacity(self.insts.len());
        for (_, inst) in self.insts.iter() {
            let value = match inst.op {
                Op::Const(bits) => b.constant_bits(inst.lane, bits),
                Op::Param(i) => {
                    let arg = args[i as usize];
                    assert_eq!(arg.lane, inst.lane, "argument {i} has its parameter's lane");
                    arg
                }
                _ => {
                    let mut inst = *inst;
                    for arg in inst.args_mut() {
                        *arg = values[arg.index()].reg;
                    }
                    b.intern(inst)
                }
            };
            values.push(value);
        }
        self.results.iter().map(|reg| values[reg.index()]).collect()
    }
}

impl<'b> Val<'b> {
    /// The lane of this value.
    pub fn lane(self) -> Lane {
        self.lane
    }

    /// The register of this value.
    pub fn reg(self) -> Reg {
        self.reg
    }

    /// The builder this value belongs to.
    pub fn builder(self) -> &'b FormBuilder {
        self.builder
    }

    /// A constant of this value's lane.
    ///
    /// # Panics
    /// If an integer or `bool` lane does not hold `value`.
    #[track_caller]
    pub fn like(self, value: impl Operand<'b>) -> Self {
        value.into_val(self.builder, self.lane)
    }

    #[track_caller]
    pub(crate) fn unary(self, op: Op) -> Self {
        let to = op.result_lane(self.lane);
        let to = to.unwrap_or_else(|| panic!("`{}` does not take {}", op.name(), self.lane));
        self.builder.emit(op, to, &[self])
    }

    #[track_caller]
    pub(crate) fn binary(self, op: Op, other: impl Operand<'b>) -> Self {
        let to = op.result_lane(self.lane);
        let to = to.unwrap_or_else(|| panic!("`{}` does not take {}", op.name(), self.lane));
        self.builder.emit(op, to, &[self, self.like(other)])
    }

    /// The value in another lane, see [`Op::Convert`]; the value itself if that is its lane.
    #[track_caller]
    pub fn convert(self, lane: Lane) -> Self {
        if lane == self.lane { self } else { self.builder.emit(Op::Convert, lane, &[self]) }
    }

    /// `a` where this `bool` holds, else `b`; one of them may be a Rust number.
    #[track_caller]
    pub fn select(self, a: impl Operand<'b>, b: impl Operand<'b>) -> Self {
        let lane = a.lane().or(b.lane()).expect("one arm of a select is a value with a lane");
        let (a, b) = (a.into_val(self.builder, lane), b.into_val(self.builder, lane));
        self.builder.emit(Op::Select, lane, &[self, a, b])
    }

    /// The greater of `self` and `low`, then the lesser of that and `high`.
    #[track_caller]
    pub fn clamp(self, low: impl Operand<'b>, high: impl Operand<'b>) -> Self {
        self.max(low).min(high)
    }
}

impl fmt::Debug for Val<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reg, self.lane)
    }
}
