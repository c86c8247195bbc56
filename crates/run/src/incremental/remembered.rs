//! The last values of an input, or of features, with their stamps.
//!
//! A column of a context may be known only in part, because only the demanded cells of a scope's
//! argument are computed. Such a column gets the stamp of another one if both agree where both are
//! known and the known cells of one include those of the other; the stamp then represents the cells
//! of both. A step that read the stamp before has read only the cells known then, so its results
//! remain right.

use millstream_base::Mask;
use millstream_base::same::Same;
use millstream_node::Data;

use super::memo::{LayoutId, Stamp};

/// The values, the newest first.
#[derive(Debug, Default)]
pub(super) struct Remembered(Vec<One>);

#[derive(Debug)]
struct One {
    data: Data,
    /// The cells that are known, if not all.
    known: Option<Mask>,
    /// Whether no other value of this stamp has more known cells.
    is_largest: bool,
    layout: LayoutId,
    stamp: Stamp,
    /// The last evaluation that read it.
    used: u64,
}

/// Minimal number of values that keep their stamps, in addition to those that this evaluation or
/// the one before has read.
pub(super) const REMEMBERED: usize = 8;

/// Maximal number of stored values.
const MOST: usize = 64;

/// Limits the size of the values beyond [`REMEMBERED`] that are stored without being in use.
const BYTES: usize = 64 << 20;

impl Remembered {
    /// The last value with this layout, if all of it is known, and its stamp.
    pub(super) fn newest(&self, layout: LayoutId) -> Option<(&Data, Stamp)> {
        let one = self.0.first().filter(|one| one.layout == layout && one.known.is_none())?;
        Some((&one.data, one.stamp))
    }

    /// The stamp of a value, known in all cells or in these; `new` if it is not among the stored
    /// ones.
    pub(super) fn stamp(
        &mut self,
        (data, known): (&Data, Option<&Mask>),
        layout: LayoutId,
        new: Stamp,
        epoch: u64,
    ) -> Stamp {
        let all = &mut self.0;
        let is_like = |one: &One| one.layout == layout;
        let holds = |one: &One| {
            is_like(one) && covers(one.known.as_ref(), known) && agree(&one.data, data, known)
        };
        // A column with the same known cells comes first, so that a repeated request finds its old
        // stamp.
        let same = all.iter().position(|one| covers(known, one.known.as_ref()) && holds(one));
        let one = if let Some(at) = same {
            One { used: epoch, ..all.remove(at) }
        } else {
            let mut new = One {
                data: data.clone(),
                known: known.cloned(),
                is_largest: true,
                layout,
                stamp: new,
                used: epoch,
            };
            if let Some(one) = all.iter().find(|one| holds(one)) {
                (new.stamp, new.is_largest) = (one.stamp, false);
            } else {
                let grows = all.iter_mut().find(|one| {
                    let of = one.known.as_ref();
                    let has_some = one.is_largest && of.is_some_and(|cells| !cells.is_empty());
                    has_some && is_like(one) && covers(known, of) && agree(&one.data, data, of)
                });
                if let Some(one) = grows {
                    one.is_largest = false;
                    new.stamp = one.stamp;
                }
            }
            new
        };
        let stamp = one.stamp;
        all.insert(0, one);
        let in_use = all.iter().take(MOST).take_while(|one| one.used + 1 >= epoch).count();
        let mut bytes = 0;
        let fitting = all.iter().take(MOST).take_while(|one| {
            bytes += one.data.bytes();
            bytes <= BYTES
        });
        let n_fitting = fitting.count();
        all.truncate(in_use.max(REMEMBERED).max(n_fitting));
        stamp
    }
}

/// Whether some cells include others; `None` stands for all cells.
pub(super) fn covers(some: Option<&Mask>, others: Option<&Mask>) -> bool {
    match (some, others) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(some), Some(others)) => some.covers(others),
    }
}

/// Whether data is the same, bit for bit, in some cells; `None` stands for all cells.
pub(super) fn agree(a: &Data, b: &Data, cells: Option<&Mask>) -> bool {
    match (a, b, cells) {
        (Data::One(a), Data::One(b), _) => a.same(b),
        (Data::Many(a), Data::Many(b), None) => a.same(b),
        (Data::Many(a), Data::Many(b), Some(cells)) => {
            a.ty() == b.ty() && a.len() == b.len() && {
                let mut equal = true;
                cells.for_each(|cell| equal = equal && a.same_at(cell, b, cell));
                equal
            }
        }
        (Data::One(_), Data::Many(_), _) | (Data::Many(_), Data::One(_), _) => false,
    }
}
