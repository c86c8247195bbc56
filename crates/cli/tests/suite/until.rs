//! Files that arrive slowly or never end: reading them stops at the deadline and on Ctrl-C.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{command, document, new_file};

/// A named pipe.
fn pipe(name: &str) -> PathBuf {
    let path = new_file(name);
    let made = Command::new("mkfifo").arg(&path).status().expect("there is a shell");
    assert!(made.success());
    path
}

/// A pipe that delivers rows as long as somebody reads them.
fn endless(name: &str) -> String {
    let path = pipe(name);
    let shown = path.display().to_string();
    std::thread::spawn(move || {
        let opened = std::fs::OpenOptions::new().write(true).open(path);
        let mut file = opened.expect("somebody reads it");
        let rows = "12345.678\n".repeat(1000);
        let mut written = file.write_all(b"x\n");
        while written.is_ok() {
            std::thread::sleep(Duration::from_millis(2));
            written = file.write_all(rows.as_bytes());
        }
    });
    shown
}

fn sum() -> String {
    let node = r#"{ "type": "list.sum", "in": { "list": { "input": "x" } } }"#;
    document("endless.mill.json", "list<f32>", node, "f32")
}

#[test]
fn a_file_is_read_until_the_deadline() {
    let (graph, data) = (sum(), endless("endless_late.csv"));
    let started = Instant::now();
    let given = format!("x=@{data}");
    let run = command(&["run", &graph, "--in", &given, "--deadline", "0.5"]).output();
    let output = run.expect("the binary was built");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.starts_with("error: reading `"), "{text}");
    assert!(text.contains("endless_late.csv` exceeded its deadline\n"), "{text}");
    assert!(text.contains("help: allow more time with --deadline, or read less\n"), "{text}");
}

#[test]
fn silent_standard_input_is_abandoned_at_the_deadline() {
    // As data, and as the document.
    for source in [&[&*sum(), "--in", "x=@csv:-"][..], &["-"]] {
        let started = Instant::now();
        let mut run = command(&[&["run"], source, &["--deadline", "0.5"]].concat());
        let run = run.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut run = run.expect("the binary was built");
        let idle = run.stdin.take();
        let output = run.wait_with_output().expect("it ends");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("`standard input` exceeded its deadline\n"), "{text}");
        assert!(text.contains("help: allow more time with --deadline, or read less\n"), "{text}");
        drop(idle);
    }
}

#[test]
fn a_silent_pipe_is_abandoned_at_the_deadline() {
    let idle = pipe("idle.csv").display().to_string();
    let (graph, given) = (sum(), format!("x=@{idle}"));
    for args in [&[&*graph, "--in", &given][..], &[&idle]] {
        let run = command(&[&["run"], args, &["--deadline", "0.5"]].concat()).output();
        let output = run.expect("the binary was built");
        let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("idle.csv` exceeded its deadline\n"), "{text}");
    }
}

#[test]
fn a_pipe_is_read_once_for_all_interpretations_of_its_column() {
    let path = pipe("once.csv");
    let (graph, given) = (sum(), format!("x=@{}", path.display()));
    let writer = std::thread::spawn(move || std::fs::write(path, "x\n1.5\n2.25\n"));
    let run = command(&["run", &graph, "--in", &given, "--deadline", "20"]).output();
    let output = run.expect("the binary was built");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("3.75"), "{output:?}");
    writer.join().expect("it ends").expect("somebody read it");
}

#[test]
fn ctrl_c_stops_reading_like_evaluating() {
    let graph = sum();
    for verb in
        [&["run", &*graph][..], &["explain", "--run", &graph], &["check", "--twice", &graph]]
    {
        let given = format!("x=@{}", endless("endless_told.csv"));
        let run = command(&[verb, &["--in", &given]].concat());
        let run = { run }.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let run = run.expect("the binary was built");
        std::thread::sleep(Duration::from_millis(500));
        let told = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
        assert!(told.expect("there is a shell").success());
        let output = run.wait_with_output().expect("it ends");
        let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("endless_told.csv` was cancelled\n"), "{text}");
    }
}
