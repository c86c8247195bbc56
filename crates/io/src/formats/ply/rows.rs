//! The rows after the header of a polygon file, one at a time.

use millstream_base::Lane;
use millstream_base::diagnostics::counted;
use ply_rs_bw::ply::{ElementDef, Encoding, PropertyType};

use super::{PLY, stored};
use crate::error::{IoError, Spot, quoted};
use crate::scalar::{Scalar, read_lane};
use crate::stored::Stored;

/// The value of a property.
pub(super) enum Cell {
    Number(Scalar),
    List(Vec<Scalar>),
}

/// The remaining rows.
pub(super) struct Rows<'a> {
    file: &'a str,
    encoding: Encoding,
    /// The last line read, in text files.
    line: u64,
    rest: &'a [u8],
}

impl<'a> Rows<'a> {
    pub(super) fn new(file: &'a str, encoding: Encoding, n_lines: u64, rest: &'a [u8]) -> Self {
        Self { file, encoding, line: n_lines, rest }
    }

    /// The position of the row that was just read.
    pub(super) fn spot(&self, row: usize) -> Spot {
        match self.encoding {
            Encoding::Ascii => Spot::line(self.file, self.line),
            Encoding::BinaryBigEndian | Encoding::BinaryLittleEndian => {
                Spot::row(self.file, row as u64 + 1)
            }
        }
    }

    /// Refuses anything after the last row.
    pub(super) fn end(&self) -> Result<(), IoError> {
        if self.rest.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        Err(IoError::Length {
            spot: Spot::file(self.file),
            expected: "the announced rows".into(),
            found: "more".into(),
        })
    }

    /// The values of the next row, which is row `row` of this element.
    pub(super) fn next(&mut self, element: &ElementDef, row: usize) -> Result<Vec<Cell>, IoError> {
        let is_big_endian = match self.encoding {
            Encoding::Ascii => return self.next_text(element, row),
            Encoding::BinaryBigEndian => true,
            Encoding::BinaryLittleEndian => false,
        };
        let mut number = |stored: Stored| {
            let (bytes, rest) = self.rest.split_at_checked(stored.size())?;
            self.rest = rest;
            Some(stored.scalar(bytes, is_big_endian))
        };
        let mut cells = Vec::with_capacity(element.properties.len());
        for property in element.properties.values() {
            let cell = match &property.data_type {
                PropertyType::Scalar(scalar) => number(stored(scalar)).map(Cell::Number),
                PropertyType::List(count, scalar) => match number(stored(count)) {
                    Some(Scalar::Int(n @ 0..)) => {
                        // The list grows with the numbers available, not with their count.
                        let list = (0..n).map(|_| number(stored(scalar)));
                        list.collect::<Option<_>>().map(Cell::List)
                    }
                    Some(n) => {
                        let spot = self.spot(row).column(&property.name);
                        return Err(PLY.syntax(spot, format!("a list cannot have {n} items")));
                    }
                    None => None,
                },
            };
            match cell {
                Some(cell) => cells.push(cell),
                None => return Err(self.too_short(element, row)),
            }
        }
        Ok(cells)
    }

    fn too_short(&self, element: &ElementDef, row: usize) -> IoError {
        IoError::Length {
            spot: Spot::file(self.file).column(&element.name),
            expected: counted(element.count as u64, "row"),
            found: row.to_string(),
        }
    }

    /// A row of text.
    fn next_text(&mut self, element: &ElementDef, row: usize) -> Result<Vec<Cell>, IoError> {
        let text = loop {
            if self.rest.is_empty() {
                return Err(self.too_short(element, row));
            }
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let (text, rest) = self.rest.split_at(end.map_or(self.rest.len(), |end| end + 1));
            self.rest = rest;
            self.line += 1;
            if !text.trim_ascii().is_empty() {
                break text;
            }
        };
        let text =
            std::str::from_utf8(text).map_err(|_| IoError::Encoding { spot: self.spot(row) })?;
        let mut words = text.split_ascii_whitespace();
        let mut cells = Vec::with_capacity(element.properties.len());
        for property in element.properties.values() {
            let spot = || self.spot(row).column(&property.name);
            cells.push(match &property.data_type {
                PropertyType::Scalar(scalar) => {
                    Cell::Number(number(words.next(), stored(scalar), &spot)?)
                }
                PropertyType::List(_, scalar) => {
                    let Scalar::Int(n) = number(words.next(), Stored::U32, &spot)? else {
                        unreachable!("a u32 is read as a whole number")
                    };
                    let list = (0..n).map(|_| number(words.next(), stored(scalar), &spot));
                    Cell::List(list.collect::<Result<_, _>>()?)
                }
            });
        }
        match words.next() {
            None => Ok(cells),
            Some(word) => {
                let reason = format!("{} follows the last property", quoted(word));
                Err(PLY.syntax(self.spot(row), reason))
            }
        }
    }
}

fn number(word: Option<&str>, stored: Stored, spot: &dyn Fn() -> Spot) -> Result<Scalar, IoError> {
    let word = word.ok_or_else(|| PLY.syntax(spot(), "the row ends before this number"))?;
    let Some((low, high)) = stored.range() else {
        let bits = read_lane(word, stored.lane(), spot)?;
        return Ok(match stored.lane() {
            Lane::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            _ => Scalar::F64(f64::from_bits(bits)),
        });
    };
    let x = read_lane(word, Lane::I64, spot)? as i64;
    if (low..=high).contains(&x) {
        return Ok(Scalar::Int(x));
    }
    Err(PLY.syntax(spot(), format!("{x} is not within {low} to {high}")))
}
