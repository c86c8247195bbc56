//! Studies on graphs of numbers.

use millstream::live::Propagation as Form;

use super::engine::{Evaluated, Live, Prepared};
use super::families::{self, Family};
use super::graph::Graph;
use super::lists::{Arms, List};
use super::measure::{Row, measure};
use super::propagation::{MarkAndCheck, Order, Propagation, Retraction};
use super::recursion::Recursion;
use super::strategy::{Change, NoRead, Reading, Strategy};
use super::{Setting, Shown, Study};
use crate::outcome::{Exit, Stop};
use crate::random::Random;

/// Reads per turn.
const READS: usize = 4;

type Field = Vec<Box<dyn Strategy>>;

fn boxed(strategy: impl Strategy + 'static) -> Box<dyn Strategy> {
    Box::new(strategy)
}

fn lists(graph: &Graph) -> Field {
    [Arms::Run, Arms::Guarded, Arms::Rewritten]
        .map(|arms| boxed(List::new(graph, arms)))
        .into_iter()
        .collect()
}

fn propagations(graph: &Graph) -> Field {
    [Order::DepthFirst, Order::BreadthFirst, Order::BreadthFirstOnce, Order::Topological]
        .map(|order| boxed(Propagation::new(graph, order)))
        .into_iter()
        .collect()
}

/// The evaluators of these names.
fn evaluators(names: &[&str], setting: &Setting<'_>, graph: &Graph) -> Result<Field, Stop> {
    let made = names.iter().map(|name| Evaluated::named(name, setting.engine, graph));
    made.map(|made| made.map(boxed).map_err(refused)).collect()
}

fn refused(error: NoRead) -> Stop {
    let text = match error {
        NoRead::TooManyRuns => "too many nodes ran".to_owned(),
        NoRead::Refused(why) => why,
    };
    Stop::new(Exit::Failed, text, None)
}

/// Every strategy.
fn everything(setting: &Setting<'_>, graph: &Graph) -> Result<Field, Stop> {
    let mut field =
        vec![boxed(Recursion::without_marks(graph)), boxed(Recursion::with_marks(graph))];
    field.extend(lists(graph));
    field.extend([true, false].map(|is_eager| boxed(Retraction::new(graph, is_eager))));
    field.extend(propagations(graph));
    field.push(boxed(MarkAndCheck::new(graph)));
    field.extend(evaluators(&["lazy", "list", "incremental", "auto"], setting, graph)?);
    field.push(boxed(Prepared::new(setting.engine, graph).map_err(refused)?));
    field.push(boxed(Live::new(graph, Form::Pull)));
    Ok(field)
}

/// Generates values that no source has had before.
struct Fresh(u32);

impl Fresh {
    fn next(&mut self) -> f64 {
        self.0 += 1;
        4.0 + f64::from(self.0) * 0.25
    }
}

/// Every strategy on every family, with one source or all of them changing.
pub(super) fn families(setting: &Setting<'_>) -> Result<Study, Stop> {
    let mut rows = Vec::new();
    for family in Family::all() {
        let Family { name, graph, sources, .. } = family;
        for share in [1.0, 0.0] {
            let mut fresh = Fresh(0);
            let mut random = Random(7);
            let field = everything(setting, &graph)?;
            let label =
                format!("{name}, {}", if share > 0.0 { "all change" } else { "one changes" });
            rows.extend(measure(
                &label,
                graph.n_computing() as f64,
                field,
                setting.seconds,
                || {
                    let reading = |_| {
                        let mut change = Change::new();
                        if share > 0.0 {
                            change.extend(sources.iter().map(|id| (*id, fresh.next())));
                        } else {
                            change.push((sources[random.below(sources.len())], fresh.next()));
                        }
                        vec![change]
                    };
                    (0..READS).map(reading).collect()
                },
            )?);
        }
    }
    let title = "Each strategy on each family of graphs";
    Ok(Study { name: "families", title, x: "nodes", rows, chart: None })
}

/// Varies the share of the sources that change between two reads.
pub(super) fn share(setting: &Setting<'_>) -> Result<Study, Stop> {
    let Family { name, graph, sources, .. } = families::tree(4_096);
    let mut rows = Vec::new();
    for n in [1, 4, 16, 64, 256, 1_024, 4_096] {
        let mut field = vec![
            boxed(Recursion::with_marks(&graph)),
            boxed(List::new(&graph, Arms::Run)),
            boxed(Retraction::new(&graph, false)),
            boxed(Propagation::new(&graph, Order::Topological)),
            boxed(MarkAndCheck::new(&graph)),
        ];
        field.extend(evaluators(&["list", "incremental"], setting, &graph)?);
        field.push(boxed(Prepared::new(setting.engine, &graph).map_err(refused)?));
        field.push(boxed(Live::new(&graph, Form::Pull)));
        let mut fresh = Fresh(0);
        let mut random = Random(11);
        let x = n as f64 / sources.len() as f64;
        rows.extend(measure(name, x, field, setting.seconds, || {
            let reading = |_| {
                let spread = sources.len() / n;
                let change =
                    (0..n).map(|k| (sources[k * spread + random.below(spread)], fresh.next()));
                vec![change.collect()]
            };
            (0..READS).map(reading).collect()
        })?);
    }
    let title = "A sum of 4096 inputs: time of a read by the share of the inputs that changed";
    Ok(Study { name: "share", title, x: "share that changed", rows, chart: Some(Shown::Time) })
}

/// Varies the number of diamonds, each of which triples the number of paths.
pub(super) fn paths(_: &Setting<'_>) -> Result<Study, Stop> {
    let mut rows = Vec::new();
    for n in [1, 2, 4, 8, 12, 16, 20, 24, 64, 256, 1_024] {
        let Family { name, graph, sources, .. } = families::diamonds(n);
        let mut field: Field = vec![boxed(Recursion::without_marks(&graph))];
        field.extend(propagations(&graph));
        field.push(boxed(MarkAndCheck::new(&graph)));
        field.push(boxed(List::new(&graph, Arms::Run)));
        field.push(boxed(Live::new(&graph, Form::Push)));
        let mut fresh = Fresh(0);
        rows.extend(measure(name, n as f64, field, 0.0, || {
            vec![vec![vec![(sources[0], fresh.next())]]]
        })?);
    }
    let title = "Diamonds with unequal sides: nodes that run for a change that reaches all of them";
    Ok(Study { name: "paths", title, x: "diamonds", rows, chart: Some(Shown::Runs) })
}

/// Varies the number of changes between two reads.
pub(super) fn rate(setting: &Setting<'_>) -> Result<Study, Stop> {
    let Family { name, graph, sources, .. } = families::layered(128, 64);
    let mut rows = Vec::new();
    for n in [1, 4, 16, 64, 256] {
        let mut field = vec![
            boxed(List::new(&graph, Arms::Run)),
            boxed(Retraction::new(&graph, true)),
            boxed(Retraction::new(&graph, false)),
            boxed(Propagation::new(&graph, Order::Topological)),
            boxed(MarkAndCheck::new(&graph)),
        ];
        let forms = [Form::Pull, Form::Push, Form::RetractAndAssert, Form::Mixed];
        field.extend(forms.map(|form| boxed(Live::new(&graph, form))));
        let mut fresh = Fresh(0);
        let mut random = Random(13);
        rows.extend(measure(name, n as f64, field, setting.seconds, || {
            let mut change = |_| vec![(sources[random.below(sources.len())], fresh.next())];
            (0..READS).map(|_| (0..n).map(&mut change).collect()).collect()
        })?);
    }
    let title =
        "Layers, 128 wide and 64 deep: time of a read by the changes before it, one input each";
    Ok(Study { name: "rate", title, x: "changes per read", rows, chart: Some(Shown::Time) })
}

/// Varies the number of reads between two flips of a switch.
pub(super) fn flips(setting: &Setting<'_>) -> Result<Study, Stop> {
    let Family { name, graph, sources, selectors } = families::switches(64, 64);
    let mut rows = Vec::new();
    for every in [1, 4, 16, 64] {
        let mut field: Field = vec![boxed(Recursion::with_marks(&graph))];
        field.extend(lists(&graph));
        field.push(boxed(MarkAndCheck::new(&graph)));
        field.extend(evaluators(&["lazy", "list", "incremental"], setting, &graph)?);
        field.push(boxed(Live::new(&graph, Form::Pull)));
        let mut fresh = Fresh(0);
        let mut random = Random(17);
        let mut is_second = vec![false; selectors.len()];
        rows.extend(measure(name, every as f64, field, setting.seconds, || {
            let reading = |k: usize| {
                let mut change: Reading = vec![vec![(sources[0], fresh.next())]];
                if k.is_multiple_of(every) {
                    let which = random.below(selectors.len());
                    is_second[which] = !is_second[which];
                    let to = f64::from(u8::from(is_second[which]));
                    change[0].push((selectors[which], to));
                }
                change
            };
            (0..every.max(READS)).map(reading).collect()
        })?);
    }
    let title =
        "64 switches between two chains of 64 nodes: time of a read while the input changes";
    Ok(Study { name: "flips", title, x: "reads per flip", rows, chart: Some(Shown::Time) })
}

/// Varies the number of values that an input cycles through.
pub(super) fn memory(setting: &Setting<'_>) -> Result<Study, Stop> {
    let Family { name, graph, sources, .. } = families::ladder(1_000);
    let mut rows: Vec<Row> = Vec::new();
    for n in [2, 4, 8, 16, 32] {
        let incremental = |name: &str, bytes: usize| {
            Evaluated::remembering(name, bytes, setting.engine, &graph).map(boxed).map_err(refused)
        };
        let field = vec![
            incremental("incremental-walk, memo", 1 << 30)?,
            incremental("incremental-walk, no memo", 0)?,
            Evaluated::named("incremental", setting.engine, &graph).map(boxed).map_err(refused)?,
            boxed(Live::new(&graph, Form::Pull)),
            boxed(List::new(&graph, Arms::Run)),
        ];
        rows.extend(measure(name, n as f64, field, setting.seconds, || {
            (0..n).map(|k| vec![vec![(sources[1], 4.0 + k as f64)]]).collect()
        })?);
    }
    let title = "A ladder of 2001 nodes whose input returns to earlier values: time of a read";
    Ok(Study { name: "memory", title, x: "values in turn", rows, chart: Some(Shown::Time) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::engine;
    use millstream::Limits;

    fn small() -> Vec<Family> {
        vec![
            families::chain(130),
            families::tree(60),
            families::ladder(9),
            families::diamonds(5),
            families::layered(8, 6),
            families::switches(5, 4),
            families::wide(40),
        ]
    }

    #[test]
    fn all_strategies_give_the_same_values() {
        let engine = engine(Limits::default());
        let setting = Setting { engine: &engine, seconds: 0.0 };
        for Family { name, graph, sources, selectors } in small() {
            let mut random = Random(23);
            let mut fresh = Fresh(0);
            let field = everything(&setting, &graph).unwrap_or_else(|_| panic!("{name} compiles"));
            let n_strategies = field.len();
            // A mismatch of values would end the measurement with an error.
            let rows = measure(name, 0.0, field, 0.0, || {
                let change = |random: &mut Random, fresh: &mut Fresh| {
                    let mut change = vec![(sources[random.below(sources.len())], fresh.next())];
                    if !selectors.is_empty() {
                        let selector = selectors[random.below(selectors.len())];
                        change.push((selector, random.below(2) as f64));
                    }
                    change
                };
                let reading = |random: &mut Random, fresh: &mut Fresh| -> Reading {
                    (0..=random.below(3)).map(|_| change(random, fresh)).collect()
                };
                (0..6).map(|_| reading(&mut random, &mut fresh)).collect()
            });
            let rows = rows.unwrap_or_else(|_| panic!("the strategies agree on {name}"));
            assert_eq!(rows.len(), n_strategies);
            assert!(rows.iter().all(|row| !row.gave_up && row.seconds.is_some()));
        }
    }

    #[test]
    fn paths_decide_the_runs_of_propagation() {
        let n = 6_u32;
        let Family { graph, sources, .. } = families::diamonds(n as usize);
        let mut fresh = Fresh(0);
        let rows = measure("diamonds", 0.0, propagations(&graph), 0.0, || {
            vec![vec![vec![(sources[0], fresh.next())]]]
        });
        let Ok(rows) = rows else { panic!("the strategies agree") };
        let runs: Vec<f64> = rows.iter().filter_map(|row| row.runs).collect();
        let glitches: Vec<f64> = rows.iter().map(|row| row.glitches).collect();
        let n = f64::from(n);
        // Depth first follows paths, breadth first lengths of paths, by rank nodes.
        assert_eq!(runs[0], 5.0 * (n.exp2() - 1.0));
        assert_eq!(runs[1], n * (5.0 * n + 5.0) / 2.0);
        assert_eq!(runs[3], 4.0 * n);
        assert_eq!(glitches, [n.exp2() - 1.0, n, n, 0.0]);
    }
}
