//! Functions over columns: the kernels that are not written as forms.
//!
//! A call computes the elements of a mask out of `0..extent`. The inputs are virtual arrays: a full
//! column, one value for all elements, or a column seen through a map. The function sets each
//! wanted output to a column of `extent` elements, of which only the masked ones matter.

use std::any::Any;
use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use millstream_base::same::Same;
use millstream_base::virtual_array::VirtualArray;
use millstream_base::{Column, Limits, Mask, Type, Value, ValueType, catch_panic};

use crate::blockwise::Blockwise;
pub use crate::failure::Failure;
use crate::pace::Pace;
use crate::unsettled::{Rounds, Unsettled};
use millstream_base::map::Map;
use millstream_form::Val;

pub mod gather;

use gather::Gather;

/// A kernel over columns with a mask.
pub trait Function: Send + Sync {
    /// Computes the masked elements of all wanted outputs.
    ///
    /// # Errors
    /// The lowest masked element that fails, with the reason.
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure>;

    /// Whether the function returns its first input unchanged.
    fn is_identity(&self) -> bool {
        false
    }

    /// Whether a call may be divided into calls on consecutive blocks of its elements, because an
    /// element depends on nothing but its own inputs and a call costs little besides its elements.
    fn in_blocks(&self) -> bool {
        false
    }

    /// The lanes of the output when the only input is a nonempty list, given by the lanes of its
    /// items; `None` if the function cannot be unrolled. The result has the same bits as that of
    /// [`call`](Self::call).
    fn unrolled<'b>(&self, _items: &[Vec<Val<'b>>]) -> Option<Vec<Val<'b>>> {
        None
    }

    /// The function as one that computes a partial result for each block of its list, if it is.
    fn blockwise(&self) -> Option<&dyn Blockwise> {
        None
    }

    /// How the function reads the items of its first input, if that is a list and the positions are
    /// known.
    fn gather(&self) -> Option<Gather<'_>> {
        None
    }

    /// A description of the function that some evaluators recognize, such as the body of a repeat.
    fn body(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }
}

impl<F: Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync> Function for F {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        self(call)
    }
}

/// The data of a link: one value, or a column with one entry per cell.
#[derive(Clone, Debug)]
pub enum Data {
    /// One value for all cells.
    One(Value),
    /// An entry per cell.
    Many(Column),
}

impl Data {
    /// The type of the value or of each entry.
    pub fn ty(&self) -> Type {
        match self {
            Self::One(value) => value.ty(),
            Self::Many(column) => column.ty(),
        }
    }

    /// Entry `i`, or the one value.
    pub fn get(&self, i: usize) -> Value {
        match self {
            Self::One(value) => value.clone(),
            Self::Many(column) => column.get(i),
        }
    }

    /// Size of the data in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::One(value) => value.bytes(),
            Self::Many(column) => column.bytes(),
        }
    }
}

impl Same for Data {
    /// Whether both are one value, or both columns, with the same bits.
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(a), Self::One(b)) => a.same(b),
            (Self::Many(a), Self::Many(b)) => a.same(b),
            (Self::One(_), Self::Many(_)) | (Self::Many(_), Self::One(_)) => false,
        }
    }

    fn feed(&self, state: &mut dyn Hasher) {
        match self {
            Self::One(value) => value.feed(state),
            Self::Many(column) => column.feed(state),
        }
    }
}

/// One input of a call.
#[derive(Debug)]
pub struct Argument<'a> {
    data: Given<'a>,
    map: Map<'a>,
}

#[derive(Debug)]
enum Given<'a> {
    Shared(&'a Data),
    Owned(Data),
}

impl<'a> Argument<'a> {
    /// Data that is still used elsewhere.
    pub fn shared(data: &'a Data, map: Map<'a>) -> Self {
        Self { data: Given::Shared(data), map }
    }

    /// Data that is not used after this call, so that the function may overwrite or keep its
    /// buffer.
    pub fn owned(data: Data, map: Map<'a>) -> Self {
        Self { data: Given::Owned(data), map }
    }

    /// The data.
    pub fn data(&self) -> &Data {
        match &self.data {
            Given::Shared(data) => data,
            Given::Owned(data) => data,
        }
    }

    /// The map from elements to entries of the data, if that is a column.
    pub fn map(&self) -> Map<'a> {
        self.map
    }

    /// The value of element `i`.
    pub fn value(&self, i: usize) -> Value {
        match self.data() {
            Data::One(value) => value.clone(),
            Data::Many(column) => column.get(self.map.entry(i)),
        }
    }
}

/// A list per element, in any storage.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    data: &'a Data,
    map: Map<'a>,
}

impl<'a> Lists<'a> {
    /// The lists of an argument.
    pub fn of(argument: &'a Argument<'_>) -> Self {
        Self { data: argument.data(), map: argument.map }
    }

    /// Number of elements of the list of element `i`.
    pub fn n_items(&self, i: usize) -> usize {
        self.parts(i).1.len()
    }

    /// The list of element `i` if its items are of this Rust type.
    pub fn slice<T: ValueType>(&self, i: usize) -> Option<&'a [T]> {
        let (column, range) = self.parts(i);
        column.as_slice::<T>().map(|all| &all[range])
    }

    /// The column that holds the items of the list of element `i`, and their positions in it.
    ///
    /// # Panics
    /// If the argument is not a list, which the verifier excludes.
    pub fn parts(&self, i: usize) -> (&'a Column, std::ops::Range<usize>) {
        match self.data {
            Data::One(Value::List(column)) => (column, 0..column.len()),
            Data::Many(column) => {
                let ragged = column.as_ragged().expect("the argument is a column of lists");
                (ragged.values(), ragged.range(self.map.entry(i)))
            }
            Data::One(_) => panic!("the argument is a list"),
        }
    }

    /// The list of element `i` as a column, copied if it is part of a larger one.
    pub fn list(&self, i: usize) -> Column {
        let (column, range) = self.parts(i);
        if range.len() == column.len() { column.clone() } else { column.slice(range) }
    }
}

/// One call of a [`Function`].
pub struct Call<'a> {
    mask: &'a Mask,
    extent: usize,
    limits: &'a Limits,
    inputs: &'a mut [Argument<'a>],
    outputs: &'a mut [Output],
    threads: usize,
    is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    flag: Option<&'a AtomicBool>,
    /// The first element of each moment; empty if the elements are not those of several moments.
    moments: &'a [usize],
    /// Old buffers that were offered for outputs and are not used.
    unused: Vec<Column>,
    /// The repeats that ended before they were stable.
    unsettled: Unsettled,
    /// The elements that were left out because they fail; `None` if none may be left out.
    left_out: Option<Vec<u32>>,
}

/// One output of a call.
#[derive(Debug)]
pub enum Output {
    /// Not requested.
    Ignored,
    /// To be set, perhaps reusing an old buffer.
    Wanted(Option<Column>),
    /// Set.
    Done(Data),
}

impl<'a> Call<'a> {
    /// A call on the elements of `mask` out of `0..extent`.
    pub fn new(
        mask: &'a Mask,
        extent: usize,
        limits: &'a Limits,
        inputs: &'a mut [Argument<'a>],
        outputs: &'a mut [Output],
    ) -> Self {
        Self {
            mask,
            extent,
            limits,
            inputs,
            outputs,
            threads: 1,
            is_over: None,
            flag: None,
            moments: &[],
            unused: Vec::new(),
            unsettled: Unsettled::default(),
            left_out: None,
        }
    }

    /// Lets the function leave out elements that fail, if it can, instead of failing itself.
    #[must_use]
    pub fn leaving_out(self) -> Self {
        Self { left_out: Some(Vec::new()), ..self }
    }

    /// Whether the function may leave out elements that fail.
    pub fn leaves_out(&self) -> bool {
        self.left_out.is_some()
    }

    /// Leaves out elements, in any order, each perhaps several times. They fail if the function is
    /// called for one of them alone. Their results do not matter.
    ///
    /// # Panics
    /// If no elements may be left out.
    pub fn leave_out(&mut self, elements: impl IntoIterator<Item = u32>) {
        self.left_out.as_mut().expect("elements may be left out").extend(elements);
    }

    /// The elements that the function left out, ascending.
    pub fn left_out(&self) -> Vec<u32> {
        let mut elements = self.left_out.clone().unwrap_or_default();
        elements.sort_unstable();
        elements.dedup();
        elements
    }

    /// Adds the first element of each moment, in order, if the elements are those of several moments.
    #[must_use]
    pub fn with_moments(self, moments: &'a [usize]) -> Self {
        Self { moments, ..self }
    }

    /// The first element of each moment, see [`with_moments`](Self::with_moments).
    pub fn moments(&self) -> &'a [usize] {
        self.moments
    }

    /// Sets the maximal number of threads and the test for cancellation.
    pub fn with_crew(self, threads: usize, is_over: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { threads: threads.max(1), is_over: Some(is_over), ..self }
    }

    /// Adds the flag that cancels the call; `is_over` holds too while it is set.
    #[must_use]
    pub fn with_flag(self, flag: Option<&'a AtomicBool>) -> Self {
        Self { flag, ..self }
    }

    /// The maximal number of threads for the call.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Tests whether the call is cancelled. A slow function calls it regularly and fails when it
    /// returns true.
    pub fn is_over(&self) -> Option<&'a (dyn Fn() -> bool + Sync)> {
        self.is_over
    }

    /// A counter of work that tests for cancellation at regular intervals.
    pub fn pace(&self) -> Pace<'a> {
        Pace::new(self.is_over, self.flag)
    }

    /// The elements to compute.
    pub fn mask(&self) -> &'a Mask {
        self.mask
    }

    /// Number of elements of full output columns.
    pub fn extent(&self) -> usize {
        self.extent
    }

    /// The limits of the evaluation.
    pub fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// Number of inputs; a socket with several sources counts once for each.
    pub fn n_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Whether every input is one value for all elements.
    pub fn is_uniform(&self) -> bool {
        let is_one = |argument: &Argument<'_>| matches!(argument.data(), Data::One(_));
        self.inputs.iter().all(|argument| is_one(argument) || argument.map == Map::Single)
    }

    /// Input `i`.
    pub fn argument(&self, i: usize) -> &Argument<'a> {
        &self.inputs[i]
    }

    /// Input `i` as a virtual array.
    ///
    /// # Panics
    /// If the input is of another type, which the verifier excludes.
    pub fn input<T: ValueType>(&self, i: usize) -> VirtualArray<'_, T> {
        let argument = &self.inputs[i];
        match argument.data() {
            Data::One(value) => {
                let value = T::from_value(value).expect("the argument has the signature's type");
                VirtualArray::single(value, self.extent)
            }
            Data::Many(column) => {
                let all = column.as_slice::<T>().expect("the argument has the signature's type");
                VirtualArray::mapped(all, argument.map, self.extent)
            }
        }
    }

    /// Input `i` as a list per element.
    pub fn lists(&self, i: usize) -> Lists<'_> {
        Lists::of(&self.inputs[i])
    }

    /// Takes input `i` for writing, without a copy if it is not used after this call.
    pub fn take(&mut self, i: usize) -> Data {
        let argument = &mut self.inputs[i];
        match &mut argument.data {
            Given::Shared(data) => data.clone(),
            Given::Owned(data) => std::mem::replace(data, Data::One(Value::Bool(false))),
        }
    }

    /// Whether output `k` is requested.
    pub fn wants(&self, k: usize) -> bool {
        matches!(self.outputs[k], Output::Wanted(_))
    }

    /// A buffer of `extent` elements for output `k` with arbitrary contents; reuses an old one of
    /// the right type.
    pub fn buffer<T: ValueType>(&mut self, k: usize) -> Vec<T> {
        let old = match &mut self.outputs[k] {
            Output::Wanted(old) => old.take(),
            Output::Ignored | Output::Done(_) => None,
        };
        let mut buffer = old.and_then(|old| old.try_into_vec::<T>().ok()).unwrap_or_default();
        buffer.resize(self.extent, T::default_value());
        buffer
    }

    /// The old buffer offered for output `k`, of any length.
    pub fn old_column(&mut self, k: usize) -> Option<Column> {
        match &mut self.outputs[k] {
            Output::Wanted(old) => old.take(),
            Output::Ignored | Output::Done(_) => None,
        }
    }

    /// Sets output `k` to a column of `extent` elements.
    ///
    /// # Panics
    /// If the column has another length.
    pub fn set(&mut self, k: usize, column: impl Into<Column>) {
        let column = column.into();
        assert_eq!(column.len(), self.extent, "an output column has an entry per element");
        self.put(k, Data::Many(column));
    }

    /// Sets output `k` to one value for all elements.
    pub fn set_one(&mut self, k: usize, value: impl Into<Value>) {
        self.put(k, Data::One(value.into()));
    }

    fn put(&mut self, k: usize, data: Data) {
        let old = std::mem::replace(&mut self.outputs[k], Output::Done(data));
        if let Output::Wanted(Some(column)) = old {
            self.unused.push(column);
        }
    }

    /// The report on repeats that end before they are stable.
    pub fn unsettled(&self) -> &Unsettled {
        &self.unsettled
    }

    /// The old buffers that were offered for outputs and are not used, and the repeats that ended
    /// before they were stable.
    pub fn into_rest(self) -> (Vec<Column>, Rounds) {
        (self.unused, self.unsettled.into_rounds())
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("mask", self.mask).field("extent", &self.extent).finish()
    }
}

/// Runs code of the embedding program; a panic becomes a failure.
///
/// # Errors
/// With the message of the panic.
#[inline]
pub fn catch_failure<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_panic(run).map_err(|text| {
        let what = if text.is_empty() { text } else { format!(": {text}") };
        Failure::whole(format!("the node type panicked{what}"))
    })
}

/// Computes the masked elements of `out`, which is resized to `extent`.
///
/// # Errors
/// If the call is cancelled.
pub fn fill<T: ValueType>(
    out: &mut Vec<T>,
    (mask, extent): (&Mask, usize),
    mut pace: Pace<'_>,
    mut element: impl FnMut(usize) -> T,
) -> Result<(), Failure> {
    out.clear();
    if mask.as_range() == Some(0..extent) {
        out.reserve_exact(extent);
        return pace.one_by_one(extent, |i| out.push(element(i)));
    }
    out.resize(extent, T::default_value());
    let mut indices = mask.iter();
    pace.one_by_one(mask.len(), |_| {
        indices.by_ref().take(1).for_each(|i| out[i] = element(i));
    })
}

/// A shared function.
pub type SharedFunction = Arc<dyn Function>;
