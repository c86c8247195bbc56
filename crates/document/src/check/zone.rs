//! Nodes that run a group many times: the outputs that are carried to inputs, and the types of
//! their sockets.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::id::{Arena, Id, SideTable};
use millstream_node::Zone;
use millstream_node::zone::{Mode, Sockets, Told};

use super::error::CheckError;
use super::face::Face;
use super::instances::passing;
use super::shapes::ZoneShape;
use super::types::Typing;
use crate::at::{At, Part};
use crate::checked::{Body, BodyId, CheckedKind, CheckedZone, Muted, Passes};
use crate::model::Form;
use crate::problems::Problems;

/// The types of values that can be sorted.
const ORDERED: [Type; 6] = [Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64, Type::STRING];

impl Typing<'_, '_> {
    /// Resolves the sources of a zone, and checks whether its group can run that way; problems are
    /// reported.
    pub(super) fn zone(&mut self, node: u32, zone: u32) {
        let (shapes, faces) = (self.shapes, self.faces);
        let shape = shapes.zone(zone);
        let face = &faces[shape.group as usize];
        let kind = shape.course.mode.zone();
        let slots = self.links.of_node(node);
        let own = kind.inputs_after(|name| has_input(face, name));
        let of = |name: &str| format!("input `{name}` of `{kind}`");
        for (at, own) in slots.clone().skip(face.inputs.len()).zip(own) {
            let default = || own.default_value();
            self.socket(node, at, (own.name, own.ty), default, || of(own.name));
        }
        for (i, (at, input)) in slots.zip(&face.inputs).enumerate() {
            let Some(input) = input else { continue };
            let Some(ty) = shape.course.outer_input(i, input.ty) else { continue };
            let default = || input.default.clone();
            self.socket(node, at, (&input.name, ty), default, || of(&input.name));
        }
        let (name, def) = self.named_node(node);
        let group = def.kind.group().map(ToString::to_string).unwrap_or_default();
        let at = self.at.part(Part::Node(name));
        for error in problems_of(shapes.form(), shape, face, &group) {
            self.problems.report(at, def.spot.span(), &error);
        }
    }

    /// The type of an output of a zone.
    pub(super) fn zone_output(&self, zone: u32, output: u32) -> Option<Type> {
        let shape = self.shapes.zone(zone);
        shape.output(&self.faces[shape.group as usize], output as usize)
    }

    /// The inputs and outputs of a zone, in a body without errors.
    fn sockets_of_zone(&self, zone: u32) -> Option<(Sockets, Sockets)> {
        let shape = self.shapes.zone(zone);
        let face = &self.faces[shape.group as usize];
        let kind = shape.course.mode.zone();
        let mut inputs: Sockets = Vec::with_capacity(face.inputs.len());
        for (i, input) in face.inputs.iter().enumerate() {
            let input = input.as_ref()?;
            inputs.push((Arc::clone(&input.name), shape.course.outer_input(i, input.ty)?));
        }
        let own = kind.inputs_after(|name| has_input(face, name));
        inputs.extend(own.map(|own| (own.name.into(), own.ty)));
        let mut outputs: Sockets = Vec::with_capacity(face.outputs.len());
        for (k, (name, ty)) in face.output_names.iter().zip(&face.outputs).enumerate() {
            outputs.push((Arc::clone(name), shape.course.outer_output(k, (*ty)?)?));
        }
        let own = kind.outputs_after(|name| has_output(face, name));
        outputs.extend(own.map(|told| (told.name().into(), told.ty())));
        Some((inputs, outputs))
    }

    /// The course of a zone in a body without errors.
    pub(super) fn checked_zone(&self, zone: u32) -> Option<Arc<CheckedZone>> {
        let shape = self.shapes.zone(zone);
        let (inputs, outputs) = self.sockets_of_zone(zone)?;
        let (body, course) = (BodyId::from_index(shape.group as usize), shape.course.clone());
        Some(Arc::new(CheckedZone { body, course, inputs, outputs }))
    }

    /// The inputs that a muted use of a group passes through.
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

    /// The inputs that a muted zone passes through: for each output, the first input of its type.
    /// Outputs about rounds have their default.
    pub(super) fn muted_zone(&self, zone: u32) -> Option<Arc<Muted>> {
        let (inputs, outputs) = self.sockets_of_zone(zone)?;
        let n_outputs = self.faces[self.shapes.zone(zone).group as usize].outputs.len();
        let mut muted = passing(inputs.into_iter().map(|(_, ty)| ty).collect(), outputs);
        for output in muted.outputs.iter_mut().skip(n_outputs) {
            output.passes = Passes::Default(output.ty.default_value());
        }
        Some(Arc::new(muted))
    }
}

impl ZoneShape {
    /// The type of an output, given the interface of the group.
    fn output(&self, face: &Face, k: usize) -> Option<Type> {
        match face.outputs.get(k) {
            Some(ty) => self.course.outer_output(k, (*ty)?),
            None => {
                let zone = self.course.mode.zone();
                let mut own = zone.outputs_after(|name| has_output(face, name));
                own.nth(k - face.outputs.len()).map(Told::ty)
            }
        }
    }

    /// The position and the type of an output, given the interface of the group.
    pub(super) fn output_named(&self, face: &Face, name: &str) -> Option<(usize, Type)> {
        let mut own = self.course.mode.zone().outputs_after(|own| has_output(face, own));
        let position = face.output_names.iter().position(|known| **known == *name);
        let n = face.output_names.len();
        let k = position.or_else(|| own.position(|own| own.name() == name).map(|at| n + at))?;
        Some((k, self.output(face, k)?))
    }
}

/// Whether the group has an input of this name.
fn has_input(face: &Face, name: &str) -> bool {
    face.inputs.iter().flatten().any(|input| *input.name == *name)
}

fn has_output(face: &Face, name: &str) -> bool {
    face.output_names.iter().any(|known| **known == *name)
}

/// Why a group cannot run that way.
fn problems_of(form: Form, shape: &ZoneShape, face: &Face, group: &str) -> Vec<CheckError> {
    let (course, zone) = (&shape.course, shape.course.mode.zone());
    let mut errors = Vec::new();
    let wrong = |what: String, found: Type, wanted: &str| CheckError::ZoneType {
        zone,
        what,
        group: group.into(),
        found,
        wanted: wanted.into(),
    };
    let (keep, by) = match course.mode {
        Mode::Items { keep, by, .. } => (keep, by),
        Mode::Rounds { .. } | Mode::Ticks { .. } => (None, None),
    };
    for (k, (output, ty)) in face.output_names.iter().zip(&face.outputs).enumerate() {
        let Some(ty) = *ty else { continue };
        let is_go = course.go == Some(k);
        if (is_go || keep == Some(k)) && ty != Type::BOOL {
            errors.push(wrong(format!("output `{output}`"), ty, "bool"));
        }
        if by == Some(k) && !ORDERED.contains(&ty) {
            errors.push(wrong(format!("output `{output}`"), ty, "a number, bool or string"));
        }
        match course.carries[k] {
            Some(input) => match &face.inputs[input] {
                Some(input) if input.ty != ty => errors.push(CheckError::CarriedType {
                    name: output.to_string(),
                    group: group.into(),
                    found: ty,
                    wanted: input.ty,
                }),
                // Wrong inputs have been reported, under whatever name.
                Some(_) | None => {}
            },
            None if zone == Zone::ForEach => {
                let is_too_deep = ty.list().is_none();
                errors.extend(
                    is_too_deep.then(|| CheckError::ZoneDepth { name: output.to_string() }),
                );
            }
            None if is_go || face.inputs.iter().any(Option::is_none) => {}
            None => errors.push(not_carried(form, zone, output, group)),
        }
    }
    for own in zone.own_inputs() {
        let known = face.inputs.iter().flatten().find(|input| *input.name == *own.name);
        errors.extend(
            known
                .filter(|input| input.ty != own.ty)
                .map(|input| wrong(format!("input `{}`", own.name), input.ty, own.ty.name())),
        );
    }
    let inputs = face.inputs.iter().enumerate();
    for (_, input) in inputs.filter(|(i, _)| course.mode.is_item(*i)) {
        let Some(input) = input else { continue };
        let is_too_deep = input.ty.list().is_none();
        errors.extend(is_too_deep.then(|| CheckError::ZoneDepth { name: input.name.to_string() }));
    }
    errors
}

fn not_carried(form: Form, zone: Zone, output: &str, group: &str) -> CheckError {
    let hint = if zone.output_settings().contains(&"while") {
        let named = form.of(
            format!("\"set\": {{ \"while\": \"{output}\" }}"),
            format!("`while = \"{output}\"`"),
        );
        format!(
            "add an input called `{output}` to the group, or, if it says whether to continue, name \
             it with {named}"
        )
    } else {
        format!("add an input called `{output}` to the group; this input receives the state")
    };
    let (output, group) = (output.into(), group.into());
    CheckError::NotCarried { run: zone.run(), hint, output, group }
}

/// Reports zones whose body keeps state, itself or in its groups. Cost: linear in nodes.
pub(super) fn check_states(bodies: &Arena<BodyId, Body>, problems: &mut Problems) {
    // For each body, the first node that keeps state itself or through its group.
    let mut keeps: SideTable<BodyId, Option<u32>> = SideTable::for_arena(bodies, None);
    let mut users: SideTable<BodyId, Vec<(BodyId, u32)>> = SideTable::for_arena(bodies, Vec::new());
    let mut found: Vec<BodyId> = Vec::new();
    let mut zones: Vec<(BodyId, u32)> = Vec::new();
    for (id, body) in bodies.iter() {
        for (i, node) in body.nodes.iter().enumerate() {
            match &node.kind {
                CheckedKind::Group(inner) => users[*inner].push((id, i as u32)),
                CheckedKind::Zone(zone) => {
                    users[zone.body].push((id, i as u32));
                    zones.push((id, i as u32));
                }
                CheckedKind::Call(_)
                | CheckedKind::Closure(_)
                | CheckedKind::Muted(_)
                | CheckedKind::Wrong => {}
            }
            if node.kind.keeps_state() && keeps[id].replace(i as u32).is_none() {
                found.push(id);
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
    for (id, i) in zones {
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
            // A simulation keeps state itself.
            let Some(next) = writer.kind.body().filter(|_| !writer.kind.keeps_state()) else {
                break;
            };
            inner = next;
        }
        let at = At::group(&bodies[id].name).part(Part::Node(&node.name));
        let CheckedKind::Zone(zone) = &node.kind else { continue };
        let zone = zone.course.mode.zone();
        let error = CheckError::StateInZone { zone, run: zone.run(), node: path };
        problems.report(at, node.span, &error);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::check::tests::check_problems;

    #[test]
    fn outputs_that_a_repeat_does_not_carry_are_reported() {
        let repeat = |inputs: &str, outputs: &str, set: &str| {
            format!(
                r#""inputs": {{"a": {{"type": "f32", "default": 1}}}}, "outputs": {{"r": {{"type": "f32", "from": "n.x"}}}},
                   "nodes": {{"n": {{"type": "repeat", "group": "g", "set": {{{set}}}, "in": {{"x": {{"input": "a"}}, "count": 3}}}}}},
                   "groups": {{"g": {{"inputs": {{"x": {{"type": "f32"}}{inputs}}},
                     "outputs": {{"x": {{"type": "f32", "from": "s.value"}}{outputs}}},
                     "nodes": {{"s": {{"type": "math.sqrt", "in": {{"x": {{"input": "x"}}}}}}}}}}}}"#
            )
        };
        // It is carried even though the rounds do not read it.
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
                    n: no input of the next round takes output `last` of group `g` (add an input called `last` to the group, or, if it says whether to continue, name it with "set": { "while": "last" })
            "#]],
        );
        check_problems(
            &repeat(r#", "last": {"type": "vec3", "default": [0, 0, 0]}"#, last, ""),
            &expect![[r#"
                error check::carried_type at "n": {"type": "repeat", "group": "g", "set": {}, "in": {"x": {"input": "a"}, "count": 3}}
                    n: output `last` of group `g` is f32, but the input that it is carried to is vec3 (give both the same type)
            "#]],
        );
        check_problems(
            &repeat("", last, r#""while": "last""#),
            &expect![[r#"
                error check::zone_type at "n": {"type": "repeat", "group": "g", "set": {"while": "last"}, "in": {"x": {"input": "a"}, "count": 3}}
                    n: output `last` of group `g` is f32, but a `repeat` needs bool (change its type, or its name)
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
