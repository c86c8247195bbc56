//! Radial Tiling: coordinates along and across the sides of a rounded polygon.
//!
//! Everything is measured from the center of the polygon. Each side spans the angle `2 h`; if the
//! number of sides is not an integer, the last side is narrower, `2 h'`. The divider between two
//! sides passes through a corner. Within the bevel angle of a divider, the outline is an arc of a
//! circle. The coordinate along a side is measured on lines of equal distance from the outline:
//! straight in the middle, then a parabola that joins an arc.

use std::f64::consts::{PI, TAU};

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::super::{greatest, held};
use millstream_nodes::kit::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(radial_tiling());
}

fn radial_tiling() -> NodeDef {
    NodeDef::new(
        "blender.radial_tiling",
        "Coordinates for the sides of a rounded polygon, like Blender's Radial Tiling",
    )
    .details(
        "x runs along the side, y away from the center. Without `normalize`, x is a length and \
             y is 0 at the outline; with it, x runs from 0 to 1 and y is 1 at the outline.",
    )
    .flag("normalize", false, "x from 0 to 1 on each side")
    .input_or("vector", Type::VEC3, 0.0, "position; z is ignored")
    .input_or(
        "sides",
        Type::F32,
        5.0,
        "number of sides, at least 2; a fraction gives a narrower last side",
    )
    .input_or("roundness", Type::F32, 0.0, "0: sharp corners, 1: a circle")
    .output("coordinates", Type::VEC3, "coordinates along the side and away from the center")
    .output("segment", Type::F32, "index of the side, from 0")
    .output("width", Type::F32, "half of the length of the side")
    .output("rotation", Type::F32, "direction of the middle of the side, as an angle in radians")
    .kernel(form_by_settings(|settings, x| {
        let normalize = settings.flag("normalize");
        let sides = greatest(x[1][0].like(2.0), x[1][0]);
        outputs(x[0][0], x[0][1], sides, held(x[2][0], 0.0, 1.0), normalize)
    }))
}

fn wide(x: Val<'_>) -> Val<'_> {
    x.convert(Lane::F64)
}

fn narrow(x: Val<'_>) -> Val<'_> {
    x.convert(Lane::F32)
}

/// The bevel of a corner, seen from one of its sides.
#[derive(Clone, Copy)]
struct Corner<'b> {
    /// Half of the angle of the side.
    half: Val<'b>,
    /// The angle from the divider to the end of the bevel.
    bevel: Val<'b>,
    /// The roundness.
    round: Val<'b>,
}

/// A position relative to a side.
#[derive(Clone, Copy)]
struct Place<'b> {
    /// Distance from the center in units of the outline.
    across: Val<'b>,
    along: Val<'b>,
    /// The value of `along` at the end of the side.
    end: Val<'b>,
}

impl<'b> Place<'b> {
    fn select(holds: Val<'b>, this: Self, other: Self) -> Self {
        Self {
            across: holds.select(this.across, other.across),
            along: holds.select(this.along, other.along),
            end: holds.select(this.end, other.end),
        }
    }
}

impl<'b> Corner<'b> {
    /// The angle from the end of the bevel to the middle of the side.
    fn rest(self) -> Val<'b> {
        self.half - self.bevel
    }

    /// The part of the bevel that is a parabola.
    fn parabola(self) -> Val<'b> {
        (1.0 - self.round) * self.bevel
    }

    /// The length of half a side at a distance from the center, measured straight.
    fn end(self, across: Val<'b>) -> Val<'b> {
        across * self.rest().tan()
            + self.parabola() * (across * 0.5 + 0.5)
            + self.round * self.bevel
    }

    /// Like [`Self::end`], with the distance measured to the divider.
    fn end_at_divider(self, distance: Val<'b>) -> Val<'b> {
        let rest = self.rest();
        distance * rest.sin()
            + self.parabola() * (distance * 0.5 * rest.cos() + 0.5)
            + self.round * self.bevel
    }

    /// Half of the length of the side at the outline.
    fn width(self) -> Val<'b> {
        self.rest().tan() + self.parabola() + self.round * self.bevel
    }

    /// A position on the straight part, at an angle from the divider.
    fn straight(self, distance: Val<'b>, angle: Val<'b>) -> Place<'b> {
        let across = distance * (self.half - angle).cos();
        Place { across, along: across * (self.half - angle).abs().tan(), end: self.end(across) }
    }

    /// A position at the bevel, at an angle to the divider on either side.
    fn beveled(self, distance: Val<'b>, across: Val<'b>, to_divider: Val<'b>) -> Place<'b> {
        let (rest, parabola) = (self.rest(), self.parabola());
        let past = self.bevel - to_divider.abs();
        let (straight, out) = (distance * rest.sin(), distance * rest.cos());
        let bent = out * past + (1.0 - out) * 0.5 * (past * past) / parabola;
        let round = parabola * (out * 0.5 - 0.5) + past;
        let along = straight + past.lt(parabola).select(bent, round);
        let part = past / self.bevel;
        let end = (1.0 - part) * self.end(across) + part * self.end_at_divider(distance);
        Place { across, along, end }
    }
}

/// The sides of a polygon, and a position relative to them.
struct Polygon<'b> {
    roundness: Val<'b>,
    /// Distance and angle of the position, and the angle from the previous divider.
    distance: Val<'b>,
    angle: Val<'b>,
    in_segment: Val<'b>,
    /// Half of the angles of the sides, and of the last one.
    half: Val<'b>,
    last_half: Val<'b>,
}

impl<'b> Polygon<'b> {
    fn corner(&self, half: Val<'b>) -> Corner<'b> {
        let sharpness: Val<'b> = 1.0 - self.roundness;
        let cut = (sharpness * half.tan()).atan();
        Corner { half, bevel: half - cut, round: self.roundness }
    }

    /// The angle to the nearer divider, and the position at its bevel, between two equal sides.
    fn at_bevel(&self, corner: Corner<'b>) -> Place<'b> {
        let past_middle = self.in_segment.gt(corner.half);
        let to_divider = past_middle.select(self.in_segment - corner.half * 2.0, self.in_segment);
        let center = (1.0 - self.roundness) / corner.half.cos();
        let towards = to_divider.cos() * center;
        let under_root = towards * towards + self.roundness * self.roundness - center * center;
        let across = self.distance / (towards + under_root.sqrt());
        corner.beveled(self.distance, across, to_divider)
    }

    /// The position and half the length of its side, if all sides are equal.
    fn regular(&self) -> (Place<'b>, Val<'b>) {
        let corner = self.corner(self.half);
        let sharp = self.roundness.eq(0.0);
        let two = self.half.eq(PI as f32 / 2.0);
        let straight = corner.straight(self.distance, self.in_segment);
        // Two sharp sides have no ends.
        let end = sharp.select(two.select(1.0, straight.across * self.half.tan()), straight.end);
        let straight = Place { end, ..straight };
        let at_corner =
            self.in_segment.lt(corner.bevel) | self.in_segment.ge(corner.half * 2.0 - corner.bevel);
        let place = Place::select(!sharp & at_corner, self.at_bevel(corner), straight);
        let width = sharp.select(two.select(0.0, self.half.tan()), corner.width());
        (place, width)
    }

    /// The position, half the length of its side, and whether that side is the last, if the last
    /// side is narrower.
    fn irregular(&self, x: Val<'b>, y: Val<'b>) -> (Place<'b>, Val<'b>, Val<'b>) {
        let (half, last_half) = (self.half, self.last_half);
        let (corner, last) = (self.corner(half), self.corner(last_half));
        let ratio = half.cos() / last_half.cos();
        let scaled = |place: Place<'b>| Place {
            across: ratio * place.across,
            along: ratio * place.along,
            end: ratio * place.end,
        };
        let turn = last_half.like(TAU);
        let start_of_last = turn - last_half * 2.0;
        // The circle that rounds both corners of the last side, and its end points on the sides
        // next to it.
        let radius = self.roundness * last_half.tan() / ((half + last_half) * 0.5).tan();
        let along_rest = last.rest().cos();
        let center_x = last.bevel.cos() / along_rest - radius * last_half.cos();
        let center_y = radius * last_half.sin() - last.bevel.sin() / along_rest;
        let outer_bevel =
            ((center_y + radius * half.sin()) / (center_x + radius * half.cos())).atan();
        let outer_round = 1.0 - (half - outer_bevel).tan() / half.tan();
        let outer = Corner { half, bevel: outer_bevel, round: outer_round };

        let angle = self.angle;
        let among_others = angle.ge(outer_bevel) & angle.lt(start_of_last - outer_bevel);
        let beside_last = angle.ge(start_of_last - half) | angle.lt(half);
        let straight = corner.straight(self.distance, self.in_segment);
        let end = beside_last.select(outer.end(straight.across), straight.end);
        let is_straight = self.in_segment.ge(corner.bevel)
            & self.in_segment.lt(half * 2.0 - corner.bevel)
            | angle.ge(start_of_last - corner.bevel)
            | angle.lt(corner.bevel);
        let others = Place::select(is_straight, Place { end, ..straight }, self.at_bevel(corner));

        let inner = scaled(last.straight(self.distance, self.in_segment));
        let is_inner = angle.ge(start_of_last + last.bevel) & angle.lt(turn - last.bevel);
        // The two corners are mirror images.
        let signed = y.atan2(x);
        let mirrored = angle.ge(start_of_last - outer_bevel) & angle.lt(turn - last_half);
        let to_divider = mirrored.select(-(signed + last_half * 2.0), signed);
        let towards = to_divider.sin() * center_y + to_divider.cos() * center_x;
        let under_root =
            towards * towards + radius * radius - center_x * center_x - center_y * center_y;
        let across = self.distance / (towards + under_root.sqrt());
        let inside = scaled(last.beveled(self.distance, across, to_divider));
        let outside = outer.beveled(self.distance, ratio * across, to_divider);
        let is_inside = to_divider.lt(0.0);
        let near_last = Place::select(is_inner, inner, Place::select(is_inside, inside, outside));

        let rounded = Place::select(among_others, others, near_last);
        let rounded_is_last = !among_others & (is_inner | is_inside);
        let last_width = last.rest().tan()
            + ratio * (last.parabola() * (0.5 / ratio + 0.5) + self.roundness * last.bevel);

        // Sharp corners have no bevels at all.
        let sharp = self.roundness.eq(0.0);
        let sharp_is_last = angle.ge(start_of_last);
        let end_of =
            |place: Place<'b>, half: Val<'b>| Place { end: place.across * half.tan(), ..place };
        let of_sharp =
            Place::select(sharp_is_last, end_of(inner, last_half), end_of(straight, half));
        let is_last = sharp.select(sharp_is_last, rounded_is_last);
        let sharp_width = is_last.select(last_half.tan(), half.tan());
        let width = sharp.select(sharp_width, is_last.select(last_width, corner.width()));
        (Place::select(sharp, of_sharp, rounded), width, is_last)
    }
}

fn outputs<'b>(
    x: Val<'b>,
    y: Val<'b>,
    sides: Val<'b>,
    roundness: Val<'b>,
    normalize: bool,
) -> Vec<Vec<Val<'b>>> {
    let below = y.lt(0.0);
    let signed = y.atan2(x);
    let angle = narrow(wide(signed) + below.select(y.like(1.0).convert(Lane::F64) * TAU, 0.0));
    let half = narrow(sides.like(1.0).convert(Lane::F64) * PI / wide(sides));
    let whole = sides.floor();
    let segment = (angle / (half * 2.0)).floor();
    let polygon = Polygon {
        roundness,
        distance: (x * x + y * y).sqrt(),
        angle,
        in_segment: angle - segment * (half * 2.0),
        half,
        last_half: narrow(half.like(0.0).convert(Lane::F64) + PI - wide(whole * half)),
    };
    let is_regular = sides.eq(whole);
    let (regular, regular_width) = polygon.regular();
    let (irregular, irregular_width, is_last) = polygon.irregular(x, y);
    let place = Place::select(is_regular, regular, irregular);
    let width = is_regular.select(regular_width, irregular_width);
    let last = !is_regular & is_last;
    let middle = last.select(polygon.last_half, half);
    let negative = polygon.in_segment.lt(middle);
    let along = if normalize { place.along / place.end } else { place.along };
    let along = negative.select(-along, along);
    let along = (x.eq(0.0) & y.eq(0.0)).select(0.0, along);
    let (along, across) =
        if normalize { (along * 0.5 + 0.5, place.across) } else { (along, place.across - 1.0) };
    let turns = wide(signed) / TAU + below.select(y.like(1.0).convert(Lane::F64), 0.0);
    let number = narrow((wide(sides) * turns).floor());
    vec![
        vec![along, across, x.like(0.0)],
        vec![number],
        vec![width],
        vec![segment * (half * 2.0) + middle],
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::nodes::testing::form;

    /// Coordinates, number, width and rotation for distance, angle, sides and roundness.
    fn tiling(normalize: bool) -> impl Fn(f32, f32, f32, f32) -> [f32; 6] {
        let form = form("blender.radial_tiling", &json!({ "normalize": normalize }));
        move |distance, angle, sides, roundness| {
            let place = [distance * angle.cos(), distance * angle.sin(), 7.0, sides, roundness];
            let mut results = [0; 6];
            let params = place.map(|x| u64::from(x.to_bits()));
            form.run_scalar(&params, &mut results, &mut Vec::new());
            results.map(|bits| f32::from_bits(bits as u32))
        }
    }

    #[test]
    fn a_square_has_four_sides() {
        let tiled = tiling(false);
        let diagonal = std::f32::consts::FRAC_PI_4;
        let [along, across, _, number, width, rotation] = tiled(1.0, diagonal, 4.0, 0.0);
        assert!(along.abs() < 1e-6 && across.abs() < 1e-6 && number == 0.0);
        assert!((width - 1.0).abs() < 1e-6 && (rotation - diagonal).abs() < 1e-6);
        let [along, across, _, number, ..] = tiled(3.0, 3.5 * diagonal, 4.0, 0.0);
        let (sine, cosine) = (0.5 * diagonal).sin_cos();
        assert!((along - 3.0 * sine).abs() < 1e-5 && (across - (3.0 * cosine - 1.0)).abs() < 1e-5);
        assert_eq!(number, 1.0);
        let [along, across, ..] = tiled(0.0, 0.0, 4.0, 0.5);
        assert_eq!((along, across), (0.0, -1.0));
    }

    #[test]
    fn lines_of_equal_distance_scale_and_sides_run_from_zero_to_one() {
        let tiled = tiling(true);
        for sides in [2.5, 3.0, 5.0, 7.3] {
            for roundness in [0.0, 0.3, 0.8, 1.0] {
                let mut before: Option<[f32; 6]> = None;
                for step in 0..200_u16 {
                    // Away from dividers, where rounding would determine the side.
                    let angle = (f32::from(step) + 0.37) / 200.0 * std::f32::consts::TAU;
                    let here = tiled(1.0, angle, sides, roundness);
                    let further = tiled(2.0, angle, sides, roundness);
                    let described = format!("{sides} {roundness} at {angle}: {here:?}");
                    // At twice the distance from the center, it is twice as far across.
                    assert!(
                        (further[1] - 2.0 * here[1]).abs() < 1e-4 * here[1].abs().max(1.0),
                        "{described}"
                    );
                    assert!((-1e-4..=1.0001).contains(&here[0]) && here[4] > 0.0, "{described}");
                    assert!(here[3] >= 0.0 && here[3] < sides, "{described}");
                    if let Some(before) = before.filter(|before| before[3] == here[3]) {
                        assert!(here[0] >= before[0] - 1e-4, "{described} after {before:?}");
                        assert_eq!(here[5], before[5], "one side, one direction");
                    }
                    before = Some(here);
                }
            }
        }
    }
}
