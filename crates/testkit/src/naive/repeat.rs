//! The rounds of a repeat for one element.

use millstream_base::same::Same;
use millstream_base::{Lane, Limits, Value};
use millstream_ir::ZoneBody;
use millstream_node::zone::{Mode, Told};

use super::{Model, Program, Refusal, World};

/// All outputs of a repeat for the inputs of its node; `None` if it fails. Outputs that are neither
/// used nor needed for used ones have their first value.
pub(super) fn run(
    body: &ZoneBody,
    values: &[Value],
    used: &[usize],
    limits: &Limits,
) -> Result<Option<Vec<Value>>, Refusal> {
    let program = Program::of_plan(&body.plan);
    let Mode::Rounds { count, .. } = body.course.mode else {
        return super::items::run(body, values, used, limits);
    };
    let count = values[count].get::<i32>().unwrap_or(0).max(0) as usize;
    if count > limits.repeat_count && !body.ends_early() {
        return Ok(None);
    }
    let given = |input: usize| body.given_by(input).map_or(Value::I32(0), |i| values[i].clone());
    let mut inputs: Vec<Value> = (0..=body.round()).map(given).collect();
    let start = |to: &Option<usize>| to.map_or(Value::Bool(true), |input| inputs[input].clone());
    let mut outputs: Vec<Value> = body.course.carries.iter().map(start).collect();
    let asked = body.outputs_for(used);
    let goes = |outputs: &[Value]| {
        body.go().is_none_or(|go| outputs[go].get::<bool>().is_some_and(|goes| goes))
    };
    let (mut round, mut settled) = (0, false);
    while round < count && goes(&outputs) {
        if round >= limits.repeat_count {
            return Ok(None);
        }
        inputs[body.round()] = Value::I32(round as i32);
        let world = World::of_body(&inputs, &asked);
        let expected = Model::new(&program, &world).with_limits(limits.clone()).evaluate()?;
        let mut is_stable = body.stable().is_some();
        let tolerance = body.stable().unwrap_or(0.0);
        for (k, found) in asked.iter().zip(expected.outputs) {
            let Ok(column) = found else { return Ok(None) };
            outputs[*k] = column.get(0);
            if let Some(input) = body.carry(*k) {
                is_stable &= is_near(&inputs[input], &outputs[*k], tolerance);
            }
        }
        for k in &asked {
            if let Some(input) = body.carry(*k) {
                inputs[input] = outputs[*k].clone();
            }
        }
        round += 1;
        settled = is_stable;
        if is_stable {
            break;
        }
    }
    outputs.extend(body.told.iter().map(|told| match told {
        Told::Rounds => Value::I32(round as i32),
        Told::Settled => Value::Bool(settled),
    }));
    Ok(Some(outputs))
}

/// Whether a carried value counts as unchanged.
fn is_near(a: &Value, b: &Value, tolerance: f64) -> bool {
    if a.same(b) {
        return true;
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && (0..a.len()).all(|i| is_near(&a.get(i), &b.get(i), tolerance))
        }
        (Value::Bool(_), _) => false,
        _ => {
            let lanes = |value: &Value| -> Option<Vec<f64>> {
                let (lane, n) = value.ty().lanes()?;
                let number = |i| {
                    let bits = value.lane(i).unwrap_or(0);
                    match lane {
                        Lane::Bool => f64::NAN,
                        Lane::I32 => f64::from(bits as u32 as i32),
                        Lane::I64 => bits as i64 as f64,
                        Lane::F32 => f64::from(f32::from_bits(bits as u32)),
                        Lane::F64 => f64::from_bits(bits),
                    }
                };
                Some((0..n as usize).map(number).collect())
            };
            let (Some(a), Some(b)) = (lanes(a), lanes(b)) else { return false };
            let near = |(a, b): (&f64, &f64)| {
                a.to_bits() == b.to_bits()
                    || a.is_nan() && b.is_nan()
                    || tolerance > 0.0 && (a - b).abs() <= tolerance
            };
            a.iter().zip(&b).all(near)
        }
    }
}
