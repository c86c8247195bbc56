//! Apache Parquet files, with the feature `arrow`.
//!
//! Columns become what they do in [`arrow`](crate::arrow) files. Only the columns asked for are
//! read, a row group at a time. Written are row groups of 262,144 rows, compressed with snappy;
//! read are files without compression or with snappy, gzip, brotli, zstd or lz4.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use millstream_base::Column;
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::ColumnPath;

use crate::arrow::{BEGUN, Batcher, Batches, schema};
use crate::builder::Budget;
use crate::encoder::{ColumnSpec, Encoder};
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::guard::guarded;

mod footer;
mod pages;

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
    source: Source,
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
        let again = source.again(file)?;
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
        let schema = Arc::clone(schema);
        Ok(Self { file: file.to_owned(), builder, source: again, schema, n_rows })
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
    pub(crate) fn read(self, columns: &[usize], budget: &Budget) -> Result<RowGroups, IoError> {
        let metadata = match &self.builder {
            Builder::File(builder) => builder.metadata(),
            Builder::Bytes(builder) => builder.metadata(),
        };
        let schema = metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, columns.iter().copied());
        let is_wanted = |leaf| mask.leaf_included(leaf);
        match &self.source {
            Source::File(source) => pages::check(&self.file, source, metadata, is_wanted, budget),
            Source::Bytes(source) => pages::check(&self.file, source, metadata, is_wanted, budget),
        }?;
        let reader = guarded(&self.file, Format::Parquet, || match self.builder {
            Builder::File(builder) => reader_of(builder, mask),
            Builder::Bytes(builder) => reader_of(builder, mask),
        })?;
        Ok(RowGroups { file: self.file, reader, is_done: false })
    }
}

fn builder_of<R: ChunkReader + 'static>(
    file: &str,
    source: R,
) -> Result<ParquetRecordBatchReaderBuilder<R>, IoError> {
    footer::check(file, &source)?;
    guarded(file, Format::Parquet, || {
        let metadata = ArrowReaderMetadata::load(&source, ArrowReaderOptions::new())?;
        let schema = Arc::new(with_views(metadata.schema()));
        let options = ArrowReaderOptions::new().with_schema(schema);
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)?;
        Ok::<_, ParquetError>(ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata))
    })
}

/// The schema with texts as views: rows that have the same text share it, so that a long one in a
/// dictionary is there once.
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

fn reader_of<R: ChunkReader + 'static>(
    builder: ParquetRecordBatchReaderBuilder<R>,
    mask: ProjectionMask,
) -> Result<ParquetRecordBatchReader, ParquetError> {
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
        let writer =
            ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties.build()));
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
    use arrow_array::{ArrayRef, Float64Array, StringArray};
    use parquet::basic::{BrotliLevel, GzipLevel, ZstdLevel};
    use parquet::file::properties::EnabledStatistics;

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

    /// A file with one column, which has a dictionary.
    fn with_dictionary(column: ArrayRef, codec: Compression) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter([("t", column)]).expect("a batch");
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_dictionary_page_size_limit(1 << 30)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties));
        let mut writer = writer.expect("starts");
        writer.write(&batch).expect("writes");
        writer.into_inner().expect("finishes")
    }

    #[test]
    fn pages_hold_what_was_promised() {
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 300]));
        let batch = RecordBatch::try_from_iter([("t", numbers)]).expect("a batch");
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties));
        let mut writer = writer.expect("starts");
        writer.write(&batch).expect("writes");
        let mut bytes = writer.into_inner().expect("finishes");
        // The header says twice how many bytes, and then how many values: 300, as twice that.
        let at = bytes.windows(2).position(|pair| pair == [0xd8, 0x04]).expect("it is there");
        assert_eq!(read_within(&bytes, 1 << 30).expect("is read").n_rows(), 300);
        // 256.
        bytes[at..at + 2].copy_from_slice(&[0x80, 0x04]);
        let error = read_within(&bytes, 1 << 30).expect_err("is refused").to_string();
        assert_eq!(
            error,
            "`t.parquet` column `t` is not valid parquet: its pages hold 256 values, 300 were promised"
        );
    }

    /// A file that pyarrow 26 wrote with `write_page_checksum=True` and one column of four numbers.
    #[test]
    fn checksums_of_pages_are_checked() {
        let bytes = include_bytes!("parquet/checksum.parquet");
        let read = |bytes: &[u8]| read_within(bytes, 1 << 30);
        assert_eq!(read(bytes).expect("is read").column("x").expect("there").len(), 4);
        let number = 2.5_f64.to_le_bytes();
        let at = bytes.windows(8).position(|bytes| bytes == number).expect("it is there");
        let mut wrong = bytes.to_vec();
        wrong[at] ^= 1;
        let error = read(&wrong).expect_err("is refused").to_string();
        assert!(error.contains("CRC"), "{error}");
    }

    fn read_within(bytes: &[u8], limit: usize) -> Result<crate::Table, IoError> {
        let limits = millstream_base::Limits { bytes: limit, ..Default::default() };
        let options = ReadOptions { limits, ..ReadOptions::default() };
        read_bytes("t.parquet", bytes, Format::Parquet, &options)
    }

    #[test]
    fn a_long_text_that_many_rows_share_is_counted_before_it_is_copied() {
        let long = "x".repeat(1 << 16);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![long.as_str(); 2000]));
        let bytes = with_dictionary(texts, Compression::SNAPPY);
        assert!(bytes.len() < 1 << 17, "{}", bytes.len());
        let error = read_within(&bytes, 1 << 24).expect_err("takes 131 MB").to_string();
        assert!(error.contains("column `t`") && error.contains("bytes"), "{error}");
        assert_eq!(read_within(&bytes, 1 << 28).expect("that is allowed").n_rows(), 2000);
    }

    #[test]
    fn a_dictionary_is_counted_before_it_is_unpacked() {
        let long = "x".repeat(1 << 24);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![long.as_str()]));
        let bytes = with_dictionary(texts, Compression::ZSTD(ZstdLevel::default()));
        assert!(read_within(&bytes, 1 << 26).is_ok());
        let error = read_within(&bytes, 1 << 20).expect_err("takes 16 MB").to_string();
        assert_eq!(error, "`t.parquet` column `t` has more than 1048576 bytes");
    }

    #[test]
    fn a_dictionary_that_promises_more_values_than_bytes_is_refused() {
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 100]));
        let mut bytes = with_dictionary(numbers, Compression::UNCOMPRESSED);
        // The header of the dictionary: its kind, sizes of 8 bytes, and then that it has one value, as
        // twice that. The number gets the room of another, unused field.
        let head = [0x15, 0x04, 0x15, 0x10, 0x15, 0x10, 0x4c, 0x15, 0x02, 0x15, 0x00];
        assert_eq!(bytes[4..15], head);
        bytes[4 + 8] = 0x7e;
        let error = read_within(&bytes, 1 << 30).expect_err("is refused").to_string();
        assert!(error.contains("a dictionary promises 63 values in 8 bytes"), "{error}");
    }
}
