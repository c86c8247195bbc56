//! Images: every evaluator computes the same pixels, regions have the bits of the whole image, and
//! nodes request the view that they need.

use millstream::evaluate::{Data, EVALUATORS};
use millstream::values::{Column, Footprint, Image, Value};
use millstream::{Answer, Engine, Request};

/// The request of a view.
fn of_view(view: &Footprint) -> Request {
    Request::new().view(view.clone())
}

/// The answers of every evaluator, which have no failures.
fn answers(text: &str, request: &Request) -> Vec<Answer> {
    let program = Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let settings = EVALUATORS.iter().flat_map(|row| row.settings);
    settings
        .map(|make| {
            let mut evaluator = make();
            let answer = program.run_with(&mut *evaluator, request).expect("it runs");
            assert!(answer.failures.is_empty(), "{}: {:?}", evaluator.name(), answer.failures);
            answer
        })
        .collect()
}

/// The image of the output `out`, which is the same in every evaluator.
fn image(text: &str, request: &Request) -> Image {
    let answers = answers(text, request);
    let mut images = answers.iter().map(|it| it.value::<Image>("out").expect("an image"));
    let first = images.next().expect("there are evaluators");
    assert!(images.all(|image| image == first));
    first
}

/// The list of an output.
fn list(answer: &Answer, output: &str) -> Column {
    let series = answer.output(output).and_then(|it| it.value.as_ref()).expect("a value");
    match &series.data {
        Data::One(Value::List(items)) => items.clone(),
        other => panic!("{other:?}"),
    }
}

/// A gray image with these values, row by row from the lower edge.
fn gray(width: i32, height: i32, value: impl Fn(usize) -> f32) -> Image {
    let values = (0..(width * height) as usize).map(value).collect();
    Image::from_channels(Footprint::of_size(width, height), 1, values).expect("it fits")
}

const PLACE: &str =
    "p = context.position()\nout = image.from_field(p.x * 10 + p.y)\noutput out: image";

#[test]
fn a_field_sees_the_centers_of_pixels() {
    let small = image(PLACE, &of_view(&Footprint::of_size(3, 2)));
    assert_eq!(small.channels(), [5.5, 15.5, 25.5, 6.5, 16.5, 26.5]);
    let mut half = Footprint::of_size(2, 1);
    (half.transform.0[0], half.transform.0[5], half.transform.0[3]) = (2.0, 2.0, 1.0);
    assert_eq!(image(PLACE, &of_view(&half)).channels(), [21.0, 41.0]);
    let outside = Footprint::of_size(3, 2).with_crop([-1, 1, 1, 3]);
    assert_eq!(image(PLACE, &of_view(&outside)).channels(), [-3.5, 6.5, -2.5, 7.5]);
    assert!(image(PLACE, &of_view(&Footprint::of_size(0, 5))).channels().is_empty());
}

#[test]
fn indices_count_pixels_of_the_whole_view() {
    let text = "out = image.from_field(convert.to_f32(context.index()))\noutput out: image";
    let whole = image(text, &of_view(&Footprint::of_size(4, 3)));
    assert!(whole.channels().iter().enumerate().all(|(i, x)| *x == i as f32));
    let part = image(text, &of_view(&Footprint::of_size(4, 3).with_crop([1, 1, 3, 3])));
    assert_eq!(part.channels(), [5.0, 6.0, 9.0, 10.0]);
}

#[test]
fn channels_follow_the_type_and_colors_are_premultiplied() {
    let view = of_view(&Footprint::of_size(1, 1));
    let of =
        |field: &str| image(&format!("out = image.from_field({field})\noutput out: image"), &view);
    assert_eq!(of("0.5").channels(), [0.5]);
    assert_eq!(of("(vec3(1, 2, 3))").channels(), [1.0, 2.0, 3.0]);
    assert_eq!(of("color.combine(1, 0.5, 0.25, 0.5)").channels(), [0.5, 0.25, 0.125, 0.5]);
}

#[test]
fn an_outer_index_is_the_next_level() {
    let text = "
        n = context.index(level = 1)
        picture = image.from_field(convert.to_f32(n) + convert.to_f32(context.index()))
        all = list.generate(image.information(picture).width, 2)
        sampled = list.generate(image.sample(picture, vec3(0.5, 0.5, 0)), 3)
        output out: list<color> = sampled
        output sizes: list<i32> = all";
    let view = of_view(&Footprint::of_size(2, 2));
    let found = answers(text, &view);
    let red = |answer: &Answer| -> Vec<f32> {
        let colors = list(answer, "out");
        let colors = colors.as_slice::<millstream::values::Color>().expect("colors");
        colors.iter().map(|color| color.0[0]).collect()
    };
    assert!(found.iter().all(|answer| red(answer) == [0.0, 1.0, 2.0]));
}

#[test]
fn pixels_do_what_colors_do() {
    let text = "
        input photo: image
        input top: image
        out = image.blend(photo, top, factor: 1, mode = \"multiply\")
        output out: image";
    let photo = gray(2, 2, |i| (i + 1) as f32 / 4.0);
    let top = gray(1, 2, |i| i as f32);
    let request = Request::new().set("photo", photo).set("top", top);
    let blended = image(text, &request);
    // The upper image covers the left half; elsewhere it has no alpha.
    assert_eq!(blended.channels()[..3], [0.0; 3]);
    assert_eq!((blended.width(), blended.n_channels()), (2, 4));
    assert_eq!(blended.channels()[8..11], [0.75; 3]);
}

#[test]
fn a_transform_evaluates_its_source_at_the_transformed_view() {
    let text = format!(
        "{PLACE}\nmoved = image.transform(out, offset: [1, 2], scale: [2, 2])\noutput moved: image",
    );
    let program = Engine::new().load(text.as_bytes()).expect("it loads");
    let view = of_view(&Footprint::of_size(3, 2));
    let answer = program.run(&view).expect("it runs");
    let moved = answer.value::<Image>("moved").expect("an image");
    // (0.5, 0.5) comes from (-0.25, -0.75), and so on by halves.
    let gray = [-3.25, 1.75, 6.75, -2.75, 2.25, 7.25];
    assert_eq!(moved.channels(), gray.map(|gray| [gray, 1.0]).as_flattened());
    assert_eq!(*moved.view(), Footprint::of_size(3, 2));
}

#[test]
fn a_photo_is_placed_on_the_view_that_a_transform_needs() {
    let text = "
        input photo: image
        out = image.transform(photo, offset: [1, 0], filter = \"nearest\", outside = \"clear\")
        output out: image";
    let photo = gray(2, 2, |i| (i + 1) as f32);
    let request = of_view(&Footprint::of_size(3, 2)).set("photo", photo.clone());
    // Transparent beyond the photo, which is opaque.
    let row = |a: f32, b: f32| [[0.0, 0.0], [a, 1.0], [b, 1.0]];
    let expected = [row(1.0, 2.0), row(3.0, 4.0)];
    assert_eq!(image(text, &request).channels(), expected.as_flattened().as_flattened());
    let nothing = "
        input photo: image
        out = image.transform(photo, scale: [0, 1])
        output out: image";
    assert_eq!(image(nothing, &request).channels(), [0.0; 12]);
}

#[test]
fn a_background_is_seen_beyond_an_opaque_photo() {
    let photo = Image::from_channels(Footprint::of_size(4, 4), 3, vec![0.25; 48]).expect("it fits");
    let request = of_view(&Footprint::of_size(8, 4)).set("photo", photo);
    let over = |above: &str| {
        let text = format!(
            "input photo: image
            bg = image.from_field(vec3(1, 0, 0))
            p = context.position()
            out = image.over(bg, {above})
            output out: image"
        );
        let image = image(&text, &request);
        [1, 7].map(|x| <[f32; 4]>::try_from(&image.channels()[4 * x..][..4]).expect("4 channels"))
    };
    let (red, shown) = ([1.0, 0.0, 0.0, 1.0], [0.25, 0.25, 0.25, 1.0]);
    assert_eq!(over("photo"), [shown, red]);
    assert_eq!(over("image.transform(photo, offset: [4, 0])"), [red, shown]);
    assert_eq!(over("image.transform(photo, offset: [-1, 0])"), [shown, red]);
    assert_eq!(over("image.crop(photo, -2, -2, 20, 20)"), [shown, red]);
    assert_eq!(over("image.from_field(image.sample(photo, p))"), [shown, red]);
    let blurred = over("image.blur(photo, radius: 2, outside = \"clear\")");
    assert_eq!(blurred[1], red);
}

/// Sampling at the position of the pixel is compiled to a separate node; a position that differs
/// only in `z`, which does not matter, is not.
#[test]
fn an_image_sampled_at_the_pixel_is_the_image_at_that_position() {
    let grid = Footprint::of_size(5, 4);
    let moved = |entries: &[(usize, f32)]| {
        let mut view = grid.clone();
        for (at, x) in entries {
            view.transform.0[*at] = *x;
        }
        view
    };
    let views = [
        grid.clone(),
        grid.with_crop([1, 1, 4, 3]),
        grid.with_crop([-2, 0, 7, 6]),
        moved(&[(1, 0.3)]),
        moved(&[(4, -0.3)]),
        moved(&[(0, 1.01), (5, 0.99)]),
        moved(&[(0, -1.0), (3, 5.0)]),
        moved(&[(3, 0.25), (7, 0.5)]),
        moved(&[(3, 1e9)]),
    ];
    for outside in ["clear", "extend", "wrap", "mirror"] {
        let text = format!(
            "input photo: image\np = context.position()\n\
             out = image.from_field(image.sample(photo, p, filter = \"nearest\", outside = \"{outside}\"))\n\
             q = vec3(p.x, p.y, 7)\n\
             other = image.from_field(image.sample(photo, q, filter = \"nearest\", outside = \"{outside}\"))\n\
             output out: image\noutput other: image"
        );
        for n_channels in 1..5 {
            let values = (0..20 * n_channels).map(|i| (i * 7 % 11) as f32 * 0.1).collect();
            let photo = Image::from_channels(grid.clone(), n_channels, values).expect("it fits");
            for view in &views {
                for answer in answers(&text, &of_view(view).set("photo", photo.clone())) {
                    let [out, other] =
                        ["out", "other"].map(|name| answer.value::<Image>(name).expect("an image"));
                    assert_eq!(out, other, "{outside}, {n_channels} channels, {view:?}");
                }
            }
        }
    }
}

#[test]
fn a_crop_beyond_the_last_pixel_number_fails() {
    let text = "input photo: image
        right = image.crop(photo, x: 2147483640, width: 7, height: 1)
        output out: image = right
        output beyond: image = image.crop(photo, x: 2147483640, width: 100, height: 1)
        output above: image = image.crop(right, y: 2147483647, width: 1, height: 1)";
    let program = Engine::new().load(text.as_bytes()).expect("it loads");
    let request = of_view(&Footprint::of_size(4, 4)).set("photo", gray(2, 2, |_| 1.0));
    let answer = program.run(&request).expect("it ends");
    assert_eq!(answer.value::<Image>("out").expect("an image").width(), 7);
    let mut failures: Vec<String> = answer.failures.iter().map(ToString::to_string).collect();
    failures.sort();
    let reason = "the rectangle reaches beyond pixel 2147483647 of the view";
    assert_eq!(failures, [format!("above: {reason}"), format!("beyond: {reason}")]);
}

#[test]
fn displaced_samples_are_the_same_in_every_evaluator() {
    // More pixels than a block of a pipeline has cells.
    let view = Footprint::of_size(120, 80);
    for (filter, outside) in ["nearest", "linear", "cubic"]
        .iter()
        .flat_map(|filter| ["clear", "extend", "wrap", "mirror"].map(|outside| (*filter, outside)))
    {
        let how = format!("filter = \"{filter}\", outside = \"{outside}\"");
        for photo in ["p.x * 0.01", "vec2(p.x, p.y) * 0.01", "vec3(p.x, p.y, 1) * 0.01"] {
            let text = format!(
                "p = context.position()\n\
                 photo = image.from_field({photo})\n\
                 x = noise.perlin(vec2(p.x, p.y), scale: 0.07)\n\
                 a = image.sample(photo, p + vec3(x * 90, x * -70, 0), {how})\n\
                 b = image.sample(photo, p + vec3(a.x * 7 - 30, 17.25, 0), {how})\n\
                 out = repeat again(state: photo, count: 2)\n\
                 mixed = image.from_field(color.mix(a, b, factor: 0.25))\n\
                 output mixed: image\noutput out: image = out.state\n\
                 group again(state: image) -> state: image = next {{\n\
                 p = context.position()\n\
                 from = image.sample(state, p * 0.9 - vec3(5, 0, 0), {how})\n\
                 next = image.from_field(from)\n}}"
            );
            let answers = answers(&text, &of_view(&view));
            for name in ["mixed", "out"] {
                let mut images =
                    answers.iter().map(|it| it.value::<Image>(name).expect("an image"));
                let first = images.next().expect("there are evaluators");
                assert!(images.all(|image| image == first), "{name}: {how}, {photo}");
            }
        }
    }
}

#[test]
fn images_beyond_the_limit_are_refused() {
    let program = Engine::new().load(PLACE.as_bytes()).expect("it loads");
    let answer = program.run(&of_view(&Footprint::of_size(1_000_000, 1_000_000)));
    let failures = answer.expect("it ends").failures;
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    assert_eq!(
        failure.to_string(),
        "out/region: 1000000000000 pixels in an image of 1000000 by 1000000, the limit is \
         268435456"
    );
}

/// The output `out` of the whole view and of two regions, which have the same bits.
fn by_regions(text: &str) -> Image {
    let view = Footprint::of_size(23, 17);
    let whole = image(text, &of_view(&view));
    for crop in [[0, 0, 23, 9], [5, 4, 14, 17]] {
        let part = image(text, &of_view(&view.with_crop(crop)));
        let n = whole.n_channels();
        for (row, y) in part.channels().chunks(part.width() * n).zip(crop[1]..) {
            let start = (y as usize * 23 + crop[0] as usize) * n;
            assert_eq!(*row, whole.channels()[start..start + row.len()], "{text}");
        }
    }
    whole
}

#[test]
fn filters_request_what_they_look_at() {
    let filters = [
        "blur(field, radius: 4.5)",
        "blur(field, radius: 3, kind = \"box\")",
        "blur_directional(field, length: 6, angle: 0.6)",
        "sharpen(field, radius: 4, amount: 0.8)",
        "convolve(field, weights = [1, 2, 1, 0, 3, 0, -1, 0, 1])",
        "edges(field)",
        "normal_map(field, strength: 3)",
        "morphology(field, radius: 3)",
        "morphology(field, radius: 2, operation = \"close\", shape = \"square\")",
        "distance(field, threshold: 0.1, limit: 6)",
        "dither(field, levels: 3)",
        "transform(field, offset: [3, -2], rotation: 0.4, scale: [1.5, 0.7])",
        "levels(field, gamma: 1.4)",
        "separate(field).green",
        "curves(field)",
        "combine(field, field, field, channels = \"rgb\")",
    ];
    for filter in filters {
        let (call, output) = match filter.rsplit_once(").") {
            Some((call, output)) => (format!("{call})"), output),
            None => (filter.to_owned(), "value"),
        };
        let text = format!(
            "field = image.from_field(noise.fbm(context.position(), scale: 0.21))
            made = image.{call}
            output out: image = made.{output}",
        );
        let found = by_regions(&text);
        assert!(found.channels().iter().any(|x| *x != found.channels()[0]), "{filter}");
    }
}

#[test]
fn lengths_of_filters_are_those_of_the_scene() {
    let text = "
        p = context.position()
        edge = image.from_field(p.x > 20 ? 1.0 : 0.0)
        out = image.blur(edge, radius: 12)
        output out: image";
    let view = Footprint::of_size(40, 2);
    let (fine, coarse) = (image(text, &of_view(&view)), image(text, &of_view(&view.reduced(2))));
    let mean = |x: usize| f32::midpoint(fine.channels()[2 * x], fine.channels()[2 * x + 1]);
    assert!((0..20).all(|x| (coarse.channels()[x] - mean(x)).abs() < 0.02));
    assert!(fine.channels()[12] > 0.0 && fine.channels()[27] < 1.0);
}

#[test]
fn slopes_are_those_of_the_scene() {
    let text = "
        p = context.position()
        hill = image.from_field(sin(p.x * 0.05) + p.y * 0.02)
        edges = image.edges(hill)
        right = image.edges(hill, measure = \"x\")
        normals = image.normal_map(hill, strength: 10)
        output edges: image
        output right: image
        output normals: image";
    let view = Footprint::of_size(80, 40);
    for output in ["edges", "right", "normals"] {
        let program = Engine::new().load(text.as_bytes()).expect("it is valid");
        let of = |view: &Footprint| {
            let answer = program.run(&of_view(view)).expect("it runs");
            answer.value::<Image>(output).expect("an image")
        };
        let fine = of(&view);
        for times in [2, 4] {
            let coarse = of(&view.reduced(times));
            let n = fine.n_channels();
            let (width, times) = (coarse.width(), times as usize);
            for (i, value) in coarse.channels().iter().enumerate() {
                let (pixel, channel) = (i / n, i % n);
                let (x, y) = (pixel % width * times, pixel / width * times);
                // The middle of the block of pixels lies between four of them.
                let at = |x: usize, y: usize| fine.channels()[(y * fine.width() + x) * n + channel];
                let half = times / 2;
                let around = [at(x + half - 1, y + half - 1), at(x + half, y + half)];
                let mean = f32::midpoint(around[0], around[1]);
                assert!((value - mean).abs() < 2e-3, "{output} {times}: {value} and {mean}");
            }
        }
    }
}

#[test]
fn images_are_measured_and_resized() {
    let text = "
        input photo: image
        small = image.resize(photo, width: 2, height: 1, filter = \"area\")
        cut = image.crop(photo, x: 1, y: 0, width: 2, height: 2)
        counts = image.histogram(photo, bins: 2, from: 0, to: 8)
        stats = image.statistics(photo)
        info = image.information(small)
        output small: image
        output cut: image
        output counts: list<i64>
        output mean: f64 = stats.mean
        output most: f64 = stats.max
        output width: i32 = info.width";
    let request = Request::new().set("photo", gray(4, 2, |i| i as f32));
    for answer in answers(text, &request) {
        let channels = |name| answer.value::<Image>(name).expect("an image").channels().to_vec();
        assert_eq!(channels("small"), [2.5, 4.5]);
        assert_eq!(channels("cut"), [1.0, 1.0, 2.0, 1.0, 5.0, 1.0, 6.0, 1.0]);
        assert_eq!(list(&answer, "counts").as_slice::<i64>(), Some(&[4, 4][..]));
        assert_eq!(answer.value::<f64>("mean"), Some(3.5));
        assert_eq!(answer.value::<f64>("most"), Some(7.0));
        assert_eq!(answer.value::<i32>("width"), Some(2));
    }
}

#[test]
fn shapes_are_distances() {
    let at = |shape: &str, x: f32, y: f32| -> f32 {
        let text = format!("input p: vec3 = [{x}, {y}, 0]\nout = sdf.{shape}\noutput out: f32");
        answers(&text, &Request::new())[0].value::<f32>("out").expect("a number")
    };
    let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-5, "{a} {b}");
    near(at("circle(p, radius: 2)", 3.0, 4.0), 3.0);
    near(at("box(p, size: [4, 2])", 5.0, 5.0), 5.0);
    near(at("box(p, size: [4, 2])", 0.0, 0.5), -0.5);
    near(at("box(p, size: [4, 4], radius: 1)", 2.0, 2.0), 2_f32.sqrt() - 1.0);
    near(at("line(p, a: [0, 0], b: [10, 0], width: 2)", 5.0, 3.0), 2.0);
    near(at("half_plane(p, point: [1, 0])", 3.0, 9.0), 2.0);
    near(at("regular(p, radius: 1, sides: 4)", 2.0, 0.0), 1.0);
    near(at("regular(p, radius: 1, sides: 4)", 0.0, 0.0), -(0.5_f32.sqrt()));
    near(at("star(p, radius: 2, inner_radius: 1)", 3.0, 0.0), 1.0);
    assert!(at("star(p, radius: 2, inner_radius: 1)", 0.5, 0.2) < 0.0);
    assert!(at("star(p, radius: 2, inner_radius: 0.3)", -0.9, 0.0) > 0.0);
    let square = "polygon(p, points: list.of([vec2(0, 0), vec2(2, 0), vec2(2, 2), vec2(0, 2)]))";
    near(at(square, 1.0, 1.5), -0.5);
    near(at(square, 3.0, 3.0), 2_f32.sqrt());
    let lines = "curve(p, points: list.of([vec2(0, 0), vec2(4, 0)]), course = \"lines\")";
    near(at(lines, 2.0, 3.0), 3.0);
}

#[test]
fn channels_are_taken_apart_and_put_together_again() {
    let text = "
        p = context.position()
        field = image.from_field(color.combine(p.x * 0.5, p.y * 0.25, 0.75, 0.5))
        parts = image.separate(field)
        out = image.combine(parts.red, parts.green, parts.blue, parts.alpha, channels = \"rgba\")
        two = image.combine(parts.red, parts.alpha, channels = \"gray_alpha\")
        output field: image
        output out: image
        output two: image";
    let answers = answers(text, &of_view(&Footprint::of_size(3, 2)));
    let image = |name| answers[0].value::<Image>(name).expect("an image");
    assert_eq!(image("out"), image("field"));
    assert_eq!(image("two").channels()[..4], [0.125, 0.5, 0.375, 0.5]);
}

#[test]
fn nodes_that_look_at_the_whole_view_are_known() {
    let node = |text: &str| {
        let program = Engine::new().load(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
        program.whole_view_node("out")
    };
    let of = |lines: &str| {
        node(&format!(
            "input photo: image
            p = context.position()
            field = image.from_field(noise.fbm(p, scale: 0.2))
            {lines}
            output out: image"
        ))
    };
    let part = [
        "out = field",
        "out = image.blur(image.levels(field, gamma: 2))",
        "out = image.dither(field)",
        // What does not depend on the view is the same in all regions.
        "all = image.statistics(photo)
        out = image.from_field(p.x * convert.to_f32(all.mean))",
        "out = image.from_field(image.sample(photo, p + vec3(3, 0, 0)))",
        "far = context.with_footprint(field, footprint.make(40, 40))
        out = image.from_field(image.sample(far, p * 2))",
        // Each pixel is read at its own position.
        "out = image.from_field(image.sample(image.blur(field), p, filter = \"nearest\"))",
        "graded = image.blend(image.transform(field), image.blur(photo))
        out = image.from_field(image.sample(graded, p, filter = \"nearest\"))",
    ];
    for lines in part {
        assert_eq!(of(lines), None, "{lines}");
    }
    let whole = [
        (
            "all = image.statistics(field)
            out = image.from_field(p.x * convert.to_f32(all.mean))",
            "all",
        ),
        ("n = image.histogram(field)\nout = image.from_field(p.x * list.length(n))", "n"),
        ("out = image.dither(image.blur(field), kind = \"diffused\")", "out"),
        ("small = image.resize(field, 2, 2)\nout = image.blur(small)", "out"),
        ("c = image.sample(field, p)\nout = image.from_field(c)", "c"),
        (
            "c = image.sample(field, p + vec3(3, 0, 0), filter = \"nearest\")
            out = image.from_field(c)",
            "c",
        ),
        (
            "q = context.with_position(image.sample(field, p, filter = \"nearest\"), p * 2)
            out = image.from_field(q)",
            "",
        ),
    ];
    for (lines, path) in whole {
        let found = of(lines);
        assert!(
            found.as_deref().is_some_and(|found| found.starts_with(path)),
            "{lines}: {found:?}"
        );
    }
}

/// The distance from a text at a point.
fn from_text(call: &str, x: f32, y: f32) -> f32 {
    let text = format!("input p: vec3 = [{x}, {y}, 0]\nout = sdf.text(p, {call})\noutput out: f32");
    answers(&text, &Request::new())[0].value::<f32>("out").expect("a number")
}

#[test]
fn texts_are_distances() {
    // The stem of an `I` is 0.098 to 0.196 of the size wide and 0.729 high.
    let call = "text: \"I\", size: 100";
    assert!((from_text(call, 14.75, 30.0) + 4.95).abs() < 0.2);
    assert!((from_text(call, 30.0, 30.0) - 10.3).abs() < 0.2);
    assert!((from_text(call, 14.75, 80.0) - 7.1).abs() < 0.2);
    // The inside of an `O` is outside; `size` and `origin` scale and move.
    assert!(from_text("text: \"O\"", 0.39, 0.36) > 0.1);
    let moved = from_text("text: \"O\", size: 10, origin: [5, -2]", 8.9, 1.6);
    assert!((moved - 10.0 * from_text("text: \"O\"", 0.39, 0.36)).abs() < 1e-3);
    // An empty text is infinitely far away.
    assert_eq!(from_text("text: \" \"", 0.0, 0.0), f32::INFINITY);
    assert_eq!(from_text("text: \"a\", size: 0", 0.0, 0.0), f32::INFINITY);
}

#[test]
fn texts_have_lines_that_stand_where_they_should_and_kerned_letters() {
    // The widths of letters at half their height, found by walking through them.
    let extent = |call: &str, y: f32| {
        let text = format!(
            "x = convert.to_f32(context.index()) / 100 - 3
            d = sdf.text(vec3(x, {y}, 0), {call})
            out = list.generate(d < 0 ? x : 0.0, 600)
            output least: f32 = list.minimum(out)
            output most: f32 = list.maximum(out)",
        );
        let answer = &answers(&text, &Request::new())[0];
        ["least", "most"].map(|name| answer.value::<f32>(name).expect("a number"))
    };
    let [left, right] = extent("text: \"HH\", align = \"center\"", 0.36);
    assert!((left + right).abs() < 0.03 && right > 0.6, "{left} {right}");
    let [left, right] = extent("text: \"HH\", align = \"right\"", 0.36);
    assert!(left < -1.3 && right <= 0.0, "{left} {right}");
    // The second line is lower.
    assert_eq!(extent("text: \"\\nHH\"", 0.36), [0.0, 0.0]);
    assert!(extent("text: \"\\nHH\"", 0.36 - 1.164)[1] > 1.3);
    // A and V are closer to each other than to other letters.
    let right = |text: &str| extent(&format!("text: \"{text}\""), 0.36)[1];
    let apart = right("AH") - right("HH") + right("HV");
    assert!(right("AV") < apart - 0.03, "{} {apart}", right("AV"));
}

#[test]
fn a_letter_that_the_font_lacks_fails() {
    let text = "out = sdf.text(context.position(), text: \"a\u{597d}b\")\noutput out: f32";
    let program = Engine::new().load(text.as_bytes()).expect("it loads");
    let request = Request::new().feature(
        millstream::Feature::Position,
        millstream::Given::One(millstream::Vec3([0.0; 3]).into()),
    );
    let failures = program.run(&request).expect("it ends").failures;
    assert_eq!(failures[0].to_string(), "out: the font has no glyph for `\u{597d}` (U+597D)");
}

#[test]
fn a_font_is_given_as_a_value() {
    use millstream::values::Font;

    assert!(Font::new(*b"this is no font").is_err());
    let text = "
        input face: font
        input p: vec3 = [0.15, 0.3, 0]
        output out: f32 = sdf.text(p, text: \"I\", font: face, own_font = true)
        output same: f32 = sdf.text(p, text: \"I\")";
    let program = Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let font = Font::new(Font::BUILT_IN).expect("it is a font");
    let answer = program.run(&Request::new().set("face", font)).expect("it runs");
    let value = |name| answer.value::<f32>(name).expect("a number");
    assert_eq!(value("out"), value("same"));
    assert!(value("out") < 0.0);
}
