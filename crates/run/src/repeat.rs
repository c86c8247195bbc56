//! Runs the bodies of zones: the one place where rounds and items are counted, for all evaluators.
//!
//! A call of a repeat proceeds as follows. The elements of the mask that have a round to run are
//! *active*. Carried values are columns with an entry per active element, or one value for all. A
//! round evaluates the outputs that are needed. Elements that end are set aside with their values
//! (`ended`), and the columns are narrowed to the others. When no element is active, the values set
//! aside are put into the order of the elements.
//!
//! A body of forms alone runs as one fused form, block by block (`fused`, `blocks`). Any other body
//! runs as a plan, for all active elements together, so that steps with the same inputs for all
//! elements run once per round.
//!
//! Items of lists (`items`) without carried values form one column over all elements (`flat`).
//! Otherwise the items at one position are a round (`in_order`).

mod blocks;
mod ended;
mod evaluation;
mod flat;
mod fused;
mod in_order;
mod items;
mod lane_buffer;
mod near;
mod refused;
mod rounds;

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_base::{Column, Mask};
use millstream_ir::ZoneBody;
use millstream_node::zone::Mode;
use millstream_node::{Call, Data, Failure, Function};

use fused::Fused;

/// Outputs, and the body for them as one form; `None` if it is more than forms.
type Known = (Vec<usize>, Option<Arc<Fused>>);

/// The function of a zone. The lock guards what is known about the body.
#[derive(Debug)]
pub struct RunZone {
    body: Arc<ZoneBody>,
    /// The body as one form, by the requested outputs.
    fused: Mutex<Vec<Known>>,
    /// Whether bodies of forms run as plans too, for comparison in tests.
    as_plan: bool,
}

impl RunZone {
    /// Runs this body.
    pub fn new(body: Arc<ZoneBody>) -> Self {
        Self { body, fused: Mutex::default(), as_plan: false }
    }

    /// Runs this body as a plan, even if it consists of forms alone.
    pub fn as_plan(body: Arc<ZoneBody>) -> Self {
        Self { as_plan: true, ..Self::new(body) }
    }

    /// The outputs to compute in each round as one form, if they consist of forms alone.
    fn fused(&self, outputs: &[usize]) -> Option<Arc<Fused>> {
        if self.as_plan {
            return None;
        }
        let mut known = self.fused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, fused)) = known.iter().find(|(of, _)| *of == outputs) {
            return fused.clone();
        }
        let fused = Fused::of(&self.body, outputs).map(Arc::new);
        known.push((outputs.to_vec(), fused.clone()));
        fused
    }
}

impl Function for RunZone {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let body = &*self.body;
        let wanted: Vec<usize> =
            (0..body.n_outputs() + body.told.len()).filter(|k| call.wants(*k)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let outputs = body.outputs_for(&wanted);
        let is_one = (0..call.n_inputs()).all(|i| matches!(call.argument(i).data(), Data::One(_)));
        // Values that are the same for all elements are computed for the first.
        let mut mask = match call.mask().bounds() {
            Some(bounds) if is_one => Mask::range(bounds.start..bounds.start + 1),
            _ => call.mask().clone(),
        };
        if call.leaves_out() {
            let refused = refused::refused(body, call, &mask);
            call.leave_out(refused.iter().map(|i| i as u32));
            mask = mask.difference(&refused);
        }
        if mask.is_empty() {
            for k in wanted {
                let nothing = body.outer_type(k).default_value();
                if is_one {
                    call.set_one(k, nothing);
                } else {
                    call.set(k, Column::filled(&nothing, call.extent()));
                }
            }
            return Ok(());
        }
        let fused = self.fused(&outputs);
        if let Mode::Items { .. } = body.course.mode {
            return items::run(body, fused.as_deref(), call, (&mask, is_one), (&outputs, &wanted));
        }
        match fused {
            Some(fused) if is_one => fused::run_one(body, &fused, call, &mask, &wanted),
            Some(fused) => blocks::run(body, &fused, call, &mask, &wanted),
            None => rounds::run(body, call, (&mask, is_one), (&outputs, &wanted)),
        }
    }

    fn body(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&*self.body)
    }
}

/// The rounds that each element of a mask may run, in order of the mask.
struct Counts {
    /// The number for each element; empty if all have the same.
    each: Vec<u32>,
    most: u32,
    /// The lowest element with more rounds than the limit, and their number.
    too_many: Option<(usize, u32)>,
}

impl Counts {
    fn read(body: &ZoneBody, call: &Call<'_>, mask: &Mask) -> Self {
        let limit = u32::try_from(call.limits().repeat_count).unwrap_or(u32::MAX);
        let Mode::Rounds { count, .. } = body.course.mode else {
            panic!("rounds are counted in repeats")
        };
        let counts = call.input::<i32>(count);
        let count = |i: usize| counts.get(i).max(0) as u32;
        let mut each = Vec::with_capacity(mask.len());
        let (mut most, mut too_many) = (0, None);
        mask.for_each(|i| {
            let n = count(i);
            // Elements that may end early fail when they reach the limit.
            if n > limit && too_many.is_none() && !body.ends_early() {
                too_many = Some((i, n));
            }
            most = most.max(n);
            each.push(n);
        });
        if each.iter().all(|n| *n == most) {
            each.clear();
        }
        Self { each, most, too_many }
    }

    /// The count of the element at a position of the mask.
    fn of(&self, position: usize) -> u32 {
        self.each.get(position).copied().unwrap_or(self.most)
    }
}

/// The failure of an element with more rounds than the limit.
fn beyond_limit(element: usize, n: u32, limit: usize) -> Failure {
    let failure = Failure::limit("rounds", n as usize, limit, "repeat_count");
    Failure { element: Some(element), ..failure }
}

/// The failure of a call that was cancelled or whose deadline has passed.
fn over() -> Failure {
    Failure::whole("the evaluation was cancelled")
}
