//! Images: every evaluator computes the same pixels, regions have the bits of the whole, and nodes
//! request the view that they need.

use millstream::evaluate::EVALUATORS;
use millstream::values::{Footprint, Image};
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

/// The image of the output `out`, the same by every evaluator.
fn image(text: &str, request: &Request) -> Image {
    let answers = answers(text, request);
    let mut images = answers.iter().map(|it| it.value::<Image>("out").expect("an image"));
    let first = images.next().expect("there are evaluators");
    assert!(images.all(|image| image == first));
    first
}

/// A gray image with these values, row by row from the lower edge.
fn gray(width: i32, height: i32, value: impl Fn(usize) -> f32) -> Image {
    let values = (0..(width * height) as usize).map(value).collect();
    Image::from_channels(Footprint::of_size(width, height), 1, values).expect("it fits")
}

const PLACE: &str = "out = image.from_field(vector.separate(context.position()).x * 10
    + vector.separate(context.position()).y)\noutput out: image";

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
    assert_eq!(of("vector.combine(1, 2, 3)").channels(), [1.0, 2.0, 3.0]);
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
        let colors = answer.value::<millstream::List<millstream::Color>>("out").expect("a list");
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
    // The upper image lies over the left half; where it is not it has no alpha.
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
    assert_eq!(moved.channels(), [-3.25, 1.75, 6.75, -2.75, 2.25, 7.25]);
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
    assert_eq!(image(text, &request).channels(), [0.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
    let nothing = "
        input photo: image
        out = image.transform(photo, scale: [0, 1])
        output out: image";
    assert_eq!(image(nothing, &request).channels(), [0.0; 6]);
}

#[test]
fn images_beyond_the_limit_are_refused() {
    let program = Engine::new().load(PLACE.as_bytes()).expect("it loads");
    let answer = program.run(&of_view(&Footprint::of_size(1_000_000, 1_000_000)));
    let failures = answer.expect("it ends").failures;
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    assert_eq!(
        failure.to_string(),
        "node `out/region`: 1000000000000 pixels in an image of 1000000 by 1000000, the limit is \
         268435456"
    );
}
