//! Corrupt bytes give an error or a table, and never a panic.

use millstream_base::{Limits, Type};
use millstream_io::{
    Budget, ColumnChoice, Encoding, Format, Framing, ReadOptions, WriteOptions, read_bytes,
    read_column_bytes, write_bytes,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::tables::{gltf, table, written};

/// Suppresses messages of panics that become errors.
pub(crate) fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let outer = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !millstream_io::is_decoding() {
                outer(info);
            }
        }));
    });
}

fn read_every_way(bytes: &[u8], format: Format) {
    hush();
    let limits = Limits { list_length: 1 << 16, bytes: 1 << 20, ..Limits::default() };
    let all = ReadOptions { limits: limits.clone(), ..ReadOptions::default() };
    // Reading must end; the tests of each format check how.
    let _ = read_bytes("t", bytes, format, &all);
    for ty in [Type::F32, Type::VEC3, Type::STRING, Type::I32.list().expect("one level")] {
        let choice = ColumnChoice { column: None, otherwise: "a", ty: Some(ty) };
        let _ = read_column_bytes("t", bytes, format, choice, &limits, &Budget::default());
    }
}

/// Files of every format, written and by hand.
fn samples() -> Vec<(Format, Vec<u8>)> {
    let mut runner = TestRunner::deterministic();
    let mut samples = Vec::new();
    for format in written() {
        for (encoding, framing) in
            [(Encoding::Binary, Framing::File), (Encoding::Text, Framing::Stream)]
        {
            let tree = table(format).new_tree(&mut runner).expect("makes a table");
            let bytes = write_bytes(
                format,
                WriteOptions { encoding, framing, ..WriteOptions::default() },
                &tree.current(),
            );
            samples.push((format, bytes.expect("writes")));
        }
    }
    samples.push((Format::GLTF, gltf()));
    let by_hand: [(Format, &[u8]); 7] = [
        (Format::CSV, b"a,\"b\",p.x,p.y\n1,\"x\"\"y\",1e5,2\n2,,nan,-0\n"),
        (Format::TSV, b"a\t\"b\"\tp.x\n1\t\"x\ty\"\t1e5\n"),
        (Format::JSON, b"[{\"a\": [1, 2], \"b\": \"\\u00e9\"}, {\"a\": [3], \"b\": null}]"),
        (Format::JSON_LINES, b"{\"a\": [1, 2], \"b\": \"\\u00e9\"}\n{\"a\": [3], \"b\": null}\n"),
        (Format::JSON, b"{\"a\": [1, 2.5, \"nan\"], \"b\": [[[1]], [], [[2, 3]]]}"),
        (Format::OBJ, b"v 1 2 3\nv 4 5 6 1 0 0\nvn 0 0 1\nvt 0 1\nf 1/1/1 2//1 -1/1\nl 1 2\n"),
        (
            Format::PLY,
            b"ply\nformat binary_big_endian 1.0\nelement vertex 1\nproperty float x\n\
              property list uchar int i\nelement face 1\nproperty double d\nend_header\n\
              \x00\x00\x00\x01\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01",
        ),
    ];
    samples.extend(by_hand.map(|(format, bytes)| (format, bytes.to_vec())));
    samples
}

#[test]
fn files_truncated_anywhere_do_not_panic() {
    for (format, bytes) in samples() {
        for end in 0..=bytes.len() {
            read_every_way(&bytes[..end], format);
        }
    }
}

#[test]
fn files_with_one_changed_byte_do_not_panic() {
    for (format, bytes) in samples() {
        for i in 0..bytes.len() {
            for other in [0, b'9', b'\n', b'"', b'-', 0xff, bytes[i] ^ 1, bytes[i] ^ 0x80] {
                let mut bytes = bytes.clone();
                bytes[i] = other;
                read_every_way(&bytes, format);
            }
        }
    }
}

#[test]
fn noise_does_not_panic() {
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(20_000)
    .collect();
    for format in Format::ALL.into_iter().filter(|format| format.is_built()) {
        let error = read_bytes("noise", &noise, format, &ReadOptions::default());
        assert!(error.is_err(), "{format}");
    }
}

proptest! {
    #[test]
    fn text_of_any_kind_does_not_panic(
        format in prop::sample::select(Format::ALL.to_vec()),
        words in prop::collection::vec(
            prop::sample::select(vec![
                "v", "f", "vn", "1", "-1", "1e999", "/", "//", " ", "\n", ",", "\"", "[", "]", "{",
                "}", ":", "null", "nan", "a", "ply\n", "format ascii 1.0\n", "element vertex 3\n",
                "property float x\n", "property list uint int y\n", "end_header\n", "\\\n", "\r",
            ]),
            0..40,
        ),
    ) {
        read_every_way(words.concat().as_bytes(), format);
    }
}
