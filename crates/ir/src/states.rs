//! The state of nodes between ticks, which leaves one evaluation and enters the next.
//!
//! For each variable of a stateful node a plan has an input and an output of the same name, which
//! contains a dot. The state of nodes inside scopes is in tables (see [`element_states`](crate::element_states)).
//! [`States`] holds the state between ticks; cloning it forks the simulation. State that is the same
//! for all elements is one value, no matter which elements an evaluator computed.

use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};
use std::sync::Arc;

use millstream_base::{Column, Mask, Type};
use millstream_node::Data;

use crate::answer::{Answer, Partial};
use crate::element_states::{Table, Tables, committed};
use crate::hidden::node_of;
pub use crate::hidden::{asker, is_state};
use crate::plan::Plan;
use crate::request::{Given, Request, RequestAxis};

/// The state of all nodes of a plan between ticks.
#[derive(Clone, Debug, Default)]
pub struct States {
    values: BTreeMap<Arc<str>, Data>,
    /// The state of nodes inside scopes.
    tables: Tables,
    /// Number of elements of the last tick.
    count: Option<usize>,
    n_ticks: u64,
}

/// Where the next state of a node failed.
enum Held {
    Elements(Mask),
    All,
}

/// The contents of [`States`], for callers that store them.
#[derive(Clone, Debug, Default)]
pub struct StateParts {
    /// The values of hidden inputs, by name.
    pub values: Vec<(Arc<str>, Data)>,
    /// The state of nodes inside scopes, by path.
    pub tables: Vec<(Arc<str>, Arc<Table>)>,
    /// Number of elements of the last tick.
    pub count: Option<usize>,
    /// Number of ticks.
    pub n_ticks: u64,
}

impl From<&States> for StateParts {
    fn from(states: &States) -> Self {
        let values = states.values.iter().map(|(name, data)| (Arc::clone(name), data.clone()));
        let tables =
            states.tables.iter().map(|(node, table)| (Arc::clone(node), Arc::clone(table)));
        Self {
            values: values.collect(),
            tables: tables.collect(),
            count: states.count,
            n_ticks: states.n_ticks,
        }
    }
}

impl From<StateParts> for States {
    fn from(parts: StateParts) -> Self {
        Self {
            values: parts.values.into_iter().collect(),
            tables: Arc::new(parts.tables.into_iter().collect()),
            count: parts.count,
            n_ticks: parts.n_ticks,
        }
    }
}

impl States {
    /// The state before the first tick.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no node has state.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.tables.is_empty()
    }

    /// Number of ticks.
    pub fn n_ticks(&self) -> u64 {
        self.n_ticks
    }

    /// Size of all values in bytes.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(Arc<str>, Data)>();
        let values = self.values.values().map(|data| entry + data.bytes());
        values.chain(self.tables.values().map(|table| table.bytes())).sum()
    }

    /// The value of a hidden input or output; `None` for state of nodes inside scopes.
    pub fn value(&self, name: &str) -> Option<&Data> {
        self.values.get(name)
    }

    /// The values of all hidden inputs, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &Data> {
        self.values.values()
    }

    /// Sets the state for this many elements to these values, sorted by the names of hidden inputs.
    /// State of nodes inside scopes is dropped.
    pub fn commit_values(&mut self, values: Vec<(Arc<str>, Data)>, count: Option<usize>) {
        let names = values.iter().map(|(name, _)| name);
        if self.values.keys().eq(names) {
            for (kept, (_, value)) in self.values.values_mut().zip(values) {
                *kept = normal(value);
            }
        } else {
            let values = values.into_iter().map(|(name, value)| (name, normal(value)));
            self.values = values.collect();
        }
        (self.tables, self.count) = (Tables::default(), count);
        self.n_ticks += 1;
    }

    /// The value of a hidden input of this type for a number of elements, if there is state.
    /// Elements beyond those of the last tick start without state; that of elements which no longer
    /// exist is dropped.
    pub fn value_for(&self, name: &str, ty: Type, count: Option<usize>) -> Option<Data> {
        let kept = self.values.get(name).filter(|kept| kept.ty() == ty)?;
        match self.for_elements(kept, count) {
            Data::Many(_) if count.is_none() => None,
            data => Some(data),
        }
    }

    /// The request with the state as inputs, see [`value_for`](Self::value_for).
    pub fn given_to(&self, plan: &Plan, request: Request) -> Request {
        let count = request.n_elements();
        let mut request = request.with_kept(Arc::clone(&self.tables));
        for input in plan.inputs.as_slice().iter().filter(|input| is_state(&input.name)) {
            let given = match self.value_for(&input.name, input.ty, count) {
                Some(Data::One(value)) => Given::One(value),
                Some(Data::Many(column)) => Given::Along(RequestAxis::Index, column),
                None => continue,
            };
            request = request.given(input.name.to_string(), given);
        }
        request
    }

    /// A value of state for a number of elements, see [`value_for`](Self::value_for). Without
    /// elements, a column stays as it is.
    fn for_elements(&self, kept: &Data, count: Option<usize>) -> Data {
        match (kept, self.count, count) {
            (Data::One(value), Some(before), Some(now)) if now > before => {
                Data::Many(longer(&Column::filled(value, before), now))
            }
            (Data::Many(column), _, Some(now)) if now > column.len() => {
                Data::Many(longer(column, now))
            }
            (Data::Many(column), _, Some(now)) if now < column.len() => {
                Data::Many(column.slice(0..now))
            }
            (Data::One(_) | Data::Many(_), _, _) => kept.clone(),
        }
    }

    /// Takes the new state out of an answer, with all hidden outputs. An element keeps its old state
    /// of a node if any part of the new one failed, as does a node whose state is one value or is in
    /// scopes; all other state advances. Returns whether none failed.
    pub fn commit(&mut self, answer: &mut Answer) -> bool {
        let calls = std::mem::take(&mut answer.calls);
        let mut values = BTreeMap::new();
        let mut failed: BTreeMap<Arc<str>, Held> = BTreeMap::new();
        answer.outputs.retain_mut(|output| {
            if !is_state(&output.name) {
                return true;
            }
            let name = Arc::clone(&output.name);
            match (output.value.take(), output.partial.take()) {
                (Some(series), _) => drop(values.insert(name, normal(series.data))),
                (None, Some(partial)) => {
                    let Partial { series, missing, .. } = *partial;
                    let held = failed.entry(node_of(&name).into());
                    let held = held.or_insert_with(|| Held::Elements(Mask::empty()));
                    if let Held::Elements(elements) = held {
                        *elements = elements.union(&missing);
                    }
                    values.insert(name, series.data);
                }
                (None, None) => drop(failed.insert(node_of(&name).into(), Held::All)),
            }
            false
        });
        let is_whole = failed.is_empty() && calls.failed.is_empty();
        for (node, held) in failed {
            self.hold(&node, &held, &mut values, answer.count);
        }
        self.values = values;
        self.tables = committed(&self.tables, calls);
        self.count = answer.count;
        self.n_ticks += 1;
        is_whole
    }

    /// Replaces the next state of a node by the present one, where it failed.
    fn hold(
        &self,
        node: &str,
        held: &Held,
        values: &mut BTreeMap<Arc<str>, Data>,
        count: Option<usize>,
    ) {
        let old = |name: &Arc<str>| Some(self.for_elements(self.values.get(name)?, count));
        let (Held::Elements(elements), Some(n)) = (held, count) else {
            values.retain(|name, _| node_of(name) != node);
            for name in self.names_at(node) {
                values.extend(old(name).map(|old| (Arc::clone(name), normal(old))));
            }
            return;
        };
        for (name, data) in values.iter_mut().filter(|(name, _)| node_of(name) == node) {
            let ty = data.ty();
            let column = |data: Data| match data {
                Data::One(value) => Column::filled(&value, n),
                Data::Many(column) => column,
            };
            // The default of the type stands for no state.
            let old = old(name).filter(|old| old.ty() == ty);
            let old = old.unwrap_or_else(|| Data::One(ty.default_value()));
            let mut next = column(data.clone());
            next.overwrite(elements, &column(old), |element| element);
            *data = normal(Data::Many(next));
        }
    }

    /// Removes and returns the state of the nodes at these paths.
    pub fn take<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut taken = Self { count: self.count, n_ticks: self.n_ticks, ..Self::default() };
        for path in paths {
            let names: Vec<Arc<str>> = self.names_at(path).map(Arc::clone).collect();
            taken.values.extend(names.iter().filter_map(|name| self.values.remove_entry(name)));
            if self.tables.contains_key(path) {
                let table = Arc::make_mut(&mut self.tables).remove_entry(path);
                Arc::make_mut(&mut taken.tables).extend(table);
            }
        }
        taken
    }

    /// The state under new paths: `renamed` maps the path of a node to its new one, or to `None` if
    /// the node was removed.
    pub fn renamed(&self, renamed: impl Fn(&str) -> Option<String>) -> Self {
        let values = self.values.iter().filter_map(|(name, data)| {
            let (path, variable) = name.rsplit_once('.')?;
            Some((format!("{}.{variable}", renamed(path)?).into(), data.clone()))
        });
        let tables = self
            .tables
            .iter()
            .filter_map(|(node, table)| Some((renamed(node)?.into(), Arc::clone(table))));
        let tables = Arc::new(tables.collect());
        Self { values: values.collect(), tables, count: self.count, n_ticks: self.n_ticks }
    }

    /// The names of the variables of the node at a path, without its tables. Names of variables
    /// have no dots.
    fn names_at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let first = format!("{path}.");
        let names = self.values.range::<str, _>((Included(&*first), Unbounded));
        let names = names.map(|(name, _)| name);
        names.take_while(move |name| name.rsplit_once('.').is_some_and(|(node, _)| node == path))
    }

    /// Adds the state of nodes from `others` that have none here.
    pub fn extend(&mut self, others: &Self) {
        let is_new =
            |node: &str| self.names_at(node).next().is_none() && !self.tables.contains_key(node);
        let is_empty = self.values.is_empty() && self.tables.is_empty();
        let others = others.renamed(|node| is_new(node).then(|| node.to_owned()));
        self.values.extend(others.values);
        if !others.tables.is_empty() {
            let tables = Arc::make_mut(&mut self.tables);
            for (node, table) in others.tables.iter() {
                tables.insert(Arc::clone(node), Arc::clone(table));
            }
        }
        // Without elements in the last tick, the values here hold for any number of them.
        if is_empty {
            self.count = others.count;
        }
    }

    /// The nodes with state, by path, each with the sorted names of its variables.
    pub fn nodes(&self) -> BTreeMap<&str, Vec<&str>> {
        let of_tables = self
            .tables
            .iter()
            .flat_map(|(node, table)| table.values.iter().map(|(name, _)| (&**node, &**name)));
        by_node(self.values.keys().filter_map(|name| name.rsplit_once('.')).chain(of_tables))
    }
}

/// The stateful nodes of a plan, as [`States::nodes`].
pub fn nodes_of(plan: &Plan) -> BTreeMap<&str, Vec<&str>> {
    let of_keepers = plan
        .state_writers
        .iter()
        .flat_map(|writer| writer.values.iter().map(|value| (&*writer.node, &*value.name)));
    let inputs = plan.inputs.as_slice().iter();
    by_node(inputs.filter_map(|input| input.name.rsplit_once('.')).chain(of_keepers))
}

fn by_node<'n>(
    variables: impl Iterator<Item = (&'n str, &'n str)>,
) -> BTreeMap<&'n str, Vec<&'n str>> {
    let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, variable) in variables {
        nodes.entry(path).or_default().push(variable);
    }
    for variables in nodes.values_mut() {
        variables.sort_unstable();
    }
    nodes
}

/// A column whose elements are all the same as one value, other data as they are.
fn normal(data: Data) -> Data {
    match data {
        Data::Many(column) if (1..column.len()).all(|i| column.same_at(i, &column, 0)) => {
            if column.is_empty() { Data::Many(column) } else { Data::One(column.get(0)) }
        }
        other => other,
    }
}

/// The column extended by defaults, which stand for no state.
fn longer(column: &Column, n: usize) -> Column {
    let ty = column.ty();
    let rest = Column::filled(&ty.default_value(), n - column.len());
    Column::concat(ty, &[column.clone(), rest]).expect("both columns are of the type")
}
