//! Colors: channels, spaces, corrections, blending, light, ramps, all by kernel form.
//!
//! A `color` is linear light with BT.709 primaries and the white point D65; alpha is not
//! premultiplied. `color.convert` gives the coordinates in another color space, as a color whose
//! channels have another meaning.

mod adjust;
mod blend;
mod channels;
mod composite;
mod difference;
mod grade;
#[cfg(test)]
mod grade_tests;
mod light;
mod ramp;
pub(crate) mod spaces;
#[cfg(test)]
mod tests;

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    channels::register(registry);
    spaces::register(registry);
    adjust::register(registry);
    blend::register(registry);
    light::register(registry);
    grade::register(registry);
    difference::register(registry);
    composite::register(registry);
    ramp::register(registry);
}

/// Red, green and blue, or the three coordinates of another color space.
pub(crate) type Three<'b> = [Val<'b>; 3];

/// The channels of a color without alpha.
pub(crate) fn three<'b>(color: &[Val<'b>]) -> Three<'b> {
    [color[0], color[1], color[2]]
}

/// Three channels and alpha.
fn with_alpha<'b>(channels: Three<'b>, alpha: Val<'b>) -> Vec<Val<'b>> {
    let [a, b, c] = channels;
    vec![a, b, c, alpha]
}

/// Applies `f` channel by channel.
fn each<'b>(a: Three<'b>, b: Three<'b>, f: impl Fn(Val<'b>, Val<'b>) -> Val<'b>) -> Three<'b> {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2])]
}

/// The weights of the channels in the luminance of linear light.
const LUMINANCE: [f64; 3] = [0.2126, 0.7152, 0.0722];

pub(crate) fn luminance(color: Three<'_>) -> Val<'_> {
    color[0] * LUMINANCE[0] + color[1] * LUMINANCE[1] + color[2] * LUMINANCE[2]
}

/// Adds a color input, black and opaque by default.
pub(crate) fn color_input(def: NodeDef, name: &'static str, about: &'static str) -> NodeDef {
    def.input_or(name, Type::COLOR, Default::Zero, about)
}
