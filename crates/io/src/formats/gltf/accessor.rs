//! The numbers in accessors, whose sizes and offsets are checked against the bytes of the buffers.

use ::gltf::Accessor;
use ::gltf::accessor::DataType;
use ::gltf::accessor::sparse::IndexType;
use ::gltf::buffer::View;
use millstream_base::Type;

use super::syntax;
use crate::error::{IoError, Spot};
use crate::meter::Meter;
use crate::scalar::Scalar;
use crate::stored::Stored;

/// The buffers of a document.
pub(super) struct Accessors<'a> {
    pub(super) file: &'a str,
    pub(super) buffers: Vec<Vec<u8>>,
    /// The bytes of the document and its buffers.
    pub(super) n_bytes: usize,
    pub(super) meter: &'a Meter,
}

/// Elements of one size at a fixed stride.
#[derive(Clone, Copy)]
pub(super) struct Strided<'a> {
    bytes: &'a [u8],
    stride: usize,
}

impl<'a> Strided<'a> {
    fn at(&self, i: usize) -> &'a [u8] {
        &self.bytes[i * self.stride..]
    }
}

impl Accessors<'_> {
    /// Appends the components as floats; normalized integers become 0 to 1 or -1 to 1.
    pub(super) fn floats(
        &self,
        name: &str,
        accessor: &Accessor<'_>,
        out: &mut Vec<f32>,
    ) -> Result<(), IoError> {
        let kind = accessor.data_type();
        if kind == DataType::U32 && !name.starts_with('_') {
            let reason =
                format!("`{name}` has components of type 5125 (u32), which are only for indices");
            return Err(syntax(self.file, reason));
        }
        let largest = stored(kind).range().map(|(_, largest)| largest as f32);
        let scale = largest.filter(|_| accessor.normalized());
        self.components(name, accessor, out, |scalar| match (scalar, scale) {
            (Scalar::Int(x), Some(scale)) => (x as f32 / scale).max(-1.0),
            (Scalar::Int(x), None) => x as f32,
            (Scalar::F32(x), _) => x,
            (Scalar::Bool(_) | Scalar::Big(_) | Scalar::F64(_), _) => {
                unreachable!("accessors hold whole numbers up to 32 bits and f32")
            }
        })
    }

    /// Appends integer components; those that do not fit become -1.
    pub(super) fn integers(
        &self,
        name: &str,
        accessor: &Accessor<'_>,
        out: &mut Vec<i32>,
    ) -> Result<(), IoError> {
        let kind = accessor.data_type();
        if kind == DataType::F32 {
            let spot = Spot::file(self.file).column(name);
            return Err(IoError::other_type(spot, Type::I32, "f32", "export the mesh again"));
        }
        self.components(name, accessor, out, |scalar| match scalar {
            Scalar::Int(x) => i32::try_from(x).unwrap_or(-1),
            Scalar::Bool(_) | Scalar::Big(_) | Scalar::F32(_) | Scalar::F64(_) => -1,
        })
    }

    fn components<T: Copy + Default>(
        &self,
        name: &str,
        accessor: &Accessor<'_>,
        out: &mut Vec<T>,
        convert: impl Fn(Scalar) -> T,
    ) -> Result<(), IoError> {
        let spot = || Spot::file(self.file).column(name);
        let count = accessor.count();
        let n = accessor.dimensions().multiplicity();
        let stored = stored(accessor.data_type());
        let width = stored.size();
        let read = |bytes: &[u8]| convert(stored.scalar(bytes, false));
        let elements = self.check(name, accessor)?;
        self.meter.look(spot)?;
        let n_lanes = count.saturating_mul(n).saturating_add(out.len());
        self.meter.check_rows(n_lanes / n.max(1), spot)?;
        self.meter.check_bytes(n_lanes.saturating_mul(size_of::<T>()), spot)?;
        let start = out.len();
        match elements {
            Some(elements) => {
                out.reserve(count * n);
                for i in 0..count {
                    self.meter.work(n, spot)?;
                    let element = elements.at(i);
                    out.extend((0..n).map(|k| read(&element[k * width..])));
                }
            }
            None => out.resize(start + count * n, T::default()),
        }
        let Some(sparse) = accessor.sparse() else { return Ok(()) };
        let (indices, values) = (sparse.indices(), sparse.values());
        let index_width = match indices.index_type() {
            IndexType::U8 => 1,
            IndexType::U16 => 2,
            IndexType::U32 => 4,
        };
        let n_sparse = sparse.count();
        let at =
            |view: &View<'_>, offset, width| self.elements(view, offset, n_sparse, width, width);
        let places = at(&indices.view(), indices.offset(), index_width)?;
        let values = at(&values.view(), values.offset(), n * width)?;
        for i in 0..n_sparse {
            let mut word = [0; 4];
            word[..index_width].copy_from_slice(&places.at(i)[..index_width]);
            let place = u32::from_le_bytes(word) as usize;
            if place >= count {
                return Err(syntax(
                    self.file,
                    format!("`{name}` replaces element {place} of {count}"),
                ));
            }
            for k in 0..n {
                out[start + place * n + k] = read(&values.at(i)[k * width..]);
            }
        }
        Ok(())
    }

    /// Checks that the elements counted by an accessor exist before anything is built from them.
    /// `None` if they are zeros without bytes.
    pub(super) fn check(
        &self,
        name: &str,
        accessor: &Accessor<'_>,
    ) -> Result<Option<Strided<'_>>, IoError> {
        let spot = || Spot::file(self.file).column(name);
        let (count, width) = (accessor.count(), accessor.size());
        self.meter.check_rows(count, spot)?;
        if let Some(view) = accessor.view() {
            let stride = view.stride().unwrap_or(width);
            if stride < width {
                let reason = format!("`{name}` has elements of {width} bytes every {stride} bytes");
                return Err(syntax(self.file, reason));
            }
            return self.elements(&view, accessor.offset(), count, width, stride).map(Some);
        }
        // The triangles or other values for such vertices take at least one byte each.
        if count > self.n_bytes {
            let what =
                format!("{count} elements without bytes, which is more than the bytes of the file");
            let hint = "export the mesh again, with a buffer view for it";
            return Err(IoError::unsupported(spot(), what, hint));
        }
        Ok(None)
    }

    /// The elements of a view, all of which lie inside it.
    fn elements(
        &self,
        view: &View<'_>,
        offset: usize,
        count: usize,
        width: usize,
        stride: usize,
    ) -> Result<Strided<'_>, IoError> {
        let buffer = self.buffers.get(view.buffer().index()).map_or(&[][..], Vec::as_slice);
        let end = view.offset().checked_add(view.length());
        let bytes = end.and_then(|end| buffer.get(view.offset()..end));
        let bytes = bytes.and_then(|bytes| bytes.get(offset..));
        let last = count.saturating_sub(1).checked_mul(stride);
        let needed = last.and_then(|last| last.checked_add(if count > 0 { width } else { 0 }));
        match (bytes, needed) {
            (Some(bytes), Some(needed)) if needed <= bytes.len() => Ok(Strided { bytes, stride }),
            (bytes, needed) => Err(IoError::Length {
                spot: Spot::file(self.file),
                expected: format!("{} bytes after an offset", needed.unwrap_or(usize::MAX)),
                found: bytes.map_or(0, <[u8]>::len).to_string(),
            }),
        }
    }
}

fn stored(kind: DataType) -> Stored {
    match kind {
        DataType::I8 => Stored::I8,
        DataType::U8 => Stored::U8,
        DataType::I16 => Stored::I16,
        DataType::U16 => Stored::U16,
        DataType::U32 => Stored::U32,
        DataType::F32 => Stored::F32,
    }
}
