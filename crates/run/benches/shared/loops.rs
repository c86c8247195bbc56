//! Loops written by hand in C++, compiled in the same run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// The program with the loops, which waits for orders: a name, the number of elements, and the
/// number of runs.
pub(crate) struct Loops {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Loops {
    /// Compiles a source below the benches; `None` if there is no compiler.
    pub(crate) fn compile(source: &str) -> Option<Self> {
        let benches = concat!(env!("CARGO_MANIFEST_DIR"), "/benches");
        let program = source.replace(['/', '.'], "_");
        let program = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(program);
        let compiler = Command::new("g++")
            .args(["-std=c++17", "-O3", "-march=native", "-o"])
            .arg(&program)
            .arg(format!("{benches}/{source}"))
            .status();
        if !compiler.is_ok_and(|status| status.success()) {
            println!("no g++: our times alone");
            return None;
        }
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a program that was just compiled starts");
        let lines = BufReader::new(child.stdout.take().expect("its output is piped"));
        Some(Self { child, lines })
    }

    /// Seconds of one run, and the sum of its results.
    pub(crate) fn run(&mut self, name: &str, n: usize) -> (f64, f64) {
        let orders = self.child.stdin.as_mut().expect("its input is piped");
        writeln!(orders, "{name} {n} 2").expect("it waits for orders");
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it answers");
        let numbers: Vec<f64> =
            line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        (numbers[1], numbers[2])
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends with its input; nothing can be done if it does not.
        let _ = self.child.wait();
    }
}
