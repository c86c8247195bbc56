//! Singular value decomposition: any matrix as a rotation, a scale along the axes and another
//! rotation.
//!
//! Two-sided Jacobi rotations: for each pair of axes the 2 by 2 block is first made symmetric, then
//! diagonal. Four sweeps over the three pairs reduce the off-diagonal elements below the rounding
//! of the largest number; the remaining sweeps change nothing then.

use millstream_base::{Lane, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::{NodeDef, Registry};

use super::mat4::matrix_input;

/// Sweeps over all pairs of axes; tests find matrices that need four.
const ROUNDS: usize = 6;

pub(super) fn register(registry: &mut Registry) {
    registry.register(
        matrix_input(
            NodeDef::new("mat4.svd", "The singular value decomposition of a matrix"),
            "matrix",
            "",
        )
        .details(
            "The upper left part of the matrix is u times the diagonal matrix of the factors \
                 times the transpose of v. The factors are not negative and in descending order; u \
                 and v are rotations, possibly with a reflection. u v^T is the rotation closest to \
                 the matrix. If an element is NaN or infinite, all results are NaN.",
        )
        .source("the two-sided Jacobi method: G. Forsythe, P. Henrici, 1960")
        .output("u", Type::MAT4, "rotation applied last")
        .output("factors", Type::VEC3, "scale along the axes (singular values), greatest first")
        .output("v", Type::MAT4, "rotation whose transpose is applied first")
        .form(|b, inputs| {
            let (u, factors, v) = decompose(b, &inputs[0]);
            vec![widened(b, &u), factors, widened(b, &v)]
        }),
    );
}

/// Three rows of three.
type Rows<'b> = [[Val<'b>; 3]; 3];

/// A rotation in a plane.
#[derive(Clone, Copy)]
struct Turn<'b> {
    cos: Val<'b>,
    sin: Val<'b>,
}

impl<'b> Turn<'b> {
    /// Rotates two numbers.
    fn apply(self, x: Val<'b>, y: Val<'b>) -> (Val<'b>, Val<'b>) {
        (self.cos * x + self.sin * y, self.cos * y - self.sin * x)
    }

    /// Rotates two rows, column by column.
    fn rows<const N: usize>(
        self,
        p: [Val<'b>; N],
        q: [Val<'b>; N],
    ) -> ([Val<'b>; N], [Val<'b>; N]) {
        let at = |k: usize| self.apply(p[k], q[k]);
        (std::array::from_fn(|k| at(k).0), std::array::from_fn(|k| at(k).1))
    }

    fn back(self) -> Self {
        Self { cos: self.cos, sin: -self.sin }
    }

    /// The rotation that makes a 2 by 2 block symmetric, from the sum of its diagonal and the
    /// difference of the other two elements.
    fn to_symmetric(sum: Val<'b>, difference: Val<'b>) -> Self {
        let none = difference.abs().lt(f32::MIN_POSITIVE);
        let ratio = sum / difference;
        let length = (ratio * ratio + 1.0).sqrt();
        let far = ratio.abs().gt(1e18);
        let cos = far.select(ratio.like(1.0).copysign(ratio), ratio / length);
        Self { cos: none.select(1.0, cos), sin: none.select(0.0, 1.0 / length) }
    }

    /// The rotation that makes a symmetric block diagonal.
    fn to_diagonal(x: Val<'b>, y: Val<'b>, z: Val<'b>) -> Self {
        let doubled = y.abs() * 2.0;
        let none = doubled.lt(f32::MIN_POSITIVE);
        let tau = (x - z) / doubled;
        let root = (tau * tau + 1.0).sqrt();
        let tangent: Val<'b> = 1.0 / tau.gt(0.0).select(tau + root, tau - root);
        let length: Val<'b> = (tangent * tangent + 1.0).sqrt();
        let cos: Val<'b> = 1.0 / length;
        let sin = tangent.abs() * cos;
        let sin = tangent.gt(0.0).eq(y.gt(0.0)).select(-sin, sin);
        Self { cos: none.select(1.0, cos), sin: none.select(0.0, sin) }
    }

    /// This rotation if `holds`, otherwise the identity.
    fn only_if(self, holds: Val<'b>) -> Self {
        Self { cos: holds.select(self.cos, 1.0), sin: holds.select(self.sin, 0.0) }
    }
}

fn turn_rows<'b>(m: &mut Rows<'b>, p: usize, q: usize, turn: Turn<'b>) {
    (m[p], m[q]) = turn.rows(m[p], m[q]);
}

fn turn_columns<'b>(m: &mut Rows<'b>, p: usize, q: usize, turn: Turn<'b>) {
    for row in m {
        (row[p], row[q]) = turn.back().apply(row[p], row[q]);
    }
}

/// Makes the off-diagonal elements of one pair of axes zero.
fn settle<'b>([w, u, v]: [&mut Rows<'b>; 3], greatest: Val<'b>, (p, q): (usize, usize)) -> Val<'b> {
    let threshold = (greatest * (2.0 * f32::EPSILON)).max(f32::MIN_POSITIVE);
    let needed = w[p][q].abs().gt(threshold) | w[q][p].abs().gt(threshold);
    let first = Turn::to_symmetric(w[p][p] + w[q][q], w[q][p] - w[p][q]);
    let block = first.rows([w[p][p], w[p][q]], [w[q][p], w[q][q]]);
    let right = Turn::to_diagonal(block.0[0], block.0[1], block.1[1]);
    let left = Turn {
        cos: first.cos * right.cos + first.sin * right.sin,
        sin: first.sin * right.cos - first.cos * right.sin,
    };
    let (left, right) = (left.only_if(needed), right.only_if(needed));
    turn_rows(w, p, q, left);
    turn_columns(u, p, q, left.back());
    turn_columns(w, p, q, right);
    turn_columns(v, p, q, right);
    needed.select(greatest.max(w[p][p].abs().max(w[q][q].abs())), greatest)
}

/// Exchanges the columns and number `i` with those of `k` if that number is greater.
fn exchange<'b>(
    factors: &mut [Val<'b>; 3],
    [u, v]: [&mut Rows<'b>; 2],
    (i, k): (usize, usize),
    holds: Val<'b>,
) {
    let swap = |a: Val<'b>, b: Val<'b>| (holds.select(b, a), holds.select(a, b));
    (factors[i], factors[k]) = swap(factors[i], factors[k]);
    for row in u.iter_mut().chain(v) {
        (row[i], row[k]) = swap(row[i], row[k]);
    }
}

/// The decomposition of the upper left 3 by 3 part of a matrix.
fn decompose<'b>(b: &'b FormBuilder, m: &[Val<'b>]) -> (Rows<'b>, Vec<Val<'b>>, Rows<'b>) {
    let unit = |i: usize, k: usize| b.constant_f32(if i == k { 1.0 } else { 0.0 });
    let identity: Rows<'b> = [0, 1, 2].map(|i| [0, 1, 2].map(|k| unit(i, k)));
    let numbers = || [0, 1, 2].into_iter().flat_map(|i| [0, 1, 2].map(|k| m[4 * i + k]));
    let scale = numbers().map(Val::abs).reduce(Val::max).expect("nine numbers");
    let finite = numbers().map(Val::is_finite).reduce(|a, b| a & b).expect("nine numbers");
    let scale = scale.eq(0.0).select(1.0, scale);
    let mut w: Rows<'b> = [0, 1, 2].map(|i| [0, 1, 2].map(|k| m[4 * i + k] / scale));
    let (mut u, mut v) = (identity, identity);
    let mut greatest = w[0][0].abs().max(w[1][1].abs()).max(w[2][2].abs());
    for _ in 0..ROUNDS {
        for pair in [(1, 0), (2, 0), (2, 1)] {
            greatest = settle([&mut w, &mut u, &mut v], greatest, pair);
        }
    }
    for (i, row) in w.iter().enumerate() {
        let negative = row[i].lt(0.0);
        for row in &mut u {
            row[i] = negative.select(-row[i], row[i]);
        }
    }
    let mut factors = [0, 1, 2].map(|i| w[i][i].abs() * scale);
    let third = factors[2].gt(factors[0].max(factors[1]));
    let second = factors[1].gt(factors[0]) & !third;
    exchange(&mut factors, [&mut u, &mut v], (0, 2), third);
    exchange(&mut factors, [&mut u, &mut v], (0, 1), second);
    let last = factors[2].gt(factors[1]);
    exchange(&mut factors, [&mut u, &mut v], (1, 2), last);
    let known = |x: Val<'b>| finite.select(x, f32::NAN);
    (u.map(|row| row.map(known)), factors.map(known).to_vec(), v.map(|row| row.map(known)))
}

fn widened<'b>(b: &'b FormBuilder, rows: &Rows<'b>) -> Vec<Val<'b>> {
    let zero = b.constant(Lane::F32, 0.0);
    super::mat4::affine(rows, &[zero, zero, zero])
}
