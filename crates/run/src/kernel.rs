//! Kernels on columns: a form over a mask, and a call of a function.

use millstream_base::{Column, Limits, Mask};
use millstream_form::{ColumnScratch, Form, LaneInput, LaneOutput, run_columns};
use millstream_node::function::{Output, catch_failure};
use millstream_node::instance::OutputSlot;
use millstream_node::{Argument, Call, Data, Failure, Function};

use crate::lanes::{lane_slice, lane_slice_mut};
use crate::shape::CellMap;

/// Working memory of kernels, kept between runs.
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
    /// Computes the masked cells of the outputs; those that are `None` are not computed. An output
    /// column has an entry per cell and is written in place.
    pub(crate) fn form(
        &mut self,
        form: &Form,
        operands: &[Operand<'_>],
        types: &[OutputSlot],
        outputs: &mut [Option<&mut Column>],
        mask: &Mask,
    ) {
        // A single value is handed over as a column of one entry.
        let columns: Vec<(Column, bool)> = operands
            .iter()
            .map(|operand| match operand.data {
                Data::One(value) => (Column::filled(value, 1), true),
                Data::Many(column) => (column.clone(), false),
            })
            .collect();
        let mut inputs = Vec::with_capacity(form.params.len());
        for ((column, single), operand) in columns.iter().zip(operands) {
            let (lanes, width) = lane_slice(column);
            let map = if *single { CellMap::Single.as_map() } else { operand.map.as_map() };
            inputs.extend((0..width).map(|offset| LaneInput::Lanes {
                lanes,
                offset,
                stride: width,
                map,
            }));
        }
        let mut first = 0;
        let mut results = Vec::with_capacity(outputs.len());
        for (slot, output) in types.iter().zip(outputs) {
            let width = slot.ty.lanes().map_or(0, |(_, n)| n as usize);
            if let Some(column) = output {
                let lanes = lane_slice_mut(column);
                results.push(LaneOutput { lanes, first, width, offset: 0, stride: width });
            }
            first += width;
        }
        run_columns(form, &inputs, &mut results, mask, &mut self.columns);
    }
}

/// Calls a function of a node type; a panic in it becomes a failure of the node.
pub(crate) fn call<'c>(
    function: &dyn Function,
    (mask, extent): (&'c Mask, usize),
    limits: &'c Limits,
    crew: Option<(usize, &'c (dyn Fn() -> bool + Sync))>,
    arguments: &'c mut [Argument<'c>],
    outputs: &'c mut [Output],
) -> Result<(), Failure> {
    let mut call = Call::new(mask, extent, limits, arguments, outputs);
    if let Some((threads, is_over)) = crew {
        call = call.with_crew(threads, is_over);
    }
    catch_failure(|| function.call(&mut call))?
}
