//! Node types with callbacks, as an embedding program registers them: each uses one way in which a
//! callback reads, asks, keeps or edits.

use std::time::Duration;

use millstream_base::{Feature, Need, Type, Vec3};
use millstream_node::{Among, NodeDef, Registry, SocketType};

const T: SocketType = SocketType::Generic(0);

/// Adds the node types.
pub fn register(registry: &mut Registry) {
    registry.register_all([
        wave(),
        place(),
        moment(),
        earlier(),
        select(),
        first_positive(),
        running(),
        lazy_state(),
        steps(),
        doubled(),
        nudged(),
        two(),
        total_of_each(),
        any_of(),
    ]);
}

/// The names of the node types without state.
pub const NAMES: [&str; 12] = [
    "custom.wave",
    "custom.place",
    "custom.moment",
    "custom.earlier",
    "custom.select",
    "custom.first_positive",
    "custom.steps",
    "custom.doubled",
    "custom.nudged",
    "custom.two",
    "custom.total_of_each",
    "custom.any_of",
];

/// The names of the node types with state.
pub const WITH_STATE: [&str; 2] = ["custom.running", "custom.lazy_state"];

/// Reads the time.
fn wave() -> NodeDef {
    NodeDef::new("custom.wave", "A product with the time")
        .input_or("speed", Type::F64, 1.0, "factor")
        .reads(Feature::Time)
        .output("value", Type::F64, "the product")
        .cost(Duration::from_nanos(20))
        .callback(|cx| cx.set("value", cx.feature::<f64>(Feature::Time)? * cx.get::<f64>("speed")?))
}

/// Reads an extent and an index.
fn place() -> NodeDef {
    NodeDef::new("custom.place", "The index as a fraction of the count")
        .reads(Feature::Index)
        .reads(Need::extent(Feature::Index, 0))
        .output("value", Type::F32, "from 0 to 1")
        .callback(|cx| {
            let count = cx.feature::<i32>(Need::extent(Feature::Index, 0))?;
            let index = cx.feature::<i32>(Feature::Index)?;
            cx.set("value", index as f32 / count.max(1) as f32)
        })
}

/// Injects a feature into one input.
fn moment() -> NodeDef {
    NodeDef::new("custom.moment", "The change of a value between two times")
        .input_or("from", Type::F64, 1.0, "the first time")
        .input("value", Type::F32, "the value then")
        .injects(Feature::Time, "from")
        .input("now", Type::F32, "the value now")
        .output("value", Type::F32, "the difference")
        .callback(|cx| cx.set("value", cx.get::<f32>("now")? - cx.get::<f32>("value")?))
}

/// Modifies a feature for one input by a setting.
fn earlier() -> NodeDef {
    let seconds = "how many steps of the index to go back";
    NodeDef::new("custom.earlier", "A value of an element before")
        .integer("by", (-3, 3), 1, seconds)
        .sockets_by_settings(|settings| {
            let by = settings.integer("by") as i32;
            Ok(NodeDef::new("", "")
                .generic("T", Among::Any)
                .input("value", T, "value to look back at")
                .modifies(Feature::Index, &[], |index| vec![index[0] - by])
                .output("value", T, "the value there")
                .into_signature())
        })
        .callback(|cx| cx.set_value("value", cx.get_value("value")?))
}

/// Lazy inputs by a selector.
fn select() -> NodeDef {
    NodeDef::new("custom.select", "One of two values, or their sum")
        .input_or("way", Type::I32, 0.0, "0, 1, or any other number for both")
        .input("a", Type::F32, "the first value")
        .lazy()
        .input("b", Type::F32, "the second value")
        .lazy()
        .output("value", Type::F32, "the value")
        .selector(|cx| {
            Ok(match cx.get::<i32>("way")? {
                0 => &["a"],
                1 => &["b"],
                _ => &["a", "b"],
            })
        })
        .callback(|cx| match cx.get::<i32>("way")? {
            0 => cx.set("value", cx.get::<f32>("a")?),
            1 => cx.set("value", cx.get::<f32>("b")?),
            _ => cx.set("value", cx.get::<f32>("a")? + cx.get::<f32>("b")?),
        })
}

/// Lazy inputs that are asked for one by one.
fn first_positive() -> NodeDef {
    NodeDef::new("custom.first_positive", "The first positive value")
        .input("a", Type::F32, "the first value")
        .lazy()
        .input("b", Type::F32, "the second value")
        .lazy()
        .input("c", Type::F32, "the third value")
        .lazy()
        .output("value", Type::F32, "the value, or 0")
        .callback(|cx| {
            for name in ["a", "b", "c"] {
                let value = cx.get::<f32>(name)?;
                if value > 0.0 {
                    return cx.set("value", value);
                }
            }
            cx.set("value", 0.0_f32)
        })
}

/// State, with a setting.
fn running() -> NodeDef {
    NodeDef::new("custom.running", "The sum of a value over ticks")
        .integer("most", (1, 1000), 100, "the sum starts again above it")
        .input("value", Type::F32, "value to add")
        .keeps("sum", Type::F32)
        .output("value", Type::F32, "the sum")
        .callback(|cx| {
            let before = cx.state::<f32>("sum")?.unwrap_or(0.5);
            let sum = before + cx.get::<f32>("value")?;
            let most = cx.settings().integer("most") as f32;
            cx.keep("sum", if sum.abs() > most { 0.0 } else { sum })?;
            cx.set("value", sum)
        })
}

/// State together with a lazy input, a feature, and a list.
fn lazy_state() -> NodeDef {
    let list = Type::F32.list().expect("there are lists of numbers");
    NodeDef::new("custom.lazy_state", "The values of the ticks in which a condition holds")
        .input_or("when", Type::BOOL, true, "whether to look at the value")
        .input("value", Type::F32, "the value")
        .lazy()
        .reads(Feature::Tick)
        .keeps("all", list)
        .output("value", list, "the values, with the number of the tick")
        .callback(|cx| {
            let mut all = cx.state_list::<f32>("all")?.unwrap_or_default().to_vec();
            if cx.get::<bool>("when")? {
                all.extend([cx.feature::<i64>(Feature::Tick)? as f32, cx.get("value")?]);
                all.drain(..all.len().saturating_sub(6));
            }
            cx.keep_list("all", all.iter().copied())?;
            cx.set_list("value", all)
        })
}

/// A list in and out.
fn steps() -> NodeDef {
    let list = Type::F32.list().expect("there are lists of numbers");
    NodeDef::new("custom.steps", "The differences of neighbors in a list")
        .input("list", list, "numbers")
        .output("value", list, "their differences")
        .output("n", Type::I32, "how many")
        .callback(|cx| {
            let items = cx.list::<f32>("list")?;
            cx.set_list("value", items.windows(2).map(|pair| pair[1] - pair[0]))?;
            cx.set("n", items.len().saturating_sub(1) as i32)
        })
}

/// A mutable list.
fn doubled() -> NodeDef {
    let list = Type::F32.list().expect("there are lists of numbers");
    NodeDef::new("custom.doubled", "A list with every number doubled")
        .input("list", list, "numbers")
        .mutable()
        .output("list", list, "twice the numbers")
        .callback(|cx| {
            cx.edit_list::<f32>("list")?.iter_mut().for_each(|x| *x *= 2.0);
            Ok(())
        })
}

/// A mutable value beside a lazy one.
fn nudged() -> NodeDef {
    NodeDef::new("custom.nudged", "A vector that is moved if it is short")
        .input("value", Type::VEC3, "a vector")
        .mutable()
        .input("by", Type::VEC3, "what to add")
        .lazy()
        .output("value", Type::VEC3, "the moved vector")
        .callback(|cx| {
            let is_short = cx.get::<Vec3>("value")?.0[0].abs() < 2.0;
            if is_short {
                let by = cx.get::<Vec3>("by")?;
                let value = cx.edit::<Vec3>("value")?;
                for (x, by) in value.0.iter_mut().zip(by.0) {
                    *x += by;
                }
            }
            Ok(())
        })
}

/// Outputs with needs of their own, one of which fails.
fn two() -> NodeDef {
    NodeDef::new("custom.two", "A sum, and a root")
        .input("a", Type::F32, "the first number")
        .input("b", Type::F32, "the second number")
        .output("sum", Type::F32, "the sum")
        .output("root", Type::F32, "the root of the first number")
        .needs(&["a"])
        .callback(|cx| {
            let a = cx.get::<f32>("a")?;
            if cx.wants("root") {
                if a < 0.0 {
                    return Err(cx.failure("a negative number has no root"));
                }
                cx.set("root", a.sqrt())?;
            }
            if cx.wants("sum") {
                cx.set("sum", a + cx.get::<f32>("b")?)?;
            }
            Ok(())
        })
}

/// A loop over one input.
fn total_of_each() -> NodeDef {
    NodeDef::new("custom.total_of_each", "The sum of a value over some elements")
        .input_or("count", Type::I32, 3.0, "how many")
        .input("value", Type::F32, "a value for each")
        .each(Feature::Index, "count")
        .reads(Feature::Index)
        .output("value", Type::F32, "the sum and the index")
        .callback(|cx| {
            let sum: f32 = cx.list::<f32>("value")?.iter().sum();
            cx.set("value", sum + cx.feature::<i32>(Feature::Index)? as f32)
        })
}

/// Several sources of any type, and a lazy input of that type.
fn any_of() -> NodeDef {
    NodeDef::new("custom.any_of", "The last source, or another value if there is none")
        .generic("T", Among::Any)
        .input("sources", T, "any number of values")
        .multiple()
        .input("other", T, "the other value")
        .lazy()
        .output("value", T, "one of them")
        .callback(|cx| {
            let n = cx.n_sources("sources")?;
            let value =
                if n < 2 { cx.get_value("other")? } else { cx.nth_value("sources", n - 1)? };
            cx.set_value("value", value)
        })
}
