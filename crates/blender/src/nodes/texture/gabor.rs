//! Gabor Texture: stripes of one frequency, scattered at random.

use std::f64::consts::{PI, SQRT_2, TAU};

use millstream_base::{Lane, Type, Vec3};
use millstream_form::{FormBuilder, Val};
use millstream_node::{NodeDef, Registry};
use millstream_nodes::kit::{dot, form_by_settings};

use super::super::hash::{hash, unit};
use super::super::{greatest, held, normalized};
use super::scaled;

/// Patches of stripes in each cell.
const PATCHES: usize = 8;

pub(super) fn register(registry: &mut Registry) {
    registry.register(gabor());
}

fn gabor() -> NodeDef {
    let def = NodeDef::new(
        "blender.gabor",
        "Stripes of one frequency, like Blender's Gabor Texture",
    )
    .details(
        "Each cell contains eight patches of stripes, which fade out at a distance of 1; each \
             is added or subtracted. In the plane, the orientation is an angle; in space, it is a \
             direction.",
    )
    .source(
        "Lagae et al., Procedural Noise using Sparse Gabor Convolution, 2009; Tavernier et \
             al., Making Gabor Noise Fast and Normalized, 2019; Tricard et al., Procedural Phasor \
             Noise, 2019",
    )
    .integer("dimensions", (2, 3), 2, "2: x and y, 3: the vector");
    [
        ("scale", 5.0, "factor of the position"),
        ("frequency", 2.0, "stripes per cell, at least 0.001"),
        ("anisotropy", 1.0, "1: all stripes along the orientation, 0: in any direction"),
        (
            "orientation_2d",
            PI / 4.0,
            "direction across the stripes in the plane, as an angle in radians",
        ),
    ]
    .into_iter()
    .fold(def.input_or("vector", Type::VEC3, 0.0, "position"), |def, (name, default, about)| {
        def.input_or(name, Type::F32, default, about)
    })
    .input_or(
        "orientation_3d",
        Type::VEC3,
        Vec3([SQRT_2 as f32, SQRT_2 as f32, 0.0]),
        "direction across the stripes in space, of any length",
    )
    .output("value", Type::F32, "about 0 to 1")
    .output("phase", Type::F32, "phase between two stripes, 0 to 1")
    .output("intensity", Type::F32, "amplitude of the stripes, at least 0")
    .kernel(form_by_settings(|settings, x| {
        let in_space = settings.integer("dimensions") == 3;
        outputs(in_space, x)
    }))
}

/// The orientation of stripes.
enum Direction<'b> {
    Angle(Val<'b>),
    Vector(Vec<Val<'b>>),
}

/// The parameters shared by all patches.
struct Stripes<'b> {
    frequency: Val<'b>,
    isotropy: Val<'b>,
    direction: Direction<'b>,
}

fn outputs<'b>(in_space: bool, x: &[Vec<Val<'b>>]) -> Vec<Vec<Val<'b>>> {
    let n = if in_space { 3 } else { 2 };
    let stripes = Stripes {
        frequency: greatest(x[2][0].like(0.001), x[2][0]),
        isotropy: 1.0 - held(x[3][0], 0.0, 1.0),
        direction: if in_space {
            Direction::Vector(normalized(&x[5]))
        } else {
            Direction::Angle(x[4][0])
        },
    };
    let (cosine, sine) = stripes.at(&scaled(&x[0][..n], x[1][0]));
    // Six times the standard deviation, unless the stripes are too wide.
    let squared = if in_space { 0.25 / SQRT_2 } else { 0.25 };
    let most = 6.0 * (PATCHES as f64 * 0.5 * squared).sqrt();
    let value = (sine / most) * 0.5 + 0.5;
    let phase = (sine.atan2(cosine).convert(Lane::F64) + PI) / TAU;
    let intensity = (cosine * cosine + sine * sine).sqrt() / most;
    vec![vec![value], vec![phase.convert(Lane::F32)], vec![intensity]]
}

impl<'b> Stripes<'b> {
    /// The sums of the cosines and of the sines of all patches near a position.
    fn at(&self, position: &[Val<'b>]) -> (Val<'b>, Val<'b>) {
        let n = position.len();
        let cell: Vec<Val<'b>> = position.iter().map(|x| x.floor()).collect();
        let local: Vec<Val<'b>> = position.iter().zip(&cell).map(|(x, cell)| *x - *cell).collect();
        let mut sum = (cell[0].like(0.0), cell[0].like(0.0));
        for neighbor in 0..3_usize.pow(n as u32) {
            let step = |i: usize| (neighbor / 3_usize.pow(i as u32) % 3) as f32 - 1.0;
            let cell: Vec<Val<'b>> = (0..n).map(|i| cell[i] + step(i)).collect();
            let local: Vec<Val<'b>> = (0..n).map(|i| local[i] - step(i)).collect();
            let of_cell = self.of_cell(&cell, &local);
            sum = (sum.0 + of_cell.0, sum.1 + of_cell.1);
        }
        sum
    }

    fn of_cell(&self, cell: &[Val<'b>], position: &[Val<'b>]) -> (Val<'b>, Val<'b>) {
        let b: &'b FormBuilder = cell[0].builder();
        let mut sum = (b.constant_f32(0.0), b.constant_f32(0.0));
        let cell: Vec<Val<'b>> = cell.iter().map(|x| x.bitcast()).collect();
        for patch in 0..PATCHES {
            let seed = |k: usize| {
                let number = b.constant_f32((patch * 3 + k) as f32).bitcast();
                cell.iter().copied().chain([number]).collect::<Vec<_>>()
            };
            let (turn, center, sign) = (seed(0), drawn(&seed(1)), drawn_one(&seed(2)));
            let way: Vec<Val<'b>> = position.iter().zip(center).map(|(x, c)| *x - c).collect();
            let far = dot(&way, &way).ge(1.0);
            let (cosine, sine) = self.patch(&way, &turn);
            let signed = |x: Val<'b>| far.select(0.0, sign.lt(0.5).select(-x, x));
            sum = (sum.0 + signed(cosine), sum.1 + signed(sine));
        }
        sum
    }

    /// A patch of stripes around the origin.
    fn patch(&self, way: &[Val<'b>], seed: &[Val<'b>]) -> (Val<'b>, Val<'b>) {
        let squared = dot(way, way);
        let window = (squared * PI as f32).cos() * 0.5 + 0.5;
        let strength = (squared * -(PI as f32)).exp() * window;
        let across: Vec<Val<'b>> =
            self.turned(seed).into_iter().map(|x| x * self.frequency).collect();
        let angle = (dot(way, &across).convert(Lane::F64) * TAU).convert(Lane::F32);
        (strength * angle.cos(), strength * angle.sin())
    }

    /// The direction across the stripes of a patch.
    fn turned(&self, seed: &[Val<'b>]) -> Vec<Val<'b>> {
        match &self.direction {
            Direction::Angle(angle) => {
                let random = (drawn_one(seed) - 0.5).convert(Lane::F64) * PI;
                let angle = *angle + random.convert(Lane::F32) * self.isotropy;
                vec![angle.cos(), angle.sin()]
            }
            Direction::Vector(given) => {
                let flat = (given[0] * given[0] + given[1] * given[1]).sqrt();
                let azimuth = given[1].sign() * (given[0] / flat).acos();
                let random = drawn(seed);
                let turned =
                    |angle: Val<'b>, k: usize| angle + random[k] * PI as f32 * self.isotropy;
                let (inclination, azimuth) = (turned(given[2].acos(), 0), turned(azimuth, 1));
                let around = inclination.sin();
                let turned = [around * azimuth.cos(), around * azimuth.sin(), inclination.cos()];
                let stays = self.isotropy.eq(0.0);
                given
                    .iter()
                    .zip(turned)
                    .map(|(given, turned)| stays.select(*given, turned))
                    .collect()
            }
        }
    }
}

fn drawn_one<'b>(words: &[Val<'b>]) -> Val<'b> {
    unit(hash(words))
}

/// Random numbers from 0 to 1 for three or four words, one fewer than there are words.
fn drawn<'b>(words: &[Val<'b>]) -> Vec<Val<'b>> {
    match words {
        [x, y, z] => vec![drawn_one(words), drawn_one(&[*z, *x, *y])],
        [x, y, z, w] => {
            vec![drawn_one(words), drawn_one(&[*z, *x, *w, *y]), drawn_one(&[*w, *z, *y, *x])]
        }
        _ => unreachable!("cells of two or three dimensions and a number"),
    }
}
