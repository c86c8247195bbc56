//! Identifies the work of an instance across all runs of the program.

use std::fmt::Write as _;

use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, Need};
use millstream_ir::ZoneBody;
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_node::settings::SettingValue;
use millstream_node::{Instance, Kernel, ScopeRule};

use crate::key::{Key, KeyHasher};
use crate::operands::Operands;

/// The work of an instance.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Node type with version, settings, types, and changes of the context. For forms and repeats, the
    /// work itself is part of the key; for other functions, the version of the node type is.
    pub(crate) key: Key,
    /// The features with names, in the order in which the instance mentions them. The key has only
    /// their positions and types, because names are free to choose.
    pub(crate) named: Vec<Feature>,
}

impl Identity {
    pub(crate) fn of(instance: &Instance) -> Self {
        let mut named = Named::default();
        let key = identity(instance, &mut named);
        Self { key, named: named.0 }
    }
}

/// The features with names, in the order in which they are mentioned.
#[derive(Clone, Default)]
pub(crate) struct Named(Vec<Feature>);

impl Named {
    /// Adds a feature to a key, without its name.
    pub(crate) fn add(&mut self, feature: &Feature, hash: &mut KeyHasher) {
        if feature.is_built_in() {
            return hash.text(feature.name());
        }
        hash.text(if matches!(feature, Feature::Vararg(..)) { "vararg" } else { "custom" });
        hash.text(feature.ty().name());
        let at = self.at(feature).unwrap_or_else(|| {
            self.0.push(feature.clone());
            self.0.len() - 1
        });
        hash.number(at as u64);
    }

    /// The position of a feature that was mentioned.
    pub(crate) fn at(&self, feature: &Feature) -> Option<usize> {
        self.0.iter().position(|known| known == feature)
    }

    /// Adds a need to a key, without the name of its feature.
    pub(crate) fn add_need(&mut self, need: &Need, hash: &mut KeyHasher) {
        self.add(&need.feature, hash);
        hash.number(need.level.into());
        hash.number((need.aspect == Aspect::Extent).into());
    }
}

fn identity(instance: &Instance, named: &mut Named) -> Key {
    let mut hash = KeyHasher::new("instance");
    hash.number(instance.def.version.into());
    for ty in &instance.generics {
        hash.text(ty.name());
    }
    for input in &instance.inputs {
        hash.number(input.socket.into());
        hash.text(input.ty.name());
        hash.number(input.scope.len() as u64);
        input.scope.iter().for_each(|rule| scope(rule, named, &mut hash));
    }
    for output in &instance.outputs {
        hash.text(output.ty.name());
    }
    match &instance.kernel {
        Kernel::Form(form) => hash.text(&form.to_string()),
        Kernel::Function(_) => hash.text("function"),
        Kernel::Read { feature, level, aspect } => {
            let need = Need { feature: feature.clone(), level: *level, aspect: *aspect };
            named.add_need(&need, &mut hash);
        }
        Kernel::Pass => hash.text("pass"),
        Kernel::Choose => hash.text("choose"),
        Kernel::ReadState(needs) => read_state(needs, &mut hash),
    }
    match ZoneBody::of(instance).and_then(|zone| body(zone, named)) {
        Some(body) => hash.add(body),
        // Its settings are names; the node whose state it reads has a label.
        None if matches!(instance.kernel, Kernel::ReadState(_)) => hash.text(instance.name()),
        None => {
            hash.text(instance.name());
            for (name, value) in instance.settings.iter() {
                hash.text(name);
                match feature_named(value, named).filter(|_| name == "name") {
                    Some(at) => {
                        hash.text("named");
                        hash.number(at as u64);
                    }
                    None => setting(value, &mut hash),
                }
            }
        }
    }
    hash.key()
}

/// The position of the feature that a setting names.
fn feature_named(value: &SettingValue, named: &Named) -> Option<usize> {
    let SettingValue::Text(text) = value else { return None };
    named.0.iter().position(|feature| **text == *feature.name())
}

/// Adds the needs of a reader of state: in an order of their own, and of features with names only the
/// types, because the steps above the next state mention them.
fn read_state(needs: &[Need], hash: &mut KeyHasher) {
    let key = |need: &Need| {
        let mut hash = KeyHasher::new("need");
        Named::default().add_need(need, &mut hash);
        hash.key()
    };
    let mut needs: Vec<Key> = needs.iter().map(key).collect();
    needs.sort_unstable();
    hash.number(needs.len() as u64);
    for need in needs {
        hash.add(need);
    }
}

/// Adds a change of the context: a feature, positions of inputs, and perhaps a form.
fn scope(rule: &ScopeRule, named: &mut Named, hash: &mut KeyHasher) {
    named.add(rule.feature(), hash);
    match rule {
        ScopeRule::Inject { value, .. } => {
            hash.text("inject");
            hash.number((*value).into());
        }
        ScopeRule::Each { count, .. } => {
            hash.text("each");
            hash.number((*count).into());
        }
        ScopeRule::Modify { form, args, .. } => {
            hash.text("modify");
            hash.text(&form.to_string());
            hash.text(&format!("{args:?}"));
        }
        ScopeRule::Along { level, .. } => {
            hash.text("along");
            hash.number((*level).into());
        }
    }
}

/// The key of the body of a zone, without the names of its nodes and sockets; `None` if a constant in
/// it has no encoding.
fn body(body: &ZoneBody, named: &mut Named) -> Option<Key> {
    let ZoneBody { plan, captures, n_inputs, n_outer, course, told, .. } = body;
    let mut hash = KeyHasher::new("zone");
    hash.text(&format!("{course:?} {told:?} {n_inputs} {n_outer}"));
    hash.number(captures.len() as u64);
    for need in captures {
        named.add_need(need, &mut hash);
    }
    for input in plan.inputs.as_slice() {
        hash.text(input.ty.name());
    }
    // Each step stands for everything above it, so the order of the document does not matter.
    let mut above = SideTable::for_arena(&plan.steps, Key([0; 16]));
    let read = |above: &SideTable<StepId, Key>, source: StepSource, hash: &mut KeyHasher| {
        hash.add(above[source.step]);
        hash.number(source.output.into());
    };
    // Each is determined once, since zones inside are walked for it.
    let all = plan.instances.as_slice().iter().map(|instance| Identity::of(instance));
    let identities: SideTable<InstanceId, Identity> = SideTable::from_vec(all.collect());
    let operands = operands(plan, &identities);
    for id in order(plan, &operands) {
        let step = &plan.steps[id];
        let mut hash = KeyHasher::new("step");
        match step.op {
            StepOp::Call(call) => {
                let Identity { key, named: mentioned } = &identities[call];
                hash.add(*key);
                for feature in mentioned {
                    named.add(feature, &mut hash);
                }
            }
            StepOp::Const(constant) => {
                if !hash.data(&plan.constants[constant]) {
                    return None;
                }
            }
            StepOp::Input(input) => hash.number(input.index() as u64),
        }
        operands.of(plan, id).for_each(|link| read(&above, link, &mut hash));
        above[id] = hash.key();
    }
    plan.outputs.iter().for_each(|output| read(&above, output.source, &mut hash));
    Some(hash.key())
}

/// The order of operands in the body of a zone.
fn operands(plan: &Plan, identities: &SideTable<InstanceId, Identity>) -> Operands {
    let leaf_of = |step: StepId| {
        let mut hash = KeyHasher::new("leaf");
        match plan.steps[step].op {
            StepOp::Call(_) => return None,
            StepOp::Const(constant) => hash.data(&plan.constants[constant]).then_some(())?,
            StepOp::Input(input) => hash.number(input.index() as u64),
        }
        Some(hash.key())
    };
    Operands::new(plan, &|instance| identities[instance].key, &leaf_of, None)
}

/// The steps above the outputs, each after all that it reads, in an order that only links determine.
fn order(plan: &Plan, operands: &Operands) -> Vec<StepId> {
    let mut order = Vec::new();
    let mut is_known = SideTable::for_arena(&plan.steps, false);
    let outputs = plan.outputs.iter().rev().map(|output| (output.source.step, false));
    let mut ahead: Vec<(StepId, bool)> = outputs.collect();
    while let Some((id, is_ready)) = ahead.pop() {
        if is_known[id] {
            continue;
        }
        if is_ready {
            is_known[id] = true;
            order.push(id);
            continue;
        }
        ahead.push((id, true));
        ahead.extend(operands.of(plan, id).rev().map(|link| (link.step, false)));
    }
    order
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
