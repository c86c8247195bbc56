//! The header of a `NumPy` array: element type, memory order and shape, read and written by `npyz`.
//!
//! `npyz` parses headers with a grammar for any Python literal, whose time doubles with each level
//! of brackets; so length and nesting are limited first.

use millstream_base::{Lane, Type};
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriterBuilder};

use super::NPY;
use crate::error::{IoError, Spot, quoted};
use crate::guard::guarded;
use crate::stored::Stored;

/// The maximum length of a header in bytes. That of a numeric array has about a hundred.
pub(super) const MAX_HEADER: usize = 1 << 16;
/// The maximum nesting of brackets in a header; the shape of a field of a record is 4 deep.
const MAX_NESTING: usize = 8;

/// The content of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) element: Stored,
    pub(super) is_big_endian: bool,
    is_fortran: bool,
    shape: Vec<usize>,
}

fn stored(ty: &TypeStr) -> Option<Stored> {
    Some(match (ty.type_char(), ty.size_field()) {
        (TypeChar::Bool, 1) => Stored::Bool,
        (TypeChar::Int, 1) => Stored::I8,
        (TypeChar::Int, 2) => Stored::I16,
        (TypeChar::Int, 4) => Stored::I32,
        (TypeChar::Int, 8) => Stored::I64,
        (TypeChar::Uint, 1) => Stored::U8,
        (TypeChar::Uint, 2) => Stored::U16,
        (TypeChar::Uint, 4) => Stored::U32,
        (TypeChar::Uint, 8) => Stored::U64,
        (TypeChar::Float, 2) => Stored::F16,
        (TypeChar::Float, 4) => Stored::F32,
        (TypeChar::Float, 8) => Stored::F64,
        _ => return None,
    })
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

    /// The header of an array with this many of its rows.
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

    /// Whether the elements of each row are contiguous.
    pub(super) fn has_rows_in_order(&self) -> bool {
        !self.is_fortran || self.shape.len() < 2
    }

    /// Elements of one row; saturates.
    pub(super) fn per_row(&self) -> usize {
        self.row_shape().iter().fold(1, |n, axis| n.saturating_mul(*axis))
    }

    /// Whether the bytes have the memory layout of a column.
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

    /// The shape in Python notation.
    pub(super) fn shape_text(&self) -> String {
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("({})", axes.join(", "))
    }
}

/// Splits a file into header and data.
pub(super) fn read<'a>(file: &str, bytes: &'a [u8]) -> Result<(Header, &'a [u8]), IoError> {
    let syntax = |reason: &str| NPY.syntax(Spot::file(file), reason);
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
        return Err(syntax("the brackets of its header are nested too deeply"));
    }
    let no_header = "its header is not a dictionary of descr, fortran_order and shape";
    let header = guarded(file, &NPY, || NpyHeader::from_reader(head).map_err(|_| no_header))?;
    let unsupported = || {
        let what = format!("elements of type {}", quoted(&header.dtype().descr()));
        let hint =
            "save the array as bool, int32, int64, float32 or float64: array.astype('float32')";
        IoError::unsupported(Spot::file(file), what, hint)
    };
    let DType::Plain(ty) = header.dtype() else { return Err(unsupported()) };
    let element = stored(&ty).ok_or_else(unsupported)?;
    let shape: Option<_> = header.shape().iter().map(|n| usize::try_from(*n).ok()).collect();
    let header = Header {
        element,
        is_big_endian: match ty.endianness() {
            Endianness::Big => true,
            Endianness::Little => false,
            Endianness::Irrelevant => cfg!(target_endian = "big"),
        },
        is_fortran: header.order() == Order::Fortran,
        shape: shape.ok_or_else(|| syntax("its shape does not fit into memory"))?,
    };
    Ok((header, data))
}

/// The nesting depth of brackets, including those in strings.
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

/// The header of an array of this type whose entries are the cells of axes. For a single axis, its
/// length does not depend on the extent.
pub(super) fn write(ty: Type, axes: &[u64]) -> Vec<u8> {
    let (lane, n) = ty.lanes().expect("other types were refused at the start");
    let descr = match lane {
        Lane::Bool => "|b1",
        Lane::I32 => "<i4",
        Lane::I64 => "<i8",
        Lane::F32 => "<f4",
        Lane::F64 => "<f8",
    };
    let mut shape = axes.to_vec();
    match n {
        1 => {}
        16 => shape.extend([4, 4]),
        n => shape.push(u64::from(n)),
    }
    let dtype = DType::Plain(descr.parse().expect("these are types of NumPy"));
    let options = npyz::WriteOptions::new_header_only().dtype(dtype).shape(&shape);
    options.writer(Vec::new()).write_header_only().expect("memory can be written to")
}

/// The header of an array with fewer cells along the outermost axis than `axes` say, as long as the
/// header for `axes`.
pub(super) fn write_fewer(ty: Type, fewer: &[u64], axes: &[u64]) -> Vec<u8> {
    let mut header = write(ty, fewer);
    let n_spaces = write(ty, axes).len().saturating_sub(header.len());
    let end = header.len() - 1;
    header.splice(end..end, std::iter::repeat_n(b' ', n_spaces));
    // Magic bytes, version, and the length of what follows.
    let length = u16::try_from(header.len() - 10).expect("the headers of arrays are short");
    header[8..10].copy_from_slice(&length.to_le_bytes());
    header
}
