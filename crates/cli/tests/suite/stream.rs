//! Tables in blocks: the same files as from one evaluation, also where rows fail.

use std::io::Write as _;
#[cfg(unix)]
use std::process::Command;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(unix)]
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::{command, expect_seen, file, new_file, seen};

/// Reads a column, an index and one value.
const COUNTING: &str = r#"{
  "millstream": 2, "name": "counting",
  "inputs": {
    "x": { "type": "f32", "default": 0.0 },
    "y": { "type": "i32", "default": 3 }
  },
  "outputs": {
    "sum": { "type": "f32", "from": "sum.value" },
    "item": { "type": "f32", "from": "item.value" },
    "constant": { "type": "i32", "from": "twice.value" }
  },
  "nodes": {
    "index": { "type": "context.index" },
    "twice": { "type": "math.expression", "set": { "text": "y + y" }, "in": { "y": { "input": "y" } } },
    "sum": { "type": "math.expression", "set": { "text": "x * 0.1 + i" },
             "in": { "x": { "input": "x" }, "i": { "from": "index.value" } } },
    "items": { "type": "list.of", "in": { "items": [{ "value": 7 }, { "value": 8 }, { "value": 9 }] } },
    "item": { "type": "list.get", "in": { "list": { "from": "items.value" }, "index": { "from": "index.value" } } }
  }
}"#;

fn numbers(n: usize) -> String {
    let rows = (0..n).map(|i| format!("{}\n", i as f32 * 0.37));
    format!("x\n{}", rows.collect::<String>())
}

/// The saved file, in blocks of this many rows; as a whole for `None`, because `--stats` requires
/// it.
fn saved(arguments: &[&str], extension: &str, block: Option<&str>) -> Vec<u8> {
    // Tests run concurrently, so each call has a file of its own.
    static N_CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = N_CALLS.fetch_add(1, Ordering::Relaxed);
    let path = new_file(&format!("saved_{call}.{extension}"));
    let name = path.display().to_string();
    let how = block.map_or(vec!["--stats"], |rows| vec!["--block", rows]);
    let all = [&["run"], arguments, &["--save", &name], &how].concat();
    let text = seen(&all);
    std::fs::read(&path).unwrap_or_else(|_| panic!("not written:\n{text}"))
}

#[test]
fn blocks_give_the_same_file_as_one_evaluation() {
    let graph = file("counting.mill.json", COUNTING);
    let x = file("counting.csv", &numbers(10));
    for format in ["csv", "parquet", "npy", "arrow"] {
        let given = match format {
            "csv" => format!("x=@{x}"),
            _ => {
                // The same numbers in another format.
                let path = new_file(&format!("counting.{format}"));
                let copied = path.display().to_string();
                let given = format!("x=@{x}");
                seen(&["run", &graph, "--in", &given, "--out", "sum", "--save", &copied]);
                format!("x=@{copied}")
            }
        };
        let arguments = [graph.as_str(), "--in", &given, "--out", "sum", "--out", "constant"];
        for extension in ["csv", "parquet", "arrow"] {
            let whole = saved(&arguments, extension, None);
            for block in ["1", "3", "10", "1000"] {
                assert!(
                    saved(&arguments, extension, Some(block)) == whole,
                    "{format} to {extension} by {block}"
                );
            }
        }
    }
}

#[test]
fn a_graph_that_needs_all_elements_is_not_split() {
    let graph = file(
        "mean.mill.json",
        r#"{ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 0.0 } },
             "outputs": { "n": { "type": "i32", "from": "n.value" } },
             "nodes": { "n": { "type": "context.count" } } }"#,
    );
    let x = format!("x=@{}", file("mean.csv", &numbers(5)));
    let text = saved(&[&graph, "--in", &x], "csv", Some("2"));
    assert_eq!(String::from_utf8_lossy(&text), "n\n5\n5\n5\n5\n5\n");
}

#[test]
fn an_element_that_fails_is_counted_from_the_start_and_the_others_are_written() {
    let graph = file("failing.mill.json", COUNTING);
    let x = format!("x=@{}", file("failing.csv", &numbers(8)));
    let path = new_file("failing.out.csv");
    let name = path.display().to_string();
    let of = |how: &[&str]| {
        let text = seen(&[&["run", &graph, "--in", &x, "--save", &name], how].concat());
        assert!(text.contains("(at index 3)"), "{text}");
        assert!(text.starts_with("exit code 3") && text.contains("lacks 5 of 8 values"), "{text}");
        std::fs::read_to_string(&path).expect("it was written")
    };
    let (in_blocks, at_once) = (of(&["--block", "2"]), of(&[]));
    assert_eq!(in_blocks, at_once);
    let rows: Vec<bool> = at_once.lines().skip(1).map(|row| row.contains(",,6")).collect();
    assert_eq!(rows, [false, false, false, true, true, true, true, true], "{at_once}");
}

#[test]
fn errors_about_lengths_count_whole_columns() {
    let b = file("short.csv", "b.x,b.y,b.z\n1,2,3\n1,2,3\n1,2,3\n");
    let c = file("long.csv", "c.x,c.y,c.z\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n");
    let (b, c) = (format!("b=@{b}"), format!("c=@{c}"));
    let name = new_file("uneven.csv").display().to_string();
    let triangle = "examples/triangle_area.mill";
    expect_seen(
        &["run", triangle, "--in", &b, "--in", &c, "--save", &name, "--block", "2"],
        expect![[r#"
            exit code 1
            stderr:
            error: `c` has 5 elements along index, `b` has 3
              help: all data along one axis must have one length
        "#]],
    );
}

#[test]
fn a_table_without_rows_keeps_its_columns() {
    let graph = file("empty.mill.json", COUNTING);
    let x = format!("x=@{}", file("empty.csv", "x\n"));
    let text = saved(&[&graph, "--in", &x, "--out", "sum"], "csv", Some("2"));
    assert_eq!(String::from_utf8_lossy(&text), "sum\n");
}

#[test]
fn a_broken_file_is_named_without_panic_messages() {
    let path = new_file("broken.parquet");
    std::fs::write(&path, b"PAR1 something else PAR1").expect("writes");
    let x = format!("a=@{}", path.display());
    let text = seen(&["run", "examples/triangle_area.mill", "--in", &x]);
    assert!(text.starts_with("exit code 1") && !text.contains("panicked"), "{text}");
    assert!(text.contains("is not valid parquet") || text.contains("should hold"), "{text}");
}

/// The files in a directory whose names contain this text.
#[cfg(unix)]
fn files_with(folder: &std::path::Path, text: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let names = entries.map(|entry| entry.expect("it can be read").file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.contains(text)).collect()
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_unfinished_file() {
    let graph = file("interrupted.mill.json", COUNTING);
    let x = file("interrupted.csv", &numbers(100_000));
    let saved = new_file("interrupted_out.csv");
    let folder = saved.parent().expect("it is in a folder").to_owned();
    let (given, name) = (format!("x=@{x}"), saved.display().to_string());
    let run = command(
        &[&["run", &graph, "--in", &given, "--save", &name], &["--out", "sum", "--block", "1"][..]]
            .concat(),
    )
    .stderr(Stdio::piped())
    .spawn()
    .expect("the binary was built");
    let started = Instant::now();
    while files_with(&folder, "interrupted_out").is_empty() {
        assert!(started.elapsed() < Duration::from_mins(1), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    let told = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
    assert!(told.expect("there is a shell").success());
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
    // The message comes while rows are read or while they are evaluated.
    assert!(text.starts_with("error: ") && text.ends_with(" was cancelled\n"), "{text}");
    assert_eq!(files_with(&folder, "interrupted_out"), Vec::<String>::new());
}

/// The output of a command with this standard input.
fn piped(args: &[&str], input: &str) -> (String, String) {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    // A command that ends early does not read all of it.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn data_flows_from_standard_input_to_standard_output() {
    let double = file(
        "pipe.mill.json",
        r#"{ "millstream": 2, "inputs": { "x": { "type": "f32" }, "y": { "type": "f32", "default": 0 } },
             "nodes": { "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "y" } } } },
             "outputs": { "sum": { "type": "f32", "from": "sum.value" } } }"#,
    );
    let both = ["--in", "x=@csv:-", "--in", "y=@csv:-:z"];
    let args = ["run", &double, both[0], both[1], both[2], both[3], "--save", "tsv:-"];
    let (out, told) = piped(&args, "x,z\n1,2\n3,4.5\n");
    assert_eq!(out, "sum\n3.0\n7.5\n", "{told}");
    assert_eq!(told, "saved 2 rows to standard output\n");
    let args = ["run", &double, "--in", "x=@jsonl:-", "--save", "jsonl:-"];
    assert_eq!(piped(&args, "{\"x\": 1}\n{}\n").0, "{\"sum\": 1.0}\n{\"sum\": \"nan\"}\n");
    let log = file("pipe.log", "x\n5\n");
    let given = format!("x=@csv:{log}");
    assert_eq!(piped(&["run", &double, "--in", &given, "--save", "csv:-"], "").0, "sum\n5.0\n");
    let table = file(
        "pipe_table.mill.json",
        r#"{ "millstream": 2, "inputs": { "t": { "type": "table" } },
             "outputs": { "t": { "type": "table", "input": "t" } } }"#,
    );
    let args = ["run", &table, "--in", "t=@tsv:-", "--save", "csv:-"];
    assert_eq!(piped(&args, "a\tb\n1\tx\n").0, "a,b\n1,x\n");
    for (args, expected) in [
        (
            ["run", &double, "--in", "x=@-"].as_slice(),
            "error: standard input has no extension that names a format\n  help: name it before a \
             colon: @csv:-\n",
        ),
        (
            &["run", &double, "--save", "-"],
            "error: standard output has no extension that names a format\n  help: name it before a \
             colon: csv:-\n",
        ),
        (
            &["run", "-", "--in", "x=@csv:-"],
            "error: standard input holds the document, so it cannot hold data as well\n  help: \
             read one of them from a file\n",
        ),
        (
            &["run", &double, "--save", "csv:-", "--format", "json"],
            "error: --save and --format json would both write to standard output\n  help: leave \
             out one of them\n",
        ),
        (
            &["run", &double, "--in", "x=1", "--save", "npy:-"],
            "error: `standard output`: npy cannot hold these columns: `sum`\n",
        ),
    ] {
        let input = std::fs::read_to_string(&double).expect("it was written");
        let told = piped(args, &input).1;
        assert!(told.starts_with(expected), "{args:?}: {told}");
    }
}
