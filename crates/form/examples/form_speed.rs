//! Times the interpreters of the kernel form: `cargo run --release --example form_speed`.

use std::hint::black_box;
use std::time::Instant;

use millstream_base::lane::Lane;
use millstream_base::mask::Mask;
use millstream_form::{ColumnScratch, Form, FormBuilder, LaneInput, LaneOutput, Val, run_columns};

/// Nanoseconds per call, the minimum of several rounds.
fn time(calls: usize, mut f: impl FnMut()) -> f64 {
    (0..9)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                f();
            }
            start.elapsed().as_nanos() as f64 / calls as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// A chain of `n` steps on two `f32` parameters.
fn chain(n: usize, step: impl for<'b> Fn(Val<'b>, Val<'b>) -> Val<'b>) -> Form {
    let b = FormBuilder::new();
    let (x, y) = (b.param(Lane::F32), b.param(Lane::F32));
    let result = (0..n).fold(x, |value, _| step(value, y));
    b.finish(&[result])
}

/// `n` independent products.
fn wide(n: usize) -> Form {
    let b = FormBuilder::new();
    let (x, y) = (b.param(Lane::F32), b.param(Lane::F32));
    let products: Vec<Val<'_>> =
        (0..n).map(|i| (if i % 2 == 0 { x } else { y }) * i as f64).collect();
    b.finish(&products)
}

fn scalar(name: &str, form: &Form) {
    let params = [1.5_f32, 1.01].map(|x| u64::from(x.to_bits()));
    let (mut results, mut scratch) = (vec![0; form.results.len()], Vec::new());
    let ns = time(20_000, || {
        form.run_scalar(black_box(&params), &mut results, &mut scratch);
        black_box(&results);
    });
    let n = form.insts.len();
    println!("scalar  {name:12} {n:4} instructions {ns:8.1} ns, {:6.2} ns each", ns / n as f64);
}

fn columns(name: &str, form: &Form, len: usize, mask: &Mask) {
    let x: Vec<f32> = (0..len).map(|i| 1.0 + i as f32 / len as f32).collect();
    let y = vec![1.01_f32; len];
    let mut out = vec![0.0_f32; len];
    let mut scratch = ColumnScratch::default();
    let ns = time((1_000_000 / mask.len()).max(1), || {
        let inputs = [LaneInput::each(x.as_slice()), LaneInput::each(y.as_slice())];
        let mut outputs = [LaneOutput::each(0, out.as_mut_slice())];
        run_columns(form, &inputs, &mut outputs, mask, &mut scratch);
        black_box(&mut outputs);
    });
    let n = form.insts.len() - form.params.len();
    let each = ns / (mask.len() * n) as f64;
    println!(
        "columns {name:12} {n:4} instructions x {:8}: {ns:12.0} ns, {each:6.3} ns each",
        mask.len()
    );
}

fn main() {
    let add_mul = |n| chain(n, |v, y| v * y + 0.5);
    scalar("mul add", &add_mul(1));
    scalar("mul add", &add_mul(20));
    scalar("independent", &wide(20));
    scalar("min", &chain(20, |v, y| (v - y).min(y)));
    scalar("select", &chain(20, |v, y| v.lt(y).select(v + y, v - y)));
    scalar("sin", &chain(20, |v, _| v.sin()));
    for len in [1, 4, 5, 8, 16, 256, 1024, 100_000, 10_000_000] {
        columns("mul add", &add_mul(10), len, &Mask::full(len));
    }
    let len = 100_000;
    let full = Mask::full(len);
    columns("one add", &chain(1, |v, y| v + y), len, &full);
    columns("one add", &chain(1, |v, y| v + y), 10_000_000, &Mask::full(10_000_000));
    columns("div", &chain(10, |v, y| v / y), len, &full);
    columns("sqrt", &chain(10, |v, _| v.sqrt()), len, &full);
    columns("min", &chain(10, |v, y| (v - y).min(y)), len, &full);
    columns("floor", &chain(10, |v, _| v.floor() + 0.7), len, &full);
    columns("select", &chain(10, |v, y| v.lt(y).select(v + y, v - y)), len, &full);
    columns("f64", &chain(10, |v, _| v.convert(Lane::F64).convert(Lane::F32)), len, &full);
    columns("to i32", &chain(10, |v, _| v.convert(Lane::I32).convert(Lane::F32)), len, &full);
    columns("sin", &chain(1, |v, _| v.sin()), len, &full);
    columns("exp", &chain(1, |v, _| v.exp()), len, &full);
    columns("pow", &chain(1, |v, y| v.pow(y)), len, &full);
    let sparse = Mask::from_predicate(&full, |i| i % 3 == 0);
    columns("sparse", &add_mul(10), len, &sparse);
}
