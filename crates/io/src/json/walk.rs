//! Going through a JSON text cell by cell, without a tree of the whole.
//!
//! [`shape_of`] reads the text once and says which of the three forms it has; [`Walk::cells`]
//! then calls a function for each cell of the wanted columns. An error of that function stops the
//! walk; it is kept aside while serde carries a stand-in out.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use crate::builder::Budget;
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::json::ONLY;
use crate::json::whole::{Looks, Skipped, Whole};
use crate::plan::Target;

/// Which form a text has.
pub(super) enum Shape {
    /// An array without elements.
    Nothing,
    /// An array of objects, with the keys of the first and behind them those that others have.
    Rows(Vec<String>),
    /// An object of arrays, with its keys.
    Columns(Vec<String>),
    /// An array of anything else.
    Values,
}

impl Shape {
    /// The names of the columns.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Rows(names) | Self::Columns(names) => names.clone(),
            Self::Values => vec![ONLY.to_owned()],
        }
    }
}

/// The form of a text, all of whose syntax is checked.
pub(super) fn shape_of(file: &str, text: &str, budget: &Budget) -> Result<Shape, IoError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut looks = Looks::new(file, budget);
    let shape = reader.deserialize_any(ShapeVisitor(&mut looks));
    if let Some(error) = looks.stopped_by {
        return Err(error);
    }
    let shape = shape.and_then(|shape| reader.end().map(|()| shape));
    let shape = shape.map_err(|error| syntax(file, 1, &error))?;
    if let Shape::Rows(names) | Shape::Columns(names) = &shape {
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(IoError::DuplicateColumn { spot: Spot::file(file).column(twice) });
        }
    }
    Ok(shape)
}

/// A wrong text that begins on this line of the file.
fn syntax(file: &str, first_line: u64, error: &serde_json::Error) -> IoError {
    let text = error.to_string();
    let reason = match text.rsplit_once(" at line ") {
        Some((reason, _)) if error.column() > 0 => {
            format!("{reason} at column {}", error.column())
        }
        _ => text,
    };
    let line = first_line + (error.line() as u64).saturating_sub(1);
    IoError::Syntax { spot: Spot::line(file, line), format: Format::Json, reason }
}

/// What the top of a text has to be.
const FORMS: &str = "an array of objects, an array of values or an object of arrays";

struct ShapeVisitor<'a, 'b>(&'a mut Looks<'b>);

impl<'de> Visitor<'de> for ShapeVisitor<'_, '_> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let Some(first) = items.next_element_seed(KeysSeed(self.0))? else {
            return Ok(Shape::Nothing);
        };
        let Some(keys) = first else {
            while items.next_element_seed(Skipped(self.0))?.is_some() {}
            return Ok(Shape::Values);
        };
        let mut keys = Keys { known: keys.iter().cloned().collect(), in_order: keys };
        while items.next_element_seed(MoreKeys(&mut keys, self.0))?.is_some() {
            self.0.item()?;
        }
        Ok(Shape::Rows(keys.in_order))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shape, A::Error> {
        let mut keys = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            keys.push(key);
            // Only that the array is valid matters here.
            entries.next_value_seed(KeysSeed(self.0))?;
        }
        Ok(Shape::Columns(keys))
    }
}

/// The keys of a value, if it is an object.
struct KeysSeed<'a, 'b>(&'a mut Looks<'b>);

impl<'de> DeserializeSeed<'de> for KeysSeed<'_, '_> {
    type Value = Option<Vec<String>>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeysSeed<'_, '_> {
    type Value = Option<Vec<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut keys = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            entries.next_value_seed(Skipped(self.0))?;
            keys.push(key);
        }
        Ok(Some(keys))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element_seed(Skipped(self.0))?.is_some() {}
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// The keys of the rows so far.
struct Keys {
    in_order: Vec<String>,
    known: HashSet<String>,
}

/// Adds the keys of a row that no row before has; what is no object has none.
struct MoreKeys<'a, 'b>(&'a mut Keys, &'a mut Looks<'b>);

impl<'de> DeserializeSeed<'de> for MoreKeys<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MoreKeys<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut place = 0;
        while entries.next_key_seed(Key { keys: self.0, place })?.is_some() {
            entries.next_value_seed(Skipped(self.1))?;
            place += 1;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Skipped(self.1))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A key at a place of its row; most stand where they stood in the rows before.
struct Key<'a> {
    keys: &'a mut Keys,
    place: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        let is_there = self.keys.in_order.get(self.place).is_some_and(|known| known == key);
        if !is_there && !self.keys.known.contains(key) {
            self.keys.known.insert(key.to_owned());
            self.keys.in_order.push(key.to_owned());
        }
        Ok(())
    }
}

/// A text, its form, and which of its columns to go through.
pub(super) struct Walk<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) shape: &'a Shape,
    pub(super) names: &'a [String],
    pub(super) targets: &'a [Target],
    /// Which line and row of the file the text begins with, from 1.
    pub(super) begins: (u64, u64),
    pub(super) budget: &'a Budget,
}

/// What the visitors of one walk share.
struct Progress<'a, F> {
    walk: &'a Walk<'a>,
    /// The target of each name, if it is wanted.
    wanted: HashMap<&'a str, Option<usize>>,
    visit: F,
    looks: Looks<'a>,
}

impl Walk<'_> {
    /// Calls `visit` with target, row from 1, and value, for each cell of the wanted columns.
    pub(super) fn cells(
        &self,
        visit: impl FnMut(usize, u64, &Json) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        let mut wanted: HashMap<&str, Option<usize>> =
            self.names.iter().map(|name| (name.as_str(), None)).collect();
        for (i, target) in self.targets.iter().enumerate() {
            let of_name = wanted.entry(&self.names[target.fields[0]]).or_default();
            *of_name = of_name.or(Some(i));
        }
        let looks = Looks::new(self.file, self.budget);
        let mut progress = Progress { walk: self, wanted, visit, looks };
        let mut reader = serde_json::Deserializer::from_str(self.text);
        let walked = reader.deserialize_any(TopVisitor(&mut progress));
        match progress.looks.stopped_by {
            Some(error) => Err(error),
            None => walked.map_err(|error| syntax(self.file, self.begins.0, &error)),
        }
    }
}

impl<F: FnMut(usize, u64, &Json) -> Result<(), IoError>> Progress<'_, F> {
    fn cell<E: Error>(&mut self, target: usize, row: u64, json: &Json) -> Result<(), E> {
        (self.visit)(target, row, json).map_err(|error| self.stop(error))
    }

    fn stop<E: Error>(&mut self, error: IoError) -> E {
        self.looks.stopped_by = Some(error);
        E::custom("stopped")
    }
}

struct TopVisitor<'a, 'w, F>(&'a mut Progress<'w, F>);

impl<'de, F> Visitor<'de> for TopVisitor<'_, '_, F>
where
    F: FnMut(usize, u64, &Json) -> Result<(), IoError>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut row = self.0.walk.begins.1;
        if let Shape::Rows(_) = self.0.walk.shape {
            while items.next_element_seed(RowSeed { progress: self.0, row })?.is_some() {
                row += 1;
            }
            return Ok(());
        }
        while let Some(json) = items.next_element_seed(Whole(&mut self.0.looks))? {
            for target in 0..self.0.walk.targets.len() {
                self.0.cell(target, row, &json)?;
            }
            row += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            match self.0.wanted.get(key.as_str()).copied().flatten() {
                Some(target) => {
                    entries.next_value_seed(ColumnSeed { progress: self.0, target })?;
                }
                None => {
                    entries.next_value_seed(Skipped(&mut self.0.looks))?;
                }
            }
        }
        Ok(())
    }
}

/// One object of an array of objects.
struct RowSeed<'a, 'w, F> {
    progress: &'a mut Progress<'w, F>,
    row: u64,
}

impl<'de, F> DeserializeSeed<'de> for RowSeed<'_, '_, F>
where
    F: FnMut(usize, u64, &Json) -> Result<(), IoError>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de, F> Visitor<'de> for RowSeed<'_, '_, F>
where
    F: FnMut(usize, u64, &Json) -> Result<(), IoError>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object in row {}, as in row 1", self.row)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Self { progress, row } = self;
        let file = progress.walk.file;
        let mut seen = vec![false; progress.walk.targets.len()];
        while let Some(key) = entries.next_key::<String>()? {
            match progress.wanted.get(key.as_str()).copied() {
                Some(Some(target)) => {
                    let json = entries.next_value_seed(Whole(&mut progress.looks))?;
                    if std::mem::replace(&mut seen[target], true) {
                        let spot = Spot::row(file, row).column(&key);
                        return Err(progress.stop(IoError::DuplicateColumn { spot }));
                    }
                    progress.cell(target, row, &json)?;
                }
                Some(None) | None => {
                    entries.next_value_seed(Skipped(&mut progress.looks))?;
                }
            }
        }
        for (target, seen) in seen.into_iter().enumerate() {
            if !seen {
                progress.cell(target, row, &Json::Null)?;
            }
        }
        Ok(())
    }
}

/// One array of an object of arrays.
struct ColumnSeed<'a, 'w, F> {
    progress: &'a mut Progress<'w, F>,
    target: usize,
}

impl<'de, F> DeserializeSeed<'de> for ColumnSeed<'_, '_, F>
where
    F: FnMut(usize, u64, &Json) -> Result<(), IoError>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de, F> Visitor<'de> for ColumnSeed<'_, '_, F>
where
    F: FnMut(usize, u64, &Json) -> Result<(), IoError>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array in `{}`", self.progress.walk.targets[self.target].name)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut row = 1;
        while let Some(json) = items.next_element_seed(Whole(&mut self.progress.looks))? {
            self.progress.cell(self.target, row, &json)?;
            row += 1;
        }
        Ok(())
    }
}
