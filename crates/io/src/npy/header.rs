//! The header of a `NumPy` array: element type, memory order and shape, read and written by `npyz`.
//!
//! `npyz` reads headers with a grammar for any Python literal, whose time doubles with each bracket
//! inside another; so length and nesting are bounded before it sees them.

use millstream_base::{Lane, Type};
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriterBuilder};

use crate::error::{IoError, Spot, quoted};
use crate::format::Format;
use crate::guard::guarded;
use crate::scalar::Scalar;

/// Bytes of the longest header that is read. That of an array of numbers has about a hundred.
pub(super) const MAX_HEADER: usize = 1 << 16;
/// Brackets inside each other in a header that is read; the shape of a field of a record is 4 deep.
const MAX_NESTING: usize = 8;

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
    F16,
    F32,
    F64,
}

impl Element {
    fn of(ty: &TypeStr) -> Option<Self> {
        Some(match (ty.type_char(), ty.size_field()) {
            (TypeChar::Bool, 1) => Self::Bool,
            (TypeChar::Int, 1) => Self::I8,
            (TypeChar::Int, 2) => Self::I16,
            (TypeChar::Int, 4) => Self::I32,
            (TypeChar::Int, 8) => Self::I64,
            (TypeChar::Uint, 1) => Self::U8,
            (TypeChar::Uint, 2) => Self::U16,
            (TypeChar::Uint, 4) => Self::U32,
            (TypeChar::Uint, 8) => Self::U64,
            (TypeChar::Float, 2) => Self::F16,
            (TypeChar::Float, 4) => Self::F32,
            (TypeChar::Float, 8) => Self::F64,
            _ => return None,
        })
    }

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
            Self::F16 | Self::F32 => Lane::F32,
            Self::F64 => Lane::F64,
        }
    }

    /// Bytes of one element.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
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
            Self::F16 => Scalar::F32(half(raw as u16)),
            Self::F32 => Scalar::F32(f32::from_bits(raw as u32)),
            Self::F64 => Scalar::F64(f64::from_bits(raw)),
        }
    }
}

/// The number that 16 bits stand for: a sign, 5 bits of exponent, 10 of digits.
fn half(bits: u16) -> f32 {
    let (digits, exponent) = (f32::from(bits & 0x3ff), i32::from(bits >> 10 & 0x1f));
    let magnitude = match exponent {
        0 => digits * 2_f32.powi(-24),
        31 if digits == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (digits + 1024.0) * 2_f32.powi(exponent - 25),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
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
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(syntax("it does not start with the bytes \\x93NUMPY"));
    }
    let cut = || syntax("it ends inside the header");
    let (start, length) = match bytes.get(6..12).ok_or_else(cut)? {
        [1, _, a, b, ..] => (10, usize::from(u16::from_le_bytes([*a, *b]))),
        [2 | 3, _, a, b, c, d] => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => return Err(syntax("its version is not 1, 2 or 3")),
    };
    if length > MAX_HEADER {
        return Err(syntax("its header is longer than 65536 bytes"));
    }
    let (head, data) = bytes.split_at_checked(start + length).ok_or_else(cut)?;
    if nesting(&head[start..]) > MAX_NESTING {
        return Err(syntax("the brackets of its header are too many inside each other"));
    }
    let no_header = "its header is not a dictionary of descr, fortran_order and shape";
    let header =
        guarded(file, Format::Npy, || NpyHeader::from_reader(head).map_err(|_| no_header))?;
    let unsupported = || IoError::Unsupported {
        spot: Spot::file(file),
        what: format!("elements of type {}", quoted(&header.dtype().descr())),
        hint: "save the array as bool, int32, int64, float32 or float64: array.astype('float32')"
            .into(),
    };
    let DType::Plain(ty) = header.dtype() else { return Err(unsupported()) };
    let element = Element::of(&ty).ok_or_else(unsupported)?;
    let shape: Option<_> = header.shape().iter().map(|n| usize::try_from(*n).ok()).collect();
    let header = Header {
        element,
        is_big_endian: match ty.endianness() {
            Endianness::Big => true,
            Endianness::Little => false,
            Endianness::Irrelevant => cfg!(target_endian = "big"),
        },
        is_fortran: header.order() == Order::Fortran,
        shape: shape.ok_or_else(|| syntax("its shape does not fit memory"))?,
    };
    Ok((header, data))
}

/// How many brackets stand inside each other at most; those in texts count as well.
fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// The header of an array of this type with so many rows; of one length, whatever their number.
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
        1 => vec![n_rows],
        16 => vec![n_rows, 4, 4],
        n => vec![n_rows, u64::from(n)],
    };
    let dtype = DType::Plain(descr.parse().expect("these are types of NumPy"));
    let options = npyz::WriteOptions::new_header_only().dtype(dtype).shape(&shape);
    options.writer(Vec::new()).write_header_only().expect("memory can be written to")
}
