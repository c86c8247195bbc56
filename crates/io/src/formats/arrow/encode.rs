//! From columns to record batches.
//!
//! Rows are collected and cut into batches of one size, so that a file does not depend on the
//! blocks in which it is written. Rows without a value in some column have a null there.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array,
    Int64Array, LargeListArray, LargeStringArray, RecordBatch, RecordBatchOptions, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type};

use super::fields::TYPE_KEY;
use crate::format::{Encoder, OPAQUE, Refusal};
use crate::options::{Framing, WriteOptions};
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

/// The schema of a file with these columns; `has_gaps` says whether they may contain nulls.
pub(in crate::formats) fn schema(
    columns: &[ColumnSpec],
    has_gaps: bool,
) -> Result<SchemaRef, Refusal> {
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let refusal = || Refusal::column(column, OPAQUE);
        let data_type = data_type(column.ty).ok_or_else(refusal)?;
        let noted = HashMap::from([(TYPE_KEY.to_owned(), column.ty.name().to_owned())]);
        fields.push(Field::new(&column.name, data_type, has_gaps).with_metadata(noted));
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
    options: &WriteOptions,
    columns: &[ColumnSpec],
    out: &mut dyn Write,
) -> Result<Box<dyn Encoder>, Refusal> {
    let schema = schema(columns, options.has_gaps)?;
    match options.framing {
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
    /// The pending rows that lack a value, by column.
    gaps: Vec<Gaps>,
}

/// Ranges of rows, in ascending order.
type Gaps = Vec<Range<usize>>;

impl<W: BatchWriter + 'static> BatchEncoder<W> {
    pub(in crate::formats) fn start(
        mut writer: W,
        schema: SchemaRef,
        out: &mut dyn Write,
    ) -> Result<Box<dyn Encoder>, Refusal> {
        drain(&mut writer, out)?;
        let gaps = vec![Gaps::new(); schema.fields().len()];
        Ok(Box::new(Self { writer, schema, pending: Vec::new(), gaps }))
    }

    fn write(&mut self, columns: &[Column], gaps: &[Gaps], out: &mut dyn Write) -> io::Result<()> {
        let batch = self.batch(columns, gaps).map_err(io::Error::other)?;
        self.writer.write(&batch)?;
        drain(&mut self.writer, out)
    }

    fn batch(&self, columns: &[Column], gaps: &[Gaps]) -> Result<RecordBatch, ArrowError> {
        let arrays = columns.iter().zip(gaps).map(|(column, gaps)| with_nulls(column, gaps));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
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

impl<W: BatchWriter + 'static> BatchEncoder<W> {
    fn add(&mut self, block: &[Column], is_absent: &[bool], out: &mut dyn Write) -> io::Result<()> {
        let n_rows = block.first().map_or(0, Column::len);
        let n_pending = self.pending.first().map_or(0, Column::len);
        for (gaps, _) in self.gaps.iter_mut().zip(is_absent).filter(|(_, is_absent)| **is_absent) {
            gaps.push(n_pending..n_pending + n_rows);
        }
        if n_pending == 0 && n_rows == BATCH {
            let gaps = self.gaps.iter_mut().map(std::mem::take).collect::<Vec<Gaps>>();
            return self.write(block, &gaps, out);
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
            let rows = i * BATCH..(i + 1) * BATCH;
            let gaps: Vec<Gaps> = self.gaps.iter().map(|gaps| within(gaps, &rows)).collect();
            self.write(&sliced(&all, rows), &gaps, out)?;
        }
        let rest = n_full * BATCH..n_rows;
        for gaps in &mut self.gaps {
            *gaps = within(gaps, &rest);
        }
        self.pending = if n_full == 0 { all } else { sliced(&all, rest) };
        Ok(())
    }
}

impl<W: BatchWriter + 'static> Encoder for BatchEncoder<W> {
    fn rows_without(
        &mut self,
        block: &[Column],
        is_absent: &[bool],
        out: &mut dyn Write,
    ) -> Result<(), Refusal> {
        self.add(block, is_absent, out).map_err(Refusal::Io)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if pending.first().is_some_and(|column| !column.is_empty()) {
            let gaps = std::mem::take(&mut self.gaps);
            self.write(&pending, &gaps, out)?;
        }
        self.writer.finish()?;
        drain(&mut self.writer, out)
    }
}

/// The parts of ranges that lie in these rows, counted from the first of them.
fn within(gaps: &[Range<usize>], rows: &Range<usize>) -> Gaps {
    let part = |gap: &Range<usize>| gap.start.max(rows.start)..gap.end.min(rows.end);
    let parts = gaps.iter().map(part).filter(|part| !part.is_empty());
    parts.map(|part| part.start - rows.start..part.end - rows.start).collect()
}

/// A column with nulls in these rows.
fn with_nulls(column: &Column, gaps: &[Range<usize>]) -> Result<ArrayRef, ArrowError> {
    let values = array(column)?;
    if gaps.is_empty() {
        return Ok(values);
    }
    let mut is_there = vec![true; column.len()];
    for gap in gaps {
        is_there[gap.clone()].fill(false);
    }
    let data = values.to_data().into_builder().nulls(Some(NullBuffer::from(is_there)));
    Ok(make_array(data.build()?))
}

fn sliced(columns: &[Column], rows: Range<usize>) -> Vec<Column> {
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
