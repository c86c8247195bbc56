//! Several views at once: results equal those of one view at a time, and a node runs once for each
//! view only if it varies with the view.

use millstream::evaluate::RequestAxis::{Index, Time, View};
use millstream::evaluate::{Data, EVALUATORS};
use millstream::values::{Column, Footprint, Image};
use millstream::{Answer, Engine, EvalError, LogDetail, Program, Request, RequestError};

const MIXED: &str = "
input x: f32 = 1
input eye: f32 = 0
wide = footprint.pixel_size(context.footprint()) + eye
late = math.sin(convert.to_f32(context.time()))
output all: f32 = wide * late + x
output seen: f32 = wide * 2
output still: f32 = x * 3
output moving: f32 = late + x
";

fn program(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn view(scale: f32) -> Footprint {
    let mut view = Footprint::of_size(4, 3);
    (view.transform.0[0], view.transform.0[5]) = (scale, scale);
    view
}

const SCALES: [f32; 3] = [1.0, 0.5, 3.0];
const EYES: [f32; 3] = [0.25, -1.0, 8.0];
const TIMES: [f64; 2] = [0.5, 2.0];
const XS: [f32; 4] = [1.0, -2.0, 0.1, 1e6];

fn product() -> Request {
    Request::new()
        .views(SCALES.map(view).to_vec())
        .per_view("eye", EYES.to_vec())
        .times(TIMES.to_vec())
        .column("x", XS.to_vec())
        .with_log(LogDetail::Counts)
}

fn each_evaluator(mut check: impl FnMut(&str, &mut dyn millstream::Evaluator)) {
    for make in EVALUATORS.iter().flat_map(|row| row.settings) {
        let mut evaluator = make();
        let name = evaluator.name();
        check(name, &mut *evaluator);
    }
}

#[test]
fn a_product_of_moments_views_and_elements_has_the_bits_of_single_requests() {
    let program = program(MIXED);
    let mut expected: Vec<u32> = Vec::new();
    for time in TIMES {
        for (scale, eye) in SCALES.into_iter().zip(EYES) {
            for x in XS {
                let one = Request::new().view(view(scale)).set("eye", eye).time(time).set("x", x);
                let value = program.run(&one).expect("it runs").value::<f32>("all");
                expected.push(value.expect("a number").to_bits());
            }
        }
    }
    each_evaluator(|name, evaluator| {
        let answer = program.run_with(evaluator, &product()).expect("it runs");
        let all = answer.column::<f32>("all").expect("a column");
        assert!(all.iter().map(|x| x.to_bits()).eq(expected.iter().copied()), "{name}");
        assert_eq!(answer.n_cells(), 24, "{name}");
        let axes = |output: &str| answer.output(output).and_then(|it| it.value.clone());
        let axes = |output: &str| axes(output).expect("a value").axes;
        assert_eq!(axes("all"), [Time, View, Index], "{name}");
        assert_eq!(axes("seen"), [View], "{name}");
        assert_eq!(axes("still"), [Index], "{name}");
        assert_eq!(axes("moving"), [Time, Index], "{name}");
        // Values that vary along some axes are repeated along the others.
        let moving = answer.column::<f32>("moving").expect("a column");
        let of_first_view = &moving[..4];
        assert_eq!(of_first_view, &moving[4..8], "{name}");
        assert_ne!(of_first_view, &moving[12..16], "{name}");
    });
}

/// Number of elements that the nodes of this name computed.
fn elements(program: &Program, answer: &Answer, node: &str) -> u64 {
    let of_node = program.runs(answer).filter(|run| run.path.as_str().starts_with(node));
    of_node.map(|run| run.entry.elements).max().unwrap_or(0)
}

#[test]
fn nodes_run_along_the_axes_that_they_have() {
    let program = program(MIXED);
    each_evaluator(|name, evaluator| {
        let answer = program.run_with(evaluator, &product()).expect("it runs");
        assert_eq!(elements(&program, &answer, "wide"), 3, "{name}");
        assert_eq!(elements(&program, &answer, "late"), 2, "{name}");
        assert_eq!(elements(&program, &answer, "all"), 24, "{name}");
        assert_eq!(elements(&program, &answer, "still"), 4, "{name}");
    });
}

#[test]
fn images_of_views_have_sizes_of_their_own() {
    let text = "p = context.position()\nout = image.from_field(p.x * 10 + p.y)\noutput out: image";
    let program = program(text);
    let views = vec![Footprint::of_size(2, 1), Footprint::of_size(1, 3), view(2.0)];
    each_evaluator(|name, evaluator| {
        let request = Request::new().views(views.clone());
        let answer = program.run_with(evaluator, &request).expect("it runs");
        let images = answer.column::<Image>("out").expect("images");
        assert_eq!(images.len(), 3, "{name}");
        for (image, view) in images.iter().zip(&views) {
            let one = program.run(&Request::new().view(view.clone())).expect("it runs");
            assert_eq!(Some(image.clone()), one.value::<Image>("out"), "{name}");
        }
    });
}

const STATEFUL: &str = "
input rate: f32 = 2
input eye: f32 = 0
sum = state.integrate(rate)
output sum: f32 = sum + eye * footprint.pixel_size(context.footprint())
";

#[test]
fn ticks_answer_for_all_views() {
    let program = program(STATEFUL);
    let views = SCALES.map(view).to_vec();
    let request = Request::new().frames(vec![0, 1, 2]).views(views).per_view("eye", EYES.to_vec());
    each_evaluator(|name, evaluator| {
        let answer = program.run_with(evaluator, &request).expect("it runs");
        let found = answer.column::<f32>("sum").expect("a column");
        for frame in 0..3 {
            for at in 0..3 {
                let one = Request::new().frame(frame as i64).view(view(SCALES[at]));
                let one = program.run(&one.set("eye", EYES[at])).expect("it runs");
                let one = one.value::<f32>("sum").expect("a number");
                assert_eq!(found[frame * 3 + at].to_bits(), one.to_bits(), "{name}");
            }
        }
    });
}

#[test]
fn state_does_not_differ_by_view() {
    let program = program(STATEFUL);
    let request = Request::new().frame(1).views(vec![view(1.0), view(2.0)]);
    let request = request.per_view("rate", vec![1.0_f32, 2.0]);
    let Err(EvalError::Request(errors)) = program.run(&request) else { panic!("it is refused") };
    let text = errors[0].to_string();
    assert!(text.contains("its state depends on the input `rate`"), "{text}");
}

#[test]
fn columns_of_views_have_one_length() {
    let request = Request::new().time(0.0).views(vec![view(1.0)]).per_view("eye", EYES.to_vec());
    let Err(EvalError::Request(errors)) = program(MIXED).run(&request) else { panic!("refused") };
    assert!(matches!(&errors[..], [RequestError::Length { axis: "view", .. }]), "{errors:?}");
}

#[test]
fn no_views_give_no_cells() {
    each_evaluator(|name, evaluator| {
        let request = Request::new().time(0.0).views(Vec::new());
        let answer = program(MIXED).run_with(evaluator, &request).expect("it runs");
        let seen = answer.output("seen").and_then(|it| it.value.clone()).expect("a value");
        assert!(matches!(&seen.data, Data::Many(column) if column.is_empty()), "{name}");
        let still = answer.output("still").and_then(|it| it.value.clone()).expect("a value");
        assert!(matches!(still.data, Data::One(_)), "{name}");
    });
}

#[test]
fn a_column_that_varies_between_other_axes_is_read_right() {
    let program = program(MIXED);
    let n = 1000;
    let xs: Column = (0..n).map(|i| i as f32).collect();
    let request = product().column("x", xs.clone());
    assert!(program.run(&request).is_err(), "`x` is given twice");
    let request = Request::new().views(SCALES.map(view).to_vec()).time(1.0).column("x", xs);
    let expected = program.run(&request).expect("it runs").column::<f32>("all");
    each_evaluator(|name, evaluator| {
        let answer = program.run_with(evaluator, &request).expect("it runs");
        assert_eq!(answer.column::<f32>("all"), expected, "{name}");
    });
}
