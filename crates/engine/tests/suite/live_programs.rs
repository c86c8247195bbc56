//! Programs as live graphs of columns: their values are those of evaluations, and elements that
//! change run alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream::live::{ColumnsError, LiveColumns};
use millstream::{
    Column, Data, Engine, Given, NodeDef, Program, Request, RequestAxis, Type, Value,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn from(node: &str) -> Json {
    json!({ "from": format!("{node}.value") })
}

/// Elements that are computed, compared, reduced, collected, and read at other indices.
fn document() -> String {
    let output = |ty: &str, node: &str| json!({ "type": ty, "from": format!("{node}.value") });
    json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 1 }, "at": { "type": "i32", "default": 0 },
            "v": { "type": "vec3", "default": [1, 2, 2] }, "by": { "type": "i32", "default": 1 } },
        "outputs": { "y": output("f32", "y"), "sum": output("f32", "sum"), "get": output("f32", "get"),
            "length": output("f32", "length"), "n": output("i32", "n"), "list": output("list<f32>", "round"),
            "t": output("f64", "t") },
        "nodes": {
            "square": { "type": "test.square", "in": { "x": { "input": "x" } } },
            "sum": { "type": "reduce.sum", "in": { "value": from("square") } },
            "i": { "type": "context.index" },
            "n": { "type": "context.count" },
            "t": { "type": "context.time" },
            "is_low": { "type": "compare.less", "in": { "a": from("i"), "b": { "input": "at" } } },
            "y": { "type": "control.switch", "in": { "condition": from("is_low"),
                "false": from("square"), "true": from("length") } },
            "length": { "type": "vector.length", "in": { "vector": { "input": "v" } } },
            "all": { "type": "list.collect", "in": { "value": from("square") } },
            "round": { "type": "list.rotate", "in": { "list": from("all"), "steps": { "input": "by" } } },
            "get": { "type": "list.get", "set": { "outside": "wrap" },
                "in": { "list": from("round"), "index": { "input": "at" } } } } })
    .to_string()
}

/// The program, and the number of elements for which it squared.
fn program() -> (Program, Arc<AtomicUsize>) {
    let squared = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&squared);
    let square = move |call: &mut millstream::Call<'_>| {
        let mut out: Vec<f32> = call.buffer(0);
        for i in call.mask() {
            counted.fetch_add(1, Ordering::Relaxed);
            let x = call.input::<f32>(0).get(i);
            out[i] = x * x;
        }
        call.set(0, out);
        Ok(())
    };
    let def = NodeDef::new("test.square", "A square").input("x", Type::F32, "");
    let mut engine = Engine::new();
    engine.register(def.output("value", Type::F32, "").function(square));
    (engine.load(document().as_bytes()).expect("it is valid"), squared)
}

/// The data in full, for a number of elements.
fn in_full(data: &Data, n: Option<usize>) -> String {
    let column = match data {
        Data::One(value) => Column::filled(value, n.unwrap_or(1)),
        Data::Many(column) => column.clone(),
    };
    format!("{:?}", column.iter().collect::<Vec<Value>>())
}

/// All outputs, each read anew or kept up to date.
fn compare(live: &mut LiveColumns, program: &Program, given: &BTreeMap<&str, Data>) {
    let mut request = Request::new();
    let mut n = None;
    for (name, data) in given {
        request = match data {
            _ if *name == "time" => request,
            Data::One(value) => request.given(*name, Given::One(value.clone())),
            Data::Many(column) => {
                n = Some(column.len());
                request.given(*name, Given::Along(RequestAxis::Index, column.clone()))
            }
        };
    }
    request = request.time(given["time"].get(0).get::<f64>().expect("seconds"));
    if n.is_none() {
        (n, request) = (Some(1), request.count(1));
        live.set_count(n);
    } else {
        live.set_count(None);
    }
    let answer = program.run(&request).expect("it runs");
    for output in program.outputs() {
        let expected = answer.output(&output.name).and_then(|it| it.value.as_ref());
        let expected = in_full(&expected.expect("it does not fail").data, n);
        let found = in_full(&live.get(&output.name).expect("it has a value"), n);
        assert_eq!(found, expected, "{} of {given:?}", output.name);
    }
}

/// Sets an input.
fn set(
    live: &mut LiveColumns,
    given: &mut BTreeMap<&'static str, Data>,
    name: &'static str,
    data: Data,
) {
    match &data {
        Data::One(value) => live.set(name, value.clone()),
        Data::Many(column) => live.set_column(name, column.clone()),
    }
    .expect("it fits");
    given.insert(name, data);
}

fn data_for(name: &str, n: Option<usize>, number: usize) -> Data {
    let value = |i: usize| match name {
        "x" => Value::F32((i * 7 % 31 + number) as f32 / 4.0),
        "at" => Value::I32((i * 5 + number) as i32 - 9),
        "v" => Value::Vec3([i as f32, number as f32, 1.0].into()),
        _ => Value::I32(number as i32 % 7),
    };
    match n.filter(|_| name != "by") {
        Some(n) => {
            let ty = value(0).ty();
            Data::Many(ty.collect(&mut (0..n).map(value)).expect("values of one type"))
        }
        None => Data::One(value(number)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn live_columns_have_the_values_of_evaluations(
        script in vec((0_u8..10, 0_usize..4, any::<u16>()), 1..40),
    ) {
        let (program, _) = program();
        let mut live = program.live_columns().expect("it needs only elements");
        let mut given = BTreeMap::from([("time", Data::One(Value::F64(0.0)))]);
        let mut n = 60;
        for name in ["x", "at", "v", "by"] {
            set(&mut live, &mut given, name, data_for(name, Some(n), 3));
        }
        live.observe("sum").expect("it exists");
        for (kind, input, number) in script {
            let number = usize::from(number);
            let name = ["x", "at", "v", "by"][input];
            match kind {
                0..=5 => {
                    // Several elements may change before the next evaluation.
                    for k in 0..=number % 3 {
                        let Some(Data::Many(column)) = given.get_mut(name) else { break };
                        let at = (number + k * 11) % column.len();
                        let value = data_for(name, None, number + k);
                        live.set_element(name, at, value.get(0)).expect("it is there");
                        let mask = millstream::Mask::range(at..at + 1);
                        column.overwrite(&mask, &Column::filled(&value.get(0), 1), |_| 0);
                    }
                }
                6 => set(&mut live, &mut given, name, data_for(name, Some(n), number)),
                7 => set(&mut live, &mut given, name, data_for(name, None, number)),
                8 => {
                    n = [60, 5, 130][number % 3];
                    for name in ["x", "at", "v"] {
                        let data = data_for(name, Some(n), number);
                        set(&mut live, &mut given, name, data);
                    }
                }
                _ => {
                    given.insert("time", Data::One(Value::F64(number as f64)));
                    live.set_feature(&millstream::Feature::Time, number as f64);
                }
            }
            if number % 4 != 0 {
                compare(&mut live, &program, &given);
            }
        }
        compare(&mut live, &program, &given);
    }
}

#[test]
fn an_element_that_is_set_runs_alone() {
    const N: usize = 3000;
    let (program, squared) = program();
    let mut live = program.live_columns().expect("it needs only elements");
    live.set_column("x", vec![2.0_f32; N]).expect("it fits");
    live.observe("y").expect("it exists");
    let sum = |live: &mut LiveColumns| live.get("sum").expect("it runs").get(0).get::<f32>();
    assert_eq!(sum(&mut live), Some(4.0 * N as f32));
    assert_eq!(squared.swap(0, Ordering::Relaxed), N);
    live.set_element("x", 7, 3.0_f32).expect("it fits");
    live.set_element("x", 2000, 3.0_f32).expect("it fits");
    live.set_element("x", 7, 4.0_f32).expect("it fits");
    assert_eq!(sum(&mut live), Some(4.0 * N as f32 + 17.0));
    assert_eq!(squared.swap(0, Ordering::Relaxed), 2);
    // The same value changes nothing.
    live.set_element("x", 7, 4.0_f32).expect("it fits");
    live.get("sum").expect("it runs");
    assert_eq!(squared.load(Ordering::Relaxed), 0);
}

#[test]
fn an_output_that_was_not_observed_when_an_element_changed_has_its_new_value() {
    let text = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 0 } },
        "outputs": { "y": { "type": "f32", "from": "y.value" }, "z": { "type": "f32", "from": "z.value" } },
        "nodes": { "y": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            "z": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 2 } } } });
    let program = Engine::new().load(text.to_string().as_bytes()).expect("it is valid");
    let mut live = program.live_columns().expect("it needs only elements");
    live.set_column("x", vec![0.0_f32; 20]).expect("it fits");
    for output in ["y", "z"] {
        live.observe(output).expect("it exists");
    }
    let get = |live: &mut LiveColumns, output: &str| {
        live.get(output).expect("it runs").get(7).get::<f32>().expect("a number")
    };
    assert!(get(&mut live, "z") == 2.0);
    live.set_element("x", 7, 5.0_f32).expect("it fits");
    live.unobserve("z").expect("it exists");
    assert!(get(&mut live, "y") == 6.0);
    assert!(get(&mut live, "z") == 7.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (program, _) = program();
    let mut live = program.live_columns().expect("it needs only elements");
    let unknown = live.set("z", 1.0_f32).expect_err("there is no such input");
    assert_eq!(unknown.to_string(), "there is no input called `z`");
    let unknown = live.get("z").expect_err("nor such an output");
    assert_eq!(unknown.to_string(), "there is no output called `z`");
    let other = live.set("x", 1_i32).expect_err("it takes floats");
    assert_eq!(other.to_string(), "input `x` takes f32, not i32");
    live.set_column("x", vec![1.0_f32; 3]).expect("it fits");
    let none = live.set_element("x", 3, 1.0_f32).expect_err("there are three");
    assert_eq!(none.to_string(), "input `x` has no element 3");
    live.set_column("at", vec![1_i32; 2]).expect("nothing is computed yet");
    let lengths = live.get("y").expect_err("there are two and three elements");
    assert_eq!(lengths.to_string(), "input `x` has 3 elements, but input `at` has 2");
    live.set_column("at", vec![1_i32; 3]).expect("it fits");
    live.get("y").expect("now they fit");
    live.set_column("x", Vec::<f32>::new()).expect("it fits");
    live.set_column("at", Vec::<i32>::new()).expect("it fits");
    live.set_count(Some(0));
    assert!(!matches!(live.get("sum"), Err(ColumnsError::Lengths { .. })));
}

#[test]
fn a_node_that_fails_takes_away_the_values_that_depend_on_it() {
    let text = json!({ "millstream": 2,
        "inputs": { "at": { "type": "i32", "default": 0 } },
        "outputs": { "get": { "type": "f32", "from": "get.value" }, "next": { "type": "i32", "from": "next.value" } },
        "nodes": {
            "next": { "type": "math.add", "in": { "a": { "input": "at" }, "b": 1 } },
            "get": { "type": "list.get", "in": { "list": [5, 6], "index": { "input": "at" } } } } });
    let program = Engine::new().load(text.to_string().as_bytes()).expect("it is valid");
    let mut live = program.live_columns().expect("it needs only elements");
    live.set_column("at", vec![0_i32, 1, 2]).expect("it fits");
    let failed = live.get("get").expect_err("there is no item 2");
    assert!(matches!(failed, ColumnsError::Failed(_)), "{failed}");
    assert_eq!(live.get("next").expect("it runs").get(2).get::<i32>(), Some(3));
    live.set_element("at", 2, 0_i32).expect("it fits");
    assert_eq!(
        in_full(&live.get("get").expect("all items exist"), None),
        "[f32(5.0), f32(6.0), f32(5.0)]"
    );
}

#[test]
fn scopes_other_than_reductions_over_elements_are_refused() {
    let text = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 0 } },
        "outputs": { "late": { "type": "f64", "from": "late.value" } },
        "nodes": { "t": { "type": "context.time" },
            "sum": { "type": "math.multiply", "in": { "a": from("t"), "b": { "input": "x" } } },
            "late": { "type": "reduce.sum", "set": { "feature": "time" }, "in": { "value": from("sum") } } } });
    let program = Engine::new().load(text.to_string().as_bytes()).expect("it is valid");
    let refused = program.live_columns().expect_err("it needs two moments");
    assert!(refused.to_string().contains("context"), "{refused}");
}

#[test]
fn a_switch_without_elements_has_none() {
    let text = json!({ "millstream": 2,
        "inputs": { "p": { "type": "bool", "default": false }, "y": { "type": "f32", "default": 1 },
            "l": { "type": "list<f32>", "default": [3] } },
        "outputs": { "s": { "type": "f32", "from": "s.value" }, "list": { "type": "list<f32>", "from": "list.value" },
            "spread": { "type": "f32", "from": "spread.value" } },
        "nodes": {
            "s": { "type": "control.switch", "in": { "condition": { "input": "p" },
                "false": { "input": "y" }, "true": from("t") } },
            "t": { "type": "math.sin", "in": { "x": { "input": "y" } } },
            "spread": { "type": "reduce.deviation", "in": { "value": from("s") } },
            "list": { "type": "control.switch", "in": { "condition": { "input": "p" },
                "false": { "input": "l" }, "true": [0] } } } });
    let program = Engine::new().load(text.to_string().as_bytes()).expect("it is valid");
    let mut live = program.live_columns().expect("it needs only elements");
    for condition in [vec![], vec![true], vec![]] {
        let n = condition.len();
        live.set_column("p", condition).expect("it fits");
        for output in ["s", "list"] {
            let data = live.get(output).expect("there are no elements to fail");
            assert!(matches!(&data, Data::Many(column) if column.len() == n), "{output} {data:?}");
        }
        let spread = live.get("spread").expect("it is NaN without elements");
        assert_eq!(spread.get(0).get::<f32>().is_some_and(f32::is_nan), n == 0);
    }
}

#[test]
fn without_elements_nothing_is_needed_that_does_not_vary() {
    let text = b"input x: f32 = 1\ninput at: i32 = 9\nitem = list.get(list.of(several [1, 2]), at)\n\
        output y: f32 = x + item\noutput item: f32 = item\noutput all: f32 = reduce.sum(x) + item\n";
    let program = Engine::new().load(text).expect("it compiles");
    let request = Request::new().column("x", Vec::<f32>::new());
    let answer = program.run(&request.clone().output("y")).expect("it runs");
    assert_eq!((answer.column::<f32>("y"), answer.failures.len()), (Some(vec![]), 0));
    let mut live = program.live_columns().expect("it needs only elements");
    live.set_column("x", Vec::<f32>::new()).expect("it fits");
    let Data::Many(none) = live.get("y").expect("no element needs the item") else { panic!() };
    assert_eq!(none.len(), 0);
    for output in ["item", "all"] {
        live.get(output).expect_err("it does not vary, and fails");
        assert!(
            !program.run(&request.clone().output(output)).expect("it runs").failures.is_empty()
        );
    }
    live.set_column("x", vec![1.0_f32]).expect("it fits");
    live.get("y").expect_err("the item is needed");
    live.set("at", 1).expect("it fits");
    live.get("y").expect("the item is there");
}
