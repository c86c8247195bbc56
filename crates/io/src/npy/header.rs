//! The header of a `NumPy` array: element type, memory order and shape, as a Python dictionary.

use millstream_base::{Lane, Type};

use crate::error::{IoError, Spot, quoted};
use crate::format::Format;
use crate::scalar::Scalar;

/// Bytes of a written header; a multiple of 64, as the format asks, with room for any count.
const WRITTEN: usize = 128;

/// What a header says.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) element: Element,
    pub(super) is_big_endian: bool,
    is_fortran: bool,
    shape: Vec<usize>,
}

/// How an element is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Element {
    const ALL: [(&'static str, Self); 11] = [
        ("b1", Self::Bool),
        ("i1", Self::I8),
        ("i2", Self::I16),
        ("i4", Self::I32),
        ("i8", Self::I64),
        ("u1", Self::U8),
        ("u2", Self::U16),
        ("u4", Self::U32),
        ("u8", Self::U64),
        ("f4", Self::F32),
        ("f8", Self::F64),
    ];

    /// How lanes are written.
    pub(super) fn of_lane(lane: Lane) -> Self {
        match lane {
            Lane::Bool => Self::Bool,
            Lane::I32 => Self::I32,
            Lane::I64 => Self::I64,
            Lane::F32 => Self::F32,
            Lane::F64 => Self::F64,
        }
    }

    /// The narrowest lane that holds all values; for `u64`, those below 2^63.
    pub(super) fn lane(self) -> Lane {
        match self {
            Self::Bool => Lane::Bool,
            Self::I8 | Self::I16 | Self::I32 | Self::U8 | Self::U16 => Lane::I32,
            Self::I64 | Self::U32 | Self::U64 => Lane::I64,
            Self::F32 => Lane::F32,
            Self::F64 => Lane::F64,
        }
    }

    /// Bytes of one element.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The element at the start of `bytes`, which are at least as many as its size.
    pub(super) fn scalar(self, bytes: &[u8], is_big_endian: bool) -> Scalar {
        let mut word = [0_u8; 8];
        let size = self.size();
        for (i, byte) in bytes[..size].iter().enumerate() {
            word[if is_big_endian { size - 1 - i } else { i }] = *byte;
        }
        let raw = u64::from_le_bytes(word);
        match self {
            Self::Bool => Scalar::Bool(raw != 0),
            Self::I8 => Scalar::Int(i64::from(raw as i8)),
            Self::I16 => Scalar::Int(i64::from(raw as i16)),
            Self::I32 => Scalar::Int(i64::from(raw as i32)),
            Self::I64 | Self::U8 | Self::U16 | Self::U32 => Scalar::Int(raw as i64),
            Self::U64 => i64::try_from(raw).map_or(Scalar::Big(raw), Scalar::Int),
            Self::F32 => Scalar::F32(f32::from_bits(raw as u32)),
            Self::F64 => Scalar::F64(f64::from_bits(raw)),
        }
    }
}

impl Header {
    /// Length of the first axis; an array without axes is one row.
    pub(super) fn n_rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(1)
    }

    /// The other axes.
    pub(super) fn row_shape(&self) -> &[usize] {
        self.shape.get(1..).unwrap_or(&[])
    }

    /// The header of an array of so many of its rows.
    pub(super) fn with_rows(&self, n_rows: usize) -> Self {
        let mut shape = self.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = n_rows;
        }
        Self { shape, ..*self }
    }

    /// Number of axes.
    pub(super) fn n_axes(&self) -> usize {
        self.shape.len()
    }

    /// Whether the elements of each row lie together.
    pub(super) fn has_rows_in_order(&self) -> bool {
        !self.is_fortran || self.shape.len() < 2
    }

    /// Elements of one row; saturates.
    pub(super) fn per_row(&self) -> usize {
        self.row_shape().iter().fold(1, |n, axis| n.saturating_mul(*axis))
    }

    /// Whether the bytes are laid out as a column has them in memory.
    pub(super) fn is_as_in_memory(&self) -> bool {
        let order = self.is_big_endian == cfg!(target_endian = "big") || self.element.size() == 1;
        order && (!self.is_fortran || self.shape.len() < 2)
    }

    /// Position in the file of element `i`, in C order, of a row.
    pub(super) fn position(&self, row: usize, i: usize) -> usize {
        if !self.is_fortran {
            return row * self.per_row() + i;
        }
        let (mut position, mut stride, mut rest) = (row, self.n_rows(), i);
        let mut parts = Vec::with_capacity(self.row_shape().len());
        for axis in self.row_shape().iter().rev() {
            parts.push(rest % axis);
            rest /= axis;
        }
        for (axis, part) in self.row_shape().iter().zip(parts.iter().rev()) {
            position += part * stride;
            stride *= axis;
        }
        position
    }

    /// The shape as Python writes it.
    pub(super) fn shape_text(&self) -> String {
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("({})", axes.join(", "))
    }
}

/// Splits a file into header and data.
pub(super) fn read<'a>(file: &str, bytes: &'a [u8]) -> Result<(Header, &'a [u8]), IoError> {
    let syntax = |reason: &str| IoError::Syntax {
        spot: Spot::file(file),
        format: Format::Npy,
        reason: reason.to_owned(),
    };
    let rest = bytes
        .strip_prefix(b"\x93NUMPY")
        .ok_or_else(|| syntax("it does not start with the bytes \\x93NUMPY"))?;
    let cut = || syntax("it ends inside the header");
    let (version, rest) = rest.split_at_checked(2).ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return Err(syntax("its version is not 1, 2 or 3")),
    };
    let (text, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let text =
        std::str::from_utf8(text).map_err(|_| IoError::Encoding { spot: Spot::file(file) })?;
    let entries = Entries::parse(text).ok_or_else(|| {
        syntax("its header is not a dictionary of descr, fortran_order and shape")
    })?;
    let (element, is_big_endian) = element_of(file, &entries.descr)?;
    let header =
        Header { element, is_big_endian, is_fortran: entries.is_fortran, shape: entries.shape };
    Ok((header, data))
}

fn element_of(file: &str, descr: &str) -> Result<(Element, bool), IoError> {
    let unsupported = || IoError::Unsupported {
        spot: Spot::file(file),
        what: format!("elements of type {}", quoted(descr)),
        hint: "save the array as bool, int32, int64, float32 or float64: array.astype('float32')"
            .into(),
    };
    let Some((order @ ("<" | ">" | "|" | "="), code)) = descr.split_at_checked(1) else {
        return Err(unsupported());
    };
    let known = Element::ALL.into_iter().find(|(name, _)| *name == code);
    let (_, element) = known.ok_or_else(unsupported)?;
    if order == "|" && element.size() > 1 {
        return Err(unsupported());
    }
    Ok((element, order == ">" || (order == "=" && cfg!(target_endian = "big"))))
}

/// The three entries of the dictionary.
struct Entries {
    descr: String,
    is_fortran: bool,
    shape: Vec<usize>,
}

impl Entries {
    fn parse(text: &str) -> Option<Self> {
        let mut cursor = Cursor(text.trim_end_matches(['\n', ' ', '\0']));
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        cursor.expect("{")?;
        while cursor.expect("}").is_none() {
            let key = cursor.string()?;
            cursor.expect(":")?;
            match key {
                "descr" => descr = Some(cursor.descr()?),
                "fortran_order" => is_fortran = Some(cursor.truth()?),
                "shape" => shape = Some(cursor.shape()?),
                _ => return None,
            }
            if cursor.expect(",").is_none() {
                cursor.expect("}")?;
                break;
            }
        }
        let (descr, is_fortran, shape) = (descr?, is_fortran?, shape?);
        cursor.0.trim().is_empty().then_some(Self { descr, is_fortran, shape })
    }
}

/// The rest of a header's text.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn expect(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(word)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let (string, rest) = text[1..].split_once(quote)?;
        self.0 = rest;
        Some(string)
    }

    /// The element type; a structured one is given back as its text.
    fn descr(&mut self) -> Option<String> {
        let text = self.0.trim_start();
        if !text.starts_with('[') {
            return self.string().map(str::to_owned);
        }
        let mut depth = 0_usize;
        for (i, byte) in text.bytes().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.0 = &text[i + 1..];
                return Some(text[..=i].to_owned());
            }
        }
        None
    }

    fn truth(&mut self) -> Option<bool> {
        if self.expect("True").is_some() {
            return Some(true);
        }
        self.expect("False").map(|()| false)
    }

    fn shape(&mut self) -> Option<Vec<usize>> {
        self.expect("(")?;
        let mut axes = Vec::new();
        while self.expect(")").is_none() {
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            axes.push(text[..end].parse().ok()?);
            self.0 = &text[end..];
            // Python 2 marked long integers so.
            let _ = self.expect("L");
            if self.expect(",").is_none() {
                self.expect(")")?;
                break;
            }
        }
        Some(axes)
    }
}

/// The header of an array of this type with so many rows; always of one length.
pub(super) fn write(ty: Type, n_rows: u64) -> Vec<u8> {
    let (lane, n) = ty.lanes().expect("other types were refused at the start");
    let descr = match lane {
        Lane::Bool => "|b1",
        Lane::I32 => "<i4",
        Lane::I64 => "<i8",
        Lane::F32 => "<f4",
        Lane::F64 => "<f8",
    };
    let shape = match n {
        1 => format!("({n_rows},)"),
        16 => format!("({n_rows}, 4, 4)"),
        n => format!("({n_rows}, {n})"),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((WRITTEN as u16 - 10).to_le_bytes());
    header.extend(text.as_bytes());
    header.resize(WRITTEN - 1, b' ');
    header.push(b'\n');
    header
}
