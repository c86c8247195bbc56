//! Bit patterns: reversed, inserted, interleaved, taken apart; and integer square roots.

use millstream_base::Lane;
use millstream_form::Val;
use millstream_node::Registry;

use super::width;
use crate::shape::{INTEGERS, T, inputs_of_one_type, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    let x = [("x", 0.0, "the number")];
    registry.register_all([
        of_one_type("integer.square_root", "The square root of x, rounded down", INTEGERS, &x)
            .details("The greatest integer whose square is at most x; 0 for negative numbers.")
            .lanewise(|_, x| square_root(x[0])),
        of_one_type("integer.reverse_bits", "x with its bits in reverse order", INTEGERS, &x)
            .details("Reversing the bits of an index gives the van der Corput sequence.")
            .law(millstream_node::Law::Involution)
            .lanewise(|_, x| reversed(x[0])),
        of_one_type(
            "integer.insert_bits",
            "x with a range of bits replaced by another number",
            INTEGERS,
            &[
                ("x", 0.0, "the number"),
                ("bits", 0.0, "number to insert; its lowest bits are used"),
                ("first", 0.0, "index of the lowest bit, 0 to the width - 1"),
                ("count", 8.0, "number of bits"),
            ],
        )
        .details("`integer.extract_bits` reads them back. A count of 0 or less changes nothing.")
        .lanewise(|_, x| {
            let (width, _) = width(x[0]);
            let mask = x[3].ge(width).select(-1, x[0].like(1).shl(x[3]) - 1);
            let mask = x[3].le(0).select(0, mask).shl(x[2]);
            (x[0] & !mask) | (x[1].shl(x[2]) & mask)
        }),
    ]);
    let halves = [
        ("a", 0.0, "number whose bits become the even ones"),
        ("b", 0.0, "number whose bits become the odd ones"),
    ];
    registry.register_all([
        of_one_type(
            "integer.interleave_bits",
            "The bits of two numbers interleaved",
            INTEGERS,
            &halves,
        )
        .details(
            "Of each number the lower half is used, 16 or 32 bits. Applied to the coordinates \
                 of grid cells it gives the Morton order (Z-order), in which cells near each other \
                 in the grid are mostly near each other.",
        )
        .source("G. Morton, A computer oriented geodetic data base, 1966")
        .lanewise(|_, x| spread(x[0]) | spread(x[1]).shl(1)),
        inputs_of_one_type(
            "integer.separate_bits",
            "The even bits and the odd bits of x as two numbers",
            INTEGERS,
            &x,
        )
        .details("Undoes `integer.interleave_bits`.")
        .output("a", T, "the even bits, packed together")
        .output("b", T, "the odd bits, packed together")
        .form(|_, x| vec![vec![gathered(x[0][0])], vec![gathered(x[0][0].ushr(1))]]),
    ]);
}

fn square_root(x: Val<'_>) -> Val<'_> {
    let root = x.max(0).convert(Lane::F64).sqrt().trunc().convert(x.lane());
    if x.lane() == Lane::I32 {
        return root;
    }
    // The `f64` nearest to x may be at or above the next square.
    let greatest = 3_037_000_499_i64;
    let root = root.min(greatest);
    let root = (root * root).gt(x.max(0)).select(root - 1, root);
    let next = root + 1;
    (root.lt(greatest) & (next * next).le(x)).select(next, root)
}

/// The steps by which bits move apart, with the mask of the bits after each, largest step first.
fn steps(x: Val<'_>) -> Vec<(i32, i64)> {
    let masks: [i64; 5] = [
        0x0000_ffff_0000_ffff,
        0x00ff_00ff_00ff_00ff,
        0x0f0f_0f0f_0f0f_0f0f,
        0x3333_3333_3333_3333,
        0x5555_5555_5555_5555,
    ];
    let first = usize::from(x.lane() != Lane::I64);
    let mask = |k: usize| if first == 0 { masks[k] } else { masks[k] & 0xffff_ffff };
    (first..5).map(|k| (16 >> k, mask(k))).collect()
}

/// The lower half of the bits, with a zero above each.
fn spread(x: Val<'_>) -> Val<'_> {
    let (width, _) = width(x);
    let lower = x & ((1_i64 << (width / 2)) - 1);
    steps(x).into_iter().fold(lower, |x, (by, mask)| (x | x.shl(by)) & mask)
}

/// The even bits, packed together.
fn gathered(x: Val<'_>) -> Val<'_> {
    let (width, _) = width(x);
    let half = (1_i64 << (width / 2)) - 1;
    let steps = steps(x);
    let mut x = x & steps[steps.len() - 1].1;
    for at in (0..steps.len()).rev() {
        let kept = if at == 0 { half } else { steps[at - 1].1 };
        x = (x | x.ushr(steps[at].0)) & kept;
    }
    x
}

fn reversed(x: Val<'_>) -> Val<'_> {
    let (width, _) = width(x);
    // Single bits, pairs, groups of four and so on are swapped with their neighbors; the halves by
    // one shift each.
    let inner = steps(x)
        .into_iter()
        .rev()
        .fold(x, |x, (by, mask)| (x.ushr(by) & mask) | (x & mask).shl(by));
    inner.ushr(width / 2) | inner.shl(width / 2)
}
