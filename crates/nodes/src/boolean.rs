//! Logic on `bool`.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Law, NodeDef, Registry};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    let mut two = |name, summary, laws: &[Law], lane: for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>| {
        let def = NodeDef::new(name, summary)
            .input("a", Type::BOOL, "the one")
            .or_value(false)
            .input("b", Type::BOOL, "the other")
            .or_value(false)
            .output("value", Type::BOOL, "");
        let def = laws.iter().fold(def, |def, law| def.law(*law));
        registry.register(def.lanewise(move |_, x| lane(x[0], x[1])));
    };
    let neutral = |x| [Law::LeftNeutral(x), Law::RightNeutral(x)];
    let [left_true, right_true] = neutral(1.0);
    let [left_false, right_false] = neutral(0.0);
    let same = Law::SameInputs;
    two("boolean.and", "Whether both hold", &[same, left_true, right_true], |a, b| a & b);
    two("boolean.or", "Whether one holds, or both", &[same, left_false, right_false], |a, b| a | b);
    two("boolean.xor", "Whether exactly one holds", &[left_false, right_false], |a, b| a ^ b);
    two("boolean.nand", "Whether not both hold", &[], |a, b| !(a & b));
    two("boolean.nor", "Whether none holds", &[], |a, b| !(a | b));
    two("boolean.xnor", "Whether both or none hold", &[left_true, right_true], |a, b| !(a ^ b));
    two("boolean.imply", "Whether b holds where a does", &[left_true], |a, b| !a | b);
    registry.register(
        NodeDef::new("boolean.not", "Whether x does not hold")
            .input("x", Type::BOOL, "what is turned round")
            .or_value(false)
            .output("value", Type::BOOL, "")
            .law(Law::Involution)
            .lanewise(|_, x| !x[0]),
    );
}
