//! Items with carried values, or that end early: the items at one position of all lists are a
//! round. A body of forms alone runs over registers, one element after the other.

use std::convert::Infallible;

use millstream_base::map::Map;
use millstream_base::{Column, Type, Value};
use millstream_form::{LaneSlice, LaneSliceMut, LaneValue, Registers};
use millstream_ir::ZoneBody;
use millstream_node::{Call, Data, Failure};

use super::ended::Ended;
use super::evaluation::{Evaluation, Round};
use super::fused::{Fused, InputLane};
use super::items::{Items, Results};
use super::over;
use super::rounds::{Active, counts_end, entries, goes_on};
use crate::buffers::Buffers;
use crate::fuse::width;
use crate::lanes::{lane_slice, lane_slice_mut};

/// Number of items between two readings of the clock.
const ITEMS: usize = 1 << 12;

/// Runs the items of all elements, sets the carried outputs, and returns the others.
pub(super) fn run(
    body: &ZoneBody,
    fused: Option<&Fused>,
    call: &mut Call<'_>,
    (items, is_one): (&Items, bool),
    (outputs, wanted): (&[usize], &[usize]),
) -> Result<Results, Failure> {
    match fused {
        Some(fused) => over_registers(body, fused, call, (items, is_one), (outputs, wanted)),
        None => as_rounds(body, call, (items, is_one), (outputs, wanted)),
    }
}

fn is_carried(body: &ZoneBody, k: usize) -> bool {
    body.carry(k).is_some()
}

fn as_rounds(
    body: &ZoneBody,
    call: &mut Call<'_>,
    (items, is_one): (&Items, bool),
    (outputs, wanted): (&[usize], &[usize]),
) -> Result<Results, Failure> {
    let carried = wanted.iter().filter(|k| is_carried(body, **k));
    let mut ended = Ended::new(carried.map(|k| (*k, body.outer_type(*k))));
    let collected: Vec<usize> = outputs.iter().copied().filter(|k| !is_carried(body, *k)).collect();
    let mut pieces: Vec<Vec<(Data, usize)>> = vec![Vec::new(); collected.len()];
    // The element of each item that ran, in the order of rounds.
    let mut owners: Vec<u32> = Vec::new();
    let mut active = start(body, call, items);
    let start_of = |k: usize, active: &Active| match body.carry(k) {
        Some(input) => active.inputs[input].clone(),
        None => Data::One(Value::Bool(true)),
    };
    let goes = body.go().filter(|go| is_carried(body, *go)).map(|go| start_of(go, &active));
    let ends = |i: usize, active: &Active| active.count(i) == 0 || !goes_on(goes.as_ref(), i);
    active.end(&mut ended, ends, start_of);
    let mut failure: Option<Failure> = None;
    let mut evaluation = Evaluation::new(body, call);
    let mut round = 0_u32;
    while !active.elements.is_empty() {
        if call.is_over().is_some_and(|is_over| is_over()) {
            return Err(over());
        }
        next_items(body, call, &mut active, round);
        let n = active.elements.len();
        let values =
            match evaluation.run(&active.inputs, n, outputs, call, |it| active.first(it))? {
                Round::Values(values, bad) => active.leave_out(&bad, values, call),
                Round::Failed(position, found) => {
                    let element = active.elements[position] as usize;
                    failure = Some(found.in_item(element, round as usize));
                    active.drop_from(counts_end(failure.as_ref()));
                    continue;
                }
            };
        round += 1;
        let n = active.elements.len();
        let value_of = |k: usize| {
            let at = outputs.iter().position(|known| *known == k);
            &values[at.expect("wanted outputs are computed")]
        };
        for (k, pieces) in collected.iter().zip(&mut pieces) {
            pieces.push((value_of(*k).clone(), n));
        }
        owners.extend_from_slice(&active.elements);
        let go = body.go().map(value_of);
        let done: Vec<bool> = (0..n).map(|i| active.count(i) <= round || !goes_on(go, i)).collect();
        for k in outputs {
            if let Some(input) = body.carry(*k) {
                let old = std::mem::replace(&mut active.inputs[input], value_of(*k).clone());
                evaluation.give_back(old);
            }
        }
        active.end(&mut ended, |i, _| done[i], start_of);
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    ended.finish(call, is_one);
    let (starts, places) = by_element(&items.elements, &owners);
    let values = collected.into_iter().zip(pieces).map(|(k, pieces)| {
        let ty = body.plan.outputs[k].ty;
        (k, Data::Many(joined(ty, pieces).gather(places.iter().copied())))
    });
    let values = values.collect();
    Ok(Results { starts, values })
}

/// All elements with their numbers of items.
fn start(body: &ZoneBody, call: &Call<'_>, items: &Items) -> Active {
    let input = |input: usize| match body.given_by(input) {
        // Set before each round.
        None => Data::One(Value::I32(0)),
        Some(_) if body.course.mode.is_item(input) => Data::One(Value::I32(0)),
        Some(given) => entries(call.argument(given), &items.elements),
    };
    let inputs = (0..=body.round()).map(input).collect();
    let counts = (0..items.elements.len()).map(|at| items.of(at) as u32).collect();
    Active { elements: items.elements.clone(), counts, most: 0, inputs }
}

/// Sets the inputs to the items at a position.
fn next_items(body: &ZoneBody, call: &Call<'_>, active: &mut Active, round: u32) {
    active.inputs[body.round()] = Data::One(Value::I32(round as i32));
    for input in 0..body.n_inputs {
        if !body.course.mode.is_item(input) {
            continue;
        }
        let lists = call.lists(input);
        let place = |element: &u32| lists.parts(*element as usize).1.start + round as usize;
        let (column, _) = lists.parts(active.elements[0] as usize);
        active.inputs[input] = match active.elements[..] {
            [element] => Data::One(column.get(place(&element))),
            _ => Data::Many(column.gather(active.elements.iter().map(place))),
        };
    }
}

/// The start of each element's items if they are grouped by element, and the place of each item in
/// the order of `owners`.
fn by_element(elements: &[u32], owners: &[u32]) -> (Vec<usize>, Vec<usize>) {
    let position = |element: u32| elements.partition_point(|known| *known < element);
    let mut starts = vec![0; elements.len() + 1];
    for owner in owners {
        starts[position(*owner) + 1] += 1;
    }
    for at in 0..elements.len() {
        starts[at + 1] += starts[at];
    }
    let (mut next, mut places) = (starts.clone(), vec![0; owners.len()]);
    for (place, owner) in owners.iter().enumerate() {
        let at = &mut next[position(*owner)];
        places[*at] = place;
        *at += 1;
    }
    (starts, places)
}

fn joined(ty: Type, pieces: Vec<(Data, usize)>) -> Column {
    let columns = pieces.into_iter().map(|(data, n)| match data {
        Data::One(value) => Column::filled(&value, n),
        Data::Many(column) => column,
    });
    let columns: Vec<Column> = columns.collect();
    Column::concat(ty, &columns).expect("the values are of the output's type")
}

/// The source of a lane of an input.
enum From<'a> {
    /// The same for all elements.
    One(u64),
    /// An entry per element.
    Element { lanes: LaneSlice<'a>, offset: usize, stride: usize, map: Map<'a> },
    /// The items of a list.
    Items { input: usize },
}

fn over_registers(
    body: &ZoneBody,
    fused: &Fused,
    call: &mut Call<'_>,
    (items, is_one): (&Items, bool),
    (outputs, wanted): (&[usize], &[usize]),
) -> Result<Results, Failure> {
    let carried: Vec<usize> = wanted.iter().copied().filter(|k| is_carried(body, *k)).collect();
    let mut ran = Ran {
        starts: vec![0],
        collected: Vec::new(),
        carried: vec![Vec::new(); carried.len()],
        n: 0,
    };
    for k in outputs.iter().filter(|k| !is_carried(body, **k)) {
        let n = width(body.plan.outputs[*k].ty);
        let first = fused.first_of(*k);
        ran.collected.push(Collected { output: *k, first, n, lanes: Vec::new() });
    }
    let sources: Vec<From<'_>> = fused.lanes.iter().map(|lane| source(body, call, lane)).collect();
    let straight = fused.straight();
    let mut registers = straight.program.registers();
    for (at, element) in items.elements.iter().enumerate() {
        let lists = begin(fused, call, &mut registers, (&sources, *element as usize));
        run_items(fused, call, &mut registers, (&lists, items.of(at)), &mut ran)?;
        ran.starts.push(ran.n);
        let now = registers.from(straight.lanes);
        for (k, bits) in carried.iter().zip(&mut ran.carried) {
            let first = fused.first_of(*k);
            bits.extend((first..first + width(body.plan.outputs[*k].ty)).map(|result| {
                let lane = fused.lane_of_result(result);
                now[lane.expect("carried values have lanes")]
            }));
        }
    }
    drop(sources);
    let mut buffers = Buffers::default();
    for (k, bits) in carried.iter().zip(ran.carried) {
        let ty = body.plan.outputs[*k].ty;
        if is_one {
            let value = Value::from_lanes(ty, &bits);
            call.set_one(*k, value.expect("a form gives the lanes of its outputs"));
        } else {
            let mut column = buffers.column(ty, call.extent());
            let elements = items.elements.iter().map(|element| *element as usize);
            write(&mut column, elements, &bits);
            call.set(*k, column);
        }
    }
    let values = ran.collected.into_iter().map(|it| {
        let mut column = buffers.column(body.plan.outputs[it.output].ty, ran.n);
        write(&mut column, 0..ran.n, &it.lanes);
        (it.output, Data::Many(column))
    });
    Ok(Results { values: values.collect(), starts: ran.starts })
}

/// The results of the items that ran.
struct Ran {
    /// The start of each element's items.
    starts: Vec<usize>,
    collected: Vec<Collected>,
    /// The bits of each element, for each wanted output that is carried.
    carried: Vec<Vec<u64>>,
    /// Number of items.
    n: usize,
}

/// A lane of the items of one element: its place among the lanes, its data, and its first entry.
type ItemLane<'a> = (usize, LaneSlice<'a>, usize);

/// Sets the registers to the initial values of an element, and finds its items.
fn begin<'a>(
    fused: &Fused,
    call: &'a Call<'_>,
    registers: &mut Registers,
    (sources, element): (&[From<'_>], usize),
) -> Vec<ItemLane<'a>> {
    let first = fused.straight().lanes;
    let mut lists = Vec::new();
    for (at, (source, lane)) in sources.iter().zip(&fused.lanes).enumerate() {
        registers.from_mut(first)[at] = match source {
            From::One(bits) => *bits,
            From::Element { lanes, offset, stride, map } => {
                lane_bits(lanes, map.entry(element) * stride + offset)
            }
            From::Items { input } => {
                let all = call.lists(*input);
                let (column, range) = all.parts(element);
                if !range.is_empty() {
                    let (slice, stride) = lane_slice(column);
                    let slice = slice.without_first(range.start * stride + lane.offset);
                    lists.push((at, slice, stride));
                }
                0
            }
        };
    }
    lists
}

/// Runs the items of one element.
fn run_items(
    fused: &Fused,
    call: &Call<'_>,
    registers: &mut Registers,
    (lists, n_items): (&[ItemLane<'_>], usize),
    ran: &mut Ran,
) -> Result<(), Failure> {
    let straight = fused.straight();
    let go_lane = fused.go.and_then(|go| fused.lane_of_result(go));
    let mut goes = go_lane.is_none_or(|lane| registers.get(straight.lanes + lane as u32) != 0);
    let mut item = 0;
    while goes && item < n_items {
        if ran.n.is_multiple_of(ITEMS) && call.is_over().is_some_and(|is_over| is_over()) {
            return Err(over());
        }
        for (at, lanes, stride) in lists {
            registers.from_mut(straight.lanes)[*at] = lane_bits(lanes, item * stride);
        }
        registers.from_mut(straight.round)[0] = item as u64;
        let Ok(()) = straight.program.run(registers, |_| Ok::<_, Infallible>(()));
        let (now, results) = registers.from_mut(straight.lanes).split_at_mut(fused.lanes.len());
        for (lane, now) in fused.lanes.iter().zip(now) {
            if let Some(next) = lane.next {
                *now = results[next];
            }
        }
        for it in &mut ran.collected {
            it.lanes.extend_from_slice(&results[it.first..it.first + it.n]);
        }
        goes = fused.go.is_none_or(|go| results[go] != 0);
        item += 1;
        ran.n += 1;
    }
    Ok(())
}

/// An output whose values are collected.
struct Collected {
    output: usize,
    /// The first of its results, and their number.
    first: usize,
    n: usize,
    /// Their bits, item by item.
    lanes: Vec<u64>,
}

fn source<'a>(body: &ZoneBody, call: &'a Call<'_>, lane: &InputLane) -> From<'a> {
    let given = body.given_by(lane.input).expect("the number of the item is no lane");
    if body.course.mode.is_item(lane.input) {
        return From::Items { input: given };
    }
    let argument = call.argument(given);
    match (argument.data(), argument.map()) {
        (Data::One(value), _) => From::One(value.lane(lane.offset).unwrap_or(0)),
        (Data::Many(column), map) => {
            let (lanes, stride) = lane_slice(column);
            From::Element { lanes, offset: lane.offset, stride, map }
        }
    }
}

/// The bits of a lane.
fn lane_bits(lanes: &LaneSlice<'_>, at: usize) -> u64 {
    match lanes {
        LaneSlice::Bool(lanes) => lanes[at].to_bits(),
        LaneSlice::I32(lanes) => lanes[at].to_bits(),
        LaneSlice::I64(lanes) => LaneValue::to_bits(lanes[at]),
        LaneSlice::F32(lanes) => LaneValue::to_bits(lanes[at]),
        LaneSlice::F64(lanes) => LaneValue::to_bits(lanes[at]),
    }
}

/// Writes the bits of the lanes of some entries, one entry after the other.
fn write(column: &mut Column, entries: impl Iterator<Item = usize>, bits: &[u64]) {
    let n = width(column.ty());
    macro_rules! written {
        ($lanes:ident) => {
            for (entry, bits) in entries.zip(bits.chunks(n)) {
                for (lane, bits) in $lanes[entry * n..][..n].iter_mut().zip(bits) {
                    *lane = LaneValue::from_bits(*bits);
                }
            }
        };
    }
    match lane_slice_mut(column) {
        LaneSliceMut::Bool(lanes) => written!(lanes),
        LaneSliceMut::I32(lanes) => written!(lanes),
        LaneSliceMut::I64(lanes) => written!(lanes),
        LaneSliceMut::F32(lanes) => written!(lanes),
        LaneSliceMut::F64(lanes) => written!(lanes),
    }
}
