//! Set operations on masks, linear in the segments and scattered indices of both.
//!
//! Ranges, disjoint masks and masks with shared storage are combined without copying.

use super::{Mask, build::MaskBuilder};

impl Mask {
    /// The elements in either mask.
    pub fn union(&self, other: &Self) -> Self {
        if self.is_same_view(other) || self.surely_covers(other) {
            return self.clone();
        }
        if other.surely_covers(self) {
            return other.clone();
        }
        let mut builder = MaskBuilder::default();
        let (mut ours, mut theirs) = (self.runs().peekable(), other.runs().peekable());
        loop {
            let from_ours = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) => a.start <= b.start,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return builder.finish(),
            };
            let side = if from_ours { &mut ours } else { &mut theirs };
            if let Some(run) = side.next() {
                builder.push_run(run.start, run.end);
            }
        }
    }

    /// The elements in both masks.
    pub fn intersect(&self, other: &Self) -> Self {
        if self.is_same_view(other) {
            return self.clone();
        }
        let (Some(our_bounds), Some(their_bounds)) = (self.bounds(), other.bounds()) else {
            return Self::empty();
        };
        let (a, b) = (self.within(their_bounds), other.within(our_bounds));
        if b.surely_covers(&a) {
            return a;
        }
        if a.surely_covers(&b) {
            return b;
        }
        let mut builder = MaskBuilder::default();
        let (mut ours, mut theirs) = (a.runs(), b.runs());
        let (mut ours_at, mut theirs_at) = (ours.next(), theirs.next());
        while let (Some(x), Some(y)) = (&ours_at, &theirs_at) {
            builder.push_run(x.start.max(y.start), x.end.min(y.end));
            if x.end < y.end {
                ours_at = ours.next();
            } else {
                theirs_at = theirs.next();
            }
        }
        builder.finish()
    }

    /// The elements that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        let (Some(bounds), Some(all)) = (other.bounds(), self.bounds()) else {
            return self.clone();
        };
        if self.is_same_view(other) {
            return Self::empty();
        }
        if bounds.start >= all.end || bounds.end <= all.start {
            return self.clone();
        }
        if other.as_range().is_some() {
            let before = self.within(all.start..bounds.start);
            let after = self.within(bounds.end..all.end);
            return before.union(&after);
        }
        let mut builder = MaskBuilder::default();
        let clipped = other.within(all);
        let mut gone = clipped.runs().peekable();
        for run in self.runs() {
            let mut start = run.start;
            while let Some(hole) = gone.peek() {
                if hole.start >= run.end {
                    break;
                }
                builder.push_run(start, hole.start);
                start = start.max(hole.end);
                if hole.end > run.end {
                    break;
                }
                gone.next();
            }
            builder.push_run(start, run.end);
        }
        builder.finish()
    }

    /// Whether `other` is a subset of this mask.
    pub fn covers(&self, other: &Self) -> bool {
        if self.is_same_view(other) || self.surely_covers(other) {
            return true;
        }
        if other.len() > self.len() {
            return false;
        }
        let Some(bounds) = other.bounds() else { return true };
        let near = self.within(bounds);
        let mut ours = near.runs().peekable();
        other.runs().all(|run| {
            while ours.next_if(|own| own.end <= run.start).is_some() {}
            ours.peek().is_some_and(|own| own.start <= run.start && run.end <= own.end)
        })
    }

    /// An O(1) sufficient test for [`covers`](Self::covers): `other` is empty, or this mask is a
    /// range around it.
    fn surely_covers(&self, other: &Self) -> bool {
        match (self.as_range(), other.bounds()) {
            (_, None) => true,
            (Some(own), Some(bounds)) => own.start <= bounds.start && bounds.end <= own.end,
            (None, Some(_)) => false,
        }
    }
}
