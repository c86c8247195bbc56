//! The hash of the bits of a value.

use millstream_base::{Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::{NodeDef, SocketType};

use super::{SOURCE, Stream, pcg4d};
use crate::shape::MADE_OF_NUMBERS;

pub(super) fn hash() -> NodeDef {
    NodeDef::new("random.hash", "Hashes a value to an integer")
        .details(
            "All 32 bits are used, and equal bits give equal hashes; the hashes of values that \
             differ slightly are uncorrelated. All NaNs are equal; +0 and -0 differ, and so do 1 \
             as an integer and 1 as another type. Suitable as the `id` of other random nodes.",
        )
        .source(SOURCE)
        .generic("T", MADE_OF_NUMBERS)
        .input("value", SocketType::Generic(0), "value to hash")
        .input_or("seed", Type::I32, 0.0, "random seed; different seeds give independent hashes")
        .output("value", Type::I32, "hash, any 32-bit integer")
        .form(|b, inputs| vec![vec![hashed(b, &inputs[0], inputs[1][0])]])
}

/// Absorbs word after word, each with its index, starting from the seed.
fn hashed<'b>(b: &'b FormBuilder, lanes: &[Val<'b>], seed: Val<'b>) -> Val<'b> {
    let words = lanes.iter().flat_map(|lane| words(*lane));
    words.zip(0..).fold(seed, |hash, (word, number)| {
        let stream = b.constant_i32(Stream::Hash as i32);
        pcg4d([word, hash, stream, b.constant_i32(number)])[0]
    })
}

/// The bits of a lane as 32-bit words; reading the bits of a float makes all NaNs equal.
fn words(lane: Val<'_>) -> Vec<Val<'_>> {
    match lane.lane() {
        Lane::Bool => vec![lane.convert(Lane::I32)],
        Lane::I32 => vec![lane],
        Lane::F32 => vec![lane.bitcast()],
        Lane::I64 => vec![lane.convert(Lane::I32), lane.ushr(32).convert(Lane::I32)],
        Lane::F64 => words(lane.bitcast()),
    }
}
