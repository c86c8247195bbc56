//! The groups that the zones of a text run.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::zone::{Course, Mode};
use millstream_node::{Instance, Settings, Zone};
use rustc_hash::FxHashMap;

use super::error::{Problems, TextError};
use super::line::GroupLine;
use crate::Graph;
use crate::verify::{Stage, verify};

/// A zone in a text, to be compiled.
#[derive(Debug)]
pub struct GroupText<'a> {
    /// The label of the group in the text.
    pub label: &'a str,
    /// Name of the group.
    pub name: &'a str,
    /// The graph of the group, which is valid.
    pub graph: &'a Graph,
    /// How it runs.
    pub course: Course,
}

/// Makes the instance of a zone, or gives the reason why there is none.
pub type MakeZone<'a> = &'a mut dyn FnMut(GroupText<'_>) -> Result<Arc<Instance>, TextError>;

/// The groups read so far.
pub(super) struct Groups<'a> {
    make: MakeZone<'a>,
    by_label: FxHashMap<String, (GroupLine, Graph)>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(make: MakeZone<'a>) -> Self {
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

    /// The instance of a zone with these settings.
    pub(super) fn zone(
        &mut self,
        zone: Zone,
        settings: &Settings,
    ) -> Result<Arc<Instance>, TextError> {
        let label = settings.text("body");
        let Some((line, graph)) = self.by_label.get(label) else {
            return Err(TextError::UnknownGroup { label: label.into() });
        };
        let refused = |problem: String| TextError::Group { label: label.into(), problem };
        let inputs: Vec<&str> = graph.inputs().as_slice().iter().map(|it| &*it.name).collect();
        let outputs: Vec<&str> = graph.outputs.iter().map(|it| &*it.name).collect();
        let course = zone.course(settings, &inputs, &outputs);
        let mut course = course.map_err(|error| refused(error.to_string()))?;
        course.carries.clone_from(&line.carries);
        let is_bool = |at: usize| graph.outputs[at].ty == Type::BOOL;
        let keep = match &mut course.mode {
            Mode::Rounds { count, .. } => {
                *count = line.count.ok_or_else(|| refused("its line has no count".into()))?;
                None
            }
            Mode::Items { keep, .. } => *keep,
            Mode::Ticks { .. } => return Err(refused("ticks are taken apart".into())),
        };
        if let Some(at) = course.go.into_iter().chain(keep).find(|at| !is_bool(*at)) {
            return Err(refused(format!("its output `{}` is not a bool", outputs[at])));
        }
        if let Some(i) = (0..outputs.len())
            .find(|i| course.carries[*i].is_none() && course.go != Some(*i) && !course.collects(*i))
        {
            return Err(refused(format!("its output `{}` is not carried", outputs[i])));
        }
        (self.make)(GroupText { label, name: settings.text("group"), graph, course })
    }
}

/// Checks that the line fits the graph, and that the graph is valid.
fn is_sound(line: &GroupLine, graph: &Graph) -> Result<(), String> {
    if let Err(errors) = verify(graph, Stage::Converted) {
        return Err(errors.first().map_or_else(String::new, ToString::to_string));
    }
    let inputs = graph.inputs().as_slice();
    if let Some(count) = line.count {
        match inputs.get(count) {
            Some(input) if input.ty != Type::I32 => {
                return Err(format!("input {count} is not an i32"));
            }
            None if count != inputs.len() => return Err(format!("there is no input {count}")),
            Some(_) | None => {}
        }
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
