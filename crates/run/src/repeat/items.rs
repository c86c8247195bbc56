//! A group that runs item by item of lists: its items, and its results.
//!
//! The items of all elements follow each other, those of the first element first. Results that are
//! collected have an entry for each item; `where` omits entries, and `by` sorts those of each
//! element.

use std::cmp::Ordering;
use std::sync::Arc;

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Mask, Value};
use millstream_ir::ZoneBody;
use millstream_node::function::Lists;
use millstream_node::zone::Mode;
use millstream_node::{Call, Data, Failure};

use super::fused::Fused;
use super::{flat, in_order};

/// The items of a call.
pub(super) struct Items {
    /// The elements of the mask.
    pub(super) elements: Vec<u32>,
    /// The start of each element's items, and the end of the last.
    pub(super) starts: Vec<usize>,
}

/// The results of each item that ran.
pub(super) struct Results {
    /// The start of each element's items, and the end of the last.
    pub(super) starts: Vec<usize>,
    /// The outputs of the group, each with its values.
    pub(super) values: Vec<(usize, Data)>,
}

/// Runs the elements of a mask; `is_one` says that all elements have the same inputs.
pub(super) fn run(
    body: &ZoneBody,
    fused: Option<&Fused>,
    call: &mut Call<'_>,
    (mask, is_one): (&Mask, bool),
    (outputs, wanted): (&[usize], &[usize]),
) -> Result<(), Failure> {
    let (items, refused) = Items::read(body, call, mask);
    // A form does not fail, so no lower element does.
    let refused = match (refused, fused) {
        (Some(refused), Some(_)) => return Err(refused),
        (refused, _) => refused,
    };
    let results = if body.go().is_none() && !body.carries() {
        flat::run(body, fused, call, &items, outputs)?
    } else {
        in_order::run(body, fused, call, (&items, is_one), (outputs, wanted))?
    };
    if let Some(refused) = refused {
        return Err(refused);
    }
    let order = Order::of(body, &results);
    let collected = wanted.iter().filter(|k| body.course.collects(**k));
    for k in collected {
        let values = order.values(&results, *k, body);
        if is_one {
            call.set_one(*k, Value::List(values));
            continue;
        }
        let mut offsets = Vec::with_capacity(call.extent() + 1);
        let mut at = 0;
        let mut ends = items.elements.iter().zip(&order.starts[1..]).peekable();
        offsets.push(0);
        for element in 0..call.extent() as u32 {
            if let Some((_, end)) = ends.next_if(|(known, _)| **known == element) {
                at = *end;
            }
            offsets.push(at);
        }
        let lists = Ragged::new(offsets, values).expect("the offsets ascend to the last item");
        call.set(*k, Column::from_ragged(lists));
    }
    Ok(())
}

impl Items {
    /// The items of a mask, or of its elements before one that fails before it runs.
    fn read(body: &ZoneBody, call: &Call<'_>, mask: &Mask) -> (Self, Option<Failure>) {
        let Mode::Items { items, .. } = &body.course.mode else {
            panic!("items are those of lists")
        };
        let mut elements = Vec::with_capacity(mask.len());
        mask.for_each(|i| elements.push(i as u32));
        let lists: Vec<Lists<'_>> = items.iter().map(|input| call.lists(*input)).collect();
        let (mut starts, mut n) = (Vec::with_capacity(elements.len() + 1), 0_usize);
        starts.push(0);
        let limit = call.limits().list_length;
        let mut refused = None;
        for element in &elements {
            let i = *element as usize;
            match number_of_items(body, &lists, i) {
                Ok(n_items) => n += n_items,
                Err(failure) => refused = Some(failure),
            }
            if n > limit {
                let failure = Failure::limit("items", n, limit, "list_length");
                refused = Some(Failure { element: Some(i), ..failure });
            }
            if refused.is_some() {
                break;
            }
            starts.push(n);
        }
        elements.truncate(starts.len() - 1);
        (Self { elements, starts }, refused)
    }

    /// The position of the element of an item.
    pub(super) fn owner(&self, item: usize) -> usize {
        self.starts.partition_point(|start| *start <= item) - 1
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.starts[self.elements.len()]
    }

    /// Number of items of the element at a position.
    pub(super) fn of(&self, position: usize) -> usize {
        self.starts[position + 1] - self.starts[position]
    }
}

/// The number of items of an element.
pub(super) fn number_of_items(
    body: &ZoneBody,
    lists: &[Lists<'_>],
    element: usize,
) -> Result<usize, Failure> {
    let Mode::Items { items, .. } = &body.course.mode else { panic!("items are those of lists") };
    let n_items = lists[0].n_items(element);
    let Some(k) = lists.iter().position(|other| other.n_items(element) != n_items) else {
        return Ok(n_items);
    };
    let name = |k: usize| &*body.graph.inputs().as_slice()[items[k]].name;
    let message = format!(
        "the lists differ in length: `{}` has {n_items} items, `{}` has {}",
        name(0),
        name(k),
        lists[k].n_items(element)
    );
    let help = "give lists of one length, for instance by `list.slice`";
    Err(Failure::at(element, message).with_help(help))
}

/// Which results are collected, in which order.
struct Order {
    /// The places of the results; `None` if all are collected in their order.
    places: Option<Vec<usize>>,
    /// The start of each element's results, and the end of the last.
    starts: Vec<usize>,
}

impl Order {
    fn of(body: &ZoneBody, results: &Results) -> Self {
        let Mode::Items { keep, by, .. } = body.course.mode else {
            panic!("items are those of lists")
        };
        let found = |k: usize| results.values.iter().find(|(known, _)| *known == k);
        let keep = keep.and_then(found).map(|(_, data)| data);
        let by = by.and_then(found).and_then(|(_, data)| match data {
            // All are equal.
            Data::One(_) => None,
            Data::Many(column) => Some(column),
        });
        if keep.is_none() && by.is_none() {
            return Self { places: None, starts: results.starts.clone() };
        }
        let mut places = Vec::new();
        let mut starts = Vec::with_capacity(results.starts.len());
        starts.push(0);
        let is_kept = |i: usize| match keep {
            None => true,
            Some(Data::One(value)) => value.get::<bool>().unwrap_or(false),
            Some(Data::Many(column)) => column.as_slice::<bool>().is_some_and(|keep| keep[i]),
        };
        for ends in results.starts.windows(2) {
            let first = places.len();
            places.extend((ends[0]..ends[1]).filter(|i| is_kept(*i)));
            if let Some(by) = by {
                sort(&mut places[first..], by);
            }
            starts.push(places.len());
        }
        Self { places: Some(places), starts }
    }

    /// The values of an output that are collected.
    fn values(&self, results: &Results, output: usize, body: &ZoneBody) -> Column {
        let n = self.starts.last().copied().unwrap_or(0);
        let found = results.values.iter().find(|(known, _)| *known == output);
        match (found, &self.places) {
            (Some((_, Data::One(value))), _) => Column::filled(value, n),
            (Some((_, Data::Many(column))), None) => column.clone(),
            (Some((_, Data::Many(column))), Some(places)) => column.gather(places.iter().copied()),
            // No item ran.
            (None, _) => Column::empty(body.plan.outputs[output].ty),
        }
    }
}

/// Sorts places by the values at them, ascending; equal ones keep their order, and NaN comes last.
fn sort(places: &mut [usize], by: &Column) {
    macro_rules! sorted {
        ($($ty:ty),*) => {$(
            if let Some(keys) = by.as_slice::<$ty>() {
                places.sort_by(|a, b| compare(&keys[*a], &keys[*b]));
                return;
            }
        )*};
    }
    sorted!(bool, i32, i64, f32, f64, Arc<str>);
}

fn compare<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    let has_place = |x: &T| x.partial_cmp(x).is_some();
    a.partial_cmp(b).unwrap_or_else(|| has_place(b).cmp(&has_place(a)))
}
