//! The plan: what evaluators run. Immutable and shared; values live in the store of an evaluation.
//!
//! Each step comes after all steps that it reads from. A step refers to a class of needs; steps
//! with equal needs share one.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use millstream_base::feature::{Aspect, Need};
use millstream_base::id::{Arena, Id, SideTable};
use millstream_base::{FeatureSet, NeedTable, Type};
use millstream_node::{Class, Data, Instance};
use smallvec::SmallVec;

use crate::graph::{ConstId, GraphInput, InputId, InstanceId};
use crate::hidden::is_state;
use crate::loops::LoopOf;
use crate::need_map::NeedMap;
use crate::paths::{PathId, Paths};
use crate::region::InRegion;

pub use crate::ids::{NeedClassId, StepId};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOp {
    /// Returns a constant.
    Const(ConstId),
    /// Returns an input of the request.
    Input(InputId),
    /// Calls an instance.
    Call(InstanceId),
}

/// One output of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepSource {
    /// The step.
    pub step: StepId,
    /// Position of the output.
    pub output: u32,
}

/// The parts of a folded loop in a plan; the members are in the order of the plan.
pub type Loop = LoopOf<StepId, StepSource>;

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What it does.
    pub op: StepOp,
    /// Its place in the document.
    pub path: PathId,
    /// Its needs, including those of its inputs.
    pub needs: NeedClassId,
    /// Length of the longest path to a step without inputs, saturating. Deeper inputs are evaluated
    /// first.
    pub depth: u32,
    /// Number of links and plan outputs that read from it.
    pub n_users: u32,
    /// Position of its first link in the pool.
    pub first_link: u32,
    /// Number of its links.
    pub n_links: u16,
    /// Its class, including its inputs.
    pub class: Class,
    /// Whether every user reads it in the context of its own needs, so that its buffer has a last
    /// use.
    pub is_local: bool,
}

/// The kind of a link, by which an evaluator knows what to do before it looks at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// The source is a constant.
    Const,
    /// The source is an input of the request.
    Input,
    /// The source is a call in the same context: needs are equal and no scope lies between.
    Same,
    /// The source is a call in another context.
    Other,
}

impl LinkKind {
    /// The kind of a link to a step, which is evaluated in the reader's context or in another.
    #[inline]
    pub fn of(source: StepOp, is_same_context: bool) -> Self {
        match source {
            StepOp::Const(_) => Self::Const,
            StepOp::Input(_) => Self::Input,
            StepOp::Call(_) if is_same_context => Self::Same,
            StepOp::Call(_) => Self::Other,
        }
    }
}

/// An output of the plan.
#[derive(Clone, Debug)]
pub struct PlanOutput {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub ty: Type,
    /// The source of the value.
    pub source: StepSource,
}

/// A node with state for each element of the scopes around it. Its new state is computed in the
/// same context as its reader.
#[derive(Clone, Debug)]
pub struct StateWriter {
    /// Path of the node.
    pub node: Arc<str>,
    /// The step that returns the state.
    pub reader: StepId,
    /// The sources of the new state, in order of the reader's outputs from the second on.
    pub values: Vec<PlanOutput>,
    /// The outputs that read the state inside scopes; `None` if all may. For a request without
    /// these, the node has one context: that of the request.
    pub scoped_by: Option<Arc<[Arc<str>]>>,
}

/// What evaluators run.
#[derive(Debug)]
pub struct Plan {
    /// The steps, each after all steps that it reads from.
    pub steps: Arena<StepId, Step>,
    /// The links of all steps.
    pub links: Vec<StepSource>,
    /// The kind of each link.
    pub link_kinds: Vec<LinkKind>,
    /// The region of each step; empty if regions were not analyzed.
    pub regions: SideTable<StepId, Option<InRegion>>,
    /// The loops that run as one with the steps that fold their lists, in order of those steps.
    pub loops: Vec<Loop>,
    /// The instances that steps call.
    pub instances: Arena<InstanceId, Arc<Instance>>,
    /// How needs cross the inputs of each instance: `None` for an input without a scope, and an
    /// empty list if no input has one. A map knows the needs of the steps that are linked there.
    pub need_maps: SideTable<InstanceId, Vec<Option<NeedMap>>>,
    /// The constants.
    pub constants: Arena<ConstId, Data>,
    /// The inputs that the caller may set.
    pub inputs: Arena<InputId, GraphInput>,
    /// The outputs.
    pub outputs: Vec<PlanOutput>,
    /// The table of needs.
    pub needs: NeedTable,
    /// The classes of needs; class 0 is empty.
    pub need_classes: Arena<NeedClassId, FeatureSet>,
    /// The nodes with state for each element of the scopes around them.
    pub state_writers: Vec<StateWriter>,
    /// Places of the steps in the document.
    pub paths: Paths,
    /// Frames per second of the document.
    pub fps: f64,
    /// The frame at which state starts.
    pub start_frame: i64,
    /// The notes of evaluators about the plan.
    pub notes: Notes,
}

/// Results that evaluators derive from a plan and store with it, such as fused forms: one note per
/// type. Notes say nothing that the plan does not determine.
///
/// Notes form a linked list to which entries are only appended, so that reading takes no lock.
#[derive(Debug, Default)]
pub struct Notes(OnceLock<Box<Note>>);

#[derive(Debug)]
struct Note {
    content: Box<dyn Any + Send + Sync>,
    rest: Notes,
}

impl Notes {
    /// The note of type `T`, which is made if there is none.
    pub fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let mut make = Some(make);
        let mut notes = self;
        loop {
            let note = notes.0.get_or_init(|| {
                let make = make.take().expect("the loop ends with the note that is made");
                Box::new(Note { content: Box::new(make()), rest: Self::default() })
            });
            match note.content.downcast_ref() {
                Some(content) => return content,
                None => notes = &note.rest,
            }
        }
    }
}

/// The kinds of all links of these steps.
pub fn link_kinds(
    steps: &Arena<StepId, Step>,
    links: &[StepSource],
    need_maps: &SideTable<InstanceId, Vec<Option<NeedMap>>>,
) -> Vec<LinkKind> {
    let mut kinds = vec![LinkKind::Other; links.len()];
    for (_, step) in steps.iter() {
        let StepOp::Call(instance) = step.op else { continue };
        for i in 0..step.n_links as usize {
            let link = step.first_link as usize + i;
            let source = &steps[links[link].step];
            let has_scope = need_maps[instance].get(i).is_some_and(Option::is_some);
            kinds[link] = LinkKind::of(source.op, source.needs == step.needs && !has_scope);
        }
    }
    kinds
}

impl Plan {
    /// The region of a step, if it is in one.
    #[inline]
    pub fn region_of(&self, step: StepId) -> Option<InRegion> {
        self.regions.as_slice().get(step.index()).copied().flatten()
    }

    /// The loop whose list a step folds, if both run as one.
    #[inline]
    pub fn loop_of(&self, fold: StepId) -> Option<&Loop> {
        let at = self.loops.binary_search_by_key(&fold, |folded| folded.fold).ok()?;
        Some(&self.loops[at])
    }

    /// The links of a step, in order of its instance's inputs.
    #[inline]
    pub fn inputs_of(&self, step: &Step) -> &[StepSource] {
        &self.links[step.first_link as usize..][..step.n_links as usize]
    }

    /// The links of a step with their kinds.
    #[inline]
    pub fn links_of(&self, step: &Step) -> impl Iterator<Item = (StepSource, LinkKind)> + '_ {
        let range = step.first_link as usize..step.first_link as usize + step.n_links as usize;
        self.links[range.clone()].iter().copied().zip(self.link_kinds[range].iter().copied())
    }

    /// The input called `name`.
    pub fn input_named(&self, name: &str) -> Option<InputId> {
        self.inputs.iter().find(|(_, input)| &*input.name == name).map(|(id, _)| id)
    }

    /// The position of the output called `name`.
    pub fn output_named(&self, name: &str) -> Option<usize> {
        self.outputs.iter().position(|output| &*output.name == name)
    }

    /// Which inputs of a call are evaluated in the call's own context.
    pub fn evaluated_outside(&self, step: &Step, id: InstanceId) -> SmallVec<[bool; 8]> {
        let links = self.inputs_of(step);
        self.instances[id].evaluated_outside(|i| {
            let inside = self.needs_of(&self.steps[links[i].step]);
            let map = self.need_maps[id].get(i).and_then(Option::as_ref);
            map.map_or(0, |map| map.active_rules(inside))
        })
    }

    /// The steps that the outputs at these positions may need.
    pub fn steps_upstream(&self, outputs: &[usize]) -> SideTable<StepId, bool> {
        self.steps_upstream_of(outputs.iter().map(|output| self.outputs[*output].source.step))
    }

    /// The steps that these steps depend on, themselves included.
    pub fn steps_upstream_of(
        &self,
        steps: impl Iterator<Item = StepId>,
    ) -> SideTable<StepId, bool> {
        let mut behind = SideTable::for_arena(&self.steps, false);
        for step in steps {
            behind[step] = true;
        }
        // A step comes after all steps that it reads from.
        for (id, step) in self.steps.iter().rev() {
            if behind[id] {
                for link in self.inputs_of(step) {
                    behind[link.step] = true;
                }
            }
        }
        behind
    }

    /// Whether any node has state.
    pub fn has_states(&self) -> bool {
        !self.state_writers.is_empty() || self.outputs.iter().any(|output| is_state(&output.name))
    }

    /// Whether these outputs carry state, or a step that they may need reads it.
    pub fn depends_on_state(&self, outputs: &[usize]) -> bool {
        if !self.has_states() {
            return false;
        }
        let is_input = |step: &Step| match step.op {
            StepOp::Input(input) => is_state(&self.inputs[input].name),
            StepOp::Const(_) | StepOp::Call(_) => false,
        };
        if outputs.iter().any(|output| is_state(&self.outputs[*output].name)) {
            return true;
        }
        let upstream = self.steps_upstream(outputs);
        self.state_writers.iter().any(|writer| upstream[writer.reader])
            || self.steps.iter().any(|(id, step)| upstream[id] && is_input(step))
    }

    /// The needs of a step.
    pub fn needs_of(&self, step: &Step) -> FeatureSet {
        self.need_classes[step.needs]
    }

    /// The needs of all outputs: the plan's interface to the context.
    pub fn interface(&self) -> FeatureSet {
        self.outputs.iter().fold(FeatureSet::NONE, |all, output| {
            all.union(self.needs_of(&self.steps[output.source.step]))
        })
    }

    /// The values that the caller must provide, in order of their bits.
    pub fn required(&self) -> impl Iterator<Item = &Need> {
        self.needs.of(self.interface()).filter(|need| match need.aspect {
            Aspect::Value => true,
            Aspect::Extent => false,
        })
    }

    /// Size of the plan in bytes, without instances and the contents of constants.
    pub fn bytes(&self) -> usize {
        self.steps.len() * size_of::<Step>() + self.links.len() * size_of::<StepSource>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_note_of_each_type() {
        let notes = Notes::default();
        assert_eq!(notes.get_or_make(|| 1_u32), &1);
        assert_eq!(notes.get_or_make(|| "a"), &"a");
        assert_eq!(notes.get_or_make(|| 2_u32), &1, "it is there");
        assert_eq!(notes.get_or_make(|| "b"), &"a", "it is there");
    }
}
