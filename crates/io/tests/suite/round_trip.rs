//! Written data reads back to the same bits.

use millstream_base::same::Same;
use millstream_io::{
    ColumnSpec, Encoding, Format, ReadOptions, Table, TableWriter, WriteOptions, read_bytes,
    write_bytes,
};
use proptest::prelude::*;

use crate::tables::{table, types_of, written};

fn check(table: &Table, format: Format, encoding: Encoding) -> Result<(), TestCaseError> {
    let options = WriteOptions { encoding, ..WriteOptions::default() };
    check_with(table, format, &options)
}

fn check_with(table: &Table, format: Format, options: &WriteOptions) -> Result<(), TestCaseError> {
    let bytes = write_bytes(format, options.clone(), table).expect("the format holds it");
    let mut options = ReadOptions::default();
    for (name, column) in table.iter() {
        options.columns.insert(name.to_owned(), Some(column.ty()));
    }
    let back = read_bytes("back", &bytes, format, &options).expect("reads what was written");
    for (name, column) in table.iter() {
        let read = back.column(name).expect("was read");
        prop_assert!(read.same(column), "{name}: {read:?} is not {column:?}");
    }
    Ok(())
}

/// The file itself states the types of its columns.
#[cfg(feature = "arrow")]
fn check_untyped(table: &Table, format: Format) -> Result<(), TestCaseError> {
    let bytes = write_bytes(format, WriteOptions::default(), table).expect("the format holds it");
    let back = read_bytes("back", &bytes, format, &ReadOptions::default()).expect("reads");
    prop_assert_eq!(back.n_columns(), table.n_columns());
    for (name, column) in table.iter() {
        let read = back.column(name).expect("was read");
        prop_assert!(read.same(column), "{name}: {read:?} is not {column:?}");
    }
    Ok(())
}

/// In two blocks, the file is the same as in one.
fn check_blocks(table: &Table, format: Format) -> Result<(), TestCaseError> {
    let options = WriteOptions::default();
    let whole = write_bytes(format, options.clone(), table).expect("the format holds it");
    let specs = table.iter().map(|(name, column)| ColumnSpec::new(name, column.ty())).collect();
    let mut writer = TableWriter::in_memory(format, options, specs).expect("the format holds it");
    let half = table.n_rows() / 2;
    for range in [0..half, half..table.n_rows()] {
        let block: Vec<_> = table.iter().map(|(_, column)| column.slice(range.clone())).collect();
        writer.write_rows(&block).expect("writes");
    }
    prop_assert_eq!(writer.finish().expect("finishes"), whole);
    Ok(())
}

proptest! {
    #[test]
    fn csv_reads_back(table in table(Format::CSV)) {
        check(&table, Format::CSV, Encoding::Binary)?;
    }

    #[test]
    fn tsv_reads_back(table in table(Format::TSV)) {
        check(&table, Format::TSV, Encoding::Binary)?;
    }

    #[test]
    fn json_reads_back(table in table(Format::JSON)) {
        check(&table, Format::JSON, Encoding::Binary)?;
    }

    #[test]
    fn json_lines_read_back(table in table(Format::JSON_LINES)) {
        check(&table, Format::JSON_LINES, Encoding::Binary)?;
    }

    #[test]
    fn npy_reads_back(table in table(Format::NPY)) {
        check(&table, Format::NPY, Encoding::Binary)?;
    }

    #[test]
    fn obj_reads_back(table in table(Format::OBJ)) {
        prop_assume!(table.n_rows() > 0 || table.n_columns() == 1);
        check(&table, Format::OBJ, Encoding::Binary)?;
    }

    #[test]
    fn ply_reads_back(table in table(Format::PLY), is_ascii: bool) {
        let encoding = if is_ascii { Encoding::Text } else { Encoding::Binary };
        check(&table, Format::PLY, encoding)?;
    }

    #[test]
    #[cfg(feature = "arrow")]
    fn parquet_reads_back(table in table(Format::PARQUET)) {
        check(&table, Format::PARQUET, Encoding::Binary)?;
        check_untyped(&table, Format::PARQUET)?;
    }

    #[test]
    #[cfg(feature = "arrow")]
    fn arrow_reads_back(table in table(Format::ARROW), is_stream: bool) {
        use millstream_io::Framing::{File, Stream};
        let framing = if is_stream { Stream } else { File };
        let options = WriteOptions { framing, ..WriteOptions::default() };
        check_with(&table, Format::ARROW, &options)?;
        check_untyped(&table, Format::ARROW)?;
    }

    #[test]
    fn blocks_make_the_same_file(
        (format, table) in prop::sample::select(written())
            .prop_flat_map(|format| (Just(format), table(format)))
    ) {
        check_blocks(&table, format)?;
    }
}

#[test]
fn every_type_that_a_format_holds_is_written_and_others_are_refused() {
    for format in written() {
        for ty in millstream_base::Type::BUILT_IN {
            let specs = vec![ColumnSpec::new("position", ty)];
            let writer = TableWriter::in_memory(format, WriteOptions::default(), specs);
            assert_eq!(writer.is_ok(), types_of(format).contains(&ty), "{format} {ty}");
        }
    }
}
