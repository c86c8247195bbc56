//! Questions about numbers, answered by a `bool`.
//!
//! Comparisons are those of IEEE 754: -0 equals +0, NaN equals nothing and has no place in the
//! order. The equality of texts is in the string family.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry};

use crate::shape::{FLOATS, Input, MADE_OF_NUMBERS, ORDERED, inputs_of_one_type};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    equality(registry);
    order(registry);
    kinds(registry);
}

/// Those of them that have fractions.
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
const AB: [Input; 2] = [("a", 0.0, "the one number"), ("b", 0.0, "the other")];

/// A question that holds if it holds for every lane.
fn for_all<F>(def: NodeDef, lane: F) -> NodeDef
where
    F: for<'b> Fn(&[Val<'b>]) -> Val<'b> + Send + Sync + 'static,
{
    in_lanes(def, lane, |a, b| a & b)
}

/// A question that holds if it holds for some lane.
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
            "Vectors, colors, quaternions and matrices: in every component, alpha too. -0 equals +0, NaN \
             equals nothing.",
        );
    registry.register(for_all(equal, |x| x[0].eq(x[1])));
    let not_equal =
        inputs_of_one_type("compare.not_equal", "Whether a differs from b", MADE_OF_NUMBERS, &AB)
            .details("The opposite of `compare.equal`. Vectors and their kin: in some component.");
    registry.register(for_any(not_equal, |x| x[0].ne(x[1])));
    let near = inputs_of_one_type(
        "compare.near",
        "Whether a and b are at most a tolerance apart",
        NEARBY,
        &[AB[0], AB[1], ("tolerance", 1e-6, "the greatest distance that counts as near")],
    )
    .details(
        "|a - b| <= tolerance, or a equals b, so that an infinity is near itself. Vectors and their kin: in \
         every component. NaN is near nothing.",
    );
    registry.register(for_all(near, |x| x[0].eq(x[1]) | (x[0] - x[1]).abs().le(x[2])));
}

fn order(registry: &mut Registry) {
    let mut ordered = |name, summary, lane: for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>| {
        registry.register(
            inputs_of_one_type(name, summary, ORDERED, &AB)
                .details("False if one is NaN. -0 and +0 are equal.")
                .output("value", Type::BOOL, "")
                .lanewise(move |_, x| lane(x[0], x[1])),
        );
    };
    ordered("compare.less", "Whether a < b", |a, b| a.lt(b));
    ordered("compare.less_equal", "Whether a <= b", |a, b| a.le(b));
    ordered("compare.greater", "Whether a > b", |a, b| a.gt(b));
    ordered("compare.greater_equal", "Whether a >= b", |a, b| a.ge(b));
    registry.register(
        inputs_of_one_type(
            "compare.between",
            "Whether x lies in a range",
            ORDERED,
            &[
                ("x", 0.0, "the number"),
                ("minimum", 0.0, "belongs to the range"),
                ("maximum", 1.0, "belongs to the range"),
            ],
        )
        .details("Both bounds belong to the range, which is empty if they are in the wrong order.")
        .output("value", Type::BOOL, "")
        .lanewise(|_, x| x[0].ge(x[1]) & x[0].le(x[2])),
    );
}

fn kinds(registry: &mut Registry) {
    let x = [("x", 0.0, "the number")];
    let nan = inputs_of_one_type("compare.is_nan", "Whether x is no number", FLOATS, &x)
        .details("Vectors: some component.");
    registry.register(for_any(nan, |x| x[0].is_nan()));
    let finite =
        inputs_of_one_type("compare.is_finite", "Whether x is a finite number", FLOATS, &x)
            .details("Neither infinite nor NaN. Vectors: every component.");
    registry.register(for_all(finite, |x| x[0].is_finite()));
    let infinite =
        inputs_of_one_type("compare.is_infinite", "Whether x is an infinity", FLOATS, &x)
            .details("NaN is none. Vectors: some component.");
    registry.register(for_any(infinite, |x| x[0].abs().eq(f64::INFINITY)));
}
