//! Sessions that tell the failures of earlier ticks, also after edits.

use millstream::session::{Ask, Session};
use millstream::{Edit, Engine, Lazy};
use serde_json::{Value as Json, json};

/// A sum that reads an item, an output of another item, and an output of the sum. The sum names the
/// other item in an arm that is never taken.
const BESIDE: &str = "input i: i32 = 0\ninput j: i32 = 0\nfps 10\n\
    list = list.of(several [10, 20])\nitem = list.get(list, index: i)\n\
    other = list.get(list, index: j)\nnever = control.pass(false)\n\
    sum = state.integrate(control.switch(never, item, other))\n\
    output y: f32 = sum\noutput z: f32 = other\n";

/// A session in which both items failed in frame 1.
fn failed(mut session: Session) -> Session {
    session.tick(&Ask::all()).expect("it runs");
    let both = |session: &mut Session, at: i32| {
        session.set("i", at).expect("it fits");
        session.set("j", at).expect("it fits");
    };
    both(&mut session, 7);
    session.tick(&Ask::all()).expect("the frame has failures");
    both(&mut session, 1);
    session
}

fn opened() -> Session {
    Session::open(&Engine::new(), BESIDE.as_bytes()).expect("it opens")
}

fn edit(session: &mut Session, json: Json) {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).expect("it fits");
}

fn told(session: &mut Session) -> Vec<String> {
    let answer = session.eval(&Ask::all()).expect("it runs").answer;
    answer.failures.iter().map(|it| format!("{} {:?}", it.path, it.replayed)).collect()
}

#[test]
fn a_failure_that_no_state_reads_is_not_told_as_one_of_an_earlier_tick() {
    let lazy = || {
        let (document, _) = Engine::new().read(BESIDE.as_bytes());
        Session::with_evaluator(&Engine::new(), document.expect("it can be read"), Lazy)
    };
    let settled = |mut session: Session| {
        session.settle();
        session
    };
    let edited = |mut session: Session| {
        // After an edit, a plan answers that has not been optimised.
        edit(&mut session, json!({ "edit": "rename_node", "node": "list", "to": "all" }));
        session
    };
    let all = [opened(), settled(opened()), edited(settled(opened())), lazy(), edited(lazy())];
    for session in all {
        assert_eq!(told(&mut failed(session)), ["item Some(1)"]);
    }
}

#[test]
fn failures_of_earlier_ticks_follow_nodes_and_go_with_their_state() {
    let mut session = failed(opened());
    edit(&mut session, json!({ "edit": "rename_node", "node": "sum", "to": "total" }));
    assert_eq!(told(&mut session), ["item Some(1)"]);
    edit(&mut session, json!({ "edit": "rename_node", "node": "item", "to": "first" }));
    assert_eq!(told(&mut session), ["first Some(1)"]);
    edit(&mut session, json!({ "edit": "group", "nodes": ["total", "first"], "name": "g" }));
    assert_eq!(told(&mut session), ["g/first Some(1)"]);
    assert!(session.undo() && session.undo() && session.undo());
    assert_eq!(told(&mut session), ["item Some(1)"]);
    // A node of another kind has a state of its own.
    let kind = json!({ "type": "state.counter" });
    edit(&mut session, json!({ "edit": "replace_type", "node": "sum", "kind": kind }));
    assert_eq!(told(&mut session), Vec::<String>::new());
    assert!(session.undo());
    assert_eq!(told(&mut session), ["item Some(1)"]);
}
