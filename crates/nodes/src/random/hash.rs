//! The hash of a value's bits.

use millstream_base::{Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::{NodeDef, SocketType};

use super::{SOURCE, Stream, pcg4d};
use crate::shape::MADE_OF_NUMBERS;

pub(super) fn hash() -> NodeDef {
    NodeDef::new("random.hash", "A random whole number for a value")
        .details(
            "Any 32 bits, the same for the same bits: values that differ little give numbers that have \
             nothing in common. All NaNs count as one; +0 and -0 differ, and so do 1 as a whole number \
             and 1 as another type. Good as an `id` of other random nodes.",
        )
        .source(SOURCE)
        .generic("T", MADE_OF_NUMBERS)
        .input("value", SocketType::Generic(0), "what is hashed")
        .input("seed", Type::I32, "which series the number is of")
        .or_number(0.0)
        .output("value", Type::I32, "any whole number")
        .form(|b, inputs| vec![vec![hashed(b, &inputs[0], inputs[1][0])]])
}

/// Takes word after word in, each with its number, starting from the seed.
fn hashed<'b>(b: &'b FormBuilder, lanes: &[Val<'b>], seed: Val<'b>) -> Val<'b> {
    let words = lanes.iter().flat_map(|lane| words(*lane));
    words.zip(0..).fold(seed, |hash, (word, number)| {
        let stream = b.constant_i32(Stream::Hash as i32);
        pcg4d([word, hash, stream, b.constant_i32(number)])[0]
    })
}

/// The bits of a lane as words of 32; reading the bits of a float makes its NaNs one.
fn words(lane: Val<'_>) -> Vec<Val<'_>> {
    match lane.lane() {
        Lane::Bool => vec![lane.convert(Lane::I32)],
        Lane::I32 => vec![lane],
        Lane::F32 => vec![lane.bitcast()],
        Lane::I64 => vec![lane.convert(Lane::I32), lane.ushr(32).convert(Lane::I32)],
        Lane::F64 => words(lane.bitcast()),
    }
}
