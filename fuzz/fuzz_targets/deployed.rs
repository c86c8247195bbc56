//! Any bytes as the compact form of a deployed document: reading gives a program or an error,
//! without panics or unbounded memory, and the program runs within its limits.
//!
//! If the bytes start like the compact form their checksum is corrected first, so that the readers
//! of the parts find the damage rather than the checksum.
#![no_main]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use millstream::deploy::is_binary;
use millstream::{Engine, Limits, Request};

/// Magic and version come before the checksum, everything else after it.
const SUM: std::ops::Range<usize> = 12..20;

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        Engine::new().with_library(millstream_blender::register).with_limits(small())
    })
}

fn small() -> Limits {
    Limits { expanded_nodes: 10_000, list_length: 10_000, bytes: 10_000_000, ..Limits::default() }
}

fn fnv_1a(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if is_binary(&bytes) && bytes.len() >= SUM.end {
        let sum = fnv_1a(&bytes[SUM.end..]);
        bytes[SUM].copy_from_slice(&sum.to_le_bytes());
    }
    if let Ok(program) = engine().load_binary(&bytes) {
        let mut request = Request::new().frame(3).count(4).with_limits(small());
        request.budget.deadline = Some(Instant::now() + Duration::from_secs(2));
        let _answer = program.run(&request);
    }
});
