//! From columns to record batches.
//!
//! Rows are gathered and cut into batches of one size, so that a file does not depend on the
//! blocks in which it is written.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array,
    LargeListArray, LargeStringArray, RecordBatch, RecordBatchOptions,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type};

use super::fields::TYPE_KEY;
use crate::encoder::{ColumnSpec, cannot_write};
use crate::error::IoError;
use crate::format::Format;

/// Rows of a batch.
const BATCH: usize = 1 << 16;

/// The type in which values of `ty` stand in a file; `None` for those that have no form.
fn data_type(ty: Type) -> Option<DataType> {
    let of_lane = |lane| match lane {
        Lane::Bool => DataType::Boolean,
        Lane::I32 => DataType::Int32,
        Lane::I64 => DataType::Int64,
        Lane::F32 => DataType::Float32,
        Lane::F64 => DataType::Float64,
    };
    Some(match ty.kind() {
        Kind::Lanes(lane, 1) => of_lane(lane),
        Kind::Lanes(lane, n) => DataType::FixedSizeList(item(of_lane(lane)), i32::from(n)),
        Kind::String => DataType::LargeUtf8,
        Kind::List(element) => DataType::LargeList(item(data_type(element)?)),
        Kind::Opaque => return None,
    })
}

fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, false))
}

/// The schema of a file with these columns.
pub(crate) fn schema(
    file: &str,
    format: Format,
    columns: &[ColumnSpec],
) -> Result<SchemaRef, IoError> {
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let data_type = data_type(column.ty).ok_or_else(|| {
            cannot_write(file, format, column, "only types with a text form can be written")
        })?;
        let noted = HashMap::from([(TYPE_KEY.to_owned(), column.ty.name().to_owned())]);
        fields.push(Field::new(&column.name, data_type, false).with_metadata(noted));
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Cuts blocks of any size into batches.
#[derive(Debug)]
pub(crate) struct Batcher {
    schema: SchemaRef,
    pending: Vec<Column>,
}

impl Batcher {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        Self { schema, pending: Vec::new() }
    }

    /// Takes a block and gives the batches that are full.
    pub(crate) fn push(&mut self, block: &[Column]) -> Result<Vec<RecordBatch>, ArrowError> {
        let n_rows = block.first().map_or(0, Column::len);
        let n_pending = self.pending.first().map_or(0, Column::len);
        if n_pending == 0 && n_rows == BATCH {
            return Ok(vec![self.batch(block)?]);
        }
        let all: Vec<Column> = if n_pending == 0 {
            block.to_vec()
        } else {
            let pairs = self.pending.iter().zip(block);
            let joined = pairs.map(|(a, b)| Column::concat(a.ty(), &[a.clone(), b.clone()]));
            joined.collect::<Option<_>>().expect("blocks have the types that were announced")
        };
        let n_rows = n_pending + n_rows;
        let n_full = n_rows / BATCH;
        let mut batches = Vec::with_capacity(n_full);
        for i in 0..n_full {
            batches.push(self.batch(&sliced(&all, i * BATCH..(i + 1) * BATCH))?);
        }
        self.pending = if n_full == 0 { all } else { sliced(&all, n_full * BATCH..n_rows) };
        Ok(batches)
    }

    /// The rows that are left; none if there were none at all.
    pub(crate) fn finish(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let pending = std::mem::take(&mut self.pending);
        if pending.first().is_none_or(Column::is_empty) {
            return Ok(None);
        }
        self.batch(&pending).map(Some)
    }

    fn batch(&self, columns: &[Column]) -> Result<RecordBatch, ArrowError> {
        let arrays = columns.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        let n_rows = columns.first().map_or(0, Column::len);
        let options = RecordBatchOptions::new().with_row_count(Some(n_rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
    }
}

fn sliced(columns: &[Column], rows: std::ops::Range<usize>) -> Vec<Column> {
    columns.iter().map(|column| column.slice(rows.clone())).collect()
}

fn array(column: &Column) -> Result<ArrayRef, ArrowError> {
    let ty = column.ty();
    Ok(match ty.kind() {
        Kind::Lanes(lane, 1) => scalars(column, lane),
        Kind::Lanes(_, n) => {
            let lanes = column.as_f32_lanes().expect("vectors are made of f32");
            let lanes = Arc::new(Float32Array::from(lanes.to_vec()));
            let item = item(DataType::Float32);
            Arc::new(FixedSizeListArray::try_new(item, i32::from(n), lanes, None)?)
        }
        Kind::String => {
            let texts = column.as_slice::<Arc<str>>().expect("a column of text");
            Arc::new(LargeStringArray::from_iter_values(texts))
        }
        Kind::List(element) => {
            let lists = column.as_ragged().expect("a column of lists");
            let offsets: Vec<i64> = lists.offsets().iter().map(|offset| *offset as i64).collect();
            let item = item(data_type(element).expect("other types were refused at the start"));
            let values = array(lists.values())?;
            Arc::new(LargeListArray::try_new(
                item,
                OffsetBuffer::new(offsets.into()),
                values,
                None,
            )?)
        }
        Kind::Opaque => unreachable!("opaque types were refused at the start"),
    })
}

fn scalars(column: &Column, lane: Lane) -> ArrayRef {
    const IS: &str = "the lane is that of the type";
    match lane {
        Lane::Bool => Arc::new(BooleanArray::from(column.as_slice::<bool>().expect(IS).to_vec())),
        Lane::I32 => Arc::new(Int32Array::from(column.as_slice::<i32>().expect(IS).to_vec())),
        Lane::I64 => Arc::new(Int64Array::from(column.as_slice::<i64>().expect(IS).to_vec())),
        Lane::F32 => Arc::new(Float32Array::from(column.as_slice::<f32>().expect(IS).to_vec())),
        Lane::F64 => Arc::new(Float64Array::from(column.as_slice::<f64>().expect(IS).to_vec())),
    }
}
