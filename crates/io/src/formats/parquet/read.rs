//! Reading row groups, after the lengths in footer and pages have been checked.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnPath;

use super::{PARQUET, footer, pages};
use crate::error::{IoError, Spot};
use crate::format::{Blocks, Place, Source};
use crate::formats::arrow::{BatchBlocks, Batches, Decoder};
use crate::guard::guarded;
use crate::meter::Meter;
use crate::options::Wanted;

/// Rows decoded at once.
const BATCH: usize = 1 << 13;

/// Opens a file; it is read once beforehand if nulls determine types and the file does not count
/// them.
pub(super) fn open<'a>(
    source: &Source<'a>,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Box<dyn Blocks + 'a>, IoError> {
    let file = &*source.file;
    let chunks = Chunks::open(source)?;
    let opened = Opened::open(file, chunks.clone())?;
    let mut decoder = Decoder::new(file, opened.builder.schema(), wanted, meter)?;
    let mut unsure = decoder.unsure();
    unsure.ask(|name| opened.has_nulls(name));
    if unsure.is_open() {
        let mut batches = Opened::open(file, chunks)?.read(&unsure.project(), meter)?;
        unsure.look(&mut batches, &|| meter.look(|| Spot::file(file)))?;
    }
    decoder.widen(&unsure);
    let n_rows = Some(opened.n_rows);
    let batches = opened.read(&decoder.project(), meter)?;
    Ok(Box::new(BatchBlocks::new(file, decoder, batches, n_rows, meter)))
}

/// The bytes of a file, for the decoder.
#[derive(Clone)]
pub(super) enum Chunks {
    File(Arc<File>),
    Memory(Bytes),
}

impl Chunks {
    fn open(source: &Source<'_>) -> Result<Self, IoError> {
        match &source.place {
            Place::Path(path) => {
                let file = File::open(path).map_err(IoError::reading(&source.file))?;
                Ok(Self::File(Arc::new(file)))
            }
            Place::Memory(bytes) => Ok(Self::Memory(Bytes::copy_from_slice(bytes))),
        }
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => Length::len(&**file),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for Chunks {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Memory(bytes) => Box::new(bytes.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Memory(bytes) => bytes.get_bytes(start, length),
        }
    }
}

/// A file whose footer has been read.
struct Opened {
    file: String,
    chunks: Chunks,
    builder: ParquetRecordBatchReaderBuilder<Chunks>,
    /// The number of rows announced by the file.
    n_rows: u64,
}

impl Opened {
    /// Reads the footer.
    fn open(file: &str, chunks: Chunks) -> Result<Self, IoError> {
        let builder = builder_of(file, chunks.clone())?;
        let groups = builder.metadata().row_groups();
        let n_rows = groups.iter().try_fold(0_u64, |n_rows, group| {
            n_rows.checked_add(u64::try_from(group.num_rows()).ok()?)
        });
        let n_rows = n_rows.ok_or_else(|| {
            PARQUET.syntax(Spot::file(file), "its numbers of rows are impossible")
        })?;
        Ok(Self { file: file.to_owned(), chunks, builder, n_rows })
    }

    /// Whether the column of this name contains nulls, if the file counts them.
    fn has_nulls(&self, name: &str) -> Option<bool> {
        self.builder.metadata().row_groups().iter().try_fold(false, |any, group| {
            let is_it = |path: &ColumnPath| matches!(path.parts(), [only] if only == name);
            let column = group.columns().iter().find(|column| is_it(column.column_path()))?;
            Some(any || column.statistics()?.null_count_opt()? > 0)
        })
    }

    /// Starts reading these columns.
    fn read(self, columns: &[usize], meter: &Meter) -> Result<RowGroups, IoError> {
        let metadata = self.builder.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, columns.iter().copied());
        let is_wanted = |leaf| mask.leaf_included(leaf);
        pages::check(&self.file, &self.chunks, metadata, is_wanted, meter)?;
        let reader = guarded(&self.file, &PARQUET, || {
            self.builder.with_projection(mask).with_batch_size(BATCH).build()
        })?;
        Ok(RowGroups { file: self.file, reader, is_done: false })
    }
}

fn builder_of(
    file: &str,
    source: Chunks,
) -> Result<ParquetRecordBatchReaderBuilder<Chunks>, IoError> {
    footer::check(file, &source)?;
    guarded(file, &PARQUET, || {
        let metadata = ArrowReaderMetadata::load(&source, ArrowReaderOptions::new())?;
        let schema: SchemaRef = Arc::new(with_views(metadata.schema()));
        let options = ArrowReaderOptions::new().with_schema(schema);
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)?;
        Ok::<_, ParquetError>(ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata))
    })
}

/// The schema with strings as views: rows with the same string share it, so that a long string in a
/// dictionary exists only once.
fn with_views(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(viewed);
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn viewed(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::List(child) => DataType::List(viewed(child)),
        DataType::LargeList(child) => DataType::LargeList(viewed(child)),
        DataType::FixedSizeList(child, n) => DataType::FixedSizeList(viewed(child), *n),
        DataType::Struct(members) => DataType::Struct(members.iter().map(viewed).collect()),
        _ => return Arc::clone(field),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// The rows of a file.
struct RowGroups {
    file: String,
    reader: ParquetRecordBatchReader,
    is_done: bool,
}

impl Batches for RowGroups {
    fn next(&mut self) -> Result<Option<RecordBatch>, IoError> {
        if self.is_done {
            return Ok(None);
        }
        let batch = guarded(&self.file, &PARQUET, || self.reader.next().transpose());
        // A reader that failed must not be called again.
        self.is_done = !matches!(batch, Ok(Some(_)));
        batch
    }
}
