//! Random divisions: numbers of drawn items of each kind, and random parts of a whole.

use millstream_base::{Type, ValueType, num};
use millstream_node::{Call, Default, Failure, NodeDef, Registry};

use super::rejection::{Draws, binomial_of, drawing, ln_factorial, ln_gamma_of, place_of, shares};
use super::{SOURCE, Stream, drawn};
use crate::cells::ListCells;
use crate::each::{Arguments, Items};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(hypergeometric());
    registry.register(multinomial());
    registry.register(dirichlet());
}

/// Tails below this probability are ignored; no number of 53 bits reaches them.
const NOTHING: f64 = 1e-18;

/// The number of marked items among those drawn, by summing probabilities from the most likely
/// number on.
fn hypergeometric_of(marked: i32, others: i32, drawn: i32, draws: &mut Draws) -> i32 {
    let (marked, others) = (f64::from(marked.max(0)), f64::from(others.max(0)));
    let all = marked + others;
    let drawn = f64::from(drawn.max(0)).min(all);
    let (least, most) = ((drawn - others).max(0.0), marked.min(drawn));
    let likeliest = ((drawn + 1.0) * (marked + 1.0) / (all + 2.0)).floor().clamp(least, most);
    let ln_ways = |n: f64, k: f64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let share = num::exp(
        ln_ways(marked, likeliest) + ln_ways(others, drawn - likeliest) - ln_ways(all, drawn),
    );
    let mut rest = draws.unit() - share;
    let (mut up, mut down) = ((likeliest, share), (likeliest, share));
    while rest > 0.0 && up.1 + down.1 > NOTHING {
        let (k, share) = up;
        let more = (marked - k) * (drawn - k) / ((k + 1.0) * (others - drawn + k + 1.0));
        up = (k + 1.0, if k < most { share * more } else { 0.0 });
        rest -= up.1;
        if rest <= 0.0 {
            return up.0 as i32;
        }
        let (k, share) = down;
        let less = k * (others - drawn + k) / ((marked - k + 1.0) * (drawn - k + 1.0));
        down = (k - 1.0, if k > least { share * less } else { 0.0 });
        rest -= down.1;
        if rest <= 0.0 {
            return down.0 as i32;
        }
    }
    likeliest as i32
}

fn hypergeometric() -> NodeDef {
    let def = NodeDef::new(
        "random.hypergeometric",
        "The number of marked items among items drawn without replacement",
    )
    .details(
        "This is the hypergeometric distribution; for drawing with replacement use \
             `random.binomial`. The mean is drawn * marked / (marked + others). Negative numbers \
             count as 0, and no more items are drawn than there are. The time is proportional to \
             the standard deviation.",
    )
    .input_or("marked", Type::I32, 10.0, "number of marked items")
    .input_or("others", Type::I32, 10.0, "number of unmarked items")
    .input_or("drawn", Type::I32, 5.0, "number of items drawn");
    let def = drawn(def)
        .source(format!("sum of the probabilities from the most likely number on; {SOURCE}"))
        .output("value", Type::I32, "");
    def.function(drawing::<(i32, i32, i32), _>(
        Stream::Hypergeometric,
        |draws, (marked, others, drawn)| hypergeometric_of(marked, others, drawn, draws),
    ))
}

/// The kernel that draws an item for each weight. The id and the seed are the last inputs; `draw`
/// may say why there are no items.
fn drawing_shares<A: Arguments, R: ValueType>(
    stream: Stream,
    weights_at: usize,
    draw: impl for<'v> Fn(&mut Draws, A::Of<'v>, &mut Vec<R>) -> Result<(), String>
    + Send
    + Sync
    + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    move |call| {
        let mut cells = ListCells::<R>::new(call);
        let (views, draws) = (A::views(call), Draws::of_last_inputs(call, stream));
        let (weights, mut pace) = (call.lists(weights_at), call.pace());
        cells.fill(
            call,
            |i| weights.n_items(i),
            |i, out| {
                pace.work(weights.n_items(i).saturating_mul(1 << 5))?;
                let drawn = draw(&mut draws(i), A::of(&views, i), out);
                drawn.map_err(|message| Failure::at(i, message))
            },
        )?;
        drop((views, draws));
        cells.put(call)
    }
}

fn weights(def: NodeDef, about: &'static str) -> NodeDef {
    def.input_or("weights", list_of(Type::F64), Default::Zero, about)
}

const WRONG: &str = "Fails if a weight is negative or not finite, or if no weight is above 0.";

fn multinomial() -> NodeDef {
    let def = NodeDef::new(
        "random.multinomial",
        "The number of occurrences of each outcome in several trials",
    )
    .details(format!(
        "In each trial one outcome occurs, with a probability proportional to its weight \
             (multinomial distribution). The counts add up to the number of trials; a negative \
             number counts as 0. {WRONG}"
    ))
    .input_or("trials", Type::I32, 10.0, "number of trials");
    let def = drawn(weights(def, "weight of each outcome"))
        .source(format!(
            "a number like `random.binomial` for each outcome, out of the remaining trials; \
             {SOURCE}"
        ))
        .output("value", list_of(Type::I32), "count of each outcome");
    def.function(drawing_shares::<(i32, Items<f64>), _>(
        Stream::Multinomial,
        1,
        |draws, (trials, weights), out| multinomial_of(trials, weights, draws, out),
    ))
}

fn multinomial_of(
    trials: i32,
    weights: &[f64],
    draws: &mut Draws,
    out: &mut Vec<i32>,
) -> Result<(), String> {
    let shares = shares(weights)?;
    // The sums of the weights of each outcome and all later ones, added from the last one on.
    let mut behind: Vec<f64> = Vec::with_capacity(shares.len());
    let mut sum = 0.0;
    for share in shares.iter().rev() {
        sum += share;
        behind.push(sum);
    }
    let mut left = trials.max(0);
    for (share, rest) in shares.iter().zip(behind.iter().rev()) {
        let n = if *share > 0.0 { binomial_of(left, share / rest, draws) } else { 0 };
        left -= n;
        out.push(n);
    }
    Ok(())
}

fn dirichlet() -> NodeDef {
    let def = NodeDef::new(
        "random.dirichlet",
        "Divides a whole into random shares (Dirichlet distribution)",
    )
    .details(format!(
        "Shares from 0 to 1 that add up to 1, except for rounding. The mean of each share is \
             its weight divided by the sum of the weights, and larger weights reduce the deviation \
             from it. If all weights are 1, all divisions are equally likely. For two shares see \
             `random.beta`. A weight of 0 gives a share of 0. {WRONG}"
    ));
    let def = drawn(weights(def, "weight of each share"))
        .source(format!("gamma-distributed numbers divided by their sum, by logarithms; {SOURCE}"))
        .output("value", list_of(Type::F64), "share of each weight");
    def.function(drawing_shares::<(Items<f64>,), _>(
        Stream::Dirichlet,
        0,
        |draws, (weights,), out| dirichlet_of(weights, draws, out),
    ))
}

fn dirichlet_of(weights: &[f64], draws: &mut Draws, out: &mut Vec<f64>) -> Result<(), String> {
    shares(weights)?;
    let start = out.len();
    let ln = |weight: &f64| {
        if *weight > 0.0 { ln_gamma_of(*weight, draws) } else { f64::NEG_INFINITY }
    };
    out.extend(weights.iter().map(ln));
    let parts = &mut out[start..];
    let greatest = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        // If all weights are tiny, one of them gets everything.
        let whole = place_of(weights, draws.unit())? as usize;
        for (at, part) in parts.iter_mut().enumerate() {
            *part = f64::from(u8::from(at == whole));
        }
        return Ok(());
    }
    let mut sum = 0.0;
    for part in parts.iter_mut() {
        *part = num::exp(*part - greatest);
        sum += *part;
    }
    for part in parts {
        *part /= sum;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::rejection::tests::{N, drawn as many, has_within};
    use super::*;

    /// Within five standard errors, also for the variance; the fourth moments are those of normal
    /// numbers, or nearly.
    fn has(numbers: &[f64], mean: f64, variance: f64) {
        has_within(5.0 * (3.0 / numbers.len() as f64).sqrt(), numbers, mean, variance);
    }

    /// Means, variances and probabilities from `scipy.stats.hypergeom` 1.17.
    #[test]
    fn numbers_of_marked_items_agree_with_scipy() {
        for (marked, others, drawn, mean, variance, first, shares) in [
            (
                10,
                40,
                20,
                4.0,
                1.959_183_673_469_387_7,
                3,
                [0.225_929_629_396, 0.280_058_603_105, 0.215_085_007_185],
            ),
            (
                400,
                600,
                300,
                120.0,
                50.450_450_450_450_454,
                119,
                [0.055_630_031_421, 0.056_138_869_606, 0.055_542_667_559],
            ),
            (
                15,
                5,
                10,
                7.5,
                0.986_842_105_263_157_9,
                6,
                [0.135_448_916_409, 0.348_297_213_622, 0.348_297_213_622],
            ),
            (
                30_000,
                70_000,
                5000,
                1500.0,
                997.509_975_099_751,
                1499,
                [0.012_626_617_016, 0.012_630_667_786, 0.012_622_063_146],
            ),
        ] {
            let numbers = many(Stream::Hypergeometric, |draws| {
                f64::from(hypergeometric_of(marked, others, drawn, draws))
            });
            has(&numbers, mean, variance);
            for (k, share) in (first..).zip(shares) {
                let found = numbers.iter().filter(|x| **x == f64::from(k)).count() as f64;
                let n = f64::from(N);
                let error = (n * share * (1.0 - share)).sqrt();
                assert!((found - n * share).abs() < 5.0 * error, "{k}: {found}, not {}", n * share);
            }
        }
        let at = |marked, others, drawn| {
            hypergeometric_of(marked, others, drawn, &mut Draws::new(7, 0, Stream::Hypergeometric))
        };
        assert_eq!([at(5, 0, 3), at(0, 5, 3), at(5, 5, 10), at(5, 5, 99)], [3, 0, 5, 5]);
        assert_eq!([at(-1, 5, 3), at(5, -1, 3), at(5, 5, -3), at(0, 0, 0)], [0, 3, 0, 0]);
        let half = at(i32::MAX, i32::MAX, i32::MAX);
        assert!((half - (1 << 30)).abs() < 6 * 16_384, "{half}");
    }

    #[test]
    fn counts_of_outcomes_add_up_and_each_is_binomial() {
        let weights = [1.0, 0.0, 3.0, 4.0];
        let counts = many(Stream::Multinomial, |draws| {
            let mut counts = Vec::new();
            multinomial_of(40, &weights, draws, &mut counts).expect("valid weights");
            counts
        });
        assert!(counts.iter().all(|counts| counts.len() == 4 && counts.iter().sum::<i32>() == 40));
        for (k, p) in [(0, 0.125), (2, 0.375), (3, 0.5)] {
            let of_one: Vec<f64> = counts.iter().map(|counts| f64::from(counts[k])).collect();
            has(&of_one, 40.0 * p, 40.0 * p * (1.0 - p));
        }
        assert!(counts.iter().all(|counts| counts[1] == 0));
        let wrong = |weights: &[f64]| {
            let draws = &mut Draws::new(0, 0, Stream::Multinomial);
            multinomial_of(1, weights, draws, &mut Vec::new()).expect_err("is refused")
        };
        assert_eq!(wrong(&[1.0, -1.0]), "weight 1 is -1; weights must be finite and not negative");
        assert_eq!(wrong(&[f64::NAN]), "weight 0 is NaN; weights must be finite and not negative");
        assert_eq!(wrong(&[0.0]), "no weight is above 0; give at least one");
        assert_eq!(wrong(&[]), "no weight is above 0; give at least one");
    }

    #[test]
    fn each_share_of_a_whole_is_beta_distributed() {
        for weights in [[2.0, 3.0, 5.0], [0.5, 0.25, 1.0]] {
            let all: f64 = weights.iter().sum();
            let shares = many(Stream::Dirichlet, |draws| {
                let mut shares = Vec::new();
                dirichlet_of(&weights, draws, &mut shares).expect("valid weights");
                shares
            });
            // Each of three quotients has an error of half a unit of 2^-53, their sum twice that.
            assert!(
                shares.iter().all(|shares| {
                    (shares.iter().sum::<f64>() - 1.0).abs() <= 4.0 * f64::EPSILON
                })
            );
            for (k, weight) in weights.iter().enumerate() {
                let mean = weight / all;
                let of_one: Vec<f64> = shares.iter().map(|shares| shares[k]).collect();
                has(&of_one, mean, mean * (1.0 - mean) / (all + 1.0));
            }
        }
        let tiny = |weights: &[f64], id| {
            let mut shares = Vec::new();
            let draws = &mut Draws::new(id, 0, Stream::Dirichlet);
            dirichlet_of(weights, draws, &mut shares).expect("valid weights");
            shares
        };
        for id in 0..100 {
            let shares = tiny(&[1e-5, 0.0, 1e-5], id);
            assert!(shares[1] == 0.0 && (shares[0] + shares[2] - 1.0).abs() < 1e-15, "{shares:?}");
            let shares = tiny(&[1e-310, 2e-310], id);
            assert!(shares == [1.0, 0.0] || shares == [0.0, 1.0], "{shares:?}");
        }
    }
}
