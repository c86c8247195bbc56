//! The interpreter: single operations, and forms on one element.

use millstream_base::Lane;

use crate::inst::{Form, Inst};
use crate::lane_value::LaneValue;
use crate::meaning::{Visit, apply};
use crate::op::Op;
use crate::storage::Stored;
use millstream_base::id::Id;

/// Calls the function of an operation on the bits of its operands.
#[derive(Clone, Copy)]
struct OnBits([u64; 3]);

impl Visit for OnBits {
    type Output = u64;
    type Long = Self;

    #[inline]
    fn long(self) -> Self {
        self
    }

    #[inline]
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> u64 {
        f(A::from_bits(self.0[0])).to_bits()
    }
    #[inline]
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> u64 {
        f(A::from_bits(self.0[0]), A::from_bits(self.0[1])).to_bits()
    }
    #[inline]
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> u64 {
        let [a, b, c] = self.0.map(A::from_bits);
        f(a, b, c).to_bits()
    }
    #[inline]
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> u64 {
        let [c, a, b] = self.0;
        f(bool::from_bits(c), A::from_bits(a), A::from_bits(b)).to_bits()
    }
}

/// The result of one operation on the bits of its operands; unused operands are ignored.
///
/// # Panics
/// If the operation does not take these lanes, or is a constant or parameter.
pub fn eval_op(op: Op, of: Lane, to: Lane, args: [u64; 3]) -> u64 {
    apply(op, of, to, OnBits(args))
}

/// The function of an operation on the bits of up to three operands, to be called many times.
pub type OpFunction = fn(u64, u64, u64) -> u64;

/// The function of one operation: [`eval_op`] with the search done once.
///
/// # Panics
/// If the operation does not take these lanes, or is a constant or parameter.
pub fn op_function(op: Op, of: Lane, to: Lane) -> OpFunction {
    apply(op, of, to, AsPointer)
}

/// Turns the function of an operation, a type without data, into a function pointer.
struct AsPointer;

/// The only value of a type without size.
///
/// `_witness` shows that the value exists.
#[inline(always)]
#[allow(
    unsafe_code,
    reason = "functions of operations are types without data; a pointer has no room for them"
)]
pub(crate) fn only_value<F: Copy>(_witness: std::marker::PhantomData<F>) -> F {
    const { assert!(size_of::<F>() == 0) };
    // SAFETY: a value of `F` has no bytes, so none is read; it is `Copy`, and callers hold a value
    // of it.
    unsafe { std::mem::transmute_copy::<(), F>(&()) }
}

fn unary_pointer<A: Stored, R: Stored, F: Fn(A) -> R + Copy>(_held: F) -> OpFunction {
    |a, _, _| only_value(std::marker::PhantomData::<F>)(A::from_bits(a)).to_bits()
}

fn binary_pointer<A: Stored, R: Stored, F: Fn(A, A) -> R + Copy>(_held: F) -> OpFunction {
    |a, b, _| only_value(std::marker::PhantomData::<F>)(A::from_bits(a), A::from_bits(b)).to_bits()
}

fn ternary_pointer<A: Stored, F: Fn(A, A, A) -> A + Copy>(_held: F) -> OpFunction {
    |a, b, c| {
        let f = only_value(std::marker::PhantomData::<F>);
        f(A::from_bits(a), A::from_bits(b), A::from_bits(c)).to_bits()
    }
}

fn select_pointer<A: Stored, F: Fn(bool, A, A) -> A + Copy>(_held: F) -> OpFunction {
    |c, a, b| {
        let f = only_value(std::marker::PhantomData::<F>);
        f(bool::from_bits(c), A::from_bits(a), A::from_bits(b)).to_bits()
    }
}

impl Visit for AsPointer {
    type Output = OpFunction;
    type Long = Self;

    #[inline]
    fn long(self) -> Self {
        self
    }

    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> OpFunction {
        unary_pointer(f)
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> OpFunction {
        binary_pointer(f)
    }
    fn binary_or_single<A: Stored>(
        self,
        f: impl Fn(A, A) -> A + Copy,
        usual: impl Fn(A, A) -> A + Copy,
        rare: impl Fn(A, A) -> bool + Copy,
    ) -> OpFunction {
        binary_pointer(
            #[inline(always)]
            move |a: A, b: A| if rare(a, b) { f(a, b) } else { usual(a, b) },
        )
    }
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> OpFunction {
        ternary_pointer(f)
    }
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> OpFunction {
        select_pointer(f)
    }
}

/// A place that holds an operand of a fold.
pub trait HeldOperand {
    /// The bits of the operand.
    fn bits(&self) -> u64;
}

/// Folds the operands at the given positions, at least one, in their order.
pub type FoldFunction<S> = fn(&[S], &[u32]) -> u64;

/// The function that folds with an operation of two operands.
///
/// # Panics
/// If the operation does not take and return this lane, or has another number of operands.
pub fn fold_function<S: HeldOperand>(op: Op, of: Lane) -> FoldFunction<S> {
    apply(op, of, of, AsFold(std::marker::PhantomData))
}

/// Makes a fold from the function of an operation.
struct AsFold<S>(std::marker::PhantomData<fn(&S)>);

fn folding<S: HeldOperand, A: Stored, R: Stored, F: Fn(A, A) -> R + Copy>(
    _held: F,
) -> FoldFunction<S> {
    |operands, which| {
        let f = only_value(std::marker::PhantomData::<F>);
        let operand = |i: &u32| A::from_bits(operands[*i as usize].bits());
        let (first, rest) = which.split_first().expect("there is something to fold");
        let fold = |sum: A, i| A::from_bits(f(sum, operand(i)).to_bits());
        rest.iter().fold(operand(first), fold).to_bits()
    }
}

impl<S: HeldOperand> Visit for AsFold<S> {
    type Output = FoldFunction<S>;
    type Long = Self;

    fn long(self) -> Self {
        self
    }

    fn unary<A: Stored, R: Stored>(self, _: impl Fn(A) -> R + Copy) -> Self::Output {
        panic!("a fold is over an operation of two operands")
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Self::Output {
        folding(f)
    }
    fn ternary<A: Stored>(self, _: impl Fn(A, A, A) -> A + Copy) -> Self::Output {
        panic!("a fold is over an operation of two operands")
    }
    fn select<A: Stored>(self, _: impl Fn(bool, A, A) -> A + Copy) -> Self::Output {
        panic!("a fold is over an operation of two operands")
    }
}

impl Form {
    /// Computes the results for one element.
    ///
    /// Values are bits, see [`LaneValue::to_bits`]. Nothing is allocated once `scratch` has grown
    /// to the length of the form.
    ///
    /// # Panics
    /// If there are fewer `params` or `results` than the form has.
    pub fn run_scalar(&self, params: &[u64], results: &mut [u64], scratch: &mut Vec<u64>) {
        assert!(params.len() >= self.params.len(), "a value is given for each parameter");
        assert!(results.len() >= self.results.len(), "there is room for each result");
        let insts = self.insts.as_slice();
        scratch.resize(insts.len(), 0);
        let regs = scratch.as_mut_slice();
        for (i, inst) in insts.iter().enumerate() {
            step(inst, i, regs, |number| params[number]);
        }
        for (result, reg) in results.iter_mut().zip(&self.results) {
            *result = regs[reg.index()];
        }
    }
}

/// Calls the function of an instruction on its registers and writes its own.
///
/// Operands are loaded and the result is stored within the arm of each operation, so that floats
/// need not pass through integer registers.
struct OnRegs<'r> {
    inst: &'r Inst,
    /// The registers before that of the instruction.
    before: &'r [u64],
    out: &'r mut u64,
}

impl OnRegs<'_> {
    #[inline]
    fn get<A: Stored>(&self, i: usize) -> A {
        A::from_bits(self.before[self.inst.operands[i].index()])
    }
}

impl Visit for OnRegs<'_> {
    type Output = ();
    type Long = Self;

    #[inline]
    fn long(self) -> Self {
        self
    }

    #[inline]
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) {
        *self.out = f(self.get(0)).to_bits();
    }
    #[inline]
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) {
        *self.out = f(self.get(0), self.get(1)).to_bits();
    }
    #[inline]
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) {
        *self.out = f(self.get(0), self.get(1), self.get(2)).to_bits();
    }
    #[inline]
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) {
        *self.out = f(self.get(0), self.get(1), self.get(2)).to_bits();
    }
}

/// Computes instruction `i` into its register; `param` returns the values of parameters.
#[inline]
pub(crate) fn step(inst: &Inst, i: usize, regs: &mut [u64], param: impl FnOnce(usize) -> u64) {
    let (before, after) = regs.split_at_mut(i);
    let out = &mut after[0];
    match inst.op {
        Op::Const(bits) => *out = bits,
        Op::Param(number) => *out = param(number as usize),
        op => apply(op, inst.of, inst.lane, OnRegs { inst, before, out }),
    }
}
