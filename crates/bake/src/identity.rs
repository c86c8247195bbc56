//! Identifies the work of an instance across all runs of the program.

use std::fmt::Write as _;

use millstream_base::Need;
use millstream_base::id::{Id, SideTable};
use millstream_ir::ZoneBody;
use millstream_ir::plan::{StepId, StepOp, StepSource};
use millstream_node::settings::SettingValue;
use millstream_node::{Instance, Kernel};

use crate::key::{Key, KeyHasher};

/// The key of an instance: node type with version, settings, types, and changes of the context. For
/// forms and repeats, the work itself is part of the key; for other functions, the version of the
/// node type is.
pub(crate) fn identity(instance: &Instance) -> Key {
    let mut hash = KeyHasher::new("instance");
    match ZoneBody::of(instance).and_then(body) {
        Some(body) => hash.add(body),
        // Its settings are names; the node whose state it reads has a label.
        None if matches!(instance.kernel, Kernel::ReadState(_)) => hash.text(instance.name()),
        None => {
            hash.text(instance.name());
            for (name, value) in instance.settings.iter() {
                hash.text(name);
                setting(value, &mut hash);
            }
        }
    }
    hash.number(instance.def.version.into());
    for ty in &instance.generics {
        hash.text(ty.name());
    }
    for input in &instance.inputs {
        hash.number(input.socket.into());
        hash.text(input.ty.name());
        // A rule is a feature, positions of inputs, and perhaps a form.
        hash.text(&format!("{:?}", input.scope));
    }
    for output in &instance.outputs {
        hash.text(output.ty.name());
    }
    match &instance.kernel {
        Kernel::Form(form) => hash.text(&form.to_string()),
        Kernel::Function(_) => hash.text("function"),
        Kernel::Read { feature, level, aspect } => {
            hash.text(&format!("{feature:?} {level} {aspect:?}"));
        }
        Kernel::Pass => hash.text("pass"),
        Kernel::Choose => hash.text("choose"),
        Kernel::ReadState(needs) => {
            let mut needs: Vec<&Need> = needs.iter().collect();
            needs.sort_unstable();
            hash.text(&format!("{needs:?}"));
        }
    }
    hash.key()
}

/// The key of the body of a zone, without the names of its nodes and sockets; `None` if a constant in
/// it has no encoding.
fn body(body: &ZoneBody) -> Option<Key> {
    let ZoneBody { plan, captures, n_inputs, n_outer, course, told, .. } = body;
    let mut hash = KeyHasher::new("zone");
    hash.text(&format!("{course:?} {captures:?} {told:?} {n_inputs} {n_outer}"));
    for input in plan.inputs.as_slice() {
        hash.text(input.ty.name());
    }
    // Each step stands for everything above it, so the order of steps does not matter.
    let mut above = SideTable::for_arena(&plan.steps, Key([0; 16]));
    let read = |above: &SideTable<StepId, Key>, source: &StepSource, hash: &mut KeyHasher| {
        hash.add(above[source.step]);
        hash.number(source.output.into());
    };
    for (id, step) in plan.steps.iter() {
        let mut hash = KeyHasher::new("step");
        match step.op {
            StepOp::Call(call) => hash.add(identity(&plan.instances[call])),
            StepOp::Const(constant) => {
                if !hash.data(&plan.constants[constant]) {
                    return None;
                }
            }
            StepOp::Input(input) => hash.number(input.index() as u64),
        }
        plan.inputs_of(step).iter().for_each(|link| read(&above, link, &mut hash));
        above[id] = hash.key();
    }
    plan.outputs.iter().for_each(|output| read(&above, &output.source, &mut hash));
    Some(hash.key())
}

fn setting(value: &SettingValue, hash: &mut KeyHasher) {
    let mut text = String::new();
    let mut bits = |x: f64| write!(text, "{:x} ", x.to_bits());
    let written = match value {
        SettingValue::Number(x) => bits(*x),
        SettingValue::Numbers(all) => all.iter().try_for_each(|x| bits(*x)),
        SettingValue::Text(_)
        | SettingValue::Integer(_)
        | SettingValue::Flag(_)
        | SettingValue::Type(_)
        | SettingValue::Texts(_) => write!(text, "{value:?}"),
    };
    written.expect("writing to a string does not fail");
    hash.text(&text);
}
