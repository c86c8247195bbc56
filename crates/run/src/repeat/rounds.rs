//! Rounds of a body that runs as a plan.

use millstream_base::{Column, Mask, Value};
use millstream_ir::ZoneBody;
use millstream_node::zone::Told;
use millstream_node::{Argument, Call, Data, Failure};

use super::ended::Ended;
use super::evaluation::{Evaluation, Round};
use super::near::near_at;
use super::{Counts, beyond_limit, over};

/// The elements that still have rounds.
pub(super) struct Active {
    pub(super) elements: Vec<u32>,
    /// The number of rounds of each; empty if all have the same.
    pub(super) counts: Vec<u32>,
    pub(super) most: u32,
    /// The inputs of the plan for them: one value, or an entry each.
    pub(super) inputs: Vec<Data>,
}

/// Runs a body for the elements of a mask; `is_one` says that all elements have the same inputs.
pub(super) fn run(
    body: &ZoneBody,
    call: &mut Call<'_>,
    (mask, is_one): (&Mask, bool),
    (outputs, wanted): (&[usize], &[usize]),
) -> Result<(), Failure> {
    let limits = call.limits();
    let counts = Counts::read(body, call, mask);
    let mut failure = counts.too_many.map(|(i, n)| beyond_limit(i, n, limits.repeat_count));
    let mut ended = Ended::new(wanted.iter().map(|k| (*k, body.outer_type(*k))));
    let mut active = Active::new(body, call, mask, counts);
    active.drop_from(counts_end(failure.as_ref()));
    let mut evaluation = Evaluation::new(body, call);
    let mut round = 0_u32;
    // Elements without a round come first.
    let goes = body.go().filter(|go| body.carry(*go).is_some());
    let goes = goes.map(|go| given(body, go, &active, (0, &[])));
    let ends = |i: usize, active: &Active| active.count(i) == 0 || !goes_on(goes.as_ref(), i);
    active.end(&mut ended, ends, |k, active| given(body, k, active, (0, &[])));
    while !active.elements.is_empty() {
        if call.is_over().is_some_and(|is_over| is_over()) {
            return Err(over());
        }
        if round as usize >= limits.repeat_count {
            let (element, n) = (active.elements[0] as usize, active.count(0));
            if call.leaves_out() {
                call.leave_out(active.elements.iter().copied());
            } else {
                failure = Some(beyond_limit(element, n, limits.repeat_count));
            }
            break;
        }
        active.inputs[body.round()] = Data::One(Value::I32(round as i32));
        let n = active.elements.len();
        let values =
            match evaluation.run(&active.inputs, n, outputs, call, |it| active.first(it))? {
                Round::Values(values, bad) => active.leave_out(&bad, values, call),
                Round::Failed(position, found) => {
                    let message = format!("{} (in round {round})", found.message);
                    let element = Some(active.elements[position] as usize);
                    failure = Some(Failure { element, message, ..found });
                    // Lower elements may still fail later; higher ones do not count any more.
                    active.drop_from(element);
                    continue;
                }
            };
        round += 1;
        let n = active.elements.len();
        let value_of = |k: usize| {
            let at = outputs.iter().position(|known| *known == k);
            &values[at.expect("wanted outputs are computed")]
        };
        let stable = unchanged(body, &active, outputs, value_of);
        let go = body.go().map(value_of);
        let done: Vec<bool> = (0..n)
            .map(|i| {
                let is_stable = stable.get(i).is_some_and(|stable| *stable);
                let is_over = !goes_on(go, i) || is_stable;
                if active.count(i) <= round && !is_over && !stable.is_empty() {
                    call.unsettled().after(round, call.moments(), active.elements[i] as usize);
                }
                active.count(i) <= round || is_over
            })
            .collect();
        for k in outputs {
            if let Some(input) = body.carry(*k) {
                let old = std::mem::replace(&mut active.inputs[input], value_of(*k).clone());
                evaluation.give_back(old);
            }
        }
        let last_go = go.cloned();
        active.end(
            &mut ended,
            |i, _| done[i],
            |k, active| match (k < body.n_outputs() && body.carry(k).is_none(), &last_go) {
                (true, Some(go)) => go.clone(),
                (_, _) => given(body, k, active, (round, &stable)),
            },
        );
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    ended.finish(call, is_one);
    Ok(())
}

/// Whether the last round changed no carried value of each element by more than the tolerance;
/// empty if the body has none.
fn unchanged<'v>(
    body: &ZoneBody,
    active: &Active,
    outputs: &[usize],
    value_of: impl Fn(usize) -> &'v Data,
) -> Vec<bool> {
    let Some(tolerance) = body.stable() else { return Vec::new() };
    let is_same = |i: usize, k: &usize| {
        let input = body.carry(*k);
        input.is_none_or(|input| near_at(&active.inputs[input], value_of(*k), i, tolerance))
    };
    (0..active.elements.len()).map(|i| outputs.iter().all(|k| is_same(i, k))).collect()
}

/// The values of an output for elements that end now, after this number of rounds; `stable` says
/// which of them the last round did not change.
fn given(body: &ZoneBody, k: usize, active: &Active, (round, stable): (u32, &[bool])) -> Data {
    match body.told.get(k.wrapping_sub(body.n_outputs())) {
        Some(Told::Rounds) => Data::One(Value::I32(round as i32)),
        Some(Told::Settled) if stable.is_empty() => Data::One(Value::Bool(false)),
        Some(Told::Settled) => Data::Many(Column::from_vec(stable.to_vec())),
        None => match body.carry(k) {
            Some(input) => active.inputs[input].clone(),
            None => Data::One(Value::Bool(true)),
        },
    }
}

/// The element from which on nothing counts, because it failed.
pub(super) fn counts_end(failure: Option<&Failure>) -> Option<usize> {
    failure.and_then(|failure| failure.element)
}

/// Whether the element at a position continues; true if no output says so.
pub(super) fn goes_on(go: Option<&Data>, position: usize) -> bool {
    match go {
        None => true,
        Some(Data::One(value)) => value.get::<bool>().unwrap_or(false),
        Some(Data::Many(column)) => column.as_slice::<bool>().is_some_and(|go| go[position]),
    }
}

/// The value of an argument for elements: one, or an entry each.
pub(super) fn entries(argument: &Argument<'_>, elements: &[u32]) -> Data {
    use millstream_base::map::Map;
    match (argument.data(), argument.map()) {
        (Data::One(value), _) => Data::One(value.clone()),
        (Data::Many(column), Map::Single) => Data::One(column.get(0)),
        (Data::Many(column), Map::Each) if elements.len() == column.len() => {
            Data::Many(column.clone())
        }
        (Data::Many(column), map) => {
            Data::Many(column.gather(elements.iter().map(|i| map.entry(*i as usize))))
        }
    }
}

impl Active {
    fn new(body: &ZoneBody, call: &Call<'_>, mask: &Mask, counts: Counts) -> Self {
        let mut elements = Vec::with_capacity(mask.len());
        mask.for_each(|i| elements.push(i as u32));
        let input = |input: usize| match body.given_by(input) {
            Some(given) => entries(call.argument(given), &elements),
            None => Data::One(Value::I32(0)),
        };
        let inputs = (0..=body.round()).map(input).collect();
        Self { elements, counts: counts.each, most: counts.most, inputs }
    }

    pub(super) fn count(&self, position: usize) -> u32 {
        self.counts.get(position).copied().unwrap_or(self.most)
    }

    /// The position of the first active element from this one on.
    pub(super) fn first(&self, element: usize) -> usize {
        self.elements.partition_point(|known| (*known as usize) < element)
    }

    /// Keeps the elements at these positions.
    fn keep(&mut self, positions: &[u32]) {
        let pick = |all: &[u32]| positions.iter().map(|i| all[*i as usize]).collect::<Vec<u32>>();
        self.elements = pick(&self.elements);
        if !self.counts.is_empty() {
            self.counts = pick(&self.counts);
        }
        for input in &mut self.inputs {
            if let Data::Many(column) = input {
                *column = column.gather(positions.iter().map(|i| *i as usize));
            }
        }
    }

    /// Leaves out the elements at these positions, in the call too; returns the values of the others.
    pub(super) fn leave_out(
        &mut self,
        bad: &[u32],
        values: Vec<Data>,
        call: &mut Call<'_>,
    ) -> Vec<Data> {
        if bad.is_empty() {
            return values;
        }
        call.leave_out(bad.iter().map(|at| self.elements[*at as usize]));
        let mut ahead = bad.iter().peekable();
        let all = 0..self.elements.len() as u32;
        let good: Vec<u32> = all.filter(|at| ahead.next_if_eq(&at).is_none()).collect();
        self.keep(&good);
        let of_good = |data| match data {
            Data::Many(column) => Data::Many(column.gather(good.iter().map(|at| *at as usize))),
            one @ Data::One(_) => one,
        };
        values.into_iter().map(of_good).collect()
    }

    /// Drops this element and all higher ones.
    pub(super) fn drop_from(&mut self, element: Option<usize>) {
        let Some(element) = element else { return };
        let n = self.first(element);
        if n < self.elements.len() {
            let positions: Vec<u32> = (0..n as u32).collect();
            self.keep(&positions);
        }
    }

    /// Sets elements aside that end; `value` returns an output's values for all active elements.
    pub(super) fn end(
        &mut self,
        ended: &mut Ended,
        ends: impl Fn(usize, &Self) -> bool,
        value: impl Fn(usize, &Self) -> Data,
    ) {
        let n = self.elements.len();
        let (done, rest): (Vec<u32>, Vec<u32>) =
            (0..n as u32).partition(|i| ends(*i as usize, self));
        if done.is_empty() {
            return;
        }
        let elements: Vec<u32> = done.iter().map(|i| self.elements[*i as usize]).collect();
        ended.add(&elements, |k| match value(k, self) {
            Data::Many(column) if done.len() < n => {
                Data::Many(column.gather(done.iter().map(|i| *i as usize)))
            }
            data => data,
        });
        self.keep(&rest);
    }
}
