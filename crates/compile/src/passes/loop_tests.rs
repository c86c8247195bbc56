//! Loops, tested on the text of graphs: those that are folded, and the reasons why others are not.

use millstream_base::Limits;
use millstream_ir::text;
use millstream_ir::verify::{Stage, verify};

use super::{Changed, PassContext, fuse};

/// The marks of the loops of a graph. `n20` is a loop with the items `n9`, which depend on an input
/// `n0`, the round number `n2`, and the same number as a float, `n3`.
fn marks(item: &str, behind: &str) -> Vec<String> {
    let registry = millstream_nodes::registry();
    let text = format!(
        "n0 = input x: f32 = 0.0
         n1 = input items: list<f32> = [1.0, 2.0]
         n2 = context.index
         n3 = convert{{\"to\": \"f32\"}} n2
         n4 = const 4
         {item}
         n20 = list.generate n9 n4
         {behind}"
    );
    let mut graph = text::parse(&text, &registry).expect("the graph is valid");
    let limits = Limits::default();
    let cx = PassContext::new(&registry, &limits);
    assert_eq!(fuse(&mut graph, &cx).expect("no cycle, few needs"), Changed::Yes);
    assert_eq!(fuse(&mut graph, &cx).expect("no cycle, few needs"), Changed::No);
    assert_eq!(verify(&graph, Stage::Converted), Ok(()));
    let printed = text::print(&graph);
    let again = text::parse(&printed, &registry).expect("printed graphs read back");
    assert_eq!(text::print(&again), printed);
    let marks = graph.ids().filter_map(|id| Some(format!("{id} {}", graph.loop_of(id)?)));
    marks.collect()
}

const SUM: &str = "n21 = list.sum n20
    output y n21";

const PRODUCT: &str = "n9 = math.multiply n0 n3";

#[test]
fn a_loop_with_one_folding_reader_is_folded() {
    assert_eq!(marks(PRODUCT, SUM), ["n20 @folded"]);
    assert_eq!(marks(PRODUCT, &SUM.replace("sum", "maximum")), ["n20 @folded"]);
    assert_eq!(marks("n9 = math.sqrt n3", SUM), ["n20 @folded"]);
}

#[test]
fn loops_with_choices_in_their_rounds_are_folded_where_arms_are_cheap() {
    let cheap = "n5 = compare.less n0 n3
         n6 = math.sqrt n3
         n7 = math.multiply n0 n3
         n9 = control.switch n5 n6 n7";
    assert_eq!(marks(cheap, SUM), ["n20 @folded"]);
    let noise = "n5 = compare.less n0 n3
         n6 = convert{\"to\": \"vec3\"} n3
         n7 = noise.cell_edge n6 n0 n10 n0
         n8 = noise.cell_edge n6 n3 n10 n0
         n10 = const 0
         n9 = control.switch n5 n7 n8";
    assert_eq!(marks(noise, SUM), ["n20 @apart(expensive n9)"]);
}

#[test]
fn nodes_that_only_an_arm_of_a_round_reads_must_not_fail() {
    let item = "n5 = list.get n1 n4
         n6 = compare.less n0 n3
         n7 = math.add n5 n3
         n8 = control.switch n6 n7 n3
         n9 = math.add n8 n0";
    assert_eq!(marks(item, SUM), ["n20 @apart(expensive n8)"]);
    let in_any_case = &item.replace("n8 n0", "n8 n5");
    assert_eq!(marks(in_any_case, SUM), ["n20 @folded"]);
    // Needed unconditionally in the region, but by another loop.
    let item = "n5 = list.get n1 n4
         n6 = compare.less n0 n3
         n7 = math.add n5 n3
         n8 = math.multiply n7 n0
         n9 = control.switch n6 n8 n3";
    let behind = "n21 = list.sum n20
         n22 = math.sqrt n7
         n23 = list.generate n22 n4
         n24 = list.sum n23
         output y n21
         output z n24";
    assert_eq!(marks(item, behind), ["n20 @apart(fails n5)", "n23 @folded"]);
}

#[test]
fn members_with_other_readers_are_recomputed_if_cheap() {
    let behind = "n21 = list.sum n20
         n22 = list.generate n9 n4
         n23 = list.length n22
         output y n21
         output n n23";
    let other = "n22 @apart(no-fold n23)";
    assert_eq!(marks(PRODUCT, behind), ["n20 @folded", other]);
    assert_eq!(marks("n9 = math.power n0 n3", behind), ["n20 @apart(shared n9)", other]);
    let above = "n8 = math.power n0 n3
         n9 = math.add n8 n0";
    assert_eq!(marks(above, behind), ["n20 @apart(shared n9)", other]);
    // A member that depends only on the round number is a constant, however expensive.
    assert_eq!(marks("n9 = math.power n3 n3", behind), ["n20 @folded", other]);
}

#[test]
fn unfolded_loops_state_the_reason() {
    let readers = "n21 = list.sum n20
         output y n21
         output list n20";
    assert_eq!(marks(PRODUCT, readers), ["n20 @apart(readers)"]);
    assert_eq!(marks(PRODUCT, "output list n20"), ["n20 @apart(readers)"]);
    let length = "n21 = list.length n20
         output n n21";
    assert_eq!(marks(PRODUCT, length), ["n20 @apart(no-fold n21)"]);
    assert_eq!(marks("n9 = math.sqrt n0", SUM), ["n20 @apart(equal)"]);
    assert_eq!(marks("n9 = control.pass n3", &SUM.replace("n9", "n3")), ["n20 @apart(no-form n9)"]);
    let of_list = "n8 = list.get n1 n2
         n9 = math.multiply n0 n8";
    assert_eq!(marks(of_list, SUM), ["n20 @apart(no-form n8)"]);
    let outer = "n8 = context.index{\"level\": 1}
         n9 = math.multiply n8 n2";
    assert_eq!(marks(outer, SUM), ["n20 @apart(context)"]);
    let rounds = |n: i32| {
        let behind = format!(
            "n21 = const {n}
             n22 = list.generate n3 n21
             n23 = list.generate n9 n21
             n24 = list.sum n22
             n25 = list.sum n23
             output y n24
             output z n25"
        );
        marks(PRODUCT, &behind)[1..].to_vec()
    };
    assert_eq!(rounds(4000), ["n22 @apart(large)", "n23 @apart(large)"]);
    assert_eq!(rounds(0), ["n22 @apart(empty)", "n23 @apart(empty)"]);
    let number = "n21 = list.generate n2 n4
         n22 = list.sum n21
         output y n22";
    assert_eq!(marks(PRODUCT, number)[1..], ["n21 @apart(numbers)"]);
}
