//! Contexts of the model: the value of each feature at each level, in full.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use millstream_base::feature::Aspect;
use millstream_base::same::Same;
use millstream_base::{Feature, Need, Value, define_id};
use millstream_node::ScopeRule;
use rustc_hash::FxHashMap;

use super::program::{Link, Program, ProgramOp};
use millstream_node::Kernel;

define_id!(CtxId, "x", "One context.");
define_id!(KnownId, "v", "The value of one feature at one level.");
define_id!(AxisId, "a", "One axis.");

/// A value that is compared and hashed by its bits.
#[derive(Clone, Debug)]
pub struct Bits(pub Value);

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.ty() == other.0.ty() && self.0.same(&other.0)
    }
}
impl Eq for Bits {}
impl Hash for Bits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

/// An axis identified by its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Axis {
    /// The request, for its moments.
    Time,
    /// The request, for its views.
    View,
    /// The request, for its elements.
    Index,
    /// A socket, in the context of its node.
    Loop { node: usize, slot: usize, ctx: CtxId },
}

/// The position along each open axis, ascending by axis.
pub(super) type Cell = Vec<(AxisId, u32)>;

/// The value of a feature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Known {
    /// One value for all cells.
    Same(Bits),
    /// The value given by the request at this position of its features.
    Given(usize),
    /// The position along an axis.
    At(AxisId),
    /// The value of a source in a context.
    Linked(Link, CtxId),
    /// The value that a rule of a socket derives from the outer one.
    Changed { old: KnownId, node: usize, slot: usize, rule: usize, ctx: CtxId },
    /// None: there are fewer levels.
    Missing,
}

/// A feature at one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) known: KnownId,
    /// The axis that its injector opened.
    pub(super) axis: Option<AxisId>,
}

/// The levels of each feature, the nearest first; sorted by feature.
pub(super) type Stacks = Vec<(Feature, Vec<Entry>)>;

/// Gives equal values the same number.
#[derive(Debug)]
pub(super) struct Interner<K> {
    all: Vec<Rc<K>>,
    numbers: FxHashMap<Rc<K>, usize>,
}

impl<K: Eq + Hash> Interner<K> {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), numbers: FxHashMap::default() }
    }

    pub(super) fn number(&mut self, key: K) -> usize {
        let key = Rc::new(key);
        let (all, next) = (&mut self.all, self.numbers.len());
        *self.numbers.entry(key).or_insert_with_key(|key| {
            all.push(Rc::clone(key));
            next
        })
    }

    pub(super) fn get(&self, number: usize) -> Rc<K> {
        Rc::clone(&self.all[number])
    }
}

/// The levels of a feature.
pub(super) fn levels<'a>(stacks: &'a Stacks, feature: &Feature) -> &'a [Entry] {
    stacks.iter().find(|(known, _)| known == feature).map_or(&[], |(_, levels)| levels)
}

/// The levels of a feature, mutable; created if there are none.
pub(super) fn levels_mut<'a>(stacks: &'a mut Stacks, feature: &Feature) -> &'a mut Vec<Entry> {
    let at = match stacks.binary_search_by(|(known, _)| known.cmp(feature)) {
        Ok(at) => at,
        Err(at) => {
            stacks.insert(at, (feature.clone(), Vec::new()));
            at
        }
    };
    &mut stacks[at].1
}

/// The effective rules of a socket: of several for one feature the first.
pub(super) fn rules(scope: &[ScopeRule]) -> impl Iterator<Item = (usize, &ScopeRule)> {
    scope
        .iter()
        .enumerate()
        .filter(|(r, rule)| scope[..*r].iter().all(|earlier| earlier.feature() != rule.feature()))
}

/// The need outside of a socket for a need of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outside {
    /// This need.
    Need(Need),
    /// The rule at this position derives the value from this need.
    Changed(usize, Need),
    /// The rule at this position provides the value.
    Provided(usize),
}

/// The fate of a need at a socket with these rules.
pub(super) fn outside(need: &Need, scope: &[ScopeRule]) -> Outside {
    let Some((r, rule)) = rules(scope).find(|(_, rule)| *rule.feature() == need.feature) else {
        return Outside::Need(need.clone());
    };
    match rule {
        ScopeRule::Inject { .. } | ScopeRule::Each { .. } => match need.level.checked_sub(1) {
            None => Outside::Provided(r),
            Some(level) => Outside::Need(Need { level, ..need.clone() }),
        },
        ScopeRule::Modify { .. } if need.level == 0 && need.aspect == Aspect::Value => {
            Outside::Changed(r, need.clone())
        }
        ScopeRule::Along { .. }
            if need.aspect == Aspect::Value && rule.counts_along(need.level) =>
        {
            Outside::Provided(r)
        }
        ScopeRule::Modify { .. } | ScopeRule::Along { .. } => Outside::Need(need.clone()),
    }
}

/// Whether a rule has an effect on a source with these needs.
pub(super) fn is_active(rule: usize, scope: &[ScopeRule], needs: &BTreeSet<Need>) -> bool {
    needs.iter().any(|need| match outside(need, scope) {
        Outside::Changed(r, _) | Outside::Provided(r) => r == rule,
        Outside::Need(_) => false,
    })
}

/// The needs of each node, of its own and of its inputs: visits all nodes until nothing changes.
pub(super) fn needs(program: &Program) -> Vec<BTreeSet<Need>> {
    let mut needs = vec![BTreeSet::new(); program.nodes.len()];
    loop {
        let mut changed = false;
        for (i, node) in program.nodes.iter().enumerate() {
            let ProgramOp::Call(instance) = &node.op else { continue };
            let mut all: BTreeSet<Need> = BTreeSet::new();
            if let Kernel::Read { feature, level, aspect } = &instance.kernel {
                all.insert(Need { feature: feature.clone(), level: *level, aspect: *aspect });
            }
            if let Kernel::ReadState(needs) = &instance.kernel {
                all.extend(needs.iter().cloned());
            }
            for (link, slot) in node.links.iter().zip(&instance.inputs) {
                for need in &needs[link.node] {
                    match outside(need, &slot.scope) {
                        Outside::Need(need) | Outside::Changed(_, need) => {
                            all.insert(need);
                        }
                        Outside::Provided(_) => {}
                    }
                }
                for (_, rule) in rules(&slot.scope) {
                    if let ScopeRule::Along { feature, level } = rule {
                        let (feature, level) = (feature.clone(), *level);
                        all.insert(Need { feature, level, aspect: Aspect::Extent });
                    }
                }
            }
            changed |= all != needs[i];
            needs[i] = all;
        }
        if !changed {
            return needs;
        }
    }
}
