//! Results in the cache: outputs, cuts, and state between ticks.

use std::sync::Arc;

use millstream_ir::Series;
use millstream_ir::element_states::Called;
use millstream_ir::states::{StateParts, States};

use crate::cache::Cache;
use crate::codec::{self, Reader};
use crate::key::Key;

/// Reads a result.
pub(crate) fn read(cache: &mut Cache, key: Key) -> Option<Series> {
    let bytes = cache.get(key)?;
    let mut reader = Reader(&bytes);
    reader.series().filter(|_| reader.0.is_empty())
}

/// Stores a result, unless it is already stored or its type has no encoding.
pub(crate) fn write(cache: &mut Cache, key: Key, series: &Series) {
    if cache.contains(key) || cache.limit() == 0 {
        return;
    }
    let mut bytes = Vec::with_capacity(series.data.bytes() + 64);
    if codec::series(series, &mut bytes) {
        cache.put(key, &bytes);
    }
}

/// The state as bytes; `None` if a part of it has no encoding.
pub(crate) fn state_bytes(states: &States) -> Option<Vec<u8>> {
    let parts = StateParts::from(states);
    let mut out = Vec::new();
    codec::number(parts.n_ticks, &mut out);
    codec::number(parts.count.map_or(u64::MAX, |n| n as u64), &mut out);
    codec::number(parts.values.len() as u64, &mut out);
    for (name, data) in &parts.values {
        codec::bytes(name.as_bytes(), &mut out);
        if !codec::data(data, &mut out) {
            return None;
        }
    }
    codec::number(parts.tables.len() as u64, &mut out);
    for (node, table) in &parts.tables {
        codec::bytes(node.as_bytes(), &mut out);
        codec::number(table.coordinates.len() as u64, &mut out);
        table.coordinates.iter().for_each(|it| codec::bytes(it.as_bytes(), &mut out));
        codec::number(table.n_rows() as u64, &mut out);
        for row in 0..table.n_rows() {
            table.key(row).iter().for_each(|at| out.extend_from_slice(&at.to_le_bytes()));
        }
        codec::number(table.values.len() as u64, &mut out);
        for (name, column) in &table.values {
            codec::bytes(name.as_bytes(), &mut out);
            if !codec::column(column, &mut out) {
                return None;
            }
        }
    }
    Some(out)
}

/// Reads state.
pub(crate) fn state_of(bytes: &[u8]) -> Option<States> {
    let mut from = Reader(bytes);
    let mut parts = StateParts { n_ticks: from.number()?, ..StateParts::default() };
    parts.count = Some(from.number()?).filter(|n| *n != u64::MAX).map(|n| n as usize);
    for _ in 0..from.number()? {
        parts.values.push((from.text()?.into(), from.data()?));
    }
    for _ in 0..from.number()? {
        let node: Arc<str> = from.text()?.into();
        let n = from.number()?;
        let coordinates = (0..n).map(|_| from.text().map(str::to_owned));
        let coordinates = coordinates.collect::<Option<Vec<String>>>()?;
        let n_rows = usize::try_from(from.number()?).ok()?;
        let keys = from.take(n_rows.checked_mul(coordinates.len())?.checked_mul(4)?)?;
        let keys: Vec<i32> = bytemuck::pod_collect_to_vec(keys);
        let mut values = Vec::new();
        for _ in 0..from.number()? {
            values.push((from.text()?.into(), from.column()?));
        }
        parts.tables.push((node, Arc::new(Called::table(coordinates, &keys, values, n_rows))));
    }
    from.0.is_empty().then(|| parts.into())
}
