//! Pictures evaluated region by region have the bits of the whole picture, or a node is known that
//! needs the whole.

use millstream::values::{Footprint, Image};
use millstream::{Engine, Evaluator, Program, Request};
use proptest::prelude::*;

/// Width and height of the pictures.
const SIZE: [i32; 2] = [23, 17];

fn view() -> Footprint {
    let [width, height] = SIZE;
    Footprint::of_size(width, height)
}

fn load(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// A photo that is smaller than the view.
fn photo(n_channels: usize) -> Image {
    let values = (0..9 * 7 * n_channels).map(|i| (i * 37 % 101) as f32 / 100.0).collect();
    Image::from_channels(Footprint::of_size(9, 7), n_channels, values).expect("it fits")
}

fn request(program: &Program, view: Footprint, frame: Option<i64>) -> Request {
    let mut request = Request::new().view(view);
    if program.plan().inputs.iter().any(|(_, input)| &*input.name == "photo") {
        request = request.set("photo", photo(3));
    }
    match frame {
        Some(frame) => request.frame(frame),
        None => request,
    }
}

fn evaluator() -> Box<dyn Evaluator> {
    (millstream::evaluate::EVALUATORS[0].settings[0])()
}

/// Compares the picture with its strips, if it may be evaluated in strips. Returns whether it may.
fn check(text: &str, n_rows: i32, frame: Option<i64>) -> bool {
    let program = load(text);
    if program.whole_view_node("out").is_some() {
        return false;
    }
    let ask = |view: Footprint| request(&program, view, frame);
    let answer = program.run(&ask(view())).expect("it runs");
    assert!(answer.failures.is_empty(), "{text}\n{:?}", answer.failures);
    let whole = answer.value::<Image>("out").expect("an image");
    let mut evaluator = evaluator();
    let mut evaluate = program.in_tiles(&mut *evaluator);
    for lower in (0..SIZE[1]).step_by(n_rows as usize) {
        for (left, right) in [(0, 13), (13, SIZE[0])] {
            let part = view().with_crop([left, lower, right, SIZE[1].min(lower + n_rows)]);
            let answer = evaluate(&ask(part.clone())).expect("it runs");
            assert!(answer.failures.is_empty(), "{text}\n{:?}", answer.failures);
            let image = answer.value::<Image>("out").expect("an image");
            if *image.view() != part {
                assert_eq!(image, whole, "an image of its own size\n{text}");
                continue;
            }
            let n = whole.n_channels();
            assert_eq!(image.n_channels(), n, "{text}");
            let rows = image.channels().chunks(image.width() * n);
            for (y, row) in (lower..).zip(rows) {
                let start = (y * SIZE[0] + left) as usize * n;
                let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                let of_whole = &whole.channels()[start..start + row.len()];
                assert_eq!(bits(row), bits(of_whole), "row {y} of strips\n{text}");
            }
        }
    }
    true
}

/// The head of each graph.
const HEAD: &str = "input photo: image
p = context.position()
seed = image.from_field(fract(p.x * 0.13) * fract(p.y * 0.21))
tint = image.from_field(vec3(fract(p.x * 0.07), fract(p.y * 0.11), 0.5))
";

fn of(lines: &str) -> String {
    format!("{HEAD}{lines}\noutput out: image = out\n")
}

/// Work on the image `$`, with a number as `#`.
const STEPS: [&str; 22] = [
    "image.blur($, radius: #)",
    "image.blur($, radius: #, outside = \"clear\")",
    "image.blur($, radius: #, kind = \"box\", outside = \"mirror\")",
    "image.levels($, white: 0.9)",
    "image.over($, tint)",
    "image.over(tint, $)",
    "image.over(photo, $)",
    "image.blend($, photo)",
    "image.transform($, offset: [#, 1])",
    "image.transform($, rotation: 0.3, outside = \"extend\")",
    "image.crop($, #, 1, 12, 9)",
    "image.morphology($, radius: #)",
    "image.edges($)",
    "image.dither($, 3)",
    "image.dither($, 3, kind = \"diffused\")",
    "image.from_field(image.sample($, p, filter = \"nearest\"))",
    "image.from_field(image.sample($, p + vec3(#, 0, 0)))",
    "image.from_field(image.sample(photo, p))",
    "image.from_field(p.x * convert.to_f32(image.statistics($).mean))",
    "image.from_field(reduce.mean(p.x) + p.y)",
    "image.from_field(p.y * convert.to_f32(footprint.separate().height))",
    "image.from_field(p.y * convert.to_f32(footprint.separate().min_y))",
];

/// The zones around two steps on the image `x`.
const ZONES: [&str; 4] = [
    "? = repeat(x: image = $, t: image = tint, photo: image = photo, count: 2) -> x: image = y {
  tint = image.levels(t)
  p = context.position()
  w = @1
  y = @2
}",
    "?_l = list.range(count: 2)
? = for_each(i: f32 of ?_l, x: image = $, t: image = tint, photo: image = photo) -> x: image = y {
  tint = image.levels(t)
  p = context.position()
  w = @1
  y = @2
}",
    "? = simulate(x: image = $, t: image = tint, photo: image = photo) -> x: image = y {
  tint = image.levels(t)
  p = context.position()
  w = @1
  y = @2
}",
    "?_n = context.position()
? = repeat(v: f32 = ?_n.x, count: 3) -> v: f32 = w {
  w = v * 0.5 + 1
}",
];

/// A graph of these steps: the work, the image it is done to, and a number.
fn graph(steps: &[(usize, usize, u8, Option<usize>)]) -> String {
    let mut names = vec!["seed".to_owned(), "tint".into(), "photo".into()];
    let mut lines = Vec::new();
    let call = |step: usize, from: &str, number: u8| {
        STEPS[step % STEPS.len()].replace('$', from).replace('#', &number.to_string())
    };
    for (i, (step, from, number, zone)) in steps.iter().enumerate() {
        // Mostly the last image, so that the output depends on most steps.
        let at = if from % 4 == 0 { from % names.len() } else { names.len() - 1 };
        let (from, name) = (names[at].clone(), format!("n{i}"));
        let (first, second) = (call(*step, "x", *number), call(step / STEPS.len(), "w", *number));
        match zone {
            Some(3) => {
                lines.push(ZONES[3].replace('?', &format!("z{i}")));
                lines.push(format!("{name} = image.over(image.from_field(z{i}.v), {from})"));
            }
            Some(zone) => {
                let zone = ZONES[*zone].replace('?', &format!("z{i}")).replace('$', &from);
                lines.push(zone.replace("@1", &first).replace("@2", &second));
                lines.push(format!("{name} = image.levels(z{i}.x)"));
            }
            None => lines.push(format!("{name} = {}", call(*step, &from, *number))),
        }
        names.push(name);
    }
    of(&format!("{}\nout = image.levels({})", lines.join("\n"), names[names.len() - 1]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn strips_of_random_graphs_have_the_bits_of_the_whole(
        steps in prop::collection::vec(
            (0..STEPS.len() * STEPS.len(), 0..12_usize, 1..5_u8, prop::option::weighted(0.3, 0..4_usize)),
            1..5,
        ),
        n_rows in 1..9_i32,
    ) {
        check(&graph(&steps), n_rows, Some(3));
    }
}

#[test]
fn every_step_and_zone_is_correct_alone_and_some_need_no_whole() {
    let mut in_strips = Vec::new();
    for step in 0..STEPS.len() {
        for from in 0..3 {
            // Twice, so that each follows itself.
            let steps = [(step, 4 * from, 3, None), (step, 1, 3, None)];
            in_strips.push(check(&graph(&steps), 5, None));
        }
    }
    assert!(in_strips.iter().filter(|it| **it).count() > STEPS.len(), "{in_strips:?}");
}

#[test]
fn zones_with_images_need_the_whole_and_those_without_do_not() {
    let step = |zone| graph(&[(3, 0, 3, Some(zone))]);
    for zone in 0..3 {
        assert!(load(&step(zone)).whole_view_node("out").is_some(), "{}", step(zone));
    }
    assert!(check(&step(3), 4, None));
}

#[test]
fn views_whose_region_is_read_are_whole() {
    let whole = |lines: &str| load(&of(lines)).whole_view_node("out").is_some();
    let parts = "v = footprint.separate(context.footprint())\n";
    assert!(!whole(&format!(
        "{parts}out = image.from_field(p.x * convert.to_f32(v.width + v.height))"
    )));
    assert!(whole(&format!("{parts}out = image.from_field(p.x * convert.to_f32(v.max_y))")));
    assert!(whole("out = image.from_field(p.x - reduce.mean(p.x))"));
    assert!(whole("out = image.over(photo, seed)"));
    assert!(whole("out = context.with_footprint(seed, footprint.grow(context.footprint(), 2))"));
}
