//! Functions over columns give the same results as for single values. This is tested for every node
//! of the library whose kernel is a function, with arguments of every layout, maps and masks.

use std::sync::Arc;

use millstream_base::map::Map;
use millstream_base::same::Same;
use millstream_base::types::Kind;
use millstream_base::{Lane, Limits, Mask, Type, Value};
use millstream_node::{Among, Data, Instance, Kernel, NodeDef, Settings};
use millstream_node::{settings::Setting, settings::SettingKind, settings::SettingValue};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::testing::{Given, call};

/// Numbers determined by a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn setting(&mut self, setting: &Setting) -> Option<(&'static str, Json)> {
        let value = match &setting.kind {
            SettingKind::Choice(choices) => Json::from(self.of(choices).0),
            SettingKind::Flag => Json::from(self.below(2) == 0),
            SettingKind::Text
            | SettingKind::Integer(..)
            | SettingKind::Number
            | SettingKind::Type
            | SettingKind::Texts
            | SettingKind::Numbers => setting.default.as_ref().map(SettingValue::to_json)?,
        };
        Some((setting.name, value))
    }

    fn value(&mut self, ty: Type) -> Value {
        match ty.kind() {
            Kind::Lanes(lane, n) => {
                let lanes: Vec<u64> = (0..n).map(|_| self.lane(lane)).collect();
                Value::from_lanes(ty, &lanes).expect("as many lanes")
            }
            Kind::String => Value::from(self.of(&["", "a", "bä", "a,b", "12.5", "ab,", ","])),
            Kind::List(element) => {
                let items: Vec<Value> = (0..self.below(4)).map(|_| self.value(element)).collect();
                Value::List(element.collect(&mut items.into_iter()).expect("of one type"))
            }
            Kind::Opaque => ty.default_value(),
        }
    }

    fn lane(&mut self, lane: Lane) -> u64 {
        let whole = self.below(9) as i32 - 3;
        let float = self.of(&[0.0, -0.0, 1.5, -2.0, f32::NAN, f32::INFINITY, 3.0]);
        match lane {
            Lane::Bool => self.below(2) as u64,
            Lane::I32 => u64::from(whole as u32),
            Lane::I64 => i64::from(whole) as u64,
            Lane::F32 => u64::from(float.to_bits()),
            Lane::F64 => f64::from(float).to_bits(),
        }
    }

    /// An instance of a node whose kernel is a function.
    fn instance(&mut self, def: &Arc<NodeDef>) -> Option<Instance> {
        let given: Option<Vec<_>> = def.settings.iter().map(|s| self.setting(s)).collect();
        let given = given?;
        let given = given.iter().map(|(name, json)| (*name, json));
        let settings = Settings::read(&def.settings, given, &|_| None).ok()?;
        let signature = def.signature(&settings).ok()?.into_owned();
        let lists = Type::I32.list().expect("lists exist");
        let any = [Type::I32, Type::F32, Type::VEC3, Type::STRING, Type::MAT4, lists];
        let generics = signature.generics.iter().map(|generic| match generic.among {
            Among::These(types) => self.of(types),
            Among::Any | Among::AnyOr(_) | Among::Own => self.of(&any),
        });
        let generics = generics.collect();
        let arities: Vec<u16> = (signature.inputs.iter())
            .map(|socket| if socket.multiple { self.below(4) as u16 } else { 1 })
            .collect();
        let instance = def.instantiate(settings, generics, &arities).ok()?;
        let is_meant = matches!(instance.kernel, Kernel::Function(_))
            && def.state.is_none()
            && instance.network.is_none();
        is_meant.then_some(instance)
    }

    /// An argument, and its value for each element.
    fn argument<'t>(
        &mut self,
        ty: Type,
        extent: usize,
        table: &'t [u32],
    ) -> (Given<'t>, Vec<Value>) {
        let (n_entries, map) = match self.below(6) {
            0 => {
                let value = self.value(ty);
                return ((Data::One(value.clone()), Map::Each), vec![value; extent]);
            }
            1 => (1, Map::Single),
            2 => (2, Map::Tile(2)),
            3 => (extent.div_ceil(2), Map::Stretch(2)),
            4 => (extent, Map::Table(table)),
            _ => (extent, Map::Each),
        };
        let entries: Vec<Value> = (0..n_entries).map(|_| self.value(ty)).collect();
        let values = (0..extent).map(|i| entries[map.entry(i)].clone()).collect();
        let column = ty.collect(&mut entries.into_iter()).expect("of one type");
        ((Data::Many(column), map), values)
    }
}

/// Calls an instance on columns and on the single values of each element, and compares the results.
fn check(instance: &Instance, draws: &mut Draws) -> Result<(), TestCaseError> {
    let extent = 1 + draws.below(6);
    let table: Vec<u32> = (0..extent).map(|_| draws.below(extent) as u32).collect();
    let bools: Vec<bool> = (0..extent).map(|_| draws.below(3) > 0).collect();
    let mask = if draws.below(2) == 0 { Mask::full(extent) } else { Mask::from_bools(&bools) };
    let (given, values): (Vec<_>, Vec<_>) = instance
        .inputs
        .iter()
        .map(|input| draws.argument(input.received(), extent, &table))
        .unzip();
    let limits = Limits { list_length: 1000, ..Limits::default() };
    let described = format!("{instance:?} {:?} {given:?} {mask:?}", instance.settings);
    let at_once = call(instance, given, &mask, extent, &limits);
    for i in &mask {
        let singles = values.iter().map(|values| (Data::One(values[i].clone()), Map::Each));
        let alone = call(instance, singles.collect(), &Mask::full(1), 1, &limits);
        match (alone, &at_once) {
            (Ok(alone), Ok(at_once)) => {
                let (wanted, found) = (alone.get(0), at_once.get(i));
                prop_assert!(found.same(&wanted), "{described}, at {i}: {found} for {wanted}");
            }
            (Ok(_), Err(failure)) => {
                prop_assert!(failure.element.is_some_and(|at| at > i), "{described}: {failure:?}");
            }
            (Err(alone), Err(failure)) => {
                prop_assert_eq!(failure.element, Some(i), "{}: {:?}", described, failure);
                prop_assert_eq!(&alone.message, &failure.message);
                return Ok(());
            }
            (Err(alone), Ok(_)) => prop_assert!(false, "{described}, at {i}: {alone:?}"),
        }
    }
    prop_assert!(at_once.is_ok(), "{described}: no single element fails, but {at_once:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn columns_give_what_single_values_give(seed: u64) {
        let mut draws = Draws(seed);
        for def in crate::registry().iter() {
            if let Some(instance) = draws.instance(def) {
                check(&instance, &mut draws)?;
            }
        }
    }
}

#[test]
fn most_function_nodes_are_tested() {
    let registry = crate::registry();
    let mut draws = Draws(1);
    let tested = registry.iter().filter(|def| draws.instance(def).is_some()).count();
    assert!(tested > 50, "only {tested} nodes");
}
