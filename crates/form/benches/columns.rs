//! Times forms over columns: `cargo bench -p millstream-form --bench columns`.
//!
//! Prints elements per second; 1 Gitem/s is 1 ns per element. Small counts stay in the caches, ten
//! million do not.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use millstream_base::lane::Lane;
use millstream_base::map::Map;
use millstream_base::mask::Mask;
use millstream_form::{
    ColumnScratch, Form, FormBuilder, LaneInput, LaneOutput, Val, Width, run_columns,
};

fn main() {
    println!("widest here: {}", Width::widest().name());
    divan::main();
}

/// Numbers from 0.5 to 1.5.
fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.5 + (state >> 8) as f32 / 16_777_216.0
    };
    (0..n).map(|_| next()).collect()
}

/// The area of triangles by their corners.
fn heron() -> Form {
    let b = FormBuilder::new();
    let corners = [(); 3].map(|()| b.params([Lane::F32; 3]));
    let side = |from: usize, to: usize| {
        let [x, y, z] = [0, 1, 2].map(|i| corners[from][i] - corners[to][i]);
        (x * x + y * y + z * z).sqrt()
    };
    let (x, y, z) = (side(0, 1), side(0, 2), side(1, 2));
    let s = (x + y + z) / 2.0;
    b.finish(&[(s * (s - x) * (s - y) * (s - z)).sqrt()])
}

/// A polynomial of degree 16, as 32 operations.
fn horner() -> Form {
    let b = FormBuilder::new();
    let x = b.param(Lane::F32);
    let first = x * 0.1 + 1.0;
    let sum = (1..16).fold(first, |sum, i| sum * x + 1.0 / f64::from(i));
    b.finish(&[sum])
}

/// A damped spherical wave.
fn wave() -> Form {
    let b = FormBuilder::new();
    let [x, y, z] = b.params([Lane::F32; 3]);
    let r = (x * x + y * y + z * z).sqrt();
    let damped = (r * -0.5).exp() * (r * 6.0).sin();
    b.finish(&[damped + (r * 2.0).cos() * (r + 1.0).ln()])
}

/// Columns of `stride` lanes per value, of which each parameter of the form reads one.
struct Case {
    form: Form,
    columns: Vec<Vec<f32>>,
    stride: usize,
    out: Vec<f32>,
    scratch: ColumnScratch,
}

impl Case {
    fn new(form: Form, n: usize, stride: usize, width: Width) -> Self {
        let n_columns = form.params.len() / stride;
        let columns = (0..n_columns).map(|i| numbers(n * stride, i as u32)).collect();
        Self { form, columns, stride, out: vec![0.0; n], scratch: ColumnScratch::with_width(width) }
    }

    fn run(&mut self) {
        let n = self.out.len();
        let stride = self.stride;
        let lane = |number: usize| LaneInput::Lanes {
            lanes: self.columns[number / stride].as_slice().into(),
            offset: number % stride,
            stride,
            map: Map::Each,
        };
        let inputs: Vec<LaneInput<'_>> = (0..self.form.params.len()).map(lane).collect();
        let mut outputs = [LaneOutput::each(0, self.out.as_mut_slice())];
        run_columns(&self.form, &inputs, &mut outputs, &Mask::full(n), &mut self.scratch);
        black_box(&mut self.out);
    }
}

fn bench(bencher: Bencher<'_, '_>, form: Form, n: usize, stride: usize, width: Width) {
    let mut case = Case::new(form, n, stride, width);
    case.run();
    bencher.counter(ItemsCount::new(n)).bench_local(|| case.run());
}

const COUNTS: [usize; 5] = [1, 64, 1000, 8192, 10_000_000];

#[divan::bench(args = COUNTS)]
fn heron_of_vec3(bencher: Bencher<'_, '_>, n: usize) {
    bench(bencher, heron(), n, 3, Width::widest());
}

#[divan::bench(args = COUNTS)]
fn horner_16(bencher: Bencher<'_, '_>, n: usize) {
    bench(bencher, horner(), n, 1, Width::widest());
}

#[divan::bench(args = COUNTS)]
fn wave_of_vec3(bencher: Bencher<'_, '_>, n: usize) {
    bench(bencher, wave(), n, 3, Width::widest());
}

/// One operation on 8192 elements, for each width of the machine.
mod operations {
    use super::{Bencher, FormBuilder, Lane, Val, Width, bench};

    fn widths() -> impl Iterator<Item = &'static str> {
        Width::available().map(Width::name)
    }

    fn one(bencher: Bencher<'_, '_>, width: &str, op: impl for<'b> Fn(Val<'b>) -> Val<'b>) {
        let b = FormBuilder::new();
        let form = b.finish(&[op(b.param(Lane::F32))]);
        let width = Width::available().find(|w| w.name() == width).unwrap_or_default();
        bench(bencher, form, 8192, 1, width);
    }

    macro_rules! operations {
        ($($name:ident $op:expr;)*) => {$(
            #[divan::bench(args = widths())]
            fn $name(bencher: Bencher<'_, '_>, width: &str) {
                one(bencher, width, $op);
            }
        )*};
    }

    operations! {
        add |x| x + 0.5;
        sqrt |x| x.sqrt();
        floor |x| x.floor();
        sin |x| x.sin();
        cos |x| x.cos();
        tan |x| x.tan();
        asin |x| x.asin();
        acos |x| x.acos();
        atan |x| x.atan();
        atan2 |x| x.atan2(0.7);
        sinh |x| x.sinh();
        cosh |x| x.cosh();
        tanh |x| x.tanh();
        asinh |x| x.asinh();
        acosh |x| x.acosh();
        atanh |x| x.atanh();
        exp |x| x.exp();
        exp2 |x| x.exp2();
        exp_m1 |x| x.exp_m1();
        ln |x| x.ln();
        ln_1p |x| x.ln_1p();
        log2 |x| x.log2();
        pow |x| x.pow(2.3);
        cbrt |x| x.cbrt();
        erf |x| x.erf();
        erfc |x| x.erfc();
        gamma |x| x.gamma();
        ln_gamma |x| x.ln_gamma();
        hypot |x| x.hypot(0.7);
        rem |x| x % 0.3;
        sin_f64 |x| x.convert(Lane::F64).sin().convert(Lane::F32);
        exp_f64 |x| x.convert(Lane::F64).exp().convert(Lane::F32);
        ln_f64 |x| x.convert(Lane::F64).ln().convert(Lane::F32);
        pow_f64 |x| x.convert(Lane::F64).pow(2.3).convert(Lane::F32);
    }
}
