//! Plans with results replaced by inputs, or published as outputs.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::id::{Arena, Id, SideTable};
use rustc_hash::FxHashMap;

use crate::graph::{GraphInput, InputId};
use crate::plan::{
    NeedClassId, Notes, Plan, PlanOutput, StateWriter, Step, StepId, StepOp, StepSource, link_kinds,
};

impl Plan {
    /// The plan with the results `given` as inputs and the results `published` as outputs of these
    /// names. The steps of this plan follow one step per new input, in the same order; steps that
    /// are no longer read remain without users.
    ///
    /// Cost: linear in the plan.
    pub fn spliced(
        &self,
        given: &[(StepSource, Arc<str>)],
        published: &[(StepSource, Arc<str>)],
    ) -> Self {
        let n = given.len();
        let new_id = |step: StepId| StepId::from_index(step.index() + n);
        let of_given = given.iter().enumerate().map(|(input, (source, _))| (*source, input));
        let of_given: FxHashMap<StepSource, usize> = of_given.collect();
        // A quick test, since plans are large and few results are given.
        let mut is_given = SideTable::for_arena(&self.steps, false);
        for (source, _) in given {
            is_given[source.step] = true;
        }
        let moved = |source: StepSource| {
            let input = if is_given[source.step] { of_given.get(&source) } else { None };
            match input {
                Some(input) => StepSource { step: StepId::from_index(*input), output: 0 },
                None => StepSource { step: new_id(source.step), output: source.output },
            }
        };
        let mut inputs = self.inputs.clone();
        let mut steps: Arena<StepId, Step> = Arena::with_capacity(n + self.steps.len());
        for (source, name) in given {
            let ty = self.type_of(*source);
            let input: InputId =
                inputs.push(GraphInput { name: Arc::clone(name), ty, default: None });
            steps.push(Step {
                op: StepOp::Input(input),
                needs: NeedClassId::from_index(0),
                depth: 0,
                n_links: 0,
                is_local: false,
                ..self.steps[source.step]
            });
        }
        for (_, step) in self.steps.iter() {
            steps.push(*step);
        }
        let output =
            |output: &PlanOutput| PlanOutput { source: moved(output.source), ..output.clone() };
        let more = published.iter().map(|(source, name)| PlanOutput {
            name: Arc::clone(name),
            ty: self.type_of(*source),
            source: moved(*source),
        });
        let outputs: Vec<PlanOutput> = self.outputs.iter().map(output).chain(more).collect();
        let writer = |writer: &StateWriter| StateWriter {
            node: Arc::clone(&writer.node),
            reader: new_id(writer.reader),
            values: writer.values.iter().map(output).collect(),
            scoped_by: writer.scoped_by.clone(),
        };
        let state_writers: Vec<StateWriter> = self.state_writers.iter().map(writer).collect();
        let links: Vec<StepSource> = self.links.iter().map(|link| moved(*link)).collect();
        let link_kinds = link_kinds(&steps, &links, &self.need_maps);
        let regions = if self.regions.as_slice().is_empty() {
            SideTable::from_vec(Vec::new())
        } else {
            let none = std::iter::repeat_n(None, n);
            SideTable::from_vec(none.chain(self.regions.as_slice().iter().copied()).collect())
        };
        let mut plan = Self {
            steps,
            links,
            link_kinds,
            regions,
            loops: self.loops.iter().map(|folded| folded.map(new_id, moved)).collect(),
            instances: self.instances.clone(),
            need_maps: self.need_maps.clone(),
            constants: self.constants.clone(),
            inputs,
            outputs,
            needs: self.needs.clone(),
            need_classes: self.need_classes.clone(),
            state_writers,
            paths: self.paths.clone(),
            fps: self.fps,
            start_frame: self.start_frame,
            notes: Notes::default(),
        };
        plan.count_users();
        plan
    }

    /// The type of a result of a step.
    pub fn type_of(&self, source: StepSource) -> Type {
        match self.steps[source.step].op {
            StepOp::Const(id) => self.constants[id].ty(),
            StepOp::Input(id) => self.inputs[id].ty,
            StepOp::Call(id) => self.instances[id].outputs[source.output as usize].ty,
        }
    }

    /// Counts the readers of each step, among the steps that outputs and state writers may need.
    fn count_users(&mut self) {
        let mut n_users = SideTable::for_arena(&self.steps, 0_u32);
        let mut is_needed = SideTable::for_arena(&self.steps, false);
        for output in &self.outputs {
            n_users[output.source.step] += 1;
            is_needed[output.source.step] = true;
            self.steps[output.source.step].is_local = false;
        }
        for writer in &self.state_writers {
            is_needed[writer.reader] = true;
            for value in &writer.values {
                n_users[value.source.step] += 1;
                is_needed[value.source.step] = true;
            }
        }
        for i in (0..self.steps.len()).rev() {
            let id = StepId::from_index(i);
            if is_needed[id] {
                for link in self.inputs_of(&self.steps[id]) {
                    n_users[link.step] += 1;
                    is_needed[link.step] = true;
                }
            }
        }
        for (id, n_users) in n_users.iter() {
            self.steps[id].n_users = *n_users;
        }
    }
}
