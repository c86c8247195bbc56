//! Results in the cache: outputs, cuts, and state between ticks, each with the repeats above it that
//! did not settle. State also has the failures of its node in the ticks before.

use std::sync::Arc;

use millstream_base::NodePath;
use millstream_ir::element_states::{Called, Table};
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::states::StateParts;
use millstream_ir::unsettled::Unsettled;
use millstream_ir::{NodeFailure, Series};
use millstream_node::Data;

use crate::cache::Cache;
use crate::codec::{self, Reader};
use crate::key::Key;

/// A result, and the repeats above it that did not settle.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) series: Series,
    pub(crate) unsettled: Vec<Unsettled>,
}

/// Whether a result is the same for all elements, or has a value for each: nothing else is stored.
pub(crate) fn is_by_element(series: &Series) -> bool {
    matches!(series.axes[..], [] | [RequestAxis::Index])
}

/// A result as the value of an input.
pub(crate) fn given(data: Data) -> Given {
    match data {
        Data::One(value) => Given::One(value),
        Data::Many(column) => Given::Along(RequestAxis::Index, column),
    }
}

/// Reads a result.
pub(crate) fn read(cache: &mut Cache, key: Key) -> Option<Stored> {
    let bytes = cache.get(key)?;
    let mut from = Reader(&bytes);
    let stored = Stored { series: from.series()?, unsettled: read_unsettled(&mut from)? };
    from.0.is_empty().then_some(stored)
}

/// Stores a result, unless it is already stored or its type has no encoding.
pub(crate) fn write(cache: &mut Cache, key: Key, stored: &Stored) {
    if cache.contains(key) || cache.limit() == 0 {
        return;
    }
    let mut bytes = Vec::with_capacity(stored.series.data.bytes() + 64);
    if codec::series(&stored.series, &mut bytes) {
        write_unsettled(&stored.unsettled, &mut bytes);
        cache.put(key, &bytes);
    }
}

fn write_unsettled(all: &[Unsettled], out: &mut Vec<u8>) {
    codec::number(all.len() as u64, out);
    for unsettled in all {
        codec::bytes(unsettled.path.as_str().as_bytes(), out);
        codec::number(unsettled.rounds.into(), out);
    }
}

fn read_unsettled(from: &mut Reader<'_>) -> Option<Vec<Unsettled>> {
    let mut all = Vec::new();
    for _ in 0..from.number()? {
        let path = NodePath::new(from.text()?);
        all.push(Unsettled { path, rounds: u32::try_from(from.number()?).ok()? });
    }
    Some(all)
}

fn write_failures(all: &[NodeFailure], out: &mut Vec<u8>) {
    codec::number(all.len() as u64, out);
    for failure in all {
        codec::bytes(failure.path.as_str().as_bytes(), out);
        codec::bytes(failure.message.as_bytes(), out);
        codec::number(failure.help.is_some().into(), out);
        failure.help.iter().for_each(|help| codec::bytes(help.as_bytes(), out));
        codec::number(failure.cell.len() as u64, out);
        for (axis, position) in &failure.cell {
            codec::bytes(axis.as_bytes(), out);
            codec::number(*position as u64, out);
        }
        codec::number(failure.replayed.is_some().into(), out);
        codec::number(failure.replayed.unwrap_or_default().cast_unsigned(), out);
    }
}

fn read_failures(from: &mut Reader<'_>) -> Option<Vec<NodeFailure>> {
    let mut all = Vec::new();
    for _ in 0..from.number()? {
        let path = NodePath::new(from.text()?);
        let message = from.text()?.to_owned();
        let help = if from.number()? > 0 { Some(from.text()?.to_owned()) } else { None };
        let mut cell = Vec::new();
        for _ in 0..from.number()? {
            let axis = axis_of(from.text()?)?;
            cell.push((axis, usize::try_from(from.number()?).ok()?));
        }
        let (is_replayed, frame) = (from.number()? > 0, from.number()?.cast_signed());
        let replayed = is_replayed.then_some(frame);
        all.push(NodeFailure { path, message, help, cell, replayed });
    }
    Some(all)
}

/// The name of an axis in the position of a failure.
fn axis_of(name: &str) -> Option<&'static str> {
    let of_request = RequestAxis::ALL.into_iter().map(RequestAxis::name);
    of_request.chain(["item"]).find(|known| *known == name)
}

/// The facts that are stored with the state of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted {
    /// The repeats that its state depends on and that did not settle.
    pub(crate) unsettled: Vec<Unsettled>,
    /// The failures of its next state in the ticks so far, each with its frame.
    pub(crate) failures: Vec<NodeFailure>,
    /// Whether its next state failed in the last tick, so that this is not the state after it.
    pub(crate) is_held: bool,
}

/// The names of the state of a node, which are not stored.
pub(crate) struct Named {
    /// The path of the node.
    pub(crate) path: Arc<str>,
    /// The variables in the order in which they are stored; none if the node is inside scopes.
    pub(crate) variables: Vec<Arc<str>>,
    /// The results that are stored with the variables if they can be.
    pub(crate) beside: Vec<Arc<str>>,
    /// The columns of its table, of a node inside scopes.
    pub(crate) columns: Vec<Arc<str>>,
}

/// The state of one node as bytes: its variables, or its table. `None` if it has no state, or a part
/// of it has no encoding.
pub(crate) fn state_bytes(states: &StateParts, named: &Named, noted: &Noted) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write_unsettled(&noted.unsettled, &mut out);
    write_failures(&noted.failures, &mut out);
    codec::number(noted.is_held.into(), &mut out);
    codec::number(states.n_ticks, &mut out);
    codec::number(states.count.map_or(u64::MAX, |n| n as u64), &mut out);
    for variable in &named.variables {
        let (_, data) = states.values.iter().find(|(name, _)| name == variable)?;
        if !codec::data(data, &mut out) {
            return None;
        }
    }
    if !named.variables.is_empty() {
        for result in &named.beside {
            let mut bytes = Vec::new();
            let known = states.values.iter().find(|(name, _)| name == result);
            let is_there = known.is_some_and(|(_, data)| codec::data(data, &mut bytes));
            codec::number(is_there.into(), &mut out);
            out.extend(bytes.into_iter().filter(|_| is_there));
        }
        return Some(out);
    }
    let table = states.tables.iter().find(|(known, _)| *known == named.path);
    codec::number(table.is_some().into(), &mut out);
    let Some((_, table)) = table else { return Some(out) };
    codec::number(table.coordinates.len() as u64, &mut out);
    table.coordinates.iter().for_each(|it| codec::bytes(it.as_bytes(), &mut out));
    codec::number(table.n_rows() as u64, &mut out);
    for row in 0..table.n_rows() {
        table.key(row).iter().for_each(|at| out.extend_from_slice(&at.to_le_bytes()));
    }
    for name in &named.columns {
        if !codec::column(table.value(name)?, &mut out) {
            return None;
        }
    }
    Some(out)
}

/// Reads the state of one node into `states`, and returns the facts that are stored with it.
pub(crate) fn read_state(bytes: &[u8], named: &Named, states: &mut StateParts) -> Option<Noted> {
    let mut from = Reader(bytes);
    let unsettled = read_unsettled(&mut from)?;
    let failures = read_failures(&mut from)?;
    let noted = Noted { unsettled, failures, is_held: from.number()? > 0 };
    states.n_ticks = from.number()?;
    states.count = Some(from.number()?).filter(|n| *n != u64::MAX).map(|n| n as usize);
    for variable in &named.variables {
        states.values.push((Arc::clone(variable), from.data()?));
    }
    for result in &named.beside {
        if from.number()? > 0 {
            states.values.push((Arc::clone(result), from.data()?));
        }
    }
    if named.variables.is_empty() && from.number()? > 0 {
        let table = read_table(&mut from, &named.columns)?;
        states.tables.push((Arc::clone(&named.path), Arc::new(table)));
    }
    from.0.is_empty().then_some(noted)
}

fn read_table(from: &mut Reader<'_>, columns: &[Arc<str>]) -> Option<Table> {
    let n = from.number()?;
    let coordinates = (0..n).map(|_| from.text().map(str::to_owned));
    let coordinates = coordinates.collect::<Option<Vec<String>>>()?;
    let n_rows = usize::try_from(from.number()?).ok()?;
    let keys = from.take(n_rows.checked_mul(coordinates.len())?.checked_mul(4)?)?;
    let keys: Vec<i32> = bytemuck::pod_collect_to_vec(keys);
    let mut values = Vec::new();
    for name in columns {
        values.push((Arc::clone(name), from.column()?));
    }
    Some(Called::table(coordinates, &keys, values, n_rows))
}
