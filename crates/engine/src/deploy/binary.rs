//! The compact form of a deployed document: the graph behind the passes, read without JSON.
//!
//! Eight bytes of magic, the version, a checksum of the rest, then name and frames per second, the
//! inputs with what the document says about them, the instances, the nodes with the constants, and the
//! outputs with what the document says about them. Numbers are in LEB128 unless
//! said otherwise, texts and lists begin with their length, lanes are little-endian. Nothing is
//! trusted: counts are held against the bytes that are left, and the graph is verified.
//!
//! Graphs in which groups are repeated are written in the second version: behind the checksum stands
//! the text of the document.

mod read;

use std::hash::Hasher;
use std::sync::Arc;

use millstream_base::{Footprint, Lane, Table, Value};
use millstream_document::{Document, InputDef, OutputDef};
use millstream_ir::{Graph, GraphInput, Op, Source};
use millstream_node::Instance;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

pub use read::BinaryError;
pub(crate) use read::{Content, read};

const MAGIC: &[u8; 8] = b"MILLBIN\0";
const VERSION: u32 = 3;

/// The version whose content is the text of a document.
const TEXT_VERSION: u32 = 2;

/// The bytes that hold a document as text.
pub(super) fn bytes_of_text(document: &Document) -> Vec<u8> {
    sealed(TEXT_VERSION, millstream_document::save(document).as_bytes())
}

/// The content behind magic, version and checksum.
fn sealed(version: u32, content: &[u8]) -> Vec<u8> {
    let mut all = MAGIC.to_vec();
    all.extend_from_slice(&version.to_le_bytes());
    all.extend_from_slice(&checksum(content).to_le_bytes());
    all.extend_from_slice(content);
    all
}

/// Whether bytes begin as a compact form does.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// FNV-1a: tells damage, not malice.
struct Checksum(u64);

impl Hasher for Checksum {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = Checksum(0xcbf2_9ce4_8422_2325);
    sum.write(bytes);
    sum.finish()
}

/// The bytes of a graph with the inputs that are kept; `document` says what it is called,
/// `defaults` replace those of inputs.
pub(super) fn bytes(
    document: &Document,
    graph: &Graph,
    is_kept: impl Fn(&str) -> bool,
    defaults: &[(String, Value)],
) -> Vec<u8> {
    let mut out = Writer::default();
    out.text(&document.name);
    out.0.extend_from_slice(&document.fps.to_le_bytes());
    out.0.extend_from_slice(&document.start_frame.to_le_bytes());
    let ids: Vec<_> = graph.ids().collect();
    let mut position = FxHashMap::default();
    let mut inputs = FxHashMap::default();
    let mut instances = FxHashMap::default();
    let (mut input_list, mut instance_list) = (Vec::new(), Vec::new());
    for (k, id) in ids.iter().enumerate() {
        position.insert(*id, k as u64);
        match graph.op(*id) {
            Op::Call(instance) => {
                instances.entry(instance).or_insert_with(|| {
                    instance_list.push(instance);
                    instance_list.len() as u64 - 1
                });
            }
            Op::Const(_) | Op::Input(_) | Op::Gone => {}
        }
    }
    for (id, input) in graph.inputs().iter().filter(|(_, input)| is_kept(&input.name)) {
        inputs.insert(id, input_list.len() as u64);
        input_list.push(input);
    }
    out.number(input_list.len() as u64);
    for input in input_list {
        let new = defaults.iter().find(|(name, _)| **name == *input.name).map(|(_, value)| value);
        out.input(input, new.or(input.default.as_ref()));
        out.face(&document.inputs.get(&input.name).map(Face::of_input).unwrap_or_default());
    }
    out.number(instance_list.len() as u64);
    for instance in &instance_list {
        out.instance(&graph.instances()[*instance]);
    }
    let source = |out: &mut Writer, source: &Source| {
        out.number(position[&source.node]);
        out.number(u64::from(source.output));
    };
    out.number(ids.len() as u64);
    for id in &ids {
        match graph.op(*id) {
            Op::Gone => unreachable!("ids are those of nodes that are there"),
            Op::Const(constant) => {
                let value = &graph.constants().values()[constant];
                out.0.push(0);
                out.text(value.ty().name());
                out.value(value);
            }
            Op::Input(input) => {
                out.0.push(1);
                out.number(inputs[&input]);
            }
            Op::Call(instance) => {
                out.0.push(2);
                out.number(instances[&instance]);
                out.text(graph.paths.get(graph.node(*id).path).as_str());
                let links = graph.inputs_of(*id);
                out.number(links.len() as u64);
                for link in links {
                    source(&mut out, link);
                }
            }
        }
    }
    out.number(graph.outputs.len() as u64);
    for output in &graph.outputs {
        out.text(&output.name);
        out.text(output.ty.name());
        source(&mut out, &output.source);
        out.face(&document.outputs.get(&output.name).map(Face::of_output).unwrap_or_default());
    }
    sealed(VERSION, &out.0)
}

/// What a document says about an input or an output for people and their controls.
#[derive(Default)]
pub(super) struct Face {
    /// The least value that makes sense, the largest, and the step between them; of inputs only.
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

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push(x as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// A value whose type is known.
    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::List(column) => {
                self.number(column.len() as u64);
                (0..column.len()).for_each(|i| self.value(&column.get(i)));
            }
            Value::Opaque(opaque) => {
                if let Some(view) = opaque.get::<Footprint>() {
                    let numbers = view.resolution.iter().chain(&view.crop);
                    numbers.for_each(|x| self.0.extend_from_slice(&x.to_le_bytes()));
                    return self.value(&Value::from(view.transform));
                }
                // Of the types of Rust programs only these stand in documents.
                let table = opaque.get::<Table>().cloned().unwrap_or_default();
                self.number(table.columns().len() as u64);
                for (name, column) in table.columns() {
                    self.text(name);
                    self.text(column.ty().name());
                    self.value(&Value::List(column.clone()));
                }
            }
            _ => {
                let lane = value.ty().lanes().map_or(Lane::F64, |(lane, _)| lane);
                for bits in (0..).map_while(|i| value.lane(i)) {
                    self.0.extend_from_slice(&bits.to_le_bytes()[..lane.size()]);
                }
            }
        }
    }

    fn input(&mut self, input: &GraphInput, default: Option<&Value>) {
        self.text(&input.name);
        self.text(input.ty.name());
        self.0.push(u8::from(default.is_some()));
        if let Some(default) = default {
            self.value(default);
        }
    }

    /// A bit for each of the three numbers and the two texts that is there, then those.
    fn face(&mut self, Face { numbers, about, unit }: &Face) {
        let texts = [about, unit];
        let is_there = numbers.iter().map(Option::is_some).chain(texts.map(Option::is_some));
        self.0.push((0..).zip(is_there).map(|(bit, is_there)| u8::from(is_there) << bit).sum());
        for x in numbers.iter().flatten() {
            self.0.extend_from_slice(&x.to_le_bytes());
        }
        for text in texts.into_iter().flatten() {
            self.text(text);
        }
    }

    fn instance(&mut self, instance: &Instance) {
        self.text(instance.name());
        self.number(u64::from(instance.def.version));
        let settings: Vec<_> = instance.settings.iter().collect();
        self.number(settings.len() as u64);
        for (name, value) in settings {
            self.text(name);
            self.setting(&value.to_json());
        }
        self.number(instance.generics.len() as u64);
        for ty in &instance.generics {
            self.text(ty.name());
        }
        let n_sockets = instance.inputs.iter().map(|slot| slot.socket + 1).max().unwrap_or(0);
        self.number(u64::from(n_sockets));
        for socket in 0..n_sockets {
            let arity = instance.inputs.iter().filter(|slot| slot.socket == socket).count();
            self.number(arity as u64);
        }
    }

    /// A setting: a tag, then what it is.
    fn setting(&mut self, json: &Json) {
        match json {
            Json::Null | Json::Object(_) => self.0.push(0),
            Json::Bool(x) => self.0.extend_from_slice(&[1, u8::from(*x)]),
            Json::Number(x) => match x.as_i64() {
                Some(x) => {
                    self.0.push(2);
                    self.0.extend_from_slice(&x.to_le_bytes());
                }
                None => {
                    self.0.push(3);
                    self.0.extend_from_slice(&x.as_f64().unwrap_or(0.0).to_le_bytes());
                }
            },
            Json::String(text) => {
                self.0.push(4);
                self.text(text);
            }
            Json::Array(items) => {
                self.0.push(5);
                self.number(items.len() as u64);
                for item in items {
                    self.setting(item);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use millstream_base::Type;

    use super::*;

    #[test]
    fn few_bytes_cannot_ask_for_many_sources() {
        let mut out = Writer::default();
        out.text("many");
        out.0.extend_from_slice(&24_f64.to_le_bytes());
        out.0.extend_from_slice(&0_i64.to_le_bytes());
        out.number(0);
        out.number(1000);
        for _ in 0..1000 {
            out.text("list.of");
            for number in [1, 0, 1] {
                out.number(number);
            }
            out.text(Type::F32.name());
            for number in [1, 65_535] {
                out.number(number);
            }
        }
        let registry = millstream_nodes::registry();
        let error = read(&sealed(VERSION, &out.0), &registry).err().expect("it is refused");
        let told = "`list.of` has more sources than there are links";
        assert!(error.to_string().ends_with(told), "{error}");
    }
}
