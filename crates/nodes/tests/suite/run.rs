//! Makes instances and runs their forms on values.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_form::Form;
use millstream_node::{Among, Instance, Kernel, NodeDef, Settings};
use millstream_node::{settings::SettingError, settings::SettingKind};
use serde_json::Value as Json;

/// Settings read from JSON; texts and types without a default get a sample value.
pub(crate) fn settings(def: &NodeDef, given: &serde_json::Map<String, Json>) -> Settings {
    let read = |given: &serde_json::Map<String, Json>| {
        let given = given.iter().map(|(name, json)| (name.as_str(), json));
        Settings::read(&def.settings, given, &|name| {
            Type::BUILT_IN.into_iter().find(|ty| ty.name() == name)
        })
    };
    let mut given = given.clone();
    if let Err(errors) = read(&given) {
        for error in errors {
            let SettingError::Missing { name, .. } = error else { panic!("{}: {error}", def.name) };
            let setting = def.settings.iter().find(|setting| setting.name == name).unwrap();
            given.insert(name, sample(&setting.kind));
        }
    }
    read(&given).unwrap_or_else(|errors| panic!("{}: {errors:?}", def.name))
}

fn sample(kind: &SettingKind) -> Json {
    match kind {
        SettingKind::Choice(choices) => Json::from(choices[0].0),
        SettingKind::Text => Json::from("x"),
        SettingKind::Integer(min, _) => Json::from(*min),
        SettingKind::Number => Json::from(1.0),
        SettingKind::Flag => Json::from(false),
        SettingKind::Type => Json::from("f32"),
        SettingKind::Texts => Json::from(vec!["x"]),
        SettingKind::Numbers => Json::from(vec![1.0]),
    }
}

/// The types that a generic may have; a sample of them if it may have any type.
pub(crate) fn choices(among: Among) -> Vec<Type> {
    match among {
        Among::These(types) => types.to_vec(),
        Among::Any | Among::AnyOr(_) | Among::Own => {
            let list = Type::F32.list().unwrap();
            Type::BUILT_IN.into_iter().chain([list]).collect()
        }
    }
}

/// Nodes whose generic must be a list type.
const OF_LISTS: [&str; 2] = ["list.chunks", "list.flatten"];

/// All combinations of types of the generics.
pub(crate) fn all_generics(def: &NodeDef, settings: &Settings) -> Vec<Vec<Type>> {
    let signature = def.signature(settings).unwrap();
    let mut all = vec![vec![]];
    for generic in &signature.generics {
        let longer = |chosen: &Vec<Type>| {
            let chosen = chosen.clone();
            let of_lists = OF_LISTS.contains(&def.name.as_ref());
            choices(generic.among).into_iter().map(move |ty| {
                let mut chosen = chosen.clone();
                chosen.push(if of_lists { ty.list().unwrap() } else { ty });
                chosen
            })
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// An instance with one source per socket.
pub(crate) fn instance(def: &Arc<NodeDef>, settings: Settings, generics: Vec<Type>) -> Instance {
    let n_inputs = def.signature(&settings).unwrap().inputs.len();
    def.instantiate(settings, generics, &vec![1; n_inputs])
        .unwrap_or_else(|error| panic!("{}: {error}", def.name))
}

/// The form of an instance, if it has one.
pub(crate) fn form(instance: &Instance) -> Option<&Form> {
    match &instance.kernel {
        Kernel::Form(form) => Some(form),
        Kernel::Function(_)
        | Kernel::Read { .. }
        | Kernel::Pass
        | Kernel::Choose
        | Kernel::ReadState(_) => None,
    }
}

/// The concatenated lanes of values.
pub(crate) fn lanes(values: &[Value]) -> Vec<u64> {
    let of = |value: &Value| {
        let (_, n) = value.ty().lanes().expect("made of lanes");
        (0..n as usize).map(|i| value.lane(i).unwrap()).collect::<Vec<_>>()
    };
    values.iter().flat_map(of).collect()
}

/// The outputs of an instance whose kernel is a form.
pub(crate) fn run(instance: &Instance, inputs: &[Value]) -> Vec<Value> {
    let form = form(instance).unwrap_or_else(|| panic!("{} has a form", instance.name()));
    let mut results = vec![0; form.results.len()];
    form.run_scalar(&lanes(inputs), &mut results, &mut Vec::new());
    let mut rest = results.as_slice();
    let outputs = instance.outputs.iter().map(|output| {
        let (_, n) = output.ty.lanes().unwrap();
        let (these, others) = rest.split_at(n as usize);
        rest = others;
        Value::from_lanes(output.ty, these).unwrap()
    });
    outputs.collect()
}
