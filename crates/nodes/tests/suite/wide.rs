//! Nodes compared with their own formulas in 64-bit floats.
//!
//! Each operation on floats is repeated with 64 bits, from the 64-bit results of earlier
//! operations. Decisions made with 32-bit floats, such as which arm is taken or which integer is
//! below, are kept. So the differences are rounding errors. Constants are those of the node, except
//! fractions of a turn.

use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::sync::Arc;

use millstream_base::{Lane, Type};
use millstream_form::{Form, Op, eval_op};
use millstream_node::{Kernel, SettingKind};
use serde_json::{Value as Json, json};

use crate::run::{instance, settings as read_settings};

/// Arguments that come from a seed.
pub(crate) struct Random(u64);

impl Random {
    /// From 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The largest error that the manual entry of a node type states.
fn stated(name: &str) -> f64 {
    let registry = crate::registry();
    let def = registry.get(name).unwrap_or_else(|| panic!("no {name}"));
    let details = &def.manual.details;
    let bound = details.split_once("error").and_then(|(_, text)| text.split_once("at most "));
    let (_, text) = bound.unwrap_or_else(|| panic!("{name} states no bound"));
    let number = text.split_whitespace().next().expect("a number follows");
    number
        .trim_end_matches(['.', ':', ',', ';'])
        .parse()
        .unwrap_or_else(|_| panic!("{name}: {number}"))
}

fn number(lane: Lane, bits: u64) -> f64 {
    match lane {
        Lane::Bool => f64::from(u8::from(bits != 0)),
        Lane::I32 => f64::from(bits as i32),
        Lane::I64 => bits as i64 as f64,
        Lane::F32 => f64::from(f32::from_bits(bits as u32)),
        Lane::F64 => f64::from_bits(bits),
    }
}

fn is_float(lane: Lane) -> bool {
    matches!(lane, Lane::F32 | Lane::F64)
}

fn constant(given: f64) -> f64 {
    let of_a_turn = [FRAC_PI_2, PI, TAU, TAU / 3.0];
    of_a_turn.into_iter().find(|x| f64::from(*x as f32) == given).unwrap_or(given)
}

/// The registers of a form, computed with 64 bits.
fn widened(form: &Form, registers: &[u64]) -> Vec<f64> {
    use millstream_base::id::Id;
    let mut wide: Vec<f64> = Vec::with_capacity(registers.len());
    for (at, (_, inst)) in form.insts.iter().enumerate() {
        let own = number(inst.lane, registers[at]);
        let args: Vec<usize> = inst.args().iter().map(|reg| reg.index()).collect();
        let held = |i: usize| number(inst.of, registers[args[i]]);
        let again = |op: Op| {
            let mut bits = [0; 3];
            for (bits, arg) in bits.iter_mut().zip(&args) {
                *bits = wide[*arg].to_bits();
            }
            f64::from_bits(eval_op(op, Lane::F64, Lane::F64, bits))
        };
        let is_of_floats = is_float(inst.lane) && is_float(inst.of);
        wide.push(match inst.op {
            Op::Const(_) if is_of_floats => constant(own),
            Op::Select if is_of_floats => wide[args[if registers[args[0]] != 0 { 1 } else { 2 }]],
            Op::Convert if is_float(inst.lane) => wide[args[0]],
            Op::Fract => wide[args[0]] - held(0).floor(),
            Op::Rem | Op::RemEuclid if is_of_floats => {
                let times = ((held(0) - own) / held(1)).round();
                wide[args[0]] - times * wide[args[1]]
            }
            Op::Const(_)
            | Op::Param(_)
            | Op::Bitcast
            | Op::Sign
            | Op::Floor
            | Op::Ceil
            | Op::Trunc
            | Op::Round
            | Op::RoundEven => own,
            op if is_of_floats => again(op),
            _ => own,
        });
    }
    wide
}

/// The unit in which an error is measured.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    One,
    /// 1, or the greatest result if that is greater.
    Most,
    /// The greatest argument.
    Given,
    /// 1, and only the first result is checked.
    First,
}

pub(crate) struct Node {
    name: &'static str,
    /// A setting whose choices are all tried.
    setting: Option<&'static str>,
    more: Json,
    generics: &'static [Type],
    arguments: fn(&mut Random, usize) -> f64,
    scale: Scale,
}

pub(crate) fn node(name: &'static str, scale: Scale) -> Node {
    Node { name, setting: None, more: json!({}), generics: &[], arguments: |r, _| r.unit(), scale }
}

impl Node {
    pub(crate) fn each(self, setting: &'static str) -> Self {
        Self { setting: Some(setting), ..self }
    }

    pub(crate) fn with(self, more: Json) -> Self {
        Self { more, ..self }
    }

    pub(crate) fn of(self, generics: &'static [Type]) -> Self {
        Self { generics, ..self }
    }

    pub(crate) fn on(self, arguments: fn(&mut Random, usize) -> f64) -> Self {
        Self { arguments, ..self }
    }

    /// The settings to try.
    fn settings(&self) -> Vec<Json> {
        let Some(setting) = self.setting else { return vec![self.more.clone()] };
        let registry = crate::registry();
        let settings = &registry.get(self.name).expect("a node").settings;
        let found = settings.iter().find(|def| def.name == setting).expect("a setting");
        let SettingKind::Choice(choices) = &found.kind else { panic!("{setting} is a choice") };
        let with = |choice: &(&str, &str)| {
            let mut set = self.more.clone();
            set[setting] = json!(choice.0);
            set
        };
        choices.iter().map(with).collect()
    }

    /// The greatest error, and the settings with which it occurs.
    fn most(&self) -> (f64, String) {
        let mut most = (0.0, String::new());
        for settings in self.settings() {
            let registry = crate::registry();
            let def = Arc::clone(registry.get(self.name).expect("a node"));
            let given = read_settings(&def, settings.as_object().expect("settings are an object"));
            let node = instance(&def, given, self.generics.to_vec());
            let Kernel::Form(form) = node.kernel else { panic!("{} is a form", self.name) };
            let (mut random, mut registers) = (Random(1), Vec::new());
            let mut results = vec![0; form.results.len()];
            for _ in 0..20_000 {
                let mut given = 0.0_f64;
                let argument = |(at, lane): (usize, &Lane)| match lane {
                    Lane::F32 => {
                        let x = (self.arguments)(&mut random, at) as f32;
                        given = given.max(f64::from(x.abs()));
                        u64::from(x.to_bits())
                    }
                    _ => u64::from((random.unit() * 4_294_967_296.0) as u32),
                };
                let params: Vec<u64> = form.params.iter().enumerate().map(argument).collect();
                form.run_scalar(&params, &mut results, &mut registers);
                let wide = widened(&form, &registers);
                let results: Vec<_> = form
                    .results
                    .iter()
                    .filter(|reg| is_float(form.insts[**reg].lane))
                    .map(|reg| {
                        use millstream_base::id::Id;
                        (number(form.insts[*reg].lane, registers[reg.index()]), wide[reg.index()])
                    })
                    .collect();
                let greatest = results.iter().fold(1.0, |most: f64, (_, x)| most.max(x.abs()));
                let scale = match self.scale {
                    Scale::One | Scale::First => 1.0,
                    Scale::Most => greatest,
                    Scale::Given => given,
                };
                let n = if matches!(self.scale, Scale::First) { 1 } else { results.len() };
                for (found, right) in results.into_iter().take(n) {
                    let off = (found - right).abs() / scale;
                    assert!(off.is_finite(), "{} {settings}: {found} for {right}", self.name);
                    if off > most.0 {
                        most = (off, settings.to_string());
                    }
                }
            }
        }
        most
    }
}

/// Checks that no node is further off than its manual entry states.
pub(crate) fn check(nodes: impl IntoIterator<Item = Node>) {
    let mut wrong = Vec::new();
    for node in nodes {
        let (most, settings) = node.most();
        let stated = stated(node.name);
        if most > stated {
            wrong.push(format!(
                "{} {settings}: the error is {most:e}, but {stated:e} is stated",
                node.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
