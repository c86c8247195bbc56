//! Meaning, types and errors of expressions; a printer shows how terms are grouped.

use std::sync::Arc;

use millstream_base::{Type, Value, literal};
use millstream_node::convert::convert_value;
use millstream_node::node_def::InstanceError;
use millstream_node::signature::InputFact;
use millstream_node::{Instance, Kernel, PartSource, Settings};
use serde_json::Value as Json;

use super::*;

/// The instance of an expression whose inputs have these types.
pub(super) fn instance(text: &str, types: &[Type]) -> Result<Instance, String> {
    instance_or(text, types).map_err(|error| error.to_string())
}

fn instance_or(text: &str, types: &[Type]) -> Result<Instance, SettingError> {
    static REGISTRY: std::sync::LazyLock<Registry> = std::sync::LazyLock::new(crate::registry);
    let def = REGISTRY.get("math.expression").unwrap();
    let json = Json::from(text);
    let settings = Settings::read(&def.settings, [("text", &json)], &|_| None).unwrap();
    let signature = def.signature(&settings)?;
    let facts: Vec<_> = types.iter().map(|ty| InputFact::Linked(*ty)).enumerate().collect();
    let generics = signature.resolve(&facts).unwrap();
    let arities = vec![1; signature.inputs.len()];
    drop(signature);
    def.instantiate(settings, generics, &arities).map_err(|error| match error {
        InstanceError::Setting(error) => error,
        error @ InstanceError::Type(_) => panic!("{text}: {error}"),
    })
}

/// The value of an expression for these inputs.
fn computed(text: &str, inputs: &[Value]) -> Value {
    let types: Vec<Type> = inputs.iter().map(Value::ty).collect();
    let instance = instance(text, &types).unwrap_or_else(|error| panic!("{text}: {error}"));
    let network = instance.network.as_ref().unwrap();
    let mut made: Vec<Vec<Value>> = Vec::new();
    let source = |made: &[Vec<Value>], source: &PartSource| match *source {
        PartSource::Input(i) => inputs[i as usize].clone(),
        PartSource::Constant(i) => network.constants[i as usize].clone(),
        PartSource::Output { part, output } => made[part as usize][output as usize].clone(),
    };
    for part in &network.parts {
        let args = part.sources.iter().zip(&part.instance.inputs);
        let args: Vec<Value> =
            args.map(|(it, slot)| convert_value(&source(&made, it), slot.ty).unwrap()).collect();
        made.push(match &part.instance.kernel {
            Kernel::Form(form) => {
                form.verify().unwrap();
                let lanes = |value: &Value| (0..).map_while(|i| value.lane(i)).collect::<Vec<_>>();
                let params: Vec<u64> = args.iter().flat_map(lanes).collect();
                let mut results = vec![0; form.results.len()];
                form.run_scalar(&params, &mut results, &mut Vec::new());
                let mut rest = &results[..];
                let outputs = part.instance.outputs.iter().map(|output| {
                    let (of_output, others) = rest.split_at(output.ty.lanes().unwrap().1 as usize);
                    rest = others;
                    Value::from_lanes(output.ty, of_output).unwrap()
                });
                outputs.collect()
            }
            Kernel::Choose => vec![args[1 + args[0].lane(0).unwrap() as usize].clone()],
            other => panic!("{other:?} is no part of an expression"),
        });
    }
    let value = source(&made, &network.outputs[0]);
    assert_eq!(value.ty(), instance.outputs[0].ty, "{text}");
    value
}

/// The value of an expression as text, with its type.
fn shown(text: &str, inputs: &[Value]) -> String {
    let value = computed(text, inputs);
    format!("{} {value}", value.ty())
}

/// The value of an expression as text; its inputs are all of one type.
fn value_of(text: &str, ty: Type, inputs: &[&str]) -> String {
    let read = |text: &&str| literal::from_json(ty, &serde_json::from_str(text).unwrap()).unwrap();
    shown(text, &inputs.iter().map(read).collect::<Vec<_>>())
}

pub(super) fn f32_of(text: &str, inputs: &[&str]) -> String {
    value_of(text, Type::F32, inputs)
}

#[test]
fn operators_have_the_usual_precedence() {
    for (text, value) in [
        ("1 + 2 * 3", "f32 7.0"),
        ("(1 + 2) * 3", "f32 9.0"),
        ("10 - 4 - 3", "f32 3.0"),
        ("24 / 4 / 2", "f32 3.0"),
        ("-2 ^ 2", "f32 -4.0"),
        ("2 ^ -1", "f32 0.5"),
        ("2 ^ 3 ^ 2", "f32 512.0"),
        ("2 ** 3 ** 2", "f32 512.0"),
        ("2 * 3 ^ 2", "f32 18.0"),
        ("-2 ^ -2", "f32 -0.25"),
        ("7 % 4 * 2", "f32 6.0"),
        ("--3", "f32 3.0"),
        ("+3 - -3", "f32 6.0"),
        ("1 < 2 && 2 < 3 || false", "bool true"),
        ("true || false && false", "bool true"),
        ("1 + 1 == 2", "bool true"),
        ("!true || true", "bool true"),
        ("1 < 2 == 3 < 4", "bool true"),
        ("0 ? 1 : 1 ? 2 : 3", "f32 2.0"),
        ("1 ? 0 ? 4 : 5 : 6", "f32 5.0"),
        ("1 > 2 ? 1 : 2 + 3", "f32 5.0"),
        (".5 + 5. + 1e1 + 2.5E-1", "f32 15.75"),
    ] {
        assert_eq!(f32_of(text, &[]), value, "{text}");
    }
}

#[test]
fn functions_and_constants_have_their_usual_meaning() {
    for (text, value) in [
        ("min(3, 1, 2)", "f32 1.0"),
        ("max(3, 1, 2, 4)", "f32 4.0"),
        ("clamp(5, 0, 1)", "f32 1.0"),
        ("if(1 < 2, 10, 20)", "f32 10.0"),
        ("pow(2, 10)", "f32 1024.0"),
        ("pow(2, 0.5) == sqrt(2)", "bool true"),
        ("log(8, 2)", "f32 3.0"),
        ("log(1)", "f32 0.0"),
        ("mod(-1, 3)", "f32 2.0"),
        ("fmod(-1, 3)", "f32 -1.0"),
        ("-1 % 3", "f32 -1.0"),
        ("atan2(1, 1) * 4 == pi", "bool true"),
        ("tau == 2 * pi", "bool true"),
        ("is_nan(nan) && is_infinite(-inf) && is_finite(e)", "bool true"),
        ("mix(1, 3, 0.5)", "f32 2.0"),
        ("lerp(1, 3, 0.5)", "f32 2.0"),
        ("smoothstep(0, 1, 0.5)", "f32 0.5"),
        ("step(1, 0.5)", "f32 0.0"),
        ("hypot(3, 4)", "f32 5.0"),
        ("degrees(pi)", "f32 180.0"),
        ("abs(-2) + sign(-3) + floor(1.5) + ceil(1.5) + trunc(-1.5)", "f32 3.0"),
        ("snap(7, 5) + wrap(5, 0, 4) + ping_pong(3, 2)", "f32 7.0"),
    ] {
        assert_eq!(f32_of(text, &[]), value, "{text}");
    }
}

#[test]
fn names_are_inputs_in_order_of_appearance() {
    let expression = parse("b + a * b - _c1 + größe").unwrap();
    assert_eq!(expression.inputs(), ["b", "a", "_c1", "größe"].map(Arc::from));
    assert_eq!(f32_of("(x + y) / y", &["6", "2"]), "f32 4.0");
    assert_eq!(f32_of("x > y", &["6", "2"]), "bool true");
}

#[test]
fn integers_stay_integers_until_a_float_is_needed() {
    assert_eq!(value_of("x / 2", Type::I32, &["7"]), "i32 3");
    assert_eq!(value_of("x / 2.0", Type::I32, &["7"]), "f32 3.5");
    assert_eq!(value_of("sqrt(x)", Type::I32, &["9"]), "f32 3.0");
    assert_eq!(value_of("sqrt(x)", Type::I64, &["9"]), "f64 3.0");
    assert_eq!(value_of("x ^ 3 + x ^ y", Type::I32, &["3", "2"]), "i32 36");
    assert_eq!(value_of("x ^ y", Type::I32, &["2", "-1"]), "i32 0");
    assert_eq!(value_of("x ^ -1", Type::I32, &["7"]), "i32 0");
    assert_eq!(value_of("pow(x, -3)", Type::I64, &["-1"]), "i64 -1");
    assert_eq!(value_of("x + 3000000000", Type::I32, &["1"]), "i64 3000000001");
    assert_eq!(value_of("x + 9007199254740993", Type::I64, &["0"]), "i64 9007199254740993");
    assert_eq!(value_of("x + 1e39", Type::F32, &["0"]), "f64 1e+39");
    assert_eq!(value_of("x + -2147483648", Type::I32, &["0"]), "i32 -2147483648");
    assert_eq!(value_of("x + 2147483648", Type::I32, &["0"]), "i64 2147483648");
    let least = "i64 -9223372036854775808";
    assert_eq!(value_of("x + -9223372036854775808", Type::I64, &["0"]), least);
    assert_eq!(
        value_of("max(x, - 9223372036854775808)", Type::I64, &["-9223372036854775808"]),
        least
    );
    assert_eq!(value_of("x - -(-9223372036854775807)", Type::I64, &["-1"]), least);
    assert_eq!(
        value_of("x + -(-9223372036854775808)", Type::I64, &["0"]),
        "f64 9.223372036854776e+18"
    );
    assert_eq!(
        value_of("x + -9223372036854775808.0", Type::I64, &["0"]),
        "f64 -9.223372036854776e+18"
    );
    assert_eq!(
        value_of("x + -9223372036854775809", Type::I64, &["0"]),
        "f64 -9.223372036854776e+18"
    );
    assert_eq!(value_of("x && true", Type::I32, &["7"]), "bool true");
    assert_eq!(value_of("x + (x > 1)", Type::I32, &["7"]), "i32 8");
    assert_eq!(value_of("x > 1 ? x : false", Type::I32, &["1"]), "i32 0");
    assert_eq!(value_of("(x > 1) == (x > 2)", Type::I32, &["2"]), "bool false");
}

#[test]
fn small_written_powers_are_products() {
    let products = [("x ^ 2", "x * x"), ("x ** 3", "x * x * x"), ("pow(x, 4)", "(x*x) * (x*x)")];
    for x in ["1.1", "-3.7", "0.3"] {
        for (power, product) in products {
            assert_eq!(f32_of(power, &[x]), f32_of(product, &[x]), "{power} of {x}");
        }
    }
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = parse(text).expect_err("the text is refused");
    let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    let shown = format!("{}..{}: {}{hint}", error.range.start, error.range.end, error.message);
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn errors_say_where_they_are_and_what_to_do() {
    refused("", "0..0: the expression is empty (write a formula such as `2 * x + 1`)");
    refused(" \n", "0..2: the expression is empty (write a formula such as `2 * x + 1`)");
    refused(
        "1 +",
        "3..3: a number, a name or `(` is missing after `+` (write it, or remove what stands last)",
    );
    refused(
        "* 2",
        "0..1: a number, a name or `(` is missing before `*` (a power is written `x ^ 2` or `x ** 2`)",
    );
    refused(
        "a + / b",
        "4..5: a number, a name or `(` is missing between `+` and `/` (write it, or remove one of the two)",
    );
    refused(
        "2x",
        "1..2: an operator is missing between `2` and `x` (a product is written `2 * x`)",
    );
    refused("a and b", "2..5: an operator is missing between `a` and `and` (write `&&`)");
    refused("not a", "0..3: `not` is not an operator (write `!`)");
    refused(
        "x = 1",
        "2..3: `=` has no meaning here (`==` tests whether two numbers are equal; there is no assignment)",
    );
    refused("x & y", "2..3: `&` has no meaning here (`&&` is true if both sides are)");
    refused(
        "x # y",
        "2..3: `#` has no meaning here (a formula consists of numbers, names, calls and operators such as `+`)",
    );
    refused(
        "1.2.3",
        "3..5: an operator is missing between `1.2` and `.3` (a number has one decimal point)",
    );
    refused(
        "0xff",
        "1..4: an operator is missing between `0` and `xff` (numbers are written in decimal)",
    );
    refused(
        "a.+",
        "2..3: a name is missing after `.` (components of a vector are written `v.x` or `v.zyx`)",
    );
    refused("x \u{d7} y", "2..4: `\u{d7}` has no meaning here (write `*`)");
    refused("(1 + 2", "0..1: this `(` is not closed (add a `)`)");
    refused("sin(1", "3..4: this `(` is not closed (add a `)`)");
    refused("1 + 2)", "5..6: this `)` has no matching `(` (remove it, or add a `(` before it)");
    refused(
        "(1, 2)",
        "2..3: this `,` is outside a function call (`,` separates the arguments of a function; fractions are written with `.`)",
    );
    refused("sni(1)", "0..3: there is no function called `sni` (did you mean `sin`?)");
    refused(
        "pi(1)",
        "0..2: `pi` is a constant, not a function (a product is written `pi * (...)`)",
    );
    refused(
        "zz / fill(1)",
        "5..9: there is no function called `fill` (if `zz/fill` is a group of another document, check its name, or add a line `use zz = \"FILE\"`)",
    );
    refused("x(1)", "0..1: there is no function called `x` (a product is written `x * (...)`)");
    refused("sin(1, 2)", "0..9: `sin` takes 1 argument, not 2");
    refused("max(1)", "0..6: `max` takes 2 or more arguments, not 1");
    refused("log()", "0..5: `log` takes 1 or 2 arguments, not 0");
    refused("if(1, 2)", "0..8: `if` takes 3 arguments, not 2");
    refused(
        "sin + 1",
        "0..3: `sin` is a function, not an input (write its arguments: `sin(...)`, or choose another name for the input)",
    );
    refused("a ? b", "2..3: this `?` has no `:` (a choice is written `condition ? a : b`)");
    refused("a : b", "2..3: this `:` has no `?` (a choice is written `condition ? a : b`)");
    refused(
        "0 < x < 1",
        "6..7: comparisons cannot be chained (write `a < b && b < c`, or use parentheses)",
    );
    refused("1e999", "0..5: the number is too large (write `inf` if infinity is meant)");
}

#[test]
fn an_error_refuses_the_setting() {
    let error = parse("x = 1").map_err(super::refused).unwrap_err();
    let SettingError::Refused { name, range, hint, .. } = error else { panic!("refused") };
    assert_eq!((name.as_str(), range), ("text", Some((2, 3))));
    assert!(hint.unwrap().contains("=="));
}

#[test]
fn nesting_and_length_are_limited() {
    for deep in ["(", "-", "!", "sin(", "1?", "2^", "1?1:"] {
        let error = parse(&deep.repeat(60_000 / deep.len())).unwrap_err();
        assert!(error.message.contains("deeper than 200"), "{deep}: {error}");
    }
    let error = parse(&"(".repeat(100_000)).unwrap_err();
    assert_eq!(
        error.message,
        "the formula has 100000 bytes without spaces, but the limit is 65536"
    );
    let nested = format!("{}1{}", "(".repeat(199), ")".repeat(199));
    assert_eq!(f32_of(&nested, &[]), "f32 1.0");
}

#[test]
fn long_sums_do_not_recurse() {
    let sum = format!("x{}", "+1".repeat(30_000));
    assert_eq!(f32_of(&sum, &["0"]), "f32 30000.0");
    let names: Vec<String> = (0..9_000).map(|i| format!("x{i}")).collect();
    assert_eq!(parse(&names.join("+")).unwrap().inputs().len(), 9_000);
}

#[test]
fn functions_are_sorted_and_named_once() {
    let mut names: Vec<&str> = functions::names().collect();
    assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
    names.extend(CONSTANTS.iter().map(|(name, _)| *name));
    let n_names = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n_names);
}

#[test]
fn every_function_takes_every_type_that_it_should() {
    use functions::{Takes, Typing};
    let singles = [Type::I32, Type::I64, Type::F32, Type::F64];
    for function in FUNCTIONS {
        let n_args = function.arity.0;
        let args = ["x", "y", "z"][..n_args].join(", ");
        let text = format!("{}({args})", function.name);
        let types = match function.typing {
            Typing::Sockets => {
                vec![if function.node.starts_with("color") { Type::COLOR } else { Type::VEC3 }]
            }
            Typing::Components(_) if function.name == "color" => vec![Type::VEC3],
            Typing::Components(_) | Typing::Conversion(_) => [&singles[..], &[Type::BOOL]].concat(),
            Typing::Mixed => singles.to_vec(),
            Typing::Alike(_) | Typing::Folded | Typing::Test => {
                [&singles[..], &[Type::BOOL, Type::VEC2, Type::VEC3, Type::VEC4, Type::COLOR]]
                    .concat()
            }
        };
        for ty in types {
            let made = instance(&text, &vec![ty; n_args])
                .unwrap_or_else(|error| panic!("{text} of {ty}: {error}"));
            if let Typing::Alike(takes) = function.typing {
                let wanted = match takes {
                    Takes::Floats if ty == Type::I64 => Type::F64,
                    Takes::Floats if ty == Type::I32 || ty == Type::BOOL => Type::F32,
                    _ if ty == Type::BOOL => Type::I32,
                    _ if ty == Type::COLOR => Type::VEC3,
                    _ => ty,
                };
                assert_eq!(made.outputs[0].ty, wanted, "{text} of {ty}");
            }
            let zeros = vec![ty.default_value(); n_args];
            computed(&text, &zeros);
        }
    }
}

#[test]
fn vectors_are_computed_by_component_and_numbers_are_repeated() {
    let v = || Value::from(millstream_base::Vec3::from([1.0, 2.0, 4.0]));
    let w = || Value::from(millstream_base::Vec3::from([3.0, 0.0, -1.0]));
    for (text, value) in [
        ("v + w", "vec3 [4.0, 2.0, 3.0]"),
        ("2 * v - w / 2", "vec3 [0.5, 4.0, 8.5]"),
        ("max(v, w, 1.5)", "vec3 [3.0, 2.0, 4.0]"),
        ("v ^ 2", "vec3 [1.0, 4.0, 16.0]"),
        ("-v", "vec3 [-1.0, -2.0, -4.0]"),
        ("v.x + w.z", "f32 0.0"),
        ("v.zyx * w", "vec3 [12.0, 0.0, -1.0]"),
        ("v.xy", "vec2 [1.0, 2.0]"),
        ("v.bgr", "vec3 [4.0, 2.0, 1.0]"),
        ("vec3(v.xy, 7)", "vec3 [1.0, 2.0, 7.0]"),
        ("vec2(3)", "vec2 [3.0, 3.0]"),
        ("vec4(w, 1).wzyx", "vec4 [1.0, -1.0, 0.0, 3.0]"),
        ("dot(v, w)", "f32 -1.0"),
        ("dot(v, 2)", "f32 14.0"),
        ("cross(v, w)", "vec3 [-2.0, 13.0, -6.0]"),
        ("length(w.xy)", "f32 3.0"),
        ("normalize(w.xy)", "vec2 [1.0, 0.0]"),
        ("v == v.xyz && v != w", "bool true"),
        ("v == 1", "bool false"),
        ("v.x < v.y ? v : w", "vec3 [1.0, 2.0, 4.0]"),
        ("v.x > v.y ? 0 : w", "vec3 [3.0, 0.0, -1.0]"),
        ("mix(v, w, 0.5)", "vec3 [2.0, 1.0, 1.5]"),
        ("(v.x < v.y) * v", "vec3 [1.0, 2.0, 4.0]"),
        ("color(v, 0.5).a", "f32 0.5"),
        ("color(v)", "color [1.0, 2.0, 4.0, 1.0]"),
        ("color(v).rgb * 2", "vec3 [2.0, 4.0, 8.0]"),
        ("vector.separate_vec3(v).y", "f32 2.0"),
        ("vector.scale(v, factor: 2)", "vec3 [2.0, 4.0, 8.0]"),
    ] {
        // Both names occur, in this order, without an effect.
        let text = format!("v.x < w.x && false ? ({text}) : ({text})");
        assert_eq!(shown(&text, &[v(), w()]), value, "{text}");
    }
}

#[test]
fn numbers_have_the_narrowest_type_that_holds_what_is_combined() {
    let (i, n, x, d) = (Value::I32(7), Value::I64(7), Value::F32(7.0), Value::F64(7.0));
    for (text, inputs, value) in [
        ("i / 2", vec![&i], "i32 3"),
        ("i / 2 + x", vec![&i, &x], "f32 10.5"),
        ("n + x", vec![&n, &x], "f64 14.0"),
        ("i + d", vec![&i, &d], "f64 14.0"),
        ("x + d", vec![&x, &d], "f64 14.0"),
        ("i % 2 == 1 ? x : 0", vec![&i, &x], "f32 7.0"),
        ("sin(i / 10) == sin(0.7)", vec![&i], "bool true"),
        ("(x > 1) + (x > 2)", vec![&x], "f32 2.0"),
        ("((x > 1) + (x > 2)) / 4", vec![&x], "f32 0.5"),
        ("i > 6", vec![&i], "bool true"),
        ("f32(i) / 2", vec![&i], "f32 3.5"),
        ("i32(x / 2)", vec![&x], "i32 3"),
        ("f64(0.1)", vec![], "f64 0.1"),
        ("1 / 2 * i", vec![&i], "i32 0"),
        ("1 / 2 * x", vec![&x], "f32 3.5"),
        ("vec2(i, i) / 2", vec![&i], "vec2 [3.5, 3.5]"),
        ("vec2(d, n)", vec![&d, &n], "vec2 [7.0, 7.0]"),
        ("vec2(1, 2) * d", vec![&d], "vec2 [7.0, 14.0]"),
    ] {
        let inputs: Vec<Value> = inputs.into_iter().cloned().collect();
        assert_eq!(shown(text, &inputs), value, "{text}");
    }
    let large = Value::I32(16_777_217);
    assert_eq!(shown("i % 2 == 1 ? x : 0", &[large, x]), "f32 7.0");
}

#[test]
fn integers_do_not_reach_literals_that_are_not_combined_with_them() {
    let (i, l, b, x, d) =
        (Value::I32(5), Value::I64(5), Value::Bool(true), Value::F32(5.0), Value::F64(5.0));
    for (text, inputs, value) in [
        ("f32(7 / 2) * f32(i)", vec![&i], "f32 17.5"),
        ("f64(1 / 4) + 0 * f64(i)", vec![&i], "f64 0.25"),
        ("i > 0 ? 1 / 2 : 1", vec![&i], "f32 0.5"),
        ("l > 0 ? 1 : 3", vec![&l], "i32 1"),
        ("(i > 0) + (i > 9)", vec![&i], "i32 1"),
        ("i > 0 ? 100000 * 100000 : 1", vec![&i], "f32 10000000000.0"),
        ("l > x ? 1 : 3", vec![&l, &x], "f32 3.0"),
        ("b ? 1 / 2 : 1", vec![&b], "f32 0.5"),
        ("((i > 0) + (i > 1)) / 4", vec![&i], "f32 0.5"),
        ("vec2(7 / 2, i).x", vec![&i], "f32 3.5"),
        ("i32(1 / 2 + 1 / 2) + i", vec![&i], "i32 6"),
        // Combined with an integer, also in arms, comparisons and functions.
        ("f32(7 / 2 + 0 * i)", vec![&i], "f32 3.0"),
        ("i > 0 ? 7 / 2 : i", vec![&i], "i32 3"),
        ("max(7 / 2, i - 5)", vec![&i], "i32 3"),
        ("clamp(i, 0, 9 / 2)", vec![&i], "i32 4"),
        ("i > 0 ? (true ? 7 / 2 : 1) : min(i, 1)", vec![&i], "i32 3"),
        ("i32(x) * (7 / 2)", vec![&x], "i32 15"),
        // Floats among the inputs decide for all literals.
        ("i > d ? 1 : 1 / 4", vec![&i, &d], "f64 0.25"),
        ("b + x > 0 ? b / 2 : 1", vec![&b, &x], "f32 0.5"),
    ] {
        let inputs: Vec<Value> = inputs.into_iter().cloned().collect();
        assert_eq!(shown(text, &inputs), value, "{text}");
    }
}

#[test]
fn a_condition_may_choose_values_of_any_type() {
    let chosen = |condition| shown("c ? a : b", &[condition, Value::from("x"), Value::from("y")]);
    assert_eq!(chosen(Value::Bool(false)), "string \"y\"");
    assert_eq!(chosen(Value::F32(f32::NAN)), "string \"x\"");
}

#[test]
fn what_does_not_go_together_is_refused_where_it_stands() {
    let refused = |text: &str, types: &[Type]| match instance(text, types) {
        Ok(_) => panic!("{text} is refused"),
        Err(error) => error,
    };
    let (v2, v3, f, s) = (Type::VEC2, Type::VEC3, Type::F32, Type::STRING);
    for (text, types, message) in [
        ("v + w", vec![v2, v3], "a vec2 and a vec3 cannot be combined"),
        ("v < w", vec![v3, v3], "vectors have no order"),
        ("v ? 1 : 2", vec![v3], "a condition is a truth value or a number"),
        ("s + 1", vec![s], "a string is not a number or vector"),
        ("x.y", vec![f], "a number has no component `y`"),
        ("v.z", vec![v2], "a vec2 has no component `z`"),
        ("v.q", vec![v2], "`q` does not name components"),
        ("vec3(v, w)", vec![v2, v2], "`vec3` takes 3 components, not 4"),
        ("length(x)", vec![f], "`vector` of `vector.length` takes a vector, not an f32"),
        ("noise.perlyn(x)", vec![f], "there is no node type `noise.perlyn`"),
        ("vector.scale(v, by: 2)", vec![v3], "there is no input `by`"),
        ("vector.scale(v, vector: v)", vec![v3], "the input `vector` is given twice"),
        ("vector.separate_vec3(v) + 1", vec![v3], "the node has several outputs"),
        ("state.hold(x)", vec![f], "`state.hold` keeps state"),
    ] {
        let error = refused(text, &types);
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn every_error_has_a_next_step() {
    let hint = |text: &str, types: &[Type]| {
        let error = instance_or(text, types).expect_err("the formula is refused");
        let SettingError::Refused { hint, message, .. } = error else { panic!("{text}") };
        hint.unwrap_or_else(|| panic!("{text}: `{message}` has no hint"))
    };
    let (v2, v3, f, s) = (Type::VEC2, Type::VEC3, Type::F32, Type::STRING);
    let list = f.list().expect("a list of numbers");
    for (text, types, expected) in [
        ("vec3(1, 2)", vec![], "write all 3, or one number for all of them"),
        ("vec2(v, 1)", vec![v3], "choose some of the components, such as `v.xy`"),
        ("color(1, 2)", vec![], "write red, green and blue, and alpha if it is not 1"),
        ("clamp(1)", vec![], "write `clamp(x, minimum, maximum)`"),
        ("mix(1, 2)", vec![], "write `mix(a, b, factor)`"),
        ("max(1)", vec![], "write `max(a, b, ...)`"),
        ("if(1)", vec![], "write `if(condition, a, b)`"),
        ("pow(1)", vec![], "write `pow(x, y)`"),
        ("f32()", vec![], "write `f32(x)`"),
        ("v.q", vec![v3], "letters x, y, z and w"),
        ("v.w", vec![v3], "its components are x, y, z"),
        ("c.xa", vec![Type::COLOR], "letters x, y, z and w"),
        ("n.x", vec![f], "a single value has no components"),
        ("l.x", vec![list], "`list.get`"),
        ("q.x", vec![Type::QUAT], "`quat.separate`"),
        ("l + 1", vec![list], "`list.sum`"),
        ("s + 1", vec![s], "`string.to_number`"),
        ("q + 1", vec![Type::QUAT], "`quat.multiply`"),
        ("m + 1", vec![Type::MAT4], "`mat4.multiply`"),
        ("s == s", vec![s], "`string.equal(a, b)`"),
        ("l == l", vec![list], "`millstream nodes --search list<f32>`"),
        ("v == w", vec![v2, v3], "choose equally many components"),
        ("v + w", vec![v2, v3], "choose equally many components"),
        ("mix(v, v, v)", vec![v3], "`a + (b - a) * f`"),
        ("f32(v)", vec![v3], "such as `f32(v.x)`"),
        ("length(1)", vec![], "such as `vec3(a, b, c)`"),
        ("noise.perlin(v, v)", vec![v3], "take a component, such as `v.x`"),
        ("noise.perlin(v, 1, 2, 3, 4)", vec![v3], "its inputs: position"),
        ("noise.perlin(v, foo: 1)", vec![v3], "its inputs: position"),
        ("noise.perlin(v, position: v)", vec![v3], "leave one of the two out"),
        ("vector.to_polar(v).radius", vec![v3], "choose as many components"),
        ("vector.to_polar(v) + 1", vec![v2], "radius, angle"),
        ("vector.to_polar(v).foo", vec![v2], "radius, angle"),
        ("string.length(x)", vec![f], "`string.from_number(x)`"),
        ("state.last(x)", vec![f], ""),
        ("state.hold(x)", vec![f], "use a separate node and link it"),
        ("v < w", vec![v3, v3], "compare components or lengths"),
        ("!v", vec![v3], "compare it"),
        ("\"x\"", vec![], "a formula has no strings"),
        ("1; 2", vec![], "one expression"),
        ("$", vec![], "a formula consists of"),
        ("1 + ", vec![], "write it"),
        (")", vec![], "write it"),
        ("1)", vec![], "remove it"),
        ("a.", vec![], "components of a vector"),
    ] {
        let found = hint(text, &types);
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn spaces_do_not_count_for_the_limit_on_the_length() {
    let spaced = vec!["1"; 20_000].join("   +   ");
    assert!(parse(&spaced).is_ok());
    let error = parse(&vec!["1"; 40_000].join("+")).expect_err("it is too long");
    assert!(error.message.contains("79999 bytes without spaces"), "{error}");
}

#[test]
fn expressions_of_the_same_structure_share_their_network() {
    let network = |text: &str, types: &[Type]| instance(text, types).unwrap().network.unwrap();
    let [f, d] = [Type::F32, Type::F64];
    let shared = network("2 * a + sin(b)", &[f, f]);
    assert!(Arc::ptr_eq(&shared, &network("2*left + sin( right )", &[f, f])));
    for (text, types) in [
        ("2 * a + sin(a)", vec![f]),
        ("2.0 * a + sin(b)", vec![f, f]),
        ("2 * a + cos(b)", vec![f, f]),
        ("2 * a + sin(b)", vec![f, d]),
    ] {
        assert!(!Arc::ptr_eq(&shared, &network(text, &types)), "{text}");
    }
    // Narrowed parts have places in the text, which differ.
    let places =
        |text: &str| network(text, &[d]).narrowed.iter().map(|part| part.start).collect::<Vec<_>>();
    assert_eq!(places("vec3(a)"), [5]);
    assert_eq!(places("vec3(  wide)"), [7]);
}
