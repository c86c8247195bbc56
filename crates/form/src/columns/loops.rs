//! The loops over chunks, inlined into code compiled for each SIMD width.

use millstream_base::num::Float;

/// `out[i] = f(a[i])`.
#[inline(always)]
pub(super) fn unary<A: Copy, R>(out: &mut [R], a: &[A], f: impl Fn(A) -> R) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
    }
}

/// `out[i] = f(a[i])`; whether any `a[i]` is rare.
#[inline(always)]
pub(super) fn unary_and_rare<A: Copy, R>(
    out: &mut [R],
    a: &[A],
    f: impl Fn(A) -> R,
    rare: impl Fn(A) -> bool,
) -> bool {
    // A word, as lanes of truth values do not become SIMD everywhere.
    let mut any = 0_u32;
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
        any |= u32::from(rare(a));
    }
    any != 0
}

/// `out[i] = f(a[i], b[i])`.
#[inline(always)]
pub(super) fn binary<A: Copy, B: Copy, R>(out: &mut [R], a: &[A], b: &[B], f: impl Fn(A, B) -> R) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = f(a, b);
    }
}

/// `out[i] = f(a[i], b[i], c[i])`.
#[inline(always)]
pub(super) fn ternary<A: Copy, B: Copy, C: Copy, R>(
    out: &mut [R],
    a: &[A],
    b: &[B],
    c: &[C],
    f: impl Fn(A, B, C) -> R,
) {
    for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
        *out = f(a, b, c);
    }
}

/// `out[i] = lanes[i * N]`.
#[inline(always)]
pub(super) fn strided<A: Copy, const N: usize>(out: &mut [A], lanes: &[A]) {
    let (whole, rest) = lanes.as_chunks::<N>();
    for (out, lanes) in out.iter_mut().zip(whole) {
        *out = lanes[0];
    }
    if let (Some(out), Some(&last)) = (out.get_mut(whole.len()), rest.first()) {
        *out = last;
    }
}

/// `out[i * N + k] = from[k][i]`.
#[inline(always)]
pub(super) fn interleave<A: Copy, const N: usize>(out: &mut [A], from: [&[A]; N]) {
    let (out, _) = out.as_chunks_mut::<N>();
    let n = out.len();
    let from = from.map(
        #[inline(always)]
        |values| &values[..n],
    );
    for (i, out) in out.iter_mut().enumerate() {
        // Iterators would not be inlined into code for all widths.
        let mut k = 0;
        while k < N {
            out[k] = from[k][i];
            k += 1;
        }
    }
}

/// The distance of two points or its square, each operation rounded as in a form.
#[inline(always)]
pub(crate) fn distance<A: Float>(a: [A; 3], b: [A; 3], root: bool) -> A {
    length([a[0] - b[0], a[1] - b[1], a[2] - b[2]], root)
}

/// The length of a vector or its square, each operation rounded as in a form.
#[inline(always)]
pub(super) fn length<A: Float>([x, y, z]: [A; 3], root: bool) -> A {
    let square = x * x + y * y + z * z;
    if root { A::sqrt(square) } else { square }
}

/// Distances, or their squares, between `from` and `to` or 0.
#[inline(always)]
pub(super) fn distances<A: Float>(
    out: &mut [A],
    from: &[[A; 3]],
    to: Option<&[[A; 3]]>,
    root: bool,
) {
    match (to, root) {
        (Some(to), true) => binary(out, from, to, |a, b| distance(a, b, true)),
        (Some(to), false) => binary(out, from, to, |a, b| distance(a, b, false)),
        (None, true) => unary(out, from, |a| length(a, true)),
        (None, false) => unary(out, from, |a| length(a, false)),
    }
}
