//! The text form: printing, parsing and errors.

use super::*;
use crate::loops::NotFolded;
use crate::testing::registry;
use expect_test::{Expect, expect};
use millstream_node::zone::Mode;
use proptest::prelude::*;

/// Checks that the text reads, prints as expected, and that the output reads and prints the same.
fn check(text: &str, expected: &Expect) {
    let graph = parse(text, &registry()).unwrap_or_else(|problems| panic!("{problems}"));
    let printed = print_with_paths(&graph);
    expected.assert_eq(&printed);
    let again = parse(&printed, &registry()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(print_with_paths(&again), printed);
}

fn check_errors(text: &str, expected: &Expect) {
    let problems = parse(text, &registry()).expect_err("something is wrong");
    let shown = problems.iter().map(|problem| {
        let span = problem.place.span.map(|span| &text[span.start as usize..span.end as usize]);
        format!("{problem} at {:?}\n", span.unwrap_or_default())
    });
    expected.assert_eq(&shown.collect::<String>());
}

#[test]
fn all_kinds_of_lines_read_back() {
    check(
        r#"
        # a comment of its own
        n0 = input a: vec3 = [0, 0, 0]
        n1 = const 2.0
        n3 = math.scale{"factor": -0.0, "label": "a # b"} n1  # scale
        n4 = vector.split n0   # group/inner/split
        n5 = list.of [n1 n4.x n4.n2 n4."the rest"]
        n6 = list.of<string> []
        input unread: list<f32> = []
        n9 = input "a name": bool = true # path
        output area n3
        output "n7" n5
        output f: f64 n1"#,
        &expect![[r##"
            n0 = input a: vec3 = [0.0, 0.0, 0.0]
            n1 = const 2.0
            n3 = math.scale{"factor": -0.0, "label": "a # b"} n1  # scale
            n4 = vector.split n0  # group/inner/split
            n5 = list.of [n1 n4.x n4.n2 n4."the rest"]
            n6 = list.of<string> []
            input unread: list<f32> = []
            n9 = input "a name": bool = true  # path
            output area n3
            output "n7" n5
            output f: f64 n1
        "##]],
    );
}

#[test]
fn marks_of_regions_read_back() {
    check(
        "n0 = input a: f32 = 1.0
         n1 = math.add n0 n0 @r7 # p
         n2 = math.add n1 n0 @r4294967294?
         output n2",
        &expect![[r"
            n0 = input a: f32 = 1.0
            n1 = math.add n0 n0 @r7  # p
            n2 = math.add n1 n0 @r4294967294?
            output n2
        "]],
    );
    check_errors(
        "n0 = math.add n0 n0 @7",
        &expect![[r#"
        line 1: expected a region like `r0`, `folded` or `apart(...)`, found `7` at "7"
    "#]],
    );
}

#[test]
fn marks_of_loops_read_back() {
    check(
        "n0 = input a: f32 = 1.0
         n1 = math.add n0 n0 @r7 @folded # p
         n2 = math.add n1 n0 @apart(shared n1)
         n3 = math.add n1 n2 @apart( large )
         output n3",
        &expect![[r"
            n0 = input a: f32 = 1.0
            n1 = math.add n0 n0 @r7 @folded  # p
            n2 = math.add n1 n0 @apart(shared n1)
            n3 = math.add n1 n2 @apart(large)
            output n3
        "]],
    );
    for why in NotFolded::ALL {
        let text = format!("n0 = input a: f32 = 1.0\nn1 = math.add n0 n0 @apart({})\n", why.name());
        assert_eq!(print(&parse(&text, &registry()).expect("it is valid")), text);
    }
    check_errors(
        "n0 = math.add n0 n0 @folded @folded
         n1 = math.add n0 n0 @apart(bored)
         n2 = math.add n0 n0 @apart(large n1
         n3 = math.add n0 n0 @apart",
        &expect![[r#"
            line 1: expected a region like `r0`, `folded` or `apart(...)`, found `folded` at "folded"
            line 2: expected the reason why a loop is apart, like `shared n1`, found `bored)` at "bored)"
            line 3: expected `)` after the reason, found the end of the line at ""
            line 4: expected a region like `r0`, `folded` or `apart(...)`, found `apart` at "apart"
        "#]],
    );
}

#[test]
fn constants_state_their_type_where_it_is_ambiguous() {
    check(
        r#"n0 = const 1
           n1 = const 1e3
           n2 = const -0.0
           n3 = const true
           n4 = const "text"
           n5 = const f64 1
           n6 = const i64 9007199254740993
           n7 = const f32 "-inf"
           n8 = const color [1, 0.5, 0]
           n9 = const list<vec2> [[1, 2], [3, 4]]"#,
        &expect![[r#"
            n0 = const 1
            n1 = const 1000.0
            n2 = const -0.0
            n3 = const true
            n4 = const "text"
            n5 = const f64 1.0
            n6 = const i64 9007199254740993
            n7 = const f32 "-inf"
            n8 = const color [1.0, 0.5, 0.0, 1.0]
            n9 = const list<vec2> [[1.0, 2.0], [3.0, 4.0]]
        "#]],
    );
}

#[test]
fn settings_keep_the_signs_of_zeros() {
    check(
        r#"n0 = const 1.0
           n1 = math.shift{"by": -0.0} n0
           n2 = math.shift{"by": 0} n1"#,
        &expect![[r#"
            n0 = const 1.0
            n1 = math.shift{"by": -0.0} n0
            n2 = math.shift n1
        "#]],
    );
}

#[test]
fn repeats_are_made_by_the_caller_that_compiles() {
    let text = r#"n0 = const 1.0
n1 = const 3
n2 = repeat{"body": "b", "group": "step", "while": "go"} n0 n1

group "b" count 1 carries [0 -]
n0 = input x: f32 = 0.0
n1 = const true
output x n0
output go n1
"#;
    let problems = |text: &str| {
        let problems = parse(text, &registry()).expect_err("this reader does not compile");
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n") + "\n"
    };
    let asked = std::cell::Cell::new(0);
    let read = parse_with(text, &registry(), &mut |group| {
        asked.set(asked.get() + 1);
        assert_eq!((group.label, group.name), ("b", "step"));
        assert_eq!(group.course.mode, Mode::Rounds { count: 1, stable: None });
        assert_eq!((&group.course.carries[..], group.course.go), (&[Some(0), None][..], Some(1)));
        assert_eq!(group.graph.len(), 2);
        Err(TextError::UnknownGroup { label: "asked".into() })
    });
    assert!(read.is_err() && asked.get() == 1);
    expect![[r#"
        line 3: the group `b` cannot be repeated: it has to be compiled, which this reader does not do
    "#]]
    .assert_eq(&problems(text));
    let wrong = [
        ("\"b\" count", "\"c\" count"),
        ("count 1", "count 2"),
        ("count 1", "count 0"),
        ("[0 -]", "[0]"),
        ("[0 -]", "[- -]"),
        ("[0 -]", "[1 -]"),
        ("[0 -]", "[x"),
        ("\"go\"}", "\"x\"}"),
        ("output x n0", "output x n7"),
    ];
    let told: String = wrong.iter().map(|(a, b)| problems(&text.replace(a, b))).collect();
    expect![[r#"
        line 3: there is no group `b` below (groups follow the lines that use them)
        line 5: the group `b` cannot be repeated: there is no input 2
        line 5: the group `b` cannot be repeated: input 0 is not an i32
        line 5: the group `b` cannot be repeated: its line lists 1 outputs, but it has 2
        line 3: the group `b` cannot be repeated: its output `x` is not carried
        line 5: the group `b` cannot be repeated: output `x` cannot be carried to input 1
        line 5: expected the number of an input, `-`, or `]`, found `x`
        line 3: the group `b` cannot be repeated: its output `x` is not a bool
        line 8: n7 is not defined
    "#]]
    .assert_eq(&told);
}

#[test]
fn the_group_of_a_loop_over_items_has_no_count() {
    let text = r#"n0 = input l: list<f32>
n1 = for_each{"body": "b", "group": "each", "items": ["x"], "by": "y"} n0

group "b" carries [-]
n0 = input x: f32 = 0.0
output y n0
"#;
    let asked = std::cell::Cell::new(0);
    let read = parse_with(text, &registry(), &mut |group| {
        asked.set(asked.get() + 1);
        let mode = Mode::Items { items: vec![0], keep: None, by: Some(0) };
        assert_eq!((group.course.mode, &group.course.carries[..]), (mode, &[None][..]));
        Err(TextError::UnknownGroup { label: "asked".into() })
    });
    assert!(read.is_err() && asked.get() == 1);
    let problems = |text: &str| {
        let problems = parse(text, &registry()).expect_err("it does not fit");
        problems.iter().map(|problem| problem.to_string() + "\n").collect::<String>()
    };
    let wrong = [("by", "where"), ("[\"x\"]", "[\"z\"]"), ("carries [-]", "carries [0 0]")];
    let told: String = wrong.iter().map(|(a, b)| problems(&text.replace(a, b))).collect();
    expect![[r#"
        line 2: the group `b` cannot be repeated: its output `y` is not a bool
        line 2: the group `b` cannot be repeated: setting `items`: the group has no input called `z`; inputs: `x`
        line 4: the group `b` cannot be repeated: its line lists 2 outputs, but it has 1
    "#]]
    .assert_eq(&told);
}

/// Constants of every type with a notation.
fn constants() -> impl Strategy<Value = millstream_base::Value> {
    use millstream_base::types::Kind;
    use millstream_base::{Table, Type, Value};
    fn value(ty: Type, bits: &mut dyn Iterator<Item = u64>, texts: &[String]) -> Value {
        let mut next = || bits.next().unwrap_or(0);
        match ty.kind() {
            Kind::Lanes(lane, n) => {
                let lanes: Vec<u64> = (0..n).map(|_| special(lane, next())).collect();
                Value::from_lanes(ty, &lanes).expect("as many lanes as the type has")
            }
            Kind::String => texts[next() as usize % texts.len()].as_str().into(),
            Kind::List(element) => {
                let n = next() % 4;
                let items: Vec<Value> = (0..n).map(|_| value(element, bits, texts)).collect();
                Value::List(element.collect(&mut items.into_iter()).expect("values of one type"))
            }
            Kind::Opaque => {
                let n = 1 + next() as usize % 3;
                let columns = [Type::F32, Type::STRING, Type::MAT4, Type::BOOL, Type::I64];
                let columns = columns.iter().enumerate().map(|(i, ty)| {
                    let items: Vec<Value> = (0..n).map(|_| value(*ty, bits, texts)).collect();
                    let column = ty.collect(&mut items.into_iter()).expect("values of one type");
                    (format!("{i} {}", texts[0]).into(), column)
                });
                Table::new(columns.collect()).expect("columns of one length").into()
            }
        }
    }
    /// Bits of a lane, with special values more frequent.
    fn special(lane: millstream_base::Lane, bits: u64) -> u64 {
        use millstream_base::Lane;
        let pick = (bits >> 8) as usize % 8;
        match lane {
            Lane::Bool => bits % 2,
            Lane::I32 => u64::from([bits as u32, 0x8000_0000, 0x7fff_ffff, 0][pick % 4]),
            Lane::I64 => [bits, 1 << 63, i64::MAX as u64, 0][pick % 4],
            Lane::F32 => {
                let all = [1 << 31, 0x7f80_0000, 0xff80_0000, 0x7fc0_1234, 1, 0x7f7f_ffff];
                u64::from(all.get(pick).copied().unwrap_or(bits as u32))
            }
            Lane::F64 => {
                let nan = 0x7ff8_0000_0000_1234;
                let all = [1 << 63, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000, nan, 1];
                all.get(pick).copied().unwrap_or(bits)
            }
        }
    }
    let text = prop_oneof![any::<String>(), "[\\x00-\\x7f]{0,8}", Just("\u{2028}# \"\\".into())];
    let list = |ty: Type| ty.list().expect("there are lists");
    let mut types = Type::BUILT_IN.to_vec();
    types.extend(Type::BUILT_IN.map(list));
    types.extend([list(list(Type::STRING)), list(list(Type::F64)), Type::of::<Table>()]);
    let bits = proptest::collection::vec(any::<u64>(), 120);
    (proptest::sample::select(types), bits, proptest::collection::vec(text, 1..4))
        .prop_map(|(ty, bits, texts)| value(ty, &mut bits.into_iter(), &texts))
}

#[test]
fn generics_are_written_only_where_links_do_not_determine_them() {
    check(
        "n0 = const 1
         n1 = const 2.0
         n2 = math.add<f32> n0 n1
         n3 = math.add<f64> n0 n1
         n4 = convert{\"to\": \"vec3\"} n1
         output n4.value",
        &expect![[r#"
            n0 = const 1
            n1 = const 2.0
            n2 = math.add n0 n1
            n3 = math.add<f64> n0 n1
            n4 = convert{"to": "vec3"} n1
            output n4
        "#]],
    );
}

#[test]
fn links_may_lead_to_later_lines() {
    check(
        "n0 = math.add n2 n2
         n2 = math.add n3 n3
         n3 = const f64 1
         output n0",
        &expect![[r"
            n0 = math.add n2 n2
            n2 = math.add n3 n3
            n3 = const f64 1.0
            output n0
        "]],
    );
    check(
        "n0 = math.add n1 n1
         n1 = math.add n0 n0",
        &expect![[r"
            n0 = math.add<f32> n1 n1
            n1 = math.add<f32> n0 n0
        "]],
    );
}

#[test]
fn all_problems_come_at_once_with_their_bytes() {
    check_errors(
        r#"n0 = input a: vec5 = 0
n1 = math.ad n0 n0
n2 = math.scale{"factor": "x", "labell": 1} n0
n3 = const [1
n4 = const 99999999999
n5 = math.add n0
n6 = math.add n9 n9
n7 = vector.split n8
n8 = const vec3 [1, 2, 3]
n8 = const 1
n10 = math.add n7 n7.y
n11 = list.of n8
n12 = math.add [n8] n8
n13 = math.add<f32, f32> n8 n8
n14 = list.of [n8] n8
n15 math
nonsense
n4000000000 = const 1
output value: n8 n8
output
output x n8 n8"#,
        &expect![[r#"
            line 1: there is no type `vec5` (types: bool, color, f32, f64, i32, i64, mat4, quat, string, vec2, vec3, vec4) at "vec5"
            line 2: there is no node type `math.ad` (did you mean `math.add`?) at "math.ad"
            line 3: setting `factor` is "x" (it takes a number) at "{\"factor\": \"x\", \"labell\": 1}"
            line 3: there is no setting called `labell` (did you mean `label`?) at "{\"factor\": \"x\", \"labell\": 1}"
            line 4: expected a type, found `[1` at "[1"
            line 5: 99999999999 does not fit an i32 (-2147483648 to 2147483647 fit) at "99999999999"
            line 6: `math.add` takes 2 inputs, found 1 (its inputs: a, b) at "n5 = math.add n0"
            line 7: n9 is not defined at "n9"
            line 7: n9 is not defined at "n9"
            line 10: n8 is defined twice (give one of them another number) at "n8 = const 1"
            line 11: n7 has several outputs (write one of `n7.x`, `n7.n2`, `n7.the rest`) at "n7"
            line 11: n7 has no output called `y` (its outputs: x, n2, the rest) at "n7.y"
            line 12: socket `items` takes several sources (write `[n1]` for one) at "n8"
            line 13: socket `a` takes one source (write it without brackets) at "[n8]"
            line 14: `math.add` has 1 generic types, found 2 at "n13 = math.add<f32, f32> n8 n8"
            line 15: `list.of` takes 1 inputs, found 2 (its inputs: items) at "n14 = list.of [n8] n8"
            line 16: expected `=` after the number of the node, found `math` at "math"
            line 17: expected `n0 = ...`, `input`, `output` or `group`, found `nonsense` at "nonsense"
            line 18: n4000000000 is too large for the number of lines (the largest number allowed here is 2098240) at "n4000000000 = const 1"
            line 19: there is no type `n8` (types: bool, color, f32, f64, i32, i64, mat4, quat, string, vec2, vec3, vec4) at "n8"
            line 20: expected a name or a node like `n7`, found the end of the line at ""
            line 21: expected the end of the line, found `n8` at "n8"
        "#]],
    );
}

#[test]
fn a_node_that_could_not_be_read_causes_no_further_problems() {
    check_errors(
        "n0 = math.ad
         n1 = math.add n0 n0
         output n1",
        &expect![[r#"
            line 1: there is no node type `math.ad` (did you mean `math.add`?) at "math.ad"
        "#]],
    );
}

#[test]
fn long_chains_and_long_lines_need_no_stack() {
    let mut text = String::from("n0 = const 1.0\n");
    for i in 1..20_000 {
        text.push_str(&format!("n{} = math.add n{} n0\n", 20_000 - i, 19_999 - i));
    }
    // Every link but the last leads to a later line.
    let graph = parse(&text, &registry()).expect("it is valid");
    assert_eq!(graph.len(), 20_000);
    let many = "n0 ".repeat(60_000);
    let graph = parse(&format!("n0 = const 1\nn1 = list.of [{many}]"), &registry());
    assert_eq!(graph.expect("reads").n_links(), 60_000);
    assert!(parse(&format!("n0 = const 1\nn1 = list.of {many}"), &registry()).is_err());
    assert!(parse(&format!("n0 = const i32 {}", "[".repeat(100_000)), &registry()).is_err());
    assert!(parse(&format!("n0 = input a: {}", "list<".repeat(100_000)), &registry()).is_err());
}

/// Nearly valid texts, so that all branches of the reader are covered.
fn near_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("n0 = "),
        Just("n1 = "),
        Just("n2 = "),
        Just("n70000000 = "),
        Just("n0 "),
        Just("n1 "),
        Just("n2.x "),
        Just("n2 "),
        Just("const "),
        Just("input a: "),
        Just("math.add "),
        Just("math.add<f64> "),
        Just("math.scale{\"factor\": 1} "),
        Just("vector.split "),
        Just("list.of "),
        Just("convert{\"to\": \"f64\"} "),
        Just("output "),
        Just("x: "),
        Just("f32 "),
        Just("list<f32> "),
        Just("= "),
        Just("[ "),
        Just("] "),
        Just("1.5 "),
        Just("true "),
        Just("\"nan\" "),
        Just("\n"),
        Just("\n"),
        Just("# p/q"),
        Just("time "),
        Just("time.shift "),
        Just("é"),
        Just("{"),
        Just("\""),
        Just("."),
        Just("\r\n"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Graphs as text, every link to an earlier line.
fn graph_text() -> impl Strategy<Value = String> {
    let line = (0..7_u8, any::<[u16; 2]>(), any::<u32>(), 1..4_u32, "[a-z/# ]{0,6}");
    proptest::collection::vec(line, 0..30).prop_map(|lines| {
        let mut text = String::from("n0 = const 1.0\n");
        let (mut id, mut floats) = (0, vec![0]);
        for (kind, picks, bits, step, path) in lines {
            id += step;
            let pick = |i: usize| floats[picks[i] as usize % floats.len()];
            let (a, b) = (pick(0), pick(1));
            let value = millstream_base::Value::F32(f32::from_bits(bits));
            let (what, is_float) = match kind {
                0 => (format!("const f32 {value}"), true),
                1 => (format!("math.add n{a} n{b}"), true),
                2 => (format!("math.add<f64> n{a} n{b}"), false),
                3 => (format!("input i{id}: f32 = {value}"), true),
                4 => (format!("list.of [n{a} n{b} n{a}]"), false),
                5 => (format!("math.scale{{\"factor\": {bits}}} n{a}"), true),
                _ => (format!("time.shift<f32> n{a} n{b}"), true),
            };
            text.push_str(&format!("n{id} = {what} # {path}\n"));
            if is_float {
                floats.push(id);
            }
        }
        text + &format!("output n{}\n", floats[floats.len() - 1])
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in near_text()) {
        if let Ok(graph) = parse(&text, &registry()) {
            print_with_paths(&graph);
        }
    }

    #[test]
    fn no_characters_make_the_reader_panic(text in any::<String>()) {
        drop(parse(&text, &registry()));
    }

    #[test]
    fn every_constant_reads_back_to_the_same_bits(value in constants()) {
        use millstream_base::same::Same;
        let mut graph = Graph::new();
        let node = graph.add_own_const(value.clone());
        graph.add_input(crate::GraphInput {
            name: "x".into(),
            ty: value.ty(),
            default: Some(value.clone()),
        });
        graph.outputs.push(crate::GraphOutput {
            name: "n1 \"\n".into(),
            ty: value.ty(),
            source: crate::Source::first(node),
        });
        let printed = print(&graph);
        let mut registry = registry();
        registry.register_type(millstream_base::Type::of::<millstream_base::Table>());
        let read = parse(&printed, &registry).map_err(|problems| {
            TestCaseError::fail(format!("{problems}\n{printed}"))
        })?;
        prop_assert_eq!(print(&read), printed);
        let read_value = read.constants().values().as_slice()[0].clone();
        prop_assert!(read_value.same(&value), "{} is {}", value, read_value);
    }

    #[test]
    fn what_is_printed_reads_back_to_the_same(text in graph_text()) {
        let graph = parse(&text, &registry()).map_err(|problems| {
            TestCaseError::fail(format!("{problems}\n{text}"))
        })?;
        let printed = print_with_paths(&graph);
        let again = parse(&printed, &registry()).map_err(|problems| {
            TestCaseError::fail(format!("{problems}\n{printed}"))
        })?;
        prop_assert_eq!(print_with_paths(&again), printed);
        prop_assert_eq!(again.len(), graph.len());
    }
}
