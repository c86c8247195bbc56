//! Colors of light: black-body radiation, single wavelengths.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::Three;
use super::spaces::from_xyz;
use super::with_alpha;

pub(super) fn register(registry: &mut Registry) {
    registry.register(blackbody());
    registry.register(wavelength());
}

/// The polynomial with these coefficients, highest power first.
fn polynomial(x: Val<'_>, coefficients: [f64; 4]) -> Val<'_> {
    let [a, b, c, d] = coefficients;
    ((x * a + b) * x + c) * x + d
}

/// The light that BT.709 can represent: no negative channels.
fn shown(c: Three<'_>) -> Three<'_> {
    c.map(|c| c.max(0.0))
}

fn blackbody() -> NodeDef {
    NodeDef::new("color.blackbody", "The color of black-body radiation")
        .details(
            "The luminance is 1, except for colors outside BT.709, whose blue is clamped to 0. \
             Temperatures are clamped to 1667 K to 25000 K; outside this range the color hardly \
             changes. About white at 6500 K. Alpha is 1.",
        )
        .source(
            "the cubic approximation of the Planckian locus by B. Kang et al., \"Design of \
             advanced color temperature control system for HDTV applications\", 2002",
        )
        .input_or("temperature", Type::F32, 6500.0, "temperature in kelvins")
        .output("value", Type::COLOR, "linear light")
        .form(|_, inputs| {
            let t = inputs[0][0].clamp(1667.0, 25000.0);
            let thousandth = 1000.0 / t;
            let cold = polynomial(thousandth, [-0.266_123_9, -0.234_358_9, 0.877_695_6, 0.179_910]);
            let hot = polynomial(thousandth, [-3.025_846_9, 2.107_037_9, 0.222_634_7, 0.240_390]);
            let x = t.le(4000.0).select(cold, hot);
            let coldest = polynomial(x, [-1.106_381_4, -1.348_110_20, 2.185_558_32, -0.202_196_83]);
            let cold = polynomial(x, [-0.954_947_6, -1.374_185_93, 2.091_370_15, -0.167_488_67]);
            let hot = polynomial(x, [3.081_758_0, -5.873_386_70, 3.751_129_97, -0.370_014_83]);
            let y = t.le(2222.0).select(coldest, t.le(4000.0).select(cold, hot));
            let xyz = [x / y, x.like(1.0), (1.0 - x - y) / y];
            vec![with_alpha(shown(from_xyz(xyz)), t.like(1.0))]
        })
}

/// A bell curve with different widths on its two sides.
fn bell(x: Val<'_>, middle: f64, below: f64, above: f64) -> Val<'_> {
    let way = x - middle;
    let t = way * x.lt(middle).select(x.like(1.0 / below), x.like(1.0 / above));
    (t * t * -0.5).exp()
}

fn wavelength() -> NodeDef {
    NodeDef::new("color.wavelength", "The color of light of a single wavelength")
        .details(
            "The brightness is that perceived by the eye; green at 555 nm has a luminance of about \
             1. Such light is more saturated than BT.709 can represent; negative channels are \
             clamped to 0. Black outside about 380 to 750 nm. Alpha is 1.",
        )
        .source(
            "C. Wyman, P. Sloan, P. Shirley, \"Simple Analytic Approximations to the CIE XYZ Color \
             Matching Functions\", JCGT 2(2), 2013: the multi-lobe fit",
        )
        .input_or("wavelength", Type::F32, 550.0, "wavelength in nanometers")
        .output("value", Type::COLOR, "linear light")
        .form(|_, inputs| {
            let w = inputs[0][0];
            let x = bell(w, 599.8, 37.9, 31.0) * 1.056 + bell(w, 442.0, 16.0, 26.7) * 0.362
                - bell(w, 501.1, 20.4, 26.2) * 0.065;
            let y = bell(w, 568.8, 46.9, 40.5) * 0.821 + bell(w, 530.9, 16.3, 31.1) * 0.286;
            let z = bell(w, 437.0, 11.8, 36.0) * 1.217 + bell(w, 459.0, 26.0, 13.8) * 0.681;
            vec![with_alpha(shown(from_xyz([x, y, z])), w.like(1.0))]
        })
}
