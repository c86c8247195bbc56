//! Columns and tables under construction, cell by cell.

use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use millstream_base::num::Float;
use millstream_base::ragged::Ragged;
use millstream_base::types::Kind;
use millstream_base::{Color, Column, Lane, Mat4, Quat, Type, Value, Vec2, Vec3, Vec4};

use crate::error::{IoError, Spot};
use crate::meter::Meter;
use crate::scalar::missing_lane;
use crate::table::{ColumnSpec, Table};

/// A column under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    ty: Type,
    cells: Cells,
    /// The bytes of strings, in addition to the handles.
    text_bytes: usize,
}

#[derive(Debug)]
enum Cells {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<Arc<str>>),
    List { offsets: Vec<usize>, elements: Box<Builder> },
}

impl Builder {
    /// An empty column of `ty`; `None` for types of the embedding program, which no file can hold.
    pub(crate) fn new(ty: Type) -> Option<Self> {
        let cells = match ty.kind() {
            Kind::Lanes(Lane::Bool, _) => Cells::Bool(Vec::new()),
            Kind::Lanes(Lane::I32, _) => Cells::I32(Vec::new()),
            Kind::Lanes(Lane::I64, _) => Cells::I64(Vec::new()),
            Kind::Lanes(Lane::F32, _) => Cells::F32(Vec::new()),
            Kind::Lanes(Lane::F64, _) => Cells::F64(Vec::new()),
            Kind::String => Cells::Text(Vec::new()),
            Kind::List(element) => {
                Cells::List { offsets: vec![0], elements: Box::new(Self::new(element)?) }
            }
            Kind::Opaque => return None,
        };
        Some(Self { ty, cells, text_bytes: 0 })
    }

    /// Type of the column.
    pub(crate) fn ty(&self) -> Type {
        self.ty
    }

    /// Appends one lane in the encoding of `Value::lane`; a vector takes all its lanes in turn.
    pub(crate) fn push_bits(&mut self, bits: u64) {
        match &mut self.cells {
            Cells::Bool(lanes) => lanes.push(bits != 0),
            Cells::I32(lanes) => lanes.push(bits as u32 as i32),
            Cells::I64(lanes) => lanes.push(bits as i64),
            Cells::F32(lanes) => lanes.push(f32::from_bits(bits as u32)),
            Cells::F64(lanes) => lanes.push(f64::from_bits(bits)),
            Cells::Text(_) | Cells::List { .. } => panic!("only types of lanes take lanes"),
        }
    }

    /// Appends the lanes missing from a cell with this many: only the alpha of a color, which is 1.
    pub(crate) fn push_alpha(&mut self, n_given: usize) {
        let n = self.ty.lanes().map_or(0, |(_, n)| usize::from(n));
        for _ in n_given..n {
            self.push_bits(u64::from(1.0_f32.to_bits()));
        }
    }

    /// Appends the value for a missing cell: NaN or the empty string. Returns false for types
    /// without one.
    pub(crate) fn push_missing(&mut self) -> bool {
        match self.ty.kind() {
            Kind::Lanes(lane, n) => match missing_lane(lane) {
                Some(bits) => (0..n).for_each(|_| self.push_bits(bits)),
                None => return false,
            },
            Kind::String => self.push_text(""),
            Kind::List(_) | Kind::Opaque => return false,
        }
        true
    }

    /// Appends a string.
    pub(crate) fn push_text(&mut self, text: &str) {
        let Cells::Text(texts) = &mut self.cells else {
            panic!("only a column of strings takes a string")
        };
        self.text_bytes += text.len();
        texts.push(text.into());
    }

    /// Appends a value of the column's type.
    pub(crate) fn push_value(&mut self, value: &Value) {
        match (&mut self.cells, value) {
            (Cells::List { offsets, elements }, Value::List(list)) => {
                for element in list.iter() {
                    elements.push_value(&element);
                }
                offsets.push(offsets.last().copied().unwrap_or(0) + list.len());
            }
            (Cells::Text(_), Value::String(text)) => self.push_text(text),
            _ => {
                let n = self.ty.lanes().map_or(0, |(_, n)| usize::from(n));
                for i in 0..n {
                    self.push_bits(value.lane(i).expect("the value is of the column's type"));
                }
            }
        }
    }

    /// Ends a list whose elements have been pushed into [`elements`](Self::elements).
    pub(crate) fn end_list(&mut self) {
        let Cells::List { offsets, elements } = &mut self.cells else {
            panic!("only a column of lists takes lists")
        };
        offsets.push(elements.n_cells());
    }

    /// Ends lists of these lengths, whose elements have been pushed into
    /// [`elements`](Self::elements).
    #[cfg(feature = "arrow")]
    pub(crate) fn end_lists(&mut self, lengths: impl Iterator<Item = usize>) {
        let Cells::List { offsets, .. } = &mut self.cells else {
            panic!("only a column of lists takes lists")
        };
        let mut end = offsets.last().copied().unwrap_or(0);
        for length in lengths {
            end += length;
            offsets.push(end);
        }
    }

    /// The lanes so far if they are `f32`, to append many at once.
    #[cfg(feature = "arrow")]
    pub(crate) fn f32_lanes(&mut self) -> Option<&mut Vec<f32>> {
        if let Cells::F32(lanes) = &mut self.cells { Some(lanes) } else { None }
    }

    /// The lanes so far if they are `f64`, to append many at once.
    #[cfg(feature = "arrow")]
    pub(crate) fn f64_lanes(&mut self) -> Option<&mut Vec<f64>> {
        if let Cells::F64(lanes) = &mut self.cells { Some(lanes) } else { None }
    }

    /// The column of the elements of lists; the column itself for other types.
    pub(crate) fn elements(&mut self) -> &mut Self {
        if self.ty.element().is_none() {
            return self;
        }
        let Cells::List { elements, .. } = &mut self.cells else {
            unreachable!("a list type is built as lists")
        };
        elements
    }

    /// Number of values so far.
    pub(crate) fn n_cells(&self) -> usize {
        let n_lanes = self.ty.lanes().map_or(1, |(_, n)| usize::from(n));
        match &self.cells {
            Cells::Bool(lanes) => lanes.len() / n_lanes,
            Cells::I32(lanes) => lanes.len() / n_lanes,
            Cells::I64(lanes) => lanes.len() / n_lanes,
            Cells::F32(lanes) => lanes.len() / n_lanes,
            Cells::F64(lanes) => lanes.len() / n_lanes,
            Cells::Text(texts) => texts.len(),
            Cells::List { offsets, .. } => offsets.len() - 1,
        }
    }

    /// The bytes that the values so far take.
    pub(crate) fn bytes(&self) -> usize {
        self.text_bytes
            + match &self.cells {
                Cells::Bool(lanes) => lanes.len(),
                Cells::I32(lanes) => size_of_val(lanes.as_slice()),
                Cells::I64(lanes) => size_of_val(lanes.as_slice()),
                Cells::F32(lanes) => size_of_val(lanes.as_slice()),
                Cells::F64(lanes) => size_of_val(lanes.as_slice()),
                Cells::Text(texts) => size_of_val(texts.as_slice()),
                Cells::List { offsets, elements } => {
                    size_of_val(offsets.as_slice()) + elements.bytes()
                }
            }
    }

    /// The column.
    pub(crate) fn finish(self) -> Column {
        match self.cells {
            Cells::Bool(lanes) => Column::from_vec(lanes),
            Cells::I32(lanes) => Column::from_vec(lanes),
            Cells::I64(lanes) => Column::from_vec(lanes),
            Cells::F64(lanes) => Column::from_vec(one_nan(lanes)),
            Cells::F32(lanes) => column_of_lanes(self.ty, lanes),
            Cells::Text(texts) => Column::from_vec(texts),
            Cells::List { offsets, elements } => {
                let lists = Ragged::new(offsets, elements.finish());
                Column::from_ragged(lists.expect("offsets count the elements pushed"))
            }
        }
    }
}

/// The lanes with a single representation of NaN: a file may contain others, which would differ by
/// their bits.
pub(crate) fn one_nan<T: Float>(mut lanes: Vec<T>) -> Vec<T> {
    for lane in &mut lanes {
        *lane = T::canonical(*lane);
    }
    lanes
}

/// A column of a type made of `f32` lanes.
pub(crate) fn column_of_lanes(ty: Type, lanes: Vec<f32>) -> Column {
    let lanes = one_nan(lanes);
    if ty == Type::VEC2 {
        Column::from_vec(grouped::<Vec2>(&lanes))
    } else if ty == Type::VEC3 {
        Column::from_vec(grouped::<Vec3>(&lanes))
    } else if ty == Type::VEC4 {
        Column::from_vec(grouped::<Vec4>(&lanes))
    } else if ty == Type::QUAT {
        Column::from_vec(grouped::<Quat>(&lanes))
    } else if ty == Type::COLOR {
        Column::from_vec(grouped::<Color>(&lanes))
    } else if ty == Type::MAT4 {
        Column::from_vec(grouped::<Mat4>(&lanes))
    } else {
        Column::from_vec(lanes)
    }
}

fn grouped<T: NoUninit + AnyBitPattern>(lanes: &[f32]) -> Vec<T> {
    bytemuck::cast_slice(lanes).to_vec()
}

/// A table under construction: a builder for each of its columns.
#[derive(Debug)]
pub(crate) struct TableBuilder {
    file: String,
    names: Vec<String>,
    pub(crate) columns: Vec<Builder>,
    /// The number of cells until limits are checked again.
    left: usize,
}

impl TableBuilder {
    /// The number of cells between two checks of the limits.
    const CELLS: usize = 1 << 12;

    /// An empty table with these columns, none of them of an opaque type.
    pub(crate) fn new(file: &str, specs: &[ColumnSpec]) -> Self {
        let builder = |spec: &ColumnSpec| Builder::new(spec.ty).expect("opaque types were refused");
        Self {
            file: file.to_owned(),
            names: specs.iter().map(|spec| spec.name.clone()).collect(),
            columns: specs.iter().map(builder).collect(),
            left: Self::CELLS,
        }
    }

    /// Records that this many cells were pushed, and checks the limits from time to time.
    pub(crate) fn pushed(
        &mut self,
        n_cells: usize,
        meter: &Meter,
        spot: impl Fn() -> Spot,
    ) -> Result<(), IoError> {
        match self.left.checked_sub(n_cells) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                // A check visits each column, and there may be as many columns as cells.
                self.left = Self::CELLS.max(self.columns.len());
                self.check(meter, spot)
            }
        }
    }

    /// Checks the rows and bytes so far, and whether the table is still wanted.
    pub(crate) fn check(&self, meter: &Meter, spot: impl Fn() -> Spot) -> Result<(), IoError> {
        meter.look(&spot)?;
        let most = self.columns.iter().map(Builder::n_cells).max().unwrap_or(0);
        meter.check_rows(most, &spot)?;
        meter.check_bytes(self.columns.iter().map(Builder::bytes).sum(), &spot)
    }

    /// The table, after a last check.
    pub(crate) fn finish(self, meter: &Meter) -> Result<Table, IoError> {
        self.check(meter, || Spot::file(&self.file))?;
        let mut table = Table::new(&self.file);
        for (name, builder) in self.names.iter().zip(self.columns) {
            table.insert(name, builder.finish())?;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_base::same::Same;

    #[test]
    fn values_of_every_type_go_in_and_out() {
        for ty in Type::BUILT_IN {
            let lists = ty.list().expect("one level");
            for ty in [ty, lists] {
                let column = Column::filled(&ty.default_value(), 3);
                let mut builder = Builder::new(ty).expect("built in");
                column.iter().for_each(|value| builder.push_value(&value));
                assert_eq!(builder.n_cells(), 3);
                assert!(builder.finish().same(&column), "{ty}");
            }
        }
    }
}
