//! Puts groups in the place of calls of closures, so that nothing after checking knows closures.
//!
//! Bodies are gone through from the root, each once for each combination of *forms* of the closures
//! that come into it (see [`known`]). A body into which closures come is copied; in the place of
//! such an input it has an input for each value of the closure, and so for outputs. A node that
//! calls a closure becomes a use of its group, to whose inputs the captures and arguments go. Where
//! a switch chooses among closures, each arm is called by a node of its own, `n/0`, `n/1` and so on,
//! which no author writes, and switches choose among their outputs; `n` passes these on. So arms
//! that are not taken do not run, by the rules of switches.
//!
//! Cost: linear in the nodes of the bodies that are made. The depth of groups in each other is
//! limited, so recursion is.

mod body;
mod known;
mod zones;

use std::sync::Arc;

use millstream_base::id::SideTable;
use millstream_base::{Limits, Type};
use millstream_node::interface::holds_closures;
use millstream_node::{Interface, Registry};
use rustc_hash::{FxHashMap, FxHashSet};

use self::body::{Rewriting, closures_of};
use self::known::{Closure, Form, FormId, Forms, Given};
use super::choices::Choices;
use super::copies::passing_on;
use super::error::CheckError;
use super::zone::check_states;
use crate::at::{At, Part};
use crate::checked::{BodyId, Checked, CheckedKind, Source};
use crate::problems::Problems;

/// Puts groups in the place of all calls.
pub(super) fn resolve_calls(
    checked: &mut Checked,
    registry: &Registry,
    limits: &Limits,
    problems: &mut Problems,
) {
    let Some(involved) = involved(checked, registry) else { return };
    checked.has_closures = true;
    let was_right = !checked.is_partial && problems.n_errors() == 0;
    let root = checked.root;
    let mut resolver = Resolver {
        checked,
        registry,
        problems,
        involved,
        forms: Forms::default(),
        made: FxHashMap::default(),
        choices: Choices::new(registry),
        depth: 0,
        most_deep: limits.group_depth,
        n_nodes: 0,
        most_nodes: limits.expanded_nodes,
        reported: FxHashSet::default(),
    };
    resolver.body(root, &[]);
    if was_right {
        // What is called in a zone keeps no state either.
        check_states(&checked.bodies, problems);
        checked.is_partial |= problems.has_wrong_parts();
    }
}

/// The bodies with closures, themselves or in their groups; `None` if there are none at all.
fn involved(checked: &Checked, registry: &Registry) -> Option<SideTable<BodyId, bool>> {
    let mut involved = SideTable::for_arena(&checked.bodies, false);
    let mut users = SideTable::for_arena(&checked.bodies, Vec::new());
    let mut found = Vec::new();
    for (id, body) in checked.bodies.iter() {
        for node in &body.nodes {
            if let Some(inner) = node.kind.body() {
                users[inner].push(id);
            }
            let is_of_closures = match &node.kind {
                CheckedKind::Closure(_) => true,
                CheckedKind::Call(instance) => Arc::ptr_eq(&instance.def, registry.typed_call()),
                CheckedKind::Muted(muted) => {
                    muted.outputs.iter().any(|output| is_closure(output.ty))
                }
                CheckedKind::Group(_) | CheckedKind::Zone(_) | CheckedKind::Wrong => false,
            };
            if is_of_closures && !involved[id] {
                involved[id] = true;
                found.push(id);
            }
        }
        if !involved[id] && body.inputs.iter().any(|input| holds_closures(input.ty)) {
            involved[id] = true;
            found.push(id);
        }
    }
    if found.is_empty() {
        return None;
    }
    while let Some(id) = found.pop() {
        for user in users[id].iter().copied() {
            if !involved[user] {
                involved[user] = true;
                found.push(user);
            }
        }
    }
    Some(involved)
}

fn is_closure(ty: Type) -> bool {
    Interface::of(ty).is_some()
}

/// A body for certain closures.
struct Made {
    body: BodyId,
    /// What became of each output.
    outputs: Vec<MadeOutput>,
}

#[derive(Clone, Copy)]
enum MadeOutput {
    /// The output at this position.
    Value(u32),
    /// A closure whose values are the outputs from this position on.
    Closure(FormId, u32),
    /// No closure.
    Nothing,
    /// A closure that is not known; the reason has been reported.
    Unknown,
}

/// A body, and the form of the closure that comes in at each input.
type Use = (BodyId, Vec<Option<FormId>>);

struct Resolver<'c> {
    checked: &'c mut Checked,
    registry: &'c Registry,
    problems: &'c mut Problems,
    involved: SideTable<BodyId, bool>,
    forms: Forms,
    /// The bodies that were made, by the forms of the closures that come in; `None` while one is
    /// made, and for those that are wrong as a whole.
    made: FxHashMap<Use, Option<Arc<Made>>>,
    choices: Choices<'c>,
    depth: usize,
    most_deep: usize,
    n_nodes: usize,
    most_nodes: usize,
    /// The nodes at which something was reported: a group is gone through several times.
    reported: FxHashSet<(Arc<str>, Arc<str>)>,
}

impl Resolver<'_> {
    /// A body in which closures of these forms come in, those of all inputs without the ones that
    /// are no closures.
    fn body(&mut self, id: BodyId, closures: &[Option<FormId>]) -> Option<Arc<Made>> {
        let has_closures = closures.iter().any(Option::is_some);
        let outputs = 0..self.checked.bodies[id].outputs.len() as u32;
        if !self.involved[id] && !has_closures {
            let outputs = outputs.map(MadeOutput::Value).collect();
            return Some(Arc::new(Made { body: id, outputs }));
        }
        let key = (id, closures.to_vec());
        if let Some(known) = self.made.get(&key) {
            return known.clone();
        }
        if id != self.checked.root {
            self.n_nodes += self.checked.bodies[id].nodes.len();
        }
        if self.depth > self.most_deep || self.n_nodes > self.most_nodes {
            return None;
        }
        self.made.insert(key.clone(), None);
        self.depth += 1;
        let made = Rewriting::of(self, id, closures).run(self);
        self.depth -= 1;
        let made = Some(Arc::new(made));
        self.made.insert(key, made.clone());
        made
    }

    /// Why a body was not made: a limit.
    fn excess(&self) -> CheckError {
        if self.n_nodes > self.most_nodes {
            CheckError::ClosureNodes { limit: self.most_nodes }
        } else {
            CheckError::ClosureDepth { limit: self.most_deep }
        }
    }

    /// Reports what is wrong at a node, once in all makings of its body.
    fn report(&mut self, rewriting: &mut Rewriting, node: u32, error: &CheckError) {
        let group = Arc::clone(&rewriting.old.name);
        let node_name = Arc::clone(&rewriting.nodes[node as usize].name);
        let span = rewriting.nodes[node as usize].span;
        self.checked.is_partial = true;
        // A node that was added stands for the one in whose place it is.
        let written: Arc<str> = match node_name.split_once('/') {
            Some((written, _)) => written.into(),
            None => node_name,
        };
        if self.reported.insert((Arc::clone(&group), Arc::clone(&written))) {
            let at = At::group(&group).part(Part::Node(&written));
            self.problems.report(at, span, error);
        }
    }

    /// Makes a node to which no closure comes wrong, and reports it unless the reason was.
    fn no_closure(&mut self, rewriting: &mut Rewriting, node: u32, given: Option<&Given>) {
        if !matches!(given, Some(Given::Unknown)) {
            self.report(rewriting, node, &CheckError::NoClosure);
        }
        self.checked.is_partial = true;
        rewriting.set(node, CheckedKind::Wrong, &[]);
    }

    /// Makes the node at a position the use of a group, to whose inputs these things go; gives its
    /// outputs.
    fn use_group(
        &mut self,
        rewriting: &mut Rewriting,
        node: u32,
        body: BodyId,
        given: &[Given],
    ) -> Vec<Given> {
        let n_outputs = self.checked.bodies[body].outputs.len();
        let mut forms = Vec::with_capacity(given.len());
        let mut sources = Vec::with_capacity(given.len());
        for given in given {
            match given {
                Given::Value(source) => {
                    forms.push(None);
                    sources.push(*source);
                }
                Given::Closure(closure) => {
                    forms.push(Some(closure.form));
                    sources.extend_from_slice(&closure.values);
                }
                Given::Nothing | Given::Unknown => {
                    self.no_closure(rewriting, node, Some(given));
                    return vec![Given::Unknown; n_outputs];
                }
            }
        }
        let Some(made) = self.body(body, &forms) else {
            let excess = self.excess();
            self.report(rewriting, node, &excess);
            rewriting.set(node, CheckedKind::Wrong, &[]);
            return vec![Given::Unknown; n_outputs];
        };
        rewriting.set(node, CheckedKind::Group(made.body), &sources);
        let forms = &self.forms;
        let given = made.outputs.iter().map(|output| match *output {
            MadeOutput::Value(output) => Given::Value(Source::Node { node, output }),
            MadeOutput::Closure(form, first) => {
                let outputs = (first..).take(forms.types(form).len());
                let values = outputs.map(|output| Source::Node { node, output }).collect();
                Given::Closure(Closure { form, values })
            }
            MadeOutput::Nothing => Given::Nothing,
            MadeOutput::Unknown => Given::Unknown,
        });
        given.collect()
    }

    /// Makes the node at a position the call of a closure with these arguments, by name; gives its
    /// outputs by name.
    fn call(
        &mut self,
        rewriting: &mut Rewriting,
        node: u32,
        closure: &Closure,
        arguments: &[(Arc<str>, Given)],
    ) -> Vec<(Arc<str>, Given)> {
        match self.forms.get(closure.form).clone() {
            Form::Group { body, captures } => {
                let mut given = Vec::new();
                let (mut captures, mut values) = (captures.iter().peekable(), &closure.values[..]);
                for (at, input) in (0..).zip(&self.checked.bodies[body].inputs) {
                    let captured = captures.next_if(|(input, _)| *input == at);
                    let Some((_, form)) = captured else {
                        let named = arguments.iter().find(|(name, _)| *name == input.name);
                        given.push(named.map_or(Given::Unknown, |(_, given)| given.clone()));
                        continue;
                    };
                    let n = form.map_or(1, |form| self.forms.types(form).len());
                    let (own, rest) = values.split_at(n);
                    values = rest;
                    given.push(match form {
                        None => Given::Value(own[0]),
                        Some(form) => Given::Closure(Closure { form: *form, values: own.to_vec() }),
                    });
                }
                let names: Vec<Arc<str>> = self.checked.bodies[body]
                    .outputs
                    .iter()
                    .map(|output| Arc::clone(&output.name))
                    .collect();
                names.into_iter().zip(self.use_group(rewriting, node, body, &given)).collect()
            }
            Form::Choice { switch, selector, arms } => {
                let of_switch = (&switch, selector, &arms[..]);
                self.call_chosen(rewriting, node, closure, of_switch, arguments)
            }
        }
    }

    /// The same where a switch chooses among closures.
    fn call_chosen(
        &mut self,
        rewriting: &mut Rewriting,
        node: u32,
        closure: &Closure,
        (switch, selector, arms): (&Arc<str>, Type, &[FormId]),
        arguments: &[(Arc<str>, Given)],
    ) -> Vec<(Arc<str>, Given)> {
        let selected_by = closure.values[0];
        let mut values = &closure.values[1..];
        let mut of_arms = Vec::with_capacity(arms.len());
        let mut n_parts = 0;
        for form in arms {
            let (own, rest) = values.split_at(self.forms.types(*form).len());
            values = rest;
            let arm = Closure { form: *form, values: own.to_vec() };
            let place = rewriting.add(node, &mut n_parts);
            of_arms.push(self.call(rewriting, place, &arm, arguments));
            rewriting.order.push(place);
        }
        self.n_nodes += arms.len();
        let mut outputs = Vec::with_capacity(of_arms[0].len());
        for (name, _) in &of_arms[0] {
            let of_name = |arm: &Vec<(Arc<str>, Given)>| {
                let found = arm.iter().find(|(known, _)| known == name);
                found.map_or(Given::Unknown, |(_, given)| given.clone())
            };
            let arms: Vec<Given> = of_arms.iter().map(of_name).collect();
            let by = (switch, selector, selected_by);
            let given = self.chosen(rewriting, (node, &mut n_parts), by, &arms);
            outputs.push((Arc::clone(name), given));
        }
        let passed: Vec<(Arc<str>, Type, Source)> = outputs
            .iter()
            .filter_map(|(name, given)| match given {
                Given::Value(source) => {
                    let ty = rewriting.type_of(self.checked, *source)?;
                    Some((Arc::clone(name), ty, *source))
                }
                Given::Closure(_) | Given::Nothing | Given::Unknown => None,
            })
            .collect();
        let types: Vec<(Arc<str>, Type)> =
            passed.iter().map(|(name, ty, _)| (Arc::clone(name), *ty)).collect();
        let sources: Vec<Source> = passed.iter().map(|(_, _, source)| *source).collect();
        rewriting.set(node, passing_on(&types), &sources);
        outputs
    }

    /// What a switch chooses among things that are all values, or all closures.
    fn chosen(
        &mut self,
        rewriting: &mut Rewriting,
        (node, n_parts): (u32, &mut usize),
        (switch, selector, selected_by): (&Arc<str>, Type, Source),
        arms: &[Given],
    ) -> Given {
        let by = (switch, selector, selected_by);
        if let Ok(closures) = closures_of(arms) {
            return self.chosen_closure(rewriting, node, by, &closures);
        }
        let values = arms.iter().map(|arm| match arm {
            Given::Value(source) => Some(*source),
            Given::Closure(_) | Given::Nothing | Given::Unknown => None,
        });
        let Some(values) = values.collect::<Option<Vec<Source>>>() else { return Given::Unknown };
        let mut types = values.iter().filter_map(|it| rewriting.type_of(self.checked, *it));
        let Some(ty) = types.next() else { return Given::Unknown };
        let instance = self.choices.of(switch, arms.len(), ty);
        let place = rewriting.add(node, n_parts);
        let sources: Vec<Source> = [selected_by].into_iter().chain(values).collect();
        rewriting.set(place, CheckedKind::Call(instance), &sources);
        rewriting.order.push(place);
        self.n_nodes += 1;
        Given::Value(Source::Node { node: place, output: 0 })
    }

    fn chosen_closure(
        &mut self,
        rewriting: &mut Rewriting,
        node: u32,
        (switch, selector, selected_by): (&Arc<str>, Type, Source),
        arms: &[&Closure],
    ) -> Given {
        let form = Form::Choice {
            switch: Arc::clone(switch),
            selector,
            arms: arms.iter().map(|arm| arm.form).collect(),
        };
        let values = arms.iter().flat_map(|arm| arm.values.iter().copied());
        let values = [selected_by].into_iter().chain(values).collect();
        self.closure(rewriting, node, form, values)
    }

    /// A closure of a form that a node gives.
    fn closure(
        &mut self,
        rewriting: &mut Rewriting,
        node: u32,
        form: Form,
        values: Vec<Source>,
    ) -> Given {
        match self.forms.add(form, &self.checked.bodies, self.most_deep) {
            Ok(form) => Given::Closure(Closure { form, values }),
            Err(error) => {
                self.report(rewriting, node, &error);
                Given::Unknown
            }
        }
    }
}
