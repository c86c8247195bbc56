//! Nodes that run a group round by round: which outputs are carried to which inputs.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::id::{Arena, Id, SideTable};
use millstream_node::{repeat::COUNT, repeat::REPEAT};

use super::error::CheckError;
use super::instances::passing;
use super::links::Given;
use super::types::Typing;
use crate::at::{At, Part};
use crate::checked::{Body, BodyId, CheckedKind, CheckedRepeat, Muted, Source};
use crate::problems::Problems;

impl Typing<'_, '_> {
    /// What a repeat has besides its group; what does not fit is reported.
    pub(super) fn repeat(&mut self, node: u32, repeat: u32) {
        let shapes = self.shapes;
        let shape = shapes.repeat(repeat);
        if shape.has_own_count {
            self.own_count(node);
        }
        let faces = self.faces;
        let face = &faces[shape.group as usize];
        let (name, def) = self.named_node(node);
        let group = || def.kind.group().map(ToString::to_string).unwrap_or_default();
        let mut errors = Vec::new();
        for (i, (output, ty)) in face.output_names.iter().zip(&face.outputs).enumerate() {
            let Some(ty) = *ty else { continue };
            let is_go = shape.go == Some(i as u32);
            if is_go && ty != Type::BOOL {
                errors.push(CheckError::RepeatType {
                    what: format!("output `{output}`"),
                    group: group(),
                    found: ty,
                    wanted: Type::BOOL,
                });
            }
            // Inputs that are wrong have been reported, under whatever name.
            match face.inputs.iter().flatten().find(|input| input.name == *output) {
                Some(input) if input.ty != ty => errors.push(CheckError::CarriedType {
                    name: output.to_string(),
                    group: group(),
                    found: ty,
                    wanted: input.ty,
                }),
                Some(_) => {}
                None if is_go || face.inputs.iter().any(Option::is_none) => {}
                None => {
                    let output = output.to_string();
                    let form = shapes.form();
                    errors.push(CheckError::NotCarried { form, output, group: group() });
                }
            }
        }
        let count = face.inputs.iter().flatten().find(|input| *input.name == *COUNT);
        errors.extend(count.filter(|input| input.ty != Type::I32).map(|input| {
            CheckError::RepeatType {
                what: format!("input `{COUNT}`"),
                group: group(),
                found: input.ty,
                wanted: Type::I32,
            }
        }));
        let at = self.at.part(Part::Node(name));
        for error in errors {
            self.problems.report(at, def.spot.span(), &error);
        }
    }

    /// The count after the inputs of the group.
    fn own_count(&mut self, node: u32) {
        let Some(at) = self.links.of_node(node).last() else { return };
        let given = self.links.slots[at];
        let source = match given {
            Given::Literal(json) => self.literal(node, Type::I32, json, || COUNT),
            Given::Input(input) => Some(Source::Input(input)),
            Given::Node { node, output } => Some(Source::Node { node, output }),
            Given::Default | Given::Broken => None,
        };
        if let Some(from) = self.given_type(given) {
            let of = || format!("input `{COUNT}` of `{REPEAT}`");
            self.check_link(node, COUNT, 0, from, Type::I32, of);
        }
        if let Some(source) = source {
            self.sources[at] = source;
        }
    }

    /// What a repeat does, in a body without errors.
    pub(super) fn checked_repeat(&self, repeat: u32) -> Option<Arc<CheckedRepeat>> {
        let shape = self.shapes.repeat(repeat);
        let face = &self.faces[shape.group as usize];
        let input = |name: &str| {
            let mut inputs = face.inputs.iter().flatten();
            inputs.position(|input| *input.name == *name).map(|input| input as u32)
        };
        let count = if shape.has_own_count { face.inputs.len() as u32 } else { input(COUNT)? };
        Some(Arc::new(CheckedRepeat {
            body: BodyId::from_index(shape.group as usize),
            count,
            carries: face.output_names.iter().map(|name| input(name)).collect(),
            go: shape.go,
            until_stable: shape.until_stable,
        }))
    }

    /// What a muted use of a group passes through.
    pub(super) fn muted_group(&mut self, group: u32) -> Option<Arc<Muted>> {
        if let Some(known) = self.muted_groups.get(&group) {
            return Some(Arc::clone(known));
        }
        let face = &self.faces[group as usize];
        let inputs: Option<Vec<Type>> =
            face.inputs.iter().map(|input| input.as_ref().map(|input| input.ty)).collect();
        let names = face.output_names.iter().map(Arc::clone);
        let types: Option<Vec<Type>> = face.outputs.iter().copied().collect();
        let made = Arc::new(passing(inputs?, names.zip(types?)));
        self.muted_groups.insert(group, Arc::clone(&made));
        Some(made)
    }

    /// What a muted repeat passes through: the first input of each output's type.
    pub(super) fn muted_repeat(&self, repeat: u32) -> Option<Arc<Muted>> {
        let shape = self.shapes.repeat(repeat);
        let face = &self.faces[shape.group as usize];
        let inputs = face.inputs.iter().map(|input| input.as_ref().map(|input| input.ty));
        let mut inputs: Vec<Type> = inputs.collect::<Option<_>>()?;
        inputs.extend(shape.has_own_count.then_some(Type::I32));
        let names = face.output_names.iter().map(Arc::clone);
        let types: Option<Vec<Type>> = face.outputs.iter().copied().collect();
        Some(Arc::new(passing(inputs, names.zip(types?))))
    }
}

/// Reports repeats whose body keeps state, itself or in its groups. Cost: linear in nodes.
pub(super) fn check_states(bodies: &Arena<BodyId, Body>, problems: &mut Problems) {
    // For each body the node that keeps state, or the one whose group does.
    let mut keeps: SideTable<BodyId, Option<u32>> = SideTable::for_arena(bodies, None);
    let mut users: SideTable<BodyId, Vec<(BodyId, u32)>> = SideTable::for_arena(bodies, Vec::new());
    let mut found: Vec<BodyId> = Vec::new();
    let mut repeats: Vec<(BodyId, u32)> = Vec::new();
    for (id, body) in bodies.iter() {
        for (i, node) in body.nodes.iter().enumerate() {
            match &node.kind {
                CheckedKind::Call(instance) if instance.def.state.is_some() => {
                    if keeps[id].replace(i as u32).is_none() {
                        found.push(id);
                    }
                }
                CheckedKind::Group(inner) => users[*inner].push((id, i as u32)),
                CheckedKind::Repeat(repeat) => {
                    users[repeat.body].push((id, i as u32));
                    repeats.push((id, i as u32));
                }
                CheckedKind::Call(_) | CheckedKind::Muted(_) | CheckedKind::Wrong => {}
            }
        }
    }
    while let Some(body) = found.pop() {
        for (user, node) in &users[body] {
            if keeps[*user].is_none() {
                keeps[*user] = Some(*node);
                found.push(*user);
            }
        }
    }
    for (id, i) in repeats {
        let node = &bodies[id].nodes[i as usize];
        let Some(mut inner) = node.kind.body().filter(|body| keeps[*body].is_some()) else {
            continue;
        };
        let mut path = String::new();
        while let Some(writer) = keeps[inner] {
            let writer = &bodies[inner].nodes[writer as usize];
            path = if path.is_empty() {
                writer.name.to_string()
            } else {
                format!("{path}/{}", writer.name)
            };
            let Some(next) = writer.kind.body() else { break };
            inner = next;
        }
        let at = At::group(&bodies[id].name).part(Part::Node(&node.name));
        let error = CheckError::StateInRepeat { node: path };
        problems.report(at, node.span, &error);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::check::tests::check_problems;

    #[test]
    fn repeats_are_told_what_does_not_go_round() {
        let repeat = |inputs: &str, outputs: &str, set: &str| {
            format!(
                r#""inputs": {{"a": {{"type": "f32", "default": 1}}}}, "outputs": {{"r": {{"type": "f32", "from": "n.x"}}}},
                   "nodes": {{"n": {{"type": "repeat", "group": "g", "set": {{{set}}}, "in": {{"x": {{"input": "a"}}, "count": 3}}}}}},
                   "groups": {{"g": {{"inputs": {{"x": {{"type": "f32"}}{inputs}}},
                     "outputs": {{"x": {{"type": "f32", "from": "s.value"}}{outputs}}},
                     "nodes": {{"s": {{"type": "math.sqrt", "in": {{"x": {{"input": "x"}}}}}}}}}}}}"#
            )
        };
        // Carried, though the rounds do not read it.
        let last = r#", "last": {"type": "f32", "from": "s.value"}"#;
        check_problems(
            &repeat(r#", "last": {"type": "f32", "default": 0}"#, last, ""),
            &expect![[r#""#]],
        );
        check_problems(
            &repeat(r#", "idle": {"type": "f32", "default": 0}"#, "", ""),
            &expect![[r#"
                warning check::unused_input at "idle": {"type": "f32", "default": 0}
                    g: input `idle` is not used (link it or remove it)
            "#]],
        );
        check_problems(
            &repeat("", last, ""),
            &expect![[r#"
            error check::not_carried at "n": {"type": "repeat", "group": "g", "set": {}, "in": {"x": {"input": "a"}, "count": 3}}
                n: output `last` of group `g` is given to no input of the next round (add an input called `last` to the group, or, if it says whether to go on, name it with "set": { "while": "last" })
        "#]],
        );
        check_problems(
            &repeat(r#", "last": {"type": "vec3", "default": [0, 0, 0]}"#, last, ""),
            &expect![[r#"
                error check::carried_type at "n": {"type": "repeat", "group": "g", "set": {}, "in": {"x": {"input": "a"}, "count": 3}}
                    n: output `last` of group `g` is f32, the input that it is carried to is vec3 (give both one type)
            "#]],
        );
        check_problems(
            &repeat("", last, r#""while": "last""#),
            &expect![[r#"
            error check::repeat_type at "n": {"type": "repeat", "group": "g", "set": {"while": "last"}, "in": {"x": {"input": "a"}, "count": 3}}
                n: output `last` of group `g` is f32, a repeat needs bool (change its type, or its name)
        "#]],
        );
        check_problems(
            &repeat("", "", r#""while": "gone""#),
            &expect![[r#"
            error settings::refused at "while": "gone"
                n: setting `while`: the group has no output called `gone`; outputs: `x`
        "#]],
        );
        check_problems(
            &repeat("", "", r#""until": "later""#),
            &expect![[r#"
            error settings::wrong_value at "until": "later"
                n: setting `until` is "later" (it takes one of `count`, `stable`)
        "#]],
        );
    }
}
