//! The commands in the documentation and in help texts run as they are written there, on smaller
//! data where they would take long.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::completions::verbs;
use crate::import::one_network;
use crate::{root, seen};

/// The pages whose commands run.
const PAGES: [&str; 10] = [
    "README.md",
    "docs/bake.md",
    "docs/contexts.md",
    "docs/data.md",
    "docs/images.md",
    "docs/libraries.md",
    "docs/plots.md",
    "docs/strategies.md",
    "docs/text-form.md",
    "examples/README.md",
];

/// What is smaller here than in the documentation, or elsewhere.
const INSTEAD: [(&str, &str); 13] = [
    ("1920x1080", "64x36"),
    ("1920x640", "48x16"),
    ("1280x720", "32x18"),
    ("1200x800", "60x40"),
    ("800x600", "40x30"),
    ("640x360", "64x36"),
    ("320x200 --frame 120", "32x20 --frame 3"),
    ("--frames 1..250", "--frames 1..10"),
    ("--count 1000000", "--count 1000"),
    ("--count 100000", "--count 1000"),
    ("--nodes 100000 --seconds 10", "--nodes 500"),
    (" --watch", ""),
    ("/usr/local", "local"),
];

const NUMBER: &str = "input x: f32 = 1\noutput y: f32 = sin(x)\n";
const ELEMENTS: &str = "output y: f32 = sin(0.1 * i)\ni = context.index()\n";
const PICTURE: &str = "\
input eye: f32 = 0
p = context.position()
output c: color = color.combine(fract(p.x * 0.01 + eye), fract(context.time()), 0.5)
";
const MESH: &str = "\
s = mesh.sphere(radius: r)
r = convert.to_f32(context.time())
output position: list<vec3> = s.points
output faces: list<i32> = s.faces
";

/// A text in a fence, or the examples of a help text.
#[derive(Default)]
struct Block {
    place: String,
    lines: Vec<String>,
    /// The text of the block before it, if that is a document.
    document: Option<String>,
}

/// The texts in fences that hold commands.
fn blocks(page: &str) -> Vec<Block> {
    let text = std::fs::read_to_string(root().join(page)).expect("the page is there");
    let mut all: Vec<Block> = Vec::new();
    let mut inside: Option<Block> = None;
    let mut before: Option<String> = None;
    for (i, line) in text.lines().enumerate() {
        if !line.trim_start().starts_with("```") {
            if let Some(block) = &mut inside {
                block.lines.push(line.to_owned());
            }
            continue;
        }
        match inside.take() {
            None => inside = Some(Block { place: format!("{page}:{}", i + 1), ..Block::default() }),
            Some(block) if block.lines.iter().any(|line| is_command(line)) => {
                all.push(Block { document: before.take(), ..block });
            }
            Some(block) => before = Some(block.lines.join("\n") + "\n"),
        }
    }
    all
}

/// The examples of the help of a verb.
fn examples(verb: &str) -> Block {
    let help = seen(&[verb, "--help"]);
    let examples = help.split_once("Examples:\n").map_or("", |(_, rest)| rest);
    let lines = examples.lines().take_while(|line| !line.is_empty());
    let lines = lines.map(|line| line.trim_start().to_owned()).collect();
    Block { place: format!("millstream {verb} --help"), lines, document: None }
}

fn is_command(line: &str) -> bool {
    line.trim_start_matches("$ ").starts_with("millstream ") || line.contains("| millstream ")
}

/// The commands of a block, each with the output that follows it if it starts with `$`.
fn commands(block: &Block) -> Vec<(String, Option<String>)> {
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    let mut continues = false;
    for line in &block.lines {
        if continues {
            let (command, _) = all.last_mut().expect("a line before it");
            command.push_str(line.trim_start());
        } else if is_command(line) {
            let output = line.starts_with("$ ").then(String::new);
            all.push((line.trim_start_matches("$ ").to_owned(), output));
        } else if let Some((_, Some(output))) = all.last_mut() {
            writeln!(output, "{line}").expect("a text takes all");
        }
        continues = false;
        if let Some((command, _)) = all.last_mut()
            && let Some(start) = command.strip_suffix('\\')
        {
            *command = start.to_owned();
            continues = true;
        }
    }
    all
}

/// A directory with the files that commands name: the examples, and documents of the user's own.
fn directory(number: usize, block: &Block) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs_{number}"));
    // It exists if an earlier run of the tests created it.
    let _ = std::fs::remove_dir_all(&folder);
    let makes = |path: &str| std::fs::create_dir_all(folder.join(path)).expect("it is made");
    for path in ["bin", "crates/cli/tests", ".zfunc", ".config/fish/completions"] {
        makes(path);
    }
    makes(".local/share/bash-completion/completions");
    // Commands write into these.
    let mut copy = Command::new("cp");
    let copied = copy.args(["-r", "examples"]).arg(&folder).current_dir(root()).status();
    assert!(copied.expect("it runs").success());
    let link = |from: &Path, to: &str| {
        std::os::unix::fs::symlink(from, folder.join(to)).expect("a link");
    };
    let data = root().join("crates/cli/tests/data").canonicalize().expect("it is there");
    link(&data, "crates/cli/tests/data");
    link(&data.join("blender_4_2.json.gz"), "networks.json.gz");
    link(Path::new(env!("CARGO_BIN_EXE_millstream")), "bin/millstream");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("writes");
    write("bin/dot", "#!/bin/sh\ncat > my.pdf\n");
    let mut mode = std::fs::metadata(folder.join("bin/dot")).expect("it is there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(folder.join("bin/dot"), mode).expect("its owner may");
    write("data.csv", "x\n1\n2\n");
    write("one_network.json", &one_network());
    write("stereo.mill", PICTURE);
    let document = block.document.as_deref().unwrap_or(PICTURE);
    write("rings.mill", document);
    write("views.mill", document);
    write("fall.mill", document);
    folder
}

/// Writes the documents that a command calls its own.
fn write_own(folder: &Path, command: &str) {
    let text = match command {
        _ if command.contains(".ply") => MESH,
        _ if command.contains("--size") || command.contains("--view") => PICTURE,
        _ if command.contains("--count") => ELEMENTS,
        _ => NUMBER,
    };
    std::fs::write(folder.join("my.mill"), text).expect("writes");
    let json = r#"{ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 1 } },
        "nodes": { "y": { "type": "math.sin", "in": { "x": { "input": "x" } } } },
        "outputs": { "y": { "type": "f32", "from": "y.value" } } }"#;
    std::fs::write(folder.join("my.mill.json"), json).expect("writes");
}

/// Runs a command as a shell does, and returns what is wrong with it.
fn run(folder: &Path, written: &str, expected: Option<&str>) -> Option<String> {
    let mut command = written.to_owned();
    for (long, short) in INSTEAD {
        command = command.replace(long, short);
    }
    if command.starts_with("millstream bench") && !command.contains("--seconds") {
        command += " --seconds 0";
    }
    write_own(folder, &command);
    let path = std::env::var("PATH").expect("the tests have one");
    let path = format!("{}:{path}", folder.join("bin").display());
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &command]).current_dir(folder).stdin(Stdio::null());
    let shell = shell.env("PATH", path).env("HOME", folder).env("PROFILE", "profile");
    let output = shell.env("NO_COLOR", "1").output().expect("there is a shell");
    let printed = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Some(format!("{written}\n{}\n{told}", output.status));
    }
    // The documentation shows where the output begins.
    let differs = expected.is_some_and(|expected| !printed.starts_with(expected));
    differs.then(|| format!("{written}\nprints\n{printed}"))
}

#[test]
fn commands_in_the_documentation_and_in_help_run() {
    let mut all: Vec<Block> = PAGES.iter().flat_map(|page| blocks(page)).collect();
    assert!(all.len() > 12, "{}", all.len());
    all.extend(verbs().iter().map(|verb| examples(verb)));
    let mut wrong = Vec::new();
    let mut n_commands = 0;
    for (number, block) in all.iter().enumerate() {
        let folder = directory(number, block);
        for (command, expected) in commands(block) {
            // In a build without it, there is no such verb. A study takes minutes.
            let is_absent =
                cfg!(not(feature = "blender")) && command.starts_with("millstream import");
            if is_absent || command.contains("--study") {
                continue;
            }
            n_commands += 1;
            let problem = run(&folder, &command, expected.as_deref());
            wrong.extend(problem.map(|problem| format!("{}: {problem}", block.place)));
        }
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
    assert!(n_commands > 110, "{n_commands}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
