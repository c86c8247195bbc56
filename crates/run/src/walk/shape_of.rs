//! Shapes before values: the axes along which a step may vary in a context.
//!
//! They are needed if a step is demanded in part, because the mask of a demand is over the step's
//! own cells. The walk follows the same rules as evaluation, with axes of unknown extent for loops.
//! It takes all arms of a choice, so a result is never narrower than what evaluation finds.

use std::collections::VecDeque;

use millstream_base::feature::{Aspect, Need};
use millstream_ir::graph::InstanceId;
use millstream_ir::need_map::Fate;
use millstream_ir::plan::{StepId, StepOp, StepSource};
use millstream_node::{Data, Instance, Kernel, ScopeRule};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::scope::need_map;
use super::state::ENDLESS;
use super::{Mode, Stop, Walk};
use crate::frame::{Feat, FeatId, FrameId, Frames};
use crate::shape::{AxisId, Extent, ShapeId, Shapes};

/// The shapes that were found.
#[derive(Debug, Default)]
pub(super) struct KnownShapes {
    shapes: FxHashMap<(StepId, FrameId), ShapeId>,
    /// The placeholders for axes of loops, by step, context and input.
    placeholders: FxHashMap<(StepId, FrameId, u16), AxisId>,
    /// The assumed shapes of readers of state, while these are found.
    assumed: Option<Assumed>,
    /// Whether readers of state were visited in an unlimited number of contexts.
    pub(super) is_endless: bool,
}

/// Assumed shapes of readers of state.
#[derive(Debug)]
struct Assumed {
    shapes: FxHashMap<(StepId, FrameId), ShapeId>,
    /// The readers in the order in which they were visited.
    order: Vec<(StepId, FrameId)>,
}

impl<'a, M: Mode> Walk<'a, M> {
    /// The shape of a step in a context that is restricted to its needs.
    pub(crate) fn shape_of(&mut self, step: StepId, frame: FrameId) -> Result<ShapeId, Stop> {
        let mut stack = vec![(step, frame)];
        while let Some((at, frame)) = stack.last().copied() {
            if self.known_shape(at, frame).is_some() {
                stack.pop();
                continue;
            }
            self.clock.check().map_err(Stop::All)?;
            let StepOp::Call(id) = self.plan.steps[at].op else {
                panic!("constants and inputs have known shapes");
            };
            let plan = self.plan;
            if let Kernel::ReadState(_) = plan.instances[id].kernel {
                let shape = self.shape_of_state(at, frame)?;
                self.known_shapes.shapes.insert((at, frame), shape);
                stack.pop();
                continue;
            }
            if let Some(shape) = self.find_shape(at, frame, id, &plan.instances[id], &mut stack) {
                self.known_shapes.shapes.insert((at, frame), shape);
                stack.pop();
            }
        }
        Ok(self.known_shape(step, frame).expect("the walk ends when the shape is known"))
    }

    /// The shape of the state that a node reads: it may vary along all axes of the context, and
    /// along those of the next state. As the next state may vary along the state that is read,
    /// shapes are assumed, the smallest first, until they fit.
    fn shape_of_state(&mut self, step: StepId, frame: FrameId) -> Result<ShapeId, Stop> {
        let feats: Vec<FeatId> = self.frames.feats_of(frame).collect();
        let (mut shape, mut is_even) = (Shapes::scalar(), true);
        for feat in feats {
            if let Feat::Axis(Some(axis)) = *self.frames.value(feat) {
                is_even &= self.shapes.parents(axis) == Shapes::scalar();
            }
            let of = self.feat_shape(feat);
            shape = self.shapes.union(shape, of);
        }
        if let Some(axis) = self.axis_of_state(step) {
            let of = self.shapes.along(axis);
            shape = self.shapes.union(shape, of);
        }
        if self.known_shapes.is_endless {
            return Err(Stop::Endless);
        }
        if let Some(assumed) = &mut self.known_shapes.assumed {
            return Ok(*assumed.shapes.entry((step, frame)).or_insert_with(|| {
                assumed.order.push((step, frame));
                shape
            }));
        }
        // Without columns and uneven extents there is nothing else along which it may vary.
        let is_single = |(_, of): &(Data, ShapeId)| *of == Shapes::scalar();
        let mut readers = self.plan.state_writers.iter().map(|writer| writer.reader);
        if is_even
            && self.inputs.as_slice().iter().all(is_single)
            && !readers.any(|reader| self.axis_of_state(reader).is_some())
        {
            return Ok(shape);
        }
        let known = self.known_shapes.shapes.clone();
        let order = vec![(step, frame)];
        let shapes = FxHashMap::from_iter([((step, frame), shape)]);
        self.known_shapes.assumed = Some(Assumed { shapes, order });
        let mut grows = Ok(true);
        while let Ok(true) = grows {
            self.known_shapes.shapes.clone_from(&known);
            grows = self.grow_assumed();
        }
        let assumed = self.known_shapes.assumed.take().expect("shapes are being found");
        if grows.is_err() {
            self.known_shapes.shapes = known;
        }
        grows.map(|_| assumed.shapes[&(step, frame)])
    }

    /// Enlarges the assumed shapes as the assumption requires; returns whether any grew.
    fn grow_assumed(&mut self) -> Result<bool, Stop> {
        let plan = self.plan;
        let mut grows = false;
        // The next state is often the state of a node that was visited later.
        let mut n_seen = self.assumed().order.len();
        let mut places: VecDeque<usize> = (0..n_seen).rev().collect();
        while let Some(place) = places.pop_front() {
            let (reader, frame) = self.assumed().order[place];
            let before = self.assumed().shapes[&(reader, frame)];
            let mut all = before;
            let writer = plan.state_writers.iter().find(|writer| writer.reader == reader);
            if n_seen > self.most_calls()
                && let Some(writer) = writer
            {
                self.refuse_contexts(writer, ENDLESS.into());
                self.known_shapes.is_endless = true;
                return Err(Stop::Endless);
            }
            for value in writer.iter().flat_map(|writer| &writer.values) {
                let home = self.home(value.source.step, frame);
                let of = self.shape_of(value.source.step, home)?;
                all = self.shapes.union(all, of);
            }
            grows |= all != before;
            self.assumed().shapes.insert((reader, frame), all);
            let n_met = self.assumed().order.len();
            places.extend(n_seen..n_met);
            n_seen = n_met;
        }
        Ok(grows)
    }

    fn assumed(&mut self) -> &mut Assumed {
        self.known_shapes.assumed.as_mut().expect("shapes are being found")
    }

    fn known_shape(&self, step: StepId, frame: FrameId) -> Option<ShapeId> {
        match self.plan.steps[step].op {
            StepOp::Const(_) => Some(Shapes::scalar()),
            StepOp::Input(id) => Some(self.inputs[id].1),
            StepOp::Call(_) => self.known_shapes.shapes.get(&(step, frame)).copied(),
        }
    }

    /// The shape of a step if those of its inputs are known; else pushes them on the stack.
    fn find_shape(
        &mut self,
        step: StepId,
        frame: FrameId,
        id: InstanceId,
        instance: &'a Instance,
        stack: &mut Vec<(StepId, FrameId)>,
    ) -> Option<ShapeId> {
        if let Kernel::Read { feature, level, aspect } = &instance.kernel {
            let need = Need { feature: feature.clone(), level: *level, aspect: *aspect };
            let bit = self
                .plan
                .needs
                .find(&need)
                .expect("a feature that a step reads is a need of the plan");
            let feat = self.frames.get(frame, bit).expect("a frame holds all needs of its step");
            return Some(match aspect {
                Aspect::Value => self.feat_shape(feat),
                Aspect::Extent => match *self.frames.value(feat) {
                    Feat::Axis(Some(axis)) => self.shapes.parents(axis),
                    _ => Shapes::scalar(),
                },
            });
        }
        let plan = self.plan;
        let sources = plan.inputs_of(&plan.steps[step]);
        let waiting = stack.len();
        let asked = plan.evaluated_outside(&plan.steps[step], id);
        for (source, is_asked) in sources.iter().zip(&asked) {
            if *is_asked {
                self.want(*source, frame, stack);
            }
        }
        if stack.len() > waiting {
            return None;
        }
        let mut bodies: SmallVec<[(usize, FrameId, Option<AxisId>); 2]> = SmallVec::new();
        for (i, input) in instance.inputs.iter().enumerate() {
            if !input.scope.is_empty() {
                let (body, axis) = self.enter_symbolically(step, frame, id, instance, i);
                self.want(sources[i], body, stack);
                bodies.push((i, body, axis));
            }
        }
        if stack.len() > waiting {
            return None;
        }
        let mut shape = Shapes::scalar();
        let passes = matches!(instance.kernel, Kernel::Pass);
        for (i, source) in sources.iter().enumerate() {
            match bodies.iter().find(|(input, ..)| *input == i) {
                None if passes && !bodies.is_empty() => {}
                None => {
                    let of = self.shape_in(*source, frame);
                    shape = self.shapes.union(shape, of);
                }
                Some((_, body, axis)) => {
                    let mut of = self.shape_in(*source, *body);
                    if let Some(axis) = axis {
                        // If it varies along an axis that depends on this one, the step fails.
                        of = self.shapes.without(of, *axis);
                        of = self.shapes.union(of, self.shapes.parents(*axis));
                    }
                    shape = self.shapes.union(shape, of);
                }
            }
        }
        Some(shape)
    }

    /// Pushes a source on the stack if its shape in a context is not known.
    fn want(&mut self, source: StepSource, frame: FrameId, stack: &mut Vec<(StepId, FrameId)>) {
        let home = self.home(source.step, frame);
        if self.known_shape(source.step, home).is_none() {
            stack.push((source.step, home));
        }
    }

    fn shape_in(&mut self, source: StepSource, frame: FrameId) -> ShapeId {
        let home = self.home(source.step, frame);
        self.known_shape(source.step, home).expect("shapes of inputs are found first")
    }

    fn feat_shape(&mut self, feat: FeatId) -> ShapeId {
        match *self.frames.value(feat) {
            Feat::Value(_, shape) | Feat::Symbolic(shape) => shape,
            Feat::Position(axis) => self.shapes.along(axis),
            Feat::Axis(_) => Shapes::scalar(),
        }
    }

    /// The context of an input with a scope, with shapes instead of values, and the axis that is
    /// gathered.
    fn enter_symbolically(
        &mut self,
        step: StepId,
        frame: FrameId,
        id: InstanceId,
        instance: &Instance,
        i: usize,
    ) -> (FrameId, Option<AxisId>) {
        let plan = self.plan;
        let sources = plan.inputs_of(&plan.steps[step]);
        let rules = &instance.inputs[i].scope;
        let mut axis = None;
        for rule in rules {
            match rule {
                ScopeRule::Each { count, .. } => {
                    let parents = self.shape_in(sources[*count as usize], frame);
                    axis = Some(self.placeholder(step, frame, i as u16, parents));
                }
                ScopeRule::Along { feature, level } => {
                    let need =
                        Need { feature: feature.clone(), level: *level, aspect: Aspect::Extent };
                    let bit = plan.needs.find(&need).expect("a reduction needs an extent");
                    let feat =
                        self.frames.get(frame, bit).expect("a frame holds all needs of its step");
                    if let Feat::Axis(along) = *self.frames.value(feat) {
                        axis = along;
                    }
                }
                ScopeRule::Inject { .. } | ScopeRule::Modify { .. } => {}
            }
        }
        let inside = plan.needs_of(&plan.steps[sources[i].step]);
        let mut entries = SmallVec::new();
        for bit in inside.bits() {
            let outer = |frames: &Frames, bit| {
                frames.get(frame, bit).expect("a frame holds all needs of its step")
            };
            let feat = match need_map(plan, id, i).fate(bit) {
                Fate::Same => outer(&self.frames, bit),
                Fate::Outer(other) => outer(&self.frames, other),
                Fate::Provided(rule) => {
                    let aspect = plan.needs.need(bit).aspect;
                    let feat = match (&rules[rule as usize], aspect, axis) {
                        (ScopeRule::Inject { value, .. }, Aspect::Value, _) => {
                            Feat::Symbolic(self.shape_in(sources[*value as usize], frame))
                        }
                        (ScopeRule::Inject { .. }, Aspect::Extent, _) => Feat::Axis(None),
                        (_, Aspect::Value, Some(axis)) => Feat::Position(axis),
                        (_, Aspect::Value, None) => Feat::Symbolic(Shapes::scalar()),
                        (_, Aspect::Extent, axis) => Feat::Axis(axis),
                    };
                    self.frames.feat(feat, &mut self.shapes)
                }
                Fate::Modified(rule, other) => {
                    let old = outer(&self.frames, other);
                    let mut shape = self.feat_shape(old);
                    if let ScopeRule::Modify { args, .. } = &rules[rule as usize] {
                        for arg in args {
                            let of = self.shape_in(sources[*arg as usize], frame);
                            shape = self.shapes.union(shape, of);
                        }
                    }
                    self.frames.feat(Feat::Symbolic(shape), &mut self.shapes)
                }
            };
            entries.push((bit, feat));
        }
        (self.frames.frame(entries), axis)
    }

    /// The placeholder for the axis of a loop.
    fn placeholder(
        &mut self,
        step: StepId,
        frame: FrameId,
        input: u16,
        parents: ShapeId,
    ) -> AxisId {
        if let Some(axis) = self.known_shapes.placeholders.get(&(step, frame, input)) {
            return *axis;
        }
        let axis = self.shapes.add_axis(Extent::Symbolic { parents });
        self.known_shapes.placeholders.insert((step, frame, input), axis);
        axis
    }
}
