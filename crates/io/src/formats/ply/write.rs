//! Writing the attributes of one element.

use std::io::{self, Write};
use std::sync::Arc;

use millstream_base::{Column, Lane};
use ply_rs_bw::ply::{
    Addable, DefaultElement, ElementDef, Encoding as PlyEncoding, Header, KeyMap, PropertyDef,
    PropertyType, ScalarType,
};
use ply_rs_bw::writer::Writer;

use super::CUSTOMS;
use crate::faces::Faces;
use crate::fields::components;
use crate::format::{Encoder, Refusal};
use crate::options::{Encoding, WriteOptions};
use crate::scalar::print_lane;
use crate::table::ColumnSpec;

/// The digits of the largest number of rows plus one, so that a comment can fill the difference.
const ROOM: usize = 21;

/// Writes the attributes of one element.
struct AttributeEncoder {
    encoding: Encoding,
    properties: KeyMap<PropertyDef>,
    faces: Option<Arc<Faces>>,
    buffer: Vec<u8>,
}

impl AttributeEncoder {
    /// The header for this many rows, always of the same length: a comment fills the rest.
    fn header_of(&self, n_rows: u64) -> io::Result<Vec<u8>> {
        let mut element = ElementDef::new("vertex".into());
        element.count = usize::try_from(n_rows).map_err(io::Error::other)?;
        element.properties.clone_from(&self.properties);
        let mut header = Header::new();
        header.encoding = match self.encoding {
            Encoding::Binary => PlyEncoding::BinaryLittleEndian,
            Encoding::Text => PlyEncoding::Ascii,
        };
        header.comments.push(".".repeat(ROOM - n_rows.to_string().len()));
        header.elements.add(element);
        if let Some(faces) = &self.faces {
            let mut element = ElementDef::new("face".into());
            element.count = faces.len();
            let list = PropertyType::List(self.type_of_sizes(), ScalarType::Int);
            element.properties.add(PropertyDef::new("vertex_indices".into(), list));
            header.elements.add(element);
        }
        let mut bytes = Vec::new();
        Writer::<DefaultElement>::new().write_header(&mut bytes, &header)?;
        Ok(bytes)
    }

    /// Viewers expect the number of corners in one byte.
    fn type_of_sizes(&self) -> ScalarType {
        let most = self.faces.as_ref().map_or(0, |faces| faces.most_corners());
        if most <= 255 { ScalarType::UChar } else { ScalarType::Int }
    }

    fn write_faces(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(faces) = self.faces.clone() else { return Ok(()) };
        let is_byte = matches!(self.type_of_sizes(), ScalarType::UChar);
        for face in faces.iter() {
            self.buffer.clear();
            match self.encoding {
                Encoding::Text => {
                    let words = std::iter::once(face.len() as i32).chain(face.iter().copied());
                    let words: Vec<String> = words.map(|number| number.to_string()).collect();
                    self.buffer.extend(words.join(" ").bytes());
                    self.buffer.push(b'\n');
                }
                Encoding::Binary => {
                    if is_byte {
                        self.buffer.push(face.len() as u8);
                    } else {
                        self.buffer.extend((face.len() as i32).to_le_bytes());
                    }
                    self.buffer.extend(face.iter().flat_map(|corner| corner.to_le_bytes()));
                }
            }
            out.write_all(&self.buffer)?;
        }
        Ok(())
    }

    fn write_rows(&mut self, block: &[Column], out: &mut dyn Write) -> io::Result<()> {
        self.buffer.clear();
        let mut text = String::new();
        for row in 0..block.first().map_or(0, Column::len) {
            let mut is_first = true;
            for column in block {
                let (lane, n) = column.ty().lanes().expect("others were refused at the start");
                let value = column.get(row);
                for i in 0..usize::from(n) {
                    let bits = value.lane(i).expect("the value has its lanes");
                    match self.encoding {
                        Encoding::Binary => append(&mut self.buffer, bits, lane),
                        Encoding::Text => {
                            text.clear();
                            text.push_str(if is_first { "" } else { " " });
                            let lane = if lane == Lane::Bool { Lane::I32 } else { lane };
                            print_lane(bits, lane, &mut text);
                            self.buffer.extend(text.as_bytes());
                        }
                    }
                    is_first = false;
                }
            }
            if self.encoding == Encoding::Text {
                self.buffer.push(b'\n');
            }
        }
        out.write_all(&self.buffer)
    }
}

fn append(out: &mut Vec<u8>, bits: u64, lane: Lane) {
    match lane {
        Lane::Bool => out.push(bits as u8),
        Lane::I32 | Lane::F32 => out.extend((bits as u32).to_le_bytes()),
        Lane::I64 | Lane::F64 => out.extend(bits.to_le_bytes()),
    }
}

/// The names of the properties for a column.
fn names_of(column: &ColumnSpec) -> Vec<String> {
    let custom = CUSTOMS.iter().find(|c| c.name == column.name && c.ty == column.ty);
    match (custom, components(column.ty)) {
        (Some(custom), _) => custom.fields.iter().map(|name| (*name).to_owned()).collect(),
        (None, []) => vec![column.name.clone()],
        (None, parts) => parts.iter().map(|part| format!("{}_{part}", column.name)).collect(),
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

pub(super) fn start(
    options: WriteOptions,
    columns: &[ColumnSpec],
    out: &mut dyn Write,
) -> Result<Box<dyn Encoder>, Refusal> {
    let mut properties = KeyMap::new();
    for column in columns {
        let refuse = |hint| Err(Refusal::column(column, hint));
        let scalar = match column.ty.lanes() {
            Some((Lane::Bool, _)) => ScalarType::UChar,
            Some((Lane::I32, _)) => ScalarType::Int,
            Some((Lane::F32, _)) => ScalarType::Float,
            Some((Lane::F64, _)) => ScalarType::Double,
            Some((Lane::I64, _)) => {
                return refuse("ply has no 64-bit integers; convert to i32 or f64");
            }
            None => return refuse("ply holds numbers; write strings and lists to json"),
        };
        if !is_name(&column.name) {
            return refuse("names in ply can only contain letters, digits, `_` and `-`");
        }
        for name in names_of(column) {
            if properties.contains_key(&name) {
                return Err(Refusal::Twice { name });
            }
            properties.add(PropertyDef::new(name, PropertyType::Scalar(scalar.clone())));
        }
    }
    if columns.is_empty() {
        return Err(Refusal::Table { hint: "write at least one column" });
    }
    let WriteOptions { encoding, faces, .. } = options;
    let encoder = AttributeEncoder { encoding, properties, faces, buffer: Vec::new() };
    out.write_all(&encoder.header_of(0)?)?;
    Ok(Box::new(encoder))
}

impl Encoder for AttributeEncoder {
    fn rows(&mut self, block: &[Column], out: &mut dyn Write) -> Result<(), Refusal> {
        self.write_rows(block, out).map_err(Refusal::Io)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.write_faces(out)
    }

    fn header(&self, n_rows: u64) -> Option<Vec<u8>> {
        Some(self.header_of(n_rows).expect("a header was written with the same columns"))
    }
}
