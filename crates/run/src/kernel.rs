//! Kernels on columns: running a form over a mask, and calling a function.

use std::sync::atomic::AtomicBool;

use millstream_base::{Column, Limits, Mask};
use millstream_form::{ColumnScratch, Form, LaneInput, LaneOutput, run_columns};
use millstream_node::function::{Output, catch_failure};
use millstream_node::instance::OutputSlot;
use millstream_node::unsettled::Rounds;
use millstream_node::{Argument, Call, Data, Failure, Function};
use smallvec::SmallVec;

use crate::lanes::{lane_slice_mut, push_inputs};
use crate::shape::CellMap;
use crate::spread::{piece_of, pieces};

/// Working memory of kernels, reused between runs.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) registers: Vec<u64>,
    columns: ColumnScratch,
}

/// One operand of a form, and the map from cells to its entries.
pub(crate) struct Operand<'d> {
    pub(crate) data: &'d Data,
    pub(crate) map: CellMap,
}

impl Scratch {
    /// Computes the masked cells of the outputs except those that are `None`. An output column has
    /// an entry per cell and is written in place. Between pieces `is_over` says whether the result
    /// is no longer wanted.
    pub(crate) fn form(
        &mut self,
        form: &Form,
        operands: &[Operand<'_>],
        (types, outputs): (&[OutputSlot], &mut [Option<&mut Column>]),
        mask: &Mask,
        is_over: &dyn Fn() -> bool,
    ) {
        // A single value is passed as a column of one entry.
        let singles: SmallVec<[Column; 2]> = operands
            .iter()
            .filter_map(|operand| match operand.data {
                Data::One(value) => Some(Column::filled(value, 1)),
                Data::Many(_) => None,
            })
            .collect();
        let mut inputs: SmallVec<[LaneInput<'_>; 8]> = SmallVec::new();
        let mut single = singles.iter();
        for operand in operands {
            match operand.data {
                Data::One(_) => {
                    let column = single.next().expect("each value has a column");
                    push_inputs(&mut inputs, column, CellMap::Single.as_map());
                }
                Data::Many(column) => push_inputs(&mut inputs, column, operand.map.as_map()),
            }
        }
        let mut first = 0;
        let mut results: SmallVec<[LaneOutput<'_>; 4]> = SmallVec::new();
        for (slot, output) in types.iter().zip(outputs) {
            let width = slot.ty.lanes().map_or(0, |(_, n)| n as usize);
            if let Some(column) = output {
                let lanes = lane_slice_mut(column);
                results.push(LaneOutput { lanes, first, width, offset: 0, stride: width });
            }
            first += width;
        }
        for (i, part) in pieces(mask, piece_of(form)).enumerate() {
            if i > 0 && is_over() {
                return;
            }
            run_columns(form, &inputs, &mut results, &part, &mut self.columns);
        }
    }
}

/// The number of threads that a call may use, whether it is over, and the flag that cancels it.
pub(crate) type Crew<'c> = (usize, &'c (dyn Fn() -> bool + Sync), Option<&'c AtomicBool>);

/// The elements of a call: a mask, the number of all, and the first element of each moment.
pub(crate) type Elements<'c> = (&'c Mask, usize, &'c [usize]);

/// Calls a function of a node type; a panic in it becomes a failure of the node. Returns also the old
/// buffers among the outputs that it did not use, and the repeats that did not settle.
pub(crate) fn call<'c>(
    function: &dyn Function,
    (mask, extent, moments): Elements<'c>,
    limits: &'c Limits,
    crew: Crew<'c>,
    arguments: &'c mut [Argument<'c>],
    outputs: &'c mut [Output],
) -> (Result<(), Failure>, Vec<Column>, Rounds) {
    let call = Call::new(mask, extent, limits, arguments, outputs).with_moments(moments);
    let (done, call) = called(function, call, crew);
    let (unused, unsettled) = call.into_rest();
    (done, unused, unsettled)
}

/// The same for a function that may leave out elements that fail, which are returned, ascending.
pub(crate) fn call_leaving_out<'c>(
    function: &dyn Function,
    (mask, extent, moments): Elements<'c>,
    limits: &'c Limits,
    crew: Crew<'c>,
    arguments: &'c mut [Argument<'c>],
    outputs: &'c mut [Output],
) -> (Result<Vec<u32>, Failure>, Rounds) {
    let call = Call::new(mask, extent, limits, arguments, outputs).with_moments(moments);
    let (done, call) = called(function, call.leaving_out(), crew);
    let left_out = call.left_out();
    let (_, unsettled) = call.into_rest();
    (done.map(|()| left_out), unsettled)
}

/// Makes a call; a panic in it becomes a failure.
fn called<'c>(
    function: &dyn Function,
    call: Call<'c>,
    (threads, is_over, flag): Crew<'c>,
) -> (Result<(), Failure>, Call<'c>) {
    let mut call = call.with_crew(threads, is_over).with_flag(flag);
    let done = catch_failure(|| function.call(&mut call)).flatten();
    (done, call)
}

/// Calls a function with a call on some of `extent` elements that has these inputs and no outputs. A
/// panic becomes a failure.
///
/// # Errors
/// If the function fails.
pub(crate) fn looked_at<'c, T>(
    (mask, extent): (&'c Mask, usize),
    limits: &'c Limits,
    (threads, is_over, flag): Crew<'c>,
    arguments: &'c mut [Argument<'c>],
    look: impl FnOnce(&Call<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let call = Call::new(mask, extent, limits, arguments, &mut []);
    let call = call.with_crew(threads, is_over).with_flag(flag);
    catch_failure(|| look(&call)).flatten()
}
