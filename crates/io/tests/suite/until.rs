//! Reading of every format ends when nobody waits any more, and says while reading which file.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use millstream_base::{Column, Type, Vec3};
use millstream_io::{
    Ended, Format, IoError, ReadOptions, Table, TableReader, Until, WriteOptions, read_bytes,
    write_bytes,
};

use crate::tables::{gltf, written};

/// Ten thousand rows, more than are read between two looks.
fn sample(format: Format) -> Vec<u8> {
    let mut table = Table::new("long");
    let column = match format {
        Format::Obj => (0..10_000).map(|i| Vec3([i as f32, 1.0, 2.0])).collect::<Column>(),
        _ => (0..10_000).collect::<Column>(),
    };
    let name = match format {
        Format::Npy => "value",
        Format::Obj => "position",
        _ => "a",
    };
    table.insert(name, column).expect("the first column");
    write_bytes(format, WriteOptions::default(), &table).expect("writes")
}

fn samples() -> Vec<(Format, Vec<u8>)> {
    let columns = format!("{{\"a\": [{}1]}}", "1, ".repeat(10_000));
    let mut samples: Vec<_> =
        written().into_iter().map(|format| (format, sample(format))).collect();
    samples.extend([(Format::Gltf, gltf()), (Format::Json, columns.into_bytes())]);
    samples
}

fn options(until: Until) -> ReadOptions {
    ReadOptions { until, ..ReadOptions::default() }
}

#[test]
fn every_format_is_read_until_it_is_cancelled() {
    let cancelled = Until { cancel: Some(Arc::new(AtomicBool::new(true))), deadline: None };
    for (format, bytes) in samples() {
        read_bytes("t", &bytes, format, &options(Until::default())).expect("reads");
        let ended = read_bytes("long file", &bytes, format, &options(cancelled.clone()));
        let error = ended.expect_err("is cancelled");
        assert!(matches!(error, IoError::Ended { why: Ended::Cancelled, .. }), "{format}: {error}");
        let text = error.to_string();
        assert!(text.starts_with("reading `long file`"), "{text}");
        assert!(text.ends_with("was cancelled"), "{text}");
        // Types that are asked for are not looked for first.
        let typed = options(cancelled.clone());
        let typed = match format {
            Format::Gltf | Format::Obj => typed.with_column("position", Type::VEC3),
            Format::Npy => typed.with_column("value", Type::F64),
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
    let late = || options(Until { cancel: None, deadline: past });
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
