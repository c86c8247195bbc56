//! Grouping of the rows of a table by equal keys.

use millstream_base::Column;
use millstream_node::Pace;

use super::said;
use crate::known::{ByHash, Keys};

const TOO_LONG: &str = "the table has more rows than an index can count";

/// Units of work per row that is looked up.
const HASHED: usize = 1 << 4;

/// The rows of each key, which consists of one or more columns, in the order of first occurrence.
pub(super) struct Groups<'t> {
    columns: Vec<&'t Column>,
    keys: Keys,
    by_hash: ByHash,
    /// The first row of each group.
    pub(super) first: Vec<usize>,
    /// The index of the group of each row.
    pub(super) of_row: Vec<u32>,
}

impl<'t> Groups<'t> {
    pub(super) fn of(columns: Vec<&'t Column>, pace: &mut Pace<'_>) -> Result<Self, String> {
        let n_rows = columns.first().map_or(0, |column| column.len());
        if u32::try_from(n_rows).is_err() {
            return Err(TOO_LONG.into());
        }
        let (keys, mut by_hash) = (Keys::new(), ByHash::new());
        let (mut first, mut of_row) = (Vec::new(), Vec::with_capacity(n_rows));
        for row in 0..n_rows {
            pace.work(HASHED).map_err(said)?;
            let hash = keys.of_row(columns.iter().copied(), row);
            let new = first.len() as u32;
            let known = by_hash.find_or_enter(hash, new, |group| {
                is_same(&columns, first[group as usize], &columns, row)
            });
            if known.is_none() {
                first.push(row);
            }
            of_row.push(known.unwrap_or(new));
        }
        Ok(Self { columns, keys, by_hash, first, of_row })
    }

    /// The index of the group whose key equals that of each row of other columns, which have the
    /// same types.
    pub(super) fn partners(
        &self,
        columns: &[&Column],
        pace: &mut Pace<'_>,
    ) -> Result<Vec<Option<u32>>, String> {
        let n_rows = columns.first().map_or(0, |column| column.len());
        if u32::try_from(n_rows).is_err() {
            return Err(TOO_LONG.into());
        }
        let mut partners = Vec::with_capacity(n_rows);
        for row in 0..n_rows {
            pace.work(HASHED).map_err(said)?;
            let hash = self.keys.of_row(columns.iter().copied(), row);
            partners.push(self.by_hash.find(hash, |group| {
                is_same(columns, row, &self.columns, self.first[group as usize])
            }));
        }
        Ok(partners)
    }

    /// The rows of all groups.
    pub(super) fn rows(&self, pace: &mut Pace<'_>) -> Result<Rows, String> {
        let mut ends = vec![0; self.first.len()];
        pace.over(&self.of_row, 1, |group| {
            ends[*group as usize] += 1;
            Ok(())
        })
        .map_err(said)?;
        let mut n = 0;
        for end in &mut ends {
            n += std::mem::replace(end, n);
        }
        // The position of the next row of each group; in the end, that after its last row.
        let mut rows = vec![0; n];
        pace.over(self.of_row.iter().enumerate(), 1, |(row, group)| {
            let next = &mut ends[*group as usize];
            rows[*next] = row as u32;
            *next += 1;
            Ok(())
        })
        .map_err(said)?;
        Ok(Rows { rows, ends })
    }
}

/// Whether a row of some columns has the same bits as a row of others.
fn is_same(a: &[&Column], row: usize, b: &[&Column], other: usize) -> bool {
    a.iter().zip(b).all(|(a, b)| a.same_at(row, b, other))
}

/// The rows of each group, ascending.
pub(super) struct Rows {
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl Rows {
    pub(super) fn of(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.rows[start..self.ends[group]]
    }

    pub(super) fn n_groups(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.ends.len()).map(|group| self.of(group))
    }
}

/// The rows of a column in this order.
pub(super) fn gathered(
    column: &Column,
    rows: impl ExactSizeIterator<Item = usize>,
    pace: &mut Pace<'_>,
) -> Result<Column, String> {
    let mut ended = None;
    // After cancellation one row is repeated, which takes no time.
    let mut at = 0;
    let taken = column.gather(rows.map(|row| {
        if ended.is_none() {
            at = row;
            ended = pace.work(1).err();
        }
        at
    }));
    ended.map_or(Ok(taken), |failure| Err(said(failure)))
}
