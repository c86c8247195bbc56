//! `run --watch`: only what changed is evaluated again.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::{command, new_file, seen};

const DOCUMENT: &str = "\
input x: f32
a = sqrt(x)
b = sin(a) * 2
output y: f32 = b + 1
";

/// A watching run, its messages, and its results.
struct Watching {
    run: Child,
    lines: Receiver<String>,
    results: Receiver<String>,
}

impl Watching {
    fn start(args: &[&str]) -> Self {
        let mut command = command(&[&["run", "--watch"], args].concat());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = command.spawn().expect("the binary was built");
        let (sender, lines) = channel();
        let out = BufReader::new(run.stdout.take().expect("it is piped"));
        let told = BufReader::new(run.stderr.take().expect("it is piped"));
        let (of_out, results) = channel();
        std::thread::spawn(move || {
            out.lines().for_each(|line| drop(of_out.send(line.expect("text"))));
        });
        std::thread::spawn(move || {
            told.lines().for_each(|line| drop(sender.send(line.expect("text"))));
        });
        Self { run, lines, results }
    }

    /// The lines up to the one that says that files are watched, without times.
    fn round(&self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(30));
            let line = line.unwrap_or_else(|_| panic!("it goes on: {lines:?}"));
            if line.starts_with("watching ") {
                return lines;
            }
            let Some((ran, rest)) = line.split_once(" nodes ") else {
                lines.push(line);
                continue;
            };
            lines.push(format!("{ran}: {}", rest.split_once(": ").map_or("", |it| it.1)));
            let elements = rest.strip_prefix('(').and_then(|it| it.split_once(')'));
            lines.extend(elements.map(|(elements, _)| elements.to_owned()));
        }
    }

    /// Waits until the results contain this.
    fn gives(&self, wanted: &str) {
        let mut seen = Vec::new();
        while !seen.last().is_some_and(|line: &String| line.contains(wanted)) {
            let line = self.results.recv_timeout(Duration::from_secs(30));
            seen.push(line.unwrap_or_else(|_| panic!("{wanted}: {seen:#?}")));
        }
    }

    /// Ends the run with Ctrl-C, and returns the exit code.
    fn end(mut self) -> Option<i32> {
        let told = Command::new("kill").args(["-INT", &self.run.id().to_string()]).status();
        assert!(told.expect("there is a shell").success());
        self.run.wait().expect("it ends").code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It has already ended unless a test failed.
        let _ = self.run.kill();
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = new_file(name);
    // It exists if an earlier run of the tests created it.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("makes a directory");
    folder
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("writes");
}

fn has(lines: &[String], wanted: &str) {
    assert!(lines.iter().any(|line| line.contains(wanted)), "{wanted}: {lines:#?}");
}

/// An array of floats with these bits.
fn npy(bits: [u32; 3]) -> Vec<u8> {
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".to_owned();
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bits.iter().flat_map(|bits| bits.to_le_bytes()));
    file
}

#[test]
fn what_is_saved_does_not_depend_on_the_bits_of_nan() {
    let folder = folder("watch_nan");
    let (graph, data) = (folder.join("g.mill"), folder.join("d.npy"));
    write(
        &graph,
        "input x: f32\noutput y: f32 = x * 2\noutput l: list<f32> = list.of(several [x])\n",
    );
    let shown = |path: &Path| path.display().to_string();
    let given = format!("x=@{}", shown(&data));
    let args = [shown(&graph), "--in".into(), given, "--out".into()];
    for (output, ending) in [("y", "npy"), ("y", "parquet"), ("y", "arrow"), ("l", "parquet")] {
        let (watched, fresh) =
            (folder.join(format!("w.{ending}")), folder.join(format!("f.{ending}")));
        let args: Vec<&str> = args.iter().map(String::as_str).chain([output, "--save"]).collect();
        std::fs::write(&data, npy([0x7fc0_0000, 1.0_f32.to_bits(), 0])).expect("writes");
        let run = Watching::start(&[&args[..], &[&shown(&watched)]].concat());
        run.round();
        let first = std::fs::read(&watched).expect("it was saved");
        // Another sign, then another payload.
        for bits in [0xffc0_0000, 0x7fc1_2345] {
            std::fs::write(&data, npy([bits, 1.0_f32.to_bits(), 0])).expect("writes");
            run.round();
            seen(&[&["run"], &args[..], &[&shown(&fresh)]].concat());
            let (watched, fresh) = (std::fs::read(&watched), std::fs::read(&fresh));
            assert_eq!(watched.expect("it was saved"), first, "{output} {ending}");
            assert_eq!(fresh.expect("it was saved"), first, "{output} {ending} {bits:x}");
        }
        assert_eq!(run.end(), Some(0));
    }
}

#[test]
fn only_nodes_that_an_edit_affects_run_again() {
    let folder = folder("watch_edit");
    let (graph, data) = (folder.join("g.mill"), folder.join("d.csv"));
    write(&graph, DOCUMENT);
    write(&data, "x\n1\n4\n");
    let given = format!("x=@{}", data.display());
    let run = Watching::start(&[&graph.display().to_string(), "--in", &given]);
    has(&run.round(), "ran 4 of 4: a, b/1, b/2, y/1 (first time)");
    write(&graph, &DOCUMENT.replace("b + 1", "b + 2"));
    let lines = run.round();
    has(&lines, "g.mill changed");
    has(&lines, "ran 1 of 4: y/1 (an input changed)");
    // Editors save by renaming a new file over the old one.
    let new = folder.join("new");
    write(&new, &DOCUMENT.replace("sin", "cos"));
    std::fs::rename(&new, &graph).expect("renames");
    has(&run.round(), "ran 3 of 4: b/2, y/1 (an input changed); b/1 (was edited)");
    write(&data, "x\n1\n9\n");
    let lines = run.round();
    has(&lines, "d.csv changed");
    has(&lines, "ran 4 of 4: a, b/1, b/2, y/1 (an input changed)");
    run.gives("-0.97998");
    write(&data, "x\n1.0\n9.0\n");
    has(&run.round(), "ran 0 of 4: ");
    assert_eq!(run.end(), Some(0));
}

#[test]
fn only_the_changed_rows_of_a_data_file_run_again() {
    let folder = folder("watch_rows");
    let (graph, data) = (folder.join("g.mill"), folder.join("d.csv"));
    let text = "input x: f32\ninput y: f32\na = sqrt(x)\nb = x > 2000 ? a : y * 3\n\
                output b: f32 = b\noutput s: f32 = reduce.sum(a)\n";
    write(&graph, text);
    let mut rows: Vec<String> = (0..8192).map(|i| format!("{i},{}", i % 7)).collect();
    let write_rows = |rows: &[String]| write(&data, &format!("x,y\n{}\n", rows.join("\n")));
    write_rows(&rows);
    let given = |name: &str| format!("{name}=@{}", data.display());
    let graph = graph.display().to_string();
    let run = Watching::start(&[&graph, "--in", &given("x"), "--in", &given("y")]);
    has(&run.round(), "ran 5 of 5: a, b/1, b/2, b/3, s (first time)");
    // One row: `y * 3` is not needed there. The sum runs for one block.
    rows[5000] = "5000.5,2".into();
    write_rows(&rows);
    let lines = run.round();
    has(&lines, "ran 4 of 5: a, b/1, b/3, s (an input changed)");
    has(&lines, "4 elements");
    // One row that takes the other arm, and one that takes the same.
    rows[5000] = "7,2".into();
    rows[3] = "3,5".into();
    write_rows(&rows);
    let lines = run.round();
    has(&lines, "ran 5 of 5: a, b/1, b/2, b/3, s (an input changed)");
    has(&lines, "7 elements");
    run.gives("6.0");
    // All values of `x` are those at the start, whose results are stored.
    rows[5000] = "5000,2".into();
    write_rows(&rows);
    let lines = run.round();
    has(&lines, "ran 1 of 5: b/3 (an input changed)");
    has(&lines, "1 element");
    // Another length.
    rows.pop();
    write_rows(&rows);
    let lines = run.round();
    has(&lines, "ran 5 of 5");
    assert_eq!(run.end(), Some(0));
}

/// A smoothed column is a gather: each element reads the rows at its place.
#[test]
fn only_elements_that_read_a_changed_row_run_again() {
    let folder = folder("watch_gather");
    let (graph, data) = (folder.join("g.mill"), folder.join("d.csv"));
    let text = "input x: f32\ninput at: i32\nall = list.collect(x)\n\
                g = list.get(all, at, outside = \"wrap\")\nb = g * 2\n\
                s = list.sample(all, at / 2)\noutput y: f32 = b + s\n";
    write(&graph, text);
    let mut rows: Vec<String> = (0..1000).map(|i| format!("{i},{}", i * 2)).collect();
    let write_rows = |rows: &[String]| write(&data, &format!("x,at\n{}\n", rows.join("\n")));
    write_rows(&rows);
    let given = |name: &str| format!("{name}=@{}", data.display());
    let graph = graph.display().to_string();
    let run = Watching::start(&[&graph, "--in", &given("x"), "--in", &given("at")]);
    has(&run.round(), "(first time)");
    // One row is read by two elements, and between rows by one. The list is one element.
    rows[10] = "7.5,20".into();
    write_rows(&rows);
    let lines = run.round();
    has(&lines, "all, g, b/1, s, y/1 (an input changed)");
    has(&lines, "9 elements");
    // No element reads an odd row but between rows.
    rows[11] = "7.5,22".into();
    write_rows(&rows);
    let lines = run.round();
    has(&lines, "all, s, y/1 (an input changed)");
    has(&lines, "3 elements");
    assert_eq!(run.end(), Some(0));
}

#[test]
fn a_half_written_document_is_reported_and_still_watched() {
    let folder = folder("watch_half");
    let (graph, data) = (folder.join("g.mill"), folder.join("d.csv"));
    write(&graph, DOCUMENT);
    write(&data, "x\n1\n4\n");
    let given = format!("x=@{}", data.display());
    let run = Watching::start(&[&graph.display().to_string(), "--in", &given]);
    has(&run.round(), "first time");
    write(&graph, &DOCUMENT[..33]);
    has(&run.round(), "error[");
    write(&data, "x\n1\nabc\n");
    has(&run.round(), "error[");
    write(&graph, DOCUMENT);
    has(&run.round(), "error: ");
    std::fs::remove_file(&data).expect("removes");
    has(&run.round(), "cannot read `");
    write(&data, "x\n1\n4\n");
    has(&run.round(), "ran 0 of 4: ");
    assert_eq!(run.end(), Some(0));
}

#[test]
fn a_used_document_is_watched_and_pictures_are_drawn_again() {
    let folder = folder("watch_used");
    std::fs::create_dir_all(folder.join("lib")).expect("makes a directory");
    let (graph, lib) = (folder.join("g.mill"), folder.join("lib/l.mill"));
    let text = |sum: &str| format!("group twice(x: f32) -> value: f32 {{\n  value = {sum}\n}}\n");
    write(&graph, "use l = \"lib/l.mill\"\ni = context.index()\noutput y: f32 = l/twice(x: i)\n");
    let plot = folder.join("y.svg");
    let shown = plot.display().to_string();
    let run = Watching::start(&[&graph.display().to_string(), "--count", "5", "--plot", &shown]);
    has(&run.round(), "is not there");
    write(&lib, &text("x + x"));
    has(&run.round(), "drew ");
    let before = std::fs::read(&plot).expect("it was drawn");
    write(&lib, &text("x + x * x"));
    let lines = run.round();
    has(&lines, "l.mill changed");
    has(&lines, "drew ");
    assert_ne!(std::fs::read(&plot).expect("it was drawn"), before);
    assert_eq!(run.end(), Some(0));
}

#[test]
fn a_document_that_appears_in_a_directory_that_comes_first_is_used_from_then_on() {
    let folder = folder("watch_shadowed");
    std::fs::create_dir_all(folder.join("lib")).expect("makes a directory");
    let (graph, own) = (folder.join("g.mill"), folder.join("l.mill"));
    let text = |by: u8| format!("group times(x: f32) -> value: f32 {{\n  value = x * {by}\n}}\n");
    write(&graph, "use l = \"l.mill\"\noutput y: f32 = l/times(x: 7)\n");
    let [shown, lib] = [&graph, &folder.join("lib")].map(|path| path.display().to_string());
    let run = Watching::start(&[&shown, "--lib", &lib]);
    has(&run.round(), "is not there");
    write(&folder.join("lib/l.mill"), &text(3));
    run.gives("y = 21");
    run.round();
    write(&own, &text(5));
    run.gives("y = 35");
    run.round();
    std::fs::remove_file(&own).expect("it is there");
    run.gives("y = 21");
    run.round();
    assert_eq!(run.end(), Some(0));
}

#[test]
fn streams_and_other_evaluators_are_refused() {
    let told = seen(&["run", "-", "--watch"]);
    assert!(told.starts_with("exit code 2\n") && told.contains("--watch cannot read"), "{told}");
    let graph = "examples/triangle_area.mill";
    let told = seen(&["run", graph, "--watch", "--in", "a=@csv:-"]);
    assert!(told.contains("--watch cannot read from a stream"), "{told}");
    let told = seen(&["run", graph, "--watch", "--evaluator", "lazy"]);
    assert!(told.starts_with("exit code 2\n"), "{told}");
    let told = seen(&["run", graph, "--watch", "--plot", "x.gif"]);
    assert!(told.contains("is not a picture file"), "{told}");
}
