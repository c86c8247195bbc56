//! Comparison of vectors component by component.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::{T, on_vectors};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(compare());
}

const HOW: &[(&str, &str)] = &[
    ("less", "a < b"),
    ("less_equal", "a <= b"),
    ("greater", "a > b"),
    ("greater_equal", "a >= b"),
    ("equal", "a equals b"),
    ("not_equal", "a differs from b"),
];

fn compare() -> NodeDef {
    on_vectors(
        "vector.compare",
        "Compares two vectors component by component",
        &[("a", ""), ("b", "")],
    )
    .details(
        "Each component is compared separately, as by `compare.less` and related nodes: -0 \
             equals +0, and NaN is neither less than, greater than nor equal to any number.",
    )
    .choice("how", HOW, "less", "comparison of each component")
    .output("value", T, "1 for each component for which it holds, otherwise 0")
    .output("all", Type::BOOL, "whether it holds for all components")
    .output("any", Type::BOOL, "whether it holds for at least one component")
    .kernel(form_by_settings(|settings, inputs| {
        let how = settings.text("how").to_owned();
        let pairs = inputs[0].iter().zip(&inputs[1]);
        let answers: Vec<Val<'_>> = pairs.clone().map(|(a, b)| answer(&how, *a, *b)).collect();
        let numbers = answers.iter().zip(&inputs[0]);
        let numbers = numbers.map(|(answer, a)| answer.select(a.like(1.0), 0.0)).collect();
        let all = answers.iter().copied().reduce(|a, b| a & b);
        let any = answers.iter().copied().reduce(|a, b| a | b);
        vec![numbers, only(all), only(any)]
    }))
}

fn answer<'b>(how: &str, a: Val<'b>, b: Val<'b>) -> Val<'b> {
    match how {
        "less_equal" => a.le(b),
        "greater" => a.gt(b),
        "greater_equal" => a.ge(b),
        "equal" => a.eq(b),
        "not_equal" => a.ne(b),
        _ => a.lt(b),
    }
}

fn only(answer: Option<Val<'_>>) -> Vec<Val<'_>> {
    vec![answer.expect("vectors have components")]
}

#[cfg(test)]
mod tests {
    use millstream_base::Type;
    use millstream_node::Kernel;
    use serde_json::json;

    use crate::cells::testing::instance;

    /// The components of the result, followed by `all` and `any`.
    fn compared(how: &str, a: [f32; 3], b: [f32; 3]) -> ([f32; 3], bool, bool) {
        let node = instance("vector.compare", &json!({ "how": how }), &[Type::VEC3], &[]);
        let Kernel::Form(form) = node.kernel else { panic!("a form") };
        let params: Vec<u64> = a.iter().chain(&b).map(|x| u64::from(x.to_bits())).collect();
        let mut results = [0; 5];
        form.run_scalar(&params, &mut results, &mut Vec::new());
        let number = |i: usize| f32::from_bits(results[i] as u32);
        ([number(0), number(1), number(2)], results[3] != 0, results[4] != 0)
    }

    #[test]
    fn components_are_compared_separately() {
        let (a, b) = ([1.0, -0.0, 3.0], [2.0, 0.0, 2.5]);
        for (how, answers) in [
            ("less", [1.0, 0.0, 0.0]),
            ("less_equal", [1.0, 1.0, 0.0]),
            ("greater", [0.0, 0.0, 1.0]),
            ("greater_equal", [0.0, 1.0, 1.0]),
            ("equal", [0.0, 1.0, 0.0]),
            ("not_equal", [1.0, 0.0, 1.0]),
        ] {
            assert_eq!(compared(how, a, b), (answers, false, true), "{how}");
        }
        assert_eq!(compared("less", [0.0; 3], [1.0; 3]), ([1.0; 3], true, true));
        let nan = [f32::NAN; 3];
        for how in ["less", "less_equal", "greater", "greater_equal", "equal"] {
            assert_eq!(compared(how, nan, nan), ([0.0; 3], false, false), "{how}");
        }
        assert_eq!(compared("not_equal", nan, nan), ([1.0; 3], true, true));
    }
}
