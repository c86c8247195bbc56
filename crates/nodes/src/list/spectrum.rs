//! The waves that a list is made of: the discrete Fourier transform, for any length.
//!
//! Lengths that are powers of two are halved again and again (Cooley and Tukey). Any other length becomes a
//! convolution, which is done by transforms of a power of two (Bluestein).

use std::f64::consts::TAU;

use millstream_base::{Type, Vec2, num};
use millstream_kernel::{Call, Default, Failure, NodeDef, Registry, SettingKind, SettingValue};

use super::slice;
use crate::cells::{ListCells, function};

pub(super) fn register(registry: &mut Registry) {
    registry.register(fourier());
    registry.register(strengths());
}

const SOURCE: &str = "J. Cooley, J. Tukey, An algorithm for the machine calculation of complex Fourier series, 1965; \
                      L. Bluestein, A linear filtering approach to the computation of discrete Fourier transform, 1970";

const DIRECTIONS: &[(&str, &str)] = &[
    ("forward", "from values to waves"),
    ("back", "from waves to values, which undoes `forward`"),
];

fn fourier() -> NodeDef {
    let numbers = Type::VEC2.list().expect("lists of vectors exist");
    NodeDef::new("list.fourier", "A list as a sum of waves, or back")
        .details(
            "Items are complex numbers: real part x, imaginary part y. Item k of the result is the sum of item[m] * \
             e^(-2 pi i k m / n), for `back` e^(+...) and over n. Of any length; fastest where that is a power of \
             two. Computed in double precision.",
        )
        .source(SOURCE)
        .setting(
            "direction",
            SettingKind::Choice(DIRECTIONS),
            Some(SettingValue::Text("forward".into())),
            "which way",
        )
        .input("list", numbers, "")
        .or(Default::Zero)
        .output("value", numbers, "as long as the list")
        .kernel(|parts| {
            let back = parts.settings.text("direction") == "back";
            Ok(function(move |call| turned(call, back)))
        })
}

fn turned(call: &mut Call<'_>, back: bool) -> Result<(), Failure> {
    let mut cells = ListCells::<Vec2>::new(call);
    let lists = call.lists(0);
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, out| {
            let items = slice::<Vec2>(&lists, i);
            let mut waves: Vec<Complex> =
                items.iter().map(|v| Complex { re: v.0[0].into(), im: v.0[1].into() }).collect();
            transform(&mut waves, if back { 1.0 } else { -1.0 });
            let factor = if back { 1.0 / items.len().max(1) as f64 } else { 1.0 };
            out.extend(
                waves.iter().map(|w| Vec2([(w.re * factor) as f32, (w.im * factor) as f32])),
            );
            Ok(())
        },
    )?;
    cells.put(call)
}

fn strengths() -> NodeDef {
    let numbers = Type::F32.list().expect("lists of numbers exist");
    NodeDef::new("list.spectrum", "How strong each wave is in a list of numbers")
        .details(
            "Item k is the amplitude of the wave with k periods in the list, from 0, the mean, to half of the \
             length: a sine of amplitude 1 gives 1 at its number of periods. Computed in double precision.",
        )
        .source(SOURCE)
        .input("list", numbers, "")
        .or(Default::Zero)
        .output("value", numbers, "one more item than half of the list; none for an empty list")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = ListCells::<f32>::new(call);
                let lists = call.lists(0);
                let count = |i: usize| match lists.n_items(i) {
                    0 => 0,
                    n => n / 2 + 1,
                };
                cells.fill(call, count, |i, out| {
                    let items = slice::<f32>(&lists, i);
                    let mut waves: Vec<Complex> =
                        items.iter().map(|x| Complex { re: (*x).into(), im: 0.0 }).collect();
                    transform(&mut waves, -1.0);
                    let n = items.len();
                    out.extend(waves.iter().take(count(i)).enumerate().map(|(k, wave)| {
                        // All but the mean and the fastest wave have a twin in the other half.
                        let twins = if k == 0 || 2 * k == n { 1.0 } else { 2.0 };
                        (num::hypot(wave.re, wave.im) * twins / n as f64) as f32
                    }));
                    Ok(())
                })?;
                cells.put(call)
            }))
        })
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    /// A point of the unit circle, by the part of the full turn.
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

/// The transform in place; `sign` is that of the exponent.
fn transform(values: &mut [Complex], sign: f64) {
    let n = values.len();
    if n < 2 {
        return;
    }
    if n.is_power_of_two() {
        halved(values, sign);
    } else {
        convolved(values, sign);
    }
}

/// The transform of a power of two.
fn halved(values: &mut [Complex], sign: f64) {
    let n = values.len();
    let bits = n.trailing_zeros();
    for i in 0..n {
        let mirrored = i.reverse_bits() >> (usize::BITS - bits);
        if i < mirrored {
            values.swap(i, mirrored);
        }
    }
    let circle: Vec<Complex> =
        (0..n / 2).map(|k| Complex::turn(sign * k as f64 / n as f64)).collect();
    let mut half = 1;
    while half < n {
        let step = n / (2 * half);
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let turned = b.times(circle[k * step]);
                (*a, *b) = (
                    Complex { re: a.re + turned.re, im: a.im + turned.im },
                    Complex { re: a.re - turned.re, im: a.im - turned.im },
                );
            }
        }
        half *= 2;
    }
}

/// The transform of any length: k m = (k^2 + m^2 - (k - m)^2) / 2.
fn convolved(values: &mut [Complex], sign: f64) {
    let n = values.len();
    let long = (2 * n - 1).next_power_of_two();
    // The square modulo 2n, so that angles stay exact.
    let square = |k: usize| (k as u128 * k as u128 % (2 * n) as u128) as f64;
    let chirp: Vec<Complex> =
        (0..n).map(|k| Complex::turn(sign * square(k) / (2 * n) as f64)).collect();
    let mut signal = vec![Complex::default(); long];
    for (k, (value, turn)) in values.iter().zip(&chirp).enumerate() {
        signal[k] = value.times(*turn);
    }
    let mut kernel = vec![Complex::default(); long];
    for (k, turn) in chirp.iter().enumerate() {
        kernel[k] = turn.conjugate();
        kernel[(long - k) % long] = turn.conjugate();
    }
    halved(&mut signal, -1.0);
    halved(&mut kernel, -1.0);
    for (a, b) in signal.iter_mut().zip(&kernel) {
        *a = a.times(*b);
    }
    halved(&mut signal, 1.0);
    for (k, value) in values.iter_mut().enumerate() {
        let whole = signal[k].times(chirp[k]);
        *value = Complex { re: whole.re / long as f64, im: whole.im / long as f64 };
    }
}
