//! Items without carried values: those of all elements are one column.

use millstream_base::map::Map;
use millstream_base::{Column, Mask};
use millstream_form::{LaneInput, LaneOutput};
use millstream_ir::ZoneBody;
use millstream_node::{Argument, Call, Data, Failure};

use super::evaluation::{Evaluation, Round};
use super::fused::Fused;
use super::items::{Items, Results};
use super::over;

use crate::buffers::Buffers;
use crate::fuse::width;
use crate::lanes::{lane_slice, lane_slice_mut};
use crate::spread::Crew;

/// Computes the outputs for all items.
pub(super) fn run(
    body: &ZoneBody,
    fused: Option<&Fused>,
    call: &mut Call<'_>,
    items: &Items,
    outputs: &[usize],
) -> Result<Results, Failure> {
    let (starts, n) = (items.starts.clone(), items.len());
    if n == 0 {
        return Ok(Results { starts, values: Vec::new() });
    }
    let inputs = inputs(body, call, items);
    let values = match fused {
        Some(fused) => run_fused(body, fused, call, &inputs, (n, outputs))?,
        None => match Evaluation::new(body, call).run(&inputs, n, outputs, call, |it| {
            items.starts[items.elements.partition_point(|known| (*known as usize) < it)]
        })? {
            Round::Values(values, bad) => {
                if !bad.is_empty() {
                    call.leave_out(bad.iter().map(|at| items.elements[items.owner(*at as usize)]));
                }
                values
            }
            Round::Failed(at, failure) => {
                let position = items.owner(at);
                let element = items.elements[position] as usize;
                return Err(failure.in_item(element, at - items.starts[position]));
            }
        },
    };
    Ok(Results { starts, values: outputs.iter().copied().zip(values).collect() })
}

/// The inputs of the plan for all items: one value, or an entry each.
fn inputs(body: &ZoneBody, call: &Call<'_>, items: &Items) -> Vec<Data> {
    // The element of each item.
    let owners: Vec<u32> = match items.elements.len() {
        1 => Vec::new(),
        n => (0..n).flat_map(|at| std::iter::repeat_n(items.elements[at], items.of(at))).collect(),
    };
    let input = |input: usize| match body.given_by(input) {
        Some(given) if body.course.mode.is_item(input) => Data::Many(all_items(call, given, items)),
        Some(given) => of_elements(call.argument(given), items, &owners),
        None => {
            let n_items = (0..items.elements.len()).map(|at| items.of(at) as i32);
            Data::Many(n_items.flat_map(|n| 0..n).collect())
        }
    };
    (0..=body.round()).map(input).collect()
}

/// An input that is the same for all items of an element.
fn of_elements(argument: &Argument<'_>, items: &Items, owners: &[u32]) -> Data {
    match (argument.data(), argument.map()) {
        (Data::One(value), _) => Data::One(value.clone()),
        (Data::Many(column), Map::Single) => Data::One(column.get(0)),
        (Data::Many(column), map) => match items.elements[..] {
            [element] => Data::One(column.get(map.entry(element as usize))),
            _ => Data::Many(column.gather(owners.iter().map(|i| map.entry(*i as usize)))),
        },
    }
}

/// The items of each element's list, in sequence.
fn all_items(call: &Call<'_>, given: usize, items: &Items) -> Column {
    let lists = call.lists(given);
    if let [element] = items.elements[..] {
        return lists.list(element as usize);
    }
    let mut places = Vec::with_capacity(items.len());
    let mut values: Option<&Column> = None;
    for element in &items.elements {
        let (column, range) = lists.parts(*element as usize);
        values = Some(column);
        places.extend(range);
    }
    let values = values.expect("there is an item");
    if places.iter().copied().eq(0..values.len()) {
        return values.clone();
    }
    values.gather(places.into_iter())
}

/// A body of forms alone, over all items at once.
fn run_fused(
    body: &ZoneBody,
    fused: &Fused,
    call: &Call<'_>,
    inputs: &[Data],
    (n, outputs): (usize, &[usize]),
) -> Result<Vec<Data>, Failure> {
    // A single value is passed as a column of one entry.
    let columns: Vec<(Column, Map<'_>)> = inputs
        .iter()
        .map(|data| match data {
            Data::One(value) => (Column::filled(value, 1), Map::Single),
            Data::Many(column) => (column.clone(), Map::Each),
        })
        .collect();
    let lane = |(input, offset): (usize, usize)| {
        let (column, map) = &columns[input];
        let (lanes, stride) = lane_slice(column);
        LaneInput::Lanes { lanes, offset, stride, map: *map }
    };
    let params = fused.params.iter().map(|param| match param {
        Some(at) => lane((fused.lanes[*at].input, fused.lanes[*at].offset)),
        None => lane((body.round(), 0)),
    });
    let params: Vec<LaneInput<'_>> = params.collect();
    let mut buffers = Buffers::default();
    let mut results: Vec<Column> =
        outputs.iter().map(|k| buffers.column(body.plan.outputs[*k].ty, n)).collect();
    let mut places = Vec::with_capacity(results.len());
    for (k, column) in outputs.iter().zip(&mut results) {
        let stride = width(column.ty());
        let first = fused.first_of(*k);
        places.push(LaneOutput {
            lanes: lane_slice_mut(column),
            first,
            width: stride,
            offset: 0,
            stride,
        });
    }
    let is_over = |_| call.is_over().is_some_and(|is_over| is_over());
    let mut crew = Crew::new(call.threads(), None);
    crew.run(&fused.form, &params, places, &Mask::full(n), &is_over);
    if is_over(0) {
        return Err(over());
    }
    Ok(results.into_iter().map(Data::Many).collect())
}
