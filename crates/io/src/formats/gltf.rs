//! Vertices of glTF meshes: text with embedded or external buffers, and binary.
//!
//! The vertices of all primitives of all meshes follow each other in file order: `position` (vec3)
//! and, if all primitives have them, `normal` (vec3), `tangent` (vec4, where the fourth component
//! is the handedness), `texcoord` (vec2), `color` (color, linear), `weights` (vec4) and `joints`
//! (`list<i32>` of four); further sets are called `texcoord_1` and so on. Application-specific
//! attributes keep their name, `_TEMPERATURE`: integers are i32, other numbers f32, and vectors of
//! two to four are vec2 to vec4. `mesh` and `primitive` (i32, from 0) say where a vertex belongs.
//! `indices` (i32) has a row per corner of the primitives, counted over all vertices, and is read
//! on request. Transforms of nodes, skins and morph targets are not applied.
//!
//! Attributes may be integers of 8 or 16 bits (`KHR_mesh_quantization`). Normalized ones become 0
//! to 1 or -1 to 1, others keep their value; a node transform that scales them back to the intended
//! size is not applied either.
//!
//! Extensions that a document requires are ignored if they only describe surfaces, such as
//! `KHR_texture_transform`; an extension that changes vertices (compression) or is unknown is
//! refused.
//!
//! External buffers are read from the directory of the document and those below, never from
//! elsewhere. The written file contains one mesh, of triangles if faces are given and of points
//! otherwise; polygons become triangle fans. `position`, `normal`, `tangent`, `texcoord` and
//! `color` are standard attributes, other numbers and vectors of f32 become application-specific
//! ones, `_name`. Colors are clamped to 0 to 1 and normals are scaled to length 1, as the format demands;
//! other values are written unchanged. A `.gltf` file embeds its buffer.

use std::borrow::Cow;

use ::gltf::accessor::{DataType, Dimensions};
use ::gltf::{Accessor, Gltf, Primitive, Semantic};
use millstream_base::ragged::Ragged;
use millstream_base::{Column, Type};

use crate::builder::column_of_lanes;
use crate::error::{IoError, Spot};
use crate::fields::mesh_table;
use crate::format::{BINARY_FORM, Content, Definition, Reader, Writer};
use crate::meter::Meter;
use crate::options::Wanted;
use crate::table::Table;

mod accessor;
mod buffers;
mod extensions;
mod write;

use accessor::Accessors;

pub(crate) const GLTF: Definition = Definition {
    name: "gltf",
    aliases: &["glb"],
    streams: &[],
    form: BINARY_FORM,
    reader: Reader::Whole(read),
    writer: Writer::File(|options, columns, _| write::start(options, columns)),
};

const INDICES: &str = "indices";

/// Reads the wanted columns.
fn read(content: &Content<'_>, wanted: Wanted<'_>, meter: &Meter) -> Result<Table, IoError> {
    let Content { file, bytes, .. } = *content;
    meter.check_bytes(bytes.len(), || Spot::file(file))?;
    let Gltf { document, blob } = extensions::parse(file, bytes)?;
    let buffers = buffers::read(content, &document, blob, meter)?;
    let primitives: Vec<Placed<'_>> = document
        .meshes()
        .flat_map(|mesh| {
            let index = mesh.index();
            mesh.primitives().map(move |primitive| Placed { mesh: index, primitive })
        })
        .collect();
    let n_bytes = buffers.iter().map(Vec::len).fold(bytes.len(), usize::saturating_add);
    let accessors = Accessors { file, buffers, n_bytes, meter };
    for positions in primitives.iter().filter_map(Placed::positions) {
        accessors.check("position", &positions)?;
    }
    let mesh = Mesh { file, primitives, accessors, meter };
    let names = mesh.names();
    let n_main = names.iter().position(|name| name == INDICES).unwrap_or(names.len());
    mesh_table(file, &names, n_main, wanted, |field| mesh.column(&names[field]))
}

fn syntax(file: &str, reason: impl Into<String>) -> IoError {
    GLTF.syntax(Spot::file(file), reason)
}

/// A primitive, with the mesh that it belongs to.
struct Placed<'a> {
    mesh: usize,
    primitive: Primitive<'a>,
}

impl<'a> Placed<'a> {
    fn positions(&self) -> Option<Accessor<'a>> {
        self.primitive.get(&Semantic::Positions)
    }

    fn n_vertices(&self) -> usize {
        self.positions().map_or(0, |positions| positions.count())
    }
}

struct Mesh<'a> {
    file: &'a str,
    primitives: Vec<Placed<'a>>,
    accessors: Accessors<'a>,
    meter: &'a Meter,
}

/// The column name for an attribute.
fn name_of(semantic: &Semantic) -> Cow<'static, str> {
    let numbered = |name: &'static str, set: u32| match set {
        0 => Cow::Borrowed(name),
        set => Cow::Owned(format!("{name}_{set}")),
    };
    match semantic {
        Semantic::Positions => Cow::Borrowed("position"),
        Semantic::Normals => Cow::Borrowed("normal"),
        Semantic::Tangents => Cow::Borrowed("tangent"),
        Semantic::TexCoords(set) => numbered("texcoord", *set),
        Semantic::Colors(set) => numbered("color", *set),
        Semantic::Joints(set) => numbered("joints", *set),
        Semantic::Weights(set) => numbered("weights", *set),
        Semantic::Extras(name) => Cow::Owned(format!("_{name}")),
    }
}

impl Mesh<'_> {
    /// The columns of the file: those of vertices, then that of corners.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(first) = self.primitives.first() {
            let mut semantics: Vec<Semantic> =
                first.primitive.attributes().map(|(semantic, _)| semantic).collect();
            semantics.sort_by_cached_key(|semantic| (order(semantic), name_of(semantic)));
            for semantic in semantics {
                let all = self.primitives.iter().all(|p| p.primitive.get(&semantic).is_some());
                if all {
                    names.push(name_of(&semantic).into_owned());
                }
            }
            names.extend(["mesh", "primitive", INDICES].map(str::to_owned));
        }
        names
    }

    fn column(&self, name: &str) -> Result<Column, IoError> {
        let n_vertices =
            self.primitives.iter().fold(0_usize, |n, p| n.saturating_add(p.n_vertices()));
        self.meter.check_rows(n_vertices, || Spot::file(self.file))?;
        match name {
            "mesh" => Ok(self.per_vertex(|placed| placed.mesh)),
            "primitive" => Ok(self.per_vertex(|placed| placed.primitive.index())),
            INDICES => self.indices(),
            _ => self.attribute(name),
        }
    }

    fn per_vertex(&self, of: impl Fn(&Placed<'_>) -> usize) -> Column {
        let mut values: Vec<i32> = Vec::new();
        for placed in &self.primitives {
            let n = values.len() + placed.n_vertices();
            values.resize(n, of(placed) as i32);
        }
        Column::from_vec(values)
    }

    fn attribute(&self, name: &str) -> Result<Column, IoError> {
        let spot = || Spot::file(self.file).column(name);
        let mut floats: Vec<f32> = Vec::new();
        let mut whole: Vec<i32> = Vec::new();
        let mut kind = None;
        for placed in &self.primitives {
            let semantic = placed.primitive.attributes().map(|(semantic, _)| semantic);
            let semantic = semantic.into_iter().find(|semantic| name_of(semantic) == name);
            let accessor = semantic.as_ref().and_then(|semantic| placed.primitive.get(semantic));
            let (Some(semantic), Some(accessor)) = (semantic, accessor) else {
                return Err(syntax(self.file, format!("a primitive has no `{name}`")));
            };
            if accessor.count() != placed.n_vertices() {
                return Err(IoError::Length {
                    spot: spot(),
                    expected: format!("{} vertices", placed.n_vertices()),
                    found: accessor.count().to_string(),
                });
            }
            check_numbers(&spot, &semantic, &accessor)?;
            let this = Attribute::of(&semantic, &accessor);
            // All primitives have attributes of the same kinds as the first.
            let Some(this) = this.filter(|this| kind.is_none_or(|kind| kind == *this)) else {
                let what = format!("{} numbers per vertex", accessor.dimensions().multiplicity());
                return Err(IoError::unsupported(spot(), what, "export the mesh again"));
            };
            kind = Some(this);
            match this {
                Attribute::Joints | Attribute::Whole => {
                    self.accessors.integers(name, &accessor, &mut whole)?;
                }
                Attribute::Rgb => {
                    let mut rgb = Vec::new();
                    self.accessors.floats(name, &accessor, &mut rgb)?;
                    floats.extend(rgb.chunks_exact(3).flat_map(|c| [c[0], c[1], c[2], 1.0]));
                }
                Attribute::Floats(_) => self.accessors.floats(name, &accessor, &mut floats)?,
            }
        }
        Ok(match kind {
            Some(Attribute::Joints) => {
                let n_lists = whole.len() / 4;
                let lists = Ragged::even(n_lists, Column::from_vec(whole));
                Column::from_ragged(lists.expect("each vertex has four joints"))
            }
            Some(Attribute::Whole) => Column::from_vec(whole),
            Some(Attribute::Rgb) => column_of_lanes(Type::COLOR, floats),
            Some(Attribute::Floats(ty)) => column_of_lanes(ty, floats),
            None => column_of_lanes(Type::VEC3, floats),
        })
    }

    fn indices(&self) -> Result<Column, IoError> {
        let mut all: Vec<i32> = Vec::new();
        let mut first = 0_usize;
        for placed in &self.primitives {
            let n_vertices = placed.n_vertices();
            let start = all.len();
            match placed.primitive.indices() {
                Some(indices) => {
                    if indices.dimensions() != Dimensions::Scalar
                        || !matches!(
                            indices.data_type(),
                            DataType::U8 | DataType::U16 | DataType::U32
                        )
                    {
                        return Err(syntax(self.file, "its indices are not integers"));
                    }
                    self.accessors.integers(INDICES, &indices, &mut all)?;
                }
                None => all.extend(0..n_vertices as i32),
            }
            for (i, index) in all[start..].iter_mut().enumerate() {
                if usize::try_from(*index).is_ok_and(|index| index < n_vertices) {
                    *index += first as i32;
                    continue;
                }
                let row = (start + i) as u64 + 1;
                return Err(IoError::OutOfRange {
                    spot: Spot::row(self.file, row).column(INDICES),
                    ty: Type::I32,
                    found: format!("vertex {index} of {n_vertices}"),
                });
            }
            self.meter.check_rows(all.len(), || Spot::file(self.file).column(INDICES))?;
            first += n_vertices;
        }
        Ok(Column::from_vec(all))
    }
}

/// Refuses component types that an attribute may not have, even with `KHR_mesh_quantization`.
fn check_numbers(
    spot: &dyn Fn() -> Spot,
    semantic: &Semantic,
    accessor: &Accessor<'_>,
) -> Result<(), IoError> {
    let kind = accessor.data_type();
    let is_small = matches!(kind, DataType::I8 | DataType::U8 | DataType::I16 | DataType::U16);
    let is_signed = matches!(kind, DataType::I8 | DataType::I16);
    let (fits, needed) = match semantic {
        Semantic::Positions | Semantic::TexCoords(_) => {
            (is_small, "floats or integers of 8 or 16 bits")
        }
        Semantic::Normals | Semantic::Tangents => {
            let fits = is_signed && accessor.normalized();
            (fits, "floats or normalized signed integers of 8 or 16 bits")
        }
        Semantic::Colors(_) | Semantic::Joints(_) | Semantic::Weights(_) | Semantic::Extras(_) => {
            return Ok(());
        }
    };
    if kind == DataType::F32 || fits {
        return Ok(());
    }
    let normalized = if accessor.normalized() { "normalized " } else { "" };
    let what = format!("{normalized}numbers of type {kind:?}");
    Err(IoError::unsupported(spot(), what, format!("export the mesh again with {needed}")))
}

/// The order of columns, independent of the order in the file.
fn order(semantic: &Semantic) -> (u32, u32) {
    match semantic {
        Semantic::Positions => (0, 0),
        Semantic::Normals => (1, 0),
        Semantic::Tangents => (2, 0),
        Semantic::TexCoords(set) => (3, *set),
        Semantic::Colors(set) => (4, *set),
        Semantic::Joints(set) => (5, *set),
        Semantic::Weights(set) => (6, *set),
        Semantic::Extras(_) => (7, 0),
    }
}

/// The meaning of the numbers of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribute {
    Floats(Type),
    /// A color without alpha.
    Rgb,
    /// Four joint numbers.
    Joints,
    /// One application-specific integer.
    Whole,
}

impl Attribute {
    /// `None` if the attribute cannot have such components.
    fn of(semantic: &Semantic, accessor: &Accessor<'_>) -> Option<Self> {
        let vector = match accessor.dimensions() {
            Dimensions::Scalar => Type::F32,
            Dimensions::Vec2 => Type::VEC2,
            Dimensions::Vec3 => Type::VEC3,
            Dimensions::Vec4 => Type::VEC4,
            Dimensions::Mat2 | Dimensions::Mat3 | Dimensions::Mat4 => return None,
        };
        let is_whole = accessor.data_type() != DataType::F32 && !accessor.normalized();
        let (fits, kind) = match semantic {
            Semantic::Positions | Semantic::Normals => {
                (vector == Type::VEC3, Self::Floats(Type::VEC3))
            }
            Semantic::TexCoords(_) => (vector == Type::VEC2, Self::Floats(Type::VEC2)),
            Semantic::Colors(_) if vector == Type::VEC3 => (true, Self::Rgb),
            Semantic::Colors(_) => (vector == Type::VEC4, Self::Floats(Type::COLOR)),
            Semantic::Joints(_) => (vector == Type::VEC4, Self::Joints),
            Semantic::Tangents | Semantic::Weights(_) => {
                (vector == Type::VEC4, Self::Floats(Type::VEC4))
            }
            Semantic::Extras(_) if vector == Type::F32 && is_whole => (true, Self::Whole),
            Semantic::Extras(_) => (true, Self::Floats(vector)),
        };
        fits.then_some(kind)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod write_tests;
