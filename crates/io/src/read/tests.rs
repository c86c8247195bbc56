//! A file read in blocks of any size equals the file read as a whole.

use std::path::PathBuf;

use millstream_base::same::Same;
use millstream_base::{Column, Type, Vec3};

use super::*;
use crate::{WriteOptions, write};

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("millstream-blocks-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test that failed before writing has nothing to remove.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn table(format: Format, n: usize) -> Table {
    let mut table = Table::new("t");
    let x = |i: usize| i as f32 * 0.25 - 3.0;
    let vectors: Column = (0..n).map(|i| Vec3([x(i), x(i + 1), -x(i)])).collect();
    let name = if format == Format::NPY { "value" } else { "position" };
    table.insert(name, vectors).expect("first");
    if ![Format::NPY, Format::OBJ].contains(&format) {
        table.insert("n", (0..n as i32).collect()).expect("one length");
    }
    if ![Format::NPY, Format::OBJ, Format::PLY].contains(&format) {
        let texts = (0..n).map(|i| std::sync::Arc::<str>::from("\"a\n,".repeat(i % 3)));
        table.insert("text", texts.collect()).expect("one length");
    }
    table
}

fn check(scratch: &Scratch, n_rows: usize, options: &ReadOptions) {
    let whole = read(&scratch.0, None, options).expect("reads");
    let mut reader = TableReader::open(&scratch.0, None, options).expect("opens");
    assert_eq!(reader.columns().len(), whole.n_columns());
    let mut at = 0;
    while let Some(block) = reader.next_block(n_rows).expect("reads") {
        assert_eq!(block.n_rows(), n_rows.min(whole.n_rows() - at), "a block is full or the last");
        for (name, column) in whole.iter() {
            let part = column.slice(at..at + block.n_rows());
            assert!(block.column(name).expect("there").same(&part), "{name} at {at}");
        }
        at += block.n_rows();
    }
    assert_eq!(at, whole.n_rows());
    if let Some(n) = reader.n_rows() {
        assert_eq!(n, at as u64);
    }
    assert!(reader.next_block(n_rows).expect("stays at the end").is_none());
}

#[test]
fn blocks_together_equal_the_file() {
    for format in Format::ALL.into_iter().filter(|f| f.is_built() && *f != Format::GLTF) {
        for n in [0, 1, 1000] {
            let scratch = Scratch::new(&format!("{n}.{format}"));
            write(&scratch.0, None, WriteOptions::default(), &table(format, n)).expect("writes");
            for n_rows in [1, 7, 999, 1000, 5000] {
                check(&scratch, n_rows, &ReadOptions::default());
            }
        }
    }
}

#[test]
fn records_may_span_pieces() {
    let scratch = Scratch::new("long.csv");
    // More than one piece of a mebibyte, with line ends of both kinds inside cells.
    let mut text = String::from("\u{feff}n,text\r\n");
    for i in 0..60_000 {
        text.push_str(&format!("{i},\"{}\"{}", "x\n".repeat(i % 40), ["\r\n", "\n"][i % 2]));
    }
    std::fs::write(&scratch.0, &text).expect("writes");
    check(&scratch, 8_192, &ReadOptions::default());
    check(&scratch, 60_000, &ReadOptions::default().with_column("n", Type::F32));
    // The line of a wrong cell is the same as when the file is read as a whole.
    text.push_str("oh,\"\"\n");
    std::fs::write(&scratch.0, &text).expect("writes");
    let options = ReadOptions::default().with_column("n", Type::F32);
    let expected = read(&scratch.0, None, &options).expect_err("no number").to_string();
    let mut reader = TableReader::open(&scratch.0, None, &options).expect("opens");
    let error = loop {
        match reader.next_block(8_192) {
            Ok(block) => assert!(block.is_some(), "the wrong cell was not read"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), expected);
}

#[test]
fn limits_apply_to_each_block() {
    let scratch = Scratch::new("limits.csv");
    write(&scratch.0, None, WriteOptions::default(), &table(Format::CSV, 1000)).expect("writes");
    let limits = Limits { list_length: 100, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() }.with_column("n", Type::I32);
    assert!(matches!(read(&scratch.0, None, &options), Err(IoError::Limit { .. })));
    let mut reader = TableReader::open(&scratch.0, None, &options).expect("opens");
    assert!(reader.next_block(100).expect("is allowed").is_some());
    assert!(matches!(reader.next_block(101), Err(IoError::Limit { .. })));
}

#[test]
fn places_in_json_lines_are_those_of_the_file() {
    let scratch = Scratch::new("wrong.jsonl");
    let mut text = "{\"a\": 1}\n\n".repeat(5000);
    let refused = |text: &str, options: &ReadOptions| {
        std::fs::write(&scratch.0, text).expect("writes");
        let mut reader = match TableReader::open(&scratch.0, None, options) {
            Ok(reader) => reader,
            Err(error) => return error.to_string(),
        };
        loop {
            match reader.next_block(1000) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("is refused"),
                Err(error) => return error.to_string(),
            }
        }
    };
    let numbers = ReadOptions::default().with_column("a", Type::I32);
    text.push_str("{\"a\": \"x\"}\n");
    let error = refused(&text, &numbers);
    assert!(error.contains("row 5001 column `a`"), "{error}");
    text.push_str("{\"a\": 1\n");
    let error = refused(&text, &ReadOptions::default());
    assert!(error.contains("line 10002"), "{error}");
    let error = refused(&("{\"a\": 1}\n".repeat(4999) + "7\n"), &numbers);
    assert!(error.contains("line 5000") && error.contains("row 5000"), "{error}");
}

#[test]
fn an_endless_line_is_refused_at_the_limit() {
    let scratch = Scratch::new("endless.jsonl");
    std::fs::write(&scratch.0, "1".repeat(10_000)).expect("writes");
    let mut options = ReadOptions::default();
    options.limits.bytes = 1000;
    let error = TableReader::open(&scratch.0, None, &options).expect_err("is refused").to_string();
    assert!(error.contains("line 1") && error.contains("1000 bytes"), "{error}");
}

#[test]
fn keys_of_later_json_lines_are_columns() {
    let scratch = Scratch::new("keys.jsonl");
    let text = "{\"a\": 1}\n".repeat(5000) + "{\"b\": 2}\n";
    std::fs::write(&scratch.0, text).expect("writes");
    for options in [ReadOptions::default(), ReadOptions::default().with_column("b", Type::F64)] {
        let whole = read(&scratch.0, None, &options).expect("reads");
        let mut reader = TableReader::open(&scratch.0, None, &options).expect("opens");
        let names: Vec<&str> = reader.columns().iter().map(|column| &*column.name).collect();
        assert_eq!(names, whole.iter().map(|(name, _)| name).collect::<Vec<_>>());
        let mut last = String::new();
        while let Some(block) = reader.next_block(1000).expect("reads") {
            let column = block.column("b").expect("is there");
            last = column.get(column.len() - 1).to_string();
        }
        assert_eq!(last, "2.0");
    }
}
