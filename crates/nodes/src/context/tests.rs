//! Which values the nodes read, and how they change the context.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Type};
use millstream_node::{Instance, Kernel, Registry, ScopeRule, Settings};
use serde_json::json;

fn settings(registry: &Registry, name: &str, set: &serde_json::Value) -> Result<Settings, String> {
    let def = registry.get(name).expect("registered");
    let given = set.as_object().expect("an object").iter().map(|(key, json)| (key.as_str(), json));
    Settings::read(&def.settings, given, &|name| registry.type_named(name))
        .map_err(|errors| errors[0].to_string())
}

fn instance(name: &str, set: &serde_json::Value) -> Result<Instance, String> {
    let mut registry = Registry::new();
    super::register(&mut registry);
    let settings = settings(&registry, name, set)?;
    let def = Arc::clone(registry.get(name).expect("registered"));
    let signature = def.signature(&settings).map_err(|error| error.to_string())?.into_owned();
    let generics = vec![Type::VEC3; signature.generics.len()];
    let arities = vec![1; signature.inputs.len()];
    def.instantiate(settings, generics, &arities).map_err(|error| error.to_string())
}

#[test]
fn readers_read_what_their_settings_say() {
    let read = |name: &str, set| match instance(name, &set).expect("fits").kernel {
        Kernel::Read { feature, level, aspect } => (feature, level, aspect),
        other => panic!("{name} does not read: {other:?}"),
    };
    assert_eq!(read("context.time", json!({})), (Feature::Time, 0, Aspect::Value));
    assert_eq!(read("context.index", json!({"level": 3})), (Feature::Index, 3, Aspect::Value));
    assert_eq!(read("context.count", json!({"level": 1})), (Feature::Index, 1, Aspect::Extent));
    let moments = json!({"feature": "time", "level": 2});
    assert_eq!(read("context.count", moments), (Feature::Time, 2, Aspect::Extent));
    assert_eq!(read("context.tick", json!({"level": 1})), (Feature::Tick, 1, Aspect::Value));
    let argument = Feature::Vararg("wind".into(), Type::I64);
    let set = json!({"name": "wind", "type": "i64"});
    assert_eq!(read("context.vararg", set), (argument, 0, Aspect::Value));
    let custom = Feature::Custom("wind".into(), Type::VEC3);
    let set = json!({"name": "wind", "type": "vec3", "level": 2});
    assert_eq!(read("context.feature", set), (custom, 2, Aspect::Value));
}

#[test]
fn output_types_are_those_of_the_features() {
    let output = |name: &str, set| instance(name, &set).expect("fits").outputs[0].ty;
    assert_eq!(output("context.tick", json!({})), Type::I64);
    assert_eq!(output("context.position", json!({})), Type::VEC3);
    assert_eq!(
        output("context.feature", json!({"name": "x", "type": "list<f32>"})).name(),
        "list<f32>"
    );
}

#[test]
fn names_of_built_in_features_are_refused() {
    let error =
        |name: &str| instance("context.feature", &json!({"name": name})).expect_err("refused");
    assert_eq!(error("time"), "setting `name`: `time` is a built-in feature");
    assert_eq!(error(""), "setting `name`: it is empty");
    assert_eq!(error("a.b"), "setting `name`: `a.b` contains a dot or a slash");
}

#[test]
fn injectors_take_the_value_of_their_second_input() {
    for (name, feature) in [
        ("context.with_time", Feature::Time),
        ("context.with_real_time", Feature::RealTime),
        ("context.with_tick", Feature::Tick),
        ("context.with_iteration", Feature::Iteration),
        ("context.with_index", Feature::Index),
        ("context.with_position", Feature::Position),
    ] {
        let instance = instance(name, &json!({})).expect("fits");
        assert!(matches!(instance.kernel, Kernel::Pass));
        let [ScopeRule::Inject { feature: injected, value: 1 }] = &instance.inputs[0].scope[..]
        else {
            panic!("{name} injects");
        };
        assert_eq!(*injected, feature);
        assert_eq!(instance.inputs[1].ty, feature.ty());
        assert_eq!(instance.outputs[0].ty, instance.inputs[0].ty);
    }
}

#[test]
fn modifiers_compute_the_new_value_from_the_old() {
    let modified = |name: &str, old: f64, arg: f64| {
        let instance = instance(name, &json!({})).expect("fits");
        let [ScopeRule::Modify { form, args, .. }] = &instance.inputs[0].scope[..] else {
            panic!("{name} modifies");
        };
        assert_eq!(args, &[1]);
        let mut new = [0];
        form.run_scalar(&[old.to_bits(), arg.to_bits()], &mut new, &mut Vec::new());
        f64::from_bits(new[0])
    };
    assert_eq!(modified("time.shift", 2.0, -0.5), 1.5);
    assert_eq!(modified("time.scale", 2.0, -0.5), -1.0);
}

#[test]
fn features_defined_by_the_document_are_injected_and_changed() {
    let set = json!({"name": "wind", "type": "vec3"});
    let scope = |name: &str| {
        let instance = instance(name, &set).expect("fits");
        assert_eq!(instance.inputs[1].ty, Type::VEC3, "{name}");
        instance.inputs[0].scope[0].clone()
    };
    let (custom, argument) =
        (Feature::Custom("wind".into(), Type::VEC3), Feature::Vararg("wind".into(), Type::VEC3));
    assert_eq!(*scope("context.with_feature").feature(), custom);
    assert_eq!(*scope("context.with_vararg").feature(), argument);
    let ScopeRule::Modify { feature, form, .. } = scope("context.shift_feature") else {
        panic!("it modifies");
    };
    assert_eq!((feature, form.results.len()), (custom, 3));
    let text = json!({"name": "wind", "type": "string"});
    let error = instance("context.shift_feature", &text).expect_err("text has no sum");
    assert_eq!(error, "setting `type`: nothing can be added to a string");
}

#[test]
fn every_built_in_feature_is_read_injected_and_changed() {
    let mut registry = Registry::new();
    super::register(&mut registry);
    let nodes: Vec<_> =
        registry.iter().filter_map(|def| instance(&def.name, &json!({})).ok()).collect();
    for feature in Feature::BUILT_IN {
        let reads = |node: &Instance| matches!(&node.kernel, Kernel::Read { feature: read, .. } if *read == feature);
        let rules = || nodes.iter().flat_map(|node| &node.inputs).flat_map(|slot| &slot.scope);
        assert!(nodes.iter().any(reads), "{feature} is read");
        assert!(
            rules()
                .any(|rule| matches!(rule, ScopeRule::Inject { .. }) && *rule.feature() == feature),
            "{feature} is injected"
        );
        if feature.ty().lanes().is_none() {
            // Features that do not consist of numbers have no modifier; they are only injected.
            continue;
        }
        assert!(
            rules()
                .any(|rule| matches!(rule, ScopeRule::Modify { .. }) && *rule.feature() == feature),
            "{feature} is changed"
        );
    }
}
