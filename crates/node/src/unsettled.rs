//! Repeats that ended before they were stable, as a call reports them.
//!
//! The report is behind a lock, since a call may use several threads. It is taken only for elements
//! that end unsettled.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use millstream_base::NodePath;

/// The greatest numbers of rounds after which elements ended although a round still changed them, by
/// repeat and moment. A repeat inside the called zone has its path there, and the zone itself the
/// empty path. Without a moment, it is that of all moments of the request.
pub type Rounds = BTreeMap<(NodePath, Option<usize>), u32>;

/// Collects what a call reports. It is no part of any result: runs only raise it, in any order.
#[derive(Debug, Default)]
pub struct Unsettled(Mutex<Rounds>);

impl Unsettled {
    fn known(&self) -> MutexGuard<'_, Rounds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that an element of the called repeat ended unsettled after this number of rounds, given
    /// the first element of each moment.
    pub fn after(&self, rounds: u32, moments: &[usize], element: usize) {
        let moment = moments.partition_point(|first| *first <= element).checked_sub(1);
        self.inside(NodePath::root(), moment, rounds);
    }

    /// Notes that a repeat with this path inside the called zone ended unsettled.
    pub fn inside(&self, path: NodePath, moment: Option<usize>, rounds: u32) {
        let mut known = self.known();
        let most = known.entry((path, moment)).or_default();
        *most = rounds.max(*most);
    }

    /// The report.
    pub fn into_rounds(self) -> Rounds {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
