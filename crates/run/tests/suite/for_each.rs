//! Groups that run item by item of lists: every evaluator gives the results of a loop written by
//! hand.

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Limits, Value};
use millstream_ir::Request;
use serde_json::{Value as Json, json};

use crate::repeat::{column, evaluators, expect, expression, plan, try_plan};

/// A document with one loop over items, `loop`, some of whose outputs are those of the document.
fn document(group: &Json, set: &Json, sockets: &Json, outputs: &[(&str, &str)]) -> Json {
    let outputs: serde_json::Map<String, Json> = outputs
        .iter()
        .map(|(name, ty)| ((*name).to_owned(), json!({"type": ty, "from": format!("loop.{name}")})))
        .collect();
    json!({
        "millstream": 2, "outputs": outputs,
        "inputs": {"l": {"type": "list<f32>"}, "m": {"type": "list<f32>", "default": []},
            "k": {"type": "f32", "default": 2}},
        "nodes": {"loop": {"type": "for_each", "group": "body", "set": set, "in": sockets}},
        "groups": {"body": group},
    })
}

fn lists(lists: &[&[f32]]) -> Column {
    let mut offsets = vec![0];
    let mut values: Vec<f32> = Vec::new();
    for list in lists {
        values.extend_from_slice(list);
        offsets.push(values.len());
    }
    Column::from_ragged(Ragged::new(offsets, values.into()).expect("they ascend"))
}

/// One list for all elements.
fn items(items: &[f32]) -> Value {
    Value::List(Column::from_vec(items.to_vec()))
}

fn is(ty: &str, from: &str) -> Json {
    json!({"type": ty, "from": from})
}

/// Scales x and returns the position and the sum so far.
fn scaled() -> Json {
    json!({
        "inputs": {"x": {"type": "f32"}, "k": {"type": "f32"}},
        "outputs": {"y": is("f32", "y.value"), "at": is("i32", "at.value")},
        "nodes": {"y": expression("x * k", &[("x", "x"), ("k", "k")]),
            "at": {"type": "context.index"}},
    })
}

#[test]
fn a_loop_maps_the_items_of_each_element() {
    let sockets = json!({"x": {"input": "l"}, "k": {"input": "k"}});
    let outputs = [("y", "list<f32>"), ("at", "list<i32>")];
    let document = document(&scaled(), &json!({"items": ["x"]}), &sockets, &outputs);
    let given = lists(&[&[1.0, 2.0, 3.0], &[], &[4.0]]);
    let request = Request::new().column("l", given).column("k", vec![2.0_f32, 3.0, 10.0]);
    expect(&document, &request, "y", lists(&[&[2.0, 4.0, 6.0], &[], &[40.0]]));
    let positions = Ragged::new(vec![0, 3, 3, 4], vec![0, 1, 2, 0].into()).expect("they ascend");
    expect(&document, &request, "at", Column::from_ragged(positions));
    let one = Request::new().set("l", items(&[1.0, 5.0]));
    expect(&document, &one, "y", lists(&[&[2.0, 10.0]]));
    expect(&document, &Request::new().set("l", items(&[])), "y", lists(&[&[]]));
}

#[test]
fn one_list_serves_all_elements() {
    let sockets = json!({"x": {"input": "l"}, "k": {"input": "k"}});
    let document = document(&scaled(), &json!({"items": ["x"]}), &sockets, &[("y", "list<f32>")]);
    let request = Request::new().set("l", items(&[1.0, 2.0])).column("k", vec![1.0_f32, -1.0]);
    expect(&document, &request, "y", lists(&[&[1.0, 2.0], &[-1.0, -2.0]]));
}

/// Collects, carries, filters, sorts and ends: the sum of items up to a negative one.
fn running() -> Json {
    json!({
        "inputs": {"x": {"type": "f32"}, "sum": {"type": "f32", "default": 0},
            "k": {"type": "f32", "default": 0}},
        "outputs": {"sum": is("f32", "sum.value"), "so_far": is("f32", "sum.value"),
            "x": is("f32", "same.value"), "large": is("bool", "large.value"),
            "go": is("bool", "go.value"), "key": is("f32", "key.value")},
        "nodes": {
            "sum": expression("sum + x", &[("sum", "sum"), ("x", "x")]),
            "same": expression("x + 0", &[("x", "x")]),
            "key": expression("k - x", &[("x", "x"), ("k", "k")]),
            "large": {"type": "compare.greater", "in": {"a": {"input": "x"}, "b": 1}},
            "go": {"type": "compare.greater", "in": {"a": {"input": "x"}, "b": -1}},
        },
    })
}

fn given() -> Column {
    lists(&[&[3.0, 1.0, 2.0], &[], &[5.0, -7.0, 9.0], &[2.0, 2.0, 4.0, 0.5]])
}

#[test]
fn a_loop_folds_and_scans() {
    let sockets = json!({"x": {"input": "l"}});
    let outputs = [("sum", "f32"), ("so_far", "list<f32>")];
    let document = document(&running(), &json!({"items": ["x"]}), &sockets, &outputs);
    let request = Request::new().column("l", given());
    expect(&document, &request, "sum", vec![6.0_f32, 0.0, 7.0, 8.5]);
    let so_far = lists(&[&[3.0, 4.0, 6.0], &[], &[5.0, -2.0, 7.0], &[2.0, 4.0, 8.0, 8.5]]);
    expect(&document, &request, "so_far", so_far);
    let one = Request::new().set("l", items(&[1.0, 5.0]));
    expect(&document, &one, "sum", vec![6.0_f32]);
    expect(&document, &one, "so_far", lists(&[&[1.0, 6.0]]));
}

#[test]
fn a_loop_filters_and_sorts_what_it_collects() {
    let sockets = json!({"x": {"input": "l"}});
    let outputs = [("sum", "f32"), ("x", "list<f32>")];
    let set = json!({"items": ["x"], "where": "large", "by": "key"});
    let document = document(&running(), &set, &sockets, &outputs);
    let request = Request::new().column("l", given());
    expect(&document, &request, "x", lists(&[&[3.0, 2.0], &[], &[9.0, 5.0], &[4.0, 2.0, 2.0]]));
    expect(&document, &request, "sum", vec![6.0_f32, 0.0, 7.0, 8.5]);
}

#[test]
fn the_item_that_ends_a_loop_counts() {
    let sockets = json!({"x": {"input": "l"}});
    let outputs = [("sum", "f32"), ("x", "list<f32>"), ("go", "list<bool>")];
    let set = json!({"items": ["x"], "while": "go"});
    let document = document(&running(), &set, &sockets, &outputs);
    let request = Request::new().column("l", given());
    expect(&document, &request, "sum", vec![6.0_f32, 0.0, -2.0, 8.5]);
    let x = lists(&[&[3.0, 1.0, 2.0], &[], &[5.0, -7.0], &[2.0, 2.0, 4.0, 0.5]]);
    expect(&document, &request, "x", x);
}

/// Joins texts, which no form does: the items at one position are a round.
#[test]
fn values_of_any_type_are_carried_from_item_to_item() {
    let group = json!({
        "inputs": {"x": {"type": "f32"}, "text": {"type": "string", "default": ""}},
        "outputs": {"text": is("string", "all.value"), "each": is("string", "all.value"),
            "short": is("bool", "short.value")},
        "nodes": {
            "one": {"type": "string.from_number", "in": {"number": {"input": "x"}, "decimals": 0}},
            "all": {"type": "string.concat", "in": {"texts": [{"input": "text"}, {"from": "one.value"}]}},
            "n": {"type": "string.length", "in": {"text": {"from": "all.value"}}},
            "short": {"type": "compare.less", "in": {"a": {"from": "n.value"}, "b": 3}},
        },
    });
    let sockets = json!({"x": {"input": "l"}});
    let outputs = [("text", "string"), ("each", "list<string>")];
    let set = json!({"items": ["x"], "while": "short", "where": "short"});
    let document = document(&group, &set, &sockets, &outputs);
    let request = Request::new().column("l", lists(&[&[1.0, 2.0], &[], &[3.0, 4.0, 5.0, 6.0]]));
    let text = |text: &str| std::sync::Arc::<str>::from(text);
    expect(&document, &request, "text", vec![text("12"), text(""), text("345")]);
    let each = vec![text("1"), text("12"), text("3"), text("34")];
    let each = Ragged::new(vec![0, 2, 2, 4], each.into()).expect("they ascend");
    expect(&document, &request, "each", Column::from_ragged(each));
}

/// Three nested loops, with the positions outside of each loop.
#[test]
fn loops_see_the_positions_of_those_around_them() {
    let index = |level: i32| json!({"type": "context.index", "set": {"level": level}});
    let document = json!({
        "millstream": 2, "inputs": {"l": {"type": "list<f32>"}},
        "outputs": {"y": is("list<list<list<i32>>>", "loop.y")},
        "nodes": {"loop": {"type": "for_each", "group": "outer", "set": {"items": ["x"]},
            "in": {"x": {"input": "l"}, "all": {"input": "l"}}}},
        "groups": {
            "outer": {"inputs": {"x": {"type": "f32"}, "all": {"type": "list<f32>"}},
                "outputs": {"y": is("list<list<i32>>", "loop.y")},
                "nodes": {"loop": {"type": "for_each", "group": "middle", "set": {"items": ["x"]},
                    "in": {"x": {"input": "all"}, "all": {"input": "all"}}}}},
            "middle": {"inputs": {"x": {"type": "f32"}, "all": {"type": "list<f32>"}},
                "outputs": {"y": is("list<i32>", "loop.y")},
                "nodes": {"loop": {"type": "for_each", "group": "inner", "set": {"items": ["x"]},
                    "in": {"x": {"input": "all"}}}}},
            "inner": {"inputs": {"x": {"type": "f32"}}, "outputs": {"y": is("i32", "y.value")},
                "nodes": {"a": index(3), "b": index(2), "c": index(1), "d": index(0),
                    "y": {"type": "math.expression",
                        "set": {"text": "1000 * a + 100 * b + 10 * c + d"},
                        "in": {"a": {"from": "a.value"}, "b": {"from": "b.value"},
                            "c": {"from": "c.value"}, "d": {"from": "d.value"}}}}},
        },
    });
    let request = Request::new().column("l", lists(&[&[0.5], &[1.0, 2.0]]));
    let inner = vec![0, 1000, 1001, 1010, 1011, 1100, 1101, 1110, 1111];
    let ragged = |offsets: Vec<usize>, of: Column| {
        Column::from_ragged(Ragged::new(offsets, of).expect("they ascend"))
    };
    let lists = ragged(vec![0, 1, 3, 5, 7, 9], inner.into());
    let lists = ragged(vec![0, 1, 3, 5], lists);
    expect(&document, &request, "y", ragged(vec![0, 1, 3], lists));
}

#[test]
fn what_items_cannot_do_is_told_with_place_and_hint() {
    let refusal = |group: Json, set: Json| {
        let sockets = json!({"x": {"input": "l"}});
        try_plan(&document(&group, &set, &sockets, &[]), None).err().unwrap_or_default()
    };
    let told = refusal(running(), json!({}));
    assert!(told.contains("setting `items` is missing"), "{told}");
    let told = refusal(running(), json!({"items": []}));
    assert!(told.contains("it names no input of the group"), "{told}");
    let told = refusal(running(), json!({"items": ["y"]}));
    assert!(told.contains("the group has no input called `y`; inputs: `x`, `sum`"), "{told}");
    for setting in ["where", "by", "while"] {
        let told = refusal(running(), json!({"items": ["x"], setting: "gone"}));
        assert!(told.contains("the group has no output called `gone`; outputs: `sum`"), "{told}");
    }
    let told = refusal(running(), json!({"items": ["x"], "where": "sum"}));
    assert!(
        told.contains("output `sum` of group `body` is f32, but a `for_each` needs bool"),
        "{told}"
    );
    let mut group = running();
    group["outputs"]["k"] = is("bool", "go.value");
    let told = refusal(group, json!({"items": ["x"]}));
    assert!(told.contains("is bool, but the input that it is carried to is f32"), "{told}");
    let mut group = running();
    group["nodes"]["same"] = json!({"type": "state.delay", "in": {"value": {"input": "x"}}});
    let told = refusal(group, json!({"items": ["x"]}));
    assert!(
        told.contains("the group of a `for_each` cannot keep state, but `same` does"),
        "{told}"
    );
    assert!(told.contains("from item to item"), "{told}");
    let mut without = document(&running(), &json!({"items": ["x"]}), &json!({}), &[]);
    let told = try_plan(&without, None).err().unwrap_or_default();
    assert!(told.contains("`x`") && told.contains("a list"), "{told}");
    without["nodes"]["loop"]["in"]["x"] = json!("text");
    assert!(try_plan(&without, None).is_err());
}

#[test]
fn lists_of_different_lengths_fail_where_they_differ() {
    let mut group = scaled();
    group["inputs"]["z"] = json!({"type": "f32"});
    let sockets = json!({"x": {"input": "l"}, "z": {"input": "m"}, "k": 1});
    let set = json!({"items": ["x", "z"]});
    let plan = plan(&document(&group, &set, &sockets, &[("y", "list<f32>")]));
    let request = Request::new()
        .column("l", lists(&[&[1.0], &[1.0, 2.0]]))
        .column("m", lists(&[&[3.0], &[4.0]]));
    for mut evaluator in evaluators() {
        let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
        let [failure] = &answer.failures[..] else { panic!("{:?}", answer.failures) };
        let told = failure.to_string();
        assert!(told.contains("`x` has 2 items, `z` has 1"), "{told}");
    }
}

#[test]
fn more_items_than_the_limit_fail() {
    let sockets = json!({"x": {"input": "l"}, "k": 1});
    let plan =
        plan(&document(&scaled(), &json!({"items": ["x"]}), &sockets, &[("y", "list<f32>")]));
    let limits = Limits { list_length: 100, ..Limits::default() };
    let many = vec![1.0_f32; 60];
    let request = Request::new().column("l", lists(&[&many, &many])).with_limits(limits);
    for mut evaluator in evaluators() {
        let answer = evaluator.evaluate(&plan, &request);
        let told = match answer {
            Ok(answer) => answer.failures[0].to_string(),
            Err(error) => error.to_string(),
        };
        assert!(told.contains("the limit is 100"), "{told}");
    }
}

#[test]
fn a_failing_item_names_its_element_and_item() {
    let group = json!({
        "inputs": {"x": {"type": "f32"}, "all": {"type": "list<f32>"}},
        "outputs": {"y": is("f32", "item.value")},
        "nodes": {
            "at": {"type": "convert.to_i32", "in": {"x": {"input": "x"}}},
            "item": {"type": "list.get", "in": {"list": {"input": "all"}, "index": {"from": "at.value"}}},
        },
    });
    let sockets = json!({"x": {"input": "l"}, "all": {"input": "l"}});
    let plan = plan(&document(&group, &json!({"items": ["x"]}), &sockets, &[("y", "list<f32>")]));
    let request = Request::new().column("l", lists(&[&[0.0], &[1.0, 0.0, 7.0]]));
    for mut evaluator in evaluators() {
        let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
        let told = answer.failures[0].to_string();
        assert!(told.ends_with("(at index 1, item 2)"), "{}: {told}", evaluator.name());
    }
}

#[test]
fn a_loop_over_a_million_items_is_one_column() {
    let sockets = json!({"x": {"input": "l"}, "k": {"input": "k"}});
    let plan =
        plan(&document(&scaled(), &json!({"items": ["x"]}), &sockets, &[("y", "list<f32>")]));
    let many: Vec<f32> = (0..1_000_000).map(|i| i as f32).collect();
    let request = Request::new().set("l", items(&many));
    for mut evaluator in evaluators() {
        let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
        let found = column(&answer, "y");
        let found = found.as_ragged().and_then(|lists| lists.slice::<f32>(0)).expect("a list");
        assert!(found.iter().zip(&many).all(|(y, x)| *y == x * 2.0), "{}", evaluator.name());
    }
}
