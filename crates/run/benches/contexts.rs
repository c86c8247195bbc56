//! Contexts of an evaluation: making them, restricting them to what nodes need, and looking them
//! up again.
//!
//! `cargo bench -p millstream-run --bench contexts`. The graph has nodes with seven different sets of
//! needs. The module that evaluators use is compiled into the benchmark, because it is private.

#[path = "shared/compiled.rs"]
mod compiled;
#[path = "../src/frame.rs"]
#[expect(dead_code, reason = "only a part of it is timed")]
mod frame;
#[path = "shared/planned.rs"]
mod planned;
#[path = "../src/shape.rs"]
#[expect(dead_code, reason = "only a part of it is timed")]
mod shape;
#[path = "shared/timing.rs"]
mod timing;

use std::hint::black_box;

use millstream_base::id::Id as _;
use millstream_base::{Value, Vec3};
use millstream_ir::plan::NeedClassId;
use millstream_node::Data;

use frame::{Feat, Frames};
use planned::planned;
use shape::Shapes;
use timing::{median, seconds};

/// Nodes that need time, index and position in all combinations.
const GRAPH: &str = "n0 = context.time
n1 = convert.to_f32 n0
n2 = context.index
n3 = convert.to_f32 n2
n4 = context.position
n5 = vector.length n4
n6 = math.add n1 n3
n7 = math.add n1 n5
n8 = math.add n3 n5
n9 = math.add n6 n8
output a n6
output b n7
output c n8
output d n9
";

/// Different contexts in one evaluation.
const CONTEXTS: usize = 1000;
const ROUNDS: usize = 200;

fn main() {
    let plan = planned(GRAPH).0;
    let classes: Vec<NeedClassId> = plan.need_classes.ids().filter(|it| it.index() > 0).collect();
    let n_calls = CONTEXTS * classes.len();
    let (mut made, mut first, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (mut frames, mut shapes) = (Frames::new(), Shapes::new(usize::MAX));
        let mut all = Vec::with_capacity(CONTEXTS);
        made.push(seconds(|| {
            for i in 0..CONTEXTS {
                let value = |name: &str| match name {
                    "time" => Value::F64(i as f64),
                    "index" => Value::I32(i as i32),
                    _ => Value::Vec3(Vec3([i as f32, 0.0, 1.0])),
                };
                let feats = plan.needs.iter().enumerate().map(|(bit, need)| {
                    let data = Data::One(value(need.feature.name()));
                    (bit as u32, frames.feat(Feat::Value(data, Shapes::scalar()), &mut shapes))
                });
                let entries = feats.collect();
                all.push(frames.frame(entries));
            }
        }));
        let mut restrict = || {
            for context in &all {
                for class in &classes {
                    black_box(frames.restrict(*context, *class, &plan));
                }
            }
        };
        first.push(seconds(&mut restrict));
        again.push(seconds(&mut restrict));
    }
    println!("{CONTEXTS} contexts of {} needs, {} classes", plan.needs.len(), classes.len());
    let row = |what: &str, times: Vec<f64>, n: usize| {
        println!("  {what:32} {:6.1} ns", median(times) * 1e9 / n as f64);
    };
    row("a new context with its values", made, CONTEXTS);
    row("restricting it, the first time", first, n_calls);
    row("restricting it again", again, n_calls);
}
