//! Vertices and faces of a Wavefront mesh.
//!
//! `position` (vec3) and `color` (color, from `v x y z r g b`) have a row per `v`, `normal` (vec3)
//! one per `vn`, `texcoord` (vec2) one per `vt`, and `face`, `face_texcoord` and `face_normal`
//! (`list<i32>`) one per `f`, counted from 0; the latter two have empty lists for faces without
//! such indices. If no columns are requested, the table has positions, colors if all vertices have
//! one, and normals and texture coordinates if the faces use the same indices for them. Everything
//! else in the file is skipped. Vertices are written as `position` and optionally `normal`,
//! `texcoord` and opaque `color` (color or vec3), and faces with the normals and texture
//! coordinates of their vertices.
//!
//! Vertices keep the order of the file, including those without a face. A fourth number of a vertex
//! is its weight in rational curves and surfaces, which are skipped; it is not a divisor, so the
//! position is that of the polygon mesh.
//!
//! The reader is our own: among existing crates, `tobj` leaves out vertices that no face uses,
//! `obj-rs` refuses vertices with a color, and neither reports the line of an error.

use std::io::Write;
use std::sync::Arc;

use millstream_base::{Color, Column, Lane, Type, Vec2, Vec3};

use crate::builder::Builder;
use crate::error::{IoError, Spot, quoted};
use crate::faces::Faces;
use crate::fields::mesh_table;
use crate::format::{Content, Definition, Encoder, Reader, Refusal, Writer};
use crate::meter::Meter;
use crate::options::Wanted;
use crate::scalar::{print_lane, read_lane};
use crate::table::{ColumnSpec, Table};

pub(crate) const OBJ: Definition = Definition {
    name: "obj",
    aliases: &[],
    streams: &[],
    form: "the lines are `v x y z`, `vn x y z`, `vt u v` and `f 1/1/1 2/2/2 3/3/3`, indices from 1",
    reader: Reader::Whole(read),
    writer: Writer::Stream(|options, columns, _| start(options.faces, columns)),
};

/// Reads the wanted columns.
fn read(content: &Content<'_>, wanted: Wanted<'_>, meter: &Meter) -> Result<Table, IoError> {
    let mesh = Mesh::parse(content.file, content.bytes, meter)?;
    let n_main = mesh.vertex_columns().len();
    let (names, columns): (Vec<String>, Vec<Column>) = mesh.into_columns().into_iter().unzip();
    mesh_table(content.file, &names, n_main, wanted, |field| Ok(columns[field].clone()))
}

/// The columns of a mesh under construction.
struct Mesh<'a> {
    file: &'a str,
    meter: &'a Meter,
    position: Builder,
    color: Builder,
    normal: Builder,
    texcoord: Builder,
    faces: [Builder; 3],
    /// The highest index used for positions, texture coordinates and normals, with its line.
    highest: [(usize, u64); 3],
    /// Whether each corner with a texture coordinate or normal uses the index of its position.
    is_shared: [bool; 3],
}

/// The elements that a corner of a face refers to, in the order `position/texcoord/normal`.
const CORNER: [&str; 3] = ["v", "vt", "vn"];

/// The statements that are skipped because they do not concern vertices and polygons.
const SKIPPED: &str = "bevel bmat c_interp call con csh cstype ctech curv curv2 d_interp deg end g \
    hole l lod maplib mg mtllib o p parm s scrv shadow_obj sp stech step surf trace_obj trim \
    usemap usemtl vp";

impl<'a> Mesh<'a> {
    fn parse(file: &'a str, bytes: &[u8], meter: &'a Meter) -> Result<Self, IoError> {
        let builder = |ty| Builder::new(ty).expect("built-in types can be built");
        let indices = || builder(Type::I32.list().expect("one level of lists"));
        let mut mesh = Self {
            file,
            meter,
            position: builder(Type::VEC3),
            color: builder(Type::COLOR),
            normal: builder(Type::VEC3),
            texcoord: builder(Type::VEC2),
            faces: [indices(), indices(), indices()],
            highest: [(0, 0); 3],
            is_shared: [true; 3],
        };
        let mut continued = String::new();
        for (i, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = i as u64 + 1;
            meter.work(16 + text.len(), || Spot::line(file, line))?;
            let text = std::str::from_utf8(text)
                .map_err(|_| IoError::Encoding { spot: Spot::line(file, line) })?;
            let text = text.split_once('#').map_or(text, |(before, _)| before).trim();
            if let Some(start) = text.strip_suffix('\\') {
                continued.push_str(start);
                continued.push(' ');
            } else if continued.is_empty() {
                mesh.line(text, line)?;
            } else {
                continued.push_str(text);
                mesh.line(&continued, line)?;
                continued.clear();
            }
        }
        mesh.line(&continued, bytes.split(|byte| *byte == b'\n').count() as u64)?;
        mesh.check_indices()?;
        Ok(mesh)
    }

    fn line(&mut self, text: &str, line: u64) -> Result<(), IoError> {
        let mut words = text.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let numbers = self.numbers::<7>(words, line, "v")?;
                let (xyz, color) = match numbers.as_slice() {
                    [x, y, z] | [x, y, z, _] => ([x, y, z], None),
                    [x, y, z, r, g, b] | [x, y, z, _, r, g, b] => ([x, y, z], Some([r, g, b])),
                    _ => {
                        let reason = "a vertex has 3 numbers, 4 with a weight, 6 with a color, or 7 with both";
                        return Err(self.syntax(line, reason));
                    }
                };
                for bits in xyz {
                    self.position.push_bits(*bits);
                }
                if let Some(rgb) = color {
                    for bits in rgb {
                        self.color.push_bits(*bits);
                    }
                    self.color.push_alpha(3);
                }
            }
            Some("vn") => match self.numbers::<3>(words, line, "vn")?.as_slice() {
                xyz @ [_, _, _] => xyz.iter().for_each(|bits| self.normal.push_bits(*bits)),
                _ => return Err(self.syntax(line, "a normal has 3 numbers")),
            },
            Some("vt") => match self.numbers::<3>(words, line, "vt")?.as_slice() {
                [u, v] | [u, v, _] => {
                    self.texcoord.push_bits(*u);
                    self.texcoord.push_bits(*v);
                }
                [u] => {
                    self.texcoord.push_bits(*u);
                    self.texcoord.push_bits(u64::from(0.0_f32.to_bits()));
                }
                _ => return Err(self.syntax(line, "a texture coordinate has 1 to 3 numbers")),
            },
            Some("f") => self.face(words, line)?,
            Some(word) if !SKIPPED.split(' ').any(|skipped| skipped == word) => {
                return Err(self.syntax(line, &format!("{} is not a statement", quoted(word))));
            }
            Some(_) | None => return Ok(()),
        }
        if line.is_multiple_of(4096) { self.check_limits(line) } else { Ok(()) }
    }

    fn check_limits(&self, line: u64) -> Result<(), IoError> {
        let columns = [&self.position, &self.color, &self.normal, &self.texcoord];
        let columns = columns.into_iter().chain(&self.faces);
        let spot = || Spot::line(self.file, line);
        let most = columns.clone().map(Builder::n_cells).max().unwrap_or(0);
        self.meter.check_rows(most, spot)?;
        self.meter.check_bytes(columns.map(Builder::bytes).sum(), spot)
    }

    fn syntax(&self, line: u64, reason: &str) -> IoError {
        OBJ.syntax(Spot::line(self.file, line), reason)
    }

    /// The bits of the numbers on a line; up to one more than `MAX_NUMBERS` are read.
    fn numbers<'t, const MAX_NUMBERS: usize>(
        &self,
        words: impl Iterator<Item = &'t str>,
        line: u64,
        column: &str,
    ) -> Result<smallvec::SmallVec<[u64; 8]>, IoError> {
        let spot = || Spot::line(self.file, line).column(column);
        let number = |word: &str| read_lane(word, Lane::F32, spot);
        words.take(MAX_NUMBERS + 1).map(number).collect()
    }

    fn face<'t>(
        &mut self,
        corners: impl Iterator<Item = &'t str>,
        line: u64,
    ) -> Result<(), IoError> {
        let counts = self.counts();
        let mut n_corners = 0;
        for corner in corners {
            n_corners += 1;
            let mut of_position = None;
            for (k, part) in corner.splitn(3, '/').enumerate() {
                if part.is_empty() && k > 0 {
                    continue;
                }
                let index = index_of(part, counts[k]).ok_or_else(|| {
                    let what = CORNER[k];
                    self.syntax(line, &format!("{} is not an index of a `{what}`", quoted(part)))
                })?;
                if index as usize >= self.highest[k].0 {
                    self.highest[k] = (index as usize + 1, line);
                }
                self.is_shared[k] &= *of_position.get_or_insert(index) == index;
                self.faces[k].elements().push_bits(u64::from(index as u32));
            }
        }
        if n_corners < 3 {
            return Err(self.syntax(line, "a face has at least 3 corners"));
        }
        self.faces.iter_mut().for_each(Builder::end_list);
        Ok(())
    }

    fn counts(&self) -> [usize; 3] {
        [self.position.n_cells(), self.texcoord.n_cells(), self.normal.n_cells()]
    }

    fn check_indices(&self) -> Result<(), IoError> {
        for (k, ((highest, line), count)) in self.highest.iter().zip(self.counts()).enumerate() {
            if *highest > count {
                let what = CORNER[k];
                let reason = format!(
                    "a face uses `{what}` number {highest}, but the last is number {count}"
                );
                return Err(self.syntax(*line, &reason));
            }
        }
        self.check_limits(0)
    }

    /// The columns that make up the table of vertices.
    fn vertex_columns(&self) -> Vec<&'static str> {
        let [n, n_texcoords, n_normals] = self.counts();
        let mut names = vec!["position"];
        if n > 0 && self.color.n_cells() == n {
            names.push("color");
        }
        if n > 0 && n_normals == n && self.is_shared[2] {
            names.push("normal");
        }
        if n > 0 && n_texcoords == n && self.is_shared[1] {
            names.push("texcoord");
        }
        names
    }

    /// The columns of the file, those of vertices first.
    fn into_columns(self) -> Vec<(String, Column)> {
        let main = self.vertex_columns();
        let n_vertices = self.position.n_cells();
        let [face, face_texcoord, face_normal] = self.faces;
        let all = [
            ("position", self.position),
            ("color", self.color),
            ("normal", self.normal),
            ("texcoord", self.texcoord),
            ("face", face),
            ("face_texcoord", face_texcoord),
            ("face_normal", face_normal),
        ];
        let is_main = |name: &str| main.contains(&name);
        let (first, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| is_main(name));
        let rest = rest.into_iter().filter(|(name, builder)| {
            builder.n_cells() > 0 && (*name != "color" || builder.n_cells() == n_vertices)
        });
        first.into_iter().chain(rest).map(|(name, b)| (name.to_owned(), b.finish())).collect()
    }
}

/// The index, from 0, that a face refers to: positive ones count from 1, negative ones backwards
/// from the last element so far.
fn index_of(text: &str, count: usize) -> Option<i32> {
    let index: i64 = text.parse().ok()?;
    let index = if index < 0 { i64::try_from(count).ok()? + index } else { index - 1 };
    i32::try_from(index).ok().filter(|index| *index >= 0)
}

const WRITTEN: [(&str, Type); 5] = [
    ("position", Type::VEC3),
    ("normal", Type::VEC3),
    ("texcoord", Type::VEC2),
    ("color", Type::COLOR),
    ("color", Type::VEC3),
];

/// Writes vertices.
struct VertexEncoder {
    names: Vec<String>,
    faces: Option<Arc<Faces>>,
    /// The number of rows written.
    n_rows: usize,
}

fn start(faces: Option<Arc<Faces>>, columns: &[ColumnSpec]) -> Result<Box<dyn Encoder>, Refusal> {
    for column in columns {
        if !WRITTEN.contains(&(column.name.as_str(), column.ty)) {
            let hint = "obj holds `position` (vec3), `normal` (vec3), `texcoord` (vec2) and \
                        `color` (color); write others to ply";
            return Err(Refusal::column(column, hint));
        }
    }
    if !columns.iter().any(|column| column.name == "position") {
        return Err(Refusal::Table { hint: "obj requires a column `position` of type vec3" });
    }
    let names = columns.iter().map(|column| column.name.clone()).collect();
    Ok(Box::new(VertexEncoder { names, faces, n_rows: 0 }))
}

impl Encoder for VertexEncoder {
    fn rows(&mut self, block: &[Column], out: &mut dyn Write) -> Result<(), Refusal> {
        let named = |name| self.names.iter().position(|n| n == name).map(|i| &block[i]);
        let colors = named("color").and_then(Column::as_slice::<Color>);
        if let Some(at) = colors.and_then(|colors| colors.iter().position(|c| c.0[3] != 1.0)) {
            let row = self.n_rows + at + 1;
            let hint = format!("row {row} is not opaque; write alpha to ply");
            return Err(Refusal::Column { name: "color".into(), ty: Type::COLOR, hint });
        }
        let rgb = named("color").and_then(Column::as_slice::<Vec3>);
        let vertices = Vertices {
            positions: named("position").and_then(Column::as_slice).unwrap_or(&[]),
            colors: colors.map(Colors::Opaque).or_else(|| rgb.map(Colors::Plain)),
            normals: named("normal").and_then(Column::as_slice),
            texcoords: named("texcoord").and_then(Column::as_slice),
        };
        self.n_rows += block.first().map_or(0, Column::len);
        vertices.write(out).map_err(Refusal::Io)
    }

    fn end(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let Some(faces) = &self.faces else { return Ok(()) };
        let has = |name: &str| self.names.iter().any(|known| known == name);
        let (has_texcoord, has_normal) = (has("texcoord"), has("normal"));
        let mut text = String::new();
        for face in faces.iter() {
            text.clear();
            text.push('f');
            for corner in face {
                // Positions, texture coordinates and normals have the same numbers, from 1.
                let n = i64::from(*corner) + 1;
                text += &match (has_texcoord, has_normal) {
                    (false, false) => format!(" {n}"),
                    (true, false) => format!(" {n}/{n}"),
                    (false, true) => format!(" {n}//{n}"),
                    (true, true) => format!(" {n}/{n}/{n}"),
                };
            }
            text.push('\n');
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

/// Colors in one of their types.
enum Colors<'a> {
    Opaque(&'a [Color]),
    Plain(&'a [Vec3]),
}

struct Vertices<'a> {
    positions: &'a [Vec3],
    colors: Option<Colors<'a>>,
    normals: Option<&'a [Vec3]>,
    texcoords: Option<&'a [Vec2]>,
}

impl Vertices<'_> {
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut text = String::new();
        for (i, position) in self.positions.iter().enumerate() {
            text.clear();
            text.push('v');
            append(&mut text, &position.0);
            match &self.colors {
                Some(Colors::Opaque(colors)) => append(&mut text, &colors[i].0[..3]),
                Some(Colors::Plain(colors)) => append(&mut text, &colors[i].0),
                None => {}
            }
            text.push('\n');
            if let Some(texcoords) = self.texcoords {
                text.push_str("vt");
                append(&mut text, &texcoords[i].0);
                text.push('\n');
            }
            if let Some(normals) = self.normals {
                text.push_str("vn");
                append(&mut text, &normals[i].0);
                text.push('\n');
            }
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

fn append(text: &mut String, lanes: &[f32]) {
    for lane in lanes {
        text.push(' ');
        print_lane(u64::from(lane.to_bits()), Lane::F32, text);
    }
}

#[cfg(test)]
mod tests;
