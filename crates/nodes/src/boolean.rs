//! Logic on `bool`.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Law, NodeDef, Registry, Truth};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    type Lane = for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>;
    let mut two = |name, summary, table: u8, laws: &[Law], lane: Lane| {
        let def = NodeDef::new(name, summary)
            .input_or("a", Type::BOOL, false, "first condition")
            .input_or("b", Type::BOOL, false, "second condition")
            .output("value", Type::BOOL, "")
            .truth(Truth::Table(table));
        let def = laws.iter().fold(def, |def, law| def.law(*law));
        registry.register(def.lanewise(move |_, x| lane(x[0], x[1])));
    };
    let neutral = |x| [Law::LeftNeutral(x), Law::RightNeutral(x)];
    let [left_true, right_true] = neutral(1.0);
    let [left_false, right_false] = neutral(0.0);
    let same = Law::SameInputs;
    two(
        "boolean.and",
        "Whether both a and b are true",
        0b1000,
        &[same, left_true, right_true],
        |a, b| a & b,
    );
    two(
        "boolean.or",
        "Whether at least one of a and b is true",
        0b1110,
        &[same, left_false, right_false],
        |a, b| a | b,
    );
    two(
        "boolean.xor",
        "Whether exactly one of a and b is true",
        0b0110,
        &[left_false, right_false],
        |a, b| a ^ b,
    );
    two("boolean.nand", "Whether at least one of a and b is false", 0b0111, &[], |a, b| !(a & b));
    two("boolean.nor", "Whether both a and b are false", 0b0001, &[], |a, b| !(a | b));
    two("boolean.xnor", "Whether a and b are equal", 0b1001, &[left_true, right_true], |a, b| {
        !(a ^ b)
    });
    two(
        "boolean.imply",
        "Whether a implies b: false only if a is true and b is false",
        0b1101,
        &[left_true],
        |a, b| !a | b,
    );
    registry.register(
        NodeDef::new("boolean.not", "Whether x is false")
            .input_or("x", Type::BOOL, false, "condition to negate")
            .output("value", Type::BOOL, "")
            .law(Law::Involution)
            .lanewise(|_, x| !x[0]),
    );
}
