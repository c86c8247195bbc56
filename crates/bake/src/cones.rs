//! Keys of state inside scopes, apart from frames.
//!
//! The state of an element depends on the steps above its next value. It also depends on whether
//! the step that reads the state is called for that element. The steps between the requested outputs
//! and that step decide this: those that change the context, and those that choose among their
//! inputs. Any other step evaluates all of its inputs in its own context, whatever their values.

use millstream_base::Feature;
use millstream_base::id::SideTable;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::Request;
use millstream_ir::state_reads::{StateNode, StateReads};
use millstream_node::{Class, Instance, Kernel};
use rustc_hash::FxHashMap;

use crate::key::{Key, KeyHasher};
use crate::trace::{Tracer, key_of_given};

/// The keys of all that is above each step, at any frame; `None` if it is not the same next time.
pub(crate) struct Cones<'a> {
    plan: &'a Plan,
    above: SideTable<StepId, Option<Key>>,
}

/// How a step leads to steps that read certain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It does not.
    None,
    /// In a way that may be another next time.
    Unknown,
    /// In the way with this key.
    Known(Key),
}

impl Way {
    fn of(key: Option<Key>) -> Self {
        key.map_or(Self::Unknown, Self::Known)
    }
}

impl<'a> Cones<'a> {
    /// The cones of all steps of a plan.
    pub(crate) fn new(plan: &'a Plan, request: &Request, tracer: &Tracer<'_>) -> Self {
        let mut above: SideTable<StepId, Option<Key>> = SideTable::for_arena(&plan.steps, None);
        let mut nodes: FxHashMap<StepId, Vec<&str>> = FxHashMap::default();
        for writer in &plan.state_writers {
            nodes.entry(writer.reader).or_default().push(&writer.node);
        }
        // A step comes after all steps that it reads from.
        for (id, step) in plan.steps.iter() {
            let mut hash = KeyHasher::new("above");
            let mut has_key = step.class != Class::Volatile;
            match step.op {
                StepOp::Const(_) | StepOp::Input(_) => has_key &= tracer.add_leaf(id, &mut hash),
                StepOp::Call(call) => {
                    hash.add(tracer.identity_of(call));
                    has_key &= add_given(&plan.instances[call], request, &mut hash);
                }
            }
            nodes.get(&id).into_iter().flatten().for_each(|node| hash.text(node));
            for link in plan.inputs_of(step) {
                has_key &= add_source(&above, *link, &mut hash);
            }
            above[id] = has_key.then(|| hash.key());
        }
        Self { plan, above }
    }

    /// The key of the state of these nodes, of which some are inside scopes. The outputs of the
    /// steps `asked` are requested in each tick.
    pub(crate) fn key(
        &self,
        reads: &StateReads<'_>,
        depends: &[bool],
        asked: &[StepId],
    ) -> Option<Key> {
        let mut hash = KeyHasher::new("cone");
        let nodes = reads.nodes.iter().zip(depends).filter(|(_, depends)| **depends);
        let mut nodes: Vec<&StateNode> = nodes.map(|(node, _)| node).collect();
        nodes.sort_by(|a, b| a.path.cmp(&b.path));
        for node in &nodes {
            hash.text(&node.path);
            let mut values: Vec<(&str, StepSource)> = reads.values_of(node).collect();
            values.sort_unstable_by_key(|(name, _)| *name);
            for (name, source) in values {
                hash.text(name);
                if !add_source(&self.above, source, &mut hash) {
                    return None;
                }
            }
        }
        let ways = self.ways(&nodes);
        let mut asked = asked.iter().map(|step| ways[*step]).collect::<Vec<Way>>();
        if asked.contains(&Way::Unknown) {
            return None;
        }
        asked.retain(|way| *way != Way::None);
        add_ways(&mut asked, &mut hash);
        Some(hash.key())
    }

    /// How each step leads to those that read the state of these nodes.
    fn ways(&self, nodes: &[&StateNode]) -> SideTable<StepId, Way> {
        let plan = self.plan;
        let mut ways = SideTable::for_arena(&plan.steps, Way::None);
        for writer in nodes.iter().filter_map(|node| node.writer) {
            let writer = &plan.state_writers[writer];
            ways[writer.reader] = Way::of(self.above[writer.reader]);
        }
        for (id, step) in plan.steps.iter() {
            let StepOp::Call(call) = step.op else { continue };
            let links = plan.inputs_of(step);
            let inner: Vec<Way> = links.iter().map(|link| ways[link.step]).collect();
            if ways[id] != Way::None || inner.iter().all(|way| *way == Way::None) {
                continue;
            }
            let instance = &plan.instances[call];
            ways[id] = if instance.has_scopes() {
                Way::of(self.above[id])
            } else if let (Kernel::Choose, Some(selector)) = (&instance.kernel, links.first()) {
                self.choice(*selector, &inner)
            } else {
                joined(inner)
            };
        }
        ways
    }

    /// The way through a choice: which arm leads where counts.
    fn choice(&self, selector: StepSource, inner: &[Way]) -> Way {
        let mut hash = KeyHasher::new("choice");
        if !add_source(&self.above, selector, &mut hash) {
            return Way::Unknown;
        }
        for way in inner {
            match way {
                Way::None => hash.text("none"),
                Way::Known(key) => hash.add(*key),
                Way::Unknown => return Way::Unknown,
            }
        }
        Way::Known(hash.key())
    }
}

/// The way through a call that evaluates all of its inputs.
fn joined(mut inner: Vec<Way>) -> Way {
    inner.retain(|way| *way != Way::None);
    if inner.contains(&Way::Unknown) {
        return Way::Unknown;
    }
    if let [only] = inner[..] {
        return only;
    }
    let mut hash = KeyHasher::new("ways");
    add_ways(&mut inner, &mut hash);
    Way::Known(hash.key())
}

/// Adds known ways, each once, in an order that does not depend on the document.
fn add_ways(ways: &mut Vec<Way>, hash: &mut KeyHasher) {
    let known = |way: &Way| match way {
        Way::Known(key) => Some(*key),
        Way::None | Way::Unknown => None,
    };
    ways.sort_unstable_by_key(known);
    ways.dedup();
    ways.iter().filter_map(known).for_each(|key| hash.add(key));
}

/// Adds everything above a result; `false` if it is not the same next time.
fn add_source(
    above: &SideTable<StepId, Option<Key>>,
    source: StepSource,
    hash: &mut KeyHasher,
) -> bool {
    hash.number(source.output.into());
    above[source.step].inspect(|key| hash.add(*key)).is_some()
}

/// Adds the value that the request gives for a feature that an instance reads; `false` if it is not
/// the same next time.
fn add_given(instance: &Instance, request: &Request, hash: &mut KeyHasher) -> bool {
    match &instance.kernel {
        Kernel::Read { feature: Feature::RealTime, .. } => false,
        Kernel::Read { feature, .. } => match request.of_feature(feature).map(key_of_given) {
            Some(Some(key)) => {
                hash.add(key);
                true
            }
            Some(None) => false,
            None => true,
        },
        Kernel::Form(_)
        | Kernel::Function(_)
        | Kernel::Pass
        | Kernel::Choose
        | Kernel::ReadState(_) => true,
    }
}
