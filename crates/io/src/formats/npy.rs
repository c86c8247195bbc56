//! `NumPy` arrays: one column, called `value`.
//!
//! The first axis counts rows. An array with one axis is a column of scalars; with a second axis of
//! 2, 3 or 4 `f32` it is vec2, vec3 or vec4 (quat or color on request), with 16 or 4 by 4 a mat4,
//! and with any other size or type a list per row. Both byte orders and both memory orders are
//! read. Arrays are written little-endian in C order, mat4 as 4 by 4.
//!
//! Headers are read and written by `npyz`. The bytes after them are converted here, because `npyz`
//! delivers numbers one by one and does not say in which row a number does not fit.

use std::io::{Read as _, Seek as _, SeekFrom, Write};

use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type};

use crate::builder::{Builder, column_of_lanes, one_nan};
use crate::error::{IoError, Spot};
use crate::fields::{Fields, Naming, ONLY};
use crate::format::{Blocks, Definition, Encoder, Reader, Refusal, Source, Stream, Whole, Writer};
use crate::meter::Meter;
use crate::options::Wanted;
use crate::scalar::{Misfit, Scalar};
use crate::stored::Stored;
use crate::table::{ColumnSpec, Table};

mod header;

use header::Header;

pub(crate) const NPY: Definition = Definition {
    name: "npy",
    aliases: &[],
    streams: &[],
    form: "write the file with numpy.save(file, array)",
    reader: Reader::Blocks(open),
    writer: Writer::File(|options, columns, out| start(&options.axes, columns, out)),
};

/// The rows of an array, a range at a time.
struct ArrayBlocks<'a> {
    file: String,
    stream: Box<dyn Stream + 'a>,
    header: Header,
    columns: Vec<ColumnSpec>,
    row: usize,
    meter: Meter,
}

/// Opens an array; one in Fortran order, whose rows are not contiguous, is read as a whole.
fn open<'a>(
    source: &Source<'a>,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Box<dyn Blocks + 'a>, IoError> {
    let file = &*source.file;
    let failed = IoError::reading(file);
    let mut stream = source.open()?;
    let mut start = Vec::new();
    (&mut stream).take(header::MAX_HEADER as u64 + 12).read_to_end(&mut start).map_err(&failed)?;
    let (header, data) = header::read(file, &start)?;
    let n_header = (start.len() - data.len()) as u64;
    let n_data = stream.seek(SeekFrom::End(0)).map_err(&failed)?.saturating_sub(n_header);
    stream.seek(SeekFrom::Start(n_header)).map_err(&failed)?;
    let n_data = usize::try_from(n_data).unwrap_or(usize::MAX);
    let mut array = Array { file, header: &header, data: &[], first_row: 0 };
    array.check_shape(n_data, meter)?;
    let names = [ONLY.to_owned()];
    let mut columns = Vec::new();
    for target in Fields::new(file, &names, &Naming::WHOLE).plan(wanted)? {
        let (ty, _) = array.type_of(target.ty)?;
        columns.push(ColumnSpec::new(&target.name, ty));
    }
    if header.has_rows_in_order() && header.n_axes() > 0 {
        let (file, meter) = (file.to_owned(), meter.clone());
        return Ok(Box::new(ArrayBlocks { file, stream, header, columns, row: 0, meter }));
    }
    let data = read_data(&mut stream, n_data, file, meter)?;
    array.data = &data;
    array.table(&columns, meter).map(|table| Box::new(Whole::new(table)) as Box<dyn Blocks>)
}

fn read_data(
    stream: &mut dyn Stream,
    n_bytes: usize,
    file: &str,
    meter: &Meter,
) -> Result<Vec<u8>, IoError> {
    meter.check_bytes(n_bytes, || Spot::file(file))?;
    meter.look(|| Spot::file(file))?;
    let mut data = vec![0; n_bytes];
    stream.read_exact(&mut data).map_err(IoError::reading(file))?;
    Ok(data)
}

impl Blocks for ArrayBlocks<'_> {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.columns.clone()
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.header.n_rows() as u64)
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let n = n_rows.min(self.header.n_rows() - self.row);
        if n == 0 {
            return Ok(None);
        }
        let header = self.header.with_rows(n);
        let n_bytes = n.saturating_mul(header.per_row()).saturating_mul(header.element.size());
        let data = read_data(&mut *self.stream, n_bytes, &self.file, &self.meter)?;
        let first_row = self.row as u64;
        let array = Array { file: &self.file, header: &header, data: &data, first_row };
        let table = array.table(&self.columns, &self.meter)?;
        self.row += n;
        Ok(Some(table))
    }
}

/// An array in a file.
struct Array<'a> {
    file: &'a str,
    header: &'a Header,
    data: &'a [u8],
    /// Rows of the file before these.
    first_row: u64,
}

impl Array<'_> {
    fn spot(&self) -> Spot {
        Spot::file(self.file)
    }

    fn table(&self, columns: &[ColumnSpec], meter: &Meter) -> Result<Table, IoError> {
        let mut table = Table::new(self.file);
        for column in columns {
            table.insert(&column.name, self.column(column.ty, meter)?)?;
        }
        Ok(table)
    }

    fn column(&self, ty: Type, meter: &Meter) -> Result<Column, IoError> {
        let n_rows = self.header.n_rows();
        meter.check_rows(n_rows, || self.spot())?;
        let lane = self.lane_of(ty)?;
        let n_lanes = n_rows.saturating_mul(self.header.per_row());
        meter.check_bytes(n_lanes.saturating_mul(lane.size()), || self.spot())?;
        meter.look(|| self.spot())?;
        match self.cast(ty, lane) {
            Some(column) => Ok(column),
            None => self.convert(ty, lane, meter),
        }
    }

    /// Checks the shape against the number of available bytes.
    fn check_shape(&self, n_bytes: usize, meter: &Meter) -> Result<(), IoError> {
        let n_rows = self.header.n_rows();
        let per_row = self.header.per_row();
        meter.check_list(per_row, || self.spot())?;
        let expected = n_rows
            .checked_mul(per_row)
            .and_then(|n| n.checked_mul(self.header.element.size()))
            .unwrap_or(usize::MAX);
        if n_bytes != expected {
            return Err(IoError::Length {
                spot: self.spot(),
                expected: format!("{expected} bytes"),
                found: n_bytes.to_string(),
            });
        }
        if per_row == 0 && n_rows > 0 {
            // Such rows take no bytes in the file, so nothing would limit their memory.
            return Err(self.no_column());
        }
        Ok(())
    }

    /// The type of the column, the requested one if possible, and its lanes.
    fn type_of(&self, ty: Option<Type>) -> Result<(Type, Lane), IoError> {
        let ty = match ty {
            Some(ty) => ty,
            None => self.native_type()?,
        };
        Ok((ty, self.lane_of(ty)?))
    }

    /// The type of the column if none is requested.
    fn native_type(&self) -> Result<Type, IoError> {
        let lane = self.header.element.lane();
        let scalar = Type::of_lane(lane);
        let shape = self.header.row_shape();
        Ok(match (lane, shape) {
            (_, []) => scalar,
            (Lane::F32, [2]) => Type::VEC2,
            (Lane::F32, [3]) => Type::VEC3,
            (Lane::F32, [4]) => Type::VEC4,
            (Lane::F32, [16] | [4, 4]) => Type::MAT4,
            (_, [_]) => scalar.list().ok_or_else(|| self.no_column())?,
            (_, _) => return Err(self.no_column()),
        })
    }

    fn no_column(&self) -> IoError {
        let what = format!("an array of shape {}", self.header.shape_text());
        let hint = "reshape it to one row per element: array.reshape(n, -1)";
        IoError::unsupported(self.spot(), what, hint)
    }

    /// The lanes of a type as which the rows of this array can be read.
    fn lane_of(&self, ty: Type) -> Result<Lane, IoError> {
        let per_row = self.header.per_row();
        let n_axes = self.header.row_shape().len();
        let lane = match ty.kind() {
            Kind::Lanes(lane, 1) if n_axes == 0 || per_row == 1 => Some(lane),
            Kind::Lanes(lane, n) if n > 1 && n_axes == 1 && per_row == usize::from(n) => Some(lane),
            Kind::Lanes(lane, 16) if *self.header.row_shape() == [4, 4] => Some(lane),
            Kind::Lanes(lane, 4) if ty == Type::COLOR && n_axes == 1 && per_row == 3 => Some(lane),
            Kind::List(element) if n_axes == 1 => match element.kind() {
                Kind::Lanes(lane, 1) => Some(lane),
                Kind::Lanes(..) | Kind::String | Kind::List(_) | Kind::Opaque => None,
            },
            Kind::Lanes(..) | Kind::String | Kind::List(_) | Kind::Opaque => None,
        };
        lane.ok_or_else(|| {
            let shape = self.header.shape_text();
            let found = format!("an array of {} with shape {shape}", self.header.element.lane());
            let hint = "the shape must be (n,) for scalars and (n, 3) for a vec3";
            IoError::other_type(self.spot(), ty, found, hint)
        })
    }

    /// The column without conversion of single elements, if the file has the memory layout.
    fn cast(&self, ty: Type, lane: Lane) -> Option<Column> {
        let is_same = self.header.element == Stored::of_lane(lane)
            && self.header.is_as_in_memory()
            && ty.lanes().is_some_and(|(_, n)| usize::from(n) == self.header.per_row());
        if !is_same {
            return None;
        }
        match lane {
            Lane::F32 => Some(column_of_lanes(ty, bytemuck::pod_collect_to_vec(self.data))),
            Lane::F64 => {
                let lanes = one_nan(bytemuck::pod_collect_to_vec::<u8, f64>(self.data));
                Some(Column::from_vec(lanes))
            }
            Lane::I32 => Some(Column::from_vec(bytemuck::pod_collect_to_vec::<u8, i32>(self.data))),
            Lane::I64 => Some(Column::from_vec(bytemuck::pod_collect_to_vec::<u8, i64>(self.data))),
            Lane::Bool => None,
        }
    }

    fn convert(&self, ty: Type, lane: Lane, meter: &Meter) -> Result<Column, IoError> {
        let per_row = self.header.per_row();
        let mut builder = Builder::new(ty).expect("lanes and lists of lanes can be built");
        let is_list = ty.element().is_some();
        for row in 0..self.header.n_rows() {
            let spot = || Spot::row(self.file, self.first_row + row as u64 + 1);
            meter.work(per_row, spot)?;
            for i in 0..per_row {
                let scalar = self.scalar(row, i);
                let bits = scalar.to_bits(lane);
                let misfit = |misfit: Misfit| misfit.error(spot(), lane, scalar.to_string());
                builder.elements().push_bits(bits.map_err(misfit)?);
            }
            if is_list {
                builder.end_list();
            } else {
                builder.push_alpha(per_row);
            }
        }
        Ok(builder.finish())
    }

    fn scalar(&self, row: usize, i: usize) -> Scalar {
        let at = self.header.position(row, i) * self.header.element.size();
        self.header.element.scalar(&self.data[at..], self.header.is_big_endian)
    }
}

/// Writes an array.
struct ArrayEncoder {
    ty: Type,
    /// The extents of the axes whose cells are the rows, if there are several.
    axes: Option<Vec<u64>>,
    n_rows: u64,
    buffer: Vec<u8>,
}

fn start(
    axes: &[usize],
    columns: &[ColumnSpec],
    out: &mut dyn Write,
) -> Result<Box<dyn Encoder>, Refusal> {
    let [column] = columns else {
        let hint = "npy holds one column; write several to csv, json or ply";
        return Err(Refusal::Table { hint });
    };
    if column.ty.lanes().is_none() {
        return Err(Refusal::column(column, "npy holds numbers; write strings and lists to json"));
    }
    let axes = (axes.len() > 1).then(|| axes.iter().map(|n| *n as u64).collect::<Vec<u64>>());
    out.write_all(&header::write(column.ty, axes.as_deref().unwrap_or(&[0])))?;
    Ok(Box::new(ArrayEncoder { ty: column.ty, axes, n_rows: 0, buffer: Vec::new() }))
}

impl Encoder for ArrayEncoder {
    fn rows(&mut self, block: &[Column], out: &mut dyn Write) -> Result<(), Refusal> {
        self.n_rows += block[0].len() as u64;
        self.buffer.clear();
        append_lanes(&block[0], &mut self.buffer);
        out.write_all(&self.buffer).map_err(Refusal::Io)
    }

    fn header(&self, n_rows: u64) -> Option<Vec<u8>> {
        match self.axes.as_deref() {
            None => Some(header::write(self.ty, &[n_rows])),
            // With axes, the header is final from the start unless cells of the first one are
            // missing.
            Some(axes @ [_, inner @ ..]) => {
                let per_cell: u64 = inner.iter().product();
                let is_whole = axes[0] * per_cell == n_rows;
                let fewer = [&[n_rows / per_cell.max(1)], inner].concat();
                (!is_whole).then(|| header::write_fewer(self.ty, &fewer, axes))
            }
            Some([]) => None,
        }
    }

    fn end(&mut self, _out: &mut dyn Write) -> std::io::Result<()> {
        let Some(axes) = &self.axes else { return Ok(()) };
        let n_cells = |axes: &[u64]| axes.iter().try_fold(1_u64, |n, axis| n.checked_mul(*axis));
        if let (Some(all), Some(per_cell)) = (n_cells(axes), n_cells(&axes[1..]))
            && self.n_rows <= all
            && (self.n_rows == all || self.n_rows.is_multiple_of(per_cell))
        {
            return Ok(());
        }
        let wrong = format!("{} rows are not the cells of axes of {axes:?}", self.n_rows);
        Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, wrong))
    }
}

fn append_lanes(column: &Column, out: &mut Vec<u8>) {
    if let Some(lanes) = column.as_f32_lanes() {
        out.extend(lanes.iter().flat_map(|x| x.to_le_bytes()));
    } else if let Some(lanes) = column.as_slice::<f64>() {
        out.extend(lanes.iter().flat_map(|x| x.to_le_bytes()));
    } else if let Some(lanes) = column.as_slice::<i64>() {
        out.extend(lanes.iter().flat_map(|x| x.to_le_bytes()));
    } else if let Some(lanes) = column.as_slice::<i32>() {
        out.extend(lanes.iter().flat_map(|x| x.to_le_bytes()));
    } else if let Some(lanes) = column.as_slice::<bool>() {
        out.extend(lanes.iter().map(|x| u8::from(*x)));
    }
}

#[cfg(test)]
mod tests;
