//! Small patterns that random nodes seldom form, each for a difficult part of evaluation.

use millstream_base::Type;
use millstream_ir::Source;
use serde_json::json;

use super::NodePlan;
use super::values::value;
use crate::sketch::Sketch;

/// Number of motifs.
pub(super) const N_MOTIFS: usize = 9;

/// Adds the nodes of a motif; returns those that others may read.
pub(super) fn add(
    sketch: &mut Sketch<'_>,
    which: usize,
    plan: &NodePlan,
    sources: &[Source],
) -> Vec<Source> {
    let mut motif = Motif { sketch, plan, sources };
    let x = motif.number(0);
    match which % N_MOTIFS {
        0 => motif.sides(x),
        1 => motif.shared_sides(x),
        2 => motif.rows(x),
        3 => motif.columns(x),
        4 => motif.shifted_by_element(x),
        5 => motif.at_other_times(x),
        6 => motif.against_the_mean(x),
        7 => motif.rounds_by_element(x),
        _ => motif.folded_rounds(x),
    }
}

struct Motif<'m, 'r> {
    sketch: &'m mut Sketch<'r>,
    plan: &'m NodePlan,
    sources: &'m [Source],
}

impl Motif<'_, '_> {
    fn pick(&self, i: usize) -> usize {
        self.plan.picks[i] as usize
    }

    /// A source with a single number; `index` if there is none.
    fn number(&mut self, i: usize) -> Source {
        let n = self.sources.len();
        let start = self.pick(i);
        let is_number = |source: &Source| {
            [Type::F32, Type::F64, Type::I32].contains(&self.sketch.type_of(*source))
        };
        let found = (0..n).map(|k| self.sources[(start + k) % n]).find(is_number);
        found.unwrap_or_else(|| self.index(0))
    }

    fn index(&mut self, level: u32) -> Source {
        self.sketch.node_with("context.index", &json!({ "level": level }), &[])
    }

    fn small(&mut self, i: usize) -> Source {
        let n = self.pick(i) % 5;
        self.sketch.constant(n as i32)
    }

    fn math(&mut self, name: &str, a: Source, b: Source) -> Source {
        self.sketch.node(name, &[("a", a), ("b", b)])
    }

    /// Whether the number of the element is below a small number.
    fn low_elements(&mut self, i: usize) -> Source {
        let (index, limit) = (self.index(0), self.small(i));
        self.math("compare.less", index, limit)
    }

    fn switch(&mut self, condition: Source, no: Source, yes: Source) -> Source {
        let args = [("condition", condition), ("false", no), ("true", yes)];
        self.sketch.node("control.switch", &args)
    }

    /// Each element takes one of two sides.
    fn sides(&mut self, x: Source) -> Vec<Source> {
        let condition = self.low_elements(1);
        let y = self.number(2);
        let (yes, no) = (self.math("math.add", x, y), self.math("math.multiply", x, y));
        vec![self.switch(condition, no, yes)]
    }

    /// Two switches demand different elements of the same node.
    fn shared_sides(&mut self, x: Source) -> Vec<Source> {
        let (one, other) = (self.low_elements(1), self.low_elements(2));
        let index = self.index(0);
        let shared = self.math("math.subtract", x, index);
        let literal = self.sketch.constant(value(Type::F32, self.pick(3)));
        let a = self.switch(one, literal, shared);
        let b = self.switch(other, shared, literal);
        let both = self.math("math.add", a, b);
        vec![shared, both]
    }

    /// A table in which each row has as many items as its number, reduced by row.
    fn rows(&mut self, x: Source) -> Vec<Source> {
        let (item, row) = (self.index(0), self.index(1));
        let sum = self.math("math.add", item, row);
        let cell = self.math("math.multiply", sum, x);
        let list = self.sketch.node("list.generate", &[("count", item), ("item", cell)]);
        let total = self.sketch.node("list.sum", &[("list", list)]);
        let n_rows = self.small(1);
        let totals = self.sketch.node("list.generate", &[("count", n_rows), ("item", total)]);
        let all = self.sketch.node("list.sum", &[("list", totals)]);
        vec![totals, all]
    }

    /// A table in which each item also reads the sum of its column.
    fn columns(&mut self, x: Source) -> Vec<Source> {
        let (item, row) = (self.index(0), self.index(1));
        let product = self.math("math.multiply", item, row);
        let cell = self.math("math.add", product, x);
        let level = json!({ "level": 1 });
        let column = self.sketch.node_with("reduce.sum", &level, &[("value", cell)]);
        let all = self.sketch.node_with("list.collect", &level, &[("value", cell)]);
        let share = self.math("math.subtract", column, cell);
        let width = self.small(1);
        let list = self.sketch.node("list.generate", &[("count", width), ("item", share)]);
        let lists = self.sketch.node("list.generate", &[("count", width), ("item", all)]);
        vec![list, lists]
    }

    /// Each element reads another time.
    fn shifted_by_element(&mut self, x: Source) -> Vec<Source> {
        let (time, index) = (self.sketch.node("context.time", &[]), self.index(0));
        let moving = self.math("math.multiply", x, time);
        let later = self.sketch.node("time.shift", &[("value", moving), ("by", index)]);
        let both = self.math("math.subtract", later, moving);
        vec![both, later]
    }

    /// The same node at several times, some of them equal.
    fn at_other_times(&mut self, x: Source) -> Vec<Source> {
        let time = self.sketch.node("context.time", &[]);
        let moving = self.math("math.add", x, time);
        let by = self.number(1);
        let once = self.sketch.node("time.shift", &[("value", moving), ("by", by)]);
        let twice = self.sketch.node("time.shift", &[("value", once), ("by", by)]);
        let fixed = self.sketch.node("context.with_time", &[("value", twice), ("time", x)]);
        let sum = self.math("math.add", once, twice);
        vec![self.math("math.add", sum, fixed)]
    }

    /// The difference of each element from the mean of all.
    fn against_the_mean(&mut self, x: Source) -> Vec<Source> {
        let index = self.index(0);
        let value = self.math("math.multiply", x, index);
        let float = self.sketch.node("convert.to_f64", &[("x", value)]);
        let mean = self.sketch.node("reduce.mean", &[("value", float)]);
        vec![self.math("math.subtract", float, mean)]
    }

    /// Each element has a list of its own length, some of which are not demanded.
    fn rounds_by_element(&mut self, x: Source) -> Vec<Source> {
        let (item, element) = (self.index(0), self.index(1));
        let sum = self.math("math.add", item, element);
        let cell = self.math("math.add", sum, x);
        let list = self.sketch.node("list.generate", &[("count", item), ("item", cell)]);
        let length = self.sketch.node("list.sum", &[("list", list)]);
        let condition = self.low_elements(1);
        let switch = self.switch(condition, x, length);
        vec![list, switch]
    }

    /// Rounds that each take one of two sides, by round or by element, folded at once. Their
    /// results may be read elsewhere too.
    fn folded_rounds(&mut self, x: Source) -> Vec<Source> {
        let (round, y) = (self.index(0), self.number(1));
        let condition = match self.pick(2) % 3 {
            0 => self.low_elements(3),
            1 => self.math("compare.less", x, round),
            _ => self.math("compare.less", x, y),
        };
        let (no, yes) =
            (self.math("math.multiply", y, round), self.math("math.subtract", x, round));
        let item = self.switch(condition, no, yes);
        let count = self.small(4);
        let list = self.sketch.node("list.generate", &[("count", count), ("item", item)]);
        let fold = ["list.sum", "list.maximum", "list.product"][self.pick(3) % 3];
        let total = self.sketch.node(fold, &[("list", list)]);
        match self.pick(3) / 3 % 4 {
            0 => vec![item, total],
            1 => vec![list, total],
            _ => vec![total],
        }
    }
}
