//! Writing row groups.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::format::{Encoder, Refusal};
use crate::formats::arrow::{BatchEncoder, BatchWriter, schema};
use crate::table::ColumnSpec;

/// Rows per row group.
const ROW_GROUP: usize = 1 << 18;

pub(super) fn start(
    has_gaps: bool,
    columns: &[ColumnSpec],
    out: &mut dyn Write,
) -> Result<Box<dyn Encoder>, Refusal> {
    let schema = schema(columns, has_gaps)?;
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
    let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties.build()));
    BatchEncoder::start(writer.map_err(io::Error::other)?, schema, out)
}

impl BatchWriter for ArrowWriter<Vec<u8>> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.write(batch).map_err(io::Error::other)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.finish().map(|_| ()).map_err(io::Error::other)
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        self.inner_mut()
    }
}
