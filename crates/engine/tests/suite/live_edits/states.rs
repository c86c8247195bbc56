//! Scripts of edits, settings and ticks on documents with state: a live graph gives the same
//! results as plans that are made anew after each edit, and has the same state from tick to tick.

use super::*;

/// A step of a script.
#[derive(Clone, Debug)]
enum Step {
    Edit(Sketch),
    Undo,
    Redo,
    Set(i16),
    /// A column of this many elements, one of which is this number.
    Elements(u8, u8),
    Count(Option<usize>),
    Tick,
    /// To a frame relative to the current one.
    Seek(i64),
    /// This many ticks per second from now on.
    Fps(u8),
    Restart,
    /// Another frame in one evaluation only.
    Peek(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => sketch().prop_map(Step::Edit),
        2 => Just(Step::Undo),
        1 => Just(Step::Redo),
        3 => (-5_i16..40).prop_map(Step::Set),
        8 => Just(Step::Tick),
        2 => (-4_i64..6).prop_map(Step::Seek),
        1 => (10_u8..40).prop_map(Step::Fps),
        1 => Just(Step::Restart),
        1 => (0_i64..9).prop_map(Step::Peek),
    ]
}

/// The result of a step, without parts that the sessions word differently.
fn taken(session: &mut Session, step: &Step, edit: Option<&Edit>) -> String {
    match step {
        Step::Edit(_) | Step::Fps(_) => {
            let edit = edit.expect("it is an edit");
            format!("{:?}", session.edit(edit).map_err(|error| error.to_string()))
        }
        Step::Undo => session.undo().to_string(),
        Step::Redo => session.redo().to_string(),
        Step::Set(number) => {
            format!("{:?}", session.set("x", f32::from(*number)).map_err(|e| e.to_string()))
        }
        Step::Elements(n, number) => {
            let mut elements: Vec<f32> = (0..*n).map(f32::from).collect();
            elements[usize::from(number % n)] = f32::from(*number);
            let given = Given::Along(RequestAxis::Index, Column::from_vec(elements));
            format!("{:?}", session.set_all([("x", given)]).map_err(|e| e.to_string()))
        }
        Step::Count(n) => {
            session.set_count(*n);
            String::new()
        }
        Step::Tick => match session.tick(&Ask::all()) {
            Ok(evaluated) => outputs(&evaluated.answer),
            Err(error) => error.to_string(),
        },
        Step::Seek(by) => {
            let frame = session.frame() + by;
            format!("{:?}", session.seek(frame).map_err(|error| error.to_string()))
        }
        Step::Restart => {
            session.restart();
            String::new()
        }
        Step::Peek(frame) => match session.eval(&Ask { frame: Some(*frame), ..Ask::all() }) {
            Ok(evaluated) => outputs(&evaluated.answer),
            Err(error) => error.to_string(),
        },
    }
}

fn outputs(answer: &millstream_ir::Answer) -> String {
    let mut all: Vec<String> = (answer.outputs.iter())
        .map(|output| format!("{}: {}", output.name, told(Some(output))))
        .collect();
    all.sort();
    format!("{all:?} {:?}", failed(&answer.failures))
}

/// Steps after which inputs and state are columns.
fn step_of_elements() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => step(),
        6 => (prop_oneof![4 => Just(20_u8), 1 => 1_u8..24], any::<u8>())
            .prop_map(|(n, number)| Step::Elements(n, number)),
        1 => prop_oneof![Just(None), Just(Some(20)), Just(Some(3))].prop_map(Step::Count),
    ]
}

fn play_both(start: &str, script: &[Step], settle: u64) -> Answered {
    let engine = engine();
    let world = World::of_states();
    let mut live = opened(&engine, start, true);
    let mut plain = opened(&engine, start, false);
    let mut answered = Answered::default();
    let n_steps = script.len();
    let mut done = Vec::new();
    for (i, step) in script.iter().enumerate() {
        let edit = match step {
            Step::Edit(sketch) => Some(sketch.edit(&live, &world)),
            Step::Fps(fps) => {
                let head = json!({ "edit": "set_head", "name": "", "fps": fps, "start_frame": 0 });
                Some(serde_json::from_value(head).expect("an edit"))
            }
            _ => None,
        };
        let made = edit.as_ref().and_then(|edit| serde_json::to_string(edit).ok());
        done.push(made.unwrap_or_else(|| format!("{step:?}")));
        let text = || format!("step {i} of {n_steps}, {done:#?}: {}", live_text(&live));
        let before = text();
        let (mine, theirs) =
            (taken(&mut live, step, edit.as_ref()), taken(&mut plain, step, edit.as_ref()));
        assert_eq!(mine, theirs, "{before}");
        assert_eq!(live.frame(), plain.frame(), "{before}");
        if settle >> (i % 64) & 1 != 0 {
            live.settle();
        }
        let (mine, theirs) = (live.eval(&Ask::all()), plain.eval(&Ask::all()));
        answered.n += 1;
        answered.n_live += usize::from(mine.as_ref().is_ok_and(|it| it.plan().is_none()));
        let told = |it: Result<millstream::session::Evaluated, _>| match it {
            Ok(evaluated) => outputs(&evaluated.answer),
            Err(error) => format!("{error}"),
        };
        assert_eq!(told(mine), told(theirs), "{before}");
    }
    answered
}

fn live_text(session: &Session) -> String {
    millstream_document::save(session.document())
}

#[test]
fn live_graphs_and_plans_keep_the_same() {
    let scripts = (vec(step(), 1..40), any::<u64>());
    let start = World::of_states().start;
    let answered = play_many(&scripts, |(script, settle)| play_both(&start, &script, settle));
    assert!(answered.n_live * 2 >= answered.n, "{answered:?}");
}

#[test]
fn live_graphs_and_plans_keep_the_same_columns() {
    let scripts = (vec(step_of_elements(), 1..40), any::<u64>());
    let start = World::of_states().start;
    let answered = play_many(&scripts, |(script, settle)| {
        let script: Vec<Step> = std::iter::once(Step::Elements(20, 7)).chain(script).collect();
        play_both(&start, &script, settle)
    });
    assert!(answered.n_live * 2 >= answered.n, "{answered:?}");
}
