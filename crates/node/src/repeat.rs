//! Instances of zones, nodes that run a group many times.
//!
//! The instance of a repeat or of a loop over items is a function over columns. Its inputs are
//! those of the node, followed by the context that the group needs from around the node. The
//! instance of a simulation has state; the work of a tick is a network around a repeat.

use std::sync::Arc;

use millstream_base::{Feature, Need, Type, Value};
use serde_json::{Value as Json, json};

use crate::class::Class;
use crate::element_state::text_of;
use crate::function::SharedFunction;
use crate::node_def::NodeDef;
use crate::node_def::instance::{InputSlot, Instance, Kernel, OutputSlot};
use crate::node_def::network::{Network, Part, PartSource};
use crate::node_def::state::StateSpec;
pub use crate::reading::{CAPTURE, capture, type_of};
use crate::scope::ScopeRule;
use crate::settings::{Setting, SettingKind, Settings};
use crate::zone::{Course, Mode, Sockets, Zone};

/// The settings of instances: those of documents, and the identity of the group.
pub fn instance_settings(zone: Zone) -> Vec<Setting> {
    let mut settings = zone.settings();
    for name in ["body", "group"] {
        settings.push(Setting { name, kind: SettingKind::Text, default: None, about: "" });
    }
    settings
}

/// The specification of a zone.
#[derive(Clone, Debug)]
pub struct ZoneSpec<'a> {
    /// Name of the group.
    pub group: &'a str,
    /// A digest of the content of the group.
    pub digest: &'a str,
    /// How it runs.
    pub zone: Zone,
    /// The settings as documents write them.
    pub settings: Vec<(&'static str, Json)>,
    /// The inputs of the node, in the order of its sources.
    pub inputs: Sockets,
    /// The context that the group needs.
    pub captures: &'a [Need],
    /// The outputs of the node.
    pub outputs: Sockets,
}

/// The instance of a zone whose group is run by `function`.
pub fn instance(spec: ZoneSpec<'_>, function: SharedFunction) -> Instance {
    made(spec, function, None)
}

fn made(spec: ZoneSpec<'_>, function: SharedFunction, state: Option<StateSpec>) -> Instance {
    let mut def = NodeDef::new(spec.zone.name(), "A group that runs many times");
    def.settings = instance_settings(spec.zone);
    let captured = spec.captures.iter().map(|need| (text_of(need).into(), type_of(need)));
    let inputs: Vec<(Arc<str>, Type)> = spec.inputs.into_iter().chain(captured).collect();
    for (name, ty) in &inputs {
        def = def.input(name.to_string(), *ty, "");
    }
    for (name, ty) in &spec.outputs {
        def = def.output(name.to_string(), *ty, "");
    }
    let class = if state.is_some() { Class::Stateful } else { Class::Static };
    def.state = state;
    let mut given = spec.settings;
    given.extend([("body", json!(spec.digest)), ("group", json!(spec.group))]);
    let given = given.iter().map(|(name, json)| (*name, json));
    let settings = Settings::read(&def.settings, given, &|_| None);
    let slot = |(i, (_, ty)): (usize, &(Arc<str>, Type))| InputSlot {
        socket: i as u16,
        ty: *ty,
        mutable: false,
        scope: Vec::new(),
    };
    Instance {
        settings: settings.expect("the settings are those of the node type"),
        generics: Vec::new(),
        inputs: inputs.iter().enumerate().map(slot).collect(),
        outputs: spec.outputs.iter().map(|(_, ty)| OutputSlot { ty: *ty }).collect(),
        output_names: spec.outputs.iter().map(|(name, _)| Arc::clone(name)).collect(),
        kernel: Kernel::Function(function),
        network: None,
        class,
        def: Arc::new(def),
    }
}

/// The instance of a simulation. `function` holds the body, which `rounds` runs: the inputs of
/// `rounds` are those of the group, the number of rounds, and the context. `pick` makes the
/// instance that selects one of two values of a type.
///
/// # Panics
/// If the course is not one of ticks.
pub fn simulation(
    spec: ZoneSpec<'_>,
    course: &Course,
    rounds: &Arc<Instance>,
    function: SharedFunction,
    pick: impl Fn(Type) -> Arc<Instance>,
) -> Instance {
    let Mode::Ticks { reset, substeps } = course.mode else { panic!("a simulation has ticks") };
    let n_inputs = spec.inputs.len();
    let n_all = n_inputs + spec.captures.len();
    let input = |at: usize| PartSource::Input(at as u32);
    let part = |instance: Arc<Instance>, sources: &[PartSource]| Part {
        name: "".into(),
        instance,
        sources: sources.into(),
    };
    let output = |part: usize, output: usize| PartSource::Output {
        part: part as u32,
        output: output as u32,
    };
    // The inputs of the work of a tick: those of the node, `started`, `dt`, the state.
    let (started, state) = (input(n_all), |k: usize| input(n_all + 2 + k));
    let [truth, none] = [0, 1].map(PartSource::Constant);
    let mut network =
        Network { constants: vec![Value::Bool(true), Value::I32(0)], ..Network::default() };
    let begins = output(0, 0);
    network.parts.push(part(pick(Type::BOOL), &[started, truth, input(reset)]));
    let n_group = rounds.inputs.len() - 1 - spec.captures.len();
    let mut sources: Vec<PartSource> = (0..n_group).map(input).collect();
    let mut variables: Vec<(Arc<str>, Type)> = Vec::new();
    for (k, carried) in course.carries.iter().enumerate() {
        let Some(carried) = *carried else { continue };
        let (name, ty) = &spec.outputs[k];
        sources[carried] = output(network.parts.len(), 0);
        network.parts.push(part(pick(*ty), &[begins, state(variables.len()), input(carried)]));
        variables.push((format!("state {name}").into(), *ty));
    }
    sources.push(output(network.parts.len(), 0));
    network.parts.push(part(pick(Type::I32), &[begins, input(substeps), none]));
    sources.extend((n_inputs..n_all).map(input));
    let last = network.parts.len();
    network.parts.push(part(Arc::clone(rounds), &sources));
    let outputs = (0..spec.outputs.len()).map(|k| output(last, k));
    network.outputs = outputs.clone().chain(outputs).collect();
    let work = work_of(&spec, &variables, network);
    made(spec, function, Some(StateSpec::Made(variables, Arc::new(work))))
}

/// The instance that computes a tick of a simulation.
fn work_of(spec: &ZoneSpec<'_>, variables: &Sockets, network: Network) -> Instance {
    let mut def = NodeDef::new("simulate.tick", "One tick of a simulation");
    let captured = spec.captures.iter().map(|need| (text_of(need).into(), type_of(need)));
    let mut inputs: Sockets = spec.inputs.iter().cloned().chain(captured).collect();
    inputs.extend([("started".into(), Type::BOOL), ("dt".into(), Type::F64)]);
    inputs.extend(variables.iter().cloned());
    for (name, ty) in &inputs {
        def = def.input(name.to_string(), *ty, "");
    }
    for (name, ty) in spec.outputs.iter().chain(variables) {
        def = def.output(name.to_string(), *ty, "");
    }
    let network = Arc::new(network);
    let def = Arc::new(def.kernel(|_| Ok(Kernel::Pass)));
    let arities = vec![1; inputs.len()];
    let made = def.instantiate(Settings::default(), Vec::new(), &arities);
    let made = made.expect("a node type without settings and generics has an instance");
    Instance { network: Some(network), ..made }
}

/// The instance that returns a value of this type, evaluated with level 0 of a feature injected
/// from its second input.
pub fn provider(feature: &Feature, ty: Type) -> Instance {
    let rule = ScopeRule::Inject { feature: feature.clone(), value: 1 };
    let def = NodeDef::new("repeat.provide", "A value evaluated with a feature provided")
        .input("value", ty, "evaluated in the changed context")
        .scope(rule)
        .input("feature", feature.ty(), "value of the feature")
        .output("value", ty, "the value there")
        .kernel(|_| Ok(Kernel::Pass));
    let made = Arc::new(def).instantiate(Settings::default(), Vec::new(), &[1, 1]);
    made.expect("a node type without settings and generics has an instance")
}
