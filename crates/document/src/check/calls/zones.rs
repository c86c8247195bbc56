//! Closures that go into zones: they are the same in all runs, and so are their values.

use std::sync::Arc;

use millstream_node::interface::holds_closures;
use millstream_node::zone::{Course, Mode, Sockets};

use super::Resolver;
use super::body::Rewriting;
use super::known::Given;
use crate::check::error::CheckError;
use crate::checked::{CheckedKind, CheckedZone, Source};

impl Resolver<'_> {
    /// Makes the node at a position a zone into which values of closures go.
    pub(super) fn zone(
        &mut self,
        rewriting: &mut Rewriting,
        node: u32,
        zone: &Arc<CheckedZone>,
        given: &[Given],
    ) {
        let body = &self.checked.bodies[zone.body];
        let n_inputs = body.inputs.len();
        let course = &zone.course;
        let is_apart = |at: usize| course.mode.is_item(at) || course.carries.contains(&Some(at));
        let inputs = body.inputs.iter().enumerate().filter(|(at, _)| is_apart(*at));
        let inputs = inputs.map(|(_, input)| (&input.name, input.ty));
        let outputs = body.outputs.iter().map(|output| (&output.name, output.ty));
        let wrong = inputs.chain(outputs).find(|(_, ty)| holds_closures(*ty));
        if let Some((name, _)) = wrong {
            let (zone, name) = (course.mode.zone(), name.to_string());
            self.report(rewriting, node, &CheckError::ClosureInZone { zone, name });
            rewriting.set(node, CheckedKind::Wrong, &[]);
            return;
        }
        let (mut forms, mut sources) = (Vec::with_capacity(n_inputs), Vec::new());
        // The first new input for each input of the node.
        let mut first: Vec<usize> = Vec::with_capacity(given.len());
        for (at, given) in given.iter().enumerate() {
            first.push(sources.len());
            let takes_closure =
                at < n_inputs && holds_closures(self.checked.bodies[zone.body].inputs[at].ty);
            match given {
                Given::Value(source) if !takes_closure => {
                    forms.push(None);
                    sources.push(*source);
                }
                Given::Closure(closure) if takes_closure => {
                    forms.push(Some(closure.form));
                    sources.extend_from_slice(&closure.values);
                }
                Given::Value(Source::Literal(_)) => {
                    self.no_closure(rewriting, node, None);
                    return;
                }
                Given::Value(_) => {
                    self.no_closure(rewriting, node, Some(&Given::Unknown));
                    return;
                }
                Given::Closure(_) | Given::Nothing | Given::Unknown => {
                    self.no_closure(rewriting, node, Some(given));
                    return;
                }
            }
        }
        forms.truncate(n_inputs);
        let Some(made) = self.body(zone.body, &forms) else {
            let excess = self.excess();
            self.report(rewriting, node, &excess);
            rewriting.set(node, CheckedKind::Wrong, &[]);
            return;
        };
        let body = &self.checked.bodies[made.body];
        let of_body = body.inputs.iter().enumerate().map(|(at, input)| {
            // Of lists of items the type is another than that of the group's input.
            let mut before = first.iter().zip(&forms);
            let same = before.position(|(new, form)| *new == at && form.is_none());
            same.map_or((Arc::clone(&input.name), input.ty), |at| zone.inputs[at].clone())
        });
        let inputs: Sockets = of_body.chain(zone.inputs[n_inputs..].iter().cloned()).collect();
        let zone = CheckedZone {
            body: made.body,
            course: moved(&zone.course, &first),
            inputs,
            outputs: zone.outputs.clone(),
        };
        rewriting.set(node, CheckedKind::Zone(Arc::new(zone)), &sources);
    }
}

/// A course of a group whose inputs, and those of the node after them, have moved.
fn moved(course: &Course, first: &[usize]) -> Course {
    let mode = match &course.mode {
        Mode::Rounds { count, stable } => Mode::Rounds { count: first[*count], stable: *stable },
        Mode::Items { items, keep, by } => {
            let items = items.iter().map(|at| first[*at]).collect();
            Mode::Items { items, keep: *keep, by: *by }
        }
        Mode::Ticks { reset, substeps } => {
            Mode::Ticks { reset: first[*reset], substeps: first[*substeps] }
        }
    };
    let carries = course.carries.iter().map(|input| input.map(|at| first[at])).collect();
    Course { carries, go: course.go, mode }
}
