//! Files of other programs, and footers and pages that claim too much.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::{Format, IoError, ReadOptions, Table, read_bytes};

#[test]
fn files_of_every_codec_are_read_and_truncated_ones_refused() {
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
        let read =
            |bytes: &[u8]| read_bytes("t.parquet", bytes, Format::PARQUET, &ReadOptions::default());
        let table = read(&bytes).unwrap_or_else(|error| panic!("{codec}: {error}"));
        assert_eq!(table.column("n").expect("there").get(4999).to_string(), "4999.0");
        assert_eq!(table.column("t").expect("there").get(8).to_string(), "\"text 1\"");
        assert!(read(&bytes[..bytes.len() / 2]).is_err(), "{codec}");
        // After the first page header, among the packed values.
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
fn pages_must_hold_the_announced_values() {
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
    // The header states the number of bytes twice, then the number of values: 300, encoded as its
    // double.
    let at = bytes.windows(2).position(|pair| pair == [0xd8, 0x04]).expect("it is there");
    assert_eq!(read_within(&bytes, 1 << 30).expect("is read").n_rows(), 300);
    // 256.
    bytes[at..at + 2].copy_from_slice(&[0x80, 0x04]);
    let error = read_within(&bytes, 1 << 30).expect_err("is refused").to_string();
    assert_eq!(
        error,
        "`t.parquet` column `t` is not valid parquet: its pages hold 256 values instead of 300"
    );
}

/// A file that pyarrow 26 wrote with `write_page_checksum=True` and one column of four numbers.
#[test]
fn checksums_of_pages_are_checked() {
    let bytes = include_bytes!("checksum.parquet");
    let read = |bytes: &[u8]| read_within(bytes, 1 << 30);
    assert_eq!(read(bytes).expect("is read").column("x").expect("there").len(), 4);
    let number = 2.5_f64.to_le_bytes();
    let at = bytes.windows(8).position(|bytes| bytes == number).expect("it is there");
    let mut wrong = bytes.to_vec();
    wrong[at] ^= 1;
    let error = read(&wrong).expect_err("is refused").to_string();
    assert!(error.contains("CRC"), "{error}");
}

fn read_within(bytes: &[u8], limit: usize) -> Result<Table, IoError> {
    let limits = millstream_base::Limits { bytes: limit, ..Default::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    read_bytes("t.parquet", bytes, Format::PARQUET, &options)
}

#[test]
fn a_long_string_shared_by_many_rows_is_counted_before_copying() {
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
fn a_dictionary_that_claims_more_values_than_bytes_is_refused() {
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 100]));
    let mut bytes = with_dictionary(numbers, Compression::UNCOMPRESSED);
    // The header of the dictionary: its type, sizes of 8 bytes, and then one value, encoded as its
    // double. The larger number takes the space of another, unused field.
    let head = [0x15, 0x04, 0x15, 0x10, 0x15, 0x10, 0x4c, 0x15, 0x02, 0x15, 0x00];
    assert_eq!(bytes[4..15], head);
    bytes[4 + 8] = 0x7e;
    let error = read_within(&bytes, 1 << 30).expect_err("is refused").to_string();
    assert!(error.contains("a dictionary claims 63 values in 8 bytes"), "{error}");
}
