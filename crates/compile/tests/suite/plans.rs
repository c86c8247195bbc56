//! Plans of whole documents.

use std::fmt::Write as _;

use super::documents::{HERON, checked, plan, registry, scheduled};
use expect_test::expect;
use millstream_compile::{Options, PASSES, Phase, compile, compile_graph};
use millstream_ir::{Plan, StepOp};

/// The steps of a plan with the facts that the schedule records.
fn shown(plan: &Plan) -> String {
    let mut text = String::new();
    for (id, step) in plan.steps.iter() {
        let name = match step.op {
            StepOp::Const(id) => plan.constants[id].get(0).to_string(),
            StepOp::Input(id) => plan.inputs[id].name.to_string(),
            StepOp::Call(id) => plan.instances[id].name().to_string(),
        };
        let needs: Vec<String> =
            plan.needs.of(plan.needs_of(step)).map(ToString::to_string).collect();
        let links: Vec<String> =
            plan.inputs_of(step).iter().map(|link| link.step.to_string()).collect();
        let local = if step.is_local { ", local" } else { "" };
        writeln!(
            text,
            "{id} = {name} [{}] {}, needs [{}], depth {}, {} users{local}",
            links.join(" "),
            step.class,
            needs.join(", "),
            step.depth,
            step.n_users,
        )
        .expect("writing to a string does not fail");
    }
    text
}

#[test]
fn a_plan_knows_class_depth_and_users_of_each_step() {
    expect![[r#"
        s0 = a [] user-input, needs [], depth 0, 2 users
        s1 = b [] user-input, needs [], depth 0, 2 users
        s2 = c [] user-input, needs [], depth 0, 2 users
        s3 = vector.distance [s0 s1] user-input, needs [], depth 1, 2 users, local
        s4 = vector.distance [s0 s2] user-input, needs [], depth 1, 2 users, local
        s5 = vector.distance [s1 s2] user-input, needs [], depth 1, 2 users, local
        s6 = 2.0 [] static, needs [], depth 0, 1 users
        s7 = math.add [s3 s4] user-input, needs [], depth 2, 1 users, local
        s8 = math.add [s7 s5] user-input, needs [], depth 3, 1 users, local
        s9 = math.divide [s8 s6] user-input, needs [], depth 4, 4 users, local
        s10 = math.subtract [s9 s3] user-input, needs [], depth 5, 1 users, local
        s11 = math.multiply [s9 s10] user-input, needs [], depth 6, 1 users, local
        s12 = math.subtract [s9 s4] user-input, needs [], depth 5, 1 users, local
        s13 = math.multiply [s11 s12] user-input, needs [], depth 7, 1 users, local
        s14 = math.subtract [s9 s5] user-input, needs [], depth 5, 1 users, local
        s15 = math.multiply [s13 s14] user-input, needs [], depth 8, 1 users, local
        s16 = math.sqrt [s15] user-input, needs [], depth 9, 1 users
    "#]]
    .assert_eq(&shown(&plan(HERON)));
}

#[test]
fn needs_class_and_locality_follow_scopes() {
    expect![[r"
        s0 = x [] user-input, needs [], depth 0, 2 users
        s1 = context.time [] contextual, needs [time], depth 0, 1 users, local
        s2 = math.sin [s1] contextual, needs [time], depth 1, 2 users
        s3 = time.shift [s2 s0] contextual, needs [time], depth 2, 1 users, local
        s4 = math.add [s2 s3] contextual, needs [time], depth 3, 1 users
        s5 = context.with_time [s4 s0] user-input, needs [], depth 4, 1 users, local
        s6 = math.cos [s5] user-input, needs [], depth 5, 1 users
        s7 = context.real_time [] volatile, needs [real_time], depth 0, 1 users, local
        s8 = math.add [s7 s6] volatile, needs [real_time], depth 6, 1 users, local
        s9 = math.sin [s8] volatile, needs [real_time], depth 7, 1 users
    "]]
    .assert_eq(&shown(&scheduled(
        "n0 = input x: f64 = 0.0
         n1 = context.time
         n2 = math.sin n1
         n3 = time.shift n2 n0
         n4 = math.add n2 n3
         n5 = context.with_time n4 n0
         n6 = math.cos n5
         n7 = context.real_time
         n8 = math.add n7 n6
         n9 = math.sin n8
         output n9",
    )));
}

#[test]
fn unreachable_nodes_have_no_step() {
    let plan = scheduled(
        "n0 = input unread: f32 = 0.0
         n1 = const 2.0
         n2 = const 3.0
         n3 = math.sin n2
         n4 = math.cos n1
         output n4",
    );
    assert_eq!((plan.steps.len(), plan.constants.len(), plan.instances.len()), (2, 1, 1));
    assert!(plan.input_named("unread").is_some());
}

#[test]
fn passes_stop_after_the_named_phase() {
    let checked = checked(HERON);
    let mut sizes = Vec::new();
    for phase in Phase::ALL {
        assert_eq!(Phase::named(phase.name()), Some(phase));
        let options = Options { after: Some(phase), ..Options::default() };
        sizes.push(compile_graph(&checked, &registry(), &options).expect("compiles").len());
        compile(&checked, &registry(), &options).expect("conversions are there in any case");
    }
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    assert!(PASSES.is_sorted_by_key(|pass| pass.phase));
}
