//! A group that runs item by item of lists, for one element.

use std::cmp::Ordering;

use millstream_base::{Column, Limits, Value};
use millstream_ir::ZoneBody;
use millstream_node::zone::Mode;

use super::{Model, Program, Refusal, World};

/// All outputs of a loop over items for the inputs of its node; `None` if it fails. Outputs that are
/// not used may be empty.
pub(super) fn run(
    body: &ZoneBody,
    values: &[Value],
    used: &[usize],
    limits: &Limits,
) -> Result<Option<Vec<Value>>, Refusal> {
    let Mode::Items { items, keep, by } = &body.course.mode else { panic!("it runs over items") };
    let program = Program::of_plan(&body.plan);
    let list = |input: usize| match &values[input] {
        Value::List(column) => column.clone(),
        _ => panic!("items are those of lists"),
    };
    let lists: Vec<Column> = items.iter().map(|input| list(*input)).collect();
    let n = lists[0].len();
    if n > limits.list_length || lists.iter().any(|list| list.len() != n) {
        return Ok(None);
    }
    let given = |input: usize| body.given_by(input).map_or(Value::I32(0), |i| values[i].clone());
    let mut inputs: Vec<Value> = (0..=body.round()).map(given).collect();
    let asked = body.outputs_for(used);
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let go = body.course.go;
    let mut goes = match go.and_then(|go| body.carry(go)) {
        Some(input) => inputs[input].get::<bool>() == Some(true),
        None => true,
    };
    let mut item = 0;
    while goes && item < n {
        inputs[body.round()] = Value::I32(item as i32);
        for (input, list) in items.iter().zip(&lists) {
            inputs[*input] = list.get(item);
        }
        let world = World::of_body(&inputs, &asked);
        let found = Model::new(&program, &world).with_limits(limits.clone()).evaluate()?;
        let mut row = Vec::new();
        for output in found.outputs {
            let Ok(column) = output else { return Ok(None) };
            row.push(column.get(0));
        }
        for (k, value) in asked.iter().zip(&row) {
            if let Some(input) = body.carry(*k) {
                inputs[input] = value.clone();
            }
            if go == Some(*k) {
                goes = value.get::<bool>() == Some(true);
            }
        }
        rows.push(row);
        item += 1;
    }
    let at = |k: usize| asked.iter().position(|known| *known == k);
    if let Some(at) = by.and_then(at) {
        rows.sort_by(|a, b| order(&a[at], &b[at]));
    }
    if let Some(at) = keep.and_then(at) {
        rows.retain(|row| row[at].get::<bool>() == Some(true));
    }
    let output = |k: usize| match (body.carry(k), at(k)) {
        (Some(input), _) => inputs[input].clone(),
        (None, at) => {
            let ty = body.plan.outputs[k].ty;
            let mut values = rows.iter().filter_map(|row| Some(row[at?].clone()));
            Value::List(ty.collect(&mut values).expect("the values are of the output's type"))
        }
    };
    Ok(Some((0..body.n_outputs()).map(output).collect()))
}

/// The ascending order of two keys; NaN is last.
fn order(a: &Value, b: &Value) -> Ordering {
    let number = |value: &Value| match value {
        Value::Bool(x) => f64::from(u8::from(*x)),
        Value::I32(x) => f64::from(*x),
        Value::F32(x) => f64::from(*x),
        Value::F64(x) => *x,
        other => panic!("keys of generated graphs are numbers, not {other:?}"),
    };
    let (a, b) = (number(a), number(b));
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
