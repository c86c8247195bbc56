//! Random numbers that need a loop: counts, gamma and beta, choices by weight.
//!
//! A loop of unknown length cannot be a form, so these are functions over columns. They use the
//! same generator as the forms, with a counter that is incremented for each further draw.

use millstream_base::{Type, ValueType, num};
use millstream_node::{Call, Default, Failure, NodeDef, Registry};

use super::{SOURCE, Stream, drawn};
use crate::cells::Cells;
use crate::each::{Arguments, Items};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(poisson());
    registry.register(binomial());
    registry.register(gamma());
    registry.register(beta());
    registry.register(weighted());
}

/// A sequence of numbers drawn for an id and a seed.
pub(super) struct Draws {
    words: [u32; 4],
    counter: u32,
    left: Vec<u32>,
}

impl Draws {
    pub(super) fn new(id: i32, seed: i32, stream: Stream) -> Self {
        Self { words: [id as u32, seed as u32, stream as u32, 0], counter: 0, left: Vec::new() }
    }

    /// The sequence of each element, whose id and seed are the last inputs of a call.
    pub(super) fn of_last_inputs(call: &Call<'_>, stream: Stream) -> impl Fn(usize) -> Self {
        let n = call.n_inputs();
        let (ids, seeds) = (call.input::<i32>(n - 2), call.input::<i32>(n - 1));
        move |i| Self::new(ids.get(i), seeds.get(i), stream)
    }

    /// The same sequence from its start.
    fn restarted(&self) -> Self {
        let [id, seed, stream, _] = self.words;
        Self { words: [id, seed, stream, 0], counter: 0, left: Vec::new() }
    }

    fn word(&mut self) -> u32 {
        if self.left.is_empty() {
            self.words[3] = self.counter;
            self.counter = self.counter.wrapping_add(1);
            let mut drawn = pcg4d(self.words);
            drawn.reverse();
            self.left.extend(drawn);
        }
        self.left.pop().expect("four words were drawn")
    }

    /// Above 0 and below 1, in steps of 2^-53.
    pub(super) fn unit(&mut self) -> f64 {
        let bits = (u64::from(self.word()) << 32 | u64::from(self.word())) >> 11;
        (bits as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// Normally distributed with mean 0 and standard deviation 1.
    pub(super) fn normal(&mut self) -> f64 {
        let (size, angle) = (self.unit(), self.unit());
        num::sqrt(-2.0 * num::ln(size)) * num::cos(angle * std::f64::consts::TAU)
    }
}

/// Like `super::pcg4d`, on numbers.
pub(super) fn pcg4d(words: [u32; 4]) -> [u32; 4] {
    let mut v = words.map(|word| word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let mix = |v: &mut [u32; 4]| {
        for (i, a, b) in [(0, 1, 3), (1, 2, 0), (2, 0, 1), (3, 1, 2)] {
            v[i] = v[i].wrapping_add(v[a].wrapping_mul(v[b]));
        }
    };
    mix(&mut v);
    v = v.map(|word| word ^ word >> 16);
    mix(&mut v);
    v.map(|word| word ^ word >> 16)
}

/// ln(k!), by Stirling's series from 10 on.
pub(super) fn ln_factorial(k: f64) -> f64 {
    if k < 10.0 {
        return num::ln((1..=k as u32).map(f64::from).product::<f64>());
    }
    let x = k + 1.0;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * x * x)) / (x * x)) / x;
    (x - 0.5) * num::ln(x) - x + 0.918_938_533_204_672_8 + series
}

/// The upper limit of counts; far beyond it the spread is negligible compared with the mean.
const MAX_MEAN: f64 = 1e9;

/// Each trial of a rejection is accepted more often than not, so this many always suffice for valid
/// inputs.
pub(super) const MAX_TRIES: usize = 1000;

/// Like [`poisson_of`] for means above 10, by transformed rejection from two uniform numbers.
fn poisson_by_hat(mean: f64, draws: &mut Draws) -> f64 {
    let root = num::sqrt(mean);
    let b = 0.931 + 2.53 * root;
    let a = -0.059 + 0.024_83 * b;
    let inverse = 1.1239 + 1.1328 / (b - 3.4);
    let fast = 0.9277 - 3.6224 / (b - 2.0);
    for _ in 0..MAX_TRIES {
        let u = draws.unit() - 0.5;
        let v = draws.unit();
        let side = 0.5 - u.abs();
        let k = ((2.0 * a / side + b) * u + mean + 0.43).floor();
        if side >= 0.07 && v <= fast {
            return k;
        }
        if k < 0.0 || (side < 0.013 && v > side) {
            continue;
        }
        let hat = num::ln(v) + num::ln(inverse) - num::ln(a / (side * side) + b);
        if hat <= k * num::ln(mean) - mean - ln_factorial(k) {
            return k;
        }
    }
    mean.floor()
}

pub(super) fn poisson_of(mean: f64, draws: &mut Draws) -> i32 {
    if mean.is_nan() || mean <= 0.0 {
        return 0;
    }
    if mean > 10.0 {
        return poisson_by_hat(mean.min(MAX_MEAN), draws) as i32;
    }
    // Inversion: the number whose interval of the distribution function contains the uniform
    // number.
    let mut rest = draws.unit();
    let mut share = num::exp(-mean);
    let mut k = 0;
    while rest > share && k < 1000 {
        rest -= share;
        k += 1;
        share *= mean / f64::from(k);
    }
    k
}

/// Like [`binomial_of`] if both outcomes are expected more than 10 times.
fn binomial_by_hat(n: f64, p: f64, draws: &mut Draws) -> f64 {
    let spread = num::sqrt(n * p * (1.0 - p));
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let center = n * p + 0.5;
    let fast = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * spread;
    let mode = ((n + 1.0) * p).floor();
    let odds = num::ln(p / (1.0 - p));
    let at_mode = ln_factorial(mode) + ln_factorial(n - mode);
    for _ in 0..MAX_TRIES {
        let u = draws.unit() - 0.5;
        let v = draws.unit();
        let side = 0.5 - u.abs();
        let k = ((2.0 * a / side + b) * u + center).floor();
        if side >= 0.07 && v <= fast {
            return k;
        }
        if k < 0.0 || k > n {
            continue;
        }
        let hat = num::ln(v * alpha / (a / (side * side) + b));
        let wanted = at_mode - ln_factorial(k) - ln_factorial(n - k) + (k - mode) * odds;
        if hat <= wanted {
            return k;
        }
    }
    mode
}

pub(super) fn binomial_of(n: i32, p: f64, draws: &mut Draws) -> i32 {
    let (trials, p) = (f64::from(n.max(0)), if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) });
    // The rarer outcome is drawn, the other one is the remainder.
    if p > 0.5 {
        return n.max(0) - binomial_of(n, 1.0 - p, draws);
    }
    if trials * p > 10.0 {
        return binomial_by_hat(trials, p, draws) as i32;
    }
    let mut rest = draws.unit();
    let mut share = num::exp(trials * num::ln_1p(-p));
    let mut k = 0;
    while rest > share && k < n.min(1000) {
        rest -= share;
        k += 1;
        share *= p / (1.0 - p) * (trials - f64::from(k) + 1.0) / f64::from(k);
    }
    k
}

/// A gamma-distributed number of scale 1; 0 for a shape that is not above 0.
pub(super) fn gamma_of(shape: f64, draws: &mut Draws) -> f64 {
    if shape.is_nan() || shape <= 0.0 {
        return 0.0;
    }
    if shape < 1.0 {
        let boost = num::exp(num::ln(draws.unit()) / shape);
        return gamma_of(shape + 1.0, draws) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / num::sqrt(9.0 * d);
    for _ in 0..MAX_TRIES {
        let x = draws.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if num::ln(draws.unit()) < 0.5 * x * x + d - d * v + d * num::ln(v) {
            return d * v;
        }
    }
    // For shapes so large that the products overflow, the spread is negligible compared with the
    // mean.
    shape
}

/// The kernel that draws a number. Its inputs are followed by the id and the seed, which are the
/// last two of the node.
pub(super) fn drawing<A: Arguments, R: ValueType>(
    stream: Stream,
    draw: impl for<'v> Fn(&mut Draws, A::Of<'v>) -> R + Send + Sync + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    try_drawing::<A, R>(stream, move |draws, arguments| Ok(draw(draws, arguments)))
}

/// As [`drawing`], where a message tells why there is no number.
fn try_drawing<A: Arguments, R: ValueType>(
    stream: Stream,
    draw: impl for<'v> Fn(&mut Draws, A::Of<'v>) -> Result<R, String> + Send + Sync + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    move |call| {
        let mut cells = Cells::<R>::new(call);
        let (views, draws) = (A::views(call), Draws::of_last_inputs(call, stream));
        cells.fill(call, |i| {
            draw(&mut draws(i), A::of(&views, i)).map_err(|message| Failure::at(i, message))
        })?;
        drop((views, draws));
        cells.put(call);
        Ok(())
    }
}

fn poisson() -> NodeDef {
    let def = NodeDef::new(
        "random.poisson",
        "The number of occurrences of a rare event (Poisson distribution)",
    )
    .details("Mean and variance are equal. 0 if the mean is not above 0; means are at most 1e9.")
    .input_or("mean", Type::F64, 1.0, "mean number of occurrences");
    let def = drawn(def)
        .source(format!(
            "for means above 10 W. Hörmann, \"The transformed rejection method for generating \
             Poisson random variables\", 1993; {SOURCE}"
        ))
        .output("value", Type::I32, "count, at least 0");
    def.function(drawing::<(f64,), _>(Stream::Poisson, |draws, (mean,)| poisson_of(mean, draws)))
}

fn binomial() -> NodeDef {
    let def = NodeDef::new(
        "random.binomial",
        "The number of successes in several trials (binomial \
                                               distribution)",
    )
    .details(
        "The probability is clamped to 0 to 1, and NaN counts as 0; a negative number of \
             trials counts as 0.",
    )
    .input_or("trials", Type::I32, 10.0, "number of trials")
    .input_or("probability", Type::F64, 0.5, "probability of success of each trial");
    let def = drawn(def)
        .source(format!(
            "for more than 10 expected successes W. Hörmann, \"The generation of binomial random \
             variates\", 1993; {SOURCE}"
        ))
        .output("value", Type::I32, "count from 0 to the number of trials");
    def.function(drawing::<(i32, f64), _>(Stream::Binomial, |draws, (trials, probability)| {
        binomial_of(trials, probability, draws)
    }))
}

fn gamma() -> NodeDef {
    let def = NodeDef::new(
        "random.gamma",
        "A gamma-distributed random number (a waiting time for several events)",
    )
    .details(
        "The mean is shape * scale, the variance shape * scale^2. 0 for a shape that is not \
             above 0. With shape n / 2 and scale 2 it is the chi-squared distribution with n \
             degrees of freedom.",
    )
    .input_or("shape", Type::F64, 2.0, "number of events, may have a fraction")
    .input_or("scale", Type::F64, 1.0, "mean time between events");
    let def = drawn(def)
        .source(format!(
            "G. Marsaglia, W. Tsang, \"A simple method for generating gamma variables\", 2000; \
             {SOURCE}"
        ))
        .output("value", Type::F64, "number, at least 0");
    def.function(drawing::<(f64, f64), _>(Stream::Gamma, |draws, (shape, scale)| {
        gamma_of(shape, draws) * scale
    }))
}

fn beta() -> NodeDef {
    let def =
        NodeDef::new("random.beta", "A beta-distributed random number (a fraction of a whole)")
            .details("The mean is a / (a + b). NaN if neither is above 0.")
            .input_or("a", Type::F64, 2.0, "weight of 1")
            .input_or("b", Type::F64, 2.0, "weight of 0");
    let def = drawn(def)
        .source(format!("a gamma-distributed number divided by the sum of two; {SOURCE}"))
        .output("value", Type::F64, "0 to 1");
    def.function(drawing::<(f64, f64), _>(Stream::Beta, |draws, (a, b)| beta_of(a, b, draws)))
}

fn beta_of(a: f64, b: f64, draws: &mut Draws) -> f64 {
    let mut same = draws.restarted();
    let (x, y) = (gamma_of(a, draws), gamma_of(b, draws));
    if x + y > 1e-290 {
        return x / (x + y);
    }
    // Numbers of small shapes may underflow; their logarithms do not.
    let mut ln = |shape: f64| {
        if shape > 0.0 { ln_gamma_of(shape, &mut same) } else { f64::NEG_INFINITY }
    };
    let (x, y) = (ln(a), ln(b));
    if x == y && x == f64::NEG_INFINITY {
        // If both weights are tiny, the result is 0 or 1.
        let whole = place_of(&[a.max(0.0), b.max(0.0)], same.unit());
        return whole.map_or(f64::NAN, |whole| f64::from(u8::from(whole == 0)));
    }
    1.0 / (1.0 + num::exp(y - x))
}

/// The logarithm of a gamma-distributed number, which may underflow itself; made from the same
/// draws.
pub(super) fn ln_gamma_of(shape: f64, draws: &mut Draws) -> f64 {
    if shape >= 1.0 {
        return num::ln(gamma_of(shape, draws));
    }
    let boost = num::ln(draws.unit()) / shape;
    num::ln(gamma_of(shape + 1.0, draws)) + boost
}

fn weighted() -> NodeDef {
    let def = NodeDef::new("random.weighted", "A random index, chosen by weights")
        .details(
            "The probability of each index is proportional to its weight. Fails if a weight is \
             negative or not finite, or if no weight is above 0.",
        )
        .input_or("weights", list_of(Type::F64), Default::Zero, "one for each place");
    let def = drawn(def).output("value", Type::I32, "index, from 0");
    def.function(try_drawing::<(Items<f64>,), _>(Stream::Weighted, |draws, (weights,)| {
        place_of(weights, draws.unit())
    }))
}

/// The weights divided by the greatest, so that their sum is finite; or the problem with them.
pub(super) fn shares(weights: &[f64]) -> Result<Vec<f64>, String> {
    let wrong = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0));
    if let Some(at) = wrong {
        return Err(format!(
            "weight {at} is {}; weights must be finite and not negative",
            weights[at]
        ));
    }
    let greatest = weights.iter().copied().fold(0.0, f64::max);
    if greatest == 0.0 {
        return Err("no weight is above 0; give at least one".into());
    }
    Ok(weights.iter().map(|weight| weight / greatest).collect())
}

/// The index selected by a number from 0 to 1.
pub(super) fn place_of(weights: &[f64], unit: f64) -> Result<i32, String> {
    let shares = shares(weights)?;
    let sum: f64 = shares.iter().sum();
    let mut rest = unit * sum;
    let mut last = 0;
    for (at, share) in shares.iter().enumerate().filter(|(at, _)| weights[*at] > 0.0) {
        last = at;
        rest -= share;
        if rest < 0.0 {
            break;
        }
    }
    i32::try_from(last).map_err(|_| "the list has more items than an `i32` index can count".into())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::random) const N: i32 = 20_000;

    pub(in crate::random) fn drawn<R>(stream: Stream, draw: impl Fn(&mut Draws) -> R) -> Vec<R> {
        (0..N).map(|id| draw(&mut Draws::new(id, 3, stream))).collect()
    }

    /// Bounds are five standard errors of the mean, and a fraction of the variance.
    pub(in crate::random) fn has_within(part: f64, numbers: &[f64], mean: f64, variance: f64) {
        let n = numbers.len() as f64;
        let found = numbers.iter().sum::<f64>() / n;
        let spread = numbers.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / n;
        assert!((found - mean).abs() <= 5.0 * (variance / n).sqrt(), "mean {found}, not {mean}");
        assert!((spread / variance - 1.0).abs() < part, "variance {spread}, not {variance}");
    }

    fn has(numbers: &[f64], mean: f64, variance: f64) {
        has_within(0.05, numbers, mean, variance);
    }

    /// Whether counts fit probabilities, by chi-squared over the values expected at least five
    /// times.
    fn fits(numbers: &[f64], share: impl Fn(i32) -> f64) {
        let n = numbers.len() as f64;
        let (mut chi, mut freedom, mut rest) = (0.0_f64, 0.0_f64, (n, n));
        for k in 0..2000 {
            let wanted = share(k) * n;
            if wanted < 5.0 {
                continue;
            }
            let found = numbers.iter().filter(|x| **x == f64::from(k)).count() as f64;
            chi += (found - wanted) * (found - wanted) / wanted;
            freedom += 1.0;
            rest = (rest.0 - found, rest.1 - wanted);
        }
        if rest.1 >= 5.0 {
            chi += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
        } else {
            freedom -= 1.0;
        }
        // Five standard deviations of chi-squared above its mean.
        assert!(
            chi < freedom + 5.0 * (2.0 * freedom).sqrt(),
            "{chi} with {freedom} degrees of freedom"
        );
    }

    #[test]
    fn words_are_those_of_the_form() {
        let form = super::super::shuffled_key();
        for (id, seed) in [(0, 0), (5, -7), (i32::MIN, i32::MAX)] {
            let mut words = [0; 2];
            let params = [id, seed].map(|word| u64::from(word as u32));
            form.run_scalar(&params, &mut words, &mut Vec::new());
            let [a, b, ..] = pcg4d([id as u32, seed as u32, Stream::Shuffle as u32, 0]);
            assert_eq!(words, [u64::from(a), u64::from(b)]);
        }
    }

    #[test]
    fn the_logarithm_of_factorials_is_exact_to_ten_digits() {
        let mut exact = 0.0_f64;
        for k in 1..500 {
            exact += f64::from(k).ln();
            let found = ln_factorial(f64::from(k));
            assert!((found - exact).abs() <= 1e-9 * exact.max(1.0), "{k}: {found}, not {exact}");
        }
        assert_eq!(ln_factorial(0.0), 0.0);
    }

    #[test]
    fn counts_of_rare_events_are_poisson_distributed() {
        for mean in [0.3, 3.0, 9.5, 11.0, 40.0, 1000.0] {
            let numbers = drawn(Stream::Poisson, |draws| f64::from(poisson_of(mean, draws)));
            has(&numbers, mean, mean);
            fits(&numbers, |k| {
                (f64::from(k) * mean.ln() - mean - ln_factorial(f64::from(k))).exp()
            });
        }
        let at = |mean| poisson_of(mean, &mut Draws::new(0, 0, Stream::Poisson));
        assert_eq!([at(0.0), at(-1.0), at(f64::NAN)], [0, 0, 0]);
        assert!((999_000_000..1_001_000_000).contains(&at(f64::INFINITY)));
    }

    #[test]
    fn successes_are_binomially_distributed() {
        for (n, p) in [(1, 0.3), (10, 0.5), (50, 0.9), (100, 0.04), (400, 0.4), (1000, 0.97)] {
            let numbers = drawn(Stream::Binomial, |draws| f64::from(binomial_of(n, p, draws)));
            let trials = f64::from(n);
            has(&numbers, trials * p, trials * p * (1.0 - p));
            fits(&numbers, |k| {
                if k > n {
                    return 0.0;
                }
                let k = f64::from(k);
                let ways = ln_factorial(trials) - ln_factorial(k) - ln_factorial(trials - k);
                (ways + k * p.ln() + (trials - k) * (1.0 - p).ln()).exp()
            });
        }
        let at = |n, p| binomial_of(n, p, &mut Draws::new(0, 0, Stream::Binomial));
        assert_eq!([at(9, 0.0), at(9, 1.0), at(9, -2.0), at(9, 7.0), at(-9, 0.5)], [0, 9, 0, 9, 0]);
        assert_eq!(at(9, f64::NAN), 0);
    }

    #[test]
    fn beta_numbers_of_small_weights_are_near_one_end() {
        for (a, b, mean) in [
            (1e-3, 1e-3, 0.5),
            (1e-10, 3e-10, 0.25),
            (1e-323, 1e-323, 0.5),
            (0.0, 1e-5, 0.0),
            (1e-5, 0.0, 1.0),
            (0.005, 0.005, 0.5),
        ] {
            let numbers: Vec<f64> =
                (0..4000).map(|id| beta_of(a, b, &mut Draws::new(id, 7, Stream::Beta))).collect();
            assert!(numbers.iter().all(|x| (0.0..=1.0).contains(x)), "{a} {b}");
            let found = numbers.iter().sum::<f64>() / 4000.0;
            assert!((found - mean).abs() < 0.04, "{found}, not {mean}, for {a} {b}");
        }
        assert!(beta_of(0.0, -1.0, &mut Draws::new(0, 0, Stream::Beta)).is_nan());
    }

    #[test]
    fn gamma_and_beta_have_their_means_and_variances() {
        for shape in [0.4, 1.0, 2.5, 30.0] {
            has(&drawn(Stream::Gamma, |draws| gamma_of(shape, draws)), shape, shape);
        }
        has(&drawn(Stream::Beta, |draws| beta_of(2.0, 3.0, draws)), 0.4, 0.04);
        let at = |shape| gamma_of(shape, &mut Draws::new(0, 0, Stream::Gamma));
        assert_eq!([at(-1.0), at(f64::NAN), at(1e-300)], [0.0, 0.0, 0.0]);
        assert_eq!([at(f64::MAX), at(f64::INFINITY)], [f64::MAX, f64::INFINITY]);
    }

    #[test]
    fn indices_are_drawn_by_weight() {
        let weights = [1.0, 0.0, 2.0, 5.0];
        let numbers = drawn(Stream::Weighted, |draws| {
            f64::from(place_of(&weights, draws.unit()).expect("weights"))
        });
        fits(&numbers, |k| weights.get(k as usize).map_or(0.0, |weight| weight / 8.0));
        assert_eq!(place_of(&[0.0, 3.0, 0.0], 0.999), Ok(1));
        assert_eq!(place_of(&[f64::MAX, f64::MAX], 0.75), Ok(1));
        let wrong = |weights: &[f64]| place_of(weights, 0.5).expect_err("no weights");
        assert_eq!(wrong(&[1.0, -2.0]), "weight 1 is -2; weights must be finite and not negative");
        assert_eq!(wrong(&[f64::NAN]), "weight 0 is NaN; weights must be finite and not negative");
        assert_eq!(wrong(&[0.0]), "no weight is above 0; give at least one");
        assert_eq!(wrong(&[]), "no weight is above 0; give at least one");
    }
}
