//! Apache Parquet files, with the feature `arrow`.
//!
//! Columns become what they do in [`arrow`](crate::arrow) files. Only the columns asked for are
//! read, a row group at a time. Written are row groups of 262,144 rows, compressed with snappy;
//! read are files without compression or with snappy, gzip, brotli, zstd or lz4.

use std::fs::File;
use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use millstream_base::Column;
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::ColumnPath;

use crate::arrow::{BEGUN, Batcher, Batches, schema};
use crate::encoder::{ColumnSpec, Encoder};
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::guard::guarded;

mod footer;

/// Rows of a row group.
const ROW_GROUP: usize = 1 << 18;
/// Rows that are decoded at once.
const BATCH: usize = 1 << 13;

/// Where a file's bytes are.
pub(crate) enum Source {
    File(File),
    Bytes(Bytes),
}

impl Source {
    /// The same bytes once more.
    pub(crate) fn again(&self, file: &str) -> Result<Self, IoError> {
        match self {
            Self::File(source) => {
                let failed = |source| IoError::Read { file: file.to_owned(), source };
                source.try_clone().map(Self::File).map_err(failed)
            }
            Self::Bytes(bytes) => Ok(Self::Bytes(bytes.clone())),
        }
    }
}

/// A file whose footer was read.
pub(crate) struct Opened {
    file: String,
    builder: Builder,
    schema: SchemaRef,
    n_rows: u64,
}

enum Builder {
    File(ParquetRecordBatchReaderBuilder<File>),
    Bytes(ParquetRecordBatchReaderBuilder<Bytes>),
}

impl Opened {
    /// Reads the footer.
    pub(crate) fn open(file: &str, source: Source) -> Result<Self, IoError> {
        let builder = match source {
            Source::File(source) => Builder::File(builder_of(file, source)?),
            Source::Bytes(source) => Builder::Bytes(builder_of(file, source)?),
        };
        let (metadata, schema) = match &builder {
            Builder::File(builder) => (builder.metadata(), builder.schema()),
            Builder::Bytes(builder) => (builder.metadata(), builder.schema()),
        };
        let mut n_rows = 0_u64;
        for group in metadata.row_groups() {
            let rows = u64::try_from(group.num_rows()).ok();
            let total = rows.and_then(|rows| n_rows.checked_add(rows));
            n_rows = total.ok_or_else(|| IoError::Syntax {
                spot: Spot::file(file),
                format: Format::Parquet,
                reason: "its numbers of rows cannot be".into(),
            })?;
        }
        let schema = std::sync::Arc::clone(schema);
        Ok(Self { file: file.to_owned(), builder, schema, n_rows })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows that the file promises.
    pub(crate) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Whether the column of this name holds nulls, if the file counts them.
    pub(crate) fn has_nulls(&self, name: &str) -> Option<bool> {
        let metadata = match &self.builder {
            Builder::File(builder) => builder.metadata(),
            Builder::Bytes(builder) => builder.metadata(),
        };
        metadata.row_groups().iter().try_fold(false, |any, group| {
            let is_it = |path: &ColumnPath| matches!(path.parts(), [only] if only == name);
            let column = group.columns().iter().find(|column| is_it(column.column_path()))?;
            Some(any || column.statistics()?.null_count_opt()? > 0)
        })
    }

    /// Starts reading these columns.
    pub(crate) fn read(self, columns: &[usize]) -> Result<RowGroups, IoError> {
        let reader = guarded(&self.file, Format::Parquet, || match self.builder {
            Builder::File(builder) => reader_of(builder, columns),
            Builder::Bytes(builder) => reader_of(builder, columns),
        })?;
        Ok(RowGroups { file: self.file, reader, is_done: false })
    }
}

fn builder_of<R: ChunkReader + 'static>(
    file: &str,
    source: R,
) -> Result<ParquetRecordBatchReaderBuilder<R>, IoError> {
    footer::check(file, &source)?;
    guarded(file, Format::Parquet, || ParquetRecordBatchReaderBuilder::try_new(source))
}

fn reader_of<R: ChunkReader + 'static>(
    builder: ParquetRecordBatchReaderBuilder<R>,
    columns: &[usize],
) -> Result<ParquetRecordBatchReader, parquet::errors::ParquetError> {
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    builder.with_projection(mask).with_batch_size(BATCH).build()
}

/// The rows of a file.
pub(crate) struct RowGroups {
    file: String,
    reader: ParquetRecordBatchReader,
    is_done: bool,
}

impl Batches for RowGroups {
    fn next(&mut self) -> Result<Option<RecordBatch>, IoError> {
        if self.is_done {
            return Ok(None);
        }
        let batch = guarded(&self.file, Format::Parquet, || self.reader.next().transpose());
        // A reader that failed may not be asked again.
        self.is_done = !matches!(batch, Ok(Some(_)));
        batch
    }
}

/// Writes row groups.
#[derive(Default)]
pub(crate) struct ParquetEncoder {
    state: Option<(ArrowWriter<Vec<u8>>, Batcher)>,
}

impl Encoder for ParquetEncoder {
    fn begin(
        &mut self,
        file: &str,
        columns: &[ColumnSpec],
        out: &mut dyn Write,
    ) -> Result<(), IoError> {
        let schema = schema(file, Format::Parquet, columns)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_dictionary_enabled(false);
        for field in schema.fields() {
            if *field.data_type() == DataType::LargeUtf8 {
                let path = ColumnPath::new(vec![field.name().clone()]);
                properties = properties.set_column_dictionary_enabled(path, true);
            }
        }
        let failed = |source| IoError::Write { file: file.to_owned(), source };
        let writer = ArrowWriter::try_new(
            Vec::new(),
            std::sync::Arc::clone(&schema),
            Some(properties.build()),
        );
        let mut writer = writer.map_err(|error| failed(std::io::Error::other(error)))?;
        drain(&mut writer, out).map_err(failed)?;
        self.state = Some((writer, Batcher::new(schema)));
        Ok(())
    }

    fn rows(&mut self, file: &str, block: &[Column], out: &mut dyn Write) -> Result<(), IoError> {
        let (writer, batcher) = self.state.as_mut().expect(BEGUN);
        let mut write = || {
            for batch in batcher.push(block).map_err(std::io::Error::other)? {
                writer.write(&batch).map_err(std::io::Error::other)?;
                drain(writer, out)?;
            }
            Ok(())
        };
        write().map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn end(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let (writer, batcher) = self.state.as_mut().expect(BEGUN);
        if let Some(batch) = batcher.finish().map_err(std::io::Error::other)? {
            writer.write(&batch).map_err(std::io::Error::other)?;
        }
        writer.finish().map_err(std::io::Error::other)?;
        drain(writer, out)
    }
}

/// Hands on what was written so far.
fn drain(writer: &mut ArrowWriter<Vec<u8>>, out: &mut dyn Write) -> std::io::Result<()> {
    let bytes = writer.inner_mut();
    out.write_all(bytes)?;
    bytes.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, StringArray};
    use parquet::basic::{BrotliLevel, GzipLevel, ZstdLevel};

    use super::*;
    use crate::{ReadOptions, read_bytes};

    #[test]
    fn files_of_every_codec_are_read_and_cut_ones_refused() {
        let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..5000).map(f64::from)));
        let texts: Vec<String> = (0..5000).map(|i| format!("text {}", i % 7)).collect();
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).expect("a batch");
        for codec in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::BROTLI(BrotliLevel::default()),
            Compression::ZSTD(ZstdLevel::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
        ] {
            let properties = WriterProperties::builder().set_compression(codec).build();
            let writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties));
            let mut writer = writer.expect("starts");
            writer.write(&batch).expect("writes");
            let mut bytes = writer.into_inner().expect("finishes");
            let read = |bytes: &[u8]| {
                read_bytes("t.parquet", bytes, Format::Parquet, &ReadOptions::default())
            };
            let table = read(&bytes).unwrap_or_else(|error| panic!("{codec}: {error}"));
            assert_eq!(table.column("n").expect("there").get(4999).to_string(), "4999.0");
            assert_eq!(table.column("t").expect("there").get(8).to_string(), "\"text 1\"");
            assert!(read(&bytes[..bytes.len() / 2]).is_err(), "{codec}");
            // Behind the first page header, where the packed values are.
            bytes[60..400].fill(0x5a);
            let Err(error) = read(&bytes) else { continue };
            assert!(error.to_string().contains("t.parquet"), "{codec}: {error}");
        }
    }
}
