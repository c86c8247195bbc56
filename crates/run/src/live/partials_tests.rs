//! Reductions by blocks: after a change of few elements, only their blocks are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_base::{Column, Feature, Type, Value};
use millstream_node::blockwise::Blockwise;
use millstream_node::{
    Call, Data, Failure, Function, Instance, Kernel, NodeDef, ScopeRule, Settings,
};

use super::{LiveGraph, NodeNumber};

const LEN: usize = 4;

/// The sum of integers, which counts the items that it reads.
struct Counting(Arc<AtomicUsize>);

impl Counting {
    fn sum(&self, items: &[i64]) -> i64 {
        self.0.fetch_add(items.len(), Ordering::Relaxed);
        items.iter().sum()
    }
}

impl Function for Counting {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let items = call.lists(0).list(0);
        let sum = self.sum(items.as_slice::<i64>().expect("integers"));
        call.set_one(0, sum);
        Ok(())
    }

    fn blockwise(&self) -> Option<&dyn Blockwise> {
        Some(self)
    }
}

impl Blockwise for Counting {
    fn block_len(&self) -> usize {
        LEN
    }

    fn partials(&self, items: &Column, blocks: &[u32]) -> Column {
        let items = items.as_slice::<i64>().expect("integers");
        let block = |block: &u32| {
            let first = *block as usize * LEN;
            self.sum(&items[first..items.len().min(first + LEN)])
        };
        Column::from_vec(blocks.iter().map(block).collect::<Vec<i64>>())
    }

    fn result(&self, partials: &Column, n_items: usize) -> Result<Value, Failure> {
        let parts = partials.as_slice::<i64>().expect("integers");
        assert_eq!(parts.len(), n_items.div_ceil(LEN));
        match parts.iter().sum::<i64>() {
            ..0 => Err(Failure::whole("it is negative")),
            sum => Ok(Value::from(sum)),
        }
    }
}

fn instance(n_read: &Arc<AtomicUsize>) -> Arc<Instance> {
    let n_read = Arc::clone(n_read);
    let def = NodeDef::new("test.sum", "")
        .input("value", Type::I64, "")
        .scope(ScopeRule::Along { feature: Feature::Index, level: 0 })
        .output("value", Type::I64, "")
        .kernel(move |_| Ok(Kernel::Function(Arc::new(Counting(Arc::clone(&n_read))))));
    let made = Arc::new(def).instantiate(Settings::default(), Vec::new(), &[1]);
    Arc::new(made.expect("it has an instance"))
}

struct Sum {
    graph: LiveGraph,
    source: NodeNumber,
    n: NodeNumber,
    sum: NodeNumber,
    n_read: Arc<AtomicUsize>,
}

impl Sum {
    fn new(items: &[i64]) -> Self {
        let mut graph = LiveGraph::new();
        graph.hold_columns();
        let n_read = Arc::default();
        let source = graph.source_of_value(&Value::from(0_i64));
        let n = graph.source_of_value(&Value::from(0_i32));
        let sum = graph.call_of_values(&instance(&n_read), &[source, n]);
        graph.observe_number(sum, true);
        let mut made = Self { graph, source, n, sum, n_read };
        made.set(items);
        made
    }

    fn set(&mut self, items: &[i64]) {
        self.graph.set_data(self.source, &Data::Many(Column::from_vec(items.to_vec())));
        self.graph.set_data(self.n, &Data::One(Value::from(items.len() as i32)));
    }

    /// The sum, and how many items were read for it.
    fn settled(&mut self) -> (Option<i64>, usize) {
        let before = self.n_read.load(Ordering::Relaxed);
        self.graph.settle();
        let n_read = self.n_read.load(Ordering::Relaxed) - before;
        let value = self.graph.value(self.sum, Type::I64);
        (value.and_then(|value| value.get::<i64>()), n_read)
    }

    fn gives(&mut self, sum: i64, n_read: usize) {
        assert_eq!(self.settled(), (Some(sum), n_read));
    }
}

#[test]
fn blocks_whose_items_change_are_read_again() {
    let mut items: Vec<i64> = (0..102).collect();
    let mut sum = Sum::new(&items);
    sum.gives(5151, 102);
    items[9] += 10;
    sum.set(&items);
    sum.gives(5161, LEN);
    // Two blocks, the shorter one at the end among them.
    items[50] += 1;
    items[51] += 1;
    items[101] += 1;
    sum.set(&items);
    sum.gives(5164, LEN + 2);
    // More than an eighth of the items.
    items[..20].fill(0);
    sum.set(&items);
    let all = items.iter().sum();
    sum.gives(all, 102);
    // Another length.
    items.push(7);
    sum.set(&items);
    sum.gives(all + 7, 103);
}

#[test]
fn after_changes_that_were_not_read_all_items_are_read() {
    let mut items: Vec<i64> = (0..100).collect();
    let mut sum = Sum::new(&items);
    sum.gives(4950, 100);
    sum.graph.observe_number(sum.sum, false);
    let another = sum.graph.call_of_values(&instance(&Arc::default()), &[sum.source, sum.n]);
    sum.graph.observe_number(another, true);
    for i in [3, 70] {
        items[i] += 1;
        sum.set(&items);
        sum.graph.settle();
    }
    sum.graph.observe_number(sum.sum, true);
    sum.gives(4952, 100);
    items[3] += 1;
    sum.set(&items);
    sum.gives(4953, LEN);
}

#[test]
fn a_sum_that_fails_is_right_afterwards() {
    let mut items: Vec<i64> = vec![1; 40];
    let mut sum = Sum::new(&items);
    sum.gives(40, 40);
    items[17] = -100;
    sum.set(&items);
    assert_eq!(sum.settled().0, None);
    items[17] = 2;
    sum.set(&items);
    assert_eq!(sum.settled().0, Some(41));
    items[0] = 2;
    sum.set(&items);
    sum.gives(42, LEN);
}
