//! Makes an [`Explanation`] from the graphs after each pass.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::{Aspect, TooManyNeeds};
use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, FeatureSet, NodePath, Place, Type};
use millstream_compile::analyses::{Axes, AxesOf, Needs, axes, classes, needs};
use millstream_compile::schedule::steps_of;
use millstream_ir::states::is_state;
use millstream_ir::{Graph, InputId, NodeId, Op, PathId, Source, StepId, ZoneBody};
use millstream_node::{Class, Instance, ScopeRule};
use rustc_hash::{FxHashMap, FxHashSet};

use super::body::Told;
use super::fate::{Fates, is_same_call};
use super::region::{Part, regions};
use super::rounds::rounds;
use super::text::source;
use super::{Explanation, Fate, From, Node, Output, Scope, Socket};

/// Features that vary along axes of a request.
const AXIS_FEATURES: [Feature; 4] =
    [Feature::Index, Feature::Time, Feature::Tick, Feature::Footprint];

/// The results of the analyses of one graph.
struct Facts<'a> {
    graph: &'a Graph,
    needs: Needs,
    classes: SideTable<NodeId, Class>,
    axes: SideTable<NodeId, Axes>,
    /// The graph inputs that each node depends on, as a bit set.
    inputs: Vec<u64>,
    words: usize,
}

impl<'a> Facts<'a> {
    fn of(graph: &'a Graph, columns: &[InputId]) -> Result<Self, Diagnostics> {
        let order = millstream_compile::order(graph)?;
        let needs = needs(graph, &order).map_err(|_| {
            let mut problems = Diagnostics::new();
            problems.report(Place::at(NodePath::root()), &TooManyNeeds);
            problems
        })?;
        let classes = classes(graph, &order, &needs);
        let of = AxesOf { columns, features: &AXIS_FEATURES };
        let axes = axes(graph, &order, &of);
        let words = graph.inputs().len().div_ceil(64);
        let mut inputs = vec![0; words * graph.n_ids()];
        for id in order {
            let at = id.index() * words;
            if let Op::Input(input) = graph.op(id) {
                inputs[at + input.index() / 64] |= 1 << (input.index() % 64);
            }
            for link in graph.inputs_of(id) {
                for word in 0..words {
                    inputs[at + word] |= inputs[link.node.index() * words + word];
                }
            }
        }
        Ok(Self { graph, needs, classes, axes, inputs, words })
    }

    fn needs(&self, id: NodeId) -> Vec<String> {
        self.needs.flow.table.of(self.needs.of[id]).map(ToString::to_string).collect()
    }

    /// Names of the features that the node needs from the request.
    fn features(&self, id: NodeId) -> Vec<String> {
        let needs = self.needs.flow.table.of(self.needs.of[id]);
        let needs = needs.map(|need| match need.aspect {
            Aspect::Value => need.feature.name().to_owned(),
            Aspect::Extent => format!("the number of elements along {}", need.feature),
        });
        needs.collect()
    }

    fn depends_on(&self, id: NodeId) -> Vec<String> {
        let words = &self.inputs[id.index() * self.words..][..self.words];
        let has = |i: usize| words[i / 64] >> (i % 64) & 1 == 1;
        let inputs = self.graph.inputs().as_slice().iter().enumerate();
        inputs.filter(|(i, _)| has(*i)).map(|(_, input)| input.name.to_string()).collect()
    }

    fn axes(&self, id: NodeId) -> Vec<&'static str> {
        let axes = self.axes[id];
        let mut names = Vec::new();
        if axes.features & 0b110 != 0 {
            names.push("time");
        }
        if axes.features & 0b1000 != 0 {
            names.push("view");
        }
        if axes.elements {
            names.push("index");
        }
        names
    }
}

/// Describes every node of the first stage. `columns` are the inputs that vary by element; the
/// bodies in `told` are explained already.
pub(super) fn describe(
    name: &str,
    stages: &[Graph],
    columns: &[InputId],
    told: &mut Told,
) -> Result<Explanation, Diagnostics> {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
        unreachable!("the list of passes is not empty")
    };
    let fates = Fates::new(stages)?;
    let describing = Describing {
        first,
        at_first: Facts::of(first, columns)?,
        at_last: Facts::of(last, columns)?,
        listed: listed(first)?,
        steps: steps_of(last)?,
        calls: first.instances().as_slice().iter().map(|call| Called::of(call)).collect(),
        fates,
    };
    let ids: Vec<NodeId> = describing.listed.order.clone();
    let (regions, known) = regions(last, &ids, &describing.listed.position);
    let mut nodes: Vec<Node> = ids.iter().map(|id| describing.node(*id)).collect();
    describing.deal_out_steps(&mut nodes);
    name_conversions(&mut nodes);
    for (node, id) in nodes.iter_mut().zip(&ids) {
        let Some(mark) = last.region_of(*id) else { continue };
        let is_choice = last.instance_of(*id).is_some_and(|call| call.is_lane_choice());
        let part = match (is_choice, mark.only_uniform) {
            (false, _) => Part::Whole,
            (true, false) => Part::Selecting,
            (true, true) => Part::Uniform,
        };
        node.region = Some((known[&mark.region], part));
    }
    let order = millstream_compile::order(last)?;
    let positions = &describing.listed.position;
    for (at, found) in rounds(last, &describing.at_last.needs, &order, positions) {
        nodes[at].rounds = Some(found);
    }
    let axes = &describing.at_last.axes;
    for id in &order {
        let Some(body) = last.instance_of(*id).and_then(|call| ZoneBody::of(call)) else {
            continue;
        };
        let links = last.inputs_of(*id).iter();
        let varies: Vec<bool> = links.map(|link| axes[link.node].elements).collect();
        let Some(node) = positions.as_slice().get(id.index()).and_then(|at| nodes.get_mut(*at))
        else {
            continue;
        };
        node.body = Some(told.tell(&node.label(), body, &varies, axes[*id].elements)?);
    }
    // State leaves the graph through outputs that the document does not have.
    let outputs = first.outputs.iter().filter(|output| !is_state(&output.name));
    let outputs = outputs.map(|output| Output {
        name: output.name.to_string(),
        ty: output.ty,
        from: describing.from(output.source),
    });
    let outputs: Vec<Output> = outputs.collect();
    for output in &outputs {
        // A conversion for an output has no node in the document.
        if let From::Node { node, .. } = output.from
            && nodes[node].path.is_empty()
        {
            nodes[node].path = format!("output {}", output.name);
        }
    }
    let name_of = |id: &InputId| first.inputs()[*id].name.to_string();
    Ok(Explanation {
        name: name.to_owned(),
        columns: columns.iter().map(name_of).filter(|name| !is_state(name)).collect(),
        outputs,
        nodes,
        regions,
        chunks: Vec::new(),
    })
}

/// Names the inserted conversions after what they convert, which comes before them.
fn name_conversions(nodes: &mut [Node]) {
    for at in 0..nodes.len() {
        let node = &nodes[at];
        if node.conversion.is_none() {
            continue;
        }
        let source = source(nodes, &node.inputs[0].from);
        nodes[at].conversion = Some(format!("{source} as {}", nodes[at].outputs[0].1));
    }
}

/// The nodes that an explanation lists, with their positions.
struct Listed {
    order: Vec<NodeId>,
    position: SideTable<NodeId, usize>,
}

fn listed(graph: &Graph) -> Result<Listed, Diagnostics> {
    let all = millstream_compile::order(graph)?;
    let is_input = |id: &NodeId| matches!(graph.op(*id), Op::Input(_));
    let is_call = |id: &NodeId| matches!(graph.op(*id), Op::Call(_));
    let mut order: Vec<NodeId> = all.iter().copied().filter(is_input).collect();
    order.extend(all.iter().copied().filter(is_call));
    let mut position = SideTable::new(graph.n_ids(), usize::MAX);
    for (i, id) in order.iter().enumerate() {
        position[*id] = i;
    }
    Ok(Listed { order, position })
}

struct Describing<'a> {
    first: &'a Graph,
    at_first: Facts<'a>,
    at_last: Facts<'a>,
    listed: Listed,
    steps: SideTable<NodeId, Option<StepId>>,
    /// By instance of the first stage.
    calls: Vec<Called>,
    fates: Fates<'a>,
}

/// The properties that all nodes of one instance share.
struct Called {
    /// The names of the sockets, in order.
    sockets: Vec<String>,
    settings: Vec<(String, String)>,
    outputs: Vec<(String, Type)>,
}

impl Called {
    fn of(instance: &Instance) -> Self {
        let signature = instance.def.signature(&instance.settings).ok();
        let sockets = signature.as_ref().map_or(&[][..], |signature| &signature.inputs);
        let names = instance.output_names.iter().map(ToString::to_string);
        let types = instance.outputs.iter().map(|slot| slot.ty);
        Self {
            sockets: sockets.iter().map(|socket| socket.name.to_string()).collect(),
            settings: changed_settings(instance),
            outputs: names.zip(types).collect(),
        }
    }
}

impl Describing<'_> {
    fn from(&self, source: Source) -> From {
        match self.first.constant_of(source.node) {
            Some(value) => From::Constant(value.to_string()),
            None => From::Node {
                node: self.listed.position[source.node],
                output: source.output as usize,
            },
        }
    }

    fn node(&self, id: NodeId) -> Node {
        match (self.first.op(id), self.first.instance_of(id)) {
            (Op::Call(call), Some(instance)) => self.call(id, instance, &self.calls[call.index()]),
            (Op::Input(input), _) => self.input(id, input),
            (Op::Call(_) | Op::Const(_) | Op::Gone, _) => {
                unreachable!("inputs and calls are listed")
            }
        }
    }

    fn input(&self, id: NodeId, input: InputId) -> Node {
        let input = &self.first.inputs()[input];
        let is_read = self.at_last.graph.op(id) != Op::Gone;
        let is_kept = is_state(&input.name);
        Node {
            path: input.name.to_string(),
            conversion: None,
            is_input: true,
            node_type: input.ty.to_string(),
            settings: Vec::new(),
            inputs: Vec::new(),
            outputs: vec![(input.name.to_string(), input.ty)],
            fate: if is_read { Fate::Kept } else { Fate::Unread },
            class: if is_kept { Class::Stateful } else { Class::UserInput },
            needs: Vec::new(),
            depends_on: vec![input.name.to_string()],
            axes: self.at_first.axes(id),
            runs: if is_kept { "state of the previous tick" } else { "set by the request" }.into(),
            steps: Vec::new(),
            region: None,
            body: None,
            rounds: None,
            run: None,
            failure: None,
        }
    }

    fn call(&self, id: NodeId, instance: &Instance, called: &Called) -> Node {
        let (fate, at) = self.fate(id, instance);
        let facts = match fate {
            Fate::Kept | Fate::Scoped(_) | Fate::As(_) => &self.at_last,
            Fate::Constant(_)
            | Fate::SameAs(_)
            | Fate::Replaced(_)
            | Fate::Resolved(_)
            | Fate::Unread => &self.at_first,
        };
        let sockets_of = if fate == Fate::Kept { facts } else { &self.at_first };
        let class = facts.classes[at];
        let (depends_on, axes) = (facts.depends_on(at), facts.axes(at));
        let runs = match &fate {
            Fate::Kept | Fate::Scoped(_) | Fate::As(_) => {
                runs(class, &axes, &depends_on, &facts.features(at))
            }
            Fate::Constant(_) => "never: its value is known once the document is compiled".into(),
            Fate::SameAs(_) => "never: another node does the same".into(),
            Fate::Replaced(_) => "never: its result is its input".into(),
            Fate::Resolved(_) => "never: its input is computed with the provided value".into(),
            Fate::Unread => "never: nothing reads it any more".into(),
        };
        let path = self.first.node(id).path;
        Node {
            path: self.first.paths.get(path).to_string(),
            // It is named when all nodes are known.
            conversion: self.first.paths.is_conversion(path).then(String::new),
            is_input: false,
            node_type: instance.name().to_owned(),
            settings: called.settings.clone(),
            inputs: self.sockets(id, instance, called, sockets_of),
            outputs: called.outputs.clone(),
            fate,
            class,
            needs: facts.needs(at),
            depends_on,
            axes,
            runs,
            steps: self.steps_of(id, at),
            region: None,
            body: None,
            rounds: None,
            run: None,
            failure: None,
        }
    }

    /// The steps of the node that does the work of a node: the node itself or another one.
    fn steps_of(&self, id: NodeId, tells: NodeId) -> Vec<StepId> {
        let copies = self.fates.copies_of(id).iter().filter(|copy| **copy != tells);
        std::iter::once(&tells).chain(copies).filter_map(|id| self.steps[*id]).collect()
    }

    /// Assigns each step to one node. A node also gets the steps that passes made for it, such as
    /// those that compute the value that a scope provides.
    fn deal_out_steps(&self, nodes: &mut [Node]) {
        let mut dealt = FxHashSet::default();
        for node in &mut *nodes {
            node.steps.retain(|step| dealt.insert(*step));
        }
        let at_path = self.listed.order.iter().enumerate();
        let at_path = at_path.filter(|(_, id)| self.first.instance_of(**id).is_some());
        let at_path: FxHashMap<PathId, usize> =
            at_path.map(|(at, id)| (self.first.node(*id).path, at)).collect();
        let last = self.at_last.graph;
        for id in last.ids().filter(|id| last.instance_of(*id).is_some()) {
            if let Some(step) = self.steps[id]
                && let Some(at) = at_path.get(&last.node(id).path)
                && dealt.insert(step)
            {
                nodes[*at].steps.push(step);
            }
        }
    }

    fn sockets(
        &self,
        id: NodeId,
        instance: &Instance,
        called: &Called,
        facts: &Facts<'_>,
    ) -> Vec<Socket> {
        let links = self.first.inputs_of(id).iter().zip(&instance.inputs).enumerate();
        let Op::Call(in_facts) = facts.graph.op(id) else { return Vec::new() };
        let socket =
            |(i, (link, slot)): (usize, (&Source, &millstream_node::instance::InputSlot))| {
                let name = called.sockets.get(slot.socket as usize);
                let inside = facts.graph.inputs_of(id).get(i);
                let inside = inside.map_or(FeatureSet::NONE, |link| facts.needs.of[link.node]);
                let map = facts.needs.flow.map(in_facts, i);
                let scope = (!slot.scope.is_empty()).then(|| Scope {
                    change: slot.scope.iter().map(change).collect::<Vec<_>>().join(", "),
                    has_effect: slot.gathers() || map.is_none_or(|map| !map.is_transparent(inside)),
                });
                Socket {
                    name: name.map_or_else(|| i.to_string(), Clone::clone),
                    ty: slot.ty,
                    from: self.from(*link),
                    scope,
                }
            };
        links.map(socket).collect()
    }

    /// The fate of a node, and the node that does its work.
    fn fate(&self, id: NodeId, instance: &Instance) -> (Fate, NodeId) {
        if matches!(self.at_last.graph.op(id), Op::Call(_)) {
            return (Fate::Kept, id);
        }
        let outputs = 0..instance.outputs.len() as u32;
        let constants: Option<Vec<String>> =
            outputs.map(|output| self.fates.constant(Source { node: id, output })).collect();
        if let Some(constants) = constants.filter(|constants| !constants.is_empty()) {
            return (Fate::Constant(constants), id);
        }
        // One of the nodes in other contexts stands for all.
        if let copies @ [copy, ..] = self.fates.copies_of(id) {
            return (Fate::Scoped(copies.len()), *copy);
        }
        let Some(source) = self.fates.source(Source::first(id)) else { return (Fate::Unread, id) };
        let original = self.fates.original(source);
        if original != source {
            return (Fate::Resolved(self.from(original)), id);
        }
        if source.node.index() >= self.first.n_ids() {
            // The compiler replaced the node by one of another type.
            return match self.at_last.graph.instance_of(source.node) {
                Some(made) => (Fate::As(made.name().to_owned()), source.node),
                None => (Fate::Unread, id),
            };
        }
        if is_same_call(self.first, id, self.at_last.graph, source.node) {
            return (Fate::SameAs(self.listed.position[source.node]), id);
        }
        (Fate::Replaced(self.from(source)), id)
    }
}

fn changed_settings(instance: &Instance) -> Vec<(String, String)> {
    let is_default = |name: &str, json: &str| {
        let setting = instance.def.settings.iter().find(|setting| setting.name == name);
        let default = setting.and_then(|setting| setting.default.as_ref());
        default.is_some_and(|default| default.to_json().to_string().as_str() == json)
    };
    let settings = instance.settings.iter();
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_json().to_string()));
    let mut settings: Vec<(String, String)> =
        settings.filter(|(name, json)| !is_default(name, json)).collect();
    if let Some(body) = ZoneBody::of(instance) {
        // The digest of the body of a repeat is not meant for people.
        settings.retain(|(name, _)| name != "body");
        settings.push(("nodes".into(), body.graph.n_calls().to_string()));
    }
    settings
}

fn change(rule: &ScopeRule) -> String {
    match rule {
        ScopeRule::Inject { feature, .. } => format!("sets {feature}"),
        ScopeRule::Each { feature, .. } => format!("counts {feature}"),
        ScopeRule::Modify { feature, .. } => format!("changes {feature}"),
        ScopeRule::Along { feature, level: 0 } => format!("runs along {feature}"),
        ScopeRule::Along { feature, level } => format!("runs along {feature} (level {level})"),
    }
}

/// When a node runs, in words.
fn runs(class: Class, axes: &[&str], inputs: &[String], features: &[String]) -> String {
    let cell = |axis: &&str| match *axis {
        "time" => "moment",
        "view" => "view",
        _ => "element",
    };
    let per: Vec<&str> = axes.iter().map(cell).collect();
    let mut text = String::from("once");
    if !per.is_empty() {
        text = format!("once per {}", per.join(" and "));
    }
    match class {
        Class::Volatile => return format!("{text}; again with every request"),
        Class::Stateful => return format!("{text}; again with every tick"),
        Class::Static | Class::UserInput | Class::Contextual => {}
    }
    let mut causes: Vec<String> = inputs.iter().map(|input| format!("`{input}`")).collect();
    for feature in features {
        if !causes.contains(feature) {
            causes.push(feature.clone());
        }
    }
    if causes.len() > 6 {
        let rest = causes.len() - 5;
        causes.truncate(5);
        causes.push(format!("{rest} more"));
    }
    match causes.split_last() {
        None => text,
        Some((only, [])) => format!("{text}; again when {only} changes"),
        Some((last, others)) => {
            format!("{text}; again when {} or {last} changes", others.join(", "))
        }
    }
}
