//! Random numbers from integers, identical to Blender's.
//!
//! Source: Bob Jenkins, "lookup3.c", 2006, the functions for a few words.

use millstream_base::{Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::{Among, Default, NodeDef, Registry, SocketType};
use millstream_nodes::kit::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(random_value());
    registry.register(random_vector());
    registry.register(random_integer());
    registry.register(random_boolean());
    registry.register(hash_value());
}

const SOURCE: &str = "Bob Jenkins, lookup3.c, 2006";

fn rotated(x: Val<'_>, by: i32) -> Val<'_> {
    x.shl(by) | x.ushr(32 - by)
}

/// Six steps that mix three words and rotate their roles.
fn mixed([a, b, c]: [Val<'_>; 3]) -> [Val<'_>; 3] {
    let (mut x, mut y, mut z) = (a, c, b);
    for by in [4, 6, 8, 16, 19, 4] {
        x = (x - y) ^ rotated(y, by);
        y = y + z;
        (x, y, z) = (z, x, y);
    }
    [x, z, y]
}

fn finished([mut a, mut b, mut c]: [Val<'_>; 3]) -> Val<'_> {
    c = (c ^ b) - rotated(b, 14);
    a = (a ^ c) - rotated(c, 11);
    b = (b ^ a) - rotated(a, 25);
    c = (c ^ b) - rotated(b, 16);
    a = (a ^ c) - rotated(c, 4);
    b = (b ^ a) - rotated(a, 14);
    (c ^ b) - rotated(b, 24)
}

/// The hash of one to four words.
pub(super) fn hash<'b>(words: &[Val<'b>]) -> Val<'b> {
    let builder: &'b FormBuilder = words[0].builder();
    let start = 0xdead_beef_u32.wrapping_add((words.len() as u32) << 2).wrapping_add(13);
    let mut state = [builder.constant_i32(start as i32); 3];
    for (x, word) in state.iter_mut().zip(words) {
        *x = *x + *word;
    }
    if let Some(fourth) = words.get(3) {
        state = mixed(state);
        state[0] = state[0] + *fourth;
    }
    finished(state)
}

/// A hash as an unsigned number.
fn unsigned(hash: Val<'_>) -> Val<'_> {
    hash.convert(Lane::I64) & 0xffff_ffff_i64
}

/// A hash as a number from 0 to 1.
pub(super) fn unit(hash: Val<'_>) -> Val<'_> {
    unsigned(hash).convert(Lane::F32) / 4_294_967_295.0
}

fn seeded(def: NodeDef) -> NodeDef {
    def.source(SOURCE)
        .input_or("id", Type::I32, 0.0, "index in the series; often that of the element")
        .input_or("seed", Type::I32, 0.0, "random seed, which selects a series")
}

fn random_value() -> NodeDef {
    let def = NodeDef::new("blender.random_value", "A random number, drawn like in Blender")
        .input_or("minimum", Type::F32, 0.0, "minimum")
        .input_or("maximum", Type::F32, 1.0, "maximum");
    seeded(def).output("value", Type::F32, "").form(|_, x| {
        let (low, high) = (x[0][0], x[1][0]);
        vec![vec![unit(hash(&[x[3][0], x[2][0]])) * (high - low) + low]]
    })
}

fn random_vector() -> NodeDef {
    let def = NodeDef::new("blender.random_vector", "A random vector, drawn like in Blender")
        .input_or("minimum", Type::VEC3, 0.0, "minimum of each component")
        .input_or("maximum", Type::VEC3, 1.0, "maximum of each component");
    seeded(def).output("value", Type::VEC3, "").form(|b, x| {
        let (low, high) = (&x[0], &x[1]);
        let component = |i: usize| {
            let number = unit(hash(&[x[3][0], x[2][0], b.constant_i32(i as i32)]));
            number * (high[i] - low[i]) + low[i]
        };
        vec![(0..3).map(component).collect()]
    })
}

fn random_integer() -> NodeDef {
    let def = NodeDef::new("blender.random_integer", "A random integer, drawn like in Blender")
        .input_or("minimum", Type::I32, 0.0, "minimum")
        .input_or("maximum", Type::I32, 100.0, "maximum")
        .flag(
            "by_fraction",
            false,
            "like Blender before 5.0: a random fraction of the range, in single precision",
        );
    seeded(def).output("value", Type::I32, "").kernel(form_by_settings(|settings, x| {
        let by_fraction = settings.flag("by_fraction");
        let number = hash(&[x[2][0], x[3][0]]);
        if by_fraction {
            let (low, high) = (x[0][0], x[1][0]);
            let range = (high - low + 1).convert(Lane::F32);
            let drawn = (unit(number) * range + low.convert(Lane::F32)).floor();
            return vec![vec![super::cast_to_i32(drawn)]];
        }
        let (low, high) = (x[0][0].min(x[1][0]), x[0][0].max(x[1][0]));
        let (low, high) = (low.convert(Lane::I64), high.convert(Lane::I64));
        vec![vec![(low + unsigned(number) % (high - low + 1)).convert(Lane::I32)]]
    }))
}

fn random_boolean() -> NodeDef {
    let def = NodeDef::new("blender.random_boolean", "A random boolean, drawn like in Blender")
        .input_or("probability", Type::F32, 0.5, "probability of true, 0 to 1");
    seeded(def)
        .output("value", Type::BOOL, "")
        .form(|_, x| vec![vec![unit(hash(&[x[1][0], x[2][0]])).le(x[0][0])]])
}

const HASHED: Among =
    Among::These(&[Type::I32, Type::F32, Type::VEC3, Type::COLOR, Type::QUAT, Type::MAT4]);

fn hash_value() -> NodeDef {
    NodeDef::new("blender.hash", "Hashes a value to an integer like Blender")
        .details("Depends on every bit of the value; +0 and -0 differ.")
        .source(SOURCE)
        .generic("T", HASHED)
        .input_or("value", SocketType::Generic(0), Default::Zero, "value to hash")
        .input_or("seed", Type::I32, 0.0, "random seed, which selects a series")
        .output("value", Type::I32, "any integer")
        .form(|_, inputs| {
            let words: Vec<Val<'_>> = inputs[0].iter().map(|x| bits(*x)).collect();
            let hashed = if words.len() == 16 {
                // Column by column.
                let column =
                    |c: usize| hash(&[words[c], words[4 + c], words[8 + c], words[12 + c]]);
                hash(&[column(0), column(1), column(2), column(3)])
            } else {
                hash(&words)
            };
            vec![vec![hash(&[hashed, inputs[1][0]])]]
        })
}

fn bits(x: Val<'_>) -> Val<'_> {
    if x.lane() == Lane::F32 { x.bitcast() } else { x }
}
