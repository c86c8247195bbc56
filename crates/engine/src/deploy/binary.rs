//! The compact form of a deployed document: the graph after the passes, read without compiling.
//!
//! Eight bytes of magic, the version, and a checksum of the content, which is a [`Content`] in the
//! format of `postcard`. Nothing in it is trusted: references only lead backward or into lists of
//! known lengths, and the resulting graph is verified.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::{Document, InputDef, OutputDef};
use millstream_ir::graph::{GraphInput, GraphOutput, InstanceId};
use millstream_ir::verify::{Stage, verify};
use millstream_ir::{Graph, InputId, Op, Paths, Source};
use millstream_node::signature::Among;
use millstream_node::{Instance, Registry, Settings};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::columns::{Columns, Values, Written};
use super::json;

const MAGIC: &[u8; 8] = b"MILLBIN\0";
const VERSION: u32 = 5;
/// Magic, version and checksum.
const HEADER: usize = 20;

/// Why bytes are not a deployed document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum BinaryError {
    /// They begin with something else.
    #[error("these bytes are not a deployed document")]
    #[diagnostic(code(binary::magic), help("write one with `millstream deploy --binary`"))]
    NotOne,
    /// Another version wrote them.
    #[error("the binary document has version {found}, this program reads version {VERSION}")]
    #[diagnostic(code(binary::version), help("deploy the document again"))]
    Version {
        /// The version.
        found: u32,
    },
    /// They were changed or cut off.
    #[error("the binary document is damaged: {what}")]
    #[diagnostic(code(binary::damaged), help("deploy the document again"))]
    Damaged {
        /// The inconsistency.
        what: String,
    },
    /// It has more nodes than allowed.
    #[error("the binary document has {found} nodes, the limit is {limit}")]
    #[diagnostic(code(binary::nodes), help("raise `expanded_nodes` in the limits"))]
    TooManyNodes {
        /// The number of its nodes.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// It uses a node type that this program lacks.
    #[error("there is no node type `{name}` of version {version}")]
    #[diagnostic(code(binary::node_type), help("register it, or deploy with this program"))]
    NodeType {
        /// The type.
        name: String,
        /// The version that the document was deployed with.
        version: u32,
    },
}

impl BinaryError {
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
pub(super) enum Content {
    Graph(Box<WrittenGraph>),
    /// The text of a document, for graphs in which groups are repeated.
    Text(String),
}

/// A graph as it is written. Types, columns, inputs, instances and nodes are identified by their
/// positions in the lists.
#[derive(Serialize, Deserialize)]
pub(super) struct WrittenGraph {
    name: String,
    fps: f64,
    start_frame: i64,
    values: Written,
    inputs: Vec<WrittenInput>,
    instances: Vec<WrittenInstance>,
    nodes: Vec<WrittenNode>,
    outputs: Vec<WrittenOutput>,
}

#[derive(Serialize, Deserialize)]
struct WrittenInput {
    name: String,
    ty: u32,
    default: Option<u32>,
    face: Face,
}

#[derive(Serialize, Deserialize)]
struct WrittenInstance {
    node_type: String,
    version: u32,
    /// Names, with the values as JSON.
    settings: Vec<(String, String)>,
    generics: Vec<u32>,
    /// The number of sources of each socket, without sockets at the end that have none.
    arities: Vec<u16>,
}

#[derive(Serialize, Deserialize)]
enum WrittenNode {
    Constant(u32),
    Input(u32),
    Call { instance: u32, path: String, links: Vec<(u32, u32)> },
}

#[derive(Serialize, Deserialize)]
struct WrittenOutput {
    name: String,
    ty: u32,
    source: (u32, u32),
    face: Face,
}

/// Bounds and descriptions of an input or output, for people and their controls.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Face {
    /// The minimum, the maximum and the step of the values that make sense; only for inputs.
    numbers: [Option<f64>; 3],
    pub(super) about: Option<Arc<str>>,
    pub(super) unit: Option<Arc<str>>,
}

impl Face {
    fn of_input(def: &InputDef) -> Self {
        let numbers = [def.min, def.max, def.step];
        Self { numbers, about: def.about.clone(), unit: def.unit.clone() }
    }

    fn of_output(def: &OutputDef) -> Self {
        Self { numbers: [None; 3], about: def.about.clone(), unit: def.unit.clone() }
    }
}

/// Whether bytes begin like a compact form.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// FNV-1a: detects damage, not malice.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The bytes of a file.
pub(super) fn bytes(content: &Content) -> Vec<u8> {
    let content = postcard::to_allocvec(content).expect("all parts of a content can be written");
    let version = VERSION.to_le_bytes();
    [MAGIC, &version[..], &checksum(&content).to_le_bytes(), &content].concat()
}

/// The content of a file.
pub(super) fn read(bytes: &[u8]) -> Result<Content, BinaryError> {
    let header = bytes.get(..HEADER).filter(|header| is_binary(header));
    let header = header.ok_or(if is_binary(bytes) {
        BinaryError::damaged("it ends too early")
    } else {
        BinaryError::NotOne
    })?;
    let found = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
    if found != VERSION {
        return Err(BinaryError::Version { found });
    }
    let content = &bytes[HEADER..];
    if header[12..] != checksum(content).to_le_bytes() {
        return Err(BinaryError::damaged("the checksum differs"));
    }
    match postcard::take_from_bytes(content) {
        Ok((content, [])) => Ok(content),
        Ok(_) => Err(BinaryError::damaged("there is more than a document")),
        Err(error) => Err(BinaryError::damaged(error.to_string())),
    }
}

impl WrittenGraph {
    /// A graph with the inputs that are kept. Its name and descriptions come from `document`;
    /// `defaults` replace the defaults of inputs.
    pub(super) fn of(
        document: &Document,
        graph: &Graph,
        is_kept: impl Fn(&str) -> bool,
        defaults: &[(String, Value)],
    ) -> Self {
        let mut columns = Columns::default();
        let ids: Vec<_> = graph.ids().collect();
        let position: FxHashMap<_, u32> = ids.iter().copied().zip(0..).collect();
        let kept = graph.inputs().iter().filter(|(_, input)| is_kept(&input.name));
        let kept: Vec<(InputId, &GraphInput)> = kept.collect();
        let inputs = kept.iter().map(|(_, input)| {
            let new = defaults.iter().find(|(name, _)| **name == *input.name);
            let default = new.map(|(_, value)| value).or(input.default.as_ref());
            WrittenInput {
                name: input.name.to_string(),
                ty: columns.ty(input.ty),
                default: default.map(|value| columns.value(value)),
                face: document.inputs.get(&input.name).map(Face::of_input).unwrap_or_default(),
            }
        });
        let inputs = inputs.collect();
        let kept: FxHashMap<InputId, u32> = kept.iter().map(|(id, _)| *id).zip(0..).collect();
        let source = |source: &Source| (position[&source.node], source.output);
        let mut numbers: FxHashMap<InstanceId, u32> = FxHashMap::default();
        let (mut instances, mut nodes) = (Vec::new(), Vec::with_capacity(ids.len()));
        for id in &ids {
            nodes.push(match graph.op(*id) {
                Op::Gone => unreachable!("ids are those of nodes that are there"),
                Op::Const(constant) => {
                    WrittenNode::Constant(columns.value(&graph.constants().values()[constant]))
                }
                Op::Input(input) => WrittenNode::Input(kept[&input]),
                Op::Call(instance) => {
                    let number = *numbers.entry(instance).or_insert_with(|| {
                        let instance = &graph.instances()[instance];
                        instances.push(WrittenInstance::of(instance, &mut columns));
                        instances.len() as u32 - 1
                    });
                    let path = graph.paths.get(graph.node(*id).path).to_string();
                    let links = graph.inputs_of(*id).iter().map(source).collect();
                    WrittenNode::Call { instance: number, path, links }
                }
            });
        }
        let outputs = graph.outputs.iter().map(|output| WrittenOutput {
            name: output.name.to_string(),
            ty: columns.ty(output.ty),
            source: source(&output.source),
            face: document.outputs.get(&output.name).map(Face::of_output).unwrap_or_default(),
        });
        let outputs = outputs.collect();
        Self {
            name: document.name.to_string(),
            fps: document.fps,
            start_frame: document.start_frame,
            values: columns.finish(),
            inputs,
            instances,
            nodes,
            outputs,
        }
    }

    /// The graph, verified.
    pub(super) fn load(self, registry: &Registry) -> Result<Loaded, BinaryError> {
        if !(self.fps.is_finite() && self.fps > 0.0) {
            return Err(BinaryError::damaged("the frames per second are not a positive number"));
        }
        let values = self.values.read(registry)?;
        let mut graph = Graph::new();
        let (mut inputs, mut defs) = (Vec::new(), Vec::new());
        for input in self.inputs {
            let (input, def) = input.load(&values)?;
            defs.push((Arc::clone(&input.name), def));
            inputs.push(Some(graph.add_unread_input(input)));
        }
        let n_links: usize = self.nodes.iter().map(WrittenNode::n_links).sum();
        let (mut instances, mut n_sources) = (Vec::with_capacity(self.instances.len()), 0);
        for written in &self.instances {
            // Few bytes cannot ask for many inputs: each instance has a node, which has its links.
            n_sources += written.n_inputs();
            if n_sources > n_links {
                let name = &written.node_type;
                let what = format!("`{name}` has more sources than there are links");
                return Err(BinaryError::damaged(what));
            }
            let types =
                written.generics.iter().map(|ty| values.ty(*ty)).collect::<Result<_, _>>()?;
            instances.push(graph.intern_instance(&Arc::new(written.load(types, registry)?)));
        }
        let n_nodes = self.nodes.len();
        let source = |(node, output): (u32, u32)| {
            let node = usize::try_from(node).ok().filter(|node| *node < n_nodes);
            let node = node.ok_or_else(|| BinaryError::damaged("a link leads nowhere"))?;
            Ok(Source { node: millstream_base::id::Id::from_index(node), output })
        };
        for node in self.nodes {
            match node {
                WrittenNode::Constant(column) => {
                    graph.add_own_const(values.value(column)?);
                }
                WrittenNode::Input(input) => {
                    let input = inputs.get_mut(input as usize).and_then(Option::take);
                    let twice = || BinaryError::damaged("an input has two nodes");
                    graph.add_node_of_input(input.ok_or_else(twice)?);
                }
                WrittenNode::Call { instance, path, links } => {
                    let known = instances.get(instance as usize).copied();
                    let known =
                        known.ok_or_else(|| BinaryError::damaged("a node calls nothing"))?;
                    if links.len() != self.instances[instance as usize].n_inputs() {
                        let what = "a node has the wrong number of links";
                        return Err(BinaryError::damaged(what));
                    }
                    let mut at = Paths::root();
                    for name in path.split('/').filter(|name| !name.is_empty()) {
                        at = graph.paths.child(at, name.into());
                    }
                    let links = links.into_iter().map(source).collect::<Result<Vec<_>, _>>()?;
                    graph.add_call(known, &links, at);
                }
            }
        }
        let mut faces = Vec::new();
        for output in self.outputs {
            let (name, ty): (Arc<str>, Type) = (output.name.into(), values.ty(output.ty)?);
            faces.push((Arc::clone(&name), output.face));
            graph.outputs.push(GraphOutput { name, ty, source: source(output.source)? });
        }
        verify(&graph, Stage::Converted).map_err(|errors| {
            BinaryError::damaged(errors.first().map(ToString::to_string).unwrap_or_default())
        })?;
        let (name, fps, start_frame) = (self.name, self.fps, self.start_frame);
        Ok(Loaded { name, fps, start_frame, graph, inputs: defs, outputs: faces })
    }
}

impl WrittenInput {
    fn load(self, values: &Values) -> Result<(GraphInput, InputDef), BinaryError> {
        let (name, ty): (Arc<str>, Type) = (self.name.into(), values.ty(self.ty)?);
        let default = self.default.map(|column| values.value(column)).transpose()?;
        if default.as_ref().is_some_and(|value| value.ty() != ty) {
            return Err(BinaryError::damaged(format!(
                "the default of `{name}` is not of type {ty}"
            )));
        }
        let Face { numbers, about, unit } = self.face;
        if numbers.iter().flatten().any(|x| !x.is_finite()) {
            return Err(BinaryError::damaged("a bound is not a finite number"));
        }
        let [min, max, step] = numbers;
        let written = default.as_ref().map(json);
        let new = InputDef::new(ty.name());
        let def = InputDef { default: written, min, max, step, about, unit, ..new };
        Ok((GraphInput { name, ty, default }, def))
    }
}

impl WrittenNode {
    fn n_links(&self) -> usize {
        match self {
            Self::Constant(_) | Self::Input(_) => 0,
            Self::Call { links, .. } => links.len(),
        }
    }
}

impl WrittenInstance {
    fn of(instance: &Instance, columns: &mut Columns) -> Self {
        let settings = instance.settings.iter();
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_json().to_string()));
        let n_sockets = instance.inputs.iter().map(|slot| slot.socket + 1).max().unwrap_or(0);
        let mut arities = vec![0; n_sockets as usize];
        instance.inputs.iter().for_each(|slot| arities[slot.socket as usize] += 1);
        Self {
            node_type: instance.name().to_owned(),
            version: instance.def.version,
            settings: settings.collect(),
            generics: instance.generics.iter().map(|ty| columns.ty(*ty)).collect(),
            arities,
        }
    }

    fn n_inputs(&self) -> usize {
        self.arities.iter().map(|n| usize::from(*n)).sum()
    }

    fn load(&self, generics: Vec<Type>, registry: &Registry) -> Result<Instance, BinaryError> {
        let (name, version) = (&self.node_type, self.version);
        let def = registry.get(name).filter(|def| def.version == version);
        let unknown = || BinaryError::NodeType { name: name.clone(), version };
        let def = Arc::clone(def.ok_or_else(unknown)?);
        let settings = self.settings.iter().map(|(name, text)| {
            let json =
                serde_json::from_str(text).map_err(|e| BinaryError::damaged(e.to_string()))?;
            Ok((&**name, json))
        });
        let settings = settings.collect::<Result<Vec<_>, BinaryError>>()?;
        let given = settings.iter().map(|(name, json)| (*name, json));
        let settings = Settings::read(&def.settings, given, &|name| registry.type_named(name));
        let settings =
            settings.map_err(|_| BinaryError::damaged(format!("settings of `{name}`")))?;
        let signature = def.signature(&settings);
        let signature = signature.map_err(|e| BinaryError::damaged(e.to_string()))?;
        let fits = generics.len() == signature.generics.len()
            && generics.iter().zip(&signature.generics).all(|(ty, generic)| match generic.among {
                Among::These(types) => types.contains(ty),
                Among::Any | Among::AnyOr(_) | Among::Own => true,
            });
        if !fits {
            return Err(BinaryError::damaged(format!("types of `{name}`")));
        }
        let mut arities = self.arities.clone();
        arities.resize(arities.len().max(signature.inputs.len()), 0);
        let fits = arities.len() == signature.inputs.len()
            && arities.iter().zip(&signature.inputs).all(|(n, socket)| socket.multiple || *n == 1);
        if !fits || self.n_inputs() > usize::from(u16::MAX) {
            return Err(BinaryError::damaged(format!("sockets of `{name}`")));
        }
        drop(signature);
        let instance = def.instantiate(settings, generics, &arities);
        instance.map_err(|error| BinaryError::damaged(error.to_string()))
    }
}

/// A document as a graph.
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) fps: f64,
    pub(super) start_frame: i64,
    pub(super) graph: Graph,
    /// The descriptions of inputs and outputs, by name.
    pub(super) inputs: Vec<(Arc<str>, InputDef)>,
    pub(super) outputs: Vec<(Arc<str>, Face)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_cannot_ask_for_many_sources() {
        let mut columns = Columns::default();
        let instance = |columns: &mut Columns| WrittenInstance {
            node_type: "list.of".into(),
            version: 1,
            settings: Vec::new(),
            generics: vec![columns.ty(Type::F32)],
            arities: vec![65_535],
        };
        let graph = WrittenGraph {
            name: "many".into(),
            fps: 24.0,
            start_frame: 0,
            instances: (0..1000).map(|_| instance(&mut columns)).collect(),
            values: columns.finish(),
            inputs: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
        };
        let error = graph.load(&millstream_nodes::registry()).err().expect("it is refused");
        let told = "`list.of` has more sources than there are links";
        assert!(error.to_string().ends_with(told), "{error}");
    }
}
