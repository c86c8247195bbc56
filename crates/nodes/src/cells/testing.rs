//! Calling functions over columns in tests: with single values, columns, maps and masks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_base::map::Map;
use millstream_base::{Column, Limits, Mask, Type, Value};
use millstream_node::function::Output;
use millstream_node::{Argument, Call, Data, Failure, Instance, Kernel, Settings};
use serde_json::Value as Json;

/// A node of the library with these settings and generics; `arities` as for `instantiate`, or empty
/// for one source per socket.
pub(crate) fn instance(name: &str, set: &Json, generics: &[Type], arities: &[u16]) -> Instance {
    try_instance(name, set, generics, arities).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Like [`instance`], but returns the error of the settings.
pub(crate) fn try_instance(
    name: &str,
    set: &Json,
    generics: &[Type],
    arities: &[u16],
) -> Result<Instance, String> {
    let registry = crate::registry();
    let def = Arc::clone(registry.get(name).unwrap_or_else(|| panic!("no node {name}")));
    let given = set.as_object().expect("an object").iter().map(|(key, json)| (key.as_str(), json));
    let settings = Settings::read(&def.settings, given, &|name| registry.type_named(name))
        .map_err(|errors| errors[0].to_string())?;
    let n_sockets = def.signature(&settings).map_err(|error| error.to_string())?.inputs.len();
    let ones = vec![1; n_sockets];
    let arities = if arities.is_empty() { &ones } else { arities };
    def.instantiate(settings, generics.to_vec(), arities).map_err(|error| error.to_string())
}

/// The output of a node with `f32` lanes.
pub(crate) fn numbers(name: &str, set: &Json, generics: &[Type], numbers: &[f32]) -> Vec<f32> {
    run_form(&instance(name, set, generics, &[]), numbers)
}

/// The output of an instance with `f32` lanes.
pub(crate) fn run_form(node: &Instance, numbers: &[f32]) -> Vec<f32> {
    let name = node.name();
    let Kernel::Form(form) = &node.kernel else { panic!("{name} is a form") };
    assert_eq!(numbers.len(), form.params.len(), "arguments of {name}");
    let params: Vec<u64> = numbers.iter().map(|x| u64::from(x.to_bits())).collect();
    let mut results = vec![0; form.results.len()];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    results.into_iter().map(|bits| f32::from_bits(bits as u32)).collect()
}

/// An argument of a call: data without other users, and the map from elements to entries.
pub(crate) type Given<'a> = (Data, Map<'a>);

/// One value for all elements.
pub(crate) fn one(value: impl Into<Value>) -> Given<'static> {
    (Data::One(value.into()), Map::Each)
}

/// An entry per element.
pub(crate) fn many(column: impl Into<Column>) -> Given<'static> {
    (Data::Many(column.into()), Map::Each)
}

/// A list of these items.
pub(crate) fn list(items: impl Into<Column>) -> Value {
    Value::List(items.into())
}

/// A column of these lists of one type.
pub(crate) fn lists(lists: &[Value]) -> Column {
    lists[0].ty().collect(&mut lists.iter().cloned()).expect("lists of one type")
}

/// Output 0 of a call.
pub(crate) fn call(
    instance: &Instance,
    given: Vec<Given<'_>>,
    mask: &Mask,
    extent: usize,
    limits: &Limits,
) -> Result<Data, Failure> {
    Ok(outputs(instance, given, mask, extent, limits)?.swap_remove(0))
}

/// All outputs of a node without generics for single values.
pub(crate) fn outputs_of(name: &str, set: &Json, args: Vec<Value>) -> Result<Vec<Value>, Failure> {
    let instance = instance(name, set, &[], &[]);
    let given = args.into_iter().map(one).collect();
    let all = outputs(&instance, given, &Mask::full(1), 1, &Limits::default())?;
    let one = |data| match data {
        Data::One(value) => value,
        Data::Many(_) => panic!("{name} gives one value for single values"),
    };
    Ok(all.into_iter().map(one).collect())
}

/// All outputs of a call.
fn outputs(
    instance: &Instance,
    given: Vec<Given<'_>>,
    mask: &Mask,
    extent: usize,
    limits: &Limits,
) -> Result<Vec<Data>, Failure> {
    let Kernel::Function(function) = &instance.kernel else {
        panic!("{} is a function", instance.name())
    };
    for ((data, _), slot) in given.iter().zip(&instance.inputs) {
        assert_eq!(data.ty(), slot.received(), "an argument of {}", instance.name());
    }
    assert_eq!(given.len(), instance.inputs.len(), "arguments of {}", instance.name());
    let mut arguments: Vec<Argument<'_>> =
        given.into_iter().map(|(data, map)| Argument::owned(data, map)).collect();
    let mut outputs: Vec<Output> = instance.outputs.iter().map(|_| Output::Wanted(None)).collect();
    function.call(&mut Call::new(mask, extent, limits, &mut arguments, &mut outputs))?;
    let set = outputs.into_iter().zip(&instance.outputs).map(|(output, slot)| {
        let Output::Done(data) = output else { panic!("{} sets its outputs", instance.name()) };
        assert_eq!(data.ty(), slot.ty, "an output of {}", instance.name());
        data
    });
    Ok(set.collect())
}

/// The output of a node for single values. Generics are the types of the first argument, or of its
/// items if it is a list.
pub(crate) fn value(name: &str, set: &Json, args: Vec<Value>) -> Result<Value, Failure> {
    let first = args.first().map_or(Type::F32, Value::ty);
    value_of(name, set, first.element().unwrap_or(first), args)
}

/// Like [`value`], with the type of the generic, if the node has one.
pub(crate) fn value_of(
    name: &str,
    set: &Json,
    generic: Type,
    args: Vec<Value>,
) -> Result<Value, Failure> {
    let registry = crate::registry();
    let def = registry.get(name).unwrap_or_else(|| panic!("no node {name}"));
    let n_sockets = def.fixed_signature().map_or(1, |signature| signature.inputs.len());
    let multiple = def
        .fixed_signature()
        .and_then(|signature| signature.inputs.iter().position(|socket| socket.multiple));
    let mut arities = vec![1; n_sockets];
    if let Some(socket) = multiple {
        arities[socket] = (args.len() + 1 - n_sockets) as u16;
    }
    let instance = instance(name, set, &[generic], &arities);
    let given = args.into_iter().map(one).collect();
    match call(&instance, given, &Mask::full(1), 1, &Limits::default())? {
        Data::One(value) => Ok(value),
        Data::Many(_) => panic!("{name} gives one value for single values"),
    }
}

/// The output of a node for single values as text, or the message of its failure.
pub(crate) fn text(name: &str, set: &Json, args: Vec<Value>) -> String {
    value(name, set, args).map_or_else(|failure| failure.message, |value| value.to_string())
}

/// The number of checks for cancellation by a node that is given single values, and its result if
/// the call is cancelled from the `n`th check on.
pub(crate) fn ended_at(
    n: usize,
    instance: &Instance,
    args: Vec<Value>,
) -> (usize, Result<(), Failure>) {
    let Kernel::Function(function) = &instance.kernel else {
        panic!("{} is a function", instance.name())
    };
    let looks = AtomicUsize::new(0);
    let is_over = || looks.fetch_add(1, Ordering::Relaxed) + 1 >= n;
    let args = args.into_iter().map(|value| Argument::owned(Data::One(value), Map::Each));
    let mut args: Vec<Argument<'_>> = args.collect();
    let mut outputs: Vec<Output> = instance.outputs.iter().map(|_| Output::Wanted(None)).collect();
    let (mask, limits) = (Mask::full(1), Limits::default());
    let done = function
        .call(&mut Call::new(&mask, 1, &limits, &mut args, &mut outputs).with_crew(1, &is_over));
    (looks.into_inner(), done)
}
