//! Conditions that formulas compute, as nodes of their own.

use std::fmt::Write;

use millstream_base::{Lane, Type};
use millstream_node::{Instance, Settings, Signature};
use serde_json::Value as Json;

/// An input of a part of a formula.
pub(super) enum Read {
    /// An input of the formula.
    Input(usize),
    /// A number of this type.
    Zero(Type),
}

/// A part of a formula that is a truth value, as an instance of its own.
pub(super) fn part_of_formula(whole: &Instance, text: &str) -> (Instance, Vec<Read>) {
    const IS_VALID: &str = "the formula is valid, and so is a part of it";
    let def = &whole.def;
    let setting = def.formula.as_ref().expect("the node type has formulas").name;
    let read = |text: &str| {
        let text = Json::from(text);
        let settings = Settings::read(&def.settings, [(setting, &text)], &|_| None);
        let settings = settings.expect(IS_VALID);
        let signature = def.signature(&settings).expect(IS_VALID).into_owned();
        (settings, signature)
    };
    let inputs = def.signature(&whole.settings).expect(IS_VALID).into_owned().inputs;
    let (mut settings, mut signature) = read(text);
    let lane = |input: usize| whole.inputs[input].ty.lanes().map(|(lane, _)| lane);
    let is_read = |signature: &Signature, name: &str| signature.input(name).is_some();
    let lanes: Vec<Lane> = (0..inputs.len())
        .filter(|input| is_read(&signature, &inputs[*input].name))
        .filter_map(lane)
        .collect();
    // Numbers without inputs have the widest type of all inputs, also of those that are not read.
    let mut text = format!("({text})");
    for (input, socket) in inputs.iter().enumerate() {
        let is_missing = !is_read(&signature, &socket.name);
        if is_missing
            && lane(input).is_some_and(|lane| lane != Lane::Bool && !lanes.contains(&lane))
        {
            let _ = write!(text, " && {name} == {name}", name = socket.name);
        }
    }
    (settings, signature) = if text.contains("&&") { read(&text) } else { (settings, signature) };
    let read = signature.inputs.iter().map(|socket| {
        let at = inputs.iter().position(|it| it.name == socket.name).expect("it is an input");
        let is_own = lane(at).is_none_or(|lane| lanes.contains(&lane) || lane == Lane::Bool);
        match lane(at) {
            Some(lane) if !is_own => Read::Zero(scalar(lane)),
            Some(_) | None => Read::Input(at),
        }
    });
    let read: Vec<Read> = read.collect();
    let types = read.iter().map(|read| match read {
        Read::Input(input) => whole.inputs[*input].ty,
        Read::Zero(ty) => *ty,
    });
    let arities = vec![1; read.len()];
    let made = def.instantiate(settings, types.collect(), &arities).expect(IS_VALID);
    (made, read)
}

/// The type of single numbers of a lane.
fn scalar(lane: Lane) -> Type {
    match lane {
        Lane::Bool => Type::BOOL,
        Lane::I32 => Type::I32,
        Lane::I64 => Type::I64,
        Lane::F32 => Type::F32,
        Lane::F64 => Type::F64,
    }
}
