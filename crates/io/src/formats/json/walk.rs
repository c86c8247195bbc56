//! Walking a JSON text cell by cell, without building a tree.
//!
//! [`shape_of`] reads the text once and determines which of the three forms it has; [`Walk::cells`]
//! then calls a function for each cell of the wanted columns. An error of that function stops the
//! walk.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::Layout;
use super::value::{Looks, Skipped, Whole};
use crate::error::{IoError, Spot};
use crate::fields::ONLY;
use crate::format::Definition;
use crate::meter::Meter;

/// The form of a text.
pub(super) enum Shape {
    /// An array without elements.
    Nothing,
    /// An array of objects, with the keys of the first and then the additional keys of others.
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

/// The form of a text that starts on this line of the file; its whole syntax is checked.
pub(super) fn shape_of(
    format: &Definition,
    file: &str,
    text: &str,
    first_line: u64,
    meter: &Meter,
) -> Result<Shape, IoError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut keys = Keys::new(Looks::new(file, meter));
    let shape = reader.deserialize_any(ShapeVisitor(&mut keys));
    if let Some(error) = keys.looks.stopped_by {
        return Err(error);
    }
    let shape = shape.and_then(|shape| reader.end().map(|()| shape));
    let shape = shape.map_err(|error| syntax(format, file, first_line, &error))?;
    match keys.twice {
        Some(twice) => Err(IoError::DuplicateColumn { spot: Spot::file(file).column(&twice) }),
        None => Ok(shape),
    }
}

/// The error for a malformed text that starts on this line of the file.
fn syntax(format: &Definition, file: &str, first_line: u64, error: &serde_json::Error) -> IoError {
    let text = error.to_string();
    let reason = match text.rsplit_once(" at line ") {
        Some((reason, _)) if error.column() > 0 => {
            format!("{reason} at column {}", error.column())
        }
        _ => text,
    };
    let line = first_line + (error.line() as u64).saturating_sub(1);
    format.syntax(Spot::line(file, line), reason)
}

/// The forms that the top level of a text may have.
const FORMS: &str = "an array of objects, an array of values or an object of arrays";

/// The keys so far.
struct Keys<'a> {
    in_order: Vec<String>,
    known: HashSet<String>,
    /// A key that occurs twice in an object.
    twice: Option<String>,
    looks: Looks<'a>,
}

impl<'a> Keys<'a> {
    fn new(looks: Looks<'a>) -> Self {
        Self { in_order: Vec::new(), known: HashSet::new(), twice: None, looks }
    }
}

struct ShapeVisitor<'a, 'b>(&'a mut Keys<'b>);

impl<'de> Visitor<'de> for ShapeVisitor<'_, '_> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        match items.next_element_seed(ItemKeys(self.0))? {
            None => return Ok(Shape::Nothing),
            Some(false) => {
                while items.next_element_seed(Skipped(&mut self.0.looks))?.is_some() {}
                return Ok(Shape::Values);
            }
            Some(true) => {}
        }
        while items.next_element_seed(ItemKeys(self.0))?.is_some() {
            self.0.looks.item()?;
        }
        Ok(Shape::Rows(std::mem::take(&mut self.0.in_order)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shape, A::Error> {
        let mut place = 0;
        while entries.next_key_seed(Key { keys: self.0, place })?.is_some() {
            entries.next_value_seed(Items(&mut self.0.looks))?;
            place += 1;
        }
        Ok(Shape::Columns(std::mem::take(&mut self.0.in_order)))
    }
}

/// Implements the rest of a visitor for values other than arrays and objects.
macro_rules! visits_scalars {
    ($value:ty: $result:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a value")
        }

        fn visit_bool<E: Error>(self, _: bool) -> Result<$value, E> {
            Ok($result)
        }

        fn visit_i64<E: Error>(self, _: i64) -> Result<$value, E> {
            Ok($result)
        }

        fn visit_u64<E: Error>(self, _: u64) -> Result<$value, E> {
            Ok($result)
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<$value, E> {
            Ok($result)
        }

        fn visit_str<E: Error>(self, _: &str) -> Result<$value, E> {
            Ok($result)
        }

        fn visit_unit<E: Error>(self) -> Result<$value, E> {
            Ok($result)
        }
    };
}

/// A value whose items are skipped one by one, because there may be many.
struct Items<'a, 'b>(&'a mut Looks<'b>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    visits_scalars!((): ());

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Skipped(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_key::<IgnoredAny>()?.is_some() {
            entries.next_value_seed(Skipped(self.0))?;
        }
        Ok(())
    }
}

/// Adds the new keys of an element, and returns whether it is an object.
struct ItemKeys<'a, 'b>(&'a mut Keys<'b>);

impl<'de> DeserializeSeed<'de> for ItemKeys<'_, '_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemKeys<'_, '_> {
    type Value = bool;

    visits_scalars!(bool: false);

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        let mut place = 0;
        while entries.next_key_seed(Key { keys: self.0, place })?.is_some() {
            entries.next_value_seed(Skipped(&mut self.0.looks))?;
            place += 1;
        }
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        while items.next_element_seed(Skipped(&mut self.0.looks))?.is_some() {}
        Ok(false)
    }
}

/// A key at a position in its object; most keys are at the same position as in previous objects.
struct Key<'a, 'b> {
    keys: &'a mut Keys<'b>,
    place: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        let Keys { in_order, known, twice, .. } = self.keys;
        if in_order.get(self.place).is_some_and(|known| known == key) {
            return Ok(());
        }
        if !known.contains(key) {
            known.insert(key.to_owned());
            in_order.push(key.to_owned());
        } else if self.place >= in_order.len() {
            // An object with more keys than there are names has a duplicate.
            twice.get_or_insert_with(|| key.to_owned());
        }
        Ok(())
    }
}

/// A text with rows of a file, and the columns to walk.
pub(super) struct Walk<'a> {
    pub(super) layout: &'a Layout,
    pub(super) text: &'a str,
    /// The line and row of the file at which the text starts, from 1.
    pub(super) begins: (u64, u64),
    pub(super) meter: &'a Meter,
}

/// State that the visitors of one walk share.
struct Progress<'a, F> {
    walk: &'a Walk<'a>,
    /// The target of each wanted name.
    wanted: HashMap<&'a str, usize>,
    visit: F,
    looks: Looks<'a>,
}

impl Walk<'_> {
    /// Calls `visit` with target, row from 1, and value for each cell of the wanted columns.
    pub(super) fn cells(
        &self,
        visit: impl FnMut(usize, u64, &Json) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        let Layout { format, file, names, targets, .. } = self.layout;
        let mut wanted: HashMap<&str, usize> = HashMap::with_capacity(targets.len());
        for (i, target) in targets.iter().enumerate() {
            wanted.entry(&names[target.fields[0]]).or_insert(i);
        }
        let looks = Looks::new(file, self.meter);
        let mut progress = Progress { walk: self, wanted, visit, looks };
        let mut reader = serde_json::Deserializer::from_str(self.text);
        let walked = reader.deserialize_any(TopVisitor(&mut progress));
        match progress.looks.stopped_by {
            Some(error) => Err(error),
            None => walked.map_err(|error| syntax(format, file, self.begins.0, &error)),
        }
    }
}

impl<F: FnMut(usize, u64, &Json) -> Result<(), IoError>> Progress<'_, F> {
    fn cell<E: Error>(&mut self, target: usize, row: u64, json: &Json) -> Result<(), E> {
        self.looks.item()?;
        (self.visit)(target, row, json).map_err(|error| self.looks.stop(error))
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
        if let Shape::Rows(_) = self.0.walk.layout.shape {
            while items.next_element_seed(RowSeed { progress: self.0, row })?.is_some() {
                row += 1;
            }
            return Ok(());
        }
        while let Some(json) = items.next_element_seed(Whole(&mut self.0.looks))? {
            for target in 0..self.0.walk.layout.targets.len() {
                self.0.cell(target, row, &json)?;
            }
            row += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            match self.0.wanted.get(key.as_str()).copied() {
                Some(target) => {
                    entries.next_value_seed(ColumnSeed { progress: self.0, target })?;
                }
                None => entries.next_value_seed(Skipped(&mut self.0.looks))?,
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
        let file = &*progress.walk.layout.file;
        let mut seen = vec![false; progress.walk.layout.targets.len()];
        while let Some(key) = entries.next_key::<String>()? {
            match progress.wanted.get(key.as_str()).copied() {
                Some(target) => {
                    let json = entries.next_value_seed(Whole(&mut progress.looks))?;
                    if std::mem::replace(&mut seen[target], true) {
                        let spot = Spot::row(file, row).column(&key);
                        return Err(progress.looks.stop(IoError::DuplicateColumn { spot }));
                    }
                    progress.cell(target, row, &json)?;
                }
                None => entries.next_value_seed(Skipped(&mut progress.looks))?,
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
        write!(f, "an array in `{}`", self.progress.walk.layout.targets[self.target].name)
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
