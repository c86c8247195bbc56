//! Gabor noise: randomly scattered patches of stripes.

use std::f64::consts::TAU;

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};

use super::cell::{Site, neighbors};
use super::lattice::{DRAWN, draw, shuffled};
use super::{ABOUT_FAR, ABOUT_TILES, period, placed_in_space, scaled, seed_words, tiling};
use crate::shape::{T, form_by_settings, sockets_of};
use crate::vector::dot;

pub(super) fn register(registry: &mut Registry) {
    registry.register(gabor());
}

/// By dimension, for one patch per cell and stripes that are not too wide: scales the standard
/// deviation over all positions to a quarter. The mean of the squared envelope over a cell is that
/// of (1 - r^2)^6 over the unit ball: pi / 7 in the plane, 4 pi 1024 / 45045 in space; the sine
/// halves it.
const SCALES: [f64; 2] = [0.527_751, 0.661_49];

fn gabor() -> NodeDef {
    let def = NodeDef::new(
        "noise.gabor",
        "Gabor noise: scattered stripes of one width and \
                                           direction",
    )
    .details(format!(
        "Each cell contains `patches` patches of stripes, which fade out at a distance of 1. \
             The value is their sum, about -1 to 1 with a standard deviation of a quarter over all \
             positions for frequencies of at least 1. Phase and intensity describe the same \
             stripes: the value is intensity * sin(2 pi phase). The error is at most 1e-5 for a \
             frequency of 1. {ABOUT_TILES} {ABOUT_FAR}"
    ))
    .source(
        "A. Lagae et al., Procedural Noise using Sparse Gabor Convolution, 2009, and T. \
             Tricard et al., Procedural Phasor Noise, 2019; the envelope is (1 - r^2)^3",
    )
    .integer("patches", (1, 16), 4, "number of patches per cell");
    tiling(def)
        .sockets_by_settings(|settings| {
            let def = placed_in_space()
                .input_or("frequency", Type::F32, 2.0, "number of stripes per cell")
                .input_or(
                    "direction",
                    T,
                    Default::Number(1.0),
                    "direction across the stripes, of any length",
                )
                .input_or(
                    "disorder",
                    Type::F32,
                    0.0,
                    "randomness of the direction: 0 is none, 1 is any direction",
                );
            let def = period(def, settings.flag("tile"))
                .output("value", Type::F32, "about -1 to 1")
                .output("phase", Type::F32, "phase between two stripes, 0 to 1")
                .output("intensity", Type::F32, "amplitude of the stripes, at least 0");
            Ok(sockets_of(&def))
        })
        .kernel(form_by_settings(|settings, x| {
            let n_patches = settings.integer("patches").max(1) as i32;
            let tile = settings.flag("tile");
            let p = scaled(&x[0], x[1][0]);
            let stripes = Stripes {
                frequency: x[3][0],
                direction: directed(&x[4]),
                disorder: x[5][0].clamp(0.0, 1.0),
            };
            let period = tile.then(|| x[6].as_slice());
            let cells = neighbors(&p, &seed_words(x[2][0], 0), period);
            let (cosine, sine) = stripes.sums(&cells, n_patches);
            let factor = SCALES[p.len() - 2] / f64::from(n_patches).sqrt();
            let phase = (sine.atan2(cosine) * (1.0 / TAU)).fract();
            let intensity = cosine.hypot(sine) * factor;
            vec![vec![sine * factor], vec![phase], vec![intensity]]
        }))
}

/// The vector scaled to length 1; zero does not change.
fn directed<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    let squared = dot(v, v);
    let factor = squared.eq(0.0).select(1.0, squared.like(1.0) / squared.sqrt());
    v.iter().map(|x| *x * factor).collect()
}

/// The parameters shared by all patches.
struct Stripes<'b> {
    frequency: Val<'b>,
    /// Has length 1.
    direction: Vec<Val<'b>>,
    disorder: Val<'b>,
}

impl<'b> Stripes<'b> {
    /// The sums of the cosines and of the sines of all patches.
    fn sums(&self, cells: &[Site<'b>], n_patches: i32) -> (Val<'b>, Val<'b>) {
        let mut sums: Option<(Val<'b>, Val<'b>)> = None;
        for cell in cells {
            for patch in 0..n_patches {
                let hash = shuffled(cell.hash + patch.wrapping_mul(0x2545_f491));
                let (cosine, sine) = self.patch(&cell.way, hash);
                sums = Some(match sums {
                    None => (cosine, sine),
                    Some(sum) => (sum.0 + cosine, sum.1 + sine),
                });
            }
        }
        sums.expect("a position has cells around it")
    }

    /// A patch of the cell whose center is at this offset.
    fn patch(&self, way: &[Val<'b>], hash: Val<'b>) -> (Val<'b>, Val<'b>) {
        let n = way.len();
        let to_center: Vec<Val<'b>> =
            way.iter().enumerate().map(|(i, x)| *x + draw(hash, i) * (0.5 * DRAWN)).collect();
        let turned = shuffled(hash);
        let random: Vec<Val<'b>> = (0..n).map(|i| draw(turned, i) * DRAWN).collect();
        let towards = directed(&random);
        let mixed: Vec<Val<'b>> = (0..n)
            .map(|i| self.direction[i] + (towards[i] - self.direction[i]) * self.disorder)
            .collect();
        let across = directed(&mixed);
        let inside = (to_center[0].like(1.0) - dot(&to_center, &to_center)).max(0.0);
        let strength = inside * inside * inside;
        // Half of the patches are reversed, by a bit that is not used otherwise.
        let sign = (turned & 1).eq(0).select(strength, -strength);
        let angle = dot(&to_center, &across) * self.frequency * -TAU;
        (sign * angle.cos(), sign * angle.sin())
    }
}
