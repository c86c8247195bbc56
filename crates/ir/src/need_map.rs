//! How the needs of what is linked to a socket turn into needs of the node that owns the socket.

use millstream_base::feature::{Aspect, TooManyNeeds};
use millstream_base::{FeatureSet, Need, NeedTable};
use millstream_kernel::ScopeRule;

/// What becomes of one need when it crosses a socket outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is the same need outside.
    Same,
    /// It is this need outside: an injector took away level 0.
    Outer(u32),
    /// The rule at this position provides it.
    Provided(u16),
    /// The rule at this position makes it out of this need outside.
    Modified(u16, u32),
}

/// The fate of each need at one socket.
#[derive(Clone, Debug, Default)]
pub struct NeedMap {
    fates: Vec<Fate>,
    /// Needs of the socket itself: extents of axes it runs along.
    always: FeatureSet,
    /// Needs that cross unchanged, for speed.
    same: FeatureSet,
}

impl NeedMap {
    /// The map of a socket with these rules, for the needs known so far.
    ///
    /// # Errors
    /// If more than 64 needs arise.
    pub fn new(rules: &[ScopeRule], table: &mut NeedTable) -> Result<Self, TooManyNeeds> {
        let mut map = Self::default();
        for rule in rules {
            if let ScopeRule::Along { feature, level } = rule {
                let extent =
                    Need { feature: feature.clone(), level: *level, aspect: Aspect::Extent };
                map.always = map.always.union(FeatureSet::bit(table.intern(&extent)?));
            }
        }
        map.extend(rules, table)?;
        Ok(map)
    }

    /// Completes the map for needs that came up since.
    ///
    /// # Errors
    /// If more than 64 needs arise.
    pub fn extend(&mut self, rules: &[ScopeRule], table: &mut NeedTable) -> Result<(), TooManyNeeds> {
        while self.fates.len() < table.len() {
            let bit = self.fates.len() as u32;
            let fate = fate(table.need(bit).clone(), rules, table)?;
            if fate == Fate::Same {
                self.same = self.same.union(FeatureSet::bit(bit));
            }
            self.fates.push(fate);
        }
        Ok(())
    }

    /// What becomes of one need.
    pub fn fate(&self, bit: u32) -> Fate {
        self.fates[bit as usize]
    }

    /// The needs outside, given those inside.
    pub fn outside(&self, inside: FeatureSet) -> FeatureSet {
        let mut outside = inside.intersect(self.same).union(self.always);
        for bit in inside.minus(self.same).bits() {
            match self.fates[bit as usize] {
                Fate::Same | Fate::Provided(_) => {}
                Fate::Outer(outer) | Fate::Modified(_, outer) => {
                    outside = outside.union(FeatureSet::bit(outer));
                }
            }
        }
        outside
    }

    /// Needs of the socket itself.
    pub fn always(&self) -> FeatureSet {
        self.always
    }

    /// Which rules provide or modify something of `inside`: bit `r` for rule `r`.
    pub fn active_rules(&self, inside: FeatureSet) -> u64 {
        let mut rules = 0;
        for bit in inside.minus(self.same).bits() {
            match self.fates[bit as usize] {
                Fate::Provided(rule) | Fate::Modified(rule, _) => rules |= 1 << rule,
                Fate::Same | Fate::Outer(_) => {}
            }
        }
        rules
    }
}

/// What becomes of `need` at a socket with these rules. Rules of one socket change different
/// features; where two name one feature the first counts.
fn fate(need: Need, rules: &[ScopeRule], table: &mut NeedTable) -> Result<Fate, TooManyNeeds> {
    for (r, rule) in rules.iter().enumerate() {
        if *rule.feature() != need.feature {
            continue;
        }
        let r = r as u16;
        match rule {
            ScopeRule::Inject { .. } | ScopeRule::Each { .. } => {
                if need.level == 0 {
                    return Ok(Fate::Provided(r));
                }
                let outer = Need { level: need.level - 1, ..need };
                return Ok(Fate::Outer(table.intern(&outer)?));
            }
            ScopeRule::Modify { .. } if need.level == 0 && need.aspect == Aspect::Value => {
                let bit = table.intern(&need)?;
                return Ok(Fate::Modified(r, bit));
            }
            ScopeRule::Along { level, .. }
                if need.level == *level && need.aspect == Aspect::Value =>
            {
                return Ok(Fate::Provided(r));
            }
            ScopeRule::Modify { .. } | ScopeRule::Along { .. } => {}
        }
    }
    Ok(Fate::Same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_base::Feature;

    fn index(level: u32, aspect: Aspect) -> Need {
        Need { feature: Feature::Index, level, aspect }
    }

    #[test]
    fn an_injector_drops_level_0_and_lowers_the_others() {
        let mut table = NeedTable::default();
        let inner = table.intern(&index(0, Aspect::Value)).expect("room");
        let outer = table.intern(&index(1, Aspect::Value)).expect("room");
        let rules = [ScopeRule::Inject { feature: Feature::Index, value: 1 }];
        let map = NeedMap::new(&rules, &mut table).expect("room");
        let inside = FeatureSet::bit(inner).union(FeatureSet::bit(outer));
        assert_eq!(map.outside(inside), FeatureSet::bit(inner));
        assert_eq!(map.active_rules(inside), 1);
    }

    #[test]
    fn a_reduction_needs_the_extent_and_not_the_value() {
        let mut table = NeedTable::default();
        let value = table.intern(&index(0, Aspect::Value)).expect("room");
        let rules = [ScopeRule::Along { feature: Feature::Index, level: 0 }];
        let map = NeedMap::new(&rules, &mut table).expect("room");
        let extent = table.find(&index(0, Aspect::Extent)).expect("interned by the map");
        assert_eq!(map.outside(FeatureSet::bit(value)), FeatureSet::bit(extent));
        assert_eq!(map.outside(FeatureSet::NONE), FeatureSet::bit(extent));
    }
}
