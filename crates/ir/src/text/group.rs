//! The groups that the repeats of a text run.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Instance, Settings};
use rustc_hash::FxHashMap;

use super::error::{Problems, TextError};
use super::line::GroupLine;
use crate::Graph;
use crate::verify::{Stage, verify};

/// A repeat in a text, to be compiled.
#[derive(Debug)]
pub struct GroupText<'a> {
    /// The label of the group in the text.
    pub label: &'a str,
    /// Name of the group.
    pub name: &'a str,
    /// The graph of the group, which is valid.
    pub graph: &'a Graph,
    /// The input of the node with the number of rounds: one of the group's, or the next one.
    pub count: usize,
    /// For each output of the group, the input that receives it in the next round.
    pub carries: &'a [Option<usize>],
    /// The output that tells whether to continue.
    pub go: Option<usize>,
    /// Whether the repeat ends when a round changes no carried value.
    pub until_stable: bool,
}

/// Makes the instance of a repeat, or gives the reason why there is none.
pub type MakeRepeat<'a> = &'a mut dyn FnMut(GroupText<'_>) -> Result<Arc<Instance>, TextError>;

/// The groups read so far.
pub(super) struct Groups<'a> {
    make: MakeRepeat<'a>,
    by_label: FxHashMap<String, (GroupLine, Graph)>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(make: MakeRepeat<'a>) -> Self {
        Self { make, by_label: FxHashMap::default() }
    }

    /// Adds a group after its last line was read, and checks it.
    pub(super) fn add(&mut self, line: GroupLine, graph: Graph, problems: &mut Problems) {
        let at = (line.line, line.span);
        if problems.is_empty()
            && let Err(problem) = is_sound(&line, &graph)
        {
            let label = line.label.clone();
            problems.add(at.0, at.1, &TextError::Group { label, problem });
        }
        let label = line.label.clone();
        if self.by_label.insert(label.clone(), (line, graph)).is_some() {
            problems.add(at.0, at.1, &TextError::NameTwice { what: "groups", name: label });
        }
    }

    /// The instance of a repeat with these settings.
    pub(super) fn repeat(&mut self, settings: &Settings) -> Result<Arc<Instance>, TextError> {
        let label = settings.text("body");
        let Some((line, graph)) = self.by_label.get(label) else {
            return Err(TextError::UnknownGroup { label: label.into() });
        };
        let refused = |problem: String| TextError::Group { label: label.into(), problem };
        let go = match settings.text("while") {
            "" => None,
            name => {
                let at = graph.outputs.iter().position(|output| *output.name == *name);
                let at = at.filter(|at| graph.outputs[*at].ty == Type::BOOL);
                Some(at.ok_or_else(|| refused(format!("it has no bool output `{name}`")))?)
            }
        };
        let is_open = |(i, input): (usize, &Option<usize>)| input.is_none() && Some(i) != go;
        if let Some(i) = line.carries.iter().enumerate().position(is_open) {
            let name = &graph.outputs[i].name;
            return Err(refused(format!("its output `{name}` is not carried")));
        }
        (self.make)(GroupText {
            label,
            name: settings.text("group"),
            graph,
            count: line.count,
            carries: &line.carries,
            go,
            until_stable: settings.text("until") == "stable",
        })
    }
}

/// Checks that the line fits the graph, and that the graph is valid.
fn is_sound(line: &GroupLine, graph: &Graph) -> Result<(), String> {
    if let Err(errors) = verify(graph, Stage::Converted) {
        return Err(errors.first().map_or_else(String::new, ToString::to_string));
    }
    let inputs = graph.inputs().as_slice();
    match inputs.get(line.count) {
        Some(input) if input.ty != Type::I32 => {
            return Err(format!("input {} is not an i32", line.count));
        }
        None if line.count != inputs.len() => {
            return Err(format!("there is no input {}", line.count));
        }
        Some(_) | None => {}
    }
    if line.carries.len() != graph.outputs.len() {
        let (said, has) = (line.carries.len(), graph.outputs.len());
        return Err(format!("its line lists {said} outputs, but it has {has}"));
    }
    for (output, input) in graph.outputs.iter().zip(&line.carries) {
        let Some(input) = *input else { continue };
        if inputs.get(input).is_none_or(|input| input.ty != output.ty) {
            return Err(format!("output `{}` cannot be carried to input {input}", output.name));
        }
    }
    Ok(())
}
