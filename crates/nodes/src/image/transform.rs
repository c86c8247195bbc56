//! Translating, rotating and scaling images.

use std::sync::Arc;

use millstream_base::num::{cos, sin};
use millstream_base::{Footprint, Image, Mat4, Type, Vec2};
use millstream_node::{Default, NodeDef, Registry};
use millstream_raster::place::Affine;

use super::sample::{edge_of, filter_of, with_edge, with_filter};
use super::viewed::{Job, Viewed, Views};

pub(super) fn register(registry: &mut Registry, views: &Views) {
    let viewed = Viewed {
        refuse: |_| Ok(()),
        how: |settings| (filter_of(settings), edge_of(settings)),
        extends: false,
        shows: true,
        ask: Arc::new(|job| Ok(source_view(job))),
        work: Arc::new(|job, image, _| {
            // The pixels are those of the requested view, seen through the transform.
            let n = image.n_channels();
            Ok(image.clone().with_view(job.wanted.clone()).unwrap_or_else(|| {
                let nothing = vec![0.0; job.wanted.n_pixels().unwrap_or(0) * n];
                Image::from_channels(job.wanted.clone(), n, nothing).expect("it has that size")
            }))
        }),
    };
    views.register(registry, transform(), viewed);
}

fn transform() -> NodeDef {
    let def = NodeDef::new("image.transform", "Moves, rotates and scales an image").details(
        "Scales and rotates the image around the pivot, then moves it, in units of the scene. The \
         source is requested in the transformed view, so fields and shapes are not \
         resampled but evaluated there, at full sharpness. An image with its own pixels, such \
         as a photo, is resampled once. With a scale of 0, nothing is visible.",
    );
    let vec2 = |x: f32| Default::Value(Vec2([x; 2]).into());
    with_edge(with_filter(def), "clear")
        .input("image", Type::of::<Image>(), "")
        .input_or("offset", Type::VEC2, vec2(0.0), "movement")
        .input_or("rotation", Type::F32, 0.0, "angle in radians, counterclockwise")
        .input_or("scale", Type::VEC2, vec2(1.0), "factors along x and y")
        .input_or("pivot", Type::VEC2, vec2(0.0), "fixed point of the rotation and scale")
        .output("value", Type::of::<Image>(), "")
}

/// The view of the image that appears in the requested view; empty if nothing does.
fn source_view(job: &Job<'_>) -> Footprint {
    let point = |i: usize| job.number::<Vec2>(i).0.map(f64::from);
    let ([dx, dy], angle, [sx, sy], [px, py]) =
        (point(0), f64::from(job.number::<f32>(1)), point(2), point(3));
    let (sin, cos) = (sin(angle), cos(angle));
    let around = Affine([cos * sx, -sin * sy, px + dx, sin * sx, cos * sy, py + dy]);
    let map = around.after(&Affine([1.0, 0.0, -px, 0.0, 1.0, -py]));
    let Some(back) = map.inverse() else {
        return job.wanted.with_crop([0; 4]);
    };
    let of_view = back.after(&Affine::of(&job.wanted.transform));
    let [a, b, c, d, e, f] = of_view.0.map(|x| x as f32);
    let mut transform: Mat4 = job.wanted.transform;
    let m = &mut transform.0;
    (m[0], m[1], m[3], m[4], m[5], m[7]) = (a, b, c, d, e, f);
    Footprint { transform, ..job.wanted.clone() }
}
