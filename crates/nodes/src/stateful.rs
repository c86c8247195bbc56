//! Nodes that keep state from one tick to the next.
//!
//! Each node declares its state and the work of one tick, which is a stateless node (see
//! [`StateSpec`]). State starts at the first tick of a document, and for an element at the tick in
//! which it first appears. Inside a loop each item has its own state, which advances in the ticks
//! that request it.

use std::sync::Arc;

use millstream_base::Type;
use millstream_form::{FormBuilder, Val};
use millstream_node::{Among, Default, NodeDef, Registry, SettingKind, SettingValue, StateSpec};

use crate::shape::{FLOATS, T, sockets_of};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(delay());
    registry.register(feedback());
    registry.register(hold());
    registry.register(integrate());
    registry.register(smooth());
    registry.register(damp());
    registry.register(counter());
}

/// The longest delay in ticks; each tick stores one value.
const MAX_TICKS: i64 = 240;

fn with_ticks(def: NodeDef) -> NodeDef {
    def.integer("ticks", (1, MAX_TICKS), 1, "length of the delay in ticks")
}

fn delay() -> NodeDef {
    with_ticks(NodeDef::new("state.delay", "The value of an input some ticks ago"))
        .details(
            "While there is no value that old yet, the output is the value that `initial` had at \
             the first tick; later values of `initial` are ignored. The first tick of an element \
             is the one in which it appears. For a value that depends on the node itself, use \
             `state.feedback`.",
        )
        .generic("T", Among::Any)
        .input("value", T, "value to delay")
        .input_or(
            "initial",
            T,
            Default::Zero,
            "output of the first ticks; its value at the first tick is used",
        )
        .output("value", T, "the delayed value")
        .state(StateSpec::Past)
}

fn feedback() -> NodeDef {
    let def = with_ticks(NodeDef::new(
        "state.feedback",
        "A value of an earlier tick, for feedback cycles",
    ))
    .details(
        "What is linked to `value` affects later ticks only, so it may depend on the node \
             itself. While there is no value that old yet, the output is the value that `initial` \
             had at the first tick; later values of `initial` are ignored. The first tick of an \
             element is the one in which it appears.",
    )
    .setting(
        "type",
        SettingKind::Type,
        Some(SettingValue::Type(Type::F32)),
        "type of the value",
    );
    def.sockets_by_settings(|settings| {
        let ty = settings.ty("type").unwrap_or(Type::F32);
        let about = "output of the first ticks; its value at the first tick is used";
        let sockets = NodeDef::new("", "")
            .input_or("value", ty, Default::Zero, "value to output that many ticks later")
            .input_or("initial", ty, Default::Zero, about)
            .output("value", ty, "the delayed value");
        Ok(sockets_of(&sockets))
    })
    .state(StateSpec::Past)
    .delays("value")
}

fn hold() -> NodeDef {
    NodeDef::new("state.hold", "Samples a value when a condition is true and holds it")
        .details(
            "While `when` is true, the output is `value`; otherwise it stays at the last sampled \
             value. The first tick samples the value whatever `when` is.",
        )
        .generic("T", Among::Any)
        .input("value", T, "value to sample")
        .input_or("when", Type::BOOL, Default::Zero, "whether to sample the value in this tick")
        .output("value", T, "the value sampled last")
        .state(StateSpec::Held)
}

/// The work of one tick on one lane. Arguments are the lanes of the node's inputs (lane 0 of those
/// that have only one), whether there is state, the seconds per tick, and the state. The result is
/// the output, followed by the new state.
type Work = for<'b> fn(&'b FormBuilder, &[Val<'b>]) -> Vec<Val<'b>>;

/// A node that keeps numbers and treats each lane separately.
fn lanewise(def: NodeDef, kept: &'static [&'static str], work: Work) -> NodeDef {
    let name = format!("{}_tick", def.name);
    let about = format!("One tick of `{}`", def.name);
    let signature = def.fixed_signature().expect("the sockets are fixed").clone();
    let ty = signature.outputs[0].ty;
    let mut tick = NodeDef::new(name, about);
    for generic in &signature.generics {
        tick = tick.generic(generic.name, generic.among);
    }
    for input in &signature.inputs {
        tick = tick.input(input.name.clone(), input.ty, "");
    }
    tick = tick.input("started", Type::BOOL, "").input("dt", Type::F64, "");
    for name in kept {
        tick = tick.input(*name, ty, "");
    }
    tick = tick.output("value", ty, "");
    for name in kept {
        tick = tick.output(format!("next_{name}"), ty, "");
    }
    let n_kept = kept.len();
    let tick = tick.form(move |b, inputs| {
        let n_lanes = inputs[inputs.len() - 1].len();
        let mut outputs: Vec<Vec<Val<'_>>> = vec![Vec::with_capacity(n_lanes); n_kept + 1];
        for i in 0..n_lanes {
            let args: Vec<Val<'_>> =
                inputs.iter().map(|x| if x.len() == 1 { x[0] } else { x[i] }).collect();
            for (output, lane) in outputs.iter_mut().zip(work(b, &args)) {
                output.push(lane);
            }
        }
        outputs
    });
    def.state(StateSpec::Values(kept.iter().map(|name| (*name, ty)).collect(), Arc::new(tick)))
}

fn integrate() -> NodeDef {
    let def = NodeDef::new("state.integrate", "Integrates a rate over time")
        .details(
            "The first tick outputs the initial value. Each later tick adds the rate of the \
             previous tick times the seconds between ticks. Where `reset` is true, the integral \
             starts again from the initial value.",
        )
        .source("the explicit Euler method")
        .generic("T", FLOATS)
        .input_or("rate", T, 0.0, "change per second")
        .input_or("initial", T, 0.0, "value at the start")
        .input_or("reset", Type::BOOL, Default::Zero, "whether to start again")
        .output("value", T, "the integral up to this tick");
    lanewise(def, &["sum"], |_, args| {
        let [rate, initial, reset, started, dt, sum] = args[..] else {
            panic!("the sockets of a tick are those of its node and its state");
        };
        let goes_on = started & !reset;
        let value = goes_on.select(sum, initial);
        vec![value, value + rate * dt.convert(rate.lane())]
    })
}

fn smooth() -> NodeDef {
    let def = NodeDef::new("state.smooth", "A smoothed value that follows its input")
        .details(
            "Each tick covers part of the remaining distance to the input: half of it per \
             half-life, independent of the tick rate. It starts at the input. With a half-life of \
             0 or less it follows immediately.",
        )
        .source("exponential smoothing")
        .generic("T", FLOATS)
        .input("value", T, "value to follow")
        .input_or("half_life", Type::F32, 0.1, "time in seconds to cover half of the distance")
        .output("value", T, "the smoothed value");
    lanewise(def, &["followed"], |_, args| {
        let [value, half_life, started, dt, followed] = args[..] else {
            panic!("the sockets of a tick are those of its node and its state");
        };
        let lane = value.lane();
        let left = (-(dt.convert(lane) / half_life.convert(lane))).exp2();
        let out = value + (followed - value) * left;
        let is_slow = started & half_life.gt(0);
        let out = is_slow.select(out, value);
        vec![out, out]
    })
}

fn damp() -> NodeDef {
    let def = NodeDef::new("state.damp", "A critically damped spring that follows its input")
        .details(
            "It accelerates and decelerates smoothly, does not overshoot an input that stays \
             constant, and keeps its velocity when the input changes. It starts at the input, at \
             rest. For a constant input it is exact, independent of the tick rate. With a time of \
             0 or less it follows immediately.",
        )
        .source("x'' = -2 w x' - w^2 (x - value) with w = 2 / time, solved for one tick")
        .generic("T", FLOATS)
        .input("value", T, "value to follow")
        .input_or("time", Type::F32, 0.3, "approximate time in seconds to reach the input")
        .output("value", T, "the damped value");
    lanewise(def, &["place", "speed"], |_, args| {
        let [value, time, started, dt, place, speed] = args[..] else {
            panic!("the sockets of a tick are those of its node and its state");
        };
        let lane = value.lane();
        let (dt, w) = (dt.convert(lane), 2 / time.convert(lane));
        let left = (-(w * dt)).exp();
        let offset = place - value;
        let pull = speed + w * offset;
        let new_place = value + (offset + pull * dt) * left;
        let new_speed = (speed - w * pull * dt) * left;
        let is_slow = started & time.gt(0);
        let out = is_slow.select(new_place, value);
        let out_speed = is_slow.select(new_speed, value.like(0));
        vec![out, out, out_speed]
    })
}

fn counter() -> NodeDef {
    let def = NodeDef::new("state.counter", "Counts the ticks in which a condition is true")
        .details(
            "Counts the ticks in which `when` is true, this one included, from `start` in steps of \
             `step`, wrapping around at the limits of `i32`. Where `reset` is true, the count \
             returns to `start` before this tick is counted.",
        )
        .input_or("when", Type::BOOL, true, "whether this tick counts")
        .input_or("step", Type::I32, 1.0, "number added per counted tick")
        .input_or("start", Type::I32, 0.0, "count at the start")
        .input_or("reset", Type::BOOL, Default::Zero, "whether to start again")
        .output("value", Type::I32, "the count");
    lanewise(def, &["count"], |_, args| {
        let [when, step, start, reset, started, _, count] = args[..] else {
            panic!("the sockets of a tick are those of its node and its state");
        };
        let goes_on = started & !reset;
        let before = goes_on.select(count, start);
        let value = when.select(before + step, before);
        vec![value, value]
    })
}
