//! Reads the compact form.

use std::sync::Arc;

use millstream_base::{Column, Footprint, Table, Type, Value};
use millstream_document::InputDef;
use millstream_ir::graph::{GraphInput, GraphOutput, InstanceId};
use millstream_ir::verify::{Stage, verify};
use millstream_ir::{Graph, InputId, NodeId, Paths, Source};
use millstream_node::signature::Among;
use millstream_node::{Registry, Settings};
use serde_json::Value as Json;

use super::{Face, MAGIC, TEXT_VERSION, VERSION, checksum};
use crate::deploy::json;

/// Why bytes are no deployed document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum BinaryError {
    /// They begin with something else.
    #[error("these bytes are no deployed document")]
    #[diagnostic(code(binary::magic), help("write one with `millstream deploy --binary`"))]
    NotOne,
    /// Another version wrote them.
    #[error(
        "the binary document has version {found}, this program reads {VERSION} and {TEXT_VERSION}"
    )]
    #[diagnostic(code(binary::version), help("deploy the document again"))]
    Version {
        /// The version.
        found: u32,
    },
    /// They were changed or cut off.
    #[error("the binary document is damaged at byte {at}: {what}")]
    #[diagnostic(code(binary::damaged), help("deploy the document again"))]
    Damaged {
        /// Where reading stopped.
        at: usize,
        /// What does not fit.
        what: String,
    },
    /// It has more nodes than allowed.
    #[error("the binary document has {found} nodes, the limit is {limit}")]
    #[diagnostic(code(binary::nodes), help("raise `expanded_nodes` in the limits"))]
    TooManyNodes {
        /// Its nodes.
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
        version: u64,
    },
}

/// What the bytes hold.
pub(crate) enum Content<'a> {
    Graph(Box<Loaded>),
    /// The text of a document.
    Text(&'a [u8]),
}

/// A document as a graph.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) fps: f64,
    pub(crate) start_frame: i64,
    pub(crate) graph: Graph,
    /// What the document said about its inputs and outputs, by name.
    pub(crate) inputs: Vec<(Arc<str>, InputDef)>,
    pub(in crate::deploy) outputs: Vec<(Arc<str>, Face)>,
}

/// Reads and verifies.
pub(crate) fn read<'a>(bytes: &'a [u8], registry: &Registry) -> Result<Content<'a>, BinaryError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(BinaryError::NotOne)?;
    let mut reader = Reader { bytes: rest, at: 0, registry };
    let found = u32::from_le_bytes(reader.array()?);
    if found != VERSION && found != TEXT_VERSION {
        return Err(BinaryError::Version { found });
    }
    let sum = u64::from_le_bytes(reader.array()?);
    if checksum(&rest[reader.at..]) != sum {
        return Err(reader.damaged("the checksum differs"));
    }
    if found == TEXT_VERSION {
        return Ok(Content::Text(&rest[reader.at..]));
    }
    reader.document().map(|loaded| Content::Graph(Box::new(loaded)))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    registry: &'a Registry,
}

impl<'a> Reader<'a> {
    fn damaged(&self, what: impl Into<String>) -> BinaryError {
        let before = MAGIC.len();
        BinaryError::Damaged { at: before + self.at, what: what.into() }
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], BinaryError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..n).ok_or_else(|| self.damaged("it ends too early"))?;
        self.at += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BinaryError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn number(&mut self) -> Result<u64, BinaryError> {
        let mut x = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            x |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(x);
            }
        }
        Err(self.damaged("a number is too long"))
    }

    /// A number of things of at least one byte each.
    fn count(&mut self) -> Result<usize, BinaryError> {
        let n = self.number()?;
        let left = self.bytes.len() - self.at;
        usize::try_from(n)
            .ok()
            .filter(|n| *n <= left)
            .ok_or_else(|| self.damaged("a count is too large"))
    }

    fn text(&mut self) -> Result<&'a str, BinaryError> {
        let n = self.count()?;
        let bytes = self.take(n)?;
        std::str::from_utf8(bytes).map_err(|_| self.damaged("a text is no UTF-8"))
    }

    fn ty(&mut self) -> Result<Type, BinaryError> {
        let name = self.text()?;
        let known = self.registry.type_named(name);
        known.ok_or_else(|| self.damaged(format!("there is no type `{name}`")))
    }

    fn value(&mut self, ty: Type) -> Result<Value, BinaryError> {
        if let Some((lane, n)) = ty.lanes() {
            let mut lanes = [0_u64; 16];
            for bits in &mut lanes[..usize::from(n)] {
                let mut all = [0; 8];
                all[..lane.size()].copy_from_slice(self.take(lane.size())?);
                *bits = millstream_form::canonical_bits(lane, u64::from_le_bytes(all));
            }
            let value = Value::from_lanes(ty, &lanes[..usize::from(n)]);
            return value.ok_or_else(|| self.damaged("a value does not fit its type"));
        }
        if ty == Type::STRING {
            return Ok(Value::from(self.text()?));
        }
        if ty == Type::of::<Table>() {
            return self.table();
        }
        if ty == Type::of::<Footprint>() {
            let mut numbers = [0; 6];
            for number in &mut numbers {
                *number = i32::from_le_bytes(self.array()?);
            }
            let [width, height, crop @ ..] = numbers;
            let transform = self.value(Type::MAT4)?.get().expect("it is of that type");
            let view = Footprint { transform, crop, ..Footprint::of_size(width, height) };
            return Ok(view.into());
        }
        let element =
            ty.element().ok_or_else(|| self.damaged(format!("{ty} has no written values")))?;
        self.column(element).map(Value::List)
    }

    fn column(&mut self, ty: Type) -> Result<Column, BinaryError> {
        let mut items = Vec::new();
        for _ in 0..self.count()? {
            items.push(self.value(ty)?);
        }
        let column = ty.collect(&mut items.into_iter());
        column.ok_or_else(|| self.damaged("a list is mixed"))
    }

    fn table(&mut self) -> Result<Value, BinaryError> {
        let mut columns: Vec<(Arc<str>, Column)> = Vec::new();
        for _ in 0..self.count()? {
            let name = self.text()?.into();
            let ty = self.ty()?;
            if ty == Type::of::<Table>() || ty.list().is_none() {
                return Err(self.damaged(format!("a table has no columns of {ty}")));
            }
            columns.push((name, self.column(ty)?));
        }
        let table = Table::new(columns).map_err(|error| self.damaged(error.to_string()))?;
        Ok(table.into())
    }

    fn setting(&mut self, depth: usize) -> Result<Json, BinaryError> {
        let [tag] = self.array()?;
        Ok(match tag {
            1 => Json::Bool(self.array::<1>()? != [0]),
            2 => Json::from(i64::from_le_bytes(self.array()?)),
            3 => Json::from(f64::from_le_bytes(self.array()?)),
            4 => Json::from(self.text()?),
            5 if depth == 0 => {
                let n = self.count()?;
                Json::Array((0..n).map(|_| self.setting(1)).collect::<Result<_, _>>()?)
            }
            _ => return Err(self.damaged("a setting is of no kind")),
        })
    }

    fn face(&mut self) -> Result<Face, BinaryError> {
        let [bits] = self.array()?;
        if bits >= 1 << 5 {
            return Err(self.damaged("what is said of an input or output is of no kind"));
        }
        let is_there = |bit: u8| bits >> bit & 1 == 1;
        let mut numbers = [None; 3];
        for (bit, number) in (0..).zip(&mut numbers) {
            if is_there(bit) {
                let x = Some(f64::from_le_bytes(self.array()?)).filter(|x| x.is_finite());
                *number = Some(x.ok_or_else(|| self.damaged("a bound is no finite number"))?);
            }
        }
        let mut text = |bit: u8| -> Result<Option<Arc<str>>, BinaryError> {
            Ok(if is_there(bit) { Some(self.text()?.into()) } else { None })
        };
        Ok(Face { numbers, about: text(3)?, unit: text(4)? })
    }

    /// An instance, interned, and its number of inputs, which is added to `n_links`.
    fn instance(
        &mut self,
        graph: &mut Graph,
        n_links: &mut usize,
    ) -> Result<(InstanceId, usize), BinaryError> {
        let name = self.text()?;
        let version = self.number()?;
        let def = self.registry.get(name).filter(|def| u64::from(def.version) == version);
        let unknown = || BinaryError::NodeType { name: name.to_owned(), version };
        let def = Arc::clone(def.ok_or_else(unknown)?);
        let mut settings = Vec::new();
        for _ in 0..self.count()? {
            settings.push((self.text()?, self.setting(0)?));
        }
        let given = settings.iter().map(|(name, json)| (*name, json));
        let settings = Settings::read(&def.settings, given, &|name| self.registry.type_named(name));
        let settings = settings.map_err(|_| self.damaged(format!("settings of `{name}`")))?;
        let signature = def.signature(&settings);
        let signature = signature.map_err(|e| self.damaged(e.to_string()))?.into_owned();
        let n_generics = self.count()?;
        let generics = (0..n_generics).map(|_| self.ty()).collect::<Result<Vec<_>, _>>()?;
        let fits = generics.len() == signature.generics.len()
            && generics.iter().zip(&signature.generics).all(|(ty, generic)| match generic.among {
                Among::These(types) => types.contains(ty),
                Among::Any | Among::AnyOr(_) => true,
            });
        if !fits {
            return Err(self.damaged(format!("types of `{name}`")));
        }
        let mut arities = Vec::new();
        for _ in 0..self.count()? {
            let arity = self.number()?;
            arities.push(u16::try_from(arity).map_err(|_| self.damaged("an arity is too large"))?);
        }
        // Sockets at the end that take several may have no source.
        arities.resize(arities.len().max(signature.inputs.len()), 0);
        let fits = arities.len() == signature.inputs.len()
            && arities.iter().zip(&signature.inputs).all(|(n, socket)| socket.multiple || *n == 1);
        let n_inputs: usize = arities.iter().map(|n| usize::from(*n)).sum();
        if !fits || n_inputs > usize::from(u16::MAX) {
            return Err(self.damaged(format!("sockets of `{name}`")));
        }
        // Each instance has a node, whose links are written behind, so few bytes cannot ask for many
        // inputs.
        *n_links += n_inputs;
        if *n_links > self.bytes.len() - self.at {
            return Err(self.damaged(format!("`{name}` has more sources than there are links")));
        }
        let instance = def.instantiate(settings, generics, &arities);
        let instance = instance.map_err(|e| self.damaged(e.to_string()))?;
        Ok((graph.intern_instance(&Arc::new(instance)), n_inputs))
    }

    fn source(&mut self, n_nodes: usize) -> Result<Source, BinaryError> {
        let (node, output) = (self.number()?, self.number()?);
        let node = usize::try_from(node).ok().filter(|node| *node < n_nodes);
        let node = node.ok_or_else(|| self.damaged("a link leads nowhere"))?;
        let output = u32::try_from(output).map_err(|_| self.damaged("a link leads nowhere"))?;
        Ok(Source { node: millstream_base::id::Id::from_index(node), output })
    }

    fn document(mut self) -> Result<Loaded, BinaryError> {
        let name = self.text()?.to_owned();
        let fps = f64::from_le_bytes(self.array()?);
        if !(fps.is_finite() && fps > 0.0) {
            return Err(self.damaged("the frames per second are no positive number"));
        }
        let start_frame = i64::from_le_bytes(self.array()?);
        let mut graph = Graph::new();
        let (mut inputs, mut defs) = (Vec::new(), Vec::new());
        for _ in 0..self.count()? {
            let (name, ty): (Arc<str>, Type) = (self.text()?.into(), self.ty()?);
            let default = match self.array::<1>()? {
                [0] => None,
                _ => Some(self.value(ty)?),
            };
            let Face { numbers: [min, max, step], about, unit } = self.face()?;
            let written = default.as_ref().map(json);
            let def = InputDef {
                default: written,
                min,
                max,
                step,
                about,
                unit,
                ..InputDef::new(ty.name())
            };
            defs.push((Arc::clone(&name), def));
            inputs.push(Some(graph.add_unread_input(GraphInput { name, ty, default })));
        }
        let (mut instances, mut n_links) = (Vec::new(), 0);
        for _ in 0..self.count()? {
            instances.push(self.instance(&mut graph, &mut n_links)?);
        }
        let n_nodes = self.count()?;
        for _ in 0..n_nodes {
            self.node(&mut graph, n_nodes, &mut inputs, &instances)?;
        }
        let mut faces = Vec::new();
        for _ in 0..self.count()? {
            let (name, ty): (Arc<str>, Type) = (self.text()?.into(), self.ty()?);
            let source = self.source(n_nodes)?;
            faces.push((Arc::clone(&name), self.face()?));
            graph.outputs.push(GraphOutput { name, ty, source });
        }
        if self.at != self.bytes.len() {
            return Err(self.damaged("there is more than a document"));
        }
        let sound = verify(&graph, Stage::Converted);
        sound.map_err(|errors| {
            let first = errors.first().map(ToString::to_string);
            self.damaged(first.unwrap_or_default())
        })?;
        Ok(Loaded { name, fps, start_frame, graph, inputs: defs, outputs: faces })
    }

    fn node(
        &mut self,
        graph: &mut Graph,
        n_nodes: usize,
        inputs: &mut [Option<InputId>],
        instances: &[(InstanceId, usize)],
    ) -> Result<NodeId, BinaryError> {
        Ok(match self.array::<1>()? {
            [0] => {
                let ty = self.ty()?;
                let value = self.value(ty)?;
                graph.add_own_const(value)
            }
            [1] => {
                let input = usize::try_from(self.number()?).ok();
                let input = input.and_then(|k| inputs.get_mut(k)).and_then(Option::take);
                graph
                    .add_node_of_input(input.ok_or_else(|| self.damaged("an input has two nodes"))?)
            }
            [2] => {
                let instance = usize::try_from(self.number()?).ok();
                let instance = instance.and_then(|k| instances.get(k).copied());
                let (instance, n_inputs) =
                    instance.ok_or_else(|| self.damaged("a node calls nothing"))?;
                let mut path = Paths::root();
                for name in self.text()?.split('/').filter(|name| !name.is_empty()) {
                    path = graph.paths.child(path, name.into());
                }
                if self.count()? != n_inputs {
                    return Err(self.damaged("a node has another number of links"));
                }
                let links = (0..n_inputs).map(|_| self.source(n_nodes));
                let links = links.collect::<Result<Vec<_>, _>>()?;
                graph.add_call(instance, &links, path)
            }
            _ => return Err(self.damaged("a node is of no kind")),
        })
    }
}
