//! The checks of a request against a plan, and the resolution of its names.

use std::time::{Duration, Instant};

use millstream_base::diagnostics::did_you_mean;
use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, Mask, Type};
use millstream_node::Data;
use millstream_node::convert::convert_value;

use super::along_index::reads_along_index;
use super::named::Named;
use super::{Bound, BoundData, Chosen, Given, Request, RequestAxis, RequestError};
use crate::graph::{GraphInput, InputId};
use crate::hidden::is_state;
use crate::plan::{Plan, StepId, StepOp};
use crate::state_reads::StateReads;
use crate::trace::{path_text, paths_of, trace_need};

/// Checks a request against a plan and resolves all names; see [`Request::bind`].
pub(super) fn bind(request: &Request, plan: &Plan) -> Result<Bound, Vec<RequestError>> {
    let bytes = request.limits.bytes;
    let (errors, extents, numbering) = (Vec::new(), [None, None, None], Duration::ZERO);
    let misgiven = Vec::new();
    let chosen = None;
    let mut binding = Binding { plan, errors, misgiven, extents, bytes, numbering, chosen };
    if let Some(n) = request.count {
        binding.extents[RequestAxis::Index as usize] = Some((n, "the count".into()));
    }
    let mut features = request.features.clone();
    request.add_frames(plan.fps, &mut features);
    let inputs = binding.inputs(&request.inputs);
    let given = binding.given_features(features);
    let outputs = binding.outputs(request.outputs.as_deref());
    let optional = binding.outputs(Some(&request.optional));
    let mut inputs = binding.with_defaults(inputs, &request.inputs, &outputs);
    let [times, views, count] =
        RequestAxis::ALL.map(|axis| binding.extents[axis as usize].as_ref().map(|(n, _)| *n));
    // Steps have the axes along which they vary, so the product of all may be larger.
    let largest = [times, views, count].into_iter().flatten().max().unwrap_or(1);
    let limit = request.limits.cells();
    let wanted = [&outputs[..], &optional].concat();
    let has_state = plan.depends_on_state(&wanted);
    let n_errors = binding.errors.len();
    let elements = binding.elements(request.elements.as_ref(), has_state);
    let of_elements = binding.errors.split_off(n_errors);
    binding.chosen = elements.map(|mask| {
        let is_free = of_elements.is_empty() && !request.whole_axis;
        let is_kept = is_free && !reads_along_index(plan, &wanted);
        let of = count.unwrap_or(1);
        if is_kept { Chosen::Kept { elements: mask, of } } else { Chosen::Masked(mask) }
    });
    let mut features = if largest <= limit {
        binding.needs(&outputs, &given)
    } else {
        binding.errors.push(RequestError::TooManyCells { cells: largest, limit });
        Vec::new()
    };
    if times.is_some() && has_state {
        binding.errors.push(RequestError::Ticks {
            what: "the request asks for many moments at once".into(),
            hint: "evaluate the ticks in order",
        });
    }
    if views.is_some() && has_state {
        binding.state_by_view(&wanted, &inputs, &given);
    }
    binding.errors.extend(of_elements);
    if !binding.errors.is_empty() {
        return Err(binding.errors);
    }
    let Binding { chosen, numbering, .. } = binding;
    let mut count = count;
    if let Some(kept) = chosen.as_ref().and_then(Chosen::kept) {
        count = Some(kept.len());
        let features = features.iter_mut().flatten();
        inputs.iter_mut().chain(features).for_each(|data| data.keep(kept));
    }
    let moments = Vec::new();
    Ok(Bound {
        outputs,
        optional,
        inputs,
        features,
        times,
        views,
        count,
        moments,
        chosen,
        numbering,
    })
}

struct Binding<'p> {
    plan: &'p Plan,
    errors: Vec<RequestError>,
    /// The features whose data does not fit.
    misgiven: Vec<Feature>,
    /// The extent of each axis in the order of [`RequestAxis`], with the data that opened it.
    extents: [Option<(usize, String)>; 3],
    /// The maximal size of a column in bytes.
    bytes: usize,
    /// See [`Bound::numbering`].
    numbering: Duration,
    /// See [`Bound::chosen`].
    chosen: Option<Chosen>,
}

impl BoundData {
    /// Keeps these elements of a column along the index axis; element numbers are already those.
    fn keep(&mut self, elements: &Mask) {
        if let (Data::Many(column), Some(RequestAxis::Index)) = (&self.data, self.axis)
            && column.len() != elements.len()
        {
            self.data = Data::Many(column.gather(elements.iter()));
        }
    }
}

impl Binding<'_> {
    fn inputs(&mut self, given: &[(String, Given)]) -> Vec<Option<BoundData>> {
        let plan = self.plan;
        let mut bound: Vec<Option<BoundData>> = vec![None; plan.inputs.len()];
        let named =
            Named::new(plan.inputs.as_slice().iter().map(|input| &*input.name), given.len());
        for (name, given) in given {
            let Some(position) = named.position(name) else {
                let names = plan.inputs.as_slice().iter().map(|input| &*input.name);
                let hint = hint(name, names, "the graph has no inputs", "inputs");
                self.errors.push(RequestError::UnknownInput { name: name.clone(), hint });
                continue;
            };
            if bound[position].is_some() {
                self.errors.push(RequestError::Twice { name: name.clone() });
                continue;
            }
            bound[position] = self.data(name, plan.inputs.as_slice()[position].ty, given);
        }
        bound
    }

    /// Fills in defaults. A missing input without a default is an error if a requested output reads
    /// it; inputs with wrong data were reported before.
    fn with_defaults(
        &mut self,
        given: Vec<Option<BoundData>>,
        named: &[(String, Given)],
        outputs: &[usize],
    ) -> Vec<BoundData> {
        let plan = self.plan;
        let lacking = |(input, data): (&GraphInput, &Option<BoundData>)| {
            data.is_none() && input.default.is_none()
        };
        if plan.inputs.as_slice().iter().zip(&given).any(lacking) {
            let read = inputs_read(plan, outputs);
            for ((id, input), data) in plan.inputs.iter().zip(&given) {
                let is_named = || named.iter().any(|(name, _)| **name == *input.name);
                if lacking((input, data)) && read[id] && !is_named() {
                    let (name, ty) = (input.name.to_string(), input.ty);
                    self.errors.push(RequestError::MissingInput { name, ty });
                }
            }
        }
        let filled = |(input, data): (&GraphInput, Option<BoundData>)| {
            data.unwrap_or_else(|| {
                let value = input.default.clone().unwrap_or_else(|| input.ty.default_value());
                BoundData { data: Data::One(value), axis: None }
            })
        };
        plan.inputs.as_slice().iter().zip(given).map(filled).collect()
    }

    fn data(&mut self, name: &str, ty: Type, given: &Given) -> Option<BoundData> {
        let (column, axis) = match given {
            Given::One(value) => {
                let converted = convert_value(value, ty);
                if converted.is_none() {
                    let found = value.ty();
                    self.errors.push(RequestError::WrongType {
                        name: name.into(),
                        wanted: ty,
                        found,
                    });
                }
                return converted.map(|value| BoundData { data: Data::One(value), axis: None });
            }
            Given::Along(axis, column) => (column, *axis),
        };
        if column.ty() != ty {
            let found = column.ty();
            self.errors.push(RequestError::WrongType { name: name.into(), wanted: ty, found });
            return None;
        }
        let extent =
            self.extents[axis as usize].get_or_insert_with(|| (column.len(), format!("`{name}`")));
        if extent.0 != column.len() {
            self.errors.push(RequestError::Length {
                name: name.into(),
                axis: axis.name(),
                found: column.len(),
                expected: extent.0,
                because: extent.1.clone(),
            });
            return None;
        }
        Some(BoundData { data: Data::Many(column.clone()), axis: Some(axis) })
    }

    fn given_features(&mut self, given: Vec<(Feature, Given)>) -> Vec<(Feature, BoundData)> {
        let mut bound: Vec<(Feature, BoundData)> = Vec::new();
        for (feature, given) in given {
            if bound.iter().any(|(known, _)| *known == feature) {
                self.errors.push(RequestError::Twice { name: feature.name().into() });
                continue;
            }
            match self.data(feature.name(), feature.ty(), &given) {
                Some(data) => bound.push((feature, data)),
                None => self.misgiven.push(feature),
            }
        }
        bound
    }

    fn outputs(&mut self, names: Option<&[String]>) -> Vec<usize> {
        let Some(names) = names else {
            let outputs = self.plan.outputs.iter().enumerate();
            return outputs.filter(|(_, o)| !is_state(&o.name)).map(|(i, _)| i).collect();
        };
        let mut outputs = Vec::new();
        let named = Named::new(self.plan.outputs.iter().map(|output| &*output.name), names.len());
        for name in names {
            match named.position(name) {
                Some(output) => outputs.push(output),
                None => self.errors.push(RequestError::unknown_output(name, self.plan)),
            }
        }
        outputs
    }

    /// The data of each need of the outputs; a need without data is an error.
    fn needs(
        &mut self,
        outputs: &[usize],
        given: &[(Feature, BoundData)],
    ) -> Vec<Option<BoundData>> {
        let plan = self.plan;
        let mut features = vec![None; plan.needs.len()];
        for output in outputs {
            let output = &plan.outputs[*output];
            for bit in plan.needs_of(&plan.steps[output.source.step]).bits() {
                let need = plan.needs.need(bit);
                if need.aspect == Aspect::Extent || features[bit as usize].is_some() {
                    continue;
                }
                let data = given.iter().find(|(feature, _)| *feature == need.feature);
                let data =
                    data.map(|(_, data)| data.clone()).or_else(|| self.index_axis(&need.feature));
                match data {
                    Some(data) if need.level == 0 => features[bit as usize] = Some(data),
                    // The error in its data was reported before.
                    None if need.level == 0 && self.misgiven.contains(&need.feature) => {}
                    Some(_) | None => self.errors.push(missing(plan, output, bit)),
                }
            }
        }
        features
    }

    /// Refuses views that would make the state differ that these outputs depend on: state is stored
    /// per element, not per view.
    fn state_by_view(
        &mut self,
        outputs: &[usize],
        inputs: &[BoundData],
        features: &[(Feature, BoundData)],
    ) {
        let plan = self.plan;
        let by_view = |data: &BoundData| data.axis == Some(RequestAxis::View);
        let reads = StateReads::new(plan, outputs);
        let nodes = (0..reads.nodes.len()).filter(|node| {
            let mut of_node = reads.nodes[*node].outputs.iter();
            reads.is_read(*node) || of_node.any(|output| outputs.contains(output))
        });
        let sources: Vec<StepId> = nodes.flat_map(|node| reads.steps_of(node)).collect();
        let feature = sources.iter().find_map(|step| {
            let needs = plan.needs_of(&plan.steps[*step]).bits().map(|bit| plan.needs.need(bit));
            let mut needs = needs.filter(|need| need.level == 0);
            needs.find(|need| {
                features.iter().any(|(known, data)| *known == need.feature && by_view(data))
            })
        });
        let what = feature.map(|need| need.feature.name().to_owned()).or_else(|| {
            let upstream = plan.steps_upstream_of(sources.iter().copied());
            let input = plan.steps.iter().find_map(|(id, step)| match step.op {
                StepOp::Input(input) if upstream[id] && by_view(&inputs[input.index()]) => {
                    Some(input)
                }
                StepOp::Input(_) | StepOp::Const(_) | StepOp::Call(_) => None,
            })?;
            Some(format!("the input `{}`", plan.inputs[input].name))
        });
        if let Some(what) = what {
            self.errors.push(RequestError::Ticks {
                what: format!("its state depends on {what}, which differs from view to view"),
                hint: "ask for one view at a time, or give one value for all views",
            });
        }
    }

    /// The elements asked for; `None` if these are all. `has_state` says whether the outputs asked
    /// for depend on state.
    fn elements(&mut self, mask: Option<&Mask>, has_state: bool) -> Option<Mask> {
        let mask = mask?;
        let count = self.extents[RequestAxis::Index as usize].as_ref().map(|(n, _)| *n);
        let last = mask.bounds().map(|bounds| bounds.end - 1);
        match (count, last) {
            (None, _) => self.errors.push(RequestError::NoElements),
            (Some(count), Some(element)) if element >= count => {
                self.errors.push(RequestError::NoSuchElement { element, count });
            }
            (Some(_), _) if has_state => self.errors.push(RequestError::Ticks {
                what: "the request asks for some of the elements".into(),
                hint: "ask for all elements, since each continues from its own state",
            }),
            (Some(count), _) if mask.len() == count => return None,
            (Some(_), _) => {}
        }
        Some(mask.clone())
    }

    /// The numbers of the elements, if `feature` is `index` and the index axis is open.
    fn index_axis(&mut self, feature: &Feature) -> Option<BoundData> {
        let (n, _) = self.extents[RequestAxis::Index as usize].as_ref()?;
        if *feature != Feature::Index {
            return None;
        }
        let kept = self.chosen.as_ref().and_then(Chosen::kept);
        let n = kept.map_or(*n, Mask::len);
        let bytes = n.saturating_mul(size_of::<i32>());
        let is_too_large = bytes > self.bytes;
        let n = if is_too_large { 0 } else { n as i32 };
        if is_too_large {
            self.errors.push(RequestError::TooManyBytes { bytes, limit: self.bytes });
        }
        let started = Instant::now();
        let data = Data::Many(match kept {
            Some(kept) => kept.iter().map(|element| element as i32).collect(),
            None => (0..n).collect(),
        });
        self.numbering += started.elapsed();
        Some(BoundData { data, axis: Some(RequestAxis::Index) })
    }
}

/// The inputs that these outputs read.
fn inputs_read(plan: &Plan, outputs: &[usize]) -> SideTable<InputId, bool> {
    let mut read = SideTable::for_arena(&plan.inputs, false);
    let behind = plan.steps_upstream(outputs);
    for (id, step) in plan.steps.iter() {
        if let StepOp::Input(input) = step.op {
            read[input] |= behind[id];
        }
    }
    read
}

fn missing(plan: &Plan, output: &crate::plan::PlanOutput, bit: u32) -> RequestError {
    let need = plan.needs.need(bit);
    let hint = if need.level > 0 {
        format!("there are fewer than {} injectors of {} around it", need.level + 1, need.feature)
    } else {
        match &need.feature {
            Feature::Time => {
                "give a time or a frame, or inject one with `context.with_time`".into()
            }
            Feature::Tick => "give a frame".into(),
            Feature::Index => "give a count or a column, or put it inside a loop".into(),
            Feature::RealTime
            | Feature::Footprint
            | Feature::Position
            | Feature::Iteration
            | Feature::Vararg(..)
            | Feature::Custom(..) => {
                format!("provide {} in the request, or inject it in the graph", need.feature)
            }
        }
    };
    RequestError::MissingFeature {
        output: output.name.to_string(),
        need: need.to_string(),
        path: path_text(paths_of(plan, &trace_need(plan, output.source.step, bit)), ""),
        hint,
    }
}

/// The hint for an unknown name: the nearest known one, or the first ones.
pub fn hint<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    none: &str,
    all: &str,
) -> String {
    if let Some(near) = did_you_mean(name, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let names: Vec<&str> = known.take(20).collect();
    if names.is_empty() { none.into() } else { format!("{all}: {}", names.join(", ")) }
}
