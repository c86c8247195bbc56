//! Attributes of polygon files, ascii and binary of both byte orders.
//!
//! The properties of the element `vertex` (of the first element, if there is none) make the table;
//! a property of another element is asked for as `face.vertex_indices`. By custom `x y z` is the
//! vec3 `position`, `nx ny nz` the vec3 `normal`, `red green blue` with or without `alpha` the
//! color `color`, and `s t`, `u v` or `texture_u texture_v` the vec2 `texcoord`; other vectors of
//! floats are `name_x name_y`, and so on. Colors in whole numbers are divided by the largest,
//! without a transfer curve. A list property is a list.
//!
//! Written is one element `vertex` of scalars and vectors, binary little-endian or ascii; truths
//! as `uchar` 0 and 1, channels of colors as `float`. Ascii numbers may be `nan`, `inf` and `-inf`.

use millstream_base::literal::form_of;
use millstream_base::{Lane, Type};
use ply_rs_bw::parser::{Parser, Reader};
use ply_rs_bw::ply::{
    DefaultElement, ElementDef, Encoding, Header, Property, PropertyAccess, PropertyAccessResult,
    PropertyType, ScalarType,
};

use crate::builder::{Budget, Builder};
use crate::error::{IoError, Spot, quoted};
use crate::format::Format;
use crate::options::Wanted;
use crate::plan::{Custom, Fields, Naming, Target};
use crate::scalar::{Misfit, Scalar};
use crate::table::Table;

mod rows;
mod write;

use rows::Rows;
pub(crate) use write::PlyEncoder;

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
pub(crate) fn read(
    file: &str,
    bytes: &[u8],
    wanted: Wanted<'_>,
    budget: &Budget,
) -> Result<Table, IoError> {
    let (header, n_lines, data) = read_header(file, bytes)?;
    let elements: Vec<&ElementDef> = header.elements.values().collect();
    for element in &elements {
        budget.check_rows(element.count, || Spot::file(file).column(&element.name))?;
    }
    let main = elements.iter().position(|element| element.name == "vertex").unwrap_or(0);
    let (names, known) = fields_of(&elements, main);
    let n_main = known.iter().filter(|field| field.element == main).count();
    let is_number = |i: usize| match known[i].data_type {
        PropertyType::Scalar(ScalarType::Float | ScalarType::Double) => true,
        PropertyType::Scalar(_) => ["red", "green", "blue", "alpha"].contains(&names[i].as_str()),
        PropertyType::List(..) => false,
    };
    let fields = Fields { file, names: &names, n_main, is_number: &is_number, naming: &NAMING };
    let targets = fields.plan(wanted)?;
    let mut columns = Vec::with_capacity(targets.len());
    for target in &targets {
        columns.push(ColumnOf::new(file, target, &known)?);
    }
    let mut rows = Rows::new(file, header.encoding, n_lines, data);
    for (i, element) in elements.iter().enumerate() {
        let mut mine: Vec<&mut ColumnOf> =
            columns.iter_mut().filter(|column| column.element == i).collect();
        for row in 0..element.count {
            let properties = rows.next(element, row)?;
            for column in &mut mine {
                column.push(&properties, || rows.spot(row))?;
            }
            if row % 4096 == 0 {
                let bytes = mine.iter().map(|column| column.builder.bytes()).sum();
                budget.go_on(|| rows.spot(row))?;
                budget.check_bytes(bytes, || rows.spot(row))?;
            }
        }
    }
    rows.end()?;
    let mut table = Table::new(file);
    for (target, column) in targets.iter().zip(columns) {
        table.insert(&target.name, column.builder.finish())?;
    }
    Ok(table)
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

/// A column in the making and the properties that it is made of.
struct ColumnOf {
    element: usize,
    properties: Vec<usize>,
    name: String,
    lane: Lane,
    n_lanes: usize,
    /// Whether whole numbers are channels, to be divided by the largest.
    is_color: bool,
    builder: Builder,
}

impl ColumnOf {
    fn new(file: &str, target: &Target, known: &[Field<'_>]) -> Result<Self, IoError> {
        let first = &known[target.fields[0]];
        let other_type = |ty: Type, found: &str| IoError::OtherType {
            spot: Spot::file(file).column(&target.name),
            ty,
            found: found.into(),
            hint: "numbers are read as scalars and vectors, list properties as lists".into(),
        };
        let is_list = |i: &usize| matches!(known[*i].data_type, PropertyType::List(..));
        let ty = match target.ty {
            Some(ty) => ty,
            None => type_of(first.data_type),
        };
        let innermost = ty.element().unwrap_or(ty);
        let Some((lane, n_lanes)) = innermost.lanes() else {
            return Err(other_type(ty, "numbers"));
        };
        if ty.element().is_some() && n_lanes > 1 {
            return Err(other_type(ty, "lists of numbers"));
        }
        if target.fields.iter().any(is_list) != ty.element().is_some() {
            let found = if ty.element().is_some() { "one number per row" } else { "lists" };
            return Err(other_type(ty, found));
        }
        let builder = Builder::new(ty).ok_or_else(|| other_type(ty, "numbers"))?;
        Ok(Self {
            element: first.element,
            properties: target.fields.iter().map(|i| known[*i].property).collect(),
            name: target.name.clone(),
            lane,
            n_lanes: usize::from(n_lanes),
            is_color: ty == Type::COLOR || (ty == Type::VEC3 && target.name == "color"),
            builder,
        })
    }

    fn push(&mut self, row: &[Property], spot: impl Fn() -> Spot) -> Result<(), IoError> {
        let lane = self.lane;
        let misfit = |scalar: Scalar, misfit: Misfit| {
            let (spot, ty) = (spot().column(&self.name), Type::of_lane(lane));
            let found = match scalar {
                Scalar::Bool(x) => x.to_string(),
                Scalar::Int(x) => x.to_string(),
                Scalar::Big(x) => x.to_string(),
                Scalar::F32(x) => format!("{x:?}"),
                Scalar::F64(x) => format!("{x:?}"),
            };
            match misfit {
                Misfit::Shape => IoError::NotOfType { spot, ty, found, form: form_of(ty) },
                Misfit::Range => IoError::OutOfRange { spot, ty, found },
            }
        };
        let to_bits = |scalar: Scalar| scalar.to_bits(lane).map_err(|why| misfit(scalar, why));
        for property in &self.properties {
            if let Some(scalar) = scalar_of(&row[*property], self.is_color) {
                self.builder.push_bits(to_bits(scalar)?);
                continue;
            }
            for scalar in list_of(&row[*property]) {
                self.builder.elements().push_bits(to_bits(scalar)?);
            }
            self.builder.end_list();
            return Ok(());
        }
        for _ in self.properties.len()..self.n_lanes {
            // Only the alpha of a color may be left out.
            self.builder.push_bits(u64::from(1.0_f32.to_bits()));
        }
        Ok(())
    }
}

/// The type of a column if nobody asks for one.
fn type_of(data_type: &PropertyType) -> Type {
    let lane = |scalar: &ScalarType| match scalar {
        ScalarType::Char
        | ScalarType::UChar
        | ScalarType::Short
        | ScalarType::UShort
        | ScalarType::Int => Type::I32,
        ScalarType::UInt => Type::I64,
        ScalarType::Float => Type::F32,
        ScalarType::Double => Type::F64,
    };
    match data_type {
        PropertyType::Scalar(scalar) => lane(scalar),
        PropertyType::List(_, scalar) => lane(scalar).list().expect("one level of lists"),
    }
}

fn scalar_of(property: &Property, is_color: bool) -> Option<Scalar> {
    Some(match property {
        Property::UChar(x) if is_color => Scalar::F32(f32::from(*x) / 255.0),
        Property::UShort(x) if is_color => Scalar::F32(f32::from(*x) / 65535.0),
        Property::Char(x) => Scalar::Int(i64::from(*x)),
        Property::UChar(x) => Scalar::Int(i64::from(*x)),
        Property::Short(x) => Scalar::Int(i64::from(*x)),
        Property::UShort(x) => Scalar::Int(i64::from(*x)),
        Property::Int(x) => Scalar::Int(i64::from(*x)),
        Property::UInt(x) => Scalar::Int(i64::from(*x)),
        Property::Float(x) => Scalar::F32(*x),
        Property::Double(x) => Scalar::F64(*x),
        Property::ListChar(_)
        | Property::ListUChar(_)
        | Property::ListShort(_)
        | Property::ListUShort(_)
        | Property::ListInt(_)
        | Property::ListUInt(_)
        | Property::ListFloat(_)
        | Property::ListDouble(_) => return None,
    })
}

fn list_of(property: &Property) -> Vec<Scalar> {
    let int = |x: i64| Scalar::Int(x);
    match property {
        Property::ListChar(list) => list.iter().map(|x| int(i64::from(*x))).collect(),
        Property::ListUChar(list) => list.iter().map(|x| int(i64::from(*x))).collect(),
        Property::ListShort(list) => list.iter().map(|x| int(i64::from(*x))).collect(),
        Property::ListUShort(list) => list.iter().map(|x| int(i64::from(*x))).collect(),
        Property::ListInt(list) => list.iter().map(|x| int(i64::from(*x))).collect(),
        Property::ListUInt(list) => list.iter().map(|x| int(i64::from(*x))).collect(),
        Property::ListFloat(list) => list.iter().map(|x| Scalar::F32(*x)).collect(),
        Property::ListDouble(list) => list.iter().map(|x| Scalar::F64(*x)).collect(),
        Property::Char(_)
        | Property::UChar(_)
        | Property::Short(_)
        | Property::UShort(_)
        | Property::Int(_)
        | Property::UInt(_)
        | Property::Float(_)
        | Property::Double(_) => Vec::new(),
    }
}

/// The header, its number of lines, and the data behind it.
fn read_header<'a>(file: &str, bytes: &'a [u8]) -> Result<(Header, u64, &'a [u8]), IoError> {
    check_header(file, bytes)?;
    let mut reader = Reader::new(bytes);
    let header = Parser::<DefaultElement>::new().read_header(&mut reader).map_err(|error| {
        let spot = match error.line() {
            Some(line) => Spot::line(file, line as u64),
            None => Spot::file(file),
        };
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let reason = reason.split_once(": ").map_or(reason, |(_, reason)| reason).to_owned();
        IoError::Syntax { spot, format: Format::Ply, reason }
    })?;
    let data = reader.into_inner();
    let text = &bytes[..bytes.len() - data.len()];
    let n_lines = text.split(|byte| *byte == b'\n').count() as u64 - 1;
    if let Some(element) = header.elements.values().find(|e| e.properties.is_empty() && e.count > 0)
    {
        return Err(IoError::Unsupported {
            spot: Spot::file(file).column(&element.name),
            what: "an element without properties".into(),
            hint: "remove it from the header".into(),
        });
    }
    Ok((header, n_lines, data))
}

/// What the parser of headers lets pass: text that is not UTF-8, and names that stand there twice.
fn check_header(file: &str, bytes: &[u8]) -> Result<(), IoError> {
    let mut elements = std::collections::HashSet::new();
    let mut properties = std::collections::HashSet::new();
    for (i, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let spot = || Spot::line(file, i as u64 + 1);
        if i == 0 && text.trim_ascii() != b"ply" {
            let reason = "it does not start with the line `ply`".into();
            return Err(IoError::Syntax { spot: spot(), format: Format::Ply, reason });
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
    let reason = "it ends inside the header; the line `end_header` is missing".into();
    Err(IoError::Syntax { spot: Spot::file(file), format: Format::Ply, reason })
}

#[cfg(test)]
mod tests;
