//! The rows behind the header of a polygon file, one at a time.

use super::{
    ElementDef, Encoding, Format, IoError, Parser, Property, PropertyAccess, PropertyAccessResult,
    PropertyType, ScalarType, Spot, form_of, quoted,
};
use crate::scalar::{Misfit, parse_lane};
use millstream_base::{Lane, Type};

/// The values of one row in the order of the header.
#[derive(Debug, Default)]
struct Row(Vec<Property>);

impl PropertyAccess for Row {
    fn new() -> Self {
        Self::default()
    }

    fn set_property(&mut self, _name: &str, property: Property) -> PropertyAccessResult {
        self.0.push(property);
        PropertyAccessResult::Set
    }
}

/// The rows that are still to be read.
pub(super) struct Rows<'a> {
    file: &'a str,
    encoding: Encoding,
    /// The last line read; text files only.
    line: u64,
    rest: &'a [u8],
    parser: Parser<Row>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(file: &'a str, encoding: Encoding, n_lines: u64, rest: &'a [u8]) -> Self {
        Self { file, encoding, line: n_lines, rest, parser: Parser::new() }
    }

    /// Where the row that was just read stands.
    pub(super) fn spot(&self, row: usize) -> Spot {
        match self.encoding {
            Encoding::Ascii => Spot::line(self.file, self.line),
            Encoding::BinaryBigEndian | Encoding::BinaryLittleEndian => {
                Spot::row(self.file, row as u64 + 1)
            }
        }
    }

    /// Looks whether anything stands behind the last row.
    pub(super) fn end(&self) -> Result<(), IoError> {
        if self.rest.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        Err(IoError::Length {
            spot: Spot::file(self.file),
            expected: "the counted rows".into(),
            found: "more".into(),
        })
    }

    /// The values of the next row, which is row `row` of this element.
    pub(super) fn next(
        &mut self,
        element: &ElementDef,
        row: usize,
    ) -> Result<Vec<Property>, IoError> {
        let parsed = match self.encoding {
            Encoding::Ascii => return self.next_text(element, row),
            Encoding::BinaryBigEndian => {
                self.parser.read_big_endian_element(&mut self.rest, element)
            }
            Encoding::BinaryLittleEndian => {
                self.parser.read_little_endian_element(&mut self.rest, element)
            }
        };
        parsed.map(|row| row.0).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.too_short(element, row),
            _ => IoError::Syntax {
                spot: self.spot(row).column(&element.name),
                format: Format::Ply,
                reason: error.to_string(),
            },
        })
    }

    fn too_short(&self, element: &ElementDef, row: usize) -> IoError {
        IoError::Length {
            spot: Spot::file(self.file).column(&element.name),
            expected: format!("{} rows", element.count),
            found: row.to_string(),
        }
    }

    /// A row of text. The parser of the library knows neither `nan` nor `inf` nor `.5`, and lets
    /// superfluous numbers pass.
    fn next_text(&mut self, element: &ElementDef, row: usize) -> Result<Vec<Property>, IoError> {
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
        let mut properties = Vec::with_capacity(element.properties.len());
        for definition in element.properties.values() {
            let cell = || self.spot(row).column(&definition.name);
            properties.push(match &definition.data_type {
                PropertyType::Scalar(scalar) => number(words.next(), scalar, &cell)?,
                PropertyType::List(_, scalar) => {
                    let count = whole(words.next(), 0, i64::from(u32::MAX), &cell)?;
                    list(&mut words, count as usize, scalar, &cell)?
                }
            });
        }
        match words.next() {
            None => Ok(properties),
            Some(word) => Err(IoError::Syntax {
                spot: self.spot(row),
                format: Format::Ply,
                reason: format!("{} stands behind the last property", quoted(word)),
            }),
        }
    }
}

fn missing(spot: &dyn Fn() -> Spot) -> IoError {
    let reason = "the row ends before this number".to_owned();
    IoError::Syntax { spot: spot(), format: Format::Ply, reason }
}

fn lane(word: Option<&str>, lane: Lane, spot: &dyn Fn() -> Spot) -> Result<u64, IoError> {
    let ty = Type::of_lane(lane);
    let word = word.ok_or_else(|| missing(spot))?;
    parse_lane(word, lane).map_err(|misfit| match misfit {
        Misfit::Shape => {
            IoError::NotOfType { spot: spot(), ty, found: quoted(word), form: form_of(ty) }
        }
        Misfit::Range => IoError::OutOfRange { spot: spot(), ty, found: quoted(word) },
    })
}

fn whole(word: Option<&str>, low: i64, high: i64, spot: &dyn Fn() -> Spot) -> Result<i64, IoError> {
    let x = lane(word, Lane::I64, spot)? as i64;
    if (low..=high).contains(&x) {
        return Ok(x);
    }
    let reason = format!("{x} is not within {low} to {high}");
    Err(IoError::Syntax { spot: spot(), format: Format::Ply, reason })
}

fn number(
    word: Option<&str>,
    scalar: &ScalarType,
    spot: &dyn Fn() -> Spot,
) -> Result<Property, IoError> {
    let int = |low, high| whole(word, low, high, spot);
    Ok(match scalar {
        ScalarType::Char => Property::Char(int(i64::from(i8::MIN), i64::from(i8::MAX))? as i8),
        ScalarType::UChar => Property::UChar(int(0, i64::from(u8::MAX))? as u8),
        ScalarType::Short => Property::Short(int(i64::from(i16::MIN), i64::from(i16::MAX))? as i16),
        ScalarType::UShort => Property::UShort(int(0, i64::from(u16::MAX))? as u16),
        ScalarType::Int => Property::Int(int(i64::from(i32::MIN), i64::from(i32::MAX))? as i32),
        ScalarType::UInt => Property::UInt(int(0, i64::from(u32::MAX))? as u32),
        ScalarType::Float => Property::Float(f32::from_bits(lane(word, Lane::F32, spot)? as u32)),
        ScalarType::Double => Property::Double(f64::from_bits(lane(word, Lane::F64, spot)?)),
    })
}

/// A list of so many numbers; grows with what is there, not with what is promised.
fn list<'t>(
    words: &mut impl Iterator<Item = &'t str>,
    count: usize,
    scalar: &ScalarType,
    spot: &dyn Fn() -> Spot,
) -> Result<Property, IoError> {
    let mut ints = Vec::new();
    let mut floats = Vec::new();
    let mut doubles = Vec::new();
    for _ in 0..count {
        match number(words.next(), scalar, spot)? {
            Property::Char(x) => ints.push(i64::from(x)),
            Property::UChar(x) => ints.push(i64::from(x)),
            Property::Short(x) => ints.push(i64::from(x)),
            Property::UShort(x) => ints.push(i64::from(x)),
            Property::Int(x) => ints.push(i64::from(x)),
            Property::UInt(x) => ints.push(i64::from(x)),
            Property::Float(x) => floats.push(x),
            Property::Double(x) => doubles.push(x),
            Property::ListChar(_)
            | Property::ListUChar(_)
            | Property::ListShort(_)
            | Property::ListUShort(_)
            | Property::ListInt(_)
            | Property::ListUInt(_)
            | Property::ListFloat(_)
            | Property::ListDouble(_) => unreachable!("a number is no list"),
        }
    }
    Ok(match scalar {
        ScalarType::Float => Property::ListFloat(floats),
        ScalarType::Double => Property::ListDouble(doubles),
        ScalarType::UInt => Property::ListUInt(ints.iter().map(|x| *x as u32).collect()),
        ScalarType::Char
        | ScalarType::UChar
        | ScalarType::Short
        | ScalarType::UShort
        | ScalarType::Int => Property::ListInt(ints.iter().map(|x| *x as i32).collect()),
    })
}
