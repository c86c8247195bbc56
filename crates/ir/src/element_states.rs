//! The state of nodes inside scopes, per element.
//!
//! A stateful node inside scopes has a *table* with a row for each element for which it was ever
//! called. An element is identified by its coordinates, outermost first: the values of `index` and
//! `iteration` that the node needs, and its position along axes that these do not distinguish. An
//! evaluation reads tables and returns the elements for which the nodes were called ([`Calls`]).
//! Committing a tick replaces these rows, drops rows beyond an extent that shrank, and preserves
//! the others.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::Column;

/// The coordinate for the element of the request, which comes first.
pub const ELEMENT: &str = "element";

/// The tables of all stateful nodes inside scopes, by path.
pub type Tables = Arc<BTreeMap<Arc<str>, Arc<Table>>>;

/// The state of one node per element, in ascending order of coordinates.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The meaning of each coordinate.
    pub coordinates: Vec<String>,
    /// The coordinates of each row, row by row.
    keys: Vec<i32>,
    /// The state, by name, with an entry per row.
    pub values: Vec<(Arc<str>, Column)>,
    n_rows: usize,
}

impl Table {
    /// Number of elements with state.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The coordinates of a row.
    pub fn key(&self, row: usize) -> &[i32] {
        let n = self.coordinates.len();
        &self.keys[row * n..][..n]
    }

    /// The row of an element. `near` is a guess, such as the row after the last one found.
    pub fn row(&self, key: &[i32], near: usize) -> Option<usize> {
        if near < self.n_rows && self.key(near) == key {
            return Some(near);
        }
        let (mut low, mut high) = (0, self.n_rows);
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The table with all rows repeated for each of `n` elements of the request.
    fn for_elements(&self, n: i32) -> Self {
        let mut coordinates = vec![ELEMENT.to_owned()];
        coordinates.extend(self.coordinates.iter().cloned());
        let rows = 0..self.n_rows;
        let of_element =
            |element| rows.clone().flat_map(move |row| [&[element], self.key(row)].concat());
        let keys = (0..n).flat_map(of_element).collect();
        let n_rows = n.max(0) as usize * self.n_rows;
        let row = |i| i % self.n_rows;
        let values = self
            .values
            .iter()
            .map(|(name, column)| (Arc::clone(name), column.gather((0..n_rows).map(row))));
        Self { coordinates, keys, values: values.collect(), n_rows }
    }

    /// Size of the table in bytes.
    pub fn bytes(&self) -> usize {
        let values: usize = self.values.iter().map(|(_, column)| column.bytes()).sum();
        size_of::<Self>() + values + size_of_val(&self.keys[..])
    }

    /// The state with this name.
    pub fn value(&self, name: &str) -> Option<&Column> {
        self.values.iter().find(|(known, _)| **known == *name).map(|(_, column)| column)
    }
}

/// The calls of stateful nodes inside scopes during an evaluation.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// An entry for each such node that did not fail, whether it was called or not.
    pub all: Vec<Called>,
    /// The nodes of whose new state any part failed. They keep their tables.
    pub failed: Vec<Arc<str>>,
    /// The failed nodes whose contexts contradict each other: one element is called in several, the
    /// elements lie along different axes, or there is no end of them. The values that they returned
    /// are not results. See [`withhold`](crate::state_failures::withhold).
    pub misread: Vec<Arc<str>>,
}

/// The elements for which a node was called, with their new state.
#[derive(Clone, Debug)]
pub struct Called {
    /// Path of the node.
    pub node: Arc<str>,
    /// The new state by element; `None` if the node was not called.
    pub table: Option<Table>,
    /// The extents of axes; elements beyond them are dropped.
    pub extents: Vec<Reach>,
}

/// The extent of an axis, for the elements with certain outer coordinates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// The coordinates outside that of the axis.
    pub outer: Vec<i32>,
    /// Number of cells.
    pub extent: i32,
}

impl Called {
    /// A table of distinct elements in any order.
    pub fn table(
        coordinates: Vec<String>,
        keys: &[i32],
        values: Vec<(Arc<str>, Column)>,
        n_rows: usize,
    ) -> Table {
        let n = coordinates.len();
        let key = |row: usize| &keys[row * n..][..n];
        let mut order: Vec<usize> = (0..n_rows).collect();
        if order.windows(2).any(|pair| key(pair[0]) > key(pair[1])) {
            order.sort_by(|a, b| key(*a).cmp(key(*b)));
            let sorted = |column: &Column| column.gather(order.iter().copied());
            let values = values.iter().map(|(name, column)| (Arc::clone(name), sorted(column)));
            let values = values.collect();
            let keys = order.iter().flat_map(|row| key(*row).iter().copied()).collect();
            return Table { coordinates, keys, values, n_rows };
        }
        Table { coordinates, keys: keys.to_vec(), values, n_rows }
    }
}

/// The tables after a tick with these calls.
pub fn committed(before: &Tables, calls: Calls) -> Tables {
    let mut tables = BTreeMap::new();
    for node in calls.failed {
        if let Some(old) = before.get(&node) {
            tables.insert(node, Arc::clone(old));
        }
    }
    for called in calls.all {
        let old = before.get(&called.node);
        let node = Arc::clone(&called.node);
        let table = match (old, called.table) {
            (None, None) => continue,
            (Some(old), None) if called.extents.is_empty() => Arc::clone(old),
            (Some(old), None) => Arc::new(merged(old, &Table::default(), &called.extents)),
            (Some(old), Some(new)) if fits(old, &new) => {
                Arc::new(merged(old, &new, &called.extents))
            }
            (Some(old), Some(new)) if fits(&old.for_elements(0), &new) => {
                let n = called.extents.iter().find(|reach| reach.outer.is_empty());
                let old = old.for_elements(n.map_or(0, |reach| reach.extent));
                Arc::new(merged(&old, &new, &called.extents))
            }
            (_, Some(new)) => Arc::new(new),
        };
        tables.insert(node, table);
    }
    Arc::new(tables)
}

/// Whether two tables hold the same variables with the same coordinates.
fn fits(a: &Table, b: &Table) -> bool {
    let columns = |table: &Table| -> Vec<_> {
        table.values.iter().map(|(name, column)| (Arc::clone(name), column.ty())).collect()
    };
    a.coordinates == b.coordinates && columns(a) == columns(b)
}

/// The rows of `new`, and those rows of `old` that are within the extents and not replaced.
fn merged(old: &Table, new: &Table, extents: &[Reach]) -> Table {
    let is_within = |key: &[i32]| {
        extents.iter().all(|reach| match key.strip_prefix(&reach.outer[..]) {
            Some([at, ..]) => *at < reach.extent,
            Some([]) | None => true,
        })
    };
    // Rows of the old table, followed by those of the new one.
    let mut rows = Vec::with_capacity(old.n_rows.max(new.n_rows));
    let mut next = 0;
    for row in 0..old.n_rows {
        let key = old.key(row);
        while next < new.n_rows && new.key(next) < key {
            rows.push(old.n_rows + next);
            next += 1;
        }
        if next < new.n_rows && new.key(next) == key {
            rows.push(old.n_rows + next);
            next += 1;
        } else if is_within(key) {
            rows.push(row);
        }
    }
    rows.extend((next..new.n_rows).map(|row| old.n_rows + row));
    if rows.len() == new.n_rows && !new.coordinates.is_empty() {
        return new.clone();
    }
    let key_of = |row: &usize| match row.checked_sub(old.n_rows) {
        None => old.key(*row),
        Some(row) => new.key(row),
    };
    let keys = rows.iter().flat_map(|row| key_of(row).iter().copied()).collect();
    let values = old.values.iter().map(|(name, column)| {
        let both: Vec<Column> =
            std::iter::once(column.clone()).chain(new.value(name).cloned()).collect();
        let all = Column::concat(column.ty(), &both).expect("tables that fit keep one type");
        (Arc::clone(name), all.gather(rows.iter().copied()))
    });
    let values = values.collect();
    Table { coordinates: old.coordinates.clone(), keys, values, n_rows: rows.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&[i32], f32)]) -> Table {
        let keys: Vec<i32> = rows.iter().flat_map(|(key, _)| key.iter().copied()).collect();
        let column: Column = rows.iter().map(|(_, value)| *value).collect();
        let n = rows.first().map_or(1, |(key, _)| key.len());
        let coordinates = (0..n).map(|i| format!("c{i}")).collect();
        Called::table(coordinates, &keys, vec![("x".into(), column)], rows.len())
    }

    fn rows(table: &Table) -> Vec<(Vec<i32>, f32)> {
        let x = table.value("x").and_then(Column::as_slice::<f32>).expect("it has x");
        (0..table.n_rows()).map(|row| (table.key(row).to_vec(), x[row])).collect()
    }

    #[test]
    fn rows_are_found_by_their_coordinates() {
        let table = table(&[(&[2, 0], 3.0), (&[0, 5], 1.0), (&[0, 7], 2.0)]);
        assert_eq!(rows(&table), [(vec![0, 5], 1.0), (vec![0, 7], 2.0), (vec![2, 0], 3.0)]);
        assert_eq!(table.row(&[0, 7], 9), Some(1));
        assert_eq!(table.row(&[0, 7], 1), Some(1));
        assert_eq!(table.row(&[1, 0], 1), None);
    }

    #[test]
    fn rows_that_were_not_called_stay_unless_the_axis_is_shorter_now() {
        let old = table(&[(&[0, 0], 1.0), (&[0, 1], 2.0), (&[0, 2], 3.0), (&[1, 5], 4.0)]);
        let new = table(&[(&[0, 0], 9.0), (&[0, 3], 8.0)]);
        let all = merged(&old, &new, &[]);
        let expected = [
            (vec![0, 0], 9.0),
            (vec![0, 1], 2.0),
            (vec![0, 2], 3.0),
            (vec![0, 3], 8.0),
            (vec![1, 5], 4.0),
        ];
        assert_eq!(rows(&all), expected);
        let shorter = merged(&old, &new, &[Reach { outer: vec![0], extent: 2 }]);
        let expected = [(vec![0, 0], 9.0), (vec![0, 1], 2.0), (vec![0, 3], 8.0), (vec![1, 5], 4.0)];
        assert_eq!(rows(&shorter), expected);
        let none = merged(&old, &table(&[]), &[Reach { outer: vec![], extent: 0 }]);
        assert_eq!(rows(&none), []);
    }
}
