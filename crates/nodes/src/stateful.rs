//! Nodes that keep state from one tick to the next.
//!
//! Each states what it keeps and the work of one tick, which is a node without state (see
//! [`Keeps`]). They start anew at the first tick of a document and for elements that come in. Inside a
//! loop each item has a state of its own, which goes on in the ticks that ask for it.

use std::sync::Arc;

use millstream_base::Type;
use millstream_form::{FormBuilder, Val};
use millstream_node::{Among, Keeps, NodeDef, Registry, SettingKind, SettingValue};
use millstream_node::{
    signature::Default, signature::OutputSocket, signature::Signature, signature::Socket,
};

use crate::shape::{FLOATS, T};

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

/// Ticks that a value can be delayed; each is a value of its own.
const MAX_TICKS: i64 = 240;

fn with_ticks(def: NodeDef) -> NodeDef {
    def.setting(
        "ticks",
        SettingKind::Integer(1, MAX_TICKS),
        Some(SettingValue::Integer(1)),
        "how many ticks back",
    )
}

fn delay() -> NodeDef {
    with_ticks(NodeDef::new("state.delay", "The value some ticks ago"))
        .details(
            "In the ticks that are too early for a value that many ticks ago it gives what `initial` was at \
             the first tick; what `initial` is later counts for nothing. An element that comes in has its first \
             tick then. For a value that depends on the node itself, use `state.feedback`.",
        )
        .generic("T", Among::Any)
        .input("value", T, "what is delayed")
        .input("initial", T, "given in the first ticks: what it is at the very first")
        .or(Default::Zero)
        .output("value", T, "what the value was")
        .keeps(Keeps::Past)
}

fn feedback() -> NodeDef {
    let def = with_ticks(NodeDef::new("state.feedback", "A value of earlier ticks, for circles"))
        .details(
            "What is linked to `value` counts for later ticks only, so it may depend on the node \
             itself. In the ticks that are too early for a value that many ticks ago the node gives what \
             `initial` was at the first tick; what `initial` is later counts for nothing. An element that comes \
             in has its first tick then.",
        )
        .setting(
            "type",
            SettingKind::Type,
            Some(SettingValue::Type(Type::F32)),
            "type of the value",
        );
    def.sockets_by_settings(|settings| {
        let ty = settings.ty("type").unwrap_or(Type::F32);
        let socket = |name: &'static str, about: &'static str| Socket {
            name: name.into(),
            ty: ty.into(),
            default: Default::Zero,
            multiple: false,
            mutable: false,
            scope: Vec::new(),
            about: about.into(),
        };
        Ok(Signature {
            generics: Vec::new(),
            inputs: vec![
                socket("value", "given that many ticks later"),
                socket("initial", "given in the first ticks: what it is at the very first"),
            ],
            outputs: vec![OutputSocket {
                name: "value".into(),
                ty: ty.into(),
                about: "what the value was".into(),
            }],
        })
    })
    .keeps(Keeps::Past)
    .delays("value")
}

fn hold() -> NodeDef {
    NodeDef::new("state.hold", "The value at the last moment when something held")
        .details(
            "Where `when` holds it takes the value over and gives it; else it gives the value that it \
             took last. At the first tick it takes the value whatever `when` says.",
        )
        .generic("T", Among::Any)
        .input("value", T, "what is taken over")
        .input("when", Type::BOOL, "whether to take the value over")
        .or(Default::Zero)
        .output("value", T, "what was taken over last")
        .keeps(Keeps::Held)
}

/// The work of a tick on the lanes of what is kept: gets the lanes of the node's inputs (lane 0 of
/// those that have only one), whether anything is kept, seconds per tick, and what is kept; gives
/// the output, then what is kept from now on.
type Work = for<'b> fn(&'b FormBuilder, &[Val<'b>]) -> Vec<Val<'b>>;

/// A node that keeps numbers and works on each lane alone.
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
    def.keeps(Keeps::Values(kept.iter().map(|name| (*name, ty)).collect(), Arc::new(tick)))
}

fn integrate() -> NodeDef {
    let def = NodeDef::new("state.integrate", "The sum of a rate over time")
        .details(
            "At the first tick it gives the initial value; then each tick adds the rate of the tick \
             before times the seconds between ticks. Where `reset` holds it starts anew.",
        )
        .source("explicit Euler steps")
        .generic("T", FLOATS)
        .input("rate", T, "change per second")
        .or_number(0.0)
        .input("initial", T, "what it starts from")
        .or_number(0.0)
        .input("reset", Type::BOOL, "whether to start anew")
        .or(Default::Zero)
        .output("value", T, "what has come together before this tick");
    lanewise(def, &["sum"], |_, args| {
        let [rate, initial, reset, started, dt, sum] = args[..] else {
            panic!("the sockets of a tick are those of its node and what it keeps");
        };
        let goes_on = started & !reset;
        let value = goes_on.select(sum, initial);
        vec![value, value + rate * dt.convert(rate.lane())]
    })
}

fn smooth() -> NodeDef {
    let def = NodeDef::new("state.smooth", "A value that follows another one slowly")
        .details(
            "Each tick it covers a part of what is left to the value: half of it in each half-life, \
             whatever the number of ticks in between. It starts at the value; a half-life of 0 or \
             less follows at once.",
        )
        .source("exponential smoothing")
        .generic("T", FLOATS)
        .input("value", T, "what is followed")
        .input("half_life", Type::F32, "seconds in which half of the way is covered")
        .or_number(0.1)
        .output("value", T, "the value that follows");
    lanewise(def, &["followed"], |_, args| {
        let [value, half_life, started, dt, followed] = args[..] else {
            panic!("the sockets of a tick are those of its node and what it keeps");
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
    let def = NodeDef::new("state.damp", "A value that swings to another one without overshooting")
        .details(
            "A critically damped spring: it speeds up and slows down smoothly, and keeps its speed when \
             the value changes. It starts at the value, at rest. Exact for a value that stays, whatever \
             the number of ticks. A time of 0 or less follows at once.",
        )
        .source("x'' = -2 w x' - w^2 (x - value) with w = 2 / time, solved for one tick")
        .generic("T", FLOATS)
        .input("value", T, "what is followed")
        .input("time", Type::F32, "about the seconds that it takes to get there")
        .or_number(0.3)
        .output("value", T, "the value that follows");
    lanewise(def, &["place", "speed"], |_, args| {
        let [value, time, started, dt, place, speed] = args[..] else {
            panic!("the sockets of a tick are those of its node and what it keeps");
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
    let def = NodeDef::new("state.counter", "How many ticks something held")
        .details(
            "Counts the ticks in which `when` holds, this one included, from `start` in steps of \
             `step`, wrapping past the ends of `i32`. Where `reset` holds it starts anew, before \
             this tick is counted.",
        )
        .input("when", Type::BOOL, "whether this tick counts")
        .or_value(true)
        .input("step", Type::I32, "what is added for each")
        .or_number(1.0)
        .input("start", Type::I32, "what it starts from")
        .or_number(0.0)
        .input("reset", Type::BOOL, "whether to start anew")
        .or(Default::Zero)
        .output("value", Type::I32, "the count");
    lanewise(def, &["count"], |_, args| {
        let [when, step, start, reset, started, _, count] = args[..] else {
            panic!("the sockets of a tick are those of its node and what it keeps");
        };
        let goes_on = started & !reset;
        let before = goes_on.select(count, start);
        let value = when.select(before + step, before);
        vec![value, value]
    })
}
