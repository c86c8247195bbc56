//! The numbers of accessors. What a document says about its buffers is checked against their bytes.

use ::gltf::Accessor;
use ::gltf::accessor::DataType;
use ::gltf::accessor::sparse::IndexType;
use ::gltf::buffer::View;
use millstream_base::Type;

use super::syntax;
use crate::builder::Budget;
use crate::error::{IoError, Spot};

/// The buffers of a document.
pub(super) struct Accessors<'a> {
    pub(super) file: &'a str,
    pub(super) buffers: Vec<Vec<u8>>,
    /// Bytes of the document and its buffers.
    pub(super) n_bytes: usize,
    pub(super) budget: Budget,
}

/// Elements of one size at one distance.
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
                format!("`{name}` has components of type 5125 (u32), which are for indices");
            return Err(syntax(self.file, reason));
        }
        let scale = if accessor.normalized() { largest(kind) } else { 1.0 };
        self.components(name, accessor, out, |bytes| {
            let x = match kind {
                DataType::F32 => {
                    return f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                }
                DataType::I8 => f32::from(bytes[0] as i8),
                DataType::U8 => f32::from(bytes[0]),
                DataType::I16 => f32::from(i16::from_le_bytes([bytes[0], bytes[1]])),
                DataType::U16 => f32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
                DataType::U32 => {
                    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as f32
                }
            };
            (x / scale).max(if accessor.normalized() { -1.0 } else { f32::NEG_INFINITY })
        })
    }

    /// Appends the components, which are whole numbers; those that do not fit become -1.
    pub(super) fn integers(
        &self,
        name: &str,
        accessor: &Accessor<'_>,
        out: &mut Vec<i32>,
    ) -> Result<(), IoError> {
        let kind = accessor.data_type();
        if kind == DataType::F32 {
            let spot = Spot::file(self.file).column(name);
            let (ty, found) = (Type::I32, "f32".to_owned());
            let hint = "export the mesh again".to_owned();
            return Err(IoError::OtherType { spot, ty, found, hint });
        }
        self.components(name, accessor, out, |bytes| match kind {
            DataType::I8 => i32::from(bytes[0] as i8),
            DataType::U8 => i32::from(bytes[0]),
            DataType::I16 => i32::from(i16::from_le_bytes([bytes[0], bytes[1]])),
            DataType::U16 => i32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            DataType::U32 | DataType::F32 => {
                let index = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                i32::try_from(index).unwrap_or(-1)
            }
        })
    }

    fn components<T: Copy + Default>(
        &self,
        name: &str,
        accessor: &Accessor<'_>,
        out: &mut Vec<T>,
        read: impl Fn(&[u8]) -> T,
    ) -> Result<(), IoError> {
        let spot = || Spot::file(self.file).column(name);
        let count = accessor.count();
        let n = accessor.dimensions().multiplicity();
        let width = accessor.data_type().size();
        let elements = self.check(name, accessor)?;
        let n_lanes = count.saturating_mul(n).saturating_add(out.len());
        self.budget.check_rows(n_lanes / n.max(1), spot)?;
        self.budget.check_bytes(n_lanes.saturating_mul(size_of::<T>()), spot)?;
        let start = out.len();
        match elements {
            Some(elements) => {
                out.reserve(count * n);
                for i in 0..count {
                    if i.is_multiple_of(1 << 16) {
                        self.budget.go_on(spot)?;
                    }
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

    /// Checks that the elements which an accessor counts are there, before anything is made of them.
    /// None if they are zeros, which no bytes stand for.
    pub(super) fn check(
        &self,
        name: &str,
        accessor: &Accessor<'_>,
    ) -> Result<Option<Strided<'_>>, IoError> {
        let spot = || Spot::file(self.file).column(name);
        let (count, width) = (accessor.count(), accessor.size());
        self.budget.check_rows(count, spot)?;
        if let Some(view) = accessor.view() {
            let stride = view.stride().unwrap_or(width);
            if stride < width {
                let reason = format!("`{name}` has elements of {width} bytes every {stride} bytes");
                return Err(syntax(self.file, reason));
            }
            return self.elements(&view, accessor.offset(), count, width, stride).map(Some);
        }
        // What belongs to such vertices, triangles or other values of them, takes a byte at least.
        if count > self.n_bytes {
            return Err(IoError::Unsupported {
                spot: spot(),
                what: format!("{count} elements without bytes, more than the file has bytes"),
                hint: "export the mesh again, with a buffer view for it".into(),
            });
        }
        Ok(None)
    }

    /// The elements of a view, all of which are inside it.
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
                expected: format!("{} bytes behind an offset", needed.unwrap_or(usize::MAX)),
                found: bytes.map_or(0, <[u8]>::len).to_string(),
            }),
        }
    }
}

fn largest(kind: DataType) -> f32 {
    match kind {
        DataType::I8 => f32::from(i8::MAX),
        DataType::U8 => f32::from(u8::MAX),
        DataType::I16 => f32::from(i16::MAX),
        DataType::U16 => f32::from(u16::MAX),
        DataType::U32 => u32::MAX as f32,
        DataType::F32 => 1.0,
    }
}
