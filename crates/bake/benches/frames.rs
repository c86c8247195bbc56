//! Bakes: many cheap frames, a bake with everything cached, and one after a change at the end.

use std::convert::Infallible;
use std::path::PathBuf;

use divan::Bencher;
use millstream::{Engine, Program, Request};
use millstream_bake::{Bake, Cache};
use millstream_run::Auto;

fn main() {
    divan::main();
}

fn program(text: &str) -> Program {
    Engine::new().load(text.as_bytes()).expect("it compiles")
}

/// 30 element-wise nodes that depend on time.
fn thirty_nodes() -> Program {
    let mut text = "n0 = convert.to_f32(context.time())\n".to_owned();
    for i in 1..30 {
        let (before, of) = (i - 1, ["+ 0.25", "* 0.75", "- 1.5"][i % 3]);
        text += &format!("n{i} = n{before} {of}\n");
    }
    program(&(text + "output y: f32 = n29\n"))
}

/// Ten nodes that sort and shuffle long lists, the last one with this seed.
fn ten_nodes(last: i32) -> Program {
    let mut text = "t = convert.to_i32(context.time() * 24)\n\
                    n0 = list.range(start: t, step: 7, count: 400000)\n"
        .to_owned();
    for i in 1..10 {
        let name = if i % 2 == 0 { "list.sort" } else { "list.shuffle" };
        text += &format!("n{i} = {name}(n{})\n", i - 1);
    }
    program(&(text + &format!("n10 = list.shuffle(n9, seed: {last})\noutput y: list<i32> = n10\n")))
}

fn store() -> PathBuf {
    let path = std::env::temp_dir().join(format!("millstream-bench-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn bake(program: &Program, frames: i64, cache: &mut Cache) {
    let frames = (0..frames).collect();
    let bake = Bake::new(program.plan(), Request::new(), frames).expect("it fits");
    let mut auto = Auto::default();
    let mut each = |part| {
        divan::black_box(part);
        Ok::<(), Infallible>(())
    };
    let done = if bake.is_cheap() {
        bake.run_blocks(&mut auto, &mut each)
    } else {
        bake.run(cache, &mut auto, &mut |_, _| true, &mut each)
    };
    done.expect("it bakes");
}

#[divan::bench(sample_count = 20)]
fn cheap_100k_frames_of_30_nodes(bencher: Bencher<'_, '_>) {
    let program = thirty_nodes();
    bencher.bench_local(|| bake(&program, 100_000, &mut Cache::none()));
}

#[divan::bench(sample_count = 3)]
fn expensive_8_frames(bencher: Bencher<'_, '_>) {
    let program = ten_nodes(1);
    let path = store();
    bencher
        .with_inputs(|| {
            let _ = std::fs::remove_dir_all(&path);
            Cache::open(&path, 1 << 30)
        })
        .bench_local_values(|mut cache| bake(&program, 8, &mut cache));
    let _ = std::fs::remove_dir_all(&path);
}

#[divan::bench(sample_count = 3)]
fn expensive_8_frames_after_a_change_of_the_last_node(bencher: Bencher<'_, '_>) {
    let path = store();
    bake(&ten_nodes(0), 8, &mut Cache::open(&path, 1 << 30));
    let mut n = 0;
    bencher
        .with_inputs(|| {
            n += 1;
            (ten_nodes(n), Cache::open(&path, 1 << 30))
        })
        .bench_local_values(|(program, mut cache)| bake(&program, 8, &mut cache));
    let _ = std::fs::remove_dir_all(&path);
}

#[divan::bench(sample_count = 3)]
fn expensive_8_frames_all_stored(bencher: Bencher<'_, '_>) {
    let path = store();
    let program = ten_nodes(0);
    bake(&program, 8, &mut Cache::open(&path, 1 << 30));
    bencher.bench_local(|| bake(&program, 8, &mut Cache::open(&path, 1 << 30)));
    let _ = std::fs::remove_dir_all(&path);
}
