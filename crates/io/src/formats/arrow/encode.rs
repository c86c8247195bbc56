//! From columns to record batches.
//!
//! Rows are collected and cut into batches of one size, so that a file does not depend on the
//! blocks in which it is written.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array,
    LargeListArray, LargeStringArray, RecordBatch, RecordBatchOptions,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type};

use super::fields::TYPE_KEY;
use crate::format::{Encoder, OPAQUE, Refusal};
use crate::options::Framing;
use crate::table::ColumnSpec;

/// Rows per batch.
const BATCH: usize = 1 << 16;

/// The type in a file for values of `ty`; `None` for types that cannot be written.
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
pub(in crate::formats) fn schema(columns: &[ColumnSpec]) -> Result<SchemaRef, Refusal> {
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let refusal = || Refusal::column(column, OPAQUE);
        let data_type = data_type(column.ty).ok_or_else(refusal)?;
        let noted = HashMap::from([(TYPE_KEY.to_owned(), column.ty.name().to_owned())]);
        fields.push(Field::new(&column.name, data_type, false).with_metadata(noted));
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// A writer of another crate that collects bytes in memory.
pub(in crate::formats) trait BatchWriter: Send {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()>;

    fn finish(&mut self) -> io::Result<()>;

    /// The bytes written so far, to be taken.
    fn bytes(&mut self) -> &mut Vec<u8>;
}

impl BatchWriter for FileWriter<Vec<u8>> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.write(batch).map_err(io::Error::other)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.finish().map_err(io::Error::other)
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }
}

impl BatchWriter for StreamWriter<Vec<u8>> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.write(batch).map_err(io::Error::other)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.finish().map_err(io::Error::other)
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }
}

/// Starts an Arrow file or stream.
pub(super) fn start(
    framing: Framing,
    columns: &[ColumnSpec],
    out: &mut dyn Write,
) -> Result<Box<dyn Encoder>, Refusal> {
    let schema = schema(columns)?;
    match framing {
        Framing::File => {
            let writer = FileWriter::try_new(Vec::new(), &schema);
            BatchEncoder::start(writer.map_err(io::Error::other)?, schema, out)
        }
        Framing::Stream => {
            let writer = StreamWriter::try_new(Vec::new(), &schema);
            BatchEncoder::start(writer.map_err(io::Error::other)?, schema, out)
        }
    }
}

/// Cuts blocks of any size into batches and writes them.
pub(in crate::formats) struct BatchEncoder<W> {
    writer: W,
    schema: SchemaRef,
    pending: Vec<Column>,
}

impl<W: BatchWriter + 'static> BatchEncoder<W> {
    pub(in crate::formats) fn start(
        mut writer: W,
        schema: SchemaRef,
        out: &mut dyn Write,
    ) -> Result<Box<dyn Encoder>, Refusal> {
        drain(&mut writer, out)?;
        Ok(Box::new(Self { writer, schema, pending: Vec::new() }))
    }

    fn write(&mut self, columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
        let batch = self.batch(columns).map_err(io::Error::other)?;
        self.writer.write(&batch)?;
        drain(&mut self.writer, out)
    }

    fn batch(&self, columns: &[Column]) -> Result<RecordBatch, ArrowError> {
        let arrays = columns.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        let n_rows = columns.first().map_or(0, Column::len);
        let options = RecordBatchOptions::new().with_row_count(Some(n_rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
    }
}

/// Passes on the bytes written so far.
fn drain(writer: &mut impl BatchWriter, out: &mut dyn Write) -> io::Result<()> {
    let bytes = writer.bytes();
    out.write_all(bytes)?;
    bytes.clear();
    Ok(())
}

impl<W: BatchWriter + 'static> Encoder for BatchEncoder<W> {
    fn rows(&mut self, block: &[Column], out: &mut dyn Write) -> Result<(), Refusal> {
        let n_rows = block.first().map_or(0, Column::len);
        let n_pending = self.pending.first().map_or(0, Column::len);
        if n_pending == 0 && n_rows == BATCH {
            return self.write(block, out).map_err(Refusal::Io);
        }
        let all: Vec<Column> = if n_pending == 0 {
            block.to_vec()
        } else {
            let pairs = self.pending.iter().zip(block);
            let joined = pairs.map(|(a, b)| Column::concat(a.ty(), &[a.clone(), b.clone()]));
            joined.collect::<Option<_>>().expect("blocks have the types of the file")
        };
        let n_rows = n_pending + n_rows;
        let n_full = n_rows / BATCH;
        for i in 0..n_full {
            self.write(&sliced(&all, i * BATCH..(i + 1) * BATCH), out)?;
        }
        self.pending = if n_full == 0 { all } else { sliced(&all, n_full * BATCH..n_rows) };
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if pending.first().is_some_and(|column| !column.is_empty()) {
            self.write(&pending, out)?;
        }
        self.writer.finish()?;
        drain(&mut self.writer, out)
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
    const IS: &str = "the lane matches the type";
    match lane {
        Lane::Bool => Arc::new(BooleanArray::from(column.as_slice::<bool>().expect(IS).to_vec())),
        Lane::I32 => Arc::new(Int32Array::from(column.as_slice::<i32>().expect(IS).to_vec())),
        Lane::I64 => Arc::new(Int64Array::from(column.as_slice::<i64>().expect(IS).to_vec())),
        Lane::F32 => Arc::new(Float32Array::from(column.as_slice::<f32>().expect(IS).to_vec())),
        Lane::F64 => Arc::new(Float64Array::from(column.as_slice::<f64>().expect(IS).to_vec())),
    }
}
