//! The study of edits: a document that is compiled after each edit, beside a session, which bridges
//! the time until the new plan is compiled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream::document::{Editor, InputValue, Link};
use millstream::evaluate::{AnyEvaluator, Lazy, List};
use millstream::session::Session;
use millstream::{Document, Edit, Engine, Program, Request};

use super::measure::Row;
use super::{Setting, Shown, Study};
use crate::edits::random_graph;
use crate::outcome::{Exit, Stop};
use crate::random::Random;

/// The number of nodes of the document.
const NODES: usize = 10_000;

/// The frames per turn.
const FRAMES: usize = 64;

/// A way to continue after an edit.
enum Way {
    Session(Box<Session>),
    Compiled(Box<Compiled>),
}

/// A document that is checked and compiled after each edit, and an evaluator for the new plan.
struct Compiled {
    editor: Editor,
    /// The edited document, not compiled yet.
    edited: Option<Document>,
    program: Program,
    evaluator: AnyEvaluator,
}

impl Way {
    /// Prepares an edit, untimed.
    fn prepare(&mut self, edit: &Edit) -> Result<(), String> {
        if let Self::Compiled(compiled) = self {
            compiled.editor.apply(edit).map_err(|error| error.to_string())?;
            compiled.edited = Some(compiled.editor.document().clone());
        }
        Ok(())
    }

    fn edit(&mut self, engine: &Engine, edit: &Edit) -> Result<(), String> {
        match self {
            Self::Session(session) => session.edit(edit).map_err(|error| error.to_string()),
            Self::Compiled(compiled) => {
                let edited = compiled.edited.take().expect("the edit was prepared");
                let program = engine.compile(edited);
                compiled.program = program.map_err(|error| error.to_string())?;
                Ok(())
            }
        }
    }

    fn frame(&mut self, knob: f32) -> Result<f32, String> {
        match self {
            Self::Session(session) => {
                session.set("x0", knob).map_err(|error| error.to_string())?;
                let value = session.value::<f32>("y0").map_err(|error| error.to_string())?;
                value.ok_or_else(|| "the output has no value".to_owned())
            }
            Self::Compiled(compiled) => {
                let Compiled { program, evaluator, .. } = &mut **compiled;
                let request = Request::new().set("x0", knob).output("y0");
                let answer = program.run_with(&mut **evaluator, &request);
                let answer = answer.map_err(|error| error.to_string())?;
                let value = answer.value::<f32>("y0");
                evaluator.give_back(answer);
                value.ok_or_else(|| "the output has no value".to_owned())
            }
        }
    }
}

/// Links a socket to another earlier node, so that no cycle arises.
fn relink(document: &Document, random: &mut Random) -> Edit {
    loop {
        let at = 1_000 + random.below(NODES - 1_000);
        let name = format!("n{at}");
        let node = &document.nodes[&*name];
        let linked = node.inputs.iter().find_map(|(socket, input)| match &input.value {
            InputValue::Link(_) => Some(Arc::clone(socket)),
            InputValue::Literal(_) | InputValue::Input(_) | InputValue::Several(_) => None,
        });
        if let Some(socket) = linked {
            let from = at - 1 - random.below(100);
            return Edit::link(name, socket, Link::new(format!("n{from}"), "value"));
        }
    }
}

/// Varies the number of frames between edits.
pub(super) fn edits(setting: &Setting<'_>) -> Result<Study, Stop> {
    let failed = |error: String| Stop::new(Exit::Failed, error, None);
    let mut rows = Vec::new();
    for every in [1, 4, 16, 64] {
        let document = random_graph(NODES);
        let compiled = |evaluator: AnyEvaluator| -> Result<Way, Stop> {
            let program = setting.engine.compile(document.clone());
            let program = program.map_err(|error| failed(error.to_string()))?;
            let registry = Arc::new(setting.engine.registry().clone());
            let editor = Editor::new(document.clone(), registry);
            Ok(Way::Compiled(Box::new(Compiled { editor, edited: None, program, evaluator })))
        };
        let session = Session::new(setting.engine, document.clone());
        let mut field = [
            ("session", Way::Session(Box::new(session)), Vec::new()),
            ("compile, list", compiled(Box::new(List::new()))?, Vec::new()),
            ("compile, lazy", compiled(Box::new(Lazy))?, Vec::new()),
        ];
        let mut random = Random(19);
        let mut knob = 0.0;
        let seconds = Duration::try_from_secs_f64(setting.seconds).unwrap_or_default();
        let until = Instant::now() + seconds;
        let mut turn = 0;
        while turn < 3 || Instant::now() < until {
            let played: Vec<(Option<Edit>, f32)> = (0..FRAMES)
                .map(|k| {
                    knob += 0.01;
                    ((k % every == 0).then(|| relink(&document, &mut random)), knob)
                })
                .collect();
            let mut values: Option<Vec<f32>> = None;
            for (name, way, times) in &mut field {
                let mut here = Vec::with_capacity(FRAMES);
                for (edit, knob) in &played {
                    if let Some(edit) = edit {
                        way.prepare(edit).map_err(failed)?;
                    }
                    let start = Instant::now();
                    if let Some(edit) = edit {
                        way.edit(setting.engine, edit).map_err(failed)?;
                    }
                    here.push(way.frame(*knob).map_err(failed)?);
                    times.push(start.elapsed().as_secs_f64());
                }
                match &values {
                    None => values = Some(here),
                    Some(values) if *values == here => {}
                    Some(_) => return Err(failed(format!("{name} gives different values"))),
                }
            }
            turn += 1;
        }
        for (name, _, mut times) in field {
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            times.sort_by(f64::total_cmp);
            let worst = times[times.len() * 99 / 100];
            for (what, seconds) in [("mean", mean), ("99th percentile", worst)] {
                rows.push(Row {
                    graph: format!("{NODES} nodes"),
                    x: f64::from(every as u32),
                    strategy: format!("{name}, {what}"),
                    gave_up: false,
                    runs: None,
                    glitches: 0.0,
                    seconds: Some(seconds),
                });
            }
        }
    }
    let title =
        "A random document of 10,000 nodes, relinked while an input changes: time of a frame";
    Ok(Study { name: "edits", title, x: "frames per edit", rows, chart: Some(Shown::Time) })
}
