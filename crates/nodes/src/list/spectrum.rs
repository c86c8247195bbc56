//! The discrete Fourier transform of a list of any length.
//!
//! Lengths that are powers of two are halved repeatedly (Cooley and Tukey). Any other length
//! becomes a convolution, which is computed by transforms of a power of two (Bluestein).

use std::f64::consts::TAU;

use millstream_base::{Type, Vec2, num};
use millstream_node::{Default, Failure, NodeDef, Pace, Registry};

use crate::cells::function;
use crate::each::{Element, Items, each_list};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(fourier());
    registry.register(strengths());
}

const SOURCE: &str = "J. Cooley, J. Tukey, An algorithm for the machine calculation of complex \
                      Fourier series, 1965; L. Bluestein, A linear filtering approach to the \
                      computation of discrete Fourier transform, 1970";

const DIRECTIONS: &[(&str, &str)] = &[
    ("forward", "from values to frequencies"),
    ("back", "from frequencies to values, the inverse of `forward`"),
];

fn fourier() -> NodeDef {
    let numbers = list_of(Type::VEC2);
    NodeDef::new("list.fourier", "The discrete Fourier transform of a list, or its inverse")
        .details(
            "Items are complex numbers with real part x and imaginary part y. Item k of the result \
             is the sum of item[m] * e^(-2 pi i k m / n) over all m; `back` uses e^(2 pi i k m / \
             n) and divides by n. The length is arbitrary; powers of two are fastest. Computed in \
             double precision.",
        )
        .source(SOURCE)
        .choice("direction", DIRECTIONS, "forward", "direction of the transform")
        .input_or("list", numbers, Default::Zero, "")
        .output("value", numbers, "transform, as long as the list")
        .kernel(|parts| {
            let back = parts.settings.text("direction") == "back";
            let sign = if back { 1.0 } else { -1.0 };
            Ok(function(each_list::<(Items<Vec2>,), Vec2>(
                |(items,)| items.len(),
                move |element, (items,), out| {
                    let mut waves = room(items.len())?;
                    let wave = |v: &Vec2| Complex { re: v.0[0].into(), im: v.0[1].into() };
                    waves.extend(items.iter().map(wave));
                    transform(element, &mut waves, sign)?;
                    let factor = if back { 1.0 / items.len().max(1) as f64 } else { 1.0 };
                    out.extend(
                        waves
                            .iter()
                            .map(|w| Vec2([(w.re * factor) as f32, (w.im * factor) as f32])),
                    );
                    Ok(())
                },
            )))
        })
}

fn strengths() -> NodeDef {
    let numbers = list_of(Type::F32);
    NodeDef::new("list.spectrum", "The amplitude spectrum of a list of numbers")
        .details(
            "Item k is the amplitude of the wave with k periods in the list, from 0 (the mean) to \
             half of the length: a sine of amplitude 1 gives 1 at its number of periods. Computed \
             in double precision.",
        )
        .source(SOURCE)
        .input_or("list", numbers, Default::Zero, "")
        .output("value", numbers, "amplitudes, length / 2 + 1 of them; none for an empty list")
        .function(each_list::<(Items<f32>,), f32>(
            |(items,)| n_strengths(items.len()),
            |element, (items,), out| {
                let n = items.len();
                let mut waves = room(n)?;
                waves.extend(items.iter().map(|x| Complex { re: (*x).into(), im: 0.0 }));
                transform(element, &mut waves, -1.0)?;
                out.extend(waves.iter().take(n_strengths(n)).enumerate().map(|(k, wave)| {
                    // All waves but the mean and the fastest one have a twin in the other half.
                    let twins = if k == 0 || 2 * k == n { 1.0 } else { 2.0 };
                    (num::hypot(wave.re, wave.im) * twins / n as f64) as f32
                }));
                Ok(())
            },
        ))
}

fn n_strengths(n: usize) -> usize {
    if n == 0 { 0 } else { n / 2 + 1 }
}

/// Units of work per point on the unit circle.
const TURN: usize = 1 << 3;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    /// The point on the unit circle at a fraction of a full turn.
    fn turn(part: f64) -> Self {
        Self { re: num::cos(part * TAU), im: num::sin(part * TAU) }
    }

    fn times(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }

    fn conjugate(self) -> Self {
        Self { re: self.re, im: -self.im }
    }
}

/// Transforms in place; `sign` is that of the exponent.
fn transform(element: &mut Element<'_>, values: &mut [Complex], sign: f64) -> Result<(), Failure> {
    let n = values.len();
    if n < 2 {
        return Ok(());
    }
    // The values, the unit circle, and the additional memory of a convolution.
    let is_halved = n.is_power_of_two();
    let numbers = if is_halved { n + n / 2 } else { 2 * n + long(n) * 5 / 2 };
    let (bytes, limit) = (numbers.saturating_mul(size_of::<Complex>()), element.limits.bytes);
    if bytes > limit {
        let failure = Failure::limit("bytes to transform one list", bytes, limit, "bytes");
        return Err(Failure { element: Some(element.i), ..failure });
    }
    let pace = &mut element.pace;
    if is_halved { halved(values, sign, pace) } else { convolved(values, sign, pace) }
}

/// The length of the transforms that convolve a list of `n` items.
fn long(n: usize) -> usize {
    (2 * n - 1).next_power_of_two()
}

/// Memory for `n` numbers, which may be more than the machine provides.
fn room(n: usize) -> Result<Vec<Complex>, Failure> {
    let mut room = Vec::new();
    room.try_reserve_exact(n).map_err(|_| {
        let bytes = n.saturating_mul(size_of::<Complex>());
        Failure::whole(format!("out of memory: transforming a list takes {bytes} bytes"))
    })?;
    Ok(room)
}

/// Numbers processed between two checks.
const CHUNK: usize = 1 << 12;

/// The transform for a power of two.
fn halved(values: &mut [Complex], sign: f64, pace: &mut Pace<'_>) -> Result<(), Failure> {
    let n = values.len();
    let bits = n.trailing_zeros();
    pace.over(0..n, 4, |i| {
        let mirrored = i.reverse_bits() >> (usize::BITS - bits);
        if i < mirrored {
            values.swap(i, mirrored);
        }
        Ok(())
    })?;
    let mut circle = room(n / 2)?;
    pace.over(0..n / 2, TURN, |k| {
        circle.push(Complex::turn(sign * k as f64 / n as f64));
        Ok(())
    })?;
    // Parts that fit into the cache go through all their steps before the next part does.
    let part = n.min(CHUNK);
    let of_part: Vec<Complex> = circle.iter().step_by(n / part).copied().collect();
    for values in values.chunks_exact_mut(part) {
        let mut half = 1;
        while half < part {
            pace.work(part)?;
            joined(values, half, &of_part);
            half *= 2;
        }
    }
    let mut half = part;
    while half < n {
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            let step = n / (2 * half);
            let pieces = low.chunks_mut(CHUNK).zip(high.chunks_mut(CHUNK));
            for (piece, (low, high)) in pieces.enumerate() {
                pace.work(2 * CHUNK)?;
                turned_on(low, high, circle[piece * CHUNK * step..].iter().step_by(step));
            }
        }
        half *= 2;
    }
    Ok(())
}

/// One step: blocks of `half` become blocks of twice that size. The rotations are half of the
/// circle, which has as many points as there are values.
fn joined(values: &mut [Complex], half: usize, circle: &[Complex]) {
    let n = values.len();
    for block in values.chunks_exact_mut(2 * half) {
        let (low, high) = block.split_at_mut(half);
        turned_on(low, high, circle.iter().step_by(n / (2 * half)));
    }
}

/// The sums and differences of numbers with others, rotated.
fn turned_on<'c>(
    low: &mut [Complex],
    high: &mut [Complex],
    turns: impl Iterator<Item = &'c Complex>,
) {
    for ((a, b), turn) in low.iter_mut().zip(high).zip(turns) {
        let turned = b.times(*turn);
        (*a, *b) = (
            Complex { re: a.re + turned.re, im: a.im + turned.im },
            Complex { re: a.re - turned.re, im: a.im - turned.im },
        );
    }
}

/// The transform for any length: k m = (k^2 + m^2 - (k - m)^2) / 2.
fn convolved(values: &mut [Complex], sign: f64, pace: &mut Pace<'_>) -> Result<(), Failure> {
    let n = values.len();
    let long = long(n);
    // The square modulo 2n, so that angles stay exact.
    let square = |k: usize| (k as u128 * k as u128 % (2 * n) as u128) as f64;
    let mut chirp = room(n)?;
    pace.over(0..n, TURN, |k| {
        chirp.push(Complex::turn(sign * square(k) / (2 * n) as f64));
        Ok(())
    })?;
    let mut signal = room(long)?;
    signal.resize(long, Complex::default());
    for (k, (value, turn)) in values.iter().zip(&chirp).enumerate() {
        signal[k] = value.times(*turn);
    }
    let mut kernel = room(long)?;
    kernel.resize(long, Complex::default());
    for (k, turn) in chirp.iter().enumerate() {
        kernel[k] = turn.conjugate();
        kernel[(long - k) % long] = turn.conjugate();
    }
    pace.look()?;
    halved(&mut signal, -1.0, pace)?;
    halved(&mut kernel, -1.0, pace)?;
    for (a, b) in signal.iter_mut().zip(&kernel) {
        *a = a.times(*b);
    }
    drop(kernel);
    halved(&mut signal, 1.0, pace)?;
    for (k, value) in values.iter_mut().enumerate() {
        let whole = signal[k].times(chirp[k]);
        *value = Complex { re: whole.re / long as f64, im: whole.im / long as f64 };
    }
    Ok(())
}
