//! `NumPy` arrays: one column, called `value`.
//!
//! The first axis counts rows. An array of one axis is a column of scalars; with a second axis of
//! 2, 3 or 4 `f32` it is vec2, vec3 or vec4 (quat or color, if asked for), with 16 or 4 by 4 a
//! mat4, and with any other size or type a list per row. Both byte orders and both memory orders
//! are read. Written are little-endian arrays in C order; mat4 as 4 by 4.
//!
//! Headers are read and written by `npyz`. The bytes behind them are turned into columns here, since
//! a column is the whole array at once, in any order, with the row of a number that does not fit.

use std::io::Write;

use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type};

use crate::builder::{Budget, Builder, column_of_lanes, one_nan};
use crate::encoder::{ColumnSpec, Encoder, Patch, cannot_write};
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::json::ONLY;
use crate::options::Wanted;
use crate::plan::{Fields, Naming, Target};
use crate::scalar::{Misfit, Scalar};
use crate::table::{Table, joined};

mod blocks;
mod header;

pub(crate) use blocks::NpyBlocks;
use header::{Element, Header};

/// Reads the array.
pub(crate) fn read(
    file: &str,
    bytes: &[u8],
    wanted: Wanted<'_>,
    budget: &Budget,
) -> Result<Table, IoError> {
    let (header, data) = header::read(file, bytes)?;
    let mut table = Table::new(file);
    for target in fields_of(file, wanted)? {
        let array = Array { file, header: &header, data, first_row: 0 };
        table.insert(&target.name, array.column(target.ty, budget)?)?;
    }
    Ok(table)
}

fn fields_of(file: &str, wanted: Wanted<'_>) -> Result<Vec<Target>, IoError> {
    let names = [ONLY.to_owned()];
    let is_number = |_: usize| false;
    let naming = &Naming::WHOLE;
    Fields { file, names: &names, n_main: 1, is_number: &is_number, naming }.plan(wanted)
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

    fn column(&self, ty: Option<Type>, budget: &Budget) -> Result<Column, IoError> {
        let n_rows = self.header.n_rows();
        budget.check_rows(n_rows, || self.spot())?;
        self.check_shape(self.data.len(), budget)?;
        let (ty, lane) = self.type_of(ty)?;
        let n_lanes = n_rows.saturating_mul(self.header.per_row());
        budget.check_bytes(n_lanes.saturating_mul(lane.size()), || self.spot())?;
        budget.go_on(|| self.spot())?;
        match self.cast(ty, lane) {
            Some(column) => Ok(column),
            None => self.convert(ty, lane, budget),
        }
    }

    /// Checks the shape against the number of bytes that are there.
    fn check_shape(&self, n_bytes: usize, budget: &Budget) -> Result<(), IoError> {
        let n_rows = self.header.n_rows();
        let per_row = self.header.per_row();
        budget.check_list(per_row, || self.spot())?;
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
            // Such rows take no bytes in the file, so nothing would bound the memory they take.
            return Err(self.no_column());
        }
        Ok(())
    }

    /// The type of the column, the one asked for if it is possible, and its lanes.
    fn type_of(&self, ty: Option<Type>) -> Result<(Type, Lane), IoError> {
        let ty = match ty {
            Some(ty) => ty,
            None => self.native_type()?,
        };
        Ok((ty, self.lane_of(ty)?))
    }

    /// The type of the column if nobody asks for one.
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
        IoError::Unsupported {
            spot: self.spot(),
            what: format!("an array of shape {}", self.header.shape_text()),
            hint: "reshape it to one row per element: array.reshape(n, -1)".into(),
        }
    }

    /// The lanes of a type that the rows of this array can become.
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
            IoError::OtherType {
                spot: self.spot(),
                ty,
                found: format!("an array of {} with shape {shape}", self.header.element.lane()),
                hint: "the shape must be (n,) for scalars and (n, 3) for a vec3".into(),
            }
        })
    }

    /// The column without looking at each element, where the file has it as memory would.
    fn cast(&self, ty: Type, lane: Lane) -> Option<Column> {
        let is_same = self.header.element == Element::of_lane(lane)
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

    fn convert(&self, ty: Type, lane: Lane, budget: &Budget) -> Result<Column, IoError> {
        let per_row = self.header.per_row();
        let mut builder = Builder::new(ty).expect("lanes and lists of lanes can be built");
        let is_list = ty.element().is_some();
        let n_lanes = ty.lanes().map_or(per_row, |(_, n)| usize::from(n));
        for row in 0..self.header.n_rows() {
            for i in 0..per_row {
                if (row * per_row + i).is_multiple_of(1 << 16) {
                    let row = self.first_row + row as u64 + 1;
                    budget.go_on(|| Spot::row(self.file, row))?;
                }
                let scalar = self.scalar(row, i);
                let bits =
                    scalar.to_bits(lane).map_err(|misfit| self.misfit(row, i, lane, misfit))?;
                builder.elements().push_bits(bits);
            }
            for _ in per_row..n_lanes {
                // Only the alpha of a color may be left out.
                builder.push_bits(u64::from(1.0_f32.to_bits()));
            }
            if is_list {
                builder.end_list();
            }
        }
        Ok(builder.finish())
    }

    fn misfit(&self, row: usize, i: usize, lane: Lane, misfit: Misfit) -> IoError {
        let spot = Spot::row(self.file, self.first_row + row as u64 + 1);
        let ty = Type::of_lane(lane);
        let found = match self.scalar(row, i) {
            Scalar::Bool(x) => x.to_string(),
            Scalar::Int(x) => x.to_string(),
            Scalar::Big(x) => x.to_string(),
            Scalar::F32(x) => format!("{x:?}"),
            Scalar::F64(x) => format!("{x:?}"),
        };
        match misfit {
            Misfit::Shape => {
                let form = millstream_base::literal::form_of(ty);
                IoError::NotOfType { spot, ty, found, form }
            }
            Misfit::Range => IoError::OutOfRange { spot, ty, found },
        }
    }

    fn scalar(&self, row: usize, i: usize) -> Scalar {
        let at = self.header.position(row, i) * self.header.element.size();
        self.header.element.scalar(&self.data[at..], self.header.is_big_endian)
    }
}

/// Writes an array.
#[derive(Debug, Default)]
pub(crate) struct NpyEncoder {
    ty: Option<Type>,
    buffer: Vec<u8>,
}

impl Encoder for NpyEncoder {
    fn begin(
        &mut self,
        file: &str,
        columns: &[ColumnSpec],
        out: &mut dyn Write,
    ) -> Result<(), IoError> {
        let [column] = columns else {
            return Err(IoError::CannotWriteTable {
                file: file.to_owned(),
                format: Format::Npy,
                columns: joined(columns.iter().map(|column| column.name.as_str())),
                hint: "npy holds one column; write several to csv, json or ply".into(),
            });
        };
        if column.ty.lanes().is_none() {
            let hint = "npy holds numbers; write text and lists to json";
            return Err(cannot_write(file, Format::Npy, column, hint));
        }
        self.ty = Some(column.ty);
        out.write_all(&header::write(column.ty, 0))
            .map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn rows(&mut self, file: &str, block: &[Column], out: &mut dyn Write) -> Result<(), IoError> {
        self.buffer.clear();
        append_lanes(&block[0], &mut self.buffer);
        out.write_all(&self.buffer)
            .map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn patches(&self) -> bool {
        true
    }

    fn patch(&self, n_rows: u64) -> Option<Patch> {
        self.ty.map(|ty| Patch { offset: 0, bytes: header::write(ty, n_rows) })
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
