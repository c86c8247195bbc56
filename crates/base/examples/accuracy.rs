//! Measures the elementary functions.
//!
//! `cargo run --release -p millstream-base --example accuracy` prints the largest error in ULP of
//! each `f32` function over every argument, or over random pairs of arguments, compared with the
//! `f64` function of `libm`. Names after `--` select functions.
//!
//! With `-- --dump` it prints arguments and results of the `f64` functions for `tools/accuracy.py`,
//! which measures their errors with mpmath. Only arguments at which `libm` gives another result are
//! printed: every large error is among them, unless `libm` has the same one.

use std::thread;

use millstream_base::num;

/// Whether this function was named on the command line, or none was.
fn is_wanted(name: &str) -> bool {
    std::env::args().len() == 1 || std::env::args().any(|arg| arg == name)
}

/// Number of elements computed at a time.
const BLOCK: usize = 256;

/// Number of arguments tried per function, and the limit on the results printed.
const N_TRIED: usize = 20_000_000;
const N_DUMPED: usize = 40_000;

/// The reference functions.
mod reference {
    pub(crate) use libm::{
        acos, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, erf, erfc, exp, exp2, expm1, hypot,
        lgamma, log, log1p, log2, log10, pow, sin, sinh, tan, tanh, tgamma,
    };

    /// `acosh` of `libm`, but NaN below 1, where `libm` gives numbers.
    pub(crate) fn acosh(x: f64) -> f64 {
        if x < 1.0 { f64::NAN } else { libm::acosh(x) }
    }
}

macro_rules! for_each {
    ($call:ident: $($name:ident $reference:ident),*) => {
        $($call(stringify!($name), num::$name::<f32>, num::$name::<f64>, reference::$reference);)*
    };
}

macro_rules! for_all {
    ($one:ident, $two:ident) => {
        for_each!($one: sin sin, cos cos, tan tan, asin asin, acos acos, atan atan, sinh sinh, cosh cosh, tanh tanh);
        for_each!($one: asinh asinh, acosh acosh, atanh atanh, exp exp, exp2 exp2, exp_m1 expm1, ln log, ln_1p log1p);
        for_each!($one: log2 log2, log10 log10, cbrt cbrt, erf erf, erfc erfc, gamma tgamma, ln_gamma lgamma);
        for_each!($two: pow pow, atan2 atan2, hypot hypot);
    };
}

/// The distance of a result from the exact value, in ULP of `f32`.
fn ulps(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found.is_nan() || nearest.is_nan() {
        return if found.is_nan() && nearest.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if nearest.is_infinite() || found.is_infinite() {
        return if found == nearest { 0.0 } else { f64::INFINITY };
    }
    if found == 0.0 && nearest == 0.0 && exact == 0.0 {
        return if found.is_sign_negative() == exact.is_sign_negative() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = (((exact.to_bits() >> 52) & 0x7FF) as i32 - 1023).max(-126);
    (f64::from(found) - exact).abs() * 2.0_f64.powi(23 - exponent)
}

/// A small random number generator: multiplicative congruential, using the upper bits.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }

    /// Random bits, a number of magnitude below 1000 or below 8, or a number near 1.
    fn float(&mut self) -> f64 {
        let unit = (self.bits() >> 11) as f64 / 4_503_599_627_370_496.0 - 1.0;
        match self.bits() >> 40 & 7 {
            0 | 1 => f64::from_bits(self.bits()),
            2 => unit * 1000.0,
            3 | 4 => unit * 8.0,
            5 | 6 => unit,
            _ => 1.0 + unit * 1e-2,
        }
    }
}

/// The largest error over the blocks of arguments whose index modulo `parts` is `part`.
fn worst_of_part(
    function: impl Fn(f32) -> f32,
    exact: impl Fn(f64) -> f64,
    part: u32,
    parts: u32,
) -> (f64, f32) {
    let (mut worst, mut at) = (0.5, 0.0);
    let (mut found, mut wanted) = ([0.0; BLOCK], [0.0; BLOCK]);
    for block in (part..=u32::MAX / BLOCK as u32).step_by(parts as usize) {
        let x = |i: usize| f32::from_bits(block * BLOCK as u32 + i as u32);
        for (i, found) in found.iter_mut().enumerate() {
            *found = function(x(i));
        }
        for (i, wanted) in wanted.iter_mut().enumerate() {
            *wanted = exact(f64::from(x(i)));
        }
        for (i, (&found, &wanted)) in found.iter().zip(&wanted).enumerate() {
            // The nearest `f32` is at most half an ULP away.
            if found.to_bits() == (wanted as f32).to_bits() {
                continue;
            }
            let error = ulps(found, wanted);
            if error > worst {
                (worst, at) = (error, x(i));
            }
        }
    }
    (worst, at)
}

fn measure_one(
    name: &str,
    function: impl Fn(f32) -> f32 + Copy + Send,
    _: fn(f64) -> f64,
    exact: impl Fn(f64) -> f64 + Copy + Send,
) {
    if !is_wanted(name) {
        return;
    }
    let parts = thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let (worst, at) = thread::scope(|scope| {
        let workers: Vec<_> = (0..parts)
            .map(|part| scope.spawn(move || worst_of_part(function, exact, part, parts)))
            .collect();
        let found = workers.into_iter().map(|worker| worker.join().unwrap_or((f64::INFINITY, 0.0)));
        found.fold((0.5, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    });
    println!("{name:8} {worst:9.5} ULP at {at:e}");
}

fn measure_two(
    name: &str,
    function: impl Fn(f32, f32) -> f32,
    _: fn(f64, f64) -> f64,
    exact: impl Fn(f64, f64) -> f64,
) {
    if !is_wanted(name) {
        return;
    }
    let mut dice = Dice(1);
    let (mut worst, mut at) = (0.0, (0.0, 0.0));
    for _ in 0..100_000_000 {
        let (x, y) = (dice.float() as f32, dice.float() as f32);
        let error = ulps(function(x, y), exact(f64::from(x), f64::from(y)));
        if error > worst {
            (worst, at) = (error, (x, y));
        }
    }
    println!("{name:8} {worst:9.5} ULP at {:e} {:e}", at.0, at.1);
}

/// Whether a result is to be printed; counts those that are.
fn is_dumped(found: f64, reference: f64, n_dumped: &mut usize) -> bool {
    let is_same = found.to_bits() == reference.to_bits() || (found.is_nan() && reference.is_nan());
    let steps = (found.to_bits() as i64).wrapping_sub(reference.to_bits() as i64).unsigned_abs();
    let is_dumped = !is_same && (*n_dumped < N_DUMPED || steps > 1);
    *n_dumped += usize::from(is_dumped);
    is_dumped
}

fn dump_one(
    name: &str,
    _: fn(f32) -> f32,
    function: fn(f64) -> f64,
    reference: impl Fn(f64) -> f64,
) {
    let (mut dice, mut n_dumped) = (Dice(2), 0);
    for _ in 0..N_TRIED {
        let x = dice.float();
        let found = function(x);
        if is_dumped(found, reference(x), &mut n_dumped) {
            println!("{name} {:016x} {:016x}", x.to_bits(), found.to_bits());
        }
    }
}

fn dump_two(
    name: &str,
    _: fn(f32, f32) -> f32,
    function: fn(f64, f64) -> f64,
    reference: impl Fn(f64, f64) -> f64,
) {
    let (mut dice, mut n_dumped) = (Dice(3), 0);
    for _ in 0..N_TRIED {
        let (x, y) = (dice.float(), dice.float());
        let found = function(x, y);
        if is_dumped(found, reference(x, y), &mut n_dumped) {
            println!("{name} {:016x} {:016x} {:016x}", x.to_bits(), y.to_bits(), found.to_bits());
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|flag| flag == "--dump") {
        for_all!(dump_one, dump_two);
        return;
    }
    println!("f32, largest error");
    for_all!(measure_one, measure_two);
}
