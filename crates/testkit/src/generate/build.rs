//! Builds a graph from descriptions of nodes: each picks its inputs among the nodes before it.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::literal::{self, LiteralError};
use millstream_base::{FeatureSet, Need, Type};
use millstream_ir::{Graph, Plan, Source};
use millstream_node::{
    Among, NodeDef, Registry, SettingKind, SettingValue, Settings, Signature, SocketType, convert,
};
use millstream_node::{signature::InputFact, signature::Socket};
use serde_json::Value as Json;

use super::values::{FORMULAS, input_types, own_features, value};
use super::{GraphPlan, NodePlan};
use crate::plans::plain_plan;
use crate::sketch::Sketch;

/// Nodes that affect how a graph is evaluated, the simple ones first. Some are repeated so that
/// they are picked more often.
const FREQUENT: [&str; 52] = [
    "math.add",
    "math.multiply",
    "context.index",
    "context.time",
    "compare.less",
    "control.switch",
    "reduce.sum",
    "list.generate",
    "time.shift",
    "context.with_time",
    "context.with_index",
    "context.count",
    "list.get",
    "list.of",
    "control.choose",
    "math.subtract",
    "context.index",
    "control.switch",
    "list.generate",
    "reduce.mean",
    "context.shift_index",
    "list.sum",
    "list.collect",
    "math.expression",
    "context.feature",
    "context.with_feature",
    "vector.separate_vec3",
    "random.value",
    "mix.mix",
    "list.length",
    "time.scale",
    "context.time",
    "control.choose",
    "list.generate",
    "reduce.first",
    "scan.sum",
    "list.append",
    "math.maximum",
    "context.tick",
    "compare.equal",
    "custom.wave",
    "custom.place",
    "custom.moment",
    "custom.earlier",
    "custom.select",
    "custom.first_positive",
    "custom.steps",
    "custom.doubled",
    "custom.nudged",
    "custom.two",
    "custom.total_of_each",
    "custom.any_of",
];

/// A name that stands for a use of the group.
const GROUP: &str = "group";

/// The graph of a description, without the outputs that need levels which nothing provides.
pub(super) fn build(plan: &GraphPlan, registry: &Registry) -> (Graph, Plan) {
    let (sketch, group) = (Sketch::new(registry), &plan.group);
    let mut building = Building { sketch, registry, group, has_repeats: plan.has_repeats };
    let mut sources = Vec::new();
    let types = input_types();
    for (i, pick) in plan.inputs.iter().enumerate() {
        let ty = types[*pick as usize % types.len()];
        let default = value(ty, *pick as usize / types.len());
        sources.push(building.sketch.input(&format!("in{i}"), default));
    }
    building.nodes(&plan.nodes, &mut sources, true);
    let mut sketch = building.sketch;
    if sources.is_empty() {
        sources.push(sketch.constant(0.0_f32));
    }
    let n = sources.len();
    for (k, pick) in plan.outputs.iter().enumerate() {
        // The last nodes first, so that most of the graph is evaluated.
        sketch.output(&format!("out{k}"), sources[n - 1 - *pick as usize % n]);
    }
    let mut graph = sketch.graph;
    let Ok(scheduled) = plain_plan(&graph) else {
        graph.outputs.truncate(1);
        graph.outputs[0].source = sources[0];
        let scheduled = plain_plan(&graph).expect("an input needs nothing");
        return (graph, scheduled);
    };
    let refused = |need: &Need| need.level > 0 && need.aspect == Aspect::Value;
    let fits: Vec<bool> = scheduled
        .outputs
        .iter()
        .map(|output| {
            let needs: FeatureSet = scheduled.needs_of(&scheduled.steps[output.source.step]);
            !scheduled.needs.of(needs).any(refused)
        })
        .collect();
    let mut fits = fits.into_iter();
    graph.outputs.retain(|_| fits.next().unwrap_or(false));
    let scheduled = plain_plan(&graph).expect("fewer outputs have no more needs");
    (graph, scheduled)
}

/// A graph under construction.
pub(super) struct Building<'a> {
    pub(super) sketch: Sketch<'a>,
    pub(super) registry: &'a Registry,
    pub(super) group: &'a [NodePlan],
    /// Whether the group may be repeated.
    pub(super) has_repeats: bool,
}

impl Building<'_> {
    /// Adds all nodes that fit; each can read those before it.
    pub(super) fn nodes(&mut self, plans: &[NodePlan], sources: &mut Vec<Source>, may_group: bool) {
        for plan in plans {
            let kind = plan.kind as usize;
            if self.has_repeats && kind % 8 == 6 && may_group && !sources.is_empty() {
                let (registry, group) = (self.registry, self.group);
                let found = super::repeat::add(&mut self.sketch, registry, group, plan, sources);
                sources.extend(found);
                continue;
            }
            if kind % 8 == 7 {
                sources.extend(super::motif::add(&mut self.sketch, kind / 8, plan, sources));
                continue;
            }
            let name = self.name_of(plan);
            if name == GROUP {
                if may_group && !self.group.is_empty() && !sources.is_empty() {
                    let arg = sources[plan.picks[0] as usize % sources.len()];
                    let other = sources[plan.picks[1] as usize % sources.len()];
                    let mut inside = vec![arg, other];
                    let group = self.group;
                    self.sketch.enter_group("group");
                    self.nodes(group, &mut inside, false);
                    self.sketch.leave_group();
                    sources.extend(inside.last());
                }
                continue;
            }
            let Some(def) = self.registry.get(&name).map(Arc::clone) else { continue };
            if let Some(outputs) = self.node(&def, plan, sources) {
                sources.extend(outputs);
            }
        }
    }

    fn name_of(&self, plan: &NodePlan) -> String {
        let kind = plan.kind as usize;
        if kind % 3 < 2 {
            return FREQUENT[kind / 3 % FREQUENT.len()].into();
        }
        // Lowering replaces stateful nodes, so no graph contains them.
        let defs = || self.registry.iter().filter(|def| def.state.is_none());
        let n_defs = defs().count();
        // The remainder after the choices above, or some nodes would never meet.
        let at = kind / 24 % (n_defs + 8);
        defs().nth(at).map_or_else(|| GROUP.into(), |def| def.name.to_string())
    }

    /// Adds a node, if its settings and some of the sources fit.
    fn node(
        &mut self,
        def: &Arc<NodeDef>,
        plan: &NodePlan,
        sources: &[Source],
    ) -> Option<Vec<Source>> {
        let settings = settings(def, plan.set, self.registry)?;
        let signature = def.signature(&settings).ok()?.into_owned();
        // Documents cannot hold constants of such types.
        let is_unwritten = |ty: &SocketType| match ty {
            SocketType::Exact(ty) => {
                matches!(literal::from_json(*ty, &Json::Null), Err(LiteralError::Opaque { .. }))
            }
            SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => false,
        };
        if signature.inputs.iter().any(|socket| is_unwritten(&socket.ty)) {
            return None;
        }
        let mut facts: Vec<(usize, Type)> = Vec::new();
        let mut sockets = Vec::new();
        for (i, socket) in signature.inputs.iter().enumerate() {
            let pick = plan.picks[i % plan.picks.len()] as usize + i / plan.picks.len();
            let n = if socket.multiple { 1 + pick % 3 } else { 1 };
            let mut linked = Vec::new();
            for k in 0..n {
                if let Some(source) = self.source(&signature, i, pick + 11 * k, &facts, sources) {
                    facts.push((i, self.sketch.type_of(source)));
                    linked.push(source);
                }
            }
            sockets.push(linked);
        }
        self.sketch.call(def, settings, &sockets).ok()
    }

    /// The source of a socket: a literal, an earlier node that fits, or none.
    fn source(
        &mut self,
        signature: &Signature,
        i: usize,
        pick: usize,
        facts: &[(usize, Type)],
        sources: &[Source],
    ) -> Option<Source> {
        let socket = &signature.inputs[i];
        let at = pick / 8;
        // Sockets with a scope are useless without a source.
        if !pick.is_multiple_of(8) || !socket.scope.is_empty() {
            let found = self.fitting(signature, i, at, facts, sources);
            if let Some(source) = found {
                return Some(self.bounded(socket, source));
            }
        }
        let ty = Self::literal_type(signature, i, at, facts);
        if matches!(socket.default, millstream_node::Default::Required) || at % 2 == 1 {
            let constant = self.sketch.constant(value(ty, at / 2));
            return Some(self.bounded(socket, constant));
        }
        None
    }

    /// The first source from `at` on that fits; for list sockets, lists first.
    fn fitting(
        &self,
        signature: &Signature,
        i: usize,
        at: usize,
        facts: &[(usize, Type)],
        sources: &[Source],
    ) -> Option<Source> {
        let n = sources.len();
        if n == 0 {
            return None;
        }
        let start = at % (2 * n);
        // Every other pick starts at the last sources, so that graphs become deep.
        let start = if start >= n { n - 1 - (start - n) % n.min(3) } else { start };
        let wants_list = matches!(signature.inputs[i].ty, SocketType::ListOf(_));
        let rounds: &[bool] = if wants_list { &[true, false] } else { &[false] };
        for only_lists in rounds {
            for k in 0..n {
                let source = sources[(start + k) % n];
                let ty = self.sketch.type_of(source);
                if *only_lists && ty.element().is_none() {
                    continue;
                }
                if fits(signature, facts, (i, ty)) {
                    return Some(source);
                }
            }
        }
        None
    }

    /// A type for a literal at a socket.
    fn literal_type(signature: &Signature, i: usize, at: usize, facts: &[(usize, Type)]) -> Type {
        let candidates: Vec<Type> = match signature.inputs[i].ty {
            SocketType::Exact(ty) => return ty,
            SocketType::Made => unreachable!("it is an output"),
            SocketType::Generic(g) => candidates(signature.generics[g as usize].among),
            SocketType::ListOf(g) => candidates(signature.generics[g as usize].among)
                .into_iter()
                .filter_map(Type::list)
                .collect(),
        };
        let n = candidates.len();
        let tried = (0..n).map(|k| candidates[(at + k) % n]);
        tried.clone().find(|ty| fits(signature, facts, (i, *ty))).unwrap_or(candidates[at % n])
    }

    /// Limits the numbers of rounds, items and digits.
    fn bounded(&mut self, socket: &Socket, source: Source) -> Source {
        if !matches!(&*socket.name, "count" | "decimals" | "width") {
            return source;
        }
        let (min, max) = (self.sketch.constant(0_i32), self.sketch.constant(4_i32));
        let whole = [("x", source), ("minimum", min), ("maximum", max)];
        match self.sketch.type_of(source) {
            ty if ty == Type::I32 => self.sketch.node("mix.clamp", &whole),
            _ => source,
        }
    }
}

fn candidates(among: Among) -> Vec<Type> {
    let mut types = among.candidates().to_vec();
    if matches!(among, Among::Any | Among::AnyOr(_)) {
        types.extend([Type::STRING, Type::COLOR]);
    }
    types.sort_by_key(|ty| *ty != Type::F32);
    types
}

/// Whether a socket accepts this type, given the types linked to others.
fn fits(signature: &Signature, facts: &[(usize, Type)], (input, ty): (usize, Type)) -> bool {
    let mut all: Vec<(usize, InputFact<'_>)> =
        facts.iter().map(|(i, ty)| (*i, InputFact::Linked(*ty))).collect();
    all.push((input, InputFact::Linked(ty)));
    let Ok(generics) = signature.resolve(&all) else { return false };
    let converts = |(i, ty): &(usize, Type)| {
        let wanted = signature.inputs[*i].ty.resolve(&generics);
        wanted.is_ok_and(|wanted| convert::convertible(*ty, wanted))
    };
    facts.iter().all(converts) && converts(&(input, ty))
}

/// Settings by number; `None` if a node type requires a value that cannot be generated.
fn settings(def: &NodeDef, number: u32, registry: &Registry) -> Option<Settings> {
    let mut given: Vec<(&str, Json)> = Vec::new();
    let is_own_feature = def.settings.iter().any(|setting| setting.name == "name");
    for (i, setting) in def.settings.iter().enumerate() {
        let pick = number.checked_shr(3 * i as u32).unwrap_or(0) as usize % 97;
        let json = match &setting.kind {
            SettingKind::Choice(choices) => choices[pick % choices.len()].0.into(),
            SettingKind::Text if setting.name == "text" => FORMULAS[pick % FORMULAS.len()].into(),
            SettingKind::Text if is_own_feature => Json::from(&*own_features()[pick % 2].0),
            SettingKind::Text => "a".into(),
            SettingKind::Integer(min, max) => {
                let offset = [0, 0, 0, 1, 0, 1, 2][pick % 7];
                (min + offset).min(*max).into()
            }
            SettingKind::Number => [0.0, 1.0, -2.5][pick % 3].into(),
            SettingKind::Flag => (pick % 2 == 1).into(),
            SettingKind::Type if is_own_feature => {
                let name = given.iter().find(|(key, _)| *key == "name").map(|(_, json)| json);
                let own = own_features();
                let ty = own.iter().find(|(own, _)| name.is_some_and(|name| *name == **own));
                ty.map_or(Type::F32, |(_, ty)| *ty).name().into()
            }
            SettingKind::Type => match &setting.default {
                Some(SettingValue::Type(ty)) if pick.is_multiple_of(2) => ty.name().into(),
                _ => input_types()[pick % input_types().len()].name().into(),
            },
            SettingKind::Texts => vec!["a", "b"].into(),
            SettingKind::Numbers => vec![0.0, 1.0, 4.0].into(),
        };
        given.push((setting.name, json));
    }
    let given = given.iter().map(|(key, json)| (*key, json));
    Settings::read(&def.settings, given, &|name| registry.type_named(name)).ok()
}
