//! Reading every format stops with its budget, and the error names the file.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use millstream_base::{Column, Type, Vec3};
use millstream_io::{
    Budget, Ended, Format, IoError, ReadOptions, Table, TableReader, WriteOptions, read_bytes,
    write_bytes,
};

use crate::tables::{gltf, written};

/// Ten thousand rows, more than are read between two checks of the budget.
fn sample(format: Format) -> Vec<u8> {
    let mut table = Table::new("long");
    let column = match format.name() {
        "obj" => (0..10_000).map(|i| Vec3([i as f32, 1.0, 2.0])).collect::<Column>(),
        _ => (0..10_000).collect::<Column>(),
    };
    let name = match format.name() {
        "npy" => "value",
        "obj" => "position",
        _ => "a",
    };
    table.insert(name, column).expect("the first column");
    write_bytes(format, WriteOptions::default(), &table).expect("writes")
}

fn samples() -> Vec<(Format, Vec<u8>)> {
    let columns = format!("{{\"a\": [{}1]}}", "1, ".repeat(10_000));
    let mut samples: Vec<_> =
        written().into_iter().map(|format| (format, sample(format))).collect();
    samples.extend([(Format::GLTF, gltf()), (Format::JSON, columns.into_bytes())]);
    samples
}

fn options(budget: Budget) -> ReadOptions {
    ReadOptions { budget, ..ReadOptions::default() }
}

#[test]
fn every_format_is_read_until_it_is_cancelled() {
    let cancelled = Budget::until(&Arc::new(AtomicBool::new(true)));
    for (format, bytes) in samples() {
        read_bytes("t", &bytes, format, &options(Budget::default())).expect("reads");
        let ended = read_bytes("long file", &bytes, format, &options(cancelled.clone()));
        let error = ended.expect_err("is cancelled");
        assert!(matches!(error, IoError::Ended { why: Ended::Cancelled, .. }), "{format}: {error}");
        let text = error.to_string();
        assert!(text.starts_with("reading `long file`"), "{text}");
        assert!(text.ends_with("was cancelled"), "{text}");
        // Requested types need no inference first.
        let typed = options(cancelled.clone());
        let typed = match format.name() {
            "gltf" | "obj" => typed.with_column("position", Type::VEC3),
            "npy" => typed.with_column("value", Type::F64),
            _ => typed.with_column("a", Type::F64),
        };
        let ended = read_bytes("t", &bytes, format, &typed);
        assert!(matches!(ended, Err(IoError::Ended { .. })), "{format}");
    }
}

#[test]
fn blocks_are_read_until_the_deadline() {
    let directory = std::env::temp_dir().join(format!("millstream-until-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("makes a directory");
    let past = Instant::now().checked_sub(Duration::from_millis(1));
    let late = || options(Budget::by(past));
    for (format, bytes) in samples() {
        let path = directory.join(format!("long.{format}"));
        std::fs::write(&path, bytes).expect("writes");
        let ended = match TableReader::open(&path, None, &late()) {
            Ok(mut reader) => reader.next_block(100_000).map(|_| ()),
            Err(error) => Err(error),
        };
        let late = matches!(ended, Err(IoError::Ended { why: Ended::Deadline, .. }));
        assert!(late, "{format}: {ended:?}");
    }
    std::fs::remove_dir_all(&directory).expect("removes the directory");
}
