//! Files of other programs, and the positions in errors.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float16Array, Float32Array, Float64Array, Int64Array,
    ListArray, NullArray, RecordBatch, StringArray, StructArray, TimestampMillisecondArray,
    UInt8Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field};
use millstream_base::{Column, Limits, Type, Value};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::{
    ColumnSpec, Format, Framing, IoError, ReadOptions, Table, TableWriter, WriteOptions, read_bytes,
};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, a)| (name, a, true)))
        .expect("columns of one length")
}

fn file(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).expect("is built");
    let schema = batches[0].schema();
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &schema, options).expect("starts");
    for batch in batches {
        writer.write(batch).expect("writes");
    }
    writer.into_inner().expect("finishes")
}

fn read(bytes: &[u8], options: &ReadOptions) -> Result<Table, IoError> {
    read_bytes("t.arrow", bytes, Format::ARROW, options)
}

fn columns(batch: &RecordBatch) -> Vec<String> {
    let table = read(&file(std::slice::from_ref(batch), None), &ReadOptions::default());
    table.expect("reads").iter().map(|(name, column)| format!("{name} {column:?}")).collect()
}

fn want(name: &str, ty: Type) -> ReadOptions {
    ReadOptions::default().with_column(name, ty)
}

fn message(batch: RecordBatch, options: &ReadOptions) -> String {
    read(&file(&[batch.clone(), batch], None), options).expect_err("is refused").to_string()
}

#[test]
fn numbers_text_and_lists_of_other_programs_are_read() {
    let texts: DictionaryArray<Int32Type> = vec!["a", "b", "a"].into_iter().collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), Some(2)]),
        Some(vec![]),
        Some(vec![Some(3)]),
    ]);
    let half = |x: f32| half_of(x);
    let batch = batch(vec![
        ("u", Arc::new(UInt8Array::from(vec![1, 2, 255]))),
        ("h", Arc::new(Float16Array::from_iter_values([half(0.5), half(1.0), half(2.0)]))),
        ("t", Arc::new(TimestampMillisecondArray::from(vec![0, 1500, -250]))),
        ("s", Arc::new(texts)),
        ("l", Arc::new(lists)),
        ("n", Arc::new(Float64Array::from(vec![Some(1.0), None, Some(f64::INFINITY)]))),
    ]);
    assert_eq!(
        columns(&batch),
        [
            r#"u i32["1", "2", "255"]"#,
            r#"h f32["0.5", "1.0", "2.0"]"#,
            r#"t f64["0.0", "1.5", "-0.25"]"#,
            r#"s string["\"a\"", "\"b\"", "\"a\""]"#,
            r#"l list<i32>["[1, 2]", "[]", "[3]"]"#,
            r#"n f64["1.0", "\"nan\"", "\"inf\""]"#,
        ]
    );
}

/// A binary16 number without naming its crate.
fn half_of(x: f32) -> <arrow_array::types::Float16Type as arrow_array::ArrowPrimitiveType>::Native {
    let sign_and_exponent = ((x.to_bits() >> 23) as i32 - 127 + 15) as u16;
    <arrow_array::types::Float16Type as arrow_array::ArrowPrimitiveType>::Native::from_bits(
        sign_and_exponent << 10,
    )
}

#[test]
fn a_vector_is_columns_a_struct_or_a_list() {
    let x = || Arc::new(Float32Array::from(vec![1.0, 2.0])) as ArrayRef;
    let y = || Arc::new(Float64Array::from(vec![3.0, 4.0])) as ArrayRef;
    let flat = batch(vec![("p.x", x()), ("p.y", y()), ("p.z", x())]);
    assert_eq!(columns(&flat), [r#"p vec3["[1.0, 3.0, 1.0]", "[2.0, 4.0, 2.0]"]"#]);
    let member = |name: &str, array: ArrayRef| {
        (Arc::new(Field::new(name, array.data_type().clone(), true)), array)
    };
    let members = StructArray::from(vec![member("x", x()), member("y", y())]);
    let within = batch(vec![("p", Arc::new(members))]);
    assert_eq!(columns(&within), [r#"p vec2["[1.0, 3.0]", "[2.0, 4.0]"]"#]);
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>(vec![
        Some(vec![Some(1.0), Some(2.0), Some(3.0)]),
        Some(vec![Some(4.0), None, Some(6.0)]),
    ]);
    let lists = batch(vec![("p", Arc::new(lists))]);
    let table = read(&file(&[lists], None), &want("p", Type::VEC3)).expect("reads");
    let p = table.column("p").expect("wanted");
    assert_eq!(p.get(1).to_string(), "[4.0, \"nan\", 6.0]");
    let bare = batch(vec![("x", x()), ("y", y()), ("z", y())]);
    let choice = crate::ColumnChoice { column: None, otherwise: "a", ty: Some(Type::VEC3) };
    let column = crate::read_column_bytes(
        "t",
        &file(&[bare], None),
        Format::ARROW,
        choice,
        &Limits::default(),
        &crate::Budget::default(),
    );
    assert_eq!(column.expect("reads").get(0).to_string(), "[1.0, 3.0, 3.0]");
}

#[test]
fn misfits_are_named_by_row_and_column() {
    let numbers = || batch(vec![("n", Arc::new(Int64Array::from(vec![Some(1), None])))]);
    assert_eq!(
        message(numbers(), &want("n", Type::I64)),
        "`t.arrow` row 2 column `n` is null where i64 is needed"
    );
    assert!(read(&file(&[numbers()], None), &want("n", Type::F32)).is_ok());
    let large = batch(vec![("n", Arc::new(UInt64Array::from(vec![1, u64::MAX])))]);
    assert_eq!(
        message(large, &want("n", Type::I64)),
        "`t.arrow` row 2 column `n`: 18446744073709551615 does not fit i64"
    );
    let texts = batch(vec![("n", Arc::new(StringArray::from(vec![Some("a"), None])))]);
    assert_eq!(
        message(texts, &want("n", Type::F32)),
        "`t.arrow` column `n` holds Utf8 and cannot be read as f32"
    );
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1)]),
        Some(vec![Some(1), None]),
    ]);
    let lists = batch(vec![("n", Arc::new(lists))]);
    assert_eq!(
        message(lists, &ReadOptions::default()),
        "`t.arrow` row 2 column `n` is null where i32 is needed"
    );
    assert!(matches!(
        read(&file(&[numbers()], None), &want("m", Type::I64)),
        Err(IoError::MissingColumn { .. })
    ));
}

#[test]
fn nulls_are_nan_or_the_empty_string() {
    let texts: DictionaryArray<Int32Type> = vec![Some("a"), None].into_iter().collect();
    let truths = BooleanArray::from(vec![None, Some(true)]);
    let inner = Arc::new(Int64Array::from(vec![Some(7), None])) as ArrayRef;
    let member = Arc::new(Field::new("id", DataType::Int64, true));
    let batch = batch(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(1), None]))),
        ("whole", Arc::new(Int64Array::from(vec![Some(1), Some(2)]))),
        ("ok", Arc::new(truths)),
        ("t", Arc::new(StringArray::from(vec![None, Some("b")]))),
        ("d", Arc::new(texts)),
        ("s", Arc::new(StructArray::from(vec![(member, inner)]))),
    ]);
    let expected = [
        r#"n f64["1.0", "\"nan\""]"#,
        r#"whole i64["1", "2"]"#,
        r#"ok f64["\"nan\"", "1.0"]"#,
        r#"t string["\"\"", "\"b\""]"#,
        r#"d string["\"a\"", "\"\""]"#,
        r#"s.id f64["7.0", "\"nan\""]"#,
    ];
    assert_eq!(columns(&batch), expected);
    // Also where nulls come late, and from parquet, which may or may not count them.
    let early = batch.slice(0, 1);
    let bytes = file(&[early, batch.slice(1, 1)], None);
    let table = read(&bytes, &ReadOptions::default()).expect("reads");
    assert_eq!(table.column("n").expect("there").ty(), Type::F64);
    for statistics in [EnabledStatistics::Chunk, EnabledStatistics::None] {
        let properties = WriterProperties::builder().set_statistics_enabled(statistics).build();
        let writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties));
        let mut writer = writer.expect("starts");
        writer.write(&batch).expect("writes");
        let bytes = writer.into_inner().expect("finishes");
        let table = read_bytes("t", &bytes, Format::PARQUET, &ReadOptions::default());
        let table = table.expect("reads");
        let found: Vec<String> =
            table.iter().map(|(name, column)| format!("{name} {column:?}")).collect();
        assert_eq!(found, expected);
    }
    assert_eq!(
        message(batch, &want("ok", Type::BOOL)),
        "`t.arrow` row 1 column `ok` is null where bool is needed"
    );
}

/// A file that is removed at the end.
struct Scratch(std::path::PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test that failed before writing has nothing to remove.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn columns_of_only_nulls_are_read_as_the_requested_type() {
    let nulls: ArrayRef = Arc::new(NullArray::new(2));
    let one = batch(vec![("n", nulls)]);
    assert_eq!(columns(&one), [r#"n f64["\"nan\"", "\"nan\""]"#]);
    let mut writer = ArrowWriter::try_new(Vec::new(), one.schema(), None).expect("starts");
    writer.write(&one).expect("writes");
    let parquet = writer.into_inner().expect("finishes");
    for (ty, wanted) in
        [(Type::F32, r#""nan""#), (Type::STRING, r#""""#), (Type::VEC2, r#"["nan", "nan"]"#)]
    {
        let arrow = read(&file(std::slice::from_ref(&one), None), &want("n", ty));
        let parquet = read_bytes("t.parquet", &parquet, Format::PARQUET, &want("n", ty));
        for table in [arrow, parquet] {
            let table = table.expect("reads");
            let column = table.column("n").expect("it is there");
            assert_eq!([0, 1].map(|i| column.get(i).to_string()), [wanted, wanted]);
        }
    }
    for ty in [Type::I32, Type::F32.list().expect("there are lists")] {
        let refused = read(&file(std::slice::from_ref(&one), None), &want("n", ty));
        assert!(matches!(refused, Err(IoError::MissingCell { .. })), "{refused:?}");
    }
}

#[test]
fn nulls_are_found_before_the_first_block_of_a_file() {
    let numbers: Vec<Option<i64>> = (0..10).map(|i| (i != 9).then_some(i)).collect();
    let batch = batch(vec![("n", Arc::new(Int64Array::from(numbers)))]);
    let parts = [batch.slice(0, 5), batch.slice(5, 5)];
    let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("starts");
    for part in &parts {
        parquet.write(part).expect("writes");
    }
    let parquet = parquet.into_inner().expect("finishes");
    for (extension, bytes) in [("arrow", file(&parts, None)), ("parquet", parquet)] {
        let name = format!("millstream-nulls-{}.{extension}", std::process::id());
        let scratch = Scratch(std::env::temp_dir().join(name));
        std::fs::write(&scratch.0, bytes).expect("writes");
        let options = ReadOptions::default();
        let mut reader = crate::TableReader::open(&scratch.0, None, &options).expect("opens");
        assert_eq!(reader.columns()[0].ty, Type::F64, "{extension}");
        let mut found = Vec::new();
        while let Some(block) = reader.next_block(3).expect("reads") {
            found.extend_from_slice(
                block.column("n").expect("there").as_slice::<f64>().expect("f64"),
            );
        }
        assert_eq!(found[..9], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "{extension}");
        assert!(found.len() == 10 && found[9].is_nan(), "{extension}");
        let whole = crate::read(&scratch.0, None, &options).expect("reads");
        assert_eq!(whole.column("n").expect("there").ty(), Type::F64);
    }
}

#[test]
fn compressed_batches_are_read_and_their_sizes_checked() {
    let numbers: Vec<f64> = (0..5000).map(f64::from).collect();
    let batch = batch(vec![("n", Arc::new(Float64Array::from(numbers)))]);
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let bytes = file(std::slice::from_ref(&batch), Some(codec));
        let table = read(&bytes, &ReadOptions::default()).expect("reads");
        assert_eq!(table.column("n").expect("there").get(4999).to_string(), "4999.0");
        // The size before the data is not bounded by anything in the file.
        let size = 40_000_i64.to_le_bytes();
        let at = bytes.windows(8).position(|window| window == size).expect("the size is there");
        let mut huge = bytes;
        huge[at..at + 8].copy_from_slice(&(1_i64 << 60).to_le_bytes());
        let error = read(&huge, &ReadOptions::default()).expect_err("too much");
        assert!(matches!(error, IoError::Limit { .. }), "{error}");
        huge[at..at + 8].copy_from_slice(&(16_i64 << 30).to_le_bytes());
        assert!(read(&huge, &ReadOptions::default()).is_err());
    }
}

#[test]
fn a_truncated_file_is_not_mistaken_for_a_short_one() {
    let specs = vec![ColumnSpec::new("n", Type::F32)];
    let write = |framing| {
        let options = WriteOptions { framing, ..WriteOptions::default() };
        let mut writer =
            TableWriter::in_memory(Format::ARROW, options, specs.clone()).expect("starts");
        writer.write_rows(&[Column::from_vec(vec![1.0_f32; 100_000])]).expect("writes");
        writer.finish().expect("finishes")
    };
    let bytes = write(Framing::File);
    for end in 0..bytes.len().min(600) {
        assert!(read(&bytes[..end], &ReadOptions::default()).is_err(), "{end}");
    }
    assert!(read(&bytes[..bytes.len() - 1], &ReadOptions::default()).is_err());
    let bytes = write(Framing::Stream);
    let table = read(&bytes, &ReadOptions::default()).expect("reads");
    assert_eq!(table.n_rows(), 100_000);
    assert!(read(&bytes[..bytes.len() - 100], &ReadOptions::default()).is_err());
}

#[test]
fn unsupported_data_is_refused_only_if_it_is_read() {
    let bytes_column = arrow_array::BinaryArray::from(vec![&b"a"[..]]);
    let batch =
        batch(vec![("b", Arc::new(bytes_column)), ("n", Arc::new(Float32Array::from(vec![1.0])))]);
    assert_eq!(*batch.schema().field(0).data_type(), DataType::Binary);
    let bytes = file(&[batch], None);
    assert!(matches!(read(&bytes, &ReadOptions::default()), Err(IoError::Unsupported { .. })));
    assert!(read(&bytes, &want("n", Type::F32)).is_ok());
}

#[test]
fn a_column_of_another_type_has_a_hint() {
    let hint = |array: ArrayRef, ty: Type| {
        let error = read(&file(&[batch(vec![("x", array)])], None), &want("x", ty));
        match error.expect_err("does not fit") {
            IoError::OtherType { hint, .. } => hint,
            error => error.to_string(),
        }
    };
    let texts = || Arc::new(StringArray::from(vec!["1", "a"])) as ArrayRef;
    assert_eq!(
        hint(texts(), Type::F64),
        "it holds strings from row 1 on: read it as string, or write a number there"
    );
    let bytes = Arc::new(arrow_array::BinaryArray::from(vec![&b"\xff"[..]]));
    assert_eq!(hint(bytes, Type::STRING), "bytes cannot be read: write numbers or strings");
    let numbers = Arc::new(Float64Array::from(vec![1.0]));
    assert_eq!(hint(numbers, Type::STRING), "read it as numbers, or write it as strings");
}

#[test]
fn rows_without_a_value_are_nulls_in_each_batch() {
    // More than a batch, and rows that begin and end within one.
    let blocks = [(40_000_usize, false), (50_000, true), (1, false), (60_000, true), (3, false)];
    for format in [Format::ARROW, Format::PARQUET] {
        let options = WriteOptions { has_gaps: true, ..WriteOptions::default() };
        let specs = vec![ColumnSpec::new("n", Type::I32), ColumnSpec::new("s", Type::STRING)];
        let mut writer = TableWriter::in_memory(format, options, specs).expect("starts");
        let mut expected: Vec<f64> = Vec::new();
        for (n, is_absent) in blocks {
            let first = expected.len();
            let numbers: Vec<i32> = (first..first + n).map(|row| row as i32).collect();
            let texts = Column::filled(&Value::from("x"), n);
            let block = [Column::from_vec(numbers.clone()), texts];
            writer.write_rows_without(&block, &[is_absent, false]).expect("writes");
            let shown = |x: i32| if is_absent { f64::NAN } else { f64::from(x) };
            expected.extend(numbers.into_iter().map(shown));
        }
        let bytes = writer.finish().expect("finishes");
        let table = read_bytes("t", &bytes, format, &want("n", Type::F64)).expect("reads");
        let found = table.column("n").expect("it has n").as_slice::<f64>().expect("numbers");
        let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(&expected).all(same), "{format}");
    }
}

#[test]
fn formats_without_nulls_refuse_rows_without_a_value() {
    let specs = vec![ColumnSpec::new("n", Type::I32)];
    let mut writer =
        TableWriter::in_memory(Format::NPY, WriteOptions::default(), specs).expect("starts");
    let block = [Column::from_vec(vec![1_i32])];
    let error = writer.write_rows_without(&block, &[true]).expect_err("npy has no nulls");
    assert!(error.to_string().contains("npy"), "{error}");
    writer.write_rows_without(&block, &[false]).expect("it has a value");
}
