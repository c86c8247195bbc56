//! Brick Texture.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry, SettingKind, SettingValue, Settings};

use super::super::{cast_to_i32, held, least};
use super::{mixed, scaled};
use millstream_nodes::kit::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(brick());
}

const INPUTS: [(&str, f64, &str); 6] = [
    ("scale", 5.0, "factor of the position"),
    ("mortar_size", 0.02, "extent of the mortar into the bricks"),
    ("mortar_smooth", 0.1, "fraction of the mortar that is smoothed"),
    ("bias", 0.0, "offset of the random number that mixes the colors of a brick"),
    ("brick_width", 0.5, ""),
    ("row_height", 0.25, ""),
];

fn brick() -> NodeDef {
    let number = |x: f64| Some(SettingValue::Number(x));
    let def =
        NodeDef::new("blender.brick", "Bricks in rows with mortar, as Blender's Brick Texture")
            .setting("offset", SettingKind::Number, number(0.5), "shift of a row, in bricks")
            .integer(
                "offset_frequency",
                (0, 99),
                2,
                "every how many rows one is shifted; 0 shifts and squashes none",
            )
            .setting(
                "squash",
                SettingKind::Number,
                number(1.0),
                "width factor of the bricks of a row",
            )
            .integer(
                "squash_frequency",
                (0, 99),
                2,
                "every how many rows one has squashed bricks; 0 squashes and shifts none",
            )
            .input_or("vector", Type::VEC3, 0.0, "position; z is ignored")
            .input_or("color1", Type::COLOR, Default::Zero, "first color of bricks")
            .input_or("color2", Type::COLOR, Default::Zero, "second color of bricks")
            .input_or("mortar", Type::COLOR, Default::Zero, "color between bricks");
    INPUTS
        .iter()
        .fold(def, |def, (name, default, about)| def.input_or(*name, Type::F32, *default, *about))
        .output("color", Type::COLOR, "")
        .output("factor", Type::F32, "1 in the mortar, 0 in bricks")
        .kernel(form_by_settings(|settings, x| {
            let (tint, mortar) = laid(settings, x);
            let color = |i: usize| {
                let stone = mixed(x[1][i], x[2][i], tint);
                let stone = mortar.ne(1.0).select(stone, x[1][i]);
                mixed(stone, x[3][i], mortar)
            };
            vec![(0..4).map(color).collect(), vec![mortar]]
        }))
}

/// A random number for a brick, 0 to 1.
fn random(n: Val<'_>) -> Val<'_> {
    let n = (n + 1013) & i32::MAX;
    let n = n.ushr(13) ^ n;
    let n = (n * (n * n * 60_493 + 19_990_303) + 1_376_312_589) & i32::MAX;
    n.convert(Lane::F32) / 1_073_741_824.0 * 0.5
}

/// The mix of the two colors of a brick, and the amount of mortar.
fn laid<'b>(settings: &Settings, x: &[Vec<Val<'b>>]) -> (Val<'b>, Val<'b>) {
    let [scale, size, smooth, bias, width, height] = [4, 5, 6, 7, 8, 9].map(|i| x[i][0]);
    let p = scaled(&x[0], scale);
    let row = (p[1] / height).floor();
    let row_number = cast_to_i32(row);
    let every = |name: &str| settings.integer(name) as i32;
    let (offset_every, squash_every) = (every("offset_frequency"), every("squash_frequency"));
    let (mut width, mut offset) = (width, p[0].like(0.0));
    if offset_every != 0 && squash_every != 0 {
        let squash = settings.number("squash") as f32;
        width = (row_number % squash_every).ne(0).select(width, width * squash);
        let moved = width * settings.number("offset") as f32;
        offset = (row_number % offset_every).ne(0).select(0.0, moved);
    }
    let along = p[0] + offset;
    let brick_number = cast_to_i32((along / width).floor());
    let inside = along - width * brick_number.convert(Lane::F32);
    let above = p[1] - height * row_number.convert(Lane::F32);
    let number = row_number.shl(16) + (brick_number & 0xffff);
    let tint = held(random(number) + bias, 0.0, 1.0);
    let border = least(least(inside, above), least(width - inside, height - above));
    let part = (1.0 - border / size) as Val<'b>;
    let eased = part / smooth;
    let eased = eased * eased * 3.0 - eased * eased * 2.0 * eased;
    let faded = part.lt(smooth).select(eased, 1.0);
    let mortar = smooth.eq(0.0).select(1.0, faded);
    (tint, border.ge(size).select(0.0, mortar))
}
