//! The interfaces of bodies: the types and defaults of inputs, and the types of outputs.

use std::sync::Arc;

use millstream_base::{Span, Type, UsedFile, Value, literal};
use millstream_node::Registry;
use millstream_node::interface::holds_closures;
use millstream_node::signature::Widths;
use rustc_hash::FxHashMap;

use super::error::CheckError;
use crate::at::{At, Part};
use crate::checked::BodyInput;
use crate::model::{Document, Entry, GroupDef, InputDef, Named, Node, OutputDef, Unread};
use crate::problems::{Problems, listed, shortened};
use crate::spot::Spot;

/// A body as the author wrote it.
#[derive(Clone, Copy)]
pub(super) struct BodyDef<'d> {
    /// The name of the group; empty for the root.
    pub(super) name: &'d str,
    pub(super) is_group: bool,
    pub(super) inputs: &'d Named<InputDef>,
    pub(super) outputs: &'d Named<OutputDef>,
    pub(super) nodes: &'d Named<Node>,
    pub(super) spot: Spot,
    /// The entries of the document that loading could not read; none for groups.
    unread: Unread,
    /// The used document that the group comes from.
    pub(super) file: Option<&'d Arc<UsedFile>>,
    /// The rule by which generics in the body get their types.
    pub(super) widths: Widths,
}

/// The interface of a body, with `None` for parts that could not be determined.
pub(super) struct Face {
    pub(super) inputs: Vec<Option<BodyInput>>,
    pub(super) outputs: Vec<Option<Type>>,
    pub(super) output_names: Vec<Arc<str>>,
}

impl<'d> BodyDef<'d> {
    pub(super) fn root(document: &'d Document) -> Self {
        Self {
            name: "",
            is_group: false,
            inputs: &document.inputs,
            outputs: &document.outputs,
            nodes: &document.nodes,
            spot: Spot::default(),
            unread: document.unread,
            file: None,
            widths: document.widths(),
        }
    }

    pub(super) fn group(name: &'d str, group: &'d GroupDef) -> Self {
        Self {
            name,
            is_group: true,
            inputs: &group.inputs,
            outputs: &group.outputs,
            nodes: &group.nodes,
            spot: group.spot,
            unread: Unread::default(),
            file: group.file.as_ref(),
            widths: group.widths(),
        }
    }

    pub(super) fn at(&self) -> At<'d> {
        At::group(self.name)
    }

    /// Whether loading could not read an entry of the body, so that a name that leads nowhere may
    /// belong to a part in it.
    pub(super) fn lacks(&self, entry: Entry) -> bool {
        self.spot.is_unreadable() || self.unread.has(entry)
    }
}

/// Determines the faces of bodies, looking up each type name once.
pub(super) struct Faces<'d> {
    registry: &'d Registry,
    types: FxHashMap<&'static str, Type>,
}

impl<'d> Faces<'d> {
    pub(super) fn new(registry: &'d Registry) -> Self {
        Self { registry, types: FxHashMap::default() }
    }

    /// The face of a body; problems with inputs and outputs are reported.
    pub(super) fn of(&mut self, body: &BodyDef<'_>, problems: &mut Problems) -> Face {
        let mut face = Face {
            inputs: Vec::with_capacity(body.inputs.len()),
            outputs: Vec::with_capacity(body.outputs.len()),
            output_names: body.outputs.keys().map(Arc::clone).collect(),
        };
        // Callers give and take values.
        let outside = |ty: &Type| !body.is_group && holds_closures(*ty);
        let refuse = |at: At<'_>, spot: Spot, problems: &mut Problems| {
            let error = CheckError::ClosureOutside { what: at.whole() };
            problems.report(at, spot.span(), &error);
        };
        for (name, def) in body.inputs {
            let at = body.at().part(Part::Input(name));
            let input = self.input(name, def, at, problems);
            if input.as_ref().is_some_and(|input| outside(&input.ty)) {
                refuse(at, def.spot, problems);
                face.inputs.push(None);
                continue;
            }
            face.inputs.push(input);
        }
        for (name, def) in body.outputs {
            let at = body.at().part(Part::Output(name));
            let readable = !def.spot.is_unreadable();
            let ty = readable.then(|| self.ty(&def.ty, def.spot, at, problems)).flatten();
            if ty.as_ref().is_some_and(outside) {
                refuse(at, def.spot, problems);
            }
            face.outputs.push(ty.filter(|ty| !outside(ty)));
        }
        face
    }

    fn input(
        &mut self,
        name: &Arc<str>,
        def: &InputDef,
        at: At<'_>,
        problems: &mut Problems,
    ) -> Option<BodyInput> {
        if def.spot.is_unreadable() {
            return None;
        }
        let ty = self.ty(&def.ty, def.spot, at, problems)?;
        let default = def.default.as_ref().map(|json| literal::from_json(ty, json)).transpose();
        let default = default.map_err(|error| {
            let error =
                CheckError::WrongValue { what: format!("default of {}", at.whole()), error };
            problems.report(at, def.span_of_default(), &error);
        });
        let known = default.as_ref().ok().and_then(Option::as_ref);
        if let Some((span, warning)) = range_warning(name, def, ty, known) {
            problems.report(at, span, &warning);
        }
        // NaN, as documents in code may have, is no step either.
        if let Some(step) = def.step.filter(|step| step.is_nan() || *step <= 0.0) {
            let error = CheckError::WrongStep { name: name.to_string(), step: step.to_string() };
            problems.report(at, def.spot.span(), &error);
        }
        let default = default.ok()?;
        Some(BodyInput {
            name: Arc::clone(name),
            ty,
            default,
            min: def.min,
            max: def.max,
            step: def.step,
            unit: def.unit.clone(),
            about: def.about.clone(),
            span: def.spot.span(),
            is_wrong: false,
        })
    }

    fn ty(&mut self, name: &str, spot: Spot, at: At<'_>, problems: &mut Problems) -> Option<Type> {
        if let Some(ty) = self.types.get(name) {
            return Some(*ty);
        }
        if let Some(ty) = self.registry.type_named(name) {
            self.types.insert(ty.name(), ty);
            return Some(ty);
        }
        let known = self.registry.type_names();
        let all = || format!("types: {}, and list<...> of them", listed(known.iter().copied()));
        let hint = if name.starts_with("closure") {
            "a closure is written `closure<p: vec3, t: f32 -> color>`".into()
        } else {
            problems.suggest(name, known.iter().copied(), all)
        };
        let error = CheckError::UnknownType { what: at.whole(), name: shortened(name), hint };
        problems.report(at, spot.span(), &error);
        None
    }
}

/// The problem with the range of an input, and its place.
fn range_warning(
    name: &str,
    def: &InputDef,
    ty: Type,
    default: Option<&Value>,
) -> Option<(Span, CheckError)> {
    if def.min.is_none() && def.max.is_none() {
        return None;
    }
    let useless =
        |reason| Some((def.spot.span(), CheckError::UselessRange { name: name.into(), reason }));
    if ty.lanes().is_none() {
        return useless("has no meaning because its type is not numeric");
    }
    if def.min.zip(def.max).is_some_and(|(min, max)| min > max) {
        return useless("is empty: `min` is above `max`");
    }
    let default = default?;
    let side = def.missed_bound(default)?;
    let default = shortened(&default.to_string());
    let error = CheckError::DefaultOutOfRange { name: name.into(), default, side };
    Some((def.span_of_default(), error))
}
