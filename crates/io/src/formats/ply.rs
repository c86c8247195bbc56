//! Attributes of polygon files, ascii and binary in both byte orders.
//!
//! The properties of the element `vertex` (or of the first element, if there is none) make up the
//! table; a property of another element is requested as `face.vertex_indices`. By convention `x y
//! z` is the vec3 `position`, `nx ny nz` the vec3 `normal`, `red green blue` with or without
//! `alpha` the color `color`, and `s t`, `u v` or `texture_u texture_v` the vec2 `texcoord`; other
//! vectors of floats are `name_x name_y`, and so on. Integer colors are divided by the maximum,
//! without a transfer curve. A list property is a list.
//!
//! A file is written with one element `vertex` of scalars and vectors, binary little-endian or
//! ascii; booleans as `uchar` 0 and 1, color channels as `float`; and faces as the element `face`
//! with the list `vertex_indices`. Ascii numbers may be `nan`, `inf` and `-inf`.

use std::collections::HashSet;

use millstream_base::{Lane, Type};
use ply_rs_bw::parser::{Parser, Reader as HeaderReader};
use ply_rs_bw::ply::{DefaultElement, ElementDef, Header, PropertyType, ScalarType};

use crate::builder::{Builder, TableBuilder};
use crate::error::{IoError, Spot};
use crate::fields::{Custom, Fields, Naming, Target};
use crate::format::{Content, Definition, Reader, Writer};
use crate::meter::Meter;
use crate::options::Wanted;
use crate::scalar::Scalar;
use crate::stored::Stored;
use crate::table::{ColumnSpec, Table};

mod rows;
mod write;

use rows::{Cell, Rows};

pub(crate) const PLY: Definition = Definition {
    name: "ply",
    aliases: &[],
    streams: &[],
    form: "the header counts elements and lists their properties; one row per element follows \
           `end_header`",
    reader: Reader::Whole(read),
    writer: Writer::File(write::start),
};

const NAMING: Naming = Naming {
    separators: &['_'],
    automatic: '_',
    customs: &CUSTOMS,
    whole_vectors: false,
    main: Some("position"),
};

const CUSTOMS: [Custom; 9] = [
    Custom { name: "position", ty: Type::VEC3, fields: &["x", "y", "z"] },
    Custom { name: "normal", ty: Type::VEC3, fields: &["nx", "ny", "nz"] },
    Custom { name: "color", ty: Type::COLOR, fields: &["red", "green", "blue", "alpha"] },
    Custom { name: "color", ty: Type::COLOR, fields: &["red", "green", "blue"] },
    Custom { name: "color", ty: Type::VEC3, fields: &["red", "green", "blue"] },
    Custom { name: "texcoord", ty: Type::VEC2, fields: &["s", "t"] },
    Custom { name: "texcoord", ty: Type::VEC2, fields: &["u", "v"] },
    Custom { name: "texcoord", ty: Type::VEC2, fields: &["texture_u", "texture_v"] },
    Custom { name: "texcoord", ty: Type::VEC2, fields: &["texture_s", "texture_t"] },
];

/// A property with its element.
struct Field<'a> {
    element: usize,
    property: usize,
    data_type: &'a PropertyType,
}

/// Reads the wanted columns.
fn read(content: &Content<'_>, wanted: Wanted<'_>, meter: &Meter) -> Result<Table, IoError> {
    let file = content.file;
    let (header, n_lines, data) = read_header(file, content.bytes)?;
    let elements: Vec<&ElementDef> = header.elements.values().collect();
    for element in &elements {
        meter.check_rows(element.count, || Spot::file(file).column(&element.name))?;
    }
    let main = elements.iter().position(|element| element.name == "vertex").unwrap_or(0);
    let (names, known) = fields_of(&elements, main);
    let is_number = |i: usize| match known[i].data_type {
        PropertyType::Scalar(ScalarType::Float | ScalarType::Double) => true,
        PropertyType::Scalar(_) => ["red", "green", "blue", "alpha"].contains(&names[i].as_str()),
        PropertyType::List(..) => false,
    };
    let n_main = known.iter().filter(|field| field.element == main).count();
    let fields = Fields { file, names: &names, n_main, is_number: &is_number, naming: &NAMING };
    let mut columns = Vec::new();
    let mut sources = Vec::new();
    for target in fields.plan(wanted)? {
        let (column, source) = source_of(file, &target, &known)?;
        columns.push(column);
        sources.push(source);
    }
    let mut table = TableBuilder::new(file, &columns);
    let mut rows = Rows::new(file, header.encoding, n_lines, data);
    for (i, element) in elements.iter().enumerate() {
        let mine: Vec<usize> = (0..sources.len()).filter(|k| sources[*k].element == i).collect();
        for row in 0..element.count {
            let properties = rows.next(element, row)?;
            for k in &mine {
                let spot = || rows.spot(row).column(&columns[*k].name);
                sources[*k].push(&properties, &mut table.columns[*k], spot)?;
            }
            table.pushed(mine.len().max(1), meter, || rows.spot(row))?;
        }
    }
    rows.end()?;
    table.finish(meter)
}

/// All properties, those of the main element first and without its name.
fn fields_of<'a>(elements: &[&'a ElementDef], main: usize) -> (Vec<String>, Vec<Field<'a>>) {
    let mut names = Vec::new();
    let mut fields = Vec::new();
    let order = std::iter::once(main).chain((0..elements.len()).filter(|i| *i != main));
    for element in order.filter(|i| *i < elements.len()) {
        for (property, definition) in elements[element].properties.values().enumerate() {
            names.push(if element == main {
                definition.name.clone()
            } else {
                format!("{}.{}", elements[element].name, definition.name)
            });
            fields.push(Field { element, property, data_type: &definition.data_type });
        }
    }
    (names, fields)
}

/// The properties that a column consists of.
struct Source {
    element: usize,
    /// The properties and, for color channels, the number that means 1.
    properties: Vec<(usize, Option<f32>)>,
    lane: Lane,
}

fn source_of(
    file: &str,
    target: &Target,
    known: &[Field<'_>],
) -> Result<(ColumnSpec, Source), IoError> {
    let first = &known[target.fields[0]];
    let ty = target.ty.unwrap_or_else(|| type_of(first.data_type));
    let other_type = |found: &str| {
        let hint = "read numbers as scalars or vectors, and list properties as lists";
        Err(IoError::other_type(Spot::file(file).column(&target.name), ty, found, hint))
    };
    let is_list = |i: &usize| matches!(known[*i].data_type, PropertyType::List(..));
    let element = ty.element();
    let Some((lane, n_lanes)) = element.unwrap_or(ty).lanes() else {
        return other_type("numbers");
    };
    if element.is_some() && n_lanes > 1 {
        return other_type("lists of numbers");
    }
    if target.fields.iter().any(is_list) != element.is_some() {
        return other_type(if element.is_some() { "one number per row" } else { "lists" });
    }
    let is_color = ty == Type::COLOR || (ty == Type::VEC3 && target.name == "color");
    let property = |i: &usize| {
        let field = &known[*i];
        (field.property, full_channel(field.data_type).filter(|_| is_color))
    };
    let properties = target.fields.iter().map(property).collect();
    let source = Source { element: first.element, properties, lane };
    Ok((ColumnSpec::new(&target.name, ty), source))
}

impl Source {
    /// Appends the value of a row.
    fn push(
        &self,
        row: &[Cell],
        builder: &mut Builder,
        spot: impl Fn() -> Spot,
    ) -> Result<(), IoError> {
        let to_bits = |scalar: Scalar| {
            let bits = scalar.to_bits(self.lane);
            bits.map_err(|misfit| misfit.error(spot(), self.lane, scalar.to_string()))
        };
        for (property, full) in &self.properties {
            match (&row[*property], full) {
                (Cell::Number(Scalar::Int(x)), Some(full)) => {
                    builder.push_bits(to_bits(Scalar::F32(*x as f32 / full))?);
                }
                (Cell::Number(scalar), _) => builder.push_bits(to_bits(*scalar)?),
                (Cell::List(list), _) => {
                    for scalar in list {
                        builder.elements().push_bits(to_bits(*scalar)?);
                    }
                    builder.end_list();
                    return Ok(());
                }
            }
        }
        builder.push_alpha(self.properties.len());
        Ok(())
    }
}

/// How the numbers of a property are stored.
fn stored(scalar: &ScalarType) -> Stored {
    match scalar {
        ScalarType::Char => Stored::I8,
        ScalarType::UChar => Stored::U8,
        ScalarType::Short => Stored::I16,
        ScalarType::UShort => Stored::U16,
        ScalarType::Int => Stored::I32,
        ScalarType::UInt => Stored::U32,
        ScalarType::Float => Stored::F32,
        ScalarType::Double => Stored::F64,
    }
}

/// The column type if no type is requested.
fn type_of(data_type: &PropertyType) -> Type {
    let number = |scalar| Type::of_lane(stored(scalar).lane());
    match data_type {
        PropertyType::Scalar(scalar) => number(scalar),
        PropertyType::List(_, scalar) => number(scalar).list().expect("one level of lists"),
    }
}

/// The number that means 1 in a color channel.
fn full_channel(data_type: &PropertyType) -> Option<f32> {
    match data_type {
        PropertyType::Scalar(ScalarType::UChar) => Some(255.0),
        PropertyType::Scalar(ScalarType::UShort) => Some(65535.0),
        PropertyType::Scalar(_) | PropertyType::List(..) => None,
    }
}

/// The header, its number of lines, and the data after it.
fn read_header<'a>(file: &str, bytes: &'a [u8]) -> Result<(Header, u64, &'a [u8]), IoError> {
    check_header(file, bytes)?;
    let mut reader = HeaderReader::new(bytes);
    let header = Parser::<DefaultElement>::new().read_header(&mut reader).map_err(|error| {
        let spot = match error.line() {
            Some(line) => Spot::line(file, line as u64),
            None => Spot::file(file),
        };
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        PLY.syntax(spot, reason.split_once(": ").map_or(reason, |(_, reason)| reason))
    })?;
    let data = reader.into_inner();
    let text = &bytes[..bytes.len() - data.len()];
    let n_lines = text.split(|byte| *byte == b'\n').count() as u64 - 1;
    if let Some(element) = header.elements.values().find(|e| e.properties.is_empty() && e.count > 0)
    {
        let spot = Spot::file(file).column(&element.name);
        let what = "an element without properties";
        return Err(IoError::unsupported(spot, what, "remove it from the header"));
    }
    Ok((header, n_lines, data))
}

/// Refuses headers that the parser accepts: text that is not UTF-8, and duplicate names.
fn check_header(file: &str, bytes: &[u8]) -> Result<(), IoError> {
    let mut elements = HashSet::new();
    let mut properties = HashSet::new();
    for (i, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let spot = || Spot::line(file, i as u64 + 1);
        if i == 0 && text.trim_ascii() != b"ply" {
            return Err(PLY.syntax(spot(), "it does not start with the line `ply`"));
        }
        let text = std::str::from_utf8(text).map_err(|_| IoError::Encoding { spot: spot() })?;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let (name, is_new) = match words.first().copied() {
            Some("element") => {
                properties.clear();
                let name = words.get(1).copied().unwrap_or_default();
                (name, elements.insert(name))
            }
            Some("property") => {
                let name = words.last().copied().unwrap_or_default();
                (name, properties.insert(name))
            }
            Some("end_header") => return Ok(()),
            Some(_) | None => continue,
        };
        if !is_new {
            return Err(IoError::DuplicateColumn { spot: spot().column(name) });
        }
    }
    let reason = "it ends inside the header; the line `end_header` is missing";
    Err(PLY.syntax(Spot::file(file), reason))
}

#[cfg(test)]
mod tests;
