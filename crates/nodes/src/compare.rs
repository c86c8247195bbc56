//! Comparisons of numbers, whose results are `bool`s.
//!
//! Comparisons follow IEEE 754: -0 equals +0, and NaN equals nothing and is unordered. Strings are
//! compared by nodes of the string family.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry, Truth};

use crate::shape::{FLOATS, Input, MADE_OF_NUMBERS, ORDERED, inputs_of_one_type};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    equality(registry);
    order(registry);
    kinds(registry);
}

/// Types with fractions that `compare.near` takes.
const NEARBY: Among = Among::These(&[
    Type::F32,
    Type::F64,
    Type::VEC2,
    Type::VEC3,
    Type::VEC4,
    Type::COLOR,
    Type::QUAT,
    Type::MAT4,
]);
const AB: [Input; 2] = [("a", 0.0, "first number"), ("b", 0.0, "second number")];

/// A comparison that holds if it holds for every lane.
fn for_all<F>(def: NodeDef, lane: F) -> NodeDef
where
    F: for<'b> Fn(&[Val<'b>]) -> Val<'b> + Send + Sync + 'static,
{
    in_lanes(def, lane, |a, b| a & b)
}

/// A comparison that holds if it holds for at least one lane.
fn for_any<F>(def: NodeDef, lane: F) -> NodeDef
where
    F: for<'b> Fn(&[Val<'b>]) -> Val<'b> + Send + Sync + 'static,
{
    in_lanes(def, lane, |a, b| a | b)
}

fn in_lanes<F>(def: NodeDef, lane: F, join: for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>) -> NodeDef
where
    F: for<'b> Fn(&[Val<'b>]) -> Val<'b> + Send + Sync + 'static,
{
    def.output("value", Type::BOOL, "").form(move |_, inputs| {
        let answers = (0..inputs[0].len()).map(|i| {
            let args: Vec<Val<'_>> =
                inputs.iter().map(|x| if x.len() == 1 { x[0] } else { x[i] }).collect();
            lane(&args)
        });
        let all = answers.reduce(join).expect("every type has a lane");
        vec![vec![all]]
    })
}

fn equality(registry: &mut Registry) {
    let equal = inputs_of_one_type("compare.equal", "Whether a equals b", MADE_OF_NUMBERS, &AB)
        .details(
            "Vectors, colors, quaternions and matrices are equal if all components are, alpha \
             included. -0 equals +0, and NaN equals nothing.",
        );
    registry.register(for_all(equal, |x| x[0].eq(x[1])).truth(Truth::Compare(0b0010)));
    let not_equal =
        inputs_of_one_type("compare.not_equal", "Whether a differs from b", MADE_OF_NUMBERS, &AB)
            .details(
                "The opposite of `compare.equal`: vectors, colors, quaternions and matrices differ \
                 if at least one component does.",
            );
    registry.register(for_any(not_equal, |x| x[0].ne(x[1])).truth(Truth::Compare(0b1101)));
    let near = inputs_of_one_type(
        "compare.near",
        "Whether a and b differ by at most a tolerance",
        NEARBY,
        &[AB[0], AB[1], ("tolerance", 1e-6, "largest difference that counts as near")],
    )
    .details(
        "|a - b| <= tolerance, or a equals b, so that an infinity is near itself. For types with \
         several components the comparison must hold for each of them. NaN is near nothing.",
    );
    registry.register(for_all(near, |x| x[0].eq(x[1]) | (x[0] - x[1]).abs().le(x[2])));
}

fn order(registry: &mut Registry) {
    type Lane = for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>;
    let mut ordered = |name, summary, outcomes: u8, lane: Lane| {
        registry.register(
            inputs_of_one_type(name, summary, ORDERED, &AB)
                .details("False if a or b is NaN. -0 and +0 are equal.")
                .output("value", Type::BOOL, "")
                .truth(Truth::Compare(outcomes))
                .lanewise(move |_, x| lane(x[0], x[1])),
        );
    };
    ordered("compare.less", "Whether a < b", 0b0001, |a, b| a.lt(b));
    ordered("compare.less_equal", "Whether a <= b", 0b0011, |a, b| a.le(b));
    ordered("compare.greater", "Whether a > b", 0b0100, |a, b| a.gt(b));
    ordered("compare.greater_equal", "Whether a >= b", 0b0110, |a, b| a.ge(b));
    registry.register(
        inputs_of_one_type(
            "compare.between",
            "Whether x lies in a range",
            ORDERED,
            &[
                ("x", 0.0, "number to test"),
                ("minimum", 0.0, "lower bound, inclusive"),
                ("maximum", 1.0, "upper bound, inclusive"),
            ],
        )
        .details(
            "Both bounds belong to the range. If `minimum` is greater than `maximum`, the range is \
             empty.",
        )
        .output("value", Type::BOOL, "")
        .lanewise(|_, x| x[0].ge(x[1]) & x[0].le(x[2])),
    );
}

fn kinds(registry: &mut Registry) {
    let x = [("x", 0.0, "number to test")];
    let nan = inputs_of_one_type("compare.is_nan", "Whether x is NaN (not a number)", FLOATS, &x)
        .details("For vectors: whether any component is.");
    registry.register(for_any(nan, |x| x[0].is_nan()));
    let finite =
        inputs_of_one_type("compare.is_finite", "Whether x is a finite number", FLOATS, &x)
            .details(
                "Finite means neither infinite nor NaN. For vectors: whether every component is.",
            );
    registry.register(for_all(finite, |x| x[0].is_finite()));
    let infinite = inputs_of_one_type(
        "compare.is_infinite",
        "Whether x is positive or negative infinity",
        FLOATS,
        &x,
    )
    .details("False for NaN. For vectors: whether any component is.");
    registry.register(for_any(infinite, |x| x[0].abs().eq(f64::INFINITY)));
}
