//! Any bytes as a data file of any format: reading never panics or takes unbounded memory, and the
//! columns of the result have one length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millstream::Limits;
use millstream_io::{Format, ReadOptions, read_bytes};

fuzz_target!(init: {
    // Panics of decoders are caught and become errors; any other panic ends the run.
    let end = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !millstream_io::is_decoding() {
            end(info);
        }
    }));
}, |input: (u8, &[u8])| {
    let (which, bytes) = input;
    let formats: Vec<Format> = Format::ALL.into_iter().filter(|format| format.is_built()).collect();
    let format = formats[which as usize % formats.len()];
    let limits = Limits { list_length: 100_000, bytes: 50_000_000, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    match read_bytes("file", bytes, format, &options) {
        Ok(table) => {
            let lengths: Vec<usize> = table.into_columns().values().map(|column| column.len()).collect();
            assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "{lengths:?}");
        }
        Err(error) => assert!(error.to_string().contains("file"), "{error}"),
    }
});
