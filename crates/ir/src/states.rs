//! What nodes keep from one tick to the next: the values that go out of one evaluation and come
//! into the next.
//!
//! A plan has for each value that a node keeps an input and an output of one name, with a point in
//! it; what nodes inside scopes keep lies in tables (see [`keeping`](crate::keeping)). [`States`]
//! holds the values between ticks; cloning it is a fork.

use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};
use std::sync::Arc;

use millstream_base::Column;
use millstream_node::Data;

use crate::answer::Answer;
use crate::keeping::{Tables, committed};
use crate::plan::Plan;
use crate::request::{Given, Request};

/// Whether an input or output of a graph carries what a node keeps: authors write no points.
pub fn is_state(name: &str) -> bool {
    name.contains('.')
}

/// An output in words: of one that carries what a node keeps, the node.
pub fn asker(output: &str) -> String {
    match output.rsplit_once('.') {
        Some((node, _)) => format!("what `{node}` keeps"),
        None => format!("output `{output}`"),
    }
}

/// What the nodes of a plan keep between ticks.
#[derive(Clone, Debug, Default)]
pub struct States {
    values: BTreeMap<Arc<str>, Data>,
    /// What nodes inside scopes keep.
    tables: Tables,
    /// Number of elements of the tick that was committed last.
    count: Option<usize>,
    n_ticks: u64,
}

impl States {
    /// Nothing is kept yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no node keeps anything.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.tables.is_empty()
    }

    /// Number of ticks that were committed.
    pub fn n_ticks(&self) -> u64 {
        self.n_ticks
    }

    /// What is kept by the name of a hidden input and output; nothing of nodes inside scopes.
    pub fn value(&self, name: &str) -> Option<&Data> {
        self.values.get(name)
    }

    /// Keeps these values from now on, by the names of hidden inputs, sorted, for one element. What
    /// nodes inside scopes keep goes.
    pub fn commit_values(&mut self, values: Vec<(Arc<str>, Data)>) {
        let names = values.iter().map(|(name, _)| name);
        if self.values.keys().eq(names) {
            for (kept, (_, value)) in self.values.values_mut().zip(values) {
                *kept = value;
            }
        } else {
            self.values = values.into_iter().collect();
        }
        (self.tables, self.count) = (Tables::default(), None);
        self.n_ticks += 1;
    }

    /// The request with what is kept given to it. Elements beyond those of the last tick start
    /// anew; what was kept for elements that are no more is dropped.
    pub fn given_to(&self, plan: &Plan, request: Request) -> Request {
        let count = request.n_elements();
        let mut request = request.with_kept(Arc::clone(&self.tables));
        for input in plan.inputs.as_slice().iter().filter(|input| is_state(&input.name)) {
            let Some(kept) = self.values.get(&input.name) else { continue };
            if kept.ty() != input.ty {
                continue;
            }
            let given = match (kept, self.count, count) {
                (Data::One(value), Some(before), Some(now)) if now > before => {
                    Given::PerIndex(longer(&Column::filled(value, before), now))
                }
                (Data::One(value), _, _) => Given::One(value.clone()),
                (Data::Many(column), _, Some(now)) if now > column.len() => {
                    Given::PerIndex(longer(column, now))
                }
                (Data::Many(column), _, Some(now)) => Given::PerIndex(column.slice(0..now)),
                (Data::Many(_), _, None) => continue,
            };
            request = request.given(input.name.to_string(), given);
        }
        request
    }

    /// Takes what the nodes keep from now on out of an answer, and with it all outputs that authors
    /// did not write. If any of it failed nothing is kept, and the states are as they were; says
    /// whether they were committed.
    pub fn commit(&mut self, answer: &mut Answer) -> bool {
        let is_whole = !answer.calls.has_failed
            && answer.outputs.iter().all(|o| !is_state(&o.name) || o.value.is_some());
        let calls = std::mem::take(&mut answer.calls);
        let mut values = BTreeMap::new();
        answer.outputs.retain_mut(|output| {
            if !is_state(&output.name) {
                return true;
            }
            if let Some(series) = output.value.take() {
                values.insert(Arc::clone(&output.name), series.data);
            }
            false
        });
        if is_whole {
            self.values = values;
            self.tables = committed(&self.tables, calls);
            self.count = answer.count;
            self.n_ticks += 1;
        }
        is_whole
    }

    /// Takes out what the nodes at these paths keep.
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

    /// Gives what is kept other names: `renamed` gets the path of a node and gives its new one,
    /// `None` where the node is gone.
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

    /// The names of what the node at a path keeps, its tables apart; the names of variables have no
    /// points.
    fn names_at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let first = format!("{path}.");
        let names = self.values.range::<str, _>((Included(&*first), Unbounded));
        let names = names.map(|(name, _)| name);
        names.take_while(move |name| name.rsplit_once('.').is_some_and(|(node, _)| node == path))
    }

    /// Takes over what the nodes of others keep, but for those that keep something here already.
    pub fn extend(&mut self, others: &Self) {
        let is_new =
            |node: &str| self.names_at(node).next().is_none() && !self.tables.contains_key(node);
        let others = others.renamed(|node| is_new(node).then(|| node.to_owned()));
        self.values.extend(others.values);
        if !others.tables.is_empty() {
            let tables = Arc::make_mut(&mut self.tables);
            for (node, table) in others.tables.iter() {
                tables.insert(Arc::clone(node), Arc::clone(table));
            }
        }
        self.count = self.count.or(others.count);
    }

    /// The nodes that keep something, by path, each with the names of what it keeps, sorted.
    pub fn nodes(&self) -> BTreeMap<&str, Vec<&str>> {
        let of_tables = self
            .tables
            .iter()
            .flat_map(|(node, table)| table.values.iter().map(|(name, _)| (&**node, &**name)));
        by_node(self.values.keys().filter_map(|name| name.rsplit_once('.')).chain(of_tables))
    }
}

/// The nodes of a plan that keep something, as [`States::nodes`].
pub fn nodes_of(plan: &Plan) -> BTreeMap<&str, Vec<&str>> {
    let of_keepers = plan
        .keepers
        .iter()
        .flat_map(|keeper| keeper.values.iter().map(|value| (&*keeper.node, &*value.name)));
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

/// The column with defaults behind it, which say that nothing is kept.
fn longer(column: &Column, n: usize) -> Column {
    let ty = column.ty();
    let rest = Column::filled(&ty.default_value(), n - column.len());
    Column::concat(ty, &[column.clone(), rest]).expect("both columns are of the type")
}
