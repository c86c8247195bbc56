//! The results of the analyses.

use super::documents::graph;
use expect_test::expect;
use millstream_base::Feature;
use millstream_base::id::Id;
use millstream_compile::{analyses, order};
use millstream_ir::{InputId, NodeId};

#[test]
fn an_injected_feature_no_longer_makes_a_node_contextual() {
    let graph = graph(
        "n0 = context.time
         n1 = const f64 1
         n2 = input x: f64 = 0.0
         n3 = context.with_time n0 n1
         n4 = context.with_time n0 n2
         n5 = time.shift n0 n2
         n6 = context.real_time
         n7 = math.add n6 n2
         n8 = context.with_time n7 n1
         output a n3
         output b n4
         output c n5
         output d n8",
    );
    let order = order(&graph).expect("no cycle");
    let needs = analyses::needs(&graph, &order).expect("few needs");
    let classes = analyses::classes(&graph, &order, &needs);
    let shown: Vec<String> = classes.iter().map(|(id, class)| format!("{id} {class}")).collect();
    expect![[r"
        n0 contextual
        n1 static
        n2 user-input
        n3 static
        n4 user-input
        n5 contextual
        n6 volatile
        n7 volatile
        n8 volatile
    "]]
    .assert_eq(&(shown.join("\n") + "\n"));
}

#[test]
fn axes_come_from_columns_and_features_and_end_at_reductions() {
    let graph = graph(
        r#"n0 = input column: f32 = 0.0
         n1 = input single: f32 = 0.0
         n2 = math.add n0 n1
         n3 = list.collect n2
         n4 = list.length n3
         n5 = context.index
         n6 = context.time
         n7 = context.with_index n5 n4
         n8 = context.with_index n0 n4
         n9 = context.with_index n3 n4
         n10 = math.sin n1
         output a n9
         output b n8
         output c n7
         output d n10
         output e n6
         n11 = list.collect{"feature": "time"} n6
         n12 = list.length n11
         n13 = context.with_time n11 n4
         n14 = context.time{"level": 1}
         n15 = list.collect{"feature": "time", "level": 1} n14
         n16 = context.with_time n14 n4
         n17 = context.with_time n15 n4
         output f n12
         output g n13
         output h n16
         output i n17"#,
    );
    let order = order(&graph).expect("no cycle");
    let of = analyses::AxesOf {
        columns: &[InputId::from_index(0)],
        features: &[Feature::Index, Feature::Time],
    };
    let axes = analyses::axes(&graph, &order, &of);
    let shown = axes.iter().map(|(id, axes)| {
        let names = [(axes.elements, "elements"), (axes.features & 2 != 0, "time")];
        let names: Vec<&str> = names.iter().filter(|(has, _)| *has).map(|(_, n)| *n).collect();
        format!("{id} {}", names.join(" "))
    });
    expect![[r#"
        n0 elements
        n1 
        n2 elements
        n3 
        n4 
        n5 elements
        n6 time
        n7 
        n8 elements
        n9 elements
        n10 
        n11 
        n12 
        n13 
        n14 
        n15 
        n16 time
        n17 
    "#]]
    .assert_eq(&(shown.collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn users_and_depths_count_links() {
    let graph = graph(
        "n0 = input x: f32 = 0.0
         n1 = math.sin n0
         n2 = math.add n0 n1
         n3 = math.multiply n2 n2
         output n3",
    );
    let users = analyses::users(&graph);
    let of = |i: usize| users.of(NodeId::from_index(i));
    assert_eq!(of(0), [NodeId::from_index(1), NodeId::from_index(2)]);
    assert_eq!(of(2), [NodeId::from_index(3), NodeId::from_index(3)]);
    assert!(of(3).is_empty());
    let depths = analyses::depths(&graph, &order(&graph).expect("no cycle"));
    assert_eq!(depths.as_slice(), [0, 1, 2, 3]);
}
