//! Nodes compared with their own formulas in 64-bit floats.
//!
//! Each operation on floats is repeated with 64 bits, from the 64-bit results of earlier
//! operations. Decisions of the 32-bit floats are kept, such as which arm is taken or which integer
//! is below. So the differences are rounding errors. Constants are those of the node, except
//! fractions of a turn.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use millstream_base::{Lane, Type};
use millstream_form::{Form, Op, eval_op};
use millstream_node::{Kernel, SettingKind};
use serde_json::{Value as Json, json};

use super::{Random, stated};
use crate::cells::testing::instance;

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
enum Scale {
    One,
    /// 1, or the greatest result if that is greater.
    Most,
    /// The greatest argument.
    Given,
    /// 1, and only the first result is checked.
    First,
}

struct Node {
    name: &'static str,
    /// A setting of which all choices are tried.
    setting: Option<&'static str>,
    more: Json,
    generics: &'static [Type],
    arguments: fn(&mut Random, usize) -> f64,
    scale: Scale,
}

fn node(name: &'static str, scale: Scale) -> Node {
    Node { name, setting: None, more: json!({}), generics: &[], arguments: |r, _| r.unit(), scale }
}

impl Node {
    fn each(self, setting: &'static str) -> Self {
        Self { setting: Some(setting), ..self }
    }

    fn with(self, more: Json) -> Self {
        Self { more, ..self }
    }

    fn of(self, generics: &'static [Type]) -> Self {
        Self { generics, ..self }
    }

    fn on(self, arguments: fn(&mut Random, usize) -> f64) -> Self {
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
            let node = instance(self.name, &settings, self.generics, &[]);
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

const F32: &[Type] = &[Type::F32];
const V3: &[Type] = &[Type::VEC3];

fn colors() -> Vec<Node> {
    /// Mostly near black.
    fn dark(r: &mut Random, _: usize) -> f64 {
        r.unit().powi(6)
    }
    vec![
        node("color.mix", Scale::One).each("space").on(dark),
        node("color.difference", Scale::Most).each("metric").on(dark),
        node("color.blend", Scale::Most).each("mode"),
        node("color.over", Scale::One),
        node("color.composite", Scale::Most).each("operator"),
        node("color.mix", Scale::One).each("space"),
        node("color.invert", Scale::One),
        node("color.desaturate", Scale::One),
        node("color.exposure", Scale::Most),
        node("color.premultiply", Scale::One),
        node("color.unpremultiply", Scale::Most),
        node("color.slope_offset_power", Scale::One),
        node("color.tone_map", Scale::Most)
            .each("curve")
            .on(|r, at| if at == 5 { 1.0 + 10.0 * r.unit() } else { r.unit() }),
        node("color.adapt", Scale::Most),
        node("color.difference", Scale::Most).each("metric"),
        node("blender.mix_color", Scale::Most).each("blend"),
    ]
}

fn numbers() -> Vec<Node> {
    vec![
        node("math.smooth_minimum", Scale::Given).of(F32),
        node("math.smooth_maximum", Scale::Given).of(F32),
        node("mix.ease", Scale::One).of(F32).each("curve").with(json!({"direction": "in"})),
        node("mix.ease", Scale::One).of(F32).each("curve").with(json!({"direction": "out"})),
        node("mix.ease", Scale::One).of(F32).each("curve"),
        node("mix.ease", Scale::One).of(F32).each("curve").with(json!({"direction": "out_in"})),
    ]
}

fn distributions() -> Vec<Node> {
    /// A middle of 0 and a width of 1, or a least number and an exponent.
    fn usual(_: &mut Random, at: usize) -> f64 {
        at as f64
    }
    fn ones(_: &mut Random, _: usize) -> f64 {
        1.0
    }
    vec![
        node("random.value", Scale::Given).on(|r, at| r.unit() * 100.0 - 99.0 + 99.0 * at as f64),
        node("random.normal", Scale::One).on(usual),
        node("random.log_normal", Scale::Most).on(usual),
        node("random.exponential", Scale::Most).on(ones),
        node("random.triangular", Scale::Given).on(usual),
        node("random.cauchy", Scale::Most).on(usual),
        node("random.weibull", Scale::Most).on(|_, at| 1.0 + 0.5 * at as f64),
        node("random.pareto", Scale::Most).on(|_, at| 1.0 + at as f64),
        node("random.laplace", Scale::Most).on(usual),
        node("random.logistic", Scale::Most).on(usual),
        node("random.direction", Scale::One),
        node("random.in_disk", Scale::One).on(ones),
        node("random.on_circle", Scale::One),
        node("random.in_ball", Scale::One).on(ones),
        node("random.in_triangle", Scale::Given),
        node("random.rotation", Scale::One),
        node("random.in_ring", Scale::One).on(|_, at| 0.5 + 0.5 * at as f64),
        node("random.in_cone", Scale::One),
    ]
}

fn noises() -> Vec<Node> {
    /// A position up to 100 cells from the origin; the scale and all later inputs are 1.
    fn place(r: &mut Random, at: usize) -> f64 {
        if at < 3 { 200.0 * r.unit() - 100.0 } else { 1.0 }
    }
    fn rough(r: &mut Random, at: usize) -> f64 {
        // Lacunarity and roughness after position, scale and seed.
        match at {
            0..3 => 20.0 * r.unit() - 10.0,
            5 => 2.0,
            6 => 0.5,
            _ => 1.0,
        }
    }
    vec![
        node("noise.value", Scale::One).of(V3).on(place),
        node("noise.perlin", Scale::One).of(V3).on(place),
        node("noise.simplex", Scale::One).of(V3).on(place),
        node("noise.slope", Scale::Most).of(V3).on(place),
        node("noise.curl", Scale::Most).of(V3).on(place),
        node("noise.cell", Scale::First).of(V3).on(place).each("feature"),
        node("noise.cell_edge", Scale::One).of(V3).on(place),
        node("noise.gabor", Scale::Most).of(V3).on(place),
        node("noise.fbm", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.turbulence", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.ridged", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.hybrid", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.multifractal", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.hetero_terrain", Scale::Most).of(V3).on(rough).each("basis"),
    ]
}

#[test]
fn nodes_are_as_close_to_their_formulas_as_the_manual_states() {
    let mut wrong = Vec::new();
    for node in [colors(), numbers(), distributions(), noises()].into_iter().flatten() {
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
