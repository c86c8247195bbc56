//! Requests of more cells than a column may have: steps run along the axes with which they vary, so
//! only what varies along too many is refused.

use millstream::evaluate::{EVALUATORS, Evaluator, OutputAnswer};
use millstream::values::Footprint;
use millstream::{
    Answer, Engine, EvalError, Lazy, Limits, Mask, NodeFailure, Program, Request, RequestError,
};
use proptest::prelude::*;

const EXTENTS: [usize; 3] = [5, 3, 7];
const SCALES: [f32; 3] = [1.0, 0.5, 3.0];

fn program(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn view(scale: f32) -> Footprint {
    let mut view = Footprint::of_size(4, 3);
    (view.transform.0[0], view.transform.0[5]) = (scale, scale);
    view
}

fn time(at: usize) -> f64 {
    at as f64 * 0.75
}

fn elements() -> Request {
    Request::new().column("x", (0..EXTENTS[2]).map(|i| i as f32 - 2.5).collect::<Vec<f32>>())
}

/// Five moments, three views and seven elements, of which a column has at most so many cells.
fn request(list_length: usize) -> Request {
    elements()
        .times((0..EXTENTS[0]).map(time).collect())
        .views(SCALES.map(view).to_vec())
        .with_limits(Limits { list_length, ..Limits::default() })
}

fn each_evaluator(mut check: impl FnMut(&str, &mut dyn Evaluator)) {
    for make in EVALUATORS.iter().flat_map(|row| row.settings) {
        let mut evaluator = make();
        let name = evaluator.name();
        check(name, &mut *evaluator);
    }
}

fn output<'a>(answer: &'a Answer, name: &str) -> &'a OutputAnswer {
    answer.output(name).unwrap_or_else(|| panic!("there is an output `{name}`"))
}

const APART: &str = "
input x: f32 = 1
t = convert.to_f32(context.time())
wide = footprint.pixel_size(context.footprint())
output moving: f32 = math.sin(t)
output seen: f32 = wide * t
output each: f32 = x * 2 + reduce.sum(x)
output whole: f32 = reduce.sum(x * x) * wide
";

#[test]
fn what_varies_along_few_axes_has_the_bits_of_single_requests() {
    let program = program(APART);
    let outputs = ["moving", "seen", "each", "whole"];
    let mut expected: Vec<[u32; 4]> = Vec::new();
    for at in 0..EXTENTS[0] {
        for scale in SCALES {
            let one = elements().time(time(at)).view(view(scale));
            let answer = program.run(&one).expect("it runs");
            let columns = outputs.map(|name| answer.column::<f32>(name).expect("numbers"));
            expected.extend((0..EXTENTS[2]).map(|i| [0, 1, 2, 3].map(|k| columns[k][i].to_bits())));
        }
    }
    each_evaluator(|name, evaluator| {
        let answer = program.run_with(evaluator, &request(15)).expect("it runs");
        assert_eq!(answer.n_cells(), 105, "{name}");
        for (k, output) in outputs.iter().enumerate() {
            let column = answer.column::<f32>(output).expect("numbers");
            let found = column.iter().map(|number| number.to_bits());
            assert!(found.eq(expected.iter().map(|all| all[k])), "{name}: {output}");
        }
    });
}

#[test]
fn products_that_no_computer_can_count_need_no_memory() {
    let program =
        program("i = context.index()\noutput i: i32 = i + 1\noutput n: f64 = 2 * context.time()");
    each_evaluator(|name, evaluator| {
        let views = vec![view(1.0); 1 << 16];
        let times = (0..1 << 17).map(f64::from).collect();
        let request = Request::new().times(times).views(views).count(1 << 20);
        let answer = program.run_with(evaluator, &request).expect("it runs");
        assert_eq!(answer.n_cells(), 1 << 53, "{name}");
        for (output, n) in [("i", 1 << 20), ("n", 1 << 17)] {
            let series = self::output(&answer, output).value.as_ref().expect("a value");
            assert_eq!(answer.cells_of(&series.axes), n, "{name}");
        }
    });
}

#[test]
fn outputs_that_vary_along_too_many_axes_are_refused_before_anything_runs() {
    let program =
        program(&format!("{APART}output all: f32 = x * wide + t\noutput some: f32 = x * t\n"));
    let refused = |output: &str, cells, product: &str| RequestError::TooLargeOutput {
        output: output.into(),
        cells,
        product: product.into(),
        limit: 21,
    };
    let errors = vec![
        refused("all", 105, "5 moments × 3 views × 7 elements"),
        refused("some", 35, "5 moments × 7 elements"),
    ];
    assert_eq!(
        errors[0].to_string(),
        "output `all` has 105 cells (5 moments × 3 views × 7 elements), the limit is 21"
    );
    each_evaluator(|name, evaluator| {
        let error = program.run_with(evaluator, &request(21)).expect_err("it is refused");
        assert_eq!(error, EvalError::Request(errors.clone()), "{name}");
        let others = request(21).output("seen").output("each");
        assert!(program.run_with(evaluator, &others).is_ok(), "{name}");
    });
}

#[test]
fn a_node_with_too_many_cells_fails_and_takes_no_other_with_it() {
    let program = program(&format!(
        "{APART}product = x * t\noutput sum: f32 = reduce.sum(product, feature = \"time\")\n"
    ));
    each_evaluator(|name, evaluator| {
        for request in [request(21), request(21).with_partial()] {
            let answer = program.run_with(evaluator, &request).expect("it fits");
            let [failure] = &answer.failures[..] else { panic!("{name}: {:?}", answer.failures) };
            assert!(failure.path.as_str().starts_with("product"), "{name}: {}", failure.path);
            assert_eq!(failure.message, "35 cells (5 moments × 7 elements), the limit is 21");
            let help = "raise `list_length` to 35 in the limits, or request fewer elements, moments \
                        or views at once";
            assert_eq!(failure.help.as_deref(), Some(help));
            assert!(output(&answer, "sum").known().is_none(), "{name}");
            assert!(output(&answer, "each").value.is_some(), "{name}");
            assert!(output(&answer, "whole").value.is_some(), "{name}");
        }
        let enough = program.run_with(evaluator, &request(35)).expect("it fits");
        assert!(output(&enough, "sum").value.is_some(), "{name}");
    });
}

#[test]
fn frames_of_state_are_counted_for_each_output() {
    let text = "input x: f32 = 1\nsum = state.integrate(x)\nclock = state.counter()\n\
                output each: f32 = sum\noutput n: i32 = clock\n";
    let program = program(text);
    let request = |limit| {
        let limits = Limits { list_length: limit, ..Limits::default() };
        elements().frames((0..5).collect()).with_limits(limits)
    };
    each_evaluator(|name, evaluator| {
        let answer = program.run_with(evaluator, &request(35)).expect("it fits");
        assert!(output(&answer, "each").value.is_some(), "{name}");
        let error = program.run_with(evaluator, &request(34)).expect_err("it has 35 cells");
        let EvalError::Request(errors) = error else { panic!("{name}: {error}") };
        let product = "output `each` has 35 cells (5 moments × 7 elements), the limit is 34";
        assert_eq!(errors[0].to_string(), product, "{name}");
        let request = request(34).output("n");
        let answer = program.run_with(evaluator, &request).expect("it fits");
        assert!(output(&answer, "n").value.is_some(), "{name}");
    });
}

#[test]
fn only_steps_that_run_count() {
    // The arm that no element takes would have too many cells, and so would the choice.
    let program = program(&format!(
        "{APART}few = x > 100 ? x * t : x\noutput sum: f32 = reduce.sum(few)\n\
         many = x > 0 ? x * t : x\noutput sum_of_many: f32 = reduce.sum(many)\n"
    ));
    each_evaluator(|name, evaluator| {
        let answer = program.run_with(evaluator, &request(21)).expect("it fits");
        assert!(output(&answer, "sum").value.is_some(), "{name}: {:?}", answer.failures);
        assert!(output(&answer, "sum_of_many").value.is_none(), "{name}");
        assert!(output(&answer, "moving").value.is_some(), "{name}");
    });
}

#[test]
fn memory_of_the_caller_holds_all_cells_of_the_request() {
    let program = program(APART);
    let too_many = RequestError::TooManyCells { cells: 105, limit: 21 };
    let request = request(21).output("moving");
    let error = program.prepare(&request).expect_err("it is refused");
    assert_eq!(error.to_string(), too_many.to_string());
}

/// A generated document: each value reads earlier ones.
#[derive(Debug)]
struct Generated {
    text: String,
    /// For each value the axes along which it varies, as bits, and whether it or a value above it
    /// has more cells than allowed.
    values: Vec<(u8, bool)>,
    outputs: Vec<usize>,
    has_choices: bool,
}

fn n_cells(axes: u8) -> usize {
    (0..3).filter(|axis| axes >> axis & 1 != 0).map(|axis| EXTENTS[axis]).product()
}

fn generated(steps: &[(u8, u8, u8)], asked: &[u8], limit: usize) -> Generated {
    let mut text = String::from(
        "input x: f32 = 1\nv0 = math.sin(convert.to_f32(context.time()))\n\
         v1 = footprint.pixel_size(context.footprint()) * 0.7\nv2 = x * 0.3\n",
    );
    let mut values: Vec<(u8, bool)> =
        (0..3).map(|axis| (1 << axis, EXTENTS[axis] > limit)).collect();
    let mut has_choices = false;
    for (op, a, b) in steps {
        let (k, a, b) = (values.len(), *a as usize % values.len(), *b as usize % values.len());
        let ((of_a, bad_a), (of_b, bad_b)) = (values[a], values[b]);
        let (formula, axes, most) = match op % 8 {
            0..=2 => (format!("v{a} * 0.9 + v{b}"), of_a | of_b, of_a | of_b),
            3 => (format!("math.sin(v{a} * v{b})"), of_a | of_b, of_a | of_b),
            4 => {
                has_choices = true;
                (
                    format!("v2 > {} ? v{a} : v{b} + 0.25", b as f32 - 1.5),
                    of_a | of_b | 4,
                    of_a | of_b | 4,
                )
            }
            axis => {
                let axis = axis - 5;
                let feature = ["time", "footprint", "index"][axis as usize];
                let formula = format!("reduce.sum(v{a}, feature = \"{feature}\")");
                (formula, of_a & !(1 << axis), of_a | 1 << axis)
            }
        };
        let reads_b = *op % 8 <= 4;
        values.push((axes, n_cells(most) > limit || bad_a || (reads_b && bad_b)));
        text.push_str(&format!("v{k} = {formula}\n"));
    }
    let mut outputs: Vec<usize> = asked.iter().map(|at| *at as usize % values.len()).collect();
    outputs.sort_unstable();
    outputs.dedup();
    for at in &outputs {
        text.push_str(&format!("output o{at}: f32 = v{at}\n"));
    }
    Generated { text, values, outputs, has_choices }
}

/// What an evaluator answers: the bits of each output, and what failed.
type Found = Result<(Vec<Option<Vec<u32>>>, Vec<NodeFailure>), Vec<RequestError>>;

fn found(program: &Program, evaluator: &mut dyn Evaluator, request: &Request) -> Found {
    let answer = match program.run_with(evaluator, request) {
        Ok(answer) => answer,
        Err(EvalError::Request(errors)) => return Err(errors),
        Err(error) => panic!("{error}"),
    };
    let bits = |of: &OutputAnswer| {
        let column = answer.column::<f32>(&of.name)?;
        Some(column.iter().map(|number| number.to_bits()).collect())
    };
    Ok((answer.outputs.iter().map(bits).collect(), answer.failures))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn generated_products_are_refused_where_a_step_needs_them(
        steps in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..9),
        asked in proptest::collection::vec(any::<u8>(), 1..4),
        limit in 7_usize..110,
        is_for_some: bool,
        is_partial: bool,
    ) {
        let Generated { text, values, outputs, has_choices } = generated(&steps, &asked, limit);
        let program = program(&text);
        let request = |limit: usize| {
            let request = request(limit);
            let request = if is_partial { request.with_partial() } else { request };
            let some = Mask::from_indices(vec![1, 2, 5]).expect("they ascend");
            if is_for_some { request.mask(some) } else { request }
        };
        let whole = found(&program, &mut Lazy, &request(usize::MAX)).expect("it fits").0;
        let expected = found(&program, &mut Lazy, &request(limit));
        each_evaluator(|name, evaluator| {
            let found = found(&program, evaluator, &request(limit));
            let told = |of: &Found| match of {
                Ok((known, failures)) => {
                    let known: Vec<bool> = known.iter().map(Option::is_some).collect();
                    format!("{known:?} {failures:?}")
                }
                Err(errors) => format!("{errors:?}"),
            };
            assert!(
                found == expected,
                "{name}: {}, but {}\n{text}",
                told(&found),
                told(&expected)
            );
        });
        // Some elements may be few enough where all are too many.
        let too_large = outputs.iter().filter(|at| n_cells(values[**at].0) > limit);
        let names: Vec<String> = too_large.map(|at| format!("output `o{at}` has")).collect();
        match expected {
            Err(errors) => {
                let is_of = |(error, name): (&RequestError, &String)| {
                    error.to_string().starts_with(name)
                };
                let is_expected = errors.len() == names.len();
                let is_expected = is_expected && errors.iter().zip(&names).all(is_of);
                assert!(is_expected || is_for_some, "{errors:?}\n{text}");
            }
            Ok((found, failures)) => {
                assert!(names.is_empty() || is_for_some, "not refused\n{text}");
                for ((at, found), whole) in outputs.iter().zip(&found).zip(&whole) {
                    let is_bad = values[*at].1;
                    assert!(is_bad || found.is_some(), "o{at}\n{text}");
                    assert!(found.is_none() || found == whole, "o{at}\n{text}");
                    let may_be_known = !is_bad || has_choices || is_for_some;
                    assert!(may_be_known || found.is_none(), "o{at}\n{text}");
                }
                let is_whole = found.iter().all(Option::is_some);
                assert!(failures.is_empty() == is_whole || is_for_some, "{failures:?}\n{text}");
            }
        }
    }
}
