//! The filters against plain loops, and their common guarantee: the same bits for a pixel
//! regardless of the region, the number of threads and the instructions.

mod plain;

use millstream_base::footprint::Footprint;
use millstream_base::image::Image;
use millstream_raster::blur::{BoxBlur, Gaussian};
use millstream_raster::convolve::{Convolve, Weights};
use millstream_raster::crew::{Cancelled, Crew};
use millstream_raster::directional::Directional;
use millstream_raster::distance::Distance;
use millstream_raster::morphology::{Morphology, Operation, Shape};
use millstream_raster::place::place;
use millstream_raster::region::{Edge, needed};
use millstream_raster::resize::{Kernel, Resize};
use millstream_raster::sharpen::Sharpen;
use millstream_raster::slope::{Encoding, Measure, Normals, Sobel};
use proptest::prelude::*;

/// A filter with its settings, for tests of common properties.
#[derive(Clone, Debug)]
enum Filter {
    Gaussian(Gaussian),
    Box(BoxBlur),
    Directional(Directional),
    Sharpen(Sharpen),
    Convolve(Convolve),
    Sobel(Sobel),
    Normals(Normals),
    Morphology(Morphology),
    Distance(Distance),
}

impl Filter {
    fn apply(&self, image: &Image, crop: [i32; 4], crew: &Crew<'_>) -> Result<Image, Cancelled> {
        match self {
            Self::Gaussian(filter) => filter.apply(image, crop, crew),
            Self::Box(filter) => filter.apply(image, crop, crew),
            Self::Directional(filter) => filter.apply(image, crop, crew),
            Self::Sharpen(filter) => filter.apply(image, crop, crew),
            Self::Convolve(filter) => filter.apply(image, crop, crew),
            Self::Sobel(filter) => filter.apply(image, crop, crew),
            Self::Normals(filter) => filter.apply(image, crop, crew),
            Self::Morphology(filter) => filter.apply(image, crop, crew),
            Self::Distance(filter) => filter.apply(image, crop, crew),
        }
    }

    fn reach_and_edge(&self) -> ([i32; 2], Edge) {
        match self {
            Self::Gaussian(filter) => (filter.reach(), filter.edge),
            Self::Box(filter) => (filter.reach(), filter.edge),
            Self::Directional(filter) => (filter.reach(), filter.edge),
            Self::Sharpen(filter) => (filter.reach(), filter.edge),
            Self::Convolve(filter) => (filter.reach(), filter.edge),
            Self::Sobel(filter) => (filter.reach(), filter.edge),
            Self::Normals(filter) => (filter.reach(), filter.edge),
            Self::Morphology(filter) => (filter.reach(), filter.edge),
            Self::Distance(filter) => (filter.reach(), Edge::Extend),
        }
    }
}

fn edge() -> impl Strategy<Value = Edge> + Clone {
    prop::sample::select(vec![Edge::Extend, Edge::Clear, Edge::Wrap, Edge::Mirror])
}

/// Radii of all sizes, including invalid ones.
fn radius() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![
        8 => 0.0_f32..12.0,
        2 => (0_i32..9).prop_map(|radius| radius as f32),
        1 => 12.0_f32..90.0,
        1 => prop::sample::select(vec![1e9, -3.0, f32::NAN, f32::INFINITY, 1e-30]),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    let radii = || [radius(), radius()];
    let operation = prop::sample::select(vec![
        Operation::Dilate,
        Operation::Erode,
        Operation::Open,
        Operation::Close,
    ]);
    let shape = prop::sample::select(vec![Shape::Square, Shape::Disc]);
    let far = prop::sample::select(vec![f32::MAX, f32::INFINITY, -1.0, f32::NAN, 2e9]);
    let reach = prop_oneof![3 => (0..12).prop_map(|whole| whole as f32), 3 => 0.0..12.0_f32, 1 => 12.0..90.0_f32, 2 => far];
    let weights = (1..6_usize, 1..6_usize).prop_flat_map(|(width, height)| {
        prop::collection::vec(-1.0_f32..1.0, width * height).prop_map(move |values| {
            Weights::of_rectangle(width, height, &values).expect("their number fits")
        })
    });
    let measure = prop::sample::select(vec![Measure::Magnitude, Measure::X, Measure::Y]);
    prop_oneof![
        2 => (radii(), edge()).prop_map(|(radius, edge)| {
            Filter::Gaussian(Gaussian::of_radius(radius, edge))
        }),
        2 => (radii(), edge()).prop_map(|(radius, edge)| Filter::Box(BoxBlur { radius, edge })),
        1 => (radius(), -7.0_f32..7.0, edge()).prop_map(|(length, angle_rad, edge)| {
            Filter::Directional(Directional { length, angle_rad, edge })
        }),
        1 => (0.0_f32..5.0, edge()).prop_map(|(sigma, edge)| {
            Filter::Sharpen(Sharpen { sigma: [sigma; 2], amount: 0.7, threshold: 0.05, edge })
        }),
        1 => (weights, edge()).prop_map(|(weights, edge)| {
            Filter::Convolve(Convolve { weights, edge })
        }),
        1 => (measure, 0.25_f32..4.0, edge()).prop_map(|(measure, pixel, edge)| {
            Filter::Sobel(Sobel { measure, pixel, edge })
        }),
        1 => edge().prop_map(|edge| {
            Filter::Normals(Normals { strength: 2.0, encoding: Encoding::Unit, edge })
        }),
        3 => (operation, shape, reach, edge()).prop_map(|(operation, shape, radius, edge)| {
            Filter::Morphology(Morphology { operation, shape, radius, edge })
        }),
        2 => (-0.5_f32..1.5, radius()).prop_map(|(threshold, limit)| {
            Filter::Distance(Distance { channel: 1, threshold, limit })
        }),
    ]
}

/// Images of all numbers of channels, anywhere, some with non-finite values.
fn image() -> impl Strategy<Value = Image> {
    image_of(4)
}

/// Images of finite values: differences between infinities would reveal which weights round to 0.
fn finite_image() -> impl Strategy<Value = Image> {
    image_of(0)
}

fn image_of(specials: u32) -> impl Strategy<Value = Image> {
    (1..5_usize, 1..40_i32, 1..40_i32, -50..50_i32, -50..50_i32, any::<u32>(), 1..5_u32).prop_map(
        move |(n_channels, width, height, x, y, seed, kind)| {
            let view = Footprint::of_size(100, 100).with_crop([x, y, x + width, y + height]);
            let n = width as usize * height as usize * n_channels;
            let values = plain::values(n, seed, kind == specials);
            Image::from_channels(view, n_channels, values).expect("the number fits")
        },
    )
}

/// The part of an image in a region within it.
fn part(image: &Image, crop: [i32; 4]) -> Image {
    let view = image.view().with_crop(crop);
    let mut values = Vec::new();
    for y in crop[1]..crop[3] {
        for x in crop[0]..crop[2] {
            values.extend_from_slice(plain::pixel(image, x, y));
        }
    }
    Image::from_channels(view, image.n_channels(), values).expect("the number fits")
}

/// Canonical bits: all NaNs are one value.
fn bits(image: &Image) -> Vec<u32> {
    let canonical = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    image.channels().iter().map(canonical).collect()
}

fn assert_near(found: &Image, expected: &Image, tolerance: f32) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.view(), expected.view());
    prop_assert_eq!(found.n_channels(), expected.n_channels());
    for (i, (a, b)) in found.channels().iter().zip(expected.channels()).enumerate() {
        let near = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance;
        prop_assert!(near, "at {}: {} instead of {}", i, a, b);
    }
    Ok(())
}

/// Wide images are read where they lie, narrow regions through copies; images placed on a larger
/// region have the pixels beyond them stored.
#[test]
fn convolutions_do_not_depend_on_the_way_pixels_are_read() {
    let weights: Vec<f32> = (0..15).map(|i| (i * 7 % 11) as f32 * 0.1 - 0.4).collect();
    let weights = Weights::of_rectangle(5, 3, &weights).expect("their number fits");
    for (n_channels, edge) in (1..5).zip([Edge::Extend, Edge::Clear, Edge::Wrap, Edge::Mirror]) {
        let view = Footprint::of_size(300, 100).with_crop([-7, 11, 163, 64]);
        let values = plain::values(170 * 53 * n_channels, 5, true);
        let image = Image::from_channels(view, n_channels, values).expect("the number fits");
        let filter = Convolve { weights: weights.clone(), edge };
        for crop in [[-7, 11, 163, 64], [-20, 0, 190, 80], [0, 20, 100, 60], [40, 11, 200, 13]] {
            // Memory of what was there before.
            let old = std::sync::Mutex::new(vec![f32::NAN; 210 * 80 * n_channels]);
            let crew = Crew::new(2, None).with_memory(&old);
            let whole = filter.apply(&image, crop, &crew).expect("nobody cancels");
            for left in (crop[0]..crop[2]).step_by(23) {
                let strip = [left, crop[1], crop[2].min(left + 23), crop[3]];
                let found = filter.apply(&image, strip, &Crew::alone()).expect("nobody cancels");
                assert_eq!(bits(&found), bits(&part(&whole, strip)));
            }
            let view = image.view().with_crop(crop).grown(filter.reach());
            let how = (millstream_raster::place::Filter::Linear, edge);
            let placed = place(&image, &view, how, |_| Ok::<(), ()>(())).expect("nothing fails");
            let found = filter.apply(&placed, crop, &Crew::alone()).expect("nobody cancels");
            assert_eq!(bits(&found), bits(&whole));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn regions_threads_and_instructions_do_not_matter(
        filter in filter(),
        image in image(),
        at in (-60..60_i32, -60..60_i32, 0..70_i32, 0..70_i32),
        cut in (0..70_i32, 0..70_i32),
    ) {
        let crop = [at.0, at.1, at.0 + at.2, at.1 + at.3];
        let whole = filter.apply(&image, crop, &Crew::alone()).expect("nobody cancels");
        prop_assert_eq!(whole.view().crop, crop);
        let baseline = filter.apply(&image, crop, &Crew::alone().at_baseline());
        prop_assert_eq!(bits(&whole), bits(&baseline.expect("nobody cancels")));
        let threads = filter.apply(&image, crop, &Crew::new(3, None)).expect("nobody cancels");
        prop_assert_eq!(bits(&whole), bits(&threads));
        // A region of it, computed from the pixels that it needs.
        let small = [at.0 + cut.0.min(at.2), at.1 + cut.1.min(at.3), crop[2], crop[3]];
        let (reach, edge) = filter.reach_and_edge();
        let input = part(&image, needed(small, reach, image.view().crop, edge));
        let tile = filter.apply(&input, small, &Crew::alone()).expect("nobody cancels");
        prop_assert_eq!(bits(&tile), bits(&part(&whole, small)));
    }

    #[test]
    fn blurs_are_weighted_sums(
        radius in [radius(), radius()],
        edge in edge(),
        image in finite_image(),
    ) {
        let crop = image.view().grown([3, 2]).crop;
        let found = Gaussian::of_radius(radius, edge).apply(&image, crop, &Crew::alone());
        let expected = plain::gaussian(&image, crop, radius.map(|radius| radius / 3.0), edge);
        assert_near(&found.expect("nobody cancels"), &expected, 2e-6)?;
        let found = BoxBlur { radius, edge }.apply(&image, crop, &Crew::alone());
        let expected = plain::mean(&image, crop, radius, edge);
        assert_near(&found.expect("nobody cancels"), &expected, 2e-6)?;
    }

    #[test]
    fn morphology_finds_extremes(
        image in image(),
        radius in prop_oneof![0.0..30.0_f32, (0..30).prop_map(|whole| whole as f32)],
        disc in any::<bool>(),
        erode in any::<bool>(),
        edge in edge(),
    ) {
        let crop = image.view().grown([1, 4]).crop;
        let operation = if erode { Operation::Erode } else { Operation::Dilate };
        let shape = if disc { Shape::Disc } else { Shape::Square };
        let found = Morphology { operation, shape, radius, edge }.apply(&image, crop, &Crew::alone());
        // Neighborhoods are limited to the image.
        let expected = plain::extreme(&image, crop, radius, disc, erode, edge);
        assert_near(&found.expect("nobody cancels"), &expected, 0.0)?;
    }

    #[test]
    fn distances_are_those_to_the_nearest_pixel(
        image in image(),
        threshold in -0.2_f32..1.2,
        limit in prop_oneof![0.0_f32..20.0, Just(1e6), Just(f32::NAN)],
    ) {
        let crop = image.view().crop;
        let found = Distance { channel: 2, threshold, limit }.apply(&image, crop, &Crew::alone());
        let expected = plain::distance(&image, threshold, limit);
        assert_near(&found.expect("nobody cancels"), &expected, 1e-5)?;
    }

    #[test]
    fn resized_images_are_weighted_sums(
        image in finite_image(),
        size in [1..90_i32, 1..90_i32],
        kernel in prop::sample::select(vec![
            Kernel::Nearest, Kernel::Area, Kernel::Bilinear, Kernel::CatmullRom, Kernel::Mitchell,
            Kernel::Lanczos3,
        ]),
        at in [0..90_i32, 0..90_i32],
    ) {
        let whole_view = Footprint::of_size(image.width() as i32, image.height() as i32);
        let image = image.with_view(whole_view).expect("the size is the same");
        let resize = Resize { size, kernel };
        let crop = [0, 0, size[0], size[1]];
        let whole = resize.apply(&image, crop, &Crew::alone()).expect("nobody cancels");
        assert_near(&whole, &plain::resize(&image, size, kernel), 3e-6)?;
        let narrow = resize.apply(&image, crop, &Crew::new(2, None).at_baseline());
        prop_assert_eq!(bits(&whole), bits(&narrow.expect("nobody cancels")));
        let small = [at[0].min(size[0]), at[1].min(size[1]), size[0], size[1]];
        let input = part(&image, resize.needed(image.view().resolution, small));
        let tile = resize.apply(&input, small, &Crew::alone()).expect("nobody cancels");
        prop_assert_eq!(bits(&tile), bits(&part(&whole, small)));
    }

    #[test]
    fn constants_stay_constant(
        filter in filter(),
        n_channels in 1..5_usize,
        size in [1..30_i32, 1..30_i32],
        value in -10.0_f32..10.0,
    ) {
        let n = (size[0] * size[1]) as usize * n_channels;
        let view = Footprint::of_size(size[0], size[1]);
        let image = Image::from_channels(view, n_channels, vec![value; n]).expect("it fits");
        let (_, edge) = filter.reach_and_edge();
        let keeps = match filter {
            Filter::Gaussian(_) | Filter::Box(_) | Filter::Directional(_) | Filter::Sharpen(_)
            | Filter::Morphology(_) => true,
            Filter::Convolve(_) | Filter::Sobel(_) | Filter::Normals(_) | Filter::Distance(_) => false,
        };
        if keeps && edge != Edge::Clear {
            let crop = image.view().crop;
            let done = filter.apply(&image, crop, &Crew::alone()).expect("nobody cancels");
            assert_near(&done, &image, 3e-5)?;
        }
        for kernel in [Kernel::Area, Kernel::Lanczos3] {
            let resize = Resize { size: [7, 40], kernel };
            let done = resize.apply(&image, [0, 0, 7, 40], &Crew::alone()).expect("nobody cancels");
            prop_assert!(done.channels().iter().all(|x| (x - value).abs() < 3e-5));
        }
    }
}

#[test]
fn a_cancel_is_noticed_soon() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let view = Footprint::of_size(1200, 800);
    let image = Image::from_channels(view, 4, plain::values(1200 * 800 * 4, 1, false));
    let image = image.expect("the number fits");
    let edge = Edge::Extend;
    let (operation, shape) = (Operation::Dilate, Shape::Disc);
    let filters = [
        Filter::Gaussian(Gaussian::of_radius([60.0; 2], edge)),
        Filter::Box(BoxBlur { radius: [200.0; 2], edge }),
        Filter::Directional(Directional { length: 40.0, angle_rad: 1.0, edge }),
        Filter::Morphology(Morphology { operation, shape, radius: 20.0, edge }),
        Filter::Morphology(Morphology { operation, shape: Shape::Square, radius: 200.0, edge }),
        Filter::Distance(Distance { channel: 0, threshold: 0.5, limit: 1e9 }),
    ];
    for filter in filters {
        // None of them takes a second: checks are much less than 10 ms apart.
        let looks = AtomicUsize::new(0);
        let never = || looks.fetch_add(1, Ordering::Relaxed) == usize::MAX;
        filter.apply(&image, image.view().crop, &Crew::new(1, Some(&never))).expect("no end");
        assert!(looks.into_inner() >= 100, "{filter:?}");
        for threads in [1, 3] {
            let looks = AtomicUsize::new(0);
            let is_over = || looks.fetch_add(1, Ordering::Relaxed) >= 5;
            let crew = Crew::new(threads, Some(&is_over));
            let ended = filter.apply(&image, image.view().crop, &crew);
            assert_eq!(ended.err(), Some(Cancelled), "{filter:?}");
            assert!(looks.into_inner() <= 5 + threads, "{filter:?}");
        }
    }
}

#[test]
fn images_without_pixels_give_something() {
    let edge = Edge::Extend;
    let none = Image::default();
    let blur = Gaussian::of_radius([3.0; 2], edge);
    let done = blur.apply(&none, [0, 0, 2, 2], &Crew::alone()).expect("nobody cancels");
    assert_eq!(done.channels(), [0.0; 16]);
    let resize = Resize { size: [3, 1], kernel: Kernel::Lanczos3 };
    let done = resize.apply(&none, [0, 0, 3, 1], &Crew::alone()).expect("nobody cancels");
    assert_eq!(done.channels(), [0.0; 12]);
    let resize = Resize { size: [0, -1], kernel: Kernel::Nearest };
    let done = resize.apply(&none, [0, 0, 0, -1], &Crew::alone()).expect("nobody cancels");
    assert!(done.channels().is_empty());
}

#[test]
fn regions_far_from_the_image_are_computed_as_others() {
    let view = Footprint::of_size(3, 2);
    let image = Image::from_channels(view, 1, vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).expect("it fits");
    let edge = Edge::Extend;
    let filters = [
        Filter::Gaussian(Gaussian::of_radius([2.0, 0.0], edge)),
        Filter::Box(BoxBlur { radius: [2.0, 0.0], edge }),
        Filter::Directional(Directional { length: 3.0, angle_rad: 0.0, edge }),
        Filter::Morphology(Morphology {
            operation: Operation::Open,
            shape: Shape::Square,
            radius: 0.0,
            edge,
        }),
        Filter::Sharpen(Sharpen { sigma: [1.0, 0.0], amount: 1.0, threshold: 0.0, edge }),
    ];
    for far in [1000, i32::MAX - 2] {
        let crop = [far, 0, far + 2, 2];
        for filter in &filters {
            let done = filter.apply(&image, crop, &Crew::alone()).expect("nobody cancels");
            for (found, expected) in done.channels().iter().zip([1.0, 1.0, 0.0, 0.0]) {
                assert!((found - expected).abs() < 1e-6, "{filter:?}");
            }
        }
        // Everything to the right of the image equals its right edge.
        let distance = Distance { channel: 0, threshold: 0.5, limit: 9.0 };
        let done = distance.apply(&image, crop, &Crew::alone()).expect("nobody cancels");
        assert_eq!(done.channels(), [-0.5, -0.5, 0.5, 0.5]);
    }
}
