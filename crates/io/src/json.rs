//! JSON: an array of objects, an object of arrays, or an array of values.
//!
//! An array of objects has a row per object, and a column per key that any of them has; an object of
//! arrays has a column per key; the elements of any other array are the column `value`. Values
//! are written as in documents, so a vector is an array of numbers, and numbers that JSON lacks
//! are the strings `"nan"`, `"inf"` and `"-inf"`. A key that a row lacks counts as `null`, and
//! `null` is the empty text in a column of text, a NaN in a column of floats (or one of numbers or
//! truths whose type is not asked for), and an error in any other; the same goes for the components of
//! vectors and the items of lists. Written are an array of
//! objects, one per line, or of values, if the only column is called `value`.

use std::io::Write;

use millstream_base::literal::{LiteralError, form_of, from_json};
use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type, Value};
use serde_json::Value as Json;

use crate::builder::{Budget, Builder};
use crate::encoder::{ColumnSpec, Encoder, cannot_write};
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::guess::Guess;
use crate::options::Wanted;
use crate::plan::{Fields, Target};
use crate::table::Table;

mod blocks;
pub(crate) mod lines;
mod walk;
mod whole;

pub(crate) use blocks::LineBlocks;

use walk::{Shape, Walk, shape_of};

/// The column that an array without names is read into.
pub(crate) const ONLY: &str = "value";

/// The text of a file, without the mark that some programs put in front.
fn text_of<'b>(file: &str, bytes: &'b [u8]) -> Result<&'b str, IoError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| IoError::Encoding {
        spot: Spot::line_of_byte(file, bytes, error.valid_up_to()),
    })
}

/// Reads the wanted columns. The text is read once for its shape, once for the types nobody asked
/// for, and once for the values, so that it need not stand in memory as a tree.
pub(crate) fn read(
    file: &str,
    bytes: &[u8],
    wanted: Wanted<'_>,
    budget: &Budget,
) -> Result<Table, IoError> {
    let text = text_of(file, bytes)?;
    let shape = shape_of(file, text, budget)?;
    if let Shape::Nothing = shape {
        return empty(file, wanted);
    }
    let names = shape.names();
    let fields = Fields::whole(file, &names);
    let targets = fields.plan(wanted)?;
    let walk = Walk {
        file,
        text,
        shape: &shape,
        names: &names,
        targets: &targets,
        begins: (1, 1),
        budget,
    };
    let mut guesses = Guesses::new(targets.len());
    if targets.iter().any(|target| target.ty.is_none()) {
        guesses.add(&walk, |row| {
            let spot = || Spot::row(file, row);
            if row % 4096 == 0 {
                budget.go_on(spot)?;
            }
            budget.check_rows(row as usize, spot)
        })?;
    }
    let types = guesses.types(file, &targets)?;
    table_of(&walk, &types, budget)
}

fn builder_for(file: &str, name: &str, ty: Type) -> Result<Builder, IoError> {
    Builder::new(ty).ok_or_else(|| IoError::OtherType {
        spot: Spot::file(file).column(name),
        ty,
        found: "JSON values".into(),
        hint: "only types with a text form can be read".into(),
    })
}

/// The columns of a text, of these types.
fn table_of(walk: &Walk<'_>, types: &[Type], budget: &Budget) -> Result<Table, IoError> {
    let (file, targets) = (walk.file, walk.targets);
    let mut builders = Vec::with_capacity(targets.len());
    for (target, ty) in targets.iter().zip(types) {
        builders.push(builder_for(file, &target.name, *ty)?);
    }
    let mut n_cells = 0_usize;
    walk.cells(|i, row, json| {
        let spot = || Spot::row(file, row).column(&targets[i].name);
        n_cells += 1;
        // Rows of which each has keys of its own make more cells than the file has.
        if n_cells.is_multiple_of(1 << 20) {
            budget.check(&builders, spot)?;
        }
        let builder = &mut builders[i];
        builder.push_value(&value_of(builder.ty(), json, &spot)?);
        if row % 4096 == 0 {
            budget.go_on(spot)?;
            budget.check_bytes(builder.bytes(), spot)?;
        }
        budget.check_rows((row - walk.begins.1 + 1) as usize, spot)
    })?;
    budget.check(&builders, || Spot::file(file))?;
    let mut table = Table::new(file);
    for (target, builder) in targets.iter().zip(builders) {
        table.insert(&target.name, builder.finish())?;
    }
    Ok(table)
}

/// What an array without elements holds: no rows of whatever is wanted.
fn empty(file: &str, wanted: Wanted<'_>) -> Result<Table, IoError> {
    let columns: Vec<(&str, Option<Type>)> = match wanted {
        Wanted::All => Vec::new(),
        Wanted::Named(columns) => columns.iter().map(|(name, ty)| (name.as_str(), *ty)).collect(),
        Wanted::One(choice) => vec![(choice.column.unwrap_or(choice.otherwise), choice.ty)],
    };
    let mut table = Table::new(file);
    for (name, ty) in columns {
        table.insert(name, builder_for(file, name, ty.unwrap_or(Type::STRING))?.finish())?;
    }
    Ok(table)
}

/// The narrowest types of the columns seen so far, and whether values are missing.
struct Guesses(Vec<(Guess, bool)>);

impl Guesses {
    fn new(n_columns: usize) -> Self {
        Self(vec![(Guess::Unknown, false); n_columns])
    }

    /// Goes through the columns whose types are open; `check` is asked about each row.
    fn add(
        &mut self,
        walk: &Walk<'_>,
        check: impl Fn(u64) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        walk.cells(|i, row, json| {
            check(row)?;
            if walk.targets[i].ty.is_some() {
                return Ok(());
            }
            let (guess, has_gaps) = &mut self.0[i];
            *has_gaps |= json.is_null();
            let of_cell = Guess::of_json(json);
            let (what, hint) = if of_cell.is_some() {
                let what = "a value of another kind than the rows before";
                (what, "the values of one column have one type")
            } else {
                (
                    "a value of a kind that no column has",
                    "a column holds booleans, numbers, texts or lists",
                )
            };
            let both = of_cell.and_then(|cell| std::mem::take(guess).and_json(cell));
            *guess = both.ok_or_else(|| IoError::Unsupported {
                spot: Spot::row(walk.file, row).column(&walk.targets[i].name),
                what: what.into(),
                hint: hint.into(),
            })?;
            Ok(())
        })
    }

    /// The types that are asked for, and the narrowest for the others.
    fn types(self, file: &str, targets: &[Target]) -> Result<Vec<Type>, IoError> {
        let types = targets.iter().zip(self.0).map(|(target, (guess, has_gaps))| {
            let guess = if has_gaps { guess.with_gaps() } else { guess };
            target.ty.or_else(|| guess.ty()).ok_or_else(|| IoError::Unsupported {
                spot: Spot::file(file).column(&target.name),
                what: format!("arrays more than {} deep", Type::MAX_LIST_DEPTH),
                hint: "lists may be nested only so deep".into(),
            })
        });
        types.collect()
    }
}

fn value_of(ty: Type, json: &Json, spot: &dyn Fn() -> Spot) -> Result<Value, IoError> {
    if lacks(json) {
        return match with_nans(ty, json) {
            Some(json) => value_of(ty, &json, spot),
            None => Err(IoError::MissingCell { spot: spot(), ty }),
        };
    }
    // Truths count as 1 and 0 among floats, which columns of truths with gaps are.
    if let Some(truth) = json.as_bool() {
        if ty == Type::F32 {
            return Ok(Value::F32(f32::from(u8::from(truth))));
        } else if ty == Type::F64 {
            return Ok(Value::F64(f64::from(u8::from(truth))));
        }
    }
    from_json(ty, json).map_err(|error| match error {
        LiteralError::Mismatch { ty, found, form } => {
            IoError::NotOfType { spot: spot(), ty, found, form }
        }
        LiteralError::OutOfRange { ty, found, range: _ } => {
            IoError::OutOfRange { spot: spot(), ty, found }
        }
        LiteralError::Opaque { ty } => {
            IoError::NotOfType { spot: spot(), ty, found: json.to_string(), form: form_of(ty) }
        }
    })
}

/// Whether a value is null or holds one.
fn lacks(json: &Json) -> bool {
    json.is_null() || json.as_array().is_some_and(|items| items.iter().any(lacks))
}

/// A value with NaN or the empty text in the place of each null, as the type wants; `None` if there is
/// nothing of the kind in it.
fn with_nans(ty: Type, json: &Json) -> Option<Json> {
    let items = |of: Type, items: &[Json]| {
        items.iter().map(|item| with_nans(of, item)).collect::<Option<Vec<_>>>().map(Json::from)
    };
    match (ty.kind(), json) {
        (Kind::String, Json::Null) => Some(Json::from("")),
        (Kind::Lanes(Lane::F32 | Lane::F64, 1), Json::Null) => Some(Json::from("nan")),
        (Kind::Lanes(lane @ (Lane::F32 | Lane::F64), n), Json::Null) => {
            items(Type::of_lane(lane), &vec![Json::Null; usize::from(n)])
        }
        (_, Json::Null) => None,
        (Kind::List(element), Json::Array(list)) => items(element, list),
        (Kind::Lanes(lane, n), Json::Array(list)) if n > 1 => items(Type::of_lane(lane), list),
        _ => Some(json.clone()),
    }
}

/// Where the rows stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In one array.
    Array,
    /// On a line each.
    Lines,
}

/// Writes JSON.
#[derive(Debug)]
pub(crate) struct JsonEncoder {
    layout: Layout,
    /// The keys as JSON, with their colons; none for an array of values.
    keys: Vec<String>,
    has_rows: bool,
}

impl Encoder for JsonEncoder {
    fn begin(
        &mut self,
        file: &str,
        columns: &[ColumnSpec],
        out: &mut dyn Write,
    ) -> Result<(), IoError> {
        for column in columns {
            if innermost(column.ty).kind() == Kind::Opaque {
                let hint = "only types with a text form can be written";
                let format = match self.layout {
                    Layout::Array => Format::Json,
                    Layout::Lines => Format::JsonLines,
                };
                return Err(cannot_write(file, format, column, hint));
            }
        }
        let is_only = matches!(columns, [column] if column.name == ONLY);
        if !is_only {
            let key = |column: &ColumnSpec| format!("{}: ", Json::from(column.name.as_str()));
            self.keys = columns.iter().map(key).collect();
        }
        let start: &[u8] = if self.layout == Layout::Array { b"[" } else { b"" };
        out.write_all(start).map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn rows(&mut self, file: &str, block: &[Column], out: &mut dyn Write) -> Result<(), IoError> {
        self.write_rows(block, out)
            .map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn end(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(match (self.layout, self.has_rows) {
            (Layout::Array, true) => b"\n]\n",
            (Layout::Array, false) => b"]\n",
            (Layout::Lines, true) => b"\n",
            (Layout::Lines, false) => b"",
        })
    }
}

impl JsonEncoder {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, keys: Vec::new(), has_rows: false }
    }

    fn write_rows(&mut self, block: &[Column], out: &mut dyn Write) -> std::io::Result<()> {
        for row in 0..block.first().map_or(0, Column::len) {
            out.write_all(match (self.layout, self.has_rows) {
                (Layout::Array, true) => b",\n  ",
                (Layout::Array, false) => b"\n  ",
                (Layout::Lines, true) => b"\n",
                (Layout::Lines, false) => b"",
            })?;
            self.has_rows = true;
            if self.keys.is_empty() {
                write!(out, "{}", block[0].get(row))?;
                continue;
            }
            for (i, (key, column)) in self.keys.iter().zip(block).enumerate() {
                let before = if i == 0 { "{" } else { ", " };
                write!(out, "{before}{key}{}", column.get(row))?;
            }
            out.write_all(b"}")?;
        }
        Ok(())
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
