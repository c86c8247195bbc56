//! The change of needs across a socket: from those of its source to those of the node that owns it.

use millstream_base::feature::{Aspect, TooManyNeeds};
use millstream_base::{FeatureSet, Need, NeedTable};
use millstream_node::ScopeRule;

/// The fate of a need that crosses a socket outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The need is the same outside.
    Same,
    /// The need becomes this need outside, since an injector removed level 0.
    Outer(u32),
    /// The rule at this position provides the value.
    Provided(u16),
    /// The rule at this position derives the value from this need outside.
    Modified(u16, u32),
}

/// The fates of needs at one socket, computed on demand.
#[derive(Clone, Debug, Default)]
pub struct NeedMap {
    fates: Vec<Fate>,
    /// The needs of the socket itself: the extents of axes along which it runs.
    always: FeatureSet,
    /// The needs with a known fate.
    known: FeatureSet,
    /// The needs that cross unchanged; a shortcut.
    same: FeatureSet,
}

impl NeedMap {
    /// The map of a socket with these rules, without any known fate.
    ///
    /// # Errors
    /// If there are more than 64 needs.
    pub fn new(rules: &[ScopeRule], table: &mut NeedTable) -> Result<Self, TooManyNeeds> {
        let mut map = Self::default();
        for rule in rules {
            if let ScopeRule::Along { feature, level } = rule {
                let extent =
                    Need { feature: feature.clone(), level: *level, aspect: Aspect::Extent };
                map.always = map.always.union(FeatureSet::bit(table.intern(&extent)?));
            }
        }
        Ok(map)
    }

    /// Computes the fates of these needs. Fates are computed only for needs that occur, so that the
    /// levels between them take no bits of the table.
    ///
    /// # Errors
    /// If there are more than 64 needs.
    #[inline]
    pub fn add(
        &mut self,
        inside: FeatureSet,
        rules: &[ScopeRule],
        table: &mut NeedTable,
    ) -> Result<(), TooManyNeeds> {
        if self.known.contains(inside) { Ok(()) } else { self.add_fates(inside, rules, table) }
    }

    fn add_fates(
        &mut self,
        inside: FeatureSet,
        rules: &[ScopeRule],
        table: &mut NeedTable,
    ) -> Result<(), TooManyNeeds> {
        for bit in inside.minus(self.known).bits() {
            let fate = fate(table.need(bit).clone(), rules, table)?;
            if fate == Fate::Same {
                self.same = self.same.union(FeatureSet::bit(bit));
            }
            if self.fates.len() <= bit as usize {
                self.fates.resize(bit as usize + 1, Fate::Same);
            }
            self.fates[bit as usize] = fate;
        }
        self.known = self.known.union(inside);
        Ok(())
    }

    /// Whether all of `inside`, whose fates are known, cross unchanged, so that the socket has no
    /// effect on the context.
    pub fn is_transparent(&self, inside: FeatureSet) -> bool {
        self.same.contains(inside)
    }

    /// The fate of a need, which is known.
    pub fn fate(&self, bit: u32) -> Fate {
        self.fates[bit as usize]
    }

    /// The needs outside for the needs inside, whose fates are known.
    #[inline]
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

    /// The needs of the socket itself.
    pub fn always(&self) -> FeatureSet {
        self.always
    }

    /// The rules that provide or modify a need of `inside`: bit `r` for rule `r`.
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

/// The fate of `need` at a socket with these rules. The rules of a socket change different
/// features; if two change the same feature, the first counts.
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
            ScopeRule::Along { .. }
                if need.aspect == Aspect::Value && rule.counts_along(need.level) =>
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
        let mut map = NeedMap::new(&rules, &mut table).expect("room");
        let inside = FeatureSet::bit(inner).union(FeatureSet::bit(outer));
        map.add(inside, &rules, &mut table).expect("room");
        assert_eq!(map.outside(inside), FeatureSet::bit(inner));
        assert_eq!(map.active_rules(inside), 1);
    }

    #[test]
    fn a_reduction_needs_the_extent_and_not_the_value() {
        let mut table = NeedTable::default();
        let value = table.intern(&index(0, Aspect::Value)).expect("room");
        let rules = [ScopeRule::Along { feature: Feature::Index, level: 0 }];
        let mut map = NeedMap::new(&rules, &mut table).expect("room");
        map.add(FeatureSet::bit(value), &rules, &mut table).expect("room");
        let extent = table.find(&index(0, Aspect::Extent)).expect("interned by the map");
        assert_eq!(map.outside(FeatureSet::bit(value)), FeatureSet::bit(extent));
        assert_eq!(map.outside(FeatureSet::NONE), FeatureSet::bit(extent));
    }

    #[test]
    fn a_reduction_along_moments_needs_their_values_as_well() {
        let mut table = NeedTable::default();
        let need = |aspect| Need { feature: Feature::Time, level: 0, aspect };
        let value = FeatureSet::bit(table.intern(&need(Aspect::Value)).expect("room"));
        let rules = [ScopeRule::Along { feature: Feature::Time, level: 0 }];
        let mut map = NeedMap::new(&rules, &mut table).expect("room");
        map.add(value, &rules, &mut table).expect("room");
        let extent = table.find(&need(Aspect::Extent)).expect("interned by the map");
        assert_eq!(map.outside(value), value.union(FeatureSet::bit(extent)));
    }

    #[test]
    fn levels_that_do_not_occur_take_no_bits() {
        let mut table = NeedTable::default();
        let far = table.intern(&index(40, Aspect::Value)).expect("room");
        let rules = [ScopeRule::Inject { feature: Feature::Index, value: 1 }];
        let mut map = NeedMap::new(&rules, &mut table).expect("room");
        map.add(FeatureSet::bit(far), &rules, &mut table).expect("room");
        assert_eq!(map.fate(far), Fate::Outer(1));
        assert_eq!(table.len(), 2);
    }
}
