//! Single values, which may be as large as a file: reading one ends with the budget, or when it
//! takes more memory than allowed.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use crate::error::{IoError, Spot};
use crate::meter::Meter;

/// Counts items, and holds the error that stopped reading while serde passes on another one.
pub(super) struct Looks<'a> {
    file: &'a str,
    meter: &'a Meter,
    pub(super) stopped_by: Option<IoError>,
}

impl<'a> Looks<'a> {
    pub(super) fn new(file: &'a str, meter: &'a Meter) -> Self {
        Self { file, meter, stopped_by: None }
    }

    /// Counts one more item; the items of one value hold `bytes` of memory so far.
    fn item_of<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        let spot = || Spot::file(self.file);
        let checked = self.meter.work(2, spot).and_then(|()| self.meter.check_bytes(bytes, spot));
        checked.map_err(|error| self.stop(error))
    }

    /// Stops reading because of an error.
    pub(super) fn stop<E: Error>(&mut self, error: IoError) -> E {
        self.stopped_by = Some(error);
        E::custom("stopped")
    }

    pub(super) fn item<E: Error>(&mut self) -> Result<(), E> {
        self.item_of(0)
    }
}

/// A value that is skipped.
pub(super) struct Skipped<'a, 'b>(pub(super) &'a mut Looks<'b>);

/// A value that is kept.
pub(super) struct Whole<'a, 'b>(pub(super) &'a mut Looks<'b>);

impl<'de> DeserializeSeed<'de> for Whole<'_, '_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Json, D::Error> {
        reader.deserialize_any(Part { looks: self.0, bytes: &mut 0 })
    }
}

/// A part of a value that is kept; all parts together take this many bytes.
struct Part<'a, 'b> {
    looks: &'a mut Looks<'b>,
    bytes: &'a mut usize,
}

impl<'b> Part<'_, 'b> {
    fn inner(&mut self) -> Part<'_, 'b> {
        Part { looks: self.looks, bytes: self.bytes }
    }

    fn took<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        *self.bytes = self.bytes.saturating_add(bytes);
        self.looks.item_of(*self.bytes)
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_, '_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Json, D::Error> {
        reader.deserialize_any(self)
    }
}

const SIZE: usize = size_of::<Json>();

impl<'de> Visitor<'de> for Part<'_, '_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner())? {
            self.took(SIZE)?;
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.inner())?;
            self.took(2 * SIZE + key.len())?;
            object.insert(key, value);
        }
        Ok(Json::Object(object))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Json, E> {
        Ok(Json::Bool(truth))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Json, E> {
        Ok(text.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }
}

impl<'de> DeserializeSeed<'de> for Skipped<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_ignored_any(IgnoredAny)?;
        self.0.item()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use millstream_base::Limits;

    use crate::{Budget, Ended, Format, IoError, ReadOptions, read_bytes};

    /// A table of one row, with a list of this many numbers.
    fn one_list(n: usize) -> String {
        format!("[{{\"x\": [{}0.5]}}]", "1.5, ".repeat(n - 1))
    }

    #[test]
    fn a_huge_value_is_read_until_the_deadline() {
        let text = one_list(100_000);
        let options = |deadline| {
            let budget = Budget::by(deadline);
            ReadOptions { budget, ..ReadOptions::default() }
        };
        let all = read_bytes("t.json", text.as_bytes(), Format::JSON, &options(None));
        assert_eq!(all.expect("reads").n_rows(), 1);
        let late = options(Some(Instant::now()));
        let read = read_bytes("t.json", text.as_bytes(), Format::JSON, &late);
        assert!(matches!(read, Err(IoError::Ended { why: Ended::Deadline, .. })), "{read:?}");
    }

    #[test]
    fn a_huge_value_takes_no_more_memory_than_allowed() {
        let limits = Limits { bytes: 1 << 20, ..Limits::default() };
        let options = ReadOptions { limits, ..ReadOptions::default() };
        let read = read_bytes("t.json", one_list(100_000).as_bytes(), Format::JSON, &options);
        assert!(matches!(read, Err(IoError::Limit { what: "bytes", .. })), "{read:?}");
    }
}
