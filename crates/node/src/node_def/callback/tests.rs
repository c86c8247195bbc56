//! Calls of callbacks: buffers that are reused, lists under masks, and node types whose
//! declarations contradict each other.

use std::sync::Arc;

use millstream_base::map::Map;
use millstream_base::{Column, Feature, Limits, Mask, Type, Value};

use crate::function::Output;
use crate::{
    Argument, Call, CallbackContext, Data, Failure, Kernel, NodeDef, Registry, Settings, Stop,
};

fn list() -> Type {
    Type::F32.list().expect("there are lists of numbers")
}

/// Runs the callback of a node type with one input.
fn ran(
    def: NodeDef,
    run: impl Fn(&mut CallbackContext<'_>) -> Result<(), Stop> + Send + Sync + 'static,
    input: Data,
    (mask, extent): (&Mask, usize),
    limits: &Limits,
) -> Result<Data, Failure> {
    let def = Registry::new().register(def.callback(run));
    let made = def.instantiate(Settings::default(), Vec::new(), &[1]).expect("it has an instance");
    let Kernel::Function(function) = &made.kernel else { panic!("it is a function") };
    let (mut inputs, mut outputs) = ([Argument::owned(input, Map::Each)], [Output::Wanted(None)]);
    function.call(&mut Call::new(mask, extent, limits, &mut inputs, &mut outputs))?;
    match outputs {
        [Output::Done(data)] => Ok(data),
        other => panic!("{other:?}"),
    }
}

fn address(data: &Data) -> *const f32 {
    match data {
        Data::Many(column) => match column.as_ragged() {
            Some(lists) => lists.values().as_slice::<f32>().expect("numbers").as_ptr(),
            None => column.as_slice::<f32>().expect("numbers").as_ptr(),
        },
        Data::One(_) => panic!("it is a column"),
    }
}

#[test]
fn a_mutable_input_becomes_the_output_without_a_copy() {
    let def =
        NodeDef::new("my.more", "").input("x", Type::F32, "").mutable().output("x", Type::F32, "");
    let input = Data::Many(Column::from_vec(vec![1.0_f32, 2.0, 3.0]));
    let before = address(&input);
    let more = |cx: &mut CallbackContext<'_>| cx.edit::<f32>("x").map(|x| *x += 1.0);
    let found =
        ran(def, more, input, (&Mask::range(0..3), 3), &Limits::default()).expect("it runs");
    assert_eq!(address(&found), before);
    let Data::Many(found) = found else { panic!("it is a column") };
    assert_eq!(found.as_slice::<f32>(), Some(&[2.0, 3.0, 4.0][..]));
}

#[test]
fn a_mutable_list_is_edited_where_it_lies() {
    let def = NodeDef::new("my.more", "").input("x", list(), "").mutable().output("x", list(), "");
    let lists = millstream_base::ragged::Ragged::new(
        vec![0, 2, 3],
        Column::from_vec(vec![1.0_f32, 2.0, 3.0]),
    );
    let input = Data::Many(Column::from_ragged(lists.expect("the offsets fit")));
    let before = address(&input);
    let more = |cx: &mut CallbackContext<'_>| {
        cx.edit_list::<f32>("x")?.iter_mut().for_each(|x| *x *= 2.0);
        Ok(())
    };
    let found =
        ran(def, more, input, (&Mask::range(1..2), 2), &Limits::default()).expect("it runs");
    assert_eq!(address(&found), before);
    assert_eq!(found.get(0).to_string(), "[1.0, 2.0]", "it is not asked for");
    assert_eq!(found.get(1).to_string(), "[6.0]");
    let def = NodeDef::new("my.more", "").input("x", list(), "").mutable().output("x", list(), "");
    let set = |cx: &mut CallbackContext<'_>| cx.set_list("x", [1.0_f32]);
    let input = Data::One(Value::List(Column::from_vec(vec![1.0_f32, 2.0])));
    let failure = ran(def, set, input, (&Mask::range(0..2), 2), &Limits::default());
    let message = failure.expect_err("its length would change").message;
    assert_eq!(message, "`my.more` sets `x`, a list that it edits");
}

#[test]
fn lists_are_set_for_the_elements_of_the_mask_and_may_be_set_again() {
    let def = || NodeDef::new("my.upto", "").input("n", Type::I32, "").output("value", list(), "");
    let upto = |cx: &mut CallbackContext<'_>| {
        let n = cx.get::<i32>("n")?;
        cx.set_list("value", std::iter::repeat_n(9.0_f32, 5))?;
        if n == 2 {
            return cx.set_value("value", Value::List(Column::from_vec(vec![7.0_f32])));
        }
        cx.set_list("value", (0..n).map(|i| i as f32))
    };
    let input = || Data::Many(Column::from_vec(vec![1_i32, 3, 0, 2, 1]));
    let mask = Mask::from_bools(&[false, true, false, true, true]);
    let found = ran(def(), upto, input(), (&mask, 5), &Limits::default()).expect("it runs");
    let shown: Vec<String> = [1, 3, 4].map(|i| found.get(i).to_string()).into();
    assert_eq!(shown, ["[0.0, 1.0, 2.0]", "[7.0]", "[0.0]"]);
    let few = Limits { list_length: 4, ..Limits::default() };
    let failure = ran(def(), upto, input(), (&mask, 5), &few).expect_err("it is too long");
    assert_eq!(failure.element, Some(1));
    assert_eq!(failure.message, "5 items in one list, the limit is 4");
}

fn refused(def: NodeDef) -> String {
    let register = std::panic::AssertUnwindSafe(|| Registry::new().register(def));
    let panicked = std::panic::catch_unwind(register).expect_err("it is refused");
    panicked.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn node_types_that_contradict_themselves_are_refused_when_they_are_registered() {
    let def = || NodeDef::new("my.odd", "").output("value", Type::F32, "");
    let run = |_: &mut CallbackContext<'_>| Ok(());
    assert_eq!(
        refused(def().needs(&["x"]).callback(run)),
        "`my.odd`: output `value` needs `x`, which is not an input"
    );
    let input = || def().input("x", Type::F32, "");
    assert_eq!(
        refused(input().needs(&["x"]).keeps("s", Type::F32).callback(run)),
        "`my.odd`: output `value` declares what it needs, which nodes with state cannot"
    );
    assert_eq!(
        refused(input().multiple().lazy().callback(run)),
        "`my.odd`: input `x` cannot be lazy, because it takes several values"
    );
    let many = |n: usize| {
        (0..n).fold(def(), |def, i| def.input(format!("x{i}"), Type::F32, "").lazy()).callback(run)
    };
    assert_eq!(
        refused(many(9)),
        "`my.odd`: there are 9 lazy inputs, and a callback asks for at most 8 one by one: declare a \
         selector"
    );
    assert_eq!(
        refused(many(30).selector(|_| Ok(&[]))),
        "`my.odd`: there are 30 lazy inputs, at most 29 can be"
    );
    let closure = NodeDef::from_closure("my.odd", "", &["x"], |x: f32| x).reads(Feature::Time);
    assert_eq!(
        refused(closure),
        "`my.odd`: only node types with a callback declare reads, state, lazy inputs and needs"
    );
    assert_eq!(
        refused(NodeDef::from_closure("my.odd", "", &["x"], |x: f32| x).lazy()),
        "`my.odd`: only node types with a callback declare reads, state, lazy inputs and needs"
    );
    let generic = NodeDef::new("my.odd", "")
        .generic("T", crate::Among::Any)
        .input("x", crate::SocketType::Generic(0), "")
        .output("value", crate::SocketType::Generic(0), "")
        .needs(&["x"]);
    assert_eq!(
        refused(generic.callback(run)),
        "`my.odd`: output `value` declares what it needs, so its type must not depend on inputs"
    );
}

#[test]
fn parts_of_a_node_are_named_after_what_they_do() {
    let def = NodeDef::new("my.wave", "")
        .input("a", Type::F32, "")
        .lazy()
        .input("at", Type::F64, "")
        .input("value", Type::F32, "")
        .injects(Feature::Time, "at")
        .reads(Feature::Index)
        .output("value", Type::F32, "")
        .callback(|cx| cx.set("value", cx.get::<f32>("a")?));
    let def = Registry::new().register(def);
    let made =
        def.instantiate(Settings::default(), Vec::new(), &[1; 3]).expect("it has an instance");
    let parts = &made.network.as_ref().expect("it is a network").parts;
    let named: Vec<(&str, &str)> = parts.iter().map(|it| (&*it.name, it.instance.name())).collect();
    assert_eq!(
        named,
        [
            ("value", "my.wave_in"),
            ("index", "callback.read"),
            ("ask1", "my.wave_ask"),
            ("a1", "state.pick"),
            ("", "my.wave_call"),
        ]
    );
    assert!(Arc::ptr_eq(&made.def, &def));
}
