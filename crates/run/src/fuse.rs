//! Fusion: the forms of several steps are written into one, so that intermediate values never
//! become columns.
//!
//! Members are given in the order of the plan. Outside sources become parameters, constants become
//! constants of the form, and outputs of members that are read outside become results.

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use millstream_base::{Type, Value};
use millstream_form::{Form, FormBuilder, Val};
use millstream_ir::Loop;
use millstream_ir::plan::{LinkKind, Plan, StepId, StepOp, StepSource};
use millstream_node::{Data, Instance, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Several steps as one form.
#[derive(Debug)]
pub(crate) struct Fused {
    pub(crate) form: Form,
    /// The sources of the parameters, in sequence.
    pub(crate) inputs: Vec<StepSource>,
    /// The outputs that are the results, in sequence.
    pub(crate) outputs: Vec<FusedOutput>,
    /// For each output the number of results before it, followed by the number of all results.
    pub(crate) first_results: Vec<usize>,
}

/// An output of a member that is read outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FusedOutput {
    /// Position among the members.
    pub(crate) member: u32,
    /// Position among the outputs of the member.
    pub(crate) output: u32,
    pub(crate) ty: Type,
}

/// One step of a fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) step: StepId,
    /// The arm that all elements take, of a choice whose selector is known. Neither the other arms
    /// nor the selector are read.
    pub(crate) arm: Option<u32>,
}

impl Member {
    /// A member that reads all its inputs.
    pub(crate) fn whole(step: StepId) -> Self {
        Self { step, arm: None }
    }

    /// The links that it reads, with their kinds.
    pub(crate) fn links(self, plan: &Plan) -> impl Iterator<Item = (StepSource, LinkKind)> + '_ {
        let (skip, take) = match self.arm {
            Some(arm) => (arm as usize + 1, 1),
            None => (0, usize::MAX),
        };
        plan.links_of(&plan.steps[self.step]).skip(skip).take(take)
    }
}

/// The position of a step among members, which are in the order of the plan.
pub(crate) fn position(members: &[Member], step: StepId) -> Option<usize> {
    members.binary_search_by_key(&step, |member| member.step).ok()
}

/// Number of lanes of an element.
pub(crate) fn width(ty: Type) -> usize {
    ty.lanes().map_or(0, |(_, n)| n as usize)
}

/// Writes members into one form; `is_wanted` says which outputs are read outside. A choice passes
/// the known arm on, or becomes an instruction that selects among the lanes of all arms.
///
/// # Panics
/// If a member is not a call of a plain form or a choice, or reads a member after it.
pub(crate) fn fuse(
    plan: &Plan,
    members: &[Member],
    is_wanted: impl Fn(StepId, u32) -> bool,
) -> Fused {
    let b = FormBuilder::new();
    let mut fusion = Fusion { plan, b: &b, known: FxHashMap::default(), inputs: Vec::new() };
    let mut outputs = Vec::new();
    let (mut results, mut first_results) = (Vec::new(), Vec::new());
    for (position, &member) in members.iter().enumerate() {
        let lanes = fusion.lanes_of_call(member);
        let instance = fusion.instance(member.step);
        fusion.know(member.step, &lanes);
        let mut rest = &lanes[..];
        for (k, output) in instance.outputs.iter().enumerate() {
            let (own, others) = rest.split_at(width(output.ty));
            rest = others;
            let k = k as u32;
            if is_wanted(member.step, k) {
                outputs.push(FusedOutput { member: position as u32, output: k, ty: output.ty });
                first_results.push(results.len());
                results.extend_from_slice(own);
            }
        }
    }
    first_results.push(results.len());
    let inputs = fusion.inputs;
    Fused { form: b.finish(&results).simplify(), inputs, outputs, first_results }
}

/// Writes these steps, in the order of the plan, into one form. Its results are the lanes of
/// `outputs`, each with its type; its parameters are the returned sources.
///
/// # Panics
/// If a step is not a call of a plain form or a choice among lanes.
pub(crate) fn fuse_outputs(
    plan: &Plan,
    steps: &[StepId],
    outputs: &[(StepSource, Type)],
) -> (Form, Vec<StepSource>) {
    let b = FormBuilder::new();
    let mut fusion = Fusion { plan, b: &b, known: FxHashMap::default(), inputs: Vec::new() };
    for &step in steps {
        let lanes = fusion.lanes_of_call(Member::whole(step));
        fusion.know(step, &lanes);
    }
    let mut results = Vec::new();
    for (source, ty) in outputs {
        results.extend(fusion.lanes_of(*source, *ty));
    }
    (b.finish(&results).simplify(), fusion.inputs)
}

/// Writes a loop and the step that folds its list into one form, whose only output is that of the
/// step.
///
/// # Panics
/// If the step does not fold lists.
pub(crate) fn unroll(plan: &Plan, folded: &Loop, n_rounds: usize) -> Fused {
    let b = FormBuilder::new();
    let mut fusion = Fusion { plan, b: &b, known: FxHashMap::default(), inputs: Vec::new() };
    let mut items = Vec::with_capacity(n_rounds);
    for round in 0..n_rounds {
        let number: Lanes<'_> = SmallVec::from_slice(&[b.constant_i32(round as i32)]);
        for step in &folded.rounds {
            fusion.known.insert((step.index() as u32, 0), number.clone());
        }
        for member in &folded.members {
            let lanes = fusion.lanes_of_call(Member::whole(*member));
            fusion.know(*member, &lanes);
        }
        items.push(fusion.known[&(folded.item.step.index() as u32, folded.item.output)].to_vec());
    }
    let instance = fusion.instance(folded.fold);
    let Kernel::Function(function) = &instance.kernel else { panic!("a function folds") };
    let results = function.unrolled(&items).expect("lists of such items are folded");
    let ty = instance.outputs[0].ty;
    Fused {
        form: b.finish(&results).simplify(),
        inputs: fusion.inputs,
        outputs: vec![FusedOutput { member: 0, output: 0, ty }],
        first_results: vec![0, results.len()],
    }
}

/// Writes the step that folds the list of a loop into one form over the items.
///
/// # Panics
/// If the step does not fold lists.
pub(crate) fn fold_alone(plan: &Plan, folded: &Loop, n_rounds: usize) -> Fused {
    let b = FormBuilder::new();
    let fusion = Fusion { plan, b: &b, known: FxHashMap::default(), inputs: Vec::new() };
    let item = fusion.instance(folded.item.step).outputs[folded.item.output as usize].ty;
    let (lane, n) = item.lanes().expect("items of a folded loop are made of lanes");
    let new_item = |_| (0..n).map(|_| b.param(lane)).collect::<Vec<_>>();
    let items: Vec<Vec<Val<'_>>> = (0..n_rounds).map(new_item).collect();
    let instance = fusion.instance(folded.fold);
    let Kernel::Function(function) = &instance.kernel else { panic!("a function folds") };
    let results = function.unrolled(&items).expect("lists of such items are folded");
    let ty = instance.outputs[0].ty;
    Fused {
        form: b.finish(&results).simplify(),
        inputs: vec![folded.item; n_rounds],
        outputs: vec![FusedOutput { member: 0, output: 0, ty }],
        first_results: vec![0, results.len()],
    }
}

type Lanes<'b> = SmallVec<[Val<'b>; 4]>;

/// The lanes of the arm that the first of `args` picks among the others: false picks the first,
/// true the second, a number the arm at that position, clamped.
fn choose<'b>(args: &[Lanes<'b>]) -> Vec<Val<'b>> {
    let (selector, arms) = (args[0][0], &args[1..]);
    if selector.lane() == Lane::Bool {
        let (no, yes) = (&arms[0], &arms[1.min(arms.len() - 1)]);
        return yes.iter().zip(no).map(|(yes, no)| selector.select(*yes, *no)).collect();
    }
    let (last, others) = arms.split_last().expect("a choice has an arm");
    let mut chosen = last.to_vec();
    for (k, arm) in others.iter().enumerate().rev() {
        let is_before = selector.le(k as i32);
        for (chosen, lane) in chosen.iter_mut().zip(arm) {
            *chosen = is_before.select(*lane, *chosen);
        }
    }
    chosen
}

struct Fusion<'p, 'b> {
    plan: &'p Plan,
    b: &'b FormBuilder,
    /// The lanes of each visited source.
    known: FxHashMap<(u32, u32), Lanes<'b>>,
    inputs: Vec<StepSource>,
}

impl<'p, 'b> Fusion<'p, 'b> {
    fn instance(&self, step: StepId) -> &'p Instance {
        match self.plan.steps[step].op {
            StepOp::Call(id) => &self.plan.instances[id],
            StepOp::Const(_) | StepOp::Input(_) => panic!("members of a fusion are calls"),
        }
    }

    /// The lanes of all outputs of a member. Unknown sources become parameters.
    fn lanes_of_call(&mut self, member: Member) -> Vec<Val<'b>> {
        let (plan, instance) = (self.plan, self.instance(member.step));
        // All arms of a choice are of one type.
        let first = member.arm.map_or(0, |arm| arm as usize + 1);
        let inputs = member.links(plan).zip(&instance.inputs[first..]);
        let args = inputs.map(|((source, _), input)| self.lanes_of(source, input.ty));
        let args: Vec<Lanes<'b>> = args.collect();
        match instance.plain_form() {
            Some(form) => form.inline(self.b, &args.concat()),
            None if member.arm.is_some() => args.concat(),
            None => choose(&args),
        }
    }

    /// Records the lanes of all outputs of a member.
    fn know(&mut self, step: StepId, lanes: &[Val<'b>]) {
        let mut rest = lanes;
        for (k, output) in self.instance(step).outputs.iter().enumerate() {
            let (own, others) = rest.split_at(width(output.ty));
            rest = others;
            self.known.insert((step.index() as u32, k as u32), SmallVec::from_slice(own));
        }
    }

    /// The lanes of a member's output, of a constant, or of a new parameter.
    fn lanes_of(&mut self, source: StepSource, ty: Type) -> Lanes<'b> {
        let key = (source.step.index() as u32, source.output);
        if let Some(lanes) = self.known.get(&key) {
            return lanes.clone();
        }
        let (lane, n) = ty.lanes().expect("operands of a form are made of lanes");
        let constant = match self.plan.steps[source.step].op {
            StepOp::Const(id) => match &self.plan.constants[id] {
                Data::One(value) => constant_lanes(value, n as usize),
                Data::Many(_) => None,
            },
            StepOp::Input(_) | StepOp::Call(_) => None,
        };
        let lanes: Lanes<'b> = match constant {
            Some(bits) => bits.iter().map(|bits| self.b.constant_bits(lane, *bits)).collect(),
            None => {
                self.inputs.push(source);
                (0..n).map(|_| self.b.param(lane)).collect()
            }
        };
        self.known.insert(key, lanes.clone());
        lanes
    }
}

/// The bits of a value's `n` lanes.
pub(crate) fn constant_lanes(value: &Value, n: usize) -> Option<SmallVec<[u64; 4]>> {
    (0..n).map(|i| value.lane(i)).collect()
}
