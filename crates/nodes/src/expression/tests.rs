//! Meaning, types and errors of expressions; a printer shows how terms are grouped.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::literal;
use millstream_node::signature::InputFact;
use millstream_node::{Kernel, Settings};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;

/// The value of an expression as text; its inputs are all of one type.
fn value_of(text: &str, ty: Type, inputs: &[&str]) -> String {
    let mut registry = Registry::new();
    register(&mut registry);
    let def = Arc::clone(registry.get("math.expression").unwrap());
    let json = Json::from(text);
    let settings = Settings::read(&def.settings, [("text", &json)], &|_| None).unwrap();
    let signature = def.signature(&settings).unwrap();
    let facts: Vec<_> = (0..inputs.len()).map(|i| (i, InputFact::Linked(ty))).collect();
    let generics = signature.resolve(&facts).unwrap();
    let arities = vec![1; signature.inputs.len()];
    drop(signature);
    let instance = def.instantiate(settings, generics.clone(), &arities).unwrap();
    let Kernel::Form(form) = &instance.kernel else { panic!("an expression is one form") };
    form.verify().unwrap();
    let read = |text: &&str| {
        let value = literal::from_json(generics[0], &serde_json::from_str(text).unwrap());
        value.unwrap().lane(0).unwrap()
    };
    let params: Vec<u64> = inputs.iter().map(read).collect();
    let mut result = [0];
    form.run_scalar(&params, &mut result, &mut Vec::new());
    let value = millstream_base::Value::from_lanes(instance.outputs[0].ty, &result).unwrap();
    format!("{} {value}", instance.outputs[0].ty)
}

fn f32_of(text: &str, inputs: &[&str]) -> String {
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
    assert_eq!(value_of("x + 3000000000", Type::I32, &["1"]), "i64 3000000001");
    assert_eq!(value_of("x + 9007199254740993", Type::I64, &["0"]), "i64 9007199254740993");
    assert_eq!(value_of("x + 1e39", Type::F32, &["0"]), "f64 1e+39");
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
    refused("1 +", "3..3: a number, a name or `(` is missing after `+`");
    refused(
        "* 2",
        "0..1: a number, a name or `(` is missing before `*` (a power is written `x ^ 2` or `x ** 2`)",
    );
    refused("a + / b", "4..5: a number, a name or `(` is missing between `+` and `/`");
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
    refused("x # y", "2..3: `#` has no meaning here");
    refused(
        "a.b",
        "1..2: `.` has no meaning here (names contain no `.`, and a number has a digit next to it)",
    );
    refused("x \u{d7} y", "2..4: `\u{d7}` has no meaning here (write `*`)");
    refused("(1 + 2", "0..1: this `(` is not closed (add a `)`)");
    refused("sin(1", "3..4: this `(` is not closed (add a `)`)");
    refused("1 + 2)", "5..6: this `)` has no matching `(`");
    refused(
        "(1, 2)",
        "2..3: this `,` is outside a function call (`,` separates the arguments of a function; fractions are written with `.`)",
    );
    refused("sni(1)", "0..3: there is no function called `sni` (did you mean `sin`?)");
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
    let error = checked("x = 1").unwrap_err();
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
    assert_eq!(error.message, "the text has 100000 bytes, the limit is 65536");
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
    assert!(functions::FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
    names.extend(CONSTANTS.iter().map(|(name, _)| *name));
    let n_names = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n_names);
}

/// A term with its operands, as generated by a property test.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(&'static str),
    Prefix(&'static str, Box<Tree>),
    Infix(&'static str, Box<[Tree; 2]>),
    Choice(Box<[Tree; 3]>),
    Call(&'static str, Vec<Tree>),
}

const INFIX: &[(&str, u8)] = &[
    ("||", 2),
    ("&&", 3),
    ("==", 4),
    ("!=", 4),
    ("<", 5),
    ("<=", 5),
    (">", 5),
    (">=", 5),
    ("+", 6),
    ("-", 6),
    ("*", 7),
    ("/", 7),
    ("%", 7),
    ("^", 9),
];

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop::sample::select(vec!["1", "2.5", "1e-3", "x", "y", "pi", "true", ".5"]);
    leaf.prop_map(Tree::Leaf).prop_recursive(7, 60, 4, |inner| {
        let operators: Vec<&str> = INFIX.iter().map(|(text, _)| *text).collect();
        let two = [inner.clone(), inner.clone()];
        let three = [inner.clone(), inner.clone(), inner.clone()];
        prop_oneof![
            (prop::sample::select(vec!["-", "!"]), inner.clone())
                .prop_map(|(op, x)| Tree::Prefix(op, Box::new(x))),
            (prop::sample::select(operators), two)
                .prop_map(|(op, xs)| Tree::Infix(op, Box::new(xs))),
            three.prop_map(|xs| Tree::Choice(Box::new(xs))),
            inner.clone().prop_map(|x| Tree::Call("sin", vec![x])),
            prop::collection::vec(inner, 2..4).prop_map(|xs| Tree::Call("min", xs)),
        ]
    })
}

impl Tree {
    fn binds(&self) -> u8 {
        match self {
            Self::Leaf(_) | Self::Call(..) => 10,
            Self::Prefix(..) => 8,
            Self::Infix(op, _) => INFIX.iter().find(|(text, _)| text == op).unwrap().1,
            Self::Choice(_) => 1,
        }
    }

    /// With parentheses only where the grammar needs them.
    fn text(&self, least: u8) -> String {
        let all = |xs: &[Self]| xs.iter().map(|x| x.text(0)).collect::<Vec<_>>().join(", ");
        let text = match self {
            Self::Leaf(text) => (*text).to_string(),
            Self::Prefix(op, x) => format!("{op}{}", x.text(8)),
            Self::Infix(op, xs) => {
                let binds = self.binds();
                // A prefix may start any right operand, but not the left operand of a power.
                let left = match binds {
                    4 | 5 | 9 => binds + 1,
                    _ => binds,
                };
                let right = match (&xs[1], binds) {
                    (Self::Prefix(..), _) => 0,
                    (_, 9) => 9,
                    _ => binds + 1,
                };
                format!("{} {op} {}", xs[0].text(left), xs[1].text(right))
            }
            Self::Choice(xs) => {
                format!("{} ? {} : {}", xs[0].text(2), xs[1].text(0), xs[2].text(1))
            }
            Self::Call(name, xs) => format!("{name}({})", all(xs)),
        };
        if self.binds() < least { format!("({text})") } else { text }
    }

    /// With parentheses around every term.
    fn grouped(&self) -> String {
        let all = |xs: &[Self]| xs.iter().map(Self::grouped).collect::<Vec<_>>().join(", ");
        match self {
            Self::Leaf(text) => (*text).to_string(),
            Self::Prefix(op, x) => format!("({op}{})", x.grouped()),
            Self::Infix(op, xs) => format!("({} {op} {})", xs[0].grouped(), xs[1].grouped()),
            Self::Choice(xs) => {
                format!("({} ? {} : {})", xs[0].grouped(), xs[1].grouped(), xs[2].grouped())
            }
            Self::Call(name, xs) => format!("{name}({})", all(xs)),
        }
    }
}

/// The value of a tree, computed naively.
#[derive(Clone, Copy)]
enum Naive {
    Number(f32),
    Truth(bool),
}

impl Naive {
    fn number(self) -> f32 {
        match self {
            Self::Number(x) => x,
            Self::Truth(holds) => f32::from(u8::from(holds)),
        }
    }

    fn holds(self) -> bool {
        match self {
            Self::Number(x) => x != 0.0,
            Self::Truth(holds) => holds,
        }
    }
}

impl Tree {
    fn naive(&self, x: f32, y: f32) -> Naive {
        use Naive::{Number, Truth};
        let of = |tree: &Self| tree.naive(x, y);
        match self {
            Self::Leaf("x") => Number(x),
            Self::Leaf("y") => Number(y),
            Self::Leaf("pi") => Number(std::f32::consts::PI),
            Self::Leaf("true") => Truth(true),
            Self::Leaf(number) => Number(number.parse().unwrap()),
            Self::Prefix("-", inner) => Number(-of(inner).number()),
            Self::Prefix(_, inner) => Truth(!of(inner).holds()),
            Self::Infix(op, both) => {
                let (p, q) = (of(&both[0]), of(&both[1]));
                let (a, b) = (p.number(), q.number());
                match *op {
                    "||" => Truth(p.holds() || q.holds()),
                    "&&" => Truth(p.holds() && q.holds()),
                    "==" => Truth(a == b),
                    "!=" => Truth(a != b),
                    "<" => Truth(a < b),
                    "<=" => Truth(a <= b),
                    ">" => Truth(a > b),
                    ">=" => Truth(a >= b),
                    "+" => Number(a + b),
                    "-" => Number(a - b),
                    "*" => Number(a * b),
                    "/" => Number(a / b),
                    "%" => Number(a % b),
                    _ => Number(millstream_base::num::pow(a, b)),
                }
            }
            Self::Choice(three) => {
                let [condition, yes, no] = [0, 1, 2].map(|i| of(&three[i]));
                let chosen = if condition.holds() { yes } else { no };
                match (yes, no) {
                    (Truth(_), Truth(_)) => chosen,
                    (Number(_), _) | (_, Number(_)) => Number(chosen.number()),
                }
            }
            Self::Call("sin", args) => Number(millstream_base::num::sin(of(&args[0]).number())),
            Self::Call(_, args) => {
                let numbers = args.iter().map(|arg| of(arg).number());
                Number(numbers.reduce(millstream_base::num::min).unwrap())
            }
        }
    }
}

#[test]
fn integer_powers_in_one_formula_are_limited() {
    let powers: Vec<String> = (0..300).map(|i| format!("x^y{i}")).collect();
    let mut registry = Registry::new();
    register(&mut registry);
    let def = Arc::clone(registry.get("math.expression").unwrap());
    let json = Json::from(powers.join("+"));
    let make = |ty| {
        let settings = Settings::read(&def.settings, [("text", &json)], &|_| None).unwrap();
        def.instantiate(settings, vec![ty], &[1; 301]).map(drop)
    };
    assert!(make(Type::I64).unwrap_err().to_string().contains("more than 200 integer powers"));
    assert!(make(Type::F32).is_ok());
}

proptest! {
    #[test]
    fn a_formula_computes_the_value_of_its_tree(tree in tree(), x in -3.0_f32..3.0, y: f32) {
        let text = tree.text(0);
        // Both names occur, in this order, without an effect.
        let text = format!("false && (x < y) ? true : ({text})");
        let wanted = match tree.naive(x, y) {
            Naive::Number(number) => format!("f32 {}", millstream_base::Value::F32(number)),
            Naive::Truth(holds) => format!("bool {holds}"),
        };
        let [x, y] = [x, y].map(|x| millstream_base::Value::F32(x).to_string());
        prop_assert_eq!(f32_of(&text, &[&x, &y]), wanted, "{}", text);
    }

    #[test]
    fn redundant_parentheses_change_nothing(tree in tree()) {
        let (few, all) = (tree.text(0), tree.grouped());
        prop_assert_eq!(parse(&few), parse(&all), "{} / {}", few, all);
        prop_assert!(parse(&few).is_ok(), "{}", few);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        if let Err(error) = parse(&text) {
            prop_assert!(text.get(error.range).is_some());
        }
    }

    #[test]
    fn no_sequence_of_tokens_makes_the_parser_panic(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "1", ".5", "x", "sin", "min", "if", "pi", "(", ")", ",", "+", "-", "*", "/", "%",
                "^", "!", "?", ":", "<", "<=", "==", "&&", "||", " ", "e", "=", "1e", "é",
            ]),
            0..40,
        )
    ) {
        let text = tokens.concat();
        match parse(&text) {
            Ok(expression) => {
                let b = FormBuilder::new();
                let inputs: Vec<_> =
                    expression.inputs.iter().map(|_| b.param(millstream_base::Lane::F32)).collect();
                expression.lower(&b, millstream_base::Lane::F32, &inputs);
            }
            Err(error) => prop_assert!(text.get(error.range).is_some()),
        }
    }
}
