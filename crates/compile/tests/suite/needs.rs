//! Needs across scopes and levels, and their providers.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::documents::{checked, graph, registry, scheduled};
use expect_test::expect;
use millstream_base::{Feature, Limits};
use millstream_compile::available::check_available;
use millstream_compile::{Options, PASSES, PassContext, analyses, compile, order, schedule};

#[test]
fn needs_that_nobody_provides_are_reported_with_the_path_to_their_reader() {
    let plan = scheduled(
        r#"n0 = context.index{"level": 1} # row
         n1 = const 3
         n2 = context.with_index n0 n1 # inner
         n3 = context.with_index n2 n1 # outer
         n4 = context.time # now
         n5 = convert{"to": "f32"} n4 # group/narrow
         n6 = convert{"to": "f32"} n2 # wide
         n7 = math.add n5 n6 # sum
         n8 = context.feature{"name": "wind", "type": "f32"} # wind
         output a n7
         output b n3
         output c n8"#,
    );
    let shown = |available: &[Feature]| {
        let problems = check_available(&plan, &registry(), available);
        problems.iter().fold(String::new(), |text, problem| text + &format!("{problem}\n"))
    };
    expect![[r"
        row: output `a` needs `index`, which is not available: output <- `sum` <- `wide` <- `inner` <- `row` (set `index` in the request, or link through `context.with_index`, `list.generate`)
        now: output `a` needs `time`, which is not available: output <- `sum` <- `group/narrow` <- `now` (set `time` in the request, or link through `context.with_time`)
        wind: output `c` needs `wind`, which is not available: output <- `wind` (set `wind` in the request, or link through `context.with_feature`)
    "]].assert_eq(&shown(&[]));
    expect![[r"
        row: output `a` needs `index`, which is not available: output <- `sum` <- `wide` <- `inner` <- `row` (set `index` in the request, or link through `context.with_index`, `list.generate`)
        wind: output `c` needs `wind`, which is not available: output <- `wind` (set `wind` in the request, or link through `context.with_feature`)
    "]].assert_eq(&shown(&[Feature::Time]));
    assert_eq!(shown(&[Feature::Time, Feature::Index, wind()]), "");
}

fn wind() -> Feature {
    Feature::Custom("wind".into(), millstream_base::Type::F32)
}

#[test]
fn a_level_beyond_the_injectors_is_never_available() {
    let plan = scheduled(
        r#"n0 = context.index{"level": 2} # far
         n1 = const 3
         n2 = context.with_index n0 n1 # inner
         output n2"#,
    );
    let problems = check_available(&plan, &registry(), &[Feature::Index]);
    expect!["far: output `value` needs `index (level 1)`, which is not available: output <- `inner` <- `far` (link through `context.with_index`, `list.generate` once more)"].assert_eq(&problems.to_string());
}

#[test]
fn compiling_refuses_unavailable_features() {
    let document = r#"{ "millstream": 2,
      "outputs": { "y": { "type": "f64", "from": "t.value" } },
      "nodes": { "t": { "type": "context.time" } } }"#;
    let with = |available| Options { available, ..Options::default() };
    let checked = checked(document);
    assert!(compile(&checked, &registry(), &with(None)).is_ok());
    assert!(compile(&checked, &registry(), &with(Some(vec![Feature::Time]))).is_ok());
    let problems = compile(&checked, &registry(), &with(Some(vec![]))).expect_err("no time");
    expect!["t: output `y` needs `time`, which is not available: output <- `t` (set `time` in the request, or link through `context.with_time`)"].assert_eq(&problems.to_string());
}

/// A ladder in which every level reads the one below twice, once in another context.
fn ladder(n_levels: usize) -> String {
    let mut text = String::from(
        "n0 = context.time\nn1 = context.index\nn2 = convert{\"to\": \"f64\"} n3\n\
         n3 = convert{\"to\": \"f32\"} n0\nn4 = const f64 1\nn5 = convert{\"to\": \"f32\"} n1\n",
    );
    let (mut maximum, mut minimum) = (3, 5);
    for i in 0..n_levels {
        let id = 6 + 3 * i;
        writeln!(text, "n{id} = math.maximum n{maximum} n{minimum}").expect("a string");
        writeln!(text, "n{} = math.subtract n{maximum} n{minimum}", id + 1).expect("a string");
        writeln!(text, "n{} = time.shift n{} n4", id + 2, id + 1).expect("a string");
        (maximum, minimum) = (id, id + 2);
    }
    text + &format!("output n{maximum}\n")
}

#[test]
fn heavy_sharing_costs_no_more_than_its_links() {
    let time_of = |n_levels: usize| {
        let graph = graph(&ladder(n_levels));
        let order = order(&graph).expect("no cycle");
        let start = Instant::now();
        let needs = analyses::needs(&graph, &order).expect("two needs");
        let classes = analyses::classes(&graph, &order, &needs);
        let elapsed = start.elapsed();
        assert_eq!(needs.of[graph.outputs[0].source.node].len(), 2);
        assert_eq!(classes[graph.outputs[0].source.node].name(), "contextual");
        elapsed
    };
    assert!(time_of(10_000) < Duration::from_millis(200));
}

#[test]
fn a_ladder_of_ten_thousand_shifts_goes_through_all_passes() {
    let (registry, limits) = (registry(), Limits::default());
    let cx = PassContext::new(&registry, &limits);
    let mut graph = graph(&ladder(10_000));
    let start = Instant::now();
    for pass in PASSES {
        (pass.run)(&mut graph, &cx).expect("two needs, no cycle");
    }
    let plan = schedule::schedule(graph, 24.0).expect("two needs, no cycle");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(plan.needs.len(), 2);
    assert!(plan.steps.len() > 30_000, "{}", plan.steps.len());
}

#[test]
fn arguments_of_scopes_matter_only_if_the_feature_is_needed() {
    let wind = r#"context.feature{"name": "wind", "type": "f64"} # wind"#;
    let needed = |inside: &str| {
        let text =
            format!("n0 = {wind}\n n1 = {inside}\n n2 = time.shift n1 n0 # shifted\n output n2");
        let plan = scheduled(&text);
        plan.required().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(needed("context.index # row"), "index");
    assert_eq!(needed("context.time # now"), "wind, time");
    let problems = |inside: &str| {
        let text =
            format!("n0 = {wind}\n n1 = {inside}\n n2 = time.shift n1 n0 # shifted\n output n2");
        check_available(&scheduled(&text), &registry(), &[Feature::Time, Feature::Index])
            .to_string()
    };
    assert_eq!(problems("context.index # row"), "");
    let told = problems("context.time # now");
    assert!(told.contains("output <- `shifted` <- `wind`"), "{told}");
}
