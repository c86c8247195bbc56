//! Node types with callbacks: each function below defines one that does something plain closures
//! cannot do. `docs/embedding.md` explains them.

use std::time::Duration;

use millstream::register::{Among, Registry, SocketType, Val};
use millstream::{Engine, Error, Feature, NodeDef, Request, Type};

/// Reads a feature through the context that the callback receives.
fn wave() -> NodeDef {
    NodeDef::new("my.wave", "A wave over time")
        .input_or("speed", Type::F64, 1.0, "turns per second")
        .reads(Feature::Time)
        .output("value", Type::F64, "between -1 and 1")
        .callback(|cx| {
            let turns = cx.feature::<f64>(Feature::Time)? * cx.get::<f64>("speed")?;
            cx.set("value", (turns * std::f64::consts::TAU).sin())
        })
}

/// Injects a feature into one input: `value` is evaluated at the time `from`.
fn change() -> NodeDef {
    NodeDef::new("my.change", "How much a value has changed since a moment")
        .input("from", Type::F64, "the moment in seconds")
        .input("value", Type::F64, "the value then")
        .injects(Feature::Time, "from")
        .input("now", Type::F64, "the value now")
        .output("value", Type::F64, "the difference")
        .callback(|cx| cx.set("value", cx.get::<f64>("now")? - cx.get::<f64>("value")?))
}

/// Modifies a feature for one input, by a setting.
fn earlier() -> NodeDef {
    NodeDef::new("my.earlier", "A value some seconds ago")
        .number("seconds", 1.0, "how long ago")
        .sockets_by_settings(|settings| {
            let seconds = settings.number("seconds");
            Ok(NodeDef::new("", "")
                .generic("T", Among::Any)
                .input("value", SocketType::Generic(0), "value to look back at")
                .modifies(Feature::Time, &[], |time: &[Val<'_>]| vec![time[0] - seconds])
                .output("value", SocketType::Generic(0), "the value then")
                .into_signature())
        })
        .callback(|cx| cx.set_value("value", cx.get_value("value")?))
}

/// Has lazy inputs; a selector names those that are needed.
fn quality() -> NodeDef {
    NodeDef::new("my.quality", "A draft, or the final value")
        .input("is_final", Type::BOOL, "whether to take the final value")
        .input("draft", Type::F64, "quick to compute")
        .lazy()
        .input("final", Type::F64, "slow to compute")
        .lazy()
        .output("value", Type::F64, "one of them")
        .selector(|cx| Ok(if cx.get("is_final")? { &["final"] } else { &["draft"] }))
        .callback(|cx| {
            let name = if cx.get("is_final")? { "final" } else { "draft" };
            cx.set("value", cx.get::<f64>(name)?)
        })
}

/// Asks for lazy inputs one by one: `b` is computed only for elements whose `a` is not positive.
fn first_positive() -> NodeDef {
    NodeDef::new("my.first_positive", "The first positive value")
        .input("a", Type::F64, "the first value")
        .lazy()
        .input("b", Type::F64, "the second value")
        .lazy()
        .output("value", Type::F64, "the value, or 0")
        .callback(|cx| {
            let a = cx.get::<f64>("a")?;
            let value = if a > 0.0 { a } else { cx.get::<f64>("b")?.max(0.0) };
            cx.set("value", value)
        })
}

/// Keeps state from tick to tick.
fn highest() -> NodeDef {
    NodeDef::new("my.highest", "The highest value so far")
        .input("value", Type::F64, "a value")
        .keeps("peak", Type::F64)
        .output("value", Type::F64, "the highest one")
        .callback(|cx| {
            let value = cx.get::<f64>("value")?;
            let peak = cx.state::<f64>("peak")?.map_or(value, |peak| peak.max(value));
            cx.keep("peak", peak)?;
            cx.set("value", peak)
        })
}

/// Takes and returns a list for each element; all lists are in one flat buffer.
fn steps() -> NodeDef {
    let list = Type::F64.list().expect("there are lists of numbers");
    NodeDef::new("my.steps", "The differences between neighbors")
        .input("items", list, "numbers")
        .output("value", list, "their differences")
        .callback(|cx| {
            let items = cx.list::<f64>("items")?;
            cx.set_list("value", items.windows(2).map(|pair| pair[1] - pair[0]))
        })
}

/// Edits a mutable input in place: the output of the same name takes over its buffer.
fn doubled() -> NodeDef {
    let list = Type::F64.list().expect("there are lists of numbers");
    NodeDef::new("my.doubled", "Twice the numbers of a list")
        .input("items", list, "numbers")
        .mutable()
        .output("items", list, "twice the numbers")
        .callback(|cx| {
            cx.edit_list::<f64>("items")?.iter_mut().for_each(|item| *item *= 2.0);
            Ok(())
        })
}

/// States the cost of an element, so that threads and evaluators are chosen well from the first
/// run.
fn slow() -> NodeDef {
    NodeDef::new("my.slow", "A number, after much work")
        .input("value", Type::F64, "a number")
        .output("value", Type::F64, "nearly the same number")
        .cost(Duration::from_micros(20))
        .callback(|cx| {
            let value = cx.get::<f64>("value")?;
            cx.set("value", (0..10_000).fold(value, |x, _| (x * x + 1.0).sqrt() - 1e-9))
        })
}

/// Has an output that needs only some of the inputs, so that `total` may depend on `first`.
fn bill() -> NodeDef {
    NodeDef::new("my.bill", "A price, and what is left to pay")
        .input("price", Type::F64, "of one piece")
        .input("paid", Type::F64, "so far")
        .output("rounded", Type::F64, "the price in full units")
        .needs(&["price"])
        .output("left", Type::F64, "to pay")
        .callback(|cx| {
            let price = cx.get::<f64>("price")?.ceil();
            cx.set("rounded", price)?;
            if cx.wants("left") { cx.set("left", price - cx.get::<f64>("paid")?) } else { Ok(()) }
        })
}

fn library(registry: &mut Registry) {
    registry.register_all([wave(), change(), earlier(), quality(), first_positive()]);
    registry.register_all([highest(), steps(), doubled(), slow(), bill()]);
}

/// The amount paid is half of the rounded price. This is no cycle, since `rounded` does not need
/// `paid`.
const DOCUMENT: &str = r#"{
  "millstream": 2, "fps": 4,
  "inputs": { "price": { "type": "f64", "default": 2.5 },
              "list": { "type": "list<f64>", "default": [1, 4, 9] } },
  "outputs": {
    "wave": { "type": "f64", "from": "wave.value" },
    "before": { "type": "f64", "from": "before.value" },
    "since": { "type": "f64", "from": "since.value" },
    "highest": { "type": "f64", "from": "highest.value" },
    "positive": { "type": "f64", "from": "positive.value" },
    "good": { "type": "f64", "from": "good.value" },
    "steps": { "type": "list<f64>", "from": "steps.value" },
    "left": { "type": "f64", "from": "bill.left" }
  },
  "nodes": {
    "wave": { "type": "my.wave" },
    "before": { "type": "my.earlier", "set": { "seconds": 0.25 }, "in": { "value": { "from": "wave.value" } } },
    "since": { "type": "my.change",
               "in": { "from": 0.75, "value": { "from": "wave.value" }, "now": { "from": "wave.value" } } },
    "highest": { "type": "my.highest", "in": { "value": { "from": "wave.value" } } },
    "slow": { "type": "my.slow", "in": { "value": { "from": "wave.value" } } },
    "positive": { "type": "my.first_positive",
                  "in": { "a": { "from": "wave.value" }, "b": { "from": "slow.value" } } },
    "good": { "type": "my.quality",
              "in": { "is_final": false, "draft": { "from": "wave.value" }, "final": { "from": "slow.value" } } },
    "twice": { "type": "my.doubled", "in": { "items": { "input": "list" } } },
    "steps": { "type": "my.steps", "in": { "items": { "from": "twice.items" } } },
    "bill": { "type": "my.bill", "in": { "price": { "input": "price" }, "paid": { "from": "half.value" } } },
    "half": { "type": "math.multiply", "in": { "a": { "from": "bill.rounded" }, "b": 0.5 } }
  }
}"#;

fn main() -> Result<(), Error> {
    let engine = Engine::new().with_library(library);
    let program = engine.load(DOCUMENT.as_bytes())?;
    for frame in 0..4 {
        let answer = program.run(&Request::new().frame(frame))?;
        let all = ["wave", "before", "since", "highest", "positive", "good", "left"];
        let shown = all.map(|name| {
            let value = answer.value::<f64>(name).map_or("nothing".into(), |x| format!("{x:.2}"));
            format!("{name} {value}")
        });
        println!("frame {frame}: {}", shown.join(", "));
    }
    let answer = program.run(&Request::new().frame(0).output("steps"))?;
    let steps = answer.output("steps").and_then(|output| output.value.as_ref());
    println!("steps {}", steps.map_or("nothing".into(), |steps| steps.data.get(0).to_string()));
    Ok(())
}
