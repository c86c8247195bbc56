//! A plan as a live graph of values and columns, without a document.

use std::sync::Arc;

use millstream_base::{Column, Feature, Type, Value};
use millstream_ir::plan::{Plan, PlanOutput};
use millstream_ir::request::hint;
use millstream_node::Data;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Holds, LiveProgram, NotNumbers};
use crate::live::special::Special;
use crate::live::{LiveGraph, NoValue, NodeNumber};

/// A plan as a live graph whose inputs and outputs are values of any type, or columns with a value
/// for each of a number of elements. Where few elements of an input change, only what depends on
/// them runs again.
///
/// Setting computes nothing. The elements are those of the inputs that are columns, or as many as
/// [`set_count`](Self::set_count) says.
///
/// If a node fails for one element, all that depends on it has no value. A choice between arms
/// computes the arms that any element takes, for all elements.
///
/// The plan is not needed afterwards.
#[derive(Debug)]
pub struct LiveColumns {
    live: LiveProgram,
    inputs: FxHashMap<Arc<str>, Input>,
    outputs: FxHashMap<Arc<str>, (NodeNumber, Type)>,
    /// The number of elements that is set.
    count: Option<usize>,
    /// The number for which the graph has the numbers of the elements.
    n_numbered: Option<usize>,
}

#[derive(Debug)]
struct Input {
    ty: Type,
    /// The source; `None` if nothing reads the input.
    node: Option<NodeNumber>,
    /// The number of elements, if it is a column.
    n: Option<usize>,
}

/// The reason why a [`LiveColumns`] did not do something.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum ColumnsError {
    /// There is no input or output of this name.
    #[error("there is no {what} called `{name}`")]
    #[diagnostic(code(live::unknown_name), help("{hint}"))]
    Unknown {
        /// `input` or `output`.
        what: &'static str,
        /// The unknown name.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
    /// A value has another type than the input.
    #[error("input `{name}` takes {expected}, not {found}")]
    #[diagnostic(code(live::other_type), help("convert the value first"))]
    Type {
        /// The input.
        name: String,
        /// Its type.
        expected: Type,
        /// The type of the value.
        found: Type,
    },
    /// The element that was set does not exist.
    #[error("input `{name}` has no element {element}")]
    #[diagnostic(
        code(live::no_element),
        help("set the input to a column with that many elements first")
    )]
    NoElement {
        /// The input.
        name: String,
        /// The element.
        element: usize,
    },
    /// Two inputs are columns of different lengths.
    #[error("{longer} has {most} elements, but {shorter} has {least}")]
    #[diagnostic(code(live::lengths), help("set both to columns of one length, or to one value"))]
    Lengths {
        /// One of them.
        longer: String,
        /// Its number of elements.
        most: usize,
        /// The other.
        shorter: String,
        /// Its number of elements.
        least: usize,
    },
    /// The output has no value.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Failed(#[from] NoValue),
}

impl LiveColumns {
    /// The plan as a live graph. Inputs have their defaults; features, and inputs without a
    /// default, have the default of their type.
    ///
    /// # Errors
    /// If a step needs more than the elements and one moment: state for each element, closures, or
    /// a changed context other than a reduction over the elements.
    pub fn new(plan: &Plan) -> Result<Self, NotNumbers> {
        let live = LiveProgram::made(plan, Holds::Columns)?;
        let input = |(id, input): (_, &millstream_ir::graph::GraphInput)| {
            let known = Input { ty: input.ty, node: live.inputs[id], n: None };
            (Arc::clone(&input.name), known)
        };
        let output = |output: &PlanOutput| {
            (Arc::clone(&output.name), (live.output_node(output.source), output.ty))
        };
        let inputs = plan.inputs.iter().map(input).collect();
        let outputs = plan.outputs.iter().map(output).collect();
        Ok(Self { live, inputs, outputs, count: None, n_numbered: None })
    }

    /// Sets an input to one value for all elements.
    ///
    /// # Errors
    /// If there is no such input, or the value has another type.
    pub fn set(&mut self, input: &str, value: impl Into<Value>) -> Result<(), ColumnsError> {
        self.set_data(input, &Data::One(value.into()))
    }

    /// Sets an input to a column.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_column(
        &mut self,
        input: &str,
        column: impl Into<Column>,
    ) -> Result<(), ColumnsError> {
        self.set_data(input, &Data::Many(column.into()))
    }

    fn set_data(&mut self, input: &str, data: &Data) -> Result<(), ColumnsError> {
        let known = self.input(input, data.ty())?;
        known.n = match data {
            Data::One(_) => None,
            Data::Many(column) => Some(column.len()),
        };
        if let Some(node) = known.node {
            self.live.graph.set_data(node, data);
        }
        Ok(())
    }

    /// Sets one element of an input that is a column. Unlike a whole column, it is not compared
    /// with the elements before.
    ///
    /// # Errors
    /// As [`set`](Self::set), and if there is no such element.
    pub fn set_element(
        &mut self,
        input: &str,
        element: usize,
        value: impl Into<Value>,
    ) -> Result<(), ColumnsError> {
        let value = value.into();
        let known = self.input(input, value.ty())?;
        if known.n.is_none_or(|n| element >= n) {
            return Err(ColumnsError::NoElement { name: input.into(), element });
        }
        if let Some(node) = known.node {
            self.live.graph.set_element(node, element, &value);
        }
        Ok(())
    }

    /// Sets the number of elements for the case that no input is a column; `None` for no elements.
    pub fn set_count(&mut self, count: Option<usize>) {
        self.count = count;
    }

    /// Sets a feature of the context, such as the time; false if nothing reads it.
    ///
    /// # Panics
    /// If the value has another type than the feature.
    pub fn set_feature(&mut self, feature: &Feature, value: impl Into<Value>) -> bool {
        let value = value.into();
        assert_eq!(value.ty(), feature.ty(), "a feature has a value of its type");
        let node = self.live.feature_node(feature);
        node.inspect(|node| self.live.graph.set_value(*node, &value)).is_some()
    }

    /// The value or column of an output. It is a column if it may differ between elements.
    ///
    /// An output that is not [observed](Self::observe) costs a walk over all nodes that it depends
    /// on.
    ///
    /// # Errors
    /// If there is no such output, inputs are columns of different lengths, or a node failed.
    pub fn get(&mut self, output: &str) -> Result<Data, ColumnsError> {
        let (node, ty) = self.output(output)?;
        let n = self.n_elements()?;
        self.number_elements(n);
        let graph = &mut self.live.graph;
        if n == Some(0) && graph.has_elements(node) {
            // As in a plan, no element needs what does not vary.
            let none = ty.collect(&mut std::iter::empty());
            return Ok(Data::Many(none.expect("no value has another type")));
        }
        let is_observed = graph.is_observed(node);
        graph.observe_number(node, true);
        graph.settle();
        let data = graph.data(node, ty);
        let why = graph.why_none(node.0);
        graph.observe_number(node, is_observed);
        match (data, why) {
            (Some(data), None) => Ok(data),
            (_, Some(why)) => Err(why.into()),
            (None, None) => panic!("a node without a value failed"),
        }
    }

    /// Keeps an output up to date: from now on [`get`](Self::get) of any output updates it.
    ///
    /// # Errors
    /// If there is no such output.
    pub fn observe(&mut self, output: &str) -> Result<(), ColumnsError> {
        let (node, _) = self.output(output)?;
        self.live.graph.observe_number(node, true);
        Ok(())
    }

    /// Ends [`observe`](Self::observe).
    ///
    /// # Errors
    /// If there is no such output.
    pub fn unobserve(&mut self, output: &str) -> Result<(), ColumnsError> {
        let (node, _) = self.output(output)?;
        self.live.graph.observe_number(node, false);
        Ok(())
    }

    /// Lets nodes that failed run again at the next [`get`](Self::get).
    pub fn try_failed_again(&mut self) {
        self.live.graph.try_failed_again();
    }

    /// Number of node runs so far.
    pub fn n_runs(&self) -> u64 {
        self.live.graph.n_runs()
    }

    fn input(&mut self, name: &str, found: Type) -> Result<&mut Input, ColumnsError> {
        if !self.inputs.contains_key(name) {
            return Err(unknown("input", name, self.inputs.keys()));
        }
        let input = self.inputs.get_mut(name).expect("it was just found");
        if input.ty != found {
            let (name, expected) = (name.into(), input.ty);
            return Err(ColumnsError::Type { name, expected, found });
        }
        Ok(input)
    }

    fn output(&self, name: &str) -> Result<(NodeNumber, Type), ColumnsError> {
        let known = self.outputs.get(name).copied();
        known.ok_or_else(|| unknown("output", name, self.outputs.keys()))
    }

    /// The number of elements.
    fn n_elements(&self) -> Result<Option<usize>, ColumnsError> {
        let columns = self.inputs.iter().filter_map(|(name, input)| Some((input.n?, name)));
        let columns = columns.map(|(n, name)| (n, format!("input `{name}`")));
        let mut all: Vec<(usize, String)> = columns.collect();
        all.extend(self.count.map(|n| (n, "the count".into())));
        all.sort();
        match (all.first(), all.last()) {
            (Some((least, shorter)), Some((most, longer))) if least < most => {
                let (longer, shorter) = (longer.clone(), shorter.clone());
                Err(ColumnsError::Lengths { longer, most: *most, shorter, least: *least })
            }
            (first, _) => Ok(first.map(|(n, _)| *n)),
        }
    }

    /// Sets the sources that depend on the number of elements.
    fn number_elements(&mut self, n: Option<usize>) {
        if self.n_numbered == n {
            return;
        }
        self.n_numbered = n;
        let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        if let Some(node) = self.live.n_elements {
            self.live.graph.set_value(node, &Value::I32(number(n.unwrap_or(1))));
        }
        if let Some(node) = self.live.feature_node(&Feature::Index) {
            let numbers = match n {
                Some(n) => Data::Many(Column::range(0..number(n))),
                None => Data::One(Value::I32(0)),
            };
            self.live.graph.set_data(node, &numbers);
        }
    }
}

fn unknown<'n>(
    what: &'static str,
    name: &str,
    known: impl Iterator<Item = &'n Arc<str>>,
) -> ColumnsError {
    let mut known: Vec<&str> = known.map(|name| &**name).collect();
    known.sort_unstable();
    let (none, all) = (format!("the graph has no {what}s"), format!("{what}s"));
    let hint = hint(name, known.into_iter(), &none, &all);
    ColumnsError::Unknown { what, name: name.into(), hint }
}

impl LiveGraph {
    /// Whether the data of a node has a value for each element: some column leads to it, other than
    /// through nodes that read all of its elements.
    fn has_elements(&self, of: NodeNumber) -> bool {
        let (mut ahead, mut seen) = (vec![of.0], FxHashSet::default());
        while let Some(node) = ahead.pop() {
            if !seen.insert(node) {
                continue;
            }
            let is_source = self.nodes[node as usize].is_source();
            if is_source && matches!(self.boxes.of(&self.nodes[node as usize]), Some(Data::Many(_)))
            {
                return true;
            }
            match self.special_at(node) {
                Some(Special::Call(call)) if call.gathers() => {
                    let inputs = call.inputs.iter().zip(&call.instance.inputs);
                    ahead.extend(
                        inputs.filter(|(_, slot)| !slot.gathers()).map(|(input, _)| *input),
                    );
                }
                _ => ahead.extend(self.inputs_of(node)),
            }
        }
        false
    }

    fn is_observed(&self, of: NodeNumber) -> bool {
        self.nodes[of.index()].flags.has(crate::live::node::Flags::OBSERVED)
    }
}
