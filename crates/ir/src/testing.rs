//! A few node types for the tests of this crate.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Lane, Type};
use millstream_form::FormBuilder;
use millstream_node::{
    Among, Call, Default, Failure, Kernel, NodeDef, Registry, ScopeRule, SettingKind, SettingValue,
    SocketType,
};

const T: SocketType = SocketType::Generic(0);
const NUMBERS: Among = Among::These(&[Type::I32, Type::F32, Type::F64, Type::VEC3]);

fn never(_: &mut Call<'_>) -> Result<(), Failure> {
    Err(Failure::whole("only the sockets matter"))
}

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register(
        NodeDef::new("math.add", "a + b")
            .generic("T", NUMBERS)
            .input("a", T, "")
            .input("b", T, "")
            .output("value", T, "")
            .lanewise(|_, args| args[0] + args[1]),
    );
    registry.register(
        NodeDef::new("math.scale", "x times a factor")
            .setting("factor", SettingKind::Number, Some(SettingValue::Number(2.0)), "")
            .setting("label", SettingKind::Text, Some(SettingValue::Text("".into())), "")
            .input("x", Type::F32, "")
            .output("value", Type::F32, "")
            .function(never),
    );
    registry.register(
        NodeDef::new("math.shift", "x and a number")
            .setting("by", SettingKind::Number, Some(SettingValue::Number(0.0)), "")
            .input("x", Type::F32, "")
            .output("value", Type::F32, "")
            .function(never),
    );
    registry.register(
        NodeDef::new("vector.split", "parts")
            .input("v", Type::VEC3, "")
            .output("x", Type::F32, "")
            .output("n2", Type::F32, "")
            .output("the rest", Type::F32, "")
            .form(|_, inputs| inputs[0].iter().map(|lane| vec![*lane]).collect()),
    );
    registry.register(
        NodeDef::new("list.of", "a list")
            .generic("T", Among::Any)
            .input("items", T, "")
            .multiple()
            .output("value", SocketType::ListOf(0), "")
            .function(never),
    );
    registry.register(
        NodeDef::new("time", "the time").output("value", Type::F64, "").kernel(|_| {
            Ok(Kernel::Read { feature: Feature::Time, level: 0, aspect: Aspect::Value })
        }),
    );
    let b = FormBuilder::new();
    let shifted = b.param(Lane::F64) + b.param(Lane::F64);
    let form = Arc::new(b.finish(&[shifted]));
    registry.register(
        NodeDef::new("time.shift", "the same at another time")
            .generic("T", Among::Any)
            .input("value", T, "")
            .scope(ScopeRule::Modify { feature: Feature::Time, form, args: vec![1] })
            .input_or("by", Type::F64, Default::Zero, "")
            .output("value", T, "")
            .kernel(|_| Ok(Kernel::Pass)),
    );
    registry
}
