//! JSON (an array of objects, an object of arrays, or an array of values) and JSON Lines.
//!
//! An array of objects has a row per object and a column per key that occurs in any of them; an
//! object of arrays has a column per key; the elements of any other array form the column `value`.
//! Values are written as in documents, so a vector is an array of numbers, and numbers missing from
//! JSON are the strings `"nan"`, `"inf"` and `"-inf"`. A missing key counts as `null`, and `null`
//! is the empty string in a column of strings, NaN in a column of floats (or of numbers or booleans
//! whose type is not requested), and an error in any other; the same applies to the components of
//! vectors and the items of lists. A table is written as an array of objects, one per line, or of
//! values if the only column is called `value`. A JSON Lines file has an object or value on each
//! line.

use std::io::{self, Write};

use millstream_base::literal::{LiteralError, from_json};
use millstream_base::types::Kind;
use millstream_base::{Column, Type, Value};
use serde_json::Value as Json;

use crate::builder::TableBuilder;
use crate::error::{IoError, Spot};
use crate::fields::{Fields, Naming, ONLY, Target};
use crate::format::{Content, Definition, Encoder, OPAQUE, Reader, Refusal, Writer};
use crate::guess::{Mixed, Seen};
use crate::meter::Meter;
use crate::options::Wanted;
use crate::scalar::missing_lane;
use crate::table::{ColumnSpec, Table};

mod lines;
mod value;
mod walk;

use walk::{Shape, Walk, shape_of};

pub(crate) const JSON: Definition = Definition {
    name: "json",
    aliases: &[],
    streams: &[],
    form: "a table is written [{\"x\": 1}, {\"x\": 2}], {\"x\": [1, 2]} or, for one column, [1, \
           2]; a file with a row on each line is called .jsonl",
    reader: Reader::Whole(read),
    writer: Writer::Stream(|_, columns, out| start(ARRAY, columns, out)),
};

pub(crate) const JSON_LINES: Definition = Definition {
    name: "jsonl",
    aliases: &["ndjson"],
    streams: &[],
    form: "every line is a row, written {\"x\": 1} or, for one column, 1",
    reader: Reader::Blocks(lines::open),
    writer: Writer::Stream(|_, columns, out| start(LINES, columns, out)),
};

/// Reads the wanted columns. The text is read once for its shape, once for types that are not
/// requested, and once for the values, so that it never exists as a tree in memory.
fn read(content: &Content<'_>, wanted: Wanted<'_>, meter: &Meter) -> Result<Table, IoError> {
    let Content { file, bytes, .. } = *content;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| IoError::Encoding {
        spot: Spot::line_of_byte(file, bytes, error.valid_up_to()),
    })?;
    let shape = shape_of(&JSON, file, text, 1, meter)?;
    if let Shape::Nothing = shape {
        return TableBuilder::new(file, &empty(file, wanted)?).finish(meter);
    }
    let layout = Layout::new(&JSON, file, shape, wanted)?;
    let walk = Walk { layout: &layout, text, begins: (1, 1), meter };
    let mut seen = layout.unseen();
    if layout.has_open_types() {
        layout.see(&walk, &mut seen)?;
    }
    table_of(&walk, &layout.columns(&seen)?)
}

/// The columns of a file without rows: those that are wanted.
fn empty(file: &str, wanted: Wanted<'_>) -> Result<Vec<ColumnSpec>, IoError> {
    let columns = wanted.named().unwrap_or_default();
    columns.iter().map(|(name, ty)| column(file, name, ty.unwrap_or(Type::STRING))).collect()
}

/// A column of this type, if JSON can hold it.
fn column(file: &str, name: &str, ty: Type) -> Result<ColumnSpec, IoError> {
    if innermost(ty).kind() == Kind::Opaque {
        let spot = Spot::file(file).column(name);
        let hint = "only types with a text form can be read";
        return Err(IoError::other_type(spot, ty, "JSON values", hint));
    }
    Ok(ColumnSpec::new(name, ty))
}

/// The names in a file, and the columns to make from them.
struct Layout {
    format: &'static Definition,
    file: String,
    shape: Shape,
    names: Vec<String>,
    targets: Vec<Target>,
}

impl Layout {
    fn new(
        format: &'static Definition,
        file: &str,
        shape: Shape,
        wanted: Wanted<'_>,
    ) -> Result<Self, IoError> {
        let names = shape.names();
        let targets = Fields::new(file, &names, &Naming::WHOLE).plan(wanted)?;
        Ok(Self { format, file: file.to_owned(), shape, names, targets })
    }

    /// Whether types have to be inferred.
    fn has_open_types(&self) -> bool {
        self.targets.iter().any(|target| target.ty.is_none())
    }

    fn unseen(&self) -> Vec<Seen> {
        vec![Seen::default(); self.targets.len()]
    }

    /// Adds the values of a text to those seen in columns of open type.
    fn see(&self, walk: &Walk<'_>, seen: &mut [Seen]) -> Result<(), IoError> {
        walk.cells(|i, row, json| {
            if self.targets[i].ty.is_some() {
                return Ok(());
            }
            seen[i].add_json(json).map_err(|mixed| {
                let (what, hint) = match mixed {
                    Mixed::Rows => (
                        "a value of a different kind than in the rows before",
                        "all values of a column must have the same type",
                    ),
                    Mixed::Kind => (
                        "a value of a kind that columns cannot hold",
                        "a column holds booleans, numbers, strings or lists",
                    ),
                };
                let spot = Spot::row(&self.file, row).column(&self.targets[i].name);
                IoError::unsupported(spot, what, hint)
            })
        })
    }

    /// The columns, with the requested types or else the narrowest.
    fn columns(&self, seen: &[Seen]) -> Result<Vec<ColumnSpec>, IoError> {
        let columns = self.targets.iter().zip(seen).map(|(target, seen)| {
            let ty = target.ty.or_else(|| seen.ty()).ok_or_else(|| {
                let what = format!("arrays more than {} deep", Type::MAX_LIST_DEPTH);
                let spot = Spot::file(&self.file).column(&target.name);
                IoError::unsupported(spot, what, "nest the lists less deeply")
            })?;
            column(&self.file, &target.name, ty)
        });
        columns.collect()
    }
}

/// The columns of a text.
fn table_of(walk: &Walk<'_>, columns: &[ColumnSpec]) -> Result<Table, IoError> {
    let (file, meter) = (&*walk.layout.file, walk.meter);
    let mut table = TableBuilder::new(file, columns);
    walk.cells(|i, row, json| {
        let spot = || Spot::row(file, row).column(&columns[i].name);
        let builder = &mut table.columns[i];
        if !json.is_null() || !builder.push_missing() {
            builder.push_value(&value_of(builder.ty(), json, &spot)?);
        }
        table.pushed(1, meter, spot)?;
        meter.check_rows((row - walk.begins.1 + 1) as usize, spot)
    })?;
    table.finish(meter)
}

fn value_of(ty: Type, json: &Json, spot: &dyn Fn() -> Spot) -> Result<Value, IoError> {
    if lacks(json) {
        return match with_nans(ty, json) {
            Some(json) => value_of(ty, &json, spot),
            None => Err(IoError::MissingCell { spot: spot(), absence: "null", ty }),
        };
    }
    // Booleans count as 1 and 0 among floats, because columns of booleans with gaps are floats.
    if let Some(truth) = json.as_bool() {
        if ty == Type::F32 {
            return Ok(Value::F32(f32::from(u8::from(truth))));
        } else if ty == Type::F64 {
            return Ok(Value::F64(f64::from(u8::from(truth))));
        }
    }
    from_json(ty, json).map_err(|error| match error {
        LiteralError::Mismatch { ty, found, .. } => IoError::not_of_type(spot(), ty, found),
        LiteralError::OutOfRange { ty, found, .. } => {
            IoError::OutOfRange { spot: spot(), ty, found }
        }
        LiteralError::Opaque { ty } => IoError::not_of_type(spot(), ty, json.to_string()),
    })
}

/// Whether a value is null or contains one.
fn lacks(json: &Json) -> bool {
    json.is_null() || json.as_array().is_some_and(|items| items.iter().any(lacks))
}

/// A value with each null replaced by NaN or the empty string; `None` if its type has neither.
fn with_nans(ty: Type, json: &Json) -> Option<Json> {
    let items = |of: Type, items: &[Json]| {
        items.iter().map(|item| with_nans(of, item)).collect::<Option<Vec<_>>>().map(Json::from)
    };
    match (ty.kind(), json) {
        (Kind::String, Json::Null) => Some(Json::from("")),
        (Kind::Lanes(lane, 1), Json::Null) => missing_lane(lane).map(|_| Json::from("nan")),
        (Kind::Lanes(lane, n), Json::Null) => {
            items(Type::of_lane(lane), &vec![Json::Null; usize::from(n)])
        }
        (Kind::List(element), Json::Array(list)) => items(element, list),
        (Kind::Lanes(lane, n), Json::Array(list)) if n > 1 => items(Type::of_lane(lane), list),
        (_, Json::Null) => None,
        _ => Some(json.clone()),
    }
}

/// The punctuation around rows.
#[derive(Clone, Copy)]
struct Signs {
    start: &'static str,
    /// Before the first row, and before each other one.
    first: &'static str,
    next: &'static str,
    /// The end of a file with rows, and without.
    end: &'static str,
    end_of_nothing: &'static str,
}

const ARRAY: Signs =
    Signs { start: "[", first: "\n  ", next: ",\n  ", end: "\n]\n", end_of_nothing: "]\n" };
const LINES: Signs = Signs { start: "", first: "", next: "\n", end: "\n", end_of_nothing: "" };

/// Writes JSON.
struct JsonEncoder {
    signs: Signs,
    /// The keys as JSON, with their colons; empty for an array of values.
    keys: Vec<String>,
    has_rows: bool,
}

fn start(
    signs: Signs,
    columns: &[ColumnSpec],
    out: &mut dyn Write,
) -> Result<Box<dyn Encoder>, Refusal> {
    if let Some(column) = columns.iter().find(|c| innermost(c.ty).kind() == Kind::Opaque) {
        return Err(Refusal::column(column, OPAQUE));
    }
    let key = |column: &ColumnSpec| format!("{}: ", Json::from(column.name.as_str()));
    let keys = match columns {
        [column] if column.name == ONLY => Vec::new(),
        columns => columns.iter().map(key).collect(),
    };
    out.write_all(signs.start.as_bytes())?;
    Ok(Box::new(JsonEncoder { signs, keys, has_rows: false }))
}

impl JsonEncoder {
    fn write(
        &mut self,
        block: &[Column],
        is_absent: &[bool],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for row in 0..block.first().map_or(0, Column::len) {
            let before = if self.has_rows { self.signs.next } else { self.signs.first };
            out.write_all(before.as_bytes())?;
            self.has_rows = true;
            if self.keys.is_empty() {
                match is_absent.first() {
                    Some(true) => write!(out, "null")?,
                    Some(false) | None => write!(out, "{}", block[0].get(row))?,
                }
                continue;
            }
            for (i, (key, column)) in self.keys.iter().zip(block).enumerate() {
                let before = if i == 0 { "{" } else { ", " };
                match is_absent.get(i) {
                    Some(true) => write!(out, "{before}{key}null")?,
                    Some(false) | None => write!(out, "{before}{key}{}", column.get(row))?,
                }
            }
            out.write_all(b"}")?;
        }
        Ok(())
    }
}

impl Encoder for JsonEncoder {
    fn rows_without(
        &mut self,
        block: &[Column],
        is_absent: &[bool],
        out: &mut dyn Write,
    ) -> Result<(), Refusal> {
        self.write(block, is_absent, out).map_err(Refusal::Io)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let end = if self.has_rows { self.signs.end } else { self.signs.end_of_nothing };
        out.write_all(end.as_bytes())
    }
}

fn innermost(ty: Type) -> Type {
    let mut ty = ty;
    while let Some(element) = ty.element() {
        ty = element;
    }
    ty
}

#[cfg(test)]
mod tests;
