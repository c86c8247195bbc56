//! Registers a value type and node types of a program's own, and builds on them in a document.

use millstream::{Engine, Error, NodeDef, Request, Type, value_type};

/// Cents, so that sums are exact.
#[derive(Clone, Default, PartialEq, Hash)]
struct Money(i64);
value_type!(Money, "money", eq);

const DOCUMENT: &str = r#"{
  "millstream": 2,
  "inputs": { "price": { "type": "f64", "default": 19.99 }, "pieces": { "type": "i64", "default": 3 } },
  "outputs": { "text": { "type": "string", "from": "text.value" } },
  "nodes": {
    "one": { "type": "money.of", "in": { "amount": { "input": "price" } } },
    "all": { "type": "money.times", "in": { "money": { "from": "one.value" }, "n": { "input": "pieces" } } },
    "text": { "type": "money.text", "in": { "money": { "from": "all.value" } } }
  }
}"#;

fn main() -> Result<(), Error> {
    let mut engine = Engine::new();
    engine.register_type(Type::of::<Money>());
    engine.register(NodeDef::from_closure("money.of", "An amount", &["amount"], |amount: f64| {
        Money((amount * 100.0).round() as i64)
    }));
    engine.register(NodeDef::from_closure(
        "money.times",
        "n times as much",
        &["money", "n"],
        |m: Money, n: i64| Money(m.0.saturating_mul(n)),
    ));
    engine.register(NodeDef::from_closure("money.text", "In words", &["money"], |m: Money| {
        std::sync::Arc::<str>::from(format!("{}.{:02}", m.0 / 100, m.0 % 100))
    }));

    let program = engine.load(DOCUMENT.as_bytes())?;
    let answer = program.run(&Request::new().column("pieces", vec![1_i64, 2, 3]))?;
    for text in answer.column::<std::sync::Arc<str>>("text").unwrap_or_default() {
        println!("{text}");
    }
    Ok(())
}
