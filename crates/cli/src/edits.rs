//! `millstream bench --edits`: a simulated user turns a knob in each frame and edits the graph.
//!
//! Seconds without edits alternate with seconds of one edit per frame, so that other load on the
//! machine affects both alike. The time of a frame runs from the edit or knob turn to the values of
//! all outputs, without the wait for the next frame.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream::document::{EditKind, Input, InputValue, Link, NewNode, Node, NodeKind, load};
use millstream::session::{Ask, Session};
use millstream::{Column, Document, Edit, Given, Limits, RequestAxis, Value};
use serde_json::{Value as Json, json};

use crate::outcome::{Exit, Stop};
use crate::percentiles::Percentiles;
use crate::random::Random;
use crate::terminal::{eprint, print, visible};

/// A graph of `n` nodes, each depending on one or two recent nodes, and so on the inputs. Its
/// values stay between 0 and 1, and every change reaches the outputs.
pub(crate) fn random_graph(n: usize) -> Document {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut nodes = serde_json::Map::with_capacity(n);
    for i in 0..n {
        let near = |random: &mut Random, span: usize| match i.checked_sub(1 + random.below(span)) {
            Some(source) => json!({ "from": format!("n{source}.value") }),
            None => json!({ "input": format!("x{}", random.below(4)) }),
        };
        let node = if i % 3 == 2 {
            json!({ "type": "math.fraction", "in": { "x": near(&mut random, 1) } })
        } else {
            let ty = ["math.add", "math.subtract"][random.below(2)];
            let a = near(&mut random, 32);
            let b = if random.below(8) == 0 {
                json!(random.below(1000) as f64 / 1000.0)
            } else {
                near(&mut random, 1000)
            };
            json!({ "type": ty, "in": { "a": a, "b": b } })
        };
        nodes.insert(format!("n{i}"), node);
    }
    let last = n.saturating_sub(1);
    let outputs: serde_json::Map<String, Json> = (0..4.min(n))
        .map(|k| {
            let from = format!("n{}.value", last - k);
            (format!("y{k}"), json!({ "type": "f32", "from": from }))
        })
        .collect();
    let input = |k: usize| (format!("x{k}"), json!({ "type": "f32", "default": k as f64 / 5.0 }));
    let inputs: serde_json::Map<String, Json> = (0..4).map(input).collect();
    let document = json!({ "millstream": 2, "inputs": inputs, "outputs": outputs, "nodes": nodes });
    let text = document.to_string();
    let limits = Limits { document_bytes: text.len(), nodes: n, ..Limits::default() };
    let (document, _) = load(text.as_bytes(), &limits);
    document.expect("the generated text is valid")
}

/// Columns for all inputs of such a graph but the first, which is the knob.
pub(crate) fn random_columns(count: usize) -> impl Iterator<Item = (String, Given)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    (1..4).map(move |k| {
        let column: Vec<f32> = (0..count).map(|_| random.below(1000) as f32 / 1000.0).collect();
        (format!("x{k}"), Given::Along(RequestAxis::Index, Column::from_vec(column)))
    })
}

/// Plays `rate` frames a second and prints the results.
pub(crate) fn play(
    mut session: Session,
    rate: usize,
    seconds: f64,
    as_json: bool,
) -> Result<Exit, Stop> {
    let hz = rate as f64;
    let mut player = Player::new(&session);
    session.settle();
    if let Some(failure) = evaluate(&mut session)? {
        eprint(&format!("note: {}\n", visible(&failure)));
    }
    let blocks = (seconds / 2.0).ceil().max(1.0) as usize;
    let Frames { quiet, edited, n_failed } = player.frames(&mut session, rate, blocks);
    // The time until an optimized plan that includes the last edit runs.
    let last = player.next(session.document());
    player.make(&mut session, &last);
    let begin = Instant::now();
    session.settle();
    let settled = begin.elapsed().as_secs_f64();
    let n_frames = quiet.len() + edited.len();
    let n_missed = |times: &[f64]| times.iter().filter(|time| **time > 1.0 / hz).count();
    let (n_quiet, n_edited) = (quiet.len(), edited.len());
    let (missed_quiet, missed_edited) = (n_missed(&quiet), n_missed(&edited));
    let (quiet, edited) = (Percentiles::of(quiet), Percentiles::of(edited));
    let times = std::mem::take(&mut player.times);
    let n_made = times.len() - player.n_refused;
    let edits = Percentiles::of(times);
    // Without an edit there is nothing to compare.
    let ratio = (n_made > 0).then_some(edited.p99 / quiet.p99);
    if as_json {
        let report = json!({
            "hz": hz,
            "nodes": session.document().n_nodes(),
            "frames_without_edits": quiet.json(),
            "frames_with_edits": edited.json(),
            "missed_without_edits": missed_quiet,
            "missed_with_edits": missed_edited,
            "edits": edits.json(),
            "edits_refused": player.n_refused,
            "frames_with_failures": n_failed,
            "p99_ratio": ratio,
            "optimised_after_s": settled,
        });
        print(&report.to_string())?;
    } else {
        print(&format!("{} nodes, {hz} frames a second", session.document().n_nodes()))?;
        print("                      number       p50 ms       p90 ms       p99 ms       max ms")?;
        print(&quiet.row("frames without edits"))?;
        print(&edited.row("frames with an edit"))?;
        print(&edits.row("the edits alone"))?;
        print(&match ratio {
            Some(ratio) => format!(
                "the 99th percentile of frames with an edit is {ratio:.2} times that of frames \
                 without"
            ),
            None => "no edit was applicable to the document, so there is no comparison".into(),
        })?;
        print(&format!(
            "missed, because they took longer than {:.1} ms: {missed_quiet} of {n_quiet} frames \
             without edits, {missed_edited} of {n_edited} with an edit",
            1000.0 / hz
        ))?;
        print(&format!(
            "{} edits were refused; the last optimized plan ran after {settled:.3} s",
            player.n_refused
        ))?;
        if n_failed > 0 {
            print(&format!("in {n_failed} of {n_frames} frames at least one output had no value"))?;
        }
    }
    Ok(Exit::Done)
}

/// Ends the verb because a session refused an edit or a request.
pub(crate) fn refused(error: &dyn std::error::Error) -> Stop {
    Stop::new(Exit::Wrong, error.to_string(), None)
}

/// Evaluates all outputs, and returns the first failure if a node failed.
fn evaluate(session: &mut Session) -> Result<Option<String>, Stop> {
    let evaluated = session.eval(&Ask::all()).map_err(|error| refused(&error))?;
    Ok(evaluated.answer.failures.first().map(ToString::to_string))
}

/// The times of frames in seconds, and the number of those in which an output had no value.
#[derive(Default)]
struct Frames {
    quiet: Vec<f64>,
    edited: Vec<f64>,
    n_failed: usize,
}

/// The next action.
enum Planned {
    Edit(Box<Edit>),
    Undo,
}

/// Makes edits like those of a person at work.
struct Player {
    random: Random,
    /// Names of nodes outside groups; nodes added later come last.
    nodes: Vec<Arc<str>>,
    n_added: usize,
    /// The knob, a numeric or vector input, with its type.
    knob: Option<(Arc<str>, String)>,
    frame: i64,
    times: Vec<f64>,
    n_refused: usize,
}

impl Player {
    fn new(session: &Session) -> Self {
        let document = session.document();
        let is_knob = |ty: &str| matches!(ty, "f32" | "f64" | "vec3");
        let knob = document.inputs.iter().find(|(_, def)| is_knob(&def.ty));
        Self {
            random: Random(0x2545_f491_4f6c_dd1d),
            nodes: document.nodes.keys().cloned().collect(),
            n_added: 0,
            knob: knob.map(|(name, def)| (Arc::clone(name), def.ty.to_string())),
            frame: session.frame(),
            times: Vec::new(),
            n_refused: 0,
        }
    }

    /// Turns the knob, or seeks the next frame if there is no knob.
    fn turn(&mut self, session: &mut Session) {
        self.frame += 1;
        match &self.knob {
            Some((knob, ty)) => {
                let value = (self.frame as f32 * 0.37).sin().mul_add(0.5, 0.5);
                let value = match ty.as_str() {
                    "vec3" => Value::Vec3([value, 0.5, -value].into()),
                    _ => Value::F32(value),
                };
                session
                    .set_all([(&**knob, Given::One(value))])
                    .expect("the value has the input's type");
            }
            // A frame that failed is retried together with the next one.
            None => drop(session.seek(self.frame)),
        }
    }

    /// Plays blocks of a second without edits and one with an edit in each frame.
    fn frames(&mut self, session: &mut Session, rate: usize, blocks: usize) -> Frames {
        let mut frames = Frames::default();
        for block in 0..2 * blocks {
            let with_edits = block % 2 == 1;
            let start = Instant::now();
            for frame in 0..rate {
                let planned = with_edits.then(|| self.next(session.document()));
                let begin = Instant::now();
                if let Some(planned) = planned {
                    self.make(session, &planned);
                }
                self.turn(session);
                // After an edit, nodes may fail or outputs may have no value. This is counted, and
                // play continues.
                frames.n_failed += usize::from(!matches!(evaluate(session), Ok(None)));
                let times = if with_edits { &mut frames.edited } else { &mut frames.quiet };
                times.push(begin.elapsed().as_secs_f64());
                let due = start + Duration::from_secs_f64((frame + 1) as f64 / rate as f64);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
        frames
    }

    fn next(&mut self, document: &Document) -> Planned {
        for _ in 0..64 {
            let edit = match self.random.below(20) {
                0..10 => self.relink(document),
                10..15 => self.literal(document),
                15 => self.mute(document),
                16..18 => self.add(document),
                18 => self.remove(document),
                _ => return Planned::Undo,
            };
            if let Some(edit) = edit {
                return Planned::Edit(Box::new(edit));
            }
        }
        Planned::Undo
    }

    fn make(&mut self, session: &mut Session, planned: &Planned) {
        let begin = Instant::now();
        let is_done = match planned {
            Planned::Edit(edit) => session.edit(edit).is_ok(),
            Planned::Undo => session.undo(),
        };
        self.times.push(begin.elapsed().as_secs_f64());
        self.n_refused += usize::from(!is_done);
    }

    fn any<'d>(&mut self, document: &'d Document) -> Option<(Arc<str>, &'d Node)> {
        let at = self.random.below(self.nodes.len().max(1));
        let name = self.nodes.get(at)?;
        // An undo may have removed the node.
        Some((Arc::clone(name), document.nodes.get(name)?))
    }

    /// Links a socket to another node of the type of its current source.
    fn relink(&mut self, document: &Document) -> Option<Edit> {
        let (name, node) = self.any(document)?;
        let (socket, link) = node.inputs.iter().find_map(|(socket, input)| match &input.value {
            InputValue::Link(link) => Some((socket, link)),
            InputValue::Literal(_) | InputValue::Input(_) | InputValue::Several(_) => None,
        })?;
        let kind = &document.nodes.get(&link.node)?.kind;
        let (source, other) = self.any(document)?;
        let fits = other.kind == *kind && source != link.node;
        fits.then(|| {
            Edit::link(name, Arc::clone(socket), Link::new(source, Arc::clone(&link.output)))
        })
    }

    /// Changes a number or a vector.
    fn literal(&mut self, document: &Document) -> Option<Edit> {
        let (name, node) = self.any(document)?;
        let (socket, literal) =
            node.inputs.iter().find_map(|(socket, input)| match &input.value {
                InputValue::Literal(literal) => Some((socket, literal)),
                InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => None,
            })?;
        let value = match &**literal {
            Json::Number(number) => self.other_number(number),
            Json::Array(items) => match &items[..] {
                [Json::Number(first), rest @ ..] => {
                    let first = self.other_number(first);
                    Json::Array(std::iter::once(first).chain(rest.iter().cloned()).collect())
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Edit::literal(name, Arc::clone(socket), value))
    }

    fn other_number(&mut self, number: &serde_json::Number) -> Json {
        match number.as_i64() {
            Some(whole) => json!(whole ^ 1),
            None => json!(self.random.below(1000) as f64 / 1000.0),
        }
    }

    fn mute(&mut self, document: &Document) -> Option<Edit> {
        let (name, node) = self.any(document)?;
        let muted = !node.muted;
        matches!(node.kind, NodeKind::Type(_)).then(|| EditKind::Mute { node: name, muted }.into())
    }

    /// Inserts a copy of a socket's source between the two.
    fn add(&mut self, document: &Document) -> Option<Edit> {
        let (name, node) = self.any(document)?;
        let (socket, link) = node.inputs.iter().find_map(|(socket, input)| match &input.value {
            InputValue::Link(link) => Some((socket, link.clone())),
            InputValue::Literal(_) | InputValue::Input(_) | InputValue::Several(_) => None,
        })?;
        let like = document.nodes.get(&link.node)?.clone();
        let new: Arc<str> = format!("added {}", self.n_added).into();
        self.n_added += 1;
        self.nodes.push(Arc::clone(&new));
        let to = InputValue::Link(Link::new(Arc::clone(&new), link.output));
        let nodes = vec![NewNode::new(new, like)];
        let (input, to) = (Arc::clone(socket), Some(Input::from(to)));
        Some(Edit::batch(vec![
            EditKind::AddNodes { nodes }.into(),
            EditKind::SetInput { node: name, input, to, before: None }.into(),
        ]))
    }

    /// Removes an added node; its readers fall back to the defaults of their sockets.
    fn remove(&mut self, document: &Document) -> Option<Edit> {
        // An undo may have removed the node.
        let is_added =
            |name: &Arc<str>| name.starts_with("added ") && document.nodes.contains_key(name);
        let at = self.nodes.iter().rposition(is_added)?;
        let nodes = vec![self.nodes.remove(at)];
        Some(EditKind::RemoveNodes { nodes }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_random_graphs_are_useful() {
        let engine = crate::library::engine(Limits::default());
        let mut session = Session::new(&engine, random_graph(3_000));
        let value =
            |session: &mut Session| session.value::<f32>("y0").expect("it runs").expect("a number");
        let before = value(&mut session);
        assert!(before.is_finite() && before.abs() < 3.0, "{before}");
        session.set("x1", 0.77_f32).expect("it fits");
        assert_ne!(value(&mut session), before, "changes do not die out");
    }
}
