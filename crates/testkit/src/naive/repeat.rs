//! The rounds of a repeat for one element.

use millstream_base::same::Same;
use millstream_base::{Limits, Value};
use millstream_ir::RepeatBody;
use millstream_ir::request::BoundData;
use millstream_node::Data;

use super::{Model, Program, Refusal, World};

/// All outputs of a repeat for the inputs of its node; `None` if it fails. Outputs that are neither
/// used nor needed for used ones have their first value.
pub(super) fn run(
    body: &RepeatBody,
    values: &[Value],
    used: &[usize],
    limits: &Limits,
) -> Result<Option<Vec<Value>>, Refusal> {
    let program = Program::of_plan(&body.plan);
    let count = values[body.count].get::<i32>().unwrap_or(0).max(0) as usize;
    if count > limits.repeat_count && !body.ends_early() {
        return Ok(None);
    }
    let given = |input: usize| body.given_by(input).map_or(Value::I32(0), |i| values[i].clone());
    let mut inputs: Vec<Value> = (0..=body.round()).map(given).collect();
    let start = |to: &Option<usize>| to.map_or(Value::Bool(true), |input| inputs[input].clone());
    let mut outputs: Vec<Value> = body.carries.iter().map(start).collect();
    let asked = body.outputs_for(used);
    let goes = |outputs: &[Value]| {
        body.go.is_none_or(|go| outputs[go].get::<bool>().is_some_and(|goes| goes))
    };
    let mut round = 0;
    while round < count && goes(&outputs) {
        if round >= limits.repeat_count {
            return Ok(None);
        }
        inputs[body.round()] = Value::I32(round as i32);
        let one = |value: &Value| BoundData { data: Data::One(value.clone()), axis: None };
        let world = World {
            inputs: inputs.iter().map(one).collect(),
            features: Vec::new(),
            times: None,
            views: None,
            count: None,
            outputs: asked.clone(),
            kept: Vec::new(),
        };
        let expected = Model::new(&program, &world).with_limits(limits.clone()).evaluate()?;
        let mut is_stable = body.until_stable;
        for (k, found) in asked.iter().zip(expected.outputs) {
            let Ok(column) = found else { return Ok(None) };
            outputs[*k] = column.get(0);
            if let Some(input) = body.carries[*k] {
                is_stable &= inputs[input].same(&outputs[*k]);
            }
        }
        for k in &asked {
            if let Some(input) = body.carries[*k] {
                inputs[input] = outputs[*k].clone();
            }
        }
        round += 1;
        if is_stable {
            break;
        }
    }
    Ok(Some(outputs))
}
