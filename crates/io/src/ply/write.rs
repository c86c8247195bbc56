//! Writing the attributes of one element.

use std::io::{self, Write};

use millstream_base::{Column, Lane};
use ply_rs_bw::ply::{Addable, KeyMap, PropertyDef};
use ply_rs_bw::writer::Writer;

use super::{
    CUSTOMS, DefaultElement, ElementDef, Encoding, Format, Header, IoError, PropertyType,
    ScalarType, Spot,
};
use crate::encoder::{ColumnSpec, Encoder, Patch, cannot_write};
use crate::plan::components;
use crate::scalar::print_lane;
use crate::writer::PlyEncoding;

/// Digits of the largest number of rows, and one, so that a comment can make up the difference.
const ROOM: usize = 21;

/// Writes the attributes of one element.
pub(crate) struct PlyEncoder {
    encoding: PlyEncoding,
    properties: KeyMap<PropertyDef>,
    buffer: Vec<u8>,
}

impl PlyEncoder {
    pub(crate) fn new(encoding: PlyEncoding) -> Self {
        Self { encoding, properties: KeyMap::new(), buffer: Vec::new() }
    }

    /// The header for so many rows, always of one length: a comment takes the rest of the room.
    fn header(&self, n_rows: u64) -> io::Result<Vec<u8>> {
        let mut element = ElementDef::new("vertex".into());
        element.count = usize::try_from(n_rows).map_err(io::Error::other)?;
        element.properties.clone_from(&self.properties);
        let mut header = Header::new();
        header.encoding = match self.encoding {
            PlyEncoding::Binary => Encoding::BinaryLittleEndian,
            PlyEncoding::Ascii => Encoding::Ascii,
        };
        header.comments.push(".".repeat(ROOM - n_rows.to_string().len()));
        header.elements.add(element);
        let mut bytes = Vec::new();
        Writer::<DefaultElement>::new().write_header(&mut bytes, &header)?;
        Ok(bytes)
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
                        PlyEncoding::Binary => append(&mut self.buffer, bits, lane),
                        PlyEncoding::Ascii => {
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
            match self.encoding {
                PlyEncoding::Binary => {}
                PlyEncoding::Ascii => self.buffer.push(b'\n'),
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

/// The names of the properties that a column is written as.
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

impl Encoder for PlyEncoder {
    fn begin(
        &mut self,
        file: &str,
        columns: &[ColumnSpec],
        out: &mut dyn Write,
    ) -> Result<(), IoError> {
        for column in columns {
            let refuse = |hint: &str| Err(cannot_write(file, Format::Ply, column, hint));
            let scalar = match column.ty.lanes() {
                Some((Lane::Bool, _)) => ScalarType::UChar,
                Some((Lane::I32, _)) => ScalarType::Int,
                Some((Lane::F32, _)) => ScalarType::Float,
                Some((Lane::F64, _)) => ScalarType::Double,
                Some((Lane::I64, _)) => {
                    return refuse("ply has no 64-bit integers; convert to i32 or f64");
                }
                None => return refuse("ply holds numbers; write text and lists to json"),
            };
            if !is_name(&column.name) {
                return refuse("a name in ply has letters, digits, `_` and `-` only");
            }
            for name in names_of(column) {
                if self.properties.contains_key(&name) {
                    return Err(IoError::DuplicateColumn { spot: Spot::file(file).column(&name) });
                }
                self.properties.add(PropertyDef::new(name, PropertyType::Scalar(scalar.clone())));
            }
        }
        if columns.is_empty() {
            return Err(IoError::CannotWriteTable {
                file: file.to_owned(),
                format: Format::Ply,
                columns: "none".into(),
                hint: "name at least one column".into(),
            });
        }
        let header = self.header(0);
        header
            .and_then(|header| out.write_all(&header))
            .map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn rows(&mut self, file: &str, block: &[Column], out: &mut dyn Write) -> Result<(), IoError> {
        self.write_rows(block, out)
            .map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn patches(&self) -> bool {
        true
    }

    fn patch(&self, n_rows: u64) -> Option<Patch> {
        let bytes = self.header(n_rows).expect("a header was written with the same columns");
        Some(Patch { offset: 0, bytes })
    }
}
