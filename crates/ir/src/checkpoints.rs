//! Checkpoints of state, from which a simulation is rewound without playing all ticks again.
//!
//! The state after every `stride`-th tick is kept. When there are too many checkpoints or too many
//! bytes, the stride doubles and every second checkpoint is dropped. So they are spread evenly over
//! the ticks played so far, a rewind replays less than one stride, and the longer a simulation
//! runs, the less often a checkpoint is taken. Checkpoints share buffers with the state, so taking
//! one copies no values.

use std::collections::BTreeMap;

use crate::states::States;

/// The most checkpoints, whatever their size.
const MOST: usize = 64;

/// The states after some of the ticks of a simulation.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The states and their sizes in bytes, by number of ticks.
    kept: BTreeMap<u64, (States, usize)>,
    stride: u64,
    bytes: usize,
    max_bytes: usize,
}

impl Checkpoints {
    /// No checkpoints, and the number of bytes that they may hold. A buffer that several of them
    /// share counts for each.
    pub fn new(max_bytes: usize) -> Self {
        Self { kept: BTreeMap::new(), stride: 1, bytes: 0, max_bytes }
    }

    /// Takes the state after a tick, if it is due.
    pub fn add(&mut self, states: &States) {
        let n_ticks = states.n_ticks();
        if n_ticks == 0 || !n_ticks.is_multiple_of(self.stride) || self.kept.contains_key(&n_ticks)
        {
            return;
        }
        let bytes = states.bytes();
        if bytes <= self.max_bytes {
            self.kept.insert(n_ticks, (states.clone(), bytes));
            self.bytes += bytes;
            self.thin();
        }
    }

    /// The last state after at most this many ticks.
    pub fn at_most(&self, n_ticks: u64) -> Option<&States> {
        self.kept.range(..=n_ticks).next_back().map(|(_, (states, _))| states)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Drops all checkpoints.
    pub fn clear(&mut self) {
        *self = Self::new(self.max_bytes);
    }

    /// Changes the number of bytes that the checkpoints may hold.
    pub fn keep_at_most(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
        self.thin();
        if self.kept.is_empty() {
            self.clear();
        }
    }

    fn thin(&mut self) {
        while self.bytes > self.max_bytes || self.kept.len() > MOST {
            self.stride = self.stride.saturating_mul(2);
            self.kept.retain(|n_ticks, _| n_ticks % self.stride == 0);
            self.bytes = self.kept.values().map(|(_, bytes)| bytes).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use millstream_base::Column;
    use millstream_node::Data;

    use super::*;
    use crate::states::StateParts;

    /// A state of one column.
    fn state(n_ticks: u64, n_bytes: usize) -> States {
        let values: Column = std::iter::repeat_n(n_ticks as f32, n_bytes / 4).collect();
        let values = vec![("sum.kept".into(), Data::Many(values))];
        StateParts { values, n_ticks, ..StateParts::default() }.into()
    }

    fn played(ticks: std::ops::RangeInclusive<u64>, max_bytes: usize) -> Checkpoints {
        let mut checkpoints = Checkpoints::new(max_bytes);
        ticks.for_each(|tick| checkpoints.add(&state(tick, 4000)));
        checkpoints
    }

    fn at_most(checkpoints: &Checkpoints, n_ticks: u64) -> Option<u64> {
        let states = checkpoints.at_most(n_ticks)?;
        let value = states.value("sum.kept").and_then(|data| data.get(0).get::<f32>());
        assert_eq!(value, Some(states.n_ticks() as f32));
        Some(states.n_ticks())
    }

    #[test]
    fn checkpoints_are_spread_evenly() {
        let checkpoints = played(1..=1000, usize::MAX);
        assert_eq!((checkpoints.stride, checkpoints.kept.len()), (16, 62));
        assert_eq!(at_most(&checkpoints, 999), Some(992));
        assert_eq!(at_most(&checkpoints, 16), Some(16));
        assert_eq!(at_most(&checkpoints, 15), None);
        let checkpoints = played(1..=20, usize::MAX);
        assert!((1..=20).all(|tick| at_most(&checkpoints, tick) == Some(tick)));
    }

    #[test]
    fn a_budget_keeps_fewer() {
        let mut checkpoints = played(1..=1000, 50_000);
        assert!(checkpoints.bytes <= 50_000 && checkpoints.kept.len() >= 6, "{checkpoints:?}");
        assert_eq!(at_most(&checkpoints, 1000), Some(896));
        checkpoints.keep_at_most(10_000);
        assert_eq!(checkpoints.kept.len(), 1);
        assert_eq!(at_most(&checkpoints, 1000), Some(512));
        checkpoints.keep_at_most(1000);
        checkpoints.add(&state(1024, 4000));
        assert_eq!(at_most(&checkpoints, u64::MAX), None);
        checkpoints.keep_at_most(usize::MAX);
        checkpoints.add(&state(1, 4000));
        assert_eq!(at_most(&checkpoints, 1), Some(1));
    }
}
