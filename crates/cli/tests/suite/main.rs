//! The command line as users meet it: every verb and flag, what is printed where, and exit codes.

mod answers;
mod bake;
mod bake_animations;
mod bake_as_run;
mod bake_disk;
mod bake_files;
mod bake_state;
mod bake_told;
mod bench;
mod check;
mod completions;
mod deploy;
#[cfg(unix)]
mod docs;
mod errors;
mod explain;
mod fmt;
mod import;
mod mesh;
mod nodes;
mod partial;
mod parts;
mod picture;
mod plot;
mod run;
mod save;
mod stats;
mod stream;
#[cfg(unix)]
mod until;
mod used;
mod views;
#[cfg(unix)]
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::Expect;

/// The root of the repository, in which commands run.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command line with these arguments.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_millstream"));
    command.args(args).current_dir(root()).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs the command line with these arguments.
fn millstream(args: &[&str]) -> Output {
    command(args).output().expect("the binary was built")
}

/// What a person sees: the exit code unless it is 0, then the output.
fn seen(args: &[&str]) -> String {
    let output = millstream(args);
    let mut text = match output.status.code() {
        Some(0) => String::new(),
        Some(code) => format!("exit code {code}\n"),
        None => "killed\n".into(),
    };
    for (name, bytes) in [("", &output.stdout), ("stderr:\n", &output.stderr)] {
        if !bytes.is_empty() {
            text += name;
            text += std::str::from_utf8(bytes).expect("output is UTF-8");
        }
    }
    text
}

/// Compares what a person sees.
#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn expect_seen(args: &[&str], expected: Expect) {
    expected.assert_eq(&seen(args));
}

/// The exit code.
fn code(args: &[&str]) -> Option<i32> {
    millstream(args).status.code()
}

/// The standard output as JSON.
fn json(args: &[&str]) -> serde_json::Value {
    let output = millstream(args);
    serde_json::from_slice(&output.stdout).expect("the output is JSON")
}

/// A test file with this content. Tests that run at the same time may write the same file; readers
/// find the whole of it.
fn file(name: &str, content: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{number}.written"));
    std::fs::write(&beside, content).expect("the directory for tests can be written");
    std::fs::rename(&beside, &path).expect("it was written");
    path.display().to_string()
}

/// The name of a file that does not exist yet.
fn new_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It exists if an earlier run of the tests created it.
    let _ = std::fs::remove_file(&path);
    path
}

/// A document with one input `x` of this type and one output `y`, computed by this node from the
/// input.
fn document(name: &str, ty: &str, node: &str, out: &str) -> String {
    let text = format!(
        r#"{{
  "millstream": 2,
  "inputs": {{ "x": {{ "type": "{ty}" }} }},
  "outputs": {{ "y": {{ "type": "{out}", "from": "n.value" }} }},
  "nodes": {{ "n": {node} }}
}}
"#
    );
    file(name, &text)
}
