//! The next step for the author of a formula whose terms do not fit.

use millstream_base::Type;

use super::functions::{FUNCTIONS, Function, SPECIAL, Typing, find};
use super::library::{Library, default_settings};
use super::typing::{is_vector, vector};

/// How a formula can compute with a value that is neither a number nor a vector.
pub(super) fn as_number(ty: Type) -> String {
    if ty.element().is_some() {
        return "take one of the items with `list.get`, or combine them, as `list.sum` does".into();
    }
    let with = if ty == Type::STRING {
        "`string.to_number` gives the number that is written in it"
    } else if ty == Type::QUAT {
        "`quat.multiply` combines two rotations, `quat.rotate` applies one to a vector"
    } else if ty == Type::MAT4 {
        "`mat4.multiply` combines two matrices, `mat4.transform_point` applies one to a point"
    } else {
        return format!("use nodes that take it: `millstream nodes --search {}`", ty.name());
    };
    with.into()
}

/// How two values of a type can be compared.
pub(super) fn comparison(ty: Type) -> String {
    if ty == Type::STRING {
        return "`string.equal(a, b)` compares two strings".into();
    }
    format!("compare numbers that describe it: `millstream nodes --search {}`", ty.name())
}

/// How a value of a type can be passed where another is wanted.
pub(super) fn conversion(from: Type, to: Type) -> String {
    let (from, n) = (vector(from), to.lanes().map_or(1, |(_, n)| n));
    let is_number = |ty: Type| Type::NUMERIC.contains(&ty) && !is_vector(ty);
    match (is_vector(from), is_vector(to)) {
        (true, true) => "choose as many components, such as `v.xy` or `vec3(v, 0)`".into(),
        (true, false) if is_number(to) => "take a component, such as `v.x`, or `length(v)`".into(),
        (false, true) if is_number(from) => {
            let all = ["a", "b", "c", "d"][..usize::from(n).min(4)].join(", ");
            format!("write a vector, such as `vec{n}({all})`")
        }
        _ if to == Type::STRING && is_number(from) => {
            "`string.from_number(x)` writes a number as a string".into()
        }
        _ if is_number(to) && !is_number(from) => as_number(from),
        _ => format!("link a node that gives {}", to.with_article()),
    }
}

/// The components of a vector of `n` numbers, or of a color.
pub(super) fn components(n: u8, is_color: bool) -> String {
    let letters = |all: &str| {
        all.chars().take(n.into()).map(|letter| letter.to_string()).collect::<Vec<_>>().join(", ")
    };
    match (n, is_color) {
        (_, true) => "its components are r, g, b and a".into(),
        (0 | 1, _) => "a single value has no components; names cannot contain `.`".into(),
        _ => format!("its components are {}", letters("xyzw")),
    }
}

/// The arguments of a function, as they are written.
pub(super) fn usage(name: &str, library: &Library) -> Option<String> {
    if SPECIAL.iter().any(|(special, _)| *special == name) {
        let args = if name == "if" { "condition, a, b" } else { "x, y" };
        return Some(format!("write `{name}({args})`"));
    }
    let Function { node, arity, typing, .. } = FUNCTIONS[find(name)?];
    let args = match typing {
        Typing::Folded => vec!["a".into(), "b".into(), "...".into()],
        Typing::Conversion(_) => vec!["x".into()],
        Typing::Alike(_)
        | Typing::Mixed
        | Typing::Test
        | Typing::Sockets
        | Typing::Components(_) => {
            let def = library.def(node);
            let signature = default_settings(def).and_then(|it| {
                let signature = def.signature(&it).ok()?;
                let names = signature.inputs.iter().map(|socket| socket.name.to_string());
                Some(names.take(arity.1).collect::<Vec<_>>())
            });
            signature?
        }
    };
    Some(format!("write `{name}({})`", args.join(", ")))
}
