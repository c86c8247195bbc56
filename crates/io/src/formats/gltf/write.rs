//! Writing one mesh: text with an embedded buffer, or binary.
//!
//! All vertices are held in memory until the end, because the file starts with its length.

use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millstream_base::{Column, Lane, Type};
use serde_json::{Value as Json, json};

use crate::faces::Faces;
use crate::format::{Encoder, Refusal};
use crate::options::{Encoding, WriteOptions};
use crate::table::ColumnSpec;

/// Constants of the format: floats and 32-bit integers; vertices and indices; points and triangles.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;
const POINTS: u32 = 0;
const TRIANGLES: u32 = 4;

/// The attribute whose numbers are from 0 to 1, and that whose vectors have length 1.
const COLORS: &str = "COLOR_0";
const NORMALS: &str = "NORMAL";

/// The columns of these names and types are written as these attributes.
const ATTRIBUTES: [(&str, Type, &str); 6] = [
    ("position", Type::VEC3, "POSITION"),
    ("normal", Type::VEC3, NORMALS),
    ("tangent", Type::VEC4, "TANGENT"),
    ("texcoord", Type::VEC2, "TEXCOORD_0"),
    ("color", Type::COLOR, COLORS),
    ("color", Type::VEC3, COLORS),
];

/// An attribute of all vertices.
struct Attribute {
    column: ColumnSpec,
    name: String,
    n_lanes: usize,
    bytes: Vec<u8>,
    /// The minimum and maximum of each lane.
    least: [f32; 4],
    greatest: [f32; 4],
}

/// Writes a mesh.
struct MeshEncoder {
    is_text: bool,
    attributes: Vec<Attribute>,
    faces: Option<Arc<Faces>>,
    n_rows: usize,
}

pub(super) fn start(
    options: WriteOptions,
    columns: &[ColumnSpec],
) -> Result<Box<dyn Encoder>, Refusal> {
    let attributes = columns.iter().map(Attribute::of).collect::<Result<Vec<_>, _>>()?;
    if !attributes.iter().any(|attribute| attribute.name == "POSITION") {
        return Err(Refusal::Table { hint: "glTF requires a column `position` of type vec3" });
    }
    let is_text = options.encoding == Encoding::Text;
    Ok(Box::new(MeshEncoder { is_text, attributes, faces: options.faces, n_rows: 0 }))
}

impl Attribute {
    fn of(column: &ColumnSpec) -> Result<Self, Refusal> {
        let Some((Lane::F32, n_lanes @ 1..=4)) = column.ty.lanes() else {
            let hint = "glTF holds numbers and vectors of f32; convert it, or write to ply";
            return Err(Refusal::column(column, hint));
        };
        let known =
            ATTRIBUTES.iter().find(|(name, ty, _)| *name == column.name && *ty == column.ty);
        let name = match known {
            Some((.., attribute)) => (*attribute).to_owned(),
            None if ATTRIBUTES.iter().any(|(name, ..)| *name == column.name) => {
                let hint = "in glTF `position` and `normal` are vec3, `tangent` is vec4, \
                            `texcoord` vec2 and `color` color or vec3";
                return Err(Refusal::column(column, hint));
            }
            None if column.name.starts_with('_') => column.name.clone(),
            None => format!("_{}", column.name),
        };
        let (least, greatest) = ([f32::INFINITY; 4], [f32::NEG_INFINITY; 4]);
        let n_lanes = usize::from(n_lanes);
        Ok(Self { column: column.clone(), name, n_lanes, bytes: Vec::new(), least, greatest })
    }

    fn push(&mut self, column: &Column, n_before: usize) -> Result<(), Refusal> {
        let n = self.n_lanes;
        for (row, value) in column.iter().enumerate() {
            let mut numbers = [0.0_f32; 4];
            for (lane, number) in numbers[..n].iter_mut().enumerate() {
                let bits = value.lane(lane).expect("the value has its lanes");
                *number = f32::from_bits(bits as u32);
                if !number.is_finite() {
                    let row = n_before + row + 1;
                    let hint = format!("row {row} is not finite, which glTF does not allow");
                    return Err(Refusal::column(&self.column, &hint));
                }
            }
            match &*self.name {
                COLORS => numbers = numbers.map(|number| number.clamp(0.0, 1.0)),
                NORMALS => numbers = of_length_1(numbers),
                _ => {}
            }
            for (lane, number) in numbers[..n].iter().enumerate() {
                self.least[lane] = self.least[lane].min(*number);
                self.greatest[lane] = self.greatest[lane].max(*number);
                self.bytes.extend(number.to_le_bytes());
            }
        }
        Ok(())
    }
}

impl Encoder for MeshEncoder {
    fn rows(&mut self, block: &[Column], _: &mut dyn Write) -> Result<(), Refusal> {
        for (attribute, column) in self.attributes.iter_mut().zip(block) {
            attribute.push(column, self.n_rows)?;
        }
        self.n_rows += block.first().map_or(0, Column::len);
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.n_rows == 0 {
            return Err(io::Error::other("glTF cannot hold a mesh without vertices"));
        }
        let (mut json, bytes) = self.document();
        if self.is_text {
            let data = STANDARD.encode(&bytes);
            json["buffers"][0]["uri"] =
                format!("data:application/octet-stream;base64,{data}").into();
            serde_json::to_writer_pretty(&mut *out, &json)?;
            return out.write_all(b"\n");
        }
        let mut text = serde_json::to_vec(&json)?;
        text.resize(text.len().next_multiple_of(4), b' ');
        // Numbers of 4 bytes need no padding.
        let length = u32::try_from(12 + 8 + text.len() + 8 + bytes.len());
        let length = length.map_err(|_| io::Error::other("a glb file can be at most 4 GiB"))?;
        out.write_all(b"glTF")?;
        for number in [2, length, text.len() as u32] {
            out.write_all(&number.to_le_bytes())?;
        }
        out.write_all(b"JSON")?;
        out.write_all(&text)?;
        out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        out.write_all(b"BIN\0")?;
        out.write_all(&bytes)
    }
}

impl MeshEncoder {
    /// The description and the buffer.
    fn document(&mut self) -> (Json, Vec<u8>) {
        let mut bytes = Vec::new();
        let (mut views, mut accessors) = (Vec::new(), Vec::new());
        let mut attributes = serde_json::Map::new();
        for attribute in &mut self.attributes {
            let n = attribute.n_lanes;
            let shape = ["SCALAR", "VEC2", "VEC3", "VEC4"][n - 1];
            views.push(view(&bytes, attribute.bytes.len(), ARRAY_BUFFER));
            bytes.append(&mut attribute.bytes);
            attributes.insert(attribute.name.clone(), accessors.len().into());
            accessors.push(json!({
                "bufferView": views.len() - 1,
                "componentType": FLOAT,
                "count": self.n_rows,
                "type": shape,
                "min": attribute.least[..n],
                "max": attribute.greatest[..n],
            }));
        }
        let mut primitive = json!({ "attributes": attributes, "mode": POINTS });
        if let Some(faces) = self.faces.as_ref().filter(|faces| !faces.is_empty()) {
            let corners: Vec<u8> =
                faces.fans().flatten().flat_map(|row| (row as u32).to_le_bytes()).collect();
            views.push(view(&bytes, corners.len(), ELEMENT_ARRAY_BUFFER));
            primitive["mode"] = TRIANGLES.into();
            primitive["indices"] = accessors.len().into();
            accessors.push(json!({
                "bufferView": views.len() - 1,
                "componentType": UNSIGNED_INT,
                "count": corners.len() / 4,
                "type": "SCALAR",
            }));
            bytes.extend(corners);
        }
        let json = json!({
            "asset": { "version": "2.0", "generator": "Millstream" },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [primitive] }],
            "accessors": accessors,
            "bufferViews": views,
            "buffers": [{ "byteLength": bytes.len() }],
        });
        (json, bytes)
    }
}

/// The vector scaled to length 1, unless it has that length within rounding, or none.
fn of_length_1(vector: [f32; 4]) -> [f32; 4] {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if length == 0.0 || (length - 1.0).abs() < 1e-6 {
        return vector;
    }
    vector.map(|x| (f64::from(x) / length) as f32)
}

/// The next part of the buffer.
fn view(before: &[u8], length: usize, target: u32) -> Json {
    json!({ "buffer": 0, "byteOffset": before.len(), "byteLength": length, "target": target })
}
